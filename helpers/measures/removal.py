"""Which heads go: the least by a column of the head table, or random ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd

Address = tuple[str, int, int]
RANDOM = "random"  # the only criterion that is drawn and not measured


def least(column: pd.Series, count: int) -> list[Address]:
    """The `count` heads of least worth by a column; of equal ones those that stand first, and unmeasured ones before all."""
    return list(column.fillna(-np.inf).sort_values(kind="stable").index[:count])


def shuffled(index: pd.MultiIndex, *seed: int) -> pd.Series:
    """A column of random numbers, the same for the same seeds: with it `least` draws heads."""
    return pd.Series(np.random.default_rng(seed).random(len(index)), index)


def matched(index: pd.MultiIndex, closed: Iterable[Address], *seed: int) -> list[Address]:
    """Heads by a seeded draw, as many of each layer as there are in `closed`."""
    counts = Counter(address[:2] for address in closed)
    places = shuffled(index, *seed).groupby(level=["kind", "layer"]).rank(method="first")
    return list(index[places <= [counts[address[:2]] for address in index]])
