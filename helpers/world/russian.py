"""Russian out of plans: six cases, gender and animacy, aspect, government, and the word order that goes with them."""

from __future__ import annotations

import random

from helpers.world import lexicon
from helpers.world import russian_words as words
from helpers.world.meanings import NP, PP, Adverb, Clause, closed
from helpers.world.russian_words import ACC, ADVERBS, AGREES, COLUMN, DAT, GEN, GRAMMAR, INS, NOM, PRE, VOWELS
from helpers.world.word_tables import groups, single

VARIED = 0.35  # chance of another translation where a word has one
LATE = 0.15  # chance of another word order where there is one


_GROUPS = groups(GRAMMAR["group"])
_DECLINED = {key: tuple(GRAMMAR[key].values()) for key in ("this", "my", "your", "our", "свой")}
_DECLINED |= {"every": words.adjective_forms("каждый"), "many": words.adjective_forms("многий")}
_FIXED = {key: forms * 6 for key, forms in GRAMMAR["fixed"].items()}
_COUNTED = GRAMMAR["counted"]
_PRONOUNS = {tuple(map(int, key.split())): forms for key, forms in GRAMMAR["pronoun"].items()}  # person, gender or number
_AFTER = {  # and after a preposition
    key: tuple(f if key[0] < 3 or f[0] == "н" else "н" + f for f in forms) for key, forms in _PRONOUNS.items()
}
_WHICH = words.adjective_forms("который")
_WHAT, _SHORT = GRAMMAR["what"]["что"], GRAMMAR["short"]
_CLASS = {key: noun.cls for key, noun in lexicon.NOUNS.items()}
_CAN, _WANT, _BE, _NEED_SOON = (words.VERBS[k][0] for k in ("go.can", "go.want", "be", "need.soon"))
_PLACES, _INSTEAD = (  # preposition and case; place, goal and source follow the noun
    {key: (word, words.CASES[case]) for key, (word, case) in GRAMMAR[name].items()}
    for name in ("preposition", "other preposition")
)
_CONJUNCTIONS, _WHY = GRAMMAR["conjunction"], single(GRAMMAR["question"])


def sound(preposition: str, word: str) -> str:
    """The shape of a preposition before a word: "с" or "со", "о", "об" or "обо"."""
    first, second = word[0].lower(), word[1:2]
    if preposition == "с":
        cluster = (first in "сзшж" and second not in VOWELS and second != "ь") or first == "щ"
        return "со" if cluster or word[:3] == "мно" else "с"
    if preposition == "о":
        return "обо" if word == "мне" else "об" if first in "аэиоу" else "о"
    return preposition


class _Arg:
    """A noun phrase ready to be put in any case: the words that decline together, and what follows them."""

    def __init__(self, np: NP):
        self.np, self.person = np, np.person
        self.after = self.second = None  # forms after a preposition; the second member
        self.rest = self.loc = self.direct = ""  # what follows; locative; accusative of "many"
        self.indefinite, self.short, self.na = False, not np.followed, False

    def put(self, case: int, preposition: str = "") -> str:
        """The words in a case, with what follows them."""
        forms = self.forms if not preposition or self.after is None else self.after
        wanted = forms[case]
        if case == PRE and self.loc and preposition in ("в", "на"):
            wanted = self.loc
        elif case == ACC and self.direct and not preposition:
            wanted = self.direct
        text = f"{sound(preposition, wanted)} {wanted}{self.rest}" if preposition else wanted + self.rest
        return text if self.second is None else f"{text} и {self.second.put(case)}"


def _counted(forms: tuple[str, ...], nominative: str, column: int) -> tuple[str, ...]:
    """Forms by case after "two" or "three", whose nominative is another."""
    return (nominative, *forms[1:3], forms[1] if column == 4 else nominative, *forms[4:])


def _noun(key: str) -> words.Noun:
    return words.NOUNS[key][0] if key in words.NOUNS else words.rare(lexicon.TAIL[key])


