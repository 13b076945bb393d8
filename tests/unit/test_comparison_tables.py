"""Tables of the comparison on head tables made by hand: known rank correlations, seeds that are matched, curves, contests."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, spearmanr, t, ttest_1samp

from helpers import study
from helpers.methods import contest, said
from helpers.methods.contest import said as said_of
from helpers.scores import intervals
from helpers.study import layout

ONE, TWO = ("EN-RU news", 1), ("EN-RU news", 2)
LOSS, SURVIVAL, SURE = "leave-one-out", contest.runs.SURVIVAL, contest.tables.SURE
ADDRESS = ["kind", "layer", "head"]


def index(**layers):
    """Heads of each kind: the numbers of heads of its layers."""
    rows = [(kind, at, head) for kind, sizes in layers.items() for at, size in enumerate(sizes) for head in range(size)]
    return pd.MultiIndex.from_tuples(rows, names=ADDRESS)


HEADS = index(encoder=[8, 8], decoder=[2], cross=[6])


def noise(seed, heads=HEADS):
    return pd.Series(np.random.default_rng(seed).random(len(heads)), heads)


def table(seed=0, heads=HEADS, **columns):
    """A head table: confidence, `alpha_beta` in the same order, `cp` in the opposite one, and two columns of their own."""
    one = noise(seed, heads)
    found = {
        "alpha_beta": one**3 + 7, "cp": -one, "confidence": one, "gradient, example": noise(seed + 100, heads),
        "leave-one-out": noise(seed + 200, heads), "functions": "",
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


def test_seeds_within_models():
    values = {("a", 1): 0.1, ("a", 2): 0.5, ("a", 3): 0.3, ("b", 1): 0.8, ("b", 2): 0.6}
    found = contest.tables.over_models(values)
    a, b = np.arctanh([0.1, 0.5, 0.3]), np.arctanh([0.8, 0.6])
    parts = np.array([a.var(ddof=1) / 3 / 4, b.var(ddof=1) / 2 / 4])
    freedom = parts.sum() ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 1)
    mean, half = (a.mean() + b.mean()) / 2, t.ppf(0.975, freedom) * np.sqrt(parts.sum())
    assert found == {"rho": pytest.approx(np.tanh(mean)), "low": pytest.approx(np.tanh(mean - half)),
                     "high": pytest.approx(np.tanh(mean + half)), "models": 5, "over": intervals.TEXTS}  # fmt: skip


def test_one_training_and_one_seed_of_several_models():
    found = contest.tables.over_models({("a", 1): 0.1, ("b", 1): 0.5, ("c", 1): 0.3, ("d", 1): np.nan})
    assert [found["rho"], found["low"], found["high"]] == pytest.approx(fisher([0.1, 0.5, 0.3])) and found["models"] == 3
    found = contest.tables.over_models({("a", 1): 0.2, ("a", 2): 0.2, ("a", 3): 0.2, ("b", 1): 0.5, ("c", 1): 0.3})
    assert [found[name] for name in ("rho", "low", "high")] == pytest.approx(fisher([0.2, 0.5, 0.3]))  # each model once
    assert (found["models"], found["over"]) == (3, intervals.MODELS)
    found = contest.tables.over_models({("a", 1): -0.4})
    assert found["rho"] == pytest.approx(-0.4) and found["models"] == 1 and np.isnan([found["low"], found["high"]]).all()
    assert contest.tables.over_models({})["models"] == contest.tables.over_models({("a", 1): np.nan})["models"] == 0
    perfect = contest.tables.over_models({("a", 1): 1.0, ("b", 1): 1.0})
    assert perfect["rho"] == perfect["low"] == perfect["high"] == pytest.approx(SURE)


def test_agreement_of_equal_reversed_and_other_columns():
    cross = HEADS.isin(["cross"], level="kind")
    tables = {ONE: table(0, alignment=noise(5).where(cross)), TWO: table(1)}
    found = contest.tables.agreement(tables).set_index(["kind", "one", "other"])
    assert found.rho["encoder", "alpha_beta", "confidence"] == pytest.approx(SURE)
    assert found.rho["encoder", "alpha_beta", "cp"] == found.rho["cross", "cp", "confidence"] == pytest.approx(-SURE)
    for kind in ("encoder", "cross"):
        values = [rho(part.confidence, part["leave-one-out"], kind) for part in tables.values()]
        row = found.loc[(kind, "leave-one-out", "confidence")]
        assert [row.rho, row.low, row.high] == pytest.approx(fisher(values)) and row.models == 2
    assert set(found.index.unique("kind")) == {"encoder", "cross"}  # two decoder heads are no ranking
    row = found.loc[("cross", "leave-one-out", "alignment")]  # a measure that one model has, of one kind
    assert row.rho == pytest.approx(rho(tables[ONE]["leave-one-out"], noise(5), "cross")) and row.models == 1
    assert ("encoder", "leave-one-out", "alignment") not in found.index
    sure, said = found.loc["encoder"].low > 0, said_of.agreement(found.reset_index())
    left = (found.loc["encoder"].low > 0.99).sum()
    assert said.startswith(f"{sum(sure)} of {len(sure)} correlations are above zero by their own interval, {left or 'none'}")
    assert 0 < sum(sure) < len(sure)


def test_predictors():
    encoder = HEADS.isin(["encoder"], level="kind")
    tables = {place: table(n, **{SURVIVAL: (noise(n) ** 2).where(encoder)}) for n, place in enumerate((ONE, TWO))}
    seconds = {
        ONE: {"confidence": 3.0, "gradient, example": 2.0, "cp": 8.0, LOSS: 40.0},
        TWO: {"confidence": 5.0, "gradient, example": 1.0, "cp": 1.0, LOSS: 60.0},
    }
    found = contest.tables.predictors(tables, seconds).set_index(["kind", "truth", "heads", "measure"])
    within, pooled = "within layers", "all heads"
    assert found.rho["encoder", SURVIVAL, within, "confidence"] == pytest.approx(SURE)
    assert found.rho["encoder", SURVIVAL, pooled, "cp"] == pytest.approx(-SURE)
    values = [rho(part[LOSS], part.confidence) for part in tables.values()]
    row = found.loc[("encoder", LOSS, within, "confidence")]
    assert [row.rho, row.low, row.high, row.models] == pytest.approx([*fisher(values), 2])
    values = [spearmanr(part[LOSS]["encoder"], part.confidence["encoder"]).statistic for part in tables.values()]
    assert found.rho["encoder", LOSS, pooled, "confidence"] == pytest.approx(fisher(values)[0])
    cost = found.sort_index().cost.loc["encoder", LOSS, within]  # times that of the gradient
    assert cost["confidence"] == (1.5 + 5) / 2 and cost["cp"] == (4 + 1) / 2 and np.isnan(cost["alpha_beta"])
    assert ("encoder", LOSS, within, LOSS) not in found.index and ("cross", SURVIVAL, within, "cp") not in found.index
    rhos = found.sort_index().rho.loc["encoder", LOSS, within].drop([SURVIVAL, "cp"])
    predicts = said_of.predictors(found.reset_index())
    assert f"in encoder self and cross heads: *gradient importance* {rhos[said_of.UNIT]:.2f} [" in predicts
    assert said_of.named("cp") not in predicts
    sure = pd.DataFrame({"measure": ["cp", "votes"] * 2, "kind": ["cross"] * 2 + ["decoder"] * 2, "low": [0.1, 0.1, 0.2, -0.1]})
    sure = sure.assign(heads=within, truth=LOSS, models=3, shown=True, rho=0.5)
    assert said_of.above_zero(sure.replace("cp", "attnlrp")).endswith("in each: *relevance, AttnLRP*.")
    heads = {("a", 1): table(0).assign(**{said_of.UNIT: lambda own: own[LOSS]}), ("a", 2): table(1)}
    alike = pd.DataFrame({"shown": [True, False]}, pd.MultiIndex.from_product([["a"], [1, 2], ["encoder"]]))
    assert said_of.felt(heads, alike).startswith(
        "Encoder heads, where half of them or more change the loss (a, 1 training): *gradient importance* 1.00 and *confidence*"
    )
    assert said_of.felt(heads, None) == ""
    three = found.reset_index().assign(models=3, shown=lambda rows: rows.kind == "cross")
    assert set(said_of.telling(three).kind) == {"cross"} and set(said_of.telling(three).truth) == {LOSS}
    assert set(said_of.telling(three.assign(models=2)).kind) == {"encoder", "cross"}  # nothing tells: all rows
    flat = contest.tables.predictors({ONE: table(0, votes=1.0)}, {})
    assert "votes" not in set(flat.measure)  # what does not vary foretells nothing


def test_reliability_of_two_halves():
    halves = {}
    for number, place in enumerate((ONE, TWO)):
        one, other = table(number), table(number + 10, cp=table(number).cp + 1, votes=0.5)
        halves[place] = pd.concat({0: one.drop(columns="functions"), 1: other.drop(columns="functions")}, names=["half"])
    found = contest.tables.reliability(halves).set_index(["kind", "measure"])
    assert set(found.compared) == {contest.tables.OTHER_TEXT} and (found.models == 2).all()
    assert found.rho["encoder", "cp"] == found.rho["cross", "cp"] == pytest.approx(SURE)
    values = [rho(part.xs(0, level="half").confidence, part.xs(1, level="half").confidence) for part in halves.values()]
    row = found.loc[("encoder", "confidence")]
    assert [row.rho, row.low, row.high] == pytest.approx(fisher(values)) and row.low < 0
    whole = [max(2 * value / (1 + value), 0) for value in fisher(values)]  # reliability has no numbers below 0
    assert row[["reliability", "reliability_low", "reliability_high"]].tolist() == pytest.approx(whole)
    assert row.bound == pytest.approx(np.sqrt(whole[0])) and found.bound["encoder", "cp"] > 0.99
    assert "votes" not in found.index.unique("measure") and "decoder" not in found.index.unique("kind")


def test_rules_of_relevance_one_by_one():
    pairs = pd.DataFrame({"kind": "encoder", "one": ["cp"], "other": "gradient, example", "rho": 0.4, "low": 0.1, "high": 0.6})
    assert said_of.rules(pairs).endswith("by rule: conservative 0.40 [0.10, 0.60].") and not said_of.rules(pairs[:0])
    assert said_of.rules(pairs.assign(over=intervals.HEADS)).endswith("; intervals over heads of one training.")


def test_correlations_with_noise_are_not_shown():
    tables = {ONE: table(), ("EN-RU news, all kinds", 2): table(1)}
    kinds = pd.MultiIndex.from_product([["EN-RU news"], [1, 2], ["encoder", "cross"]], names=["model", "seed", "kind"])
    differ = pd.DataFrame({"heads": [16, 6, 16, 6], "differ": [9, 1, 7, 4]}, kinds)  # half in the encoder, 5 of 12 in cross
    found = contest.tables.predictors(tables, {}, differ)
    assert found.shown[found.kind == "encoder"].all() and not found.shown[found.kind == "cross"].any()
    pairs = contest.tables.agreement(tables, differ).set_index(["kind", "one", "other"]).shown
    assert not pairs["cross", "leave-one-out", "confidence"] and pairs["cross", "alpha_beta", "confidence"]


def in_halves(heads, columns):
    """Head tables of two halves, by columns' values on each."""
    tables = {half: pd.DataFrame({n: pair[half] for n, pair in columns.items()}, heads, dtype=float) for half in (0, 1)}
    return pd.concat(tables, names=["half"])


