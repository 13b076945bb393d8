"""Pruning by L0 gates (Voita et al. 2019, section 6): what is trained once heads are gated or gone, and the tables of it.

A *run* is described by a spec: a converged model (the spec of its training), the attention kinds in question, a method, a
training plan. It leaves a model whose heads are removed for good. A *sweep* is all runs that start from one model: gates at
several prices, further training with all heads (the unpruned model), all heads removed (the floor), head maps trained from
scratch, heads chosen in other ways. Layers and heads count from 0 in tables.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import hypergeom

from helpers import corpora, gpu, heads, measures, models, papers, study, training
from helpers.heads.families import ADDRESS, KINDS
from helpers.measures import removal
from helpers.measures.functions import LABELS
from helpers.measures.removal import RANDOM
from helpers.methods import l0
from helpers.runs import outputs, subjects
from helpers.runs import training as translators
from helpers.scores import intervals, scoring
from helpers.study import StudyError

SHARE, KEPT = "5 % of worth", 0.95  # what the verdict on pruning accepts, of the worth of all encoder heads
NATURAL = study.ROOT / "figures" / "natural" / "03_l0_pruning" / "tables"  # published
REGIMES = study.ROOT / "figures" / "regimes"  # tables of workflow/overnight.py
SHALLOW, DEEP = "Europarl, decoder of one layer", "Europarl, decoder of three layers"
EVEN = "EN-RU news, decoder of six layers"
UNDECIDED = (0.05, 0.95)  # P(g = 0) of a gate that is neither open nor closed
# methods of the paper's section; notebook 06 compares all of them
NAMES = {"none": "further training", "floor": "no encoder attention", "l0": "L0", "scratch": "from scratch"}
CRITERIA = (
    "confidence", "relevance", "gradient, example", "gradient, token", "gradient, example, by layer",
    "gradient, token, by layer", "leave-one-out",
)  # fmt: skip
CALLED = {"relevance": "alpha_beta"}  # settings, specs and stored tables have another name -> the measure


def called(criterion: str) -> str:
    """The measure that a criterion of settings and specs is, or "random"."""
    return CALLED.get(criterion, criterion)


# --- what there is to do ---------------------------------------------------------------------------------------------


def run_spec(settings: Mapping[str, Any], start: Mapping[str, Any], kinds: Sequence[str], method: dict, seed: int) -> dict:
    """Everything that a pruning run depends on.

    `start` is the spec of the converged model (`helpers.runs.subjects.spec` or `pretrained`), `kinds` the attention kinds whose
    heads are in question: with the encoder alone its layers are trained and all else is frozen (section 6.2). `method` is
        ``{"name": "l0", "penalty", "start", "rate", "temperature"}``: gates and their price (section 6.1);
        ``{"name": "none"}``: further training with all heads, the control;
        ``{"name": "floor"}``: all heads removed, then training;
        ``{"name": "cut", "like": SPEC, "by": CRITERION, "draw", "few"}``: as many heads removed as that run removed, of least
        worth by a criterion, then training; with "table" (spec of a "head table") instead of both it is a column of that;
        ``{"name": "map", "like": SPEC}``: the very heads that that run removed, removed first, then training;
        ``{"name": "these", "heads": LIST}``: the heads of a list removed first, each (kind, layer, head);
        ``{"name": "matched", "like": SPEC, "draw"}``: as many heads of each layer as that run removed, drawn at random, first;
        ``{"name": "scratch", "like": SPEC}``: the very heads of that run removed from random weights, which are trained as the
        converged model was and then as every run is (Table 2).
    """
    chosen = settings["pruning"]
    names = ("steps", "learning_rate", "warmup", "cooldown", "evaluate_every")
    plan = settings["training"] | {name: chosen[name] for name in names}
    plan |= {"clip": 0.0, "patience": 0, "average": 1}  # the last weights, whose gates have settled
    return {
        "start": dict(start), "kinds": list(kinds), "method": method, "training": plan, "dev": chosen["dev"], "seed": seed,
    }  # fmt: skip


def sweep(settings: Mapping[str, Any], name: str, start: Mapping[str, Any], kinds: Sequence[str], seed: int) -> dict[str, Any]:
    """All runs from one model, whose name figures and progress bars show."""
    sweep = {"name": name, "kinds": list(kinds), "seed": seed, "settings": dict(settings), "start": dict(start)}
    return sweep | {"runs": specs(sweep)}


def of_training(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """The sweeps of a study: encoder heads alone, then all kinds; or those of a pretrained checkpoint on the first name's text.

    The settings "pruning" say which: the first models of each register ("languages"), of the first also "siblings"; with all
    kinds as many as "all_kinds" (on the sibling "all_kinds_on"). As many as "rivals" have other choices and random starts.
    """
    if checkpoint:
        start, name = subjects.pretrained(settings, checkpoint, names[0], seed), Path(checkpoint).name
        return [sweep(settings, name, start, kinds, seed) for kinds in (("encoder",), KINDS)]
    by_register: dict[str, list[str]] = {}
    for name in names:
        by_register.setdefault(name.partition("-")[2], []).append(name)
    chosen = [name for same in by_register.values() for name in same[: settings["pruning"]["languages"]]]
    every = [subjects.all_kinds(settings, name) for name in chosen[: settings["pruning"]["all_kinds"]]]
    siblings = settings["pruning"]["siblings"] if subjects.leads(settings, chosen[0]) else []
    chosen += [f"{chosen[0]}+{name}" for name in siblings]
    alone = {**settings, "pruning": settings["pruning"] | {"compared": [], "scratch": []}}
    few = settings["pruning"]["rivals"] or len(chosen)
    return [
        sweep(settings if number < few else alone, name, subjects.spec(settings, name, seed), kinds, seed)
        for kinds, names in ((("encoder",), chosen), (KINDS, every))
        for number, name in enumerate(names)
    ]


def every_sweep(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """Sweeps of the first training of all models, then of further ones: without variants and scratch, rivals of one model."""
    plain = {**settings, "pruning": settings["pruning"] | {"variants": False, "scratch": [], "rivals": 1}}
    more = [one for more in range(1, settings["seeds"]) for one in of_training(plain, names, seed + more, checkpoint)]
    wanted = [one for one in more if one["seed"] - seed < subjects.trainings(settings, one["name"])]
    return of_training(settings, names, seed, checkpoint) + wanted


def sweeps(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """Sweeps of encoder heads alone, of every training of every model or of a checkpoint; the first seed of all comes first."""
    return [sweep for sweep in every_sweep(settings, names, seed, checkpoint) if sweep["kinds"] == ["encoder"]]


def all_kinds_sweeps(
    settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = ""
) -> list[dict[str, Any]]:
    """Sweeps in which heads of all three kinds have gates, with head maps trained from scratch: of the first training."""
    return [sweep for sweep in of_training(settings, names, seed, checkpoint) if sweep["kinds"] != ["encoder"]]


def specs(sweep: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The specs of a sweep by name: "METHOD" or "METHOD PENALTY", with "#NUMBER" where there are several."""
    settings, start, kinds = sweep["settings"], sweep["start"], tuple(sweep["kinds"])
    chosen, encoder = settings["pruning"], kinds == ("encoder",)

    def spec(name: str, **method: Any) -> dict[str, Any]:
        return run_spec(settings, start, kinds, {"name": name, **method}, sweep["seed"])

    def gated(penalty: float, **other: Any) -> dict[str, Any]:
        usual = {"start": chosen["start"], "rate": chosen["gate_rate"], "temperature": chosen["temperature"]}
        return spec("l0", penalty=penalty, **usual | other)

    imitated = chosen["compared"] if encoder else chosen["scratch"] if "training" in start else []
    penalties = dict.fromkeys([*(chosen["penalties"] if encoder else chosen["penalties_all"]), *imitated])
    rows = {"control": spec("none")} | ({"floor": spec("floor")} if encoder else {})
    rows |= {_label("L0", penalty): gated(penalty) for penalty in penalties}
    for penalty in imitated:
        like = gated(penalty)
        if not encoder:
            rows[_label("scratch", penalty)] = spec("scratch", like=like)
            continue
        rows[_label("L0's heads", penalty)] = spec("map", like=like)
        for by in chosen["criteria"]:
            for draw in range(chosen["draws"] if by == RANDOM else 1):
                cut = {"like": like, "by": by, "draw": draw, "few": settings["relevance"]}
                rows[_label(by, penalty, draw)] = spec("cut", **cut)
    if encoder and chosen["variants"] and imitated:
        middle = imitated[0]
        rows[_label("L0, half-open start,", middle)] = gated(middle, start=list(l0.HALF_OPEN))
        rows[_label("L0, temperature 0.5,", middle)] = gated(middle, temperature=0.5)
    return rows


