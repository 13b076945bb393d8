"""Where the attention heads of a Hugging Face model are: the one place that knows module names.

A head is an address ``(kind, layer, head)``: kind is ``encoder``, ``decoder`` (both self-attention) or ``cross``
(cross-attention); layers and heads count from 0. The head table of every measure is indexed by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from torch import Tensor, nn
from transformers import PreTrainedModel

from helpers.heads import compat
from helpers.heads.fewer_heads import groups, inputs, width
from helpers.study import StudyError

KINDS = ("encoder", "decoder", "cross")
ADDRESS = ("kind", "layer", "head")


@dataclass(frozen=True)
class _Family:
    """One way of building attention: where it is (below the model's base model) and what its parts are called."""

    places: Mapping[str, tuple[str, str]]  # kind -> (list of layers, attention inside one layer)
    parts: tuple[str | None, str | None, str | None, str]  # projections q, k, v and out, from the attention
    up: int = 0  # how many modules above the attention `out` starts from
    absolute: bool = False  # whether positions are counted from the first column, padding or not
    untold: bool = False  # whether they are, and cannot be told


_BART = _Family(
    {
        "encoder": ("encoder.layers", "self_attn"),
        "decoder": ("decoder.layers", "self_attn"),
        "cross": ("decoder.layers", "encoder_attn"),
    },
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    untold=True,
)
_T5 = _Family(
    {
        "encoder": ("encoder.block", "layer.0.SelfAttention"),
        "decoder": ("decoder.block", "layer.0.SelfAttention"),
        "cross": ("decoder.block", "layer.1.EncDecAttention"),
    },
    ("q", "k", "v", "o"),
)
_OPT = _Family({"decoder": ("decoder.layers", "self_attn")}, ("q_proj", "k_proj", "v_proj", "out_proj"))
_GPT2 = _Family({"decoder": ("h", "attn")}, (None, None, None, "c_proj"), absolute=True)  # q, k, v leave c_attn
_LLAMA = _Family({"decoder": ("layers", "self_attn")}, ("q_proj", "k_proj", "v_proj", "o_proj"))
_GEMMA3 = _Family({"decoder": ("language_model.layers", "self_attn")}, _LLAMA.parts)  # beside a model that sees
_PHI3 = _Family({"decoder": ("layers", "self_attn")}, (None, None, None, "o_proj"))  # one projection, qkv_proj
_NEOX = _Family({"decoder": ("layers", "attention")}, (None, None, None, "dense"))  # query_key_value
_BERT = _Family(
    {"encoder": ("encoder.layer", "attention.self")},
    ("query", "key", "value", "output.dense"),
    up=1,
    absolute=True,
)
_ROBERTA = replace(_BERT, absolute=False)  # takes positions from the ids
# keyed by config.model_type, which subclasses and reuses (ByT5 is a T5) share
_FAMILIES = {
    **dict.fromkeys(("bart", "marian", "mbart", "pegasus"), _BART),
    **{
        "t5": _T5,
        "opt": _OPT,
        "gpt2": _GPT2,
        "phi3": _PHI3,
        "gemma3": _GEMMA3,
        "gpt_neox": _NEOX,
        "bert": _BERT,
        "roberta": _ROBERTA,
    },
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text"), _LLAMA),
}


@dataclass(frozen=True)
class Site:
    """One attention module and the heads in it."""

    kind: str  # encoder, decoder or cross
    layer: int  # from 0
    heads: int  # query heads left in this module; may differ between layers, and be 0, once heads were removed
    head_dim: int  # width of one head; the output projection reads heads * head_dim numbers, head after head
    name: str  # dotted path of the module in the model that was asked
    module: nn.Module = field(repr=False)
    q: str | None  # names of the projections inside the module; None where they are fused (GPT-2)
    k: str | None
    v: str | None
    out: str  # name of the output projection inside `holder`
    holder: nn.Module | None = field(repr=False)  # the module, or one above it (BERT); None of a copy that was not asked
    out_name: str  # dotted path of the output projection
    groups: tuple[int, ...]  # the key-value head that each query head reads: one of its own, but for grouped queries

    def projection(self, which: str) -> Any:
        """The submodule behind ``q``, ``k``, ``v`` or ``out``; None where the family has no such module of its own."""
        if which == "out":
            if self.holder is None:
                raise StudyError(f"{self.out_name} of a copy cannot be reached from here: take it from sites(copy).")
            return self.holder.get_submodule(self.out)
        name = getattr(self, which)
        return None if name is None else getattr(self.module, name)

    def of_copy(self, module: nn.Module) -> Site:
        """The same site of a copy of the model, of which only the attention module is known."""
        if module is self.module:
            return self
        return replace(self, module=module, holder=module if self.holder is self.module else None)


def sites(model: PreTrainedModel, kinds: str | tuple[str, ...] | None = None) -> list[Site]:
    """List the attention modules of a model: encoder, then decoder, then cross, each by layer.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Marian, BART, mBART, Pegasus, T5 (also ByT5), OPT, GPT-2, Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3,
        Phi-3, GPT-NeoX, BERT or RoBERTa, with any task head; the text of a Gemma 3 that sees; not a part or wrapper of one.
    kinds : str or sequence of str, optional
        Only these kinds; all that the model has when omitted.

    Returns
    -------
    list of Site
        The head counts are read from the weights, so that they stay right after heads were removed.

    Raises
    ------
    StudyError
        If the model is wrapped, compiled or of another family; if a kind is unknown or absent; if one module stands at two
        places.
    """
    family = _family(model)
    if compat.compiled(model):
        raise StudyError(
            f"This {type(model).__name__} is compiled (torch.compile), and what is compiled does not hear of gates, recorders"
            " and injections: pass the model as it was before."
        )
    kinds = KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in kinds:
        if kind not in KINDS:
            raise StudyError(f"unknown kind of attention {kind!r}: choose from {', '.join(KINDS)}.")
    base = model.base_model
    prefix = "" if base is model else f"{model.base_model_prefix}."
    places = []
    for kind, (layers, inside) in family.places.items():
        if kind not in kinds or (kind == "cross" and not model.config.is_encoder_decoder):
            continue  # a BART decoder used alone carries cross-attention that never runs
        for layer, block in enumerate(_submodule(base, layers)):
            module, above = block.get_submodule(inside), inside.split(".")[: inside.count(".") + 1 - family.up]
            holder, head_dim = block.get_submodule(".".join(above)), width(module)
            path, count = f"{prefix}{layers}.{layer}", inputs(holder.get_submodule(family.parts[-1])) // head_dim
            out_name = ".".join([path, *above, family.parts[-1]])
            place = (kind, layer, count, head_dim, f"{path}.{inside}", module, *family.parts, holder, out_name)
            places.append(Site(*place, tuple(groups(module, count))))
    if not places:
        raise StudyError(f"{type(model).__name__} has no {' or '.join(kinds)} attention; pass the whole model.")
    modules: dict[int, Site] = {}
    for site in places:
        if (other := modules.setdefault(id(site.module), site)) is not site:
            raise StudyError(
                f"{other.name} and {site.name} are one module, whose heads would have two addresses: give each layer a module"
                " of its own (copy.deepcopy)."
            )
    return places


def paths(model: PreTrainedModel) -> dict[str, tuple[str, str]]:
    """Where attention and its output projection are, from the base model: ``{kind: (path, path)}``, ``{}`` for the layer."""
    base, places = "" if model.base_model is model else f"{model.base_model_prefix}.", {}
    for site in (site for site in sites(model) if not site.layer):
        module, out = (path.removeprefix(base).replace(".0.", ".{}.", 1) for path in (site.name, site.out_name))
        places[site.kind] = (module, out)
    return places


def index(model: PreTrainedModel, kinds: str | tuple[str, ...] | None = None) -> pd.MultiIndex:
    """The index of the head table: one row ``(kind, layer, head)`` for each head of the model, in the order of `sites`."""
    rows = [(site.kind, site.layer, head) for site in sites(model, kinds) for head in range(site.heads)]
    return pd.MultiIndex.from_tuples(rows, names=ADDRESS)


def addresses(heads: Iterable) -> list:
    """Addresses (kind, layer, head) of heads; of an index whose levels have these names in another order, by their names."""
    if isinstance(heads, pd.MultiIndex) and set(heads.names) == set(ADDRESS):
        heads = heads.reorder_levels(list(ADDRESS))
    return [tuple(address) if isinstance(address, list) else address for address in heads]


def locate(model: PreTrainedModel, values: Mapping[tuple, Any] | pd.Series) -> list[tuple[Site, dict]]:
    """Bring values ``{(kind, layer, head): value}``, or ``{(kind, layer): value}`` for a layer, to the sites they belong to.

    Of each site that is named at least once ``{head: value}``; the head of a whole layer's value is None. An address that is
    malformed, not in the model or given twice is refused.
    """
    known = {(site.kind, site.layer): site for site in sites(model)}
    located: dict[tuple, tuple[Site, dict]] = {}
    for address, (_, value) in zip(addresses(values.keys()), values.items(), strict=True):
        parts = address if isinstance(address, tuple) else (address,)
        site = known.get(parts[:2])
        whole = len(parts) == 2
        if site is None or not (whole or (len(parts) == 3 and parts[2] in range(site.heads))):
            has = [f"{s.kind} layer {s.layer} ({s.heads})" for s in known.values()]
            raise StudyError(f"no head {address} in {type(model).__name__}, which has (heads): {', '.join(has)}.")
        given, head = located.setdefault(parts[:2], (site, {}))[1], None if whole else int(parts[2])
        if head in given:
            raise StudyError(f"{address} has two values: give one.")
        given[head] = value
    return list(located.values())


def layers(model: PreTrainedModel, kind: str) -> nn.ModuleList:
    """The layers of a model that have attention of a kind, from the bottom up."""
    return model.base_model.get_submodule(_family(model).places[kind][0])  # type: ignore[return-value]


def causal(model: PreTrainedModel) -> bool:
    """Whether the model has a decoder alone, whose every position predicts the token after it."""
    return "decoder" in _family(model).places and not model.config.is_encoder_decoder


def positions(model: PreTrainedModel, mask: Tensor | None) -> Tensor | None:
    """Positions that a model must be told, since it would count padding on the left; None where it needs no such help.

    The mask [batch, length] is 1 where there is a token, 0 where there is padding. Padding on the left is an error for a model
    that cannot be told.
    """
    family = _family(model)
    if mask is None or bool(mask[:, 0].all()):
        return None
    if family.untold:
        raise StudyError(f"{type(model).__name__} counts positions from the first column: put padding on the right.")
    if not family.absolute:
        return None
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def longest(model: PreTrainedModel) -> int | None:
    """Tokens that a text may have where positions are looked up in a table; None where they are computed."""
    if not any(name.endswith(("embed_positions", "position_embeddings", "wpe")) for name, _ in model.named_modules()):
        return None
    taken = model.config.pad_token_id + 1 if model.config.model_type == "roberta" else 0
    return model.config.max_position_embeddings - taken


def _family(model: Any) -> _Family:
    name, supported = type(model).__name__, ", ".join(sorted(_FAMILIES))
    if not isinstance(model, PreTrainedModel):
        inside = next((part for part in ("module", "_orig_mod") if hasattr(model, part)), None)
        advice = f"pass the model inside it (.{inside})" if inside else "pass a transformers model"
        raise StudyError(f"{name} is not a Hugging Face model: {advice}; supported are {supported}.")
    if model.config.model_type not in _FAMILIES:
        raise StudyError(
            f"{name} (model type {model.config.model_type}) is not supported: its attention has no adapter here; supported are"
            f" {supported}."
        )
    if model.config.model_type in ("bert", "roberta") and model.config.is_decoder:
        raise StudyError(f"{name} is a BERT used as a decoder, which is not supported: supported are {supported}.")
    return _FAMILIES[model.config.model_type]


def _submodule(base: nn.Module, path: str):
    """The list of layers at `path`, or nothing where the model has no such part (a decoder without an encoder)."""
    try:
        return base.get_submodule(path)
    except AttributeError:
        return ()
