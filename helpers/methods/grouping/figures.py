"""Figures of grouped heads (Ni et al. 2023): one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import KIND_TITLES, MODELS, WIDTH, redrawable
from helpers.study import StudyError

VANILLA = {"color": "#555555", "marker": "h"}
GROUPS = (*MODELS, "#7A5200", "#999999", "#5B2A86")  # none is black, the outline of heads that stay

Site = tuple[str, int]  # kind and layer


def _methods(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every method; GHT, GHT-PS and vanilla keep theirs in all figures."""
    names = list(dict.fromkeys(names))
    looks = drawing.looks(["GHT", "GHT-PS", *(name for name in names if name not in ("GHT", "GHT-PS", "vanilla"))])
    looks["vanilla"] = VANILLA
    return {name: looks[name] for name in names}


def _groups(labels: Iterable[Hashable]) -> dict[Hashable, Any]:
    """Colour of every group, in the order of their labels; nine can be told apart."""
    return {group: GROUPS[number % len(GROUPS)] for number, group in enumerate(sorted(set(labels)))}


_PRINTED = {"marker": "D", "ls": "", "ms": 5, "mfc": "white", "mew": 1.1, "zorder": 4}


# --- scores and groups -----------------------------------------------------------------------------------------------


@redrawable
def score_by_groups(frame: pd.DataFrame):
    """Score against the number of groups (Fig. 3), a panel a test set or map; vanilla as a band.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: panel (its title), method, groups (their number; of no meaning for the method "vanilla"), value, low, high (nan
        where there is no interval), unit (of the y axis). Rows that share method and groups, such as seeds, are all drawn
        and the line goes through their mean.
    """
    drawing.need(frame, "panel", "method", "groups", "value", "low", "high", "unit")
    grouped, looks = frame[frame.method != "vanilla"], _methods(frame.method)
    drawing.need(grouped)
    numbers, methods = sorted(set(grouped.groups)), [name for name in looks if name != "vanilla"]
    panels = list(dict.fromkeys(frame.panel))
    figure, axes = drawing.grid(len(panels), 2, 3.5, 2.7)
    for axis, panel in zip(axes, panels, strict=True):
        part = frame[frame.panel == panel]
        for row in part[part.method == "vanilla"].itertuples():
            axis.axhline(row.value, color=VANILLA["color"], lw=1.2, ls="--", zorder=1)
            if np.isfinite(row.low + row.high):
                axis.axhspan(row.low, row.high, color=VANILLA["color"], alpha=0.15, lw=0)
        for place, method in enumerate(methods):
            rows = part[part.method == method]
            at = np.searchsorted(numbers, rows.groups) + 0.14 * (place - (len(methods) - 1) / 2)
            drawing.points(axis, rows.assign(at=at), "at", "value", **looks[method])
        axis.set_xticks(range(len(numbers)), [f"{number:g}" for number in numbers])
        axis.set(title=panel, xlabel="groups", ylabel=part.unit.iloc[0], xlim=(-0.5, len(numbers) - 0.5))
    handles = drawing.keys({name: looks[name] for name in methods})
    if "vanilla" in looks:
        handles.append(plt.Line2D([], [], color=VANILLA["color"], lw=1.2, ls="--", label="vanilla"))
    drawing.legend_below(figure, handles, 3 * len(axes))
    return figure


