"""The runs of a pruning sweep as jobs that can run side by side, each a command of its own.

A *job* makes one run and its translations, or what several runs need: the scores that heads are chosen by, the heads removed at
once. `python -m helpers.methods.pruning_jobs JOB.json` makes what is missing of it; the results are those of the whole sweep
(`helpers.methods.pruning.make`), to the byte.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from helpers import study, subjects
from helpers.methods import pruning


def jobs(sweep: Mapping[str, Any], at_once: bool = True) -> list[dict[str, Any]]:
    """All runs of a sweep as jobs, those that others wait for before them.

    Parameters
    ----------
    sweep : mapping
        As `helpers.methods.pruning.sweep` makes it.
    at_once : bool
        Whether heads are also removed at once by every criterion, which notebook 03 shows of its own sweeps.

    Returns
    -------
    list of dict
        "name", "needs" (keys of the jobs to be made before) and one of "run" (a run's spec, with "beam"), "scores" (arguments
        of `helpers.methods.pruning.scores`), "sweep" (what `helpers.methods.pruning.one_shot` takes). There is nothing in a job
        but what its result depends on: it has the same key in larger studies.
    """
    settings, encoder = sweep["settings"], list(sweep["kinds"]) == ["encoder"]
    label = f"{sweep['name']}, seed {sweep['seed']}, {'encoder heads' if encoder else 'all kinds'}"
    found: list[dict[str, Any]] = []
    made: dict[str, str] = {}  # run -> its job
    once = at_once and encoder and bool(settings["pruning"]["compared"])
    scores: list[str] = []
    if once or any(run["method"]["name"] == "cut" for run in sweep["runs"].values()):
        wanted = {"start": sweep["start"], "few": settings["relevance"]}
        found.append({"name": f"{label}: scores", "needs": [], "scores": wanted})
        scores = [study.key(found[0])]

    def add(name: str, run: Mapping[str, Any]) -> None:
        method = run["method"]
        needs = [made[study.key(method["like"])]] if "like" in method else []
        needs += scores if method["name"] == "cut" else []
        found.append({"name": f"{label}: {name}", "needs": needs, "run": run, "beam": settings["pruning"]["beam"]})
        made[study.key(run)] = study.key(found[-1])

    for imitates in (False, True):
        for name, run in sweep["runs"].items():
            if ("like" in run["method"]) == imitates:
                add(name, run)
    if once:
        gated = {name: run for name, run in sweep["runs"].items() if run["method"]["name"] == "l0"}
        alone = {**bare(sweep), "runs": gated}
        needs = [*scores, *(made[study.key(run)] for run in gated.values())]
        found.append({"name": f"{label}: heads removed at once", "needs": needs, "sweep": alone})
    return found


def bare(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """A sweep without settings that nothing in it depends on, so that it has the same key in larger studies."""
    return {**sweep, "settings": {name: sweep["settings"][name] for name in ("relevance", "training", "pruning")}}


def make(job: Mapping[str, Any]) -> None:
    """Make what is missing of a job; a run that was killed goes on where it last saved."""
    if "scores" in job:
        pruning.scores(**job["scores"])
    elif "sweep" in job:
        pruning.one_shot(job["sweep"])
    else:
        pruning.made(job["run"], job["name"])
        for split in subjects.of(job["run"]["start"], "").tests:
            pruning.translations(job["run"], split, job["beam"])


def main(arguments: Iterable[str] | None = None) -> None:
    """Make what a job file describes if it is not in the store yet."""
    study.run_file(make, "job", "helpers.methods.pruning_jobs.jobs", ("name", "needs"), arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
