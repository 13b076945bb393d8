"""Groups of heads (Ni et al. 2023): cosines between heads."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.patches import Rectangle

from helpers import drawing
from helpers.drawing import WIDTH, left


def cosines(table: pd.DataFrame):
    """How alike the heads of one attention are, a panel a title: heads sorted by group, a black frame round each group.

    A row of the table is a pair of heads: head, other (from 0), cosine, group (of the head), and title.
    """
    drawing.need(table, "head", "other", "cosine", "group", "title")
    titles = list(dict.fromkeys(table.title))
    columns = min(3, len(titles))
    figure, axes = drawing.grid(len(titles), columns, (WIDTH - 0.7) / columns, 2.3)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table.title == title]
        groups = rows.drop_duplicates("head").set_index("head").group.sort_values(kind="stable")
        order = groups.index.to_numpy()
        matrix = rows.pivot(index="head", columns="other", values="cosine").loc[order, order]
        drawn = drawing.heat(axis, matrix, cmap="RdBu_r", limits=(-1, 1))
        for group in groups.unique():
            first, many = groups.searchsorted(group), (groups == group).sum()
            corner = (first - 0.5, first - 0.5)
            axis.add_patch(Rectangle(corner, many, many, fill=False, ec="black", lw=1.8, clip_on=False))
        axis.set(title="\n".join(textwrap.wrap(title, 26)), xlabel="head", ylabel="head" if left(axis) else "", box_aspect=1)
        axis.set_xticks(range(len(order)), order + 1, fontsize=7, rotation=0 if len(order) <= 8 else 90)
        axis.set_yticks(range(len(order)), order + 1, fontsize=7)
    drawing.bar(figure, drawn, axes, "cosine", [-1, 0, 1])
    return figure
