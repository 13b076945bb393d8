"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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


def wide(table: pd.DataFrame, value: str, caption: str, form: str = ".1f", best: bool = False) -> Markdown:
    """Metrics side by side, a line a row, `x [low, high]` where there are intervals; the best of each metric bold, if asked."""
    ends = {"value": ("low", "high"), "change": ("change_low", "change_high")}.get(value, ())
    lines = {"what": list(dict.fromkeys(table.row))}
    for metric, part in table.groupby("metric", sort=False):
        part = part.drop_duplicates("row").set_index("row").reindex(lines["what"])
        cells = [interval(*numbers, form=form) for numbers in part[[value, *ends]].to_numpy()]
        winner = part[value].argmax() if best and part[value].notna().any() else -1
        lines[metric] = [f"**{cell}**" if place == winner else cell for place, cell in enumerate(cells)]
    return readable(pd.DataFrame(lines | {"what": [named(row) for row in lines["what"]]}), caption=caption)


def change(table: pd.DataFrame, row: str, metric: str = "ROUGE-1", form: str = "+.1f") -> str:
    """A row's change with its interval; "not measured" where it is not there."""
    found = table[(table.row == row) & (table.metric == metric)]
    return interval(*found.iloc[0][ENDS], form=form) if len(found) else "not measured"


def sides(table: pd.DataFrame) -> tuple[list[str], list[str], list[str]]:
    """Names of the rows that are surely higher, surely lower and neither, by the interval of their change."""
    names = table.row.map(named)
    higher, lower = table.change_low > 0, table.change_high < 0
    return names[higher].tolist(), names[lower].tolist(), names[~higher & ~lower].tolist()


def choice(against: pd.DataFrame) -> str:
    """Whether other heads than the lowest do better: of `tables.against_controls` with those heads as controls."""
    less, more, _ = sides(against[against.metric == "ROUGE-1"].rename(columns={"control": "row"}))
    said = f"Surely better than the lowest heads: {listed(more)}" if more else "No other choice is surely better"
    return f"{said}; surely worse: {listed(less)}" if less else said


def people(board: tables.Board, row: str) -> str:
    """How many events a row tells with the right people, beside references whose people are guessed."""
    known = tables.baselines(board, against=row)
    known = known[known.metric == tables.EVENTS]
    more, less, open_ = sides(known)  # of the guessed ones
    own = known.value.iloc[0] - known.change.iloc[0]
    parts = [(less, "surely more than"), (more, "surely less than"), (open_, "not surely apart from")]
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


def masking(curves: pd.DataFrame) -> str:
    """What masking costs in ROUGE-1: one and three of the lowest heads a layer, one of the highest, all."""
    curves = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    asked = {("lowest", 1): "one lowest head a layer", ("lowest", 3): "three", ("highest", 1): "one highest"}
    told = [f"{said} {interval(*curves.loc[place, ENDS], '+.1f')}" for place, said in asked.items() if place in curves.index]
    return f"Off, ROUGE-1: {'; '.join(told)}; all heads {number(curves['all off'].iloc[0], '+.1f')}. Printed: about -0.5 %."


def where(grouped: pd.DataFrame) -> str:
    """Which heads, layers and matrices gain most, beside the paper's way."""
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").sort_values("change")
    best, least = part.row.iloc[-1], part.row.iloc[0]
    own, most = (part.set_index("row").change[name] for name in (MAIN, best))
    times = (
        f", {number(most / own, '.1f')} times as much"
        if best != MAIN and own > 0 and part.set_index("row").change_low[MAIN] > 0
        else ""
    )
    said = f"Most gains *{named(best)}*, {change(part, best)} ROUGE-1{times}"
    said += (
        f" as the paper's way ({change(part, MAIN)})"
        if times
        else ""
        if best == MAIN
        else f"; the paper's way {change(part, MAIN)}"
    )
    return f"{said}; least *{named(least)}*, {change(part, least)}."


def moved(every: pd.DataFrame) -> str:
    """How far injected heads rise in their layer, under links and under a matrix that says nothing."""
    means = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean()
    told = [
        f"{named(name)} {number(one.rank_before, '.1f')} → {number(one.rank_after, '.1f')}" for name, one in means.iterrows()
    ]
    return f"Mean rank in the layer before and after: {'; '.join(told)}."


def matters(more: pd.DataFrame) -> str:
    """In how many layers links make heads matter more than a matrix that says nothing: of `tables.matter_more`."""
    told = []
    for control, part in more.groupby("control", sort=False):
        alone = part.low.isna().all()
        higher = int((part.more > 0).sum() if alone else (part.low > 0).sum())
        words = f"{'higher' if alone else 'surely higher'} than with {named(control).partition(', ')[2]}"
        told.append(f"{words} in {higher} of {len(part)} layers")
    return f"Importance of the injected heads after training: {'; '.join(told)}." if told else ""


def clusters(table: pd.DataFrame, given: Mapping[str, str], apart: pd.DataFrame | None = None) -> str:
    """What links of each kind gain, and whether a resolver's gain more than shuffled ones.

    Parameters
    ----------
    table : pandas.DataFrame
        Scores of rows against the plain model.
    given : mapping of row -> links
        In the order in which they are told.
    apart : pandas.DataFrame, optional
        Scores of the injected lowest heads against the same heads under shuffled links.
    """
    told = [f"{links(name)} {change(table, row)}" for row, name in given.items() if row in set(table.row)]
    said = f"ROUGE-1 with {', '.join(told)}"
    if apart is None or apart.empty:
        return f"{said}."
    more, less, _ = sides(apart[apart.metric == "ROUGE-1"])
    sure = "surely more" if more else "surely less" if less else "not surely more"
    return f"{said}; {links(given[MAIN])} gain {sure} than shuffled ones ({change(apart, MAIN)})."


def any_sure(table: pd.DataFrame, metric: str, rows: Iterable[str] = ()) -> str:
    """Which rows change a metric surely: one sentence."""
    part = table[(table.metric == metric) & table.row.isin(list(rows) or list(table.row)) & (table.row != PLAIN)]
    more, less, open_ = sides(part)
    if not more and not less:
        return f"No row changes {metric} surely."
    told = [
        f"{words}: {listed(names)}" for words, names in (("surely up", more), ("surely down", less), ("unsure", open_)) if names
    ]
    return f"{metric}, {'; '.join(told)}."
