"""What removed heads save on a Marian model, beside gates of 0: speed-ups, and the ceiling that operations set.

Every repeat runs the full, the masked (gates of 0) and the removed models once, in random order, and each ratio is taken
within a repeat, so that a slow spell of the machine hits all of them. Nothing is timed before removed and masked models
gave equal outputs. A speed-up is claimed up to the FLOP ceiling only, operations of the full over those of the removed
model: what is measured beyond is caches, threads and noise. Operations are those of matrix products, two a multiply-add:
linear layers and both products of attention, by torch's FlopCounterMode. Softmax, norms, activations, embeddings, the KV
cache and the Python around them are not counted. Inputs have no padding.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch

from benchmarks import common
from helpers.heads import KINDS, gate, index, remove, sites
from helpers.models import flops

SETTINGS = {
    "tiny": {"batches": (1,), "lengths": (8,), "tokens": 4, "repeats": 4},
    "laptop": {"batches": (1, 8, 64), "lengths": (16, 64), "tokens": 8, "repeats": 15},
    "base": {"batches": (1, 8, 64), "lengths": (16, 64), "tokens": 16, "repeats": 7},
}
TOLERANCE = 1e-4  # between removed and masked outputs, in single precision, relative


# --- which heads go --------------------------------------------------------------------------------------------------


def closed_heads(model, total: Mapping[str, int], bare: Mapping[str, int]) -> list[tuple]:
    """All heads but `total` of each kind, which are spread evenly over its layers, except those of a `bare` layer."""
    chance, stay = random.Random(0), set()
    for kind, number in total.items():
        places = [site for site in sites(model, kind) if site.layer != bare.get(kind)]
        shares = [places[n * len(places) // number].layer for n in range(number)]
        for site in places:
            stay |= {(kind, site.layer, head) for head in chance.sample(range(site.heads), shares.count(site.layer))}
    return [head for head in index(model) if head[0] in total and head not in stay]


def head_maps(model) -> dict[str, list[tuple]]:
    """Name -> heads that go: 10 of 48 stay in the encoder, as in Voita et al. 2019, section 6.2.1; a third everywhere."""
    layers, heads = model.config.encoder_layers, len(index(model, "encoder"))
    bare = {"encoder": layers - 1, "decoder": 0, "cross": 1}
    return {
        "encoder": closed_heads(model, {"encoder": round(heads * 10 / 48)}, {}),
        "all kinds": closed_heads(model, dict.fromkeys(KINDS, heads // 3), bare),
    }


# --- what is timed: each makes a call --------------------------------------------------------------------------------


def encoder_pass(model, source: torch.Tensor, tokens: int) -> Callable[[], torch.Tensor]:
    """The encoder over the source."""
    return lambda: model.get_encoder()(input_ids=source).last_hidden_state


def decoder_step(model, source: torch.Tensor, tokens: int) -> Callable[[], torch.Tensor]:
    """One more token after as many as the source has, from the KV cache, which then forgets it."""
    encoded = model.get_encoder()(input_ids=source)
    cache = model(encoder_outputs=encoded, decoder_input_ids=source, use_cache=True).past_key_values

    def step() -> torch.Tensor:
        options = {"encoder_outputs": encoded, "past_key_values": cache, "use_cache": True}
        logits = model(decoder_input_ids=source[:, -1:], **options).logits
        cache.self_attention_cache.crop(-1)
        return logits

    return step


def generation(model, source: torch.Tensor, tokens: int) -> Callable[[], torch.Tensor]:
    """Encoder and greedy search for a fixed number of new tokens, with the KV cache."""
    options = {"min_new_tokens": tokens, "max_new_tokens": tokens, "do_sample": False, "num_beams": 1}
    return lambda: model.generate(input_ids=source, attention_mask=torch.ones_like(source), **options)


CALLS = {"encoder pass": encoder_pass, "decoder step": decoder_step, "generation": generation}


# --- measure ---------------------------------------------------------------------------------------------------------


def measure_case(models: Mapping[str, Any], call: str, source: torch.Tensor, tokens: int, repeats: int, group: str):
    """The rows of one call on one batch: speed-ups by gates of 0 and by removal, the ceiling; and the largest difference."""
    calls = {name: CALLS[call](model, source, tokens) for name, model in models.items()}
    outputs = {name: run() for name, run in calls.items()}
    counts = {name: flops(models[name], run) for name, run in calls.items() if not name.endswith(", masked")}
    times, rows, differences = common.interleaved(calls, repeats), [], []
    for name in (name.removesuffix(", removed") for name in models if name.endswith(", removed")):
        removed, masked = f"{name}, removed", f"{name}, masked"
        differences.append(common.agree(f"{call}, {name}", outputs[removed], outputs[masked], TOLERANCE))
        for form in (removed, masked):
            note = "speed over that of the full model"
            rows.append(common.row(form, group, "speed-up", times["full"] / times[form], note))
        note = "FLOPs of the full model over those of the removed"
        rows.append(common.row(f"{name}, ceiling", group, "speed-up", counts["full"] / counts[removed], note))
    return rows, max(differences)


@torch.no_grad()
def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Every call at every length and size of batch, and the largest difference between removed and masked models."""
    options.device = "cpu"  # whatever is asked
    setting, shape = SETTINGS[options.size], common.SIZES[options.size]
    full, rows, differences = common.marian(shape, positions=256), [], []
    models, repeats = {"full": full}, options.repeats or setting["repeats"]
    with ExitStack() as stack:
        for name, heads in head_maps(full).items():
            models[f"{name}, masked"] = masked = copy.deepcopy(full)
            stack.enter_context(gate(masked, dict.fromkeys(heads, 0.0)))
            models[f"{name}, removed"] = remove(copy.deepcopy(full), heads)
        for call, length, size in ((c, n, b) for c in CALLS for n in setting["lengths"] for b in setting["batches"]):
            source, group = common.batch(shape, size, length)["input_ids"], common.words(options.size)
            group = f"{group}; {call}, length {length}, batch {size}"
            case, difference = measure_case(models, call, source, setting["tokens"], repeats, group)
            rows, differences = rows + case, [*differences, difference]
    return rows, max(differences)


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("removed_heads", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
