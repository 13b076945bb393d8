"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown

from helpers.methods.coreference import matrices, tables
from helpers.methods.coreference.runs import MAIN, PLAIN, shown
from helpers.reading import NOTHING, count, ends, interval, listed, number, readable

OWN, UPPER = "layer of its own, all", "layer of its own, upper"
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
    return {MAIN: "least important", **random, "injected, probing": "by probing (2021)", "injected, highest": "most important"}


def wide(table: pd.DataFrame, value: str, caption: str, form: str = ".1f", what: str = "heads") -> Markdown:
    """Metrics side by side but ROUGE-L, a line a row (`what` their title), `x [low, high]` of intervals."""
    ends = {"value": ("low", "high"), "change": ("change_low", "change_high")}.get(value, ())
    lines = {what: list(dict.fromkeys(table.row))}
    for metric, part in table[table.metric != "ROUGE-L"].groupby("metric", sort=False):
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
    """Whether links help, whether it takes the right ones, and whether it takes heads at all.

    Of `tables.against_controls` in ROUGE-1, on their control, and `tables.over_seeds`, with links `by`; `verdicts` are those
    of the claims, `alone` is `tables.scores` of seed 1.
    """
    gains, empty, gold = _gains(over), with_links(f"{by}+shuffled"), with_links("gold")
    main, right, more = gains.loc[MAIN], own.change_low.get(empty, 0) > 0, own.change_high.get(gold, 0) < 0
    sure = main.change_low > 0
    more = "; a larger one with true links" if right and more else ", if the links are right" if right else ""
    lead = f"Yes, a small one{more}." if sure else "Not that we could see."
    given = "a resolver's links" if by == "rule" else links(by)
    told = f"**{lead}** With {given} in the least important head of every encoder layer, ROUGE-1 {moves(main.change)}"
    told += f" {_ends(main)}{_over(over)}" if "seeds" in over else ""
    told += f", with true links by {number(gains.change[gold], '.1f')}" if sure and gold in gains.index else ""
    if sure and empty in gains.index:
        told += f"; with shuffled links it {'rises too' if gains.change_low[empty] > 0 else 'does not'}"
    calls = {"resolver-links": "the advantage over shuffled links", "injection-helps": "the gain over plain"}
    stand = [what for name, what in calls.items() if verdicts.get(name) == "seen"]
    if apart := number(own.change.get(empty), "+.1f") if calls["resolver-links"] in stand else "":
        stand[0] += f" ({apart})"
    told += f". Of these, {listed(stand or ['no gain'])} survive{'s' * (len(stand) < 2)} correction for all tests of this paper"
    told += "".join(f"; {what} does not" for name, what in calls.items() if stand and verdicts.get(name) != "seen") + "."
    every, heads = (number(_gains(alone).change.get(row), ".1f") for row in (OWN, MAIN))
    mixing = f" Mixing every layer's output over the links, with no head given up, gains {every}, heads {heads}"
    return told + f"{mixing} (one training, no shuffled control)." * (OWN in {*alone.row})


def _over(over: pd.DataFrame) -> str:
    return f" over {count(int(over.seeds.max()), 'training')}" if "seeds" in over else ""


def which(over: pd.DataFrame, own: pd.DataFrame) -> str:
    """Whether heads must be unimportant: of `tables.over_seeds`, and of `own` as `answer` takes it."""
    gains, most, random, told = _gains(over), "injected, highest", "injected, random", []
    if most in gains.index:
        sure, cost = gains.change_high[most] < 0, f"change ROUGE-1 by {change(over, most)}."
        cost = f"cost {_cost(gains.loc[most])} points{_over(over)}." if sure else cost
        lead = "They must not be" if sure else "We do not see that they must not be"
        told.append(f"{lead} the most important: there the same links {cost}")
    if gains.change_high.get("injected, probing", 0) < 0:
        told.append(f"Heads chosen by probing, as in 2021, lose {_cost(gains.loc['injected, probing'])} too.")
    if random in own.index:
        apart, gain, least = own.change_low[random] > 0, *(number(gains.change[row], ".1f") for row in (random, MAIN))
        lead = "Other heads gain less" if apart else "That they must be the least important we do not see"
        told.append(f"{lead}: random heads gain {gain}, {'less than' if apart else 'not told apart from'} {least}.")
    return " ".join(told)


def _cost(row: pd.Series) -> str:
    return interval(-row.change, -row.change_high, -row.change_low, ".1f")


def costs(table: pd.DataFrame) -> tuple[str, str]:
    """Whether links gain less in heads that the model misses more, of `tables.choices`; and where these heads are."""
    each = [part.loss.corr(part.change, method="spearman") for _, part in table.groupby("seed") if len(part) > 2]
    if not each or any(one != one for one in each):
        return "There are too few choices of heads to compare.", ""
    behind = f"each of {len(each)} trainings" if len(each) > 1 else "one training"
    lead = f"In {behind} links {'gain' if max(each) < 0 else 'do not always gain'} less in heads that the model misses more"
    share = number(table["first"].sum() / table.loss.sum(), "%")
    more = f"This is a look after the fact; {share} of these losses come from layer 1, so the layer may count too."
    return f"{lead} (rank correlation {ends(each, '.1f')}).", more


