"""Figures and tables that show how things work, or set texts and papers side by side."""

import numpy as np
import pandas as pd
import pytest

from helpers.drawing import MODELS
from helpers.measures import figures, measured
from helpers.measures.functions import DIRECTIONS

WORDS = ["the", "old", "man", "sleeps", "."]


def texts(axis):
    return [text.get_text() for text in axis.texts if text.get_text()]


def test_an_arc_below_is_as_thick_as_the_attention_and_one_above_leads_where_it_should_look():
    weights = np.array([0.0, 0.5, 0.25, 0.25, 0.0])
    hit = {"words": WORDS, "query": 3, "wanted": [2], "weights": weights}
    head = {"function": "nsubj", "label": "v→s", "layer": 1, "head": 3, "score": 0.4, "needed": 0.5, "passes": False}
    figure = figures.hits_and_misses([head | {"hit": hit, "miss": None}])
    seen, empty = figure.axes
    assert seen.get_title("left") == "verb→subject: layer 2 head 4, 40 %, needs 50 % (offset 40 + 10): FAILS"
    guessed = figures.hits_and_misses([head | {"hit": hit, "miss": None, "side": "open", "guess": -1}]).axes[0]
    assert guessed.get_title("left").endswith("UNDECIDED") and guessed.lines[0].get_marker() == "^"
    other = figures.hits_and_misses([head | {"hit": hit, "miss": None, "side": "for", "other": True, "passes": True}]).axes[0]
    assert other.get_title("left").endswith("40 + 10); held-out head PASSES")
    near = figures.hits_and_misses([head | {"score": 0.9953, "hit": hit, "miss": None}]).axes[0]
    assert ", 99.5 %, needs" in near.get_title("left")
    assert texts(seen) == ["hit", *WORDS] and texts(empty)[0].startswith("no miss")
    (best,) = measured.best_of_models({"a": [head], "b": [head | {"score": 0.3, "needed": 0.2}]})
    assert best == head | {"score": 0.3, "needed": 0.2, "model": "b"}
    above = [line for line in seen.lines if line.get_ydata().max() > 0.2]
    below = [line for line in seen.lines if line.get_ydata().min() < -0.2]
    assert len(above) == 1 and len(below) == 3
    assert sorted(line.get_linewidth() - 0.4 for line in below) == pytest.approx([4.5 * w for w in (0.25, 0.25, 0.5)])


def test_a_case_stands_where_its_head_lies_above_the_baseline():
    row = {"model": "m", "relation": "dobj", "direction": DIRECTIONS[1], "passes": True, "passes +10": True}
    row |= {"offset baseline": 0.4, "accuracy held out": 0.7, "side": "for"}
    weak = {"relation": "nsubj", "passes": False, "side": "against", "accuracy held out": 0.3}
    rows = [row, row | {"model": "n", "passes": False, "side": "open"}, row | weak]
    axis, other = figures.syntactic_cases(pd.DataFrame(rows)).axes
    assert axis.get_title("left") == "m:\n1 of 2 pass" and other.get_title("left") == "n:\n0 of 1 pass"
    dots = {round(float(line.get_xdata()[0])): line for line in axis.lines if line.get_marker() == "o"}
    assert {at: dots[at].get_markerfacecolor() for at in dots} == {70: MODELS[0], 30: "#EFEFEF"}
    (undecided,) = [line.get_markerfacecolor() for line in other.lines if line.get_marker() == "o"]
    assert undecided == "#B5D4E9"
    assert [line.get_xdata()[0] for line in axis.lines if line.get_marker() == "|"] == pytest.approx([50, 50])
    assert [bar.get_width() for bar in axis.patches] == pytest.approx([40, 40])
