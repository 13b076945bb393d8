"""Ni et al. 2023: grouped heads. `units` has the formulas."""

# ruff: noqa: F401
from helpers.methods import parts
from helpers.methods.grouping.units import (
    FORMS,
    MAPS,
    ROUNDS,
    Ballot,
    Grouped,
    Watched,
    ballot,
    centre_shift,
    class_loss,
    closeness,
    clusters,
    compactness,
    cosines,
    disagreement,
    gram,
    group_loss,
    hidden_units,
    objective,
    stacked,
    starts,
    stay,
    watch,
)

__getattr__ = parts(__name__)
