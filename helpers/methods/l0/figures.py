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
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from scipy.stats import hypergeom

from helpers import drawing
from helpers.drawing import KIND_TITLES, MODELS, SHORT_TITLES, WIDTH, left, redrawable

CONTROL = "further training"
CHANGE = "BLEU minus control"  # panels
OF_REMOVAL, OF_NEVER = "% kept of what removal costs", "% kept of what never there costs"
PRINTED_MARKS = {"printed, EN-RU WMT": "D", "printed, EN-RU OpenSubtitles": "s"}
_LEVELS = {
    CONTROL: {"color": MODELS[2], "ls": "-"}, "start": {"color": "#7F7F7F", "ls": "-."},
    "no encoder attention": {"color": "black", "ls": "--"},
}  # fmt: skip
_TOLERANCE = {"color": MODELS[2], "ls": ":", "lw": 1.1}
FEW = 3  # heads with a function, below which chance reaches from none to all
UNDECIDED = (0.05, 0.95)  # P(g = 0) of a gate that is neither open nor closed
_CLOSED = 1 / (1 + 11**0.33)  # P(closed) of a gate that is as often fully open, stretch (-0.1, 1.1), temperature 0.33


@redrawable
def pruning_curves(points: pd.DataFrame):
    """BLEU against retained heads (section 6.2.1, Fig. 7), a panel a model.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: model, method, heads (retained), total, bleu, low, high (nan where there is no interval). The methods "further
        training" (the control: trained on without penalty), "start" (before further training) and "no encoder attention"
        (the floor) are horizontal lines; all others curves. Rows that share method and heads, such as seeds, are all drawn
        and the line goes through their mean.
    """
    drawing.need(points, "model", "method", "heads", "total", "bleu", "low", "high")
    methods = set(points.method)
    looks = drawing.looks(name for name in points.method if name not in _LEVELS)
    levels = {name: look for name, look in _LEVELS.items() if name in methods}
    more = levels | ({f"{CONTROL} − 0.25 BLEU": _TOLERANCE} if CONTROL in methods else {})
    figure, axes = drawing.line_panels(points, "heads", "bleu", "method", looks, "model", unit="BLEU", more=more, columns=2)
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
def methods_at_equal_heads(points: pd.DataFrame, draws: str = "random", whole: str = "all heads"):
    """Ways of choosing heads, compared at equal numbers of heads: a panel a model, a line a method, named at its end.

    Parameters
    ----------
    points : pandas.DataFrame
        Rows: panel (its title), method, heads (retained), value (BLEU), low, high (nan where there is no interval).
    draws, whole : str
        The method whose rows are draws, a band from the least to the largest; and that which removes nothing, a level.
    """
    drawing.need(points, "panel", "method", "heads", "value", "low", "high")
    titles = list(dict.fromkeys(points.panel))
    looks = drawing.looks(name for name in points.method if name not in (draws, whole))
    figure, axes = drawing.grid(len(titles), 1, WIDTH, 2.7)
    for axis, title in zip(axes, titles, strict=True):
        own = points[points.panel == title]
        drawing.lines(axis, own, "heads", "value", "method", looks)
        drawn = own[own.method == draws].groupby("heads").value.agg(["min", "max", "size"]).sort_index(ascending=False)
        last = own.sort_values("heads").groupby("method").value.first()
        ends = {name: (last[name], look) for name, look in looks.items() if name in last}
        if len(drawn):
            axis.fill_between(drawn.index, drawn["min"], drawn["max"], color="#BBBBBB", alpha=0.45, lw=0, zorder=0)
            ends[f"{draws}, range of {drawn['size'].max()} draws"] = (drawn["min"].iloc[-1], {"color": "#666666"})
        for level in own.value[own.method == whole]:
            axis.axhline(level, color="black", lw=1, ls="--", zorder=1)
            ends[f"{whole} ({level:.1f})"] = (level, {"color": "black"})
        most, least = own.heads[own.method != whole].agg(["max", "min"]).fillna(1)
        drawing.retained(axis, most, "heads left")
        axis.set(title=title, ylabel="BLEU", xlim=(most + 0.04 * most, least - 0.02 * most))
        _named_at_the_end(axis, ends)
    return figure


