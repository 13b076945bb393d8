"""Relative positions in a parsed corpus."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from helpers.corpora.parsing import RELATIONS
from helpers.records import Pair

Arc = tuple[int, int, str]


def arcs_of(pairs: Sequence[Pair]) -> list[list[Arc]]:
    """The arcs (dependent, head, relation) of parsed sentences whose relation is one of the paper's four."""
    return [
        [(d, h, r) for d, (h, r) in enumerate(zip(p.heads, p.relations, strict=True)) if r in RELATIONS and h >= 0]
        for p in pairs
    ]


def relative_positions(pairs: Sequence[Pair]) -> dict[str, pd.Series]:
    """Shares of the relative positions, head minus dependent, of each of the paper's four relations."""
    arcs = [(r, h - d) for sentence in arcs_of(pairs) for d, h, r in sentence]
    table = pd.DataFrame(arcs, columns=["relation", "offset"])
    return {r: table.offset[table.relation == r].value_counts(normalize=True).sort_index() for r in RELATIONS}
