"""Tables of notebook 06: do the measures agree, which predicts what, how stable are ranks, how is it best to choose heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.drawing import KIND_TITLES
from helpers.experiments import pruning
from helpers.heads.families import KINDS
from helpers.measures import measured, trainings
from helpers.measures.matching import MATCHES, carried, matched
from helpers.measures.ranks import correlation, rank_agreement
from helpers.measures.removal import RANDOM
from helpers.measures.table import TRUTH, compared
from helpers.methods import coreference, grouping, l0
from helpers.methods.contest import runs
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals, scoring
from helpers.study import layout

Trained = tuple[str, int]  # a model's name and seed
SMALL = 4  # heads of a layer, fewer of which are no ranking
SURE = 0.995  # a larger correlation counts as this one, where Fisher's z has no end
TRUTHS = (TRUTH, runs.SURVIVAL)
EVERY = ", all kinds"  # the ending of a model's name whose heads of all kinds are in question
OTHER_TEXT = "other sentences, same model"
TRAINED = "L0 (trained)"  # the choice that L0 makes while it trains


def large(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The heads of a kind in layers that have enough of them to be ranked; none if there are no such layers."""
    part = table[table.index.isin([kind], level="kind")]
    return part[part.groupby(level=["kind", "layer"])[part.columns[0]].transform("size") >= SMALL]


def _varied(*parts: pd.DataFrame) -> list[str]:
    """The measures to compare that some tables all have, and that vary in each; none of no heads."""
    return [name for name in compared(parts[0]) if all(name in part and part[name].nunique() > 1 for part in parts)]


def _within_layers(one: pd.Series, other: pd.Series, kind: str) -> float:
    return correlation(one, other, kind, within_layer=True, repeats=1)["rho"]


def distinct(tables: Mapping[Trained, pd.DataFrame]) -> dict[Trained, pd.DataFrame]:
    """Each trained model once: of several sweeps from one model, whose measured columns are the same, the last counts."""
    found: dict[tuple, Trained] = {}
    for (name, seed), table in tables.items():
        found[seed, *table[TRUTH]] = name, seed
    return {trained: tables[trained] for trained in found.values()}


def over_models(values: Mapping[Trained, float]) -> dict[str, float]:
    """Mean over trainings with its t interval: over seeds within each model where each has several, else over models.

    Where some models alone have several seeds, each model counts once, by the mean of its seeds.

    Returns
    -------
    dict
        rho, low, high, models (how many values the interval is over), over.
    """
    clipped = pd.Series(values, dtype=float).clip(-SURE, SURE)
    found = _over_trainings(intervals.fisher(clipped))
    return found | {name: float(np.tanh(found[name])) for name in ("rho", "low", "high")}


def _over_trainings(values: pd.Series) -> dict[str, Any]:
    """What `over_models` returns, of values on (model, seed) as they are."""
    values = values.dropna()
    if values.empty:
        return {"rho": np.nan, "low": np.nan, "high": np.nan, "models": 0, "over": intervals.MODELS}
    grid = values.unstack(0)  # seeds in rows, models in columns
    several = grid.count().min() > 1
    mean, low, high, count = intervals.over_runs(grid.to_numpy() if several else grid.mean().to_numpy())
    return {"rho": mean, "low": low, "high": high, "models": count, "over": _over(several)}


def _over_heads(tables: Mapping[Trained, pd.DataFrame], one: str, other: str, kind: str, within: bool = True) -> dict[str, Any]:
    """Where there is one trained model alone, an interval over its heads in place of one over models."""
    if len(tables) > 1:
        return {}
    part = large(next(iter(tables.values())), kind)
    found = correlation(part[one], part[other], kind, within_layer=within, repeats=1000)
    return {"low": found["low"], "high": found["high"], "over": intervals.HEADS}


def _over(several: bool) -> str:
    """What t intervals of `over_models` are over: seeds, each of which has a text of its own, or models."""
    return intervals.TEXTS if several else intervals.MODELS


