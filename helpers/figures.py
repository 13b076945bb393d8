"""One function per kind of figure; one style. `helpers.study.Run.figure` saves them, each with its JSON sidecar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.patches import Patch

from helpers.measures.agreement import relative
from helpers.measures.functions import DIRECTIONS, RELATIONS

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
KIND_TITLES = {"encoder": "encoder self", "decoder": "decoder self", "cross": "decoder-encoder"}


def style() -> None:
    """Set the study's one style (notebooks call it once)."""
    sns.set_theme(context="paper", style="ticks", rc=STYLE)


def _grid(count: int, columns: int, width: float, height: float, **more):
    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **more)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def _legend_below(figure, handles: Sequence[Any], columns: int) -> None:
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(len(handles), columns), fontsize=8, columnspacing=1.2,
        handletextpad=0.4,
    )  # fmt: skip


# --- corpora ---------------------------------------------------------------------------------------------------------


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


def offsets(described: Mapping[str, Mapping[str, Any]], reach: int = 8):
    """Where the partner of a word stands: histogram of head minus dependent position for the four relations (Fig. 3)."""
    figure, axes = _grid(4, 4, 3.0, 2.4, sharey=True)
    for axis, relation in zip(axes, RELATIONS, strict=True):
        width = 0.8 / len(described)
        for i, (title, parts) in enumerate(described.items()):
            table = parts["offsets"][relation].reindex(range(-reach, reach + 1), fill_value=0)
            axis.bar(table.index + (i - (len(described) - 1) / 2) * width, 100 * table, width, color=MODELS[i], label=title)
        axis.set(title=relation, xlabel="head minus dependent, words", xticks=range(-reach, reach + 1, 2))
    axes[0].set_ylabel("% of arcs")
    axes[-1].legend(fontsize=7)
    return figure


def training_curves(histories: Mapping[str, pd.DataFrame]):
    """Dev loss of every model by step."""
    figure, (axis,) = _grid(1, 1, 5, 3)
    for (title, history), colour in zip(histories.items(), sns.color_palette("colorblind", len(histories)), strict=True):
        axis.plot(history.step, history.dev_loss, marker=".", color=colour, label=title)
    axis.set(xlabel="step", ylabel="dev loss (nats a token)")
    axis.legend(fontsize=8)
    return figure


# --- the head table --------------------------------------------------------------------------------------------------


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
    figure, axes = _grid(len(columns), 4, 3.1, 2.3)
    for number, (axis, (title, column)) in enumerate(zip(axes, columns.items(), strict=True)):
        last = number % 4 == 3 or number == len(columns) - 1
        _head_map(axis, column, (order or columns)[title], kind, limits, digits, cbar=last, cbar_kws={"label": label})
        axis.set(title=title, xlabel="heads, sorted", ylabel="layer" if number % 4 == 0 else "")
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
        text[i, : len(heads)] = [f"{_short(v, digits)}\n#{h}" for v, h in zip(table[i], heads, strict=False)]
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


def function_map(functions: Mapping[str, pd.Series], kind: str = "encoder"):
    """What each head does: a panel a model, a cell a head, split between its functions, labelled.

    Parameters
    ----------
    functions : mapping of title -> Series on (kind, layer, head) of lists of (function, label)
        Functions are keys of `COLOURS`, see `helpers.measures.functions.roles`.
    """
    figure, axes = _grid(len(functions), 4, 3.0, 2.2)
    seen: set[str] = set()
    for number, (axis, (title, column)) in enumerate(zip(axes, functions.items(), strict=True)):
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
                axis.text(head + 0.5, y + height / 2, label, ha="center", va="center", fontsize=5.5 if len(shown) < 4 else 4.5,
                          color="white" if dark else "black")  # fmt: skip
        axis.set(xlim=(0, heads), ylim=(0, layers), title=title, xlabel="head", ylabel="layer" if number % 4 == 0 else "")
        axis.set_xticks(np.arange(heads) + 0.5, range(heads))
        axis.set_yticks(np.arange(layers) + 0.5, range(1, layers + 1))
        axis.tick_params(length=0)
        sns.despine(ax=axis, left=True, bottom=True)
    handles = [Patch(color=COLOURS[name], label=name) for name in COLOURS if name in seen]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)
    return figure


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
        axis.set(title=relation, ylim=(0, 100))
    axes[0].set_ylabel("% of arcs, best head")
    handles = [Patch(color=c, label=m) for m, c in zip(models, MODELS, strict=False)]
    handles += [plt.Line2D([], [], color="black", ls=s, lw=1.1, label=n)
                for n, s in (("most frequent offset", "-"), ("best untrained head", ":"), ("random word", "--"))]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7.5)
    return figure


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
        if number == 0:
            axis.set_ylabel("share of query tokens")
            axis.legend(fontsize=6.5)
    return figure


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


