"""Figures of coreference injection (Liu & Chen 2023): one function per kind of figure, in the style of `helpers.drawing`.

Each refuses, in one sentence, a table that is empty, lacks a column or a metric that is asked for, or has a point twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import MaxNLocator

from helpers import drawing
from helpers.drawing import MODELS, WIDTH, left, redrawable
from helpers.measures import figures
from helpers.methods.coreference import said
from helpers.study import StudyError

UNITS = {"events": "events with the right people, points"}
F1 = {"MUC": MODELS[5], "B-cubed": MODELS[2], "CEAF-e": MODELS[4], "CoNLL": MODELS[0]}
ORDERS = {
    "lowest": {"color": MODELS[0], "marker": "o"}, "highest": {"color": MODELS[1], "marker": "s"},
    "random": {"color": "#777777", "marker": "", "lw": 1.0},
}  # fmt: skip
CALLED = {"lowest": "least important", "highest": "most important", "random": "random, each draw"}
LIMIT = {"color": "black", "lw": 0.8, "ls": ":"}
LINKS = LinearSegmentedColormap.from_list("links", [(0, "white"), (0.05, "#6BAED6"), (1, "#08306B")])  # 1/20 is no grey


def _chosen(frame: pd.DataFrame, metrics: Sequence[str] | None) -> pd.DataFrame:
    """The rows of the chosen metrics, or of all, in their order; `panel` says how people call them."""
    known = list(dict.fromkeys(frame.metric))
    for name in metrics or ():
        if name not in known:
            raise StudyError(f"The table has no metric {name!r}: choose from {', '.join(known)}.")
    parts = [frame[frame.metric == name].assign(panel=UNITS.get(name, name)) for name in metrics or known]
    return pd.concat(parts)


# --- matrices and heads ----------------------------------------------------------------------------------------------


@redrawable
def matrices(words: Sequence[str], tables: Mapping[str, np.ndarray]):
    """Coreference matrices of one text: rows look, columns are looked at.

    Rows of the identity, of tokens that are linked to nothing, are grey, as are the names of tokens outside of all links. At
    the right stands the weight of a row's squares, where these are alike.

    Parameters
    ----------
    words : sequence of str
        Tokens of the text.
    tables : mapping of title -> array [tokens, tokens]
        Rows sum to 1. Where the tokens are too many to name them all, those with links are named.

    Raises
    ------
    StudyError
        If there are no tokens or no matrix, or a matrix does not fit the tokens.
    """
    count = len(words)
    if not count or not tables:
        raise StudyError("There is nothing to draw: give at least one token and one matrix.")
    words = [word.strip("▁") or word for word in words]  # how subwords mark that a word starts
    tables = {title: np.asarray(table, float) for title, table in tables.items()}
    for title, table in tables.items():
        if table.shape != (count, count):
            raise StudyError(f"The matrix of {title} has the shape {table.shape}: there are {count} tokens.")
    away = {title: np.any(table != np.eye(count), 1) for title, table in tables.items()}
    named = np.any([away[title] | np.any(table[away[title]] > 0, 0) for title, table in tables.items()], 0)
    room = 0.065 * max(map(len, words)) + 0.15
    across = min(len(tables), 3, max(1, int((WIDTH - room - 0.7) / max(1.6, 0.05 * count))))
    side = min(max(2.2, 0.07 * count), (WIDTH - room - 0.7) / across)
    figure, axes = drawing.grid(len(tables), across, side + (room + 0.7) / across, side + room + 0.4)
    words = words if 72 * side / count >= 7 else [word if linked else "" for word, linked in zip(words, named, strict=True)]
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        rows = away[title][:, None]
        axis.imshow(np.where(~rows & (table > 0), 0.25, np.nan), cmap="Greys", vmin=0, vmax=1, zorder=1)
        axis.imshow(np.where(rows & (table > 0), table, np.nan), cmap=LINKS, vmin=0, vmax=1, zorder=1)
        for place in np.flatnonzero(rows):
            axis.axhline(place, color="#EEEEEE", lw=0.8, zorder=0)
            weights = np.unique(table[place][table[place] > 0].round(6))
            share = f"1/{1 / weights[0]:.0f}" if len(weights) == 1 else ""
            axis.text(1.015, place, share, transform=axis.get_yaxis_transform(), va="center", fontsize=7, color="#08306B")
        axis.set(title=title, xlabel="to", ylabel="from" if left(axis) else "")
        axis.set_xticks(range(count), words, rotation=90, fontsize=7, parse_math=False)
        axis.set_yticks(range(count), words if left(axis) else [""] * count, fontsize=7, parse_math=False)
        axis.tick_params(length=0, pad=2)
        axis.spines[:].set(visible=True, color="#B0B0B0", lw=0.6)
        for labels in (axis.get_xticklabels(), axis.get_yticklabels()):
            for text, linked in zip(labels, named, strict=True):
                text.set_color("black" if linked else "#8C8C8C")
    entries = {"attends to itself alone": plt.get_cmap("Greys")(0.25)} if not np.all([*away.values()]) else {}
    entries |= {"a link (darker: of more weight, written at the right)": LINKS(0.3)}
    drawing.legend(figure, drawing.squares(entries))
    return figure


def _heads(axis, column: pd.Series, cmap: str, limits: tuple[float, float], texts: bool = False):
    """One map of heads, a row a layer, layer 1 at the bottom: what it shows, and the image."""
    sites = drawing.ordered_sites(column.index.droplevel("head"))[::-1]
    part = column.unstack("head").loc[sites]
    said = part.map(lambda value: f"{value:.0f}" if abs(value) > 9.95 else f"{value:.1f}") if texts else None
    drawn = drawing.heat(axis, part, said, cmap, limits)
    axis.set_xticks(range(part.shape[1]), part.columns + 1, fontsize=7)
    axis.set_yticks(range(len(sites)), [site[1] + 1 for site in sites], fontsize=7)
    return part, drawn


@redrawable
def mechanism():
    """What injection does to one head: its weights are set, its values and output projection are kept and trained."""
    figure, axis = plt.subplots(figsize=(WIDTH, 1.5))
    axis.set(xlim=(-1, 101), ylim=(0, 30))
    axis.set_axis_off()
    grey, blue, red = "#8C8C8C", MODELS[0], "#B00020"
    boxes = ((0, 15, 13, "tokens  H", "black"), (20, 24, 16, "Q · K, softmax", grey), (20, 5, 16, "values  V", "black"),
             (52, 24, 24, "M: coreference links", blue), (59, 5, 10, "M · V", "black"),
             (80, 5, 20, "output projection", "black"))  # fmt: skip
    for x, y, wide, text, colour in boxes:
        axis.add_patch(FancyBboxPatch((x, y - 4), wide, 8, "round,pad=0.2", fc="white", ec=colour, lw=1.2))
        clear = {"fc": "white", "ec": "none", "pad": 0.5}  # the cross ends at the text
        axis.text(x + wide / 2, y, text, ha="center", va="center", fontsize=8, color=colour, bbox=clear)
    arrows = (((16.5, 24), (20, 24), grey), ((16.5, 5), (20, 5), "black"), ((36, 5), (59, 5), "black"),
              ((64, 20), (64, 9.2), blue), ((69, 5), (80, 5), "black"))  # fmt: skip
    for start, end, colour in arrows:
        axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.0, "shrinkA": 0})
    axis.plot([16.5, 16.5, 16.5], [5, 15, 24], color=grey, lw=1.0)
    axis.plot([13, 16.5], [15, 15], color="black", lw=1.0)
    axis.plot([19.8, 36.2, np.nan, 19.8, 36.2], [20, 28, np.nan, 28, 20], color=red, lw=1.2)
    notes = ((28, 31, "struck out", 7.5, red), (47, 8, "kept, trained on", 7.5, "black"),
             (90, 12, "kept, trained on", 7.5, "black"), (64, 31, "set, not learned", 7.5, blue))  # fmt: skip
    for x, y, text, size, colour in notes:
        axis.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)
    return figure


@redrawable
def importance_maps(table: pd.DataFrame, others: Sequence[str] = ()):
    """Importance of heads after different trainings, the lowest head of each layer marked: trainings from other weights below.

    Parameters
    ----------
    table : pandas.DataFrame
        On (kind, layer, head), as `helpers.methods.coreference.tables.rankings` returns it. Of equal heads the first is marked.
    others : sequence of str
        Columns of models trained from other weights: they stand in a row of their own.
    """
    drawing.of_heads(table)
    rows = {"same start": [name for name in table if name not in others], "other weights": [*others]}
    rows = {title: names for title, names in rows.items() if names}
    across, tall = max(map(len, rows.values())), 0.14 * len(set(table.index.droplevel("head"))) + 0.78
    size = min(WIDTH, 0.9 + 1.8 * across), tall * len(rows) + 0.35
    figure, axes = plt.subplots(len(rows), across, figsize=size, squeeze=False)
    mark = {"ls": "", "marker": "o", "ms": 4, "mfc": "white", "mec": "black", "mew": 0.8}
    *_, last = rows.values()
    for line, (title, names) in zip(axes, rows.items(), strict=True):
        for axis in line[len(names) :]:
            axis.set_axis_off()
        for axis, name in zip(line, names, strict=False):
            part, drawn = _heads(axis, table[name], "viridis", (0, table.max(axis=None)))
            axis.plot(part.columns.get_indexer(part.idxmin(axis=1)), range(len(part)), **mark)
            axis.set_title(str(name), fontsize=8)
            axis.set_xlabel("head" if names is last else "", fontsize=8)
        line[0].set_ylabel(f"{title if len(rows) > 1 else ''}\nlayer".strip(), fontsize=8)
    drawing.bar(figure, drawn, axes, "importance,\nnormalised by layer")
    drawing.legend(figure, {"least important of its layer": mark})
    return figure


@redrawable
def agreement(table: pd.DataFrame):
    """Rank correlation of heads' importance between trainings.

    Parameters
    ----------
    table : pandas.DataFrame
        Square, as `helpers.measures.ranks.rank_agreement` returns it.
    """
    drawing.need(table)
    if list(table.index) != list(table.columns):
        raise StudyError("The rows of the table are not its columns: give correlations of the same names on both sides.")
    return figures.agreement({"": table})


@redrawable
def ablation(frames: Mapping[str, pd.DataFrame]):
    """How much the loss rises with one head off: a panel a title, and their mean if there are several.

    Parameters
    ----------
    frames : mapping of title -> DataFrame
        On (kind, layer, head), all on the same heads; loss (rise, nats a token).
    """
    if not frames:
        raise StudyError("There is no table to draw: give the loss of at least one model.")
    for frame in frames.values():
        drawing.of_heads(frame, "loss")
    shown = pd.DataFrame({title: 1000 * frame.loss for title, frame in frames.items()})
    if shown.isna().to_numpy().any():
        raise StudyError("A head has no loss in one of the tables: give all tables a loss of the same heads.")
    if len(frames) > 1:
        shown["mean"] = shown.mean(axis=1)
    top = shown.abs().to_numpy().max() or 1.0
    heads = shown.index.get_level_values("head").max() + 1
    wide = min(max(1.5, (0.21 if heads <= 8 else 0.17) * heads + 0.4), WIDTH - 0.7)
    tall = max(0.5, 0.19 * len(set(shown.index.droplevel("head")))) + 0.75
    figure, axes = drawing.grid(shown.shape[1], 4, wide, tall)
    for axis, (title, column) in zip(axes, shown.items(), strict=True):
        _, drawn = _heads(axis, column, "RdBu_r", (-top, top), heads <= 8)
        axis.set(xlabel="head", ylabel="layer" if left(axis) else "", title=title)
    drawing.bar(figure, drawn, axes, "rise of the loss,\n0.001 nats a token")
    return figure


# --- scores ----------------------------------------------------------------------------------------------------------


@redrawable
def masking_curves(frame: pd.DataFrame, metrics: Sequence[str] | None = None, title: str = "", allowed: float = 0.0):
    """Scores with the lowest, the highest or random heads of each layer off, a panel a metric.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.masking` returns it: metric, order, number (heads a layer that are off; 0 is the
        plain model), draw, value, low, high. Of random heads each draw is a line.
    metrics : sequence of str, optional
        All by default.
    title : str
        Above the figure.
    allowed : float
        A share of the plain model's first score, such as -0.01, at which a line is drawn.

    Raises
    ------
    StudyError
        If the plain model is missing, or an order is unknown.
    """
    once, above = ("metric", "order", "number", "draw"), title
    drawing.need(frame, "metric", "order", "number", "draw", "value", "low", "high", once=once)
    frame = _chosen(frame, metrics)
    frame = frame.assign(panel=frame.panel.str.replace(", points", ", %"))  # values, not changes
    if unknown := set(frame.order) - set(ORDERS):
        raise StudyError(f"There is no order {min(unknown)!r} of heads: choose from {', '.join(ORDERS)}.")
    drawn, table = frame[frame.order == "random"], frame[frame.order != "random"].replace({"order": CALLED})
    entries = {CALLED[order]: look for order, look in ORDERS.items() if order in set(frame.order)}
    figure, axes = drawing.line_panels(
        table, "number", "value", "order", entries, label="heads off in each layer (bands: 95 % interval)",
        band=(CALLED["lowest"], CALLED["highest"]), size=(WIDTH / min(3, max(2, frame.panel.nunique())), 2.4),
    )  # fmt: skip
    for (title, _), part in drawn.groupby(["panel", "draw"]):
        ends = drawn[(drawn.panel == title) & ~drawn.number.isin(part.number)]  # no and all heads are the same in each draw
        part = pd.concat([part, ends]).drop_duplicates("number").sort_values("number")
        axes[title].plot(part.number, part.value, zorder=1.5, **ORDERS["random"])
    for place, (title, axis) in enumerate(axes.items()):
        plain = frame.value[(frame.panel == title) & (frame.number == 0)]
        if plain.empty:
            raise StudyError(f"The table has no {title} of the plain model: give it rows with 0 heads off.")
        if allowed and not place:
            level = plain.iloc[0] * (1 + allowed)
            axis.axhline(level, zorder=1, **LIMIT)
            axis.annotate(f"our limit: {-100 * allowed:g} % lower", (1, level), (0, 2), xycoords=("axes fraction", "data"),
                          textcoords="offset points", ha="right", fontsize=7)  # fmt: skip
            for heads, text in ((1, "1: injected"), (3, "3: the claim")):
                axis.axvline(heads, zorder=0, color="#D0D0D0", lw=0.8)
                axis.annotate(
                    text,
                    (heads, 0),
                    (2, 3),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    fontsize=7,
                )
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    figure.suptitle(above, fontsize=9)
    return figure


@redrawable
def changes(frame: pd.DataFrame, metrics: Sequence[str] | None = None, title: str = ""):
    """How rows differ from the plain model: a line a row, a panel a metric, the change in figures at the right.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.scores` or `over_seeds` returns it: row, metric, change, change_low, change_high
        (nan where there is no interval). With a column `group`, rows of a group stand together below its name; the
        names and dots of those that are the `answer` (bool) have a colour of their own.
    metrics : sequence of str, optional
        All by default.
    title : str
        Above the figure.
    """
    once = [*({"group"} & {*frame}), "row", "metric"]
    drawing.need(frame, "row", "metric", "change", "change_low", "change_high", once=once)
    table = _chosen(frame, metrics)
    table = table.assign(value=table.change, low=table.change_low, high=table.change_high)
    table["said"] = [f"{round(c, 1) + 0.0:+.1f}".replace("-", "−") if np.isfinite(c) else "" for c in table.change]
    table["panel"] = table.panel.map(lambda name: fill(name, 18 if table.panel.nunique() > 2 else 40))
    own = {"others": {"color": MODELS[0]}, "answer": {"color": MODELS[1], "ms": 6}} if "answer" in table else None
    if own:
        table["series"] = np.where(table.answer, "answer", "others")
    figure, axes = drawing.dot_panels(table, own, told=False, label="change against plain,\n95 % interval")
    answers = set(table.row[table.answer]) if own else set()
    for text in (text for axis in axes.values() for text in axis.get_yticklabels() if text.get_text() in answers):
        text.set(color=MODELS[1], fontweight="bold")
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


@redrawable
def gains(frame: pd.DataFrame, by: str):
    """`changes` in ROUGE-1 of rows with other links in the least important heads; `by` whose links are the answer's."""
    return changes(said.arranged(frame, by), ["ROUGE-1"])


