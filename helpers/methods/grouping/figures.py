"""Figures of grouped heads (Ni et al. 2023): one function per kind of figure, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty or lacks a column.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import KIND_TITLES, MODELS, WIDTH, left, redrawable
from helpers.methods.grouping import said as told_of
from helpers.methods.grouping import units
from helpers.methods.grouping.runs import FEW_PAIRS, GHT, NO_CONSTRAINT, PS
from helpers.reading import interval
from helpers.study import StudyError

VANILLA = {"color": "#555555", "marker": "h"}
_ASKED = {"asked for": "what the formula asks for", "GHT": "trained with the constraint (GHT)"}
_ASKED |= {"vanilla": "trained without the constraint"}
_GAINS = {"GHT": "constraint alone (GHT)", "GHT-PS": "one head per group (GHT-PS)"}
OPEN = {"open: one training": {"ls": "", "marker": "o", "mfc": "white", "color": "#555555", "ms": 5.5}}
GROUPS = (*MODELS, "#7A5200", "#999999", "#5B2A86")  # none is black, the outline of heads that stay

Site = tuple[str, int]  # kind and layer


def _methods(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every method; GHT, GHT-PS and vanilla keep theirs in all figures."""
    names = list(dict.fromkeys(names))
    looks = drawing.looks(["GHT", "GHT-PS", *(name for name in names if name != "vanilla")]) | {"vanilla": VANILLA}
    return {name: looks[name] for name in names}


def _groups(labels: Iterable[Hashable]) -> dict[Hashable, Any]:
    """Colour of every group, in the order of their labels; nine can be told apart."""
    return {group: GROUPS[number % len(GROUPS)] for number, group in enumerate(sorted(set(labels)))}


def _placed(values: pd.Series) -> tuple[pd.Series, list[float]]:
    """Numbers as categories: the place of each, and the numbers in order."""
    known = sorted(set(values.dropna()))
    return values.map({value: place for place, value in enumerate(known)}), known


def _title(group: Hashable) -> str:
    """A group in the legend: numbers count from 1, as layers and heads do."""
    return f"group {group + 1 if isinstance(group, int | np.integer) else group}"


# --- scores and groups -----------------------------------------------------------------------------------------------


@redrawable
def score_by_groups(frame: pd.DataFrame):
    """What each number of groups changes against vanilla (Fig. 3): a panel a title, a line a method.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: panel (its title), method (rows of "vanilla" are left out), groups (their number), change, change_low,
        change_high (paired; nan where there is no interval), unit. Rows that share method and groups, such as test sets, are
        all drawn and the line goes through their mean.
    """
    drawing.need(frame, "panel", "method", "groups", "change", "change_low", "change_high", "unit")
    frame = frame[frame.method != "vanilla"]
    drawing.need(frame)
    frame = frame.assign(value=frame.change, low=frame.change_low, high=frame.change_high)
    at, numbers = _placed(frame.groups)
    frame = frame.assign(at=at, unit=frame.unit + " minus vanilla")
    figure, axes = drawing.line_panels(
        frame, "at", "value", "method", _methods(frame.method), label="groups (GHT-PS: heads kept per layer)", columns=2,
        size=(WIDTH / 2, 2.6), more={"vanilla": drawing.LEVEL}, dodge=0.08, sharey=True,
    )  # fmt: skip
    for title, axis in axes.items():
        axis.axhline(0, **drawing.LEVEL)
        axis.set(xticks=range(len(numbers)), xticklabels=[f"{many:g}" for many in numbers])
        axis.set_xlim(-0.5, frame["at"][frame.panel == title].max() + 0.5)  # a panel ends with its own heads
        axis.set_ylabel(axis.get_ylabel() if left(axis) else "")
    return figure


