"""Pruning runs: what is trained once heads are gated or gone, where it lies, and how it is scored.

A *run* is described by a spec: a converged model (the spec of its training), the attention kinds in question, a method, a
training plan. It leaves a model whose heads are removed for good. A *sweep* is all runs that start from one model.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from helpers import corpora, gpu, heads, measures, models, study, training
from helpers.heads.families import ADDRESS, KINDS
from helpers.measures import removal
from helpers.measures.removal import RANDOM
from helpers.methods import l0
from helpers.runs import outputs, subjects
from helpers.runs import training as translators
from helpers.study import StudyError

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

    Parameters
    ----------
    start : mapping
        Spec of the converged model (`helpers.runs.subjects.spec` or `pretrained`).
    kinds : sequence of str
        Attention kinds whose heads are in question. With the encoder alone its layers are trained and all else is frozen
        (section 6.2); otherwise everything is trained.
    method : dict
        ``{"name": "l0", "penalty", "start", "rate", "temperature"}``: gates and their price (section 6.1);
        ``{"name": "none"}``: further training with all heads, the control;
        ``{"name": "floor"}``: all heads removed, then training;
        ``{"name": "cut", "like": SPEC, "by": CRITERION, "draw", "few"}``: as many heads removed as that run removed, those of
        least worth by a criterion, then training; with "table" (spec of a recipe "head table") in place of "draw"
        and "few" the criterion is a column of that table;
        ``{"name": "map", "like": SPEC}``: the very heads that that run removed, removed first, then training;
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


def sweeps(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """The sweeps of a study: encoder heads alone, then all kinds; or those of a pretrained checkpoint on the first name's text.

    The settings "pruning" say which: the first models of each register ("languages"), of the first also "siblings"; with all
    kinds as many as "all_kinds", of each its sibling "all_kinds_on". Only as many as "rivals" have runs that choose heads in
    other ways or start from random weights.
    """
    if checkpoint:
        start, name = subjects.pretrained(settings, checkpoint, names[0], seed), Path(checkpoint).name
        return [sweep(settings, name, start, kinds, seed) for kinds in (("encoder",), KINDS)]
    by_register: dict[str, list[str]] = {}
    for name in names:
        by_register.setdefault(name.partition("-")[2], []).append(name)
    chosen = [name for same in by_register.values() for name in same[: settings["pruning"]["languages"]]]
    every = [subjects.all_kinds(settings, name) for name in chosen[: settings["pruning"]["all_kinds"]]]
    wanted = settings["pruning"]["siblings"]
    chosen += [name for name in subjects.siblings(settings, chosen[0]) if name.partition("+")[2] in wanted]
    alone = {**settings, "pruning": settings["pruning"] | {"compared": [], "scratch": []}}
    few = settings["pruning"]["rivals"] or len(chosen)
    return [
        sweep(settings if number < few else alone, name, subjects.spec(settings, name, seed), kinds, seed)
        for kinds, names in ((("encoder",), chosen), (KINDS, every))
        for number, name in enumerate(names)
    ]


def further(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """Sweeps of further trainings of the same models, seed after seed: no variants, nothing from scratch, one with rivals."""
    plain = {**settings, "pruning": settings["pruning"] | {"variants": False, "scratch": [], "rivals": 1}}
    every = [one for more in range(1, settings["seeds"]) for one in sweeps(plain, names, seed + more, checkpoint)]
    return [one for one in every if one["seed"] - seed < subjects.trainings(settings, one["name"])]


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


def recipes(sweep: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """All runs of a sweep, and what their models and the one that they start from put out."""
    beam = sweep["settings"]["pruning"]["beam"]
    if "pretrained" not in sweep["start"]:
        yield outputs.recipe(translators.trained(sweep["start"], f"{sweep['name']}, seed {sweep['seed']}"), beam)
    for name, spec in sweep["runs"].items():
        made = run(spec, f"{title(sweep)}: {name}")
        yield from (made, outputs.recipe(made, beam))


def title(sweep: Mapping[str, Any]) -> str:
    """A sweep in words."""
    which = "encoder heads" if list(sweep["kinds"]) == ["encoder"] else "all kinds"
    return f"{sweep['name']}, seed {sweep['seed']}, {which}"


# --- making a run ----------------------------------------------------------------------------------------------------


def run(spec: Mapping[str, Any], label: str = "pruning") -> study.Recipe:
    """The recipe of a run: heads.json, losses.json (dev loss), history.csv; of gates trace.csv."""
    return PRUNED.of(spec, label)


def opened(spec: Mapping[str, Any]):
    """The model that a run left, in evaluation mode, its heads removed."""
    return translators.stored(run(spec))


def retained(spec: Mapping[str, Any]) -> dict[tuple[str, int], list[int]]:
    """Heads that a run kept, in the numbering of the model that it started from: (kind, layer) -> heads."""
    return translators.kept(run(spec))


def subject_of(start: Mapping[str, Any]) -> subjects.Subject:
    """The model that runs start from, with its text."""
    return _subject(json.dumps(start, sort_keys=True))


@lru_cache(maxsize=1)
def _subject(start: str) -> subjects.Subject:
    return subjects.of_spec(json.loads(start), "")


def _prune(spec: Mapping[str, Any], place: study.Place) -> None:
    method, plan, kinds = spec["method"], dict(spec["training"]), tuple(spec["kinds"])
    subject = subject_of(spec["start"])
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
            worths = drawn(start, heads.index(model, kinds), method["draw"])
        else:
            worths = column(scored(start, method["few"]), kinds, by)
        return heads.remove(model, removal.least(worths, len(_removed(model, method["like"]))))
    return model


def _removed(model, like: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The heads of a whole model that another run removed."""
    kept = retained(like)
    return [(kind, layer, head) for kind, layer, head in heads.index(model) if head not in kept[kind, layer]]


