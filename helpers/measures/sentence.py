"""One sentence of a model's dev set: relevance drawn through it down to the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import gpu, heads
from helpers.corpora.tokens import collate
from helpers.measures.analysis import Analysis
from helpers.measures.lrp import explain
from helpers.measures.lrp.graph import Graph
from helpers.models import head_weights, inputs


def single(subject, *sentences: int) -> dict[str, torch.Tensor]:
    """A dev sentence, or some, as a batch of its own."""
    device = next(subject.model.parameters()).device
    return gpu.moved(collate(subject.encoded, sentences, subject.source.pad), device)


WORDS, FIRST = (6, 9), 30  # sentences of so many words are readable; so many of them are looked at


def one_sentence(subject) -> dict[str, Any]:
    """Relevance drawn through one dev sentence by the rule `cp`.

    Of the first readable sentences it is the one in which most relevance of a whole predicted word comes through one head.
    source and predicted: tokens; heads: table [predicted, heads], raw relevance in logits; flow: `flow`; target, layer and
    head (from 0): that word's first token and the head; block: A [heads, source, source], the attention weights of that
    layer; of: sentences looked at.
    """
    readable = (i for i, pair in enumerate(subject.sentences) if WORDS[0] <= len(pair.words) <= WORDS[1])
    fits = list(islice(readable, FIRST)) or [0]
    busiest = [_busiest(subject, single(subject, i)) for i in fits]
    chosen = max(range(len(fits)), key=lambda place: busiest[place][0])
    target, (_, layer, head) = busiest[chosen][1:]
    model = deepcopy(subject.model).cpu().double().requires_grad_().eval()
    batch = {name: value.cpu() for name, value in single(subject, fits[chosen]).items()}
    top, down = flow(model, batch)
    explained = explain(model, [batch], "cp")
    tokens = {"source": subject.source.pieces(batch["input_ids"][0].tolist()), "predicted": subject.target.pieces(top)}
    weights = [head_weights(model, batch, address) for address in explained.heads if address[:2] == ("encoder", layer)]
    block = {"A": torch.stack(weights).numpy()}
    facts = {"target": target, "layer": layer, "head": head, "of": len(fits), "flow": down, "block": block}
    return tokens | facts | {"heads": pd.DataFrame(explained.values, columns=explained.heads)}


def flow(model, batch: Mapping[str, torch.Tensor]) -> tuple[list[int], np.ndarray]:
    """Where relevance stands on its way down one sentence, by the rule `cp`, in an encoder-decoder with gradients.

    The tokens that are explained, those with the largest logits; of each the relevance (logits) at the input of the encoder's
    first layer, behind it, and so on up: [targets, encoder layers + 1, source positions].
    """
    streams: list[torch.Tensor] = []
    layers, fed = heads.layers(model, "encoder"), inputs(batch)
    with ExitStack() as undo:
        undo.callback(layers[0].register_forward_pre_hook(lambda module, args: streams.append(args[0])).remove)
        for layer in layers:
            keep = layer.register_forward_hook(
                lambda module, args, out: streams.append(out[0] if isinstance(out, tuple) else out)
            )
            undo.callback(keep.remove)
        start, _ = Graph(model, "cp", ("encoder",)).started(fed)
    count, found = int((batch["labels"] != -100).sum()), []
    for target in range(count):
        slopes = torch.autograd.grad(start[0, target], streams, retain_graph=True)
        parts = [(stream.detach() * slope)[0].sum(-1) for stream, slope in zip(streams, slopes, strict=True)]
        found.append(torch.stack(parts).numpy())
    with torch.no_grad():
        top = model(**fed, use_cache=False).logits[0, :count].argmax(-1).tolist()
    return top, np.stack(found)


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
