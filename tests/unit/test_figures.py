"""Panels that figures share, and figures of measures: what they show, on random tables of several shapes."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.measures import figures
from helpers.measures.ranks import confidence_by_rank, relative
from helpers.study import StudyError
from tests.unit.drawn import band, drawn, intervals, marked, table, ticks, whole

BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
NAN = np.nan


def test_dots_with_intervals_stand_in_groups_side_by_side():
    frame = table(
        "panel group row series value low high hollow printed said",
        ("one", "main", "a", "x", 1.0, 0.5, 2.0, False, 3.0, "+1"),
        ("one", "main", "a", "y", -1.0, NAN, NAN, True, NAN, ""),
        ("one", "rest", "b", "x", 4.0, 3.0, 5.0, False, NAN, ""), ("two", "main", "a", "x", 9.0, 8.0, 10.0, False, NAN, ""),
    )  # fmt: skip
    figure, axes = drawing.dot_panels(frame, drawing.looks("xy"), label="score")
    one, two = axes.values()
    whole(figure)
    assert ticks(one) == ["main", "a", "rest", "b"] and one.get_ylim()[0] > one.get_ylim()[1]
    at = dict(zip(ticks(one), one.get_yticks(), strict=True))
    assert intervals(one, 0) == {BLUE: {1.0: (0.5, 2.0), 4.0: (3.0, 5.0)}, ORANGE: {-1.0: None}}
    assert intervals(two, 0)[BLUE] == {9.0: (8.0, 10.0)}
    (below, above), (y,) = (marked(one, BLUE), [y for _, y in marked(one, ORANGE, hollow=True)])
    assert below[1] < at["a"] < y and above[1] > at["rest"]
    ((printed, place),) = marked(one, BLUE, hollow=True)
    assert printed == 3.0 and below[1] < place < at["a"] + 0.5


def test_lines_go_through_the_mean_of_dots_or_have_a_band():
    frame = table("x method value low high hollow", (2, "a", 5.0, 4.0, 7.0, True), (1, "a", 1.0, 0.0, 2.0, False),
                  (1, "a", 3.0, NAN, NAN, False), (1, "b", 9.0, 8.0, 9.5, False), (2, "b", 8.0, 7.0, 8.5, False))  # fmt: skip
    axis = plt.figure().add_subplot()
    drawing.lines(axis, frame, "x", "value", "method", drawing.looks("ab"), band=("b",), dodge=0.5)
    np.testing.assert_allclose(drawn(axis, BLUE)[0], [[0.75, 1.75], [2, 5]])
    assert intervals(axis, 1)[BLUE] == {1.0: (0.0, 2.0), 3.0: None, 5.0: (4.0, 7.0)}
    assert band(axis, ORANGE, 1.25) == (8.0, 9.5) and marked(axis, BLUE, hollow=True) == [(1.75, 5)]


def test_tables_that_cannot_be_drawn_are_refused():
    frame = table("a b", (1, 2), (1, 3))
    for call, said in (
        (lambda: drawing.need(frame, "a", "c"), "no column 'c': it needs a, c"),
        (lambda: drawing.need(frame[:0], "a"), "no rows"),
        (lambda: drawing.need(frame, "a", once=["a"]), "more than one row for a 1"),
        (lambda: drawing.of_heads(frame), "not indexed by kind, layer and head"),
        (lambda: drawing.kinds(["cross", "all"]), "kind of attention 'all': choose from encoder"),
    ):
        with pytest.raises(StudyError, match=said):
            call()


RAGGED = [6, 3, 8, 1]


def column(layers, seed, share=True):
    rows = [("encoder", layer, head) for layer, heads in enumerate(layers) for head in range(heads)]
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = pd.Series(np.random.default_rng(seed).uniform(0.05, 0.9, len(rows)), index)
    return values / values.groupby(level=["kind", "layer"]).transform("sum") if share else values


def models(layers):
    """Relevance and confidence of two models."""
    names = ("EN-0", "EN-1")
    relevance = {title: column(layers, n) for n, title in enumerate(names)}
    return relevance, {title: column(layers, 10 + n, share=False) for n, title in enumerate(names)}


def said(axis):
    """Values of a head map by layer from the first."""
    rows = {}
    for text in axis.texts:
        rows.setdefault(text.get_position()[1], []).append((text.get_position()[0], float(text.get_text())))
    return [[value for _, value in sorted(rows[y])] for y in sorted(rows, reverse=True)]


def test_heads_are_sorted_by_relevance_and_coloured_by_confidence():
    relevance, confidence = models(RAGGED)
    figure = whole(figures.relevance_and_confidence(relevance, confidence, "encoder"))
    for axis, title in zip(figure.axes, relevance, strict=False):
        assert ticks(axis) == ["4", "3", "2", "1"]  # layer 1 at the bottom
        colours = axis.images[0].get_array()[::-1]
        for layer, shown in enumerate(said(axis)):
            ranked = relevance[title]["encoder"][layer].sort_values(ascending=False)
            np.testing.assert_allclose(shown, ranked, atol=0.0051)
            ranks = confidence[title]["encoder"][layer].rank(ascending=False)[ranked.index]
            assert colours[layer][: len(ranks)].tolist() == ranks.tolist()


def test_relevance_with_and_without_a_function():
    relevance, _ = models([4, 4])
    functions = {title: pd.Series([[] for _ in part], part.index) for title, part in relevance.items()}
    functions["EN-0"]["encoder", 0, 1] = [("nsubj", "v→s"), ("nsubj", "s→v"), ("rare", "rare")]
    (axis,) = whole(figures.relevance_by_function(relevance, functions, ["EN-1"])).axes
    assert ticks(axis, "x") == [f"without | with\nEN-{n}\n{1 - n} of 2 layers\nhave both" for n in (0, 1)]
    assert axis.get_xticks().tolist() == [0, 1.4]  # behind a gap
    own = relative(relevance["EN-0"])["encoder"][0]
    (line,) = (line for line in axis.lines if line.get_marker() == "o")
    assert line.get_ydata().tolist() == pytest.approx([own.drop(1).mean(), own[1]])
    assert (line.get_color() == drawing.MODELS[2]) == (own.idxmax() == 1)
    assert [text.get_text() for text in axis.texts] == ["cannot tell"]


def test_what_the_largest_heads_of_a_layer_carry_is_drawn_for_both_texts():
    table = pd.DataFrame({"rule": "alpha_beta", "weights": ["trained"] * 3 + ["random"] * 3, "heads": [1, 2, 3] * 2})
    table["value"] = [0.4, 0.7, 1.0, 0.35, 0.68, 1.0]
    one, other = whole(figures.few_heads(table, table.assign(value=table.value / 2))).axes
    assert one.lines[1].get_ydata().tolist() == [40, 70, 100] and one.lines[2].get_linestyle() == "--"
    assert other.lines[1].get_ydata().tolist() == [20, 35, 50] and [one.get_title(), other.get_title()][1] == "Europarl"
    assert len(figures.few_heads(table).axes) == 1


def test_rules_stand_beside_each_other_and_beside_themselves():
    names = ["alpha_beta", "cp ratio", "cp step"]
    mean = pd.DataFrame([[1.0, 0.4, 0.3], [0.4, 1.0, 0.2], [0.3, 0.2, 1.0]], names, names)
    curves = pd.DataFrame([[0.8, 0.5, 0.1], [0.9, 0.7, 0.05]], [1, 10], names)
    axis, natural, beside = whole(figures.rules(mean, curves, mean / 2)).axes
    assert ticks(axis) == ["conservative\n(summed)", "conservative\n(per token)"] and ticks(natural) == ["", ""]
    cells = {text.get_position(): text.get_text() for text in axis.texts}
    assert cells == {(0, 0): ".40", (0, 1): ".30", (1, 1): ".20"}
    assert [text.get_text() for text in natural.texts] == [".20", ".15", ".10"]
    assert [text.get_color() == "#777777" for text in beside.texts] == [False, False, True]
    assert [line.get_ydata().tolist() for line in beside.lines[:3]] == [[0.8, 0.9], [0.5, 0.7], [0.1, 0.05]]


def test_confidence_by_rank_of_relevance():
    one, other = pd.Series([4.0, 3, 2, 1], column([4], 0).index), pd.Series([1.0, 2, 3, 4], column([4], 0).index)
    found = confidence_by_rank({"a": (one, one), "b": (one, other)}, (one, one))
    assert found.value.tolist() == [2.5] * 4 + [1, 2, 3, 4] and set(found.even) == {2.5}
    assert found.low.tolist()[:4] == [1, 2, 2, 1] and found.high.tolist()[:4] == [4, 3, 3, 4]
    axis = whole(figures.confidence_by_rank(found, {"trained": 0.5, "random": 1.0})).axes[0]
    assert axis.get_ylim() == (4.3, 0.7)
    assert [text.get_text() for text in axis.texts] == ["trained, Spearman 0.50", "random weights, Spearman 1.00"]
    both = pd.concat([found, found[:4].assign(weights="natural")])
    axis = whole(figures.confidence_by_rank(both, {"trained": 0.5, "natural": 0.4})).axes[0]
    assert [text.get_text() for text in axis.texts] == ["Europarl, Spearman 0.40", "generated text, Spearman 0.50"]


def test_each_measure_ranks_heads_and_each_rule_names_the_head_of_a_word():
    rho = pd.DataFrame({"rho": [0.8, 0.3], "low": [0.6, 0.0], "high": [0.9, 0.5]}, ["alpha_beta", "cp"])
    words = table("found layer words", (3, 4, 4), (1, 2, 4)).set_index(pd.Index(["conservative", "LRP αβ"]))
    words = words.rename(columns={"layer": "in its layer"})
    frames = {"a, training 1": rho, "b, training 1": rho - 0.1, "b, training 2": rho + 0.1, "both": rho}
    left, right = whole(figures.two_questions(frames, words)).axes
    assert ticks(left) == ["LRP αβ", "conservative"] and [text.get_text() for text in left.texts] == ["0.80", "0.30"]
    hollow = [line.get_xdata() for line in left.lines if line.get_marker() == "^"]
    assert np.ravel(hollow) == pytest.approx([0.7, 0.9, 0.2, 0.4])
    together = [line.get_xdata() for line in left.lines if line.get_marker() == "D"]
    assert np.ravel(together) == pytest.approx([0.8, 0.3])
    assert [bar.get_width() for bar in right.patches] == [75, 100, 25, 50]


def test_figures_call_measures_what_people_do():
    names = ["alpha_beta", "cp step", "gradient, example", "mine"]
    called = ["relevance, LRP αβ", "relevance, conservative (per token)", "gradient importance", "mine"]
    assert ticks(figures.agreement({"one": pd.DataFrame(np.eye(4), names, names)}).axes[0], "x") == called[:-1]


def test_heads_stand_in_their_places_layer_one_at_the_bottom():
    one = pd.Series([3.0, 0.001, 2.0, 6.0, 5.0], column([3, 2], 0).index)
    figure = whole(figures.head_map({"one": one, "other": one / 10}, ["one"]))
    left, right = figure.axes[:2]
    assert ticks(left) == ["2", "1"] and [left.get_title(), right.get_title()] == ["one", "other"]
    assert {"1", "2", "3"} <= {*ticks(left, "x")}
    for axis, cells in ((left, [[6, 5, NAN], [3, 0.06, 2]]), (right, [[0.6, 0.5, NAN], [0.3, 0.0001, 0.2]])):
        assert axis.images[0].get_array().filled(NAN) == pytest.approx(np.array(cells), nan_ok=True)
    assert (left.images[0].norm.vmin, left.images[0].norm.vmax) == pytest.approx((0.06, 6))
    assert (right.images[0].norm.vmin, right.images[0].norm.vmax) == (0, 0.6)


def test_a_choice_stands_beside_random_draws():
    rows = [("least", 0.5, 0.4, 0.6), ("random", 1.0, 0.9, 1.1), ("random", 2.0, 1.9, 2.1)]
    (axis,) = whole(figures.beside_random(table("choice rise low high", *rows), 20.0, "perplexity")).axes
    assert ticks(axis) == ["least", "random"] and axis.get_xscale() == "log" and {"20", "50", "100"} <= {*ticks(axis, "x")}
    assert axis.lines[0].get_xdata() == [20.0, 20.0]
    (dots,) = (line.get_xdata() for line in axis.lines[1:] if line.get_marker() == "o")
    assert dots == pytest.approx([20 * math.exp(rise) for rise in (0.5, 1, 2)])
    ends = {value: found for by_value in intervals(axis, 0).values() for value, found in by_value.items() if found}
    assert [found for found in ends.values() if np.isfinite(found).all()] == [
        pytest.approx((20 * math.exp(0.4), 20 * math.exp(0.6)), abs=1e-5)
    ]