class _Run:
    """The phrases of one sentence, and its dice."""

    def __init__(self, rng: random.Random):
        self.random = rng.random

    def choose(self, options):
        """The first of the options, or now and then another."""
        if len(options) > 1 and self.random() < VARIED:
            return options[1 + int(self.random() * (len(options) - 1))]
        return options[0]

    # -- noun phrases
    def phrase(self, np: NP, possessor: str = "") -> _Arg:
        """Choose the words of a noun phrase; `possessor` is the possessive that points to the clause's subject."""
        arg = _Arg(np)
        if np.pronoun:
            self.pronoun(arg)
            return arg
        if np.noun in _CLASS:
            self.common(arg, possessor)
            self.modifiers(arg, possessor)
        else:
            self.name(arg)
        if np.coordinate is not None:
            arg.second = self.phrase(np.coordinate, possessor)
            arg.agree, arg.plural = 3, True
            arg.person = min(arg.person, arg.second.person)
        return arg

    def pronoun(self, arg: _Arg) -> None:
        np, plural = arg.np, arg.np.number == "pl"
        if np.person < 3:
            arg.agree, arg.column = (3, 4) if plural else (0, 0)
        else:
            noun = _noun(np.noun)
            arg.column = noun.many if plural else noun.column
            arg.agree = AGREES[arg.column]
        who = np.person, arg.agree
        arg.forms, arg.after, arg.plural = _PRONOUNS[who], _AFTER[who], arg.agree == 3

    def name(self, arg: _Arg) -> None:
        noun = _noun(arg.np.noun)
        arg.column, arg.agree, arg.plural, arg.forms = noun.column, AGREES[noun.column], False, noun.sg
        if arg.np.surname:
            last = words.rare(lexicon.NAMES[arg.np.surname])
            # a woman's surname that ends in a consonant does not decline
            forms = last.sg if noun.column == 0 else (last.sg[0],) * 6
            arg.forms = tuple([f"{x} {y}" for x, y in zip(noun.sg, forms, strict=True)])

    def common(self, arg: _Arg, possessor: str) -> None:
        """Determiner, adjectives and common noun."""
        np, det, key = arg.np, arg.np.determiner, arg.np.noun
        counted, plural = _COUNTED.get(det), np.number == "pl"
        if key == "potato" and plural and counted is None and det != "many":
            key, plural = "potato.mass", False
        noun = self.choose(words.NOUNS[key]) if key in words.NOUNS else _noun(key)
        tantum = noun.column == 5
        plural = plural or tantum
        arg.column = column = 5 if tantum else noun.many if plural else noun.column
        arg.plural, arg.agree, arg.na = plural, AGREES[column], noun.na
        arg.indefinite = det == "a" or (det == "" and not np.genitive)
        parts = [*_determined(det, possessor, column, noun), *self.adjectives(arg, noun)]
        forms = noun.pl if plural else noun.sg
        if counted is not None:
            forms = _counted(forms, forms[1] if tantum else noun.count, column)
        parts.append(forms)
        arg.forms = forms if len(parts) == 1 else tuple([" ".join(x) for x in zip(*parts, strict=True)])
        if noun.loc and not plural:
            arg.loc = " ".join([*[x[PRE] for x in parts[:-1]], noun.loc])
        if det == "many":
            arg.direct = " ".join(["много", *[x[GEN] for x in parts[1:]]])

    def adjectives(self, arg: _Arg, noun: words.Noun) -> list[tuple[str, ...]]:
        """Forms of the adjectives by case, a degree before the first."""
        parts, np, column = [], arg.np, arg.column
        for place, key in enumerate(np.adjectives):
            forms = self.adjective(key, np.noun).forms[column]
            if np.determiner in _COUNTED:
                forms = _counted(forms, forms[0] if noun.column == 2 else forms[1], column)
            if np.degree and place == 0:
                parts.append((self.choose(ADVERBS[np.degree]),) * 6)
            parts.append(forms)
        return parts

    def adjective(self, key: str, noun: str) -> words.Adjective:
        return words.ADJECTIVE_OF.get((key, noun)) or self.choose(words.ADJECTIVES[key])

    def modifiers(self, arg: _Arg, possessor: str) -> None:
        """What follows a common noun: possessor, place, relative clause."""
        np = arg.np
        if np.genitive is not None:
            arg.rest = " " + self.phrase(np.genitive, possessor).put(GEN, "от" if np.noun == "key" else "")
        if np.place is not None:
            arg.rest += " " + self.place(np.place, possessor, "")[0]
        if np.relative is not None:
            arg.rest += " , " + self.full(np.relative, "relative", arg) + " ,"

    def place(self, pp: PP, possessor: str, verb: str) -> tuple[str, str]:
        """A prepositional phrase and its kind; with verbs of arriving a place is a goal."""
        key, arg = pp.preposition, self.phrase(pp.np, possessor)
        kind = lexicon.PREPOSITIONS[key].kind
        preposition, case = self.choose((_PLACES[key], _INSTEAD[key])) if key in _INSTEAD else _PLACES[key]
        if arg.na:
            preposition = {"в": "на", "из": "с"}.get(preposition, preposition)
        if key == "at" and pp.np.noun == "bridge":
            preposition, case = "у", GEN
        elif key == "during" and pp.np.noun == "night":
            preposition = "в течение"
        if case == PRE and verb in _GROUPS["arriving"]:
            case, kind = ACC, "goal"
        return arg.put(case, preposition), kind

    # -- clauses
    def full(self, c: Clause, role: str, head: _Arg | None = None, shift: bool = False, lasting: bool = False) -> str:
        """A clause with those joined to it."""
        if c.subordinate is not None:
            key, inner, first = c.subordinate
            ahead = c.tense == "future" and key != "because" and key != "although"
            if key == "because" and first:
                conjunction = self.choose(("так как", "поскольку"))
            else:
                conjunction = self.choose(_CONJUNCTIONS[key])
            text = f"{conjunction} {self.full(inner, 'second', None, ahead, key == 'while')}"
            main = self.clause(c, role, head, shift, lasting)
            text = f"{text} , {main}" if first else f"{main} , {text}"
        else:
            text = self.clause(c, role, head, shift, lasting)
        if c.coordinate is not None:
            key, inner = c.coordinate
            text += f" , {_CONJUNCTIONS[key][0]} {self.full(inner, 'second')}"
        return text

    def clause(self, c: Clause, role: str, head: _Arg | None, shift: bool, lasting: bool) -> str:
        clause = _Clause(self, c, role, head, shift, lasting)
        return clause.copular() if c.verb in ("be", "know.person", "need") else clause.verbal()

    def verb(self, c: Clause, head: _Arg | None) -> words.Verb:
        """The Russian verb: by sense, and within it by object, subject and distance."""
        key = c.verb
        outside = head.np.noun if head is not None else ""
        object_ = c.object.noun if c.object is not None else outside if c.gap == "object" else ""
        subject = c.subject.noun if c.subject is not None else outside if c.gap == "subject" else ""
        if key in ("go", "come") and _CLASS.get(subject, "person") != "animal":
            for pp in c.places:
                if pp.np.noun in _GROUPS["far"] or (
                    pp.np.noun not in _CLASS and lexicon.PREPOSITIONS[pp.preposition].kind in ("goal", "source")
                ):
                    key += ".far"
                    break
        of_subject = words.VERB_OF.get((key, "subjects", subject)) if object_ != "soup" else None
        return of_subject or words.VERB_OF.get((key, "objects", object_)) or self.choose(words.VERBS[key])


