"""Russian of the controlled corpus: hand-checked sentences and paradigms, and what must hold of any plan."""

from __future__ import annotations

import random

import pytest

from helpers.world import lexicon, russian, russian_words, sampler
from helpers.world.meanings import NP, ORDER, PP, Adverb, Clause


class Dice(random.Random):
    """Always the same throw: high, every first choice; low, every other one."""

    def __init__(self, value: float):
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


def np(noun: str, determiner: str = "the", number: str = "sg", **rest) -> NP:
    return NP(noun, determiner=determiner, number=number, **rest)


def say(clause: Clause, throw: float = 0.99) -> str:
    return " ".join(russian.realise(clause, "news", Dice(throw)).words)


def it(noun: str, number: str = "sg") -> NP:
    return NP(noun, pronoun=True, number=number)


def adv(name: str, position: str = "medial") -> tuple[Adverb, ...]:
    return (Adverb(name, position),)


def at(preposition: str, noun: NP) -> tuple[PP, ...]:
    return (PP(preposition, noun),)


def first(kind: str) -> str:
    return next(key for key, word in lexicon.tail().items() if word.kind == kind)


I, YOU, WE = NP(pronoun=True, person=1), NP(pronoun=True, person=2), NP(pronoun=True, person=1, number="pl")
HE, SHE = it("man"), it("woman")
DOCTOR, NURSE, BOOK, LETTER = np("doctor"), np("nurse"), np("book"), np("letter.mail")
C = Clause

