"""Figures of pruning by L0 gates: one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.animation import FuncAnimation
from matplotlib.collections import PatchCollection
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import COLOURS, KIND_TITLES, MODELS, SHORT_TITLES, WIDTH, left, redrawable
from helpers.study import StudyError

CONTROL = "further training"
OF_REMOVAL, OF_NEVER = "% kept of what removal costs", "% kept of what never there costs"  # panels
_LEVELS = {
    CONTROL: {"color": MODELS[2], "ls": "-"}, "start": {"color": "#7F7F7F", "ls": "-."},
    "no encoder attention": {"color": "black", "ls": "--"},
}  # fmt: skip
_TOLERANCE = {"color": MODELS[2], "ls": ":", "lw": 1.1}
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
    methods = set(points.method)
    looks = drawing.looks(name for name in points.method if name not in _LEVELS)
    levels = {name: look for name, look in _LEVELS.items() if name in methods}
    more = levels | ({f"{CONTROL} − 0.25 BLEU": _TOLERANCE} if CONTROL in methods else {})
    figure, axes = drawing.line_panels(points, "heads", "bleu", "method", looks, "model", unit=unit, more=more, columns=2)
    for title, axis in axes.items():
        part = points[points.model == title]
        for row in part[part.method.isin(levels)].itertuples():
            axis.axhline(row.bleu, lw=1.1, zorder=1, **levels[row.method])
            if row.method == CONTROL:
                axis.axhline(row.bleu - 0.25, zorder=1, **_TOLERANCE)
                if np.isfinite(row.low + row.high):
                    axis.axhspan(row.low, row.high, color=_TOLERANCE["color"], alpha=0.12, lw=0)
            if row.method != "no encoder attention":
                axis.plot(row.heads, row.bleu, "s", ms=4.5, color=levels[row.method]["color"], mec="white", mew=0.4)
        drawing.retained(axis, part.total.max(), f"heads retained (of {part.total.max()})")
    return figure


@redrawable
def methods_at_equal_heads(points: pd.DataFrame):
    """Ways of choosing heads, compared at equal numbers of heads: a panel a model and way of pruning, a line a method.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: panel (its title), method, heads (retained), value, low, high (nan where there is no interval), unit (of the
        y axis). Of a method with several rows at one number of heads, such as random draws, the mean is drawn with a band
        from the least to the largest of them; their own low and high are not shown.
    """
    drawing.need(points, "panel", "method", "heads", "value", "low", "high", "unit")
    drawn = set(points.method[points.duplicated(["panel", "method", "heads"])])
    groups, several = points.groupby(["panel", "method", "heads", "unit"], sort=False), points.method.isin(drawn)
    ends = {"low": points.low.where(~several, groups.value.transform("min"))}
    ends |= {"high": points.high.where(~several, groups.value.transform("max"))}
    means = points.assign(**ends).groupby(groups.keys, sort=False)[["value", "low", "high"]].mean().reset_index()
    size = (5.4 if points.panel.nunique() == 1 else WIDTH / 2, 2.4)  # room for a long legend
    figure, axes = drawing.line_panels(means, "heads", "value", "method", drawing.looks(points.method), band=drawn, size=size)
    for title, axis in axes.items():
        own = points.heads[points.panel == title]
        drawing.retained(axis, own.max())
        axis.set_xlim(right=own.min() - 0.04 * own.max())  # no line goes on
        axis.axhline(0, **drawing.LEVEL) if points.value.min() < 0 else None
    return figure


# --- what is kept ----------------------------------------------------------------------------------------------------


def _stack(axis, columns: Mapping[int, Mapping[str, float]], colours: Mapping[str, Any]) -> None:
    """Stacked columns of equal width, the sparsest at the right; the numbers on the x axis are heads retained."""
    heads = sorted(columns, reverse=True)
    bottom = np.zeros(len(heads))
    for name, colour in colours.items():
        heights = np.array([columns[number].get(name, 0) for number in heads], float)
        axis.bar(range(len(heads)), heights, 0.82, bottom, color=colour, ec="white", lw=0.4)
        bottom += heights
    axis.set_xticks(range(len(heads)), heads, fontsize=8 if len(heads) < 12 else 7)
    axis.set_xlim(-0.6, len(heads) - 0.4)
    axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))


@redrawable
def retained_functions(
    functions: Mapping[str, Sequence[tuple[int, Sequence[Sequence[str]]]]], totals: Mapping[str, int],
    chance: Mapping[str, Mapping[int, float]] | None = None,
):  # fmt: skip
    """What the retained heads do at each sparsity (section 6.2.1, Fig. 8): a panel a model, a column a pruned model.

    Parameters
    ----------
    functions : mapping of title -> list of (heads retained, functions of each of them)
        Names of functions are keys of `COLOURS`. A head with several is split evenly between them, one without is not drawn.
    totals : mapping of title -> heads before pruning
    chance : mapping of title -> heads retained -> how many of them would have a function by chance, optional

    Raises
    ------
    StudyError
        For a function without a colour, or if the number of heads is not that of the lists.
    """
    figure, axes = drawing.grid(len(functions), 2, WIDTH / 2, 2.3)
    seen: set[str] = set()
    for axis, (title, pruned) in zip(axes, functions.items(), strict=True):
        columns = {}
        for heads, roles in pruned:
            if len(roles) != heads:
                raise StudyError(f"A column of {title} has {heads} heads but functions of {len(roles)}: give a list a head.")
            columns[heads] = parts = dict.fromkeys(COLOURS, 0.0)
            for names in roles:
                shown = list(dict.fromkeys(names)) or ["none"]
                for name in shown:
                    if name not in parts:
                        raise StudyError(f"There is no function {name!r}: choose from {', '.join(COLOURS)}.")
                    parts[name] += 1 / len(shown)
            parts.pop("none")
            seen |= {name for name, height in parts.items() if height}
        _stack(axis, columns, {name: colour for name, colour in COLOURS.items() if name != "none"})
        for place, heads in enumerate(sorted(columns, reverse=True)):
            if (expected := (chance or {}).get(title, {}).get(heads)) is not None:
                axis.hlines(expected, place - 0.45, place + 0.45, color="black", lw=1.6)
        axis.set(title=title, xlabel=f"heads left (of {totals[title]})", ylabel="with a function" if left(axis) else "")
        axis.set_ylim(0, 1.05 * max(1, *(sum(parts.values()) for parts in columns.values())))
    more = {"expected by chance": {"color": "black", "lw": 1.6}} if chance else {}
    drawing.legend(figure, drawing.squares({name: colour for name, colour in COLOURS.items() if name in seen}) | more)
    return figure


@redrawable
def pruned_minus_scratch(points: pd.DataFrame):
    """`tables.pruned_minus_scratch`: what pruning a trained model gains over training its head map from scratch."""
    names = list(dict.fromkeys(points.series))
    looks = drawing.looks(name for name in names if not name.startswith("printed"))
    printed = [name for name in names if name.startswith("printed")]
    looks |= {name: drawing.PRINTED | {"marker": mark, "mec": "black"} for name, mark in zip(printed, "Dsv", strict=False)}
    figure, axes = drawing.line_panels(
        points, "kept", "value", "series", looks, label="% of all heads kept", unit="BLEU, pruned minus from scratch",
        size=(5.4, 2.6),
    )  # fmt: skip
    axes[""].axhline(0, **drawing.LEVEL)
    axes[""].set_xlim(84, 8)
    return figure


@redrawable
def kept_by_kind(table: pd.DataFrame):
    """Share of heads kept of each kind of attention against the share of all heads kept (section 6.3, Fig. 9).

    On the dotted line a kind keeps as large a share as all heads do; above it, it is pruned later.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows: model, total_kept, total, and for each kind KIND (kept) and KIND_total; a kind without a column or with total
        0 is not drawn. Dots of a model "printed, ..." are hollow.
    """
    kinds = {kind: title for kind, title in KIND_TITLES.items() if kind in table.columns}
    drawing.need(table, "model", "total_kept", "total", *[f"{kind}_total" for kind in kinds])
    share = 100 * table.total_kept / table.total
    parts = {title: table.assign(x=share, y=100 * table[k] / table[f"{k}_total"].where(table[f"{k}_total"] > 0))
             for k, title in kinds.items()}  # fmt: skip
    shown = pd.concat(parts, names=["kind"]).reset_index("kind").dropna(subset="y")
    shown = shown.assign(hollow=shown.model.str.startswith("printed"))
    looks = {title: look for title, look in drawing.looks(KIND_TITLES.values()).items() if title in parts}
    figure, axes = drawing.line_panels(
        shown, "x", "y", "kind", looks, "model", "% of all heads kept", "% of the kind kept", columns=2, sharex=True,
        sharey=True, more={"equal share": drawing.LEVEL},
    )  # fmt: skip
    for axis in axes.values():
        axis.plot([0, 100], [0, 100], **drawing.LEVEL)
        axis.set(xlim=(104, -4), ylim=(-4, 104))
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
    drawing.need(table, "kept")
    kept = table["kept"].groupby(level=[0, 1, 2, 3], sort=False).mean()
    titles, kinds = dict.fromkeys(kept.index.get_level_values(0)), drawing.kinds(kept.index.get_level_values(2))
    layers = int(kept.index.get_level_values(3).max()) + 1
    size = 2 if layers >= 6 else 1
    names = [_layer_name(first, min(first + size, layers)) for first in range(0, layers, size)]
    colours = dict(zip(names, drawing.layer_colours(len(names)), strict=True))
    across = min(3.4, WIDTH / len(kinds)) * len(kinds)
    figure, axes = plt.subplots(
        len(titles), len(kinds), squeeze=False, sharey="row", figsize=(across, 1.8 * len(titles) + 0.6)
    )  # fmt: skip
    for row, title in zip(axes, titles, strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            columns: dict[int, dict[str, float]] = {}
            for (total, layer), heads in kept.xs((title, kind), level=(0, 2)).items():
                parts = columns.setdefault(total, dict.fromkeys(names, 0.0))
                parts[names[layer // size]] += heads
            _stack(axis, columns, colours)
            axis.set_title(f"{title},\n{KIND_TITLES[kind]}", fontsize=8)
            axis.set_xlabel("all heads kept" if row is axes[-1] else "")
        row[0].set_ylabel("heads kept")
    drawing.legend(figure, drawing.squares(colours))
    return figure


def _layer_name(first: int, end: int) -> str:
    return f"layer {first + 1}" if end == first + 1 else f"layers {first + 1} and {end}"


# --- gates -----------------------------------------------------------------------------------------------------------

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


@redrawable
def gate_closing(traces: Traces, kept: Mapping[float, int] | None = None, steps: int = 6, model: str = ""):
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
    model : str
        Whose gates they are.
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
    kinds, heads = {kind for kind, *_ in trace.columns}, max(head for *_, head in trace.columns) + 1
    for axis, step in zip(axes[-1], chosen, strict=True):
        axis.set_xlabel(f"heads 1 to {heads},\nstep {step}" if len(kinds) == 1 else f"step {step}")
    figure.suptitle(model, fontsize=9)
    drawing.bar(figure, drawn, axes, "P(closed)", [0, 0.5, 1])
    return figure


@redrawable
def gate_closing_animation(traces: Traces, frames: int = 30, kept: Mapping[float, int] | None = None) -> FuncAnimation:
    """`gate_closing` as an animation over so many steps, a panel a penalty; small enough to stay inside a notebook."""
    chosen = drawing.spread_steps(traces, frames)
    figure, axes = drawing.grid(len(traces), 2, 2.9, 1.35, sharey=True)
    figure.set_dpi(90)  # of the file
    drawn = {value: _gate_map(axis, _at(trace, chosen[0])) for axis, (value, trace) in zip(axes, traces.items(), strict=True)}
    for axis, (value, trace) in zip(axes, traces.items(), strict=True):
        axis.set_title(_penalty(value, trace, kept), fontsize=9)
        axis.set_ylabel("layer" if left(axis) else "")
    heading = figure.suptitle(f"step {chosen[-1]}", fontsize=9)
    drawing.bar(figure, drawn[value], axes, "P(closed)", [0, 0.5, 1])

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        for value, cells in drawn.items():
            cells.set_array(_at(traces[value], step).to_numpy(float))
        return [heading, *drawn.values()]

    return drawing.animate(figure, show, chosen)


@redrawable
def gate_paths(traces: Traces, kept: Mapping[float, int] | None = None):
    """P(closed) of every gate of `gate_closing` over training, by layer; a gate is undecided while it is in (0.05, 0.95)."""
    drawing.spread_steps(traces, 1)
    figure, axes = drawing.grid(len(traces), 2 if len(traces) in (2, 4) else 3, 2.3, 1.9, sharey=True)
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
        axis.set_ylabel("P(closed)" if left(axis) else "")
    entries = {_layer_name(i, i + 1): {"color": colour} for i, colour in enumerate(colours)}
    dashed = {KIND_TITLES[kind]: {"color": "black", "lw": 0.9, "ls": _DASHES[kind]} for kind in kinds if len(kinds) > 1}
    drawing.legend(figure, entries | dashed)
    return figure


@redrawable
def hard_concrete(distributions: Sequence[Any]):
    """Hard Concrete distributions of a gate (section 6.1, Fig. 6): density inside, probabilities of exactly 0 and 1 as bars.

    Parameters
    ----------
    distributions : sequence of helpers.methods.l0.HardConcrete
        Each with a 0-dim log_alpha; a panel each.
    """
    figure, axes = drawing.grid(len(distributions), 3, 2.3, 2.0, sharex=True, sharey=True)
    for axis, gate in zip(axes, distributions, strict=True):
        _distribution(axis, gate, f"log α = {float(gate.log_alpha.detach()):g}")
    axes[0].set_ylim(0, 1.16 * axes[0].get_ylim()[1])
    drawing.legend(figure, drawing.squares({"P(gate = 0), P(gate = 1)": MODELS[1], "density between": MODELS[0]}))
    return figure


def _distribution(axis, gate: Any, location: str) -> None:
    """One Hard Concrete distribution: density inside, probabilities of exactly 0 and 1 as bars."""
    inside = np.linspace(0, 1, 201)[1:-1]
    density = gate.density(gate.log_alpha.new_tensor(inside)).detach().numpy()
    axis.fill_between(inside, density, color=MODELS[0], alpha=0.25, lw=0)
    axis.plot(inside, density, color=MODELS[0], lw=1.2)
    for at, mass in ((0, float(gate.p_closed().detach())), (1, float(gate.p_full().detach()))):
        axis.bar(at, mass, 0.07, color=MODELS[1], zorder=3)
        box = {"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.8}
        axis.annotate(f"{mass:.2f}", (at, min(2.0, mass)), (0, 4), textcoords="offset points", ha="center", fontsize=8,
                      color=MODELS[1], bbox=box, zorder=5)  # fmt: skip
    title = f"{location}, temperature {float(gate.temperature):g}".replace("-", "−")
    axis.set(title=title, xlabel="gate", xlim=(-0.12, 1.12), xticks=[0, 0.5, 1])
    axis.set_ylabel("density; probability" if left(axis) else "")


@redrawable
def gate_and_price(gate: Any, locations: Sequence[float]):
    """One gate and its penalty: its distribution, and P(open), the penalty in units of λ, over values of its log alpha."""
    at = float(gate.log_alpha.detach())
    figure, (left_axis, right) = drawing.grid(2, 2, WIDTH / 2, 2.8)
    _distribution(left_axis, gate, f"log α = {at:+.1f}")
    left_axis.set_ylim(0, 2.2)
    many = type(gate)(gate.log_alpha.new_tensor(list(locations)), gate.temperature)
    right.plot(locations, many.p_open().detach(), color=MODELS[2])
    right.plot(locations, many.value(binary=False).detach(), color="#777777", ls="--", lw=1)
    right.plot(at, float(gate.p_open().detach()), "o", color=MODELS[1])
    right.set(title=f"penalty: {float(gate.p_open().detach()):.2f} λ", xlabel="log α", ylim=(-0.04, 1.04))
    right.set_ylabel("P(open); dashed: gate without noise", fontsize=8)
    return figure


@redrawable
def beside_other_texts(points: pd.DataFrame, label: str = "% of encoder heads kept", sharey: bool = False):
    """What pruning heads costs on several texts and in the paper, a panel a measure.

    Parameters
    ----------
    points : pandas.DataFrame
        `helpers.methods.l0.tables.beside_other_texts` or `all_kinds`: panel, series, kept (% of heads), value, low, high, unit.
        A row without heads, where it is not 0, is of a model trained without: a level.
    """
    names, levels = list(dict.fromkeys(points.series)), points[(points.kept == 0) & (points.value != 0)]
    printed = [name for name in names if name.startswith("printed")]
    looks = drawing.looks(name for name in names if name not in printed)
    looks |= {name: drawing.PRINTED | {"marker": mark, "mec": "black"} for name, mark in zip(printed, "Dsv", strict=False)}
    shown = points[points.kept > 0]
    across = points.panel.nunique()
    figure, axes = drawing.line_panels(
        shown, "kept", "value", "series", looks, label=label, columns=3, sharey=sharey, size=(WIDTH / max(2, across), 2.4)
    )  # fmt: skip
    for row in levels[levels.value >= shown.value[shown.panel.isin(levels.panel)].min()].itertuples():  # a deeper one squeezes
        axis, colour = axes[row.panel], looks[row.series]["color"]
        axis.axhline(row.value, color=colour, ls="-.", lw=1.1, zorder=1)
        axis.axhspan(row.low, row.high, color=colour, alpha=0.13, lw=0, zorder=0)
        low, high = axis.get_ylim()
        axis.set_ylim(min(low, row.low - 0.1 * (high - low)), high)  # room for its name
        said, place = "never there\n(band: 95 %)", axis.get_yaxis_transform()
        axis.text(0.02, row.low, said, transform=place, va="top", fontsize=7, color=colour)
    for title, axis in axes.items():
        axis.set_xlim(104, -4)
        axis.axhline(95 if title == OF_REMOVAL else 0, **drawing.LEVEL)
        if title in (OF_REMOVAL, OF_NEVER):  # an interval of a share may reach far below
            axis.set_ylim(min(50, shown.value[shown.panel == title].min()) if title == OF_REMOVAL else -105, 106)
        axis.set(title="", ylabel=axis.get_ylabel().replace("what ", "what\n"))  # the y axis says it
    return figure
