"""Voita et al. 2019, section 6: pruning by L0 gates. `gates` has the formulas."""

# ruff: noqa: F401
from helpers.methods import parts
from helpers.methods.l0.gates import (
    ALMOST_OPEN,
    HALF_OPEN,
    Gated,
    Gradual,
    HardConcrete,
    by_site,
    check_penalty,
    objective,
    penalty_per_head,
    per_layer_mean,
)

__getattr__ = parts(__name__)
