"""Measures: a model and batches in, a column (or a frame) of the head table out."""

from helpers.measures.functions import confidence, positional, rare, syntactic
from helpers.measures.lrp import relevance
from helpers.measures.reducers import one_pass
from helpers.measures.table import head_table
from helpers.measures.worth import importance, leave_one_out

__all__ = [
    "confidence", "head_table", "importance", "leave_one_out", "one_pass", "positional", "rare", "relevance", "syntactic",
]  # fmt: skip
