"""Grouped heads (Ni et al. 2023, sections 3.1 and 3.2) by definition: plain loops over the numbers of every head's own vector.

A feature map of a layer is a list of heads, each a list of numbers. The vectors of a model are gathered one unpadded sentence
at a time and joined end to end; no inner products of heads are summed, no graph of gradients is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy

import torch

from helpers.heads.families import sites
from tests.reference.importance import read

Vectors = Sequence[Sequence[float]]


def k_means(vectors: Vectors, starts: Sequence[int]) -> list[int]:
    """Groups of heads: Lloyd's iterations from the vectors of the heads `starts`, until no head changes its group.

    A group that is left without a head takes the head farthest from its centre, of those that are not alone in their group.
    Groups are numbered by their first head.
    """
    units, labels = [vectors[start] for start in starts], None
    while True:
        before, labels = labels, _nearest(vectors, units)
        if labels == before:
            return by_first_head(labels)
        units = centres(vectors, labels)


def _nearest(vectors: Vectors, units: Vectors) -> list[int]:
    """The group of the nearest centre of each head; then no group is empty."""
    away = [[math.dist(vector, unit) for unit in units] for vector in vectors]
    labels = [distances.index(min(distances)) for distances in away]
    own = {head: away[head][label] for head, label in enumerate(labels)}
    for group in [group for group in range(len(units)) if group not in labels]:
        farthest = max((head for head in own if labels.count(labels[head]) > 1), key=own.get)
        labels[farthest] = group
        del own[farthest]
    return labels


def by_first_head(labels: Sequence[int]) -> list[int]:
    """The same groups, numbered in the order in which they occur."""
    order = []
    for label in labels:
        if label not in order:
            order.append(label)
    return [order.index(label) for label in labels]


def mean(vectors: Vectors) -> list[float]:
    """The centre of some vectors."""
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def centres(vectors: Vectors, labels: Sequence[int]) -> list[list[float]]:
    """The hidden unit of every group, as many as there are labels: equation 4B's continuous z."""
    members = [[vector for vector, label in zip(vectors, labels, strict=True) if label == g] for g in range(max(labels) + 1)]
    return [mean(own) for own in members]


def inertia(vectors: Vectors, labels: Sequence[int]) -> float:
    """Sum of squared distances of heads to the centres of their groups, which K-means makes small."""
    units = centres(vectors, labels)
    return math.fsum(math.dist(vector, units[label]) ** 2 for vector, label in zip(vectors, labels, strict=True))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = math.fsum(x * y for x, y in zip(one, other, strict=True))
    return product / math.hypot(*one) / math.hypot(*other)


def homogeneity(vectors: Vectors, labels: Sequence[int]) -> float:
    """Mean over heads of the cosine of a head and its hidden unit."""
    units = centres(vectors, labels)
    return sum(cosine(vector, units[label]) for vector, label in zip(vectors, labels, strict=True)) / len(vectors)


def diversity(vectors: Vectors, labels: Sequence[int]) -> float:
    """Mean over unordered pairs of groups of the cosine of their hidden units; 0 with one group, which has no pair."""
    units = centres(vectors, labels)
    pairs = [(j1, j2) for j2 in range(len(units)) for j1 in range(j2)]
    return sum(cosine(units[j1], units[j2]) for j1, j2 in pairs) / len(pairs) if pairs else 0.0


def group_loss(vectors: Vectors, labels: Sequence[int], alpha: float, beta: float) -> float:
    """Equation 4B of one layer, phi being the negative cosine."""
    return -alpha * homogeneity(vectors, labels) + beta * diversity(vectors, labels)


def dunn(vectors: Vectors, labels: Sequence[int]) -> float:
    """Least distance of two heads in different groups, divided by the largest of two heads in one."""
    apart, together = [], []
    for j in range(len(labels)):
        for i in range(j):
            (together if labels[i] == labels[j] else apart).append(math.dist(vectors[i], vectors[j]))
    return min(apart) / max(together)


def vectors(model, batches: Iterable[Mapping[str, torch.Tensor]], which: str) -> dict[tuple[str, int], list[list[float]]]:
    """{(kind, layer): vectors of its heads} over all sentences: values, attention weights or what goes into the output."""
    model = deepcopy(model).eval()
    if which == "A":
        model.set_attn_implementation("eager")
    found = {(site.kind, site.layer): [[] for _ in range(site.heads)] for site in sites(model)}
    for batch in batches:
        for sentence in read(model, [batch]):
            for place, heads in _of_sentence(model, sentence.inputs, which).items():
                for head, numbers in enumerate(heads):
                    found[place][head] += numbers
    return found


def _of_sentence(model, inputs: Mapping[str, torch.Tensor], which: str) -> dict[tuple[str, int], list[list[float]]]:
    """{(kind, layer): numbers of its heads} for a sentence alone."""
    seen, places = {}, sites(model)
    with ExitStack() as undo, torch.no_grad():
        for site in places:
            place = site.kind, site.layer
            if which == "V":
                hook = site.projection("v").register_forward_hook(
                    lambda module, args, output, place=place: seen.update({place: output[0]})
                )
            else:
                hook = site.projection("out").register_forward_pre_hook(
                    lambda module, args, place=place: seen.update({place: args[0][0]})
                )
            undo.callback(hook.remove)
        out = model(**inputs, use_cache=False, output_attentions=which == "A")
    if which == "A":
        # a decoder alone calls its attention only that
        names = {"encoder": "encoder_attentions", "cross": "cross_attentions"}
        names["decoder"] = "decoder_attentions" if model.config.is_encoder_decoder else "attentions"
        return {(s.kind, s.layer): out[names[s.kind]][s.layer][0].flatten(1).tolist() for s in places}
    found = {}
    for s in places:  # of grouped queries each has the values that it reads
        parts = [s.groups[head] if which == "V" else head for head in range(s.heads)]
        found[s.kind, s.layer] = [seen[s.kind, s.layer].unflatten(-1, (-1, s.head_dim))[:, p].flatten().tolist() for p in parts]
    return found


def ballot(
    model, batches: Sequence[Mapping[str, torch.Tensor]], which: str, starts: Callable[[int], Sequence[int]]
) -> dict[tuple[str, int], tuple[list[int], list[float], list[int]]]:
    """{(kind, layer): (votes, scores, groups) of its heads}.

    Every batch is grouped anew. In each of its groups the head of largest cosine with the hidden unit gets a vote, the first of
    equals. Scores are summed cosines. The groups of the whole are those of all batches joined. `starts` gives the first heads
    of the groups, from the number of heads of a layer.
    """
    found = {}
    for place, heads in vectors(model, batches, which).items():
        found[place] = [0] * len(heads), [0.0] * len(heads), k_means(heads, starts(len(heads)))
    for batch in batches:
        for place, heads in vectors(model, [batch], which).items():
            votes, scores, _ = found[place]
            labels = k_means(heads, starts(len(heads)))
            units = centres(heads, labels)
            closeness = [cosine(heads[head], units[label]) for head, label in enumerate(labels)]
            for group in range(len(units)):
                own = [head for head, label in enumerate(labels) if label == group]
                votes[max(own, key=lambda head: closeness[head])] += 1
            for head, value in enumerate(closeness):
                scores[head] += value
    return found


def stay(counts: Sequence[float], labels: Sequence[int]) -> list[int]:
    """Heads of a layer that stay, in rising order: the first of most votes in each group."""
    best = {}
    for head, label in enumerate(labels):
        if label not in best or counts[head] > counts[best[label]]:
            best[label] = head
    return sorted(best.values())
