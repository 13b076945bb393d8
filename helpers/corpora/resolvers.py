"""Who or what in a dialogue is the same: coreference resolvers behind one interface, stored links, GUM, corrupted clusters.

A mention is a half-open span of words, a cluster two mentions or more (see `helpers.corpora.dialogues`).
"""

from __future__ import annotations

import ast
import lzma
import random
import re
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from pathlib import Path

from helpers import study
from helpers.corpora.dialogues import TURN, Cluster, Dialogue, Span
from helpers.study import StudyError, progress

Resolver = Callable[[Sequence[Dialogue]], list[tuple[Cluster, ...]]]

RESOLVERS = ("gold", "rule", "stored:PATH", "stanza", "stanza:FOLDER", "fastcoref", "fastcoref:MODEL")
FASTCOREF = "biu-nlp/f-coref"
MATCH = 0.8  # share of a dialogue's words that its stored row must have

# --- text ------------------------------------------------------------------------------------------------------------

_CLITIC = r"['’](?:s|m|d|re|ve|ll)(?![^\W_])"
_WORD = re.compile(rf"(?<=[^\W_]){_CLITIC}|[^\W_]+(?:(?!{_CLITIC})['’-][^\W_]+)*|\S", re.IGNORECASE)
_LABEL = re.compile(r"\s*([^:]{1,40}?)\s*:(?=\s|$)")


def split(text: str) -> list[str]:
    """Words and marks of natural text.

    A word is a run of letters and digits, with the hyphens and apostrophes inside ("don't", "stand-up"); 's, 'm, 'd, 're, 've
    and 'll are words of their own. Every other mark stands alone, so that emoticons fall apart.
    """
    return _WORD.findall(text)


def from_text(dialogue: str, summary: str, origin: str) -> Dialogue:
    """A natural dialogue, case kept, without gold clusters.

    Parameters
    ----------
    dialogue : str
        A turn a line, "Name: speech". A line without a name continues the turn before; the first one's speaker is "?".
    summary : str
        The target.

    Returns
    -------
    Dialogue
        One without turns if there is no word in `dialogue`.
    """
    turns: list[tuple[list[str], list[str]]] = []
    for line in dialogue.splitlines():
        found = _LABEL.match(line)
        name = split(found[1].strip("# ")) if found else []
        if name:
            turns.append((name, split(line[found.end() :])))
        elif turns:
            turns[-1][1].extend(split(line))
        elif line.strip():
            turns.append((["?"], split(line)))
    return _dialogue(turns, summary, origin)


def _dialogue(turns: Iterable[tuple[Sequence[str], Sequence[str]]], summary: str, origin: str) -> Dialogue:
    """A dialogue of turns (words of the speaker's name, words of the speech)."""
    words, places = [], []
    for name, speech in turns:
        start = len(words)
        words += [TURN, *name, ":", *speech]
        places.append((start, start + len(name) + 2, len(words)))
    return Dialogue(" ".join(words), summary, tuple(words), tuple(places), origin=origin)


# --- clusters --------------------------------------------------------------------------------------------------------


def checked(clusters: Iterable[Iterable[Span]], length: int, where: str) -> tuple[Cluster, ...]:
    """Clusters in text order, those of one mention left out.

    Parameters
    ----------
    clusters : iterable of iterables of (start, stop)
    length : int
        Words of the dialogue.
    where : str
        What errors call the dialogue, "row 12 of samsum test".

    Raises
    ------
    StudyError
        If a cluster has no mention, a mention no word or a word outside of the text, or two mentions share a word.
    """
    done = sorted(tuple(sorted((int(start), int(stop)) for start, stop in cluster)) for cluster in clusters)
    if () in done:
        raise StudyError(f"A cluster in {where} has no mention: leave it out.")
    before = (0, 0)
    for start, stop in sorted(mention for cluster in done for mention in cluster):
        if start < 0 or stop > length:
            raise StudyError(f"The mention {(start, stop)} in {where} is outside of its {length} words: correct the clusters.")
        if start >= stop:
            raise StudyError(f"The mention {(start, stop)} in {where} has no word: correct the clusters.")
        if start < before[1]:
            raise StudyError(f"The mentions {before} and {(start, stop)} in {where} share a word: keep one of them.")
        before = start, stop
    return tuple(cluster for cluster in done if len(cluster) > 1)


def _flat(clusters: Iterable[Iterable[Span]]) -> list[list[Span]]:
    """Clusters without mentions that share a word with a shorter one, or with one as long that comes before."""
    clusters = [list(dict.fromkeys(cluster)) for cluster in clusters]
    ranked = sorted((stop - start, start, place) for place, cluster in enumerate(clusters) for start, stop in cluster)
    taken: set[int] = set()
    kept: list[list[Span]] = [[] for _ in clusters]
    for size, start, place in ranked:
        if taken.isdisjoint(range(start, start + size)):
            taken.update(range(start, start + size))
            kept[place].append((start, start + size))
    return [cluster for cluster in kept if cluster]


