"""Which measure tells best what a head is worth."""

from helpers.methods.contest import runs
from helpers.methods.contest.entries import enter

__all__ = ["enter", "runs"]
