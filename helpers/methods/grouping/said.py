"""What the tables of notebook 04 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping import runs, tables
from helpers.methods.grouping.runs import GHT, L0, L0_HEADS, NO_CONSTRAINT, PS, VANILLA
from helpers.reading import count, ends, interval, listed, number
from helpers.runs import subjects
from helpers.scores import intervals

FEW = "heads chosen before training"
REMOVED = "random heads removed"  # for good: "off" is what masks do
SURE = 0.05
PRINTED_HEAD = 64  # the paper's head dimension
TRAINED, TODAY = "translator, BLEU", "decoder, perplexity"
ENDS = ["change", "change_low", "change_high"]
TURNED_ENDS = ("", "_high", "_low")  # of a change that is told as a loss
_TEXTS = {subjects.SUMMARIZATION: "summaries", subjects.LANGUAGE: "language models"}
TURNED, STARTED = ([f"{name}{end}" for end in TURNED_ENDS] for name in ("change", "against_start"))


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, one before any training leaves as many heads."""
    told = {runs.AT_START: FEW, "V2S": "vote", "w/o": "without", ", equation 4A": " by equation 4A as printed"}
    told |= {runs.RANDOM: REMOVED}
    told |= {f"{L0} 0": f"{L0}, λ = 0", f"{L0_HEADS} 0": f"{L0_HEADS}, λ = 0", " a layer": " per layer"}
    for name, words in told.items():
        row = row.replace(name, words)
    return row


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def _excluded(first: pd.DataFrame) -> str:
    """Of `first_metrics`: where the constraint's printed gain lies above the interval."""
    out = first[(first.method == GHT) & (first.high < first.printed)].task
    return f"the printed one is excluded for {listed(_TEXTS.get(task, task) for task in out)}"


def lead(gained: pd.DataFrame, text: str, share: float | None = None) -> str:
    """Of `tables.gains` of a kind of `text` and GHT's of `formed`: do both gain, and what they change of the first task."""
    first = first_metrics(gained)
    alone, few = (first[first.method == method] for method in (GHT, PS))
    helped, few, own = alone.task[alone.low > 0], few.iloc[0], alone.iloc[0]
    enough = "is not enough" if few.high < 0 else "costs nothing" if few.low > 0 else "may cost something or not"
    none = f"{'Not here: no' if few.high < 0 else 'No'} gain shows over repeated trainings, {_excluded(first)},"
    pulled = f"The constraint helps {listed(helped)}," if len(helped) else none
    said = f"**{pulled} and one head per group {enough}.** On {text} text the constraint brings"
    said += f" {interval(own.gain, own.low, own.high, '+.2f')} % BLEU ({count(int(own.seeds), 'training')}; printed:"
    reach = "" if share is None else f"; {number(share, '%')} of full grouping"
    said += f" {number(own.printed, '+.1f')}{reach}), one head per group"
    return f"{said} {interval(few.gain, few.low, few.high, '+.1f')} %."


def inconclusive(judged: Iterable[Any], every: pd.DataFrame | None = None) -> str:
    """What the verdict means where a row's own interval seems to gainsay it, of `claims.Judged` as they are shown; and of
    `tables.ladder` at one width what the first row is over sentences."""
    rows = [(n, one.rows[0]) for n, one in enumerate(judged, 1) if one.verdict == "inconclusive" and len(one.rows) == 1]
    rows = [(n, row) for n, row in rows if row.p < SURE]
    told = "; ".join(f"row {n}: p = {number(row.holm, 'p')}" for n, row in rows)
    means = "*Inconclusive*: neither a gain nor a loss after Holm's correction over the paper's claims"
    alone = pd.DataFrame() if every is None else every[every.index.get_level_values("row") == GHT]
    if not told or rows[0][0] > 1 or len(alone) < 2 or not ((alone.gain_low <= 0) & (alone.gain_high >= 0)).all():
        return f"{means} ({told})." if told else ""
    same = "Row 1's interval is over trainings; over the sentences of each it holds zero and no gain above"
    return f"{means} ({told}). {same} {number(alone.gain_high.max(), '+.1f')} %."


