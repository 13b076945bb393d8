"""Tables of relevance and confidence (notebook 01) on small handmade numbers."""

import numpy as np
import pandas as pd
import pytest

from helpers.experiments import relevance
from helpers.measures.lrp import BySentence


def by_sentence(values, heads: pd.MultiIndex, rule: str) -> BySentence:
    """Relevance of each sentence, which has one target."""
    raw = np.array(values)
    return BySentence(heads, raw, np.ones(len(raw)), rule, raw)


def test_published_models_stand_beside_random_ones_and_on_another_corpus_beside_ours():
    ours = pd.DataFrame({"rule": "AttnLRP", "model": ["random weights", "EN-RU news", "all models"], "rho": [0.1, 0.5, 0.4]})
    here, there = ([*relevance.everywhere(ours.assign(low=0, high=1), corpus).model] for corpus in ("controlled", "natural"))
    assert there[-4:-2] == ["here, random weights", "EN-RU news"] and here[-3] == "toy news, random weights"


def test_dominance_is_of_magnitudes():
    heads = pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    signed = by_sentence([[1.0, -2.0, 3.0, 3.0], [0.0, -1.0, 1.0, 1.0], [2.0, 3.0, 1.0, 2.0]], heads, "cp")
    random = [by_sentence([values], heads, "cp") for values in ([1.0, 3.0, 1.0, 1.0], [1.0, -1.0, 1.0, 1.0])]
    table = relevance.dominance({"a": {"cp": signed}}, {"cp": random}, repeats=200)
    assert table.index.tolist() == [("a", 1, "cp"), ("a", 2, "cp")]  # magnitudes of the sums 3 and 0, 5 and 6
    wanted = [[2, 1, 0.625], [2, 6 / 11, 0.5]]
    assert table[["heads", "largest", "at random"]].to_numpy() == pytest.approx(np.array(wanted))
    row = table.loc["a", 2, "cp"]
    assert row.low < row.largest < row.high
