"""Coreference in attention heads (Liu & Chen 2023; Liu, Shi & Chen 2021) by definition: plain loops over the tokens of a text.

A mention is a list of token positions, a cluster a list of mentions, a matrix a list of rows.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy.spatial.distance import cosine
from torch import Tensor

Mention = Sequence[int]
Matrix = list[list[float]]
Matrices = Sequence[Matrix]  # of the texts of a batch


def before(mention: Mention, cluster: Sequence[Mention]) -> Mention | None:
    """The nearest mention of the cluster that begins before this one."""
    nearest = None
    for other in cluster:
        if other[0] < mention[0] and (nearest is None or other[0] > nearest[0]):
            nearest = other
    return nearest


def previous(clusters: Sequence[Sequence[Mention]], length: int, first: bool = False) -> Matrix:
    """1 from every token of a mention to every token of the mention before it; in empty rows on the diagonal, or `first`."""
    links = _zeros(length)
    for cluster in clusters:
        for mention in cluster:
            for source in mention:
                for target in before(mention, cluster) or ():
                    links[source][target] = 1.0
    return _divided(_filled(links, first))


def adjacent(clusters: Sequence[Sequence[Mention]], length: int) -> Matrix:
    """As `previous`, in both directions, and 1 on the whole diagonal."""
    mentions = [(mention, cluster) for cluster in clusters for mention in cluster]
    pairs = [(one, other) for mention, cluster in mentions for one in mention for other in before(mention, cluster) or ()]
    return arcs(pairs, length)


def full(clusters: Sequence[Sequence[Mention]], length: int) -> Matrix:
    """1 between all tokens of a cluster, from each to itself too; 1 on the diagonal of empty rows."""
    links = _zeros(length)
    for cluster in clusters:
        for mention in cluster:
            for other in cluster:
                for source in mention:
                    for target in other:
                        links[source][target] = 1.0
    return _divided(_filled(links))


def arcs(pairs: Sequence[tuple[int, int]], length: int) -> Matrix:
    """1 in both directions between the tokens of a pair, and on the whole diagonal."""
    links = _zeros(length)
    for place in range(length):
        links[place][place] = 1.0
    for one, other in pairs:
        links[one][other] = links[other][one] = 1.0
    return _divided(links)


FORMS = {"full": full, "adjacent": adjacent, "previous": previous}


def padded(matrix: Matrix, width: int) -> Matrix:
    """With rows and columns for padding, which attends to itself."""
    wide = _zeros(width)
    for place in range(width):
        if place < len(matrix):
            wide[place][: len(matrix)] = matrix[place]
        else:
            wide[place][place] = 1.0
    return wide


def _zeros(length: int) -> Matrix:
    return [[0.0] * length for _ in range(length)]


def _filled(links: Matrix, first: bool = False) -> Matrix:
    for place, row in enumerate(links):
        if not any(row):
            row[0 if first else place] = 1.0
    return links


def _divided(links: Matrix) -> Matrix:
    return [[entry / math.fsum(row) for entry in row] for row in links]


def mixed(hidden: Tensor, matrices: Matrices, share: float = 0.3) -> Tensor:
    """(1 - share) H + share M H of [texts, tokens, width], position by position."""
    found = []
    for states, matrix in zip(hidden, matrices, strict=True):
        rows = []
        for place, row in enumerate(matrix):
            linked = sum(weight * states[other] for other, weight in enumerate(row))
            rows.append((1 - share) * states[place] + share * linked)
        found.append(torch.stack(rows))
    return torch.stack(found)


def probing(attentions: Sequence[Sequence[Tensor]], matrices: Matrices) -> dict[tuple[str, int, int], float]:
    """Mean over texts of the cosine of every encoder head's attention with the text's matrix, real tokens only.

    `attentions` has of each text and layer [heads, tokens, tokens], padding included; the matrices are without padding.
    """
    found: dict[tuple[str, int, int], list[float]] = {}
    for layers, matrix in zip(attentions, matrices, strict=True):
        for layer, heads in enumerate(layers):
            for head, weights in enumerate(heads):
                real = [[float(weights[i][j]) for j in range(len(matrix))] for i in range(len(matrix))]
                found.setdefault(("encoder", layer, head), []).append(1 - cosine(np.ravel(real), np.ravel(matrix)))
    return {address: math.fsum(values) / len(values) for address, values in found.items()}
