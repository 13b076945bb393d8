"""Every use of what the libraries do not promise to keep, in one place: after an upgrade, mend it here.

The tests of heads, of removal and of relevance run all of it. What the parts of a model family are called is data, and stands
in `helpers.heads.families` and `helpers.measures.lrp.layout`; what attention with fewer heads needs stands in
`helpers.heads.fewer_heads`, as that file goes along with saved models.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.activations import ACT2CLS
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask
from transformers.models.auto import modeling_auto
from transformers.pytorch_utils import Conv1D

from helpers.study import StudyError

NOT_AT_ZERO = ("laplace", "prelu", "sigmoid", "sqrtsoftplus", "xielu")  # activations that are not 0 at 0, or learn
ACTIVATIONS = {made if isinstance(made, type) else made[0] for name, made in ACT2CLS.items() if name not in NOT_AT_ZERO}
MASKS: dict[str, Callable] = {"sdpa": sdpa_mask, "eager": eager_mask}
Part = Any  # a module with the attributes of its family, all of which torch's annotations take for tensors or modules


# --- hooks -----------------------------------------------------------------------------------------------------------


def pre_hooks(module: nn.Module) -> list[Callable]:
    """The forward pre-hooks of a module, in the order in which they run."""
    return list(module._forward_pre_hooks.values())


def compiled(model: nn.Module) -> bool:
    """Whether torch.compile runs a part of a model: what is compiled does not look at hooks that come later."""
    return any(
        getattr(part, "_compiled_call_impl", None) is not None
        or hasattr(vars(part).get("forward"), "_torchdynamo_orig_callable")
        for part in model.modules()
    )


def plain_map(module: nn.Module) -> bool:
    """Whether a module is a linear map that its weight tells all of: not quantised, adapted, masked, normed or offloaded."""
    weight = module._parameters.get("weight")
    offloaded = getattr(getattr(module, "_hf_hook", None), "offload", False)
    return type(module) in (nn.Linear, Conv1D) and weight is not None and weight.device.type != "meta" and not offloaded


def without_gradient(model: nn.Module) -> bool:
    """Whether a part of a model is quantised for torch's own kernels, which know of no gradient."""
    return any(type(part).__module__.startswith("torch.ao.nn.quantized") for part in model.modules())


# --- attention functions ---------------------------------------------------------------------------------------------


def implementation(part: Part) -> str:
    """Name of the attention function that a model or an attention module runs."""
    return part.config._attn_implementation


def register(name: str, function: Callable, plain: str) -> None:
    """Make an attention function known under a name, for models to run; its masks are those of ``sdpa`` or ``eager``.

    It is one of (module, query [batch, heads, query, head_dim], key and value [batch, heads, key, head_dim], mask, **options)
    and returns ([batch, query, heads, head_dim], weights [batch, heads, query, key] or None).
    """
    AttentionInterface.register(name, function)
    # without a mask function of the same name, transformers drops every mask and says nothing
    AttentionMaskInterface.register(name, MASKS[plain])


def plain_attention(module: nn.Module, plain: str) -> Callable:
    """The library's own attention function of a module, ``sdpa`` or ``eager``, which forms the weights."""
    if plain == "sdpa":
        return sdpa_attention_forward
    files = [sys.modules[parent.__module__] for parent in type(module).__mro__]  # ours for a changed class, then the library's
    return next(file.eager_attention_forward for file in files if hasattr(file, "eager_attention_forward"))  # each has its own


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


def rotary_share(config: Part) -> float:
    """The share of a head's numbers that rotary positions turn."""
    return (getattr(config, "rope_parameters", None) or {}).get(
        "partial_rotary_factor", getattr(config, "partial_rotary_factor", 1.0)
    )


def checkpointing(model: PreTrainedModel) -> bool:
    """Whether any layer of a model would be computed again for its gradient."""
    return any(getattr(module, "gradient_checkpointing", False) for module in model.modules())


def positions_seen(module: Part, options: dict[str, Any]) -> int:
    """How many positions a self-attention's cache, given by name, had seen before this pass, those it let go of included."""
    cache = options.get("layer_past", options.get("past_key_values"))
    cache = getattr(cache, "cache", cache)  # of a layer whose query heads were removed unevenly
    return 0 if cache is None else int(cache.get_seq_length(module.layer_idx))


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


def bare_activation(module: Part) -> tuple[nn.Module, nn.Module] | None:
    """The maps before and after an activation that is a function and no module, as in RoBERTa's output layer."""
    return (module.dense, module.layer_norm) if type(module).__name__ == "RobertaLMHead" else None


def is_map(module: nn.Module) -> bool:
    """Whether a module multiplies its input by a matrix."""
    return isinstance(module, (nn.Linear, Conv1D))


def is_linear(module: nn.Module) -> bool:
    """Whether a module without parts is linear in its input, looks up a table, or does nothing in evaluation."""
    plain = (nn.Linear, Conv1D, nn.Embedding, nn.Dropout, nn.Identity)
    return isinstance(module, plain) or type(module).__name__.endswith("RotaryEmbedding")


def output_matrix(projection: Part) -> Tensor:
    """The weights of a `plain_map` as [output, input]; GPT-2's Conv1D keeps them the other way round."""
    if not plain_map(projection):
        raise StudyError(
            f"A {type(projection).__name__} computes something else than its weight alone says (it is quantised, adapted,"
            " masked or offloaded): merge or unwrap it, or load the model whole into memory."
        )
    return projection.weight.T if isinstance(projection, Conv1D) else projection.weight


def rms_eps(norm: Part) -> float | None:
    """What T5's norm, an RMSNorm without bias, adds to the variance; None for any other module."""
    return norm.variance_epsilon if type(norm).__name__ == "T5LayerNorm" else None


def unsaved(model: PreTrainedModel, missing: set[str]) -> dict[str, Tensor]:
    """Of tensors that are missing those that ``save_pretrained`` leaves out, as they are always the same: Marian's sines."""
    names = missing & set(model._keys_to_ignore_on_save or ())
    parts: dict[str, Part] = {name: model.get_submodule(name.removesuffix(".weight")) for name in names}
    return {name: part.create_weight() for name, part in parts.items()}


def own_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a file under their names in the model: ``save_pretrained`` writes GPT-NeoX's output layer under an old one."""
    return {"lm_head.weight" if name == "embed_out.weight" else name: tensor for name, tensor in tensors.items()}


def auto_classes(model: PreTrainedModel) -> dict[str, str]:
    """The classes of the library that its automatic ones give for a model's configuration: ``{automatic: class}``."""
    classes = {}
    for name, automatic in vars(modeling_auto).items():
        mapping = getattr(automatic, "_model_mapping", {}) if name.startswith("AutoModel") else {}
        made = mapping.get(type(model.config), ())  # the library's wants a default
        if isinstance(made, type):
            classes[name] = made.__name__
    return classes
