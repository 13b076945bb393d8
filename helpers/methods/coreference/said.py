"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN, shown
from helpers.reading import interval, listed, number, readable

HEADS = {"probing": "heads by probing"}
ENDS = ["change", "change_low", "change_high"]


def links(name: str) -> str:
    """What people call links: "gold links, 30 % corrupted", "shuffled rule-resolver links"."""
    kind, _, change = name.partition("+")
    if kind == "none":
        return "no links"
    called = "gold links" if kind == "gold" else f"{kind}-resolver links"
    if change.startswith("corrupt:"):
        return f"{called}, {100 * float(change.partition(':')[2]):.0f} % corrupted"
    return f"{change} {called}".strip()


def with_links(name: str) -> str:
    """The row whose lowest heads were given other links, as tables have it."""
    return f"{MAIN}, no links" if name == "none" else f"{MAIN}, {shown(name)}"


def named(row: str) -> str:
    """What people call a row of a board: "random heads (draw 2)", "lowest heads, shuffled gold links"."""
    first, _, rest = row.partition(", ")
    if first.startswith("baseline: "):
        return f"guessed: {first.removeprefix('baseline: ')}"
    if first == "injected at inference":
        return f"{rest or 'lowest'} heads, at inference alone"
    if first not in ("injected", "masked"):
        return f"a {row}" if first == "layer of its own" else row
    which, _, more = rest.partition(", ")
    which, _, count = which.partition(" ")
    heads = HEADS.get(which, f"{which} {count} heads" if count and which != "random" else f"{which} heads")
    heads += f" (draw {count})" if count and which == "random" else ""
    parts = [heads + (" masked" if first == "masked" else "")]
    if more.startswith("written with "):
        parts.append(f"written with {links(more.removeprefix('written with '))}")
    elif more:
        parts.append("off in writing" if more == "heads off at inference" else _more(more))
    return ", ".join(filter(None, parts))


def _more(name: str) -> str:
    return name if re.search(" (links|spans|layers)$", name) else links(name)


