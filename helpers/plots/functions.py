"""What heads do (Voita et al. 2019, section 5): bars side by side, and where one head looks in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from helpers import drawing, papers
from helpers.drawing import MODELS, WIDTH
from helpers.measures.functions import MARGIN

LEAST = 0.04  # weight of attention that is drawn


def gains(table: pd.DataFrame):
    """How often the best head of each relation is right, and the best fixed guess (table 1): a row a model.

    A cell says both, in per cent; its colour says by how many points the head is above the guess (red) or below (blue). A
    black frame is round cells of 10 points or more, and a question mark is where the interval of the gain holds 10. A case that
    was not asked is empty.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a cell: model, relation, direction, accuracy and baseline (shares); gain_low and gain_high where there are
        intervals.
    """
    drawing.need(table, "model", "relation", "direction", "accuracy", "baseline", once=("model", "relation", "direction"))
    models, cases = list(dict.fromkeys(table.model)), list(papers.CASES)
    gain = (table.accuracy - table.baseline).set_axis(pd.MultiIndex.from_frame(table[["model", "relation", "direction"]]))
    values = gain.unstack(["relation", "direction"]).reindex(index=models, columns=cases)
    figure, axis = plt.subplots(figsize=(WIDTH, 0.26 * len(models) + 0.75))
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
            axis.add_patch(Rectangle((across - 0.47, down - 0.43), 0.94, 0.86, fill=False, ec="black", lw=1.2))
    axis.set_xticks(range(len(cases)), [name.replace("→", "\n→ ") for name in papers.CASES.values()])
    axis.set_yticks(range(len(models)), models)
    drawing.bar(figure, drawn, [axis], "points above the guess", [-60, -30, 0, 30, 60])
    return figure


def grouped(
    table: pd.DataFrame, x: str, y: str, series: str = "model", panel: str = "", labels: tuple[str, str] = ("", ""),
    columns: int = 1,
):  # fmt: skip
    """Bars side by side, in per cent.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns x (a whole number), y (a share) and series; low and high where there are intervals. A bar that is not there has
        no row.
    panel : str
        A column whose values have a panel each; one panel without it.
    labels : (str, str)
        Of the axes.
    columns : int
        Panels side by side, at most.
    """
    drawing.need(table, x, y, series, *([panel] if panel else []))
    titles, names = list(dict.fromkeys(table[panel])) if panel else [""], list(dict.fromkeys(table[series]))
    colours = dict(zip(names, MODELS, strict=False))
    width, top = 0.82 / len(names), min(105, 110 * table[y].max())
    figure, axes = drawing.grid(len(titles), columns, WIDTH / min(columns, len(titles)), 2.0, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table[panel] == title] if panel else table
        places = {place: number for number, place in enumerate(sorted(set(rows[x])))}
        for number, (name, colour) in enumerate(colours.items()):
            bars = rows[rows[series] == name]
            at = bars[x].map(places).to_numpy(float) + (number - (len(names) - 1) / 2) * width
            ends = 100 * drawing.whiskers(bars, y) if "low" in bars else None
            axis.bar(at, 100 * bars[y], 0.92 * width, color=colour, yerr=ends, ecolor="#555555", error_kw={"elinewidth": 0.8})
        axis.set_xticks(range(len(places)), [f"{place:+d}" if place else "0" for place in places])
        axis.set(title=title, xlabel=labels[0], ylabel=(labels[1] or y) if drawing.left(axis) else "", ylim=(0, top))
        axis.tick_params(axis="x", length=0)
    drawing.legend(figure, drawing.squares(colours))
    return figure


def looking(table: pd.DataFrame):
    """Where a head looks from one word of a sentence: a panel a sentence.

    Above the words a dashed arc leads to where the word should look; below, arcs as thick as its attention, coloured where that
    is right. The word that looks is yellow. Behind the title stands whether the largest weight is where it should be.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a word, in order: title (of the panel), word, weight (of the looking word on it), looks (the word that looks) and
        wanted (where it should look).
    """
    drawing.need(table, "title", "word", "weight", "looks", "wanted")
    titles = list(dict.fromkeys(table.title))
    figure, axes = drawing.grid(len(titles), 1, WIDTH, 1.15)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table.title == title]
        widths = rows.word.str.len().to_numpy(float) + 1.6
        middle = (np.cumsum(widths) - widths / 2) / widths.sum()
        (query,) = np.flatnonzero(rows.looks).tolist()
        for place, row in zip(middle, rows.itertuples(), strict=True):
            look: dict[str, Any] = {"color": MODELS[1] if row.wanted else "black"}
            if row.looks:
                look |= {"fontweight": "bold", "bbox": {"fc": "#FFF1A8", "ec": "none", "pad": 1.2}}
            axis.text(place, 0, row.word, ha="center", va="center", fontsize=8, parse_math=False, **look)
            if row.wanted:
                _arc(axis, middle[query], place, 0.18, {"color": "black", "ls": "--", "lw": 1.0})
            if row.weight > LEAST:
                colour = MODELS[1] if row.wanted else "#888888"
                _arc(axis, middle[query], place, -0.18, {"color": colour, "lw": 0.4 + 4.5 * row.weight})
        axis.set_axis_off()
        axis.set(xlim=(0, 1), ylim=(-1.25, 1.25))
        hit = rows.wanted[rows.weight.idxmax()]
        axis.set_title(f"{title} ({'hit' if hit else 'miss'})", loc="left", fontsize=8.5)
    should, does = {"color": "black", "ls": "--", "lw": 1}, {"color": "#888888", "lw": 2.5}
    drawing.legend(figure, {"where the word should look": should, f"where it looks (weights above {LEAST})": does})
    return figure


def _arc(axis, start: float, end: float, level: float, look: Mapping[str, Any]) -> None:
    """Half an ellipse between two words, above or below them; a small loop where they are one."""
    reach = max(abs(end - start), 0.02)
    turn = np.linspace(0, np.pi, 40)
    high = np.sign(level) * min(0.85, 0.25 + 1.1 * reach)
    axis.plot((start + end) / 2 - reach / 2 * np.cos(turn), level + high * np.sin(turn), solid_capstyle="butt", **look)