@redrawable
def ladder(frame: pd.DataFrame, heads: int = 8, kept: pd.DataFrame | None = None, few: int = 0):
    """What few heads change against vanilla, by the heads that are kept (left, if run) and by the width of a head.

    Between lines of the same heads lies what choosing them late, or the method, loses; GHT keeps all and is not drawn.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: head (its width), row (the method), change, change_low, change_high, seeds (more than one is drawn filled, one
        hollow), unit (of the scores).
    heads : int
        Of a layer: how many times a head the model is wide.
    kept : pandas.DataFrame, optional
        Of one training, as `score_by_groups` takes it, of one panel.
    few : int
        How many heads of a layer stay as they grow wider; 0 is not told.
    """
    drawing.need(frame, "head", "row", "change", "change_low", "change_high", "seeds", "unit")
    stay = f", {few} of {heads} heads kept" if few else ""
    wide = f"head dimension{stay}\n(model width {heads} times that)"
    parts = {wide: frame.rename(columns={"row": "method", "head": "along"})}
    if kept is not None:
        more = kept.assign(seeds=1).rename(columns={"groups": "along"})
        parts = {f"heads kept\nof {kept.panel.iloc[0]}": more} | parts
    parts = {title: part[~part.method.isin(("vanilla", GHT))] for title, part in parts.items()}
    placed = {title: _placed(part.along) for title, part in parts.items()}
    both = pd.concat(part.assign(panel=title, at=placed[title][0]) for title, part in parts.items())
    both = both.assign(value=both.change, low=both.change_low, high=both.change_high, hollow=both.seeds == 1)
    both = both.assign(method=both.method.map(told_of.named), unit=f"{frame.unit.iloc[0]} minus vanilla")
    looks = _methods(both.method)
    figure, axes = drawing.line_panels(both, "at", "value", "method", looks, sharey=True, columns=2)
    for title, axis in axes.items():
        ticks = placed[title][1]
        axis.set(title="", xlabel=title, xlim=(-0.5, len(ticks) - 0.5), xticks=range(len(ticks)))
        axis.set_xticklabels([f"{tick:g}" for tick in ticks])
        axis.set_ylabel(axis.get_ylabel() if left(axis) else "")
        axis.axhline(0, **drawing.LEVEL)
        lost = both[both.panel == title].pivot(index="at", columns="method", values="value").dropna()
        if {PS, told_of.FEW} <= {*lost} and len(lost):
            for low, top, text in (
                (told_of.FEW, lost[PS] * 0, "few heads"),
                (PS, lost[told_of.FEW], "late choice, or the method"),
            ):
                axis.fill_between(lost.index, lost[low], top, color=looks[low]["color"], alpha=0.15, lw=0)
                at, near = lost.index[:2], (lost[low] + top).iloc[:2] / 2
                line, far = (
                    ({"arrowstyle": "-", "color": "black", "lw": 0.6}, 1.6) if low == PS else (None, 0.6)
                )  # this band may be thin
                put = (at.to_numpy().mean(), near.mean()), (at[-1], near.iloc[-1] * far)
                axis.annotate(text, *put, va="center", fontsize=7, arrowprops=line)
        once = [at for at, rows in both[both.panel == title].groupby("at") if rows.hollow.all() and not both.hollow.all()]
        for at in once:
            axis.axvspan(at - 0.5, at + 0.5, color="#F2F2F2", lw=0, zorder=0)
        if once:
            axis.text(np.mean(once), 0.04, "one training", transform=axis.get_xaxis_transform(), ha="center", fontsize=8)
    return figure


@redrawable
def score_by_compactness(frame: pd.DataFrame):
    """What BLEU changes by how tight the groups of heads are (the silhouette of Fig. 2): a row a setting, the tightest last.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: label (such as "GHT, weight x 10"), strength (size of the coefficients, 0 for vanilla), silhouette, change,
        change_low, change_high (against vanilla, paired; nan where there is no interval), unit.
    """
    drawing.need(frame, "label", "strength", "silhouette", "change", "change_low", "change_high", "unit")
    table = frame[frame.silhouette.notna()].sort_values("silhouette")
    drawing.need(table)
    pruned = table.label.str.startswith(PS) | (table.label == NO_CONSTRAINT)
    table = table.assign(value=table.change, low=table.change_low, high=table.change_high, hollow=True, panel="",
                         row=table.label.map(told_of.named), said=table.silhouette.map("{:.2f}".format),
                         series=np.where(pruned, PS, np.where(table.strength == 0, "vanilla", GHT)),
                         group=np.where(pruned, "one head per group stays", "all heads stay"))  # fmt: skip
    label = f"{frame.unit.iloc[0]} minus vanilla, 95 % interval (better →)\nright: silhouette, tighter downwards"
    return drawing.dot_panels(table, _methods(table.series), label=label, told=False, more=OPEN)[0]


