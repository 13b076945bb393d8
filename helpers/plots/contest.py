"""Ways to choose heads at one number of heads (Voita et al. 2019, section 6, asked of every measure)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers import drawing
from helpers.drawing import MODELS, WIDTH

_GREY, _DARK = "#C4C4C4", "#555555"


def contest(table: pd.DataFrame, kept: pd.DataFrame, cost: pd.Series, label: str = "change"):
    """What each choice of heads changes, the best at the top: a dot a training or draw; beside it heads left by layer.

    The table has a row a training of each choice, of "random heads", which the others are held against, a row a draw:
    criterion, change, test set; low and high (nan where there is no interval); hollow (bool): cannot be told from random heads.
    `kept` are heads left on criterion, a column a layer; `cost` is of each layer the share of what single heads cost, written
    below its column, with a frame round the largest. It may be empty.
    """
    panel, random = "test set", "random heads"
    drawing.need(table, "criterion", "change", "low", "high", "hollow", panel)
    titles = list(dict.fromkeys(table[panel]))
    means = table.groupby([panel, "criterion"]).change.mean().unstack(0)[titles]
    order = means.sort_values(titles, ascending=False).index
    grid = max(1.6, 0.3 * len(kept.columns) + 0.2)
    sizes = [*[(WIDTH - 2.1 - grid) / len(titles)] * len(titles), grid]
    size = (WIDTH, 0.25 * len(order) + 1.4)
    figure, axes = plt.subplots(1, len(sizes), figsize=size, sharey=True, squeeze=False, width_ratios=sizes)
    for title, axis in zip(titles, axes[0], strict=False):
        axis.hlines(range(len(order)), 0, 1, transform=axis.get_yaxis_transform(), color="#EBEBEB", lw=0.7, zorder=0)
        for place, name in enumerate(order):
            rows = table[(table[panel] == title) & (table.criterion == name)]
            look = {"color": MODELS[0], "mfc": "white" if rows.hollow.any() else MODELS[0]}
            look = {"color": _DARK, "mfc": _GREY} if name == random else look
            up = np.linspace(-0.22, 0.22, len(rows)) if len(rows) > 1 else np.zeros(len(rows))
            ends = drawing.whiskers(rows, "change")
            axis.errorbar(rows.change, place + up, xerr=ends, ls="", marker="o", ms=4, elinewidth=1.1, **look)
            if len(rows) > 1:
                axis.plot([means.at[name, title]] * 2, [place - 0.38, place + 0.38], color="black", lw=1.6)
        if random in order:
            axis.axvline(means.at[random, title], color=_DARK, lw=1.0, ls="--", zorder=0)
        axis.set_title(title if len(titles) > 1 else "", loc="left")
        axis.set_xlabel(label)
        axis.tick_params(axis="y", which="both", length=0)
    axes[0, 0].set_yticks(range(len(order)), order)
    _layers(axes[0, -1], kept.reindex(order), cost)
    axes[0, 0].set_ylim(len(order) - 0.5, -0.5)
    looks = {"one training": {"color": MODELS[0]}, "one not told from random heads": {"color": MODELS[0], "mfc": "white"}}
    looks |= {"one random draw": {"color": _DARK, "mfc": _GREY}}
    looks = {name: look | {"ls": "", "marker": "o"} for name, look in looks.items()}
    looks |= {"mean of random draws": {"color": _DARK, "ls": "--"}}
    drawing.legend(figure, looks | {"mean": {"color": "black", "ls": "", "marker": "|", "mew": 1.6, "ms": 8}})
    return figure


def _layers(axis, kept: pd.DataFrame, cost: pd.Series) -> None:
    """Heads left in each layer, a row a choice."""
    values = kept.to_numpy(float)
    texts = [["0" if value < 0.05 else f"{value:.1f}" for value in row] for row in values]
    drawing.heat(axis, values, texts, "Blues", (0, np.nanmax(values)))
    axis.set_title("heads left in layer", loc="left", pad=18)
    for layer in range(values.shape[1]):
        where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axis.annotate(layer + 1, (layer, 1), (0, 3), ha="center", fontsize=8, **where)
    axis.set_xticks(range(values.shape[1]), [f"{share:.0%}"[:-1] for share in cost] or [""] * values.shape[1], fontsize=7)
    if len(cost):
        axis.set_xlabel("% of the rise of the loss,\neach head taken out alone", fontsize=8)
        corner = (int(np.argmax(cost)) - 0.5, -0.5)
        axis.add_patch(plt.Rectangle(corner, 1, len(values), fill=False, ec=MODELS[1], lw=1.6, zorder=5))
