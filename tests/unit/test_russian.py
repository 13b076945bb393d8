"""Russian out of plans: what a speaker is promised, sentence by sentence, paradigms, and the marks of translations."""

from __future__ import annotations

import random

import pytest

from helpers.world import lexicon, russian, russian_words, sampler
from tests.unit.tiny_plans import Dice, did, does, first, np

SENTENCES = [
    # aspect, tense, agreement of the verb
    (did("write", "the nurse", "the letter.mail"), "медсестра написала письмо ."),
    (does("write", "the doctor", "the letter.mail"), "врач пишет письмо ."),
    (did("write", "the doctor", "the letter.mail", adverbs="often/medial"), "врач часто писал письмо ."),
    (did("write", "the nurse", "the book", tense="future", adverbs="often/medial"), "медсестра часто будет писать книгу ."),
    (did("love", "the queen", "the king"), "королева любила короля ."),
    # animacy, case, counting, one's own
    (did("find", "the boy", "two dog"), "мальчик нашел двух собак ."),
    (did("find", "the boy", "two new table"), "мальчик нашел два новых стола ."),
    (did("find", "the boy", "three new book"), "мальчик нашел три новые книги ."),
    (does("love", "he", "his wife"), "он любит свою жену ."),
    (did("save.person", "his doctor", "the brother", passive=True), "брат был спасен своим врачом ."),
    # government
    (did("help", "the doctor", "the nurse"), "врач помог медсестре ."),
    (does("dream", "you", "i"), "ты мечтаешь обо мне ."),
    (does("know.person", "the nurse", "the judge"), "медсестра знакома с судьей ."),
    (does("need", "the doctor", "the book"), "врачу нужна книга ."),
    (does("need", "i", "he", negated=True), "он мне не нужен ."),
    (did("need", "the nurse", "the letter.mail", tense="future"), "медсестре понадобится письмо ."),
    (did("give", "the mother", "a apple", "the nurse"), "мать дала медсестре яблоко ."),
    # senses by object and subject
    (did("wash", "the boy", "the shirt"), "мальчик постирал рубашку ."),
    (did("lose", "the team", "the game.match"), "команда проиграла матч ."),
    # places
    (did("go", "he", adverbs="there/final"), "он пошел туда ."),
    (did("go", "the doctor", at="to the station"), "врач пошел на вокзал ."),
    (did("come", "a dog", at="from the market"), "с рынка пришла собака ."),
    (did("sing", "he", at="in_time the winter"), "он пел зимой ."),
    (did("live", "he", at="with his sister"), "он жил со своей сестрой ."),
    (did("find", "he", np("the key", genitive="the house")), "он нашел ключ от дома ."),
    # negation
    (did("write", "the doctor", "a letter.mail", negated=True), "врач не написал письма ."),
    (did("write", "the doctor", "the letter.mail", negated=True), "врач не написал письмо ."),
    # copula and modals
    (does("be", "the queen", attribute=np("a thief")), "королева — вор ."),
    (did("be", "the queen", attribute=np("a thief")), "королева была вором ."),
    (does("repair", "the nurse", "the car", modal="must"), "медсестра должна починить машину ."),
    (does("repair", "the nurse", "the car", modal="should"), "медсестре следует починить машину ."),
    # passive
    (did("write", "the doctor", "the letter.mail", passive=True), "письмо было написано врачом ."),
    (did("write", None, "the letter.mail", passive=True, tense="perfect"), "письмо написано ."),
    (does("write", "the nurse", "the book", passive=True), "книгу пишет медсестра ."),
    # relative clauses, clauses within and beside
    (did("sleep", np("the man", relative=did("help", "the nurse", gap="object"))),
     "мужчина , которому медсестра помогла , спал ."),
    (did("meet", "i", np("the man", relative=did("need", None, "the book", gap="subject"))),
     "я встретил мужчину , которому была нужна книга ."),
    (did("find", "i", np("the city+", relative=does("dream", "the doctor", gap="object"))),
     "я нашел города , о которых врач мечтает ."),
    (did("find", "i", np("the book", relative=does("need", "the doctor", gap="object"))),
     "я нашел книгу , которая нужна врачу ."),
    (does("say", "the doctor", complement=did("sell", "she", "the house")), "врач говорит , что она продала дом ."),
    # questions, commands, adverbs
    (did("use", "the doctor", question="what"), "чем воспользовался врач ?"),
    (does("close", None, "your door", imperative=True, negated=True), "не закрывай свою дверь ."),
    (did("read", "he", "the book", adverbs="probably/medial"), "он , вероятно , прочитал книгу ."),
]  # fmt: skip


def say(plan, throw: float = 0.99) -> str:
    return " ".join(russian.realise(plan, "news", Dice(throw)).words)


@pytest.mark.parametrize(("plan", "wanted"), SENTENCES, ids=[wanted for _, wanted in SENTENCES])
def test_sentence(plan, wanted):
    assert say(plan) == wanted


def test_other_translations():
    assert say(did("read", "you", "the book", question="polar"), 0.0) == "прочитал ли ты книгу ?"
    assert say(did("send", "i", "the letter.mail", "the nurse"), 0.0) == "я отправил письмо медсестре ."
    assert say(did("meet", "i", "he", at="after the war"), 0.0) == "после войны я встретил его ."


def test_shape_of_prepositions():
    for preposition, word, shape in (
        ("в", "Франции", "во"), ("в", "вторник", "во"), ("в", "воде", "в"), ("в", "многих домах", "во"),
        ("с", "студентом", "со"), ("с", "сестрой", "с"), ("с", "мной", "со"), ("с", "женой", "с"), ("с", "школой", "со"),
        ("о", "этом", "об"), ("о", "войне", "о"), ("о", "мне", "обо"), ("о", "ее доме", "о"), ("перед", "мной", "передо"),
    ):  # fmt: skip
        assert russian.sound(preposition, word) == shape


