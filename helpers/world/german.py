"""German realisation of sentence plans: four cases, three genders, verb second and verb final, separable verbs.

`_core` and `_verb` inflect (cached); `_Run.np` and `_Run.pp` make phrases; `_Run.clause` orders them: the field before the
finite verb, pronouns, early adverbs, dative, definite object, "nicht", manner, place, indefinite object, goal, predicate,
and the verbs of the right bracket, behind which heavy relative clauses go.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache, lru_cache

from helpers.world import german_words as table
from helpers.world import lexicon
from helpers.world.plan import NP, PP, Clause, Words

NOM, ACC, DAT, GEN = range(4)
CASES = {"acc": ACC, "dat": DAT, "gen": GEN}
PLURAL = 3  # after the genders 0 masculine, 1 feminine, 2 neuter
SECOND = 0.32  # chance of a word's rarer translation
FRONTED = 0.2  # chance that a time or sentence adverbial opens the clause, where English has it elsewhere
OBJECT_FIRST = 0.2  # chance that a definite object stands before the early adverbials

# endings by gender or plural, then case
STRONG = ("er en em en", "e e er er", "es es em en", "e e en er")
WEAK = ("e en en en", "e e en en", "e e en en", "en en en en")
MIXED = ("er en en en", "e e en en", "es es en en", "en en en en")
STRONG, WEAK, MIXED = (tuple(tuple(row.split()) for row in rows) for rows in (STRONG, WEAK, MIXED))
DER = tuple(tuple(r.split()) for r in ("der den dem des", "die die der der", "das das dem des", "die die den der"))
DIES = (("er", "en", "em", "es"), ("e", "e", "er", "er"), ("es", "es", "em", "es"), ("e", "e", "en", "er"))
EIN = (("", "en", "em", "es"), ("e", "e", "er", "er"), ("", "", "em", "es"), ("e", "e", "en", "er"))
RELATIVE = (
    ("der", "den", "dem", "dessen"), ("die", "die", "der", "deren"), ("das", "das", "dem", "dessen"),
    ("die", "die", "denen", "deren"),
)  # fmt: skip
DETERMINERS = {  # stem, its endings, the adjective's
    "the": None, "a": ("ein", EIN, MIXED), "no": ("kein", EIN, MIXED), "this": ("dies", DIES, WEAK),
    "every": ("jed", DIES, WEAK), "my": ("mein", EIN, MIXED), "your": ("dein", EIN, MIXED), "his": ("sein", EIN, MIXED),
    "her": ("ihr", EIN, MIXED), "our": ("unser", EIN, MIXED), "their": ("ihr", EIN, MIXED), "many": ("viel", DIES, STRONG),
    "two": None, "three": None, "": None,
}  # fmt: skip
NUMERALS = {"two": "zwei", "three": "drei"}
PRONOUNS = {  # by person and number; third singular by gender
    1: (("ich", "mich", "mir"), ("wir", "uns", "uns")),
    2: (("du", "dich", "dir"), ("ihr", "euch", "euch")),
}
THIRD = (("er", "ihn", "ihm"), ("sie", "sie", "ihr"), ("es", "es", "ihm"), ("sie", "sie", "ihnen"))
REFLEXIVE = ("mich", "dich", "sich", "uns", "euch", "sich")
CONTRACTED = {
    ("in", "dem"): "im", ("in", "das"): "ins", ("an", "dem"): "am", ("an", "das"): "ans", ("von", "dem"): "vom",
    ("zu", "dem"): "zum", ("zu", "der"): "zur", ("bei", "dem"): "beim",
}  # fmt: skip
Part = tuple[list[str], list[str] | None]  # words of a phrase and the relative clause that ends it
INDEFINITE = frozenset(("a", "", "two", "three", "many", "every"))
MAN = NP("man", pronoun=True)  # "man", the subject where German has no passive


# ------------------------------------------------------------------------------------------------------------ word lists
def _alternatives(text: str) -> dict[str, tuple[str, ...]]:
    """ "quickly schnell/rasch;..." as a dictionary."""
    items = (item.split(maxsplit=1) for item in text.replace("\n", ";").split(";") if item)
    return {key: tuple(words.split("/")) for key, words in items}


ADJECTIVES, ADVERBS = _alternatives(table.ADJECTIVES), _alternatives(table.ADVERBS)
NOUNS = {}
for _item in table.NOUNS.split():
    _key, _, _forms = _item.partition(":")
    NOUNS[_key] = tuple(form.split(":") for form in _forms.split("/"))
VERBS = {}  # key -> (options in news, options in subtitles)
for _line in table.VERBS.strip().splitlines():
    _key, *_options = _line.split(" | ")
    VERBS[_key.strip()] = tuple(tuple(o.strip() for o in part.split(",")) for part in (_options * 2)[:2])
PREPOSITIONS = {}  # key -> (case, word, {noun: other word})
for _line in table.PREPOSITIONS.strip().splitlines():
    _key, _case, _word, *_others = (part.strip() for part in _line.split("|"))
    _by_noun = {n: o.split(":")[0] for o in _others if o for n in o.split(":")[1].split()}
    PREPOSITIONS[_key] = (CASES[_case], _word, _by_noun)
DEGREES = frozenset(key for key, entry in lexicon.adverbs().items() if entry.kind == "degree")
STRONG_VERBS = {i.split()[0]: i.split()[1:] for i in table.STRONG.strip().replace("\n", ";").split(";")}


def missing() -> list[str]:
    """Keys of the lexicon without a German word."""
    wanted = (
        (lexicon.verbs(), VERBS), (lexicon.adjectives(), ADJECTIVES), (lexicon.adverbs(), ADVERBS),
        (lexicon.PREPOSITIONS, PREPOSITIONS), (lexicon.SUBORDINATORS, table.SUBORDINATORS),
        (lexicon.COORDINATORS, table.COORDINATORS), (lexicon.DETERMINERS, DETERMINERS), (lexicon.MODALS, MODALS),
    )  # fmt: skip
    lost = [key for key, noun in lexicon.nouns().items() if noun.tail is None and key not in NOUNS]
    lost += [key for key, word in lexicon.tail().items() if word.kind not in TAIL and key not in lexicon.names()]
    return lost + [key for keys, words in wanted for key in keys if key not in words]


def _senses(keys) -> dict[str, tuple[str, ...]]:
    """Each ambiguous key and the other senses of its English word."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(lexicon.sense(key), []).append(key)
    return {k: tuple(o for o in group if o != k) for group in groups.values() if len(group) > 1 for k in group}


