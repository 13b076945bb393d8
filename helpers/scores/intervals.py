"""Intervals over trainings: several seeds (runs) of each of several tasks or models.

Scores are arrays [runs, tasks], nan where a task has fewer runs; an array [runs] is one task. The aggregates and the stratified
bootstrap are those of Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical Precipice*
(arXiv 2108.13264), sections 4.1 to 4.3. Of a task with one run no interval is known: low and high are nan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from helpers.study import StudyError

Statistic = Callable[[np.ndarray], np.ndarray]

# what the intervals of a table are over: a column `over`, or a fact of its sidecar
SENTENCES = "sentences of one training"
TRAININGS = "trainings (t)"
TEXTS = "trainings, each with its own text (t)"
BLOCKS = "blocks of text of one training"
HEADS = "heads, drawn anew within layers"
MODELS = "models (t)"
SEEDS = "least and largest of pairs of trainings"
ROUNDS = "quartiles of rounds"


def stratified(
    scores, statistic: str | Statistic = "mean", repeats: int = 2000, level: float = 0.95, seed: int = 0,
    target: float | None = None,
) -> tuple[float, float, float]:  # fmt: skip
    """An aggregate of runs and tasks with its percentile bootstrap interval: runs are drawn anew within each task.

    With few runs the interval is too narrow, since drawn runs vary less than new ones would. Simulated with normal scores, the
    95 % interval of a mean holds the true mean in 50, 73, 84 and 91 % of cases with 2, 3, 5 and 20 runs of one task, and in
    75, 83, 90 and 93 % with as many runs of four tasks; `over_runs` does in 95 to 97 % of all these. With exponential scores
    and three runs it is 71 % against 89 %. So take `over_runs` for means, and this for other statistics of ten runs and more.

    Parameters
    ----------
    scores : array [runs, tasks]
    statistic : str or callable
        "mean": over tasks, of a task's mean over runs; "median": over tasks, of a task's mean over runs; "iqm": interquartile
        mean, of the middle half of all runs of all tasks; "gap": by how much runs fall short of the target, 0 for those that
        reach it, as a mean. A callable gets [..., runs, tasks], nan for missing runs, and returns [...].
    repeats : int
        Draws.
    level : float
        Of the interval.
    target : float, optional
        For "gap".

    Returns
    -------
    value, low, high : float

    Raises
    ------
    StudyError
        If there are no runs, a task has none, scores are not [runs, tasks], or there is no such statistic, level or number of
        draws.
    """
    scores, aggregate = _scores(scores), _statistic(statistic, target)
    drawn = aggregate(_drawn(scores, _repeats(repeats), np.random.default_rng(seed)))
    return (float(aggregate(scores)), *_ends(drawn, level, scores))


def over_runs(values, level: float = 0.95) -> tuple[float, float, float, int]:
    """Mean over runs with its t interval, for any number of runs from two on.

    Of several tasks it is the mean of their means; each task has a variance of its own, and the degrees of freedom are
    Welch's (Satterthwaite 1946). The interval supposes that runs are about normal: on skewed scores it is too narrow, though
    less so than the bootstrap's (see `stratified`).

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
    counts, mean, half = _counts(values), float(_mean(values)), np.nan
    if (counts > 1).all():
        parts = np.nanvar(values, axis=0, ddof=1) / counts / values.shape[1] ** 2
        freedom = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum() if parts.any() else 1.0
        half = float(stats.t.ppf(1 - tail, freedom) * np.sqrt(parts.sum()))
    return mean, mean - half, mean + half, int(counts.sum())


