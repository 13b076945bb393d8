"""Russian out of plans: six cases, gender and animacy, aspect, government, and the word order that goes with them."""

from __future__ import annotations

import random

from helpers.world import lexicon
from helpers.world import russian_words as words
from helpers.world.plan import NP, PP, Clause, Words
from helpers.world.russian_words import ACC, ADVERBS, AGREES, COLUMN, DAT, GEN, INS, NOM, PRE, VOWELS

VARIED = 0.35  # chance of another translation where a word has one
LATE = 0.15  # chance of another word order where there is one


def _possessive(stem: str, hard: bool) -> tuple[tuple[str, ...], ...]:
    """Forms of "мой" or "наш" by column and case."""
    nom, a, u = (stem, "а", "у") if hard else (stem + "й", "я", "ю")
    m = (nom, stem + "его", stem + "ему", stem + "его", stem + "им", stem + "ем")
    f = (stem + a, stem + "ей", stem + "ей", stem + u, stem + "ей", stem + "ей")
    p = (stem + "и", stem + "их", stem + "им", stem + "их", stem + "ими", stem + "их")
    n = (stem + "е", m[1], m[2], stem + "е", m[4], m[5])
    return m, (*m[:3], nom, *m[4:]), f, n, p, (*p[:3], p[0], *p[4:])


_THIS = (
    tuple("этот этого этому этого этим этом".split()), tuple("этот этого этому этот этим этом".split()),
    tuple("эта этой этой эту этой этой".split()), tuple("это этого этому это этим этом".split()),
    tuple("эти этих этим этих этими этих".split()), tuple("эти этих этим эти этими этих".split()),
)  # fmt: skip
_OWN = _possessive("сво", False)
_DECLINED = {
    "this": _THIS, "my": _possessive("мо", False), "your": _possessive("тво", False), "our": _possessive("наш", True),
    "every": words.adjective_forms("каждый"), "many": words.adjective_forms("многий"),
}  # fmt: skip
_FIXED = {"his": ("его",) * 6, "her": ("ее",) * 6, "their": ("их",) * 6}
_COUNTED = {  # by whether feminine, and for what has no singular
    "two": ("два", "две", "двое", "двух двум двух двумя двух"),
    "three": ("три", "три", "трое", "трех трем трех тремя трех"),
}
_PRONOUNS = {  # by person and gender or number
    (1, 0): "я меня мне меня мной мне", (1, 3): "мы нас нам нас нами нас", (2, 0): "ты тебя тебе тебя тобой тебе",
    (2, 3): "вы вас вам вас вами вас", (3, 0): "он его ему его им нем", (3, 1): "она ее ей ее ей ней",
    (3, 2): "оно его ему его им нем", (3, 3): "они их им их ими них",
}  # fmt: skip
_PRONOUNS = {key: tuple(text.split()) for key, text in _PRONOUNS.items()}
_AFTER = {  # and after a preposition
    key: tuple(f if key[0] < 3 or f[0] == "н" else "н" + f for f in forms) for key, forms in _PRONOUNS.items()
}
_WHICH = words.adjective_forms("который")
_WHAT = ("что", "чего", "чему", "что", "чем", "чем")
_MUST = ("должен", "должна", "должно", "должны")
_NEEDED = ("нужен", "нужна", "нужно", "нужны")
_KNOWN = ("знаком", "знакома", "знакомо", "знакомы")
_NOUNS, _ADJECTIVES, _VERBS = words.nouns(), words.adjectives(), words.verbs()
_CLASS = {key: noun.cls for key, noun in lexicon.nouns().items()}
_KINDS = {key: entry.kind for key, entry in lexicon.adverbs().items()}
_SENSES: dict[str, tuple[str, ...]] = {}
for _key in _NOUNS:
    _SENSES[_key] = tuple(k for k in _NOUNS if k != _key and "." in k and lexicon.sense(k) == lexicon.sense(_key))