SENSES = {part: _senses(getattr(lexicon, part)()) for part in ("nouns", "verbs", "adjectives", "adverbs")}


# ------------------------------------------------------------------------------------------------------------------ verbs
@dataclass(frozen=True, slots=True)
class _Verb:
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


INSEPARABLE = ("be", "er", "ver", "zer", "gehör", "überr", "unter")


def _needs_e(stem: str) -> bool:
    """Whether an "e" parts the stem from an ending in t or s (wartet, öffnet)."""
    if stem[-1] in "td":
        return True
    return stem[-1] in "mn" and (stem[-3:-1] == "ch" or stem[-2] not in "aeiouäöülrhmn")


def _weak_past(stem: str) -> tuple[str, ...]:
    return tuple(stem + e for e in ("", "st", "", "n", "t", "n"))


@cache
def _conjugate(infinitive: str) -> tuple[tuple, tuple, str, str]:
    """Present, past, participle and imperative of a verb without particle."""
    if infinitive == "sein":
        return tuple("bin bist ist sind seid sind".split()), tuple("war warst war waren wart waren".split()), "gewesen", "sei"
    if infinitive == "wissen":
        present = tuple("weiß weißt weiß wissen wisst wissen".split())
        return present, _weak_past("wusste"), "gewusst", "wisse"
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    e = "e" if _needs_e(stem) else ""
    light = infinitive.endswith(("eln", "ern"))
    first = (stem[:-2] + "l" if light and stem.endswith("el") else stem) + "e"
    du = stem + ("t" if stem[-1] in "sßzx" else e + "st")
    er = stem + e + "t"
    imperative = first if e or light or stem.endswith(("ier", "ig", "tz")) else stem
    if infinitive in STRONG_VERBS:
        third, past, participle = STRONG_VERBS[infinitive]
        if third != "-":
            er = third
            base = er if stem[-1] == "t" else er[:-1]
            du = base + ("t" if base[-1] in "sßzx" else "st")
            if "e" in stem and "ä" not in er:
                imperative = base
        if past.endswith("te"):
            pasts = _weak_past(past)
        else:
            e = "e" if past[-1] in "tdsß" else ""
            pasts = (past, past + e + "st", past, past + "en", past + ("e" if past[-1] in "td" else "") + "t", past + "en")
    else:
        pasts = _weak_past(stem + e + "te")
        plain = infinitive.endswith("ieren") or infinitive.startswith(INSEPARABLE)
        participle = ("" if plain else "ge") + er
    ihr = stem + ("e" if _needs_e(stem) else "") + "t"
    return (first, du, er, infinitive, ihr, infinitive), pasts, participle, imperative


@cache
def _verb(spec: str) -> _Verb:
    """The verb of a specification such as "an|kommen/s" or "erinnern sich an:acc"."""
    word, *options = spec.split()
    word, _, aux = word.partition("/")
    particle, bar, infinitive = word.partition("|")
    if not bar:
        particle, infinitive = "", word
    present, past, participle, imperative = _conjugate(infinitive)
    government = next((o for o in options if o != "sich"), "acc")
    preposition, colon, case = government.partition(":")
    if not colon:
        preposition, case = "", government
    return _Verb(
        present, past, particle + infinitive, particle + participle, imperative, particle, aux == "s" or infinitive == "sein",
        "sich" in options, preposition, CASES[case],
    )  # fmt: skip


def _modal(present: str, past: str) -> dict[str, tuple[str, ...]]:
    return {"present": tuple(present.split()), "past": _weak_past(past)}


MODALS = {
    "can": _modal("kann kannst kann können könnt können", "konnte"),
    "must": _modal("muss musst muss müssen müsst müssen", "musste"),
    "want": _modal("will willst will wollen wollt wollen", "wollte"),
    "should": {"present": _weak_past("sollte"), "past": _weak_past("sollte")},
    "must not": _modal("darf darfst darf dürfen dürft dürfen", "durfte"),
}
WERDEN = {
    "present": tuple("werde wirst wird werden werdet werden".split()),
    "past": tuple("wurde wurdest wurde wurden wurdet wurden".split()),
}
HABEN = {"present": tuple("habe hast hat haben habt haben".split()), "past": _weak_past("hatte")}
SEIN = {"present": _conjugate("sein")[0], "past": _conjugate("sein")[1]}


