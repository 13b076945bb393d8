"""The words of the small world: English forms, meaning classes, and a long tail of names and learned nouns.

A key is an English lemma, or "lemma.sense" where one English word has senses that other languages tell apart. Order
within a class is rank: the first words are the frequent ones. Each target language translates every key in its own module.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

_NOUNS = {
    # word, or word/plural; "." starts a sense
    "person": "man/men woman/women child/children doctor teacher student friend neighbour worker soldier driver farmer "
    "nurse lawyer judge writer singer painter cook baker guest customer owner girl boy mother father brother sister "
    "daughter son wife/wives husband king queen thief/thieves hunter sailor pilot engineer manager minister president "
    "officer witness prisoner tourist scientist journalist musician player gardener butcher servant",
    "animal": "dog cat horse bird cow sheep/sheep bear wolf/wolves fox mouse/mice rabbit goat duck bat.animal bee",
    "thing": "key table box bag chair lamp window door knife/knives cup bottle clock mirror basket rope hammer bat.club "
    "ring wheel mast umbrella phone computer camera picture flag",
    "text": "book letter.mail report newspaper article story poem contract song map list",
    "food": "bread apple cheese soup cake meat egg potato fish/fish salad",
    "drink": "water coffee tea milk wine beer juice",
    "vehicle": "car train bus/buses ship boat bicycle plane truck",
    "place": "house city/cities school village station hospital church museum factory/factories office market garden "
    "park kitchen room street bridge forest river mountain island castle hotel theatre library/libraries prison harbour "
    "tower field bank.river",
    "organisation": "company/companies government team bank.money party/parties army/armies court university/universities "
    "club agency/agencies",
    "event": "meeting war game.match concert election wedding journey/journeys exam trial strike",
    "idea": "problem question plan idea decision answer mistake price law secret rule reason promise truth danger",
    "game": "football chess tennis poker",
    "instrument": "piano guitar violin flute drum",
    "garment": "coat hat shirt dress/dresses shoe",
    "time": "morning evening week month year summer winter night",
}
FEMALE = frozenset(("woman", "girl", "mother", "sister", "daughter", "wife", "queen", "nurse"))
_ANY = "thing text food drink vehicle garment"
_MASS = "bread cheese meat soup fish salad water coffee tea milk wine beer juice football chess tennis poker".split()

# key [past participle] | subject classes | object classes | options
#   regular forms are derived; "+" doubles the last consonant
#   "-" no object, "any" = thing text food drink vehicle garment; options: that (clause complement), to (recipient),
#   motion (takes a goal or place), at:PREP (English preposition before the object), nopassive
_VERBS = """
be was been | person animal any place organisation event idea instrument | - |
see saw seen | person animal | person animal any place |
say said said | person organisation | - | that
know.fact knew known | person | - | that nopassive
know.person knew known | person | person | nopassive
think thought thought | person | - | that
believe | person | - | that
hope | person | - | that
hear heard heard | person | - | that
find found found | person animal | person animal any |
take took taken | person | thing text food drink garment |
give gave given | person organisation | any | to
buy bought bought | person organisation | any |
sell sold sold | person organisation | any | to
send sent sent | person organisation | text thing food garment | to
show showed shown | person | text any | to
write wrote written | person | letter.mail book report article story poem song contract list | to
read read read | person | book newspaper letter.mail report article story poem contract list |
eat.person ate eaten | person | food |
eat.animal ate eaten | animal | bread cheese apple meat fish potato egg |
drink.person drank drunk | person | drink |
drink.animal drank drunk | animal | water milk |
play.game | person team club | game |
play.music | person | instrument |
run.go ran run+ | person animal | - | motion
run.manage ran run+ | person | company hotel club factory agency museum theatre school bank.money team university |
go went gone | person | - | motion
come came come | person animal | - | motion
fly.bird flew flown | bird bat.animal bee duck | - | motion
fly.person flew flown | person | - | motion
sleep slept slept | person animal | - |
work.person | person | - | motion
work.machine | clock lamp phone computer camera tron vehicle | - |
live | person | - | motion
wait | person | person animal vehicle | at:for
look | person animal | person animal any | at:at nopassive
help | person organisation | person |
thank | person | person |
follow | person animal | person animal vehicle |
meet met met | person | person |
love | person | person animal |
visit | person | person city village school hospital church museum factory office market garden park island \
    castle hotel theatre library prison harbour tower ium |
