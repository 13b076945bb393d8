"""Which measure of heads predicts what removal does, and by which is it best to prune: what is run, and its tables.

A *job* (`helpers.methods.contest.runs.jobs`) is one trained model with its head table; of translators also a sweep, whose runs
remove heads by several criteria and train on. Tables of several jobs are mappings by (model, seed), or have these as columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.experiments import grouping as grouped
from helpers.experiments import pruning
from helpers.heads.families import KINDS
from helpers.measures import measured, trainings
from helpers.measures.ranks import correlation
from helpers.measures.removal import RANDOM
from helpers.measures.table import TRUTH, compared, named
from helpers.methods.contest import runs
from helpers.methods.coreference import runs as summarizers
from helpers.runs import subjects, training
from helpers.scores import intervals, scoring
from helpers.study import layout

Job = Mapping[str, Any]
Trained = tuple[str, int]  # a model's name and seed
Tables = Mapping[Trained, pd.DataFrame]
SMALL = 4  # heads of a layer, fewer of which are no ranking
SURE = 0.995  # a larger correlation counts as this one, where Fisher's z has no end
EVERY = ", all kinds"  # the ending of a model's name whose heads of all kinds are in question
TRAINED = "L0 (trained)"  # the choice that L0 makes while it trains
TITLES = {
    RANDOM: "random heads", "alpha_beta": "relevance, LRP αβ", "attnlrp": "relevance, AttnLRP", "L1 gates": "learned gates",
    "none": "no head removed", "EN-RU news": "toy EN-RU", "random, same layers": "random heads, same layers",
    "gradient, example, by layer": "gradient by layer (Michel et al.)",
}  # fmt: skip
EUROPARL = study.ROOT / "figures" / "natural" / "06_do_measures_agree" / "tables"  # published, of a translator
PRETRAINED = study.ROOT / "figures" / "pretrained"  # the same of SmolLM2
TESTS = {"test": "toy EN-RU", "europarl_test": "Europarl, debates"}
EN_FR = "EN-FR europarl"
SAME = "random, same layers"


# --- what is read ----------------------------------------------------------------------------------------------------


def recipes(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe]:
    """What the tables below read of all jobs of a study."""
    jobs = runs.jobs(settings, names, seed)
    for job in jobs:
        yield from runs.recipes(job)
    for run in trained_models(jobs).values():
        yield measured.WITHOUT.recipe(run, first=settings["relevance"])


def title(job: Job) -> str:
    """A job's model as tables and figures name it."""
    if "sweep" not in job:
        return "dialogue summarizer" if "run" in job else job["name"]
    every = "" if list(job["sweep"]["kinds"]) == ["encoder"] else EVERY
    return subjects.title(job["name"]) + every


def stored_as(job: Job, first: int) -> str:
    """The name under which a job's head table is written: of the first seed "head_table_MODEL", of others with the seed."""
    every = "sweep" in job and list(job["sweep"]["kinds"]) != ["encoder"] and "+" not in job["name"]
    seed = f" seed {job['seed']}" if job["seed"] != first else ""
    return layout.tidy(f"head_table_{job['name']}" + (" all kinds" if every else "") + seed)


def trained_models(jobs: Iterable[Job]) -> dict[Trained, study.Recipe]:
    """The trained models of our own that jobs are about, once each."""
    models = {}
    for job in jobs:
        label = f"{job['name']}, seed {job['seed']}"
        if "run" in job:
            models[title(job), job["seed"]] = summarizers.run(job["run"], label)
        elif "decoder" in job:
            models[title(job), job["seed"]] = grouped.runs.run(job["decoder"], label)
        elif "pretrained" not in job["sweep"]["start"]:
            models[subjects.title(job["name"]), job["seed"]] = training.trained(job["sweep"]["start"], label)
    return models


def distinct(tables: Tables) -> Tables:
    """Each trained model once: of several sweeps from one model, whose measured columns are the same, the last counts."""
    last: dict[tuple, Trained] = {}
    for (name, seed), table in tables.items():
        last[seed, *table[TRUTH]] = name, seed
    return {trained: tables[trained] for trained in last.values()}


