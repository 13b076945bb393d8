"""The measures of Voita et al. 2019, sections 4 and 5, by definition: one sentence at a time, unpadded, in plain loops.

Attention maps are those that eager attention returns. A token is *real* if it is no end-of-sentence and no start symbol.
"""

import math
from collections import Counter, defaultdict
from copy import deepcopy
from dataclasses import dataclass

import torch

from helpers.heads import sites

RELATIONS = ("nsubj", "dobj", "amod", "advmod")
DIRECTIONS = ("head to dependent", "dependent to head")


@dataclass
class Sentence:
    """One sentence with its attention maps, {(kind, layer, head): rows of numbers}.

    `keys` and `queries` hold the positions of real tokens by kind.
    """

    source: list[int]
    target: list[int]
    words: list[int]
    place: int
    maps: dict[tuple, list[list[float]]]
    keys: dict[str, list[int]]
    queries: dict[str, list[int]]


def read(model, batches) -> list[Sentence]:
    """Every sentence of the batches, run through the model alone; in corpus order."""
    model = deepcopy(model).eval()
    model.set_attn_implementation("eager")
    special = {model.config.eos_token_id, getattr(model.config, "bos_token_id", None)}
    found = []
    for batch in batches:
        for row in range(len(batch["input_ids"])):
            size = int(batch["attention_mask"][row].sum()) if "attention_mask" in batch else batch["input_ids"].shape[1]
            source = batch["input_ids"][row].tolist()[:size]
            words = batch["word_ids"][row].tolist()[:size] if "word_ids" in batch else []
            place = int(batch["index"][row]) if "index" in batch else len(found)
            marked = batch["special_tokens_mask"][row].tolist() if "special_tokens_mask" in batch else [0] * size
            real = [i for i, token in enumerate(source) if token not in special and not marked[i]]
            if not model.config.is_encoder_decoder:
                out = _run(model, input_ids=[source])
                kind = sites(model)[0].kind  # BERT is an encoder
                found.append(Sentence(source, [], words, place, _heads(kind, out.attentions), {kind: real}, {kind: real}))
                continue
            target = [token for token in batch["labels"][row].tolist() if token != -100]
            out = _run(model, input_ids=[source], labels=[target])
            maps = _heads("encoder", out.encoder_attentions) | _heads("decoder", out.decoder_attentions)
            maps |= _heads("cross", out.cross_attentions)
            # row t of the decoder is fed token t - 1 (the start symbol if t = 0) and predicts token t
            fed = [t for t in range(1, len(target)) if target[t - 1] not in special]
            predicting = [t for t in range(len(target)) if target[t] not in special]
            keys = {"encoder": real, "decoder": fed, "cross": real}
            queries = {"encoder": real, "decoder": fed, "cross": predicting}
            found.append(Sentence(source, target, words, place, maps, keys, queries))
    return sorted(found, key=lambda sentence: sentence.place)


def _run(model, **ids):
    with torch.no_grad():
        return model(**{name: torch.tensor(value) for name, value in ids.items()}, output_attentions=True)


def _heads(kind, layers):
    return {
        (kind, layer, head): weights[0, head].tolist()
        for layer, weights in enumerate(layers)
        for head in range(weights.shape[1])
    }


def _largest(row: list[float], among) -> int:
    """The position among `among` with the largest weight, the first of equals."""
    best = None
    for position in among:
        if best is None or row[position] > row[best]:
            best = position
    return best


def confidence(sentences: list[Sentence], beyond_first: bool = False) -> dict[tuple, float]:
    """Mean over query tokens of the largest weight on a key other than the end of the sentence.

    Or of keys behind the first; a decoder's first query, which sees none of them, is left out then.
    """
    values = defaultdict(list)
    for sentence in sentences:
        for address, rows in sentence.maps.items():
            kind = address[0]
            for query in sentence.queries[kind]:
                if kind != "decoder" or query or not beyond_first:
                    keys = [key for key in sentence.keys[kind] if key or not beyond_first]
                    values[address].append(max((rows[query][key] for key in keys), default=0.0))
    return {address: sum(found) / len(found) for address, found in values.items()}


def first(sentences: list[Sentence]) -> dict[tuple, float]:
    """Mean weight on the first token over query tokens; a decoder's first query, which has no choice, is left out."""
    values = defaultdict(list)
    for sentence in sentences:
        for address, rows in sentence.maps.items():
            values[address] += [rows[query][0] for query in sentence.queries[address[0]] if address[0] != "decoder" or query]
    return {address: sum(found) / len(found) for address, found in values.items()}


def output_norm(model, batches) -> dict[tuple, float]:
    """Mean over query tokens of the norm of W_O z, where of z all but the numbers of one head are 0."""
    model, values = deepcopy(model).eval(), defaultdict(list)
    for sentence in read(model, batches):
        for site in sites(model):
            given, projection = [], site.projection("out")
            hook = projection.register_forward_pre_hook(lambda module, args, given=given: given.append(args[0][0]))
            _run(model, input_ids=[sentence.source], **({"labels": [sentence.target]} if sentence.target else {}))
            hook.remove()
            with torch.no_grad():
                nothing = projection(torch.zeros_like(given[0]))
                for head in range(site.heads):
                    alone = torch.zeros_like(given[0])
                    cut = slice(head * site.head_dim, (head + 1) * site.head_dim)
                    alone[:, cut] = given[0][:, cut]
                    written = projection(alone) - nothing
                    for query in sentence.queries[site.kind]:
                        values[site.kind, site.layer, head].append(math.sqrt(float((written[query] ** 2).sum())))
    return {address: sum(found) / len(found) for address, found in values.items()}