@redrawable
def choices(frame: pd.DataFrame):
    """What links gain in chosen heads by what these heads cost off in the plain model: a point a choice, a line a training.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.choices` returns it: row, seed, loss, change. A line ends with its training's
        number. A choice made in one training of several is a large open mark.
    """
    drawing.need(frame, "row", "seed", "loss", "change", once=("row", "seed"))
    once = {row for row, part in frame.groupby("row") if len(part) < frame.seed.nunique()}
    names = frame.row.where(~frame.row.isin(once), frame.row + " (training " + frame.seed.astype(str) + ")")
    looks = {row: look | {"ls": "", "ms": 6} for row, look in drawing.looks(dict.fromkeys(names)).items()}
    for row in set(names) - set(frame.row):
        looks[row] |= {"ms": 10, "mfc": "none", "mec": looks[row]["color"], "mew": 1.4}
    figure, axes = drawing.line_panels(
        frame.assign(panel="", row=names), "loss", "change", "row", looks, size=(5.6, 3.3),
        unit="ROUGE-1 with links,\nchange against plain",
        label="rise of the loss in the plain model, each chosen head off alone, added up,\n0.001 nats a token",
    )  # fmt: skip
    (axis,) = axes.values()
    axis.axhline(0, **drawing.LEVEL)
    for seed, part in frame.sort_values("loss").groupby("seed"):
        axis.plot(part.loss, part.change, color="#B0B0B0", lw=0.7, zorder=0)
        look = {"fontsize": 8, "va": "center", "bbox": {"fc": "white", "ec": "none", "pad": 0.5}}
        axis.annotate(str(seed), (part.loss.iloc[-1], part.change.iloc[-1]), (7, 0), textcoords="offset points", **look)
    return figure


