"""Figures of what things cost: one function per kind of figure, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column or has a row twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.common import AXES, named
from helpers import drawing
from helpers.drawing import MODELS, WIDTH, redrawable
from helpers.study import StudyError


def _short(value: float, _=None) -> str:
    """A number in as few figures as tell it: 0.05, 3, 120, 4k."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _three(value: float) -> str:
    """A number in three figures or more: 3.23, 86.2, 1,930."""
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{float(f'{value:.3g}'):,.{digits}f}"


def _log(axis, low: float, high: float) -> None:
    """A logarithmic x axis over these values, with readable ticks; one from 0 where they lie near each other."""
    if high / low < 5:
        axis.set_xlim(0, 1.08 * high)
        axis.xaxis.set_major_formatter(FuncFormatter(_short))
        return
    axis.set_xscale("log")
    axis.set_xlim(low / 1.6, high * 1.6)
    wide = high / low > 60
    axis.xaxis.set_major_locator(LogLocator(10, subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(_short))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _stacked(frame: pd.DataFrame, label: str, said: Callable[[float], str], level: float | None = None):
    """A panel a group: median, quartiles, and the number at the right; names alike up to a comma share a colour."""
    drawing.need(frame, "what", "group", "value", "low", "high", once=("group", "what"))
    table = frame.drop(columns="group").assign(panel=frame.group, row=frame["what"].map(named), said=frame.value.map(said))
    table["series"] = table["what"].str.split(",").str[0]
    families = list(dict.fromkeys(table.series))
    several = len(families) < min(5, len(table))  # else colours tell nothing
    looks = {name: {"color": MODELS[several * n % len(MODELS)]} for n, name in enumerate(families)}
    figure, axes = drawing.dot_panels(table, looks, level, label, columns=1, shared=False, sharex=True, told=False)
    return figure, next(iter(axes.values()))


@redrawable
def speeds(frame: pd.DataFrame, unit: str = ""):
    """Speeds on a logarithmic axis (from 0 where they are alike): a panel a group, a row a way to do it; quartiles as lines.

    Parameters
    ----------
    frame : pandas.DataFrame
        what, group, quantity, value, low, high. Ways whose names start alike, up to a comma, share a colour.
    unit : str
        Of the axis; the table's quantity by default.

    Raises
    ------
    StudyError
        If a column is missing, a row is twice in a group, or a speed is not above zero.
    """
    drawing.need(frame, "what", "group", "quantity", "value", "low", "high")
    if not (frame[["value", "low", "high"]] > 0).all(axis=None):
        raise StudyError("A speed is not above zero: give speeds that were measured.")
    figure, axis = _stacked(frame, unit or frame.quantity.iloc[0], _three)
    _log(axis, frame.low.min(), frame.high.max())
    return figure


RANDOM: dict[str, dict[str, Any]] = {
    "above": {"color": MODELS[0], "marker": "o"},
    "not": {"color": "#777777", "marker": "s", "mfc": "white"},
}
BAR: dict[str, Any] = {"color": "#222222", "marker": "|", "ls": "", "ms": 8, "mew": 1.4}


@redrawable
def pruning(frame: pd.DataFrame, unit: str = "BLEU minus the unpruned model", title: str = ""):
    """What choosing by a measure costs (logarithmic) beside what pruning by it changes, a row a measure; random heads: a band.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.pruning` returns it; run is drawn, seconds (optional) for as much beside it, cost as a bar.
    unit, title : str
        Of what pruning changes; of which models.
    """
    drawing.need(frame, "measure", "cost", "value", "low", "high", "above", once=("measure",))
    rows = frame.assign(run=frame.get("run", frame.cost)).dropna(subset="cost")
    rows = rows.sort_values(["run", "value"], ascending=[False, True], ignore_index=True)
    figure, (price, change) = plt.subplots(1, 2, sharey=True, figsize=(WIDTH, 0.23 * len(rows) + 1.2), width_ratios=(1, 1.3))
    grey: dict[str, Any] = {"fontsize": 7.5, "color": "#555555"}
    for row in frame[frame.measure == "random"].itertuples():
        change.axvspan(row.low, row.high, color="#777777", alpha=0.13, lw=0, zorder=0)
        change.axvline(row.value, color="#777777", lw=0.8, zorder=0)
        change.text(row.value, 1, "random heads", transform=change.get_xaxis_transform(), ha="center", va="bottom", **grey)
    change.axvline(0, **drawing.LEVEL)
    for row in rows.itertuples():
        look = RANDOM["above" if row.above else "not"] | {"ls": "", "ms": 5.5, "mew": 0.8}
        price.plot(row.run, row.Index, **look)
        if row.cost < row.run:
            price.plot(row.cost, row.Index, **BAR)
        if (took := getattr(row, "seconds", math.nan) * row.run / row.cost) == took:
            seconds = f"{took:.1f} s" if took < 10 else f"{took:.0f} s"
            price.annotate(seconds, (row.run, row.Index), (7, 0), textcoords="offset points", va="center", **grey)
        ends = [[row.value - row.low], [row.high - row.value]]
        change.errorbar(row.value, row.Index, xerr=ends, elinewidth=0.9, **look)
    price.set(xscale="log", xlabel="price as run, in gradient importances", yticks=rows.index, yticklabels=rows.measure)
    price.set_xlim(rows.cost.min() / 1.6, rows.cost.max() * 6)
    price.xaxis.set_major_formatter(FuncFormatter(_short))
    price.xaxis.set_minor_formatter(NullFormatter())
    price.set_ylim(-0.6, len(rows) - 0.4)
    change.set(xlabel=f"{unit} (95 %)")
    figure.suptitle(title, fontsize=8.5)
    drawing.legend(
        figure, {"beats random heads": RANDOM["above"], "not shown to": RANDOM["not"], "price on equal text": BAR}, ls=""
    )
    return figure


@redrawable
def overheads(frame: pd.DataFrame, label: str = "times the plain variant"):
    """Ratios with their quartiles, a panel a group, with a line at 1.

    Parameters
    ----------
    frame : pandas.DataFrame
        what, group, value, low, high.
    """
    return _stacked(frame, label, "{:.2f}".format, level=1.0)[0]


@redrawable
def growth(exponents: pd.DataFrame, points: pd.DataFrame):
    """Seconds against the length of sentences, both logarithmic, each line with its name and exponent of the last doubling.

    Parameters
    ----------
    exponents, points : pandas.DataFrame
        As `benchmarks.costs.growth` returns them, of one axis.
    """
    drawing.need(exponents, "what", "axis", "last", once=("what",))
    drawing.need(points, "what", "axis", "at", "value", "low", "high")
    points, exponents = (table.assign(what=table["what"].map(named)) for table in (points, exponents))
    looks, slopes = drawing.looks(points["what"]), exponents.set_index("what")
    figure, axis = plt.subplots(figsize=(WIDTH, 2.9))
    drawing.lines(axis, points, "at", "value", "what", looks)
    sizes = sorted(points["at"].unique())
    drawing.logarithmic(axis, "xy")
    most = points.value.max() / 3.5
    axis.plot([sizes[0], sizes[-1]], [most / (sizes[-1] / sizes[0]) ** 2, most], color="#999999", lw=0.8, ls="--", zorder=0)
    look: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5, "va": "center"}
    axis.annotate("exponent 2", (sizes[-1], most), (8, 0), color="#666666", **look)
    axis.set(xlabel=AXES.get(points.axis.iloc[0], points.axis.iloc[0]), ylabel="seconds")
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
    for side in (axis.xaxis, axis.yaxis):
        side.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlim(right=sizes[-1] * (sizes[-1] / sizes[0]) ** 0.55)
    ends = points[points["at"] == sizes[-1]].sort_values("value").set_index("what").value
    gap = (math.log10(axis.get_ylim()[1]) - math.log10(axis.get_ylim()[0])) / 12  # a line of text
    places = np.log10(ends.to_numpy(float))
    for _ in range(100):  # none on another, all near their lines
        for low in np.flatnonzero(np.diff(places) < gap):
            places[low : low + 2] = places[low : low + 2].mean() + np.array([-gap, gap]) / 2
    for name, place in zip(ends.index, places, strict=True):
        said = f"{name}: {slopes['last'][name]:.1f}".replace("-", "−")
        axis.annotate(said, (sizes[-1], 10**place), (8, 0), color=looks[name]["color"], **look)
    axis.set_title("behind each name: exponent of the last doubling", loc="right", fontsize=7.5)
    return figure


