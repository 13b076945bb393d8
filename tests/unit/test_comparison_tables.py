"""Tables of the comparison on head tables made by hand: known rank correlations, seeds that are matched, contests."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr, t, ttest_1samp

from helpers.experiments import comparison
from helpers.measures import trainings
from helpers.methods.contest import runs
from helpers.scores import intervals

ONE, TWO = ("EN-RU news", 1), ("EN-RU news", 2)
LOSS, SURVIVAL, SURE = "leave-one-out", runs.SURVIVAL, comparison.SURE


def index(**layers):
    """Heads of each kind: the numbers of heads of its layers."""
    rows = [(kind, at, head) for kind, sizes in layers.items() for at, size in enumerate(sizes) for head in range(size)]
    return pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])


HEADS = index(encoder=[8, 8], decoder=[2], cross=[6])


def noise(seed, heads=HEADS):
    return pd.Series(np.random.default_rng(seed).random(len(heads)), heads)


def table(seed=0, heads=HEADS, **columns):
    """A head table: confidence, `alpha_beta` in the same order, `cp` in the opposite one, and two columns of their own."""
    one = noise(seed, heads)
    found = {
        "alpha_beta": one**3 + 7, "cp": -one, "confidence": one, "gradient, example": noise(seed + 100, heads),
        LOSS: noise(seed + 200, heads), "functions": "",
    }  # fmt: skip
    return pd.DataFrame(found | columns)


def ranked(column, kind):
    """Ranks within the layers of a kind, one after another."""
    part = column[column.index.isin([kind], level="kind")]
    return np.concatenate([(layer.rank() - 1) / (len(layer) - 1) for _, layer in part.groupby(level=["kind", "layer"])])


def rho(one, other, kind="encoder"):
    """Rank correlation within layers, by scipy."""
    return spearmanr(ranked(one, kind), ranked(other, kind)).statistic


def fisher(values):
    """Mean of correlations and its t interval, by scipy, both along Fisher's z."""
    z = np.arctanh(values)
    return [np.tanh(z.mean()), *np.tanh(ttest_1samp(z, 0).confidence_interval())]


def test_one_training_and_one_seed_of_several_models():
    found = comparison.over_models({("a", 1): 0.2, ("a", 2): 0.2, ("a", 3): 0.2, ("b", 1): 0.5, ("c", 1): 0.3})
    assert [found[name] for name in ("rho", "low", "high")] == pytest.approx(fisher([0.2, 0.5, 0.3]))  # each model once
    assert (found["models"], found["over"]) == (3, intervals.MODELS)
    found = comparison.over_models({("a", 1): -0.4})
    assert found["rho"] == pytest.approx(-0.4) and found["models"] == 1 and np.isnan([found["low"], found["high"]]).all()


def test_predictors():
    encoder = HEADS.isin(["encoder"], level="kind")
    tables = {place: table(n, **{SURVIVAL: (noise(n) ** 2).where(encoder)}) for n, place in enumerate((ONE, TWO))}
    found = comparison.predictors(tables).set_index(["kind", "measure"])
    values = [rho(part[LOSS], part.confidence) for part in tables.values()]
    row = found.loc[("encoder", "confidence")]
    assert [row.rho, row.low, row.high, row.models] == pytest.approx([*fisher(values), 2])
    assert ("encoder", LOSS) not in found.index and ("encoder", SURVIVAL) in found.index


def test_effects_that_differ_from_zero():
    frame = pd.DataFrame({"low": [1, -4, 0.1, -0.5], "high": [5, -2, 4.1, 1.5]}, index(encoder=[4]))
    found = comparison.differing({("a", 1): frame, ("b", 1): frame.assign(low=-9.0, high=9.0)})
    assert found.to_numpy().tolist() == [[4, 3], [4, 0]]
    assert comparison._shown(found, "encoder", [("a", 1)]) and not comparison._shown(found, "encoder", found.index.droplevel(2))


