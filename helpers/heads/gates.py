"""Gates on the heads of an unmodified model, for as long as a ``with`` block lasts.

`gate` multiplies what a head hands to the output projection, by a hook on that projection: attention itself is not
touched. The hook *is* the gate: who wants to know what gates a module has looks through its hooks, so a copy of the model
made inside the block is gated as the model is. Copies share the hook: when the block ends, it ends for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import pandas as pd
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from helpers.heads import compat
from helpers.heads.families import Site, locate
from helpers.study import StudyError


@contextmanager
def gate(model: PreTrainedModel, values: Mapping[tuple, Any] | pd.Series) -> Iterator[None]:
    """Multiply heads by gates before the output projection (Voita et al. 2019, section 6.1).

    Blocks nest, also with `record` and `inject`; gates of nested blocks multiply. Everything is undone when the block ends,
    also on an exception. With gradient checkpointing, run ``backward`` inside the block: layers are computed again there.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Any model that `sites` accepts. Copies made of it inside the block are gated too, until the block ends.
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
    factors = [(site, _factor(site, given)) for site, given in locate(model, values)]
    gates = [(site.projection("out"), Gate(site, factor)) for site, factor in factors if factor is not None]
    with hooked(gates):
        yield


def standing_gates(site: Site, hidden: Tensor) -> Tensor | None:
    """What open `gate` blocks multiply the heads of a site by now: [batch or 1, heads], or None if no block gates it.

    `hidden` is what the output projection is given, for the size of the batch, the type and the device.
    """
    product = None
    for hook in open_hooks(site.projection("out"), Gate):
        gates = hook.values(hidden)
        product = gates if product is None else product * gates
    return product


def check_computed_once(model: PreTrainedModel) -> None:
    """Refuse a model that trains with gradient checkpointing: its layers would be computed again without the block's gates."""
    if model.training and compat.checkpointing(model):
        raise StudyError(
            "With gradient checkpointing layers are computed again after the gates are gone: switch it off"
            " (activation_checkpointing_disable), or open heads.gate yourself and call backward inside the block."
        )


class Hook:
    """What a block keeps at a module until it ends: a forward pre-hook, shared by the module and its copies."""

    open = True  # whether the block has not ended
    keywords = False  # whether it is also given what the module is given by name

    def __deepcopy__(self, memo: dict) -> Hook:
        return self

    def __getstate__(self) -> dict[str, Any]:
        if self.open:  # what pickle makes of the hook would never know that the block has ended
            raise StudyError("a model cannot be pickled inside an open block of gate, record or inject: leave it first.")
        return vars(self)

    def end(self) -> None:
        """Let go of all that was asked: from now on copies compute what they did without."""
        self.__dict__ = {"open": False}

    def __call__(self, module: nn.Module, args: tuple, *keywords: dict) -> tuple | None:
        """Change or leave what the module is given."""


Kind = TypeVar("Kind", bound=Hook)


class Gate(Hook):
    """The gates of one block at one output projection.

    `factor` takes what the projection is given to gates [heads] or [batch, heads] of its type, on its device.
    """

    def __init__(self, site: Site, factor: Callable[[Tensor], Tensor]) -> None:
        self.where, self.head_dim, self.factor = f"{site.kind} layer {site.layer}", site.head_dim, factor

    def values(self, hidden: Tensor) -> Tensor:
        """Gates [batch, heads], or [1, heads] for all examples, of what the output projection is given."""
        gates = self.factor(hidden)
        return gates.unsqueeze(0) if gates.ndim == 1 else fit_batch(gates, hidden.shape[0], f"gates of {self.where}")

    def __call__(self, module: nn.Module, args: tuple, *keywords: dict) -> tuple | None:
        if not self.open:
            return None
        hidden = args[0]
        gates = self.values(hidden).unsqueeze(-1)
        gates = gates.expand(*gates.shape[:-1], self.head_dim).flatten(-2)  # each over the numbers of its head
        return hidden * gates.unsqueeze(1), *args[1:]


@contextmanager
def hooked(hooks: Iterable[tuple[nn.Module, Hook]]) -> Iterator[None]:
    """Keep hooks such as `Gate` at their modules until the block ends."""
    with ExitStack() as undo:
        for module, hook in hooks:
            undo.callback(hook.end)
            undo.callback(module.register_forward_pre_hook(hook, with_kwargs=hook.keywords).remove)
        yield


def open_hooks(module: nn.Module, kind: type[Kind]) -> list[Kind]:
    """Hooks of one class that open blocks keep at a module, the outermost block's first."""
    return [hook for hook in compat.pre_hooks(module) if isinstance(hook, kind) and hook.open]


def fit_batch(rows: Tensor, batch: int, what: str) -> Tensor:
    """Repeat each of n rows batch / n times in place, as beam search does with its inputs; `what` says of what in an error."""
    if rows.shape[0] == 0 or batch % rows.shape[0]:
        raise StudyError(f"{what} are for {rows.shape[0]} examples, which do not fit a batch of {batch} rows.")
    return rows if rows.shape[0] == batch else rows.repeat_interleave(batch // rows.shape[0], 0)


def _factor(site: Site, given: dict) -> Callable[[Tensor], Tensor] | None:
    """A function from the hidden states to gates [(batch,) heads]; None if all of them are 1."""
    where = f"{site.kind} layer {site.layer}"
    if None in given:
        gates = given[None]
        if len(given) > 1:
            raise StudyError(f"gates of {where} are given twice, for the layer and for heads in it: choose one.")
        if not isinstance(gates, Tensor) or gates.ndim not in (1, 2) or gates.shape[-1] != site.heads:
            shape = tuple(gates.shape) if isinstance(gates, Tensor) else type(gates).__name__
            raise StudyError(f"gates of {where} must be a tensor [{site.heads}] or [batch, {site.heads}], not {shape}.")
        return gates.to
    parts = [_checked_gate(given.get(head, 1.0), f"{where} head {head}") for head in range(site.heads)]
    if any(isinstance(part, Tensor) for part in parts):
        tensors = [part if isinstance(part, Tensor) else torch.tensor(part, dtype=torch.float64) for part in parts]
        return lambda hidden: torch.stack([tensor.to(hidden) for tensor in tensors])
    return None if all(part == 1.0 for part in parts) else torch.tensor(parts, dtype=torch.float64).to


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
