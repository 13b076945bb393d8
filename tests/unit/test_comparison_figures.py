"""Figures that lay measures and criteria side by side: what they show, on small tables."""

from __future__ import annotations

import itertools
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from helpers import drawing
from helpers.measures.functions import DIRECTIONS, LABELS
from helpers.measures.ranks import within_layer_ranks
from helpers.methods.contest import figures
from helpers.study import StudyError

NAN = np.nan
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(autouse=True)
def closed():
    drawing.style()
    yield
    plt.close("all")


def draw(figure):
    """Draw it whole; a layout that does not fit is a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()


def table(columns, *rows):
    return pd.DataFrame(rows, columns=columns.split())


def named(number):
    return [f"measure {n}" for n in range(number)]


def ticks(axis, along="y"):
    return [text.get_text() for text in getattr(axis, f"get_{along}ticklabels")()]


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def whole(figure):
    """Nothing is cut off, panels and legends do not lie on each other, and the figure fits on a page."""
    draw(figure)
    width, height = figure.get_size_inches() * figure.dpi
    assert figure.get_figwidth() <= drawing.WIDTH + 0.01
    boxes = [axis.get_tightbbox() for axis in figure.axes if axis.axison] + [one.get_window_extent() for one in figure.legends]
    for box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -2
    for one, other in itertools.combinations(boxes, 2):
        overlap = [
            min(getattr(one, b), getattr(other, b)) - max(getattr(one, a), getattr(other, a))
            for a, b in ("x0 x1".split(), "y0 y1".split())
        ]
        assert min(overlap) < 3
    for axis in figure.axes:
        labels = [text.get_window_extent() for text in axis.get_yticklabels() if text.get_text()]
        for one, other in itertools.pairwise(sorted(labels, key=lambda box: box.y0)):
            assert one.y1 <= other.y0 + 1.5 or one.x1 <= other.x0 or other.x1 <= one.x0


def bars(axis):
    """{(x, y): ends along x} of all dots with horizontal intervals."""
    found = {}
    for box in axis.containers:
        segments = box.lines[2][0].get_segments() if box.lines[2] else []
        for x, y, segment in zip(*box.lines[0].get_data(), segments, strict=True):
            found[round(float(x), 6), round(float(y), 6)] = tuple(np.round(segment[:, 0], 6)) if len(segment) else None
    return found


# -------------------- agreement

PAIRS = "one other rho low high models"


def pairs(number, models=4):
    rng = np.random.default_rng(number)
    rows = [
        (*pair, rho := rng.uniform(-0.9, 0.9), rho - 0.1, rho + 0.1, models)
        for pair in itertools.combinations(named(number), 2)
    ]
    return table(PAIRS, *rows)


def both_ways():
    frame = pairs(2)
    return pd.concat([frame, frame.rename(columns={"one": "other", "other": "one"})])


def test_the_lower_triangle_holds_each_pair_once():
    frame = table(
        PAIRS, ("a", "b", 0.25, 0.1, 0.4, 3), ("c", "a", -0.5, NAN, NAN, 2), ("b", "c", -0.001, -0.2, 0.2, 3),
        ("c", "c", 1, 1, 1, 3),
    )  # fmt: skip
    figure = figures.agreement_matrix({"cross": frame, "encoder": frame.iloc[:1]})
    encoder, cross, bar = figure.axes
    assert [axis.get_title(loc="right") for axis in (encoder, cross)] == [
        "encoder self (3 models)",
        "decoder-encoder (2 to 3 models)",
    ]
    columns = {text.get_text(): text.get_position() for text in cross.texts if text.get_gid() == "column"}
    assert ticks(cross) == ["b", "c"] and list(columns) == ["a", "b"]
    assert [(round(x + 0.45), round(y)) for x, y in columns.values()] == [(0, -1), (1, 0)]  # on top of their columns
    np.testing.assert_array_equal(np.ma.filled(cross.images[0].get_array(), NAN), [[0.25, NAN], [-0.5, -0.001]])
    assert cross.images[0].get_clim() == (-1, 1)
    said = {tuple(map(round, text.get_position())): text.get_text() for text in cross.texts if text.get_gid() is None}
    assert said == {(0, 0): ".25", (0, 1): "-.50", (1, 1): ".00"}
    ends = [line.get_xdata() for line in cross.lines if line.get_ydata()[0] == line.get_ydata()[1]]  # -1 and 1: 0.45 away
    np.testing.assert_allclose(ends, [[0.45 * 0.1, 0.45 * 0.4], [1 - 0.45 * 0.2, 1 + 0.45 * 0.2]])
    assert "95 %" in bar.get_xlabel()
    whole(figure)


@pytest.mark.parametrize("number, kinds", [(2, 1), (3, 3), (7, 2), (16, 1), (16, 3)])
def test_matrices_of_many_sizes_fit(number, kinds):
    figure = figures.agreement_matrix({kind: pairs(number) for kind in KINDS[:kinds]})
    whole(figure)
    width, height = figure.get_size_inches()
    assert width <= 6.9 + 1e-9 and height <= 9 + 1e-9
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= 7
    for axis in figure.axes[:kinds]:
        (image,), inverse = axis.images, axis.transData.inverted()
        assert (~np.ma.getmaskarray(np.ma.masked_invalid(image.get_array()))).sum() == number * (number - 1) / 2
        for text in (one for one in axis.texts if one.get_gid() is None):  # words stay in their cells
            (left, top), (right, bottom) = inverse.transform(text.get_window_extent().get_points())
            assert right - left < 1.02 and abs(top - bottom) < 0.75


def test_words_can_be_read_on_their_cells():
    frame = table(PAIRS, ("a", "b", 0.95, NAN, NAN, 1), ("a", "c", 0.05, NAN, NAN, 1), ("b", "c", -0.95, NAN, NAN, 1))
    axis = figures.agreement_matrix({"decoder": frame}).axes[0]
    assert axis.get_title(loc="right") == "decoder self (1 model)"
    assert {text.get_text(): text.get_color() for text in axis.texts if text.get_gid() is None} == {
        ".95": "white", ".05": "black", "-.95": "white",
    }  # fmt: skip


# -------------------- predictors and stability

PREDICTS = "kind truth measure rho low high models cost"


def test_predictors_are_sorted_and_cheap_ones_marked():
    frame = table(
        PREDICTS, ("encoder", "loss", "low", -0.2, -0.4, 0.1, 4, 3.0), ("encoder", "loss", "high", 0.8, 0.5, 0.9, 4, 90.0),
        ("encoder", "loss", "middle", 0.4, NAN, NAN, 4, NAN), ("cross", "loss", "high", 0.6, 0.4, 0.7, 2, 90.0),
        ("encoder", "kept", "middle", 0.3, 0.2, 0.4, 3, NAN),
    )  # fmt: skip
    figure = figures.predictors(frame)
    whole(figure)
    loss, loss_cross, kept, kept_cross = figure.axes
    assert [axis.get_ylabel() for axis in figure.axes] == ["loss", "", "kept", ""]
    assert loss.get_title() == "encoder self\n(4 models)" and kept_cross.get_title() == "decoder-encoder"
    assert ticks(loss) == ticks(kept) == ["high (1.5 min)", "middle", "low (3 s)"]
    assert loss.get_ylim()[0] > loss.get_ylim()[1]  # the best at the top
    found = bars(loss)
    assert found[0.8, 0] == (0.5, 0.9) and found[-0.2, 2] == (-0.4, 0.1) and (0.4, 1) in found
    assert list(bars(loss_cross)) == [(0.6, 0)] and list(bars(kept)) == [(0.3, 1)] and not bars(kept_cross)
    assert all(any(list(line.get_xdata()) == [0, 0] for line in axis.lines) for axis in figure.axes)
    green, blue = figure.legends[0].legend_handles
    marked = {
        (round(x, 2), line.get_marker()): line.get_color()
        for box in loss.containers
        for line in box.lines[:1]
        for x in line.get_xdata()
    }
    assert marked == {(-0.2, "D"): green.get_color(), (0.8, "o"): blue.get_color(), (0.4, "o"): blue.get_color()}
    assert texts(figure.legends[0])[0] == "cost: at most 10 % of the dearest"


@pytest.mark.parametrize(
    "cost, per, said",
    [
        (0.25, "", "0.25 s"),
        (42.4, "", "42 s"),
        (200, "", "3.3 min"),
        (9000, "", "2.5 h"),
        (0.25, "x", "0.25×"),
        (31.7, "x", "32×"),
    ],
)
def test_costs_are_said_in_short(cost, per, said):
    frame = table(PREDICTS, ("encoder", "loss", "a", 0.1, 0.0, 0.2, 1, cost), ("encoder", "loss", "b", 0.0, 0.0, 0.2, 1, 1e6))
    figure = figures.predictors(frame, per=per)
    assert ticks(figure.axes[0])[0] == f"a ({said})"
    assert ("(×): times x" in texts(figure.legends[0])) == bool(per)


def test_without_costs_nothing_is_marked():
    frame = table(PREDICTS, ("decoder", "loss", "a", 0.1, 0.0, 0.2, NAN, NAN))
    figure = figures.predictors(frame)
    whole(figure)
    assert not figure.legends and ticks(figure.axes[0]) == ["a"] and figure.axes[0].get_title() == "decoder self"


STABLE = "measure kind compared rho low high"
COMPARED = ("same head after matching by function", "same index", "other sentences", "other corpus")


def test_stability_is_a_group_of_dots_a_measure():
    frame = table(
        STABLE, ("a", "encoder", "same index", 0.1, -0.1, 0.3), ("a", "encoder", "matched", 0.5, 0.4, 0.6),
        ("b", "encoder", "matched", 0.7, NAN, NAN), ("b", "decoder", "same index", -0.4, -0.5, -0.3),
    )  # fmt: skip
    figure = figures.stability(frame)
    whole(figure)
    encoder, decoder = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["encoder self", "decoder self"] and ticks(encoder) == ["a", "b"]
    assert texts(figure.legends[0]) == ["same index", "matched"]
    first, second = (handle.get_color() for handle in figure.legends[0].legend_handles)
    dots = {
        (round(x, 2), round(y)): (line.get_color(), y - round(y))
        for box in encoder.containers for line in box.lines[:1] for x, y in zip(*line.get_data(), strict=True)
    }  # fmt: skip
    assert {place: colour for place, (colour, _) in dots.items()} == {(0.1, 0): first, (0.5, 0): second, (0.7, 1): second}
    assert dots[0.1, 0][1] == -dots[0.5, 0][1] < 0  # side by side around their measure
    assert set(bars(decoder).values()) == {(-0.5, -0.3)} and decoder.get_xlim()[0] < -0.5


@pytest.mark.parametrize("measures, kinds, compared", [(1, 1, 1), (3, 2, 3), (12, 3, 2)])
def test_dots_of_many_measures_fit(measures, kinds, compared):
    rng = np.random.default_rng(0)
    rows = [
        (f"measure of heads {m}", kind, said, rho := rng.uniform(), rho - 0.1, rho + 0.1)
        for m in range(measures) for kind in KINDS[:kinds] for said in COMPARED[:compared]
    ]  # fmt: skip
    figure = figures.stability(table(STABLE, *rows))
    whole(figure)
    assert sum(len(bars(axis)) for axis in figure.axes) == measures * kinds * compared
    frame = pd.DataFrame(rows, columns=STABLE.split()).assign(truth="loss", models=3, cost=np.arange(len(rows)))
    frame = frame.drop_duplicates(["measure", "kind"])
    figure = figures.predictors(pd.concat([frame, frame.assign(truth="kept by L0")]), per="gradient importance")
    whole(figure)
    assert sum(len(bars(axis)) for axis in figure.axes) == 2 * measures * kinds


# -------------------- criteria

CONTEST = "model criterion further heads change low high unit"


def contested(number, models=("EN-RU",), further=(False, True), heads=(8, 4, 0), draws=5):
    rng = np.random.default_rng(number)
    rows = []
    for model, trained, left in itertools.product(models, further, heads):
        rows += [
            (model, name, trained, left, change := rng.normal(-2, 1), change - 1, change + 0.5, "BLEU")
            for name in named(number)
        ]
        rows += [(model, "random", trained, left, change, NAN, NAN, "BLEU") for change in rng.normal(-3, 1, draws)]
    return table(CONTEST, *rows)


def coloured(axis, colour):
    return [line for line in axis.lines if to_hex(line.get_color()) == to_hex(colour)]


def test_few_criteria_share_a_panel():
    frame = contested(2)
    figure = figures.contest(frame)
    whole(figure)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "EN-RU, no further training",
        "EN-RU, with further training",
    ]
    assert texts(figure.legends[0]) == ["measure 0", "measure 1", "random"]
    for axis, further in zip(figure.axes, (False, True), strict=True):
        assert axis.get_ylabel() == "BLEU" and axis.get_xlim()[0] > axis.get_xlim()[1]  # all heads at the left
        bands = {to_rgba(band.get_facecolor()[0])[:3]: band for band in axis.collections}
        for handle, name in zip(figure.legends[0].legend_handles, ("measure 0", "measure 1"), strict=False):
            rows = frame[(frame.criterion == name) & (frame.further == further)].sort_values("heads")
            (line,) = coloured(axis, handle.get_color())
            np.testing.assert_allclose(line.get_data(), rows[["heads", "change"]].to_numpy().T)
            ends = bands[to_rgba(handle.get_color())[:3]].get_paths()[0].get_extents()
            np.testing.assert_allclose([ends.ymin, ends.ymax], [rows.low.min(), rows.high.max()])


def test_random_draws_are_a_dashed_mean_with_a_band():
    frame = contested(1, further=(True,), draws=40)
    (axis,) = figures.contest(frame).axes
    (line,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    draws = frame[frame.criterion == "random"].groupby("heads").change
    np.testing.assert_allclose(line.get_data(), [draws.mean().index, draws.mean()])
    band = axis.collections[0].get_paths()[0].vertices
    for heads in (0, 4, 8):
        ends = band[np.isclose(band[:, 0], heads), 1]
        np.testing.assert_allclose([ends.min(), ends.max()], draws.get_group(heads).quantile([0.025, 0.975]))


@pytest.mark.parametrize("number, models, columns", [(5, 2, 2), (12, 1, 3), (19, 1, 4)])
def test_of_many_criteria_some_are_in_colour_and_the_others_grey(number, models, columns):
    figure = figures.contest(contested(number, [f"EN-{n}" for n in range(models)]))
    whole(figure)
    panels = np.reshape(figure.axes, (2 * models, columns))
    assert [row[0].get_title(loc="left")[-16:] for row in panels] == ["further training"] * 2 * models
    said = [texts(axis.get_legend()) for axis in panels[-1]]
    assert list(itertools.chain(*said)) == named(number) and max(map(len, said)) <= max(4, -(-number // 4))
    looks = [(handle.get_color(), handle.get_marker()) for axis in panels[-1] for handle in axis.get_legend().legend_handles]
    assert len(set(looks)) == number
    for row in panels:
        for axis, names in zip(row, said, strict=True):
            grey = coloured(axis, figures._GREY)
            assert len(grey) == number - len(names) and {line.get_zorder() for line in grey} == {1}
            assert len([line for line in axis.lines if line.get_marker() not in ("None", "")]) == len(names)
            assert len(axis.collections) == len(names) + 1  # bands of these and of random draws alone
    assert texts(figure.legends[0]) == ["random", "criteria of the other columns"]


def test_at_a_single_number_of_heads_dots_stand_side_by_side():
    figure = figures.contest(contested(3, further=(False,), heads=(4,)))
    whole(figure)
    (axis,) = figure.axes
    at = [float(box.lines[0].get_xdata()[0]) for box in axis.containers]
    assert len(set(at)) == 4 and max(abs(x - 4) for x in at) < 0.5 and ticks(axis, "x") == ["4"]


RANKED = "criterion model value low high"


def test_criteria_are_ranked_against_random_draws():
    draws = np.linspace(-4, -2, 41)
    frame = table(
        RANKED, ("a", "EN-RU", -2.5, -3.0, -1.5), ("b", "EN-RU", -1.0, -1.5, 0.0), ("c", "EN-RU", -5.0, NAN, NAN),
        *[("random", "EN-RU", value, NAN, NAN) for value in draws],
        ("a", "EN-DE", 1.0, 0.5, 2.0), ("b", "EN-DE", 3.0, 2.5, 3.5), ("random", "EN-DE", 2.0, 1.5, 2.5),
    )  # fmt: skip
    figure = figures.ranking(frame, "BLEU minus control")
    whole(figure)
    russian, german = figure.axes
    assert (ticks(russian), ticks(german)) == (["b", "a", "c"], ["b", "a"])
    assert russian.get_ylim()[0] > russian.get_ylim()[1] and german.get_xlabel() == "BLEU minus control"
    assert bars(russian)[-1, 0] == (-1.5, 0) and bars(russian)[-2.5, 1] == (-3, -1.5) and (-5, 2) in bars(russian)
    for axis, ends, middle in ((russian, np.quantile(draws, [0.025, 0.975]), -3), (german, (1.5, 2.5), 2)):
        (band,) = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
        np.testing.assert_allclose([band.get_x(), band.get_x() + band.get_width()], ends)
        (line,) = [line for line in axis.lines if line.get_linestyle() == "--"]
        np.testing.assert_allclose(line.get_xdata(), middle)
    hollow = [list(box.lines[0].get_xdata()) for box in russian.containers if box.lines[0].get_markerfacecolor() == "white"]
    assert hollow == [[-2.5]]
    assert len(texts(figure.legends[0])) == 3


@pytest.mark.parametrize("number, models", [(1, 1), (3, 2), (13, 3)])
def test_rankings_of_many_criteria_fit(number, models):
    values = np.random.default_rng(0).normal(size=(number, models))
    rows = [(f"criterion number {n}", f"EN-{m}", v, v - 1, v + 1) for (n, m), v in np.ndenumerate(values)]
    figure = figures.ranking(table(RANKED, *rows))
    whole(figure)
    assert not figure.legends
    for axis, column in zip(figure.axes, values.T, strict=False):
        shown = [value for value, _ in sorted(bars(axis), key=lambda dot: dot[1])]
        np.testing.assert_allclose(shown, np.sort(column)[::-1], atol=1e-6)


# -------------------- one model's heads


def head_table(layers, heads, kinds, columns):
    index = pd.MultiIndex.from_product([kinds, range(layers), range(heads)], names=["kind", "layer", "head"])
    values = np.random.default_rng(0).uniform(size=(len(index), columns))
    return pd.DataFrame(values, index, named(columns)).assign(functions="").sort_index()


@pytest.mark.parametrize("layers, heads, kinds, columns", [(1, 4, 1, 1), (2, 8, 3, 3), (3, 8, 2, 14)])
def test_heads_are_coloured_by_their_rank_in_the_layer(layers, heads, kinds, columns):
    heads_of = head_table(layers, heads, KINDS[:kinds], columns)
    heads_of.iloc[1, 0] = NAN
    figure = figures.head_table_map(heads_of.sample(frac=1, random_state=0), named(columns))
    whole(figure)
    for axis, kind in zip(figure.axes, KINDS[:kinds], strict=False):
        assert axis.get_title() == drawing.KIND_TITLES[kind] and ticks(axis, "x") == named(columns)
        assert [int(word) for word in ticks(axis)] == list(range(1, heads + 1)) * layers
        assert [text.get_text() for text in axis.get_yticklabels(minor=True)] == [f"layer {n + 1}" for n in range(layers)]
        tops = [image.get_extent()[3] for image in axis.images]
        assert tops == sorted(tops) and len(tops) == layers and axis.get_ylim()[0] > axis.get_ylim()[1]  # layer 1 at the top
        for layer, image in enumerate(axis.images):
            expected = heads_of[named(columns)].apply(within_layer_ranks).loc[kind, layer]
            np.testing.assert_allclose(np.ma.filled(image.get_array(), NAN), expected)
            assert image.get_clim() == (0, 1)


def test_functions_stand_at_the_right_of_their_heads():
    heads_of = head_table(2, 4, ["encoder", "cross"], 2)
    heads_of.loc[("encoder", 0, 1), "functions"] = "-1"
    heads_of.loc[("encoder", 1, 3), "functions"] = "; ".join([LABELS["amod", DIRECTIONS[0]], "rare"])
    heads_of.loc[("cross", 0, 0), "functions"] = NAN
    figure = figures.head_table_map(heads_of, named(2))
    whole(figure)
    encoder, cross = figure.axes[:2]
    said = [(text.get_text(), text.xy, to_hex(text.get_color())) for text in encoder.texts]
    blue, green, pink = (to_hex(drawing.COLOURS[name]) for name in ("positional", "amod", "rare"))
    rows = dict(zip(range(8), encoder.get_yticks(), strict=True))
    assert [(word, colour) for word, _, colour in said if word == "■"] == [("■", blue), ("■", green), ("■", pink)]
    assert [(word, place[1]) for word, place, _ in said if word != "■"] == [("-1", rows[1]), ("n→adj, rare", rows[7])]
    assert {place[0] for _, place, _ in said} == {2} and not cross.texts
    assert texts(figure.legends[0]) == ["positional", "amod", "rare"]


# -------------------- all

DRAWN = {
    "agreement_matrix": partial(figures.agreement_matrix, {"encoder": pairs(3)}),
    "predictors": partial(figures.predictors, table(PREDICTS, ("encoder", "loss", "a", 0.1, 0.0, 0.2, 1, NAN))),
    "stability": partial(figures.stability, table(STABLE, ("a", "encoder", "same index", 0.1, 0.0, 0.2))),
    "contest": partial(figures.contest, contested(1)),
    "ranking": partial(figures.ranking, table(RANKED, ("a", "EN-RU", 1.0, 0.5, 1.5))),
    "head_table_map": partial(figures.head_table_map, head_table(1, 2, ["encoder"], 1), named(1)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figures_know_how_they_were_drawn(name):
    figure = DRAWN[name]()
    again = figure.drawn_by()
    assert len(again.axes) == len(figure.axes) and again.drawn_by.func.__name__ == name


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "head_table_map"])
def test_a_missing_column_and_an_empty_table_are_refused(name):
    function, frame = getattr(figures, name), DRAWN[name].args[0]
    kind = next(iter(frame)) if isinstance(frame, dict) else None
    frame = frame[kind] if kind else frame
    for column in frame.columns:
        with pytest.raises(StudyError, match=f"no column '{column}'"):
            function({kind: frame.drop(columns=column)} if kind else frame.drop(columns=column))
    with pytest.raises(StudyError, match="no rows"):
        function({kind: frame[:0]} if kind else frame[:0])


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: figures.agreement_matrix({}), "at least one kind"),
        (lambda: figures.agreement_matrix({"middle": pairs(3)}), "'middle': choose from encoder, decoder, cross"),
        (lambda: figures.agreement_matrix({"cross": both_ways()}), "measure 1 and measure 0"),
        (lambda: figures.predictors(pd.concat([DRAWN["predictors"].args[0]] * 2)), "one row of encoder, loss, a"),
        (lambda: figures.stability(DRAWN["stability"].args[0].assign(kind="all")), "kind of attention 'all'"),
        (lambda: figures.ranking(pd.concat([DRAWN["ranking"].args[0]] * 2)), "more than one row of a, EN-RU"),
        (lambda: figures.ranking(DRAWN["ranking"].args[0].assign(criterion="random")), "no rows"),
        (lambda: figures.head_table_map(head_table(1, 2, ["encoder"], 1), ["relevance"]), "no column 'relevance'"),
        (lambda: figures.head_table_map(head_table(1, 2, ["encoder"], 1), []), "at least one column"),
        (lambda: figures.head_table_map(head_table(1, 2, ["encoder"], 1)[:0], named(1)), "no rows"),
        (lambda: figures.head_table_map(head_table(1, 2, ["encoder"], 1).reset_index(), named(1)), "set this index"),
        (lambda: figures.head_table_map(head_table(1, 2, ["all"], 1), named(1)), "kind of attention 'all'"),
    ],
)  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(StudyError, match=said):
        call()