def _named_at_the_end(
    axis, ends: Mapping[str, tuple[float, Mapping[str, Any]]], lines: int = 1, at: float | None = None
) -> None:
    """Names behind their marks right of a panel, or at x = `at` alone, each at its value, as far apart as letters are tall."""
    low, high = axis.get_ylim()
    figure, rows, size = axis.get_figure(), axis.get_subplotspec().get_gridspec().nrows, 7.5
    apart = 1.25 * lines * size / 72 * (high - low) / (figure.get_figheight() / rows - 0.93)
    place, across = float("inf"), axis.get_yaxis_transform() if at is None else axis.transData
    for name, (value, look) in sorted(ends.items(), key=lambda one: -one[1][0]):
        place, marked = min(place - apart, value), at is None and "marker" in look
        behind = across + ScaledTranslation((4 + 9 * marked) / 72 if at is None else 0, 0, figure.dpi_scale_trans)
        axis.text(1 if at is None else at, place, name, transform=behind, color=look["color"], fontsize=size, va="center")
        if marked:
            before = across + ScaledTranslation(7 / 72, 0, figure.dpi_scale_trans)
            axis.add_artist(plt.Line2D([1], [place], transform=before, clip_on=False, **{"ms": 5, **look}))


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
def functions_left(table: pd.DataFrame):
    """How many of the heads with a function pruning leaves (section 6.2.1, Fig. 8): a panel a model, a place a pruned model.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows: model, heads (retained), of (all heads), had (those with a function before pruning), stay (of them), expected (of
        as many random heads); `helpers.methods.l0.tables.retained_more_than_chance` of any function.
    """
    drawing.need(table, "model", "heads", "of", "had", "stay", "expected")
    most = table.groupby("model", sort=False).had.max()
    titles = [*most.index[most >= FEW]] or [*most.index]
    figure, axes = drawing.grid(len(titles), 3, WIDTH / max(2, len(titles)), 2.5, sharey=True)
    if few := [f"{title} has only {had} such heads: not drawn" for title, had in most.items() if title not in titles]:
        figure.suptitle("; ".join(few), fontsize=8)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table.model == title].sort_values("heads", ascending=False)
        places, had = np.arange(len(rows)), rows.had.max()
        axis.set_xticks(places, rows["heads"])
        axis.set(title=title, xlabel=f"heads left (of {rows.of.max()})", xlim=(-0.6, len(rows) - 0.4), ylim=(-8, 120))
        axis.set_ylabel("% of heads with a function\nthat are still there" if left(axis) else "")
        if had < FEW:  # the grey bar would reach from none to all
            axis.set(title=f"{title}: {had} heads", facecolor="#EEEEEE")
            axis.text(0.5, 0.5, "too few to tell", transform=axis.transAxes, ha="center", fontsize=8)
            continue
        share, chance = 100 * rows.stay / had, 100 * rows.expected / had
        low, high = (100 * end / had for end in hypergeom.interval(0.95, rows.of, rows.had, rows["heads"]))
        axis.bar(places, high - low, 0.5, low, color="#DDDDDD", zorder=0)
        axis.hlines(chance, places - 0.4, places + 0.4, color="#666666", lw=1.6)
        axis.plot(places, share, "o", color=MODELS[0], ms=6)
        for place, at, row in zip(places, share, rows.itertuples(), strict=True):
            top = max(at, 100 * row.expected / had) + 7
            axis.text(place, top, f"{row.stay}/{had}", ha="center", fontsize=7.5)
    look = {"heads with a function": {"color": MODELS[0], "marker": "o", "ls": ""}}
    drawing.legend(
        figure,
        look | {"as many random heads": {"color": "#666666", "lw": 1.6}} | drawing.squares({"95 % of their draws": "#DDDDDD"}),
    )
    return figure


@redrawable
def pruned_minus_scratch(points: pd.DataFrame):
    """`tables.pruned_minus_scratch`: what pruning a trained model gains over training its head map from scratch."""
    names = list(dict.fromkeys(points.series))
    looks = drawing.looks(name for name in names if not name.startswith("printed"))
    printed = [name for name in names if name.startswith("printed")]
    looks |= {name: drawing.PRINTED | {"marker": mark, "mec": "black"} for name, mark in zip(printed, "Dsv", strict=False)}
    figure, axes = drawing.line_panels(
        points, "kept", "value", "series", looks, label="% of all heads left", unit="BLEU, pruned minus from scratch",
        size=(5.4, 2.6),
    )  # fmt: skip
    axes[""].axhline(0, **drawing.LEVEL)
    axes[""].set_xlim(84, 8)
    axes[""].set_ylim(top=max(1.4, axes[""].get_ylim()[1]))
    low, high = axes[""].get_ylim()
    axes[""].text(83, high, "above 0: pruning better", va="top", fontsize=8)
    axes[""].text(83, low + 0.02 * (high - low), "below 0: from scratch better", va="bottom", fontsize=8)
    return figure


