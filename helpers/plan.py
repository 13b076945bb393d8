"""What a study has to make, in which order, and what that will cost.

Notebooks read recipes; recipes need recipes. A *job* makes one recipe, with what takes seconds and reads nothing else that is
missing; the workflow runs jobs side by side, the longest chains first. What is made already, or published, is no job.

`python -m helpers.plan` lists what is missing; with `--make FILE` it makes a job.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from helpers import gpu, study
from helpers.experiments import comparison, functions, injection, pruning, relevance
from helpers.experiments import grouping as grouped
from helpers.experiments import pretrained as checkpoints
from helpers.runs import subjects
from helpers.study import Need, Recipe, published

STATED = 7e-11  # seconds a weight and token in training, one core: four of five published runs took half to twice that
A_START = 6.0  # seconds until a job's process is ready
A_NOTEBOOK = 40.0  # seconds that a notebook takes, about, when all that it reads is made
SHARED = 12  # recipes in one job, at most
CLOSE = 4  # in one that others may wait for
COSTLY = ("model", "pruned", "grouped", "injected")  # kinds that train
READ = {  # how much a published thing of a kind reads, about: the number in its spec that says it
    "pairs": ("train", 300_000), "texts": ("train", 60_000), "dialogues": ("train", 60_000), "outputs": ("test", 1000),
    "analysis": ("dev", 1000), "ranking": ("probe", 200), "head table": ("few", 250), "first-order head table": ("few", 250),
    "scores": ("few", 250), "measures removed at once": ("dev", 500), "first-order measures removed at once": ("dev", 500),
}  # fmt: skip


# --- what notebooks read ---------------------------------------------------------------------------------------------


def _functions(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> list[Recipe | Need]:
    more = (*checkpoints.function_recipes(settings), *checkpoints.left_out_recipes(settings))
    return [*functions.needs(settings, names, seed), *more]


NOTEBOOKS: dict[str, Callable[..., Iterable[Recipe | Need]]] = {  # of settings, names of models, and the first seed
    "00_your_own_model": lambda settings, names, seed: (),  # it reads a pretrained model
    "01_relevance_and_confidence": relevance.needs,
    "02_head_functions": _functions,
    "03_l0_pruning": pruning.needs,
    "04_grouped_heads": grouped.needs,
    "05_coreference_injection": lambda settings, names, seed: injection.recipes(settings, seed),
    "06_do_measures_agree": comparison.recipes,
}


def goals(settings: Mapping[str, Any], names: Sequence[str], seed: int, only: str | int | None = "") -> dict[str, list[Need]]:
    """What each notebook that is asked for (`chosen`) reads; `names` are the models to study, `seed` is the first one."""
    read = {name: NOTEBOOKS[name](settings, names, seed) for name in chosen(only)}
    return {name: [one if isinstance(one, Need) else Need(one) for one in needs] for name, needs in read.items()}


def together(notebooks: Mapping[str, Sequence[Need]]) -> list[Need]:
    """What all notebooks read."""
    return [need for needs in notebooks.values() for need in needs]


def chosen(only: str | int | None = "") -> list[str]:
    """Some notebooks, by name or number, separated by spaces ("03 06"); all of them if none is given.

    A lone number may be an integer: so Snakemake reads it from its command line. What is no notebook is a StudyError.
    """
    wanted = [f"{only:02d}"] if isinstance(only, int) else (only or "").split()
    known = {name for full in NOTEBOOKS for name in (full, full.partition("_")[0])}
    if unknown := [name for name in wanted if name not in known]:
        raise study.StudyError(f"There is no notebook {unknown[0]!r} in the workflow: choose from {', '.join(NOTEBOOKS)}.")
    return [full for full in NOTEBOOKS if not wanted or {full, full.partition("_")[0]} & {*wanted}]


def with_seeds(overrides: str, seeds: int) -> str:
    """Overrides as text that ask for `seeds` seeds of everything that can have several; what `overrides` says wins."""
    if seeds < 1:
        raise study.StudyError(f"There must be one seed or more, not {seeds}: write SEEDS=3, for example.")
    return " ".join([f"{name}={seeds}" for name in ("seeds", "grouping.seeds", "coreference.seeds")] + overrides.split())


def closure(needs: Iterable[Need], there: Callable[[Need], bool] = lambda need: False) -> dict[Recipe, bool]:
    """Recipes with all that they need, each only the first time and after what it needs; whether weights are wanted.

    Where `there` says that a need is met it is left out, with what it needs itself.
    """
    recipes: dict[Recipe, bool] = {}
    seen: set[Need] = set()

    def walk(need: Need) -> None:
        if need in seen:
            return
        seen.add(need)
        if there(need):
            return
        if need.recipe not in recipes:
            for one in need.recipe.needs:
                walk(one)
            recipes[need.recipe] = False
        recipes[need.recipe] |= need.weights

    for need in needs:
        walk(need)
    return recipes


def missing(needs: Iterable[Need]) -> dict[Recipe, bool]:
    """`closure` of what is neither in the store nor published."""
    return closure(needs, lambda need: need.recipe.made(need.weights))


# --- jobs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One command of the workflow."""

    made: tuple[Need, ...]  # the recipe that is made, and others that are made with it, in order
    needs: tuple[str, ...]  # ids of the jobs to be done before

    @property
    def first(self) -> Recipe:
        """The recipe that gives the job its name."""
        return self.made[0].recipe

    @property
    def id(self) -> str:
        """Kind and key, such as "model-0123456789abcdef": the name of the job's stamp."""
        return f"{self.first.kind.name.replace(' ', '_')}-{self.first.key}"

    @cached_property
    def described(self) -> list[list[Any]]:
        """What the job's file holds: kind, spec, label and weights of each."""
        return [[need.recipe.kind.name, need.recipe.spec, need.recipe.label, need.weights] for need in self.made]


