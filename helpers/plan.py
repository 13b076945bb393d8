"""What a study has to make: its jobs in order, what of them is missing, and what that will cost.

A *job* is a command that makes what is missing of one thing: a text, a training run, an analysis of runs; each notebook needs
some of them. The workflow runs the jobs, the longest chains first; `python -m helpers.plan` lists what is missing of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from helpers import study, subjects
from helpers.methods import comparison, grouped, injection, pruning, pruning_jobs

FAR = math.log(100)  # a run of a hundredth of the work says nothing: most of it went into starting
STATED = 1e-10  # seconds a weight and token in training, one core: six operations at sixty thousand million a second
COMMANDS = {  # what makes a job of each kind from its file
    "corpus": "helpers.corpora {file}",
    "model": "helpers.training {file} --threads 1 --translate --beam {beam} --label '{name}'",
    "pruning": "helpers.methods.pruning_jobs {file} --threads 1",
    "grouped": "helpers.methods.grouped {file} --threads 1",
    "injection": "helpers.methods.injection {file} --threads 1",
    "comparison": "helpers.methods.comparison {file} --threads 1",
}
_MADE_FROM = ("model", "pruned", "contest", "grouped", "injection")  # what translations name their run by


# --- jobs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """What a job makes: a spec, and its place in the store."""

    name: str
    store: str
    spec: Mapping[str, Any]

    @cached_property
    def folder(self) -> Path:
        """Where it lies or will lie."""
        return study.place(study.data() if self.store == "corpora" else study.runs(), self.store, self.spec)

    @property
    def missing(self) -> bool:
        """Whether it is still to be made; files are not checked."""
        return not (self.folder / "made.json").exists()


@dataclass(frozen=True)
class Job:
    """One command of the workflow.

    Attributes
    ----------
    kind : str
        One of `COMMANDS`.
    described : mapping
        What the command's file holds.
    needs : tuple of str
        Ids of the jobs to be made before.
    makes : tuple of Thing
        What it puts into the store, each with translations of its own where it is a model.
    """

    kind: str
    name: str
    described: Mapping[str, Any]
    needs: tuple[str, ...]
    makes: tuple[Thing, ...]

    @cached_property
    def id(self) -> str:
        """Kind and key, such as "model-0123456789abcdef": the name of the job's stamp."""
        return f"{self.kind}-{study.key(self.described)}"


def with_seeds(overrides: str, seeds: int) -> str:
    """Overrides as text that ask for `seeds` seeds of everything that can have several; what `overrides` says wins.

    Raises
    ------
    StudyError
        If there are fewer than one.
    """
    if seeds < 1:
        raise study.StudyError(f"There must be one seed or more, not {seeds}: write SEEDS=3, for example.")
    return " ".join([f"{name}={seeds}" for name in ("seeds", "grouping.seeds", "coreference.seeds")] + overrides.split())


