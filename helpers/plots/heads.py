"""Heads in their layers, sorted by relevance (Voita et al. 2019, figures 1 and 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from helpers import drawing
from helpers.drawing import COLOURS, WIDTH

PANELS = {"relevance": "relevance (share of the layer)", "confidence": "confidence", "functions": "what heads do"}


def by_relevance(table: pd.DataFrame):
    """Relevance, confidence and functions of heads: a line of three panels a model, a row a layer, layer 1 at the bottom.

    In all three panels the heads of a layer are sorted by relevance, the most relevant one at the left.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a head: model, layer, place (in its layer by relevance, from 1), relevance, confidence, and functions (names
        joined by a comma, which share the cell).
    """
    drawing.need(table, "model", "layer", "place", *PANELS, once=("model", "layer", "place"))
    models = list(dict.fromkeys(table.model))
    height = 0.24 * table.layer.max() + 0.55
    figure, axes = drawing.grid(3 * len(models), 3, WIDTH / 3, height)
    for number, model in enumerate(models):
        rows, line = table[table.model == model], axes[3 * number : 3 * number + 3]
        for axis, (column, title) in zip(line, PANELS.items(), strict=True):
            values = rows.pivot(index="layer", columns="place", values=column)[::-1]
            if column == "functions":
                _functions(axis, values)
            else:
                most = 1.0 if column == "confidence" else max(0.4, float(table.relevance.max()))  # alike in all figures
                drawing.heat(axis, values, values.map(drawing.short), "Blues", (0, most))
            axis.set_yticks(range(len(values)), values.index)
            axis.set_xticks([])
            axis.set_title(title if number == 0 else "")
            axis.set_xlabel("heads, most relevant first" if number == len(models) - 1 else "")
        line[0].set_ylabel(f"{model}\nlayer")
    drawn = {name for cell in table.functions for name in cell.split(", ") if name}
    drawing.legend(figure, drawing.squares({name: COLOURS[name] for name in COLOURS if name in drawn} | {"none": "#E4E4E4"}))
    return figure


def _functions(axis, names: pd.DataFrame) -> None:
    """Cells in the colours of functions; a head with several shares its cell."""
    for (down, across), cell in np.ndenumerate(names.to_numpy(object)):
        if not isinstance(cell, str):  # a layer with fewer heads
            continue
        colours = [COLOURS[name] for name in cell.split(", ") if name] or ["#E4E4E4"]
        width = 1 / len(colours)
        for part, colour in enumerate(colours):
            axis.add_patch(Rectangle((across - 0.5 + part * width, down - 0.5), width, 1, fc=colour, ec="none"))
        axis.add_patch(Rectangle((across - 0.5, down - 0.5), 1, 1, fc="none", ec="white", lw=1.0))
    axis.set(xlim=(-0.5, names.shape[1] - 0.5), ylim=(len(names) - 0.5, -0.5))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
