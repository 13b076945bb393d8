"""Models of transformers with fewer attention heads than their configuration says, in some layers or in all.

A pruned model's folder has this file beside its weights: ``AutoModel...from_pretrained(folder, trust_remote_code=True)`` runs
it. It needs torch and transformers alone. Every class of transformers can be had from here under its own name: the library's
own model, from which heads are taken when it is built. ``config.kept_heads`` says which stay, ``config.attention_at`` where
attention is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import EncoderDecoderCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.marian.modeling_marian import MarianAttention
from transformers.models.mistral.modeling_mistral import MistralAttention
from transformers.models.opt.modeling_opt import OPTAttention
from transformers.models.phi3.modeling_phi3 import Phi3Attention
from transformers.pytorch_utils import Conv1D

Part = Any  # a module with the attributes of its family, all of which torch's annotations take for tensors or modules

# names of projections: of queries; of keys and values; of all three, stacked one after the other or head by head
QUERIES, PAIRS, STACKED, BY_HEAD = ("q_proj", "q", "query"), ("k_proj", "v_proj", "k", "v", "key", "value"), (
    "qkv_proj", "c_attn",
), ("query_key_value",)  # fmt: skip
WIDTHS = ("head_dim", "head_size", "attention_head_size", "key_value_proj_dim")  # what the size of a head is called


# -------------------- the model


class FewerHeads(PreTrainedModel):
    """What a class of transformers is mixed with: it is built as ever, then loses heads."""

    def __init__(self, config: Any, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        base: Part = self.base_model
        for place, stay in config.kept_heads.items():
            kind, layer = place.split(".")
            try:
                module, out = (base.get_submodule(path.format(layer)) for path in config.attention_at[kind])
            except AttributeError:  # a class that builds one side of an encoder-decoder
                continue
            if len(stay) < inputs(out) // width(module):
                cut(module, out, stay)


def __getattr__(name: str) -> type:
    """The class of transformers of this name, with fewer heads."""
    library = getattr(transformers, name, None)
    if not (isinstance(library, type) and issubclass(library, PreTrainedModel)):
        raise AttributeError(f"transformers has no model {name}.")
    globals()[name] = made = type(name, (FewerHeads, library), {"__module__": __name__})
    return made


# -------------------- one attention module


def width(module: Part) -> int:
    """Numbers of one head."""
    return next(getattr(module, name) for name in WIDTHS if hasattr(module, name))


def inputs(out: Part) -> int:
    """Numbers that an output projection reads: those of all heads."""
    return out.nx if isinstance(out, Conv1D) else out.in_features


def projections(module: nn.Module) -> dict[str, nn.Module]:
    """The projections that make queries, keys and values, by name."""
    return {name: part for name, part in module.named_children() if name in (*QUERIES, *PAIRS, *STACKED, *BY_HEAD)}


def groups(module: Part, heads: int) -> list[int]:
    """The key-value head that each of the query heads reads."""
    share = getattr(module, "num_key_value_groups", 1)
    return list(getattr(module, "head_groups", None) or [head // share for head in range(heads)])[:heads]


def cut(module: Part, out: nn.Module, stay: list[int]) -> None:
    """Leave only some query heads, as they are numbered now, in an attention module with its output projection.

    A key-value head goes when the last query head that reads it goes.
    """
    size, heads = width(module), inputs(out) // width(module)
    read = groups(module, heads)
    pairs = sorted({read[head] for head in stay})  # key-value heads that are read still
    first_key, first_value = heads, heads + max(read, default=-1) + 1
    for name, projection in projections(module).items():
        if name in BY_HEAD:
            rows = _numbers(stay, 3 * size)
        elif name in STACKED:
            rows = _numbers([*stay, *(first_key + pair for pair in pairs), *(first_value + pair for pair in pairs)], size)
        else:
            rows = _numbers(stay if name in QUERIES else pairs, size)
        _select(projection, "out", rows)
    _select(out, "in", _numbers(stay, size))
    _resize(module, heads, stay, [pairs.index(read[head]) for head in stay])


def _numbers(heads: Iterable[int], size: int) -> list[int]:
    return [head * size + i for head in heads for i in range(size)]


def _select(projection: Part, side: str, numbers: list[int]) -> None:
    """Keep some outputs (with their bias) or inputs (the bias stays) of a linear layer, or of GPT-2's transposed one."""
    transposed = isinstance(projection, Conv1D)
    dim = int((side == "in") != transposed)
    for name, along in (("weight", dim), ("bias", 0)) if side == "out" else (("weight", dim),):
        old = getattr(projection, name)
        if old is not None:
            new = old.detach().index_select(along, torch.tensor(numbers, dtype=torch.long, device=old.device))
            setattr(projection, name, nn.Parameter(new, requires_grad=old.requires_grad))
    sizes = {"out": "nf", "in": "nx"} if transposed else {"out": "out_features", "in": "in_features"}
    setattr(projection, sizes[side], len(numbers))


