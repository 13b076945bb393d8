"""Grouped heads where they could win: little text, dropout, a constraint that groups (rules: docs/regimes.md).

A row says what was trained in columns; nothing is read out of its name. What is measured on it is one small analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from helpers import study, training
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping import tightness
from helpers.measures.analysis import FILE, Analysis
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import values

SIZES = (20_000, 10_000, 5000, 2500)  # training pairs, the largest first
STRENGTHS = (10.0, 30.0, 3.0, 1.0)  # factors on the usual weight of the constraint
RATES = {128: 3e-3, 256: 2e-3, 512: 1e-3}  # learning rate at its peak, by width
MAIN = (runs.VANILLA, runs.GHT, runs.PS, runs.RANDOM, runs.AT_START)


@dataclass(frozen=True)
class Row:
    """What is trained: method, training pairs, dropout, factor on the constraint's weight, groups, heads, numbers of a head."""

    method: str
    train: int
    dropout: float
    strength: float = 0.0
    groups: int = 2
    heads: int = 8
    head: int = 16
    seed: int = 1


def spec(settings: Mapping[str, Any], row: Row) -> dict[str, Any]:
    """The spec of a row's second stage; the text is that of seed 1, and each stage keeps its weights of least dev loss."""
    width = row.heads * row.head
    shape = {"heads": row.heads, "width": width, "feed_forward": 4 * width, "dropout": row.dropout}
    changes = {"train": row.train, "groups": row.groups, "learning_rate": RATES.get(width, 3e-3)}
    changes |= {f"model.{name}": value for name, value in shape.items()}
    changed = study.changed(settings, {f"grouping.translation.{name}": value for name, value in changes.items()})
    rows = runs.Rows(changed, subjects.TRANSLATION, row.seed, 1)
    one, two = ({**plan, "average": 0, "evaluate_every": max(1, plan["steps"] // 6)} for plan in rows.plans)
    rows.plans = one, two
    form = rows.constraint(weight=row.strength * rows.chosen["weight"], **({"beta": 0.0} if row.groups == 1 else {}))
    made = {
        runs.VANILLA: rows.whole,
        runs.GHT: lambda: rows.whole(form),
        runs.PS: lambda: rows.pruned(form),
        runs.RANDOM: lambda: rows.second(rows.first(form), None, rows.cut("random", draw=0)),
        runs.AT_START: rows.few_from_start,
    }
    return made[row.method]()


def sizes() -> list[Row]:
    """Vanilla by the size of the training text, without dropout."""
    return [Row(runs.VANILLA, size, 0.0) for size in SIZES]


def strengths(train: int, dropout: float) -> list[Row]:
    """Vanilla, and GHT by the strength of its constraint."""
    return [Row(runs.VANILLA, train, dropout), *(Row(runs.GHT, train, dropout, factor) for factor in STRENGTHS)]


def main(train: int, dropout: float, strength: float, seeds: int) -> list[Row]:
    """The rows that claims are judged by: the paper's two methods first, seed after seed, then the controls."""
    return [_of(method, train, dropout, strength, seed=seed)
            for part in (MAIN[:3], MAIN[3:]) for seed in range(1, seeds + 1) for method in part]  # fmt: skip


def numbers(train: int, dropout: float, strength: float, seeds: int) -> list[Row]:
    """Other numbers of groups, and sixteen heads in eight groups."""
    shapes = [(8, 16, runs.VANILLA), *((8, 16, method) for method in (runs.GHT, runs.PS)), *((4, 8, m) for m in MAIN[1:3])]
    shapes += [(1, 8, runs.GHT), (1, 8, runs.PS), (8, 8, runs.GHT)]
    return [_of(method, train, dropout, strength, groups=groups, heads=heads, seed=seed)
            for groups, heads, method in shapes for seed in range(1, seeds + 1)]  # fmt: skip


def _of(method: str, train: int, dropout: float, strength: float, **other: int) -> Row:
    without = method in (runs.VANILLA, runs.AT_START)
    return Row(method, train, dropout, 0.0 if without else strength, **other)


def more_heads(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Any]]:
    """Sixteen heads as in the paper's figure 3, on the text of notebook 04: vanilla, and GHT with eight groups."""
    changed = study.changed(settings, {"grouping.translation.model.heads": settings["grouping"]["more_heads"]})
    rows = runs.Rows(changed, subjects.TRANSLATION, seed, 1)
    return {runs.VANILLA: rows.whole(), runs.GHT: rows.whole(rows.constraint(groups=8))}


def tight(settings: Mapping[str, Any], seed: int, kind: str = subjects.TRANSLATION) -> dict[str, dict[str, Any]]:
    """A task of notebook 04 with ten times the weight, at which toy heads are grouped: vanilla, GHT and GHT-PS."""
    return _tight(settings, seed, kind).main()


def without_parts(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Any]]:
    """Rows of the paper's ablation (table 3) of what `tight` trains."""
    every = _tight(settings, seed, subjects.TRANSLATION).ablations()
    return {name: every[name] for _, name, _ in NEEDED}


def lighter(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Any]]:
    """GHT-PS of `tight` with feed-forward layers half as wide, the paper's LITE."""
    return {runs.LITE: _tight(settings, seed, subjects.TRANSLATION).peers()[runs.LITE]}


def longer_after(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, Any]]:
    """Of `tight` vanilla and GHT-PS, with four times as many steps after the same first stage."""
    share = settings["grouping"]["first"]
    times = share + 4 * (1 - share)
    steps = round(times * settings["grouping"]["translation"]["steps"])
    more = study.changed(settings, {"grouping.translation.steps": steps, "grouping.first": share / times})
    return {name: row for name, row in tight(more, seed).items() if name != runs.GHT}


