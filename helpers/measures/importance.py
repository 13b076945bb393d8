"""Importance of heads for the task itself: leave one out, and the gradient at the head's gate (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput

from helpers import scoring, study
from helpers.heads import gate, index, sites
from helpers.heads.sites import ADDRESS
from helpers.measures.one_pass import evaluating, view
from helpers.study import StudyError

Batches = Iterable[Mapping[str, Any]]


def leave_one_out(
    model, batches: Batches, kinds: str | tuple[str, ...] | None = None, label: str = "leaving heads out", repeats: int = 1000
) -> pd.DataFrame:
    """How much the loss rises when one head's gate is 0 and all others are open (Michel et al. 2019, section 3.2).

    Parameters
    ----------
    batches : iterable of dict
        `input_ids`, `attention_mask`, `labels` (-100 where ignored; those of a decoder-only model are shifted here).
    kinds : str or tuple of str, optional
        Only heads of these kinds.
    repeats : int
        Resamples of the bootstrap over sentences.

    Returns
    -------
    pandas.DataFrame
        On (kind, layer, head): loss (change of the mean cross-entropy, nats a target token; larger = matters more), low
        and high (its 95 % interval).

    Raises
    ------
    StudyError
        If there are no batches, a batch is empty or lacks labels, or every label is ignored; or as `helpers.heads.index`.
    """
    heads, held = index(model, kinds), _prepared(model, batches)
    with evaluating(model), torch.no_grad():
        plain, memories = [], []
        for fed, labels in held:
            out = model(**fed, use_cache=False)
            plain.append(_losses(out.logits, labels))
            memories.append(getattr(out, "encoder_last_hidden_state", None))
        columns = []
        for address in study.progress(heads, label):
            parts = []
            with gate(model, {address: 0.0}):
                for (fed, labels), memory, before in zip(held, memories, plain, strict=True):
                    if address[0] != "encoder" and memory is not None:  # the encoder computes what it did
                        fed = {name: value for name, value in fed.items() if name != "input_ids"}
                        fed["encoder_outputs"] = BaseModelOutput(last_hidden_state=memory)
                    parts.append(_losses(model(**fed, use_cache=False).logits, labels) - before)
            columns.append(torch.cat(parts))
    tokens = torch.cat([(labels != -100).sum(-1, keepdim=True) for _, labels in held])
    loss, low, high = scoring.ratio_interval(torch.stack(columns, -1).cpu().numpy(), tokens.cpu().numpy(), repeats)
    return pd.DataFrame({"loss": loss, "low": low, "high": high}, index=heads)


def leave_one_out_bleu(
    model, translate: Callable[[Any], list[str]], references: Sequence[str], heads: Iterable[tuple], repeats: int = 1000
) -> pd.DataFrame:
    """How much BLEU falls when one head's gate is 0 and all others are open (Michel et al. 2019, section 3.2).

    Parameters
    ----------
    translate : callable
        ``translate(model)`` returns one translation for each reference; called once, and once more for each head.
    repeats : int
        Resamples of the paired bootstrap, which scores both translations of the same drawn sentences.

    Returns
    -------
    pandas.DataFrame
        On (kind, layer, head): bleu (plain minus without the head, points of BLEU; larger = matters more), low and high
        (its 95 % interval, nan with fewer than two sentences or no resamples).

    Raises
    ------
    StudyError
        If there are no translations, or not as many as references; or for a head that the model has not.
    """
    heads = pd.MultiIndex.from_tuples(heads, names=ADDRESS)
    statistics = scoring.bleu_statistics(translate(model), references)
    weights = scoring.resamples(len(references), repeats if len(references) > 1 else 0)
    plain, drawn = scoring.bleu_of(statistics.sum(0)), scoring.bleu_of(weights @ statistics)
    rows = []
    for address in study.progress(heads, "translating without each head"):
        with gate(model, {address: 0.0}):
            statistics = scoring.bleu_statistics(translate(model), references)
        change = drawn - scoring.bleu_of(weights @ statistics)
        interval = np.quantile(change, [0.025, 0.975]) if len(change) else (np.nan, np.nan)
        rows.append((plain - scoring.bleu_of(statistics.sum(0)), *interval))
    return pd.DataFrame(rows, columns=["bleu", "low", "high"], index=heads, dtype=float)


def activation_gradient(model, batches: Batches, kinds: str | tuple[str, ...] | None = None) -> pd.Series:
    """Activation x gradient: mean over examples of every head's ``|d loss / d gate|`` (Michel et al. 2019, section 4.1).

    The loss of an example is the sum over its target tokens, in nats; a gate's derivative at 1 is the product of the head's
    output with its gradient. Each example has gates of its own: a batch takes one forward and one backward pass.

    Parameters
    ----------
    batches, kinds
        As in `leave_one_out`. Examples without a target token do not count.

    Raises
    ------
    StudyError
        As `leave_one_out`.
    """
    heads, held, places = index(model, kinds), _prepared(model, batches), sites(model, kinds)
    dtype = torch.promote_types(next(model.parameters()).dtype, torch.float32)
    total, examples = 0.0, 0
    with evaluating(model), torch.enable_grad():
        for fed, labels in study.progress(held, "activation x gradient"):
            ones = torch.ones(len(labels), len(heads), dtype=dtype, device=labels.device, requires_grad=True)
            gates = zip(places, ones.split([site.heads for site in places], -1), strict=True)
            with gate(model, {(site.kind, site.layer): gates_of for site, gates_of in gates}):
                loss = _losses(model(**fed, use_cache=False).logits, labels).sum()
                (slopes,) = torch.autograd.grad(loss, ones)
            total = total + slopes.double().abs().sum(0).cpu()
            examples += int((labels != -100).any(-1).sum())
    return pd.Series((total / examples).numpy(), index=heads, name="activation_gradient")


def _prepared(model, batches: Batches) -> list[tuple[dict[str, Any], torch.Tensor]]:
    """What the model is fed for each batch, and what each position is to predict (-100: nothing)."""
    held = []
    for batch in batches:
        seen = view(model, batch)
        if "labels" not in batch:
            raise StudyError(f"A batch for a {type(model).__name__} needs labels to have a loss.")
        fed, labels = {name: batch[name] for name in ("input_ids", "attention_mask") if name in batch}, batch["labels"]
        if model.config.is_encoder_decoder:
            fed["decoder_input_ids"] = seen.ids["decoder"]
        else:
            labels = F.pad(labels[:, 1:], (0, 1), value=-100)
        held.append((fed, labels))
    if not any((labels != -100).any() for _, labels in held):
        raise StudyError("There are no target tokens to measure on: there are no batches, or all labels are ignored (-100).")
    return held


def _losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each example in nats, summed over its target tokens: float64 [batch]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels).double().sum(-1)
