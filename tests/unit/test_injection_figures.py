"""Figures of coreference injection: what they show, on small tables."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.coreference import figures
from helpers.study import StudyError

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
GREY, BLACK = to_rgb(figures.ORDERS["random"]["color"]), (0, 0, 0)
NAN = np.nan


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


def draw(figure):
    """Draw it whole; a layout that does not fit is a warning, and no figure is wider than a page."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    assert figure.get_tightbbox().width <= 10.1
    return figure


def table(columns, *rows):
    return pd.DataFrame(rows, columns=columns.split())


def legend(figure):
    """Entries of the legend, which stands below all panels and within the figure."""
    draw(figure)
    (below,) = figure.legends
    box = below.get_window_extent()
    assert box.y1 < min(axis.get_window_extent().y0 for axis in figure.axes)
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    return [text.get_text() for text in below.get_texts()]


def lines(axis, colour, style="-"):
    """Data [2, points] of lines of this colour, without error bars."""
    return [
        np.array(line.get_data(), float)
        for line in axis.lines
        if to_rgb(line.get_color()) == colour and line.get_linestyle() == style
    ]


def ends(box, along):
    """Ends of the error bars of a container along x (0) or y (1)."""
    return [tuple(segment[:, along].tolist()) for segment in box.lines[2][0].get_segments() if segment.size]


def names(axis, side):
    return [text.get_text() for text in getattr(axis, f"get_{side}ticklabels")()]


def heads_of(layers, heads, kind="encoder"):
    return pd.MultiIndex.from_product([[kind], range(layers), range(heads)], names=["kind", "layer", "head"])


def shown(axis):
    """The cells of a heat map, from the top."""
    return axis.collections[0].get_array()


# -------------------- matrices and heads

WORDS = ["Ann", "said", "$x$", "she", "slept"]
FULL, PREVIOUS = np.eye(5), np.eye(5)
FULL[[0, 0, 3, 3], [0, 3, 0, 3]] = 0.5
PREVIOUS[3] = [1, 0, 0, 0, 0]


def test_links_stand_out_of_the_identity():
    figure = draw(figures.matrices(WORDS, {"full": FULL, "previous": PREVIOUS}))
    *panels, bar = figure.axes
    assert [axis.get_title() for axis in panels] == ["full", "previous"] and bar.get_ylabel() == "attention weight"
    for axis, matrix, linked in zip(panels, (FULL, PREVIOUS), ([0, 3], [3]), strict=True):
        plain, links = (np.ma.filled(image.get_array().astype(float), NAN) for image in axis.images)
        expected = np.where(matrix > 0, matrix, NAN)
        others = [place for place in range(5) if place not in linked]
        np.testing.assert_array_equal(links[linked], expected[linked])
        assert np.isnan(links[others]).all() and np.isnan(plain[linked]).all()
        assert np.argwhere(np.isfinite(plain)).tolist() == [[place, place] for place in others]
        assert axis.images[1].get_clim() == (0, 1)
        assert [line.get_ydata()[0] for line in axis.lines] == linked
        assert names(axis, "x") == WORDS and all(text.get_rotation() == 90 for text in axis.get_xticklabels())
        dark = [text.get_text() for text in axis.get_xticklabels() if text.get_color() == "black"]
        assert dark == ["Ann", "she"]
    assert names(panels[0], "y") == WORDS and not any(names(panels[1], "y"))
    alone = figures.matrices(WORDS, {"previous": PREVIOUS}).axes[0]
    dark = [text.get_text() for text in alone.get_yticklabels() if text.get_color() == "black"]
    assert dark == ["Ann", "she"]  # the first mention has a row of the identity


