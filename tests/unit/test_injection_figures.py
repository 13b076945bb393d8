"""Figures of coreference injection: what they show, on small tables."""

from __future__ import annotations

import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.coreference import figures
from helpers.study import StudyError
from tests.unit.drawn import band, cells, colour_of, drawn, intervals, legend, levels, marked, table, ticks, titles, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
GREY, BLACK = to_rgb(figures.ORDERS["random"]["color"]), (0, 0, 0)
NAN = np.nan


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


def heads_of(layers, heads, kind="encoder"):
    return pd.MultiIndex.from_product([[kind], range(layers), range(heads)], names=["kind", "layer", "head"])


# -------------------- matrices and heads

WORDS = ["Ann", "said", "$x$", "she", "slept"]
FULL, PREVIOUS = np.eye(5), np.eye(5)
FULL[[0, 0, 3, 3], [0, 3, 0, 3]] = 0.5
PREVIOUS[3] = [1, 0, 0, 0, 0]


def test_links_stand_out_of_the_identity():
    figure = whole(figures.matrices(WORDS, {"full": FULL, "previous": PREVIOUS}))
    *panels, bar = figure.axes
    assert titles(figure) == ["full", "previous"] and bar.get_ylabel() == "attention weight"
    for axis, matrix, linked in zip(panels, (FULL, PREVIOUS), ([0, 3], [3]), strict=True):
        plain, links = (np.ma.filled(image.get_array().astype(float), NAN) for image in axis.images)
        others = [place for place in range(5) if place not in linked]
        np.testing.assert_array_equal(links[linked], np.where(matrix > 0, matrix, NAN)[linked])
        assert np.isnan(links[others]).all() and np.isnan(plain[linked]).all()
        assert np.argwhere(np.isfinite(plain)).tolist() == [[place, place] for place in others]
        assert [line.get_ydata()[0] for line in axis.lines] == linked and ticks(axis, "x") == WORDS
        assert [text.get_text() for text in axis.get_xticklabels() if text.get_color() == "black"] == ["Ann", "she"]
    assert ticks(panels[0]) == WORDS and not any(ticks(panels[1]))


@pytest.mark.parametrize("count, across", [(20, 2), (60, 1)])
def test_matrices_of_many_tokens_fit_a_page(count, across):
    words = ["Unbelievably" if place % 7 == 0 else "you" for place in range(count)]
    figure = figures.matrices(words, {title: np.eye(count) for title in ("full", "adjacent", "previous")})
    figure.draw_without_rendering()
    panels = figure.axes[:3]
    assert figure.get_figwidth() <= drawing.WIDTH + 0.01
    assert [ticks(axis) == words for axis in panels] == [place % across == 0 for place in range(3)]
    assert all(upper.y0 > lower.y0 for upper, lower in pairwise(t.get_window_extent() for t in panels[0].get_yticklabels()))


def test_the_lowest_head_of_each_layer_is_marked():
    values = pd.DataFrame({"plain": [0.9, 0.1, 0.3, 0.2, 0.2, 0.8], "other": [0.3, 0.2, 0.1, 0.6, 0.4, 0.5]}, heads_of(2, 3))
    figure = figures.importance_maps(values)
    assert legend(figure) == ["lowest of its layer"] and titles(figure) == ["plain", "other"]
    for axis, column, lowest in zip(figure.axes, values, ([1, 0], [2, 1]), strict=False):
        np.testing.assert_array_equal(cells(axis), values[column].to_numpy().reshape(2, 3)[::-1])
        assert axis.images[0].get_clim() == (0, 0.9) and ticks(axis) == ["2", "1"] and ticks(axis, "x") == ["1", "2", "3"]
        (marks,) = axis.lines
        assert list(zip(*marks.get_data(), strict=True)) == [(lowest[1], 0), (lowest[0], 1)]
    several = pd.concat([values, values.set_axis(heads_of(2, 3, "cross"))])
    assert ticks(figures.importance_maps(several).axes[0]) == ["cross 2", "cross 1", "enc 2", "enc 1"]
    names = [f"injected, lowest, {number} adjacent links" for number in range(6)]
    many = whole(figures.importance_maps(pd.DataFrame(0.5, heads_of(3, 8), names)))
    assert [title.replace("\n", " ") for title in titles(many)] == names