def called(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its rows called as people call them."""
    return table.assign(row=table.row.map(named))


def wide(
    table: pd.DataFrame, value: str, caption: str, form: str = ".1f", best: bool = False, what: str = "heads"
) -> Markdown:  # fmt: skip
    """Metrics side by side, a line a row (`what` their title), `x [low, high]` of intervals; the best of each bold if asked."""
    ends = {"value": ("low", "high"), "change": ("change_low", "change_high")}.get(value, ())
    lines = {what: list(dict.fromkeys(table.row))}
    for metric, part in table.groupby("metric", sort=False):
        part = part.drop_duplicates("row").set_index("row").reindex(lines[what])
        cells = [interval(*numbers, form=form) for numbers in part[[value, *ends]].to_numpy()]
        winner = part[value].argmax() if best and part[value].notna().any() else -1
        lines[metric] = [f"**{cell}**" if place == winner else cell for place, cell in enumerate(cells)]
    return readable(pd.DataFrame(lines | {what: [named(row) for row in lines[what]]}), caption=caption)


def change(table: pd.DataFrame, row: str, metric: str = "ROUGE-1", form: str = "+.1f", ends: bool = True) -> str:
    """A row's change with its interval, or without; "not measured" where it is not there."""
    found = table[(table.row == row) & (table.metric == metric)]
    return interval(*found.iloc[0][ENDS if ends else ENDS[:1]], form=form) if len(found) else "not measured"


def sides(table: pd.DataFrame) -> tuple[list[str], list[str], list[str]]:
    """Names of the rows that are higher, lower and neither, by the interval of their change (not corrected)."""
    names = table.row.map(named)
    higher, lower = table.change_low > 0, table.change_high < 0
    return names[higher].tolist(), names[lower].tolist(), names[~higher & ~lower].tolist()


def choice(against: pd.DataFrame) -> str:
    """How much more the lowest heads gain than others: of `tables.against_controls` with these as controls."""
    own = against[against.metric == "ROUGE-1"].rename(columns={"control": "row"})
    return f"Lowest heads minus {listed(f'{named(row)} {change(own, row)}' for row in own.row)}"


def answer(against: pd.DataFrame, over: pd.DataFrame, by: str, behind: str) -> str:
    """Whether links, the choice of heads and better links count: of `tables.against_controls`, and gains over `behind`."""
    own, gold = against[against.metric == "ROUGE-1"].set_index("control"), with_links("gold")
    said = f"With {links(by)} in the lowest heads ROUGE-1 changes by {change(over, MAIN)} ({behind})."
    asked = {with_links(f"{by}+shuffled"): ("Links", "beat", "are not told from", "lose to", "shuffled ones"),
             "injected, random": ("A choice by importance", "beats", "is not told from", "loses to", "chance")}  # fmt: skip
    for row, (what, *verbs, rival) in asked.items():
        if row in own.index:
            verb = verbs[0 if own.change_low[row] > 0 else 2 if own.change_high[row] < 0 else 1]
            said += f" {what} {verb} {rival}: {interval(*own.loc[row, ENDS], '+.1f')}."
    if gold in set(over.row):
        main, best = (over[(over.row == row) & (over.metric == "ROUGE-1")].iloc[0] for row in (MAIN, gold))
        times = f" gain about {number(best.change / main.change, '.1f')} times as much" if main.change_low > 0 else ""
        said += f" Gold links{times}: {change(over, gold)}."
    return said


def people(board: tables.Board, row: str) -> str:
    """How many events a row tells with the right people, beside references whose people are guessed."""
    known = tables.baselines(board, against=row)
    known = known[known.metric == tables.EVENTS]
    more, less, open_ = sides(known)  # of the guessed ones
    own = known.value.iloc[0] - known.change.iloc[0]
    parts = [(less, "by interval more than"), (more, "by interval less than"), (open_, "by interval not apart from")]
    beside = {named(one.row): f"*{named(one.row).removeprefix('guessed: ')}* ({one.value:.1f})" for one in known.itertuples()}
    told = [f"{words} {listed(beside[name] for name in names)}" for names, words in parts if names]
    return f"{own:.1f} %, {'; '.join(told)}"


def ranking(agreement: pd.DataFrame, same: pd.DataFrame, layers: int) -> str:
    """Whether trainings rank heads alike: of `rank_agreement` and `tables.same_lowest`, "seed N" being other weights."""
    others = [name for name in agreement if name != PLAIN and name.startswith("seed")]
    own = [name for name in agreement if name != PLAIN and name not in others]
    if not own:
        return "No other training was run from the same start."
    alike, same = agreement.loc[PLAIN, own], same[same.row.isin(own)]
    said = f"Trained otherwise from the same start, heads rank like the plain model's at {number(alike.min())} or more"
    if others:
        said += f" (from other weights at most {number(agreement.loc[PLAIN, others].max())})"
    half, lowest = (round(layers * same[name].sum()) for name in ("in the lower half", "same head"))
    return f"{said}; a layer's lowest head stays in its lower half in {half} of {layers * len(own)} cases, lowest in {lowest}."


def masking(curves: pd.DataFrame, allowed: float) -> str:
    """What masking costs in ROUGE-1, and what the claim allows, a share of the plain model's (less than 0)."""
    curves = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    asked = {("lowest", 1): "one lowest head a layer", ("lowest", 3): "three", ("highest", 1): "one highest"}
    told = [f"{said} {interval(*curves.loc[place, ENDS], '+.1f')}" for place, said in asked.items() if place in curves.index]
    rule = f"The claim allows three {number(allowed * curves.value['lowest', 0], '+.2f')} ({number(allowed, '%')})"
    return f"Off, ROUGE-1: {'; '.join(told)}; all heads {number(curves['all off'].iloc[0], '+.1f')}. {rule}; printed: -0.5 %."


def masked(table: pd.DataFrame, allowed: float) -> str:
    """What three lowest heads a layer off cost in every training setting, beside what the claim allows."""
    part = table[(table.metric == "ROUGE-1") & (table.order == "lowest") & (table.number == 3)]
    if part.empty:
        return ""
    points, shares = (f"{number(-each.max(), '.1f')} to {number(-each.min(), '.1f')}" for each in (part.change, part.percent))
    surely = int((part.change_high < allowed * (part.value - part.change)).sum())
    many = f"{(part.percent < 100 * allowed).sum()} of {len(part)} trainings lose more than the claim allows"
    told = f"{many} ({number(-allowed, '%')}), {surely} by interval"
    return f"Three lowest heads a layer off cost {points} points of ROUGE-1, {shares} %: {told}."


def where(grouped: pd.DataFrame, over: pd.DataFrame) -> str:
    """Which heads, layers and matrices gain most beside the paper's way, and layers of their own over several trainings."""
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").sort_values("change")
    best, least = part.row.iloc[-1], part.row.iloc[0]
    paper = "" if best == MAIN else f" against {change(part, MAIN)} of the paper's way"
    said = f"Of {len(part)} rows, one training each, *{named(best)}* gains most: {change(part, best)} ROUGE-1{paper}"
    own = [row for row in dict.fromkeys(over.row) if "seeds" in over and row.startswith("layer of its own")]
    for row in own:
        gains = " against ".join(change(over, name, ends=False) for name in (row, MAIN))
        said += f"; *{named(row)}*, over {over.seeds.max()} trainings, {gains}"
    return f"{said}; least *{named(least)}*, {change(part, least, ends=False)}."


def moved(every: pd.DataFrame) -> str:
    """How far injected heads rise in their layer, under links and under a matrix that says nothing."""
    means, count = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean(), every.seed.nunique()
    told = [
        f"{named(name)} {number(one.rank_before, '.1f')} → {number(one.rank_after, '.1f')}" for name, one in means.iterrows()
    ]
    said = f"Mean of {count} trainings (drawn: the first), rank" if count > 1 else "Mean rank"
    return f"{said} in the layer before and after: {'; '.join(told)}."


def matters(more: pd.DataFrame, judged: Sequence[str] = ()) -> str:
    """In how many layers links make heads matter more than an empty matrix: of `tables.matter_more`, and as judged."""
    if more.empty:
        return ""
    alone, told = more.low.isna().all(), []
    for control, part in more.groupby("control", sort=False):
        higher = int((part.more > 0).sum() if alone else (part.low > 0).sum())
        told.append(f"than with {named(control).partition(', ')[2]} in {higher} of {len(part)} layers")
    sure = sum(side == "for" for side in judged)
    by = "" if alone else ", each by its own interval"
    by += f"; corrected for all rows, {sure} of these {len(judged)} remain{'s' * (sure == 1)}" if judged and not alone else ""
    return f"Importance of the injected heads after training is higher {listed(told)}{by}." if told else ""


def clusters(curve: pd.DataFrame, over: pd.DataFrame, given: Mapping[str, str]) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), and what those of each kind gain over trainings."""
    drawn = curve[curve.metric == "ROUGE-1"].sort_values("conll", kind="stable")
    points = [drawn.iloc[0], drawn.iloc[-1], drawn[drawn.row == MAIN].iloc[0], *nearest(curve)]
    names = ["", ",", f"; {links(given[MAIN])}", f", {links(points[-1].clusters.partition('+')[0])} corrupted"]
    told = [f"{name} {number(one.change, '+.1f')} at {one.conll:.0f}" for name, one in zip(names, points, strict=False)]
    count = int(over.seeds.max()) if "seeds" in over else 1
    means = [f"{links(name)} {change(over, row, ends=False)}" for row, name in given.items() if row in set(over.row)]
    said = f"First training; means of {count}" if count > 1 else "By links"
    return f"Change of ROUGE-1 by clusters' F1:{''.join(told)}. {said}: {', '.join(means)}."


def nearest(curve: pd.DataFrame) -> list[pd.Series]:
    """The row of ROUGE-1 with corrupted clusters about as good as the main row's, if there are such."""
    first = curve[curve.metric == "ROUGE-1"]
    worse = first[first.clusters.str.contains("corrupt")]
    apart = (worse.conll - first.conll[first.row == MAIN].iloc[0]).abs().sort_values(kind="stable")
    return [worse.loc[place] for place in apart.index[:1]]


