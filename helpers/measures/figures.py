"""Figures of measures: one function per kind of figure, in the style of `helpers.drawing`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.ticker import LogLocator, MaxNLocator

from helpers import drawing
from helpers.drawing import COLOURS, MODELS, WIDTH, left, redrawable
from helpers.measures.functions import LABELS, MARGIN, POSITIONAL, RAREST, RELATIONS, way
from helpers.measures.ranks import costliest
from helpers.measures.table import named

# --- maps of heads ---------------------------------------------------------------------------------------------------


@redrawable
def head_map(columns: Mapping[str, pd.Series], logarithmic: Collection[str] = ()):
    """All heads in their places, a column of panels a measure, a row of panels a kind of attention: coloured by the measure.

    Parameters
    ----------
    columns : mapping of title -> Series on (kind, layer, head)
        Colours go from zero to the largest head.
    logarithmic : collection of titles
        Whose colours go from a hundredth of the largest head to it, on a logarithmic scale.
    """
    index = next(iter(columns.values())).index
    kinds = drawing.kinds(index.unique("kind"))
    layers = [index[index.get_level_values("kind") == kind].unique("layer").size for kind in kinds]
    tall = 0.12 * max(sum(layers), 8) + 0.5 * len(kinds) + 0.7
    figure, axes = plt.subplots(
        len(kinds), len(columns), figsize=(min(WIDTH, 2.3 * len(columns)), tall), squeeze=False, height_ratios=layers
    )
    for place, (title, column) in enumerate(columns.items()):
        top = max(column.max(), 1e-12)
        norm = LogNorm(top / 100, top) if title in logarithmic else Normalize(0, top)
        for axis, kind in zip(axes[:, place], kinds, strict=True):
            cells = column[kind].clip(lower=norm.vmin).unstack("head")
            drawn = drawing.heat(axis, cells[::-1], cmap="viridis_r")
            drawn.set_norm(norm)
            axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            axis.xaxis.set_major_formatter(lambda head, _: f"{head + 1:.0f}")
            shown = [row for row, layer in enumerate(cells.index[::-1]) if len(cells) < 12 or (layer + 1) % 5 == 0]
            axis.set_yticks(shown, [cells.index[::-1][row] + 1 for row in shown])
            axis.set_ylabel("" if place else f"{drawing.KIND_TITLES[kind]}\nlayer")
        axes[0, place].set_title(title)
        axes[-1, place].set_xlabel("head")
        bar = figure.colorbar(drawn, ax=list(axes[:, place]), location="bottom", aspect=14, pad=0.02)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.minorticks_off()
        bar.formatter = lambda value, _: f"{value:.10g}"
    return figure


_STEPS = {0: ("another offset", "#C9C9C9", "o"), -1: ("one back", MODELS[0], "<"), 1: ("one ahead", MODELS[1], ">")}


@redrawable
def offsets_and_rare(frames: Mapping[str, Mapping], untrained: Mapping[str, Mapping], printed: Mapping[str, float]):
    """Every encoder head at one offset (above) and on rare tokens (below): a column a model, a dot a head, by layer.

    Parameters
    ----------
    frames, untrained : mapping of title -> {"positional": frame, "rare": frame} on (kind, layer, head)
        Of trained models (score and offset; two_rarest), and of some of them with random weights: all heads, or the best one.
    printed : mapping of title -> the share of the paper's rare-token head on text of that register
    """
    figure, axes = plt.subplots(2, 1, figsize=(WIDTH, 4.7), sharex=True)
    panels = {"positional": ("score", POSITIONAL, "positional: % of tokens that look at one offset"),
              "rare": ("two_rarest", RAREST, "rare tokens: % of tokens that look at one of the two rarest")}  # fmt: skip
    for axis, (name, (column, needed, title)) in zip(axes, panels.items(), strict=True):
        for at, model in enumerate(frames):
            for by_name, start, look in ((frames, -0.42, None), (untrained, 0.2, {"color": "#777777", "marker": "x", "s": 8})):
                if model not in by_name:
                    continue
                own = by_name[model][name].xs("encoder", level="kind")
                places = start + at + np.linspace(0, 0.22 if look else 0.54, len(own))
                if look:
                    axis.scatter(places, 100 * own[column], lw=0.6, **look)
                    continue
                step = own.offset.where(own.offset.abs() == 1, 0) if name == "positional" else 0 * own[column]
                for of, (_, colour, mark) in _STEPS.items():
                    shade, these = COLOURS["rare"] if name == "rare" else colour, (step == of).to_numpy()
                    axis.scatter(places[these], 100 * own[column][these], color=shade, marker=mark, ec="white", s=22, lw=0.4)
                for layer, across in pd.Series(places).groupby(own.index.get_level_values("layer")).mean().items():
                    axis.text(across, -2, f"{layer + 1}", ha="center", va="top", fontsize=7, color="#555555")
            if name == "rare" and model in printed:
                least, high = printed[model] <= needed, 100 * printed[model]  # the paper says only that it is more
                axis.plot(at - 0.37, high + 6 * least, **(drawing.PRINTED | {"marker": "^"} if least else drawing.PRINTED))
                axis.text(at - 0.31, high + 4, f"paper: {'over ' * least}{high:.0f} %", fontsize=7)
        axis.axhline(100 * needed, color="black", lw=0.9, ls="--")
        axis.text(len(frames) - 0.52, 100 * needed + 3, f"needed: {100 * needed:.0f} %", ha="right", fontsize=7.5)
        axis.text(-0.5, -2, "layer", ha="right", va="top", fontsize=7, color="#555555")
        axis.set_title(title, loc="left")
        axis.set(ylabel="% of tokens", ylim=(0, 104), xlim=(-0.5, len(frames) - 0.5))
        axis.tick_params(axis="x", length=0, pad=11)
    axes[-1].set_xticks(range(len(frames)), [title.replace(": ", ":\n") for title in frames])
    axes[0].tick_params(labelbottom=False)
    entries = {name: {"ls": "", "marker": mark, "color": colour} for name, colour, mark in _STEPS.values()}
    untaught = {"ls": "", "marker": "x", "color": "#777777", "ms": 4}
    drawing.legend(figure, entries | {"heads with random weights (one: the best)": untaught})
    return figure


@redrawable
def beside_random(table: pd.DataFrame, whole: float, label: str):
    """Perplexity without heads by each choice, a row a choice and a dot a draw, on a logarithmic scale.

    Parameters
    ----------
    table : pandas.DataFrame
        choice; rise of the loss (nats a token); low and high, drawn of choices with one draw.
    whole : float
        Perplexity with all heads: a dotted line.
    label : str
        Of the axis.
    """
    rows = pd.DataFrame({"panel": "", "row": table.choice, "value": whole * np.exp(table.rise)})
    alone = ~table.choice.duplicated(keep=False)
    rows = rows.assign(**{end: (whole * np.exp(table[end])).where(alone) for end in ("low", "high")})
    figure, panels = drawing.dot_panels(rows, level=whole, label=label)
    drawing.logarithmic(panels[""], "x")
    panels[""].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    return figure


@redrawable
def attention(examples: Sequence[Mapping[str, Any]]):
    """Attention maps of chosen heads: rows look, columns are looked at.

    Parameters
    ----------
    examples : sequence of mappings
        "title", "rows" and "columns" (words), "weights" [rows, columns]; optional: "arcs" (row, column) to be framed, "looks"
        and "looked at" (what rows and columns are).
    """
    figure, axes = drawing.grid(len(examples), 2, WIDTH / 2, 2.9)
    for axis, example in zip(axes, examples, strict=True):
        drawn = drawing.heat(axis, example["weights"], cmap="Blues")
        axis.grid(False, which="minor")
        axis.set_xticks(range(len(example["columns"])), example["columns"], rotation=90)
        axis.set_yticks(range(len(example["rows"])), example["rows"])
        for row, column in example.get("arcs", ()):
            axis.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=COLOURS["nsubj"], lw=1.4))
        names = {"xlabel": example.get("looked at", "token attended to"), "ylabel": example.get("looks", "token")}
        axis.set(title=example["title"], **names)
        axis.spines[["left", "bottom"]].set_visible(True)
    figure.set_figwidth(min(WIDTH, figure.get_figwidth() + 0.7))
    drawing.bar(figure, drawn, axes, "share of the row's weight", [0, 0.5, 1])
    return figure


@redrawable
def hits_and_misses(examples: Sequence[Mapping[str, Any]]):
    """What one head of each function does at two words: where it looks as it should, and where it does not.

    Above the words an arc leads from the looking word to where it should look; below, arcs as thick as its attention.

    Parameters
    ----------
    examples : sequence of mappings
        What `helpers.measures.measured.hits_and_misses` or `best_of_models` returns.
    """
    figure, axes = plt.subplots(len(examples), 2, squeeze=False, figsize=(WIDTH, 1.15 * len(examples) + 0.4))
    for line, example in zip(axes, examples, strict=True):
        colour = COLOURS[example["function"]]
        where = " ".join([*filter(None, [example.get("model")]), f"layer {example['layer'] + 1} head {example['head'] + 1}"])
        relation = example["function"] in RELATIONS
        said = (
            way(example["label"])
            if relation
            else f"{'rare-token' if example['function'] == 'rare' else 'positional'}, {example['label']}"
        )
        share = f"{100 * example['score']:.{int(0.995 <= example['score'] < 1)}f} %"  # no 100 % where one is missed
        of = f" (offset {100 * (example['needed'] - MARGIN):.0f} + {100 * MARGIN:.0f})" * relation
        verdict = f"{share}, needs {100 * example['needed']:.0f} %{of}"
        passes = {"open": "UNDECIDED"}.get(example.get("side", ""), "PASSES" if example["passes"] else "FAILS")
        passes = f"; held-out head {passes}" if example.get("other") else f": {passes}"
        line[0].set_title(f"{said}: {where}, {verdict}{passes}", loc="left", fontsize=8,
                          fontweight="bold" if example["passes"] else "normal")  # fmt: skip
        for axis, which in zip(line, ("hit", "miss"), strict=True):
            axis.set_axis_off()
            axis.set(xlim=(0, 1), ylim=(-1.25, 1.25))
            told = which if example[which] else f"no {which} in the sentences looked at"
            axis.text(0, 0.95, told, fontsize=7.5, style="italic", color="#555555")
            if example[which]:
                _looking(axis, colour, **example[which], guess=example.get("guess"))
    above, below = {"color": "black", "ls": "--", "lw": 1}, {"color": "#888888", "lw": 2.5}
    drawing.legend(
        figure, {"where the word should look": above, "where it looks": below, "the word at the fixed offset": _GUESS}
    )
    return figure


_GUESS = {"color": "black", "marker": "^", "ls": "", "ms": 5.5, "mfc": "white", "zorder": 5}


def _looking(
    axis, colour: str, words: Sequence[str], query: int, wanted: Sequence[int], weights: np.ndarray, guess: int | None
) -> None:
    """One word of a sentence, its wanted partners (dashed, above), its attention (below), what an offset names (triangle)."""
    widths = np.array([len(word) + 1.6 for word in words], float)
    ends = np.cumsum(widths) / widths.sum()
    middle = ends - widths / widths.sum() / 2
    for place, word in enumerate(words):
        bold = "bold" if place == query else "normal"
        axis.text(middle[place], 0, word, ha="center", va="center", fontsize=7, fontweight=bold, parse_math=False,
                  color=colour if place in wanted else "black",
                  bbox={"fc": "#FFF1A8", "ec": "none", "pad": 1.2} if place == query else None)  # fmt: skip
    if guess is not None and 0 <= query + guess < len(words):
        axis.plot(middle[query + guess], -0.36, **_GUESS)
    for place in wanted:
        _arc(axis, middle[query], middle[place], 0.16, {"color": "black", "ls": "--", "lw": 1.0})
    for place in np.flatnonzero(weights > 0.04).tolist():
        look = {"color": colour if place in wanted else "#888888", "lw": 0.4 + 4.5 * weights[place]}
        _arc(axis, middle[query], middle[place], -0.16, look)


def _arc(axis, start: float, end: float, level: float, look: Mapping[str, Any]) -> None:
    """Half an ellipse between two words, above or below them; a small loop where they are one."""
    reach = max(abs(end - start), 0.02)
    turn = np.linspace(0, np.pi, 40)
    high = np.sign(level) * min(0.85, 0.25 + 1.1 * reach)
    axis.plot((start + end) / 2 - reach / 2 * np.cos(turn), level + high * np.sin(turn), solid_capstyle="butt", **look)


# --- what heads do ---------------------------------------------------------------------------------------------------


_SIDES = {"for": ("passes", "#0072B2"), "open": ("undecided", "#B5D4E9"), "against": ("fails", "#EFEFEF")}


@redrawable
def functions_found(cases: pd.DataFrame):
    """How far the best heads lie from what the tests ask: a row a function, a column a model, coloured by what a test says.

    Of `helpers.measures.measured.functions_found`: syntactic cases stand first, those that pass most often at the top.
    """
    own, syntactic = cases[~cases.printed], cases.function.isin(RELATIONS)
    columns, texts = list(dict.fromkeys(own.model)), list(dict.fromkeys(cases[cases.printed].model))
    often = own[syntactic[own.index]].assign(above=own.beyond >= -1e-9).groupby("case", sort=False)[["passes", "above"]].sum()
    rows = [*often.sort_values(["passes", "above"], ascending=False, kind="stable").index]
    for name in dict.fromkeys(cases.case[~syntactic]):
        rows += ["", name]
    shade = np.full((len(rows), len(columns) + len(texts)), np.nan)
    figure, (axis,) = drawing.grid(1, 1, WIDTH, 0.22 * len(rows) + 1.2)
    for row in cases.itertuples():
        at = len(columns) + texts.index(row.model) if row.printed else columns.index(row.model)
        told, y = "yes" if row.least else f"{100 * row.beyond + 0.0:+.0f}", rows.index(row.case)
        side = row.side or "against"
        shade[y, at] = np.nan if row.printed else [*_SIDES].index(side)
        above = row.printed and row.beyond >= -1e-9
        ink = "black" if above else "#666666" if row.printed or side == "against" else drawing.ink(_SIDES[side][1])
        axis.text(at, y, told, ha="center", va="center", fontsize=8, color=ink, fontweight="bold" if above else "normal")
    for name, part in own.groupby("case", sort=False):
        surely, so = part.passes.sum(), (part.beyond >= -1e-9).sum()
        told, weight = f"{surely}{f' ({so})' * bool(so != surely)} of {len(part)}", "bold" if surely else "normal"
        axis.text(shade.shape[1] - 0.3, rows.index(name), told, va="center", fontsize=8, fontweight=weight)
    drawing.heat(axis, shade, cmap=ListedColormap([colour for _, colour in _SIDES.values()]), limits=(0, 2))
    axis.text(shade.shape[1] - 0.3, -0.6, "pass (above\nby estimate)", va="bottom", fontsize=8)
    axis.set_xticks(range(shade.shape[1]), [fill(name, 9) for name in columns] + [f"paper, EN-RU\n{text}" for text in texts])
    axis.tick_params(labelbottom=False, labeltop=True)
    axis.set_yticks(range(len(rows)), rows)
    axis.set_title("Best head: points above (+) or below (-) what its test asks", loc="left", pad=8)
    drawing.legend(figure, drawing.squares(dict(_SIDES.values())))
    return figure


@redrawable
def syntactic_cases(relations: pd.DataFrame):
    """For how many words the best head of each relation and direction is right: a panel a model, a row a case.

    A bar is the fixed offset's share, a tick stands ten points above it.

    Parameters
    ----------
    relations : pandas.DataFrame
        `helpers.measures.measured.syntactic_relations` (shares), with columns side (what the test says) and passes (bool).
    """
    models, keys = list(dict.fromkeys(relations.model)), list(LABELS)
    edges = {"for": _SIDES["for"][1], "open": _SIDES["for"][1], "against": "#8C8C8C"}
    looks = {side: {"ms": 6, "color": edges[side], "mfc": colour, "mec": edges[side]} for side, (_, colour) in _SIDES.items()}
    figure, axes = drawing.grid(len(models), 4, WIDTH / min(4, len(models)), 2.9, sharex=True, sharey=True)
    needs = {"color": "black", "ls": "", "marker": "|", "ms": 11, "mew": 1.6}
    for axis, model in zip(axes, models, strict=True):
        own = relations[relations.model == model]
        for _, row in own.iterrows():
            place, base = keys.index((row.relation, row.direction)), 100 * row["offset baseline"]
            axis.barh(place, base, 0.62, color="#DADADA", zorder=0)
            axis.plot(base + 100 * MARGIN, place, **needs)
            axis.plot(100 * row["accuracy held out"], place, "o", **looks[row.side or "against"])
        axis.set_title(f"{model}:\n{own.passes.sum()} of {len(own)} pass", loc="left")
        axis.set_yticks(range(len(keys)), [way(label) for label in LABELS.values()])
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set(xlim=(0, 104), xticks=(0, 50, 100), ylim=(len(keys) - 0.5, -0.5), xlabel="% of words right")
    entries = {f"head {_SIDES[side][0]}": look | {"marker": "o", "ls": ""} for side, look in looks.items()}
    entries |= drawing.squares({"fixed offset": "#DADADA"}) | {"needed: 10 points more": needs}
    drawing.legend(figure, entries)
    return figure


@redrawable
def loss_by_layer(every: pd.DataFrame):
    """The loss added without each encoder head (a shape a model), those with a function apart: the costliest layer, and others.

    Parameters
    ----------
    every : pandas.DataFrame
        `helpers.measures.measured.lost_by_head`.
    """
    layer = costliest(every)
    rest = every.drop(index=layer, level="layer")
    panels = {f"layer {layer + 1}": every.xs(layer, level="layer")}
    panels |= {"the other layers (another scale)": rest} if len(rest) else {}
    figure, axes = drawing.grid(len(panels), 2, WIDTH / 2, 2.2)
    draw, dot = np.random.default_rng(0), {"ec": "#444444", "lw": 0.7, "s": 20}
    marks = dict(zip(every.index.unique(0), drawing.MARKERS, strict=False))
    for axis, (title, heads) in zip(axes, panels.items(), strict=True):
        for at, (has, colour) in enumerate(((True, MODELS[1]), (False, "#8C8C8C"))):
            for model, own in heads[heads.has == has].groupby(level=0, sort=False):
                fills = [colour if sure else "white" for sure in own.sure]
                axis.scatter(1000 * own.loss, at + draw.uniform(-0.3, 0.3, len(own)), c=fills, marker=marks[model], **dot)
        lanes = {"with a function": heads.sure[heads.has], "without": heads.sure[~heads.has]}
        axis.set_yticks(range(2), [f"{name}\n({own.sum()} of {len(own)} filled)" for name, own in lanes.items()])
        axis.tick_params(axis="y", length=0)
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axis.set(ylim=(1.45, -0.45), xlabel="loss added without it (thousandths of a nat)")
        axis.set_title(title, loc="left")
    look = {"color": "#8C8C8C", "mec": "#444444", "marker": "o", "ls": ""}
    entries = {"filled: interval above zero": look} | {name: look | {"marker": m, "mfc": "white"} for name, m in marks.items()}
    drawing.legend(figure, entries)
    return figure


# --- relevance -------------------------------------------------------------------------------------------------------


# --- agreement -------------------------------------------------------------------------------------------------------


@redrawable
def agreement(matrices: Mapping[str, pd.DataFrame]):
    """Correlations between measures, each pair once, a panel a title.

    Parameters
    ----------
    matrices : mapping of title -> square DataFrame, see `helpers.measures.ranks.rank_agreement`
    """
    size, across = max(map(len, matrices.values())), min(2, len(matrices))
    room = 0.06 * max(len(named(name)) for matrix in matrices.values() for name in matrix.index)  # for the longest name
    cell = min(0.42, (WIDTH - 0.6 - room - 0.1 * across) / (size * across))
    wide, tall = cell * size + 0.1 + (room + 0.6) / across, min(0.34, cell) * size + room + 0.4
    figure, axes = drawing.grid(len(matrices), across, wide, tall)
    for axis, (title, matrix) in zip(axes, matrices.items(), strict=True):
        once = matrix.where(np.tri(len(matrix), k=-1, dtype=bool)).iloc[1:, :-1]  # below the diagonal
        said = once.map(drawing.short) if cell > 0.24 else None
        drawn = drawing.heat(axis, once, said, "RdBu_r", (-1, 1))
        axis.set_title(title)
        axis.set_xticks(range(len(once)), map(named, once.columns), rotation=90)
        axis.set_yticks(range(len(once)), map(named, once.index) if left(axis) else [""] * len(once))
    drawing.bar(figure, drawn, axes, "rank correlation", [-1, -0.5, 0, 0.5, 1])
    return figure


# --- training, models ------------------------------------------------------------------------------------------------
