"""Record and inject: see or replace the attention weights of an unmodified model, for as long as a ``with`` block lasts.

Both need the attention weights, so they run the model's own attention (SDPA or eager) under another registered name, which
adds what was asked for modules that are watched and nothing for all others.

They nest in any order, also with `gate`. Everything is undone when the block ends, also on an exception; nothing is added to
the model's state. Copies of the model made inside the block are watched too, until it ends. With gradient checkpointing, run
``backward`` inside the block: layers are computed again there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from helpers.heads import compat
from helpers.heads.families import Site, locate, sites
from helpers.heads.gates import Hook, fit_batch, hooked, open_hooks
from helpers.study import StudyError

Reducer = Callable[[Site, Tensor], Any]
Matrices = Tensor | Callable[[Site, int, int, int], Tensor]


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
    if model.training and compat.checkpointing(model):
        raise StudyError("recording counts layers twice under gradient checkpointing: call .eval() or disable it first.")
    with _watching(model, [Watch(site, reducers=reducers) for site in sites(model, kinds)]):
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
        takes the last rows, those of its queries. Keys count from the first position, also those that the cache of a
        sliding window let go of. Sizes grow in generation: give functions for decoder and cross.
    Raises
    ------
    StudyError
        On entry for an unknown address or a value that is neither; in the forward pass if a matrix has the wrong size,
        reads keys that the cache has no longer, or looks at later positions in a decoder.
    """
    watches = []
    for site, given in locate(model, mapping):
        for head, matrices in given.items():
            if head is None or not (callable(matrices) or (isinstance(matrices, Tensor) and matrices.ndim in (2, 3))):
                raise StudyError(
                    f"injection into {site.kind} layer {site.layer} takes a function or a tensor [query, key] or"
                    f" [batch, query, key] for each head, not {type(matrices).__name__} for head {head}."
                )
        watches.append(Watch(site, matrices=given))
    with _watching(model, watches):
        yield


@contextmanager
def attending(model: PreTrainedModel, function: Callable) -> Iterator[None]:
    """Run attention by another function, with the heads that `inject` gave matrices as they are.

    It is as `helpers.heads.compat.register` takes it. Of nested blocks the inner one's is run.
    """
    with _watching(model, [Watch(site, attend=function) for site in sites(model)]):
        yield


def standing_injections(site: Site) -> list[int]:
    """Heads of a site whose attention open `inject` blocks replace now."""
    return sorted({head for watch in open_hooks(site.module, Watch) for head in watch.matrices})


class Watch(Hook):
    """What one block of `record`, `inject` or `attending` asks of one attention module.

    It is a forward pre-hook that goes with the module and its copies, and changes nothing; it notes how many positions the
    cache had seen before.
    """

    keywords = True

    def __init__(
        self,
        site: Site,
        reducers: tuple[Reducer, ...] = (),
        matrices: Mapping[int, Matrices] | None = None,
        attend: Callable | None = None,
    ) -> None:
        self.site, self.reducers, self.matrices, self.attend = site, reducers, matrices or {}, attend
        self.seen: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()

    def __call__(self, module: nn.Module, args: tuple, *keywords: dict) -> None:
        if self.open and self.matrices and self.site.kind == "decoder":
            self.seen[module] = compat.positions_seen(module, keywords[0])


_NAMES = {plain: f"story_of_heads_over_{plain}" for plain in ("sdpa", "eager")}
_PLAIN = {name: plain for plain, name in _NAMES.items()}
_NEEDED: Counter[int] = Counter()  # id of a config -> open blocks of models that read their attention's name there


@contextmanager
def _watching(model: PreTrainedModel, watches: list[Watch]) -> Iterator[None]:
    """Keep the watches open, and the model on the attention function that serves them."""
    modules = [site.module for site in sites(model)]
    plain, configs = _plain_implementation(model, modules), {id(module.config) for module in modules}
    _NEEDED.update(configs)
    try:
        model.set_attn_implementation(_NAMES[plain])
        if any(compat.implementation(module) != _NAMES[plain] for module in modules):
            raise StudyError(f"{type(model).__name__} does not let its attention implementation be set.")
        with hooked((watch.site.module, watch) for watch in watches):
            yield
    finally:
        _NEEDED.subtract(configs)
        # another open block may need the name still: one of this model, or of a model that shares its config
        if not any(_NEEDED[config] for config in configs):
            model.set_attn_implementation(plain)