leave.place left left | person | city house school village station hospital church museum factory office market \
    castle hotel theatre library island room party company army club university |
leave.thing left left | person | thing text garment bicycle car dog |
miss.person | person | person | nopassive
miss.vehicle | person | train bus plane ship | nopassive
catch.animal caught caught | person dog cat wolf fox bear | mouse rabbit bird fox fish duck bee bat.animal goat |
catch.thief caught caught | officer soldier hunter | thief prisoner |
save.person | person | person animal |
save.computer | person | text picture |
fire.dismiss | person organisation | worker cook driver manager engineer pilot teacher minister officer |
open.thing | person | door window box bottle bag |
open.place | person organisation | school hospital church museum factory office market park hotel theatre \
    library bridge concert meeting game.match trial |
close | person | door window box bottle bag book |
break.thing broke broken | person dog cat horse goat | window bottle cup lamp mirror chair tron |
break.rule broke broken | person organisation | law promise rule contract |
raise.child | man woman teacher farmer nurse mother father brother sister neighbour | child son daughter girl boy |
raise.price | organisation | price |
raise.question | person organisation | question problem |
draw.picture drew drawn | person | picture map |
draw.attract drew drawn | concert game.match trial wedding election strike story song picture | tourist guest \
    customer person |
hold.thing held held | person | key bag book letter.mail cup hat bottle picture flag rope lamp umbrella hammer \
    knife ring bat.club basket newspaper apple bread dog cat rabbit |
hold.event held held | organisation person | meeting concert election wedding trial exam game.match |
order.food | person | food drink |
order.thing | person organisation | table car chair lamp book clock mirror phone computer camera truck plane \
    bicycle umbrella bat.club tron garment |
change | person organisation event | plan decision law rule report contract story list answer |
build built built | person organisation | house school station hospital church museum factory bridge castle \
    hotel theatre library prison harbour tower ship car boat plane tron |
