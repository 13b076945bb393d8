"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def choice(against: pd.DataFrame, over: pd.DataFrame) -> str:
    """Whether other heads than the lowest do better: of `tables.against_controls` with them as controls, and their gains."""
    against, own = (table[table.metric == "ROUGE-1"] for table in (against, over))
    if against.empty:
        return "No other heads were tried"
    less, more, alike = sides(against.rename(columns={"control": "row"}))
    gain = dict(zip(own.row.map(named), own.change.map(lambda value: number(value, "+.1f")), strict=True))
    said = f"By interval {listed(more) if more else 'no other heads'} gain more"
    said += f"; {listed(f'{name} ({gain[name]})' for name in alike)} about as much" if alike else ""
    return f"{said}; {listed(less)} less" if less else said


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


def ranking(agreement: pd.DataFrame, same: pd.DataFrame) -> str:
    """Whether trainings rank heads alike: of `rank_agreement` and `tables.same_lowest`, "seed N" being other weights."""
    others = [name for name in agreement if name != PLAIN and name.startswith("seed")]
    own = [name for name in agreement if name != PLAIN and name not in others]
    if not own:
        return "No other training was run from the same start."
    alike, same = agreement.loc[PLAIN, own], same[same.row.isin(own)]
    said = f"Trained otherwise from the same start, heads rank like the plain model's at {number(alike.min())} or more"
    if others:
        said += f" (from other weights at most {number(agreement.loc[PLAIN, others].max())})"
    return f"{said}; a layer's lowest head stays in its lower half in {number(same['in the lower half'].mean(), '%')} of cases."


def masking(curves: pd.DataFrame, allowed: float) -> str:
    """What masking costs in ROUGE-1, and what the claim allows, a share of the plain model's (less than 0)."""
    curves = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    asked = {("lowest", 1): "one lowest head a layer", ("lowest", 3): "three", ("highest", 1): "one highest"}
    told = [f"{said} {interval(*curves.loc[place, ENDS], '+.1f')}" for place, said in asked.items() if place in curves.index]
    rule = f"The claim allows three {number(allowed * curves.value['lowest', 0], '+.2f')} ({number(allowed, '%')})"
    return f"Off, ROUGE-1: {'; '.join(told)}; all heads {number(curves['all off'].iloc[0], '+.1f')}. {rule}; printed: -0.5 %."


def where(grouped: pd.DataFrame) -> str:
    """Which heads, layers and matrices gain most, beside the paper's way."""
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").sort_values("change")
    best, least = part.row.iloc[-1], part.row.iloc[0]
    rows = part.set_index("row")
    times = f", {number(rows.change[best] / rows.change[MAIN], '.1f')} times as much as" if rows.change_low[MAIN] > 0 else ";"
    paper = "" if best == MAIN else f"{times} the paper's way ({change(part, MAIN)})"
    return f"Most gains *{named(best)}*, {change(part, best)} ROUGE-1{paper}; least *{named(least)}*, {change(part, least)}."


def moved(every: pd.DataFrame) -> str:
    """How far injected heads rise in their layer, under links and under a matrix that says nothing."""
    means, count = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean(), every.seed.nunique()
    told = [
        f"{named(name)} {number(one.rank_before, '.1f')} → {number(one.rank_after, '.1f')}" for name, one in means.iterrows()
    ]
    said = f"Mean of {count} trainings (drawn: the first), rank" if count > 1 else "Mean rank"
    return f"{said} in the layer before and after: {'; '.join(told)}."


def matters(more: pd.DataFrame) -> str:
    """In how many layers links make heads matter more than a matrix that says nothing: of `tables.matter_more`."""
    alone, told = more.low.isna().all(), []
    for control, part in more.groupby("control", sort=False):
        higher = int((part.more > 0).sum() if alone else (part.low > 0).sum())
        told.append(f"than with {named(control).partition(', ')[2]} in {higher} of {len(part)} layers")
    by = "" if alone else "; by 95 % interval of each, where the verdict corrects for all rows"
    return f"Importance of the injected heads after training is higher {listed(told)}{by}." if told else ""


def clusters(curve: pd.DataFrame, over: pd.DataFrame, given: Mapping[str, str]) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), and what those of each kind gain over trainings."""
    drawn = curve[curve.metric == "ROUGE-1"].sort_values("conll", kind="stable")
    points = [drawn.iloc[0], drawn.iloc[-1], drawn[drawn.row == MAIN].iloc[0]]
    worse = drawn[drawn.clusters.str.contains("corrupt")]
    points += [one for _, one in worse.loc[(worse.conll - points[2].conll).abs().sort_values().index[:1]].iterrows()]
    names = ["", ",", f"; {links(given[MAIN])}", f", {links(points[-1].clusters.partition('+')[0])} corrupted"]
    told = [f"{name} {number(one.change, '+.1f')} at {one.conll:.0f}" for name, one in zip(names, points, strict=False)]
    count = int(over.seeds.max()) if "seeds" in over else 1
    means = [f"{links(name)} {change(over, row, ends=False)}" for row, name in given.items() if row in set(over.row)]
    said = f"First training; means of {count}" if count > 1 else "By links"
    return f"Change of ROUGE-1 by clusters' F1:{''.join(told)}. {said}: {', '.join(means)}."


def sizes(table: pd.DataFrame) -> str:
    """Whether adjacent links gain more than full ones where clusters are largest: of `tables.by_cluster_size`."""
    part = table[(table.metric == "ROUGE-1") & (table.mentions == table.mentions.iloc[-1])].set_index("row")
    if (other := f"{MAIN}, adjacent links") not in part.index:
        return ""
    full, own = part.loc[MAIN], part.loc[other]
    meet = full.change_low <= own.change_high and own.change_low <= full.change_high
    gains = f"adjacent links gain {number(own.change, '+.1f')}, full ones {number(full.change, '+.1f')}"
    return f"In the largest clusters {gains}: intervals {'overlap' if meet else 'lie apart'}."


def any_sure(table: pd.DataFrame, metric: str) -> str:
    """Which rows change a metric, by the interval of each: one sentence."""
    part = table[(table.metric == metric) & (table.row != PLAIN)]
    more, less, open_ = sides(part)
    if not more and not less:
        return f"No row changes {metric} by its interval."
    parts = (more, "up"), (less, "down"), (open_, "neither")
    told = [f"{words}: {listed(f'*{name}*' for name in names)}" for names, words in parts if names]
    return f"{metric}, by interval {'; '.join(told)}."
