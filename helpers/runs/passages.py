"""Text that a model of anybody's reads: English that an installed package ships, or a file; half to measure, half to check."""

from __future__ import annotations

import re
from pathlib import Path

import sklearn.datasets
import torch

from helpers.corpora import Pair, tokens
from helpers.study import StudyError

LENGTH, ROWS = 64, 4  # tokens of a passage, special ones included; passages of a batch
FEWEST = 20  # passages that an interval over passages needs

Batch = dict[str, torch.Tensor]


def english() -> str:
    """Scikit-learn's descriptions of data sets without their markup: two thousand words of plain English (BSD licence).

    Paragraphs of eight words or more that begin as a sentence and end as one; no tables, lists and code.
    """
    paragraphs = []
    for file in sorted((Path(sklearn.datasets.__file__).parent / "descr").glob("*.rst")):
        for paragraph in file.read_text(encoding="utf-8").split("\n\n"):
            text = " ".join(paragraph.split())
            text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", text)  # :func:`module.name`
            text = re.sub(r"`+([^`<]*?)(?: <[^>]*>)?`+_*", r"\1", text)  # ``code``, `text <address>`__
            text = re.sub(r" ?\[\d\]_|\*\*", "", text)  # footnotes, bold
            if re.fullmatch(r"[A-Z].*[.:]", text) and len(text.split()) >= 8:
                paragraphs.append(text)
    return "\n\n".join(paragraphs)


def halves(model, tokenizer, text: str | Path = "", most: int | None = None) -> tuple[list[Batch], list[Batch]]:
    """A text as batches with labels: its first half to measure heads on, its last half to check.

    A model that continues texts reads passages of `LENGTH` tokens, with the special tokens that its tokenizer adds. An
    encoder-decoder reads pairs: each line of its file is a source, a tab and a target. The text is a file in UTF-8, or
    `english`; `most` are passages of a half. Batches of up to `ROWS` passages, on the model's device, have `input_ids`,
    `attention_mask` and `labels`.
    """
    if not model.can_generate():
        raise StudyError(
            f"{type(model).__name__} is an encoder, which predicts no text: measure it with measures.confidence and "
            "measures.positional (docs/use.md)."
        )
    read = _paired if model.config.is_encoder_decoder else _passages
    dev, test = read(model, tokenizer, text, most)
    return dev, test


def _read(text: str | Path) -> str:
    try:
        return Path(text).expanduser().read_text(encoding="utf-8") if text else english()
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"Cannot read {text} ({error}): give a text file in UTF-8.") from None


def _passages(model, tokenizer, text: str | Path, most: int | None) -> list[list[Batch]]:
    start = tokenizer("")["input_ids"]
    ids, size = tokenizer(_read(text), add_special_tokens=False, verbose=False)["input_ids"], LENGTH - len(start)
    pieces = [start + ids[first : first + size] for first in range(0, len(ids) - size + 1, size)]
    if len(pieces) < 2:
        raise StudyError(f"{text} has {len(ids)} tokens: at least {2 * size} are needed, half of them to score on.")
    return [batches(torch.tensor(part[:most], device=model.device)) for part in _cut(pieces)]


def _cut(pieces: list) -> tuple[list, list]:
    return pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :]


def batches(ids: torch.Tensor, rows: int = ROWS) -> list[Batch]:
    """Passages [count, tokens] as batches for measures and losses: `input_ids`, `attention_mask`, `labels`."""
    return [{"input_ids": part, "attention_mask": torch.ones_like(part), "labels": part.clone()} for part in ids.split(rows)]


def _paired(model, tokenizer, text: str | Path, most: int | None) -> list[list[Batch]]:
    lines = [line.split("\t") for line in _read(text).splitlines() if line.strip()] if text else []
    if len(lines) < 2 or any(len(line) != 2 for line in lines):
        raise StudyError(
            f"{type(model).__name__} is an encoder-decoder: give a text file whose lines are a source, a tab and its target."
        )
    source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    parts = [[Pair(first, second) for first, second in part[:most]] for part in _cut(lines)]
    limit = getattr(model.config, "max_position_embeddings", 0)  # T5 has none
    coded = [tokens.encode(pairs, source, target, limit) for pairs in parts]
    return [list(tokens.Batches(part, source.pad, 2 * ROWS * LENGTH, model.device)) for part in coded]
