"""Tables of injection: scores and changes by hand, rankings, masking curves, clusters against gain; the map of a matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers import plots
from helpers.experiments import injection
from helpers.heads.families import ADDRESS
from helpers.methods import coreference
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.records import Dialogue, Event
from helpers.runs import subjects
from helpers.scores import scoring
from helpers.scores.coreference import conll_f1
from helpers.world import conversations
from tests.unit import tiny_injection
from tests.unit.drawn import cells, ticks, whole

STORE = tiny_injection.go_to
MASKED, MIXED = "masked, lowest", "layer of its own, upper"
LINKS = ("gold", "gold+shuffled", "rule")
ROUGE = ["ROUGE-1", "ROUGE-2", "ROUGE-L"]


@pytest.fixture(scope="module")
def parts():
    """Rows by part."""
    return tiny_injection.rows()


class Given(injection.Board):
    """A board of rows that wrote what is given here."""

    def __init__(self, rows, texts):
        super().__init__(tiny_injection.settings(), rows)
        self.texts = dict(zip(rows, texts, strict=True))

    def written(self, name):
        return self.texts[name]


def board_of(rows, *lost):
    """A board whose rows lost each so manieth word of every reference."""
    pairs = subjects.text_of(next(iter(rows.values()))["run"]).pairs("test")
    texts = [[" ".join(w for n, w in enumerate(pair.target.split(), 1) if n % every) for pair in pairs] for every in lost]
    return Given(rows, texts)


def rouge(board, name):
    return scoring.rouge_statistics(board.texts[name], [pair.target for pair in board.task.pairs("test")])


def events(board, name):
    counts = conversations.consistency(board.texts[name], board.dialogues)
    return 100 * counts[:, 2].sum() / counts[:, 0].sum()


@pytest.fixture
def board(parts):
    return board_of({name: parts["main"][name] for name in (PLAIN, MASKED, MAIN, MIXED)}, 9, 7, 40, 5)


def test_scores_by_hand(board):
    table = injection.scores(board).set_index(["row", "metric"])
    base = np.array([*rouge(board, PLAIN).mean(0), events(board, PLAIN)])
    for name in board.rows:
        mine, line = np.array([*rouge(board, name).mean(0), events(board, name)]), table.loc[name]
        assert list(line.index) == [*ROUGE, "events"]
        np.testing.assert_allclose(line.value, mine)
        np.testing.assert_allclose(line.change, mine - base, atol=1e-12)
        np.testing.assert_allclose(line.percent, 100 * (mine / base - 1), atol=1e-12)
    paired = scoring.mean_interval(rouge(board, MAIN), rouge(board, PLAIN), 100)
    np.testing.assert_allclose(table.loc[MAIN, ["change_low", "change_high"]][:3], np.array(paired[1:]).T)
    nothing = Given(board.rows, [["."] * 8, *list(board.texts.values())[1:]])  # of nothing there is no percentage
    assert injection.scores(nothing, [MAIN]).percent.isna().all()


def test_labels_are_columns(parts, board):
    every = {name: one for rows in parts.values() for name, one in rows.items()}
    table = pd.DataFrame({name: injection.labels(one) for name, one in every.items()}).T.fillna("")
    for name, wanted in {
        PLAIN: ["no injection", "", "", "", ""], MASKED: ["heads off", "least important heads", 1, "all", ""],
        MIXED: ["layers mixed", "", "", "upper", "gold"], "injected, random 2": ["injected", "random heads", 1, "all", "gold"],
        f"{MAIN}, rule": ["injected", "least important heads", 1, "all", "resolver"],
        "injected, probing": ["injected", "heads most like the matrix", 1, "all", "gold"],
        f"{MAIN}, gold+corrupt:0.5": ["injected", "least important heads", 1, "all", "gold"],
        f"{MAIN}, gold+shuffled": ["injected", "least important heads", 1, "all", "gold, shuffled"],
    }.items():  # fmt: skip
        assert table.loc[name, ["method", "choice", "count", "layers", "links"]].tolist() == wanted, name
    points = injection.labelled(scores := injection.scores(board), board.rows, "change")
    assert set(points.row) == {MASKED, MAIN}  # heads that were chosen
    changes = scores.set_index("row").loc[[MASKED, MAIN]]
    np.testing.assert_array_equal(points[["change", "low", "high"]], changes[["change", "change_low", "change_high"]])


def test_right_people_by_hand():
    one, other = sorted(conversations.NAMES)[:2]
    talks = [
        Dialogue("", "", (), (), events=(Event("lose", one, "key"), Event("repair", other, "lamp", one, "on monday"))),
        Dialogue("", "", (), (), events=(Event("lose", other, "bag"),)),
    ]
    right = [conversations.render_summary(row.events) for row in talks]
    wrong = conversations.render_summary([Event("lose", other, "key"), Event("repair", other, "lamp", one, "on tuesday")])
    np.testing.assert_allclose(injection.right_people(right, talks), [100 * 2 / 1.5, 100 / 1.5])
    np.testing.assert_allclose(injection.right_people([wrong, right[1]], talks), [100 / 1.5, 100 / 1.5])  # no matter when


def test_changes_over_seeds_are_each_against_the_model_of_the_same_weights(parts):
    rows = {name: parts["main"][name] for name in (PLAIN, MIXED)}
    boards = {seed: board_of(rows, *lost) for seed, lost in enumerate(((9, 11), (7, 12), (8, 8)), 1)}
    line = injection.over_seeds(boards, [PLAIN, MIXED]).set_index(["row", "metric"]).loc[MIXED]
    each = [(rouge(one, MIXED) - rouge(one, PLAIN)).mean(0) for one in boards.values()]
    np.testing.assert_allclose(line.change[:3], np.mean(each, 0))
    paired = injection.against_controls(boards, [PLAIN, MIXED], row=MIXED).set_index(["control", "metric"])
    pd.testing.assert_frame_equal(paired.loc[PLAIN][["change", "change_low", "change_high"]], line.filter(like="change"))
    assert set(paired.index.levels[0]) == {PLAIN} and set(paired.seeds) == {3}
    back = injection.against_controls(boards, [PLAIN, MIXED], row=PLAIN)  # a control that is not the plain model
    np.testing.assert_allclose(back.change[:3], -line.change[:3])
    one = injection.against_controls({1: boards[1]}, [PLAIN], row=MIXED).set_index("metric")
    np.testing.assert_allclose(one.change.iloc[:3], each[0])


def test_mentions_are_marked_by_their_cluster(board, monkeypatch):
    text = "# Aunt May : I lost it # Tom : my hat ? you did"
    clusters = (((1, 3), (4, 5), (13, 14)), ((6, 7), (11, 12)))
    board.dialogues = [Dialogue(text, "", tuple(text.split()), ((0, 4, 7), (7, 10, 15)), clusters)]
    monkeypatch.setattr(coreference.runs, "clusters_of", lambda folder, split, by: [clusters])
    lines = "[0: Aunt May] : [0: I] lost [1: it]\nTom : my [1: hat] ? [0: you] did"
    assert injection.marked(board, "gold", 0) == lines


def test_the_chosen_example_gains_most(board):
    gap = board.statistics(MAIN)[:, -1] - board.statistics(MASKED)[:, -1]
    assert gap[injection.best_example(board, MAIN, MASKED)] == gap.max()


def test_masking_curves_begin_at_the_plain_model_and_end_at_no_heads(parts):
    names = [*(f"{order}, 1 a layer" for order in coreference.ORDERS), "random 2, 1 a layer", "lowest, 3 a layer"]
    rows = {name: parts["masks"][name] for name in names}
    board = board_of({PLAIN: parts["main"][PLAIN], **rows}, 50, 20, 8, 12, 10, 3)
    table = injection.masking(board, rows)
    values = {name: rouge(board, name).mean(0)[0] for name in (PLAIN, *names)}
    wanted, curves = {}, {("random", 1): "random 2"} | {(order, 0): order for order in coreference.ORDERS}
    for (order, draw), name in curves.items():
        ends = {0: values[PLAIN], 1: values[f"{name}, 1 a layer"], 3: values["lowest, 3 a layer"]}
        wanted |= {(order, number, draw): value for number, value in ends.items()}
    wanted = pd.Series(wanted).sort_index()
    rouge_1 = table[table.metric == "ROUGE-1"].set_index(["order", "number", "draw"]).sort_index()
    assert rouge_1.index.tolist() == wanted.index.tolist()
    np.testing.assert_allclose(rouge_1.value, wanted)


def test_injected_heads_before_and_after(parts):
    table = injection.before_after({1: injection.Board(tiny_injection.settings(), parts["main"])}, [MAIN, MASKED], 6)
    before = coreference.runs.ranking(parts["main"][PLAIN]["run"], 6)
    for name, lines in table.groupby("row"):
        run = parts["main"][name]["run"]
        after = coreference.runs.ranking(run, 6, control=run["control"])
        assert lines[[*ADDRESS]].apply(tuple, axis=1).tolist() == coreference.runs.addresses(run["control"]["heads"])
        for line in lines.itertuples():
            for when, scores in (("before", before), ("after", after)):
                layer = scores.loc[line.kind, line.layer]
                larger = int((layer.importance > layer.importance[line.head]).sum())
                row = (getattr(line, when), getattr(line, f"loss_{when}"), getattr(line, f"rank_{when}"))
                assert row == (layer.importance[line.head], layer.loss[line.head], larger + 1)
    assert (table.rank_before == 3).all() and (table[table.row == MASKED].after == 0).all()  # the lowest of three
    means, lines = injection.rises(table).set_index(["row", "layer"]), table[table.row == MAIN]
    assert means.after[MAIN, 0] == pytest.approx(1000 * lines.loss_after.mean())
    assert means.before[MAIN, 2] == pytest.approx(1000 * lines.loss_before[lines.layer == 1].item())


def test_heads_matter_more_than_the_same_heads_under_an_empty_matrix():
    after = {MAIN: (0.9, 0.7, 0.8), f"{MAIN}, no links": (0.4, 0.6, 0.2), "injected, random": (0.1, 0.1, 0.1)}
    rows = [(row, "encoder", 2, 0 if seed < 3 or row != "injected, random" else 5, value, seed) for row, values in after.items()
            for seed, value in enumerate(values, 1)]  # fmt: skip
    (line,) = injection.matter_more(pd.DataFrame(rows, columns=["row", *ADDRESS, "after", "seed"])).to_dict("records")
    mean, low, high = np.mean(gaps := [0.5, 0.1, 0.6]), *stats.t.interval(0.95, 2, np.mean(gaps), stats.sem(gaps))
    assert (line["control"], line["layer"], line["seeds"]) == (f"{MAIN}, no links", 2, 3)
    np.testing.assert_allclose([line["more"], line["low"], line["high"]], [mean, low, high])


def test_gain_against_the_quality_of_clusters(parts):
    quality = {
        f"{MAIN}, gold+shuffled": parts["main"][f"{MAIN}, gold+shuffled"],
        f"{MAIN}, rule": parts["quality"][f"{MAIN}, rule"],
    }
    board = board_of({name: parts["main"][name] for name in (PLAIN, MAIN)} | quality, 9, 40, 20, 6)
    table = injection.quality_curve(board, [MAIN, *quality], "gold")
    given = {links: coreference.runs.clusters_of(board.task.folder, "test", links) for links in LINKS}
    scored = {links: conll_f1(clusters, given["gold"]) for links, clusters in given.items()}
    assert table.groupby("clusters").conll.first().to_dict() == scored and scored["gold"] == 100
    for name in (MAIN, *quality):
        np.testing.assert_allclose(table.change[table.row == name][:3], (rouge(board, name) - rouge(board, PLAIN)).mean(0))
    assert table[table.clusters == "gold"].people.eq(100).all()


def test_a_map_has_a_cell_for_each_pair_and_a_dot_where_one_is_marked():
    rows = [("a", "x", 0.5, False), ("b", "x", 0.0, False), ("a", "y", 0.25, True)]
    table = pd.DataFrame(rows, columns=["to", "from", "weight", "least"])
    figure = whole(plots.heat_map(table, "to", "from", "weight", mark="least", rising=False))
    axis = figure.axes[0]
    np.testing.assert_array_equal(cells(axis), [[0.5, 0.0], [0.25, np.nan]])
    assert ticks(axis, "x") == ["a", "b"] and ticks(axis) == ["x", "y"]
    assert [line.get_xydata().tolist() for line in axis.lines] == [[[0, 1]]]
