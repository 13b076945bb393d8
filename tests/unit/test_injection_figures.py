"""Figures of coreference injection: what they show, on small tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.coreference import figures
from helpers.study import StudyError
from tests.unit.drawn import band, cells, colour_of, drawn, intervals, levels, marked, table, ticks, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
GREY = to_rgb(figures.ORDERS["random"]["color"])
NAN = np.nan


def heads_of(layers, heads, kind="encoder"):
    return pd.MultiIndex.from_product([[kind], range(layers), range(heads)], names=["kind", "layer", "head"])


# -------------------- matrices and heads

WORDS = ["Ann", "said", "$x$", "she", "slept"]
FULL, PREVIOUS = np.eye(5), np.eye(5)
FULL[[0, 0, 3, 3], [0, 3, 0, 3]] = 0.5
PREVIOUS[3] = [1, 0, 0, 0, 0]


def test_links_stand_out_of_the_identity():
    *panels, _ = whole(figures.matrices(WORDS, {"full": FULL, "previous": PREVIOUS})).axes
    for axis, matrix, linked in zip(panels, (FULL, PREVIOUS), ([0, 3], [3]), strict=True):
        plain, links = (np.ma.filled(image.get_array().astype(float), NAN) for image in axis.images)
        others = [place for place in range(5) if place not in linked]
        np.testing.assert_array_equal(links[linked], np.where(matrix > 0, matrix, NAN)[linked])
        assert np.argwhere(np.isfinite(plain)).tolist() == [[place, place] for place in others]
        assert np.isnan(links[others]).all() and ticks(axis, "x") == WORDS


def test_the_lowest_head_of_each_layer_is_marked():
    values = pd.DataFrame({"plain": [0.9, 0.1, 0.3, 0.2, 0.2, 0.8], "other": [0.3, 0.2, 0.1, 0.6, 0.4, 0.5]}, heads_of(2, 3))
    for axis, column, lowest in zip(figures.importance_maps(values).axes, values, ([1, 0], [2, 1]), strict=False):
        np.testing.assert_array_equal(cells(axis), values[column].to_numpy().reshape(2, 3)[::-1])
        (marks,) = axis.lines
        assert list(zip(*marks.get_data(), strict=True)) == [(lowest[1], 0), (lowest[0], 1)]


def test_loss_of_heads_beside_its_mean():
    one = pd.DataFrame({"loss": [0.01, -0.002, 0.0, 0.004]}, heads_of(2, 2))
    other = pd.DataFrame({"loss": [0.02, 0.003, -0.0301, 0.0]}, heads_of(2, 2)).iloc[::-1]
    expected = ([0, 4, 10, -2], [-30.1, 0, 20, 3], [-15.05, 2, 15, 0.5])
    for axis, values in zip(figures.ablation({"seed 0": one, "seed 1": other}).axes, expected, strict=False):
        np.testing.assert_allclose(cells(axis), np.reshape(values, (2, 2)))
        assert axis.images[0].get_clim() == pytest.approx((-30.1, 30.1))


def test_large_head_maps_fit_a_page():
    many = [f"injected, lowest, {number} adjacent links" for number in range(20)]
    whole(figures.importance_maps(pd.DataFrame(0.5, heads_of(3, 8), many[:6])))
    whole(figures.agreement(pd.DataFrame(np.eye(20), many, many)))


# -------------------- scores


def masking():
    ends = [(order, *end) for order in ("lowest", "highest", "random") for end in ((3, 0, 5, 4, 6), (0, 0, 40, 39, 41))]
    return table(
        "order number draw value low high", *ends, ("lowest", 1, 0, 39.0, 38.5, 39.5), ("highest", 1, 0, 20.0, 18.0, 23.0),
        ("random", 1, 0, 36.0, 35.0, 37.0), ("random", 1, 1, 30.0, 29.0, 31.0),
    ).assign(metric="ROUGE-1")  # fmt: skip


def test_scores_fall_as_heads_go():
    (axis,) = whole(figures.masking_curves(masking())).axes
    assert levels(axis) == [40]  # the plain model
    for colour, values, ends in ((BLUE, [40, 39, 5], (38.5, 39.5)), (ORANGE, [40, 20, 5], (18, 23))):
        np.testing.assert_array_equal(drawn(axis, colour)[0], [[0, 1, 3], values])
        assert band(axis, colour, 1) == ends
    found = sorted(line[1].tolist() for line in drawn(axis, GREY))
    assert found == [[40, 30, 5], [40, 33, 5], [40, 36, 5]]  # draws and their mean


def test_changes_have_a_sign():
    frame = table(
        "row metric change change_low change_high", ("masked", "BLEU", -1.24, -2.0, -0.5), ("injected", "BLEU", -0.04, NAN, NAN)
    )
    (axis,) = whole(figures.changes(frame, title="dialogues")).axes
    assert intervals(axis, 0)[BLUE] == {-1.24: (-2.0, -0.5), -0.04: None}
    assert [text.get_text() for text in axis.texts] == ["−1.2", "+0.0"]


BEFORE = "row kind layer head before after rank_before rank_after heads"


def test_importance_before_and_after():
    frame = table(
        BEFORE, ("lowest", "encoder", 0, 3, 0.1, 0.8, 4.0, 1.0, 4), ("lowest", "encoder", 1, 2, 0.2, 0.5, 3.5, 2.0, 4),
        ("highest", "encoder", 1, 0, 0.7, 0.6, 1.0, 1.0, 4),
    )  # fmt: skip
    lowest, highest = whole(figures.before_after(frame)).axes
    first, second = (to_rgb(colour) for colour in drawing.layer_colours(2))
    assert marked(lowest, first) == [(0, 0.1), (1, 0.8)] and marked(lowest, second) == [(0, 0.2), (1, 0.5)]
    assert not marked(highest, first) and marked(highest, second) == [(0, 0.7), (1, 0.6)]
    (level,) = (line for line in lowest.lines if line.get_linestyle() == "--")
    assert list(level.get_ydata()) == [0.5, 0.5]  # all heads of a layer alike: 1 / sqrt(4)


def test_ranks_can_be_read_where_heads_are_alike():
    rows = [
        (row, "encoder", layer, head, 0.1, 1.0 if row == "top" else 0.0, 16.0, 1.0, 16)
        for row in ("top", "bottom", "other") for layer in range(12) for head in range(2)
    ]  # fmt: skip
    figure = whole(figures.before_after(table(BEFORE, *rows)))
    for axis in figure.axes:
        boxes = sorted((text.get_window_extent() for text in axis.texts), key=lambda box: box.y0)
        assert len(boxes) == 24 and boxes[-1].y1 < axis.get_window_extent().y1 + 10
        assert all(upper.y0 > lower.y1 for lower, upper in pairwise(boxes))
        assert max(box.x1 for box in boxes) <= axis.get_window_extent().x1


def test_change_by_the_quality_of_clusters():
    frame = table(
        "metric clusters conll change change_low change_high", ("ROUGE-1", "gold", 100.0, 3.0, 2.0, 4.0),
        ("ROUGE-1", "gold+corrupt:0.2", 80.0, 2.0, 1.0, 3.0),
        ("ROUGE-1", "gold+corrupt:0.8", 20.0, -1.0, -2.0, 0.5), ("ROUGE-1", "gold+corrupt:0.4", 60.0, 1.0, NAN, NAN),
        ("ROUGE-1", "gold+shuffled", 5.0, -0.5, -1.0, 0.0),
    )  # fmt: skip
    figure = whole(figures.quality(frame.assign(low=0.0, high=99.0)))  # those of the scores, not of the changes
    (axis,) = figure.axes
    joined, gold, shuffled = (colour_of(figure, name) for name in ("gold, corrupted", "gold", "gold+shuffled"))
    np.testing.assert_array_equal(drawn(axis, joined)[0], [[20, 60, 80], [-1, 1, 2]])
    assert intervals(axis, 1)[joined] == {-1.0: (-2.0, 0.5), 1.0: None, 2.0: (1.0, 3.0)}
    assert marked(axis, gold) == [(100, 3)] and not drawn(axis, gold) and marked(axis, shuffled) == [(5, -0.5)]


def test_clusters_stand_against_each_side():
    rows = [("rule", "gold", 80.0, 70.0, 60.0, 70.0), ("rule", "GUM", 50.0, 40.0, 30.0, 40.04), ("none", "gold", *[0.0] * 4)]
    figure = whole(figures.resolvers(table("clusters against MUC B-cubed CEAF-e CoNLL", *rows)))
    shown = [marked(figure.axes[1], colour_of(figure, name))[0][0] for name in ("MUC", "B-cubed", "CEAF-e", "CoNLL")]
    assert shown == [50, 40, 30, 40.04]


# -------------------- what is refused

LOSSES = pd.DataFrame({"loss": 0.1}, heads_of(2, 2))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.matrices(["a", "b"], {"full": FULL}), "2 tokens"),
        (lambda: figures.ablation({}), "no table"),
        (lambda: figures.ablation({"a": LOSSES, "b": LOSSES[1:]}), "same heads"),
        (lambda: figures.agreement(pd.DataFrame(np.eye(2), ["a", "b"], ["a", "c"])), "columns"),
        (lambda: figures.masking_curves(masking()[lambda frame: frame.number > 0]), "ROUGE-1 of the plain"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
