"""Plans put into German, French and Russian: what a speaker is promised, sentence by sentence."""

import pytest

from helpers.world import french, german, lexicon, russian, russian_words
from helpers.world.meanings import PP
from tests.unit.tiny_plans import Dice, did, does, first, np

DOG = did("see", "the woman", "the dog")

FRENCH = [
    # articles and determiners
    (did("see", "the man", "the bee"), "l' homme a vu l' abeille ."),
    (does("drink.person", "i", "beer"), "je bois de la bière ."),
    # adjectives: agreement, place, sense
    (did("see", "i", "a beautiful bird"), "j' ai vu un bel oiseau ."),
    (did("see", "i", "some small dog+"), "j' ai vu de petits chiens ."),
    (does("be", np("the nurse", coordinate="the king"), attribute="tired"), "l' infirmière et le roi sont fatigués ."),
    # the past: auxiliary, aspect, agreement of the participle
    (did("buy", "i", "it:lamp"), "je l' ai achetée ."),
    (did("see", "i", np("the letter.mail", relative=did("write", "the king", gap="object"))),
     "j' ai vu la lettre que le roi a écrite ."),
    # clitics and government
    (does("give", "he", "it:key", "i"), "il me la donne ."),
    (did("answer", "he", "it:letter.mail"), "il y a répondu ."),
    (did("read", "i", np("the letter.mail", relative=did("answer", "he", gap="object"))),
     "j' ai lu la lettre à laquelle il a répondu ."),
    # tense and mood
    (does("come", "i", tense="future", subordinate=("when", does("read", "she", "it:book"), False)),
     "je viendrai quand elle le lira ."),
    (did("work.person", "he", subordinate=("although", did("be", "he", attribute="sick"), True)),
     "bien qu' il soit malade , il a travaillé ."),
    (did("eat.person", "i", "the cake", subordinate=("before", did("go", "i", at="to the market"), False)),
     "j' ai mangé le gâteau avant d' aller au marché ."),
    # passive
    (did("paint", "the girl", "the door+", passive=True), "les portes ont été peintes par la fillette ."),
    # questions and commands
    (did("discuss", "they", question="what"), "de quoi est-ce qu' ils ont discuté ?"),
    (does("give", None, "them:key", "i", imperative=True), "donne -les -moi ."),
]  # fmt: skip
FRENCH_NEWS = [  # where subject and verb are turned
    (did("see", "the doctor", "the cat", question="polar"), "le médecin a -t-il vu le chat ?"),
    (does("sleep", "you", question="why", negated=True), "pourquoi ne dors -tu pas ?"),
]
GERMAN = [
    # cases, strong, weak and mixed adjectives, the weak masculines
    (did("see", "the woman", "the young boy"), "die Frau sah den jungen Jungen ."),
    # dative verbs, prepositional objects, reflexive, dative before accusative, pronouns
    (did("remember", "i", "the lawyer"), "ich erinnerte mich an den Anwalt ."),
    (did("give", "the man", "it:key", "she"), "der Mann gab ihn ihr ."),
    # two-way prepositions and contraction
    (did("sleep", "the man", at="in the garden"), "der Mann schlief im Garten ."),
    (did("sleep", "the man", at=(PP("in", np("the garden", relative=did("see", "i", gap="object"))),)),
     "der Mann schlief in dem Garten , den ich sah ."),
    # order: second, final, brackets
    (did("read", "the man", "the book", adverbs="yesterday/initial"), "gestern las der Mann das Buch ."),
    (did("say", "the man", complement=did("see", "the woman", "the dog", tense="perfect")),
     "der Mann sagte , dass die Frau den Hund gesehen hat ."),
    (did("sleep", "the man", subordinate=("when", DOG, False)), "der Mann schlief , als die Frau den Hund sah ."),
    (did("sleep", "the man", subordinate=("after", did("arrive", "the dog"), True)),
     "nachdem der Hund angekommen war , schlief der Mann ."),
    # passive
    (did("read", None, "the book", passive=True, tense="perfect"), "das Buch ist gelesen worden ."),
    (did("help", "the woman", "the boy", passive=True, adverbs="immediately/medial"),
     "dem Jungen wurde sofort von der Frau geholfen ."),
    # negation
    (did("see", "the man", "the dog", negated=True, adverbs="often/medial"), "der Mann sah den Hund nicht oft ."),
    (does("leave.place", "the man", "the city", modal="must", negated=True), "der Mann darf die Stadt nicht verlassen ."),
    # predicate nouns, relative clauses, gender of "it"
    (does("be", "the man", attribute=np("a doctor")), "der Mann ist Arzt ."),
    (did("arrive", np("the train", relative=did("wait", "the woman", gap="object"))),
     "der Zug , auf den die Frau wartete , kam an ."),
]  # fmt: skip
GERMAN_SUBTITLES = [
    (did("sleep", "i", subordinate=("because", did("open.thing", "she", "the door"), False)),
     "ich habe geschlafen , weil sie die Tür aufgemacht hat ."),
    (does("remember", None, "the dog", imperative=True), "erinnere dich an den Hund ."),
    (did("read", None, "the book", question="who"), "wer hat das Buch gelesen ?"),
    (did("go", "you", question="where"), "wohin bist du gegangen ?"),
]  # fmt: skip
RUSSIAN = [
    # aspect and agreement of the verb, animacy, counting, one's own
    (did("write", "the doctor", "the letter.mail", adverbs="often/medial"), "врач часто писал письмо ."),
    (did("find", "the boy", "two dog"), "мальчик нашел двух собак ."),
    (did("find", "the boy", "two new table"), "мальчик нашел два новых стола ."),
    # government, places, denied things
    (did("help", "the doctor", "the nurse"), "врач помог медсестре ."),
    (does("need", "i", "he", negated=True), "он мне не нужен ."),
    (did("come", "a dog", at="from the market"), "с рынка пришла собака ."),
    (did("write", "the doctor", "a letter.mail", negated=True), "врач не написал письма ."),
    # copula, modals, passive, relative clauses
    (did("be", "the queen", attribute=np("a thief")), "королева была вором ."),
    (does("repair", "the nurse", "the car", modal="should"), "медсестре следует починить машину ."),
    (did("find", "i", np("the city+", relative=does("dream", "the doctor", gap="object"))),
     "я нашел города , о которых врач мечтает ."),
    (did("find", "i", np("the book", relative=does("need", "the doctor", gap="object"))),
     "я нашел книгу , которая нужна врачу ."),
    # questions and commands
    (did("use", "the doctor", question="what"), "чем воспользовался врач ?"),
    (does("close", None, "your door", imperative=True, negated=True), "не закрывай свою дверь ."),
]  # fmt: skip
SENTENCES = [
    (module, register, throw, *case)
    for module, register, throw, cases in (
        (french, "subtitles", 0.5, FRENCH), (french, "news", 0.5, FRENCH_NEWS), (german, "news", 0.999, GERMAN),
        (german, "subtitles", 0.999, GERMAN_SUBTITLES), (russian, "news", 0.99, RUSSIAN),
    )
    for case in cases
]  # fmt: skip


def say(module, plan, register="news", throw=0.99) -> str:
    return " ".join(module.realise(plan, register, Dice(throw)))


@pytest.mark.parametrize(("module", "register", "throw", "plan", "wanted"), SENTENCES, ids=[case[-1] for case in SENTENCES])
def test_sentence(module, register, throw, plan, wanted):
    assert say(module, plan, register, throw) == wanted


def test_names_and_rare_words_decline():
    forms = {kind: russian_words.rare(lexicon.TAIL[first(kind)]) for kind in lexicon.TAIL_COUNTS}
    assert forms["ist"].sg[3] == forms["ist"].sg[1] and forms["ite"].sg[3] == forms["ite"].sg[0]  # a living thing, and none
    man, woman, surname = (forms[kind].sg for kind in ("forename_m", "forename_f", "surname"))
    he, she = (np(first(kind), surname=first("surname")) for kind in ("forename_m", "forename_f"))
    assert say(russian, did("help", he, she)) == f"{man[0]} {surname[0]} помог {woman[2]} {surname[0]} ."
    assert say(russian, did("help", she, he)) == f"{woman[0]} {surname[0]} помогла {man[2]} {surname[2]} ."