@redrawable
def ladder(frame: pd.DataFrame):
    """Scores by the numbers of a head: on the left as they are, on the right what each method changes against vanilla.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: head (its numbers), row (the method), value, low, high, change, change_low, change_high, seeds (more than one is
        drawn filled, one hollow), unit (of the scores).
    """
    drawing.need(frame, "head", "row", "value", "low", "high", "change", "change_low", "change_high", "seeds", "unit")
    widths, looks = sorted(set(frame["head"])), _methods(frame.row)
    figure, axes = drawing.grid(2, 2, 3.5, 2.9)
    for axis, value, prefix in zip(axes, ("value", "change"), ("", "change_"), strict=True):
        methods = [name for name in looks if value == "value" or name != "vanilla"]
        for place, method in enumerate(methods):
            rows = frame[frame.row == method].sort_values("head")
            at = np.searchsorted(widths, rows["head"]) + 0.11 * (place - (len(methods) - 1) / 2)
            axis.plot(at, rows[value], lw=0.9, color=looks[method]["color"], zorder=2)
            error = drawing.whiskers(rows, value, f"{prefix}low", f"{prefix}high")
            axis.errorbar(at, rows[value], error, ls="", lw=1.1, capsize=2, color=looks[method]["color"], zorder=2)
            for x, y, seeds in zip(at, rows[value], rows.seeds, strict=True):
                fill = {} if seeds > 1 else {"mfc": "white"}
                axis.plot(x, y, ls="", ms=5.5, mew=1.1, zorder=3, **looks[method], **fill)
        axis.set_xticks(range(len(widths)), [f"{width:g}" for width in widths])
        axis.set(xlabel="numbers of a head", xlim=(-0.5, len(widths) - 0.5))
    unit = frame.unit.iloc[0]
    axes[0].set_ylabel(f"{unit}, test set")
    axes[1].set_ylabel(f"{unit} above vanilla")
    axes[1].axhline(0, color=VANILLA["color"], lw=1.0, ls="--", zorder=1)
    handles = drawing.keys(looks)
    if frame.seeds.min() == 1 < frame.seeds.max():
        handles.append(
            plt.Line2D([], [], ls="", marker="o", mfc="white", color="#555555", ms=5.5, label="hollow: one training")
        )
    drawing.legend_below(figure, handles, 5)
    return figure


@redrawable
def score_by_compactness(frame: pd.DataFrame):
    """Score against how compact and separate the groups are (Fig. 2): a panel for the Silhouette and one for the Dunn index.

    Points are numbered and joined in order of strength; the legend says what each number stands for.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: label (such as "α 0.5, β 0.5"), strength (size of the coefficients, 0 for vanilla), silhouette, dunn, value, low,
        high (nan where there is no interval), unit (of the y axis).
    """
    drawing.need(frame, "label", "strength", "silhouette", "dunn", "value", "low", "high", "unit")
    frame = frame.sort_values("strength", kind="stable")
    numbers = {label: number for number, label in enumerate(dict.fromkeys(frame.label), int(frame.strength.min() > 0))}
    colours = [VANILLA["color"] if strength == 0 else MODELS[0] for strength in frame.strength]
    figure, axes = drawing.grid(2, 2, 3.5, 3.0, sharey=True)
    for axis, index, title in zip(axes, ("silhouette", "dunn"), ("Silhouette", "Dunn index"), strict=True):
        axis.plot(frame[index], frame.value, color="#9A9A9A", lw=0.9, zorder=1)
        error = drawing.whiskers(frame, "value")
        axis.errorbar(frame[index], frame.value, error, ls="", ecolor=colours, elinewidth=0.8, zorder=2)
        axis.scatter(frame[index], frame.value, s=95, c=colours, ec="white", lw=0.6, zorder=3)
        for x, y, label in zip(frame[index], frame.value, frame.label, strict=True):
            axis.text(x, y, numbers[label], fontsize=7, color="white", ha="center", va="center_baseline", zorder=4)
        axis.set(xlabel=title)
        axis.margins(0.1)
    axes[0].set_ylabel(frame.unit.iloc[0])
    handles = [
        plt.Line2D([], [], ls="", marker="o", color=colour, label=f"{numbers[label]}: {label}")
        for label, colour in dict(zip(frame.label, colours, strict=True)).items()
    ]
    drawing.legend_below(figure, handles, 4)
    return figure


