"""Hard Concrete gates against their definition; test_figures holds them to a figure of the paper."""

import math

import numpy as np
import pytest
import torch

from helpers.methods.l0 import HardConcrete
from helpers.study import StudyError
from tests.reference import l0 as slow

SHAPES = [(), (0.8, -0.3, 1.05)]  # that of the paper, by the constants of the twin, and a lopsided one
shapes = pytest.mark.parametrize("shape", SHAPES, ids=["the paper's", "lopsided"])
LOCATIONS = [-6.0, -2.4, -0.7, 0.0, 0.3, 1.5, 6.0]


def gates(locations, *shape, dtype=torch.float64):
    return HardConcrete(torch.tensor(locations, dtype=dtype), *shape)


@shapes
def test_probabilities_are_those_of_the_definition(shape):
    whole = gates(LOCATIONS, *shape)
    twins = [slow.Gate(location, *shape) for location in LOCATIONS]
    closed = np.array([twin.share(0.0) for twin in twins])
    np.testing.assert_allclose(whole.p_closed(), closed, atol=1e-4)
    np.testing.assert_allclose(whole.p_full(), [twin.share(1.0) for twin in twins], atol=1e-4)
    np.testing.assert_allclose(whole.p_open(), 1 - closed, atol=1e-4)
    assert whole.expected().item() == pytest.approx((1 - closed).sum(), abs=1e-3)


@shapes
def test_draws_are_those_of_the_definition(shape):
    noise = torch.tensor([1e-5, *slow.grid(50), 1 - 1e-5], dtype=torch.float64)
    drawn = gates(LOCATIONS, *shape).sample(noise[:, None])
    expected = [[slow.Gate(location, *shape).drawn(u) for location in LOCATIONS] for u in noise.tolist()]
    np.testing.assert_allclose(drawn, expected, atol=1e-12)


def test_noise_at_its_ends_is_clamped():
    locations = torch.tensor([-14.0, 0.0, 14.0], requires_grad=True)
    ends = HardConcrete(locations).sample(torch.tensor([[0.0], [1.0]]))
    expected = [[slow.Gate(location).drawn(u) for location in (-14.0, 0.0, 14.0)] for u in (1e-6, 1 - 1e-6)]
    np.testing.assert_allclose(ends.detach(), expected, atol=0.02)  # single precision holds 1 - 1e-6 as 1 - 9.5e-7
    (slopes,) = torch.autograd.grad(ends.sum(), locations)
    assert slopes.isfinite().all() and slopes[0] > 0 and slopes[2] > 0


def test_binary_gates_are_open_where_full_is_likelier_than_closed():
    assert gates([-50.0, -1e-3, 1e-3, 50.0]).value().tolist() == [0, 0, 1, 1]
    # the lopsided stretch moves the border: by temperature * ln(7 / 2) = 1.00 here
    assert gates([0.3, 1.5], *SHAPES[1]).value().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("shape", "said"),
    [*(((temperature,), "temperature") for temperature in (0.0, math.nan)),
     *(((0.33, *ends), "stretched") for ends in ((0.0, 1.1), (-0.1, 1.0), (math.nan, 1.1)))],
)  # fmt: skip
def test_shapes_that_make_no_sense(shape, said):
    with pytest.raises(StudyError, match=said):
        HardConcrete(torch.zeros(3), *shape)
