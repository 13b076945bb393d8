"""What the tables of notebook 04 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping import runs
from helpers.methods.grouping.runs import DRAWN, GHT, GRADIENT, L0, L0_HEADS, NO_CONSTRAINT, PS, VANILLA
from helpers.reading import ends, interval, listed, number

FEW = "heads chosen before training"
FORMED = 0.5  # of the contrast that is asked for: from there on heads form groups
SURE = 0.05
ENDS = ["change", "change_low", "change_high"]
TURNED_ENDS = ("", "_high", "_low")  # of a change that is told as a loss
TURNED = [f"change{end}" for end in TURNED_ENDS]
EARLY = ["early", "early_low", "early_high"]  # of heads chosen before training, in `tables.equal_size`


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, one before any training leaves as many heads."""
    told = {runs.AT_START: FEW, "V2S": "vote", "w/o": "without", ", equation 4A": " by equation 4A as printed"}
    told |= {f"{L0} 0": f"{L0}, λ = 0", f"{L0_HEADS} 0": f"{L0_HEADS}, λ = 0", " a layer": " per layer"}
    for name, words in told.items():
        row = row.replace(name, words)
    return row


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def lead(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: what the constraint and one head per group come to on the first task, and on the others."""
    first = first_metrics(gained)
    task, others = first.task.iloc[0], first[(first.task != first.task.iloc[0]) & (first.method == GHT)]
    alone, few = (first[(first.task == task) & (first.method == method)].iloc[0] for method in (GHT, PS))
    how = "does not help" if alone.low <= 0 else "helps" if alone.p_holm < SURE else "by interval alone helps"
    cost = f"costs {number(-few.gain, '.0f')} % of" if few.high < 0 else "does not detectably change"
    rest = "; ".join(f"{row.task} {_beside_printed(row)}" for row in others.itertuples())
    rest = f" With the constraint alone {rest}." if rest else ""
    return f"**Grouping {how} {task} here, and one head per group {cost} BLEU.**{rest}{_lowered(first[first.method == PS])}"


def _lowered(few: pd.DataFrame) -> str:
    """On which of several tasks one head per group costs something by interval, and on which after Holm."""
    less = few[few.high < 0]
    if len(few) < 2 or less.empty:
        return ""
    sure = less.task[less.p_holm < SURE]
    after = "all after Holm too" if len(sure) == len(less) else f"after Holm {listed(sure)}{' alone' * (len(sure) > 0)}"
    names = f"all {len(few)} tasks" if len(less) == len(few) else listed(less.task)
    return f" One head per group lowers {names} by interval ({listed(number(gain, '+.1f') for gain in less.gain)} %), {after}."


def _beside_printed(row) -> str:
    """A gain of `tables.gains` beside the printed one: is there none, less, or can the interval not tell?"""
    ends = f"[{number(row.low, '+.1f')}, {number(row.high, '+.1f')}] %"
    told = f"({interval(row.gain, row.low, row.high, '+.1f')} %, printed {number(row.printed, '+.1f')})"
    if row.low <= 0 and row.high >= row.printed:
        return f"cannot tell: {ends} holds the printed {number(row.printed, '+.1f')}"
    return f"gains by interval {told}" if row.low > 0 else f"does not gain what the paper prints {told}"


def bullets(bleu: pd.DataFrame, heads: pd.Series, seeds: int, paper: float, more: Iterable[str], needs: int = 3) -> str:
    """Changes of BLEU by method, of so many trainings, as a list; `more` goes on with the constraint, the price, and so on.

    `paper` is p of the constraint in translation over all claims of the paper, nan where that is not tested.
    """
    over = f"{seeds} training{'s' * (seeds > 1)}{'' if seeds >= needs else f'; a verdict needs {needs}'}"
    over += "" if np.isnan(paper) else f"; p = {number(paper, 'p')} over all claims of the paper"
    told = [f"*The constraint* changes BLEU by {interval(*bleu.loc[GHT, ENDS], '+.2f')} ({over})."]
    told += [f"*One head per group* ({heads[PS]:.0f} of {heads[VANILLA]:.0f}) {_costs(bleu.loc[PS, ENDS])}.", ""]
    lines = [" ".join(filter(None, pair)) for pair in zip(told, more, strict=True)]
    return "\n".join(f"- {line}" for line in lines if line)


def vote(without: pd.DataFrame | None, shared: pd.DataFrame) -> str:
    """Of `tables.ablation_over_seeds` and `tables.overlap`: does the vote beat chance, what does it share with importance?"""
    names = {runs.RANDOM: "random heads off", runs.MEMBER: "a random member of each group"}
    rows = without.set_index("row") if without is not None else pd.DataFrame()
    if not {*names} <= {*rows.index}:
        return ""
    drawn, told = rows.loc[[*names]], []
    below, sure = drawn.change_high < 0, (drawn.p_holm < SURE) & (drawn.change < 0)
    for row, name in names.items():
        note = " (Holm)" if sure[row] else " (below zero by interval, not after Holm)" if below[row] else ""
        told.append(f"with {name} {interval(*drawn.loc[row, ENDS], '+.1f')}{' BLEU' * (not told)}{note}")
    lead = f"The vote beats {sure.sum()} of 2 random choices" if sure.any() else "Whether the vote beats chance cannot be told"
    said = f"**{lead}:** {', '.join(told)}"
    if drawn.printed.notna().all():
        said += f"; {_held(drawn)} of 2 intervals hold the printed {listed(number(value, '+.1f') for value in drawn.printed)}"
    one, other = ("plain", "votes"), f"with {GRADIENT}"
    if one in shared.index and other in shared and pd.notna(shared.loc[one, other]):
        both, chance = shared.loc[one, other], _whole(shared.loc[one, f"{other}, chance"])
        said += f". The vote's heads share {both:.0f} of {shared.kept[one]:.0f} with {GRADIENT}, by chance {chance}"
    return f"{said}."


def price(without: pd.DataFrame | None, ladder: pd.DataFrame | None, width: int) -> str:
    """Of `tables.ladder_over_seeds`, at one width of a head: what few heads lose, and what GHT-PS alone; "" if not run."""
    if ladder is None or not {(width, PS), (width, FEW)} <= {*ladder.index}:
        return ""
    few, late = -ladder.loc[(width, FEW), TURNED], -ladder.loc[(width, PS), [f"against_start{end}" for end in TURNED_ENDS]]
    early = without[without.row == runs.AT_START] if without is not None else pd.DataFrame()
    alone = len(early) and early.change_low.iloc[0] > 0 and not early.p_holm.iloc[0] < SURE
    note = " (by interval, not after Holm in Table 3)" if alone else ""
    said = f"Of the {number(-ladder.change[width, PS], '.1f')} BLEU lost, {interval(*few, '.1f')} also go when the heads are"
    said += f" chosen before training, no random choice; the other {interval(*late, '.1f')}{note} are late choice and method"
    return f"{said} together."


def _held(rows: pd.DataFrame) -> int:
    """How many intervals hold what is printed."""
    return int(((rows.change_low <= rows.printed) & (rows.printed <= rows.change_high)).sum())


def printed(without: pd.DataFrame) -> str:
    """Of `tables.ablation_over_seeds`: in how many rows of each family the interval holds the printed change."""
    rows = without[without.printed.notna() & without.change.notna()]
    told = [f"{_held(part)} of {len(part)} rows of {family}" for family, part in rows.groupby("model", sort=False)]
    return f"The interval holds the printed change in {listed(told)}." if told else ""


def _whole(value: float) -> str:
    return number(value, ".1f").removesuffix(".0")


def _costs(change: pd.Series, form: str = ".1f") -> str:
    """A change of BLEU with its ends as what it costs, or as a change where its interval does not lie below zero."""
    value, low, high = change
    if not high < 0:
        return f"changes BLEU by {interval(value, low, high, f'+{form}')}"
    return f"costs {interval(-value, -high, -low, form)} BLEU"


def rivals(size: pd.DataFrame, late: str) -> str:
    """Of `tables.equal_size`: GHT-PS against models that have its size from the start, `late` says when it has its own; and
    choices of as many heads."""
    names = [name for name in (runs.FEWER, runs.NARROWER) if name in size.index]
    said = f"{same_size(size)} ({late})."
    if "early" in size and names:
        early = listed(interval(*size.loc[name, EARLY], "+.1f") for name in names)
        how = f"as few heads for all steps (*{FEW}*)"
        below = f"Not all of it is late choice and method: {how} are below them too, by interval ({early})."
        rest = f"With {how} the differences are {early}."
        said = f"{said} {below if (size.early_high[names] < 0).all() else rest}"
    chosen = [f"*{name}* {number(size.value[name], '.1f')}" for name in (runs.RANDOM, GRADIENT, L0) if name in size.index]
    if len(chosen) == 3:
        told = f"At as many heads of all kinds BLEU is {listed(chosen)}"
        said = f"{said} {told} (the first as many in each layer, after the constraint; notebook 6 ranks encoder heads alone)."
    return said


def same_size(size: pd.DataFrame) -> str:
    """Of `tables.equal_size`: GHT-PS against models that have its size from the start."""
    names = [name for name in (runs.FEWER, runs.NARROWER) if name in size.index]
    told = [f"*{name}* {interval(*size.loc[name, ENDS], '+.1f')}" for name in names]
    return f"{PS} minus models of its size: {listed(told)} BLEU"


def late(steps: int, share: float) -> str:
    """For how many of the steps GHT-PS has its final shape, `share` of them being before the vote."""
    return f"{PS} has its final shape for the last {steps - round(share * steps):,} of {steps:,} steps, the others for all"


def elsewhere(seeds: pd.DataFrame, missing: str, here: float) -> str:
    """Of the published table `seeds` of natural text: the first panel's changes of BLEU, and why they are not testable.

    `here` is the gain of GHT-PS in percent on generated text.
    """
    panel = seeds[seeds.panel == seeds.panel.iloc[0]].set_index("method")
    text = panel.panel.iloc[0].partition(": ")[2].partition("_")[0].capitalize()
    changes, whole = panel[["change_mean", "change_low", "change_high"]], panel["mean"][VANILLA]
    told = [f"{name} by {interval(*changes.loc[name], '+.1f')}" for name in (GHT, PS)]
    over = f"{text}, {panel.seeds.min():.0f} trainings, published"
    share = f"{number(changes.change_mean[PS] / whole, '+%')} of {number(whole, '.1f')}, generated text"
    share += f" {number(here / 100, '+%')}"
    said = f"On natural text ({over}) BLEU changes with {listed(told)} ({share}): not testable yet, nothing says {missing}"
    return f"{said} (the README's worth of captions is encoder attention of another model)."


def gains(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: both methods' gains in percent, by each task's first metric."""
    first, said = first_metrics(gained), {}
    for row in first[first.method.isin((GHT, PS))].itertuples():
        said.setdefault(row.method, []).append(f"{row.task} {interval(row.gain, row.low, row.high, '+.1f')} %")
    return "; ".join(f"{method}: {listed(parts)}" for method, parts in said.items()) + " (positive is better)"


def cost(table: pd.DataFrame, bleu: pd.Series | None = None, over: str = "") -> str:
    """Of `tables.table_1`: what GHT-PS saves and loses, and which controls of its size do better, by other scores if given."""
    if PS not in table.index:
        return f"This run has no {PS}."
    own, whole, bleu = table.loc[PS], table.loc[VANILLA], table.value if bleu is None else bleu
    controls = table.index[(table.parameters < whole.parameters) & ~table.index.str.startswith(PS)]
    better = [f"{name} ({number(bleu[name], '.1f')})" for name in controls if bleu[name] > bleu[PS]]
    have = "has" if len(better) == 1 else "have"
    beside = f"; of {len(controls)} controls of about its size {listed(better)} {have} more" if better else ""
    return (
        f"{PS} has {number(1 - own.parameters / whole.parameters, '%')} fewer parameters without embeddings, is"
        f" {number(own.speed, '.2f')} times as fast and has {number(bleu[PS], '.1f')} BLEU, {VANILLA}"
        f" {number(bleu[VANILLA], '.1f')}{beside}{over}."
    )


def worth(table: pd.DataFrame) -> str:
    """Of `tables.worth_of_attention`, first metrics alone: what each task loses at least without a kind of attention."""
    told = []
    for task, part in table.reset_index().dropna(subset="percent").groupby("task", sort=False):
        row = part.loc[part.percent.abs().idxmin()]
        lost = interval(row.percent, row.percent_low, row.percent_high, "+.0f")
        told.append(f"{task} {lost} % of {row.metric} ({KIND_TITLES[row.kind]})")
    return f"With all heads of the kind off that costs least, scores change by: {listed(told) or 'no share to tell'}."


def _formed(table: pd.DataFrame, groups: int) -> tuple[dict[str, tuple[str, str, str]], str, str]:
    """Of `tables.pictured`: by row how many times the study's weight, mean contrast, "hardly " or not; asked for; untrained."""
    means, asked = table.contrast.groupby("title", sort=False).mean(), 1 + 1 / max(groups - 1, 1)
    rows = {name: (name.partition(" x ")[2], number(mean, ".2f"), "" if mean >= FORMED * asked else "hardly ")
            for name, mean in means.items() if name.startswith(GHT)}  # fmt: skip
    return rows, number(asked, ".2f"), number(means.iloc[0], ".2f")


def apart(table: pd.DataFrame, groups: int, weight: float, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: contrast in the drawn layer and on average, and does the constraint pull or push?"""
    (rows, asked, _), means = _formed(table, groups), table[["same", "other"]].groupby("title", sort=False).mean()
    drawn = listed(f"{number(table.contrast[name, *site], '.2f')} ({name})" for name in rows)
    mean = listed(f"{value} ({little}groups)" for _, value, little in rows.values())
    pull, push = means.loc[GHT]
    both = [f"pushes groups apart ({number(push, '+.2f')})", f"pulls members together ({number(pull, '+.2f')})"]
    how = " more than it ".join(both if -push > pull else both[::-1])
    said = f"Drawn is the clearest layer: contrast {drawn} of {asked}; mean over {len(table.loc[[GHT]])} layers {mean}"
    return f"{said}. {GHT} (w = {weight:g}) {how}."


def deepened(table: pd.DataFrame) -> str:
    """Of `tables.pictured`: how many heads change their group in stage 1 under the constraint, by kind and in all."""
    part = table[table.index.get_level_values("title") == GHT]
    first = part[part.index.get_level_values("kind") == part.index.get_level_values("kind")[0]]
    told = [f"{each.moved.sum():.0f} of {each.heads.sum():.0f}" for each in (first, part)]
    kind = f"{KIND_TITLES[first.index.get_level_values('kind')[0]]}-attention"
    same = first.moved.sum() == 0
    said = f"K-means on random weights decides the groups of {kind} heads, the constraint deepens them" if same else (
        "The constraint changes groups that K-means finds on random weights")  # fmt: skip
    return f"{said}: {told[0]} {kind} heads, {told[1]} in all, change their group in stage 1 of {GHT} (groups named alike)."


def shown(table: pd.DataFrame, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: which layer is drawn, of how many, and what contrast means."""
    which, many = f"{KIND_TITLES[site[0]]}-attention of layer {site[1] + 1}", len(table.index.droplevel("title").unique())
    said = f"Shown: {which}, the clearest of {many} and no mean over them. Contrast: cosine within minus between groups"
    return f"{said}; from half of the perfect contrast on we call it groups."


def strength(table: pd.DataFrame, groups: int, bleu: pd.Series) -> str:
    """Of `tables.pictured` and scores of rows: do heads group at the study's weight, and what does more of it bring?"""
    rows, asked, _ = _formed(table, groups)
    said = []
    for name, (times, mean, little) in rows.items():
        if not times:
            how = f"their cosine within minus between groups is {mean}, where perfect groups have {asked}"
            said.append(f"At the study's weight heads {little}form groups: {how}.")
            continue
        names = (name, name.replace(GHT, PS), VANILLA, PS)
        own, few, plain, usual = (bleu.get(row, np.nan) for row in names)
        better = "nothing improves" if own <= plain and few <= usual else "scores differ"
        scores = listed(f"{row} {number(value, '.1f')}" for row, value in ((GHT, own), (PS, few), (VANILLA, plain)))
        said.append(f"At {times} times the weight they {little}do ({mean}), and {better}: {scores} BLEU (one training each, not"
                    " tested).")  # fmt: skip
    return " ".join(said)


def constraint(followed: Mapping[str, pd.DataFrame], heads: int, groups: int) -> str:
    """Of `tables.both_stages`: where both cosines end, and where heads of random directions would be."""
    ends = {name: part.iloc[-1] for name, part in followed.items() if len(part)}
    near = [f"{number(row.homogeneity, '.2f')} ({name})" for name, row in ends.items()]
    far = listed(number(row.diversity, "+.2f") for row in ends.values())
    level = number(np.sqrt(groups / heads), ".2f") if heads else "–"
    said = f"At the end heads have a cosine of {listed(near)} with their own centre, random directions {level} (dotted); two"
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
    """Of `tables.ablation` or `tables.ablation_over_seeds`: rows worse or better than the whole method."""
    rows, sides = table[table.p_holm.notna()], []
    sure, alone = rows[rows.p_holm < SURE], rows[rows.p_holm >= SURE]
    noun = "parts" if rows.printed.notna().all() else "rows"
    said = f"{len(sure) or 'None'} of the {len(rows)} {noun} can be told from the whole method (Holm)"
    if len(sure):
        said += f": {listed(f'*{named(row.row)}* ({row.change:+.1f})' for row in sure.itertuples())}"
    for part, how in ((alone[alone.change_low > 0], "better"), (alone[alone.change_high < 0], "worse")):
        names = [f"*{named(row.row)}* is {how} ({interval(*row[ENDS], '+.1f')})" for _, row in part.iterrows()]
        sides += names if len(names) < 3 else [f"{len(names)} rows are {how}"]
    return f"{said}.{f' By interval alone {listed(sides)}.' if sides else ''}"


def numbers(table: pd.DataFrame, unit: str = "BLEU") -> str:
    """Of `tables.by_groups`: what GHT-PS loses with every number of heads that stay, and what GHT does at either end."""
    parts = {method: table[(table.method == method) & (table.panel == table.panel.iloc[0])] for method in (PS, GHT)}
    vote, alone = (part.sort_values("groups") for part in parts.values())
    told = [f"{number(row.change, '+.1f')} with {int(row.groups)}" for row in vote.itertuples()]
    said = [f"{PS} {listed(told)} heads kept per layer, where all heads kept is no pruning"] if told else []
    if len(alone):
        ends = [f"{interval(*alone.iloc[at][['change', 'change_low', 'change_high']], '+.1f')}" for at in (0, -1)]
        said += [f"{GHT}, which keeps all, {ends[0]} with {alone.groups.min():.0f} and {ends[1]} with {alone.groups.max():.0f}"]
    return f"{unit} minus vanilla: {'; '.join(said)}."


def more_heads(table: pd.DataFrame, heads: int) -> str:
    """Of `tables.by_groups` of models with `heads` heads a layer: at which numbers of groups GHT gains, after Holm."""
    part = table[(table.method == GHT) & (table.panel == table.panel.iloc[0])].sort_values("groups")
    sure, over = part[part.p_holm < SURE], f"Holm over {table.family.max():.0f} rows, one training, not replicated"
    if sure.empty:
        return f"With {heads} heads per layer {GHT} changes BLEU detectably at no number of groups ({over})."
    told = [f"{'gains' if row.change > 0 else 'loses'} {interval(*row[ENDS], '+.1f')} at {row.groups:.0f} groups (p = "
            f"{number(row.p_holm, 'p')})" for _, row in sure.iterrows()]  # fmt: skip
    rest = " and nothing detectable at the other numbers" if len(sure) < len(part) else ""
    return f"With {heads} heads per layer {GHT} {listed(told)}{rest} ({over})."


def ladder(table: pd.DataFrame, few: str) -> str:
    """Of `tables.ladder_over_seeds`: is it capacity, which `few` heads from the start lack too, or method, at each width?"""
    own, alike = (table.xs(name, level="row").sort_index() for name in (PS, few))
    room, rest = alike.change_high < 0, own.against_start_high < 0
    rest_of = "Not the number of heads" if rest.any() else "Neither is seen"
    how = "Too few heads, and something more" if (room & rest).any() else "Too few heads" if room.any() else rest_of
    lost, widths = listed(number(-value, ".1f") for value in alike.change), listed(f"{head:g}" for head in own.index)
    ends = -own[["against_start", "against_start_high", "against_start_low"]]
    more = listed(interval(*row, ".1f") for row in ends.to_numpy())
    return f"{how}: {few} cost {lost} BLEU at head dimension {widths}; {PS} loses {more} more."


def scarce(table: pd.DataFrame, numbers: pd.DataFrame | None, width: int) -> str:
    """Of `tables.ladder_over_seeds`, rows called as `named` does, and `tables.by_groups`: do wider or more heads lose less?"""
    few = table.xs(FEW, level="row").sort_index()
    wide, one = few[few.index >= width], listed(f"{head:g}" for head in few.index[few.seeds == 1])
    single = f"At {one} one training each." if (few.seeds == 1).any() and (few.seeds > 1).any() else ""
    if numbers is None or len(wide) < 2:
        return single
    vote = numbers[(numbers.method == PS) & (numbers.panel == numbers.panel.iloc[0])].sort_values("groups")
    flat = wide.change_low.max() <= wide.change_high.min()  # all intervals share a point
    rises = (vote.change_low.to_numpy()[1:] > vote.change_high.to_numpy()[:-1]).all()
    if not flat or not rises or len(vote) < 2:
        return single
    lost = listed(number(-value, ".1f") for value in wide.change)
    told = f"From head dimension {width} on, wider heads do not detectably bring down what *{FEW}* lose ({lost} BLEU); more do"
    told += f" ({PS} {listed(number(value, '+.1f') for value in vote.change)} with {listed(map(int, vote.groups))} per layer)"
    return f"{told}. {single}".strip()


def chosen(table: pd.DataFrame) -> str:
    """Of `tables.chosen_on_dev`: does choosing a setting bring more than choosing among plain trainings does?"""
    more = (table.value - table.usual).round(1)
    told = [f"the best of {int(row.tried)} {'seeds of ' * (name == VANILLA)}{name} {number(row.value, '.1f')} BLEU, as usual"
            f" {number(row.usual, '.1f')}" for name, row in table.iterrows()]  # fmt: skip
    luck = (more.drop(VANILLA) <= max(0, more[VANILLA])).all()
    said = "Choosing on dev brings " + ("no more than luck does" if luck else "more than luck does")
    return f"{said}: on test {listed(told)} (one training each)."


def converged(table: pd.DataFrame, heads: int) -> str:
    """Of `tables.scores` of a trained model that trains further: what keeping `heads` heads a layer costs."""
    flat = table.reset_index().drop_duplicates("row").set_index("row")
    if not {GHT, PS, NO_CONSTRAINT} <= {*flat.index}:
        return "This run has not all rows of a trained model that is grouped."
    vote, both, alone = (flat.loc[name, ENDS] for name in (NO_CONSTRAINT, PS, GHT))
    return (
        f"Keeping {heads} heads per layer by vote {_costs(vote)} against further training; with the constraint it"
        f" {_costs(both)}. The constraint alone {_costs(alone)}. Whether another choice costs less was not run."
    )


def today_constraint(table: pd.DataFrame) -> str:
    """Of `tables.today`: what the constraint does to perplexity with own keys, at more weight, and with shared keys."""
    whole, told = table.loc["whole"], []
    names = sorted((name for name in whole.index if name.startswith(GHT)), key=lambda name: name == runs.GHT_FEW)
    for name in names:
        row, times = whole.loc[name], name.partition(" x ")[2]
        how = "lowers" if row.change_high < 0 else "raises" if row.change_low > 0 else "does not detectably change"
        where = f"at {times} times the weight" if times else "with a key for each head"
        where = "on shared keys" if name == runs.GHT_FEW else where
        told.append(f"{where} {how} it ({interval(*row[ENDS], '+.2f')}, Holm p {number(row.change_p_holm, 'p')})")
    return f"Perplexity: {GHT} {listed(told)}. One training each." if told else ""


def today(table: pd.DataFrame) -> str:
    """Of `tables.today`: does coming to share keys beat sharing from the start, and do choices beat chance?"""
    shared, few = table.loc["shared"], table.loc["whole"].change[runs.FEW_PAIRS]
    ways = shared[shared.chance.notna()]
    sure = ways.index[(ways.chance_p_holm < SURE) & (ways.chance < 0)]
    said = f"Keys shared later cost {number(shared.change.min(), '+.2f')} at best, from the start {number(few, '+.2f')}; "
    if len(sure) and sure.str.contains("rotated").all() and runs.ALIKE in ways.index:
        plain = (shared.change[runs.ALIKE], shared.change[shared.index.str.startswith(DRAWN)].mean())
        said += "only rotated ways beat random groups (Holm), which were not rotated (unrotated"
        said += f" {' against '.join(number(value, '+.2f') for value in plain)})"
    else:
        said += f"{len(sure)} of {len(ways)} ways beat random groups (Holm)"
    gates, alike = (_lost(part) for part in _gates(table))
    return f"{said}. L0 is worse than gradient importance (Holm) {gates} rows, L0's heads {alike}."


def _gates(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.today`: the rows of L0 that have a price, and of L0's heads, where importance was tried at as many heads."""
    gone = table.loc["removed"][table.loc["removed"].importance.notna()]
    return gone[gone.index.str.startswith(f"{L0} 0.")], gone[gone.index.str.startswith(L0_HEADS)]


def _lost(part: pd.DataFrame) -> str:
    """In how many rows a choice loses more than importance (Holm), and in how many less, if any."""
    sure = part.importance[part.importance_p_holm < SURE]
    return f"in {(sure > 0).sum()} of {len(part)}" + (f", better in {(sure < 0).sum()}" if (sure < 0).any() else "")


def today_vote(table: pd.DataFrame) -> str:
    """Of `tables.today`: what the vote costs on shared keys beside importance and random draws at as many heads."""
    gone = table.loc["removed"]
    alike = gone[gone["heads"] == gone["heads"].get(runs.PS_FEW)]
    draws, best = (alike[alike.index.str.startswith(name)] for name in (runs.RANDOM, GRADIENT))
    if draws.empty or best.empty:
        return ""
    own, first = alike.loc[runs.PS_FEW], best.iloc[0]
    low, high = draws.change.min(), draws.change.max()
    how = "within the range of" if low <= own.change <= high else "above all" if own.change > high else "below all"
    beside = "above" if own.change > first.change else "not above"
    told = f"costs {interval(*own[ENDS], '+.2f')} in perplexity, {GRADIENT} {interval(*first[ENDS], '+.2f')}"
    told += f", {len(draws)} random draws {number(low, '+.2f')} to {number(high, '+.2f')}"
    lies = f"{PS} lies {how} random draws and {beside} {GRADIENT}"
    return f"With {own['heads']:.0f} heads left {runs.PS_FEW} {told}: {lies} (one training each)."


def today_worth(table: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Of `tables.today` and `tables.worth_of_attention`: the levels to read the numbers by."""
    off = number(worth.xs("perplexity", level="metric").change.min(), "+.1f")
    free = table.loc["removed"].change.get(f"{L0} 0")
    gates, alike = (listed(number(value, "+.2f") for value in part.importance) for part in _gates(table))
    return (
        f"All attention off costs {off} or more in perplexity. Heads that come to share keys stand at a median of"
        f" {number(np.exp(table.loc['shared'].before.median()), '.1f')} before training goes on; gates with λ = 0 cost"
        f" {number(free, '+.2f')}. Minus gradient importance at as many heads: L0 {gates}; L0's heads {alike}."
    )


def today_short(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.today`: the plain rows, grouped training with own and shared keys, the best way to share, random groups, and
    of gates, their heads trained alike and importance the rows nearest to the heads that grouped training keeps.

    Returns
    -------
    pandas.DataFrame
        row, heads, value with low and high, change with its ends, against (which row).
    """
    shared, gone, whole = (table.loc[asked] for asked in ("shared", "removed", "whole"))
    drawn = shared[shared.index.str.startswith(DRAWN)]
    first, few = pd.concat([whole, gone]), (runs.GHT_FEW, runs.PS_FEW)
    alone = [name for name in whole.index if name.startswith(GHT) and name not in few]
    rows = {name: first.loc[name] for name in (VANILLA, *alone, PS, runs.FEW_PAIRS, *few) if name in first.index}
    rows |= {shared.value.idxmin(): shared.loc[shared.value.idxmin()]}
    if len(drawn):
        mean = drawn[["heads", "value", "change"]].mean().reindex(drawn.columns)
        rows[f"{DRAWN}, mean of {len(drawn)} draws"] = mean
    for start in (f"{L0} 0.", L0_HEADS, GRADIENT):
        part = gone[gone.index.str.startswith(start)]
        if len(part):
            nearest = (part["heads"] - gone["heads"].get(runs.PS_FEW, 0)).abs().idxmin()
            rows[nearest] = part.loc[nearest]
    found = pd.DataFrame(rows.values(), index=pd.Index(map(named, rows), name="row"))
    plain = [runs.FEW_PAIRS if name in few or (name in gone.index and name != PS) else VANILLA for name in rows]
    return found.assign(against=np.where(found.change.notna(), plain, None)).infer_objects()


def levels(worth: pd.DataFrame, alone: pd.Series, several: pd.DataFrame | None) -> str:
    """Why vanilla's BLEU differs from table to table: of `tables.worth_of_attention`, of one training, over several."""
    part = worth[worth.metric == "BLEU"]
    if several is None or part.empty:
        return ""
    told = f"{number(several.value[VANILLA], '.1f')} BLEU as mean of {several.seeds.max():.0f} trainings"
    told += f", {number(alone[VANILLA], '.1f')} in the first, which tables of one training start from"
    return f"So {VANILLA} has {told}, and {number(part.whole.iloc[0], '.1f')} in the first as it is stored (this table)."


def table_1(table: pd.DataFrame, fast: pd.DataFrame) -> pd.DataFrame:
    """Of `over_trainings` and `tables.speed`: gain over vanilla of as many trainings in %, speed with quartiles, and which rows
    have one training where others have more."""
    found, other, many = table.copy(), table.index != VANILLA, table.seeds > 1
    of_means = 100 * (found.value / found.value[VANILLA] - 1)
    found["gain"] = found.gain.mask(many & many[VANILLA], of_means).where(other)
    found["printed gain"] = found["printed gain"].where(other)
    found = found.drop(columns=["gain_low", "gain_high"])
    for end in ("low", "high"):
        found[f"speed_{end}"] = fast[end].where(fast.index != VANILLA).reindex(found.index)
    single = (table.seeds == 1) & (table.seeds.max() > 1)
    return found.rename(index={name: f"{name} (one training)" for name in found.index[single]})


def over_trainings(table: pd.DataFrame, several: pd.DataFrame | None = None) -> pd.DataFrame:
    """Of `tables.table_1`: seeds; where rows have `several` trainings their means stand in place of the first's."""
    found, columns = table.assign(seeds=1), ["value", "low", "high", "seeds"]
    if several is not None:
        rows = several.index.intersection(found.index)
        found.loc[rows, columns] = several.loc[rows, columns]
    return found
