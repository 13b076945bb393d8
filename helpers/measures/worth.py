"""Importance of heads for the task itself: leave one out, and the gradient at the head's output (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput

from helpers import study
from helpers.heads import Site, causal, compat, gate, index, layers, sites
from helpers.measures.reducers import check_finite, evaluating, given, view
from helpers.scores import scoring
from helpers.study import StudyError

Batches = Iterable[Mapping[str, Any]]


def leave_one_out(model, batches: Batches, kinds: str | tuple[str, ...] | None = None, repeats: int = 1000) -> pd.DataFrame:
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
    rises, tokens = rises_of_examples(model, batches, kinds)
    loss, low, high = scoring.ratio_interval(rises.to_numpy(), tokens[:, None], repeats)
    return pd.DataFrame({"loss": loss, "low": low, "high": high}, index=rises.columns)


def rises_of_examples(model, batches: Batches, kinds=None) -> tuple[pd.DataFrame, np.ndarray]:
    """What `leave_one_out` averages: the rise (nats) of each example, a row, without each head; target tokens [examples]."""
    heads, held = index(model, kinds), prepared(model, batches)
    with evaluating(model), torch.no_grad():
        rises = [_rises(model, fed, labels, kinds) for fed, labels in study.progress(held, "leaving heads out")]
    return pd.DataFrame(torch.cat(rises).cpu().numpy(), columns=heads), _targets(held)


def losses_of_examples(model, batches: Batches) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy of each example, nats summed over its target tokens, float64 [examples]; how many these are [examples]."""
    held = prepared(model, batches)
    with evaluating(model), torch.no_grad():
        losses = [_losses(model(**fed, use_cache=False).logits, labels) for fed, labels in held]
    return torch.cat(losses).cpu().numpy(), _targets(held)


def _targets(held: list[tuple[dict[str, Any], torch.Tensor]]) -> np.ndarray:
    return torch.cat([(labels != -100).sum(-1) for _, labels in held]).cpu().numpy()


def _rises(model, fed: Mapping[str, Any], labels: torch.Tensor, kinds) -> torch.Tensor:
    """How much the loss of each example rises without each head: float64 [batch, heads].

    Layers below a head compute what they did, and so does the encoder for heads of the decoder: neither is computed again.
    """
    kept: dict[tuple[nn.Module, str], Any] = {}
    places = [(site, layers(model, "encoder" if site.kind == "encoder" else "decoder")) for site in sites(model, kinds)]
    with ExitStack() as undo:
        for part in {(stack, name) for _, stack in places for name, _ in stack.named_children()}:
            hook = partial(lambda part, module, args, out: kept.update({part: out}), part)
            undo.callback(getattr(*part).register_forward_hook(hook).remove)
        out = model(**fed, use_cache=False)
    plain, memory, rises = _losses(out.logits, labels), getattr(out, "encoder_last_hidden_state", None), []
    del out
    for site, stack in places:
        read = dict(fed)
        if memory is not None and site.kind != "encoder":
            del read["input_ids"]
            read["encoder_outputs"] = BaseModelOutput(last_hidden_state=memory)
        with _known({(stack, str(place)): kept[stack, str(place)] for place in range(site.layer)}):
            for head in range(site.heads):
                with gate(model, {(site.kind, site.layer, head): 0.0}):
                    rises.append(_losses(model(**read, use_cache=False).logits, labels) - plain)
    return torch.stack(rises, -1) if rises else plain.new_zeros(len(plain), 0)


class _Known(nn.Module):
    """Stands for a part of a model of which is known what it puts out; in all else it is that part."""

    def __init__(self, part: nn.Module, out: Any) -> None:
        super().__init__()
        self.__dict__.update(part=part, out=out)  # no part of the model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)

    def forward(self, *args: Any, **more: Any) -> Any:
        return self.out


@contextmanager
def _known(outputs: Mapping[tuple[nn.Module, str], Any]) -> Iterator[None]:
    """Let parts of a model, each by the module above it and its name there, put out what is given."""
    with ExitStack() as undo:
        for (parent, name), out in outputs.items():
            part = getattr(parent, name)
            undo.callback(setattr, parent, name, part)
            setattr(parent, name, _Known(part, out))
        yield


