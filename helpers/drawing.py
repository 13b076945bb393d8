"""One style for every figure, and what figures share. `helpers.study.Run.figure` saves them, each with its JSON sidecar.

Two panels serve most figures: `dots` (a row a thing, a dot with its interval) and `lines` (dots with intervals against x).
Intervals are columns `low` and `high` of the tables that they draw, nan where there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator, MultipleLocator

from helpers.study import StudyError

# Okabe-Ito colours, safe for colour-blind readers; each function keeps its own everywhere
COLOURS = {
    "positional": "#0072B2", "nsubj": "#D55E00", "dobj": "#E69F00", "amod": "#009E73", "advmod": "#56B4E9",
    "rare": "#CC79A7", "none": "#EDEDED",
}  # fmt: skip
MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP*Xh"
STYLE = {
    "figure.dpi": 110, "savefig.dpi": 160, "savefig.bbox": "tight", "savefig.pad_inches": 0.02,
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "figure.constrained_layout.use": True,
    "pdf.fonttype": 42, "font.family": "DejaVu Sans",
}  # fmt: skip
WIDTH = 6.9  # of a page's text, inches: a figure printed over it keeps the size of its letters
KIND_TITLES = {"encoder": "encoder self", "decoder": "decoder self", "cross": "cross"}
SHORT_TITLES = {"encoder": "enc", "decoder": "dec", "cross": "cross"}
LEVEL = {"color": "grey", "lw": 0.9, "ls": ":", "zorder": 1}
PRINTED = {"color": "black", "marker": "D", "ls": "", "ms": 5, "mfc": "white", "mew": 1.1, "zorder": 4}


def style() -> None:
    """Set the study's one style (notebooks call it once)."""
    sns.set_theme(context="paper", style="ticks", rc=STYLE)


# --- what tables must hold -------------------------------------------------------------------------------------------