def errors(curve: pd.DataFrame, gap: pd.DataFrame) -> str:
    """Whether clusters as good are as much use: of `tables.quality_curve`, and the main row's scores against `nearest`."""
    (other,), own = nearest(curve), curve[curve.row == MAIN].iloc[0]
    more, less, _ = sides(gap[gap.metric == "ROUGE-1"])
    how = "more than" if less else "less than" if more else "about as much as"
    equal = "Equal F1 is not equal use: t" if how[:5] != "about" and abs(own.conll - other.conll) < 3 else "T"
    f1 = f"F1 {own.conll:.0f} against {other.conll:.0f}, one training"
    return f"{equal}he resolver's errors cost {how} random corruption ({change(gap, MAIN)} ROUGE-1 at {f1})."


def left(table: pd.DataFrame) -> str:
    """What is left of the gain when the trained model writes without links: of `tables.scores`."""
    part, none = table[table.metric == "ROUGE-1"].set_index("row"), f"{MAIN}, written with none"
    if part.change_low[MAIN] <= 0:
        here = f"Here there is no sure gain to lose ({change(table, MAIN)})"
    elif part.change_low[none] > 0:
        here = f"Here {change(table, none)} is left without links: that, training with the matrix has put into the weights"
    else:
        here = f"Here that is all of the gain: without links {change(table, none)} is left"
    lost = "Whatever is lost when the trained model writes without the right links, it had read from them while writing"
    return f"{lost}. {here}."


def any_sure(table: pd.DataFrame, metric: str) -> str:
    """Which rows change a metric, by the interval of each: one sentence."""
    part = table[(table.metric == metric) & (table.row != PLAIN)]
    more, less, open_ = sides(part)
    if not more and not less:
        return f"No row changes {metric} by its interval."
    parts = (more, "up"), (less, "down"), (open_, "neither")
    told = [f"{words}: {listed(f'*{name}*' for name in names)}" for names, words in parts if names]
    return f"{metric}, by interval {'; '.join(told)}."