def slopes(model, batches: Batches, kinds: str | tuple[str, ...] | None = None, label: str = "slopes") -> pd.DataFrame:
    """Slope of each example's loss in each head's gate, where all stand open: a row an example, a column a head; nats.

    The mean of their sizes is `importance` per example; their sum over the number of target tokens is minus `patching`.
    """
    heads, held, places = index(model, kinds), prepared(model, batches, True), sites(model, kinds)
    with evaluating(model), torch.enable_grad():
        rows = [
            _slopes_of_examples(model, fed, labels, places)[(labels != -100).any(-1)]
            for fed, labels in study.progress(held, label)
        ]
    return pd.DataFrame(torch.cat(rows).cpu().numpy(), columns=heads)


def importance(
    model, batches: Batches, kinds: str | tuple[str, ...] | None = None, per: str = "example", norm: str | None = "layer"
) -> pd.Series:
    """Gradient importance of every head: the mean of its ``|output . d loss / d output|`` (Michel et al. 2019, section 4.1).

    The loss of an example is the sum over its target tokens, in nats. Three quantities go by this name and rank heads
    differently, as what is summed before taking the absolute value can cancel: summed over an example's positions
    (``per="example"``, the paper's formula), over nothing but the head's own numbers (``per="token"``, the authors' code), and
    over a whole batch, which depends on the batch size and is not offered.

    Parameters
    ----------
    batches : iterable of dict
        `input_ids`, `attention_mask`, `labels` (-100 where ignored; those of a decoder-only model are shifted here). Examples
        without a target token do not count.
    kinds : str or tuple of str, optional
        Only heads of these kinds.
    per : str
        ``example``: mean over examples of ``|d loss / d gate|``; a gate's derivative at 1 is the product of the head's output
        with its gradient, summed over positions. ``token``: the absolute product of each query position, summed over the real
        positions of all examples and divided by their number; real are in the encoder those with attention mask 1, in decoder
        and cross-attention those that predict a label other than -100.
    norm : str or None
        ``layer``: as `by_layer`; None: in nats.

    Returns
    -------
    pandas.Series
        On (kind, layer, head), float64, named "importance". Open `gate` and `inject` blocks are respected: a head stands with
        what is left of its output, 0 under a gate of 0.

    Raises
    ------
    StudyError
        If `per` or `norm` is unknown; or as `leave_one_out`.
    """
    if per not in ("example", "token"):
        raise StudyError(f"Importance is taken per 'example' or per 'token', not per {per!r}: choose one of the two.")
    if norm not in ("layer", None):
        raise StudyError(f"Importance is normalised by 'layer' or not at all (None), not by {norm!r}: choose one of the two.")
    if per == "example":
        column = slopes(model, batches, kinds, "gradient importance").abs().mean()
    else:
        heads, held, places = index(model, kinds), prepared(model, batches, True), sites(model, kinds)
        total = count = torch.zeros((), dtype=torch.float64)
        with evaluating(model), torch.enable_grad():
            for fed, labels in study.progress(held, "gradient importance"):
                products, counted = _products_of_tokens(model, fed, labels, places)
                total, count = total + products.cpu(), count + counted.cpu()
        column = pd.Series((total / count).numpy(), index=heads)
    return (by_layer(column) if norm == "layer" else column).rename("importance")


def by_layer(column: pd.Series) -> pd.Series:
    """A column divided by its l2 norm over the heads of each layer (Michel et al. 2019, section 4.1); 0 where all are 0."""
    size = column.pow(2).groupby(level=["kind", "layer"]).transform("sum").pow(0.5)
    return column / size.where(size > 0, 1.0)


def patching(model, batches: Batches, rows: pd.DataFrame | None = None) -> pd.Series:
    """First-order estimate of `leave_one_out`, with its sign: attribution patching towards zero (Syed et al. 2023).

    Minus the slope of the loss in a head's gate at 1: how much the loss would rise at a gate of 0 if it were a straight line.
    On (kind, layer, head), float64: nats a target token. Open `gate` and `inject` blocks are respected, as by `importance`.
    `rows` are the `slopes` of these batches, where they are known.
    """
    held = list(batches)
    tokens = sum(int((labels != -100).sum()) for _, labels in prepared(model, held))
    rows = slopes(model, held, label="patching") if rows is None else rows
    return (-rows.sum() / tokens).rename("patching")


