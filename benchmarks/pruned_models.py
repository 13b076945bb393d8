"""What is saved as ever more heads go: parameters, bytes of the KV cache, time of a prompt and of one more token.

An encoder-decoder (Marian) and a decoder with grouped queries (Llama), with random weights, lose heads in the order of three
criteria: those of least gradient importance first; at random; evenly over the layers, whole groups, which share a key-value
head (of the encoder-decoder, which shares none, single heads). Size `laptop` has the models of size `base` beside its own:
there heads cost something. Nothing is timed before the pruned model gave what gates of 0 give. A pruned model, which is then
dropped, and the full one run once a repeat in random order; ratios are taken within a repeat, what is left over what the
full model takes; with no head gone they say what is noise. The floor is operations, as `benchmarks.removed_heads` counts
them: its ceiling, upside down. Copying keys for uneven groups is no operation: what it costs shows in the time alone.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from benchmarks import common
from helpers.heads import gate, index, remove, sites
from helpers.measures import importance
from helpers.models import flops, parameters

TENS, FEW = tuple(range(0, 91, 10)), (0, 30, 60, 90)  # per cent of heads that go
MEASURED = {"tiny": {"tiny": FEW}, "laptop": {"laptop": TENS, "base": FEW}, "base": {"base": FEW}}  # by size asked for
SHARED = 4  # query heads that read one key-value head
SENTENCES, LENGTHS = 4, {"tiny": 8, "laptop": 128, "base": 128}  # what a prompt has: the cache that one more token reads
TOLERANCE, REPEATS = 1e-4, 9  # between logits of removed and masked models, relative to the largest
IMPORTANT, ANY = "least important first", "at random"
GROUPS, SINGLE = "whole groups, evenly over layers", "single heads, evenly over layers"


def orders(model, batch: common.Batch) -> dict[str, list[tuple]]:
    """All heads in the order in which they go, by criterion."""
    chance, places = list(index(model)), sites(model)
    random.Random(0).shuffle(chance)
    # the first group of every layer, then the second
    groups = sorted((site.groups[head], site.layer, site.kind, head) for site in places for head in range(site.heads))
    evenly = GROUPS if any(len(set(site.groups)) < site.heads for site in places) else SINGLE
    return {
        IMPORTANT: list(importance(model, [batch], norm=None).sort_values(kind="stable").index),
        ANY: chance,
        evenly: [(kind, layer, head) for _, layer, kind, head in groups],
    }


def cost(model, batch: common.Batch) -> tuple[dict[str, int], dict[str, Callable[[], Any]]]:
    """Parameters and bytes of a prompt's cache; the calls that are timed: a prompt, and one more token from that cache."""
    source = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    last, seq2seq = batch["input_ids"][:, -1:], model.config.is_encoder_decoder
    full = model(**source, **({"decoder_input_ids": batch["input_ids"]} if seq2seq else {}), use_cache=True)
    cache = full.past_key_values
    if seq2seq:
        caches = (cache.self_attention_cache, cache.cross_attention_cache)
        step: dict[str, Any] = {"encoder_outputs": (full.encoder_last_hidden_state,), "decoder_input_ids": last}
        step["attention_mask"], prompt = batch["attention_mask"], source | {"decoder_input_ids": last}
    else:
        caches, prompt = (cache,), source
        more = torch.ones(len(last), 1, dtype=torch.long)
        step = {"input_ids": last, "attention_mask": torch.cat([batch["attention_mask"], more], 1)}

    def token() -> None:
        model(**step, past_key_values=cache, use_cache=True)
        caches[0].crop(-1)

    size = sum(tensor.nbytes for one in caches for layer in one.layers for tensor in (layer.keys, layer.values))
    calls = {"prompt": lambda: model(**prompt, use_cache=True), "token": token}
    return {"parameters": parameters(model), "cache bytes": size}, calls


def pruned(model, heads: list[tuple], batch: common.Batch) -> tuple[Any, float]:
    """A copy without these heads, and how far its logits are from those of gates of 0."""
    cut = remove(copy.deepcopy(model), heads)
    with gate(model, dict.fromkeys(heads, 0.0)):
        masked = model(**batch).logits
    return cut, common.agree(f"{type(model).__name__} without {len(heads)} heads", cut(**batch).logits, masked, TOLERANCE)


def shares_left(model, batch: common.Batch, group: str, shares: Sequence[int], repeats: int) -> Iterator[tuple]:
    """Rows of one pruned model after the other, each with its difference from gates of 0."""
    for criterion, order in orders(model, batch).items():
        for share in shares:
            with torch.no_grad():
                cut, difference = pruned(model, order[: round(len(order) * share / 100)], batch)
                (whole, full), (size, calls) = cost(model, batch), cost(cut, batch)
                left = {name: size[name] / whole[name] for name in whole}
                for call in calls:
                    seconds = common.interleaved({"pruned": calls[call], "full": full[call]}, repeats)
                    left[f"time of a {call}"] = seconds["pruned"] / seconds["full"]
                    left[f"operations of a {call}"] = flops(cut, calls[call]) / flops(model, full[call])
            yield [common.row(f"{criterion}, {share} %", group, what, values) for what, values in left.items()], difference


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """What is left of the full model's; operations are the floor of time."""
    options.device = "cpu"  # whatever is asked
    rows, differences = [], []
    for size, shares in MEASURED[options.size].items():
        shape = common.SIZES[size]
        batch = common.batch(shape, SENTENCES, LENGTHS[size])
        models: Mapping[str, Any] = {
            "encoder-decoder": common.marian(shape, 2 * LENGTHS["base"]),
            "grouped queries": common.llama(shape, max(1, shape["heads"] // SHARED)),
        }
        for name, model in models.items():
            group = f"{name}, {shape['layers']} layers, width {shape['width']}"
            for case, difference in shares_left(model, batch, group, shares, options.repeats or REPEATS):
                rows, differences = rows + case, [*differences, difference]
    return rows, max(differences)


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("pruned_models", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
