"""Figures: what they show, on small tables; others are drawn again from committed tables, byte for byte (test_layout)."""

import warnings

import numpy as np
import pandas as pd
import torch

from helpers import drawing, plots
from helpers.methods.l0 import HardConcrete

NAN = np.nan


def whole(figure):
    """Draw it: the layout works (else there is a warning), and it fits its page."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    assert figure.get_figwidth() <= drawing.WIDTH + 0.01 and figure.get_figheight() <= 9.01  # a page's text, less a caption
    assert figure.get_tightbbox().width + 2 * drawing.STYLE["savefig.pad_inches"] <= drawing.WIDTH + 0.01  # as saved
    return figure.axes


def ticks(axis, along="y"):
    return [text.get_text() for text in getattr(axis, f"get_{along}ticklabels")()]


def test_cases_ten_points_above_the_guess_have_a_frame():
    rows = [("a", "nsubj", 0.5, 0.4, 0.05, 0.2), ("a", "dobj", 0.6, 0.4, 0.15, 0.25), ("b", "dobj", 0.4, 0.4, NAN, NAN)]
    frame = pd.DataFrame(rows, columns=["model", "relation", "accuracy", "baseline", "gain_low", "gain_high"])
    axis = whole(plots.gains(frame.assign(direction="dependent to head")))[0]
    assert [text.get_text() for text in axis.texts] == ["50 / 40 ?", "60 / 40", "40 / 40"]
    assert [(round(box.get_x() + 0.47), round(box.get_y() + 0.43)) for box in axis.patches] == [(3, 0)]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a: 1 of 2", "b: 0 of 1"]


def test_cells_of_a_heat_map_have_their_sign():
    frame = pd.DataFrame([("a", "b", 1.0, "o"), ("a", "c", 0.5, ""), ("b", "c", 1.0, "x")], columns=["y", "x", "value", "sign"])
    axis = whole(plots.heat_map(frame, "x", "y", "value", mark="sign"))[0]
    drawn = {line.get_marker(): (list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines}
    assert drawn == {"o": ([0], [0]), "x": ([1], [1])}


def test_gates_that_end_above_zero_are_black():
    at = torch.linspace(-3, 3, 7)
    gates, traces = HardConcrete(at), {0.1: torch.tensor([[1.0, 1.0, 1.0], [-1.0, 2.0, 3.0]])}
    _, axis = whole(plots.gates(at, gates.p_closed(), gates.p_full(), traces))
    assert axis.get_title() == "price 0.1:\n2 gates stay (black)"
    assert [line.get_color() for line in axis.lines] == ["#AAAAAA", "black", "black"]
