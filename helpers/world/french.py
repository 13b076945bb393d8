"""French out of plans: agreement, clitics, the past by aspect, the mood by conjunction; elided words stand apart.

Elided words keep their apostrophe ("l' homme", "qu' il"); a pronoun after an imperative keeps its hyphen ("ouvre -la");
the second person is "tu". One word on its way to the sentence is never moved: marks hold positions, and elision, which
changes words but not their number, comes last.
"""

from __future__ import annotations

import random
from functools import lru_cache

from helpers.world import french_words as french
from helpers.world import lexicon
from helpers.world.french_words import (
    ADVERBS,
    COORDINATORS,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    SUBORDINATORS,
    WITH_BE,
    Adjective,
    Verb,
    conjugate,
    gender,
    imperative,
    participle,
    siblings,
    vowel,
)
from helpers.world.meanings import NP, PP, Clause, Words

_NOUNS, _ADJECTIVES, _VERBS = french.noun_table(), french.adjective_table(), french.verb_table()
_KINDS = {key: entry.kind for key, entry in lexicon.adverbs().items()}
_TOWNS = frozenset(key for key, word in lexicon.names().items() if word.kind == "town")
_CLASSES = {key: noun.cls for key, noun in _NOUNS.items()} | {
    key: "place" if key in _TOWNS else "person" for key in lexicon.names()
}
_USUAL = 0.66  # chance of the usual translation where there are two
_ELIDED = {
    "le": "l'", "la": "l'", "de": "d'", "que": "qu'", "ne": "n'", "je": "j'", "me": "m'", "te": "t'", "se": "s'",
    "lorsque": "lorsqu'", "quoique": "quoiqu'", "ma": "mon", "ta": "ton", "sa": "son", "ce": "cet",
}  # fmt: skip
_STATES = frozenset(  # their past is the imparfait
    "be know.fact know.person think believe hope love fear trust need belong live miss.person remember hold.thing".split()
)
_FREQUENCY = frozenset(key for key, kind in _KINDS.items() if kind == "frequency")
_ONSET = frozenset(("suddenly", "finally"))  # a state begins: passé composé
_BEFORE_NOT = frozenset(("perhaps", "probably", "fortunately", "recently", "suddenly", "finally", "sometimes", "usually"))
_WITH_COMMA = frozenset(("yesterday", "recently", "suddenly", "finally", "today", "now", "tomorrow", "fortunately",
                         "sometimes", "usually", "soon"))  # fmt: skip
_LATE = frozenset(("avec soin", "avec colère", "avec patience", "en secret", "sans bruit", "sans hâte"))
# manner that stays close to the verb
_INNER = frozenset(("bien", "clairement", "mal", "terriblement", "volontiers", "vite", "immédiatement", "aussitôt"))
_ACTIVITIES = frozenset(("sleep", "work.person", "wait", "dream"))  # what goes on when something else is said
_GENERIC_OBJECT = frozenset(("love", "fear", "trust"))
_NO_TRADE = frozenset(
    "man woman child girl boy friend neighbour owner mother father brother sister daughter son wife husband thief guest "
    "customer".split()
)
_TO_PLACE = frozenset(("run.go", "fly.bird"))
_SUBJECTS = (("je", "tu", "il", "nous", "vous", "ils"), ("je", "tu", "elle", "nous", "vous", "elles"))
_STRONG = (("moi", "toi", "lui", "nous", "vous", "eux"), ("moi", "toi", "elle", "nous", "vous", "elles"))
_ACCUSATIVE = (("me", "te", "le", "nous", "vous", "les"), ("me", "te", "la", "nous", "vous", "les"))
_DATIVE = ("me", "te", "lui", "nous", "vous", "leur")
_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_RANK = {"me": 0, "te": 0, "se": 0, "nous": 0, "vous": 0, "le": 1, "la": 1, "les": 1, "lui": 2, "leur": 2, "y": 3, "en": 4}
_AFTER_COMMAND = {"me": "-moi", "te": "-toi"}
_LEQUEL = ("auquel", "à laquelle", "auxquels", "auxquelles")
_CONTRACTED = {  # a preposition with the article: masculine, feminine, plural
    "": (("le",), ("la",), ("les",)), "de": (("du",), ("de", "la"), ("des",)), "à": (("au",), ("à", "la"), ("aux",)),
}  # fmt: skip
# adjectives before the noun, in order; "et" joins those that French does not like to stack
_RANKS = {"beau": 0, "nouveau": 1, "bon": 2, "mauvais": 2, "jeune": 4, "vieux": 4}
_UNSTACKED = frozenset(("long", "bref"))
_OTHER_WORDS = {  # other conjunctions and prepositions, where nothing else decides
    "because": "car", "when": "lorsque", "although": "quoique", "during": "durant", "near": "à côté de",
}  # fmt: skip
_WHEN = frozenset(("during", "after", "before", "in_time"))
_ASKING = {"where": "où", "when": "quand", "why": "pourquoi"}
_THAT = "ce (pronoun)"  # "ce" before a vowel is "cet" as determiner, never as pronoun
_ONE = NP(pronoun=True, noun="on")


class _Text:
    """A sentence on its way: words, marks by position, the dice, and what holds for the whole of it."""

    __slots__ = ("marks", "news", "polite", "random", "words")

    def __init__(self, register: str, rng: random.Random, polite: bool):
        self.words: list[str] = []
        self.marks: list[tuple] = []  # phenomenon, first position, position after the last, others (or second position)
        self.random, self.news, self.polite = rng.random, register == "news", polite

    def pick(self, options: tuple):
        """The usual translation, or at times the other."""
        if len(options) == 1 or self.random() < _USUAL:
            return options[0]
        return options[1]


