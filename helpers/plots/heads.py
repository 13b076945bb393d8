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

BINS = 40  # of gates between 0 and 1
PANELS = {"relevance": "relevance (share of the layer)", "confidence": "confidence", "functions": "head numbers and functions"}
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
    """Relevance, confidence and functions of heads: a line of three panels a model, a row a layer, layer 1 at the bottom.

    In all three panels the heads of a layer are sorted by relevance, the most relevant one at the left. A row of the table is a
    head: model, layer, head, place (in its layer, from 1), relevance, confidence, functions, and candidate (names joined by a
    comma). Functions share the cell that has the head's number, and what it is a candidate for is a frame.
    """
    drawing.need(table, "model", "layer", "head", "place", "candidate", *PANELS, once=("model", "layer", "place"))
    models = list(dict.fromkeys(table.model))
    height = 0.24 * table.layer.max() + 0.55
    figure, axes = drawing.grid(3 * len(models), 3, WIDTH / 3, height)
    for number, model in enumerate(models):
        rows, line = table[table.model == model], axes[3 * number : 3 * number + 3]
        for axis, (column, title) in zip(line, PANELS.items(), strict=True):
            values = rows.pivot(index="layer", columns="place", values=column)[::-1]
            if column == "functions":
                places = list(zip(rows.place - 1, len(values) - rows.layer, strict=True))
                drawing.functions(axis, dict(zip(places, rows.functions, strict=True)))
                for (x, y), head, names in zip(places, rows["head"], rows.candidate, strict=True):
                    axis.text(x, y, head, ha="center", va="center", fontsize=7)
                    for name in filter(None, names.split(", ")):
                        axis.add_patch(Rectangle((x - 0.4, y - 0.4), 0.8, 0.8, fill=False, ec=drawing.COLOURS[name], lw=2))
                axis.set(xlim=(-0.5, values.shape[1] - 0.5), ylim=(len(values) - 0.5, -0.5))
            else:
                most = 1.0 if column == "confidence" else max(0.4, float(table.relevance.max()))  # alike in all figures
                drawing.heat(axis, values, values.map(drawing.short), "Blues", (0, most))
            axis.set_yticks(range(len(values)), values.index)
            axis.set_xticks([])
            axis.set_title(title if number == 0 else "")
            axis.set_xlabel("heads, most relevant first" if number == len(models) - 1 else "")
        line[0].set_ylabel(f"{model}\nlayer")
    frame = {"marker": "s", "ls": "", "ms": 6, "mfc": "none", "mew": 2}
    shown = [name for name in CANDIDATES if table.candidate.str.contains(name).any()]
    drawing.key(figure, {CANDIDATES[name]: frame | {"color": drawing.COLOURS[name]} for name in shown})
    return figure


def through_a_sentence(sentence: Mapping[str, Any], target: int):
    """Relevance of one predicted token at source tokens, and where the head looks that moves most of it.

    The sentence is what `helpers.measures.sentence.one_sentence` returns, `target` the token followed down.
    """
    source, predicted = ([token.replace("▁", "") or "␣" for token in sentence[side]] for side in ("source", "predicted"))
    flow, layer, head = sentence["flow"][target], sentence["layer"], sentence["head"]
    rows = sorted({len(flow) - 1, layer + 1, layer, 0}, reverse=True)  # the top, both sides of the head, the bottom
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 0.24 * len(rows) + 1.6), height_ratios=[len(rows), 1])
    most = float(np.abs(flow).max()) or 1.0
    drawing.bar(figure, drawing.heat(above, flow[rows], None, "RdBu_r", (-most, most)), [above, below], "relevance, logits")
    # what the most relevant head reads at the word through which most relevance goes down to its layer
    word = int(np.abs(flow[layer + 1]).argmax())
    weights = sentence["block"]["A"][head][word]
    drawing.heat(below, weights[None], [[f"{weight:.2f}" for weight in weights]], "Greys", (0, 1))
    above.set_yticks(range(len(rows)), [f"after layer {row}" if row else "input words" for row in rows])
    above.set_title(f"relevance of {predicted[target]!r} at each source token")
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


def by_measure(columns: Mapping[str, pd.Series], logarithmic: Collection[str] = (), mark: Collection[Any] = ()):
    """All heads in their places, a column of panels a measure (a Series on (kind, layer, head) by its title), a row a kind.

    Colours go from zero to the largest head; `logarithmic` ones from the least or a hundredth of it. Heads of `mark`
    have a dot.
    """
    index = next(iter(columns.values())).index
    kinds = list(index.unique("kind"))
    layers = [index[index.get_level_values("kind") == kind].unique("layer").size for kind in kinds]
    tall = 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(
        len(kinds), len(columns), figsize=(min(WIDTH, 2.3 * len(columns)), tall), squeeze=False, height_ratios=layers
    )
    for place, (title, column) in enumerate(columns.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(max(top / 100, column.min()), top) if title in logarithmic else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="magma_r" if title in logarithmic else "viridis_r")
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
        ticks = LogLocator(subs=(1, 2, 5)) if title in logarithmic else None
        bar = figure.colorbar(drawn, ax=list(axes[:, place]), location="bottom", aspect=14, pad=0.02, ticks=ticks)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.minorticks_off()
        bar.formatter = FuncFormatter(lambda value, _: f"{value:.10g}")
    return figure


def attention(examples: Sequence[Mapping[str, Any]]):
    """Attention maps of chosen heads: "title", "rows" that look at "columns" (words), "weights" [rows, columns]."""
    figure, axes = drawing.grid(len(examples), 2, WIDTH / 2, 2.9)
    for axis, example in zip(axes, examples, strict=True):
        drawn = drawing.heat(axis, example["weights"], cmap="Blues")
        axis.grid(False, which="minor")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90)
        axis.set_yticks(range(len(example["rows"])), example["rows"])
        axis.set(title=example["title"], xlabel="token attended to", ylabel="token")
        axis.spines[["left", "bottom"]].set_visible(True)
    figure.set_figwidth(min(WIDTH, figure.get_figwidth() + 0.7))
    drawing.bar(figure, drawn, axes, "share of the row's weight", [0, 0.5, 1])
    return figure