@redrawable
def before_after(frame: pd.DataFrame):
    """Rise of the loss with one such head off, in the plain model and trained with links: a panel a layer, one of their mean.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.rises` returns it: row, layer; before, after, each with _low and _high (nan where
        there is no interval). "before" is the plain model, in which all rows have the same heads; layer 0 is the mean.
    """
    drawing.need(frame, "row", "layer", "before", "after", once=("row", "layer"))
    names = frame.row.str.replace(r".*\((.+)\)", r"\1", regex=True)  # themselves (no links)
    looks = {"before": {"color": "#777777", "marker": "D"}, "after": {"color": MODELS[0], "marker": "o"}}
    parts = [frame[frame.row == frame.row.iloc[0]].assign(row="plain model"), frame.assign(row=names)]
    table = pd.concat([part.assign(series=name, value=part[name], low=part[f"{name}_low"], high=part[f"{name}_high"],
                                   said=(part[name].round(1) + 0.0).map("{:.1f}".format).str.replace("-", "−"))
                       for name, part in zip(looks, parts, strict=True)])  # fmt: skip
    table = table.assign(panel=("layer " + table.layer.astype(str)).where(table.layer > 0, "mean of layers"))
    table = table.sort_values("layer", key=lambda layers: layers.where(layers > 0, np.inf), kind="stable")
    figure, _ = drawing.dot_panels(table.drop(columns="group", errors="ignore"), looks, sharex=True, told=False)
    figure.supxlabel("rise of the loss with one such head off, 0.001 nats a token, 95 % interval", fontsize=8.5)
    return figure


