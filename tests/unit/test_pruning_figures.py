"""Figures of pruning: what they show, on random tables of several shapes."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb

from helpers import drawing
from helpers.methods import l0
from helpers.methods.l0 import figures
from helpers.methods.l0.gates import HardConcrete
from helpers.study import StudyError
from tests.unit.drawn import band, colour_of, intervals, levels, marked, table, ticks, whole

POINTS = "model method heads total bleu low high"
NAN = np.nan


def trace(shape, steps=7, seed=0, stride=10):
    rows = [(kind, layer, head) for kind, layers in shape.items() for layer, n in enumerate(layers) for head in range(n)]
    columns = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = np.random.default_rng(seed).uniform(0, 1, (steps, len(rows)))
    return pd.DataFrame(values, stride * np.arange(steps), columns)


def test_bleu_against_retained_heads():
    rows = [
        ("m", "start", 24, 24, 49.4, NAN, NAN), ("m", "no encoder attention", 0, 24, 30.0, 29.0, 31.0),
        ("m", "further training", 24, 24, 50.0, 49.5, 50.5),
        *(("m", "L0", heads, 24, bleu, bleu - 0.4, bleu + 0.5) for heads, bleu in ((24, 49.75), (3, 49.0), (1, 44.0))),
    ]  # fmt: skip
    figure = whole(figures.pruning_curves(table(POINTS, *rows)))
    (axis,) = figure.axes
    assert axis.get_xlim()[0] > 24 > 0 > axis.get_xlim()[1]  # all heads at the left
    blue = colour_of(figure, "L0")
    assert marked(axis, blue) == [(1, 44), (3, 49), (24, 49.75)] and intervals(axis, 1)[blue][44.0] == (43.6, 44.5)
    assert marked(axis, colour_of(figure, "further training")) == [(24, 50)]
    assert sorted(levels(axis)) == [30.0, 49.4, 49.75, 50.0]  # floor, start, what the paper accepts to lose, control


def test_kinds_stand_beside_the_printed_ones():
    printed = l0.tables.printed_by_kind()
    figure = whole(figures.kept_by_kind(pd.concat([printed.assign(model="ours"), printed])))
    ours, _, subtitles, _ = figure.axes
    encoder = to_rgb(drawing.MODELS[0])
    assert {"encoder", "decoder", "cross"} == {text.get_text() for text in ours.texts} and not subtitles.texts
    wanted = [(100 * a / 144, 100 * k / 48) for a, k in ((28, 6), (61, 13), (104, 27))]
    assert marked(subtitles, encoder, hollow=True) == wanted and set(wanted) < set(marked(ours, encoder))


def test_texts_are_named_where_their_curves_end_and_the_paper_at_its_marks():
    change, row = figures.CHANGE, "panel series kept value low high unit".split()
    losses = {"EN-RU": (0.1, 3.0, 1.2), "natural, Europarl": (0.1, 3.0, 8.0)}
    rows = [
        (change, name, kept, -loss, -loss - 0.1, -loss + 0.1, change)
        for name, own in losses.items() for kept, loss in zip((90, 20, 0), own, strict=True)
    ]  # fmt: skip
    rows += [(change, "printed, EN-RU WMT", 21, -0.15, NAN, NAN, change)]
    rows += [(panel, "EN-RU", 50, 90, 80, 95, panel) for panel in (figures.OF_REMOVAL, figures.OF_NEVER)]
    figure = whole(figures.beside_other_texts(pd.DataFrame(rows, columns=row)))
    left, removal, right = figure.axes
    told = [text.get_text() for text in left.texts]
    assert sorted(told) == ["EN-RU", "Europarl\n(natural)", "band: 0.25 BLEU", "half gone", "paper, WMT"]
    assert right.get_title().startswith("How much of the gain") and right.texts[0].get_text().startswith("no better")
    assert removal.texts[0].get_text() == "EN-RU" and 0 in levels(left)


def test_pruned_models_stand_beside_their_maps_from_scratch():
    index = pd.MultiIndex.from_tuples([("scratch 1", "test")], names=["run", "test set"])
    gap = pd.DataFrame({"change": [-1.0], "low": -2.0, "high": -0.5}, index)
    points = l0.tables.pruned_minus_scratch({"x": pd.DataFrame({"heads": 4, "total": 8}, index)}, {"x": gap})
    assert points[points.series == "x"][["kept", "value", "low"]].values.tolist() == [[50, -1, -2]]
    printed = points[points.series.str.startswith("printed")].value
    assert (round(printed.min(), 2), round(printed.max(), 2), len(printed)) == (0.01, 0.5, 7)
    assert 0 in levels(whole(figures.pruned_minus_scratch(points)).axes[0])


def test_functions_that_are_left_stand_beside_chance():
    rows = [("m", 4, 8, 3, 3, 1.5), ("m", 2, 8, 3, 0, 0.75), ("few", 4, 8, 2, 2, 1.0)]
    (axis,) = whole(figures.functions_left(table("model heads of had stay expected", *rows))).axes
    assert marked(axis, colour_of(axis.figure, "heads with a function")) == [(0, 100), (1, 0)]
    (chance,) = axis.collections
    bars = [(round(bar.get_y()), round(bar.get_height())) for bar in axis.patches]
    assert bars == [(0, 100), (0, 67)]  # 95 % of draws: 0 to 3, and 0 to 2, of 3
    assert [segment[0, 1] for segment in chance.get_segments()] == [50, 25] and ticks(axis, "x") == ["4", "2"]
    assert [text.get_text() for text in axis.texts] == ["3/3", "0/3"]
    assert axis.figure.get_suptitle() == "few has only 2 such heads: not drawn"
    (empty,) = whole(figures.functions_left(table("model heads of had stay expected", rows[-1]))).axes
    assert empty.get_title() == "few: 2 heads" and not (empty.patches or empty.lines)


def test_methods_at_equal_heads():
    rows = [("one-shot", "all heads", 48, 60.0, 59.0, 61.0)]
    for heads in (12, 6):
        values = [("L0", heads / 10), *(("random", float(heads + draw)) for draw in range(41))]
        values += [(f"a measure of heads with a long name, {n}", heads + 0.5) for n in range(7)]  # whose names need room
        rows += [("one-shot", name, heads, value, value - 1.0, value + 2.0) for name, value in values]
    (axis,) = whole(figures.methods_at_equal_heads(table("panel method heads value low high", *rows))).axes
    assert intervals(axis, 1)[to_rgb(drawing.MODELS[0])] == {0.6: (-0.4, 2.6), 1.2: (0.2, 3.2)} and levels(axis) == [60.0]
    grey = to_rgb("#BBBBBB")
    assert band(axis, grey, 6) == (6, 46) and band(axis, grey, 12) == (12, 52)  # from the least to the largest
    names = {text.get_text(): text.get_position()[1] for text in axis.texts}
    assert {"L0", "random, range of 41 draws", "all heads (60.0)"} < set(names) and len(names) == 10
    gaps = -np.diff(sorted(names.values(), reverse=True))
    assert gaps.min() >= 1.2 * 7.5 / 72 * axis.figure.dpi / axis.bbox.height * np.ptp(axis.get_ylim()) * 0.98


def test_gates_close():
    shape = {"encoder": [6, 3, 8], "decoder": [2], "cross": [2]}
    traces = {0.01: trace(shape), 0.5: trace(shape, seed=1)}
    panels = whole(figures.gate_closing(traces, kept={0.01: 1, 0.5: 0}, steps=3)).axes[:-1]
    for axis, (value, step) in zip(panels, [(v, s) for v in (0.01, 0.5) for s in (20, 40, 60)], strict=True):
        cells, *frames = axis.collections
        stay = int((traces[value].loc[step] < figures._CLOSED).sum())
        assert [len(one.get_paths()) for one in frames] == ([stay] if step == 60 else [])  # in the end those that stay
        corners = [tuple(path.vertices.min(0).round(6)) for path in cells.get_paths()]  # lower left ones
        shown = dict(zip(corners, cells.get_array(), strict=True))
        assert len(shown) == 21 and cells.get_clim() == (0, 1)  # a head that is not there is no open gate
        left = 0
        for kind, layers in shape.items():
            for layer, number in enumerate(layers):
                for head in range(number):
                    assert shown[left + head, layer] == traces[value].loc[step, (kind, layer, head)]
            left += max(layers) + 1  # a gap
    animation = figures.gate_closing_animation(traces, frames=3)
    for axis, gates in zip(animation._fig.axes, traces.values(), strict=False):
        animation._func(60)
        np.testing.assert_array_equal(axis.collections[0].get_array(), gates.loc[60])


def test_a_gate_is_kept_by_the_papers_rule():
    """P(open) = P(closed) where P(closed) = 0.312."""
    gates = pd.DataFrame({("encoder", 0, 0): [0.1, 0.31], ("encoder", 0, 1): [0.9, 0.32]}, [0, 5])
    figure = figures.gate_closing({0.02: gates})
    assert figure.axes[0].get_title(loc="left") == "λ = 0.02, 1 of 2 left"
    assert ticks(figure.axes[-1], "y") == ["open", "undecided", "closed"]
    colours = figure.axes[0].collections[0].to_rgba([0.04, 0.06, 0.94, 0.96])
    assert (colours[1] == colours[2]).all() and (colours[0] > colours[1])[:3].all() and (colours[2] > colours[3])[:3].all()


def test_hard_concrete_shows_all_its_mass():
    gates = [HardConcrete(torch.tensor(a, requires_grad=True), t) for a, t in ((0.0, 0.5), (-3.0, 0.5), (2.0, 0.33))]
    figure = whole(figures.hard_concrete(gates))
    densities, masses = figure.axes[:3], figure.axes[3:]
    assert [text.get_text() for text in masses[0].texts] == ["0.23", "0.23"]  # the paper's Fig. 6
    for axis, other, gate in zip(densities, masses, gates, strict=True):
        bars = {line.get_xdata()[0]: float(line.get_ydata()[0]) for line in other.lines if line.get_marker() == "o"}
        assert bars == pytest.approx({0: float(gate.p_closed().detach()), 1: float(gate.p_full().detach())})
        inside = np.trapezoid(*reversed(axis.lines[0].get_data()))
        assert inside + sum(bars.values()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: figures.pruning_curves(table(POINTS).drop(columns="high")), "'high'"),
    (lambda: figures.functions_left(pd.DataFrame()), "'model'"),
    (lambda: figures.gate_closing({}), "trace"),
])  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()
