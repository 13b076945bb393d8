"""Controlled dialogues of the small world with their summaries and gold coreference.

Two to four speakers settle who will do what, and tell who has done what; the summary says each of these facts in one sentence
of a regular grammar (`render_summary`, `facts`). A fact is spread over several turns, and the people in it are mostly pronouns
there: somebody asks, another declines, a third accepts; the verb is said with "who" or "somebody", and who is meant comes
later. Facts are interleaved with each other, with wishes that come to nothing, and with small talk about other people. A turn
that goes back to something takes it up first ("the lamp ? ..."); other answers are to what was said last.

A careful reader can resolve every pronoun:

- "i", "me", "my" are the speaker of the turn;
- "you", "your" are whom the turn has last addressed by name ("tom , ...", "tom ! ...", "hello tom ."), else the speaker of the
  turn before;
- "he", "she", "him", "her", "his" are the person of that gender last spoken of, by name or by such a pronoun, leaving out the
  speaker and "you" (labels of turns and addresses do not count as speaking of somebody);
- "it" is the thing last spoken of; "that" is no mention: it stands for what is to be done or was done.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from helpers.records import TURN, Dialogue, Event, Span
from helpers.world.lexicon import FEMALE, VERBS
from helpers.world.sampler import Spent, World
from helpers.world.word_tables import read

WORDS, TURNS, SPEAKERS = (60, 150), (6, 14), (2, 4)  # fewest and most
FORENAMES = tuple(  # the world's 32 most frequent, of men and of women
    tuple(name.lower() for name in World("news").forenames[0][:32] if (name in FEMALE) == female) for female in (False, True)
)
NAMES = frozenset(name for names in FORENAMES for name in names)
DEEDS = {  # verb: the preposition of its receiver, and what may be its thing
    row["verb"]: (row["preposition"], tuple(row["things"].split())) for row in read("deeds")
}
PLANNED = tuple(verb for verb, (preposition, _) in DEEDS.items() if preposition)  # may be asked for
BARE = frozenset(("sell", "send", *(verb for verb in DEEDS if DEEDS[verb][0] == "for")))  # can be said without a receiver
MISSED = frozenset("give sell send take lose forget break.thing".split())  # leave one asking where the thing is
THINGS = tuple(dict.fromkeys(noun for _, taken in DEEDS.values() for noun in taken))
AHEAD = (
    *(f"on {day}" for day in "monday tuesday wednesday thursday friday saturday sunday".split()),
    *("tomorrow", "tonight", "next week"),
)
BEFORE = ("yesterday", "last week", "this morning")
END = object()  # what a thread that has ended gives
KIN = (("brother", "son", "uncle", "friend"), ("sister", "daughter", "aunt", "friend"))  # of men, of women
_FORMS = {"he": ("i", "you", "he", "she"), "him": ("me", "you", "him", "her"), "his": ("my", "your", "his", "her")}
_AGREE = {"has": ("have", "have", "has"), "is": ("am", "are", "is"), "wants": ("want", "want", "wants")}  # "i", "you", others

LINES: dict[str, tuple[str, ...]] = {}  # what is said, by occasion
for _row in read("conversation"):
    LINES[_row["occasion"]] = (*LINES.get(_row["occasion"], ()), *[_row["line"]] * int(_row["times"] or 1))


@dataclass(slots=True, eq=False)
class _Person:
    name: str
    female: bool
    kin: str = ""  # what the person is to `owner`
    owner: _Person | None = None
    mentioned: bool = False  # whether the text has spoken of the person


@dataclass(slots=True, eq=False)
class _Thing:
    noun: str


class _Talk:
    """The words of a dialogue as they are said, who and what they mention, and whom a pronoun would mean next."""

    def __init__(self, dice: random.Random, speakers: list[_Person], thirds: list[_Person]) -> None:
        self.random, self.speakers, self.thirds = dice.random, speakers, thirds
        self.people = speakers + thirds
        self.words: list[str] = []
        self.turns: list[tuple[int, _Person]] = []  # first word and speaker
        self.mentions: dict[_Person | _Thing, list[Span]] = {}
        self.events: list[Event] = []
        self.used: set[str] = set()  # verbs, nouns and small talk
        self.spoken: list[_Person] = []  # the last one last
        self.speaker = self.hearer = None
        self.link: _Thing | None = None  # what the next turn must take up before it goes on
        self.subject = 2  # the last one: 0 "i", 1 "you", 2 another

    # -- chances
    def one(self, options: Sequence):
        return options[int(self.random() * len(options))]

    def other(self, options: Sequence, *but):
        return self.one([option for option in options if option not in but])

    def fresh(self, options: Sequence[str]) -> str:
        left = [option for option in options if option not in self.used]
        if not left:
            raise Spent
        chosen = self.one(left)
        self.used.add(chosen)
        return chosen

    # -- words
    def say(self, who: _Person, speech: str, roles: dict, to: _Person | None = None) -> None:
        """Let somebody say something, in the running turn if it is theirs; `to` is addressed by name unless that is clear."""
        if who is not self.speaker:
            self.hearer, self.speaker = self.speaker, who
            self.turns.append((len(self.words), who))
            self.words.append(TURN)
            self.mark(who, who.name)
            self.words.append(":")
        if self.link is not None:
            self.speak("the:L ?" if self.random() < 0.5 else "and the:L ?", {"L": self.link})
            self.link = None
        if to is not None and (to is not self.hearer or self.random() < 0.15):
            self.hearer = to
            for word in self.one(LINES["address"]).split():
                if word == "name:B":
                    self.mark(to, to.name)
                else:
                    self.words.append(word)
        self.speak(speech, roles)

    def mark(self, who: _Person | _Thing, *words: str) -> None:
        start = len(self.words)
        self.words += words
        self.mentions.setdefault(who, []).append((start, len(self.words)))

    def speak(self, speech: str, roles: dict) -> None:
        for token in speech.split():
            form, _, role = token.partition(":")
            if role:
                self.refer(form, roles[role])
            elif token in ("i", "me"):
                self.subject = 0
                self.mark(self.speaker, token)
            elif token == "you":
                self.subject = 1
                self.mark(self.hearer, token)
            elif token[0] == "+":
                self.words.append(_AGREE[token[1:]][self.subject])
            else:
                self.words.append(token)

    def refer(self, form: str, who: _Person | _Thing) -> None:
        """Mention somebody or something, by a pronoun where the form asks for one and it is clear."""
        if form == "lead":
            self.lead(who)
        elif form in _FORMS:
            self.subject = 0 if who is self.speaker else 1 if who is self.hearer else 2
            if self.subject == 2 and self.meant(who.female) is not who:
                self.name(who)
                return
            self.mark(who, _FORMS[form][self.subject + (self.subject == 2 and who.female)])
            if self.subject == 2:
                self.spoken.append(who)
        elif form == "name":
            self.name(who)
        elif form == "it":
            self.mark(who, "it")
        else:
            self.mark(who, "the", who.noun)

    def meant(self, female: bool) -> _Person | None:
        """Whom "he" or "she" would mean now."""
        for who in reversed(self.spoken):
            if who.female == female and who is not self.speaker and who is not self.hearer:
                return who
        return None

    def name(self, who: _Person) -> None:
        owner = who.owner
        if owner and not who.mentioned and (owner in (self.speaker, self.hearer) or self.meant(owner.female) is owner):
            self.refer("his", owner)
            self.words.append(who.kin)
        who.mentioned, self.subject = True, 2
        self.mark(who, who.name)
        self.spoken.append(who)

    def lead(self, who: _Person) -> None:
        """Address somebody, or bring somebody up, so that a pronoun can follow."""
        near = (self.speaker, self.hearer)
        if who in near or (self.meant(who.female) is who and self.random() < 0.7):
            return
        if who in self.speakers and self.random() < 0.8:
            self.hearer = who
            self.mark(who, who.name)
            self.words.append("!")
            return
        others = [other for other in self.people if other.female != who.female and other not in near]
        paired = others and self.random() < 0.5
        self.speak(self.one(LINES["pair"] if paired else LINES["lead"]), {"X": who, "Y": self.one(others) if paired else None})

    # -- threads: each says one turn after another, and yields what it is about where something else may come in between
    def deed(self, keys: Sequence[str]) -> tuple[str, _Thing]:
        key = self.fresh(keys)
        return key, _Thing(self.fresh(DEEDS[key][1]))

    def fact(self, key: str, agent: _Person, thing: _Thing, receiver: _Person | None, time: str) -> None:
        self.events.append(Event(VERBS[key].lemma, agent.name, thing.noun, receiver.name if receiver else "", time))

    def plan(self) -> Iterator[_Thing | None]:
        """Settle who will do something."""
        key, thing = self.deed(PLANNED)
        do, preposition = VERBS[key].lemma, DEEDS[key][0]
        asker, agent, receiver, expected = self.one(self.speakers), self.one(self.people), None, None
        if preposition == "to" or self.random() < 0.6:
            receiver = asker if asker is not agent and self.random() < 0.4 else self.other(self.people, agent)
        if (chance := self.random()) < 0.7:  # else nobody
            expected = agent if chance < 0.25 else self.other(self.people, receiver)
        aside = expected not in self.speakers or expected is asker
        answerer = self.other(self.speakers, asker) if aside else expected
        style = "open" if expected is None else "offer" if expected is asker else "third" if aside else "direct"
        time = self.one(AHEAD)
        wrong = self.other(AHEAD, time)
        self.fact(key, agent, thing, receiver, time)
        when = self.one(("now", "now", "early", "asked", "moved", "guessed"))
        late = receiver is not None and key in BARE and self.random() < 0.4
        mistaken = self.random() < 0.15
        roles = {"T": thing, "X": agent, "R": receiver, "E": expected}
        if mistaken:
            roles["W"] = _Thing(self.fresh(DEEDS[key][1]))
        whom = f" {preposition} him:R" if receiver and not late else ""
        asked = f"{do} the:{'W' if mistaken else 'T'}{whom} {time if when == 'early' else ''}"
        self.say(asker, self.one(LINES[f"ask {style}"]).format(asked), roles, answerer if style == "direct" else None)
        if mistaken:
            yield None
            self.say(answerer, "the:W ?", roles)
            yield None
            self.say(asker, self.one(LINES["mistaken"]), roles)
        if late:
            yield thing
            self.say(answerer, f"{preposition} whom ?", roles)
            yield None
            self.say(asker, f"lead:R {preposition} him:R .", roles)
        yield thing
        start, settler = "", answerer
        if expected is agent and agent is asker:
            self.say(answerer, self.one(("yes , please .", "that is very kind .", "very good .")), roles)
            yield None
            settler = asker
        elif expected is agent:
            start = self.one(LINES["agreed"])
        else:
            if expected is not None:
                self.say(answerer, self.one(LINES["refusal"]), roles)
            if agent in self.speakers and self.random() < 0.8 and (expected or agent is not asker):
                settler = agent
                start = self.one(("then", "but", "well ,")) if expected else ""
            if expected is not None and settler is not answerer:
                yield thing
        day = {"now": time, "moved": wrong}.get(when, "")
        will = self.one(LINES["will"] if key in BARE else LINES["will"][:-1])
        self.say(settler, f"{start} {will.format(time=day, do=do)}", roles)
        yield thing
        other = self.other(self.speakers, settler)
        if when in ("asked", "moved", "guessed"):
            ask = {"asked": self.one(("when ?", "and when ?")), "moved": self.one(LINES["moved"]), "guessed": "{wrong} ?"}[when]
            self.say(other, ask.format(time=time, wrong=wrong), roles)
            yield None
            reply = {"asked": "{time} .", "moved": self.one(("all right , {time} .", "good ."))}.get(when) or self.one(
                LINES["not then"]
            )
            self.say(settler, reply.format(time=time, wrong=wrong), roles)
        elif self.random() < 0.3:
            self.say(other, self.one(LINES["thanks"]), roles)

    def report(self) -> Iterator[_Thing | None]:
        """Tell what somebody has done."""
        key, thing = self.deed(tuple(DEEDS))
        verb, preposition, agent = VERBS[key], DEEDS[key][0], self.one(self.people)
        mine = agent in self.speakers and (len(self.speakers) == 2 or self.random() < 0.75)
        teller = agent if mine else self.other(self.speakers, agent)
        asker, receiver = self.other(self.speakers, teller, agent), None
        if preposition == "to" or (preposition and self.random() < 0.5):
            receiver = self.other(self.people, agent)
        time = self.one(BEFORE) if self.random() < 0.5 else ""
        self.fact(key, agent, thing, receiver, time)
        late = receiver is not None and key in BARE and self.random() < 0.4
        dated = bool(time) and self.random() < 0.4  # when it was comes last
        roles = {"T": thing, "X": agent, "R": receiver}
        whom, day = f" {preposition} him:R" if receiver and not late else "", "" if dated else time
        done, had = (verb.past, verb.past) if time else (f"+has {verb.participle}", f"has {verb.participle}")
        style = self.one(("told", "who", "who", "asked", "asked", "sought"))
        if style == "told":
            if agent not in self.speakers:
                self.say(teller, self.one(LINES["lead"]), roles)
                yield None
                self.say(asker, self.one(LINES["next"]), roles)
                yield None
            self.say(teller, f"lead:X he:X {done} the:T{whom} {day} .", roles)
        elif style == "sought":
            self.say(asker, self.one(LINES["sought"] if key in MISSED else LINES["about"]), roles)
            yield thing
            self.say(teller, f"lead:X he:X {done} it:T{whom} {day} .", roles)
        elif style == "who":
            self.say(asker, f"who {had} the:T{whom} ?", roles)
            suspects = [who for who in self.people if who not in (agent, asker, receiver)]
            suspected = suspects and self.random() < 0.35
            if suspected:
                roles["Y"] = self.one(suspects)
                self.say(asker, "lead:Y was that him:Y ?", roles)
            yield thing
            self.say(teller, f"{'no ,' if suspected else ''} {self.one(LINES['did']).format(time=day)}", roles)
        else:
            guess = agent if self.random() < 0.35 else self.other((*self.thirds, teller), receiver)
            roles["E"] = guess
            self.say(asker, f"lead:E did he:E {verb.lemma} the:T{whom} ?", roles, teller if guess is teller else None)
            yield thing
            start = "yes ," if guess is agent else self.one(("no ,", "not him:E .", "no , not him:E ."))
            self.say(teller, f"{start} {self.one(LINES['did']).format(time=day)}", roles)
        questions = [(f"{preposition} whom ?", f"lead:R {preposition} him:R .")] if late else []
        questions += [("when ?", f"{time} .")] if dated else []
        for question, answer in questions:
            yield thing
            self.say(asker, question, roles)
            yield None
            self.say(teller, answer, roles)
        if self.random() < 0.2:
            yield None
            self.say(asker, self.one(LINES["thanks"]), roles)

    def wish(self) -> Iterator[_Thing | None]:
        """Bring up something that nobody will do."""
        key, thing = self.deed([key for key in PLANNED if key in BARE])
        asker, roles = self.one(self.speakers), {"T": thing, "C": self.one(self.thirds)}
        answerer, wish = self.other(self.speakers, asker), self.one(LINES["wish"])
        self.say(asker, wish.format(f"{VERBS[key].lemma} the:T"), roles, answerer if "you" in wish else None)
        yield thing
        self.say(answerer, self.one(LINES["never"]), roles)
        if self.random() < 0.5:
            yield None
            self.say(asker, self.one(LINES["dropped"]), roles)

    def chat(self) -> Iterator[None]:
        asker, roles = self.one(self.speakers), {"C": self.one(self.thirds)}
        turns = [line.split(" / ") for line in LINES["talk"]]
        opening, *answers = self.one([lines for lines in turns if lines[0] not in self.used])
        self.used.add(opening)
        answerer = self.other(self.speakers, asker)
        self.say(asker, opening, roles, answerer if "you" in opening else None)
        for who, answer in zip((answerer, asker), answers, strict=False):
            yield None
            self.say(who, answer, roles)

    def run(self, waiting: list[Iterator[_Thing | None]]) -> None:
        """Let threads speak to their ends, at times in turns; one that is taken up again says what it is about."""
        begun: list[tuple[Iterator[_Thing | None], _Thing]] = []
        current = waiting.pop()
        while True:
            about = next(current, END)
            if about is END:
                if not (begun or waiting):
                    return
            elif about is None or not (begun or waiting) or self.random() < 0.8:
                continue
            last, self.link = current, None
            if begun and (not waiting or self.random() < 0.5):
                current, self.link = begun.pop(int(self.random() * len(begun)))
            else:
                current = waiting.pop()
            if about is not END:
                begun.append((last, about))


def _people(dice: random.Random) -> tuple[list[_Person], list[_Person]]:
    """Who speaks, and who is spoken of; mostly of one gender."""
    speakers, count = dice.choice((2, 2, 3, 3, 4)), dice.choice((1, 2, 2, 3))
    gender, people = dice.random() < 0.5, []
    while len(people) < speakers + count:
        female = gender if dice.random() < 0.7 else not gender
        name = dice.choice(FORENAMES[female])
        if all(name != who.name for who in people):
            people.append(_Person(name, female))
    for place in range(speakers, len(people)):
        if dice.random() < 0.6:
            people[place].kin, people[place].owner = dice.choice(KIN[people[place].female]), dice.choice(people[:place])
    return people[:speakers], people[speakers:]


def _dialogue(dice: random.Random) -> Dialogue | None:
    """A dialogue, or None where it has to be given up, or is too short or too long."""
    talk = _Talk(dice, *_people(dice))
    threads = [talk.plan() if dice.random() < 0.5 else talk.report() for _ in range(dice.choice((2, 2, 2, 3, 3, 4)))]
    threads += [talk.wish() for _ in range(dice.choice((0, 0, 1)))] + [talk.chat() for _ in range(dice.choice((0, 1, 1, 2)))]
    dice.shuffle(threads)
    try:
        talk.run(threads)
    except Spent:
        return None
    words, spoken = talk.words, {who for _, who in talk.turns}
    sizes = ((len(words), WORDS), (len(talk.turns), TURNS), (len(spoken), SPEAKERS))
    if not all(fewest <= size <= most for size, (fewest, most) in sizes):
        return None
    starts = [start for start, _ in talk.turns]
    return Dialogue(
        " ".join(words),
        render_summary(talk.events),
        tuple(words),
        tuple((start, start + 3, stop) for start, stop in pairwise((*starts, len(words)))),
        tuple(tuple(spans) for spans in talk.mentions.values() if len(spans) > 1),
        tuple(talk.events),
        "controlled-dialogues",
    )


def conversations(seed: int) -> Iterator[Dialogue]:
    """Endless dialogues with their summaries and gold coreference, the same in every process.

    They have 2 to 4 speakers, 6 to 14 turns and 60 to 150 words, all lower case, with 2 to 4 `events` that the summary tells,
    each in one sentence, in the order in which the dialogue comes to them. `clusters` hold all mentions of each person and
    thing mentioned more than once: labels of turns, names, pronouns, "the" with its noun. Mentions do not overlap: of "my
    sister mira" "my" and "mira" are mentions. `origin` is "controlled-dialogues".
    """
    dice = random.Random(f"conversations {seed}")
    while True:
        dialogue = _dialogue(dice)
        if dialogue is not None:
            yield dialogue


_VERBS = {  # lemma, past, participle and preposition of each verb, by lemma
    VERBS[key].lemma: (VERBS[key].lemma, VERBS[key].past, VERBS[key].participle, DEEDS[key][0]) for key in DEEDS
}
_NAME = "|".join(NAMES)
_FUTURE, _PAST, _PERFECT = ("|".join(forms[which] for forms in _VERBS.values()) for which in range(3))
_SENTENCE = re.compile(  # what the grammar takes for a sentence, without its full stop
    rf"({_NAME}) (?:will ({_FUTURE})|({_PAST})|has ({_PERFECT})) the ({'|'.join(THINGS)})"
    rf"(?: (for|to) ({_NAME}))?(?: ({'|'.join((*AHEAD, *BEFORE))}))?"
)


def render_summary(events: Sequence[Event]) -> str:
    """Tell events, one sentence each: "mira will repair the lamp for tom on monday . tom has lost the key ."

    An event with a time ahead stands in the future, one with a time gone by in the past, one without in the perfect.
    """
    sentences = []
    for event in events:
        lemma, past, participle, preposition = _VERBS[event.verb]
        done = f"will {lemma}" if event.time in AHEAD else past if event.time else f"has {participle}"
        whom = f"{preposition} {event.receiver} " if event.receiver else ""
        sentences.append(f"{event.agent} {done} the {event.thing} {whom}{event.time} .")
    return " ".join(" ".join(sentences).split())


def facts(summary: str) -> list[Event]:
    """Read a summary back: what each of its sentences says, in their order, without those that are not of the grammar.

    ``facts(render_summary(events)) == events``.
    """
    events = []
    for sentence in " ".join(summary.lower().split()).split("."):
        match = _SENTENCE.fullmatch(sentence.strip())
        if match is None:
            continue
        agent, future, past, perfect, thing, preposition, receiver, time = (part or "" for part in match.groups())
        form = future or past or perfect
        verb, forms = next((verb, forms) for verb, forms in _VERBS.items() if form in forms[:3])
        if preposition in ("", forms[3]):
            events.append(Event(verb, agent, thing, receiver, time))
    return events


def consistency(hypotheses: Sequence[str], dialogues: Sequence[Dialogue]) -> np.ndarray:
    """Events of each dialogue, and how many its summary tells of the right people, no matter when: int [dialogues, 2].

    Factual consistency is the second column's sum over the first's. Events are matched one to one: a sentence that stands twice
    counts once. What else a summary says counts neither way.
    """
    rows = []
    for hypothesis, dialogue in zip(hypotheses, dialogues, strict=True):
        told, wanted = (Counter((e.verb, e.thing, e.agent, e.receiver) for e in events)
                        for events in (facts(hypothesis), dialogue.events))  # fmt: skip
        rows.append((len(dialogue.events), (told & wanted).total()))
    return np.array(rows)
