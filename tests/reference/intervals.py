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


def holm(p: Sequence[float]) -> list[float]:
    """The closed test by definition: of each p the largest Bonferroni value of any family that it is in."""
    every = range(len(p))
    families = [family for size in range(1, len(p) + 1) for family in itertools.combinations(every, size)]
    return [max(min(1.0, len(f) * min(p[i] for i in f)) for f in families if one in f) for one in every]