def jobs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> tuple[dict[str, Job], dict[str, list[str]]]:
    """All jobs of a study.

    Parameters
    ----------
    settings : mapping
        As of `helpers.study.settings`.
    names : sequence of str
        Of the models to study (`helpers.subjects.names`).
    seed : int
        The first seed.

    Returns
    -------
    jobs : dict of Job
        By id, those that others wait for before them.
    notebooks : dict of list of str
        Ids of the jobs that each notebook needs, in the notebooks' order.
    """
    found: dict[str, Job] = {}

    def add(kind: str, name: str, described: Mapping[str, Any], needs: Iterable[str], makes: Iterable[Thing]) -> str:
        job = Job(kind, name, described, tuple(dict.fromkeys(needs)), tuple(makes))
        return found.setdefault(job.id, job).id

    def corpus(spec: Mapping[str, Any]) -> str:
        name = " ".join(str(spec[part]) for part in ("name", "language", "register", "seed") if part in spec)
        return add("corpus", f"text {name}", spec, [], [Thing(f"text {name}", "corpora", spec)])

    def model(name: str, spec: Mapping[str, Any]) -> str:
        return add("model", name, spec, [corpus(spec["corpus"])], [Thing(name, "models", spec)])

    def models(chosen: Iterable[str]) -> list[str]:
        return [model(name, subjects.spec(settings, name, seed)) for name in chosen]

    # no encoder attention from the start
    main, control = models(names), models([names[0] + subjects.NONE] if settings["corpus"] == "controlled" else [])
    pruned: dict[str, list[str]] = {}  # sweep -> its model and its jobs
    for sweep in comparison.sweeps(settings, names, seed):
        more = f", seed {sweep['seed']}" if sweep["seed"] != seed else ""
        start, ids = model(sweep["name"] + more, sweep["start"]), {}
        for one in pruning_jobs.jobs(sweep, at_once=sweep["seed"] == seed):
            needs = [start, *(ids[key] for key in one["needs"])]
            ids[study.key(one)] = add("pruning", one["name"], one, needs, _pruned(one))
        pruned[study.key(sweep)] = [start, *ids.values()]
    first = [id for sweep in pruning.sweeps(settings, names, seed) for id in pruned[study.key(sweep)]]
    converged, in_groups = models(grouped.converged(settings, names)), []
    for one in grouped.jobs(settings, seed, grouped.start(settings, names, seed)):
        needs = [corpus(spec["corpus"]) for spec in one["runs"].values()]
        needs += converged if any(map(grouped.origin, one["runs"].values())) else []
        in_groups.append(add("grouped", one["name"], one, needs, _grouped(one)))
    injected: dict[str, str] = {}
    for one in injection.jobs(settings, seed):
        needs = [corpus(row["run"]["corpus"]) for row in one["rows"].values()] + [injected[key] for key in one["needs"]]
        injected[study.key(one)] = add("injection", one["name"], one, needs, _injected(one["name"], one["rows"]))
    makers = {thing.folder: id for id in reversed(injected.values()) for thing in found[id].makes}
    compared = []
    for one in comparison.jobs(settings, names, seed):
        name = f"{one['name']}, seed {one['seed']}: measures compared"
        if "sweep" in one:
            needs, makes = pruned[study.key(one["sweep"])], list(_contest(name, one))
            one = one | {"sweep": pruning_jobs.bare(one["sweep"])}
        else:
            makes = list(_injected(name, {"plain": one}))
            needs = [corpus(one["run"]["corpus"]), *(makers[thing.folder] for thing in makes if thing.folder in makers)]
        compared.append(add("comparison", name, one, needs, makes))
    return (
        found,
        {  # but for notebook 07, which make bench runs
            "00_your_own_model": main[:1],
            "01_relevance_and_confidence": [*main, *control],
            "02_head_functions": main,
            "03_l0_pruning": [*control, *first],
            "04_grouped_heads": [*converged, *in_groups],
            "05_coreference_injection": [*injected.values()],
            "06_do_measures_agree": compared,
        },
    )


def chosen(notebooks: Mapping[str, list[str]], only: str | int | None) -> dict[str, list[str]]:
    """Some notebooks, by name or number, separated by spaces ("03 06"); all of them if none is named.

    A lone number may be an integer: so Snakemake reads it from its command line.

    Raises
    ------
    StudyError
        If there is no such notebook.
    """
    names = [f"{only:02d}"] if isinstance(only, int) else (only or "").split()
    found = {name: [full for full in notebooks if name in (full, full.partition("_")[0])] for name in names}
    if unknown := [name for name, full in found.items() if not full]:
        raise study.StudyError(f"There is no notebook {unknown[0]!r} in the workflow: choose from {', '.join(notebooks)}.")
    wanted = [full for names in found.values() for full in names] or list(notebooks)
    return {name: ids for name, ids in notebooks.items() if name in wanted}


def _pruned(job: Mapping[str, Any]) -> Iterator[Thing]:
    if "run" in job:
        yield Thing(job["name"], "pruned", job["run"])


def _grouped(job: Mapping[str, Any]) -> Iterator[Thing]:
    for name, spec in job["runs"].items():
        stages = grouped.stages(spec)
        for number, run in enumerate(stages, 1):
            yield Thing(f"{job['name']}: {name}, {number} of {len(stages)}", "grouped", run)


def _injected(job: str, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Thing]:
    for name, row in rows.items():
        run = row["run"]
        while "stage" in run:
            yield Thing(f"{job}: {name}, stage {run['stage']}", "injection", run)
            run = run.get("start", {})