def test_correlations_with_noise_are_not_shown():
    tables = {ONE: table(), ("EN-RU news, all kinds", 2): table(1)}
    kinds = pd.MultiIndex.from_product([["EN-RU news"], [1, 2], ["encoder", "cross"]], names=["model", "seed", "kind"])
    differ = pd.DataFrame({"heads": [16, 6, 16, 6], "differ": [9, 1, 7, 4]}, kinds)  # half in the encoder, 5 of 12 in cross
    found = comparison.predictors(tables, differ)
    assert found.shown[found.kind == "encoder"].all() and not found.shown[found.kind == "cross"].any()


def test_a_model_that_was_swept_twice_counts_once():
    one, other = table(0), table(3)
    again = one.copy()
    found = comparison.distinct({("a", 1): one, ("a, all kinds", 1): again, ("b", 1): other, ("a", 2): one})
    assert list(found) == [("a, all kinds", 1), ("b", 1), ("a", 2)] and found["a, all kinds", 1] is again
    alone, twice = comparison.predictors({("a", 1): one}), comparison.predictors({("a", 1): one, ("b", 1): one})
    assert (twice.models == alone.models).all()
    assert set(alone.over) == {intervals.HEADS} and (alone.low < alone.high).any()  # of one model over its heads


def test_heads_that_may_go_are_all_or_the_encoder():
    assert comparison.may_go({ONE: table()}).equals(table().loc[["encoder"]])
    assert comparison.may_go({ONE: table(), ("EN-RU news, all kinds", 1): table()}).equals(table())


def test_losses_by_share_of_heads_gone(monkeypatch):
    cuts = {1: [(4, 0.2), (8, 0.1)], 2: [(6, 0.4), (10, 0.3)]}  # trainings keep different numbers of heads
    parts = {n: pd.DataFrame(rows, columns=["heads", "change"]).assign(criterion="random") for n, rows in cuts.items()}
    monkeypatch.setattr(runs, "removable", lambda job: True)
    monkeypatch.setattr(runs, "at_once", lambda job, entered: parts[job["seed"]])
    rows = comparison.removed([{"name": "EN-RU news", "seed": n} for n in cuts], {ONE: table(), TWO: table()})
    assert set(comparison.rises(rows, "EN-RU news", [LOSS, comparison.SAME]).model) == {"SmolLM2"}  # Europarl has others
    found = comparison.rises([*rows, ("random", 0.1, 0.05)], "EN-RU news", ["random"])
    assert {"Europarl, encoder", "SmolLM2"} < {*found.model}
    found = found[found.model == "toy EN-RU"].sort_values("gone")
    of_16 = [[0, 0], [10, 0.05], [43.8, 0.2], [68.8, 0.3]]  # heads in the encoder
    assert found[["gone", "rise"]].to_numpy() == pytest.approx(np.array(of_16))
    assert found[["low", "high"]].to_numpy()[1:].tolist() == [[0.05, 0.05], [0.1, 0.3], [0.2, 0.4]]


def contested(parts):
    """What `contest` gives: changes by criterion, of each training."""
    tables = {}
    for trained, changes in parts.items():
        rows = [(name, draw, change) for name, values in changes.items() for draw, change in enumerate(np.atleast_1d(values))]
        part = pd.DataFrame(rows, columns=["criterion", "draw", "change"]).assign(**{"test set": "test", "heads": 3})
        part = part.assign(low=part.change - 1, high=part.change + 2, above=part.change, above_low=-1.0, above_high=1.0)
        tables[trained] = part.assign(**{"layer 1": 1, "layer 2": 2})
    return pd.concat(tables, names=["model", "seed", "row"])


