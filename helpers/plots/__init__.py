"""Figures of tidy tables: general ones, special ones of each paper, and a slider."""

from helpers.plots.basic import bars, correlations, curve, head_map, heat_map
from helpers.plots.contest import contest
from helpers.plots.functions import grouped, looking, relations
from helpers.plots.gates import gate_and_price, gates
from helpers.plots.groups import by_groups, cosines
from helpers.plots.heads import by_relevance
from helpers.plots.rows import dots
from helpers.plots.sentence import through_a_sentence
from helpers.plots.slider import slider

__all__ = [
    "bars",
    "by_groups",
    "by_relevance",
    "contest",
    "correlations",
    "cosines",
    "curve",
    "dots",
    "gate_and_price",
    "gates",
    "grouped",
    "head_map",
    "heat_map",
    "looking",
    "relations",
    "slider",
    "through_a_sentence",
]
