"""Which head of one training is which of another? Heads are matched by where they look on the same sentences.

Numbers of heads mean nothing across random seeds: the first head of a layer in one training has nothing to do with the first
of another. Word-level attention on common sentences can be compared even where subword vocabularies differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn import functional as F

from helpers import gpu
from helpers.corpora import tokens
from helpers.heads import Site, record
from helpers.measures.analysis import Analysis
from helpers.measures.functions import between_words
from helpers.measures.reducers import evaluating
from helpers.models import inputs
from helpers.study import StudyError

Prints = Mapping[tuple[str, int], np.ndarray]


def fingerprints(subject, pairs: Sequence, model=None) -> dict[tuple[str, int], np.ndarray]:
    """Where each head looks: its word-level attention on given sentences, laid side by side.

    Attention to a word is the sum over its subwords, attention from a word the mean over them; a decoder position stands for
    the word that it predicts (as a query) and for the one that it was fed (as a key).

    The subject is a translation model with its vocabularies, `model` another one than its own that reads the same text; pairs
    have words, and are of any corpus. By (kind, layer) arrays [heads, features], as many features for every model that reads
    the same sentences.
    """
    if not pairs or not all(pair.words and pair.target.split() for pair in pairs):
        raise StudyError("Heads are matched on sentences that have words and a translation: give at least one, parsed.")
    model = subject.model if model is None else model
    encoded = tokens.encode(pairs, subject.source, subject.target, subject.longest)
    kept: dict[tuple[str, int], list[torch.Tensor]] = {}
    with evaluating(model), torch.no_grad():
        for number, pair in enumerate(pairs):
            batch = gpu.moved(tokens.collate(encoded, [number], subject.source.pad), model.device)
            source = batch["word_ids"][0].cpu()
            spoken = pair.target.split()
            target = torch.tensor(subject.target.word_ids(pair.target, spoken))[: batch["labels"].shape[1]]
            target = F.pad(target, (0, batch["labels"].shape[1] - len(target)), value=-1)
            fed = torch.cat([torch.tensor([-1]), target[:-1]])
            read = len(pair.words)
            ids = {
                "encoder": (source, source, read, read), "decoder": (target, fed, len(spoken), len(spoken)),
                "cross": (target, source, len(spoken), read),
            }  # fmt: skip

            def keep(site: Site, weights: torch.Tensor, ids=ids) -> None:
                words = between_words(weights[0].cpu(), *ids[site.kind])
                kept.setdefault((site.kind, site.layer), []).append(words.flatten(1))

            with record(model, keep):
                model(**inputs(batch), use_cache=False)
    return {place: torch.cat(parts, 1).numpy() for place, parts in kept.items()}


def match(one: Prints, other: Prints) -> pd.DataFrame:
    """Pairs of heads of two trainings of one architecture that look alike: the best one-to-one assignment within each layer.

    Alike is the cosine of fingerprints, each less the mean of its layer (what all heads of a layer share tells none apart). On
    (kind, layer, head) of `one`: other (the head of the same layer that it is matched with), cosine, average (cosine with all
    heads of that layer on average, what any pairing would give).
    """
    rows = {}
    if {place: prints.shape for place, prints in one.items()} != {place: prints.shape for place, prints in other.items()}:
        raise StudyError("Heads can be matched between models of one shape on the same sentences: take two seeds of one model.")
    for (kind, layer), prints in one.items():
        a, b = (part - part.mean(0) for part in (prints, other[kind, layer]))
        a, b = (part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12) for part in (a, b))
        cosines = a @ b.T
        for head, partner in zip(*linear_sum_assignment(-cosines), strict=True):
            rows[kind, layer, int(head)] = {
                "other": int(partner), "cosine": cosines[head, partner], "average": cosines[head].mean(),
            }  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["kind", "layer", "head"])
    return table


def carried(column: pd.Series, matched: pd.DataFrame) -> pd.Series:
    """A column of the other training on the heads of the one that they are matched with."""
    places = [(kind, layer, row.other) for (kind, layer, _), row in matched.iterrows()]
    return pd.Series(column.reindex(pd.MultiIndex.from_tuples(places, names=matched.index.names)).to_numpy(), matched.index)


def matched(several: Sequence, sentences: int) -> list[pd.DataFrame]:
    """`match` of every training of a model but the last with the last, on dev sentences of the first, beside chance.

    `several` are subjects, one a training; `sentences` of the text are read, at most. The column chance is the cosine of a head
    of the one with that of a model of random weights which it would be matched with, for the best of many assignments is above
    0 between any two models.
    """
    pairs = [pair for pair in several[0].sentences if pair.words][:sentences]
    *before, last = (fingerprints(subject, pairs) for subject in several)
    random = fingerprints(several[0], pairs, several[0].untrained())
    return [match(one, last).assign(chance=match(one, random).cosine) for one in before]


MATCHES = Analysis("heads that look alike", 2, matched)  # of several trainings: small, where their fingerprints are large
