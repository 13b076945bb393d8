"""Figures of heads over training, and of models that differ in depth or text (`helpers.measures.snapshots`)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from helpers.figures import COLOURS, KIND_TITLES, MODELS, _grid, _legend_below
from helpers.measures.functions import RELATIONS
from helpers.redraw import redrawable

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
    figure, axes = _grid(len(panels), 4, 1.8, 1.75)
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
    _legend_below(figure, handles, 6)
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
