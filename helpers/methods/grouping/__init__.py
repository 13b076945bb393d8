"""Ni et al. 2023: grouped heads. `units` has the formulas."""

# ruff: noqa: F401
from helpers.methods.grouping import runs
from helpers.methods.grouping.units import (
    Grouped,
    ballot,
    clusters,
    cosines,
    group_loss,
    hidden_units,
    objective,
    stay,
    watch,
)
