"""What tables of coreference injection come to, in words: names of rows as people read them, and findings that are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from helpers.measures import trainings
from helpers.methods.coreference import matrices, tables
from helpers.methods.coreference.runs import MAIN, PLAIN, PROBED, shown
from helpers.reading import NOTHING, count, ends, interval, listed, number, readable

OWN, UPPER = "layer of its own, all", "layer of its own, upper"
RANDOM, MOST = "injected, random", "injected, highest"
HEADS = {"probing": "heads by probing", "lowest": "least important heads", "highest": "most important heads"}
TEXTS, HERE = {"controlled": "generated dialogues", "natural": "natural dialogues (SAMSum)"}, "these dialogues"
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
    return {MAIN: "least important", **random, PROBED: "by probing (2021)", MOST: "most important"}


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


def answer(
    own: pd.DataFrame, over: pd.DataFrame, by: str, rises: pd.DataFrame, verdicts: Mapping[str, str], empty: bool = False
) -> str:
    """What links gain in heads that hardly mattered, what these heads then cost, and both of other heads.

    Of `tables.against_controls` in ROUGE-1, on their control, `tables.over_seeds` and `tables.rises`, with links `by`;
    `verdicts` are those of the claims; `empty` is whether natural text cannot tell.
    """
    gains, gold, given = _gains(over), with_links("gold"), "a resolver's links" if by == "rule" else links(by)
    sure, best = (gains.change_low.get(row, 0) > 0 for row in (MAIN, gold))
    less = ", for a small gain" if best and own.change_high.get(gold, 0) < 0 else ""
    lead = f"yes{less}" if sure else f"with gold links yes, with {given} not that we could see" if best else ""
    lead = f"{'On generated' if tables.EVENTS in {*over.metric} else 'On these'} dialogues {lead or 'not that we could see'}"
    shuffled, whole = with_links(f"{by}+shuffled"), rises[rises.layer == 0].set_index("row")
    words = {"seen": " (seen)", "inconclusive": " (inconclusive after correction for several tests)"}
    judged = {name: words.get(verdicts.get(name, ""), "") for name in ("injection-helps", "resolver-links")}
    told = f"In the least important heads {given} gain {change(over, MAIN)} ROUGE-1 over plain{judged['injection-helps']}"
    if shuffled in own.index:
        told += f", {interval(*own.loc[shuffled, ENDS], form='+.1f')} over shuffled ones{judged['resolver-links']}"
    told += f"; gold {change(over, gold)}." if gold in gains.index else "."
    if {shuffled, RANDOM, MOST} <= {*whole.index} & {*gains.index}:
        off = whole[["before", "after"]].map(lambda cost: number(cost, ".1f"))
        random, most = (off.loc[row, ["after", "before"]] for row in (RANDOM, MOST))
        told += f" Such a head then costs {_ends(whole.loc[MAIN], 'after')} thousandths of a nat a token (shuffled:"
        told += f" {off.after[shuffled]}; plain: {off.before[MAIN]}). Random heads (one draw) gain {change(over, RANDOM)} and"
        told += f" cost {' (plain: '.join(random)}), the most important {change(over, MOST)} and {' ('.join(most)})"
        told += f"{', having more to lose' * _spare(whole)}{_over(over, ' ({})')}."
    return f"**{lead}{'; natural ones cannot tell' * empty}.** {told}"


def _spare(whole: pd.DataFrame) -> bool:
    """Whether the least important heads cost less in the plain model than random and the most important ones, by intervals."""
    return {RANDOM, MOST} <= {*whole.index} and bool((whole.before_low[[RANDOM, MOST]] > whole.before_high[MAIN]).all())


def _ends(row: pd.Series, name: str, form: str = ".1f") -> str:
    return interval(*row[[name, f"{name}_low", f"{name}_high"]], form=form)


def _over(over: pd.DataFrame, form: str = " over {}") -> str:
    return form.format(count(int(over.seeds.max()), "training")) if "seeds" in over else ""


def beside(
    over: pd.DataFrame, once: pd.DataFrame, choices: pd.DataFrame, rises: pd.DataFrame, names: Mapping[str, str], by: str
) -> Markdown:
    """What links `by` change in each choice of heads, and what one costs: of `tables.over_seeds`, `choices` and `rises`.

    `once` are `scores` of one training, for rows that the first lacks; `names` those of `chosen`.
    """
    whole, three = rises[rises.layer == 0].set_index("row"), ("before", "before_low", "before_high")
    plain = trainings.over_seeds(choices.assign(cost=choices.loss / rises.layer.max()), ("row",), {"cost": three})
    lines = []
    for row, few in choices.groupby("row", sort=False).seed.nunique().items():
        table = over if row in {*over.row} else once
        line = {"heads": names[row] + " (one training)" * (few < choices.seed.nunique())}
        line |= {metric: change(table, row, metric) for metric in ("ROUGE-1", tables.EVENTS) if metric in {*over.metric}}
        after = _ends(whole.loc[row], "after") if row in whole.index else NOTHING
        lines.append(line | {"cost, plain": _ends(plain.loc[(row,)], "before"), "cost, with links": after})
    title = f"What {links(by)} change, and what one head costs (thousandths of a nat a token){_over(over, ', {}')}"
    return readable(pd.DataFrame(lines), caption=title)


def which(
    over: pd.DataFrame,
    own: pd.DataFrame,
    rises: pd.DataFrame,
    once: pd.DataFrame,
    like: Sequence[float] = (),
    even: float = 0.0,
) -> str:
    """Whether heads must be unimportant: of `tables.over_seeds`, `own` as `answer` takes it, `rises` and `scores` of seed 1.

    `like` are cosines of probed heads with the matrix, `even` that of attention spread evenly.
    """
    gains, whole, told = _gains(over), rises[rises.layer == 0].set_index("row"), []
    if MOST in gains.index:
        told.append(f"{'They must not be' if gains.change_high[MOST] < 0 else 'Links may do no harm in'} the most important.")
    if len(like):
        told.append("*Probing*, the authors' rule of 2021, takes heads that attend most like the matrix (cosine")
        told[-1] += f" {ends(like, '.2f')}{', hardly like it' * (max(like) < 0.5)}; attention spread evenly: {even:.2f})."
    if RANDOM in own.index:
        less = own.change_low[RANDOM] > 0
        told.append(f"That they must be the least important we {'see' if less else 'do not see'}: random heads")
        told[-1] += " gain less." if less else " (A, one draw) are not told apart from them in ROUGE-1."
    if _spare(whole) and (whole.after_low[[MAIN, RANDOM, MOST]] > 0).all():
        told.append("With links every choice that we measured costs something; the least important had least to lose.")
    change = once[once.metric == "ROUGE-1"].set_index("row").change
    if {MAIN, MOST, *(off := [row.replace("injected", "masked") for row in (MOST, MAIN)])} <= {*change.index}:
        most, least = (number(change[row] - change[heads], "+.1f") for row, heads in zip((MOST, MAIN), off, strict=True))
        told.append(f"Against the same heads off (one training, no shuffled links) links bring {most} ROUGE-1 in the most")
        told[-1] += f" important heads, {least} in the least."
    return " ".join(told)


def costs(table: pd.DataFrame) -> str:
    """Whether links gain less in heads that the model misses more: of `tables.choices`."""
    table = table.assign(rest=table.loss - table["first"])
    parts = [part for _, part in table.groupby("seed") if len(part) > 2]
    each, rest = ([part[loss].corr(part.change, method="spearman") for part in parts] for loss in ("loss", "rest"))
    if not each or any(one != one for one in each):
        return "There are too few choices of heads to compare."
    few, top = range(min(map(len, parts))), max(each)
    chance = np.mean([np.corrcoef(few, order)[0, 1] < top + 1e-9 for order in permutations(few)])
    told = (
        f"Links {'gain' if top < 0 else 'do not always gain'} less in heads that the model misses more: rank correlations over"
    )
    told += f" {ends([*map(len, parts)], '.0f')} choices {ends(each, '.1f')} in {count(len(each), 'training')} (by chance"
    told += f" at most {100 * chance:.0f} % come to {number(top, '.1f')}), without layer 1's cost {ends(rest, '.1f')}."
    return told


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
        ways = f"{listed(shown)} in {count(len(first), 'setting')} (one start)"
        told.append(f"Three: {ways}, past our limit by interval in {(high < allowed).sum()}.")
    return " ".join(told) or "No heads were switched off."


def come(apart: pd.DataFrame, every: pd.DataFrame, by: str) -> str:
    """Whether links make heads matter: of `tables.matter_more` by loss, and `before_after_over_seeds`."""
    empty = with_links(f"{by}+shuffled")
    table = apart[apart.control == empty] if len(apart) else apart
    if table.empty:
        return "No heads with shuffled links were measured."
    (mean,), parts = table[table.layer < 0].itertuples(), table[table.layer >= 0]
    each = parts.layer[parts.low.fillna(parts.more) > 0]
    lead = "The least important do, on the mean of layers" if mean.low > 0 else "Not visibly"
    gap = interval(*(1000 * end for end in (mean.more, mean.low, mean.high)), "+.1f")
    told = (
        f"{lead}: switched off, one costs {gap} thousandths of a nat a token more than with shuffled links (by layer, seen in"
    )
    gained = trainings.over_seeds(
        every.assign(gain=every.after - every.before), ("row",), {"gain": ("gain", "gain_low", "gain_high")}
    )
    own, other = (_ends(gained.loc[(row,)], "gain", "+.2f") for row in (MAIN, empty))
    told += f" {_at(each)}). By importance, the claim's measure (norm 1 over a layer's heads), they change by {own}, with"
    told += f" shuffled links by {other}."
    return told + " Other choices had no shuffled links: whether coreference is what they do we cannot tell." * (
        RANDOM in gained.index
    )


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
    part = _gains(alone)
    if not {OWN, MAIN} <= {*part.index}:
        return "Not every layer was mixed."
    lead = "Yes" if part.change_low[OWN] > part.change_high[MAIN] else "Not visibly"
    told = f"{lead}, after every layer (one training, no shuffled control): {links(by)} then give {change(alone, OWN)} ROUGE-1,"
    told += f" in heads {change(alone, MAIN)}."
    if UPPER not in own.index or "seeds" not in over:
        return told
    gap, what = own.loc[UPPER], upper(layers).partition(" only")[0].capitalize()
    apart = "more than" if gap.change_high < 0 else "less than" if gap.change_low > 0 else "not told apart from"
    return f"{told} {what} alone gives {change(over, UPPER)}{_over(over)}, {apart} heads."


def setup(shape: Sequence[int], pairs: int, further: int, starts: int) -> str:
    """Which model (encoder layers, heads, width), trained on how much, how often; and what the figure's intervals are over."""
    layers, heads, width = shape
    told = f"The model is a BART of {count(layers, 'encoder layer')} with {count(heads, 'head')} each, {width} wide, trained on"
    told += f" {pairs:,} dialogues from {f'{starts} different weights' if starts > 1 else 'one start'}. Then every row of"
    told += f" the figure on top is trained for {further:,} steps more; the plain row ranks the heads. Intervals there are over"
    return f"{told} {f'these {starts}' if starts > 1 else 'dialogues'}."


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


