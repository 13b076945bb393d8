"""Measures: a model and batches in, a column (or a frame) of the head table out."""

from helpers.measures.confidence import confidence
from helpers.measures.functions import positional, rare, syntactic
from helpers.measures.importance import importance
from helpers.measures.one_pass import one_pass
from helpers.measures.relevance import relevance
from helpers.measures.table import head_table

__all__ = ["confidence", "head_table", "importance", "one_pass", "positional", "rare", "relevance", "syntactic"]
