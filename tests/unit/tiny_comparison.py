"""One job of the comparison on the tiny model of `tiny_sweep`, made once for all tests of a session that look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers import study
from helpers.methods import contest
from tests.unit import tiny_sweep

SEED, PRICE = 1, 0.03
CHANGED = {  # runs that `tiny_sweep` makes too, and few others
    "seeds": 1, "pruning.variants": False, "pruning.criteria": ["random"], "pruning.penalties_all": [], "pruning.scratch": [],
    "pruning.all_kinds": 0, "coreference.summarization.steps": 0, "comparison.criteria": ["votes", "syntactic"],
    "comparison.l1.steps": 3, "comparison.votes": 400,
}  # fmt: skip


def settings(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of `tiny_sweep` with what is changed here, and more changes."""
    return tiny_sweep.settings(CHANGED | (changes or {}))


def job(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The one job that these settings ask for."""
    (found,) = contest.runs.jobs(settings(changes), [tiny_sweep.NAME], SEED)
    return found


def go_to(base: Path, patch) -> None:
    """Let the store be the one of `tiny_sweep`."""
    tiny_sweep.go_to(base, patch)


def make() -> dict[str, Any]:
    """The job, after what is missing of it in the store was made."""
    made = job()
    for recipe in contest.runs.recipes(made):
        study.make(recipe, weights=True)
    return made
