"""Figures of pruning by L0 gates: one function per kind of figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.animation import FuncAnimation
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MODELS, SHORT_TITLES, WIDTH, redrawable
from helpers.study import StudyError

_LEVELS = {"further training": (MODELS[2], "-"), "start": ("#7F7F7F", "-."), "no encoder attention": ("black", "--")}
_CLOSED = 1 / (1 + 11**0.33)  # P(closed) of a gate that is as often fully open, stretch (-0.1, 1.1), temperature 0.33
_DASHES = {"encoder": "-", "decoder": "--", "cross": ":"}


@redrawable
def pruning_curves(points: pd.DataFrame, unit: str = "BLEU"):
    """BLEU against retained heads (section 6.2.1, Fig. 7), a panel a model.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: model, method, heads (retained), total, bleu, low, high (nan where there is no interval). The methods "further
        training" (the control: trained on without penalty), "start" (before further training) and "no encoder attention"
        (the floor) are horizontal lines; all others curves. Rows that share method and heads, such as seeds, are all drawn
        and the line goes through their mean.
    unit : str
        Label of the y axis, for another score in column bleu, such as the difference to the control.
    """
    drawing.need(points, "model", "method", "heads", "total", "bleu", "low", "high")
    titles, methods = list(dict.fromkeys(points.model)), list(dict.fromkeys(points.method))
    looks = drawing.looks([name for name in methods if name not in _LEVELS])
    looks |= {name: {"color": colour, "marker": "s", "ls": ls} for name, (colour, ls) in _LEVELS.items() if name in methods}
    figure, axes = drawing.grid(len(titles), 4, 3.1, 2.7)
    for axis, title in zip(axes, titles, strict=True):
        part = points[points.model == title]
        for method, look in looks.items():
            rows = part[part.method == method]
            if method not in _LEVELS:
                drawing.points(axis, rows, "heads", "bleu", **look)
                continue
            for row in rows.itertuples():
                axis.axhline(row.bleu, color=look["color"], ls=look["ls"], lw=1.1, zorder=1)
                if method == "further training" and np.isfinite(row.low + row.high):
                    axis.axhspan(row.low, row.high, color=look["color"], alpha=0.12, lw=0)
                if method != "no encoder attention":
                    axis.plot(row.heads, row.bleu, "s", ms=4.5, color=look["color"], mec="white", mew=0.4)
        control = part.bleu[part.method == "further training"].mean()
        if np.isfinite(control):
            axis.axhline(control - 0.25, color=_LEVELS["further training"][0], ls=":", lw=1.1, zorder=1)
        drawing.retained(axis, part.total.max(), f"heads retained (of {part.total.max()})")
        axis.set(title=title, ylabel=unit if drawing.left(axis) else "")
    handles = [
        plt.Line2D([], [], **({**look, "marker": ""} if name == "no encoder attention" else look), ms=4, label=name)
        for name, look in looks.items()
    ]
    if "further training" in methods:
        handles.append(plt.Line2D([], [], color=_LEVELS["further training"][0], ls=":", label="further training − 0.25 BLEU"))
    drawing.legend_below(figure, handles, 3 if len(axes) > 1 else 2)
    return figure


@redrawable
def methods_at_equal_heads(points: pd.DataFrame):
    """Ways of choosing heads, compared at equal numbers of heads: a panel a model and way of pruning, a line a method.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: panel (its title), method, heads (retained), value, low, high (nan where there is no interval), unit (of the
        y axis). Of a method with several rows at one number of heads, such as random draws, the mean is drawn with a band
        that holds 95 % of them; their own low and high are not shown.
    """
    drawing.need(points, "panel", "method", "heads", "value", "low", "high", "unit")
    titles, looks = list(dict.fromkeys(points.panel)), drawing.looks(list(dict.fromkeys(points.method)))
    figure, axes = drawing.grid(len(titles), 4, 3.1, 2.7)
    for axis, title in zip(axes, titles, strict=True):
        part = points[points.panel == title]
        for method, rows in part.groupby("method", sort=False):
            look, draws = looks[method], rows.groupby("heads")["value"]
            if (draws.size() > 1).any():
                ends = draws.quantile([0.025, 0.975]).unstack()
                axis.fill_between(ends.index, ends[0.025], ends[0.975], color=look["color"], alpha=0.2, lw=0)
                rows = draws.mean().reset_index()
            drawing.points(axis, rows, "heads", "value", **look)
        drawing.retained(axis, part.heads.max())
        axis.set(title=title, ylabel=part.unit.iloc[0])
    drawing.legend_below(
        figure, [plt.Line2D([], [], **look, ms=4, lw=1.2, label=name) for name, look in looks.items()], 2 * len(axes)
    )
    return figure


def _stack(axis, columns: Sequence[tuple[int, Mapping[str, float]]], colours: Mapping[str, Any]) -> None:
    """Stacked columns of equal width, the sparsest at the right; the numbers on the x axis are heads retained."""
    columns = sorted(columns, key=lambda column: -column[0])
    bottom = np.zeros(len(columns))
    for name, colour in colours.items():
        heights = np.array([parts.get(name, 0) for _, parts in columns], float)
        axis.bar(range(len(columns)), heights, 0.82, bottom, color=colour, ec="white", lw=0.4, label=name)
        bottom += heights
    axis.set_xticks(range(len(columns)), [heads for heads, _ in columns], fontsize=8 if len(columns) < 12 else 6.5)
    axis.set_xlim(-0.6, len(columns) - 0.4)
    axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))


@redrawable
def retained_functions(functions: Mapping[str, Sequence[tuple[int, Sequence[Sequence[str]]]]], totals: Mapping[str, int]):
    """What the retained heads do at each sparsity (section 6.2.1, Fig. 8): a panel a model, a column a pruned model.

    Parameters
    ----------
    functions : mapping of title -> list of (heads retained, functions of each of them)
        Names of functions are keys of `COLOURS`. A head with several is split evenly between them, one without counts as
        "none", so that a column is as high as the number of heads.
    totals : mapping of title -> heads before pruning

    Raises
    ------
    StudyError
        For a function without a colour, or if the number of heads is not that of the lists.
    """
    figure, axes = drawing.grid(len(functions), 4, 3.1, 2.5)
    seen: set[str] = set()
    for axis, (title, pruned) in zip(axes, functions.items(), strict=True):
        columns = []
        for heads, roles in pruned:
            if len(roles) != heads:
                raise StudyError(f"A column of {title} has {heads} heads but functions of {len(roles)}: give a list a head.")
            parts = dict.fromkeys(COLOURS, 0.0)
            for names in roles:
                shown = list(dict.fromkeys(names)) or ["none"]
                for name in shown:
                    if name not in parts:
                        raise StudyError(f"There is no function {name!r}: choose from {', '.join(COLOURS)}.")
                    parts[name] += 1 / len(shown)
            columns.append((heads, parts))
            seen |= {name for name, height in parts.items() if height}
        _stack(axis, columns, COLOURS)
        axis.set(title=title, xlabel=f"heads retained (of {totals[title]})", ylabel="heads" if drawing.left(axis) else "")
        axis.set_ylim(0, totals[title])
    drawing.legend_below(figure, [Patch(color=colour, label=name) for name, colour in COLOURS.items() if name in seen], 7)
    return figure


@redrawable
def kept_by_kind(table: pd.DataFrame):
    """Share of heads kept of each kind of attention against the share of all heads kept (section 6.3, Fig. 9).

    On the dotted line a kind keeps as large a share as all heads do; above it, it is pruned later.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows: model, total_kept, total, and for each kind KIND (kept) and KIND_total; a kind without a column or with total
        0 is not drawn.
    """
    kinds = [kind for kind in KIND_TITLES if kind in table.columns]
    drawing.need(table, "model", "total_kept", "total", *[f"{kind}_total" for kind in kinds])
    titles = list(dict.fromkeys(table.model))
    looks = {kind: look for kind, look in drawing.looks(list(KIND_TITLES)).items() if kind in kinds}
    figure, axes = drawing.grid(len(titles), 4, 3.0, 2.7, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        part = table[table.model == title]
        axis.plot([0, 100], [0, 100], color="grey", lw=0.9, ls=":")
        for kind, look in looks.items():
            rows = part[part[f"{kind}_total"] > 0]
            shares = pd.DataFrame({"x": 100 * rows.total_kept / rows.total, "y": 100 * rows[kind] / rows[f"{kind}_total"]})
            drawing.points(axis, shares, "x", "y", **look)
        axis.set(title=title, xlim=(104, -4), ylim=(-4, 104), xlabel="% of all heads kept")
        axis.set_ylabel("% of the kind kept" if drawing.left(axis) else "")
    handles = [plt.Line2D([], [], **look, ms=4, lw=1.2, label=KIND_TITLES[kind]) for kind, look in looks.items()]
    drawing.legend_below(figure, [*handles, plt.Line2D([], [], color="grey", lw=0.9, ls=":", label="equal share")], 4)
    return figure


@redrawable
def kept_by_layer(table: pd.DataFrame):
    """Heads kept in each layer at each sparsity (section 6.3, Fig. 10): a row a model, a panel a kind of attention.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by (model, total_kept, kind, layer), column kept. The paper shows the decoder's two kinds. Of several rows
        with one index (seeds) the mean is drawn. From 6 layers on, pairs of layers are one colour, as in the paper.
    """
    kept = table["kept"].groupby(level=[0, 1, 2, 3], sort=False).mean()
    if kept.empty:
        raise StudyError("The table has no rows: give at least one pruned model to draw.")
    titles, found = (list(dict.fromkeys(kept.index.get_level_values(level))) for level in (0, 2))
    kinds, layers = [kind for kind in KIND_TITLES if kind in found], int(kept.index.get_level_values(3).max()) + 1
    size = 2 if layers >= 6 else 1
    names = [_layer_name(first, min(first + size, layers)) for first in range(0, layers, size)]
    colours = dict(zip(names, drawing.layer_colours(len(names)), strict=True))
    figure, axes = plt.subplots(
        len(titles),
        len(kinds),
        squeeze=False,
        sharey="row",
        figsize=(min(3.4, WIDTH / len(kinds)) * len(kinds), 1.7 * len(titles) + 0.6),
    )
    for row, title in zip(axes, titles, strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            columns: dict[int, dict[str, float]] = {}
            for (total, layer), heads in kept.xs((title, kind), level=(0, 2)).items():
                parts = columns.setdefault(total, dict.fromkeys(names, 0.0))
                parts[names[layer // size]] += heads
            _stack(axis, list(columns.items()), colours)
            axis.set_title(f"{title}, {KIND_TITLES[kind]}", fontsize=7)
            axis.set_xlabel("all heads kept" if title == titles[-1] else "")
        row[0].set_ylabel("heads kept")
    drawing.legend_below(figure, [Patch(color=colour, label=name) for name, colour in colours.items()], 4 * len(kinds))
    return figure


def _layer_name(first: int, end: int) -> str:
    return f"layer {first + 1}" if end == first + 1 else f"layers {first + 1} and {end}"


Traces = Mapping[float, pd.DataFrame]


def _at(trace: pd.DataFrame, step: int) -> pd.Series:
    """P(closed) at a step, or at the last step before it that was kept."""
    return trace.iloc[max(0, trace.index.searchsorted(step, "right") - 1)]


def _penalty(value: float, trace: pd.DataFrame, kept: Mapping[float, int] | None) -> str:
    """Title of a penalty: how many heads it leaves."""
    left = int((trace.iloc[-1] < _CLOSED).sum()) if kept is None else kept[value]
    return f"λ = {value:g}, {left} of {trace.shape[1]} kept"


def _gate_map(axis, gates: pd.Series) -> PatchCollection:
    """One panel of P(closed): a cell a head, layer 1 at the bottom, kinds side by side; cells in the order of `gates`."""
    rows = pd.DataFrame([*gates.index], columns=["kind", "layer", "head"])
    width = rows.groupby("kind")["head"].max() + 1
    kinds = [kind for kind in SHORT_TITLES if kind in width]
    left = dict(zip(kinds, np.cumsum([0, *(width[kind] + 1 for kind in kinds)]), strict=False))
    cells = [plt.Rectangle((left[kind] + head, layer), 1, 1) for kind, layer, head in rows.itertuples(index=False)]
    drawn = PatchCollection(cells, cmap="Greys", ec="#B8B8B8", lw=0.4, clim=(0, 1), clip_on=False)
    drawn.set_array(gates.to_numpy(float))
    axis.add_collection(drawn)
    layers = rows.layer.max() + 1
    axis.set(xlim=(0, left[kinds[-1]] + width[kinds[-1]]), ylim=(0, layers))
    named = kinds if len(kinds) > 1 else []
    axis.set_xticks([left[kind] + width[kind] / 2 for kind in named], [SHORT_TITLES[kind] for kind in named], fontsize=7)
    axis.set_yticks(np.arange(layers) + 0.5, range(1, layers + 1), fontsize=7)
    axis.tick_params(length=0, pad=2)
    sns.despine(ax=axis, left=True, bottom=True)
    return drawn


def _gate_bar(figure, drawn: PatchCollection, axes) -> None:
    """A colour bar 0.15 inches wide beside all panels."""
    width, height = figure.get_size_inches()
    more = {"fraction": 0.18 / width, "aspect": height / 0.18, "pad": 0.1 / width}
    figure.colorbar(drawn, ax=axes, label="P(closed)", ticks=[0, 0.5, 1], **more)


@redrawable
def gate_closing(traces: Traces, kept: Mapping[float, int] | None = None, steps: int = 6):
    """P(closed) of every gate at a few steps of training: a row a penalty, a column a step, a cell a head.

    Parameters
    ----------
    traces : mapping of penalty λ -> DataFrame
        P(g = 0) by step (rows) and head (columns: kind, layer, head).
    kept : mapping of penalty -> heads left, optional
        Without it, heads of the last row whose P(g = 1) > P(g = 0) (footnote 7) at the stretch and temperature of the
        paper's code.
    steps : int
        Columns, evenly spread from the first step to the last.

    Raises
    ------
    StudyError
        If a trace is empty.
    """
    chosen = drawing.spread_steps(traces, steps)
    layers = max(layer for trace in traces.values() for _, layer, _ in trace.columns) + 1
    figure, axes = plt.subplots(
        len(traces), len(chosen), squeeze=False, sharex=True, sharey=True,
        figsize=(min(WIDTH, max(3.5, 2.0 * len(chosen))), (max(0.75, 0.16 * layers) + 0.3) * len(traces) + 0.4),
    )  # fmt: skip
    for row, (value, trace) in zip(axes, traces.items(), strict=True):
        for axis, step in zip(row, chosen, strict=True):
            drawn = _gate_map(axis, _at(trace, step))
        row[0].set_title(_penalty(value, trace, kept), loc="left", fontsize=9)
        row[0].set_ylabel("layer")
    for axis, step in zip(axes[-1], chosen, strict=True):
        axis.set_xlabel(f"step {step}")
    _gate_bar(figure, drawn, axes)
    return figure


@redrawable
def gate_closing_animation(traces: Traces, frames: int = 30, kept: Mapping[float, int] | None = None) -> FuncAnimation:
    """`gate_closing` as an animation over training steps, a panel a penalty; small enough to stay inside a notebook.

    Parameters
    ----------
    traces, kept
        As in `gate_closing`.
    frames : int
        Steps shown, evenly spread from the first to the last.
    """
    chosen = drawing.spread_steps(traces, frames)
    figure, axes = drawing.grid(len(traces), 2, 2.9, 1.35, sharey=True)
    figure.set_dpi(90)  # of the file
    drawn = {value: _gate_map(axis, _at(trace, chosen[0])) for axis, (value, trace) in zip(axes, traces.items(), strict=True)}
    for axis, (value, trace) in zip(axes, traces.items(), strict=True):
        axis.set_title(_penalty(value, trace, kept), fontsize=9)
        axis.set_ylabel("layer" if drawing.left(axis) else "")
    heading = figure.suptitle(f"step {chosen[-1]}", fontsize=9)
    _gate_bar(figure, drawn[value], axes)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # nothing moves between frames

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        for value, cells in drawn.items():
            cells.set_array(_at(traces[value], step).to_numpy(float))
        return [heading, *drawn.values()]

    # the end stays for a while
    return FuncAnimation(figure, show, [*chosen, *chosen[-1:] * 8], init_func=lambda: show(chosen[0]), interval=150)


@redrawable
def gate_paths(traces: Traces, kept: Mapping[float, int] | None = None):
    """P(closed) of every gate against training steps, a panel a penalty, coloured by layer; counts gates not yet decided.

    Parameters
    ----------
    traces, kept
        As in `gate_closing`. A gate is undecided while 0.05 < P(closed) < 0.95.
    """
    drawing.spread_steps(traces, 1)
    figure, axes = drawing.grid(len(traces), 2 if len(traces) in (2, 4) else 3, 2.4, 2.0, sharey=True)
    heads = list(dict.fromkeys(address for trace in traces.values() for address in trace.columns))
    colours = drawing.layer_colours(max(layer for _, layer, _ in heads) + 1)
    kinds = [kind for kind in KIND_TITLES if any(address[0] == kind for address in heads)]
    for axis, (value, trace) in zip(axes, traces.items(), strict=True):
        shown = trace.loc[drawing.spread_steps({value: trace}, 300)]
        for level in (0.05, 0.95):
            axis.axhline(level, color="grey", lw=0.7, ls=":")
        for (kind, layer, _), path in shown.items():
            axis.plot(path.index, path, color=colours[layer], ls=_DASHES[kind] if len(kinds) > 1 else "-", lw=0.9,
                      marker="." if len(shown) == 1 else "")  # fmt: skip
        undecided = int(trace.iloc[-1].between(0.05, 0.95, inclusive="neither").sum())
        axis.text(0.02, 0.98, f"{undecided} undecided", transform=axis.transAxes, va="top", fontsize=8)
        axis.set(title=_penalty(value, trace, kept), xlabel="step", ylim=(-0.04, 1.22), yticks=[0, 0.5, 1])
        axis.set_ylabel("P(closed)" if drawing.left(axis) else "")
    handles = [plt.Line2D([], [], color=colour, label=_layer_name(i, i + 1)) for i, colour in enumerate(colours)]
    if len(kinds) > 1:
        handles += [plt.Line2D([], [], color="black", lw=0.9, ls=_DASHES[kind], label=KIND_TITLES[kind]) for kind in kinds]
    drawing.legend_below(figure, handles, 3 * len(axes))
    return figure


@redrawable
def hard_concrete(distributions: Sequence[Any]):
    """Hard Concrete distributions of a gate (section 6.1, Fig. 6): density inside, probabilities of exactly 0 and 1 as bars.

    Parameters
    ----------
    distributions : sequence of helpers.methods.l0.HardConcrete
        Each with a 0-dim log_alpha; a panel each.
    """
    import torch

    figure, axes = drawing.grid(len(distributions), 3, 2.4, 2.1, sharex=True, sharey=True)
    inside = torch.linspace(0, 1, 201)[1:-1]
    for axis, gate in zip(axes, distributions, strict=True):
        density = gate.density(inside).detach().numpy()
        axis.fill_between(inside, density, color=MODELS[0], alpha=0.25, lw=0)
        axis.plot(inside, density, color=MODELS[0], lw=1.2)
        for at, mass in ((0, float(gate.p_closed().detach())), (1, float(gate.p_full().detach()))):
            axis.bar(at, mass, 0.07, color=MODELS[1], zorder=3)
            axis.annotate(
                f"{mass:.2f}", (at, mass), (0, 4), textcoords="offset points", ha="center", fontsize=8, color=MODELS[1],
                zorder=4, bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.85},
            )  # fmt: skip
        title = f"log α = {float(gate.log_alpha.detach()):g}, temperature {float(gate.temperature):g}".replace("-", "−")
        axis.set(title=title, xlabel="gate")
        axis.set(xlim=(-0.12, 1.12), xticks=[0, 0.5, 1], ylabel="density; probability" if drawing.left(axis) else "")
    axes[0].set_ylim(0, 1.12 * axes[0].get_ylim()[1])
    handles = [
        Patch(color=MODELS[1], label="P(gate = 0), P(gate = 1)"),
        Patch(color=MODELS[0], alpha=0.4, label="density between"),
    ]
    drawing.legend_below(figure, handles, 2)
    return figure


def hard_concrete_slider(make):
    """Sliders for log alpha and temperature above the figure of `hard_concrete`, for JupyterLab.

    Parameters
    ----------
    make : callable
        ``make(log_alpha, temperature)``, two floats, returns the distribution to draw.

    Returns
    -------
    ipywidgets.VBox
    """
    import io

    import ipywidgets

    where = ipywidgets.FloatSlider(0, min=-6, max=6, step=0.25, description="log α", continuous_update=False)
    heat = ipywidgets.FloatSlider(0.33, min=0.1, max=1, step=0.01, description="temperature", continuous_update=False)
    picture = ipywidgets.Image(format="png")

    def draw(_=None) -> None:
        figure, file = hard_concrete([make(where.value, heat.value)]), io.BytesIO()
        figure.savefig(file, format="png", dpi=110)
        plt.close(figure)
        picture.value = file.getvalue()

    for slider in (where, heat):
        slider.observe(draw, "value")
    draw()
    return ipywidgets.VBox([where, heat, picture])
