"""Figures: what they show, on small tables; others are drawn again from committed tables, byte for byte (test_layout)."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb

from helpers import drawing, plots
from helpers.methods.l0 import HardConcrete
from helpers.study import StudyError
from tests.unit.drawn import cells, intervals, marked, table, ticks, whole

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


def test_tables_that_cannot_be_drawn_are_refused():
    frame = table("a b", (1, 2), (1, 3))
    for call, said in (
        (lambda: drawing.need(frame, "a", "c"), "no column 'c': it needs a, c"),
        (lambda: drawing.need(frame[:0], "a"), "no rows"),
        (lambda: drawing.need(frame, "a", once=["a"]), "more than one row for a 1"),
    ):
        with pytest.raises(StudyError, match=said):
            call()


def test_cells_whose_interval_holds_zero_are_white():
    frame = table(
        "one other rho low high", ("b", "a", 0.25, 0.1, 0.4), ("c", "a", -0.5, NAN, NAN), ("c", "b", -0.001, -0.2, 0.2)
    )
    axis = whole(plots.correlations(frame, "one", "other", "rho")).axes[0]
    assert ticks(axis) == ["b", "c"] and ticks(axis, "x") == ["a", "b"]
    assert {text.get_text() for text in axis.texts} == {".25", "-.50", ".00"}
    np.testing.assert_array_equal(cells(axis), [[0.25, NAN], [-0.5, NAN]])
    with pytest.raises(StudyError, match="more than one row"):
        plots.correlations(pd.concat([frame, frame]), "one", "other", "rho")


def test_choices_are_ranked_beside_every_random_draw():
    rows = [("a", -2.5), ("a", -1.5), ("b", -1.0), ("c", -5.0), *[("random heads", value) for value in (-4.0, -3.5, -1.5)]]
    frame = table("criterion change", *rows).assign(low=NAN, high=NAN, **{"test set": "test"})
    frame = frame.assign(hollow=frame.criterion == "a")
    kept = pd.DataFrame([[0.0, 2.0], [1.5, 0.5], [2.0, 0.0]], ["c", "a", "b"], ["layer 1", "layer 2"])
    left, right = whole(plots.contest(frame, kept, pd.Series([0.2, 0.8]))).axes
    assert ticks(left) == ["b", "a", "random heads", "c"]
    assert [x for x, _ in marked(left, BLUE, hollow=True)] == [-2.5, -1.5]  # both trainings; not told from chance
    assert [x for x, _ in marked(left, BLUE)] == [-5.0, -1.0]
    means = [line.get_xdata()[0] for line in left.lines if line.get_color() == "black"]
    np.testing.assert_allclose(means, [-2, -3])
    np.testing.assert_array_equal(cells(right), [[2, 0], [1.5, 0.5], [NAN, NAN], [0, 2]])
    assert ticks(right, "x") == ["20", "80"] and {text.get_text() for text in right.texts} >= {"1", "2", "1.5", "2.0"}
    alone = frame[frame.criterion == "b"].assign(low=-2.0, high=0.5)
    alone = whole(plots.contest(alone, kept, pd.Series(dtype=float))).axes[0]
    assert intervals(alone, 0) == {BLUE: {-1.0: (-2.0, 0.5)}}


def test_gates_show_all_their_mass():
    samples = {location: HardConcrete(torch.tensor(location), 0.5).sample(torch.linspace(1e-4, 1 - 1e-4, 9999))
               for location in (0.0, -3.0)}  # fmt: skip
    figure = whole(plots.gates(samples))
    densities, masses = figure.axes[:2], figure.axes[2:]
    assert [text.get_text() for text in masses[0].texts] == ["0.23", "0.23"]  # the paper's figure 6
    for axis, other in zip(densities, masses, strict=True):
        stems = sum(float(line.get_ydata()[0]) for line in other.lines if line.get_marker() == "o")
        inside = sum(bar.get_height() * bar.get_width() for bar in axis.patches)
        assert inside + stems == pytest.approx(1, abs=1e-3)
