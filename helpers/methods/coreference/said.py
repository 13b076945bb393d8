"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN, shown
from helpers.reading import ends, interval, listed, number, readable

OWN = "layer of its own, all"
FREE = "no injection, trained otherwise"
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


def chance(own: pd.DataFrame, table: pd.DataFrame, behind: str) -> str:
    """Whether the lowest heads gain more than random ones: of `tables.against_controls` in ROUGE-1, on their control, and of
    `tables.scores` of one training for draws that were trained once."""
    alone, told, sides = table[table.metric == "ROUGE-1"].drop_duplicates("row").set_index("row"), [], []
    for row in dict.fromkeys(name for name in (*own.index, *alone.index) if name.startswith("injected, random")):
        one = "one draw" if not told else "a second" if len(told) == 1 else "another"
        if row in own.index:
            low, high = own.change_low[row], own.change_high[row]
            sides.append("less" if low > 0 else "more" if high < 0 else "as well")
            verb = "does as well" if sides[-1] == "as well" else f"gains {sides[-1]}"
            told.append(f"{one} {verb} ({behind}, difference {interval(*own.loc[row, ENDS], '+.1f')})")
        else:
            sides.append("less" if alone.change_low[row] <= 0 else "as well")
            verb = "gains nothing" if sides[-1] == "less" else "gains too"
            beside = f", lowest heads {number(alone.change[MAIN], '+.1f')}" if MAIN in alone.index else ""
            told.append(f"{one} {verb} (first training: {interval(*alone.loc[row, ENDS], '+.1f')} ROUGE-1{beside})")
    if not told:
        return ""
    leads = {("less",): "Importance beats chance", ("as well",): "The choice is not distinguishable from a random choice",
             ("more",): "Chance beats importance"}  # fmt: skip
    return f"{leads.get(tuple(dict.fromkeys(sides)), 'Whether importance beats chance is open')}: {', '.join(told)}."


def elsewhere(alone: pd.DataFrame, own: pd.DataFrame, over: pd.DataFrame, by: str) -> str:
    """Of `tables.scores` of one training, and of several: do layers of their own gain more than the lowest heads do?

    `own` are rows of `tables.against_controls` in ROUGE-1, on their control.
    """
    part, told = alone[alone.metric == "ROUGE-1"].drop_duplicates("row").set_index("row"), []
    if {OWN, MAIN} <= {*part.index} and part.change_low[OWN] > part.change[MAIN]:
        gain = interval(*part.loc[OWN, ENDS], "+.1f")
        lowest = {
            f"with {name}": row for name, row in ((links(by), MAIN), ("gold ones", with_links("gold"))) if row in part.index
        }
        others = listed(f"{number(part.change[row], '+.1f')} {name}" for name, row in lowest.items())
        told.append(f"the same {links(by)} in a layer of its own after every layer gain {gain} (one training, in which the"
                    f" lowest heads gain {others}); whether it is the links there has no control yet")  # fmt: skip
    for row in (row for row in own.index if row.startswith("layer of its own")):
        how = "does better" if own.change_high[row] < 0 else "does no better"
        told.append(f"*{named(row)}*, over trainings, {how} than heads ({change(over, row)})")
    return "; ".join(told)


def adjacent(paired: pd.DataFrame) -> str:
    """Of `tables.by_cluster_size` against full links: do adjacent links change the largest clusters, and the smallest?"""
    told = []
    for which, at in (("largest", paired.mentions.iloc[-1]), ("smallest", paired.mentions.iloc[0])):
        part = paired[paired.mentions == at]
        sure = part[(part.change_low > 0) | (part.change_high < 0)]
        by = listed(f"{row.metric} ({interval(*row[ENDS], '+.1f')})" for _, row in sure.iterrows())
        told.append(f"in the {which} clusters they differ by {by}")
    return f"Adjacent links minus full ones, by interval: {'; '.join(told)} (paired, one training)."


def underused(curves: pd.DataFrame) -> str:
    """Of `tables.masking`: what lowest and highest heads cost when they are off, in ROUGE-1."""
    rows = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    if not {("lowest", 1), ("highest", 1)} <= {*rows.index}:
        return ""
    one, most = (interval(*rows.loc[(order, 1), ENDS], "+.1f") for order in ("lowest", "highest"))
    said = f"one lowest head per layer off changes ROUGE-1 by {one}, one highest by {most}"
    if ("lowest", 3) in rows.index:
        share = number(100 * rows.change["lowest", 3] / rows.value["lowest", 0], "+.1f")
        said += f", three lowest by {share} % (printed about -0.5 %)"
    return said