def blind(quality: pd.DataFrame) -> str:
    """How weakly ROUGE-1 sees wrong names: of `tables.scores` of the plain model beside `tables.baselines`."""
    guessed, rouge = "baseline: nearest name", _gains(quality).value
    right = quality[quality.metric == tables.EVENTS].set_index("row").value
    value, plain, wrong, known = (number(part[row], ".0f") for part in (rouge, right) for row in (guessed, PLAIN))
    told = (
        f"ROUGE-1 sees wrong names weakly: references with the nearest name put in still score {value} of 100, with {wrong} %"
    )
    return f"{told} of events right; the plain model scores {plain} with {known} % (one training)."


def hollow(over: pd.DataFrame, where: str, off: pd.DataFrame, least: float) -> str:
    """Why a text says nothing of the method: the gain there, and what attention is worth.

    `over` is `tables.over_seeds` there, or `scores`; `off` is `tables.masking`.
    """
    seeds, off = count(int(over.seeds.max()) if "seeds" in over else 1, "training"), off[off.number == off.number.max()]
    told = f"On {where} injection changes ROUGE-1 by {change(over, MAIN)} points ({seeds}). This says nothing of the method:"
    told += f" all encoder attention off changes it by {change(off, off.row.iloc[0])} (one training), and we give a"
    return f"{told} verdict only where that costs {least:g} points."