SENTENCES = [
    # aspect, tense, agreement of the verb
    (C("write", DOCTOR, LETTER), "врач написал письмо ."),
    (C("write", NURSE, np("letter.mail", "", "pl")), "медсестра написала письма ."),
    (C("write", DOCTOR, LETTER, tense="present"), "врач пишет письмо ."),
    (C("write", DOCTOR, LETTER, progressive=True), "врач писал письмо ."),
    (C("write", DOCTOR, LETTER, adverbs=adv("often")), "врач часто писал письмо ."),
    (C("write", DOCTOR, LETTER, adverbs=adv("often"), negated=True), "врач не часто писал письмо ."),
    (C("write", NURSE, LETTER, tense="future"), "медсестра напишет письмо ."),
    (C("write", NURSE, LETTER, tense="future", adverbs=adv("often")), "медсестра часто будет писать письмо ."),
    (C("write", I, LETTER, tense="future"), "я напишу письмо ."),
    (C("read", WE, BOOK, tense="present"), "мы читаем книгу ."),
    (C("read", YOU, BOOK, tense="perfect", adverbs=adv("already")), "ты уже прочитал книгу ."),
    (C("love", np("queen"), np("king")), "королева любила короля ."),
    (C("love", np("queen"), np("king"), adverbs=adv("finally")), "королева наконец полюбила короля ."),
    (C("see", np("child"), np("bird", "a")), "ребенок видел птицу ."),
    (C("see", np("child"), np("bird", "a"), tense="future"), "ребенок увидит птицу ."),
    (C("sleep", np("child", number="pl"), tense="present"), "дети спят ."),
    (C("die", np("government", "the")), "правительство умерло ."),
    # animacy, case, counting
    (C("find", np("boy"), np("dog", "two")), "мальчик нашел двух собак ."),
    (C("find", np("boy"), np("table", "two", adjectives=("new",))), "мальчик нашел два новых стола ."),
    (C("find", np("boy"), np("book", "three", adjectives=("new",))), "мальчик нашел три новые книги ."),
    (C("find", np("boy"), np("friend", "my", "pl")), "мальчик нашел моих друзей ."),
    (C("find", np("boy"), np("book", "many", "pl")), "мальчик нашел много книг ."),
    (C("find", np("doctor", "many", "pl"), np("clock", "a")), "многие врачи нашли часы ."),
    (C("find", np("mother"), np("coat", "this", adjectives=("blue",))), "мать нашла это синее пальто ."),
    (C("find", np("father"), np("daughter", "her")), "отец нашел ее дочь ."),
    (C("help", np("worker", "two"), np("scientist", "three")), "два рабочих помогли трем ученым ."),
    (C("grow.plant", np("farmer"), np("potato", "", "pl"), tense="present"), "фермер выращивает картофель ."),
    # one's own
    (C("love", HE, np("wife", "his"), tense="present"), "он любит свою жену ."),
    (C("love", HE, np("wife", "her"), tense="present"), "он любит ее жену ."),
    (C("sell", I, np("car", "my")), "я продал свою машину ."),
    (C("sell", np("brother", "my"), np("car", "his")), "мой брат продал свою машину ."),
    (C("save.person", np("doctor", "his"), np("brother"), passive=True), "брат был спасен своим врачом ."),
    # government
    (C("help", DOCTOR, NURSE), "врач помог медсестре ."),
    (C("wait", DOCTOR, np("train", "a"), tense="present"), "врач ждет поезда ."),
    (C("run.manage", np("mother"), np("company"), tense="present"), "мать управляет компанией ."),
    (C("run.go", np("dog"), tense="present", progressive=True), "собака бежит ."),
    (C("use", np("sister"), np("phone")), "сестра воспользовалась телефоном ."),
    (C("use", np("sister"), np("plan")), "сестра использовала план ."),
    (C("fear", np("son"), np("wolf"), tense="present"), "сын боится волка ."),
    (C("trust", np("judge"), np("witness"), tense="present"), "судья доверяет свидетелю ."),
    (C("belong", np("dress"), np("wife", "the"), tense="present"), "платье принадлежит жене ."),
    (C("dream", YOU, SHE, tense="present"), "ты мечтаешь о ней ."),
    (C("dream", YOU, I, tense="present"), "ты мечтаешь обо мне ."),
    (C("play.game", np("girl"), NP("football"), tense="present"), "девочка играет в футбол ."),
    (C("play.music", np("girl"), np("piano"), tense="present"), "девочка играет на пианино ."),
    (C("look", np("girl"), np("fox")), "девочка посмотрела на лису ."),
    (C("miss.person", I, HE, tense="present", adverbs=adv("badly.much", "final")), "я сильно скучаю по нему ."),
    (C("miss.vehicle", I, np("bus")), "я опоздал на автобус ."),
    (C("order.thing", I, np("bat.club")), "я оформил заказ на биту ."),
    (C("order.food", I, np("soup", "")), "я заказал суп ."),
    (C("know.person", NURSE, np("judge"), tense="present"), "медсестра знакома с судьей ."),
    (C("know.person", NURSE, I, tense="present"), "медсестра знакома со мной ."),
    (C("need", DOCTOR, np("book"), tense="present"), "врачу нужна книга ."),
    (C("need", DOCTOR, np("cup", "many", "pl"), tense="past"), "врачу было нужно много чашек ."),
    (C("need", NURSE, np("letter.mail"), tense="future"), "медсестре понадобится письмо ."),
    (C("need", I, HE, tense="present", negated=True), "он мне не нужен ."),
    (C("give", np("mother"), np("apple", "a"), NURSE), "мать дала медсестре яблоко ."),
    # senses by object and subject
    (C("eat.animal", np("mouse"), np("cheese")), "мышь сгрызла сыр ."),
    (C("eat.animal", np("duck"), np("bread")), "утка склевала хлеб ."),
    (C("eat.person", np("boy"), np("cheese")), "мальчик съел сыр ."),
    (C("drink.animal", np("cat"), np("milk")), "кошка вылакала молоко ."),
    (C("wash", np("boy"), np("shirt")), "мальчик постирал рубашку ."),
    (C("wash", np("boy"), np("cup")), "мальчик вымыл чашку ."),
    (C("lose", np("team"), np("game.match")), "команда проиграла матч ."),
    (C("lose", np("boy"), np("key")), "мальчик потерял ключ ."),
    (C("break.thing", np("boy"), np("bottle")), "мальчик разбил бутылку ."),
    (C("break.rule", np("boy"), np("law")), "мальчик нарушил закон ."),
    # places
    (C("go", DOCTOR, places=at("to", np("station"))), "врач пошел на вокзал ."),
    (C("go", DOCTOR, places=at("to", np("school")), tense="present"), "врач ходит в школу ."),
    (C("go", NURSE, places=at("to", np("city")), tense="present", progressive=True), "медсестра едет в город ."),
    (C("come", NURSE, places=at("from", np("island"))), "медсестра приехала с острова ."),
    (C("come", np("dog"), places=at("from", np("market"))), "собака пришла с рынка ."),
    (C("come", np("dog", "a"), places=at("from", np("market"))), "с рынка пришла собака ."),
    (C("arrive", np("train"), places=at("at", np("station"))), "поезд прибыл на вокзал ."),
    (C("fly.person", np("pilot"), places=at("to", np("castle"))), "летчик вылетел в замок ."),
    (C("fly.bird", np("bird"), places=at("to", np("castle"))), "птица полетела в замок ."),
    (C("run.go", np("dog"), places=at("in", np("forest", adjectives=("dark",)))), "собака бегала в темном лесу ."),
    (C("work.person", np("cook"), places=at("in", np("kitchen")), tense="present"), "повар работает на кухне ."),
    (C("meet", HE, SHE, places=at("in_front_of", np("theatre"))), "он встретил ее перед театром ."),
    (C("meet", HE, SHE, places=at("after", np("wedding", "this"))), "он встретил ее после этой свадьбы ."),
    (C("meet", HE, SHE, places=at("during", np("strike"))), "он встретил ее во время забастовки ."),
    (C("sing", HE, places=at("in_time", np("winter"))), "он пел зимой ."),
    (C("live", HE, places=at("with", np("sister", "his"))), "он жил со своей сестрой ."),
    (C("go", HE, adverbs=adv("there", "final")), "он пошел туда ."),
    (C("find", HE, np("book", place=PP("about", np("war", "a")))), "он нашел книгу о войне ."),
    (C("find", HE, np("key", genitive=np("house"))), "он нашел ключ от дома ."),
    (C("find", HE, np("wheel", genitive=np("car"))), "он нашел колесо машины ."),
    # negation
    (C("write", DOCTOR, np("letter.mail", "a"), negated=True), "врач не написал письма ."),
    (C("write", DOCTOR, LETTER, negated=True), "врач не написал письмо ."),
    (C("read", DOCTOR, BOOK, tense="future", adverbs=adv("rarely"), negated=True), "врач редко не будет читать книгу ."),
    (C("close", DOCTOR, np("door"), negated=True, adverbs=adv("quickly", "final")), "врач не закрыл быстро дверь ."),
    (C("close", DOCTOR, it("door"), negated=True, adverbs=adv("quickly", "final")), "врач не закрыл ее быстро ."),
    (
        C("order.thing", DOCTOR, np("lamp"), negated=True, adverbs=adv("immediately", "final")),
        "врач не оформил заказ немедленно на лампу .",
    ),
    # copula
    (C("be", DOCTOR, attribute="old.person", tense="present"), "врач пожилой ."),
    (C("be", np("house"), attribute="old.thing"), "дом был старым ."),
    (C("be", NURSE, attribute="happy", degree="very"), "медсестра была очень счастлива ."),
    (C("be", np("church", "our"), attribute="new", tense="future"), "наша церковь будет новой ."),
    (C("be", np("queen"), attribute=np("thief", "a"), tense="present"), "королева — вор ."),
    (C("be", np("queen"), attribute=np("thief", "a")), "королева была вором ."),
    (C("be", HE, attribute=np("friend", "my"), tense="present", negated=True), "он не мой друг ."),
    (C("be", np("meeting"), attribute="long", tense="present"), "собрание долгое ."),
    (C("be", np("rope"), attribute="long", tense="present"), "веревка длинная ."),
    # modals
    (C("repair", NURSE, np("car"), modal="can", tense="present"), "медсестра может починить машину ."),
    (C("repair", NURSE, np("car"), modal="can"), "медсестра могла починить машину ."),
    (C("repair", NURSE, np("car"), modal="must", tense="present"), "медсестра должна починить машину ."),
    (C("repair", I, np("car"), modal="must", tense="present", negated=True), "я не должен чинить машину ."),
    (C("repair", I, np("car"), modal="want", tense="present"), "я хочу починить машину ."),
    (C("repair", NURSE, np("car"), modal="should", tense="present"), "медсестре следует починить машину ."),
    # passive
    (C("write", DOCTOR, LETTER, passive=True), "письмо было написано врачом ."),
    (C("write", None, LETTER, passive=True, tense="perfect"), "письмо написано ."),
    (C("write", None, BOOK, passive=True, tense="future"), "книга будет написана ."),
    (C("write", NURSE, BOOK, passive=True, tense="present"), "книгу пишет медсестра ."),
    (C("write", None, BOOK, passive=True, adverbs=adv("often")), "книгу часто писали ."),
    (C("help", NURSE, DOCTOR, passive=True), "врачу помогла медсестра ."),
    (C("write", None, LETTER, passive=True, modal="must", tense="present"), "письмо должно быть написано ."),
    (C("write", None, LETTER, passive=True, modal="should", tense="present"), "письмо следует написать ."),
    # relative clauses
    (C("sleep", np("woman", relative=C("write", None, BOOK, gap="subject"))), "женщина , которая написала книгу , спала ."),
    (C("sleep", np("man", relative=C("help", NURSE, gap="object"))), "мужчина , которому медсестра помогла , спал ."),
    (
        C("meet", I, np("man", relative=C("need", None, BOOK, gap="subject"))),
        "я встретил мужчину , которому была нужна книга .",
    ),
    (
        C("find", I, np("book", relative=C("need", DOCTOR, gap="object", tense="present"))),
        "я нашел книгу , которая нужна врачу .",
    ),
    (
        C("find", I, np("city", number="pl", relative=C("dream", DOCTOR, gap="object", tense="present"))),
        "я нашел города , о которых врач мечтает .",
    ),
    # clauses within and beside
    (
        C("say", DOCTOR, complement=C("sell", SHE, np("house")), tense="present"),
        "врач говорит , что она продала дом .",
    ),
    (
        C("sleep", np("cat"), subordinate=("because", C("be", it("cat"), attribute="tired"), False)),
        "кошка спала , потому что она была усталой .",
    ),
    (
        C("sleep", np("cat"), subordinate=("because", C("be", it("cat"), attribute="sick"), True)),
        "так как она была больна , кошка спала .",
    ),
    (
        C("help", I, HE, tense="future", subordinate=("if", C("write", HE, LETTER, tense="present"), False)),
        "я помогу ему , если он напишет письмо .",
    ),
    (
        C("sing", SHE, subordinate=("while", C("read", HE, BOOK, tense="past"), True)),
        "пока он читал книгу , она пела .",
    ),
    (
        C("buy", np("bank.money"), np("ship"), coordinate=("but", C("sell", np("bank.money"), it("ship")))),
        "банк купил корабль , но банк продал его .",
    ),
    # questions and commands
    (C("read", YOU, BOOK, question="polar"), "ты прочитал книгу ?"),
    (C("read", None, BOOK, question="who"), "кто прочитал книгу ?"),
    (C("read", DOCTOR, question="what"), "что прочитал врач ?"),
    (C("use", DOCTOR, question="what"), "чем воспользовался врач ?"),
    (C("work.person", DOCTOR, question="where", tense="present"), "где работает врач ?"),
    (C("go", YOU, question="where", tense="present", progressive=True), "куда ты идешь ?"),
    (C("arrive", np("train"), question="when", tense="future"), "когда прибудет поезд ?"),
    (C("cry.weep", SHE, question="why", tense="present"), "почему она плачет ?"),
    (C("close", None, np("door"), imperative=True, tense="present"), "закрой дверь ."),
    (C("close", None, np("door", "your"), imperative=True, negated=True, tense="present"), "не закрывай свою дверь ."),
    (C("go", None, imperative=True, tense="present", places=at("to", np("school"))), "иди в школу ."),
    (C("go", None, imperative=True, negated=True, tense="present", places=at("to", np("school"))), "не ходи в школу ."),
    # adverbs
    (C("read", HE, BOOK, adverbs=adv("yesterday", "final")), "вчера он прочитал книгу ."),
    (C("read", HE, BOOK, adverbs=adv("probably")), "он , вероятно , прочитал книгу ."),
    (C("read", HE, BOOK, adverbs=adv("perhaps", "initial")), "возможно , он прочитал книгу ."),
    (C("read", HE, BOOK, adverbs=adv("quickly", "final")), "он быстро прочитал книгу ."),
]


