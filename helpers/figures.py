"""One function per kind of figure; one style. `helpers.study.Run.figure` saves them, each with its JSON sidecar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib

matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.animation import FuncAnimation
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from helpers.measures.agreement import relative
from helpers.measures.functions import DIRECTIONS, RELATIONS
from helpers.redraw import redrawable
from helpers.study import StudyError

# Okabe-Ito colours, safe for colour-blind readers; each function keeps its own everywhere
COLOURS = {
    "positional": "#0072B2", "nsubj": "#D55E00", "dobj": "#E69F00", "amod": "#009E73", "advmod": "#56B4E9",
    "rare": "#CC79A7", "none": "#EDEDED",
}  # fmt: skip
MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE = {
    "figure.dpi": 110, "savefig.dpi": 160, "savefig.bbox": "tight", "font.size": 9, "axes.titlesize": 10,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "figure.constrained_layout.use": True,
    "pdf.fonttype": 42, "font.family": "DejaVu Sans",
}  # fmt: skip
WIDTH = 7.2  # of a page's text, inches: a figure printed over it keeps the size of its letters
KIND_TITLES = {"encoder": "encoder self", "decoder": "decoder self", "cross": "decoder-encoder"}


def style() -> None:
    """Set the study's one style (notebooks call it once)."""
    sns.set_theme(context="paper", style="ticks", rc=STYLE)


def _grid(count: int, columns: int, width: float, height: float, page: float = WIDTH, **more):
    """Panels of a size in inches, in as many columns as a page holds, at most `columns`."""
    columns = min(columns, count, max(1, int(page / width + 0.01)))
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **more)
    for axis in axes.flat:
        axis.tick_params(labelbottom=True)  # of shared axes too: below the last panel of a column there may be none
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def _left(axis) -> bool:
    """Whether no panel stands left of this one: there stand the labels that panels of a row share."""
    return axis.get_subplotspec().is_first_col()


def _legend_below(figure, handles: Sequence[Any], columns: int) -> None:
    """A legend below all panels, in as many columns as fit, at most `columns`."""
    widths = [0.06 * len(handle.get_label()) + 0.4 for handle in handles]  # inches
    columns = min(len(handles), columns)
    while columns > 1 and sum(map(max, np.array_split(widths, columns))) > figure.get_figwidth() + 0.6:
        columns -= 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.2, handletextpad=0.4)


# --- corpora ---------------------------------------------------------------------------------------------------------


@redrawable
def corpus_overview(described: Mapping[str, Mapping[str, Any]]):
    """Lengths, vocabulary coverage, persons of subjects and relation counts of each register.

    Parameters
    ----------
    described : mapping of title -> `helpers.corpora.describe.describe`
    """
    figure, axes = _grid(4, 4, 3.0, 2.6)
    for (title, parts), colour in zip(described.items(), MODELS, strict=False):
        lengths = parts["lengths"]
        mean = np.average(lengths.index, weights=lengths["sentences"])
        share = 100 * lengths["sentences"] / lengths["sentences"].sum()
        axes[0].plot(share.index, share, color=colour, label=f"{title} (mean {mean:.1f})")
        coverage = parts["coverage"]
        axes[1].plot(coverage.index, 100 * coverage["share"], color=colour, label=title)
    axes[0].set(xlabel="words in the sentence", ylabel="% of sentences", title="Length", xlim=(0, 40))
    axes[1].set(xscale="log", xlabel="most frequent words", ylabel="% of running words", title="Vocabulary coverage")
    axes[1].axvline(500, color="grey", lw=0.8, ls=":")
    for axis, part, label in ((axes[2], "persons", "% of subjects"), (axes[3], "relations", "per 100 sentences")):
        frame = pd.concat({title: parts[part].iloc[:, 0] for title, parts in described.items()}, axis=1)
        frame.plot.bar(ax=axis, color=MODELS[: frame.shape[1]], legend=False, rot=0, width=0.8)
        axis.set(ylabel=label, xlabel="", title="Persons of subjects" if part == "persons" else "Relations")
    for axis in axes[:1]:
        axis.legend(fontsize=7)
    return figure


@redrawable
def offsets(described: Mapping[str, Mapping[str, Any]], reach: int = 8):
    """Where the partner of a word stands: histogram of head minus dependent position for the four relations (Fig. 3)."""
    figure, axes = _grid(4, 4, 3.0, 2.4, sharey=True)
    for axis, relation in zip(axes, RELATIONS, strict=True):
        width = 0.8 / len(described)
        for i, (title, parts) in enumerate(described.items()):
            table = parts["offsets"][relation].reindex(range(-reach, reach + 1), fill_value=0)
            axis.bar(table.index + (i - (len(described) - 1) / 2) * width, 100 * table, width, color=MODELS[i], label=title)
        axis.set(title=relation, xlabel="head minus dependent, words", xticks=range(-reach, reach + 1, 2))
        axis.set_ylabel("% of arcs" if _left(axis) else "")
    axes[-1].legend(fontsize=7)
    return figure


@redrawable
def training_curves(histories: Mapping[str, pd.DataFrame]):
    """Dev loss of every model by step."""
    figure, (axis,) = _grid(1, 1, 5, 3)
    for (title, history), colour in zip(histories.items(), cycle(MODELS), strict=False):
        axis.plot(history.step, history.dev_loss, marker=".", color=colour, label=title)
    axis.set(xlabel="step", ylabel="dev loss (nats a token)")
    axis.legend(fontsize=8)
    return figure


# --- the head table --------------------------------------------------------------------------------------------------