@redrawable
def kept_by_kind(table: pd.DataFrame):
    """Share of heads kept of each kind of attention against the share of all heads kept (section 6.3, Fig. 9).

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
    looks, titles = drawing.looks(KIND_TITLES.values()), list(dict.fromkeys(shown.model))
    figure, axes = drawing.grid(len(titles), 2, WIDTH / 2, 2.4)
    for axis, title in zip(axes, titles, strict=True):
        own = shown[shown.model == title].sort_values("x", ascending=False)
        drawing.lines(axis, own, "x", "y", "kind", looks)
        axis.set(title=title, xlabel="% of all heads left", xlim=(104, -4), ylim=(-4, 104))
        axis.set_ylabel("% of the kind left" if left(axis) else "")
        if axis is axes[0]:
            last = {kind: (rows.y.iloc[-1], looks[kind]) for kind, rows in own.groupby("kind", sort=False)}
            called = {name.removesuffix(" self"): end for name, end in last.items()}
            _named_at_the_end(axis, called, at=own.x.min() - 3)
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
    return f"λ = {value:g}, {left} of {trace.shape[1]} left"


def _gate_map(axis, gates: pd.Series) -> PatchCollection:
    """One panel of P(closed): a cell a head, layer 1 at the bottom, kinds side by side; cells in the order of `gates`."""
    rows = pd.DataFrame([*gates.index], columns=["kind", "layer", "head"])
    width = rows.groupby("kind")["head"].max() + 1
    kinds = [kind for kind in SHORT_TITLES if kind in width]
    left = dict(zip(kinds, np.cumsum([0, *(width[kind] + 1 for kind in kinds)]), strict=False))
    cells = [plt.Rectangle((left[kind] + head, layer), 1, 1) for kind, layer, head in rows.itertuples(index=False)]
    three = {"cmap": ListedColormap(["white", "#AAAAAA", "black"]), "norm": BoundaryNorm([0, *UNDECIDED, 1], 3)}
    drawn = PatchCollection(cells, ec="#B8B8B8", lw=0.4, clip_on=False, **three)
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
def gate_closing(traces: Traces, kept: Mapping[float, int] | None = None, steps: int = 4, model: str = ""):
    """P(closed) of every gate at a few steps of training: a row a penalty, a column a step, a cell a head; in the last column
    those that stay have a frame.

    Parameters
    ----------
    traces : mapping of penalty λ -> DataFrame
        P(g = 0) by step (rows) and head (columns: kind, layer, head).
    kept : mapping of penalty -> heads left, optional
        Without it, heads of the last row whose P(g = 1) > P(g = 0) (footnote 7) at the stretch and temperature of the
        paper's code.
    steps : int
        Columns, evenly spread to the last step; the first, at which all gates are alike, is left out.
    model : str
        Whose gates they are.
    """
    chosen = drawing.spread_steps(traces, steps + 1)
    chosen = chosen[1:] or chosen
    layers = max(layer for trace in traces.values() for _, layer, _ in trace.columns) + 1
    figure, axes = plt.subplots(
        len(traces), len(chosen), squeeze=False, sharex=True, sharey=True,
        figsize=(min(WIDTH, max(3.5, 2.0 * len(chosen))), (max(0.75, 0.16 * layers) + 0.3) * len(traces) + 0.4),
    )  # fmt: skip
    for row, (value, trace) in zip(axes, traces.items(), strict=True):
        for axis, step in zip(row, chosen, strict=True):
            drawn = _gate_map(axis, _at(trace, step))
        row[-1].add_collection(_frames(drawn))
        row[0].set_title(_penalty(value, trace, kept), loc="left", fontsize=9)
        row[0].set_ylabel("layer")
    kinds, heads = {kind for kind, *_ in trace.columns}, max(head for *_, head in trace.columns) + 1
    for axis, step in zip(axes[-1], chosen, strict=True):
        axis.set_xlabel(f"heads 1 to {heads},\nstep {step}" if len(kinds) == 1 else f"step {step}")
    figure.suptitle(f"{model} (orange frame: head stays)".strip(), fontsize=9)
    _bar(figure, drawn, axes)
    return figure


def _bar(figure, drawn: PatchCollection, axes) -> None:
    low, high = UNDECIDED
    drawing.bar(figure, drawn, axes, f"P(closed): under {low:g}, between, over {high:g}", [low / 2, 0.5, (1 + high) / 2])
    drawn.colorbar.ax.set_yticklabels(["open", "undecided", "closed"])


def _frames(drawn: PatchCollection) -> PatchCollection:
    """Frames around those cells of `_gate_map` whose gate is kept."""
    shown = [path for path, closed in zip(drawn.get_paths(), drawn.get_array(), strict=True) if closed < _CLOSED]
    cells = [plt.Rectangle(path.vertices.min(0) + 0.06, 0.88, 0.88) for path in shown]
    return PatchCollection(cells, fc="none", ec=MODELS[1], lw=1.3, clip_on=False)


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
    _bar(figure, drawn[value], axes)

    def show(step: int) -> list[Any]:
        heading.set_text(f"step {step}")
        for value, cells in drawn.items():
            cells.set_array(_at(traces[value], step).to_numpy(float))
        return [heading, *drawn.values()]

    return drawing.animate(figure, show, chosen)


@redrawable
def hard_concrete(distributions: Sequence[Any]):
    """Hard Concrete distributions of a gate (section 6.1, Fig. 6): density inside, probabilities of exactly 0 and 1 as stems.

    Parameters
    ----------
    distributions : sequence of helpers.methods.l0.HardConcrete
        Each with a 0-dim log_alpha; a panel each.
    """
    figure, axes = drawing.grid(len(distributions), 3, 2.3, 2.25, sharex=True, sharey=True)
    for axis, gate in zip(axes, distributions, strict=True):
        _distribution(axis, gate, f"log α = {float(gate.log_alpha.detach()):g}", axis is axes[-1])
    return figure


def _distribution(axis, gate: Any, location: str, last: bool = True) -> None:
    """One Hard Concrete distribution: density inside; probabilities of exactly 0 and 1 as stems, on an axis at the right."""
    inside = np.linspace(0, 1, 201)[1:-1]
    density = gate.density(gate.log_alpha.new_tensor(inside)).detach().numpy()
    axis.fill_between(inside, density, color=MODELS[0], alpha=0.25, lw=0)
    axis.plot(inside, density, color=MODELS[0], lw=1.2)
    masses = axis.twinx()
    for at, mass, side in ((0, float(gate.p_closed().detach()), "left"), (1, float(gate.p_full().detach()), "right")):
        masses.plot([at, at], [0, mass], "-", color=MODELS[1], lw=2, clip_on=False)
        masses.plot(at, mass, "o", color=MODELS[1], ms=5, clip_on=False)
        place = {"xytext": (6 if side == "left" else -6, 3), "textcoords": "offset points", "ha": side, "fontsize": 8}
        masses.annotate(f"{mass:.2f}", (at, mass), color=MODELS[1], **place)
    title = f"{location}, temperature {float(gate.temperature):g}".replace("-", "−")
    axis.set(title=title, xlabel="gate", xlim=(-0.12, 1.12), ylim=(0, 1.16), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axis.set_ylabel("density between" if left(axis) else "", color=MODELS[0])
    masses.set(ylim=(0, 1.16), yticks=[0, 0.5, 1])
    masses.set_ylabel("probability of exactly 0 or 1" if last else "", color=MODELS[1], fontsize=8)
    sns.despine(ax=masses, left=True, right=False)
    masses.tick_params(labelright=last)


@redrawable
def gate_and_price(gate: Any, locations: Sequence[float]):
    """One gate and its penalty: its distribution, and P(open), the penalty in units of λ, over values of its log alpha."""
    at = float(gate.log_alpha.detach())
    figure, (left_axis, right) = drawing.grid(2, 2, WIDTH / 2, 2.8)
    _distribution(left_axis, gate, f"log α = {at:+.1f}")
    many = type(gate)(gate.log_alpha.new_tensor(list(locations)), gate.temperature)
    right.plot(locations, many.p_open().detach(), color=MODELS[2])
    right.plot(locations, many.value(binary=False).detach(), color="#777777", ls="--", lw=1)
    right.plot(at, float(gate.p_open().detach()), "o", color=MODELS[1])
    right.set(title=f"penalty: {float(gate.p_open().detach()):.2f} λ", xlabel="log α", ylim=(-0.04, 1.04))
    right.set_ylabel("P(open); dashed: gate without noise", fontsize=8)
    return figure


_TITLES = {CHANGE: "What does removing heads cost?", OF_REMOVAL: "share kept of what\nremoving all heads costs"}
_TITLES |= {OF_NEVER: "How much of the gain from\nencoder heads is left?"}

_UNITS = {CHANGE: "BLEU minus unpruned model", OF_NEVER: "% of the gain left"}
_EDGE = 30  # % of heads left: curves that end nearer to none are named right of the panel


@redrawable
def beside_other_texts(points: pd.DataFrame, text: str = "generated text", decoders: Mapping[str, str] | None = None):
    """What pruning heads costs on several texts and in the paper, a panel a measure, a curve a model, named at its end.

    Parameters
    ----------
    points : pandas.DataFrame
        `helpers.methods.l0.tables.beside_other_texts`: panel, series, kept (% of heads), value, low, high. Rows without heads
        are not drawn; all curves of the panel of losses start from one mark, that of the unpruned model. White inside are
        marks whose column over, if there is one, does not tell of trainings.
    text : str
        Of what text most series are: others ("natural, ", "generated, ") have theirs behind their name.
    decoders : mapping of what a series begins with -> the size of its decoder, optional
        It stands behind its name.
    """
    shown, titles = points[points.kept > 0], list(dict.fromkeys(points.panel))
    if "over" in points:
        shown = shown.assign(hollow=~shown.over.fillna("").str.startswith("trainings"))
    looks = drawing.looks(name for name in points.series if not name.startswith("printed"))
    wide = {"width_ratios": (1.6, 1)} if titles == [CHANGE, OF_NEVER] else {}
    figure, axes = drawing.grid(len(titles), 3, WIDTH / max(2, len(titles)), 2.9, **wide)
    for axis, title in zip(axes, titles, strict=True):
        part = shown[shown.panel == title].sort_values("kept", ascending=False)
        if title == CHANGE:
            same = (part.kept > 97) & part.series.isin(looks)
            part = part.assign(**{name: part[name].mask(same, start) for name, start in
                                  {"kept": 100, "value": 0, "low": np.nan, "high": np.nan}.items()})  # fmt: skip
            part = part[~(same & part.duplicated(["series", "kept"]))]
        drawing.lines(axis, part, "kept", "value", "series", looks)
        axis.axhline(0, **drawing.LEVEL)
        axis.set(title=_TITLES[title], xlabel="% of encoder heads left", xlim=(104, -4))
        axis.set_ylabel(_UNITS.get(title, "% kept"))
        if title == OF_NEVER:  # below zero a model is no better than one without heads, by how much says little
            axis.set_ylim(max(-40, min(-15, part.low.min() - 12, part.value.min() - 12)), 106)
            axis.text(102, -3, "no better than\nwithout heads", va="top", fontsize=7.5, color="#555555")
        if title == CHANGE:
            axis.plot(100, 0, "s", color="#777777", ms=6, zorder=5)
            axis.axhspan(-0.25, 0, color=_TOLERANCE["color"], alpha=0.15, lw=0, zorder=0)
            axis.axvspan(50, -4, color="#F2F2F2", lw=0, zorder=-1)
            axis.set_ylim(top=max(0.75, axis.get_ylim()[1]))
            for at, end, said in ((102, 1, "band: 0.25 BLEU"), (48, 0, "half gone")):
                axis.text(at, axis.get_ylim()[end], said, va=("bottom", "top")[end], fontsize=7.5, color="#555555")
        _ended(axis, part, looks, title == CHANGE, text, decoders or {})
    return figure


def _ended(
    axis, part: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], inside: bool, text: str, decoders: Mapping[str, str]
) -> None:
    """Names of curves at their last points, and of the paper's marks: right of the panel; if `inside`, of far ones beside."""
    ends, other = {}, {"natural", "generated"} - {text.partition(" ")[0]}
    for name, rows in part.groupby("series", sort=False):
        begin, _, rest = name.partition(", ")
        last, look, called = rows.iloc[-1], looks.get(name, {"color": "black"}), f"paper, {name.rpartition(' ')[2]}"
        if name in looks:
            away = bool(rest) and begin in other
            size = next((decoders[title] for title in sorted(decoders, key=len, reverse=True) if name.startswith(title)), "")
            behind = ", ".join(filter(None, (begin * away, size)))
            called = (rest if away else name) + (f"\n({behind})" if behind else "")
            look = {**look, "mfc": "white"} if rows.get("hollow", pd.Series(False)).all() else look
        elif last.kept < 100:
            look = {**drawing.PRINTED, "marker": PRINTED_MARKS[name], "mec": "black"}
            axis.plot(last.kept, last.value, **look)
        over = name not in looks
        if not inside or last.kept < (_EDGE / 2 if over else _EDGE):
            ends[called] = (min(max(last.value, axis.get_ylim()[0]), axis.get_ylim()[1]), look)
        else:
            font: dict[str, Any] = {"ha": "center", "va": "bottom"} if over else {"ha": "right", "va": "top"}
            font |= {"color": look["color"], "fontsize": 7.5}
            axis.annotate(called, (last.kept, last.value), (0, 8) if over else (-6, 0), textcoords="offset points", **font)
    _named_at_the_end(axis, ends, 2)
