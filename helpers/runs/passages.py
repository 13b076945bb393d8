"""A model that continues texts, of anybody's, with a text file: what notebook 00 studies when it is given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from helpers import models
from helpers.study import StudyError

LENGTH, ROWS = 64, 16  # tokens of a passage, the start token included; passages of a batch
SHOWN = 24  # tokens whose attention is drawn

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Passages:
    """A model and a text in passages of equal length: the even ones are dev text, the odd ones test text.

    Attributes
    ----------
    title : str
    model, tokenizer
        As `helpers.models.load` gives them; the model on `helpers.models.device()`.
    dev, few, test : lists of batches
        `input_ids`, `attention_mask`, `labels` [rows, LENGTH]; `few` are the first of `dev`.
    """

    title: str
    model: Any
    tokenizer: Any
    dev: list[Batch]
    few: list[Batch]
    test: list[Batch]

    def attention(self, address: tuple[str, int, int]) -> dict[str, Any]:
        """A head's weights on the first tokens of the test text, as `helpers.measures.figures.attention` takes them.

        Rows are named by the token that they predict.
        """
        kind, layer, head = address
        ids = self.test[0]["input_ids"][:1, : SHOWN + 1]
        weights = models.head_weights(self.model, {"input_ids": ids}, address)
        words = [self.tokenizer.decode([token]).strip() or "_" for token in ids[0].tolist()]
        title, shown = (
            f"{kind} layer {layer + 1} head {head + 1}",
            {"rows": words[1:], "columns": words[:-1], "looks": "predicted token"},
        )
        return {"title": title, "weights": weights.numpy()[:-1, :-1]} | shown


def of_file(checkpoint: str, text: str | Path, many: int, few: int) -> Passages:
    """A checkpoint and a text file, of which `many` passages a split are read, `few` where measures are dear.

    Raises
    ------
    StudyError
        If the model or the file cannot be read, the model translates rather than continues, or the text is too short.
    """
    model, tokenizer = models.load(checkpoint)
    if model.config.is_encoder_decoder:
        raise StudyError(f"{checkpoint} is an encoder-decoder: leave `text` out, and name sentence pairs by `models`.")
    try:
        said = Path(text).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"Cannot read {text} ({error}): give a text file in UTF-8.") from None
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    ids, size = tokenizer(said, add_special_tokens=False, verbose=False)["input_ids"], LENGTH - len(start)
    pieces = [start + ids[first : first + size] for first in range(0, len(ids) - size + 1, size)][: 2 * many]
    if len(pieces) < 2:
        raise StudyError(f"{text} has {len(ids)} tokens: at least {2 * size} are needed, half of them to score on.")
    model = model.float().to(models.device())
    dev, test = pieces[::2], pieces[1::2]
    batches = (_batches(part, model.device) for part in (dev, dev[:few], test))
    return Passages(Path(checkpoint).name, model, tokenizer, *batches)


def _batches(pieces: Sequence[list[int]], device: torch.device) -> list[Batch]:
    found = []
    for first in range(0, len(pieces), ROWS):
        ids = torch.tensor(pieces[first : first + ROWS], device=device)
        found.append({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()})
    return found
