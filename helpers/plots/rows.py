"""Dots with intervals, a row a thing."""

from __future__ import annotations

import pandas as pd

from helpers import drawing


def dots(
    table: pd.DataFrame, row: str, value: str, series: str = "", group: str = "", panel: str = "", label: str = "",
    level: float | None = 0.0, columns: int = 3, sharex: bool = True,
):  # fmt: skip
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
    panel : str
        A column whose values have a panel each, all with the same rows.
    label : str
        Of the axis.
    level : float, optional
        Where a dotted vertical line is drawn.
    columns : int
        Panels side by side, at most.
    sharex : bool
        Whether panels have one scale.

    Returns
    -------
    matplotlib.figure.Figure
    """
    given = {"series": series, "group": group, "panel": panel}
    drawing.need(table, row, value, *filter(None, given.values()))
    given_columns = {"row": table[row], "value": table[value], "panel": ""}
    given_columns |= {name: table[column] for name, column in given.items() if column}
    looks = drawing.looks(table[series]) if series else None
    shared = {"columns": columns, "sharex": sharex} if panel else {}
    return drawing.dot_panels(table.assign(**given_columns), looks, level, label or value, **shared)[0]