def _contest(name: str, job: Mapping[str, Any]) -> Iterator[Thing]:
    for run, spec in comparison.contest(job).items():
        yield Thing(f"{name}: {run}", "contest", spec)


def command(job: Job, file: Path, beam: int) -> str:
    """The arguments of Python that make a job.

    Parameters
    ----------
    file : pathlib.Path
        Where `job.described` lies as JSON.
    beam : int
        Of the models' translations.
    """
    return "-m " + COMMANDS[job.kind].format(file=file, beam=beam, name=job.name)


# --- what it costs ---------------------------------------------------------------------------------------------------


def work(store: str, spec: Mapping[str, Any]) -> float | None:
    """How much there is to do for a spec, in units that grow as its seconds do; None where the spec does not tell.

    Of a training run steps x tokens a batch x weights (matrices of `helpers.methods.grouped.weights`, and the output layer);
    of a text its training examples.
    """
    if store == "corpora":
        return float(spec["train"]) or None
    plan, corpus = spec["training"], _found(spec, "corpus")
    shape = _found(spec, "shape") or _found(spec, "model")
    if not shape or not corpus:
        return None  # a pretrained model
    size = grouped.weights(shape) + shape["width"] * corpus.get("vocabulary", 0)
    return float(plan["steps"] * plan["batch_tokens"] * size)


def _found(spec: Mapping[str, Any], part: str) -> Mapping[str, Any] | None:
    """A part of a spec, or of what it starts from."""
    while part not in spec and "start" in spec:
        spec = spec["start"]
    return spec.get(part)


def method(store: str, spec: Mapping[str, Any]) -> str:
    """What is done in a run, as far as a step's cost goes."""
    if store in ("pruned", "contest"):
        return f"pruned, {spec['method']['name']}"
    if store == "corpora":
        return f"{spec['corpus']} text"
    if store == "injection" and "holes" in spec:
        return "injection, holes"
    part = {"grouped": "objective", "injection": "control"}.get(store, "")
    return f"{store}, {spec.get(part, {}).get('form', 'plain')}"