@redrawable
def head_maps(
    columns: Mapping[str, pd.Series], kind: str = "encoder", order: Mapping[str, pd.Series] | None = None, label: str = "",
    limits: tuple[float, float] | None = (0, 1), digits: int = 2,
):  # fmt: skip
    """Heat maps of one column of the head table, a panel a model: layers down (1 at the bottom, as in the paper), heads across.

    Parameters
    ----------
    columns : mapping of title -> Series on (kind, layer, head)
    order : mapping of title -> Series, optional
        Heads of a layer are sorted by this column, largest first; by the drawn one if absent.
    """
    heads = max(column.xs(kind, level="kind").index.get_level_values("head").max() for column in columns.values()) + 1
    figure, axes = _grid(len(columns), 4, max(1.75, 0.2 * heads + 0.3), 2.0, page=1.1 * WIDTH)
    for number, (axis, (title, column)) in enumerate(zip(axes, columns.items(), strict=True)):
        last = axis.get_subplotspec().is_last_col() or number == len(columns) - 1
        _head_map(axis, column, (order or columns)[title], kind, limits, digits, cbar=last, cbar_kws={"label": label})
        axis.set(title=title, xlabel="heads, sorted", ylabel="layer" if _left(axis) else "")
    return figure


def _head_map(
    axis, column: pd.Series, rank: pd.Series, kind: str, limits: tuple[float, float] | None, digits: int = 2, **more: Any
) -> None:
    """One panel of `head_maps`: a row a layer, its heads sorted by `rank`; cells show value and #head."""
    column, rank = (part.xs(kind, level="kind") for part in (column, rank))
    rows = {layer: part.xs(layer).sort_values(ascending=False, kind="stable").index for layer, part in rank.groupby("layer")}
    table = pd.DataFrame([column.xs(layer).reindex(heads).tolist() for layer, heads in rows.items()]).to_numpy(float)
    text = np.full(table.shape, "", dtype=object)
    for i, heads in enumerate(rows.values()):
        text[i, : len(heads)] = [f"{_short(v, digits)}\n#{h + 1}" for v, h in zip(table[i], heads, strict=False)]
    low, high = limits or (None, None)
    sns.heatmap(
        table[::-1], ax=axis, cmap="viridis", vmin=low, vmax=high, annot=text[::-1], fmt="", linewidths=0.5,
        annot_kws={"fontsize": 5.5}, **more,
    )  # fmt: skip
    axis.set_xticks([])
    axis.set_yticklabels([layer + 1 for layer in rows][::-1], rotation=0)