def jobs(wanted: Mapping[Recipe, bool]) -> dict[str, Job]:
    """The jobs that make what is `missing`, by id, those that others wait for before them.

    What takes seconds is made in the job of the one thing that it waits for; what waits for the same shares jobs.
    """
    made: dict[Recipe, list[Need]] = {}  # by the recipe that names the job
    owner: dict[Recipe, Recipe] = {}
    waits: dict[Recipe, dict[Recipe, None]] = {}
    open_to: dict[frozenset[Recipe], Recipe] = {}
    for recipe, weights in wanted.items():
        before = dict.fromkeys(owner[need.recipe] for need in recipe.needs if need.recipe in owner)
        costly, lead = frozenset(one for one in before if not one.kind.text), recipe
        if recipe.kind.job == "with" and len(costly) == 1 and len(made[next(iter(costly))]) < CLOSE:
            (lead,) = costly
        elif recipe.kind.job != "own":
            lead = open_to.get(costly, recipe)
            lead = recipe if len(made.get(lead, ())) >= SHARED else lead
            open_to[costly] = lead
        owner[recipe] = lead
        made.setdefault(lead, []).append(Need(recipe, weights))
        waits.setdefault(lead, {}).update({one: None for one in before if one != lead})
    ids = {recipe: Job(tuple(needs), ()).id for recipe, needs in made.items()}
    every = {recipe: Job(tuple(needs), tuple(ids[one] for one in waits[recipe])) for recipe, needs in made.items()}
    first = sorted(every, key=lambda recipe: not recipe.kind.text)  # a light recipe may read a text that its job does not
    return {ids[recipe]: every[recipe] for recipe in first}


def of_notebooks(jobs: Mapping[str, Job], notebooks: Mapping[str, Sequence[Need]]) -> dict[str, list[str]]:
    """The jobs that each notebook waits for, by id."""
    owner = {need.recipe: id for id, job in jobs.items() for need in job.made}
    return {name: list(dict.fromkeys(owner[recipe] for recipe in missing(needs))) for name, needs in notebooks.items()}


def write(path: Path, notebooks: Mapping[str, Sequence[Need]], stamps: Path, cores: int = 1) -> None:
    """Write a plan: jobs with what they make, what they wait for and how long they and their chains take, and what notebooks
    wait for; say what will happen. What is to be made has no stamp in the folder `stamps` of the workflow.
    """
    planned = jobs(missing(together(notebooks)))
    made, each = costs(planned)
    longest = chains(planned, each)
    described = {
        id: {"made": job.described, "needs": list(job.needs), "chain": round(longest[id]), "seconds": round(each[id], 1),
             "label": job.first.label}
        for id, job in planned.items()
    }  # fmt: skip
    for id in planned:
        (stamps / id).unlink(missing_ok=True)
    waiting = of_notebooks(planned, notebooks)
    study.write_json(path, {"jobs": described, "notebooks": waiting, "cores": cores, "a_notebook": A_NOTEBOOK})
    study.say(counted(together(notebooks)))
    study.say(f"first {_sum(made.values())}, {_wall(longest, each, cores)}" if made else "nothing is missing")
    study.say(_last(notebooks, cores))
    study.say(f"executed notebooks, figures and tables will lie in {path.parent}")
    study.say("Ctrl-C stops, and the same command goes on where it was")


