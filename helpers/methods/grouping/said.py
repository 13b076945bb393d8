"""What the tables of notebook 04 say, in a sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.methods.grouping.runs import FEW_PAIRS, GHT, L0, PS, VANILLA
from helpers.reading import interval, listed, number


def gains(table: pd.DataFrame, method: str) -> str:
    """Of `tables.gains`: a method's gain on each task in percent, by the task's first metric, beside the printed one."""
    said = []
    for task, part in table[table.method == method].groupby(table.task.str.partition(",")[0], sort=False):
        row = part.iloc[0]
        said.append(f"{task} {interval(row.gain, row.low, row.high, '+.1f')} % (printed {number(row.printed, '+.1f')} %)")
    return f"{method}: {listed(said)}"


def cost(table: pd.DataFrame) -> str:
    """Of `tables.table_1`: what GHT-PS saves and loses, and which controls of its size do better."""
    if PS not in table.index:
        return f"This run has no {PS}."
    own, whole = table.loc[PS], table.loc[VANILLA]
    controls = table[(table.parameters < whole.parameters) & ~table.index.str.startswith(PS)]
    better = [f"{name} ({number(row.value, '.1f')})" for name, row in controls.iterrows() if row.value > own.value]
    saved = number(1 - own.parameters / whole.parameters, "%")
    have = "has" if len(better) == 1 else "have"
    return (
        f"{PS} has {saved} fewer parameters, is {number(own.speed, '.2f')} times as fast and has"
        f" {number(own.value, '.1f')} BLEU, vanilla {number(whole.value, '.1f')}; of {len(controls)} smaller controls"
        f" {listed(better)} {have} more."
    )


def apart(table: pd.DataFrame, site: tuple[str, int]) -> str:
    """Of `tables.pictured`: how far groups stand out over all layers, before and after."""
    means = table.contrast.groupby("title", sort=False).mean()
    told = listed(f"{title} {number(value, '.2f')}" for title, value in means.items())
    return (
        f"Cosine of two heads of one group minus that of two groups, mean over all {table.loc[means.index[0]].shape[0]} layers:"
        f" {told}. Drawn is the layer where it is largest, {KIND_TITLES[site[0]]} {site[1] + 1}."
    )


def constraint(followed: Mapping[str, pd.DataFrame], heads: int, groups: int) -> str:
    """Of `tables.both_stages`: where both cosines end, and where heads of random directions would be."""
    ends = {name: part.iloc[-1] for name, part in followed.items() if len(part)}
    told = [f"{name} {number(row.homogeneity, '.2f')} and {number(row.diversity, '+.2f')}" for name, row in ends.items()]
    level = f"{number(np.sqrt(groups / heads), '.2f')}" if heads else "–"
    return f"At the end, own centre and other centres: {listed(told)}; random directions {level} and about 0."


def kept(shared: pd.DataFrame) -> str:
    """Of `tables.overlap`, on (model, method): what kept heads do, and how many two methods share."""
    first = shared.iloc[0]
    stay, active, whole, everyone = (int(first[name]) for name in ("kept", "functional", "functional_all", "heads"))
    does = f"{active} of the {stay} heads that stay have a function, {whole} of all {everyone}"
    said, done = [], set()
    for (model, method), row in shared.iterrows():
        for name in shared.columns:
            other = name.removeprefix("with ")
            if name == other or name.endswith(", chance") or pd.isna(row[name]) or (model, other, method) in done:
                continue
            done.add((model, method, other))
            said.append(f"{method} and {other} share {int(row[name])}, by chance {number(row[f'{name}, chance'], '.1f')}")
    return does + (f"; without the constraint {listed(said)}." if said else ".")


def ablation(table: pd.DataFrame) -> str:
    """Of `tables.ablation` or `tables.ablation_over_seeds`: rows that are surely worse, or better, without a part."""
    rows = table[table.change.notna()]
    sure = rows[rows.p_holm < 0.05]
    parts = [(sure[sure.change < 0], "worse"), (sure[sure.change > 0], "better")]
    told = [f"{len(part)} {how} ({listed(part.row)})" for part, how in parts if len(part)]
    return f"Of {len(rows)} rows {' and '.join(told) or 'none differs'} surely (Holm)."


def numbers(table: pd.DataFrame, unit: str = "BLEU") -> str:
    """Of `tables.by_groups`: both methods' change from vanilla at the least and the most groups."""
    said = []
    for method in (GHT, PS):
        part = table[table.method == method].sort_values("groups")
        if len(part):
            ends = [f"{int(row.groups)}: {interval(row.change, row.change_low, row.change_high, '+.1f')}" for row in
                    (part.iloc[0], part.iloc[-1])]  # fmt: skip
            said.append(f"{method} {'; '.join(ends)}")
    return f"{unit} minus vanilla by the number of groups. {'. '.join(said)}."


def ladder(table: pd.DataFrame, rows: Sequence[str]) -> str:
    """Of `tables.ladder_over_seeds`: the change of some rows against vanilla at the narrowest and the widest head."""
    said = []
    for head in sorted({*table.index.unique("head")})[:: max(1, table.index.unique("head").size - 1)]:
        part = table.loc[head]
        told = [f"{name} {interval(*part.loc[name, ['change', 'change_low', 'change_high']], '+.1f')}" for name in rows
                if name in part.index]  # fmt: skip
        said.append(f"heads of {head} numbers: {listed(told)}")
    return f"BLEU minus vanilla. {'; '.join(said)}."


def today(table: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Of `tables.today` and `tables.worth_of_attention`: what attention is worth, then which rows beat chance, by question."""
    off = number(worth.xs("perplexity", level="metric").change.min(), "+.1f")
    shared, gone = (table.loc[asked] for asked in ("shared", "removed"))
    gates, free = gone[gone.index.str.startswith(L0)], f"{L0} 0"
    gated = gates.drop(free, errors="ignore")
    early = number(np.exp(shared.before.median()), ".1f")
    best = shared.value.idxmin()
    few = table.loc["whole"].loc[FEW_PAIRS]
    return (
        f"Perplexity, less is better; all attention off costs {off} or more. Heads that come to share keys stand at a median of"
        f" {early} before training goes on, after it at best at {number(shared.value[best], '.2f')} ({best}), those that share"
        f" from the start at {number(few.value, '.2f')}: against vanilla"
        f" {interval(*shared.loc[best, ['change', 'change_low', 'change_high']], '+.2f')}. Better than random groups:"
        f" {_beats(shared, 'chance')}. {L0} at as many heads is better than chance at {_beats(gated, 'chance')}, than gradient"
        f" importance at {_beats(gated, 'importance')}; gates without a price cost {number(gates.change.get(free), '+.2f')}."
    )


def _beats(table: pd.DataFrame, rival: str) -> str:
    """How many rows that have a rival lose surely less than it (Holm)."""
    table = table[table[rival].notna()]
    sure = table[(table[f"{rival}_p_holm"] < 0.05) & (table[rival] < 0)]
    return f"{len(sure)} of {len(table)}" + (f" ({listed(sure.index)})" if len(sure) else "")
