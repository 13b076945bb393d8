"""Heads of any model removed at once, the least important first, beside heads removed at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from helpers import heads
from helpers.corpora import tokens
from helpers.measures.removal import RANDOM, at_once, drawn, least
from helpers.runs import training
from helpers.scores import scoring
from helpers.study import StudyError

LEAST, ALIKE = "least important", "random, same kinds"
SCORES = ("loss", "bleu", "low", "high", "change", "change low", "change high")


def batches(subject, split: str, first: int | None = None, budget: int = 2048) -> tokens.Batches:
    """A split of a subject's text in batches of `budget` tokens; its `first` sentences only, if given."""
    pairs = subject.pairs(split)[:first]
    encoded = tokens.encode(pairs, subject.source, subject.target, subject.model.config.max_position_embeddings)
    return tokens.Batches(encoded, subject.source.pad, budget, next(subject.model.parameters()).device)


def quality(
    subject, worth: pd.Series, split: str, beam: int = 1, repeats: int = 1000, shares=(0.25, 0.5, 0.75), draws: int = 3
) -> pd.DataFrame:
    """What is left of a model when a share of its heads is removed, without further training.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
    worth : pandas.Series
        On (kind, layer, head), larger stays longer: any column of the head table.
    split : str
        On which it is scored; not the one that `worth` was measured on.
    shares : sequence of float
        Of all heads, to be removed.
    draws : int
        Of random heads: from all heads, and as many of each kind of attention as the choice by `worth` takes.

    Returns
    -------
    pandas.DataFrame
        A row each (method, draw, heads left): loss (nats a token), bleu with low and high, change (against the whole model)
        with "change low" and "change high" (paired bootstrap over sentences).

    Raises
    ------
    StudyError
        If a share is not between 0 and 1, or `worth` is not of this model's heads.
    """
    if any(not 0 < share < 1 for share in shares):
        raise StudyError(f"A share of heads to remove lies between 0 and 1: {', '.join(map(str, shares))} do not all.")
    if set(worth.index) != set(heads.index(subject.model)):
        raise StudyError("The worth of heads is not of this model's heads: take a column of its own head table.")
    texts, references = ([getattr(pair, side) for pair in subject.pairs(split)] for side in ("source", "target"))
    unseen, total = list(batches(subject, split)), len(worth)

    def counted(model) -> tuple[float, np.ndarray]:
        translations = training.translate(model, texts, subject.source, subject.target, beam)
        return training.dev_loss(model, unseen), scoring.bleu_statistics(translations, references)

    _, whole = known = counted(subject.model)

    def scored(model) -> dict[str, float]:
        loss, own = known if model is subject.model else counted(model)
        intervals = (*scoring.bleu_interval(own, None, repeats), *scoring.bleu_interval(own, whole, repeats))
        return dict(zip(SCORES, (loss, *intervals), strict=True))

    def choices() -> Iterator[tuple[dict[str, Any], list]]:
        for method in (LEAST, RANDOM, ALIKE):
            yield {"method": method, "draw": 0, "heads": total}, []
        for count in dict.fromkeys(round(total * share) for share in shares):
            gone = least(worth, count)
            yield {"method": LEAST, "draw": 0, "heads": total - count}, gone
            for draw in range(draws):
                yield {"method": RANDOM, "draw": draw, "heads": total - count}, drawn(worth, count, draw)
                like = pd.MultiIndex.from_tuples(gone, names=worth.index.names)
                yield {"method": ALIKE, "draw": draw, "heads": total - count}, drawn(worth, count, draw, like)

    return pd.DataFrame(at_once(subject.model, choices(), scored))
