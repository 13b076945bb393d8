"""Figures of heads: what they show, on random tables of several shapes."""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from helpers import drawing
from helpers.measures import figures
from helpers.measures.ranks import follows_function, relative

SHAPES = {"laptop": [8, 8, 8], "wide": [16] * 6, "narrow": [2, 2, 2], "ragged": [6, 3, 8, 1]}


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


def column(layers, seed, share=True, kinds=("encoder", "cross")):
    rows = [(kind, layer, head) for kind in kinds for layer, heads in enumerate(layers) for head in range(heads)]
    index = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = pd.Series(np.random.default_rng(seed).uniform(0.05, 0.9, len(rows)), index)
    return values / values.groupby(level=["kind", "layer"]).transform("sum") if share else values


def models(layers, number=2):
    titles = [f"EN-{n}" for n in range(number)]
    relevance = {title: column(layers, n) for n, title in enumerate(titles)}
    return relevance, {title: column(layers, 10 + n, share=False) for n, title in enumerate(titles)}


def cells(axis):
    """Texts of a head map by row from the bottom, as (value, head)."""
    rows = {}
    for text in axis.texts:
        value, head = text.get_text().split("\n")
        rows.setdefault(text.get_position()[1], []).append((text.get_position()[0], float(value), int(head[1:])))
    return [[cell[1:] for cell in sorted(rows[y])] for y in sorted(rows, reverse=True)]