def short(gained: pd.DataFrame, tried: Mapping[int, pd.DataFrame], size: pd.DataFrame | None, fast: pd.DataFrame) -> str:
    """What comes of it, of `tables.gains`, `by_groups` by heads of a layer, `equal_size` (if run) and `speed`."""
    first = first_metrics(gained)
    alone = first[first.method == GHT]
    over = "over repeated trainings" if gained.seeds.min() > 1 else "in one training each"
    none = f"Train without the constraint: a gain shows on none of {count(len(alone), 'task')} {over}; {_excluded(first)}."
    said = [none] if not (alone.low > 0).any() else []
    if tried:
        rows = _alone(tried)
        more = ((rows.p_holm < SURE) & (rows.change > 0)).sum() or "none"
        said += [f"Of {count(len(rows), 'number')} of heads and groups {more} shows a gain (Holm, one training each)."]
    if size is not None and (names := _rivals(size)):
        pace = {name: f"{interval(*fast.loc[name, ['ratio', 'low', 'high']], '.1f')} times" for name in (*names, PS)}
        told = [f"*{name}*, {interval(*-size.loc[name, TURNED], '.1f')} ({pace[name]})" for name in names]
        begin = f"At about the size of {PS} ({pace[PS]} as fast as {VANILLA})"
        said += [f"{begin} these have more BLEU over {size.seeds.min()} trainings: {listed(told)}."]
    return " ".join(said)


def _rivals(size: pd.DataFrame) -> list[str]:
    """Of `tables.equal_size`: the models built small that surely have more BLEU than GHT-PS."""
    names = [name for name in (runs.NARROWER, runs.FEWER) if name in size.index and "p_holm" in size]
    return [name for name in names if size.change_high[name] < 0 and size.p_holm[name] < SURE]


def _rival(size: pd.DataFrame) -> str | None:
    """Of these the one that has most BLEU, if any."""
    return min(_rivals(size), key=lambda name: size.change[name], default=None)


def tighter(compact: pd.DataFrame) -> str:
    """Of `tables.compactness`: does BLEU rise as heads group more, with all heads or with one of each group?"""
    rows = compact.sort_values("silhouette", kind="stable")
    pruned = rows.label.str.startswith(PS) | (rows.label == NO_CONSTRAINT)
    few, rows = rows[pruned], rows[~pruned & (rows.strength > 0)]
    above = (rows.change_low > 0).sum()
    said = f"Tighter groups show a gain in {above or 'none'} of {len(rows)} settings; the tightest"
    said += f" {_costs(rows.iloc[-1][ENDS])}"
    if len(few) > 1:
        better = (few.change_low.iloc[1:] > few.change_high.iloc[0]).sum() or "none"
        lost = listed([number(-change, ".1f") for change in few.change])
        said += f". With one head per group, loose to tight, it loses {lost}: {better} shows better pillars"
    return f"{said} (one training each)."


def settled(share: pd.DataFrame, batches: int, natural: pd.DataFrame | None = None, most: float = 0.9) -> str:
    """Of `tables.votes` of so many batches (0: an epoch): in how many groups of more than one head one wins nearly all; and
    of that published of natural text."""

    def sure(share: pd.DataFrame) -> str:
        found = share.groupby(["kind", "layer", "group"]).share.agg(["max", "size"])
        best = found["max"][found["size"] > 1]  # a head alone in its group cannot lose
        return f"{(best > most).sum()} of {len(best)}"

    told = f"In {sure(share)} groups of more than one head, one head wins over {number(most, '%')} of"
    told += f" {count(batches, 'batch').replace('batchs', 'batches') if batches else 'all batches'}"
    return f"{told} (one training{f'; natural text: {sure(natural)}' if natural is not None else ''})."