@redrawable
def beside(frame: pd.DataFrame, floors: Mapping[str, str]):
    """Ours, the obvious way and a library in passes forward and back, a row a measure, logarithmic; a line at one pass.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.numbers` returns it, in seconds. "NAME, obvious" and "NAME, LIBRARY" are other ways to do NAME.
    floors : mapping of measure -> row
        The pass in units of which each measure is drawn.
    """
    drawing.need(frame, "what", "value", once=["what"])
    parts, known = frame["what"].str.partition(", "), frame.set_index("what").value
    ways = {"": "the study's way", "obvious": "the obvious way", "captum": "Captum"}
    table = frame[["value"]].assign(row=parts[0], series=parts[2].replace(ways))[parts[0].isin(floors)]
    table["value"] /= [known[floors[row]] for row in table.row]
    panel = f"Llama-style decoder: {frame.group.iloc[0]}" if "group" in frame else ""
    table = table.assign(panel=panel, row=table.row.map(named))
    looks = drawing.looks(table.series)
    label = "times one forward + backward pass, gradients of all weights"
    figure, axes = drawing.dot_panels(table, looks, label=label, columns=1, level=1.0)
    for axis in axes.values():
        _log(axis, table.value.min(), table.value.max())
    return figure


@redrawable
def memory(frame: pd.DataFrame):
    """Peak memory in MiB, a panel a benchmark and group, a bar a variant.

    Parameters
    ----------
    frame : pandas.DataFrame
        benchmark, what, group, value (bytes).
    """
    drawing.need(frame, "benchmark", "what", "group", "value")
    parts = dict(iter(frame.groupby(["benchmark", "group"], sort=False)))
    counts = [len(part) for part in parts.values()]
    size = (WIDTH, 0.24 * sum(counts) + 0.5 * len(parts) + 0.5)
    figure, axes = plt.subplots(len(parts), 1, figsize=size, squeeze=False, height_ratios=counts)
    for axis, ((benchmark, group), part) in zip(axes.flat, parts.items(), strict=True):
        bars = axis.barh(range(len(part)), part.value / 2**20, 0.7, color=["#9A9A9A", *[MODELS[0]] * (len(part) - 1)])
        axis.bar_label(bars, fmt="{:,.0f}", fontsize=7.5, padding=2)
        axis.set_yticks(range(len(part)), part["what"])
        axis.set_ylim(len(part) - 0.5, -0.5)
        axis.set_xlim(0, max(1.0, 1.12 * part.value.max() / 2**20))
        axis.set_title(f"{benchmark.replace('_', ' ')}: {group}", loc="left", fontsize=8.5)
        axis.tick_params(axis="y", length=0)
    axes[-1, 0].set_xlabel("MiB beyond what was there before")
    return figure


