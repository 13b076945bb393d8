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
OTHER = np.array([[2.5, 21.0, 3.25], [0.5, 26.0, NAN], [NAN, 19.0, 3.75]])


def listed(scores):
    return [column[~np.isnan(column)].tolist() for column in np.transpose(scores)]


def test_t_intervals():
    runs = pd.Series([3.0, 4.0, 8.0])
    mean, low, high, number = intervals.over_runs([*runs, NAN])
    assert (mean, number) == (5, 3) and (low, high) == pytest.approx((5 - 6.5725, 5 + 6.5725), abs=1e-3)
    assert intervals.over_runs(runs) == intervals.over_runs(np.transpose([runs]))  # a list is one task
    mean, low, high, number = intervals.over_runs(RAGGED, 0.9)
    assert number == 8 and mean == pytest.approx(slow.mean(listed(RAGGED)))
    assert (low, high) == pytest.approx(slow.t_interval(listed(RAGGED), lambda freedom: stats.t.ppf(0.95, freedom)))
    assert intervals.over_runs([2.0, 2.0]) == (2, 2, 2, 2)
    found = intervals.over_runs([[1.0, 2.0], [3.0, NAN]])  # one run of the second task
    assert found[0] == 2 and np.isnan(found[1:3]).all()


def test_runs_are_paired_by_row():
    rng = np.random.default_rng(3)
    seeds = rng.normal(0, 10, (6, 2))
    one, other = seeds + 1 + rng.normal(0, 0.1, (6, 2)), seeds.copy()
    one[5, 1] = other[0, 0] = NAN
    difference, low, high, runs = intervals.paired(one, other)
    pairs = listed(one - other)
    assert runs == 10 and [len(task) for task in pairs] == [5, 5]
    assert difference == pytest.approx(slow.mean(pairs))
    assert (low, high) == pytest.approx(slow.t_interval(pairs, lambda freedom: stats.t.ppf(0.975, freedom)))
    assert high - low < 0.3  # seeds cancel


def test_improvement_is_mann_whitneys_u_with_ties():
    value = intervals.improvement(RAGGED, OTHER)
    assert value == pytest.approx(slow.improvement(listed(RAGGED), listed(OTHER)))
    assert intervals.improvement(OTHER, RAGGED) == pytest.approx(1 - value)
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 6, 12), rng.integers(0, 5, 9)
    assert intervals.improvement(one, other) == pytest.approx(stats.mannwhitneyu(one, other).statistic / (12 * 9))


def test_a_curve_is_an_interval_at_each_point():
    scores = np.random.default_rng(0).normal(size=(6, 2, 4))
    scores[:, 1, 3] = NAN  # a task ends before the last point
    scores[:3, 0, 1] = NAN
    found = intervals.curve(scores, [8, 4, 2, 1]).set_index("point")
    for place, point in enumerate([8, 4, 2]):
        assert tuple(found.loc[point]) == intervals.over_runs(scores[:, :, place])[:3]
    assert found.loc[1].isna().all()


def test_runs_meet_on_a_grid():
    x = np.array([[24, 16, 8, 0], [24.0, NAN, 4, 12], [5, NAN, NAN, NAN], [NAN] * 4])
    y = np.array([[1.0, 2, 4, 8], [0, 7, 20, 10], [3, 1, 1, 1], [1, 1, 1, 1]])
    grid = [0, 4, 5, 12, 20, 24, 30]
    found = intervals.at(x, y, grid)
    np.testing.assert_allclose(found, [[slow.at(*run, where) for where in grid] for run in zip(x, y, strict=True)])
    assert np.isnan(found[:, -1]).all() and np.isnan(found[1, 0]) and found[2, 2] == 3
    shared = intervals.at(x[0], y.reshape(2, 2, 4), grid)  # [runs, tasks, points] at the same x
    np.testing.assert_array_equal(shared[0, 0], found[0])


@pytest.mark.parametrize("call, said", [
    (lambda: intervals.over_runs([]), "no runs"), (lambda: intervals.over_runs([[1.0, NAN], [2.0, NAN]]), "Task 1"),
    (lambda: intervals.over_runs([1.0], level=95), "95"), (lambda: intervals.improvement(RAGGED, RAGGED[:, :2]), "3 and 2"),
    (lambda: intervals.paired(RAGGED, RAGGED[:2]), r"\(2, 3\)"),
    (lambda: intervals.curve(np.ones((2, 1, 3)), [1, 2]), "2 points"),
    (lambda: intervals.at([1, 2, 1], [1, 2, 3], [1]), "two values"), (lambda: intervals.p_value(1, 0, 2, trainings=1), "two"),
    (lambda: intervals.holm([1.2]), "between"),
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
