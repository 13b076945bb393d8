"""Figures of coreference injection (Liu & Chen 2023): one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import MODELS, WIDTH, redrawable
from helpers.measures import figures
from helpers.study import StudyError

UNITS = {"events": "events with the right people, %"}
BARS = {"MUC": MODELS[5], "B-cubed": MODELS[2], "CEAF-e": MODELS[4], "CoNLL": MODELS[0]}
ORDERS = {
    "lowest": {"color": MODELS[0], "marker": "o"}, "highest": {"color": MODELS[1], "marker": "s"},
    "random": {"color": "#777777", "marker": ""},
}  # fmt: skip
LANDSCAPE = 10.0  # of a page turned by a quarter, inches, for panels that hold words
PLAIN = {"color": "black", "lw": 1.0, "ls": "--", "marker": ""}
LINKS = ListedColormap(plt.get_cmap("Blues")(np.linspace(0.25, 1, 256)))  # a weight of 1/20 is not white


def _metrics(frame: pd.DataFrame, chosen: Sequence[str] | None) -> list[str]:
    """The metrics to draw: the chosen ones, or all in the table's order."""
    known = list(dict.fromkeys(frame.metric))
    for name in chosen or ():
        if name not in known:
            raise StudyError(f"The table has no metric {name!r}: choose from {', '.join(known)}.")
    return list(chosen or known)


def _once(frame: pd.DataFrame, *columns: str) -> None:
    """Refuse a table that has two rows for one point."""
    twice = frame[frame.duplicated(list(columns))]
    if len(twice):
        point = ", ".join(f"{name} {twice.iloc[0][name]}" for name in columns)
        raise StudyError(f"The table has more than one row for {point}: give one value a point.")


def _panels(count: int, height: float, **more: Any):
    """Three panels side by side; two of two."""
    across, width = 2 if count in (2, 4) else 3, 4.2 if count == 1 else 3.2
    return drawing.grid(count, across, width, height, LANDSCAPE, gridspec_kw={"hspace": 0.1}, **more)


def _below(figure, handles: Sequence[Any]) -> None:
    """A legend below all panels, in as many columns as fit."""
    longest = max(len(handle.get_label()) for handle in handles)
    drawing.legend_below(figure, handles, max(1, int(figure.get_figwidth() / (0.075 * longest + 0.55))))


# --- matrices and heads ----------------------------------------------------------------------------------------------


