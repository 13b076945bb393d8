"""Which head is which: fingerprints against a slow loop, planted permutations, hand-made cases, bad input."""

import dataclasses
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads
from helpers.corpora import Pair, tokens
from helpers.measures.matching import fingerprints, match, matched
from helpers.runs.subjects import Subject
from tests.reference import matching as slow
from tests.unit.tiny_models import tiny_model

SAID = {
    "the old doctor sleeps .": "der alte arzt schläft .", "books sleep .": "bücher schlafen .",
    "a doctor reads old books in the garden .": "ein arzt liest alte bücher im garten .",
    "the gardener , an old man , reads .": "der gärtner , ein alter mann , liest .",
}  # fmt: skip
PAIRS = [Pair(source, target, tuple(source.split())) for source, target in SAID.items()]


@cache
def subject(size: int = 45, seed: int = 0) -> Subject:
    """A tiny Marian model of random weights with vocabularies of `size` subwords a side."""
    source = tokens.Subwords(tokens.learn_vocabulary([pair.source for pair in PAIRS], size))
    target = tokens.Subwords(tokens.learn_vocabulary([pair.target for pair in PAIRS], size), offset=source.size)
    model = tiny_model("marian", seed, vocab_size=source.size + target.size)
    return Subject("translation", {}, Path(), source, target, "tiny", lambda: model)


def permuted(model, seed: int = 7):
    """The same model with the heads of each layer in another order, and that order: {(kind, layer): old numbers}."""
    model, rng, orders = deepcopy(model), np.random.default_rng(seed), {}
    for site in heads.sites(model):
        order = rng.permutation(site.heads).tolist()
        orders[site.kind, site.layer] = order
        rows = torch.cat([torch.arange(head * site.head_dim, (head + 1) * site.head_dim) for head in order])
        with torch.no_grad():
            for which in ("q", "k", "v"):
                projection = site.projection(which)
                projection.weight.copy_(projection.weight[rows])
                projection.bias.copy_(projection.bias[rows])
            out = site.projection("out").weight
            out.copy_(out[:, rows])
    return model, orders


@pytest.fixture(scope="module")
def both():
    """Fingerprints of a model and of a copy whose heads stand in another order, both models, and that order."""
    one = subject()
    model, orders = permuted(one.model)
    assert all(order != sorted(order) for order in orders.values())
    other = Subject("translation", {}, Path(), one.source, one.target, "permuted", lambda: model)
    return fingerprints(one, PAIRS), fingerprints(other, PAIRS), one.model, model, orders


def test_fingerprints_are_those_of_a_slow_loop(both):
    one = subject()
    wanted = slow.fingerprints(one.model, one.source, one.target, PAIRS)
    assert any(len(one.source.encode(pair.source)) > len(pair.words) + 1 for pair in PAIRS)  # words of several subwords
    assert both[0].keys() == wanted.keys()
    for place, prints in both[0].items():
        np.testing.assert_allclose(prints, np.array([*wanted[place].values()]), atol=1e-6, err_msg=str(place))
        assert prints.std(0).max() > 0.02, "heads must differ for this to say anything"


def test_heads_in_another_order_are_found_again(both):
    prints, mixed, whole, _, orders = both
    found = match(prints, mixed)
    assert set(found.index) == set(heads.index(whole))
    for (kind, layer, head), row in found.iterrows():
        assert orders[kind, layer][int(row.other)] == head
    np.testing.assert_allclose(found.cosine, 1, atol=1e-5)
    assert (found.average < 0.5).all()


def test_several_trainings_are_matched_beside_chance(both):
    """A copy with its heads in another order is found whole; what random weights are matched with is far from it."""
    several = [subject(), subject(), subject()]
    several[0].sentences = [Pair("", "nichts"), *PAIRS]
    several[1] = dataclasses.replace(subject(), opened=lambda: both[3])
    first, second = matched(several, len(PAIRS))  # one with three, two with three
    assert len(first) == len(second) == len(both[0]) * 4
    (found,) = matched(several[:2], len(PAIRS))
    assert found.drop(columns="chance").equals(match(both[0], both[1])) and (second.cosine > 0.999).all()
    random = match(both[0], fingerprints(subject(), PAIRS, subject().untrained()))
    pd.testing.assert_series_equal(found.chance, random.cosine, check_names=False)
    assert 0 < found.chance.mean() < 0.6
