"""Liu & Chen 2023: coreference in underused heads. `matrices` has the formulas."""

# ruff: noqa: F401
from helpers.methods import parts
from helpers.methods.coreference.matrices import ORDERS, Links, choose, injected, linked, mixed, probing, sparse, tokens_of

__getattr__ = parts(__name__)
