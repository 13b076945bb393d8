"""Figures of grouped heads: what they show, on small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing, plots
from helpers.study import StudyError
from tests.unit.drawn import cells, intervals, levels, marked, table, ticks, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
NAN = np.nan
SCORES = "method heads groups change low high"


def test_each_method_has_a_panel_on_a_scale_of_its_own_and_groups_are_at_even_distances():
    rows = [("GHT", "8 heads", 8, 3.0, 2.0, 4.5), ("GHT", "8 heads", 1, 1.0, 0.5, 2.0), ("GHT", "16 heads", 4, 0.5, 0.0, 1.0)]
    rows += [("GHT-PS", "8 heads", 2, -20.0, -30.0, -10.0)]
    one, other = whole(plots.by_groups(table(SCORES, *rows), panel="method")).axes[:2]
    assert [axis.get_title() for axis in (one, other)] == ["GHT", "GHT-PS"] and one.get_ylim() != other.get_ylim()
    assert ticks(one, "x") == ticks(other, "x") == ["1", "2", "4", "8"] and one.get_ylabel() == "change in BLEU"
    assert intervals(one, 1)[BLUE] == {1.0: (0.5, 2.0), 3.0: (2.0, 4.5)} and intervals(one, 1)[ORANGE] == {0.5: (0.0, 1.0)}
    assert [round(x) for x, _ in marked(one, BLUE)] == [0, 3] and 0 in levels(one)


def pairs(title, cosines, groups):
    rows = [(title, head, other, cosines[head][other], groups[head]) for head in range(3) for other in range(3)]
    return pd.DataFrame(rows, columns=["title", "head", "other", "cosine", "group"])


def test_heads_of_a_group_stand_together_in_a_frame():
    cosines = np.array([[1, 0.5, -0.5], [0.5, 1, -0.25], [-0.5, -0.25, 1]])
    both = pd.concat([pairs("plain", np.eye(3), [0, 1, 1]), pairs("GHT", cosines, [1, 1, 0])])
    figure = whole(plots.cosines(both))
    plain, made = (axis for axis in figure.axes if axis.images and axis.get_title())
    np.testing.assert_array_equal(cells(plain), np.eye(3))
    np.testing.assert_array_equal(cells(made), cosines[np.ix_([2, 0, 1], [2, 0, 1])])
    assert ticks(made, "x") == ticks(made) == ["3", "1", "2"] and ticks(plain, "x") == ["1", "2", "3"]
    assert {(box.get_x(), box.get_width()) for box in made.patches} == {(-0.5, 1), (0.5, 2)}


def test_dots_stand_in_the_order_of_their_table_with_the_printed_ones():
    rows = [("one", "GHT", 1.0, 0.0, 2.0, 3.0), ("one", "GHT-PS", -8.0, -9.0, -7.0, 2.5), ("two", "GHT", 0.5, NAN, NAN, NAN)]
    frame = table("task method gain low high printed", *rows)
    (axis,) = whole(plots.dots(frame, "method", "gain", series="method", group="task", label="gain, %", level=1.5)).axes
    assert ticks(axis) == ["one", "GHT", "GHT-PS", "two", "GHT"] and axis.get_xlabel() == "gain, %"
    assert intervals(axis, 0)[BLUE][1.0] == (0.0, 2.0) and intervals(axis, 0)[ORANGE] == {-8.0: (-9.0, -7.0)}
    diamonds = [x for line in axis.lines if line.get_marker() == "D" for x in line.get_xdata() if np.isfinite(x)]
    assert sorted(diamonds) == [2.5, 3.0] and axis.lines[0].get_xdata()[0] == 1.5
    (bare,) = whole(plots.dots(frame.drop(columns="printed"), "method", "gain")).axes
    assert bare.get_xlabel() == "gain" and not bare.figure.legends


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda: plots.dots(table("a b"), "a", "b"), "no rows"),
        (lambda: plots.dots(table("a b", (1, 2)), "a", "b", group="c"), "c"),
        (lambda: plots.by_groups(table("groups", (1,))), "change"),
        (lambda: plots.cosines(table("title head", ("x", 0))), "other"),
    ],
)
def test_bad_input_is_refused(call, missing):
    with pytest.raises(StudyError, match=missing):
        call()
