"""Figures of pruning: what they show, on random tables of several shapes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from PIL import Image

from helpers import drawing, study
from helpers.methods.l0 import figures
from helpers.methods.l0.gates import HardConcrete
from helpers.study import StudyError
from tests.unit.drawn import band, colour_of, drawn, intervals, legend, levels, marked, table, ticks, titles, whole

POINTS = "model method heads total bleu low high"
NAN = np.nan
LAPTOP = {"encoder": [8, 8, 8]}


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


def trace(shape, steps=7, seed=0, stride=10):
    rows = [(kind, layer, head) for kind, layers in shape.items() for layer, n in enumerate(layers) for head in range(n)]
    columns = pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])
    values = np.random.default_rng(seed).uniform(0, 1, (steps, len(rows)))
    return pd.DataFrame(values, stride * np.arange(steps), columns)


# -------------------- BLEU and heads


def curves(model="EN-RU", total=24, bleu=50.0):
    losses = ((total, 0.1), (total // 2, 0.2), (3, 1.0), (1, 6.0))
    return [
        (model, "start", total, total, bleu - 0.6, NAN, NAN), (model, "no encoder attention", 0, total, 30.0, 29.0, 31.0),
        (model, "further training", total, total, bleu, bleu - 0.5, bleu + 0.5),
        *((model, "L0", heads, total, bleu - loss, bleu - loss - 0.4, bleu - loss + 0.5) for heads, loss in losses),
    ]  # fmt: skip


def test_bleu_against_retained_heads():
    figure = figures.pruning_curves(table(POINTS, *curves(), *curves("EN-DE", 48, 40.0)))
    assert titles(figure) == ["EN-RU", "EN-DE"]
    assert legend(figure) == ["L0", "further training", "start", "no encoder attention", "further training − 0.25 BLEU"]
    for axis, total, top in zip(figure.axes, (24, 48), (50.0, 40.0), strict=True):
        assert axis.get_xlim()[0] > total > 0 > axis.get_xlim()[1]
        points = [(1, top - 6), (3, top - 1), (total // 2, top - 0.2), (total, top - 0.1)]
        blue, control = colour_of(figure, "L0"), colour_of(figure, "further training")
        np.testing.assert_allclose(marked(axis, blue), points)
        np.testing.assert_allclose(drawn(axis, blue)[0].T, points)
        assert intervals(axis, 1)[blue][top - 6] == (top - 6.4, top - 5.5)
        assert marked(axis, control) == [(total, top)] and marked(axis, colour_of(figure, "start")) == [(total, top - 0.6)]
        assert sorted(levels(axis)) == [30.0, top - 0.6, top - 0.25, top]
        (shown,) = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
        assert (shown.get_y(), shown.get_height()) == (top - 0.5, 1.0)


def test_seeds_are_all_drawn_and_others_are_curves():
    rows = [("m", "L0", 9, 24, 20.0, NAN, NAN), ("m", "L0", 9, 24, 22.0, NAN, NAN), ("m", "L0", 24, 24, 25.0, NAN, NAN)]
    figure = figures.pruning_curves(table(POINTS, *rows, ("m", "gradual", 9, 24, 18.0, 17.0, 19.0)), unit="change in BLEU")
    assert legend(figure) == ["L0", "gradual"]  # nothing that is not there
    (axis,) = figure.axes
    assert marked(axis, colour_of(figure, "L0")) == [(9, 20), (9, 22), (24, 25)] and axis.get_ylabel() == "change in BLEU"
    np.testing.assert_array_equal(drawn(axis, colour_of(figure, "L0")), [[[9, 24], [21, 25]]])  # through the mean
    assert marked(axis, colour_of(figure, "gradual")) == [(9, 18)]


@pytest.mark.parametrize("methods", [1, 9])
def test_methods_at_equal_heads(methods):
    names, rows = [f"method {n}" for n in range(methods - 1)] + ["random"], []
    for panel, unit in (("one-shot", "dev loss"), ("further training", "BLEU")):
        for heads in (12, 6):
            values = [(name, n + heads / 10) for n, name in enumerate(names[:-1])]
            values += [("random", float(heads + draw)) for draw in range(41)]
            rows += [(panel, name, heads, value, value - 1.0, value + 2.0, unit) for name, value in values]
    figure = figures.methods_at_equal_heads(table("panel method heads value low high unit", *rows))
    assert legend(figure) == names and titles(figure) == ["one-shot", "further training"]
    assert [axis.get_ylabel() for axis in figure.axes] == ["dev loss", "BLEU"]
    for axis in figure.axes:
        assert axis.get_xlim()[0] > axis.get_xlim()[1]
        for n, name in enumerate(names[:-1]):
            np.testing.assert_allclose(marked(axis, colour_of(figure, name)), [(6, n + 0.6), (12, n + 1.2)])
            assert intervals(axis, 1)[colour_of(figure, name)][n + 1.2] == pytest.approx((n + 0.2, n + 3.2))
        random = colour_of(figure, "random")
        assert marked(axis, random) == [(6, 26), (12, 32)]  # means of draws
        assert band(axis, random, 6) == (7, 45) and band(axis, random, 12) == (13, 51)  # 95 % of 41: one left out at each end


# -------------------- what is kept


def columns(axis):
    """Heights of stacked columns by colour and place, without empty parts."""
    heights = {}
    for patch in axis.patches:
        if patch.get_height():
            place = round(patch.get_x() + patch.get_width() / 2)
            heights.setdefault(to_rgb(patch.get_facecolor()), {})[place] = (patch.get_height(), patch.get_y())
    return heights


def test_functions_of_retained_heads():
    roles = [["nsubj", "rare"], [], ["nsubj", "nsubj", "amod"], ["positional", "amod", "rare"]]
    functions = {"EN-RU": [(1, [["rare"]]), (4, roles), (0, [])], "EN-DE": [(4, [[]] * 4), (2, [["nsubj"]] * 2)]}
    figure = figures.retained_functions(functions, {"EN-RU": 24, "EN-DE": 48})
    first, second = figure.axes
    assert ticks(first, "x") == ["4", "1", "0"]  # most at the left
    assert [axis.get_ylim() for axis in figure.axes] == [(0, 24), (0, 48)]
    shown, colour = columns(first), {name: to_rgb(value) for name, value in drawing.COLOURS.items()}
    expected = {"positional": 1 / 3, "nsubj": 1, "amod": 0.5 + 1 / 3, "rare": 0.5 + 1 / 3, "none": 1}
    assert {name: shown[colour[name]][0][0] for name in expected} == pytest.approx(expected)
    assert sum(places[0][0] for places in shown.values() if 0 in places) == pytest.approx(4)  # a column is all its heads
    assert columns(second) == {colour["none"]: {0: (4, 0)}, colour["nsubj"]: {1: (2, 0)}}
    assert legend(figure) == ["positional", "nsubj", "amod", "rare", "none"]


def test_shares_of_kinds():
    frame = pd.DataFrame({
        "model": ["a", "a", "b"], "total_kept": [10, 36, 20], "total": [40, 40, 28], "encoder": [6, 18, 12],
        "encoder_total": 24, "decoder": [2, 6, 0], "decoder_total": [8, 8, 0], "cross": [4, 8, 0], "cross_total": [8, 8, 4],
    })  # fmt: skip
    figure = figures.kept_by_kind(frame)
    assert legend(figure) == ["encoder self", "decoder self", "decoder-encoder", "equal share"]
    first, second = figure.axes
    assert first.get_xlim()[0] > first.get_xlim()[1] and first.get_ylim()[0] < first.get_ylim()[1]
    assert marked(first, colour_of(figure, "encoder self")) == [(25, 25), (90, 75)]
    assert marked(first, colour_of(figure, "decoder self")) == [(25, 25), (90, 75)]
    assert marked(first, colour_of(figure, "decoder-encoder")) == [(25, 50), (90, 100)]
    assert marked(second, colour_of(figure, "decoder self")) == []  # it has none
    figure = figures.kept_by_kind(frame.drop(columns=["decoder", "decoder_total"]))
    assert legend(figure) == ["encoder self", "decoder-encoder", "equal share"]


@pytest.mark.parametrize(
    ("layers", "names"),
    [(3, ["layer 1", "layer 2", "layer 3"]), (7, ["layers 1 and 2", "layers 3 and 4", "layers 5 and 6", "layer 7"])],
)
def test_heads_kept_by_layer(layers, names):
    rows = {
        (model, total, kind, layer): (layer + 1) * (total // 10) + (kind == "cross")
        for model in ("a", "b") for total in (10, 20) for kind in ("decoder", "cross") for layer in range(layers)
    }  # fmt: skip
    kept = pd.Series(rows, name="kept").rename_axis(["model", "total_kept", "kind", "layer"]).to_frame()
    figure = figures.kept_by_layer(pd.concat([kept, kept + 2]))  # two seeds
    assert legend(figure) == names
    for axis in figure.axes[:2]:
        kind, shown = ("decoder", "cross")[axis is figure.axes[1]], columns(axis)
        assert ticks(axis, "x") == ["20", "10"]
        for n, name in enumerate(names):
            group = range(n * 2, min(n * 2 + 2, layers)) if layers >= 6 else [n]
            for place, total in enumerate((20, 10)):
                expected = sum(rows["a", total, kind, layer] + 1 for layer in group)  # the mean of the seeds
                assert shown[colour_of(figure, name)][place][0] == expected


# -------------------- gates


def cell_values(axis):
    """Value of each cell by the place of its lower left corner."""
    (cells,) = axis.collections
    corners = [tuple(path.vertices.min(0).round(6)) for path in cells.get_paths()]
    return dict(zip(corners, cells.get_array(), strict=True))


def test_gates_close():
    shape = {"encoder": [6, 3, 8], "decoder": [2], "cross": [2]}
    gates = pd.DataFrame({("encoder", 0, 0): [0.1, 0.2, 0.31], ("encoder", 0, 1): [0.1, 0.9, 0.32]}, [0, 5, 8])
    traces = {0.01: trace(shape), 0.5: trace(shape, seed=1)}
    figure = whole(figures.gate_closing(traces, kept={0.01: 1, 0.5: 0}, steps=3))
    panels = figure.axes[:-1]
    titles = [axis.get_title(loc="left") for axis in panels]
    assert titles == ["λ = 0.01, 1 of 21 kept", "", "", "λ = 0.5, 0 of 21 kept", "", ""]
    for axis, (value, step) in zip(panels, [(v, s) for v in (0.01, 0.5) for s in (0, 30, 60)], strict=True):
        shown = cell_values(axis)
        assert len(shown) == 21 and axis.collections[0].get_clim() == (0, 1)  # a head that is not there is no open gate
        left = 0
        for kind, layers in shape.items():
            for layer, number in enumerate(layers):
                for head in range(number):
                    assert shown[left + head, layer] == traces[value].loc[step, (kind, layer, head)]
            left += max(layers) + 1  # a gap
    # the paper's rule keeps one of two gates: P(open) = P(closed) where P(closed) = 0.312
    alone = figures.gate_closing({0.02: gates}, steps=10)
    assert [axis.get_xlabel() for axis in alone.axes[:-1]] == ["step 0", "step 5", "step 8"]
    assert alone.axes[0].get_title(loc="left") == "λ = 0.02, 1 of 2 kept"


def test_paths_of_gates():
    gates = trace({"encoder": [2, 2], "cross": [1]}, steps=1000, stride=1)
    gates.iloc[-1] = [0.05, 0.95, 0.06, 0.5, 0.999]
    figure = whole(figures.gate_paths({0.01: gates, 0.1: gates.iloc[:1]}))
    first, second = figure.axes
    assert legend(figure) == ["layer 1", "layer 2", "encoder self", "decoder-encoder"]
    assert [text.get_text() for text in first.texts] == ["2 undecided"] and first.get_title() == "λ = 0.01, 2 of 5 kept"
    paths = [line for line in first.lines if len(line.get_xdata()) > 2]
    assert [len(line.get_xdata()) for line in paths] == [300] * 5  # thinned
    assert [to_rgb(line.get_color()) for line in paths] == [colour_of(figure, f"layer {n}") for n in (1, 1, 2, 2, 1)]
    assert [line.get_ydata()[-1] for line in paths] == [0.05, 0.95, 0.06, 0.5, 0.999]
    assert [line.get_marker() for line in second.lines if len(line.get_xdata()) == 1] == ["."] * 5


def test_animation_is_small_and_kept_with_a_sidecar(tmp_path, monkeypatch):
    monkeypatch.setattr("IPython.display.display", lambda shown: None)
    traces = {value: trace(LAPTOP, steps=200, seed=n) for n, value in enumerate((0.01, 0.02, 0.1, 0.5))}
    animation = figures.gate_closing_animation(traces, frames=3)
    figure = animation._fig
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path)})
    run.animation(animation, "gates", split="dev")
    file = run.chapter.picture("gates", "gif")
    with Image.open(file) as picture:
        assert picture.n_frames == 3 and file.stat().st_size < 400_000
    assert study.read_json(run.chapter.sidecar("gates"))["split"] == "dev"
    for axis, gates in zip(figure.axes, traces.values(), strict=False):  # the last frame is the end of training
        np.testing.assert_array_equal(axis.collections[0].get_array(), gates.iloc[-1])


# -------------------- the distribution, training


def test_hard_concrete_shows_all_its_mass():
    gates = [HardConcrete(torch.tensor(a, requires_grad=True), t) for a, t in ((0.0, 0.5), (-3.0, 0.5), (2.0, 0.33))]
    figure = whole(figures.hard_concrete(gates))
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.23", "0.23"]  # the paper's Fig. 6
    for axis, gate in zip(figure.axes, gates, strict=True):
        bars = {round(bar.get_x() + bar.get_width() / 2, 6): bar.get_height() for bar in axis.patches}
        assert bars == pytest.approx({0: float(gate.p_closed().detach()), 1: float(gate.p_full().detach())})
        (line,) = axis.lines
        inside = np.trapezoid(line.get_ydata(), line.get_xdata())
        assert inside + sum(bars.values()) == pytest.approx(1, abs=0.02)
    asked = []
    box = figures.hard_concrete_slider(lambda *at: asked.append(at) or HardConcrete(torch.tensor(at[0]), at[1]))
    where, heat, picture = box.children
    pictures = {bytes(picture.value)}
    for slider, value in ((where, 2.5), (heat, 0.8)):
        slider.value = value
        pictures.add(bytes(picture.value))
    assert asked == [(0, 0.33), (2.5, 0.33), (2.5, 0.8)] and len(pictures) == 3


def test_learning_curves():
    first = pd.DataFrame({"step": range(0, 60, 10), "dev_loss": 3.0, "heads": 24})
    curves = {f"method {n}": first.add([0, n, -n]) for n in range(4)}
    figure = drawing.learning_curves(curves)
    above, below = figure.axes
    assert sorted(legend(figure)) == sorted(curves) and above.get_xlim() == below.get_xlim()
    for name, curve in curves.items():
        assert marked(above, colour_of(figure, name)) == [*zip(curve.step, curve.dev_loss, strict=True)]
        assert marked(below, colour_of(figure, name)) == [*zip(curve.step, curve.heads, strict=True)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.pruning_curves(table(POINTS).drop(columns="high")), "'high'"),
        (lambda: figures.pruning_curves(table(POINTS)), "no rows"),
        (lambda: figures.kept_by_kind(pd.DataFrame({"model": ["a"], "cross": [1], "total_kept": [1], "total": [2]})),
         "'cross_total'"),
        (lambda: figures.retained_functions({"a": [(2, [["rare"]])]}, {"a": 4}), "2 heads"),
        (lambda: figures.retained_functions({"a": [(1, [["verb"]])]}, {"a": 4}), "'verb'"),
        (lambda: figures.gate_paths({0.1: trace(LAPTOP).iloc[:0]}), "trace"),
        (lambda: figures.gate_closing({}), "trace"),
        (lambda: drawing.learning_curves({"a": pd.DataFrame({"step": [1], "dev_loss": [2.0]})}), "column"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()


# -------------------- bad input
