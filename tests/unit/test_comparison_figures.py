"""Figures that lay measures and criteria side by side: what they show, on small tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.contest import figures
from helpers.scores import intervals as over_what
from helpers.study import StudyError
from tests.unit.drawn import cells, intervals, marked, table, ticks, whole

NAN = np.nan
BLUE = to_rgb(drawing.MODELS[0])


PAIRS = "one other rho low high models"


def test_the_lower_triangle_holds_each_pair_once():
    frame = table(
        PAIRS, ("a", "b", 0.25, 0.1, 0.4, 3), ("c", "a", -0.5, NAN, NAN, 2), ("b", "c", -0.001, -0.2, 0.2, 3),
        ("c", "c", 1, 1, 1, 3),
    )  # fmt: skip
    cross = whole(figures.agreement_matrix({"cross": frame, "encoder": frame.iloc[:1]}, "a")).axes[1]
    assert ticks(cross) == ["b", "c"] and "within a layer (" in cross.get_title(loc="left")  # as they go with a
    assert ticks(whole(figures.agreement_matrix({"cross": frame})).axes[0]) == ["a", "c"]  # b goes best with all
    said = {text.get_text() for text in cross.texts if text.get_gid() is None}
    assert said == {".25", "-.50", ".00"}
    drawn_ = cells(cross)
    assert sorted(drawn_[np.isfinite(drawn_)]) == [-0.5, 0.25]  # b and c: the interval holds zero


def test_predictors_are_sorted():
    frame = table(
        "kind measure rho low high models", ("encoder", "low", -0.2, -0.4, 0.1, 4), ("encoder", "high", 0.8, 0.5, 0.9, 4),
        ("encoder", "middle", 0.4, NAN, NAN, 4), ("cross", "high", 0.6, 0.4, 0.7, 2),
    )  # fmt: skip
    loss, loss_cross = whole(figures.predictors(frame)).axes  # kinds without rows have no panel
    assert ticks(loss) == ["high", "middle", "low"]
    assert loss.get_ylim()[0] > loss.get_ylim()[1]  # the best at the top
    assert intervals(loss, 0) == {BLUE: {-0.2: (-0.4, 0.1), 0.8: (0.5, 0.9), 0.4: None}}
    assert marked(loss_cross, BLUE) == [(0.6, 0)]


def test_a_panel_a_setting_and_a_row_a_criterion():
    rows = [("one", "EN-DE", "a", 1.0, 0.5, 2.0), *[("one", "EN-DE", name, 3.0, 3.0, 3.0) for name in "bcde"]]
    rows += [("all", "EN-RU: all", "a", -9.0, -9.0, -9.0), ("one", "EN-FR", "a", 0.5, 0.5, 0.5)]
    first, second, other = whole(figures.at_once(table("panel setting series value low high", *rows), "nats")).axes[:3]
    assert ticks(first) == [*"abcde"] and first.get_xlim() == second.get_xlim() != other.get_xlim()
    assert other.get_title() == "EN-RU:\nall\n(other scale)"
    assert intervals(first, 0)[BLUE][1.0] == (0.5, 2.0) and marked(other, BLUE)[0][0] == -9.0


def test_comparisons_are_named_above_their_dots():
    kinds = (("texts", over_what.MODELS, 0.8), ("seeds", over_what.SEEDS, 0.4))
    rows = [(name, "encoder", how, at, at - 0.1, 0.9, over) for name in ("cp", "votes") for how, over, at in kinds]
    frame = table("measure kind compared rho low high over", *rows)
    (axis,) = whole(figures.stability(frame)).axes
    assert {text.get_text(): round(text.xy[0], 2) for text in axis.texts} == {
        "texts\n(95 % interval)": 0.8, "seeds\n(least to largest pair)": 0.4
    }  # fmt: skip
    assert axis.get_title() == "encoder self heads" and ticks(axis) == ["cp", "votes"]
    (bare,) = whole(figures.stability(frame.assign(low=NAN, high=NAN))).axes  # no lines, nothing to say of them
    assert {text.get_text() for text in bare.texts} == {"texts", "seeds"}


RANKED = "criterion model value low high"


def test_criteria_are_ranked_beside_every_random_draw():
    draws = [-4.0, -3.5, -1.5]
    rows = [("a", -2.5), ("a", -1.5), ("b", -1.0), ("c", -5.0), *[("random", value) for value in draws]]
    frame = table(RANKED, *[(name, "EN-RU", value, NAN, NAN) for name, value in rows]).assign(hollow=False)
    frame.loc[frame.criterion == "a", "hollow"] = True
    kept = pd.DataFrame([[0.0, 2.0], [1.5, 0.5], [2.0, 0.0]], ["c", "a", "b"], ["layer 1", "layer 2"])
    left, right = whole(figures.ranking(frame, "BLEU minus control", kept, [0.2, 0.8])).axes
    assert ticks(left) == ["b", "a", "random heads", "c"]
    assert [x for x, _ in marked(left, BLUE, hollow=True)] == [-2.5, -1.5]  # both trainings; no better than chance
    assert [x for x, _ in marked(left, BLUE)] == [-5.0, -1.0]
    means = [line.get_xdata()[0] for line in left.lines if line.get_color() == "black"]
    np.testing.assert_allclose(means, [-2, -3])
    np.testing.assert_array_equal(cells(right), [[2, 0], [1.5, 0.5], [NAN, NAN], [0, 2]])
    assert ticks(right, "x") == ["20", "80"] and {text.get_text() for text in right.texts} >= {"1", "2", "1.5", "2.0"}
    (alone,) = whole(figures.ranking(frame[frame.criterion == "b"].assign(low=-2.0, high=0.5))).axes
    assert intervals(alone, 0) == {BLUE: {-1.0: (-2.0, 0.5)}}


@pytest.mark.parametrize("call, said", [
    (lambda: figures.agreement_matrix({}), "at least one kind"),
    (lambda: figures.agreement_matrix({"cross": table(PAIRS, *[("a", "b", 0.2, 0.1, 0.3, 4)] * 2)}), "a and b"),
    (lambda: figures.ranking(table(RANKED, ("random", "EN-RU", 1.0, 0.5, 1.5))), "no rows"),
])  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(StudyError, match=said):
        call()
