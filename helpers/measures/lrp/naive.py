"""Relevance of heads the slow way, to be read: one sentence, one target token at a time, the rule `cp`, nothing clever.

The same numbers as `helpers.measures.lrp.explain` gives for all targets of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.heads import compat, index
from helpers.measures.lrp.layout import Attention, FeedForward, Layout, Norm, Tape, layout, play
from helpers.models import inputs
from helpers.study import StudyError

FAMILIES = ("marian", "bart", "mbart", "pegasus")
Block = Attention | FeedForward
Heads = dict[tuple[str, int], Tensor]


def share(f: Callable[[Tensor], Tensor], x: Tensor, relevance: Tensor) -> Tensor:
    """R_i = sum_j z_ij / z_j R_j: each output z_j of f, a linear map, hands its relevance on by what each input put into it."""
    with torch.enable_grad():
        z = f(x := x.detach().requires_grad_())
        return x * torch.autograd.grad(z, x, torch.where(z == 0, 0, relevance / z))[0]


def through_norm(norm: Norm, x: Tensor, relevance: Tensor) -> Tensor:
    """`share` of a layer norm, whose deviation is a constant."""
    deviation = norm.statistics(x)[1]
    return share(lambda x: (x - x.mean(-1, True)) * deviation * norm.weight + norm.module.get_parameter("bias"), x, relevance)


def through(block: Block, pre_norm: bool, tape: Tape, relevance: Tensor, heads: Heads) -> tuple[Tensor, Tensor]:
    """From a block's output, x + f(norm(x)) or norm(x + f(x)), to x and to what f read; notes what heads get on the way."""
    norm, inner, added = block.norm, block.inner[-1], tape.made[block.out]  # of attention the last inner map makes values
    read = x = tape.given[norm.module]
    if not pre_norm:
        relevance, x = through_norm(norm, read, relevance), read - added
    past, inside = share(lambda x: x + added, x, relevance), share(lambda added: x + added, added, relevance)
    inside = share(block.out, tape.given[block.out], inside)
    if isinstance(block, Attention):
        by_head = inside.unflatten(-1, (block.site.heads, block.site.head_dim))
        heads[block.site.kind, block.site.layer] = by_head.sum((0, 1, 3))
        weights = tape.weights[block.site.kind, block.site.layer]  # a constant: all goes to the values
        inside = (
            share(lambda values: weights @ values, tape.heads(block)[2], by_head.transpose(1, 2)).transpose(1, 2).flatten(2)
        )
    inside = share(inner, tape.given[inner], inside)  # of a feed-forward block: the activation passes everything on
    return past, through_norm(norm, read, inside) if pre_norm and not crosses(block) else inside


def crosses(block: Block) -> bool:
    """Whether a block reads the encoder's output."""
    return isinstance(block, Attention) and block.site.kind == "cross"


