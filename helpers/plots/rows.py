"""Dots with intervals, a row a thing."""

from __future__ import annotations

import pandas as pd

from helpers import drawing
from helpers.drawing import redrawable


@redrawable
def dots(
    table: pd.DataFrame, row: str, value: str, series: str = "", group: str = "", label: str = "", level: float | None = 0.0
):
    """A dot with its interval for each row of a table, from top to bottom in the table's order.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns row (its label) and value; low and high where there are intervals, printed (the paper's value, a hollow diamond)
        where there is one.
    series : str
        A column that gives dots their colours.
    group : str
        A column whose values are headings; rows of one value stand together.
    label : str
        Of the axis.
    level : float, optional
        Where a dotted vertical line is drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    drawing.need(table, row, value, *filter(None, (series, group)))
    columns = {"row": table[row], "value": table[value], "panel": ""}
    columns |= {name: table[column] for name, column in (("series", series), ("group", group)) if column}
    looks = drawing.looks(table[series]) if series else None
    return drawing.dot_panels(table.assign(**columns), looks, level, label or value)[0]
