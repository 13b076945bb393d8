"""French out of plans: paradigms, hand-checked sentences for every phenomenon, and marks that hold on random plans."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from helpers.world import french, french_words, lexicon, sampler
from helpers.world.meanings import NP, PP, Adverb, Clause

TAIL = {word.kind: key for key, word in reversed(lexicon.tail().items())}


class Dice(random.Random):
    """Dice that always show the same: at 0.5 the usual translation and order, at 0.9 the other translation."""

    def __init__(self, value: float = 0.5):
        super().__init__(0)
        self.value = value

    def random(self) -> float:
        return self.value


def the(noun: str, *adjectives: str, **more) -> NP:
    return NP(noun, **{"determiner": "the", "adjectives": adjectives, **more})


def an(noun: str, *adjectives: str, **more) -> NP:
    return the(noun, *adjectives, determiner="a", **more)


def some(noun: str, *adjectives: str, **more) -> NP:
    return the(noun, *adjectives, **{"determiner": "", "number": "pl", **more})


def it(noun: str, number: str = "sg") -> NP:
    return NP(noun, pronoun=True, number=number)


I, WE = NP(pronoun=True, person=1), NP(pronoun=True, person=1, number="pl")
YOU, YOU_ALL = NP(pronoun=True, person=2), NP(pronoun=True, person=2, number="pl")
HE, SHE, THEY = it("man"), it("woman"), it("man", "pl")


def does(verb: str, subject=None, object=None, **more) -> Clause:
    if isinstance(more.get("adverbs"), str):
        more["adverbs"] = tuple(Adverb(*item.split("/")) for item in more["adverbs"].split())
    if "at" in more:
        more["places"] = tuple(PP(preposition, np) for preposition, np in more.pop("at"))
    return Clause(verb, subject, object, **{"tense": "present", **more})


def did(verb: str, subject=None, object=None, **more) -> Clause:
    return does(verb, subject, object, **{"tense": "past", **more})


def is_(subject: NP, attribute, **more) -> Clause:
    return does("be", subject, attribute=attribute, **more)


CASES = {
    # determiners, adjectives and their place
    "elision": (did("see", the("man"), the("bee")), "l' homme a vu l' abeille ."),
    "possessive before a vowel": (did("find", HE, the("idea", determiner="his")), "il a trouvé son idée ."),
    "possessive agrees with the thing": (did("see", SHE, the("dog", determiner="her")), "elle a vu son chien ."),
    "cet": (did("read", SHE, the("story", determiner="this")), "elle a lu cette histoire ."),
    "cet, masculine": (did("see", SHE, the("bird", determiner="this")), "elle a vu cet oiseau ."),
    "bel": (did("see", I, an("bird", "beautiful")), "j' ai vu un bel oiseau ."),
    "vieil": (did("visit", I, the("hospital", "old.thing")), "j' ai visité le vieil hôpital ."),
    "nouvel": (did("buy", I, an("computer", "new")), "j' ai acheté un nouvel ordinateur ."),
    "vieille": (did("visit", I, the("church", "old.thing")), "j' ai visité la vieille église ."),
    "nouveau, no vowel": (did("buy", I, an("bicycle", "new", "red")), "j' ai acheté un nouveau vélo rouge ."),
    "beau before another adjective": (
        did("see", I, an("bird", "beautiful", "small")),
        "j' ai vu un beau petit oiseau .",
    ),
    "two after the noun": (
        did("help", I, the("woman", "famous", "tired")),
        "j' ai aidé la femme célèbre et fatiguée .",
    ),
    "long and old": (did("read", I, the("poem", "long", "old.thing")), "j' ai lu le long et vieux poème ."),
    "beautiful and new": (did("see", I, the("piano", "beautiful", "new")), "j' ai vu le beau nouveau piano ."),
    "big and old": (did("see", I, the("boat", "big", "old.thing")), "j' ai vu le grand vieux bateau ."),
    "degree before": (did("see", I, an("house", "big", degree="very")), "j' ai vu une très grande maison ."),
    "degree after": (did("see", I, an("house", "big", degree="quite")), "j' ai vu une maison assez grande ."),
    "de before an adjective": (did("see", I, some("dog", "small")), "j' ai vu de petits chiens ."),
    "des before a noun": (did("see", I, some("dog", "black")), "j' ai vu des chiens noirs ."),
    "blanche": (did("see", I, an("cow", "white", number="pl")), "j' ai vu des vaches blanches ."),
    "invariable": (did("buy", I, some("shoe", "cheap")), "j' ai acheté des chaussures bon marché ."),
    "partitive": (does("drink.person", I, some("beer", number="sg")), "je bois de la bière ."),
    "partitive, vowel": (does("drink.animal", the("wolf"), some("water", number="sg")), "le loup lape de l' eau ."),
    "all of a kind": (does("love", HE, some("horse")), "il aime les chevaux ."),
    "many": (did("see", HE, the("bird", determiner="many", number="pl")), "il a vu beaucoup d' oiseaux ."),
    "every": (did("see", HE, the("child", determiner="every")), "il a vu chaque enfant ."),
    "numeral": (did("arrive", the("girl", determiner="two", number="pl")), "deux fillettes sont arrivées ."),
    "your, of several": (did("see", YOU_ALL, the("cat", determiner="your")), "vous avez vu votre chat ."),
    "des, of the possessor": (
        did("see", I, the("mother", genitive=the("child", number="pl"))), "j' ai vu la mère des enfants ."
    ),
    "no article": (did("arrive", HE, at=[("without", an("key"))]), "il est arrivé sans clé ."),
    # adjectives by noun and sense
    "âgé": (is_(the("queen"), "old.person"), "la reine est âgée ."),
    "vieux": (is_(the("table"), "old.thing"), "la table est vieille ."),
    "dark of light": (did("see", I, the("street", "dark")), "j' ai vu la rue sombre ."),
    "dark of colour": (did("see", I, the("dress", "dark")), "j' ai vu la robe foncée ."),
    "light of colour": (did("see", I, the("shirt", "light.colour")), "j' ai vu la chemise claire ."),
    "light of weight": (did("see", I, the("box", "light.weight")), "j' ai vu la boîte légère ."),
    "hard": (is_(some("egg"), "hard.firm"), "les œufs sont durs ."),
    "difficult": (is_(the("question"), "hard.difficult"), "la question est difficile ."),
    "mixed pair": (
        is_(the("nurse", coordinate=the("king")), "tired"), "l' infirmière et le roi sont fatigués ."
    ),
    "trade": (is_(SHE, an("nurse")), "elle est infirmière ."),
    "c' est": (is_(HE, an("doctor", "good"), tense="past"), "c' était un bon médecin ."),
    "ce sont": (is_(THEY, some("soldier", "good"), negated=True), "ce ne sont pas de bons soldats ."),
    # the past
    "être, agreeing": (did("arrive", the("woman", number="pl")), "les femmes sont arrivées ."),
    "être, dying": (did("die", the("cow")), "la vache est morte ."),
    "state": (did("know.person", HE, the("nurse")), "il connaissait l' infirmière ."),
    "onset of a state": (
        did("fear", SHE, the("wolf"), adverbs="suddenly/medial"), "elle a soudain craint le loup ."
    ),
    "habit": (did("read", SHE, the("book"), adverbs="often/medial"), "elle lisait souvent le livre ."),
    "going on": (did("read", SHE, the("book"), progressive=True), "elle lisait le livre ."),
    "perfect": (does("read", SHE, the("book"), tense="perfect", adverbs="already/medial"), "elle a déjà lu le livre ."),
    "not yet": (
        does("read", SHE, an("book"), tense="perfect", negated=True, adverbs="already/medial"),
        "elle n' a pas encore lu de livre .",
    ),
    "earlier than said": (
        did("say", HE, complement=did("sell", SHE, the("key"))), "il a dit qu' elle avait vendu la clé ."
    ),
    "preceding object, clitic": (did("buy", I, it("lamp")), "je l' ai achetée ."),
    "preceding object, plural": (did("buy", I, it("box", "pl")), "je les ai achetées ."),
    "preceding object, relative": (
        did("see", I, the("letter.mail", relative=did("write", the("king"), gap="object"))),
        "j' ai vu la lettre que le roi a écrite .",
    ),
    "no agreement with what follows": (did("write", the("king"), the("letter.mail")), "le roi a écrit la lettre ."),
    "reflexive": (did("end.finish", the("war")), "la guerre s' est terminée ."),
    # clitics and government
    "order me le": (does("give", HE, it("key"), recipient=I), "il me la donne ."),
    "order le lui": (did("give", HE, it("key", "pl"), recipient=SHE), "il les lui a données ."),
    "leur": (did("show", I, the("map"), recipient=THEY), "je leur ai montré la carte ."),
    "before the infinitive": (does("read", HE, it("song"), modal="want"), "il veut la lire ."),
    "negated modal": (does("help", HE, WE, modal="can", negated=True), "il ne peut pas nous aider ."),
    "répondre à": (did("answer", HE, the("letter.mail")), "il a répondu à la lettre ."),
    "y": (did("answer", HE, it("letter.mail")), "il y a répondu ."),
    "en": (does("need", HE, it("rope")), "il en a besoin ."),
    "besoin d' elle": (does("need", HE, SHE), "il a besoin d' elle ."),
    "lui by government": (does("trust", THEY, it("woman")), "ils lui font confiance ."),
    "rendre visite": (did("visit", HE, the("judge")), "il a rendu visite au juge ."),
    "rendre visite, clitic": (did("visit", HE, SHE), "il lui a rendu visite ."),
    "visiter": (did("visit", HE, the("island")), "il a visité l' île ."),
    "wait takes an object": (did("wait", SHE, the("train")), "elle a attendu le train ."),
    "se souvenir": (does("remember", I, the("song")), "je me souviens de la chanson ."),
    "belong": (does("belong", the("car"), the("baker")), "la voiture appartient au boulanger ."),
    "dont": (
        did("see", I, the("hammer", relative=does("need", HE, gap="object"))), "j' ai vu le marteau dont il a besoin ."
    ),
    "à qui": (
        did("see", I, the("man", relative=does("trust", WE, gap="object"))),
        "j' ai vu l' homme à qui nous faisons confiance .",
    ),
    "à laquelle": (
        did("read", I, the("letter.mail", relative=did("answer", HE, gap="object"))),
        "j' ai lu la lettre à laquelle il a répondu .",
    ),
    "qui": (
        did("see", I, the("dog", number="pl", relative=does("sleep", gap="subject"))), "j' ai vu les chiens qui dorment ."
    ),
    # senses
    "game": (does("play.game", THEY, NP("chess")), "ils jouent aux échecs ."),
    "music": (does("play.music", THEY, the("violin")), "ils jouent du violon ."),
    "eating person": (does("eat.person", the("cook"), some("cheese", number="sg")), "le cuisinier mange du fromage ."),
    "eating animal": (does("eat.animal", the("mouse"), some("cheese", number="sg")), "la souris dévore du fromage ."),
    "running": (did("run.go", HE, at=[("to", the("station"))]), "il a couru jusqu' à la gare ."),
    "managing": (did("run.manage", HE, the("bank.money")), "il a dirigé la banque ."),
    "bat and bank": (
        did("find", HE, the("bat.club"), at=[("near", the("bank.river"))]),
        "il a trouvé la batte près de la rive .",
    ),
    "promise": (did("break.rule", HE, the("promise", determiner="his")), "il a rompu sa promesse ."),
    "law": (did("break.rule", HE, the("law")), "il a enfreint la loi ."),
    "opening": (did("open.place", HE, the("meeting")), "il a entamé la réunion ."),
    "flying": (
        did("fly.person", SHE, at=[("to", NP(TAIL["town"]))]),
        f"elle a pris l' avion pour {french_words.name(TAIL['town'])} .",
    ),
    # tense and mood
    "future": (does("send", SHE, the("list"), tense="future"), "elle enverra la liste ."),
    "should": (does("see", SHE, it("map"), modal="should"), "elle devrait la voir ."),
    "after si": (
        does("come", I, tense="future", subordinate=("if", does("come", HE), True)), "s' il vient , je viendrai ."
    ),
    "after quand": (
        does("come", I, tense="future", subordinate=("when", does("read", SHE, it("book")), False)),
        "je viendrai quand elle le lira .",
    ),
    "bien que": (
        did("work.person", HE, subordinate=("although", is_(HE, "sick", tense="past"), True)),
        "bien qu' il soit malade , il a travaillé .",
    ),
    "bien que, past": (
        did("smile", HE, subordinate=("although", did("arrive", SHE), False)),
        "il a souri , bien qu' elle soit arrivée .",
    ),
    "avant que": (
        did("leave.place", the("king"), the("city"), subordinate=("before", did("come", the("army")), False)),
        "le roi a quitté la ville avant que l' armée vienne .",
    ),
    "avant de": (
        did("eat.person", I, the("cake"), subordinate=("before", did("go", I, at=[("to", the("market"))]), False)),
        "j' ai mangé le gâteau avant d' aller au marché .",
    ),
    "après avoir": (
        did("sleep", WE, subordinate=("after", did("read", WE, it("letter.mail")), True)),
        "après l' avoir lue , nous avons dormi .",
    ),
    "pendant que": (
        did("arrive", SHE, subordinate=("while", did("sleep", HE, progressive=True), False)),
        "elle est arrivée pendant qu' il dormait .",
    ),
    "comme": (
        did("sleep", HE, subordinate=("because", is_(HE, "tired", tense="past"), True)),
        "comme il était fatigué , il a dormi .",
    ),
    "doubt": (
        does("think", I, negated=True, complement=does("know.fact", HE, complement=does("lose", WE, the("war")))),
        "je ne pense pas qu' il sache que nous perdons la guerre .",
    ),
    # passive
    "passive": (
        did("paint", the("girl"), the("door", number="pl"), passive=True),
        "les portes ont été peintes par la fillette .",
    ),
    "passive, recipient": (
        does("send", None, the("letter.mail"), recipient=the("judge"), passive=True, tense="future"),
        "la lettre sera envoyée au juge .",
    ),
    "no passive": (did("answer", None, the("question"), passive=True), "on a répondu à la question ."),
    "no passive, agent": (
        did("visit", the("king"), the("nurse"), passive=True),
        "le roi a rendu visite à l' infirmière .",
    ),
    # questions and commands
    "polar": (did("see", SHE, it("cat"), question="polar"), "est-ce qu' elle l' a vu ?"),
    "polar, news": (did("see", the("doctor"), the("cat"), question="polar"), "le médecin a -t-il vu le chat ?"),
    "who": (did("arrive", question="who"), "qui est arrivé ?"),
    "what": (did("write", SHE, question="what"), "qu' est-ce qu' elle a écrit ?"),
    "what, governed": (did("discuss", THEY, question="what"), "de quoi est-ce qu' ils ont discuté ?"),
    "where, news": (
        did("meet", the("queen"), the("king"), question="where"),
        "où la reine a -t-elle rencontré le roi ?",
    ),
    "why, news, negated": (
        does("sleep", YOU, question="why", negated=True), "pourquoi ne dors -tu pas ?"
    ),
    "command": (does("open.thing", object=it("door"), imperative=True), "ouvre -la ."),
    "command to give": (does("give", object=it("key", "pl"), recipient=I, imperative=True), "donne -les -moi ."),
    "command, en": (does("discuss", object=it("plan"), imperative=True), "discutes -en ."),
    "command, reflexive": (does("remember", object=the("rule"), imperative=True), "souviens -toi de la règle ."),
    "prohibition": (does("open.thing", object=it("door"), imperative=True, negated=True), "ne l' ouvre pas ."),
    # adverbs and places
    "bien": (did("play.music", SHE, the("piano"), adverbs="well/final"), "elle a bien joué du piano ."),
    "manner": (did("read", SHE, the("book"), adverbs="carefully/final"), "elle a lu le livre soigneusement ."),
    "probably not": (
        did("win", HE, the("war"), negated=True, adverbs="probably/medial"),
        "il n' a probablement pas gagné la guerre .",
    ),
    "peut-être que": (did("win", HE, the("war"), adverbs="perhaps/initial"), "peut-être qu' il a gagné la guerre ."),
    "time first": (did("win", HE, the("war"), adverbs="yesterday/initial"), "hier , il a gagné la guerre ."),
    "to an island, a village": (
        did("come", HE, at=[("to", an("village")), ("in_time", the("summer"))]), "il est venu dans un village en été ."
    ),
    "town": (does("live", HE, at=[("in", NP(TAIL["town"]))]), f"il habite à {french_words.name(TAIL['town'])} ."),
}  # fmt: skip
NEWS = {"polar, news", "where, news", "why, news, negated"}


def text(plan: Clause, register: str = "subtitles", value: float = 0.5) -> str:
    return " ".join(french.realise(plan, register, Dice(value)).words)


@pytest.mark.parametrize("name", CASES)
def test_sentence(name):
    plan, wanted = CASES[name]
    assert text(plan, "news" if name in NEWS else "subtitles") == wanted


def test_other_translations():
    plan = does("win", the("thief"), the("election"), tense="future")
    assert text(plan, value=0.9) == "le cambrioleur remportera l' élection ."
    assert text(plan, value=0.1) == "le voleur va gagner l' élection ."
    assert text(plan, "news", 0.1) == "le voleur gagnera l' élection ."
    assert text(is_(the("table"), "old.thing"), value=0.9) == "la table est ancienne ."
    tired = ("because", is_(HE, "tired", tense="past"), False)
    assert text(did("sleep", HE, subordinate=tired), value=0.9) == "il a dormi car il était épuisé ."
    early = did("sleep", HE, at=[("in_time", the("morning"))])
    assert text(early, value=0.1) == "le matin , il a dormi ."
    reading = does("read", HE, it("letter.mail"), progressive=True)
    assert text(reading, value=0.1) == "il est en train de la lire ."
    assert text(reading) == "il la lit ."


@pytest.mark.parametrize(
    ("infinitive", "tense", "forms"),
    [
        ("être", "present", "suis es est sommes êtes sont"),
        ("avoir", "imperfect", "avais avais avait avions aviez avaient"),
        ("aller", "future", "irai iras ira irons irez iront"),
        ("manger", "present", "mange manges mange mangeons mangez mangent"),
        ("manger", "imperfect", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("commencer", "imperfect", "commençais commençais commençait commencions commenciez commençaient"),
        ("acheter", "future", "achèterai achèteras achètera achèterons achèterez achèteront"),
        ("espérer", "present", "espère espères espère espérons espérez espèrent"),
        ("espérer", "future", "espérerai espéreras espérera espérerons espérerez espéreront"),
        ("renvoyer", "future", "renverrai renverras renverra renverrons renverrez renverront"),
        ("employer", "present", "emploie emploies emploie employons employez emploient"),
        ("bâtir", "subjunctive", "bâtisse bâtisses bâtisse bâtissions bâtissiez bâtissent"),
        ("prendre", "subjunctive", "prenne prennes prenne prenions preniez prennent"),
        ("comprendre", "present", "comprends comprends comprend comprenons comprenez comprennent"),
        ("appartenir", "future", "appartiendrai appartiendras appartiendra appartiendrons appartiendrez appartiendront"),
        ("craindre", "imperfect", "craignais craignais craignait craignions craigniez craignaient"),
        ("savoir", "subjunctive", "sache saches sache sachions sachiez sachent"),
        ("pouvoir", "subjunctive", "puisse puisses puisse puissions puissiez puissent"),
        ("vouloir", "subjunctive", "veuille veuilles veuille voulions vouliez veuillent"),
        ("devoir", "conditional", "devrais devrais devrait devrions devriez devraient"),
        ("dire", "present", "dis dis dit disons dites disent"),
        ("perdre", "present", "perds perds perd perdons perdez perdent"),
        ("rompre", "present", "romps romps rompt rompons rompez rompent"),
        ("découvrir", "present", "découvre découvres découvre découvrons découvrez découvrent"),
        ("mourir", "future", "mourrai mourras mourra mourrons mourrez mourront"),
        ("rire", "imperfect", "riais riais riait riions riiez riaient"),
    ],
)
def test_conjugation(infinitive, tense, forms):
    assert french_words.conjugate(infinitive, tense) == tuple(forms.split())


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("prendre", "pris prise pris prises"), ("ouvrir", "ouvert ouverte ouverts ouvertes"),
        ("vivre", "vécu vécue vécus vécues"),
        ("élever", "élevé élevée élevés élevées"), ("construire", "construit construite construits construites"),
        ("peindre", "peint peinte peints peintes"), ("surprendre", "surpris surprise surpris surprises"),
        ("perdre", "perdu perdue perdus perdues"), ("mourir", "mort morte morts mortes"),
    ],
)  # fmt: skip
def test_participles(infinitive, forms):
    assert french_words.participle(infinitive) == tuple(forms.split())


@pytest.mark.parametrize(
    "forms",
    [
        "beau belle beaux belles", "vieux vieille vieux vieilles", "nouveau nouvelle nouveaux nouvelles",
        "bon bonne bons bonnes", "long longue longs longues", "blanc blanche blancs blanches", "bref brève brefs brèves",
        "cher chère chers chères", "heureux heureuse heureux heureuses", "secret secrète secrets secrètes",
        "âgé âgée âgés âgées", "riche riche riches riches", "gros grosse gros grosses", "neuf neuve neufs neuves",
        "léger légère légers légères", "bleu bleue bleus bleues",
    ],
)  # fmt: skip
def test_adjectives(forms):
    known = [adjective.forms for words in french_words.adjective_table().values() for adjective in words]
    assert tuple(forms.split()) in known


def test_plurals():
    table = french_words.noun_table()
    for key, wanted in {
        "horse": "chevaux", "bird": "oiseaux", "mouse": "souris", "bus": "bus", "hospital": "hôpitaux", "knife": "couteaux",
        "potato": "pommes de terre", "bat.animal": "chauves-souris", "price": "prix", "party": "partis", "office": "bureaux",
    }.items():  # fmt: skip
        assert table[key].variants[0][1] == wanted
    assert french_words.imperative("ouvrir") == "ouvre" and french_words.imperative("prendre") == "prends"


def test_nothing_missing():
    assert french.missing() == []
    for table in (french_words.noun_table(), french_words.verb_table(), french_words.adjective_table()):
        assert all(table.values())


def test_senses_are_different_words():
    """Senses that English does not tell apart have no translation in common."""
    for part, table in (
        ("noun", french_words.noun_table()), ("adjective", french_words.adjective_table()),
        ("verb", french_words.verb_table()), ("adverb", french_words.ADVERBS),
    ):  # fmt: skip
        for keys in sampler.senses(part).values():
            seen: dict = {}
            for key in keys:
                entry = table[key].variants if part == "noun" else table[key]
                for word in entry:
                    word = word.forms if part == "adjective" else (word[0], word[2]) if part == "verb" else word
                    assert seen.setdefault(word, key) == key


@pytest.mark.parametrize("kind", lexicon.TAIL_COUNTS)
def test_tail(kind):
    key = TAIL[kind]
    word = lexicon.tail()[key]
    spelled = french_words.spell(word)
    ending = {"forename_f": "a", "ite": "ite", "ist": "iste", "logy": "ologie", "ium": "ium", "tron": "tron", "town": "bourg"}
    assert spelled.endswith(ending.get(kind, ""))
    if kind in lexicon.TAIL_CLASS:
        article = {"ite": "la", "logy": "la"}.get(kind, "le")
        assert text(did("see", I, the(key))) == f"j' ai vu {article} {spelled} ."
        assert text(did("see", I, the(key, number="pl"))) == f"j' ai vu les {spelled}s ."
    else:
        assert spelled[0].isupper() and text(did("see", I, NP(key))) == f"j' ai vu {spelled} ."


def test_tail_is_spelled_apart():
    spelled = [french_words.spell(word) for word in lexicon.tail().values()]
    assert len(set(spelled)) == len(spelled)


def marks(plan: Clause, register: str = "subtitles") -> list:
    return french.realise(plan, register, Dice()).marks


def test_marks():
    found = marks(did("buy", THEY, it("lamp", "pl")))
    assert ("agreement", "achetées", ("acheté", "achetée", "achetés")) in found
    assert ("agreement", "les", ("le", "la")) in found and ("clitic position", "les", ("ont",)) in found
    found = marks(did("visit", I, SHE))
    assert ("case", "lui", ("le", "la", "les")) in found
    found = marks(did("read", SHE, the("book", "old.thing"), adverbs="often/medial"))
    assert ("tense", "lisait", ("a lu",)) in found and ("adjective position", "vieux", ("livre",)) in found
    assert ("word sense", "vieux", ("âgé",)) in found
    found = marks(did("work.person", HE, subordinate=("although", is_(HE, "sick"), True)))
    assert ("tense", "soit", ("est",)) in found
    found = marks(did("play.music", HE, the("violin")))
    assert ("word sense", "du violon", ("au violon",)) in found
    found = marks(did("see", I, the("bird", "beautiful")))
    assert ("agreement", "bel oiseau", ("beau oiseau", "beaux oiseau", "belle oiseau", "belles oiseau")) in found


def test_elided_pronoun_has_no_agreement_mark():
    assert not any(wanted == "l'" for kind, wanted, _ in marks(did("buy", I, it("lamp"))) if kind == "agreement")


@pytest.mark.parametrize("register", sampler.REGISTERS)
def test_random_plans(register):
    plans = random.Random(f"plans {register}")
    kinds = set()
    for number in range(3000):
        plan = sampler.sample(register, plans)
        first = french.realise(plan, register, random.Random(number))
        assert first == french.realise(plan, register, random.Random(number))
        words = first.words
        line = " ".join(words)
        assert all(words) and not any(" " in word for word in words) and words[-1] == ("?" if plan.question else ".")
        for wrong in (
            " de le ",
            " de les ",
            " à le ",
            " à les ",
            " de des ",
            " de du ",
            " de un ",
            " si il ",
            " ne ne ",
            ", ,",
        ):
            assert wrong not in f" {line} ".replace(" en train de ", " en train ")
        for word, following in pairwise(words):
            assert (word in french._ELIDED) <= (not french_words.vowel(following)), line
        padded = f" {line} "
        for kind, wanted, others in first.marks:
            kinds.add(kind)
            assert others and f" {wanted} " in padded
            if kind.endswith("position"):
                assert padded.count(f" {wanted} ") == padded.count(f" {others[0]} ") == 1
                assert words.index(wanted) < words.index(others[0])
            else:
                assert wanted not in others and len(set(others)) == len(others)
                assert not any(f" {other} " in padded for other in others)
    assert kinds == {"agreement", "tense", "case", "word sense", "adjective position", "clitic position"}
