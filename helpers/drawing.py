"""One style for every figure, and what figures share. `helpers.study.Run.figure` saves them, each with its JSON sidecar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import cycle
from typing import Any

import matplotlib

matplotlib.use("agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from helpers.study import StudyError

# Okabe-Ito colours, safe for colour-blind readers; each function keeps its own everywhere
COLOURS = {
    "positional": "#0072B2", "nsubj": "#D55E00", "dobj": "#E69F00", "amod": "#009E73", "advmod": "#56B4E9",
    "rare": "#CC79A7", "none": "#EDEDED",
}  # fmt: skip
MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE = {
    "figure.dpi": 110, "savefig.dpi": 160, "savefig.bbox": "tight", "font.size": 9, "axes.titlesize": 10,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "figure.constrained_layout.use": True,
    "pdf.fonttype": 42, "font.family": "DejaVu Sans",
}  # fmt: skip
WIDTH = 7.2  # of a page's text, inches: a figure printed over it keeps the size of its letters
KIND_TITLES = {"encoder": "encoder self", "decoder": "decoder self", "cross": "decoder-encoder"}


def redrawable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a figure function: what it returns, a figure or an animation, knows in `drawn_by` how it was called.

    Only functions of this project are found again by their names: figures of others do not know it.
    """

    @wraps(function)
    def call(*args, **kwargs):
        drawn = function(*args, **kwargs)
        drawn.drawn_by = partial(call, *args, **kwargs) if call.__module__.startswith(("helpers.", "benchmarks.")) else None
        return drawn

    call.redrawable = True
    return call


def style() -> None:
    """Set the study's one style (notebooks call it once)."""
    sns.set_theme(context="paper", style="ticks", rc=STYLE)


def grid(count: int, columns: int, width: float, height: float, page: float = WIDTH, **more):
    """Panels of a size in inches, in as many columns as a page holds, at most `columns`."""
    columns = min(columns, count, max(1, int(page / width + 0.01)))
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


def legend_below(figure, handles: Sequence[Any], columns: int) -> None:
    """A legend below all panels, in as many columns as fit, at most `columns`."""
    widths = [0.06 * len(handle.get_label()) + 0.4 for handle in handles]  # inches
    columns = min(len(handles), columns)
    while columns > 1 and sum(map(max, np.array_split(widths, columns))) > figure.get_figwidth() + 0.6:
        columns -= 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8, columnspacing=1.2, handletextpad=0.4)


@redrawable
def training_curves(histories: Mapping[str, pd.DataFrame]):
    """Dev loss of every model by step."""
    figure, (axis,) = grid(1, 1, 5, 3)
    for (title, history), colour in zip(histories.items(), cycle(MODELS), strict=False):
        axis.plot(history.step, history.dev_loss, marker=".", color=colour, label=title)
    axis.set(xlabel="step", ylabel="dev loss (nats a token)")
    axis.legend(fontsize=8)
    return figure


def short(value: float, digits: int = 2) -> str:
    """The number as ".45" for 0.45: a zero that all cells would share is left out."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and "0." in text else text


MARKERS = "osD^vP*Xh"
SHORT_TITLES = {"encoder": "enc", "decoder": "dec", "cross": "cross"}


def need(table: pd.DataFrame, *columns: str) -> None:
    """Refuse a table that is empty or lacks a column."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise StudyError(f"The table has no column {missing[0]!r}: it needs {', '.join(columns)}.")
    if table.empty:
        raise StudyError("The table has no rows: give at least one point to draw.")


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of every name; nine can be told apart, also without colour."""
    colours = (*MODELS, "#000000", "#999999", "#7A5200")
    return {name: {"color": colours[i % 9], "marker": MARKERS[i % 9]} for i, name in enumerate(names)}


def points(axis, rows: pd.DataFrame, x: str, y: str, color: str, marker: str) -> None:
    """Every row as a marker, with its interval from low to high if it has one, and a line through the means at each x."""
    value, low, high = (
        rows[name].to_numpy(float) if name in rows else np.full(len(rows), np.nan) for name in (y, "low", "high")
    )
    error = np.maximum(0, [value - low, high - value])
    axis.errorbar(rows[x], value, error, ls="", marker=marker, ms=4, color=color, elinewidth=0.8, mec="white", mew=0.4)
    mean = rows.groupby(x)[y].mean()
    axis.plot(mean.index, mean, color=color, lw=1.2)


def retained(axis, most: float, label: str = "heads retained") -> None:
    """The paper's x axis: all heads at the left, none at the right."""
    axis.set(xlim=(1.04 * most, -0.04 * most), xlabel=label)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def layer_colours(layers: int) -> list[Any]:
    """From light (layer 1) to dark."""
    return list(sns.color_palette("viridis_r", layers))


def spread_steps(traces: Mapping[float, pd.DataFrame], number: int) -> list[int]:
    """Steps of the traces, evenly spread from the first to the last, at most `number`."""
    if not traces or any(trace.empty for trace in traces.values()):
        raise StudyError("There is no trace of gates: give P(closed) of at least one step for every penalty.")
    steps = sorted(set().union(*(trace.index for trace in traces.values())))
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, number).round().astype(int))]


@redrawable
def learning_curves(curves: Mapping[str, pd.DataFrame]):
    """Dev loss against training steps, a line a method, above the heads left at each step.

    Parameters
    ----------
    curves : mapping of name -> DataFrame with step, dev_loss (nats a token), heads
    """
    styles = looks(list(curves))
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(5, 4.0), height_ratios=(3, 1.2))
    for name, curve in curves.items():
        need(curve, "step", "dev_loss", "heads")
        above.plot(curve.step, curve.dev_loss, ms=4, lw=1.2, mec="white", mew=0.4, **styles[name])
        below.plot(curve.step, curve.heads, ms=3, lw=1.2, mec="white", mew=0.3, drawstyle="steps-post", **styles[name])
    above.set_ylabel("dev loss (nats a token)")
    below.set(xlabel="step", ylabel="heads left")
    below.set_ylim(bottom=0)
    below.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    legend_below(figure, [plt.Line2D([], [], **look, ms=4, lw=1.2, label=name) for name, look in styles.items()], 3)
    return figure


def ink(colour: Any) -> str:
    """Black or white, whichever can be read on the colour."""
    return "black" if np.dot(to_rgb(colour), (0.3, 0.59, 0.11)) > 0.55 else "white"


def whiskers(rows: pd.DataFrame, value: str, low: str = "low", high: str = "high") -> np.ndarray:
    """Lengths of error bars [2, rows]; nan where there is no interval."""
    middle, below, above = (rows[name].to_numpy(float) for name in (value, low, high))
    return np.maximum(0, [middle - below, above - middle])


def site_name(site: tuple[str, int]) -> str:
    return f"{SHORT_TITLES[site[0]]} {site[1] + 1}"


def ordered_sites(found: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Encoder, decoder, cross; by layer."""
    order, found = list(KIND_TITLES), set(found)
    for kind, _ in found:
        if kind not in order:
            raise StudyError(f"There is no kind of attention {kind!r}: choose from {', '.join(order)}.")
    return sorted(found, key=lambda site: (order.index(site[0]), site[1]))


def keys(looks: Mapping[str, Mapping[str, Any]], **more: Any) -> list[plt.Line2D]:
    """Legend entries of looks."""
    return [plt.Line2D([], [], **{"ms": 5, "lw": 1.2, **look, **more}, label=name) for name, look in looks.items()]
