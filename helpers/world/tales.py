"""Longer controlled text of the small world: reports with their summaries, and running stories.

A report tells one main event among others like it. Its parts stand in different sentences: who acts and what that person is,
where, when, what is done, to whom or what, what follows. One sentence, the first or the last, says whom the report is
about, by the person's trade or name: that person's event is the main one. The summary tells it whole, with names for all who
are named anywhere in the report, so that it takes selection, fusion and reference resolution to write it.

A story follows two or three people from place to place; things are found, bought, given, lost and found again by somebody who
comes to where they were lost.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helpers.records import Pair, Text
from helpers.world.english import realise
from helpers.world.meanings import NP, PP, Adverb, Clause
from helpers.world.sampler import WHEN, Spent, World
from helpers.world.word_tables import grammar, read, single

SENTENCES = {"report": (4, 8), "story": (5, 10)}  # fewest and most
WORDS = {"report": (35, 80), "summary": (9, 22)}

PLOTS = {row["verb"]: row for row in read("plots")}  # see `_Plot.sequel`
TABLES = grammar("tales")
REACHED, GROUPS = single(TABLES["place"]), TABLES["group"]
TRADES = " ".join(GROUPS["trade"])
GOODS = f"{PLOTS['find']['objects']} list apple cake egg potato"
DRAWS = 100  # from one class before it counts as spent


@dataclass(slots=True, eq=False)
class _Person:
    name: str
    surname: str
    trade: str
    female: bool
    introduced: bool = False  # whether the text has said the name
    known: bool = False  # whether the text has said the trade

    def full(self) -> NP:
        return NP(self.name, surname=self.surname)


@dataclass(slots=True, eq=False)
class _Thing:
    noun: str
    adjectives: tuple[str, ...] = ()
    mentioned: bool = False

    def first(self) -> NP:
        return NP(self.noun, determiner="a", adjectives=self.adjectives)


@dataclass(slots=True, eq=False)
class _Place:
    noun: str  # a town's name or a common noun
    preposition: str
    town: bool

    def phrase(self, preposition: str = "") -> PP:
        return PP(preposition or self.preposition, NP(self.noun, determiner="" if self.town else "the"))


class _Text:
    """Sentences told so far, and whom and what the last of them spoke of."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random, self.sentences = random, []
        self.near: list = []
        self.now: list = []

    def say(self, clause: Clause) -> None:
        self.sentences.append(realise(clause, "news").words)
        self.near, self.now = self.now, []

    def person(self, who: _Person) -> NP:
        """A mention: a pronoun where it is clear, else the trade or the name."""
        alike = [other for other in self.near if other.__class__ is _Person and other.female == who.female]
        clear = alike == [who] and not any(o.__class__ is _Person and o.female == who.female for o in self.now)
        self.now.append(who)
        if clear and self.random() < 0.7:
            return NP(who.name, True)
        if not who.introduced and not who.known:
            if who.trade and self.random() < 0.5:
                who.known = True
                return NP(who.trade, determiner="a")
            who.introduced = True
            return who.full()
        if who.known and (not who.introduced or self.random() < 0.6):
            return NP(who.trade, determiner="the")
        return NP(who.name)

    def mention(self, what: _Person | _Thing) -> NP:
        return self.person(what) if isinstance(what, _Person) else self.thing(what)

    def thing(self, what: _Thing) -> NP:
        self.now.append(what)
        if not what.mentioned:
            what.mentioned = True
            return what.first()
        things = [other for other in self.near if other.__class__ is _Thing]
        if things == [what] and self.random() < 0.75:
            return NP(what.noun, True)
        return NP(what.noun, determiner="the")

    def where(self, place: _Place) -> tuple[tuple[PP, ...], tuple[Adverb, ...]]:
        """The place as a phrase, or "there" where the last sentence named it and no other."""
        places = [other for other in self.near if other.__class__ is _Place]
        self.now.append(place)
        if places == [place]:
            return (), (Adverb("there", "final"),)
        return (place.phrase(),), ()

    def text(self) -> str:
        return " ".join(word for words in self.sentences for word in words)


