"""Figures of tidy tables: `curve`, `bars`, `head_map`; the special figures of gates; `slider` for pages without a kernel."""

from helpers.plots.basic import bars, curve, head_map, slider
from helpers.plots.gates import gate_and_price, gates

__all__ = ["bars", "curve", "gate_and_price", "gates", "head_map", "slider"]
