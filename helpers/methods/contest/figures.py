"""Figures that lay measures and criteria of all three papers side by side, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column, has a point twice or an unknown kind of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers import drawing
from helpers.drawing import KIND_TITLES, MODELS, WIDTH, redrawable
from helpers.scores import intervals
from helpers.study import StudyError

RANDOM = "random"  # the criterion that other ones are held against
_GREY, _DARK = "#C4C4C4", "#555555"


def _titled(kind: str, models: pd.Series, how: str = "") -> str:
    """A kind, how its heads are ranked if that is to be said, and how many models its rows are over."""
    counts = models[models > 0]
    if counts.empty:
        return f"{KIND_TITLES[kind]} heads{how}"
    least, most = counts.min(), counts.max()
    said = f"{least:g} to {most:g} models" if least < most else "1 model" if most == 1 else f"{most:g} models"
    return f"{KIND_TITLES[kind]} heads{how} ({said})"


# --- measures --------------------------------------------------------------------------------------------------------


@redrawable
def agreement_matrix(tables: Mapping[str, pd.DataFrame], first: str = ""):
    """Rank correlations between measures, a lower triangle a kind of attention.

    A measure's name stands left of its row and on top of its column. Cells whose interval holds zero are white, their numbers
    grey.

    Parameters
    ----------
    tables : mapping of kind ("encoder", "decoder", "cross") -> DataFrame
        A row a pair of measures, in either order: one, other, rho (mean over models), low, high (nan where there is no
        interval), models (how many; nan where it is not to be said).
    first : str, optional
        The measure that comes first, the others as they go with it; else those that go best with all come first.
    """
    if not tables:
        raise StudyError("There is nothing to draw: give a table of correlations of at least one kind of attention.")
    pairs = {kind: _pairs(tables[kind], first) for kind in drawing.kinds(tables)}
    size = max(len(matrix) for matrix, _ in pairs.values()) - 1
    label = 0.058 * max(len(name) for matrix, _ in pairs.values() for name in matrix.index) + 0.15
    beyond = max(0.062 * len(name) - 0.46 * (size - at) for matrix, _ in pairs.values() for at, name in enumerate(matrix))
    cell = min(0.52, (WIDTH - label - max(0.1, beyond)) / size)
    tall = [0.3 + min(0.3, 7.2 / (3 * size + 3)) * len(matrix) for matrix, _ in pairs.values()]
    width = max(3.4, cell * size + label + max(0.1, beyond))
    figure, axes = plt.subplots(len(pairs), 1, squeeze=False, figsize=(width, sum(tall) + 0.6), height_ratios=tall)
    for axis, (kind, (matrix, open_)) in zip(axes.flat, pairs.items(), strict=True):
        drawn = drawing.heat(axis, matrix.mask(open_).iloc[1:, :-1], cmap="RdBu_r", limits=(-1, 1))
        for row, column in zip(*np.nonzero(matrix.notna().to_numpy()), strict=True):
            value = matrix.iat[row, column]
            ink = "#8A8A8A" if open_.iat[row, column] else drawing.ink(drawn.cmap(drawn.norm(value)))
            axis.text(column, row - 1, drawing.short(value), fontsize=7, ha="center", va="center", color=ink)
        for column, name in enumerate(matrix.columns[:-1]):
            axis.text(column - 0.45, column - 0.92, name, fontsize=7, va="center", gid="column")
        axis.set_xticks([])
        axis.set_yticks(range(len(matrix) - 1), matrix.index[1:], fontsize=7.5)
        axis.set(xlim=(-0.5, (width - label) / cell - 0.5), ylim=(len(matrix) - 1.5, -1.5))
        axis.set_title(_titled(kind, tables[kind].models, " within a layer"), loc="left", y=1, pad=2)
    bar = figure.colorbar(drawn, ax=axes, ticks=[-1, 0, 1], location="bottom", shrink=0.4, aspect=26, pad=0.01)
    bar.ax.set_xlim(left=-1 if any((matrix < 0).any(axis=None) for matrix, _ in pairs.values()) else 0)
    bar.set_label("rank correlation; white: its 95 % interval holds zero", fontsize=7.5)
    return figure


def _pairs(table: pd.DataFrame, first: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Square matrix of correlations, nan but below the diagonal, and whether the interval of each holds zero."""
    drawing.need(table, "one", "other", "rho", "low", "high", "models")
    table = table[table.one != table.other]
    drawing.need(table)
    pairs = [frozenset(pair) for pair in zip(table.one, table.other, strict=True)]
    if len(twice := [pair for pair in pairs if pairs.count(pair) > 1]):
        one, other = sorted(twice[0])
        raise StudyError(f"There is more than one row of {one} and {other}: give each pair once.")
    both = pd.concat([table, table.rename(columns={"one": "other", "other": "one"})])
    both = both.assign(open=(both.low <= 0) & (both.high >= 0))
    square, holds = (both.pivot(index="one", columns="other", values=value) for value in ("rho", "open"))
    by = square[first] if first in square else square.mean()
    order = sorted(square.index, key=lambda name: (name != first, -by.fillna(-1)[name]))
    below = np.tri(len(order), k=-1, dtype=bool)
    return square.loc[order, order].where(below), holds.loc[order, order].eq(True) & below


