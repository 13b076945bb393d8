"""Intervals over trainings: against slow loops and all possible draws, and how often they hold the true value."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.scores import intervals, scoring
from helpers.study import StudyError
from tests.reference import intervals as slow

NAN = np.nan
RAGGED = np.array([[1.0, 20.0, 3.5], [2.5, NAN, 3.0], [4.0, 23.0, NAN], [NAN, 28.0, NAN]])
OTHER = np.array([[2.5, 21.0, 3.25], [0.5, 26.0, NAN], [NAN, 19.0, 3.75]])
SLOW = {"mean": slow.mean, "median": slow.median, "iqm": slow.iqm, "gap": partial(slow.gap, target=21)}


def listed(scores):
    return [column[~np.isnan(column)].tolist() for column in np.transpose(scores)]


# -------------------- values and draws


@pytest.mark.parametrize("scores", [RAGGED, RAGGED[:, :2], RAGGED[:1], OTHER], ids=["ragged", "two tasks", "one run", "other"])
@pytest.mark.parametrize("name", SLOW)
def test_aggregates_are_those_of_the_loops(name, scores):
    value, *_ = intervals.stratified(scores, name, repeats=1, target=21)
    assert value == pytest.approx(SLOW[name](listed(scores)))


@pytest.mark.parametrize("shape", [(5, 3), (3, 1), (4, 4), (7, 2)])
def test_the_interquartile_mean_is_the_trimmed_mean_of_all_runs(shape):
    scores = np.random.default_rng(0).normal(size=shape)
    assert intervals.stratified(scores, "iqm", repeats=1)[0] == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


@pytest.mark.parametrize("name", SLOW)
def test_intervals_leave_the_same_share_of_all_possible_draws_outside(name):
    every = slow.distribution(SLOW[name], listed(RAGGED))  # 3^3 3^3 2^2
    _, low, high = intervals.stratified(RAGGED, name, repeats=20000, level=0.8, target=21)
    assert slow.share_up_to(every, low - 1e-6) <= 0.11 and slow.share_up_to(every, low + 0.02) >= 0.09
    assert slow.share_up_to(every, high - 0.02) <= 0.91 and slow.share_up_to(every, high + 1e-6) >= 0.89


def test_draws_stay_in_their_task():
    scores = np.array([[0.0, 100.0], [1.0, 101.0], [2.0, NAN]])
    drawn = intervals._drawn(scores, 4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 3, 2) and np.isnan(drawn[:, 2, 1]).all()
    for task, runs in ((0, [0, 1, 2]), (1, [100, 101])):
        found, counts = np.unique(drawn[:, : len(runs), task], return_counts=True)
        assert found.tolist() == runs
        np.testing.assert_allclose(counts / counts.sum(), 1 / len(runs), atol=0.02)
    assert len(np.unique(drawn[:, 0, 0] * 10 + drawn[:, 1, 0])) == 9  # with replacement


def test_differences_between_tasks_do_not_widen_the_interval():
    scores = np.random.default_rng(1).normal(size=(10, 3))
    narrow, wide = (intervals.stratified(scores + np.array([0, shift, 2 * shift])) for shift in (0, 50))
    np.testing.assert_allclose(np.subtract(wide, narrow), 50)


def test_a_statistic_of_ones_own_and_a_seed():
    def lowest(scores):
        return np.nanmin(scores, axis=(-2, -1))

    scores = np.random.default_rng(0).normal(size=(9, 2))
    value, low, high = intervals.stratified(scores, lowest)
    assert value == low == scores.min() and high > low
    assert intervals.stratified(scores, seed=1) == intervals.stratified(scores, seed=1) != intervals.stratified(scores, seed=2)
    inner, outer = (intervals.stratified(scores, level=level) for level in (0.5, 0.99))
    assert outer[1] < inner[1] < inner[0] < inner[2] < outer[2]


def test_a_list_is_one_task():
    runs = [3.0, 4.0, 8.0]
    assert intervals.stratified(runs) == intervals.stratified(np.transpose([runs]))
    assert intervals.over_runs(pd.Series(runs)) == intervals.over_runs(np.transpose([runs]))


# -------------------- t intervals and pairs


def test_t_intervals():
    runs = pd.Series([3.0, 4.0, 8.0])
    mean, low, high, number = intervals.over_runs([*runs, NAN])
    half = scoring.t_half(runs)
    assert (mean, number) == (5, 3) and (low, high) == pytest.approx((5 - half, 5 + half))
    mean, low, high, number = intervals.over_runs(RAGGED, 0.9)
    assert number == 8 and mean == pytest.approx(slow.mean(listed(RAGGED)))
    assert (low, high) == pytest.approx(slow.t_interval(listed(RAGGED), lambda freedom: stats.t.ppf(0.95, freedom)))
    assert intervals.over_runs([2.0, 2.0]) == (2, 2, 2, 2)


def test_of_one_run_no_interval_is_known():
    one = [[1.0, 2.0], [3.0, NAN]]  # of the second task
    for found in (intervals.over_runs(one)[:3], intervals.stratified(one)):
        assert found[0] == 2 and np.isnan(found[1:]).all()
    for sides in ((one, [[0.0, 1.0]] * 2), ([[0.0, 1.0]] * 2, one)):
        probability, low, high = intervals.improvement(*sides)
        assert 0 <= probability <= 1 and np.isnan([low, high]).all()


def test_runs_are_paired_by_row():
    rng = np.random.default_rng(3)
    seeds = rng.normal(0, 10, (6, 2))
    one, other = seeds + 1 + rng.normal(0, 0.1, (6, 2)), seeds.copy()
    one[5, 1] = other[0, 0] = NAN
    found = intervals.paired(one, other)
    difference = listed(one - other)
    assert found["runs"] == 10 and [len(runs) for runs in difference] == [5, 5]
    assert found["difference"] == pytest.approx(slow.mean(difference))
    ends = slow.t_interval(difference, lambda freedom: stats.t.ppf(0.975, freedom))
    assert (found["low"], found["high"]) == pytest.approx(ends)
    assert (found["drawn_low"], found["drawn_high"]) == intervals.stratified(one - other)[1:]
    assert found["low"] < found["drawn_low"] < 1.1 and found["high"] - found["low"] < 0.3  # seeds cancel
    assert found["drawn_high"] < found["high"]


# -------------------- probability of improvement


def test_probability_of_improvement():
    value, low, high = intervals.improvement(RAGGED, OTHER, repeats=4000, level=0.8)
    assert value == pytest.approx(slow.improvement(listed(RAGGED), listed(OTHER)))
    assert intervals.improvement(OTHER, RAGGED, repeats=1)[0] == pytest.approx(1 - value)
    every = slow.distribution(slow.improvement, listed(RAGGED[:, 1:]), listed(OTHER[:, 1:]))
    _, low, high = intervals.improvement(RAGGED[:, 1:], OTHER[:, 1:], repeats=20000, level=0.8)
    assert slow.share_up_to(every, low - 1e-6) <= 0.11 and slow.share_up_to(every, low + 0.02) >= 0.09
    assert slow.share_up_to(every, high - 0.02) <= 0.91 and slow.share_up_to(every, high + 1e-6) >= 0.89


def test_improvement_is_mann_whitneys_u_with_ties():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 6, 12), rng.integers(0, 5, 9)
    share = stats.mannwhitneyu(one, other).statistic / (12 * 9)
    assert intervals.improvement(one, other, repeats=1)[0] == pytest.approx(share)
    assert intervals.improvement([1.0, 1.0], [1.0, 1.0]) == (0.5, 0.5, 0.5)
    assert intervals.improvement([2.0, 3.0], [1.0, 0.0]) == (1, 1, 1)


# -------------------- curves


def test_a_curve_is_an_interval_at_each_point():
    scores = np.random.default_rng(0).normal(size=(6, 2, 4))
    scores[:, 1, 3] = NAN  # a task ends before the last point
    scores[:3, 0, 1] = NAN
    found = intervals.curve(scores, [8, 4, 2, 1], statistic="iqm", repeats=300)
    assert found.columns.tolist() == ["point", "value", "low", "high"] and found.point.tolist() == [8, 4, 2, 1]
    for place in range(3):
        expected = intervals.stratified(scores[:, :, place], "iqm", repeats=300)
        assert tuple(found.loc[place, ["value", "low", "high"]]) == expected
    assert found.loc[3, ["value", "low", "high"]].isna().all()
    few = intervals.curve(scores, interval=intervals.over_runs, level=0.9)
    assert few.point.tolist() == [0, 1, 2, 3]
    assert tuple(few.loc[0, ["value", "low", "high"]]) == intervals.over_runs(scores[:, :, 0], 0.9)[:3]


def test_runs_meet_on_a_grid():
    x = np.array([[24, 16, 8, 0], [24.0, NAN, 4, 12], [5, NAN, NAN, NAN], [NAN] * 4])
    y = np.array([[1.0, 2, 4, 8], [0, 7, 20, 10], [3, 1, 1, 1], [1, 1, 1, 1]])
    grid = [0, 4, 5, 12, 20, 24, 30]
    found = intervals.at(x, y, grid)
    np.testing.assert_allclose(found, [[slow.at(*run, where) for where in grid] for run in zip(x, y, strict=True)])
    assert np.isnan(found[:, -1]).all() and np.isnan(found[1, 0]) and found[2, 2] == 3
    shared = intervals.at(x[0], y.reshape(2, 2, 4), grid)  # [runs, tasks, points] at the same x
    assert shared.shape == (2, 2, 7)
    np.testing.assert_array_equal(shared[0, 0], found[0])


# -------------------- how often intervals hold the true value


def coverage(interval, make, truth, times):
    ends = [interval(make())[1:3] for _ in range(times)]
    return np.mean([low <= truth <= high for low, high in ends])


@pytest.mark.parametrize("shape, truth", [("normal", 0.0), ("exponential", 1.0)])
@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_with_enough_runs_the_bootstrap_holds_the_true_value(shape, truth, statistic):
    rng = np.random.default_rng(0)
    if (shape, statistic) == ("exponential", "iqm"):  # what lies between the quartiles, ln 4/3 and ln 4, on average
        truth = 2 * (0.75 * (1 + np.log(4 / 3)) - 0.25 * (1 + np.log(4)))
    bootstrap = partial(intervals.stratified, statistic=statistic, repeats=400)
    assert 0.90 <= coverage(bootstrap, lambda: getattr(rng, shape)(size=(20, 4)), truth, 600) <= 0.98


def test_with_few_runs_the_bootstrap_is_too_narrow_and_the_t_interval_is_not():
    rng = np.random.default_rng(0)
    offsets = np.array([0.0, 5.0, 10.0, 20.0])
    bootstrap = partial(intervals.stratified, repeats=400)
    for runs, most in ((2, 0.80), (3, 0.87), (5, 0.93)):
        make = partial(lambda runs: rng.normal(size=(runs, 4)) + offsets, runs)
        assert most - 0.1 < coverage(bootstrap, make, offsets.mean(), 600) < most
    one_task = partial(rng.normal, size=(3, 1))
    assert 0.68 < coverage(bootstrap, one_task, 0, 600) < 0.78
    assert 0.93 <= coverage(intervals.over_runs, one_task, 0, 3000) <= 0.97
    assert 0.93 <= coverage(intervals.over_runs, lambda: rng.normal(size=(3, 4)) + offsets, offsets.mean(), 2000) <= 0.98


def test_the_interval_of_an_improvement_holds_the_true_one():
    rng = np.random.default_rng(0)
    interval = partial(intervals.improvement, repeats=300)
    truth = stats.norm.cdf(0.5 / np.sqrt(2))
    hits = [
        low <= truth <= high
        for _, low, high in (interval(rng.normal(0.5, 1, (15, 2)), rng.normal(0, 1, (15, 2))) for _ in range(200))
    ]
    assert 0.90 <= np.mean(hits) <= 0.98


# -------------------- refusals


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: intervals.stratified([]), "no runs"),
        (lambda: intervals.stratified(np.full((3, 2), NAN)), "no runs"),
        (lambda: intervals.over_runs(np.empty((0, 2))), "no runs"),
        (lambda: intervals.stratified([[1.0, NAN], [2.0, NAN]]), "Task 1"),
        (lambda: intervals.improvement([1.0, 2.0], [NAN, NAN]), "no runs"),
        (lambda: intervals.stratified(np.ones((2, 2, 2))), r"\(2, 2, 2\)"),
        (lambda: intervals.stratified(RAGGED, "mode"), "mean, median, iqm, gap"),
        (lambda: intervals.stratified(RAGGED, "gap"), "target"),
        (lambda: intervals.stratified(RAGGED, repeats=0), "0 draws"),
        (lambda: intervals.stratified(RAGGED, level=95), "95"),
        (lambda: intervals.over_runs([1.0], level=0), "level 0"),
        (lambda: intervals.improvement(RAGGED, RAGGED[:, :2]), "3 and 2 tasks"),
        (lambda: intervals.paired(RAGGED, RAGGED[:2]), r"\(4, 3\) and \(2, 3\)"),
        (lambda: intervals.paired([1.0, NAN], [NAN, 1.0]), "no runs"),
        (lambda: intervals.curve(RAGGED), r"\(4, 3\)"),
        (lambda: intervals.curve(np.ones((2, 1, 3)), [1, 2]), "3 points but 2"),
        (lambda: intervals.curve(np.stack([RAGGED, NAN * RAGGED], 1)), "no point"),
        (lambda: intervals.at([1, 2, 1], [1, 2, 3], [1]), "two values"),
        (lambda: intervals.at([1, 2, 3], [1, 2], [1]), r"\(3,\)"),
    ],
)
def test_refusals(call, said):
    with pytest.raises(StudyError, match=said) as caught:
        call()
    assert str(caught.value).count(". ") == 0 and str(caught.value).endswith(".")


# -------------------- p-values


@pytest.mark.parametrize("null", [0.0, 1.5])
def test_a_p_value_over_trainings_is_that_of_the_t_test(null):
    values = np.random.default_rng(3).normal(2, 1, 5)
    mean, low, high, runs = intervals.over_runs(values)
    assert intervals.p_value(mean, low, high, null, runs) == pytest.approx(stats.ttest_1samp(values, null).pvalue)


def test_a_p_value_over_sentences_is_normal():
    error = 0.7
    low, high = (1.2 + sign * stats.norm.ppf(0.975) * error for sign in (-1, 1))
    assert intervals.p_value(1.2, low, high) == pytest.approx(2 * stats.norm.sf(1.2 / error))
    assert intervals.p_value(stats.norm.ppf(0.975), 0, 2 * stats.norm.ppf(0.975)) == pytest.approx(0.05)  # it just reaches zero


def test_p_values_of_several_rows():
    found = intervals.p_value([1.0, 1.0, NAN, 0.0, 2.0], [0, NAN, NAN, 0, 2], [2, NAN, NAN, 0, 2], trainings=[NAN, 1, 1, 3, 3])
    assert found == pytest.approx([intervals.p_value(1, 0, 2), NAN, NAN, 1, 0], nan_ok=True)
    assert intervals.p_value(2, 1, 3, trainings=3) > intervals.p_value(2, 1, 3, trainings=30) > intervals.p_value(2, 1, 3)
    with pytest.raises(StudyError, match="two trainings"):
        intervals.p_value(1, 0, 2, trainings=1)


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closed_test_of_bonferroni(seed):
    p = np.random.default_rng(seed).random(5) ** 4
    assert intervals.holm(p) == pytest.approx(slow.holm(p.tolist()))


def test_holm_leaves_out_what_is_no_comparison():
    assert intervals.holm([0.01, NAN, 0.03, 0.02]) == pytest.approx([0.03, NAN, 0.04, 0.04], nan_ok=True)
    assert intervals.holm([0.6, 0.5]).tolist() == [1, 1] and not len(intervals.holm([]))
    with pytest.raises(StudyError, match="between 0 and 1"):
        intervals.holm([1.2])


def test_a_family_of_comparisons():
    table = pd.DataFrame({"change": [0.0, 1.0, 3.0, 2.0], "change_low": [0, -1, 2, NAN], "change_high": [0, 3, 4, NAN]})
    found = intervals.corrected(table, compared=[False, True, True, True])
    assert found.family.eq(2).all() and found.p.isna().tolist() == [True, False, False, True]
    assert found.p_holm[2] == pytest.approx(2 * found.p[2]) and found.p_holm[1] == found.p[1]
