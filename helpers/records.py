"""What text is: a sentence pair, a text, a dialogue with who is who in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pair:
    """One translation example.

    Attributes
    ----------
    source, target : str
        The sentences as a model reads and writes them.
    words : tuple of str
        The source's words in text order; each occurs in `source` after the one before it. Empty until parsed.
    heads : tuple of int
        For each word the position of its syntactic head, -1 for the root. Empty until parsed.
    relations : tuple of str
        For each word its relation to its head, in the vocabulary of `helpers.corpora.parsing`. Empty until parsed.
    origin : str
        Where the pair comes from: a named test set, a file, a generator's register.
    """

    source: str
    target: str
    words: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    origin: str = ""


@dataclass(slots=True)
class Text:
    """One document of running text.

    Attributes
    ----------
    text : str
        As a model reads it.
    origin : str
        Where it comes from: a generator, a book, an article.
    """

    text: str
    origin: str = ""


Span = tuple[int, int]  # a mention: its first word, and the word after its last
Cluster = tuple[Span, ...]  # all mentions of one person or thing, in text order
TURN = "#"  # stands before every turn, as in the code of 2021


@dataclass(slots=True)
class Event:
    """One fact of a summary.

    Attributes
    ----------
    verb, agent : str
        What is done, and by whom (a name).
    thing, receiver, time : str
        To what, for or to whom (a name), and when; "" where the fact has none.
    """

    verb: str
    agent: str
    thing: str = ""
    receiver: str = ""
    time: str = ""


@dataclass(slots=True)
class Dialogue:
    """One dialogue.

    Attributes
    ----------
    source, target : str
        Turns joined as a model reads them, "# Anna : hello . # Tom : ...", and the reference summary.
    words : tuple of str
        The words and marks of `source` in text order; each occurs in it after the one before.
    turns : tuple of (start, speech, stop)
        Of each turn its first word (`TURN`), its first spoken word, and the word after its last. What stands between `TURN` and
        the colon before `speech` names the speaker.
    clusters : tuple of Cluster
        Gold coreference: clusters of two mentions or more, by first mention; none where it is not known.
    events : tuple of Event
        The facts that the summary tells, in its order; none where they are not known.
    origin : str
        Where the dialogue comes from: a generator, a named set.
    """

    source: str
    target: str
    words: tuple[str, ...]
    turns: tuple[tuple[int, int, int], ...]
    clusters: tuple[Cluster, ...] = ()
    events: tuple[Event, ...] = ()
    origin: str = ""

    @property
    def speakers(self) -> set[tuple[str, ...]]:
        """Names of those who speak, in words."""
        return {self.words[start + 1 : speech - 1] for start, speech, _ in self.turns}
