"""Head relevance by layer-wise relevance propagation, LRP (Voita et al. 2019, section 4 and appendix A).

For each target token, relevance starts at the logit of the token the model finds most likely and is propagated down; that
of a head is what arrives at its output, the numbers that the output projection reads, summed over positions. The paper leaves
open how softmax, layer norm and biases are treated. Three rules that answer this are here:

``alpha_beta``
    The rule of the authors' public code (for Voita, Sennrich & Titov 2021): positive and negative contributions apart,
    attention linearised in queries, keys and values at once, everything rescaled so that nothing is lost, all relevance
    positive.
``attnlrp``
    Norms' standard deviations constant, products split in halves, softmax linearised (Achtibat et al. 2024). Signed.
``cp``
    Norms' standard deviations and attention weights constant (Ali et al. 2022). Signed.

`relevance` gives the column of the head table; `explain` all that is behind it, target by target; `summed` by a signed rule
the sums over targets alone, in one backward pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from helpers import gpu, study
from helpers.heads import KINDS, causal, index, sites
from helpers.measures.lrp.alpha_beta import AlphaBeta
from helpers.measures.lrp.graph import Graph
from helpers.measures.lrp.layout import known
from helpers.measures.reducers import check_finite, evaluating, given, view
from helpers.measures.worth import check_gradients
from helpers.study import StudyError

SIGNED = ("attnlrp", "cp")
RULES = ("alpha_beta", *SIGNED)
NORMALISE = ("step", "ratio", "size", None)
MEMORY = 2.0  # GiB, on a processor
PART = 0.5  # of the memory that a GPU has free


@dataclass(frozen=True)
class BySentence:
    """Relevance of every head in every sentence, summed over the sentence's targets."""

    heads: pd.MultiIndex  # rows of the head table, (kind, layer, head)
    raw: np.ndarray  # sums of relevance as it is [sentences, heads]
    targets: np.ndarray  # how many targets a sentence has [sentences]
    rule: str
    step: np.ndarray | None = None  # sums of what is divided by the layer's; None where targets were not looked at (`summed`)

    def per_sentence(self, normalise: str | None = "step") -> tuple[np.ndarray, np.ndarray]:
        """Sums per sentence whose ratio is the column: numerators and denominators [sentences, heads]."""
        _check(normalise, NORMALISE if self.step is not None else NORMALISE[1:], "normalisation")
        if normalise == "ratio":
            return self.raw, _of_layer(self.heads, self.raw)
        values = {"step": self.step, "size": np.abs(self.raw), None: self.raw}[normalise]
        return values, np.broadcast_to(self.targets[:, None], values.shape)

    def together(self) -> BySentence:
        """The sums over all sentences, as if they were one: enough for what has no interval."""
        step = None if self.step is None else self.step.sum(0, keepdims=True)
        return BySentence(self.heads, self.raw.sum(0, keepdims=True), self.targets.sum(keepdims=True), self.rule, step)

    def series(self, normalise: str | None = "step") -> pd.Series:
        """The column of the head table, see `relevance`."""
        numerators, denominators = (part.sum(0) for part in self.per_sentence(normalise))
        ratio = np.divide(numerators, denominators, out=np.zeros_like(numerators), where=denominators != 0)
        return pd.Series(ratio, self.heads, name="relevance")


@dataclass(frozen=True)
class Explained:
    """Relevance of every head for every explained target token."""

    heads: pd.MultiIndex  # rows of the head table, (kind, layer, head)
    values: np.ndarray  # [targets, heads], in logits for the signed rules, in shares of a start of 1 for ``alpha_beta``
    sentence: np.ndarray  # of each target [targets]: the batch's `index` where it has one, otherwise a running number
    rule: str

    def by_sentence(self) -> BySentence:
        """The same with one row a sentence."""
        total = _of_layer(self.heads, self.values)
        step = np.divide(self.values, total, out=np.zeros_like(total), where=total != 0)  # the paper's generation step
        raw, step, targets = (_added(self.sentence, part) for part in (self.values, step, np.ones(len(self.values))))
        return BySentence(self.heads, raw, targets, self.rule, step)

    def series(self, normalise: str | None = "step") -> pd.Series:
        """The column of the head table, see `relevance`."""
        return self.by_sentence().series(normalise)