class _Cast:
    """Draws the people, things, places and times of one text, none twice."""

    def __init__(self, world: World) -> None:
        self.world, self.used = world, set()

    def fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(DRAWS):
            drawn = draw()
            if drawn not in self.used:
                self.used.add(drawn)
                return drawn
        raise Spent

    def noun(self, classes: str) -> str:
        return self.fresh(lambda: self.world.pick(self.world.nouns_of(classes)))

    def person(self, trades: str = TRADES, surname: float = 0.5) -> _Person:
        world = self.world
        name = self.fresh(lambda: world.pick(world.forenames))
        female = name in world.female
        second = self.fresh(lambda: world.pick(world.surnames)) if world.random() < surname else ""
        trade = self.noun(trades + " nurse" if female and trades == TRADES else trades) if trades else ""
        return _Person(name, second, trade, female)

    def thing(self, classes: str, adjective: float = 0.6) -> _Thing:
        np = NP(self.noun(classes), determiner="a")
        if self.world.random() < adjective:
            self.world.add_adjective(Clause("be"), [np], 1, "main")
        return _Thing(np.noun, np.adjectives)

    def place(self, town: float = 0.55, common: Sequence[str] = tuple(REACHED)) -> _Place:
        world = self.world
        if world.random() < town:
            return _Place(self.fresh(lambda: world.pick(world.towns)), "in", True)
        noun = self.noun(" ".join(common))
        return _Place(noun, REACHED[noun], False)

    def time(self) -> PP:
        preposition = self.world.pick(WHEN)
        classes = "morning evening summer winter" if preposition == "in_time" else "meeting war concert election wedding strike"
        return PP(preposition, NP(self.world.pick(self.world.nouns_of(classes)), determiner="the"))


class _Plot:
    """One event: who did what to whom or what, where and when, and what followed."""

    def __init__(self, cast: _Cast) -> None:
        world = cast.world
        self.cast, self.random = cast, world.random
        able = [verb for verb, plot in PLOTS.items() if not plot["trades"] or "officer" not in cast.used]
        self.verb = able[int(world.random() * len(able))]
        plot = PLOTS[self.verb]
        self.actor = cast.person(plot["trades"] or TRADES)
        self.object = cast.person() if plot["objects"] == "person" else cast.thing(plot["objects"])
        self.place = cast.place(0.7, GROUPS["towns"]) if self.verb in GROUPS["outdoors"] else cast.place()
        self.time = cast.time() if world.random() < 0.8 else None
        options = plot["sequels"].split()
        self.follows = options[int(world.random() * len(options))]
        self.roles = TABLES["sequel"].get(self.follows, ("other", "object"))
        self.other = None  # who comes in with what follows
        if self.follows == "catch.thief":
            self.other = cast.person("officer")
        elif self.follows not in ("thank", "help", "follow"):
            self.other = cast.person()

    def act(self, text: _Text, there: bool, timed: bool) -> None:
        """Say what was done; `there`: and where."""
        clause = Clause(self.verb, text.person(self.actor), text.mention(self.object))
        if there:
            clause.places, clause.adverbs = text.where(self.place)
        if timed and self.time is not None:
            clause.places = (*clause.places, self.time)
        text.say(clause)

    def arrive(self, text: _Text, timed: bool) -> None:
        clause = Clause("arrive", text.person(self.actor), places=(self.place.phrase(),))
        if self.place.preposition != "on" and self.random() < 0.6:
            clause.verb, clause.places = "go", (self.place.phrase("to"),)
        if timed and self.time is not None:
            clause.places = (*clause.places, self.time)
        text.now.append(self.place)
        text.say(clause)

    def sequel(self, text: _Text) -> None:
        """Say what followed: the actor hands the thing on, or somebody does something with it, or to the actor."""
        text.say(Clause(self.follows, *(text.mention(getattr(self, role)) for role in self.roles)))

    def people(self) -> list[_Person]:
        return [who for who in (self.actor, self.object, self.other) if isinstance(who, _Person)]

    def summary(self) -> list[str]:
        """The event and what followed in one sentence, as far as the report has named who took part."""

        def phrase(who: _Person | _Thing, determiner: str = "a") -> NP:
            if isinstance(who, _Thing):
                return who.first() if determiner == "a" else NP(who.noun, True)
            if not who.introduced:
                return NP(who.trade, determiner=determiner)
            return who.full() if determiner == "a" else NP(who.name)

        clause = Clause(self.verb, phrase(self.actor), phrase(self.object))
        clause.places = (self.place.phrase(), self.time) if self.time is not None else (self.place.phrase(),)
        subject, *others = (phrase(getattr(self, role), "a" if role == "other" else "the") for role in self.roles)
        after = Clause(self.follows, None if self.roles[0] == "actor" else subject, *others)
        clause.coordinate = ("and", after)
        return realise(clause, "news").words