def agreement(tables: Mapping[Trained, pd.DataFrame], differ: pd.DataFrame | None = None, within: bool = True) -> pd.DataFrame:
    """Rank correlation of every two measures, by kind of attention: mean over trainings with interval.

    Parameters
    ----------
    differ : pandas.DataFrame, optional
        `helpers.measures.measured.effects_that_differ` of these models.
    within : bool
        Whether ranks are within layers, or else over all layers.

    Returns
    -------
    pandas.DataFrame
        kind, one, other, rho, low, high, models, over; shown: False for correlations with the loss without a head where less
        than half of the heads have an effect that differs from zero.
    """
    rows, tables = [], distinct(tables)
    for kind in KINDS:
        matrices = {}
        for trained, table in tables.items():
            part = large(table[compared(table)], kind).dropna(axis=1, how="all")
            if len(part):
                matrices[trained] = rank_agreement(part, kind) if within else part.corr(method="spearman")
        for one, other in combinations(compared(name for matrix in matrices.values() for name in matrix), 2):
            found = {t: m.loc[one, other] for t, m in matrices.items() if one in m and other in m}
            if found:
                carried_by = _shown(differ, kind, found) if TRUTH in (one, other) else True
                told = over_models(found) | _over_heads(tables, one, other, kind, within)
                rows.append({"kind": kind, "one": one, "other": other, **told, "shown": carried_by})
    return pd.DataFrame(rows)


def _shown(differ: pd.DataFrame | None, kind: str, trainings: Iterable[Trained]) -> bool:
    """Whether a correlation with the loss without a head has something to go with, over all trainings that it is of."""
    if differ is None:
        return True
    models = [(model.removesuffix(EVERY), seed) for model, seed in trainings]  # one model may be swept twice
    part = differ[differ.index.droplevel("kind").isin(models)]
    return measured.shown(part, kind)


