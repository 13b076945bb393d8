"""Figures of tidy tables: `curve`, `bars`, `dots`, `head_map`; those of gates and of relevance; `slider` for pages without a
kernel."""

from helpers.plots.basic import bars, curve, head_map, slider
from helpers.plots.dots import dots
from helpers.plots.gates import gate_and_price, gates
from helpers.plots.heads import by_relevance
from helpers.plots.sentence import through_a_sentence

__all__ = [
    "bars", "by_relevance", "curve", "dots", "gate_and_price", "gates", "head_map", "slider", "through_a_sentence",
]  # fmt: skip
