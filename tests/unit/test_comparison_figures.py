"""Figures that lay measures and criteria side by side: what they show, on small tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.measures.ranks import within_layer_ranks
from helpers.methods.contest import figures
from helpers.scores import intervals as over_what
from helpers.study import StudyError
from tests.unit.drawn import band, cells, colour_of, drawn, intervals, marked, table, ticks, whole

NAN = np.nan
KINDS, MEASURES = ("encoder", "decoder", "cross"), ["measure 0", "measure 1"]
HEADS = pd.MultiIndex.from_product([KINDS, range(2), range(4)], names=["kind", "layer", "head"])
HEAD_TABLE = pd.DataFrame(np.random.default_rng(0).random((24, 2)), HEADS, MEASURES).assign(functions="").sort_index()
BLUE, GREEN = to_rgb(drawing.MODELS[0]), to_rgb(drawing.MODELS[2])


PAIRS = "one other rho low high models"


def test_the_lower_triangle_holds_each_pair_once():
    frame = table(
        PAIRS, ("a", "b", 0.25, 0.1, 0.4, 3), ("c", "a", -0.5, NAN, NAN, 2), ("b", "c", -0.001, -0.2, 0.2, 3),
        ("c", "c", 1, 1, 1, 3),
    )  # fmt: skip
    cross = whole(figures.agreement_matrix({"cross": frame, "encoder": frame.iloc[:1]})).axes[1]
    assert ticks(cross) == ["b", "c"]
    np.testing.assert_array_equal(cells(cross), [[0.25, NAN], [-0.5, -0.001]])
    said = {tuple(map(round, text.get_position())): text.get_text() for text in cross.texts if text.get_gid() is None}
    assert said == {(0, 0): ".25", (0, 1): "-.50", (1, 1): ".00"}
    ends = [line.get_xdata() for line in cross.lines if line.get_ydata()[0] == line.get_ydata()[1]]  # -1 and 1: 0.45 away
    np.testing.assert_allclose(ends, [[0.45 * 0.1, 0.45 * 0.4], [1 - 0.45 * 0.2, 1 + 0.45 * 0.2]])


PREDICTS = "kind truth measure rho low high models cost"


def test_predictors_are_sorted_and_cheap_ones_marked():
    frame = table(
        PREDICTS, ("encoder", "loss", "low", -0.2, -0.4, 0.1, 4, 3.0), ("encoder", "loss", "high", 0.8, 0.5, 0.9, 4, 90.0),
        ("encoder", "loss", "middle", 0.4, NAN, NAN, 4, NAN), ("cross", "loss", "high", 0.6, 0.4, 0.7, 2, 90.0),
        ("encoder", "kept", "middle", 0.3, 0.2, 0.4, 3, NAN),
    )  # fmt: skip
    loss, loss_cross, kept = whole(figures.predictors(frame)).axes  # kinds without rows have no panel
    assert ticks(loss) == ["high (1.5 min)", "middle", "low (3 s)"]
    assert loss.get_ylim()[0] > loss.get_ylim()[1]  # the best at the top
    assert intervals(loss, 0) == {GREEN: {-0.2: (-0.4, 0.1)}, BLUE: {0.8: (0.5, 0.9), 0.4: None}}  # low costs little
    assert marked(loss, BLUE) == [(0.4, 1), (0.8, 0)] and marked(loss, GREEN) == [(-0.2, 2)]
    assert marked(loss_cross, BLUE) == [(0.6, 0)] and marked(kept, BLUE) == [(0.3, 1)]


def test_few_criteria_share_a_panel_with_random_draws():
    rows = []
    for further, heads in itertools.product((False, True), (8, 4)):
        change = further - heads / 10
        rows.append(("EN-RU", "confidence", further, heads, change, change - 1, change + 0.5, "BLEU"))
        rows += [("EN-RU", "random", further, heads, change - draw, NAN, NAN, "BLEU") for draw in range(41)]
    figure = whole(figures.contest(table("model criterion further heads change low high unit", *rows)))
    own, random = (colour_of(figure, name) for name in ("confidence", "random"))
    for axis, further in zip(figure.axes, (0, 1), strict=True):
        assert axis.get_xlim()[0] > axis.get_xlim()[1]  # all heads at the left
        np.testing.assert_allclose(drawn(axis, own)[0], [[4, 8], [further - 0.4, further - 0.8]])
        assert band(axis, own, 4) == pytest.approx((further - 1.4, further + 0.1))
        np.testing.assert_allclose(drawn(axis, random, "--")[0], [[4, 8], [further - 20.4, further - 20.8]])
        assert band(axis, random, 4) == pytest.approx((further - 39.4, further - 1.4))


def test_what_is_interpolated_has_no_marks_and_a_claim_s_threshold_is_a_line():
    rows = [("EN-RU", "confidence", False, heads, 0.1 * heads, NAN, NAN, "nats", heads != 6) for heads in (8, 6, 4)]
    (axis,) = whole(figures.contest(table("model criterion further heads change low high unit measured", *rows))).axes
    line, *_ = [one for one in axis.lines if one.get_color() == drawing.MODELS[0] and one.get_linestyle() == "-"]
    marks = {tuple(one.get_xdata()) for one in axis.lines if one.get_marker() == "o"}
    assert list(line.get_xdata()) == [4, 6, 8] and marks == {(4, 8)}
    kinds = (("texts", over_what.MODELS), ("seeds", over_what.SEEDS))
    rows = [(name, "encoder", how, 0.4, 0.3, 0.5, over) for name in ("cp", "votes", "probing") for how, over in kinds]
    figure = whole(figures.stability(table("measure kind compared rho low high over", *rows), 0.5))
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["texts (95 % interval)", "seeds (least to largest pair)", "asked: 0.5"]


RANKED = "criterion model value low high"


def test_criteria_are_ranked_beside_every_random_draw():
    draws = [-4.0, -3.5, -1.5]
    frame = table(
        RANKED, ("a", "EN-RU", -2.5, -3.0, -1.5), ("b", "EN-RU", -1.0, -1.5, 0.0), ("c", "EN-RU", -5.0, NAN, NAN),
        *[("random", "EN-RU", value, NAN, NAN) for value in draws], ("a", "EN-DE", 1.0, 0.5, 2.0),
        ("b", "EN-DE", 3.0, 2.5, 3.5),
    )  # fmt: skip
    frame = frame.assign(hollow=(frame.criterion == "a") & (frame.model == "EN-RU"))
    russian, german = whole(figures.ranking(frame, "BLEU minus control")).axes
    assert (ticks(russian), ticks(german)) == (["b", "a", "random heads", "c"], ["b", "a"])
    assert {-1.0: (-1.5, 0.0), -2.5: (-3.0, -1.5), -5.0: None}.items() <= intervals(russian, 0)[BLUE].items()
    assert any(list(line.get_xdata()) == draws and set(line.get_ydata()) == {2} for line in russian.lines)
    (line,) = [line for line in russian.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(line.get_xdata(), -3)
    assert marked(russian, BLUE, hollow=True) == [(-2.5, 1)] and not marked(german, BLUE, hollow=True)  # no better than chance
    assert not whole(figures.ranking(frame[frame.criterion == "b"])).legends


def test_heads_are_coloured_by_their_rank_in_the_layer():
    heads_of = HEAD_TABLE.copy()
    heads_of.iloc[1, 0] = NAN
    figure = whole(figures.head_table_map(heads_of.sample(frac=1, random_state=0), MEASURES))
    for axis, kind in zip(figure.axes, KINDS, strict=False):
        assert axis.get_ylim()[0] > axis.get_ylim()[1]  # layer 1 at the top
        for layer, image in enumerate(axis.images):
            expected = heads_of[MEASURES].apply(within_layer_ranks).loc[kind, layer]
            np.testing.assert_allclose(np.ma.filled(image.get_array(), NAN), expected)


@pytest.mark.parametrize("call, said", [
    (lambda: figures.agreement_matrix({}), "at least one kind"),
    (lambda: figures.agreement_matrix({"cross": table(PAIRS, *[("a", "b", 0.2, 0.1, 0.3, 4)] * 2)}), "a and b"),
    (lambda: figures.ranking(table(RANKED, ("random", "EN-RU", 1.0, 0.5, 1.5))), "no rows"),
    (lambda: figures.head_table_map(HEAD_TABLE, []), "at least one column"),
])  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(StudyError, match=said):
        call()
