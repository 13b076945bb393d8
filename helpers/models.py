"""Build translation and language models from scratch or load pretrained ones, and their size; nothing about heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from helpers import pretrained
from helpers.gpu import device  # noqa: F401
from helpers.heads import compat, record, sites
from helpers.heads import load as load_cut
from helpers.study import StudyError

MAX_POSITIONS = 512
# which torch's counter leaves out
IN_PLACE = {torch.ops.aten.addmm_: lambda _, left, right, **more: 2 * left[0] * left[1] * right[1]}


def inputs(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a batch that a model takes."""
    return {name: batch[name] for name in ("input_ids", "attention_mask", "labels", "decoder_input_ids") if name in batch}


def head_weights(model, batch: Mapping[str, Any], address: tuple[str, int, int]) -> torch.Tensor:
    """One head's attention weights [queries, keys], float32 on the CPU, on the first example of a batch."""
    kind, layer, head = address
    kept: list[torch.Tensor] = []

    def keep(site, weights: torch.Tensor) -> None:
        if site.layer == layer:
            kept.append(weights[0, head].float().cpu())

    with torch.no_grad(), record(model, keep, kinds=kind):
        model(**inputs(batch), use_cache=False)
    return kept[0]


def cross_entropy(model, batch: Mapping[str, Any], smoothing: float) -> torch.Tensor:
    """Label-smoothed cross-entropy, mean over target tokens; labels of a decoder-only model are what it reads, one later."""
    fed = inputs(batch)
    if hasattr(model, "prepare_decoder_input_ids_from_labels") and "decoder_input_ids" not in fed:
        fed["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels=fed.pop("labels"))  # spares its own loss
    logits = model(**fed, use_cache=False).logits
    if not _config(model).is_encoder_decoder:
        logits = F.pad(logits[:, :-1], (0, 0, 1, 0))
    return F.cross_entropy(logits.flatten(0, 1), predicted(model, batch).flatten(), label_smoothing=smoothing)


def predicted(model, batch: Mapping[str, Any]) -> torch.Tensor:
    """The labels of a batch that a model predicts, others -100: of a decoder-only model none that no token stands before."""
    labels = batch["labels"]
    if _config(model).is_encoder_decoder:
        return labels
    before = batch.get("attention_mask", torch.ones_like(labels))[:, :-1]
    return F.pad(labels[:, 1:].masked_fill(before == 0, -100), (1, 0), value=-100)


def _config(model):
    """The configuration of a model, or of that within a model with gates, under a constraint, or a replica."""
    while not hasattr(model, "config"):
        model = model.module if hasattr(model, "module") else model.model
    return model.config


def build(shape: Mapping[str, Any], source_size: int, target_size: int, seed: int):
    """A randomly initialised encoder-decoder Transformer of the Pegasus class.

    Pre-norm with a final norm on both sides (as the paper's public code), sinusoidal positions, ReLU, scaled embeddings. The
    two vocabularies stand side by side in one table, source first, and no token is in both (the special ones aside), so that
    source and target embeddings are apart as in the paper; the output is tied to the table. Ids: 0 pads and starts the
    target, 1 ends a sentence. Unless `start` says otherwise, encoder self-attention starts with an output of zero: training
    begins with word-by-word representations and adds context to them, which halves the time to a usable model at this size.
    The shape is as `helpers.study.schema.Model` has it.
    """
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    config = PegasusConfig(
        vocab_size=source_size + target_size, activation_function="relu", scale_embedding=True, **ids, **_sized(shape)
    )
    return _begun(PegasusForConditionalGeneration, config, shape, seed)


def build_bart(shape: Mapping[str, Any], size: int, seed: int):
    """A randomly initialised encoder-decoder Transformer of the BART class, for summarization.

    Post-norm, learned positions, normed embeddings, GELU; one table of `size` tokens for both sides, to which the output is
    tied. Ids: 0 pads and starts the target, 1 ends a text. Positions start as sinusoids, weights with the standard deviation of
    `build` and encoder self-attention with an output of zero as there: from the class's own start a model of this size writes
    one and the same summary for all texts for as long as we trained it. The shape is that of `build`.
    """
    from transformers import BartConfig, BartForConditionalGeneration

    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    config = BartConfig(vocab_size=size, activation_function="gelu", **ids, **_sized(shape))
    model = _begun(BartForConditionalGeneration, config, shape, seed)
    for side in (model.model.encoder, model.model.decoder):
        table = side.embed_positions.weight
        angles = torch.arange(len(table)).unsqueeze(1) * 10_000 ** (-torch.arange(0, shape["width"], 2) / shape["width"])
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, : shape["width"]]
        table.data.copy_(config.init_std * waves)
    return model


def _sized(shape: Mapping[str, Any]) -> dict[str, Any]:
    decoder = {name: shape.get(f"decoder_{name}", shape[name]) for name in ("layers", "heads")}
    sizes = {"max_position_embeddings": MAX_POSITIONS, "d_model": shape["width"], "init_std": shape["width"] ** -0.5}
    for side, of_side in (("encoder", shape), ("decoder", decoder)):
        sizes |= {f"{side}_layers": of_side["layers"], f"{side}_attention_heads": of_side["heads"]}
        sizes[f"{side}_ffn_dim"] = shape["feed_forward"]
    return sizes | dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), shape["dropout"])


