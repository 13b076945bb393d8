"""Heads removed at once: the least important go, draws are the same at every call, scores are those of what is left."""

import numpy as np
import pandas as pd

from helpers import heads
from helpers.measures.removal import at_once, least, shuffled
from tests.unit.tiny_models import tiny_model


def test_draws_differ_and_are_the_same_at_every_call():
    index = heads.index(tiny_model("marian"))
    one, again, other = (least(shuffled(index, 1, draw), 6) for draw in (0, 0, 1))
    assert one == again != other and len(set(one)) == 6


def test_of_equals_the_first_heads_go_and_unmeasured_ones_before_all():
    column = pd.Series([1.0, 0.0, 2.0, 0.0, np.nan, 0.0], pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1, 2]]))
    assert least(column, 0) == []
    assert least(column, 4) == [("encoder", 1, 1), ("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 2)]


def test_choices_of_the_same_heads_are_scored_once():
    model, seen = tiny_model("llama"), []
    worth = pd.Series(range(8), heads.index(model), dtype=float)
    columns = {"one": worth, "again": 2 * worth, "other": -worth}
    choices = [({"criterion": name}, least(column, 8 - left)) for name, column in columns.items() for left in (8, 5)]

    def score(left) -> dict[str, object]:
        seen.append(left)
        return {"left": heads.kept(left)}

    rows = list(at_once(model, choices, score))
    counts = [(row["criterion"], sum(map(len, row["left"].values()))) for row in rows]
    assert counts == [(name, n) for name in columns for n in (8, 5)]
    assert len(seen) == 3 and seen[0] is model, "the whole model needs no copy"
    assert rows[1]["left"] == rows[3]["left"] == {("decoder", 0): [3], ("decoder", 1): [0, 1, 2, 3]}
    assert rows[5]["left"] == {("decoder", 0): [0, 1, 2, 3], ("decoder", 1): [0]}
    assert len(heads.index(model)) == 8, "the model itself is as it was"