# --------------------------------------------------------------------------------------------------------- noun phrases
@lru_cache(maxsize=4096)
def _article(
    determiner: str, feminine: bool, plural: bool, preposition: str, before_vowel: bool, mode: str, adjective_first: bool
) -> tuple[str, ...]:
    """Preposition ("", "à", "de") and determiner.

    `mode`: "generic" (all of a kind: "les chiens"), "none" (no article: "sans clé"), "not" (negated object: "pas de").
    """
    lead = (preposition,) if preposition else ()
    indefinite = determiner == "" or determiner == "a"
    if determiner == "the" or (indefinite and mode == "generic" and (plural or determiner == "")):
        if before_vowel and not plural:
            return (*lead, "l'")
        return _CONTRACTED[preposition][2 if plural else feminine]
    if indefinite:
        if mode == "none":
            return lead
        if mode == "not" or (preposition == "de" and (plural or determiner == "")):
            return ("de",)
        if plural:
            return (*lead, "de" if adjective_first else "des")
        if determiner == "":
            return (*lead, "de", "l'") if before_vowel else (*lead, *_CONTRACTED["de"][feminine])
        return (*lead, "une" if feminine else "un")
    if determiner == "many":
        return (*lead, "beaucoup", "de")
    return (*lead, DETERMINERS[determiner][2 if plural else feminine])


@lru_cache(maxsize=1 << 15)
def _core(
    key: str, noun: str, feminine: bool, plural: bool, keys: tuple[str, ...], adjectives: tuple[Adjective, ...], degree: str
) -> tuple[tuple[str, ...], tuple[tuple, ...], bool, bool]:
    """Adjectives and noun; their marks by relative position; whether it begins with a vowel, with an adjective."""
    form = 2 * plural + feminine
    front, back = [], []
    for place, adjective in enumerate(adjectives):
        with_degree = degree if place == 0 else ""
        # only "très" is light enough to stand with its adjective before the noun
        first = adjective.before and with_degree in ("", "très")
        (front if first else back).append((adjective, keys[place], with_degree))
    joined = False
    if len(front) == 2:
        front.sort(key=lambda item: _RANKS.get(item[0].forms[0], 3))
        one, two = (item[0].forms[0] for item in front)
        joined = one != "nouveau" and (one in _UNSTACKED or two in _UNSTACKED or (one, two) == ("mauvais", "vieux"))
    words: list[str] = []
    spots: list[tuple[int, Adjective, str]] = []
    for adjective, sense, with_degree in front:
        if words and joined:
            words.append("et")
        if with_degree:
            words.append(with_degree)
        spots.append((len(words), adjective, sense))
        words.append(adjective.forms[form])
    at = len(words)
    words += noun.split(" ")
    end = len(words)
    for adjective, sense, with_degree in back:
        if len(words) > end:
            words.append("et")
        if with_degree:
            words += with_degree.split(" ")
        spots.append((len(words), adjective, sense))
        words += adjective.forms[form].split(" ")
    if form == 0:
        for place, adjective, _ in spots:
            if adjective.before_vowel and place < at and words[place + 1] != "et" and vowel(words[place + 1]):
                words[place] = adjective.before_vowel
    marks = [mark for spot in spots for mark in _adjective_marks(words, *spot, form, at, end)]
    if siblings(key):
        others = {v[plural] for other in siblings(key) for v in _NOUNS[other].variants} - {noun}
        marks.append(("word sense", at, end, tuple(sorted(others))))
    return tuple(words), tuple(marks), vowel(words[0]), bool(front)


def _adjective_marks(words: list[str], place: int, adjective: Adjective, sense: str, form: int, at: int, end: int):
    """Marks of an adjective's agreement, position and sense; its noun stands from `at` to `end`."""
    word, forms = words[place], adjective.forms
    if forms[0] != forms[1] or forms[0] != forms[2]:
        others = sorted({f for f in forms if f != word})
        if place == at - 1:
            yield "agreement", place, at + 1, tuple(f"{other} {words[at]}" for other in others)
        elif place == end:
            yield "agreement", at, place + 1, tuple(" ".join((*words[at:end], other)) for other in others)
        else:
            yield "agreement", place, place + 1, tuple(others)
    if len(forms[form].split(" ")) == 1:
        yield "adjective position", *((place, at) if place < at else (at, place)), None
    others = _sense_forms(sense, form, word)
    if others:
        yield "word sense", place, place + 1, others


@lru_cache(maxsize=1024)
def _sense_forms(key: str, form: int, word: str) -> tuple[str, ...]:
    """Translations of the other senses of an adjective, in one form."""
    return tuple({a.forms[form]: 0 for other in siblings(key) for a in _ADJECTIVES[other] if a.forms[form] != word})


@lru_cache(maxsize=1 << 14)
def _adjective(key: str, noun: str, attributive: bool, degree: bool) -> tuple[Adjective, ...]:
    """Translations of an adjective with a noun."""
    cls = _CLASSES.get(noun, "person")
    if key == "big" and attributive and cls in ("animal", "thing", "vehicle"):
        key = "big:thing"
    elif key == "dark" and cls == "garment":
        key = "dark:garment"
    elif key == "tall" and noun == "tower":
        key = "tall:tower"
    elif key == "wrong" and attributive:
        key = "wrong:noun"
    elif key == "new" and degree:
        key = "new:recent"
    elif key == "new" and not attributive and cls in ("thing", "vehicle", "garment", "instrument"):
        key = "new:unused"
    return _ADJECTIVES[key]


def _features(np: NP) -> tuple[int, bool]:
    """Person and number as one of six, and whether feminine."""
    if np.coordinate is not None:
        person, feminine = _features(np.coordinate)
        return min(np.person - 1, person % 3) + 3, feminine and gender(np.noun) == "f"
    noun = _NOUNS.get(np.noun)
    plural = np.number == "pl" or (noun is not None and noun.plural_only)
    return np.person - 1 + 3 * plural, np.person == 3 and gender(np.noun) == "f"


def _lead(words: list[str], preposition: str) -> str:
    """Add a preposition but for its last word, where that is "de" or "à" and may be contracted; return that word."""
    if preposition in ("", "de", "à"):
        return preposition
    *first, last = preposition.split(" ")
    if last in ("de", "à"):
        words += first
        return last
    words += first
    words.append(last)
    return ""


