"""Hard Concrete gates against integration of their definition, against draws, and against the figures of the paper."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch

from helpers.methods.l0.gates import HardConcrete, penalty_per_head, per_layer_mean
from helpers.study import StudyError
from tests.reference import l0 as slow

SHAPES = [(0.33, -0.1, 1.1), (0.5, -0.1, 1.1), (0.8, -0.3, 1.05)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
LOCATIONS = [-6.0, -2.4, -0.7, 0.0, 0.3, 1.5, 6.0]


def gates(locations, *shape, dtype=torch.float64):
    return HardConcrete(torch.tensor(locations, dtype=dtype), *shape)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


# -------------------- probabilities


@shapes
def test_probabilities_and_density_are_those_of_the_definition(shape):
    found = gates(LOCATIONS, *shape)
    twins = [slow.Gate(location, *shape) for location in LOCATIONS]
    closed, full = [twin.p_closed() for twin in twins], [twin.p_full() for twin in twins]
    np.testing.assert_allclose(found.p_closed(), closed, rtol=1e-9)
    np.testing.assert_allclose(found.p_full(), full, rtol=1e-9)
    np.testing.assert_allclose(found.p_open(), 1 - np.array(closed), rtol=1e-9)
    np.testing.assert_allclose(found.p_open() + found.p_closed(), 1.0, rtol=1e-15)
    for x in (0.001, 0.2, 0.5, 0.93, 0.999):
        density = found.density(torch.tensor(x, dtype=torch.float64))
        np.testing.assert_allclose(density, [twin.density(x) for twin in twins], rtol=1e-9)
    # what is neither closed nor full is between
    np.testing.assert_allclose(1 - found.p_closed() - found.p_full(), [twin.between() for twin in twins], atol=1e-10)
    middles = torch.tensor(slow.grid(20_000))[:, None]
    np.testing.assert_allclose(found.density(middles).mean(0), 1 - found.p_closed() - found.p_full(), atol=1e-7)


@shapes
def test_probabilities_are_the_shares_of_a_million_draws(shape):
    torch.manual_seed(5)
    for location in (-1.0, 0.3):
        drawn = gates([location] * 1_000_000, *shape).sample()
        one = gates(location, *shape)
        assert drawn.min() == 0 and drawn.max() == 1
        for share, chance in (
            ((drawn == 0).double().mean(), one.p_closed()),
            ((drawn == 1).double().mean(), one.p_full()),
            ((drawn > 0).double().mean(), one.p_open()),
        ):
            assert abs(share - chance) < 4 * math.sqrt(chance * (1 - chance) / 1e6)  # four binomial standard deviations
        # and below any point inside as much as the density says
        cut = torch.tensor(slow.grid(2000)) * 0.4
        below = one.p_closed() + one.density(cut).mean() * 0.4
        assert abs((drawn < 0.4).double().mean() - below) < 4 * math.sqrt(below * (1 - below) / 1e6)


def test_figures_of_the_paper():
    # constants of the public code: P(g != 0) = sigmoid(log_alpha + 0.791), P(g = 1) = sigmoid(log_alpha - 0.791)
    for location in LOCATIONS:
        one = gates(location)
        assert one.p_open().item() == pytest.approx(sigmoid(location + 0.33 * math.log(11)), rel=1e-12)
        assert one.p_open().item() == pytest.approx(sigmoid(location + 0.791), abs=1e-4)
        assert one.p_full().item() == pytest.approx(sigmoid(location - 0.791), abs=1e-4)
    assert gates(0.0).p_open().item() == pytest.approx(0.69, abs=0.005)
    # Fig. 6: temperature 0.5, P(g = 0) and P(g = 1); half open, nearly open, nearly closed
    for location, closed, full in ((0.0, 0.23, 0.23), (2.0, 0.04, 0.69), (-3.0, 0.86, 0.01)):
        one = gates(location, 0.5)
        assert (round(one.p_closed().item(), 2), round(one.p_full().item(), 2)) == (closed, full)


def test_the_expected_number_of_open_gates():
    locations = torch.tensor([LOCATIONS[:3], LOCATIONS[3:6]], dtype=torch.float64)
    found = HardConcrete(locations).expected()
    assert found.shape == () and found.dtype == torch.float64
    np.testing.assert_allclose(found, sum(1 - slow.Gate(float(one)).p_closed() for one in locations.flatten()), rtol=1e-9)


# -------------------- draws


@shapes
def test_draws_are_those_of_the_definition(shape):
    noise = torch.tensor([1e-5, *slow.grid(50), 1 - 1e-5], dtype=torch.float64)
    drawn = gates(LOCATIONS, *shape).sample(noise[:, None])
    assert drawn.shape == (52, len(LOCATIONS))
    expected = [[slow.Gate(location, *shape).drawn(u) for location in LOCATIONS] for u in noise.tolist()]
    np.testing.assert_allclose(drawn, expected, atol=1e-12)


def test_shapes_of_noise():
    locations = torch.randn(3, 4, dtype=torch.float64)
    noise = torch.rand(5, 3, 4, dtype=torch.float64)
    many = HardConcrete(locations).sample(noise)
    assert many.shape == (5, 3, 4)
    for row, one in zip(many, noise, strict=True):
        torch.testing.assert_close(HardConcrete(locations).sample(one), row)
    assert HardConcrete(locations).sample(noise[0, :1]).shape == (3, 4)
    assert HardConcrete(locations[0, 0]).sample().shape == ()


def test_noise_of_torchs_generator_for_each_gate():
    many = gates([0.0] * 1000)
    torch.manual_seed(3)
    first, second = many.sample(), many.sample()
    torch.manual_seed(3)
    assert torch.equal(many.sample(), first) and not torch.equal(second, first)
    assert len(first.unique()) > 300 and abs(np.corrcoef(first, second)[0, 1]) < 0.15


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_at_its_ends_is_clamped(dtype):
    locations = torch.tensor([-14.0, 0.0, 14.0], dtype=dtype, requires_grad=True)
    gate = HardConcrete(locations)
    ends = gate.sample(torch.tensor([[0.0], [1.0]], dtype=dtype))
    assert torch.equal(ends, gate.sample(torch.tensor([[1e-6], [1 - 1e-6]], dtype=dtype)))
    expected = [[slow.Gate(location).drawn(u) for location in (-14.0, 0.0, 14.0)] for u in (1e-6, 1 - 1e-6)]
    np.testing.assert_allclose(ends.detach(), expected, atol=0.02)  # single precision holds 1 - 1e-6 as 1 - 9.5e-7
    assert 0.1 < ends[1, 0] < 0.9 and 0.1 < ends[0, 2] < 0.9
    (slopes,) = torch.autograd.grad(ends.sum(), locations)
    assert slopes.isfinite().all() and slopes[0] > 0 and slopes[2] > 0


# -------------------- gates of evaluation


def test_binary_gates_are_open_where_full_is_likelier_than_closed():
    locations = [-50.0, -3.0, -1e-3, -1e-6, 1e-6, 1e-3, 3.0, 50.0]  # at 0 itself rounding decides
    for dtype in (torch.float32, torch.float64):
        found = gates(locations, dtype=dtype).value()
        assert found.dtype == dtype
        assert found.tolist() == [float(location > 0) for location in locations]
    for shape in SHAPES:
        twins = [slow.Gate(location, *shape) for location in LOCATIONS if location]
        found = gates([location for location in LOCATIONS if location], *shape).value(binary=True)
        assert found.tolist() == [float(twin.p_full() > twin.p_closed()) for twin in twins]
    # a lopsided stretch moves the border: by temperature * ln(7 / 2) = 1.00 here
    assert gates([0.3, 1.5], *SHAPES[2]).value().tolist() == [0.0, 1.0]


def test_soft_gates():
    border = math.log(11)  # 2.398
    locations = [-50.0, -border - 1e-9, -2.3, 0.0, 1.2, 2.3, border + 1e-9, 50.0]
    found = gates(locations).value(binary=False)
    expected = [min(1.0, max(0.0, 1.2 * sigmoid(location) - 0.1)) for location in locations]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert found[:2].tolist() == [0, 0] and found[-2:].tolist() == [1, 1]
    assert ((found[2:-2] > 0) & (found[2:-2] < 1)).all() and found[3] == pytest.approx(0.5)
    assert torch.equal(gates(locations, 0.9).value(binary=False), found)  # the temperature has no part in it
    lopsided = gates([0.4], *SHAPES[2]).value(binary=False)
    assert lopsided.item() == pytest.approx(1.35 * sigmoid(0.4) - 0.3)


# -------------------- gradients


@pytest.mark.parametrize("location", [-1.2, 0.0, 0.8])
@shapes
def test_gradients_of_draws_are_gradients_of_their_expectation(shape, location):
    noise, twin = torch.tensor(slow.grid(400_000)), slow.Gate(location, *shape)
    for f in (lambda g: g, lambda g: (g - 0.3) ** 2):
        where = torch.tensor(location, dtype=torch.float64, requires_grad=True)
        mean = f(HardConcrete(where, *shape).sample(noise)).mean()
        (slope,) = torch.autograd.grad(mean, where)
        assert mean.item() == pytest.approx(twin.mean(f), abs=1e-6)
        assert slope.item() == pytest.approx(twin.slope_of_mean(f), abs=1e-5)
    # the twin's own gradient of a draw, which leaves clipped draws out
    few = slow.grid(3000).tolist()
    by_hand = sum(2 * (twin.drawn(u) - 0.3) * twin.slope(u) for u in few) / len(few)
    assert by_hand == pytest.approx(twin.slope_of_mean(f), abs=1e-3)


@shapes
def test_gradients_of_closed_forms(shape):
    where = torch.tensor(LOCATIONS, dtype=torch.float64, requires_grad=True)
    step = 1e-4
    (slopes,) = torch.autograd.grad(HardConcrete(where, *shape).expected(), where)
    differences = [
        (slow.Gate(location - step, *shape).p_closed() - slow.Gate(location + step, *shape).p_closed()) / (2 * step)
        for location in LOCATIONS
    ]
    np.testing.assert_allclose(slopes, differences, rtol=1e-6)
    assert (slopes > 0).all()
    noise = torch.tensor(slow.grid(9))[:, None]  # none of these lands at an edge of the clip
    x = torch.tensor(0.4, dtype=torch.float64)
    for function in (
        lambda a: HardConcrete(a, *shape).expected(),
        lambda a: HardConcrete(a, *shape).p_full(),
        lambda a: HardConcrete(a, *shape).p_closed(),
        lambda a: HardConcrete(a, *shape).density(x),
        lambda a: HardConcrete(a, *shape).sample(noise),
        lambda a: HardConcrete(a, *shape).value(binary=False),
    ):
        assert torch.autograd.gradcheck(function, (where,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_locations(dtype):
    for location, limit in ((-50.0, 0.0), (50.0, 1.0)):
        where = torch.full((64,), location, dtype=dtype, requires_grad=True)
        gate = HardConcrete(where)
        values = {
            "sample": gate.sample(),
            "p_open": gate.p_open(),
            "p_full": gate.p_full(),
            "not closed": 1 - gate.p_closed(),
            "soft": gate.value(binary=False),
            "binary": gate.value(),
            "expected": gate.expected() / 64,
        }
        for name, value in values.items():
            assert value.dtype == dtype, name
            torch.testing.assert_close(value.detach(), torch.full_like(value, limit), msg=name)
            if name != "binary":
                (slopes,) = torch.autograd.grad(value.sum(), where, retain_graph=True)
                assert slopes.isfinite().all(), name
        density = gate.density(torch.tensor(0.5, dtype=dtype))
        assert density.isfinite().all() and (density < 1e-6).all()
        assert torch.autograd.grad(density.sum(), where)[0].isfinite().all()


# -------------------- the price, and what is refused


def test_prices_of_the_paper_and_of_its_code():
    open_gates = torch.rand(6, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)  # layers, heads
    code, paper = 0.3 * open_gates.sum(-1).mean(), penalty_per_head(0.3, 6) * open_gates.sum()
    torch.testing.assert_close(code, paper)
    assert penalty_per_head(0.1, 18) == pytest.approx(0.1 / 18)
    assert per_layer_mean(penalty_per_head(0.1, 18), 18) == pytest.approx(0.1)


def test_bad_shapes_are_refused():
    where = torch.zeros(3)
    for temperature in (0.0, -0.3, math.nan):
        with pytest.raises(StudyError, match="temperature"):
            HardConcrete(where, temperature)
    for low, high in ((0.0, 1.1), (0.1, 1.1), (-0.1, 1.0), (-0.1, 0.9), (math.nan, 1.1)):
        with pytest.raises(StudyError, match="stretched"):
            HardConcrete(where, 0.33, low, high)
    with pytest.raises(dataclasses.FrozenInstanceError):
        HardConcrete(where).temperature = 0.5