def test_loss_of_heads_beside_its_mean():
    one = pd.DataFrame({"loss": [0.01, -0.002, 0.0, 0.004]}, heads_of(2, 2))
    other = pd.DataFrame({"loss": [0.02, 0.003, -0.0301, 0.0]}, heads_of(2, 2)).iloc[::-1]
    figure = whole(figures.ablation({"seed 0": one, "seed 1": other}))
    assert titles(figure) == ["seed 0", "seed 1", "mean"]
    expected = ([0, 4, 10, -2], [-30.1, 0, 20, 3], [-15.05, 2, 15, 0.5])
    for axis, values in zip(figure.axes, expected, strict=False):
        np.testing.assert_allclose(cells(axis), np.reshape(values, (2, 2)))
        assert axis.images[0].get_clim() == pytest.approx((-30.1, 30.1))
    assert [text.get_text() for text in figure.axes[1].texts] == ["-30", "0.0", "20", "3.0"]
    assert titles(figures.ablation({"one": one})) == ["one"]
    figure = whole(figures.ablation({"large": pd.DataFrame({"loss": 0.0}, heads_of(12, 16))}))
    assert not figure.axes[0].texts and figure.axes[0].images[0].get_clim() == (-1, 1)


def test_agreement_of_trainings_fits_a_page():
    many = [f"injected, random {number}" for number in range(20)]
    axis = whole(figures.agreement(pd.DataFrame(np.eye(20), many, many))).axes[0]
    np.testing.assert_array_equal(cells(axis), np.eye(20))
    assert ticks(axis) == ticks(axis, "x") == many


# -------------------- scores

MASKING = "metric order number draw value low high"


def masking(metric="ROUGE-1"):
    plain = [(metric, order, 0, 0, 40.0, 39.0, 41.0) for order in ("lowest", "highest", "random")]
    off = [(metric, order, 3, 0, 5.0, 4.0, 6.0) for order in ("lowest", "highest", "random")]
    return table(
        MASKING, *off, *plain, (metric, "lowest", 1, 0, 39.0, 38.5, 39.5), (metric, "highest", 1, 0, 20.0, 18.0, 23.0),
        (metric, "random", 1, 0, 36.0, 35.0, 37.0), (metric, "random", 1, 1, 30.0, 29.0, 31.0),
    )  # fmt: skip


def test_scores_fall_as_heads_go():
    figure = figures.masking_curves(masking())
    assert legend(figure) == ["lowest", "highest", "random, mean", "one random draw", "plain model"]
    (axis,) = figure.axes
    assert titles(figure) == ["ROUGE-1"] and axis.get_xlabel() == "heads off in each layer" and levels(axis) == [40]
    for colour, values, ends in ((BLUE, [40, 39, 5], (38.5, 39.5)), (ORANGE, [40, 20, 5], (18, 23))):
        np.testing.assert_array_equal(drawn(axis, colour)[0], [[0, 1, 3], values])
        assert band(axis, colour, 1) == ends
    found = sorted(line[1].tolist() for line in drawn(axis, GREY))
    assert found == [[40, 30, 5], [40, 33, 5], [40, 36, 5]]  # draws and their mean
    frame = pd.concat([masking(metric) for metric in ("ROUGE-1", "ROUGE-2", "events")])
    figure = figures.masking_curves(frame[frame.order == "lowest"], ["events", "ROUGE-1"])
    assert titles(figure) == ["events with the right people, %", "ROUGE-1"] and legend(figure) == ["lowest", "plain model"]


CHANGES = "row metric change change_low change_high"


def test_changes_stand_in_the_order_of_rows():
    frame = table(
        CHANGES, ("masked", "BLEU", -1.24, -2.0, -0.5), ("injected", "BLEU", 0.96, 0.5, 1.5),
        ("masked", "events", 12.0, 10.0, 15.0), ("injected", "events", -0.04, NAN, NAN), ("alone", "BLEU", 0.5, 0.0, 1.0),
    )  # fmt: skip
    figure = whole(figures.changes(frame, title="dialogues"))
    assert figure.get_suptitle() == "dialogues" and titles(figure) == ["BLEU", "events with the\nright people, %"]
    bleu, events = figure.axes
    assert ticks(bleu) == ["masked", "injected", "alone"]
    assert intervals(bleu, 0)[BLUE] == {-1.24: (-2.0, -0.5), 0.96: (0.5, 1.5), 0.5: (0.0, 1.0)}
    assert intervals(events, 0)[BLUE] == {12.0: (10.0, 15.0), -0.04: None} and marked(events, BLUE) == [(-0.04, 1), (12, 0)]
    said = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert said == [["−1.2", "+1.0", "+0.5"], ["+12.0", "+0.0"]]
    assert all(any(list(line.get_xdata()) == [0, 0] for line in axis.lines) for axis in figure.axes)
    assert ticks(whole(figures.changes(frame.assign(group="main"), ["BLEU"])).axes[0]) == [
        "main",
        "masked",
        "injected",
        "alone",
    ]


