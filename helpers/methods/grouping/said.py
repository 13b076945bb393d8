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

FEW = "as many heads from the start"
FORMED = 0.5  # of the contrast that is asked for: from there on heads form groups
SURE = 0.05
ENDS = ["change", "change_low", "change_high"]


def named(row: str) -> str:
    """What people call a row: the vote is what the paper's code calls V2S, one before any training leaves as many heads."""
    told = {runs.AT_START: FEW, "V2S": "vote", "w/o": "without", ", equation 4A": " by equation 4A as printed"}
    told |= {f"{L0} 0.": f"{L0}, λ = 0.", f"{L0_HEADS} 0.": f"{L0_HEADS}, λ = 0.", f"{L0} 0": f"{L0}, no price"}
    for name, words in told.items():
        row = row.replace(name, words)
    return row


def first_metrics(gained: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.gains`: the first test set and metric of each task alone, the task's name bare."""
    tasks = gained.task.str.partition(",")[0]
    return gained.assign(task=tasks)[gained.task == gained.groupby(tasks).task.transform("first")]


def effects(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: what both methods do on each task, surely (Holm) or by the interval alone."""
    first, said = first_metrics(gained), []
    for method, title in ((GHT, "The group constraint"), (PS, "One head of each group")):
        part = first[first.method == method]
        sure = part.p_holm < 0.05
        told = {"helps on": part[sure & (part.gain > 0)].task, "hurts on": part[sure & (part.gain < 0)].task}
        told["is worse by its interval alone on"] = part[~sure & (part.high < 0)].task
        told["is better by its interval alone on"] = part[~sure & (part.low > 0)].task
        told["makes no sure difference on"] = part[~sure & (part.low <= 0) & (part.high >= 0)].task
        said.append(f"{title} {listed(f'{how} {listed(tasks)}' for how, tasks in told.items() if len(tasks))}.")
    return " ".join(said)


def answer(gained: pd.DataFrame, needs: int = 3) -> str:
    """Of `tables.gains`: `effects`, and over what they are tested."""
    seeds = int(first_metrics(gained).seeds.min())
    worth = f"Each row is {seeds} training" + ("s" if seeds > 1 else "")
    worth += f"; Holm's correction is over the figure's {len(gained)} rows, that of verdicts over the whole paper"
    return f"{effects(gained)} {worth}" + (f"; a verdict needs {needs} trainings." if seeds < needs else ".")


def gains(gained: pd.DataFrame) -> str:
    """Of `tables.gains`: both methods' gains in percent, by each task's first metric."""
    first, said = first_metrics(gained), {}
    for row in first[first.method.isin((GHT, PS))].itertuples():
        said.setdefault(row.method, []).append(f"{row.task} {interval(row.gain, row.low, row.high, '+.1f')} %")
    return "; ".join(f"{method}: {listed(parts)}" for method, parts in said.items())


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
    for name, (times, mean, hardly) in rows.items():
        place = f"at {times} times that weight" if times else "at the study's weight"
        said.append(f"{place} {mean} ({number(here[name], '.2f')}), {hardly}groups")
    ends = f"asked for {asked}, random weights {level}"
    return f"Cosine, same group minus other group, mean over layers (in the layer shown): {'; '.join(said)}; {ends}."


def strength(table: pd.DataFrame, groups: int, bleu: pd.Series) -> str:
    """Of `tables.pictured` and scores of rows: do heads group at the study's weight, and what does more of it bring?"""
    rows, asked, _ = _formed(table, groups)
    said = []
    for name, (times, mean, hardly) in rows.items():
        own, few, plain = (number(bleu.get(row), ".1f") for row in (name, name.replace(GHT, PS), VANILLA))
        more = f"at {times} times it they {hardly}group ({mean}), and {GHT} has {own}, {PS} {few} BLEU, {VANILLA} {plain}"
        said.append(f"{more} (one training)" if times else f"At this weight heads {hardly}group ({mean} of {asked})")
    return f"{'; '.join(said)}."


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
    """Of `tables.overlap`, on (model, method): can so few heads with a function tell a choice, and how many do two share?"""
    row = shared.loc[shared.functional_all.idxmax()]
    heads, stay, active = (int(row[name]) for name in ("heads", "kept", "functional_all"))
    does = f"An even share is {number(row.relevance_all, '.3f')}; "
    if math.comb(stay, active) > SURE * math.comb(heads, active):  # chance alone may keep all of them
        does += f"with {active} of {heads} heads having a function the table cannot tell who stays"
    else:
        chance = number(stay * active / heads, ".1f")
        does += f"of {active} heads with a function {row.name[1]} keeps {int(row.functional)}, chance {chance}"
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
    """Of `tables.ablation` or `tables.ablation_over_seeds`: rows worse or better than the whole method."""
    rows = table[table.change.notna()]
    sure, alone, told, sides = rows[rows.p_holm < SURE], rows[~(rows.p_holm < SURE)], [], []
    for part, how in ((sure[sure.change < 0], "worse"), (sure[sure.change > 0], "better")):
        names = [f"{named(row.row)} ({row.change:+.1f})" for row in part.itertuples()]
        told += [f"surely {how} {'is' if len(names) == 1 else 'are'} {listed(names)}"] if names else []
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
    said = [f"{PS} {listed(told)} heads kept a layer, where all heads kept is no pruning"] if told else []
    if len(alone):
        ends = [f"{interval(*alone.iloc[at][['change', 'change_low', 'change_high']], '+.1f')}" for at in (0, -1)]
        said += [f"{GHT}, which keeps all, {ends[0]} with {alone.groups.min():.0f} and {ends[1]} with {alone.groups.max():.0f}"]
    return f"{unit} minus vanilla: {'; '.join(said)}."


def ladder(table: pd.DataFrame, few: str) -> str:
    """Of `tables.ladder_over_seeds`: GHT-PS at every width against vanilla, and against `few` heads from the start, a row."""
    own = table.xs(PS, level="row").sort_index()
    ends = ["against_start", "against_start_low", "against_start_high"][: 3 if len(own) < 5 else 1]
    told = listed(interval(*row, form="+.1f") for row in own[ends].to_numpy())
    sure = [f"{head:g}" for head in own.index[(own.against_start_p_holm < SURE) & (own.against_start < 0)]]
    lost, widths = listed(number(value, "+.1f") for value in own.change), listed(f"{head:g}" for head in own.index)
    end = f"surely (Holm) at {listed(sure)}" if sure else "surely (Holm) less at no width"
    return f"{PS} against {VANILLA}, heads {widths} wide: {lost} BLEU; against {few} {told}, {end}."


def room(table: pd.DataFrame, few: str) -> str:
    """Of the same: how much of what GHT-PS loses with the widest heads a model loses too that never had more than so few."""
    head = table.index.unique("head").max()
    lost, alike = (number(-table.change[head, name], ".1f") for name in (PS, few))
    rest = interval(*-table.loc[(head, PS), ["against_start", "against_start_high", "against_start_low"]], ".1f")
    told = f"With the widest heads ({head:g}) {PS} loses {lost} BLEU, {few} {alike}"
    return f"{told}: that is the price of so few heads, and {rest} what the method adds to it."


def converged(table: pd.DataFrame, heads: int) -> str:
    """Of `tables.scores` of a trained model that trains further: what keeping `heads` heads a layer costs."""
    flat = table.reset_index().drop_duplicates("row").set_index("row")
    bleu = {name: interval(*flat.loc[name, ENDS], "+.1f") for name in (GHT, PS, NO_CONSTRAINT) if name in flat.index}
    if {*bleu} != {GHT, PS, NO_CONSTRAINT}:
        return "This run has not all rows of a trained model that is grouped."
    costs = "costs" if flat.change_high[NO_CONSTRAINT] < 0 else "costs nothing sure"
    alone = "The constraint alone costs" if flat.change_high[GHT] < 0 else "Of the constraint alone no cost is seen"
    return (
        f"Keeping {heads} heads a layer by vote {costs}: {bleu[NO_CONSTRAINT]} BLEU against further training, with the"
        f" constraint {bleu[PS]}. {alone}: {bleu[GHT]}. Whether another choice of {heads} heads costs less was not run."
    )


def today(table: pd.DataFrame) -> str:
    """Of `tables.today`: does coming to share keys beat sharing from the start, and do choices beat chance?"""
    shared, few = table.loc["shared"], table.loc["whole"].change[runs.FEW_PAIRS]
    ways = shared[shared.chance.notna()]
    sure = ways.index[(ways.chance_p_holm < SURE) & (ways.chance < 0)]
    said = f"Keys shared later cost {number(shared.change.min(), '+.2f')} at best, from the start {number(few, '+.2f')}; "
    if len(sure) and sure.str.contains("turned").all() and runs.ALIKE in ways.index:
        plain = (shared.change[runs.ALIKE], shared.change[shared.index.str.startswith(DRAWN)].mean())
        said += "only turned ways surely beat random groups, which were not turned (unturned"
        said += f" {' against '.join(number(value, '+.2f') for value in plain)})"
    else:
        said += f"{len(sure)} of {len(ways)} ways surely beat random groups"
    gates, alike = (_surely(part) for part in _gates(table))
    return f"{said}. L0 is surely worse than gradient importance {gates} rows, L0's heads {alike}."


def _gates(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.today`: the rows of L0 that have a price, and of L0's heads, where importance was tried at as many heads."""
    gone = table.loc["removed"][table.loc["removed"].importance.notna()]
    return gone[gone.index.str.startswith(f"{L0} 0.")], gone[gone.index.str.startswith(L0_HEADS)]


def _surely(part: pd.DataFrame) -> str:
    """In how many rows a choice loses surely more than importance (Holm), and in how many less, if any."""
    sure = part.importance[part.importance_p_holm < SURE]
    return f"in {(sure > 0).sum()} of {len(part)}" + (f", better in {(sure < 0).sum()}" if (sure < 0).any() else "")


def today_worth(table: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Of `tables.today` and `tables.worth_of_attention`: the levels to read the numbers by."""
    off = number(worth.xs("perplexity", level="metric").change.min(), "+.1f")
    free = table.loc["removed"].change.get(f"{L0} 0")
    gates, alike = (listed(number(value, "+.2f") for value in part.importance) for part in _gates(table))
    return (
        f"All attention off costs {off} or more in perplexity. Heads that come to share keys stand at a median of"
        f" {number(np.exp(table.loc['shared'].before.median()), '.1f')} before training goes on; gates without a price cost"
        f" {number(free, '+.2f')}. Minus gradient importance at as many heads: L0 {gates}; L0's heads {alike}."
    )


def today_short(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.today`: the plain rows, grouped training on shared keys, the best way to share, random groups, and at about
    half of the heads gates, their heads trained alike and importance.

    Returns
    -------
    pandas.DataFrame
        row, heads, value with low and high, change with its ends, against (which row).
    """
    shared, gone, whole = (table.loc[asked] for asked in ("shared", "removed", "whole"))
    drawn = shared[shared.index.str.startswith(DRAWN)]
    first, few = pd.concat([whole, gone]), (runs.GHT_FEW, runs.PS_FEW)
    rows = {name: first.loc[name] for name in (VANILLA, runs.FEW_PAIRS, *few) if name in first.index}
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
