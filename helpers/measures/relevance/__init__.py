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

`relevance` gives the column of the head table; `explain` all that is behind it, target by target.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from helpers import study
from helpers.heads import KINDS, index, sites
from helpers.measures.one_pass import evaluating, view
from helpers.measures.relevance import alpha_beta, signed
from helpers.measures.relevance.layout import Attention, Layout, layout, play
from helpers.scoring import ratio_interval
from helpers.study import StudyError

RULES = ("alpha_beta", "attnlrp", "cp")
NORMALISE = ("step", "ratio", None)
MEMORY = 2.0  # GiB


@dataclass(frozen=True)
class Explained:
    """Relevance of every head for every explained target token.

    Attributes
    ----------
    heads : pandas.MultiIndex
        Rows of the head table, (kind, layer, head).
    values : array [targets, heads]
        Raw relevance, in logits for the signed rules, in shares of a start of 1 for ``alpha_beta``.
    sentence : array [targets]
        The sentence of each target: the batch's `index` where it has one, otherwise a running number.
    rule : str
    """

    heads: pd.MultiIndex
    values: np.ndarray
    sentence: np.ndarray
    rule: str

    def normalised(self) -> np.ndarray:
        """Each target's relevance divided by its sum over the heads of a layer (the paper's generation step)."""
        total = self._of_layer(self.values)
        return np.divide(self.values, total, out=np.zeros_like(self.values), where=total != 0)

    def _of_layer(self, values: np.ndarray) -> np.ndarray:
        """Sum over the heads of a head's layer, repeated for each of them."""
        codes = self.heads.droplevel("head").factorize()[0]
        sums = np.zeros((len(values), codes.max() + 1))
        np.add.at(sums.T, codes, values.T)
        return sums[:, codes]

    def per_sentence(self, normalise: str | None = "step") -> tuple[np.ndarray, np.ndarray]:
        """Sums per sentence whose ratio is the column: numerators and denominators [sentences, heads]."""
        _known(normalise, NORMALISE, "normalisation")
        values = self.normalised() if normalise == "step" else self.values
        weights = self._of_layer(self.values) if normalise == "ratio" else np.ones_like(values)
        sentences = np.unique(self.sentence, return_inverse=True)[1]
        sums = np.zeros((2, sentences.max() + 1, values.shape[1]))
        np.add.at(sums[0], sentences, values)
        np.add.at(sums[1], sentences, weights)
        return sums[0], sums[1]

    def series(self, normalise: str | None = "step") -> pd.Series:
        """The column of the head table, see `relevance`."""
        numerators, denominators = (part.sum(0) for part in self.per_sentence(normalise))
        ratio = np.divide(numerators, denominators, out=np.zeros_like(numerators), where=denominators != 0)
        return pd.Series(ratio, self.heads, name="relevance")

    def frame(self, normalise: str | None = "step", repeats: int = 1000) -> pd.DataFrame:
        """Columns relevance, low, high: with its 95 % bootstrap interval over sentences."""
        _, low, high = ratio_interval(*self.per_sentence(normalise), repeats)
        return pd.DataFrame({"relevance": self.series(normalise), "low": low, "high": high}, self.heads)

    def sums(self, small: float = 0.01) -> pd.DataFrame:
        """How well the division by a layer's sum is conditioned, a row each (kind, layer).

        Returns
        -------
        pandas.DataFrame
            Shares of targets whose sum over heads is `negative`, or `near_zero`: under `small` of the sum of magnitudes;
            `largest`: the largest magnitude of one normalised value; `targets`.
        """
        total, magnitude, scaled = self._of_layer(self.values), self._of_layer(np.abs(self.values)), self.normalised()
        columns = {
            "negative": (total < 0).mean(0),
            "near_zero": (np.abs(total) < small * magnitude).mean(0),
            "largest": np.abs(scaled).max(0),
        }
        table = pd.DataFrame(columns, self.heads).groupby(level=["kind", "layer"], sort=False).max()
        return table.assign(targets=len(self.values))

    def take(self, sentences: Iterable[int]) -> Explained:
        """Only the targets of these sentences."""
        kept = np.isin(self.sentence, np.fromiter(sentences, dtype=self.sentence.dtype))
        return replace(self, values=self.values[kept], sentence=self.sentence[kept])


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
        Marian, BART, mBART, Pegasus, T5 or OPT, in float32 or float64. Open `gate` and `inject` blocks are respected.
    batches : iterable of dict
        What a Hugging Face collator yields: `input_ids`, `attention_mask`, `labels`, maybe `decoder_input_ids`. Every target
        position whose label is not -100 is explained, under teacher forcing. For a decoder-only model without `labels`
        these are all positions with a next token.
    rule : str
        ``alpha_beta``, ``attnlrp`` or ``cp``.
    normalise : str or None
        ``step``: divided by the sum over the layer's heads for each target, then averaged over targets (the paper);
        ``ratio``: summed over targets first, then divided, which a target whose sum is near zero cannot spoil;
        None: raw mean over targets.
    kinds : str or sequence of str, optional
        Only attention of these kinds.

    Raises
    ------
    StudyError
        For an unknown rule, normalisation or kind; a model or layer that no rule covers; half precision; an empty batch,
        no target to explain, or a sentence too long for the memory; or as `helpers.heads.sites`.
    """
    _known(normalise, NORMALISE, "normalisation")
    return explain(model, batches, rule, kinds).series(normalise)


@torch.no_grad()
def explain(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "alpha_beta",
    kinds: str | tuple[str, ...] | None = None,
    memory: float = MEMORY,
    label: str = "relevance",
) -> Explained:
    """Relevance of every head for every target token, see `relevance`.

    Parameters
    ----------
    memory : float
        GiB that may be used beyond the model: batches are split, and targets explained in chunks, to stay below it.
    """
    heads = index(model, kinds)
    kinds = tuple(kind for kind in KINDS if kind in heads.unique("kind"))
    values, sentence, count = [], [], 0
    for batch, found, live in _run(model, batches, rule, kinds, memory, label):
        places = [(site.kind, site.layer) for site in sites(model, kinds) if site.heads]
        values.append(torch.cat([found[place] for place in places], -1)[live].double().cpu().numpy())
        numbers = batch["index"].cpu().numpy() if "index" in batch else count + np.arange(len(live))
        sentence.append(numbers[live.nonzero()[:, 0].cpu().numpy()])
        count += len(live)
    return Explained(heads, np.concatenate(values), np.concatenate(sentence), rule)


@torch.no_grad()
def conservation(
    model, batches: Iterable[Mapping[str, Any]], rule: str, memory: float = MEMORY, label: str = "conservation"
) -> pd.Series:
    """Where the relevance goes, as shares of what starts at the logits.

    Returns
    -------
    pandas.Series
        `source` and `target`: arrives at the input of the first encoder and decoder layer; `attention`: lost between a head's
        output and its queries, keys and values (``attnlrp``: in the softmax); `bias`: kept by biases, for ``alpha_beta``,
        which spreads them over the inputs, `eps` instead: what its stabilising constants lose; `negative`: the share of
        targets whose start is negative. All but the last add up to 1, those of the signed rules with either sign.
    """
    totals: dict[str, float] = dict.fromkeys(("source", "target", "attention"), 0.0)
    start, negative, targets = 0.0, 0, 0
    for _, found, live in _run(model, batches, rule, KINDS, memory, label, full=True):
        for name in totals:
            totals[name] += float(found[name][live].double().sum()) if name in found else 0.0
        start += float(found["start"][live].double().sum())
        negative += int((found["start"][live] < 0).sum())
        targets += int(live.sum())
    shares = {name: total / start for name, total in totals.items()}
    shares["eps" if rule == "alpha_beta" else "bias"] = 1 - sum(shares.values())
    return pd.Series({**shares, "negative": negative / targets}, name=rule)


# --- batches -----------------------------------------------------------------------------------------------------------


def _run(
    model, batches: Iterable, rule: str, kinds: tuple[str, ...], memory: float, label: str, full: bool = False
) -> Iterator[tuple[Mapping, dict, Tensor]]:
    """For each (part of a) batch: the batch, {(kind, layer): [B, n, heads]} and which targets [B, n] are real."""
    _known(rule, RULES, "rule")
    plan = layout(model)
    weight = plan.head.weight
    if weight.dtype not in (torch.float32, torch.float64):
        raise StudyError(f"Relevance needs float32 or float64 weights, not {str(weight.dtype)[6:]}: call model.float() first.")
    folded = {}
    if rule != "alpha_beta":
        for stack in filter(None, (plan.encoder, plan.decoder)):
            folded |= {block: signed.Folded(block, stack.pre_norm) for block in stack.blocks}
    if model.training:
        warnings.warn("The model was in training mode: relevance is computed without dropout.", stacklevel=4)
    targets = 0
    with evaluating(model):
        for batch in study.progress(batches, label):
            rows = _rows(plan, rule, memory, *_lengths(model, batch))
            for first in range(0, len(batch["input_ids"]), rows):
                part = {name: value[first : first + rows] for name, value in batch.items()}
                fed, live, carries = _view(model, part)
                if live.any():
                    targets += int(live.sum())
                    yield part, _batch(model, plan, folded, fed, live, carries, rule, kinds, memory, full), live
    if not targets:
        raise StudyError("There is no target token to explain: there are no batches, or all labels are ignored (-100).")


def _view(model, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, dict[str, Tensor]]:
    """What the model is fed; which positions are explained [B, n]; which can carry relevance, by side [B, n or m]."""
    seen = view(model, batch)
    fed = {name: batch[name] for name in ("input_ids", "attention_mask", "decoder_attention_mask") if name in batch}
    if model.config.is_encoder_decoder:
        fed["decoder_input_ids"] = seen.ids["decoder"]
        live = batch["labels"] != -100
        carries = {"encoder": seen.present["encoder"]}
    else:  # the next token is the target
        real = seen.present["decoder"]
        live = (batch["labels"] != -100) if "labels" in batch else real
        live = torch.cat([live[:, 1:], torch.zeros_like(live[:, :1])], 1) & real
        carries = {}
    carries["decoder"] = live.flip(1).cumsum(1).flip(1) > 0  # nothing behind the last target
    return fed, live, carries


def _batch(
    model,
    plan: Layout,
    folded: dict,
    fed: dict,
    live: Tensor,
    carries: dict,
    rule: str,
    kinds: tuple,
    memory: float,
    full: bool,
) -> dict:
    """Relevance of all targets of one batch: {(kind, layer): [B, n, heads]}, and what `full` adds."""
    tape = play(model, plan, fed)
    targets = int(live.any(0).nonzero().max()) + 1
    sizes = len(live), targets, fed["input_ids"].shape[1]
    if rule == "alpha_beta":
        bias = getattr(model, "final_logits_bias", None)
        bias = tape.start.new_zeros(plan.head.out_features) if bias is None else bias.flatten()
        bias = bias if plan.head.bias is None else bias + plan.head.bias
        replay = alpha_beta.Replay(plan, tape, kinds, bias, carries, full)
    else:
        replay = signed.Replay(plan, folded, tape, rule, kinds, targets, full)
    step = _chunk(plan, rule, memory, *sizes)
    chunks = [replay.chunk(first, min(first + step, targets)) for first in range(0, targets, step)]
    found = {place: torch.cat([chunk[place] for chunk in chunks], 1) for place in chunks[0]}
    rest = live.shape[1] - targets
    found = {place: torch.nn.functional.pad(values, (0, 0) * (values.ndim - 2) + (0, rest)) for place, values in found.items()}
    if full:
        found["start"] = tape.start if rule != "alpha_beta" else torch.ones_like(tape.start)
    return found


# --- memory ------------------------------------------------------------------------------------------------------------


def _lengths(model, batch: Mapping[str, Tensor]) -> tuple[int, int]:
    """Target and source positions of a batch."""
    seen = view(model, batch)
    return seen.ids["decoder"].shape[1], batch["input_ids"].shape[1]


def _numbers(plan: Layout, rule: str, targets: int, source: int) -> tuple[float, float]:
    """Numbers that one sentence needs, about: once, and for each target that is explained at a time."""
    once = 2 * targets * plan.head.out_features
    each = 0
    for stack, length in ((plan.encoder, source), (plan.decoder, targets)):
        heads = 0
        for block in stack.blocks if stack else ():
            width = block.out.out_features
            if isinstance(block, Attention):
                keys = source if block.site.kind == "cross" else length
                once += length * 14 * width + 4 * block.site.heads * length * keys
                heads += block.site.heads
                each = max(each, (length + keys) * 8 * width + 3 * block.site.heads * length * keys)
                if rule == "alpha_beta":  # the joint rule of one head
                    once = max(once, 12 * length * keys * block.site.head_dim)
            else:
                once += length * (4 * width + 5 * block.out.in_features)
                each = max(each, length * (4 * width + 2 * block.out.in_features))
        if heads and stack is plan.encoder and rule != "alpha_beta":  # tangents
            once += heads * length * (3 * width + 2 * block.out.in_features)
    return once, each


def _rows(plan: Layout, rule: str, memory: float, targets: int, source: int) -> int:
    """How many sentences of these lengths fit into the memory."""
    once, each = _numbers(plan, rule, targets, source)
    size = plan.head.weight.element_size()
    rows = int(memory * 2**30 / size / (once + each))
    if rows < 1:
        raise StudyError(
            f"A sentence of {source} source and {targets} target tokens needs about {(once + each) * size / 2**30:.1f} GiB to"
            f" explain, more than the {memory:g} GiB allowed: leave it out, cut it, or pass explain(..., memory=...)."
        )
    return rows


def _chunk(plan: Layout, rule: str, memory: float, rows: int, targets: int, source: int) -> int:
    """How many targets to explain at a time."""
    once, each = _numbers(plan, rule, targets, source)
    step = (memory * 2**30 / plan.head.weight.element_size() / rows - once) / each
    if rule != "alpha_beta":  # whose shares are computed anew for each chunk
        widest = max(block.out.in_features for block in plan.decoder.blocks)
        step = min(step, signed.CELLS / (rows * max(targets, source) * widest))
    return max(1, min(targets, int(step)))


def _known(value: Any, choices: tuple, what: str) -> None:
    if value not in choices:
        raise StudyError(f"There is no {what} {value!r}: choose from {', '.join(map(repr, choices))}.")
