"""What gates, records and injections cost on a small Marian model: ratios to the plain model, from one interleaved run.

Every repeat runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of
the machine hits both sides; the plain step stands there twice, which shows what is noise. Entering and leaving the
`with` block is part of the time. Nothing is timed before outputs were found equal.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pandas as pd
import torch

from benchmarks import common
from helpers.heads import KINDS, gate, index, inject, record, sites
from helpers.methods.l0 import Gated

STEP, LEARNED, PENALTY = "training step", "training step, all gates learned", "training step, Hard Concrete gates and penalty"
FORWARD = "forward"
SIZES = {
    "tiny": {"sentences": 8, "vocabulary": 200, "repeats": 5},
    "laptop": {"sentences": 64, "vocabulary": 2000, "repeats": 31},
    "base": {"sentences": 32, "vocabulary": 2000, "repeats": 7},
}
LENGTH, TOLERANCE = 16, 1e-4  # tokens of a sentence; between outputs in single precision, relative


def identity(site, query_length, key_length, rows):
    """The matrix that is injected: each query looks at its own position."""
    return torch.eye(query_length, key_length)


def forward(model, batch: common.Batch, block: Callable[[Any], AbstractContextManager] = nullcontext, **more: Any):
    """One pass in evaluation mode, with what stands around it."""
    with torch.no_grad(), block(model):
        return model(**batch, **more)


def check(model, batch: common.Batch) -> float:
    """The largest difference of open gates, records and heads that get their own weights from the plain model's logits."""
    weights: dict[tuple[str, int, int], torch.Tensor] = {}

    def keep(site, maps) -> None:
        weights[site.kind, site.layer, 0] = maps[:, 0]

    blocks = {
        "record": lambda m: record(m, keep),
        "gates of 1": lambda m: gate(m, pd.Series(1.0, index(m))),
        "weights injected where they were": lambda m: inject(m, weights),
    }
    logits = {name: forward(model, batch, block).logits for name, block in blocks.items()}
    logits["open gates"] = forward(Gated(model, KINDS, start=50.0).eval(), batch).logits
    plain = forward(model, batch).logits
    return max(common.agree(name, one, plain, TOLERANCE) for name, one in logits.items())


def steps(model) -> dict[str, common.Step]:
    """The training steps that are timed, by name."""
    gates = {(s.kind, s.layer): torch.ones(s.heads, requires_grad=True, device=model.device) for s in sites(model)}
    fixed = pd.Series([1.0, 0.5] * (len(index(model)) // 2), index(model))
    places = {(s.kind, s.layer, 0): identity for s in sites(model, ("encoder",))}
    everywhere = {(s.kind, s.layer, 0): identity for s in sites(model)}
    return {
        STEP: common.Step(model),
        "training step, once more (noise)": common.Step(model),
        LEARNED: common.Step(model, block=lambda m: gate(m, gates), more=gates.values()),
        "training step, all gates fixed": common.Step(model, block=lambda m: gate(m, fixed)),
        "training step, inject 1 head a layer (encoder)": common.Step(model, block=lambda m: inject(m, places)),
        "training step, inject 1 head a layer (all)": common.Step(model, block=lambda m: inject(m, everywhere)),
        PENALTY: common.Step(
            model, lambda m: Gated(m, KINDS, rate=100.0), lambda m, batch: m(**batch).loss + 0.01 * m.gates.expected()
        ),
    }


def passes(model, batch: common.Batch) -> dict[str, Callable[[], Any]]:
    """The forward passes that are timed, by name."""
    eager, sums = copy.deepcopy(model), {}
    eager.set_attn_implementation("eager")

    def add(site, weights) -> None:
        sums[site.kind, site.layer] = sums.get((site.kind, site.layer), 0) + weights.amax(-1).sum((0, 2))

    return {
        FORWARD: partial(forward, model, batch),
        "forward, record": partial(forward, model, batch, lambda m: record(m, add)),
        "forward, eager output_attentions": partial(forward, eager, batch, output_attentions=True),
    }


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Seconds and ratios to the plain step and the plain pass, and what the check found."""
    chosen, group = SIZES[options.size], common.words(options.size)
    shape = common.SIZES[options.size] | {"vocabulary": chosen["vocabulary"]}
    model = common.marian(shape, device=options.device, dropout=0.1)
    batch = common.batch(shape, chosen["sentences"], LENGTH, options.device)
    difference, single = check(model, batch), passes(model, batch)
    trained = {name: partial(step, batch) for name, step in steps(model).items()}
    times = common.interleaved(trained | single, options.repeats or chosen["repeats"])
    rows = common.ratios(group, times[list(trained)], STEP) + common.ratios(group, times[list(single)], FORWARD)
    return rows + common.rows(group, times), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("heads_overhead", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
