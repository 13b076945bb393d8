"""The controlled corpus: generated English with gold dependencies, and its German, French and Russian translations."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from helpers.records import Pair
from helpers.study import StudyError
from helpers.world.english import English, realise
from helpers.world.meanings import Clause
from helpers.world.sampler import REGISTERS, mentions, sample, senses

LANGUAGES = {"de": "german", "fr": "french", "ru": "russian"}
VERSIONS = dict.fromkeys(LANGUAGES, 1)  # of the text in each language: raise it when a sentence or its translation changes
BLOCK = 256  # sentences drawn from one seed
LENGTHS = {"news": (5, 32), "subtitles": (2, 20)}  # words of a sentence, shortest and longest


def plans(register: str, seed: int, surnames: int = 0) -> Iterator[tuple[Clause, English]]:
    """Endless plans with their English, the same for every target language.

    Parameters
    ----------
    register : str
        "news" or "subtitles".
    seed : int
    surnames : int
        Further ones, invented and rare, beside the usual.

    Yields
    ------
    tuple of (Clause, English)

    Raises
    ------
    StudyError
        If there is no such register.
    """
    if register not in REGISTERS:
        raise StudyError(f"No register {register!r}: the controlled corpus has {' and '.join(REGISTERS)}.")
    shortest, longest = LENGTHS[register]
    block = 0
    while True:
        rng = random.Random(f"controlled {register} {seed} {block}")
        for _ in range(BLOCK):
            plan = sample(register, rng, surnames)
            english = realise(plan, register)
            if shortest <= len(english.words) <= longest:
                yield plan, english
        block += 1


def pairs(register: str, language: str, seed: int, surnames: int = 0) -> Iterator[Pair]:
    """Endless sentence pairs; see `generate`."""
    if language not in LANGUAGES:
        raise StudyError(f"No language {language!r}: the controlled corpus is translated into {', '.join(LANGUAGES)}.")
    translate = importlib.import_module(f"{__name__}.{LANGUAGES[language]}").realise
    origin, rng = f"controlled-{register}", random.Random(f"{language} {register} {seed}")
    for plan, english in plans(register, seed, surnames):
        target = translate(plan, register, rng)
        words = english.words
        yield Pair(
            " ".join(words), " ".join(target.words), tuple(words), tuple(english.heads), tuple(english.relations),
            tuple(target.marks), origin,
        )  # fmt: skip


def generate(register: str, language: str, n: int, seed: int) -> list[Pair]:
    """Make sentence pairs; the first are the same however many are made, and their English is in every language.

    Parameters
    ----------
    register : str
        "news" or "subtitles".
    language : str
        "de", "fr" or "ru".
    n : int
        Number of pairs, at least 1.
    seed : int

    Returns
    -------
    list of Pair
        English words with gold heads and relations, the translation, and the marks to score it by.

    Raises
    ------
    StudyError
        If the register or language is unknown or `n` is less than 1.
    """
    if n < 1:
        raise StudyError(f"Cannot make {n} sentences: ask for 1 or more.")
    return list(islice(pairs(register, language, seed), n))


def splits(
    register: str, language: str, train: int, dev: int, test: int, seed: int, surnames: int = 0
) -> dict[str, list[Pair]]:  # fmt: skip
    """Make training, development and test pairs in which no English sentence occurs twice.

    Test and development pairs are drawn first, so that they stay the same when more training pairs are asked for.

    Returns
    -------
    dict of list of Pair
        Keys "train", "dev", "test".

    Raises
    ------
    StudyError
        As `generate`.
    """
    for n in (train, dev, test):
        if n < 1:
            raise StudyError(f"Cannot make a split of {n} sentences: ask for 1 or more.")
    seen: set[str] = set()
    fresh = (p for p in pairs(register, language, seed, surnames) if not (p.source in seen or seen.add(p.source)))
    made = {name: list(islice(fresh, n)) for name, n in (("test", test), ("dev", dev), ("train", train))}
    return {name: made[name] for name in ("train", "dev", "test")}


def keys_said(plan: Clause) -> Iterator[tuple[str, str]]:
    """Part of speech and lexicon key of every noun, verb, adjective and adverb that a plan says (pronouns left out)."""
    clauses, phrases = [plan], list(mentions(plan))
    while clauses:
        clause = clauses.pop()
        yield "verb", clause.verb
        if clause.attribute.__class__ is str:
            yield "adjective", clause.attribute
        for adverb in (*(a.adverb for a in clause.adverbs), clause.degree):
            if adverb:
                yield "adverb", adverb
        inner = [clause.complement, *(pair[1] for pair in (clause.subordinate, clause.coordinate) if pair)]
        clauses += [c for c in inner if c is not None]
    for np in phrases:
        if np.pronoun:
            continue
        yield "noun", np.noun
        for adjective in np.adjectives:
            yield "adjective", adjective
        if np.degree:
            yield "adverb", np.degree
        if np.relative is not None:
            yield from (said for said in keys_said(np.relative) if said[0] in ("verb", "adverb"))
            if np.relative.attribute.__class__ is str:
                yield "adjective", np.relative.attribute


def count_senses(register: str, n: int, seed: int):
    """How often each sense of each ambiguous English word is meant in the first `n` sentences.

    Returns
    -------
    pandas.DataFrame
        Columns part, word, sense (the lexicon's key), count, percent (of the word's uses); `attrs["percent"]` is the
        share of ambiguous words among all nouns, verbs, adjectives and adverbs.
    """
    import pandas as pd

    counts = Counter(said for plan, _ in islice(plans(register, seed), n) for said in keys_said(plan))
    rows = []
    for part in ("noun", "verb", "adjective", "adverb"):
        for word, keys in senses(part).items():
            total = sum(counts[part, key] for key in keys)
            rows += [(part, word, key, counts[part, key], 100 * counts[part, key] / (total or 1)) for key in keys]
    table = pd.DataFrame(rows, columns=["part", "word", "sense", "count", "percent"])
    table.attrs["percent"] = 100 * table["count"].sum() / counts.total()
    return table