def test_the_same_and_other_sentences_by_hand():
    heads, one, other = index(encoder=[4], decoder=[2]), [1, 2, 3, 4, 0, 0], [1, 2, 4, 3, 0, 0]
    with_it, against = (in_halves(heads, {"confidence": pair, LOSS: (one, other)}) for pair in ((one, other), (other, one)))
    found = contest.tables.same_and_other_sentences({ONE: with_it}).set_index("sentences")
    assert set(found.kind) == {"encoder"} and set(found.measure) == {"confidence"} and found.shown.all()
    # orders that differ by one exchange of four: 1 - 6 * 2 / (4 * 15)
    assert found.rho.to_dict() == pytest.approx({"the same sentences": SURE, "other sentences": 0.8, "difference": 0.2})
    assert (found.models == 1).all() and found.low.isna().all()
    two = contest.tables.same_and_other_sentences({ONE: with_it, TWO: against}).set_index("sentences")
    assert two.rho["other sentences"] == pytest.approx(fisher([0.8, SURE])[0]) == pytest.approx(two.rho["the same sentences"])
    interval = ttest_1samp([0.2, -0.2], 0).confidence_interval()
    assert two.loc["difference", ["rho", "low", "high"]].tolist() == pytest.approx([0, *interval])
    assert (two.models == 2).all() and (two.over == intervals.TEXTS).all()
    rows = [(name, kind, value) for name, value in (("gradient, example", 0.6), ("gradient, signed", 0.1), ("RelP, cp", 0.4))
            for kind in (contest.tables.SAME, contest.tables.OTHER)]  # fmt: skip
    rows = pd.DataFrame(rows, columns=["measure", "sentences", "rho"]).assign(kind="decoder", shown=True)
    told = contest.tables.owed_to_sharing(rows)
    assert "(decoder self heads)" in told and "gradient, signed 0.10 on the same" in told and "patching 0.40 on" in told