def predictors(
    tables: Mapping[Trained, pd.DataFrame],
    seconds: Mapping[Trained, Mapping[str, float]],
    differ: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """How well each measure predicts the loss without a head, and how long L0 keeps it.

    Parameters
    ----------
    differ : pandas.DataFrame, optional
        As of `agreement`.

    Returns
    -------
    pandas.DataFrame
        kind, truth, heads ("within layers" or "all heads"), measure, rho, low, high, models; cost: seconds that the measure
        took, in units of what gradient importance per example took for the same model (mean); over; shown, as of `agreement`.
    """
    rows, tables = [], distinct(tables)
    for kind, truth, within in product(KINDS, TRUTHS, (True, False)):
        found: dict[str, dict[Trained, float]] = {}
        for trained, table in tables.items():
            part = large(table, kind)
            names = _varied(part)
            for measure in (name for name in names if truth in names and name != truth):
                one = correlation(part[truth], part[measure], kind, within_layer=within, repeats=1)["rho"]
                found.setdefault(measure, {})[trained] = one
        for measure, values in found.items():
            spent = [s[measure] / s["gradient, example"] for t, s in seconds.items() if t in values and measure in s]
            row = {"kind": kind, "truth": truth, "heads": "within layers" if within else "all heads", "measure": measure}
            cost = float(np.mean(spent)) if spent else np.nan
            told = {"cost": cost, "shown": truth != TRUTH or _shown(differ, kind, values)}
            rows.append(row | over_models(values) | _over_heads(tables, truth, measure, kind, within) | told)
    return pd.DataFrame(rows)


def reliability(halves: Mapping[Trained, pd.DataFrame]) -> pd.DataFrame:
    """How much each measure agrees with itself on other texts: rank correlation within layers of two halves.

    Returns
    -------
    pandas.DataFrame
        kind, measure, compared, rho, low, high, models, over; of the whole set of texts, which is twice as large as a half:
        reliability with reliability_low and reliability_high (`stepped_up`), and bound, its root: no correlation of the measure
        with anything measured on other texts can be larger but by chance (Spearman 1904).
    """
    rows, halves = [], distinct(halves)
    for kind in KINDS:
        found: dict[str, dict[Trained, float]] = {}
        for trained, table in halves.items():
            one, other = (large(table.xs(half, level="half"), kind) for half in (0, 1))
            for measure in _varied(one, other):
                found.setdefault(measure, {})[trained] = _within_layers(one[measure], other[measure], kind)
        for measure, values in found.items():
            found_rho = over_models(values)
            row = {"measure": measure, "kind": kind, "compared": OTHER_TEXT, **found_rho}
            for name, end in (("reliability", "rho"), ("reliability_low", "low"), ("reliability_high", "high")):
                row[name] = float(stepped_up(found_rho[end]))
            rows.append(row | {"bound": float(np.sqrt(max(row["reliability"], 0.0)))})
    return pd.DataFrame(rows)


SAME, OTHER = "the same sentences", "other sentences"


def same_and_other_sentences(halves: Mapping[Trained, pd.DataFrame], differ: pd.DataFrame | None = None) -> pd.DataFrame:
    """Does a measure go with the loss without a head only where both are measured on the same sentences?

    Rank correlation within layers, on either half of the texts with itself, and on each half with the other; mean of the two
    ways, then over trainings. Both rest on as many sentences, so that what is left of their difference is owed to sharing them.

    Parameters
    ----------
    differ : pandas.DataFrame, optional
        As of `agreement`.

    Returns
    -------
    pandas.DataFrame
        kind, measure, sentences ("the same sentences" or "other sentences"; "difference": same minus other, each training with
        itself, its interval plain and not along Fisher's z), rho, low, high, models, over; shown, as of `agreement`.
    """
    rows, halves = [], distinct(halves)
    for kind in KINDS:
        found: dict[str, dict[Trained, tuple[float, float]]] = {}
        for trained, table in halves.items():
            parts = [large(table.xs(half, level="half"), kind) for half in (0, 1)]
            names = _varied(*parts)
            for measure in (name for name in names if TRUTH in names and name != TRUTH):
                found.setdefault(measure, {})[trained] = _both_ways(parts, measure, kind)
        for measure, values in found.items():
            told = {"shown": _shown(differ, kind, values)}
            same, other = ({trained: pair[at] for trained, pair in values.items()} for at in (0, 1))
            apart = _over_trainings(pd.Series(same, dtype=float) - pd.Series(other, dtype=float))
            for name, row in ((SAME, over_models(same)), (OTHER, over_models(other)), ("difference", apart)):
                rows.append({"kind": kind, "measure": measure, "sentences": name, **row, **told})
    return pd.DataFrame(rows, columns=["kind", "measure", "sentences", "rho", "low", "high", "models", "over", "shown"])


def _both_ways(parts: Sequence[pd.DataFrame], measure: str, kind: str) -> tuple[float, float]:
    """Mean correlation of a measure with the loss without a head on the same half, and on the other one."""

    def rho(one: int, other: int) -> float:
        return _within_layers(parts[one][TRUTH], parts[other][measure], kind)

    return (rho(0, 0) + rho(1, 1)) / 2, (rho(0, 1) + rho(1, 0)) / 2


def owed_to_sharing(table: pd.DataFrame) -> str:
    """In a sentence: by how much sharing sentences raises the correlation of gradients, estimates and the other measures.

    Parameters
    ----------
    table : pandas.DataFrame
        `same_and_other_sentences`; what is not `shown` is not counted.
    """
    found = table[table.shown.astype(bool) & table.sentences.isin([SAME, OTHER])]
    if found.empty:
        return "Nothing to compare: too few heads change the loss by their absence."
    signed, *patching = runs.ESTIMATES
    groups = {signed: signed} | dict.fromkeys(patching, "relevance patching")
    groups |= {name: "the two gradients" for name in found.measure if name.startswith("gradient") and name != signed}
    means = (
        found.groupby([found.measure.map(groups).fillna("the other measures"), "sentences"], sort=False).rho.mean().unstack()
    )
    said = [f"{name} {row[SAME]:.2f} on the same and {row[OTHER]:.2f} on the other half" for name, row in means.iterrows()]
    kinds = [KIND_TITLES[kind] for kind in found.kind.unique()]
    return f"Mean rank correlation with the loss without a head ({' and '.join(kinds)} heads): {'; '.join(said)}."


def stepped_up(rho, times: float = 2) -> np.ndarray:
    """Reliability of a measure `times` as long as those that correlate by `rho` (Spearman 1910, Brown 1910), from 0 on."""
    rho = np.maximum(np.asarray(rho, float), 0.0)
    return times * rho / (1 + (times - 1) * rho)


def matches(studied: Mapping[Trained, subjects.Subject], sentences: int) -> dict[tuple[Trained, Trained], pd.DataFrame]:
    """`helpers.measures.matching.match` of every two seeds of a model, on dev sentences of its first seed."""
    found = {}
    for name in dict.fromkeys(name for name, _ in studied):
        seeds = sorted(seed for other, seed in studied if other == name)
        several = [studied[name, seed] for seed in seeds]
        for last in range(1, len(seeds)):
            if all(one.run for one in several):
                runs = (one.run for one in several[: last + 1])
                tables = MATCHES.read(*runs, parser=several[0].parser, sentences=sentences)
            else:
                tables = matched(several[: last + 1], sentences)
            found |= {((name, seeds[i]), (name, seeds[last])): table for i, table in enumerate(tables)}
    return found


def match_recipes(settings: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]]) -> Iterator[study.Recipe]:
    """The analyses that `matches` reads."""
    starts: dict[str, dict[int, study.Recipe]] = {}
    for job in (job for job in jobs if "sweep" in job):
        starts.setdefault(job["name"], {})[job["seed"]] = training.trained(job["sweep"]["start"], job["name"])
    for made in starts.values():
        runs = [made[seed] for seed in sorted(made)]
        for last in range(1, len(runs)):
            yield MATCHES.recipe(*runs[: last + 1], sentences=settings["comparison"]["matched"])