def _modal(modal: str, tense: str, person: int, agree: int) -> str:
    if modal in ("must", "should"):
        return _SHORT["must"][agree]
    verb = _CAN if modal == "can" else _WANT
    return verb.i.past[agree] if tense == "past" else verb.i.present[person]


def _copula(tense: str, person: int, agree: int) -> str:
    """The finite form of "be", "" in the present."""
    return {"present": "", "past": _BE.i.past[agree]}.get(tense, _BE.i.present[person])


def _which(head: _Arg, case: int, preposition: str = "") -> str:
    """The relative pronoun: gender and number of the noun outside, case of the role inside."""
    word = _WHICH[head.column][case]
    return f"{sound(preposition, word)} {word}" if preposition else word


def _determined(det: str, possessor: str, column: int, noun: words.Noun) -> list[tuple[str, ...]]:
    counted = _COUNTED.get(det)
    if counted is not None:
        nominative = counted[2] if noun.column == 5 else counted[noun.column == 2]
        gen, dat, ins, pre = counted[3:]
        return [(nominative, gen, dat, gen if column == 4 else nominative, ins, pre)]
    if det and det == possessor:
        return [_DECLINED["свой"][column]]
    if det in _FIXED:
        return [_FIXED[det]]
    return [_DECLINED[det][column]] if det in _DECLINED else []