@redrawable
def predictors(frame: pd.DataFrame, label: str = "rank correlation"):
    """Which measures tell a truth: a panel a kind of attention that has rows, a dot and interval a measure.

    Measures are sorted by their mean over all panels, the best at the top.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: kind, measure, rho, low, high (nan where there is no interval), models (how many).
    label : str
        Of the x axis.
    """
    drawing.need(frame, "kind", "measure", "rho", "low", "high", "models", once=("kind", "measure"))
    titles = {kind: _titled(kind, models) for kind, models in frame.groupby("kind", sort=False).models}
    titles = {kind: title.replace(" (", "\n(") for kind, title in titles.items()}
    means = frame.groupby("measure").rho.mean().sort_values(ascending=False, kind="stable")
    table = frame.assign(
        panel=frame.kind.map(titles),
        place=frame.measure.map(means.index.get_loc), row=frame.measure, value=frame.rho,
    ).sort_values("place", kind="stable")  # fmt: skip
    figure, axes = drawing.dot_panels(table, label=label, titles=list(titles.values()), columns=3, sharex=True)
    next(iter(axes.values())).set(xlim=(-1.05, 1.05), xticks=[-1, -0.5, 0, 0.5, 1])
    return figure


@redrawable
def stability(frame: pd.DataFrame):
    """How a correlation changes with what is compared: a panel a kind of attention, a row a measure, a dot a comparison.

    Measures stand in the order in which they come; comparisons are named above their dots.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: measure, kind, compared (such as "same index", "other sentences"), rho, low, high (nan where there is none); over
        (what lines are: an interval, or from the least to the largest), which the names say where it is given.
    """
    drawing.need(frame, "measure", "kind", "compared", "rho", "low", "high", once=("measure", "kind", "compared"))
    titles = [_titled(kind, pd.Series(dtype=float)) for kind in drawing.kinds(frame.kind)]
    table = frame.rename(columns={"measure": "row", "compared": "series", "rho": "value"})
    table["panel"] = frame.kind.map(lambda kind: f"{KIND_TITLES[kind]} heads")
    looks = drawing.looks(table.series)
    figure, axes = drawing.dot_panels(table, looks, label="rank correlation", titles=titles, sharex=True, told=False)
    low = min(0.0, float(np.nanmin(frame[["rho", "low"]])))
    wide = low < -0.5
    for title, axis in axes.items():
        axis.set_xticks([-1, -0.5, 0, 0.5, 1] if wide else [-0.5, 0, 0.5, 1])
        axis.set_xlim(-1.05 if wide else low - 0.05, 1.05)
        axis.set_title(title, pad=38)
        for name, rows in table[table.panel == title].groupby("series", sort=False):
            lines = "least to largest pair" if "over" in rows and (rows.over == intervals.SEEDS).all() else "95 % interval"
            said = fill(name, 17) + f"\n({lines})" * ("over" in rows and bool(rows.low.notna().any()))
            axis.annotate(
                said, (rows.value.mean(), 1), (0, 3), xycoords=axis.get_xaxis_transform(), textcoords="offset points",
                ha="center", fontsize=7, color=looks[name]["color"],
            )  # fmt: skip
    return figure


# --- criteria --------------------------------------------------------------------------------------------------------


@redrawable
def at_once(frame: pd.DataFrame, label: str):
    """What removal costs in each setting, by criterion: a panel a setting, a row a criterion; settings of a group share axes.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: panel (a group of settings), setting, series (a criterion), value, low, high (the least and the largest training).
    label : str
        Of the x axes.
    """
    drawing.need(frame, "panel", "setting", "series", "value", "low", "high", once=("setting", "series"))
    other = frame.panel.ne(frame.panel.iloc[0])
    titles = frame.setting.str.replace(": ", ":\n").str.replace(" (", "\n(") + other.map({False: "", True: "\n(other scale)"})
    table = frame.assign(row=frame.series, panel=titles, other=other).sort_values("other", kind="stable")
    figure, axes = drawing.dot_panels(table.drop(columns="series"), label=label, columns=3)
    for _, rows in table.groupby("other"):
        ends = np.array([min(0, rows.low.min()), max(0, rows.high.max())])
        for title in rows.panel.unique():
            axes[title].set_xlim(ends + np.ptp(ends) * np.array([-0.06, 0.06]))
    return figure