@pytest.mark.parametrize(("clause", "expected"), SENTENCES, ids=[text for _, text in SENTENCES])
def test_sentence(clause, expected):
    assert say(clause) == expected


def test_variants():
    assert say(C("read", YOU, BOOK, question="polar"), 0.0) == "прочитал ли ты книгу ?"
    assert say(C("send", I, LETTER, NURSE), 0.0) == "я отправил письмо медсестре ."
    assert say(C("meet", I, HE, places=at("after", np("war"))), 0.0) == "после войны я встретил его ."


@pytest.mark.parametrize(
    ("preposition", "word", "shape"),
    [
        ("в", "Франции", "во"), ("в", "вторник", "во"), ("в", "воде", "в"), ("в", "многих домах", "во"),
        ("с", "студентом", "со"), ("с", "сестрой", "с"), ("с", "мной", "со"), ("с", "женой", "с"), ("с", "школой", "со"),
        ("о", "этом", "об"), ("о", "войне", "о"), ("о", "мне", "обо"), ("о", "ее доме", "о"), ("перед", "мной", "передо"),
    ],
)  # fmt: skip
def test_shape_of_prepositions(preposition, word, shape):
    assert russian.sound(preposition, word) == shape


@pytest.mark.parametrize(
    ("key", "singular", "plural"),
    [
        ("mother", "мать матери матери мать матерью матери", "матери матерей матерям матерей матерями матерях"),
        ("child", "ребенок ребенка ребенку ребенка ребенком ребенке", "дети детей детям детей детьми детях"),
        ("brother", "брат брата брату брата братом брате", "братья братьев братьям братьев братьями братьях"),
        ("son", "сын сына сыну сына сыном сыне", "сыновья сыновей сыновьям сыновей сыновьями сыновьях"),
        ("doctor", "врач врача врачу врача врачом враче", "врачи врачей врачам врачей врачами врачах"),
        ("man", "мужчина мужчины мужчине мужчину мужчиной мужчине", "мужчины мужчин мужчинам мужчин мужчинами мужчинах"),
        ("scientist", "ученый ученого ученому ученого ученым ученом", "ученые ученых ученым ученых учеными ученых"),
        ("church", "церковь церкви церкви церковь церковью церкви", "церкви церквей церквям церкви церквями церквях"),
        ("window", "окно окна окну окно окном окне", "окна окон окнам окна окнами окнах"),
        ("company", "компания компании компании компанию компанией компании",
         "компании компаний компаниям компании компаниями компаниях"),
        ("meeting", "собрание собрания собранию собрание собранием собрании",
         "собрания собраний собраниям собрания собраниями собраниях"),
        ("week", "неделя недели неделе неделю неделей неделе", "недели недель неделям недели неделями неделях"),
        ("bird", "птица птицы птице птицу птицей птице", "птицы птиц птицам птиц птицами птицах"),
        ("horse", "лошадь лошади лошади лошадь лошадью лошади", "лошади лошадей лошадям лошадей лошадьми лошадях"),
        ("museum", "музей музея музею музей музеем музее", "музеи музеев музеям музеи музеями музеях"),
        ("coat", "пальто пальто пальто пальто пальто пальто", "пальто пальто пальто пальто пальто пальто"),
        ("bat.animal", "летучая_мышь летучей_мыши летучей_мыши летучую_мышь летучей_мышью летучей_мыши",
         "летучие_мыши летучих_мышей летучим_мышам летучих_мышей летучими_мышами летучих_мышах"),
    ],
)  # fmt: skip
def test_nouns(key, singular, plural):
    noun = russian_words.nouns()[key]
    assert noun.sg == tuple(word.replace("_", " ") for word in singular.split())
    assert noun.pl == tuple(word.replace("_", " ") for word in plural.split())


