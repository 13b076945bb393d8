"""Figures of what heads do: bars stand at their shares, arcs lead where a head looks."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from helpers import papers, plots
from helpers.drawing import MODELS
from helpers.measures.functions import DIRECTIONS

DOWN, UP = DIRECTIONS


def heights(axis):
    """Heights of bars by colour, from left to right."""
    found = {}
    for bar in axis.patches:
        found.setdefault(to_hex(bar.get_facecolor()).upper(), []).append(round(bar.get_height(), 6))
    return found


def test_gains_over_the_best_guess_stand_beside_the_printed_ones():
    rows = [
        ("a", "nsubj", UP, 0.7, 0.4, 0.2, 0.4),
        ("a", "dobj", UP, 0.5, 0.45, -0.1, 0.2),
        ("b", "dobj", DOWN, 0.9, 0.3, 0.5, 0.7),
    ]
    columns = ["model", "relation", "direction", "accuracy", "baseline", "gain_low", "gain_high"]
    axis = plots.gains(pd.concat([papers.TABLE_1, pd.DataFrame(rows, columns=columns)])).axes[0]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == [*papers.CASES.values()]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["paper, WMT", "paper, OpenSubtitles", "a", "b"]
    cells = axis.images[0].get_array().filled(np.nan)
    case = [*papers.CASES.values()].index
    assert cells[0, case("verb→object")] == pytest.approx(0.37) and cells[3, case("verb→object")] == pytest.approx(0.6)
    assert cells[2, case("subject→verb")] == pytest.approx(0.3)
    assert np.isnan(cells[2, case("object→verb")]) and np.isnan(cells[3, case("adverb→word")])  # not sure, and not asked


def test_bars_stand_at_their_numbers():
    table = pd.DataFrame({"place": [2, 0, 0], "share": [0.2, 0.5, 0.95], "model": ["x", "x", "y"]})
    (axis,) = plots.grouped(table, "place", "share", level=0.9, labels=("place", "%")).axes
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0", "+2"]
    assert heights(axis) == {MODELS[0]: [20, 50], MODELS[1]: [95]}
    assert axis.lines[0].get_ydata()[0] == 90 and axis.get_ylim() == (0, 104.5)
    x = {round(bar.get_height()): bar.get_x() + bar.get_width() / 2 for bar in axis.patches}
    assert x[50] < x[95] < x[20]


def test_an_arc_below_is_as_thick_as_the_attention_and_one_above_leads_where_it_should_look():
    words = ["the", "old", "man", "sleeps", "."]
    table = pd.DataFrame({"title": "layer 2, head 4", "word": words, "weight": [0.0, 0.5, 0.25, 0.25, 0.0]})
    table = table.assign(looks=[word == "sleeps" for word in words], wanted=[word == "man" for word in words])
    (axis,) = plots.looking(table).axes
    assert axis.get_title("left") == "layer 2, head 4 (miss)" and [text.get_text() for text in axis.texts] == words
    assert [text.get_fontweight() for text in axis.texts] == ["normal"] * 3 + ["bold", "normal"]
    above = [line for line in axis.lines if line.get_ydata().max() > 0.2]
    below = [line for line in axis.lines if line.get_ydata().min() < -0.2]
    assert len(above) == 1 and len(below) == 3
    place = {text.get_text(): text.get_position()[0] for text in axis.texts}
    assert sorted([above[0].get_xdata().min(), above[0].get_xdata().max()]) == pytest.approx([place["man"], place["sleeps"]])
    assert sorted(line.get_linewidth() - 0.4 for line in below) == pytest.approx([4.5 * w for w in (0.25, 0.25, 0.5)])
    assert [line.get_color() == MODELS[1] for line in below] == [False, True, False]
