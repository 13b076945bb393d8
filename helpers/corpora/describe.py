"""What a parsed corpus looks like, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
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


def describe(pairs: Sequence[Pair]) -> dict[str, Any]:
    """What a corpus looks like: relative positions and facts.

    Returns
    -------
    dict
        "offsets" (relation -> share by head minus dependent), "facts".
    """
    words = [w.lower() for p in pairs for w in p.words]
    frequency = pd.Series(words).value_counts()
    arcs = [(r, h - d) for sentence in arcs_of(pairs) for d, h, r in sentence]
    table = pd.DataFrame(arcs, columns=["relation", "offset"])
    offsets = {r: table.offset[table.relation == r].value_counts(normalize=True).sort_index() for r in RELATIONS}
    facts = {
        "sentences": len(pairs),
        "mean words": float(np.mean([len(p.words) for p in pairs])),
        "word forms": len(frequency),
        "covered by the 500 most frequent": float(frequency[:500].sum() / frequency.sum()),
    }
    return {"offsets": offsets, "facts": facts}
