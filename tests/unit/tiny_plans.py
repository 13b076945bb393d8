"""Sentence plans in few words, dice that always fall the same, and what holds of any sentence in any language."""

import random

from helpers.world import lexicon
from helpers.world.meanings import NP, PP, Adverb, Clause

DETERMINERS = "the a some this my your his her our their two three many every".split()
PRONOUNS = {
    "i": NP(pronoun=True, person=1), "we": NP(pronoun=True, person=1, number="pl"),
    "you": NP(pronoun=True, person=2),
    "he": NP("man", True), "she": NP("woman", True), "they": NP("man", True, number="pl"),
}  # fmt: skip


class Dice(random.Random):
    """Dice that always show the same: the higher, the more usual the translation."""

    def __init__(self, value: float = 0.999):
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


def np(said: NP | str | None, **more) -> NP | None:
    """A noun phrase by its keys: "she", "the old.thing house", "some small dog+" (plural), "it:key", "them:key"."""
    if not isinstance(said, str):
        return said
    if said in PRONOUNS:
        return PRONOUNS[said]
    if said.startswith(("it:", "them:")):
        word, _, noun = said.partition(":")
        return NP(noun, True, number="sg" if word == "it" else "pl")
    *before, noun = said.split()
    determiner = before.pop(0) if before and before[0] in DETERMINERS else ""
    many = noun.endswith("+") or determiner in ("two", "three", "many")
    for inner in ("genitive", "coordinate"):
        if inner in more:
            more[inner] = np(more[inner])
    if "at" in more:
        (more["place"],) = places(more.pop("at"))
    more |= {"determiner": determiner.replace("some", ""), "adjectives": tuple(before), "number": "pl" if many else "sg"}
    return NP(noun.removesuffix("+"), **more)


def places(said: str | tuple[PP, ...]) -> tuple[PP, ...]:
    """ "in the garden / in_time the morning": prepositions with their noun phrases."""
    if not isinstance(said, str):
        return said
    parts = (part.strip().partition(" ") for part in said.split("/") if part)
    return tuple(PP(preposition, np(noun)) for preposition, _, noun in parts)


def did(verb: str, subject=None, object=None, recipient=None, at="", adverbs: str = "", **more) -> Clause:
    """A clause of the past; `adverbs` are "often/medial" and their like."""
    said = tuple(Adverb(*adverb.split("/")) for adverb in adverbs.split())
    return Clause(verb, np(subject), np(object), np(recipient), places=places(at), adverbs=said, **more)


def does(verb: str, *roles, **more) -> Clause:
    return did(verb, *roles, **{"tense": "present"} | more)


def first(kind: str) -> str:
    """The most frequent name or rare noun of a kind."""
    return next(key for key, word in lexicon.TAIL.items() if word.kind == kind)


def check(words: list[str], plan: Clause) -> None:
    """What holds of any translation: words stand apart, and commas inside."""
    text = f" {' '.join(words)} "
    assert all(words) and not any(" " in word for word in words), text
    assert words[-1] == ("?" if plan.question else ".") and words[0] != "," and ", ," not in text and ", ." not in text, text