def _noun_phrase(t: _Text, np: NP, preposition: str = "", mode: str = "") -> None:
    """Add a noun phrase and what belongs to it; a pronoun in its stressed form."""
    words = t.words
    lead = _lead(words, preposition) if preposition else ""
    if np.pronoun:
        if lead:
            words.append(lead)
        index, feminine = _features(np)
        words.append(_STRONG[feminine][index])
    elif (noun := _NOUNS.get(np.noun)) is None:
        if lead:
            words.append(lead)
        words.append(french.name(np.noun))
        if np.surname:
            words.append(french.surname(np.surname))
    else:
        _common_noun(t, np, noun, lead, mode)
    if np.genitive is not None:
        _noun_phrase(t, np.genitive, "de")
    if np.place is not None:
        _place(t, np.place, "")
    if np.relative is not None:
        _clause(t, np.relative, "relative", head=np)
    if np.coordinate is not None:
        words.append("et")
        _noun_phrase(t, np.coordinate, lead, mode)


def _common_noun(t: _Text, np: NP, noun: french.Noun, lead: str, mode: str) -> None:
    words, keys, degree = t.words, np.adjectives, ""
    plural, feminine = np.number == "pl" or noun.plural_only, noun.gender == "f"
    form = t.pick(noun.variants)[plural]
    adjectives: tuple = ()
    if keys:
        adjectives = tuple([t.pick(_adjective(k, np.noun, True, i == 0 and np.degree != "")) for i, k in enumerate(keys)])
        if np.degree:
            degree = ADVERBS[np.degree][0]
    core, marks, before_vowel, adjective_first = _core(np.noun, form, feminine, plural, keys, adjectives, degree)
    determiner = np.determiner
    if noun.cls == "game":
        mode = "generic"
    elif determiner == "your" and t.polite:
        determiner = "yours"
    words += _article(determiner, feminine, plural, lead, before_vowel, mode, adjective_first)
    if marks:
        start = len(words)
        for kind, first, last, others in marks:
            t.marks.append((kind, start + first, start + last, others))
    words += core


def _place(t: _Text, pp: PP, verb: str) -> None:
    """Add a prepositional phrase."""
    key, np = pp.preposition, pp.np
    preposition, mode, determiner = PREPOSITIONS[key], "", np.determiner
    definite = determiner not in ("a", "", "two", "three", "many", "every")
    if np.pronoun:
        pass
    elif key in _OTHER_WORDS:
        if t.random() > _USUAL and np.noun not in _TOWNS:
            preposition = _OTHER_WORDS[key]
    elif key == "to":
        preposition = _toward(np, verb, definite)
    elif key in ("in", "at") and np.noun in _TOWNS:
        preposition = "jusqu' à" if verb in _TO_PLACE else "à"
    elif key == "at":
        preposition = "sur" if np.noun == "bridge" else "à" if definite else "dans"
    elif key == "from":
        preposition = "depuis" if verb in _TO_PLACE else "de"
    elif key == "in_time":
        if determiner == "the" and not np.adjectives and np.noun in ("summer", "winter"):
            preposition, mode, np = "en", "none", NP(np.noun)
        elif determiner in ("the", "this", "every", "a") and not np.adjectives:
            preposition = ""
    elif key == "without" and determiner in ("a", "") and not np.adjectives and not np.relative and not np.coordinate:
        mode = "none"
    _noun_phrase(t, np, preposition, mode)


def _toward(np: NP, verb: str, definite: bool) -> str:
    """The preposition of a goal."""
    if verb == "fly.person":
        return "pour"
    if verb in _TO_PLACE:
        return "jusqu' à"
    if np.noun == "island":
        return "sur"
    inside = not definite or np.noun == "city" or (np.noun == "house" and np.determiner != "the")
    return "dans" if inside and np.noun not in _TOWNS else "à"


# ---------------------------------------------------------------------------------------------------------------- verbs
@lru_cache(maxsize=1 << 14)
def _other_verbs(key: str, passive: bool, slot: str, index: int, word: str) -> tuple[str, ...]:
    """The same form of the verbs for the other senses of an English verb.

    `slot` is a tense, "infinitive", "imperative", or "participle" (`index` is then its form).
    """
    found = {}
    for other in siblings(key):
        for verb in _VERBS[other]:
            if slot == "infinitive":
                form = verb.infinitive
            elif slot == "imperative":
                form = imperative(verb.infinitive)
            elif slot == "participle":
                form = participle(verb.infinitive)[index]
            else:
                form = conjugate(verb.infinitive, slot)[index]
            if form != word:
                found[form] = 0
    return tuple(found)


def _key_of(np: NP | None) -> str:
    """The noun of a noun phrase; people who speak count as "man"."""
    if np is None:
        return ""
    return np.noun if np.person == 3 else "man"


def _verb_key(c: Clause, object_key: str) -> str:
    """The key of the verb table: some verbs depend on the object or the construction."""
    key = c.verb
    if key == "visit" or key == "wash":
        return key + ":person" if _CLASSES.get(object_key) == "person" else key
    if key == "watch":
        return "watch:event" if _CLASSES.get(object_key) == "event" else key
    if key == "break.rule":
        return "break.rule:promise" if object_key in ("promise", "contract") else key
    if key == "raise.question" and object_key == "price":
        return "raise.price"
    if key == "open.place":
        return "open.place:event" if _CLASSES.get(object_key) == "event" else key
    if key == "discuss":
        return "discuss:passive" if c.passive else key
    if key == "live" and any(pp.preposition in ("in", "near") for pp in c.places):
        return "live:place"
    return key


