"""Panels that figures share, and figures of measures: what they show, on random tables of several shapes."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing, plots
from helpers.measures import figures
from helpers.study import StudyError
from tests.unit.drawn import drawn, intervals, marked, table, ticks, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
NAN = np.nan


def test_dots_with_intervals_stand_in_groups_side_by_side():
    frame = table(
        "which choice what series score low high hollow printed", ("one", "main", "a", "x", 1.0, 0.5, 2.0, False, 3.0),
        ("one", "main", "a", "y", -1.0, NAN, NAN, True, NAN), ("one", "rest", "b", "x", 4.0, 3.0, 5.0, False, NAN),
        ("two", "main", "a", "x", 9.0, 8.0, 10.0, False, NAN),
    )  # fmt: skip
    one, two = whole(plots.dots(frame, "what", "score", "series", "choice", "which")).axes
    assert ticks(one) == ["main", "a", "rest", "b"] and one.get_ylim()[0] > one.get_ylim()[1]
    at = dict(zip(ticks(one), one.get_yticks(), strict=True))
    assert intervals(one, 0) == {BLUE: {1.0: (0.5, 2.0), 4.0: (3.0, 5.0)}, ORANGE: {-1.0: None}}
    assert intervals(two, 0)[BLUE] == {9.0: (8.0, 10.0)}
    (below, above), (y,) = (marked(one, BLUE), [y for _, y in marked(one, ORANGE, hollow=True)])
    assert below[1] < at["a"] < y and above[1] > at["rest"]
    ((printed, place),) = marked(one, BLUE, hollow=True)
    assert printed == 3.0 and below[1] < place < at["a"] + 0.5


def test_lines_go_through_the_mean_of_dots():
    frame = table("x method value low high hollow", (2, "a", 5.0, 4.0, 7.0, True), (1, "a", 1.0, 0.0, 2.0, False),
                  (1, "a", 3.0, NAN, NAN, False), (1, "b", 9.0, 8.0, 9.5, False))  # fmt: skip
    axis = plt.figure().add_subplot()
    drawing.lines(axis, frame, "x", "value", "method", drawing.looks("ab"), dodge=0.5)
    np.testing.assert_allclose(drawn(axis, BLUE)[0], [[0.75, 1.75], [2, 5]])
    assert intervals(axis, 1)[BLUE] == {1.0: (0.0, 2.0), 3.0: None, 5.0: (4.0, 7.0)}
    assert marked(axis, BLUE, hollow=True) == [(1.75, 5)]


def test_tables_that_cannot_be_drawn_are_refused():
    frame = table("a b", (1, 2), (1, 3))
    for call, said in (
        (lambda: drawing.need(frame, "a", "c"), "no column 'c': it needs a, c"),
        (lambda: drawing.need(frame[:0], "a"), "no rows"),
        (lambda: drawing.need(frame, "a", once=["a"]), "more than one row for a 1"),
    ):
        with pytest.raises(StudyError, match=said):
            call()


def column(layers, seed, share=True):
    rows = [("encoder", layer, head) for layer, heads in enumerate(layers) for head in range(heads)]
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = pd.Series(np.random.default_rng(seed).uniform(0.05, 0.9, len(rows)), index)
    return values / values.groupby(level=["kind", "layer"]).transform("sum") if share else values


def test_heads_stand_in_their_places_layer_one_at_the_bottom():
    one = pd.Series([3.0, 0.001, 2.0, 6.0, 5.0], column([3, 2], 0).index)
    figure = whole(figures.head_map({"one": one, "other": one / 10}, ["one"]))
    left, right = figure.axes[:2]
    assert ticks(left) == ["2", "1"] and [left.get_title(), right.get_title()] == ["one", "other"]
    assert {"1", "2", "3"} <= {*ticks(left, "x")}
    for axis, cells in ((left, [[6, 5, NAN], [3, 0.06, 2]]), (right, [[0.6, 0.5, NAN], [0.3, 0.0001, 0.2]])):
        assert axis.images[0].get_array().filled(NAN) == pytest.approx(np.array(cells), nan_ok=True)
    assert (left.images[0].norm.vmin, left.images[0].norm.vmax) == pytest.approx((0.06, 6))
    assert (right.images[0].norm.vmin, right.images[0].norm.vmax) == (0, 0.6)


def test_a_choice_stands_beside_random_draws():
    rows = [("least", 0.5, 0.4, 0.6), ("random", 1.0, 0.9, 1.1), ("random", 2.0, 1.9, 2.1)]
    (axis,) = whole(figures.beside_random(table("choice rise low high", *rows), 20.0, "perplexity")).axes
    assert ticks(axis) == ["least", "random"] and axis.get_xscale() == "log" and {"20", "50", "100"} <= {*ticks(axis, "x")}
    assert axis.lines[0].get_xdata() == [20.0, 20.0]
    (dots,) = (line.get_xdata() for line in axis.lines[1:] if line.get_marker() == "o")
    assert dots == pytest.approx([20 * math.exp(rise) for rise in (0.5, 1, 2)])
    ends = {value: found for by_value in intervals(axis, 0).values() for value, found in by_value.items() if found}
    assert [found for found in ends.values() if np.isfinite(found).all()] == [
        pytest.approx((20 * math.exp(0.4), 20 * math.exp(0.6)), abs=1e-5)
    ]