def _label(method: str, penalty: float, number: int = 0) -> str:
    return f"{method} {penalty:g} #{number + 1}" if number else f"{method} {penalty:g}"


def title(sweep: Mapping[str, Any]) -> str:
    """A sweep in words."""
    which = "encoder heads" if list(sweep["kinds"]) == ["encoder"] else "all kinds"
    return f"{sweep['name']}, seed {sweep['seed']}, {which}"


# --- making a run ----------------------------------------------------------------------------------------------------


def pruned(spec: Mapping[str, Any], label: str = "pruning") -> study.Recipe:
    """The recipe of a run: heads.json, losses.json (dev loss), history.csv; of gates trace.csv."""
    return PRUNED.of(spec, label)


def opened(spec: Mapping[str, Any]):
    """The model that a run left, in evaluation mode, its heads removed."""
    return translators.stored(pruned(spec))


def retained(spec: Mapping[str, Any]) -> dict[tuple[str, int], list[int]]:
    """Heads that a run kept, in the numbering of the model that it started from: (kind, layer) -> heads."""
    return translators.kept(pruned(spec))


def start_of(start: Mapping[str, Any]) -> subjects.Subject:
    """The model that runs start from, with its text."""
    return _subject(json.dumps(start, sort_keys=True))


@lru_cache(maxsize=1)
def _subject(start: str) -> subjects.Subject:
    return subjects.of_spec(json.loads(start), "")