@redrawable
def quality(frame: pd.DataFrame, metrics: Sequence[str] | None = None, title: str = ""):
    """Change against the plain model by the quality of the clusters that were given, a panel a metric.

    Corrupted clusters are joined in order of their quality, up to the clusters that they were made from.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.quality_curve` returns it: metric, clusters, conll (CoNLL F1, percent), change,
        change_low, change_high; people (he and she that are right, percent) is written at each point.
    metrics : sequence of str, optional
        All by default.
    """
    drawing.need(frame, "metric", "clusters", "conll", "change", "change_low", "change_high", once=("metric", "clusters"))
    parts = frame.clusters.str.partition("+corrupt:")
    table = frame.assign(low=frame.change_low, high=frame.change_high, joined=parts[2] != "", base=parts[0])
    table = _chosen(table.assign(line=frame.clusters.map(said.links).where(~table.joined, "corrupted")), metrics)
    looks = drawing.looks(table.sort_values("joined", ascending=False, kind="stable").line)
    figure, axes = drawing.grid(table.panel.nunique(), 2, WIDTH if table.panel.nunique() == 1 else WIDTH / 2, 2.6)
    for axis, (name, part) in zip(axes, table.groupby("panel", sort=False), strict=True):
        drawing.lines(axis, part, "conll", "change", "line", {line: look | {"ls": ""} for line, look in looks.items()})
        axis.axhline(0, **drawing.LEVEL)
        axis.set(xlim=(min(part.conll.min(), 34) - 16, 124), xticks=range(40, 101, 20), title=name)
        axis.set(xlabel="CoNLL F1 of the clusters, %", ylabel="change against plain,\n95 % interval" if left(axis) else "")
        for base, rows in part[part.joined].sort_values("conll").groupby("base"):
            ends = pd.concat([rows, part[part.clusters == base]])
            axis.plot(ends.conll, ends.change, lw=1.2, color=looks["corrupted"]["color"], zorder=1)
        for one in part.itertuples():
            right = f"he/she {people:.0f} %" if (people := getattr(one, "people", np.nan)) == people else ""
            own = f"{one.line}:\nF1 {one.conll:.0f}" if one.line == "resolver links" else one.line
            text = right if one.joined else ", ".join(filter(None, (own, right)))
            look = {"color": looks[one.line]["color"], "fontsize": 7.5, "va": "center", "ha": "right" if one.joined else "left"}
            place = (-5, 8) if one.joined else (6, 0 if one.change > 0 else -9)
            axis.annotate(text, (one.conll, one.change), place, textcoords="offset points", **look)
    figure.suptitle(title, fontsize=9)
    return figure


@redrawable
def resolvers(frame: pd.DataFrame):
    """Scores of clusters against others: a panel a side that they are held against, a row the clusters.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `helpers.methods.coreference.tables.resolver_scores` and `gum_scores` return it: clusters, against, MUC, B-cubed,
        CEAF-e, CoNLL (F1, percent).
    """
    drawing.need(frame, "clusters", "against", *F1, once=("clusters", "against"))
    table = frame.melt(["clusters", "against"], [*F1], "series").rename(columns={"clusters": "row"})
    table["panel"] = "against " + table.against
    table["said"] = table.value.map("{:.1f}".format).where(table.series == "CoNLL", "")
    looks = drawing.looks(F1)
    entries = {name: looks[name] | {"color": colour} for name, colour in F1.items()}
    figure, axes = drawing.dot_panels(table, entries, label="F1, %", columns=1, shared=False, sharex=True, level=None)
    for axis in axes.values():
        axis.set(xlim=(0, 103), xticks=range(0, 101, 20))
    return figure
