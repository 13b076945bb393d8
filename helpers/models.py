"""Build translation models from scratch or load pretrained ones; nothing about heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from helpers.study import StudyError

MAX_POSITIONS = 512


def device() -> torch.device:
    """The GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def inputs(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a batch that a model takes."""
    return {name: batch[name] for name in ("input_ids", "attention_mask", "labels", "decoder_input_ids") if name in batch}


def build(shape: Mapping[str, Any], source_size: int, target_size: int, seed: int):
    """A randomly initialised encoder-decoder Transformer of the Pegasus class.

    Pre-norm with a final norm on both sides (as the paper's public code), sinusoidal positions, ReLU, scaled embeddings. The
    two vocabularies stand side by side in one table, source first, and no token is in both (the special ones aside), so that
    source and target embeddings are apart as in the paper; the output is tied to the table. Ids: 0 pads and starts the
    target, 1 ends a sentence. Encoder self-attention starts with an output of zero: training begins with word-by-word
    representations and adds context to them, which halves the time to a usable model at this size.

    Parameters
    ----------
    shape : mapping
        "layers", "heads" (a layer), "width", "feed_forward", "dropout"; "decoder_layers" and "decoder_heads" where the
        decoder has others than the encoder.

    Raises
    ------
    StudyError
        If the width cannot be split over the heads.
    """
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    decoder_heads = shape.get("decoder_heads", shape["heads"])
    for heads in (shape["heads"], decoder_heads):
        if heads < 1 or shape["width"] % heads:
            raise StudyError(f"A width of {shape['width']} cannot be split over {heads} heads: choose a multiple.")
    torch.manual_seed(seed)
    config = PegasusConfig(
        vocab_size=source_size + target_size,
        max_position_embeddings=MAX_POSITIONS,
        encoder_layers=shape["layers"],
        decoder_layers=shape.get("decoder_layers", shape["layers"]),
        d_model=shape["width"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=decoder_heads,
        encoder_ffn_dim=shape["feed_forward"],
        decoder_ffn_dim=shape["feed_forward"],
        activation_function="relu",
        dropout=shape["dropout"],
        attention_dropout=shape["dropout"],
        activation_dropout=shape["dropout"],
        scale_embedding=True,
        init_std=shape["width"] ** -0.5,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
    )
    model = PegasusForConditionalGeneration(config)
    for layer in model.model.encoder.layers:
        torch.nn.init.zeros_(layer.self_attn.out_proj.weight)
    model.generation_config.max_length = MAX_POSITIONS
    return model


def load(name: str | Path):
    """A pretrained model and its tokenizer, by Hub name or folder: one call.

    Returns
    -------
    model, tokenizer
        The model in evaluation mode; the tokenizer as `helpers.corpora.tokens.Subwords` takes it.

    Raises
    ------
    StudyError
        If the folder holds no model, the Hub cannot be reached, or the name is unknown.
    """
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    try:
        model = AutoModelForSeq2SeqLM.from_pretrained(name)
        return model.eval(), AutoTokenizer.from_pretrained(name)
    except Exception as error:  # a cut-off file or a missing tokenizer raises almost anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
        raise StudyError(
            f"Cannot load the model {str(name)!r} ({reason}): give a folder that holds one, or a Hub name that this "
            "machine can reach or has in its cache."
        ) from None
