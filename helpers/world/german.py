"""German realisation of sentence plans: four cases, three genders, verb second and verb final, separable verbs.

`_Run.np` and `_Run.pp` make phrases; `_Clause` puts them into the topological fields of a clause: the first field, the finite
verb (in main clauses), the middle field, whose order `MIDDLE` and its kin tell, and the verbs of the right bracket, behind
which heavy relative clauses go.
"""

from __future__ import annotations

import random

from helpers.world import german_words as german
from helpers.world import lexicon
from helpers.world.meanings import NP, PP, Adverb, Clause, closed
from helpers.world.word_tables import groups, single

SECOND = 0.32  # chance of a word's rarer translation
FRONTED = 0.2  # chance that a time or sentence adverbial opens the clause, where English has it elsewhere
OBJECT_FIRST = 0.2  # chance that a definite object stands before the early adverbials
Part = tuple[list[str], list[str] | None]  # words of a phrase and the relative clause that ends it
Gap = tuple[int, bool, str]  # gender, plural and key of the noun that a relative clause is about
INDEFINITE = frozenset(("a", "", "two", "three", "many", "every"))
MAN = NP("man", pronoun=True)  # "man", the subject where German has no passive

GROUPS, QUESTIONS = groups(german.GRAMMAR["group"]), single(german.GRAMMAR["question"])
EARLY = dict.fromkeys(("yesterday", "today", "now", "tomorrow", "recently"), 0)  # order among early adverbials
EARLY |= {"immediately": 4, "soon": 4} | {key: 1 for key, kind in lexicon.KINDS.items() if kind == "sentence"}

# the middle field from left to right: its start, its core (by what is in the clause), its end
MIDDLE = (
    "object pronoun", "dative pronoun", "object first", "early", "dative", "agent", "definite object", "indefinite dative",
)  # fmt: skip
CORE = {
    "manner": ("here", "negation", "manner", "place"),
    "transitive": ("here", "place", "negation"),
    "intransitive": ("negation", "here", "place"),
}
END = ("indefinite object", "skill", "prepositional object", "goal", "bare object", "predicate")


def _closed(part: Part) -> list[str]:
    """Words of a phrase with its relative clause between commas."""
    words, relative = part
    return words if relative is None else [*words, ",", *relative, ","]


def _with(first: str, preposition: str) -> str:
    """ "worauf", "davon"."""
    return first + ("r" if preposition[0] in "aeiouäöü" else "") + preposition


def _joined(prep: str, phrase: str, contracted: bool) -> str:
    """Preposition and noun phrase, "in dem" as "im"."""
    first, _, rest = phrase.partition(" ")
    short = german.CONTRACTED.get(f"{prep} {first}") if contracted else None
    return f"{short} {rest}" if short else f"{prep} {phrase}"


def _pronoun(np: NP, case: int) -> str:
    if np is MAN:
        return "man"
    if np.person < 3:
        return german.PRONOUNS[np.person][np.number == "pl"][case]
    return german.THIRD[german.PLURAL if np.number == "pl" else german.gender(np.noun)][case]