@pytest.mark.parametrize(
    ("lemma", "gen", "feminine", "neuter", "plural"),
    [
        ("новый", "нового", "новую", "новое", "новых"), ("синий", "синего", "синюю", "синее", "синих"),
        ("большой", "большого", "большую", "большое", "больших"), ("хороший", "хорошего", "хорошую", "хорошее", "хороших"),
        ("легкий", "легкого", "легкую", "легкое", "легких"), ("молодой", "молодого", "молодую", "молодое", "молодых"),
    ],
)  # fmt: skip
def test_adjectives(lemma, gen, feminine, neuter, plural):
    forms = russian_words.adjective_forms(lemma)
    assert (forms[0][3], forms[1][3], forms[2][3], forms[3][3], forms[4][3]) == (gen, lemma, feminine, neuter, plural)


@pytest.mark.parametrize(
    ("key", "aspect", "present", "past", "imperative"),
    [
        ("write", "i", "пишу пишешь пишет пишем пишете пишут", "писал писала писало писали", "пиши"),
        ("give", "p", "дам дашь даст дадим дадите дадут", "дал дала дало дали", "дай"),
        ("come", "p", "приду придешь придет придем придете придут", "пришел пришла пришло пришли", "приходи"),
        ("help", "p", "помогу поможешь поможет поможем поможете помогут", "помог помогла помогло помогли", "помоги"),
        ("carry", "i", "несу несешь несет несем несете несут", "нес несла несло несли", "неси"),
        ("hold.thing", "i", "держу держишь держит держим держите держат", "держал держала держало держали", "держи"),
        ("fear", "i", "боюсь боишься боится боимся боитесь боятся", "боялся боялась боялось боялись", "бойся"),
        ("see", "p", "увижу увидишь увидит увидим увидите увидят", "увидел увидела увидело увидели", "посмотри"),
        ("buy", "p", "куплю купишь купит купим купите купят", "купил купила купило купили", "купи"),
        ("die", "p", "умру умрешь умрет умрем умрете умрут", "умер умерла умерло умерли", "умри"),
        ("use", "i", "пользуюсь пользуешься пользуется пользуемся пользуетесь пользуются",
         "пользовался пользовалась пользовалось пользовались", "пользуйся"),
    ],
)  # fmt: skip
def test_verbs(key, aspect, present, past, imperative):
    form = getattr(russian_words.verbs()[key].usual, aspect)
    assert (form.present, form.past) == (tuple(present.split()), tuple(past.split()))
    assert form.imperative == imperative