def vote(without: pd.DataFrame | None) -> str:
    """Of `tables.ablation_over_seeds`: does the vote beat chance? What the random choices change, minus GHT-PS."""
    names = {runs.RANDOM: f"with {REMOVED}", runs.MEMBER: "with a random member of each group kept"}
    rows = without.set_index("row") if without is not None else pd.DataFrame()
    if not {*names} <= {*rows.index} or rows.change[[*names]].isna().any():
        return ""
    drawn, told = rows.loc[[*names]], []
    below, sure = drawn.change_high < 0, (drawn.p_holm < SURE) & (drawn.change < 0)
    for row, name in names.items():
        note = " (not after Holm's correction)" if below[row] and not sure[row] else ""
        told.append(f"{interval(*drawn.loc[row, ENDS], '+.1f')} {name}{note}")
    lead = f"The vote beats {sure.sum()} of 2 random choices" if sure.any() else "We cannot tell the vote from lot"
    return f"{lead}: BLEU changes by {told[0]} and by {told[1]}."


def price(ladder: pd.DataFrame | None, width: int) -> str:
    """Of `tables.ladder_over_seeds`, at one width of a head: what of the loss few heads lose too; "" if not run."""
    if ladder is None or not {(width, PS), (width, FEW)} <= {*ladder.index}:
        return ""
    few, whole = interval(*-ladder.loc[(width, FEW), TURNED], ".1f"), number(-ladder.change[width, PS], ".1f")
    most = "Mostly yes: a" if ladder.change[width, FEW] < ladder.change[width, PS] / 2 < 0 else "A"
    return f"{most} model that has only as many heads from the first step on already loses {few} of the {whole} BLEU."


def _late(ladder: pd.DataFrame | None, width: int) -> pd.DataFrame:
    """Of `tables.ladder_over_seeds`: rows of GHT-PS by width where few heads were trained from the start too, `width` first."""
    if ladder is None or not price(ladder, width):
        return pd.DataFrame(columns=["against_start"])
    own = ladder.xs(PS, level=1)
    return own[own.against_start.notna()].sort_index(key=lambda heads: heads != width, kind="stable")


def late_choice(ladder: pd.DataFrame | None, width: int, parts: pd.DataFrame | None = None) -> str:
    """What GHT-PS loses beyond `price`, with its test of table 3 (`tables.ablation_over_seeds`), and what both change at the
    paper's head dimension if run."""
    said, tested = [], () if parts is None else parts.p_holm[parts.row == runs.AT_START]
    note = "".join(f" (not after Holm's correction over table 3, p = {number(p, 'p')})" for p in tested if p >= SURE)
    if len(late := _late(ladder, width)):
        more = [interval(*-row[STARTED].astype(float), ".1f") for _, row in late.iterrows()]
        more = [f"{one}{' (one training)' if few == 1 else ''}" for one, few in zip(more, late.seeds, strict=True)]
        wide = f"; at head dimension {listed(map(str, late.index[1:]))} it is {listed(more[1:])}" if more[1:] else ""
        said += [f"The rest, {more[0]}{note}, comes from choosing late, from the method, or both{wide}."]
    if ladder is not None and (PRINTED_HEAD, PS) in ladder.index:
        row, alone = ladder.loc[(PRINTED_HEAD, PS)], ladder.reindex([(PRINTED_HEAD, GHT)])[ENDS].dropna()
        both = [f"the constraint {_costs(change)}" for _, change in alone.iterrows()]
        both += [f"one head per group {_costs(row[ENDS])}"]
        said += [f"At the paper's head dimension, {PRINTED_HEAD}, {' and '.join(both)} ({count(int(row.seeds), 'training')})."]
    return " ".join(said)


def _whole(value: float) -> str:
    return number(value, ".1f").removesuffix(".0")


