"""How the cost of measures grows with the length of sentences, heads and layers of a model, and the size of a corpus.

Each is varied alone: sentences have the standing length, models the size's shape (a layer's width is split over more heads),
and a corpus comes in batches of as many sentences as the others have in all. The exponent is the slope of log seconds on log
size, fitted within each repeat; its median and quartiles over repeats are what is reported. Every repeat runs every measure
at every point once, in random order. At small sizes the exponent is that of what a call costs at all. Nothing is timed before
every measure was found equal to its obvious form at the first length.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
REPEATS, TOLERANCE = 3, 1e-4  # of the largest value
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
    return Case(common.marian(shape, positions=max(AXES[size]["length"]) + 1, device=device), parts)


def measures(one: Case) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    calls = {f"relevance, {rule}": partial(explain, one.model, one.batches, rule) for rule in RULES}
    calls[STATISTICS] = partial(head_statistics.in_one_pass, one.model, one)
    for per in ("example", "token"):
        calls[f"importance per {per}"] = partial(importance, one.model, one.batches, per=per, norm=None)
    return calls


def check(one: Case, calls: Mapping[str, Callable[[], Any]]) -> float:
    """Largest difference of a measure from its obvious form; stop if it is too large."""
    first, differences = {name: value[:1] for name, value in one.batches[0].items()}, []
    for rule in RULES:
        slow = relevance_speed.obvious(one.model, first, rule)
        fast = calls[f"relevance, {rule}"]().values[: len(slow)]
        differences.append(common.agree(f"relevance, {rule}", fast, slow, TOLERANCE))
    with tempfile.TemporaryDirectory() as folder:
        slow = head_statistics.from_disk(head_statistics.eager(one.model), one, Path(folder))
        differences.append(head_statistics.check(calls[STATISTICS](), slow))
    examples = importance_speed.single(one.batches)
    for per, slow in (("example", importance_speed.obvious_per_example), ("token", importance_speed.obvious_per_token)):
        name = f"importance per {per}"
        differences.append(common.agree(name, calls[name](), slow(one.model, examples), TOLERANCE))
    return max(differences)


def exponents(seconds: pd.DataFrame) -> np.ndarray:
    """Slope of log seconds on log size of each repeat: columns are sizes."""
    sizes = np.log(np.array(seconds.columns, float))
    return np.polyfit(sizes, np.log(seconds.to_numpy()).T, 1)[0]


def rows_of(size: str, axis: str, repeats: int, device: str) -> list[dict[str, Any]]:
    """The rows of an axis: the exponent of each measure, and its seconds at each point."""
    cases = {point: measures(case(size, axis, point, device)) for point in AXES[size][axis]}
    calls = {f"{name} at {point}": call for point, calls in cases.items() for name, call in calls.items()}
    seconds, rows, (length, sentences) = common.interleaved(calls, repeats), [], AXES[size]["standing"]
    setting = f"else {common.words(size)}, {common.SIZES[size]['heads']} heads, {sentences} sentences of {length} tokens"
    for name in next(iter(cases.values())):
        part = seconds[[f"{name} at {point}" for point in cases]].set_axis(list(cases), axis=1)
        rows.append(common.row(name, axis, "exponent", exponents(part), setting))
        rows += [common.row(name, f"{axis} = {point}", "seconds", part[point], setting) for point in cases]
    return rows


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """The rows of all axes, and the largest difference at the first length."""
    axes = [axis for axis in AXES[options.size] if axis != "standing"]
    shortest = case(options.size, "length", AXES[options.size]["length"][0], options.device)
    difference, repeats = check(shortest, measures(shortest)), options.repeats or REPEATS
    return [row for axis in axes for row in rows_of(options.size, axis, repeats, options.device)], difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("growth", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