# ------------------------------------------------------------------------------------------------------------------ nouns
TAIL = {"ite": ("it", "m", "+e"), "ist": ("ist", "w", ""), "logy": ("ologie", "f", "+n"), "ium": ("ium", "n", ""),
        "tron": ("otron", "n", "+e")}  # fmt: skip


@cache
def _class(key: str) -> str:
    noun = lexicon.nouns().get(key)
    if noun is not None:
        return noun.cls
    name = lexicon.names().get(key)
    return "" if name is None else "town" if name.kind == "town" else "name"


@cache
def _noun(key: str, which: int = 0) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Gender, singular forms and plural forms by case of a noun's first or second translation; "+f" asks for -in."""
    if key.endswith("+f"):
        base = _noun(key[:-2], which)[1][NOM]
        word = table.FEMININE.get(base) or (base[:-1] if base.endswith("e") else base) + "in"
        return 1, (word,) * 4, (word + "nen",) * 4
    if key in NOUNS:
        word, gender, plural = NOUNS[key][which]
    else:
        entry = lexicon.nouns()[key].tail
        suffix, gender, plural = TAIL[entry.kind]
        word = ("".join(entry.syllables) + suffix).capitalize()
        if entry.kind == "ium":
            plural = word[:-2] + "en"
    if gender == "w":
        oblique = word + ("n" if word.endswith(("e", "er", "bar")) and word != "Bär" else "en")
        oblique = {"Bär": "Bären"}.get(word, oblique)
        return 0, (word, oblique, oblique, oblique), (oblique,) * 4
    plural = word if plural == "=" else word + plural[1:] if plural.startswith("+") else plural
    dative = plural + "n" if plural.endswith(("e", "er", "el")) else plural
    genitive = word
    if gender != "f":
        if word in table.GENITIVES:
            genitive = table.GENITIVES[word]
        elif word.endswith("nis"):
            genitive = word + "ses"
        else:
            vowels = "".join(c if c in "aeiouäöü" else " " for c in word.lower()).split()
            short = len(vowels) == 1 and not word.endswith(("uh", "l", "r"))
            genitive = word + ("es" if short or word.endswith(("s", "ß", "x", "z", "sch")) else "s")
    return "mfn".index(gender), (word, word, word, genitive), (plural, plural, dative, plural)


def _inflected(adjective: str, ending: str) -> str:
    return table.STEMS.get(adjective, adjective) + ending