def test_stability_over_pairs_of_seeds():
    heads = index(encoder=[5], decoder=[3])
    three = ("EN-RU news", 3)
    tables = {place: table(n, heads) for n, place in enumerate((ONE, TWO, three))}
    turned = pd.DataFrame({"other": [1, 2, 3, 4, 0, 0, 1, 2], "cosine": 0.5, "chance": 0.0}, heads)
    matched = {(ONE, TWO): turned, (ONE, three): turned, (TWO, three): turned}
    both = {tuple((name + contest.tables.EVERY, seed) for name, seed in pair): turned for pair in matched}  # swept twice
    assert contest.tables.likeness(matched).equals(contest.tables.likeness(both | matched)) and len(both) == 3
    twice = {(name + contest.tables.EVERY, seed): part for (name, seed), part in tables.items()}
    pairs = contest.tables.across_seeds(tables, matched)
    assert contest.tables.across_seeds(tables | twice, matched | both).equals(pairs)
    assert set(pairs.seeds) == {"1, 2", "1, 3", "2, 3"}
    found = contest.tables.stability(pairs)
    found = found.set_index(["compared", "measure"])
    assert set(found.kind) == {"encoder"} and (found.models == 3).all()
    pairs = [tuple(tables[place].confidence.to_numpy()[:5] for place in pair) for pair in matched]
    for compared, order in (("matched heads, other seed", [1, 2, 3, 4, 0]), ("same index, other seed", range(5))):
        values = [spearmanr(one, other[list(order)]).statistic for one, other in pairs]
        row = found.loc[(compared, "confidence")]
        assert [row.rho, row.low, row.high] == pytest.approx([np.mean(values), min(values), max(values)])