def _prune(spec: Mapping[str, Any], place: study.Place) -> None:
    method, plan, kinds = spec["method"], dict(spec["training"]), tuple(spec["kinds"])
    subject = start_of(spec["start"])
    torch.manual_seed(spec["seed"])
    model, objective = _start(spec, subject), None
    trainee = model
    if method["name"] == "l0":
        first = tuple(method["start"]) if isinstance(method["start"], list) else method["start"]
        rate = method["rate"] / plan["learning_rate"]
        trainee = l0.Gated(model, kinds, first, rate, method["temperature"], steps=plan["steps"])
        objective = lambda gated, batch: l0.objective(gated, batch, plan["label_smoothing"], method["penalty"])  # noqa: E731
    _train_only(model, kinds if method["name"] != "scratch" else KINDS)

    epoch = subject.epoch(plan["batch_tokens"], spec["seed"], model.device)
    dev, before = subject.batches(training.held_out(plan), spec["dev"]), []
    if method["name"] == "scratch":  # first as the whole model was
        work, first = place.work / "first", spec["start"]
        work.mkdir(parents=True, exist_ok=True)
        before.append(training.fit(model, epoch, dev, first["training"], work, first["seed"], None, place.label))
    history = training.fit(trainee, epoch, dev, plan, place.work, spec["seed"], objective, place.label)
    history = pd.concat([*before, history], ignore_index=True)
    if method["name"] == "l0":
        trainee.trace().round(4).to_csv(place.results / "trace.csv")
        heads.remove(model, trainee.closed())
    history.to_csv(place.results / "history.csv", index=False)
    translators.keep(model.requires_grad_(True), place)
    study.write_json(place.results / "losses.json", {"dev_loss": training.dev_loss(model, dev)})


def _start(spec: Mapping[str, Any], subject: subjects.Subject):
    """The model that a run trains, without the heads that its method removes beforehand."""
    method, start = spec["method"], spec["start"]
    if method["name"] == "scratch":
        model = models.build(start["model"], subject.source.size, subject.target.size, start["seed"]).to(gpu.device())
        return heads.remove(model, _removed(model, method["like"]))
    model = copy.deepcopy(subject.model)
    if method["name"] == "map":
        return heads.remove(model, _removed(model, method["like"]))
    if method["name"] == "these":
        return heads.remove(model, map(tuple, method["heads"]))
    if method["name"] == "matched":
        gone, seeds = _removed(model, method["like"]), (start.get("seed", 0), method["draw"])
        return heads.remove(model, removal.matched(heads.index(model, tuple(spec["kinds"])), gone, *seeds))
    if method["name"] == "floor":
        return heads.remove(model, heads.index(model, tuple(spec["kinds"])))
    if method["name"] == "cut":
        kinds, by = tuple(spec["kinds"]), method["by"]
        if "table" in method:
            worths = column(study.kind("head table").of(method["table"]), kinds, by)
        elif by == RANDOM:
            worths = removal.shuffled(heads.index(model, kinds), start.get("seed", 0), method["draw"])
        else:
            worths = column(scored(start, method["few"]), kinds, by)
        return heads.remove(model, removal.least(worths, len(_removed(model, method["like"]))))
    return model