def need(table: pd.DataFrame, *columns: str, once: Sequence[str] = ()) -> None:
    """Refuse a table that is empty, lacks a column, or has two rows alike in the columns `once`."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise StudyError(f"The table has no column {missing[0]!r}: it needs {', '.join(columns)}.")
    if table.empty:
        raise StudyError("The table has no rows: give at least one point to draw.")
    twice = table[table.duplicated(list(once))] if once else ()
    if len(twice):
        point = ", ".join(f"{name} {twice.iloc[0][name]}" for name in once)
        raise StudyError(f"The table has more than one row for {point}: give one value a point.")


def kinds(present: Iterable[str]) -> list[str]:
    """Kinds of attention in their order: encoder, decoder, cross."""
    present = set(present)
    if unknown := sorted(map(str, present - set(KIND_TITLES))):
        raise StudyError(f"There is no kind of attention {unknown[0]!r}: choose from {', '.join(KIND_TITLES)}.")
    return [kind for kind in KIND_TITLES if kind in present]


# --- panels, colours, legends ----------------------------------------------------------------------------------------


def grid(count: int, columns: int, width: float, height: float, **more):
    """Panels of a size in inches, in as many columns as a page holds, at most `columns`."""
    columns = min(columns, count, max(1, int(WIDTH / width + 0.01)))
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **more)
    for axis in axes.flat:
        axis.tick_params(labelbottom=True)  # of shared axes too: below the last panel of a column there may be none
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return figure, list(axes.flat[:count])


def left(axis) -> bool:
    """Whether no panel stands left of this one: there stand the labels that panels of a row share."""
    return axis.get_subplotspec().is_first_col()


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every name; neighbours differ in both, also without colour."""
    hues = (*MODELS, "#000000", "#5B2A86", "#7A5200")  # no grey, which stands for others
    unique = dict.fromkeys(names)
    return {name: {"color": hues[i % 9], "marker": MARKERS[(i + i // 9) % 9]} for i, name in enumerate(unique)}


def squares(colours: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Legend entries of areas in these colours."""
    return {name: {"color": colour, "marker": "s", "ls": "", "ms": 7} for name, colour in colours.items()}


def legend(figure, entries: Mapping[str, Mapping[str, Any]], **more: Any) -> int:
    """A legend below all panels, in as many columns as fit: names with what a line of matplotlib takes. Returns its rows."""
    handles = [plt.Line2D([], [], **{"ms": 5, "lw": 1.2, **look, **more}, label=name) for name, look in entries.items()]
    widths = [0.062 * len(str(name)) + 0.42 for name in entries]  # inches
    columns = len(handles)
    while columns > 1 and sum(map(max, np.array_split(widths, columns))) > figure.get_figwidth():
        columns -= 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.2, handletextpad=0.4)
    return -(-len(handles) // max(1, columns))


def bar(figure, drawn, axes, label: str, ticks: Sequence[float] | None = None) -> None:
    """A colour bar 0.15 inches wide beside these panels."""
    axes = list(np.ravel(axes))
    inches = [axis.get_subplotspec().get_position(figure).height for axis in axes]
    width = figure.get_figwidth()
    tall = max(inches) * figure.get_figheight() * len({axis.get_subplotspec().rowspan.start for axis in axes})
    more = {"fraction": 0.16 / width, "aspect": max(5, 0.8 * tall / 0.15), "pad": 0.08 / width}
    colours = figure.colorbar(drawn, ax=axes, label=label, ticks=ticks, **more)
    colours.ax.tick_params(labelsize=7, length=2)


def layer_colours(layers: int) -> list[Any]:
    """From light (layer 1) to dark."""
    return list(sns.color_palette("viridis_r", layers))


def ink(colour: Any) -> str:
    """Black or white, whichever can be read on the colour."""
    return "black" if np.dot(to_rgb(colour), (0.3, 0.59, 0.11)) > 0.55 else "white"


def short(value: float, digits: int = 2) -> str:
    """The number as ".45" for 0.45: a zero that all cells would share is left out."""
    text = f"{round(value, digits) + 0.0:.{digits}f}"  # no minus before zero
    return text.replace("0.", ".", 1) if abs(value) < 1 and "0." in text else text


def heat(axis, values, said=None, cmap: Any = "viridis", limits: tuple[float, float] = (0, 1)):
    """Cells coloured by value, the first row at the top, with texts that can be read on them; returns the image."""
    values = np.ma.masked_invalid(np.asarray(values, float))
    drawn = axis.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
    for (row, column), text in np.ndenumerate(np.asarray(said, object)) if said is not None else ():
        if text and not np.ma.is_masked(values[row, column]):
            colour = ink(drawn.cmap(drawn.norm(values[row, column])))
            axis.text(column, row, text, ha="center", va="center", fontsize=7, color=colour, linespacing=1.0)
    axis.set_xticks(np.arange(1, values.shape[1]) - 0.5, minor=True)
    axis.set_yticks(np.arange(1, values.shape[0]) - 0.5, minor=True)
    axis.grid(which="minor", color="white", lw=0.6)
    axis.tick_params(length=0, pad=2, which="both")
    axis.spines[:].set_visible(False)
    return drawn


# --- dots with intervals ---------------------------------------------------------------------------------------------


def whiskers(rows: pd.DataFrame, value: str = "value") -> np.ndarray:
    """Lengths of error bars [2, rows]; nan where there is no interval."""
    ends = (rows[name].to_numpy(float) if name in rows else np.full(len(rows), np.nan) for name in (value, "low", "high"))
    middle, low, high = ends
    return np.maximum(0, [middle - low, high - middle])


def _marked(axis, x: np.ndarray, y: np.ndarray, rows: pd.DataFrame, look: Mapping[str, Any], **error: Any) -> None:
    """Dots with error bars, white inside where the table has `hollow`."""
    look = {"marker": "o", "ms": 4.5, **{name: value for name, value in look.items() if name not in ("ls", "lw")}}
    axis.errorbar(x, y, **error, ls="", elinewidth=1.1, **({"mec": "white", "mew": 0.4} | look))
    if "hollow" in rows and rows.hollow.any():
        hollow = rows.hollow.to_numpy(bool)
        axis.plot(x[hollow], y[hollow], ls="", zorder=3, **({"mfc": "white", "mew": 1.1} | look))


Places = tuple[dict[tuple[str, str], float], dict[float, str]]


def places(table: pd.DataFrame) -> Places:
    """Where each row of `dots` stands, by (group, row), and what is written at each place: rows, and headings of groups."""
    at: dict[tuple[str, str], float] = {}
    labels: dict[float, str] = {}
    end = 0.0
    groups = table["group"] if "group" in table else pd.Series("", table.index)
    for group, rows in table.groupby(groups, sort=False):
        if group:
            end += 0.3 if labels else 0
            labels[end], end = str(group), end + 0.9
        for row in dict.fromkeys(rows["row"]):
            at[group, row], labels[end], end = end, str(row), end + 1
    return at, labels


def dots(
    axis, table: pd.DataFrame, entries: Mapping[str, Mapping[str, Any]] | None = None, level: float | None = 0.0,
    where: Places | None = None,
) -> None:  # fmt: skip
    """One panel of dots with intervals: a row a thing, the first at the top.

    Parameters
    ----------
    table : pandas.DataFrame
        row (label), value, low, high. Optional: group (rows of a group stand together below its name), series (name of the
        look; several in one row stand side by side), hollow (bool), printed (the paper's value, as a diamond; nan where there
        is none), said (text at the right).
    entries : mapping of series -> look, optional
        In the order in which they stand side by side, see `looks`.
    level : float, optional
        Where a vertical line is drawn.
    where : as `places` returns it, optional
        Places of rows that several panels share.
    """
    at, labels = where or places(table)
    entries = entries or {"": {"color": MODELS[0]}}
    table = table.assign(**{name: "" for name in ("group", "series") if name not in table})
    step = 0.8 / len(entries) if table.duplicated(["group", "row"]).any() else 0.0
    shift = 0.16 * (step or 1) if "printed" in table and table.printed.notna().any() else 0.0
    if level is not None:
        axis.axvline(level, **LEVEL)
    axis.hlines([*at.values()], 0, 1, transform=axis.get_yaxis_transform(), color="#EBEBEB", lw=0.7, zorder=0)
    for number, (name, look) in enumerate(entries.items()):
        rows = table[table.series == name] if len(entries) > 1 or name else table
        y = np.array([at[key] for key in zip(rows["group"], rows["row"], strict=True)], float)
        y += step * (number - (len(entries) - 1) / 2)
        _marked(axis, rows.value.to_numpy(float), y - shift, rows, look, xerr=whiskers(rows))
        if shift:
            axis.plot(rows.printed, y + shift, **(PRINTED | {"color": look["color"]}))
        for place, text in zip(y, rows.said if "said" in rows else (), strict=False):
            axis.text(1.02, place, text, transform=axis.get_yaxis_transform(), va="center", fontsize=7)
    axis.set_yticks(list(labels), labels.values())
    for place, text in zip(labels, axis.get_yticklabels(), strict=False):  # none where panels share the first one's
        text.set_fontweight("normal" if place in at.values() else "bold")
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(max(labels) + 0.6, -0.6)


def dot_panels(
    table: pd.DataFrame, entries: Mapping[str, Mapping[str, Any]] | None = None, level: float | None = 0.0, label: str = "",
    titles: Sequence[str] | None = None, columns: int = 4, shared: bool = True, more: Mapping[str, Any] | None = None,
    sharex: bool = False, told: bool = True,
):  # fmt: skip
    """`dots` in panels: one for each value of the table's column `panel`.

    Parameters
    ----------
    table, entries, level
        As in `dots`.
    label : str
        Of the x axes.
    titles : sequence of str, optional
        The panels, in order, also those without rows.
    columns : int
        Panels side by side, at most.
    shared : bool
        Whether all panels have the same rows, named at the left alone.
    more : mapping of name -> look, optional
        Further entries of the legend, which stands below if there is anything to tell.
    told : bool
        Whether the legend tells the series.

    Returns
    -------
    figure, dict of title -> panel
    """
    titles = list(titles or dict.fromkeys(table.panel))
    parts = {title: table[table.panel == title] for title in titles}
    where = {title: places(table if shared else part) for title, part in parts.items()}
    labels = [text.split("\n") for _, said in where.values() for text in said.values()]
    room = 0.058 * max(len(line) for label in labels for line in label) + 0.25
    fit = int((WIDTH - room) / 0.98) if shared else int(WIDTH / (room + 1.6))
    columns = min(columns, len(titles), max(1, fit))
    width = min(2.6 if len(titles) > 1 else 4.5, (WIDTH - room) / columns if shared else WIDTH / columns - room)
    rows = [titles[first : first + columns] for first in range(0, len(titles), columns)]
    inches = 0.08 + 0.12 * max(map(len, labels))  # of a row
    printed = "printed" in table and table.printed.notna().any()
    if table.duplicated(["panel", *({"group"} & {*table}), "row"]).any():
        inches *= max(1, 0.5 * len(entries or ()) * (1.7 if printed else 1))
    tall = [max(inches * (max(where[title][1]) + 1) + 0.16 * title.count("\n") for title in line) + 0.4 for line in rows]
    size = (room + width * columns if shared else (room + width) * columns, sum(tall) + 0.7)
    figure, axes = plt.subplots(
        len(rows), columns, figsize=size, squeeze=False, sharey=shared, sharex=sharex, height_ratios=tall
    )
    panels = dict(zip(titles, axes.flat, strict=False))
    for number, (title, axis) in enumerate(panels.items()):
        dots(axis, parts[title], entries, level, where[title])
        axis.set(title=title, xlabel=label if number + columns >= len(titles) else "")
        axis.xaxis.set_major_locator(MaxNLocator(4 if width > 1.5 else 3, steps=[1, 2, 5, 10]))
        axis.tick_params(labelbottom=True)
    for axis in axes.flat[len(titles) :]:
        axis.set_axis_off()
    entries = dict(entries or {}) if told else {}
    if printed:
        entries["printed in the paper"] = PRINTED
    if entries or more:
        legend(figure, entries | dict(more or {}))
        for handle in figure.legends[0].legend_handles[: len(entries)]:
            handle.set_linestyle("")
    return figure, panels


def lines(
    axis, table: pd.DataFrame, x: str, y: str, series: str, entries: Mapping[str, Mapping[str, Any]],
    band: bool | Collection[str] = False, dodge: float = 0.0,
) -> None:  # fmt: skip
    """One panel of dots with intervals against x, a line through the mean at each x.

    Parameters
    ----------
    table : pandas.DataFrame
        The columns x, y and series; low, high and hollow (bool) if there are any.
    entries : mapping of series -> look
        Colour, marker and style of the line ("" for none).
    band : bool or names
        Whether (or for which series) intervals are drawn as bands.
    dodge : float
        How far series stand from each other along x.
    """
    for number, (name, look) in enumerate(entries.items()):
        rows = table[table[series] == name].sort_values(x, kind="stable")
        if rows.empty:
            continue
        at = rows[x].to_numpy(float) + dodge * (number - (len(entries) - 1) / 2)
        values = rows[y].to_numpy(float)
        banded = len(rows) > 1 and (band is True or (band is not False and name in band))  # a single dot keeps its interval
        if banded and {"low", "high"} <= {*rows}:
            axis.fill_between(at, rows.low, rows.high, color=look["color"], alpha=0.16, lw=0, zorder=1)
        _marked(axis, at, values, rows, look, yerr=None if banded else whiskers(rows, y))
        if look.get("ls") != "":
            mean = pd.Series(values).groupby(at).mean()
            axis.plot(mean.index, mean, color=look["color"], ls=look.get("ls", "-"), lw=look.get("lw", 1.2), zorder=2)


def line_panels(
    table: pd.DataFrame, x: str, y: str, series: str, entries: Mapping[str, Mapping[str, Any]], panel: str = "panel",
    label: str = "", unit: str = "", size: tuple[float, float] = (WIDTH / 2, 2.4), columns: int = 4,
    more: Mapping[str, Any] | None = None, band: bool | Collection[str] = False, dodge: float = 0.0, **share: Any,
):  # fmt: skip
    """`lines` in panels, one for each value of the table's column `panel`, above a legend; see `lines` and `grid`.

    The y axis is named by `unit`, or in each panel by the table's column of that name. Returns the figure and its panels by
    title.
    """
    titles = list(dict.fromkeys(table[panel]))
    figure, axes = grid(len(titles), columns, *size, **share)
    for axis, title in zip(axes, titles, strict=True):
        part = table[table[panel] == title]
        lines(axis, part, x, y, series, entries, band, dodge)
        axis.set(title=title, xlabel=label, ylabel=unit if left(axis) else "")
        if not unit and "unit" in part:
            axis.set_ylabel(part.unit.iloc[0])
    below = legend(figure, {**entries, **(more or {})})
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, below - 1))  # panels keep their height above a long legend
    return figure, dict(zip(titles, axes, strict=True))


def logarithmic(axis, along: str) -> None:
    """Make an axis ("x", "y" or "xy") logarithmic, with ticks as people write numbers: exponents are too small to be read."""
    for name in along:
        axis.set(**{f"{name}scale": "log"})
        getattr(axis, f"{name}axis").set_major_formatter(lambda value, _: f"{value:,.10g}")
        getattr(axis, f"{name}axis").set_minor_formatter("")


def retained(axis, most: float, label: str = "heads retained") -> None:
    """The paper's x axis: all heads at the left, none at the right; ticks at quarters of them where these are whole."""
    most = max(most, 1)  # of nothing left there is still an axis
    axis.set(xlim=(1.04 * most, -0.04 * most), xlabel=label)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True) if most % 4 else MultipleLocator(most / 4))


# --- training --------------------------------------------------------------------------------------------------------
