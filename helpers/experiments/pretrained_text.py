"""What the experiments on pretrained models read: passages of WikiText, sentences with gold trees, and the models."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from helpers import gpu, models
from helpers.corpora import parsing, sources, texts
from helpers.corpora.describe import Arc, arcs_of
from helpers.corpora.files import numbered_lines
from helpers.corpora.parsing import Parse, read_conllu
from helpers.corpora.tokens import Subwords, counts
from helpers.heads import causal
from helpers.runs.passages import Batch
from helpers.study import StudyError

TREES = ("ewt", "gum")
WORDS = (5, 40)  # least and most words of a sentence
SENTENCES = 16  # of a batch
PADDING = {"input_ids": 0, "attention_mask": 0, "special_tokens_mask": 1, "word_ids": -1}
SPACED = {  # WikiText's spaces around marks, and the text without them
    r" ([.,;:!?%)\]])": r"\1", r"([(\[$£€]) ": r"\1", r" ('s|'re|'ve|'ll|'d|'m|n't|')\b": r"\1", r'" ([^"]*) "': r'"\1"',
    r" (['’])(?= |$)": r"\1", r" – (?=\d)": "–",
}  # fmt: skip


@cache
def pretrained(name: str, seed: int | None = None) -> tuple[Any, Any]:
    """A pretrained model, whose weights do not learn, and its tokenizer; with a seed its shape with random weights instead."""
    model, tokenizer = models.load(name)
    if seed is not None:
        torch.manual_seed(seed)
        model = type(model)(model.config).eval()
    return model.float().requires_grad_(False).to(gpu.device()), tokenizer


# --- passages --------------------------------------------------------------------------------------------------------


def passages(name: str, split: str, count: int, length: int) -> torch.Tensor:
    """Passages of WikiText ("valid" or "test") in a model's tokens, without a start token: ids [count, length].

    The first is the beginning of the first article, the next that of the second; after the last article follow the next tokens
    of each. Text that is not there, or too short, is refused.
    """
    tokenizer = pretrained(name)[1]
    ids = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in articles(split)]
    rounds = range(max(map(len, ids), default=0) // length)
    found = [one[turn * length : (turn + 1) * length] for turn in rounds for one in ids if len(one) >= (turn + 1) * length]
    if len(found) < count:
        raise StudyError(f"WikiText ({split}) has {len(found)} passages of {length} tokens, not {count}: ask for fewer.")
    return torch.tensor(found[:count], device=gpu.device())


@cache
def articles(split: str) -> list[str]:
    """Articles of WikiText as plain text: no headings, spaces as people write them, no sentence with an unknown word."""
    found, file = [], sources.root() / "wikitext" / f"wiki.{split}.txt.xz"
    for _, paragraphs in texts.articles(line for _, line in numbered_lines(file)):
        sentences = [one for part in paragraphs if part[0] != "=" for one in re.split(r"(?<= [.!?]) ", part)]
        found.append(" ".join(joined(one) for one in sentences if "<unk>" not in one))
    return list(filter(None, found))


def joined(text: str) -> str:
    """Text of WikiText with spaces as people write them."""
    for spaced, plain in SPACED.items():
        text = re.sub(spaced, plain, text)
    return text


# --- sentences -------------------------------------------------------------------------------------------------------


class Sentences(NamedTuple):
    """Sentences with gold trees as a model reads them: batches, arcs of each, counts of tokens in other text (EWT's)."""

    batches: list[Batch]
    arcs: list[list[Arc]]
    counts: torch.Tensor


def sentences(name: str, trees: str, count: int) -> Sentences:
    """Sentences of a treebank, evenly from all of it, with the words that the tokens of a model belong to (`word_ids`).

    A sentence is read as it is written. A decoder gets its start token before it, which is no word, as are [CLS] and [SEP]. Of
    a token that covers parts of two words the first one counts. A treebank that is not there, or has too few sentences, is
    refused.
    """
    model, tokenizer = pretrained(name)
    subwords, start, rows = Subwords(tokenizer), [tokenizer.bos_token_id] if causal(model) else [], []
    chosen = parsed(trees, count)
    for parse in chosen:
        ids, words = start + subwords.encode(parse.text), [-1] * len(start) + subwords.word_ids(parse.text, parse.words)
        special = [int(token in tokenizer.all_special_ids) for token in ids]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "special_tokens_mask": special, "word_ids": words})
    found = []
    for first in range(0, count, SENTENCES):
        part = rows[first : first + SENTENCES]
        padded = {n: pad_sequence([torch.tensor(row[n]) for row in part], True, value) for n, value in PADDING.items()}
        found.append({n: ids.to(gpu.device()) for n, ids in padded.items()})
        found[-1]["index"] = torch.arange(first, first + len(part))
    frequent = counts(subwords.encode_all([parse.text for parse in treebank("ewt", "train")]), len(tokenizer))
    return Sentences(found, arcs_of(chosen), frequent)


def parsed(trees: str, count: int) -> list[Parse]:
    """So many gold trees of sentences of usual length, evenly from all of a treebank."""
    usable = [parse for parse in treebank(trees) if WORDS[0] <= len(parse.words) <= WORDS[1]]
    if len(usable) < count:
        raise StudyError(f"The treebank {trees} has {len(usable)} sentences to measure on, not {count}: ask for fewer.")
    return [usable[place * len(usable) // count] for place in range(count)]


@cache
def treebank(trees: str, part: str = "dev") -> list[Parse]:
    """Gold trees: of EWT a part, or all of GUM."""
    return (
        parsing.gum(sources.root() / "gum" / "gum.tar.xz")
        if trees == "gum"
        else read_conllu(sources.root() / "ud_ewt" / f"en_ewt-ud-{part}.conllu.xz")
    )