def _introduce(text: _Text, who: _Person) -> None:
    """Tie a name and a trade together: "Kadan Morel is a doctor", or "the doctor is Kadan Morel"."""
    if who.known and not who.introduced:
        clause = Clause("be", NP(who.trade, determiner="the"), attribute=who.full(), tense="present")
    else:
        subject = NP(who.name) if who.introduced else who.full()
        clause = Clause("be", subject, attribute=NP(who.trade, determiner="a"), tense="present")
    who.introduced = who.known = True
    text.now.append(who)
    text.say(clause)


def _announce(text: _Text, who: _Person) -> None:
    """Say whom the report is about; no pronoun takes that up."""
    if who.known or who.introduced:
        about = NP(who.trade, determiner="the") if who.known and (not who.introduced or text.random() < 0.75) else who.full()
    elif text.random() < 0.75:
        about, who.known = NP(who.trade, determiner="a"), True
    else:
        about, who.introduced = who.full(), True
    noun = ("report", "story", "article")[int(text.random() * 3)]
    if text.random() < 0.6:
        text.say(Clause("be", NP(noun, determiner="this"), places=(PP("about", about),), tense="present"))
    else:
        piece = NP(noun, determiner="a", place=PP("about", about))
        text.say(Clause("write", NP("journalist", determiner="a"), piece))


def _colour(text: _Text, plot: _Plot) -> None:
    world, what = plot.cast.world, plot.object
    if isinstance(what, _Thing) and text.random() < 0.5 and (weights := world.adjective_weights[what.noun]):
        spare = [key for key in weights if key not in what.adjectives]
        text.say(Clause("be", text.thing(what), attribute=spare[int(text.random() * len(spare))]))
        return
    text.say(Clause("be", text.person(plot.actor), attribute=GROUPS["mood"][int(text.random() * len(GROUPS["mood"]))]))


def _report(world: World) -> tuple[list[list[str]], list[str]]:
    """Sentences of a report and the words of its summary."""
    random, text, cast = world.random, _Text(world.random), _Cast(world)
    plot = _Plot(cast)
    arrives, late = random() < 0.65, random() < 0.5
    steps: list[Callable[[], None]] = []
    if random() < 0.65:
        steps.append(lambda: _introduce(text, plot.actor))
    if arrives:
        steps.append(lambda: plot.arrive(text, not late))
    companions = plot.people()[1:]
    before = [who for who in companions if random() < 0.4]
    steps += [lambda who=who: _introduce(text, who) for who in before]
    # what a person did after going somewhere was done there, be it said or not
    steps.append(lambda: plot.act(text, not arrives or (plot.place in text.near and random() < 0.6), late or not arrives))
    steps.append(lambda: plot.sequel(text))
    steps += [lambda who=who: _introduce(text, who) for who in companions if who not in before and random() < 0.5]
    if random() < 0.3:
        steps.append(lambda: _colour(text, plot))
    for _ in range(1 + (random() < 0.6)):
        side = _Plot(cast)
        aside = [lambda side=side: side.act(text, True, True)]
        if random() < 0.5:
            aside.insert(0, lambda side=side: _introduce(text, side.actor))
        elif random() < 0.4:
            aside.append(lambda side=side: side.sequel(text))
        at = int(random() * (len(steps) + 1))
        steps[at:at] = aside
    first = random() < 0.7
    if first:
        _announce(text, plot.actor)
    for step in steps:
        step()
    if not (plot.actor.introduced and plot.actor.known):
        _introduce(text, plot.actor)
    if not first:
        _announce(text, plot.actor)
    return text.sentences, plot.summary()


def reports(seed: int) -> Iterator[Pair]:
    """Endless reports with their summaries, the same in every process.

    `source` is a report of 4 to 8 sentences and 35 to 80 words, `target` its summary of 9 to 22 words; words and punctuation
    stand apart. `origin` is "controlled-reports".
    """
    world = World("news")
    world.random = random.Random(f"reports {seed}").random
    (fewest, most), (shortest, longest), (least, utmost) = SENTENCES["report"], WORDS["report"], WORDS["summary"]
    while True:
        try:
            sentences, summary = _report(world)
        except Spent:
            continue
        words = [word for sentence in sentences for word in sentence]
        fits = fewest <= len(sentences) <= most and shortest <= len(words) <= longest
        if fits and least <= len(summary) <= utmost:
            yield Pair(" ".join(words), " ".join(summary), origin="controlled-reports")


