"""What text is: a sentence pair, a text, a dialogue with who is who in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pair:
    """One translation example; words, heads and relations are empty until it is parsed."""

    source: str  # the sentences as a model reads and writes them
    target: str
    words: tuple[str, ...] = ()  # of the source in text order; each occurs in it after the one before
    heads: tuple[int, ...] = ()  # for each word the position of its syntactic head, -1 for the root
    relations: tuple[str, ...] = ()  # for each word its relation to its head, as in `helpers.corpora.parsing`
    origin: str = ""  # a named test set, a file, a generator's register


@dataclass(slots=True)
class Text:
    """One document of running text."""

    text: str  # as a model reads it
    origin: str = ""  # a generator, a book, an article


Span = tuple[int, int]  # a mention: its first word, and the word after its last
Cluster = tuple[Span, ...]  # all mentions of one person or thing, in text order
TURN = "#"  # stands before every turn, as in the code of 2021


@dataclass(slots=True)
class Event:
    """One fact of a summary: who does what; "" for what the fact does not have."""

    verb: str
    agent: str  # a name
    thing: str = ""
    receiver: str = ""  # a name: for or to whom
    time: str = ""


@dataclass(slots=True)
class Dialogue:
    """One dialogue: turns joined as a model reads them, "# Anna : hello . # Tom : ...", and the reference summary.

    Of each turn `turns` holds its first word (`TURN`), its first spoken word, and the word after its last; what stands between
    `TURN` and the colon names the speaker.
    """

    source: str
    target: str
    words: tuple[str, ...]  # words and marks of `source` in text order; each occurs in it after the one before
    turns: tuple[tuple[int, int, int], ...]
    clusters: tuple[Cluster, ...] = ()  # gold coreference: two mentions or more each, by first mention; none if not known
    events: tuple[Event, ...] = ()  # the facts that the summary tells, in its order; none if not known
    origin: str = ""  # a generator, a named set

    @property
    def speakers(self) -> set[tuple[str, ...]]:
        """Names of those who speak, in words."""
        return {self.words[start + 1 : speech - 1] for start, speech, _ in self.turns}