def across_seeds(
    tables: Mapping[Trained, pd.DataFrame], matched: Mapping[tuple[Trained, Trained], pd.DataFrame]
) -> pd.DataFrame:
    """How stable a head's rank is between seeds: rank correlation within layers of heads that look alike, and of equal numbers.

    Returns
    -------
    pandas.DataFrame
        A row each (pair of trainings, measure, kind, compared): model, seeds ("1, 2"), measure, kind, compared, rho.
    """
    rows = []
    once = {(one[1], other[1], *tables[one][TRUTH], *tables[other][TRUTH]): (one, other) for one, other in matched}
    for one, other in once.values():  # as `distinct`: a model that is swept twice counts once
        heads = matched[one, other]
        for kind in KINDS:
            mine, theirs = large(tables[one], kind), large(tables[other], kind)
            for measure in _varied(mine, theirs):
                alike = carried(theirs[measure], heads[heads.index.isin([kind], level="kind")])
                for how, column in (("matched heads, other seed", alike), ("same index, other seed", theirs[measure])):
                    rho = _within_layers(mine[measure], column, kind)
                    rows.append((one[0].removesuffix(EVERY), f"{one[1]}, {other[1]}", measure, kind, how, rho))
    return pd.DataFrame(rows, columns=["model", "seeds", "measure", "kind", "compared", "rho"])


def stability(pairs: pd.DataFrame) -> pd.DataFrame:
    """`across_seeds` by measure, kind, compared: rho (mean over pairs), low, high (least, largest), models (pairs), over."""
    found = pairs.groupby(["measure", "kind", "compared"], sort=False).rho.agg(rho="mean", low="min", high="max", models="size")
    return found.reset_index().assign(over=intervals.SEEDS)


def likeness(matched: Mapping[tuple[Trained, Trained], pd.DataFrame]) -> pd.DataFrame:
    """How alike matched heads are, by model and kind of attention: mean cosine, and that of a matching with random weights."""
    names = {one for (one, _), _ in matched}  # a model that is swept twice counts once
    own = [found.assign(model=one) for ((one, _), _), found in matched.items() if one.removesuffix(EVERY) not in names - {one}]
    return pd.concat(own).groupby(["model", "kind"], sort=False)[["cosine", "chance"]].mean()