# --- what do they predict? ------------------------------------------------------------------------


def effects(jobs: Iterable[Job], sentences: int) -> pd.DataFrame | None:
    """`differing` of models of our own; None where there are none."""
    frames = {trained: measured.WITHOUT.read(run, first=sentences) for trained, run in trained_models(jobs).items()}
    return differing(frames) if frames else None


def differing(frames: Tables) -> pd.DataFrame:
    """How many heads change the loss by their absence at all: what no measure can predict is not there.

    Of `helpers.measures.worth.leave_one_out`, on (model, seed, kind): heads, and how many differ: have an interval that
    excludes zero.
    """
    whole = pd.concat(frames, names=["model", "seed"])
    changed = (whole.low > 0) | (whole.high < 0)
    return changed.groupby(level=["model", "seed", "kind"], sort=False).agg(heads="size", differ="sum")


def predictors(tables: Tables, differ: pd.DataFrame | None = None) -> pd.DataFrame:
    """How well each measure predicts the loss without a head.

    Columns kind, truth, heads ("within layers"), measure, rho, low, high, models, over; shown: False where less than half of
    the heads have an effect that differs from zero (`differ`, as of `effects`).
    """
    rows, tables = [], distinct(tables)
    for kind in KINDS:
        rhos: dict[str, dict[Trained, float]] = {}
        for trained, table in tables.items():
            part = _large(table, kind)
            names = [name for name in compared(part) if part[name].nunique() > 1]
            for measure in (name for name in names if TRUTH in names and name != TRUTH):
                one = correlation(part[TRUTH], part[measure], kind, within_layer=True, repeats=1)["rho"]
                rhos.setdefault(measure, {})[trained] = one
        for measure, values in rhos.items():
            row = {"kind": kind, "truth": TRUTH, "heads": "within layers", "measure": measure}
            row |= over_models(values) | _over_heads(tables, TRUTH, measure, kind)
            rows.append(row | {"shown": _shown(differ, kind, values)})
    return pd.DataFrame(rows)


def over_models(values: Mapping[Trained, float]) -> dict[str, Any]:
    """Mean over trainings with its t interval: over seeds within each model where each has several, else over models.

    Where some models alone have several seeds, each model counts once, by the mean of its seeds. Keys are rho, low, high,
    models (how many values the interval is over) and over.
    """
    known = intervals.fisher(pd.Series(values, dtype=float).clip(-SURE, SURE)).dropna()
    if known.empty:
        return {"rho": np.nan, "low": np.nan, "high": np.nan, "models": 0, "over": intervals.MODELS}
    grid = known.unstack(0)  # seeds in rows, models in columns
    several = grid.count().min() > 1
    *ends, count = intervals.over_runs(grid.to_numpy() if several else grid.mean().to_numpy())
    rho, low, high = map(float, np.tanh(ends))
    return {"rho": rho, "low": low, "high": high, "models": count, "over": intervals.TEXTS if several else intervals.MODELS}


def _over_heads(tables: Tables, one: str, other: str, kind: str) -> dict[str, Any]:
    """Where there is one trained model alone, an interval over its heads in place of one over models."""
    if len(tables) > 1:
        return {}
    part = _large(next(iter(tables.values())), kind)
    interval = correlation(part[one], part[other], kind, within_layer=True, repeats=1000)
    return {"low": interval["low"], "high": interval["high"], "over": intervals.HEADS}


def _shown(differ: pd.DataFrame | None, kind: str, trained: Iterable[Trained]) -> bool:
    """Whether a correlation has something to go with: half of the heads differ from zero, over all trainings that it is of."""
    if differ is None:
        return True
    models = [(model.removesuffix(EVERY), seed) for model, seed in trained]  # one model may be swept twice
    part = differ[differ.index.isin([kind], level="kind") & differ.index.droplevel("kind").isin(models)]
    return bool(2 * part.differ.sum() >= part.heads.sum())


