"""Intervals over trainings: several seeds (runs) of each of several tasks or models; p-values and Holm's correction.

Scores are arrays [runs, tasks], nan where a task has fewer runs; an array [runs] is one task. Of a task with one run no
interval is known: low and high are nan. Intervals are t intervals: with few runs a bootstrap's is too narrow, since drawn runs
vary less than new ones would (the 95 % interval of three runs holds the true mean in about 73 % of cases).
"""

from __future__ import annotations

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


def over_runs(values) -> tuple[float, float, float, int]:
    """Mean over runs [runs] or [runs, tasks] with its 95 % t interval, low and high, and the runs of all tasks together.

    Of several tasks it is the mean of their means; each task has a variance of its own, and the degrees of freedom are
    Welch's (Satterthwaite 1946). The interval supposes that runs are about normal: on skewed scores it is too narrow.
    """
    values = np.asarray(values, float)
    values = values[:, None] if values.ndim == 1 else values
    counts = (~np.isnan(values)).sum(0)
    if not counts.all():
        raise StudyError(f"Task {counts.argmin()} (from 0) has no run: train it, or leave the task out.")
    mean, half = float(np.nanmean(values, axis=0).mean()), np.nan
    if (counts > 1).all():
        parts = np.nanvar(values, axis=0, ddof=1) / counts / values.shape[1] ** 2
        freedom = parts.sum() ** 2 / (parts**2 / (counts - 1)).sum() if parts.any() else 1.0
        half = float(stats.t.ppf(0.975, freedom) * np.sqrt(parts.sum()))
    return mean, mean - half, mean + half, int(counts.sum())


# --- p-values --------------------------------------------------------------------------------------------------------


def p_value(estimate, low, high, null: float = 0, trainings=None):
    """Two-sided p-value of an estimate from its 95 % interval, which is taken to be symmetric: half its width gives the error.

    Of a t interval over so many trainings (`over_runs`) it is by t with one degree of freedom less. Without these, or where
    they are nan, the interval is a bootstrap's over sentences: normal. The p-value is nan where a number is missing; of an
    interval of no width 1 where the estimate is `null`, else 0.
    """
    estimate, low, high = np.broadcast_arrays(*(np.asarray(part, float) for part in (estimate, low, high)))
    distance_to_null = np.abs(estimate - null)
    freedom = np.asarray(np.inf if trainings is None else trainings, float) - 1
    freedom, known = np.where(np.isnan(freedom), np.inf, freedom), ~np.isnan(estimate + low + high)
    if (known & (freedom < 1)).any():
        raise StudyError("An interval over trainings needs two trainings or more: train another seed.")
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.where(distance_to_null == 0, 0.0, distance_to_null / ((high - low) / 2) * stats.t.ppf(0.975, freedom))
    return np.where(known, 2 * stats.t.sf(distance, freedom), np.nan)[()]


def fisher(rho):
    """Correlations on Fisher's scale, where their t intervals are symmetric; 1 counts as just less."""
    return np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9))


def holm(p) -> np.ndarray:
    """p-values corrected for their number by Holm's step-down method (1979, Scandinavian Journal of Statistics 6).

    Float array [comparisons]: what is nan is no comparison, stays nan and does not count.
    """
    p = np.asarray(p, float)
    known = np.flatnonzero(~np.isnan(p))
    order, corrected_p = known[p[known].argsort(kind="stable")], np.full(p.shape, np.nan)
    corrected_p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected_p


def corrected(table: pd.DataFrame, value: str = "change", trainings=None, compared=True) -> pd.DataFrame:
    """A table of comparisons with p (against zero), p_holm and family (how many comparisons were corrected for).

    A row is a comparison: `value` with the columns of its interval, "VALUE_low" and "VALUE_high".
    `trainings` are as in `p_value`; `compared` says which rows are comparisons: one with itself is none.
    """
    ends = (table[f"{value}_low"], table[f"{value}_high"])
    p = np.where(compared, p_value(table[value], *ends, trainings=trainings), np.nan)
    return table.assign(p=p, p_holm=holm(p), family=int((~np.isnan(p)).sum()))