def test_tail():
    forms = {kind: russian_words.tail_noun(first(kind)) for kind in lexicon.TAIL_COUNTS}
    endings = {"town": "бурге", "ite": "ите", "ist": "исте", "logy": "ологии", "ium": "иуме", "tron": "отроне"}
    for kind, ending in endings.items():
        assert forms[kind].sg[russian_words.PRE].endswith(ending)
    assert forms["ist"].sg[3] == forms["ist"].sg[1] and forms["ite"].sg[3] == forms["ite"].sg[0]
    man, woman, surname = (forms[kind].sg for kind in ("forename_m", "forename_f", "surname"))
    he = NP(first("forename_m"), surname=first("surname"))
    she = NP(first("forename_f"), surname=first("surname"))
    assert say(C("help", he, she)) == f"{man[0]} {surname[0]} помог {woman[2]} {surname[0]} ."
    assert say(C("help", she, he)) == f"{woman[0]} {surname[0]} помогла {man[2]} {surname[2]} ."
    for key in lexicon.tail():
        noun = russian_words.tail_noun(key)
        assert len(noun.sg) == len(noun.pl) == 6 and all(noun.sg)


def test_nothing_missing():
    assert russian.missing() == []


def test_senses_are_told_apart():
    groups: dict[str, list[str]] = {}
    for key in (*russian_words.nouns(), *russian_words.adjectives()):
        if "." in key:
            table = russian_words.nouns() if key in russian_words.nouns() else russian_words.adjectives()
            groups.setdefault(lexicon.sense(key), []).append(table[key].lemma)
    for word, lemmas in groups.items():
        assert len(set(lemmas)) == len(lemmas), word


