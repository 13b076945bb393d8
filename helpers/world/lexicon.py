"""The words of the small world: English forms, meaning classes, and a long tail of names and learned nouns.

A key is an English lemma, or "lemma.sense" where one English word has senses that other languages tell apart. The words
stand in `words/*.tsv`, the frequent ones first; each target language translates every key in tables of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from helpers.study import StudyError
from helpers.world.word_tables import read

_ANY = "thing text food drink vehicle garment"
_CLASSES = f"person animal place organisation event idea game instrument time {_ANY}"
SUBORDINATORS = ("because", "when", "although", "if", "while", "before", "after")  # "if" with present or future
COORDINATORS = ("and", "but", "or")
DETERMINERS = ("the", "a", "this", "my", "your", "his", "her", "our", "their", "two", "three", "many", "every", "")
MODALS = ("can", "must", "want", "should")


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


@dataclass(frozen=True, slots=True)
class Verb:
    key: str
    lemma: str
    third: str
    past: str
    participle: str
    ing: str
    subjects: tuple[str, ...]  # nouns' keys
    objects: tuple[str, ...]
    that: bool
    to: bool
    at: str
    passive: bool
    goals: tuple[str, ...]  # prepositions


@dataclass(frozen=True, slots=True)
class AdverbEntry:
    kind: str
    tense: str
    positions: tuple[str, ...]
    weight: float
    verbs: tuple[str, ...]  # that an adverb of manner goes with


SYLLABLES = {row["syllable"]: row for row in read("syllables", "syllable place cyrillic", "french french_before_vowel",
                                                 unique=True, place="open closed")}  # fmt: skip
_OPEN, _CLOSED = ([key for key, row in SYLLABLES.items() if row["place"] == place] for place in ("open", "closed"))
TAIL_COUNTS = {
    "forename_m": 150, "forename_f": 150, "surname": 900, "town": 500,
    "ite": 200, "ist": 150, "logy": 100, "ium": 120, "tron": 120,
}  # fmt: skip
TAIL_CLASS = {"ite": "thing", "ist": "person", "logy": "idea", "ium": "place", "tron": "thing"}


def sense(key: str) -> str:
    """The English word of a key: "play.game" -> "play"."""
    return key.split(".")[0]


@cache
def tail() -> dict[str, TailWord]:
    """Rare words by key (the English spelling), most frequent first within a kind; the same in every run."""
    rng = random.Random("the tail of the vocabulary")
    words: dict[str, TailWord] = {}
    core = {sense(key) for key in _core()}
    for kind, count in TAIL_COUNTS.items():
        made = 0
        while made < count:
            length = rng.choice((1, 1, 2)) if kind.startswith("forename") else rng.choice((1, 2, 2))
            syllables = (*rng.choices(_OPEN, k=length), rng.choice(_CLOSED))
            spelled = spell(TailWord(kind, syllables))
            if spelled not in words and spelled.lower() not in core:
                words[spelled] = TailWord(kind, syllables)
                made += 1
    return words


_LETTERS = dict(zip("abdefgiklmnoprstuvz", "абдефгиклмнопрстувз", strict=True))  # of further surnames, with their Cyrillic


@cache
def further_surnames(count: int) -> tuple[str, ...]:
    """Surnames beside those of `tail`, most frequent first: the first of a longer list are a shorter one."""
    rng, spellings = random.Random("further surnames"), {}
    while len(spellings) < count:
        opened = (rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice((2, 2, 3))))
        spelled = ("".join(opened) + rng.choice("klmnrst")).capitalize()
        if spelled not in tail():
            spellings[spelled] = None
    return tuple(spellings)


def surname(key: str) -> TailWord:
    """A surname of `tail`, or of `further_surnames`, which are one piece."""
    return tail().get(key) or TailWord("surname", (key.lower(),))


def cyrillic(syllable: str) -> str:
    """Cyrillic spelling of a syllable of a rare word, or letter by letter of a further surname."""
    row = SYLLABLES.get(syllable)
    return row["cyrillic"] if row else "".join(_LETTERS[letter] for letter in syllable)


def spell(word: TailWord) -> str:
    """English spelling of a rare word, singular."""
    stem = "".join(word.syllables)
    suffix = {"forename_f": "a", "ite": "ite", "ist": "ist", "logy": "ology", "ium": "ium", "tron": "otron", "town": "burg"}
    text = stem + suffix.get(word.kind, "")
    return text.capitalize() if word.kind in ("forename_m", "forename_f", "surname", "town") else text


@cache
def _core() -> dict[str, Noun]:
    return {
        key: Noun(key, row["class"], sense(key), row["plural"], not row["plural"], row["female"] != "", of=row["of"])
        for row in read("nouns", "key class", "plural female of", unique=True, female="yes", **{"class": _CLASSES})
        for key in (row["key"],)
    }


@cache
def nouns() -> dict[str, Noun]:
    """Common nouns by key, the tail's last within their class."""
    rare = {key: word for key, word in tail().items() if word.kind in TAIL_CLASS}
    made = {key: Noun(key, TAIL_CLASS[word.kind], key, _plural(key), False, False, word) for key, word in rare.items()}
    return _core() | made


