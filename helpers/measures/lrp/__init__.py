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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from helpers import gpu, study
from helpers.heads import KINDS, causal, compat, index, sites
from helpers.measures.lrp import alpha_beta, signed
from helpers.measures.lrp.graph import Graph
from helpers.measures.lrp.layout import Attention, Found, layout, play, replayed
from helpers.measures.reducers import check_finite, evaluating, given, view
from helpers.measures.worth import check_gradients, prepared
from helpers.scores.scoring import ratio_interval
from helpers.study import StudyError

SIGNED = ("attnlrp", "cp")
RULES = ("alpha_beta", *SIGNED)
NORMALISE = ("step", "ratio", "size", None)
MEMORY = 2.0  # GiB, on a processor
PART = 0.5  # of the memory that a GPU has free


class _Sums:
    """What every form of explained relevance makes of its sums per sentence."""

    heads: pd.MultiIndex

    def per_sentence(self, normalise: str | None = "step") -> tuple[np.ndarray, np.ndarray]:
        """Sums per sentence whose ratio is the column: numerators and denominators [sentences, heads]."""
        raise NotImplementedError

    def series(self, normalise: str | None = "step") -> pd.Series:
        """The column of the head table, see `relevance`."""
        numerators, denominators = (part.sum(0) for part in self.per_sentence(normalise))
        ratio = np.divide(numerators, denominators, out=np.zeros_like(numerators), where=denominators != 0)
        return pd.Series(ratio, self.heads, name="relevance")

    def frame(self, normalise: str | None = "step", repeats: int = 1000) -> pd.DataFrame:
        """Columns relevance, low, high: with its 95 % bootstrap interval over sentences."""
        _, low, high = ratio_interval(*self.per_sentence(normalise), repeats)
        return pd.DataFrame({"relevance": self.series(normalise), "low": low, "high": high}, self.heads)

    def _of_layer(self, values: np.ndarray) -> np.ndarray:
        """Sum over the heads of a head's layer, repeated for each of them."""
        codes = self.heads.droplevel("head").factorize()[0]
        sums = np.zeros((len(values), codes.max() + 1))
        np.add.at(sums.T, codes, values.T)
        return sums[:, codes]


@dataclass(frozen=True)
class Explained(_Sums):
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
        return np.divide(self.values, total, out=np.zeros_like(total), where=total != 0)

    def per_sentence(self, normalise: str | None = "step") -> tuple[np.ndarray, np.ndarray]:
        """As `BySentence.per_sentence`."""
        return self.by_sentence().per_sentence(normalise)

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

    def by_sentence(self) -> BySentence:
        """The same with one row a sentence."""
        raw, step, targets = (
            _added(self.sentence, part) for part in (self.values, self.normalised(), np.ones(len(self.values)))
        )
        return BySentence(self.heads, raw, targets, self.rule, step, self.sums())


@dataclass(frozen=True)
class Summed(_Sums):
    """Relevance of every head in every sentence by a signed rule, summed over the sentence's targets (`summed`).

    Attributes
    ----------
    heads : pandas.MultiIndex
        Rows of the head table, (kind, layer, head).
    raw : array [sentences, heads]
        Sums over a sentence's targets of relevance as it is.
    targets : array [sentences]
        How many targets a sentence has.
    rule : str
    """

    heads: pd.MultiIndex
    raw: np.ndarray
    targets: np.ndarray
    rule: str

    def per_sentence(self, normalise: str | None = "size") -> tuple[np.ndarray, np.ndarray]:
        """Sums per sentence whose ratio is the column: numerators and denominators [sentences, heads]."""
        _known(normalise, NORMALISE[1:], "normalisation of sums")
        if normalise == "ratio":
            return self.raw, self._of_layer(self.raw)
        values = self.raw if normalise is None else np.abs(self.raw)
        return values, np.broadcast_to(self.targets[:, None], values.shape)


@dataclass(frozen=True)
class BySentence(Summed):
    """Relevance of every head in every sentence: `Explained` where single targets do not count any more.

    Attributes
    ----------
    step : array [sentences, heads]
        Sums over a sentence's targets of relevance divided by the layer's sum.
    conditioned : pandas.DataFrame
        `Explained.sums`.
    """

    step: np.ndarray
    conditioned: pd.DataFrame

    def per_sentence(self, normalise: str | None = "step") -> tuple[np.ndarray, np.ndarray]:
        """Sums per sentence whose ratio is the column: numerators and denominators [sentences, heads]."""
        _known(normalise, NORMALISE, "normalisation")
        if normalise != "step":
            return super().per_sentence(normalise)
        return self.step, np.broadcast_to(self.targets[:, None], self.step.shape)

    def sums(self) -> pd.DataFrame:
        """As `Explained.sums`."""
        return self.conditioned


