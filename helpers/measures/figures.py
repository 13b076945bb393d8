"""Figures of measures: one function per kind of figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MODELS, WIDTH, redrawable
from helpers.measures.functions import DIRECTIONS, RELATIONS
from helpers.measures.ranks import relative


@redrawable
def corpus_overview(described: Mapping[str, Mapping[str, Any]]):
    """Lengths, vocabulary coverage, persons of subjects and relation counts of each register.

    Parameters
    ----------
    described : mapping of title -> `helpers.corpora.describe.describe`
    """
    figure, axes = drawing.grid(4, 4, 3.0, 2.6)
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
    figure, axes = drawing.grid(4, 4, 3.0, 2.4, sharey=True)
    for axis, relation in zip(axes, RELATIONS, strict=True):
        width = 0.8 / len(described)
        for i, (title, parts) in enumerate(described.items()):
            table = parts["offsets"][relation].reindex(range(-reach, reach + 1), fill_value=0)
            axis.bar(table.index + (i - (len(described) - 1) / 2) * width, 100 * table, width, color=MODELS[i], label=title)
        axis.set(title=relation, xlabel="head minus dependent, words", xticks=range(-reach, reach + 1, 2))
        axis.set_ylabel("% of arcs" if drawing.left(axis) else "")
    axes[-1].legend(fontsize=7)
    return figure


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
    figure, axes = drawing.grid(len(columns), 4, max(1.75, 0.2 * heads + 0.3), 2.0, page=1.1 * WIDTH)
    for number, (axis, (title, column)) in enumerate(zip(axes, columns.items(), strict=True)):
        last = axis.get_subplotspec().is_last_col() or number == len(columns) - 1
        _head_map(axis, column, (order or columns)[title], kind, limits, digits, cbar=last, cbar_kws={"label": label})
        axis.set(title=title, xlabel="heads, sorted", ylabel="layer" if drawing.left(axis) else "")
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
        text[i, : len(heads)] = [f"{drawing.short(v, digits)}\n#{h + 1}" for v, h in zip(table[i], heads, strict=False)]
    low, high = limits or (None, None)
    sns.heatmap(
        table[::-1], ax=axis, cmap="viridis", vmin=low, vmax=high, annot=text[::-1], fmt="", linewidths=0.5,
        annot_kws={"fontsize": 5.5}, **more,
    )  # fmt: skip
    axis.set_xticks([])
    axis.set_yticklabels([layer + 1 for layer in rows][::-1], rotation=0)


@redrawable
def function_map(functions: Mapping[str, pd.Series], kind: str = "encoder"):
    """What each head does: a panel a model, a cell a head, split between its functions, labelled.

    Parameters
    ----------
    functions : mapping of title -> Series on (kind, layer, head) of lists of (function, label)
        Functions are keys of `COLOURS`, see `helpers.measures.functions.roles`.
    """
    figure, axes = drawing.grid(len(functions), 4, 3.0, 2.2)
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
        axis.set(xlim=(0, heads), ylim=(0, layers), title=title, xlabel="head", ylabel="layer" if drawing.left(axis) else "")
        axis.set_xticks(np.arange(heads) + 0.5, range(1, heads + 1))
        axis.set_yticks(np.arange(layers) + 0.5, range(1, layers + 1))
        axis.tick_params(length=0)
        sns.despine(ax=axis, left=True, bottom=True)
    handles = [Patch(color=COLOURS[name], label=name) for name in COLOURS if name in seen]
    drawing.legend_below(figure, handles, 7)
    return figure


@redrawable
def syntactic_bars(best: pd.DataFrame):
    """Accuracy of the best head for each relation and direction (Fig. 4), with baselines.

    Parameters
    ----------
    best : pandas.DataFrame
        Rows: model, relation, direction, score, low, high, baseline, untrained, chance (shares).
    """
    figure, axes = drawing.grid(4, 4, 3.0, 2.8, sharey=True)
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
        axis.set(title=relation, ylim=(0, 100), ylabel="% of arcs, best head" if drawing.left(axis) else "")
    handles = [Patch(color=c, label=m) for m, c in zip(models, MODELS, strict=False)]
    handles += [plt.Line2D([], [], color="black", ls=s, lw=1.1, label=n)
                for n, s in (("most frequent offset", "-"), ("best untrained head", ":"), ("random word", "--"))]  # fmt: skip
    drawing.legend_below(figure, handles, 4)
    return figure


@redrawable
def rare_shares(frames: Mapping[str, pd.DataFrame]):
    """Share of query tokens on one of the two rarest tokens, every encoder head, by layer; chance as a line."""
    figure, axes = drawing.grid(len(frames), 4, 2.6, 2.5, sharey=True)
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
        axis.set_ylabel("share of query tokens" if drawing.left(axis) else "")
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
    figure, axes = drawing.grid(len(examples), 3, 3.4, 3.3)
    for axis, example in zip(axes, examples, strict=True):
        axis.imshow(example["weights"], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90, fontsize=7)
        axis.set_yticks(range(len(example["rows"])), example["rows"], fontsize=7)
        for row, column in example.get("arcs", ()):
            axis.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=COLOURS["nsubj"], lw=1.4))
        axis.set_title(example["title"], fontsize=8)
        axis.tick_params(length=0)
    return figure


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
    figure, axes = drawing.grid(len(relevance), 4, 2.8, 2.6, sharex=True, sharey=True)
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
        axis.set(title=title, xlabel="confidence", ylabel="relevance (share of layer)" if drawing.left(axis) else "")
        axis.margins(0.08, 0.12)
    handles = [
        plt.Line2D([], [], ls="", marker="o", color=c, mec="black", mew=0.3, label=f"layer {i + 1}")
        for i, c in enumerate(colours)
    ]
    drawing.legend_below(figure, handles, 4 * len(axes))
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
        What `helpers.measures.ranks.follows_function` returns.
    """
    figure, (axis,) = drawing.grid(1, 1, 6.9, 3.4)
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
    drawing.legend_below(figure, handles, 5)
    return figure


