"""Figures of what heads do: bars stand at their shares, arcs lead where a head looks."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from helpers import papers, plots
from helpers.drawing import MODELS
from helpers.measures.functions import DIRECTIONS
from helpers.study import StudyError

DOWN, UP = DIRECTIONS


def heights(axis):
    """Heights of bars by colour, from left to right."""
    found = {}
    for bar in axis.patches:
        found.setdefault(to_hex(bar.get_facecolor()).upper(), []).append(round(bar.get_height(), 6))
    return found


def test_relations_stand_side_by_side_with_the_printed_ones():
    ours = pd.DataFrame(
        [
            ("a", "nsubj", UP, 0.7, 0.4, 0.6, 0.8),
            ("a", "dobj", UP, 0.5, 0.45, 0.4, 0.6),
            ("b", "dobj", DOWN, 0.9, 0.3, 0.8, 1.0),
        ],
        columns=["model", "relation", "direction", "accuracy", "baseline", "low", "high"],
    )
    both = pd.concat([ours, papers.TABLE_1])
    figure = plots.relations(both.assign(needed=both.baseline + 0.1))
    up, down = figure.axes
    assert (up.get_title(), down.get_title()) == (UP, DOWN)
    assert [tick.get_text() for tick in up.get_xticklabels()] == [
        "subject→verb", "object→verb", "adjective→noun", "adverb→word",
    ]  # fmt: skip
    assert heights(up)[MODELS[0]] == [70, 50] and heights(down)[MODELS[1]] == [90]
    assert heights(up)["#3A3A3A"] == [52, 73, 82, 52]  # WMT
    lines = sorted(segment[0][1] for lines in up.collections for segment in lines.get_segments() if len(segment) == 2)
    assert {50.0, 55.0, 45.0, 51.0} <= {round(y, 6) for y in lines}  # ten points above the offsets
    with pytest.raises(StudyError, match="more than one row"):
        plots.relations(pd.concat([ours, ours]).assign(needed=0.5))


def test_bars_stand_at_numbers_in_their_order_and_at_names_as_they_come():
    table = pd.DataFrame({"place": [2, 0, 0], "share": [0.2, 0.5, 0.95], "model": ["x", "x", "y"]})
    (axis,) = plots.grouped(table, "place", "share", level=0.9, labels=("place", "%")).axes
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0", "+2"]
    assert heights(axis) == {MODELS[0]: [20, 50], MODELS[1]: [95]}
    assert axis.lines[0].get_ydata()[0] == 90 and axis.get_ylim() == (0, 105)
    x = {round(bar.get_height()): bar.get_x() + bar.get_width() / 2 for bar in axis.patches}
    assert x[50] < x[95] < x[20]
    (axis,) = plots.grouped(table.assign(place=["b", "a", "a"]), "place", "share").axes
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["b", "a"]


def test_an_arc_below_is_as_thick_as_the_attention_and_one_above_leads_where_it_should_look():
    words = ["the", "old", "man", "sleeps", "."]
    table = pd.DataFrame({"title": "layer 2, head 4", "word": words, "weight": [0.0, 0.5, 0.25, 0.25, 0.0]})
    table = table.assign(looks=[word == "sleeps" for word in words], wanted=[word == "man" for word in words])
    (axis,) = plots.looking(table).axes
    assert axis.get_title("left") == "layer 2, head 4" and [text.get_text() for text in axis.texts] == words
    assert [text.get_fontweight() for text in axis.texts] == ["normal"] * 3 + ["bold", "normal"]
    above = [line for line in axis.lines if line.get_ydata().max() > 0.2]
    below = [line for line in axis.lines if line.get_ydata().min() < -0.2]
    assert len(above) == 1 and len(below) == 3
    place = {text.get_text(): text.get_position()[0] for text in axis.texts}
    assert sorted([above[0].get_xdata().min(), above[0].get_xdata().max()]) == pytest.approx([place["man"], place["sleeps"]])
    assert sorted(line.get_linewidth() - 0.4 for line in below) == pytest.approx([4.5 * w for w in (0.25, 0.25, 0.5)])
    assert [line.get_color() == MODELS[1] for line in below] == [False, True, False]