paint | person | house door window boat room bridge tower |
repair | person | vehicle clock table lamp window door chair phone computer camera umbrella bridge tower house tron |
wash | person | garment window car cup bus bottle knife truck dog child |
carry | person horse | thing text food drink garment child |
lose lost lost | person | thing text garment dog cat game.match war election trial |
win won won+ | person team party club government | game.match war election trial |
forget forgot forgotten+ | person | person idea text |
remember | person | person idea text |
understand understood understood | person | person idea text |
discuss | person organisation | idea text event |
accept | person organisation | idea text |
answer | person | question letter.mail |
use | person organisation | key phone computer camera car map knife rope hammer bicycle plan answer tron ite |
need | person organisation animal | any person | nopassive
watch | person animal | person animal game.match concert |
attack | soldier thief hunter prisoner dog bear wolf army | person animal city village |
fear | person animal | person animal war danger exam |
trust | person | person organisation |
cry.weep | person | - |
laugh | person | - |
sing sang sung | person bird | - |
smile | person | - |
arrive | person vehicle | - | motion
die | person animal | - |
grow.animal grew grown | child boy girl animal | - |
grow.plant grew grown | farmer gardener | potato apple |
begin began begun+ | event | - |
end.finish | event | - |
surprise | idea event text person | person |
belong | thing vehicle house castle hotel factory garment | person | at:to nopassive
dream | person | person animal idea | at:of nopassive
"""

_ADJECTIVES = {
    # adjective keys and the noun classes or nouns they go with
    "old.person": "person animal",
    "old.thing": "thing text vehicle place organisation garment instrument",
    "young": "person animal",
    "new": "thing text vehicle place organisation garment instrument idea",
    "big": "animal thing place vehicle organisation",
    "small": "animal thing place vehicle organisation text",
    "good": "person text food drink idea event instrument",
    "bad": "text food drink idea event hotel doctor driver cook teacher",
    "beautiful": "person place garment instrument picture song bird horse",
    "ugly": "animal place garment picture",
    "rich": "person organisation city",
    "poor.money": "person village city",
    "poor.quality": "answer plan decision report contract book story article poem coffee wine",
    "famous": "person text place event",
    "strong.body": "person animal army team",
    "strong.taste": "coffee tea beer wine cheese",
    "weak.body": "person animal army team",
    "weak.taste": "coffee tea beer",
    "heavy": "box bag table lamp hammer wheel bottle book coat basket",
    "light.weight": "box bag chair lamp bottle basket shoe",
    "light.colour": "coat hat shirt dress room kitchen house",
    "dark": "room street forest kitchen coat dress house church",
    "hard.difficult": "problem question decision exam trial journey game.match",
    "hard.firm": "bread cheese egg chair apple meat shoe",
    "easy": "question exam plan",
    "short.body": "man woman girl boy soldier",
    "short.time": "meeting journey concert trial strike war",
    "short.text": "text",
    "long": "text meeting journey concert trial strike war rope street bridge",
    "tall": "man woman girl boy soldier tower",
    "right.correct": "answer decision question",
    "wrong": "answer decision key door",
    "sharp.blade": "knife",
    "sharp.mind": "lawyer judge journalist student scientist question answer",
    "cold.thing": "water soup room beer milk juice coffee house kitchen church river meat tea",
    "cold.heart": "person",
    "warm": "bread soup room coat milk house kitchen coffee water",
    "red": "thing vehicle garment apple",
    "blue": "thing vehicle garment bird",
    "green": "thing vehicle garment apple",
    "white": "animal vehicle garment house",
    "black": "animal vehicle garment",
    "clean": "room street shirt cup kitchen window house hotel car coat dress",
    "dirty": "room street shirt cup kitchen window shoe dog house car coat dress",
    "happy": "person",
    "sad": "person story song poem",
    "tired": "person animal",
    "sick": "person animal",
    "clever": "person animal plan answer decision",
    "stupid": "person plan mistake decision question",
    "honest": "person answer",
    "brave": "person dog decision",
    "dangerous": "bear wolf dog street plan mountain river prisoner thief journey ium ite",
    "expensive": "thing vehicle garment instrument house hotel",
    "cheap": "thing vehicle garment hotel food",
    "important": "person text idea event organisation place",
    "secret": "plan meeting contract report letter.mail",
    "empty": "box bag bottle house room street bus train cup church theatre hotel library",
    "full": "box bag bottle room bus train theatre hotel basket",
    "slow": "train bus horse bicycle player",
    "fast": "train car horse boat player",
    "modern": "vehicle place organisation",
}

# key | kind | English places | weight;  kinds: manner, frequency, time:TENSE, degree, place, sentence
_ADVERBS = """
quickly manner medial,final
slowly manner medial,final
carefully manner medial,final
quietly manner medial,final
well manner final
badly.skill manner final
badly.much manner final
secretly manner medial
happily manner medial,final
angrily manner medial,final
immediately manner medial,final
gladly manner medial
patiently manner medial,final
often frequency medial
always frequency medial
sometimes frequency initial,medial
usually frequency initial,medial
rarely frequency medial
yesterday time:past initial,final
recently time:past initial,medial
suddenly time:past initial,medial
finally time:past initial,medial
today time:any initial,final
now time:present initial,final
tomorrow time:future initial,final
soon time:future medial,final
perhaps sentence initial
probably sentence medial
fortunately sentence initial
really sentence medial
already time:perfect medial
very degree -
too degree -
quite degree -
extremely degree -
here place final
there place final
"""

PREPOSITIONS = {
    # key: (English word, kind, noun classes it takes)
    "in": (
        "in",
        "place",
        "city village house school hospital church museum factory office garden park kitchen room street "
        "forest castle hotel theatre library prison harbour tower ium",
    ),
    "at": ("at", "place", "station market bridge university court"),
    "near": ("near", "place", "place"),
    "behind": ("behind", "place", "house school church museum factory station castle hotel theatre tower"),
    "in_front_of": ("in front of", "place", "house school church museum factory station castle hotel theatre"),
    "on": ("on", "place", "table chair island mountain ship bridge bank.river"),
    "under": ("under", "place", "table chair bridge"),
    "to": (
        "to",
        "goal",
        "city village house school hospital church museum factory office park station castle hotel theatre "
        "library market island harbour ium",
    ),
    "from": ("from", "source", "city village school hospital station office castle island market"),
    "with": ("with", "companion", "person animal"),
    "without": ("without", "companion", "person thing"),
    "during": ("during", "time", "meeting war game.match concert election wedding journey exam trial strike night"),
    "after": ("after", "time", "meeting war game.match concert election wedding journey exam trial strike"),
    "before": ("before", "time", "meeting war game.match concert election wedding journey exam trial strike"),
    "in_time": ("in", "time", "morning evening summer winter"),
    "about": ("about", "topic", "person animal idea event place"),  # modifies text nouns: "a book about the war"
    "for": ("for", "benefit", "person organisation"),
}
SUBORDINATORS = ("because", "when", "although", "if", "while", "before", "after")  # "if" with present or future
COORDINATORS = ("and", "but", "or")
DETERMINERS = ("the", "a", "this", "my", "your", "his", "her", "our", "their", "two", "three", "many", "every", "")
MODALS = ("can", "must", "want", "should")


@dataclass(frozen=True, slots=True)
class Noun:
    key: str
    cls: str
    singular: str
    plural: str
    mass: bool
    tail: TailWord | None = None


@dataclass(frozen=True, slots=True)
class TailWord:
    """A rare word: syllables that every language spells its own way, and an ending that fixes gender and inflection.

    `kind`: "forename_m", "forename_f" (ends in -a), "surname", "town", "ite" (a mineral), "ist" (a person), "logy" (a
    field of study), "ium" (a plant or building), "tron" (a device).
    """

    kind: str
    syllables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verb:
    key: str
    lemma: str
    third: str
    past: str
    participle: str
    ing: str
    subjects: tuple[str, ...]  # nouns' keys
    objects: tuple[str, ...]
    that: bool
    to: bool
    motion: bool
    at: str
    passive: bool


@dataclass(frozen=True, slots=True)
class AdverbEntry:
    key: str
    word: str
    kind: str
    tense: str
    positions: tuple[str, ...]


# open syllables and closing syllables of the tail, with their Cyrillic spelling
OPEN = {
    "ka": "ка", "lo": "ло", "mi": "ми", "ta": "та", "ve": "ве", "ro": "ро", "ni": "ни", "da": "да", "se": "се", "bo": "бо",
    "li": "ли", "ga": "га", "mo": "мо", "ra": "ра", "te": "те", "ko": "ко", "na": "на", "pe": "пе", "su": "су", "vi": "ви",
    "zo": "зо", "fa": "фа", "du": "ду", "ru": "ру", "be": "бе",
}  # fmt: skip
CLOSED = {
    "dan": "дан", "rek": "рек", "vin": "вин", "mor": "мор", "tel": "тел", "nis": "нис", "bur": "бур", "lan": "лан",
    "gar": "гар", "kol": "кол", "ser": "сер", "tov": "тов", "pan": "пан", "fed": "фед", "zin": "зин", "rom": "ром",
    "lub": "луб", "ket": "кет", "vas": "вас", "dor": "дор",
}  # fmt: skip
TAIL_COUNTS = {
    "forename_m": 150, "forename_f": 150, "surname": 900, "town": 500,
    "ite": 200, "ist": 150, "logy": 100, "ium": 120, "tron": 120,
}  # fmt: skip
TAIL_CLASS = {"ite": "thing", "ist": "person", "logy": "idea", "ium": "place", "tron": "thing"}


def sense(key: str) -> str:
    """The English word of a key: "play.game" -> "play"."""
    return key.split(".")[0]


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + ("es" if word in ("potato",) else "s")


@cache
def tail() -> dict[str, TailWord]:
    """Rare words by key (the English spelling), most frequent first within a kind; the same in every run."""
    rng = random.Random("the tail of the vocabulary")
    words: dict[str, TailWord] = {}
    core = {sense(k) for names in _NOUNS.values() for k in names.split()}
    for kind, count in TAIL_COUNTS.items():
        made = 0
        while made < count:
            length = rng.choice((1, 1, 2)) if kind.startswith("forename") else rng.choice((1, 2, 2))
            syllables = (*rng.choices(list(OPEN), k=length), rng.choice(list(CLOSED)))
            spelled = spell(TailWord(kind, syllables))
            if spelled not in words and spelled.lower() not in core:
                words[spelled] = TailWord(kind, syllables)
                made += 1
    return words


_LETTERS = dict(zip("abdefgiklmnoprstuvz", "абдефгиклмнопрстувз", strict=True))  # of further surnames, with their Cyrillic


@cache
def further_surnames(count: int) -> tuple[str, ...]:
    """Surnames beside those of `tail`, most frequent first: the first of a longer list are a shorter one."""
    rng, found = random.Random("further surnames"), {}
    while len(found) < count:
        opened = (rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice((2, 2, 3))))
        spelled = ("".join(opened) + rng.choice("klmnrst")).capitalize()
        if spelled not in tail():
            found[spelled] = None
    return tuple(found)


def surname(key: str) -> TailWord:
    """A surname of `tail`, or of `further_surnames`, which are one piece."""
    return tail().get(key) or TailWord("surname", (key.lower(),))


def cyrillic(syllable: str) -> str:
    """Cyrillic spelling of a syllable of a rare word, or letter by letter of a further surname."""
    return OPEN.get(syllable) or CLOSED.get(syllable) or "".join(_LETTERS[letter] for letter in syllable)


def spell(word: TailWord) -> str:
    """English spelling of a rare word, singular."""
    stem = "".join(word.syllables)
    suffix = {"forename_f": "a", "ite": "ite", "ist": "ist", "logy": "ology", "ium": "ium", "tron": "otron", "town": "burg"}
    text = stem + suffix.get(word.kind, "")
    return text.capitalize() if word.kind in ("forename_m", "forename_f", "surname", "town") else text


@cache
def nouns() -> dict[str, Noun]:
    """Common nouns by key, the tail's last within their class."""
    table = {}
    for cls, text in _NOUNS.items():
        for item in text.split():
            key, _, plural = item.partition("/")
            singular = sense(key)
            table[key] = Noun(key, cls, singular, plural or _plural(singular), singular in _MASS)
    for key, word in tail().items():
        if word.kind in TAIL_CLASS:
            table[key] = Noun(key, TAIL_CLASS[word.kind], key, _plural(key), False, word)
    return table