def _short(value: float, digits: int = 2) -> str:
    """The number as ".45" for 0.45: a zero that all cells would share is left out."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and "0." in text else text


@redrawable
def function_map(functions: Mapping[str, pd.Series], kind: str = "encoder"):
    """What each head does: a panel a model, a cell a head, split between its functions, labelled.

    Parameters
    ----------
    functions : mapping of title -> Series on (kind, layer, head) of lists of (function, label)
        Functions are keys of `COLOURS`, see `helpers.measures.functions.roles`.
    """
    figure, axes = _grid(len(functions), 4, 3.0, 2.2)
    seen: set[str] = set()
    for axis, (title, column) in zip(axes, functions.items(), strict=True):
        column = column.xs(kind, level="kind")
        layers, heads = (int(column.index.get_level_values(n).max()) + 1 for n in ("layer", "head"))
        for (layer, head), roles in column.items():
            shown = roles or [("none", "")]
            for i, (function, label) in enumerate(shown):
                seen.add(function)
                height = 0.94 / len(shown)
                y = layer + 0.03 + i * height
                axis.add_patch(plt.Rectangle((head + 0.03, y), 0.94, height, color=COLOURS[function], lw=0))
                dark = function in ("positional", "nsubj", "amod")
                axis.text(head + 0.5, y + height / 2, label, ha="center", va="center", fontsize=6.5 if len(shown) < 4 else 5,
                          color="white" if dark else "black")  # fmt: skip
        axis.set(xlim=(0, heads), ylim=(0, layers), title=title, xlabel="head", ylabel="layer" if _left(axis) else "")
        axis.set_xticks(np.arange(heads) + 0.5, range(1, heads + 1))
        axis.set_yticks(np.arange(layers) + 0.5, range(1, layers + 1))
        axis.tick_params(length=0)
        sns.despine(ax=axis, left=True, bottom=True)
    handles = [Patch(color=COLOURS[name], label=name) for name in COLOURS if name in seen]
    _legend_below(figure, handles, 7)
    return figure


@redrawable
def syntactic_bars(best: pd.DataFrame):
    """Accuracy of the best head for each relation and direction (Fig. 4), with baselines.

    Parameters
    ----------
    best : pandas.DataFrame
        Rows: model, relation, direction, score, low, high, baseline, untrained, chance (shares).
    """
    figure, axes = _grid(4, 4, 3.0, 2.8, sharey=True)
    models = list(dict.fromkeys(best.model))
    for axis, relation in zip(axes, RELATIONS, strict=True):
        for j, direction in enumerate(DIRECTIONS):
            part = best[(best.relation == relation) & (best.direction == direction)].set_index("model").reindex(models)
            width = 0.8 / len(models)
            at = j + (np.arange(len(models)) - (len(models) - 1) / 2) * width
            error = 100 * np.maximum(0, [part.score - part.low, part.high - part.score])
            axis.bar(at, 100 * part.score, width * 0.92, color=MODELS[: len(models)], yerr=error, error_kw={"lw": 0.8})
            for name, marker in (("baseline", "-"), ("untrained", ":"), ("chance", "--")):
                for x, value in zip(at, part[name], strict=True):
                    axis.plot([x - width / 2, x + width / 2], [100 * value] * 2, color="black", ls=marker, lw=1.1)
        arrows = {"nsubj": ("v→s", "s→v"), "dobj": ("v→o", "o→v"), "amod": ("noun→adj", "adj→noun")}
        axis.set_xticks([0, 1], arrows.get(relation, ("v→adv", "adv→v")))
        axis.set(title=relation, ylim=(0, 100), ylabel="% of arcs, best head" if _left(axis) else "")
    handles = [Patch(color=c, label=m) for m, c in zip(models, MODELS, strict=False)]
    handles += [plt.Line2D([], [], color="black", ls=s, lw=1.1, label=n)
                for n, s in (("most frequent offset", "-"), ("best untrained head", ":"), ("random word", "--"))]  # fmt: skip
    _legend_below(figure, handles, 4)
    return figure


@redrawable
def rare_shares(frames: Mapping[str, pd.DataFrame]):
    """Share of query tokens on one of the two rarest tokens, every encoder head, by layer; chance as a line."""
    figure, axes = _grid(len(frames), 4, 2.6, 2.5, sharey=True)
    for number, (axis, (title, frame)) in enumerate(zip(axes, frames.items(), strict=True)):
        frame = frame.xs("encoder")
        layer = frame.index.get_level_values("layer").to_numpy()
        heads = int(frame.index.get_level_values("head").max()) + 1
        at = layer + 1 + (frame.index.get_level_values("head").to_numpy() - (heads - 1) / 2) * 0.7 / heads
        error = np.maximum(0, [frame.two_rarest - frame.two_rarest_low, frame.two_rarest_high - frame.two_rarest])
        axis.errorbar(at, frame.two_rarest, error, fmt="o", ms=3, lw=0.8, color=COLOURS["rare"], label="two rarest")
        axis.plot(at, frame.rarest, "_", ms=5, color="black", label="rarest")
        axis.axhline(frame.chance_two.iloc[0], color="grey", ls=":", lw=0.9, label="chance, two rarest")
        axis.set(title=title, xlabel="layer", xticks=range(1, layer.max() + 2), ylim=(0, 1))
        axis.set_ylabel("share of query tokens" if _left(axis) else "")
        if number == 0:
            axis.legend(fontsize=7)
    return figure


@redrawable
def attention(examples: Sequence[Mapping[str, Any]]):
    """Attention maps of chosen heads: rows look, columns are looked at.

    Parameters
    ----------
    examples : sequence of mappings
        "title", "rows" and "columns" (words), "weights" [rows, columns]; "arcs" (row, column) to be framed, optional.
    """
    figure, axes = _grid(len(examples), 3, 3.4, 3.3)
    for axis, example in zip(axes, examples, strict=True):
        axis.imshow(example["weights"], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90, fontsize=7)
        axis.set_yticks(range(len(example["rows"])), example["rows"], fontsize=7)
        for row, column in example.get("arcs", ()):
            axis.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=COLOURS["nsubj"], lw=1.4))
        axis.set_title(example["title"], fontsize=8)
        axis.tick_params(length=0)
    return figure


# --- relevance -------------------------------------------------------------------------------------------------------


@redrawable
def relevance_and_confidence(relevance: Mapping[str, pd.Series], confidence: Mapping[str, pd.Series], kind: str = "encoder"):
    """Relevance above confidence (Fig. 1 and 2), a column a model; heads of a layer are sorted by relevance in both.

    Parameters
    ----------
    relevance, confidence : mappings of title -> Series on (kind, layer, head)
    """
    shown = [column.xs(kind, level="kind") for column in relevance.values()]
    layers, heads = (max(part.index.get_level_values(name).max() for part in shown) + 1 for name in ("layer", "head"))
    figure, axes = plt.subplots(
        2, len(shown), squeeze=False, figsize=(max(1.75, 0.2 * heads + 0.3) * len(shown), 2 * max(1.2, 0.34 * layers + 0.6))
    )
    top = max(part.max() for part in shown)
    for row, name, columns, limit in zip(axes, ("relevance", "confidence"), (relevance, confidence), (top, 1), strict=True):
        for axis, (title, rank) in zip(row, relevance.items(), strict=True):
            _head_map(axis, columns[title], rank, kind, (0, limit), cbar=False)
            axis.set(title=title if name == "relevance" else "", ylabel="layer" if axis is row[0] else "")
            axis.set_xlabel("heads by relevance" if name == "confidence" else "")
        figure.colorbar(
            row[-1].collections[0], ax=list(row), label=name, aspect=14, pad=0.05 / len(row), fraction=0.15 / len(row)
        )
    return figure


@redrawable
def confidence_against_relevance(relevance: Mapping[str, pd.Series], confidence: Mapping[str, pd.Series]):
    """Relevance of every encoder head by its confidence, coloured by layer, a panel a model.

    The most relevant head of layer 1 is marked if its confidence is below its layer's median: the paper's exception.

    Parameters
    ----------
    relevance, confidence : mappings of title -> Series on (kind, layer, head)
    """
    figure, axes = _grid(len(relevance), 4, 2.8, 2.6, sharex=True, sharey=True)
    layers = max(column.xs("encoder").index.get_level_values("layer").max() for column in relevance.values()) + 1
    colours = sns.color_palette("viridis_r", layers)
    for axis, (title, column) in zip(axes, relevance.items(), strict=True):
        table = pd.DataFrame({"relevance": column, "confidence": confidence[title]}).xs("encoder")
        for layer, part in table.groupby(level="layer"):
            axis.scatter(part.confidence, part.relevance, s=16, color=colours[layer], ec="black", lw=0.3)
        first = table.xs(table.index.get_level_values("layer").min())
        head = first.relevance.idxmax()
        x, y = first.confidence[head], first.relevance[head]
        if x < first.confidence.median():
            axis.scatter(x, y, s=70, fc="none", ec=MODELS[1], lw=1.2)
            axis.annotate(
                f"L1 #{head + 1}", (x, y), (0, 6), textcoords="offset points", fontsize=7, color=MODELS[1], ha="center"
            )
        axis.set(title=title, xlabel="confidence", ylabel="relevance (share of layer)" if _left(axis) else "")
        axis.margins(0.08, 0.12)
    handles = [
        plt.Line2D([], [], ls="", marker="o", color=c, mec="black", mew=0.3, label=f"layer {i + 1}")
        for i, c in enumerate(colours)
    ]
    _legend_below(figure, handles, 4 * len(axes))
    return figure


@redrawable
def relevance_by_function(relevance: Mapping[str, pd.Series], functions: Mapping[str, pd.Series], summary: Mapping[str, float]):
    """Relevance of encoder heads, in units of the layer's average head, by what they do; a marker a model.

    Parameters
    ----------
    relevance : mapping of title -> Series on (kind, layer, head)
    functions : mapping of title -> Series of lists of (function, label)
        A head with several functions stands at each of them.
    summary : mapping
        What `helpers.measures.agreement.follows_function` returns.
    """
    figure, (axis,) = _grid(1, 1, 6.9, 3.4)
    order, rng = list(COLOURS), np.random.default_rng(0)
    counts = dict.fromkeys(order, 0)
    for (title, column), marker in zip(relevance.items(), "osD^vP", strict=False):
        for address, value in relative(column.xs("encoder", drop_level=False)).items():
            for name in dict.fromkeys(function for function, _ in functions[title][address]) or ["none"]:  # a set has no order
                counts[name] += 1
                at = order.index(name) + rng.uniform(-0.25, 0.25)
                axis.plot(at, value, marker, ms=4.5, color=COLOURS[name], mec="black", mew=0.4)
    axis.axhline(1, color="grey", lw=0.9, ls=":")
    axis.set_xticks(range(len(order)), [f"{name}\n({counts[name]})" for name in order])
    axis.set(xlabel="function (heads)", ylabel="relevance / layer's average", xlim=(-0.5, len(order) - 0.5))
    said = "no layer has heads with and heads without a function"
    if summary["functional"]:
        said = (
            f"with minus without a function: {summary['difference']:+.2f} [{summary['low']:+.2f}, {summary['high']:+.2f}],"
            f" shuffled {summary['null_low']:+.2f} to {summary['null_high']:+.2f} (95 %)"
        )
    axis.set_title(said, fontsize=9)
    handles = [plt.Line2D([], [], ls="", marker=m, ms=4.5, color="white", mec="black", mew=0.6, label=title)
               for title, m in zip(relevance, "osD^vP", strict=False)]  # fmt: skip
    _legend_below(figure, handles, 5)
    return figure


# --- agreement of measures -------------------------------------------------------------------------------------------


@redrawable
def agreement(matrices: Mapping[str, pd.DataFrame]):
    """Correlations between measures, a panel a title.

    Parameters
    ----------
    matrices : mapping of title -> square DataFrame, see `helpers.measures.agreement.rank_agreement`
    """
    size = max(len(matrix) for matrix in matrices.values())
    cell, across = (0.42, 1) if len(matrices) == 1 else (0.31, 2)
    room = 0.062 * max(len(str(name)) for matrix in matrices.values() for name in matrix.index)  # for the longest name
    figure, axes = _grid(
        len(matrices), across, cell * size + 0.1 + (room + 0.9) / across, cell * size + room + 0.4, page=1.1 * WIDTH
    )
    for axis, (title, matrix) in zip(axes, matrices.items(), strict=True):
        text = matrix.map(_short).to_numpy()
        sns.heatmap(
            matrix, ax=axis, cmap="RdBu_r", vmin=-1, vmax=1, annot=text, fmt="", annot_kws={"fontsize": 6.5}, square=True,
            linewidths=0.5, cbar=False, yticklabels=_left(axis),
        )  # fmt: skip
        axis.set(title=title, xlabel="", ylabel="")
        axis.tick_params(length=0, labelsize=7.5)
        axis.tick_params(axis="x", rotation=90)
    figure.colorbar(
        axes[0].collections[0], ax=axes, label="rank correlation", ticks=[-1, -0.5, 0, 0.5, 1], aspect=14,
        pad=0.05 / min(2, len(axes)), fraction=0.15 / min(2, len(axes)), shrink=1 / -(-len(axes) // 2),
    )  # fmt: skip
    return figure


@redrawable
def settling(curves: Mapping[str, Mapping[str, pd.DataFrame]]):
    """How the ranking of heads settles with the number of sentences, a panel a title, a line a rule.

    Parameters
    ----------
    curves : mapping of title -> mapping of rule -> frame with n, rho, low, high, see `helpers.measures.agreement.settling`
    """
    figure, axes = _grid(len(curves), 4, 2.8, 2.5, sharey=True)
    rules = list(dict.fromkeys(rule for by_rule in curves.values() for rule in by_rule))
    for axis, (title, by_rule) in zip(axes, curves.items(), strict=True):
        for rule, frame in by_rule.items():
            colour = MODELS[rules.index(rule) % len(MODELS)]
            axis.fill_between(frame.n, frame.low, frame.high, color=colour, alpha=0.18, lw=0)
            axis.plot(frame.n, frame.rho, marker=".", color=colour)
        axis.set(title=title, xscale="log", xlabel="sentences", ylabel="Spearman with other half" if _left(axis) else "")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.axhline(1, color="grey", lw=0.7, ls=":")
    handles = [plt.Line2D([], [], marker=".", color=MODELS[i % len(MODELS)], label=rule) for i, rule in enumerate(rules)]
    _legend_below(figure, handles, 3 * len(axes))
    return figure


@redrawable
def rank_correlations(frames: Mapping[str, pd.DataFrame]):
    """Correlation of measures with a truth, with intervals: measures down, a panel a title.

    Parameters
    ----------
    frames : mapping of title -> frame by measure with rho, low, high, see `helpers.measures.agreement.correlations`
    """
    measures = list(dict.fromkeys(name for frame in frames.values() for name in frame.index))
    figure, axes = _grid(len(frames), 4, 3.3, 0.24 * len(measures) + 0.9, sharex=True, sharey=True)
    for axis, (title, frame) in zip(axes, frames.items(), strict=True):
        frame = frame.reindex(measures)
        error = np.maximum(0, [frame.rho - frame.low, frame.high - frame.rho])
        axis.axvline(0, color="grey", lw=0.9, ls=":")
        axis.errorbar(frame.rho, range(len(measures)), xerr=error, fmt="o", ms=4, lw=1.1, color=MODELS[0])
        axis.set_title(title, fontsize=9)
        axis.set(xlabel="Spearman, 95 %", xlim=(-1.05, 1.05), ylim=(len(measures) - 0.5, -0.5))
        axis.set_yticks(range(len(measures)), measures)
    return figure


# --- pruning ---------------------------------------------------------------------------------------------------------

_MARKERS = "osD^vP*Xh"
_LEVELS = {"further training": (MODELS[2], "-"), "start": ("#7F7F7F", "-."), "no encoder attention": ("black", "--")}
_CLOSED = 1 / (1 + 11**0.33)  # P(closed) of a gate that is as often fully open, stretch (-0.1, 1.1), temperature 0.33
_DASHES = {"encoder": "-", "decoder": "--", "cross": ":"}
_SHORT = {"encoder": "enc", "decoder": "dec", "cross": "cross"}


def _need(table: pd.DataFrame, *columns: str) -> None:
    """Refuse a table that is empty or lacks a column."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise StudyError(f"The table has no column {missing[0]!r}: it needs {', '.join(columns)}.")
    if table.empty:
        raise StudyError("The table has no rows: give at least one point to draw.")


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every name; nine can be told apart, also without colour."""
    colours = (*MODELS, "#000000", "#999999", "#7A5200")
    return {name: {"color": colours[i % 9], "marker": _MARKERS[i % 9]} for i, name in enumerate(names)}


def _points(axis, rows: pd.DataFrame, x: str, y: str, color: str, marker: str) -> None:
    """Every row as a marker, with its interval from low to high if it has one, and a line through the means at each x."""
    value, low, high = (
        rows[name].to_numpy(float) if name in rows else np.full(len(rows), np.nan) for name in (y, "low", "high")
    )
    error = np.maximum(0, [value - low, high - value])
    axis.errorbar(rows[x], value, error, ls="", marker=marker, ms=4, color=color, elinewidth=0.8, mec="white", mew=0.4)
    mean = rows.groupby(x)[y].mean()
    axis.plot(mean.index, mean, color=color, lw=1.2)


def _retained(axis, most: float, label: str = "heads retained") -> None:
    """The paper's x axis: all heads at the left, none at the right."""
    axis.set(xlim=(1.04 * most, -0.04 * most), xlabel=label)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))