def _large(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The heads of a kind in layers that have enough of them to be ranked; none if there are no such layers."""
    part = table[table.index.isin([kind], level="kind")]
    return part[part.groupby(level=["kind", "layer"])[part.columns[0]].transform("size") >= SMALL]


# --- heads removed at once -------------------------------------------------------------------------------------------


def removed(jobs: Iterable[Job], tables: Tables, entered: Sequence[str] = ()) -> list[tuple[str, float, float]]:
    """What removing heads costs all trainings of the first model, by every measure and those of others: rows of `rises`.

    Trainings keep different numbers of heads: a share is their mean.
    """
    (first, _), heads, parts = next(iter(tables)), may_go(tables), {}
    name = first if set(heads.index.unique("kind")) == {"encoder"} else first + EVERY
    for job in (job for job in jobs if runs.removable(job) and title(job) == name):
        columns = tables[name, job["seed"]].reindex(columns=entered).dropna(axis=1)
        parts[job["seed"]] = runs.at_once(job, None if columns.empty else columns)
    table = pd.concat(parts, names=["seed", "row"])
    cut = [table.criterion, table.groupby("seed")["heads"].rank("dense")]
    gone = 1 - table["heads"].groupby(cut).transform("mean") / len(heads)
    return list(zip(table.criterion, gone, table.change, strict=True))


def may_go(tables: Tables) -> pd.DataFrame:
    """The table of the heads of the first model that are removed: all, or the encoder's."""
    (first, seed), heads = next(iter(tables.items()))
    return heads if (first + EVERY, seed) in tables else heads.loc[["encoder"]]


def rises(rows: Sequence[tuple[str, float, float]], model: str, names: Sequence[str]) -> pd.DataFrame:
    """Rise of the loss by % of heads gone, by these criteria: of a model's rows (criterion, share of heads gone, rise), and as
    published of SmolLM2 and Europarl. `SAME` is of the layers that the first criterion takes; with it Europarl is one training.

    Columns model, criterion, measure (in words), gone, rise, low, high: of the rows the mean, the least and the largest.
    """
    own = pd.DataFrame(rows, columns=["criterion", "share", "rise"]).groupby(["criterion", "share"], sort=False).rise
    own = own.agg(rise="mean", low="min", high="max").reset_index().assign(model=TITLES.get(model, model))
    both = pd.concat([own, smollm2(names[0])])
    start = both[["model", "criterion"]].drop_duplicates().assign(share=0.0, rise=0.0)  # no head gone costs nothing
    both = pd.concat([start, both], ignore_index=True).assign(gone=lambda each: (100 * each.share).round(1))
    if model != EN_FR:
        few = pd.read_csv(EUROPARL / ("layers.csv" if SAME in names else "rises.csv")).query("model == @EN_FR")
        few = few[(few.criterion != SAME) | (names[0] in set(few.criterion))]  # of another ranking there is none
        if SAME not in names:  # three trainings in place of its one, but for the fewest heads
            few = pd.concat([few.query("gone in (5, 10, 20)"), pd.read_csv(pruning.REGIMES / "europarl_rises.csv")])
        europarl = few.sort_values("gone").assign(model="Europarl, encoder")
        both = pd.concat([both, europarl], ignore_index=True)
    both["measure"] = both.criterion.map(way)
    columns = ["model", "criterion", "measure", "gone", "rise", "low", "high"]
    return pd.concat([both[both.criterion == name] for name in names])[columns]


def smollm2(by: str) -> pd.DataFrame:
    """What removing heads of SmolLM2 costs, as published, by share of heads gone; `SAME` is of the layers of `by`.

    Of random heads low and high are the ends of three draws, else those of intervals over passages.
    """
    names = ("removed_at_once", "drawn_at_once", "gates")
    cut = pd.concat([pd.read_csv(PRETRAINED / f"{name}.csv") for name in names], ignore_index=True).query("heads > 0")
    cut["criterion"] = cut.by.fillna(cut.choice).replace({"gates": "L1 gates"})
    same = cut.random == "same number a layer"
    cut = cut[~same | (cut.criterion == by)].assign(model="SmolLM2", share=cut["heads"] / 270)
    cut = cut.assign(criterion=cut.criterion.mask(same, SAME)).drop_duplicates(["criterion", "draw", "heads"])
    for end in ("change_low", "change_high"):
        cut[end] = cut[end].mask(cut.random.notna(), cut.change)
    each = cut.groupby(["model", "criterion", "share"], sort=False)
    return each.agg(rise=("change", "mean"), low=("change_low", "min"), high=("change_high", "max")).reset_index()


def ranked(names: Sequence[str], own: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of measures with the loss without a head, within layers: of SmolLM2, Europarl's encoder and `own`."""
    europarl = pd.read_csv(pruning.REGIMES / "europarl_ranks.csv").assign(model="Europarl, encoder")
    own = own[own.shown].assign(model="toy models, " + own.kind.replace("cross", "cross-attention"))
    both = pd.concat([pd.read_csv(PRETRAINED / "correlations.csv").assign(model="SmolLM2"), europarl, own])
    both = pd.concat([both[both.measure == name] for name in names])
    return both.assign(way=both.measure.map(way))[["model", "measure", "way", "rho", "low", "high"]]


# --- the contest: models that train on -------------------------------------------------------------------------------


def contested(jobs: Iterable[Job]) -> list[Job]:
    """Jobs whose sweep of encoder heads has rivals of L0."""
    sweeps = [job for job in jobs if "sweep" in job and list(job["sweep"]["kinds"]) == ["encoder"]]
    return [job for job in sweeps if job["sweep"]["settings"]["pruning"]["compared"]]


def by_l0(job: Job) -> tuple[study.Recipe, list[tuple[str, int, int]]]:
    """The run in which L0 prunes at the price that is compared, and the heads that it closes."""
    sweep = job["sweep"]
    spec = sweep["runs"][f"L0 {sweep['settings']['pruning']['compared'][0]:g}"]
    return pruning.pruned(spec), _gone(job, spec)


def cut_and_train(job: Job, gone: Iterable[tuple[str, int, int]]) -> study.Recipe:
    """The run that removes some heads of a job's model, then trains the rest as L0 trained.

    It is the study's own where one removes the very same heads, else a new one.
    """
    known, gone = job["sweep"]["runs"] | runs.contest(job), sorted(gone)
    for spec in known.values():
        if spec["method"]["name"] in ("cut", "map") and _gone(job, spec) == gone:
            return pruning.pruned(spec)
    method = {"name": "these", "heads": gone}
    return pruning.pruned(known["control"] | {"method": method}, f"{pruning.title(job['sweep'])}: {len(gone)} heads cut")


def _gone(job: Job, spec: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The heads that a run of a job's sweep removed."""
    whole, kept = pruning.retained(job["sweep"]["runs"]["control"]), pruning.retained(spec)
    return sorted((*place, head) for place, every in whole.items() for head in set(every) - set(kept[place]))


def scored(job: Job, entries: Sequence[tuple[str, study.Recipe]], parser: str, repeats: int) -> pd.DataFrame:
    """BLEU of runs from a job's model, each with the criterion that chose its heads, the first one L0's.

    A row each (criterion, draw, test set): heads, bleu, change, low, high (against the unpruned model, paired bootstrap over
    sentences); above, with above_low and above_high: what it is above the first run (likewise); "layer 1" and on: heads left.
    """
    sweep = job["sweep"]
    subject, beam = pruning.subject_of(sweep, parser), sweep["settings"]["pruning"]["beam"]
    others = {"change low high": sweep["runs"]["control"], "above above_low above_high": entries[0][1].spec}
    rows = []
    for split in subject.tests:
        against = {names: pruning.statistics(subject, spec, split, beam) for names, spec in others.items()}
        for number, (criterion, run) in enumerate(entries):
            kept = {at: len(stay) for (kind, at), stay in sorted(pruning.retained(run.spec).items()) if kind == "encoder"}
            mine, draw = pruning.statistics(subject, run.spec, split, beam), number if criterion == RANDOM else 0
            row = {"criterion": criterion, "draw": draw, "test set": split, "heads": sum(kept.values())}
            row["bleu"] = scoring.bleu_interval(mine, None, 1)[0]
            for names, other in against.items():
                row |= zip(names.split(), scoring.bleu_interval(mine, other, repeats), strict=True)
            rows.append(row | {f"layer {at + 1}": left for at, left in kept.items()})
    return pd.DataFrame(rows)


def over_seeds(table: pd.DataFrame, value: str = "change", ends: tuple[str, str] = ("low", "high")) -> pd.DataFrame:
    """Mean change over seeds by model, criterion and test set, with its t interval; a single seed keeps its own interval.

    `value` is the column of `scored` that is averaged, `ends` those of a single seed's interval. Columns model, criterion,
    test set, heads (mean), value, low, high (of several draws `nested`), seeds, runs (that the interval is over), over.
    """
    whole = table.reset_index(["model", "seed"]).drop(columns=[name for name in ("low", "high") if name not in ends])
    whole = whole.rename(columns=dict(zip(ends, ("low", "high"), strict=True)))
    by = ["model", "criterion", "test set"]
    means = trainings.over_seeds(whole, by, {value: ("value", "low", "high")}, ("heads",), keep=True)
    means["runs"] = means.seeds
    for place, part in whole.groupby(by, sort=False):
        if len(part) > part.seed.nunique() > 1:
            means.loc[place, ["value", "low", "high", "runs"]] = trainings.nested(part.set_index("seed")[value])
    means["over"] = np.where(means.seeds > 1, intervals.TEXTS, intervals.SENTENCES)
    return means.reset_index()[[*by, "heads", "value", "low", "high", "seeds", "runs", "over"]]


def beside_l0(means: pd.DataFrame, above: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """BLEU minus that of what L0 prunes (`over_seeds`), here and on Europarl's debates as published."""
    l0 = pd.concat([means, pd.read_csv(EUROPARL / "contest.csv")]).query("criterion == @TRAINED")
    whole = l0.assign(criterion="none", value=-l0.value, low=-l0.high, high=-l0.low)  # the unpruned model against L0
    both = pd.concat([whole, above, pd.read_csv(EUROPARL / "contest_against_l0.csv"), same_layers(l0)])
    both = pd.concat([both[both.criterion == name] for name in names]).query("`test set` != 'newstest2014'")
    place = both["test set"].replace(TESTS) + ",\n" + both["heads"].map("{:.3g} heads left".format)
    both = both.assign(way=both.criterion.map(way), place=place)
    return both[["model", "criterion", "test set", "way", "place", "value", "low", "high"]]


def same_layers(l0: pd.DataFrame) -> pd.DataFrame:
    """Random heads of the layers of the gradient's against L0, as published of the toy: its row of `l0` with this."""
    matched = pd.read_csv(pruning.REGIMES / "matched.csv", index_col=["criterion", "seed"])
    draws = matched.loc["gradient, example"].query("draw > 0").BLEU
    found = trainings.nested(draws - matched.query("draw == 0").loc["L0"].BLEU)
    row = dict(zip(["value", "low", "high", "runs"], found, strict=True))
    return l0[l0.model == "EN-RU news"].assign(criterion=SAME, **row)


def against_random(table: pd.DataFrame) -> pd.DataFrame:
    """Every criterion of a contest against random heads of the same training, of which every draw counts.

    On (model, test set, criterion): value (BLEU above random heads, mean over trainings), low, high and runs (`nested`; no
    interval for one training), p_holm (corrected over the criteria of the model and test set), over.
    """
    parts = {}
    for place, part in table.groupby(["model", "test set"], sort=False):
        changes = part.reset_index("seed").set_index(["criterion", "seed"]).change
        draws, rows = changes[RANDOM], {}
        for criterion in (name for name in dict.fromkeys(part.criterion) if name != RANDOM):
            rows[criterion] = trainings.nested(draws.rsub(draws.index.map(changes[criterion])))
        gains = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high", "runs"])
        p = intervals.p_value(gains["value"], gains.low, gains.high, trainings=gains.runs.where(gains.runs > 1))
        parts[place] = gains.assign(p_holm=intervals.holm(p)).sort_values("value", ascending=False)
    return pd.concat(parts, names=["model", "test set", "criterion"]).assign(over=intervals.TEXTS)


def way(criterion: str) -> str:
    """What people call a criterion of a contest."""
    return TITLES.get(criterion) or named(criterion)
