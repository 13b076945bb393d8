"""What relevance passes through by the rule `alpha_beta`: the layers of a model as blocks, and a tape of one forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from helpers.heads import Site, compat, record, sites
from helpers.heads.attention import standing_injections
from helpers.heads.gates import standing_gates
from helpers.study import StudyError

# inside one layer: (norm, attention) of each attention block; norm, inner map, activation and outer map of the feed-forward one
_BART = (
    (("self_attn_layer_norm", "self_attn"), ("encoder_attn_layer_norm", "encoder_attn")),
    ("final_layer_norm", "fc1", "activation_fn", "fc2"),
)
_T5_FEED = "layer.-1.DenseReluDense"
_T5 = (
    (("layer.0.layer_norm", "layer.0.SelfAttention"), ("layer.1.layer_norm", "layer.1.EncDecAttention")),
    ("layer.-1.layer_norm", f"{_T5_FEED}.wi", f"{_T5_FEED}.act", f"{_T5_FEED}.wo"),
)
_FAMILIES = {**dict.fromkeys(("bart", "marian", "mbart", "pegasus", "opt"), _BART), "t5": _T5}


@dataclass(frozen=True)
class Norm:
    """A LayerNorm or, where it is not `centred`, an RMSNorm without bias."""

    module: nn.Module
    weight: Tensor | float  # gain [d], or 1 where the norm has none
    centred: bool
    eps: float

    def statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x minus its mean (as it is, for RMSNorm) [..., d] and one over its standard deviation [..., 1]."""
        if not self.centred:  # T5 takes the variance in float32 whatever its weights are
            return x, torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps).to(x)
        x = x - x.mean(-1, keepdim=True)
        return x, torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)


@dataclass(frozen=True, eq=False)
class Block:
    """One block, norm(x + f(x)) or x + f(norm(x)): attention at a `site`, or a feed-forward map where there is none."""

    norm: Norm
    inner: tuple[nn.Linear, ...]  # q, k and v, or one
    out: nn.Linear
    site: Site | None


@dataclass(frozen=True)
class Stack:
    """Blocks from the bottom up; `final` is the norm after the last one, if there is one."""

    blocks: tuple[Block, ...]
    pre_norm: bool
    final: Norm | None


@dataclass(frozen=True)
class Layout:
    """A model as relevance sees it: encoder (None for decoder-only), decoder, and the linear maps up to the logits."""

    encoder: Stack | None
    decoder: Stack
    project: nn.Linear | None
    head: nn.Linear

    def modules(self) -> Iterator[nn.Module]:
        """Every module whose input and output the tape keeps."""
        for stack in filter(None, (self.encoder, self.decoder)):
            for block in stack.blocks:
                yield block.norm.module
                yield block.out
                yield from block.inner
            if stack.final:
                yield stack.final.module
        if self.project is not None:
            yield self.project
        yield self.head


def known(model) -> bool:
    """Whether the layers of a model are known here."""
    return model.config.model_type in _FAMILIES


def layout(model) -> Layout:
    """Describe a model; a family, layer or activation that the rule does not cover is refused by its name."""
    attention = {site.module: site for site in sites(model)}
    kind, names = model.config.model_type, {module: name for name, module in model.named_modules()}
    if kind not in _FAMILIES:
        raise StudyError(
            f"The relevance rule alpha_beta does not cover {type(model).__name__} (model type {kind}), but"
            f" {', '.join(sorted(_FAMILIES))}: choose attnlrp or cp."
        )
    head = model.get_output_embeddings()
    if head is None:
        raise StudyError(f"{type(model).__name__} has no output layer over a vocabulary: relevance starts at a logit.")
    stacks = {}
    for side in ("encoder", "decoder") if model.config.is_encoder_decoder else ("decoder",):
        part = getattr(model.base_model, side)
        layers = part.block if kind == "t5" else part.layers
        blocks = [block for layer in layers for block in _blocks(layer, _FAMILIES[kind], attention, names)]
        final = getattr(part, "final_layer_norm" if kind in ("t5", "opt") else "layer_norm", None)
        pre_norm = model.config.do_layer_norm_before if kind == "opt" else kind in ("mbart", "pegasus", "t5")
        stacks[side] = Stack(tuple(blocks), pre_norm, None if final is None else _norm(final, names))
    project = getattr(model.base_model.decoder, "project_out", None)
    for linear in filter(None, (project, head)):
        _linear(linear, names)
    plan = Layout(stacks.get("encoder"), stacks["decoder"], project, head)
    seen: set[nn.Module] = set()
    for module in plan.modules():
        if module in seen:  # one tape entry a module
            raise StudyError(f"No relevance rule covers {names[module]} ({type(module).__name__}): it is used in two places.")
        seen.add(module)
    return plan


