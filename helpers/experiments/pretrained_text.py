"""What the experiments on pretrained models read: passages of WikiText, sentences with gold trees, and the models."""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from helpers import models, study
from helpers.corpora.describe import Arc, arcs_of
from helpers.corpora.files import numbered_lines
from helpers.corpora.parsing import Parse, read_conllu
from helpers.corpora.tokens import Subwords, counts
from helpers.heads import causal
from helpers.study import StudyError

Batch = dict[str, torch.Tensor]
TREES = ("ewt", "gum")
WORDS = (5, 40)  # least and most words of a sentence
ROWS, SENTENCES = 4, 16  # passages and sentences of a batch

_SPACED = [  # WikiText's spaces around marks, and the text without them
    (r" @([-,.])@ ", r"\1"), (r" ([.,;:!?%)\]])", r"\1"), (r"([(\[$£€]) ", r"\1"), (r" ('s|'re|'ve|'ll|'d|'m|n't|')\b", r"\1"),
    (r'" ([^"]*) "', r'"\1"'), (r" (['’])(?= |$)", r"\1"), (r" – (?=\d)", "–"),
]  # fmt: skip


# --- models ----------------------------------------------------------------------------------------------------------


@cache
def pretrained(name: str, seed: int | None = None) -> tuple[Any, Any]:
    """A pretrained model, whose weights do not learn, and its tokenizer; with a seed its shape with random weights instead."""
    model, tokenizer = models.load(name)
    if seed is not None:
        torch.manual_seed(seed)
        model = type(model)(model.config).eval()
    return model.float().requires_grad_(False).to(models.device()), tokenizer


# --- passages --------------------------------------------------------------------------------------------------------


def passages(name: str, split: str, count: int, length: int) -> torch.Tensor:
    """Passages of WikiText, one an article as far as there are articles: token ids [count, length].

    A passage is so many tokens from an article's beginning, without a start token; where there are more passages than
    articles, the next ones of each article follow.

    Parameters
    ----------
    name : str
        A model, whose tokenizer reads the text.
    split : str
        "valid" or "test".

    Raises
    ------
    StudyError
        If the text is not there, or too short.
    """
    tokenizer = pretrained(name)[1]
    ids = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in articles(split)]
    rounds = range(max(map(len, ids), default=0) // length)
    found = [one[turn * length : (turn + 1) * length] for turn in rounds for one in ids if len(one) >= (turn + 1) * length]
    if len(found) < count:
        raise StudyError(f"WikiText ({split}) has {len(found)} passages of {length} tokens, not {count}: ask for fewer.")
    return torch.tensor(found[:count], device=models.device())


@cache
def articles(split: str) -> list[str]:
    """Articles of WikiText as plain text: no headings, spaces as people write them, no sentence with an unknown word.

    Raises
    ------
    StudyError
        If the text is not there.
    """
    found: list[list[str]] = []
    for _, line in numbered_lines(_root() / "wikitext" / f"wiki.{split}.txt.xz"):
        line = line.strip()
        if re.fullmatch(r"= [^=].*[^=] =", line):
            found.append([])
        elif found and line and not line.startswith("="):
            found[-1] += [joined(sentence) for sentence in re.split(r"(?<= [.!?]) ", line) if "<unk>" not in sentence]
    return [" ".join(sentences) for sentences in found if sentences]


def joined(text: str) -> str:
    """Text of WikiText with spaces as people write them."""
    for spaced, plain in _SPACED:
        text = re.sub(spaced, plain, text)
    return text


def batches(ids: torch.Tensor, rows: int = ROWS) -> list[Batch]:
    """Passages as batches for measures and losses: `input_ids`, `attention_mask`, `labels`."""
    return [{"input_ids": part, "attention_mask": torch.ones_like(part), "labels": part.clone()} for part in ids.split(rows)]


def _root() -> Path:
    root = study.data_root()
    if not root:
        raise StudyError("The texts of the pretrained models are in no folder yet: set HEADS_DATA_ROOT, see data/README.md.")
    return Path(root)


# --- sentences -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentences:
    """Sentences with gold trees as a model reads them.

    Attributes
    ----------
    batches : list of dict
        `input_ids`, `attention_mask`, `special_tokens_mask`, `word_ids` (-1 for tokens of no word), `index`.
    arcs : list of lists of (dependent, head, relation)
        Of each sentence, word positions.
    counts : tensor [vocabulary]
        How often each token stands in other text: the train part of EWT.
    """

    batches: list[Batch]
    arcs: list[list[Arc]]
    counts: torch.Tensor


def sentences(name: str, trees: str, count: int) -> Sentences:
    """Sentences of a treebank, evenly from all of it, with the words that the tokens of a model belong to.

    A sentence is read as it is written. A decoder gets its start token before it, which is no word, as are [CLS] and [SEP].
    Of a token that covers parts of two words the first one counts.

    Raises
    ------
    StudyError
        If the treebank is not there, or has too few sentences.
    """
    model, tokenizer = pretrained(name)
    subwords, start = Subwords(tokenizer), [tokenizer.bos_token_id] if causal(model) else []
    found = []
    usable = [parse for parse in treebank(trees) if WORDS[0] <= len(parse.words) <= WORDS[1]]
    if len(usable) < count:
        raise StudyError(f"The treebank {trees} has {len(usable)} sentences to measure on, not {count}: ask for fewer.")
    chosen = [usable[place * len(usable) // count] for place in range(count)]
    for place, parse in enumerate(chosen):
        ids, words = start + subwords.encode(parse.text), [-1] * len(start) + subwords.word_ids(parse.text, parse.words)
        special = [int(token in tokenizer.all_special_ids) for token in ids]
        found.append({"input_ids": ids, "attention_mask": [1] * len(ids), "special_tokens_mask": special, "word_ids": words})
        found[-1]["index"] = place
    frequent = counts(subwords.encode_all([parse.text for parse in treebank("ewt", "train")]), len(tokenizer))
    parts = [padded(found[place : place + SENTENCES]) for place in range(0, count, SENTENCES)]
    return Sentences(parts, arcs_of(chosen), frequent)


def padded(rows: Sequence[Mapping[str, Any]]) -> Batch:
    """Sentences as a batch, padding on the right."""
    width, found = max(len(row["input_ids"]) for row in rows), {}
    for name, value in {"input_ids": 0, "attention_mask": 0, "special_tokens_mask": 1, "word_ids": -1}.items():
        found[name] = torch.tensor([row[name] + [value] * (width - len(row[name])) for row in rows], device=models.device())
    return found | {"index": torch.tensor([row["index"] for row in rows])}


@cache
def treebank(trees: str, part: str = "dev") -> list[Parse]:
    """Gold trees: of EWT a part; of GUM all documents, without those of GENTLE.

    Raises
    ------
    StudyError
        If the files are not there, or damaged.
    """
    if trees == "ewt":
        return read_conllu(_root() / "ud_ewt" / f"en_ewt-ud-{part}.conllu.xz")
    path = _root() / "gum" / "gum.tar.xz"
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive if re.fullmatch(r"(?:.*/)?dep/GUM_\w+\.conllu", member.name)]
            texts = [archive.extractfile(member).read().decode("utf-8") for member in members]
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise StudyError(f"The archive {path} cannot be read ({error}): see data/README.md.") from None
    return [parse for text in texts for parse in read_conllu(text.splitlines(), name=str(path))]