@redrawable
def pruning_curves(points: pd.DataFrame, unit: str = "BLEU"):
    """BLEU against retained heads (section 6.2.1, Fig. 7), a panel a model.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: model, method, heads (retained), total, bleu, low, high (nan where there is no interval). The methods "further
        training" (the control: trained on without penalty), "start" (before further training) and "no encoder attention"
        (the floor) are horizontal lines; all others curves. Rows that share method and heads, such as seeds, are all drawn
        and the line goes through their mean.
    unit : str
        Label of the y axis, for another score in column bleu, such as the difference to the control.
    """
    _need(points, "model", "method", "heads", "total", "bleu", "low", "high")
    titles, methods = list(dict.fromkeys(points.model)), list(dict.fromkeys(points.method))
    looks = _looks([name for name in methods if name not in _LEVELS])
    looks |= {name: {"color": colour, "marker": "s", "ls": ls} for name, (colour, ls) in _LEVELS.items() if name in methods}
    figure, axes = _grid(len(titles), 4, 3.1, 2.7)
    for axis, title in zip(axes, titles, strict=True):
        part = points[points.model == title]
        for method, look in looks.items():
            rows = part[part.method == method]
            if method not in _LEVELS:
                _points(axis, rows, "heads", "bleu", **look)
                continue
            for row in rows.itertuples():
                axis.axhline(row.bleu, color=look["color"], ls=look["ls"], lw=1.1, zorder=1)
                if method == "further training" and np.isfinite(row.low + row.high):
                    axis.axhspan(row.low, row.high, color=look["color"], alpha=0.12, lw=0)
                if method != "no encoder attention":
                    axis.plot(row.heads, row.bleu, "s", ms=4.5, color=look["color"], mec="white", mew=0.4)
        control = part.bleu[part.method == "further training"].mean()
        if np.isfinite(control):
            axis.axhline(control - 0.25, color=_LEVELS["further training"][0], ls=":", lw=1.1, zorder=1)
        _retained(axis, part.total.max(), f"heads retained (of {part.total.max()})")
        axis.set(title=title, ylabel=unit if _left(axis) else "")
    handles = [
        plt.Line2D([], [], **({**look, "marker": ""} if name == "no encoder attention" else look), ms=4, label=name)
        for name, look in looks.items()
    ]
    if "further training" in methods:
        handles.append(plt.Line2D([], [], color=_LEVELS["further training"][0], ls=":", label="further training − 0.25 BLEU"))
    _legend_below(figure, handles, 3 if len(axes) > 1 else 2)
    return figure


