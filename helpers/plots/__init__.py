"""Figures of tidy tables: `curve`, `bars`, `grouped`, `dots`, `head_map`; special ones of gates, functions and groups; `slider`."""

from helpers.plots.basic import bars, curve, head_map, slider
from helpers.plots.functions import grouped, looking, relations
from helpers.plots.gates import gate_and_price, gates
from helpers.plots.groups import by_groups, cosines
from helpers.plots.rows import dots

__all__ = [
    "bars",
    "by_groups",
    "cosines",
    "curve",
    "dots",
    "gate_and_price",
    "gates",
    "grouped",
    "head_map",
    "looking",
    "relations",
    "slider",
]
