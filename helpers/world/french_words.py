"""French words of the small world: translations by key, the usual one first, and how verbs inflect."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.lexicon import NAMES, NOUNS, TAIL
from helpers.world.word_tables import forms, grammar, grouped, read, single

ADVERBS = grouped(read("french_adverbs", "key adverb", "", lexicon.ADVERBS), itemgetter("adverb"))
GRAMMAR = grammar("french_grammar")
PREPOSITIONS, SUBORDINATORS, COORDINATORS, MODALS = (
    single(GRAMMAR[name]) for name in ("preposition", "subordinator", "coordinator", "modal")
)
DETERMINERS = GRAMMAR["determiner"]

# ------------------------------------------------------------------------------------------------------------- spelling
_ENDINGS = single(GRAMMAR["ending"])
_FEMININE_TAIL = frozenset(("forename_f", "ite", "logy"))
_VOWELS = frozenset("aeiouyâàéèêëîïôûœhAEIOUYÂÀÉÈÊËÎÏÔÛŒH")
_ASPIRATE = frozenset(("haut", "haute", "hauts", "hautes"))


def vowel(word: str) -> bool:
    """Whether a word makes the one before it elide: it begins with a vowel or a mute h."""
    return word[0] in _VOWELS and word not in _ASPIRATE


def _syllable(syllable: str, column: str = "french") -> str:
    spelled = lexicon.SYLLABLES.get(syllable, {}).get(column, "")
    return spelled or (syllable if column == "french" else "")


def spell(word) -> str:
    """French spelling of a rare word, singular."""
    *first, last = word.syllables
    ending = _ENDINGS.get(word.kind, "")
    opened = _syllable(last, "french_before_vowel") if ending and word.kind != "town" else ""
    text = "".join(_syllable(s) for s in first) + (opened or _syllable(last)) + ending
    return text.capitalize() if word.kind in ("forename_m", "forename_f", "surname", "town") else text


@cache
def name(key: str) -> str:
    """A forename, surname or town in French."""
    return spell(NAMES[key])


def surname(key: str) -> str:
    """A surname in French."""
    return spell(lexicon.surname(key))


# ---------------------------------------------------------------------------------------------------------------- nouns
class Noun(NamedTuple):
    """A noun: translations as (singular, plural), grammatical gender ("m", "f"), class, and whether plural only."""

    variants: tuple[tuple[str, str], ...]
    gender: str
    cls: str
    plural_only: bool = False


@cache
def noun_table() -> dict[str, Noun]:
    """Nouns by key, those of the tail too."""
    table: dict[str, Noun] = {}
    known = {"gender": "m f", "plural_only": "yes"}
    for row in read("french_nouns", "key noun gender plural", "plural_only", NOUNS, same="gender", **known):
        usual = table.get(row["key"], Noun((), row["gender"], NOUNS[row["key"]].cls, row["plural_only"] != ""))
        table[row["key"]] = usual._replace(variants=(*usual.variants, (row["noun"], row["plural"])))
    for key, noun in NOUNS.items():
        if noun.tail:
            lemma = spell(noun.tail)
            table[key] = Noun(((lemma, lemma + "s"),), "f" if noun.tail.kind in _FEMININE_TAIL else "m", noun.cls)
    return table


@cache
def gender(key: str) -> str:
    """Gender ("m", "f") of a noun or name; of none, the masculine."""
    noun = noun_table().get(key)
    if noun:
        return noun.gender
    return "f" if key in TAIL and TAIL[key].kind in _FEMININE_TAIL else "m"


def _used(row: dict[str, str]) -> dict[str, str]:
    """A row whose key says what it is used with."""
    return row | {"key": f"{row['key']}:{row['use']}" if row["use"] else row["key"]}


# ----------------------------------------------------------------------------------------------------------- adjectives
class Adjective(NamedTuple):
    """An adjective: masculine, feminine, their plurals; whether before the noun; the masculine before a vowel, if another."""

    forms: tuple[str, ...]
    before: bool
    before_vowel: str


@cache
def adjective_table() -> dict[str, tuple[Adjective, ...]]:
    """Translations of adjectives by key, or "key:use" where something asks for another word."""
    rows = read(
        "french_adjectives", "key masculine feminine masculine_plural feminine_plural", "use before before_vowel",
        lexicon.ADJECTIVES, before="yes", use="thing garment tower noun unused recent",
    )  # fmt: skip
    shapes = itemgetter("masculine", "feminine", "masculine_plural", "feminine_plural")
    return grouped(map(_used, rows), lambda row: Adjective(shapes(row), row["before"] != "", row["before_vowel"]))


# ---------------------------------------------------------------------------------------------------------------- verbs
class Verb(NamedTuple):
    """A verb: infinitive, fixed words after it ("besoin"), preposition of its object ("", "à", "de"), reflexive."""

    infinitive: str
    fixed: tuple[str, ...]
    preposition: str
    reflexive: bool


@cache
def verb_table() -> dict[str, tuple[Verb, ...]]:
    """Translations of verbs by key, or "key:use" where the object or the construction asks for another word."""
    rows = read(
        "french_verbs", "key verb", "use reflexive fixed preposition", lexicon.VERBS,
        use="place person event promise passive", reflexive="yes", preposition="à de",
    )  # fmt: skip
    return grouped(map(_used, rows), lambda row: Verb(
        row["verb"], tuple(row["fixed"].split()), row["preposition"], row["reflexive"] != ""
    ))  # fmt: skip


WITH_BE = frozenset(("aller", "venir", "arriver", "partir", "mourir", "décéder"))
FORMS = forms("french_verb_forms", "present imperfect future conditional subjunctive participle imperative")