@redrawable
def methods_at_equal_heads(points: pd.DataFrame):
    """Ways of choosing heads, compared at equal numbers of heads: a panel a model and way of pruning, a line a method.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: panel (its title), method, heads (retained), value, low, high (nan where there is no interval), unit (of the
        y axis). Of a method with several rows at one number of heads, such as random draws, the mean is drawn with a band
        that holds 95 % of them; their own low and high are not shown.
    """
    _need(points, "panel", "method", "heads", "value", "low", "high", "unit")
    titles, looks = list(dict.fromkeys(points.panel)), _looks(list(dict.fromkeys(points.method)))
    figure, axes = _grid(len(titles), 4, 3.1, 2.7)
    for axis, title in zip(axes, titles, strict=True):
        part = points[points.panel == title]
        for method, rows in part.groupby("method", sort=False):
            look, draws = looks[method], rows.groupby("heads")["value"]
            if (draws.size() > 1).any():
                ends = draws.quantile([0.025, 0.975]).unstack()
                axis.fill_between(ends.index, ends[0.025], ends[0.975], color=look["color"], alpha=0.2, lw=0)
                rows = draws.mean().reset_index()
            _points(axis, rows, "heads", "value", **look)
        _retained(axis, part.heads.max())
        axis.set(title=title, ylabel=part.unit.iloc[0])
    _legend_below(figure, [plt.Line2D([], [], **look, ms=4, lw=1.2, label=name) for name, look in looks.items()], 2 * len(axes))
    return figure


