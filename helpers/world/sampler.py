"""Draws sentence plans: who does what to whom in the small world, in the manner of news or of subtitles.

A budget of words, drawn first, decides how much is said; words within a class follow Zipf's law; the rare words of the
tail take a fixed share of each class. What decides the sense of an ambiguous word or the gender of "it" is always said.
Weights and chances stand in `words/weights.tsv`, `words/determiners.tsv` and `words/registers.tsv`.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from types import SimpleNamespace

from helpers.world import lexicon
from helpers.world.meanings import NP, PP, Adverb, Clause
from helpers.world.word_tables import read

Table = tuple[tuple, list[float]]


def _table(weights: dict) -> Table:
    """Items and cumulative chances; the last is left out, so that `bisect` never runs over the end."""
    keys = tuple(key for key, weight in weights.items() if weight > 0)
    total = sum(weights[key] for key in keys)
    return keys, list(accumulate(weights[key] / total for key in keys[:-1]))


def _weights(rows: Iterable[dict[str, str]], name: str, *item: str) -> dict[str, dict]:
    """Weights by name of a table, and item."""
    tables: dict[str, dict] = {}
    for row in rows:
        key = tuple(row[column] for column in item)
        tables.setdefault(row[name], {})[key if len(item) > 1 else key[0]] = float(row["weight"])
    return tables


REGISTERS: dict[str, SimpleNamespace] = {}  # what tells one from another, see `words/registers.tsv`
for _row in read("registers"):
    _register, _weight = REGISTERS.setdefault(_row["register"], SimpleNamespace()), float(_row["weight"])
    if _row["item"]:
        vars(_register).setdefault(_row["name"], {})[_row["item"]] = _weight
    else:
        setattr(_register, _row["name"], _weight)
GROUPS = {row["group"]: frozenset(row["keys"].split()) for row in read("groups")}
GROUPS["stative"] |= GROUPS["mental"]
GROUPS["no want"] |= GROUPS["no modal"]
GROUPS["timeless"] |= GROUPS["mental"] - {"see", "hear"}
UNREPEATED = GROUPS["once"] | GROUPS["lasting"]
OF_ONE = GROUPS["unique"] | GROUPS["kin"]
COPULAR = frozenset(("be",))
EVENTS = frozenset(lexicon.VERBS) - GROUPS["mental"] - GROUPS["not events"]
RELATIVE = frozenset(lexicon.VERBS) - GROUPS["not relative"]
CAPABLE = frozenset(lexicon.VERBS) - GROUPS["no modal"]
DETERMINERS = _weights(read("determiners"), "kind", "determiner", "number")
WEIGHTS = _weights(read("weights"), "table", "item")
WHERE, WHEN, MODIFIER, JOINS = (_table(WEIGHTS[name]) for name in ("where", "when", "modifier", "join"))
STAGE = {"on": "island mountain ship bridge bank.river", "under": "bridge"}  # where people act
AMBIGUOUS_BOOST = 2.0


def _ranked(keys: Iterable[str], shift: float) -> dict[str, float]:
    """Weights by rank after Zipf (and Mandelbrot)."""
    return {key: 1 / (rank + shift) for rank, key in enumerate(keys)}


def _sensed(keys: Iterable[str]) -> dict[str, float]:
    """Weights by rank; the senses of an ambiguous word share theirs evenly and have more of it."""
    weights, senses = _ranked(keys, 4), {}
    for key in weights:
        senses.setdefault(lexicon.sense(key), []).append(key)
    for group in senses.values():
        if len(group) > 1:
            weights.update(dict.fromkeys(group, AMBIGUOUS_BOOST * sum(map(weights.get, group)) / len(group)))
    return {key: weight * WEIGHTS["balance"].get(key, 1) for key, weight in weights.items()}


def _kind(noun: lexicon.Noun) -> str:
    if noun.mass:
        return "game" if noun.cls == "game" else "mass"
    if noun.tail and noun.tail.kind == "logy":
        return "field"
    for kind in ("single", "kin", "unique"):
        if noun.key in GROUPS[kind]:
            return kind
    return "thing" if noun.cls in ("text", "food", "vehicle", "garment") else noun.cls


def _heavy(clause: Clause) -> bool:
    """Whether something after the verb ends in a relative clause, so that nothing more can follow it."""
    phrases = (clause.recipient, clause.subject if clause.passive else clause.object, clause.attribute)
    return any(np.__class__ is NP and np.relative is not None for np in (*phrases, *(pp.np for pp in clause.places)))


class Spent(Exception):
    """A text asks for more words of a small class than there are: it is given up."""


class World:
    """The small world as one of `REGISTERS` tells it: every table of chances, and the dice, `random`."""

    def __init__(self, register: str):
        self.reg = reg = REGISTERS[register]
        self.random = random.random
        self.clauses = 0  # beyond the main one, in the sentence being drawn
        self.nouns, self.verbs, self.adverbs = lexicon.NOUNS, lexicon.VERBS, lexicon.ADVERBS
        self.people = frozenset(lexicon.select("person"))
        self.tables: dict = {}  # made when first needed
        self.noun_weights = self._noun_weights()
        self.rank = {key: rank for rank, key in enumerate(self.noun_weights)}
        self.subjects = {verb: frozenset(entry.subjects) for verb, entry in self.verbs.items()}
        self.verb_weights = _sensed(self.verbs)
        weights = _sensed(lexicon.ADJECTIVES)
        self.adjective_weights: dict[str, dict[str, float]] = {key: {} for key in self.nouns}
        for key, takes in lexicon.ADJECTIVES.items():
            for noun in takes:
                self.adjective_weights[noun][key] = weights[key]
        rows = {kind: _table(row) for kind, row in DETERMINERS.items()}
        self.determiners = {key: rows[_kind(noun)] for key, noun in self.nouns.items()}
        listed: dict[str, list[str]] = {}
        for key, word in lexicon.NAMES.items():
            listed.setdefault(word.kind, []).append(key)
        turns = zip(listed["forename_m"], listed["forename_f"], strict=True)
        self.forenames = _table(_ranked([key for turn in turns for key in turn], 2))
        self.surnames = _table(_ranked(listed["surname"], 2))
        self.towns = _table(_ranked(listed["town"], 2))
        self.female = lexicon.FEMALE
        self.kinds, self.joins, self.tenses = _table(reg.kinds), _table(reg.joins), _table(reg.tenses)
        self.lasting = _table({t: w for t, w in reg.tenses.items() if t in ("past", "present")})
        self.questions, self.possessors = _table(WEIGHTS["question"]), _table(reg.possessors)
        self.spends = _table({getattr(self, "add_" + way): weight for way, weight in reg.spend.items()})
        self.anybody = self.noun_table("help", "object")

    # -- chances
    def pick(self, table: Table):
        keys, chances = table
        return keys[bisect(chances, self.random())]

    def table(self, key, weights: Callable[[], dict]) -> Table:
        """A table that is made when it is first needed."""
        made = self.tables.get(key)
        if made is None:
            made = self.tables[key] = _table(weights())
        return made

    def _noun_weights(self) -> dict[str, float]:
        weights: dict[str, float] = {}
        for cls in dict.fromkeys(noun.cls for noun in self.nouns.values()):
            core = [k for k, n in self.nouns.items() if n.cls == cls and not n.tail]
            rare = [k for k, n in self.nouns.items() if n.cls == cls and n.tail]
            share = self.reg.tail if rare else 0.0
            for keys, part, shift in ((core, 1 - share, 2), (rare, share, 4)):
                chances = _ranked(keys, shift)
                scale = WEIGHTS["class"].get(cls, 1.0) * part / (sum(chances.values()) or 1)
                weights.update((key, scale * chance * WEIGHTS["balance"].get(key, 1)) for key, chance in chances.items())
        return weights

    def noun_table(self, verb: str, role: str) -> Table:
        """Nouns as subject or object of a verb, without those whose sense the verb would leave open."""

        def weights() -> dict[str, float]:
            entry, bats = self.verbs[verb], {"bat.animal", "bat.club"}
            keys = set(entry.subjects if role == "subject" else entry.objects)
            keys -= bats if bats <= keys else set()
            return {key: self.noun_weights[key] for key in sorted(keys, key=self.rank.get)}

        return self.table((verb, role), weights)

    def nouns_of(self, classes: str) -> Table:
        """Nouns of a list of classes and nouns; not the bats, which it would leave open."""
        keys = lexicon.select(classes)
        return self.table(classes, lambda: {k: self.noun_weights[k] for k in keys if not k.startswith("bat.")})

    def verb_table(self, subject: str, that: bool, among: frozenset | None = None) -> Table:
        """Verbs that a subject ("" for any) can have."""
        return self.table((subject, that, among), lambda: {
            verb: self.verb_weights[verb] * (self.reg.that if entry.clause else 1)
            for verb, entry in self.verbs.items()
            if (not subject or subject in self.subjects[verb]) and (that or not entry.clause)
            and (among is None or verb in among)
        })  # fmt: skip

    def verbs_taking(self, noun: str) -> Table:
        """Verbs of which a person is the subject and this noun can be the object, in a relative clause."""
        return self.table(("taking", noun), lambda: {
            verb: self.verb_weights[verb] for verb, entry in self.verbs.items()
            if noun in self.noun_table(verb, "object")[0] and not entry.preposition and "teacher" in entry.subjects
        })  # fmt: skip

    def of_class(self, np: NP) -> str:
        noun = self.nouns.get(np.noun)
        return "person" if noun is None else noun.cls

    def common(self, np: NP) -> str:
        """The noun that stands for a name or pronoun where it matters what goes with it."""
        if np.person != 3 or np.noun not in self.nouns:
            return "woman" if np.noun in self.female else "man"
        return np.noun

    # -- noun phrases
    def owner(self, subject: NP | None) -> str:
        """The possessive determiner that points to the subject, or to someone else where there is none."""
        if subject is None:
            return self.pick(self.possessors)
        if subject.person == 1:
            return "my" if subject.number == "sg" else "our"
        if subject.person == 2:
            return "your"
        if self.of_class(subject) != "person":
            return "the"
        if subject.many:
            return "their"
        return "her" if subject.noun in self.female else "his"

    def noun_phrase(self, key: str, subject: NP | None = None) -> NP:
        if key == "bank.river":
            return NP(key, determiner="the", genitive=NP("river", determiner="the"))
        determiner, number = self.pick(self.determiners[key])
        if determiner == "poss":
            determiner = self.owner(subject) if key not in ("man", "woman") else "the"
        return NP(key, False, 3, number, determiner)

    def choose(self, table: Table, subject: NP | None = None) -> NP:
        """A noun phrase of one of the nouns; where any person may stand, a name may."""
        key = self.pick(table)
        if key in self.people and self.random() < self.reg.name and "teacher" in table[0] and "woman" in table[0]:
            surname = self.pick(self.surnames) if self.random() < self.reg.surname else ""
            return NP(self.pick(self.forenames), surname=surname)
        return self.noun_phrase(key, subject)

    def pronoun_for(self, np: NP) -> NP:
        """The pronoun that takes up a noun phrase."""
        if np.pronoun:
            return NP(np.noun, True, np.person, np.number)
        number = "pl" if np.many else "sg"
        if self.of_class(np) == "person":
            return NP("woman" if np.noun in self.female and number == "sg" else "man", True, 3, number)
        return NP(np.noun, True, 3, number)

    def somebody(self) -> NP:
        """He, she or they."""
        r = self.random()
        return NP("man", True, 3, "pl") if r < 0.2 else NP("man" if r < 0.62 else "woman", True)

    def subject_for(self, verb: str, kind: str = "statement") -> NP:
        table, reg = self.noun_table(verb, "subject"), self.reg
        if "woman" in table[0] and "teacher" in table[0]:
            speaker, hearer = reg.speaker, reg.hearer
            if kind == "question":  # one asks about the other
                speaker, hearer = speaker * 0.25, hearer + speaker * 0.6
            r = self.random()
            if r < speaker:
                return NP("", True, 1, "pl" if r < speaker * 0.25 else "sg")
            if r < speaker + hearer:
                return NP("", True, 2)
            if r < speaker + hearer + (1 - speaker - hearer) * reg.pronoun:
                return self.somebody()
        return self.choose(table)

    def object_for(self, verb: str, subject: NP | None) -> NP:
        table = self.noun_table(verb, "object")
        if "woman" in table[0] and "teacher" in table[0]:
            human = self.tables.get((verb, "human"))
            if human is None:
                weights = {k: self.noun_weights[k] for k in table[0]}
                human = sum(w for k, w in weights.items() if k in self.people) / sum(weights.values())
                self.tables[verb, "human"] = human
            if self.random() < self.reg.object_pronoun * human:
                return self.addressee(subject)
        np = self.choose(table, subject)
        if subject is not None and np.noun == subject.noun:
            np = self.choose(table, subject)
        return np

    def addressee(self, subject: NP | None) -> NP:
        """A person as a pronoun that is not the subject's own."""
        r, person = self.random(), 3 if subject is None else subject.person
        if person != 1 and r < 0.4:
            return NP("", True, 1, "sg" if r < 0.32 else "pl")
        if person != 2 and 0.4 <= r < 0.62:
            return NP("", True, 2)
        return self.somebody()

    def person(self, subject: NP | None) -> NP:
        """Anybody: the recipient, the companion."""
        if self.random() < self.reg.object_pronoun:
            return self.addressee(subject)
        return self.choose(self.anybody, subject)

    def place(self, preposition: str, acting: bool = False) -> NP:
        """A place; one where people act is not on or under the furniture."""
        if preposition in ("in", "to", "from", "near") and self.random() < self.reg.town:
            return NP(self.pick(self.towns))
        classes = STAGE.get(preposition) if acting else None
        key = self.pick(self.nouns_of(classes or lexicon.PREPOSITIONS[preposition].nouns))
        if key == "bank.river" or self.random() < 0.3:
            return self.noun_phrase(key)
        return NP(key, determiner="the")

    # -- clauses
    def clause(
        self, left: float, tense: str = "", subject: NP | None = None, role: str = "main", among: frozenset | None = None,
        kind: str = "statement",
    ) -> Clause:  # fmt: skip
        """A clause of about `left` words, with the tense and subject that it must have and the verbs to choose from, if any.

        `role` is "main", "reason" (beside another clause), "time" (after "when", "if" ...), "complement" or "relative"; `kind`
        is "statement", "question" or "imperative".
        """
        random, reg = self.random, self.reg
        statement = kind == "statement"
        that = left >= 6.5 and statement and self.clauses < reg.clauses and role in ("main", "reason")
        known = "" if subject is None else self.common(subject)
        table = self.verb_table(known, that, among)
        verb = self.pick(table if table[0] else self.verb_table(known, that))
        entry = self.verbs[verb]
        clause = Clause(verb)
        if verb == "be":
            self.copula(clause, subject, kind)
        elif kind == "imperative":
            clause.imperative = True
        elif subject is not None:
            clause.subject = subject
        elif entry.passive and statement and role != "relative" and random() < reg.passive:
            clause.passive = True
            clause.object = self.choose(self.noun_table(verb, "object"))
            if random() < reg.agent or verb in GROUPS["agent decides"]:
                clause.subject = self.choose(self.noun_table(verb, "subject"), clause.object)
        else:
            clause.subject = self.subject_for(verb, kind)
        self.time(clause, tense, kind, role)
        actor = NP("", True, 2) if clause.imperative else clause.subject
        if entry.objects and clause.object is None:
            clause.object = self.object_for(verb, actor)
        if entry.recipient and random() < (0.9 if verb in GROUPS["handed"] else 0.25):
            if not clause.passive or random() < 0.5:
                clause.recipient = self.person(actor)
        elif entry.goals and (verb in GROUPS["bound"] or random() < 0.55):
            options = entry.goals
            preposition = options[len(options) > 1 and random() < 0.4]
            clause.places = (PP(preposition, self.place(preposition)),)
        if kind == "question":
            self.ask(clause)
        if entry.clause:
            share = 3 + (left - 6.5) * (0.15 + 0.3 * random())
            self.clauses += 1
            self.spend(clause, share, role)
            clause.complement = self.complement(clause, left - share - 1)
        else:
            self.spend(clause, left, role)
        return clause

    def copula(self, clause: Clause, subject: NP | None, kind: str) -> None:
        """Fill in "is old" or "is a doctor"."""
        random = self.random
        while subject is None or not self.adjective_weights[self.common(subject)]:
            subject = self.subject_for("be", kind)
        clause.subject = subject
        noun = self.common(subject)
        if noun in self.people and not subject.many and random() < 0.22:
            gender = "f" if noun in self.female else "m"
            kin = random() < 0.4
            key = self.pick(self.attributes("kin" if kin else "trade", gender))
            if not kin:
                clause.attribute = NP(key, determiner="a")
            elif subject.pronoun:
                clause.attribute = NP(key, determiner=self.pick(self.possessors))
                if subject.person < 3 and clause.attribute.determiner in ("my", "our", "your"):
                    clause.attribute.determiner = "his"
            else:
                clause.attribute = NP(key, determiner="the", genitive=self.choose(self.anybody))
            return
        # what both bats can be does not tell them apart
        other = {"bat.animal": "bat.club", "bat.club": "bat.animal"}.get(noun, "")
        shared = self.adjective_weights.get(other, ())
        weights = self.adjective_weights[noun].items()
        clause.attribute = self.pick(self.table(("predicate", noun), lambda: {k: w for k, w in weights if k not in shared}))
        if random() < 0.2 and clause.attribute not in GROUPS["ungraded"]:
            clause.degree = ("very", "too", "quite", "extremely")[int(random() ** 2 * 4)]

    def attributes(self, kind: str, gender: str) -> Table:
        """Nouns for "is ...": kin or trades, of men or women."""
        return self.table((kind, gender), lambda: {
            k: w for k, w in self.noun_weights.items()
            if k in self.people and (k in self.female) == (gender == "f") and k not in GROUPS["role"]
            and (k in GROUPS["kin"]) == (kind == "kin")
        })  # fmt: skip

    def time(self, clause: Clause, tense: str, kind: str, role: str) -> None:
        """Choose tense, modal, negation and progressive."""
        random, reg, verb = self.random, self.reg, clause.verb
        if kind == "imperative":
            clause.tense, clause.negated = "present", random() < 0.15 or verb in GROUPS["forbidden"]
            return
        lasting = (
            verb in GROUPS["mental"]
            and verb != "see"
            and not (clause.attribute.__class__ is str and clause.attribute in GROUPS["temporary"])
        )
        clause.tense = tense or self.pick(self.lasting if lasting else self.tenses)
        clause.negated = role != "time" and random() < (reg.negated if role != "relative" else reg.negated / 3)
        tensed = clause.tense in ("present", "past")
        if tensed and verb not in GROUPS["no modal"] and role != "time" and random() < reg.modal:
            r = random()
            if r < 0.3 and verb not in GROUPS["no want"] and not clause.passive and (
                clause.subject is None or self.of_class(clause.subject) in ("person", "animal")
            ):  # fmt: skip
                clause.modal = "want"
            elif r < 0.65:
                clause.modal = "can"
            elif not tense or clause.tense == "present":
                clause.modal, clause.tense = ("must" if r < 0.85 else "should"), "present"
        elif tensed and verb not in GROUPS["stative"] and not clause.passive:
            clause.progressive = random() < reg.progressive[clause.tense]

    def complement(self, clause: Clause, left: float) -> Clause:
        """ "... that she sold the house": past after a past verb; the future is hoped for."""
        past, hope = clause.tense == "past", clause.verb == "hope"
        subject = None
        if clause.subject is not None and clause.verb != "hear" and self.random() < 0.35:
            cls = self.of_class(clause.subject)
            if cls == "person" or (clause.subject.relative is None and self.alone(clause.subject, clause)):
                subject = self.pronoun_for(clause.subject)
        among = CAPABLE if hope and past else None
        inner = self.clause(max(left, 3.5), "past" if past else "future" if hope else "", subject, "complement", among)
        if hope and past:
            inner.modal, inner.progressive = "can", False
            inner.adverbs = tuple(a for a in inner.adverbs if self.adverbs[a.adverb].kind in ("manner", "place"))
        if clause.negated:
            inner.negated = False
        return inner

    def ask(self, clause: Clause) -> None:
        """Turn the clause into a question."""
        question, verb = self.pick(self.questions), clause.verb
        if (
            (question == "what" and verb not in GROUPS["what"])
            or (question == "who" and ("teacher" not in self.verbs[verb].subjects or clause.attribute.__class__ is NP))
            or (question == "where" and (verb == "come" or (verb not in GROUPS["acting"] and not self.verbs[verb].goals)))
            or (question == "when" and (verb in GROUPS["timeless"] or clause.tense == "perfect"))
        ):
            question = "why" if self.random() < 0.2 else "polar"
        if question in ("what", "where", "when"):
            clause.negated = False
        if question == "what":
            clause.object = None
        elif question == "who":
            clause.subject = None
        elif question == "where":
            clause.places = ()
        clause.question = question

    # -- spending the budget
    def spend(self, clause: Clause, left: float, role: str) -> None:
        """Add modifiers until the clause has about `left` words."""
        left -= self.size(clause)
        if left < 0.5:
            return
        spots = [] if role == "relative" else [clause.subject]
        spots += (clause.object, clause.recipient, clause.attribute)
        spots = [np for np in spots if np.__class__ is NP and not np.pronoun]
        spots += [pp.np for pp in clause.places]
        random, (ways, chances) = self.random, self.spends
        for _ in range(12):
            left -= ways[bisect(chances, random())](clause, spots, left, role)
            if left < 0.5:
                return

    def size(self, clause: Clause) -> int:
        """Words of a clause as it stands, without inner clauses, with a punctuation mark."""
        size = 2 + (clause.tense in ("perfect", "future")) + clause.progressive + clause.passive + bool(clause.degree)
        size += (2 if clause.modal == "want" else clause.modal != "") + len(clause.adverbs)
        size += clause.negated + (clause.negated and clause.modal == "") + (clause.question not in ("", "polar"))
        if clause.attribute.__class__ is str:
            size += 1
        for np in (clause.subject, clause.object, clause.recipient, clause.attribute):
            if np.__class__ is NP:
                size += self.width(np)
        for pp in clause.places:
            size += 1 + self.width(pp.np)
        return size

    @staticmethod
    def width(np: NP) -> int:
        return 1 + (np.determiner != "") + (np.surname != "") + (3 if np.genitive is not None else 0)

    def one_of(self, spots: list[NP]) -> NP | None:
        return spots[int(self.random() * len(spots))] if spots else None

    def add_adjective(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        np = self.one_of(spots)
        if np is None or len(np.adjectives) > 1 or np.degree or np.noun not in self.nouns or np.noun == "bank.river":
            return 0
        if np.determiner == "" and self.nouns[np.noun].cls == "game":
            return 0
        predicate = (clause.attribute,) if np is clause.subject and clause.attribute.__class__ is str else ()
        rank = lexicon.ORDER
        key = (np.noun, *[rank[k] for k in (*np.adjectives, *predicate)])
        weights = self.adjective_weights[np.noun]
        table = self.table(key, lambda: {k: w for k, w in weights.items() if rank[k] not in key})
        if not table[0]:
            return 0
        np.adjectives = tuple(sorted((*np.adjectives, self.pick(table)), key=rank.__getitem__))
        return 1

    def add_degree(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        np, spent = self.one_of(spots), 0
        if np is None or np.degree:
            return 0
        if not np.adjectives:
            spent = self.add_adjective(clause, [np], left, role)
        if not np.adjectives or np.adjectives[0] in GROUPS["ungraded"] or np.determiner not in ("a", "the", "this", ""):
            return spent
        np.degree = "very" if self.random() < 0.6 else "extremely"
        return spent + 1

    def add_adverb(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        if len(clause.adverbs) > 1:
            return 0
        key = (
            clause.verb, clause.tense, clause.progressive, clause.modal, clause.negated, clause.passive, clause.question,
            clause.imperative, role, clause.attribute.__class__ is str and clause.attribute in GROUPS["temporary"],
        )  # fmt: skip
        adverb, position = self.pick(self.table(key, lambda: self.adverb_weights(*key)))
        if not adverb:
            return 0
        kind = self.adverbs[adverb].kind
        for other in clause.adverbs:
            kinds = {kind, self.adverbs[other.adverb].kind}
            if len(kinds) == 1 or other.position == position or kinds == {"frequency", "time"}:
                return 0
        if (kind == "place" and clause.places) or (position == "final" and _heavy(clause)):
            return 0
        if kind in ("time", "frequency") and any(pp.preposition in GROUPS["times"] for pp in clause.places):
            return 0
        if adverb in ("perhaps", "probably") and clause.subject is not None and clause.subject.person == 1:
            return 0
        clause.adverbs = (*clause.adverbs, Adverb(adverb, position))
        return 1

    def adverb_weights(self, verb, tense, progressive, modal, negated, passive, question, imperative, role, temporary) -> dict:
        """Adverbs and their places that a clause of this form can have."""
        statement = not question and not imperative
        timeless = verb in GROUPS["timeless"] and not (verb == "be" and temporary)
        kinds = {  # whether a clause of this form takes any
            "manner": question in ("", "polar", "who"),
            "frequency": tense in ("past", "present") and not progressive and not modal and verb not in UNREPEATED
            and role != "time" and question in ("", "polar", "why", "who") and (verb != "be" or temporary),
            "time": not imperative and question != "when" and role != "time" and not timeless,
            "place": verb in GROUPS["acting"] and question != "where" and role != "relative" and not passive,
            "sentence": statement and role not in ("relative", "time"),
            "degree": False,
        }  # fmt: skip
        event = not negated and question in ("", "polar") and not progressive and verb not in GROUPS["mental"] and not modal
        onset = event and not question and role in ("main", "complement") and verb not in GROUPS["during"]
        limits = {  # and what some adverbs ask for besides
            "often": not imperative, "always": not (imperative and negated), "usually": not negated and not imperative,
            "sometimes": statement and not negated, "rarely": statement and not negated,
            "recently": event, "already": event, "soon": event, "suddenly": onset, "finally": onset,
            "today": not modal and (tense in ("past", "future") or progressive or temporary),
            "now": progressive or temporary or modal in ("can", "must"),
            "yesterday": not modal, "tomorrow": not modal, "fortunately": tense in ("past", "perfect"),
        }  # fmt: skip
        doubted = verb in GROUPS["doubted"] and (negated or question == "polar")
        closed = {  # places that are not open
            kind: ("initial",) * (not statement or role != "main")
            + ("medial",) * (kind == "manner" and (negated or not statement or modal == "want"))
            for kind in kinds
        }
        weights = {("", ""): 6.0}  # none
        for adverb, entry in self.adverbs.items():
            kind = entry.kind
            if not (doubted if adverb == "really" else kinds[kind] and limits.get(adverb, True)):
                continue
            if kind == "manner" and (verb not in entry.verbs or (passive and adverb not in GROUPS["passive manner"])):
                continue
            if kind == "time" and entry.tense not in ("any", tense):
                continue
            for place in entry.positions:
                if place not in closed[kind]:
                    weights[adverb, place] = entry.weight * (1.4 if place == "final" else 0.7)
        return weights

    def add_place(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        """Where, when, with whom, for whom."""
        verb, places, random = clause.verb, clause.places, self.random
        actor = NP("", True, 2) if clause.imperative else clause.subject
        if left < 1.5 or len(places) > 1 or _heavy(clause) or self.verbs[verb].clause:
            return 0
        kinds = [lexicon.PREPOSITIONS[pp.preposition].kind for pp in places]
        adverb_kinds = [self.adverbs[a.adverb].kind for a in clause.adverbs]
        r = random()
        if r < 0.5:
            if verb not in GROUPS["acting"] or kinds or clause.question == "where" or "place" in adverb_kinds:
                return 0
            preposition = self.pick(WHERE)
            np = self.place(preposition, True)
        elif r < 0.72:
            if (
                verb in GROUPS["timeless"] or "time" in kinds or clause.question == "when" or clause.tense == "perfect"
                or "time" in adverb_kinds or "frequency" in adverb_kinds or role == "time"
                or (clause.object is not None and self.of_class(clause.object) == "event")
            ):  # fmt: skip
                return 0
            preposition = self.pick(WHEN)
            key = self.pick(self.nouns_of(lexicon.PREPOSITIONS[preposition].nouns))
            np = NP(key, determiner="the" if preposition == "in_time" or random() < 0.85 else "this")
        elif r < 0.86:
            if verb not in GROUPS["companion"] or "companion" in kinds or clause.passive or (clause.imperative and r > 0.83):
                return 0
            preposition = "with" if r < 0.82 else "without"
            np = self.person(actor) if random() < 0.9 else self.noun_phrase("dog", actor)
        else:
            if verb not in GROUPS["benefit"] or kinds or clause.recipient is not None:
                return 0
            preposition = "for"
            np = self.choose(self.nouns_of("organisation")) if random() < 0.25 else self.person(actor)
        if any(np.noun == other.noun != "" for other in spots):
            return 0
        pp = PP(preposition, np)
        clause.places = (pp, *places) if "time" in kinds else (*places, pp)
        if not np.pronoun:
            spots.append(np)
        return 1 + self.width(np)

    def add_genitive(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        np = spots[0] if spots and self.random() < 0.6 else self.one_of(spots)
        of = self.nouns[np.noun].of if np is not None and np.noun in self.nouns else ""
        if not of or left < 2 or np.followed or np.determiner in ("every", "many", "this", "two", "three"):
            return 0
        inner = NP(self.pick(self.towns)) if of == "town" else self.choose(self.nouns_of(of))
        if inner.noun in self.nouns and inner.determiner in ("", "many", "every"):
            inner.determiner, inner.number = "the", "sg"
        if (inner.noun in GROUPS["kin"] and inner.determiner != "the") or inner.noun == np.noun:
            return 0
        np.determiner, np.genitive = "the", inner
        return 1 + self.width(inner)

    def add_modifier(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        """A prepositional phrase at a noun: any at the subject, "about" at texts, "from" at persons."""
        np = spots[0] if spots and self.random() < 0.6 else self.one_of(spots)
        if (
            np is None or left < 2 or np.noun not in self.nouns or np.followed
            or np.noun in OF_ONE or np.determiner in self.reg.possessors
        ):  # fmt: skip
            return 0
        cls, subject = self.nouns[np.noun].cls, np is (clause.object if clause.passive else clause.subject)
        if cls == "text" and np.noun not in ("map", "list", "contract"):
            preposition = "about"
            inner = self.choose(self.nouns_of(lexicon.PREPOSITIONS["about"].nouns))
        elif cls == "person" and clause.verb not in GROUPS["bound"] and (not subject or self.random() < 0.6):
            preposition = "from"
            inner = NP(("village", "city", "island")[int(self.random() * 3)], determiner="the")
            if self.random() < self.reg.town:
                inner = NP(self.pick(self.towns))
        elif subject and cls in ("person", "animal", "thing", "vehicle", "place") and clause.question == "":
            preposition = "near" if cls == "place" else self.pick(MODIFIER)
            inner = self.place(preposition, cls != "thing")
        else:
            return 0
        if any(inner.noun == other.noun for other in spots):
            return 0
        np.place = PP(preposition, inner)
        return 1 + self.width(inner)

    def add_pair(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        """ "the doctor and the nurse"."""
        np = self.one_of(spots[:2])
        if (
            np is None or left < 2 or np.followed or np.surname
            or clause.verb == "be" or (np is not clause.subject and np is not clause.object)
        ):  # fmt: skip
            return 0
        noun = self.nouns.get(np.noun)
        if noun is None:
            other = NP(self.pick(self.forenames))
        else:
            if noun.mass or noun.cls == "instrument" or np.determiner in ("every", "many", "", "this"):
                return 0
            subject = np is clause.subject
            other = self.noun_phrase(
                self.pick(self.noun_table(clause.verb, "subject" if subject else "object")), None if subject else clause.subject
            )
            if self.nouns[other.noun].cls != noun.cls or other.determiner in ("", "many", "every", "this"):
                return 0
        if other.noun == np.noun:
            return 0
        np.coordinate = other
        return 1 + self.width(other)

    def add_relative(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        if left < 3 or self.clauses >= self.reg.clauses or role == "relative":
            return 0
        last = clause.places[-1].np if clause.places else clause.recipient or clause.object
        np = self.one_of([clause.subject, clause.subject, last])
        front = np is (clause.object if clause.passive else clause.subject)
        if (
            np is None or np.pronoun or np.noun not in self.nouns or np.followed
            or np.determiner not in ("the", "a", "this", "two", "three", "many") or np.noun in OF_ONE
            or self.nouns[np.noun].cls == "time" or (front and clause.question)
            or (not front and any(a.position == "final" for a in clause.adverbs))
            or (not front and clause.passive and (np is not clause.subject or clause.places))
        ):  # fmt: skip
            return 0
        tense = clause.tense if clause.tense in ("past", "present") and self.random() < 0.75 else ""
        if clause.tense in ("past", "perfect") and not tense:
            tense = "past"
        self.clauses += 1
        np.relative = self.relative(np, min(left - 0.5, 3 + 5 * self.random()), tense)
        return self.size(np.relative)

    def relative(self, np: NP, left: float, tense: str) -> Clause:
        """A relative clause about a noun: as its subject, or as the object of what somebody does."""
        noun, random = np.noun, self.random
        acts, suffers = self.verb_table(noun, False, RELATIVE), self.verbs_taking(noun)
        if not suffers[0] or (acts[0] and self.nouns[noun].cls in ("person", "animal", "organisation") and random() < 0.65):
            subject = NP(noun, number=np.number, determiner="the")
            inner = self.clause(left + 1, tense, subject, "relative", RELATIVE)
            inner.subject, inner.gap = None, "subject"
            return inner
        verb = self.pick(suffers)
        inner = Clause(verb, self.subject_for(verb), gap="object")
        while inner.subject.noun == noun:
            inner.subject = self.subject_for(verb)
        self.time(inner, tense, "statement", "relative")
        if self.verbs[verb].recipient and random() < (0.85 if verb in GROUPS["handed"] else 0.25):
            inner.recipient = self.person(inner.subject)
        self.spend(inner, left, "relative")
        return inner

    # -- sentences
    def sentence(self) -> Clause:
        reg, random = self.reg, self.random
        kind, join = self.pick(self.kinds), self.pick(self.joins)
        left = reg.length + reg.spread * 2 * (random() + random() + random() - 1.5)
        left = min(max(left, reg.shortest), reg.longest)
        self.clauses = 0
        if kind == "imperative":
            return self.clause(left, among=GROUPS["ordered"], kind=kind)
        if kind == "question":
            return self.clause(left, kind=kind)
        if join == "none" or left < (10 if reg.clauses > 1 else 7):
            return self.clause(left)
        self.clauses += 1
        share = 0.4 + 0.25 * random()
        if join == "coordinate":
            first = self.clause(left * share)
            word = "and" if random() < 0.55 else "but"
            first.coordinate = (word, self.second(first, left * (1 - share), first.tense if random() < 0.7 else "", word))
            return first
        word = self.pick(JOINS)
        front = random() < (0.4 if reg.clauses > 1 else 0.25)
        return self.joined(word, front, left * share, left * (1 - share) - 1)

    def joined(self, word: str, front: bool, left: float, right: float) -> Clause:
        """A main clause and a subordinate one, first or last; `left` and `right` are the budgets."""
        random = self.random
        if word in ("because", "although"):
            first = self.clause(left, role="reason" if front else "main")
            tense = "" if first.tense in ("present", "perfect") and random() < 0.3 else first.tense
            if tense in ("future", "perfect") and random() < 0.8:
                tense = "present" if first.tense == "future" or random() < 0.5 else "past"
            second = self.second(first, right, tense, word)
        else:
            r = random()
            if word == "if":
                before, after = "future" if r < 0.75 else "present", "present"
            elif word == "while":
                before = after = "past" if r < 0.7 else "present"
            else:
                before, after = ("past", "past") if r < 0.65 else ("future", "present") if r < 0.85 else ("present", "present")
            eventive = word not in ("if", "when")
            inside = GROUPS["during"] if word == "while" else EVENTS if eventive else None
            outside = EVENTS if eventive else None
            if front:
                first = self.clause(left, after, role="time", among=inside)
                second = self.second(first, right, before, word, outside)
            else:
                first = self.clause(left, before, among=outside)
                second = self.second(first, right, after, word, inside, "time")
        main, inner = (second, first) if front else (first, second)
        if word == "while":
            inner.progressive, inner.passive = not inner.passive, inner.passive
        main.subordinate = (word, inner, front)
        return main

    def second(
        self, first: Clause, left: float, tense: str, word: str, among: frozenset | None = None, role: str = "reason"
    ) -> Clause:
        """A clause after another: its subject, or its object, is often a pronoun for one of the first's nouns."""
        random, subject = self.random, None
        around = (first.object, first.subject) if first.passive else (first.subject, first.object)
        options = [np for np in around if np is not None]
        if options and random() < 0.62:
            np = options[0] if len(options) == 1 or random() < 0.6 else options[1]
            if self.verb_table(self.common(np), False, among)[0] and (
                np.person != 3 or (self.of_class(np) == "person" and self.clear(np, first)) or self.alone(np, first)
            ):
                subject = self.pronoun_for(np)
        if word in ("because", "although") and random() < (0.45 if subject is not None else 0.15):
            among = COPULAR
        clause = self.clause(max(left, 3.2), tense, subject, role, among)
        if subject is None or subject.noun in ("", "man", "woman"):
            self.take_up(first, clause)
        return clause

    def take_up(self, first: Clause, clause: Clause) -> None:
        """ "... and sold it": make the second clause's object a pronoun for a thing of the first where it can be one."""
        np, entry = clause.object, self.verbs[clause.verb]
        if np is None or clause.passive or np.relative or entry.preposition or self.random() > 0.6:
            return
        for other in (first.object, first.subject):
            if (
                other is not None and other.noun in self.noun_table(clause.verb, "object")[0] and self.alone(other, first)
                and not any(self.is_thing(inner) for inner in mentions(clause) if inner is not np)
            ):  # fmt: skip
                clause.object = NP(other.noun, True, 3, other.number)
                return

    def is_thing(self, np: NP) -> bool:
        return np.person == 3 and np.noun not in self.people and np.noun not in self.forenames[0]

    def clear(self, np: NP, clause: Clause) -> bool:
        """Whether "they" cannot mean things: none is plural (of "he" and "she" there is no doubt)."""
        return not np.many or not any(self.is_thing(m) and m.many for m in mentions(clause))

    def alone(self, np: NP, clause: Clause) -> bool:
        """Whether "it" or "they" can only mean this noun: nothing else of its number is in the clause."""
        if np.pronoun or np.coordinate is not None or not self.is_thing(np) or np.noun not in self.nouns:
            return False
        many = np.number == "pl"
        for other in mentions(clause):
            if other is np:
                continue
            if many and other.many and other.person == 3:
                return False
            if not many and other.number == "sg" and self.is_thing(other):
                return False
        return True


def mentions(clause: Clause) -> Iterator[NP]:
    """All noun phrases of a clause, those inside others and inside its inner clauses too."""
    for np in (clause.subject, clause.object, clause.recipient, clause.attribute):
        if np.__class__ is NP:
            yield from _inside(np)
    for pp in clause.places:
        yield from _inside(pp.np)
    if clause.complement is not None:
        yield from mentions(clause.complement)
    for second in (clause.subordinate, clause.coordinate):
        if second is not None:
            yield from mentions(second[1])


def _inside(np: NP) -> Iterator[NP]:
    yield np
    for inner in (np.genitive, np.coordinate, np.place and np.place.np):
        if inner is not None:
            yield from _inside(inner)
    if np.relative is not None:
        yield from mentions(np.relative)
