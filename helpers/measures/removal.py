"""Which heads go by a column of the head table, and what is left of a model when they are removed at once."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from helpers import heads

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


def at_once(
    model, choices: Iterable[tuple[Mapping[str, Any], Iterable[Address]]], score: Callable[[Any], Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What is left of a model without each choice of heads, with no further training; the model itself stays as it is.

    Of choices (what each is called, its heads) and a score of a model without heads: what a choice is called, and its score.
    Choices of the same heads are scored once.
    """
    known: dict[frozenset[Address], Mapping[str, Any]] = {}
    for labels, out in choices:
        out = frozenset(out)
        if out not in known:
            known[out] = score(heads.remove(copy.deepcopy(model), out) if out else model)
        yield {**labels, **known[out]}
