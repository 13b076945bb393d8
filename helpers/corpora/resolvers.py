"""Who or what in a dialogue is the same: coreference resolvers behind one interface, links that are stored."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from helpers.corpora.clusters import checked, distinct, flat
from helpers.corpora.files import text_of
from helpers.corpora.marked import MATCH, aligned, marked
from helpers.corpora.parsing import stanza_models
from helpers.corpora.rules import match, nearest, rule
from helpers.corpora.turns import WORD
from helpers.records import Cluster, Dialogue, Span
from helpers.study import StudyError, progress

Resolver = Callable[[Sequence[Dialogue]], list[tuple[Cluster, ...]]]
BY_RULES = {"rule": rule, "match": match, "nearest": nearest}
RESOLVERS = ("gold", *BY_RULES, "file:PATH", "stored:PATH", "stanza", "stanza:FOLDER")


def resolver(name: str) -> Resolver:
    """The resolver called `name`: takes dialogues, gives the clusters of each, in text order and `checked`.

    "gold": what the dialogue carries. "rule", "match", "nearest": see `helpers.corpora.rules`. "file:PATH": see
    `helpers.corpora.marked.marked`. "stored:PATH": see `stored`. "stanza" or "stanza:FOLDER": Stanza's English model, a turn
    being a sentence; it finds mentions in mentions too.
    """
    kind, colon, detail = name.partition(":")
    if kind == "gold" and not colon:
        return _gold
    if kind in BY_RULES and not colon:
        return _each(lambda dialogue: flat(BY_RULES[kind](dialogue)))
    if kind == "stanza" and (detail or not colon):
        return _each(_stanza(detail))
    if kind in ("file", "stored") and detail:
        return lambda dialogues: (marked if kind == "file" else stored)(dialogues, detail)
    raise StudyError(f"There is no resolver {name!r}: choose one of {', '.join(RESOLVERS)}.")


def _each(resolve: Callable[[Dialogue], Iterable[Iterable[Span]]]) -> Resolver:

    def run(dialogues: Sequence[Dialogue]) -> list[tuple[Cluster, ...]]:
        return [
            checked(distinct(resolve(dialogue)), len(dialogue.words), _where(dialogue, place))
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
    nlp = stanza_models(
        "tokenize,coref", folder, "`pip install peft`, or choose the resolver rule", tokenize_pretokenized=True
    )  # fmt: skip

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


def stored(dialogues: Sequence[Dialogue], source: str) -> list[tuple[Cluster, ...]]:
    """Clusters from a link file of Liu et al. 2021 (`helpers.corpora.files.text_of`): one row a dialogue, in order.

    A row is "tokens ##### ids ##### sources ##### targets ##### tokens in all": tokens of BART's byte-level BPE between spaces,
    and for each link the place of the first token of a mention and that of the nearest mention before it that is the same.
    Tokens and words are aligned by the longest common runs of words. A mention becomes the one word that holds its first token;
    where that word is not in the dialogue (cut off, or written otherwise), or is another mention already, it is dropped.
    A row with less than `MATCH` of its dialogue's words is refused.
    """
    rows = text_of(source).splitlines()
    if len(rows) != len(dialogues):
        raise StudyError(f"The file {source} has {len(rows)} rows for {len(dialogues)} dialogues: give those of the same set.")
    pairs = enumerate(zip(rows, dialogues, strict=True), 1)
    return [_stored(row, dialogue, f"row {number} of {source}") for number, (row, dialogue) in pairs]


def _stored(row: str, dialogue: Dialogue, where: str) -> tuple[Cluster, ...]:
    tokens, links = _row(row, where)
    text, starts = _decoded(tokens, where)
    words_there = list(WORD.finditer(text))
    same = aligned([word[0] for word in words_there], dialogue.words)
    share = len(same) / len(dialogue.words)
    if share < MATCH:
        raise StudyError(
            f"There are only {share:.0%} of its dialogue's words in {where}: give the links of the same set, in order."
        )
    holder = {place: number for number, word in enumerate(words_there) for place in range(word.start(), word.end())}
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
