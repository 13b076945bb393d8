"""German words of the small world and their inflection: nouns, verbs with what they govern, the rest.

Cases are nominative, accusative, dative, genitive (0 to 3); genders masculine, feminine, neuter (0 to 2), then the plural (3).
A word's translations are a tuple: the usual one, then the rarer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.word_tables import forms, grammar, grouped, read, single

NOM, ACC, DAT, GEN = range(4)
CASES = {"": ACC, "acc": ACC, "dat": DAT, "gen": GEN}
PLURAL = 3  # after the genders

GRAMMAR = grammar("german_grammar")
SUBORDINATORS, NEWS_SUBORDINATORS, COORDINATORS, CONTRACTED, NUMERALS = (
    single(GRAMMAR[name]) for name in ("subordinator", "subordinator in news", "coordinator", "contraction", "numeral")
)
# endings and pronouns by gender or plural, then case
ENDINGS = {
    name: tuple(GRAMMAR[name].values()) for name in ("strong", "weak", "mixed", "der", "dies", "ein", "relative", "third")
}
PRONOUNS = {1: tuple(GRAMMAR["first"].values()), 2: tuple(GRAMMAR["second"].values())}  # by person and number
RELATIVE, THIRD, REFLEXIVE = ENDINGS["relative"], ENDINGS["third"], GRAMMAR["reflexive"]["sich"]
DETERMINERS = {  # stem, its endings, the adjective's
    key: (stem, ENDINGS[endings], ENDINGS[after]) for key, (stem, endings, after) in GRAMMAR["determiner"].items()
}


# ------------------------------------------------------------------------------------------------------------------ verbs
class Verb(NamedTuple):
    """A verb's forms without its particle, joined non-finite forms, and what it governs."""

    present: tuple[str, ...]  # ich, du, er, wir, ihr, sie
    past: tuple[str, ...]
    infinitive: str
    participle: str
    imperative: str
    particle: str
    sein: bool
    reflexive: bool
    preposition: str
    case: int


FORMS = forms("german_verb_forms")


@cache
def verb(word: str, auxiliary: str = "", reflexive: str = "", preposition: str = "", case: str = "") -> Verb:
    """A verb as its row of the table tells it; a bar follows a particle that is set apart ("an|kommen")."""
    particle, _, infinitive = word.rpartition("|")
    row = FORMS[infinitive]
    return Verb(
        row["present"], row["past"], particle + infinitive, particle + row["participle"][0], row["imperative"][0], particle,
        auxiliary == "sein" or infinitive == "sein", reflexive != "", preposition, CASES[case],
    )  # fmt: skip


_VERB_ROWS = read("german_verbs")
_verb = itemgetter("verb", "auxiliary", "reflexive", "preposition", "case")
NEWS_VERBS, SUBTITLE_VERBS = (
    grouped((row for row in _VERB_ROWS if not row["objects"] and row["register"] != other), lambda row: verb(*_verb(row)))
    for other in ("subtitles", "news")
)
VERB_OF = {(row["key"], noun.strip("-")): verb(*_verb(row)) for row in _VERB_ROWS for noun in row["objects"].split()}


MODALS = {"can": "können", "must": "müssen", "want": "wollen", "should": "sollen", "must not": "dürfen"}
MODALS = {key: FORMS[infinitive] for key, infinitive in MODALS.items()}
WERDEN, HABEN, SEIN = FORMS["werden"], FORMS["haben"], FORMS["sein"]


