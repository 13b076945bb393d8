"""Heads in their layers, sorted by relevance (Voita et al. 2019, figures 1 and 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import drawing
from helpers.drawing import WIDTH

PANELS = {"relevance": "relevance (share of the layer)", "confidence": "confidence", "functions": "what heads do"}


def by_relevance(table: pd.DataFrame):
    """Relevance, confidence and functions of heads: a line of three panels a model, a row a layer, layer 1 at the bottom.

    In all three panels the heads of a layer are sorted by relevance, the most relevant one at the left. A row of the table is a
    head: model, layer, place (in its layer, from 1), relevance, confidence, and functions (names joined by a comma, which share
    the cell).
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
                cells = {(x, y): names for (y, x), names in np.ndenumerate(values.to_numpy(object)) if isinstance(names, str)}
                drawing.functions(axis, cells)
                axis.set(xlim=(-0.5, values.shape[1] - 0.5), ylim=(len(values) - 0.5, -0.5))
            else:
                most = 1.0 if column == "confidence" else max(0.4, float(table.relevance.max()))  # alike in all figures
                drawing.heat(axis, values, values.map(drawing.short), "Blues", (0, most))
            axis.set_yticks(range(len(values)), values.index)
            axis.set_xticks([])
            axis.set_title(title if number == 0 else "")
            axis.set_xlabel("heads, most relevant first" if number == len(models) - 1 else "")
        line[0].set_ylabel(f"{model}\nlayer")
    drawing.key(figure)
    return figure