def answer(
    own: pd.DataFrame, over: pd.DataFrame, by: str, behind: str, where: str, verdict: str, paper: float = float("nan")
) -> str:  # fmt: skip
    """Whether links help, and whether it is the links: of `tables.against_controls` in ROUGE-1, on their control.

    Of `tables.over_seeds` of `behind` ("5 trainings"), with links `by` and text `where`; `verdict` is that of the claim,
    `paper` p of the gain over all claims of the paper, nan where that is not tested.
    """
    main, row = over[(over.row == MAIN) & (over.metric == "ROUGE-1")].iloc[0], with_links(f"{by}+shuffled")
    helps, freed = main.change_low > 0, "masked, lowest" in own.index and own.change_low["masked, lowest"] > 0
    how = "is not seen to help" if not helps else "helps" if main.percent >= tables.PRINTED["ROUGE-1"] else "helps a little"
    note = f"; by interval{', not after Holm' if paper >= 0.05 else ''}" if helps and not paper < 0.05 else ""
    lead = f"Coreference in underused heads {how} {where}: {change(over, MAIN)} ROUGE-1 ({behind}{note})"
    if row in own.index and own.change_low[row] > 0:
        lead += f", and it is the links{', not the freed head' if freed else ''}"
    share = interval(main.percent, main.percent_low, main.percent_high, "+.1f")
    p = "" if paper != paper else f", p = {number(paper, 'p')} over all claims of the paper"
    said = f"**{lead}.** These are {links(by)} in the least important head of each encoder layer (*lowest heads*); in percent"
    said += f" {share}, printed {tables.PRINTED['ROUGE-1']:+.1f} ({verdict}{p})."
    if tables.EVENTS in set(over.metric):
        said += f" Events told with the right people: {change(over, MAIN, tables.EVENTS)} points."
    return said


def findings(own: pd.DataFrame, over: pd.DataFrame, alone: pd.DataFrame, by: str, behind: str, verdict: str) -> dict[str, str]:
    """As `answer`, and of `tables.scores` of the first training: do links, the choice of heads, better links, places count?"""
    row, gold, none, found = with_links(f"{by}+shuffled"), with_links("gold"), with_links("none"), {}
    if row in own.index:
        gains = ", ".join(f"{links(name)} {change(over, at)}" for name, at in ((f"{by}+shuffled", row), ("none", none)))
        found["Links"] = f"{gains} ROUGE-1; lowest heads minus shuffled {interval(*own.loc[row, ENDS], '+.1f')} ({verdict})"
    found["Choice"] = chance(own, alone, behind).rstrip(".")
    if "injected, probing" in own.index:
        found["Choice"] += f"; minus heads by probing {interval(*own.loc['injected, probing', ENDS], '+.1f')}"
    if gold in own.index:
        value, low, high = -own.loc[gold, ENDS]
        found["Gold links"] = f"they bring {change(over, gold)}, minus the lowest heads {interval(value, high, low, '+.1f')}"
    return found | {"Another place": elsewhere(alone, own, over, by)}


def bullets(found: Mapping[str, str]) -> str:
    """Findings with their titles, a line each."""
    return "\n".join(f"- *{title}:* {line.rstrip('.')}." for title, line in found.items() if line)


def headline(over: pd.DataFrame, behind: str) -> str:
    """The gain of the lowest heads in points and in %, beside the printed one, and in events."""
    main = over[(over.row == MAIN) & (over.metric == "ROUGE-1")].iloc[0]
    told = f"ROUGE-1 {change(over, MAIN)} points ({behind}; {number(main.percent, '+.1f')} %, printed"
    told += f" {tables.PRINTED['ROUGE-1']:+.1f} %)"
    if tables.EVENTS in set(over.metric):
        told += f"; events {change(over, MAIN, tables.EVENTS)}"
    return f"{told}."


def first_alone(over: pd.DataFrame, alone: pd.DataFrame) -> str:
    """Which training is told where: of `tables.over_seeds`, and `tables.scores` of the first; nothing if there is one."""
    if "seeds" not in over or MAIN not in set(over.row):
        return ""
    both = [change(table, MAIN, ends=False) for table in (over, alone)]
    return (
        f"ROUGE-1 of the lowest heads is {both[0]} points over {over.seeds.max()} trainings. *Underused heads*, *Masking*,"
        f" *Where, how many*, *How good must the clusters be* and *At inference* show the first, in which it is {both[1]}."
    )