def _costs(change: pd.Series, form: str = ".1f") -> str:
    """A change of BLEU with its ends as what it costs, or as a change where its interval does not lie below zero."""
    value, low, high = change
    if not high < 0:
        return f"changes BLEU by {interval(value, low, high, f'+{form}')}"
    return f"costs {interval(-value, -high, -low, form)} BLEU"


def sized(table: pd.DataFrame, size: pd.DataFrame | None, bleu: pd.Series | None = None, over: str = "") -> str:
    """Of `tables.equal_size`, or of `tables.table_1` where it is none: is it a good way to make a model small?"""
    if size is None or not (best := _rival(size)):
        return cost(table, bleu, over)
    bleu = table.value if bleu is None else bleu
    how = {runs.NARROWER: "a narrower model", runs.FEWER: "a model of fewer layers"}[best]
    lost = f"{PS} has {number(bleu[PS], '.1f')} BLEU, {number(bleu[VANILLA] - bleu[PS], '.1f')} less than {VANILLA}"
    early = size.reindex(columns=[f"early{end}" for end in TURNED_ENDS]).loc[best]
    alike = f", and {interval(*-early, '.1f')} more than *{FEW}*, trained for as long" if early.notna().all() else ""
    return f"{lost}; {how} of about its size has {interval(*-size.loc[best, TURNED], '.1f')} more{alike}."


def rivalled(rows: Iterable[str], width: int, whole: int) -> str:
    """What those `rows` are whose names do not tell it; the narrower model has a `width`, not the `whole`."""
    told = {runs.NARROWER: f"*Narrower* has a width of {width}, not {whole}", runs.LITE: f"*{runs.LITE}* half the feed-forward",
            runs.AT_START: f"*{FEW.capitalize()}* are voted on random weights",
            L0: f"*{L0}* gates ([notebook 3](03_l0_pruning.ipynb)) here act on all attention"}  # fmt: skip
    known = "; ".join(said for name, said in told.items() if name in {*rows})
    return f"{known}. *Speed*: sentences a second, {tables.NEW} greedy tokens each (one thread or GPU)." if known else ""


def late(steps: int, share: float, rows: Iterable[str]) -> str:
    """For how many of the steps GHT-PS and its rivals `rows` have their final shape, a `share` being before the vote."""
    early = [f"*{named(name)}*" for name in rows if name in (runs.NARROWER, runs.FEWER, runs.AT_START)]
    after = steps - round(share * steps)
    gates = f" (*{L0}*, after its gates: {after - after // 2:,})" if L0 in {*rows} else ""
    last = f"the last {after:,} {'that' if early else 'train the final shape'} of {PS}{' and the rest' * bool(early)}{gates}."
    return f"All {steps:,} steps train the final shape of {listed(early)}, {last}" if early else f"Of {steps:,} steps {last}"


def elsewhere(gained: pd.DataFrame, hollow: Sequence[str] = (), novels: pd.DataFrame | None = None) -> str:
    """Of the published `tables.gains` of natural text, and of `novels` as `helpers.publish.summary`: what both change on tasks
    that are not `hollow` there, if any."""
    first, ends = first_metrics(gained).set_index(["task", "method"]), ["gain", "low", "high"]
    told = []
    for task in (task for task in dict.fromkeys(first.index.get_level_values("task")) if task not in hollow):
        both = {method: [interval(*first.loc[(task, method), ends], "+.1f")] for method in (GHT, PS)}
        each = f"{first.seeds[task, GHT]} trainings"
        if novels is not None and task == subjects.LANGUAGE:
            rows, each = novels.set_index("what"), f"Europarl, novels; {each} each"
            for method, found in both.items():
                row = rows.loc[f"{method}, gain in %: {task}, perplexity, test"]
                found.append(interval(row.value, row.low, row.high, "+.1f"))
        alone, few = (f"{listed(found)} %" for found in both.values())
        printed = number(first.printed[task, GHT], "+.1f")
        can = f"{'only ' * bool(hollow)}{_TEXTS.get(task, task)} can tell ({each})"
        told.append(f"{can}: constraint {alone} (printed: {printed}), one head per group {few}")
    return f"On natural text {'; '.join(told)}." if told else ""