def offsets(sentences: list[Sentence]) -> dict[tuple, Counter]:
    """How often the largest weight of a token lies at each relative offset; every key counts."""
    found = defaultdict(Counter)
    for sentence in sentences:
        for address, rows in sentence.maps.items():
            for query in sentence.queries[address[0]]:
                found[address][_largest(rows[query], range(len(rows[query]))) - query] += 1
    return found


def having(sentences: list[Sentence], address: tuple, offset: int) -> int:
    """How many tokens have a key at that offset."""
    return sum(
        0 <= query + offset < len(sentence.maps[address][query])
        for sentence in sentences
        for query in sentence.queries[address[0]]
    )


def to_words(rows: list[list[float]], queries: list[int], keys: list[int], down: int, across: int) -> list[list[float]]:
    """Attention from `down` words to `across`: the sum over the subwords of one, the mean over those of the other.

    `queries` and `keys` are the words of the positions.
    """
    table = []
    for word in range(down):
        subwords = [query for query, owner in enumerate(queries) if owner == word]
        line = []
        for other in range(across):
            total = 0.0
            for query in subwords:
                for key, owner in enumerate(keys):
                    if owner == other:
                        total += rows[query][key]
            line.append(total / len(subwords) if subwords else 0.0)
        table.append(line)
    return table


def syntactic(sentences: list[Sentence], arcs: list[list[tuple]], kind: str = "encoder") -> dict[tuple, list[tuple[int, int]]]:
    """For each (kind, layer, head, relation, direction): hits and arcs of every sentence; a decoder's to earlier words."""
    found = defaultdict(list)
    for sentence in sentences:
        real = set(sentence.keys[kind])
        owners = [owner if place in real else -1 for place, owner in enumerate(sentence.words)]
        count = max(sentence.words) + 1
        for address, rows in sentence.maps.items():
            if address[0] != kind:
                continue
            table = to_words(rows, owners, owners, count, count)
            hits, totals = Counter(), Counter()
            for dependent, head, relation in arcs[sentence.place]:
                for direction, word, partner in zip(DIRECTIONS, (head, dependent), (dependent, head), strict=True):
                    if kind == "decoder" and partner >= word:
                        continue
                    totals[relation, direction] += 1
                    if max(table[word]) > 0 and _largest(table[word], range(count)) == partner:
                        hits[relation, direction] += 1
            for relation in RELATIONS:
                for direction in DIRECTIONS:
                    cell = relation, direction
                    found[(*address, *cell)].append((hits[cell], totals[cell]))
    return found


def share(pairs: list[tuple[int, int]]) -> float:
    """Hits over totals, both summed."""
    total = sum(total for _, total in pairs)
    return sum(hits for hits, _ in pairs) / total if total else math.nan


def baseline(arcs: list[list[tuple]], earlier: bool = False) -> dict[tuple, float]:
    """Accuracy of always guessing a relation's most frequent relative offset."""
    found = {}
    for relation in RELATIONS:
        for direction, sign in zip(DIRECTIONS, (1, -1), strict=True):
            offsets = [sign * (d - h) for sentence in arcs for d, h, r in sentence if r == relation]
            seen = Counter(offset for offset in offsets if offset < 0 or not earlier)
            found[relation, direction] = max(seen.values()) / sum(seen.values()) if seen else math.nan
    return found


def rare(sentences: list[Sentence], counts: list[int], frequent: int, kind: str) -> dict[tuple, tuple[float, int, float]]:
    """For each head: tokens looking at one of the two rarest tokens, and tokens, over all sentences; and what chance gives.

    Of tokens that a query sees, in a decoder none behind it. Only queries whose rarest token is outside the `frequent` most
    frequent; a token as rare as the second counts.
    """
    common = set(sorted(range(len(counts)), key=lambda token: (-counts[token], token))[:frequent])
    found = defaultdict(lambda: (0, 0, 0.0))
    for sentence in sentences:
        for query in sentence.queries[kind]:
            real = [place for place in sentence.keys[kind] if kind == "encoder" or place <= query]
            by_rarity = sorted(real, key=lambda place: counts[sentence.source[place]])
            if not any(sentence.source[place] not in common for place in real):
                continue
            border = counts[sentence.source[by_rarity[min(1, len(real) - 1)]]]
            two = [p for p in real if counts[sentence.source[p]] <= border]
            for address, rows in sentence.maps.items():
                if address[0] == kind:
                    more = _largest(rows[query], real) in two, 1, len(two) / len(real)
                    found[address] = tuple(sum(pair) for pair in zip(found[address], more, strict=True))
    return dict(found)
