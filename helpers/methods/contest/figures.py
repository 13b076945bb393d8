"""Figures that lay measures and criteria of all three papers side by side, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column, has a point twice or an unknown kind of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MODELS, WIDTH, redrawable
from helpers.measures.functions import LABELS
from helpers.measures.ranks import within_layer_ranks
from helpers.scores import intervals
from helpers.study import StudyError

RANDOM = "random"  # the criterion that other ones are held against
_GREY, _DARK = "#C4C4C4", "#555555"
_TOGETHER = 5  # criteria in colour in one panel


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
    """Rank correlations between measures, a lower triangle a kind of attention, all on one page.

    A measure's name stands left of its row and on top of its column. A line below a number is its interval, on
    a scale from -1 (left in the cell) to 1 (right); a tick marks zero.

    Parameters
    ----------
    tables : mapping of kind ("encoder", "decoder", "cross") -> DataFrame
        A row a pair of measures, in either order: one, other, rho (mean over models), low, high (nan where there is no
        interval), models (how many; nan where it is not to be said). Measures stand in the order in which they come.
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
    for axis, (kind, (matrix, known)) in zip(axes.flat, pairs.items(), strict=True):
        drawn = drawing.heat(axis, matrix.iloc[1:, :-1], cmap="RdBu_r", limits=(-1, 1))
        for (row, column), (low, high) in known.items():
            ink = drawing.ink(drawn.cmap(drawn.norm(matrix.iat[row, column])))
            up = 0.12 if np.isfinite(low + high) else 0
            said = drawing.short(matrix.iat[row, column])
            axis.text(column, row - 1 - up, said, fontsize=7, ha="center", va="center", color=ink)
            if up:
                axis.plot([column + 0.45 * low, column + 0.45 * high], [row - 0.71] * 2, color=ink, lw=0.9)
                axis.plot([column] * 2, [row - 0.79, row - 0.63], color=ink, lw=0.5)
        for column, name in enumerate(matrix.columns[:-1]):
            axis.text(column - 0.45, column - 0.92, name, fontsize=7, va="center", gid="column")
        axis.set_xticks([])
        axis.set_yticks(range(len(matrix) - 1), matrix.index[1:], fontsize=7.5)
        axis.set(xlim=(-0.5, (width - label) / cell - 0.5), ylim=(len(matrix) - 1.5, -1.5))
        axis.set_title(_titled(kind, tables[kind].models, " "), loc="left", y=1, pad=2)
    bar = figure.colorbar(drawn, ax=axes, ticks=[-1, 0, 1], location="bottom", shrink=0.4, aspect=26, pad=0.01)
    bar.set_label("rank correlation; lines: 95 % interval on the same scale", fontsize=7.5)
    return figure


def _pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[tuple[int, int], tuple[float, float]]]:
    """Square matrix of correlations, nan but below the diagonal, and the intervals of its cells."""
    drawing.need(table, "one", "other", "rho", "low", "high", "models")
    table = table[table.one != table.other]
    drawing.need(table)
    names = list(dict.fromkeys(table[["one", "other"]].to_numpy().ravel()))
    matrix, ends = np.full((len(names), len(names)), np.nan), {}
    for row in table.itertuples():
        column, line = sorted((names.index(row.one), names.index(row.other)))
        if (line, column) in ends:
            raise StudyError(f"There is more than one row of {row.one} and {row.other}: give each pair once.")
        matrix[line, column] = row.rho
        ends[line, column] = row.low, row.high
    return pd.DataFrame(matrix, names, names), {cell: known for cell, known in ends.items() if np.isfinite(matrix[cell])}


