"""Which measure tells best what a head is worth."""

from helpers.methods import parts

__getattr__ = parts(__name__)
