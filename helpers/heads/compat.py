"""Every use of what the libraries do not promise to keep, in one place: after an upgrade, mend it here.

For each there is a canary in ``tests/unit/test_compat.py``, which says what is gone. What the parts of a model family are
called is data, and stands in `helpers.heads.families` and `helpers.measures.lrp.layout`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, EncoderDecoderCache, PreTrainedModel
from transformers.activations import ACT2CLS
from transformers.cache_utils import DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask
from transformers.models.marian.modeling_marian import MarianAttention
from transformers.models.opt.modeling_opt import OPTAttention, eager_attention_forward  # noqa: F401 (HeadlessOPTAttention)
from transformers.pytorch_utils import Conv1D

NOT_AT_ZERO = ("laplace", "prelu", "sigmoid", "sqrtsoftplus", "xielu")  # activations that are not 0 at 0, or learn
ACTIVATIONS = {made if isinstance(made, type) else made[0] for name, made in ACT2CLS.items() if name not in NOT_AT_ZERO}
MASKS: dict[str, Callable] = {"sdpa": sdpa_mask, "eager": eager_mask}
Part = Any  # a module with the attributes of its family, all of which torch's annotations take for tensors or modules


# --- hooks -----------------------------------------------------------------------------------------------------------


def pre_hooks(module: nn.Module) -> list[Callable]:
    """The forward pre-hooks of a module, in the order in which they run."""
    return list(module._forward_pre_hooks.values())


# --- attention functions ---------------------------------------------------------------------------------------------


def implementation(part: Part) -> str:
    """Name of the attention function that a model or an attention module runs."""
    return part.config._attn_implementation


def register(name: str, function: Callable, plain: str) -> None:
    """Make an attention function known under a name, for models to run; its masks are those of ``sdpa`` or ``eager``.

    Parameters
    ----------
    function : callable
        Of (module, query [batch, heads, query, head_dim], key and value [batch, heads, key, head_dim], mask, **options);
        returns ([batch, query, heads, head_dim], weights [batch, heads, query, key] or None).
    """
    AttentionInterface.register(name, function)
    # without a mask function of the same name, transformers drops every mask and says nothing
    AttentionMaskInterface.register(name, MASKS[plain])


def eager_attention(module: nn.Module) -> Callable:
    """The attention function that forms the weights: each family's modelling file has its own."""
    return sys.modules[type(module).__module__].eager_attention_forward


def plain_attention(module: nn.Module, plain: str) -> Callable:
    """The library's own attention function of a module, ``sdpa`` or ``eager``."""
    return sdpa_attention_forward if plain == "sdpa" else eager_attention(module)


def additive_mask(module: Part, query: Tensor, key: Tensor, mask: Tensor | None, options: dict) -> Tensor | None:
    """The mask that SDPA was given, spelled out as eager attention adds it: 0 or the least number of the type."""
    if mask is None:
        causal = options.get("is_causal")
        if not (module.is_causal if causal is None else causal) or query.shape[2] == 1:
            return None
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril()
    if mask.dtype == torch.bool:
        mask = torch.where(mask, query.new_zeros(()), torch.finfo(query.dtype).min)
    return mask


def scaling(module: Part) -> float:
    """What an attention module multiplies the products of queries and keys by."""
    return module.scaling


def checkpointing(model: PreTrainedModel) -> bool:
    """Whether any layer of a model would be computed again for its gradient."""
    return any(getattr(module, "gradient_checkpointing", False) for module in model.modules())


# --- other parts of models -------------------------------------------------------------------------------------------


def logits_bias(model: PreTrainedModel) -> Tensor | None:
    """What Marian, BART, mBART and Pegasus add to their logits beside the output layer's own bias [vocabulary]."""
    bias = getattr(model, "final_logits_bias", None)
    return None if bias is None else bias.flatten()


