"""Intervals over runs by definition, in plain loops.

Scores are lists of tasks, each a list of its runs.
"""

import itertools
import math
from collections.abc import Callable, Sequence

Tasks = Sequence[Sequence[float]]


def mean(tasks: Tasks) -> float:
    """Mean over tasks of a task's mean."""
    return sum(sum(runs) / len(runs) for runs in tasks) / len(tasks)


def improvement(one: Tasks, other: Tasks) -> float:
    """Mean over tasks of the share of pairs in which the first side is higher, ties half."""
    total = 0.0
    for ours, theirs in zip(one, other, strict=True):
        won = 0.0
        for run in ours:
            for rival in theirs:
                won += 1.0 if run > rival else 0.5 if run == rival else 0.0
        total += won / (len(ours) * len(theirs))
    return total / len(one)


def t_interval(tasks: Tasks, quantile: Callable[[float], float]) -> tuple[float, float]:
    """Ends of Welch's interval of the mean of task means; `quantile` gives Student's t for degrees of freedom."""
    variance, below = 0.0, 0.0
    for runs in tasks:
        middle = sum(runs) / len(runs)
        squares = sum((run - middle) ** 2 for run in runs)
        part = squares / (len(runs) - 1) / len(runs) / len(tasks) ** 2
        variance += part
        below += part**2 / (len(runs) - 1)
    half = quantile(variance**2 / below) * math.sqrt(variance)
    return mean(tasks) - half, mean(tasks) + half


def at(x: Sequence[float], y: Sequence[float], where: float) -> float:
    """A run's value between the two measured points beside it, nan outside all of them."""
    points = sorted((a, b) for a, b in zip(x, y, strict=True) if not (math.isnan(a) or math.isnan(b)))
    for a, b in points:
        if a == where:
            return b
    for (left, low), (right, high) in itertools.pairwise(points):
        if left < where < right:
            return low + (high - low) * (where - left) / (right - left)
    return math.nan


def holm(p: Sequence[float]) -> list[float]:
    """The closed test by definition: of each p the largest Bonferroni value of any family that it is in."""
    every = range(len(p))
    families = [family for size in range(1, len(p) + 1) for family in itertools.combinations(every, size)]
    return [max(min(1.0, len(f) * min(p[i] for i in f)) for f in families if one in f) for one in every]