def _ends(row: pd.Series) -> str:
    return f"[{number(row.change_low, '.1f')}, {number(row.change_high, '.1f')}]"


def headline(over: pd.DataFrame, by: str) -> str:
    """Which links help the least important heads: of `tables.over_seeds`."""
    rows = {with_links("gold"): "gold links", MAIN: links(by), with_links(f"{by}+shuffled"): "shuffled links",
            with_links("none"): "no links", "masked, lowest": "heads off"}  # fmt: skip
    gains = _gains(over).reindex([*rows]).dropna(subset="change")
    up = [f"{number(one.change, '.1f')} points with {rows[row]}" for row, one in gains.iterrows() if one.change_low > 0]
    not_up = listed(rows[row] for row, one in gains.iterrows() if not one.change_low > 0).replace(" and ", " or ")
    told = [listed(up) if up else "", f"nothing with {not_up}" if not_up != "none" else ""]
    return f"In ROUGE-1 the least important heads gain {'; they gain '.join(filter(None, told))}."


def printed(over: pd.DataFrame) -> str:
    """The gain of the least important heads in % beside the printed one, and why these are not like for like."""
    main = _gains(over).loc[MAIN]
    before = main.value - main.change
    more = "less" if before > SAMSUM else "more"
    return (
        f"Second-hand accounts of the paper give a gain of {tables.PRINTED['ROUGE-1']:.1f} % in ROUGE-1; ours is"
        f" {number(main.percent, '.1f')} %. Our generated summaries start from {number(before, '.0f')} of 100 and theirs from"
        f" about {SAMSUM}, so that there is {more} to gain here. The two shares should not be compared."
    )


def masking(curves: pd.DataFrame, allowed: float, settings: pd.DataFrame | None = None) -> str:
    """What share of ROUGE-1 goes with the least and the most important heads of every layer: of `tables.masking`.

    `allowed` is what the claim lets three least important ones cost, a share of the whole model's (less than 0); `settings`
    is `tables.masking_by_setting`, of several trainings.
    """
    part = curves[curves.metric == "ROUGE-1"].drop_duplicates(["order", "number"]).set_index(["order", "number"])
    share, limit, told = part.percent, 100 * allowed, []
    if ("lowest", 1) in share.index:
        free = "no" if share["lowest", 1] < limit else "yes"
        told.append(f"{free}: without one head a layer ROUGE-1 {moves(share['lowest', 1], '%')}")
    if ("lowest", 3) in share.index:
        three, where = part.loc[("lowest", 3)], ""
        low, high = three.percent_low, three.percent_high
        said = f"{moves(three.percent, '%')} [{number(-high, '.1f')}, {number(-low, '.1f')}]"
        at = '(metric == "ROUGE-1") & (order == "lowest") & (number == 3)'
        every = three[[]] if settings is None else settings.query(at).percent.dropna()
        if len(every):
            low, high, where = every.min(), every.max(), f" in {count(len(every), 'training')}"
            said = f"changes by {ends(every, '.1f')} %" if high > 0 else f"falls by {ends(-every, '.1f')} %"
        rule = "above" if high < limit else "below" if low > limit else "about"
        told.append(f"without three it {said}{where}, {rule} our limit of {-limit:g} %")
    if ("highest", 1) in share.index:
        told.append(f"without the most important it {moves(share['highest', 1], '%')}")
    return f"{told[0][0].upper()}{'; '.join(told)[1:]}." if told else "No heads were switched off."


def given_back(lowest: pd.DataFrame, highest: pd.DataFrame) -> tuple[str, str]:
    """What links give over the same heads off, in a sentence and with intervals: of `tables.scores` against the masked row."""
    low, high = (_gains(part).iloc[0] for part in (lowest, highest))
    lead = f"Against the same heads off in training, links {'gain' if high.change > 0 else 'change ROUGE-1 by'}"
    lead += f" {number(high.change, '.1f')} points in the most important heads, {number(low.change, '.1f')} in the least"
    most = ": what is lost there seems to be the heads' old job. Shuffled links we did not try there."
    lead += most if 0 < low.change <= high.change else "."
    gains = listed(f"{interval(*one[ENDS], '+.1f')} in the {heads}" for one, heads in ((low, "least"), (high, "most")))
    return lead, f"With links minus off in training, ROUGE-1 in seed 1: {gains} important heads."


def come(every: pd.DataFrame, by: str, judged: Sequence[str]) -> str:
    """Whether links make heads matter, in short: of `tables.before_after_over_seeds`, and of the sides of the claim's rows."""
    place = ["seed", "kind", "layer", "head"]
    ours, empty = (every[every.row == row].set_index(place).loss_after for row in (MAIN, with_links(f"{by}+shuffled")))
    apart = (ours - empty).dropna()
    if apart.empty:
        return "No heads with shuffled links were measured."
    more, some = (apart > 0).sum(), sum(side == "for" for side in judged)
    told = f"{'Yes' if more > 0.9 * len(apart) else 'Not everywhere'} by loss: in {more} of {len(apart)} cases such a head"
    told += f" off costs more than with shuffled links; by importance {some} of {count(len(judged), 'comparison')}"
    return f"{told} survive{'s' * (some == 1)} correction."