@redrawable
def matrices(words: Sequence[str], tables: Mapping[str, np.ndarray]):
    """Coreference matrices of one text: rows look, columns are looked at.

    Rows of the identity, of tokens that are linked to nothing, are grey, as are the names of tokens outside of all links.

    Parameters
    ----------
    words : sequence of str
        Tokens of the text.
    tables : mapping of title -> array [tokens, tokens]
        Rows sum to 1. As many stand side by side as leave the tokens readable.

    Raises
    ------
    StudyError
        If there are no tokens or no matrix, or a matrix does not fit the tokens.
    """
    count = len(words)
    if not count or not tables:
        raise StudyError("There is nothing to draw: give at least one token and one matrix.")
    tables = {title: np.asarray(table, float) for title, table in tables.items()}
    for title, table in tables.items():
        if table.shape != (count, count):
            raise StudyError(f"The matrix of {title} has the shape {table.shape}: there are {count} tokens.")
    away = {title: np.any(table != np.eye(count), 1) for title, table in tables.items()}
    named = np.any([away[title] | np.any(table[away[title]] > 0, 0) for title, table in tables.items()], 0)
    side, room = max(2.2, 0.07 * count), 0.065 * max(map(len, words))
    across = min(len(tables), max(1, int((LANDSCAPE - room - 0.7) // side)))
    figure, axes = drawing.grid(len(tables), across, side + (room + 0.7) / across, side + room + 0.4, LANDSCAPE)
    size = min(7, 68 * side / count)
    for number, (axis, (title, table)) in enumerate(zip(axes, tables.items(), strict=True)):
        rows = away[title][:, None]
        axis.imshow(np.where(~rows & (table > 0), 0.25, np.nan), cmap="Greys", vmin=0, vmax=1, zorder=1)
        drawn = axis.imshow(np.where(rows & (table > 0), table, np.nan), cmap=LINKS, vmin=0, vmax=1, zorder=1)
        for place in np.flatnonzero(rows):
            axis.axhline(place, color="#EEEEEE", lw=0.8, zorder=0)
        axis.set_title(title)
        axis.set_xticks(range(count), words, rotation=90, fontsize=size, parse_math=False)
        axis.set_yticks(range(count), words if number % across == 0 else [""] * count, fontsize=size, parse_math=False)
        axis.tick_params(length=0, pad=2)
        axis.spines[:].set(visible=True, color="#B0B0B0", lw=0.6)
        for text, linked in zip([*axis.get_xticklabels(), *axis.get_yticklabels()], [*named, *named], strict=True):
            text.set_color("black" if linked else "#8C8C8C")
    bar = {"fraction": 0.35 / figure.get_figwidth(), "pad": 0.01, "aspect": 14, "shrink": 0.7 / len(axes[::across])}
    figure.colorbar(drawn, ax=axes, label="attention weight", ticks=[0, 0.5, 1], **bar)
    return figure


def _check_heads(table: pd.DataFrame, *columns: str) -> None:
    drawing.need(table, *columns)
    if list(table.index.names) != ["kind", "layer", "head"]:
        raise StudyError("The table is not indexed by kind, layer and head: give a row a head.")
    if table.index.has_duplicates:
        raise StudyError(f"The table has more than one row for the head {table.index[table.index.duplicated()][0]}: give one.")


def _head_maps(columns: Mapping[str, pd.Series], label: str, **more: Any):
    """Maps of heads, four side by side: figure, panels, and what each shows, a row a layer, layer 1 at the bottom."""
    shown = {title: column.unstack("head") for title, column in columns.items()}
    sites = {title: drawing.ordered_sites(table.index)[::-1] for title, table in shown.items()}
    across = min(4, len(shown))
    figure, axes = drawing.grid(
        len(shown), across, min(2.2 + 0.9 / across, WIDTH / across), max(0.9, 0.17 * max(map(len, sites.values()))) + 0.8
    )
    for number, (axis, (title, table)) in enumerate(zip(axes, shown.items(), strict=True)):
        shown[title] = table = table.loc[sites[title]]
        alone = len({kind for kind, _ in sites[title]}) == 1
        names = [layer + 1 if alone else drawing.site_name((kind, layer)) for kind, layer in sites[title]]
        sns.heatmap(
            table,
            ax=axis,
            cbar=False,
            linewidths=0.4,
            xticklabels=[head + 1 for head in table.columns],
            yticklabels=names,
            **more,
        )
        axis.set(xlabel="head" if number >= len(shown) - across else "", ylabel="layer" if number % across == 0 else "")
        axis.set_title(fill(str(title), 27), fontsize=8.5)
        axis.tick_params(length=0, pad=2, labelsize=7 if table.shape[1] <= 12 else 5.5, rotation=0)
    share = 0.3 / figure.get_figwidth()
    bar = figure.colorbar(axes[0].collections[0], ax=axes, fraction=share, pad=share / 3, aspect=12)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure, axes, shown


@redrawable
def importance_maps(table: pd.DataFrame):
    """Importance of heads after different trainings: a panel a column; the lowest head of each layer is marked.

    Parameters
    ----------
    table : pandas.DataFrame
        On (kind, layer, head), as `helpers.methods.coreference.tables.rankings` returns it. Of equal heads the first is marked.

    Raises
    ------
    StudyError
        If the table is empty or not one of heads.
    """
    _check_heads(table)
    top = table.max(axis=None)
    figure, axes, shown = _head_maps(table, "importance,\nnormalised by layer", cmap="viridis", vmin=0, vmax=top)
    mark = {"ls": "", "marker": "o", "ms": 4.5, "mfc": "white", "mec": "black", "mew": 0.8}
    for axis, part in zip(axes, shown.values(), strict=True):
        lowest = part.columns.get_indexer(part.idxmin(axis=1))
        axis.plot(lowest + 0.5, np.arange(len(part)) + 0.5, **mark)
    _below(figure, [plt.Line2D([], [], **mark, label="lowest of its layer")])
    return figure


@redrawable
def agreement(table: pd.DataFrame):
    """Rank correlation of heads' importance between trainings.

    Parameters
    ----------
    table : pandas.DataFrame
        Square, as `helpers.measures.ranks.rank_agreement` returns it.

    Raises
    ------
    StudyError
        If the table is empty, or its rows are not its columns.
    """
    drawing.need(table)
    if list(table.index) != list(table.columns):
        raise StudyError("The rows of the table are not its columns: give correlations of the same names on both sides.")
    figure = figures.agreement({"": table})
    figure.set_size_inches(figure.get_size_inches() * min(1, (WIDTH - 0.2) / figure.get_figwidth()))
    figure.axes[0].tick_params(axis="y", rotation=0)
    return figure


@redrawable
def ablation(frames: Mapping[str, pd.DataFrame]):
    """How much the loss rises with one head off: a panel a title, and their mean if there are several.

    Parameters
    ----------
    frames : mapping of title -> DataFrame
        On (kind, layer, head), all on the same heads; loss (rise, nats a token).

    Raises
    ------
    StudyError
        If there is no table, or one is empty, lacks the column, or is not of the same heads.
    """
    if not frames:
        raise StudyError("There is no table to draw: give the loss of at least one model.")
    for frame in frames.values():
        _check_heads(frame, "loss")
    shown = pd.DataFrame({title: 1000 * frame.loss for title, frame in frames.items()})
    if shown.isna().to_numpy().any():
        raise StudyError("A head has no loss in one of the tables: give all tables a loss of the same heads.")
    if len(frames) > 1:
        shown["mean"] = shown.mean(axis=1)
    top = shown.abs().to_numpy().max() or 1.0
    few = shown.index.get_level_values("head").max() < 8
    figure, axes, tables = _head_maps(shown, "rise of the loss,\n0.001 nats a token", cmap="RdBu_r", vmin=-top, vmax=top)
    for axis, table in zip(axes, tables.values(), strict=True):
        for (row, column), value in np.ndenumerate(table.to_numpy()):
            if few and np.isfinite(value):
                colour = drawing.ink(plt.get_cmap("RdBu_r")((value / top + 1) / 2))
                said = f"{value:.0f}" if abs(value) > 9.95 else f"{value:.1f}"
                axis.text(column + 0.5, row + 0.5, said, ha="center", va="center", fontsize=5.5, color=colour)
    return figure


# --- scores ----------------------------------------------------------------------------------------------------------


@redrawable
def masking_curves(frame: pd.DataFrame, metrics: Sequence[str] | None = None):
    """Scores with the lowest, the highest or random heads of each layer off, a panel a metric.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.masking` returns it: metric, order, number (heads a layer that are off; 0 is the
        plain model), draw, value, low, high. Where there is one random draw, as with all heads off, all draws meet.
    metrics : sequence of str, optional
        All by default.

    Raises
    ------
    StudyError
        If a column, a metric or the plain model is missing, a point is there twice, or an order is unknown.
    """
    drawing.need(frame, "metric", "order", "number", "draw", "value", "low", "high")
    metrics = _metrics(frame, metrics)
    _once(frame, "metric", "order", "number", "draw")
    if unknown := set(frame.order) - set(ORDERS):
        raise StudyError(f"There is no order {min(unknown)!r} of heads: choose from {', '.join(ORDERS)}.")
    figure, axes = _panels(len(metrics), 2.5)
    for axis, metric in zip(axes, metrics, strict=True):
        part = frame[frame.metric == metric].sort_values(["number", "draw"])
        plain = part.value[part.number == 0]
        if plain.empty:
            raise StudyError(f"The table has no {metric} of the plain model: give it rows with 0 heads off.")
        axis.axhline(plain.iloc[0], zorder=1, **PLAIN)
        draws = part[part.order == "random"].pivot(index="number", columns="draw", values="value")
        if draws.size:
            mean, meet = draws.mean(axis=1), draws.count(axis=1) == 1
            draws[meet] = draws[meet].bfill(axis=1).ffill(axis=1)
            axis.plot(draws.index, draws, color=ORDERS["random"]["color"], lw=0.6, alpha=0.55, zorder=1)
            axis.plot(mean.index, mean, lw=1.8, zorder=2, **ORDERS["random"])
        for order in ("lowest", "highest"):
            rows, look = part[part.order == order], ORDERS[order]
            axis.fill_between(rows.number, rows.low, rows.high, color=look["color"], alpha=0.16, lw=0)
            axis.plot(rows.number, rows.value, ms=4.5, lw=1.4, mec="white", mew=0.4, zorder=3, **look)
        axis.set(title=UNITS.get(metric, metric), xlabel="heads off in each layer")
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    shown = {order: look for order, look in ORDERS.items() if order in set(frame.order)}
    handles = drawing.keys({"random, mean" if order == "random" else f"{order} first": look for order, look in shown.items()})
    if "random" in shown:
        handles.append(plt.Line2D([], [], color=ORDERS["random"]["color"], lw=0.6, label="one random draw"))
    _below(figure, [*handles, plt.Line2D([], [], **PLAIN, label="plain model")])
    return figure


@redrawable
def changes(frame: pd.DataFrame, metrics: Sequence[str] | None = None, title: str = ""):
    """How rows differ from the plain model: a line a row, a panel a metric, the change in figures at the right.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.scores` or `over_seeds` returns it: row, metric, change, change_low, change_high
        (nan where there is no interval). With a column `group`, rows of a group stand together below its name.
    metrics : sequence of str, optional
        All by default.
    title : str
        Above the figure.

    Raises
    ------
    StudyError
        If a column or a metric is missing, or a row has a metric twice.
    """
    drawing.need(frame, "row", "metric", "change", "change_low", "change_high")
    metrics = _metrics(frame, metrics)
    frame = frame if "group" in frame else frame.assign(group="")
    _once(frame, "group", "row", "metric")
    places: dict[tuple[str, str], float] = {}
    ticks: dict[float, str] = {}
    headings, end = [], 0.0
    for group, rows in frame.groupby("group", sort=False):
        if group:
            end += 0.3 if ticks else 0
            headings.append(len(ticks))
            ticks[end] = str(group)
            end += 0.9
        for row in dict.fromkeys(rows.row):
            places[group, row], ticks[end] = end, str(row)
            end += 1
    room = 0.068 * max(map(len, ticks.values())) + 0.3
    panel = min(2.6, max(1.3, (WIDTH - 0.2 - room) / len(metrics)))
    size = (room + panel * len(metrics), 0.19 * end + 0.85 + 0.25 * bool(title))
    figure, axes = plt.subplots(1, len(metrics), sharey=True, squeeze=False, figsize=size)
    for axis, metric in zip(axes.flat, metrics, strict=True):
        rows = frame[frame.metric == metric]
        at = np.array([places[key] for key in zip(rows.group, rows.row, strict=True)])
        side = axis.get_yaxis_transform()
        axis.hlines([*places.values()], 0, 1, transform=side, color="#EDEDED", lw=0.8, zorder=0)
        axis.axvline(0, color="grey", lw=0.9, ls=":", zorder=1)
        error = drawing.whiskers(rows, "change", "change_low", "change_high")
        axis.errorbar(rows.change, at, xerr=error, fmt="o", ms=4, lw=1.1, color=MODELS[0], mec="white", mew=0.4)
        for place, change in zip(at, rows.change, strict=True):
            if np.isfinite(change):
                said = f"{round(change, 1) + 0.0:+.1f}".replace("-", "−")
                axis.text(1.03, place, said, transform=side, va="center", fontsize=7.5)
        axis.set_title(fill(UNITS.get(metric, metric), 18), fontsize=9)
        axis.xaxis.set_major_locator(MaxNLocator(4 if panel > 1.8 else 3))
        axis.tick_params(axis="x", labelsize=8)
        axis.tick_params(axis="y", length=0)
    axes[0, 0].set(ylim=(end - 0.4, -0.6))
    axes[0, 0].set_yticks(list(ticks), ticks.values(), fontsize=8)
    for number in headings:
        axes[0, 0].get_yticklabels()[number].set_fontweight("bold")
    figure.supxlabel("change against the plain model, 95 % interval", fontsize=9)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


@redrawable
def before_after(frame: pd.DataFrame):
    """Importance of injected heads before and after training with the matrix, a panel a row, a line a head.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.before_after` returns it: row, kind, layer, head, before, after (normalised by
        layer), rank_before, rank_after (1 is the most important), heads (of the layer).

    Raises
    ------
    StudyError
        If a column is missing, or a head is twice in a row.
    """
    drawing.need(frame, "row", "kind", "layer", "head", "before", "after", "rank_before", "rank_after", "heads")
    _once(frame, "row", "kind", "layer", "head")
    titles, most = list(dict.fromkeys(frame.row)), frame.row.value_counts().max()
    height = max(2.5, 0.125 * most + 0.8)
    figure, axes = _panels(len(titles), height, sharey=True)
    colours = drawing.layer_colours(int(frame.layer.max()) + 1)
    level = {"color": "#777777", "lw": 1.0, "ls": "--"}
    for axis, title in zip(axes, titles, strict=True):
        part = frame[frame.row == title].sort_values("after", kind="stable")
        for heads in part.heads.unique():
            axis.plot([-0.08, 1.08], [1 / np.sqrt(heads)] * 2, zorder=1, **level)
        labels = _apart(part.after, 0.125 * 1.09 / (height - 0.7), 1.03)
        for head, place in zip(part.itertuples(), labels, strict=True):
            ends, colour = [head.before, head.after], colours[head.layer]
            axis.plot([0, 1], ends, marker="o", ms=4, lw=1.3, color=colour, mec="white", mew=0.4)
            axis.plot([1.05, 1.2], [head.after, place], lw=0.6, color=colour)
            said = f"L{head.layer + 1} #{head.head + 1}: {head.rank_before:g} → {head.rank_after:g} of {head.heads}"
            axis.text(1.23, place, said, va="center", fontsize=7)
        axis.set(title=title, xlim=(-0.15, 2.5), ylim=(-0.03, 1.06))
        axis.set_xticks([0, 1], ["before", "after"])
        axis.spines["bottom"].set_bounds(-0.15, 1.15)
        axis.set_ylabel("importance,\nnormalised by layer" if drawing.left(axis) else "")
    _below(figure, [plt.Line2D([], [], **level, label="all heads of a layer alike")])
    return figure


def _apart(values: Sequence[float], gap: float, top: float) -> np.ndarray:
    """Rising values moved so that neighbours are a gap apart, from 0 to the top."""
    steps = gap * np.arange(len(values))
    found = np.maximum.accumulate(np.asarray(values, float) - steps)
    return np.clip(found, 0, top - steps[-1]) + steps


@redrawable
def quality(frame: pd.DataFrame, metrics: Sequence[str] | None = None):
    """Change against the plain model by the quality of the clusters that were given, a panel a metric.

    Corrupted clusters are joined in order of their quality.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.quality_curve` returns it: metric, clusters, conll (CoNLL F1, percent), change,
        change_low, change_high.
    metrics : sequence of str, optional
        All by default.

    Raises
    ------
    StudyError
        If a column or a metric is missing, or clusters have a metric twice.
    """
    drawing.need(frame, "metric", "clusters", "conll", "change", "change_low", "change_high")
    metrics = _metrics(frame, metrics)
    _once(frame, "metric", "clusters")
    base, _, rate = (frame.clusters.str.partition("+corrupt:")[place] for place in range(3))
    frame = frame.assign(line=frame.clusters.where(rate == "", base + ", corrupted"), joined=rate != "")
    looks = drawing.looks(list(dict.fromkeys(frame.sort_values("joined", ascending=False, kind="stable").line)))
    figure, axes = _panels(len(metrics), 2.5)
    for axis, metric in zip(axes, metrics, strict=True):
        axis.axhline(0, color="grey", lw=0.9, ls=":", zorder=1)
        for name, rows in frame[frame.metric == metric].sort_values("conll").groupby("line", sort=False):
            error = drawing.whiskers(rows, "change", "change_low", "change_high")
            style = looks[name] | {"ls": "-" if rows.joined.all() else ""}
            axis.errorbar(rows.conll, rows.change, error, ms=5.5, lw=1.2, elinewidth=0.9, mec="white", mew=0.4, **style)
        axis.set(title=UNITS.get(metric, metric), xlabel="CoNLL F1 of the clusters, %", xlim=(-4, 104))
        axis.set_ylabel("change against\nthe plain model" if drawing.left(axis) else "")
    joined = frame.groupby("line").joined.first()
    _below(figure, [drawing.keys({name: look}, ls="-" if joined[name] else "")[0] for name, look in looks.items()])
    return figure


@redrawable
def resolvers(frame: pd.DataFrame):
    """Scores of clusters against others: a panel a side that they are held against, a group of bars the clusters.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.resolver_scores` and `gum_scores` return it: clusters, against, MUC, B-cubed,
        CEAF-e, CoNLL (F1, percent).

    Raises
    ------
    StudyError
        If a column is missing, or clusters are there twice.
    """
    drawing.need(frame, "clusters", "against", *BARS)
    _once(frame, "clusters", "against")
    parts = dict(iter(frame.groupby("against", sort=False)))
    size, ratios = (6.5, 0.42 * len(frame) + 0.4 * len(parts) + 0.8), [len(part) for part in parts.values()]
    figure, axes = plt.subplots(len(parts), 1, sharex=True, squeeze=False, figsize=size, height_ratios=ratios)
    for axis, (title, part) in zip(axes.flat, parts.items(), strict=True):
        for place, (name, colour) in enumerate(BARS.items()):
            bars = axis.barh(np.arange(len(part)) + 0.2 * (place - 1.5), part[name], 0.18, color=colour)
            if name == "CoNLL":
                axis.bar_label(bars, fmt="%.1f", fontsize=7.5, padding=2)
        axis.set_yticks(range(len(part)), part.clusters)
        axis.set(ylim=(len(part) - 0.5, -0.5), xlim=(0, 107), xticks=range(0, 101, 20))
        axis.set_title(f"against {title}", loc="left", fontsize=9)
        axis.tick_params(axis="y", length=0)
    axes[-1, 0].set_xlabel("F1, %")
    _below(figure, [Patch(color=colour, label=name) for name, colour in BARS.items()])
    return figure