def _begun(family, config, shape: Mapping[str, Any], seed: int):
    """A model with random weights, drawn by the seed, whose attention starts as `start` of its shape says."""
    torch.manual_seed(seed)
    model = family(config)
    for site in sites(model, "encoder") if shape.get("start") != "usual" else ():
        torch.nn.init.zeros_(site.projection("out").weight)
    return _long(model)


def build_decoder(shape: Mapping[str, Any], size: int, seed: int):
    """A randomly initialised decoder-only Transformer for language modelling: of the OPT class, or of today's make (Llama).

    OPT: pre-norm with a final norm, learned positions, ReLU. Llama, where the shape says how many key-value heads the heads of
    a layer share: RMS norms, rotary positions, gated feed-forward layers, dropout on attention weights alone. The output is
    tied to the table of `size` tokens. Ids: 0 pads, 1 ends a text and stands before the first token. OPT counts positions by
    the attention mask: padding has none, on either side.
    OPT's dropout is on attention weights and on what a block adds; not on embeddings, which it does not scale either: weights
    start with its standard deviation of 0.02, from which it learns faster than from that of `build`. The loss
    that the class gives for labels shifts them by one itself: labels are the input's ids, -100 where ignored.
    """
    from transformers import LlamaConfig, LlamaForCausalLM, OPTConfig, OPTForCausalLM

    torch.manual_seed(seed)
    sizes = {"vocab_size": size, "max_position_embeddings": MAX_POSITIONS, "hidden_size": shape["width"]}
    sizes |= {"num_hidden_layers": shape["layers"], "num_attention_heads": shape["heads"]}
    sizes |= {"attention_dropout": shape["dropout"], "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    if pairs := shape.get("key_value_heads"):
        own = {"num_key_value_heads": pairs, "intermediate_size": shape["feed_forward"], "tie_word_embeddings": True}
        return _long(LlamaForCausalLM(LlamaConfig(**sizes, **own)))
    own = {"word_embed_proj_dim": shape["width"], "ffn_dim": shape["feed_forward"], "activation_function": "relu"}
    return _long(OPTForCausalLM(OPTConfig(**sizes, **own, dropout=shape["dropout"], layerdrop=0.0)))


def _long(model):
    """The model, whose texts may be as long as its positions."""
    model.generation_config.max_length = MAX_POSITIONS
    return model


def size(model, batch: Mapping[str, Any]) -> tuple[int, int]:
    """Parameters without embeddings, and FLOPs of a forward pass over a batch (as `flops`)."""
    return parameters(model), flops(model, lambda: model(**inputs(batch), use_cache=False))


def parameters(model) -> int:
    """Parameters without embeddings: tables of tokens and of positions, and an output that is tied to one."""
    tables = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    return sum(weight.numel() for weight in model.parameters() if id(weight) not in tables)


def flops(model, call: Callable[[], Any]) -> int:
    """FLOPs of a call of the model as torch counts them: products of matrices, two a multiply-add.

    Both products of attention are of all queries with all keys, what masks hide included. Nothing else is counted: softmax,
    norms, activations, embeddings.
    """
    plain = compat.implementation(model)
    model.set_attn_implementation("eager")  # whose two products the counter sees; on CPU it does not know SDPA
    try:
        with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=IN_PLACE) as counter:
            call()
    finally:
        model.set_attn_implementation(plain)
    return counter.get_total_flops()


def load_tokenizer(name: str | Path):
    """A pretrained tokenizer alone, by the names that `load` takes."""
    return _pretrained("tokenizer", name, AutoTokenizer.from_pretrained)


def load(name: str | Path):
    """A pretrained model and its tokenizer: one call.

    Parameters
    ----------
    name : str or pathlib.Path
        "smollm2" or "minilm" (`helpers.pretrained.PACKAGES`), a folder, or a Hub name.

    Returns
    -------
    model, tokenizer
        The model in evaluation mode: an encoder-decoder, one that continues texts, or an encoder, which has an output layer
        where the checkpoint is one of masked language modelling; the tokenizer as `helpers.corpora.tokens.Subwords` takes it.

    Raises
    ------
    StudyError
        If the folder holds no model, the Hub cannot be reached, the name is unknown, or as `helpers.pretrained.folder`.
    """
    config = _pretrained("model", name, AutoConfig.from_pretrained)
    if config.is_encoder_decoder:
        family = AutoModelForSeq2SeqLM
    elif type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        family = AutoModelForCausalLM
    else:
        masked = any(architecture.endswith("ForMaskedLM") for architecture in config.architectures or ())
        family = AutoModelForMaskedLM if masked else AutoModel
    cut = getattr(config, "kept_heads", None) is not None
    model = _pretrained("model", name, load_cut if cut else family.from_pretrained)
    return model.eval(), _pretrained("model", name, AutoTokenizer.from_pretrained)


def _pretrained(what: str, name: str | Path, read: Callable[[str | Path], Any]):
    place = pretrained.folder(str(name)) if str(name) in pretrained.PACKAGES else name
    try:
        return read(place)
    except StudyError:
        raise
    except Exception as error:  # a cut-off file or a missing tokenizer raises almost anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
        raise StudyError(
            f"Cannot load the {what} {str(name)!r} ({reason}): give a folder that holds one, or a Hub name that this "
            "machine can reach or has in its cache."
        ) from None