def rules(model) -> tuple[str, ...]:
    """The rules that are defined on a model's layers."""
    return RULES if replayed(model) else SIGNED


def relevance(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "alpha_beta",
    normalise: str | None = "step",
    kinds: str | tuple[str, ...] | None = None,
    memory: float | None = None,
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
    memory : float, optional
        As of `explain`.

    Raises
    ------
    StudyError
        For an unknown rule, normalisation or kind; a model or layer that no rule covers; half precision; an empty batch,
        no target to explain, what is no number, or a sentence too long for the memory; or as `helpers.heads.families`.
    """
    _known(normalise, NORMALISE, "normalisation")
    way = summed if rule in SIGNED and normalise != "step" else explain
    return way(model, batches, rule, kinds, memory).series(normalise)


def explain(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "alpha_beta",
    kinds: str | tuple[str, ...] | None = None,
    memory: float | None = None,
    label: str = "relevance",
) -> Explained:
    """Relevance of every head for every target token, see `relevance`.

    Parameters
    ----------
    memory : float, optional
        GiB that may be used beyond the model: batches are split, and targets explained in chunks, to stay below it; by default
        `MEMORY`, or half of what a GPU has free. Buffers of ``alpha_beta`` whose size does not depend on the text, some 0.2 GiB
        in single precision at most, are not in it.
    """
    heads, values, sentence, _ = _collected(model, batches, rule, kinds, memory, label, False)
    return Explained(heads, values, sentence, rule)


def summed(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "attnlrp",
    kinds: str | tuple[str, ...] | None = None,
    memory: float | None = None,
    label: str = "relevance, summed",
) -> Summed:
    """Relevance of every head by a signed rule, summed over the target tokens of each sentence: one backward pass a batch.

    The sums of what `explain` finds target by target, to rounding, in about the time of gradient importance and in the memory
    of one backward pass (`helpers.measures.lrp.graph`).

    Parameters
    ----------
    rule : str
        ``attnlrp`` or ``cp``. Relevance by ``alpha_beta`` is not linear in what it starts from, so it has no such short way.
    memory : float, optional
        As of `explain`.
    """
    _known(rule, SIGNED, "signed rule of relevance")
    heads, values, sentence, targets = _collected(model, batches, rule, kinds, memory, label, True)
    return Summed(heads, _added(sentence, values), _added(sentence, targets), rule)


@torch.no_grad()
def _collected(model, batches: Iterable, rule: str, kinds, memory: float | None, label: str, summed: bool) -> tuple:
    """Heads, their relevance [rows, heads], the sentence and the number of targets of each row: a target, or a sentence."""
    heads = index(model, kinds)
    kinds = tuple(kind for kind in KINDS if kind in heads.unique("kind"))
    values, sentence, targets, count = [], [], [], 0
    places = [(site.kind, site.layer) for site in sites(model, kinds) if site.heads]
    for batch, relevance, live in _Job(model, rule, kinds, memory, summed=summed).run(batches, label):
        rows = live.any(1) if summed else live
        sums = torch.cat([relevance[place] for place in places], -1)[rows].double()
        check_finite(sums)
        values.append(sums.cpu().numpy())
        numbers = batch["index"].cpu().numpy() if "index" in batch else count + np.arange(len(live))
        sentence.append(numbers[rows.nonzero()[:, 0].cpu().numpy()])
        targets.append((live.sum(1) if summed else live)[rows].cpu().numpy().astype(float))
        count += len(live)
    return heads, *map(np.concatenate, (values, sentence, targets))


def _added(sentence: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows [rows, ...] of a sentence each, added up by sentence: [sentences, ...]."""
    places = np.unique(sentence, return_inverse=True)[1]
    sums = np.zeros((places.max() + 1, *rows.shape[1:]))
    np.add.at(sums, places, rows)
    return sums


@torch.no_grad()
def relp(
    model,
    batches: Iterable[Mapping[str, Any]],
    rule: str = "attnlrp",
    kinds: str | tuple[str, ...] | None = None,
    label: str = "relevance patching",
) -> pd.Series:
    """Estimate of `helpers.measures.worth.leave_one_out` by a signed rule in place of gradients (RelP, Jafari et al. 2025).

    `helpers.measures.worth.patching` in the graph of `helpers.measures.lrp.graph`: the loss's slopes at the logits go down by
    the rule's coefficients, and a head's output is multiplied by what arrives there.

    Parameters
    ----------
    batches, kinds
        As of `helpers.measures.worth.leave_one_out`.
    rule : str
        ``attnlrp`` or ``cp``.

    Returns
    -------
    pandas.Series
        On (kind, layer, head), float64: nats a target token, as `helpers.measures.worth.patching`.

    Raises
    ------
    StudyError
        For another rule; a model or part that it does not cover; half precision; or as `helpers.measures.worth.leave_one_out`.
    """
    _known(rule, SIGNED, "rule of relevance patching")
    _check_precision(model)
    heads, held = index(model, kinds), prepared(model, batches, slopes=True)
    graph, total = Graph(model, rule, tuple(heads.unique("kind"))), torch.zeros(len(heads), dtype=torch.float64)
    with evaluating(model):
        for fed, labels in study.progress(held, label):
            total -= graph.slopes(fed, labels)
    return pd.Series((total / sum(int((labels != -100).sum()) for _, labels in held)).numpy(), heads, name="relp")


@torch.no_grad()
def conservation(
    model, batches: Iterable[Mapping[str, Any]], rule: str, memory: float | None = None, label: str = "conservation"
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
    for _, relevance, live in _Job(model, rule, KINDS, memory, full=True).run(batches, label):
        for name in totals:
            totals[name] += float(relevance[name][live].double().sum()) if name in relevance else 0.0
        start += float(relevance["start"][live].double().sum())
        negative += int((relevance["start"][live] < 0).sum())
        targets += int(live.sum())
    shares = {name: total / start for name, total in totals.items()}
    shares["eps" if rule == "alpha_beta" else "bias"] = 1 - sum(shares.values())
    return pd.Series({**shares, "negative": negative / targets}, name=rule)


# --- batches -----------------------------------------------------------------------------------------------------------


class _Job:
    """One rule on one model: batches in, relevance of every head for every target out.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of attention that are asked for.
    memory : float or None
        GiB that may be used beyond the model; None as of `explain`.
    full : bool
        Also what starts at the logits, arrives at the first layers and is lost inside attention.
    summed : bool
        Summed over the targets of a sentence.
    """

    def __init__(
        self, model, rule: str, kinds: tuple[str, ...], memory: float | None, full: bool = False, summed: bool = False
    ) -> None:
        _known(rule, RULES, "rule")
        self.model, self.rule, self.kinds, self.full, self.summed = model, rule, kinds, full, summed
        self.memory = _allowed(model.device) if memory is None else memory
        self.dtype = _check_precision(model)
        self.graph = None
        if summed or (rule != "alpha_beta" and not full and not replayed(model)):
            check_gradients(model)
            self.graph = Graph(model, rule, kinds)
            return
        plan = self.plan = layout(model)
        stacks = [stack for stack in (plan.encoder, plan.decoder) if stack and rule != "alpha_beta"]
        self.folded = {block: signed.Folded(block, stack.pre_norm) for stack in stacks for block in stack.blocks}

    def run(self, batches: Iterable, label: str) -> Iterator[tuple[Mapping, Found, Tensor]]:
        """For each (part of a) batch: the batch, {(kind, layer): [B, (n,) heads]} and which targets [B, n] are real."""
        if self.model.training:
            warnings.warn("The model was in training mode: relevance is computed without dropout.", stacklevel=4)
        targets = 0
        with evaluating(self.model):
            for batch in study.progress(batches, label):
                seen = view(self.model, batch)
                rows = self.rows(seen.ids["decoder"].shape[1], batch["input_ids"].shape[1])
                for first in range(0, len(batch["input_ids"]), rows):
                    part = {name: value[first : first + rows] for name, value in batch.items()}
                    fed, live, carries = _view(self.model, part)
                    if live.any():
                        targets += int(live.sum())
                        yield part, self.explain(fed, live, carries), live
        if not targets:
            raise StudyError("There is no target token to explain: there are no batches, or all labels are ignored (-100).")

    def explain(self, fed: dict[str, Tensor], live: Tensor, carries: dict[str, Tensor]) -> Found:
        """Relevance of all targets of one batch, in chunks of targets: {(kind, layer): [B, n, heads]}, and what `full` adds."""
        if self.graph:
            return self.graph.explain(fed, live, self.summed)
        model, plan = self.model, self.plan
        tape = play(model, plan, fed)
        targets = int(live.any(0).nonzero().max()) + 1
        replay: alpha_beta.Replay | signed.Replay
        if self.rule == "alpha_beta":
            bias = compat.logits_bias(model)
            bias = tape.start.new_zeros(plan.head.out_features) if bias is None else bias
            bias = bias if plan.head.bias is None else bias + plan.head.bias
            replay = alpha_beta.Replay(plan, tape, self.kinds, bias, carries, self.full)
        else:
            replay = signed.Replay(plan, self.folded, tape, self.rule, self.kinds, targets, self.full)
        step = self.step(len(live), targets, fed["input_ids"].shape[1])
        chunks = [replay.chunk(first, min(first + step, targets)) for first in range(0, targets, step)]
        relevance: Found = {}
        for place in chunks[0]:
            values = torch.cat([chunk[place] for chunk in chunks], 1)
            relevance[place] = values.new_zeros(live.shape + values.shape[2:])
            relevance[place][:, :targets] = values
        if self.full:
            relevance["start"] = torch.ones_like(tape.start) if self.rule == "alpha_beta" else tape.start
        return relevance

    def numbers(self, targets: int, source: int) -> tuple[float, float]:
        """Numbers that one sentence of these lengths needs, about: once, and for each target explained at a time."""
        fixed, each, passing = 2 * targets * self.plan.head.out_features, 0, 0
        for stack, length in ((self.plan.encoder, source), (self.plan.decoder, targets)):
            heads = 0
            for block in stack.blocks if stack else ():
                width, inside = block.out.out_features, block.out.in_features
                if isinstance(block, Attention):
                    keys = source if block.site.kind == "cross" else length
                    fixed += length * 14 * width + 4 * block.site.heads * length * keys
                    each = max(each, (length + keys) * 8 * width + 3 * block.site.heads * length * keys)
                    heads += block.site.heads
                    if self.rule == "alpha_beta":  # the joint rule of one head
                        passing = max(passing, 12 * length * keys * block.site.head_dim)
                else:
                    fixed += length * (4 * width + 5 * inside)
                    each = max(each, length * (4 * width + 2 * inside))
                    if stack is self.plan.encoder and self.rule != "alpha_beta":  # tangents
                        passing = max(passing, heads * length * (3 * width + 2 * inside))
        return fixed + passing, each

    def rows(self, targets: int, source: int) -> int:
        """How many sentences of these lengths fit into the memory."""
        numbers = self.graph.numbers(max(targets, source)) if self.graph else sum(self.numbers(targets, source))
        needed = numbers * self.dtype.itemsize / 2**30
        if needed > self.memory:
            raise StudyError(
                f"A sentence of {source} source and {targets} target tokens needs about {needed:.1f} GiB to explain, more than"
                f" the {self.memory:g} GiB allowed: leave it out, cut it, or pass explain(..., memory=...)."
            )
        return int(self.memory / needed)

    def step(self, rows: int, targets: int, source: int) -> int:
        """How many targets to explain at a time."""
        fixed, each = self.numbers(targets, source)
        step = (self.memory * 2**30 / self.dtype.itemsize / rows - fixed) / each
        if self.rule != "alpha_beta":  # whose shares are computed anew for each chunk
            widest = max(block.out.in_features for block in self.plan.decoder.blocks)
            step = min(step, signed.CELLS / (rows * max(targets, source) * widest))
        return max(1, min(targets, int(step)))


def _allowed(device: torch.device) -> float:
    """GiB that relevance may use where no one says: on a GPU much, as many small parts leave it idle."""
    return max(MEMORY, PART * gpu.free_memory(device))


def _view(model, batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor, dict[str, Tensor]]:
    """What the model is fed; which positions are explained [B, n]; which can carry relevance, by side [B, n or m]."""
    seen = view(model, batch)
    fed = given(model, batch, seen)
    if model.config.is_encoder_decoder:
        fed |= {name: batch[name] for name in ("decoder_attention_mask",) if name in batch}
        live = batch["labels"] != -100
        carries = {"encoder": seen.present["encoder"]}
    else:
        real = seen.present["decoder"]
        live = (batch["labels"] != -100) if "labels" in batch else real
        if causal(model):  # the next token is the target
            live = torch.cat([live[:, 1:], torch.zeros_like(live[:, :1])], 1) & real
        carries = {}
    carries["decoder"] = live.flip(1).cumsum(1).flip(1) > 0  # nothing behind the last target
    return fed, live, carries


def _check_precision(model) -> torch.dtype:
    dtype = next(model.parameters()).dtype
    if dtype not in (torch.float32, torch.float64):
        raise StudyError(f"Relevance needs float32 or float64 weights, not {str(dtype)[6:]}: call model.float() first.")
    return dtype


def _known(value: Any, choices: tuple, what: str) -> None:
    if value not in choices:
        raise StudyError(f"There is no {what} {value!r}: choose from {', '.join(map(repr, choices))}.")
