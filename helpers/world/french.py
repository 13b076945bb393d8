"""French out of plans: agreement, clitics, the past by aspect, the mood by conjunction; elided words stand apart.

Elided words keep their apostrophe ("l' homme", "qu' il"); a pronoun after an imperative keeps its hyphen ("ouvre -la");
the second person is "tu". Elision comes last.
"""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import pairwise

from helpers.world import french_words as french
from helpers.world import lexicon
from helpers.world.meanings import NP, PP, Clause
from helpers.world.word_tables import groups, single

_NOUNS, _ADJECTIVES, _VERBS = french.noun_table(), french.adjective_table(), french.verb_table()
_KINDS = {key: entry.kind for key, entry in lexicon.adverbs().items()}
_TOWNS = frozenset(key for key, word in lexicon.names().items() if word.kind == "town")
_CLASSES = {key: noun.cls for key, noun in _NOUNS.items()} | {
    key: "place" if key in _TOWNS else "person" for key in lexicon.names()
}
_USUAL = 0.66  # chance of the usual translation where there are two
_ELIDED, _ASKING = single(french.GRAMMAR["elided"]), single(french.GRAMMAR["question"])
_OTHER_WORDS = single(french.GRAMMAR["other word"])  # other conjunctions and prepositions, where nothing else decides
_GROUPS = groups(french.GRAMMAR["group"])
_PRONOUNS = french.GRAMMAR["pronoun"]
_SUBJECTS, _STRONG, _ACCUSATIVE = (
    (_PRONOUNS[f"{role} m"], _PRONOUNS[f"{role} f"]) for role in ("subject", "strong", "accusative")
)
_RANK = {"me": 0, "te": 0, "se": 0, "nous": 0, "vous": 0, "le": 1, "la": 1, "les": 1, "lui": 2, "leur": 2, "y": 3, "en": 4}
_CONTRACTED = {key.strip("-"): [text.split(" ") for text in row] for key, row in french.GRAMMAR["article"].items()}
# adjectives before the noun, in order; "et" joins those that French does not like to stack
_RANKS = {"beau": 0, "nouveau": 1, "bon": 2, "mauvais": 2, "jeune": 4, "vieux": 4}
_UNSTACKED = frozenset(("long", "bref"))
_WHEN = frozenset(("during", "after", "before", "in_time"))
_THAT = "ce (pronoun)"  # "ce" before a vowel is "cet" as determiner, never as pronoun
_ONE = NP(pronoun=True, noun="on")


class _Text:
    """A sentence on its way: words, the dice, and what holds for the whole of it."""

    __slots__ = ("news", "polite", "random", "words")

    def __init__(self, register: str, rng: random.Random, polite: bool):
        self.words: list[str] = []
        self.random, self.news, self.polite = rng.random, register == "news", polite

    def pick(self, options: tuple):
        """The usual translation, or at times the other."""
        return options[0] if len(options) == 1 or self.random() < _USUAL else options[1]


# --------------------------------------------------------------------------------------------------------- noun phrases
@lru_cache(maxsize=4096)
def _article(
    determiner: str, feminine: bool, plural: bool, preposition: str, before_vowel: bool, mode: str, adjective_first: bool
) -> tuple[str, ...]:
    """Preposition ("", "à", "de") and determiner.

    `mode`: "generic" (all of a kind: "les chiens"), "none" (no article: "sans clé"), "not" (negated object: "pas de").
    """
    lead = (preposition,) if preposition else ()
    indefinite = determiner in ("", "a")
    if determiner == "the" or (indefinite and mode == "generic" and (plural or determiner == "")):
        return (*lead, "l'") if before_vowel and not plural else _CONTRACTED[preposition][2 if plural else feminine]
    if determiner == "many":
        return (*lead, "beaucoup", "de")
    if not indefinite:
        return (*lead, french.DETERMINERS[determiner][2 if plural else feminine])
    if mode == "none":
        return lead
    if mode == "not" or (preposition == "de" and (plural or determiner == "")):
        return ("de",)
    if plural:
        return (*lead, "de" if adjective_first else "des")
    if determiner == "":
        return (*lead, "de", "l'") if before_vowel else (*lead, *_CONTRACTED["de"][feminine])
    return (*lead, "une" if feminine else "un")