class _Clause:
    """One clause on its way: adverbials by place, who takes part, the finite verb and what goes with it."""

    def __init__(self, run: _Run, c: Clause, role: str, head: _Arg | None, shift: bool, lasting: bool):
        self.run, self.c, self.role, self.head, self.shift, self.lasting = run, c, role, head, shift, lasting
        self.modal, self.negated = c.modal, c.negated
        self.tense = "past" if c.tense == "perfect" else c.tense
        if shift and self.tense == "present" and not c.modal:
            self.tense = "future"
        self.main = role == "main" and not c.question and not c.imperative
        self.verb = run.verb(c, head)
        self.start, self.before, self.near, self.end = [], [], [], []
        self.frequent = self.sudden = False
        for item in c.adverbs:
            self.adverb(item)
        patient = c.object if c.passive else c.subject
        if c.gap == "subject":
            self.possessor = _pointing(head.np)
        elif c.imperative or c.question == "who":
            self.possessor = "your" if c.imperative else "his"
        else:
            self.possessor = _pointing(patient)

    def adverb(self, item: Adverb) -> None:
        """Put an adverb at the start, before the verb, next to it, or at the end."""
        name, kind, c = item.adverb, lexicon.KINDS[item.adverb], self.c
        word = self.run.choose(ADVERBS[name])
        if name == "badly.much" and c.verb != "need":
            word = "сильно"
        elif self.negated and name in ("often", "always"):
            # what is denied is how often, not what happens
            word, self.negated = "не " + word, False
        self.sudden = self.sudden or name in _GROUPS["sudden"]
        if kind == "manner":
            self.near.append(word)
        elif kind == "place":
            self.end.append(word)
        elif kind == "sentence" and name != "really":
            initial = item.position == "initial"
            (self.start if initial else self.before).append(f"{word} ," if initial else f", {word} ,")
        else:
            self.frequent = self.frequent or kind == "frequency"
            late = item.position == "final" and self.main and kind == "time" and name != "soon"
            first = item.position == "initial" or (late and self.run.random() >= LATE)
            (self.start if first else self.before).append(word)

    # -- clauses with a full verb
    def verbal(self) -> str:
        self.choose_aspect()
        self.take_part()
        self.choose_agreement()
        group = self.group()
        case = self.object_case()
        front, subject, objects = self.front(case), self.subject_words(), self.objects(case)
        if self.c.complement is not None:
            self.places.append(f", что {self.run.full(self.c.complement, 'complement', None)} ,")
        return " ".join(self.ordered(front, subject, group, objects))

    def choose_aspect(self) -> None:
        """The aspect and the way of going; a passive by participle, where there is one and the event is single."""
        c, verb = self.c, self.verb
        kinds = {lexicon.PREPOSITIONS[pp.preposition].kind for pp in c.places}
        toward = c.question == "where" and (c.verb in _GROUPS["arriving"] or c.verb in _GROUPS["moving"])
        arriving = c.verb in _GROUPS["arriving"] and "place" in kinds
        self.goal = toward or arriving or not kinds.isdisjoint(("goal", "source"))
        self.aspect = _aspect(c, verb, self.tense, self.frequent, self.sudden, self.lasting)
        self.form = verb.p if self.aspect == "p" else verb.i
        if verb.fro is not None and self.to_and_fro(kinds):
            self.form, self.aspect = verb.fro, "i"
        single = self.aspect == "p" and self.form.participle is not None and (self.tense != "present" or self.modal != "")
        self.participle = c.passive and single and not (self.modal == "should" and c.subject is None)
        if c.passive and not self.participle:  # the object comes first and the verb stays active
            self.possessor = ""

    def to_and_fro(self, kinds: set[str]) -> bool:
        """Whether a verb of motion has no one direction ("ходить", "носить")."""
        c = self.c
        if c.verb == "carry":
            return self.frequent or (self.tense == "present" and not (c.progressive or self.modal or c.imperative))
        if c.verb not in _GROUPS["moving"]:
            return self.frequent or (c.imperative and self.negated)
        if self.frequent or (self.aspect == "i" and not c.progressive and not self.lasting):
            return True
        if self.goal or c.imperative:
            return False
        single = c.progressive or (c.verb == "run.go" and not (self.modal or "companion" in kinds))
        return not single or ("place" in kinds and c.verb not in _GROUPS["arriving"])

    def take_part(self) -> None:
        """Choose the words for all who take part, and for places and times."""
        c, run = self.c, self.run
        self.obj = self.agent = None
        if c.gap == "object":
            self.obj = self.head
        elif c.object is not None:
            self.obj = run.phrase(c.object, "" if c.passive else self.possessor)
        if c.subject is not None:
            self.agent = run.phrase(c.subject, self.possessor if self.participle else "")
        elif c.gap == "subject":
            self.agent = self.head
        self.subject = self.obj if self.participle else self.agent
        self.recipient = run.phrase(c.recipient, self.possessor) if c.recipient is not None else None
        self.places, self.kinds = [], []
        for pp in c.places:
            text, kind = run.place(pp, self.possessor, c.verb)
            if kind == "time" and self.main and not self.start and run.random() < LATE:
                self.start.append(text)
            else:
                self.places.append(text)
                self.kinds.append(kind)

    def choose_agreement(self) -> None:
        """Person and gender of the finite verb; whether the subject is a dative ("мне следует")."""
        subject = self.subject
        self.dative = self.modal == "should" and not self.participle
        if self.c.passive and not self.participle and self.agent is None:
            self.person, self.agree = 5, 3
        elif subject is None:
            self.person, self.agree = (1, 0) if self.c.imperative else (2, 0)
        else:
            self.person, self.agree = subject.person - 1 + 3 * subject.plural, subject.agree
        if self.dative and self.c.passive and self.agent is not None:
            self.dative, self.modal = False, "must"

    def finite_verb(self) -> tuple[str, list[str]]:
        """The finite word ("" if there is none) and the words that go with it."""
        form, person = self.form, self.person
        if self.c.imperative:
            return form.imperative, []
        if self.participle:
            return self.passive()
        if self.modal:
            finite = "следует" if self.dative else _modal(self.modal, self.tense, person, self.agree)
            return finite, [form.infinitive]
        if self.tense == "future" and self.aspect == "i":
            return _BE.i.present[person], [form.infinitive]
        return form.past[self.agree] if self.tense == "past" else form.present[person], []

    def passive(self) -> tuple[str, list[str]]:
        """A short participle and its copula."""
        word = self.form.participle[self.agree]
        tense = "present" if self.c.tense == "perfect" and not self.negated else self.tense
        if self.modal:
            return _modal(self.modal, tense, self.person, self.agree), ["быть", word]
        return _copula(tense, self.person, self.agree), [word]

    def group(self) -> list[str]:
        """The verb's words in order: manner stands before what it describes, and after a negated verb."""
        finite, rest = self.finite_verb()
        near = self.near
        if self.negated:
            finite = "не " + finite
        self.finite = finite
        if rest and rest[0] != "быть":
            group = [finite, *near, *rest]
        elif rest:
            group = [finite, rest[0], *near, *rest[1:]]
        elif not self.negated:
            group = [*near, finite]
        elif self.obj is not None and self.obj.np.pronoun:
            group, self.end = [finite], [*near, *self.end]
        else:
            group = [finite, *near]
        if self.verb.extra:
            group.insert(group.index(rest[-1] if rest else finite) + 1, self.verb.extra)
        return group

    def object_case(self) -> int:
        """What the verb governs; of an indefinite thing that is denied, the genitive."""
        obj, case = self.obj, self.verb.case
        if not self.negated or obj is None or obj is self.head or not obj.indefinite:
            return case
        if case != ACC or self.verb.preposition or _CLASS[obj.np.noun] in ("person", "animal"):
            return case
        return GEN

    def front(self, case: int) -> str:
        """The relative pronoun or the question word."""
        c = self.c
        if c.gap == "subject":
            return _which(self.head, DAT if self.dative else NOM)
        if c.gap == "object":
            return _which(self.head, case, self.verb.preposition)
        if c.question == "who":
            return "кому" if self.dative else "кто"
        if c.question == "what":
            return _WHAT[case]
        if c.question == "where" and (c.verb in _GROUPS["arriving"] or c.verb in _GROUPS["moving"]):
            return "куда"
        return _WHY.get(c.question, "")

    def subject_words(self) -> str:
        """The subject's words; the agent of a participle stands later, in the instrumental."""
        c = self.c
        self.after, text = [], ""
        if self.agent is not None and c.gap != "subject":
            if self.participle:
                self.after.append(self.agent.put(INS))
            else:
                text = self.agent.put(DAT if self.dative else NOM)
        if self.participle:
            text = self.obj.put(NOM)
        return text

    def objects(self, case: int) -> list[str]:
        """Object and recipient: what is short or a pronoun comes first."""
        c, obj, recipient, texts = self.c, self.obj, self.recipient, []
        if obj is not None and not self.participle and c.gap != "object":
            texts.append(obj.put(case, self.verb.preposition))
        if recipient is None:
            return texts
        behind = obj is None or c.passive or (obj.short and not recipient.short) or c.gap == "object"
        if not behind:
            behind = obj.np.pronoun or (self.run.random() < LATE and recipient.short)
        return [*texts, recipient.put(DAT)] if behind else [recipient.put(DAT), *texts]

    def ordered(self, front: str, subject: str, group: list[str], objects: list[str]) -> list[str]:
        """All words in order; now and then, and for what appears or is asked about, another order than the usual."""
        c, finite = self.c, self.finite
        tail, asked = [*self.after, *self.end, *self.places], self.subject
        if c.passive and not self.participle:  # an active verb whose object comes first
            return [*self.start, front, objects[0], *self.before, *group, subject, *objects[1:], *tail]
        plain = not self.participle and not self.before
        noun = asked is not None and not asked.np.pronoun and not self.dative
        light = plain and noun and len(group) == 1 and not objects and (asked.short or not self.places)
        if light and c.question in ("what", "where", "when"):
            return [front, finite, subject, *tail]
        direct = c.question == "polar" and not self.negated and not self.dative and plain and asked is not None
        if direct and self.run.random() < 0.3 and not (self.near and self.obj is not None and self.obj.np.pronoun):
            group.remove(finite)
            return [*self.start, finite, "ли", subject, *group, *objects, *tail]
        if self.appears():
            return [*self.start, *self.places, *self.before, *group, *self.end, subject]
        return [*self.start, front, subject, *self.before, *group, *objects, *tail]

    def appears(self) -> bool:
        """Whether somebody new comes on the scene and is named last."""
        if self.c.verb not in _GROUPS["appearing"] or not self.main or self.modal or self.negated or self.tense != "past":
            return False
        return self.agent.indefinite and "companion" not in self.kinds

    # -- clauses whose predicate is an adjective or a noun
    def copular(self) -> str:
        """The words of a clause with "be", "know" (be acquainted with) or "need" (be necessary to)."""
        c, run, head = self.c, self.run, self.head
        need = c.verb == "need"
        self.subject = head if c.gap == "subject" else run.phrase(c.subject) if c.subject is not None else None
        self.obj = head if c.gap == "object" else run.phrase(c.object, "" if need else self.possessor) if c.object else None
        self.control(need)
        # what will be needed for once is said by a verb of its own
        soon = need and self.tense == "future" and not (self.frequent or self.near)
        rest = [] if soon else [_SHORT[c.verb][self.agree]] if c.verb in _SHORT else self.predicate()
        finite = _NEED_SOON.p.present[self.person] if soon else _copula(self.tense, self.person, self.agree)
        dash = isinstance(c.attribute, NP) and not (finite or self.negated or self.before or c.question)
        dash = dash and not self.subject.np.pronoun
        near, no = self.near, "не " if self.negated else ""
        if finite:
            finite = no + finite
        elif near and self.negated:
            # "не очень нужен", "не очень хорошо знаком"
            near = [no + ("очень хорошо" if near[0] == "хорошо" else near[0]), *near[1:]]
        else:
            rest[0] = no + rest[0]
        group = [*(["—"] if dash else []), finite, *near, *rest]
        front, text, objects = self.needed() if need else self.known()
        places = [run.place(pp, self.possessor, c.verb)[0] for pp in c.places]
        if c.gap == "object" and need:
            return " ".join([front, *self.before, *group, text, *self.end, *places])
        return " ".join([*self.start, front, text, *self.before, *group, *objects, *self.end, *places])

    def control(self, need: bool) -> None:
        """Person, gender and column of what the predicate agrees with: of what is needed, else of the subject."""
        control = self.obj if need else self.subject
        if control is None:
            self.person, self.agree, self.column = (2, 2, 3) if need else (2, 0, 0)
        else:
            self.person, self.agree = control.person - 1 + 3 * control.plural, control.agree
            self.column = COLUMN[self.agree] if control.second is not None else control.column
            if need and control.direct:  # "many" as what is needed: нужно много
                self.person, self.agree = 2, 2

    def predicate(self) -> list[str]:
        """Adjective or noun after "be": short forms where usual, the instrumental with a finite "be"."""
        c, run, attribute = self.c, self.run, self.c.attribute
        case = NOM if self.tense == "present" else INS
        if not isinstance(attribute, str):
            return [run.phrase(attribute).put(case)]
        adjective = run.adjective(attribute, self.subject.np.noun if self.subject is not None else "")
        word = adjective.forms[self.column][case] if adjective.short is None else adjective.short[self.agree]
        return [run.choose(ADVERBS[c.degree]), word] if c.degree else [word]

    def known(self) -> tuple[str, str, list[str]]:
        """Relative pronoun or question word, subject and object of "be" and "know"."""
        c, front, text = self.c, "", ""
        if c.gap == "subject":
            front = _which(self.head, NOM)
        elif c.question == "who":
            front = "кто"
        else:
            text = self.subject.put(NOM)
        if c.gap == "object":
            return _which(self.head, INS, "с"), text, []
        if self.obj is not None:
            return front, text, [self.obj.put(INS, "с")]
        return _WHY.get(c.question, front), text, []

    def needed(self) -> tuple[str, str, list[str]]:
        """Relative pronoun or question word, who needs (a dative), and what is needed (a nominative)."""
        c, subject, obj, front, text = self.c, self.subject, self.obj, "", ""
        if c.gap == "subject":
            front = _which(self.head, DAT)
        elif c.question == "who":
            front = "кому"
        else:
            text = subject.put(DAT)
        if c.gap == "object":
            return _which(self.head, NOM), text, []
        if obj is None:
            return "что", text, []
        if obj.np.pronoun and text:
            # what is known already comes first: "он мне нужен", "он нужен врачу"
            return obj.forms[NOM], text if subject.np.pronoun else "", [] if subject.np.pronoun else [text]
        return front, text, [obj.direct + obj.rest if obj.direct else obj.put(NOM)]


