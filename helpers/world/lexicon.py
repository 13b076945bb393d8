"""The words of the small world: English forms, meaning classes, and a long tail of names and learned nouns.

A key is an English lemma, or "lemma.sense" where one English word has senses that other languages tell apart. The words
stand in `words/*.tsv`, the frequent ones first; each target language translates every key in tables of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from helpers.study import StudyError
from helpers.world.word_tables import read

_ANY = "thing text food drink vehicle garment"


@dataclass(frozen=True, slots=True)
class Noun:
    key: str
    cls: str
    singular: str
    plural: str
    mass: bool
    female: bool = False
    tail: TailWord | None = None
    of: str = ""  # whose it is, or of what: classes and keys


@dataclass(frozen=True, slots=True)
class TailWord:
    """A rare word: syllables that every language spells its own way, and an ending that fixes gender and inflection.

    `kind`: "forename_m", "forename_f" (ends in -a), "surname", "town", "ite" (a mineral), "ist" (a person), "logy" (a
    field of study), "ium" (a plant or building), "tron" (a device).
    """

    kind: str
    syllables: tuple[str, ...]


def sense(key: str) -> str:
    """The English word of a key: "play.game" -> "play"."""
    return key.split(".")[0]


_CORE = {
    row["key"]: Noun(row["key"], row["class"], sense(row["key"]), row["plural"], not row["plural"], row["female"] != "",
                     of=row["of"])
    for row in read("nouns")
}  # fmt: skip
SYLLABLES = {row["syllable"]: row for row in read("syllables")}
_OPEN, _CLOSED = ([key for key, row in SYLLABLES.items() if row["place"] == place] for place in ("open", "closed"))
TAIL_COUNTS = {
    "forename_m": 150, "forename_f": 150, "surname": 900, "town": 500,
    "ite": 200, "ist": 150, "logy": 100, "ium": 120, "tron": 120,
}  # fmt: skip
TAIL_CLASS = {"ite": "thing", "ist": "person", "logy": "idea", "ium": "place", "tron": "thing"}
NAMED = ("forename_m", "forename_f", "surname", "town")  # kinds that are written with a capital
_SUFFIXES = {"forename_f": "a", "ite": "ite", "ist": "ist", "logy": "ology", "ium": "ium", "tron": "otron", "town": "burg"}


def _tail() -> dict[str, TailWord]:
    rng = random.Random("the tail of the vocabulary")
    words: dict[str, TailWord] = {}
    core = {sense(key) for key in _CORE}
    for kind, count in TAIL_COUNTS.items():
        made = 0
        while made < count:
            length = rng.choice((1, 1, 2)) if kind.startswith("forename") else rng.choice((1, 2, 2))
            syllables = (*rng.choices(_OPEN, k=length), rng.choice(_CLOSED))
            spelled = "".join(syllables) + _SUFFIXES.get(kind, "")
            spelled = spelled.capitalize() if kind in NAMED else spelled
            if spelled not in words and spelled.lower() not in core:
                words[spelled] = TailWord(kind, syllables)
                made += 1
    return words


TAIL = _tail()  # rare words by their English spelling, most frequent first within a kind
NAMES = {key: word for key, word in TAIL.items() if word.kind in NAMED}
NOUNS = _CORE | {
    key: Noun(key, TAIL_CLASS[word.kind], key, key[:-1] + "ies" if key[-1] == "y" else key + "s", False, tail=word)
    for key, word in TAIL.items()
    if key not in NAMES
}
FEMALE = frozenset(  # nouns and forenames of women
    [key for key, noun in NOUNS.items() if noun.female] + [key for key, word in NAMES.items() if word.kind == "forename_f"]
)


@cache
def select(classes: str) -> tuple[str, ...]:
    """Noun keys of a list of classes, kinds of rare words and nouns."""
    chosen: dict[str, None] = {}
    for name in " ".join(_ANY if name == "any" else name for name in classes.split()).split():
        keys = [key for key, noun in NOUNS.items() if name in (noun.cls, key, noun.tail and noun.tail.kind)]
        if not keys:
            raise StudyError(f"{name!r} is neither a noun nor a class of nouns: correct it in the word tables.")
        chosen |= dict.fromkeys(keys)
    return tuple(chosen)


VERBS = {  # verb senses by key: their forms, and what they go with
    row["key"]: SimpleNamespace(**row | {
        "lemma": sense(row["key"]),
        "subjects": select(row["subjects"]),
        "objects": select(row["objects"]),
        "passive": row["objects"] != "" and row["passive"] == "" and row["preposition"] == "",
        "goals": row["goals"].split(),  # prepositions
    })
    for row in read("verbs")
}  # fmt: skip
_ADJECTIVE_ROWS = read("adjectives")
ADJECTIVES = {row["key"]: select(row["nouns"]) for row in _ADJECTIVE_ROWS}  # the nouns that each goes with
ORDER = {row["key"]: int(row["order"]) for row in _ADJECTIVE_ROWS}  # the place of each among others before a noun
ADVERBS = {
    row["key"]: SimpleNamespace(**row | {
        "positions": row["places"].split(), "weight": float(row["weight"] or 0), "verbs": row["verbs"].split()
    })
    for row in read("adverbs")
}  # fmt: skip
KINDS = {key: entry.kind for key, entry in ADVERBS.items()}
PREPOSITIONS = {row["key"]: SimpleNamespace(**row) for row in read("prepositions")}
