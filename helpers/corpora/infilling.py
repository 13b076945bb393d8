"""Text with holes to be filled: what BART is trained on first (Lewis et al. 2020, "text infilling")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from helpers.corpora import tokens
from helpers.study import StudyError


def infill(ids: Sequence[int], hole: int, rng: np.random.Generator, share: float = 0.3, mean: float = 3.0) -> list[int]:
    """Token ids of which spans are replaced by one id each, that of a hole.

    On average a `share` of the tokens is lost. The length of a span is drawn from a Poisson distribution of this `mean`; an
    empty one puts a hole between two tokens.
    """
    holed, place = [], 0
    starts = rng.random(len(ids) + 1) < share / (mean * (1 - share) + share)  # chance at a token that no span covers
    while place < len(ids):
        if starts[place]:
            holed.append(hole)
            length = int(rng.poisson(mean))
            place += length
            if length or place == len(ids):
                continue
        holed.append(ids[place])
        place += 1
    return holed


def pieces(ids: Sequence[Sequence[int]], eos: int, length: int) -> list[list[int]]:
    """Texts cut into pieces of at most `length` tokens without their end-of-sentence ids, none under half of it."""
    bare = [row[:-1] if row and row[-1] == eos else row for row in ids]
    cut = [list(row[at : at + length]) for row in bare for at in range(0, len(row), length)]
    kept = [piece for piece in cut if 2 * len(piece) >= length]
    if not kept:
        raise StudyError(f"No text has {length // 2} tokens to make holes in: take more text or shorter pieces.")
    return kept


def epochs(
    texts: Sequence[Sequence[int]],
    pad: int,
    eos: int,
    hole: int,
    budget: int,
    seed: int,
    device: torch.device,
    share: float = 0.3,
) -> Callable[[int], Iterator[dict[str, torch.Tensor]]]:
    """Epoch number -> batches of at most `budget` tokens: pieces with holes, new ones every epoch, to be written whole."""

    def epoch(number: int) -> Iterator[dict[str, torch.Tensor]]:
        rng = np.random.default_rng([seed, number])
        holed = [[*infill(piece, hole, rng, share), eos] for piece in texts]
        data = tokens.Encoded(holed, [[*piece, eos] for piece in texts], [])
        for rows in tokens.rows_of_batches(data, pad, budget, seed * 1000 + number):
            yield {name: part.to(device) for name, part in tokens.collate(data, rows, pad).items()}

    return epoch