def marks(clause: Clause) -> list:
    return russian.realise(clause, "news", Dice(0.99)).marks


def test_marks():
    found = marks(C("help", DOCTOR, np("nurse", adjectives=("old.person",))))
    assert (
        "case",
        "пожилой медсестре",
        ("пожилая медсестра", "пожилой медсестры", "пожилую медсестру", "пожилой медсестрой"),
    ) in found
    assert ("agreement", "помог", ("помогла", "помогло", "помогли")) in found
    assert ("tense", "помог", ("помогал",)) in found
    assert ("word sense", "пожилой", ("старой",)) in found
    found = marks(C("read", DOCTOR, question="what"))
    assert ("verb position", "прочитал", ("врач",)) in found
    found = marks(C("play.game", NURSE, NP("football")))
    assert ("word sense", "в футбол", ("на футболе",)) in found
    found = marks(C("find", I, np("book", relative=C("dream", DOCTOR, gap="object"))))
    assert ("agreement", "которой", ("котором", "которых")) in found


def plans(register: str, n: int, seed: int = 3) -> list[Clause]:
    rng = random.Random(f"{register} {seed}")
    return [sampler.sample(register, rng) for _ in range(n)]


@pytest.mark.parametrize("register", ["news", "subtitles"])
def test_any_plan(register):
    rng = random.Random(4)
    for plan in plans(register, 4000):
        result = russian.realise(plan, register, rng)
        text = f" {' '.join(result.words)} "
        assert all(result.words) and "  " not in text and " , , " not in text and " , . " not in text
        assert result.words[-1] == ("?" if plan.question else ".") and result.words[0] != ","
        for phenomenon, wanted, others in result.marks:
            assert others and wanted not in others and f" {wanted} " in text, (phenomenon, wanted, others, text)
            if phenomenon in ORDER:
                assert text.split().index(wanted) < text.split().index(others[0])


def test_plans_beyond_the_sampler():
    rng = random.Random(9)
    for plan in plans("news", 1500, 8):
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
            plan.subject = plan.subject or HE
        result = russian.realise(plan, "news", rng)
        text = f" {' '.join(result.words)} "
        assert all(result.words) and all(f" {m[1]} " in text and m[1] not in m[2] for m in result.marks), text


def test_same_dice_same_words():
    for plan in plans("news", 200):
        first, second = (russian.realise(plan, "news", random.Random(7)) for _ in range(2))
        assert first == second
