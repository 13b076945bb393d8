"""What relevance passes through: the layers of a model as a list of blocks, and a tape of one forward pass over them."""

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

# block -> (its norm, its attention or feed-forward inner and outer maps and activation), inside one layer
_BART_SELF = ("self_attn_layer_norm", "self_attn")
_BART_CROSS = ("encoder_attn_layer_norm", "encoder_attn")
_BART_FEED = ("final_layer_norm", (("fc1",), "activation_fn", "fc2"))
_T5_FEED = "DenseReluDense"
_FAMILIES = {
    **dict.fromkeys(("bart", "marian", "mbart", "pegasus", "opt"), (_BART_SELF, _BART_CROSS, _BART_FEED)),
    "t5": (
        ("layer.0.layer_norm", "layer.0.SelfAttention"),
        ("layer.1.layer_norm", "layer.1.EncDecAttention"),
        ("layer.-1.layer_norm", (("wi", "wi_0", "wi_1"), "act", "wo")),
    ),
}


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
class Attention:
    """One attention block: norm(x + attend(x)) or x + attend(norm(x))."""

    norm: Norm
    site: Site
    inner: tuple[nn.Linear, nn.Linear, nn.Linear]  # q, k and v
    out: nn.Linear


@dataclass(frozen=True, eq=False)
class FeedForward:
    """One feed-forward block: outer(act(inner(x))), or outer(act(inner_0(x)) * inner_1(x)) where there are two."""

    norm: Norm
    inner: tuple[nn.Linear, ...]
    act: nn.Module
    out: nn.Linear


@dataclass(frozen=True)
class Stack:
    """Blocks from the bottom up; `final` is the norm after the last one, if there is one."""

    blocks: tuple[Attention | FeedForward, ...]
    pre_norm: bool
    final: Norm | None


@dataclass(frozen=True)
class Layout:
    """A model as relevance sees it: encoder (None for decoder-only), decoder, and the linear maps up to the logits."""

    encoder: Stack | None
    decoder: Stack
    project: nn.Linear | None
    head: nn.Linear
    head_scale: float

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


def replayed(model) -> bool:
    """Whether the layers of a model are known here."""
    return model.config.model_type in _FAMILIES


def layout(model) -> Layout:
    """Describe a model for relevance propagation.

    Raises
    ------
    StudyError
        For a family, layer or activation that no rule covers, by the module's name; or as `helpers.heads.families`.
    """
    places = sites(model)
    kind, names = model.config.model_type, {module: name for name, module in model.named_modules()}
    if kind not in _FAMILIES:
        raise StudyError(
            f"No relevance rule covers {type(model).__name__} (model type {kind}); covered are {', '.join(sorted(_FAMILIES))}."
        )
    head = model.get_output_embeddings()
    if head is None:
        raise StudyError(f"{type(model).__name__} has no output layer over a vocabulary: relevance starts at a logit.")
    attention = {site.module: site for site in places}
    base = model.base_model
    stacks = {}
    for side in ("encoder", "decoder") if model.config.is_encoder_decoder else ("decoder",):
        part = getattr(base, side)
        layers = part.block if kind == "t5" else part.layers
        blocks = [block for layer in layers for block in _blocks(layer, _FAMILIES[kind], attention, names)]
        final = getattr(part, "final_layer_norm" if kind in ("t5", "opt") else "layer_norm", None)
        pre_norm = model.config.do_layer_norm_before if kind == "opt" else kind in ("mbart", "pegasus", "t5")
        stacks[side] = Stack(tuple(blocks), pre_norm, None if final is None else _norm(final, names))
    scale = model.config.d_model**-0.5 if getattr(model.config, "scale_decoder_outputs", False) else 1.0
    project = getattr(base.decoder, "project_out", None)
    for linear in filter(None, (project, head)):
        _linear(linear, names)
    plan = Layout(stacks.get("encoder"), stacks["decoder"], project, head, scale)
    seen: set[nn.Module] = set()
    for module in plan.modules():
        if module in seen:  # one tape entry a module
            raise StudyError(f"No relevance rule covers {names[module]} ({type(module).__name__}): it is used in two places.")
        seen.add(module)
    return plan


