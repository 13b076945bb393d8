"""Gate, record and inject: what one may do to the heads of an unmodified model, for as long as a ``with`` block lasts.

`gate` multiplies what a head hands to the output projection, by a hook on that projection: attention itself is not
touched. `record` and `inject` need the attention weights, so they run the model's own attention (SDPA or eager) under
another registered name, which adds what was asked for modules that are watched and nothing for all others.

The three nest in any order. Everything is undone when the block ends, also on an exception; nothing is added to the
model's state. With gradient checkpointing, run ``backward`` inside the block: layers are computed again there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

from helpers.heads.sites import Site, locate, sites
from helpers.study import StudyError

Reducer = Callable[[Site, Tensor], Any]
Matrices = Tensor | Callable[[Site, int, int, int], Tensor]


# -------------------- gate

_GATED: WeakKeyDictionary[nn.Module, list[Callable[[Tensor], Tensor]]] = WeakKeyDictionary()  # factors of open blocks


@contextmanager
def gate(model: PreTrainedModel, values: Mapping[tuple, Any] | pd.Series) -> Iterator[None]:
    """Multiply heads by gates before the output projection (Voita et al. 2019, section 6.1).

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model that `sites` accepts.
    values : mapping or pandas.Series
        ``{(kind, layer, head): float or 0-dim tensor}``, a Series on the head index, or ``{(kind, layer): tensor}`` of
        shape [heads], or [batch, heads] for gates per example. Heads not named keep gate 1. Tensors are read at every
        forward pass, so they may change in place; gradients reach those that require them. Gates of n examples serve
        a batch of n * m rows, example by example (beam search repeats each example m times in a row).

    Raises
    ------
    StudyError
        On entry for an unknown address, a value that is no finite number or a tensor of the wrong shape; in the forward
        pass if gates per example do not fit the batch.
    """
    with ExitStack() as undo:
        for site, given in locate(model, values):
            factor = _gate_factor(site, given)
            if factor is not None:
                hook = site.projection("out").register_forward_pre_hook(partial(_apply_gate, site, factor))
                undo.callback(hook.remove)
                factors = _GATED.setdefault(site.module, [])
                factors.append(factor)
                undo.callback(factors.remove, factor)
        yield


def standing_gates(site: Site, hidden: Tensor) -> Tensor | None:
    """What open `gate` blocks multiply the heads of a site by now.

    Parameters
    ----------
    hidden : tensor [batch, query, heads * head_dim]
        What the output projection is given: for the size of the batch, the type and the device.

    Returns
    -------
    tensor [batch, heads] or [1, heads], or None
        The product over nested blocks; None if no block gates this site.
    """
    product = None
    for factor in _GATED.get(site.module, ()):
        gates = factor(hidden).unflatten(-1, (site.heads, site.head_dim))[..., 0]
        gates = gates.unsqueeze(0) if gates.ndim == 1 else _fit_batch(gates, hidden.shape[0], "gates")
        product = gates if product is None else product * gates
    return product


def _apply_gate(site: Site, factor: Callable[[Tensor], Tensor], module: nn.Module, args: tuple) -> tuple:
    """Forward pre-hook of an output projection: args[0] is [batch, query, heads * head_dim]."""
    hidden = args[0]
    gates = factor(hidden)
    if gates.ndim == 2:
        gates = _fit_batch(gates, hidden.shape[0], f"gates of {site.kind} layer {site.layer}").unsqueeze(1)
    return hidden * gates, *args[1:]


def _gate_factor(site: Site, given: dict) -> Callable[[Tensor], Tensor] | None:
    """A function from the hidden states to their factors [(batch,) heads * head_dim]; None if all of them are 1."""
    where = f"{site.kind} layer {site.layer}"
    if None in given:
        gates = given[None]
        if len(given) > 1:
            raise StudyError(f"gates of {where} are given twice, for the layer and for heads in it: choose one.")
        if not isinstance(gates, Tensor) or gates.ndim not in (1, 2) or gates.shape[-1] != site.heads:
            shape = tuple(gates.shape) if isinstance(gates, Tensor) else type(gates).__name__
            raise StudyError(f"gates of {where} must be a tensor [{site.heads}] or [batch, {site.heads}], not {shape}.")
        return lambda hidden: _spread(gates.to(hidden), site.head_dim)
    parts = [_checked_gate(given.get(head, 1.0), f"{where} head {head}") for head in range(site.heads)]
    if any(isinstance(part, Tensor) for part in parts):
        parts = [part if isinstance(part, Tensor) else torch.tensor(part, dtype=torch.float64) for part in parts]
        return lambda hidden: _spread(torch.stack([part.to(hidden) for part in parts]), site.head_dim)
    if all(part == 1.0 for part in parts):
        return None
    fixed = _spread(torch.tensor(parts, dtype=torch.float64), site.head_dim)
    return lambda hidden: fixed.to(hidden)


def _checked_gate(value: Any, where: str) -> Tensor | float:
    if isinstance(value, Tensor) and value.ndim == 0:
        return value
    try:
        number = math.nan if isinstance(value, Tensor) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise StudyError(f"the gate of {where} must be a finite number or a 0-dim tensor, not {value!r}.")
    return number


def _spread(gates: Tensor, head_dim: int) -> Tensor:
    """[..., heads] -> [..., heads * head_dim], each gate repeated over the numbers of its head."""
    return gates.unsqueeze(-1).expand(*gates.shape, head_dim).flatten(-2)


def _fit_batch(rows: Tensor, batch: int, what: str) -> Tensor:
    """Repeat each of n rows batch / n times in place, as beam search does with its inputs."""
    if rows.shape[0] == 0 or batch % rows.shape[0]:
        raise StudyError(f"{what} are for {rows.shape[0]} examples, which do not fit a batch of {batch} rows.")
    return rows if rows.shape[0] == batch else rows.repeat_interleave(batch // rows.shape[0], 0)


# -------------------- record and inject


@contextmanager
def record(model: PreTrainedModel, *reducers: Reducer, kinds: str | tuple[str, ...] | None = None) -> Iterator[None]:
    """Show the attention weights of each layer to reducers, without changing what the model computes.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model that `sites` accepts, running SDPA or eager attention.
    *reducers : callable
        Each is called as ``reducer(site, weights)`` after each attention, with weights [batch, heads, query, key] after
        the softmax and before dropout: what eager attention would return, or the injected matrix where a head has one.
        They are formed for one layer at a time and not kept; a reducer should keep sums, and must not write into them.
        They carry gradients when the forward pass does. Rows of padded queries are present and mean nothing.
    kinds : str or sequence of str, optional
        Only attention of these kinds.

    Raises
    ------
    StudyError
        If there is no reducer, the model trains with gradient checkpointing (layers would be seen twice) or runs
        another attention implementation; or as `sites`.
    """
    if not reducers:
        raise StudyError("record needs at least one reducer, a function of (site, weights).")
    if model.training and any(getattr(module, "gradient_checkpointing", False) for module in model.modules()):
        raise StudyError("recording counts layers twice under gradient checkpointing: call .eval() or disable it first.")
    with _watch(model, [_Watch(site, reducers=reducers) for site in sites(model, kinds)]):
        yield


@contextmanager
def inject(model: PreTrainedModel, mapping: Mapping[tuple, Matrices]) -> Iterator[None]:
    """Replace the attention weights of chosen heads by given matrices (Liu & Chen 2023; Liu, Shi & Chen 2021).

    The head's output becomes ``M @ V_h``; all other heads compute what they did. Gradients reach V and the output
    projection (and M, if it requires them), not Q and K of that head. As in the code of 2021, M stands where the
    weights stand after the softmax: attention dropout, if any, applies to it in training. Masks do not apply: M should
    be zero at padding. Of nested blocks that name the same head the inner one wins.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model that `sites` accepts, running SDPA or eager attention.
    mapping : mapping
        ``{(kind, layer, head): matrices}``: a tensor [query, key] for all examples or [batch, query, key], or a
        function ``f(site, query_length, key_length, batch)`` that returns one. Matrices of n examples serve n * m rows,
        as in `gate`. A decoder that continues from its KV cache has fewer queries than keys: of a [key, key] matrix it
        takes the last rows, those of its queries. Sizes grow in generation: give functions for decoder and cross.

    Raises
    ------
    StudyError
        On entry for an unknown address or a value that is neither; in the forward pass if a matrix has the wrong size.
    """
    watches = []
    for site, given in locate(model, mapping):
        for head, matrices in given.items():
            if head is None or not (callable(matrices) or (isinstance(matrices, Tensor) and matrices.ndim in (2, 3))):
                raise StudyError(
                    f"injection into {site.kind} layer {site.layer} takes a function or a tensor [query, key] or"
                    f" [batch, query, key] for each head, not {type(matrices).__name__} for head {head}."
                )
        watches.append(_Watch(site, matrices=given))
    with _watch(model, watches):
        yield


def standing_injections(site: Site) -> list[int]:
    """Heads of a site whose attention open `inject` blocks replace now."""
    return sorted({head for watch in _WATCHED.get(site.module, ()) for head in watch.matrices})


@dataclass(eq=False)
class _Watch:
    """What one block asks of one attention module."""

    site: Site
    reducers: tuple[Reducer, ...] = ()
    matrices: dict[int, Matrices] = field(default_factory=dict)


_WATCHED: WeakKeyDictionary[nn.Module, list[_Watch]] = WeakKeyDictionary()  # attention module -> its open blocks
_NAMES = {plain: f"story_of_heads_over_{plain}" for plain in ("sdpa", "eager")}
_PLAIN = {name: plain for plain, name in _NAMES.items()}


@contextmanager
def _watch(model: PreTrainedModel, watches: list[_Watch]) -> Iterator[None]:
    """Keep the watches open, and the model on the attention function that serves them."""
    modules = [site.module for site in sites(model)]
    plain = _plain_implementation(model, modules)
    try:
        for watch in watches:
            _WATCHED.setdefault(watch.site.module, []).append(watch)
        model.set_attn_implementation(_NAMES[plain])
        if any(module.config._attn_implementation != _NAMES[plain] for module in modules):
            raise StudyError(f"{type(model).__name__} does not let its attention implementation be set.")
        yield
    finally:
        for watch in watches:
            left = [other for other in _WATCHED.get(watch.site.module, ()) if other is not watch]
            if left:
                _WATCHED[watch.site.module] = left
            else:
                _WATCHED.pop(watch.site.module, None)
        # another open block may need the name still: one of this model, or of a model that shares its config
        needed = {id(module.config) for module in _WATCHED}
        if not any(id(module.config) in needed for module in modules):
            model.set_attn_implementation(plain)


def _plain_implementation(model: PreTrainedModel, modules: list[nn.Module]) -> str:
    """The model's own attention implementation, also while it runs under one of our names."""
    running = {module.config._attn_implementation for module in modules}
    plain = {_PLAIN.get(name, name) for name in running}
    if len(plain) != 1 or not plain <= set(_NAMES):
        raise StudyError(
            f"{type(model).__name__} runs {' and '.join(sorted(map(str, plain)))} attention; to record or inject, call"
            " model.set_attn_implementation('sdpa') or ('eager') first."
        )
    return plain.pop()


