"""Criteria of the comparison that are no measures: votes over an epoch, and gates under an L1 price."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, models
from helpers.methods import grouping
from helpers.methods.contest.runs import l1_gates, voted
from tests.unit.tiny_models import tiny_batch, tiny_model


def test_votes_are_shares_of_batches():
    model, batches = tiny_model("marian"), [tiny_batch("marian", seed) for seed in range(5)]
    found = voted(model, batches)
    assert found.index.equals(heads.index(model)) and found.name == "votes"
    wins = pd.Series(0.0, found.index)
    for batch in batches:
        alone = grouping.ballot(model, [batch], "V", 2)
        for site, won in zip(alone.places, alone.votes, strict=True):
            for head in won.nonzero().flatten().tolist():
                wins[site.kind, site.layer, head] += 1
    np.testing.assert_allclose(found, wins / 5)
    np.testing.assert_allclose(found.groupby(level=["kind", "layer"]).sum(), 2)  # one head of each group
    assert found.between(0, 1, inclusive="neither").any()


def one_batch(number):
    return [tiny_batch("marian", 1)]


def test_first_step_against_the_slope_of_loss_and_price():
    model, batch, slopes = tiny_model("marian"), tiny_batch("marian", 1), {}
    found = l1_gates(model, one_batch, 1, 0.05, 0.02)
    assert found.index.equals(heads.index(model))
    double = copy.deepcopy(model).double()
    for address in found.index[::3]:
        losses = []
        for value in (0.999, 1.001):
            with heads.gate(double, {address: value}), torch.no_grad():
                losses.append(float(models.cross_entropy(double, batch, 0.0)))
        slopes[address] = (losses[1] - losses[0]) / 0.002
        assert found[address] == pytest.approx(1 - 0.05 * np.sign(slopes[address] + 0.02), abs=1e-4), address
    steepest = min(slopes, key=slopes.get)
    assert slopes[steepest] < 0
    for share, step in ((1.1, -0.05), (0.9, 0.05)):  # each gate has the whole price
        dear = l1_gates(model, one_batch, 1, 0.05, -share * slopes[steepest])
        assert dear[steepest] == pytest.approx(1 + step, abs=1e-4)
