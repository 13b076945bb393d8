"""Figures of coreference injection: what they show, on small tables."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.coreference import figures
from helpers.study import StudyError
from tests.unit.drawn import band, cells, drawn, levels, table, ticks, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
GREY = to_rgb(figures.ORDERS["random"]["color"])
NAN = np.nan


def heads_of(layers, heads, kind="encoder"):
    return pd.MultiIndex.from_product([[kind], range(layers), range(heads)], names=["kind", "layer", "head"])


WORDS = ["Ann", "said", "$x$", "she", "slept"]
FULL, PREVIOUS = np.eye(5), np.eye(5)
FULL[[0, 0, 3, 3], [0, 3, 0, 3]] = 0.5
PREVIOUS[3] = [1, 0, 0, 0, 0]


def test_links_stand_out_of_the_identity():
    panels = whole(figures.matrices(WORDS, {"full": FULL, "previous": PREVIOUS})).axes
    assert [text.get_text() for text in panels[0].texts] == ["1/2"] * 2
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


def masking():
    ends = [(order, *end) for order in ("lowest", "highest", "random") for end in ((3, 0, 5, 4, 6), (0, 0, 40, 39, 41))]
    return table(
        "order number draw value low high", *ends, ("lowest", 1, 0, 39.0, 38.5, 39.5), ("highest", 1, 0, 20.0, 18.0, 23.0),
        ("random", 1, 0, 36.0, 35.0, 37.0), ("random", 1, 1, 30.0, 29.0, 31.0),
    ).assign(metric="ROUGE-1")  # fmt: skip


def test_scores_fall_as_heads_go():
    (axis,) = whole(figures.masking_curves(masking(), allowed=-0.01)).axes
    assert levels(axis) == [pytest.approx(39.6)]  # of the plain model's 40
    for colour, values, ends in ((BLUE, [40, 39, 5], (38.5, 39.5)), (ORANGE, [40, 20, 5], (18, 23))):
        np.testing.assert_array_equal(drawn(axis, colour)[0], [[0, 1, 3], values])
        assert band(axis, colour, 1) == ends
    assert [line[1].tolist() for line in drawn(axis, GREY)] == [[40, 36, 5], [40, 30, 5]]  # each draw
    assert "our limit: 1 % lower" in {text.get_text() for text in axis.texts}


def test_the_loss_without_a_head_in_the_plain_model_and_with_links():
    rows = [
        (row, layer, -0.5, -1.0, 1.0, after + layer, 1.0, 9.0)
        for row, after in (("links", 4), ("themselves (no links)", 0))
        for layer in (0, 1, 2)
    ]
    frame = table("row layer before before_low before_high after after_low after_high", *rows)
    found = whole(figures.before_after(frame)).axes
    assert [axis.get_title() for axis in found] == ["layer 1", "layer 2", "mean of layers"]
    assert ticks(found[0]) == ["plain model", "links", "no links"]
    assert [text.get_text() for text in found[1].texts if text.get_text()] == ["−0.5", "6.0", "2.0"]


def test_choices_of_heads_stand_by_what_they_cost_a_numbered_line_a_training():
    frame = table("row seed loss change", ("a", 1, 2.0, 0.8), ("b", 1, 70.0, -0.4), ("a", 2, 1.0, 0.5))
    figure = whole(figures.choices(frame))
    (axis,) = figure.axes
    assert {text.get_text(): text.xy for text in axis.texts} == {"1": (70.0, -0.4), "2": (1.0, 0.5)}
    dots = {tuple(dot) for line in axis.lines for dot in zip(*line.get_data(), strict=True)}
    assert [[2.0, 70.0], [0.8, -0.4]] in [np.array(line.get_data()).tolist() for line in axis.lines]
    assert {(2.0, 0.8), (70.0, -0.4), (1.0, 0.5)} <= dots
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b (training 1)"]


def test_the_answer_has_a_colour_of_its_own():
    frame = table(
        "row metric change change_low change_high answer",
        ("a", "ROUGE-1", 1.0, 0, 2, True),
        ("b", "ROUGE-1", 0.0, -1, 1, False),
    )
    (axis,) = whole(figures.changes(frame)).axes
    assert [to_rgb(text.get_color()) == ORANGE for text in axis.get_yticklabels()] == [True, False]


def test_models_from_other_weights_have_a_row_of_their_own_and_the_mechanism_is_drawn():
    values = pd.DataFrame({name: [0.9, 0.1, 0.3, 0.2] for name in ("plain", "steps x 2", "seed 2")}, heads_of(2, 2))
    found = whole(figures.importance_maps(values, ["seed 2"])).axes
    assert [axis.get_title() for axis in found[:3]] == ["plain", "steps x 2", "seed 2"]
    assert found[2].get_ylabel() == "other weights\nlayer"
    (axis,) = whole(figures.mechanism()).axes
    assert {"M: coreference links", "struck out", "set, not learned"} <= {text.get_text() for text in axis.texts}


def test_the_curve_of_corrupted_clusters_ends_at_what_was_corrupted():
    rows = [("gold+corrupt:1", 34, 0.0), ("gold+corrupt:0.1", 92, 1.7), ("gold", 100, 2.6), ("rule", 93, 0.8)]
    frame = pd.DataFrame(rows, columns=["clusters", "conll", "change"]).assign(
        metric="ROUGE-1", change_low=NAN, change_high=NAN
    )
    (axis,) = whole(figures.quality(frame)).axes
    assert [[34, 92, 100], [0, 1.7, 2.6]] in [np.array(line.get_data()).tolist() for line in axis.lines]
    assert [text.get_text() for text in axis.texts if text.get_text()] == ["gold links", "resolver links:\nF1 93"]
    assert axis.get_xlim()[0] == 18
    (axis,) = whole(figures.quality(frame.assign(people=[13, 85, 100, 33]))).axes
    assert [text.get_text() for text in axis.texts] == [
        "he/she 13 %", "he/she 85 %", "gold links, he/she 100 %", "resolver links:\nF1 93, he/she 33 %",
    ]  # fmt: skip


LOSSES = pd.DataFrame({"loss": 0.1}, heads_of(2, 2))


@pytest.mark.parametrize(("call", "said"), [
    (lambda: figures.matrices(["a", "b"], {"full": FULL}), "2 tokens"), (lambda: figures.ablation({}), "no table"),
    (lambda: figures.ablation({"a": LOSSES, "b": LOSSES[1:]}), "same heads"),
    (lambda: figures.agreement(pd.DataFrame(np.eye(2), ["a", "b"], ["a", "c"])), "columns"),
    (lambda: figures.masking_curves(masking()[lambda frame: frame.number > 0]), "ROUGE-1 of the plain"),
])  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
