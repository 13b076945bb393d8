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
from helpers.world.word_tables import forms, grammar, grouped, read, single

ADVERBS = grouped(read("russian_adverbs", "key adverb", "", lexicon.adverbs()), itemgetter("adverb"))

GRAMMAR = grammar("russian_grammar")
VOWELS = frozenset("аеиоуыэюя")
HUSH, SIBILANT = frozenset("кгхжшщч"), frozenset("жшщчц")
NOM, GEN, DAT, ACC, INS, PRE = range(6)
CASES = {"nom": NOM, "gen": GEN, "dat": DAT, "acc": ACC, "ins": INS, "pre": PRE}
AGREES = (0, 0, 1, 2, 3, 3)  # of an adjective's column: the gender of a verb
COLUMN = (0, 2, 3, 4)  # and back


class Noun:
    """A noun: its forms by case, the columns its adjectives take, and what comes with "in" and "to"."""

    __slots__ = ("column", "count", "lemma", "loc", "many", "na", "pl", "sg", "synonyms")

    def __init__(self, lemma, sg, pl, column, many, loc="", na=False, count=""):
        self.lemma, self.sg, self.pl, self.column, self.many = lemma, sg, pl, column, many
        self.loc, self.na, self.count, self.synonyms = loc, na, count or sg[GEN], ()


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


def decline(lemma: str, row: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Singular and plural forms of a noun by case.

    Parameters
    ----------
    lemma : str
        Nominative singular (plural, if there is no singular).
    row : dict
        Gender, whether animate, and what the rules do not give: the columns of `words/russian_nouns.tsv`.
    """
    sex, animate, stressed, end = row["gender"], row["animate"] != "", row["stressed_ending"] != "", lemma[-1]
    if sex == "pl":
        plural, sg, zero = lemma, None, ""
    else:
        stem = row["oblique_stem"] or (lemma[:-1] if end in "аяоеьй" else lemma)
        y = "и" if stem[-1] in HUSH or end in "яьй" else "ы"
        i = stem[-1] == "и"  # -ия, -ие, -ий
        if end in "ая":
            a, u = (y, "у" if end == "а" else "ю")
            oj = "ой" if end == "а" and (stressed or stem[-1] not in SIBILANT) else "ей"
            dat = stem + ("и" if i else "е")
            sg = [lemma, stem + a, dat, stem + u, stem + oj, dat]
            plural, zero = stem + y, stem + ("й" if i else "ь" if end == "я" else "")
        elif sex == "f":
            ins = stem + "ью" if stem.endswith("ер") else lemma + "ю"
            sg = [lemma, stem + "и", stem + "и", lemma, ins, stem + "и"]
            plural, zero = stem + "и", stem + "ей"
        else:
            soft = end in "ьй" or (end == "е" and stem[-1] not in SIBILANT)
            a, u = "яю" if soft else "ау"
            om = "ем" if soft or (stem[-1] in SIBILANT and not stressed) else "ом"
            gen = stem + a
            acc = lemma if sex == "n" or not animate else gen
            sg = [lemma, gen, stem + u, acc, stem + om, stem + ("и" if i and end != "ь" else "е")]
            if sex == "n":
                plural, zero = stem + a, stem + "й" if i else stem
            else:
                plural = stem + y
                zero = stem + ("ей" if end == "ь" or stem[-1] in "жшщч" else "ев" if end == "й" or om == "ем" else "ов")
    plural = row["plural"] or plural
    root = plural[:-1]
    if row["plural"] and sex == "m":
        zero = root + ("ов" if plural[-1] == "а" else "ев" if plural.endswith("ья") else "ей")
    gen = row["genitive_plural"] or zero
    a = "я" if plural[-1] == "я" or (plural[-1] == "и" and root[-1] not in HUSH) else "а"
    pl = [
        plural,
        gen,
        root + a + "м",
        gen if animate else plural,
        row["instrumental_plural"] or root + a + "ми",
        root + a + "х",
    ]
    return tuple(sg or pl), tuple(pl)


_NOUN_COLUMNS = (
    "key noun gender",
    "animate declension oblique_stem plural genitive_plural instrumental_plural locative stressed_ending na",
)


def _noun(row: dict[str, str]) -> Noun:
    lemma, animate = row["noun"], row["animate"] != ""
    column = {"m": 1 - animate, "f": 2, "n": 3, "pl": 5}[row["gender"]]
    many = 4 if animate else 5
    if row["declension"] == "adjective":
        forms = adjective_forms(lemma)
        return Noun(lemma, forms[column], forms[many], column, many, count=forms[many][GEN])
    if row["declension"] == "none":
        return Noun(lemma, (lemma,) * 6, (lemma,) * 6, column, many)
    first, _, last = lemma.rpartition(" ")
    sg, pl = decline(last, row)
    if first:  # an adjective that belongs to the name
        forms = adjective_forms(first[:-2] + "ий")
        sg = tuple(f"{x} {y}" for x, y in zip(forms[column], sg, strict=True))
        pl = tuple(f"{x} {y}" for x, y in zip(forms[many], pl, strict=True))
    return Noun(lemma, sg, pl, column, many, row["locative"], row["na"] != "")


@cache
def nouns() -> dict[str, Noun]:
    """Nouns of the core by key; synonyms hang on the first."""
    table: dict[str, Noun] = {}
    known = {"gender": "m f n pl", "declension": "adjective none"} | dict.fromkeys(("animate", "stressed_ending", "na"), "yes")
    for row in read("russian_nouns", *_NOUN_COLUMNS, {*lexicon.nouns(), "potato.mass"}, same="gender", **known):
        noun = _noun(row)
        usual = table.setdefault(row["key"], noun)
        if usual is not noun:
            usual.synonyms = (*usual.synonyms, noun)
    return table


SUFFIX = single(GRAMMAR["ending"])


def tail_noun(key: str) -> Noun:
    """A rare word, by its syllables and kind."""
    return _of_tail(lexicon.tail()[key])


def surname(key: str) -> Noun:
    """A surname."""
    return _of_tail(lexicon.surname(key))


@cache
def _of_tail(word: lexicon.TailWord) -> Noun:
    text = "".join(map(lexicon.cyrillic, word.syllables)) + SUFFIX.get(word.kind, "")
    if word.kind in ("forename_m", "forename_f", "surname", "town"):
        text = text.capitalize()
    row = dict.fromkeys(" ".join(_NOUN_COLUMNS).split(), "")
    gender = "f" if word.kind in ("forename_f", "logy") else "m"
    animate = "yes" if word.kind in ("forename_m", "forename_f", "surname", "ist") else ""
    return _noun(row | {"noun": text, "gender": gender, "animate": animate})


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
    for row in read("russian_adjectives", "key adjective", "short_masculine short_feminine nouns", lexicon.adjectives()):
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
    known = {*lexicon.verbs(), "go.far", "come.far", "go.can", "go.want", "need.soon"}
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