def relevance_and_confidence(relevance: Mapping[str, pd.Series], confidence: Mapping[str, pd.Series], kind: str = "encoder"):
    """Relevance above confidence (Fig. 1 and 2), a column a model; heads of a layer are sorted by relevance in both.

    Parameters
    ----------
    relevance, confidence : mappings of title -> Series on (kind, layer, head)
    """
    shown = [column.xs(kind, level="kind") for column in relevance.values()]
    layers, heads = (max(part.index.get_level_values(name).max() for part in shown) + 1 for name in ("layer", "head"))
    figure, axes = plt.subplots(
        2, len(shown), squeeze=False, figsize=(max(2.4, 0.28 * heads + 0.8) * len(shown), 2 * max(1.5, 0.42 * layers + 0.6))
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
    for number, (axis, (title, column)) in enumerate(zip(axes, relevance.items(), strict=True)):
        table = pd.DataFrame({"relevance": column, "confidence": confidence[title]}).xs("encoder")
        for layer, part in table.groupby(level="layer"):
            axis.scatter(part.confidence, part.relevance, s=16, color=colours[layer], ec="black", lw=0.3)
        first = table.xs(table.index.get_level_values("layer").min())
        head = first.relevance.idxmax()
        x, y = first.confidence[head], first.relevance[head]
        if x < first.confidence.median():
            axis.scatter(x, y, s=70, fc="none", ec=MODELS[1], lw=1.2)
            axis.annotate(f"L1 #{head}", (x, y), (0, 6), textcoords="offset points", fontsize=7, color=MODELS[1], ha="center")
        axis.set(title=title, xlabel="confidence", ylabel="relevance (share of layer)" if number % 4 == 0 else "")
        axis.margins(0.08, 0.12)
    handles = [
        plt.Line2D([], [], ls="", marker="o", color=c, mec="black", mew=0.3, label=f"layer {i + 1}")
        for i, c in enumerate(colours)
    ]
    _legend_below(figure, handles, 4 * len(axes))
    return figure


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
    figure, (axis,) = _grid(1, 1, 7, 3.4)
    order, rng = list(COLOURS), np.random.default_rng(0)
    counts = dict.fromkeys(order, 0)
    for (title, column), marker in zip(relevance.items(), "osD^vP", strict=False):
        for address, value in relative(column.xs("encoder", drop_level=False)).items():
            for name in {function for function, _ in functions[title][address]} or {"none"}:
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


def agreement(matrices: Mapping[str, pd.DataFrame]):
    """Correlations between measures, a panel a title.

    Parameters
    ----------
    matrices : mapping of title -> square DataFrame, see `helpers.measures.agreement.rank_agreement`
    """
    size = max(len(matrix) for matrix in matrices.values())
    figure, axes = _grid(len(matrices), 4, 0.42 * size + 0.5 + 1.8 / min(4, len(matrices)), 0.42 * size + 1.6)
    for number, (axis, (title, matrix)) in enumerate(zip(axes, matrices.items(), strict=True)):
        text = matrix.map(_short).to_numpy()
        sns.heatmap(
            matrix, ax=axis, cmap="RdBu_r", vmin=-1, vmax=1, annot=text, fmt="", annot_kws={"fontsize": 7}, square=True,
            linewidths=0.5, cbar=False, yticklabels=number % 4 == 0,
        )  # fmt: skip
        axis.set(title=title, xlabel="", ylabel="")
        axis.tick_params(length=0, labelsize=7.5)
        axis.tick_params(axis="x", rotation=90)
    figure.colorbar(
        axes[0].collections[0], ax=axes, label="rank correlation", ticks=[-1, -0.5, 0, 0.5, 1], aspect=14,
        pad=0.05 / len(axes), fraction=0.15 / len(axes),
    )  # fmt: skip
    return figure


def settling(curves: Mapping[str, Mapping[str, pd.DataFrame]]):
    """How the ranking of heads settles with the number of sentences, a panel a title, a line a rule.

    Parameters
    ----------
    curves : mapping of title -> mapping of rule -> frame with n, rho, low, high, see `helpers.measures.agreement.settling`
    """
    figure, axes = _grid(len(curves), 4, 2.8, 2.5, sharey=True)
    rules = list(dict.fromkeys(rule for by_rule in curves.values() for rule in by_rule))
    for number, (axis, (title, by_rule)) in enumerate(zip(axes, curves.items(), strict=True)):
        for rule, frame in by_rule.items():
            colour = MODELS[rules.index(rule) % len(MODELS)]
            axis.fill_between(frame.n, frame.low, frame.high, color=colour, alpha=0.18, lw=0)
            axis.plot(frame.n, frame.rho, marker=".", color=colour)
        axis.set(title=title, xscale="log", xlabel="sentences", ylabel="Spearman with other half" if number % 4 == 0 else "")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.axhline(1, color="grey", lw=0.7, ls=":")
    handles = [plt.Line2D([], [], marker=".", color=MODELS[i % len(MODELS)], label=rule) for i, rule in enumerate(rules)]
    _legend_below(figure, handles, 3 * len(axes))
    return figure


def rank_correlations(frames: Mapping[str, pd.DataFrame]):
    """Correlation of measures with a truth, with intervals: measures down, a panel a title.

    Parameters
    ----------
    frames : mapping of title -> frame by measure with rho, low, high, see `helpers.measures.agreement.correlations`
    """
    measures = list(dict.fromkeys(name for frame in frames.values() for name in frame.index))
    figure, axes = _grid(len(frames), 4, 2.8, 0.26 * len(measures) + 0.9, sharex=True, sharey=True)
    for axis, (title, frame) in zip(axes, frames.items(), strict=True):
        frame = frame.reindex(measures)
        error = np.maximum(0, [frame.rho - frame.low, frame.high - frame.rho])
        axis.axvline(0, color="grey", lw=0.9, ls=":")
        axis.errorbar(frame.rho, range(len(measures)), xerr=error, fmt="o", ms=4, lw=1.1, color=MODELS[0])
        axis.set(title=title, xlabel="Spearman, 95 %", xlim=(-1.05, 1.05), ylim=(len(measures) - 0.5, -0.5))
        axis.set_yticks(range(len(measures)), measures)
    return figure