# --- the contest -----------------------------------------------------------------------------------------------------


def trained_on(job: Mapping[str, Any], subject: subjects.Subject, repeats: int) -> pd.DataFrame:
    """Every way to choose heads at one number of heads, all trained on alike: BLEU against the control.

    Returns
    -------
    pandas.DataFrame
        A row each (criterion, draw, test set): heads, bleu, change, low, high (paired bootstrap over sentences); above, with
        above_low and above_high: what it is above L0's own run (likewise); "layer 1" and on: encoder heads left there.
    """
    sweep = job["sweep"]
    columns = ["criterion", "draw", "test set", "heads", "bleu", "change", "low", "high", "above", "above_low", "above_high"]
    prices = sweep["settings"]["pruning"]["compared"]
    if list(sweep["kinds"]) != ["encoder"] or not prices:
        return pd.DataFrame(columns=columns)
    quality = pruning.quality(sweep, subject, pruning.draws(sweep, subject, 1, l0.runs.METHODS)).reset_index()
    known = quality[(quality.penalty == prices[0]) & ~quality.method.str.startswith("L0,")]
    chosen = []
    for number, row in enumerate(known.to_dict("records")):
        criterion = TRAINED if row["method"] == pruning.NAMES["l0"] else row["method"]
        draw = number if criterion == RANDOM else 0
        chosen.append((criterion, draw, row["test set"], row["heads"], sweep["runs"][row["run"]]))
    further, left = runs.contest(job).values(), known["heads"].iloc[0]
    chosen += [(spec["method"]["by"], 0, split, left, spec) for spec in further for split in subject.tests]

    def counted(spec: Mapping[str, Any], split: str) -> np.ndarray:
        hypotheses = outputs.read(l0.runs.run(spec), split, sweep["settings"]["pruning"]["beam"])
        return scoring.bleu_statistics(hypotheses, [pair.target for pair in subject.pairs(split)])

    others = [sweep["runs"][name] for name in ("control", f"L0 {prices[0]:g}")]
    held_against = {split: [counted(spec, split) for spec in others] for split in subject.tests}
    rows = []
    for criterion, draw, split, heads, spec in chosen:
        own = counted(spec, split)
        bleu = scoring.bleu_interval(own, None, 1)[0]
        change, above = (scoring.bleu_interval(own, other, repeats) for other in held_against[split])
        row = zip(columns, (criterion, draw, split, heads, bleu, *change, *above), strict=True)
        kept = {
            f"layer {at + 1}": len(left) for (kind, at), left in sorted(l0.runs.retained(spec).items()) if kind == "encoder"
        }
        rows.append({**dict(row), **kept})
    return pd.DataFrame(rows)


def shares(tables: Mapping[Trained, pd.DataFrame]) -> pd.DataFrame:
    """Share of each encoder layer in the summed losses without its single heads, on (model, seed), a column a layer from 0.

    Trainings whose sum is not above zero have none.
    """
    found = {place: table[TRUTH][table.index.isin(["encoder"], level="kind")] for place, table in tables.items()}
    found = {place: part.groupby(level="layer").sum() / part.sum() for place, part in found.items() if part.sum() > 0}
    return pd.DataFrame(found).T


def against_l0(parts: Mapping[Trained, pd.DataFrame]) -> pd.DataFrame:
    """Every criterion of a contest against L0 in each model, with p-values corrected for all of them.

    Parameters
    ----------
    parts : mapping of (model, seed) -> `trained_on`

    Returns
    -------
    pandas.DataFrame
        model, criterion, test set, heads; value (BLEU above L0's run, mean over seeds, several draws of a seed counting once),
        low, high, seeds, runs, over (seeds where there are several, else sentences; several draws of one seed have no
        interval); p, p_holm, family. L0 itself is no comparison.
    """
    frames = {place: part.assign(change=part.above, low=part.above_low, high=part.above_high) for place, part in parts.items()}
    table = over_seeds(frames, ("criterion", "test set"))
    table = table[table.criterion != TRAINED].reset_index(drop=True)
    return intervals.corrected(table, "value", ("low", "high"), table.runs.where(table.seeds > 1).to_numpy(float))


