"""Figures of measures: one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator

from helpers import drawing
from helpers.drawing import WIDTH


def head_map(columns: Mapping[str, pd.Series], logarithmic: Collection[str] = ()):
    """All heads in their places, a column of panels a measure (a Series on (kind, layer, head) by its title), a row a kind.

    Colours go from zero to the largest head; `logarithmic` ones from a hundredth of it, on a logarithmic scale.
    """
    index = next(iter(columns.values())).index
    kinds = list(index.unique("kind"))
    layers = [index[index.get_level_values("kind") == kind].unique("layer").size for kind in kinds]
    tall = 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(
        len(kinds), len(columns), figsize=(min(WIDTH, 2.3 * len(columns)), tall), squeeze=False, height_ratios=layers
    )
    for place, (title, column) in enumerate(columns.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(top / 100, top) if title in logarithmic else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="magma_r" if title in logarithmic else "viridis_r")
            drawn.set_norm(norm)
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.xaxis.set_major_formatter(lambda head, _: f"{head + 1:.0f}")
            ticks = [row for row, layer in enumerate(cells.index[::-1]) if len(cells) < 12 or (layer + 1) % 5 == 0]
            axis.set_yticks(ticks, [cells.index[::-1][row] + 1 for row in ticks])
            axis.set_ylabel("" if place else "layer" if len(kinds) == 1 else drawing.KIND_TITLES[kind])
        axes[0, place].set_title(title)
        axes[-1, place].set_xlabel("head")
        bar = figure.colorbar(drawn, ax=list(axes[:, place]), location="bottom", aspect=14, pad=0.02)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.minorticks_off()
        bar.formatter = FuncFormatter(lambda value, _: f"{value:.10g}")
    return figure


def attention(examples: Sequence[Mapping[str, Any]]):
    """Attention maps of chosen heads: "title", "rows" that look at "columns" (words), "weights" [rows, columns]."""
    figure, axes = drawing.grid(len(examples), 2, WIDTH / 2, 2.9)
    for axis, example in zip(axes, examples, strict=True):
        drawn = drawing.heat(axis, example["weights"], cmap="Blues")
        axis.grid(False, which="minor")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90)
        axis.set_yticks(range(len(example["rows"])), example["rows"])
        axis.set(title=example["title"], xlabel="token attended to", ylabel="token")
        axis.spines[["left", "bottom"]].set_visible(True)
    figure.set_figwidth(min(WIDTH, figure.get_figwidth() + 0.7))
    drawing.bar(figure, drawn, axes, "share of the row's weight", [0, 0.5, 1])
    return figure
