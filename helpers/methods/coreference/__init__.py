"""Liu & Chen 2023: coreference in underused heads. `matrices` has the formulas."""

# ruff: noqa: F401
from helpers.methods.coreference.matrices import (
    Links,
    adjacent_link,
    choose,
    full_link,
    injected,
    linked,
    mixed,
    previous_link,
    probing,
    sparse,
    tokens_of,
)
