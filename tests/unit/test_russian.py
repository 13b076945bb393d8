"""Russian out of plans: what a speaker is promised, sentence by sentence, paradigms, and the marks of translations."""

import pytest

from helpers.world import lexicon, russian, russian_words
from tests.unit.tiny_plans import Dice, did, does, first, np

SENTENCES = [
    # aspect and agreement of the verb, animacy, counting, one's own
    (did("write", "the nurse", "the letter.mail"), "медсестра написала письмо ."),
    (did("write", "the doctor", "the letter.mail", adverbs="often/medial"), "врач часто писал письмо ."),
    (did("find", "the boy", "two dog"), "мальчик нашел двух собак ."),
    (did("find", "the boy", "two new table"), "мальчик нашел два новых стола ."),
    (does("love", "he", "his wife"), "он любит свою жену ."),
    # government, places, denied things
    (did("help", "the doctor", "the nurse"), "врач помог медсестре ."),
    (does("need", "i", "he", negated=True), "он мне не нужен ."),
    (did("go", "the doctor", at="to the station"), "врач пошел на вокзал ."),
    (did("come", "a dog", at="from the market"), "с рынка пришла собака ."),
    (did("find", "he", np("the key", genitive="the house")), "он нашел ключ от дома ."),
    (did("write", "the doctor", "a letter.mail", negated=True), "врач не написал письма ."),
    # copula, modals, passive, relative clauses
    (does("be", "the queen", attribute=np("a thief")), "королева — вор ."),
    (did("be", "the queen", attribute=np("a thief")), "королева была вором ."),
    (does("repair", "the nurse", "the car", modal="should"), "медсестре следует починить машину ."),
    (did("write", "the doctor", "the letter.mail", passive=True), "письмо было написано врачом ."),
    (did("find", "i", np("the city+", relative=does("dream", "the doctor", gap="object"))),
     "я нашел города , о которых врач мечтает ."),
    (did("find", "i", np("the book", relative=does("need", "the doctor", gap="object"))),
     "я нашел книгу , которая нужна врачу ."),
    # questions and commands
    (did("use", "the doctor", question="what"), "чем воспользовался врач ?"),
    (does("close", None, "your door", imperative=True, negated=True), "не закрывай свою дверь ."),
]  # fmt: skip


def say(plan, throw: float = 0.99) -> str:
    return " ".join(russian.realise(plan, "news", Dice(throw)).words)


@pytest.mark.parametrize(("plan", "wanted"), SENTENCES, ids=[wanted for _, wanted in SENTENCES])
def test_sentence(plan, wanted):
    assert say(plan) == wanted


def test_names_and_rare_words_decline():
    forms = {kind: russian_words.tail_noun(first(kind)) for kind in lexicon.TAIL_COUNTS}
    assert forms["ist"].sg[3] == forms["ist"].sg[1] and forms["ite"].sg[3] == forms["ite"].sg[0]  # a living thing, and none
    man, woman, surname = (forms[kind].sg for kind in ("forename_m", "forename_f", "surname"))
    he, she = (np(first(kind), surname=first("surname")) for kind in ("forename_m", "forename_f"))
    assert say(did("help", he, she)) == f"{man[0]} {surname[0]} помог {woman[2]} {surname[0]} ."
    assert say(did("help", she, he)) == f"{woman[0]} {surname[0]} помогла {man[2]} {surname[2]} ."


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (did("help", "the doctor", "the old.person nurse"), [
            ("case", "пожилой медсестре",
             ("пожилая медсестра", "пожилой медсестры", "пожилую медсестру", "пожилой медсестрой")),
            ("agreement", "помог", ("помогла", "помогло", "помогли")), ("tense", "помог", ("помогал",)),
            ("word sense", "пожилой", ("старой",)),
        ]),
        (did("read", "the doctor", question="what"), [("verb position", "прочитал", ("врач",))]),
        (did("find", "i", np("the book", relative=did("dream", "the doctor", gap="object"))), [
            ("agreement", "которой", ("котором", "которых")),
        ]),
    ],
)  # fmt: skip
def test_marks(plan, wanted):
    found = russian.realise(plan, "news", Dice(0.99)).marks
    assert all(mark in found for mark in wanted), found
