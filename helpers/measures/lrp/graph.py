"""The rules `cp` and `attnlrp` by differentiation: what a rule holds constant, halves or linearises is so in the model's graph.

The relevance of a head is what its gate's derivative would be in such a graph: the head's output times the gradient of the
explained logit there. It needs one backward pass a target position, or one for the sums over all targets of a sentence, and no
knowledge of how layers are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from helpers.heads import compat, sites
from helpers.heads.attention import attending
from helpers.measures.lrp.layout import Found
from helpers.study import StudyError

# what gates a feed-forward block, and what is gated; one name: both, the gate first
_GATED = (("gate_proj", "up_proj"), ("wi_0", "wi_1"), ("gate_up_proj",))
_SEEING = ("model.vision_tower", "model.multi_modal_projector")  # what only images go through


def halved(x: Tensor) -> Tensor:
    """x, of whose gradient half goes on: a factor's share of the relevance of a product (Achtibat et al. 2024, equation 13)."""
    same = x.view_as(x)
    if same.requires_grad:
        same.register_hook(lambda slope: 0.5 * slope)
    return same


def proportional(x: Tensor, out: Tensor) -> Tensor:
    """`out` as x times a constant: relevance passes an elementwise map, or a norm without mean, unchanged."""
    return x * torch.where(x == 0, 0.0, out / x).detach()


class Graph:
    """A model whose gradients are relevance by ``cp`` or ``attnlrp``; a part that no rule covers is refused by its name."""

    def __init__(self, model, rule: str, kinds: tuple[str, ...]) -> None:
        self.model, self.half, self.head = model, rule == "attnlrp", model.get_output_embeddings()
        if self.head is None:
            raise StudyError(f"{type(model).__name__} has no output layer over a vocabulary: relevance starts at a logit.")
        self.sites = [site for site in sites(model, kinds) if site.heads]
        _check_gated(model)
        for name, module in _reading(model):
            known = isinstance(module, nn.LayerNorm) or compat.is_rms_norm(module) or compat.is_activation(module)
            if not (known or compat.is_linear(module) or next(module.children(), None)):
                raise StudyError(f"No relevance rule covers {name} ({type(module).__name__}).")

    def explain(self, fed: Mapping[str, Tensor], live: Tensor, summed: bool = False) -> Found:
        """Head relevance of all live targets of a batch: {(kind, layer): [B, n, heads]}, or their sums [B, heads].

        All that the rules hold constant is the same for every target, so relevance is linear in what it starts from: the
        sums are one backward pass from all targets at once.
        """
        start, outputs = self.started(fed)
        if summed:
            return self._relevance(start, outputs, live.to(start))
        heads: Found = {(site.kind, site.layer): start.new_zeros(*live.shape, site.heads) for site in self.sites}
        targets = live.any(0).nonzero().flatten().tolist()
        for number, target in enumerate(targets):
            chosen = torch.zeros_like(start)
            chosen[:, target] = 1.0
            for place, relevance in self._relevance(start, outputs, chosen, number + 1 < len(targets)).items():
                heads[place][:, target] = relevance
        return heads

    def started(self, fed: Mapping[str, Tensor]) -> tuple[Tensor, list[Tensor]]:
        """The largest logits [B, n] of a forward pass by the rule, where relevance starts; what each output map read."""
        top: list[Tensor] = []
        given: dict[int, Tensor] = {}

        def keep(place: int, module: nn.Module, args: tuple) -> tuple:
            given[place] = args[0] if args[0].requires_grad else args[0].detach().requires_grad_()
            return given[place], *args[1:]

        with torch.enable_grad(), ExitStack() as undo, attending(self.model, self._attend):
            for module, hook in self._changes():
                undo.callback(module.register_forward_hook(hook).remove)
            for place, site in enumerate(self.sites):
                undo.callback(site.projection("out").register_forward_pre_hook(partial(keep, place)).remove)
            undo.callback(self.head.register_forward_hook(lambda module, args, out: top.append(out)).remove)
            logits, bias = self.model(**fed, use_cache=False).logits.detach(), compat.logits_bias(self.model)
            best = logits.argmax(-1, keepdim=True)
            start = (top[0] if bias is None else top[0] + bias).gather(-1, best)  # before a cap, which lets relevance pass
            return proportional(start, logits.gather(-1, best)).squeeze(-1), [given[place] for place in range(len(self.sites))]

    def _relevance(self, start: Tensor, outputs: list[Tensor], weights: Tensor, again: bool = False) -> Found:
        """Relevance of heads {(kind, layer): float64 [B, heads]} that starts with these weights; `again` keeps the graph."""
        slopes = torch.autograd.grad(start, outputs, weights, retain_graph=again, allow_unused=True)
        heads: Found = {}
        for site, output, slope in zip(self.sites, outputs, slopes, strict=True):
            product = torch.zeros_like(output) if slope is None else output.detach() * slope
            by_head = product.unflatten(-1, (site.heads, site.head_dim))
            heads[site.kind, site.layer] = by_head.sum((1, 3), dtype=torch.float64)
        return heads

    def numbers(self, targets: int, source: int) -> tuple[float, float]:
        """Numbers that one sentence of these lengths needs, about: its graph and the gradients of a target; 0 for more."""
        length = max(targets, source)
        block = sum(parameter.shape[0] for parameter in self.model.base_model.parameters() if parameter.ndim == 2)
        maps = 8 * sum(site.heads for site in self.sites) * length**2
        return 2.0 * length * self.head.weight.shape[0] + 6.0 * length * block + maps, 0.0

    def _changes(self) -> Iterator[tuple[nn.Module, Callable]]:
        """Modules that are not linear, or whose output is a factor, and what makes of their output what the rule says."""
        for name, module in self.model.named_modules():
            last = name.rpartition(".")[2]
            if isinstance(module, nn.LayerNorm):
                yield module, _centred
            elif compat.is_rms_norm(module) or compat.is_activation(module):
                yield module, lambda module, args, out: proportional(args[0], out)
            for names in _GATED:
                if last in names:
                    yield module, self._gated(last == names[0], len(names) == 1)
        for ends in filter(
            None, map(compat.bare_activation, self.model.modules())
        ):  # after the norm's own: the last one counts
            kept: list[Tensor] = []
            yield ends[0], lambda module, args, out, kept=kept: kept.append(out)
            yield ends[1], lambda module, args, out, kept=kept: _centred(module, (proportional(kept.pop(), args[0]),), out)

    def _gated(self, gate: bool, both: bool) -> Callable:
        """What is done to the output of a gate, of what it gates, or of both in one: halved, or the gate held constant."""

        def change(module: nn.Module, args: tuple, out: Tensor) -> Tensor:
            if self.half:
                return halved(out)
            if both:
                gates, gated = out.chunk(2, -1)
                return torch.cat([gates.detach(), gated], -1)
            return out.detach() if gate else out

        return change

    def _attend(self, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options) -> tuple:
        """An attention function as `helpers.heads.compat.register` takes it, by the rule."""
        share = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(share, 1) for part in (key, value))
        if self.half:
            query, key, value = map(halved, (query, key, value))
        scale = options.get("scaling")  # which OPT has put into the queries already
        scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
        if cap := options.get("softcap"):
            scores = proportional(scores, cap * torch.tanh(scores / cap))
        if (position := options.get("position_bias")) is not None:  # T5's; it keeps its share
            scores = scores + position
        added = compat.additive_mask(module, query, key, mask, options)
        weights = torch.softmax(scores if added is None else scores + added, -1)
        weights = halved(weights) if self.half else weights.detach()
        return (weights @ value).transpose(1, 2).contiguous(), None


