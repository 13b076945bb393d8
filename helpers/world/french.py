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

_TOWNS = frozenset(key for key, word in lexicon.NAMES.items() if word.kind == "town")
_CLASSES = {key: noun.cls for key, noun in french.NOUNS.items()} | {
    key: "place" if key in _TOWNS else "person" for key in lexicon.NAMES
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
    """A sentence on its way: words, the dice, and the register."""

    __slots__ = ("news", "random", "words")

    def __init__(self, register: str, rng: random.Random):
        self.words: list[str] = []
        self.random, self.news = rng.random, register == "news"

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
    return french.ADJECTIVES[key]


def _features(np: NP) -> tuple[int, bool]:
    """Person and number as one of six, and whether feminine."""
    if np.coordinate is not None:
        person, feminine = _features(np.coordinate)
        return min(np.person - 1, person % 3) + 3, feminine and np.noun in french.FEMININE
    noun = french.NOUNS.get(np.noun)
    plural = np.number == "pl" or (noun is not None and noun.plural_only)
    return np.person - 1 + 3 * plural, np.person == 3 and np.noun in french.FEMININE


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
    noun = french.NOUNS.get(np.noun)
    if noun is not None and not np.pronoun:
        _common_noun(t, np, noun, lead, mode)
    else:
        words += (lead,) if lead else ()
        if np.pronoun:
            index, feminine = _features(np)
            words.append(_STRONG[feminine][index])
        else:
            words.append(french.spell(lexicon.NAMES[np.noun]))
            words += (french.spell(lexicon.NAMES[np.surname]),) if np.surname else ()
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
    degree = french.ADVERBS[np.degree][0] if np.degree else ""
    core, adjective_first = _core(form, feminine, plural, adjectives, degree)
    mode = "generic" if noun.cls == "game" else mode
    t.words += _article(np.determiner, feminine, plural, lead, french.vowel(core[0]), mode, adjective_first)
    t.words += core


def _place(t: _Text, pp: PP, verb: str) -> None:
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
        if determiner == "the" and np.noun in ("summer", "winter"):
            preposition, mode, np = "en", "none", NP(np.noun)
        else:
            preposition = ""
    elif key == "without" and determiner in ("a", "") and not np.adjectives and not np.relative:
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
        tense = "present" if subjunctive else "conditional"
    elif c.tense == "past":
        habit = any(lexicon.KINDS[a] == "frequency" for a in adverbs)
        state = c.verb in _GROUPS["state"] or role == "while" or (role == "when" and c.verb in _GROUPS["activity"])
        lasting = c.modal or c.progressive or (role != "after" and not onset and (habit or state))
        tense, compound = ("imperfect", False) if lasting else ("present", True)
        if role == "that" and main == "past" and compound:
            tense = "imperfect"
    elif c.tense == "perfect":
        compound = True
    elif c.tense == "future":
        tense = "future"
    else:
        compound = role == "after"
        if main == "future" and role in ("when", "while", "after"):
            tense = "future"
    if subjunctive:
        return "subjunctive", compound and role != "before"
    return tense, compound


def _clitics(c: Clause, verb: french.Verb, obj: NP | None, index: int) -> tuple[list[str], int, NP | None]:
    """Unstressed pronouns in order, the form of a participle that agrees with one (-1 if none), who is left for "de"."""
    clitics, agreeing, left = [_PRONOUNS["reflexive"][index]] if verb.reflexive else [], -1, None
    if obj is not None and obj.pronoun:
        which, feminine = _features(obj)
        cls = _CLASSES.get(obj.noun) if which % 3 == 2 else "person"
        if verb.preposition == "":
            clitics.append(_ACCUSATIVE[feminine][which])
            agreeing = _form(which, feminine)
        elif verb.preposition == "à":
            clitics.append(_PRONOUNS["dative"][which] if cls in ("person", "animal", "organisation") else "y")
        elif cls in ("person", "animal"):
            left = obj
        else:
            clitics.append("en")
    if c.recipient is not None and c.recipient.pronoun:
        clitics.append(_PRONOUNS["dative"][_features(c.recipient)[0]])
    return sorted(clitics, key=_RANK.get), agreeing, left


# -------------------------------------------------------------------------------------------------------------- clauses
class _Clause:
    """One clause on its way: its verb and tense, the features of its subject, its adverbs by place, its clitics.

    `role` is "main", "second" (after a coordinator), "that", "relative", or the conjunction before it, `main` the tense of the
    clause above, which may ask for the subjunctive, and `head` what a relative clause is about.
    """

    def __init__(
        self, t: _Text, c: Clause, role: str = "main", main: str = "", subjunctive: bool = False, head: NP | None = None
    ):
        self.t, self.c, self.role, self.head, self.subjunctive = t, c, role, head, subjunctive
        key = _verb_key(c, _key_of(c.object) or (_key_of(head) if c.gap == "object" else ""))
        # "apercevoir" is to see at a glance
        self.verb: french.Verb = t.pick(french.VERBS[key]) if key != "see" or not c.adverbs else french.VERBS[key][0]
        self.take_roles()
        self.index, self.feminine = self.features()
        self.form = _form(self.index, self.feminine)
        if role.startswith("infinitive"):
            self.tense, self.compound = "infinitive", role == "infinitive perfect"
        else:
            self.tense, self.compound = _tense(c, role, main, subjunctive)
        noun = isinstance(c.attribute, NP)
        self.trade = noun and _is_trade(c.attribute)
        # "c' est un bon médecin", not "il est"
        self.presents = noun and not (self.trade or self.compound) and self.subject.pronoun and self.subject.person == 3

    def write(self) -> None:
        self.open()
        self.ask()
        self.write_subject()
        c = self.c
        self.clitics, self.agreeing, left = _clitics(c, self.verb, self.obj, self.index)
        if c.gap == "object" and self.verb.preposition == "":
            self.agreeing = _form(*_features(_outside(self.head)))
        self.write_verb()
        self.write_object()
        if left is not None:
            _noun_phrase(self.t, left, "de")
        self.write_rest()
        self.join()

    def take_roles(self) -> None:
        """The passive's object is subject; what French has no passive for is active: somebody does it."""
        c = self.c
        self.passive = c.passive and not self.verb.preposition
        self.subject, self.obj, self.agent = c.subject, c.object, None
        if self.passive:
            self.subject, self.obj, self.agent = c.object, None, c.subject
        elif c.passive and c.subject is None:
            self.subject = _ONE

    def features(self) -> tuple[int, bool]:
        """Of what the verb agrees with: person and number as one of six, and whether feminine."""
        if self.c.imperative:
            return 1, False
        if self.c.gap == "subject":
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
        self.sort_adverbs()
        for key, text in self.start:
            words += ("peut-être", "que") if key == "perhaps" else text.split(" ")
            if key in _GROUPS["with comma"]:
                words.append(",")
        self.places = c.places
        if free and self.role == "main" and not (self.start or c.complement or before):
            self.time_first()

    def sort_adverbs(self) -> None:
        """Adverbs by place: at the start, after the finite verb, by the verb, late, last."""
        self.start, self.medial, self.inner, self.late, self.final = [], [], [], [], []
        for item in self.c.adverbs:
            key, position = item.adverb, item.position
            kind, text = lexicon.KINDS[key], self.t.pick(french.ADVERBS[key])
            if kind == "place":
                self.late.append((key, text))
            elif position == "initial":
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
            if pp.preposition in _WHEN and pp.np.relative is None and self.t.random() < 0.15:
                _place(self.t, pp, self.c.verb)
                self.t.words.append(",")
                self.places = tuple([other for other in self.places if other is not pp])
                return

    def ask(self) -> None:
        """The question word or the relative pronoun; whether the subject follows the verb."""
        question, self.inverted = self.c.question, ""
        if question:
            free = self.index not in (0, 3) and not self.presents
            if question in ("polar", "where", "when", "why") and self.t.news and free:
                self.inverted = _SUBJECTS[self.feminine][self.index]
            self.t.words += self.question_words()
        elif self.role == "relative":
            self.t.words += self.relative_pronoun()

    def question_words(self) -> tuple[str, ...]:
        """The question word, and "est-ce que" where the verb does not come first."""
        question, preposition = self.c.question, self.verb.preposition
        if question == "what":
            return (preposition, "quoi", "est-ce", "que") if preposition else ("qu'", "est-ce", "que")
        if question == "who":
            return ("qui",)
        word = () if question == "polar" else (_ASKING[question],)
        return word if self.inverted else (*word, "est-ce", "que")

    def relative_pronoun(self) -> tuple[str, ...]:
        if self.c.gap == "subject":
            return ("qui",)
        if self.verb.preposition != "à":
            return ("dont" if self.verb.preposition else "que",)
        if _CLASSES.get(self.head.noun) == "person":
            return "à", "qui"
        return tuple(_PRONOUNS["relative"][_form(*_features(_outside(self.head)))].split(" "))

    def write_subject(self) -> None:
        c, subject = self.c, self.subject
        if subject is None or self.presents or self.tense == "infinitive":
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
            words.append(form)
            # after the verb the object comes before the person: "donne -le -moi"
            for word in sorted(clitics, key=lambda word: (_RANK[word] - 0.5) % 5 if _RANK[word] else 2):
                words.append({"me": "-moi", "te": "-toi"}.get(word, "-" + word))
        self.adverbs((*self.medial, *self.inner))

    def participle(self) -> str:
        """The participle of a compound tense: after "être" as the subject, else as an object before it."""
        return french.FORMS[self.verb.infinitive]["participle"][
            self.form if self.passive or self.with_be else max(self.agreeing, 0)
        ]

    def write_infinitive(self) -> None:
        """ "sans le voir", "après l' avoir vu"."""
        words = self.t.words
        words += self.clitics
        words.append(self.base if not self.compound else "être" if self.with_be else "avoir")
        self.adverbs((*self.medial, *self.inner))
        if self.compound:
            words.append(self.participle())

    def paraphrase(self) -> tuple[str, str, tuple[str, ...] | None]:
        """What is finite (the verb, its modal, at times "aller" or "être en train de"), its tense, what leads an infinitive."""
        t, c, modal = self.t, self.c, french.MODALS[self.c.modal] if self.c.modal else ""
        plain = self.role == "main" and not modal and not self.presents
        if plain and self.tense == "future" and not t.news:
            if t.random() < 0.3:
                return "aller", "present", ()
        elif (
            c.progressive
            and self.role == "main"
            and not (c.negated or c.question or self.inner or self.medial)
            and t.random() < 0.12
        ):
            return "être", self.tense, ("en", "train", "de")
        return modal or self.base, self.tense, () if modal else None

    def write_finite(self) -> None:
        c, words = self.c, self.t.words
        verb, tense, lead = self.paraphrase()
        auxiliary = "" if not self.compound else "être" if self.with_be else "avoir"
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
        if lead is not None:
            self.write_dependent(verb, lead)
            return
        if self.compound and self.passive:
            words.append("été")
        self.adverbs(self.inner)
        if self.compound or self.passive:
            words.append(self.participle())

    def write_medial(self) -> None:
        """Adverbs after the finite verb, before or after "pas"."""
        early = [item for item in self.medial if not self.c.negated or item[0] in _GROUPS["before pas"]]
        self.adverbs(early)
        self.t.words += ("pas",) if self.c.negated else ()
        self.adverbs(item for item in self.medial if item not in early)

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
    def write_object(self) -> None:
        """Add the object, behind short adverbs or before them."""
        t, c, obj = self.t, self.c, self.obj
        if obj is None or obj.pronoun:
            return
        if obj.followed or obj.adjectives:  # an adverb does not wait for a long object
            early = [item for item in self.late if obj.followed or lexicon.KINDS[item[0]] == "manner"]
            self.adverbs(early)
            self.late = [item for item in self.late if item not in early]
        mode = ""
        if obj.determiner in ("", "a"):
            if c.verb in _GROUPS["of all"]:
                mode = "generic"
            elif c.negated and not self.verb.preposition and obj.coordinate is None:
                mode = "not"
        _noun_phrase(t, obj, self.verb.preposition, mode)

    def write_rest(self) -> None:
        """Predicate, recipient, agent, late adverbs, places, last adverbs."""
        t, c, attribute = self.t, self.c, self.c.attribute
        if isinstance(attribute, str):
            if c.degree:
                t.words.append(french.ADVERBS[c.degree][0])
            t.words += t.pick(_adjective(attribute, _key_of(self.subject), False, c.degree != "")).forms[self.form].split(" ")
        elif attribute is not None:
            _noun_phrase(t, attribute, "", "none" if self.trade else "")
        if c.recipient is not None and not c.recipient.pronoun:
            _noun_phrase(t, c.recipient, "à")
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
            doubt = c.verb in ("think", "believe", "hope") and c.negated
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
    return np.determiner == "a" and not (np.adjectives or np.place) and np.noun not in _GROUPS["no trade"]


def _subordinate(t: _Text, subordinate: tuple, above: Clause) -> None:
    word, clause, first = subordinate
    text, role = french.SUBORDINATORS[word], word
    one, two = above.subject, clause.subject
    if word in ("before", "after"):
        # "I" or "you" of both clauses: "avant de partir", "après avoir lu"
        same = one is not None and two is not None and (one.person, one.number) == (two.person, two.number)
        if same and two.person != 3 and not above.passive:
            text, role = ("avant de", "infinitive") if word == "before" else ("après", "infinitive perfect")
    elif word == "because" and first:
        text = "comme"
    elif word in _OTHER_WORDS and t.random() > _USUAL:
        text = _OTHER_WORDS[word]
    t.words += text.split(" ")
    _Clause(t, clause, role, above.tense, word in ("although", "before")).write()


# ------------------------------------------------------------------------------------------------------------ sentences
def realise(clause: Clause, register: str, rng: random.Random) -> list[str]:
    """Put a plan into French.

    News asks by inversion; subtitles by "est-ce que", and they say the future at times by "aller".
    """
    t = _Text(register, rng)
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
