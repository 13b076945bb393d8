"""Heads removed at once: the least important go, random draws are the same at every call, scores are those of what is left."""

import copy

import numpy as np
import pandas as pd
import pytest

from helpers import heads, measures, study
from helpers.measures.removal import at_once, by_columns, least
from helpers.measures.worth import leave_one_out, mean_loss
from helpers.methods import removal
from helpers.runs import subjects, training
from helpers.scores import scoring
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_batch, tiny_model

SMALL = {
    "train": 1000,
    "dev": 10,
    "test": 6,
    "vocabulary": 150,
    "training.steps": 200,
    "training.warmup": 20,
}  # BLEU above zero


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    folder = tmp_path_factory.mktemp("removal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADS_RUNS", str(folder / "runs"))
        patch.setenv("HEADS_DATA", str(folder / "data"))
        found = subjects.of_name(study.settings("tiny", SMALL), "ru-news", 1)
        assert not found.model.training  # read here: tests have stores of their own
        yield found


@pytest.fixture(scope="module")
def worth(subject):
    return measures.importance(subject.model, removal.batches(subject, "dev", 8), norm=None)


def test_the_least_important_heads_go_and_the_rest_is_scored(subject, worth):
    table = removal.quality(subject, worth, "test", repeats=20, shares=(0.5,), draws=2)
    least = table[(table.method == removal.CHOICE) & (table["heads"] == len(worth) // 2)].iloc[0]
    gone = sorted(worth.index, key=lambda head: worth[head])[: len(worth) // 2]
    left = heads.remove(copy.deepcopy(subject.model), gone)
    texts, references = zip(*((pair.source, pair.target) for pair in subject.pairs("test")), strict=True)
    said = training.translate(left, list(texts), subject.source, subject.target)
    assert least.loss == pytest.approx(training.dev_loss(left, removal.batches(subject, "test")))
    assert least.bleu == scoring.bleu(said, list(references), 20)["bleu"]
    assert least.change == pytest.approx(least.bleu - table.bleu.iloc[0])
    counts = {removal.CHOICE: 2, removal.ALIKE: 3}
    assert table.groupby("method").size().to_dict() == counts
    assert len(heads.index(subject.model)) == len(worth), "the model itself is as it was"
    more = removal.quality(subject, {"a": worth, "other": -worth}, "test", repeats=20, shares=(0.5,), draws=1)
    counts = {"a": 2, "other": 2, removal.ALIKE: 2}
    assert more.groupby("method").size().to_dict() == counts
    one, other = more[more["heads"] < len(worth)].iloc[:2].to_dict("records")
    assert other["loss"] != least.loss and other["bleu"] != one["bleu"] and not one["behind"]
    assert other["behind"] == pytest.approx(other["bleu"] - one["bleu"])


def test_draws_differ_and_are_the_same_at_every_call(worth):
    one, again, other = (removal.drawn(worth, 6, draw) for draw in (0, 0, 1))
    assert one == again != other and len(set(one)) == 6
    like = worth.loc[["encoder"]].index[:3].append(worth.loc[["cross"]].index[:2])
    kinds = [kind for kind, _, _ in removal.drawn(worth, 5, 0, like)]
    assert sorted(kinds) == ["cross"] * 2 + ["encoder"] * 3


def test_of_equals_the_first_heads_go_and_unmeasured_ones_before_all():
    column = pd.Series([1.0, 0.0, 2.0, 0.0, np.nan, 0.0], pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1, 2]]))
    assert least(column, 0) == []
    assert least(column, 4) == [("encoder", 1, 1), ("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 2)]


def test_choices_of_the_same_heads_are_scored_once(subject, worth):
    columns, seen = [("one", 0, worth), ("again", 0, 2 * worth), ("other", 0, -worth)], []

    def score(model) -> dict[str, int]:
        seen.append(model)
        return {"left": len(heads.index(model))}

    rows = list(at_once(subject.model, by_columns(columns, [len(worth), 5]), score))
    assert [(row["criterion"], row["left"]) for row in rows] == [(name, n) for name, *_ in columns for n in (len(worth), 5)]
    assert len(seen) == 3 and seen[0] is subject.model, "the whole model needs no copy"


def test_heads_off_beside_random_draws():
    model, batch = tiny_model("llama"), tiny_batch("llama")
    worth = leave_one_out(model, [batch], repeats=1).loss
    table = removal.beside_random(model, [batch], worth, shares=(0.375,), draws=3)
    assert table.groupby("method").size().to_dict() == {removal.CHOICE: 1, removal.RANDOM: 3} and set(table["heads"]) == {3}
    for row, closed in zip(table.rise, [least(worth, 3), *(removal.drawn(worth, 3, draw) for draw in range(3))], strict=True):
        with heads.gate(model, dict.fromkeys(closed, 0.0)):
            without = mean_loss(model, [batch])
        assert row == pytest.approx(without - mean_loss(model, [batch]), abs=1e-6) != 0
    assert (table.low.notna() == (table.method == removal.CHOICE)).all() and table.low[0] <= table.rise[0] <= table.high[0]


def test_each_choice_stands_beside_draws_of_its_own_types():
    model, batch = tiny_model("t5"), tiny_batch("t5")
    one = pd.Series(range(len(heads.index(model))), heads.index(model), dtype=float)
    mixed = removal.beside_random(model, [batch], {"one": one, "other": -one}, shares=(0.25,), draws=2)
    assert mixed.groupby(["choice", "method"]).size().to_dict() == {
        ("", removal.RANDOM): 2, ("one", removal.ALIKE): 2, ("one", removal.CHOICE): 1,
        ("other", removal.ALIKE): 2, ("other", removal.CHOICE): 1,
    }  # fmt: skip
    own = mixed[mixed.choice == "other"].rise.iloc[1]
    gone = pd.MultiIndex.from_tuples(least(-one, mixed["heads"].iloc[0]), names=one.index.names)
    with heads.gate(model, dict.fromkeys(removal.drawn(one, len(gone), 0, gone), 0.0)):
        without = mean_loss(model, [batch])
    assert own == pytest.approx(without - mean_loss(model, [batch]), abs=1e-6)
    won = removal.against_random(mixed)
    assert won.choice.tolist() == ["one", "one", "other", "other"] and set(won.draws) == {2}
    assert won.own[0] == mixed.rise[0] and won.rise[0] == pytest.approx(mixed.rise[1:3].mean())


@pytest.mark.parametrize(("own", "beaten"), [(0.0, 20), (1.1, 0), (0.55, 9), (0.07, 19)])
def test_how_many_draws_are_beaten(own, beaten):
    draws = [("", removal.RANDOM, draw, 3, 0.05 + 0.05 * draw) for draw in range(20)]
    columns = ["choice", "method", "draw", "heads", "rise"]
    table = pd.DataFrame([("a", removal.CHOICE, 0, 3, own), *draws], columns=columns).assign(low=own, high=own)
    (row,) = removal.against_random(table).itertuples()
    assert (row.beaten, row.draws, row.own) == (beaten, 20, own) and row.low == pytest.approx(0.05)


def test_heads_off_together_beside_the_sum_of_each_off_alone():
    model, batch = tiny_model("t5"), tiny_batch("t5")
    single = leave_one_out(model, [batch], repeats=1).loss
    found = removal.one_by_one(model, [batch], -single, single, points=4, repeats=50)
    total, order = len(single), least(-single, len(single))
    assert list(found.index) == [round(total * part / 4) for part in (1, 2, 3, 4)]
    for count, row in found.iterrows():
        for name, taken in (("together", order), ("other", least(single, total))):
            with heads.gate(model, dict.fromkeys(taken[:count], 0.0)):
                without = mean_loss(model, [batch])
            assert row[name] == pytest.approx(without - mean_loss(model, [batch]), abs=1e-6)
        assert row.times == pytest.approx(row.together / row.alone, rel=1e-3) and row.times_low <= row.times <= row.times_high
        assert row["other alone"] == pytest.approx(single[least(single, count)].sum(), abs=1e-6)
        assert row.alone == pytest.approx(single[order[:count]].sum(), abs=1e-6)
    assert (found.together_low <= found.together_high).all() and (found.alone_low < found.alone_high).any()
    assert list(removal.one_by_one(model, [batch], single, single, points=1000, repeats=2).index) == list(range(1, total + 1))


def test_the_pair_that_costs_most_beyond_its_sum():
    model, batch = tiny_model("t5"), tiny_batch("t5")
    some = heads.index(model)[:3]

    def rise(*closed):
        with heads.gate(model, dict.fromkeys(closed, 0.0)):
            return mean_loss(model, [batch]) - mean_loss_whole

    mean_loss_whole = mean_loss(model, [batch])
    beyond = {(a, b): rise(a, b) - rise(a) - rise(b) for a, b in ((some[0], some[1]), (some[0], some[2]), (some[1], some[2]))}
    pair = max(beyond, key=beyond.get)
    found = removal.stand_in(model, [batch], [batch], some)
    assert list(found.index) == [*pair, "both", "beyond"] and found.rise["beyond"] == pytest.approx(beyond[pair], abs=1e-6)
    assert found.rise["both"] == pytest.approx(rise(*pair), abs=1e-6) and (found.low <= found.high).all()


def test_shares_and_worths_that_make_no_sense_are_refused(subject, worth):
    with pytest.raises(StudyError, match="between 0 and 1"):
        removal.quality(subject, worth, "test", shares=(0.5, 1))
    with pytest.raises(StudyError, match="head table"):
        removal.quality(subject, pd.Series({("encoder", 0, 0): 1.0}), "test")
