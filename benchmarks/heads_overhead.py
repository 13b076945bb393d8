"""What gates, records and injections cost on a small Marian model: ratios to the plain model, from one interleaved run.

Every repeat runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of
the machine hits both sides; the plain step stands there twice, which shows what is noise. Entering and leaving the
`with` block is part of the time. Nothing is timed before outputs were found equal.
"""

from __future__ import annotations

import copy
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import pandas as pd
import torch
import transformers

from benchmarks import common
from helpers.heads import KINDS, gate, index, inject, record, sites
from helpers.methods.l0.gates import Gated

STEP, LEARNED, PENALTY = "training step", "training step, all gates learned", "training step, Hard Concrete gates and penalty"
SIZES = {  # memory: of what, each in a process of its own
    "tiny": {"sentences": 8, "vocabulary": 200, "repeats": 5, "memory": (STEP, PENALTY)},
    "laptop": {"sentences": 64, "vocabulary": 2000, "repeats": 31, "memory": (STEP, LEARNED, PENALTY)},
    "base": {"sentences": 32, "vocabulary": 2000, "repeats": 7, "memory": (STEP, LEARNED, PENALTY)},
}
LENGTH, TOLERANCE = 16, 1e-4  # tokens of a sentence on average; between outputs in single precision


def model_of(size: str) -> transformers.MarianMTModel:
    """Marian with random weights."""
    shape = common.SIZES[size]
    side = {"layers": shape["layers"], "attention_heads": shape["heads"], "ffn_dim": shape["feed_forward"]}
    layers = {f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()}
    config = transformers.MarianConfig(
        vocab_size=SIZES[size]["vocabulary"],
        d_model=shape["width"],
        **layers,
        max_position_embeddings=64,
        dropout=0.1,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
    )
    return transformers.MarianMTModel(config)


def batch_of(size: str) -> dict[str, torch.Tensor]:
    """Sentences of 12 to 20 tokens, 16 on average, padded on the right, with targets of such lengths."""
    batch, chosen = {}, SIZES[size]
    for name in ("input_ids", "labels"):
        lengths = torch.randint(LENGTH - 4, LENGTH + 5, (chosen["sentences"], 1))
        mask = (torch.arange(LENGTH + 4) < lengths).long()
        tokens = torch.randint(2, chosen["vocabulary"], mask.shape)
        batch[name] = tokens * mask if name == "input_ids" else tokens.masked_fill(mask == 0, -100)
        if name == "input_ids":
            batch["attention_mask"] = mask
    return batch


def prepared(size: str, device: str):
    """The model and the batch, the same at every call."""
    torch.manual_seed(0)
    model, batch = model_of(size).to(device), batch_of(size)
    return model, {name: tensor.to(device) for name, tensor in batch.items()}


def plain_block(model):
    """Nothing around the model."""
    return nullcontext()


def identity(site, query_length, key_length, rows):
    """The matrix that is injected: each query looks at its own position."""
    return torch.eye(query_length, key_length)