def outdate(run: Path, names: Iterable[str], asked: Mapping[str, Any]) -> None:
    """Date back notebooks of a run that were executed with other parameters, in whichever checkout: they are made again."""
    for path in filter(Path.exists, (run / f"{name}.ipynb" for name in names)):
        if not asked.items() <= study.read_json(path)["metadata"].get("papermill", {}).get("parameters", {}).items():
            os.utime(path, (1, 1))  # Snakemake takes the time 0 for none


def make_job(path: Path) -> None:
    """Make what a job's file holds; a StudyError if it is none."""
    described = study.read_json(path)
    if not isinstance(described, list) or not all(isinstance(one, list) and len(one) == 4 for one in described):
        raise study.StudyError(f"{path} holds no job: let make study write it.")
    for kind, spec, label, weights in described:
        study.make_together(study.kind(kind).of(spec, label), weights)


# --- what it costs ---------------------------------------------------------------------------------------------------


def work(kind: str, spec: Mapping[str, Any]) -> float | None:
    """Steps x tokens a batch x weights of a training run; None of a pretrained model, and of what does not train.

    Weights are those of `grouped.runs.weights`, and of the output layer.
    """
    shape, corpus = (_part(spec, "shape") or _part(spec, "model"), _part(spec, "corpus")) if kind in COSTLY else (None, None)
    if not shape or not corpus:
        return None
    return float(tokens(spec) * (grouped.runs.weights(shape) + shape["width"] * corpus.get("vocabulary", 0)))


def _part(spec: Mapping[str, Any], part: str) -> Mapping[str, Any] | None:
    while part not in spec and "start" in spec:
        spec = spec["start"]
    return spec.get(part)


def tokens(spec: Mapping[str, Any]) -> int:
    """Tokens that a training reads at most, source, target and padding; "scratch" first reads those of the whole model."""
    plans = [spec["training"]] + ([spec["start"]["training"]] if spec.get("method", {}).get("name") == "scratch" else [])
    return sum(plan["steps"] * plan["batch_tokens"] for plan in plans)


def share(kind: str, spec: Mapping[str, Any]) -> float:
    """How much a thing reads of what a published one of its kind reads, about (`READ`)."""
    name, usual = READ.get(kind, ("", 1))
    return min(1.0, (_number(spec, name) or usual) / usual)


def _number(part: Any, name: str) -> int | None:
    if isinstance(part, Mapping):
        if name in part:
            return part[name]
        part = list(part.values())
    found = (_number(one, name) for one in part) if isinstance(part, list) else ()
    return next((number for number in found if number is not None), None)


