"""Sentence pairs a second that the controlled corpus's generator makes, by language and register.

Nothing is timed before the generator made the same pairs twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pandas as pd

from benchmarks import common
from helpers import world
from helpers.corpora import LANGUAGES, REGISTERS

SIZES = {"tiny": 100, "laptop": 5000, "base": 5000}  # pairs


def check(register: str, language: str, count: int) -> None:
    """Stop unless the generator makes the same pairs twice.

    Raises
    ------
    SystemExit
        If it does not.
    """
    first, second = (world.generate(register, language, count, seed=1) for _ in range(2))
    if first != second:
        raise SystemExit(f"{language} {register}: the generator made other pairs the second time; nothing was timed.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "generator_speed", arguments)
    options.device = "cpu"  # whatever is asked
    count, repeats, rows = SIZES[options.size], options.repeats or 5, []
    for register in REGISTERS:
        for language in LANGUAGES:
            check(register, language, count)
            speeds = []
            for repeat in range(repeats):
                started = time.perf_counter()
                world.generate(register, language, count, seed=2 + repeat)
                speeds.append(count / (time.perf_counter() - started))
            rows.append(common.row(f"{language} {register}", f"{count} pairs", "pairs/s", speeds))
            print(f"{language} {register:10} pairs/s: median {rows[-1]['value']:7.0f} ({min(speeds):.0f} to {max(speeds):.0f})")
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    common.keep("generator_speed", frame, common.facts(options, repeats, 0.0, 0.0))


if __name__ == "__main__":
    main()
