"""The Russian words of the small world and their inflection: nouns, adjectives, verbs, pronouns.

Case order is nominative, genitive, dative, accusative, instrumental, prepositional. A column of an adjective (0 to 5) is
masculine animate, masculine inanimate, feminine, neuter, plural animate, plural inanimate; a past tense or short form has
masculine, feminine, neuter, plural (0 to 3). The letter "ё" is written "е" throughout.
"""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.word_tables import forms, grammar, grouped, read

ADVERBS = grouped(read("russian_adverbs"), itemgetter("adverb"))

GRAMMAR = grammar("russian_grammar")
VOWELS = frozenset("аеиоуыэюя")
HUSH, SIBILANT = frozenset("кгхжшщч"), frozenset("жшщчц")
NOM, GEN, DAT, ACC, INS, PRE = range(6)
CASES = {"nom": NOM, "gen": GEN, "dat": DAT, "acc": ACC, "ins": INS, "pre": PRE}
AGREES = (0, 0, 1, 2, 3, 3)  # of an adjective's column: the gender of a verb
COLUMN = (0, 2, 3, 4)  # and back


class Noun:
    """A noun: its forms by case, the columns its adjectives take, and what comes with "in" and "to"."""

    __slots__ = ("column", "count", "loc", "many", "na", "pl", "sg")

    def __init__(self, row: dict[str, str], singular: tuple[str, ...], plural: tuple[str, ...]):
        self.sg, self.pl, animate = singular, plural, row["animate"] != ""
        self.column, self.many = {"m": 1 - animate, "f": 2, "n": 3, "pl": 5}[row["gender"]], 5 - animate
        self.loc, self.na, self.count = row["locative"], row["na"] != "", row["counted"] or singular[GEN]


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


NOUNS = grouped(  # of the core
    read("russian_nouns"), lambda row: Noun(row, tuple(row["singular"].split("|")), tuple(row["plural"].split("|")))
)


@cache
def rare(word: lexicon.TailWord) -> Noun:
    """A rare word or a name, by its syllables and kind."""
    stem = "".join(lexicon.SYLLABLES[syllable]["cyrillic"] for syllable in word.syllables)
    if word.kind in lexicon.NAMED:
        stem = stem.capitalize()
    gender, animate, *endings = GRAMMAR["rare"][word.kind]
    forms = tuple([stem + ("и" if end == "ы" and stem[-1] in HUSH else end) for end in endings])
    return Noun({"gender": gender, "animate": animate, "locative": "", "na": "", "counted": ""}, forms[:6], forms[6:])


class Adjective:
    """An adjective: forms by column and case, short forms by gender (or none)."""

    __slots__ = ("forms", "short")

    def __init__(self, row: dict[str, str]):
        short = row["short_feminine"][:-1]
        self.forms = adjective_forms(row["adjective"])
        self.short = (row["short_masculine"], short + "а", short + "о", short + "ы") if short else None


_ADJECTIVE_ROWS = read("russian_adjectives")
ADJECTIVES = grouped((row for row in _ADJECTIVE_ROWS if not row["nouns"]), Adjective)
ADJECTIVE_OF = {  # of certain nouns
    (row["key"], noun): Adjective(row) for row in _ADJECTIVE_ROWS for noun in lexicon.select(row["nouns"])
}


class Conjugation(NamedTuple):
    """Forms of a verb: present or simple future by person (singular, then plural), past by gender, and the rest."""

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]
    imperative: str
    participle: tuple[str, ...] | None


FORMS = {
    infinitive: Conjugation(infinitive, row["present"], row["past"], row["imperative"][0], row["participle"] or None)
    for infinitive, row in forms("russian_verb_forms").items()
}


class Verb:
    """A verb's aspect pair with its government."""

    def __init__(self, row: dict[str, str]):
        pair = [row[column] for column in ("imperfective", "perfective", "indeterminate")]
        self.i, self.p, self.fro = map(FORMS.get, pair)
        self.preposition, self.case = row["preposition"], CASES[row["case"]]
        self.stative, self.senses = row["imperfective_event"] == "always", row["imperfective_event"] == "past"
        self.extra = row["fixed"]


_VERB_ROWS = read("russian_verbs")
VERBS = grouped((row for row in _VERB_ROWS if not (row["objects"] or row["subjects"])), Verb)
VERB_OF = {  # of certain objects or subjects
    (row["key"], role, noun): Verb(row)
    for row in _VERB_ROWS for role in ("objects", "subjects") for noun in lexicon.select(row[role])
}  # fmt: skip
