"""What measures cost on a decoder of today: grouped queries, RMS norms, gated feed-forwards, rotary positions.

Importance, relevance and leaving heads out, each beside the obvious protocol: a backward pass an example; a forward and a
backward pass a target token; a forward pass of the whole model a head. Passages are random tokens. Nothing is timed before
both ways gave the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks import common
from benchmarks.importance_speed import check, floor, obvious_leave_one_out, obvious_per_example, single
from helpers.measures.lrp import explain
from helpers.measures.worth import importance, leave_one_out

LAPTOP = {"layers": 12, "width": 512, "heads": 8, "groups": 2, "feed_forward": 1376, "vocabulary": 2000}
SHAPES = {
    "tiny": {"layers": 2, "width": 32, "heads": 4, "groups": 2, "feed_forward": 48, "vocabulary": 100},
    "laptop": LAPTOP,
    "base": LAPTOP,
}
PASSAGES, LENGTH = 2, 16  # tokens each; those explained are fewer
EXPLAINED = 6
REPEATS, TOLERANCE = 3, 1e-4  # of the largest value


def obvious_relevance(model, batches: Sequence[common.Batch], rule: str) -> np.ndarray:
    """A pass of its own for each target of each passage: [targets, heads]."""
    rows = []
    for batch in single(batches):
        for t in range(1, batch["labels"].shape[1]):
            labels = torch.full_like(batch["labels"], -100)
            labels[:, t] = batch["labels"][:, t]
            rows.append(explain(model, [{**batch, "labels": labels}], rule).values)
    return np.concatenate(rows)


def variants(model, batches: list[common.Batch]) -> dict[str, Callable[[], Any]]:
    """What is timed; all but the floors give numbers by head. Of the beginnings of passages all tokens are explained."""
    few = [{name: part[:, : EXPLAINED + 1] for name, part in batch.items()} for batch in batches]
    return {
        "importance": lambda: importance(model, batches, norm=None).to_numpy(),
        "importance, obvious": lambda: obvious_per_example(model, single(batches)),
        "relevance": lambda: explain(model, few, "attnlrp").values,
        "relevance, obvious": lambda: obvious_relevance(model, few, "attnlrp"),
        "leave one out": lambda: leave_one_out(model, batches, repeats=1).loss.to_numpy(),
        "leave one out, obvious": lambda: obvious_leave_one_out(model, batches),
        "floor": lambda: floor(model, batches),
        "floor of relevance": lambda: floor(model, few),
    }


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Seconds, the ratios, and the largest difference, which is found in double precision: a rise of the loss is small."""
    shape = SHAPES[options.size]
    model = common.llama(shape, shape["groups"], options.device)
    batch = common.batch(shape, PASSAGES, LENGTH, options.device)
    batches: list[common.Batch] = [batch | {"labels": batch["input_ids"]}]
    difference = check(variants(model.double(), batches))
    seconds = common.interleaved(variants(model.float(), batches), options.repeats or REPEATS)
    group = f"{shape['layers']} layers, width {shape['width']}, {shape['heads']} query and {shape['groups']} key-value heads"
    pairs = [(f"{name}, obvious", name) for name in ("importance", "relevance", "leave one out")]
    pairs += [("importance", "floor"), ("relevance", "floor of relevance"), ("leave one out", "floor")]
    return common.rows(group, seconds, "seconds", pairs), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("decoder_speed", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
