"""Tables of injection: scores and changes by hand, over seeds, and what injected heads are worth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from helpers.experiments import injection
from helpers.heads.families import ADDRESS
from helpers.methods import coreference
from helpers.methods.coreference.runs import MAIN, PLAIN
from helpers.records import Dialogue, Event
from helpers.runs import subjects
from helpers.scores import scoring
from helpers.world import conversations
from tests.unit import tiny_injection

STORE = "injection"
MASKED, MIXED = "masked, lowest", "layer of its own, upper"
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
    return 100 * counts[:, 1].sum() / counts[:, 0].sum()


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
    each = pd.concat({name: pd.DataFrame(rouge(board, name)) for name in (PLAIN, MAIN)}, names=["row"]).reset_index("row")
    paired = injection.gains(each, "row", 100)[3:][["change", "low", "high"]]
    np.testing.assert_allclose(table.loc[MAIN, ["change", "change_low", "change_high"]][:3], paired)


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


def test_importance_of_heads_in_the_model_trained_with_them(parts):
    table = injection.importance_after({1: injection.Board(tiny_injection.settings(), parts["main"])}, [MAIN, MASKED], 6)
    for name, lines in table.groupby("row"):
        run = parts["main"][name]["run"]
        after = coreference.runs.ranking(run, 6, control=run["control"]).importance
        assert lines[[*ADDRESS]].apply(tuple, axis=1).tolist() == coreference.runs.addresses(run["control"]["heads"])
        assert lines.after.tolist() == [after[tuple(address)] for address in lines[[*ADDRESS]].to_numpy()]
    assert (table[table.row == MASKED].after == 0).all()


def test_means_of_three_trainings_leave_random_heads_out():
    rows = {"injected, lowest": "idle heads", "injected, random 2": "random heads", "layer of its own, all, rule": np.nan}
    table = pd.DataFrame([(row, choice, seed, seed + place) for place, (row, choice) in enumerate(rows.items())
                          for seed in (1, 2)], columns=["row", "choice", "seed", "change"])  # fmt: skip
    means = injection.side_by_side_means(table.assign(metric="events", links="resolver")).set_index("where")["mean"]
    assert means.to_dict() == {"idle heads": 1.5, "mixed, every layer": 3.5}


def test_what_the_paper_gains_is_so_many_percent_of_the_score_without_links(parts):
    rows = {name: parts["main"][name] for name in (PLAIN, MAIN)}
    table = pd.DataFrame({"row": [*rows], "metric": "ROUGE-1", "value": [50.0, 51.0], "change": [0.0, 1.0]})
    shown = injection.by_place(table.assign(change_low=-1.0, change_high=2.0), rows)
    assert shown.change[shown.hollow].item() == pytest.approx(0.8) and set(shown.change[~shown.hollow]) == {1.0}


def test_heads_matter_more_than_the_same_heads_under_an_empty_matrix():
    after = {MAIN: (0.9, 0.7, 0.8), f"{MAIN}, no links": (0.4, 0.6, 0.2), "injected, random": (0.1, 0.1, 0.1)}
    rows = [(row, "encoder", 2, 0 if seed < 3 or row != "injected, random" else 5, value, seed) for row, values in after.items()
            for seed, value in enumerate(values, 1)]  # fmt: skip
    (line,) = injection.matter_more(pd.DataFrame(rows, columns=["row", *ADDRESS, "after", "seed"])).to_dict("records")
    mean, low, high = np.mean(gaps := [0.5, 0.1, 0.6]), *stats.t.interval(0.95, 2, np.mean(gaps), stats.sem(gaps))
    assert (line["control"], line["layer"], line["seeds"]) == (f"{MAIN}, no links", 2, 3)
    np.testing.assert_allclose([line["more"], line["low"], line["high"]], [mean, low, high])
