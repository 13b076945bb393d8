"""Figures of tidy tables: `curve`, `bars`, `grouped`, `head_map`; special figures of gates and functions; `slider`."""

from helpers.plots.basic import bars, curve, head_map, slider
from helpers.plots.functions import grouped, looking, relations
from helpers.plots.gates import gate_and_price, gates

__all__ = ["bars", "curve", "gate_and_price", "gates", "grouped", "head_map", "looking", "relations", "slider"]