def hollow(track: str, worth: str, least: float, found: pd.DataFrame | None = None) -> str:
    """Why nothing can be concluded of a track: what attention is worth there, and how good a resolver is on natural dialogue.

    `found` is `tables.resolvers` there, with or without the rules on GUM.
    """
    said = f"On {track} text nothing can be concluded: all encoder attention is worth {worth} (at least {least:g} are needed)"
    gum = found[found.against.str.startswith("GUM")] if found is not None else ()
    return said + (f" and our resolver reaches F1 {gum.CoNLL.iloc[0]:.0f} (GUM)." if len(gum) else ".")


def drawn(every: pd.DataFrame) -> str:
    """Of `tables.before_after_over_seeds` and `tables.ranked_otherwise`: ranks by importance of each draw of random heads."""
    told = []
    for row, part in every[every.row.str.startswith("injected, random")].groupby("row", sort=False):
        ranks, count = part.groupby("layer").rank_before.unique(), part.seed.nunique()
        if (ranks.map(len) > 1).any():
            told.append(f"{named(row)}: drawn anew in every training")
            continue
        same = f", the same in all {count} trainings" if count > 1 else ", one training"
        at = listed(f"{rank[0]:.0f}" for rank in ranks)
        told.append(f"{named(row)}: ranks {at} in layers {listed(ranks.index + 1)}{same}")
    return f"{'; '.join(told).capitalize()} (1 is the most important)." if told else ""


def rise(every: pd.DataFrame, sides: Sequence[str] = ()) -> str:
    """Of `tables.before_after_over_seeds`: how much of the rise of lowest heads any fixed attention brings.

    `sides` are those of the rows by which the claim that heads come to matter is judged.
    """
    ranks = every.groupby("row").rank_after.mean()
    others = [row for row in ranks.index if row.startswith(f"{MAIN}, ")]
    if MAIN not in ranks or not others:
        return ""
    before, any_fixed, end = every[every.row == MAIN].rank_before.mean(), ranks[others].mean(), ranks[MAIN]
    share = (before - any_fixed) / (before - end) if before > end else float("nan")
    part = "half" if 0.45 <= share <= 0.55 else number(share, "%")
    told = f"{part} (rank {number(before, '.1f')} to {number(any_fixed, '.1f')} of {every['heads'].max():.0f}) comes with any"
    told += f" fixed attention; coreference takes it on to {number(end, '.1f')}"
    held = sum(side == "for" for side in sides)
    return told + (f". {held} of {len(sides)} comparisons remain{'s' * (held == 1)} after Holm" if sides else "")


def people(board: tables.Board, row: str) -> tuple[str, str]:
    """How many events a row tells with the right people, and how that stands beside references whose people are guessed."""
    known = tables.baselines(board, against=row)
    known = known[known.metric == tables.EVENTS]
    more, less, open_ = sides(known)  # of the guessed ones
    own = known.value.iloc[0] - known.change.iloc[0]
    parts = [(less, "by interval more than"), (more, "by interval less than"), (open_, "by interval not apart from")]
    beside = {named(one.row): f"*{named(one.row).removeprefix('guessed: ')}* ({one.value:.1f})" for one in known.itertuples()}
    told = [f"{words} {listed(beside[name] for name in names)}" for names, words in parts if names]
    return f"{own:.1f} %", "; ".join(told)


def told_right(board: tables.Board, by: str) -> str:
    """How many events the plain model and the lowest heads tell with the right people, beside guesses."""
    (plain, beside), (own, other) = people(board, PLAIN), people(board, MAIN)
    lead, rows = "Events told with the right people (first training)", f"with {links(by)} in the lowest heads {own}"
    if beside == other:
        return f"{lead}: plain model {plain}, {rows}; both {beside}."
    return f"{lead}: plain model {plain}, {beside}; {rows}, {other}."


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
    asked = {("lowest", 1): "one lowest head per layer", ("lowest", 3): "three", ("highest", 1): "one highest"}
    told = [f"{said} {interval(*curves.loc[place, ENDS], '+.1f')}" for place, said in asked.items() if place in curves.index]
    whole = curves.value["lowest", 0]
    if ("lowest", 3) in curves.index:
        share = number(100 * curves.change["lowest", 3] / whole, "+.1f")
        rule = f"Our limit for three (our choice) is {number(allowed, '%')}, {number(allowed * whole, '+.2f')} points;"
        rule += f" they change ROUGE-1 by {share} %; printed: -0.5 %."
    else:
        rule = "Printed: -0.5 %."
    return f"Change of ROUGE-1 in points: {'; '.join(told)}; all heads {number(curves['all off'].iloc[0], '+.1f')}. {rule}"