@redrawable
def closing(rises: pd.DataFrame, slopes: pd.DataFrame):
    """The loss while single heads close, with its slope at the open gate, beside the slopes of single examples.

    Parameters
    ----------
    rises : pandas.DataFrame
        Rows: head (words), gate (1 open, 0 closed), rise (of the loss, nats a token), slope (of the loss at gate 1).
    slopes : pandas.DataFrame
        Rows: head, slope (of one example's loss at gate 1, nats).
    """
    drawing.need(rises, "head", "gate", "rise", "slope", once=("head", "gate"))
    drawing.need(slopes, "head", "slope")
    looks, (figure, (curve, dots)) = drawing.looks(dict.fromkeys(rises["head"])), plt.subplots(1, 2, figsize=(WIDTH, 2.7))
    drawing.lines(curve, rises, "gate", "rise", "head", looks)
    for place, (name, look) in enumerate(looks.items()):
        slope, own = rises.slope[rises["head"] == name].iloc[0], slopes.slope[slopes["head"] == name].to_numpy()
        curve.plot([1, 0], [0, -slope], color=look["color"], ls="--", lw=1)
        spread = np.linspace(-0.3, 0.3, len(own)) if len(own) > 1 else np.zeros(1)
        dots.plot(own, place + np.random.default_rng(0).permutation(spread), ".", color=look["color"], ms=3, alpha=0.6)
        for value, said in ((own.mean(), "mean"), (np.abs(own).mean(), "mean size")):
            dots.plot([value] * 2, [place - 0.4, place + 0.4], color="black", lw=1.4, ls="-" if said == "mean" else ":")
    curve.set(xlabel="gate of one head (1 open, 0 closed)", ylabel="rise of dev loss (nats per token)", xlim=(1.03, -0.03))
    dots.set(xlabel="slope of one sentence's loss at gate 1 (nats)", yticks=range(len(looks)), yticklabels=list(looks))
    dots.set_xscale("symlog", linthresh=0.1)
    dots.set_xticks([-1, -0.1, 0, 0.1, 1], ["-1", "-0.1", "0", "0.1", "1"])
    dots.minorticks_off()
    dots.invert_yaxis()
    marks = {"slope at gate 1": {"color": _DARK, "marker": "", "ls": "--"}, "mean": {"color": "black", "marker": "", "ls": "-"}}
    drawing.legend(figure, looks | marks | {"mean size": {"color": "black", "marker": "", "ls": ":"}})
    return figure


@redrawable
def predictors(frame: pd.DataFrame, cheap: float = 0.1, per: str = ""):
    """Which measures tell a truth: a panel a truth and kind of attention that has rows, a dot and interval a measure.

    Measures are sorted by their mean over all panels, the best at the top; what a measure costs stands behind its name.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: kind, truth (such as "leave-one-out", "kept by L0"), measure, rho, low, high (nan where there is no interval),
        models (how many), cost (seconds, or multiples of `per`; nan if not known).
    cheap : float
        Measures that cost at most this share of the dearest one are marked; none where no costs are known.
    per : str
        What cost 1 is, such as "gradient importance", where costs are not seconds.
    """
    once = ("kind", "truth", "measure")
    drawing.need(frame, "kind", "truth", "measure", "rho", "low", "high", "models", "cost", once=once)
    kinds, truths = drawing.kinds(frame.kind), list(dict.fromkeys(frame.truth))
    known = set(zip(frame.truth, frame.kind, strict=True))
    pairs = [pair for pair in product(truths, kinds) if pair in known]
    columns = len(kinds) if len(pairs) == len(truths) * len(kinds) else 3
    means = frame.groupby("measure").agg({"rho": "mean", "cost": "mean"}).sort_values("rho", ascending=False, kind="stable")
    low_cost = means.cost <= cheap * means.cost.max()
    names = {name: name if np.isnan(cost) else f"{name} ({_cost(cost, per)})" for name, cost in means.cost.items()}
    titles = {
        (truth, kind): f"{truth}:\n{_titled(kind, frame.models[(frame.truth == truth) & (frame.kind == kind)])}"
        for truth, kind in pairs
    }
    said = {True: f"cost: at most {100 * cheap:g} % of the most expensive", False: "more, or not known"}
    table = frame.assign(
        panel=[titles[key] for key in zip(frame.truth, frame.kind, strict=True)],
        place=frame.measure.map(means.index.get_loc),
        series=frame.measure.map(low_cost).map(said),
        row=frame.measure.map(names),
        value=frame.rho,
    ).sort_values("place", kind="stable")
    marks = {said[True]: {"color": MODELS[2], "marker": "D"}, said[False]: {"color": MODELS[0], "marker": "o"}}
    more = {f"(×): times {per}": {"ls": ""}} if per else {}
    figure, axes = drawing.dot_panels(
        table if low_cost.any() else table.drop(columns="series"), marks if low_cost.any() else None, label="rank correlation",
        titles=titles.values(), columns=columns, more=more if low_cost.any() else None, sharex=True,
    )  # fmt: skip
    next(iter(axes.values())).set(xlim=(-1.05, 1.05), xticks=[-1, -0.5, 0, 0.5, 1])
    return figure