def _blocks(layer: nn.Module, family: tuple, attention: Mapping[nn.Module, Site], names: Mapping) -> list[Block]:
    """The blocks of one layer; every parameter in it must belong to one of them."""
    blocks = []
    for norm, inside in family[0]:
        if (module := _inside(layer, inside)) in attention:
            site, before = attention[module], _norm(_inside(layer, norm), names)
            q, k, v, out = (_linear(site.projection(which), names) for which in ("q", "k", "v", "out"))
            blocks.append(Block(before, (q, k, v), out, site))
    norm, inner, act, outer = (_inside(layer, path) for path in family[1])
    if inner is None:
        raise StudyError("The rule alpha_beta has no rule for gated feed-forward blocks: choose attnlrp or cp.")
    if not compat.is_activation(act):
        raise _uncovered(act, names)
    blocks.append(Block(_norm(norm, names), (_linear(inner, names),), _linear(outer, names), None))
    known = {module for block in blocks for module in (block.norm.module, *block.inner, block.out)}
    for module in layer.modules():
        weights = [name for name, _ in module.named_parameters(recurse=False)]
        # T5 adds its relative position bias to the scores: a constant for the rule
        if weights and module not in known and not names[module].endswith("relative_attention_bias"):
            raise _uncovered(module, names)
    return blocks


def _inside(module: Any, path: str) -> Any:
    """The module at a path below another; None where there is none."""
    for name in path.split("."):
        module = module[int(name)] if name.lstrip("-").isdigit() else getattr(module, name, None)
        if module is None or (isinstance(module, nn.ModuleList) and not len(module)):
            return None
    return module


def _norm(module: Any, names: Mapping) -> Norm:
    if type(module).forward is nn.LayerNorm.forward:
        return Norm(module, 1.0 if module.weight is None else module.weight, True, module.eps)
    if (eps := compat.rms_eps(module)) is not None:
        return Norm(module, module.weight, False, eps)
    raise _uncovered(module, names)


def _linear(module: Any, names: Mapping) -> nn.Linear:
    if type(module).forward is not nn.Linear.forward:  # a quantised or wrapped map computes something else
        raise _uncovered(module, names)
    return module


def _uncovered(module: Any, names: Mapping) -> StudyError:
    return StudyError(f"No relevance rule covers {names.get(module, 'an activation')} ({type(module).__name__}).")


# --- one forward pass ------------------------------------------------------------------------------------------------


Found = dict[tuple[str, int], Tensor]  # relevance [B, targets, heads], or summed over targets [B, heads], by (kind, layer)


@dataclass
class Tape:
    """What one forward pass over B sentences computed, by module or by (kind, layer). n query and m key positions."""

    given: dict[nn.Module, Tensor] = field(default_factory=dict)  # a module's input [B, n, d]
    made: dict[nn.Module, Tensor] = field(default_factory=dict)  # its output
    weights: dict[tuple[str, int], Tensor] = field(default_factory=dict)  # [B, heads, n, m], injected ones among them
    gates: dict[tuple[str, int], Tensor | None] = field(default_factory=dict)  # [B or 1, heads]
    injected: dict[tuple[str, int], list[int]] = field(default_factory=dict)  # heads
    top: Tensor = field(init=False)  # the token with the largest logit at every position [B, n]

    def heads(self, block: Block, site: Site) -> list[Tensor]:
        """Queries, keys and values of a block, head by head: [B, heads, positions, head_dim] each."""
        size = (site.heads, site.head_dim)
        return [self.made[linear].unflatten(-1, size).transpose(1, 2) for linear in block.inner]

    def constant(self, site: Site) -> Tensor:
        """Whether a head's weights were injected, and do not come from queries and keys: bool [B * heads]."""
        weights = self.weights[site.kind, site.layer]
        constant = torch.zeros(site.heads, dtype=torch.bool, device=weights.device)
        constant[self.injected[site.kind, site.layer]] = True
        return constant.repeat(len(weights))


@contextmanager
def _watching(model, plan: Layout, tape: Tape, rows: int) -> Iterator[None]:
    def keep(module: nn.Module, args: tuple, out: Tensor) -> None:
        # OPT flattens sentences in its feed-forward blocks
        given, made = (t if t.ndim == 3 else t.unflatten(0, (rows, -1)) for t in (args[0], out))
        tape.given[module] = given
        if module is not plan.head:
            tape.made[module] = made

    def weights(site: Site, attention: Tensor) -> None:
        tape.weights[site.kind, site.layer] = attention

    with ExitStack() as undo:
        for module in plan.modules():
            undo.callback(module.register_forward_hook(keep).remove)
        undo.enter_context(record(model, weights))
        yield


def play(model, plan: Layout, fed: Mapping[str, Tensor]) -> Tape:
    """Run the model once, without gradients, and keep what relevance needs."""
    tape = Tape()
    with torch.no_grad(), _watching(model, plan, tape, len(fed["input_ids"])):
        tape.top = model(**fed, use_cache=False).logits.argmax(-1)
        for site in sites(model):
            where = site.kind, site.layer
            tape.gates[where] = standing_gates(site, tape.given[site.projection("out")])
            tape.injected[where] = standing_injections(site)
    return tape
