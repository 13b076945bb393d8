"""Figures of grouped heads: what they show, on small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods.grouping import figures
from helpers.study import StudyError
from tests.unit.drawn import cells, drawn, intervals, marked, table, ticks, whole

BLUE, ORANGE, GREY = (to_rgb(colour) for colour in (*drawing.MODELS[:2], figures.VANILLA["color"]))
NAN = np.nan
SCORES = "panel method groups change change_low change_high unit"


def test_the_number_of_groups_is_a_category_and_both_methods_share_a_panel():
    frame = table(
        SCORES, ("one", "vanilla", NAN, 0.0, 0.0, 0.0, "BLEU"), ("one", "GHT", 8, 3.0, 2.0, 4.5, "BLEU"),
        ("one", "GHT", 1, 1.0, 0.5, 2.0, "BLEU"), ("one", "GHT-PS", 2, -2.0, -3.0, -1.0, "BLEU"),
        ("other", "GHT", 4, 5.0, NAN, NAN, "BLEU"), ("other", "GHT", 4, 6.0, NAN, NAN, "BLEU"),
    )  # fmt: skip
    one, other = whole(figures.score_by_groups(frame)).axes[:2]
    assert [axis.get_title() for axis in (one, other)] == ["one", "other"] and one.get_ylim() == other.get_ylim()
    assert ticks(one, "x") == ticks(other, "x") == ["1", "2", "4", "8"] and one.get_ylabel() == "BLEU minus vanilla"
    assert (one.get_xlim()[1], other.get_xlim()[1]) == (3.5, 2.5)  # no empty place for more heads than a panel has
    assert list(intervals(one, 1)[BLUE].values()) == [(0.5, 2.0), (2.0, 4.5)]
    assert list(intervals(one, 1)[ORANGE].values()) == [(-3.0, -1.0)]
    assert [y for _, y in marked(other, BLUE)] == [5, 6] and drawn(other, BLUE)[0][1].tolist() == [5.5]  # seeds, their mean


def test_the_constraint_is_smoothed_and_no_raw_values_are_drawn():
    noise = np.random.default_rng(0).normal(0, 0.1, 200)
    stopped = pd.DataFrame({"step": np.arange(200), "homogeneity": noise, "diversity": 0.5}).mask(lambda f: f.step > 120)
    plain = stopped.assign(homogeneity=0.2)
    (smooth,) = drawn(whole(figures.constraint_over_training({"vanilla": plain, "GHT-PS": stopped})).axes[0], ORANGE)
    assert np.isnan(smooth[1, 121:]).all() and smooth[1, 60] == pytest.approx(noise[55:66].mean())
    level = whole(figures.constraint_over_training({"GHT": plain}, 0.5)).axes[0].lines[-1]
    assert level.get_linestyle() == ":" and set(level.get_ydata()) == {0.5}


def test_similar_heads_stand_together():
    sites = [("cross", 0), ("encoder", 0)]
    rng = np.random.default_rng(0)
    before, after = ({site: rng.uniform(-1, 1, (4, 4)) for site in sites} for _ in range(2))
    one, other = {site: [1, 0, 1, 0] for site in sites}, {site: [0, 1, 2, 0] for site in sites}
    figure = whole(figures.similarity(before, after, one, other, ("vanilla", "GHT"), {("encoder", 0): [3, 1]}))
    maps = [axis for axis in figure.axes if axis.images]
    for axis, matrices, heads, edges in ((maps[0], before, [1, 3, 0, 2], [1.5]), (maps[2], after, [0, 3, 1, 2], [1.5, 2.5])):
        np.testing.assert_array_equal(cells(axis), matrices["encoder", 0][np.ix_(heads, heads)])
        assert ticks(axis, "x") == ticks(axis) == [str(head + 1) for head in heads]
        assert sorted(line[0, 0] for line in drawn(axis, (0, 0, 0)) if line[0, 0] == line[0, 1]) == edges
    stay = [[x for line in axis.lines if line.get_marker() == "o" for x in line.get_xdata()] for axis in maps]
    assert stay[2] == [1, 2] and sum(map(len, stay)) == 2  # head 3 is second, head 1 third


def test_groups_stand_beside_what_is_asked_for():
    cosines = np.array([[1, 0.5, -0.5], [0.5, 1, -0.25], [-0.5, -0.25, 1]])
    figure = whole(figures.groups({"GHT": cosines}, {"GHT": [1, 1, 0]}))
    asked, made = (axis for axis in figure.axes if axis.images and axis.get_title())
    np.testing.assert_array_equal(cells(asked), [[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    np.testing.assert_array_equal(cells(made), cosines[np.ix_([2, 0, 1], [2, 0, 1])])
    assert (ticks(made, "x"), made.get_xlabel()) == (["3", "1", "2"], "44 % of the contrast\nasked for")
    assert {(box.get_x(), box.get_width()) for box in made.patches} == {(-0.5, 1), (0.5, 2)}


def ablation():
    return table(
        "row model value low high change change_low change_high printed", ("GHT", "GHT", 31.0, 30.0, 32.5, NAN, NAN, NAN, NAN),
        ("a", "GHT", 30.0, 29.5, 31.0, -1.0, -1.5, -0.25, -0.75), references={"GHT": "GHT"},
    )  # fmt: skip


def test_a_row_far_from_all_others_is_named_at_the_edge():
    frame = ablation()
    rows = ((f"V2S {n}", "GHT", 30.0, 29.5, 31.0, -n, -n - 0.5, 0.5 - n, -0.75) for n in (0.0, 0.5, 50.0))
    more = pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)])
    more.attrs = frame.attrs
    (change,) = whole(figures.ablation(more)).axes
    assert change.get_xlim()[0] > -5 and [text.get_text() for text in change.texts] == ["◂ -50.0"]
    names = ["change against GHT (31.0 BLEU)", "a", "vote 0.0", "vote 0.5", "vote 50.0"]
    assert ticks(change) == names and "needed if left of 0" in change.get_xlabel()  # the reference itself is no row


def test_controls_of_one_size_stand_beside_the_grouped_model_and_one_training_is_hollow():
    columns = "row value low high seeds heads parameters speed"
    rows = [("vanilla", 84.0, 83.0, 85.0, 5, 48, 0.9, 1), ("narrower", 83.0, 82.0, 84.0, 1, 48, 0.6, 1.1)]
    rows += [("GHT-PS", 77.0, 76.0, 78.0, 5, 12, 0.6, 1.3), ("random heads off", 76.0, 75.0, 77.0, 5, 12, 0.6, NAN)]
    (axis,) = whole(figures.equal_size(table(columns, *rows))).axes
    assert ticks(axis) == ["all heads", "vanilla", "about as many parameters, more heads", "narrower", "12 heads", "GHT-PS",
                           "random heads removed"]  # fmt: skip
    assert {text.get_text() for text in axis.texts} >= {"48 heads, 0.90 M, speed 1.0", "12 heads, 0.60 M, as GHT-PS"}
    assert intervals(axis, 0)[ORANGE][77.0] == (76, 78) and axis.lines[0].get_xdata()[0] == 77  # the line to compare with
    assert [line.get_xdata().tolist() for line in axis.lines if line.get_markerfacecolor() == "white"] == [[83.0]]


def test_tighter_groups_lie_further_down_each_with_its_silhouette():
    rows = [("GHT, weight x 10", 0.1, 0.6, -0.4, -1.4, 0.5, "BLEU"), ("vanilla", 0.0, 0.02, 0.0, 0.0, 0.0, "BLEU"),
            ("GHT", 0.01, 0.2, -0.2, -1.2, 0.7, "BLEU"), ("GHT-PS", 0.01, 0.2, -7.0, -8.0, -6.0, "BLEU"),
            ("GHT, 1 group", 0.01, NAN, 0.0, 0.0, 0.0, "BLEU")]  # fmt: skip
    frame = table("label strength silhouette change change_low change_high unit", *rows)
    (axis,) = whole(figures.score_by_compactness(frame)).axes
    named = [name for name in ticks(axis) if "stay" not in name]
    assert named == ["vanilla", "GHT", "GHT, weight x 10", "GHT-PS"]  # no point without a silhouette
    assert [text.get_text() for text in axis.texts] == ["0.02", "0.20", "0.60", "0.20"]
    hollow = [dot for line in axis.lines if line.get_markerfacecolor() == "white" for dot in line.get_xdata().tolist()]
    assert sorted(hollow) == [-7.0, -0.4, -0.2, 0.0] and axis.get_xlabel().startswith("BLEU minus vanilla")


def test_gains_have_a_group_of_rows_a_task():
    rows = [(task, method, 1.0, 0.0, 2.0, 3.0) for method in ("GHT", "GHT-PS") for task in ("one", "other")]
    (axis,) = whole(figures.gains(table("task method gain low high printed", *rows))).axes
    names = ["constraint alone (GHT)", "one head per group (GHT-PS)"]
    assert ticks(axis) == ["one", *names, "other", *names] and "better →" in axis.get_xlabel()
    assert [text.get_text() for text in axis.texts] == ["+1.0 [0.0, +2.0]"] * 4


def test_a_ladder_of_widths_stands_beside_the_number_of_heads_kept():
    columns = "head row change change_low change_high seeds unit"
    rows = [(16, "GHT-PS", -7.0, -8.0, -6.0, 5, "BLEU"), (32, "GHT-PS", -4.0, -5.0, -3.0, 1, "BLEU"),
            (16, "vanilla", 0.0, 0.0, 0.0, 5, "BLEU")]  # fmt: skip
    wide, kept = table(columns, *rows), table(SCORES, ("8 heads", "GHT-PS", 2, -7.4, -8.0, -6.0, "BLEU"))
    number, width = whole(figures.ladder(wide, 8, kept)).axes
    assert ticks(number, "x") == ["2"] and ticks(width, "x") == ["16", "32"] and number.get_ylim() == width.get_ylim()
    assert "of 8 heads" in number.get_xlabel() and "8 times" in width.get_xlabel()
    assert number.get_ylabel() == "BLEU minus vanilla"
    assert [line.get_xdata().tolist() for line in width.lines if line.get_markerfacecolor() == "white"] == [[1.0]]
    assert [text.get_text() for text in width.texts] == ["one training"] == [text.get_text() for text in number.texts]
    (alone,) = whole(figures.ladder(wide, few=2)).axes
    assert "2 of 8 heads kept" in alone.get_xlabel() and len(alone.patches) == 1  # shaded
    assert not whole(figures.ladder(wide.assign(seeds=1))).axes[0].patches  # nothing else to tell it from
    early = pd.concat([wide, wide[:2].assign(row="heads chosen before training", change=-3.0), wide.assign(row="GHT")])
    (both,) = whole(figures.ladder(early)).axes
    assert [text.get_text().strip() for text in both.texts] == ["few heads", "late choice, or the method", "one training"]
    low, high = (set(part.get_paths()[0].vertices[:, 1]) for part in both.collections if part.get_alpha() == 0.15)
    assert low == {0.0, -3.0} and high == {-3.0, -4.0, -7.0}


ADDRESSES = [("encoder", 0, 0), ("encoder", 0, 1), ("encoder", 0, 2), ("encoder", 1, 0), ("cross", 0, 0), ("cross", 0, 1)]


def test_votes_of_heads_by_group():
    rows = [(*address, 1 - address[2] % 2, 0.1 + 0.2 * address[2], address[2] == 2) for address in ADDRESSES]
    first = whole(figures.votes(table("kind layer head group share kept", *rows))).axes[0]
    assert ticks(first, "x") == ["2", "1", "3"]  # group 0 is head 2
    assert [to_rgb(tick.get_color()) for tick in first.get_xticklabels()] == [BLUE, ORANGE, ORANGE]
    np.testing.assert_allclose(np.diff([bar.get_x() for bar in first.patches]), [1.7, 1])  # groups stand apart
    np.testing.assert_allclose([bar.get_height() for bar in first.patches], [0.3, 0.1, 0.5])
    assert [to_rgb(bar.get_facecolor()) for bar in first.patches] == [BLUE, ORANGE, ORANGE]
    assert [bar.get_edgecolor()[3] for bar in first.patches] == [0, 0, 1]  # the one that stays
    assert [(text.get_text(), text.get_position()[0]) for text in first.texts] == [("alone", 0)]


def test_a_decoder_of_today_shares_keys_at_the_left_and_loses_heads_at_the_right():
    frame = table(
        "asked row heads change change_low change_high", ("whole", "vanilla", 16, NAN, NAN, NAN),
        ("whole", "GHT", 16, 4.0, 3.9, 4.1), ("shared", "groups, mean", 16, 4.2, 4.1, 4.4),
        ("shared", "GHT: random, draw 1", 16, 4.6, 4.5, 5), ("removed", "L0 0.01", 6, 5.0, 4.9, 5.2),
        ("shared", "GHT: random, draw 2", 16, 4.8, 4.5, 5), ("removed", "GHT-PS", 4, 5.5, 5.4, 5.6),
        ("whole", "GHT on shared keys", 16, 3.5, 3.4, 3.6), ("whole", "grouped queries from the start", 16, 3.3, 3.2, 3.4),
    )  # fmt: skip
    after, gone = whole(figures.today(frame)).axes
    names = ["shared from the start", "grouped queries from the start", "shared later, from vanilla", "groups, mean",
             "shared later, from GHT", "random"]  # fmt: skip
    assert ticks(after) == names and intervals(after, 0)[BLUE].keys() == {3.3, 4.2, 4.6, 4.8}  # all against vanilla
    assert [y for _, y in marked(gone, to_rgb(drawing.MODELS[2]))] == [5.0]
    assert not marked(gone, ORANGE)  # GHT-PS has other keys


SITE = ("encoder", 0)
TWO, THREE = {SITE: np.eye(2)}, {SITE: [0, 1, 1]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.ablation(ablation().assign(model="L0")), "reference of L0"),
        (lambda: figures.similarity(TWO, TWO, THREE, THREE, ("a", "b")), "3 heads"),
        (lambda: figures.similarity(TWO, TWO, {SITE: [0, 1]}, {SITE: [0, 1]}, ("a", "b"), {SITE: [2]}), r"\[2\]"),
        (lambda: figures.groups({}, {}), "at least one"),
        (lambda: figures.constraint_over_training({}), "no run"),
        (lambda: figures.score_by_groups(table(SCORES, ("one", "vanilla", NAN, 0.0, 0.0, 0.0, "BLEU"))), "no rows"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