# ------------------------------------------------------------------------------------------------------------------ nouns
@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: gender, singular and plural by case, whether a profession is said of somebody without article."""

    gender: int
    singular: tuple[str, ...]
    plural: tuple[str, ...]
    profession: bool = False


def _declined(row: dict[str, str]) -> Noun:
    word, plural, gender = row["noun"], row["plural"], "mfn".index(row["gender"])
    if row["weak"]:
        singular, plurals = (word, plural, plural, plural), (plural,) * 4
    else:
        dative = plural + "n" if plural.endswith(("e", "er", "el")) else plural
        singular, plurals = (word, word, word, row["genitive"] or word), (plural, plural, dative, plural)
    return Noun(gender, singular, plurals, row["profession"] != "")


NOUNS = grouped(read("german_nouns"), _declined)
TAIL = GRAMMAR["rare"]  # ending, gender, and the plural's


@cache
def _rare(key: str) -> Noun:
    """A word of the tail; its persons are professions and weak."""
    word = lexicon.NOUNS[key].tail
    ending, gender, plural = TAIL[word.kind]
    stem = "".join(word.syllables).capitalize()
    person = word.kind == "ist"
    row = {
        "noun": stem + ending, "gender": gender, "plural": stem + plural, "weak": "yes" if person else "",
        "genitive": "" if gender == "f" else stem + ending + "s", "profession": "yes" if person else "",
    }  # fmt: skip
    return _declined(row)


def noun(key: str, which: int = 0) -> Noun:
    """A common noun's first or second translation."""
    return NOUNS[key][which] if key in NOUNS else _rare(key)


@cache
def noun_class(key: str) -> str:
    """Class of a noun, "town" or "name" of a name, "" of none."""
    entry = lexicon.NOUNS.get(key)
    if entry is not None:
        return entry.cls
    name = lexicon.NAMES.get(key)
    return "" if name is None else "town" if name.kind == "town" else "name"


@cache
def gender(key: str) -> int:
    """Gender of the pronoun for a noun or name."""
    kind = noun_class(key)
    if kind == "town":
        return 2
    if kind == "name":
        return 1 if lexicon.NAMES[key].kind == "forename_f" else 0
    return noun(key).gender if key else 0


# ------------------------------------------------------------------------------------------------------------- the others
_ADJECTIVE_ROWS = read("german_adjectives")
ADJECTIVES = grouped((row for row in _ADJECTIVE_ROWS if not row["nouns"]), itemgetter("adjective"))
ADJECTIVE_OF = {(row["key"], noun): (row["adjective"],) for row in _ADJECTIVE_ROWS for noun in lexicon.select(row["nouns"])}
_STEMS = {row["adjective"]: row["stem"] for row in _ADJECTIVE_ROWS if row["stem"]}
_ADVERB_ROWS = read("german_adverbs")
ADVERBS = grouped((row for row in _ADVERB_ROWS if not row["verbs"]), itemgetter("adverb"))
ADVERB_OF = {(row["key"], verb): row["adverb"] for row in _ADVERB_ROWS for verb in row["verbs"].split()}
PREPOSITIONS: dict[str, dict[str, tuple[str, int]]] = {}  # word and case, by key and noun or class of nouns ("" for any)
for _row in read("german_prepositions"):
    _governed = _row["preposition"], CASES[_row["case"]]
    PREPOSITIONS.setdefault(_row["key"], {}).update(dict.fromkeys(_row["nouns"].split() or ("",), _governed))


@lru_cache(maxsize=1 << 18)
def declined(key: str, which: int, plural: bool, determiner: str, adjectives: tuple[str, ...], degree: str) -> tuple[str, ...]:
    """Determiner, adjectives and noun by case as strings."""
    entry = noun(key, which)
    row, nouns = PLURAL if plural else entry.gender, entry.plural if plural else entry.singular
    kind = DETERMINERS.get(determiner)
    if determiner == "the":
        heads, endings = ENDINGS["der"][row], ENDINGS["weak"][row]
    elif kind is None or (determiner == "a" and plural):
        heads, endings = (NUMERALS.get(determiner, ""),) * 4, ENDINGS["strong"][row]
    else:
        stem, tails, adjective = kind
        heads, endings = tuple(stem + tail for tail in tails[row]), adjective[row]
    degrees = (degree,) if degree and adjectives else ()
    out = []
    for head, ending, form in zip(heads, endings, nouns, strict=True):
        words = (head, *degrees, *(_STEMS.get(a, a) + ending for a in adjectives), form)
        out.append(" ".join(word for word in words if word))
    return tuple(out)