def _attend(plain: str, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options):
    """The registered attention function: the plain one, then what the open blocks of this module ask for.

    Shapes: query [batch, heads, query, head_dim], key and value [batch, heads, key, head_dim], mask boolean (SDPA),
    additive (eager) or None; returns ([batch, query, heads, head_dim], weights or None).
    """
    eager = sys.modules[type(module).__module__].eager_attention_forward  # each family's modelling file has its own
    attention = sdpa_attention_forward if plain == "sdpa" else eager
    out, weights = attention(module, query, key, value, mask, **options)
    watches = _WATCHED.get(module, ())
    matrices, site = {}, None
    for watch in watches:
        matrices.update(watch.matrices)
        site = watch.site
    if matrices:
        size = (query.shape[2], key.shape[2], query.shape[0])
        heads = torch.tensor(list(matrices), device=value.device)
        injected = torch.stack([_fit_matrix(site, head, given, *size).to(value) for head, given in matrices.items()], 1)
        dropped = nn.functional.dropout(injected, options.get("dropout", 0.0))  # callers pass 0 outside training
        replaced = (dropped @ value.index_select(1, heads)).transpose(1, 2)
        out = out.index_copy(2, heads, replaced.to(out.dtype))  # not in place: SDPA keeps its output for backward
        weights = weights if weights is None else weights.index_copy(1, heads, dropped.to(weights.dtype))
    reducers = [reducer for watch in watches for reducer in watch.reducers]
    if reducers:
        # the family's own eager function forms the weights; a value of width 0 spares it the second product
        bare = {**options, "dropout": 0.0}
        shown = eager(module, query, key, value[..., :0], _additive_mask(module, query, key, mask, options), **bare)[1]
        if matrices:
            shown = shown.index_copy(1, heads, injected.to(shown.dtype))
        for reducer in reducers:
            reducer(site, shown)
    return out, weights


