"""French out of plans: what a speaker is promised, sentence by sentence, paradigms, and the marks of translations."""

import pytest

from helpers.world import french
from tests.unit.tiny_plans import Dice, did, does, np

SENTENCES = [
    # articles and determiners
    (did("see", "the man", "the bee"), "l' homme a vu l' abeille ."),
    (did("see", "she", "this bird"), "elle a vu cet oiseau ."),
    (does("drink.person", "i", "beer"), "je bois de la bière ."),
    # adjectives: agreement, place, sense
    (did("see", "i", "a beautiful bird"), "j' ai vu un bel oiseau ."),
    (did("see", "i", "some small dog+"), "j' ai vu de petits chiens ."),
    (does("be", np("the nurse", coordinate="the king"), attribute="tired"), "l' infirmière et le roi sont fatigués ."),
    # the past: auxiliary, aspect, agreement of the participle
    (did("arrive", "the woman+"), "les femmes sont arrivées ."),
    (does("read", "she", "a book", tense="perfect", negated=True, adverbs="already/medial"),
     "elle n' a pas encore lu de livre ."),
    (did("say", "he", complement=did("sell", "she", "the key")), "il a dit qu' elle avait vendu la clé ."),
    (did("buy", "i", "it:lamp"), "je l' ai achetée ."),
    (did("see", "i", np("the letter.mail", relative=did("write", "the king", gap="object"))),
     "j' ai vu la lettre que le roi a écrite ."),
    # clitics and government
    (does("give", "he", "it:key", "i"), "il me la donne ."),
    (does("read", "he", "it:song", modal="want"), "il veut la lire ."),
    (did("answer", "he", "it:letter.mail"), "il y a répondu ."),
    (did("read", "i", np("the letter.mail", relative=did("answer", "he", gap="object"))),
     "j' ai lu la lettre à laquelle il a répondu ."),
    # tense and mood
    (does("come", "i", tense="future", subordinate=("if", does("come", "he"), True)), "s' il vient , je viendrai ."),
    (does("come", "i", tense="future", subordinate=("when", does("read", "she", "it:book"), False)),
     "je viendrai quand elle le lira ."),
    (did("work.person", "he", subordinate=("although", did("be", "he", attribute="sick"), True)),
     "bien qu' il soit malade , il a travaillé ."),
    (did("eat.person", "i", "the cake", subordinate=("before", did("go", "i", at="to the market"), False)),
     "j' ai mangé le gâteau avant d' aller au marché ."),
    # passive
    (did("paint", "the girl", "the door+", passive=True), "les portes ont été peintes par la fillette ."),
    (did("answer", None, "the question", passive=True), "on a répondu à la question ."),
    # questions and commands
    (did("discuss", "they", question="what"), "de quoi est-ce qu' ils ont discuté ?"),
    (does("give", None, "them:key", "i", imperative=True), "donne -les -moi ."),
    (does("open.thing", None, "it:door", imperative=True, negated=True), "ne l' ouvre pas ."),
    (did("win", "he", "the war", adverbs="perhaps/initial"), "peut-être qu' il a gagné la guerre ."),
]  # fmt: skip
NEWS = [  # where subject and verb are turned
    (did("see", "the doctor", "the cat", question="polar"), "le médecin a -t-il vu le chat ?"),
    (does("sleep", "you", question="why", negated=True), "pourquoi ne dors -tu pas ?"),
]
CASES = [("subtitles", *case) for case in SENTENCES] + [("news", *case) for case in NEWS]


@pytest.mark.parametrize(("register", "plan", "wanted"), CASES, ids=[wanted for *_, wanted in CASES])
def test_sentence(register, plan, wanted):
    assert " ".join(french.realise(plan, register, Dice(0.5)).words) == wanted


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (did("buy", "they", "them:lamp"), [
            ("agreement", "achetées", ("acheté", "achetée", "achetés")), ("agreement", "les", ("le", "la")),
            ("clitic position", "les", ("ont",)),
        ]),
        (did("read", "she", "the old.thing book", adverbs="often/medial"), [
            ("tense", "lisait", ("a lu",)), ("adjective position", "vieux", ("livre",)), ("word sense", "vieux", ("âgé",)),
        ]),
        (did("work.person", "he", subordinate=("although", does("be", "he", attribute="sick"), True)), [
            ("tense", "soit", ("est",)),
        ]),
        (did("see", "i", "the beautiful bird"), [
            ("agreement", "bel oiseau", ("beau oiseau", "beaux oiseau", "belle oiseau", "belles oiseau")),
        ]),
    ],
)  # fmt: skip
def test_marks(plan, wanted):
    found = french.realise(plan, "subtitles", Dice(0.5)).marks
    assert all(mark in found for mark in wanted), found
