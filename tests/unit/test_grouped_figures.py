"""Figures of grouped heads: what they show, on small tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy import stats

from helpers import drawing
from helpers.methods.grouping import figures
from helpers.study import StudyError
from tests.unit.drawn import cells, drawn, intervals, legend, marked, table, ticks, titles, whole

BLUE, ORANGE, GREY = (to_rgb(colour) for colour in (*drawing.MODELS[:2], figures.VANILLA["color"]))
KINDS = ("encoder", "decoder", "cross")
NAN = np.nan


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


# -------------------- scores and groups

SCORES = "panel method groups value low high unit"


def test_the_number_of_groups_is_a_category_and_vanilla_a_band():
    frame = table(
        SCORES, ("one", "vanilla", NAN, 30.0, 29.0, 31.5, "BLEU"), ("one", "GHT", 8, 33.0, 32.0, 34.5, "BLEU"),
        ("one", "GHT", 1, 31.0, 30.5, 32.0, "BLEU"), ("one", "GHT-PS", 2, 32.0, 31.0, 33.0, "BLEU"),
        ("other", "GHT", 4, 5.0, NAN, NAN, "ROUGE"), ("other", "GHT", 4, 6.0, NAN, NAN, "ROUGE"),
    )  # fmt: skip
    figure = figures.score_by_groups(frame)
    assert legend(figure) == ["GHT", "GHT-PS", "vanilla"] and titles(figure) == ["one", "other"]
    one, other = figure.axes
    assert ticks(one, "x") == ticks(other, "x") == ["1", "2", "4", "8"] and other.get_ylabel() == "ROUGE"
    assert [y for _, y in marked(one, BLUE)] == [31, 33] and [y for _, y in marked(one, ORANGE)] == [32]
    assert intervals(one, 1) == {BLUE: {33.0: (32.0, 34.5), 31.0: (30.5, 32.0)}, ORANGE: {32.0: (31.0, 33.0)}}
    (level,) = drawn(one, GREY, "--")
    (shown,) = [patch for patch in one.patches if isinstance(patch, Rectangle)]
    assert level[1].tolist() == [30, 30] and (shown.get_y(), shown.get_height()) == (29.0, 2.5)
    assert [y for _, y in marked(other, BLUE)] == [5, 6] and drawn(other, BLUE)[0][1].tolist() == [5.5]  # seeds, their mean


def test_a_ladder_shows_scores_and_what_each_method_changes():
    frame = table(
        "head row value low high change change_low change_high seeds unit", (8, "vanilla", 80.0, 79, 81, 0, 0, 0, 5, "BLEU"),
        (32, "vanilla", 88.0, 87, 89, 0, 0, 0, 1, "BLEU"), (32, "GHT-PS", 87.0, 86, 88, -1.0, -1.5, -0.25, 1, "BLEU"),
        (8, "GHT-PS", 70.0, 69, 72, -10.0, -12, -9, 5, "BLEU"),
    )  # fmt: skip
    figure = figures.ladder(frame)
    assert legend(figure) == ["vanilla", "GHT-PS", "hollow: one training"]
    score, change = figure.axes
    assert ticks(score, "x") == ticks(change, "x") == ["8", "32"]
    assert intervals(score, 1)[ORANGE] == {70.0: (69.0, 72.0), 87.0: (86.0, 88.0)}
    assert intervals(change, 1) == {ORANGE: {-10.0: (-12.0, -9.0), -1.0: (-1.5, -0.25)}}
    assert [y for _, y in marked(change, ORANGE, hollow=True)] == [-1] and not marked(change, GREY)


def test_scores_by_compactness_are_numbered_in_order_of_strength():
    frame = table(
        "label strength silhouette dunn value low high unit", ("strong", 2.0, 0.6, 0.9, 29.0, 28.0, 30.5, "BLEU"),
        ("vanilla", 0.0, 0.1, 0.2, 30.0, 29.0, 31.0, "BLEU"), ("weak", 0.5, 0.4, 0.3, 31.0, 30.0, 32.0, "BLEU"),
    )  # fmt: skip
    figure = figures.score_by_compactness(frame)
    assert legend(figure) == ["0: vanilla", "1: weak", "2: strong"]
    for axis, x in zip(figure.axes, ([0.1, 0.4, 0.6], [0.2, 0.3, 0.9]), strict=True):
        np.testing.assert_allclose(axis.collections[-1].get_offsets(), np.transpose([x, [30, 31, 29]]))
        assert [(text.get_text(), text.get_position()[0]) for text in axis.texts] == list(zip("012", x, strict=True))
        segments = axis.containers[0].lines[2][0].get_segments()
        assert [tuple(segment[:, 1]) for segment in segments] == [(29.0, 31.0), (30.0, 32.0), (28.0, 30.5)]


def test_the_constraint_is_smoothed_and_the_vote_marked():
    steps = np.arange(200)
    noise = np.random.default_rng(0).normal(0, 0.1, 200)
    voted = pd.DataFrame({"step": steps, "homogeneity": noise, "diversity": 0.5}).mask(lambda f: f.step > 120)
    voted.attrs["vote"] = 120
    frames = {"vanilla": pd.DataFrame({"step": steps, "homogeneity": 0.2, "diversity": -noise}), "GHT-PS": voted}
    figure = figures.constraint_over_training(frames)
    assert legend(figure) == ["vanilla", "GHT-PS", "vote"]
    left, right = figure.axes
    raw, smooth = drawn(left, ORANGE)
    np.testing.assert_array_equal(raw[1], voted.homogeneity)
    assert np.isnan(smooth[1, 121:]).all() and smooth[1, 60] == pytest.approx(noise[55:66].mean())
    np.testing.assert_array_equal(drawn(right, GREY)[0][1], -noise)
    for axis in figure.axes:
        (vote,) = drawn(axis, ORANGE, ":")
        assert vote[0].tolist() == [120, 120] and not drawn(axis, GREY, ":")


# -------------------- heads and their groups


def cosines(sites, heads, seed):
    rng = np.random.default_rng(seed)
    return {site: rng.uniform(-1, 1, (heads, heads)) for site in sites}


def test_similar_heads_stand_together(layers=4):
    sites = [(kind, layer) for layer in range(layers) for kind in reversed(KINDS)]
    before, after = cosines(sites, 4, 0), cosines(sites, 4, 1)
    one, other = {site: [1, 0, 1, 0] for site in sites}, {site: [0, 1, 2, 0] for site in sites}
    figure = figures.similarity(before, after, one, other, ("vanilla", "GHT"), {("encoder", 0): [3, 1]})
    assert legend(figure) == ["head that stays"]
    order = [(kind, layer) for kind in KINDS for layer in range(layers)]
    maps = np.array([axis for axis in figure.axes if axis.images]).reshape(-1, min(6, len(order)))
    assert titles(figure) == [f"{drawing.SHORT_TITLES[kind]} {layer + 1}" for kind, layer in order]
    assert [axis.get_ylabel() for axis in maps[:, 0]] == ["vanilla", "GHT"] * (len(maps) // 2)
    sides = ((maps[::2].ravel(), before, [1, 3, 0, 2], [1.5]), (maps[1::2].ravel(), after, [0, 3, 1, 2], [1.5, 2.5]))
    for axes, matrices, heads, edges in sides:
        for axis, site in zip(axes, order, strict=True):
            np.testing.assert_array_equal(cells(axis), matrices[site][np.ix_(heads, heads)])
            assert ticks(axis, "x") == ticks(axis) == [str(head + 1) for head in heads]
            lines = drawn(axis, (0, 0, 0))
            assert sorted(line[0, 0] for line in lines if line[0, 0] == line[0, 1]) == edges
    stay = [[x for line in axis.lines if line.get_marker() == "o" for x in line.get_xdata()] for axis in maps.ravel()]
    assert stay[maps.shape[1]] == [1, 2] and sum(map(len, stay)) == 2  # head 3 is second, head 1 third


POINTS = "step site head x y group kept"


def moving(steps=5):
    rows = []
    for step in range(steps):
        for site in ("encoder 1", "cross 2"):
            for head, (x, group) in enumerate([(0, "a"), (1, "a"), (5, "b")]):
                rows.append((10 * step, site, head, x + step, 2.0 * step + head, group, step < 3 or head != 1))
    return table(POINTS, *rows)


def crosses_and_dots(axis):
    """Centres by colour; dots by number as (x, y, filled)."""
    centres, dots = {}, {}
    numbers = iter(axis.texts)
    for mark in axis.collections:
        (at,) = mark.get_offsets().tolist()
        if len(mark.get_paths()[0].vertices) < 5:
            centres[to_rgb(mark.get_edgecolor()[0])] = tuple(at)
        else:
            number = next(numbers)
            assert number.get_position() == tuple(at)
            dots[number.get_text()] = (*at, to_rgb(mark.get_facecolor()[0]) != (1, 1, 1), to_rgb(mark.get_edgecolor()[0]))
    return centres, dots


def test_maps_of_heads_at_a_few_steps():
    figure = figures.head_maps_over_training(moving(), steps=3)
    assert legend(figure) == ["group a", "group b", "centre", "not kept"]
    axes = np.array(figure.axes).reshape(2, 3)
    assert [axis.get_title() for axis in axes[0]] == ["step 0", "step 20", "step 40"]
    assert [axis.get_ylabel() for axis in axes[:, 0]] == ["encoder 1", "cross 2"]
    for row in axes:
        assert len({(axis.get_xlim(), axis.get_ylim()) for axis in row}) == 1
        for axis, step in zip(row, (0, 2, 4), strict=True):
            centres, dots = crosses_and_dots(axis)
            assert centres == {BLUE: (step + 0.5, 2 * step + 0.5), ORANGE: (step + 5, 2 * step + 2)}
            heads = [(0, BLUE, True), (1, BLUE, step < 4), (5, ORANGE, True)]
            assert dots == {str(n + 1): (x + step, 2 * step + n, kept, colour) for n, (x, colour, kept) in enumerate(heads)}


def test_heads_move_in_the_animation():
    animation = figures.head_map_animation(moving(12), frames=4)
    figure = animation._fig
    assert list(animation.new_frame_seq()) == [0, 40, 70, 110] + [110] * 8  # the end stays for a while
    for step in (110, 40):
        animation._func(step)
        assert figure.get_suptitle() == f"step {step}"
        for axis in figure.axes:
            centres, dots = crosses_and_dots(axis)
            assert len(centres) == 2 and dots.keys() == {"1", "2", "3"}
            assert dots["3"] == (5 + step / 10, 2 * step / 10 + 2, True, ORANGE) and dots["2"][2] == (step < 30)


# -------------------- comparisons

ABLATION = "row model value low high change change_low change_high printed"


def ablation():
    return table(
        ABLATION, ("GHT", "GHT", 31.0, 30.0, 32.5, NAN, NAN, NAN, NAN),
        ("a", "GHT", 30.0, 29.5, 31.0, -1.0, -1.5, -0.25, -0.75),
        ("GHT-PS", "GHT-PS", 33.0, 32.0, 34.0, NAN, NAN, NAN, NAN),
        ("GHT", "GHT-PS", 29.0, 28.0, 30.0, -4.0, -5.0, -3.0, -1.25),
        references={"GHT": "GHT", "GHT-PS": "GHT-PS"},
    )  # fmt: skip


def test_ablation_shows_scores_and_changes():
    figure = figures.ablation(ablation(), unit="chrF")
    assert legend(figure) == ["GHT", "GHT-PS", "printed in the paper"]
    scores, changes = figure.axes
    assert "chrF" in scores.get_title() and "chrF" in changes.get_title()
    assert ticks(scores) == ["GHT: against GHT", "GHT", "a", "GHT-PS: against GHT-PS", "GHT-PS", "GHT"]
    assert intervals(scores, 0)[BLUE] == {31.0: (30.0, 32.5), 30.0: (29.5, 31.0)}
    assert intervals(scores, 0)[ORANGE] == {33.0: (32.0, 34.0), 29.0: (28.0, 30.0)}
    for colour, change, ends, printed in ((BLUE, -1, (-1.5, -0.25), -0.75), (ORANGE, -4, (-5, -3), -1.25)):
        assert intervals(changes, 0)[colour][change] == ends
        assert [x for x, _ in marked(changes, colour)] == [change]
        assert [x for x, _ in marked(changes, colour, hollow=True)] == [printed]


def test_gains_stand_by_task_with_the_papers():
    frame = table(
        "task method gain low high printed", ("sum", "GHT", 2.0, 1.0, 4.0, 3.5), ("sum", "GHT-PS", -1.0, -2.0, 0.5, 4.5),
        ("translation", "GHT-PS", 1.5, 1.0, 2.0, NAN),
    )  # fmt: skip
    figure = figures.gains(frame)
    assert legend(figure) == ["GHT", "GHT-PS", "printed in the paper"]
    (axis,) = figure.axes
    assert ticks(axis) == ["sum", "translation"]
    assert intervals(axis, 0) == {BLUE: {2.0: (1.0, 4.0)}, ORANGE: {-1.0: (-2.0, 0.5), 1.5: (1.0, 2.0)}}
    assert [(x, round(y)) for x, y in marked(axis, ORANGE)] == [(-1, 0), (1.5, 1)]
    assert [x for x, _ in marked(axis, BLUE, hollow=True) + marked(axis, ORANGE, hollow=True)] == [3.5, 4.5]


def test_quality_against_both_costs():
    rows = [
        (task, method, 44.0 - i * 14, 1.0 + i / 4, n + 30.0 + i, n + 29.0, n + 31.5, f"unit {n}")
        for n, task in enumerate(("EN-DE", "sum"))
        for i, method in enumerate(("vanilla", "GHT-PS"))
    ]
    figure = figures.quality_against_cost(table("task method parameters speed value low high unit", *rows))
    assert legend(figure) == ["vanilla", "GHT-PS"] and titles(figure, "left") == ["EN-DE", "sum"]
    for n, row in enumerate(np.array(figure.axes).reshape(-1, 2)):
        assert row[0].get_ylabel() == f"unit {n}"
        for axis, (slow, fast) in zip(row, ((44, 30), (1, 1.25)), strict=True):
            assert marked(axis, GREY) == [(slow, n + 30)] and marked(axis, ORANGE) == [(fast, n + 31)]
            assert intervals(axis, 1)[GREY] == {n + 30: (n + 29, n + 31.5)}
    assert [axis.get_xlabel() for axis in figure.axes[-2:]] == ["parameters, millions", "speed, vanilla = 1"]


def test_seeds_are_joined_beside_their_mean():
    values = {"vanilla": [30.0, 31.0, 32.0], "GHT": [33.0, 33.5, 35.0], "GHT-PS": [36.0]}
    rows = [("EN-DE", m, seed, value, "BLEU") for m, column in values.items() for seed, value in enumerate(column)]
    figure = figures.seeds(table("panel method seed value unit", *rows))
    assert legend(figure) == ["seed 0", "seed 1", "seed 2", "mean, 95 % t-interval"]
    (axis,) = figure.axes
    assert ticks(axis, "x") == list(values)
    np.testing.assert_array_equal(drawn(axis, BLUE)[0][1], [30, 33, 36])
    found = intervals(axis, 1)[0, 0, 0]
    for column in list(values.values())[:2]:
        expected = stats.t.interval(0.95, len(column) - 1, np.mean(column), stats.sem(column))
        assert found[round(np.mean(column), 6)] == pytest.approx(expected)
    assert found[36.0] is None  # one seed


# -------------------- which heads stay

SHAPES = {"encoder": [3, 1], "cross": [2]}


def addresses(shapes):
    return [(kind, layer, head) for kind, layers in shapes.items() for layer, n in enumerate(layers) for head in range(n)]


def test_cells_are_filled_where_a_head_is_kept():
    keep = {"GHT-PS": [("encoder", 0, 1), ("cross", 0, 0)], "L0": [("encoder", 1, 0)]}
    rows = [
        (*address, method, address in kept, 0.1 * n, "prev" if n == 1 else "")
        for method, kept in keep.items()
        for n, address in reversed(list(enumerate(addresses(SHAPES))))
    ]
    figure = whole(figures.kept_heads(table("kind layer head method kept relevance functions", *rows)))
    for (above, below), kind in zip(np.array(figure.axes).reshape(2, 2), SHAPES, strict=True):
        found = [address for address in addresses(SHAPES) if address[0] == kind]
        assert ticks(below, "x") == [str(head + 1) for *_, head in found] and ticks(below) == list(keep)
        heights = [bar.get_height() for bar in sorted(above.patches, key=lambda bar: bar.get_x())]
        assert heights == pytest.approx([0.1 * addresses(SHAPES).index(address) for address in found])
        assert [text.get_text() for text in above.texts].count("prev") == (kind == "encoder")
        order = sorted(below.patches, key=lambda cell: (cell.get_y(), cell.get_x()))
        filled = [cell.get_facecolor()[:3] != to_rgb("#EDEDED") for cell in order]
        assert filled == [address in kept for kept in keep.values() for address in found]
        counts = [text.get_text() for text in below.texts]
        assert counts == [f"{sum(a[0] == kind for a in kept)} of {len(found)}" for kept in keep.values()]


def test_votes_of_heads_by_group():
    rows = [(*address, 1 - address[2] % 2, 0.1 + 0.2 * address[2], address[2] == 2) for address in addresses(SHAPES)]
    figure = figures.votes(table("kind layer head group share kept", *rows))
    assert legend(figure) == ["group 1", "group 2", "stays"]
    assert titles(figure) == ["enc 1", "enc 2", "cross 1"]
    first, second = figure.axes[:2]
    assert ticks(first, "x") == ["2", "1", "3"] and ticks(second, "x") == ["1"]  # group 0 is head 2
    np.testing.assert_allclose([bar.get_height() for bar in first.patches], [0.3, 0.1, 0.5])
    assert [to_rgb(bar.get_facecolor()) for bar in first.patches] == [BLUE, ORANGE, ORANGE]
    assert [bar.get_edgecolor()[3] for bar in first.patches] == [0, 0, 1]
    assert to_rgb(second.patches[0].get_facecolor()) == ORANGE  # a group has one colour at all sites


# -------------------- what is refused

SITE = ("encoder", 0)
TWO, THREE, PAIR = {SITE: np.eye(2)}, {SITE: [0, 1, 1]}, ("a", "b")


def unreferred(references):
    frame = ablation()
    frame.attrs = references
    return figures.ablation(frame)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *((lambda name=name: getattr(figures, name)(pd.DataFrame({"nothing": [1]})), "no column") for name in (
            "score_by_groups", "score_by_compactness", "head_maps_over_training", "head_map_animation", "ablation", "gains",
            "quality_against_cost", "kept_heads", "votes", "seeds", "ladder",
        )),
        (lambda: unreferred({}), "reference of GHT"),
        (lambda: unreferred({"references": {"GHT": "GHT", "GHT-PS": "nothing"}}), "reference of GHT-PS"),
        (lambda: figures.similarity(TWO, TWO, THREE, THREE, PAIR), "3 heads"),
        (lambda: figures.similarity({}, TWO, TWO, TWO, PAIR), "same sites"),
        (lambda: figures.similarity(TWO, TWO, {SITE: [0, 1]}, {SITE: [0, 1]}, PAIR, {SITE: [2]}), r"\[2\]"),
        (lambda: figures.votes(table("kind layer head group share kept", ("self", 0, 0, 0, 1.0, True))), "'self'"),
        (lambda: figures.constraint_over_training({}), "no run"),
        (lambda: figures.constraint_over_training({"a": table("step homogeneity", (0, 0.5))}), "'diversity'"),
        (lambda: figures.score_by_groups(table(SCORES, ("one", "vanilla", NAN, 30.0, 29.0, 31.5, "BLEU"))), "no rows"),
        (lambda: figures.seeds(table("panel method seed value unit", *[("p", "GHT", 0, 1.0, "BLEU")] * 2)), "more than one"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