def draw(figure):
    """Draw it whole; a layout that does not fit is a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()


# -------------------- head maps


@pytest.mark.parametrize("shape, kind", [*((shape, "encoder") for shape in SHAPES), ("ragged", "cross")])
def test_relevance_stands_above_confidence(shape, kind):
    relevance, confidence = models(SHAPES[shape], 1 if shape == "wide" else 3)
    figure = figures.relevance_and_confidence(relevance, confidence, kind)
    draw(figure)
    assert len(figure.axes) == 2 * len(relevance) + 2  # and one colour bar a row
    for row, columns in enumerate((relevance, confidence)):
        for number, title in enumerate(relevance):
            axis = figure.axes[row * len(relevance) + number]
            assert axis.get_title() == ("" if row else title)
            assert [label.get_text() for label in axis.get_yticklabels()] == [str(n) for n in range(len(SHAPES[shape]), 0, -1)]
            for layer, shown in enumerate(cells(axis)):
                ranked = relevance[title][kind][layer].sort_values(ascending=False).index.tolist()
                assert [head - 1 for _, head in shown] == ranked  # by relevance, in both rows
                values = columns[title][kind][layer][ranked]
                np.testing.assert_allclose([value for value, _ in shown], values, atol=0.0051)
            limit = max(part[kind].max() for part in relevance.values()) if row == 0 else 1
            assert axis.collections[0].get_clim() == (0, limit)
    assert [axis.get_ylabel() for axis in figure.axes[-2:]] == ["relevance", "confidence"]


def test_head_maps_sort_by_their_own_or_another_column():
    relevance, confidence = models(SHAPES["ragged"])
    for order in (None, relevance):
        figure = figures.head_maps(confidence, order=order, label="confidence")
        for axis, title in zip(figure.axes, confidence, strict=False):
            for layer, shown in enumerate(cells(axis)):
                rank = (order or confidence)[title]["encoder"][layer].sort_values(ascending=False)
                assert [head - 1 for _, head in shown] == rank.index.tolist()
        assert figure.axes[-1].get_ylabel() == "confidence" and len(figure.axes) == 3


def test_numbers_in_cells_are_short_and_right():
    values = {0.126: ".13", -0.126: "-.13", 10.5: "10.50", 1.0: "1.00", 0.999: "1.00", 0.0: ".00"}
    assert [drawing.short(value) for value in values] == list(values.values())
    assert drawing.short(0.4, 0) == "0"


# -------------------- relevance


def marks(axis):
    return [text.get_text() for text in axis.texts]


def test_the_papers_exception_is_marked():
    relevance, confidence = models([5, 5, 5])
    one, other = relevance
    for title in (one, other):
        relevance[title]["encoder", 0, 3] = 0.8
        confidence[title]["encoder", 0, 3] = 0.01 if title == one else 0.99
        relevance[title]["encoder", 1, 2] = 0.9  # of another layer
        confidence[title]["encoder", 1, 2] = 0.01
    figure = figures.confidence_against_relevance(relevance, confidence)
    draw(figure)
    assert [marks(axis) for axis in figure.axes] == [["L1 #4"], []]
    assert [axis.get_title() for axis in figure.axes] == [one, other]
    for axis, title in zip(figure.axes, relevance, strict=True):
        assert axis.get_xlabel() == "confidence"
        for layer in range(3):
            shown = np.array(axis.collections[layer].get_offsets())
            expected = np.stack([confidence[title]["encoder"][layer], relevance[title]["encoder"][layer]], 1)
            np.testing.assert_allclose(shown, expected)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["layer 1", "layer 2", "layer 3"]
    assert legend.get_window_extent().y1 < figure.axes[0].get_window_extent().y0


def test_relevance_by_function():
    relevance, _ = models([4, 4])
    functions = {title: pd.Series([[] for _ in part], part.index) for title, part in relevance.items()}
    functions["EN-0"]["encoder", 0, 1] = [("nsubj", "v→s"), ("nsubj", "s→v"), ("rare", "rare")]
    functions["EN-1"]["encoder", 1, 2] = [("positional", "+1")]
    summary = follows_function(relevance, functions, draws=50)
    figure = figures.relevance_by_function(relevance, functions, summary)
    draw(figure)
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == [
        "positional\n(1)", "nsubj\n(1)", "dobj\n(0)", "amod\n(0)", "advmod\n(0)", "rare\n(1)", "none\n(14)",
    ]  # fmt: skip
    points = {}
    for line in axis.lines:
        if line.get_marker() not in ("None", "", None):
            points.setdefault(round(line.get_xdata()[0]), []).append((line.get_ydata()[0], line.get_color(), line.get_marker()))
    expected = relative(relevance["EN-0"])["encoder", 0, 1]
    assert points[1] == [(expected, drawing.COLOURS["nsubj"], "o")]
    assert points[5] == [(expected, drawing.COLOURS["rare"], "o")] and points[0][0][2] == "s" and len(points[6]) == 14
    title = axis.get_title()
    assert f"{summary['difference']:+.2f} [{summary['low']:+.2f}, {summary['high']:+.2f}]" in title
    assert f"{summary['null_low']:+.2f} to {summary['null_high']:+.2f}" in title
    nothing = {title: pd.Series([[] for _ in part], part.index) for title, part in relevance.items()}
    figure = figures.relevance_by_function(relevance, nothing, follows_function(relevance, nothing, draws=5))
    assert figure.axes[0].get_title() == "no layer has heads with and heads without a function"


# -------------------- agreement


@pytest.mark.parametrize("number", [1, 3, 5])
def test_agreement_of_measures(number):
    names = ["relevance", "confidence", "leave one out"]
    matrix = pd.DataFrame([[1, 0.25, -0.5], [0.25, 1, 0], [-0.5, 0, 1]], names, names)
    figure = figures.agreement({f"model {n}": matrix for n in range(number)})
    draw(figure)
    shown = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in shown] == [f"model {n}" for n in range(number)]
    assert [text.get_text() for text in shown[-1].texts] == ["1.00", ".25", "-.50", ".25", "1.00", ".00", "-.50", ".00", "1.00"]
    assert shown[0].collections[0].get_clim() == (-1, 1)
    assert (
        [text.get_text() for text in shown[0].get_yticklabels()] == names == [t.get_text() for t in shown[-1].get_xticklabels()]
    )


def test_curves_that_settle():
    frame = pd.DataFrame({"n": [1, 10, 100], "rho": [0.2, 0.5, 0.9], "low": [0, 0.4, 0.8], "high": [0.5, 0.6, 1.0]})
    figure = figures.settling({"one": {"cp": frame}, "other": {"alpha_beta": frame + 0.01, "cp": frame}})
    draw(figure)
    assert [axis.get_title() for axis in figure.axes] == ["one", "other"]
    assert all(axis.get_xscale() == "log" and axis.get_xlabel() == "sentences" for axis in figure.axes)
    assert [len(axis.collections) for axis in figure.axes] == [1, 2]  # a band a rule
    # a rule has one colour in all panels and in the legend
    colours = {handle.get_label(): handle.get_color() for handle in figure.legends[0].legend_handles}
    assert list(colours) == ["cp", "alpha_beta"]
    assert figure.axes[0].lines[0].get_color() == figure.axes[1].lines[1].get_color() == colours["cp"]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), frame.rho)
    assert to_rgba(colours["cp"])[:3] == tuple(figure.axes[0].collections[0].get_facecolor()[0][:3])


def test_correlations_with_a_truth():
    frame = pd.DataFrame({"rho": [0.5, -0.2], "low": [0.1, -0.6], "high": [0.8, 0.3]}, ["relevance", "confidence"])
    figure = figures.rank_correlations({"loss": frame, "BLEU": frame[1:]})
    draw(figure)
    assert [axis.get_title() for axis in figure.axes] == ["loss", "BLEU"]
    first, second = figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["relevance", "confidence"]
    assert first.get_ylim()[0] > first.get_ylim()[1]  # measures go down
    points = [axis.containers[0].lines[0] for axis in (first, second)]
    np.testing.assert_array_equal(points[0].get_xdata(), [0.5, -0.2])
    np.testing.assert_array_equal(points[1].get_xdata().astype(float), [np.nan, -0.2])
    (ends,) = first.containers[0].lines[2]
    np.testing.assert_allclose([segment[:, 0] for segment in ends.get_segments()], frame[["low", "high"]])
    assert any(list(line.get_xdata()) == [0, 0] for line in first.lines)
