"""One sentence of a model's dev set: relevance drawn through it the naive way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import gpu
from helpers.corpora.tokens import collate
from helpers.measures.analysis import Analysis
from helpers.measures.lrp import explain, naive
from helpers.models import inputs


def single(subject, *sentences: int) -> dict[str, torch.Tensor]:
    """A dev sentence, or some, as a batch of its own."""
    device = next(subject.model.parameters()).device
    return gpu.moved(collate(subject.encoded, sentences, subject.source.pad), device)


WORDS, FIRST = (6, 9), 30  # sentences of so many words are readable; so many of them are looked at


def one_sentence(subject) -> dict[str, Any]:
    """Relevance drawn through one dev sentence the naive way, and what the fast way says of the same.

    Of the first readable sentences it is the one in which most relevance of a whole predicted word comes through one head.

    Returns
    -------
    dict
        source and predicted: tokens; heads: table [predicted, heads], raw relevance by `lrp.naive.explain` in logits; fast: the
        same by `lrp.explain`; flow [predicted, encoder layers + 1, source], see there; target, layer and head (from 0): that
        word's first token and the head; block: `lrp.naive.one_block` of these; of: sentences looked at.
    """
    fits = _readable(subject)
    busiest = [_busiest(subject, single(subject, i)) for i in fits]
    chosen = max(range(len(fits)), key=lambda place: busiest[place][0])
    batch, (_, target, (_, layer, head)) = single(subject, fits[chosen]), busiest[chosen]
    values, flow, top = naive.explain(subject.model, batch)
    fast = explain(subject.model, [batch], "cp")
    tokens = subject.source.pieces(batch["input_ids"][0].tolist()), subject.target.pieces(top)
    tables = {"heads": pd.DataFrame(values, columns=fast.heads), "fast": pd.DataFrame(fast.values, columns=fast.heads)}
    facts = {"target": target, "layer": layer, "head": head, "of": len(fits)}
    block = naive.one_block(subject.model, batch, target, layer)
    return {"source": tokens[0], "predicted": tokens[1], "flow": flow, "block": block} | tables | facts


def _readable(subject) -> list[int]:
    """The first sentences of so many words."""
    return [i for i, pair in enumerate(subject.sentences) if WORDS[0] <= len(pair.words) <= WORDS[1]][:FIRST] or [0]


def batch_of(subject, sentence: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The sentence of `one_sentence`, as a batch of its own."""
    pieces, ids = sentence["source"], subject.encoded.source
    fits = (i for i in range(len(ids)) if len(ids[i]) == len(pieces) and subject.source.pieces(list(ids[i])) == pieces)
    return single(subject, next(fits))


@torch.no_grad()
def _busiest(subject, batch: Mapping[str, torch.Tensor]) -> tuple[float, int, tuple[str, int, int]]:
    """The most relevance that one encoder head carries of a whole predicted word; the word's place; the head."""
    explained = explain(subject.model, [batch], "cp", "encoder")
    top = subject.model(**inputs(batch), use_cache=False).logits[0].argmax(-1).tolist()[: len(explained.values)]
    size = pd.DataFrame(np.abs(explained.values), columns=explained.heads)
    size = size.loc[whole_words(subject.target.pieces(top)) or [*size.index]]
    target = int(size.max(axis=1).idxmax())
    return float(size.loc[target].max()), target, size.loc[target].idxmax()


def whole_words(tokens: Sequence[str]) -> list[int]:
    """Places of tokens that are a word of letters each: the next token begins another word or ends the text."""
    after = [*tokens[1:], "</s>"]
    pairs = enumerate(zip(tokens, after, strict=True))
    return [place for place, (one, other) in pairs if one[1:].isalpha() and one[0] == "▁" and other.startswith(("▁", "<"))]


ONE_SENTENCE = Analysis("relevance of a word through one sentence", 1, one_sentence, sentences=True)
