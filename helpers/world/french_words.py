"""French words of the small world: translations by key, the usual one first, and how verbs inflect."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.word_tables import forms, grammar, grouped, read, single

ADVERBS = grouped(read("french_adverbs"), itemgetter("adverb"))
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
    return lexicon.SYLLABLES[syllable][column] or (syllable if column == "french" else "")


@cache
def spell(word: lexicon.TailWord) -> str:
    """French spelling of a rare word, singular."""
    *first, last = word.syllables
    ending = _ENDINGS.get(word.kind, "")
    opened = _syllable(last, "french_before_vowel") if ending and word.kind != "town" else ""
    text = "".join(_syllable(s) for s in first) + (opened or _syllable(last)) + ending
    return text.capitalize() if word.kind in lexicon.NAMED else text


# ---------------------------------------------------------------------------------------------------------------- nouns
class Noun(NamedTuple):
    """A noun: translations as (singular, plural), grammatical gender ("m", "f"), class, and whether plural only."""

    variants: tuple[tuple[str, str], ...]
    gender: str
    cls: str
    plural_only: bool = False


NOUNS: dict[str, Noun] = {}
for _row in read("french_nouns"):
    _usual = NOUNS.get(_row["key"], Noun((), _row["gender"], lexicon.NOUNS[_row["key"]].cls, _row["plural_only"] != ""))
    NOUNS[_row["key"]] = _usual._replace(variants=(*_usual.variants, (_row["noun"], _row["plural"])))
for _key, _noun in lexicon.NOUNS.items():
    if _noun.tail:
        _lemma = spell(_noun.tail)
        NOUNS[_key] = Noun(((_lemma, _lemma + "s"),), "f" if _noun.tail.kind in _FEMININE_TAIL else "m", _noun.cls)
FEMININE = frozenset(  # nouns and names; of none the pronoun is masculine
    [key for key, noun in NOUNS.items() if noun.gender == "f"]
    + [key for key, word in lexicon.NAMES.items() if word.kind in _FEMININE_TAIL]
)


def _used(row: dict[str, str]) -> dict[str, str]:
    """A row whose key says what it is used with."""
    return row | {"key": f"{row['key']}:{row['use']}" if row["use"] else row["key"]}


# ----------------------------------------------------------------------------------------------------------- adjectives
class Adjective(NamedTuple):
    """An adjective: masculine, feminine, their plurals; whether before the noun; the masculine before a vowel, if another."""

    forms: tuple[str, ...]
    before: bool
    before_vowel: str


_SHAPES = itemgetter("masculine", "feminine", "masculine_plural", "feminine_plural")
ADJECTIVES = grouped(  # by key, or "key:use" where something asks for another word
    map(_used, read("french_adjectives")), lambda row: Adjective(_SHAPES(row), row["before"] != "", row["before_vowel"])
)


# ---------------------------------------------------------------------------------------------------------------- verbs
class Verb(NamedTuple):
    """A verb: infinitive, fixed words after it ("besoin"), preposition of its object ("", "à", "de"), reflexive."""

    infinitive: str
    fixed: tuple[str, ...]
    preposition: str
    reflexive: bool


VERBS = grouped(  # by key, or "key:use" where the object or the construction asks for another word
    map(_used, read("french_verbs")),
    lambda row: Verb(row["verb"], tuple(row["fixed"].split()), row["preposition"], row["reflexive"] != ""),
)
WITH_BE = frozenset(("aller", "venir", "arriver", "partir", "mourir", "décéder"))
FORMS = forms("french_verb_forms")
