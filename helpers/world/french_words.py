"""French words of the small world: lemmas by key, and how nouns, adjectives and verbs inflect.

In the tables "/" separates translations of one sense (the first is the usual one), "_" stands for a space.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from helpers.world import lexicon
from helpers.world.lexicon import names, nouns, sense, tail

# key=lemma; ":f" feminine, ":p" plural only; variants have one gender, so that a pronoun can take them up
_NOUNS = """
man=homme woman=femme:f child=enfant doctor=médecin/docteur teacher=professeur/enseignant student=étudiant friend=ami
neighbour=voisin worker=ouvrier/travailleur soldier=soldat/militaire driver=chauffeur/conducteur
farmer=agriculteur/fermier nurse=infirmière:f lawyer=avocat judge=juge/magistrat writer=écrivain/auteur
singer=chanteur painter=peintre cook=cuisinier baker=boulanger guest=invité customer=client owner=propriétaire
girl=fillette:f boy=garçon mother=mère:f father=père brother=frère sister=sœur:f daughter=fille:f son=fils
wife=épouse:f husband=mari/époux king=roi queen=reine:f thief=voleur/cambrioleur hunter=chasseur sailor=marin/matelot
pilot=pilote/aviateur engineer=ingénieur manager=directeur/gérant minister=ministre president=président
officer=policier/agent_de_police witness=témoin prisoner=prisonnier/détenu tourist=touriste
scientist=scientifique/chercheur journalist=journaliste/reporter musician=musicien player=joueur gardener=jardinier
butcher=boucher servant=serviteur/domestique
dog=chien cat=chat horse=cheval bird=oiseau cow=vache:f sheep=mouton bear=ours wolf=loup fox=renard mouse=souris:f
rabbit=lapin goat=chèvre:f duck=canard bat.animal=chauve-souris:f bee=abeille:f
key=clé/clef:f table=table:f box=boîte/caisse:f bag=sac chair=chaise:f lamp=lampe:f window=fenêtre:f door=porte:f
knife=couteau cup=tasse:f bottle=bouteille:f clock=horloge/pendule:f mirror=miroir basket=panier rope=corde:f
hammer=marteau bat.club=batte:f ring=bague:f wheel=roue:f mast=mât umbrella=parapluie phone=téléphone
computer=ordinateur camera=caméra:f picture=image/illustration:f flag=drapeau
book=livre/ouvrage report=rapport letter.mail=lettre:f newspaper=journal article=article story=histoire:f poem=poème
contract=contrat song=chanson:f map=carte:f list=liste:f
bread=pain apple=pomme:f cheese=fromage cake=gâteau soup=soupe:f meat=viande:f egg=œuf potato=pomme_de_terre:f
fish=poisson salad=salade:f
water=eau:f coffee=café tea=thé milk=lait wine=vin beer=bière:f juice=jus
car=voiture/automobile:f train=train bus=bus/autobus ship=navire/paquebot boat=bateau bicycle=vélo plane=avion
truck=camion
house=maison:f city=ville:f school=école:f village=village station=gare:f hospital=hôpital church=église:f
museum=musée factory=usine/fabrique:f office=bureau market=marché garden=jardin park=parc kitchen=cuisine:f
room=pièce/chambre:f street=rue:f bridge=pont forest=forêt:f river=rivière:f mountain=montagne:f island=île:f
castle=château hotel=hôtel theatre=théâtre library=bibliothèque:f prison=prison:f harbour=port tower=tour:f field=champ
bank.river=rive/berge:f
company=entreprise/société:f government=gouvernement team=équipe:f bank.money=banque:f party=parti army=armée:f
court=tribunal university=université:f club=club agency=agence:f
meeting=réunion:f war=guerre:f game.match=match concert=concert election=élection:f wedding=mariage journey=voyage/trajet
exam=examen trial=procès strike=grève:f
problem=problème question=question:f plan=plan/projet idea=idée:f decision=décision:f answer=réponse:f
mistake=erreur/faute:f price=prix/tarif law=loi:f secret=secret rule=règle:f reason=raison:f promise=promesse:f
truth=vérité:f danger=danger
football=football chess=échecs:p tennis=tennis poker=poker
piano=piano guitar=guitare:f violin=violon flute=flûte:f drum=tambour
coat=manteau hat=chapeau shirt=chemise:f dress=robe:f shoe=chaussure:f
morning=matin evening=soir week=semaine:f month=mois year=année:f summer=été winter=hiver night=nuit:f
"""
_PLURALS = {"œil": "yeux", "bus": "bus", "autobus": "autobus", "chauve-souris": "chauves-souris"}

# key=lemma; "<" stands before the noun; the sense by noun is chosen in `french`
_ADJECTIVES = """
old.person=âgé old.thing=<vieux/ancien young=<jeune new=<nouveau big=<grand small=<petit good=<bon bad=<mauvais
beautiful=<beau ugly=laid rich=riche poor.money=pauvre poor.quality=médiocre famous=célèbre/connu strong.body=fort
strong.taste=corsé weak.body=faible weak.taste=léger heavy=lourd light.weight=léger light.colour=clair dark=sombre
hard.difficult=difficile hard.firm=dur easy=facile/simple short.body=<petit short.time=<bref short.text=court long=<long
tall=grand right.correct=correct wrong=incorrect sharp.blade=tranchant sharp.mind=perspicace cold.thing=froid
cold.heart=distant warm=chaud red=rouge blue=bleu green=vert white=blanc black=noir clean=propre dirty=sale
happy=heureux/content sad=triste tired=fatigué/épuisé sick=malade/souffrant clever=intelligent/astucieux
stupid=stupide/idiot honest=honnête brave=courageux dangerous=dangereux expensive=cher/coûteux cheap=bon_marché
important=important secret=secret empty=vide full=plein slow=lent fast=rapide modern=moderne
big.thing=<grand/<gros dark.garment=foncé tall.tower=<haut wrong.noun=<mauvais new.unused=neuf new.recent=récent
"""
_FEMININES = {
    "vieux": "vieille", "beau": "belle", "nouveau": "nouvelle", "bon": "bonne", "long": "longue", "bref": "brève",
    "gros": "grosse", "blanc": "blanche", "secret": "secrète", "ancien": "ancienne", "neuf": "neuve",
    "bon marché": "bon marché",
}  # fmt: skip
LIAISON = {"vieux": "vieil", "beau": "bel", "nouveau": "nouvel"}

# key=[se_]verb[+fixed words][>preposition of the object]; a key with ":" is chosen by the object or the construction
_VERBS = """
be=être see=voir/apercevoir say=dire/déclarer know.fact=savoir know.person=connaître think=penser believe=croire
hope=espérer hear=entendre+dire find=trouver take=prendre give=donner/offrir buy=acheter sell=vendre
send=envoyer/expédier show=montrer/présenter write=écrire/rédiger read=lire eat.person=manger eat.animal=dévorer
drink.person=boire drink.animal=laper play.game=jouer>à play.music=jouer>de run.go=courir run.manage=diriger/gérer
go=aller come=venir fly.bird=voler fly.person=prendre+l'avion sleep=dormir work.person=travailler
work.machine=fonctionner/marcher live=vivre live:place=habiter/vivre wait=attendre look=regarder/contempler help=aider
thank=remercier follow=suivre meet=rencontrer/croiser love=aimer visit=visiter visit:person=rendre+visite>à
leave.place=quitter leave.thing=laisser miss.person=regretter miss.vehicle=rater/manquer catch.animal=attraper
catch.thief=arrêter/capturer save.person=sauver save.computer=sauvegarder/enregistrer fire.dismiss=licencier/renvoyer
open.thing=ouvrir open.place=inaugurer open.place:event=entamer close=fermer break.thing=casser/briser
break.rule=enfreindre break.rule:promise=rompre raise.child=élever raise.price=augmenter raise.question=soulever
draw.picture=dessiner draw.attract=attirer hold.thing=tenir hold.event=organiser order.food=demander
order.thing=commander change=modifier/changer build=construire/bâtir paint=peindre repair=réparer wash=laver/nettoyer
wash:person=laver carry=porter/transporter lose=perdre win=gagner/remporter forget=oublier remember=se_souvenir>de
understand=comprendre discuss=discuter>de discuss:passive=discuter accept=accepter/approuver answer=répondre>à
use=utiliser/employer need=avoir+besoin>de watch=observer watch:event=regarder attack=attaquer fear=craindre/redouter
trust=faire+confiance>à cry.weep=pleurer/sangloter laugh=rire sing=chanter smile=sourire arrive=arriver
die=mourir/décéder grow.animal=grandir grow.plant=cultiver begin=commencer/débuter end.finish=se_terminer/s'achever
surprise=surprendre/étonner belong=appartenir>à dream=rêver>de
"""

ADVERBS = {  # key: translations
    "quickly": ("rapidement", "vite"), "slowly": ("lentement", "sans hâte"), "carefully": ("soigneusement", "avec soin"),
    "quietly": ("discrètement", "sans bruit"), "well": ("bien",), "badly.skill": ("mal",), "badly.much": ("terriblement",),
    "secretly": ("secrètement", "en secret"), "happily": ("joyeusement", "gaiement"), "angrily": ("furieusement",
    "avec colère"), "immediately": ("immédiatement", "aussitôt"), "gladly": ("volontiers",), "patiently": ("patiemment",
    "avec patience"), "often": ("souvent", "fréquemment"), "always": ("toujours",), "sometimes": ("parfois", "quelquefois"),
    "usually": ("généralement", "habituellement"), "rarely": ("rarement",), "yesterday": ("hier",),
    "recently": ("récemment", "dernièrement"), "suddenly": ("soudain", "tout à coup"), "finally": ("finalement", "enfin"),
    "today": ("aujourd'hui",), "now": ("maintenant", "à présent"), "tomorrow": ("demain",), "soon": ("bientôt",),
    "perhaps": ("peut-être",), "probably": ("probablement", "sans doute"), "fortunately": ("heureusement", "par chance"),
    "really": ("vraiment",), "already": ("déjà",), "very": ("très",), "too": ("trop",), "quite": ("assez", "plutôt"),
    "extremely": ("extrêmement",), "here": ("ici",), "there": ("là-bas", "là"),
}  # fmt: skip
PREPOSITIONS = {
    "in": "dans", "at": "à", "near": "près de", "behind": "derrière", "in_front_of": "devant", "on": "sur", "under": "sous",
    "to": "à", "from": "de", "with": "avec", "without": "sans", "during": "pendant", "after": "après", "before": "avant",
    "in_time": "pendant", "about": "sur", "for": "pour",
}  # fmt: skip
SUBORDINATORS = {
    "because": "parce que", "when": "quand", "although": "bien que", "if": "si", "while": "pendant que",
    "before": "avant que", "after": "après que",
}  # fmt: skip
COORDINATORS = {"and": "et", "but": "mais", "or": "ou"}
MODALS = {"can": "pouvoir", "must": "devoir", "want": "vouloir", "should": "devoir"}
DETERMINERS = {  # masculine, feminine, plural; articles are made by `article`
    "this": ("ce", "cette", "ces"), "my": ("mon", "ma", "mes"), "your": ("ton", "ta", "tes"),
    "yours": ("votre", "votre", "vos"), "his": ("son", "sa", "ses"), "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"), "their": ("leur", "leur", "leurs"), "two": ("deux",) * 3, "three": ("trois",) * 3,
    "every": ("chaque", "chaque", "tous les"), "the": (), "a": (), "many": (), "": (),
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- spelling
_ENDINGS = {
    "forename_f": "a", "ite": "ite", "ist": "iste", "logy": "ologie", "ium": "ium", "tron": "otron", "town": "bourg",
}  # fmt: skip
_FEMININE_TAIL = frozenset(("forename_f", "ite", "logy"))
_VOWELS = frozenset("aeiouyâàéèêëîïôûœhAEIOUYÂÀÉÈÊËÎÏÔÛŒH")
_ASPIRATE = frozenset(("haut", "haute", "hauts", "hautes"))


def vowel(word: str) -> bool:
    """Whether a word makes the one before it elide: it begins with a vowel or a mute h."""
    return word[0] in _VOWELS and word not in _ASPIRATE


def _syllable(syllable: str, column: str = "french") -> str:
    spelled = lexicon.SYLLABLES.get(syllable, {}).get(column, "")
    return spelled or (syllable if column == "french" else "")


def spell(word) -> str:
    """French spelling of a rare word, singular."""
    *first, last = word.syllables
    ending = _ENDINGS.get(word.kind, "")
    opened = _syllable(last, "french_before_vowel") if ending and word.kind != "town" else ""
    text = "".join(_syllable(s) for s in first) + (opened or _syllable(last)) + ending
    return text.capitalize() if word.kind in ("forename_m", "forename_f", "surname", "town") else text


@cache
def name(key: str) -> str:
    """A forename, surname or town in French."""
    return spell(names()[key])


def surname(key: str) -> str:
    """A surname in French."""
    return spell(lexicon.surname(key))


def _table(text: str) -> dict[str, list[str]]:
    return {key: value.split("/") for key, value in (item.split("=") for item in text.split())}


# ---------------------------------------------------------------------------------------------------------------- nouns
class Noun(NamedTuple):
    """A noun: translations as (singular, plural), grammatical gender ("m", "f"), class, and whether plural only."""

    variants: tuple[tuple[str, str], ...]
    gender: str
    cls: str
    plural_only: bool


def _plural(noun: str) -> str:
    head, space, rest = noun.partition(" ")
    if head in _PLURALS:
        head = _PLURALS[head]
    elif head.endswith("al"):
        head = head[:-2] + "aux"
    elif head.endswith(("eau", "eu")):
        head += "x"
    elif not head.endswith(("s", "x", "z")):
        head += "s"
    return head + space + rest


@cache
def noun_table() -> dict[str, Noun]:
    """Nouns by key, those of the tail too."""
    table = {}
    for item in _NOUNS.split():
        key, lemma = item.split("=")
        lemma, _, flag = lemma.partition(":")
        variants = tuple((v, _plural(v)) for v in lemma.replace("_", " ").split("/"))
        if key in nouns():
            table[key] = Noun(variants, "f" if flag == "f" else "m", nouns()[key].cls, flag == "p")
    for key, noun in nouns().items():
        if noun.tail:
            lemma = spell(noun.tail)
            gender = "f" if noun.tail.kind in _FEMININE_TAIL else "m"
            table[key] = Noun(((lemma, _plural(lemma)),), gender, noun.cls, False)
    return table


@cache
def gender(key: str) -> str:
    """Gender ("m", "f") of a noun or name; of none, the masculine."""
    noun = noun_table().get(key)
    if noun:
        return noun.gender
    return "f" if key in tail() and tail()[key].kind in _FEMININE_TAIL else "m"


# ----------------------------------------------------------------------------------------------------------- adjectives
class Adjective(NamedTuple):
    """An adjective: masculine, feminine, masculine plural, feminine plural, and whether it stands before the noun."""

    forms: tuple[str, str, str, str]
    before: bool


@cache
def agreeing(masculine: str) -> tuple[str, str, str, str]:
    """The four forms of an adjective or participle: masculine, feminine, and their plurals."""
    feminine = _FEMININES.get(masculine)
    if feminine is None:
        if masculine.endswith("e"):
            feminine = masculine
        elif masculine.endswith("eux"):
            feminine = masculine[:-1] + "se"
        elif masculine.endswith("er"):
            feminine = masculine[:-2] + "ère"
        elif masculine == "dû":
            return "dû", "due", "dus", "dues"
        else:
            feminine = masculine + "e"
    if feminine == masculine and " " in masculine:
        return (masculine,) * 4
    many = masculine if masculine[-1] in "sx" else masculine + ("x" if masculine.endswith("eau") else "s")
    return masculine, feminine, many, feminine + "s"


@cache
def adjective_table() -> dict[str, tuple[Adjective, ...]]:
    """Translations of adjectives by key."""
    return {
        key: tuple(Adjective(agreeing(v.lstrip("<").replace("_", " ")), v[0] == "<") for v in values)
        for key, values in _table(_ADJECTIVES).items()
    }


# ---------------------------------------------------------------------------------------------------------------- verbs
class Verb(NamedTuple):
    """A verb: infinitive, fixed words after it ("besoin"), preposition of its object ("", "à", "de"), reflexive."""

    infinitive: str
    fixed: tuple[str, ...]
    preposition: str
    reflexive: bool


@cache
def verb_table() -> dict[str, tuple[Verb, ...]]:
    """Translations of verbs by key."""
    table = {}
    for key, values in _table(_VERBS).items():
        options = []
        for value in values:
            value, _, preposition = value.partition(">")
            value, *fixed = value.replace("l'avion", "l'+avion").split("+")
            infinitive = value.removeprefix("se_").removeprefix("s'")
            options.append(Verb(infinitive, tuple(fixed), preposition, infinitive != value))
        table[key] = tuple(options)
    return table


WITH_BE = frozenset(("aller", "venir", "arriver", "partir", "mourir", "décéder"))
# infinitive: first and third person singular, stem of "nous", third person plural, stem of the future, participle
_IRREGULAR = {
    line.split()[0]: line.split()[1:]
    for line in """
    apercevoir aperçois aperçoit apercev aperçoivent apercevr aperçu
    boire bois boit buv boivent boir bu
    connaître connais connaît connaiss connaissent connaîtr connu
    construire construis construit construis construisent construir construit
    courir cours court cour courent courr couru
    craindre crains craint craign craignent craindr craint
    croire crois croit croy croient croir cru
    devoir dois doit dev doivent devr dû
    dire dis dit dis disent dir dit
    dormir dors dort dorm dorment dormir dormi
    enfreindre enfreins enfreint enfreign enfreignent enfreindr enfreint
    faire fais fait fais font fer fait
    lire lis lit lis lisent lir lu
    mourir meurs meurt mour meurent mourr mort
    offrir offre offre offr offrent offrir offert
    ouvrir ouvre ouvre ouvr ouvrent ouvrir ouvert
    partir pars part part partent partir parti
    peindre peins peint peign peignent peindr peint
    pouvoir peux peut pouv peuvent pourr pu
    prendre prends prend pren prennent prendr pris
    rire ris rit ri rient rir ri
    rompre romps rompt romp rompent rompr rompu
    savoir sais sait sav savent saur su
    suivre suis suit suiv suivent suivr suivi
    tenir tiens tient ten tiennent tiendr tenu
    venir viens vient ven viennent viendr venu
    vivre vis vit viv vivent vivr vécu
    voir vois voit voy voient verr vu
    vouloir veux veut voul veulent voudr voulu
    écrire écris écrit écriv écrivent écrir écrit
    """.strip().splitlines()
}
_PREFIXED = {
    "découvrir": "ouvrir", "comprendre": "prendre", "surprendre": "prendre", "appartenir": "tenir", "souvenir": "venir",
    "sourire": "rire",
}  # fmt: skip
_FIXED_FORMS = {
    ("être", "present"): "suis es est sommes êtes sont", ("avoir", "present"): "ai as a avons avez ont",
    ("aller", "present"): "vais vas va allons allez vont", ("être", "subjunctive"): "sois sois soit soyons soyez soient",
    ("avoir", "subjunctive"): "aie aies ait ayons ayez aient",
    ("aller", "subjunctive"): "aille ailles aille allions alliez aillent",
    ("vouloir", "subjunctive"): "veuille veuilles veuille voulions vouliez veuillent",
}  # fmt: skip
_FUTURES = {"être": "ser", "avoir": "aur", "aller": "ir", "envoyer": "enverr", "renvoyer": "renverr"}
_SUBJUNCTIVES = {"savoir": "sach", "faire": "fass", "pouvoir": "puiss"}
_IMPERATIVES = {"être": "sois", "avoir": "aie", "savoir": "sache", "aller": "va"}


def _weak(stem: str) -> str:
    """The stem of an -er verb before a mute e: achet- achèt-, envoy- envoi-."""
    if stem.endswith("oy"):
        return stem[:-1] + "i"
    if stem[-2] in "eé" and stem[-1] not in "aeiouéy":
        return stem[:-2] + "è" + stem[-1]
    return stem


@cache
def _principal(infinitive: str) -> tuple[list[str], str, str, str]:
    """Six forms of the present, stem of the imperfect, stem of the future, participle."""
    if infinitive in _PREFIXED:
        base = _PREFIXED[infinitive]
        prefix = infinitive[: -len(base)]
        forms, *others = _principal(base)
        return ([prefix + form for form in forms], *(prefix + other for other in others))
    if infinitive == "être":
        return _FIXED_FORMS["être", "present"].split(), "ét", "ser", "été"
    if infinitive == "avoir":
        return _FIXED_FORMS["avoir", "present"].split(), "av", "aur", "eu"
    if infinitive in _IRREGULAR:
        first, third, stem, they, future, participle = _IRREGULAR[infinitive]
        second = first + "s" if first.endswith("e") else first
        you = {"dire": "dites", "faire": "faites"}.get(infinitive, stem + "ez")
        return [first, second, third, stem + "ons", you, they], stem, future, participle
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        weak, soft = _weak(stem), stem
        if stem[-1] in "gc":
            soft = stem + "e" if stem[-1] == "g" else stem[:-1] + "ç"
        present = [weak + "e", weak + "es", weak + "e", soft + "ons", stem + "ez", weak + "ent"]
        if infinitive == "aller":
            present = _FIXED_FORMS["aller", "present"].split()
        # céder keeps its é in the future, acheter does not keep its e
        future = infinitive if stem[-2] == "é" else weak + "er"
        return present, soft, _FUTURES.get(infinitive, future), stem + "é"
    if ending == "ir":
        ends = ("is", "is", "it", "issons", "issez", "issent")
        return [stem + end for end in ends], stem + "iss", infinitive, stem + "i"
    ends = ("s", "s", "", "ons", "ez", "ent")
    return [stem + end for end in ends], stem, infinitive[:-1], stem + "u"


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Six forms (je, tu, il, nous, vous, ils) of the "present", "imperfect", "future", "conditional" or "subjunctive"."""
    if fixed := _FIXED_FORMS.get((infinitive, tense)):
        return tuple(fixed.split())
    present, stem, future, _ = _principal(infinitive)
    if tense == "present":
        return tuple(present)
    if tense == "future":
        return tuple(future + end for end in ("ai", "as", "a", "ons", "ez", "ont"))
    if tense == "conditional":
        return tuple(future + end for end in ("ais", "ais", "ait", "ions", "iez", "aient"))
    before_i = stem
    if infinitive.endswith(("ger", "cer")):
        before_i = infinitive[:-2]
    if tense == "imperfect":
        return tuple((before_i if end[0] == "i" else stem) + end for end in ("ais", "ais", "ait", "ions", "iez", "aient"))
    strong = _SUBJUNCTIVES.get(infinitive)
    weak = strong or present[5][:-3]
    plural = strong or before_i
    return weak + "e", weak + "es", weak + "e", plural + "ions", plural + "iez", weak + "ent"


@cache
def participle(infinitive: str) -> tuple[str, str, str, str]:
    """The past participle: masculine, feminine, and their plurals."""
    return agreeing(_principal(infinitive)[3])


@cache
def imperative(infinitive: str) -> str:
    """The form said to one person one calls "tu"."""
    if infinitive in _IMPERATIVES:
        return _IMPERATIVES[infinitive]
    form = _principal(infinitive)[0][1]
    return form[:-1] if form.endswith("es") else form


# --------------------------------------------------------------------------------------------------------- other senses
@cache
def siblings(key: str) -> tuple[str, ...]:
    """Keys of the other senses of an ambiguous English word."""
    word = sense(key)
    if word == key:
        return ()
    tables = (noun_table(), adjective_table(), verb_table(), ADVERBS)
    table = next((t for t in tables if key in t), {})
    return tuple(other for other in table if sense(other) == word and other != key and ":" not in other)
