"""Tables of relevance and confidence (notebook 01) on small handmade numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from helpers.experiments import relevance
from helpers.measures.lrp import BySentence
from helpers.measures.ranks import within_layer_ranks


def shares(*layers: list[float], kind: str = "encoder") -> pd.Series:
    rows = {(kind, layer, head): value for layer, values in enumerate(layers) for head, value in enumerate(values)}
    return pd.Series(rows).rename_axis(["kind", "layer", "head"])


def by_sentence(values, heads: pd.MultiIndex, rule: str) -> BySentence:
    """Relevance of each sentence, which has one target."""
    raw = np.array(values)
    return BySentence(heads, raw, np.ones(len(raw)), rule, raw)


def two_models():
    """Head tables of two models with two layers of three heads; the first head of each has two functions."""
    tables, heads = {}, shares([0.0] * 3, [0.0] * 3).index
    for seed, model in enumerate(("A", "B")):
        rng = np.random.default_rng(seed)
        values = pd.DataFrame({"relevance": rng.random(6), "confidence": rng.random(6)}, heads)
        values["functions"] = ["nsubj, rare", *[""] * 5]
        tables[model] = pd.concat([values, values.rename({"encoder": "cross"}, level="kind")])
    return tables


def test_what_one_reads_off_figure_1_in_numbers():
    rows = [(1, 1, 1, 0.6, 0.9, "nsubj"), (1, 2, 2, 0.4, 0.2, ""), (2, 1, 3, 0.7, 0.1, ""), (2, 2, 1, 0.3, 0.85, "rare")]
    columns = ["layer", "place", "confidence place", "relevance", "confidence", "functions"]
    (row,) = relevance.most_relevant(pd.DataFrame(rows, columns=columns).assign(model="A")).to_dict("records")
    assert row == pytest.approx({
        "most confident too": 1, "by chance": 1.0, "largest share": 0.65, "with a function": 1, "first confidence": 0.9,
        "sure": 2,
    })  # fmt: skip


def test_relevance_and_confidence_are_compared_within_layers_by_every_rule():
    """Signed rules by the size of what is summed over tokens; shuffles stay below what the table says."""
    rng, heads = np.random.default_rng(3), shares([0.0] * 4, [0.0] * 4).index
    explained = {
        model: {rule: by_sentence(rng.normal(size=(3, 8)) + 2, heads, rule) for rule in ("alpha_beta", "cp")} for model in "ab"
    }
    confidence = {model: pd.Series(rng.random(8), heads) for model in "ab"}
    random = {rule: by_sentence(rng.normal(size=(2, 8)), heads, rule) for rule in ("alpha_beta", "cp")}
    table = relevance.agreement(explained, confidence, random, pd.Series(rng.random(8), heads), repeats=50)
    assert table.model.tolist() == [name for name in ("a", "b", "all models", "random weights") for _ in range(2)]
    rows = table.set_index(["model", "rule"])
    for model in "ab":
        both = (within_layer_ranks(one) for one in (explained[model]["cp"].series("ratio").abs(), confidence[model]))
        assert rows.rho[model, "conservative"] == pytest.approx(spearmanr(*both).statistic)
    ranks = [pd.concat([within_layer_ranks(part[model]) for model in "ab"])
             for part in ({m: explained[m]["cp"].series("ratio").abs() for m in "ab"}, confidence)]  # fmt: skip
    pooled = rows.loc[("all models", "conservative")]
    assert pooled.rho == pytest.approx(spearmanr(*ranks).statistic) and pooled.heads == 16
    one = shares([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    drawn = [spearmanr(one, one.groupby(level="layer").transform(rng.permutation)).statistic for _ in range(2000)]
    of_chance = relevance.agreement({"a": {"alpha_beta": by_sentence([one], one.index, "alpha_beta")}}, {"a": one}, {}, one)
    assert np.quantile(np.abs(drawn), 0.95) == pytest.approx(of_chance.shuffled[0], abs=0.05)


def test_dominance_is_of_magnitudes():
    heads = shares([0.0] * 2, [0.0] * 2).index
    signed = by_sentence([[1.0, -2.0, 3.0, 3.0], [0.0, -1.0, 1.0, 1.0], [2.0, 3.0, 1.0, 2.0]], heads, "cp")
    random = by_sentence([[1.0, 3.0, 1.0, 1.0]], heads, "cp")
    table = relevance.dominance({"a": {"cp": signed}}, {"cp": random}, repeats=200)
    assert table.index.tolist() == [("a", 1, "cp"), ("a", 2, "cp")]  # magnitudes of the sums 3 and 0, 5 and 6
    assert table[["heads", "largest", "at random"]].to_numpy() == pytest.approx(np.array([[2, 1, 0.75], [2, 6 / 11, 0.5]]))
    row = table.loc["a", 2, "cp"]
    assert row.low < row.largest < row.high


def test_functions_are_compared_model_by_model_and_together():
    tables = two_models()
    table = relevance.follows_function(tables)
    assert table.index.tolist() == ["A", "B", "all models"] and table.functional.tolist() == [1, 1, 2]
    for model in ("A", "B"):
        layer_table = tables[model].relevance["encoder"][0]
        wanted = layer_table[0] / layer_table.mean() - (layer_table[1] + layer_table[2]) / 2 / layer_table.mean()
        assert table.difference[model] == pytest.approx(wanted)
