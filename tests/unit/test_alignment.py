"""Statistical alignment: known permutations, the slow twin, edges."""

import random

import pytest

from helpers.corpora.alignment import _one_way, align
from tests.reference import measures as slow
from tests.unit.tiny_text import refused

pytestmark = pytest.mark.filterwarnings("error")


def dictionary_corpus(pairs, words, longest=9, seed=0):
    """Sentences of distinct words, each translated by its own word, moved by up to two places: sources and targets."""
    rng = random.Random(seed)
    translation = rng.sample(range(words), words)
    sources = [rng.sample(range(words), rng.randint(3, longest)) for _ in range(pairs)]
    orders = [sorted(range(len(source)), key=lambda i: i + rng.uniform(-2, 2)) for source in sources]
    return sources, [[1000 + translation[s[i]] for i in order] for s, order in zip(sources, orders, strict=True)]


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_it_is_the_slow_loop(rounds):
    sources, targets = dictionary_corpus(25, words=12, longest=6, seed=rounds)
    sources.append([3, 3, 4])  # a word twice
    targets.append([1001, 1001])
    assert [row.tolist() for row in _one_way(sources, targets, rounds)] == slow.likeliest_sources(sources, targets, rounds)
    found = align(sources, targets, rounds)
    assert found == slow.align(sources, targets, rounds)
    for links, source, target in zip(found, sources, targets, strict=True):
        assert len(set(links.values())) == len(links)  # both directions agree: one to one
        assert all(t in range(len(target)) and s in range(len(source)) for t, s in links.items())


def test_empty_sides():
    sources, targets = dictionary_corpus(20, words=10)
    whole = align(sources, targets)
    with_gaps = align([*sources, [], [3], []], [*targets, [1001], [], []])
    assert with_gaps[:-3] == whole and with_gaps[-3:] == [{}, {}, {}]
    assert align([[1, 2], [3]], [[], []]) == [{}, {}] and align([[]], [[5]]) == [{}] and align([], []) == []
    refused("1 and 2", align, [[1], [2]], [[3]])