def moved(rises: pd.DataFrame, by: str) -> str:
    """How much the loss comes to rise without an injected head, with links `by` and with shuffled ones: of `tables.rises`."""
    whole = rises[rises.layer == 0].set_index("row")
    if MAIN not in whole.index:
        return "No injected head was measured."
    before, after = (number(whole[when][MAIN], ".1f") for when in ("before", "after"))
    told = f"On average, one such head off raises the loss by {before} thousandths of a nat in the plain model, by {after} with"
    told, empty = f"{told} {links(by)}", with_links(f"{by}+shuffled")
    return told + (f", by {number(whole.after[empty], '.1f')} with shuffled ones." if empty in whole.index else ".")


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
    lost = every.assign(rise=every.loss_after - every.loss_before).groupby("row").rise.mean()
    shares = [part[others].mean() / part[MAIN] if others and part[MAIN] else 0 for part in (rose, lost)]
    rank, loss = (number(share, "%") for share in shares)
    told += f" So {rank} of the rise by rank needs no coreference, of that by loss {loss}." if min(shares) > 0 else ""
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
        nearly = "nearly always right" if 99 < own.speakers < 100 else "right"
        return f"{told} ({own.people:.0f} %) less; *I* and *you* are {nearly} ({own.speakers:.1f} %)."
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


def mixed(alone: pd.DataFrame, by: str) -> str:
    """What mixing every layer gains beside gold links in heads: of `tables.scores` of one training."""
    part, gold = _gains(alone), with_links("gold")
    if not {OWN, MAIN, gold} <= {*part.index}:
        return "Not every layer was mixed."
    lead = "yes" if part.change_low[OWN] > part.change_high[MAIN] else "not visibly"
    every, heads = (number(part.change[row], "+.1f") for row in (OWN, gold))
    return f"In one training {lead}: {every} points with {links(by)}. Gold links give heads {heads} there."


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


def better(right: Sequence[float]) -> str:
    """In how many dialogues injection changes the events told with the right people; `right` is the change in each."""
    up, down = (sum(bool(sign * gap > 0) for gap in right) for sign in (1, -1))
    told = f"Of {len(right):,} dialogues {up} get better and {down} worse in seed 1"
    return f"{told}, by events with the right people."


def blind(quality: pd.DataFrame) -> str:
    """How weakly ROUGE-1 sees wrong names: of `tables.scores` of the plain model beside `tables.baselines`."""
    guessed, rouge = "baseline: nearest name", _gains(quality).value
    right = quality[quality.metric == tables.EVENTS].set_index("row").value
    value, plain, wrong, known = (number(part[row], ".0f") for part in (rouge, right) for row in (guessed, PLAIN))
    told = (
        f"ROUGE-1 sees wrong names weakly: references with the nearest name put in still score {value} of 100, with {wrong} %"
    )
    return f"{told} of events right; the plain model scores {plain} with {known} %."


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
    told += f" model there. We give a verdict only where encoder attention is worth at least {least:g} points."
    reach = f" Our resolver reaches an F1 of {gum.CoNLL.iloc[0]:.0f} on English" if len(gum) else ""
    return f"{told}{reach} conversations and interviews (GUM)." if reach else told


def draws(every: pd.DataFrame) -> dict[str, str]:
    """Ranks of random heads by layer, "A: ranks 3, 5": of `tables.before_after_over_seeds` and `ranked_otherwise`."""
    told = {}
    for letter, (row, part) in enumerate(every[every.row.str.startswith("injected, random")].groupby("row", sort=False)):
        ranks, anew = part.groupby("layer").rank_before.first(), (part.groupby("layer").rank_before.nunique() > 1).any()
        own = f"ranks {', '.join(f'{rank:.0f}' for rank in ranks)}"
        told[row] = f"{chr(65 + letter)}: {'drawn anew by seed' if anew else own}"
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


def layers(last: pd.DataFrame, board: tables.Board) -> str:
    """Whether injection gains more in upper layers, as the paper has it: of `tables.scores` of these against those below."""
    gap = _gains(last).iloc[0]
    sure = "as" if gap.change_low > 0 else "against what" if gap.change_high < 0 else "not told apart, against what"
    upper, below = (_where(board, f"{MAIN}, {part} layers") for part in ("upper", "middle"))
    told = (
        f"{upper.capitalize()} minus {below}, paired: {interval(*gap[ENDS], '+.1f')}, {sure} second-hand accounts of the paper"
    )
    return f"{told} say."


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
        return f"{told}."
    worse = curve[curve.clusters.str.contains("corrupt")]
    alike = worse.loc[(worse.people - own.people).abs().idxmin()]
    told += f". These have {other.people:.0f} % of *he* and *she* right; gold links as bad at them as the resolver gain"
    return f"{told} {change(curve, alike.row, ends=False)} (a look after the fact)."


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
    return f"{said}Trained with it, the gain of {number(part.change[MAIN], '+.1f')} {how} the training's links at inference."
