"""What the tables of notebook 04 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping.runs import (
    DRAWN,
    FEW_PAIRS,
    GHT,
    GHT_FEW,
    GRADIENT,
    L0,
    L0_HEADS,
    NO_CONSTRAINT,
    PS,
    PS_FEW,
    VANILLA,
)
from helpers.reading import interval, listed, number

FORMED = 0.5  # of the contrast that is asked for: from there on heads form groups
SURE = 0.05


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, and a price is one."""
    said = row.replace("V2S", "vote").replace("w/o", "without").replace(", equation 4A", " by equation 4A as printed")
    said = said.replace(f"{L0} 0.", f"{L0}, λ = 0.").replace(f"{L0_HEADS} 0.", f"{L0_HEADS}, λ = 0.")
    return said.replace(f"{L0} 0", f"{L0}, no price")


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def answer(gained: pd.DataFrame, needs: int = 3) -> str:
    """Of `tables.gains`: what both methods surely do on each task (Holm), in plain words, and what these words are worth."""
    first, said = first_metrics(gained), []
    for method, title in ((GHT, "The group constraint"), (PS, "One head of each group")):
        part = first[first.method == method]
        sure = part.p_holm < 0.05
        told = {"helps on": part[sure & (part.gain > 0)].task, "hurts on": part[sure & (part.gain < 0)].task}
        told["makes no sure difference on"] = part[~sure].task
        said.append(f"{title} {listed(f'{how} {listed(tasks)}' for how, tasks in told.items() if len(tasks))}.")
    seeds = int(first.seeds.min())
    worth = f"Each row is {seeds} training" + ("s" if seeds > 1 else "") + ", corrected for all comparisons (Holm)"
    return f"{' '.join(said)} {worth}" + (f"; a verdict needs {needs} trainings." if seeds < needs else ".")


