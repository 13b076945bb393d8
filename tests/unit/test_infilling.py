"""Holes in lists of token ids, pieces of text, and epochs of both."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from helpers.corpora import infilling
from tests.unit.tiny_text import refused

PAD, EOS, HOLE = 0, 1, 2
CPU = torch.device("cpu")
TEXT = list(range(10, 50_010))  # no token twice


def holed(ids=TEXT, seed=1, **settings):
    return infilling.infill(ids, HOLE, np.random.default_rng(seed), **settings)


def kept(ids):
    return [token for token in ids if token != HOLE]


@pytest.mark.parametrize(("share", "mean"), [(0.3, 3.0), (0.5, 6.0)])
def test_holes_take_the_share_and_lengths_asked_for(share, mean):
    found = holed(share=share, mean=mean)
    lost, holes = len(TEXT) - len(kept(found)), found.count(HOLE)
    assert lost / len(TEXT) == pytest.approx(share, abs=0.02) and lost / holes == pytest.approx(mean, rel=0.04)
    assert (found == holed()) == ((share, mean) == (0.3, 3.0))  # those of the paper are the default


def test_each_span_becomes_one_hole_and_what_is_left_keeps_its_order():
    found = holed()
    left = kept(found)
    assert left == sorted(set(left)) and set(left) < set(TEXT)
    assert all(after == before + 1 for before, after in pairwise(found) if HOLE not in (before, after))  # none lost silently
    empty = sum(hole == HOLE and after == before + 1 for before, hole, after in zip(found, found[1:], found[2:], strict=False))
    assert empty / found.count(HOLE) == pytest.approx(np.exp(-3), abs=0.01)  # an empty span puts a hole between two tokens


def test_pieces_are_cut_without_the_end_of_a_text():
    rows = [[5, 6, 7, 8, 9, 10, 11, EOS], [12, 13, EOS], [14, EOS], [15, 16, 17, 18], [EOS], []]
    assert infilling.pieces(rows, EOS, 4) == [[5, 6, 7, 8], [9, 10, 11], [12, 13], [15, 16, 17, 18]]
    assert infilling.pieces(rows, EOS, 5) == [[5, 6, 7, 8, 9], [15, 16, 17, 18]]  # two of five are under half
    refused("4 tokens", infilling.pieces, [[5, 6, 7, EOS], [8, EOS]], EOS, 8)
    assert {tuple(holed([7], seed)) for seed in range(400)} == {(7,), (HOLE,), (HOLE, 7)}  # nothing ever becomes nothing


PIECES = [list(range(100 * n, 100 * n + 6 + n % 7)) for n in range(1, 41)]


def made(seed=3, number=0):
    return list(infilling.epochs(PIECES, PAD, EOS, HOLE, 100, seed, CPU)(number))


def sources(batches):
    """By piece what a model reads, without padding."""
    return {
        int(index): row[mask.bool()].tolist()
        for batch in batches
        for index, row, mask in zip(batch["index"], batch["input_ids"], batch["attention_mask"], strict=True)
    }


def test_an_epoch_asks_for_every_piece_whole():
    batches = made()
    assert max(batch["input_ids"].numel() + batch["labels"].numel() for batch in batches) <= 100
    assert sorted(int(i) for batch in batches for i in batch["index"]) == list(range(len(PIECES)))
    for batch in batches:
        for index, row in zip(batch["index"], batch["labels"], strict=True):
            assert row[row != -100].tolist() == [*PIECES[index], EOS]
            assert (row == -100).sum() == len(row) - len(PIECES[index]) - 1
        assert (batch["input_ids"][batch["attention_mask"] == 0] == PAD).all()
    for index, source in sources(batches).items():
        left = kept(source)
        assert left[-1] == EOS == source[-1] and set(left[:-1]) <= set(PIECES[index]) and left[:-1] == sorted(left[:-1])
    assert sources(made()) == sources(batches) != sources(made(number=1)) != sources(made(seed=4))  # new holes every epoch
