"""What the tables of notebook 04 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping import runs
from helpers.methods.grouping.runs import DRAWN, GHT, GRADIENT, L0, L0_HEADS, NO_CONSTRAINT, PS, VANILLA
from helpers.reading import interval, listed, number

FEW = "heads chosen before training"
FORMED = 0.5  # of the contrast that is asked for: from there on heads form groups
SURE = 0.05
ENDS = ["change", "change_low", "change_high"]


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, one before any training leaves as many heads."""
    told = {runs.AT_START: FEW, "V2S": "vote", "w/o": "without", ", equation 4A": " by equation 4A as printed"}
    told |= {f"{L0} 0": f"{L0}, λ = 0", f"{L0_HEADS} 0": f"{L0_HEADS}, λ = 0", "turned": "rotated", " a layer": " per layer"}
    for name, words in told.items():
        row = row.replace(name, words)
    return row


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def _effect(part: pd.DataFrame) -> str:
    """Rows of one method in `tables.gains`: on which tasks it helps or hurts, significantly (Holm) or by the interval alone."""
    sure, said = part.p_holm < SURE, []
    for up, good, bad in ((sure, "significantly helps on", "significantly hurts on"),
                          (~sure, "is better by interval alone on", "is worse by interval alone on")):  # fmt: skip
        said += [(good, part[up & (part.low > 0)].task), (bad, part[up & (part.high < 0)].task)]
    said += [("makes no detectable difference to", part[(part.low <= 0) & (part.high >= 0)].task)]
    return listed(f"{how} {listed(tasks)}" for how, tasks in said if len(tasks))


def answer(gained: pd.DataFrame, bleu: pd.DataFrame, heads: pd.Series, paper: float = np.nan, needs: int = 3) -> str:
    """Whether grouping pays: of `tables.gains`, changes of BLEU by method and heads by row.

    `paper` is p of the constraint in translation over all claims of the paper, nan where that is not tested.
    """
    first, seeds = first_metrics(gained), int(gained.seeds.min())
    better = dict.fromkeys(first.task[(first.p_holm < SURE) & (first.gain > 0)])
    parts = {method: first[first.method == method] for method in (GHT, PS)}
    alone, few = bleu.loc[GHT], bleu.loc[PS]
    over = f"{seeds} trainings" if seeds >= needs else f"{seeds} training{'s' * (seeds > 1)}; a verdict needs {needs}"
    over += f"; p = {number(alone.p_holm, 'p')} over {alone.family:.0f} rows of the table"
    over += "" if np.isnan(paper) else f", {number(paper, 'p')} over all claims of the paper"
    rest = {method: _effect(part[part.task != first.task.iloc[0]]) for method, part in parts.items()}
    told = f"**{f'On {listed(better)} alone' if better else 'Not here'}.** The constraint changes BLEU by"
    told += f" {interval(*alone[ENDS], '+.2f')} ({over})" + (f"; it {rest[GHT]}" if rest[GHT] else "")
    told += f". Keeping one head per group ({heads[PS]:.0f} of {heads[VANILLA]:.0f}) {_costs(few[ENDS])}"
    return told + (f" and {rest[PS]}." if rest[PS] else ".")


def _costs(change: pd.Series, form: str = ".1f") -> str:
    """A change of BLEU with its ends as what it costs, or as a change where its interval does not lie below zero."""
    value, low, high = change
    if not high < 0:
        return f"changes BLEU by {interval(value, low, high, f'+{form}')}"
    return f"costs {interval(-value, -high, -low, form)} BLEU"


def rivals(size: pd.DataFrame, late: str) -> str:
    """Of `tables.equal_size`: GHT-PS against models that have their size from the start; `late` says when it has its own."""
    told = [f"*{name}* {interval(*size.loc[name, ENDS], '+.1f')}" for name in (runs.FEWER, runs.NARROWER) if name in size.index]
    return f"{PS} minus models of its size: {listed(told)} BLEU ({late})."


def late(steps: int, share: float) -> str:
    """For how many of the steps GHT-PS has its final shape, `share` of them being before the vote."""
    return f"{PS} has its final shape for the last {steps - round(share * steps):,} of {steps:,} steps, the others for all"


def elsewhere(seeds: pd.DataFrame, missing: str) -> str:
    """Of the published table `seeds` of natural text: the first panel's changes of BLEU, and why they are not testable."""
    panel = seeds[seeds.panel == seeds.panel.iloc[0]].set_index("method")
    text = panel.panel.iloc[0].partition(": ")[2].partition("_")[0].capitalize()
    changes = panel[["change_mean", "change_low", "change_high"]]
    told = [f"{name} by {interval(*changes.loc[name], '+.1f')}" for name in (GHT, PS)]
    over = f"{text}, {panel.seeds.min():.0f} trainings, published"
    return f"On natural text ({over}) BLEU changes with {listed(told)}: not testable yet, nothing says {missing}."


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


