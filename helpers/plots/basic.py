"""Figures that take tidy tables: a row a mark, labels in columns. Their style is that of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from helpers import drawing
from helpers.drawing import WIDTH


def curve(
    table: pd.DataFrame, x: str, y: str, series: str = "model", printed: pd.DataFrame | None = None, panel: str = "",
    labels: tuple[str, str] = ("", ""), level: float | None = 0.0, band: tuple[float, float] | None = None,
    falling: bool = True, columns: int = 1,
):  # fmt: skip
    """Marks with intervals, joined by lines.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns x, y and series; low and high where there are intervals (of y).
    printed : pandas.DataFrame, optional
        The paper's numbers in the same columns: hollow black marks.
    panel : str
        A column whose values are drawn apart; one panel without it.
    labels : (str, str)
        Of the axes; the columns' names where empty.
    level : float, optional
        Where a dotted horizontal line is drawn.
    band : (low, high), optional
        A grey band of y.
    falling : bool
        Whether x falls from left to right, as in the paper's figures of heads left.
    columns : int
        Panels side by side, at most.
    """
    drawing.need(table, x, y, series, *([panel] if panel else []))
    titles = list(dict.fromkeys(table[panel])) if panel else [""]
    looks = drawing.looks(table[series])
    for name, count in table[series].value_counts().items():
        looks[name] |= {"ls": ""} if count == 1 else {}  # a lone mark has no line, nor has its legend
    names = [] if printed is None else [name for name in dict.fromkeys(printed[series]) if name not in looks]
    looks |= {
        name: {"color": "black", "marker": mark, "mfc": "white", "mec": "black", "ls": "--", "lw": 0.8}
        for name, mark in zip(names, "Ds^v", strict=False)
    }
    size = (WIDTH / min(columns, len(titles)), 3.2 if columns == 1 else 2.4)
    figure, axes = drawing.grid(len(titles), columns, *size, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        rows = pd.concat([table[table[panel] == title] if panel else table, printed])
        drawing.lines(axis, rows, x, y, series, {name: look for name, look in looks.items() if name in set(rows[series])})
        if level is not None:
            axis.axhline(level, **drawing.LEVEL)
        if band:
            axis.axhspan(*band, color="#DDDDDD", lw=0, zorder=0)
        axis.set(title=title if len(titles) > 1 else "", xlabel=labels[0] or x)
        axis.set_ylabel((labels[1] or y) if drawing.left(axis) else "")
        if falling and not axis.xaxis_inverted():
            axis.invert_xaxis()
    drawing.legend(figure, looks)
    return figure


def bars(table: pd.DataFrame, x: str, y: str, stack: str, panel: str, labels: tuple[str, str] = ("", "")):
    """Stacked bars at evenly spread places, the largest x at the left.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns x, y, stack (the parts of a bar, in their order: light to dark) and panel. Rows alike in all labels are
        averaged.
    labels
        As in `curve`.
    """
    drawing.need(table, x, y, stack, panel)
    parts = sorted(set(table[stack]))
    colours = dict(zip(parts, sns.color_palette("viridis_r", len(parts)), strict=True))
    titles = list(dict.fromkeys(table[panel]))
    figure, axes = drawing.grid(len(titles), 3, WIDTH / min(3, len(titles)), 2.2, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table[panel] == title].pivot_table(y, x, stack, "mean", fill_value=0).sort_index(ascending=False)
        bottom = np.zeros(len(rows))
        for part, colour in colours.items():
            heights = rows[part].to_numpy(float) if part in rows else np.zeros(len(rows))
            axis.bar(range(len(rows)), heights, 0.82, bottom, color=colour, ec="white", lw=0.4)
            bottom += heights
        axis.set_xticks(range(len(rows)), [f"{place:g}" for place in rows.index])
        axis.set(title=title, xlabel=labels[0] or x, ylabel=(labels[1] or y) if drawing.left(axis) else "")
    drawing.legend(figure, drawing.squares({f"{stack} {part}": colour for part, colour in colours.items()}))
    return figure


def heat_map(
    table: pd.DataFrame, x: str, y: str, value: str, panel: str = "", mark: str = "", rising: bool = True, square: bool = False
):
    """Cells coloured by value, a panel each: white for zero, dark for the largest of all panels.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: columns x, y and value; x and y are texts or numbers, in the table's order.
    panel : str
        A column whose values are drawn apart; one panel without it.
    mark : str
        A column of bool: cells with a dot.
    rising : bool
        Whether the first y is at the bottom.
    square : bool
        Whether cells are square.
    """
    drawing.need(table, x, y, value, *filter(None, (panel, mark)))
    titles = list(dict.fromkeys(table[panel])) if panel else [""]
    places = {name: {cell: place for place, cell in enumerate(dict.fromkeys(table[name]))} for name in (x, y)}
    room = 0.07 * max(len(str(cell)) for cell in places[y]) + 0.5
    width = min((WIDTH - 0.8) / min(3, len(titles)), 0.21 * len(places[x]) + room)
    height = (width - room) / len(places[x]) * len(places[y]) + room if square else 0.21 * len(places[y]) + 0.75
    figure, axes = drawing.grid(len(titles), 3, width, height, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table[panel] == title] if panel else table
        cells = np.full((len(places[y]), len(places[x])), np.nan)
        cells[rows[y].map(places[y]), rows[x].map(places[x])] = rows[value]
        drawn = drawing.heat(axis, cells, None, "Blues", (0, float(table[value].max())))
        if mark:
            dots = rows[rows[mark]]
            axis.plot(dots[x].map(places[x]), dots[y].map(places[y]), "o", ms=4, mfc="white", mec="black", mew=0.8)
        axis.set_xticks(range(len(places[x])), map(str, places[x]), fontsize=7, rotation=90 if square else 0, parse_math=False)
        axis.set_yticks(range(len(places[y])), map(str, places[y]), fontsize=7, parse_math=False)
        axis.set(title=title, xlabel=x, ylabel=y if drawing.left(axis) else "")
    if rising:
        axes[0].invert_yaxis()
    drawing.bar(figure, drawn, axes, value)
    return figure


def head_map(table: pd.DataFrame, panel: str, titles: Mapping[Any, str], across: bool = False):
    """Which heads stay and what they do: a panel each, a cell a head, layer 1 at the bottom; a head that is gone is empty.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns layer, head (from 0), stays, functions (names joined by a comma, which share the cell), and panel.
    titles : mapping of panel -> title
    across : bool
        Whether layers go from left to right, in panels as wide as they have layers.
    """
    drawing.need(table, "layer", "head", "stays", "functions", panel)
    panels = list(dict.fromkeys(table[panel]))
    layers = table.groupby(panel, sort=False).layer.max() + 1
    x, y = ("layer", "head") if across else ("head", "layer")
    if across:
        size = (WIDTH, 0.15 * (table["head"].max() + 1) + 1.0)
        figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=True, width_ratios=layers + 1.5)
        axes = list(axes.flat)
    else:
        figure, axes = drawing.grid(len(panels), 3, WIDTH / 3, max(1.2, 0.18 * layers.max()) + 0.8, sharex=True, sharey=True)
    for axis, place in zip(axes, panels, strict=True):
        rows = table[table[panel] == place]
        at = list(zip(rows[x] + 1, rows[y] + 1, strict=True))
        gone = {cell for cell, stays in zip(at, rows.stays, strict=True) if not stays}
        drawing.functions(axis, dict(zip(at, rows.functions, strict=True)), gone)
        axis.set(xlim=(0.4, rows[x].max() + 1.6), ylim=(0.4, table[y].max() + 1.6), title=titles[place], xlabel=x)
        axis.set_xticks(range(1, rows[x].max() + 2))
        axis.set_yticks(range(1, table[y].max() + 2))
        axis.set_ylabel(y if drawing.left(axis) else "")
    drawing.key(figure, {name for names in table.functions for name in (names.split(", ") if names else ["none"])})
    return figure


def correlations(table: pd.DataFrame, row: str, column: str, value: str, label: str = ""):
    """Cells coloured by value, with their numbers: rows and columns in the order in which they come.

    Cells whose interval holds zero are white, their numbers grey.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: row and column (names), value; low and high where there are intervals. What is not there stays empty.
    label : str
        Of the colours: blue for -1, red for 1.
    """
    drawing.need(table, row, column, value, once=(row, column))
    rows, columns = list(dict.fromkeys(table[row])), list(dict.fromkeys(table[column]))
    unsure = (table.low <= 0) & (table.high >= 0) if "low" in table else pd.Series(False, table.index)
    cells = table.pivot(index=row, columns=column, values=value).loc[rows, columns]
    grey = table.assign(unsure=unsure).pivot(index=row, columns=column, values="unsure").loc[rows, columns].eq(True)
    room = 0.058 * max(map(len, map(str, rows))) + 0.2
    cell = min(0.55, (WIDTH - room) / len(columns))
    high = 0.058 * max(map(len, map(str, columns)))
    figure, axis = plt.subplots(figsize=(room + cell * len(columns), 0.3 * len(rows) + high + 0.6))
    drawn = drawing.heat(axis, cells.mask(grey), None, "RdBu_r", (-1, 1))
    for (down, across), number in np.ndenumerate(cells.to_numpy(float)):
        if number == number:
            ink = "#8A8A8A" if grey.iat[down, across] else drawing.ink(drawn.cmap(drawn.norm(number)))
            axis.text(across, down, drawing.short(number), fontsize=7, ha="center", va="center", color=ink)
    axis.set_xticks(range(len(columns)), columns, rotation=90)
    axis.set_yticks(range(len(rows)), rows)
    drawing.bar(figure, drawn, [axis], label or value, [-1, 1, 0])
    return figure