@lru_cache(maxsize=1 << 15)
def _core(
    noun: str, feminine: bool, plural: bool, adjectives: tuple[french.Adjective, ...], degree: str
) -> tuple[tuple[str, ...], bool]:
    """Adjectives and noun, and whether an adjective comes first."""
    form = 2 * plural + feminine
    front, back = [], []
    for place, adjective in enumerate(adjectives):
        degrees = degree.split(" ") if degree and place == 0 else []
        # only "très" is light enough to stand with its adjective before the noun
        first = adjective.before and degrees in ([], ["très"])
        (front if first else back).append((adjective, degrees))
    link = []
    if len(front) == 2:
        front.sort(key=lambda item: _RANKS.get(item[0].forms[0], 3))
        one, two = (item[0].forms[0] for item in front)
        if one != "nouveau" and (one in _UNSTACKED or two in _UNSTACKED or (one, two) == ("mauvais", "vieux")):
            link = ["et"]
    words = noun.split(" ")
    for place, (adjective, degrees) in enumerate(reversed(front)):
        between = link if place else []
        short = form == 0 and adjective.before_vowel and not between and french.vowel(words[0])
        words = [*degrees, adjective.before_vowel if short else adjective.forms[form], *between, *words]
    for place, (adjective, degrees) in enumerate(back):
        words += [*(["et"] if place else []), *degrees, *adjective.forms[form].split(" ")]
    return tuple(words), bool(front)


@lru_cache(maxsize=1 << 14)
def _adjective(key: str, noun: str, attributive: bool, degree: bool) -> tuple[french.Adjective, ...]:
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
        return min(np.person - 1, person % 3) + 3, feminine and french.gender(np.noun) == "f"
    noun = _NOUNS.get(np.noun)
    plural = np.number == "pl" or (noun is not None and noun.plural_only)
    return np.person - 1 + 3 * plural, np.person == 3 and french.gender(np.noun) == "f"


def _outside(head: NP) -> NP:
    """What a relative pronoun agrees with: the noun alone."""
    return NP(head.noun, number=head.number)


def _form(index: int, feminine: bool) -> int:
    """Which of the four forms of an adjective or participle agrees."""
    return 2 * (index > 2) + feminine


def _noun_phrase(t: _Text, np: NP, preposition: str = "", mode: str = "") -> None:
    """Add a noun phrase and what belongs to it; a pronoun in its stressed form."""
    words, lead = t.words, ""
    if preposition:  # its last word may be contracted with the article
        *first, last = preposition.split(" ")
        words += first
        if last in ("de", "à"):
            lead = last
        else:
            words.append(last)
    noun = _NOUNS.get(np.noun)
    if noun is not None and not np.pronoun:
        _common_noun(t, np, noun, lead, mode)
    else:
        words += (lead,) if lead else ()
        if np.pronoun:
            index, feminine = _features(np)
            words.append(_STRONG[feminine][index])
        else:
            words.append(french.name(np.noun))
            words += (french.surname(np.surname),) if np.surname else ()
    if np.genitive is not None:
        _noun_phrase(t, np.genitive, "de")
    if np.place is not None:
        _place(t, np.place, "")
    if np.relative is not None:
        _Clause(t, np.relative, "relative", head=np).write()
    if np.coordinate is not None:
        words.append("et")
        _noun_phrase(t, np.coordinate, lead, mode)


