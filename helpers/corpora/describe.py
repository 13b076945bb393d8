"""Dependencies in a parsed corpus."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.corpora.parsing import RELATIONS
from helpers.records import Pair

Arc = tuple[int, int, str]


def arcs_of(pairs: Sequence[Pair]) -> list[list[Arc]]:
    """The arcs (dependent, head, relation) of parsed sentences whose relation is one of the paper's four."""
    return [
        [(d, h, r) for d, (h, r) in enumerate(zip(p.heads, p.relations, strict=True)) if r in RELATIONS and h >= 0]
        for p in pairs
    ]
