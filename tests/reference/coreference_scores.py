"""Coreference scores from their definitions: sets, fractions and loops; CEAF tries every alignment of entities.

A document is a list of entities, each a collection of mentions; entities of one mention are left out before counting. Every
metric gives (numerator, denominator) of recall for one document; precision is recall with the two sides exchanged.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

Entities = Sequence[Sequence]


def muc(key: Entities, response: Entities) -> tuple[Fraction, Fraction]:
    """Vilain et al. 1995: links of the key less those missing, |S| - |p(S)| over |S| - 1."""
    found, wanted = 0, 0
    for entity in key:
        parts = set()
        for mention in entity:
            holders = [place for place, other in enumerate(response) if mention in other]
            parts.add(holders[0] if holders else ("alone", mention))
        found += len(entity) - len(parts)
        wanted += len(entity) - 1
    return Fraction(found), Fraction(wanted)


def b_cubed(key: Entities, response: Entities) -> tuple[Fraction, Fraction]:
    """Bagga & Baldwin 1998: of each mention, the share of its entity that the response has together with it."""
    found, wanted = Fraction(0), 0
    for entity in key:
        for mention in entity:
            together = [set(other) & set(entity) for other in response if mention in other]
            found += Fraction(len(together[0]) if together else 0, len(entity))
            wanted += 1
    return found, Fraction(wanted)


def ceaf_e(key: Entities, response: Entities) -> tuple[Fraction, Fraction]:
    """Luo 2005, phi 4: the best one-to-one alignment of entities by 2 |K and R| / (|K| + |R|), over all of the key."""
    few, many = sorted((key, response), key=len)
    best = max(
        sum((_phi(a, b) for a, b in zip(few, chosen, strict=True)), Fraction(0)) for chosen in permutations(many, len(few))
    )
    return best, Fraction(len(key))


def _phi(one: Sequence, other: Sequence) -> Fraction:
    return Fraction(2 * len(set(one) & set(other)), len(one) + len(other))


def f1(metric: Callable[[Entities, Entities], tuple[Fraction, Fraction]], system: Sequence[Entities], gold: Sequence[Entities]):
    """F1 over documents, in percent."""
    pairs = [
        [[entity for entity in side if len(entity) > 1] for side in document] for document in zip(system, gold, strict=True)
    ]
    precision = _over(metric(ours, theirs) for ours, theirs in pairs)
    recall = _over(metric(theirs, ours) for ours, theirs in pairs)
    return 100 * float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def _over(parts) -> Fraction:
    above, below = (sum(side, Fraction(0)) for side in zip(*parts, strict=True))
    return above / below if below else Fraction(0)
