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


def gains(table: pd.DataFrame):
    """How often the best head of each relation is right, and the best fixed guess (table 1): a row a model.

    A cell says both, in per cent; its colour says by how many points the head is above the guess (red) or below (blue). A
    black frame is round cells of 10 points or more, counted beside the model; where the interval of the gain holds 10 there is
    a question mark instead. A case that was not asked is grey. The table has a row a cell: model, relation, direction, accuracy
    and baseline (shares); gain_low and gain_high where there are intervals.
    """
    models, cases = list(dict.fromkeys(table.model)), list(papers.CASES)
    gain = (table.accuracy - table.baseline).set_axis(pd.MultiIndex.from_frame(table[["model", "relation", "direction"]]))
    values = gain.unstack(["relation", "direction"]).reindex(index=models, columns=cases)
    figure, axis = plt.subplots(figsize=(WIDTH, 0.26 * len(models) + 0.75), subplot_kw={"facecolor": "0.8"})
    drawn = drawing.heat(axis, 100 * values, "RdBu_r", (-60, 60))
    axis.grid(False, which="minor")
    passed = dict.fromkeys(models, 0)
    for row in table.itertuples():
        down, across = models.index(row.model), cases.index((row.relation, row.direction))
        ends = (getattr(row, name, np.nan) for name in ("gain_low", "gain_high"))
        open_ = " ?" if next(ends) < MARGIN < next(ends) else ""
        value = row.accuracy - row.baseline
        ink = drawing.ink(drawn.cmap(drawn.norm(100 * value)))
        text = f"{100 * row.accuracy:.0f} / {100 * row.baseline:.0f}{open_}"
        axis.text(across, down, text, fontsize=7, ha="center", va="center", color=ink)
        if value >= MARGIN - 1e-9 and not open_:
            passed[row.model] += 1
            axis.add_patch(Rectangle((across - 0.5, down - 0.5), 1, 1, fill=False, ec="black"))
    axis.set_xticks(range(len(cases)), [name.replace("→", "\n→ ") for name in papers.CASES.values()], fontsize=7)
    asked = table.model.value_counts()
    axis.set_yticks(range(len(models)), [f"{model}: {passed[model]} of {asked[model]}" for model in models])
    drawing.bar(figure, drawn, [axis], "points above the guess", [-60, -30, 0, 30, 60])
    return figure


def by_relevance(table: pd.DataFrame):
    """Heads by relevance and what they do, for each model; layer 1 at the bottom, the most relevant head left.

    Heads are as wide as their share of relevance; beside it, where confidence is known, as tall as it is, of the largest of
    their layer. Columns: model, layer, head, place (in its layer by relevance, from 1), relevance, confidence, functions.
    """
    table = table.fillna({"functions": ""}).sort_values(["layer", "place"], kind="stable")
    layers, most = table.groupby(["model", "layer"]), table.layer.max()
    x, tall = layers.relevance.cumsum() - table.relevance / 2, table.confidence / layers.confidence.transform("max")
    first = table.assign(x=x, wide=table.relevance, tall=1.0, text=table["head"])
    second = table.assign(x=table.place, wide=0.95, tall=tall, text=100 * table.confidence).dropna(subset="text")
    panels = [(kind, model) for model in dict.fromkeys(table.model) for kind in (first, second) if model in set(kind.model)]
    figure, axes = drawing.grid(len(panels), 3, WIDTH / 3, 0.23 * most + 0.9, sharey=True)
    for axis, (kind, model) in zip(axes, panels, strict=True):
        bars = kind[kind.model == model]
        cells = bars.set_index(["x", "layer", "wide", "tall"]).functions.to_dict()
        drawing.functions(axis, cells, bars.text.round().astype(int))
        axis.set(ylim=(0.4, most + 0.6), yticks=range(1, most + 1), ylabel="layer" if left(axis) else "")
        if kind is first:
            axis.set(title=model, xlim=(0, 1), xlabel="share of the layer's relevance, %")
            axis.set_xticks([0, 0.25, 0.5, 0.75, 1], [0, 25, 50, 75, 100])
        else:
            axis.set(title=f"{model}: confidence, %", xlim=(0.4, table.place.max() + 0.6), xlabel="place by relevance")
            axis.set_xticks(table.place.unique())
    drawing.key(figure)
    return figure