@pytest.mark.parametrize("count, across", [(20, 3), (60, 2)])
def test_many_tokens_stay_readable(count, across):
    words = ["Unbelievably" if place % 7 == 0 else "you" for place in range(count)]
    figure = draw(figures.matrices(words, {title: np.eye(count) for title in ("full", "adjacent", "previous")}))
    panels = figure.axes[:3]
    assert len({round(axis.get_window_extent().y0) for axis in panels}) == -(-3 // across)
    assert [names(axis, "y") == words for axis in panels] == [place % across == 0 for place in range(3)]
    sizes = [text.get_window_extent() for text in panels[0].get_yticklabels()]
    assert panels[0].get_window_extent().height / count * 72 / figure.dpi >= 4.5
    assert all(upper.y0 > lower.y0 for upper, lower in pairwise(sizes))
    assert panels[0].get_yticklabels()[0].get_fontsize() <= panels[0].get_window_extent().height / count * 72 / figure.dpi


def test_the_lowest_head_of_each_layer_is_marked():
    values = pd.DataFrame({"plain": [0.9, 0.1, 0.3, 0.2, 0.2, 0.8], "other": [0.3, 0.2, 0.1, 0.6, 0.4, 0.5]}, heads_of(2, 3))
    figure = figures.importance_maps(values)
    assert legend(figure) == ["lowest of its layer"]
    *panels, bar = figure.axes
    assert [axis.get_title() for axis in panels] == ["plain", "other"] and "normalised by layer" in bar.get_ylabel()
    for axis, column, lowest in zip(panels, values, ([0, 1], [1, 2]), strict=True):
        np.testing.assert_array_equal(shown(axis), values[column].to_numpy().reshape(2, 3)[::-1])
        assert axis.collections[0].get_clim() == (0, 0.9)
        assert names(axis, "y") == ["2", "1"] and names(axis, "x") == ["1", "2", "3"]
        (marks,) = axis.lines
        assert marks.get_xdata().tolist() == [head + 0.5 for head in lowest] and marks.get_ydata().tolist() == [0.5, 1.5]
    several = pd.concat([values, values.set_axis(heads_of(2, 3, "cross"))])
    assert names(figures.importance_maps(several).axes[0], "y") == ["cross 2", "cross 1", "enc 2", "enc 1"]


def test_many_trainings_wrap_in_rows():
    titles = [f"injected, lowest, {number} adjacent links" for number in range(6)]
    values = pd.DataFrame(np.random.default_rng(0).uniform(size=(24, 6)), heads_of(3, 8), titles)
    figure = draw(figures.importance_maps(values))
    panels = figure.axes[:6]
    assert [axis.get_title().replace("\n", " ") for axis in panels] == titles
    assert [axis.get_ylabel() == "layer" for axis in panels] == [place % 4 == 0 for place in range(6)]
    assert [axis.get_xlabel() == "head" for axis in panels] == [place >= 2 for place in range(6)]


def test_agreement_is_annotated():
    titles = ["plain", "seed 1", "seed 2"]
    matrix = pd.DataFrame([[1, 0.25, -0.5], [0.25, 1, 0], [-0.5, 0, 1]], titles, titles)
    axis = draw(figures.agreement(matrix)).axes[0]
    np.testing.assert_array_equal(shown(axis), matrix)
    assert axis.collections[0].get_clim() == (-1, 1)
    assert [text.get_text() for text in axis.texts] == ["1.00", ".25", "-.50", ".25", "1.00", ".00", "-.50", ".00", "1.00"]
    assert names(axis, "x") == names(axis, "y") == titles
    assert all(text.get_rotation() == 0 for text in axis.get_yticklabels())
    many = [f"injected, random {number}" for number in range(20)]
    draw(figures.agreement(pd.DataFrame(np.eye(20), many, many)))


def test_loss_of_heads_beside_its_mean():
    one = pd.DataFrame({"loss": [0.01, -0.002, 0.0, 0.004]}, heads_of(2, 2))
    other = pd.DataFrame({"loss": [0.02, 0.003, -0.0301, 0.0]}, heads_of(2, 2)).iloc[::-1]
    figure = draw(figures.ablation({"seed 0": one, "seed 1": other}))
    *panels, bar = figure.axes
    assert [axis.get_title() for axis in panels] == ["seed 0", "seed 1", "mean"]
    assert bar.get_ylabel() == "rise of the loss,\n0.001 nats a token"
    expected = ([0, 4, 10, -2], [-30.1, 0, 20, 3], [-15.05, 2, 15, 0.5])
    for axis, values in zip(panels, expected, strict=True):
        np.testing.assert_allclose(shown(axis), np.reshape(values, (2, 2)))
        assert axis.collections[0].get_clim() == pytest.approx((-30.1, 30.1))
    said = {text.get_position(): text.get_text() for text in panels[1].texts}
    assert said == {(0.5, 0.5): "-30", (1.5, 0.5): "0.0", (0.5, 1.5): "20", (1.5, 1.5): "3.0"}
    figure = figures.ablation({"one": one})
    assert [axis.get_title() for axis in figure.axes[:-1]] == ["one"]
    figure = draw(figures.ablation({"large": pd.DataFrame({"loss": 0.0}, heads_of(12, 16))}))
    assert not figure.axes[0].texts and figure.axes[0].collections[0].get_clim() == (-1, 1)


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
    assert legend(figure) == ["lowest first", "highest first", "random, mean", "one random draw", "plain model"]
    (axis,) = figure.axes
    assert axis.get_title() == "ROUGE-1" and axis.get_xlabel() == "heads off in each layer"
    bands = ((BLUE, [40, 39, 5], [39, 38.5, 4], [41, 39.5, 6]), (ORANGE, [40, 20, 5], [39, 18, 4], [41, 23, 6]))
    for band, (colour, values, low, high) in zip(axis.collections, bands, strict=True):
        (curve,) = lines(axis, colour)
        np.testing.assert_array_equal(curve, [[0, 1, 3], values])
        corners = band.get_paths()[0].vertices
        edges = {(x, y) for side in (low, high) for x, y in zip([0, 1, 3], side, strict=True)}
        assert edges <= set(map(tuple, corners.tolist())) and to_rgb(band.get_facecolor()[0][:3]) == colour
    first, second, mean = lines(axis, GREY)
    assert [line[1].tolist() for line in (first, second, mean)] == [[40, 36, 5], [40, 30, 5], [40, 33, 5]]
    (plain,) = lines(axis, BLACK, "--")
    assert plain[1].tolist() == [40, 40]


def test_metrics_are_drawn_as_asked():
    frame = pd.concat([masking(metric) for metric in ("ROUGE-1", "ROUGE-2", "ROUGE-L", "events")])
    figure = draw(figures.masking_curves(frame))
    titles = ["ROUGE-1", "ROUGE-2", "ROUGE-L", "events with the right people, %"]
    assert [axis.get_title() for axis in figure.axes] == titles
    figure = draw(figures.masking_curves(frame[frame.order == "lowest"], ["events", "ROUGE-1"]))
    assert [axis.get_title() for axis in figure.axes] == [titles[3], titles[0]]
    assert legend(figure) == ["lowest first", "plain model"]


CHANGES = "row metric change change_low change_high"


def test_changes_stand_in_the_order_of_rows():
    frame = table(
        CHANGES, ("masked", "BLEU", -1.24, -2.0, -0.5), ("injected", "BLEU", 0.96, 0.5, 1.5),
        ("masked", "events", 12.0, 10.0, 15.0), ("injected", "events", -0.04, NAN, NAN), ("alone", "BLEU", 0.5, 0.0, 1.0),
    )  # fmt: skip
    figure = draw(figures.changes(frame, title="dialogues"))
    assert figure.get_suptitle() == "dialogues"
    bleu, events = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["BLEU", "events with the\nright people, %"]
    assert names(bleu, "y") == ["masked", "injected", "alone"] and bleu.get_yticks().tolist() == [0, 1, 2]
    assert bleu.get_ylim()[0] > bleu.get_ylim()[1] and events.get_ylim() == bleu.get_ylim()
    for axis, points, bars, said in (
        (bleu, [(-1.24, 0), (0.96, 1), (0.5, 2)], [(-2.0, -0.5), (0.5, 1.5), (0.0, 1.0)], ["−1.2", "+1.0", "+0.5"]),
        (events, [(12.0, 0), (-0.04, 1)], [(10.0, 15.0)], ["+12.0", "+0.0"]),
    ):
        (box,) = axis.containers
        assert list(zip(*box.lines[0].get_data(), strict=True)) == points
        np.testing.assert_allclose(ends(box, 0), bars)
        assert [(text.get_position()[1], text.get_text()) for text in axis.texts] == list(
            zip([y for _, y in points], said, strict=True)
        )
        assert any(list(line.get_xdata()) == [0, 0] for line in axis.lines)
    figure = figures.changes(frame, ["events"])
    assert [axis.get_title() for axis in figure.axes] == ["events with the\nright people, %"] and not figure.get_suptitle()
    assert names(figure.axes[0], "y") == ["masked", "injected", "alone"]


def test_changes_are_grouped_below_headings():
    rows = [("a", "BLEU", 1.0, 0.5, 1.5, "main"), ("b", "BLEU", 2.0, 1.5, 2.5, "where"), ("c", "BLEU", 3.0, 2.5, 3.5, "main")]
    (axis,) = draw(figures.changes(table(f"{CHANGES} group", *rows))).axes
    bold = {text.get_text() for text in axis.get_yticklabels() if text.get_fontweight() == "bold"}
    assert names(axis, "y") == ["main", "a", "c", "where", "b"] and bold == {"main", "where"}
    at = dict(zip(names(axis, "y"), axis.get_yticks(), strict=True))
    points = axis.containers[0].lines[0].get_data()
    assert dict(zip(points[1].tolist(), points[0].tolist(), strict=True)) == {at["a"]: 1, at["b"]: 2, at["c"]: 3}
    assert at["b"] - at["c"] > 2 > at["c"] - at["a"]


def test_many_changes_do_not_touch():
    frame = pd.DataFrame(
        [(f"injected, lowest, written with gold+shuffled {n}", metric, n - 12.5, n - 14, n - 11, f"part {n // 5}")
         for n in range(25) for metric in ("ROUGE-1", "ROUGE-2", "ROUGE-L", "events")],
        columns=f"{CHANGES} group".split(),
    )  # fmt: skip
    figure = draw(figures.changes(frame))
    boxes = [text.get_window_extent() for text in figure.axes[0].get_yticklabels()]
    assert len(boxes) == 30 and all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
    for left, right in pairwise(figure.axes):
        assert max(text.get_window_extent().x1 for text in left.texts) < right.get_window_extent().x0
    assert min(box.x0 for box in boxes) >= 0


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
    assert lowest.get_ylabel() == "importance,\nnormalised by layer" and names(lowest, "x") == ["before", "after"]
    first, second = (to_rgb(colour) for colour in drawing.layer_colours(2))
    assert lines(lowest, first)[0].tolist() == [[0, 1], [0.1, 0.8]]
    assert lines(lowest, second)[0].tolist() == [[0, 1], [0.2, 0.5]]
    assert not lines(highest, first) and lines(highest, second)[0].tolist() == [[0, 1], [0.7, 0.6]]
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
    figure = draw(figures.before_after(table(BEFORE, *rows)))
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
        ("ROUGE-1", "gold+shuffled", 5.0, -0.5, -1.0, 0.0), ("ROUGE-1", "stored:neural", 75.0, 2.5, 2.0, 3.0),
        ("events", "gold", 100.0, 9.0, 8.0, 10.0),
    )  # fmt: skip
    figure = figures.quality(frame)
    assert legend(figure) == ["gold, corrupted", "gold", "gold+shuffled", "stored:neural"]
    rouge, events = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["ROUGE-1", "events with the right people, %"]
    assert rouge.get_xlabel() == "CoNLL F1 of the clusters, %" and rouge.get_ylabel() == "change against\nthe plain model"
    looks = {handle.get_label(): handle for handle in figure.legends[0].legend_handles}
    assert len({(look.get_color(), look.get_marker()) for look in looks.values()}) == 4
    found = {(box.lines[0].get_color(), box.lines[0].get_marker()): box for box in rouge.containers}
    boxes = {name: found.pop((look.get_color(), look.get_marker())) for name, look in looks.items()}
    assert not found
    assert [part.tolist() for part in boxes["gold, corrupted"].lines[0].get_data()] == [[20, 60, 80], [-1, 1, 2]]
    assert ends(boxes["gold, corrupted"], 1) == [(-2, 0.5), (1, 3)]
    alone = {"gold": ((100, 3), (2, 4)), "gold+shuffled": ((5, -0.5), (-1, 0)), "stored:neural": ((75, 2.5), (2, 3))}
    for name, (point, interval) in alone.items():
        line = boxes[name].lines[0]
        assert list(zip(*line.get_data(), strict=True)) == [point] and ends(boxes[name], 1) == [interval]
        assert line.get_linestyle() == looks[name].get_linestyle() == "None"
    assert boxes["gold, corrupted"].lines[0].get_linestyle() == looks["gold, corrupted"].get_linestyle() == "-"
    (only,) = events.containers
    assert only.lines[0].get_marker() == looks["gold"].get_marker() and only.lines[0].get_ydata().tolist() == [9]
    assert all(any(list(line.get_ydata()) == [0, 0] for line in axis.lines) for axis in figure.axes)
    figure = figures.quality(frame, ["events"])
    assert [axis.get_title() for axis in figure.axes] == ["events with the right people, %"]