def contested(**changes):
    """What `trained_on` gives: changes by criterion and test set."""
    rows = []
    for criterion, values in changes.items():
        for number, value in enumerate(np.atleast_1d(values)):
            rows.append({"criterion": criterion, "draw": number, "test set": "test", "heads": 3, "bleu": 50 + value,
                         "change": value, "low": value - 1, "high": value + 2})  # fmt: skip
    return pd.DataFrame(rows)


def test_several_draws_of_a_seed_count_once():
    parts = {ONE: contested(random=[1.0, 2, 3], cp=4.0), TWO: contested(random=[5.0, 6, 7], cp=4.5).assign(heads=5)}
    found = contest.tables.over_seeds(parts, ("criterion", "test set")).set_index("criterion")
    row = found.loc["random"]
    half = t.ppf(0.975, 1) * np.std([2, 6], ddof=1) / np.sqrt(2)
    assert [row.value, row.low, row.high, row.seeds] == pytest.approx([4, 4 - half, 4 + half, 2])
    assert found.heads.tolist() == [4, 4] and found.value["cp"] == 4.25 and found.model.tolist() == ["EN-RU news"] * 2
    apart = contest.tables.over_seeds({ONE: contested(cp=4.0), ("b", 1): contested(cp=0.0)}, ("criterion",)).set_index("model")
    assert apart.value.to_dict() == {"EN-RU news": 4, "b": 0} and apart.seeds.tolist() == [1, 1]  # models are not mixed


def test_every_criterion_against_l0_is_one_family():
    one = contested(**{"L0 (trained)": 0.0, "cp": 2.0, "random": [1.0, 3.0]})
    one = one.assign(above=one.change, above_low=one.low, above_high=one.high)
    found = contest.tables.against_l0({ONE: one}).set_index("criterion")
    assert found.family.eq(1).all() and np.isnan(found.p["random"])  # several draws of one seed have no interval
    assert found.p["cp"] == pytest.approx(2 * norm.sf(2 / (1.5 / norm.ppf(0.975)))) == found.p_holm["cp"]

    def told(costs=None, **changes):
        parts = {("EN-RU news", seed): contested(**{"L0 (trained)": 0.0} | changes) for seed in (1, 2)}
        ranked, drawn = contest.tables.over_seeds(parts, ("criterion", "test set")), contest.tables.stacked(parts)
        takeaway = f"{said_of.trained_on(ranked, drawn, 8)} {said_of.beyond_random(ranked, drawn)}"
        return takeaway, said_of.advice(ranked, drawn, costs), said_of.ahead(ranked, drawn)

    takeaway, advice, _ = told(random=[-1.0, 1.0], **dict.fromkeys("ab", -1.0), f=9.0)
    assert "at random by 0.0 [-1.8, +1.8]." in takeaway
    assert takeaway.startswith("In EN-RU news (2 trainings) 3 of 8 encoder heads stay. By *f* BLEU changes by +9")
    assert "(Holm's correction over 4 choices): *f*; not: *L0, while it trains*" in takeaway
    assert advice == (
        "**To prune an encoder, rank by f.** In EN-RU news (2 trainings) 1 of 4 choices beat random heads after Holm's"
        " correction, *f* by +9.0 [+7.2, +10.8] BLEU."
    )
    costs = pd.Series({"f": 2.0, "a": 1.0, "b": 3.25, "confidence": 0.5})  # the cheapest of those that are told from chance
    _, advice, ahead = told(costs, random=[-1.0, 1.0], f=9.0, a=8.5, b=8.5)
    assert "*a* and *L0, while it trains*. By" in ahead and "*a* +0.5 [+0.5, +0.5]" in ahead
    assert advice.startswith("**To prune an encoder, rank by a.** In EN-RU news (2 trainings) 3 of 4 choices")
    assert advice.endswith("1 of the other 2 is shown better.")
    assert told(random=0.0, cp=0.0)[1].startswith("No measure is shown to choose better than chance; the best")
    alone = {ONE: one}  # no interval over one training
    alone = contest.tables.over_seeds(alone, ("criterion", "test set"))
    assert (
        said_of.advice(alone, contest.tables.stacked({ONE: one}))
        == "One training decides no contest; the best by value is *relevance, conservative*."
    )
    _, advice, _ = told(**{"gradient, example": 0.2, "cp": 0.1, "L0's heads": 0.3})
    assert advice == "One training decides no contest; the best by value is *gradient importance*."  # no random heads


