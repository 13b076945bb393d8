"""Heads of any model removed at once, the least important first, beside heads removed at random."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd

from helpers import heads
from helpers.corpora import tokens
from helpers.runs import training
from helpers.scores import scoring
from helpers.study import StudyError

LEAST, RANDOM, ALIKE = "least important", "random", "random, same kinds"


def batches(subject, split: str, first: int | None = None, budget: int = 2048) -> tokens.Batches:
    """A split of a subject's text in batches of `budget` tokens; its `first` sentences only, if given."""
    pairs = subject.pairs(split)[:first]
    encoded = tokens.encode(pairs, subject.source, subject.target, subject.model.config.max_position_embeddings)
    return tokens.Batches(encoded, subject.source.pad, budget, next(subject.model.parameters()).device)


def drawn(worth: pd.Series, count: int, draw: int, like: pd.MultiIndex | None = None) -> list[tuple[str, int, int]]:
    """`count` heads by a seeded draw; with `like`, as many of each kind of attention as there are in it."""
    random = np.random.default_rng(draw)
    if like is None:
        return list(worth.sample(count, random_state=random).index)
    counts = like.get_level_values("kind").value_counts()
    return [head for kind in counts.index for head in worth.loc[[kind]].sample(counts[kind], random_state=random).index]


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
    unseen, total, ordered = list(batches(subject, split)), len(worth), worth.sort_values(kind="stable").index

    def scored(model) -> tuple[float, np.ndarray]:
        translations = training.translate(model, texts, subject.source, subject.target, beam)
        return training.dev_loss(model, unseen), scoring.bleu_statistics(translations, references)

    def row(method: str, draw: int, left: int, loss: float, counts: np.ndarray) -> dict[str, float | str]:
        found = {"method": method, "draw": draw, "heads": left, "loss": loss}
        found |= zip(("bleu", "low", "high"), scoring.bleu_interval(counts, None, repeats), strict=True)
        return found | dict(
            zip(("change", "change low", "change high"), scoring.bleu_interval(counts, whole, repeats), strict=True)
        )

    loss, whole = scored(subject.model)
    rows = [row(method, 0, total, loss, whole) for method in (LEAST, RANDOM, ALIKE)]
    for count in dict.fromkeys(round(total * share) for share in shares):
        chosen = [(LEAST, 0, list(ordered[:count]))]
        for draw in range(draws):
            chosen += [(RANDOM, draw, drawn(worth, count, draw)), (ALIKE, draw, drawn(worth, count, draw, ordered[:count]))]
        for method, draw, gone in chosen:
            rows.append(row(method, draw, total - count, *scored(heads.remove(copy.deepcopy(subject.model), gone))))
    return pd.DataFrame(rows)
