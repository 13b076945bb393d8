"""French out of plans: what a speaker is promised, sentence by sentence, paradigms, and the marks of translations."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from helpers.world import french, french_words, lexicon, sampler
from tests.unit.tiny_plans import Dice, did, does, first, np

TOWN = first("town")
ELIDED = set("le la de que ne je me te se ma ta sa ce lorsque quoique".split())

SENTENCES = [
    # articles and determiners
    (did("see", "the man", "the bee"), "l' homme a vu l' abeille ."),
    (did("find", "he", "his idea"), "il a trouvé son idée ."),
    (did("see", "she", "this bird"), "elle a vu cet oiseau ."),
    (did("see", "you all", "your cat"), "vous avez vu votre chat ."),
    (does("drink.person", "i", "beer"), "je bois de la bière ."),
    (did("see", "he", "many bird"), "il a vu beaucoup d' oiseaux ."),
    # adjectives: agreement, place, sense
    (did("see", "i", "a beautiful bird"), "j' ai vu un bel oiseau ."),
    (did("see", "i", "the big old.thing boat"), "j' ai vu le grand vieux bateau ."),
    (did("see", "i", np("a big house", degree="very")), "j' ai vu une très grande maison ."),
    (did("see", "i", "some small dog+"), "j' ai vu de petits chiens ."),
    (does("be", "the queen", attribute="old.person"), "la reine est âgée ."),
    (does("be", np("the nurse", coordinate="the king"), attribute="tired"), "l' infirmière et le roi sont fatigués ."),
    (does("be", "she", attribute=np("a nurse")), "elle est infirmière ."),
    (did("be", "he", attribute=np("a good doctor")), "c' était un bon médecin ."),
    # the past: auxiliary, aspect, agreement of the participle
    (did("arrive", "the woman+"), "les femmes sont arrivées ."),
    (did("fear", "she", "the wolf", adverbs="suddenly/medial"), "elle a soudain craint le loup ."),
    (does("read", "she", "a book", tense="perfect", negated=True, adverbs="already/medial"),
     "elle n' a pas encore lu de livre ."),
    (did("say", "he", complement=did("sell", "she", "the key")), "il a dit qu' elle avait vendu la clé ."),
    (did("buy", "i", "it:lamp"), "je l' ai achetée ."),
    (did("see", "i", np("the letter.mail", relative=did("write", "the king", gap="object"))),
     "j' ai vu la lettre que le roi a écrite ."),
    (did("write", "the king", "the letter.mail"), "le roi a écrit la lettre ."),
    # clitics and government
    (does("give", "he", "it:key", "i"), "il me la donne ."),
    (does("read", "he", "it:song", modal="want"), "il veut la lire ."),
    (does("help", "he", "we", modal="can", negated=True), "il ne peut pas nous aider ."),
    (did("answer", "he", "it:letter.mail"), "il y a répondu ."),
    (does("need", "he", "it:rope"), "il en a besoin ."),
    (did("visit", "he", "the judge"), "il a rendu visite au juge ."),
    (did("visit", "he", "the island"), "il a visité l' île ."),
    (did("see", "i", np("the man", relative=does("trust", "we", gap="object"))),
     "j' ai vu l' homme à qui nous faisons confiance ."),
    (did("read", "i", np("the letter.mail", relative=did("answer", "he", gap="object"))),
     "j' ai lu la lettre à laquelle il a répondu ."),
    # senses of a verb
    (does("play.game", "they", "chess"), "ils jouent aux échecs ."),
    (did("fly.person", "she", at=f"to {TOWN}"), f"elle a pris l' avion pour {french_words.name(TOWN)} ."),
    # tense and mood
    (does("come", "i", tense="future", subordinate=("if", does("come", "he"), True)), "s' il vient , je viendrai ."),
    (does("come", "i", tense="future", subordinate=("when", does("read", "she", "it:book"), False)),
     "je viendrai quand elle le lira ."),
    (did("work.person", "he", subordinate=("although", did("be", "he", attribute="sick"), True)),
     "bien qu' il soit malade , il a travaillé ."),
    (did("eat.person", "i", "the cake", subordinate=("before", did("go", "i", at="to the market"), False)),
     "j' ai mangé le gâteau avant d' aller au marché ."),
    (did("sleep", "we", subordinate=("after", did("read", "we", "it:letter.mail"), True)),
     "après l' avoir lue , nous avons dormi ."),
    # passive
    (did("paint", "the girl", "the door+", passive=True), "les portes ont été peintes par la fillette ."),
    (did("answer", None, "the question", passive=True), "on a répondu à la question ."),
    # questions and commands
    (did("arrive", question="who"), "qui est arrivé ?"),
    (did("discuss", "they", question="what"), "de quoi est-ce qu' ils ont discuté ?"),
    (does("open.thing", None, "it:door", imperative=True), "ouvre -la ."),
    (does("give", None, "them:key", "i", imperative=True), "donne -les -moi ."),
    (does("open.thing", None, "it:door", imperative=True, negated=True), "ne l' ouvre pas ."),
    # adverbs and places
    (did("win", "he", "the war", negated=True, adverbs="probably/medial"), "il n' a probablement pas gagné la guerre ."),
    (did("give", "he", "the wrong answer", "she"), "il lui a donné la mauvaise réponse ."),
    (did("come", "he", at="to the island"), "il est venu sur l' île ."),
    (did("win", "he", "the war", adverbs="perhaps/initial"), "peut-être qu' il a gagné la guerre ."),
]  # fmt: skip
NEWS = [
    (did("see", "the doctor", "the cat", question="polar"), "le médecin a -t-il vu le chat ?"),
    (did("meet", "the queen", "the king", question="where"), "où la reine a -t-elle rencontré le roi ?"),
    (does("sleep", "you", question="why", negated=True), "pourquoi ne dors -tu pas ?"),
]


def text(plan, register: str = "subtitles", value: float = 0.5) -> str:
    return " ".join(french.realise(plan, register, Dice(value)).words)


@pytest.mark.parametrize(("plan", "wanted"), SENTENCES, ids=[wanted for _, wanted in SENTENCES])
def test_sentence(plan, wanted):
    assert text(plan) == wanted


def test_news_turn_subject_and_verb():
    assert [text(plan, "news") for plan, _ in NEWS] == [wanted for _, wanted in NEWS]


def test_other_translations():
    plan = does("win", "the thief", "the election", tense="future")
    assert text(plan, value=0.9) == "le cambrioleur remportera l' élection ."
    assert text(plan, value=0.1) == "le voleur va gagner l' élection ."
    assert text(plan, "news", 0.1) == "le voleur gagnera l' élection ."
    tired = ("because", did("be", "he", attribute="tired"), False)
    assert text(did("sleep", "he", subordinate=tired), value=0.9) == "il a dormi car il était épuisé ."
    assert text(did("sleep", "he", at="in_time the morning"), value=0.1) == "le matin , il a dormi ."
    reading = does("read", "he", "it:letter.mail", progressive=True)
    assert (text(reading, value=0.1), text(reading)) == ("il est en train de la lire .", "il la lit .")


@pytest.mark.parametrize(
    "line",
    """
    être present suis es est sommes êtes sont
    aller future irai iras ira irons irez iront
    manger imperfect mangeais mangeais mangeait mangions mangiez mangeaient
    acheter future achèterai achèteras achètera achèterons achèterez achèteront
    espérer present espère espères espère espérons espérez espèrent
    prendre subjunctive prenne prennes prenne prenions preniez prennent
    craindre imperfect craignais craignais craignait craignions craigniez craignaient
    devoir conditional devrais devrais devrait devrions devriez devraient
    rompre present romps romps rompt rompons rompez rompent
    """.strip().split("\n"),
)
def test_conjugation(line):
    infinitive, tense, *forms = line.split()
    assert list(french_words.conjugate(infinitive, tense)) == forms


def test_participles_plurals_and_adjectives():
    for infinitive, forms in {
        "prendre": "pris prise pris prises", "vivre": "vécu vécue vécus vécues", "peindre": "peint peinte peints peintes",
    }.items():  # fmt: skip
        assert french_words.participle(infinitive) == tuple(forms.split())
    assert french_words.imperative("ouvrir") == "ouvre" and french_words.imperative("prendre") == "prends"
    table = french_words.noun_table()
    for key, wanted in {"horse": "chevaux", "bird": "oiseaux", "mouse": "souris", "potato": "pommes de terre"}.items():
        assert table[key].variants[0][1] == wanted
    known = {adjective.forms for words in french_words.adjective_table().values() for adjective in words}
    for forms in ("beau belle beaux belles", "bref brève brefs brèves", "heureux heureuse heureux heureuses"):
        assert tuple(forms.split()) in known


def test_every_key_has_a_word_and_senses_have_different_ones():
    assert french.missing() == []
    for part, table in (
        ("noun", french_words.noun_table()), ("adjective", french_words.adjective_table()),
        ("verb", french_words.verb_table()), ("adverb", french_words.ADVERBS),
    ):  # fmt: skip
        assert all(table.values())
        for keys in sampler.senses(part).values():
            seen: dict = {}
            for key in keys:
                for word in table[key].variants if part == "noun" else table[key]:
                    word = word.forms if part == "adjective" else (word[0], word[2]) if part == "verb" else word
                    assert seen.setdefault(word, key) == key


@pytest.mark.parametrize("kind", lexicon.TAIL_COUNTS)
def test_rare_words_have_gender_plural_and_ending(kind):
    spelled = french_words.spell(lexicon.tail()[first(kind)])
    ending = {"forename_f": "a", "ite": "ite", "ist": "iste", "logy": "ologie", "ium": "ium", "tron": "tron", "town": "bourg"}
    assert spelled.endswith(ending.get(kind, ""))
    if kind in lexicon.TAIL_CLASS:
        article = {"ite": "la", "logy": "la"}.get(kind, "le")
        assert text(did("see", "i", f"the {first(kind)}")) == f"j' ai vu {article} {spelled} ."
        assert text(did("see", "i", f"the {first(kind)}+")) == f"j' ai vu les {spelled}s ."
    else:
        assert spelled[0].isupper() and text(did("see", "i", first(kind))) == f"j' ai vu {spelled} ."
    assert len({*map(french_words.spell, lexicon.tail().values())}) == len(lexicon.tail())


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (did("buy", "they", "them:lamp"), [
            ("agreement", "achetées", ("acheté", "achetée", "achetés")), ("agreement", "les", ("le", "la")),
            ("clitic position", "les", ("ont",)),
        ]),
        (did("visit", "i", "she"), [("case", "lui", ("le", "la", "les"))]),
        (did("read", "she", "the old.thing book", adverbs="often/medial"), [
            ("tense", "lisait", ("a lu",)), ("adjective position", "vieux", ("livre",)), ("word sense", "vieux", ("âgé",)),
        ]),
        (did("work.person", "he", subordinate=("although", does("be", "he", attribute="sick"), True)), [
            ("tense", "soit", ("est",)),
        ]),
        (did("play.music", "he", "the violin"), [("word sense", "du violon", ("au violon",))]),
        (did("see", "i", "the beautiful bird"), [
            ("agreement", "bel oiseau", ("beau oiseau", "beaux oiseau", "belle oiseau", "belles oiseau")),
        ]),
    ],
)  # fmt: skip
def test_marks(plan, wanted):
    found = french.realise(plan, "subtitles", Dice(0.5)).marks
    assert all(mark in found for mark in wanted), found


def test_an_elided_pronoun_shows_no_agreement():
    found = french.realise(did("buy", "i", "it:lamp"), "subtitles", Dice(0.5)).marks
    assert not any(wanted == "l'" for kind, wanted, _ in found if kind == "agreement")


def test_words_are_elided_and_contracted():
    plans = random.Random(1)
    for number in range(400):
        said = french.realise(sampler.sample("news", plans), "news", random.Random(number))
        line = f" {' '.join(said.words)} ".replace(" en train de ", " en train ")
        for wrong in ("de le", "de les", "à le", "à les", "de des", "de du", "de un", "si il", "ne ne"):
            assert f" {wrong} " not in line
        for word, following in pairwise(said.words):
            assert (word in ELIDED) <= (not french_words.vowel(following)), line
