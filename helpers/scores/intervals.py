"""Intervals over trainings: several seeds (runs) of each of several tasks or models; p-values and Holm's correction.

Scores are arrays [runs, tasks], nan where a task has fewer runs; an array [runs] is one task. Of a task with one run no
interval is known: low and high are nan. Intervals are t intervals: with few runs a bootstrap's is too narrow, since drawn runs
vary less than new ones would (the 95 % interval of three runs holds the true mean in about 73 % of cases).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from helpers.study import StudyError

# what the intervals of a table are over: a column `over`, or a fact of its sidecar
SENTENCES = "sentences of one training"
TRAININGS = "trainings (t)"
TEXTS = "trainings, each with its own text (t)"
BLOCKS = "blocks of text of one training"
HEADS = "heads, drawn anew within layers"
MODELS = "models (t)"
SEEDS = "least and largest of pairs of trainings"
ROUNDS = "quartiles of rounds"


def over_runs(values, level: float = 0.95) -> tuple[float, float, float, int]:
    """Mean over runs with its t interval, for any number of runs from two on.

    Of several tasks it is the mean of their means; each task has a variance of its own, and the degrees of freedom are
    Welch's (Satterthwaite 1946). The interval supposes that runs are about normal: on skewed scores it is too narrow.

    Parameters
    ----------
    values : array [runs] or [runs, tasks]

    Returns
    -------
    mean, low, high : float
    runs : int
        Of all tasks together.

    Raises
    ------
    StudyError
        If there are no runs, a task has none, values are not [runs, tasks], or the level is not between 0 and 1.
    """
    values, tail = _scores(values), _tail(level)
    counts, mean, half = _counts(values), float(np.nanmean(values, axis=0).mean()), np.nan
    if (counts > 1).all():
        parts = np.nanvar(values, axis=0, ddof=1) / counts / values.shape[1] ** 2
        freedom = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum() if parts.any() else 1.0
        half = float(stats.t.ppf(1 - tail, freedom) * np.sqrt(parts.sum()))
    return mean, mean - half, mean + half, int(counts.sum())


def curve(scores, points: Sequence[float]) -> pd.DataFrame:
    """`over_runs` at each point of runs' curves, such as quality against heads left.

    Parameters
    ----------
    scores : array [runs, tasks, points]
        nan where a run has no value, see `at`.
    points : sequence
        What the points are called.

    Returns
    -------
    pandas.DataFrame
        A row a point: point, value, low, high; nan at points where a task has no run.

    Raises
    ------
    StudyError
        If scores are not [runs, tasks, points], `points` are not as many, or no point has runs of every task.
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 3 or len(points) != scores.shape[2]:
        raise StudyError(f"Curves have the shape {scores.shape}: give [runs, tasks, points], and {len(points)} points.")
    known = (~np.isnan(scores)).any(0).all(0)
    if not scores.size or not known.any():
        raise StudyError("There is no point at which every task has a run: choose points between those that were measured.")
    intervals = [over_runs(scores[:, :, i])[:3] if known[i] else (np.nan,) * 3 for i in range(len(points))]
    return pd.DataFrame(intervals, columns=["value", "low", "high"]).assign(point=points)


def at(x, y, grid: Sequence[float]) -> np.ndarray:
    """Curves of runs that were measured at different x, interpolated linearly onto one grid.

    Parameters
    ----------
    x, y : arrays [..., points] that broadcast against each other
        In any order of x; points where one of them is nan are left out.
    grid : sequence of float

    Returns
    -------
    float array [..., grid]
        nan outside a run's range.

    Raises
    ------
    StudyError
        If the two have different shapes, or a run has two values at one x.
    """
    try:
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    except ValueError:
        raise StudyError(f"x has the shape {np.shape(x)} and y {np.shape(y)}: give a value for every x.") from None
    values = np.full((*x.shape[:-1], len(grid)), np.nan)
    for run in np.ndindex(x.shape[:-1]):
        points = np.stack([x[run], y[run]])
        points = points[:, ~np.isnan(points).any(0)]
        points = points[:, points[0].argsort()]
        if (np.diff(points[0]) == 0).any():
            raise StudyError("A run has two values at one x: give their mean, or make them two runs.")
        if points.size:
            values[run] = np.interp(grid, *points, left=np.nan, right=np.nan)
    return values


def improvement(one, other) -> float:
    """Probability that a run of `one` scores higher than one of `other`, a tie counting half; mean over tasks.

    Of a task it is the Mann-Whitney U over the number of pairs (Agarwal et al. 2021, arXiv 2108.13264, section 4.3).

    Parameters
    ----------
    one, other : arrays [runs, tasks]
        The same tasks; runs need not be as many.

    Raises
    ------
    StudyError
        If the two differ in the number of tasks, or a task has no run.
    """
    one, other = _scores(one), _scores(other)
    if one.shape[1] != other.shape[1]:
        raise StudyError(f"The sides have {one.shape[1]} and {other.shape[1]} tasks: give runs of the same tasks.")
    signs = np.sign(one[:, None] - other[None])
    return float((0.5 + np.nanmean(signs, axis=(0, 1)) / 2).mean())