def _tense(c: Clause, role: str, main: str, state: bool, subjunctive: bool) -> tuple[str, bool, tuple[str, bool] | None]:
    """Tense of the finite verb, whether compound, and the rival tense where another word decides between the two."""
    adverbs = [a.adverb for a in c.adverbs]
    onset = any(a in _ONSET for a in adverbs)
    habit = any(a in _FREQUENCY for a in adverbs)
    rival = None
    after = role == "after"
    if c.modal == "should":
        tense = ("present", False) if subjunctive or role == "if" else ("conditional", False)
    elif c.tense == "past":
        if c.modal or c.progressive:
            past = not c.modal or not onset
            tense = ("imperfect", False) if past else ("present", True)
            if c.progressive:
                rival = ("present", True)
        elif after:
            tense = ("present", True)
        elif onset:
            tense, rival = ("present", True), ("imperfect", False)
        elif habit or role == "while" or (role == "when" and c.verb in _ACTIVITIES):
            tense, rival = ("imperfect", False), ("present", True)
        elif state:
            tense = ("imperfect", False)
        else:
            tense = ("present", True)
        if role == "that" and main == "past" and tense[1]:
            tense, rival = ("imperfect", True), ("present", True)
    elif c.tense == "perfect":
        tense = ("present", True)
    elif c.tense == "future":
        tense = ("present", False) if role == "if" else ("future", False)
    else:
        tense = ("present", False)
        if after and not c.modal:
            tense = ("present", True)
        if main == "future" and role in ("when", "while", "after"):
            tense, rival = ("future", tense[1]), tense
    if subjunctive:
        compound = tense[1] and (role != "before" or c.tense == "perfect")
        rival, tense = ("present" if tense[1] else tense[0], compound), ("subjunctive", compound)
    return (*tense, rival)


def _clitics(t: _Text, c: Clause, verb: Verb, obj: NP | None, index: int) -> tuple[list, int, list]:
    """Unstressed pronouns in order, the form of a participle that agrees with one (-1 if none), stressed phrases left.

    Each clitic is (word, mark or None); each phrase is (preposition, NP).
    """
    clitics, agreeing, left = [], -1, []
    if verb.reflexive:
        clitics.append((_REFLEXIVE[index], None))
    if obj is not None and obj.pronoun:
        which, feminine = _features(obj)
        if verb.preposition == "":
            word = _ACCUSATIVE[feminine][which]
            agreeing = 2 * (which > 2) + feminine
            mark = None
            if which == 2 or which == 5:
                mark = ("agreement", tuple(w for w in ("le", "la", "les") if w != word))
            clitics.append((word, mark))
        elif verb.preposition == "à":
            if which % 3 != 2 or _CLASSES.get(obj.noun) in ("person", "animal", "organisation"):
                word = _DATIVE[which]
                clitics.append((word, ("case", ("le", "la", "les")) if which % 3 == 2 else None))
            else:
                clitics.append(("y", ("case", ("le", "la", "les"))))
        elif which % 3 != 2 or _CLASSES.get(obj.noun) in ("person", "animal"):
            left.append(("de", obj))
        else:
            clitics.append(("en", ("case", ("le", "la", "les"))))
    to = c.recipient
    if to is not None and to.pronoun:
        which, _ = _features(to)
        word = _DATIVE[which]
        if clitics and (_RANK[clitics[0][0]] == 0 or _RANK[clitics[0][0]] == 2):
            left.append(("à", to))
        else:
            clitics.append((word, ("case", ("le", "la", "les")) if which % 3 == 2 else None))
    if len(clitics) > 1:
        clitics.sort(key=lambda item: _RANK[item[0]])
    return clitics, agreeing, left


def _add_clitics(t: _Text, clitics: list, spots: list[int]) -> None:
    for word, mark in clitics:
        at = len(t.words)
        spots.append(at)
        t.words.append(word)
        if mark is not None:
            t.marks.append((mark[0], at, at + 1, mark[1]))


# -------------------------------------------------------------------------------------------------------------- clauses
def _clause(t: _Text, c: Clause, role: str = "main", main: str = "", subjunctive: bool = False, head: NP | None = None):
    """Add a clause.

    Parameters
    ----------
    role : str
        "main", "second" (after a coordinator), "that", "relative", or the conjunction before it.
    main : str
        Tense of the clause above.
    subjunctive : bool
        Whether the conjunction or the verb above asks for it.
    head : NP or None
        What a relative clause is about.
    """
    said = _Clause(t, c, role, main, subjunctive, head)
    said.open()
    said.ask()
    said.say_subject()
    said.clitics, said.agreeing, left = _clitics(t, c, said.verb, None if said.passive else said.obj, said.index)
    if said.gap == "object" and not said.passive and said.verb.preposition == "" and head is not None:
        said.agreeing = _form(*_features(NP(head.noun, number=head.number)))
    said.say_verb()
    recipient = said.say_object()
    for preposition, np in left:
        _noun_phrase(t, np, preposition)
    said.say_rest(recipient)
    said.join()


def _form(index: int, feminine: bool) -> int:
    """Which of the four forms of an adjective or participle agrees."""
    return 2 * (index > 2) + feminine


