"""Figures of the comparison: what they show, on small tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing, plots
from helpers.study import StudyError
from tests.unit.drawn import cells, intervals, marked, table, ticks, whole

NAN = np.nan
BLUE = to_rgb(drawing.MODELS[0])


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