class Rates:
    """Seconds that things take: of what trains by its `work`, of others the median of their kind, here and published, or as
    small a part of it as they read (`share`).

    On a GPU its own records alone count, and what training takes is not known.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self.gpu = gpu.made_on() == gpu.GPU
        here = study.hardware() if not self.gpu or gpu.present() else "a GPU elsewhere"
        stored = [file for root in (study.data(), study.runs()) for file in sorted(root.glob("*/[0-9a-f]*/made.json"))]
        for made in (*map(study.read_json, stored), *published.index().values()):
            if "seconds" in made and (not self.gpu or made.get("hardware") == here or study.kind(made["kind"]).text):
                self._seconds.setdefault(made["kind"], []).append(made["seconds"])

    def estimate(self, recipe: Recipe) -> float | None:
        """Seconds on one core that making a recipe will take, None where they are not known."""
        kind = recipe.kind.name
        if kind in COSTLY:
            units = work(kind, recipe.spec)
            return None if self.gpu or not units else units * STATED
        return share(kind, recipe.spec) * statistics.median(self._seconds[kind]) if kind in self._seconds else None


def costs(jobs: Mapping[str, Job]) -> tuple[dict[Recipe, float | None], dict[str, float]]:
    """Seconds of each thing that jobs make, None where they are not known, and of each job by what is known, with its start."""
    rates = Rates()
    made = {need.recipe: rates.estimate(need.recipe) for job in jobs.values() for need in job.made}
    return made, {id: A_START + sum(made[need.recipe] or 0.0 for need in job.made) for id, job in jobs.items()}


def chains(jobs: Mapping[str, Job], each: Mapping[str, float]) -> dict[str, float]:
    """Seconds of the longest chain of jobs that begins with each: itself and what waits for it."""
    after = dict.fromkeys(jobs, 0.0)
    for id, job in reversed(jobs.items()):
        for needed in job.needs:
            after[needed] = max(after[needed], each[id] + after[id])
    return {name: each[name] + after[name] for name in jobs}


# --- the command -----------------------------------------------------------------------------------------------------


def counted(needs: Iterable[Need]) -> str:
    """In words how many training runs there are behind some recipes, and where they come from."""
    trained = [recipe for recipe in closure(needs) if recipe.kind.name in COSTLY]
    there = [recipe for recipe in trained if recipe.made()]
    taken = sum(published.offers(recipe, False) for recipe in there)
    parts = {"published": taken, "made here": len(there) - taken, "still to be made": len(trained) - len(there)}
    origins = ", ".join(f"{number} {origin}" for origin, number in parts.items() if number)
    return f"{len(trained)} training runs: {origins or 'none'}" + ("; none made here" if taken == len(trained) else "")


def sources(run: study.Run) -> str:
    """`counted` of what a notebook reads, for its first cell."""
    if run.parameters["pretrained"]:
        return f"on {run.parameters['pretrained']}: nothing of it is published, what is missing is made now"
    names = subjects.names(run.settings, run.parameters["models"])
    return counted(together(goals(run.settings, names, run.parameters["seed"], run.name)))


def listed(notebooks: Mapping[str, Sequence[Need]], cores: int) -> str:
    """What is missing, by the first notebook that needs it, with core minutes and totals; without the notebooks themselves."""
    planned = jobs(missing(together(notebooks)))
    made, each = costs(planned)
    lines: list[str] = []
    seen: set[str] = set()
    for notebook, ids in of_notebooks(planned, notebooks).items():
        first = [need.recipe for id in ids if id not in seen for need in planned[id].made]
        seen |= set(ids)
        lines.append(f"{notebook}: {_sum([made[recipe] for recipe in first])}")
        lines += [f"  {_minutes(made[recipe]):>8}  {recipe.label}" for recipe in first]
    lines.append(counted(together(notebooks)))
    lines.append(f"missing: {_sum(made.values())}, {_wall(chains(planned, each), each, cores)}; {_last(notebooks, cores)}")
    return "\n".join(lines)


def _sum(made: Collection[float | None]) -> str:
    unknown = sum(cost is None for cost in made)
    rest = f" and {unknown} of unknown cost" if unknown else ""
    return f"{len(made)} runs, texts and tables, {_minutes(sum(cost or 0.0 for cost in made))} core minutes{rest}"


def _wall(longest: Mapping[str, float], each: Mapping[str, float], cores: int) -> str:
    return f"{_minutes(max(sum(each.values()) / cores, *longest.values(), 0.0))} minutes or more (cores: {cores})"


def _last(notebooks: Collection[str], cores: int) -> str:
    return f"then notebooks ({len(notebooks)}), about {_minutes(math.ceil(len(notebooks) / cores) * A_NOTEBOOK)} minutes"


def _minutes(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds / 60:,.1f}"


def needs_of(arguments: argparse.Namespace) -> dict[str, list[Need]]:
    """What the notebooks of a command's settings read."""
    settings = settings_of(arguments)
    return goals(settings, subjects.names(settings), 1, getattr(arguments, "only", ""))


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that a command's arguments (`options`) ask for; numbers are computed where they say from then on."""
    text = arguments.overrides if arguments.seeds is None else with_seeds(arguments.overrides, arguments.seeds)
    corpus = {"corpus": arguments.corpus} if arguments.corpus else {}
    settings = study.settings(arguments.profile, study.parse_overrides(text) | corpus)
    study.use(settings)
    return settings


def options(parser: argparse.ArgumentParser) -> None:
    """Arguments that say which study is meant."""
    parser.add_argument("--profile", default="laptop")
    parser.add_argument("--corpus", default="", help="controlled or natural (default: the profile's)")
    parser.add_argument("--overrides", default="", help='such as "training.steps=200"')
    parser.add_argument("--seeds", type=int, help="how many (default: the profile's)")


def main(arguments: Sequence[str] | None = None) -> None:
    """List what is missing of a study, with what it will cost; or make what a job's file holds."""
    parser = argparse.ArgumentParser(prog="python -m helpers.plan", description=main.__doc__)
    options(parser)
    parser.add_argument("--cores", default="all", help="a number, or all of this machine's")
    parser.add_argument("--only", default="", help='some notebooks, such as "01 03" (default: all)')
    parser.add_argument("--make", type=Path, metavar="FILE", help="make what a job's file holds, on one core")
    asked = parser.parse_args(arguments)
    with study.one_sentence():
        if asked.make:
            torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
            try:
                return make_job(asked.make)
            except KeyboardInterrupt:
                study.say("stopped: the same command goes on where it was")
                raise SystemExit(130) from None
        if asked.cores != "all" and not (asked.cores.isdigit() and int(asked.cores)):
            raise study.StudyError(f"Cores must be a number from 1, or all, not {asked.cores!r}.")
        print(listed(needs_of(asked), len(os.sched_getaffinity(0)) if asked.cores == "all" else int(asked.cores)))


if __name__ == "__main__":
    main(sys.argv[1:])