_CAN, _WANT, _BE, _KNOW, _NEED_SOON = (_VERBS[k].usual for k in ("go.can", "go.want", "be", "know.fact", "need.soon"))
_FAR = frozenset("city village island castle harbour mountain".split())
_MOVING = frozenset("go run.go fly.bird fly.person".split())
_ARRIVING = frozenset("go come arrive".split())
_SUDDEN = frozenset("suddenly finally soon immediately".split())
_APPEARING = frozenset("come arrive begin".split())
_PLACES = {  # preposition and case; place, goal and source follow the noun
    "near": ("около", GEN), "behind": ("за", INS), "in_front_of": ("перед", INS), "under": ("под", INS), "with": ("с", INS),
    "without": ("без", GEN), "during": ("во время", GEN), "after": ("после", GEN), "before": ("перед", INS),
    "about": ("о", PRE), "for": ("для", GEN), "in": ("в", PRE), "at": ("в", PRE), "on": ("на", PRE), "to": ("в", ACC),
    "from": ("из", GEN), "in_time": ("", INS),
}  # fmt: skip
_INSTEAD = {"near": ("возле", GEN), "before": ("до", GEN)}
_KIND_OF = {key: entry[1] for key, entry in lexicon.PREPOSITIONS.items()}
_CONJUNCTIONS = {
    "because": ("потому что", "так как"), "when": ("когда",), "although": ("хотя", "несмотря на то что"), "if": ("если",),
    "while": ("пока",), "before": ("прежде чем", "перед тем как"), "after": ("после того как",), "and": ("и",),
    "but": ("но",), "or": ("или",),
}  # fmt: skip
_PLAYED = {"play.game": ("на", PRE), "play.music": ("в", ACC)}  # the government of the other sense
_WHY = {"where": "где", "when": "когда", "why": "почему"}


def sound(preposition: str, word: str) -> str:
    """The shape of a preposition before a word: "в" or "во", "с" or "со", "о", "об" or "обо"."""
    first, second = word[0].lower(), word[1:2]
    if preposition == "в":
        return "во" if (first in "вф" and second not in VOWELS) or word == "мне" or word[:4] == "мног" else "в"
    if preposition == "с":
        cluster = (first in "сзшж" and second not in VOWELS and second != "ь") or first == "щ"
        return "со" if cluster or word[:3] == "мно" else "с"
    if preposition == "о":
        return "обо" if word == "мне" else "об" if first in "аэиоу" else "о"
    return preposition + "о" if word == "мной" and preposition in ("под", "перед") else preposition


class _Arg:
    """A noun phrase ready to be put in any case: the words that decline together, and what follows them."""

    __slots__ = (
        "after", "agree", "column", "direct", "forms", "indefinite", "loc", "na", "np", "person", "plural", "rest", "second",
        "senses", "short",
    )  # fmt: skip