def _reading(model) -> Iterator[tuple[str, nn.Module]]:
    """Modules that text goes through, by name."""
    return ((name, module) for name, module in model.named_modules() if not name.startswith(_SEEING))


def _check_gated(model) -> None:
    """Refuse layers that may multiply two maps of their input, where the names of gate and gated are not known."""
    known = {name for names in _GATED for name in names}
    other = {part for site in sites(model) for part in (site.module, site.holder)}
    for name, module in _reading(model):
        maps = {own: compat.output_matrix(m) for own, m in module.named_children() if compat.is_map(m)}
        (made, read), (last, taken) = (m.shape for m in maps.values()) if len(maps) == 2 else ((0, 0), (0, 0))
        apart = module in other or model.get_output_embeddings() in module.children() or known & set(maps)
        if not apart and (len(maps) > 2 or made != taken or read != last):
            raise StudyError(
                f"No relevance rule covers {name} ({type(module).__name__}): it may be a gated feed-forward layer, and which of"
                f" {', '.join(maps)} is the gate is not known; name them gate_proj and up_proj, or wi_0 and wi_1."
            )


def _centred(module: nn.Module, args: tuple, out: Tensor) -> Tensor:
    """A LayerNorm whose standard deviation is a constant."""
    centred = args[0] - args[0].mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + module.eps).detach()  # type: ignore[operator]
    scaled = centred * scale * (1.0 if module.weight is None else module.weight)
    return scaled if module.bias is None else scaled + module.bias
