"""Heads: what they do, where they look, what they are worth, and whether they stay (Voita et al. 2019; Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from helpers import drawing, papers
from helpers.drawing import WIDTH, left
from helpers.papers import MARGIN
from helpers.plots.basic import PRINTED

BINS = 40  # of gates between 0 and 1
CANDIDATES = {"positional": "best at one position", "rare": "best at rare words"}


def gains(table: pd.DataFrame):
    """How often the best head of each relation is right, and the best fixed guess (table 1): a row a model.

    A cell says both, in per cent; its colour says by how many points the head is above the guess (red) or below (blue). A
    black frame is round cells of 10 points or more, dotted and with a question mark where the interval of the gain holds 10. A
    case that was not asked is grey. The table has a row a cell: model, relation, direction, accuracy and baseline (shares);
    gain_low and gain_high where there are intervals.
    """
    drawing.need(table, "model", "relation", "direction", "accuracy", "baseline", once=("model", "relation", "direction"))
    models, cases = list(dict.fromkeys(table.model)), list(papers.CASES)
    gain = (table.accuracy - table.baseline).set_axis(pd.MultiIndex.from_frame(table[["model", "relation", "direction"]]))
    values = gain.unstack(["relation", "direction"]).reindex(index=models, columns=cases)
    figure, axis = plt.subplots(figsize=(WIDTH, 0.26 * len(models) + 0.75), subplot_kw={"facecolor": "0.8"})
    drawn = drawing.heat(axis, 100 * values, None, "RdBu_r", (-60, 60))
    axis.grid(False, which="minor")
    for row in table.itertuples():
        down, across = models.index(row.model), cases.index((row.relation, row.direction))
        ends = (getattr(row, name, np.nan) for name in ("gain_low", "gain_high"))
        open_ = " ?" if next(ends) < MARGIN < next(ends) else ""
        value = row.accuracy - row.baseline
        ink = drawing.ink(drawn.cmap(drawn.norm(100 * value)))
        text = f"{100 * row.accuracy:.0f} / {100 * row.baseline:.0f}{open_}"
        axis.text(across, down, text, fontsize=7, ha="center", va="center", color=ink)
        if value >= MARGIN - 1e-9:
            axis.add_patch(Rectangle((across - 0.5, down - 0.5), 1, 1, fill=False, ec="black", ls=":" if open_ else "-"))
    axis.set_xticks(range(len(cases)), [name.replace("→", "\n→ ") for name in papers.CASES.values()])
    axis.set_yticks(range(len(models)), models)
    drawing.bar(figure, drawn, [axis], "points above the guess", [-60, -30, 0, 30, 60])
    return figure


def by_relevance(table: pd.DataFrame):
    """Relevance on the colours of functions, and confidence: two panels a model, a row a layer, layer 1 at the bottom.

    A row of the table is a head: model, layer, place (in its layer by relevance, from 1), relevance, confidence (nan leaves the
    panel out), functions, and candidate (names joined by a comma). Functions share a cell, candidates have a frame.
    """
    drawing.need(table, "relevance", "confidence", "functions", "candidate", once=("model", "layer", "place"))
    models, most = list(dict.fromkeys(table.model)), table.layer.max()
    figure, axes = drawing.grid(2 * len(models), 4, WIDTH / 4, 0.21 * most + 0.5)
    for model, does, sure in zip(models, axes[::2], axes[1::2], strict=True):
        rows = table[table.model == model]
        places = list(zip(rows.place - 1, most - rows.layer, strict=True))
        drawing.functions(does, dict(zip(places, rows.functions, strict=True)))
        for (x, y), share, kind, names in zip(places, rows.relevance, rows.functions, rows.candidate, strict=True):
            look = {"ha": "center", "va": "center", "color": drawing.ink(drawing.COLOURS[kind.split(", ")[0] or "none"])}
            does.text(x, y, f"{100 * share:.0f}", fontsize=7, **look)
            for name in filter(None, names.split(", ")):
                does.add_patch(Rectangle((x - 0.38, y - 0.38), 0.76, 0.76, fill=False, ec=drawing.COLOURS[name], lw=2))
        above = rows[rows.relevance > 1 / rows.place.max()].groupby("layer").size()
        does.vlines(above - 0.5, most - above.index - 0.5, most - above.index + 0.5, color="black", lw=1.6)
        does.plot(-0.33, most - 1.28, **PRINTED | {"ms": 3.5, "clip_on": False})
        does.set(xlim=(-0.5, rows.place.max() - 0.5), ylim=(most - 0.5, -0.5), ylabel=model.replace(", ", ",\n"))
        values = rows.pivot(index="layer", columns="place", values="confidence")[::-1]
        drawing.heat(sure, values, values.map(lambda value: f"{100 * value:.0f}"), "Blues")
        sure.set_visible(bool(values.notna().any(axis=None)))
        for axis, title in ((does, "relevance, %"), (sure, "confidence, %")):
            axis.set(xticks=[], yticks=range(most), yticklabels=range(most, 0, -1), title=title)
    best = {t: {"marker": "s", "ls": "", "mfc": "none", "mew": 2, "color": drawing.COLOURS[n]} for n, t in CANDIDATES.items()}
    line = {"color": "black", "marker": "|", "ls": "", "ms": 9, "mew": 1.6}
    drawing.key(figure, best | {"left of it: above an even share": line, "the paper's head of rare words": PRINTED})
    return figure


def through_a_sentence(sentence: Mapping[str, Any], target: int, flow: np.ndarray):
    """Relevance of one predicted token at source tokens, and where the head looks that moves most of it.

    Of what `helpers.measures.sentence.one_sentence` returns, for its token `target`; `flow` [encoder layers + 1, source tokens]
    is the relevance at the input, behind the first layer, and so on up, in shares.
    """
    source, predicted = ([token.replace("▁", "") or "␣" for token in sentence[side]] for side in ("source", "predicted"))
    layer, head, top = sentence["layer"], sentence["head"], len(flow) - 1
    rows = sorted({top, layer + 1, layer, 0}, reverse=True)  # the top, both sides of the head, the bottom
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 0.24 * len(rows) + 1.6), height_ratios=[len(rows), 1])
    drawing.heat(above, flow[rows], [[f"{share:.0%}" for share in flow[row]] for row in rows], "Blues", (0, flow.max()))
    # what the head reads at the word through which most relevance goes down to its layer
    word = int(flow[layer + 1].argmax())
    weights = sentence["block"]["A"][head][[word]]
    drawing.heat(below, weights, [[f"{weight:.0%}" for weight in weights[0]]], "Greys", (0, 1))
    above.set_yticks(range(len(rows)), [f"after layer {row}" if row else "input words" for row in rows])
    above.set_title(f"where the relevance of {predicted[target]!r} stands")
    below.set(yticks=[0], yticklabels=[f"from {source[word]!r}"], title=f"where head {head + 1} of layer {layer + 1} looks")
    for axis in (above, below):
        axis.set_xticks(range(len(source)), source)
    return figure


def gates(samples: Mapping[float, Any]):
    """Samples of gates by location (figure 6): a density between 0 and 1, and stems for the shares of exactly 0 and 1."""
    figure, axes = drawing.grid(len(samples), 3, WIDTH / 3, 2.25, sharex=True, sharey=True)
    for axis, (location, values) in zip(axes, samples.items(), strict=True):
        values = np.array(list(map(float, values)))
        inside = values[(values > 0) & (values < 1)]
        axis.hist(inside, BINS, (0, 1), weights=[BINS / len(values)] * len(inside), color="#CCCCCC")
        for at, side, away in ((0, "left", 6), (1, "right", -6)):
            mass = float((values == at).mean())
            axis.plot([at, at], [0, mass], "-", color="black", lw=2, clip_on=False)
            axis.plot(at, mass, "o", color="black", ms=5, clip_on=False)
            place = {"xytext": (away, 5), "textcoords": "offset points", "ha": side, "fontsize": 8}
            axis.annotate(f"{mass:.2f}", (at, mass), **place)
        title = f"location {float(location):g}".replace("-", "−")
        axis.set(title=title, xlabel="gate", xlim=(-0.12, 1.12), ylim=(0, 1.16), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axis.set_ylabel("density (grey), share (black)" if left(axis) else "")
    return figure


def by_measure(table: pd.DataFrame, mark: Collection[Any] = ()):
    """All heads in their places, a column of panels a column of the table (on (kind, layer, head)), a row a kind.

    Colours go from zero to the largest head, in the first column in logs from a hundredth of it. Heads of `mark` have a dot.
    """
    kinds = list(table.index.unique("kind"))
    layers = [table.loc[kind].index.unique("layer").size for kind in kinds]
    size = min(WIDTH, 2.3 * table.shape[1]), 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(len(kinds), table.shape[1], figsize=size, squeeze=False, height_ratios=layers)
    for place, (title, column) in enumerate(table.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(max(top / 100, column.min()), top) if not place else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="viridis_r" if place else "magma_r")
            drawn.set_norm(norm)
            for _, layer, head in [one for one in mark if one[0] == kind]:
                at = cells.columns.get_loc(head), len(cells) - 1 - cells.index.get_loc(layer)
                axis.plot(*at, "o", ms=3, mfc="white", mec="black", mew=0.6)
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.xaxis.set_major_formatter(lambda head, _: f"{head + 1:.0f}")
            ticks = [row for row, layer in enumerate(cells.index[::-1]) if len(cells) < 12 or (layer + 1) % 5 == 0]
            axis.set_yticks(ticks, [cells.index[::-1][row] + 1 for row in ticks])
            axis.set_ylabel("" if place else "layer" if len(kinds) == 1 else drawing.KIND_TITLES[kind])
        axes[0, place].set_title(title)
        axes[-1, place].set_xlabel("head")
        ticks = None if place else LogLocator(subs=(1, 2, 5))
        bar = figure.colorbar(drawn, ax=list(axes[:, place]), location="bottom", aspect=14, pad=0.02, ticks=ticks)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.minorticks_off()
        bar.formatter = FuncFormatter(lambda value, _: f"{value:.10g}")
    return figure


def attention(maps: Mapping[tuple[str, int, int], Any], words: Sequence[str]):
    """Attention maps [tokens, tokens] of chosen heads, each by its (kind, layer, head), on a sentence of these tokens."""
    figure, axes = drawing.grid(len(maps), 2, WIDTH / 2, 2.9)
    for axis, ((_, layer, head), weights) in zip(axes, maps.items(), strict=True):
        drawn = drawing.heat(axis, weights, cmap="Blues")
        axis.grid(False, which="minor")
        axis.set_xticks(range(len(words)), words, rotation=90)
        axis.set_yticks(range(len(words)), words)
        axis.set(title=f"layer {layer + 1}, head {head + 1}", xlabel="token attended to", ylabel="token")
        axis.spines[["left", "bottom"]].set_visible(True)
    figure.set_figwidth(min(WIDTH, figure.get_figwidth() + 0.7))
    drawing.bar(figure, drawn, axes, "share of the row's weight", [0, 0.5, 1])
    return figure
