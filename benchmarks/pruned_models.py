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

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MarianMTModel

from benchmarks import common
from helpers.heads import gate, index, remove, sites
from helpers.measures import importance
from helpers.models import flops, parameters

TENS, FEW = tuple(range(0, 91, 10)), (0, 30, 60, 90)  # per cent of heads that go
MEASURED = {"tiny": {"tiny": FEW}, "laptop": {"laptop": TENS, "base": FEW}, "base": {"base": FEW}}  # by size asked for
SHARED = 4  # query heads that read one key-value head
SENTENCES, LENGTHS = 4, {"tiny": 8, "laptop": 128, "base": 128}  # what a prompt has: the cache that one more token reads
TOLERANCE = 1e-4  # between logits of removed and masked models, relative to the largest
IMPORTANT, ANY = "least important first", "at random"
GROUPS, SINGLE = "whole groups, evenly over layers", "single heads, evenly over layers"


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


def marian(shape: Mapping[str, int]) -> MarianMTModel:
    """A Marian model of this shape with random weights and room for the prompt and what follows, in evaluation mode."""
    return common.marian(shape, 2 * LENGTHS["base"])


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
        GROUPS if any(len(set(site.groups)) < site.heads for site in sites(model)) else SINGLE: [
            (kind, layer, head) for _, layer, kind, head in sorted(groups)
        ],
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


def measure(model, batch: Mapping[str, torch.Tensor], group: str, shares: Sequence[int], repeats: int) -> Iterator[tuple]:
    """Rows of what is kept of one pruned model after the other, each with the difference that the gate found."""
    for criterion, order in orders(model, batch).items():
        for share in shares:
            with torch.no_grad():
                cut, far = pruned(model, order[: round(len(order) * share / 100)], batch)
                full, one = cost(model, batch), cost(cut, batch)
                left = {"parameters": one.parameters / full.parameters, "cache bytes": one.cache / full.cache}
                for call in full.calls:
                    counts = []
                    for which, owner in ((cut, one), (model, full)):
                        counts.append(flops(which, owner.calls[call][0]))
                        owner.calls[call][1]()
                    seconds = timed({"pruned": one, "full": full}, call, repeats)
                    left[f"time of a {call}"] = seconds["pruned"] / seconds["full"]
                    left[f"operations of a {call}"] = counts[0] / counts[1]
            yield [common.row(f"{criterion}, {share} %", group, what, values) for what, values in left.items()], far


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "pruned_models", arguments)
    options.device = "cpu"  # whatever is asked
    rows, apart, repeats = [], 0.0, options.repeats or 9
    for size, shares in MEASURED[options.size].items():
        shape = common.SIZES[size]
        batch = common.batch(shape, SENTENCES, LENGTHS[size])
        for make, name in ((marian, "encoder-decoder"), (llama, "grouped queries")):
            group = f"{name}, {shape['layers']} layers, width {shape['width']}"
            for found, far in measure(make(shape), batch, group, shares, repeats):
                rows, apart = rows + found, max(apart, far)
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    print("what is left of the full model's; operations are the floor of time\n")
    print(frame.pivot_table(index=["group", "what"], columns="quantity", values="value", sort=False).round(2).to_string())
    common.keep("pruned_models", frame, common.facts(options, repeats, apart, TOLERANCE))


if __name__ == "__main__":
    main()
