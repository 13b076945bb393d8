"""Figures of what things cost: one function per kind of figure, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column or has a row twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.common import AXES, named
from helpers import drawing
from helpers.drawing import MODELS, WIDTH, redrawable
from helpers.study import StudyError

FORMS = {
    "ceiling: FLOPs full over removed": {"color": "black", "marker": "|", "ms": 11, "mec": "black", "mew": 1.6},
    "heads removed": {"color": MODELS[0], "marker": "o"}, "gates of 0": {"color": MODELS[1], "marker": "s", "ms": 4},
}  # fmt: skip


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


@redrawable
def heart(frame: pd.DataFrame, noise: tuple[float, float] | None = None, of: str = ""):
    """What things cost in units of a plain thing, a panel each, beside the obvious way; logarithmic where it differs much.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.heart` returns it.
    noise : (float, float), optional
        Between which multiples the plain thing `of` lies of itself, as a band.
    """
    drawing.need(frame.reset_index(), "what", "plain", "cost", "cost_low", "cost_high", "obvious", "captum")
    names = {"the study's way": ["cost", "cost_low", "cost_high"], "the obvious way": ["obvious"] * 3, "Captum": ["other"] * 3}
    frame = frame.assign(other=frame.cost * frame.captum)
    rows = [fill(name, 44) for name in frame.index]
    parts = [
        frame[columns].set_axis(["value", "low", "high"], axis=1).assign(series=name, row=rows, panel=frame.plain)
        for name, columns in names.items()
    ]
    table = pd.concat(parts).dropna(subset="value")
    looks = {name: look for name, look in drawing.looks(names).items() if name in set(table.series)}
    more = {"lines: quartiles": {"color": MODELS[0]}}
    more |= drawing.squares({"a step timed once more, quartiles": "#DDDDDD"}) if noise else {}
    figure, axes = drawing.dot_panels(table, looks, 1.0, "", columns=1, shared=False, more=more)
    for title, axis in axes.items():
        part = table[table.panel == title]
        _log(axis, min(0.9, part.low.min()), part.high.max())
        axis.set_xlabel(f"in units of: {title}")
        axis.set_title("")
        if noise and title == of:
            axis.axvspan(*noise, color="#DDDDDD", lw=0, zorder=0)
    return figure


@redrawable
def pruning(frame: pd.DataFrame, unit: str = "BLEU minus the unpruned model"):
    """What a measure costs, logarithmic, against what pruning by it changes; L0 and random heads (a band) across.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.pruning` returns it.
    unit : str
        Of the y axis.
    """
    drawing.need(frame, "measure", "cost", "value", "low", "high", once=("measure",))
    chosen, lines = frame.dropna(subset="cost"), frame[frame.cost.isna()].set_index("measure")
    chosen = chosen.sort_values("value", ascending=False)
    looks = drawing.looks(chosen.measure)
    figure, axis = plt.subplots(figsize=(0.8 * WIDTH, 3.2))
    chosen["at"] = chosen.cost * 1.08 ** chosen.groupby("cost").cumcount()  # those of one cost stand side by side
    for row, look in zip(chosen.itertuples(), looks.values(), strict=True):
        ends = [[row.value - row.low], [row.high - row.value]]
        axis.errorbar(row.at, row.value, yerr=ends, ls="", ms=5, elinewidth=0.9, mec="white", mew=0.4, **look)
    across = {"random": {"color": "#777777", "ls": "--", "lw": 1.0}, "L0 (trained)": {"color": "black", "ls": ":", "lw": 1.2}}
    across = {name: look for name, look in across.items() if name in lines.index}
    for name, look in across.items():
        axis.axhline(lines.value[name], zorder=0, **look)
    if "random" in lines.index:
        axis.axhspan(lines.low["random"], lines.high["random"], color="#777777", alpha=0.12, lw=0, zorder=0)
    _log(axis, chosen.cost.min(), chosen.cost.max())
    axis.set(xlabel="cost of the measure, times that of gradient importance", ylabel=unit)
    drawing.legend(figure, looks | {f"{name} heads" if name == "random" else name: look for name, look in across.items()})
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
def removed(frame: pd.DataFrame):
    """What removed and masked heads save beside the ceiling of FLOPs: a panel a map of heads and model, a row a case.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.savings` returns it.
    """
    drawing.need(frame, "map", "form", "model", "call", "length", "batch", "value", "low", "high")
    forms = dict(zip(("ceiling", "removed", "masked"), FORMS, strict=True))
    rows = [f"{call}, length {n}, batch {b}" for call, n, b in zip(frame.call, frame.length, frame.batch, strict=True)]
    table = frame.assign(row=rows, series=frame.form.map(forms), panel=frame.model + ": " + frame["map"])
    table.loc[frame.form == "ceiling", ["low", "high"]] = np.nan
    figure, axes = drawing.dot_panels(table, FORMS, 1.0, "times as fast as the full model", columns=2, sharex=True)
    next(iter(axes.values())).set_xlim(0, 1.25 * max(1.0, frame.value.max()))  # a quartile of a short call may lie anywhere
    return figure


@redrawable
def growth(exponents: pd.DataFrame, points: pd.DataFrame):
    """Seconds against size, both logarithmic: a panel an axis of growth, a line a measure, its exponents at its end.

    Parameters
    ----------
    exponents, points : pandas.DataFrame
        As `benchmarks.costs.growth` returns them.
    """
    drawing.need(exponents, "what", "axis", "value", "last")
    drawing.need(points, "what", "axis", "at", "value", "low", "high")
    points, exponents = (table.assign(what=table["what"].map(named)) for table in (points, exponents))
    looks = drawing.looks(points["what"])
    figure, panels = drawing.grid(points.axis.nunique(), 2, WIDTH / 2, 2.6)
    for axis, grown in zip(panels, dict.fromkeys(points.axis), strict=True):
        rows, slopes = points[points.axis == grown], exponents[exponents.axis == grown].set_index("what")
        drawing.lines(axis, rows, "at", "value", "what", looks)
        sizes = sorted(rows["at"].unique())
        drawing.logarithmic(axis, "xy")
        axis.set(xlabel=AXES.get(grown, grown), ylabel="seconds")
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        if rows.value.max() < 60 * rows.value.min():
            axis.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        for side in (axis.xaxis, axis.yaxis):
            side.set_minor_formatter(NullFormatter())
        axis.set_xlim(right=sizes[-1] * (sizes[-1] / sizes[0]) ** 0.3)
        ends = rows[rows["at"] == sizes[-1]].sort_values("value").set_index("what").value
        gap = (math.log10(axis.get_ylim()[1]) - math.log10(axis.get_ylim()[0])) / 17  # a line of text
        places = np.log10(ends.to_numpy(float))
        for _ in range(100):  # none on another, all near their lines
            for low in np.flatnonzero(np.diff(places) < gap):
                places[low : low + 2] = places[low : low + 2].mean() + np.array([-gap, gap]) / 2
        for name, place in zip(ends.index, places, strict=True):
            colour, said = looks[name]["color"], f"{slopes.value[name]:.2f} ({slopes['last'][name]:.2f})".replace("-", "−")
            axis.annotate(
                said, (sizes[-1], 10**place), (6, 0), textcoords="offset points", fontsize=7, va="center", color=colour
            )
    drawing.legend(figure, looks | {"number: exponent (of the last doubling)": {"ls": ""}})
    return figure


@redrawable
def beside(frame: pd.DataFrame, floors: Mapping[str, str], unit: str = ""):
    """Ours, the obvious way and one pass forward and back in one row a measure, logarithmic.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.numbers` returns it. "NAME, obvious" and "NAME, LIBRARY" are other ways to do NAME.
    floors : mapping of measure -> row
        The pass that stands beside each measure.
    unit : str
        Of the values.
    """
    drawing.need(frame, "what", "value", "low", "high", once=["what"])
    parts, known = frame["what"].str.partition(", "), frame.set_index("what")[["value", "low", "high"]]
    table = frame.assign(
        row=parts[0], series=parts[2].replace({"": "the study's way", "obvious": "the obvious way", "captum": "Captum"})
    )
    table = table[table.row.isin(floors)]
    under = pd.DataFrame(
        [{"row": row, "series": "forward + backward, all weights", **known.loc[one]} for row, one in floors.items()]
    )
    panel = f"Llama-style decoder: {frame.group.iloc[0]}" if "group" in frame else ""
    table = pd.concat([table[list(under)], under], ignore_index=True).assign(panel=panel, row=lambda rows: rows.row.map(named))
    looks = drawing.looks(table.series)
    figure, axes = drawing.dot_panels(table, looks, label=unit, columns=1, level=None)
    for axis in axes.values():
        _log(axis, table.low.min(), table.high.max())
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
def wall_times(frame: pd.DataFrame):
    """Minutes of each notebook: itself, and the core minutes of the runs that it is the first to need.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.wall_times` returns it; what is not recorded is said, not drawn.
    """
    drawing.need(frame, "executing", "training", "missing")
    shown = {"executing": "the notebook itself, with published runs", "training": "training its runs, on one core"}
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.3 * len(frame) + 0.9), sharey=True)
    for axis, (column, title), colour in zip(axes, shown.items(), MODELS, strict=False):
        minutes = frame[column] / 60
        bars = axis.barh(range(len(frame)), minutes.fillna(0), 0.65, color=colour)
        said = ["not recorded" if np.isnan(value) else f"{value:.{int(value < 10)}f}" for value in minutes]
        if column == "training":
            said = [f"{text}, {gone:.0f} missing" if gone else text for text, gone in zip(said, frame.missing, strict=True)]
        axis.bar_label(bars, said, fontsize=7, padding=2)
        axis.set(
            title=title, xlim=(0, (1.6 if frame.missing.any() else 1.15) * max(0.01, minutes.fillna(0).max())), xlabel="minutes"
        )
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(frame)), [str(name).replace("_", " ") for name in frame.index])
    axes[0].set_ylim(len(frame) - 0.5, -0.5)
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
def pruned(frame: pd.DataFrame):
    """What is left to pay as more heads go: a row of panels a model, a line a criterion, in black what operations leave.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `benchmarks.costs.pruned` returns it.
    """
    drawing.need(frame, "model", "quantity", "criterion", "share", "value", "low", "high", "floor")
    short = frame.model.str.replace(r" \d+ layers,", "", regex=True).str.replace("grouped queries", "Llama-style decoder")
    table = frame.assign(panel=frame.quantity.replace("cache bytes", "bytes of the cache") + ":\n" + short)
    looks, apart = drawing.looks(table.criterion), 1.5
    floor = {"color": "black", "marker": "_", "ls": "", "ms": 7, "zorder": 4}
    figure, axes = drawing.line_panels(
        table, "share", "value", "criterion", looks, label="% of heads removed", unit="share of the full model",
        size=(WIDTH / frame.quantity.nunique(), 2.15), dodge=apart,
        more={"by operations: FLOPs of the pruned over the full model": floor},
    )  # fmt: skip
    for title, axis in axes.items():
        for number, name in enumerate(looks):
            rows = table[(table.panel == title) & (table.criterion == name)]
            axis.plot(rows.share + apart * (number - (len(looks) - 1) / 2), rows["floor"], **floor)
        axis.axhline(1.0, color="0.7", lw=0.8, zorder=0)
        axis.set_ylim(0, 1.3)
        axis.set_xticks(range(0, table.share.max() + 1, 30))
    return figure
