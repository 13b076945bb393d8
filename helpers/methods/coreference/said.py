"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import tables
from helpers.methods.coreference.runs import MAIN, PLAIN, shown
from helpers.reading import NOTHING, count, ends, interval, listed, number, readable

OWN = "layer of its own, all"
HEADS = {"probing": "heads by probing", "lowest": "least important heads", "highest": "most important heads"}
SAMSUM = 53  # ROUGE-1 of BART-large on SAMSum, of 100, about: what the printed gain is a share of
ENDS = ["change", "change_low", "change_high"]


def links(name: str) -> str:
    """What people call links: "gold links, 30 % corrupted", "shuffled resolver links"."""
    kind, _, change = name.partition("+")
    if kind == "none":
        return "no links"
    called = "gold links" if kind == "gold" else "resolver links" if kind == "rule" else f"{kind}-resolver links"
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


def arranged(table: pd.DataFrame, by: str, drawn: Mapping[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of `tables.scores` in two: other links in the same heads, and links `by` in other heads; `answer` is MAIN's.

    `drawn` says of random rows which heads these are, as `draws` does.
    """
    own, other = "least important heads attend by", f"which heads get {links(by)}"
    first = {"masked, lowest": "nothing (heads off)", with_links("none"): "themselves (no links)",
             with_links(f"{by}+shuffled"): "shuffled links", MAIN: links(by), with_links("gold"): "gold links"}  # fmt: skip
    second = {MAIN: "least important", **{row: f"random, {text}" for row, text in drawn.items()},
              "injected, probing": "chosen by probing", "injected, highest": "most important"}  # fmt: skip
    one, two = (
        pd.concat([table[table.row == row].assign(group=group, row=label, answer=row == MAIN) for row, label in calls.items()])
        for group, calls in ((own, first), (other, second))
    )
    return one.reset_index(drop=True), two.reset_index(drop=True)


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


def moves(value: float, unit: str = "points") -> str:
    """A change as a verb: "rises by 0.5 points", "falls by 0.2 points", "stays as it was" where it is rounded to zero."""
    size = number(abs(value), ".1f")
    return "stays as it was" if size in ("0.0", NOTHING) else f"{'rises' if value > 0 else 'falls'} by {size} {unit}"


def _gains(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in ROUGE-1, by name."""
    return table[table.metric == "ROUGE-1"].drop_duplicates("row").set_index("row")


def answer(
    own: pd.DataFrame, over: pd.DataFrame, by: str, verdicts: Mapping[str, str], alone: pd.DataFrame
) -> str:  # fmt: skip
    """Whether links help, whether it takes the right ones, unimportant heads, or heads at all.

    Of `tables.against_controls` in ROUGE-1, on their control, and `tables.over_seeds`, with links `by`; `verdicts` are those
    of the claims, `alone` is `tables.scores` of seed 1.
    """
    gains, empty, random = _gains(over), with_links(f"{by}+shuffled"), "injected, random"
    main, seeds = gains.loc[MAIN], count(int(over.seeds.max()) if "seeds" in over else 1, "training")
    right = own.change_low.get(empty, 0) > 0
    lead = (
        "Not that we could see." if not main.change_low > 0 else "A little, if the links are right." if right else "A little."
    )
    given = "the links of a simple coreference resolver" if by == "rule" else links(by)
    told = f"**{lead}** With {given} in the least important head of every encoder layer, ROUGE-1"
    told += f" {moves(main.change)} {_ends(main)} on average over {seeds}" if "seeds" in over else f" {moves(main.change)}"
    if empty in gains.index:
        told += f"; with shuffled links it {'rises too' if gains.change_low[empty] > 0 else 'does not rise'}"
    told += "."
    gain, better = (verdicts.get(name, "not testable") for name in ("injection-helps", "resolver-links"))
    told += f" After correction for all tests of this paper, the gain is {gain} and the advantage over shuffled links {better}."
    if random in own.index and not own.change_low[random] > 0:
        told += " We cannot tell whether the heads must be unimportant."
    if layer_gains(alone):
        layer, heads = (number(_gains(alone).change[row], ".1f") for row in (OWN, MAIN))
        told += f" In one training a separate layer gains more than the heads: {layer} points against {heads}."
    return told


def _ends(row: pd.Series) -> str:
    return f"[{number(row.change_low, '.1f')}, {number(row.change_high, '.1f')}]"


def headline(over: pd.DataFrame, by: str) -> str:
    """Which links help the least important heads: of `tables.over_seeds`."""
    rows = {with_links("gold"): "gold links", MAIN: links(by), with_links(f"{by}+shuffled"): "shuffled links",
            with_links("none"): "no links", "masked, lowest": "no attention at all"}  # fmt: skip
    gains = _gains(over).reindex([*rows]).dropna(subset="change")
    up = [f"{number(one.change, '.1f')} points with {rows[row]}" for row, one in gains.iterrows() if one.change_low > 0]
    not_up = [rows[row] for row, one in gains.iterrows() if not one.change_low > 0]
    told = [listed(up) if up else "", f"nothing with {listed(not_up)}" if not_up else ""]
    return f"In ROUGE-1 the least important heads gain {'; they gain '.join(filter(None, told))}."


def printed(over: pd.DataFrame) -> str:
    """The gain of the least important heads in % beside the printed one, and why these are not like for like."""
    main = _gains(over).loc[MAIN]
    before = main.value - main.change
    more = "less" if before > SAMSUM else "more"
    return (
        f"The paper prints a gain of {tables.PRINTED['ROUGE-1']:.1f} % in ROUGE-1; ours is {number(main.percent, '.1f')} %. Our"
        f" generated summaries start from {number(before, '.0f')} of 100 and theirs from about {SAMSUM}, so that there is"
        f" {more} to gain here. The two shares should not be compared."
    )


def masking(curves: pd.DataFrame, allowed: float) -> str:
    """What share of ROUGE-1 goes with the least and the most important heads of every layer: of `tables.masking`.

    `allowed` is what the claim lets three least important ones cost, a share of the whole model's (less than 0).
    """
    part = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    share = 100 * part.change / part.value["lowest", 0]
    told = []
    if ("lowest", 1) in share.index:
        told.append(f"without the least important head of every layer ROUGE-1 {moves(share['lowest', 1], '%')}")
    if ("lowest", 3) in share.index:
        rule = "more than" if share["lowest", 3] < 100 * allowed else "which"
        told.append(f"without three of them it {moves(share['lowest', 3], '%')}, {rule} our limit allows")
    if ("highest", 1) in share.index:
        told.append(f"without the most important one it {moves(share['highest', 1], '%')}")
    return f"W{'; '.join(told)[1:]}." if told else "No heads were switched off."


def chosen(own: pd.DataFrame, alone: pd.DataFrame) -> str:
    """Whether the least important heads gain more than other heads: of `tables.against_controls` in ROUGE-1, on their control.

    A second random choice is told from `alone`, `tables.scores` of seed 1.
    """
    rows = [row for row in ("injected, highest", "injected, probing") if own.change_low.get(row, 0) > 0]
    parts = [f"the {named(row)} fall behind by {number(own.change[row], '.1f')} points" for row in rows]
    if (random := "injected, random") in own.index:
        low, high = own.change_low[random], own.change_high[random]
        how = "falls behind" if low > 0 else "is ahead" if high < 0 else "cannot be told from the least important ones"
        parts.insert(0, f"one random choice of heads {how}")
    if f"{random} 2" in _gains(alone).index:
        gained = _gains(alone).change_low[f"{random} 2"] > 0
        parts.insert(1, f"another, trained once, {'gains too' if gained else 'gains nothing'}")
    told = "; ".join(parts) or "No other heads were given the links"
    return f"{told[0].upper()}{told[1:]}."


def moved(rises: pd.DataFrame, by: str) -> str:
    """How much the loss comes to rise without an injected head, with links `by` and with shuffled ones: of `tables.rises`."""
    whole = rises[rises.layer == 0].set_index("row")
    if MAIN not in whole.index:
        return "No injected head was measured."
    before, after = (number(whole[when][MAIN], ".1f") for when in ("before", "after"))
    told = (
        f"Taking one such head away raises the loss by {before} thousandths of a nat before injection, and by {after} after it"
    )
    empty = with_links(f"{by}+shuffled")
    return told + (f"; with shuffled links by {number(whole.after[empty], '.1f')}." if empty in whole.index else ".")


def ranks(every: pd.DataFrame, untouched: pd.DataFrame) -> str:
    """How far injected heads rise in their layer, of `tables.before_after_over_seeds`, beside other links and beside chance.

    `untouched` is of `tables.ranked_otherwise`, and may be empty.
    """
    mean = every.groupby("row", sort=False)[["rank_before", "rank_after"]].mean()
    if MAIN not in mean.index:
        return ""
    others = [name for name in mean.index if name.startswith(f"{MAIN}, ")]
    told = f"By rank, where 1 is the most important of the {every['heads'].max():.0f} heads of a layer, they go from"
    told += f" {mean.rank_before[MAIN]:.1f} to {mean.rank_after[MAIN]:.1f}"
    told += "".join(f"; with {named(row).partition(', ')[2]} to {mean.rank_after[row]:.1f}" for row in others) + "."
    rose = mean.rank_before - mean.rank_after
    share = rose[others].mean() / rose[MAIN] if others and rose[MAIN] else 0
    told += f" So about {number(share, '%')} of the rise needs no coreference." if 0 < share < 1 else ""
    if untouched.empty:
        return told
    stay = untouched.groupby("seed").rank_after.mean()
    how = "a change of rank that chance does not give" if stay.min() > mean.rank_after[MAIN] else "no more than chance gives"
    return (
        f"{told} It is {how}: in {len(stay)} trainings without injection, from the same start, they end at {ends(stay, '.1f')}."
    )


def clusters(curve: pd.DataFrame, by: str) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), `by` being those of the main row."""
    points = _gains(curve).sort_values("conll", kind="stable")
    corrupt, own = points[points.clusters.str.startswith("gold")], points.loc[MAIN]
    shown = corrupt if len(corrupt) > 1 else points
    some = shown[(shown.change_low > 0)[::-1].astype(int).cummin()[::-1].astype(bool)]
    told = f"Gold links with errors help from an F1 of {some.conll.iloc[0]:.0f} on" if len(some) else "No links help"
    told += f"; {links(by)} score {own.conll:.0f}"
    known = "people" in curve and own.people == own.people
    return told + (f", but have only {own.people:.0f} % of *he* and *she* right." if known else ".")


def layer(alone: pd.DataFrame, own: pd.DataFrame) -> str:
    """What a layer of its own gains beside the heads: of `tables.scores`, and over seeds of `tables.against_controls`."""
    gains = _gains(alone).change
    known = {OWN: "with a layer of its own after every layer ROUGE-1", MAIN: "with the links in heads it"}
    told = f"In one training, {listed(f'{what} {moves(gains[row])}' for row, what in known.items() if row in gains)}."
    for row in (row for row in own.index if row.startswith("layer of its own")):
        low, high = own.change_low[row], own.change_high[row]
        how = (
            "gains less than the heads"
            if low > 0
            else "gains more than the heads"
            if high < 0
            else "is not told apart from them"
        )
        told += f" Over several trainings we have only {named(row)}, which {how}."
    return told


def example(source: str, reference: str, written: Mapping[str, str]) -> str:
    """One dialogue, a line a turn, above its reference and the summaries `written` of it, by row."""
    turns = source.replace(" # ", "\n").removeprefix("# ")
    told = {"reference": reference} | {named(row): text for row, text in written.items()}
    wide = max(map(len, told))
    return "\n".join([turns, "", *(f"{name:>{wide}} => {text}" for name, text in told.items())])


def better(right: Sequence[float], over: str) -> str:
    """In how many dialogues injection changes the events told with the right people; `right` is the change in each."""
    up, down = (sum(bool(sign * gap > 0) for gap in right) for sign in (1, -1))
    return (
        f"Of {len(right):,} dialogues {up} get better and {down} worse in seed 1, by the events that are told of the right"
        f" people. Over seeds the share of such events changes by {over} points."
    )


def hollow(over: pd.DataFrame, track: str, worth: str, least: float, found: pd.DataFrame | None = None) -> str:
    """Why a track says nothing of the method: its gain, what attention is worth there, how good a resolver is on natural text.

    `over` is `tables.over_seeds` there, or `scores`; `found` is `tables.resolvers`, with or without the rules on GUM.
    """
    gum = found[found.against.str.startswith("GUM")] if found is not None else ()
    seeds = count(int(over.seeds.max()) if "seeds" in over else 1, "training")
    told = (
        f"On {'natural' if track == 'natural' else 'these'} dialogues injection changes ROUGE-1 by {change(over, MAIN)} points"
    )
    told += f" ({seeds}). This says nothing of the method, since all encoder attention together is worth only {worth} to the"
    told += f" model there. A verdict would ask for at least {least:g}."
    return told + (
        f" Our resolver reaches an F1 of {gum.CoNLL.iloc[0]:.0f} on English conversations and interviews (GUM)."
        if len(gum)
        else ""
    )


def draws(every: pd.DataFrame) -> dict[str, str]:
    """Ranks of random heads from layer 1 up, "ranks 3-5-2": of `tables.before_after_over_seeds` and `ranked_otherwise`."""
    told = {}
    for row, part in every[every.row.str.startswith("injected, random")].groupby("row", sort=False):
        ranks = part.groupby("layer").rank_before.unique()
        anew = (ranks.map(len) > 1).any()
        told[row] = "drawn anew by seed" if anew else f"ranks {'-'.join(f'{rank[0]:.0f}' for rank in ranks)}"
    return told


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