def nested(values: pd.Series) -> tuple[float, float, float, int]:
    """Mean over trainings and its t interval, of draws on seed: the wider of that over seeds' means and that over all draws.

    Means of few trainings may lie nearer to each other by chance than their draws allow; of one training nothing is known.

    Returns
    -------
    mean, low, high : float
    runs : int
        How many values the interval is over.
    """
    means = values.groupby(level="seed").mean()
    found, every = intervals.over_runs(means.to_numpy()), intervals.over_runs(values.to_numpy())
    more = every[0] - found[0]  # where seeds have different numbers of draws
    wider = len(means) > 1 and every[2] - every[1] > found[2] - found[1]
    return (found[0], every[1] - more, every[2] - more, every[3]) if wider else found


def over_seeds(parts: Mapping[Trained, pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    """Mean change over seeds by model and the columns `by`, with its t interval; a single seed keeps its own interval.

    Returns
    -------
    pandas.DataFrame
        model, `by`, heads (mean), value, low, high (of several draws `nested`), seeds, runs (that the interval is over), over.
    """
    whole = stacked(parts)
    found = trainings.over_seeds(whole, ("model", *by), {"change": ("value", "low", "high")}, ("heads",), keep=True)
    found["runs"] = found.seeds
    for place, part in whole.groupby(["model", *by], sort=False):
        if len(part) > part.seed.nunique() > 1:
            found.loc[place, ["value", "low", "high", "runs"]] = nested(part.set_index("seed").change)
    found["over"] = np.where(found.seeds > 1, intervals.TEXTS, intervals.SENTENCES)
    return found.reset_index()[["model", *by, "heads", "value", "low", "high", "seeds", "runs", "over"]]


def stacked(parts: Mapping[Trained, pd.DataFrame]) -> pd.DataFrame:
    """Tables of several trainings below one another, with columns model and seed."""
    return pd.concat([part.assign(model=name, seed=seed) for (name, seed), part in parts.items()], ignore_index=True)


def removed(
    jobs: Iterable[Mapping[str, Any]], tables: Mapping[Trained, pd.DataFrame] | None = None, entered: Sequence[str] = ()
) -> dict[Trained, pd.DataFrame]:
    """`helpers.methods.contest.runs.at_once` of the jobs that have it, by what they are called with their kinds, and seed.

    Parameters
    ----------
    tables, entered
        Head tables that have measures of others, and the names of these.
    """
    found = {}
    for job in filter(runs.removable, jobs):
        trained = called(job), job["seed"]
        names = [name for name in entered if tables and name in tables[trained]]
        found[trained] = runs.at_once(job, tables[trained][names] if tables and names else None)
    return found


def against(parts: Mapping[Trained, pd.DataFrame], others: Sequence[str] = (TRAINED, RANDOM)) -> pd.DataFrame:
    """Every criterion against some of them, over seeds, models as tasks: those with several seeds, if any has.

    Test sets of a training are no tasks of their own, for they share its chance: their mean counts.

    Returns
    -------
    pandas.DataFrame
        On criterion, columns by the other one: difference (BLEU, paired by seed), low, high (its t interval, `nested` of one
        model; nan for one seed), probability (that a run of the criterion is better than one of the other).
    """
    whole = stacked(parts)
    means = whole.groupby(["criterion", "seed", "model"]).change.mean().unstack(["model"])
    draws = whole.groupby(["criterion", "model", "seed", "draw"]).change.mean()  # over test sets
    rows = {}
    for criterion in dict.fromkeys(whole.criterion):
        row = {}
        for other in others:
            if criterion == other or other not in means.index:
                continue
            both = means.loc[criterion].notna() & means.loc[other].notna()
            if not both.to_numpy().any():
                continue
            tasks = both.sum()
            tasks = tasks[tasks > 1] if (tasks > 1).any() else tasks[tasks > 0]  # a single seed has no interval
            one, two = (means.loc[name, tasks.index].where(both[tasks.index]).to_numpy() for name in (criterion, other))
            apart = intervals.paired(one, two)
            if len(tasks) == 1:  # every draw with every one of the same seed
                pair = (draws.loc[name, tasks.index[0]].droplevel("draw").rename(name) for name in (criterion, other))
                apart = nested(pd.merge(*pair, on="seed").diff(axis=1).iloc[:, 1].mul(-1))
            row |= zip(((other, name) for name in ("difference", "low", "high")), apart, strict=False)
            row[other, "probability"] = intervals.improvement(one, two)
        rows[criterion] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("criterion")


def stored_as(job: Mapping[str, Any], first: int) -> str:
    """The name under which a job's head table is written: of the first seed "head_table_MODEL", of others with the seed."""
    every = "sweep" in job and list(job["sweep"]["kinds"]) != ["encoder"] and "+" not in job["name"]
    seed = f" seed {job['seed']}" if job["seed"] != first else ""
    return layout.tidy(f"head_table_{job['name']}" + (" all kinds" if every else "") + seed)


def called(job: Mapping[str, Any]) -> str:
    """A job's model as tables and figures name it."""
    if "sweep" not in job:
        return "dialogue summarizer" if "run" in job else job["name"]
    every = "" if list(job["sweep"]["kinds"]) == ["encoder"] else EVERY
    return subjects.title(job["name"]) + every


def along(parts: Mapping[Trained, pd.DataFrame], beside: str = "") -> pd.DataFrame:
    """Rise of the loss along the number of heads left, by model and criterion, as curves over seeds.

    L0 keeps other numbers of heads at every seed: between its own numbers each seed's curve is interpolated.

    Parameters
    ----------
    beside : str
        A criterion whose curve is taken from every other one of the same seed.

    Returns
    -------
    pandas.DataFrame
        model, criterion, heads, change, low, high (t interval over seeds; nan for one seed), measured (bool: every seed has
        this number itself).
    """
    rows = []
    for model in dict.fromkeys(model for model, _ in parts):
        own = {seed: part for (name, seed), part in parts.items() if name == model}
        least, most = max(p["heads"].min() for p in own.values()), min(p["heads"].max() for p in own.values())
        grid = np.unique(np.concatenate([part["heads"] for part in own.values()]))
        grid = grid[(grid >= least) & (grid <= most)] if most > least else np.array([least])
        every = [number for number in grid if all(number in set(part["heads"]) for part in own.values())]
        for criterion in dict.fromkeys(name for part in own.values() for name in part.criterion):
            lines = []
            for part in own.values():
                line, level = (part[part.criterion == name].groupby("heads").change.mean() for name in (criterion, beside))
                line = line.sub(level) if beside else line  # all criteria of a seed have its numbers of heads
                if len(line):
                    lines.append(intervals.at(line.index.to_numpy(float), line.to_numpy(), grid))
            if not np.isfinite(lines).any():
                continue  # one training alone has it, which kept other numbers of heads
            band = intervals.curve(np.array(lines)[:, None], grid).rename(columns={"point": "heads", "value": "change"})
            rows.append(band[["heads", "change", "low", "high"]].assign(criterion=criterion, model=model))
            rows[-1]["measured"] = band["heads"].isin(every)
    columns = ["model", "criterion", "heads", "change", "low", "high", "measured"]
    return pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)


# --- what heads of a kind are worth ------------------------------------------------------------------------------------


def studied_runs(
    settings: Mapping[str, Any], names: Sequence[str], jobs: Iterable[Mapping[str, Any]], seed: int
) -> dict[Trained, study.Recipe]:
    """The trained models of our own that are compared, once each: those of notebook 01, then those of jobs."""
    found = {}
    for name in names:
        found[subjects.title(name), seed] = training.trained(subjects.spec(settings, name, seed), f"{name}, seed {seed}")
    for job in (job for job in jobs if "text" not in job):
        label = f"{job['name']}, seed {job['seed']}"
        if "run" in job:
            found[called(job), job["seed"]] = coreference.runs.run(job["run"], label)
        elif "decoder" in job:
            found[called(job), job["seed"]] = grouping.runs.run(job["decoder"], label)
        elif "pretrained" not in job["sweep"]["start"]:
            found.setdefault((subjects.title(job["name"]), job["seed"]), training.trained(job["sweep"]["start"], label))
    return found


def effect_recipes(runs: Iterable[study.Recipe], few: int) -> Iterator[study.Recipe]:
    """The analyses that `worth_of_kinds` and `effects` read."""
    for run in runs:
        yield measured.KINDS_OFF.recipe(run, first=few)
        yield measured.WITHOUT.recipe(run, first=few)


def worth_of_kinds(runs: Mapping[Trained, study.Recipe], few: int) -> pd.DataFrame:
    """The rise of the loss with all heads of a kind off at once, without any training.

    Returns
    -------
    pandas.DataFrame
        On (model, seed, kind): heads, whole (loss with all heads, nats a token), loss (its rise), low, high, over.
    """
    parts = {place: measured.KINDS_OFF.read(run, first=few) for place, run in runs.items()}
    return pd.concat(parts, names=["model", "seed"]).assign(over=intervals.SENTENCES)


def effects(runs: Mapping[Trained, study.Recipe], few: int) -> pd.DataFrame:
    """`helpers.measures.measured.effects_that_differ` of models of our own."""
    return measured.effects_that_differ({place: measured.WITHOUT.read(run, first=few) for place, run in runs.items()})


# --- headline numbers of the first paper over seeds -------------------------------------------------------------------


def headline(job: Mapping[str, Any], subject: subjects.Subject, repeats: int) -> pd.DataFrame:
    """BLEU of a model and of its L0 runs, heads of each kind that stay, and `pruning.worth`: a row each (run, test set)."""
    drawn = pruning.draws(job["sweep"], subject, repeats)
    quality = pruning.quality(job["sweep"], subject, drawn).join(pruning.worth(job["sweep"], subject, drawn))
    quality = quality.reset_index()
    shown = quality[quality.run.isin(["start", "control", "floor"]) | (quality.method == "L0")]
    columns = ["run", "test set", "heads", *KINDS, "bleu", "low", "high", "change", "from_start", "worth", "share"]
    return shown.reindex(columns=columns).reset_index(drop=True)


def headlines(parts: Mapping[Trained, pd.DataFrame]) -> pd.DataFrame:
    """`headline` over seeds: mean with its t interval of every number, by model, run and test set."""
    values = {name: (name, f"{name}, low", f"{name}, high") for name in ("bleu", "change", "worth", "share")}
    counts = ("heads", "encoder", "decoder", "cross")
    found = trainings.over_seeds(stacked(parts), ("model", "test set", "run"), values, counts)
    shown = ["seeds", *counts, *(column for names in values.values() for column in names)]
    return found[shown].assign(over=intervals.TEXTS)


def each_training(parts: Mapping[Trained, pd.DataFrame], beside: str = RANDOM) -> pd.DataFrame:
    """`removed`, each training's change minus that of one criterion at the same number of heads, mean of draws.

    Returns
    -------
    pandas.DataFrame
        model, seed, criterion, heads, change (nats a token).
    """
    found = stacked(parts).groupby(["model", "seed", "criterion", "heads"], sort=False).change.mean().reset_index()
    level = found[found.criterion == beside].drop(columns="criterion").rename(columns={"change": "level"})
    found = found[found.criterion != beside].merge(level, on=["model", "seed", "heads"])
    return found.assign(change=found.change - found.level).drop(columns="level")


def collected(jobs: Iterable[Mapping[str, Any]], make: Callable[[Mapping[str, Any]], Any]) -> dict[Trained, Any]:
    """What `make` gives for each job, by model and seed."""
    return {(called(job), job["seed"]): make(job) for job in jobs}
