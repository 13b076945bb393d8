"""Voita et al. 2019, section 6: pruning by L0 gates. `gates` has the formulas."""

# ruff: noqa: F401
from helpers.methods.l0 import runs
from helpers.methods.l0.gates import ALMOST_OPEN, Gated, HardConcrete, by_site, objective
