"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN, shown
from helpers.reading import count, ends, interval, listed, number, readable

OWN = "layer of its own, all"
UPPER = "layer of its own, upper"
HEADS = {"probing": "heads by probing", "lowest": "least important heads", "highest": "most important heads"}
SAMSUM = 53  # ROUGE-1 of BART-large on SAMSum, of 100, about: what the printed gain is a share of
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
    """The row whose least important heads were given other links, as tables have it."""
    return f"{MAIN}, no links" if name == "none" else f"{MAIN}, {shown(name)}"


def named(row: str) -> str:
    """What people call a row of a board: "random heads (draw 2)", "least important heads, shuffled gold links"."""
    first, _, rest = row.partition(", ")
    if first.startswith("baseline: "):
        return f"guessed: {first.removeprefix('baseline: ')}"
    if first == "injected at inference":
        return f"{HEADS[rest or 'lowest']}, at inference alone"
    if first not in ("injected", "masked"):
        return f"a {first} after {'every layer' if rest == 'all' else f'{rest} layers'}" if first == "layer of its own" else row
    which, _, more = rest.partition(", ")
    which, _, count = which.partition(" ")
    heads = HEADS.get(which, f"{which} heads")
    heads = f"{count} {heads} per layer" if count and which != "random" else heads
    heads += f" (draw {count})" if count and which == "random" else ""
    parts = [heads, "off in training too" if first == "masked" else ""]
    if more.startswith("written with "):
        parts.append(f"written with {links(more.removeprefix('written with '))}")
    elif more:
        parts.append("off when writing" if more == "heads off at inference" else _more(more))
    return ", ".join(filter(None, parts))


def _more(name: str) -> str:
    return name if re.search(" (links|spans|layers)$", name) else links(name)