@redrawable
def ranking(frame: pd.DataFrame, unit: str = "change", kept: pd.DataFrame | None = None, needed: Sequence[float] = ()):
    """Criteria at one number of heads, the best at the top: a dot a training or draw, beside the heads that each keeps by
    layer.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a training of each criterion, of the criterion "random" a row a draw: criterion, model (a panel), value, low, high
        (nan where there is no interval); hollow (bool), if it is given: cannot be told from random heads.
    unit : str
        Label of the x axis.
    kept : pandas.DataFrame, optional
        On criterion, a column a layer, the first one first: heads left.
    needed : sequence of float, optional
        Of each layer the share of what single heads cost, below its column.
    """
    drawing.need(frame, "criterion", "model", "value", "low", "high")
    drawing.need(frame[frame.criterion != RANDOM])
    panels = list(dict.fromkeys(frame.model[frame.criterion != RANDOM]))
    means = frame.groupby(["model", "criterion"]).value.mean().unstack(0)[panels]
    order = means.sort_values(panels, ascending=False).index
    grid = 0 if kept is None else max(1.6, 0.3 * len(kept.columns) + 0.2)
    sizes = [(WIDTH - 2.1 - grid) / len(panels)] * len(panels) + [grid] * (grid > 0)
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(WIDTH, 0.25 * len(order) + 1.4), sharey=True, squeeze=False, width_ratios=sizes
    )
    for title, axis in zip(panels, axes[0], strict=False):
        axis.hlines(range(len(order)), 0, 1, transform=axis.get_yaxis_transform(), color="#EBEBEB", lw=0.7, zorder=0)
        for place, name in enumerate(order):
            rows = frame[(frame.model == title) & (frame.criterion == name)]
            own = "white" if "hollow" in rows and rows.hollow.eq(True).any() else MODELS[0]
            look = {"color": _DARK, "mfc": _GREY} if name == RANDOM else {"color": MODELS[0], "mfc": own}
            up = np.linspace(-0.22, 0.22, len(rows)) if len(rows) > 1 else np.zeros(len(rows))
            axis.errorbar(rows.value, place + up, xerr=drawing.whiskers(rows), ls="", marker="o", ms=4, elinewidth=1.1, **look)
            if len(rows) > 1:
                axis.plot([means.at[name, title]] * 2, [place - 0.38, place + 0.38], color="black", lw=1.6)
        if RANDOM in order:
            axis.axvline(means.at[RANDOM, title], color=_DARK, lw=1.0, ls="--", zorder=0)
        letters = int(16.5 * sizes[0])
        axis.set_title("\n".join(fill(line, letters) for line in title.split("\n")), loc="left")
        axis.set_xlabel(fill(unit, letters))
        axis.tick_params(axis="y", which="minor", length=0)  # lines between the cells of the grid
        axis.tick_params(axis="y", length=0)
    axes[0, 0].set_yticks(range(len(order)), [f"{name} heads" if name == RANDOM else name for name in order])
    if kept is not None:
        axis, values = axes[0, -1], kept.reindex(order).to_numpy(float)
        said = [[f"{value:.1f}".replace("0.0", "0") for value in row] for row in values]
        drawing.heat(axis, values, said, "Blues", (0, np.nanmax(values)))
        axis.set_title("heads left in layer", loc="left", pad=18)
        axis.set_xticks(range(values.shape[1]), [f"{share:.0%}"[:-1] for share in needed] or [""] * values.shape[1], fontsize=7)
        for layer in range(values.shape[1]):
            where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axis.annotate(layer + 1, (layer, 1), (0, 3), ha="center", fontsize=8, **where)
        if len(needed):
            axis.set_xlabel("% of what single\nheads cost (frame: most)", fontsize=8)
            most = int(np.argmax(needed))
            axis.add_patch(plt.Rectangle((most - 0.5, -0.5), 1, len(order), fill=False, ec=MODELS[1], lw=1.6, zorder=5))
    axes[0, 0].set_ylim(len(order) - 0.5, -0.5)
    looks = {"one training": {"color": MODELS[0], "ls": "", "marker": "o"}}
    if "hollow" in frame and frame.hollow.eq(True).any():
        looks["not told from random heads"] = {"color": MODELS[0], "ls": "", "marker": "o", "mfc": "white"}
    if RANDOM in order:
        looks |= {"one random draw": {"color": _DARK, "mfc": _GREY, "ls": "", "marker": "o"}}
        looks |= {"mean of random draws": {"color": _DARK, "ls": "--"}}
    drawing.legend(figure, looks | {"mean": {"color": "black", "ls": "", "marker": "|", "mew": 1.6, "ms": 8}})
    return figure