def test_an_interval_over_draws_is_never_narrower_than_the_draws_allow():
    close = pd.Series([1.0, 5.0, 2.0, 4.0], pd.Index([1, 1, 2, 2], name="seed"))  # means of both seeds are three
    assert contest.tables.nested(close)[1:3] == pytest.approx(ttest_1samp(close, 0).confidence_interval())
    apart = pd.Series([1.0, 2.0, 8.0, 9.0], close.index)
    assert contest.tables.nested(apart)[1:3] == pytest.approx(ttest_1samp([1.5, 8.5], 0).confidence_interval())
    assert contest.tables.nested(apart)[3] == 2 and contest.tables.nested(close)[3] == 4
    assert np.isnan(contest.tables.nested(close[:2])[1])


def test_the_answer_is_of_what_is_within_and_over_all_layers():
    pairs = pd.DataFrame({"kind": "encoder", "one": ["a", "b", "a"], "other": ["c", "c", "cp"], "rho": [0.5, 0.92, 0.1],
                          "shown": True})  # fmt: skip
    part = said_of.drawn(pairs)  # one rule of relevance is not drawn
    assert said_of.answer(part, "A.", "natural") == (
        "**On natural text measures agree well.** Two of 3 rank encoder self heads of a layer alike by 0.71 (median;"
        " 0.50 to 0.92). A."
    )
    assert said_of.answer(pairs[:0]).startswith("This run prunes no model")
    ends = {"other": said_of.SURVIVAL, "rho": [0.9, 0.1], "low": 0.0, "high": 1.0, "models": 3}
    two = pd.DataFrame({"kind": "encoder", "one": [said_of.UNIT, "confidence"]} | ends)
    told = said_of.answer(part, "A.", "natural", [two, two.assign(rho=[0.8, 0.2])], "other")
    assert "0.90 [0.00, 1.00] (3 models; other text: 0.80), with confidence by 0.10 [0.00, 1.00] (other text: 0.20)." in told
    models = {("a", 1): 0, ("a", 2): 0, ("b" + contest.tables.EVERY, 1): 0}
    assert said_of.swept(models) == "a and b (sweep of heads of all kinds)"
    everywhere = contest.tables.agreement({ONE: (own := table(0))}, within=False).set_index(["kind", "one", "other"])
    both = spearmanr(own[LOSS]["encoder"], own.confidence["encoder"]).statistic
    assert everywhere.rho["encoder", LOSS, "confidence"] == pytest.approx(both)


def test_a_measure_s_correlation_with_itself():
    stable = [(contest.tables.OTHER_TEXT, 0.9), ("matched heads, other seed", 0.3), ("same index, other seed", 0.01)]
    stable = pd.DataFrame(stable, columns=["compared", "rho"]).assign(kind="encoder", measure=LOSS, low=0.1, high=0.9)
    assert said_of.stability(stable.assign(rho=0.6)).startswith("The median of measures is")
    both = pd.concat([stable, stable.assign(measure="gradient, example", rho=stable.rho - 0.2)])
    assert said_of.stability(both) == (
        "At least in part: the median of measures is 0.80 on other sentences and 0.20 on matched heads of another"
        " training (-0.09 on heads of the same number); *gradient importance* reaches 0.70 and 0.10."
    )
    more = stable[1:2].assign(measure="votes", rho=0.8)
    assert said_of.steady(pd.concat([stable, more])).measure.unique().tolist() == [LOSS]  # one of those that are drawn


def layered(**values):
    """A contest of 2 of 8 heads in two layers: BLEU of each criterion, and how many heads it leaves in the first layer."""
    part = contested(**{name: change for name, (change, _) in values.items()})
    first = part.criterion.map({name: left for name, (_, left) in values.items()})
    return part.assign(**{"heads": 2, "layer 1": first, "layer 2": 2 - first}).assign(
        above=part.change, above_low=0.0, above_high=0.0
    )