@cache
def names() -> dict[str, TailWord]:
    """Names by key: forenames, surnames and towns."""
    return {key: word for key, word in tail().items() if word.kind not in TAIL_CLASS}


def select(classes: str) -> tuple[str, ...]:
    """Noun keys of a list of classes and nouns."""
    chosen: list[str] = []
    for name in " ".join(_ANY if name == "any" else name for name in classes.split()).split():
        if name == "-":
            continue
        found = [key for key, n in nouns().items() if name in (n.cls, key, n.tail and n.tail.kind)]
        if not found:
            raise KeyError(f"no noun or class {name!r}")
        chosen += [key for key in found if key not in chosen]
    return tuple(chosen)


def _inflect(lemma: str, double: bool) -> tuple[str, str, str]:
    """Third person, past and -ing form of a regular verb."""
    stem = lemma + lemma[-1] if double else lemma
    if lemma.endswith("ee"):
        return lemma + "s", lemma + "d", lemma + "ing"
    if lemma.endswith("e"):
        return lemma + "s", lemma + "d", (lemma[:-2] + "y" if lemma.endswith("ie") else lemma[:-1]) + "ing"
    if lemma.endswith("y") and lemma[-2] not in "aeou":
        return lemma[:-1] + "ies", lemma[:-1] + "ied", lemma + "ing"
    third = lemma + ("es" if lemma.endswith(("s", "x", "ch", "sh", "o")) else "s")
    return third, stem + "ed", stem + "ing"