def _blocks(layer: nn.Module, family: tuple, attention: Mapping[nn.Module, Site], names: Mapping) -> list:
    """The blocks of one layer; every parameter in it must belong to one of them."""
    blocks: list[Attention | FeedForward] = []
    for norm, inside in family[:-1]:
        module = _inside(layer, inside)
        if module in attention:
            site, before = attention[module], _norm(_inside(layer, norm), names)
            q, k, v, out = (_linear(site.projection(which), names) for which in ("q", "k", "v", "out"))
            blocks.append(Attention(before, site, (q, k, v), out))
    norm, (inner, act, outer) = family[-1]
    home = getattr(_inside(layer, "layer.-1"), _T5_FEED) if norm.startswith("layer.") else layer
    inner = tuple(_linear(getattr(home, name), names) for name in inner if hasattr(home, name))
    act = getattr(home, act)
    probe = torch.linspace(-2, 2, 6, device=inner[0].weight.device, dtype=inner[0].weight.dtype)
    if not torch.equal(act(probe)[:2], act(probe[:2])):  # not element by element
        raise _uncovered(act, names)
    blocks.append(FeedForward(_norm(_inside(layer, norm), names), inner, act, _linear(getattr(home, outer), names)))
    known = {module for block in blocks for module in (block.norm.module, *block.inner, block.out)}
    for module in layer.modules():
        weights = [name for name, _ in module.named_parameters(recurse=False)]
        # T5 adds its relative position bias to the scores: a constant for every rule
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


# relevance [B, targets, heads] by attention (kind, layer); beside it, by name, sums [B, targets] that account for the rest
Found = dict[tuple[str, int] | str, Tensor]


@dataclass
class Tape:
    """What one forward pass over B sentences computed. n query and m key positions, d numbers a position.

    Attributes
    ----------
    given, made : dict of module -> tensor [B, n, d]
        Its input and its output.
    weights : dict of (kind, layer) -> tensor [B, heads, n, m]
        Attention after the softmax; the injected matrix where a head has one.
    gates : dict of (kind, layer) -> tensor [B or 1, heads] or None
    injected : dict of (kind, layer) -> list of heads
    top, start : tensors [B, n]
        The token with the largest logit at every position, and that logit.
    """

    given: dict[nn.Module, Tensor] = field(default_factory=dict)
    made: dict[nn.Module, Tensor] = field(default_factory=dict)
    weights: dict[tuple[str, int], Tensor] = field(default_factory=dict)
    gates: dict[tuple[str, int], Tensor | None] = field(default_factory=dict)
    injected: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    top: Tensor = field(init=False)
    start: Tensor = field(init=False)

    def heads(self, block: Attention) -> list[Tensor]:
        """Queries, keys and values of a block, head by head: [B, heads, positions, head_dim] each."""
        size = (block.site.heads, block.site.head_dim)
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
    """Run the model once, without gradients, and keep what relevance needs.

    Raises
    ------
    StudyError
        If a matrix injected into decoder self-attention is not causal.
    """
    tape = Tape()
    with torch.no_grad(), _watching(model, plan, tape, len(fed["input_ids"])):
        tape.start, tape.top = model(**fed, use_cache=False).logits.max(-1)
        for site in sites(model):
            where = site.kind, site.layer
            tape.gates[where] = standing_gates(site, tape.given[site.projection("out")])
            tape.injected[where] = standing_injections(site)
            if site.kind == "decoder" and tape.weights[where][:, tape.injected[where]].triu(1).any():
                raise StudyError(
                    f"The matrix injected into decoder layer {site.layer} lets a token look at later ones, which relevance does"
                    " not follow: inject a matrix that is zero above the diagonal."
                )
    return tape
