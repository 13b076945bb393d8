"""Intervals over trainings against slow loops and scipy's tests, and how often they hold the true value."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.scores import intervals
from helpers.study import StudyError
from tests.reference import intervals as slow

NAN = np.nan
RAGGED = np.array([[1.0, 20.0, 3.5], [2.5, NAN, 3.0], [4.0, 23.0, NAN], [NAN, 28.0, NAN]])


def listed(scores):
    return [column[~np.isnan(column)].tolist() for column in np.transpose(scores)]


def test_t_intervals():
    runs = pd.Series([3.0, 4.0, 8.0])
    mean, low, high, number = intervals.over_runs([*runs, NAN])
    assert (mean, number) == (5, 3) and (low, high) == pytest.approx((5 - 6.5725, 5 + 6.5725), abs=1e-3)
    assert intervals.over_runs(runs) == intervals.over_runs(np.transpose([runs]))  # a list is one task
    mean, low, high, number = intervals.over_runs(RAGGED)
    assert number == 8 and mean == pytest.approx(slow.mean(listed(RAGGED)))
    assert (low, high) == pytest.approx(slow.t_interval(listed(RAGGED), lambda freedom: stats.t.ppf(0.975, freedom)))
    assert intervals.over_runs([2.0, 2.0]) == (2, 2, 2, 2)
    found = intervals.over_runs([[1.0, 2.0], [3.0, NAN]])  # one run of the second task
    assert found[0] == 2 and np.isnan(found[1:3]).all()


@pytest.mark.parametrize("call, said", [
    (lambda: intervals.over_runs([]), "Task 0"), (lambda: intervals.over_runs([[1.0, NAN], [2.0, NAN]]), "Task 1"),
    (lambda: intervals.p_value(1, 0, 2, trainings=1), "two"),
])  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(StudyError, match=said):
        call()


@pytest.mark.parametrize("null", [0.0, 1.5])
def test_a_p_value_over_trainings_is_that_of_the_t_test(null):
    values = np.random.default_rng(3).normal(2, 1, 5)
    mean, low, high, runs = intervals.over_runs(values)
    assert intervals.p_value(mean, low, high, null, runs) == pytest.approx(stats.ttest_1samp(values, null).pvalue)


def test_a_p_value_over_sentences_is_normal_and_may_be_of_several_rows():
    error = 0.7
    low, high = (1.2 + sign * stats.norm.ppf(0.975) * error for sign in (-1, 1))
    assert intervals.p_value(1.2, low, high) == pytest.approx(2 * stats.norm.sf(1.2 / error))
    found = intervals.p_value([1.0, 1.0, NAN, 0.0, 2.0], [0, NAN, NAN, 0, 2], [2, NAN, NAN, 0, 2], trainings=[NAN, 1, 1, 3, 3])
    assert found == pytest.approx([intervals.p_value(1, 0, 2), NAN, NAN, 1, 0], nan_ok=True)


def test_holm_is_the_closed_test_of_bonferroni_among_comparisons():
    p = np.random.default_rng(0).random(5) ** 4
    assert intervals.holm(p) == pytest.approx(slow.holm(p.tolist()))
    with_none = intervals.holm([NAN, *p])
    assert np.isnan(with_none[0]) and with_none[1:] == pytest.approx(intervals.holm(p))
    assert intervals.holm([0.6, 0.5]).tolist() == [1, 1] and not len(intervals.holm([]))


def test_a_family_of_comparisons():
    table = pd.DataFrame({"change": [0.0, 1.0, 3.0, 2.0], "change_low": [0, -1, 2, NAN], "change_high": [0, 3, 4, NAN]})
    found = intervals.corrected(table, compared=[False, True, True, True])
    assert found.family.eq(2).all() and found.p.isna().tolist() == [True, False, False, True]
    assert found.p_holm[2] == pytest.approx(2 * found.p[2]) and found.p_holm[1] == found.p[1]