def first_words(clusters: Iterable[Cluster]) -> tuple[Cluster, ...]:
    """Clusters whose mentions are cut to their first word, as stored links have them."""
    return tuple(tuple((start, start + 1) for start, _ in cluster) for cluster in clusters)


def spoken(dialogue: Dialogue, clusters: Iterable[Cluster]) -> tuple[Cluster, ...]:
    """Clusters without the mentions in speakers' labels; those left with one mention are dropped.

    For comparison with gold that marks what is said alone, such as GUM's.
    """
    said = {word for _, speech, stop in dialogue.turns for word in range(speech, stop)}
    cut = (tuple(mention for mention in cluster if mention[0] in said) for cluster in clusters)
    return tuple(cluster for cluster in cut if len(cluster) > 1)


def corrupt(all_clusters: Sequence[Sequence[Cluster]], rate: float, seed: int) -> list[tuple[Cluster, ...]]:
    """Clusters with errors, more of them the higher the rate.

    In this order: each cluster is cut in two, between two of its mentions drawn at random, with probability `rate`; each
    mention is dropped with probability `rate` / 2; each cluster that there is now, but the last, is joined to the next with
    probability `rate` / 2, second parts coming after all others. What is left with one mention is dropped. The draws
    do not depend on the rate: a higher one only adds cuts, drops and joins.

    Parameters
    ----------
    all_clusters : sequence of sequences of Cluster
        Of each dialogue; a dialogue's draws come from the seed and its place here.
    rate : float
        From 0 (nothing changes) to 1.

    Raises
    ------
    StudyError
        If the rate is not from 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise StudyError(f"The rate of corruption must be from 0 to 1, not {rate}.")
    done = []
    for place, clusters in enumerate(all_clusters):
        draw, firsts, seconds = random.Random(f"corrupt {seed} {place}"), [], []
        for cluster in clusters:
            cut, where, *joins = draw.random(), draw.randrange(1, max(2, len(cluster))), draw.random(), draw.random()
            kept = [draw.random() >= rate / 2 for _ in cluster]
            edge = where if cut < rate else len(cluster)
            for parts, part, join in zip((firsts, seconds), (range(edge), range(edge, len(cluster))), joins, strict=True):
                if part:
                    parts.append(([cluster[mention] for mention in part if kept[mention]], join < rate / 2))
        joined, follows = [], False
        for part, join in firsts + seconds:
            joined = [*joined[:-1], joined[-1] + part] if follows else [*joined, part]
            follows = join
        done.append(tuple(sorted(tuple(sorted(cluster)) for cluster in joined if len(cluster) > 1)))
    return done


def shuffled(all_clusters: Sequence[Sequence[Cluster]], seed: int) -> list[tuple[Cluster, ...]]:
    """A control: every dialogue keeps its mentions and the sizes of its clusters, but mentions are dealt out at random."""
    done = []
    for place, clusters in enumerate(all_clusters):
        mentions = [mention for cluster in clusters for mention in cluster]
        random.Random(f"shuffle {seed} {place}").shuffle(mentions)
        ends = list(accumulate((len(cluster) for cluster in clusters), initial=0))
        dealt = (tuple(sorted(mentions[start:stop])) for start, stop in pairwise(ends))
        done.append(tuple(sorted(dealt)))
    return done


# --- resolvers -------------------------------------------------------------------------------------------------------


def resolver(name: str) -> Resolver:
    """The resolver called `name`: takes dialogues, gives the clusters of each, in text order and `checked`.

    Parameters
    ----------
    name : str
        "gold": what the dialogue carries. "rule": see `rule`. "stored:PATH": see `stored`. "stanza" or "stanza:FOLDER":
        Stanza's English model, a turn being a sentence. "fastcoref" or "fastcoref:MODEL": Otmazgin et al. 2022. Of mentions
        that share words, these two keep the shortest.

    Raises
    ------
    StudyError
        For an unknown name, or a package, model or file that is not there; when used, for dialogues without gold clusters, or
        stored rows that do not fit the dialogues.
    """
    kind, colon, detail = name.partition(":")
    if kind == "gold" and not colon:
        return _gold
    if kind == "rule" and not colon:
        return _each(rule)
    if kind == "stanza" and (detail or not colon):
        return _each(_stanza(detail))
    if kind == "fastcoref" and (detail or not colon):
        return _each(_fastcoref(detail or FASTCOREF))
    if kind == "stored" and detail:
        return lambda dialogues: stored(dialogues, detail)
    raise StudyError(f"There is no resolver {name!r}: choose one of {', '.join(RESOLVERS)}.")


def _each(resolve: Callable[[Dialogue], Iterable[Iterable[Span]]]) -> Resolver:
    """A resolver of many dialogues from one of one dialogue."""

    def run(dialogues: Sequence[Dialogue]) -> list[tuple[Cluster, ...]]:
        return [
            checked(_flat(resolve(dialogue)), len(dialogue.words), _where(dialogue, place))
            for place, dialogue in enumerate(progress(dialogues, "resolving"))
        ]

    return run


def _where(dialogue: Dialogue, place: int) -> str:
    return f"dialogue {place} of {dialogue.origin or 'the dialogues'}"


def _gold(dialogues: Sequence[Dialogue]) -> list[tuple[Cluster, ...]]:
    done = []
    for place, dialogue in enumerate(dialogues):
        where = _where(dialogue, place)
        if not dialogue.clusters:
            raise StudyError(f"There are no gold clusters in {where}: choose another resolver, such as rule.")
        done.append(checked(dialogue.clusters, len(dialogue.words), where))
    return done


def _stanza(folder: str) -> Callable[[Dialogue], list[list[Span]]]:
    import stanza

    options = {"processors": "tokenize,coref", "tokenize_pretokenized": True, "verbose": False}
    if folder:
        options |= {"dir": folder, "download_method": None}
    try:
        nlp = stanza.Pipeline("en", **options)
    except Exception as error:  # missing, half-downloaded and foreign model files fail in as many ways
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise StudyError(
            f"Stanza's coreference model cannot be loaded from {folder or 'its own folder or the Hub'} ({reason}): "
            "run `pip install peft` and "
            "`python -c \"import stanza; stanza.download('en', processors='tokenize,coref')\"` where there is a network, "
            "or choose the resolver rule."
        ) from None

    def resolve(dialogue: Dialogue) -> list[list[Span]]:
        sentences = [list(dialogue.words[start + 1 : stop]) for start, _, stop in dialogue.turns]
        chains = nlp(sentences).coref
        return from_stanza([[(m.sentence, m.start_word, m.end_word) for m in chain.mentions] for chain in chains], dialogue)

    return resolve


def from_stanza(chains: Iterable[Iterable[tuple]], dialogue: Dialogue) -> list[list[Span]]:
    """Clusters of a dialogue from chains of (turn, first word, word after the last), words of a turn counted after `TURN`.

    Mentions that are not there (places that are no numbers) are left out.
    """
    return [
        [(dialogue.turns[turn][0] + 1 + start, dialogue.turns[turn][0] + 1 + stop) for turn, start, stop in real]
        for chain in chains
        if (real := [mention for mention in chain if isinstance(mention[1], int)])
    ]


def _fastcoref(model: str) -> Callable[[Dialogue], list[list[Span]]]:
    try:
        from fastcoref import FCoref
    except ImportError:
        raise StudyError(
            "The package fastcoref is not installed: run `pip install fastcoref` in an environment of its own, "
            "or choose the resolver rule."
        ) from None
    try:
        nlp = FCoref(model_name_or_path=model)
    except Exception as error:  # a missing network, model and spaCy tokeniser fail in as many ways
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:120]
        raise StudyError(
            f"The fastcoref model {model} cannot be loaded ({reason}): fetch it where there is a network, name its folder as "
            "fastcoref:FOLDER, or choose the resolver rule."
        ) from None

    def resolve(dialogue: Dialogue) -> list[list[Span]]:
        text, places = plain(dialogue)
        (found,) = nlp.predict(texts=[text])
        return from_characters(found.get_clusters(as_strings=False), places)

    return resolve


def plain(dialogue: Dialogue) -> tuple[str, list[tuple[int, int, int]]]:
    """The text of a dialogue, a turn a line without `TURN`, and of each word in it (place in `words`, start, end character)."""
    text, places = "", []
    for start, _, stop in dialogue.turns:
        for word in range(start + 1, stop):
            places.append((word, len(text), len(text) + len(dialogue.words[word])))
            text += dialogue.words[word] + (" " if word < stop - 1 else "\n")
    return text, places


def from_characters(clusters: Iterable[Iterable[tuple[int, int]]], places: Sequence[tuple[int, int, int]]) -> list[list[Span]]:
    """Clusters of half-open character spans as spans of words, `places` as from `plain`.

    A mention has all words that it touches; one that touches none is left out.
    """
    done = []
    for cluster in clusters:
        touched = [[word for word, start, end in places if start < stop and end > begin] for begin, stop in cluster]
        if any(touched):
            done.append([(words[0], words[-1] + 1) for words in touched if words])
    return done


# --- stored links ----------------------------------------------------------------------------------------------------


def stored(dialogues: Sequence[Dialogue], source: str) -> list[tuple[Cluster, ...]]:
    """Clusters from the link files of Liu et al. 2021: one row a dialogue, in order.

    A row is "tokens ##### ids ##### sources ##### targets ##### tokens in all": tokens of BART's byte-level BPE between spaces,
    and for each link the place of the first token of a mention and that of the nearest mention before it that is the same.
    Tokens and words are aligned by the longest common runs of words. A mention becomes the one word that holds its first token;
    where that word is not in the dialogue (cut off, or written otherwise), or is another mention already, it is dropped.

    Parameters
    ----------
    source : str
        A file, or "PATH.tar.xz:MEMBER"; a relative path that does not exist is looked for below HEADS_DATA_ROOT.

    Raises
    ------
    StudyError
        If the file or member cannot be read, a row is broken, there are not as many rows as dialogues, or a row has less than
        80 % of its dialogue's words.
    """
    rows = _text(source).splitlines()
    if len(rows) != len(dialogues):
        raise StudyError(f"The file {source} has {len(rows)} rows for {len(dialogues)} dialogues: give those of the same set.")
    pairs = enumerate(zip(rows, dialogues, strict=True), 1)
    return [_stored(row, dialogue, f"row {number} of {source}") for number, (row, dialogue) in pairs]


def _stored(row: str, dialogue: Dialogue, where: str) -> tuple[Cluster, ...]:
    tokens, links = _row(row, where)
    text, starts = _decoded(tokens, where)
    found = list(_WORD.finditer(text))
    matcher = SequenceMatcher(None, [word[0] for word in found], dialogue.words, autojunk=False)
    same = {ours + step: theirs + step for ours, theirs, size in matcher.get_matching_blocks() for step in range(size)}
    share = len(same) / len(dialogue.words)
    if share < MATCH:
        raise StudyError(
            f"There are only {share:.0%} of its dialogue's words in {where}: give the links of the same set, in order."
        )
    holder = {place: number for number, word in enumerate(found) for place in range(word.start(), word.end())}
    word_of = {token: same.get(holder.get(starts[token])) for link in links for token in link}
    groups: list[set[int]] = []
    for link in links:
        touching = [group for group in groups if not group.isdisjoint(link)]
        groups = [group for group in groups if group.isdisjoint(link)] + [set(link).union(*touching)]
    taken, clusters = {None}, []
    for group in sorted(groups, key=min):
        words = {word_of[token] for token in group} - taken
        taken |= words
        clusters.append([(word, word + 1) for word in words])
    return checked([cluster for cluster in clusters if cluster], len(dialogue.words), where)


def _row(row: str, where: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of a row and its links (token, token before)."""
    cells = row.split(" ##### ")
    if len(cells) != 5:
        raise StudyError(f"There are {len(cells)} columns in {where}, not 5: it is no file of links, or it is damaged.")
    tokens = cells[0].split(" ")
    try:
        sources, targets = (ast.literal_eval(cell) for cell in cells[2:4])
        links = list(zip(sources, targets, strict=True))
    except (ValueError, SyntaxError, TypeError):
        raise StudyError(f"The links in {where} are not two lists of the same length: the file is damaged.") from None
    wrong = [link for link in links if not all(isinstance(at, int) and 0 <= at < len(tokens) for at in link)]
    if wrong:
        raise StudyError(f"The link {wrong[0]} in {where} leads outside of its {len(tokens)} tokens: the file is damaged.")
    return tokens, links


