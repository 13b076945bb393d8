"""One pass of a model over batches, read by any number of reducers.

A reducer sees the attention weights of one layer of one batch at a time and keeps sums per sentence and head, never maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import study
from helpers.heads import KINDS, Site, causal, index, positions, record, sites
from helpers.heads.families import longest
from helpers.scores.scoring import ratio_interval
from helpers.study import StudyError


@dataclass
class View:
    """What a reducer may need to know of a batch, by kind of attention. B sentences, Q query and K key positions.

    Real tokens are no padding, no end-of-sentence and no start symbol; of the source none of its `special_tokens_mask` either.
    """

    ids: dict[str, torch.Tensor]  # token ids on the key side [B, K]
    keys: dict[str, torch.Tensor]  # which of them are real, bool [B, K]
    queries: dict[str, torch.Tensor]  # real tokens on the query side, bool [B, Q]
    present: dict[str, torch.Tensor]  # key positions that are not padding, bool [B, K]
    word_ids: torch.Tensor | None  # source word of each source token [B, S], -1 for none
    index: list[int]  # each sentence's place in the corpus


_UNREAD: dict[str, Callable[[Mapping[str, torch.Tensor]], torch.Tensor]] = {  # where what a batch may hold would count
    "token_type_ids": lambda batch: batch["token_type_ids"] != 0,
    "decoder_attention_mask": lambda batch: (batch["decoder_attention_mask"] == 0) & (batch.get("labels", 0) != -100),
    "position_ids": lambda batch: (
        batch["position_ids"] != torch.arange(batch["position_ids"].shape[-1]).to(batch["position_ids"])
    ),
}


def view(model, batch: Mapping[str, torch.Tensor], first: int = 0) -> View:
    """The `View` of a batch; its sentences count from `first` where the batch has no `index`.

    Which tokens of the source are special is said by the model's configuration (the end of a sentence, and its start) and by
    the batch, whose `special_tokens_mask` [B, S] is 1 there: a tokenizer gives it (``return_special_tokens_mask=True``), or
    the caller. A BERT's configuration names neither [CLS] nor [SEP]. What measures cannot read is refused.
    """
    config = model.config
    needed = ("input_ids", "labels") if config.is_encoder_decoder else ("input_ids",)
    if missing := [name for name in needed if name not in batch]:
        raise StudyError(f"A batch for a {type(model).__name__} needs {' and '.join(missing)}.")
    check_batch(model, batch)
    if "pixel_values" in batch:
        raise StudyError("Measures read text alone: leave pixel_values, and the tokens that stand for images, out of a batch.")
    for name, counts in _UNREAD.items():
        if name in batch and counts(batch).any():
            raise StudyError(f"Measures do not read {name}, and these are not the usual ones: leave them out of the batch.")
    if not all(batch[name].numel() for name in needed):
        raise StudyError("A batch holds no sentences: check the corpus.")
    source, mask = batch["input_ids"], batch.get("attention_mask")
    mask = torch.ones_like(source, dtype=torch.bool) if mask is None else mask.bool()
    real = mask & _plain(source, config)
    if "special_tokens_mask" in batch:
        real &= batch["special_tokens_mask"] == 0
    kinds = ("encoder", "cross") if config.is_encoder_decoder else ("encoder", "decoder")
    ids, keys, queries, present = (dict.fromkeys(kinds, value) for value in (source, real, real, mask))
    if config.is_encoder_decoder:
        labels = batch["labels"]
        if "decoder_input_ids" not in batch and ((labels[:, :-1] == -100) & (labels[:, 1:] != -100)).any():
            raise StudyError("A label follows an ignored one (-100): put padding on the right, or give decoder_input_ids.")
        fed = batch.get("decoder_input_ids")
        fed = model.prepare_decoder_input_ids_from_labels(labels) if fed is None else fed
        # a query of the decoder predicts its label: it is real while that label is
        live = labels != -100
        real_target = live & _plain(fed, config)
        real_target[:, 0] = False  # the start symbol, whatever its id
        ids["decoder"], present["decoder"] = fed, live
        keys["decoder"] = queries["decoder"] = real_target
        queries["cross"] = live & _plain(labels, config)
    index = batch["index"].tolist() if "index" in batch else list(range(first, first + len(source)))
    return View(ids, keys, queries, present, batch.get("word_ids"), index)


def check_batch(model, batch: Mapping[str, Any]) -> None:
    """Refuse what a model cannot read, before it runs."""
    for name in ("input_ids", "attention_mask", "labels"):
        if name in batch and not (isinstance(batch[name], torch.Tensor) and batch[name].ndim == 2):
            raise StudyError(f"The {name} of a batch must be a tensor [batch, tokens]: let the tokenizer return tensors.")
    ids, size = batch["input_ids"], model.get_input_embeddings().num_embeddings
    sizes = {"input_ids": size, "labels": getattr(model.get_output_embeddings(), "out_features", size)}
    for name in ("attention_mask", "labels"):
        wanted = ids.shape[:1] if model.config.is_encoder_decoder and name == "labels" else ids.shape
        if name in batch and batch[name].shape[: len(wanted)] != wanted:
            raise StudyError(
                f"The {name} of a batch are {list(batch[name].shape)}, its input_ids {list(ids.shape)}: they must fit."
            )
    for name, size in sizes.items():
        if name in batch and batch[name].numel() and not -100 <= int(batch[name].min()) <= int(batch[name].max()) < size:
            raise StudyError(f"The {name} of a batch have tokens beyond the model's {size}: take the tokenizer of this model.")
    if ids.numel() and int(ids.min()) < 0:
        raise StudyError("The input_ids of a batch have a token below 0: only labels may be ignored (-100).")
    most = longest(model)
    if most is not None and ids.shape[1] > most:
        raise StudyError(f"A text of {ids.shape[1]} tokens is longer than the model's {most} positions: cut it.")


def given(model, batch: Mapping[str, torch.Tensor], seen: View) -> dict[str, torch.Tensor]:
    """What a model is given of a batch: ids, mask, the decoder's ids, and positions where padding stands before the text."""
    fed = {name: batch[name] for name in ("input_ids", "attention_mask") if name in batch}
    places = positions(model, fed.get("attention_mask"))
    if model.config.is_encoder_decoder:
        fed["decoder_input_ids"] = seen.ids["decoder"]
    elif places is not None:
        fed["position_ids"] = places
    return fed