def _of_layer(heads: pd.MultiIndex, values: np.ndarray) -> np.ndarray:
    """Of values [rows, heads] the sum over the heads of a head's layer, repeated for each of them."""
    codes = heads.droplevel("head").factorize()[0]
    sums = np.zeros((len(values), codes.max() + 1))
    np.add.at(sums.T, codes, values.T)
    return sums[:, codes]


def rules(model) -> tuple[str, ...]:
    """The rules that are defined on a model's layers."""
    return RULES if known(model) else SIGNED


def relevance(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "alpha_beta",
    normalise: str | None = "step",
    kinds: str | tuple[str, ...] | None = None,
) -> pd.Series:
    """LRP relevance of every head (section 4, appendix A), indexed by (kind, layer, head).

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model that `helpers.heads.sites` accepts with an output layer, in float32 or float64; for ``alpha_beta`` Marian,
        BART, mBART, Pegasus, T5 or OPT. Open `gate` and `inject` blocks are respected.
    batches : iterable of dict
        What a Hugging Face collator yields: `input_ids`, `attention_mask`, `labels`, maybe `decoder_input_ids`. Every target
        position whose label is not -100 is explained, under teacher forcing. For a decoder-only model without `labels`
        these are all positions with a next token.
    rule : str
        ``alpha_beta``, ``attnlrp`` or ``cp``.
    normalise : str or None
        ``step``: divided by the sum over the layer's heads for each target, then averaged over targets (the paper);
        ``ratio``: summed over targets first, then divided, which a target whose sum is near zero cannot spoil;
        ``size``: summed over the targets of each sentence, without its sign, mean over targets; None: raw mean over targets.
        Relevance by ``attnlrp`` and ``cp`` has both signs, and so has a layer's sum: divided by a negative one a layer's heads
        are ranked backwards. Take ``size`` there: it divides by no sum, ranks heads across layers too, and of these ways agrees
        best with the loss without each head in a pretrained decoder (SmolLM2-135M). By these rules all but ``step`` are
        `summed`.
    kinds : str or sequence of str, optional
        Only attention of these kinds.

    Raises
    ------
    StudyError
        For an unknown rule, normalisation or kind; a model or layer that no rule covers; half precision; an empty batch,
        no target to explain, what is no number, or a sentence too long for the memory; or as `helpers.heads.families`.
    """
    _check(normalise, NORMALISE, "normalisation")
    way = summed if rule in SIGNED and normalise != "step" else explain
    return way(model, batches, rule, kinds).series(normalise)


def explain(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "alpha_beta",
    kinds: str | tuple[str, ...] | None = None,
    label: str = "relevance",
) -> Explained:
    """Relevance of every head for every target token, see `relevance`.

    Batches are split, and targets explained in chunks, to stay below `MEMORY`, or half of what a GPU has free. Buffers of
    ``alpha_beta`` whose size does not depend on the text, some 0.2 GiB in single precision at most, are not in it.
    """
    heads, values, sentence, _ = _collected(model, batches, rule, kinds, label, False)
    return Explained(heads, values, sentence, rule)


def summed(
    model, batches: Iterable[Mapping[str, Any]], rule: str = "attnlrp", kinds: str | tuple[str, ...] | None = None
) -> BySentence:
    """Relevance of every head by a signed rule, summed over the target tokens of each sentence: one backward pass a batch.

    The sums of what `explain` finds target by target, to rounding, in about the time of gradient importance and in the memory
    of one backward pass (`helpers.measures.lrp.graph`). Relevance by ``alpha_beta`` is not linear in what it starts from, so it
    has no such short way.
    """
    _check(rule, SIGNED, "signed rule of relevance")
    heads, values, sentence, targets = _collected(model, batches, rule, kinds, "relevance, summed", True)
    return BySentence(heads, _added(sentence, values), _added(sentence, targets), rule)