def curve(scores, points: Sequence[float] | None = None, interval=stratified, **options) -> pd.DataFrame:
    """Aggregate at each point of runs' curves, such as quality against heads left, with pointwise intervals.

    Parameters
    ----------
    scores : array [runs, tasks, points]
        nan where a run has no value, see `at`.
    points : sequence, optional
        What the points are called; their number from 0 if absent.
    interval : callable
        `stratified` or `over_runs`; `options` are passed to it.

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
    if scores.ndim != 3:
        raise StudyError(f"Curves have the shape {scores.shape}: give an array [runs, tasks, points].")
    points = np.arange(scores.shape[2]) if points is None else np.asarray(points)
    if len(points) != scores.shape[2]:
        raise StudyError(f"Curves have {scores.shape[2]} points but {len(points)} names: give one for each point.")
    known = (~np.isnan(scores)).any(0).all(0)
    if not scores.size or not known.any():
        raise StudyError("There is no point at which every task has a run: choose points between those that were measured.")
    found = np.full((len(points), 3), np.nan)
    for place in np.flatnonzero(known):
        found[place] = interval(scores[:, :, place], **options)[:3]
    return pd.DataFrame(found, columns=["value", "low", "high"]).assign(point=points)[["point", "value", "low", "high"]]


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
    found = np.full((*x.shape[:-1], len(grid)), np.nan)
    for run in np.ndindex(x.shape[:-1]):
        points = np.stack([x[run], y[run]])
        points = points[:, ~np.isnan(points).any(0)]
        points = points[:, points[0].argsort()]
        if (np.diff(points[0]) == 0).any():
            raise StudyError("A run has two values at one x: give their mean, or make them two runs.")
        if points.size:
            found[run] = np.interp(grid, *points, left=np.nan, right=np.nan)
    return found


def improvement(one, other, repeats: int = 2000, level: float = 0.95, seed: int = 0) -> tuple[float, float, float]:
    """Probability that a run of `one` scores higher than one of `other`, a tie counting half; mean over tasks.

    Of a task it is the Mann-Whitney U over the number of pairs (Agarwal et al. 2021, section 4.3). The interval is the
    percentile bootstrap that draws runs anew within each task, of both sides by itself; as narrow with few runs as that of
    `stratified`, and of no width where all runs of one side are above all of the other.

    Parameters
    ----------
    one, other : arrays [runs, tasks]
        The same tasks; runs need not be as many.

    Returns
    -------
    probability, low, high : float

    Raises
    ------
    StudyError
        As `stratified`, and if the two differ in the number of tasks.
    """
    one, other = _scores(one), _scores(other)
    if one.shape[1] != other.shape[1]:
        raise StudyError(f"The sides have {one.shape[1]} and {other.shape[1]} tasks: give runs of the same tasks.")
    rng = np.random.default_rng(seed)
    drawn = _above(*(_drawn(side, _repeats(repeats), rng) for side in (one, other)))
    return (float(_above(one, other)), *_ends(drawn, level, one, other))


def paired(one, other, repeats: int = 2000, level: float = 0.95, seed: int = 0) -> dict[str, float]:
    """How much higher runs of `one` score than those of `other` with the same seed, as a mean over tasks.

    Parameters
    ----------
    one, other : arrays [runs, tasks]
        Row by row of the same seed; a run that one of them lacks is left out.

    Returns
    -------
    dict
        difference; low, high (t interval of `over_runs`); drawn_low, drawn_high (bootstrap interval of `stratified`, too
        narrow with few runs); runs (pairs of all tasks together).

    Raises
    ------
    StudyError
        As `stratified`, and if the two differ in shape.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if one.shape != other.shape:
        raise StudyError(f"Paired runs have the shapes {one.shape} and {other.shape}: give the same seeds and tasks.")
    difference, low, high, runs = over_runs(one - other, level)
    _, *drawn = stratified(one - other, "mean", repeats, level, seed)
    return {"difference": difference, "low": low, "high": high, "drawn_low": drawn[0], "drawn_high": drawn[1], "runs": runs}


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
    tail, apart = _tail(level), np.abs(estimate - null)
    freedom = np.asarray(np.inf if trainings is None else trainings, float) - 1
    freedom, known = np.where(np.isnan(freedom), np.inf, freedom), ~np.isnan(estimate + low + high)
    if (known & (freedom < 1)).any():
        raise StudyError("An interval over trainings needs two trainings or more: train another seed.")
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.where(apart == 0, 0.0, apart / ((high - low) / 2) * stats.t.ppf(1 - tail, freedom))
    return np.where(known, 2 * stats.t.sf(distance, freedom), np.nan)[()]


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
    order, found = known[p[known].argsort(kind="stable")], np.full(p.shape, np.nan)
    found[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return found


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
    found = np.where(compared, p_value(table[value], table[low], table[high], trainings=trainings), np.nan)
    return table.assign(p=found, p_holm=holm(found), family=int((~np.isnan(found)).sum()))


# --- aggregates of [..., runs, tasks] --------------------------------------------------------------------------------


def _mean(scores: np.ndarray) -> np.ndarray:
    return np.nanmean(scores, axis=-2).mean(-1)


def _median(scores: np.ndarray) -> np.ndarray:
    return np.median(np.nanmean(scores, axis=-2), axis=-1)


def _interquartile_mean(scores: np.ndarray) -> np.ndarray:
    ordered = np.sort(scores.reshape(*scores.shape[:-2], -1))  # missing runs last
    count = (~np.isnan(ordered)).sum(-1, keepdims=True)
    place = np.arange(ordered.shape[-1])
    return np.nanmean(np.where((place >= count // 4) & (place < count - count // 4), ordered, np.nan), axis=-1)


def _above(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Share of pairs in which `one` is higher, ties half, as a mean over tasks."""
    signs = np.sign(one[..., :, None, :] - other[..., None, :, :])
    return (0.5 + np.nanmean(signs, axis=(-3, -2)) / 2).mean(-1)


_STATISTICS = {"mean": _mean, "median": _median, "iqm": _interquartile_mean}


def _statistic(statistic: str | Statistic, target: float | None) -> Statistic:
    if callable(statistic):
        return statistic
    if statistic == "gap":
        if target is None:
            raise StudyError("A gap needs a target: give the score that runs should reach.")
        return lambda scores: _mean(np.maximum(target - scores, 0))
    if statistic not in _STATISTICS:
        raise StudyError(f"There is no statistic {statistic!r}: choose from {', '.join(_STATISTICS)}, gap.")
    return _STATISTICS[statistic]


# --- draws -----------------------------------------------------------------------------------------------------------


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


def _drawn(scores: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Each task's runs drawn with replacement: [repeats, runs, tasks], nan in the last rows of tasks with fewer runs."""
    counts = _counts(scores)
    places = rng.integers(counts, size=(repeats, *scores.shape))
    drawn = np.take_along_axis(np.sort(scores, axis=0)[None], places, axis=1)
    return np.where(np.arange(len(scores))[:, None] < counts, drawn, np.nan)


def _ends(drawn: np.ndarray, level: float, *sides: np.ndarray) -> tuple[float, float]:
    """What the middle of the draws lies between; nan where a task has one run."""
    tail = _tail(level)
    if any((_counts(side) < 2).any() for side in sides):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def _tail(level: float) -> float:
    """What is left out at each end."""
    if not 0 < level < 1:
        raise StudyError(f"An interval cannot have the level {level}: give a number between 0 and 1, such as 0.95.")
    return (1 - level) / 2


def _repeats(repeats: int) -> int:
    if repeats < 1:
        raise StudyError(f"A bootstrap cannot have {repeats} draws: give at least one, such as 2000.")
    return repeats
