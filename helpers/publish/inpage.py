"""A translation model that a page can run without a server: weights in eight bits, sentences as token ids."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.corpora.tokens import collate
from helpers.measures.worth import mean_loss
from helpers.publish import explorer
from helpers.runs import subjects

TIED = re.compile(r"embed_tokens|lm_head|final_logits_bias|embed_positions")  # not a second time


def fits(subject: subjects.Subject) -> bool:
    """Whether `report/model.js` knows the model: one that we trained to translate, all of its heads in place."""
    config = subject.model.config
    ours = subject.run is not None and config.model_type == "pegasus" and subject.kind == subjects.TRANSLATION
    return ours and not getattr(config, "kept_heads", None)


def export(subject: subjects.Subject, sentences: list[int]) -> dict[str, Any]:
    """All that `report/model.js` needs to run a model on some of its dev sentences.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
        One that `fits`.
    sentences : list of int
        Numbers of dev sentences.

    Returns
    -------
    dict
        JSON-able. shape; matrices: rows of eight-bit integers (values) and a float32 scale a row (scales), in base64; vectors:
        float32 in base64 (biases, norms, `places`: sinusoids of as many positions as are read or written); sentences: source
        and target ids, the source's and the reference's text; pieces: the target vocabulary from id `first` on; loss: nats a
        target token on these sentences, of the model with its weights as stored and in eight bits.
    """
    model, config = subject.model, subject.model.config
    state = {_named(name): tensor for name, tensor in model.state_dict().items() if not TIED.search(name)}
    first = subject.target.offset + 2  # before it the source's tokens and the special ones
    read = [collate(subject.encoded, [number], subject.source.pad) for number in sentences]
    batches = [{name: value.to(model.device) for name, value in batch.items()} for batch in read]
    places = max(max(2 * batch["input_ids"].shape[1] + 10, batch["labels"].shape[1]) for batch in batches)
    return {
        "shape": {
            "layers": config.encoder_layers, "decoder_layers": config.decoder_layers, "heads": config.encoder_attention_heads,
            "decoder_heads": config.decoder_attention_heads, "width": config.d_model, "feed_forward": config.encoder_ffn_dim,
            "start": config.decoder_start_token_id, "end": config.eos_token_id,
        },
        "matrices": {name: _packed(tensor) for name, tensor in state.items() if tensor.ndim == 2},
        "vectors": {name: _base64(tensor.cpu().numpy()) for name, tensor in state.items() if tensor.ndim == 1}
        | {"places": _base64(model.model.encoder.embed_positions.weight[:places].detach().cpu().numpy())},
        "sentences": [
            {
                "source": batch["input_ids"][0].tolist(),
                "target": batch["labels"][0].tolist(),
                "words": subject.sentences[number].source,
                "reference": subject.sentences[number].target,
            }
            for number, batch in zip(sentences, batches, strict=True)
        ],
        "pieces": subject.target.pieces(range(first, config.vocab_size)),
        "first": first,
        "loss": {"stored": mean_loss(model, batches), "eight bits": mean_loss(in_eight_bits(model), batches)},
    }  # fmt: skip


def write(folder: Path, name: str, subject: subjects.Subject, sentences: list[int]) -> Path:
    """Write what `export` gives as a script that a page can load: FOLDER/NAME.weights.js."""
    return explorer.script(folder, "MODELS", name, export(subject, sentences), ".weights")


def in_eight_bits(model):
    """A copy of a model with the weights that `export` writes of it."""
    rounded = copy.deepcopy(model)
    with torch.no_grad():
        for name, tensor in rounded.state_dict().items():
            if tensor.ndim == 2 and not TIED.search(name):
                scales, values = _rounded(tensor)
                tensor.copy_(torch.from_numpy(values.astype(np.float32) * scales))
    return rounded


def _named(name: str) -> str:
    """A short name: "encoder 0 self_attn q_proj" for a weight, with "bias" after it for a bias."""
    parts = name.removeprefix("model.").removesuffix(".weight").replace("layers.", "")
    return parts.replace(".", " ")


def _rounded(tensor: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Scale of each row [rows, 1], and the row in whole steps of it from -127 to 127."""
    rows = tensor.detach().float().cpu().numpy()
    scales = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-12).astype(np.float32) / np.float32(127)
    return scales, np.rint(rows / scales).astype(np.int8)


def _packed(tensor: torch.Tensor) -> Mapping[str, str]:
    scales, values = _rounded(tensor)
    return {"scales": _base64(scales), "values": _base64(values)}


def _base64(array: np.ndarray) -> str:
    if array.dtype != np.int8:
        array = array.astype("<f4")
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
