"""The instrument: where the heads of a Hugging Face model are, and what can be done to them while it runs."""

from helpers.heads.controls import gate, inject, record
from helpers.heads.sites import KINDS, Site, index, locate, sites

__all__ = ["KINDS", "Site", "gate", "index", "inject", "locate", "record", "sites"]
