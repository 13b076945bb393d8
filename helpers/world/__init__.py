"""The controlled corpus: generated English with gold dependencies, and its German, French and Russian translations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from helpers.records import Pair
from helpers.world import french, german, russian
from helpers.world.english import English, realise
from helpers.world.meanings import Clause
from helpers.world.sampler import World

LANGUAGES = {"de": german, "fr": french, "ru": russian}  # `realise` says a plan: words, elided ones too, chosen by dice
VERSIONS = dict.fromkeys(LANGUAGES, 1)  # of the text in each language: raise it when a sentence or its translation changes
BLOCK = 256  # sentences drawn from one seed
LENGTHS = {"news": (5, 32), "subtitles": (2, 20)}  # words of a sentence, shortest and longest


def plans(register: str, seed: int) -> Iterator[tuple[Clause, English]]:
    """Endless plans with their English, the same for every target language."""
    (shortest, longest), world, block = LENGTHS[register], World(register), 0
    while True:
        world.random = random.Random(f"controlled {register} {seed} {block}").random
        for _ in range(BLOCK):
            plan = world.sentence()
            english = realise(plan, register)
            if shortest <= len(english.words) <= longest:
                yield plan, english
        block += 1


def pairs(register: str, language: str, seed: int) -> Iterator[Pair]:
    """Endless sentence pairs: English words with gold heads and relations, the same in every language, and the translation."""
    origin, rng = f"controlled-{register}", random.Random(f"{language} {register} {seed}")
    for plan, english in plans(register, seed):
        target = LANGUAGES[language].realise(plan, register, rng)
        words = english.words
        trees = tuple(english.heads), tuple(english.relations)
        yield Pair(" ".join(words), " ".join(target), tuple(words), *trees, origin=origin)


def splits(register: str, language: str, train: int, dev: int, test: int, seed: int) -> dict[str, list[Pair]]:
    """Make training, development and test pairs in which no English sentence occurs twice.

    Test and development pairs are drawn first, so that they stay the same when more training pairs are asked for.
    """
    seen: set[str] = set()
    fresh = (p for p in pairs(register, language, seed) if not (p.source in seen or seen.add(p.source)))
    made = {name: list(islice(fresh, n)) for name, n in (("test", test), ("dev", dev), ("train", train))}
    return {name: made[name] for name in ("train", "dev", "test")}
