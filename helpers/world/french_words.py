"""French words of the small world: translations by key, the usual one first, and how verbs inflect."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.lexicon import adjectives, names, nouns, tail, verbs
from helpers.world.word_tables import read

ADVERBS: dict[str, tuple[str, ...]] = {}  # key: translations
for _row in read("french_adverbs", "key adverb", "", lexicon.adverbs()):
    ADVERBS[_row["key"]] = (*ADVERBS.get(_row["key"], ()), _row["adverb"])
PREPOSITIONS = {
    "in": "dans", "at": "à", "near": "près de", "behind": "derrière", "in_front_of": "devant", "on": "sur", "under": "sous",
    "to": "à", "from": "de", "with": "avec", "without": "sans", "during": "pendant", "after": "après", "before": "avant",
    "in_time": "pendant", "about": "sur", "for": "pour",
}  # fmt: skip
SUBORDINATORS = {
    "because": "parce que", "when": "quand", "although": "bien que", "if": "si", "while": "pendant que",
    "before": "avant que", "after": "après que",
}  # fmt: skip
COORDINATORS = {"and": "et", "but": "mais", "or": "ou"}
MODALS = {"can": "pouvoir", "must": "devoir", "want": "vouloir", "should": "devoir"}
DETERMINERS = {  # masculine, feminine, plural; articles are made by `article`
    "this": ("ce", "cette", "ces"), "my": ("mon", "ma", "mes"), "your": ("ton", "ta", "tes"),
    "yours": ("votre", "votre", "vos"), "his": ("son", "sa", "ses"), "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"), "their": ("leur", "leur", "leurs"), "two": ("deux",) * 3, "three": ("trois",) * 3,
    "every": ("chaque", "chaque", "tous les"), "the": (), "a": (), "many": (), "": (),
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- spelling
_ENDINGS = {
    "forename_f": "a", "ite": "ite", "ist": "iste", "logy": "ologie", "ium": "ium", "tron": "otron", "town": "bourg",
}  # fmt: skip
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
    return spell(names()[key])


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
    for row in read("french_nouns", "key noun gender plural", "plural_only", nouns(), same="gender", **known):
        usual = table.get(row["key"], Noun((), row["gender"], nouns()[row["key"]].cls, row["plural_only"] != ""))
        table[row["key"]] = usual._replace(variants=(*usual.variants, (row["noun"], row["plural"])))
    for key, noun in nouns().items():
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
    return "f" if key in tail() and tail()[key].kind in _FEMININE_TAIL else "m"


def _used(row: dict[str, str]) -> str:
    return f"{row['key']}:{row['use']}" if row["use"] else row["key"]


# ----------------------------------------------------------------------------------------------------------- adjectives
class Adjective(NamedTuple):
    """An adjective: masculine, feminine, their plurals; whether before the noun; the masculine before a vowel, if another."""

    forms: tuple[str, ...]
    before: bool
    before_vowel: str


@cache
def adjective_table() -> dict[str, tuple[Adjective, ...]]:
    """Translations of adjectives by key, or "key:use" where something asks for another word."""
    table: dict[str, tuple[Adjective, ...]] = {}
    for row in read(
        "french_adjectives", "key masculine feminine masculine_plural feminine_plural", "use before before_vowel",
        adjectives(), before="yes", use="thing garment tower noun unused recent",
    ):  # fmt: skip
        key = _used(row)
        forms = tuple(row[column] for column in ("masculine", "feminine", "masculine_plural", "feminine_plural"))
        table[key] = (*table.get(key, ()), Adjective(forms, row["before"] != "", row["before_vowel"]))
    return table


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
    table: dict[str, tuple[Verb, ...]] = {}
    for row in read(
        "french_verbs", "key verb", "use reflexive fixed preposition", verbs(),
        use="place person event promise passive", reflexive="yes", preposition="à de",
    ):  # fmt: skip
        verb = Verb(row["verb"], tuple(row["fixed"].split()), row["preposition"], row["reflexive"] != "")
        table[_used(row)] = (*table.get(_used(row), ()), verb)
    return table


WITH_BE = frozenset(("aller", "venir", "arriver", "partir", "mourir", "décéder"))
_PRINCIPAL = "je il nous_stem ils future_stem participle"
_IRREGULAR = {
    row["infinitive"]: [row[column] for column in _PRINCIPAL.split()]
    for row in read("french_irregular_verbs", f"infinitive {_PRINCIPAL}", unique=True)
}
_PREFIXED = {
    "découvrir": "ouvrir", "comprendre": "prendre", "surprendre": "prendre", "appartenir": "tenir", "souvenir": "venir",
    "sourire": "rire",
}  # fmt: skip
_FIXED_FORMS = {
    ("être", "present"): "suis es est sommes êtes sont", ("avoir", "present"): "ai as a avons avez ont",
    ("aller", "present"): "vais vas va allons allez vont", ("être", "subjunctive"): "sois sois soit soyons soyez soient",
    ("avoir", "subjunctive"): "aie aies ait ayons ayez aient",
    ("aller", "subjunctive"): "aille ailles aille allions alliez aillent",
    ("vouloir", "subjunctive"): "veuille veuilles veuille voulions vouliez veuillent",
}  # fmt: skip
_FUTURES = {"être": "ser", "avoir": "aur", "aller": "ir", "envoyer": "enverr", "renvoyer": "renverr"}
_SUBJUNCTIVES = {"savoir": "sach", "faire": "fass", "pouvoir": "puiss"}
_IMPERATIVES = {"être": "sois", "avoir": "aie", "savoir": "sache", "aller": "va"}


def _weak(stem: str) -> str:
    """The stem of an -er verb before a mute e: achet- achèt-, envoy- envoi-."""
    if stem.endswith("oy"):
        return stem[:-1] + "i"
    if stem[-2] in "eé" and stem[-1] not in "aeiouéy":
        return stem[:-2] + "è" + stem[-1]
    return stem


@cache
def _principal(infinitive: str) -> tuple[list[str], str, str, str]:
    """Six forms of the present, stem of the imperfect, stem of the future, participle."""
    if infinitive in _PREFIXED:
        base = _PREFIXED[infinitive]
        prefix = infinitive[: -len(base)]
        forms, *others = _principal(base)
        return ([prefix + form for form in forms], *(prefix + other for other in others))
    if infinitive == "être":
        return _FIXED_FORMS["être", "present"].split(), "ét", "ser", "été"
    if infinitive == "avoir":
        return _FIXED_FORMS["avoir", "present"].split(), "av", "aur", "eu"
    if infinitive in _IRREGULAR:
        first, third, stem, they, future, participle = _IRREGULAR[infinitive]
        second = first + "s" if first.endswith("e") else first
        you = {"dire": "dites", "faire": "faites"}.get(infinitive, stem + "ez")
        return [first, second, third, stem + "ons", you, they], stem, future, participle
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        weak, soft = _weak(stem), stem
        if stem[-1] in "gc":
            soft = stem + "e" if stem[-1] == "g" else stem[:-1] + "ç"
        present = [weak + "e", weak + "es", weak + "e", soft + "ons", stem + "ez", weak + "ent"]
        if infinitive == "aller":
            present = _FIXED_FORMS["aller", "present"].split()
        # céder keeps its é in the future, acheter does not keep its e
        future = infinitive if stem[-2] == "é" else weak + "er"
        return present, soft, _FUTURES.get(infinitive, future), stem + "é"
    if ending == "ir":
        ends = ("is", "is", "it", "issons", "issez", "issent")
        return [stem + end for end in ends], stem + "iss", infinitive, stem + "i"
    ends = ("s", "s", "", "ons", "ez", "ent")
    return [stem + end for end in ends], stem, infinitive[:-1], stem + "u"


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Six forms (je, tu, il, nous, vous, ils) of the "present", "imperfect", "future", "conditional" or "subjunctive"."""
    if fixed := _FIXED_FORMS.get((infinitive, tense)):
        return tuple(fixed.split())
    present, stem, future, _ = _principal(infinitive)
    if tense == "present":
        return tuple(present)
    if tense == "future":
        return tuple(future + end for end in ("ai", "as", "a", "ons", "ez", "ont"))
    if tense == "conditional":
        return tuple(future + end for end in ("ais", "ais", "ait", "ions", "iez", "aient"))
    before_i = stem
    if infinitive.endswith(("ger", "cer")):
        before_i = infinitive[:-2]
    if tense == "imperfect":
        return tuple((before_i if end[0] == "i" else stem) + end for end in ("ais", "ais", "ait", "ions", "iez", "aient"))
    strong = _SUBJUNCTIVES.get(infinitive)
    weak = strong or present[5][:-3]
    plural = strong or before_i
    return weak + "e", weak + "es", weak + "e", plural + "ions", plural + "iez", weak + "ent"


@cache
def participle(infinitive: str) -> tuple[str, str, str, str]:
    """The past participle: masculine, feminine, and their plurals."""
    form = _principal(infinitive)[3]
    stem = "du" if form == "dû" else form
    return form, stem + "e", stem if stem.endswith("s") else stem + "s", stem + "es"


@cache
def imperative(infinitive: str) -> str:
    """The form said to one person one calls "tu"."""
    if infinitive in _IMPERATIVES:
        return _IMPERATIVES[infinitive]
    form = _principal(infinitive)[0][1]
    return form[:-1] if form.endswith("es") else form
