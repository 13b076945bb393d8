"""Figures that lay measures and criteria of all three papers side by side, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column, has a point twice or an unknown kind of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MODELS, WIDTH, redrawable
from helpers.measures.functions import LABELS
from helpers.measures.ranks import within_layer_ranks
from helpers.scores import intervals
from helpers.study import StudyError

RANDOM = "random"  # the criterion that other ones are held against
_GREY, _DARK = "#C4C4C4", "#555555"


def _titled(kind: str, models: pd.Series, line: str = "\n") -> str:
    """A kind and how many models its rows are over."""
    counts = models[models > 0]
    if counts.empty:
        return KIND_TITLES[kind]
    least, most = counts.min(), counts.max()
    said = f"{least:g} to {most:g} models" if least < most else "1 model" if most == 1 else f"{most:g} models"
    return f"{KIND_TITLES[kind]}{line}({said})"


# --- measures --------------------------------------------------------------------------------------------------------


@redrawable
def agreement_matrix(tables: Mapping[str, pd.DataFrame]):
    """Rank correlations between measures, a lower triangle a kind of attention, like measures beside each other.

    A measure's name stands left of its row and on top of its column. Cells whose interval holds zero are white, their numbers
    grey.

    Parameters
    ----------
    tables : mapping of kind ("encoder", "decoder", "cross") -> DataFrame
        A row a pair of measures, in either order: one, other, rho (mean over models), low, high (nan where there is no
        interval), models (how many; nan where it is not to be said).
    """
    if not tables:
        raise StudyError("There is nothing to draw: give a table of correlations of at least one kind of attention.")
    pairs = {kind: _pairs(tables[kind]) for kind in drawing.kinds(tables)}
    size = max(len(matrix) for matrix, _ in pairs.values()) - 1
    label = 0.058 * max(len(name) for matrix, _ in pairs.values() for name in matrix.index) + 0.15
    cell = min(0.46, (WIDTH - 2 * label) / size)
    tall = [0.3 + min(0.3, 7.2 / (3 * size + 3)) * len(matrix) for matrix, _ in pairs.values()]
    width = max(3.4, cell * size + 2 * label)
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
        axis.set_title(_titled(kind, tables[kind].models, " "), loc="left", y=1, pad=2)
    bar = figure.colorbar(drawn, ax=axes, ticks=[-1, 0, 1], location="bottom", shrink=0.4, aspect=26, pad=0.01)
    bar.set_label("rank correlation; white: its 95 % interval holds zero", fontsize=7.5)
    return figure


def _pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
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
    apart = 1 - square.fillna(0).to_numpy(float)  # measures that were never compared are not near
    order = list(square.index)
    if len(order) > 2:
        tree = linkage(apart[np.triu_indices(len(order), 1)], "average", optimal_ordering=True)
        order = [order[place] for place in leaves_list(tree)]
    below = np.tri(len(order), k=-1, dtype=bool)
    return square.loc[order, order].where(below), holds.loc[order, order].eq(True) & below


@redrawable
def closing(rises: pd.DataFrame, slopes: pd.DataFrame):
    """The loss while single heads close, with what its slope at the open gate promises, beside that of single examples.

    Parameters
    ----------
    rises : pandas.DataFrame
        Rows: head (words), gate (1 open, 0 closed), rise (of the loss), promised (by the slope at gate 1); nats a token.
    slopes : pandas.DataFrame
        Rows: head, promised (by the slope of one example's loss, over the mean length; nats a token).
    """
    drawing.need(rises, "head", "gate", "rise", "promised", once=("head", "gate"))
    drawing.need(slopes, "head", "promised")
    looks, (figure, (curve, dots)) = drawing.looks(dict.fromkeys(rises["head"])), plt.subplots(1, 2, figsize=(WIDTH, 2.9))
    drawing.lines(curve, rises, "gate", "rise", "head", looks)
    for place, (name, look) in enumerate(looks.items()):
        promised, own = (table.promised[table["head"] == name] for table in (rises, slopes))
        curve.plot([1, 0], [0, promised.iloc[0]], color=look["color"], ls="--", lw=1)
        last = rises[rises["head"] == name].nsmallest(1, "gate").iloc[0]
        curve.annotate(
            name, (last.gate, last.rise), (6, 0), textcoords="offset points", va="center", color=look["color"], fontsize=7
        )
        spread = np.linspace(-0.26, 0.26, len(own)) if len(own) > 1 else np.zeros(1)
        dots.plot(own, place + np.random.default_rng(0).permutation(spread), ".", color=look["color"], ms=3, alpha=0.6)
        marks = {"mean": own.mean(), "mean size": own.abs().mean()}
        for said, value in marks.items():
            dots.plot([value] * 2, [place - 0.3, place + 0.3], color="black", lw=1.4, ls="-" if said == "mean" else ":")
        told = ", ".join(f"{said} {value:.4f}" for said, value in marks.items())
        dots.text(0.5, place - 0.33, told, transform=dots.get_yaxis_transform(), fontsize=7, ha="center", va="bottom")
    curve.set(xlabel="gate of one head (1 open, 0 closed)", ylabel="rise of dev loss (nats per token)", xlim=(1.03, -0.48))
    curve.set_xticks(np.linspace(1, 0, 6))
    dots.set(
        xlabel="rise that a sentence's slope promises\n(nats per token)", yticks=range(len(looks)), yticklabels=list(looks)
    )
    dots.set_xscale("symlog", linthresh=0.01)
    dots.set_xticks([-0.1, -0.01, 0, 0.01, 0.1], ["-0.1", "-0.01", "0", "0.01", "0.1"])
    dots.minorticks_off()
    dots.set_ylim(len(looks) - 0.5, -0.65)
    marks = {"promised by the slope": {"color": _DARK, "marker": "", "ls": "--"}}
    marks |= {"mean": {"color": "black", "marker": "", "ls": "-"}, "mean size": {"color": "black", "marker": "", "ls": ":"}}
    drawing.legend(figure, marks)
    return figure


@redrawable
def predictors(frame: pd.DataFrame):
    """Which measures tell a truth: a panel a truth and kind of attention that has rows, a dot and interval a measure.

    Measures are sorted by their mean over all panels, the best at the top.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: kind, truth (such as "leave-one-out", "kept by L0"), measure, rho, low, high (nan where there is no interval),
        models (how many); family, if it is given: measures of one have one colour.
    """
    once = ("kind", "truth", "measure")
    drawing.need(frame, "kind", "truth", "measure", "rho", "low", "high", "models", once=once)
    known = frame.groupby(["truth", "kind"], sort=False).models
    titles = {(truth, kind): f"{truth}:\n{_titled(kind, models)}" for (truth, kind), models in known}
    means = frame.groupby("measure").rho.mean().sort_values(ascending=False, kind="stable")
    table = frame.assign(
        panel=[titles[key] for key in zip(frame.truth, frame.kind, strict=True)],
        place=frame.measure.map(means.index.get_loc), row=frame.measure, value=frame.rho,
    ).sort_values("place", kind="stable")  # fmt: skip
    entries = drawing.looks(table.family) if "family" in table else None
    figure, axes = drawing.dot_panels(
        table.rename(columns={"family": "series"}), entries, label="rank correlation", titles=list(titles.values()), columns=3,
        sharex=True,
    )  # fmt: skip
    next(iter(axes.values())).set(xlim=(-1.05, 1.05), xticks=[-1, -0.5, 0, 0.5, 1])
    return figure


@redrawable
def stability(frame: pd.DataFrame, asked: float | None = None, label: str = "rank correlation"):
    """How a correlation changes with what is compared: a panel a kind of attention, a row a measure, a dot a comparison.

    Dots of a measure are joined by a line. Measures stand in the order in which they come.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: measure, kind, compared (such as "same index", "other sentences"), rho, low, high (nan where there is none); over
        (what lines are: an interval, or from the least to the largest), which the legend says where it is given.
    asked : float, optional
        A correlation that a claim asks for, as a dashed line.
    label : str
        Of the x axis.
    """
    drawing.need(frame, "measure", "kind", "compared", "rho", "low", "high", once=("measure", "kind", "compared"))
    kinds = drawing.kinds(frame.kind)
    table = frame.rename(columns={"measure": "row", "compared": "series", "rho": "value"})
    if "over" in frame:
        ranges = frame.over == intervals.SEEDS
        table["series"] += ranges.map({True: " (least to largest pair)", False: " (95 % interval)"})
    line = {"color": _DARK, "ls": "--", "lw": 0.9}
    figure, axes = drawing.dot_panels(
        table.assign(panel=frame.kind.map(KIND_TITLES)), drawing.looks(table.series), label=label,
        titles=[KIND_TITLES[kind] for kind in kinds], sharex=True, more=asked and {f"asked: {asked:g}": line},
    )  # fmt: skip
    at, entries = drawing.places(table)[0], list(dict.fromkeys(table.series))
    shift = 0.8 / len(entries) if table.duplicated(["kind", "row"]).any() else 0.0  # as `drawing.dots`
    for (kind, name), rows in table.groupby(["kind", "row"]):
        ups = [at["", name] + shift * (entries.index(series) - (len(entries) - 1) / 2) for series in rows.series]
        axes[KIND_TITLES[kind]].plot(rows.value, ups, color=_GREY, lw=1.6, zorder=0.5)
    low = min(0.0, float(np.nanmin(frame[["rho", "low"]])))
    wide = low < -0.5
    for axis in axes.values():
        axis.set_xticks([-1, -0.5, 0, 0.5, 1] if wide else [-0.5, 0, 0.5, 1])
        axis.set_xlim(-1.05 if wide else low - 0.05, 1.05)
        if asked:
            axis.axvline(asked, **line, zorder=1)
    return figure


# --- criteria --------------------------------------------------------------------------------------------------------


@redrawable
def contest(frame: pd.DataFrame, unit: str, trainings: pd.DataFrame | None = None):
    """What removal costs at each number of heads, by criterion: a panel a model, a thick line the mean, a thin one a training.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: model, scale (models of one have one y axis), criterion, heads (left), change.
    unit : str
        Of the change.
    trainings : pandas.DataFrame, optional
        Rows: model, seed, criterion, heads, change.
    """
    drawing.need(frame, "model", "scale", "criterion", "heads", "change", once=("model", "criterion", "heads"))
    looks, titles = drawing.looks(frame.criterion), list(dict.fromkeys(frame.model))
    figure, axes = drawing.grid(len(titles), 2, WIDTH / 2, 2.1)
    ends = frame.merge(frame.groupby("model")["heads"].min().reset_index())  # where lines end
    frame = frame.drop(columns=["low", "high"], errors="ignore")
    for axis, title in zip(axes, titles, strict=True):
        own = frame[frame.model == title]
        axis.axhline(0, **drawing.LEVEL)
        bare = looks if own["heads"].nunique() == 1 else {name: look | {"marker": ""} for name, look in looks.items()}
        drawing.lines(axis, own, "heads", "change", "criterion", bare)
        each = () if trainings is None else trainings[trainings.model == title].groupby(["criterion", "seed"])
        for (name, _), line in each:
            axis.plot(line["heads"], line.change, color=looks[name]["color"], lw=0.6, alpha=0.7)
        drawing.retained(axis, own["heads"].max(), "heads left")
        axis.set_xlim(right=own["heads"].min() - 0.02 * own["heads"].max())
        axis.set_title(title, loc="left")
    for _, part in frame.groupby("scale"):
        same = [axes[titles.index(title)] for title in dict.fromkeys(part.model)]
        low, high = (pick(axis.get_ylim()[end] for axis in same) for end, pick in enumerate((min, max)))
        for axis in same:
            axis.set_ylim(low, high)
    for axis, title in zip(axes, titles, strict=True):
        last, (low, high) = ends[ends.model == title].sort_values("change"), axis.get_ylim()
        gap, at = 0.09 * (high - low), -np.inf
        for row in last.itertuples():  # from below, none upon another
            at, colour = max(at + gap, row.change), looks[row.criterion]["color"]
            line = {"arrowstyle": "-", "lw": 0.5, "color": colour, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 0}
            axis.annotate(
                row.criterion, (row.heads, row.change), (1.06, at), textcoords=axis.get_yaxis_transform(), va="center",
                fontsize=7, color=colour, arrowprops=line,
            )  # fmt: skip
    figure.supylabel(fill(unit, 30 * axes[0].get_gridspec().nrows), fontsize=8.5)  # longer than a panel is tall
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
            axis.set_xlabel("% of the loss without\nsingle heads", fontsize=8)
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


# --- one model's heads -----------------------------------------------------------------------------------------------


@redrawable
def head_table_map(table: pd.DataFrame, columns: Sequence[str]):
    """One model's head table: a block a kind, a row a head, a column a measure, coloured by rank in the layer.

    Layer 1 is at the top. What a head does stands at the right of its row, with a square in the colour of each function.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by (kind, layer, head), see `helpers.measures.table.head_table`; `columns`, and "functions" if heads have any:
        labels of `helpers.measures.functions.roles` as text, separated by "; ".
    columns : sequence of str
        Measures, from left to right. Cells without a value, and those of layers of one head, are light grey.

    Raises
    ------
    StudyError
        If the table is indexed otherwise, has no rows or lacks a column, or no column is asked for.
    """
    if not len(columns):
        raise StudyError("There is no measure to draw: give at least one column of the head table.")
    drawing.of_heads(table, *columns)
    columns = list(columns)
    ranks = table[columns].apply(within_layer_ranks).sort_index()
    blocks = {kind: ranks.xs(kind, level="kind") for kind in drawing.kinds(table.index.get_level_values("kind"))}
    rows = {kind: _row_places(block) for kind, block in blocks.items()}
    tall = max(max(at) for at in rows.values()) + 0.5
    figure, axes = drawing.grid(len(blocks), 3, min(WIDTH, max(2.2, 0.14 * len(columns) + 1.2)), 0.125 * tall + 1.6)
    for axis, (kind, block) in zip(axes, blocks.items(), strict=True):
        at = np.array(rows[kind])
        layers = block.index.get_level_values("layer")
        for layer in layers.unique():
            part = block.xs(layer, level="layer", drop_level=False)
            extent = (0, len(columns), at[layers == layer].max() + 0.5, at[layers == layer].min() - 0.5)
            axis.imshow(
                np.ma.masked_invalid(part.to_numpy(float)), cmap=_ranks(), vmin=0, vmax=1, aspect="auto", extent=extent,
                interpolation="none",
            )  # fmt: skip
        axis.set_yticks(at, block.index.get_level_values("head") + 1, fontsize=7)
        middles = [at[layers == layer].mean() for layer in layers.unique()]
        named = [f"layer {layer + 1}" for layer in layers.unique()]
        axis.set_yticks(middles, named, minor=True, rotation=90, va="center", fontsize=7)
        axis.yaxis.remove_overlapping_locs = False  # a layer's name may stand beside a head's number
        axis.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90, fontsize=7)
        axis.xaxis.tick_top()
        axis.tick_params(length=0, pad=2, which="both")
        axis.tick_params(axis="y", pad=14, which="minor")
        axis.set(xlim=(0, len(columns)), ylim=(tall, 0), title=KIND_TITLES[kind])
        axis.vlines(range(1, len(columns)), 0, tall, color="white", lw=1)
        axis.spines[:].set_visible(False)
        if "functions" in table:
            _name_functions(axis, table.functions.xs(kind, level="kind").reindex(block.index), at, len(columns))
    bar = figure.colorbar(
        axes[0].images[0], ax=axes, location="bottom", shrink=min(1, 0.5 / len(axes) + 0.2), aspect=25, pad=0.02
    )
    bar.set_ticks([0, 1], labels=["lowest", "highest"], fontsize=7)
    bar.set_label("rank in the layer")
    seen = {_function(label) for said in table.get("functions", ()) for label in _labels(said)}
    if seen:
        called = {name: [label for (relation, _), label in LABELS.items() if relation == name] or [name] for name in seen}
        drawing.legend(figure, drawing.squares({", ".join(called[n]): colour for n, colour in COLOURS.items() if n in seen}))
    return figure


def _labels(said: Any) -> list[str]:
    """Labels of a head's functions; none where they were not measured."""
    return [label for label in said.split("; ") if label] if isinstance(said, str) else []


def _function(label: str) -> str:
    """The function that a label stands for; "none" for a label of another kind."""
    known = {name: relation for (relation, _), name in LABELS.items()} | {"rare": "rare"}
    return "positional" if label.lstrip("+-").isdigit() else known.get(label, "none")


def _ranks():
    """Colours of ranks, light grey where there is none."""
    return plt.get_cmap("viridis").with_extremes(bad="#D6D6D6")


def _row_places(block: pd.DataFrame) -> list[float]:
    """Where the rows of a kind stand, with a gap between layers."""
    layers = pd.Series(block.index.get_level_values("layer"))
    return [place + 0.5 + 0.6 * (layer - 1) for place, layer in enumerate(layers.rank(method="dense"))]


def _name_functions(axis, functions: pd.Series, at: Sequence[float], edge: float) -> None:
    """Squares and labels of what the heads do, right of their rows."""
    for y, labels in zip(at, functions.map(_labels), strict=True):
        where = {"xy": (edge, y), "textcoords": "offset points", "va": "center", "fontsize": 7}
        for place, label in enumerate(labels):
            axis.annotate("■", xytext=(3 + 6 * place, 0), color=COLOURS[_function(label)], **where)
        if labels:
            axis.annotate(", ".join(labels), xytext=(5 + 6 * len(labels), 0), **where)