def _tight(settings: Mapping[str, Any], seed: int, kind: str) -> runs.Rows:
    return runs.Rows(study.changed(settings, {"grouping.weight": 10 * settings["grouping"]["weight"]}), kind, seed, 1)


def made_table(rows: Mapping[int, Mapping[str, Mapping[str, Any]]]) -> pd.DataFrame:
    """What is made already of `more_heads` or `tight` by seed: method, seed, and what is measured; empty for fewer than two."""
    recipes = {(name, seed): measured(one, name) for seed, of_seed in rows.items() for name, one in of_seed.items()}
    made = {place: recipe for place, recipe in recipes.items() if recipe.made()}
    if len({seed for _, seed in made}) < 2:
        return pd.DataFrame()  # no interval yet
    return pd.DataFrame(
        {"method": name, "seed": seed} | values.read(recipe.results / FILE) for (name, seed), recipe in made.items()
    )


def paper_heads(row: Row) -> Row:
    """The row with heads of 64 numbers."""
    return replace(row, head=64)


# --- what is measured ------------------------------------------------------------------------------------------------


def recipe(settings: Mapping[str, Any], row: Row) -> study.Recipe:
    """The recipe of what is measured on a row; its two stages are trained first."""
    return measured(spec(settings, row), ", ".join(f"{name} {value}" for name, value in asdict(row).items()))


def measured(spec: Mapping[str, Any], label: str) -> study.Recipe:
    """The recipe of what is measured on a run of two stages."""
    stages = runs.stages(spec)
    return MEASURED.recipe(*(runs.run(stage, f"{label}, stage {number}") for number, stage in enumerate(stages, 1)), beam=1)


def _measure(stages: Sequence[subjects.Subject], beam: int) -> dict[str, float]:
    """Losses without dropout, the score of the first test set, and how grouped the heads are at the end of stage 1."""
    first, last = stages
    losses = {
        "train_loss": training.dev_loss(last.model, last.batched(last.train, 4096, len(last.dev))),
        "dev_loss": training.dev_loss(last.model, last.held_out(4096)),
    }
    split = last.tests[0]  # of a translator of Europarl its debates
    counted = last.statistics(last.put_out(last.model, split, beam), split)
    scores = {metric: score for metric, (score, _, _) in last.interval(counted, None, 0).items()}
    return losses | scores | (grouping(first.run) if first.run else {})


def grouping(run: study.Recipe) -> dict[str, float]:
    """Means over attentions at the end of a stage 1: silhouette, Dunn index, and formed (`tightness`)."""
    table = tightness(run.spec, run.spec["watch"]["groups"])
    return table[["silhouette", "dunn", "formed"]].mean().to_dict()


MEASURED = Analysis("grouping in its regime", 1, _measure)


def table(settings: Mapping[str, Any], rows: Iterable[Row]) -> pd.DataFrame:
    """What is made already of rows, one a line: the columns of `Row`, then what is measured; of a stage 1 alone `grouping`."""
    lines = []
    for row in rows:
        whole, first = recipe(settings, row), runs.run(runs.stages(spec(settings, row))[0])
        if whole.made():
            lines.append(asdict(row) | values.read(whole.results / FILE))
        elif first.made():
            lines.append(asdict(row) | grouping(first))
    return pd.DataFrame(lines)


CLAIMS = (  # a row, what it is held against, the difference in BLEU that it has to exceed
    (runs.GHT, runs.VANILLA, 0.0),
    (runs.PS, runs.VANILLA, -0.5),
    (runs.PS, runs.RANDOM, 0.0),
    (runs.PS, runs.AT_START, 0.0),
)

NEEDED = (  # likewise, of `without_parts`, in the order in which they are trained
    (runs.PS, runs.RANDOM, 0.0),
    (runs.PS, runs.NO_CONSTRAINT, 0.0),
    (runs.GHT, runs.NO_HOMOGENISATION, 0.0),
    (runs.GHT, runs.NO_DIVERSIFICATION, 0.0),
    (runs.PS, runs.AT_START, 0.0),
)

LIGHT = ((runs.LITE, runs.VANILLA, -0.5),)


def judged(table: pd.DataFrame, compared: Sequence[tuple[str, str, float]] = CLAIMS, score: str = "BLEU") -> pd.DataFrame:
    """Differences in a score paired by seed, of the rows of one regime: method, against, bound, change with its ends, verdict.

    Intervals are t intervals over trainings, p-values are those of the bound, by Holm over all claims: one that has no test yet
    counts as one that finds nothing.
    """
    methods = dict.fromkeys(name for claim in compared for name in claim[:2])
    scores = table.pivot(index="seed", columns="method", values=score).reindex(columns=[*methods])
    rows = []
    for method, against, bound in compared:
        gaps = (scores[method] - scores[against]).dropna()
        change, low, high, seeds = (np.nan, np.nan, np.nan, 0) if gaps.empty else intervals.over_runs(gaps)
        p = intervals.p_value(change, low, high, bound, seeds) if seeds > 1 else np.nan
        rows.append({"method": method, "against": against, "bound": bound, "seeds": seeds, "change": change, "low": low,
                     "high": high, "p": p})  # fmt: skip
    claims = pd.DataFrame(rows)
    claims["p_holm"] = intervals.holm(claims.p.fillna(1.0))
    sides = np.where(claims.change > claims.bound, "holds", "does not hold")
    return claims.assign(verdict=np.where(claims.p_holm < 0.05, sides, "cannot tell"))