def test_who_keeps_nothing_of_the_layer_where_the_loss_is():
    trained = {"L0 (trained)": (0.0, 2), "random": ([-4.0, -2.0], 1), "gradient, example": (0.1, 2), "confidence": (-3.0, 0)}
    parts = {("a", seed): layered(**trained, **{LOSS: (-1.0, 2)}) for seed in (1, 2)}
    ranked, whole = contest.tables.over_seeds(parts, ("criterion", "test set")), contest.tables.stacked(parts)
    worth = pd.Series([3.0, 3.0, 1.0, 1.0], index(encoder=[2, 2]), name=LOSS)
    tables = {("a", 1): worth.to_frame(), ("a", 2): worth.to_frame() + 1, ("b", 1): -worth.to_frame()}
    shares = contest.tables.shares(tables)
    assert shares.to_numpy().tolist() == pytest.approx(np.array([[0.75, 0.25], [8 / 12, 4 / 12]]))  # none of a negative sum
    kept = said_of.by_layer(ranked, whole)
    assert kept.loc["confidence"].tolist() == [0, 2] and kept.loc["random"].tolist() == [1, 1]
    lower = ranked.assign(value=ranked.value.where(ranked.criterion != "confidence", -3.5))
    there = whole[whole.seed == 1].assign(model="b")
    assert said_of.recommended(lower, there).endswith(
        " Not shown above random heads in a, but above them in b: none; as good there as *gradient importance* (not tested):"
        " none."
    )
    there.loc[there.criterion == "confidence", "change"] = 0.1
    assert said_of.recommended(lower, there).endswith(
        "*confidence*; as good there as *gradient importance* (not tested): *confidence*."
    )
    there.loc[there.criterion == "confidence", "change"] = -3.0
    assert said_of.recommended(ranked, None).endswith("then train on.") and said_of.recommended(ranked[:0], None) == ""
    found = said_of.gains(ranked, whole, there).set_index("choice")
    assert found.index.tolist() == ["gradient importance", "L0, while it trains", "confidence"]  # none of a paper is left out
    assert found["b, test, 1 training"].tolist() == ["+3.1 [+2.1, +4.1]", "+3.0 [+2.0, +4.0]", "0.0 [-1.0, +1.0], level"]
    assert found["a, 2 trainings"]["confidence"].endswith(", level") and said_of.gains(ranked.assign(seeds=1), whole).empty
    drawn = said_of.beside_random(ranked, contest.tables.against(parts), whole, 8)
    assert len(drawn) == 12 and drawn.low.isna().all() and drawn.model.iloc[0].startswith("2 of 8 heads left, then trained")
    alone = said_of.beside_random(ranked, contest.tables.against(parts), whole[whole.seed == 1])
    assert alone.low.notna().sum() == 4  # one training has an interval over sentences, single draws have none
    assert said_of.unpruned(ranked, whole, 2000).endswith("unpruned model (50.0); both train 2,000 more steps")
    more = pd.concat([whole, whole.assign(**{"test set": "other", "bleu": whole.bleu + 10})])
    assert "(50.0 and 60.0);" in said_of.unpruned(ranked, more, 1)


def test_what_carries_over_to_other_text():
    values = {"gradient, example": -1.0, "votes": -3.0, "L0 (trained)": 0.0, "random": [-9.0, -8.0]}
    parts = {("a", 1): contested(**values).assign(above=-2.0, above_low=-3.0, above_high=-1.0)}
    ranked, tested = contest.tables.over_seeds(parts, ("criterion", "test set")), contest.tables.against_l0(parts)
    tested = tested.assign(p_holm=np.where(tested.criterion == "votes", 0.01, 0.5))
    whole = contest.tables.stacked(parts)
    assert said_of.elsewhere(ranked, whole, ranked, tested, "other") == (
        "On other text (a, 1 training, 3 encoder heads left) *gradient importance* is -2.0 [-3.0, -1.0] BLEU on test beside L0."
        " Worse than L0 after Holm's correction: on test *votes*."
    )
    assert said_of.elsewhere(ranked, whole, ranked[ranked.criterion != said_of.UNIT], tested, "other") == ""
    equal = pd.DataFrame({"control": ["L0", "gradient importance", "random heads off"], "value": [1.0, 2, 3]})
    equal = equal.assign(seeds=5, low=0, high=9, change=4.0, change_low=3.0, change_high=5.0)
    assert "by +4.0 [+3.0, +5.0] BLEU, of gradient importance by +4.0 [+3.0, +5.0]; *votes* alone," in said_of.printed(
        equal, tested
    )
    assert said_of.even(equal).endswith("2.0 [0.0, 9.0] BLEU, random heads of grouped models 3.0 [0.0, 9.0] (5 trainings).")