class Rates:
    """Seconds a unit of `work`, from what lies in the store.

    A run's translations count as part of it. Of runs alike the five nearest in work count, by their median, if they are not far
    from it (`FAR`); those of this machine are preferred to others'.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, bool], list[tuple[float, float]]] = {}
        here, translated = study.hardware(), {}
        for made in self._made(study.runs() / "translations"):
            key = next((made["spec"][name] for name in _MADE_FROM if name in made["spec"]), "")
            translated[key] = translated.get(key, 0.0) + made["seconds"]
        for store in ("corpora", "models", "pruned", "contest", "grouped", "injection"):
            for made in self._made((study.data() if store == "corpora" else study.runs()) / store):
                units = work(store, made["spec"])
                if units:
                    seconds = made["seconds"] + translated.get(study.key(made["spec"]), 0.0)
                    like = method(store, made["spec"]), made["hardware"] == here
                    self._found.setdefault(like, []).append((units, seconds / units))

    @staticmethod
    def _made(folder: Path) -> Iterator[dict[str, Any]]:
        """What the store says of the things in a folder."""
        for file in sorted(folder.glob("[0-9a-f]*/made.json")):
            made = json.loads(file.read_text(encoding="utf-8"))
            if {"spec", "seconds", "hardware"} <= set(made):
                yield made

    def estimate(self, thing: Thing) -> tuple[float | None, str]:
        """Seconds that making a thing will take on one core, and what that rests on; None where nothing tells."""
        units, like = work(thing.store, thing.spec), method(thing.store, thing.spec)
        if not units:
            return None, "not known"
        for here in (True, False):
            apart = [(abs(math.log(other / units)), rate) for other, rate in self._found.get((like, here), ())]
            if nearest := sorted(one for one in apart if one[0] < FAR)[:5]:
                rate = statistics.median(rate for _, rate in nearest)
                return units * rate, f"{len(nearest)} recorded" + ("" if here else " elsewhere")
        if thing.store == "corpora":
            return None, "not known"
        return units * STATED, "stated rate"


@dataclass(frozen=True)
class Row:
    """A thing that is missing, the job that makes it, seconds on one core, and what these rest on."""

    thing: Thing
    job: str
    seconds: float | None
    basis: str


def missing(jobs: Mapping[str, Job], rates: Rates) -> list[Row]:
    """What is missing of jobs, each thing once, with the first job that makes it."""
    rows: dict[Path, Row] = {}
    for job in jobs.values():
        for thing in job.makes:
            if thing.folder not in rows and thing.missing:
                rows[thing.folder] = Row(thing, job.id, *rates.estimate(thing))
    return list(rows.values())


def chains(jobs: Mapping[str, Job], rows: Iterable[Row]) -> dict[str, float]:
    """Seconds of the longest chain of jobs that begins with each: itself and what waits for it."""
    own = dict.fromkeys(jobs, 0.0)
    for row in rows:
        own[row.job] += row.seconds or 0.0
    after = dict.fromkeys(jobs, 0.0)
    for job in reversed(jobs.values()):
        for needed in job.needs:
            after[needed] = max(after[needed], own[job.id] + after[job.id])
    return {name: own[name] + after[name] for name in jobs}


# --- the command -----------------------------------------------------------------------------------------------------


def report(jobs: Mapping[str, Job], notebooks: Mapping[str, Sequence[str]], cores: int) -> str:
    """What is missing, by the first notebook that needs it, with core minutes and totals.

    Notebooks themselves, and analyses of runs that have no training, are not counted.
    """
    rows = missing(jobs, Rates())
    lines, told = [], set()
    for notebook, needed in notebooks.items():
        wanted = set(with_needs(jobs, needed))
        mine = [row for row in rows if row.job in wanted and row.job not in told]
        told |= wanted
        lines.append(f"{notebook}: {_sum(mine)}")
        lines += [f"  {_minutes(row.seconds):>8}  {row.basis:<20} {row.thing.name}" for row in mine]
    whole = len({thing.folder for job in jobs.values() for thing in job.makes})
    total = sum(row.seconds or 0.0 for row in rows)
    wall = max(total / cores, max(chains(jobs, rows).values(), default=0.0))
    lines.append(f"made {whole - len(rows)}, missing {_sum(rows)}, on {cores} cores {_minutes(wall)} minutes or more")
    return "\n".join(lines)


def with_needs(jobs: Mapping[str, Job], ids: Iterable[str]) -> Iterator[str]:
    """Jobs by id, and what they need; some more than once."""
    for name in ids:
        yield name
        yield from with_needs(jobs, jobs[name].needs)


def _sum(rows: Sequence[Row]) -> str:
    unknown = sum(row.seconds is None for row in rows)
    more = f" and {unknown} of unknown cost" if unknown else ""
    return f"{len(rows)} runs and texts, {_minutes(sum(row.seconds or 0.0 for row in rows))} core minutes{more}"


def _minutes(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds / 60:,.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """List what is missing of a study, with what it will cost; nothing is made."""
    parser = argparse.ArgumentParser(prog="python -m helpers.plan", description=main.__doc__)
    parser.add_argument("--profile", default="laptop")
    parser.add_argument("--corpus", default="", help="controlled or natural (default: the profile's)")
    parser.add_argument("--models", default="", help='such as "ru-news de-news"')
    parser.add_argument("--overrides", default="", help='such as "training.steps=200"')
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, help="how many (default: the profile's)")
    parser.add_argument("--cores", default="all", help="a number, or all of this machine's")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        text = chosen.overrides if chosen.seeds is None else with_seeds(chosen.overrides, chosen.seeds)
        more = {"corpus": chosen.corpus} if chosen.corpus else {}
        settings = study.settings(chosen.profile, study.parse_overrides(text) | more)
        if chosen.cores != "all" and not (chosen.cores.isdigit() and int(chosen.cores)):
            raise study.StudyError(f"Cores must be a number from 1, or all, not {chosen.cores!r}.")
        cores = len(os.sched_getaffinity(0)) if chosen.cores == "all" else int(chosen.cores)
        print(report(*jobs(settings, subjects.names(settings, chosen.models), chosen.seed), cores))


if __name__ == "__main__":
    main(sys.argv[1:])