def apart(table: pd.DataFrame, groups: int, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: whether heads form groups at the study's weight and at more, by how far these stand out."""
    (rows, asked, level), here = _formed(table, groups), table.contrast.xs(site, level=("kind", "layer"))
    said = []
    for name, (times, mean, little) in rows.items():
        place = f"at {times} times that weight" if times else "at the study's weight"
        said.append(f"{place} {mean} ({number(here[name], '.2f')}), {little}groups")
    ends = f"perfect groups {asked}, random weights {level}"
    return f"Cosine within minus between groups, mean over layers (in the layer shown): {'; '.join(said)}; {ends}."


def shown(table: pd.DataFrame, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: which layer is drawn, of how many, and what its diagonal is."""
    which, many = f"{KIND_TITLES[site[0]]}-attention of layer {site[1] + 1}", len(table.index.droplevel("title").unique())
    return f"Shown: {which}, the clearest of {many}; the dark diagonal is each head with itself."


def hardly(table: pd.DataFrame, groups: int) -> str:
    """Of `tables.pictured`: why an ablation at the study's weight can show little, where heads hardly group at it."""
    weak = any(little and not times for times, _, little in _formed(table, groups)[0].values())
    return "At this weight heads hardly group, so little can be lost by leaving a part out." if weak else ""


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
    """Of `tables.overlap`, on (model, method): can so few heads with a function tell a choice, and do ways choose alike?"""
    row = shared.loc[shared.functional_all.idxmax()]
    heads, stay, active = (int(row[name]) for name in ("heads", "kept", "functional_all"))
    if math.comb(stay, active) > SURE * math.comb(heads, active):  # chance alone may keep all of them
        does = f"Functions cannot tell who stays, for {active} of {heads} heads have one"
    else:
        does = f"Of {active} heads with a function {row.name[1]} keeps {int(row.functional)}, chance"
        does += f" {number(stay * active / heads, '.1f')}"
    ends = " to ".join(dict.fromkeys(number(value, ".3f") for value in (shared.relevance.min(), shared.relevance.max())))
    does += f"; their mean relevance is {ends}, an even share {number(row.relevance_all, '.3f')}."
    pairs = {}
    for (model, method), row in shared.iterrows():
        for name in (name for name in shared.columns if name.startswith("with ") and not name.endswith(", chance")):
            if pd.notna(row[name]):
                pairs[model, *sorted((method, name.removeprefix("with ")))] = row[name], row[f"{name}, chance"]
    if not pairs:
        return does
    alike = "keep much the same heads" if all(both > 2 * chance for both, chance in pairs.values()) else "keep different heads"
    said = listed(f"{one} and {other} share {both:.0f}" for (_, one, other), (both, _) in pairs.items())
    chance = listed(dict.fromkeys(number(chance, ".1f") for _, chance in pairs.values()))
    return f"{does} Without the constraint different ways {alike}: {said} of {stay}, by chance {chance}."


def ablation(table: pd.DataFrame) -> str:
    """Of `tables.ablation` or `tables.ablation_over_seeds`: rows worse or better than the whole method."""
    rows = table[table.change.notna()]
    sure, alone, told, sides = rows[rows.p_holm < SURE], rows[~(rows.p_holm < SURE)], [], []
    for part, how in ((sure[sure.change < 0], "worse"), (sure[sure.change > 0], "better")):
        names = [f"{named(row.row)} ({row.change:+.1f})" for row in part.itertuples()]
        told += [f"significantly {how} {'is' if len(names) == 1 else 'are'} {listed(names)}"] if names else []
    for part, how in ((alone[alone.change_low > 0], "better"), (alone[alone.change_high < 0], "worse")):
        names = [f"*{named(row.row)}* is {how} ({interval(*row[ENDS], '+.1f')})" for _, row in part.iterrows()]
        sides += names if len(names) < 3 else [f"{len(names)} rows are {how}"]
    told += [f"by interval alone {listed(sides)}"] if sides else []
    left = f"{len(rows) - len(sure)} of {len(rows)} rows cannot be told from the whole method (Holm)"
    return f"{'; '.join([left, *told])}."


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


def ladder(table: pd.DataFrame, few: str) -> str:
    """Of `tables.ladder_over_seeds`: is it capacity, which `few` heads from the start lack too, or method, at each width?"""
    own, alike = (table.xs(name, level="row").sort_index() for name in (PS, few))
    room, rest = alike.change_high < 0, own.against_start_high < 0
    lead = "Both" if (room & rest).any() else "Capacity" if room.any() else "Method" if rest.any() else "Neither is seen"
    lost, widths = listed(number(-value, ".1f") for value in alike.change), listed(f"{head:g}" for head in own.index)
    ends = -own[["against_start", "against_start_high", "against_start_low"]]
    more, one = listed(interval(*row, ".1f") for row in ends.to_numpy()), [f"{head:g}" for head in own.index[own.seeds == 1]]
    single = f" ({listed(one)}: one training)" if one else ""
    return f"{lead}: with {few} {lost} BLEU are lost at head dimension {widths}; {PS} loses {more} more{single}."


def chosen(table: pd.DataFrame) -> str:
    """Of `tables.chosen_on_dev`: does choosing a setting bring more than choosing among plain trainings does?"""
    more = (table.value - table.usual).round(1)
    told = [
        f"the best of {int(row.tried)} {'seeds of ' * (name == VANILLA)}{name} {number(row.value, '.1f')} BLEU, as usual"
        f" {number(row.usual, '.1f')}"
        for name, row in table.iterrows()
    ]
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
        where = (
            "on shared keys"
            if name == runs.GHT_FEW
            else f"at {times} times the weight"
            if times
            else "with a key for each head"
        )
        told.append(f"{where} {how} it ({interval(*row[ENDS], '+.2f')}, Holm p {number(row.change_p_holm, 'p')})")
    return f"Perplexity: {GHT} {listed(told)}. One training each." if told else ""


def today(table: pd.DataFrame) -> str:
    """Of `tables.today`: does coming to share keys beat sharing from the start, and do choices beat chance?"""
    shared, few = table.loc["shared"], table.loc["whole"].change[runs.FEW_PAIRS]
    ways = shared[shared.chance.notna()]
    sure = ways.index[(ways.chance_p_holm < SURE) & (ways.chance < 0)]
    said = f"Keys shared later cost {number(shared.change.min(), '+.2f')} at best, from the start {number(few, '+.2f')}; "
    if len(sure) and sure.str.contains("turned").all() and runs.ALIKE in ways.index:
        plain = (shared.change[runs.ALIKE], shared.change[shared.index.str.startswith(DRAWN)].mean())
        said += "only rotated ways significantly beat random groups, which were not rotated (unrotated"
        said += f" {' against '.join(number(value, '+.2f') for value in plain)})"
    else:
        said += f"{len(sure)} of {len(ways)} ways significantly beat random groups"
    gates, alike = (_significantly(part) for part in _gates(table))
    return f"{said}. L0 is significantly worse than gradient importance {gates} rows, L0's heads {alike}."


def _gates(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.today`: the rows of L0 that have a price, and of L0's heads, where importance was tried at as many heads."""
    gone = table.loc["removed"][table.loc["removed"].importance.notna()]
    return gone[gone.index.str.startswith(f"{L0} 0.")], gone[gone.index.str.startswith(L0_HEADS)]


def _significantly(part: pd.DataFrame) -> str:
    """In how many rows a choice loses significantly more than importance (Holm), and in how many less, if any."""
    sure = part.importance[part.importance_p_holm < SURE]
    return f"in {(sure > 0).sum()} of {len(part)}" + (f", better in {(sure < 0).sum()}" if (sure < 0).any() else "")


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
    """Of `tables.today`: the plain rows, grouped training with own and shared keys, the best way to share, random groups, at
    about half of the heads gates, their heads trained alike and importance.

    Returns
    -------
    pandas.DataFrame
        row, heads, value with low and high, change with its ends, against (which row).
    """
    shared, gone, whole = (table.loc[asked] for asked in ("shared", "removed", "whole"))
    drawn = shared[shared.index.str.startswith(DRAWN)]
    first, few = pd.concat([whole, gone]), (runs.GHT_FEW, runs.PS_FEW)
    alone = [name for name in whole.index if name.startswith(GHT) and name not in few]
    rows = {name: first.loc[name] for name in (VANILLA, *alone, runs.FEW_PAIRS, *few) if name in first.index}
    rows |= {shared.value.idxmin(): shared.loc[shared.value.idxmin()]}
    if len(drawn):
        mean = drawn[["heads", "value", "change"]].mean().reindex(drawn.columns)
        rows[f"{DRAWN}, mean of {len(drawn)} draws"] = mean
    for start in (f"{L0} 0.", L0_HEADS, GRADIENT):
        part = gone[gone.index.str.startswith(start)]
        if len(part):
            nearest = (part["heads"] - whole["heads"].max() / 2).abs().idxmin()
            rows[nearest] = part.loc[nearest]
    found = pd.DataFrame(rows.values(), index=pd.Index(map(named, rows), name="row"))
    against = [runs.FEW_PAIRS if name in gone.index or name in few else VANILLA for name in rows]
    return found.assign(against=np.where(found.change.notna(), against, None)).infer_objects()


def over_trainings(table: pd.DataFrame, several: pd.DataFrame | None = None) -> pd.DataFrame:
    """Of `tables.table_1`: seeds; where rows have `several` trainings their means stand in place of the first's."""
    found, columns = table.assign(seeds=1), ["value", "low", "high", "seeds"]
    if several is not None:
        rows = several.index.intersection(found.index)
        found.loc[rows, columns] = several.loc[rows, columns]
    return found