class _Run:
    """One realisation: its dice, and the words it settled on."""

    def __init__(self, register: str, rng: random.Random):
        self.news = register == "news"
        self.random = rng.random
        self.chosen: dict[str, int] = {}

    def pick(self, options: tuple):
        return options[0] if len(options) == 1 or self.random() >= SECOND else options[1]

    # -- phrases
    def which(self, key: str) -> int:
        """First or second translation of a noun, the same throughout a sentence."""
        if len(german.NOUNS.get(key, "1")) == 1:
            return 0
        if key not in self.chosen:
            self.chosen[key] = 1 if self.random() < SECOND else 0
        return self.chosen[key]

    def np(self, np: NP, case: int, prep: str = "", determiner: str | None = None) -> Part:
        """Words of a noun phrase (after a preposition) and its last member's relative clause."""
        key, relative, kind, lead = np.noun, np.relative, german.noun_class(np.noun), prep.split()
        if np.pronoun:
            if prep and np.person == 3 and kind not in ("person", "name", "animal", "vehicle", "organisation"):
                return [_with("da", prep)], None
            return [*([prep] if prep else []), _pronoun(np, case)], None
        if determiner is None:
            determiner = np.determiner
        proper = kind in ("name", "town")
        if proper:
            words, sex = [*lead, key, *([np.surname] if np.surname else [])], german.gender(key)
        else:
            words, sex = self.common(np, case, prep, determiner)
        if np.genitive is not None:
            words += _closed(self.genitive(np.genitive))
        if np.place is not None:
            words += _closed(self.pp(np.place))
        if relative is not None:
            relative = self.clause(relative, True, gap=(sex, np.number == "pl", key))
        if np.coordinate is not None:
            words = _closed((words, relative))
            other = "no" if determiner == "no" else None
            more, relative = self.np(np.coordinate, case, determiner=other)
            words += ["und", *more]
        return words, relative

    def common(self, np: NP, case: int, prep: str, determiner: str) -> tuple[list[str], int]:
        """Determiner, adjectives and common noun; the noun's gender."""
        key, plural, degree, adjectives = np.noun, np.number == "pl", "", ()
        if np.adjectives:
            adjectives = tuple([self.pick(german.ADJECTIVE_OF.get((a, key)) or german.ADJECTIVES[a]) for a in np.adjectives])
            degree = self.pick(german.ADVERBS[np.degree]) if np.degree else ""
        which = self.which(key)
        text = german.declined(key, which, plural, determiner, adjectives, degree)[case]
        if prep:
            text = _joined(prep, text, determiner == "the" and np.relative is None)
        return text.split(), german.noun(key, which).gender

    def genitive(self, np: NP) -> Part:
        """The possessor: genitive where it can be seen, else "von"."""
        unseen = np.determiner in ("", "two", "three")
        return self.np(np, german.DAT, "von") if unseen else self.np(np, german.GEN)

    def pp(self, pp: PP) -> Part:
        """A prepositional phrase: preposition and case by the noun it takes, "to" by place or person."""
        key, np = pp.preposition, pp.np
        kind = german.noun_class(np.noun)
        options = german.PREPOSITIONS[key]
        word, case = options.get(np.noun) or options.get(kind) or options[""]
        if case == german.GEN and (kind == "town" or np.determiner in ("", "two", "three")):  # "in der Nähe von"
            words, relative = self.np(np, german.DAT, "von")
            return [*word.split(), *words], relative
        return self.np(np, case, word)

    # -- verbs
    def verb(self, clause: Clause, gap: Gap | None) -> german.Verb:
        """The German verb, by register and where need be by its object, goal or place."""
        key = clause.verb
        wanted = _deciding(clause, gap)
        if chosen := german.VERB_OF.get((key, wanted)) or german.VERB_OF.get((key, german.noun_class(wanted))):
            return chosen
        options = (german.NEWS_VERBS if self.news else german.SUBTITLE_VERBS)[key]
        chosen = self.pick(options)
        if clause.passive and (chosen.case != german.ACC or chosen.preposition):
            return german.verb("spielen") if key == "play.music" else options[0]
        return chosen

    # -- clauses
    def clause(
        self, c: Clause, final: bool = False, filled: bool = False, gap: Gap | None = None, after: bool = False
    ) -> list[str]:  # fmt: skip
        """Words of a clause; the verb is `final` in a subordinate one, and `gap` is what a relative clause is about.

        `filled`: something before it takes the first field; `after`: under "nachdem", which asks for the tense before.
        """
        clause = _Clause(self, c, final, gap)
        if c.subordinate is not None and c.subordinate[2]:
            clause.words += self.subordinate(c.subordinate)
            filled = True
        clause.take_roles()
        forms, clause.tail = clause.verb_forms(after)  # the words of the right bracket
        clause.finite = clause.verb.imperative if c.imperative else forms[clause.index]
        clause.write(filled)
        words = clause.words
        if c.complement is not None:
            words += [",", "dass", *self.clause(c.complement, True), ","]
        if c.subordinate is not None and not c.subordinate[2]:
            words += [",", *self.subordinate(c.subordinate)]
        if c.coordinate is not None:
            word, other = c.coordinate
            words += [","] if word == "but" else []
            words += [german.COORDINATORS[word], *self.clause(other)]
        return words

    def subordinate(self, part: tuple[str, Clause, bool]) -> list[str]:
        word, clause, _ = part
        text = german.SUBORDINATORS[word]
        if word == "when":
            text = "als" if clause.tense == "past" else "wenn"
        elif self.news and word in german.NEWS_SUBORDINATORS:
            text = self.pick((text, german.NEWS_SUBORDINATORS[word]))
        return [text, *self.clause(clause, True, after=word == "after"), ","]