class Training:
    """One training step, with what stands around it."""

    def __init__(self, model, block, extra=()):
        self.model = copy.deepcopy(model).train()
        self.block = block
        self.optimizer = torch.optim.AdamW([*self.model.parameters(), *extra], lr=1e-4)

    def __call__(self, batch):
        with self.block(self.model):
            self.model(**batch).loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class GatedTraining:
    """One training step of L0 pruning: gates drawn for the batch, cross-entropy plus the price of open gates."""

    def __init__(self, model):
        self.gated = Gated(copy.deepcopy(model), KINDS, rate=100.0).train()
        self.optimizer = torch.optim.AdamW(self.gated.parameters(), lr=1e-4)

    def __call__(self, batch):
        (self.gated(**batch).loss + 0.01 * self.gated.gates.expected()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Forward:
    """One forward pass in evaluation mode, with what stands around it."""

    def __init__(self, model, block, attention="sdpa", **options):
        self.model = copy.deepcopy(model).eval()
        self.model.set_attn_implementation(attention)
        self.block, self.options = block, options

    def __call__(self, batch):
        with torch.no_grad(), self.block(self.model):
            return self.model(**batch, **self.options)


def check(model, batch) -> float:
    """The largest difference between what a variant puts out and what it should.

    Raises
    ------
    SystemExit
        If one is larger than `TOLERANCE` (of heads that get their own weights injected) or a tenth of it (of all else).
    """
    model, found = copy.deepcopy(model).eval(), []

    def equal(what: str, one: torch.Tensor, other: torch.Tensor, bound: float = TOLERANCE / 10) -> None:
        found.append(common.held(what, float((one - other).detach().abs().max()), bound))

    plain = Forward(model, plain_block)(batch).logits
    eager = Forward(model, plain_block, "eager", output_attentions=True)(batch)
    gates = {(site.kind, site.layer): torch.ones(site.heads, device=model.device) for site in sites(model)}
    seen = {}
    blocks = {
        "gates of 1, tensors": lambda m: gate(m, gates),
        "gates of 1, numbers": lambda m: gate(m, pd.Series(1.0, index(m))),
        "record": lambda m: record(m, lambda site, weights: seen.update({(site.kind, site.layer): weights})),
    }
    for name, block in blocks.items():
        equal(name, Forward(model, block)(batch).logits, plain)
    opened = Gated(model, KINDS, start=50.0).to(model.device)
    for training in (False, True):
        opened.train(training)
        model.eval()  # no dropout
        equal("gates that are open", opened(**batch).logits, plain)
    own = {(*place, 0): weights[:, 0] for place, weights in seen.items()}
    out = Forward(model, lambda m: inject(m, own))(batch).logits
    equal("heads that get their own weights injected", out, plain, TOLERANCE)
    maps = {"encoder": eager.encoder_attentions, "decoder": eager.decoder_attentions, "cross": eager.cross_attentions}
    for (kind, layer), weights in seen.items():
        equal(f"recorded weights of {kind} {layer}", weights, maps[kind][layer])
    return max(found)


def variants(model) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Name -> (name of the plain variant it is compared to, what makes the call to run, with a copy of the model)."""
    gates = {(s.kind, s.layer): torch.ones(s.heads, requires_grad=True, device=model.device) for s in sites(model)}
    fixed = pd.Series([1.0, 0.5] * (len(index(model)) // 2), index(model))
    places = {(s.kind, s.layer, 0): identity for s in sites(model, ("encoder",))}
    everywhere = {(s.kind, s.layer, 0): identity for s in sites(model)}
    sums = {}

    def reducer(site, weights):
        key = site.kind, site.layer
        sums[key] = sums.get(key, 0) + weights.amax(-1).sum((0, 2))

    forward = "forward"
    around = {
        STEP: plain_block,
        "training step, once more (noise)": plain_block,
        LEARNED: lambda m: gate(m, gates),
        "training step, all gates fixed": lambda m: gate(m, fixed),
        "training step, inject 1 head a layer (encoder)": lambda m: inject(m, places),
        "training step, inject 1 head a layer (all)": lambda m: inject(m, everywhere),
    }
    trained = {LEARNED: gates.values()}
    steps = {name: partial(Training, model, block, trained.get(name, ())) for name, block in around.items()}
    passes = {
        forward: partial(Forward, model, plain_block),
        "forward, record": partial(Forward, model, lambda m: record(m, reducer)),
        "forward, eager output_attentions": partial(Forward, model, plain_block, "eager", output_attentions=True),
    }
    found = {name: (STEP, make) for name, make in (steps | {PENALTY: partial(GatedTraining, model)}).items()}
    return found | {name: (forward, make) for name, make in passes.items()}


def measure(size: str, repeats: int, device: str = "cpu") -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Seconds [repeat, variant] of all variants interleaved, the ratios to their plain ones, and what the gate found."""
    model, batch = prepared(size, device)
    apart = check(model, batch)
    runs = {name: (plain, make()) for name, (plain, make) in variants(model).items()}
    times = common.interleaved({name: partial(run, batch) for name, (_, run) in runs.items()}, repeats)
    return times, pd.DataFrame({name: times[name] / times[plain] for name, (plain, _) in runs.items()}), apart


def one(variant: str, size: str, device: str):
    """The call of a variant and its batch; with the model, so that nothing that was freed hides what the call takes."""
    model, batch = prepared(size, device)
    return variants(model)[variant][1](), batch, model


def two_steps(given: tuple[Callable, Mapping[str, torch.Tensor], Any]) -> None:
    """Two steps: the second has the optimiser's state beside the gradients."""
    run, batch, _ = given
    run(batch)
    run(batch)


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "heads_overhead", arguments)
    chosen, group = SIZES[options.size], common.words(options.size)
    repeats = options.repeats or chosen["repeats"]
    times, ratios, apart = measure(options.size, repeats, options.device)
    setting = {
        "model": f"Marian {group}, vocabulary {chosen['vocabulary']}, random weights",
        "batch": f"{chosen['sentences']} sentences of about {LENGTH} tokens, source and target",
        "repeats": repeats,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} {options.device}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print("outputs are equal; ratios to the plain variant, median and quartiles within repeats\n")
    print("\n".join(f"{name:<13}{value}" for name, value in setting.items()), end="\n\n")
    rows = [common.row(name, group, "ratio", ratios[name], "to the plain variant") for name in ratios]
    for row, seconds in zip(rows, times.median(), strict=True):
        print(f"{row['what']:<50}{seconds * 1000:8.1f} ms  {row['value']:.3f}  [{row['low']:.3f}, {row['high']:.3f}]")
    rows += [common.row(name, group, "seconds", times[name]) for name in times]
    for name in chosen["memory"]:
        memory = common.peak_memory(two_steps, partial(one, name, options.size, options.device), options.device)
        rows.append(common.row(name, group, "bytes", memory, "peak of two steps"))
        print(f"{name:<50}{memory / 2**20:8.1f} MiB at its peak")
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    common.keep("heads_overhead", frame, common.facts(options, repeats, apart, TOLERANCE))


if __name__ == "__main__":
    main()
