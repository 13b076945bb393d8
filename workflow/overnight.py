"""Make long runs one after another: `python workflow/overnight.py PART ...`. Killed, it goes on where it was.

Parts: sizes, strengths, main, numbers, wide (helpers.methods.grouping.regimes); once, matched (helpers.methods.contest).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import torch

from helpers import study
from helpers.methods import contest
from helpers.methods.contest import matched
from helpers.methods.grouping import regimes, runs
from helpers.runs import subjects

TRAIN, DROPOUT, STRENGTH = 20_000, 0.0, 30.0  # by the rules of docs/regimes.md


def recipes(part: str, seeds: int) -> Iterator[study.Recipe]:
    """What a part makes, in the order of its worth."""
    settings = study.settings("regimes")
    if part in ("once", "matched"):
        for job in contest.runs.jobs(settings, subjects.names(settings), 1):
            if job["name"] == "ru-news" and job["sweep"]["kinds"] == ["encoder"] and job["seed"] <= seeds:
                yield from [matched.at_once(job["sweep"])] if part == "once" else matched.recipes(job["sweep"])
        return
    ways = {
        "sizes": regimes.sizes,
        "strengths": lambda: regimes.strengths(TRAIN, DROPOUT),
        "main": lambda: regimes.main(TRAIN, DROPOUT, STRENGTH, seeds),
        "numbers": lambda: regimes.numbers(TRAIN, DROPOUT, STRENGTH, seeds),
        "wide": lambda: map(regimes.paper_heads, regimes.main(TRAIN, DROPOUT, STRENGTH, seeds)),
    }
    if part == "strengths":  # whether heads are grouped is seen after stage 1
        yield from (runs.run(runs.stages(regimes.spec(settings, row))[0], "stage 1") for row in ways[part]())
        return
    yield from (regimes.recipe(settings, row) for row in ways[part]())


def main() -> None:
    """Make the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with study.one_sentence():
        for part in chosen.parts:
            for recipe in recipes(part, chosen.seeds):
                study.say(f"{part}: {recipe.label}")
                study.make(recipe)


if __name__ == "__main__":
    main()