@redrawable
def constraint_over_training(frames: Mapping[str, pd.DataFrame]):
    """The two terms of the group constraint over training (Fig. 4): smoothed, on the raw values in a lighter colour.

    Parameters
    ----------
    frames : mapping of title -> DataFrame with step, homogeneity, diversity
        Homogeneity: mean cosine of heads and the centre of their group; diversity: mean cosine of two centres. nan where a
        run has none. ``attrs["vote"]``, if there is one, is the step at which the heads were voted on.

    Raises
    ------
    StudyError
        If there is no frame, or one lacks a column or has no rows.
    """
    if not frames:
        raise StudyError("There is no run to draw: give a table of the constraint of at least one.")
    looks, votes = _methods(frames), {title: frame.attrs.get("vote") for title, frame in frames.items()}
    panels = {"homogeneity": "a head and its group's centre", "diversity": "centres of two groups"}
    figure, axes = drawing.grid(2, 2, 3.6, 2.6, sharex=True)
    for axis, (name, said) in zip(axes, panels.items(), strict=True):
        for title, frame in frames.items():
            drawing.need(frame, "step", *panels)
            raw, colour = frame[name].astype(float), looks[title]["color"]
            smooth = raw.rolling(2 * (len(raw) // 40) + 1, center=True, min_periods=1).mean().where(raw.notna())
            axis.plot(frame.step, raw, color=colour, alpha=0.3, lw=0.7)
            axis.plot(frame.step, smooth, color=colour, lw=1.6, marker="." if len(frame) == 1 else "")
            if votes[title] is not None:
                axis.axvline(votes[title], color=colour, lw=1, ls=":")
        axis.set(title=f"{name}: {said}", xlabel="step")
    axes[0].set_ylabel("mean cosine")
    handles = drawing.keys(looks, marker="", lw=1.6)
    if any(step is not None for step in votes.values()):
        handles.append(plt.Line2D([], [], color="black", lw=1, ls=":", label="vote"))
    drawing.legend_below(figure, handles, 6)
    return figure


# --- heads and their groups ------------------------------------------------------------------------------------------


@redrawable
def similarity(
    before: Mapping[Site, np.ndarray], after: Mapping[Site, np.ndarray], labels_before: Mapping[Site, Sequence[int]],
    labels_after: Mapping[Site, Sequence[int]], titles: tuple[str, str], kept: Mapping[Site, Sequence[int]] | None = None,
):  # fmt: skip
    """Cosines between the heads of each site, before above after, heads sorted by group with lines between the groups.

    Parameters
    ----------
    before, after : mappings of (kind, layer) -> array [heads, heads]
        Nine sites stand in a row; more sites go on below.
    labels_before, labels_after : mappings of (kind, layer) -> [heads] groups
    titles : two of str
        What the rows show.
    kept : mapping of (kind, layer) -> heads that stay, optional
        Marked on the diagonal of the matrices after.

    Raises
    ------
    StudyError
        If there is no site, the mappings differ in sites, a matrix does not fit its labels, or a kept head does not exist.
    """
    if not before or any(set(part) != set(before) for part in (after, labels_before, labels_after)):
        raise StudyError("Similarities and groups, before and after, are needed for the same sites: give at least one site.")
    sites = drawing.ordered_sites(before)
    columns = min(9, len(sites))
    rows = 2 * -(-len(sites) // columns)
    side = min(1.8, (WIDTH - 1.0) / columns)
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=(side * columns + 1.0, (side + 0.1) * rows + 0.4))
    for axis in axes.flat:
        axis.set_axis_off()
    for number, site in enumerate(sites):
        pair = axes[2 * (number // columns) :, number % columns]
        for axis, cosines, labels in zip(pair, (before, after), (labels_before, labels_after), strict=False):
            drawn = _similarity(axis, np.asarray(cosines[site], float), np.asarray(labels[site]), site)
        pair[0].set_title(drawing.site_name(site), fontsize=8)
        if kept is not None:
            heads, stay = np.argsort(labels_after[site], kind="stable").tolist(), kept.get(site, ())
            if not set(stay) <= set(heads):
                raise StudyError(
                    f"Heads {list(stay)} are said to stay in {drawing.site_name(site)}: it has {len(heads)} heads, from 0."
                )
            at = [heads.index(head) for head in stay]
            pair[1].plot(at, at, ls="", marker="o", ms=3.5, mfc="white", mec="black", mew=0.7)
    for number, row in enumerate(axes):
        row[0].set_ylabel(titles[number % 2], fontsize=8)
    bar = figure.colorbar(drawn, ax=axes, label="cosine", ticks=[-1, 0, 1], fraction=0.15 / figure.get_figwidth(), pad=0.01)
    bar.ax.tick_params(labelsize=7)
    if kept is not None:
        handle = plt.Line2D([], [], ls="", marker="o", ms=4, mfc="white", mec="black", mew=0.7, label="head that stays")
        drawing.legend_below(figure, [handle], 1)
    return figure


def _similarity(axis, cosines: np.ndarray, labels: np.ndarray, site: Site):
    """One matrix of `similarity`."""
    if cosines.shape != (len(labels), len(labels)):
        raise StudyError(
            f"Similarities of {drawing.site_name(site)} have the shape {cosines.shape}: {len(labels)} heads have groups."
        )
    order = np.argsort(labels, kind="stable")
    drawn = axis.imshow(cosines[np.ix_(order, order)], cmap="RdBu_r", vmin=-1, vmax=1)
    for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
        axis.axhline(edge, color="black", lw=0.8)
        axis.axvline(edge, color="black", lw=0.8)
    axis.set_axis_on()
    axis.spines[:].set_visible(False)
    few = len(order) <= 8
    axis.set_xticks(range(len(order)), order + 1, fontsize=6 if few else 4.5, rotation=0 if few else 90)
    axis.set_yticks(range(len(order)), order + 1, fontsize=6 if few else 4.5)
    axis.tick_params(length=0, pad=1)
    return drawn


@redrawable
def head_maps_over_training(points: pd.DataFrame, steps: int = 5):
    """Maps of heads in two dimensions over training: a row a site, a column a step, a numbered dot a head.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: step, site (its title), head, x, y (one system of coordinates a site), group (named alike at all steps), kept.
        A cross stands at the mean of the dots of a group. Heads that are not kept are hollow.
    steps : int
        Columns, evenly spread from the first step to the last.
    """
    drawing.need(points, "step", "site", "head", "x", "y", "group", "kept")
    chosen, sites, colours = _shown_steps(points, steps), list(dict.fromkeys(points.site)), _groups(points.group)
    side = min(2.0, (WIDTH - 0.4) / len(chosen))
    size = (max(3.5, side * len(chosen) + 0.4), side * len(sites) + 0.7)
    figure, axes = plt.subplots(len(sites), len(chosen), squeeze=False, figsize=size)
    for row, site in zip(axes, sites, strict=True):
        part = points[points.site == site]
        for axis, step in zip(row, chosen, strict=True):
            _map_frame(axis, part)
            _map_heads(axis, part[part.step == step], colours, 62)
        row[0].set_ylabel(site)
    for axis, step in zip(axes[0], chosen, strict=True):
        axis.set_title(f"step {step}", fontsize=9)
    drawing.legend_below(figure, _map_keys(points, colours), 8)
    return figure


@redrawable
def head_map_animation(points: pd.DataFrame, frames: int = 30) -> FuncAnimation:
    """`head_maps_over_training` as an animation over steps, all sites in a row.

    Parameters
    ----------
    points : pandas.DataFrame
        As in `head_maps_over_training`.
    frames : int
        Steps shown, evenly spread from the first to the last.
    """
    drawing.need(points, "step", "site", "head", "x", "y", "group", "kept")
    chosen, colours = _shown_steps(points, frames), _groups(points.group)
    parts = dict(iter(points.groupby("site", sort=False)))
    side = min(2.2, WIDTH / len(parts))
    figure, axes = drawing.grid(len(parts), len(parts), max(side, 3.5 / len(parts)), side + 0.7 / len(parts) + 0.5)
    figure.set_dpi(80)  # of the file
    drawn: list[Any] = []
    for axis, (site, part) in zip(axes, parts.items(), strict=True):
        _map_frame(axis, part)
        axis.set_title(site, fontsize=9)
    heading = figure.suptitle(f"step {chosen[-1]}", fontsize=10, fontweight="bold")
    drawing.legend_below(figure, _map_keys(points, colours), 8 if len(parts) > 2 else 4)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # nothing moves between frames but heads

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        while drawn:
            drawn.pop().remove()
        for axis, part in zip(axes, parts.values(), strict=True):
            drawn.extend(_map_heads(axis, part[part.step == step], colours, 62 if side > 1.5 else 40))
        return [heading, *drawn]

    # the end stays for a while
    return FuncAnimation(figure, show, [*chosen, *chosen[-1:] * 8], init_func=lambda: show(chosen[0]), interval=150)


def _shown_steps(points: pd.DataFrame, number: int) -> list[int]:
    return drawing.spread_steps({0: points.set_index("step")}, number)


def _map_frame(axis, part: pd.DataFrame) -> None:
    """A square that holds all heads of a site at all steps, without units."""
    middle = part[["x", "y"]].agg(["min", "max"]).mean()
    half = 0.6 * max(float(np.ptp(part.x)), float(np.ptp(part.y)), 1e-9)
    axis.set(xlim=(middle.x - half, middle.x + half), ylim=(middle.y - half, middle.y + half))
    axis.set(xticks=[], yticks=[], box_aspect=1)
    axis.spines[:].set(visible=True, color="#B0B0B0", lw=0.8)


def _map_heads(axis, part: pd.DataFrame, colours: Mapping[Hashable, Any], size: float) -> list[Any]:
    """Dots, numbers and centres of one site at one step; kept heads lie on top."""
    drawn = []
    for group, heads in part.groupby("group"):
        centre = heads[["x", "y"]].mean()
        drawn.append(axis.scatter(*centre, marker="x", s=1.8 * size, color=colours[group], lw=1.5))
    for head in part.sort_values("kept", kind="stable").itertuples():
        colour = colours[head.group]
        face, ink = (colour, drawing.ink(colour)) if head.kept else ("white", colour)
        drawn.append(axis.scatter(head.x, head.y, s=size, color=face, ec=colour, lw=1, zorder=2))
        number = axis.text(head.x, head.y, head.head + 1, fontsize=0.76 * size**0.5, color=ink, zorder=2)
        number.set(ha="center", va="center_baseline")
        drawn.append(number)
    return drawn


def _map_keys(points: pd.DataFrame, colours: Mapping[Hashable, Any]) -> list[plt.Line2D]:
    handles = [plt.Line2D([], [], ls="", marker="o", color=colour, label=f"group {group}") for group, colour in colours.items()]
    handles.append(plt.Line2D([], [], ls="", marker="x", color="black", label="centre"))
    if not points.kept.all():
        handles.append(plt.Line2D([], [], ls="", marker="o", mfc="white", mec="black", label="not kept"))
    return handles


# --- comparisons -----------------------------------------------------------------------------------------------------


@redrawable
def ablation(frame: pd.DataFrame, unit: str = "BLEU"):
    """What each part of the method brings (Table 3): scores, and the change against the family's reference row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: row (its label), model (its family, such as "GHT-PS"), value, low, high, change, change_low, change_high (paired
        with the reference; nan in the reference's own row), printed (the paper's mean change; nan where it has none).
        ``attrs["references"]`` maps a family to the label of its reference row.
    unit : str
        Of the scores.

    Raises
    ------
    StudyError
        If a column, the references or a reference's row is missing.
    """
    drawing.need(frame, "row", "model", "value", "low", "high", "change", "change_low", "change_high", "printed")
    references, looks = frame.attrs.get("references", {}), _methods(frame.model)
    places: dict[str, np.ndarray] = {}
    figure, (scores, changes) = plt.subplots(
        1, 2, sharey=True, figsize=(WIDTH, 0.27 * len(frame) + 0.3 * len(looks) + 0.9), width_ratios=(1, 1.2)
    )
    start, labels, bold = 0.0, [], []
    for family, look in looks.items():
        rows = frame[frame.model == family]
        at = places[family] = start + np.arange(len(rows))
        start = at[-1] + 1.6
        labels += rows.row.tolist()
        bold += (rows.row == references.get(family)).tolist()
        own = rows[rows.row == references.get(family)]
        if len(own) != 1:
            raise StudyError(f"The reference of {family} is not one row: name it in attrs['references'] and give it one row.")
        more = {"fmt": look["marker"], "ms": 4.5, "lw": 1.1, "color": look["color"], "mec": "white", "mew": 0.4}
        scores.plot([own.value.iloc[0]] * 2, [at[0] - 0.4, at[-1] + 0.4], color=look["color"], lw=1, ls=":", zorder=1)
        scores.errorbar(rows.value, at, xerr=drawing.whiskers(rows, "value"), **more)
        changes.errorbar(rows.change, at - 0.12, xerr=drawing.whiskers(rows, "change", "change_low", "change_high"), **more)
        changes.plot(rows.printed, at + 0.2, color=look["color"], **_PRINTED)
    changes.axvline(0, color="grey", lw=0.9, ls=":")
    every = np.concatenate(list(places.values()))
    scores.set_yticks(every, labels)
    for text, is_reference in zip(scores.get_yticklabels(), bold, strict=True):
        text.set_fontweight("bold" if is_reference else "normal")
    scores.set(title="score", xlabel=f"{unit}, 95 % interval", ylim=(every[-1] + 0.6, -0.6))
    changes.set(title="change against the row in bold", xlabel=f"{unit}, 95 % interval, paired")
    handles = drawing.keys(looks, ls="")
    if frame.printed.notna().any():
        handles.append(plt.Line2D([], [], color="black", **_PRINTED, label="change printed in the paper"))
    drawing.legend_below(figure, handles, 4)
    return figure


@redrawable
def gains(frame: pd.DataFrame):
    """Relative gain over vanilla, in percent, a group of dots a task; the paper's as hollow diamonds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: task, method, gain, low, high, printed (percent; nan where there is none).
    """
    drawing.need(frame, "task", "method", "gain", "low", "high", "printed")
    tasks, looks = list(dict.fromkeys(frame.task)), _methods(frame.method)
    figure, (axis,) = drawing.grid(1, 1, 6.5, (0.2 * len(looks) + 0.25) * len(tasks) + 1.0)
    axis.axvline(0, color="black", lw=0.9)
    step = 0.8 / len(looks)
    for place, (method, look) in enumerate(looks.items()):
        rows = frame[frame.method == method]
        at = np.array([tasks.index(task) for task in rows.task]) + (place - (len(looks) - 1) / 2) * step
        axis.errorbar(rows.gain, at - step / 6, xerr=drawing.whiskers(rows, "gain"), fmt=look["marker"], ms=5.5, lw=1.1,
                      color=look["color"], mec="white", mew=0.4)  # fmt: skip
        axis.plot(rows.printed, at + step / 6, color=look["color"], **_PRINTED)
    for edge in range(1, len(tasks)):
        axis.axhline(edge - 0.5, color="#D0D0D0", lw=0.7)
    axis.set_yticks(range(len(tasks)), tasks)
    axis.tick_params(axis="y", length=0)
    axis.set(xlabel="gain over vanilla in percent, 95 % interval", ylim=(len(tasks) - 0.5, -0.5))
    handles = drawing.keys(looks, ls="")
    if frame.printed.notna().any():
        handles.append(plt.Line2D([], [], color="black", **_PRINTED, label="printed in the paper"))
    drawing.legend_below(figure, handles, 4)
    return figure


@redrawable
def quality_against_cost(frame: pd.DataFrame):
    """Score against parameters and against speed, a row of two panels a task.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: task, method, parameters (millions), speed (vanilla's is 1), value, low, high (nan where there is no interval),
        unit (of the y axis).
    """
    drawing.need(frame, "task", "method", "parameters", "speed", "value", "low", "high", "unit")
    tasks, looks = list(dict.fromkeys(frame.task)), _methods(frame.method)
    figure, axes = plt.subplots(len(tasks), 2, squeeze=False, sharey="row", figsize=(WIDTH, 2.2 * len(tasks) + 0.5))
    for row, task in zip(axes, tasks, strict=True):
        part = frame[frame.task == task]
        for axis, cost in zip(row, ("parameters", "speed"), strict=True):
            for method, look in looks.items():
                rows = part[part.method == method]
                axis.errorbar(rows[cost], rows.value, drawing.whiskers(rows, "value"), fmt=look["marker"], ms=5.5, lw=1,
                              color=look["color"], mec="white", mew=0.4)  # fmt: skip
            axis.margins(x=0.12)
        row[0].set_title(task, loc="left")
        row[0].set_ylabel(part.unit.iloc[0])
        row[1].axvline(1, color="grey", lw=0.9, ls=":", zorder=1)
    axes[-1, 0].set_xlabel("parameters, millions")
    axes[-1, 1].set_xlabel("speed, vanilla = 1")
    drawing.legend_below(figure, drawing.keys(looks, ls=""), 6)
    return figure


@redrawable
def seeds(frame: pd.DataFrame):
    """Scores of every seed, joined across methods, beside the mean with its 95 % t-interval.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: panel (its title), method, seed, value, unit (of the y axis). With one seed there is no interval.

    Raises
    ------
    StudyError
        If a column is missing, or a method has one seed twice in a panel.
    """
    from scipy import stats

    drawing.need(frame, "panel", "method", "seed", "value", "unit")
    twice = frame[frame.duplicated(["panel", "method", "seed"])]
    if len(twice):
        panel, method, seed = twice.iloc[0][["panel", "method", "seed"]]
        raise StudyError(f"Seed {seed} of {method} in {panel} has more than one row: give one value a seed.")
    panels, methods = list(dict.fromkeys(frame.panel)), list(dict.fromkeys(frame.method))
    looks = drawing.looks(sorted(set(frame.seed)))
    width = 0.85 * len(methods) + 0.7
    figure, axes = drawing.grid(len(panels), max(1, int(WIDTH // width)), max(width, 2.6), 2.8)
    for axis, panel in zip(axes, panels, strict=True):
        part = frame[frame.panel == panel]
        for seed, look in looks.items():
            values = part[part.seed == seed].set_index("method").value.reindex(methods)
            axis.plot(np.arange(len(methods)) - 0.12, values, lw=0.8, ms=5, mec="white", mew=0.4, **look)
        for at, method in enumerate(methods):
            values = part.value[part.method == method]
            half = stats.t.ppf(0.975, len(values) - 1) * values.sem() if len(values) > 1 else np.nan
            axis.errorbar(at + 0.2, values.mean(), half, fmt="_", ms=9, mew=1.6, lw=1.4, color="black", capsize=2.5)
        axis.set_xticks(range(len(methods)), methods)
        axis.set(title=panel, ylabel=part.unit.iloc[0], xlim=(-0.5, len(methods) - 0.4))
    handles = drawing.keys({f"seed {seed}": look for seed, look in looks.items()}, lw=0.8)
    handles.append(plt.Line2D([], [], color="black", marker="_", ms=9, mew=1.6, ls="", label="mean, 95 % t-interval"))
    drawing.legend_below(figure, handles, 6 if len(axes) > 1 else 2)
    return figure


# --- which heads stay ------------------------------------------------------------------------------------------------


@redrawable
def kept_heads(frame: pd.DataFrame):
    """Which heads each method keeps: a block a kind of attention, a column a head, a row a method, filled where kept.

    Above the cells stand the relevance of each head as a bar and what the head does.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: kind, layer, head, method, kept (bool), relevance, functions (short, such as "prev"; empty for none). Relevance
        and functions of a head are those of its first row. A method without a row for a head has no cell there.
    """
    drawing.need(frame, "kind", "layer", "head", "method", "kept", "relevance", "functions")
    kinds = list(dict.fromkeys(kind for kind, _ in drawing.ordered_sites(zip(frame.kind, frame.layer, strict=True))))
    looks = _methods(frame.method)
    heads = frame.drop_duplicates(["kind", "layer", "head"]).sort_values(["layer", "head"])
    heads = heads.assign(at=0.0)
    for kind in kinds:
        part = heads[heads.kind == kind]
        heads.loc[part.index, "at"] = np.arange(len(part)) + 0.7 * part.layer.rank(method="dense").sub(1)
    cells = frame.merge(heads[["kind", "layer", "head", "at"]], on=["kind", "layer", "head"])
    low, high, right = min(0.0, heads.relevance.min()), heads.relevance.max(), heads["at"].max()
    crowded = right > 60
    ratios = [0.55, 0.2 * len(looks)] * len(kinds)
    size = (min(WIDTH, 0.36 * right + 3.0), sum(ratios) + 0.85 * len(kinds) + 0.3)
    figure, axes = plt.subplots(2 * len(kinds), 1, figsize=size, height_ratios=ratios)
    for (above, below), kind in zip(axes.reshape(-1, 2), kinds, strict=True):
        part, shown = heads[heads.kind == kind], cells[cells.kind == kind]
        above.bar(part["at"], part.relevance, 0.82, color="#8C8C8C")
        for at, said in zip(part["at"], part.functions.fillna(""), strict=True):
            above.text(at, high * 1.08, said, rotation=90, fontsize=5.5 if crowded else 6.5, ha="center", va="bottom")
        above.set(
            ylim=(low, high * 1.05),
            xticks=[],
        )
        above.set_ylabel("relevance", fontsize=8)
        above.yaxis.set_major_locator(MaxNLocator(2))
        above.annotate(KIND_TITLES[kind], (0, 1), (-4, 12), "axes fraction", "offset points", ha="right", fontsize=10)
        _kept_cells(below, shown, looks)
        below.set_xticks(part["at"], part["head"] + 1, fontsize=5.5 if crowded else 6.5, rotation=90 if crowded else 0)
        layers = part.groupby("layer")["at"].mean()
        below.set_xticks(layers, [f"layer {layer + 1}" for layer in layers.index], minor=True, fontsize=8)
        below.xaxis.remove_overlapping_locs = False  # a layer's name may stand below a head's number
        below.tick_params(length=0, which="both")
        below.tick_params(axis="x", pad=11, which="minor")
        for axis in (above, below):
            axis.set_xlim(-0.6, right + 0.6)
            axis.spines[:].set_visible(False)
    return figure


def _kept_cells(axis, shown: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Cells of one kind, and how many are filled at the right."""
    for place, (method, look) in enumerate(looks.items()):
        rows = shown[shown.method == method]
        for at, kept in zip(rows["at"], rows.kept, strict=True):
            colour = look["color"] if kept else "#EDEDED"
            axis.add_patch(plt.Rectangle((at - 0.44, place - 0.42), 0.88, 0.84, color=colour, lw=0))
        said = f"{int(rows.kept.sum())} of {len(rows)}"
        axis.text(1, place, said, transform=axis.get_yaxis_transform(), va="center", fontsize=7)
    axis.set_ylim(len(looks) - 0.5, -0.5)
    axis.set_yticks(range(len(looks)), looks, fontsize=8)


@redrawable
def votes(frame: pd.DataFrame):
    """How often each head won the vote of its group, a panel a site, heads sorted by group.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: kind, layer, head, group, share (of batches in which the head won its group), kept (bool).
    """
    drawing.need(frame, "kind", "layer", "head", "group", "share", "kept")
    sites, colours = drawing.ordered_sites(zip(frame.kind, frame.layer, strict=True)), _groups(frame.group)
    across = min(6, max(pd.Series([kind for kind, _ in sites]).value_counts()))
    figure, axes = drawing.grid(len(sites), across, min(3.0, WIDTH / across), max(1.6, 2.2 * across / len(sites)), sharey=True)
    for number, (axis, (kind, layer)) in enumerate(zip(axes, sites, strict=True)):
        rows = frame[(frame.kind == kind) & (frame.layer == layer)].sort_values(["group", "head"])
        edges = ["black" if kept else "none" for kept in rows.kept]
        axis.bar(range(len(rows)), rows.share, 0.8, color=[colours[group] for group in rows.group], ec=edges, lw=1.6)
        few = len(rows) <= 8
        axis.set_xticks(range(len(rows)), rows["head"] + 1, fontsize=7 if few else 5.5, rotation=0 if few else 90)
        axis.set(title=drawing.site_name((kind, layer)), ylim=(0, 1.05), yticks=[0, 0.5, 1])
        axis.set_ylabel("share of batches" if number % across == 0 else "")
        axis.set_xlabel("head" if number >= len(sites) - across else "")
    handles = [Patch(color=colour, label=f"group {group}") for group, colour in colours.items()]
    drawing.legend_below(figure, [*handles, Patch(fc="white", ec="black", lw=1.6, label="stays")], 9)
    return figure
