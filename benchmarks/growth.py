"""How the cost of measures grows with the length of sentences, heads and layers of a model, and the size of a corpus.

Each is varied alone: sentences have the standing length, models the size's shape (a layer's width is split over more heads),
and a corpus comes in batches of as many sentences as the others have in all. The exponent is the slope of log seconds on log
size, fitted within each repeat; its median and quartiles over repeats are what is reported. Every repeat runs every measure
at every point once, in random order. At small sizes the exponent is that of what a call costs at all. Nothing is timed before
every measure was found equal to its obvious form at the first length.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import common, head_statistics, importance_speed, relevance_speed
from helpers.measures.lrp import RULES, explain
from helpers.measures.worth import importance

AXES = {  # "standing": length, and sentences a batch
    "tiny": {"length": (4, 8, 16), "heads": (2, 8), "layers": (1, 3), "sentences": (2, 8), "standing": (4, 2)},
    "laptop": {
        "length": (16, 32, 64, 128, 256), "heads": (2, 4, 8, 16), "layers": (1, 2, 4, 8), "sentences": (2, 4, 8, 16),
        "standing": (32, 2),
    },
    "base": {
        "length": (16, 32, 64, 128), "heads": (4, 8, 16), "layers": (2, 4, 6), "sentences": (1, 2, 4, 8), "standing": (16, 1),
    },
}  # fmt: skip
REPEATS = 3
STATISTICS = "confidence and positional"


@dataclass
class Case:
    """A model with random weights and sentences of one length; without trees."""

    model: Any
    batches: list[dict[str, torch.Tensor]]
    arcs: None = None


def case(size: str, axis: str, point: int, device: str = "cpu") -> Case:
    """What is measured at a point of an axis."""
    shape, (length, sentences) = common.SIZES[size], AXES[size]["standing"]
    shape = shape | ({axis: point} if axis in shape else {})
    length = point if axis == "length" else length
    count = point if axis == "sentences" else sentences
    whole = common.batch(shape, count, length, device)
    parts = [{name: value[first : first + sentences] for name, value in whole.items()} for first in range(0, count, sentences)]
    return Case(common.marian(shape, positions=max(*AXES[size]["length"], length) + 1, device=device), parts)


def measures(found: Case) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    calls = {f"relevance, {rule}": partial(explain, found.model, found.batches, rule) for rule in RULES}
    calls[STATISTICS] = partial(head_statistics.in_one_pass, found.model, found)
    for per in ("example", "token"):
        calls[f"importance per {per}"] = partial(importance, found.model, found.batches, per=per, norm=None)
    return calls


def check(found: Case, calls: Mapping[str, Callable[[], Any]]) -> float:
    """Largest difference of a measure from its obvious form; stop if it is too large."""
    first, gaps = {name: value[:1] for name, value in found.batches[0].items()}, []
    for rule in RULES:
        slow = relevance_speed.obvious(found.model, first, rule)
        fast = calls[f"relevance, {rule}"]().values[: len(slow)]
        gaps.append(common.agree(f"relevance, {rule}", fast, slow, relevance_speed.TOLERANCE))
    with tempfile.TemporaryDirectory() as folder:
        eager = head_statistics.eager(found.model)
        gaps.append(head_statistics.check(calls[STATISTICS](), head_statistics.from_disk(eager, found, Path(folder))))
    examples = importance_speed.single(found)
    for per, slow in (("example", importance_speed.obvious_per_example), ("token", importance_speed.obvious_per_token)):
        name = f"importance per {per}"
        gaps.append(common.agree(name, calls[name](), slow(found.model, examples), importance_speed.TOLERANCE))
    return max(gaps)


def exponents(seconds: pd.DataFrame) -> np.ndarray:
    """Slope of log seconds on log size of each repeat: columns are sizes."""
    sizes = np.log(np.array(seconds.columns, float))
    return np.polyfit(sizes, np.log(seconds.to_numpy()).T, 1)[0]


def measure(size: str, axis: str, repeats: int, device: str) -> pd.DataFrame:
    """Seconds of every measure at every point of an axis: [repeat, (measure, point)]."""
    cases = {point: measures(case(size, axis, point, device)) for point in AXES[size][axis]}
    runs = {f"{name} at {point}": call for point, calls in cases.items() for name, call in calls.items()}
    seconds = common.interleaved(runs, repeats)
    pairs = [(name, point) for point, calls in cases.items() for name in calls]
    return seconds.set_axis(pd.MultiIndex.from_tuples(pairs, names=["measure", "point"]), axis=1)


def table(axis: str, seconds: pd.DataFrame, setting: str) -> list[dict[str, Any]]:
    """The rows of an axis: the exponent of each measure, and seconds at each point, whose size is the note."""
    rows = []
    for name in seconds.columns.unique("measure"):
        own = seconds[name]
        said = f"{axis} {', '.join(map(str, own.columns))}; {setting}"
        rows.append(common.row(name, axis, "exponent", exponents(own), said))
        rows += [common.row(name, f"{axis} = {point}", "seconds", own[point], setting) for point in own]
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "growth", arguments)
    size, repeats = options.size, options.repeats or REPEATS
    axes = [axis for axis in AXES[size] if axis != "standing"]
    length, sentences = AXES[size]["standing"]
    shortest = case(size, "length", AXES[size]["length"][0], options.device)
    gap = check(shortest, measures(shortest))
    setting = f"else {common.words(size)}, {common.SIZES[size]['heads']} heads, {sentences} sentences of {length} tokens"
    print(f"{setting}, {torch.get_num_threads()} threads, {repeats} repeats; exponents, median and quartiles over repeats")
    print(f"values are equal to those of the obvious forms (gap: {gap:.0e} of the largest)\n", flush=True)
    rows = []
    for axis in axes:
        own = table(axis, measure(size, axis, repeats, options.device), setting)
        for row in own:
            if row["quantity"] == "exponent":
                shown = f"{row['value']:6.2f} [{row['low']:.2f}, {row['high']:.2f}]"
                print(f"{row['what']:<28}{axis:<11}{shown}  ({row['note'].partition(';')[0]})", flush=True)
        rows += own
    common.keep("growth", pd.DataFrame(rows), common.facts(options, repeats, gap, relevance_speed.TOLERANCE))


if __name__ == "__main__":
    main()
