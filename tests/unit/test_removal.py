"""Heads that go: the least important, and random draws that are the same at every call."""

import numpy as np
import pandas as pd

from helpers import heads
from helpers.measures.removal import least, shuffled
from tests.unit.tiny_models import tiny_model


def test_draws_differ_and_are_the_same_at_every_call():
    index = heads.index(tiny_model("marian"))
    one, again, other = (least(shuffled(index, 1, draw), 6) for draw in (0, 0, 1))
    assert one == again != other and len(set(one)) == 6


def test_of_equals_the_first_heads_go_and_unmeasured_ones_before_all():
    column = pd.Series([1.0, 0.0, 2.0, 0.0, np.nan, 0.0], pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1, 2]]))
    assert least(column, 0) == []
    assert least(column, 4) == [("encoder", 1, 1), ("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 2)]