def _cost(cost: float, per: str) -> str:
    """Seconds as people say them, or a multiple."""
    if per:
        return f"{cost:.2g}×" if cost < 10 else f"{cost:.0f}×"
    for size, unit in ((3600, "h"), (60, "min")):
        if cost >= size:
            return f"{cost / size:.2g} {unit}" if cost < 10 * size else f"{cost / size:.0f} {unit}"
    return f"{cost:.2g} s" if cost < 10 else f"{cost:.0f} s"


@redrawable
def stability(frame: pd.DataFrame, asked: float | None = None):
    """How far a measure agrees with itself: a panel a kind of attention, a group of dots a measure, a dot a comparison.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: measure, kind, compared (such as "same index", "other sentences"), rho, low, high (nan where there is none); over
        (what lines are: an interval, or from the least to the largest), which the legend says where it is given.
    asked : float, optional
        A correlation that a claim asks for, as a dashed line.
    """
    drawing.need(frame, "measure", "kind", "compared", "rho", "low", "high", once=("measure", "kind", "compared"))
    kinds = drawing.kinds(frame.kind)
    table = frame.rename(columns={"measure": "row", "compared": "series", "rho": "value"})
    if "over" in frame:
        ranges = frame.over == intervals.SEEDS
        table["series"] += ranges.map({True: " (least to largest pair)", False: " (95 % interval)"})
    line = {"color": _DARK, "ls": "--", "lw": 0.9}
    figure, axes = drawing.dot_panels(
        table.assign(panel=frame.kind.map(KIND_TITLES)), drawing.looks(table.series), label="rank correlation",
        titles=[KIND_TITLES[kind] for kind in kinds], sharex=True, more=asked and {f"asked: {asked:g}": line},
    )  # fmt: skip
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
def contest(frame: pd.DataFrame):
    """What removal costs at each number of heads, by criterion: panels for models, with and without further training.

    Up to four criteria share a panel. Of more, each panel of a row shows some in colour and the rest in grey. The criterion
    "random" is dashed, with its band, in all panels.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: model, criterion, further (bool: trained further after removal), heads (left), change (of the score, against the
        whole model or the control), low, high (nan where there is no interval), unit (of the change). Of several rows of one
        criterion at one number of heads (draws, seeds) the mean is drawn with a band that holds 95 % of them. Only where
        `measured` (bool), if it is given, a mark stands on the line.
    """
    drawing.need(frame, "model", "criterion", "further", "heads", "change", "low", "high", "unit")
    frame = frame.assign(further=frame.further.astype(bool))
    criteria = [name for name in dict.fromkeys(frame.criterion) if name != RANDOM]
    looks = drawing.looks(criteria)
    panels = [(title, further) for title in dict.fromkeys(frame.model) for further in sorted(set(frame.further))]
    size = max(_TOGETHER, -(-len(criteria) // 4))
    parts = [criteria[i : i + size] for i in range(0, len(criteria), size)] or [[]]
    alone = frame.heads.nunique() == 1  # dots side by side instead of lines
    across = len(parts) if len(parts) > 1 else max(len(set(frame.further)), min(2, len(panels)))
    figure, axes = drawing.grid(
        len(panels) * len(parts), across, min(3.6, WIDTH / across), 2.15,
        sharex=("row" if len(parts) > 1 else False) if not alone else True,
        sharey="row" if len(parts) > 1 else False,
    )  # fmt: skip
    random, others = {RANDOM: {"color": _DARK, "marker": "", "ls": "--"}}, {"color": _GREY, "lw": 0.8, "marker": ""}
    for number, axis in enumerate(axes):
        (title, further), coloured = panels[number // len(parts)], parts[number % len(parts)]
        rows = frame[(frame.model == title) & (frame.further == further)]
        found = drawing.summed(rows, ["criterion", "heads"], "change")
        axis.axhline(0, **drawing.LEVEL)
        if not alone:
            grey = {name: others for name in criteria if name not in coloured}
            drawing.lines(axis, found.drop(columns=["low", "high"]), "heads", "change", "criterion", grey)
        shown = {RANDOM: random[RANDOM] | ({"marker": "_", "mec": _DARK} if rows.heads.nunique() == 1 else {})}
        shown |= {name: looks[name] for name in coloured}
        bare = shown if alone else {name: look | {"marker": ""} for name, look in shown.items()}
        drawing.lines(axis, found, "heads", "change", "criterion", bare, band=not alone, dodge=0.15 * alone)
        if not alone:  # what is interpolated has no marks
            numbers = rows.heads[rows.measured] if "measured" in rows else rows.heads
            marks = {name: look | {"ls": ""} for name, look in shown.items()}
            own = found[found.heads.isin(numbers)].drop(columns=["low", "high"])
            drawing.lines(axis, own, "heads", "change", "criterion", marks)
        if number % len(parts) == 0:
            trained = f", {'with' if further else 'no'} further training" if frame.further.nunique() > 1 else ""
            axis.set_title(f"{title}{trained}", loc="left")
            axis.set_ylabel(rows.unit.iloc[0] if len(rows) and frame.unit.nunique() > 1 else "")
        axis.set_xlabel("heads left")
    if alone:
        axes[0].set(xlim=(frame.heads.max() + 1, frame.heads.max() - 1), xticks=[frame.heads.max()])
    else:
        for axis, (title, _) in zip(axes[:: len(parts)], panels, strict=True):  # each model has a number of heads of its own
            heads = frame.heads[frame.model == title]
            drawing.retained(axis, heads.max(), axis.get_xlabel())
            axis.set_xlim(right=heads.min() - 0.04 * heads.max())
    if frame.unit.nunique() == 1:
        rows = axes[0].get_gridspec().nrows
        figure.supylabel(fill(frame.unit.iloc[0], 30 * rows), fontsize=8.5)  # longer than a panel is tall
    more = random if RANDOM in set(frame.criterion) else {}
    drawing.legend(figure, looks | more | ({"criteria of the other columns": others} if len(parts) > 1 and not alone else {}))
    return figure


@redrawable
def ranking(frame: pd.DataFrame, unit: str = "change (BLEU)"):
    """Criteria at one number of heads, a panel a model, sorted: the largest value at the top, every random draw a grey dot.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: criterion, model, value, low, high (nan where there is no interval); hollow (bool), if it is given: cannot be told
        from random heads. Of the criterion "random" a row a draw.
    unit : str
        Label of the x axis.
    """
    drawing.need(frame, "criterion", "model", "value", "low", "high")
    drawn = frame.criterion == RANDOM
    drawing.need(frame[~drawn], once=("criterion", "model"))
    means = frame[drawn].groupby("model").value.mean()
    rows = means.rename("at").reset_index().assign(criterion=f"{RANDOM} heads", value=np.nan)
    table = pd.concat([frame[~drawn].assign(at=frame.value), rows[rows.model.isin(frame.model[~drawn])]], ignore_index=True)
    table = table.sort_values("at", ascending=False, kind="stable").assign(panel=lambda t: t.model, row=lambda t: t.criterion)
    table["hollow"] = (table.hollow if "hollow" in table else pd.Series(False, table.index)).eq(True)
    more = {"a random draw": {"color": _GREY, "ls": "", "marker": "o"}, "their mean": {"color": _DARK, "ls": "--"}}
    told = {"cannot be told from random heads": {"ls": "", "marker": "o", "color": MODELS[0], "mfc": "white"}}
    figure, axes = drawing.dot_panels(
        table, level=None, label=unit, titles=list(dict.fromkeys(frame.model[~drawn])), columns=2, shared=False, sharex=True,
        more=(more if drawn.any() else {}) | (told if table.hollow.any() else {}),
    )  # fmt: skip
    for title, axis in axes.items():
        if title in means:
            values = frame.value[drawn & (frame.model == title)]
            place = drawing.places(table[table.panel == title])[0]["", f"{RANDOM} heads"]
            axis.plot(values, [place] * len(values), ls="", marker="o", ms=4.5, color=_GREY, mec=_DARK, mew=0.4, zorder=3)
            axis.axvline(means[title], color=_DARK, lw=1.0, ls="--", zorder=0)
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