class _Clause:
    """One clause on its way: its verb and tense, the features of its subject, its adverbs by place, its clitics."""

    __slots__ = (
        "agent", "agreeing", "auxiliary", "base", "c", "clitics", "compound", "feminine", "final", "finite_verb", "form",
        "gap", "head", "index", "infinitive", "inner", "inverted", "key", "late", "lead", "medial", "obj", "passive", "places",
        "presents", "rival", "role", "start", "subject", "subjunctive", "t", "tense", "trade", "verb", "with_be",
    )  # fmt: skip

    def __init__(self, t: _Text, c: Clause, role: str, main: str, subjunctive: bool, head: NP | None):
        self.t, self.c, self.role, self.head, self.subjunctive = t, c, role, head, subjunctive
        self.key = _verb_key(c, _key_of(c.object) or (_key_of(head) if c.gap == "object" else ""))
        options = _VERBS[self.key]
        # "apercevoir" is to see at a glance
        self.verb: Verb = t.pick(options) if self.key != "see" or not c.adverbs else options[0]
        self.take_roles()
        self.index, self.feminine = self.features()
        self.form = _form(self.index, self.feminine)
        if role.startswith("infinitive"):
            self.tense, self.compound, self.rival = "infinitive", role != "infinitive" or c.tense == "perfect", None
        else:
            self.tense, self.compound, self.rival = _tense(c, role, main, c.verb in _STATES, subjunctive)
        noun = isinstance(c.attribute, NP)
        self.trade = noun and _is_trade(c.attribute)
        # "c' est un bon médecin", not "il est"
        plain = noun and not (self.trade or c.modal or self.compound or self.tense == "infinitive")
        self.presents = plain and self.subject is not None and self.subject.pronoun and self.subject.person == 3

    def take_roles(self) -> None:
        """The passive's object is subject; what French has no passive for is active: somebody does it."""
        c = self.c
        self.passive, self.gap = c.passive, c.gap
        self.subject, self.obj, self.agent = c.subject, c.object, None
        if c.passive and self.verb.preposition:
            self.passive = False
            if c.subject is None and c.question != "who" and c.gap != "subject":
                self.subject = _ONE
        elif c.passive:
            self.subject, self.obj, self.agent = c.object, None, c.subject
            self.gap = c.gap and "subject"

    def features(self) -> tuple[int, bool]:
        """Of what the verb agrees with: person and number as one of six, and whether feminine."""
        if self.c.imperative:
            return 1, False
        if self.gap == "subject" and self.head is not None:
            return _features(NP(self.head.noun, number=self.head.number))
        if self.subject is None or self.subject is _ONE:
            return 2, False
        return _features(self.subject)

    # -- before the verb
    def open(self) -> None:
        """The clause before, adverbs and phrases at the start."""
        t, c, words = self.t, self.c, self.t.words
        before = c.subordinate is not None and c.subordinate[2]
        if before:
            _subordinate(t, c.subordinate, c)
            words.append(",")
        free = self.role in ("main", "second") and not c.question and not c.imperative
        sorted_ = _adverbs(t, c, free, self.passive) if c.adverbs else ((), (), (), (), ())
        self.start, self.medial, self.inner, self.late, self.final = sorted_
        for key, text in self.start:
            words += ("peut-être", "que") if key == "perhaps" else text.split(" ")
            if key in _WITH_COMMA:
                words.append(",")
        self.places = c.places
        if free and c.places and self.role == "main" and not (self.start or c.complement or before):
            self.places = _time_first(t, c, c.places)

    def ask(self) -> None:
        """The question word or the relative pronoun; whether the subject follows the verb."""
        question, self.inverted = self.c.question, ""
        if question:
            free = self.index not in (0, 3) and not self.presents and self.subject is not _ONE
            if question in ("polar", "where", "when", "why") and self.t.news and free:
                self.inverted = _SUBJECTS[self.feminine][self.index]
            _question(self.t.words, question, self.passive, self.verb.preposition, self.inverted != "")
        elif self.role == "relative":
            _relative_pronoun(self.t, self.gap, self.verb, self.head)

    def say_subject(self) -> None:
        t, c, subject, words = self.t, self.c, self.subject, self.t.words
        asked = c.question == "who" and not self.passive
        if subject is None or c.imperative or asked or self.presents or self.tense == "infinitive":
            return
        if subject is _ONE:
            words.append("on")
        elif not subject.pronoun:
            general = c.verb == "be" or (c.tense == "present" and not c.progressive and not self.passive)
            _noun_phrase(t, subject, "", "generic" if general and subject.determiner in ("", "a") else "")
        elif not self.inverted:
            at, forms = len(words), ("il", "elle", "ils", "elles")
            words.append(_SUBJECTS[self.feminine][self.index])
            if self.index % 3 == 2:
                t.marks.append(("agreement", at, at + 1, tuple([w for w in forms if w != words[at]])))

    # -- the verb
    def say_verb(self) -> None:
        """Add the verb with its negation, clitics, auxiliaries and the adverbs among them."""
        c, verb = self.c, self.verb
        self.base = "être" if self.passive else verb.infinitive
        self.with_be = not self.passive and (verb.reflexive or verb.infinitive in WITH_BE)
        if c.imperative:
            _command(self.t, c, verb, self.clitics, self.medial, self.inner)
        elif self.tense == "infinitive":
            self.say_infinitive()
        else:
            self.say_finite()

    def adverbs(self, adverbs) -> None:
        for key, text in adverbs:
            _adverb(self.t, key, text)

    def say_infinitive(self) -> None:
        """ "sans le voir", "après l' avoir vu"."""
        t, words, spots = self.t, self.t.words, []
        words += ("ne", "pas") if self.c.negated else ()
        _add_clitics(t, self.clitics, spots)
        if spots:
            _order(t, spots, len(words))
        if self.compound:
            words.append("être" if self.with_be else "avoir")
            self.adverbs((*self.medial, *self.inner))
            words.append(participle(self.base)[self.form if self.with_be else max(self.agreeing, 0)])
        else:
            words.append(self.base)
            self.adverbs((*self.medial, *self.inner))
        words += self.verb.fixed

    def paraphrase(self) -> None:
        """What is finite: the verb, its modal, at times "aller" for the future or "être en train de"; its auxiliary."""
        t, c, modal = self.t, self.c, MODALS[self.c.modal] if self.c.modal else ""
        self.finite_verb, self.infinitive, self.lead = modal or self.base, modal != "", ()
        plain = self.role == "main" and not modal and not self.presents
        if plain and not self.rival and self.tense == "future" and not self.compound and not t.news:
            if t.random() < 0.3:
                self.finite_verb, self.tense, self.infinitive = "aller", "present", True
        elif (
            c.progressive and self.role == "main" and not (self.subjunctive or c.negated or c.question or self.inverted)
            and not self.inner and not self.medial and t.random() < 0.12
        ):  # fmt: skip
            self.finite_verb, self.infinitive, self.lead, self.rival = "être", True, ("en", "train", "de"), None
        self.auxiliary = ""
        if self.compound:
            self.auxiliary = "être" if self.with_be and not modal else "avoir"

    def say_finite(self) -> None:
        t, c, words, spots = self.t, self.c, self.t.words, []
        self.paraphrase()
        finite = conjugate(self.auxiliary or self.finite_verb, self.tense)[self.index]
        if self.presents:
            words.append(_THAT if c.negated or finite[0] not in "eé" else "c'")
        if c.negated:
            words.append("ne")
        if self.clitics and not self.infinitive:
            _add_clitics(t, self.clitics, spots)
        at = len(words)
        words.append(finite)
        if self.inverted:
            words.append(("-t-" if finite[-1] in "ae" else "-") + self.inverted)
        self.say_medial()
        if self.compound and c.modal:
            words.append(participle(self.finite_verb)[0])
        if self.infinitive:
            slot, index, place = self.say_dependent(spots)
        else:
            slot, index, place = self.say_participle(at)
            if spots:
                _order(t, spots, at)
        words += self.verb.fixed
        self.mark_agreement(finite, at, slot, place)
        self.mark_tense(finite, at, place)
        if siblings(c.verb) and not c.verb.startswith("play"):
            others = _other_verbs(c.verb, self.passive, slot, index, words[place])
            if others:
                t.marks.append(("word sense", place, place + 1, others))

    def say_medial(self) -> None:
        """Adverbs after the finite verb, before or after "pas"; "already" denied is "pas encore"."""
        words = self.t.words
        if self.c.negated:
            for key, text in self.medial:
                if key in _BEFORE_NOT:
                    words += text.split(" ")
            words.append("pas")
        for key, text in self.medial:
            if not self.c.negated:
                words += text.split(" ")
            elif key not in _BEFORE_NOT:
                words += ("encore" if key == "already" else text).split(" ")

    def say_dependent(self, spots: list[int]) -> tuple[str, int, int]:
        """The infinitive after a modal; the form, its index and the place of the word that tells the verb's sense."""
        t, words = self.t, self.t.words
        words += self.lead
        early = [a for a in self.inner if a[1] in ("bien", "mal", "volontiers")]
        if self.c.modal and self.finite_verb != "devoir":
            early = []
        self.adverbs(early)
        _add_clitics(t, self.clitics, spots)
        words.append(self.base)
        place = len(words) - 1
        if spots:
            _order(t, spots, place)
        self.adverbs(a for a in self.inner if a not in early)
        if not self.passive:
            return "infinitive", self.index, place
        words.append(participle(self.verb.infinitive)[self.form])
        return "participle", self.form, len(words) - 1

    def say_participle(self, at: int) -> tuple[str, int, int]:
        """The participle of a compound tense or passive; as `say_dependent`."""
        words = self.t.words
        if self.compound and self.passive:
            words.append("été")
        self.adverbs(self.inner)
        if not (self.compound or self.passive):
            return self.tense, self.index, at
        which = self.form if self.passive or self.with_be else max(self.agreeing, 0)
        words.append(participle(self.verb.infinitive)[which])
        return "participle", which, len(words) - 1

    def mark_agreement(self, finite: str, at: int, slot: str, place: int) -> None:
        """Marks of the finite verb's number and of the participle's form."""
        words, marks, index = self.t.words, self.t.marks, self.index
        other = conjugate(self.auxiliary or self.finite_verb, self.tense)[(index + 3) % 6 if index % 3 == 2 else 2]
        if other != finite:
            if self.alone(at, place):
                marks.append(("agreement", at, place + 1, (f"{other} {words[place]}",)))
            else:
                marks.append(("agreement", at, at + 1, (other,)))
        if (self.passive or self.with_be or self.agreeing > 0) and slot == "participle":
            others = tuple({f: 0 for f in participle(self.verb.infinitive) if f != words[place]})
            marks.append(("agreement", place, place + 1, others))

    def alone(self, at: int, place: int) -> bool:
        """Whether finite verb and participle stand side by side."""
        return place == at + 1 and not self.infinitive

    def mark_tense(self, finite: str, at: int, place: int) -> None:
        """A mark of the tense where another is near, or of the auxiliary."""
        words, marks, index = self.t.words, self.t.marks, self.index
        helper, alone = "être" if self.with_be else "avoir", self.alone(at, place)
        if self.rival is None:
            if self.with_be and alone:
                marks.append(("tense", at, place + 1, (f"{conjugate('avoir', self.tense)[index]} {words[place]}",)))
            return
        if self.infinitive:
            return
        rival, rival_compound = self.rival
        if rival_compound == self.compound:
            other = conjugate(helper if self.compound else self.finite_verb, rival)[index]
            if other != finite:
                marks.append(("tense", at, at + 1, (other,)))
        elif rival_compound:
            done = "été" if self.passive else participle(self.verb.infinitive)[self.form if self.with_be else 0]
            marks.append(("tense", at, at + 1, (f"{conjugate(helper, rival)[index]} {done}",)))
        elif not self.passive and alone:
            marks.append(("tense", at, place + 1, (conjugate(self.verb.infinitive, rival)[index],)))

    # -- behind the verb
    def say_object(self) -> NP | None:
        """Add the object, behind short adverbs or before them; return the recipient if it is still to be said."""
        t, c, words, said = self.t, self.c, self.t.words, self.obj
        recipient = c.recipient if c.recipient is not None and not c.recipient.pronoun else None
        if said is None or said.pronoun:
            return recipient
        heavy = (said.relative or said.place or said.genitive or said.coordinate) is not None
        if heavy or said.adjectives:  # an adverb does not wait for a long object
            early = [item for item in self.late if heavy or _KINDS[item[0]] == "manner"]
            self.adverbs(early)
            self.late = [item for item in self.late if item not in early]
            if recipient is not None and said.relative is not None:
                _noun_phrase(t, recipient, "à")
                recipient = None
        mode = ""
        if said.determiner in ("", "a"):
            if c.verb in _GENERIC_OBJECT:
                mode = "generic"
            elif c.negated and not self.verb.preposition and said.coordinate is None:
                mode = "not"
        at = len(words)
        _noun_phrase(t, said, self.verb.preposition, mode)
        if c.verb in ("play.game", "play.music"):
            run = words[at : at + 3] if words[at + 1] in ("l'", "la") else words[at : at + 2]
            t.marks.append(("word sense", at, at + len(run), _other_play(tuple(run))))
        return recipient

    def say_rest(self, recipient: NP | None) -> None:
        """Predicate, recipient, agent, late adverbs, places, last adverbs."""
        t, c, attribute = self.t, self.c, self.c.attribute
        if isinstance(attribute, str):
            _predicate(t, attribute, c.degree, _key_of(self.head if self.gap == "subject" else self.subject), self.form)
        elif attribute is not None:
            _noun_phrase(t, attribute, "", "none" if self.trade else "")
        if recipient is not None:
            _noun_phrase(t, recipient, "à")
        if self.agent is not None:
            _noun_phrase(t, self.agent, "par")
        self.adverbs(self.late)
        for pp in self.places:
            _place(t, pp, c.verb)
        self.adverbs(self.final)

    def join(self) -> None:
        """The clauses behind: complement, subordinate, coordinate."""
        t, c, words = self.t, self.c, self.t.words
        if c.complement is not None:
            words.append("que")
            doubt = c.verb in ("think", "believe", "hope") and (c.negated or (c.question != "" and c.verb != "hope"))
            _clause(t, c.complement, "that", c.tense, doubt)
        if c.subordinate is not None and not c.subordinate[2]:
            if c.subordinate[0] == "although":
                words.append(",")
            _subordinate(t, c.subordinate, c)
        if c.coordinate is not None:
            word, second = c.coordinate
            if word == "but" or t.news:
                words.append(",")
            words.append(COORDINATORS[word])
            _clause(t, second, "second")


