"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import matrices, tables
from helpers.methods.coreference.runs import MAIN, PLAIN, PROBED, shown
from helpers.reading import count, ends, interval, listed, number, readable

OWN, UPPER = "layer of its own, all", "layer of its own, upper"
HEADS = {"probing": "heads by probing", "lowest": "least important heads", "highest": "most important heads"}
TEXTS, HERE = {"controlled": "generated dialogues", "natural": "natural dialogues (SAMSum)"}, "these dialogues"
SAMSUM = 53  # ROUGE-1 of BART-large on SAMSum, of 100, about: what the printed gain is a share of
ENDS, PERCENT = ([name, f"{name}_low", f"{name}_high"] for name in ("change", "percent"))


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
    if first == "injected at inference":
        return f"{HEADS[rest or 'lowest']}, at inference alone"
    if first not in ("injected", "masked"):
        return f"mixing after {'every layer' if rest == 'all' else f'{rest} layers'}" if first == "layer of its own" else row
    which, _, more = rest.partition(", ")
    which, _, count = which.partition(" ")
    heads = HEADS.get(which, f"{which} heads")
    heads = f"{count} {heads} per layer" if count and which != "random" else heads
    heads += f" (draw {count})" if count and which == "random" else ""
    parts = [heads, "off in training too" if first == "masked" else ""]
    if more.startswith("written with "):
        parts.append(f"{links(more.removeprefix('written with '))} at inference")
    elif more:
        parts.append("off at inference" if more == "heads off at inference" else _more(more))
    return ", ".join(filter(None, parts))


def _more(name: str) -> str:
    return name if re.search(" (links|spans|layers)$", name) else links(name)


