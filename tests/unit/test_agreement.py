"""What measures agree with, against hand-made cases, slow loops and planted effects."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from helpers.measures.ranks import correlation, follows_function

ROLE = [("nsubj", "v→s")]
pytestmark = pytest.mark.filterwarnings("error")


def table(layers, kind="encoder"):
    """Index of layers with the given numbers of heads."""
    rows = [(kind, layer, head) for layer, heads in enumerate(layers) for head in range(heads)]
    return pd.MultiIndex.from_tuples(rows, names=["kind", "layer", "head"])


def noise(index, seed):
    return pd.Series(np.random.default_rng(seed).random(len(index)), index)


def slow_bootstrap(truth, measure, layers, within, repeats=400):
    """Draw heads one by one; the correlation of every resample by scipy."""
    rng, found = np.random.default_rng(99), []
    parts = np.split(np.arange(len(truth)), np.cumsum(layers)[:-1]) if within else [np.arange(len(truth))]
    for _ in range(repeats):
        drawn = [[rng.choice(places) for _ in places] for places in parts]
        sides = []
        for column in (truth.to_numpy(), measure.to_numpy()):
            ranks = [(rankdata(column[places]) - 1) / (len(places) - 1) for places in drawn]
            sides.append(np.concatenate(ranks))
        if all(len(set(side)) > 1 for side in sides):
            found.append(spearmanr(*sides).statistic)
    return np.quantile(found, [0.025, 0.975])


@pytest.mark.parametrize("within", [False, True])
def test_correlation_is_spearmans_with_a_bootstrap_over_heads(within):
    layers = [6, 4, 5]
    index = table(layers)
    truth = noise(index, 0) + pd.Series(index.get_level_values("layer"), index)
    measure = (truth + 0.8 * noise(index, 1)).round(1)  # with ties
    found = correlation(truth, measure, within_layer=within)
    layer = [c.groupby(level="layer") for c in (truth, measure)]
    columns = [(c.rank() - 1) / (c.transform("count") - 1) for c in layer] if within else [truth, measure]
    assert found["rho"] == pytest.approx(spearmanr(*columns).statistic) and found["heads"] == 15
    np.testing.assert_allclose([found["low"], found["high"]], slow_bootstrap(truth, measure, layers, within), atol=0.07)
    apart = index[np.random.default_rng(2).permutation(15)]  # heads of a layer do not stand together
    mixed = correlation(truth[apart], measure[apart], within_layer=within)
    np.testing.assert_allclose([mixed["low"], mixed["high"]], slow_bootstrap(truth, measure, layers, within), atol=0.07)
    # the order of the rows is nothing
    assert correlation(truth, measure.sample(frac=1, random_state=1), within_layer=within) == found


def roles(index, places):
    return pd.Series([ROLE if i in places else [] for i in range(len(index))], index)


def test_heads_with_a_function_by_hand():
    # relative to their layer: 2, 1, 1, 0 | 1.5, .5 | (every head has a function) | (no head has one)
    relevance = pd.Series([0.5, 0.25, 0.25, 0, 0.75, 0.25, 0.9, 0.1, 0.9, 0.1], table([4, 2, 2, 2]))
    other = pd.Series([0.2, 0.8], table([2]))
    cross = pd.Series([0.1, 0.9], table([2], "cross"))
    columns = {"a": pd.concat([relevance, cross]), "b": other}
    functions = {"a": roles(columns["a"].index, {0, 1, 4, 6, 7, 10}), "b": roles(other.index, {1})}
    found = follows_function(columns, functions, draws=500)
    with_one, without = [2, 1, 1.5, 1.6], [1, 0, 0.5, 0.4]
    assert found["difference"] == pytest.approx(np.mean(with_one) - np.mean(without))
    assert found["low"] < found["difference"] < found["high"]


def test_shuffled_functions_give_the_exact_chance():
    relevance = pd.Series([0.4, 0.3, 0.2, 0.1, 0.6, 0.2, 0.1, 0.1], table([4, 4]))
    functions = roles(relevance.index, {0, 4})
    found = follows_function({"a": relevance}, {"a": functions}, draws=4000)
    assert found["p"] == pytest.approx(1 / 16, abs=0.015)  # one of 4 x 4 placings is as large
    assert follows_function({"a": relevance}, {"a": functions}, draws=1)["p"] in (0.5, 1)  # never 0
