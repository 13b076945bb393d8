"""Sentence pairs a second that the controlled corpus's generator makes, by language and register.

`python -m benchmarks.generator_speed [--sentences N] [--json PATH]`
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from helpers import study
from helpers.corpora import LANGUAGES, REGISTERS, controlled


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generator_speed", description=__doc__)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    rows = {}
    for register in REGISTERS:
        for language in LANGUAGES:
            again = [controlled.generate(register, language, chosen.sentences, seed=1) for _ in range(2)]
            assert again[0] == again[1], "the generator must be deterministic"
            times = []
            for repeat in range(chosen.repeats):
                started = time.perf_counter()
                controlled.generate(register, language, chosen.sentences, seed=2 + repeat)
                times.append(chosen.sentences / (time.perf_counter() - started))
            rows[f"{language} {register}"] = [min(times), statistics.median(times), max(times)]
            print(f"{language} {register:10} pairs/s: median {rows[f'{language} {register}'][1]:7.0f}"
                  f" ({min(times):.0f} to {max(times):.0f})")  # fmt: skip
    if chosen.json:
        study.write_json(chosen.json, {"pairs a second (min, median, max)": rows, **study.provenance()})


if __name__ == "__main__":
    main()