def called(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its rows called as people call them."""
    return table.assign(row=table.row.map(named))


def arranged(table: pd.DataFrame, by: str, drawn: Mapping[str, str]) -> pd.DataFrame:
    """Rows of `tables.scores` in two groups: other links in the same heads, and links `by` in other heads; `answer` is MAIN's.

    `drawn` says of random rows which heads these are, as `draws` does.
    """
    own, other = "least important heads attend by", f"which heads get {links(by)}"
    empty, gold = with_links(f"{by}+shuffled"), with_links("gold")
    first = {"masked, lowest": "nothing (off in training too)", with_links("none"): "themselves (no links)",
             empty: "shuffled links", MAIN: links(by), gold: links("gold")}  # fmt: skip
    second = {MAIN: "least important", **{row: f"random, {text}" for row, text in drawn.items()},
              "injected, highest": "most important",
              "injected, probing": "chosen by probing", UPPER: "none: a layer of its own, upper"}  # fmt: skip
    parts = [
        table[table.row == row].assign(group=group, row=label, answer=row == MAIN)
        for group, calls in ((own, first), (other, second))
        for row, label in calls.items()
    ]
    return pd.concat(parts, ignore_index=True)


def wide(table: pd.DataFrame, value: str, caption: str, form: str = ".1f", what: str = "heads") -> Markdown:
    """Metrics side by side, a line a row (`what` their title), `x [low, high]` of intervals."""
    ends = {"value": ("low", "high"), "change": ("change_low", "change_high")}.get(value, ())
    lines = {what: list(dict.fromkeys(table.row))}
    for metric, part in table.groupby("metric", sort=False):
        part = part.drop_duplicates("row").set_index("row").reindex(lines[what])
        lines[metric] = [unsigned(interval(*numbers, form=form)) for numbers in part[[value, *ends]].to_numpy()]
    return readable(pd.DataFrame(lines | {what: [named(row) for row in lines[what]]}), caption=caption)


def unsigned(said: str) -> str:
    """A change in words without a sign where it is rounded to zero: "0.0 [-0.6, +0.6]"."""
    return re.sub(r"^[+-](?=0\.0+($| ))", "", said)


def change(table: pd.DataFrame, row: str, metric: str = "ROUGE-1", form: str = "+.1f", ends: bool = True) -> str:
    """A row's change with its interval, or without; "not measured" where it is not there."""
    found = table[(table.row == row) & (table.metric == metric)]
    return unsigned(interval(*found.iloc[0][ENDS if ends else ENDS[:1]], form=form)) if len(found) else "not measured"


def sides(table: pd.DataFrame) -> tuple[list[str], list[str], list[str]]:
    """Names of the rows that are higher, lower and neither, by the interval of their change (not corrected)."""
    names = table.row.map(named)
    higher, lower = table.change_low > 0, table.change_high < 0
    return names[higher].tolist(), names[lower].tolist(), names[~higher & ~lower].tolist()


def chance(own: pd.DataFrame, over: pd.DataFrame, alone: pd.DataFrame, drawn: Mapping[str, str]) -> str:
    """Whether the choice of heads counts: of `tables.against_controls` in ROUGE-1, on their control.

    Random heads that were trained once are told from `tables.scores` of that training; `drawn` is of `draws`.
    """
    rivals = [row for row in ("injected, probing", "injected, highest") if row in own.index]
    how = [("beat" if own.change_low[row] > 0 else "are not apart from", row) for row in rivals]
    told = [f"{verb} {named(row)} by {interval(*own.loc[row, ENDS], '+.1f')}" for verb, row in how]
    said = [f"{named(MAIN)} {listed(told)} (each by itself)"] if told else []
    once, random = alone[alone.metric == "ROUGE-1"].drop_duplicates("row").set_index("row"), []
    for row in (row for row in drawn if row in own.index or row in once.index):
        if row in own.index:
            low, high = own.change_low[row], own.change_high[row]
            verb = "gain less" if low > 0 else "gain more" if high < 0 else "are not told apart"
            first = f"; in seed 1 they gain {number(once.change[row], '+.1f')}" if row in once.index else ""
            random.append(f"of {drawn[row]} {verb} (difference {interval(*own.loc[row, ENDS], '+.1f')}{first})")
        else:
            verb = "gain nothing" if once.change_low[row] <= 0 else "gain too"
            random.append(f"of {drawn[row]} {verb} (seed 1: {interval(*once.loc[row, ENDS], '+.1f')})")
    said += [f"random ones {', '.join(random)}"] if random else []
    worse = over[(over.metric == "ROUGE-1") & (over.change_high < 0)].row
    bad = listed(f"{named(row)} ({change(over, row)})" for row in reversed(rivals) if row in set(worse))
    bad = f"; by interval, a bad choice are {bad}" if bad != "none" else ""
    if random:
        said.append(f"So few draws cannot part rank from layer{bad}")
    return "; ".join(said[:-1]) + (f". {said[-1]}" if random else said[-1] if said else "")


def layer_gains(alone: pd.DataFrame) -> bool:
    """Of `tables.scores`: does a layer of its own after every layer gain, by its interval, more than heads do?"""
    part = alone[alone.metric == "ROUGE-1"].groupby("row")
    return bool(part.change_low.first().get(OWN, -1) > part.change.first().get(MAIN, 0))


def elsewhere(alone: pd.DataFrame, own: pd.DataFrame, over: pd.DataFrame, by: str) -> str:
    """Of `tables.scores` of one training, and of several: do layers of their own gain more than heads do?

    `own` are rows of `tables.against_controls` in ROUGE-1, on their control.
    """
    part, told = alone[alone.metric == "ROUGE-1"].drop_duplicates("row").set_index("row"), []
    if layer_gains(alone):
        gain = interval(*part.loc[OWN, ENDS], "+.1f")
        known = {f"with {links(by)}": MAIN, "with gold ones": with_links("gold")}
        lowest = {name: row for name, row in known.items() if row in part.index}
        others = listed(f"{number(part.change[row], '+.1f')} {name}" for name, row in lowest.items())
        told.append(f"the same {links(by)} in a layer of its own after every layer gain {gain} (seed 1, not replicated; there"
                    f" the least important heads gain {others}); with no links such a layer does nothing (M = identity gives"
                    " H), so *plain* is that control; shuffled links have not been tried there")  # fmt: skip
    for row in (row for row in own.index if row.startswith("layer of its own")):
        gap, low, high = own.loc[row, ENDS]
        how = "gain less than" if high < 0 else "gain more than" if low > 0 else "are not told apart from"
        told.append(f"*{named(row)}*, over seeds, gains {change(over, row)} against plain; the heads {how} it (heads minus"
                    f" layer {interval(gap, low, high, '+.1f')})")  # fmt: skip
    return "; ".join(told)


def adjacent(paired: pd.DataFrame) -> str:
    """Of `tables.by_cluster_size` against full links: in which classes of dialogues do adjacent links differ, by metric?"""
    told = []
    for metric, part in paired.groupby("metric", sort=False):
        sure = part[(part.change_low > 0) | (part.change_high < 0)]
        at = " and ".join(f"{interval(*row[ENDS], '+.1f')} at {row.mentions}" for _, row in sure.iterrows())
        told.append(f"{metric}: {at or 'no class differs'}")
    return f"{'; '.join(told)} ({len(paired)} comparisons, seed 1, each by its own interval, uncorrected)."


def underused(curves: pd.DataFrame) -> str:
    """Of `tables.masking`: what heads cost when they are off, in ROUGE-1."""
    rows = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    if not {("lowest", 1), ("highest", 1)} <= {*rows.index}:
        return ""
    one, most = (interval(*rows.loc[(order, 1), ENDS], "+.1f") for order in ("lowest", "highest"))
    said = f"the least important head of every layer off changes ROUGE-1 by {one}, the most important by {most}"
    if ("lowest", 3) in rows.index:
        share = number(100 * rows.change["lowest", 3] / rows.value["lowest", 0], "+.1f")
        said += f", the three least important by {share} % (printed: about -0.5 %; all seed 1)"
    return said


def answer(
    own: pd.DataFrame, over: pd.DataFrame, by: str, behind: str, verdict: str, paper: float, tests: int, alone: pd.DataFrame
) -> str:
    """Whether links help, whether it takes the right ones, unimportant heads, or heads at all.

    Of `tables.against_controls` in ROUGE-1, on their control, and `tables.over_seeds` of `behind` ("5 seeds"), with links `by`;
    `verdict` is that of the claim, `paper` p of the gain after Holm's correction over `tests`, nan where that is not tested.
    `alone` is `tables.scores` of seed 1.
    """
    main, row = over[(over.row == MAIN) & (over.metric == "ROUGE-1")].iloc[0], with_links(f"{by}+shuffled")
    helps = main.change_low > 0
    how = "are not seen to help" if not helps else "help" if main.percent >= tables.PRINTED["ROUGE-1"] else "help a little"
    lead = f"Coreference links in the least important encoder heads {how}: ROUGE-1 {change(over, MAIN)}"
    if tables.EVENTS in set(over.metric):
        lead += f", events told with the right people {change(over, MAIN, tables.EVENTS)} points"
    lead += f" ({behind})."
    if row in own.index:
        right = "It takes the right links" if own.change_low[row] > 0 else "Whether it takes the right links is open"
        lead += f" {right}: shuffled ones give {change(over, row, ends=False)}."
    if (random := "injected, random") in own.index:
        takes = "It takes" if own.change_low[random] > 0 else "Whether it takes"
        takes += f" unimportant heads{'' if own.change_low[random] > 0 else ' is open'}"
        lead += f" {takes}: one random choice gives {change(over, random, ends=False)}"
        first, second = (change(alone, at, ends=False) for at in (random, f"{random} 2"))
        lead += f", a second {second} (seed 1; the first {first} there)." if "not measured" not in (first, second) else "."
    if layer_gains(alone):
        lead += f" A layer without parameters after every layer gains more than the heads: {change(alone, OWN, ends=False)}"
        lead += f" against {change(alone, MAIN, ends=False)} (seed 1)."
    tested = f" After correction (Holm, adjusted p = {number(paper, 'p')}, {tests} tests): {verdict}." if paper == paper else ""
    return f"**{lead}**{tested}"


def findings(
    own: pd.DataFrame, over: pd.DataFrame, alone: pd.DataFrame, by: str, drawn: Mapping[str, str], verdict: str
) -> dict[str, str]:  # fmt: skip
    """As `answer`, and of `tables.scores` of seed 1: do links, the choice of heads, better links, places count?"""
    row, gold, none, found = with_links(f"{by}+shuffled"), with_links("gold"), with_links("none"), {}
    beside = {"masked, lowest": "the same heads off in training too", row: "shuffled links", none: "no links"}
    minus = [f"{name} {interval(*own.loc[at, ENDS], '+.1f')}" for at, name in beside.items() if at in own.index]
    if minus:
        found["Links"] = f"ROUGE-1 of the least important heads with {links(by)}, minus {', minus '.join(minus)}"
        found["Links"] += f" (minus shuffled: {verdict})" if row in own.index else ""
        lost = [f"{beside[at]} {change(over, at, tables.EVENTS)}" for at in (row, none) if at in own.index
                and (over[(over.row == at) & (over.metric == tables.EVENTS)].change_high < 0).any()]  # fmt: skip
        found["Links"] += f". Some of this is harm by the control: events change with {listed(lost)}" if lost else ""
    found["Choice of heads"] = chance(own, over, alone, drawn).rstrip(".")
    if gold in own.index:
        value, low, high = -own.loc[gold, ENDS]
        found["Gold links"] = f"they bring {change(over, gold)}, {interval(value, high, low, '+.1f')} more than {links(by)}"
    if "seeds" in over:
        found["Seed 1"] = "alone stands behind *masking*, *where*, *clusters* and *at inference*; there the gain is"
        found["Seed 1"] += f" {change(alone, MAIN)}, the mean over seeds {change(over, MAIN, ends=False)}"
    return found | {"A layer of its own": elsewhere(alone, own, over, by)}


def short(own: pd.DataFrame, over: pd.DataFrame, alone: pd.DataFrame, by: str, behind: str, verdict: str) -> str:
    """The notebook's question answered in a few words: of what `answer` and `findings` are told from."""
    low, row = own.change_low, with_links(f"{by}+shuffled")
    helps = over[(over.row == MAIN) & (over.metric == "ROUGE-1")].change_low.iloc[0] > 0
    said = f"Here {'a little' if helps else 'not seen'}{', if the links are right' if low.get(row, 0) > 0 else ''}:"
    said += f" {change(over, MAIN, ends=False)} ROUGE-1 ({behind}; after correction {verdict})"
    said += f"; shuffled links {change(over, row, ends=False)}." if row in own.index else "."
    said += " Not shown: that they must be *underused*." if low.get("injected, random", 1) <= 0 else ""
    more = f" A layer of its own after every layer gains more ({change(alone, OWN, ends=False)}, seed 1)."
    return f"**Can underused heads be put to work?** {said}{more if layer_gains(alone) else ''}"


def bullets(found: Mapping[str, str]) -> str:
    """Findings with their titles, a line each."""
    return "\n".join(f"- *{title}:* {line.rstrip('.')}." for title, line in found.items() if line)


def headline(over: pd.DataFrame) -> str:
    """The gain of the least important heads in % beside the printed one, and why these are not like for like."""
    main = over[(over.row == MAIN) & (over.metric == "ROUGE-1")].iloc[0]
    told = f"ROUGE-1 {change(over, MAIN, ends=False)} points are {number(main.percent, '+.1f')} %; printed"
    told += f" {tables.PRINTED['ROUGE-1']:+.1f} %. At {number(main.value - main.change, '.0f')} of 100 there is"
    more = "less" if main.value - main.change > SAMSUM else "more"
    return f"{told} {more} to gain than at the {SAMSUM} or so of SAMSum: relative gains are not like for like."


def hollow(over: pd.DataFrame, worth: str, least: float, found: pd.DataFrame | None = None) -> str:
    """Why a track says nothing of the method: its gain, what attention is worth there, how good a resolver is on natural text.

    `over` is `tables.over_seeds` there, or `scores`; `found` is `tables.resolvers`, with or without the rules on GUM.
    """
    gum = found[found.against.str.startswith("GUM")] if found is not None else ()
    seeds = count(int(over.seeds.max()) if "seeds" in over else 1, "seed")
    said = f"{change(over, MAIN)} ROUGE-1 ({seeds}); all encoder attention is worth only {worth} there (at least {least:g} are"
    said += " asked for), so this says nothing of the method"
    return said + (
        f". Our resolver reaches F1 {gum.CoNLL.iloc[0]:.0f} on GUM, English with gold clusters." if len(gum) else "."
    )


def draws(every: pd.DataFrame) -> dict[str, str]:
    """Ranks of random heads from layer 1 up, "ranks 3-5-2": of `tables.before_after_over_seeds` and `ranked_otherwise`."""
    told = {}
    for row, part in every[every.row.str.startswith("injected, random")].groupby("row", sort=False):
        ranks = part.groupby("layer").rank_before.unique()
        anew = (ranks.map(len) > 1).any()
        told[row] = "drawn anew by seed" if anew else f"ranks {'-'.join(f'{rank[0]:.0f}' for rank in ranks)}"
    return told


def rise(rises: pd.DataFrame) -> str:
    """How much the loss comes to rise with an injected head off: of `tables.rises`."""
    whole = rises[rises.layer == 0].set_index("row")
    others = [row for row in whole.index if row.startswith(f"{MAIN}, ")]
    if MAIN not in whole.index or not others:
        return ""
    after = {row: interval(*whole.loc[row, ["after", "after_low", "after_high"]], ".1f") for row in (MAIN, *others)}
    beside = listed(f"with {named(row).partition(', ')[2]} {after[row]}" for row in others)
    told = f"with one such head off the loss rises by {number(whole.before[MAIN], '.1f')} thousandths of a nat before injection"
    return f"{told}, by {after[MAIN]} after ({beside})"


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
    cases = f"{half} of {layers * len(own)} cases"
    return f"{said}; a layer's least important head stays in the less important half in {cases}, the least in {lowest}."


def masking(curves: pd.DataFrame, allowed: float) -> str:
    """What masking costs in ROUGE-1, and what the claim allows, a share of the plain model's (less than 0)."""
    curves = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    asked = {("lowest", 1): "one least important head per layer", ("lowest", 3): "three", ("highest", 1): "one most important"}
    told = [f"{said} {interval(*curves.loc[place, ENDS], '+.1f')}" for place, said in asked.items() if place in curves.index]
    whole = curves.value["lowest", 0]
    if ("lowest", 3) in curves.index:
        share = number(100 * curves.change["lowest", 3] / whole, "+.1f")
        rule = (
            f"Our limit for three is {number(allowed, '%')} ({number(allowed * whole, '+.2f')} points); here {share} %, printed"
        )
        rule += " about -0.5 %."
    else:
        rule = "Printed: about -0.5 %."
    return f"Change of ROUGE-1 in points: {'; '.join(told)}; all heads {number(curves['all off'].iloc[0], '+.1f')}. {rule}"


def masked(table: pd.DataFrame, allowed: float) -> str:
    """What three least important heads a layer off cost in every training setting, beside our limit."""
    part = table[(table.metric == "ROUGE-1") & (table.order == "lowest") & (table.number == 3)]
    if part.empty:
        return ""
    points, shares = (f"{number(-each.max(), '.1f')} to {number(-each.min(), '.1f')}" for each in (part.change, part.percent))
    surely = int((part.change_high < allowed * (part.value - part.change)).sum())
    many = f"{(part.percent < 100 * allowed).sum()} of {len(part)} settings lose more than our limit"
    told = f"{many} of {number(-allowed, '%')}, {surely} by interval"
    return f"Three least important heads per layer off cost {points} points of ROUGE-1, {shares} %: {told}."


def placed(table: pd.DataFrame, board: tables.Board) -> pd.DataFrame:
    """Rows of `tables.by_group` in short, "layer 3 alone", "adjacent links": all are of the least important heads."""
    calls = {(group, MAIN): "full links, first words" if group == "matrices" else "each layer" for group in set(table.group)}
    for row in (row for row in dict.fromkeys(table.row) if row.startswith(f"{MAIN}, ") and row.endswith(" layers")):
        calls["heads and layers", row] = f"{_where(board, row)} alone"
    plain = table.row.map(named).str.removeprefix(f"{named(MAIN)}, ").str.replace("^a layer", "none: a layer", regex=True)
    plain = plain.str.replace("least important heads per layer", "in each layer")
    short = [calls.get(key, name) for key, name in zip(zip(table.group, table.row, strict=True), plain, strict=True)]
    groups = {"heads and layers": "least important heads in", "matrices": "which attend by"}
    return table.assign(row=short, group=table.group.replace(groups), answer=table.row == MAIN)


def layers(grouped: pd.DataFrame, last: pd.DataFrame, board: tables.Board) -> str:
    """Whether injection gains more in upper layers, as the paper has it: of `tables.by_group`.

    `last` is `tables.scores` of the upper layers against those below, `board` says which these are.
    """
    part = grouped[grouped.metric == "ROUGE-1"].drop_duplicates("row").set_index("row")
    rows = [f"{MAIN}, {where} layers" for where in ("lower", "middle", "upper") if f"{MAIN}, {where} layers" in part.index]
    if len(rows) < 2 or last.empty:
        return f"Change of ROUGE-1, {named(MAIN)}: {change(grouped, MAIN)} (seed 1)."
    told, gap = ", ".join(interval(*part.loc[row, ENDS], "+.1f") for row in rows), last[last.metric == "ROUGE-1"].iloc[0]
    sure = "as the paper says" if gap.change_low > 0 else "against the paper" if gap.change_high < 0 else "not told apart"
    below, upper = (_where(board, row) for row in rows[-2:])
    return (
        f"Change of ROUGE-1 from lower to upper layers: {told} (seed 1). {upper.capitalize()} minus {below}, paired:"
        f" {interval(*gap[ENDS], '+.1f')}, {sure}."
    )


def _where(board: tables.Board, row: str) -> str:
    return _at(pd.Series(sorted({at[1] for at in tables.runs.addresses(board.rows[row]["run"]["control"]["heads"])})))


def moved(rises: pd.DataFrame, every: pd.DataFrame, untouched: pd.DataFrame) -> tuple[str, str]:
    """How far injected heads come to matter: by the loss without them (`tables.rises`), and by rank in their layer.

    `every` is of `tables.before_after_over_seeds`; `untouched` of `tables.ranked_otherwise`, and may be empty.
    """
    whole, seeds = rises[rises.layer == 0].set_index("row"), every.seed.nunique()
    rows = [name for name in whole.index if not name.startswith(f"{MAIN}, ")]
    told = [f"{named(row)} {whole.before[row]:.1f} → {whole.after[row]:.1f}" for row in rows]
    loss = f"Mean over layers, thousandths of a nat ({count(seeds, 'seed')}): {told[0]}." if told else ""
    loss += f" Not drawn: {'; '.join(told[1:])}." if told[1:] else ""
    ranks = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean()
    if MAIN not in ranks.index:
        return loss, ""
    others = [name for name in ranks.index if name.startswith(f"{MAIN}, ")]
    beside = "".join(f", {named(other).partition(', ')[2]} {ranks.rank_after[other]:.1f}" for other in others)
    said = (
        f"By rank (1 is the most important of {every['heads'].max():.0f}) {named(MAIN)} go from {ranks.rank_before[MAIN]:.1f}"
    )
    said += f" to {ranks.rank_after[MAIN]:.1f}{beside}"
    rose = ranks.rank_before - ranks.rank_after
    share = rose[others].mean() / rose[MAIN] if others and rose[MAIN] else 0
    said += f" (about {number(share, '%')} of the rise needs no coreference)" if 0 < share < 1 else ""
    if untouched.empty:
        return loss, f"{said}."
    stay = untouched.groupby("seed").rank_after.mean()
    chance = "not what chance gives" if stay.min() > ranks.rank_after[MAIN] else "no more than chance gives"
    return loss, f"{said}: {chance} in {len(stay)} further trainings of seed 1 without injection ({ends(stay, '.1f')})."


def matters(more: pd.DataFrame, apart: pd.DataFrame, judged: Sequence[str] = ()) -> str:
    """Where links make heads matter more than other matrices: of `tables.matter_more`, of the loss too, and as judged."""
    if more.empty:
        return ""
    told, alone = [], more.low.isna().all()
    for by, table in (("By loss (drawn)", apart), ("By importance (the verdict)", more)):
        sure = table.assign(sure=table.low.fillna(table.more) > 0).groupby("control", sort=False)
        where = [f"above {named(row).partition(', ')[2]} in {_at(part.layer[part.sure])}" for row, part in sure]
        told.append(f"{by} they are {listed(where)}")
    rest = [row for row, side in zip(more.itertuples(), judged, strict=False) if side == "for"]
    left = f" (layer {rest[0].layer + 1} against {named(rest[0].control).partition(', ')[2]})" if len(rest) == 1 else ""
    by = f"; corrected, {len(rest)} of these {len(judged)} remain{'s' * (len(rest) == 1)}{left}" if judged else ""
    return f"{'. '.join(told)}{'' if alone else f', each by its own interval{by}'}."


def _at(layers: pd.Series) -> str:
    return f"layer{'s' * (len(layers) > 1)} {listed(layers + 1)}" if len(layers) else "no layer"


def clusters(curve: pd.DataFrame, by: str) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), `by` being those of the main row."""
    points = curve[curve.metric == "ROUGE-1"].sort_values("conll", kind="stable")
    corrupt, own = points[points.clusters.str.startswith("gold")], points[points.row == MAIN].iloc[0]
    shown = corrupt if len(corrupt) > 1 else points
    none, some = shown[shown.change_low <= 0], shown[shown.change_low > 0]
    told = [f"nothing up to F1 {none.conll.iloc[-1]:.0f} ({number(none.change.iloc[-1], '+.1f')})"] if len(none) else []
    told += [f"{number(one.change, '+.1f')} at {one.conll:.0f}" for one in some.itertuples()]
    said = f"ROUGE-1 by F1 of the clusters (gold and corrupted, seed 1): {', '.join(told)}."
    for other in nearest(curve):
        said += f" {links(by).capitalize()}: {number(own.change, '+.1f')} at F1 {own.conll:.0f}"
        known = "people" in curve and own.people == own.people
        said += f", but *he* and *she* right in {own.people:.0f} %, not {other.people:.0f} %." if known else "."
    return said


def nearest(curve: pd.DataFrame) -> list[pd.Series]:
    """The row of ROUGE-1 with corrupted clusters about as good as the main row's, if there are such."""
    first = curve[curve.metric == "ROUGE-1"]
    worse = first[first.clusters.str.contains("corrupt")]
    apart = (worse.conll - first.conll[first.row == MAIN].iloc[0]).abs().sort_values(kind="stable")
    return [worse.loc[place] for place in apart.index[:1]]