def _time_first(t: _Text, c: Clause, places: tuple[PP, ...]) -> tuple[PP, ...]:
    """At times say when before anything else; return the phrases still to be said."""
    for pp in places:
        if pp.preposition in _WHEN and pp.np.relative is None and not pp.np.pronoun and t.random() < 0.15:
            _place(t, pp, c.verb)
            t.words.append(",")
            return tuple([other for other in places if other is not pp])
    return places


def _predicate(t: _Text, key: str, degree: str, noun: str, form: int) -> None:
    """Add an adjective after "être"."""
    words = t.words
    if degree:
        words.append(ADVERBS[degree][0])
    forms = t.pick(_adjective(key, noun, False, degree != "")).forms
    at = len(words)
    words += forms[form].split(" ")
    others = tuple({f: 0 for f in forms if f != forms[form]})
    for kind, rivals in (("agreement", others), ("word sense", _sense_forms(key, form, words[at]))):
        if rivals:
            t.marks.append((kind, at, at + 1, rivals))


def _adverbs(t: _Text, c: Clause, free: bool, passive: bool) -> tuple[list, list, list, list, list]:
    """The clause's adverbs by place: at the start (of a `free` clause), after the finite verb, by the verb, late, last.

    Each is (key, text).
    """
    start, medial, inner, late, final = [], [], [], [], []
    for item in c.adverbs:
        key, position = item.adverb, item.position
        kind, text = _KINDS[key], t.pick(ADVERBS[key])
        if key == "well" and c.verb == "hear":
            text = "clairement"  # "bien entendu" is "of course"
        if kind == "place":
            late.append((key, text))
        elif position == "initial" and free:
            start.append((key, text))
        elif kind == "manner":
            if text in _INNER or ((position == "medial" or passive) and text not in _LATE):
                inner.append((key, text))
            else:
                late.insert(0, (key, text))
        elif position == "final" and key != "soon":
            final.append((key, text))
        else:
            medial.append((key, text))
    return start, medial, inner, late, final