def _resize(module: Part, heads: int, stay: list[int], read: list[int]) -> None:
    """Tell a module that of its `heads` heads only `stay` are left, which read the key-value heads `read`.

    The hooks that this needs belong to the module and are copied with it.
    """
    numbers = len(stay) * width(module)
    sizes = {**dict.fromkeys(("num_heads", "n_heads", "num_attention_heads"), len(stay)), "num_key_value_heads": len(set(read))}
    for name, size in (sizes | dict.fromkeys(("inner_dim", "all_head_size", "split_size"), numbers)).items():
        if hasattr(module, name):
            setattr(module, name, size)
    if hasattr(module, "num_key_value_groups"):
        share = len(read) // len(set(read)) if read else 1
        even = read == [head // share for head in range(len(read))]
        if not hasattr(module, "head_groups"):
            module.register_forward_pre_hook(_spread_pairs, with_kwargs=True)
        module.head_groups, module.num_key_value_groups = read, share if even else 1
    if hasattr(module, "relative_attention_num_buckets"):  # T5
        if not hasattr(module, "kept_heads"):
            module.kept_heads = list(range(heads))
            module.register_forward_pre_hook(_take_own_bias, with_kwargs=True)
            module.register_forward_hook(_hand_on_whole_bias)
        module.kept_heads = [module.kept_heads[head] for head in stay]
    if type(module) is Phi3Attention:
        module.__class__ = RaggedPhi3Attention
    if not stay and heads:
        module.register_forward_hook(_keep_length, with_kwargs=True)
        module.__class__ = HEADLESS.get(type(module), type(module))


# -------------------- grouped queries


class _Spread:
    """A cache, or none, from which every query head gets the keys and values of the key-value head that it reads."""

    def __init__(self, cache: Any, groups: list[int]) -> None:
        self.cache, self.groups = cache, groups

    def update(self, keys: Tensor, values: Tensor, *where: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """Keep keys and values [batch, key-value heads, length, head_dim]; hand all that are kept on, a copy a query head."""
        if self.cache is not None:
            keys, values = self.cache.update(keys, values, *where, **options)
        read = torch.tensor(self.groups, dtype=torch.long, device=keys.device)
        return keys.index_select(1, read), values.index_select(1, read)


def _spread_pairs(module: Part, args: tuple, options: dict) -> tuple[tuple, dict] | None:
    """The library lets all key-value heads be read by as many query heads: where they are not, each gets a copy."""
    if len(set(module.head_groups)) * module.num_key_value_groups == len(module.head_groups):
        return None
    return args, {**options, "past_key_values": _Spread(options.get("past_key_values"), module.head_groups)}


class RaggedPhi3Attention(Phi3Attention):
    """Phi-3's attention with queries of its own number: the library reads that from the configuration, one for all layers."""

    forward = MistralAttention.forward  # the same computation, from three projections

    def q_proj(self, hidden: Tensor) -> Tensor:
        """Queries [batch, length, heads * head_dim] from the first rows of the one projection."""
        return self._rows(hidden, 0, self.o_proj.in_features)

    def k_proj(self, hidden: Tensor) -> Tensor:
        """Keys [batch, length, key-value heads * head_dim] from the rows after them."""
        return self._rows(hidden, self.o_proj.in_features, self.num_key_value_heads * self.head_dim)

    def v_proj(self, hidden: Tensor) -> Tensor:
        """Values [batch, length, key-value heads * head_dim] from the last."""
        size = self.num_key_value_heads * self.head_dim
        return self._rows(hidden, self.o_proj.in_features + size, size)

    def _rows(self, hidden: Tensor, first: int, count: int) -> Tensor:
        return nn.functional.linear(hidden, self.qkv_proj.weight[first : first + count])


# -------------------- T5


def _take_own_bias(module: Part, args: tuple, kwargs: dict) -> tuple[tuple, dict[str, Any]]:
    """T5 computes position biases [1, heads, query, key] once a stack and hands them on: take those of own heads."""
    whole = kwargs.get("position_bias")
    if kwargs.get("key_value_states") is not None:
        return args, {**kwargs, "position_bias": None}  # cross-attention has none: zeros in its own size
    if whole is None:
        hidden = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        cache = kwargs.get("past_key_values")
        seen, keys = 0, hidden.shape[1]
        if cache is not None:
            seen, (keys, _) = cache.get_seq_length(module.layer_idx), cache.get_mask_sizes(keys, module.layer_idx)
        whole = module.compute_bias(hidden.shape[1], keys, hidden.device, seen)
    bias = whole[:, module.kept_heads]
    bias.whole = whole
    return args, {**kwargs, "position_bias": bias}


def _hand_on_whole_bias(module: nn.Module, args: tuple, output: tuple) -> tuple:
    """Later layers get the biases of all heads again, or none and make their own zeros (cross-attention)."""
    return output[0], getattr(output[1], "whole", None), *output[2:]


# -------------------- layers without heads


class _HeadlessCache(DynamicLayer):
    """Keys and values [batch, 0, length, head_dim]: no numbers, but a length, which positions are counted from."""

    def get_seq_length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]


def _keep_length(module: Part, args: tuple, kwargs: dict, output: tuple) -> None:
    """The library's cache takes a layer without numbers for an empty one: let it tell its length."""
    cache = kwargs.get("layer_past", kwargs.get("past_key_values"))
    source = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states"))
    cache = cache.cache if isinstance(cache, _Spread) else cache
    if isinstance(cache, EncoderDecoderCache):
        cache = cache.self_attention_cache if source is None else cache.cross_attention_cache
    if cache is not None and type(cache.layers[module.layer_idx]) is DynamicLayer:
        cache.layers[module.layer_idx].__class__ = _HeadlessCache


class HeadlessOPTAttention(OPTAttention):
    """OPT's attention once it has no head left: its own reshaping cannot tell a length from no numbers."""

    # the same computation, but reads the length from the hidden states
    forward = MarianAttention.forward  # type: ignore[assignment]  # takes by name all that OPT's layers give


class HeadlessGPT2Attention(GPT2Attention):
    """GPT-2's attention once it has no head left: its own cannot split nothing in three, nor project it."""

    forward = MarianAttention.forward  # type: ignore[assignment]
    dropout = 0.0

    def q_proj(self, hidden: Tensor) -> Tensor:
        """Nothing for every position [batch, length, 0]."""
        return hidden[..., :0]

    k_proj = v_proj = q_proj

    def out_proj(self, nothing: Tensor) -> Tensor:
        """The bias for every position [batch, length, d]."""
        return self.resid_dropout(self.c_proj.bias.expand(*nothing.shape[:-1], -1))


HEADLESS: dict[type, type] = {OPTAttention: HeadlessOPTAttention, GPT2Attention: HeadlessGPT2Attention}