def _deciding(clause: Clause, gap: Gap | None) -> str:
    """The noun that decides between German verbs: the goal of "go", else the object; "" if it is not known."""
    if clause.verb == "go":
        return next((pp.np.noun for pp in clause.places if pp.preposition in ("to", "from")), "")
    if gap is not None and clause.gap == "object":
        return gap[2]
    return "" if clause.object is None else clause.object.noun


class _Clause:
    """One clause on its way: who stands in which role, its verbs, and the parts of its fields."""

    def __init__(self, run: _Run, c: Clause, final: bool, gap: Gap | None):
        self.run, self.c, self.final, self.gap = run, c, final, gap
        self.verb = run.verb(c, gap)
        self.words: list[str] = []
        self.fields: dict[str, list[Part]] = {}
        self.early: list[tuple[int, int, Part]] = []
        self.front: list[str] | None = None
        self.skill = self.denied = False

    def put(self, field: str, part: Part) -> None:
        self.fields.setdefault(field, []).append(part)

    # -- roles and verbs
    def take_roles(self) -> None:
        """Who is subject, object and agent, which role (`slot`) is asked for or relative; person and number of the verb.

        What German has no passive for is active, with "man" or with the object in front.
        """
        c = self.c
        self.slot = c.gap or {"who": "subject", "what": "object"}.get(c.question, "")
        self.subject, self.obj, self.agent = c.subject, c.object, None
        self.passive, self.topic, self.impersonal = c.passive, False, False
        if c.passive and self.verb.preposition:
            self.passive, self.topic = False, True
            self.subject = MAN if c.subject is None else c.subject
        elif c.passive and self.verb.case == german.DAT:
            self.agent, self.subject, self.impersonal, self.topic = c.subject, None, True, True
        elif c.passive:
            self.agent, self.subject, self.obj = c.subject, c.object, None
        if self.slot == "subject":
            self.index = 5 if self.gap is not None and self.gap[1] else 2
        elif c.imperative:
            self.index = 1
        else:
            self.index = 2 if self.impersonal else self.subject.person - 1 + 3 * self.subject.many

    def verb_forms(self, after: bool) -> tuple[tuple[str, ...], list[str]]:
        """Six forms of the finite verb, and the right bracket."""
        c, verb, passive = self.c, self.verb, self.passive
        if c.modal or c.tense == "future":
            forms = german.WERDEN["present"]
            if c.modal:  # "must not" is "darf nicht"
                modal = "must not" if c.modal == "must" and c.negated else c.modal
                forms = german.MODALS[modal]["past" if c.tense == "past" else "present"]
            return forms, [verb.participle, "werden"] if passive else [verb.infinitive]
        simple = self.run.news or passive or c.verb in ("be", "know.fact")
        if c.tense == "perfect" or after or (c.tense == "past" and not simple):
            auxiliary = german.SEIN if verb.sein or passive else german.HABEN
            forms = auxiliary["past" if after and c.tense == "past" else "present"]  # in the past under "nachdem"
            return forms, [verb.participle, "worden"] if passive else [verb.participle]
        if passive:
            return german.WERDEN[c.tense], [verb.participle]
        forms = verb.past if c.tense == "past" else verb.present
        if self.final:
            return tuple(verb.particle + form for form in forms), []
        return forms, [verb.particle] if verb.particle else []

    # -- adverbials and negation
    def adverbials(self, filled: bool) -> None:
        """Sort adverbs and prepositional phrases into the fields."""
        c, run = self.c, self.run
        if self.topic and any(a.position == "initial" for a in c.adverbs):
            self.topic = False
        self.may_front = not (self.final or filled or c.question or c.imperative or self.topic)
        for a in c.adverbs:
            self.adverb(a)
        idle = not (self.final or filled or c.negated or c.question or c.adverbs or c.modal)
        if c.progressive and idle and c.verb not in GROUPS["lasting"]:
            self.early.append((3, len(self.early), (["gerade"], None)))
        for pp in c.places:
            kind, part = lexicon.PREPOSITIONS[pp.preposition].kind, run.pp(pp)
            if kind == "time" and part[1] is None:
                if self.may_front and self.front is None and run.random() < FRONTED:
                    self.front = part[0]
                else:
                    self.early.append((2, len(self.early), part))
            elif kind in ("goal", "source") or (kind == "place" and c.verb in GROUPS["inner"]):
                self.put("goal", part)
            else:
                self.put("place", part)

    def adverb(self, a: Adverb) -> None:
        c, run, key = self.c, self.run, a.adverb
        word = german.ADVERB_OF.get((key, c.verb)) or run.pick(german.ADVERBS[key])
        may_front = self.may_front and self.front is None
        if may_front and (a.position == "initial" or (key in GROUPS["fronting"] and not c.negated and run.random() < FRONTED)):
            self.front = word.split()
            return
        kind, part = lexicon.KINDS[key], (word.split(), None)
        if c.negated and key in GROUPS["nicht before"]:
            self.negative.append(word)
            self.denied = True
        elif kind == "place":
            if c.verb in GROUPS["whither"]:
                self.put("goal", (["hierher" if key == "here" else "dorthin"], None))
            else:
                self.put("here", part)
        elif kind == "manner" and key != "immediately":
            self.skill = key in GROUPS["skill"] or word == "sehr"
            self.put("skill" if self.skill and self.obj is not None and not self.bare else "manner", part)
        else:
            self.early.append((EARLY.get(key, 3), len(self.early), part))

    def is_bare(self) -> bool:
        """ "Klavier spielen": the object has no article and stands with the verb."""
        c, obj = self.c, self.obj
        if obj is None or obj.pronoun:
            return False
        if c.verb == "play.game":
            return obj.determiner == ""
        return c.verb == "play.music" and obj.determiner == "the" and not (obj.adjectives or obj.followed)

    def takes_kein(self) -> str:
        """What "kein" stands with instead of "nicht": "object", "predicate" or ""."""
        c, obj, attribute = self.c, self.obj, self.c.attribute
        if not c.negated or self.denied or self.topic:
            return ""
        if isinstance(attribute, NP):
            return "predicate" if attribute.determiner == "a" else ""
        kein = self.indefinite and obj.determiner in ("a", "") and not (self.bare or self.skill or self.verb.preposition)
        kein = kein and (obj.coordinate is None or obj.coordinate.determiner in ("a", ""))
        return "object" if kein else ""

    # -- the fields
    def write(self, filled: bool) -> None:
        """Fill the fields and put them in order."""
        obj, c = self.obj, self.c
        self.indefinite = obj is not None and not obj.pronoun and obj.determiner in INDEFINITE and obj.noun not in lexicon.NAMES
        self.bare, self.negative = self.is_bare(), ["nicht"] if c.negated else []
        self.adverbials(filled)
        kein = self.takes_kein()
        if kein:
            self.negative.pop()
        if self.negative:
            self.put("negation", (self.negative, None))
        if self.skill:
            self.indefinite = False
        opening, subject = self.opening(), []
        if self.subject is not None:
            subject = _closed(self.run.np(self.subject, german.NOM))
        self.objects(self.left(opening, filled, subject, self.object_phrase("no" if kein == "object" else None)))
        self.adjuncts(kein)
        self.middle_and_right()

    def opening(self) -> list[str]:
        c, gap = self.c, self.gap
        if not self.slot:
            if c.question == "where":
                return ["wohin" if c.verb in GROUPS["whither"] else "wo"]
            return [QUESTIONS[c.question]] if c.question in QUESTIONS else []
        case, prep = (german.NOM, "") if self.slot == "subject" else (self.verb.case, self.verb.preposition)
        if gap is not None:
            word = german.RELATIVE[german.PLURAL if gap[1] else gap[0]][case]
            return [prep, word] if prep else [word]
        if c.question == "who":
            return ["wer"]
        return [_with("wo", prep) if prep else "was"]

    def object_phrase(self, determiner: str | None) -> Part | None:
        obj, run = self.obj, self.run
        if obj is None:
            return None
        if self.bare:
            return [german.noun(obj.noun, run.which(obj.noun)).singular[german.ACC]], None
        return run.np(obj, self.verb.case, self.verb.preposition, determiner)

    def left(self, opening: list[str], filled: bool, subject: list[str], part: Part | None) -> Part | None:
        """The first field, the finite verb and the subject behind it; the object still to come."""
        c, words, finite = self.c, self.words, self.finite
        reflexive = [german.REFLEXIVE[self.index]] if self.verb.reflexive else []
        if self.final:
            words += opening
        elif opening:
            words += [*opening, finite]
        elif c.question or c.imperative or filled:
            words.append(finite)
        elif self.topic and part is not None:
            words += [*_closed(part), finite]
            part = None
        elif self.front is not None:
            words += [*self.front, finite]
        else:
            words += [*subject, finite, *reflexive]
            return part
        pronoun = not subject or self.subject.pronoun
        words += [*subject, *reflexive] if pronoun else [*reflexive, *subject]
        return part

    def objects(self, part: Part | None) -> None:
        """Give object and recipient their places in the middle field."""
        obj, recipient, run = self.obj, self.c.recipient, self.run
        if part is not None and not self.verb.preposition and (obj.pronoun or self.impersonal):
            self.put("object pronoun", part)
            part = None
        if recipient is not None:
            field = "dative pronoun" if recipient.pronoun else "dative"
            if field == "dative" and not self.indefinite and recipient.determiner == "a" and part is not None:
                field = "indefinite dative"
            self.put(field, run.np(recipient, german.DAT))
        if part is None:
            return
        if self.bare:
            self.put("bare object", part)
        elif self.verb.preposition:
            self.put("prepositional object", part)
        elif self.indefinite:
            self.put("indefinite object", part)
        else:
            alone = part[1] is None and recipient is None
            first = self.early and alone and obj.determiner and run.random() < OBJECT_FIRST
            self.put("object first" if first else "definite object", part)

    def adjuncts(self, kein: str) -> None:
        """Early adverbials in order, the agent, the predicate."""
        if self.early:
            self.fields["early"] = [part for _, _, part in sorted(self.early)]
        if self.agent is not None:
            self.put("agent", self.run.np(self.agent, german.DAT, "von"))
        if self.c.attribute is not None:
            self.put("predicate", self.predicate(self.c.attribute, kein == "predicate"))

    def middle_and_right(self) -> None:
        """The middle field in order, the right bracket, and behind it the relative clause of the last part."""
        fields, words = self.fields, self.words
        transitive = self.obj is not None or self.c.attribute is not None or self.slot == "object" or self.passive
        core = "manner" if "manner" in fields else "transitive" if transitive and "skill" not in fields else "intransitive"
        order = [field for field in (*MIDDLE, *CORE[core], *END) if field in fields]
        parts = [part for field in order for part in fields[field]]
        bracket = [*self.tail, self.finite] if self.final else self.tail
        last = len(parts) - 1
        behind = last - 1 if last > 0 and order[-1] == "negation" else -1  # before a closing "nicht"
        extraposed: list[str] = []
        for i, part in enumerate(parts):
            if part[1] is not None and ((i == last and bracket) or i == behind):
                words += part[0]
                extraposed = [",", *part[1], ","]
            else:
                words += _closed(part)
        words += bracket
        words += extraposed

    def predicate(self, attribute: str | NP, kein: bool) -> Part:
        """After "sein": the bare adjective, or a nominative, a bare profession."""
        run = self.run
        if isinstance(attribute, str):
            who = "" if self.subject is None else self.subject.noun
            word = run.pick(german.ADJECTIVE_OF.get((attribute, who)) or german.ADJECTIVES[attribute])
            return ([run.pick(german.ADVERBS[self.c.degree]), word] if self.c.degree else [word]), None
        determiner = "no" if kein else None
        bare = attribute.determiner == "a" and not (kein or attribute.adjectives or attribute.followed)
        if bare and german.noun(attribute.noun).profession:
            determiner = ""
        return run.np(attribute, german.NOM, "", determiner)


def realise(clause: Clause, register: str, rng: random.Random) -> list[str]:
    """Put a plan into German. News: past in the Präteritum; subtitles: in the Perfekt."""
    return [*closed(_Run(register, rng).clause(clause)), "?" if clause.question else "."]
