"""What a sentence says, before any language says it.

A plan holds meanings (keys of `lexicon`) and grammatical choices that English makes; each language's `realise` turns it
into words. Whatever a language needs beyond that (gender, case government, word order, aspect) is that language's own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class NP:
    """A noun phrase: a noun, a name or a pronoun, which has neither determiner nor adjectives nor modifiers."""

    noun: str = ""  # key of `lexicon`; of a third person's pronoun its antecedent, which gives it its gender
    pronoun: bool = False
    person: int = 3  # "I" and "you" are a man's words; "you" is familiar
    number: str = "sg"  # or "pl"
    determiner: str = ""  # "a" is nothing in the plural, "every" is singular
    adjectives: tuple[str, ...] = ()  # at most two, in English order
    degree: str = ""  # an adverb ("very") before the first adjective
    surname: str = ""  # after a forename
    genitive: NP | None = None  # the possessor: "the brother of the teacher"
    place: PP | None = None  # "the book on the table"
    relative: Clause | None = None  # whose `gap` says which role the noun plays in it
    coordinate: NP | None = None  # "the doctor and the nurse": the second member; the whole is plural

    @property
    def many(self) -> bool:
        """Whether it is more than one, by number or with a second member."""
        return self.number == "pl" or self.coordinate is not None

    @property
    def followed(self) -> bool:
        """Whether something stands behind the noun: a possessor, a place, a relative clause or a second member."""
        return (self.genitive or self.place or self.relative or self.coordinate) is not None


@dataclass(slots=True)
class PP:
    """A prepositional phrase; `preposition` is a key of `lexicon.PREPOSITIONS`."""

    preposition: str
    np: NP


@dataclass(slots=True)
class Adverb:
    """An adverb of the clause (key of `lexicon.ADVERBS`) and its English place: "initial", "medial" or "final"."""

    adverb: str
    position: str


@dataclass(slots=True)
class Clause:
    """A clause.

    There is no subject in an imperative, where it is the gap of a relative clause or asked for, and where a passive has no
    agent. The passive's object is what stands in English's subject place, its subject the agent.
    """

    verb: str  # "be" takes `attribute` instead of an object
    subject: NP | None = None
    object: NP | None = None
    recipient: NP | None = None
    attribute: str | NP | None = None  # an adjective's key, with `degree`, or a noun phrase
    degree: str = ""
    places: tuple[PP, ...] = ()  # where and when, at the end of the English clause
    adverbs: tuple[Adverb, ...] = ()  # at most two
    complement: Clause | None = None  # "says that ..."
    tense: str = "past"  # or "present", "future", "perfect"
    progressive: bool = False  # of present and past, never passive
    modal: str = ""  # "can", "must", "want", "should", in the present; "can" and "want" in the past too
    negated: bool = False
    passive: bool = False
    question: str = ""  # "polar", "who" (for the subject, a person), "what" (for the object), "where", "when", "why"
    imperative: bool = False
    gap: str = ""  # of a relative clause: "subject" or "object", the role of the noun outside
    subordinate: tuple[str, Clause, bool] | None = None  # conjunction, clause, whether it comes first
    coordinate: tuple[str, Clause] | None = None  # conjunction and clause


def closed(words: list[str]) -> list[str]:
    """Words of a sentence whose clauses stand between commas: one that closes a clause also opens the next."""
    out: list[str] = []
    for word in words:
        if word != "," or (out and out[-1] != ","):
            out.append(word)
    return out[:-1] if out[-1] == "," else out