@redrawable
def agreement(matrices: Mapping[str, pd.DataFrame]):
    """Correlations between measures, a panel a title.

    Parameters
    ----------
    matrices : mapping of title -> square DataFrame, see `helpers.measures.ranks.rank_agreement`
    """
    size = max(len(matrix) for matrix in matrices.values())
    cell, across = (0.42, 1) if len(matrices) == 1 else (0.31, 2)
    room = 0.062 * max(len(str(name)) for matrix in matrices.values() for name in matrix.index)  # for the longest name
    figure, axes = drawing.grid(
        len(matrices), across, cell * size + 0.1 + (room + 0.9) / across, cell * size + room + 0.4, page=1.1 * WIDTH
    )
    for axis, (title, matrix) in zip(axes, matrices.items(), strict=True):
        text = matrix.map(drawing.short).to_numpy()
        sns.heatmap(
            matrix, ax=axis, cmap="RdBu_r", vmin=-1, vmax=1, annot=text, fmt="", annot_kws={"fontsize": 6.5}, square=True,
            linewidths=0.5, cbar=False, yticklabels=drawing.left(axis),
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
    curves : mapping of title -> mapping of rule -> frame with n, rho, low, high, see `helpers.measures.ranks.settling`
    """
    figure, axes = drawing.grid(len(curves), 4, 2.8, 2.5, sharey=True)
    rules = list(dict.fromkeys(rule for by_rule in curves.values() for rule in by_rule))
    for axis, (title, by_rule) in zip(axes, curves.items(), strict=True):
        for rule, frame in by_rule.items():
            colour = MODELS[rules.index(rule) % len(MODELS)]
            axis.fill_between(frame.n, frame.low, frame.high, color=colour, alpha=0.18, lw=0)
            axis.plot(frame.n, frame.rho, marker=".", color=colour)
        axis.set(title=title, xscale="log", xlabel="sentences", ylabel="Spearman with other half" if drawing.left(axis) else "")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.axhline(1, color="grey", lw=0.7, ls=":")
    handles = [plt.Line2D([], [], marker=".", color=MODELS[i % len(MODELS)], label=rule) for i, rule in enumerate(rules)]
    drawing.legend_below(figure, handles, 3 * len(axes))
    return figure


@redrawable
def rank_correlations(frames: Mapping[str, pd.DataFrame]):
    """Correlation of measures with a truth, with intervals: measures down, a panel a title.

    Parameters
    ----------
    frames : mapping of title -> frame by measure with rho, low, high, see `helpers.measures.ranks.correlations`
    """
    measures = list(dict.fromkeys(name for frame in frames.values() for name in frame.index))
    figure, axes = drawing.grid(len(frames), 4, 3.3, 0.24 * len(measures) + 0.9, sharex=True, sharey=True)
    for axis, (title, frame) in zip(axes, frames.items(), strict=True):
        frame = frame.reindex(measures)
        error = np.maximum(0, [frame.rho - frame.low, frame.high - frame.rho])
        axis.axvline(0, color="grey", lw=0.9, ls=":")
        axis.errorbar(frame.rho, range(len(measures)), xerr=error, fmt="o", ms=4, lw=1.1, color=MODELS[0])
        axis.set_title(title, fontsize=9)
        axis.set(xlabel="Spearman, 95 %", xlim=(-1.05, 1.05), ylim=(len(measures) - 0.5, -0.5))
        axis.set_yticks(range(len(measures)), measures)
    return figure


KINDS = dict(zip(KIND_TITLES, ("#332288", "#882255", "#999933"), strict=True))  # none of a function's colours
FIRST = 100  # steps up to which the axis is linear: step 0 has no place on a logarithmic one


@redrawable
def over_training(table: pd.DataFrame):
    """What heads do against training steps, a panel a measure.

    Parameters
    ----------
    table : pandas.DataFrame
        `helpers.measures.snapshots.over_training`: a row a step.
    """
    kinds = [kind for kind in KINDS if f"{kind} off" in table]
    relations = {relation: 100 * table[relation] for relation in RELATIONS}
    panels = [
        ("dev loss", "nats a token", {"loss": (table.loss, "#444444")}, None),
        ("rise of the loss with a kind off", "nats a token", {k: (table[f"{k} off"], KINDS[k]) for k in kinds}, None),
        ("most confident head", "confidence", {k: (table[f"confidence, {k}"], KINDS[k]) for k in kinds}, None),
        ("best positional head", "% of tokens", {"positional": (100 * table.positional, COLOURS["positional"])}, 90),
        ("best syntactic heads", "points above the offset", {r: (v, COLOURS[r]) for r, v in relations.items()}, 10),
        ("best rare-token head", "% of tokens", {"rare": (100 * table.rare, COLOURS["rare"])}, 50),
        ("largest relevance in a layer", "% of the layer", {"relevance": (100 * table.relevance, "#444444")}, None),
        (
            f"encoder heads, of {int(table.heads.max())}", "heads",
            {"with functions": (table["with functions"], "#000000"), "without effect": (table["without effect"], "#999999")},
            None,
        ),
    ]  # fmt: skip
    figure, axes = drawing.grid(len(panels), 4, 1.8, 1.75)
    for axis, (title, unit, lines, threshold) in zip(axes, panels, strict=True):
        for values, colour in lines.values():
            axis.plot(table.index, values, marker=".", markersize=4, linewidth=1.2, color=colour)
        if threshold is not None:
            axis.axhline(threshold, color="#888888", linewidth=0.8, linestyle="--")
        axis.set_xscale("symlog", linthresh=FIRST)
        axis.set_xlim(0, table.index.max() * 1.3)
        axis.set_xticks([0, 100, 1000, 10_000], ["0", "100", "1k", "10k"])
        axis.set_title(title, fontsize=8)
        axis.set_ylabel(unit, fontsize=7.5)
        axis.tick_params(labelsize=7)
    for axis in axes[-4:]:
        axis.set_xlabel("training steps", fontsize=7.5)
    handles = [Line2D([], [], color=KINDS[kind], label=KIND_TITLES[kind]) for kind in kinds]
    handles += [Line2D([], [], color=COLOURS[relation], label=relation) for relation in RELATIONS]
    handles += [
        Line2D([], [], color="#000000", label="with functions"),
        Line2D([], [], color="#999999", label="without effect"),
    ]
    handles.append(Line2D([], [], color="#888888", linestyle="--", label="test of the function"))
    drawing.legend_below(figure, handles, 6)
    return figure


@redrawable
def beside(table: pd.DataFrame):
    """Models that differ in one thing: what they translate, what their encoder attention is worth, what its heads do.

    Parameters
    ----------
    table : pandas.DataFrame
        `helpers.measures.snapshots.beside`: a row a model.
    """
    names = [f"{model}\n{row.encoder} + {row.decoder}" for model, row in table.iterrows()]
    share = {name: 100 * table[name] / table["heads"] for name in ("with functions", "without effect")}
    panels: Mapping[str, tuple[pd.Series, str | None]] = {
        "BLEU": (table.bleu, ""),
        "rise of the loss without\nencoder attention, nats": (table["encoder off"], "encoder off, "),
        "encoder heads\nwith functions, %": (share["with functions"], None),
        "encoder heads without\nsure effect, %": (share["without effect"], None),
    }
    figure, axes = plt.subplots(1, len(panels), figsize=(6.9, 0.36 * len(table) + 0.8), sharey=True)
    for axis, (title, (values, ends)) in zip(axes, panels.items(), strict=True):
        for place, (value, colour) in enumerate(zip(values, cycle(MODELS), strict=False)):
            if ends is not None:
                low, high = (table[f"{ends}{end}"].iloc[place] for end in ("low", "high"))
                axis.plot([low, high], [place, place], color=colour, linewidth=1.4)
            axis.plot(value, place, marker="o", color=colour, markersize=5)
        axis.set_xlabel(title, fontsize=7.5)
        axis.tick_params(labelsize=7)
        axis.grid(axis="x", linewidth=0.4)
        if ends is None:
            axis.set_xlim(-4, 104)
    axes[0].set_yticks(range(len(names)), names, fontsize=7)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    return figure
