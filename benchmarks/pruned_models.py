"""What is saved as ever more heads go: parameters, bytes of the KV cache, time of a prompt and of one more token.

An encoder-decoder (Marian) and a decoder with grouped queries (Llama), with random weights, lose heads in the order of three
criteria: those of least gradient importance first; any; whole groups, which share a key-value head, evenly over the layers
(of the encoder-decoder, which shares none, single heads). Nothing is timed before each pruned model gave what gates of 0
give. Pruned and full models run once a repeat in random order; ratios are taken within a repeat, what is left over
what the full model takes. The floor is operations, as `benchmarks.removed_heads` counts them: its ceiling, upside down. Copying
keys for uneven groups is no operation: what it costs shows in the time alone.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks import common
from helpers.heads import gate, index, remove, sites
from helpers.measures import importance
from helpers.models import flops, parameters

SHARES = (0, 30, 60, 90)  # per cent of heads that go
SHARED = 4  # query heads that read one key-value head
SENTENCES, LENGTHS = 4, {"tiny": 8, "laptop": 32, "base": 128}  # what a prompt has: the cache that one more token reads
TOLERANCE = 1e-4  # between logits of removed and masked models, relative to the largest
IMPORTANT, ANY, GROUPS = "least important first", "any", "whole groups"


class Cost(NamedTuple):
    """What one model costs.

    Attributes
    ----------
    parameters, cache : int
        Without embeddings; bytes of keys and values after the prompt.
    calls : dict of str to (call, undo)
        "prompt": from nothing to the first token's logits. "token": one more, from the cache.
    """

    parameters: int
    cache: int
    calls: Mapping[str, tuple[Callable[[], Any], Callable[[], Any]]]


def llama(shape: Mapping[str, int]) -> LlamaForCausalLM:
    """A Llama model of this shape with random weights and a key-value head for every `SHARED` heads, in evaluation mode."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape["vocabulary"],
        hidden_size=shape["width"],
        intermediate_size=shape["feed_forward"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=max(1, shape["heads"] // SHARED),
        initializer_range=shape["width"] ** -0.5,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config).eval()


def orders(model, batch: Mapping[str, torch.Tensor]) -> dict[str, list[tuple]]:
    """All heads in the order in which they go, by criterion."""
    chance = list(index(model))
    random.Random(0).shuffle(chance)
    groups = [
        (site.groups[head], site.layer, site.kind, head) for site in sites(model) for head in range(site.heads)
    ]  # the first group of every layer, then the second
    return {
        IMPORTANT: list(importance(model, [batch], norm=None).sort_values(kind="stable").index),
        ANY: chance,
        GROUPS: [(kind, layer, head) for _, layer, kind, head in sorted(groups)],
    }


def cost(model, batch: Mapping[str, torch.Tensor]) -> Cost:
    """Sizes of a model, and what is to be timed."""
    source = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    last, seq2seq = batch["input_ids"][:, -1:], model.config.is_encoder_decoder
    target = {"decoder_input_ids": batch["input_ids"]} if seq2seq else {}
    full = model(**source, **target, use_cache=True)
    cache, own = full.past_key_values, full.past_key_values
    if seq2seq:
        step: dict[str, Any] = {"encoder_outputs": (full.encoder_last_hidden_state,), "decoder_input_ids": last}
        step["attention_mask"], own = batch["attention_mask"], cache.self_attention_cache
        layers = [*cache.self_attention_cache.layers, *cache.cross_attention_cache.layers]
    else:
        more = torch.ones(len(last), 1, dtype=torch.long)
        step = {"input_ids": last, "attention_mask": torch.cat([batch["attention_mask"], more], 1)}
        layers = cache.layers
    held = sum(tensor.nbytes for layer in layers for tensor in (layer.keys, layer.values))
    prompt = source | ({"decoder_input_ids": last} if seq2seq else {})
    calls = {
        "prompt": (lambda: model(**prompt, use_cache=True).logits, lambda: None),
        "token": (lambda: model(**step, past_key_values=cache, use_cache=True).logits, lambda: own.crop(-1)),
    }
    return Cost(parameters(model), held, calls)


def pruned(model, heads: list[tuple], batch: Mapping[str, torch.Tensor]) -> tuple[Any, float]:
    """A copy without these heads, and how far its logits are from those of gates of 0.

    Raises
    ------
    SystemExit
        If that is more than `TOLERANCE`.
    """
    cut = remove(copy.deepcopy(model), heads)
    with gate(model, dict.fromkeys(heads, 0.0)):
        masked = model(**batch).logits
    return cut, common.agree(f"{type(model).__name__} without {len(heads)} heads", cut(**batch).logits, masked, TOLERANCE)


def timed(costs: Mapping[str, Cost], call: str, repeats: int) -> pd.DataFrame:
    """Seconds of a call, [repeat, model]; what it did to the cache is undone within them."""

    def run(one: Cost) -> Callable[[], None]:
        def both() -> None:
            one.calls[call][0]()
            one.calls[call][1]()

        return both

    return common.interleaved({name: run(one) for name, one in costs.items()}, repeats)


def measure(model, batch: Mapping[str, torch.Tensor], group: str, repeats: int) -> tuple[list[dict[str, Any]], float]:
    """Rows of what is kept of one model, and the largest difference that the gate found."""
    models, apart = {"full": model}, 0.0
    for criterion, order in orders(model, batch).items():
        with torch.no_grad():
            for share in SHARES[1:]:
                name = f"{criterion}, {share} %"
                models[name], far = pruned(model, order[: round(len(order) * share / 100)], batch)
                apart = max(apart, far)
    rows = []
    with torch.no_grad():
        costs = {name: cost(one, batch) for name, one in models.items()}
        full = costs["full"]
        for name, one in costs.items():
            rows.append(common.row(name, group, "parameters", one.parameters / full.parameters))
            rows.append(common.row(name, group, "cache bytes", one.cache / full.cache))
        for call in full.calls:
            counts = {}
            for name, one in costs.items():
                counts[name] = flops(models[name], one.calls[call][0])
                one.calls[call][1]()
            seconds = timed(costs, call, repeats)
            for name in costs:
                rows.append(common.row(name, group, f"time of a {call}", seconds[name] / seconds["full"]))
                rows.append(common.row(name, group, f"operations of a {call}", counts[name] / counts["full"]))
    return rows, apart


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "pruned_models", arguments)
    options.device = "cpu"  # whatever is asked
    shape, repeats = common.SIZES[options.size], options.repeats or 9
    batch = common.batch(shape, SENTENCES, LENGTHS[options.size])
    rows, apart = [], 0.0
    for model, name in ((common.marian(shape, 2 * LENGTHS["base"]), "encoder-decoder"), (llama(shape), "grouped queries")):
        found, far = measure(model, batch, f"{name}, {shape['layers']} layers, width {shape['width']}", repeats)
        rows, apart = rows + found, max(apart, far)
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    print("what is left of the full model's; operations are the floor of time\n")
    print(frame.pivot_table(index=["group", "what"], columns="quantity", values="value", sort=False).round(2).to_string())
    common.keep("pruned_models", frame, common.facts(options, repeats, apart, TOLERANCE))


if __name__ == "__main__":
    main()