def masked(table: pd.DataFrame, allowed: float) -> str:
    """What three lowest heads a layer off cost in every training setting, beside what the claim allows."""
    part = table[(table.metric == "ROUGE-1") & (table.order == "lowest") & (table.number == 3)]
    if part.empty:
        return ""
    points, shares = (f"{number(-each.max(), '.1f')} to {number(-each.min(), '.1f')}" for each in (part.change, part.percent))
    surely = int((part.change_high < allowed * (part.value - part.change)).sum())
    many = f"{(part.percent < 100 * allowed).sum()} of {len(part)} settings lose more than the claim allows"
    told = f"{many} ({number(-allowed, '%')}), {surely} by interval"
    return f"Three lowest heads per layer off cost {points} points of ROUGE-1, {shares} %: {told}."


def placed(table: pd.DataFrame, board: tables.Board) -> pd.DataFrame:
    """`called`, where rows of a part of the layers say which layers these are: "lowest head, layer 3"."""
    calls = {}
    for row in (row for row in dict.fromkeys(table.row) if row.startswith(f"{MAIN}, ") and row.endswith(" layers")):
        at = sorted({address[1] + 1 for address in tables.runs.addresses(board.rows[row]["run"]["control"]["heads"])})
        calls[row] = f"lowest head, layer {at[0]}" if len(at) == 1 else f"lowest heads, layers {listed(at)}"
    return table.assign(row=table.row.map(lambda row: calls.get(row, named(row))))


def layers(grouped: pd.DataFrame) -> str:
    """Whether injection gains more in upper layers, as the paper has it: of `tables.by_group`."""
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").set_index("row")
    rows = [f"{MAIN}, {where} layers" for where in ("lower", "middle", "upper") if f"{MAIN}, {where} layers" in part.index]
    if len(rows) < 2:
        return ""
    lead = (
        "As in the paper, upper layers gain more"
        if part.change[rows].is_monotonic_increasing
        else "Upper layers do not gain more"
    )
    told = ", ".join(interval(*part.loc[row, ENDS], "+.1f") for row in rows)
    last, same = part.loc[rows[-1]], ""
    if MAIN in part.index and last.change >= part.change[MAIN] and (part["heads"][rows[-1]] if "heads" in part else 0) == 1:
        same = f" One head in the last layer alone ({number(last.change, '+.1f')}) does as well as one in every layer"
        same += f" ({change(grouped, MAIN, ends=False)})."
    return f"{lead} (ROUGE-1 {told} from lower to upper; first training).{same}"


def where(grouped: pd.DataFrame, over: pd.DataFrame) -> str:
    """Which heads, layers and matrices gain most beside the lowest heads, and layers of their own over several trainings."""
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").sort_values("change")
    best = part.row.iloc[-1]
    paper = "" if best == MAIN else f", lowest heads {change(part, MAIN)}"
    name = f"*{named(best)[:1].upper()}{named(best)[1:]}*"
    said = f"{name} gains most ({change(part, best)} ROUGE-1{paper}): one training, the best of {len(part)}, not replicated"
    for row in (row for row in dict.fromkeys(over.row) if "seeds" in over and row.startswith("layer of its own")):
        gains = ", lowest heads ".join(change(over, name) for name in (row, MAIN))
        said += f"; *{named(row)}*, over {over.seeds.max()} trainings, {gains}"
    return f"{said}."


def moved(every: pd.DataFrame, untouched: pd.DataFrame) -> str:
    """How far injected heads rise in their layer, under links, under a matrix that says nothing, and without injection.

    `untouched` is of `tables.ranked_otherwise`, and may be empty.
    """
    means, count = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean().round(1), every.seed.nunique()
    others = [name for name in means.index if name.startswith(f"{MAIN}, ")]
    told = []
    for name, one in means.drop(index=others).iterrows():
        beside = others if name == MAIN else []
        beside = [f"{named(other).partition(', ')[2]} {means.rank_after[other]:.1f}" for other in beside]
        told.append(", ".join([f"{named(name)} {one.rank_before:.1f} → {one.rank_after:.1f}", *beside]))
    said = f"Mean rank ({count} training{'s' * (count > 1)}): {'; '.join(told)}."
    if untouched.empty or MAIN not in means.index:
        return said
    stay = untouched.groupby("seed").rank_after.mean()
    more = "the rise is no regression to the mean" if stay.min() > means.rank_after[MAIN] else "so the rise may be chance"
    return f"{said} Without injection lowest heads stay at {ends(stay, '.1f')}: {more}."


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