def _pointing(np: NP) -> str:
    """The possessive determiner that points back to a subject."""
    if np.person == 1:
        return "our" if np.many else "my"
    if np.person == 2:
        return "your"
    if np.many:
        return "their"
    cls = _CLASS.get(np.noun)
    if cls is not None and cls != "person":
        return ""
    return "her" if _noun(np.noun).column == 2 else "his"


def _aspect(c: Clause, verb: words.Verb, tense: str, frequent: bool, sudden: bool, lasting: bool) -> str:
    """Perfective "p" for a single whole event, imperfective "i" for what goes on, repeats, is forbidden or is a state."""
    if verb.p is None or frequent or c.progressive or lasting:
        return "i"
    if c.imperative:
        return "i" if c.negated or verb.stative else "p"
    if c.modal:
        seeing = verb.senses and any(a.adverb == "well" for a in c.adverbs)
        return "i" if verb.stative or seeing or (c.negated and c.modal != "can") else "p"
    if tense == "present":
        return "i"
    return "p" if sudden or not (verb.stative or (verb.senses and tense == "past")) else "i"


def realise(clause: Clause, register: str, rng: random.Random) -> list[str]:
    """Put a plan into Russian. Both registers are alike."""
    out = closed(_Run(rng).full(clause, "main").split())
    return [*out, "?" if clause.question else "."]
