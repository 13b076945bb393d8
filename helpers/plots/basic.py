"""Figures that take tidy tables: a row a mark, labels in columns. Their style is that of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import MODELS, WIDTH

PRINTED = {"color": "black", "marker": "D", "ls": "", "ms": 5, "mfc": "white", "mew": 1.1, "zorder": 4}  # dots of the papers
PRUNING = {  # series of notebook 3, each with a colour of its own
    "gates": {}, "gradient importance": {}, "chance": {}, "never had encoder heads": {"marker": "", "ls": ":"},
    "5 % of worth": {"marker": "", "ls": "-."}, "encoder": {}, "decoder": {"marker": "o"}, "cross": {}, "random, by layer": {},
}  # fmt: skip


def curve(
    table: pd.DataFrame, x: str, y: str, series: str = "model", printed: pd.DataFrame | None = None, panel: str = "",
    labels: tuple[str, str] = ("", ""), level: float | None = 0.0, band: tuple[float, float] | None = None,
    falling: bool = True, columns: int = 1, ticks: Sequence[float] = (), sharey: bool | str = True,
):  # fmt: skip
    """Marks with intervals, joined by lines, of the columns x, y and series.

    There are low and high where y has intervals. `printed` are the paper's numbers in the same columns, hollow and black. Each
    value of `panel` has a panel, `columns` of them side by side at most. `level` is where a dotted line stands, `band` a grey
    band of y; x is `falling` from left to right, as in the paper's figures of heads left. With `ticks` y is logarithmic; unless
    all are above zero, it is linear round zero, up to the smallest of them. Series of `PRUNING` keep their colours.
    """
    titles = list(dict.fromkeys(table[panel])) if panel else [""]
    parts = {} if printed is None or panel not in printed else dict(list(printed.groupby(panel)))  # of panels they name
    own = PRUNING if set(table[series]) <= set(PRUNING) else {}
    looks, size = drawing.looks([*own, *table[series]]), {"ms": 6} if own else {}
    looks = {name: looks[name] | size | own.get(name, {}) for name in dict.fromkeys(table[series])}
    for name, count in table[series].value_counts().items():
        looks[name] |= {"ls": ""} if count == 1 else {}  # a lone mark has no line, nor has its legend
    names = [] if printed is None else [name for name in dict.fromkeys(printed[series]) if name not in looks]
    looks |= {
        name: {"color": "black", "marker": mark, "mfc": "white", "mec": "black", "ls": "--", "lw": 0.8}
        for name, mark in zip(names, "Ds^v", strict=False)
    }
    size = (WIDTH / min(columns, len(titles)), 3.2 if columns == 1 else 2.4)
    figure, axes = drawing.grid(len(titles), columns, *size, sharex=True, sharey=sharey)
    for axis, title in zip(axes, titles, strict=True):
        rows = pd.concat([table[table[panel] == title] if panel else table, parts.get(title, printed)])
        if ticks:
            linear = {"linscale": 0.5, "linthresh": min(abs(tick) for tick in ticks if tick)} if min(ticks) <= 0 else {}
            axis.set_yscale("symlog" if linear else "log", base=2, **linear)
            axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        drawing.lines(axis, rows, x, y, series, {name: look for name, look in looks.items() if name in set(rows[series])})
        if level is not None:
            axis.axhline(level, **drawing.LEVEL)
        if band:
            axis.axhspan(*band, color="#DDDDDD", lw=0, zorder=0)
        title = title if len(title) < 12 * size[0] else title.replace(", ", ",\n")
        axis.set(title=title if len(titles) > 1 else "", xlabel=labels[0] or x)
        axis.minorticks_off()
        axis.set_ylabel((labels[1] or y) if drawing.left(axis) else "")
        if falling and not axis.xaxis_inverted():
            axis.invert_xaxis()
    drawing.legend(figure, looks)
    return figure


def heat_map(table: pd.DataFrame, x: str, y: str, value: str, panel: str = "", mark: str = ""):
    """Square cells coloured by value, a panel each: white for zero, dark blue for the largest of all panels, red below zero.

    A row of the table is a cell; x and y are texts or numbers, in the table's order, the first y at the top. `mark` is a column
    of signs: "o" for a dot, "x" for a cross, "" for none; both white.
    """
    titles = list(dict.fromkeys(table[panel])) if panel else [""]
    most = float(table[value].max())
    colours = ("RdBu", (-most, most)) if table[value].min() < 0 else ("Blues", (0, most))
    places = {name: {cell: place for place, cell in enumerate(dict.fromkeys(table[name]))} for name in (x, y)}
    room = 0.07 * max(len(str(cell)) for cell in places[y]) + 0.5
    width = min((WIDTH - 0.8) / min(3, len(titles)), 0.21 * len(places[x]) + room)
    height = (width - room * (len(titles) == 1)) / len(places[x]) * len(places[y]) + room
    figure, axes = drawing.grid(len(titles), 3, width, height, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table[panel] == title] if panel else table
        cells = np.full((len(places[y]), len(places[x])), np.nan)
        cells[rows[y].map(places[y]), rows[x].map(places[x])] = rows[value]
        drawn = drawing.heat(axis, cells, *colours)
        if mark:
            for sign, part in rows[rows[mark] != ""].groupby(mark):
                axis.plot(part[x].map(places[x]), part[y].map(places[y]), sign, ms=4, mfc="white", mec="white")
        axis.set_xticks(range(len(places[x])), map(str, places[x]), fontsize=7, rotation=90, parse_math=False)
        axis.set_yticks(range(len(places[y])), map(str, places[y]), fontsize=7, parse_math=False)
        axis.set(title=title, xlabel=x, ylabel=y if drawing.left(axis) else "")
    drawing.bar(figure, drawn, axes, value)
    return figure


def head_map(table: pd.DataFrame, panel: str):
    """What heads do: a panel each as wide as it has layers, a cell a head, layers from left to right, the first place on top.

    The table has layer and head (from 1), place (in the layer; a panel that has none is in the order of heads), functions
    (names joined by a comma, which share the cell), test and panel. A head with a function has its number, a frame if its
    test passes, a question mark if it is open, a star if alone is true; below the title is how many have one.
    """
    panels, layers = list(dict.fromkeys(table[panel])), table.groupby(panel, sort=False).layer.max()
    tallest = int(table["head"].max())
    size = (WIDTH, 0.15 * tallest + 1)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=True, width_ratios=layers + 1.5)
    for axis, title in zip(axes.flat, panels, strict=True):
        rows = table[table[panel] == title]
        places = list(zip(rows.layer, rows.place.fillna(rows["head"]), strict=True))
        has, alone = rows.functions != "", rows.alone.astype(bool)
        texts = (rows["head"].astype(str) + np.where(rows.test == "open", "?", "") + np.where(alone, "*", "")).where(has, "")
        drawing.functions(axis, dict(zip(places, rows.functions, strict=True)), texts)
        for x, y in rows.assign(at=places)["at"][rows.test == "passes"]:
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, ec="black"))
        most, title = rows.layer.max(), f"{title}:\n{has.sum()} of {len(rows)}"
        title += f", {sum(has & ~alone)} on both" if alone.any() else ""
        axis.set(xlim=(0.4, most + 0.6), ylim=(tallest + 0.6, 0.4), xlabel="layer", title=title)
        axis.set_xticks(range(1, most + 1, 1 + most // 16))
        axis.set_yticks(range(1, tallest + 1))
        if drawing.left(axis) or not rows.place.any():
            axis.set_ylabel("place in the layer by relevance" if rows.place.any() else "head, by number")
    drawing.key(figure)
    return figure


def dots(
    table: pd.DataFrame, row: str, value: str, series: str = "", group: str = "", panel: str = "", label: str = "",
    level: float | Mapping[str, float] | None = 0.0, sharex: bool = True,
):  # fmt: skip
    """A dot with its interval (low, high) for each row of a table, from top to bottom in the table's order.

    `row` is the column of its label; `series` gives dots their colours (no legend where it is the group), several in one row
    stand side by side; values of `group` are headings; those of `panel` have a panel each, all with the same rows, and one
    scale with `sharex`. `level` is where a dotted line stands, or says it by panel. A column printed has the paper's value,
    a hollow diamond; dots are white inside where hollow is true.
    """
    given = {"series": series, "group": group, "panel": panel}
    looks = drawing.looks(table[series]) if series else {}
    labelled = {name: table[column] if column else "" for name, column in given.items()}
    table = table.assign(row=table[row], value=table[value], **labelled)
    titles = list(dict.fromkeys(table.panel))
    places, labels = _places(table)
    room = 0.058 * max(len(line) for text in labels.values() for line in text.split("\n")) + 0.25
    columns = min(3, len(titles), max(1, int((WIDTH - room) / 0.98)))
    width = min(2.6 if len(titles) > 1 else 4.5, (WIDTH - room) / columns)
    printed = "printed" in table and table.printed.notna().any()
    inches = 0.08 + 0.12 * max(text.count("\n") + 1 for text in labels.values())  # of a row
    if table.duplicated(["panel", "group", "row"]).any():
        inches *= max(1, 0.5 * len(looks) * (1.7 if printed else 1))
    lines = [titles[first : first + columns] for first in range(0, len(titles), columns)]
    tall = [inches * (max(labels) + 1) + 0.16 * max(title.count("\n") for title in line) + 0.4 for line in lines]
    size = (room + width * columns, sum(tall) + 0.7)
    figure, axes = plt.subplots(
        len(lines), columns, figsize=size, squeeze=False, sharey=True, sharex=sharex and bool(panel), height_ratios=tall
    )
    for number, (title, axis) in enumerate(zip(titles, axes.flat, strict=False)):
        bar = level[title] if isinstance(level, Mapping) else level
        _rows(axis, table[table.panel == title], places, looks or {"": {"color": MODELS[0]}}, bar)
        axis.set_yticks(list(labels), labels.values())
        for place, text in zip(labels, axis.get_yticklabels(), strict=False):  # none where panels share the first one's
            text.set_fontweight("normal" if place in places.values() else "bold")
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(max(labels) + 0.6, -0.6)
        axis.set(title=title, xlabel=(label or value) if number + columns >= len(titles) else "")
        axis.xaxis.set_major_locator(MaxNLocator(7 if width > 3 else 4 if width > 1.5 else 3, steps=[1, 2, 5, 10]))
        axis.tick_params(labelbottom=True)
    for axis in axes.flat[len(titles) :]:
        axis.set_axis_off()
    shown = looks if series != group else {}
    if entries := shown | ({"printed in the paper": PRINTED} if printed else {}):
        drawing.legend(figure, entries)
        for handle in figure.legends[0].legend_handles:
            handle.set_linestyle("")
    return figure


def _places(table: pd.DataFrame) -> tuple[dict[tuple[str, str], float], dict[float, str]]:
    """Where each row stands, by (group, row), and what is written at each place: rows, and headings of groups."""
    places: dict[tuple[str, str], float] = {}
    labels: dict[float, str] = {}
    end = 0.0
    for group, rows in table.groupby("group", sort=False):
        if group:
            end += 0.3 if labels else 0
            labels[end], end = str(group), end + 0.9
        for row in dict.fromkeys(rows["row"]):
            places[group, row], labels[end], end = end, str(row), end + 1
    return places, labels


def _rows(axis, table: pd.DataFrame, places: dict[tuple[str, str], float], looks: dict[str, Any], level: float | None) -> None:
    """The dots of one panel; several series of one row stand side by side, above the paper's values."""
    step = 0.8 / len(looks) if table.duplicated(["group", "row"]).any() else 0.0
    shift = 0.16 * (step or 1) if "printed" in table and table.printed.notna().any() else 0.0
    if level is not None:
        axis.axvline(level, **drawing.LEVEL)
    axis.hlines([*places.values()], 0, 1, transform=axis.get_yaxis_transform(), color="#EBEBEB", lw=0.7, zorder=0)
    for number, (name, look) in enumerate(looks.items()):
        rows = table[table.series == name]
        y = np.array([places[key] for key in zip(rows["group"], rows["row"], strict=True)], float)
        y += step * (number - (len(looks) - 1) / 2)
        drawing.marks(axis, rows.value.to_numpy(float), y - shift, rows, look, xerr=drawing.whiskers(rows))
        if shift:
            axis.plot(rows.printed, y + shift, **(PRINTED | {"color": look["color"]}))
