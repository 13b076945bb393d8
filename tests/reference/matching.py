"""Where heads look, word by word, by definition: one sentence at a time, unpadded, in plain loops."""

from collections import defaultdict
from collections.abc import Sequence

import torch

from tests.reference.measures import read, to_words

Maps = dict[tuple[str, int], dict[int, list[float]]]


def fingerprints(model, source, target, pairs: Sequence) -> Maps:
    """For each head its attention between words, row after row, sentence after sentence: {(kind, layer): {head: features}}.

    Attention to a word is the sum over its subwords, attention from a word the mean over them. Decoder position t stands as a
    query for the word of token t, which it predicts, as a key for that of token t - 1, which it was fed; the start symbol and
    the end of a sentence are of no word.
    """
    found: Maps = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        said, batch = pair.target.split(), {"input_ids": source.encode(pair.source), "labels": target.encode(pair.target)}
        (sentence,) = read(model, [{name: torch.tensor([ids]) for name, ids in batch.items()}])
        words, predicted = source.word_ids(pair.source, pair.words), target.word_ids(pair.target, said)
        places = {
            "encoder": (words, words, len(pair.words), len(pair.words)),
            "decoder": (predicted, [-1, *predicted[:-1]], len(said), len(said)),
            "cross": (predicted, words, len(said), len(pair.words)),
        }
        for (kind, layer, head), rows in sentence.maps.items():
            found[kind, layer][head] += [weight for line in to_words(rows, *places[kind]) for weight in line]
    return found