def _plain_implementation(model: PreTrainedModel, modules: list[nn.Module]) -> str:
    """The model's own attention implementation, also while it runs under one of our names."""
    running = {compat.implementation(module) for module in modules}
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
    watches = open_hooks(module, Watch)
    others = [watch.attend for watch in watches if watch.attend]
    attend = others[-1] if others else compat.plain_attention(module, plain)
    out, weights = attend(module, query, key, value, mask, **options)
    if not watches:
        return out, weights
    site = watches[0].site.of_copy(module)
    matrices: dict[int, Matrices] = {}
    for watch in watches:
        matrices.update(watch.matrices)
    if matrices:
        past = next((watch.seen[module] for watch in watches if module in watch.seen), None)
        length = key.shape[2] if past is None else past + query.shape[2]
        size = (query.shape[2], length, key.shape[2], query.shape[0])
        heads = torch.tensor(list(matrices), device=value.device)
        share = query.shape[1] // value.shape[1]  # query heads that read one key-value head
        groups = heads // share
        fitted = [_fit_matrix(site, head, given, *size) for head, given in matrices.items()]
        injected = torch.stack([matrix.to(value) for matrix in fitted], 1)
        dropped = nn.functional.dropout(injected, options.get("dropout", 0.0))  # callers pass 0 outside training
        replaced = (dropped @ value.index_select(1, groups)).transpose(1, 2)
        out = out.index_copy(2, heads, replaced.to(out.dtype))  # not in place: SDPA keeps its output for backward
        weights = weights if weights is None else weights.index_copy(1, heads, dropped.to(weights.dtype))
    reducers = [reducer for watch in watches for reducer in watch.reducers]
    if reducers:
        # the family's own eager function forms the weights; a value of width 0 spares it the second product
        bare = {**options, "dropout": 0.0}
        added = compat.additive_mask(module, query, key, mask, options)
        seen = compat.plain_attention(module, "eager")(module, query, key, value[..., :0], added, **bare)[1]
        if matrices:
            seen = seen.index_copy(1, heads, injected.to(seen.dtype))
        for reducer in reducers:
            reducer(site, seen)
    return out, weights


def _fit_matrix(site: Site, head: int, given: Matrices, query_length: int, key_length: int, held: int, batch: int) -> Tensor:
    """The matrix of one head as [batch, query, held key].

    Of `key_length` keys the cache of a sliding window holds the last; one of fixed size has empty places behind them.
    """
    matrix = given(site, query_length, key_length, batch) if callable(given) else given
    matrix = matrix if matrix.ndim == 3 else matrix.unsqueeze(0)
    if site.kind == "decoder" and matrix.shape[-2] == key_length > query_length:
        matrix = matrix[:, key_length - query_length :]  # row i belongs to position i; the cache holds the earlier ones
    if matrix.shape[1:] != (query_length, key_length):
        raise StudyError(
            f"the matrix injected into {site.kind} layer {site.layer} head {head} is {tuple(matrix.shape[1:])},"
            f" the attention there is {(query_length, key_length)} (query, key)."
        )
    if site.kind == "decoder" and matrix.triu(key_length - query_length + 1).any():
        raise StudyError(
            f"the matrix injected into decoder layer {site.layer} head {head} looks at later tokens, which are still to be"
            " predicted: let it be 0 above the diagonal."
        )
    if held < key_length and matrix[..., : key_length - held].any():
        raise StudyError(
            f"the matrix injected into {site.kind} layer {site.layer} head {head} reads keys before the sliding window, which"
            " the cache has no longer: generate with use_cache=False, or let it be 0 there."
        )
    if held != key_length:
        matrix = nn.functional.pad(matrix, (min(0, held - key_length), max(0, held - key_length)))
    return fit_batch(matrix, batch, f"matrices of {site.kind} layer {site.layer} head {head}")


for _plain, _name in _NAMES.items():
    compat.register(_name, partial(_attend, _plain), _plain)