BEFORE = "row kind layer head before after rank_before rank_after heads"


def test_importance_before_and_after():
    frame = table(
        BEFORE, ("lowest", "encoder", 0, 3, 0.1, 0.8, 4.0, 1.0, 4), ("lowest", "encoder", 1, 2, 0.2, 0.5, 3.5, 2.0, 4),
        ("highest", "encoder", 1, 0, 0.7, 0.6, 1.0, 1.0, 4),
    )  # fmt: skip
    figure = figures.before_after(frame)
    assert legend(figure) == ["all heads of a layer alike"]
    lowest, highest = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["lowest", "highest"]
    assert lowest.get_ylabel() == "importance,\nnormalised by layer" and ticks(lowest, "x") == ["before", "after"]
    first, second = (to_rgb(colour) for colour in drawing.layer_colours(2))
    assert marked(lowest, first) == [(0, 0.1), (1, 0.8)]
    assert marked(lowest, second) == [(0, 0.2), (1, 0.5)]
    assert not marked(highest, first) and marked(highest, second) == [(0, 0.7), (1, 0.6)]
    assert {text.get_text() for text in lowest.texts} == {"L1 #4: 4 → 1 of 4", "L2 #3: 3.5 → 2 of 4"}
    assert [text.get_text() for text in highest.texts] == ["L2 #1: 1 → 1 of 4"]
    for axis in figure.axes:
        (level,) = (line for line in axis.lines if line.get_linestyle() == "--")
        assert list(level.get_ydata()) == [0.5, 0.5]


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


QUALITY = "metric clusters conll change change_low change_high"


def test_change_by_the_quality_of_clusters():
    frame = table(
        QUALITY, ("ROUGE-1", "gold", 100.0, 3.0, 2.0, 4.0), ("ROUGE-1", "gold+corrupt:0.2", 80.0, 2.0, 1.0, 3.0),
        ("ROUGE-1", "gold+corrupt:0.8", 20.0, -1.0, -2.0, 0.5), ("ROUGE-1", "gold+corrupt:0.4", 60.0, 1.0, NAN, NAN),
        ("ROUGE-1", "gold+shuffled", 5.0, -0.5, -1.0, 0.0), ("events", "gold", 100.0, 9.0, 8.0, 10.0),
    )  # fmt: skip
    figure = figures.quality(frame.assign(low=0.0, high=99.0))  # those of the scores, not of the changes
    assert legend(figure) == ["gold, corrupted", "gold", "gold+shuffled"]
    rouge, events = figure.axes
    joined, gold, shuffled = (colour_of(figure, name) for name in ("gold, corrupted", "gold", "gold+shuffled"))
    np.testing.assert_array_equal(drawn(rouge, joined)[0], [[20, 60, 80], [-1, 1, 2]])
    assert intervals(rouge, 1)[joined] == {-1.0: (-2.0, 0.5), 1.0: None, 2.0: (1.0, 3.0)}
    assert marked(rouge, gold) == [(100, 3)] and not drawn(rouge, gold) and marked(rouge, shuffled) == [(5, -0.5)]
    assert intervals(events, 1) == {gold: {9.0: (8.0, 10.0)}} and levels(rouge) == levels(events) == [0]
    assert titles(figures.quality(frame, ["events"])) == ["events with the right people, %"]


F1 = "clusters against MUC B-cubed CEAF-e CoNLL"