def _decoded(tokens: Sequence[str], where: str) -> tuple[str, list[int]]:
    """The text of byte-level tokens, and of each token the place of its first character that is no space."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    byte_of = {letter: byte for byte, letter in bytes_to_unicode().items()}
    try:
        pieces = [bytes(byte_of[letter] for letter in token) for token in tokens]
    except KeyError as error:
        raise StudyError(f"The character {error} in {where} is not of byte-level tokens: the file is damaged.") from None
    raw = b"".join(pieces)
    ends = accumulate((len(piece) for piece in pieces), initial=0)
    blanks = (len(piece) - len(piece.lstrip()) for piece in pieces)
    starts = [len(raw[:end].decode("utf-8", "ignore")) + blank for end, blank in zip(ends, blanks, strict=False)]
    return raw.decode("utf-8", "ignore"), starts


def _text(source: str) -> str:
    """The text of a plain file or of "PATH.tar.xz:MEMBER"."""
    path, colon, member = source.partition(".tar.xz:")
    path = Path(path + ".tar.xz" if colon else path)
    if not path.exists() and study.data_root():
        path = Path(study.data_root()) / path
    try:
        if not colon:
            return path.read_text("utf-8")
        with tarfile.open(path) as archive:
            return archive.extractfile(member).read().decode("utf-8")
    except (KeyError, AttributeError):
        raise StudyError(f"There is no file {member} in {path}: look with `tar tf`.") from None
    except UnicodeDecodeError:
        raise StudyError(f"The file {source} is not UTF-8 text: fetch it again.") from None
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise StudyError(f"The file {path} is damaged or cut off: fetch it again.") from None
    except OSError as error:
        raise StudyError(f"The file {path} cannot be read: {error.strerror}.") from None


# --- the rule --------------------------------------------------------------------------------------------------------

_I, _YOU = {*"i im me my mine myself".split()}, {*"you your yours yourself u ur ya".split()}
_PRONOUNS = dict.fromkeys("he him his himself".split(), "m") | dict.fromkeys("she her hers herself".split(), "f")
_QUOTES = {'"': None, "“": True, "”": False}
_IT, _POSSESSIVES = {*"it its itself".split()}, {*"my your his her its our their".split()}
_KIN = dict.fromkeys(
    "brother father dad daddy son husband uncle nephew grandfather grandpa boyfriend man boy guy".split(), "m"
) | dict.fromkeys(
    "sister mother mom mum mommy mummy daughter wife aunt niece grandmother grandma girlfriend woman girl lady".split(), "f"
) | dict.fromkeys(
    "friend boss teacher doctor neighbour neighbor baby child kid cousin colleague partner parent professor dentist".split(), ""
)  # fmt: skip
_TITLES = {"mr": "m", "mister": "m", "sir": "m", "mrs": "f", "ms": "f", "miss": "f", "madam": "f", "dr": "", "prof": ""}
_MEN = {
    *"""adam alan alex andrew anthony ben bill bob brian charles charlie chris dan daniel dave david dick ed edward
    eric frank fred gary george greg harry henry ian jack jacob jake james jason jeff jerry jim joe john jonathan josh
    joshua justin keith kevin larry luke mark martin matt matthew max michael mike nathan nick oliver oscar patrick
    paul pete peter phil ralph richard rob robert ron ryan sam scott simon stephen steve steven ted thomas tim todd
    tom tony victor vincent walter william""".split()
}
_WOMEN = {
    *"""abby agnes alice alison amy angie ann anne annie ashley becky beth betty carol caroline catherine charlotte
    chloe christine claire daisy diane doris ellen elizabeth emily emma erin esther eve gail hannah heather helen
    irene jane janet jean jennifer jenny jess jill joan joyce judy julie june karen kate katherine kathy kelly kim
    kitty laurie linda lily liz lucy lynn margaret marie mary meg megan molly nancy nicole pam peggy rachel rosie ruth
    sally sarah sharon sherry sophie sue susan suzanne tracy vivian wendy zoe""".split()
}
_STOP = {
    *"""a about above after again ago all also always am an and another any anyone anything are around as ask at away
    back be because been before being both but by call called came can can't cannot could did didn't do does doesn't
    doing don't done down each else even ever every everyone everything few for from gave get getting give go goes
    going gone gonna got had has have having hello her here hers hey hi him his how i if in into is isn't it its just
    know last later let like lot many may maybe me mean might mine more most much must my need never next no nobody
    not nothing now of off oh ok okay on once one only or other our out over own please really said same saw say see
    she should since so some someone something soon sorry still such take tell than thank thanks that the their them
    then there these they thing things think this those though through till time to today told tomorrow tonight too
    two um uh under until up us very wait want wanted was way we well went were what when where which while who whole
    whose why will with without won't would wow yeah yep yes yesterday yet you your yours morning afternoon evening
    night day weekend week month year u ur ya im myself yourself himself herself itself""".split()
}  # fmt: skip
_DATES = {
    *"monday tuesday wednesday thursday friday saturday sunday january february march april june july august september".split(),
    *"october november december christmas easter english french german american british lol omg".split(),
}
_ADJECTIVES = {
    *"""bad beautiful best better big black blue brown cheap cold cool cute different easy entire expensive fancy
    favorite favourite fine first free full funny good great green grey happy hard hot huge important large little
    long lovely main nice old older only perfect poor pretty real red rich second short silly small special strange
    stupid sweet tall terrible tiny warm weird white whole wrong yellow young younger""".split()
}
_DETERMINERS = {*"the a an this that these those".split()}
_PARENTS = {*"mom mum mommy mummy dad daddy grandma grandpa".split()}
_GREETINGS = {*"hi hello hey dear thanks ok okay yes no sorry bye please morning".split()}


@dataclass(eq=False)
class _Entity:
    """Somebody (also whatever has a name) or something spoken of."""

    person: bool
    gender: str = ""
    noun: str = ""
    owner: _Entity | None = None
    mentions: list[Span] = field(default_factory=list)


def rule(dialogue: Dialogue) -> list[list[Span]]:
    """A small resolver that knows speakers, turns, gender and repeated words; it needs no model.

    1. A label is the speaker; "?" is nobody.
    2. "I", "me", "my" are the speaker of the turn; "you", "your" whom the turn has last addressed (rule 4), else the speaker
       of the nearest turn before, or else after, by another. Both are left inside quotation marks, as is the "you" of "you
       know" before a mark.
    3. A word of a speaker's name is the speaker. Other names are capitalised words that do not begin a sentence, are no date
       or function word, and stand in lower case nowhere; a known forename, or such a name, may begin a sentence too. In a
       dialogue without capitals they are known forenames, and words right after one of kinship ("my brother") that do not end
       in -s, -ed or -ing; others are missed. Neighbouring names are one; those that share a word are the same.
    4. A speaker's name is an address if it follows a greeting or comma before a mark, or follows a mark before a comma or
       "!".
    5. Gender is that of words of kinship, titles, some 170 forenames, and any other name on -a (a woman); for others it is
       that of the first pronoun that takes them.
    6. "he", "she" are the person last spoken of whose gender fits, leaving out the speaker and "you", labels and addresses;
       if there is none, somebody new.
    7. A noun phrase is a determiner or possessive, adjectives, and a noun; its mention begins after a possessive, which is
       one of its own. It is what was last called by that noun with the same owner, or with none on one side; with "a", "an"
       always something new. A word of kinship is a person; before a name it is no mention, and a new name is the person it
       means.
    8. "it", "its" are the thing last spoken of, if there is one. "we", "they" and single "this", "that" are left.

    Returns
    -------
    list of list of (start, stop)
        Clusters, also of one mention, no two of which share a word.
    """
    return _Reader(dialogue).read()


class _Reader:
    """What `rule` knows while it reads a dialogue."""

    def __init__(self, dialogue: Dialogue):
        self.turns, self.written = dialogue.turns, dialogue.words
        self.words = [word.lower() for word in dialogue.words]
        self.entities: list[_Entity] = []
        self.recent: list[_Entity] = []  # the one last spoken of at the end
        self.named: dict[str, _Entity] = {}  # by every word of a name
        self.speakers: dict[tuple[str, ...], _Entity] = {}
        self.by_turn = [self._speaker(tuple(self.words[start + 1 : speech - 1])) for start, speech, _ in self.turns]
        self.capitals, self.names = self._names()

    def read(self) -> list[list[Span]]:
        """The mentions of every entity."""
        for number, (start, speech, stop) in enumerate(self.turns):
            self.stop, self.quoted = stop, False
            self.me, self.you = self.by_turn[number], self._other(number)
            self.owned, self.owner, self.kin = False, None, None  # what a word before says of a noun, or of a name
            if self.me:
                self.me.mentions.append((start + 1, speech - 1))
            place = speech
            while place < stop:
                entity, end = self._at(place)
                if entity:
                    entity.mentions.append((place, end))
                place = end
        return [entity.mentions for entity in self.entities if entity.mentions]

    def _at(self, place: int) -> tuple[_Entity | None, int]:
        """Who or what is mentioned from a place on, and where the mention ends."""
        word = self.words[place]
        owned, owner, kin = self.owned, self.owner, self.kin
        self.owned, self.owner, self.kin = False, None, None
        if self._is_name(place):
            return self._name(place, kin)
        if owned or word in _DETERMINERS or word in _PARENTS:
            entity, end = self._phrase(place, owner if owned else self.me if word in _PARENTS else None)
            if entity and self.kin and end < self.stop and self._is_name(end):
                return None, end
            if entity:
                return self._spoken_of(entity), end
        entity = None
        if word in _I or word in _YOU:
            filler = word == "you" and self._word(place + 1) == "know" and not self._word(place + 2).isalnum()
            entity = None if self.quoted or filler else self.me if word in _I else self.you
        elif word in _PRONOUNS:
            entity = self._spoken_of(self._person(_PRONOUNS[word]))
        elif word in _IT:
            entity = next((thing for thing in reversed(self.recent) if not thing.person), None)
        elif word in _QUOTES:
            self.quoted = not self.quoted if word == '"' else _QUOTES[word]
        self.owned, self.owner = word in _POSSESSIVES, entity
        return entity, place + 1

    def _word(self, place: int) -> str:
        return self.words[place] if place < self.stop else "."

    def _new(self, *facts) -> _Entity:
        self.entities.append(_Entity(*facts))
        return self.entities[-1]

    def _spoken_of(self, entity: _Entity) -> _Entity:
        self.recent.append(entity)
        return entity

    # -------------------- speakers and names

    def _speaker(self, name: tuple[str, ...]) -> _Entity | None:
        if name == ("?",):
            return None
        if name not in self.speakers:
            self.speakers[name] = self._new(True, _gender(name))
            for part in name:
                if len(part) > 1 and part not in _STOP and part not in _TITLES:
                    self.named.setdefault(part, self.speakers[name])
        return self.speakers[name]

    def _other(self, number: int) -> _Entity | None:
        """The speaker of the nearest turn before, or else after, by another."""
        near = (*reversed(self.by_turn[:number]), *self.by_turn[number + 1 :])
        return next((other for other in near if other and other is not self.by_turn[number]), None)

    def _names(self) -> tuple[bool, set[str]]:
        """Whether what is said has words in capitals, and words (in lower case) that are names."""
        said = [place for _, speech, stop in self.turns for place in range(speech, stop)]
        capital = [place for place in said if self.written[place][0].isupper() and not self.written[place].isupper()]
        if not capital:
            after = {self.words[place] for place in said if self.words[place - 1] in _KIN}
            after = {word for word in after if word.isalpha() and not word.endswith(("s", "ed", "ing"))}
            return False, (after | (_MEN | _WOMEN) & {self.words[place] for place in said}) - _STOP
        lower = {self.words[place] for place in said if self.written[place].islower()}
        inside = (place for place in capital if self._before(place)[-1].isalnum() or self._before(place) == ",")
        names = {self.words[place] for place in inside} | {self.words[place] for place in capital} & (_MEN | _WOMEN)
        return True, names - lower - _STOP - _DATES - set(_TITLES)

    def _before(self, place: int) -> str:
        """The word before, the point of a title being passed over."""
        point = self.words[place - 1] == "." and self.words[place - 2] in _TITLES
        return self.words[place - 2 if point else place - 1]

    def _is_name(self, place: int) -> bool:
        word = self.words[place]
        if word not in self.names and word not in self.named:
            return False
        return not self.capitals or self.written[place][0].isupper() or (word in self.named and word in _MEN | _WOMEN)

    def _name(self, place: int, kin: _Entity | None) -> tuple[_Entity | None, int]:
        end = place + 1
        while end < self.stop and self._is_name(end):
            end += 1
        parts = self.words[place:end]
        entity = next((self.named[part] for part in parts if part in self.named), None)
        if entity is None and kin:
            entity = kin
        elif entity is None:
            entity = self._new(True, _TITLES.get(self._before(place)) or _gender(parts))
        if kin and not entity.gender:
            entity.gender = kin.gender
        for part in parts:
            self.named.setdefault(part, entity)
        if entity in self.speakers.values() and self._addressed(place, end):
            self.you = entity
        else:
            self._spoken_of(entity)
        return entity, end

    def _addressed(self, place: int, end: int) -> bool:
        before, after = self.words[place - 1], self._word(end)
        if before in _GREETINGS or before == ",":
            return not after[-1].isalnum()
        return not before[-1].isalnum() and after in (",", "!")

    # -------------------- pronouns and noun phrases

    def _person(self, gender: str) -> _Entity:
        for entity in reversed(self.recent):
            if entity.person and entity.gender in ("", gender) and entity not in (self.me, self.you):
                entity.gender = gender
                return entity
        return self._new(True, gender)

    def _phrase(self, place: int, owner: _Entity | None) -> tuple[_Entity | None, int]:
        """The noun phrase at a place: with its determiner, or right after a possessive."""
        at = place + (self.words[place] in _DETERMINERS)
        while self._word(at) in _ADJECTIVES:
            at += 1
        noun = self._word(at)
        if not noun.isalpha() or noun in _STOP or self._is_name(at):
            return None, place + 1
        entity = None
        if self.words[place] not in ("a", "an"):
            same = (e for e in reversed(self.entities) if e.noun == noun and (e.owner is owner or not (e.owner and owner)))
            entity = next(same, None)
        entity = entity or self._new(noun in _KIN, _KIN.get(noun, ""), noun, owner)
        self.kin = entity if entity.person else None
        return entity, at + 1


def _gender(name: Sequence[str]) -> str:
    """Of a name, "" if its words say nothing."""
    for part in name:
        for said, parts in (("m", _MEN), ("f", _WOMEN)):
            if part in parts or _TITLES.get(part, _KIN.get(part)) == said:
                return said
    return "f" if name[0].endswith("a") and len(name[0]) > 1 else ""


# --- GUM -------------------------------------------------------------------------------------------------------------

_GENRES = re.compile(r"(?:.*/)?GUM_(?:conversation|interview)_\w+\.conllu")
_ENTITY = re.compile(r"\([^()]+\)?|[^()]+\)")


def gum(root: str | Path) -> list[Dialogue]:
    """Conversations and interviews of GUM (Zeldes 2017) with their gold coreference, by name.

    A turn is a run of sentences of one speaker ("?" where none is named), its words the syntactic words of the treebank; the
    target is the first summary. Clusters are those of what is said, labels being no mentions, and hold nested mentions as in
    GUM: they are for scoring beside `spoken`, and the resolver "gold" refuses them. Mentions in several parts are left out, and
    the second of two mentions of the same words.

    Parameters
    ----------
    root : path
        A folder that holds gum/gum.tar.xz or, unpacked, gum/dep/*.conllu: HEADS_DATA_ROOT.

    Raises
    ------
    StudyError
        If neither is there, the archive is damaged, or a file is no CoNLL-U with entities.
    """
    folder = Path(root) / "gum" / "dep"
    if folder.is_dir():
        texts = {path.name: _text(str(path)) for path in folder.glob("*.conllu") if _GENRES.fullmatch(path.name)}
    else:
        texts = _archived(folder.parent / "gum.tar.xz")
    if not texts:
        raise StudyError(
            f"There is no conversation or interview of GUM in {folder.parent}: fetch gum.tar.xz, see data/README.md."
        )
    return [_document(Path(name).stem, text) for name, text in sorted(texts.items())]


def _archived(path: Path) -> dict[str, str]:
    try:
        with tarfile.open(path) as archive:
            wanted = (member for member in archive if _GENRES.fullmatch(member.name))
            return {Path(member.name).name: archive.extractfile(member).read().decode("utf-8") for member in wanted}
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeDecodeError):
        raise StudyError(f"The archive {path} is damaged or cut off: fetch it again.") from None
    except OSError as error:
        raise StudyError(f"The archive {path} cannot be read: {error.strerror}; see data/README.md.") from None


def _document(name: str, text: str) -> Dialogue:
    """A document of GUM as a dialogue."""
    turns: list[tuple[list[str], list[str], list[str]]] = []  # name, words, entities at each word
    summary, speaker = "", "?"
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# meta::summary1 = "):
            summary = re.sub(r"^\([^()]*\) *", "", line.partition(" = ")[2])
        elif line.startswith("# speaker = "):
            speaker = line.partition(" = ")[2].strip() or "?"
        elif not line.strip():
            speaker = "?"
        elif not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 10:
                raise StudyError(f"Line {number} of {name} has {len(cells)} columns, not the 10 of CoNLL-U.")
            if not cells[0].isdigit():
                continue
            if not turns or turns[-1][0] != [speaker]:
                turns.append(([speaker], [], []))
            entity = re.search(r"(?:^|\|)Entity=([^|]*)", cells[9])
            turns[-1][1].append(cells[1])
            turns[-1][2].append(entity[1] if entity else "")
    if not turns:
        raise StudyError(f"There is no word in {name}: it should be CoNLL-U.")
    dialogue = _dialogue(((label, words) for label, words, _ in turns), summary, name)
    said = [word for _, speech, stop in dialogue.turns for word in range(speech, stop)]
    marks = [mark for *_, marks in turns for mark in marks]
    dialogue.clusters = _entities(zip(said, marks, strict=True), name)
    return dialogue


def _entities(marked: Iterable[tuple[int, str]], name: str) -> tuple[Cluster, ...]:
    """Clusters from the brackets at each word, "(1-person-...", "1)" or "(1-person-...)"."""
    opened: dict[str, list[int]] = {}
    clusters: dict[str, list[Span]] = {}
    seen: set[Span] = set()
    for word, brackets in marked:
        for bracket in _ENTITY.findall(brackets):
            key = bracket.strip("()").partition("-")[0]
            if "[" in key:
                continue
            if bracket[0] == "(":
                opened.setdefault(key, []).append(word)
            if bracket[-1] == ")":
                if not opened.get(key):
                    raise StudyError(f"The entity {key} in {name} ends without a beginning: the file is damaged.")
                span = opened[key].pop(), word + 1
                if span not in seen:
                    seen.add(span)
                    clusters.setdefault(key, []).append(span)
    left = next((key for key, starts in opened.items() if starts), None)
    if left is not None or not clusters:
        raise StudyError(f"The file {name} has no entities, or ends inside the entity {left}: it is damaged.")
    return tuple(sorted(tuple(sorted(cluster)) for cluster in clusters.values() if len(cluster) > 1))
