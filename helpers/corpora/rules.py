"""Coreference resolvers by rules, for people and things in dialogues: no model, no download."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.records import Dialogue, Span

_LINES = Path(__file__).with_name("words").joinpath("rules.tsv").read_text("utf-8").splitlines()
_WORDS = {name: frozenset(words.split()) for name, _, words in (line.partition("\t") for line in _LINES if line[0] != "#")}


def _gendered(kind: str) -> dict[str, str]:
    """Words of a kind with their gender, "m", "f" or "" for either."""
    genders = ((gender, _WORDS.get(f"{kind} {gender}".strip(), ())) for gender in ("m", "f", ""))
    return {word: gender for gender, words in genders for word in words}


_I, _YOU, _IT, _POSSESSIVES, _STOP, _DATES, _ADJECTIVES, _DETERMINERS, _PARENTS, _GREETINGS, _MEN, _WOMEN = (
    _WORDS[kind] for kind in (
        "i", "you", "it", "possessive", "function", "date", "adjective", "determiner", "parent", "greeting", "forename m",
        "forename f",
    )
)  # fmt: skip
_PRONOUNS, _KIN, _TITLES = _gendered("pronoun"), _gendered("kin"), _gendered("title")
_QUOTES = {'"': None, "“": True, "”": False}


@dataclass(eq=False)
class _Entity:
    """Somebody (also whatever has a name) or something spoken of."""

    person: bool
    gender: str = ""
    noun: str = ""
    owner: _Entity | None = None
    mentions: list[Span] = field(default_factory=list)


def rule(dialogue: Dialogue) -> list[list[Span]]:
    """A small resolver that knows speakers, turns, gender and repeated words; it needs no model.

    1. A label is the speaker; "?" is nobody.
    2. "I", "me", "my" are the speaker of the turn; "you", "your" whom the turn has last addressed (rule 4), else the speaker
       of the nearest turn before, or else after, by another. Both are left inside quotation marks, as is the "you" of "you
       know" before a mark.
    3. A word of a speaker's name is the speaker. Other names are capitalised words that do not begin a sentence, are no date
       or function word, and stand in lower case nowhere; a known forename, or such a name, may begin a sentence too. In a
       dialogue without capitals they are known forenames, and words right after one of kinship ("my brother") that do not end
       in -s, -ed or -ing; others are missed. Neighbouring names are one; those that share a word are the same.
    4. A speaker's name is an address if it follows a greeting or comma before a mark, or follows a mark before a comma or
       "!".
    5. Gender is that of words of kinship, titles, some 170 forenames, and any other name on -a (a woman); for others it is
       that of the first pronoun that takes them.
    6. "he", "she" are the person last spoken of whose gender fits, leaving out the speaker and "you", labels and addresses;
       if there is none, somebody new.
    7. A noun phrase is a determiner or possessive, adjectives, and a noun; its mention begins after a possessive, which is
       one of its own. It is what was last called by that noun with the same owner, or with none on one side; with "a", "an"
       always something new. A word of kinship is a person; before a name it is no mention, and a new name is the person it
       means.
    8. "it", "its" are the thing last spoken of, if there is one. "we", "they" and single "this", "that" are left.

    Some clusters have one mention; no two mentions share a word.
    """
    return _Reader(dialogue).read()


def match(dialogue: Dialogue, pronouns: bool = False) -> list[list[Span]]:
    """A worse one: labels, names (`rule`, 3) and nouns with a determiner are one where they are the same word; no pronouns."""
    reader, name = _Reader(dialogue), None  # the last one spoken
    found: dict[Hashable, list[Span]] = defaultdict(list)  # by speaker, name or noun; of None what is nobody's
    for number, (start, speech, stop) in enumerate(reader.turns):
        reader.stop, me, you = stop, reader.by_turn[number], reader._other(number)
        found[me].append((start + 1, speech - 1))
        for place in range(speech, stop):
            word, who, end = reader.words[place], None, place + 1
            if reader._is_name(place):
                who = name = reader.named.get(word, word)
            elif pronouns:
                who = me if word in _I else you if word in _YOU else name if word in _PRONOUNS else None
            elif word in _DETERMINERS:
                thing, end = reader._phrase(place, None)
                who = thing and thing.noun
            found[who].append((place, end))
    return [mentions for who, mentions in found.items() if who]


def nearest(dialogue: Dialogue) -> list[list[Span]]:
    """Another: labels and names as in `match`, no nouns, and the nearest person for each pronoun.

    "I", "me", "my" are the speaker of the turn, "you", "your" that of the nearest turn before, or else after, by another, and
    "he", "she" whoever was named last in a turn, man or woman.
    """
    return match(dialogue, pronouns=True)


class _Reader:
    """What `rule` knows while it reads a dialogue."""

    def __init__(self, dialogue: Dialogue):
        self.turns, self.written = dialogue.turns, dialogue.words
        self.words = [word.lower() for word in dialogue.words]
        self.entities: list[_Entity] = []
        self.recent: list[_Entity] = []  # the one last spoken of at the end
        self.named: dict[str, _Entity] = {}  # by every word of a name
        self.speakers: dict[tuple[str, ...], _Entity] = {}
        self.by_turn = [self._speaker(tuple(self.words[start + 1 : speech - 1])) for start, speech, _ in self.turns]
        self.capitals, self.names = self._names()

    def read(self) -> list[list[Span]]:
        for number, (start, speech, stop) in enumerate(self.turns):
            self.stop, self.quoted = stop, False
            self.me, self.you = self.by_turn[number], self._other(number)
            self.owned, self.owner, self.kin = False, None, None  # what a word before says of a noun, or of a name
            if self.me:
                self.me.mentions.append((start + 1, speech - 1))
            place = speech
            while place < stop:
                entity, end = self._at(place)
                if entity:
                    entity.mentions.append((place, end))
                place = end
        return [entity.mentions for entity in self.entities if entity.mentions]

    def _at(self, place: int) -> tuple[_Entity | None, int]:
        """Who or what is mentioned from a place on, and where the mention ends."""
        word = self.words[place]
        owned, owner, kin = self.owned, self.owner, self.kin
        self.owned, self.owner, self.kin = False, None, None
        if self._is_name(place):
            return self._name(place, kin)
        if owned or word in _DETERMINERS or word in _PARENTS:
            entity, end = self._phrase(place, owner if owned else self.me if word in _PARENTS else None)
            if entity and self.kin and end < self.stop and self._is_name(end):
                return None, end
            if entity:
                return self._spoken_of(entity), end
        entity = None
        if word in _I or word in _YOU:
            filler = word == "you" and self._word(place + 1) == "know" and not self._word(place + 2).isalnum()
            entity = None if self.quoted or filler else self.me if word in _I else self.you
        elif word in _PRONOUNS:
            entity = self._spoken_of(self._person(_PRONOUNS[word]))
        elif word in _IT:
            entity = next((thing for thing in reversed(self.recent) if not thing.person), None)
        elif word in _QUOTES:
            self.quoted = not self.quoted if word == '"' else _QUOTES[word]
        self.owned, self.owner = word in _POSSESSIVES, entity
        return entity, place + 1

    def _word(self, place: int) -> str:
        return self.words[place] if place < self.stop else "."

    def _new(self, *facts) -> _Entity:
        self.entities.append(_Entity(*facts))
        return self.entities[-1]

    def _spoken_of(self, entity: _Entity) -> _Entity:
        self.recent.append(entity)
        return entity

    # -------------------- speakers and names

    def _speaker(self, name: tuple[str, ...]) -> _Entity | None:
        if name == ("?",):
            return None
        if name not in self.speakers:
            self.speakers[name] = self._new(True, _gender(name))
            for part in name:
                if len(part) > 1 and part not in _STOP and part not in _TITLES:
                    self.named.setdefault(part, self.speakers[name])
        return self.speakers[name]

    def _other(self, number: int) -> _Entity | None:
        near = (*reversed(self.by_turn[:number]), *self.by_turn[number + 1 :])
        return next((other for other in near if other and other is not self.by_turn[number]), None)

    def _names(self) -> tuple[bool, set[str]]:
        """Whether what is said has words in capitals, and words (in lower case) that are names."""
        spoken_words = [place for _, speech, stop in self.turns for place in range(speech, stop)]
        capital = [place for place in spoken_words if self.written[place][0].isupper() and not self.written[place].isupper()]
        if not capital:
            after = {self.words[place] for place in spoken_words if self.words[place - 1] in _KIN}
            after = {word for word in after if word.isalpha() and not word.endswith(("s", "ed", "ing"))}
            return False, (after | (_MEN | _WOMEN) & {self.words[place] for place in spoken_words}) - _STOP
        lower = {self.words[place] for place in spoken_words if self.written[place].islower()}
        inside = (place for place in capital if self._before(place)[-1].isalnum() or self._before(place) == ",")
        names = {self.words[place] for place in inside} | {self.words[place] for place in capital} & (_MEN | _WOMEN)
        return True, names - lower - _STOP - _DATES - set(_TITLES)

    def _before(self, place: int) -> str:
        """The word before, the point of a title being passed over."""
        point = self.words[place - 1] == "." and self.words[place - 2] in _TITLES
        return self.words[place - 2 if point else place - 1]

    def _is_name(self, place: int) -> bool:
        word = self.words[place]
        if word not in self.names and word not in self.named:
            return False
        return not self.capitals or self.written[place][0].isupper() or (word in self.named and word in _MEN | _WOMEN)

    def _name(self, place: int, kin: _Entity | None) -> tuple[_Entity | None, int]:
        end = place + 1
        while end < self.stop and self._is_name(end):
            end += 1
        parts = self.words[place:end]
        entity = next((self.named[part] for part in parts if part in self.named), None)
        if entity is None and kin:
            entity = kin
        elif entity is None:
            entity = self._new(True, _TITLES.get(self._before(place)) or _gender(parts))
        if kin and not entity.gender:
            entity.gender = kin.gender
        for part in parts:
            self.named.setdefault(part, entity)
        if entity in self.speakers.values() and self._addressed(place, end):
            self.you = entity
        else:
            self._spoken_of(entity)
        return entity, end

    def _addressed(self, place: int, end: int) -> bool:
        before, after = self.words[place - 1], self._word(end)
        if before in _GREETINGS or before == ",":
            return not after[-1].isalnum()
        return not before[-1].isalnum() and after in (",", "!")

    # -------------------- pronouns and noun phrases

    def _person(self, gender: str) -> _Entity:
        for entity in reversed(self.recent):
            if entity.person and entity.gender in ("", gender) and entity not in (self.me, self.you):
                entity.gender = gender
                return entity
        return self._new(True, gender)

    def _phrase(self, place: int, owner: _Entity | None) -> tuple[_Entity | None, int]:
        """The noun phrase at a place: with its determiner, or right after a possessive."""
        at = place + (self.words[place] in _DETERMINERS)
        while self._word(at) in _ADJECTIVES:
            at += 1
        noun = self._word(at)
        if not noun.isalpha() or noun in _STOP or self._is_name(at):
            return None, place + 1
        entity = None
        if self.words[place] not in ("a", "an"):
            same = (e for e in reversed(self.entities) if e.noun == noun and (e.owner is owner or not (e.owner and owner)))
            entity = next(same, None)
        entity = entity or self._new(noun in _KIN, _KIN.get(noun, ""), noun, owner)
        self.kin = entity if entity.person else None
        return entity, at + 1


def _gender(name: Sequence[str]) -> str:
    for part in name:
        for gender, parts in (("m", _MEN), ("f", _WOMEN)):
            if part in parts or _TITLES.get(part, _KIN.get(part)) == gender:
                return gender
    return "f" if name[0].endswith("a") and len(name[0]) > 1 else ""