def _common_noun(t: _Text, np: NP, noun: french.Noun, lead: str, mode: str) -> None:
    plural, feminine = np.number == "pl" or noun.plural_only, noun.gender == "f"
    form = t.pick(noun.variants)[plural]
    adjectives = tuple(
        [t.pick(_adjective(key, np.noun, True, place == 0 and np.degree != "")) for place, key in enumerate(np.adjectives)]
    )
    degree = french.ADVERBS[np.degree][0] if np.degree and adjectives else ""
    core, adjective_first = _core(form, feminine, plural, adjectives, degree)
    determiner = "yours" if np.determiner == "your" and t.polite and noun.cls != "game" else np.determiner
    mode = "generic" if noun.cls == "game" else mode
    t.words += _article(determiner, feminine, plural, lead, french.vowel(core[0]), mode, adjective_first)
    t.words += core


def _place(t: _Text, pp: PP, verb: str) -> None:
    """Add a prepositional phrase."""
    key, np = pp.preposition, pp.np
    preposition, mode, determiner = french.PREPOSITIONS[key], "", np.determiner
    definite = determiner not in ("a", "", "two", "three", "many", "every")
    if np.pronoun:
        pass
    elif key in _OTHER_WORDS:
        if t.random() > _USUAL and np.noun not in _TOWNS:
            preposition = _OTHER_WORDS[key]
    elif key == "to":
        preposition = _toward(np, verb, definite)
    elif key in ("in", "at") and np.noun in _TOWNS:
        preposition = "jusqu' à" if verb in _GROUPS["to a place"] else "à"
    elif key == "at":
        preposition = "sur" if np.noun == "bridge" else "à" if definite else "dans"
    elif key == "from":
        preposition = "depuis" if verb in _GROUPS["to a place"] else "de"
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
    if verb in _GROUPS["to a place"]:
        return "jusqu' à"
    if np.noun == "island":
        return "sur"
    inside = not definite or np.noun == "city" or (np.noun == "house" and np.determiner != "the")
    return "dans" if inside and np.noun not in _TOWNS else "à"


# ---------------------------------------------------------------------------------------------------------------- verbs
def _key_of(np: NP | None) -> str:
    """The noun of a noun phrase; people who speak count as "man"."""
    if np is None:
        return ""
    return np.noun if np.person == 3 else "man"


def _verb_key(c: Clause, object_key: str) -> str:
    """The key of the verb table: some verbs depend on the object or the construction."""
    key = c.verb
    if key in french.GRAMMAR["verb by object"]:
        *objects, other = french.GRAMMAR["verb by object"][key]
        return other if object_key in objects or _CLASSES.get(object_key) in objects else key
    if key == "discuss":
        return "discuss:passive" if c.passive else key
    if key == "live" and any(pp.preposition in ("in", "near") for pp in c.places):
        return "live:place"
    return key


def _tense(c: Clause, role: str, main: str, subjunctive: bool) -> tuple[str, bool]:
    """Tense of the finite verb, and whether compound."""
    adverbs = [a.adverb for a in c.adverbs]
    onset = any(a in _GROUPS["onset"] for a in adverbs)
    tense, compound = "present", False
    if c.modal == "should":
        tense = "present" if subjunctive or role == "if" else "conditional"
    elif c.tense == "past":
        if c.modal or c.progressive:
            lasting = not c.modal or not onset
        elif role == "after" or onset:
            lasting = False
        else:
            habit = any(_KINDS[a] == "frequency" for a in adverbs)
            lasting = (
                habit or c.verb in _GROUPS["state"] or role == "while" or (role == "when" and c.verb in _GROUPS["activity"])
            )
        tense, compound = ("imperfect", False) if lasting else ("present", True)
        if role == "that" and main == "past" and compound:
            tense = "imperfect"
    elif c.tense == "perfect":
        compound = True
    elif c.tense == "future":
        tense = "present" if role == "if" else "future"
    else:
        compound = role == "after" and not c.modal
        if main == "future" and role in ("when", "while", "after"):
            tense = "future"
    if subjunctive:
        return "subjunctive", compound and (role != "before" or c.tense == "perfect")
    return tense, compound


