"""Where heads look, word by word, by definition: one sentence at a time, unpadded, in plain loops."""

from collections.abc import Sequence
from copy import deepcopy

import torch

Maps = dict[tuple[str, int], list[list[float]]]


def fingerprints(model, source, target, pairs: Sequence) -> Maps:
    """For each head its attention between words, row after row, sentence after sentence: {(kind, layer): [heads][features]}.

    Attention to a word is the sum over its subwords, attention from a word the mean over them. Decoder position t stands as a
    query for the word of token t, which it predicts, as a key for that of token t - 1, which it was fed; the start symbol and
    the end of a sentence are of no word.
    """
    model = deepcopy(model).eval()
    model.set_attn_implementation("eager")
    found: Maps = {}
    for pair in pairs:
        ids, labels = source.encode(pair.source), target.encode(pair.target)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]), labels=torch.tensor([labels]), output_attentions=True)
        said = pair.target.split()
        read, predicted = source.word_ids(pair.source, pair.words), target.word_ids(pair.target, said)
        fed = [-1, *predicted[:-1]]
        places = {
            "encoder": (out.encoder_attentions, read, read, len(pair.words), len(pair.words)),
            "decoder": (out.decoder_attentions, predicted, fed, len(said), len(said)),
            "cross": (out.cross_attentions, predicted, read, len(said), len(pair.words)),
        }
        for kind, (layers, queries, keys, down, across) in places.items():
            for layer, maps in enumerate(layers):
                heads = found.setdefault((kind, layer), [[] for _ in maps[0]])
                for own, weights in zip(heads, maps[0].tolist(), strict=True):
                    own += [between(weights, queries, keys, one, other) for one in range(down) for other in range(across)]
    return found


def between(weights: list[list[float]], queries: list[int], keys: list[int], one: int, other: int) -> float:
    """Attention from word `one` to word `other`; 0 from a word that no position stands for."""
    rows = [row for row, word in zip(weights, queries, strict=True) if word == one]
    sums = [sum(weight for weight, word in zip(row, keys, strict=True) if word == other) for row in rows]
    return sum(sums) / len(sums) if sums else 0.0