def _stack(axis, columns: Sequence[tuple[int, Mapping[str, float]]], colours: Mapping[str, Any]) -> None:
    """Stacked columns of equal width, the sparsest at the right; the numbers on the x axis are heads retained."""
    columns = sorted(columns, key=lambda column: -column[0])
    bottom = np.zeros(len(columns))
    for name, colour in colours.items():
        heights = np.array([parts.get(name, 0) for _, parts in columns], float)
        axis.bar(range(len(columns)), heights, 0.82, bottom, color=colour, ec="white", lw=0.4, label=name)
        bottom += heights
    axis.set_xticks(range(len(columns)), [heads for heads, _ in columns], fontsize=8 if len(columns) < 12 else 6.5)
    axis.set_xlim(-0.6, len(columns) - 0.4)
    axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))


@redrawable
def retained_functions(functions: Mapping[str, Sequence[tuple[int, Sequence[Sequence[str]]]]], totals: Mapping[str, int]):
    """What the retained heads do at each sparsity (section 6.2.1, Fig. 8): a panel a model, a column a pruned model.

    Parameters
    ----------
    functions : mapping of title -> list of (heads retained, functions of each of them)
        Names of functions are keys of `COLOURS`. A head with several is split evenly between them, one without counts as
        "none", so that a column is as high as the number of heads.
    totals : mapping of title -> heads before pruning

    Raises
    ------
    StudyError
        For a function without a colour, or if the number of heads is not that of the lists.
    """
    figure, axes = _grid(len(functions), 4, 3.1, 2.5)
    seen: set[str] = set()
    for axis, (title, pruned) in zip(axes, functions.items(), strict=True):
        columns = []
        for heads, roles in pruned:
            if len(roles) != heads:
                raise StudyError(f"A column of {title} has {heads} heads but functions of {len(roles)}: give a list a head.")
            parts = dict.fromkeys(COLOURS, 0.0)
            for names in roles:
                shown = list(dict.fromkeys(names)) or ["none"]
                for name in shown:
                    if name not in parts:
                        raise StudyError(f"There is no function {name!r}: choose from {', '.join(COLOURS)}.")
                    parts[name] += 1 / len(shown)
            columns.append((heads, parts))
            seen |= {name for name, height in parts.items() if height}
        _stack(axis, columns, COLOURS)
        axis.set(title=title, xlabel=f"heads retained (of {totals[title]})", ylabel="heads" if _left(axis) else "")
        axis.set_ylim(0, totals[title])
    _legend_below(figure, [Patch(color=colour, label=name) for name, colour in COLOURS.items() if name in seen], 7)
    return figure


