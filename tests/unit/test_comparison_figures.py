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
    cross = whole(figures.agreement_matrix({"cross": frame, "encoder": frame.iloc[:1]})).axes[1]
    assert ticks(cross) == ["b", "c"] or ticks(cross) == ["b", "a"]  # a and b, the most alike, beside each other
    said = {text.get_text() for text in cross.texts if text.get_gid() is None}
    assert said == {".25", "-.50", ".00"}
    drawn_ = cells(cross)
    assert sorted(drawn_[np.isfinite(drawn_)]) == [-0.5, 0.25]  # b and c: the interval holds zero


PREDICTS = "kind measure rho low high models family"


def test_predictors_are_sorted_and_coloured_by_family():
    frame = table(
        PREDICTS, ("encoder", "low", -0.2, -0.4, 0.1, 4, "x"), ("encoder", "high", 0.8, 0.5, 0.9, 4, "y"),
        ("encoder", "middle", 0.4, NAN, NAN, 4, "y"), ("cross", "high", 0.6, 0.4, 0.7, 2, "y"),
    )  # fmt: skip
    loss, loss_cross = whole(figures.predictors(frame)).axes  # kinds without rows have no panel
    assert ticks(loss) == ["high", "middle", "low"]
    assert loss.get_ylim()[0] > loss.get_ylim()[1]  # the best at the top
    colours = {name: to_rgb(look["color"]) for name, look in drawing.looks("yx").items()}
    assert intervals(loss, 0) == {colours["x"]: {-0.2: (-0.4, 0.1)}, colours["y"]: {0.8: (0.5, 0.9), 0.4: None}}
    assert marked(loss_cross, colours["y"]) == [(0.6, 0)]


def test_kinds_that_tell_little_are_pale_and_do_not_sort():
    rows = [(kind, name, rho, 0.1, 0.9, 4, "x") for kind, name, rho in (
        ("cross", "a", 0.4), ("cross", "b", 0.2), ("encoder", "a", 0.1), ("encoder", "b", 0.9))]  # fmt: skip
    frame = table(PREDICTS, *rows).assign(shown=lambda one: one.kind == "cross")
    cross, pale = whole(figures.predictors(frame)).axes
    assert ticks(cross) == ["a", "b"] and {line.get_alpha() for line in pale.lines} == {0.35}
    assert pale.get_title().endswith("few matter") and {line.get_alpha() for line in cross.lines} != {0.35}


def test_a_panel_a_measure_along_layers():
    rows = [(panel, seed, layer, share) for panel in ("a", "b") for seed, shares in ((1, (1.0, 0.2)), (2, (0.5, 1.0)))
            for layer, share in enumerate(shares, 1)]  # fmt: skip
    figure = whole(figures.layer_means(table("panel seed layer share", *rows), 1))
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["a", "b"]
    drawn = {tuple(line.get_ydata()): line.get_linewidth() for line in figure.axes[0].lines}
    assert drawn[0.75, 0.6] > drawn[1.0, 0.2] == drawn[0.5, 1.0]


def test_a_line_a_criterion_and_a_thin_one_a_training():
    rows = [("EN-RU", name, heads, heads * sign) for name, sign in (("a", 1), ("b", -1)) for heads in (8, 6, 4)]
    frame = table("model criterion heads change", *rows, *[("EN-DE", "a", heads, 20) for heads in (8, 4)])
    each = table(
        "model seed criterion heads change", *[("EN-RU", seed, "a", heads, seed) for seed in (1, 2) for heads in (8, 4)]
    )
    russian, _ = whole(figures.contest(frame, "nats", each)).axes
    assert russian.get_xlim()[0] > russian.get_xlim()[1]  # all heads at the left
    lines = {tuple(line.get_ydata()): line.get_linewidth() for line in russian.lines if line.get_color() == drawing.MODELS[0]}
    assert lines[4, 6, 8] > lines[1, 1] == lines[2, 2]
    assert [text.get_text() for text in russian.texts] == ["b", "a"]  # at the ends, from below


def test_a_claim_s_threshold_is_a_line_and_dots_of_a_measure_are_joined():
    kinds = (("texts", over_what.MODELS), ("seeds", over_what.SEEDS))
    rows = [(name, "encoder", how, 0.4, 0.3, 0.5, over) for name in ("cp", "votes", "probing") for how, over in kinds]
    figure = whole(figures.stability(table("measure kind compared rho low high over", *rows), 0.5))
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    one = whole(figures.stability(table("measure kind compared rho low high over", *rows), 0.5, "votes"))
    (dashed,) = [line.get_ydata() for line in one.axes[0].lines if line.get_linestyle() == "--"]
    assert dashed[1] - dashed[0] == 1 and one.legends[0].get_texts()[-1].get_text() == "asked of votes: 0.5"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["texts (95 % interval)", "seeds (least to largest pair)", "asked: 0.5"]
    joined = [line.get_ydata() for line in figure.axes[0].lines if list(line.get_xdata()) == [0.4, 0.4]]
    np.testing.assert_allclose(joined, [[place - 0.2, place + 0.2] for place in (0, 2, 1)])


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
