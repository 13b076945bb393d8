"""What the tables of notebook 04 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping.runs import (
    AT_START,
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

FEW = "as many heads from the start"
FORMED = 0.5  # of the contrast that is asked for: from there on heads form groups
SURE = 0.05


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, one before any training leaves as many heads."""
    said = row.replace(AT_START, FEW).replace("V2S", "vote").replace("w/o", "without")
    said = (
        said.replace(", equation 4A", " by equation 4A as printed")
        .replace(f"{L0} 0.", f"{L0}, λ = 0.")
        .replace(f"{L0_HEADS} 0.", f"{L0_HEADS}, λ = 0.")
    )
    return said.replace(f"{L0} 0", f"{L0}, no price")


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def answer(gained: pd.DataFrame, needs: int = 3) -> str:
    """Of `tables.gains`: what both methods do on each task, surely (Holm) or by the interval alone, and over what."""
    first, said = first_metrics(gained), []
    for method, title in ((GHT, "The group constraint"), (PS, "One head of each group")):
        part = first[first.method == method]
        sure = part.p_holm < 0.05
        told = {"helps on": part[sure & (part.gain > 0)].task, "hurts on": part[sure & (part.gain < 0)].task}
        told["is worse by its interval alone on"] = part[~sure & (part.high < 0)].task
        told["is better by its interval alone on"] = part[~sure & (part.low > 0)].task
        told["makes no sure difference on"] = part[~sure & (part.low <= 0) & (part.high >= 0)].task
        said.append(f"{title} {listed(f'{how} {listed(tasks)}' for how, tasks in told.items() if len(tasks))}.")
    seeds = int(first.seeds.min())
    worth = f"Each row is {seeds} training" + ("s" if seeds > 1 else "")
    worth += "; Holm's correction is over these rows, that of verdicts over the whole paper"
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
    beside = f"; of {len(controls)} controls of about its size {listed(better)} {have} more" if better else ""
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


def apart(table: pd.DataFrame, groups: int, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: whether heads form groups at the study's weight and at more, by how far these stand out."""
    means, asked = table.contrast.groupby("title", sort=False).mean(), 1 + 1 / max(groups - 1, 1)
    here = table.contrast.xs(site, level=("kind", "layer"))
    where = {
        name: f"at {name.rpartition('x ')[2]} times that weight" for name in means.index if name.startswith(f"{GHT}, weight x ")
    }
    where = {GHT: "at the study's weight"} | where
    said = [
        f"{place} {number(means[name], '.2f')} ({number(here[name], '.2f')}),"
        f" {'groups' if means[name] >= FORMED * asked else 'hardly groups'}"
        for name, place in where.items()
        if name in means
    ]
    if not said:
        return "No row of this run is trained with the constraint."
    ends = f"asked for {number(asked, '.2f')}, random weights {number(means.iloc[0], '.2f')}"
    return f"Cosine, same group minus other group, mean over layers (in the layer shown): {'; '.join(said)}; {ends}."


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
    does = f"Heads that stay: mean relevance {number(first.relevance, '.3f')} (all: {number(first.relevance_all, '.3f')}),"
    does += f" {active} of {stay} with a function (all: {whole} of {everyone})"
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
    """Of `tables.by_groups`: what GHT-PS loses with every number of heads that stay, and what GHT does at either end."""
    parts = {method: table[(table.method == method) & (table.panel == table.panel.iloc[0])] for method in (PS, GHT)}
    vote, alone = (part.sort_values("groups") for part in parts.values())
    told = [f"{number(row.change, '+.1f')} with {int(row.groups)}" for row in vote.itertuples()]
    said = [f"{PS} {listed(told)} heads kept a layer, where all heads kept is no pruning"] if told else []
    if len(alone):
        ends = [f"{interval(*alone.iloc[at][['change', 'change_low', 'change_high']], '+.1f')}" for at in (0, -1)]
        said += [f"{GHT}, which keeps all, {ends[0]} with {alone.groups.min():.0f} and {ends[1]} with {alone.groups.max():.0f}"]
    return f"{unit} minus vanilla: {'; '.join(said)}."


def ladder(table: pd.DataFrame, few: str) -> str:
    """Of `tables.ladder_over_seeds`: what the vote and having `few` heads from the start, a row, lose at every width."""
    widths = table.index.unique("head").sort_values()
    lost = [listed(number(-table.change[head, name], ".1f") for head in widths) for name in (PS, few)]
    apart = [f"{head:g}" for head in widths if table.change_high[head, PS] < table.change_low[head, few]]
    end = f"the two intervals lie apart at {listed(apart)}" if apart else "the two intervals meet at every width"
    return f"With heads {listed(f'{head:g}' for head in widths)} wide {PS} loses {lost[0]} BLEU; {few} loses {lost[1]}: {end}."


def converged(table: pd.DataFrame) -> str:
    """Of `tables.scores` of a trained model that trains further: is it the constraint or the vote that costs?"""
    flat = table.reset_index().drop_duplicates("row").set_index("row")
    ends = ["change", "change_low", "change_high"]
    bleu = {name: interval(*flat.loc[name, ends], "+.1f") for name in (GHT, PS, NO_CONSTRAINT) if name in flat.index}
    if {*bleu} != {GHT, PS, NO_CONSTRAINT}:
        return "This run has not all rows of a trained model that is grouped."
    alone, vote = flat.change_high[GHT] < 0, flat.change_high[NO_CONSTRAINT] < 0
    guilty = {
        (False, True): "The vote costs, the constraint does not", (True, False): "The constraint costs, the vote does not",
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
    return (
        f"Keys shared after training cost {number(shared.change[best], '+.2f')} at best ({named(best)}), from the start"
        f" {number(few.change, '+.2f')}; {_beats(shared, 'chance')} ways surely beat random groups. L0 surely beats gradient"
        f" importance in {_beats(gates, 'importance')} rows, L0's heads in {_beats(alike, 'importance')}."
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