@cache
def verbs() -> dict[str, Verb]:
    """Verb senses by key."""
    table = {}
    for line in _VERBS.strip().splitlines():
        forms, subjects, objects, options = (part.strip() for part in line.split("|"))
        key, *irregular = forms.rstrip("+").split()
        lemma, options = sense(key), options.split()
        third, past, ing = _inflect(lemma, forms.endswith("+"))
        past, participle = irregular if irregular else (past, past)
        if lemma == "be":
            third, ing = "is", "being"
        at = next((o[3:] for o in options if o.startswith("at:")), "")
        table[key] = Verb(
            key, lemma, third, past, participle, ing,
            select(subjects), select(objects),
            "that" in options, "to" in options, "motion" in options, at,
            objects != "-" and "nopassive" not in options and at == "",
        )  # fmt: skip
    return table


@cache
def adjectives() -> dict[str, tuple[str, ...]]:
    """Noun keys that each adjective sense goes with."""
    return {key: select(classes) for key, classes in _ADJECTIVES.items()}


@cache
def adverbs() -> dict[str, AdverbEntry]:
    """Adverb senses by key."""
    table = {}
    for line in _ADVERBS.strip().splitlines():
        key, kind, positions = line.split()
        kind, _, tense = kind.partition(":")
        table[key] = AdverbEntry(key, sense(key), kind, tense, tuple(positions.split(",")))
    return table
