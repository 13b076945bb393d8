"""Figures that lay measures and criteria of all three papers side by side, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MARKERS, MODELS, WIDTH, redrawable
from helpers.measures.functions import LABELS
from helpers.measures.ranks import within_layer_ranks
from helpers.study import StudyError

RANDOM = "random"  # the criterion that other ones are held against
_GREY, _DARK = "#C4C4C4", "#555555"
_HUES = (*MODELS, "#000000", "#5B2A86", "#7A5200")  # no grey, which stands for the others
_PAGE, _BELOW = (6.9, 9.0), 0.55  # inches; for the scale below a figure that fills a page
_TOGETHER = 4  # criteria in colour in one panel


def _looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every name; 81 pairs, neighbours differ in both."""
    return {name: {"color": _HUES[i % 9], "marker": MARKERS[(i + i // 9) % 9]} for i, name in enumerate(names)}


def _kinds(found: Iterable[str]) -> list[str]:
    """Kinds of attention in their order."""
    found = set(found)
    unknown = sorted(map(str, found - set(KIND_TITLES)))
    if unknown:
        raise StudyError(f"There is no kind of attention {unknown[0]!r}: choose from {', '.join(KIND_TITLES)}.")
    return [kind for kind in KIND_TITLES if kind in found]


def _once(frame: pd.DataFrame, *columns: str) -> None:
    """Refuse a second row of the same thing."""
    twice = frame[frame.duplicated([*columns])]
    if len(twice):
        said = ", ".join(str(value) for value in twice.iloc[0][[*columns]])
        raise StudyError(f"There is more than one row of {said}: give one row for each {', '.join(columns)}.")


def _titled(kind: str, models: pd.Series) -> str:
    """A kind and how many models its rows are over."""
    counts = models[models > 0]
    if counts.empty:
        return KIND_TITLES[kind]
    least, most = counts.min(), counts.max()
    said = f"{least:g} to {most:g} models" if least < most else "1 model" if most == 1 else f"{most:g} models"
    return f"{KIND_TITLES[kind]}\n({said})"


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

    Raises
    ------
    StudyError
        If there is no table, or one has no rows, lacks a column, or has a pair twice.
    """
    if not tables:
        raise StudyError("There is nothing to draw: give a table of correlations of at least one kind of attention.")
    pairs = {kind: _pairs(tables[kind]) for kind in _kinds(tables)}
    size = max(len(matrix) for matrix, _ in pairs.values()) - 1
    label = 0.058 * max(len(name) for matrix, _ in pairs.values() for name in matrix.index) + 0.15
    width, free = max(3.2, min(_PAGE[0], 2 * label + 0.46 * size)), _PAGE[1] - _BELOW - 0.3 * len(pairs)
    cell = min(0.46, (width - 2 * label) / size)
    line = min(0.3, free / sum(len(matrix) for matrix, _ in pairs.values()))
    height = _BELOW + sum(0.3 + line * len(matrix) for matrix, _ in pairs.values())
    figure, top = plt.figure(figsize=(width, height), layout="none"), height
    for kind, (matrix, known) in pairs.items():
        last, tall = len(matrix) - 1, line * len(matrix)
        top -= 0.3 + tall
        axis = figure.add_axes((label / width, top / height, 1 - label / width, tall / height))
        drawn = axis.imshow(matrix.iloc[1:, :-1], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for (row, column), (low, high) in known.items():
            ink = drawing.ink(drawn.cmap(drawn.norm(matrix.iat[row, column])))
            up = 0.12 if np.isfinite(low + high) else 0
            said = _cell(matrix.iat[row, column])
            axis.text(column, row - 1 - up, said, fontsize=7, ha="center", va="center", color=ink)
            if up:
                axis.plot(
                    [column + 0.45 * low, column + 0.45 * high], [row - 0.71] * 2, color=ink, lw=0.9, solid_capstyle="butt"
                )
                axis.plot([column] * 2, [row - 0.79, row - 0.63], color=ink, lw=0.5)
        for column, name in enumerate(matrix.columns[:-1]):
            axis.text(column - 0.45, column - 0.92, name, fontsize=7, va="center", gid="column")
        axis.set_xticks([])
        axis.set_yticks(range(last), matrix.index[1:], fontsize=7.5)
        axis.set(xlim=(-0.5, -0.5 + (width - label) / cell), ylim=(last - 0.5, -1.5))
        axis.set_title(_titled(kind, tables[kind].models).replace("\n", " "), loc="right", fontsize=9, y=1, pad=2)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    bar = figure.add_axes((0.5 - 1.2 / width, 0.38 / height, 2.4 / width, 0.09 / height))
    figure.colorbar(drawn, cax=bar, ticks=[-1, 0, 1], orientation="horizontal")
    bar.set_xlabel("rank correlation; lines: 95 % interval on the same scale", fontsize=7.5, labelpad=1)
    bar.tick_params(labelsize=7, length=2)
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
    ends = {cell: known for cell, known in ends.items() if np.isfinite(matrix[cell])}
    return pd.DataFrame(matrix, names, names), ends


def _cell(value: float) -> str:
    """As in other maps, without a minus before zero."""
    return drawing.short(round(value, 2) + 0.0)


@redrawable
def predictors(frame: pd.DataFrame, cheap: float = 0.1, per: str = ""):
    """Which measures tell a truth: a panel a truth (down) and kind of attention (across), a dot and interval a measure.

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
    drawing.need(frame, "kind", "truth", "measure", "rho", "low", "high", "models", "cost")
    _once(frame, "kind", "truth", "measure")
    kinds, truths = _kinds(frame.kind), list(dict.fromkeys(frame.truth))
    means = frame.groupby("measure").agg({"rho": "mean", "cost": "mean"}).sort_values("rho", ascending=False, kind="stable")
    low_cost = means.cost <= cheap * means.cost.max()
    names = [name if np.isnan(cost) else f"{name} ({_cost(cost, per)})" for name, cost in means.cost.items()]
    figure, axes = plt.subplots(
        len(truths), len(kinds), squeeze=False, sharex=True, sharey=True,
        figsize=(min(WIDTH, 2.5 * len(kinds) + 1.9), len(truths) * (max(0.9, 0.2 * len(means)) + 0.5) + 0.6),
    )  # fmt: skip
    looks = {True: {"color": MODELS[2], "marker": "D"}, False: {"color": MODELS[0], "marker": "o"}}
    for row, truth in zip(axes, truths, strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            part = frame[(frame.truth == truth) & (frame.kind == kind)]
            axis.axvline(0, color="grey", lw=0.9, ls=":")
            for is_cheap, look in looks.items():
                rows = part[part.measure.map(low_cost) == is_cheap]
                at = means.index.get_indexer(rows.measure)
                axis.errorbar(
                    rows.rho, at, xerr=drawing.whiskers(rows, "rho"), ls="", ms=4.5, lw=1.1, mec="white", mew=0.4, **look
                )
            axis.set_title(_titled(kind, part.models), fontsize=9)
            axis.set_xlabel("rank correlation" if truth == truths[-1] else "")
            axis.grid(axis="y", color="#EBEBEB", lw=0.6)
            axis.set_axisbelow(True)
        row[0].set_ylabel(truth, fontsize=9)
        row[0].set_yticks(range(len(means)), names, fontsize=8)
    axes[0, 0].set(ylim=(len(means) - 0.5, -0.5), xlim=(-1.05, 1.05), xticks=[-1, -0.5, 0, 0.5, 1])
    if low_cost.any():
        said = {True: f"cost: at most {100 * cheap:g} % of the dearest", False: "more, or not known"}
        handles = [plt.Line2D([], [], ls="", ms=5, **look, label=said[is_cheap]) for is_cheap, look in looks.items()]
        if per:
            handles.append(plt.Line2D([], [], ls="", label=f"(×): times {per}"))
        drawing.legend_below(figure, handles, 3 if len(kinds) > 1 else 1)
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
def stability(frame: pd.DataFrame):
    """How far a measure agrees with itself: a panel a kind of attention, a group of dots a measure, a dot a comparison.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: measure, kind, compared (such as "same index", "other sentences"), rho, low, high (nan where there is none).
    """
    drawing.need(frame, "measure", "kind", "compared", "rho", "low", "high")
    _once(frame, "measure", "kind", "compared")
    kinds, measures = _kinds(frame.kind), list(dict.fromkeys(frame.measure))
    looks = _looks(dict.fromkeys(frame.compared))
    step = 0.8 / max(3, len(looks))
    size = (min(WIDTH, 2.5 * len(kinds) + 1.9), max(0.24, 0.13 * len(looks)) * len(measures) + 0.14 * len(looks) + 1.0)
    figure, axes = plt.subplots(1, len(kinds), squeeze=False, sharex=True, sharey=True, figsize=size)
    for axis, kind in zip(axes[0], kinds, strict=True):
        axis.axvline(0, color="grey", lw=0.9, ls=":")
        for line in np.arange(1, len(measures)) - 0.5:
            axis.axhline(line, color="#E3E3E3", lw=0.6, zorder=0)
        for place, (compared, look) in enumerate(looks.items()):
            rows = frame[(frame.kind == kind) & (frame.compared == compared)]
            at = [measures.index(name) + step * (place - (len(looks) - 1) / 2) for name in rows.measure]
            axis.errorbar(rows.rho, at, xerr=drawing.whiskers(rows, "rho"), ls="", ms=4.5, lw=1.1, mec="white", mew=0.4, **look)
        axis.set(title=KIND_TITLES[kind], xlabel="rank correlation")
    axes[0, 0].set_yticks(range(len(measures)), measures, fontsize=8)
    low = min(0.0, float(np.nanmin(frame[["rho", "low"]])))
    axes[0, 0].set(ylim=(len(measures) - 0.5, -0.5), xlim=(max(-1, low) - 0.05, 1.05))
    drawing.legend_below(
        figure, [plt.Line2D([], [], ls="", ms=5, **look, label=name) for name, look in looks.items()], len(kinds) + 1
    )
    return figure


# --- criteria --------------------------------------------------------------------------------------------------------


@redrawable
def contest(frame: pd.DataFrame):
    """What removal costs at each number of heads, by criterion: panels for models, with and without further training.

    Up to four criteria share a panel. Of more, each panel shows some in colour and the rest in grey, a row of panels a model
    and way of training. The criterion "random" is dashed, with its band, in all panels.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: model, criterion, further (bool: trained further after removal), heads (left), change (of the score, against the
        whole model or the control), low, high (nan where there is no interval), unit (of the change). Of several rows of one
        criterion at one number of heads (draws, seeds) the mean is drawn with a band that holds 95 % of them.
    """
    drawing.need(frame, "model", "criterion", "further", "heads", "change", "low", "high", "unit")
    frame = frame.assign(further=frame.further.astype(bool))
    criteria = [name for name in dict.fromkeys(frame.criterion) if name != RANDOM]
    looks, titles = _looks(criteria), list(dict.fromkeys(frame.model))
    panels = [(title, further) for title in titles for further in sorted(set(frame.further))]
    size = max(_TOGETHER, -(-len(criteria) // 4))
    parts = [criteria[i : i + size] for i in range(0, len(criteria), size)] or [[]]
    alone = frame.heads.nunique() == 1  # dots side by side instead of lines
    rows, columns = (len(panels), len(parts)) if len(parts) > 1 else (len(titles), len(panels) // len(titles))
    figure, axes = plt.subplots(
        rows, columns, squeeze=False, sharex=True, sharey="row" if len(parts) > 1 else False,
        figsize=(min(3.6, WIDTH / columns) * columns, 2.0 * rows + (0.7 if len(parts) == 1 else 0.9 + 0.16 * size)),
    )  # fmt: skip
    for (title, further), line in zip(panels, axes.reshape(len(panels), -1), strict=True):
        drawn = frame[(frame.model == title) & (frame.further == further)]
        for axis, coloured in zip(line, parts, strict=True):
            axis.axhline(0, color="grey", lw=0.9, ls=":", zorder=0)
            for name in criteria:
                if name not in coloured and not alone:
                    found = _summed(drawn[drawn.criterion == name])
                    axis.plot(found.heads, found.change, color=_GREY, lw=0.8, zorder=1)
            named = {RANDOM: {"color": _DARK, "marker": "", "ls": "--"}, **{name: looks[name] for name in coloured}}
            for place, (name, look) in enumerate(named.items()):
                found = _summed(drawn[drawn.criterion == name])
                _line(axis, found, 0.15 * (place - len(coloured) / 2) if alone else 0, **look)
        line[0].set_title(f"{title}, {'with' if further else 'no'} further training", loc="left", fontsize=9)
        line[0].set_ylabel(drawn.unit.iloc[0] if len(drawn) else "")
    if alone:
        axes[0, 0].set(xlim=(frame.heads.max() + 1, frame.heads.max() - 1), xticks=[frame.heads.max()])
    else:
        drawing.retained(axes[0, 0], frame.heads.max(), "")
    for axis in axes[-1]:
        axis.set_xlabel("heads left")
    more = [plt.Line2D([], [], color=_DARK, lw=1.2, ls="--", label="random")] if RANDOM in set(frame.criterion) else []
    keys = {name: plt.Line2D([], [], ms=4.5, lw=1.2, **look, label=name) for name, look in looks.items()}
    if len(parts) == 1:
        drawing.legend_below(figure, [*keys.values(), *more], 3 if columns > 1 else 2)
        return figure
    for axis, coloured in zip(axes[-1], parts, strict=True):
        shown = [keys[name] for name in coloured]
        axis.legend(handles=shown, loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4.5, fontsize=7.5)
    if not alone:
        more.append(plt.Line2D([], [], color=_GREY, lw=0.8, label="criteria of the other columns"))
    drawing.legend_below(figure, more, 2)
    return figure


def _summed(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a number of heads: heads, change, low, high; of several rows their mean and what 95 % of them lie between."""
    found = rows.groupby("heads")[["change", "low", "high"]].mean()
    draws = rows.groupby("heads").change
    several = draws.size()[draws.size() > 1].index
    for name, share in (("low", 0.025), ("high", 0.975)):
        found.loc[several, name] = draws.quantile(share)[several]
    return found.reset_index()


def _line(axis, rows: pd.DataFrame, shift: float, color: str, marker: str, ls: str = "-") -> None:
    """A line with its band; at a single number of heads a dot with its interval."""
    if len(rows) == 1:
        axis.errorbar(
            rows.heads + shift, rows.change, drawing.whiskers(rows, "change"), ls="", marker=marker or "_", color=color, ms=4.5
        )
        return
    axis.fill_between(rows.heads, rows.low, rows.high, color=color, alpha=0.15, lw=0, zorder=1)
    axis.plot(rows.heads, rows.change, color=color, marker=marker, ls=ls, ms=4.5, lw=1.3, mec="white", mew=0.4, zorder=2)


@redrawable
def ranking(frame: pd.DataFrame, unit: str = "change (BLEU)"):
    """Criteria at one number of heads, a panel a model, sorted: the largest value at the top, random draws as a grey band.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: criterion, model, value, low, high (nan where there is no interval). Of the criterion "random" the band holds
        95 % of its rows, or is the interval of its one row; criteria within it are hollow.
    unit : str
        Label of the x axis.
    """
    drawing.need(frame, "criterion", "model", "value", "low", "high")
    chosen = frame[frame.criterion != RANDOM]
    drawing.need(chosen)
    _once(chosen, "criterion", "model")
    titles = list(dict.fromkeys(chosen.model))
    most = chosen.groupby("model").size().max()
    across = min(2, len(titles))
    figure, axes = drawing.grid(len(titles), across, WIDTH / 2, 0.2 * most + 0.9, sharex=True)
    for number, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        rows = chosen[chosen.model == title].sort_values("value", ascending=False, kind="stable")
        draws = frame[(frame.model == title) & (frame.criterion == RANDOM)]
        band = (np.nan, np.nan)
        if len(draws):
            band = draws.value.quantile([0.025, 0.975]) if len(draws) > 1 else draws[["low", "high"]].iloc[0]
            axis.axvspan(*band, color=_GREY, alpha=0.55, lw=0, zorder=0)
            axis.axvline(draws.value.mean(), color=_DARK, lw=1.2, ls="--", zorder=1)
        inside = rows.value.between(*band)
        for hollow, face in ((True, "white"), (False, MODELS[0])):
            part, at = rows[inside == hollow], np.flatnonzero(inside == hollow)
            axis.errorbar(
                part.value, at, xerr=drawing.whiskers(part, "value"), fmt="o", ms=4.5, lw=1.1, color=MODELS[0], mfc=face
            )
        axis.set_yticks(range(len(rows)), rows.criterion, fontsize=8)
        axis.set(title=title, ylim=(most - 0.5, -0.5), xlabel=unit if number >= len(titles) - across else "")
        axis.xaxis.set_tick_params(labelbottom=number >= len(titles) - across)
        axis.grid(axis="y", color="#EBEBEB", lw=0.6)
        axis.set_axisbelow(True)
    if (frame.criterion == RANDOM).any():
        within = {"ls": "", "marker": "o", "ms": 5, "color": MODELS[0], "mfc": "white", "label": "within 95 % of random"}
        handles = [
            plt.Line2D([], [], color=_DARK, lw=1.2, ls="--", label="random, mean"),
            Patch(color=_GREY, alpha=0.55, lw=0, label="random, 95 %"),
            plt.Line2D([], [], **within),
        ]
        drawing.legend_below(figure, handles, 3)
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
    if list(table.index.names) != ["kind", "layer", "head"]:
        raise StudyError("A head table is indexed by kind, layer and head: set this index first.")
    if not len(columns):
        raise StudyError("There is no measure to draw: give at least one column of the head table.")
    drawing.need(table, *columns)
    columns, kinds = list(columns), _kinds(table.index.get_level_values("kind"))
    ranks = table[columns].apply(within_layer_ranks).sort_index()
    blocks = {kind: ranks.xs(kind, level="kind") for kind in kinds}
    starts = {kind: _starts(block) for kind, block in blocks.items()}
    tall = max(len(block) + 0.6 * len(starts[kind]) for kind, block in blocks.items())
    figure, axes = drawing.grid(len(kinds), 3, max(2.0, 0.12 * len(columns) + 0.95), 0.125 * tall + 1.6)
    for axis, (kind, block) in zip(axes, blocks.items(), strict=True):
        heads, at = block.index.get_level_values("head") + 1, []
        for layer, rows in block.groupby(level="layer"):
            start = starts[kind][layer]
            at += [start + place + 0.5 for place in range(len(rows))]
            drawn = axis.imshow(
                np.ma.masked_invalid(rows.to_numpy(float)), cmap=_ranks(), vmin=0, vmax=1, aspect="auto", interpolation="none",
                extent=(0, len(columns), start + len(rows), start),
            )  # fmt: skip
        axis.set_yticks(at, heads, fontsize=5.5)
        middles = [
            start + block.xs(layer, level="layer", drop_level=False).shape[0] / 2 for layer, start in starts[kind].items()
        ]
        axis.set_yticks(
            middles, [f"layer {layer + 1}" for layer in starts[kind]], minor=True, rotation=90, va="center", fontsize=7
        )
        axis.yaxis.remove_overlapping_locs = False  # a layer's name may stand beside a head's number
        axis.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90, fontsize=7)
        axis.xaxis.tick_top()
        axis.tick_params(length=0, pad=2, which="both")
        axis.tick_params(axis="y", pad=14, which="minor")
        axis.set(xlim=(0, len(columns)), ylim=(tall, 0))
        axis.vlines(range(1, len(columns)), 0, tall, color="white", lw=1)
        axis.set_title(KIND_TITLES[kind], fontsize=9)
        axis.spines[:].set_visible(False)
        if "functions" in table:
            _name_functions(axis, table.functions.xs(kind, level="kind").reindex(block.index), at, len(columns))
    bar = figure.colorbar(drawn, ax=axes, location="bottom", shrink=min(1, 0.5 / len(axes) + 0.2), aspect=25, pad=0.02)
    bar.set_ticks([0, 1], labels=["lowest", "highest"], fontsize=7)
    bar.set_label("rank in the layer", fontsize=8)
    if "functions" in table:
        seen = {_function(label) for said in table.functions for label in _labels(said)}
        handles = [Patch(color=colour, label=name) for name, colour in COLOURS.items() if name in seen]
        drawing.legend_below(figure, handles, 3 * len(axes))
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


def _starts(block: pd.DataFrame) -> dict[int, float]:
    """Where the rows of each layer begin, with a gap between layers."""
    sizes = block.groupby(level="layer").size()
    return {layer: float(sizes[:place].sum() + 0.6 * place) for place, layer in enumerate(sizes.index)}


def _name_functions(axis, functions: pd.Series, at: Sequence[float], left: float) -> None:
    """Squares and labels of what the heads do, right of their rows."""
    for y, labels in zip(at, functions.map(_labels), strict=True):
        where = {"xy": (left, y), "textcoords": "offset points", "va": "center"}
        for place, label in enumerate(labels):
            axis.annotate("■", xytext=(3 + 6 * place, 0), fontsize=7, color=COLOURS[_function(label)], **where)
        if labels:
            axis.annotate(", ".join(labels), xytext=(5 + 6 * len(labels), 0), fontsize=6, **where)
