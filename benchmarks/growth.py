"""How the cost of measures grows with passages, their tokens, and a model's heads, layers and width: seconds and memory.

Each is varied alone, on a decoder built like SmolLM2, with random weights: passages have the standing length, models the
standing shape (a layer's width is split over more heads, and over two that hold keys and values). The exponent is the slope of
log seconds, or of log memory, on log size; of seconds it is fitted within each repeat, and every repeat runs every measure at
every point once, in random order. At small sizes it is that of what a call costs at all. Memory is the most that tensors hold
at once, in one call. Nothing is timed before every measure was found equal to its obvious form at the smallest point.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import common, importance_speed
from benchmarks.pretrained_speed import one_by_one
from helpers.measures.functions import Confidence, Positional
from helpers.measures.lrp import SIGNED, summed
from helpers.measures.reducers import one_pass
from helpers.measures.worth import importance, leave_one_out

STANDING = {"layers": 6, "width": 288, "heads": 6, "feed_forward": 768, "vocabulary": 4000, "passages": 2, "tokens": 64}
LAPTOP = {
    "passages": (1, 2, 4, 8), "tokens": (32, 64, 128, 256), "heads": (2, 6, 18), "layers": (3, 6, 12), "width": (144, 288, 576)
}  # fmt: skip
SIZES = {
    "tiny": (dict(zip(STANDING, (2, 32, 2, 48, 100, 1, 6), strict=True)), {"tokens": (4, 8), "width": (16, 32)}),
    "laptop": (STANDING, LAPTOP),
    "base": (STANDING, LAPTOP),
}
REPEATS, TOLERANCE = 3, 1e-4  # of the largest value
ALIKE = {f"relevance, {rule}, summed": rule for rule in SIGNED}


def measures(shape: Mapping[str, int], device: str, double: bool = False) -> tuple[Any, list, dict[str, Callable[[], Any]]]:
    """A model and text of a shape, and what is timed on them, by name."""
    model = common.llama(shape, 2, device).requires_grad_(False)
    model = model.double() if double else model
    text = common.batch(shape, shape["passages"], shape["tokens"], device)
    batches = [text | {"labels": text["input_ids"]}]
    calls: dict[str, Callable[[], Any]] = {
        name: partial(lambda rule: summed(model, batches, rule).series(None), rule) for name, rule in ALIKE.items()
    }
    for per in ("example", "token"):
        calls[f"importance per {per}"] = partial(importance, model, batches, per=per, norm=None)
    calls["leave one out"] = lambda: leave_one_out(model, batches, repeats=1).loss
    calls["confidence and positions"] = lambda: one_pass(model, batches, Confidence(), Positional())
    return model, batches, calls


def check(shape: Mapping[str, int], device: str) -> float:
    """Largest difference of a measure from its obvious form, in double precision; stop if it is too large."""
    model, batches, calls = measures(shape, device, double=True)
    examples = importance_speed.single(batches)
    slow: dict[str, Callable[[], Any]] = {name: partial(one_by_one, model, batches, rule) for name, rule in ALIKE.items()}
    slow |= {
        "importance per example": partial(importance_speed.obvious_per_example, model, examples),
        "leave one out": partial(importance_speed.obvious_leave_one_out, model, examples),
    }
    return max(common.agree(name, calls[name](), way(), TOLERANCE) for name, way in slow.items())


def exponents(numbers: pd.DataFrame) -> np.ndarray:
    """Slope of log numbers on log size of each row: columns are sizes."""
    sizes = np.log(np.array(numbers.columns, float))
    return np.polyfit(sizes, np.log(numbers.to_numpy()).T, 1)[0]


def memory(call: Callable[[], Any]) -> float:
    """The most that tensors hold at once during a call, beyond what they held before, in MiB."""
    with torch.profiler.profile(profile_memory=True) as profile:
        call()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = np.cumsum([event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())])
    return float(held.max()) / 2**20


def rows_of(options: argparse.Namespace, axis: str, points: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """The rows of an axis: the exponents of each measure, and its seconds and memory at each point."""
    standing = SIZES[options.size][0]
    cases = {point: measures(standing | {axis: point}, options.device)[2] for point in points}
    calls = {f"{name} at {point}": call for point, calls in cases.items() for name, call in calls.items()}
    seconds, rows = common.interleaved(calls, repeats), []
    rest = ", ".join(f"{number} {name}" for name, number in standing.items() if name != axis)
    for name in next(iter(cases.values())):
        parts = {
            "seconds": seconds[[f"{name} at {point}" for point in points]].set_axis(list(points), axis=1),
            "MiB": pd.DataFrame({point: [memory(calls[f"{name} at {point}"])] for point in points}),
        }
        for unit, part in parts.items():
            rows.append(common.row(name, axis, f"exponent of {unit}", exponents(part), rest))
            rows += [common.row(name, f"{axis} = {point}", unit, part[point], rest) for point in points]
    return rows


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """The rows of all axes, and the largest difference at the smallest point."""
    standing, axes = SIZES[options.size]
    difference = check(standing | {axis: points[0] for axis, points in axes.items()}, options.device)
    repeats = options.repeats or REPEATS
    return [row for axis, points in axes.items() for row in rows_of(options, axis, points, repeats)], difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("growth", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
