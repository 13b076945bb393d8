"""Figures of tidy tables: `curve`, `bars`, `dots`, `head_map`; special ones of gates and of groups of heads; `slider` for pages
without a kernel."""

from helpers.plots.basic import bars, curve, head_map, slider
from helpers.plots.gates import gate_and_price, gates
from helpers.plots.groups import by_groups, cosines
from helpers.plots.rows import dots

__all__ = ["bars", "by_groups", "cosines", "curve", "dots", "gate_and_price", "gates", "head_map", "slider"]