@torch.no_grad()
def _collected(model, batches: Iterable, rule: str, kinds, label: str, summed: bool) -> tuple:
    """Heads, their relevance [rows, heads], the sentence and the number of targets of each row: a target, or a sentence."""
    heads = index(model, kinds)
    kinds = tuple(kind for kind in KINDS if kind in heads.unique("kind"))
    _check(rule, RULES, "rule")
    memory = max(MEMORY, PART * gpu.free_memory(model.device))  # on a GPU much, as many small parts leave it idle
    allowed = memory * 2**30 / _precision(model).itemsize  # numbers
    way: AlphaBeta | Graph
    if rule == "alpha_beta":
        way = AlphaBeta(model, kinds)
    else:
        check_gradients(model)
        way = Graph(model, rule, kinds)
    if model.training:
        warnings.warn("The model was in training mode: relevance is computed without dropout.", stacklevel=4)
    values, sentence, targets, count = [], [], [], 0
    places = [(site.kind, site.layer) for site in sites(model, kinds) if site.heads]
    with evaluating(model):
        for batch, fed, live, carries in _parts(model, study.progress(batches, label), way, allowed):
            if live.any():
                found = way.explain(fed, live, summed) if isinstance(way, Graph) else way.explain(fed, live, carries, allowed)
                rows = live.any(1) if summed else live
                sums = torch.cat([found[place] for place in places], -1)[rows].double()
                check_finite(sums)
                values.append(sums.cpu().numpy())
                numbers = batch["index"].cpu().numpy() if "index" in batch else count + np.arange(len(live))
                sentence.append(numbers[rows.nonzero()[:, 0].cpu().numpy()])
                targets.append((live.sum(1) if summed else live)[rows].cpu().numpy().astype(float))
            count += len(live)
    if not values:
        raise StudyError("There is no target token to explain: there are no batches, or all labels are ignored (-100).")
    return heads, *map(np.concatenate, (values, sentence, targets))


def _parts(model, batches: Iterable, way: AlphaBeta | Graph, allowed: float) -> Iterator[tuple[Mapping, dict, Tensor, dict]]:
    """Parts of batches that fit into the memory (numbers): each with what the model is fed, and its targets (`_view`)."""
    for batch in batches:
        seen = view(model, batch)
        target, source = seen.ids["decoder"].shape[1], batch["input_ids"].shape[1]
        needed = sum(way.numbers(target, source))
        if needed > allowed:
            size = 2**30 / _precision(model).itemsize
            raise StudyError(
                f"A sentence of {source} source and {target} target tokens needs about {needed / size:.1f} GiB to explain, more"
                f" than the {allowed / size:g} GiB allowed: leave it out or cut it."
            )
        rows = int(allowed / needed)
        for first in range(0, len(batch["input_ids"]), rows):
            part = {name: value[first : first + rows] for name, value in batch.items()}
            yield part, *_view(model, part)


def _added(sentence: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows [rows, ...] of a sentence each, added up by sentence: [sentences, ...]."""
    places = np.unique(sentence, return_inverse=True)[1]
    sums = np.zeros((places.max() + 1, *rows.shape[1:]))
    np.add.at(sums, places, rows)
    return sums


def _view(model, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, dict[str, Tensor]]:
    """What the model is fed; which positions are explained [B, n]; which can carry relevance, by side [B, n or m]."""
    seen = view(model, batch)
    fed = given(model, batch, seen)
    if model.config.is_encoder_decoder:
        fed |= {name: batch[name] for name in ("decoder_attention_mask",) if name in batch}
        live = batch["labels"] != -100
        carries = {"encoder": seen.present["encoder"], "decoder": torch.ones_like(live)}
    else:
        real = seen.present["decoder"]
        live = (batch["labels"] != -100) if "labels" in batch else real
        if causal(model):  # the next token is the target
            live = torch.cat([live[:, 1:], torch.zeros_like(live[:, :1])], 1) & real
        carries = {"decoder": real}
    return fed, live, carries


def _precision(model) -> torch.dtype:
    dtype = next(model.parameters()).dtype
    if dtype not in (torch.float32, torch.float64):
        raise StudyError(f"Relevance needs float32 or float64 weights, not {str(dtype)[6:]}: call model.float() first.")
    return dtype


def _check(value: Any, choices: tuple, what: str) -> None:
    if value not in choices:
        raise StudyError(f"There is no {what} {value!r}: choose from {', '.join(map(repr, choices))}.")