def _slopes_of_examples(model, fed, labels: torch.Tensor, places: list[Site]) -> torch.Tensor:
    """Slope of each example's loss in each gate, float64 [batch, all heads]."""
    dtype = torch.promote_types(next(model.parameters()).dtype, torch.float32)
    sizes = [site.heads for site in places]
    # gates of its own for each example: one forward and one backward pass serve all of them
    ones = torch.ones(len(labels), sum(sizes), dtype=dtype, device=labels.device, requires_grad=True)
    gates = {(site.kind, site.layer): part for site, part in zip(places, ones.split(sizes, -1), strict=True)}
    with gate(model, gates):
        loss = _losses(model(**fed, use_cache=False).logits, labels).sum()
        (slopes,) = torch.autograd.grad(loss, ones)
    return slopes.double()


def _products_of_tokens(model, fed, labels: torch.Tensor, places: list[Site]) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum over the real query positions of a batch of ``|output . d loss / d output|`` and how many they are, [all heads]."""
    predicting = labels != -100
    source = fed.get("attention_mask", torch.ones_like(fed["input_ids"])).bool() & predicting.any(-1, keepdim=True)
    outputs, sums, counts = {}, [], []

    def keep(place: int, module, args: tuple) -> tuple:
        # the last hook: it is given the heads as gated; where no weight learns, the gradient begins here
        outputs[place] = args[0] if args[0].requires_grad else args[0].detach().requires_grad_()
        return outputs[place], *args[1:]

    with ExitStack() as undo:
        for place, site in enumerate(places):
            hook = site.projection("out").register_forward_pre_hook(partial(keep, place))
            undo.callback(hook.remove)
        loss = _losses(model(**fed, use_cache=False).logits, labels).sum()
        slopes = torch.autograd.grad(loss, [outputs[place] for place in range(len(places))])
    for place, (site, slope) in enumerate(zip(places, slopes, strict=True)):
        product = outputs[place].detach().double() * slope.double()
        product = product.unflatten(-1, (site.heads, site.head_dim)).sum(-1)
        real = source if site.kind == "encoder" else predicting
        sums.append(product.abs().masked_fill(~real.unsqueeze(-1), 0.0).sum((0, 1)))
        counts.append(real.sum().expand(site.heads))
    return torch.cat(sums), torch.cat(counts)


def check_gradients(model) -> None:
    """Refuse to derive inside ``torch.inference_mode``, or where a model is quantised for kernels that have no gradient."""
    if torch.is_inference_mode_enabled():
        raise StudyError("Gradients cannot be had inside torch.inference_mode: leave it, or take torch.no_grad.")
    if compat.without_gradient(model):
        raise StudyError("The model is quantised and has no gradients: take the model as it was before.")


def prepared(model, batches: Batches, slopes: bool = False) -> list[tuple[dict[str, Any], torch.Tensor]]:
    """What the model is fed for each batch, and what each position is to predict (-100: nothing), with or without `slopes`."""
    if slopes:
        check_gradients(model)
    held = []
    for batch in batches:
        seen = view(model, batch)
        if model.get_output_embeddings() is None:
            raise StudyError(
                f"{type(model).__name__} has no output layer over a vocabulary, and this is a loss of predicted tokens: load"
                " it as a class that predicts them (ForCausalLM, ForMaskedLM, ForConditionalGeneration)."
            )
        if "labels" not in batch:
            raise StudyError(f"A batch for a {type(model).__name__} needs labels to have a loss.")
        labels = batch["labels"]
        if causal(model):
            # padding on the left is followed by a token, but does not predict it
            labels = F.pad(labels[:, 1:], (0, 1), value=-100).masked_fill(~seen.present["decoder"], -100)
        held.append((given(model, batch, seen), labels))
    if not any((labels != -100).any() for _, labels in held):
        raise StudyError("There are no target tokens to measure on: there are no batches, or all labels are ignored (-100).")
    return held


def _losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each example in nats, summed over its target tokens: float64 [batch]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels).double().sum(-1)
    check_finite(losses.detach())
    return losses