def called(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its rows called as people call them."""
    return table.assign(row=table.row.map(named))


def arranged(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows of `tables.scores` or `rises` with other links in the least important heads; `answer` is MAIN's, with links `by`."""
    calls = {"masked, lowest": "nothing (heads off)", with_links("none"): "themselves (no links)",
             with_links(f"{by}+shuffled"): "shuffled links", MAIN: links(by), with_links("gold"): "gold links"}  # fmt: skip
    parts = [table[table.row == row].assign(row=label, answer=row == MAIN) for row, label in calls.items()]
    return pd.concat(parts, ignore_index=True).assign(group="least important heads attend by")


def chosen(drawn: Mapping[str, str]) -> dict[str, str]:
    """What people call choices of heads, by row; `drawn` says of random rows which heads these are, as `draws` does."""
    random = {row: f"random {text}" for row, text in drawn.items()}
    return {MAIN: "least important", **random, PROBED: "by probing (2021)", "injected, highest": "most important"}


def wide(table: pd.DataFrame, value: str, caption: str, form: str = ".1f", what: str = "heads") -> Markdown:
    """ROUGE-1 or BLEU and events side by side, a line a row (`what` their title), `x [low, high]` of intervals."""
    ends = {"value": ("low", "high"), "change": ("change_low", "change_high")}.get(value, ())
    lines = {what: list(dict.fromkeys(table.row))}
    for metric, part in table[~table.metric.isin(["ROUGE-2", "ROUGE-L"])].groupby("metric", sort=False):
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


def _gains(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in ROUGE-1, by name."""
    return table[table.metric == "ROUGE-1"].drop_duplicates("row").set_index("row")


def answer(own: pd.DataFrame, over: pd.DataFrame, by: str, verdicts: Mapping[str, str], empty: bool = False) -> str:
    """Whether links help, whether it takes the right ones, and which heads.

    Of `tables.against_controls` in ROUGE-1, on their control, and `tables.over_seeds`, with links `by`; `verdicts` are those
    of the claims; `empty` is whether natural text cannot tell.
    """
    gains, gold, given = _gains(over), with_links("gold"), "a resolver's" if by == "rule" else links(by)
    sure, best = (gains.change_low.get(row, 0) > 0 for row in (MAIN, gold))
    less = f" with true links, a little with {given}" if best and own.change_high.get(gold, 0) < 0 else ""
    lead = f"yes{less}" if sure else f"with true links yes, with {given} not that we could see" if best else ""
    known = tables.EVENTS in {*over.metric}
    lead = f"{'On generated' if known else 'On these'} dialogues {lead or 'not that we could see'}"
    rows = {gold: "true", MAIN: given, with_links(f"{by}+shuffled"): "these shuffled"}
    gains_of = "; ".join(f"{name} {_both(over, row)}" for row, name in rows.items() if row in gains.index)
    told = f"In each layer's least important head they give, against plain{_over(over)}, in points of"
    told += f" ROUGE-1{' and events' * known}: {gains_of}."
    controls = {"resolver-links": "shuffled links", "injection-helps": "plain"}
    beaten = [what for name, what in controls.items() if verdicts.get(name) == "seen"]
    others = f", not {listed(what for what in controls.values() if what not in beaten)}," * (len(beaten) == 1)
    told += f" After correction {given} beat {listed(beaten) if beaten else 'no control'}{others} in ROUGE-1."
    most, random = "injected, highest", "injected, random"
    if {most, random} <= {*gains.index}:
        told += f" With {given}, random heads (one draw) gain {change(over, random)} ROUGE-1, the most important"
        told += f" {change(over, most)}."
    return f"**{lead}{'; natural ones cannot tell' * empty}.** {told}"


def _both(table: pd.DataFrame, row: str) -> str:
    """A row's change in ROUGE-1 and, where they are known, in events: "+1.9 [+1.3, +2.4] and +10.2 [+7.8, +12.5]"."""
    return listed(change(table, row, metric) for metric in ("ROUGE-1", tables.EVENTS) if metric in {*table.metric})


def _over(over: pd.DataFrame) -> str:
    return f" over {count(int(over.seeds.max()), 'training')}" if "seeds" in over else ""


def which(
    over: pd.DataFrame, own: pd.DataFrame, drawn: Mapping[str, str], once: pd.DataFrame, like: Sequence[float] = (),
    even: float = 0.0,
) -> str:  # fmt: skip
    """Whether heads must be unimportant: of `tables.over_seeds`, `own` as `answer` takes it, `draws`, `scores` of seed 1.

    `like` are cosines of probed heads with the matrix, `even` that of attention spread evenly.
    """
    gains, most, random, told = _gains(over), "injected, highest", "injected, random", []
    if most in gains.index:
        sure, cost = gains.change_high[most] < 0, f"change ROUGE-1 by {change(over, most)}"
        lead = "They must not be" if sure else "We do not see that they must not be"
        cost = f"cost {_cost(gains.loc[most])} points{_over(over)}" if sure else cost
        if gains.change_high.get(PROBED, 0) < 0:
            cost += ", in those that attend most like the matrix (*probing*, the authors' rule of 2021)"
            far = ": hardly like it" * (max(like, default=1) < 0.5)
            cost += f" {_cost(gains.loc[PROBED])}"
            cost += f" (cosine {ends(like, '.2f')}, that of attention spread evenly {even:.2f}{far})" if len(like) else ""
        told.append(f"{lead} the most important: there the same links {cost}.")
    if random in own.index:
        apart, gain, least = own.change_low[random] > 0, *(change(over, row) for row in (random, MAIN))
        lead = "Random heads gain less" if apart else "That they must be the least important we do not see"
        apart = "less than" if apart else "not told apart from"
        lead += f": random heads ({drawn[random]} by layer, 1 the most important) gain {gain}, {apart} {least}"
        more = [
            f"; others ({ranks}) change it by {change(once, row)} (one training)"
            for row, ranks in drawn.items()
            if row != random
        ]
        told.append(f"{lead}{''.join(more)}.")
    return " ".join(told)


def _cost(row: pd.Series) -> str:
    return interval(-row.change, -row.change_high, -row.change_low, ".1f")


def costs(table: pd.DataFrame) -> tuple[str, str]:
    """Whether links gain less in heads that the model misses more, of `tables.choices`; and which choices are the same."""
    table, most = table.assign(rest=table.loss - table["first"]), (PROBED, "injected, highest")
    parts = [part for _, part in table.groupby("seed") if len(part) > 2]
    each, rest = ([part[loss].corr(part.change, method="spearman") for part in parts] for loss in ("loss", "rest"))
    if not each or any(one != one for one in each):
        return "There are too few choices of heads to compare.", ""
    behind = f"each of {len(each)} trainings" if len(each) > 1 else "one training"
    lead = f"In {behind} links {'gain' if max(each) < 0 else 'do not always gain'} less in heads that the model misses more"
    lead += f" (rank correlation over {ends([*map(len, parts)], '.0f')} choices {ends(each, '.1f')}; by the loss of heads above"
    lead += f" layer 1 {ends(rest, '.1f')})."
    firsts = table.pivot(index="seed", columns="row", values="first").reindex(columns=most)
    same = int((firsts[most[0]] == firsts[most[1]]).sum())
    more = f" In {count(same, 'training')} probing chooses layer 1's most important head too: they overlap." if same else ""
    return lead, f"This is a look after the fact.{more}"


def headline(over: pd.DataFrame, by: str) -> str:
    """Which links move the scores: of `tables.over_seeds`."""
    rows, told = {with_links("gold"): "gold links", MAIN: links(by), with_links(f"{by}+shuffled"): "shuffled links",
                  with_links("none"): "no links", "masked, lowest": "heads off"}, []  # fmt: skip
    for metric, part in over[over.metric.isin(["ROUGE-1", tables.EVENTS])].groupby("metric", sort=False):
        part = part.set_index("row").reindex([*rows]).dropna(subset="change")
        moved = {"rises": part.change[part.change_low > 0], "falls": part.change[part.change_high < 0]}
        moved = [f"{verb} with {listed(rows[row] for row in side.index)}" for verb, side in moved.items() if len(side)]
        name = "the share of events" if metric == tables.EVENTS else f"{metric}"
        told.append(f"{name} {listed(moved) if moved else 'is not seen to move'}")
    return f"{'; '.join(told)}. The rest is not told from zero."


def printed(over: pd.DataFrame) -> str:
    """The gain of the least important heads in % beside the printed one, and why these are not like for like."""
    main = _gains(over).loc[MAIN]
    told = f"Second-hand accounts of the paper give +{tables.PRINTED['ROUGE-1']:.1f} % of ROUGE-1, from about {SAMSUM} of 100;"
    told += f"{_over(over)} we have {number(main.percent, '+.1f')} %, from {number(main.value - main.change, '.0f')}"
    return f"{told}. Do not compare the two."


def masking(curves: pd.DataFrame, allowed: float, settings: pd.DataFrame | None = None) -> str:
    """What share of the scores goes with some heads of every layer: of `tables.masking`.

    `allowed` is what the claim lets three least important ones cost, a share of the whole model's (less than 0); `settings`
    is `tables.masking_by_setting`, of several ways of training.
    """
    known, told = curves if settings is None else settings, []
    known = known[(known.order == "lowest") & (known.number == 3)]
    names = [at for at in ("ROUGE-1", tables.EVENTS) if at in {*curves.metric}]
    one = curves[(curves.order == "lowest") & (curves.number == 1)].drop_duplicates("metric").set_index("metric")
    if len(one):
        shown = [f"{interval(*one.loc[at, PERCENT], '+.1f')} % of {at}" for at in names]
        little = "little" if one.percent["ROUGE-1"] >= 100 * allowed else "much"
        told.append(f"One head a layer matters {little}: {', '.join(shown)}.")
    if len(known):
        shown = [f"{ends(known.percent[known.metric == at], '.1f')} %" for at in names]
        first = known[known.metric == "ROUGE-1"]
        high = first.change_high / (first.value - first.change)
        ways = f"{listed(shown)} in {count(len(first), 'way')} of training"
        told.append(f"Three: {ways}, past our limit by interval in {(high < allowed).sum()}.")
    return " ".join(told) or "No heads were switched off."


def given_back(lowest: pd.DataFrame, highest: pd.DataFrame) -> str:
    """What links give over the same heads off: of `tables.scores` against the masked row."""
    low, high = (_gains(part).iloc[0] for part in (lowest, highest))
    most = "What important heads lose seems to be their old job: over" if 0 < low.change <= high.change else "Over"
    gains = f"{interval(*high[ENDS], '+.1f')} there and {interval(*low[ENDS], '+.1f')} in the least important"
    return f"{most} the same heads off in training links give {gains} (one training, no shuffled links there)."


def come(apart: pd.DataFrame, rises: pd.DataFrame, by: str, judged: Sequence[str], owns: int) -> str:
    """Whether links make heads matter: of `tables.matter_more` by loss, `tables.rises`, and the sides of the claim's rows.

    `owns` is how many of these rows are for the claim by their own interval.
    """
    table = apart[apart.control == with_links(f"{by}+shuffled")] if len(apart) else apart
    if table.empty:
        return "No heads with shuffled links were measured."
    (mean,), parts = table[table.layer < 0].itertuples(), table[table.layer >= 0]
    each, some = parts.layer[parts.low.fillna(parts.more) > 0], sum(side == "for" for side in judged)
    lead = "The least important do, on the mean of layers" if mean.low > 0 else "Not visibly"
    gap = interval(*(1000 * end for end in (mean.more, mean.low, mean.high)), "+.1f")
    told = (
        f"{lead}: switched off, one costs {gap} thousandths of a nat a token more than with shuffled links (by layer, seen in"
    )
    told += (
        f" {_at(each)}). By importance, the claim's measure, {owns} of {count(len(judged), 'comparison')} are for it by their"
    )
    told += f" own interval, {some} after correction."
    whole, rivals = rises[rises.layer == 0].set_index("row"), ("injected, random", "injected, highest")
    if not {*rivals} <= {*whole.index}:
        return told
    after, before = ([interval(*whole.loc[row, [when, f"{when}_low", f"{when}_high"]], ".1f") for row in rivals]
                     for when in ("after", "before"))  # fmt: skip
    lead = " No rise is seen in others: with" if (whole.after <= whole.before)[[*rivals]].all() else " With"
    told += f"{lead} links a random head costs {after[0]} (in the plain model {before[0]}), a most important one {after[1]}"
    return f"{told} ({before[1]})."


def moved(rises: pd.DataFrame, by: str) -> str:
    """How much the loss comes to rise without an injected head, with links `by` and with shuffled ones: of `tables.rises`."""
    whole = rises[rises.layer == 0].set_index("row")
    if MAIN not in whole.index:
        return "No injected head was measured."
    before, after = (number(whole[when][MAIN], ".1f") for when in ("before", "after"))
    told = f"One such head off raises the loss by {before} thousandths of a nat in the plain model, by {after} with {links(by)}"
    empty = with_links(f"{by}+shuffled")
    return told + (f", by {number(whole.after[empty], '.1f')} with shuffled ones." if empty in whole.index else ".")


def clusters(curve: pd.DataFrame, by: str) -> str:
    """What links gain by their clusters' quality (`tables.quality_curve`), `by` being those of the main row."""
    points = _gains(curve).sort_values("conll", kind="stable")
    corrupt, own = points[points.clusters.str.match("gold($|.corrupt)")], points.loc[MAIN]
    shown = corrupt if len(corrupt) > 1 else points
    some = shown[(shown.change_low > 0)[::-1].astype(int).cummin()[::-1].astype(bool)]
    below = f", not visibly at {shown.conll.iloc[-len(some) - 1]:.0f}" if 0 < len(some) < len(shown) else ""
    told = f"Gold links with errors help at an F1 of {some.conll.iloc[0]:.0f}{below}" if len(some) else "No links help"
    if "people" not in curve or own.people != own.people:
        return f"{told}; {links(by)} score {own.conll:.0f}."
    f1, people = (np.interp(own[x], *shown.sort_values(x)[[x, "change"]].to_numpy().T) for x in ("conll", "people"))
    if f1 > own.change > people:
        told += f". Neither score alone predicts what {links(by)} gain: F1 ({own.conll:.0f}) promises more, *he*/*she*"
        return f"{told} ({own.people:.0f} %) less."
    return f"{told}; {links(by)} score {own.conll:.0f}, with {own.people:.0f} % of *he* and *she* right."


def heights(curve: pd.DataFrame, over: pd.DataFrame) -> str:
    """Of `tables.quality_curve` and `over_seeds`: whether the one training gains more than the mean of all."""
    one, mean = (_gains(part).change.get(with_links("gold")) for part in (curve, over))
    if "seeds" not in over or one is None or mean is None or number(one, ".1f") <= number(mean, ".1f"):
        return ""
    told = f"Read the order, not the heights: this training gains more than the mean of {over.seeds.max():.0f} (gold links"
    return f"{told} {one:.1f} against {mean:.1f})."


def upper(layers: int) -> str:
    """What people call mixing after upper layers, where the encoder has so many."""
    last = len(matrices.layers_of(layers, "upper"))
    return f"mixing after the last {f'{last} layers' if last > 1 else 'layer'} only (of {layers}; 2021: upper layers)"


def mixed(alone: pd.DataFrame, over: pd.DataFrame, own: pd.DataFrame, by: str, layers: int) -> str:
    """What mixing gains beside heads: of `tables.scores` of one training, and of several as `answer` takes them."""
    part, gold = _gains(alone), with_links("gold")
    if not {OWN, MAIN, gold} <= {*part.index}:
        return "Not every layer was mixed."
    lead = "Yes" if part.change_low[OWN] > part.change_high[MAIN] else "Not visibly"
    told = f"{lead}, after every layer (one training, no shuffled control): {links(by)} then give {change(alone, OWN)} ROUGE-1,"
    told += f" in heads {change(alone, MAIN)}; gold links in heads give {change(alone, gold)}."
    if part.change_high[OWN] > part.change_low[gold] and links(by) != links("gold"):
        told += " How links enter seems to count as much as their errors."
    if UPPER not in own.index or "seeds" not in over:
        return told
    gap, what = own.loc[UPPER], upper(layers).partition(" only")[0].capitalize()
    apart = "more than" if gap.change_high < 0 else "less than" if gap.change_low > 0 else "not told apart from"
    return f"{told} {what} alone gives {change(over, UPPER)}{_over(over)}, {apart} heads."


def setup(layers: int, heads: int, trainings: int) -> str:
    """Which model is trained, how often, and what the figure's intervals are over."""
    told = f"The model is a BART of {count(layers, 'encoder layer')} with {count(heads, 'head')} each, trained from"
    told += f" {trainings} different weights" if trainings > 1 else " one start"
    told += (
        ". From each start every row of the figure on top is trained for the same further steps; the plain row ranks the heads."
    )
    return f"{told} Intervals there are over {f'these {trainings}' if trainings > 1 else 'dialogues'}."


def example(source: str, reference: str, written: Mapping[str, str]) -> str:
    """One dialogue, of `tables.marked`, above its reference and the summaries `written` of it, by row."""
    turns = "\n".join(line.removeprefix("# ") for line in source.splitlines())
    told = {"reference": reference} | {named(row): text for row, text in written.items()}
    wide = max(map(len, told))
    return "\n".join([turns, "", *(f"{name:>{wide}} => {text}" for name, text in told.items())])


def followed(mistake: tuple[str, str] | None, written: Sequence[str], right: Sequence[Sequence[float]]) -> str:
    """What links do to dialogues: who is `mistaken`, and summaries (without, with links), in the first; events right in all."""
    (before, after), *more = right
    told = f"The resolver takes *{mistake[0]}* for {mistake[1]}" if mistake else "The resolver takes nobody for another"
    if mistake and written[1].split().count(mistake[1]) > written[0].split().count(mistake[1]):
        told += ", and the model follows it"
    told += f": here the links {'hurt' if after < before else 'help' if after > before else 'change no event'}."
    better = (one[1] for one in more if one[1] > one[0])
    return told + "".join(f" In the next dialogue they mend {'all' if share > 99 else 'some'} events." for share in better)


def better(links: Sequence[float], shuffled: Sequence[float] = ()) -> str:
    """In how many dialogues injection changes the events told with the right people; given is the change in each."""
    up, down, *others = (sum(bool(sign * gap > 0) for gap in right) for right in (links, shuffled) for sign in (1, -1))
    told = f"Of {len(links):,} dialogues {up} get better and {down} worse in seed 1, by events with the right people"
    return f"{told} (shuffled links: {others[0]} and {others[1]})." if len(shuffled) else f"{told}."


def blind(quality: pd.DataFrame) -> str:
    """How weakly ROUGE-1 sees wrong names: of `tables.scores` of the plain model beside `tables.baselines`."""
    guessed, rouge = "baseline: nearest name", _gains(quality).value
    right = quality[quality.metric == tables.EVENTS].set_index("row").value
    value, plain, wrong, known = (number(part[row], ".0f") for part in (rouge, right) for row in (guessed, PLAIN))
    told = (
        f"ROUGE-1 sees wrong names weakly: references with the nearest name put in still score {value} of 100, with {wrong} %"
    )
    return f"{told} of events right; the plain model scores {plain} with {known} % (one training)."


def hollow(over: pd.DataFrame, where: str, off: pd.DataFrame, least: float, found: pd.DataFrame | None = None) -> str:
    """Why a text says nothing of the method: the gain there, what attention is worth, how good a resolver is elsewhere.

    `over` is `tables.over_seeds` there, or `scores`; `off` is `tables.masking`; `found` is `tables.resolvers`, with or without
    the rules on GUM.
    """
    gum = found[found.against.str.startswith("GUM")] if found is not None else ()
    seeds, off = count(int(over.seeds.max()) if "seeds" in over else 1, "training"), off[off.number == off.number.max()]
    told = f"On {where} injection changes ROUGE-1 by {change(over, MAIN)} points ({seeds}). This says nothing of the method:"
    told += f" all encoder attention off changes it by {change(off, off.row.iloc[0])} (one training), and we give a"
    told += f" verdict only where that costs {least:g} points."
    reach = f" Our resolver reaches an F1 of {gum.CoNLL.iloc[0]:.0f} on English" if len(gum) else ""
    return f"{told}{reach} conversations and interviews (GUM)." if reach else told


def draws(every: pd.DataFrame) -> dict[str, str]:
    """Ranks of random heads by layer, "A: ranks 3, 5": of `tables.before_after_over_seeds` and `ranks`."""
    told = {}
    for letter, (row, part) in enumerate(every[every.row.str.startswith("injected, random")].groupby("row", sort=False)):
        ranks, anew = part.groupby("layer").rank_before.first(), (part.groupby("layer").rank_before.nunique() > 1).any()
        own = f"ranks {', '.join(f'{rank:.0f}' for rank in ranks)}"
        told[row] = f"{chr(65 + letter)}: {'drawn anew by seed' if anew else own}"
    return told


def placed(table: pd.DataFrame, board: tables.Board, layers: int) -> pd.DataFrame:
    """Rows of `tables.by_group` in short, "layer 3 alone", "adjacent links": all are of the least important heads."""
    calls = {(group, MAIN): "full links, first words" if group == "matrices" else "each layer" for group in set(table.group)}
    for row in (row for row in dict.fromkeys(table.row) if row.startswith(f"{MAIN}, ") and row.endswith(" layers")):
        calls["heads and layers", row] = f"{_where(board, row)} alone"
    plain = table.row.map(named).str.removeprefix(f"{named(MAIN)}, ").str.replace("^mixing", "none: mixing", regex=True)
    plain = plain.str.replace("least important heads per layer", "in each layer").str.replace(
        named(UPPER), upper(layers).partition(" only")[0]
    )
    short = [calls.get(key, name) for key, name in zip(zip(table.group, table.row, strict=True), plain, strict=True)]
    groups = {"heads and layers": "least important heads in", "matrices": "which attend by"}
    return table.assign(row=short, group=table.group.replace(groups), answer=table.row == MAIN)


def syntax(table: pd.DataFrame) -> str:
    """What links of syntax gain in a translator: of `tables.scores` in BLEU."""
    rows = [f"injected, {heads}" for heads in ("lowest", "random", "highest")]
    told = listed(f"{named(row)} {change(table, row, 'BLEU')}" for row in rows)
    part = table[table.row.isin(rows)]
    sure = "" if ((part.change_low > 0) | (part.change_high < 0)).any() else "; nothing is told from zero"
    return f"Links of syntax in a translator (one training), BLEU: {told}{sure}."


def layers(last: pd.DataFrame, board: tables.Board) -> str:
    """Whether injection gains more in upper layers, as the paper has it: of `tables.scores` of these against those below."""
    gap = _gains(last).iloc[0]
    sure = "as" if gap.change_low > 0 else "against what" if gap.change_high < 0 else "not told apart, against what"
    upper, below = (_where(board, f"{MAIN}, {part} layers") for part in ("upper", "middle"))
    gain = interval(*gap[ENDS], "+.1f")
    return f"{upper.capitalize()} minus {below}, paired: {gain} ROUGE-1, {sure} second-hand accounts of the paper say."


def _where(board: tables.Board, row: str) -> str:
    return _at(pd.Series(sorted({at[1] for at in tables.runs.addresses(board.rows[row]["run"]["control"]["heads"])})))


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
    low, high = _gains(gap).iloc[0][ENDS[1:]]
    how = "more than" if high < 0 else "less than" if low > 0 else "about as much as"
    f1 = f"F1 {own.conll:.0f} against {other.conll:.0f}"
    told = f"The resolver's errors cost {how} gold links corrupted at random ({change(gap, MAIN)} ROUGE-1 at {f1}, seed 1)"
    if "people" not in curve or own.people != own.people:
        return f"{told}."
    worse = curve[curve.clusters.str.contains("corrupt")]
    alike = worse.loc[(worse.people - own.people).abs().idxmin()]
    told += (
        f". The corrupted links have {other.people:.0f} % of *he* and *she* right; gold links as bad at them as the resolver"
    )
    return f"{told} gain {change(curve, alike.row, ends=False)} (a look after the fact)."


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
    how = "is kept in part without" if (part.change_low[others] > 0).any() else "needs"
    said += f"Trained with it, the gain of {number(part.change[MAIN], '+.1f')} {how} the training's links at inference"
    return f"{said} (with shuffled or no links, or heads off: {ends(part.change[others], '+.1f')})."