def is_rms_norm(module: nn.Module) -> bool:
    """Whether a module is an RMSNorm, of which every family has its own class."""
    return type(module).__name__.endswith("RMSNorm") or type(module).__name__ == "T5LayerNorm"


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an elementwise activation that is 0 at 0."""
    return type(module) in ACTIVATIONS


def is_linear(module: nn.Module) -> bool:
    """Whether a module without parts is linear in its input, looks up a table, or does nothing in evaluation."""
    plain = (nn.Linear, Conv1D, nn.Embedding, nn.Dropout, nn.Identity)
    return isinstance(module, plain) or type(module).__name__.endswith("RotaryEmbedding")


def output_matrix(projection: Part) -> Tensor:
    """The weights of a linear map as [output, input]; GPT-2's Conv1D keeps them the other way round."""
    return projection.weight.T if isinstance(projection, Conv1D) else projection.weight


def rms_eps(norm: Part) -> float | None:
    """What T5's norm, an RMSNorm without bias, adds to the variance; None for any other module."""
    return norm.variance_epsilon if type(norm).__name__ == "T5LayerNorm" else None


def position_table(side: Part) -> nn.Parameter:
    """Learned or sinusoidal positions of a BART encoder or decoder [positions, d]."""
    return side.embed_positions.weight


def unsaved(model: PreTrainedModel, missing: set[str]) -> dict[str, Tensor]:
    """Of tensors that are missing those that ``save_pretrained`` leaves out, as they are always the same: Marian's sines."""
    names = missing & set(model._keys_to_ignore_on_save or ())
    parts: dict[str, Part] = {name: model.get_submodule(name.removesuffix(".weight")) for name in names}
    return {name: part.create_weight() for name, part in parts.items()}


# --- attention modules with fewer heads: what the library would get wrong with ragged layers -------------------------


def resize(module: Part, heads: int, width: int, stay: list[int]) -> None:
    """Tell an attention module that of its `heads` heads, each `width` numbers wide, only `stay` are left.

    The hooks that this needs belong to the module and are copied with it.
    """
    for name, size in (("num_heads", len(stay)), ("n_heads", len(stay)), ("inner_dim", len(stay) * width)):
        if hasattr(module, name):
            setattr(module, name, size)
    if hasattr(module, "relative_attention_num_buckets"):  # T5
        if not hasattr(module, "kept_heads"):
            module.kept_heads = list(range(heads))
            module.register_forward_pre_hook(_take_own_bias, with_kwargs=True)
            module.register_forward_hook(_hand_on_whole_bias)
        module.kept_heads = [module.kept_heads[head] for head in stay]
    if not stay and heads:
        module.register_forward_hook(_keep_length, with_kwargs=True)
        if type(module) is OPTAttention:
            module.__class__ = HeadlessOPTAttention


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
    own = whole[:, module.kept_heads]
    own.whole = whole
    return args, {**kwargs, "position_bias": own}


def _hand_on_whole_bias(module: nn.Module, args: tuple, output: tuple) -> tuple:
    """Later layers get the biases of all heads again, or none and make their own zeros (cross-attention)."""
    return output[0], getattr(output[1], "whole", None), *output[2:]


class _HeadlessCache(DynamicLayer):
    """Keys and values [batch, 0, length, head_dim]: no numbers, but a length, which positions are counted from."""

    def get_seq_length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]


def _keep_length(module: Part, args: tuple, kwargs: dict, output: tuple) -> None:
    """The library's cache takes a layer without numbers for an empty one: let it tell its length."""
    cache = kwargs.get("past_key_values")
    if isinstance(cache, EncoderDecoderCache):
        crossed = kwargs.get("key_value_states") is not None
        cache = cache.cross_attention_cache if crossed else cache.self_attention_cache
    if cache is not None and type(cache.layers[module.layer_idx]) is DynamicLayer:
        cache.layers[module.layer_idx].__class__ = _HeadlessCache


class HeadlessOPTAttention(OPTAttention):
    """OPT's attention once it has no head left: its own reshaping cannot tell a length from no numbers.

    `eager_attention` looks for ``eager_attention_forward`` in the file of an attention's class: hence its import above.
    """

    # the same computation, but reads the length from the hidden states
    forward = MarianAttention.forward  # type: ignore[assignment]  # takes by name all that OPT's layers give
