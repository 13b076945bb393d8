"""German out of plans: what a speaker is promised, sentence by sentence, paradigms, and the marks of translations."""

import pytest

from helpers.world.german import realise
from helpers.world.meanings import PP
from tests.unit.tiny_plans import Dice, did, does, np

DOG = did("see", "the woman", "the dog")

NEWS = [
    # cases, strong, weak and mixed adjectives, the weak masculines
    (did("see", "the woman", "the young boy"), "die Frau sah den jungen Jungen ."),
    (did("buy", "a man", "a new car"), "ein Mann kaufte ein neues Auto ."),
    # dative verbs, prepositional objects, reflexive, dative before accusative, pronouns
    (did("remember", "i", "the lawyer"), "ich erinnerte mich an den Anwalt ."),
    (did("give", "the man", "it:key", "she"), "der Mann gab ihn ihr ."),
    # two-way prepositions and contraction
    (did("sleep", "the man", at="in the garden"), "der Mann schlief im Garten ."),
    (did("sleep", "the man", at=(PP("in", np("the garden", relative=did("see", "i", gap="object"))),)),
     "der Mann schlief in dem Garten , den ich sah ."),
    (did("wait", "the man", "it:answer"), "der Mann wartete darauf ."),
    # order: second, final, brackets
    (did("read", "the man", "the book", adverbs="yesterday/initial"), "gestern las der Mann das Buch ."),
    (did("say", "the man", complement=did("see", "the woman", "the dog", tense="perfect")),
     "der Mann sagte , dass die Frau den Hund gesehen hat ."),
    (did("sleep", "the man", subordinate=("when", DOG, False)), "der Mann schlief , als die Frau den Hund sah ."),
    (did("sleep", "the man", subordinate=("when", did("sing", "the woman", adverbs="often/medial"), False)),
     "der Mann schlief , wenn die Frau oft sang ."),
    (did("sleep", "the man", subordinate=("after", did("arrive", "the dog"), True)),
     "nachdem der Hund angekommen war , schlief der Mann ."),
    (does("accept", "the man", "the plan", modal="must"), "der Mann muss den Plan annehmen ."),
    # passive
    (did("read", None, "the book", passive=True, tense="perfect"), "das Buch ist gelesen worden ."),
    (did("help", "the woman", "the boy", passive=True, adverbs="immediately/medial"),
     "dem Jungen wurde sofort von der Frau geholfen ."),
    # negation
    (did("buy", "the man", "a book", negated=True), "der Mann kaufte kein Buch ."),
    (did("see", "the man", "the dog", negated=True, adverbs="often/medial"), "der Mann sah den Hund nicht oft ."),
    (does("leave.place", "the man", "the city", modal="must", negated=True), "der Mann darf die Stadt nicht verlassen ."),
    # predicate nouns, relative clauses, gender of "it"
    (does("be", "the woman", attribute=np("a doctor")), "die Frau ist Ärztin ."),
    (did("arrive", np("the train", relative=did("wait", "the woman", gap="object"))),
     "der Zug , auf den die Frau wartete , kam an ."),
    (did("see", "i", np("the book", relative=did("read", "the woman", gap="object", passive=True))),
     "ich sah das Buch , das von der Frau gelesen wurde ."),
    (did("be", "it:key", attribute="new"), "er war neu ."),
]  # fmt: skip

SUBTITLES = [
    (did("sleep", "i", subordinate=("because", did("open.thing", "she", "the door"), False)),
     "ich habe geschlafen , weil sie die Tür aufgemacht hat ."),
    (does("remember", None, "the dog", imperative=True), "erinnere dich an den Hund ."),
    (did("read", None, "the book", question="who"), "wer hat das Buch gelesen ?"),
    (did("go", "you", question="where"), "wohin bist du gegangen ?"),
]  # fmt: skip
SENTENCES = [("news", *case) for case in NEWS] + [("subtitles", *case) for case in SUBTITLES]


@pytest.mark.parametrize(("register", "plan", "wanted"), SENTENCES, ids=[wanted for *_, wanted in SENTENCES])
def test_sentence(register, plan, wanted):
    assert " ".join(realise(plan, register, Dice()).words) == wanted


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (did("help", "the teacher+", "a young boy"), [
            ("case", "einem jungen Jungen", ("ein junger Junge", "einen jungen Jungen", "eines jungen Jungen")),
            ("agreement", "halfen", ("half",)),
        ]),
        (did("say", "the man", complement=DOG), [("verb position", "Hund", ("sah",))]),
        (did("sleep", "the man", at="in the garden"), [("case", "im Garten", ("in der Garten", "in den Garten"))]),
        (did("thank", "the man", "the bank.money+"), [("word sense", "Banken", ("Ufern",))]),
        (did("sleep", np("the man", relative=did("help", "the woman", gap="object"))), [
            ("agreement", ", dem die", (", der die",)), ("case", ", dem die", (", der die", ", den die")),
        ]),
    ],
)  # fmt: skip
def test_marks(plan, wanted):
    found = realise(plan, "news", Dice()).marks
    assert all(mark in found for mark in wanted), found