def test_several_draws_of_a_seed_count_once():
    found = contested({ONE: {"random": [1.0, 2, 3], "cp": 4.0}, TWO: {"random": [5.0, 6, 7], "cp": 4.5}})
    found = comparison.over_seeds(found).set_index("criterion")
    half = t.ppf(0.975, 1) * np.std([2, 6], ddof=1) / np.sqrt(2)
    row = found.loc["random"]
    assert [row.value, row.low, row.high, row.seeds] == pytest.approx([4, 4 - half, 4 + half, 2])
    alone = comparison.over_seeds(contested({ONE: {"cp": 4.0}, ("b", 1): {"cp": 0.0}})).set_index("model")
    assert alone.loc["b", ["value", "low", "high"]].tolist() == [0, -1, 2]  # its own interval, over sentences


def test_draws_of_seeds_that_lie_near_by_chance_widen_the_interval():
    def values(seeds, numbers):
        return pd.Series(numbers, pd.Index(seeds, name="seed"))

    close, apart = values([1, 1, 2, 2], [0.0, 4, 1, 3]), values([1, 1, 2, 2], [1.0, 2, 8, 9])
    assert trainings.nested(close)[1:3] == pytest.approx(ttest_1samp(close, 0).confidence_interval())
    assert trainings.nested(apart)[1:3] == pytest.approx(ttest_1samp([1.5, 8.5], 0).confidence_interval())
    assert trainings.nested(apart)[3] == 2 and trainings.nested(close)[3] == 4
    assert np.isnan(trainings.nested(close[:2])[1])


def test_choices_against_random_heads():
    parts = {("a", n): {comparison.TRAINED: 0.0, "cp": 2.0 + n, "random": [1.0, n]} for n in (1, 2, 4)}
    random = comparison.against_random(contested(parts)).loc[("a", "test")]
    draws = pd.Series([2.0, 2, 3, 2, 5, 2], pd.Index([1, 1, 2, 2, 4, 4], name="seed"))  # every draw of the same training
    assert random.loc["cp", ["value", "low", "high"]].tolist() == pytest.approx(list(trainings.nested(draws)[:3]))
    assert set(random.index) == {comparison.TRAINED, "cp"} and (random.p_holm <= 1).all()
    alone = comparison.against_random(contested({ONE: {"cp": 2.0, "random": [1.0, 3.0]}}))
    assert alone["value"].tolist() == [0] and alone[["low", "p_holm"]].isna().all(axis=None)


def test_the_study_s_own_run_is_taken_where_it_cut_the_same_heads(monkeypatch):
    kept = {"none": [0, 1, 2], "l0": [2], "cut": [0]}
    specs = {name: {"method": {"name": name}, "seed": 1} for name in kept}
    monkeypatch.setattr(comparison.pruning, "retained", lambda spec: {("encoder", 0): kept[spec["method"]["name"]]})
    monkeypatch.setattr(comparison.pruning, "pruned", lambda spec, label="": spec)
    monkeypatch.setattr(runs, "contest", lambda job: {})
    sweep = {"name": "a", "seed": 1, "kinds": ["encoder"], "settings": {"pruning": {"compared": [0.1]}}}
    job = {"sweep": sweep | {"runs": {"control": specs["none"], "L0 0.1": specs["l0"], "confidence 0.1": specs["cut"]}}}
    assert comparison.by_l0(job) == (specs["l0"], [("encoder", 0, 0), ("encoder", 0, 1)])
    assert comparison.cut_and_train(job, [("encoder", 0, 2), ("encoder", 0, 1)]) is specs["cut"]
    new = {"name": "these", "heads": [("encoder", 0, 0)]}
    assert comparison.cut_and_train(job, [("encoder", 0, 0)]) == {"method": new, "seed": 1}


def test_draws_of_a_seed_count_once_in_a_mean_over_trainings():
    table = pd.DataFrame({"row": "a", "seed": [1, 1, 2], "BLEU": [0.0, 2.0, 5.0]})
    (found,) = trainings.over_seeds(table, ["row"], {"BLEU": ("mean", "low", "high")}).to_dict("records")
    assert (found["seeds"], found["mean"]) == (2, 3) and found["high"] == pytest.approx(3 + 2 * t.ppf(0.975, 1))