def natural(every: pd.DataFrame, crd3: pd.DataFrame, by: str) -> str:
    """What one head off costs, plain and with links `by`: of `tables.before_after_over_seeds` (SAMSum) and `summed` (CRD3)."""
    table = tables.rises(every if "seed" in every else every.assign(seed=1))  # without it of one training
    whole, empty = table[table.layer == 0].set_index("row"), with_links(f"{by}+shuffled")
    off = {row: [_ends(cost, at) for at in ("before", "after")] for row, cost in whole.iterrows()}  # one training: no ends
    told = f"On SAMSum a least important head costs {off[MAIN][0]} thousandths of a nat a token in the plain model and"
    told += f" {off[MAIN][1]} with links, a random one {' and '.join(off[RANDOM])}{_over(whole, ' ({}')}, "
    told += f"shuffled links: {off[empty][1]})" if empty in off else "no shuffled links)"
    names = {"loss without these heads, before": ".1f", "loss without these heads, after": ".1f", "ROUGE-1, change": "+.1f"}
    before, after, gain = (interval(*crd3.loc[f"{MAIN}: {name}"][:3], form=form) for name, form in names.items())
    told += f". On CRD3 (spoken role-play, {crd3.n.max():.0f} trainings) the least important cost {before} and"
    return f"{told} {after}; ROUGE-1 changes by {gain} ([natural text](../docs/natural.md))."


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
    calls = {(group, MAIN): "full links" if group == "matrices" else "each layer" for group in set(table.group)}
    for row in (row for row in dict.fromkeys(table.row) if row.startswith(f"{MAIN}, ") and row.endswith(" layers")):
        calls["heads and layers", row] = f"{_where(board, row)} alone"
    plain = table.row.map(named).str.removeprefix(f"{named(MAIN)}, ").str.replace("^mixing", "none: mixing", regex=True)
    plain = plain.str.replace("least important heads per layer", "in each layer").str.replace(
        named(UPPER), upper(layers).partition(" only")[0]
    )
    short = [calls.get(key, name) for key, name in zip(zip(table.group, table.row, strict=True), plain, strict=True)]
    groups = {"heads and layers": "least important heads in", "matrices": "which attend by"}
    return table.assign(row=short, group=table.group.replace(groups), answer=table.row == MAIN)


def layers(board: tables.Board) -> str:
    """Whether injection gains more in upper layers, as the paper has it, and with which matrix: of paired `tables.scores`."""
    upper, below = (f"{MAIN}, {part} layers" for part in ("upper", "middle"))
    pairs = {f"{_where(board, upper)} minus {_where(board, below)}": (upper, below),
             f"{_where(board, upper)} minus each layer": (upper, MAIN),
             "adjacent minus full links": (f"{MAIN}, adjacent links", MAIN)}  # fmt: skip
    gaps = {name: tables.scores(board, [own], other) for name, (own, other) in pairs.items() if {own, other} <= {*board.rows}}
    told = (f"{name} {change(gap, gap.row.iloc[0])}" for name, gap in gaps.items())
    return f"Paired, in ROUGE-1: {', '.join(told)}. Second-hand accounts of the paper say that upper layers gain more."


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
    return f"The resolver's errors cost {how} gold links corrupted at random ({change(gap, MAIN)} ROUGE-1 at {f1}, seed 1)."


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