@redrawable
def kept_by_kind(table: pd.DataFrame):
    """Share of heads kept of each kind of attention against the share of all heads kept (section 6.3, Fig. 9).

    On the dotted line a kind keeps as large a share as all heads do; above it, it is pruned later.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows: model, total_kept, total, and for each kind KIND (kept) and KIND_total; a kind without a column or with total
        0 is not drawn.
    """
    kinds = [kind for kind in KIND_TITLES if kind in table.columns]
    _need(table, "model", "total_kept", "total", *[f"{kind}_total" for kind in kinds])
    titles = list(dict.fromkeys(table.model))
    looks = {kind: look for kind, look in _looks(list(KIND_TITLES)).items() if kind in kinds}
    figure, axes = _grid(len(titles), 4, 3.0, 2.7, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        part = table[table.model == title]
        axis.plot([0, 100], [0, 100], color="grey", lw=0.9, ls=":")
        for kind, look in looks.items():
            rows = part[part[f"{kind}_total"] > 0]
            shares = pd.DataFrame({"x": 100 * rows.total_kept / rows.total, "y": 100 * rows[kind] / rows[f"{kind}_total"]})
            _points(axis, shares, "x", "y", **look)
        axis.set(title=title, xlim=(104, -4), ylim=(-4, 104), xlabel="% of all heads kept")
        axis.set_ylabel("% of the kind kept" if _left(axis) else "")
    handles = [plt.Line2D([], [], **look, ms=4, lw=1.2, label=KIND_TITLES[kind]) for kind, look in looks.items()]
    _legend_below(figure, [*handles, plt.Line2D([], [], color="grey", lw=0.9, ls=":", label="equal share")], 4)
    return figure


def _layer_colours(layers: int) -> list[Any]:
    """From light (layer 1) to dark."""
    return list(sns.color_palette("viridis_r", layers))


@redrawable
def kept_by_layer(table: pd.DataFrame):
    """Heads kept in each layer at each sparsity (section 6.3, Fig. 10): a row a model, a panel a kind of attention.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by (model, total_kept, kind, layer), column kept. The paper shows the decoder's two kinds. Of several rows
        with one index (seeds) the mean is drawn. From 6 layers on, pairs of layers are one colour, as in the paper.
    """
    kept = table["kept"].groupby(level=[0, 1, 2, 3], sort=False).mean()
    if kept.empty:
        raise StudyError("The table has no rows: give at least one pruned model to draw.")
    titles, found = (list(dict.fromkeys(kept.index.get_level_values(level))) for level in (0, 2))
    kinds, layers = [kind for kind in KIND_TITLES if kind in found], int(kept.index.get_level_values(3).max()) + 1
    size = 2 if layers >= 6 else 1
    names = [_layer_name(first, min(first + size, layers)) for first in range(0, layers, size)]
    colours = dict(zip(names, _layer_colours(len(names)), strict=True))
    figure, axes = plt.subplots(
        len(titles),
        len(kinds),
        squeeze=False,
        sharey="row",
        figsize=(min(3.4, WIDTH / len(kinds)) * len(kinds), 1.7 * len(titles) + 0.6),
    )
    for row, title in zip(axes, titles, strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            columns: dict[int, dict[str, float]] = {}
            for (total, layer), heads in kept.xs((title, kind), level=(0, 2)).items():
                parts = columns.setdefault(total, dict.fromkeys(names, 0.0))
                parts[names[layer // size]] += heads
            _stack(axis, list(columns.items()), colours)
            axis.set_title(f"{title}, {KIND_TITLES[kind]}", fontsize=7)
            axis.set_xlabel("all heads kept" if title == titles[-1] else "")
        row[0].set_ylabel("heads kept")
    _legend_below(figure, [Patch(color=colour, label=name) for name, colour in colours.items()], 4 * len(kinds))
    return figure


def _layer_name(first: int, end: int) -> str:
    return f"layer {first + 1}" if end == first + 1 else f"layers {first + 1} and {end}"


Traces = Mapping[float, pd.DataFrame]


def _steps(traces: Traces, number: int) -> list[int]:
    """Steps of the traces, evenly spread from the first to the last, at most `number`."""
    if not traces or any(trace.empty for trace in traces.values()):
        raise StudyError("There is no trace of gates: give P(closed) of at least one step for every penalty.")
    steps = sorted(set().union(*(trace.index for trace in traces.values())))
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, number).round().astype(int))]


def _at(trace: pd.DataFrame, step: int) -> pd.Series:
    """P(closed) at a step, or at the last step before it that was kept."""
    return trace.iloc[max(0, trace.index.searchsorted(step, "right") - 1)]


def _penalty(value: float, trace: pd.DataFrame, kept: Mapping[float, int] | None) -> str:
    """Title of a penalty: how many heads it leaves."""
    left = int((trace.iloc[-1] < _CLOSED).sum()) if kept is None else kept[value]
    return f"λ = {value:g}, {left} of {trace.shape[1]} kept"


def _gate_map(axis, gates: pd.Series) -> PatchCollection:
    """One panel of P(closed): a cell a head, layer 1 at the bottom, kinds side by side; cells in the order of `gates`."""
    rows = pd.DataFrame([*gates.index], columns=["kind", "layer", "head"])
    width = rows.groupby("kind")["head"].max() + 1
    kinds = [kind for kind in _SHORT if kind in width]
    left = dict(zip(kinds, np.cumsum([0, *(width[kind] + 1 for kind in kinds)]), strict=False))
    cells = [plt.Rectangle((left[kind] + head, layer), 1, 1) for kind, layer, head in rows.itertuples(index=False)]
    drawn = PatchCollection(cells, cmap="Greys", ec="#B8B8B8", lw=0.4, clim=(0, 1), clip_on=False)
    drawn.set_array(gates.to_numpy(float))
    axis.add_collection(drawn)
    layers = rows.layer.max() + 1
    axis.set(xlim=(0, left[kinds[-1]] + width[kinds[-1]]), ylim=(0, layers))
    named = kinds if len(kinds) > 1 else []
    axis.set_xticks([left[kind] + width[kind] / 2 for kind in named], [_SHORT[kind] for kind in named], fontsize=7)
    axis.set_yticks(np.arange(layers) + 0.5, range(1, layers + 1), fontsize=7)
    axis.tick_params(length=0, pad=2)
    sns.despine(ax=axis, left=True, bottom=True)
    return drawn


def _gate_bar(figure, drawn: PatchCollection, axes) -> None:
    """A colour bar 0.15 inches wide beside all panels."""
    width, height = figure.get_size_inches()
    more = {"fraction": 0.18 / width, "aspect": height / 0.18, "pad": 0.1 / width}
    figure.colorbar(drawn, ax=axes, label="P(closed)", ticks=[0, 0.5, 1], **more)


@redrawable
def gate_closing(traces: Traces, kept: Mapping[float, int] | None = None, steps: int = 6):
    """P(closed) of every gate at a few steps of training: a row a penalty, a column a step, a cell a head.

    Parameters
    ----------
    traces : mapping of penalty λ -> DataFrame
        P(g = 0) by step (rows) and head (columns: kind, layer, head).
    kept : mapping of penalty -> heads left, optional
        Without it, heads of the last row whose P(g = 1) > P(g = 0) (footnote 7) at the stretch and temperature of the
        paper's code.
    steps : int
        Columns, evenly spread from the first step to the last.

    Raises
    ------
    StudyError
        If a trace is empty.
    """
    chosen = _steps(traces, steps)
    layers = max(layer for trace in traces.values() for _, layer, _ in trace.columns) + 1
    figure, axes = plt.subplots(
        len(traces), len(chosen), squeeze=False, sharex=True, sharey=True,
        figsize=(min(WIDTH, max(3.5, 2.0 * len(chosen))), (max(0.75, 0.16 * layers) + 0.3) * len(traces) + 0.4),
    )  # fmt: skip
    for row, (value, trace) in zip(axes, traces.items(), strict=True):
        for axis, step in zip(row, chosen, strict=True):
            drawn = _gate_map(axis, _at(trace, step))
        row[0].set_title(_penalty(value, trace, kept), loc="left", fontsize=9)
        row[0].set_ylabel("layer")
    for axis, step in zip(axes[-1], chosen, strict=True):
        axis.set_xlabel(f"step {step}")
    _gate_bar(figure, drawn, axes)
    return figure


@redrawable
def gate_closing_animation(traces: Traces, frames: int = 30, kept: Mapping[float, int] | None = None) -> FuncAnimation:
    """`gate_closing` as an animation over training steps, a panel a penalty; small enough to stay inside a notebook.

    Parameters
    ----------
    traces, kept
        As in `gate_closing`.
    frames : int
        Steps shown, evenly spread from the first to the last.
    """
    chosen = _steps(traces, frames)
    figure, axes = _grid(len(traces), 2, 2.9, 1.35, sharey=True)
    figure.set_dpi(90)  # of the file
    drawn = {value: _gate_map(axis, _at(trace, chosen[0])) for axis, (value, trace) in zip(axes, traces.items(), strict=True)}
    for axis, (value, trace) in zip(axes, traces.items(), strict=True):
        axis.set_title(_penalty(value, trace, kept), fontsize=9)
        axis.set_ylabel("layer" if _left(axis) else "")
    heading = figure.suptitle(f"step {chosen[-1]}", fontsize=9)
    _gate_bar(figure, drawn[value], axes)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # nothing moves between frames

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        for value, cells in drawn.items():
            cells.set_array(_at(traces[value], step).to_numpy(float))
        return [heading, *drawn.values()]

    # the end stays for a while
    return FuncAnimation(figure, show, [*chosen, *chosen[-1:] * 8], init_func=lambda: show(chosen[0]), interval=150)


@redrawable
def gate_paths(traces: Traces, kept: Mapping[float, int] | None = None):
    """P(closed) of every gate against training steps, a panel a penalty, coloured by layer; counts gates not yet decided.

    Parameters
    ----------
    traces, kept
        As in `gate_closing`. A gate is undecided while 0.05 < P(closed) < 0.95.
    """
    _steps(traces, 1)
    figure, axes = _grid(len(traces), 2 if len(traces) in (2, 4) else 3, 2.4, 2.0, sharey=True)
    heads = list(dict.fromkeys(address for trace in traces.values() for address in trace.columns))
    colours = _layer_colours(max(layer for _, layer, _ in heads) + 1)
    kinds = [kind for kind in KIND_TITLES if any(address[0] == kind for address in heads)]
    for axis, (value, trace) in zip(axes, traces.items(), strict=True):
        shown = trace.loc[_steps({value: trace}, 300)]
        for level in (0.05, 0.95):
            axis.axhline(level, color="grey", lw=0.7, ls=":")
        for (kind, layer, _), path in shown.items():
            axis.plot(path.index, path, color=colours[layer], ls=_DASHES[kind] if len(kinds) > 1 else "-", lw=0.9,
                      marker="." if len(shown) == 1 else "")  # fmt: skip
        undecided = int(trace.iloc[-1].between(0.05, 0.95, inclusive="neither").sum())
        axis.text(0.02, 0.98, f"{undecided} undecided", transform=axis.transAxes, va="top", fontsize=8)
        axis.set(title=_penalty(value, trace, kept), xlabel="step", ylim=(-0.04, 1.22), yticks=[0, 0.5, 1])
        axis.set_ylabel("P(closed)" if _left(axis) else "")
    handles = [plt.Line2D([], [], color=colour, label=_layer_name(i, i + 1)) for i, colour in enumerate(colours)]
    if len(kinds) > 1:
        handles += [plt.Line2D([], [], color="black", lw=0.9, ls=_DASHES[kind], label=KIND_TITLES[kind]) for kind in kinds]
    _legend_below(figure, handles, 3 * len(axes))
    return figure


@redrawable
def hard_concrete(distributions: Sequence[Any]):
    """Hard Concrete distributions of a gate (section 6.1, Fig. 6): density inside, probabilities of exactly 0 and 1 as bars.

    Parameters
    ----------
    distributions : sequence of helpers.methods.l0.HardConcrete
        Each with a 0-dim log_alpha; a panel each.
    """
    import torch

    figure, axes = _grid(len(distributions), 3, 2.4, 2.1, sharex=True, sharey=True)
    inside = torch.linspace(0, 1, 201)[1:-1]
    for axis, gate in zip(axes, distributions, strict=True):
        density = gate.density(inside).detach().numpy()
        axis.fill_between(inside, density, color=MODELS[0], alpha=0.25, lw=0)
        axis.plot(inside, density, color=MODELS[0], lw=1.2)
        for at, mass in ((0, float(gate.p_closed().detach())), (1, float(gate.p_full().detach()))):
            axis.bar(at, mass, 0.07, color=MODELS[1], zorder=3)
            axis.annotate(
                f"{mass:.2f}", (at, mass), (0, 4), textcoords="offset points", ha="center", fontsize=8, color=MODELS[1],
                zorder=4, bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.85},
            )  # fmt: skip
        title = f"log α = {float(gate.log_alpha.detach()):g}, temperature {float(gate.temperature):g}".replace("-", "−")
        axis.set(title=title, xlabel="gate")
        axis.set(xlim=(-0.12, 1.12), xticks=[0, 0.5, 1], ylabel="density; probability" if _left(axis) else "")
    axes[0].set_ylim(0, 1.12 * axes[0].get_ylim()[1])
    handles = [
        Patch(color=MODELS[1], label="P(gate = 0), P(gate = 1)"),
        Patch(color=MODELS[0], alpha=0.4, label="density between"),
    ]
    _legend_below(figure, handles, 2)
    return figure


