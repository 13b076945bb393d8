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
    """What a corpus looks like: persons of subjects, relative positions, and facts.

    Returns
    -------
    dict
        "persons" (index 1st, 2nd, 3rd; percent of subjects), "offsets" (relation -> share by head minus dependent), "facts".
    """
    words = [w.lower() for p in pairs for w in p.words]
    frequency = pd.Series(words).value_counts()
    first, second = {"i", "we"}, {"you"}
    subjects = [
        "1st" if w.lower() in first else "2nd" if w.lower() in second else "3rd"
        for p in pairs
        for w, r in zip(p.words, p.relations, strict=True)
        if r in ("nsubj", "nsubjpass")
    ]
    persons = pd.Series(subjects).value_counts(normalize=True).reindex(["1st", "2nd", "3rd"], fill_value=0) * 100
    arcs = [(r, h - d) for sentence in arcs_of(pairs) for d, h, r in sentence]
    table = pd.DataFrame(arcs, columns=["relation", "offset"])
    offsets = {r: table.offset[table.relation == r].value_counts(normalize=True).sort_index() for r in RELATIONS}
    facts = {
        "sentences": len(pairs),
        "mean words": float(np.mean([len(p.words) for p in pairs])),
        "word forms": len(frequency),
        "covered by the 500 most frequent": float(frequency[:500].sum() / frequency.sum()),
    }
    return {"persons": persons.to_frame("percent"), "offsets": offsets, "facts": facts}