# -------------------------------------------------------------------------------------------------- stories


@dataclass(slots=True, eq=False)
class _Item:
    thing: _Thing
    holder: _Person | None  # None: it lies where it was lost
    place: _Place | None = None
    loser: _Person | None = None
    moves: int = 0  # of its loser, until it was lost
    used: bool = False
    given: bool = False


class _Story:
    """Two or three people, where they are and what they have; each beat is one sentence and changes that."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.cast, self.text = _Cast(world), _Text(world.random)
        count = 2 + (world.random() < 0.3)
        self.people = [self.cast.person(TRADES if world.random() < 0.5 else "", 0.0) for _ in range(count)]
        self.places = [self.cast.place(0.7, GROUPS["towns"]), self.cast.place(0.3), self.cast.place(0.0)]
        self.at = dict.fromkeys(self.people, self.places[0])
        self.items: list[_Item] = []
        self.hero, self.moves = self.people[0], dict.fromkeys(self.people, 0)
        self.due: Callable[[], None] | None = None  # what the last beat calls for
        self.moved = False  # whether the last beat was that somebody went

    def one(self, options):
        return options[int(self.random() * len(options))]

    def held(self, who: _Person) -> list[_Item]:
        return [item for item in self.items if item.holder is who]

    def lying(self, who: _Person) -> list[_Item]:
        """What was lost where somebody is, by somebody else or before leaving the place."""
        here = [item for item in self.items if item.holder is None and item.place is self.at[who]]
        return [item for item in here if item.loser is not who or self.moves[who] > item.moves]

    def fellows(self, who: _Person) -> list[_Person]:
        return [other for other in self.people if other is not who and self.at[other] is self.at[who]]

    def tell(self, clause: Clause, where: _Place | None = None) -> None:
        if where is not None:
            places, clause.adverbs = self.text.where(where)
            clause.places = (*clause.places, *places)
        self.text.say(clause)

    def happen(self, verb: str, *roles: _Person | _Thing, where: _Place | None = None) -> None:
        self.tell(Clause(verb, *map(self.text.mention, roles)), where)

    def begin(self) -> None:
        """Say who they are and where they live."""
        text, (first, second, *_) = self.text, self.people
        for who in self.people:
            who.introduced = True
        pair = NP(first.name, coordinate=NP(second.name))
        if self.random() < 0.4:
            text.now += [first, second]
            self.tell(Clause("live", pair), self.places[0])
        else:
            text.now.append(first)
            self.tell(Clause("live", NP(first.name)), self.places[0])
            kin = self.one(("sister", "daughter", "neighbour") if second.female else ("brother", "son", "neighbour"))
            text.now += [first, second]
            owner = NP(first.name)
            self.tell(Clause("be", NP(second.name), attribute=NP(kin, determiner="the", genitive=owner)))
        for other in self.people[2:]:
            self.at[other] = self.places[1]
            text.now.append(other)
            self.tell(Clause("be", NP(other.name)), self.places[1])
        for who in self.people:
            if who.trade and self.random() < 0.5:
                _introduce(text, who)

    # -- beats: each says one sentence about `who`
    def go(self, who: _Person) -> None:
        lost = [item.place for item in self.items if item.holder is None and item.loser is not who]
        others = [place for other, place in self.at.items() if other is not who]
        options = [place for place in (*self.places, *(3 * lost), *others) if place is not self.at[who]]
        place = self.one(options)
        fellows = self.fellows(who)
        clause = Clause("go", self.text.person(who), places=(place.phrase("to"),))
        self.at[who] = place
        self.moves[who] += 1
        if fellows and self.random() < 0.5:
            other = self.one(fellows)
            self.at[other] = place
            self.moves[other] += 1
            clause.places = (*clause.places, PP("with", self.text.person(other)))
        elif not fellows and (met := self.fellows(who)):
            self.due = lambda: self.meet(who, met[0])
        self.text.now.append(place)
        self.tell(clause)

    def meet(self, who: _Person, other: _Person) -> None:
        self.happen("meet", who, other, where=self.at[who])

    def gain(self, who: _Person) -> None:
        thing, place = self.cast.thing(GOODS), self.at[who]
        sold = place.town or place.noun in GROUPS["shops"]
        verb = "buy" if self.world.nouns[thing.noun].cls == "food" or (sold and self.random() < 0.7) else "find"
        self.items.append(_Item(thing, who))
        clause = Clause(verb, self.text.person(who), self.text.thing(thing))
        self.tell(clause, place if self.random() < 0.7 else None)

    def give(self, who: _Person) -> None:
        item, other = self.one([i for i in self.held(who) if not i.given]), self.one(self.fellows(who))
        subject, thing = self.text.person(who), self.text.thing(item.thing)  # the dice fall in this order
        verb = "give" if self.random() < 0.75 else "sell"
        self.tell(Clause(verb, subject, thing, self.text.person(other)))
        item.holder, item.used, item.given = other, False, True
        if verb == "give" and self.random() < 0.6:
            self.due = lambda: self.thank(other, who)

    def thank(self, who: _Person, other: _Person) -> None:
        if self.random() < 0.6:
            self.happen("thank", who, other)
        else:
            self.tell(Clause("be", self.text.person(who), attribute="happy", degree="very" if self.random() < 0.4 else ""))

    def lose(self, who: _Person) -> None:
        item = self.one([item for item in self.held(who) if item.thing not in self.text.near])
        item.holder, item.place, item.loser, item.moves = None, self.at[who], who, self.moves[who]
        self.happen("lose", who, item.thing, where=item.place)
        if self.random() < 0.5:
            self.due = lambda: self.tell(Clause("be", self.text.person(who), attribute="sad"))

    def recover(self, who: _Person) -> None:
        item = self.one(self.lying(who))
        clause = Clause("find", self.text.person(who))
        owner = item.loser if item.loser is not who and self.random() < 0.3 else None
        if owner is not None:
            clause.object = NP(item.thing.noun, determiner="the", genitive=NP(owner.name))
            self.text.now += [owner, item.thing]
        else:
            clause.object = self.text.thing(item.thing)
        self.tell(clause, self.at[who])
        loser, item.holder, item.place, item.loser, item.used = item.loser, who, None, None, False
        if loser is not who and self.at[loser] is self.at[who]:
            self.due = lambda: self.give_back(who, item, loser)

    def give_back(self, who: _Person, item: _Item, other: _Person) -> None:
        self.happen("give", who, item.thing, other)
        item.holder = other
        self.due = lambda: self.thank(other, who)

    def use(self, who: _Person) -> None:
        item = self.one([item for item in self.held(who) if not item.used and self.uses(item)])
        verb, item.used = self.one(self.uses(item)), True
        if verb == "eat.person":
            self.items.remove(item)
        self.happen(verb, who, item.thing)

    def uses(self, item: _Item) -> tuple[str, ...]:
        noun, done = item.thing.noun, TABLES["done"]
        return done.get(noun, done.get(self.world.nouns[noun].cls, ()))

    def show(self, who: _Person) -> None:
        item, other = self.one(self.held(who)), self.one(self.fellows(who))
        self.happen("show", who, item.thing, other)

    def beat(self) -> None:
        """Let happen what the last sentence calls for, or something that can happen to somebody."""
        if self.due is not None:
            due, self.due = self.due, None
            due()
            return
        finders = [who for who in self.people if self.lying(who)]
        if self.random() < 0.4:
            self.hero = self.one(finders or self.people)
        who = self.hero
        held, fellows = self.held(who), self.fellows(who)
        unused = [item for item in held if not item.used and self.uses(item)]
        options = {self.go: 0.1 if self.moved else 2.0, self.gain: (4.0, 1.0, 0.2, 0.0)[min(len(self.items), 3)]}
        if any(item.thing not in self.text.near for item in held):
            options[self.lose] = 3.0
        if held and fellows:
            options[self.show] = 0.4
            if not all(item.given for item in held):
                options[self.give] = 2.0
        if unused:
            options[self.use] = 1.5
        if self.lying(who):
            options[self.recover] = 8.0
        weights = list(options.values())
        at, total = 0, self.random() * sum(weights)
        while total >= weights[at]:
            total -= weights[at]
            at += 1
        chosen = list(options)[at]
        self.moved = chosen == self.go
        chosen(who)


def stories(seed: int) -> Iterator[Text]:
    """Endless stories of 5 to 10 sentences, words and punctuation apart, the same in every process.

    `origin` is "controlled-stories".
    """
    world = World("news")
    world.random = random.Random(f"stories {seed}").random
    fewest, most = SENTENCES["story"]
    while True:
        try:
            story = _Story(world)
            story.begin()
            length = fewest + int(max(world.random(), world.random()) * (most - fewest + 1))
            while len(story.text.sentences) < length:
                story.beat()
        except Spent:
            continue
        yield Text(story.text.text(), "controlled-stories")