def _additive_mask(module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, options: dict) -> Tensor | None:
    """The mask that SDPA was given, spelled out as eager attention adds it: 0 or the least number of the type."""
    if mask is None:
        causal = options.get("is_causal")
        if not (module.is_causal if causal is None else causal) or query.shape[2] == 1:
            return None
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril()
    if mask.dtype == torch.bool:
        mask = torch.where(mask, query.new_zeros(()), torch.finfo(query.dtype).min)
    return mask


def _fit_matrix(site: Site, head: int, given: Matrices, query_length: int, key_length: int, batch: int) -> Tensor:
    """The matrix of one head as [batch, query, key]."""
    matrix = given(site, query_length, key_length, batch) if callable(given) else given
    matrix = matrix if matrix.ndim == 3 else matrix.unsqueeze(0)
    if site.kind == "decoder" and matrix.shape[-2] == key_length > query_length:
        matrix = matrix[:, key_length - query_length :]  # row i belongs to position i; the cache holds the earlier ones
    if matrix.shape[1:] != (query_length, key_length):
        raise StudyError(
            f"the matrix injected into {site.kind} layer {site.layer} head {head} is {tuple(matrix.shape[1:])},"
            f" the attention there is {(query_length, key_length)} (query, key)."
        )
    return _fit_batch(matrix, batch, f"matrices of {site.kind} layer {site.layer} head {head}")


# both registries: without a mask function of the same name, transformers drops every mask and says nothing
for _plain, _mask in (("sdpa", sdpa_mask), ("eager", eager_mask)):
    AttentionInterface.register(_NAMES[_plain], partial(_attend, _plain))
    AttentionMaskInterface.register(_NAMES[_plain], _mask)