def hard_concrete_slider(make):
    """Sliders for log alpha and temperature above the figure of `hard_concrete`, for JupyterLab.

    Parameters
    ----------
    make : callable
        ``make(log_alpha, temperature)``, two floats, returns the distribution to draw.

    Returns
    -------
    ipywidgets.VBox
    """
    import io

    import ipywidgets

    where = ipywidgets.FloatSlider(0, min=-6, max=6, step=0.25, description="log α", continuous_update=False)
    heat = ipywidgets.FloatSlider(0.33, min=0.1, max=1, step=0.01, description="temperature", continuous_update=False)
    picture = ipywidgets.Image(format="png")

    def draw(_=None) -> None:
        figure, file = hard_concrete([make(where.value, heat.value)]), io.BytesIO()
        figure.savefig(file, format="png", dpi=110)
        plt.close(figure)
        picture.value = file.getvalue()

    for slider in (where, heat):
        slider.observe(draw, "value")
    draw()
    return ipywidgets.VBox([where, heat, picture])


@redrawable
def learning_curves(curves: Mapping[str, pd.DataFrame]):
    """Dev loss against training steps, a line a method, above the heads left at each step.

    Parameters
    ----------
    curves : mapping of name -> DataFrame with step, dev_loss (nats a token), heads
    """
    looks = _looks(list(curves))
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(5, 4.0), height_ratios=(3, 1.2))
    for name, curve in curves.items():
        _need(curve, "step", "dev_loss", "heads")
        above.plot(curve.step, curve.dev_loss, ms=4, lw=1.2, mec="white", mew=0.4, **looks[name])
        below.plot(curve.step, curve.heads, ms=3, lw=1.2, mec="white", mew=0.3, drawstyle="steps-post", **looks[name])
    above.set_ylabel("dev loss (nats a token)")
    below.set(xlabel="step", ylabel="heads left")
    below.set_ylim(bottom=0)
    below.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    _legend_below(figure, [plt.Line2D([], [], **look, ms=4, lw=1.2, label=name) for name, look in looks.items()], 3)
    return figure