def test_clusters_stand_against_each_side():
    frame = table(
        F1,
        ("rule", "gold", 80.0, 70.0, 60.0, 70.0),
        ("rule", "GUM", 50.0, 40.0, 30.0, 40.04),
        ("none", "gold", 0.0, 0.0, 0.0, 0.0),
    )
    figure = figures.resolvers(frame)
    assert legend(figure) == ["MUC", "B-cubed", "CEAF-e", "CoNLL"] and titles(figure) == ["against gold", "against GUM"]
    gold, gum = figure.axes
    assert ticks(gold) == ["rule", "none"] and ticks(gum) == ["rule"] and gum.get_xlabel() == "F1, %"
    assert [marked(gum, colour_of(figure, name))[0][0] for name in legend(figure)] == [50, 40, 30, 40.04]
    assert [text.get_text() for text in gold.texts if text.get_text()] == ["70.0", "0.0"]


# -------------------- what is refused


@pytest.mark.parametrize("name", "masking_curves changes before_after quality resolvers".split())
def test_a_table_without_a_column_is_refused(name):
    with pytest.raises(StudyError, match=r"The table has no column '\w+': it needs"):
        getattr(figures, name)(pd.DataFrame({"nothing": [1]}))


@pytest.mark.parametrize("name", "importance_maps agreement masking_curves changes before_after quality resolvers".split())
def test_a_table_without_rows_is_refused(name):
    columns = f"{MASKING} {CHANGES} {BEFORE} {QUALITY} {F1}".split()
    with pytest.raises(StudyError, match="The table has no rows"):
        getattr(figures, name)(pd.DataFrame(columns=list(dict.fromkeys(columns))))


@pytest.mark.parametrize(
    "name, frame",
    [
        ("masking_curves", masking()),
        ("changes", table(CHANGES, ("a", "ROUGE-1", 1.0, 0.0, 2.0))),
        ("quality", table(QUALITY, ("ROUGE-1", "gold", 100.0, 3.0, 2.0, 4.0))),
    ],
)
def test_unknown_metrics_and_double_points_are_refused(name, frame):
    with pytest.raises(StudyError, match=r"The table has no metric 'BLEU': choose from ROUGE-1\."):
        getattr(figures, name)(frame, ["ROUGE-1", "BLEU"])
    with pytest.raises(StudyError, match=r"The table has more than one row for .*ROUGE-1.*: give one value a point\."):
        getattr(figures, name)(pd.concat([frame, frame[:1]]))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(StudyError, match=re.escape("The matrix of full has the shape (5, 5): there are 2 tokens.")):
        figures.matrices(["a", "b"], {"full": FULL})
    for words, tables in (([], {"full": FULL}), (WORDS, {})):
        with pytest.raises(StudyError, match="nothing to draw"):
            figures.matrices(words, tables)
    losses = pd.DataFrame({"loss": 0.1}, heads_of(2, 2))
    with pytest.raises(StudyError, match="no table to draw"):
        figures.ablation({})
    with pytest.raises(StudyError, match="no column 'loss'"):
        figures.ablation({"a": losses.rename(columns={"loss": "rise"})})
    with pytest.raises(StudyError, match="a loss of the same heads"):
        figures.ablation({"a": losses, "b": losses[1:]})
    with pytest.raises(StudyError, match="not indexed by kind, layer and head"):
        figures.importance_maps(losses.reset_index("kind", drop=True))
    with pytest.raises(StudyError, match=re.escape("more than one row for the head ('encoder', 0, 1)")):
        figures.importance_maps(losses.iloc[[0, 1, 1, 2]])
    with pytest.raises(StudyError, match="no kind of attention 'self'"):
        figures.importance_maps(pd.DataFrame({"a": 0.1}, heads_of(1, 2, "self")))
    with pytest.raises(StudyError, match="rows of the table are not its columns"):
        figures.agreement(pd.DataFrame(np.eye(2), ["a", "b"], ["a", "c"]))
    with pytest.raises(StudyError, match="no ROUGE-1 of the plain model"):
        figures.masking_curves(masking()[lambda frame: frame.number > 0])
    with pytest.raises(StudyError, match="no order 'probing' of heads: choose from lowest, highest, random"):
        figures.masking_curves(masking().replace({"order": {"random": "probing"}}))
    twice = table(BEFORE, *[("lowest", "encoder", 0, 3, 0.1, 0.8, 4.0, 1.0, 4)] * 2)
    with pytest.raises(StudyError, match="row lowest, kind encoder, layer 0, head 3"):
        figures.before_after(twice)
    twice = table(F1, *[("rule", "gold", 80.0, 70.0, 60.0, 70.0)] * 2)
    with pytest.raises(StudyError, match="clusters rule, against gold"):
        figures.resolvers(twice)