@redrawable
def constraint_over_training(frames: Mapping[str, pd.DataFrame], level: float | None = None):
    """The two terms of the group constraint over training (Fig. 4): smoothed.

    Parameters
    ----------
    frames : mapping of title -> DataFrame with step, homogeneity, diversity
        Homogeneity: mean cosine of heads and the centre of their group; diversity: mean cosine of two centres. nan where a
        run has none.
    level : float, optional
        The cosine with their centre that heads of random directions have.
    """
    if not frames:
        raise StudyError("There is no run to draw: give a table of the constraint of at least one.")
    looks = {title: look | {"marker": "", "lw": 1.6} for title, look in _methods(frames).items()}
    panels = {"homogeneity": "homogeneity: a head\nand its group's centre", "diversity": "diversity: centres\nof two groups"}
    figure, axes = drawing.grid(2, 2, WIDTH / 2, 2.4, sharex=True)
    for axis, (name, said) in zip(axes, panels.items(), strict=True):
        for title, frame in frames.items():
            drawing.need(frame, "step", *panels)
            raw, colour = frame[name].to_numpy(float), looks[title]["color"]
            wide = [min(len(raw) // 40, place, len(raw) - 1 - place) for place in range(len(raw))]  # ends stay as measured
            smooth = [np.nanmean(raw[n - w : n + w + 1]) if np.isfinite(raw[n]) else np.nan for n, w in enumerate(wide)]
            axis.plot(frame.step, smooth, color=colour, lw=1.6, marker="." if len(frame) == 1 else "")
        axis.set(title=said, xlabel="step", ylabel="mean cosine" if left(axis) else "")
    if level is not None:
        axes[0].axhline(level, **drawing.LEVEL)
    drawing.legend(figure, looks | ({} if level is None else {"random directions": drawing.LEVEL}))
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
        Six sites stand in a row; more sites go on below.
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
    columns = min(6, len(sites))
    rows, side = 2 * -(-len(sites) // columns), min(1.8, (WIDTH - 0.9) / columns)
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=(side * columns + 0.9, (side + 0.2) * rows + 0.4))
    for axis in axes.flat:
        axis.set_axis_off()
    mark = {"ls": "", "marker": "o", "ms": 3.5, "mfc": "white", "mec": "black", "mew": 0.7}
    for number, site in enumerate(sites):
        above, below = axes[2 * (number // columns) :, number % columns][:2]
        drawn = _similarity(above, before[site], labels_before[site], site)
        _similarity(below, after[site], labels_after[site], site)
        above.set_title(drawing.site_name(site), fontsize=8)
        for axis, title in zip((above, below), titles, strict=True):
            axis.set_ylabel(title if left(axis) else "", fontsize=8)
        if kept is not None:
            heads, stay = np.argsort(labels_after[site], kind="stable").tolist(), kept.get(site, ())
            if not set(stay) <= set(heads):
                said = f"Heads {list(stay)} are said to stay in {drawing.site_name(site)}"
                raise StudyError(f"{said}: it has {len(heads)} heads, from 0.")
            at = [heads.index(head) for head in stay]
            below.plot(at, at, **mark)
    drawing.bar(figure, drawn, axes, "cosine", [-1, 0, 1])
    if kept is not None:
        drawing.legend(figure, {"head that stays": mark})
    return figure


@redrawable
def groups(matrices: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[int]]):
    """Cosines between the heads of one layer, a panel a model, heads sorted by group; first what the constraint asks for.

    Below each panel stands which part of the contrast that is asked for is there: of mean cosines within and between groups.

    Parameters
    ----------
    matrices : mapping of title -> array [heads, heads]
    labels : mapping of title -> [heads] groups

    Raises
    ------
    StudyError
        If there is no model, titles differ, or a matrix does not fit its labels.
    """
    if not matrices or list(matrices) != list(labels):
        raise StudyError("Cosines and groups are needed of the same models: give at least one.")
    number, size = len(set(list(labels.values())[-1])), len(list(labels.values())[-1])
    asked = np.arange(size) * number // size
    same = asked[:, None] == asked[None]
    ideal, whole = {"asked for": np.where(same, 1.0, -1 / max(number - 1, 1))}, 1 + 1 / max(number - 1, 1)
    figure, axes = drawing.grid(1 + len(matrices), 1 + len(matrices), WIDTH / (1 + len(matrices)), 2.1)
    for axis, (title, cosines) in zip(axes, (ideal | dict(matrices)).items(), strict=True):
        own = np.asarray(labels.get(title, asked))
        drawn = _similarity(axis, cosines, own, None)
        for group in sorted(set(own)):
            first, many = np.sort(own).searchsorted(group), int((own == group).sum())
            axis.add_patch(plt.Rectangle((first - 0.5, first - 0.5), many, many, fill=False, ec="black", lw=1.8, clip_on=False))
        axis.set_title("\n".join(textwrap.wrap(_ASKED.get(title, f"trained with {title}"), 20)))
        axis.set_ylabel("head" if left(axis) else "", fontsize=8)
        same, other = units.contrast(cosines, own)
        part = (same - other) / whole
        axis.set_xlabel(f"{part:.0%} of the contrast\nasked for".replace("%", " %") if np.isfinite(part) else "–", fontsize=8)
    drawing.bar(figure, drawn, axes, "cosine", [-1, 0, 1])
    return figure


def _similarity(axis, cosines: np.ndarray, labels: Sequence[int], site: Site | None):
    """One matrix of `similarity` or, without a site, of `groups`."""
    cosines, labels = np.asarray(cosines, float), np.asarray(labels)
    if cosines.shape != (len(labels), len(labels)):
        said = f"Similarities of {drawing.site_name(site) if site else 'a layer'} have the shape {cosines.shape}"
        raise StudyError(f"{said}: {len(labels)} heads have groups.")
    order = np.argsort(labels, kind="stable")
    drawn = drawing.heat(axis, cosines[np.ix_(order, order)], cmap="RdBu_r", limits=(-1, 1))
    axis.grid(False, which="minor")
    for edge in np.flatnonzero(np.diff(labels[order])) + 0.5:
        axis.axhline(edge, color="black", lw=0.8)
        axis.axvline(edge, color="black", lw=0.8)
    few = len(order) <= 8
    axis.set_xticks(range(len(order)), order + 1, fontsize=7, rotation=0 if few else 90)
    axis.set_yticks(range(len(order)), order + 1, fontsize=7)
    axis.set_box_aspect(1)
    axis.set_axis_on()
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
    chosen = drawing.spread_steps({0: points.set_index("step")}, steps)
    sites, colours = list(dict.fromkeys(points.site)), _groups(points.group)
    side = min(2.0, (WIDTH - 0.4) / len(chosen))
    size = (max(3.5, side * len(chosen) + 0.4), side * len(sites) + 0.7)
    figure, axes = plt.subplots(len(sites), len(chosen), squeeze=False, figsize=size)
    for row, site in zip(axes, sites, strict=True):
        part = points[points.site == site]
        for axis, step in zip(row, chosen, strict=True):
            _map_frame(axis, part)
            _map_heads(axis, part[part.step == step], colours)
        row[0].set_ylabel(site)
    for axis, step in zip(axes[0], chosen, strict=True):
        axis.set_title(f"step {step}", fontsize=9)
    drawing.legend(figure, _map_keys(points, colours))
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
    chosen, colours = drawing.spread_steps({0: points.set_index("step")}, frames), _groups(points.group)
    parts = dict(iter(points.groupby("site", sort=False)))
    side = min(2.2, WIDTH / len(parts))
    figure, axes = drawing.grid(len(parts), len(parts), max(side, 3.5 / len(parts)), side + 0.7 / len(parts) + 0.5)
    figure.set_dpi(80)  # of the file
    drawn: list[Any] = []
    for axis, (site, part) in zip(axes, parts.items(), strict=True):
        _map_frame(axis, part)
        axis.set_title(site, fontsize=9)
    heading = figure.suptitle(f"step {chosen[-1]}", fontsize=10, fontweight="bold")
    drawing.legend(figure, _map_keys(points, colours))

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        while drawn:
            drawn.pop().remove()
        for axis, part in zip(axes, parts.values(), strict=True):
            drawn.extend(_map_heads(axis, part[part.step == step], colours))
        return [heading, *drawn]

    return drawing.animate(figure, show, chosen)


def _map_frame(axis, part: pd.DataFrame) -> None:
    """A square that holds all heads of a site at all steps, without units."""
    x, y = part[["x", "y"]].agg(["min", "max"]).mean()
    half = 0.6 * max(float(np.ptp(part.x)), float(np.ptp(part.y)), 1e-9)
    axis.set(xlim=(x - half, x + half), ylim=(y - half, y + half), xticks=[], yticks=[], box_aspect=1)
    axis.spines[:].set(visible=True, color="#B0B0B0", lw=0.8)


def _map_heads(axis, part: pd.DataFrame, colours: Mapping[Hashable, Any]) -> list[Any]:
    """Dots, numbers and centres of one site at one step; kept heads lie on top."""
    drawn = []
    for group, heads in part.groupby("group"):
        centre = heads[["x", "y"]].mean()
        drawn.append(axis.scatter(*centre, marker="x", s=150, color=colours[group], lw=1.5))
    for head in part.sort_values("kept", kind="stable").itertuples():
        colour = colours[head.group]
        face, ink = (colour, drawing.ink(colour)) if head.kept else ("white", colour)
        drawn.append(axis.scatter(head.x, head.y, s=90, color=face, ec=colour, lw=1, zorder=2))
        look = {"fontsize": 7, "color": ink, "zorder": 2, "ha": "center", "va": "center_baseline"}
        drawn.append(axis.text(head.x, head.y, head.head + 1, **look))
    return drawn


def _map_keys(points: pd.DataFrame, colours: Mapping[Hashable, Any]) -> dict[str, dict[str, Any]]:
    dot = {"ls": "", "marker": "o"}
    entries = {_title(group): dot | {"color": colour} for group, colour in colours.items()}
    entries["centre"] = {"ls": "", "marker": "x", "color": "black"}
    return entries | ({} if points.kept.all() else {"not kept": dot | {"mfc": "white", "mec": "black"}})


# --- comparisons -----------------------------------------------------------------------------------------------------


@redrawable
def ablation(frame: pd.DataFrame, unit: str = "BLEU"):
    """What each part of the method brings (Table 3): the change against the family's reference row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: row (its label), model (its family, such as "GHT-PS"), value, change, change_low, change_high (paired
        with the reference; nan in the reference's own row), printed (the paper's; nan where it has none).
        ``attrs["references"]`` maps a family to the label of its reference row. A row that lies far outside all others is
        named at its panel's left edge, so that the others can be told apart.
    unit : str
        Of the scores.

    Raises
    ------
    StudyError
        If a column, the references or a reference's row is missing.
    """
    drawing.need(frame, "row", "model", "value", "change", "change_low", "change_high", "printed")
    references, looks, titles = frame.attrs.get("references", {}), _methods(frame.model), {}
    for family in looks:
        own = frame[(frame.model == family) & (frame.row == references.get(family))]
        if len(own) != 1:
            raise StudyError(f"The reference of {family} is not one row: name it in attrs['references'] and give it one row.")
        titles[family] = f"change against {references[family]} ({own.value.iloc[0]:.1f} {unit})"
    frame = frame[frame.row != frame.model.map(references)]
    frame = frame.assign(series=frame.model, group=frame.model.map(titles), row=frame.row.map(told_of.named), panel="")
    near = frame.assign(far=_far(frame), value=frame.change, low=frame.change_low, high=frame.change_high)
    far = near[near.far]
    near = near.assign(**{name: near[name].mask(near.far) for name in ("value", "low", "high")})
    label = f"{unit}, paired, 95 % interval: the part is needed if left of 0"
    figure, panels = drawing.dot_panels(near, looks, label=label, told=False)
    axis = panels[""]
    at = drawing.places(near)[0]
    for row in far.itertuples():
        place = at[row.group, row.row]
        axis.text(0.01, place, f"◂ {row.value:.1f}", transform=axis.get_yaxis_transform(), va="center", fontsize=7)
    return figure


def _far(frame: pd.DataFrame) -> pd.Series:
    """Rows whose change lies further from the middle one than five intervals are wide."""
    wide = (frame.change_high - frame.change_low).median()
    return (frame.change - frame.change.median()).abs() > 5 * wide


@redrawable
def gains(frame: pd.DataFrame):
    """Relative gain over vanilla, in percent, a group of rows a task; the paper's as hollow diamonds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows: task, method, gain, low, high, printed (percent; nan where there is none).
    """
    drawing.need(frame, "task", "method", "gain", "low", "high", "printed")
    table = frame.assign(group=frame.task, row=frame.method.replace(_GAINS), series=frame.method, value=frame.gain, panel="",
                         said=[interval(*row, "+.1f") for row in frame[["gain", "low", "high"]].to_numpy()])  # fmt: skip
    table = table.sort_values("task", key=lambda tasks: tasks.map([*dict.fromkeys(tasks)].index), kind="stable")
    label = "gain over training without the constraint, %, 95 % interval (better →)"
    figure, axes = drawing.dot_panels(table, _methods(frame.method), label=label, told=False)
    axes[""].xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    return figure


@redrawable
def equal_size(frame: pd.DataFrame):
    """Is GHT-PS a good way to make a model small? Its score beside vanilla's and those of controls of its size.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.grouping.tables.of_one_size`; one training is drawn hollow.
    """
    drawing.need(frame, "row", "value", "low", "high", "seeds", "heads", "parameters", "speed")
    own = frame[frame.row == PS].iloc[0]
    group = np.where(frame["heads"] == own["heads"], f"{own['heads']:.0f} heads", "about as many parameters, more heads")
    group = np.where(frame.row == "vanilla", "all heads", group)
    series = np.where(frame.row == PS, PS, np.where(frame.row == "vanilla", "vanilla", "control"))
    alike = (frame.row != PS) & (frame["heads"] == own["heads"]) & np.isclose(frame.parameters, own.parameters)
    fast = [f"as {PS}" if one else f"speed {speed:.1f}" for one, speed in zip(alike, frame.speed, strict=True)]
    said = [f"{row['heads']:.0f} heads, {row.parameters:.2f} M, {row.fast}" for _, row in frame.assign(fast=fast).iterrows()]
    table = frame.assign(group=group, series=series, said=said, row=frame.row.map(told_of.named), panel="")
    table = table.assign(hollow=table.seeds == 1)
    looks = _methods([PS, "vanilla"]) | {"control": {"color": MODELS[0], "marker": "o"}}
    label = "BLEU, 95 % interval (better →); dotted: GHT-PS\nright: heads, parameters, speed (vanilla: 1)"
    return drawing.dot_panels(table, looks, level=own.value, label=label, told=False, more=OPEN)[0]


@redrawable
def today(frame: pd.DataFrame):
    """A decoder of today's make, after further training: heads that come to share keys and values, and query heads that go.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.grouping.tables.today` with its index as columns. Draws share a place, a dot each.
    """
    drawing.need(frame, "asked", "row", "heads", "change", "change_low", "change_high")
    frame = frame.assign(value=frame.change, low=frame.change_low, high=frame.change_high)[frame.change.notna()]
    shown = frame[(frame.asked == "shared") | (frame.row == FEW_PAIRS)]  # all against vanilla
    named = shown.row.str.replace(", draw .*", "", regex=True).str.rpartition(": ")
    group = ("shared later, from " + named[0].replace("", "vanilla")).where(shown.asked == "shared", "shared from the start")
    shown = shown.assign(row=named[2].map(told_of.named), group=group).sort_values("asked", ascending=False, kind="stable")
    gone = frame.assign(series=frame.row.str.split(r", | \d").str[0].map(told_of.named))
    gone = gone[(frame.asked == "removed") & (frame.row != PS)]  # which is minus vanilla: it never shared keys
    where, looks = drawing.places(shown), _methods(gone.series)
    figure, (after, axis) = plt.subplots(1, 2, figsize=(WIDTH, 0.19 * len(where[1]) + 1.2), width_ratios=(1, 1.5))
    drawing.dots(after, shown, where=where)
    after.set(title="heads share keys", xlabel="perplexity minus vanilla's,\n← better")
    drawing.lines(axis, gone, "heads", "value", "series", looks, dodge=0.12)
    drawing.retained(axis, frame["heads"].max(), f"query heads left (of {frame['heads'].max():.0f})")
    axis.axhline(0, **drawing.LEVEL)
    axis.set(title="query heads are removed", ylabel="perplexity minus\nthat with all heads")
    drawn = {told_of.REMOVED: f"{told_of.REMOVED} (a mark a draw)"}
    drawing.legend(figure, {drawn.get(name, name): look for name, look in looks.items()})
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
    kinds, looks = drawing.kinds(frame.kind), _methods(frame.method)
    heads = frame.drop_duplicates(["kind", "layer", "head"]).sort_values(["layer", "head"])
    layers = heads.groupby("kind").layer.rank(method="dense")
    heads = heads.assign(at=heads.groupby("kind").cumcount() + 0.7 * (layers - 1))
    cells = frame.merge(heads[["kind", "layer", "head", "at"]], on=["kind", "layer", "head"])
    low, high, right = min(0.0, heads.relevance.min()), heads.relevance.max(), heads["at"].max()
    ratios = [0.55, 0.2 * len(looks)] * len(kinds)
    size = (min(WIDTH, 0.36 * right + 3.0), sum(ratios) + 0.85 * len(kinds) + 0.3)
    figure, axes = plt.subplots(2 * len(kinds), 1, figsize=size, height_ratios=ratios)
    for (above, below), kind in zip(axes.reshape(-1, 2), kinds, strict=True):
        part = heads[heads.kind == kind]
        above.bar(part["at"], part.relevance, 0.82, color="#8C8C8C")
        for at, said in zip(part["at"], part.functions.fillna(""), strict=True):
            above.text(at, high * 1.08, said, rotation=90, fontsize=7, ha="center", va="bottom")
        above.set(ylim=(low, high * 1.05), xticks=[])
        above.set_ylabel("relevance", fontsize=8)
        above.yaxis.set_major_locator(MaxNLocator(2))
        above.annotate(KIND_TITLES[kind], (0, 1), (-4, 12), "axes fraction", "offset points", ha="right", fontsize=9)
        _kept_cells(below, cells[cells.kind == kind], looks)
        below.set_xticks(part["at"], part["head"] + 1, fontsize=7, rotation=90 if right > 40 else 0)
        named = part.groupby("layer")["at"].mean()
        below.set_xticks(named, [f"layer {layer + 1}" for layer in named.index], minor=True)
        below.xaxis.remove_overlapping_locs = False  # a layer's name may stand below a head's number
        below.tick_params(length=0, which="both")
        below.tick_params(axis="x", pad=12, which="minor")
        for axis in (above, below):
            axis.set_xlim(-0.6, right + 0.6)
            axis.spines[:].set_visible(False)
    return figure


def _kept_cells(axis, shown: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Cells of one kind, and how many are filled at the right."""
    for place, (method, look) in enumerate(looks.items()):
        rows = shown[shown.method == method]
        for at, kept in zip(rows["at"], rows.kept, strict=True):
            axis.add_patch(
                plt.Rectangle((at - 0.44, place - 0.42), 0.88, 0.84, color=look["color"] if kept else "#EDEDED", lw=0)
            )
        axis.text(1, place, f"{rows.kept.sum()} of {len(rows)}", transform=axis.get_yaxis_transform(), va="center", fontsize=7)
    axis.set_ylim(len(looks) - 0.5, -0.5)
    axis.set_yticks(range(len(looks)), looks)


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
    across = min(3, len(sites))
    figure, axes = drawing.grid(len(sites), across, min(3.0, WIDTH / across), 1.6, sharey=True)
    for axis, site in zip(axes, sites, strict=True):
        rows = frame[(frame.kind == site[0]) & (frame.layer == site[1])].sort_values(["group", "head"])
        at = np.arange(len(rows)) + 0.7 * (rows.group.rank(method="dense").to_numpy() - 1)  # groups stand apart
        axis.bar(at, rows.share, color=rows.group.map(colours), ec=np.where(rows.kept, "black", "none"), lw=1.6)
        for place in at[~rows.group.duplicated(keep=False)]:  # it cannot lose
            axis.text(place, 0.5, "alone", color="white", fontsize=7, rotation=90, ha="center", va="center")
        axis.set_xticks(at, rows["head"] + 1, fontsize=7, rotation=0 if len(rows) <= 12 else 90)
        for text, group in zip(axis.get_xticklabels(), rows.group, strict=True):  # heads without a vote have no bar
            text.set(color=colours[group], fontweight="bold")
        axis.set(title=f"{KIND_TITLES[site[0]]}-attention of layer {site[1] + 1}", ylim=(0, 1.05), yticks=[0, 0.5, 1])
        axis.set(xlabel="head", ylabel="share of batches\nthat it wins" if left(axis) else "")
    entries = drawing.squares({_title(group): colour for group, colour in colours.items()})
    drawing.legend(figure, entries | {"stays": {"ls": "", "marker": "s", "ms": 7, "mfc": "white", "mec": "black", "mew": 1.6}})
    return figure