@torch.no_grad()
def explain(model, batch: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Relevance of heads and of source positions for every target token of one sentence, by the rule `cp`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Marian, BART, mBART or Pegasus. It is copied to the CPU in double precision.
    batch : mapping
        One sentence: input_ids, attention_mask and labels [1, n].

    Returns
    -------
    array [targets, heads]
        Raw relevance in logits, heads as in the index of the head table.
    array [targets, encoder layers + 1, source positions]
        Relevance that stands at each source position at the input of the encoder's first layer, behind it, and so on up.
    list [targets]
        The tokens that are explained: those with the largest logits.

    Raises
    ------
    StudyError
        For another model, or more than one sentence.
    """
    model, batch, plan = _checked(model, batch)
    tape, steps = play(model, plan, inputs(batch)), []
    rows: list[list[float]] = []
    for target in range(int((batch["labels"] != -100).sum())):
        heads: Heads = {}
        steps.append(_down(model, plan, tape, target, heads))
        rows.append([float(heads[kind, layer][head]) for kind, layer, head in index(model)])
    return np.array(rows), np.stack([_flow(each) for each in steps]), tape.top[0, : len(rows)].tolist()


@torch.no_grad()
def one_block(model, batch: Mapping[str, Tensor], target: int, layer: int) -> dict[str, np.ndarray]:
    """What goes through one attention block of the encoder, for who writes its relevance out: y = x + f(norm(x)).

    Parameters
    ----------
    model, batch
        As `explain` takes them; {} of a model whose norms stand behind its blocks, as Marian's and BART's do.
    target, layer : int
        From 0.

    Returns
    -------
    dict
        x [n, d] that the block reads, A [heads, n, n] its attention weights, R [n, d] the relevance of y.
    """
    model, batch, plan = _checked(model, batch)
    assert plan.encoder is not None  # as checked
    if not plan.encoder.pre_norm:
        return {}
    tape = play(model, plan, inputs(batch))
    blocks = [block for block in plan.encoder.blocks if isinstance(block, Attention)]
    block, behind = blocks[layer], dict(_down(model, plan, tape, target, {}))
    parts = {"x": tape.given[block.norm.module], "A": tape.weights["encoder", layer], "R": behind[block]}
    return {name: tensor[0].detach().numpy().copy() for name, tensor in parts.items()}


def _checked(model, batch: Mapping[str, Tensor]) -> tuple[Any, dict[str, Tensor], Layout]:
    """A copy of the model on the CPU in double precision, the sentence there, and its layout."""
    if len(batch["input_ids"]) != 1:
        raise StudyError(f"The naive way explains one sentence at a time, not {len(batch['input_ids'])}: give one.")
    model, batch = deepcopy(model).cpu().double().eval(), {name: value.cpu() for name, value in batch.items()}
    plan = layout(model)
    if model.config.model_type not in FAMILIES or plan.encoder is None:
        raise StudyError(f"The naive way is written for {', '.join(FAMILIES)}, not for {model.config.model_type}.")
    return model, batch, plan


def _down(model, plan: Layout, tape: Tape, target: int, heads: Heads) -> list[tuple[Block | None, Tensor]]:
    """From a target's logit down to the source words: the relevance behind each encoder block, and last below all (None)."""
    output, bias, encoder, decoder = tape.given[plan.head], compat.logits_bias(model), plan.encoder, plan.decoder
    assert encoder is not None  # as checked
    top = int(tape.top[0, target])
    row, offset = plan.head.weight[top], 0.0 if bias is None else bias.flatten()[top]
    relevance = torch.zeros_like(output)
    relevance[0, target] = share(partial(logit, row, offset), output[0, target], tape.start[0, target])
    if decoder.final:
        relevance = through_norm(decoder.final, tape.given[decoder.final.module], relevance)
    memory = torch.zeros_like(tape.given[encoder.blocks[0].norm.module])
    for block in reversed(decoder.blocks):
        relevance, inside = through(block, decoder.pre_norm, tape, relevance, heads)
        memory, relevance = (memory + inside, relevance) if crosses(block) else (memory, relevance + inside)
    if encoder.final:
        memory = through_norm(encoder.final, tape.given[encoder.final.module], memory)
    steps: list[tuple[Block | None, Tensor]] = []
    for block in reversed(encoder.blocks):
        steps.append((block, memory))
        memory = torch.stack(through(block, encoder.pre_norm, tape, memory, heads)).sum(0)
    return [*steps, (None, memory)]


def _flow(steps: list[tuple[Block | None, Tensor]]) -> np.ndarray:
    """Relevance at each source position below the first layer and behind each: behind its feed-forward block."""
    return np.array([held.sum((0, 2)).numpy() for block, held in reversed(steps) if not isinstance(block, Attention)])


def logit(row: Tensor, offset: float | Tensor, x: Tensor) -> Tensor:
    """One token's logit of the decoder's output x."""
    return x @ row + offset
