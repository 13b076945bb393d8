"""Figures of measures: one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from helpers import drawing
from helpers.drawing import COLOURS, MODELS, WIDTH, left, redrawable
from helpers.measures.functions import RELATIONS
from helpers.measures.ranks import clear, follows_function, relative
from helpers.measures.table import named
from helpers.reading import count, listed


@redrawable
def offsets(described: Mapping[str, Mapping[str, Any]], reach: int = 8):
    """Where the partner of a word stands: histogram of head minus dependent position for the four relations (Fig. 3).

    Parameters
    ----------
    described : mapping of title -> `helpers.corpora.describe.describe`
    reach : int
        Words to either side.
    """
    figure, axes = drawing.grid(4, 2, WIDTH / 2, 2.1, sharey=True)
    for axis, relation in zip(axes, RELATIONS, strict=True):
        width = 0.8 / len(described)
        for i, parts in enumerate(described.values()):
            table = parts["offsets"][relation].reindex(range(-reach, reach + 1), fill_value=0)
            axis.bar(table.index + (i - (len(described) - 1) / 2) * width, 100 * table, width, color=MODELS[i])
        axis.set(title=relation, xlabel="head minus dependent, words", xticks=range(-reach, reach + 1, 2))
        axis.set_ylabel("% of arcs" if left(axis) else "")
    drawing.legend(figure, drawing.squares(dict(zip(described, MODELS, strict=False))))
    return figure


# --- maps of heads ---------------------------------------------------------------------------------------------------


def _size(columns: Mapping[str, pd.Series], kind: str) -> tuple[float, float]:
    """Inches of a panel of `relevance_and_confidence`: text of 7 points fits its cells."""
    layers, heads = (
        max(c.xs(kind).index.get_level_values(name).max() for c in columns.values()) + 1 for name in ("layer", "head")
    )
    across = max(1, min(len(columns), int((WIDTH - 0.7) / max(1.3, 0.25 * heads + 0.3))))
    return min(3.0, (WIDTH - 0.7) / across), max(1.1, 0.28 * layers + 0.5)


@redrawable
def head_map(columns: Mapping[str, pd.Series], logarithmic: Collection[str] = ()):
    """All heads in their places, a column of panels a measure, a row of panels a kind of attention: coloured by the measure.

    Parameters
    ----------
    columns : mapping of title -> Series on (kind, layer, head)
        Colours go from zero to the largest head.
    logarithmic : collection of titles
        Whose colours go from a hundredth of the largest head to it, on a logarithmic scale.
    """
    index = next(iter(columns.values())).index
    kinds = drawing.kinds(index.unique("kind"))
    layers = [index[index.get_level_values("kind") == kind].unique("layer").size for kind in kinds]
    tall = 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(
        len(kinds), len(columns), figsize=(min(WIDTH, 2.3 * len(columns)), tall), squeeze=False, height_ratios=layers
    )
    for place, (title, column) in enumerate(columns.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(top / 100, top) if title in logarithmic else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="viridis_r")
            drawn.set_norm(norm)
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.xaxis.set_major_formatter(lambda head, _: f"{head + 1:.0f}")
            shown = [row for row, layer in enumerate(cells.index[::-1]) if len(cells) < 12 or (layer + 1) % 5 == 0]
            axis.set_yticks(shown, [cells.index[::-1][row] + 1 for row in shown])
            axis.set_ylabel("" if place else f"{drawing.KIND_TITLES[kind]}\nlayer")
        axes[0, place].set_title(title)
        axes[-1, place].set_xlabel("head")
        bar = figure.colorbar(drawn, ax=list(axes[:, place]), location="bottom", aspect=14, pad=0.02)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.minorticks_off()
        bar.formatter = FuncFormatter(lambda value, _: f"{value:.10g}")
    return figure


@redrawable
def relevance_and_confidence(relevance: Mapping[str, pd.Series], confidence: Mapping[str, pd.Series], kind: str = "encoder"):
    """Relevance and confidence of every head (Fig. 1 and 2), a panel a model: sorted by the one, coloured by the other.

    Parameters
    ----------
    relevance, confidence : mappings of title -> Series on (kind, layer, head)
    kind : str
    """
    most = max(column.xs(kind).groupby("layer").size().max() for column in relevance.values())
    width, height = _size(relevance, kind)
    figure, axes = drawing.grid(len(relevance), 4, width, height)
    figure.set_figwidth(figure.get_figwidth() + 0.65)  # the colour bar
    for axis, (title, column) in zip(axes, relevance.items(), strict=True):
        own, sure = column.xs(kind), confidence[title].xs(kind)
        rows = {layer: part.xs(layer).sort_values(ascending=False, kind="stable").index for layer, part in own.groupby("layer")}
        table, shade = (
            pd.DataFrame([part.xs(layer).reindex(heads).tolist() for layer, heads in rows.items()])
            for part in (own, sure.groupby(level="layer").rank(ascending=False, method="min"))
        )
        said = table.map(lambda value: drawing.short(value, 2 - (abs(value) > 0.99)))  # "1.0" for ".99"
        drawn = drawing.heat(axis, shade[::-1], said[::-1], "viridis_r", (1, max(2, most)))  # layer 1 at the bottom
        axis.set_xticks([])
        axis.set_yticks(range(len(rows)), [layer + 1 for layer in rows][::-1])
        axis.set_title(fill(title, 12) if width < 2 else title, loc="left")
        axis.set(ylabel="layer" if left(axis) else "", xlabel="heads by relevance\n(share of the layer)")
    drawing.bar(figure, drawn, axes, "1: most confident", range(1, int(most) + 1))
    figure.axes[-1].invert_yaxis()
    return figure


@redrawable
def beside_random(table: pd.DataFrame, whole: float, label: str):
    """Perplexity without heads by each choice, a row a choice and a dot a draw, on a logarithmic scale.

    Parameters
    ----------
    table : pandas.DataFrame
        choice; rise of the loss (nats a token); low and high, drawn of choices with one draw.
    whole : float
        Perplexity with all heads: a dotted line.
    label : str
        Of the axis.
    """
    rows = pd.DataFrame({"panel": "", "row": table.choice, "value": whole * np.exp(table.rise)})
    alone = ~table.choice.duplicated(keep=False)
    rows = rows.assign(**{end: (whole * np.exp(table[end])).where(alone) for end in ("low", "high")})
    figure, panels = drawing.dot_panels(rows, level=whole, label=label)
    drawing.logarithmic(panels[""], "x")
    panels[""].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    return figure


@redrawable
def attention(examples: Sequence[Mapping[str, Any]]):
    """Attention maps of chosen heads: rows look, columns are looked at.

    Parameters
    ----------
    examples : sequence of mappings
        "title", "rows" and "columns" (words), "weights" [rows, columns]; optional: "arcs" (row, column) to be framed, "looks"
        and "looked at" (what rows and columns are).
    """
    figure, axes = drawing.grid(len(examples), 2, WIDTH / 2, 2.9)
    for axis, example in zip(axes, examples, strict=True):
        drawn = drawing.heat(axis, example["weights"], cmap="Blues")
        axis.grid(False, which="minor")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90)
        axis.set_yticks(range(len(example["rows"])), example["rows"])
        for row, column in example.get("arcs", ()):
            axis.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=COLOURS["nsubj"], lw=1.4))
        names = {"xlabel": example.get("looked at", "token attended to"), "ylabel": example.get("looks", "token")}
        axis.set(title=example["title"], **names)
        axis.spines[["left", "bottom"]].set_visible(True)
    figure.set_figwidth(min(WIDTH, figure.get_figwidth() + 0.7))
    drawing.bar(figure, drawn, axes, "share of the row's weight", [0, 0.5, 1])
    return figure


# --- what heads do ---------------------------------------------------------------------------------------------------


# --- relevance -------------------------------------------------------------------------------------------------------


@redrawable
def through_a_sentence(sentence: Mapping[str, Any], target: int):
    """Relevance of one predicted token: at source tokens, from the last layer down past its most relevant head, and of heads.

    Parameters
    ----------
    sentence : mapping
        What `helpers.measures.sentence.one_sentence` returns.
    target : int
        The predicted token whose relevance is followed down.
    """
    flow, heads = sentence["flow"][target], sentence["heads"]["encoder"].loc[[target]]
    source, predicted = ([token.replace("▁", "") or "␣" for token in sentence[side]] for side in ("source", "predicted"))
    block, layer, head = sentence["block"], sentence["layer"], sentence["head"]
    rows = sorted({len(flow) - 1, layer + 1, 0}, reverse=True)
    tall = [0.26 * len(rows), *[0.26] * bool(block), 0.36]
    figure, axes = plt.subplots(len(tall), 1, figsize=(WIDTH, sum(tall) + 1.2 + 0.6 * bool(block)), height_ratios=tall)
    above, below, words = axes[0], axes[-1], axes[-2]
    for axis, values in ((above, flow[rows]), (below, heads.to_numpy())):
        most = float(np.abs(values).max()) or 1.0
        drawing.bar(figure, drawing.heat(axis, values, None, "RdBu_r", (-most, most)), [axis], "logits")
    if block:  # what the most relevant head reads at the word through which most relevance goes down to its layer
        word = int(np.abs(flow[layer + 1]).argmax())
        weights = block["A"][head][word]
        drawing.heat(words, weights[None], None, "Greys", (0, 1))
        for place, weight in enumerate(weights):
            ink = "white" if weight > 0.5 else "black"
            words.text(place, 0, f"{weight:.2f}", ha="center", va="center", fontsize=7, color=ink)
        words.set_yticks([0], [f"from {source[word]!r}"])
        words.set_title(f"attention of the most relevant head (layer {layer + 1}, head {head + 1})")
        above.set_xticks([])
    words.set_xticks(range(len(source)), source)
    above.set_yticks(range(len(rows)), [f"after layer {row}" if row else "input words" for row in rows])
    above.set_title(f"relevance (conservative) at each source token, for {predicted[target]!r}")
    below.set_yticks([0], [predicted[target]])
    below.set_xticks(range(heads.shape[1]), [head + 1 for _, head in heads.columns])
    layers = [layer for layer, _ in heads.columns]
    for layer in dict.fromkeys(layers):
        places = [place for place, own in enumerate(layers) if own == layer]
        below.axvline(places[-1] + 0.5, color="black", lw=0.8)
        below.annotate(
            f"layer {layer + 1}", (np.mean(places), 0), (0, -22), ha="center", va="top", fontsize=8,
            xycoords=("data", "axes fraction"), textcoords="offset points",
        )  # fmt: skip
    below.set_title("relevance (conservative) of each encoder head, for the same word")
    return figure


@redrawable
def confidence_by_rank(table: pd.DataFrame, rho: Mapping[str, float]):
    """Mean rank of confidence by rank of relevance.

    Parameters
    ----------
    table : pandas.DataFrame
        What `helpers.measures.ranks.confidence_by_rank` returns; weights may be "natural" too, a model of natural text.
    rho : mapping of weights ("trained", "natural", "random") -> rank correlation of the two, which stands at the top
    """
    looks = {"natural": {"color": MODELS[3]}, "trained": {"color": MODELS[2]}, "random": {"color": "#7F7F7F", "ls": "--"}}
    names = {"trained": "generated text" if "natural" in rho else "trained", "natural": "Europarl", "random": "random weights"}
    more = {"nothing in common": drawing.LEVEL, "alike": {"color": "black", "lw": 0.8}}
    figure, (axis,) = drawing.grid(1, 1, 5, 2.9)
    drawn = {key: look for key, look in looks.items() if key in rho}
    drawing.lines(axis, table, "relevance", "value", "weights", drawn, band={"trained"})
    places = range(1, int(table.relevance.max()) + 1)
    axis.plot([0.7, places[-1] + 0.3], [table.even.iloc[0]] * 2, **drawing.LEVEL)
    axis.plot([0.7, places[-1] + 0.3], [0.7, places[-1] + 0.3], zorder=1, **more["alike"])
    axis.set(xticks=places, xlabel="rank of relevance in its layer (1: most relevant)", xlim=(0.7, places[-1] + 0.3))
    axis.set(yticks=places, ylabel="rank of confidence, mean\n(1: most confident)", ylim=(places[-1] + 0.3, 0.7))
    for place, (weights, look) in enumerate(drawn.items()):
        axis.text(0.98, 0.97 - 0.09 * place, f"{names[weights]}, Spearman {rho[weights]:.2f}", ha="right", va="top",
                  transform=axis.transAxes, fontsize=8.5, color=look["color"])  # fmt: skip
    band = looks["trained"] | {"alpha": 0.16, "lw": 6, "solid_capstyle": "butt"}
    drawing.legend(figure, {"least to largest of the models": band, **more})
    return figure


@redrawable
def two_questions(frames: Mapping[str, pd.DataFrame], words: pd.DataFrame, text: str = ""):
    """How well measures rank the heads of a layer over many sentences, how often rules name the head that a word needs most.

    Parameters
    ----------
    frames : mapping of title -> frame by measure with rho, low, high, see `helpers.measures.said.judged`
        The first is drawn with its values and intervals, others hollow: trainings as triangles, models besides as diamonds.
    words : pandas.DataFrame
        By rule or name: found, in its layer, words, see `needing` and `fixed` in `helpers.measures.sentence`.
    text : str
        Where the words come from.
    """
    figure, (many, one) = plt.subplots(1, 2, figsize=(WIDTH, 3.8))
    near, ((title, own), *others) = {"textcoords": "offset points", "fontsize": 8.5}, frames.items()
    trained, together = ([name for name, _ in others if (", training" in name) == which] for which in (True, False))
    names = {name: named(name).removeprefix("relevance, ") for name in own.index}
    looks = {names[name]: {"color": _RULE_LOOKS.get(name, "black")} for name in names}
    for y, (row, look) in enumerate(zip(own.itertuples(), looks.values(), strict=True)):
        many.errorbar(row.rho, y, xerr=[[row.rho - row.low], [row.high - row.rho]], fmt="o", **look)
        many.annotate(f"{row.rho:.2f}", (row.rho, y), (0, 5), ha="center", **near)
        for sign, down, group in (("^", 0.22, trained), ("D", 0.4, together)):
            rho = [frames[name].rho[row.Index] for name in group]
            many.plot(rho, [y + down] * len(rho), sign, ms=4.5, mfc="none", **look)
    for y, (name, *row) in enumerate(words.itertuples(name=None)):
        look = looks.get(name, {"color": "black"})
        for up, part, inside in ((-0.2, row[0], look["color"]), (0.2, row[1], "none")):
            share = 100 * part / max(row[2], 1)
            one.barh(y + up, share, 0.34, fc=inside, ec=look["color"])
            one.annotate(f"{part} of {row[2]}", (share, y + up), (8, 0), va="center", **near)
    many.axvline(0, **drawing.LEVEL)
    for axis, rows in ((many, names.values()), (one, words.index)):
        axis.set_yticks(range(len(rows)), rows)
        axis.set_ylim(len(rows) - 0.4, -0.7)
    many.set(xlabel="Spearman with the loss without a head,\nwithin layers, by size; bars 95 %")
    one.set(xlabel="% of words that need a head", xlim=(0, 1.5 * max(10, one.dataLim.x1)))
    many.set_title("Many sentences: does it rank\nthe heads of a layer?", loc="left")
    one.set_title(f"One {text}word: is the head\nnamed the one needed most?", loc="left")
    hollow = (black := {"color": "black", "ls": ""}) | {"mfc": "none"}
    small = listed(dict.fromkeys(name.rpartition(", ")[0] for name in trained))
    entries = {title.rpartition(", ")[0]: black | {"marker": "o", "ls": "-"}}
    entries |= {f"{small}, {count(len(trained), 'training')}": hollow | {"marker": "^"}} if trained else {}
    entries |= {f"{count(len(together), 'model')}: fewer heads cost": hollow | {"marker": "D"}} if together else {}
    right = {"right: among all heads": black | {"marker": "s"}, "right: in the needed head's layer": hollow | {"marker": "s"}}
    drawing.legend(figure, entries | right)
    return figure


_RULE_LOOKS = {"alpha_beta": MODELS[0], "attnlrp": MODELS[1], "cp": MODELS[4]}


@redrawable
def few_heads(table: pd.DataFrame, natural: pd.DataFrame | None = None):
    """What part of a layer's relevance its 1, 2, … largest heads carry: colour and marker by rule, random weights dashed.

    Parameters
    ----------
    table, natural : pandas.DataFrame
        What `helpers.measures.measured.few_heads` returns; of the published run of natural text, beside it.
    """
    both = {"": table} if natural is None else {"generated text": table, "Europarl": natural}
    figure, axes = drawing.grid(len(both), 2, 5 if natural is None else WIDTH / 2, 3.2, sharey=True)
    looks = {rule: {"color": _RULE_LOOKS[rule], "marker": mark} for rule, mark in zip(_RULE_LOOKS, "o^s", strict=True)}
    for axis, (title, own) in zip(axes, both.items(), strict=True):
        axis.plot([0, own["heads"].max()], [0, 100], **drawing.LEVEL)
        for (rule, weights), rows in own.groupby(["rule", "weights"], sort=False):
            axis.plot(rows.heads, 100 * rows.value, ls="-" if weights == "trained" else "--", ms=5, mfc="none", **looks[rule])
        axis.set(title=title, xlabel="largest heads of a layer", ylim=(0, 103), xticks=range(1, int(own["heads"].max()) + 1))
    axes[0].set_ylabel("% of the layer's relevance")
    entries = {named(rule).removeprefix("relevance, "): looks[rule] | {"mfc": "none"} for rule in dict.fromkeys(table.rule)}
    drawing.legend(figure, entries | {"random weights": {"color": "black", "ls": "--"}, "even shares": drawing.LEVEL})
    return figure


@redrawable
def relevance_by_function(
    relevance: Mapping[str, pd.Series], functions: Mapping[str, pd.Series], beside: Sequence[str] = ()
):  # fmt: skip
    """Mean relevance of encoder heads without and with a function, in units of the layer's average head: a line a layer.

    Of layers that have both (`helpers.measures.ranks.follows_function`): coloured where the most relevant head has a function.
    Above a model stands the difference of its heads, if it is clear.

    Parameters
    ----------
    relevance : mapping of title -> Series on (kind, layer, head)
    functions : mapping of title -> Series of lists of (function, label)
    beside : sequence of str
        Titles that stand behind a gap.
    """
    figure, (axis,) = drawing.grid(1, 1, WIDTH, 2.9)
    names, looks = dict[float, str](), [{"color": "#8C8C8C"}, {"color": MODELS[2]}]
    for number, (title, column) in enumerate(relevance.items()):
        at = number + 0.4 * (title in beside)
        table = pd.DataFrame({"value": relative(column), "has": functions[title].map(bool)}).xs("encoder")
        layers = table.groupby(level="layer")
        paired = [layer for layer, own in layers if own.has.nunique() == 2]
        names[at] = f"without | with\n{title}\n{len(paired)} of {layers.ngroups} layers\nhave both"
        for layer in paired:
            own = table.loc[layer]
            means = own.groupby("has").value.mean()
            axis.plot([at - 0.2, at + 0.2], means, "o-", ms=4, lw=1.4, **looks[int(own.has[own.value.idxmax()])])
        if paired:
            row = pd.DataFrame([follows_function({title: column}, {title: functions[title]})])
            said = f"{row.difference[0]:+.2f}" if clear(row)[0] else "cannot tell"
            axis.text(at, 1.02, said, ha="center", transform=axis.get_xaxis_transform(), fontsize=8.5)
    axis.axhline(1, **drawing.LEVEL)
    axis.set_xticks([*names], names.values())
    axis.set(ylabel="mean relevance\n/ layer's average head", xlim=(-0.6, max(names) + 0.6))
    said = "With minus without a function (a number: above 0 and above shuffled functions):"
    axis.set_title(said, loc="left", pad=16)
    told = {"a layer whose most relevant head has a function": looks[1], "a layer whose most relevant head has none": looks[0]}
    drawing.legend(figure, told | {"average head": drawing.LEVEL})
    return figure


# --- agreement -------------------------------------------------------------------------------------------------------


@redrawable
def agreement(matrices: Mapping[str, pd.DataFrame]):
    """Correlations between measures, each pair once, a panel a title.

    Parameters
    ----------
    matrices : mapping of title -> square DataFrame, see `helpers.measures.ranks.rank_agreement`
    """
    size, across = max(map(len, matrices.values())), min(2, len(matrices))
    room = 0.06 * max(len(named(name)) for matrix in matrices.values() for name in matrix.index)  # for the longest name
    cell = min(0.42, (WIDTH - 0.6 - room - 0.1 * across) / (size * across))
    wide, tall = cell * size + 0.1 + (room + 0.6) / across, min(0.34, cell) * size + room + 0.4
    figure, axes = drawing.grid(len(matrices), across, wide, tall)
    for axis, (title, matrix) in zip(axes, matrices.items(), strict=True):
        once = matrix.where(np.tri(len(matrix), k=-1, dtype=bool)).iloc[1:, :-1]  # below the diagonal
        said = once.map(drawing.short) if cell > 0.24 else None
        drawn = drawing.heat(axis, once, said, "RdBu_r", (-1, 1))
        axis.set_title(title)
        axis.set_xticks(range(len(once)), map(named, once.columns), rotation=90)
        axis.set_yticks(range(len(once)), map(named, once.index) if left(axis) else [""] * len(once))
    drawing.bar(figure, drawn, axes, "rank correlation", [-1, -0.5, 0, 0.5, 1])
    return figure


@redrawable
def rules(mean: pd.DataFrame, curves: pd.DataFrame, natural: pd.DataFrame | None = None):
    """How far rules of relevance agree with each other, here and on natural text, and with themselves on other sentences.

    Parameters
    ----------
    mean, natural : pandas.DataFrame
        Rank correlations of rules (`helpers.measures.ranks.rank_agreement`), mean over models.
    curves : pandas.DataFrame
        Rules as columns, on the number of sentences: rank correlations with the other half (`helpers.measures.ranks.settling`).
        Those that end below a half are grey.
    """
    frames = {"here": mean} if natural is None else {"generated text": mean, "Europarl": natural}
    names = {rule: named(rule).removeprefix("relevance, ") for rule in curves}
    figure, axes = plt.subplots(1, len(frames) + 1, figsize=(WIDTH, 2.7), width_ratios=[*[0.8] * len(frames), 1.4])
    for axis, (title, frame) in zip(axes, frames.items(), strict=False):
        once = frame.where(np.tri(len(frame), k=-1, dtype=bool)).iloc[1:, :-1]  # below the diagonal
        drawing.heat(axis, once, once.map(drawing.short), "Blues", (0, 1.2))
        axis.set_xticks(range(len(once)), [names[rule].replace(" (", "\n(") for rule in once], rotation=90)
        axis.set_yticks(range(len(once)), [names[rule].replace(" (", "\n(") if left(axis) else "" for rule in once.index])
        axis.set_title(f"with each other,\n{title}")
    figure.suptitle("Do rules of relevance rank heads alike?", fontsize=10)
    beside, repeats, level = axes[-1], curves.iloc[-1], 1.1
    more = {"transform": beside.get_yaxis_transform(), "fontsize": 7.5, "va": "center"}
    for rule in repeats.sort_values(ascending=False).index:
        colour = _RULE_LOOKS[rule.partition(" ")[0]] if repeats[rule] >= 0.5 else "#777777"
        level = min(level - 0.1, repeats[rule])  # names keep off each other
        beside.plot(curves[rule], "o-" if repeats[rule] >= 0.5 else "o--", ms=3, lw=1.2, color=colour)
        beside.text(1.03, level, names[rule], color=colour, **more)
    drawing.logarithmic(beside, "x")
    beside.axhline(0, **drawing.LEVEL)
    beside.set(xlabel="sentences", ylabel="Spearman", ylim=(-0.15, 1.03))
    beside.set_title(f"each with itself, on other\nsentences, {next(iter(frames))}".removesuffix(", here"))
    return figure


# --- training, models ------------------------------------------------------------------------------------------------