def _removed(model, like: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The heads of a whole model that another run removed."""
    kept = retained(like)
    return [(kind, layer, head) for kind, layer, head in heads.index(model) if head not in kept[kind, layer]]


def _train_only(model, kinds: tuple[str, ...]) -> None:
    """With encoder heads alone in question train the encoder's layers (section 6.2), without embeddings.

    The paper trains the source's. Here the output layer is tied to their table.
    """
    if kinds == ("encoder",):
        model.requires_grad_(False)
        for name, parameter in model.get_encoder().named_parameters():
            parameter.requires_grad_("embed" not in name)


def _needs(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    method = spec["method"]
    scratch = method["name"] == "scratch"  # from random weights: only the shape of the start counts
    yield study.Need(corpora.recipe(spec["start"]["corpus"]), weights=True)
    yield from (need.recipe if scratch and isinstance(need, study.Need) else need for need in subjects.needs(spec["start"]))
    if "like" in method:
        yield pruned(method["like"])
    if "table" in method:
        yield study.kind("head table").of(method["table"])
    elif method["name"] == "cut" and method["by"] != RANDOM:
        yield scored(spec["start"], method["few"])


PRUNED = study.Kind("pruned", 1, _prune, _needs, opened=lambda spec, splits, control: nullcontext(opened(spec)))


# --- other ways to choose heads --------------------------------------------------------------------------------------


def scored(start: Mapping[str, Any], few: int) -> study.Recipe:
    """The recipe of the head table with the measures of `CRITERIA`: of the `few` first dev sentences, confidence of all."""
    return SCORES.of({"start": dict(start), "few": few}, "scores of heads")


def _score(spec: Mapping[str, Any], place: study.Place) -> None:
    subject = start_of(spec["start"])
    given = {"model": subject.model, "batches": subject.batches(), "explained": subject.batches(4096, spec["few"])}
    columns = measures.table.columns(given, map(called, CRITERIA))
    stored = {called(name): name for name in CRITERIA}
    columns.rename(columns=stored)[list(CRITERIA)].to_csv(place.results / "heads.csv")


SCORES = study.Kind("scores", 1, _score, lambda spec: subjects.needs(spec["start"]))


def column(table: study.Recipe, kinds: Sequence[str], by: str) -> pd.Series:
    """What heads are worth by a column of a head table (`helpers.methods.contest.runs`); one that it has not is refused."""
    worths = pd.read_csv(table.results / "heads.csv", index_col=list(ADDRESS), keep_default_na=False, na_values=["nan", ""])
    worths = worths[worths.index.isin(kinds, level="kind")]
    if by not in worths:
        raise StudyError(f"The head table has no column {by!r} to choose heads by: write one of {', '.join(worths)}.")
    return worths[by].astype(float)


def counts(runs: Iterable[Mapping[str, Any]], kinds: Sequence[str]) -> list[int]:
    """How many heads of some kinds runs kept, each number one time."""
    return sorted({_counts(retained(run), kinds)["heads"] for run in runs})


# --- what is read ----------------------------------------------------------------------------------------------------


def subject_of(sweep: Mapping[str, Any], parser: str = "spacy") -> subjects.Subject:
    """The model that a sweep starts from, with its text."""
    return subjects.of_spec(sweep["start"], sweep["name"], parser)


def recipes(sweep: Mapping[str, Any], runs: Mapping[str, Mapping[str, Any]] | None = None) -> Iterator[study.Recipe]:
    """Runs of a sweep, and what their models and the one that they start from put out: those that the tables below read."""
    beam = sweep["settings"]["pruning"]["beam"]
    if "pretrained" not in sweep["start"]:
        yield outputs.recipe(translators.trained(sweep["start"], f"{sweep['name']}, seed {sweep['seed']}"), beam)
    for name, spec in (runs or _of_section(sweep)).items():
        made = pruned(spec, f"{title(sweep)}: {name}")
        yield from (made, outputs.recipe(made, beam))


def table_spec(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """What the head table of the model that a sweep starts from depends on (`helpers.methods.contest.runs`)."""
    settings = sweep["settings"]
    chosen = {name: settings["comparison"][name] for name in ("votes", "l1")}
    return {"few": settings["relevance"], "start": sweep["start"]} | chosen


def head_table(sweep: Mapping[str, Any]) -> study.Recipe:
    """The recipe of that table."""
    return study.kind("head table").of(table_spec(sweep), f"{sweep['name']}, seed {sweep['seed']}: head table")


def floors(settings: Mapping[str, Any], name: str, seed: int) -> dict[str, study.Recipe]:
    """A model trained further with all its heads, and without those of its encoder, whose worth lies between the two."""
    first = of_training(settings, [name], seed)[0]["runs"]
    return {"trained on": pruned(first["control"]), "encoder heads removed, trained on": pruned(first["floor"])}


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 03 reads: the models that are pruned, every run of their sweeps, and the functions of their heads."""
    encoder, every = sweeps(settings, names, seed), of_training(settings, names, seed)
    yield from outputs.of_models(settings, subjects.without_encoder(settings, names[0]), seed, beam=settings["pruning"]["beam"])
    for sweep in every:
        yield study.Need(translators.trained(sweep["start"], f"{sweep['name']}, seed {seed}"), sweep is every[0])
    for sweep in (*encoder, *every):
        yield from recipes(sweep)
    yield from map(head_table, encoder)


def l0_runs(sweep: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The L0 runs of a sweep with the usual start and temperature."""
    usual = {name: sweep["settings"]["pruning"][name] for name in ("start", "temperature")}
    return [run for run in sweep["runs"].values() if run["method"]["name"] == "l0" and usual.items() <= run["method"].items()]


def _of_section(sweep: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: run for name, run in sweep["runs"].items() if run["method"]["name"] in NAMES}


# --- quality by heads left (figure 7) --------------------------------------------------------------------------------


def quality_of_all(sweeps: Sequence[Mapping[str, Any]], parser: str = "spacy", repeats: int = 1000) -> pd.DataFrame:
    """`quality` with `worth` of several sweeps, on (model, seed, run, test set)."""
    tables = {}
    for sweep in sweeps:
        subject = subject_of(sweep, parser)
        drawn = draws(sweep, subject, repeats)
        table = quality(sweep, subject, drawn)
        if sweep["kinds"] == ["encoder"]:
            first = sweep["seed"] == sweeps[0]["seed"] and "pretrained" not in sweep["start"]
            twins = subjects.without_encoder(sweep["settings"], sweep["name"]) if first else []
            never = subjects.of_name(sweep["settings"], twins[0], sweep["seed"]) if twins else None
            table = table.join(worth(sweep, subject, drawn, never))
        tables[subject.title, sweep["seed"]] = table
    return pd.concat(tables, names=["model", "seed"])


Draws = Mapping[tuple[str, str], np.ndarray]  # by run and test set


def draws(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> Draws:
    """BLEU of every run on bootstrap samples of the test sentences, the same for all."""
    beam = sweep["settings"]["pruning"]["beam"]
    return {
        (name, split): scoring.bleu_draws(statistics(subject, run, split, beam), repeats)
        for name, run in _of_section(sweep).items()
        for split in subject.tests
    }


def quality(sweep: Mapping[str, Any], subject: subjects.Subject, drawn: Draws) -> pd.DataFrame:
    """How well every run of a sweep translates, and with how many heads.

    A row each (run, test set): method; penalty; encoder, decoder, cross (heads kept); heads (of the kinds in question), total;
    bleu, low, high; change against the control, with low and high (paired bootstrap); dev_loss; undecided (gates); over.
    """
    total, rows = _counts(subject.kept, sweep["kinds"])["heads"], {}
    for name in dict.fromkeys(name for name, _ in drawn):
        run = sweep["runs"][name]
        method = name.rpartition(" ")[0].rstrip(",") if name.startswith("L0,") else NAMES[run["method"]["name"]]
        row = _counts(retained(run), sweep["kinds"]) | {"total": total, "method": method}
        row |= {"penalty": penalty(run), "dev_loss": study.read_json(pruned(run).results / "losses.json")["dev_loss"]}
        closed = pd.Series(gates(run)[0].p_closed()[-1].numpy()) if run["method"]["name"] == "l0" else None
        row["undecided"] = np.nan if closed is None else int(closed.between(*UNDECIDED).sum())
        for split in subject.tests:
            bleu = drawn[name, split]
            scored = zip(("bleu", "low", "high"), scoring.of_draws(bleu), strict=True)
            change = zip(("change", "change_low", "change_high"), scoring.of_draws(bleu - drawn["control", split]), strict=True)
            rows[name, split] = {**row, **dict(scored), **dict(change), "over": intervals.SENTENCES}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["run", "test set"])
    return table


NEVER = "worth from the start"
WORTH = ("worth", "share", NEVER)


def worth(
    sweep: Mapping[str, Any], subject: subjects.Subject, drawn: Draws, none: subjects.Subject | None = None
) -> pd.DataFrame:
    """What encoder attention is worth in BLEU, and which share of that every run of a sweep keeps.

    On (run, test set), each with low and high (paired bootstrap over sentences): worth (control minus the floor, whose encoder
    heads were removed before it trained on); share ((run minus floor) / worth); and with `none`, which never had them, worth
    from the start (control minus it). Empty where a sweep has no floor.
    """
    rows, beam, repeats = {}, sweep["settings"]["pruning"]["beam"], len(next(iter(drawn.values()))) - 1
    never = {split: scoring.bleu_draws(statistics(none, None, split, beam), repeats) for split in subject.tests if none}
    for name, split in drawn if "floor" in sweep["runs"] else ():
        bleu, control, floor = (drawn[one, split] for one in (name, "control", "floor"))
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = [control - floor, (bleu - floor) / (control - floor)]
        parts += [control - never[split]] if split in never else []
        scored, ends = zip(WORTH, map(scoring.of_draws, parts), strict=False), ("", "_low", "_high")
        rows[name, split] = {f"{part}{end}": x for part, three in scored for end, x in zip(ends, three, strict=True)}
    index = pd.MultiIndex.from_tuples(rows, names=["run", "test set"])
    return pd.DataFrame(list(rows.values()), index)


MEASURED = ("bleu", "change", *WORTH)  # by test sentences; all else of `quality` is a number of heads, or a loss


def means(table: pd.DataFrame) -> pd.DataFrame:
    """`quality_of_all` as means over trainings with t-intervals, on (model, run, test set).

    Rows of each model's first training, with trainings. What one training alone has keeps its interval over sentences.
    """
    rows = {}
    for model, every in table.groupby(level="model", sort=False):
        every = every.droplevel("model")
        for (run, split), row in every.xs(every.index[0][0], level="seed").iterrows():
            trained = every.xs((run, split), level=("run", "test set"))
            mean = row.to_dict() | {"trainings": len(trained)}
            if len(trained) > 1:
                mean |= trained.select_dtypes("number").mean().to_dict() | {"over": intervals.TEXTS}
                for value in (name for name in MEASURED if name in trained and trained[name].notna().all()):
                    ends = ("low", "high") if value == "bleu" else (f"{value}_low", f"{value}_high")
                    mean |= zip((value, *ends), intervals.over_runs(trained[value])[:3], strict=True)
            rows[model, run, split] = mean
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "run", "test set"]))


def curve(quality: pd.DataFrame) -> pd.DataFrame:
    """Points of figure 7, of `quality_of_all`: a row each (model, test set, penalty), the unpruned model at penalty 0.

    Without a penalty, as "MODEL, never had encoder heads", the one of the first training. change is BLEU minus unpruned.
    """
    table = means(quality)
    table = table[table.method.isin([NAMES["none"], NAMES["l0"]])].reset_index()
    low, high = (table[end].where(table.penalty > 0) for end in ("change_low", "change_high"))
    table = table.assign(penalty=table.penalty.fillna(0), low=low, high=high)
    if NEVER in quality:
        never = quality[(quality.method == NAMES["none"]) & quality[NEVER].notna()].reset_index()
        ends = {"change": -never[NEVER], "low": -never[f"{NEVER}_high"], "high": -never[f"{NEVER}_low"]}
        names, bleu = never.model + ", never had encoder heads", never.bleu - never[NEVER]
        never = never.assign(model=names, penalty=np.nan, bleu=bleu, heads=0, trainings=1, **ends)
        table = pd.concat([table, never], ignore_index=True)
    columns = ["model", "test set", "penalty", "trainings", "heads", "total", "bleu", "change", "low", "high", "over"]
    return table[[*columns, "worth"]]


def half_left(means: pd.DataFrame) -> pd.DataFrame:
    """Of each model and test set the L0 run that keeps most heads among those with at most half of them: rows of `means`."""
    pruned = means[means.method == NAMES["l0"]]
    pruned = pruned[pruned.heads <= pruned.total / 2]
    return pruned.loc[pruned.groupby(["model", "test set"], sort=False).heads.idxmax()].reset_index("run")


def with_europarl(curve: pd.DataFrame) -> pd.DataFrame:
    """Points of figure 7 to draw, of the largest models of `curve` and two published translators of Europarl: translator, model
    (gates; chance: random heads removed, published; never had encoder heads, or `SHARE`: a line at that loss)."""
    shallow = pd.read_csv(REGIMES / "europarl.csv", index_col=["model", "seed", "run", "test set"])
    shallow = means(shallow).reset_index().assign(model=SHALLOW)  # over three trainings
    deep = pd.read_csv(REGIMES / "deep.csv").query("`test set` == 'europarl_test'").assign(model=DEEP)
    deep["worth"] = -deep.set_index("run").change["floor"]
    europarl = pd.concat([shallow, deep]).query("method in ('further training', 'L0') and `test set` == 'europarl_test'")
    europarl = europarl.assign(low=europarl.change_low, high=europarl.change_high)
    every = pd.concat([curve, europarl], ignore_index=True).query("total == total.max()")
    parts = every.model.str.extract("(.*?)(?:, (never had encoder heads))?$")
    every = every.assign(translator=parts[0], model=parts[1].fillna("gates"))
    tables = [NATURAL.parents[2] / text / "06_do_measures_agree/tables/contest.csv" for text in ("controlled", "natural")]
    random = pd.concat(map(pd.read_csv, tables)).query("criterion == @RANDOM and `test set` != 'newstest2014'")
    random = random.assign(translator=random.model.replace("EN-FR europarl", SHALLOW), change=random.value, model="chance")
    random, gates = random[random.translator.isin(every.translator)], every[every.model == "gates"]
    allowed = gates[gates.penalty > 0].drop_duplicates("translator").assign(model=SHARE, change=(KEPT - 1) * gates.worth)
    levels = pd.concat([allowed, every.drop(gates.index)]).assign(low=np.nan, high=np.nan)
    return pd.concat([gates, random, *(levels.assign(heads=heads) for heads in (0, every.total.max()))], ignore_index=True)


def needed(points: pd.DataFrame, loss: float) -> pd.DataFrame:
    """Encoder heads left where translators of `with_europarl`, and the paper's, lose `loss` BLEU for good, or `SHARE`.

    Read between points: translator, unpruned, worth (BLEU), lost, and where the upper end of the interval, the curve and the
    lower end go below that: fewest, best, most; nan for one that never does, or that has no interval.
    """
    paper, rows = papers.FIGURE_7.assign(translator=papers.FIGURE_7.model, model="gates"), []
    for name, part in pd.concat([paper, points]).groupby("translator", sort=False):
        gates, share = part[part.model == "gates"].sort_values("heads"), part[part.model == SHARE].change.min()
        for lost, line in {f"{loss:g} BLEU": -loss, SHARE: share}.items():
            read = [_goes_below(line, gates[end].fillna(0), gates.heads) for end in ("high", "change", "low")]
            rows.append((name, gates.bleu.iloc[-1], share / (KEPT - 1), lost, *read))
    table = pd.DataFrame(rows, columns=["translator", "unpruned", "worth", "lost", "fewest", "best", "most"])
    return table[table.worth.notna() | (table.lost != SHARE)].sort_values("lost", kind="stable", ignore_index=True)


def _goes_below(line: float, values: pd.Series, heads: pd.Series) -> float:
    """Of values by rising numbers of heads the number below which they stay below a line."""
    after = int((values >= line).argmax())
    return float(np.interp(line, values[after - 1 : after + 1], heads[after - 1 : after + 1])) if after else np.nan


def settled(encoder: pd.DataFrame, every: pd.DataFrame, seed: int) -> pd.DataFrame:
    """How far gates of L0 runs of a seed settled, by `quality_of_all` with gates on the encoder's heads, and on every head:
    undecided gates (nan where no gate closes: such a run cannot tell)."""
    table = pd.concat({"encoder": encoder, "all": every}, names=["kinds"]).xs(seed, level="seed")
    part = table[table.undecided.notna()]
    part = part.xs(part.index.get_level_values("test set")[0], level="test set")
    part = part.assign(undecided=part.undecided.where(part.heads < part.total))
    return part[["penalty", "heads", "total", "undecided"]]


# --- pruned against trained from scratch (table 2) -------------------------------------------------------------------


def against_scratch(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """Pruned minus the same head map from scratch, on (run, test set): penalty; encoder, decoder, cross (heads left), kept (%);
    pruned, scratch, unpruned (BLEU); change, low, high (paired bootstrap)."""
    rows, total = {}, _counts(subject.kept, sweep["kinds"])["heads"]
    beam = sweep["settings"]["pruning"]["beam"]
    for name, run in sweep["runs"].items():
        if run["method"]["name"] != "scratch":
            continue
        left, pair = _counts(retained(run), KINDS), (run["method"]["like"], run, sweep["runs"]["control"])
        for split in subject.tests:
            counted = [statistics(subject, one, split, beam) for one in pair]
            bleu = [scoring.bleu_interval(one, None, 1)[0] for one in counted]
            change = dict(zip(("change", "low", "high"), scoring.bleu_interval(*counted[:2], repeats), strict=True))
            kinds = {kind: left[kind] for kind in KINDS} | {"kept": 100 * left["heads"] / total}
            kinds |= {"penalty": penalty(run)} | dict(zip(("pruned", "scratch", "unpruned"), bleu, strict=True))
            rows[name, split] = kinds | change
    columns = ["penalty", *KINDS, "kept", "pruned", "scratch", "unpruned", "change", "low", "high"]
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["run", "test set"]), columns)


def scratch_of_all(sweeps: Sequence[Mapping[str, Any]], parser: str = "spacy", repeats: int = 1000) -> pd.DataFrame:
    """`against_scratch` of several sweeps, on (model, run, test set)."""
    parts = {(one := subject_of(sweep, parser)).title: against_scratch(sweep, one, repeats) for sweep in sweeps}
    return pd.concat(parts, names=["model"])


def table_2(scratch: pd.DataFrame) -> pd.DataFrame:
    """The paper's table 2, `scratch_of_all` and published head maps (six decoder layers, Europarl): model, heads left (encoder,
    decoder, cross), BLEU (unpruned, pruned, from scratch), pruned minus scratch, low, high."""
    even = pd.read_csv(REGIMES / "kinds_scratch.csv").assign(model=EVEN)
    tables = [pd.read_csv(NATURAL / f"{name}.csv") for name in ("all_kinds_fr-europarl-deep-decoder", "trained_minus_scratch")]
    runs, deep = (table.query("`test set` == 'europarl_test'").set_index("run") for table in tables)
    bleu = dict(zip(("unpruned", "pruned", "scratch"), runs.bleu[["control", "L0 0.003", "scratch 0.003"]], strict=True))
    deep = deep.join(runs[[*KINDS]]).assign(model=DEEP, **bleu)
    every = pd.concat([papers.TABLE_2, scratch.infer_objects().reset_index(), even, deep], ignore_index=True)
    every["heads left"] = every[[*KINDS]].astype(str).agg("/".join, axis=1)
    columns = ["model", "heads left", "unpruned", "pruned", "scratch", "change", "low", "high"]
    return every[columns].rename(columns={"scratch": "from scratch", "change": "pruned minus scratch"})


# --- gates -----------------------------------------------------------------------------------------------------------


def gates(run: Mapping[str, Any]) -> tuple[l0.HardConcrete, pd.DataFrame]:
    """The gates of an L0 run after every step, from step 0; log alpha as a frame, rows steps, columns (kind, layer, head)."""
    trace = pd.read_csv(pruned(run).results / "trace.csv", index_col=0, header=[0, 1, 2])
    trace.columns = pd.MultiIndex.from_tuples([(k, int(n), int(h)) for k, n, h in trace.columns], names=list(ADDRESS))
    return l0.HardConcrete(torch.tensor(trace.to_numpy()), run["method"]["temperature"]), trace


def survival(sweep: Mapping[str, Any]) -> pd.Series:
    """How long L0 keeps every head: at how many prices, plus less than 1 for how likely its gate is open in the end."""
    pruned = [gates(run) for run in l0_runs(sweep)]
    kept = sum(distribution.value()[-1] for distribution, _ in pruned)
    likely = sum(distribution.p_open()[-1] for distribution, _ in pruned) / len(pruned)
    return pd.Series((kept + 0.99 * likely).numpy(), pruned[0][1].columns)


# --- which heads stay (figures 8, 9 and 10) --------------------------------------------------------------------------


def kept_by_kind(sweep: Mapping[str, Any], subject: subjects.Subject) -> pd.DataFrame:
    """Heads that each L0 run kept (figure 9), a row a run, of every kind; starts alike: whether all kinds begin training so;
    gap: of shares kept the least rise in the paper's order of kinds, nan where no decoder or cross head has gone."""
    every, rows = _counts(subject.kept, KINDS), []
    alike = "pretrained" not in sweep["start"] and sweep["start"]["model"].get("start") is not None
    for run in l0_runs(sweep):
        kept = _counts(retained(run), KINDS)
        row = {"penalty": penalty(run), "total_kept": kept["heads"], "total": every["heads"]}
        row |= {kind: kept[kind] for kind in KINDS} | {f"{kind}_total": every[kind] for kind in KINDS}
        encoder, decoder, cross = (kept[kind] / every[kind] if every[kind] else np.nan for kind in KINDS)
        gap = np.nan if decoder == cross == 1 else min(decoder - encoder, cross - decoder)
        rows.append(row | {"gap": gap, "starts alike": alike})
    return pd.DataFrame(rows)


def kinds_of_all(sweeps: Sequence[Mapping[str, Any]], parser: str = "spacy") -> pd.DataFrame:
    """`kept_by_kind` of several sweeps, on (model, penalty)."""
    if not sweeps:
        raise StudyError("No model is pruned of heads of all kinds, which figure 9 shows: set pruning.all_kinds to 1 or more.")
    parts = {(one := subject_of(sweep, parser)).title: kept_by_kind(sweep, one) for sweep in sweeps}
    return pd.concat(parts, names=["model"]).reset_index("model").set_index(["model", "penalty"])


def shares(kinds: pd.DataFrame) -> pd.DataFrame:
    """Figure 9 to draw, of `kinds_of_all`, two published translators and the paper's: model, kind, kept (% of all heads left),
    share (% of the kind's)."""
    even = pd.read_csv(REGIMES / "kinds_kept.csv").assign(model=EVEN)
    deep = pd.read_csv(NATURAL / "fig9_heads_by_kind.csv").assign(model=DEEP)
    every, parts = pd.concat([even, kinds.reset_index(), deep], ignore_index=True), [papers.FIGURE_9]
    for kind in KINDS:
        share, kept = 100 * every[kind] / every[f"{kind}_total"], 100 * every.total_kept / every.total
        parts.append(every[["model"]].assign(kind=kind, kept=kept, share=share))
    return pd.concat(parts, ignore_index=True)


def by_layer() -> pd.DataFrame:
    """Figure 10 to draw, of published prunings of news with six decoder layers: left (of all, and of each kind in its lower and
    in its upper layers), kind, layer (from 1), kept."""
    table = pd.read_csv(REGIMES / "kinds_by_layer.csv").query("kind != 'encoder'")
    table = table.sort_values("total_kept", ascending=False, kind="stable").assign(layer=table.layer + 1)
    halves = table.groupby(["total_kept", "kind", table.layer > 3]).kept.sum().astype(str).groupby(level=[0, 1]).agg(" + ".join)
    said = {kept: ", ".join(f"{kind} {some}" for kind, some in halves[kept].items()) for kept in table.total_kept}
    return table.assign(left=[f"{kept} of 144 heads left, {said[kept]}" for kept in table.total_kept])


def survivors(sweeps: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Which encoder heads gates leave, a row each (model, seed, penalty, layer, head), layers and heads from 1 (figure 8):
    functions before pruning (names joined by a comma; empty for a head without one), stays."""
    names, parts = {label: relation for (relation, _), label in LABELS.items()} | {"": "", "rare": "rare"}, []
    for sweep in sweeps:
        table = pd.read_csv(head_table(sweep).results / "heads.csv").query("kind == 'encoder'").fillna({"functions": ""})
        does = [", ".join({names.get(label, "positional"): 0 for label in text.split("; ")}) for text in table.functions]
        table = table.assign(functions=does, layer=table.layer + 1, head=table["head"] + 1)
        table = table[["layer", "head", "functions"]].assign(model=subjects.title(sweep["name"]), seed=sweep["seed"])
        for run in l0_runs(sweep):
            kept = {layer: some for (kind, layer), some in retained(run).items() if kind == "encoder"}
            left = {(layer + 1, head + 1) for layer, some in kept.items() for head in some}
            stays = [place in left for place in zip(table.layer, table["head"], strict=True)]
            parts.append(table.assign(penalty=penalty(run), stays=stays))
    return pd.concat(parts, ignore_index=True)


def functions_left(survivors: pd.DataFrame) -> pd.DataFrame:
    """Figure 8 to draw, of the largest models of `survivors`, a row a price, first none: model, heads (left, a training), does
    (functions of each head that stays and has any); how many would by chance: expected, low, high."""
    before = survivors.drop_duplicates(["model", "seed", "layer", "head"]).assign(penalty=0, stays=True)
    every = pd.concat([before, survivors], ignore_index=True)
    does = every.functions.where(every.stays, "").groupby([every.model, every.penalty]).agg(lambda all: [*filter(None, all)])
    table = retained_more_than_chance(every).query("function == 'any'").join(does.rename("does"), on=["model", "penalty"])
    return table.assign(heads=table["heads"] / table.trainings, of=table.of / table.trainings).query("of == of.max()")


def retained_more_than_chance(survivors: pd.DataFrame) -> pd.DataFrame:
    """Do heads with a function stay more often than others? By the hypergeometric distribution, as if heads went at random.

    Of `survivors` a row each (model, penalty, function: "any", or one), over trainings: heads (left), of (all), had (it), stay,
    expected, p (as many or more), low, high (95 %); expected and p also if as many stay in each layer.
    """
    rows = []
    for (model, price), part in survivors.groupby(["model", "penalty"], sort=False):
        for function in ["any", *sorted({name for does in part.functions for name in does.split(", ") if name})]:
            has = part.functions.str.contains("." if function == "any" else function)
            row = {"model": model, "penalty": price, "function": function, "trainings": part.seed.nunique()}
            row |= {"heads": part.stays.sum(), "of": len(part), "had": has.sum(), "stay": (has & part.stays).sum()}
            for name, places in {" in layers": ["seed", "layer"], "": ["seed"]}.items():
                chances = np.ones(1)  # of 0, 1, 2... heads, if as many of each place stay at random
                for _, one in part.groupby(places):
                    had = has[one.index].sum()
                    chances = np.convolve(chances, hypergeom.pmf(range(had + 1), len(one), had, one.stays.sum()))
                row |= {f"expected{name}": chances @ range(len(chances)), f"p{name}": min(1.0, chances[row["stay"] :].sum())}
            row["low"], row["high"] = np.searchsorted(chances.cumsum(), (0.025, 0.975))
            rows.append(row)
    return pd.DataFrame(rows)


# --- parts -----------------------------------------------------------------------------------------------------------


def statistics(subject: subjects.Subject, run: Mapping[str, Any] | None, split: str, beam: int) -> np.ndarray:
    """What BLEU of a run on a test set is computed from; without a run of the subject's own model."""
    hypotheses = outputs.read(pruned(run), split, beam) if run else outputs.written_by(subject, split, beam)
    return subject.statistics(hypotheses, split)


def penalty(run: Mapping[str, Any]) -> float:
    """The price of gates of a run, or of the run that it imitates."""
    method = run["method"]
    return method.get("penalty", method.get("like", {"method": {}})["method"].get("penalty", np.nan))


def _counts(kept: Mapping[tuple[str, int], Sequence[int]], kinds: Sequence[str]) -> dict[str, int]:
    counts = {kind: sum(len(left) for (k, _), left in kept.items() if k == kind) for kind in KINDS}
    return counts | {"heads": sum(counts[kind] for kind in kinds)}
