"""Subword vocabularies, word alignment and token-budget batches."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from helpers import gpu
from helpers.records import Pair
from helpers.study import StudyError

PAD = "<pad>"
EOS = "</s>"
UNK = "<unk>"
PART = 10_000  # texts whose encodings are held at once
MARKS = "▁Ġ"  # how pretrained tokenizers write a word's start


def learn_vocabulary(texts: Iterable[str], size: int) -> Tokenizer:
    """Learn a byte-pair vocabulary; words start with the mark "▁", punctuation stands alone.

    The paper learns about 32,000 merges a language on lower-cased text, source and target apart (appendix B.1).
    """
    tokenizer = Tokenizer(models.BPE(unk_token=UNK))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace("\u00a0", " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation("isolated")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[PAD, EOS, UNK], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Subwords:
    """One side's subword vocabulary behind one face: ours, or a pretrained model's, of its `target` language or source.

    Ids of our own vocabulary, the special ones aside, start at `offset`: the other side's stand before them.
    """

    def __init__(self, tokenizer: Any, target: bool = False, offset: int = 0) -> None:
        self.tokenizer, self.target, self.offset = tokenizer, target, offset
        self.own = isinstance(tokenizer, Tokenizer)
        if self.own:
            tokenizer.encode_special_tokens = True  # a text that spells out "</s>" does not end there
            self.pad, self.eos = tokenizer.token_to_id(PAD), tokenizer.token_to_id(EOS)
            self.size = tokenizer.get_vocab_size()
            self._ids = [*range(offset, offset + self.size)]  # one object an id: a corpus takes a fifth of the room
        else:
            self.eos, self.size = tokenizer.eos_token_id, len(tokenizer)
            self.pad = self.eos if tokenizer.pad_token_id is None else tokenizer.pad_token_id  # masks say what is padding
            if self.pad is None:
                raise StudyError("The tokenizer has neither a padding nor an end token: set its pad_token.")

    @classmethod
    def load(cls, path: Path, offset: int = 0) -> Subwords:
        """Read a vocabulary that `learn_vocabulary` made."""
        try:
            return cls(Tokenizer.from_file(str(path)), offset=offset)
        except Exception as error:  # the library raises a bare Exception
            raise StudyError(f"Cannot read the vocabulary {path} ({error}): delete its folder to make it anew.") from None

    def encode(self, text: str) -> list[int]:
        """Token ids with the end-of-sentence id last (and whatever else a pretrained tokenizer adds)."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` for many sentences."""
        if self.own:
            parts = (texts[start : start + PART] for start in range(0, len(texts), PART))
            encodings = chain.from_iterable(map(self.tokenizer.encode_batch_fast, map(list, parts)))
            return [[*map(self._ids.__getitem__, one.ids), self.eos] for one in encodings]
        return self.tokenizer(text_target=list(texts))["input_ids"] if self.target else self.tokenizer(list(texts))["input_ids"]

    def decode_all(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """Text of each sequence, special tokens left out."""
        if self.own:
            return self.tokenizer.decode_batch([[i - self.offset for i in row if i > self.eos + self.offset] for row in ids])
        return self.tokenizer.batch_decode(list(ids), skip_special_tokens=True)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The tokens as strings, word starts marked with "▁" (or the tokenizer's own mark); of the other side's `UNK`."""
        if self.own:
            inner = (int(i) - self.offset if i > self.eos else int(i) for i in ids)
            return [(self.tokenizer.id_to_token(i) if i >= 0 else None) or UNK for i in inner]
        return [self.tokenizer.convert_ids_to_tokens(int(i)) for i in ids]

    def word_ids(self, text: str, words: Sequence[str]) -> list[int]:
        """For each token of `encode(text)` the word that holds its first character; -1 for tokens of no word.

        A word-start mark that is a token of its own belongs to the word that it starts. Tokenizers without offsets serve
        too, by the tokens' surfaces. It is a StudyError if the words do not occur in the text in their order.
        """
        owner = np.full(len(text), -1)
        start = 0
        for number, word in enumerate(words):
            at = text.find(word, start)
            if at < 0:
                raise StudyError(f"The word {word!r} is not in {text!r} after the words before it: parse the text anew.")
            owner[at : at + len(word)] = number
            start = at + len(word)
        if self.own:
            spans = [*self.tokenizer.encode(text).offsets, (0, 0)]
        elif self.tokenizer.is_fast:
            spans = self.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
        else:
            pieces = self.pieces(self.encode(text))
            spans = _find_bytes(text, pieces) or list(_find_pieces(text, pieces))
        owners = []
        for start, stop in spans:
            if stop < len(text) and text[start:stop].isspace():  # a mark of its own
                stop += 1
            inside = [int(w) for w in owner[start:stop] if w >= 0]
            owners.append(inside[0] if inside else -1)
        return owners


def _find_bytes(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Character span of each piece of a tokenizer of bytes, (0, 0) for what comes after; none if it is no such tokenizer."""
    raw = text.encode()
    if any(len(piece) != 1 for piece in pieces[: len(raw)]) or "".join(pieces[: len(raw)]).encode("latin-1", "replace") != raw:
        return []
    spans = [(at, at + 1) for at, letter in enumerate(text) for _ in letter.encode()]
    return spans + [(0, 0)] * (len(pieces) - len(spans))


def _find_pieces(text: str, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Character span of each piece, found word by word; (0, 0) for special tokens and unknown characters.

    A piece that starts with a mark starts the next word, so that what is lost of one word does not shift the others.
    """
    letters = [(c, at) for at, whole in enumerate(text) for c in unicodedata.normalize("NFKC", whole).lower()]
    plain = "".join(c for c, _ in letters)
    words = [match.span() for match in re.finditer(r"\S+", plain)]
    number, at, stop = -1, 0, 0
    for piece in pieces:
        surface = piece.lstrip(MARKS).lower()
        starts = surface != piece.lower() or (number < 0 and bool(surface) and plain.lstrip().startswith(surface))
        if starts and number + 1 < len(words):
            number += 1
            at, stop = words[number]
        start = plain.find(surface, at, stop)
        if start < 0 or number < 0:
            yield 0, 0
        elif not surface:  # a mark of its own: the space before the word, or the first word's first letter
            first = letters[at][1]
            yield max(0, first - 1), max(1, first)
        else:
            at = start + len(surface)
            yield letters[start][1], letters[at - 1][1] + 1


@dataclass
class Encoded:
    """Pairs as ids: `source` and `target` end with the end-of-sentence id; `words` as `Subwords.word_ids` or empty."""

    source: list[list[int]]
    target: list[list[int]]
    words: list[list[int]]

    def __len__(self) -> int:
        return len(self.source)

    def part(self, rows: Iterable[int]) -> Encoded:
        """Some of the pairs."""
        rows = list(rows)
        return Encoded(*([side[i] for i in rows] for side in (self.source, self.target, self.words)))


def encode(pairs: Sequence[Pair], source: Subwords, target: Subwords, limit: int = 0) -> Encoded:
    """Encode pairs, of which there must be some, none longer than the `limit` of tokens that the model takes (0 for any)."""
    if not pairs:
        raise StudyError("There are no sentence pairs to encode: check the corpus and its filters.")
    sources, targets = source.encode_all([p.source for p in pairs]), target.encode_all([p.target for p in pairs])
    for pair, ids, labels in zip(pairs, sources, targets, strict=True):
        if limit and max(len(ids), len(labels)) > limit:
            raise StudyError(
                f"A sentence of {max(len(ids), len(labels))} tokens is longer than the model's {limit} "
                f"({pair.source[:40]!r}…): filter the corpus by length or build the model with more positions."
            )
    words = [source.word_ids(p.source, p.words) if p.words else [] for p in pairs]
    return Encoded(sources, targets, words)


def sides(folder: Path) -> tuple[Subwords, Subwords]:
    """Source and target vocabulary of a prepared corpus, the target's ids after the source's."""
    source = Subwords.load(folder / "source.json")
    return source, Subwords.load(folder / "target.json", offset=source.size)


def _pad(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    lengths = np.fromiter(map(len, rows), int, len(rows))
    table = np.full((len(rows), lengths.max()), value)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), int, lengths.sum())
    return torch.from_numpy(table)


def collate(data: Encoded, rows: Sequence[int], pad: int) -> dict[str, torch.Tensor]:
    """One batch: `input_ids`, `attention_mask`, `labels` (-100 where padded), and what measures need beside them.

    `index` [B] holds each row's place in the corpus, `word_ids` [B, S] each source token's word (-1 for none).
    """
    batch = {
        "input_ids": _pad([data.source[i] for i in rows], pad),
        "labels": _pad([data.target[i] for i in rows], -100),
        "index": torch.tensor(list(rows)),
    }
    lengths = torch.tensor([len(data.source[i]) for i in rows])
    batch["attention_mask"] = (torch.arange(batch["input_ids"].shape[1]) < lengths[:, None]).long()
    if data.words and data.words[rows[0]]:
        batch["word_ids"] = _pad([data.words[i] for i in rows], -1)
    return batch


def rows_of_batches(data: Encoded, pad: int, budget: int, shuffle: int | None = None) -> list[list[int]]:
    """Group rows of like length so that source and target, padding included, hold at most `budget` tokens a batch.

    `shuffle` is the seed of the order of batches and of rows of equal length; None sorts by length alone.
    """
    rng = random.Random(f"batches {shuffle}")
    order = list(range(len(data)))
    if shuffle is not None:
        rng.shuffle(order)
    lengths = [np.fromiter(map(len, side), int, len(order))[order] for side in (data.target, data.source)]
    order = np.array(order)[np.lexsort(lengths)].tolist()  # stable, as the order of equal ones is drawn
    groups: list[list[int]] = [[]]
    widest = [0, 0]
    for row in order:
        wide = [max(widest[0], len(data.source[row])), max(widest[1], len(data.target[row]))]
        if groups[-1] and sum(wide) * (len(groups[-1]) + 1) > budget:
            groups.append([])
            wide = [len(data.source[row]), len(data.target[row])]
        groups[-1].append(row)
        widest = wide
    if shuffle is not None:
        rng.shuffle(groups)
    return groups


class Batches:
    """Batches of a corpus in corpus order of length, as often as one iterates: what measures take."""

    def __init__(self, data: Encoded, pad: int, budget: int = 4096, device: str | torch.device = "cpu") -> None:
        self.data, self.pad, self.device = data, pad, device
        self.groups = rows_of_batches(data, pad, budget)

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        for rows in self.groups:
            yield gpu.moved(collate(self.data, rows, self.pad), self.device)


def counts(data: Sequence[Sequence[int]], size: int) -> torch.Tensor:
    """How often each of `size` token ids occurs: int64 [size]."""
    return torch.from_numpy(np.bincount(np.fromiter(chain.from_iterable(data), int), minlength=size))


def epochs(
    data: Encoded, pad: int, budget: int, seed: int, device: str | torch.device = "cpu"
) -> Callable[[int], Iterator[dict[str, torch.Tensor]]]:
    """Epoch number -> its batches of at most `budget` tokens, in an order drawn by seed and number."""

    def epoch(number: int) -> Iterator[dict[str, torch.Tensor]]:
        for rows in rows_of_batches(data, pad, budget, seed * 1000 + number):
            yield gpu.moved(collate(data, rows, pad), device)

    return epoch
