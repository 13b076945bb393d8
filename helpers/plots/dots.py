"""Dots with intervals: a row a thing, several series side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from helpers import drawing
from helpers.drawing import redrawable


@redrawable
def dots(
    table: pd.DataFrame, row: str, value: str, series: str, panel: str = "", label: str = "", level: float | None = 0.0,
    columns: int = 3, order: Sequence[str] = (),
):  # fmt: skip
    """A dot with its interval for each row and series, the first row at the top.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns row, value, series; low and high where there are intervals. Rows alike in all labels stand side by side.
    panel : str
        A column whose values have a panel each; one panel without it. All panels have the same rows.
    label : str
        Of the axis.
    level : float, optional
        Where a dotted vertical line is drawn.
    columns : int
        Panels side by side, at most.
    order : sequence of str
        The rows from the top; as they come without it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    drawing.need(table, row, value, series, *([panel] if panel else []))
    places = {name: place for place, name in enumerate(order or dict.fromkeys(table[row]))}
    renamed = {row: "row", value: "value", series: "series"} | ({panel: "panel"} if panel else {})
    rows = table.sort_values(row, key=lambda names: names.map(places), kind="stable").rename(columns=renamed)
    rows = rows if panel else rows.assign(panel="")
    titles = list(dict.fromkeys(table[panel])) if panel else [""]
    looks = drawing.looks(table[series])
    figure, _ = drawing.dot_panels(rows, looks, level, label, titles, columns, sharex=True, told=len(looks) > 1)
    return figure
