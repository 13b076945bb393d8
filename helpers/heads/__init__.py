"""The instrument: where the heads of a Hugging Face model are, and what can be done to them while it runs."""

from helpers.heads.attention import inject, record
from helpers.heads.families import KINDS, Site, causal, index, layers, locate, positions, sites
from helpers.heads.gates import gate
from helpers.heads.surgery import kept, load, remove, save

__all__ = [
    "KINDS", "Site", "causal", "gate", "index", "inject", "kept", "layers", "load", "locate", "positions", "record", "remove",
    "save", "sites",
]  # fmt: skip