@redrawable
def bytes_kept(frame: pd.DataFrame):
    """Bytes: a panel a group, a bar a way.

    Parameters
    ----------
    frame : pandas.DataFrame
        what, group, value (bytes).
    """
    drawing.need(frame, "what", "group", "value")
    groups = dict(iter(frame.groupby("group", sort=False)))
    figure, axes = drawing.grid(len(groups), 2, WIDTH / 2, 1.5)
    for axis, (title, rows) in zip(axes, groups.items(), strict=True):
        bars = axis.barh(range(len(rows)), rows.value / 2**20, 0.6, color=[MODELS[n] for n in range(len(rows))])
        axis.bar_label(bars, fmt=_three, fontsize=7.5, padding=2)
        axis.set_yticks(range(len(rows)), rows["what"])
        axis.set(xlabel="MiB kept", title=title, xlim=(0, 1.2 * rows.value.max() / 2**20))
        axis.invert_yaxis()
        axis.tick_params(axis="y", length=0)
    return figure


@redrawable
def pruned(frame: pd.DataFrame, by: str = "criterion"):
    """What is left to pay as more heads go: a panel a quantity, a line a model or criterion, bars what operations leave of it.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.pruned` returns it.
    by : str
        The column of the lines: "model", or "criterion", which has a row of panels a model.
    """
    drawing.need(frame, "model", "quantity", "criterion", "share", "value", "low", "high", "floor")
    short = frame.model.str.replace(r" \d+ layers,", "", regex=True).str.replace("grouped queries", "Llama-style decoder")
    table = frame.assign(panel=frame.quantity.replace("cache bytes", "bytes of the cache"), model=short)
    table["panel"] += ":\n" + short if by != "model" else ""
    looks, apart = drawing.looks(table[by]), 2.5
    floor = {"marker": "_", "ls": "", "ms": 11, "mew": 1.6, "zorder": 4}
    figure, axes = drawing.line_panels(
        table, "share", "value", by, looks, label="% of heads removed", unit="share of the full model",
        size=(WIDTH / frame.quantity.nunique(), 2.15), dodge=apart,
        more={"bars: what operations leave, in the line's colour": floor | {"color": "black"}},
    )  # fmt: skip
    if by == "model":  # few lines, named where they end
        figure.legends[0].remove()
    for title, axis in axes.items():
        last = table[(table.panel == title) & (table.share == table.share.max()) & (by == "model")].sort_values("value")
        for place, row in enumerate(last.itertuples()):
            name, shift = row.model.partition(",")[0], (9, 8 * (place - (len(last) - 1) / 2))
            look = {"fontsize": 7.5, "color": looks[row.model]["color"], "va": "center"}
            axis.annotate(name, (row.share, row.value), shift, textcoords="offset points", **look)
        if len(last) and last["floor"].notna().any():
            axis.text(0.03, 0.03, "short bars: by operations", transform=axis.transAxes, fontsize=7.5, color="#555555")
        for number, (name, look) in enumerate(looks.items()):
            rows = table[(table.panel == title) & (table[by] == name)]
            at = rows.share + apart * (number - (len(looks) - 1) / 2)
            axis.plot(at, rows["floor"], **floor, color=look["color"], alpha=0.55)
        axis.axhline(1.0, color="0.7", lw=0.8, zorder=0)
        axis.set_ylim(0, 1.3)
        axis.set_xticks(range(0, table.share.max() + 1, 30))
    return figure
