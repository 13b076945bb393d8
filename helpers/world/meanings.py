"""What a sentence says, before any language says it.

A plan holds meanings (keys of `lexicon`) and grammatical choices that English makes; each language's `realise` turns it
into words. Whatever a language needs beyond that (gender, case government, word order, aspect) is that language's own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class NP:
    """A noun phrase: a noun, a name or a pronoun.

    Attributes
    ----------
    noun : str
        Key of `lexicon.nouns()` or `lexicon.names()`; for a pronoun of the third person its antecedent (the realisers take the
        pronoun's gender from it), "" for first and second person.
    pronoun : bool
        Realised as a personal pronoun (never with determiner, adjectives or modifiers).
    person, number : int, str
        1, 2, 3 and "sg", "pl". Names and nouns are third person. "I" and "you" are a man's words; "you" is familiar.
    determiner : str
        "the", "a" (nothing in the plural), "this", "my", "your", "his", "her", "our", "their", "two", "three", "many",
        "every" (singular) or "" (names, bare plurals, mass nouns).
    adjectives : tuple of str
        Keys of `lexicon.adjectives()`, in English order (at most two).
    degree : str
        Key of a degree adverb ("very") before the first adjective, or "".
    surname : str
        A second name after a forename, or "".
    genitive : NP or None
        "the brother of the teacher": the possessor.
    place : PP or None
        "the book on the table": a modifier of the noun.
    relative : Clause or None
        A relative clause whose `gap` says which role the noun plays in it.
    coordinate : NP or None
        "the doctor and the nurse": the second member (no further coordinate). The whole is plural.
    """

    noun: str = ""
    pronoun: bool = False
    person: int = 3
    number: str = "sg"
    determiner: str = ""
    adjectives: tuple[str, ...] = ()
    degree: str = ""
    surname: str = ""
    genitive: NP | None = None
    place: PP | None = None
    relative: Clause | None = None
    coordinate: NP | None = None


@dataclass(slots=True)
class PP:
    """A prepositional phrase; `preposition` is a key of `lexicon.PREPOSITIONS`."""

    preposition: str
    np: NP


@dataclass(slots=True)
class Adverb:
    """An adverb of the clause (key of `lexicon.adverbs()`) and its English place: "initial", "medial" or "final"."""

    adverb: str
    position: str


@dataclass(slots=True)
class Clause:
    """A clause.

    Attributes
    ----------
    verb : str
        Key of `lexicon.verbs()`; "be" takes `attribute` instead of an object.
    subject : NP or None
        None only for the missing agent of a passive, the gap of a relative clause, a questioned role, an imperative.
    object, recipient : NP or None
        In the passive the object is what stands in English's subject place; `subject` (if any) is the by-agent.
    attribute : str, NP or None
        After "be": an adjective's key or a noun phrase ("is old", "is a doctor"), with `degree` before an adjective.
    places : tuple of PP
        Where and when, at the end of the English clause.
    adverbs : tuple of Adverb
        At most two.
    complement : Clause or None
        "says that ...", of verbs whose frame takes one.
    tense : str
        "past", "present", "future" or "perfect" (has done).
    progressive : bool
        "is reading", "was reading" (only present and past, never passive).
    modal : str
        "", "can", "must", "want" (wants to), "should". Tense is then "present", or "past" for "want" and "can" (could).
    negated, passive : bool
    question : str
        "", "polar", "who" (asks for the subject, a person), "what" (asks for the object), "where", "when", "why".
    imperative : bool
        Second person, no subject ("Close the door .").
    gap : str
        In a relative clause: "subject" or "object", the role of the noun outside; that slot is None.
    subordinate : tuple of (str, Clause, bool) or None
        Conjunction (key of `lexicon.SUBORDINATORS`), clause, and whether it comes first.
    coordinate : tuple of (str, Clause) or None
        Conjunction (key of `lexicon.COORDINATORS`) and clause.
    """

    verb: str
    subject: NP | None = None
    object: NP | None = None
    recipient: NP | None = None
    attribute: str | NP | None = None
    degree: str = ""
    places: tuple[PP, ...] = ()
    adverbs: tuple[Adverb, ...] = ()
    complement: Clause | None = None
    tense: str = "past"
    progressive: bool = False
    modal: str = ""
    negated: bool = False
    passive: bool = False
    question: str = ""
    imperative: bool = False
    gap: str = ""
    subordinate: tuple[str, Clause, bool] | None = None
    coordinate: tuple[str, Clause] | None = None


def closed(words: list[str]) -> list[str]:
    """Words of a sentence whose clauses stand between commas: one that closes a clause also opens the next."""
    out: list[str] = []
    for word in words:
        if word != "," or (out and out[-1] != ","):
            out.append(word)
    return out[:-1] if out[-1] == "," else out