def _train_only(model, kinds: tuple[str, ...]) -> None:
    """With encoder heads alone in question train the encoder's layers and freeze the rest (section 6.2).

    The embeddings stay frozen too (the paper trains the source's): the output layer is tied to their table.
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
        yield run(method["like"])
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
    subject = subject_of(spec["start"])
    given = {"model": subject.model, "batches": subject.batches(), "explained": subject.batches(4096, spec["few"])}
    columns = measures.table.columns(given, map(called, CRITERIA))
    stored = {called(name): name for name in CRITERIA}
    columns.rename(columns=stored)[list(CRITERIA)].to_csv(place.results / "heads.csv")


SCORES = study.Kind("scores", 1, _score, lambda spec: subjects.needs(spec["start"]))


def column(table: study.Recipe, kinds: Sequence[str], by: str) -> pd.Series:
    """What heads are worth by a column of a head table (`helpers.methods.contest.runs`).

    Raises
    ------
    StudyError
        If the table has no such column.
    """
    worths = pd.read_csv(table.results / "heads.csv", index_col=list(ADDRESS), keep_default_na=False, na_values=["nan", ""])
    worths = worths[worths.index.isin(kinds, level="kind")]
    if by not in worths:
        raise StudyError(f"The head table has no column {by!r} to choose heads by: write one of {', '.join(worths)}.")
    return worths[by].astype(float)


def drawn(start: Mapping[str, Any], index: pd.MultiIndex, draw: int) -> pd.Series:
    """Random numbers on the heads of a model, the same for the same draw."""
    return removal.shuffled(index, start.get("seed", 0), draw)


def counts(runs: Iterable[Mapping[str, Any]], kinds: Sequence[str]) -> list[int]:
    """How many heads of some kinds runs kept, each number one time."""
    return sorted({sum(len(left) for (kind, _), left in retained(run).items() if kind in kinds) for run in runs})