def test_what_is_drawn_of_heads_removed_at_once():
    parts = {("a", 1): pd.concat([shot(h2=3.0), shot("random", 0, h2=1.0), shot("random", 1, h2=2.0)])}
    each = contest.tables.each_training(parts)
    assert each[["seed", "criterion", "heads", "change"]].to_numpy().tolist() == [[1, "cp", 2, 1.5]]
    names = [said_of.UNIT, LOSS, "L1 gates", "cp"]
    rows = [(model, seed, name, heads, heads * seed * at) for model in ("a", "b", "a, all kinds") for seed in (1, 3)
            for at, name in enumerate(names if model == "b" else names[1::-1] + names[2:]) for heads in (2, 4)]  # fmt: skip
    drawn = said_of.removed(pd.DataFrame(rows, columns=each.columns), ["cp"])
    assert drawn.series.unique().tolist() == [*map(said_of.named, (LOSS, said_of.UNIT, "L1 gates", "cp"))]
    own = drawn[(drawn.setting == "a: heads of all kinds") & (drawn.series == said_of.named("cp"))]
    assert own[["panel", "value", "low", "high"]].to_numpy().tolist() == [["heads of all kinds go", 18.0, 9.0, 27.0]]
    gains = {"a": (-2.0, -1.0, -3.0, -2.0), "a, all kinds": (-2.0, 1.0, -1.0, -0.5), "b": (-1.0, -2.0, -3.0, -1.0)}
    rows = [(model, 1, name, 2, change) for model, changes in gains.items()
            for name, change in zip((said_of.UNIT, LOSS, "L1 gates", said_of.BY_LAYER), changes, strict=True)]  # fmt: skip
    assert said_of.at_once(pd.DataFrame(rows, columns=each.columns)) == (
        "As a mean over numbers of heads, removal by *gradient importance* costs less than random heads in every setting and"
        " training; so do *gradient importance, by layer* and *L1 gates*, where measured.",
        "In b: encoder heads (1 training) 2 of 2 others cost less than *gradient importance*. *L1 gates* cost less than it in"
        " 2 of 3 settings. Differences are not tested.",
    )


def test_p_values_over_seeds():
    one = contested(**{"L0 (trained)": 0.0, "cp": 2.0, "random": [1.0, 3.0]})
    one = one.assign(above=one.change, above_low=one.low, above_high=one.high)
    seeds = {("EN-RU news", n): one.assign(above=one.change + n) for n in (1, 2, 4)}
    found = contest.tables.against_l0(seeds).set_index("criterion")
    assert found.p["cp"] == pytest.approx(ttest_1samp([3.0, 4.0, 6.0], 0).pvalue) and found.family.eq(2).all()


def test_differences_are_paired_by_seed():
    cp, trained, drawn = [1.0, 2.0, 4.0], [0.5, 2.5, 2.0], [[0.0, 2.0], [1.0, 1.0], [5.0, 3.0]]
    parts = {
        ("a", seed + 1): contested(**{"L0 (trained)": trained[seed], "random": drawn[seed], "cp": cp[seed]})
        for seed in range(3)
    }
    found = contest.tables.against(parts)
    twice = {trained: pd.concat([part, part.assign(**{"test set": "again"})]) for trained, part in parts.items()}
    pd.testing.assert_frame_equal(contest.tables.against(twice), found)  # the same trainings tell nothing more
    assert found.index.tolist() == ["L0 (trained)", "random", "cp"] and found.index.name == "criterion"
    difference, row = np.subtract(cp, trained), found.loc["cp"]
    shown = [row[("L0 (trained)", name)] for name in ("difference", "low", "high")]
    assert shown == pytest.approx([difference.mean(), *ttest_1samp(difference, 0).confidence_interval()])
    better = np.mean([(a > b) + (a == b) / 2 for a in cp for b in trained])
    assert row[("L0 (trained)", "probability")] == pytest.approx(better)
    assert row[("random", "difference")] == pytest.approx(np.mean(np.subtract(cp, [1, 1, 4])))  # draws of a seed count once
    assert np.isnan(found.loc["random"][("random", "difference")])
    assert found.loc["random"][("L0 (trained)", "difference")] == pytest.approx(np.mean(np.subtract([1, 1, 4], trained)))


def shot(criterion="cp", draw=0, **points):
    rows = [(criterion, draw, int(number[1:]), change) for number, change in points.items()]
    return pd.DataFrame(rows, columns=["criterion", "draw", "heads", "change"])


