"""Gated models: what gates do to them, what they cost and how they learn."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import models
from helpers.heads import KINDS, gate, index
from helpers.methods.l0 import ALMOST_OPEN, HALF_OPEN, Gated, HardConcrete, objective
from helpers.study import StudyError
from tests.unit.tiny_models import logits, tiny_batch, tiny_model

COMBINATIONS = [("marian", ("encoder",)), ("marian", ("cross", "decoder")), ("t5", KINDS), ("opt", ("decoder",))]
combinations = pytest.mark.parametrize(("family", "kinds"), COMBINATIONS, ids=str)


def still(family="marian"):
    """A tiny model in double precision that has no dropout: training and evaluation differ in nothing."""
    names = ("dropout_rate",) if family == "t5" else ("dropout", "attention_dropout", "activation_dropout")
    return tiny_model(family, **dict.fromkeys(names, 0.0)).double()


def gated_model(family="marian", kinds=("encoder",), log_alpha=None, **more):
    """A gated model with chosen log alphas, or random ones (a float: of that size)."""
    gated = Gated(still(family), kinds, **more)
    if isinstance(log_alpha, float):
        log_alpha = torch.randn(len(gated.heads), generator=torch.Generator().manual_seed(4)) * log_alpha
    if log_alpha is not None:
        gated.scaled.data.copy_(torch.as_tensor(log_alpha) / gated.rate)
    return gated


def batch_for(family="marian", seed=1):
    """Padded examples as `helpers.models.inputs` passes them on."""
    return models.inputs(tiny_batch(family, seed))


def under(model, heads, values, batch):
    """Logits with a number for each head."""
    with gate(model, dict(zip(heads, map(float, values), strict=True))):
        return logits(model, batch)


@combinations
def test_training_draws_one_gate_a_head_for_the_whole_batch(family, kinds):
    gated, batch = gated_model(family, kinds, 1.0).train(), batch_for(family)
    torch.manual_seed(7)
    first, second = logits(gated, batch), logits(gated, batch)
    torch.manual_seed(7)
    draws = [gated.gates.sample().detach() for _ in range(2)]
    assert not torch.equal(*draws) and 0 < draws[0].min() + draws[0].max() < 2
    for found, drawn in zip((first, second), draws, strict=True):
        assert torch.equal(found, under(gated.model, gated.heads, drawn, batch))


@combinations
def test_evaluation_is_not_drawn(family, kinds):
    gated, batch = gated_model(family, kinds, 3.0).eval(), batch_for(family)
    values = [float(a > 0) for a in gated.gates.log_alpha.tolist()]
    assert 0 in values and 1 in values
    assert gated.heads.equals(index(gated.model, kinds))  # only the given kinds have gates
    found = logits(gated, batch)
    torch.testing.assert_close(found, under(gated.model, gated.heads, values, batch), rtol=1e-10, atol=1e-10)
    assert torch.equal(found, logits(gated, batch)) and not torch.equal(found, logits(gated.model, batch))
    assert gated.closed() == [address for address, value in zip(gated.heads, values, strict=True) if not value]


def test_nothing_stays_in_the_model():
    model, plain = still(), still()
    gated = Gated(model, KINDS, steps=3)
    gated.train()(**batch_for()).logits.sum().backward()
    with pytest.raises(ValueError):
        gated.train()(**batch_for() | {"input_ids": None})
    assert list(model.state_dict()) == list(plain.state_dict())
    assert torch.equal(logits(model, batch_for()), logits(plain, batch_for()))
    assert [name for name, _ in gated.named_parameters() if not name.startswith("model.")] == ["scaled"]


@pytest.mark.parametrize(("family", "kinds", "rate"), [(*COMBINATIONS[0], 40.0), (*COMBINATIONS[3], 1.0)], ids=str)
def test_objective_is_cross_entropy_and_the_price_of_open_gates(family, kinds, rate):
    gated, batch, price = gated_model(family, kinds, 1.5, rate=rate), batch_for(family), 0.3
    p_open = [1 / (1 + math.exp(-(a - 0.33 * math.log(0.1 / 1.1)))) for a in gated.gates.log_alpha.tolist()]
    for mode in (gated.eval(), gated.train()):
        torch.manual_seed(2)
        plain = models.cross_entropy(mode, batch, 0.1)
        torch.manual_seed(2)
        assert objective(mode, batch, 0.1, price).item() == pytest.approx(plain.item() + price * sum(p_open), rel=1e-12)
    slopes = []
    for penalty in (0.0, price):
        torch.manual_seed(2)
        slopes.append(torch.autograd.grad(objective(gated, batch, 0.1, penalty), gated.scaled)[0])
    of_price = [rate * price * p * (1 - p) for p in p_open]
    np.testing.assert_allclose(slopes[1] - slopes[0], of_price, rtol=1e-9)


def test_where_gates_start():
    assert (gated_model(kinds=KINDS).gates.log_alpha == ALMOST_OPEN).all()
    low, high = HALF_OPEN
    for rate in (1.0, 40.0):
        drawn = gated_model(kinds=KINDS, start=HALF_OPEN, rate=rate).gates.log_alpha.detach()
        assert low <= drawn.min() < 0.5 * low and 0.5 * high < drawn.max() <= high and len(drawn.unique()) == len(drawn)
    middles = HardConcrete(torch.linspace(low, high, 1001)).sample(torch.linspace(0.0005, 0.9995, 1000)[:, None]).mean()
    assert float(middles) == pytest.approx(0.5, abs=0.01)


def test_weights_of_all_gated_kinds_learn_or_none():
    model = still().requires_grad_(False)
    Gated(model, KINDS)  # gates alone
    model.get_decoder().layers.requires_grad_(True)
    Gated(model, ("decoder", "cross"))
    with pytest.raises(StudyError, match="Gates on encoder, whose weights are frozen"):
        Gated(model, ["encoder", "decoder"])


def test_trace_holds_every_step_from_the_start():
    gated = gated_model(kinds=("encoder", "cross"), log_alpha=1.0, rate=30.0, steps=5).train()
    optimiser = torch.optim.Adam(gated.parameters(), lr=1e-2)
    seen = [gated.gates.log_alpha.detach().clone()]
    for step in range(5):
        optimiser.zero_grad()
        objective(gated, batch_for(seed=step), 0.1, 0.1).backward()
        optimiser.step()
        seen.append(gated.gates.log_alpha.detach().clone())
        logits(gated.eval(), batch_for())  # an evaluation is no step
        gated.train()
    trace = gated.trace()
    assert trace.index.tolist() == list(range(6)) and pd.MultiIndex.from_tuples(trace.columns).equals(gated.heads)
    np.testing.assert_allclose(trace, torch.stack(seen), rtol=1e-6)
    assert (np.abs(np.diff(trace, axis=0)).max(1) > 0.01).all()
