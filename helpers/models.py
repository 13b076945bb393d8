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
    """A randomly initialised encoder-decoder Transformer of the Marian class.

    Post-norm, sinusoidal positions, ReLU, scaled embeddings, source and target vocabularies apart, output tied to the
    target embeddings. The paper's models (appendix B.2) differ in one thing: their public code normalises before each
    block. Ids: 0 pads and starts the target, 1 ends a sentence.

    Parameters
    ----------
    shape : mapping
        "layers", "width", "heads", "feed_forward", "dropout"; "decoder_layers" if other than "layers".
    """
    from transformers import MarianConfig, MarianMTModel

    if shape["width"] % shape["heads"]:
        raise StudyError(f"A width of {shape['width']} cannot be split over {shape['heads']} heads: choose a multiple.")
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=source_size,
        decoder_vocab_size=target_size,
        share_encoder_decoder_embeddings=False,
        max_position_embeddings=MAX_POSITIONS,
        encoder_layers=shape["layers"],
        decoder_layers=shape.get("decoder_layers") or shape["layers"],
        d_model=shape["width"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
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
        bos_token_id=None,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
        is_encoder_decoder=True,
    )
    model = MarianMTModel(config)
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
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".:")
        raise StudyError(
            f"Cannot load the model {str(name)!r} ({reason}): give a folder that holds one, or a Hub name that this "
            "machine can reach or has in its cache."
        ) from None
