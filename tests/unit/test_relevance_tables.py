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


def test_what_one_reads_off_figure_1_in_numbers():
    rows = [(1, 1, 1, 0.6, 0.9, "nsubj"), (1, 2, 2, 0.4, 0.2, ""), (2, 1, 3, 0.7, 0.1, ""), (2, 2, 1, 0.3, 0.85, "rare")]
    columns = ["layer", "place", "confidence place", "relevance", "confidence", "functions"]
    (row,) = relevance.most_relevant(pd.DataFrame(rows, columns=columns).assign(model="A")).to_dict("records")
    assert row == pytest.approx({
        "most confident too": 1, "by chance": 1.0, "largest share": 0.65, "with a function": 1, "first place": 1,
        "sure": 2,
    })  # fmt: skip


def test_dominance_is_of_magnitudes():
    heads = pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    signed = by_sentence([[1.0, -2.0, 3.0, 3.0], [0.0, -1.0, 1.0, 1.0], [2.0, 3.0, 1.0, 2.0]], heads, "cp")
    random = [by_sentence([values], heads, "cp") for values in ([1.0, 3.0, 1.0, 1.0], [1.0, -1.0, 1.0, 1.0])]
    table = relevance.dominance({"a": {"cp": signed}}, {"cp": random}, repeats=200)
    assert table.index.tolist() == [("a", 1, "cp"), ("a", 2, "cp")]  # magnitudes of the sums 3 and 0, 5 and 6
    columns = ["heads", "largest", "at random", "random low", "random high"]
    wanted = [[2, 1, 0.625, 0.5, 0.75], [2, 6 / 11, 0.5, 0.5, 0.5]]
    assert table[columns].to_numpy() == pytest.approx(np.array(wanted))
    row = table.loc["a", 2, "cp"]
    assert row.low < row.largest < row.high