@pytest.mark.parametrize(
    ("key", "singular", "plural"),
    [
        ("mother", "мать матери матери мать матерью матери", "матери матерей матерям матерей матерями матерях"),
        ("child", "ребенок ребенка ребенку ребенка ребенком ребенке", "дети детей детям детей детьми детях"),
        ("window", "окно окна окну окно окном окне", "окна окон окнам окна окнами окнах"),
        ("company", "компания компании компании компанию компанией компании",
         "компании компаний компаниям компании компаниями компаниях"),
        ("coat", "пальто пальто пальто пальто пальто пальто", "пальто пальто пальто пальто пальто пальто"),
        ("bat.animal", "летучая_мышь летучей_мыши летучей_мыши летучую_мышь летучей_мышью летучей_мыши",
         "летучие_мыши летучих_мышей летучим_мышам летучих_мышей летучими_мышами летучих_мышах"),
    ],
)  # fmt: skip
def test_nouns(key, singular, plural):
    noun = russian_words.nouns()[key]
    assert noun.sg == tuple(word.replace("_", " ") for word in singular.split())
    assert noun.pl == tuple(word.replace("_", " ") for word in plural.split())


def test_adjectives():
    for line in (
        "новый нового новую новое новых", "синий синего синюю синее синих", "большой большого большую большое больших",
        "хороший хорошего хорошую хорошее хороших", "легкий легкого легкую легкое легких",
    ):  # fmt: skip
        lemma, genitive, feminine, neuter, plural = line.split()
        forms = [row[3] for row in russian_words.adjective_forms(lemma)]
        assert forms[:5] == [genitive, lemma, feminine, neuter, plural]


@pytest.mark.parametrize(
    ("key", "aspect", "present", "past", "imperative"),
    [
        ("write", "i", "пишу пишешь пишет пишем пишете пишут", "писал писала писало писали", "пиши"),
        ("give", "p", "дам дашь даст дадим дадите дадут", "дал дала дало дали", "дай"),
        ("come", "p", "приду придешь придет придем придете придут", "пришел пришла пришло пришли", "приходи"),
        ("help", "p", "помогу поможешь поможет поможем поможете помогут", "помог помогла помогло помогли", "помоги"),
        ("fear", "i", "боюсь боишься боится боимся боитесь боятся", "боялся боялась боялось боялись", "бойся"),
    ],
)  # fmt: skip
def test_verbs(key, aspect, present, past, imperative):
    form = getattr(russian_words.verbs()[key].usual, aspect)
    assert (form.present, form.past, form.imperative) == (tuple(present.split()), tuple(past.split()), imperative)


def test_names_and_rare_words_decline():
    forms = {kind: russian_words.tail_noun(first(kind)) for kind in lexicon.TAIL_COUNTS}
    endings = {"town": "бурге", "ite": "ите", "ist": "исте", "logy": "ологии", "ium": "иуме", "tron": "отроне"}
    for kind, ending in endings.items():
        assert forms[kind].sg[russian_words.PRE].endswith(ending)
    assert forms["ist"].sg[3] == forms["ist"].sg[1] and forms["ite"].sg[3] == forms["ite"].sg[0]
    man, woman, surname = (forms[kind].sg for kind in ("forename_m", "forename_f", "surname"))
    he, she = (np(first(kind), surname=first("surname")) for kind in ("forename_m", "forename_f"))
    assert say(did("help", he, she)) == f"{man[0]} {surname[0]} помог {woman[2]} {surname[0]} ."
    assert say(did("help", she, he)) == f"{woman[0]} {surname[0]} помогла {man[2]} {surname[2]} ."
    assert all(len(noun.sg) == len(noun.pl) == 6 and all(noun.sg) for noun in map(russian_words.tail_noun, lexicon.tail()))


def test_every_key_has_a_word_and_senses_have_different_ones():
    assert russian.missing() == []
    for table in (russian_words.nouns(), russian_words.adjectives()):
        groups: dict[str, list[str]] = {}
        for key in table:
            if "." in key:
                groups.setdefault(lexicon.sense(key), []).append(table[key].lemma)
        assert all(len(set(lemmas)) == len(lemmas) for lemmas in groups.values())


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
        (did("play.game", "the nurse", "football"), [("word sense", "в футбол", ("на футболе",))]),
        (did("find", "i", np("the book", relative=did("dream", "the doctor", gap="object"))), [
            ("agreement", "которой", ("котором", "которых")),
        ]),
    ],
)  # fmt: skip
def test_marks(plan, wanted):
    found = russian.realise(plan, "news", Dice(0.99)).marks
    assert all(mark in found for mark in wanted), found


def test_plans_beyond_the_sampler():
    rng = random.Random(9)
    for _ in range(600):
        plan = sampler.sample("news", rng)
        plan.question = rng.choice(["", "polar", "who", "what", "where", "when", "why"])
        plan.modal = rng.choice(["", "", "can", "must", "want", "should"])
        plan.tense = rng.choice(["past", "present", "future", "perfect"])
        plan.negated, plan.progressive = rng.random() < 0.5, rng.random() < 0.3
        if plan.question == "who":
            plan.subject = None
        elif plan.question == "what":
            plan.object = None
        elif plan.object is not None and rng.random() < 0.5:
            plan.passive = not plan.passive
            plan.subject = plan.subject or np("he")
        said = russian.realise(plan, "news", rng)
        text = f" {' '.join(said.words)} "
        assert all(said.words) and all(f" {wanted} " in text and wanted not in others for _, wanted, others in said.marks), text