def check_finite(values: torch.Tensor) -> None:
    """Refuse what a model computed for real tokens if anything in it is no number."""
    if not torch.isfinite(values).all():
        raise StudyError(
            "The model computes what is no number (nan or infinite): check its weights; with padding in float64 run SDPA"
            " attention, in place of float16 take bfloat16."
        )


def _plain(ids: torch.Tensor, config) -> torch.Tensor:
    """Where there is neither an end-of-sentence nor a start symbol."""
    special = [getattr(config, name, None) for name in ("eos_token_id", "bos_token_id")]
    special = [token for entry in special if entry is not None for token in (entry if isinstance(entry, list) else [entry])]
    return torch.isin(ids, torch.tensor(special, dtype=ids.dtype, device=ids.device), invert=True)


class Reducer:
    """Base of all reducers: collects, per sentence, one array for every head.

    Subclasses implement `reduce(site, weights, view) -> tensor [B, heads, ...]`; kinds they do not speak of are skipped. Those
    that fill columns of the head table implement `frame(heads, repeats)`, with `repeats` resamples for an interval, or reduce
    to sums [B, heads, 2], of which `column` names the ratio.
    """

    kinds: tuple[str, ...] = KINDS
    column: str
    view: View  # of the batch at hand, from `start` on

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], list[torch.Tensor]] = {}
        self.order: list[int] = []

    def start(self, view: View) -> None:
        """Called before every batch."""
        self.view = view
        self.order += view.index

    def __call__(self, site: Site, weights: torch.Tensor) -> None:
        if site.kind in self.kinds and site.kind in self.view.keys:
            part = self.reduce(
                site, weights.float() if weights.dtype in (torch.float16, torch.bfloat16) else weights, self.view
            )
            self._parts.setdefault((site.kind, site.layer), []).append(part)

    def reduce(self, site: Site, weights: torch.Tensor, view: View) -> torch.Tensor:
        raise NotImplementedError

    def frame(self, heads: pd.MultiIndex, repeats: int = 1000) -> pd.DataFrame:
        """Columns `column`, the ratio of sums over sentences, low and high: its bootstrap interval over sentences."""
        hits, totals = np.moveaxis(self.per_sentence(), -1, 0)
        ratio, low, high = ratio_interval(hits, totals, repeats)
        return pd.DataFrame({self.column: ratio, "low": low, "high": high}, index=heads)

    def of_kinds(self, heads: pd.MultiIndex) -> pd.MultiIndex:
        """The heads of the kinds that it speaks of."""
        return heads[heads.isin(self.kinds, level="kind")]

    def per_sentence(self) -> np.ndarray:
        """Array [sentences, heads, ...] in corpus order, heads in the order of `helpers.heads.index`."""
        if not self._parts:
            raise StudyError(f"The model showed no {' or '.join(self.kinds)} attention: measure another kind.")
        places = sorted(self._parts, key=lambda key: (KINDS.index(key[0]), key[1]))
        whole = torch.cat([torch.cat(self._parts[key]) for key in places], dim=1).cpu().numpy()
        return whole[np.argsort(self.order, kind="stable")]


@contextmanager
def evaluating(model) -> Iterator[None]:
    """No dropout for as long as the block lasts; every module's mode is restored."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def one_pass(model, batches: Iterable[Mapping[str, Any]], *reducers: Reducer, label: str = "measuring"):
    """Run a model once over batches, without gradients and dropout, and hand all attention to the reducers.

    What it returns is the head-table index of the kinds that the reducers saw.
    """
    present = {site.kind for site in sites(model)}
    kinds = tuple(kind for kind in KINDS if kind in present and any(kind in r.kinds for r in reducers))
    if not kinds:
        raise StudyError(f"A {type(model).__name__} has none of the attention kinds that were asked for.")
    count = 0
    with evaluating(model), torch.no_grad(), record(model, *reducers, kinds=kinds):
        for batch in study.progress(batches, label):
            seen = view(model, batch, count)
            for reducer in reducers:
                reducer.start(seen)
            # the body alone: logits and loss would cost time and memory for nothing
            out = model.base_model(**given(model, batch, seen), use_cache=False)
            side = "decoder" if model.config.is_encoder_decoder or causal(model) else "encoder"
            computed = out.logits if "logits" in out else out.last_hidden_state  # T5 has no body apart
            check_finite(computed[seen.present[side]])
            count += len(seen.index)
    if not count:
        raise StudyError("There are no batches to measure on: check the corpus.")
    return index(model, kinds)
