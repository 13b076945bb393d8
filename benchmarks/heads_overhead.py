"""What gates, records and injections cost on a small Marian model: ratios to the plain model, from one interleaved run.

Every repeat runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of
the machine hits both sides; the plain step stands there twice, which shows what is noise. Entering and leaving the
`with` block is part of the time. Nothing is timed before outputs were found equal.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import random
import statistics
import time
from contextlib import nullcontext
from pathlib import Path

import pandas as pd
import torch
import transformers

from helpers.heads import KINDS, gate, index, inject, record, sites
from helpers.methods.l0 import Gated

SENTENCES, LENGTH, VOCABULARY = 64, 16, 2000


def small_model() -> transformers.MarianMTModel:
    """Marian, 3 + 3 layers, width 128, 8 heads, random weights."""
    side = {"layers": 3, "attention_heads": 8, "ffn_dim": 512}
    layers = {f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()}
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        d_model=128,
        **layers,
        max_position_embeddings=64,
        dropout=0.1,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
    )
    return transformers.MarianMTModel(config)


def small_batch() -> dict[str, torch.Tensor]:
    """Sentences of 12 to 20 tokens, 16 on average, padded on the right, with targets of such lengths."""
    batch = {}
    for name in ("input_ids", "labels"):
        lengths = torch.randint(LENGTH - 4, LENGTH + 5, (SENTENCES, 1))
        mask = (torch.arange(LENGTH + 4) < lengths).long()
        tokens = torch.randint(2, VOCABULARY, mask.shape)
        batch[name] = tokens * mask if name == "input_ids" else tokens.masked_fill(mask == 0, -100)
        if name == "input_ids":
            batch["attention_mask"] = mask
    return batch


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


def check(model, batch) -> None:
    """Stop unless every variant computes what it should."""
    model = copy.deepcopy(model).eval()
    plain = Forward(model, plain_block)(batch).logits
    eager = Forward(model, plain_block, "eager", output_attentions=True)(batch)
    gates = {(site.kind, site.layer): torch.ones(site.heads) for site in sites(model)}
    seen = {}
    blocks = {
        "gates of 1, tensors": lambda m: gate(m, gates),
        "gates of 1, numbers": lambda m: gate(m, pd.Series(1.0, index(m))),
        "record": lambda m: record(m, lambda site, weights: seen.update({(site.kind, site.layer): weights})),
    }
    for name, block in blocks.items():
        torch.testing.assert_close(Forward(model, block)(batch).logits, plain, atol=1e-5, rtol=0, msg=f"{name} differs")
    opened = Gated(model, KINDS, start=50.0)
    for training in (False, True):
        opened.train(training)
        model.eval()  # no dropout
        torch.testing.assert_close(opened(**batch).logits, plain, atol=1e-5, rtol=0, msg="gates that are open differ")
    own = {(*place, 0): weights[:, 0] for place, weights in seen.items()}
    out = Forward(model, lambda m: inject(m, own))(batch).logits
    torch.testing.assert_close(out, plain, atol=1e-4, rtol=0, msg="heads that get their own weights injected differ")
    maps = {"encoder": eager.encoder_attentions, "decoder": eager.decoder_attentions, "cross": eager.cross_attentions}
    for (kind, layer), weights in seen.items():
        torch.testing.assert_close(weights, maps[kind][layer], atol=1e-5, rtol=0, msg=f"{kind} {layer} weights differ")


def variants(model) -> dict[str, tuple[str, object]]:
    """Name -> (name of the plain variant it is compared to, what to run)."""
    gates = {(s.kind, s.layer): torch.ones(s.heads, requires_grad=True) for s in sites(model)}
    fixed = pd.Series([1.0, 0.5] * (len(index(model)) // 2), index(model))
    places = {(s.kind, s.layer, 0): identity for s in sites(model, ("encoder",))}
    everywhere = {(s.kind, s.layer, 0): identity for s in sites(model)}
    sums = {}

    def reducer(site, weights):
        key = site.kind, site.layer
        sums[key] = sums.get(key, 0) + weights.amax(-1).sum((0, 2))

    step, forward = "training step", "forward"
    return {
        step: (step, Training(model, plain_block)),
        "training step, once more (noise)": (step, Training(model, plain_block)),
        "training step, all gates learned": (step, Training(model, lambda m: gate(m, gates), gates.values())),
        "training step, Hard Concrete gates and penalty": (step, GatedTraining(model)),
        "training step, all gates fixed": (step, Training(model, lambda m: gate(m, fixed))),
        "training step, inject 1 head a layer (encoder)": (step, Training(model, lambda m: inject(m, places))),
        "training step, inject 1 head a layer (all)": (step, Training(model, lambda m: inject(m, everywhere))),
        forward: (forward, Forward(model, plain_block)),
        "forward, record": (forward, Forward(model, lambda m: record(m, reducer))),
        "forward, eager output_attentions": (forward, Forward(model, plain_block, "eager", output_attentions=True)),
    }


def measure(repeats: int, warmup: int = 3) -> pd.DataFrame:
    """Run all variants interleaved; one row per variant: median seconds, median ratio and its quartiles."""
    torch.manual_seed(0)
    model, batch = small_model(), small_batch()
    check(model, batch)
    runs = variants(model)
    names, shuffle = list(runs), random.Random(0)
    times = {name: [] for name in names}
    for repeat in range(warmup + repeats):
        for name in shuffle.sample(names, len(names)):
            start = time.perf_counter()
            runs[name][1](batch)
            if repeat >= warmup:
                times[name].append(time.perf_counter() - start)
    rows = []
    for name in names:
        ratios = [own / plain for own, plain in zip(times[name], times[runs[name][0]], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        seconds = statistics.median(times[name])
        rows.append({"variant": name, "seconds": seconds, "ratio": middle, "q1": low, "q3": high})
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heads_overhead", description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, help="threads of torch (default: torch's own choice)")
    parser.add_argument("--repeats", type=int, default=31, help="interleaved repeats after warm-up (default: 31)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the table and the versions here")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    table = measure(options.repeats)
    setting = {
        "model": "Marian 3+3 layers, width 128, 8 heads, vocabulary 2000, random weights",
        "batch": f"{SENTENCES} sentences of about {LENGTH} tokens, source and target",
        "repeats": options.repeats,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} CPU",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print("outputs are equal; ratios to the plain variant, median and quartiles within repeats\n")
    print("\n".join(f"{name:<13}{value}" for name, value in setting.items()), end="\n\n")
    for row in table.itertuples():
        spread = f"{row.ratio:.3f}  [{row.q1:.3f}, {row.q3:.3f}]"
        print(f"{row.variant:<50}{row.seconds * 1000:8.1f} ms  {spread}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**setting, "rows": table.to_dict("records")}, indent=1) + "\n")


if __name__ == "__main__":
    main()