def _clitics(c: Clause, verb: french.Verb, obj: NP | None, index: int) -> tuple[list[str], int, list[tuple[str, NP]]]:
    """Unstressed pronouns in order, the form of a participle that agrees with one (-1 if none), stressed phrases left."""
    clitics, agreeing, left = [_PRONOUNS["reflexive"][index]] if verb.reflexive else [], -1, []
    if obj is not None and obj.pronoun:
        which, feminine = _features(obj)
        cls = _CLASSES.get(obj.noun) if which % 3 == 2 else "person"
        if verb.preposition == "":
            clitics.append(_ACCUSATIVE[feminine][which])
            agreeing = _form(which, feminine)
        elif verb.preposition == "à":
            clitics.append(_PRONOUNS["dative"][which] if cls in ("person", "animal", "organisation") else "y")
        elif cls in ("person", "animal"):
            left.append(("de", obj))
        else:
            clitics.append("en")
    to = c.recipient
    if to is not None and to.pronoun:
        if clitics and _RANK[clitics[0]] in (0, 2):
            left.append(("à", to))
        else:
            clitics.append(_PRONOUNS["dative"][_features(to)[0]])
    return sorted(clitics, key=_RANK.get), agreeing, left


# -------------------------------------------------------------------------------------------------------------- clauses
class _Clause:
    """One clause on its way: its verb and tense, the features of its subject, its adverbs by place, its clitics.

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

    def __init__(
        self, t: _Text, c: Clause, role: str = "main", main: str = "", subjunctive: bool = False, head: NP | None = None
    ):
        self.t, self.c, self.role, self.head, self.subjunctive = t, c, role, head, subjunctive
        key = _verb_key(c, _key_of(c.object) or (_key_of(head) if c.gap == "object" else ""))
        # "apercevoir" is to see at a glance
        self.verb: french.Verb = t.pick(_VERBS[key]) if key != "see" or not c.adverbs else _VERBS[key][0]
        self.take_roles()
        self.index, self.feminine = self.features()
        self.form = _form(self.index, self.feminine)
        if role.startswith("infinitive"):
            self.tense, self.compound = "infinitive", role != "infinitive" or c.tense == "perfect"
        else:
            self.tense, self.compound = _tense(c, role, main, subjunctive)
        noun = isinstance(c.attribute, NP)
        self.trade = noun and _is_trade(c.attribute)
        # "c' est un bon médecin", not "il est"
        plain = noun and not (self.trade or c.modal or self.compound or self.tense == "infinitive")
        self.presents = plain and self.subject is not None and self.subject.pronoun and self.subject.person == 3

    def write(self) -> None:
        """Add the words of the clause."""
        self.open()
        self.ask()
        self.write_subject()
        self.clitics, self.agreeing, left = _clitics(self.c, self.verb, None if self.passive else self.obj, self.index)
        if self.gap == "object" and not self.passive and self.verb.preposition == "" and self.head is not None:
            self.agreeing = _form(*_features(_outside(self.head)))
        self.write_verb()
        recipient = self.write_object()
        for preposition, np in left:
            _noun_phrase(self.t, np, preposition)
        self.write_rest(recipient)
        self.join()

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
            return _features(_outside(self.head))
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
        self.sort_adverbs(free)
        for key, text in self.start:
            words += ("peut-être", "que") if key == "perhaps" else text.split(" ")
            if key in _GROUPS["with comma"]:
                words.append(",")
        self.places = c.places
        if free and self.role == "main" and not (self.start or c.complement or before):
            self.time_first()

    def sort_adverbs(self, free: bool) -> None:
        """Adverbs by place: at the start (of a `free` clause), after the finite verb, by the verb, late, last."""
        self.start, self.medial, self.inner, self.late, self.final = [], [], [], [], []
        for item in self.c.adverbs:
            key, position = item.adverb, item.position
            kind, text = _KINDS[key], self.t.pick(french.ADVERBS[key])
            if key == "well" and self.c.verb == "hear":
                text = "clairement"  # "bien entendu" is "of course"
            if kind == "place":
                self.late.append((key, text))
            elif position == "initial" and free:
                self.start.append((key, text))
            elif kind == "manner":
                if text in _GROUPS["close"] or ((position == "medial" or self.passive) and text not in _GROUPS["late"]):
                    self.inner.append((key, text))
                else:
                    self.late.insert(0, (key, text))
            elif position == "final" and key != "soon":
                self.final.append((key, text))
            else:
                self.medial.append((key, text))

    def time_first(self) -> None:
        """At times say when before anything else."""
        for pp in self.places:
            if pp.preposition in _WHEN and pp.np.relative is None and not pp.np.pronoun and self.t.random() < 0.15:
                _place(self.t, pp, self.c.verb)
                self.t.words.append(",")
                self.places = tuple([other for other in self.places if other is not pp])
                return

    def ask(self) -> None:
        """The question word or the relative pronoun; whether the subject follows the verb."""
        question, self.inverted = self.c.question, ""
        if question:
            free = self.index not in (0, 3) and not self.presents and self.subject is not _ONE
            if question in ("polar", "where", "when", "why") and self.t.news and free:
                self.inverted = _SUBJECTS[self.feminine][self.index]
            self.t.words += self.question_words()
        elif self.role == "relative":
            self.t.words += self.relative_pronoun()

    def question_words(self) -> tuple[str, ...]:
        """The question word, and "est-ce que" where the verb does not come first."""
        question, preposition = self.c.question, self.verb.preposition
        if question == "what":
            if preposition and not self.passive:
                return preposition, "quoi", "est-ce", "que"
            return "qu'", "est-ce", "qui" if self.passive else "que"
        if question == "who":
            return ("par", "qui", "est-ce", "que") if self.passive else ("qui",)
        word = () if question == "polar" else (_ASKING[question],)
        return word if self.inverted else (*word, "est-ce", "que")

    def relative_pronoun(self) -> tuple[str, ...]:
        if self.gap == "subject":
            return ("qui",)
        if self.verb.preposition != "à":
            return ("dont" if self.verb.preposition else "que",)
        if _CLASSES.get(self.head.noun) == "person":
            return "à", "qui"
        return tuple(_PRONOUNS["relative"][_form(*_features(_outside(self.head)))].split(" "))

    def write_subject(self) -> None:
        c, subject = self.c, self.subject
        asked = c.question == "who" and not self.passive
        if subject is None or c.imperative or asked or self.presents or self.tense == "infinitive":
            return
        if subject is _ONE:
            self.t.words.append("on")
        elif not subject.pronoun:
            general = c.verb == "be" or (c.tense == "present" and not c.progressive and not self.passive)
            _noun_phrase(self.t, subject, "", "generic" if general and subject.determiner in ("", "a") else "")
        elif not self.inverted:
            self.t.words.append(_SUBJECTS[self.feminine][self.index])

    # -- the verb
    def write_verb(self) -> None:
        """Add the verb with its negation, clitics, auxiliaries and the adverbs among them."""
        verb = self.verb
        self.base = "être" if self.passive else verb.infinitive
        self.with_be = not self.passive and (verb.reflexive or verb.infinitive in french.WITH_BE)
        if self.c.imperative:
            self.write_command()
        elif self.tense == "infinitive":
            self.write_infinitive()
        else:
            self.write_finite()
        self.t.words += verb.fixed

    def adverbs(self, adverbs) -> None:
        for _, text in adverbs:
            self.t.words += text.split(" ")

    def write_command(self) -> None:
        """An imperative: "ouvre -la", "ne l' ouvre pas"."""
        words, clitics, form = self.t.words, self.clitics, french.FORMS[self.verb.infinitive]["imperative"][0]
        if self.c.negated:
            words += ("ne", *clitics, form, "pas")
        else:
            # "vas -y", "manges -en"
            words.append(form + "s" if clitics and clitics[0] in ("y", "en") and form[-1] in "ea" else form)
            elided = len(clitics) > 1 and clitics[-1] in ("y", "en")
            # after the verb the object comes before the person: "donne -le -moi"
            for word in sorted(clitics, key=lambda word: (_RANK[word] - 0.5) % 5 if _RANK[word] else 2):
                strong = {"me": "-m'" if elided else "-moi", "te": "-t'" if elided else "-toi"}
                words.append(strong.get(word, "-" + word))
        self.adverbs((*self.medial, *self.inner))

    def participle(self) -> str:
        """The participle of a compound tense: after "être" as the subject, else as an object before it."""
        return french.FORMS[self.verb.infinitive]["participle"][
            self.form if self.passive or self.with_be else max(self.agreeing, 0)
        ]

    def write_infinitive(self) -> None:
        """ "sans le voir", "après l' avoir vu"."""
        words = self.t.words
        words += ("ne", "pas") if self.c.negated else ()
        words += self.clitics
        words.append(self.base if not self.compound else "être" if self.with_be else "avoir")
        self.adverbs((*self.medial, *self.inner))
        if self.compound:
            words.append(self.participle())

    def paraphrase(self) -> tuple[str, str, tuple[str, ...] | None]:
        """What is finite (the verb, its modal, at times "aller" or "être en train de"), its tense, what leads an infinitive."""
        t, c, modal = self.t, self.c, french.MODALS[self.c.modal] if self.c.modal else ""
        plain = self.role == "main" and not modal and not self.presents
        if plain and self.tense == "future" and not self.compound and not t.news:
            if t.random() < 0.3:
                return "aller", "present", ()
        elif (
            c.progressive and self.role == "main" and not (self.subjunctive or c.negated or c.question or self.inverted)
            and not self.inner and not self.medial and t.random() < 0.12
        ):  # fmt: skip
            return "être", self.tense, ("en", "train", "de")
        return modal or self.base, self.tense, () if modal else None

    def write_finite(self) -> None:
        c, words = self.c, self.t.words
        verb, tense, lead = self.paraphrase()
        auxiliary = "" if not self.compound else "être" if self.with_be and not c.modal else "avoir"
        finite = french.FORMS[auxiliary or verb][tense][self.index]
        if self.presents:
            words.append(_THAT if c.negated or finite[0] not in "eé" else "c'")
        if c.negated:
            words.append("ne")
        words += self.clitics if lead is None else ()
        words.append(finite)
        if self.inverted:
            words.append(("-t-" if finite[-1] in "ae" else "-") + self.inverted)
        self.write_medial()
        if self.compound and c.modal:
            words.append(french.FORMS[verb]["participle"][0])
        if lead is not None:
            self.write_dependent(verb, lead)
            return
        if self.compound and self.passive:
            words.append("été")
        self.adverbs(self.inner)
        if self.compound or self.passive:
            words.append(self.participle())

    def write_medial(self) -> None:
        """Adverbs after the finite verb, before or after "pas"; "already" denied is "pas encore"."""
        if not self.c.negated:
            self.adverbs(self.medial)
            return
        self.adverbs(item for item in self.medial if item[0] in _GROUPS["before pas"])
        self.t.words.append("pas")
        self.adverbs(
            (key, "encore" if key == "already" else text) for key, text in self.medial if key not in _GROUPS["before pas"]
        )

    def write_dependent(self, finite_verb: str, lead: tuple[str, ...]) -> None:
        """The infinitive after a modal."""
        words = self.t.words
        words += lead
        close = ("bien", "mal", "volontiers") if not self.c.modal or finite_verb == "devoir" else ()
        early = [item for item in self.inner if item[1] in close]
        self.adverbs(early)
        words += self.clitics
        words.append(self.base)
        self.adverbs(item for item in self.inner if item not in early)
        if self.passive:
            words.append(self.participle())

    # -- behind the verb
    def write_object(self) -> NP | None:
        """Add the object, behind short adverbs or before them; return the recipient if it is still to come."""
        t, c, obj = self.t, self.c, self.obj
        recipient = c.recipient if c.recipient is not None and not c.recipient.pronoun else None
        if obj is None or obj.pronoun:
            return recipient
        heavy = (obj.relative or obj.place or obj.genitive or obj.coordinate) is not None
        if heavy or obj.adjectives:  # an adverb does not wait for a long object
            early = [item for item in self.late if heavy or _KINDS[item[0]] == "manner"]
            self.adverbs(early)
            self.late = [item for item in self.late if item not in early]
            if recipient is not None and obj.relative is not None:
                _noun_phrase(t, recipient, "à")
                recipient = None
        mode = ""
        if obj.determiner in ("", "a"):
            if c.verb in _GROUPS["of all"]:
                mode = "generic"
            elif c.negated and not self.verb.preposition and obj.coordinate is None:
                mode = "not"
        _noun_phrase(t, obj, self.verb.preposition, mode)
        return recipient

    def write_rest(self, recipient: NP | None) -> None:
        """Predicate, recipient, agent, late adverbs, places, last adverbs."""
        t, c, attribute = self.t, self.c, self.c.attribute
        if isinstance(attribute, str):
            if c.degree:
                t.words.append(french.ADVERBS[c.degree][0])
            noun = _key_of(self.head if self.gap == "subject" else self.subject)
            t.words += t.pick(_adjective(attribute, noun, False, c.degree != "")).forms[self.form].split(" ")
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
            _Clause(t, c.complement, "that", c.tense, doubt).write()
        if c.subordinate is not None and not c.subordinate[2]:
            if c.subordinate[0] == "although":
                words.append(",")
            _subordinate(t, c.subordinate, c)
        if c.coordinate is not None:
            word, second = c.coordinate
            if word == "but" or t.news:
                words.append(",")
            words.append(french.COORDINATORS[word])
            _Clause(t, second, "second").write()


def _is_trade(np: NP) -> bool:
    """Whether a predicate goes without article: "il est médecin", but "c' est une femme", "c' est un bon médecin"."""
    bare = np.determiner in ("a", "") and not (np.adjectives or np.genitive or np.place or np.relative)
    return bare and np.noun in _NOUNS and _CLASSES[np.noun] == "person" and np.noun not in _GROUPS["no trade"]


def _subordinate(t: _Text, subordinate: tuple, above: Clause) -> None:
    word, clause, first = subordinate
    text, role = french.SUBORDINATORS[word], word
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
    _Clause(t, clause, role, above.tense, word in ("although", "before")).write()


# ------------------------------------------------------------------------------------------------------------ sentences
def _plural_you(c: Clause | None) -> bool:
    """Whether several people are spoken to."""
    while c is not None:
        if any(np is not None and np.person == 2 and np.number == "pl" for np in (c.subject, c.object, c.recipient)):
            return True
        if _plural_you(c.complement or (c.subordinate and c.subordinate[1])):
            return True
        c = c.coordinate[1] if c.coordinate else None
    return False


def realise(clause: Clause, register: str, rng: random.Random) -> list[str]:
    """Put a plan into French, see `helpers.world.translate`.

    News asks by inversion; subtitles by "est-ce que", and they say the future at times by "aller".
    """
    t = _Text(register, rng, _plural_you(clause))
    _Clause(t, clause).write()
    words = t.words
    words.append("?" if clause.question else ".")
    for place, (word, following) in enumerate(pairwise(words)):
        if word in _ELIDED and french.vowel(following):
            words[place] = _ELIDED[word]
        elif word == "si" and following in ("il", "ils"):
            words[place] = "s'"
        elif word is _THAT:
            words[place] = "ce"
    return words