class _Run:
    """Puts one sentence into words and collects its marks."""

    __slots__ = ("marks", "orders", "random")

    def __init__(self, rng: random.Random):
        self.random = rng.random
        self.marks: list[tuple[str, str, tuple[str, ...]]] = []
        self.orders: list[tuple[str, str]] = []

    def choose(self, options):
        """The first of the options, or now and then another."""
        if len(options) > 1 and self.random() < VARIED:
            return options[1 + int(self.random() * (len(options) - 1))]
        return options[0]

    def mark(self, phenomenon: str, wanted: str, others) -> None:
        others = tuple([x for x in dict.fromkeys(others) if x and x != wanted])
        if others:
            self.marks.append((phenomenon, wanted, others))

    # -- noun phrases
    def phrase(self, np: NP, own: str = "") -> _Arg:
        """Choose the words of a noun phrase; `own` is the possessive that points to the clause's subject."""
        arg = _Arg()
        arg.np, arg.person, arg.loc, arg.after, arg.direct, arg.second = np, np.person, "", None, "", None
        arg.rest, arg.senses, arg.indefinite, arg.short, arg.na = "", (), False, False, False
        key, plural = np.noun, np.number == "pl"
        noun = (_NOUNS.get(key) or words.tail_noun(key)) if key else None
        if np.pronoun:
            if np.person < 3:
                arg.agree, arg.column = (3, 4) if plural else (0, 0)
            else:
                arg.column = noun.many if plural else noun.column
                arg.agree = AGREES[arg.column]
            who = np.person, arg.agree
            arg.forms, arg.after, arg.plural, arg.short = _PRONOUNS[who], _AFTER[who], arg.agree == 3, True
            return arg
        if key not in _CLASS:
            arg.column, arg.agree, arg.plural = noun.column, AGREES[noun.column], False
            arg.forms = noun.sg
            if np.surname:
                last = words.surname(np.surname)
                # a woman's surname that ends in a consonant does not decline
                forms = last.sg if noun.column == 0 else (last.sg[0],) * 6
                arg.forms = tuple([f"{x} {y}" for x, y in zip(noun.sg, forms, strict=True)])
            arg.short = True
            self.coordinate(arg, np, own)
            return arg
        det = np.determiner
        counted = _COUNTED.get(det)
        plural = plural or counted is not None or det == "many"
        if key == "potato" and plural and counted is None and det not in ("many", "every"):
            noun, plural = _NOUNS["potato.mass"], False
        if noun.synonyms:
            noun = self.choose((noun, *noun.synonyms))
        column = noun.many if plural else noun.column
        tantum = noun.column == 5
        if tantum:
            column, plural = 5, True
        arg.column, arg.plural, arg.agree, arg.na = column, plural, AGREES[column], noun.na
        arg.indefinite = det == "a" or (det == "" and not np.genitive)
        parts = []
        if det:
            if counted is not None:
                nominative = counted[2] if tantum else counted[noun.column == 2]
                gen, dat, pre, ins, _ = counted[3].split()
                parts.append((nominative, gen, dat, gen if column == 4 else nominative, ins, pre))
            elif det == own:
                parts.append(_OWN[column])
            elif det in _FIXED:
                parts.append(_FIXED[det])
            elif det in _DECLINED:
                parts.append(_DECLINED[det][column])
        senses = []
        if np.adjectives:
            degree = np.degree
            for name in np.adjectives:
                adjective = _ADJECTIVES[name]
                if key in adjective.at:
                    adjective = adjective.at[key]
                elif adjective.synonyms:
                    adjective = self.choose((adjective, *adjective.synonyms))
                forms = adjective.forms[column]
                if counted is not None:
                    first = forms[0] if noun.column == 2 else forms[1]
                    forms = (first, *forms[1:3], forms[1] if column == 4 else first, *forms[4:])
                if adjective.rivals:
                    senses.append((forms, [r.forms[column] for r in adjective.rivals]))
                if degree:
                    parts.append((self.choose(ADVERBS[degree]),) * 6)
                    degree = ""
                parts.append(forms)
        forms = noun.pl if plural else noun.sg
        if counted is not None:
            first = forms[1] if tantum else noun.count
            forms = (first, *forms[1:3], forms[1] if column == 4 else first, *forms[4:])
        if _SENSES.get(key):
            senses.append((forms, [(n.pl if plural else n.sg) for n in map(_NOUNS.get, _SENSES[key])]))
        parts.append(forms)
        arg.senses = senses
        arg.forms = forms if len(parts) == 1 else tuple([" ".join(x) for x in zip(*parts, strict=True)])
        if noun.loc and not plural:
            arg.loc = " ".join([*[x[PRE] for x in parts[:-1]], noun.loc])
        if det == "many":
            arg.direct = " ".join(["много", *[x[GEN] for x in parts[1:]]])
        arg.short = not (np.genitive or np.place or np.relative)
        if np.genitive is not None:
            inner = self.phrase(np.genitive, own)
            arg.rest = " " + (self.put(inner, GEN, "от") if key == "key" else self.put(inner, GEN))
        if np.place is not None:
            arg.rest += " " + self.place(np.place, own, "")[0]
        if np.relative is not None:
            arg.rest += " , " + self.full(np.relative, "relative", arg) + " ,"
        self.coordinate(arg, np, own)
        return arg

    def coordinate(self, arg: _Arg, np: NP, own: str) -> None:
        if np.coordinate is not None:
            arg.second = self.phrase(np.coordinate, own)
            arg.agree, arg.plural, arg.short = 3, True, False
            arg.person = min(arg.person, arg.second.person)

    def put(self, arg: _Arg, case: int, preposition: str = "") -> str:
        """The words of a noun phrase in a case, with what follows them."""
        forms = arg.forms if not preposition or arg.after is None else arg.after
        wanted = forms[case]
        if case == PRE and arg.loc and preposition in ("в", "на"):
            wanted = arg.loc
        elif case == ACC and arg.direct and not preposition:
            wanted = arg.direct
        if case:
            self.mark("case", wanted, forms)
        for own, others in arg.senses:
            word = arg.loc.split()[-1] if wanted == arg.loc and own[PRE] in arg.forms[PRE].split()[-1:] else own[case]
            if wanted == arg.direct:
                word = own[GEN]
            self.mark("word sense", word, [x[case] for x in others])
        text = f"{sound(preposition, wanted)} {wanted}{arg.rest}" if preposition else wanted + arg.rest
        if arg.second is not None:
            text += " и " + self.put(arg.second, case)
        return text

    def place(self, pp: PP, own: str, verb: str) -> tuple[str, str]:
        """A prepositional phrase and its kind; with verbs of arriving a place is a goal."""
        key, arg = pp.preposition, self.phrase(pp.np, own)
        kind = _KIND_OF[key]
        if key in _INSTEAD:
            preposition, case = self.choose((_PLACES[key], _INSTEAD[key]))
        else:
            preposition, case = _PLACES[key]
        if arg.na:
            preposition = {"в": "на", "из": "с"}.get(preposition, preposition)
        if key == "at" and pp.np.noun == "bridge":
            preposition, case = "у", GEN
        elif key == "during" and pp.np.noun == "night":
            preposition = "в течение"
        elif key == "in_time" and pp.np.determiner == "every":
            case = ACC
        if case == PRE and verb in _ARRIVING:
            case, kind = ACC, "goal"
        return self.put(arg, case, preposition), kind

    # -- clauses
    def full(self, c: Clause, role: str, head: _Arg | None = None, shift: bool = False, lasting: bool = False) -> str:
        """A clause with those joined to it."""
        text = ""
        if c.subordinate is not None:
            key, inner, first = c.subordinate
            ahead = (c.tense == "future" or c.imperative or shift) and key != "because" and key != "although"
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

    def verb(self, c: Clause, head: _Arg | None) -> words.Verb:
        """The Russian verb: by sense, and within it by object, subject and distance."""
        key = c.verb
        outside = head.np.noun if head is not None else ""
        object_ = c.object.noun if c.object is not None else outside if c.gap == "object" else ""
        subject = c.subject.noun if c.subject is not None else outside if c.gap == "subject" else ""
        if key in ("go", "come") and _CLASS.get(subject, "person") != "animal":
            for pp in c.places:
                if pp.np.noun in _FAR or (pp.np.noun not in _CLASS and _KIND_OF[pp.preposition] in ("goal", "source")):
                    key += ".far"
                    break
        entry = _VERBS[key]
        verb = entry.usual
        if subject in entry.subjects and object_ != "soup":
            verb = entry.subjects[subject]
        elif object_ in entry.objects:
            verb = entry.objects[object_]
        return self.choose((verb, *verb.synonyms)) if verb.synonyms else verb

    def clause(self, c: Clause, role: str, head: _Arg | None, shift: bool, lasting: bool) -> str:
        key, modal, negated, question, passive = c.verb, c.modal, c.negated, c.question, c.passive
        tense = "past" if c.tense == "perfect" else c.tense
        if shift and tense == "present" and not modal:
            tense = "future"
        main = role == "main" and not question and not c.imperative
        verb = self.verb(c, head)

        # adverbs: at the start, before the verb, next to the verb, at the end
        start, before, near, end, frequent, sudden, goal = [], [], [], [], False, False, False
        for item in c.adverbs:
            name, kind = item.adverb, _KINDS[item.adverb]
            word = self.choose(ADVERBS[name])
            if name == "badly.much" and key != "need":
                word = "сильно"
            elif negated and name in ("often", "always") and not c.imperative:
                # what is denied is how often, not what happens
                word, negated = "не " + word, False
            sudden = sudden or name in _SUDDEN
            if kind == "manner":
                near.append(word)
            elif kind == "place":
                if key in _ARRIVING:
                    word, goal = {"here": "сюда", "there": "туда"}[name], True
                end.append(word)
            elif kind == "sentence" and name != "really":
                if item.position == "initial":
                    start.append(word + " ,")
                else:
                    before.append(f", {word} ,")
            elif item.position == "initial" or (
                item.position == "final" and main and kind == "time" and name != "soon" and self.random() >= LATE
            ):
                start.append(word)
                frequent = frequent or kind == "frequency"
            else:
                before.append(word)
                frequent = frequent or kind == "frequency"

        # who takes part
        agent_np = c.subject
        subject = None
        own = ""
        patient = c.object if passive else agent_np
        if c.gap == "subject" and not passive:
            subject, own = head, _pointing(head.np)
        elif c.imperative:
            own = "your"
        elif question == "who":
            own = "his"
        elif patient is not None:
            own = _pointing(patient)
        if key == "be" or key in ("know.person", "need"):
            return self.copular(c, role, head, tense, own, negated, start, before, near, end, frequent)

        # aspect and the way of going
        local = companion = False
        places, later = [], []
        for pp in c.places:
            kind = _KIND_OF[pp.preposition]
            if kind in ("goal", "source") or (kind == "place" and key in _ARRIVING):
                goal = True
            elif kind == "place":
                local = True
            elif kind == "companion":
                companion = True
        toward = question == "where" and (key in _ARRIVING or key in _MOVING)
        goal = goal or toward
        aspect = _aspect(c, verb, tense, frequent, sudden, lasting)
        form = verb.p if aspect == "p" else verb.i
        if verb.fro is not None:
            to_and_fro = frequent or (aspect == "i" and not c.progressive and not lasting)
            if key in _MOVING:
                if not goal and not c.imperative:
                    single = key == "run.go" and not (modal or companion)
                    to_and_fro = to_and_fro or local or not (c.progressive or single)
            elif key == "carry":
                to_and_fro = frequent or (tense == "present" and not (c.progressive or modal or c.imperative))
            else:
                to_and_fro = frequent or (c.imperative and negated)
            if to_and_fro:
                form, aspect = verb.fro, "i"
        other = verb.i if aspect == "p" else verb.p

        # a participle where there is one and the event is single; else the object comes first and the verb stays active
        participle = passive and aspect == "p" and form.participle is not None and (tense != "present" or modal)
        if participle and modal == "should" and agent_np is None:
            participle = False
        if passive and not participle:
            own = ""
        obj = None
        if c.gap == "object":
            obj = head
        elif c.object is not None:
            obj = self.phrase(c.object, "" if passive else own)
        agent = None
        if agent_np is not None:
            agent = self.phrase(agent_np, own if participle else "")
        elif c.gap == "subject":
            agent = head
        subject = obj if participle else agent
        recipient = self.phrase(c.recipient, own) if c.recipient is not None else None
        for pp in c.places:
            text, kind = self.place(pp, own, key)
            if kind == "time" and main and not start and self.random() < LATE:
                start.append(text)
            else:
                places.append(text)
                later.append(kind)

        # who the verb agrees with
        dative = modal == "should" and not participle
        if participle and obj is None:
            person, agree = 2, 2  # what
        elif passive and not participle and agent is None:
            person, agree = 5, 3
        elif subject is None:
            person, agree = (1, 0) if c.imperative else (2, 0)
        else:
            person, agree = subject.person - 1 + 3 * subject.plural, subject.agree
        if dative and passive and agent is not None:
            dative, modal = False, "must"

        # the finite word and what follows it
        no = "не " if negated else ""
        rest: list[str] = []
        if c.imperative:
            finite = form.imperative
            self.told(verb, form, other, "imperative", 0, aspect)
        elif participle:
            rest = [form.participle[agree]]
            self.mark("agreement", rest[0], form.participle)
            self.told(verb, form, None, "participle", agree, aspect)
            finite = self.copula(tense if c.tense != "perfect" or negated else "present", modal, person, agree)
            if modal == "should":
                finite = _MUST[agree]
            if modal:
                rest.insert(0, "быть")
        elif modal:
            rest = [form.infinitive]
            self.told(verb, form, other, "infinitive", 0, aspect)
            finite = "следует" if dative else self.modal(modal, tense, person, agree, shift)
        elif tense == "future" and aspect == "i":
            finite, rest = _BE.i.present[person], [form.infinitive]
            self.mark("agreement", finite, _BE.i.present_others[person])
            self.told(verb, form, other, "infinitive", 0, aspect)
        elif tense == "past":
            finite = form.past[agree]
            self.mark("agreement", finite, form.past_others[agree])
            self.told(verb, form, other, "past", agree, aspect)
        else:
            finite = form.present[person]
            self.mark("agreement", finite, form.present_others[person])
            self.told(verb, form, other, "present", person, aspect)
        if finite == "":
            rest[0] = no + rest[0]
        else:
            finite = no + finite
        # a manner adverb stands before what it describes, after a negated verb
        if rest and (rest[0] != "быть" or len(rest) == 1):
            group = [finite, *near, *rest]
        elif rest:
            group = [finite, rest[0], *near, *rest[1:]]
        elif negated:
            late = obj is not None and obj.np.pronoun
            group, end = [finite, *([] if late else near)], [*near, *end] if late else end
        else:
            group = [*near, finite]
        if verb.extra:
            group.insert(group.index(rest[-1] if rest else finite) + 1, verb.extra)

        # the object's case
        case, preposition = verb.case, verb.preposition
        if negated and obj is not None and case == ACC and not preposition and obj.indefinite and obj is not head:
            case = ACC if _CLASS[obj.np.noun] in ("person", "animal") else GEN
        front, text_subject, objects, after = "", "", [], []
        if c.gap == "subject":
            front = self.which(head, DAT if dative else NOM)
            if passive:
                front = self.which(head, INS if participle else NOM)
        elif question == "who":
            front = "кому" if dative else "кто"
        if c.gap == "object":
            front = self.which(head, NOM) if participle else self.which(head, case, preposition)
        elif question == "what":
            word = "что" if participle else _WHAT[case]
            front = f"{preposition} {word}" if preposition and not participle else word
        elif question in _WHY:
            front = "куда" if toward else _WHY[question]
        if agent is not None and c.gap != "subject":
            if participle:
                after.append(self.put(agent, INS))
            else:
                text_subject = self.put(agent, DAT if dative else NOM)
        if obj is not None and c.gap != "object" and question != "what":
            if participle:
                text_subject = self.put(obj, NOM)
            else:
                objects.append(self.put(obj, case, preposition))
                if key in _PLAYED:
                    other = _PLAYED[key]
                    forms = obj.forms if obj.after is None else obj.after
                    self.mark("word sense", f"{preposition} {forms[case]}", (f"{other[0]} {forms[other[1]]}",))
        if recipient is not None:
            text = self.put(recipient, DAT)
            swap = obj is None or passive or (obj.short and not recipient.short) or c.gap == "object"
            if (obj is not None and obj.np.pronoun) or (not swap and self.random() < LATE and recipient.short):
                swap = True
            objects = [*objects, text] if swap else [text, *objects]
        if c.complement is not None:
            inner = self.full(c.complement, "complement", None)
            places.append(f", что {inner} ,")
        tail = [*after, *end, *places]

        if passive and not participle:
            fronted = objects[0] if obj is not None and c.gap != "object" else ""
            others = objects[1:] if fronted else objects
            if fronted and len(group) == 1 and not negated:
                self.orders.append((obj.forms[verb.case].split()[-1], finite))
            return " ".join([*start, front, fronted, *before, *group, text_subject, *others, *tail])
        if question in ("what", "where", "when") and subject is not None and not subject.np.pronoun and not dative:
            simple = len(group) == 1 and not before and not participle
            if simple and (not objects and (subject.short or not places)):
                if not negated:
                    self.orders.append((finite, subject.forms[NOM].split()[-1]))
                return " ".join([front, finite, text_subject, *tail])
        if (
            question == "polar" and not negated and not dative and not participle and subject is not None and not before
            and self.random() < 0.3 and not (near and obj is not None and obj.np.pronoun)
        ):  # fmt: skip
            group.remove(finite)
            return " ".join([*start, finite, "ли", text_subject, *group, *objects, *tail])
        if (
            key in _APPEARING and main and not modal and not negated and agent.indefinite and "companion" not in later
            and not agent.np.pronoun and tense == "past"
        ):  # fmt: skip
            if len(group) == 1:
                self.orders.append((finite, agent.forms[NOM].split()[-1]))
            return " ".join([*start, *places, *before, *group, *end, text_subject])
        return " ".join([*start, front, text_subject, *before, *group, *objects, *tail])

    def told(self, verb, form, other, slot: str, index: int, aspect: str) -> None:
        """Marks of aspect and sense for a verb's form."""
        wanted = getattr(form, slot)
        single = slot in ("imperative", "infinitive")
        if not single:
            wanted = wanted[index]
        if other is not None:
            found = getattr(other, slot)
            if found is not None:
                self.mark("tense", wanted, (found if single else found[index],))
        if verb is _KNOW:
            self.mark("word sense", wanted, _KNOWN)
        if verb.rivals:
            others = []
            for rival in verb.rivals:
                found = getattr(rival.p if aspect == "p" and rival.p is not None else rival.i, slot)
                if found is not None:
                    others.append(found if single else found[index])
            self.mark("word sense", wanted, others)

    def copula(self, tense: str, modal: str, person: int, agree: int) -> str:
        """The finite form of "be" ("" in the present), or of a modal before it."""
        if modal:
            return self.modal(modal, tense, person, agree, False)
        if tense == "present":
            return ""
        if tense == "past":
            finite = _BE.i.past[agree]
            self.mark("agreement", finite, _BE.i.past_others[agree])
            self.mark("tense", finite, (_BE.i.present[person],))
        else:
            finite = _BE.i.present[person]
            self.mark("agreement", finite, _BE.i.present_others[person])
            self.mark("tense", finite, (_BE.i.past[agree],))
        return finite

    def modal(self, modal: str, tense: str, person: int, agree: int, shift: bool) -> str:
        if modal in ("must", "should"):
            self.mark("agreement", _MUST[agree], _MUST)
            return _MUST[agree] if tense == "present" else f"{_BE.i.past[agree]} {_MUST[agree]}"
        verb = _CAN if modal == "can" else _WANT
        if tense == "past":
            self.mark("agreement", verb.i.past[agree], verb.i.past)
            return verb.i.past[agree]
        form = verb.p if shift and modal == "can" else verb.i
        self.mark("agreement", form.present[person], form.present_others[person])
        return form.present[person]

    def which(self, head: _Arg, case: int, preposition: str = "") -> str:
        """The relative pronoun: gender and number of the noun outside, case of the role inside."""
        column = head.column
        word = _WHICH[column][case]
        self.mark("agreement", word, [_WHICH[x][case] for x in (0, 2, 3, 4)])
        self.mark("case", word, _WHICH[column])
        return f"{sound(preposition, word)} {word}" if preposition else word

    def copular(self, c, role, head, tense, own, negated, start, before, near, end, frequent) -> str:
        """Clauses whose predicate is an adjective or a noun: "be", "know" (be acquainted with), "need" (be necessary to)."""
        key, modal, question = c.verb, c.modal, c.question
        no = "не " if negated else ""
        attribute = c.attribute
        subject = head if c.gap == "subject" else self.phrase(c.subject) if c.subject is not None else None
        obj = head if c.gap == "object" else self.phrase(c.object, own if key != "need" else "") if c.object else None
        need = key == "need"
        dative = need or modal == "should"
        control = obj if need else subject
        if control is None:
            person, agree, column = (1, 0, 0) if c.imperative else (2, 2 if need else 0, 3 if need else 0)
        else:
            person, agree = control.person - 1 + 3 * control.plural, control.agree
            column = COLUMN[agree] if control.second is not None else control.column
            if need and control.direct:  # "many" as what is needed: нужно много
                person, agree = 2, 2
        rest, after = [], []
        # what will be needed once is said by a verb of its own
        future = need and tense == "future" and not (frequent or modal or near)
        if need or key == "know.person":
            forms = _NEEDED if need else _KNOWN
            rest = [forms[agree]]
            if future:
                rest = []
            else:
                self.mark("agreement", forms[agree], forms)
            if not need:
                self.mark("word sense", rest[0], (_KNOW.i.infinitive, _KNOW.i.present[person], _KNOW.i.past[agree]))
        elif isinstance(attribute, str):
            adjective = _ADJECTIVES[attribute]
            noun = subject.np.noun if subject is not None else ""
            if noun in adjective.at:
                adjective = adjective.at[noun]
            elif adjective.synonyms:
                adjective = self.choose((adjective, *adjective.synonyms))
            if modal or c.imperative or (adjective.short is None and tense != "present"):
                word = adjective.forms[column][INS]
                rivals = [r.forms[column][INS] for r in adjective.rivals]
                self.mark("case", word, adjective.forms[column])
                self.mark("agreement", word, [adjective.forms[x][INS] for x in (0, 2, 4)])
            elif adjective.short is not None:
                word = adjective.short[agree]
                rivals = [r.short[agree] if r.short else r.forms[column][NOM] for r in adjective.rivals]
                self.mark("agreement", word, adjective.short)
            else:
                word = adjective.forms[column][NOM]
                rivals = [r.forms[column][NOM] for r in adjective.rivals]
                self.mark("agreement", word, [adjective.forms[x][NOM] for x in (0, 2, 3, 4)])
            self.mark("word sense", word, rivals)
            rest = [self.choose(ADVERBS[c.degree]), word] if c.degree else [word]
        elif attribute is not None:
            predicate = self.phrase(attribute)
            case = INS if modal or c.imperative or tense != "present" or role == "relative" else NOM
            rest = [self.put(predicate, case)]
        # the finite word
        finite = ""
        if c.imperative:
            finite = "будь"
        elif modal == "should":
            finite = "следует"
        elif future:
            finite = _NEED_SOON.p.present[person]
            self.mark("agreement", finite, _NEED_SOON.p.present_others[person])
        elif isinstance(attribute, NP) and tense == "present" and not modal and role == "relative":
            finite = "являются" if subject.plural else "является"
        else:
            finite = self.copula(tense, modal, person, agree)
        if modal:
            rest.insert(0, "быть")
        if finite:
            finite = no + finite
        elif near and negated:
            # "не очень нужен", "не очень хорошо знаком"
            near = [no + ("очень хорошо" if near[0] == "хорошо" else near[0]), *near[1:]]
        elif rest:
            rest[0] = no + rest[0]
        dash = (
            isinstance(attribute, NP) and not finite and not negated and not before and role != "relative" and not question
            and subject is not None and not subject.np.pronoun
        )  # fmt: skip
        objects, front, text = [], "", ""
        if c.gap == "subject":
            front = self.which(head, DAT if dative else NOM)
        elif question == "who":
            front = "кому" if dative else "кто"
        elif subject is not None:
            text = self.put(subject, DAT if dative else NOM)
        if c.gap == "object":
            front = self.which(head, NOM) if need else self.which(head, INS, "с")
        elif obj is not None:
            if need and obj.np.pronoun and text:
                # what is known already comes first: "он мне нужен", "он нужен врачу"
                front, objects = obj.forms[NOM], [] if subject.np.pronoun else [text]
                text = text if subject.np.pronoun else ""
            elif need:
                objects = [obj.direct + obj.rest if obj.direct else self.put(obj, NOM)]
                if not obj.np.pronoun:
                    self.mark("case", obj.direct or obj.forms[NOM], obj.forms)
            else:
                objects = [self.put(obj, INS, "с")]
        elif question == "what":
            front = "что" if need else "с кем"
        elif question in _WHY:
            front = _WHY[question]
        places = [self.place(pp, own, key)[0] for pp in c.places]
        group = [finite, *near, *rest]
        if c.gap == "object" and need and text:
            return " ".join([front, *before, *group, text, *end, *places])
        return " ".join([*start, front, text, *before, *(["—"] if dash else []), *group, *objects, *after, *end, *places])