def test_resolvers_are_scored_against_each_truth():
    frame = table(
        "clusters against MUC B-cubed CEAF-e CoNLL", ("rule", "gold", 80.0, 70.0, 60.0, 70.0),
        ("rule", "GUM, 2 documents", 50.0, 40.0, 30.0, 40.04), ("none", "gold", 0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    figure = figures.resolvers(frame)
    assert legend(figure) == ["MUC", "B-cubed", "CEAF-e", "CoNLL"]
    gold, gum = figure.axes
    assert [axis.get_title("left") for axis in figure.axes] == ["against gold", "against GUM, 2 documents"]
    assert names(gold, "y") == ["rule", "none"] and names(gum, "y") == ["rule"] and gum.get_xlabel() == "F1, %"
    expected = ([[80, 0], [70, 0], [60, 0], [70, 0]], [[50], [40], [30], [40.04]])
    colours = [to_rgb(handle.get_facecolor()) for handle in figure.legends[0].legend_handles]
    for axis, values in zip(figure.axes, expected, strict=True):
        assert [[bar.get_width() for bar in bars] for bars in axis.containers] == values
        assert [to_rgb(bars[0].get_facecolor()) for bars in axis.containers] == colours
        assert axis.get_ylim()[0] > axis.get_ylim()[1]
        for place in range(len(values[0])):
            middles = [bars[place].get_y() + bars[place].get_height() / 2 for bars in axis.containers]
            assert middles == sorted(middles) and np.mean(middles) == pytest.approx(place)
    assert [text.get_text() for text in gold.texts] == ["70.0", "0.0"] and [text.get_text() for text in gum.texts] == ["40.0"]


# -------------------- what is refused


@pytest.mark.parametrize("name", "masking_curves changes before_after quality resolvers".split())
def test_a_table_without_a_column_is_refused(name):
    with pytest.raises(StudyError, match=r"The table has no column '\w+': it needs"):
        getattr(figures, name)(pd.DataFrame({"nothing": [1]}))


@pytest.mark.parametrize("name", "importance_maps agreement masking_curves changes before_after quality resolvers".split())
def test_a_table_without_rows_is_refused(name):
    columns = f"{MASKING} {CHANGES} {BEFORE} {QUALITY} against MUC B-cubed CEAF-e CoNLL".split()
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
    twice = table("clusters against MUC B-cubed CEAF-e CoNLL", *[("rule", "gold", 80.0, 70.0, 60.0, 70.0)] * 2)
    with pytest.raises(StudyError, match="clusters rule, against gold"):
        figures.resolvers(twice)
