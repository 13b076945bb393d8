"""Liu & Chen 2023: coreference in underused heads. `matrices` has the formulas."""

# ruff: noqa: F401
from helpers.methods import parts
from helpers.methods.coreference.matrices import (
    FORMS,
    ORDERS,
    PARTS,
    SPANS,
    Clusters,
    Links,
    Mention,
    Sparse,
    adjacent_link,
    arcs,
    batched,
    choose,
    full_link,
    injected,
    layers_of,
    mixed,
    previous_link,
    probing,
    sparse,
    tokens_of,
)

__getattr__ = parts(__name__)