def _pointing(np: NP) -> str:
    """The possessive determiner that points back to a subject."""
    if np.person == 1:
        return "my" if np.number == "sg" and np.coordinate is None else "our"
    if np.person == 2:
        return "your"
    if np.number == "pl" or np.coordinate is not None or np.determiner in ("two", "three", "many"):
        return "their"
    cls = _CLASS.get(np.noun)
    if cls is not None and cls != "person":
        return ""
    return "her" if (_NOUNS.get(np.noun) or words.tail_noun(np.noun)).column == 2 else "his"


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


def missing() -> list[str]:
    """Keys of the lexicon that have no Russian."""
    found = [k for k, noun in lexicon.nouns().items() if noun.tail is None and k not in _NOUNS]
    found += [k for k in lexicon.verbs() if k not in _VERBS] + [k for k in lexicon.adjectives() if k not in _ADJECTIVES]
    found += [k for k in lexicon.adverbs() if k not in ADVERBS] + [k for k in lexicon.PREPOSITIONS if k not in _PLACES]
    found += [k for k in (*lexicon.SUBORDINATORS, *lexicon.COORDINATORS) if k not in _CONJUNCTIONS]
    known = {"the", "a", "", *_DECLINED, *_FIXED, *_COUNTED}
    found += [k for k in lexicon.DETERMINERS if k not in known]
    found += [k for k in lexicon.MODALS if k not in ("can", "must", "want", "should")]
    return found + [
        w.kind for w in lexicon.tail().values() if w.kind not in words.SUFFIX and w.kind not in ("forename_m", "surname")
    ]


def realise(clause: Clause, register: str, rng: random.Random) -> Words:
    """Put a sentence plan into Russian.

    Parameters
    ----------
    clause : Clause
        What is said.
    register : str
        "news" or "subtitles"; Russian says both alike.
    rng : random.Random
        Dice for the choice between translations.

    Returns
    -------
    Words
        Words with the final punctuation, and the marks to score a translation by.
    """
    run = _Run(rng)
    out: list[str] = []
    for word in run.full(clause, "main").split():
        # a comma that closes one clause also opens the next
        if word != "," or (out and out[-1] != ","):
            out.append(word)
    if out[-1] == ",":
        out.pop()
    out.append("?" if clause.question else ".")
    marks = run.marks
    for first, second in run.orders:
        if out.count(first) == 1 and out.count(second) == 1:
            marks.append(("verb position", first, (second,)))
    return Words(out, marks)
