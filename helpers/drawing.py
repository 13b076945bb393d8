"""One style for every figure, and what figures share. `helpers.study.Run.figure` saves them, each with its JSON sidecar.

Intervals are columns `low` and `high` of the tables that they draw, nan where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.patches import Rectangle

# Okabe-Ito colours, safe for colour-blind readers; each function keeps its own everywhere
COLOURS = {
    "positional": "#0072B2", "nsubj": "#D55E00", "dobj": "#E69F00", "amod": "#009E73", "advmod": "#56B4E9",
    "rare": "#CC79A7", "none": "#D8D8D8",
}  # fmt: skip
FUNCTIONS = {  # in words
    "positional": "positional", "nsubj": "subject", "dobj": "object", "amod": "adjective", "advmod": "adverb",
    "rare": "rare words", "none": "none",
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
LEVEL = {"color": "grey", "lw": 0.9, "ls": ":", "zorder": 1}


def style() -> None:
    """Set the study's one style (notebooks call it once)."""
    sns.set_theme(context="paper", style="ticks", rc=STYLE)


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
    places = {name: {"GHT": 0, "GHT-PS": 1}.get(name, i) for i, name in enumerate(dict.fromkeys(names))}  # these keep their own
    return {name: {"color": hues[i % 9], "marker": MARKERS[(i + i // 9) % 9]} for name, i in places.items()}


def functions(axis, cells: Mapping[tuple[float, ...], str], texts: Iterable[Any]) -> None:
    """Cells with texts round these places (x, y), or (x, y, width, height), which stand on the line half a unit below y.

    They have the colours of functions; names joined by a comma share a cell.
    """
    for ((x, y, *size), names), text in zip(cells.items(), texts, strict=True):
        colours, (whole, tall) = [COLOURS[name] for name in names.split(", ") if name] or [COLOURS["none"]], size or (1, 1)
        for part, colour in enumerate(colours):
            width = whole / len(colours)
            axis.add_patch(Rectangle((x - whole / 2 + part * width, y - 0.5), width, tall, fc=colour, ec="none"))
        axis.add_patch(Rectangle((x - whole / 2, y - 0.5), whole, tall, fc="none", ec="white", lw=1))
        axis.text(x, y, text, fontsize=7, ha="center", va="center_baseline", color=ink(colours[-1]))
    axis.tick_params(length=0, labelsize=7)
    axis.spines[:].set_visible(False)


def key(figure, **more: Mapping[str, Any]) -> None:
    """The legend of `functions` below all panels: those that the figure shows, in words, and `more` entries."""
    shown = {patch.get_facecolor() for panel in figure.axes for patch in panel.patches}
    found = {FUNCTIONS[name]: colour for name, colour in COLOURS.items() if to_rgba(colour) in shown}
    looks = {name: {"color": colour, "marker": "s", "ls": "", "ms": 7} for name, colour in found.items()}
    legend(figure, looks | more)


def legend(figure, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """A legend below all panels, in as many columns as fit: names with what a line of matplotlib takes."""
    handles = [plt.Line2D([], [], **{"ms": 5, "lw": 1.2, **look}, label=name) for name, look in entries.items()]
    widths = [0.062 * len(str(name)) + 0.42 for name in entries]  # inches
    columns = len(handles)
    while columns > 1 and sum(map(max, np.array_split(widths, columns))) > figure.get_figwidth():
        columns -= 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.2, handletextpad=0.4)


def bar(figure, drawn, axes, label: str, ticks: Sequence[float] | None = None) -> None:
    """A colour bar 0.15 inches wide beside these panels."""
    axes = list(np.ravel(axes))
    inches = [axis.get_subplotspec().get_position(figure).height for axis in axes]
    width = figure.get_figwidth()
    tall = max(inches) * figure.get_figheight() * len({axis.get_subplotspec().rowspan.start for axis in axes})
    more = {"fraction": 0.16 / width, "aspect": max(5, 0.8 * tall / 0.15), "pad": 0.08 / width}
    colours = figure.colorbar(drawn, ax=axes, label=label, ticks=ticks, **more)
    colours.ax.tick_params(labelsize=7, length=2)


def ink(colour: Any) -> str:
    """Black or white, whichever can be read on the colour."""
    return "black" if np.dot(to_rgb(colour), (0.3, 0.59, 0.11)) > 0.55 else "white"


def heat(axis, values, cmap: Any, limits: tuple[float, float] = (0, 1)):
    """Cells coloured by value, the first row at the top; returns the image."""
    values = np.ma.masked_invalid(np.asarray(values, float))
    drawn = axis.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
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


def marks(axis, x: np.ndarray, y: np.ndarray, rows: pd.DataFrame, look: Mapping[str, Any], **error: Any) -> None:
    """Dots with error bars, white inside where the table has `hollow`."""
    look = {"marker": "o", "ms": 4.5, **{name: value for name, value in look.items() if name not in ("ls", "lw")}}
    axis.errorbar(x, y, **error, ls="", elinewidth=1.1, **({"mec": "white", "mew": 0.4} | look))
    if "hollow" in rows and rows.hollow.any():
        hollow = rows.hollow.to_numpy(bool)
        axis.plot(x[hollow], y[hollow], ls="", zorder=3, **({"mfc": "white", "mew": 1.1} | look))


def lines(axis, table: pd.DataFrame, x: str, y: str, series: str, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """One panel of dots with intervals against x, a line through the mean at each x.

    The table has x, y and series; low, high and hollow (bool) if there are any. `entries` are colour, marker and style of the
    line by series.
    """
    for name, look in entries.items():
        rows = table[table[series] == name].sort_values(x, kind="stable")
        if rows.empty:
            continue
        at, values = rows[x].to_numpy(float), rows[y].to_numpy(float)
        marks(axis, at, values, rows, look, yerr=whiskers(rows, y))
        mean = pd.Series(values).groupby(at).mean()
        axis.plot(mean.index, mean, color=look["color"], ls=look.get("ls", "-"), lw=look.get("lw", 1.2), zorder=2)