def _plural(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


@cache
def names() -> dict[str, TailWord]:
    """Names by key: forenames, surnames and towns."""
    return {key: word for key, word in tail().items() if word.kind not in TAIL_CLASS}


@cache
def female() -> frozenset[str]:
    """Nouns and forenames of women."""
    women = {key for key, noun in nouns().items() if noun.female}
    return frozenset(women.union(key for key, word in names().items() if word.kind == "forename_f"))


@cache
def selection(name: str) -> tuple[str, ...]:
    """Noun keys of one class, kind of rare word, or key; none if there is no such."""
    return tuple(key for key, n in nouns().items() if name in (n.cls, key, n.tail and n.tail.kind))


def select(classes: str, where: str = "A list of nouns") -> tuple[str, ...]:
    """Noun keys of a list of classes and nouns; `where` is what to correct if there is no such."""
    chosen: dict[str, None] = {}
    for name in " ".join(_ANY if name == "any" else name for name in classes.split()).split():
        keys = selection(name)
        if not keys:
            raise StudyError(f"{where}: {name!r} is neither a noun nor a class of nouns; correct it.")
        chosen |= dict.fromkeys(keys)
    return tuple(chosen)


@cache
def verbs() -> dict[str, Verb]:
    """Verb senses by key."""
    yes = dict.fromkeys(("clause", "recipient"), "yes")
    forms, options = "key third past participle ing subjects", "objects clause recipient preposition passive goals"
    return {
        row["key"]: Verb(
            row["key"], sense(row["key"]), row["third"], row["past"], row["participle"], row["ing"],
            select(row["subjects"], row["where"]), select(row["objects"], row["where"]),
            row["clause"] != "", row["recipient"] != "", row["preposition"],
            row["objects"] != "" and row["passive"] == "" and row["preposition"] == "", tuple(row["goals"].split()),
        )
        for row in read("verbs", forms, options, unique=True, passive="no", **yes)
    }  # fmt: skip


@cache
def adjectives() -> dict[str, tuple[str, ...]]:
    """Noun keys that each adjective sense goes with."""
    return {row["key"]: select(row["nouns"], row["where"]) for row in _adjective_rows()}


@cache
def order() -> dict[str, int]:
    """The place of each adjective among others before a noun."""
    return {row["key"]: int(row["order"]) for row in _adjective_rows()}


@cache
def _adjective_rows() -> list[dict[str, str]]:
    return read("adjectives", "key order nouns", unique=True)


@cache
def adverbs() -> dict[str, AdverbEntry]:
    """Adverb senses by key."""
    return {
        row["key"]: AdverbEntry(
            row["kind"], row["tense"], tuple(row["places"].split()), float(row["weight"] or 0), tuple(row["verbs"].split())
        )
        for row in read(
            "adverbs", "key kind", "tense places weight verbs", unique=True,
            kind="manner frequency time degree place sentence", tense="past present perfect future any",
        )
    }  # fmt: skip


PREPOSITIONS = {  # key: (English word, kind, noun classes it takes)
    row["key"]: (row["preposition"], row["kind"], row["nouns"])
    for row in read("prepositions", "key preposition kind nouns", unique=True)
}
