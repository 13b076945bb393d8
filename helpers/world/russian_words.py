"""The Russian words of the small world and their inflection: nouns, adjectives, verbs, pronouns.

Case order is nominative, genitive, dative, accusative, instrumental, prepositional. A column of an adjective (0 to 5) is
masculine animate, masculine inanimate, feminine, neuter, plural animate, plural inanimate; a past tense or short form has
masculine, feminine, neuter, plural (0 to 3). The letter "ё" is written "е" throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.word_tables import forms, grammar, grouped, read

ADVERBS = grouped(read("russian_adverbs", "key adverb", "", lexicon.ADVERBS), itemgetter("adverb"))

GRAMMAR = grammar("russian_grammar")
VOWELS = frozenset("аеиоуыэюя")
HUSH, SIBILANT = frozenset("кгхжшщч"), frozenset("жшщчц")
NOM, GEN, DAT, ACC, INS, PRE = range(6)
CASES = {"nom": NOM, "gen": GEN, "dat": DAT, "acc": ACC, "ins": INS, "pre": PRE}
AGREES = (0, 0, 1, 2, 3, 3)  # of an adjective's column: the gender of a verb
COLUMN = (0, 2, 3, 4)  # and back


class Noun:
    """A noun: its forms by case, the columns its adjectives take, and what comes with "in" and "to"."""

    __slots__ = ("column", "count", "loc", "many", "na", "pl", "sg", "synonyms")

    def __init__(self, row: dict[str, str], singular: tuple[str, ...], plural: tuple[str, ...]):
        self.sg, self.pl, animate = singular, plural, row["animate"] != ""
        self.column, self.many = {"m": 1 - animate, "f": 2, "n": 3, "pl": 5}[row["gender"]], 5 - animate
        self.loc, self.na, self.count, self.synonyms = row["locative"], row["na"] != "", row["counted"] or singular[GEN], ()


def adjective_forms(lemma: str) -> tuple[tuple[str, ...], ...]:
    """Forms of an adjective by column and case."""
    stem, end, last = lemma[:-2], lemma[-2:], lemma[-3]
    soft = end == "ий" and last not in HUSH
    y = "и" if soft or last in HUSH else "ы"
    # after a sibilant an unstressed "o" is written "e"
    o = "е" if soft or (last in SIBILANT and end != "ой") else "о"
    a, u, e = ("яя", "юю", "ее") if soft else ("ая", "ую", o + "е")
    m = (lemma, *(stem + x for x in (o + "го", o + "му", o + "го", y + "м", o + "м")))
    f = tuple(stem + x for x in (a, o + "й", o + "й", u, o + "й", o + "й"))
    n = (stem + e, m[1], m[2], stem + e, m[4], m[5])
    p = tuple(stem + y + x for x in ("е", "х", "м", "х", "ми", "х"))
    return m, (*m[:3], lemma, *m[4:]), f, n, p, (*p[:3], p[0], *p[4:])


@cache
def nouns() -> dict[str, Noun]:
    """Nouns of the core by key; synonyms hang on the first."""
    table: dict[str, Noun] = {}
    for row in read(
        "russian_nouns", "key gender singular plural", "animate counted locative na", {*lexicon.NOUNS, "potato.mass"},
        same="gender", gender="m f n pl", animate="yes", na="yes",
    ):  # fmt: skip
        noun = Noun(row, tuple(row["singular"].split("|")), tuple(row["plural"].split("|")))
        usual = table.setdefault(row["key"], noun)
        if usual is not noun:
            usual.synonyms = (*usual.synonyms, noun)
    return table


def tail_noun(key: str) -> Noun:
    """A rare word, by its syllables and kind."""
    return _of_tail(lexicon.TAIL[key])


def surname(key: str) -> Noun:
    """A surname."""
    return _of_tail(lexicon.surname(key))


@cache
def _of_tail(word: lexicon.TailWord) -> Noun:
    stem = "".join(map(lexicon.cyrillic, word.syllables))
    if word.kind in ("forename_m", "forename_f", "surname", "town"):
        stem = stem.capitalize()
    gender, animate, *endings = GRAMMAR["rare"][word.kind]
    forms = tuple([stem + ("и" if end == "ы" and stem[-1] in HUSH else end) for end in endings])
    return Noun({"gender": gender, "animate": animate, "locative": "", "na": "", "counted": ""}, forms[:6], forms[6:])


class Adjective:
    """An adjective: forms by column and case, short forms by gender (or none), words with certain nouns, synonyms."""

    __slots__ = ("at", "forms", "short", "synonyms")

    def __init__(self, row: dict[str, str]):
        short = row["short_feminine"][:-1]
        self.forms = adjective_forms(row["adjective"])
        self.short = (row["short_masculine"], short + "а", short + "о", short + "ы") if short else None
        self.at, self.synonyms = {}, ()


@cache
def adjectives() -> dict[str, Adjective]:
    """Adjectives by key."""
    table: dict[str, Adjective] = {}
    for row in read("russian_adjectives", "key adjective", "short_masculine short_feminine nouns", lexicon.ADJECTIVES):
        word = Adjective(row)
        usual = table.setdefault(row["key"], word)
        if row["nouns"]:
            usual.at.update(dict.fromkeys(lexicon.select(row["nouns"], row["where"]), word))
        elif usual is not word:
            usual.synonyms = (*usual.synonyms, word)
    return table


class Conjugation(NamedTuple):
    """Forms of a verb: present or simple future by person (singular, then plural), past by gender, and the rest."""

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]
    imperative: str
    participle: tuple[str, ...] | None


FORMS = {
    infinitive: Conjugation(infinitive, row["present"], row["past"], row["imperative"][0], row["participle"] or None)
    for infinitive, row in forms("russian_verb_forms", "present past imperative", "participle").items()
}


class Verb:
    """A verb's aspect pair with its government."""

    def __init__(self, row: dict[str, str]):
        pair = [row[column] for column in ("imperfective", "perfective", "indeterminate")]
        self.i, self.p, self.fro = map(FORMS.get, pair)
        self.preposition, self.case = row["preposition"], CASES[row["case"]]
        self.stative, self.senses = row["imperfective_event"] == "always", row["imperfective_event"] == "past"
        self.extra, self.synonyms = row["fixed"], ()


@dataclass(slots=True)
class VerbEntry:
    """The verbs of a key: the usual one, and those for certain objects or subjects."""

    usual: Verb | None = None
    objects: dict[str, Verb] = field(default_factory=dict)
    subjects: dict[str, Verb] = field(default_factory=dict)


@cache
def verbs() -> dict[str, VerbEntry]:
    """Verbs by key."""
    table: dict[str, VerbEntry] = {}
    known = {*lexicon.VERBS, "go.far", "come.far", "go.can", "go.want", "need.soon"}
    options = "perfective indeterminate objects subjects preposition imperfective_event fixed"
    for row in read(
        "russian_verbs", "key imperfective case", options, known, case=" ".join(CASES), imperfective_event="always past"
    ):  # fmt: skip
        verb, entry = Verb(row), table.setdefault(row["key"], VerbEntry())
        entry.objects.update(dict.fromkeys(lexicon.select(row["objects"], row["where"]), verb))
        entry.subjects.update(dict.fromkeys(lexicon.select(row["subjects"], row["where"]), verb))
        if row["objects"] or row["subjects"]:
            continue
        if entry.usual is None:
            entry.usual = verb
        else:
            entry.usual.synonyms = (*entry.usual.synonyms, verb)
    return table
