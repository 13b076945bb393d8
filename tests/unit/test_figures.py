"""Panels that figures share, and figures of measures: what they show, on random tables of several shapes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.measures import figures
from helpers.measures.ranks import follows_function, relative
from helpers.study import StudyError
from tests.unit.drawn import band, cells, colour_of, drawn, intervals, legend, levels, marked, table, ticks, titles, whole

SHAPES = {"laptop": [8, 8, 8], "ragged": [6, 3, 8, 1]}
BLUE, ORANGE = (to_rgb(colour) for colour in drawing.MODELS[:2])
NAN = np.nan


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


# -------------------- panels

DOTS = "panel group row series value low high hollow printed said"


def test_dots_with_intervals_stand_in_groups_side_by_side():
    frame = table(
        DOTS, ("one", "main", "a", "x", 1.0, 0.5, 2.0, False, 3.0, "+1"),
        ("one", "main", "a", "y", -1.0, NAN, NAN, True, NAN, ""),
        ("one", "rest", "b", "x", 4.0, 3.0, 5.0, False, NAN, ""), ("two", "main", "a", "x", 9.0, 8.0, 10.0, False, NAN, ""),
    )  # fmt: skip
    figure, axes = drawing.dot_panels(frame, drawing.looks("xy"), label="score")
    assert legend(figure) == ["x", "y", "printed in the paper"] and list(axes) == ["one", "two"]
    one, two = axes.values()
    assert ticks(one) == ["main", "a", "rest", "b"] and one.get_ylim()[0] > one.get_ylim()[1]
    assert [text.get_text() for text in one.get_yticklabels() if text.get_fontweight() == "bold"] == ["main", "rest"]
    at = dict(zip(ticks(one), one.get_yticks(), strict=True))
    assert intervals(one, 0) == {BLUE: {1.0: (0.5, 2.0), 4.0: (3.0, 5.0)}, ORANGE: {-1.0: None}}
    assert intervals(two, 0)[BLUE] == {9.0: (8.0, 10.0)} and two.get_xlabel() == "score"
    (below, above), (y,) = (marked(one, BLUE), [y for _, y in marked(one, ORANGE, hollow=True)])
    assert below[1] < at["a"] < y and above[1] > at["rest"]
    ((printed, place),) = marked(one, BLUE, hollow=True)
    assert printed == 3.0 and below[1] < place < at["a"] + 0.5
    assert [text.get_text() for text in one.texts if text.get_text()] == ["+1"]
    assert any(list(line.get_xdata()) == [0, 0] for line in one.lines)


def test_lines_go_through_the_mean_of_dots_or_have_a_band():
    frame = table("x method value low high hollow", (2, "a", 5.0, 4.0, 7.0, True), (1, "a", 1.0, 0.0, 2.0, False),
                  (1, "a", 3.0, NAN, NAN, False), (1, "b", 9.0, 8.0, 9.5, False), (2, "b", 8.0, 7.0, 8.5, False))  # fmt: skip
    axis = plt.figure().add_subplot()
    drawing.lines(axis, frame, "x", "value", "method", drawing.looks("ab"), band=("b",), dodge=0.5)
    np.testing.assert_allclose(drawn(axis, BLUE)[0], [[0.75, 1.75], [2, 5]])
    assert intervals(axis, 1)[BLUE] == {1.0: (0.0, 2.0), 3.0: None, 5.0: (4.0, 7.0)} and set(intervals(axis, 1)[ORANGE]) == {
        9,
        8,
    }
    assert band(axis, ORANGE, 1.25) == (8.0, 9.5) and marked(axis, BLUE, hollow=True) == [(1.75, 5)]


def test_of_several_rows_the_mean_and_what_lies_between():
    draws = np.linspace(-4, -2, 41)
    frame = pd.DataFrame({"name": ["a"] * 41 + ["b"], "value": [*draws, 1.0], "low": [NAN] * 41 + [0.5], "high": 2.0})
    a, b = drawing.summed(frame, ["name"], "value").to_dict("records")
    assert (a["value"], a["low"], a["high"]) == pytest.approx((-3, *np.quantile(draws, [0.025, 0.975])))
    assert b == {"name": "b", "value": 1.0, "low": 0.5, "high": 2.0}


def test_names_differ_in_looks_and_numbers_can_be_read():
    looks = drawing.looks(str(n) for n in range(19))
    assert len({tuple(look.values()) for look in looks.values()}) == 19
    for colour in (*drawing.MODELS, *drawing.COLOURS.values(), "#7A5200", "#999999", "#5B2A86"):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        bright = np.dot(linear, (0.2126, 0.7152, 0.0722)) + 0.05
        assert (bright / 0.05 if drawing.ink(colour) == "black" else 1.05 / bright) > 3
    values = {0.126: ".13", -0.126: "-.13", 10.5: "10.50", 1.0: "1.00", 0.999: "1.00", 0.0: ".00", -0.001: ".00"}
    assert [drawing.short(value) for value in values] == list(values.values()) and drawing.short(0.4, 0) == "0"


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
    assert drawing.ordered_sites([("cross", 0), ("encoder", 1), ("encoder", 0)])[0] == ("encoder", 0)


# -------------------- head maps


def column(layers, seed, share=True, kinds=("encoder", "cross")):
    rows = [(kind, layer, head) for kind in kinds for layer, heads in enumerate(layers) for head in range(heads)]
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = pd.Series(np.random.default_rng(seed).uniform(0.05, 0.9, len(rows)), index)
    return values / values.groupby(level=["kind", "layer"]).transform("sum") if share else values


def models(layers, number=2):
    names = [f"EN-{n}" for n in range(number)]
    relevance = {title: column(layers, n) for n, title in enumerate(names)}
    return relevance, {title: column(layers, 10 + n, share=False) for n, title in enumerate(names)}


def said(axis):
    """Texts of a head map by layer from the first, as (value, head)."""
    rows = {}
    for text in axis.texts:
        value, head = text.get_text().split("\n")
        rows.setdefault(text.get_position()[1], []).append((text.get_position()[0], float(value), int(head[1:])))
    return [[cell[1:] for cell in sorted(rows[y])] for y in sorted(rows, reverse=True)]


@pytest.mark.parametrize("shape, kind", [("laptop", "encoder"), ("ragged", "cross")])
def test_relevance_stands_above_confidence(shape, kind):
    relevance, confidence = models(SHAPES[shape])
    figure = whole(figures.relevance_and_confidence(relevance, confidence, kind))
    assert [axis.get_ylabel() for axis in figure.axes[-2:]] == ["relevance", "confidence"]
    assert titles(figure) == list(relevance)
    for row, columns in enumerate((relevance, confidence)):
        for number, title in enumerate(relevance):
            axis = figure.axes[row * len(relevance) + number]
            assert ticks(axis) == [str(n) for n in range(len(SHAPES[shape]), 0, -1)]  # layer 1 at the bottom
            for layer, shown in enumerate(said(axis)):
                ranked = relevance[title][kind][layer].sort_values(ascending=False).index.tolist()
                assert [head - 1 for _, head in shown] == ranked  # by relevance, in both rows
                np.testing.assert_allclose([v for v, _ in shown], columns[title][kind][layer][ranked], atol=0.0051)
            limit = max(part[kind].max() for part in relevance.values()) if row == 0 else 1
            assert axis.images[0].get_clim() == (0, limit)


def test_head_maps_sort_by_their_own_or_another_column():
    relevance, confidence = models(SHAPES["ragged"])
    for order in (None, relevance):
        figure = whole(figures.head_maps(confidence, order=order, label="confidence", limits=None))
        for axis, title in zip(figure.axes, confidence, strict=False):
            for layer, shown in enumerate(said(axis)):
                rank = (order or confidence)[title]["encoder"][layer].sort_values(ascending=False)
                assert [head - 1 for _, head in shown] == rank.index.tolist()
        assert figure.axes[-1].get_ylabel() == "confidence"


def test_functions_share_the_cell_of_a_head():
    heads = column([2, 2], 0).xs("encoder", drop_level=False)
    roles = pd.Series([[], [("rare", "rare"), ("nsubj", "v→s")], [], []], heads.index)
    figure = figures.function_map({"one": roles})
    assert legend(figure) == ["nsubj", "rare", "none"]
    shown = {(p.get_x() // 1, p.get_y() // 1, to_rgb(p.get_facecolor())) for p in figure.axes[0].patches}
    assert {(1, 0, to_rgb(drawing.COLOURS[name])) for name in ("rare", "nsubj")} <= shown and len(shown) == 5


# -------------------- what heads do, relevance


def test_bars_of_the_best_heads_stand_beside_their_baselines():
    rows = [
        (model, relation, direction, 0.5, 0.4, 0.7, 0.3, 0.2, 0.1)
        for model in ("a", "b")
        for relation in figures.RELATIONS
        for direction in figures.DIRECTIONS
    ]
    figure = figures.syntactic_bars(table("model relation direction score low high baseline untrained chance", *rows))
    assert legend(figure) == ["a", "b", "most frequent offset", "best untrained head", "random word"]
    for axis in figure.axes:
        assert [bar.get_height() for bar in axis.patches] == [50] * 4
        segments = [segment for lines in axis.collections for segment in np.round(lines.get_segments(), 6)]
        across = [segment[0, 1] for segment in segments if segment[0, 1] == segment[1, 1]]
        assert sorted(across) == [10.0] * 4 + [20.0] * 4 + [30.0] * 4
        assert [tuple(s[:, 1]) for s in segments if s[0, 0] == s[1, 0]] == [(40.0, 70.0)] * 4


def test_shares_of_rare_tokens_stand_by_layer():
    index = column([2, 2], 0).xs("encoder", drop_level=False).index
    frame = pd.DataFrame({"two_rarest": [0.1, 0.2, 0.3, 0.4], "rarest": 0.05, "chance_two": 0.15}, index)
    frame = frame.assign(two_rarest_low=frame.two_rarest - 0.05, two_rarest_high=frame.two_rarest + 0.1)
    figure = figures.rare_shares({"one": frame})
    assert legend(figure) == ["two rarest", "rarest", "chance, two rarest"]
    (axis,) = figure.axes
    found = intervals(axis, 1)[to_rgb(drawing.COLOURS["rare"])]
    assert found == {0.1: (0.05, 0.2), 0.2: (0.15, 0.3), 0.3: (0.25, 0.4), 0.4: (0.35, 0.5)} and levels(axis) == [0.15]
    assert [round(x) for x, _ in marked(axis, to_rgb(drawing.COLOURS["rare"]))] == [1, 1, 2, 2]


def test_the_papers_exception_is_marked():
    relevance, confidence = models([5, 5, 5])
    one, other = relevance
    for title in (one, other):
        relevance[title]["encoder", 0, 3] = 0.8
        confidence[title]["encoder", 0, 3] = 0.01 if title == one else 0.99
        relevance[title]["encoder", 1, 2] = 0.9  # of another layer
        confidence[title]["encoder", 1, 2] = 0.01
    figure = figures.confidence_against_relevance(relevance, confidence)
    assert legend(figure) == ["layer 1", "layer 2", "layer 3"] and titles(figure) == [one, other]
    assert [[text.get_text() for text in axis.texts] for axis in figure.axes] == [["L1 #4"], []]
    for axis, title in zip(figure.axes, relevance, strict=True):
        for layer in range(3):
            expected = np.stack([confidence[title]["encoder"][layer], relevance[title]["encoder"][layer]], 1)
            np.testing.assert_allclose(np.array(axis.collections[layer].get_offsets()), expected)


def test_relevance_by_function():
    relevance, _ = models([4, 4])
    functions = {title: pd.Series([[] for _ in part], part.index) for title, part in relevance.items()}
    functions["EN-0"]["encoder", 0, 1] = [("nsubj", "v→s"), ("nsubj", "s→v"), ("rare", "rare")]
    functions["EN-1"]["encoder", 1, 2] = [("positional", "+1")]
    summary = follows_function(relevance, functions, draws=50)
    figure = whole(figures.relevance_by_function(relevance, functions, summary))
    (axis,) = figure.axes
    counts = dict(label.split("\n") for label in ticks(axis, "x"))
    assert counts == dict.fromkeys(counts, "(0)") | {"positional": "(1)", "nsubj": "(1)", "rare": "(1)", "none": "(14)"}
    ((at, value),) = marked(axis, to_rgb(drawing.COLOURS["nsubj"]))
    assert value == relative(relevance["EN-0"])["encoder", 0, 1] and round(at) == 1
    assert f"{summary['difference']:+.2f} [{summary['low']:+.2f}, {summary['high']:+.2f}]" in axis.get_title()
    nothing = {title: pd.Series([[] for _ in part], part.index) for title, part in relevance.items()}
    figure = figures.relevance_by_function(relevance, nothing, follows_function(relevance, nothing, draws=5))
    assert "no layer" in figure.axes[0].get_title()


# -------------------- agreement


@pytest.mark.parametrize("number", [1, 3])
def test_agreement_of_measures(number):
    names = ["relevance", "confidence", "leave one out"]
    matrix = pd.DataFrame([[1, 0.25, -0.5], [0.25, 1, 0], [-0.5, 0, 1]], names, names)
    figure = whole(figures.agreement({f"model {n}": matrix for n in range(number)}))
    assert titles(figure) == [f"model {n}" for n in range(number)]
    first, last = figure.axes[0], figure.axes[number - 1]
    assert [text.get_text() for text in last.texts] == ["1.00", ".25", "-.50", ".25", "1.00", ".00", "-.50", ".00", "1.00"]
    np.testing.assert_array_equal(cells(first), matrix)
    assert first.images[0].get_clim() == (-1, 1) and ticks(first) == names == ticks(last, "x")


def test_curves_that_settle():
    frame = pd.DataFrame({"n": [1, 10, 100], "rho": [0.2, 0.5, 0.9], "low": [0, 0.4, 0.8], "high": [0.5, 0.6, 1.0]})
    figure = figures.settling({"one": {"cp": frame}, "other": {"alpha_beta": frame + 0.01, "cp": frame}})
    assert legend(figure) == ["cp", "alpha_beta"] and titles(figure) == ["one", "other"]
    for axis in figure.axes:  # a rule has one colour in all panels
        np.testing.assert_array_equal(drawn(axis, colour_of(figure, "cp"))[0], [frame.n, frame.rho])
        assert band(axis, colour_of(figure, "cp"), 10) == (0.4, 0.6) and axis.get_xscale() == "log"


def test_correlations_with_a_truth():
    frame = pd.DataFrame({"rho": [0.5, -0.2], "low": [0.1, -0.6], "high": [0.8, 0.3]}, ["relevance", "confidence"])
    figure = whole(figures.rank_correlations({"loss": frame, "BLEU": frame[1:]}))
    first, second = figure.axes
    assert titles(figure) == ["loss", "BLEU"] and ticks(first) == ["relevance", "confidence"]
    assert intervals(first, 0)[BLUE] == {0.5: (0.1, 0.8), -0.2: (-0.6, 0.3)} and list(intervals(second, 0)[BLUE]) == [-0.2]