def retained(table: pd.DataFrame):
    """Heads with a function that stay, a column of cells for each number of heads left, in the colours of their functions.

    Dots: by chance. A row of the table is a column: model (a panel), heads, does (functions of each head), expected, low, high.
    """
    models, chance = list(dict.fromkeys(table.model)), {"color": "black", "marker": "D", "ms": 4}
    figure, axes = drawing.grid(len(models), 2, WIDTH / 2, 2.6, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        rows = table[table.model == model].reset_index()
        cells = {(x, y + 0.5, 0.8, 1): name for x, does in rows.does.items() for y, name in enumerate(sorted(does)[::-1])}
        drawing.functions(axis, cells, [""] * len(cells))
        drawing.marks(axis, rows.index, rows.expected, rows, chance, yerr=drawing.whiskers(rows, "expected"))
        axis.set(title=model, xlabel="encoder heads left", ylabel="heads with a function left" if left(axis) else "")
        axis.set_xticks(rows.index, rows["heads"].round().astype(int))
    drawing.key(figure, **{"by chance": chance | {"ls": ""}})
    return figure


def gates(at: Any, closed: Any, opened: Any, traces: Mapping[float, Any]):
    """What training moves: how often a gate is drawn as zero (grey) and as one (black) at these locations, and beside it the
    locations of all gates over training [steps, gates], a panel a price: black if they end above zero."""
    figure, axes = drawing.grid(1 + len(traces), 4, WIDTH / 4, 2.4, sharey=True)
    axes[0].fill_betweenx(at, 0, closed, color="#AAAAAA", lw=0)
    axes[0].fill_betweenx(at, 1 - opened, 1, color="black", lw=0)
    axes[0].set(title="gate 0: grey, 1: black,\nbetween: white", xlabel="share of draws", ylabel="location", xticks=(0, 0.5, 1))
    for axis, (price, locations) in zip(axes[1:], traces.items(), strict=True):
        black = locations[-1] > 0
        axis.plot(locations[:, ~black], color="#AAAAAA", lw=0.7)
        axis.plot(locations[:, black], color="black", lw=0.7)
        axis.set(title=f"price {price:g}:\n{sum(black)} gates stay (black)", xlabel="training step")
    return figure


def by_measure(table: pd.DataFrame, mark: Collection[Any] = (), log: str = "", frame: Collection[Any] = ()):
    """All heads in their places, a column of panels a column of the table (on (kind, layer, head)), a row a kind.

    Colours go from zero to the largest head, in the column `log` in logs from a hundredth of it. Heads of `mark` have a dot,
    those of `frame` a black frame.
    """
    kinds = list(table.index.unique("kind"))
    layers = [table.loc[kind].index.unique("layer").size for kind in kinds]
    size = min(WIDTH, 2.3 * table.shape[1]), 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(len(kinds), table.shape[1], figsize=size, squeeze=False, height_ratios=layers)
    for place, (title, column) in enumerate(table.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(max(top / 100, column.min()), top) if title == log else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="magma_r" if title == log else "viridis_r")
            drawn.set_norm(norm)
            for _, layer, head in [one for one in (*mark, *frame) if one[0] == kind]:
                x, y = cells.columns.get_loc(head), len(cells) - 1 - cells.index.get_loc(layer)
                if (kind, layer, head) in frame:
                    axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, ec="black", lw=1.8, clip_on=False))
                if (kind, layer, head) in mark:
                    axis.plot(x, y, "o", ms=3, mfc="white", mec="black", mew=0.6)
            axis.xaxis.set_major_locator(MaxNLocator(8 if cells.shape[1] <= 8 else 6, integer=True))
            axis.xaxis.set_major_formatter(lambda head, _: f"{head + 1:.0f}")
            ticks = [row for row, layer in enumerate(cells.index[::-1]) if len(cells) < 12 or (layer + 1) % 5 == 0]
            axis.set_yticks(ticks, [cells.index[::-1][row] + 1 for row in ticks])
            axis.set_ylabel("" if place else "layer" if len(kinds) == 1 else drawing.KIND_TITLES[kind])
        axes[0, place].set_title(title)
        axes[-1, place].set_xlabel("head")
        ticks = LogLocator(subs=(1, 2, 5)) if title == log else None
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