def paired(one, other) -> tuple[float, float, float, int]:
    """`over_runs` of how much higher runs of `one` score than those of `other` with the same seed.

    Parameters
    ----------
    one, other : arrays [runs, tasks]
        Row by row of the same seed; a run that one of them lacks is left out.

    Raises
    ------
    StudyError
        As `over_runs`, and if the two differ in shape.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if one.shape != other.shape:
        raise StudyError(f"Paired runs have the shapes {one.shape} and {other.shape}: give the same seeds and tasks.")
    return over_runs(one - other)


# --- p-values --------------------------------------------------------------------------------------------------------


def p_value(estimate, low, high, null: float = 0, trainings=None, level: float = 0.95):
    """Two-sided p-value of an estimate from its interval, which is taken to be symmetric: half its width gives the error.

    Parameters
    ----------
    estimate, low, high : array-like [...]
    null : float
        What the estimate is held to.
    trainings : array-like [...], optional
        Of a t interval over so many trainings (`over_runs`): t with one degree of freedom less. Without it, or where it is
        nan, the interval is a bootstrap's over sentences: normal.
    level : float
        Of the interval.

    Returns
    -------
    float, or float array [...]
        nan where a number is missing; of an interval of no width 1 where the estimate is `null`, else 0.

    Raises
    ------
    StudyError
        If an interval over trainings is of fewer than two, or the level is not between 0 and 1.
    """
    estimate, low, high = np.broadcast_arrays(*(np.asarray(part, float) for part in (estimate, low, high)))
    tail, distance_to_null = _tail(level), np.abs(estimate - null)
    freedom = np.asarray(np.inf if trainings is None else trainings, float) - 1
    freedom, known = np.where(np.isnan(freedom), np.inf, freedom), ~np.isnan(estimate + low + high)
    if (known & (freedom < 1)).any():
        raise StudyError("An interval over trainings needs two trainings or more: train another seed.")
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.where(distance_to_null == 0, 0.0, distance_to_null / ((high - low) / 2) * stats.t.ppf(1 - tail, freedom))
    return np.where(known, 2 * stats.t.sf(distance, freedom), np.nan)[()]


def fisher(rho):
    """Correlations on Fisher's scale, where their t intervals are symmetric; 1 counts as just less."""
    return np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9))


def holm(p) -> np.ndarray:
    """p-values corrected for their number by Holm's step-down method (1979, Scandinavian Journal of Statistics 6).

    Parameters
    ----------
    p : array-like [comparisons]
        nan for what is no comparison: it stays nan and does not count.

    Returns
    -------
    float array [comparisons]

    Raises
    ------
    StudyError
        If a value is not between 0 and 1.
    """
    p = np.asarray(p, float)
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise StudyError("A p-value lies between 0 and 1: check what is to be corrected.")
    order, corrected_p = known[p[known].argsort(kind="stable")], np.full(p.shape, np.nan)
    corrected_p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected_p


def corrected(
    table: pd.DataFrame, value: str = "change", ends: Sequence[str] = (), trainings=None, compared=True
) -> pd.DataFrame:
    """A table of comparisons with p-values against zero and what is left of them after Holm's correction.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a comparison: `value` with the two columns `ends` of its interval, "VALUE_low" and "VALUE_high" if not given.
    trainings : array-like [rows], optional
        As in `p_value`.
    compared : array-like of bool [rows]
        Which rows are comparisons; one with itself is none.

    Returns
    -------
    pandas.DataFrame
        The table with p, p_holm and family (how many comparisons were corrected for).
    """
    low, high = ends or (f"{value}_low", f"{value}_high")
    p = np.where(compared, p_value(table[value], table[low], table[high], trainings=trainings), np.nan)
    return table.assign(p=p, p_holm=holm(p), family=int((~np.isnan(p)).sum()))


def _scores(scores) -> np.ndarray:
    """Float [runs, tasks] with at least one run of every task."""
    scores = np.asarray(scores, float)
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.ndim != 2:
        raise StudyError(f"Scores have the shape {scores.shape}: give an array [runs, tasks].")
    empty = np.flatnonzero(_counts(scores) == 0)
    if len(empty) == scores.shape[1]:
        raise StudyError("There are no runs: give the score of at least one run of every task.")
    if len(empty):
        raise StudyError(f"Task {empty[0]} (from 0) has no run: train it, or leave the task out.")
    return scores


def _counts(scores: np.ndarray) -> np.ndarray:
    return (~np.isnan(scores)).sum(0)


def _tail(level: float) -> float:
    """What is left out at each end."""
    if not 0 < level < 1:
        raise StudyError(f"An interval cannot have the level {level}: give a number between 0 and 1, such as 0.95.")
    return (1 - level) / 2