def _is_trade(np: NP) -> bool:
    """Whether a predicate goes without article: "il est médecin", but "c' est une femme", "c' est un bon médecin"."""
    bare = np.determiner in ("a", "") and not (np.adjectives or np.genitive or np.place or np.relative)
    return bare and np.noun in _NOUNS and _CLASSES[np.noun] == "person" and np.noun not in _NO_TRADE


def _adverb(t: _Text, key: str, text: str) -> None:
    others = siblings(key)
    if others:
        at = len(t.words)
        t.marks.append(("word sense", at, at + 1, tuple(ADVERBS[other][0] for other in others)))
    t.words += text.split(" ")


@lru_cache(maxsize=1024)
def _other_play(run: tuple[str, ...]) -> tuple[str, ...]:
    """The article's contractions under the other preposition: "au" for "du", "de la" for "à la"."""
    swap = {"au": "du", "aux": "des", "à": "de", "du": "au", "des": "aux", "de": "à", "d'": "à"}
    other = swap[run[0]]
    return (" ".join(("d'" if other == "de" and vowel(run[1]) and run[1] != "l'" else other, *run[1:])),)


def _subordinate(t: _Text, subordinate: tuple, above: Clause) -> None:
    word, clause, first = subordinate
    text, role = SUBORDINATORS[word], word
    one, two = above.subject, clause.subject
    if word in ("before", "after"):
        # "I" or "you" of both clauses: "avant de partir", "après avoir lu"
        if (
            two is not None and two.pronoun and two.person != 3 and not clause.modal and not (clause.passive or above.passive)
            and (above.imperative and two.person == 2 if one is None else one.pronoun and one.person == two.person
                 and one.number == two.number)
        ):  # fmt: skip
            text, role = ("avant de", "infinitive") if word == "before" else ("après", "infinitive perfect")
    elif word == "because" and first:
        text = "comme"
    elif word in _OTHER_WORDS and t.random() > _USUAL:
        text = _OTHER_WORDS[word]
    t.words += text.split(" ")
    _clause(t, clause, role, above.tense, word in ("although", "before"))