def gains(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: both methods' gains in percent, by each task's first metric."""
    first = first_metrics(gained)
    said = {
        method: [
            f"{row.task} {interval(row.gain, row.low, row.high, '+.1f')} %"
            for row in first[first.method == method].itertuples()
        ]
        for method in (GHT, PS)
    }
    return "; ".join(f"{method}: {listed(parts)}" for method, parts in said.items() if parts)


def cost(table: pd.DataFrame) -> str:
    """Of `tables.table_1`: what GHT-PS saves and loses, and which controls of its size do better."""
    if PS not in table.index:
        return f"This run has no {PS}."
    own, whole = table.loc[PS], table.loc[VANILLA]
    controls = table[(table.parameters < whole.parameters) & ~table.index.str.startswith(PS)]
    better = [f"{name} ({number(row.value, '.1f')})" for name, row in controls.iterrows() if row.value > own.value]
    saved = number(1 - own.parameters / whole.parameters, "%")
    have = "has" if len(better) == 1 else "have"
    beside = f"; of {len(controls)} smaller controls {listed(better)} {have} more" if len(controls) else ""
    return (
        f"{PS} has {saved} fewer parameters, is {number(own.speed, '.2f')} times as fast and has"
        f" {number(own.value, '.1f')} BLEU, vanilla {number(whole.value, '.1f')}{beside}."
    )


def worth(table: pd.DataFrame) -> str:
    """Of `tables.worth_of_attention`, first metrics alone: what each task loses at least without a kind of attention."""
    told = []
    for task, part in table.reset_index().dropna(subset="percent").groupby("task", sort=False):
        row = part.loc[part.percent.abs().idxmin()]
        lost = interval(row.percent, row.percent_low, row.percent_high, "+.0f")
        told.append(f"{task} {lost} % of {row.metric} ({KIND_TITLES[row.kind]})")
    return f"With all heads of the kind off that costs least, scores change by: {listed(told) or 'no share to tell'}."


def apart(table: pd.DataFrame, groups: int) -> str:
    """Of `tables.pictured`: whether heads form groups at the study's weight and at more, by how far these stand out."""
    means, asked = table.contrast.groupby("title", sort=False).mean(), 1 + 1 / max(groups - 1, 1)
    where = {
        name: f"at {name.rpartition('x ')[2]} times that weight" for name in means.index if name.startswith(f"{GHT}, weight x ")
    }
    where = {GHT: "at the study's weight"} | where
    said = [
        f"{place} groups {'form' if means[name] >= FORMED * asked else 'hardly form'} ({number(means[name], '.2f')})"
        for name, place in where.items()
        if name in means
    ]
    if not said:
        return "No row of this run is trained with the constraint."
    told = ", ".join(said)
    return (
        f"{told[0].upper()}{told[1:]}: cosine of two heads of one group minus that of two groups, mean over layers, of"
        f" {number(asked, '.2f')} asked for and {number(means.iloc[0], '.2f')} at random weights."
    )


def constraint(followed: Mapping[str, pd.DataFrame], heads: int, groups: int) -> str:
    """Of `tables.both_stages`: where both cosines end, and where heads of random directions would be."""
    ends = {name: part.iloc[-1] for name, part in followed.items() if len(part)}
    near = [f"{number(row.homogeneity, '.2f')} ({name})" for name, row in ends.items()]
    far = listed(number(row.diversity, "+.2f") for row in ends.values())
    level = number(np.sqrt(groups / heads), ".2f") if heads else "–"
    said = f"with their own centre heads end at a cosine of {listed(near)}, random directions at {level}; two centres at {far}."
    if not {VANILLA, GHT} <= ends.keys():
        return said[:1].upper() + said[1:]
    pull, push = (abs(ends[GHT][term] - ends[VANILLA][term]) for term in ("homogeneity", "diversity"))
    more, less = ("pulls members together", "pushes centres apart")[:: 1 if pull > push else -1]
    return f"{GHT} {more} more than it {less}: {said}"


def kept(shared: pd.DataFrame) -> str:
    """Of `tables.overlap`, on (model, method): what kept heads do, and how many two methods share."""
    first = shared.iloc[0]
    stay, active, whole, everyone = (int(first[name]) for name in ("kept", "functional", "functional_all", "heads"))
    does = f"{active} of the {stay} heads that stay have a function, {whole} of all {everyone}"
    if not whole:
        does = f"None of the {everyone} heads has a function: nothing can be said of those that stay"
    said, by_chance, done = [], [], set()
    for (model, method), row in shared.iterrows():
        for name in shared.columns:
            other = name.removeprefix("with ")
            if name == other or name.endswith(", chance") or pd.isna(row[name]) or (model, other, method) in done:
                continue
            done.add((model, method, other))
            said.append(f"{method} and {other} share {int(row[name])}")
            by_chance.append(number(row[f"{name}, chance"], ".1f"))
    chance = listed(by_chance if len({*by_chance}) > 1 else by_chance[:1])
    return does + (f"; without the constraint {listed(said)}, by chance {chance}." if said else ".")


def ablation(table: pd.DataFrame) -> str:
    """Of `tables.ablation` or `tables.ablation_over_seeds`: rows that are surely worse, or better, than the whole method."""
    rows = table[table.change.notna()]
    sure = rows[rows.p_holm < SURE]
    told = []
    for part, how in ((sure[sure.change < 0], "worse"), (sure[sure.change > 0], "better")):
        names = [f"{named(row.row)} ({row.change:+.1f})" for row in part.itertuples()]
        told += [f"surely {how} {'is' if len(names) == 1 else 'are'} {listed(names)}"] if names else []
    left = f"{len(rows) - len(sure)} of {len(rows)} rows cannot be told from the whole method (Holm)"
    return f"{'; '.join([left, *told])}."


def numbers(table: pd.DataFrame, unit: str = "BLEU") -> str:
    """Of `tables.by_groups`: does GHT-PS come nearer to vanilla with more groups, and what does GHT do?"""
    ends = {}
    for method in (PS, GHT):
        part = table[(table.method == method) & (table.panel == table.panel.iloc[0])].sort_values("groups")
        if len(part):
            ends[method] = part.iloc[0], part.iloc[-1]
    said = []
    for method, (least, most) in ends.items():
        low, high = (
            f"{interval(row.change, row.change_low, row.change_high, '+.1f')} {where} {int(row.groups)}"
            for row, where in ((least, "with"), (most, "with"))
        )
        how = "does not surely rise"
        if least.change_high < most.change_low:
            how = "rises with the number of groups" + (", so room is missing" if method == PS else "")
        said.append(f"{method} {how}, {low} and {high}")
    return f"{unit} minus vanilla: {'; '.join(said)}."


def ladder(table: pd.DataFrame, few: str) -> str:
    """Of `tables.ladder_over_seeds`: does the vote lose more than having `few` heads from the start, a row, at every width?"""
    widths, told = table.index.unique("head").sort_values(), []
    for head in widths[[0, -1]].unique():
        ends = [table.loc[(head, name), ["change", "change_low", "change_high"]] for name in (PS, few)]
        told.append(f"{head} wide: {PS} {interval(*ends[0], '+.1f')} and {few} {interval(*ends[1], '+.1f')}")
    more = all(table.change_high[head, PS] < table.change_low[head, few] for head in widths)
    end = "loses surely more at every width: not room alone" if more else "does not lose surely more at every width"
    return f"BLEU minus vanilla, {'; '.join(told)}. {PS} {end}."


def converged(table: pd.DataFrame) -> str:
    """Of `tables.scores` of a trained model that trains further: is it the constraint or the vote that costs?"""
    flat = table.reset_index().drop_duplicates("row").set_index("row")
    ends = ["change", "change_low", "change_high"]
    bleu = {name: interval(*flat.loc[name, ends], "+.1f") for name in (GHT, PS, NO_CONSTRAINT) if name in flat.index}
    if {*bleu} != {GHT, PS, NO_CONSTRAINT}:
        return "This run has not all rows of a trained model that is grouped."
    alone, vote = flat.change_high[GHT] < 0, flat.change_high[NO_CONSTRAINT] < 0
    guilty = {
        (False, True): "It is the vote that costs, not the constraint", (True, False): "It is the constraint that costs",
        (True, True): "Both the vote and the constraint cost", (False, False): "Neither costs anything surely",
    }[alone, vote]  # fmt: skip
    return (
        f"{guilty}: BLEU minus further training {bleu[GHT]} with the constraint alone, {bleu[NO_CONSTRAINT]} with the vote"
        f" alone, {bleu[PS]} with both."
    )


def today(table: pd.DataFrame) -> str:
    """Of `tables.today`: does coming to share keys beat sharing from the start, and do choices beat chance?"""
    shared, gone = (table.loc[asked] for asked in ("shared", "removed"))
    gates = gone[gone.index.str.startswith(f"{L0} ")].drop(f"{L0} 0", errors="ignore")
    alike = gone[gone.index.str.startswith(L0_HEADS)]
    best, few = shared.value.idxmin(), table.loc["whole"].loc[FEW_PAIRS]
    how = "less than" if shared.value[best] < few.value else "no less than"
    return (
        f"Keys shared later reach at best a perplexity of {number(shared.value[best], '.2f')} ({best}), {how} keys shared from"
        f" the start ({number(few.value, '.2f')}); surely better than random groups are {_beats(shared, 'chance')} rows, than"
        f" gradient importance L0 {_beats(gates, 'importance')}, its heads trained alike {_beats(alike, 'importance')}."
    )


def today_worth(table: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Of `tables.today` and `tables.worth_of_attention`: the levels to read the numbers by."""
    off = number(worth.xs("perplexity", level="metric").change.min(), "+.1f")
    free = table.loc["removed"].change.get(f"{L0} 0")
    return (
        f"All attention off costs {off} or more in perplexity. Heads that come to share keys stand at a median of"
        f" {number(np.exp(table.loc['shared'].before.median()), '.1f')} before training goes on; gates without a price cost"
        f" {number(free, '+.2f')}."
    )


def today_short(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.today`: the plain rows, grouped training on shared keys, the best way to share, random groups, and at half of
    the heads gates, their heads trained alike and importance.

    Returns
    -------
    pandas.DataFrame
        row, heads, value with low and high, change with its ends, against (which row).
    """
    shared, gone, whole = (table.loc[asked] for asked in ("shared", "removed", "whole"))
    drawn = shared[shared.index.str.startswith(DRAWN)]
    first, few = pd.concat([whole, gone]), (GHT_FEW, PS_FEW)
    rows = {name: first.loc[name] for name in (VANILLA, FEW_PAIRS, *few) if name in first.index}
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
    against = [FEW_PAIRS if name in gone.index or name in few else VANILLA for name in rows]
    return found.assign(against=np.where(found.change.notna(), against, None)).infer_objects()


def _beats(table: pd.DataFrame, rival: str) -> str:
    """How many rows that have a rival lose surely less than it (Holm)."""
    table = table[table[rival].notna()]
    return f"{int(((table[f'{rival}_p_holm'] < SURE) & (table[rival] < 0)).sum())} of {len(table)}"