def clusters(curve: pd.DataFrame, by: str) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), `by` being those of the main row."""
    points = curve[curve.metric == "ROUGE-1"].sort_values("conll", kind="stable")
    least, most, own = points.iloc[0], points.iloc[-1], points[points.row == MAIN].iloc[0]
    at = {place: f"{number(one.change, '+.1f')} at F1 {one.conll:.0f}" for place, one in enumerate((least, most))}
    at[0] = f"none at F1 {least.conll:.0f}" if least.change_low <= 0 <= least.change_high else at[0]
    how = "grows" if most.change > least.change else "does not grow"
    said = f"The gain in ROUGE-1 {how} with the quality of clusters, from {at[0]} to {at[1]} (first training)."
    for other in nearest(curve):
        verb = "gain less" if own.change < other.change else "gain more"
        said += f" {links(by).capitalize()}, F1 {own.conll:.0f}, {verb} ({number(own.change, '+.1f')}) than"
        said += f" {links(other.clusters)}, F1 {other.conll:.0f} ({number(other.change, '+.1f')})."
    return said


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
    told = f"{equal}he resolver's errors cost {how} random corruption ({change(gap, MAIN)} ROUGE-1 at {f1})"
    return f"{told}; why was not looked at."


def at_inference(table: pd.DataFrame, off: str) -> str:
    """Of `tables.scores`: what the matrix does without training on it, and what of the gain is left without true links.

    `off` is what the same heads cost when they are off, untrained; "" if that was not run.
    """
    part = table[table.metric == "ROUGE-1"].set_index("row")
    plain, said = part.loc["injected at inference"] if "injected at inference" in part.index else None, ""
    if plain is not None:
        verb = "harms" if plain.change_high < 0 else "helps" if plain.change_low > 0 else "changes nothing detectable"
        said = f"Put in without training the matrix {verb}: {interval(*plain[ENDS], '+.1f')} ROUGE-1"
        said += f", where the same heads off change it by {off}. " if off else ". "
    others = [row for row in part.index if row.startswith(f"{MAIN}, ")]
    if part.change_low[MAIN] <= 0 or not others:
        return f"{said}There is no gain to lose here ({change(table, MAIN)} ROUGE-1)."
    kept = (part.change_low[others] > 0).any()
    how = "keeps some of its gain without true links" if kept else "needs the true links while it writes"
    told = listed(f"{named(row).partition(', ')[2]} {number(part.change[row], '+.1f')}" for row in others)
    return f"{said}Trained with it the model {how}: with them {number(part.change[MAIN], '+.1f')}, {told}."


def example(right: pd.Series, over: str, apart: Sequence[float] = ()) -> str:
    """Whether the one dialogue shown gets better by injection: shares of its events with the right people, by row.

    `apart` are the changes of that share in every dialogue.
    """
    own, plain = right[MAIN], right[PLAIN]
    how = "gets worse" if own < plain else "gets better" if own > plain else "stays as good"
    shares = ", ".join(f"{named(name)} {number(share, '.0f')} %" for name, share in right.items())
    said = f"Events of this dialogue with the right people: {shares}. It {how} by injection; over all dialogues the change is"
    better, worse = (sum(bool(sign * gap > 0) for gap in apart) for sign in (1, -1))
    beside = (
        f" {better} of {len(apart):,} get better, {worse} worse, {len(apart) - better - worse} stay alike (first training)."
    )
    return f"{said} {over} points.{beside if len(apart) else ''} It is the first of the test set, not chosen."


def too_small(table: pd.DataFrame, metric: str) -> str:
    """What one training can show: the plain model's score, whether any row is told from it, and how small is unseen."""
    part = table[table.metric == metric].set_index("row")
    rows = part.drop(index=PLAIN)
    wide = number((rows.change_high - rows.change_low).median() / 2, ".0f")
    more, less, _ = sides(rows.reset_index())
    both = (("higher", more), ("lower", less))
    parts = [f"{words} with {listed(f'*{name}*' for name in names)}" for words, names in both if names]
    found = f"by interval {listed(parts)}" if parts else "every interval holds zero"
    own = interval(*part.loc[PLAIN, ["value", "low", "high"]], ".1f")
    return f"One training, {metric} {own}: {found}; effects under about {wide} {metric} cannot be seen."