def _question(words: list[str], question: str, passive: bool, preposition: str, inverted: bool) -> None:
    """Add the question word, and "est-ce que" where the verb does not come first."""
    if question == "what":
        if preposition and not passive:
            words += (preposition, "quoi", "est-ce", "que")
        else:
            words += ("qu'", "est-ce", "qui" if passive else "que")
    elif question == "who":
        words += ("par", "qui", "est-ce", "que") if passive else ("qui",)
    else:
        if question != "polar":
            words.append(_ASKING[question])
        if not inverted:
            words += ("est-ce", "que")


def _relative_pronoun(t: _Text, gap: str, verb: Verb, head: NP) -> None:
    words = t.words
    if gap == "subject":
        words.append("qui")
    elif verb.preposition == "":
        words.append("que")
    elif verb.preposition == "de":
        words.append("dont")
    elif _CLASSES.get(head.noun) == "person":
        words += ("à", "qui")
    else:
        which, feminine = _features(NP(head.noun, number=head.number))
        text = _LEQUEL[2 * (which > 2) + feminine]
        at = len(words)
        words += text.split(" ")
        t.marks.append(("agreement", at, len(words), tuple(w for w in _LEQUEL if w != text)))


def _order(t: _Text, spots: list[int], verb: int) -> None:
    for spot in spots:
        t.marks.append(("clitic position", spot, verb, None))


def _command(t: _Text, c: Clause, verb: Verb, clitics: list, medial: list, inner: list) -> None:
    """Add an imperative: "ouvre -la", "ne l' ouvre pas"."""
    words, spots = t.words, []
    form = imperative(verb.infinitive)
    if c.negated:
        words.append("ne")
        _add_clitics(t, clitics, spots)
        at = len(words)
        words += (form, "pas")
        _order(t, spots, at)
    else:
        at = len(words)
        # "vas -y", "manges -en"
        words.append(form + "s" if clitics and clitics[0][0] in ("y", "en") and form[-1] in "ea" else form)
        # after the verb the object comes before the person: "donne -le -moi"
        for word, mark in sorted(clitics, key=lambda item: (_RANK[item[0]] - 0.5) % 5 if _RANK[item[0]] else 2):
            place = len(words)
            hyphened = _AFTER_COMMAND.get(word, "-" + word)
            if len(clitics) > 1 and clitics[-1][0] in ("y", "en") and hyphened in ("-moi", "-toi"):
                hyphened = hyphened[:2] + "'"
            words.append(hyphened)
            if mark is not None:
                t.marks.append((mark[0], place, place + 1, tuple("-" + other for other in mark[1])))
            t.marks.append(("clitic position", at, place, None))
    if siblings(c.verb) and not c.verb.startswith("play"):
        others = _other_verbs(c.verb, False, "imperative", 1, words[at])
        if others:
            t.marks.append(("word sense", at, at + 1, others))
    for key, text in (*medial, *inner):
        _adverb(t, key, text)
    words += verb.fixed


# ------------------------------------------------------------------------------------------------------------ sentences
def _plural_you(c: Clause | None) -> bool:
    """Whether several people are spoken to."""
    while c is not None:
        for np in (c.subject, c.object, c.recipient):
            if np is not None and np.person == 2 and np.number == "pl":
                return True
        inner = c.complement or (c.subordinate and c.subordinate[1])
        if inner is not None and _plural_you(inner):
            return True
        c = c.coordinate[1] if c.coordinate else None
    return False


def realise(clause: Clause, register: str, rng: random.Random) -> Words:
    """Put a sentence plan into French.

    Parameters
    ----------
    clause : Clause
        What is said.
    register : str
        "news" (questions by inversion) or "subtitles" (by "est-ce que", and at times the future by "aller").
    rng : random.Random
        Dice for the choice between translations.

    Returns
    -------
    Words
        Words with the final punctuation, and the marks to score a translation by.
    """
    t = _Text(register, rng, _plural_you(clause))
    _clause(t, clause)
    words = t.words
    words.append("?" if clause.question else ".")
    for place in range(len(words) - 1):
        word = words[place]
        if word in _ELIDED:
            following = words[place + 1]
            if vowel(following):
                words[place] = _ELIDED[word]
        elif word == "si" and words[place + 1] in ("il", "ils"):
            words[place] = "s'"
        elif word is _THAT:
            words[place] = "ce"
    return Words(words, _checked(words, t.marks))


def _checked(words: list[str], raw: list[tuple]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Marks by word: those that the sentence itself would blur (a rival form that also occurs) are left out."""
    marks, present = [], set(words)
    text = f" {' '.join(words)} "
    for kind, first, last, others in raw:
        if others is None:
            one, two = words[first], words[last]
            if one != two and words.count(one) == 1 and words.count(two) == 1:
                marks.append((kind, one, (two,)))
            continue
        if last == first + 1:
            wanted = words[first]
            if wanted[-1] == "'":  # elided, the form no longer shows
                continue
        else:
            wanted = " ".join(words[first:last])
        kept = tuple([o for o in others if (o not in present if " " not in o else f" {o} " not in text)])
        if kept and (kind, wanted, kept) not in marks:
            marks.append((kind, wanted, kept))
    return marks


def missing() -> list[str]:
    """Keys of the lexicon that have no translation."""
    wanted = (
        (lexicon.nouns(), _NOUNS), (lexicon.verbs(), _VERBS), (lexicon.adjectives(), _ADJECTIVES),
        (lexicon.adverbs(), ADVERBS), (lexicon.PREPOSITIONS, PREPOSITIONS), (lexicon.SUBORDINATORS, SUBORDINATORS),
        (lexicon.COORDINATORS, COORDINATORS), (lexicon.DETERMINERS, DETERMINERS), (lexicon.MODALS, MODALS),
    )  # fmt: skip
    return [key for keys, table in wanted for key in keys if key not in table]