def test_curves_on_common_numbers_of_heads():
    parts = {ONE: shot(h0=8.0, h4=4.0, h8=0.0), TWO: shot(h2=7.0, h6=3.0, h10=1.0)}
    found = contest.tables.along(parts)
    assert not found.measured.any() and contest.tables.along({ONE: parts[ONE]}).measured.all()
    assert set(found.model) == {"EN-RU news"} and found["heads"].tolist() == [2, 4, 6, 8]  # where all seeds have a value
    one, two = [6.0, 4, 2, 0], [7.0, 5, 3, 2]
    assert found.change.tolist() == pytest.approx(np.mean([one, two], 0).tolist())
    half = t.ppf(0.975, 1) * np.abs(np.subtract(one, two)) / 2
    np.testing.assert_allclose(found.high - found.change, half)
    np.testing.assert_allclose(found.change - found.low, half)
    parts = {ONE: pd.concat([shot(h2=1.0), shot("mine", h2=1.0)]), TWO: shot(h9=1.0)}  # one seed alone has it, and not there
    assert set(contest.tables.along(parts).criterion) == {"cp"}


def test_no_two_jobs_share_a_name():
    for profile in ("tiny", "laptop"):
        jobs = contest.runs.jobs(study.settings(profile, {"seeds": 2}), ["ru-news", "de-news", "ru-subtitles"], 1)
        names = contest.tables.collected(jobs, contest.tables.called)
        files = {contest.tables.stored_as(job, 1) for job in jobs}
        assert len(names) == len(files) == len(jobs)


def test_a_model_of_one_seed_does_not_take_the_interval_from_the_others():
    parts = {("a", 1): contested(**{"L0 (trained)": 1.0, "cp": 2.0}), ("a", 2): contested(**{"L0 (trained)": 1.0, "cp": 4.0})}
    parts["b", 1] = contested(**{"L0 (trained)": 0.0, "cp": 50.0})
    row = contest.tables.against(parts, ("L0 (trained)",)).loc["cp", "L0 (trained)"]
    assert row.difference == 2 and row.low < 2 < row.high and row.probability == 1
    parts[("b", 1)] = parts[("b", 1)].iloc[:1]  # a criterion that one model lacks
    assert contest.tables.against(parts, ("L0 (trained)",)).loc["cp", "L0 (trained)"].difference == 2


def test_a_model_that_was_swept_twice_counts_once():
    one, other = table(0), table(3)
    again = one.copy()
    found = contest.tables.distinct({("a", 1): one, ("a, all kinds", 1): again, ("b", 1): other, ("a", 2): one})
    assert list(found) == [("a, all kinds", 1), ("b", 1), ("a", 2)] and found["a, all kinds", 1] is again
    alone, twice = contest.tables.agreement({("a", 1): one}), contest.tables.agreement({("a", 1): one, ("b", 1): one})
    assert (twice.models == alone.models).all()
    assert set(alone.over) == {intervals.HEADS} and (alone.low < alone.high).any()  # of one model over its heads
    assert "are above zero by their own interval, 1 after Holm's correction" in said_of.agreement(alone)
    two = contest.tables.predictors({("a", 1): one, ("b", 1): other}, {})
    assert set(two.over) == {intervals.MODELS}


def test_a_loss_stands_beside_its_own_head_s_interval():
    heads = index(encoder=[2, 2], cross=[2])
    loss = pd.Series([0.003, -0.001, 0.02, 0.0, 0.1, 0.002], heads)
    effects = pd.DataFrame({"loss": loss, "low": loss - 0.001, "high": loss + 0.001})
    table = loss.to_frame(LOSS).assign(functions=None)
    kept, called = said_of.heart(table, (), effects)
    assert kept[LOSS].tolist() == [100, 20, 3, 2, 0, -1]  # of all kinds in one order, thousandths of a nat
    assert ((kept[f"{LOSS}_low"] < kept[LOSS]) & (kept[LOSS] < kept[f"{LOSS}_high"])).all()
    assert kept.address.iloc[0] == "cross, layer 1, head 1" and list(called) == ["address", LOSS]
    apart, _ = said_of.heart(table)
    assert apart[LOSS].tolist() == [20, 3, 0, -1, 100, 2]  # one kind after the other


def test_the_reference_serves_runs_like_it_only(tmp_path, monkeypatch):
    monkeypatch.setattr(said.study, "ROOT", tmp_path)
    place = layout.Chapter(tmp_path / "figures" / "controlled" / "06")
    place.shared.parent.mkdir(parents=True)
    place.shared.write_text('{"parameters": {"profile": "laptop"}}')
    for name in ("removed_at_once", "contest"):
        table = layout.Chapter(tmp_path / "figures" / "controlled" / "06_do_measures_agree").table(name)
        table.parent.mkdir(parents=True, exist_ok=True), table.touch()
    run = lambda **given: SimpleNamespace(name="06", corpus="controlled", parameters={"profile": "laptop"} | given)  # noqa: E731
    assert said.reference(run(text="")) == tmp_path / "figures" / "controlled"
    for other in ({"profile": "tiny"}, {"overrides": "a=1"}, {"pretrained": "x"}, {"text": "x"}):
        assert said.reference(run(**other)) is None