def errors(curve: pd.DataFrame, gap: pd.DataFrame) -> str:
    """Whether clusters as good are as much use, and why not: of `tables.quality_curve`, and the main row against `nearest`."""
    (other,), own = nearest(curve), curve[curve.row == MAIN].iloc[0]
    more, less, _ = sides(gap[gap.metric == "ROUGE-1"])
    how = "more than" if less else "less than" if more else "about as much as"
    f1 = f"F1 {own.conll:.0f} against {other.conll:.0f}"
    told = f"The resolver's errors cost {how} gold links corrupted at random ({change(gap, MAIN)} ROUGE-1 at {f1}, seed 1)"
    if "people" not in curve or own.people != own.people:
        return f"{told}; why was not looked at."
    worse = curve[curve.clusters.str.contains("corrupt")]
    alike = worse.loc[(worse.people - own.people).abs().idxmin()]
    told += (
        f". It puts *he* and *she* with the right person in {own.people:.0f} % of cases, they in {other.people:.0f} %, which F1"
    )
    told += (
        f" over all mentions hides; but it has *I* and *you* right ({own.speakers:.0f} %), and gold links as bad at *he* and"
    )
    return f"{told} *she* gain {change(curve, alike.row, ends=False)} (a look after the fact)."


def at_inference(table: pd.DataFrame, off: str) -> str:
    """Of `tables.scores`: what the matrix does without training on it, and what of the gain is left with other links.

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
    how = "is kept in part without" if kept else "needs"
    told = listed(f"{named(row).partition(', ')[2]} {change(table, row)}" for row in others)
    return (
        f"{said}Trained with it, the gain of {number(part.change[MAIN], '+.1f')} {how} the training's links in writing: {told}."
    )


def example(right: Mapping[str, pd.Series], over: str, apart: Sequence[float]) -> str:
    """Whether the dialogues shown get better by injection: of each the shares of events with the right people, by row.

    `apart` are the changes of that share in every dialogue.
    """
    told = []
    for which, shares in right.items():
        how = "worse" if shares[MAIN] < shares[PLAIN] else "better" if shares[MAIN] > shares[PLAIN] else "as good"
        told.append(f"{which} gets {how}".replace("gets as", "stays as") + f" ({shares[PLAIN]:.0f} → {shares[MAIN]:.0f} %)")
    better, worse = (sum(bool(sign * gap > 0) for gap in apart) for sign in (1, -1))
    return (
        f"Events with the right people: {'; '.join(told)}. Of all {len(apart):,} dialogues {better} get better, {worse} worse,"
        f" {len(apart) - better - worse} stay alike (seed 1); over seeds the change is {over} points."
    )


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
    return f"One seed, {metric} {own}: {found}; effects under about {wide} {metric} cannot be seen."
