"""Which measure tells best what a head is worth."""

from helpers.methods import parts
from helpers.methods.contest.entries import enter

__all__ = ["enter"]
__getattr__ = parts(__name__)