def gains(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: on how many tasks the constraint gains and one head per group loses, by each task's first metric."""
    first = first_metrics(gained)
    alone, few = (first[first.method == method] for method in (GHT, PS))
    less = (few.high < 0).sum()
    said = f"The constraint alone shows a gain on {(alone.low > 0).sum() or 'none'} of the {count(len(alone), 'task')}"
    every = f"all {len(few)}" if less == len(few) > 1 else f"{less or 'none'} of {len(few)}"
    return f"{said}; one head per group loses on {every}, by their own intervals."


def cost(table: pd.DataFrame, bleu: pd.Series | None = None, over: str = "") -> str:
    """Of `tables.table_1`: what GHT-PS saves and loses, and which controls of its size do better, by other scores if given."""
    if PS not in table.index:
        return f"This run has no {PS}."
    own, whole, bleu = table.loc[PS], table.loc[VANILLA], table.value if bleu is None else bleu
    controls = table.index[(table.parameters < whole.parameters) & ~table.index.str.startswith(PS)]
    controls = [*controls, *(name for name in (runs.AT_START, runs.RANDOM) if name in bleu.index)]
    better = [f"{named(name)} ({number(bleu[name], '.1f')})" for name in controls if bleu[name] > bleu[PS]]
    have = "has" if len(better) == 1 else "have"
    beside = f"; of {len(controls)} controls of about its size {listed(better)} {have} more" if better else ""
    said = f"{PS} has {number(1 - own.parameters / whole.parameters, '%')} fewer parameters without embeddings, is"
    said += f" {number(own.speed, '.1f')} times as fast and has {number(bleu[PS], '.1f')} BLEU, {VANILLA}"
    return f"{said} {number(bleu[VANILLA], '.1f')}{beside}{over}."


def worth(table: pd.DataFrame) -> str:
    """Of `tables.worth_of_attention`, first metrics alone: what each task loses at least without a kind of attention."""
    told = []
    for task, part in table.reset_index().dropna(subset="percent").groupby("task", sort=False):
        row = part.loc[part.percent.abs().idxmin()]
        lost = interval(row.percent, row.percent_low, row.percent_high, "+.0f")
        told.append(f"{task} by {lost} % of {row.metric} ({KIND_TITLES[row.kind]})")
    return f"The kind of attention that costs least, switched off (no training after), changes {listed(told) or 'no score'}."


def formed(table: pd.DataFrame, groups: int) -> dict[str, float]:
    """Of `tables.pictured`: by row, which part of the contrast between groups that the constraint asks for is there."""
    return (table.groupby("title", sort=False).contrast.mean() / (1 + 1 / max(groups - 1, 1))).to_dict()


def apart(table: pd.DataFrame, groups: int, natural: pd.DataFrame | None = None) -> str:
    """Of `tables.pictured`, mean of all attentions: how much of what the constraint asks for is there; and of that published
    of natural text."""
    parts, many = formed(table, groups), len(table.index.droplevel("title").unique())
    told = [f"at {name.partition(' x ')[2]} times the weight {number(part, '%')}" if " x " in name else number(part, "%")
            for name, part in parts.items() if name.startswith(GHT)]  # fmt: skip
    first, *more = told or ["none"]
    plain = (
        f"; without it there is {number(parts[VANILLA], '%') if parts[VANILLA] >= 0.005 else 'none'}"
        if VANILLA in parts
        else ""
    )
    shares = ", ".join((f"{first} of full grouping's contrast", *more)) + plain
    other = "" if natural is None else f"; natural text: {number(formed(natural, groups)[GHT], '%')}"
    return f"The constraint reaches {shares} (mean of {many} attentions, one training{other}). The drawn one groups most."


def constraint(followed: Mapping[str, pd.DataFrame], heads: int, groups: int) -> str:
    """Of `tables.both_stages`: where both cosines end, and where heads of random directions would be."""
    ends = {name: part.iloc[-1] for name, part in followed.items() if len(part)}
    near = [f"{number(row.homogeneity, '.2f')} ({name})" for name, row in ends.items()]
    far = listed(number(row.diversity, "+.2f") for row in ends.values())
    level = number(np.sqrt(groups / heads), ".2f") if heads else "–"
    said = f"At the end heads have a cosine of {listed(near)} with their own centre, random directions {level}; two"
    said += f" centres {far}."
    if not {VANILLA, GHT} <= ends.keys():
        return said
    pull, push = (abs(ends[GHT][term] - ends[VANILLA][term]) for term in ("homogeneity", "diversity"))
    more, less = ("pulls members together", "pushes centres apart")[:: 1 if pull > push else -1]
    return f"{GHT} {more} more than it {less}. {said}"


def kept(shared: pd.DataFrame) -> str:
    """Of `tables.overlap`, on (model, method): are kept heads relevant, do ways choose alike, can functions tell a choice?"""
    row = shared.loc[shared.functional_all.idxmax()]
    heads, stay, active = (int(row[name]) for name in ("heads", "kept", "functional_all"))
    even = number(row.relevance_all, ".3f")
    said = f"Kept heads have a mean relevance of {ends(shared.relevance, '.3f')} (even share {even})"
    pairs = {}
    for (model, method), each in shared.iterrows():
        for name in (name for name in shared.columns if name.startswith("with ") and not name.endswith(", chance")):
            if pd.notna(each[name]):
                pairs[model, *sorted((method, name.removeprefix("with ")))] = each[name], each[f"{name}, chance"]
    if pairs:
        both, chance = zip(*pairs.values(), strict=True)
        expected = listed(dict.fromkeys(map(_whole, chance)))
        said += f"; ways overlap in {ends(both, '.0f')} of {stay} heads, by chance {expected}"
    if math.comb(stay, active) > SURE * math.comb(heads, active):  # chance alone may keep all of them
        return f"{said}. Functions cannot tell who stays: {active} of {heads} heads have one."
    chance = number(stay * active / heads, ".1f")
    return f"{said}. Of {active} heads with a function {row.name[1]} keeps {int(row.functional)}, chance {chance}."


def ablation(table: pd.DataFrame) -> str:
    """Of `tables.ablation`: rows worse than the whole method, and how many printed losses are larger than they can be here."""
    rows = table[table.p_holm.notna()]
    worse, printed = rows[(rows.p_holm < SURE) & (rows.change < 0)], rows[rows.printed < 0]
    noun, beyond = "parts" if rows.printed.notna().all() else "rows", (printed.printed < printed.change_low).sum()
    needed = f"{'are' if len(worse) > 1 else 'is'} shown to be needed after Holm's correction"
    said = f"{len(worse) or 'None'} of the {len(rows)} {noun} {needed}"
    if len(worse):
        said += f": {listed(f'*{named(row.row)}* ({row.change:+.1f} BLEU)' for row in worse.itertuples())}"
    own = table[table.row == table.model].set_index("model").value.reindex(printed.model).to_numpy()
    parts = printed.printed / [np.mean(tables.PRINTED_ABLATION[model]) for model in printed.model]
    lost = f"{beyond} of {len(printed)} printed losses in BLEU, {(parts < printed.change_low / own).sum()} in %"
    return f"{said}; {lost}, are larger than the interval here allows." if len(printed) else f"{said}."


def numbers(table: pd.DataFrame, unit: str = "BLEU") -> str:
    """Of `tables.by_groups`: what GHT-PS loses with every number of heads that stay, and what GHT does at either end."""
    parts = {method: table[(table.method == method) & (table.panel == table.panel.iloc[0])] for method in (PS, GHT)}
    vote, alone = (part.sort_values("groups") for part in parts.values())
    told = [f"{number(row.change, '+.1f')} with {int(row.groups)}" for row in vote.itertuples()]
    said = [f"{PS} {listed(told)} heads kept per layer, where all heads kept is no pruning"] if told else []
    if len(alone):
        ends = [f"{interval(*alone.iloc[at][['change', 'change_low', 'change_high']], '+.1f')}" for at in (0, -1)]
        said += [f"{GHT}, which keeps all, {ends[0]} with {alone.groups.min():.0f} and {ends[1]} with {alone.groups.max():.0f}"]
    return f"{unit} minus vanilla: {'; '.join(said)} (one training)."


def _alone(tried: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Of `tables.by_groups` by heads of a layer: the rows of the constraint alone, Holm's correction over all of these."""
    rows = pd.concat(tried, names=["heads"]).reset_index("heads")
    rows = rows[(rows.panel == rows.panel.iloc[0]) & (rows.method == GHT)]
    return rows.assign(p_holm=intervals.holm(rows.p))


def detected(tried: Mapping[int, pd.DataFrame]) -> str:
    """Of `tables.by_groups` by heads of a layer: at which numbers of groups the constraint alone changes BLEU."""
    rows, said = _alone(tried), []
    settings = count(len(rows), "number")
    for verb, sign in (("gains", 1), ("loses", -1)):
        sure = rows[(rows.p_holm < SURE) & (rows.change * sign > 0)]
        told = [f"{row['heads']} heads in {row.groups:.0f} groups, {interval(*row[ENDS], '+.1f')} BLEU (Holm's p"
                f" {number(row.p_holm, 'p')}, one training)" for _, row in sure.iterrows()]  # fmt: skip
        alike = [rows[rows["heads"] == many] for many in sure["heads"].unique()]
        luck = [f"all {len(part)} rows of {part['heads'].iloc[0]} heads lie {'above' if sign > 0 else 'below'} one {VANILLA},"
                " whose luck they share" for part in alike if len(part) > 1 and (part.change * sign > 0).all()]  # fmt: skip
        where = f"{len(sure)} of {settings} of heads and groups: {'; '.join([listed(told), *luck])}"
        said += [f"The constraint {verb} with {where}."] if told else []
    return " ".join(said) or f"With none of {settings} of heads and groups does it change BLEU detectably (one training each)."


def ladder(table: pd.DataFrame, few: str, heads: int) -> str:
    """Of `tables.ladder_over_seeds`: what `few` of `heads` heads lose at each width of a head, and what GHT-PS loses more; what
    GHT-PS loses if few heads were not trained from the start."""
    own, alike = (table[table.index.get_level_values("row") == name].droplevel("row").sort_index() for name in (PS, few))
    widths, width = listed(f"{head:g}" for head in own.index), "head dimension {} (model width: times {})"
    if alike.empty:
        return f"{PS} loses {listed(number(-value, '.1f') for value in own.change)} BLEU at {width.format(widths, heads)}."
    lost = listed(number(-value, ".1f") for value in alike.change)
    more = listed(number(-value, ".1f") for value in own.against_start)
    zero = [f"{head:g}" for head, high in own.against_start_high.items() if not high < 0]
    open_ends = f"; at {listed(zero)} the interval holds zero" if zero else ""
    part = ends(alike.change / own.change, "%")
    once = [f"{head:g}" for head, seeds in alike.seeds.items() if seeds == 1]
    trend = f" At {listed(once)} there is one training, so that no trend can be told between widths." if len(once) > 1 else ""
    lead = f"*{few.capitalize()}* cost {lost} BLEU at {width.format(widths, heads)}, {part} of the loss of {PS}"
    return f"{lead}, which loses {more} more{open_ends}.{trend}"


def chosen(table: pd.DataFrame) -> str:
    """Of `tables.chosen_on_dev`: does choosing a setting bring more than choosing among plain trainings does?"""
    more = (table.value - table.usual).round(1)
    luck = (more.drop(VANILLA) <= max(0, more[VANILLA])).all()
    return f"Choosing on held-out text brings {'no ' if luck else ''}more than luck does (one training each)."


def today_constraint(table: pd.DataFrame, each: Sequence[float] = ()) -> str:
    """Of `tables.today`: which changes by the constraint lie beyond those in `each` of other trainings."""
    whole = table.loc["whole"]
    changes = whole.change[whole.index.str.startswith(GHT)]
    if changes.empty or len(each) < 2:
        return ""
    beyond = [number(one, "+.2f") for one in changes if not min(each) <= one <= max(each)]
    out = f"{len(beyond) or 'none'} of {len(changes)} lie beyond{f' ({listed(beyond)})' if beyond else ''}"
    known = f"In {len(each)} trainings of the language models above perplexity changes by {ends(each, '+.2f')}"
    return f"{known} with the constraint; here {out}."


def works(shown: pd.DataFrame, each: Sequence[float] = ()) -> str:
    """Of `further`: a first word if no constraint gains (by more than in `each` of other trainings) and fewer heads lose."""
    score = ~shown.model.str.contains("perplexity")
    least, most = shown.change_low.where(score, -shown.change_high), shown.change_high.where(score, -shown.change_low)
    usual = min(each, default=np.inf)
    gain = shown.row.str.startswith(GHT) & (shown.row != PS) & (least > 0) & (score | (shown.change < usual))
    if (gain | ((shown.row == PS) & (most >= 0))).any():
        return ""
    reach = f"Heads reach {ends(shown.formed.dropna(), '%')} of full grouping. " * bool(shown.formed.notna().any())
    luck = " beyond the luck of a training" * bool(len(each))
    return f"{reach}The constraint shows no gain{luck}; one head per group loses."


def further(late: pd.DataFrame | None, decoder: pd.DataFrame | None, grown: Mapping[Any, float] | None = None) -> pd.DataFrame:
    """Of `tables.scores` of a trained model that trains further and `tables.today`, what grouping changes, for people.

    Parameters
    ----------
    grown : mapping of (model, row) -> share of full grouping, as `formed`

    Returns
    -------
    pandas.DataFrame
        model, row, formed (a share), value, change with change_low and change_high.
    """
    parts = []
    if late is not None:
        found = late.reset_index().drop_duplicates("row")
        parts += [found[found.row.isin((GHT, PS, NO_CONSTRAINT))].assign(model=TRAINED)]
    if decoder is not None:
        found = decoder.loc[["whole", "removed"]].reset_index()
        parts += [found[(found.row == PS) | (found.asked == "whole") & found.row.str.startswith(GHT)].assign(model=TODAY)]
    if not parts:
        return pd.DataFrame()
    shown = pd.concat(parts)
    shares = [(grown or {}).get(key, np.nan) for key in zip(shown.model, shown.row, strict=True)]
    return shown.assign(formed=shares, row=shown.row.map(named))[["model", "row", "formed", "value", *ENDS]]


def shared(table: pd.DataFrame) -> str:
    """Of `tables.today`: are the paper's groups good ones to share the mean of keys by, and if heads are turned to agree?"""
    rows = table.loc["shared"]
    if runs.ALIKE not in rows.index:
        return ""
    rows = rows[["chance", "chance_low", "chance_high"]]
    _, low, high = rows.loc[runs.ALIKE]
    worth = "do better than" if high < 0 else "do worse than" if low > 0 else "cannot be told from"
    mean, *turned = (interval(*rows.loc[name], "+.3f") for name in (runs.ALIKE, runs.TURNED, runs.TURNED_NEIGHBOURS)
                     if name in rows.index)  # fmt: skip
    said = f"Where heads share the mean of their keys, the paper's groups {worth} random ones ({mean} perplexity)"
    if len(turned) == 2:
        said += f"; turned to agree first, they have {turned[0]}, neighbours {turned[1]} (no random groups were turned)"
    return f"{said}, in one training."