@lru_cache(maxsize=1 << 18)
def _core(
    key: str, which: int, plural: bool, determiner: str, adjectives: tuple[str, ...], degree: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Determiner, adjectives and noun by case as strings; and the adjectives' endings by case."""
    gender, singular, plurals = _noun(key, which)
    row = PLURAL if plural else gender
    nouns = plurals if plural else singular
    entry = DETERMINERS[determiner]
    if determiner == "the":
        heads, endings = DER[row], WEAK[row]
    elif entry is None or (determiner == "a" and plural):
        heads, endings = (NUMERALS.get(determiner, ""),) * 4, STRONG[row]
    else:
        stem, tails, adjective = entry
        heads, endings = tuple(stem + tail for tail in tails[row]), adjective[row]
    out = []
    for case in range(4):
        words = [heads[case]] if heads[case] else []
        if degree and adjectives:
            words.append(degree)
        words += [_inflected(a, endings[case]) for a in adjectives]
        words.append(nouns[case])
        out.append(" ".join(words))
    return tuple(out), endings


@cache
def _gender(key: str) -> int:
    """Gender of the pronoun for a noun or name: the noun's own, a girl's natural one."""
    if key == "girl":
        return 1
    kind = _class(key)
    if kind == "town":
        return 2
    if kind == "name":
        return 1 if lexicon.names()[key].kind == "forename_f" else 0
    return _noun(key)[0] if key else 0


@cache
def _female(key: str) -> bool:
    """Whether a subject makes a profession said of it feminine."""
    return _class(key) in ("person", "name") and _gender(key) == 1


@cache
def _takes_feminine(key: str) -> bool:
    return _class(key) == "person" and _noun(key)[0] == 0 and key not in table.NOT_FEMININE


def _plural(np: NP) -> bool:
    return np.number == "pl" or np.coordinate is not None


def _index(np: NP) -> int:
    """Which of the six finite forms a subject takes."""
    return np.person - 1 + (3 if _plural(np) else 0)


@cache
def _with(first: str, preposition: str) -> str:
    """ "worauf", "davon"."""
    return first + ("r" if preposition[0] in "aeiouäöü" else "") + preposition


# ---------------------------------------------------------------------------------------------------------------- clauses
NOT_BEFORE = frozenset(("often", "always", "really", "immediately", "soon"))  # "nicht oft", not "oft nicht"
SKILL = frozenset(("well", "badly.skill"))
FRONTING = frozenset(
    "sometimes usually often yesterday recently suddenly finally today now tomorrow perhaps probably fortunately".split()
)
LASTING = frozenset("be live work.machine belong love know.person know.fact need".split())  # no "gerade"
WHITHER = frozenset("go come run.go fly.bird fly.person".split())
INNER = frozenset(("live", "arrive"))  # whose place is a complement
QUESTIONS = {"when": "wann", "why": "warum"}
ADVERB_KIND = {key: entry.kind for key, entry in lexicon.adverbs().items()}
PLACE_KIND = {key: entry[1] for key, entry in lexicon.PREPOSITIONS.items()}
EARLY = dict.fromkeys(("yesterday", "today", "now", "tomorrow", "recently"), 0)  # order among early adverbials
EARLY |= {"immediately": 4, "soon": 4} | {key: 1 for key, kind in ADVERB_KIND.items() if kind == "sentence"}
ADVERB_OF = {
    (key, verb): word for key, words in table.BY_VERB.items() for word, verbs in words.items() for verb in verbs.split()
}


class _Run:
    """One realisation: its dice, the words it settled on, its marks."""

    __slots__ = ("chosen", "marks", "news", "orders", "random")

    def __init__(self, register: str, rng: random.Random):
        self.news = register == "news"
        self.random = rng.random
        self.chosen: dict[str, int] = {}
        self.marks: list[tuple[str, str, tuple[str, ...]]] = []
        self.orders: list[tuple[str, str]] = []

    def pick(self, options: tuple[str, ...]) -> str:
        return options[0] if len(options) == 1 or self.random() >= SECOND else options[1]

    def mark(self, phenomenon: str, wanted: str, others) -> None:
        others = tuple(dict.fromkeys(o for o in others if o != wanted))
        if others:
            self.marks.append((phenomenon, wanted, others))

    # -- phrases
    def which(self, key: str) -> int:
        """First or second translation of a noun, the same throughout a sentence."""
        if len(NOUNS.get(key, "1")) == 1:
            return 0
        if key not in self.chosen:
            self.chosen[key] = 1 if self.random() < SECOND else 0
        return self.chosen[key]

    def pronoun(self, np: NP, case: int) -> str:
        if np is MAN:
            return "man"
        if np.person < 3:
            return PRONOUNS[np.person][np.number == "pl"][case]
        return THIRD[PLURAL if np.number == "pl" else _gender(np.noun)][case]

    def mark_pronoun(self, np: NP, case: int, word: str) -> None:
        """Gender of "it" from its noun, or the case of a pronoun."""
        if np.person == 3 and np.number == "sg" and _class(np.noun) not in ("person", "name") and np is not MAN:
            self.mark("agreement", word, [forms[case] for forms in THIRD[:3]])
        elif case != NOM:
            row = PRONOUNS[np.person][np.number == "pl"] if np.person < 3 else (
                THIRD[PLURAL if np.number == "pl" else _gender(np.noun)])  # fmt: skip
            self.mark("case", word, row)

    def np(
        self, np: NP, case: int, prep: str = "", determiner: str | None = None, mark: bool = True, feminine: bool = False
    ) -> tuple[list[str], list[str] | None, str]:
        """Words of a noun phrase (after a preposition), its last member's relative clause, and its head."""
        key, relative = np.noun, np.relative
        if np.pronoun:
            word = self.pronoun(np, case)
            if prep and np.person == 3 and _class(key) not in ("person", "name", "animal", "vehicle", "organisation"):
                return [_with("da", prep)], None, ""
            if mark:
                self.mark_pronoun(np, case, word)
            return ([prep, word] if prep else [word]), None, word
        if _class(key) in ("name", "town"):
            words = [*prep.split(), key, np.surname] if np.surname else [*prep.split(), key]
            gender, plural, head = _gender(key), False, np.surname or key
        else:
            plural, degree, adjectives = np.number == "pl", "", ()
            if np.adjectives:
                adjectives = tuple([
                    "hoch" if a == "tall" and key == "tower" else self.pick(ADJECTIVES[a]) for a in np.adjectives
                ])  # fmt: skip
                degree = self.pick(ADVERBS[np.degree]) if np.degree else ""
            which = self.which(key)
            if determiner is None:
                determiner = np.determiner
            name = key + "+f" if feminine else key
            strings, endings = _core(name, which, plural, determiner, adjectives, degree)
            core = strings[case]
            contracted = prep and determiner == "the" and relative is None
            text = _joined(prep, core, contracted) if prep else core
            if mark:
                if prep and prep != "in der Nähe":
                    others = [_joined(prep, s, contracted) for s in strings[:3]]
                    self.mark("case", text, others)
                else:
                    self.mark("case", core, strings)
            words = text.split()
            forms = _noun(name, which)
            head = forms[2 if plural else 1][case]
            gender = forms[0]
            if key in SENSES["nouns"]:
                self.mark("word sense", head, [_noun(k)[2 if plural else 1][case] for k in SENSES["nouns"][key]])
            for sense, adjective in zip(np.adjectives, adjectives, strict=True):
                if sense in SENSES["adjectives"]:
                    ending = endings[case]
                    others = [_inflected(ADJECTIVES[k][0], ending) for k in SENSES["adjectives"][sense]]
                    self.mark("word sense", _inflected(adjective, ending), others)
        if np.genitive is not None:
            more, inner = self.genitive(np.genitive)
            words += more
            if inner is not None:
                words += [",", *inner, ","]
        if np.place is not None:
            more, inner = self.pp(np.place)
            words += more
            if inner is not None:
                words += [",", *inner, ","]
        if relative is not None:
            relative = self.clause(relative, True, gap=(gender, plural, key))
        if np.coordinate is not None:
            if relative is not None:
                words += [",", *relative, ","]
            other = "no" if determiner == "no" and np.coordinate.determiner in ("a", "") else None
            more, relative, _ = self.np(np.coordinate, case, determiner=other, mark=mark)
            words += ["und", *more]
        return words, relative, head

    def genitive(self, np: NP) -> Part:
        """The possessor: genitive where it can be seen, else "von"."""
        bare = np.determiner in ("", "two", "three") and not (np.determiner == "" and np.adjectives)
        if np.pronoun or bare or (np.coordinate is not None and np.coordinate.determiner == ""):
            words, relative, _ = self.np(np, DAT, "von")
        else:
            words, relative, _ = self.np(np, GEN)
        return words, relative

    def pp(self, pp: PP, verb: str = "") -> Part:
        """A prepositional phrase: preposition and case by the noun it takes, "to" by place or person."""
        key, np = pp.preposition, pp.np
        kind = "town" if _class(np.noun) == "town" else _class(np.noun)
        if key == "to" and verb == "arrive":
            key = "at" if np.noun in PREPOSITIONS["at"][2] or np.noun == "station" else "in"
        case, word, others = PREPOSITIONS[key]
        if others:
            word = others.get(np.noun) or others.get(kind) or word
        if key == "to":
            if np.noun in table.TO_ZU or kind in ("person", "name", "animal") or np.pronoun:
                case, word = DAT, "zu"
            elif kind == "town":
                case = DAT
        elif key == "from" and kind == "name":
            word = "von"
        elif case == GEN:
            if key == "near" and (np.pronoun or kind in ("town", "name") or np.determiner in ("", "two", "three")):
                words, relative, _ = self.np(np, DAT, "von")
                return ["in", "der", "Nähe", *words], relative
            if np.pronoun or kind in ("town", "name") or np.determiner in ("", "two", "three"):
                case = DAT
        words, relative, _ = self.np(np, case, word)
        return words, relative

    # -- verbs
    def verb(self, clause: Clause, gap, passive: bool) -> _Verb:
        """The German verb, by register and where need be by its object, goal or place."""
        key = clause.verb
        if key == "live" and (
            clause.question == "where" or any(PLACE_KIND[pp.preposition] == "place" for pp in clause.places)
            or any(ADVERB_KIND[a.adverb] == "place" for a in clause.adverbs)
        ):  # fmt: skip
            return _verb("wohnen")
        special = table.BY_OBJECT.get(key)
        if special is not None:
            if key == "go":
                noun = next((pp.np.noun for pp in clause.places if pp.preposition in ("to", "from")), None)
            elif gap is not None and clause.gap == "object":
                noun = gap[2]
            elif clause.question == "what" or (clause.object is None and gap is not None and passive):
                noun = gap[2] if gap is not None else None
            else:
                noun = "" if clause.object is None else clause.object.noun
            if noun is not None:
                found = special.get(noun) or (special.get(_class(noun)) if noun else None)
                if found:
                    return _verb(found)
        options = VERBS[key][0 if self.news else 1]
        verb = _verb(self.pick(options))
        if passive and (verb.case != ACC or verb.preposition):
            verb = _verb(options[0])
            if key == "play.music":
                return _verb("spielen")
        return verb

    def mark_verb(self, key: str, how: str, wanted: str, index: int, joined: bool) -> None:
        """The word of an ambiguous English verb, told from the other senses' in the same form."""
        others = []
        for other in SENSES["verbs"][key]:
            verb = _verb(VERBS[other][0 if self.news else 1][0])
            form = getattr(verb, how)
            if isinstance(form, tuple):
                form = (verb.particle if joined else "") + form[index]
            others.append(form)
        self.mark("word sense", wanted, others)

    # -- clauses
    def clause(
        self,
        c: Clause,
        final: bool = False,
        filled: bool = False,
        gap: tuple[int, bool, str] | None = None,
        after: bool = False,
        shared: int = 2,
    ) -> list[str]:
        """Words of a clause.

        Parameters
        ----------
        final : bool
            Verb at the end (subordinate).
        filled : bool
            Something stands before it that takes the first field.
        gap : tuple or None
            Of a relative clause: gender, plural and key of the noun outside.
        after : bool
            Under "nachdem", which asks for the tense before.
        shared : int
            Person and number of a subject that is left out.
        """
        subject, obj, recipient, passive, question = c.subject, c.object, c.recipient, c.passive, c.question
        verb = self.verb(c, gap, passive)
        words: list[str] = []
        if c.subordinate is not None and c.subordinate[2] and not final:
            words += self.subordinate(c.subordinate)
            filled = True
        slot = (c.gap or "object") if gap is not None else {"who": "subject", "what": "object"}.get(question, "")
        agent, topic, impersonal = None, False, False
        if passive:
            if slot:
                slot = "object" if obj is None else "agent"
            if verb.preposition:
                passive, topic = False, True
                if slot == "agent":
                    slot = "subject"
                elif subject is None:
                    subject = MAN
            elif verb.case == DAT:
                agent, subject, impersonal, topic = subject, None, True, True
            else:
                agent, subject, obj = subject, obj, None
                slot = "subject" if slot == "object" else slot
        imperative = c.imperative

        # the finite verb and what follows in the right bracket
        if slot == "subject":
            index = 5 if gap is not None and gap[1] else 2
        elif imperative:
            index = 1
        elif impersonal:
            index = 2
        else:
            index = shared if subject is None else _index(subject)
        tense, negated, modal = c.tense, c.negated, c.modal
        how = "participle"
        if modal:
            key = "must not" if modal == "must" and negated else modal
            forms = MODALS[key]["past" if tense == "past" else "present"]
            tail = [verb.participle, "werden"] if passive else [verb.infinitive]
            how = "participle" if passive else "infinitive"
            if key == "must not":
                self.mark("word sense", forms[index], [MODALS["must"]["present"][index]])
        elif tense == "future":
            forms = WERDEN["present"]
            tail = [verb.participle, "werden"] if passive else [verb.infinitive]
            how = "participle" if passive else "infinitive"
        else:
            simple = tense == "past" and (self.news or passive or c.verb in ("be", "know.fact"))
            if tense == "perfect" or after or (tense == "past" and not simple):
                sein = verb.sein or passive
                time = "past" if after and tense == "past" else "present"
                forms, wrong = (SEIN, HABEN) if sein else (HABEN, SEIN)
                others = [wrong[time][index]]
                if after:
                    others.append(forms["present" if time == "past" else "past"][index])
                self.mark("tense", forms[time][index], others)
                forms = forms[time]
                tail = [verb.participle, "worden"] if passive else [verb.participle]
            elif passive:
                forms, tail = WERDEN[tense], [verb.participle]
                self.mark("tense", forms[index], [SEIN[tense][index], HABEN[tense][index]])
            else:
                forms, tail = (verb.past, []) if tense == "past" else (verb.present, [])
                how = "past" if tense == "past" else "present"
                if final:
                    if verb.particle:
                        forms = _attached(verb.particle, forms)
                elif verb.particle:
                    tail = [verb.particle]
        finite = forms[index]
        if imperative:
            finite, how = verb.imperative, "imperative"
        else:
            self.mark("agreement", finite, (forms[(index + 3) % 6], forms[2], forms[5]) if index % 3 != 2 else (
                (forms[(index + 3) % 6],)))  # fmt: skip
        if c.verb in SENSES["verbs"]:
            word = tail[0] if how in ("participle", "infinitive") else finite
            self.mark_verb(c.verb, how, word, index, final)

        # which word says no, and where
        indefinite = obj is not None and not obj.pronoun and obj.determiner in INDEFINITE and obj.noun not in lexicon.names()
        bare, skill = False, False  # "Klavier spielen"; "gut"
        if obj is not None and not obj.pronoun:
            if c.verb == "play.game":
                bare = obj.determiner == ""
            elif c.verb == "play.music" and not passive and obj.determiner == "the":
                bare = not (obj.adjectives or obj.number == "pl" or obj.genitive or obj.place or obj.relative or obj.coordinate)
        negative: list[str] = ["nicht"] if negated else []
        no_object = no_attribute = False
        attribute = c.attribute
        early: list[tuple[int, int, Part]] = []
        manner: list[Part] = []
        late: list[Part] = []
        goals: list[Part] = []
        here: list[Part] = []
        places: list[Part] = []
        front: list[str] | None = None
        if topic and any(a.position == "initial" for a in c.adverbs):
            topic = False
        may_front = not (final or filled or question or imperative or topic) and (subject is not None or impersonal)
        not_adverb = False
        for a in c.adverbs:
            key = a.adverb
            kind = ADVERB_KIND[key]
            word = ADVERB_OF.get((key, c.verb)) or self.pick(ADVERBS[key])
            if key in SENSES["adverbs"]:
                self.mark("word sense", word, [ADVERBS[k][0] for k in SENSES["adverbs"][key]])
            part = (word.split(), None)
            if may_front and front is None and (
                a.position == "initial" or (key in FRONTING and not negated and self.random() < FRONTED)
            ):  # fmt: skip
                front = part[0]
            elif key == "already" and negated:
                negative = ["noch", "nicht"]
            elif negated and key in NOT_BEFORE:
                negative.append(word)
                not_adverb = True
            elif kind == "place":
                if c.verb in WHITHER and not any(PLACE_KIND[p.preposition] == "goal" for p in c.places):
                    goals.append((["hierher" if key == "here" else "dorthin"], None))
                else:
                    here.append(part)
            elif kind == "manner" and key != "immediately":
                if key in SKILL or word == "sehr":
                    skill = True
                    if obj is not None and not bare:
                        late.append(part)
                        continue
                manner.append(part)
            else:
                early.append((EARLY.get(key, 3), len(early), part))
        if (
            c.progressive and not (final or filled or negated or question or c.adverbs) and front is None
            and c.verb not in LASTING and not c.modal
        ):  # fmt: skip
            early.append((3, len(early), (["gerade"], None)))
        for pp in c.places:
            kind = PLACE_KIND[pp.preposition]
            part = self.pp(pp, c.verb)
            if kind == "time":
                if may_front and front is None and part[1] is None and self.random() < FRONTED:
                    front = part[0]
                elif part[1] is not None:
                    places.append(part)
                else:
                    early.append((2, len(early), part))
            elif kind in ("goal", "source") or (kind == "place" and c.verb in INNER):
                goals.append(part)
            else:
                places.append(part)
        if negated and not not_adverb and not topic:
            if isinstance(attribute, NP):
                no_attribute = attribute.determiner in ("a", "") and not attribute.pronoun and (
                    attribute.noun not in lexicon.names())  # fmt: skip
            elif (
                indefinite and obj.determiner in ("a", "") and not bare and not skill and slot != "object"
                and not verb.preposition and (obj.coordinate is None or obj.coordinate.determiner in ("a", ""))
            ):  # fmt: skip
                no_object = True
            if no_object or no_attribute:
                negative = negative[:-1]
        if skill:
            indefinite = False

        # the first field: relative pronoun, question word, adverb, topic or subject
        relation: list[str] = []
        if slot and (gap is not None or question):
            if slot == "subject":
                case, prep = NOM, ""
            elif slot == "agent":
                case, prep = DAT, "von"
            else:
                case, prep = verb.case, verb.preposition
            if gap is not None:
                row = RELATIVE[PLURAL if gap[1] else gap[0]]
                relation = [prep, row[case]] if prep else [row[case]]
            elif question == "what":
                relation = [_with("wo", prep)] if prep and c.verb != "play.music" else ["wem" if case == DAT else "was"]
                if c.verb == "play.music":
                    relation = ["was"]
            else:
                word = ("wer", "wen", "wem")[case]
                relation = [prep, word] if prep else [word]
        elif question == "where":
            relation = ["wohin" if c.verb in WHITHER and not goals else "wo"]
        elif question in QUESTIONS:
            relation = [QUESTIONS[question]]
        subject_words: list[str] = []
        head = ""
        if subject is not None and slot != "subject":
            if subject is MAN:
                subject_words, head = ["man"], "man"
            else:
                subject_words, inner, head = self.np(subject, NOM, mark=False)
                if subject.pronoun:
                    self.mark_pronoun(subject, NOM, head)
                if inner is not None:
                    subject_words += [",", *inner, ","]
        object_part, object_head = None, ""
        if obj is not None and slot != "object":
            if bare:
                object_part = ([_noun(obj.noun, self.which(obj.noun))[1][ACC]], None)
            else:
                more, inner, object_head = self.np(obj, verb.case, verb.preposition, "no" if no_object else None)
                object_part = (more, inner)

        inverted = False
        reflexive = [REFLEXIVE[index]] if verb.reflexive else []
        if final:
            words += relation
        elif relation:
            words += [*relation, finite]
        elif question or imperative or filled:
            words.append(finite)
        elif topic and object_part is not None:
            words += object_part[0]
            if object_part[1] is not None:
                words += [",", *object_part[1], ","]
            words.append(finite)
            object_part = None
        elif front is not None:
            words += [*front, finite]
        else:
            words += [*subject_words, finite]
            subject_words = []
        if subject_words:
            inverted = not final
            if reflexive and not subject.pronoun:
                words += reflexive
                reflexive = []
            words += subject_words
        words += reflexive

        # the middle field
        parts: list[Part] = []
        if object_part is not None and not verb.preposition and (obj.pronoun or impersonal):
            parts.append(object_part)
            object_part = None
        if recipient is not None:
            more, inner, _ = self.np(recipient, DAT)
            dative = (more, inner)
            if recipient.pronoun:
                parts.append(dative)
            late_dative = not recipient.pronoun and not indefinite and recipient.determiner == "a" and object_part is not None
        if len(early) > 1:
            early.sort()
        if (
            early and object_part is not None and object_part[1] is None and recipient is None and agent is None
            and not (indefinite or bare or verb.preposition) and obj.determiner and self.random() < OBJECT_FIRST
        ):  # fmt: skip
            parts.append(object_part)
            object_part = None
        parts += [part for _, _, part in early]
        if recipient is not None and not recipient.pronoun and not late_dative:
            parts.append(dative)
        if agent is not None and slot != "agent":
            more, inner, _ = self.np(agent, DAT, "von")
            parts.append((more, inner))
        prepositional = object_part is not None and verb.preposition != "" and not bare
        plain = object_part is not None and not prepositional and not bare
        if plain and not indefinite:
            parts.append(object_part)
        if recipient is not None and late_dative:
            parts.append(dative)
        transitive = obj is not None or attribute is not None or slot == "object" or passive
        no = [(negative, None)] if negative else []
        if transitive and not manner and not late:
            parts += here
            parts += places
            parts += no
        else:
            if manner and here:
                parts += here
                here = []
            parts += no
            parts += manner
            parts += here
            parts += places
        if plain and indefinite:
            parts.append(object_part)
        parts += late
        if prepositional:
            parts.append(object_part)
        parts += goals
        if bare and object_part is not None:
            parts.append(object_part)
        if attribute is not None:
            parts.append(self.predicate(c, attribute, no_attribute, gap, subject))
        bracket = tail if not final else [*tail, finite]
        extraposed = None
        last = len(parts) - 1
        behind = last - 1 if last > 0 and no and parts[last] is no[0] else -1  # before a closing "nicht"
        for i, (more, inner) in enumerate(parts):
            words += more
            if inner is not None:
                if (i == last and bracket) or i == behind:
                    extraposed = inner
                else:
                    words += [",", *inner, ","]
        words += bracket
        if extraposed is not None:
            words += [",", *extraposed, ","]

        # marks of order and of the relative pronoun
        orders = self.orders
        if final:
            if object_head or head:
                orders.append((object_head or head, finite))
        else:
            if inverted and head:
                orders.append((finite, head))
            if object_head and how in ("participle", "infinitive"):
                orders.append((object_head, tail[-1]))
        if gap is not None and len(words) > len(relation):
            start, following = relation[:-1], words[len(relation)]
            lead = " ".join([",", *start])
            row = RELATIVE[PLURAL if gap[1] else gap[0]]
            self.mark("agreement", f"{lead} {relation[-1]} {following}", [
                f"{lead} {other[case]} {following}" for other in (RELATIVE if gap[1] else RELATIVE[:3])])  # fmt: skip
            self.mark("case", f"{lead} {relation[-1]} {following}", [f"{lead} {form} {following}" for form in row[:3]])

        # what comes behind
        if c.complement is not None:
            words += [",", "dass", *self.clause(c.complement, True), ","]
        if c.subordinate is not None and (final or not c.subordinate[2]):
            words += [",", *self.subordinate(c.subordinate)]
        if c.coordinate is not None:
            word, other = c.coordinate
            if word == "but":
                words.append(",")
            words.append(table.COORDINATORS[word])
            words += self.clause(other, final, filled=question == "polar", shared=index)
        return words

    def predicate(self, c: Clause, attribute, no: bool, gap, subject: NP | None) -> Part:
        """After "sein": the bare adjective, or a nominative, a bare profession."""
        if isinstance(attribute, str):
            noun = gap[2] if gap is not None else "" if subject is None else subject.noun
            word = "hoch" if attribute == "tall" and noun == "tower" else self.pick(ADJECTIVES[attribute])
            if attribute in SENSES["adjectives"]:
                self.mark("word sense", word, [ADJECTIVES[k][0] for k in SENSES["adjectives"][attribute]])
            return ([self.pick(ADVERBS[c.degree]), word] if c.degree else [word]), None
        who = gap[2] if gap is not None else "" if subject is None else subject.noun
        feminine = who != "" and _takes_feminine(attribute.noun) and _female(who) if not attribute.pronoun else False
        determiner = "no" if no else None
        if (
            attribute.determiner == "a" and not no and attribute.number == "sg" and attribute.noun not in table.NO_PROFESSION
            and _class(attribute.noun) == "person"
            and not (attribute.adjectives or attribute.relative or attribute.genitive or attribute.place)
        ):  # fmt: skip
            determiner = ""
        more, inner, head = self.np(attribute, NOM, "", determiner, False, feminine)
        if feminine:
            self.mark("agreement", head, [_noun(attribute.noun, self.which(attribute.noun))[1][NOM]])
        return more, inner

    def subordinate(self, part: tuple[str, Clause, bool]) -> list[str]:
        """Conjunction and clause, with the closing comma."""
        word, clause, _ = part
        text = table.SUBORDINATORS[word]
        if word == "when":
            often = any(ADVERB_KIND[a.adverb] == "frequency" for a in clause.adverbs)
            text = "als" if clause.tense == "past" and not often else "wenn"
            self.mark("word sense", text, ("als", "wenn"))
        elif self.news and word in table.NEWS_SUBORDINATORS:
            text = self.pick((text, table.NEWS_SUBORDINATORS[word]))
        after = word == "after" and clause.tense in ("past", "present") and not clause.modal
        return [text, *self.clause(clause, True, after=after), ","]


@cache
def _attached(particle: str, forms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(particle + form for form in forms)


@lru_cache(maxsize=1 << 17)
def _joined(prep: str, core: str, contracted: bool) -> str:
    """Preposition and noun phrase, "in dem" as "im"."""
    if contracted:
        first, _, rest = core.partition(" ")
        short = CONTRACTED.get((prep, first))
        if short:
            return f"{short} {rest}"
    return f"{prep} {core}"


def realise(clause: Clause, register: str, rng: random.Random) -> Words:
    """Put a sentence plan into German.

    Parameters
    ----------
    clause : Clause
        What is said.
    register : str
        "news" (past in the Präteritum) or "subtitles" (past in the Perfekt).
    rng : random.Random
        Dice for the choice between translations.

    Returns
    -------
    Words
        Words with the final punctuation, and the marks to score a translation by.
    """
    run = _Run(register, rng)
    raw = run.clause(clause)
    words: list[str] = []
    for word in raw:  # a comma that closes one clause also opens the next
        if word != "," or (words and words[-1] != ","):
            words.append(word)
    if words[-1] == ",":
        words.pop()
    words.append("?" if clause.question else ".")
    text = f" {' '.join(words)} "
    marks = []
    for phenomenon, wanted, others in run.marks:
        if text.count(f" {wanted} ") == 1:
            clear = tuple([o for o in others if f" {o} " not in text])
            if clear and (phenomenon, wanted, clear) not in marks:
                marks.append((phenomenon, wanted, clear))
    for first, second in run.orders:
        if words.count(first) == 1 and words.count(second) == 1 and words.index(first) < words.index(second):
            marks.append(("verb position", first, (second,)))
    return Words(words, marks)
