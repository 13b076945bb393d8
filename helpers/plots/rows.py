"""Dots with intervals, a row a thing."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import MODELS, WIDTH

PRINTED = {"color": "black", "marker": "D", "ls": "", "ms": 5, "mfc": "white", "mew": 1.1, "zorder": 4}


def dots(
    table: pd.DataFrame, row: str, value: str, series: str = "", group: str = "", panel: str = "", label: str = "",
    level: float | None = 0.0, sharex: bool = True,
):  # fmt: skip
    """A dot with its interval (low, high) for each row of a table, from top to bottom in the table's order.

    `row` is the column of its label; `series` gives dots their colours, and several in one row stand side by side; values of
    `group` are headings; those of `panel` have a panel each, all with the same rows, and one scale with `sharex`. `level` is
    where a dotted line stands. A column printed has the paper's value, a hollow diamond; dots are white inside where hollow is
    true.
    """
    given = {"series": series, "group": group, "panel": panel}
    drawing.need(table, row, value, *filter(None, given.values()))
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
        _rows(axis, table[table.panel == title], places, looks or {"": {"color": MODELS[0]}}, level)
        axis.set_yticks(list(labels), labels.values())
        for place, text in zip(labels, axis.get_yticklabels(), strict=False):  # none where panels share the first one's
            text.set_fontweight("normal" if place in places.values() else "bold")
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(max(labels) + 0.6, -0.6)
        axis.set(title=title, xlabel=(label or value) if number + columns >= len(titles) else "")
        axis.xaxis.set_major_locator(MaxNLocator(4 if width > 1.5 else 3, steps=[1, 2, 5, 10]))
        axis.tick_params(labelbottom=True)
    for axis in axes.flat[len(titles) :]:
        axis.set_axis_off()
    if entries := looks | ({"printed in the paper": PRINTED} if printed else {}):
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
