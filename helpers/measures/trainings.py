"""What several trainings of one thing come to: one mean over seeds, with one interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.scores import intervals


def over_seeds(
    table: pd.DataFrame,
    by: Sequence[str],
    values: Mapping[str, tuple[str, str, str]],
    means: Sequence[str] = (),
    keep: bool = False,
) -> pd.DataFrame:
    """Means over trainings (column seed) with 95 % t intervals, on the columns `by`, in the order of the table.

    It has seeds (how many); of each column of `values` its mean and both ends of the interval by the names given there; of
    each of `means` the mean alone, over all rows. Of several rows of one seed (draws) the mean counts once. All are nan where a
    training has no value, the ends for one training; a single row may `keep` the ends that it has under these names.
    """
    rows = {}
    for place, part in table.groupby(list(by), sort=False):
        row = {"seeds": part.seed.nunique()}
        for column, names in values.items():
            each = part.groupby("seed")[column].mean()
            mean = intervals.over_runs(each.to_numpy())[:3] if each.notna().all() else (np.nan,) * 3
            row |= dict(zip(names, mean, strict=True))
            row |= {end: part[end].iloc[0] for end in names[1:] if keep and len(part) == 1 and end in part}
        rows[place] = row | {name: part[name].mean() for name in means}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=list(by)))


def nested(values: pd.Series) -> tuple[float, float, float, int]:
    """Mean over trainings and its t interval, of draws on seed: the wider of that over seeds' means and that over all draws.

    Means of few trainings may lie nearer to each other by chance than their draws allow; of one training nothing is known.
    Mean, low, high, and how many values the interval is over.
    """
    means = values.groupby(level="seed").mean()
    found, every = intervals.over_runs(means.to_numpy()), intervals.over_runs(values.to_numpy())
    more = every[0] - found[0]  # where seeds have different numbers of draws
    wider = len(means) > 1 and every[2] - every[1] > found[2] - found[1]
    return (found[0], every[1] - more, every[2] - more, every[3]) if wider else found
