"""Statistical alignment of sentence pairs: what a cross-attention head is compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.study import StudyError

NULL = 0.08  # prior weight of "no source token", and
TENSION = 4.0  # pull towards the diagonal: the constants of Dyer et al. 2013 (fast_align), section 2.2


def align(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], rounds: int = 5) -> list[dict[int, int]]:
    """Align token ids by a reparameterised IBM model 2 (Dyer et al. 2013), trained both ways on the pairs themselves.

    In so many rounds of expectation maximisation. Of each pair: target position -> source position, where both ways agree.
    """
    if len(sources) != len(targets):
        raise StudyError(f"Alignment needs as many targets as sources, not {len(targets)} and {len(sources)}.")
    forward, backward = _one_way(sources, targets, rounds), _one_way(targets, sources, rounds)
    return [
        {t: int(s) for t, s in enumerate(fwd) if s >= 0 and bwd[s] == t}
        for fwd, bwd in zip(forward, backward, strict=True)
    ]  # fmt: skip


def _one_way(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], rounds: int) -> list[np.ndarray]:
    """For each target token its likeliest source position, -1 for none."""
    cells_s, cells_t, prior, group, shapes = [], [], [], [], []
    tokens = 0
    for source, target in zip(sources, targets, strict=True):
        n, m = len(source), len(target)
        # column 0 is the null token
        where = np.arange(1, m + 1)[:, None] / m - np.arange(1, n + 1)[None, :] / n
        near = np.exp(-TENSION * np.abs(where))
        near = (1 - NULL) * near / near.sum(1, keepdims=True)
        prior.append(np.hstack([np.full((m, 1), NULL), near]).ravel())
        cells_s.append(np.tile(np.concatenate([[-1], source]), m))
        cells_t.append(np.repeat(target, n + 1))
        group.append(np.repeat(np.arange(tokens, tokens + m), n + 1))
        shapes.append((m, n + 1))
        tokens += m
    if not tokens:
        return [np.zeros(0, int)] * len(shapes)
    s, t = np.concatenate(cells_s).astype(np.int64) + 1, np.concatenate(cells_t).astype(np.int64)
    weight, owner = np.concatenate(prior), np.concatenate(group)
    types, cell = np.unique(s * (t.max() + 1) + t, return_inverse=True)
    source_type = types // (t.max() + 1)
    table = np.ones(len(types))
    for _ in range(rounds):
        joint = weight * table[cell]
        joint /= np.bincount(owner, joint, tokens)[owner]
        expected = np.bincount(cell, joint, len(types)) + 1e-3  # a little smoothing keeps rare pairs from owning the mass
        table = expected / np.bincount(source_type, expected)[source_type]
    joint = weight * table[cell]
    best, start = [], 0
    for m, width in shapes:
        best.append(joint[start : start + m * width].reshape(m, width).argmax(1) - 1)
        start += m * width
    return best
