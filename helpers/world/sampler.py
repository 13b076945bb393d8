"""Draws sentence plans: who does what to whom in the small world, in the manner of news or of subtitles.

A budget of words, drawn first, decides how much is said; words within a class follow Zipf's law; the rare words of the
tail take a fixed share of each class. What decides the sense of an ambiguous word or the gender of "it" is always said.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from helpers.world.lexicon import (
    PREPOSITIONS,
    Noun,
    adjectives,
    adverbs,
    female,
    further_surnames,
    names,
    nouns,
    select,
    sense,
    verbs,
)
from helpers.world.meanings import NP, PP, Adverb, Clause

Table = tuple[tuple, list[float]]


@dataclass(frozen=True, slots=True)
class Register:
    """What tells one register from another: chances (0 to 1) and weights (any scale).

    Attributes
    ----------
    length, spread, shortest, longest : float
        Of the roughly normal distribution of the word budget, and its bounds.
    clauses : int
        Clauses beyond the main one, at most.
    kinds : dict
        Weights of statement, question, imperative.
    joins : dict
        Weights of a second clause: none, subordinate, coordinate.
    speaker, hearer, pronoun : float
        Chance of "I"/"we" and of "you" where a person is the subject; of he/she/they where it is neither.
    object_pronoun : float
        Chance of a pronoun where a person is not the subject.
    name, surname, town : float
        Chance of a name for a person, of a surname after it, and of a town's name for a place.
    tail : float
        Share of learned nouns in the classes that have them.
    negated, modal, passive, agent : float
        Chances where they are possible.
    that : float
        Factor on the weight of verbs with a "that" clause.
    tenses, progressive : dict
        Weights of tenses; chance of the progressive by tense.
    spend : dict
        Weights of the ways to spend what is left of the budget.
    possessors : dict
        Weights of a possessive whose owner is not the subject.
    """

    length: float
    spread: float
    shortest: float
    longest: float
    clauses: int
    kinds: dict
    joins: dict
    speaker: float
    hearer: float
    pronoun: float
    object_pronoun: float
    name: float
    surname: float
    town: float
    tail: float
    negated: float
    modal: float
    passive: float
    agent: float
    that: float
    tenses: dict
    progressive: dict
    spend: dict
    possessors: dict


REGISTERS = {
    "news": Register(
        length=19, spread=6.3, shortest=6, longest=29, clauses=2,
        kinds={"statement": 97, "question": 3, "imperative": 0},
        joins={"none": 58, "subordinate": 28, "coordinate": 14},
        speaker=0.08, hearer=0.04, pronoun=0.08, object_pronoun=0.06,
        name=0.36, surname=0.5, town=0.4, tail=0.12,
        negated=0.2, modal=0.22, passive=0.2, agent=0.5, that=1.3,
        tenses={"past": 46, "present": 19, "perfect": 21, "future": 14}, progressive={"past": 0.12, "present": 0.3},
        spend={"adjective": 30, "degree": 4, "adverb": 24, "place": 24, "genitive": 20, "modifier": 20, "relative": 40,
               "pair": 8},
        possessors={"his": 30, "her": 25, "their": 20, "my": 8, "our": 10, "your": 3},
    ),
    "subtitles": Register(
        length=7.9, spread=2.4, shortest=4, longest=15, clauses=1,
        kinds={"statement": 62, "question": 28, "imperative": 10},
        joins={"none": 84, "subordinate": 10, "coordinate": 6},
        speaker=0.48, hearer=0.18, pronoun=0.5, object_pronoun=0.5,
        name=0.5, surname=0.25, town=0.45, tail=0.1,
        negated=0.2, modal=0.26, passive=0.03, agent=0.3, that=1.0,
        tenses={"present": 50, "past": 24, "perfect": 14, "future": 12}, progressive={"past": 0.12, "present": 0.8},
        spend={"adjective": 22, "degree": 6, "adverb": 34, "place": 22, "genitive": 6, "modifier": 3, "relative": 5,
               "pair": 3},
        possessors={"my": 45, "your": 30, "his": 10, "her": 10, "our": 6, "their": 3},
    ),
}  # fmt: skip


# -------------------------------------------------------------------------------------------------- what goes together
def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KIN = _set("mother father brother sister daughter son wife husband friend neighbour")
SINGLE = _set("mother father wife husband")  # one has one
UNIQUE = _set("king queen president government truth army")
ROLE = _set("man boy child woman girl king queen president")  # not said of somebody: "he is a boy"
MENTAL = _set(
    "be know.fact know.person think believe hope hear love need fear trust belong understand surprise see miss.person"
)
STATIVE = MENTAL | _set(  # no progressive
    "say find remember forget miss.vehicle catch.thief accept break.rule break.thing raise.question leave.thing thank "
    "draw.attract die"
)
LASTING = _set("know.fact know.person think believe hope love belong trust live dream")  # not "often"
DURING = _set(  # fit for "while": what takes time and has an agent
    "work.person wait sleep read write play.game play.music sing eat.person eat.animal drink.person drink.animal build "
    "paint repair wash carry watch laugh cry.weep discuss draw.picture look run.go visit order.food"
)
NO_MODAL = _set(
    "be say know.fact know.person think believe hope hear love need fear belong surprise miss.person lose die begin "
    "end.finish break.thing grow.animal work.machine draw.attract fly.bird eat.animal drink.animal"
)
NO_WANT = NO_MODAL | _set("miss.vehicle forget break.rule trust follow attack raise.price")
ONCE = _set("die begin end.finish grow.animal build save.person fire.dismiss raise.child")
MANNER = {
    "quickly": "read write run.go go fly.bird fly.person eat.person eat.animal drink.person drink.animal open.thing close "
    "build paint repair wash carry sell change answer leave.place draw.picture grow.animal understand forget raise.price "
    "catch.thief catch.animal work.person",
    "slowly": "read write run.go go come fly.bird eat.person eat.animal drink.person drink.animal open.thing close build "
    "paint repair wash carry change grow.animal work.person work.machine draw.picture",
    "carefully": "read write open.thing close carry hold.thing paint repair wash build draw.picture look watch follow use "
    "change raise.child",
    "quietly": "open.thing close work.person sleep wait play.music read sing cry.weep laugh live leave.place go come",
    "well": "play.game play.music sing write paint work.person work.machine sleep know.person understand remember see "
    "draw.picture run.manage",
    "badly.skill": "play.game play.music sing write paint draw.picture run.manage sleep work.machine",
    "badly.much": "need miss.person",
    "secretly": "meet write read buy sell follow love visit watch discuss take drink.person leave.place open.thing send "
    "fear",
    "happily": "sing smile live play.game play.music work.person eat.person laugh dream",
    "angrily": "leave.place close answer look write break.thing attack",
    "immediately": "answer come leave.place accept help understand send fire.dismiss sell buy attack open.place "
    "save.person close change repair forget order.food order.thing",
    "gladly": "accept help answer come buy sell give show play.game meet visit read",
    "patiently": "wait watch answer repair read follow help look paint",
}  # fmt: skip
PASSIVE_MANNER = _set("quickly slowly carefully secretly immediately")
ADVERB_WEIGHT = {
    "quickly": 10, "slowly": 8, "carefully": 8, "quietly": 6, "well": 8, "badly.skill": 8, "badly.much": 50, "secretly": 4,
    "happily": 4, "angrily": 4, "immediately": 6, "gladly": 3, "patiently": 4,
    "often": 7, "always": 5, "sometimes": 4, "usually": 3, "rarely": 2,
    "yesterday": 7, "recently": 3, "suddenly": 3, "finally": 3, "today": 4, "now": 6, "tomorrow": 12, "soon": 7,
    "already": 14, "perhaps": 1.5, "probably": 3, "fortunately": 1, "really": 5, "here": 4, "there": 2.5,
}  # fmt: skip
ACTING = _set(  # happens somewhere
    "see find buy sell read write eat.person eat.animal drink.person drink.animal play.game play.music run.go sleep "
    "work.person work.machine wait meet watch draw.picture hold.event order.food order.thing build paint repair wash "
    "discuss sing laugh cry.weep smile catch.animal catch.thief die attack fly.bird grow.plant open.place "
    "hold.thing save.person leave.thing lose break.thing"
)
TIMELESS = MENTAL - {"see", "hear"} | _set("grow.animal begin end.finish draw.attract work.machine fly.bird live")
BENEFIT = _set(
    "buy open.place draw.picture build repair order.food order.thing sing work.person play.music paint carry wash write"
)
COMPANION = _set(
    "go come live work.person play.game play.music sing eat.person drink.person laugh fly.person arrive leave.place wait "
    "discuss visit run.go watch"
)
GOALS = {
    "go": "to", "run.go": "to", "fly.person": "to", "come": "from to", "arrive": "in at", "live": "in near",
    "work.person": "in at", "fly.bird": "to",
}  # fmt: skip
HANDED = _set("give send show")  # mostly to somebody
STAGE = {"on": "island mountain ship bridge bank.river", "under": "bridge"}
BOUND = _set("go live come")  # hardly said without a place
TEMPORARY = _set("cold.thing warm clean dirty happy sad tired sick empty full dangerous dark slow cold.heart")
UNGRADED = _set("red blue green white black right.correct wrong secret empty full sick modern")
ORDERED = _set(  # what one tells people to do
    "open.thing close take give send show write read eat.person drink.person play.game play.music go come wait look help "
    "follow meet visit hold.thing order.food order.thing paint repair wash carry forget remember answer watch buy sell "
    "change sing run.go trust accept use save.computer save.person leave.thing leave.place draw.picture break.thing "
    "break.rule raise.question open.place sleep catch.animal catch.thief fly.person"
)
FORBIDDEN = _set("forget break.thing break.rule sleep lose fear cry.weep")  # what one tells them not to do
GROUPS = {  # adjectives of a group do not stand together; the order of the groups is their order in English
    0: "good bad beautiful ugly famous important dangerous right.correct wrong clever stupid honest brave easy "
    "hard.difficult expensive cheap rich poor.money poor.quality secret",
    1: "big small tall short.body short.time short.text long heavy light.weight",
    2: "strong.body strong.taste weak.body weak.taste hard.firm sharp.blade sharp.mind cold.thing cold.heart warm clean "
    "dirty happy sad tired sick empty full slow fast",
    3: "old.person old.thing young new modern",
    4: "red blue green white black light.colour dark",
}
GROUP = {key: rank for rank, keys in GROUPS.items() for key in keys.split()}
GENITIVES = {  # of whom or what: "the mast of the ship"
    "mother father brother sister daughter son wife husband friend neighbour": "person",
    "manager": "factory hotel company bank.money museum", "president": "company club university",
    "driver": "bus train truck", "owner": "house hotel car boat company factory dog horse", "servant": "king queen",
    "student": "university", "king queen": "island", "door": "house church room kitchen", "window": "house room kitchen",
    "key": "house car box room", "wheel": "car bicycle truck", "mast": "ship boat",
    "house garden office room kitchen": "person", "car boat bicycle dog horse coat hat": "person",
    "letter.mail report book poem song story picture contract article": "person",
    "plan decision answer mistake idea promise secret problem": "person organisation",
    "price": "bread cheese coffee house car milk", "wedding": "person", "trial": "thief prisoner", "strike": "worker driver",
    "army": "king", "bridge church hospital market museum harbour tower university library": "town", "map": "city island",
}  # fmt: skip
GENITIVE = {key: of for heads, of in GENITIVES.items() for key in heads.split()}

DETERMINERS = {  # determiner and number, by kind of noun; "poss" is filled in by who owns it
    "person": {"the sg": 42, "a sg": 15, "the pl": 12, " pl": 3, "many pl": 2, "two pl": 3, "three pl": 2, "every sg": 2,
               "this sg": 4, "poss sg": 4},
    "kin": {"poss sg": 66, "the sg": 14, "poss pl": 8, "a sg": 5, "the pl": 4},
    "single": {"poss sg": 75, "the sg": 20, "a sg": 4},
    "unique": {"the sg": 100},
    "animal": {"the sg": 44, "a sg": 16, "the pl": 14, " pl": 5, "many pl": 3, "two pl": 4, "this sg": 4, "poss sg": 9},
    "thing": {"the sg": 40, "a sg": 22, "the pl": 9, " pl": 4, "many pl": 2, "two pl": 3, "three pl": 2, "this sg": 6,
              "poss sg": 12, "poss pl": 2},
    "mass": {"the sg": 42, " sg": 40, "this sg": 6, "poss sg": 9},
    "place": {"the sg": 66, "a sg": 13, "this sg": 7, "the pl": 3, "two pl": 2, "every sg": 2},
    "organisation": {"the sg": 70, "a sg": 13, "this sg": 6, "the pl": 5, "two pl": 2, "every sg": 2},
    "event": {"the sg": 66, "a sg": 14, "this sg": 10, "the pl": 3, "every sg": 2},
    "idea": {"the sg": 46, "a sg": 18, "this sg": 11, "the pl": 5, "poss sg": 12, "many pl": 2, "two pl": 2},
    "field": {"the sg": 60, "this sg": 40},
    "game": {" sg": 1},
    "instrument": {"the sg": 70, "a sg": 8, "poss sg": 20},
    "time": {"the sg": 1},
}  # fmt: skip
CLASS_WEIGHT = {
    "person": 6.0, "animal": 1.3, "thing": 1.6, "text": 1.8, "food": 1.0, "drink": 0.8, "vehicle": 1.2, "place": 1.6,
    "organisation": 2.2, "event": 1.4, "idea": 1.7, "garment": 0.8,
}  # fmt: skip
# corrections of frequency: the senses of a word should come up about equally often
BALANCE: dict[str, float] = {
    "be": 2.2, "know.fact": 0.8, "know.person": 0.4, "old.person": 0.5, "old.thing": 0.5, "bat.animal": 1.5,
    "bat.club": 10.0, "bank.money": 1.0, "bank.river": 14.0, "letter.mail": 1.5, "game.match": 2.0, "hard.difficult": 4.0,
    "poor.quality": 2.5, "poor.money": 0.6, "sharp.blade": 45.0, "sharp.mind": 0.6, "knife": 2.5, "cold.heart": 0.7,
    "strong.taste": 6.0, "strong.body": 0.35, "weak.taste": 8.0, "weak.body": 0.16, "light.colour": 0.6,
}  # fmt: skip
AMBIGUOUS_BOOST = 2.0
QUESTIONS = {"polar": 45, "what": 14, "who": 11, "where": 12, "when": 8, "why": 10}
# verbs that can be asked "what", as neither sense nor kind of verb is left open by it
WHAT = _set("see find buy sell give send show take eat.person eat.animal drink.person drink.animal read write need use "
            "change wash carry forget remember understand discuss accept build paint repair")  # fmt: skip
AGENT_DECIDES = _set("eat.person eat.animal drink.person drink.animal draw.attract")  # no passive without "by"
TIMES = _set("during after before in_time")
DOUBTED = _set("know.person believe love need understand trust be think fear")  # with "really": "does n't really know"


# ---------------------------------------------------------------------------------------------------- tables of chances
def _table(weights: dict) -> Table:
    """Items and cumulative chances; the last is left out, so that `bisect` never runs over the end."""
    keys = tuple(key for key, weight in weights.items() if weight > 0)
    total = sum(weights[key] for key in keys)
    return keys, list(accumulate(weights[key] / total for key in keys[:-1]))


WHERE = _table({"in": 50, "at": 14, "near": 14, "behind": 7, "in_front_of": 8, "on": 7, "under": 2})
WHEN = _table({"in_time": 35, "during": 25, "after": 22, "before": 18})
BESIDE = _table({"in": 40, "near": 20, "behind": 12, "in_front_of": 14, "on": 12, "under": 4})
JOINS = _table({"because": 30, "when": 22, "although": 14, "if": 10, "while": 8, "before": 8, "after": 8})


@cache
def senses(part: str) -> dict[str, tuple[str, ...]]:
    """Words of a part of speech ("noun", "verb", "adjective", "adverb") with two senses or more, and their keys."""
    keys = {"noun": nouns, "verb": verbs, "adjective": adjectives, "adverb": adverbs}[part]()
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(sense(key), []).append(key)
    return {word: tuple(group) for word, group in groups.items() if len(group) > 1}


def _ranked(keys: Iterable[str], shift: float) -> dict[str, float]:
    """Weights by rank after Zipf (and Mandelbrot)."""
    return {key: 1 / (rank + shift) for rank, key in enumerate(keys)}


def _sensed(keys: Iterable[str], part: str) -> dict[str, float]:
    """Weights by rank; the senses of an ambiguous word share theirs evenly and have more of it."""
    weights = _ranked(keys, 4)
    for group in senses(part).values():
        weights.update(dict.fromkeys(group, AMBIGUOUS_BOOST * sum(map(weights.get, group)) / len(group)))
    return {key: weight * BALANCE.get(key, 1) for key, weight in weights.items()}


def _kind(noun: Noun) -> str:
    """The row of `DETERMINERS` for a noun."""
    if noun.mass:
        return "game" if noun.cls == "game" else "mass"
    if noun.tail and noun.tail.kind == "logy":
        return "field"
    for kind, members in (("single", SINGLE), ("kin", KIN), ("unique", UNIQUE)):
        if noun.key in members:
            return kind
    return "thing" if noun.cls in ("text", "food", "vehicle", "garment") else noun.cls


def _heavy(clause: Clause) -> bool:
    """Whether something after the verb ends in a relative clause, so that nothing more can follow it."""
    for np in (clause.recipient, clause.subject if clause.passive else clause.object, clause.attribute):
        if np.__class__ is NP and np.relative is not None:
            return True
    return any(pp.np.relative is not None for pp in clause.places)


class World:
    """The small world as one register tells it: every table of chances, and the dice.

    Parameters
    ----------
    register : str
        Key of `REGISTERS`.
    surnames : int
        Further ones (`helpers.world.lexicon.further_surnames`).
    """

    def __init__(self, register: str, surnames: int = 0):
        self.reg = reg = REGISTERS[register]
        self.random = random.random
        self.clauses = 0  # beyond the main one, in the sentence being drawn
        self.nouns, self.verbs, self.adverbs = nouns(), verbs(), adverbs()
        self.people = frozenset(select("person"))
        self.cache: dict = {}  # tables made when first needed
        self.noun_weights = self._noun_weights()
        self.rank = {key: rank for rank, key in enumerate(self.noun_weights)}
        self.subjects = {verb: frozenset(entry.subjects) for verb, entry in self.verbs.items()}
        self.verb_weights = _sensed(self.verbs, "verb")
        weights = _sensed(adjectives(), "adjective")
        self.adjective_weights: dict[str, dict[str, float]] = {key: {} for key in self.nouns}
        for key, takes in adjectives().items():
            for noun in takes:
                self.adjective_weights[noun][key] = weights[key]
        rows = {kind: _table({tuple(k.split(" ")): w for k, w in row.items()}) for kind, row in DETERMINERS.items()}
        self.determiners = {key: rows[_kind(noun)] for key, noun in self.nouns.items()}
        listed: dict[str, list[str]] = {}
        for key, word in names().items():
            listed.setdefault(word.kind, []).append(key)
        turns = zip(listed["forename_m"], listed["forename_f"], strict=True)
        self.forenames = _table(_ranked([key for turn in turns for key in turn], 2))
        self.surnames = _table(_ranked((*listed["surname"], *further_surnames(surnames)), 2))
        self.towns = _table(_ranked(listed["town"], 2))
        self.female = female()
        self.manner = {verb: [a for a, keys in MANNER.items() if verb in keys.split()] for verb in self.verbs}
        self.kinds, self.joins, self.tenses = _table(reg.kinds), _table(reg.joins), _table(reg.tenses)
        self.lasting = _table({t: w for t, w in reg.tenses.items() if t in ("past", "present")})
        self.questions, self.possessors = _table(QUESTIONS), _table(reg.possessors)
        self.spends = _table({getattr(self, "add_" + way): weight for way, weight in reg.spend.items()})
        self.anybody = self.noun_table("help", "object")

    # -- chances
    def pick(self, table: Table):
        keys, chances = table
        return keys[bisect(chances, self.random())]

    def _noun_weights(self) -> dict[str, float]:
        weights: dict[str, float] = {}
        for cls in dict.fromkeys(noun.cls for noun in self.nouns.values()):
            core = [k for k, n in self.nouns.items() if n.cls == cls and not n.tail]
            rare = [k for k, n in self.nouns.items() if n.cls == cls and n.tail]
            share = self.reg.tail if rare else 0.0
            for keys, part, shift in ((core, 1 - share, 2), (rare, share, 4)):
                chances = _ranked(keys, shift)
                scale = CLASS_WEIGHT.get(cls, 1.0) * part / (sum(chances.values()) or 1)
                weights.update((key, scale * chance * BALANCE.get(key, 1)) for key, chance in chances.items())
        return weights

    def noun_table(self, verb: str, role: str) -> Table:
        """Nouns as subject or object of a verb, without those whose sense the verb would leave open."""
        found = self.cache.get((verb, role))
        if found is None:
            entry = self.verbs[verb]
            keys = set(entry.subjects if role == "subject" else entry.objects)
            if {"bat.animal", "bat.club"} <= keys:
                keys -= {"bat.animal", "bat.club"}
            found = self.cache[verb, role] = _table({k: self.noun_weights[k] for k in sorted(keys, key=self.rank.get)})
        return found

    def nouns_of(self, classes: str) -> Table:
        """Nouns of a list of classes and nouns; not the bats, which it would leave open."""
        found = self.cache.get(classes)
        if found is None:
            keys = [k for k in select(classes) if not k.startswith("bat.")]
            found = self.cache[classes] = _table({k: self.noun_weights[k] for k in keys})
        return found

    def verb_table(self, subject: str, that: bool, among: frozenset | None = None) -> Table:
        """Verbs that a subject ("" for any) can have."""
        key = (subject, that, among)
        found = self.cache.get(key)
        if found is None:
            found = self.cache[key] = _table({
                verb: self.verb_weights[verb] * (self.reg.that if entry.that else 1)
                for verb, entry in self.verbs.items()
                if (not subject or subject in self.subjects[verb]) and (that or not entry.that)
                and (among is None or verb in among)
            })  # fmt: skip
        return found

    def verbs_taking(self, noun: str) -> Table:
        """Verbs of which a person is the subject and this noun can be the object, in a relative clause."""
        found = self.cache.get(("taking", noun))
        if found is None:
            found = self.cache["taking", noun] = _table({
                verb: self.verb_weights[verb] for verb, entry in self.verbs.items()
                if noun in self.noun_table(verb, "object")[0] and not entry.at and "teacher" in entry.subjects
            })  # fmt: skip
        return found

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
        if subject.number == "pl" or subject.coordinate is not None:
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
        number = "pl" if np.coordinate is not None else np.number
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
            human = self.cache.get((verb, "human"))
            if human is None:
                weights = {k: self.noun_weights[k] for k in table[0]}
                human = sum(w for k, w in weights.items() if k in self.people) / sum(weights.values())
                self.cache[verb, "human"] = human
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
        key = self.pick(self.nouns_of(classes or PREPOSITIONS[preposition][2]))
        if key == "bank.river" or self.random() < 0.3:
            return self.noun_phrase(key)
        return NP(key, determiner="the")

    # -- clauses
    def clause(
        self,
        left: float,
        tense: str = "",
        subject: NP | None = None,
        role: str = "main",
        among: frozenset | None = None,
        kind: str = "statement",
    ) -> Clause:
        """A clause of about `left` words.

        Parameters
        ----------
        tense : str
            The tense it must have, "" for any.
        subject : NP or None
            The subject it must have.
        role : str
            "main", "reason" (beside another clause), "time" (after "when", "if" ...), "complement" or "relative".
        among : frozenset or None
            The verbs to choose from.
        kind : str
            "statement", "question" or "imperative".
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
            if random() < reg.agent or verb in AGENT_DECIDES:
                clause.subject = self.choose(self.noun_table(verb, "subject"), clause.object)
        else:
            clause.subject = self.subject_for(verb, kind)
        self.time(clause, tense, kind, role)
        actor = NP("", True, 2) if clause.imperative else clause.subject
        if entry.objects and clause.object is None:
            clause.object = self.object_for(verb, actor)
        if entry.to and random() < (0.9 if verb in HANDED else 0.25):
            if not clause.passive or random() < 0.5:
                clause.recipient = self.person(actor)
        elif verb in GOALS and (verb in BOUND or random() < 0.55):
            options = GOALS[verb].split()
            preposition = options[len(options) > 1 and random() < 0.4]
            clause.places = (PP(preposition, self.place(preposition)),)
        if kind == "question":
            self.ask(clause)
        if entry.that:
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
        many = subject.number == "pl" or subject.coordinate is not None
        if noun in self.people and not many and random() < 0.22:
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
        table = self.cache.get(("predicate", noun))
        if table is None:
            weights = dict(self.adjective_weights[noun])
            if noun.startswith("bat."):  # what both bats can be does not tell them apart
                other = self.adjective_weights["bat.club" if noun == "bat.animal" else "bat.animal"]
                weights = {k: w for k, w in weights.items() if k not in other}
            table = self.cache["predicate", noun] = _table(weights)
        clause.attribute = self.pick(table)
        if random() < 0.2 and clause.attribute not in UNGRADED:
            clause.degree = ("very", "too", "quite", "extremely")[int(random() ** 2 * 4)]

    def attributes(self, kind: str, gender: str) -> Table:
        """Nouns for "is ...": kin or trades, of men or women."""
        found = self.cache.get((kind, gender))
        if found is None:
            found = self.cache[kind, gender] = _table({
                k: w for k, w in self.noun_weights.items()
                if k in self.people and (k in self.female) == (gender == "f") and k not in ROLE
                and (k in KIN) == (kind == "kin")
            })  # fmt: skip
        return found

    def time(self, clause: Clause, tense: str, kind: str, role: str) -> None:
        """Choose tense, modal, negation and progressive."""
        random, reg, verb = self.random, self.reg, clause.verb
        if kind == "imperative":
            clause.tense, clause.negated = "present", random() < 0.15 or verb in FORBIDDEN
            return
        lasting = verb in MENTAL and verb != "see" and not (clause.attribute.__class__ is str and clause.attribute in TEMPORARY)
        clause.tense = tense or self.pick(self.lasting if lasting else self.tenses)
        clause.negated = role != "time" and random() < (reg.negated if role != "relative" else reg.negated / 3)
        tensed = clause.tense in ("present", "past")
        if tensed and verb not in NO_MODAL and role != "time" and random() < reg.modal:
            r = random()
            if r < 0.3 and verb not in NO_WANT and not clause.passive and (
                clause.subject is None or self.of_class(clause.subject) in ("person", "animal")
            ):  # fmt: skip
                clause.modal = "want"
            elif r < 0.65:
                clause.modal = "can"
            elif not tense or clause.tense == "present":
                clause.modal, clause.tense = ("must" if r < 0.85 else "should"), "present"
        elif tensed and verb not in STATIVE and not clause.passive:
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
            (question == "what" and verb not in WHAT)
            or (question == "who" and ("teacher" not in self.verbs[verb].subjects or clause.attribute.__class__ is NP))
            or (question == "where" and (verb == "come" or (verb not in ACTING and verb not in GOALS)))
            or (question == "when" and (verb in TIMELESS or clause.tense == "perfect"))
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
        said = np.adjectives
        if np is clause.subject and clause.attribute.__class__ is str:
            said = (*said, clause.attribute)
        key = (np.noun, *[GROUP[k] for k in said])
        table = self.cache.get(key)
        if table is None:
            weights = {k: w for k, w in self.adjective_weights[np.noun].items() if GROUP[k] not in key}
            table = self.cache[key] = _table(weights)
        if not table[0]:
            return 0
        np.adjectives = tuple(sorted((*np.adjectives, self.pick(table)), key=GROUP.__getitem__))
        return 1

    def add_degree(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        np, spent = self.one_of(spots), 0
        if np is None or np.degree:
            return 0
        if not np.adjectives:
            spent = self.add_adjective(clause, [np], left, role)
        if not np.adjectives or np.adjectives[0] in UNGRADED or np.determiner not in ("a", "the", "this", ""):
            return spent
        np.degree = "very" if self.random() < 0.6 else "extremely"
        return spent + 1

    def add_adverb(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        if len(clause.adverbs) > 1:
            return 0
        key = (
            clause.verb, clause.tense, clause.progressive, clause.modal, clause.negated, clause.passive, clause.question,
            clause.imperative, role, clause.attribute.__class__ is str and clause.attribute in TEMPORARY,
        )  # fmt: skip
        table = self.cache.get(key)
        if table is None:
            table = self.cache[key] = self.adverb_table(*key)
        adverb, position = self.pick(table)
        if not adverb:
            return 0
        kind = self.adverbs[adverb].kind
        for other in clause.adverbs:
            kinds = {kind, self.adverbs[other.adverb].kind}
            if len(kinds) == 1 or other.position == position or kinds == {"frequency", "time"}:
                return 0
        if (kind == "place" and clause.places) or (position == "final" and _heavy(clause)):
            return 0
        if kind in ("time", "frequency") and any(pp.preposition in TIMES for pp in clause.places):
            return 0
        if adverb in ("perhaps", "probably") and clause.subject is not None and clause.subject.person == 1:
            return 0
        clause.adverbs = (*clause.adverbs, Adverb(adverb, position))
        return 1

    def adverb_table(self, verb, tense, progressive, modal, negated, passive, question, imperative, role, temporary) -> Table:
        """Adverbs and their places that a clause of this form can have."""
        statement = not question and not imperative
        timeless = verb in TIMELESS and not (verb == "be" and temporary)
        kinds = {  # whether a clause of this form takes any
            "manner": question in ("", "polar", "who"),
            "frequency": tense in ("past", "present") and not progressive and not modal and verb not in ONCE | LASTING
            and role != "time" and question in ("", "polar", "why", "who") and (verb != "be" or temporary),
            "time": not imperative and question != "when" and role != "time" and not timeless,
            "place": verb in ACTING and question != "where" and role != "relative" and not passive,
            "sentence": statement and role not in ("relative", "time"),
            "degree": False,
        }  # fmt: skip
        event = not negated and question in ("", "polar") and not progressive and verb not in MENTAL and not modal
        onset = event and not question and role in ("main", "complement") and verb not in DURING
        limits = {  # and what some adverbs ask for besides
            "often": not imperative, "always": not (imperative and negated), "usually": not negated and not imperative,
            "sometimes": statement and not negated, "rarely": statement and not negated,
            "recently": event, "already": event, "soon": event, "suddenly": onset, "finally": onset,
            "today": not modal and (tense in ("past", "future") or progressive or temporary),
            "now": progressive or temporary or modal in ("can", "must"),
            "yesterday": not modal, "tomorrow": not modal, "fortunately": tense in ("past", "perfect"),
        }  # fmt: skip
        doubted = verb in DOUBTED and (negated or question == "polar")
        closed = {  # places that are not open
            kind: ("initial",) * (not statement or role != "main")
            + ("medial",) * (kind == "manner" and (negated or not statement or modal == "want"))
            for kind in kinds
        }
        manners = self.manner[verb]
        weights = {("", ""): 6.0}  # none
        for adverb, entry in self.adverbs.items():
            kind = entry.kind
            if not (doubted if adverb == "really" else kinds[kind] and limits.get(adverb, True)):
                continue
            if kind == "manner" and (adverb not in manners or (passive and adverb not in PASSIVE_MANNER)):
                continue
            if kind == "time" and entry.tense not in ("any", tense):
                continue
            for place in entry.positions:
                if place not in closed[kind]:
                    weights[adverb, place] = ADVERB_WEIGHT[adverb] * (1.4 if place == "final" else 0.7)
        return _table(weights)

    def add_place(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        """Where, when, with whom, for whom."""
        verb, places, random = clause.verb, clause.places, self.random
        actor = NP("", True, 2) if clause.imperative else clause.subject
        if left < 1.5 or len(places) > 1 or _heavy(clause) or self.verbs[verb].that:
            return 0
        kinds = [PREPOSITIONS[pp.preposition][1] for pp in places]
        adverb_kinds = [self.adverbs[a.adverb].kind for a in clause.adverbs]
        r = random()
        if r < 0.5:
            if verb not in ACTING or kinds or clause.question == "where" or "place" in adverb_kinds:
                return 0
            preposition = self.pick(WHERE)
            np = self.place(preposition, True)
        elif r < 0.72:
            if (
                verb in TIMELESS or "time" in kinds or clause.question == "when" or clause.tense == "perfect"
                or "time" in adverb_kinds or "frequency" in adverb_kinds or role == "time"
                or (clause.object is not None and self.of_class(clause.object) == "event")
            ):  # fmt: skip
                return 0
            preposition = self.pick(WHEN)
            key = self.pick(self.nouns_of(PREPOSITIONS[preposition][2]))
            np = NP(key, determiner="the" if preposition == "in_time" or random() < 0.85 else "this")
        elif r < 0.86:
            if verb not in COMPANION or "companion" in kinds or clause.passive or (clause.imperative and r > 0.83):
                return 0
            preposition = "with" if r < 0.82 else "without"
            np = self.person(actor) if random() < 0.9 else self.noun_phrase("dog", actor)
        else:
            if verb not in BENEFIT or kinds or clause.recipient is not None:
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
        if (
            np is None or left < 2 or np.noun not in GENITIVE or np.genitive or np.place or np.relative or np.coordinate
            or np.determiner in ("every", "many", "this", "two", "three")
        ):  # fmt: skip
            return 0
        of = GENITIVE[np.noun]
        inner = NP(self.pick(self.towns)) if of == "town" else self.choose(self.nouns_of(of))
        if inner.noun in self.nouns and inner.determiner in ("", "many", "every"):
            inner.determiner, inner.number = "the", "sg"
        if (inner.noun in KIN and inner.determiner != "the") or inner.noun == np.noun:
            return 0
        np.determiner, np.genitive = "the", inner
        return 1 + self.width(inner)

    def add_modifier(self, clause: Clause, spots: list[NP], left: float, role: str) -> int:
        """A prepositional phrase at a noun: any at the subject, "about" at texts, "from" at persons."""
        np = spots[0] if spots and self.random() < 0.6 else self.one_of(spots)
        if (
            np is None or left < 2 or np.noun not in self.nouns or np.genitive or np.place or np.relative or np.coordinate
            or np.noun in KIN or np.noun in UNIQUE or np.determiner in ("my", "your", "his", "her", "our", "their")
        ):  # fmt: skip
            return 0
        cls, subject = self.nouns[np.noun].cls, np is (clause.object if clause.passive else clause.subject)
        if cls == "text" and np.noun not in ("map", "list", "contract"):
            preposition = "about"
            inner = self.choose(self.nouns_of(PREPOSITIONS["about"][2]))
        elif cls == "person" and clause.verb not in BOUND and (not subject or self.random() < 0.6):
            preposition = "from"
            inner = NP(("village", "city", "island")[int(self.random() * 3)], determiner="the")
            if self.random() < self.reg.town:
                inner = NP(self.pick(self.towns))
        elif subject and cls in ("person", "animal", "thing", "vehicle", "place") and clause.question == "":
            preposition = "near" if cls == "place" else self.pick(BESIDE)
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
            np is None or left < 2 or np.genitive or np.place or np.relative or np.coordinate or np.surname
            or clause.verb == "be" or (np is not clause.subject and np is not clause.object)
        ):  # fmt: skip
            return 0
        noun = self.nouns.get(np.noun)
        if noun is None:
            if np.noun not in self.forenames[0]:
                return 0
            other = NP(self.pick(self.forenames))
        else:
            if noun.mass or noun.cls == "instrument" or np.determiner in ("every", "many", "", "this"):
                return 0
            subject = np is clause.subject
            other = self.noun_phrase(
                self.pick(self.noun_table(clause.verb, "subject" if subject else "object")),
                None if subject else clause.subject,
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
            np is None or np.pronoun or np.noun not in self.nouns or np.genitive or np.place or np.relative or np.coordinate
            or np.determiner not in ("the", "a", "this", "two", "three", "many") or np.noun in UNIQUE or np.noun in KIN
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
        if self.verbs[verb].to and random() < (0.85 if verb in HANDED else 0.25):
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
            return self.clause(left, among=ORDERED, kind=kind)
        if kind == "question":
            return self.clause(left, kind=kind)
        if join == "none" or left < (10 if reg.clauses > 1 else 7):
            return self.clause(left)
        self.clauses += 1
        share = 0.4 + 0.25 * random()
        if join == "coordinate":
            first = self.clause(left * share)
            word = "and" if random() < 0.55 else "but"
            first.coordinate = (word, self.beside(first, left * (1 - share), first.tense if random() < 0.7 else "", word))
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
            second = self.beside(first, right, tense, word)
        else:
            r = random()
            if word == "if":
                before, after = "future" if r < 0.75 else "present", "present"
            elif word == "while":
                before = after = "past" if r < 0.7 else "present"
            else:
                before, after = ("past", "past") if r < 0.65 else ("future", "present") if r < 0.85 else ("present", "present")
            eventive = word not in ("if", "when")
            inside = DURING if word == "while" else EVENTS if eventive else None
            outside = EVENTS if eventive else None
            if front:
                first = self.clause(left, after, role="time", among=inside)
                second = self.beside(first, right, before, word, outside)
            else:
                first = self.clause(left, before, among=outside)
                second = self.beside(first, right, after, word, inside, "time")
        main, inner = (second, first) if front else (first, second)
        if word == "while":
            inner.progressive, inner.passive = not inner.passive, inner.passive
        main.subordinate = (word, inner, front)
        return main

    def beside(
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
        if np is None or clause.passive or np.relative or entry.at or self.random() > 0.6:
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
        if np.number == "sg" and np.coordinate is None:
            return True
        return not any(self.is_thing(m) and (m.number == "pl" or m.coordinate is not None) for m in mentions(clause))

    def alone(self, np: NP, clause: Clause) -> bool:
        """Whether "it" or "they" can only mean this noun: nothing else of its number is in the clause."""
        if np.pronoun or np.coordinate is not None or not self.is_thing(np) or np.noun not in self.nouns:
            return False
        many = np.number == "pl"
        for other in mentions(clause):
            if other is np:
                continue
            if many and (other.number == "pl" or other.coordinate is not None) and other.person == 3:
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


COPULAR = _set("be")
EVENTS = frozenset(verbs()) - MENTAL - _set("live work.machine fly.bird grow.animal say die begin end.finish draw.attract")
RELATIVE = frozenset(verbs()) - _set("be die hope think believe hear say know.fact")
CAPABLE = frozenset(verbs()) - NO_MODAL


@cache
def _world(register: str, surnames: int) -> World:
    return World(register, surnames)


def sample(register: str, rng: random.Random, surnames: int = 0) -> Clause:
    """Draw one sentence plan.

    Parameters
    ----------
    register : str
        "news" or "subtitles".
    rng : random.Random
        The dice; the same state gives the same plan.
    surnames : int
        Further ones (`helpers.world.lexicon.further_surnames`).

    Returns
    -------
    Clause
    """
    world = _world(register, surnames)
    world.random = rng.random
    return world.sentence()
