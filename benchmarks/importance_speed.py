"""What the importance of heads costs: examples per second, against one backward pass an example and leaving heads out.

Importance per example and per token takes one backward pass a batch; the obvious way has batches of 1, with the gradient of
gates, or of the numbers that the output projections read, example by example. Leaving heads out takes a forward pass a head.
The floor is one forward and backward pass a batch. Examples are generated sentence pairs. Nothing is timed before both ways
gave the same, and leaving out the loss that zeros in the weights give.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks import common
from helpers import world
from helpers.corpora.tokens import Batches, Subwords, encode, learn_vocabulary
from helpers.heads import gate, sites
from helpers.measures.worth import importance, leave_one_out

EXAMPLES = {"tiny": 4, "laptop": 128, "base": 32}
BUDGET = 2048  # tokens of source and target a batch, padding included
TOLERANCE = 1e-4  # of the largest value
REPEATS = 5
CHECKED = 4  # examples on which leaving out is held against zeros in the weights


def text(count: int, device: str) -> list[dict[str, torch.Tensor]]:
    """Generated English with German beside it, in batches; each side has 1,000 subwords of its own."""
    pairs = list(islice(world.pairs("news", "de", 1), count))
    source, target = (
        Subwords(learn_vocabulary((getattr(pair, side) for pair in pairs), 1000), offset=offset)
        for side, offset in (("source", 0), ("target", 1000))
    )
    return list(Batches(encode(pairs, source, target), source.pad, BUDGET, device))


def targets(model, batch: common.Batch) -> int:
    """Tokens that a model predicts: a decoder alone no first ones."""
    return int((batch["labels"][:, 0 if model.config.is_encoder_decoder else 1 :] != -100).sum())


def loss_of(model, batch: common.Batch) -> torch.Tensor:
    """Cross-entropy of all target tokens of a batch, summed."""
    fed = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    return model(**fed, use_cache=False).loss * targets(model, batch)


def single(batches: Sequence[common.Batch]) -> list[dict[str, torch.Tensor]]:
    """Every example in a batch of its own, without padding."""
    examples = []
    for batch in batches:
        for row in range(len(batch["labels"])):
            one = {name: value[row : row + 1] for name, value in batch.items()}
            source, target = int(one["attention_mask"].sum()), int((one["labels"] != -100).sum())
            kept = {name: one[name][:, :source] for name in ("input_ids", "attention_mask")}
            examples.append(kept | {"labels": one["labels"][:, :target]})
    return examples


def obvious_per_example(model, examples: Sequence[common.Batch]) -> np.ndarray:
    """Mean of ``|d loss / d gate|``, a backward pass for each example: [heads]."""
    total = 0.0
    for batch in examples:
        gates = {(s.kind, s.layer): torch.ones(s.heads, device=model.device, requires_grad=True) for s in sites(model)}
        with gate(model, gates):
            loss_of(model, batch).backward()
        total += torch.cat([values.grad for values in gates.values()]).abs().double()
    model.zero_grad()
    return (total / len(examples)).cpu().numpy()


def obvious_per_token(model, examples: Sequence[common.Batch]) -> np.ndarray:
    """Mean of ``|output . d loss / d output|`` over positions, a backward pass for each example: [heads]."""
    places = sites(model)
    totals, positions, read = [0.0] * len(places), [0] * len(places), {}

    def keep(module, args) -> None:
        read[module] = args[0]
        args[0].retain_grad()

    with ExitStack() as undo:
        for site in places:
            undo.callback(site.projection("out").register_forward_pre_hook(keep).remove)
        for batch in examples:
            loss_of(model, batch).backward()
            for place, site in enumerate(places):
                output = read[site.projection("out")]
                product = (output.detach() * output.grad).double().unflatten(-1, (site.heads, site.head_dim)).sum(-1)
                totals[place] += product.abs().sum((0, 1))
                positions[place] += product.shape[1]
    model.zero_grad()
    return torch.cat([total / count for total, count in zip(totals, positions, strict=True)]).cpu().numpy()


@torch.no_grad()
def obvious_leave_one_out(model, examples: Sequence[common.Batch]) -> np.ndarray:
    """Rise of the loss a target token without a head, its columns of the output projection set to 0: [heads]."""
    tokens = sum(targets(model, batch) for batch in examples)
    plain, rises = sum(float(loss_of(model, batch)) for batch in examples), []
    for site in sites(model):
        weight = site.projection("out").weight
        for head in range(site.heads):
            columns = slice(head * site.head_dim, (head + 1) * site.head_dim)
            before = weight[:, columns].clone()
            weight[:, columns] = 0
            rises.append((sum(float(loss_of(model, batch)) for batch in examples) - plain) / tokens)
            weight[:, columns] = before
    return np.array(rises)


def floor(model, batches: Sequence[common.Batch]) -> None:
    """One forward and backward pass a batch."""
    for batch in batches:
        loss_of(model, batch).backward()
    model.zero_grad()


def variants(model, batches: Sequence[common.Batch]) -> dict[str, Callable[[], Any]]:
    """What is timed; all but the floor give [heads]."""
    examples = single(batches)
    return {
        "per example": lambda: importance(model, batches, per="example", norm=None).to_numpy(),
        "per example, obvious": lambda: obvious_per_example(model, examples),
        "per token": lambda: importance(model, batches, per="token", norm=None).to_numpy(),
        "per token, obvious": lambda: obvious_per_token(model, examples),
        "leave one out": lambda: leave_one_out(model, batches, repeats=1).loss.to_numpy(),
        "floor": lambda: floor(model, batches),
    }


def check(runs: Mapping[str, Callable[[], Any]]) -> float:
    """Largest difference between a way and the obvious one, relative to the largest value; stop if it is too large."""
    ways = [name for name in runs if f"{name}, obvious" in runs]
    return max(common.agree(name, runs[name](), runs[f"{name}, obvious"](), TOLERANCE) for name in ways)


def check_left_out(model, batches: Sequence[common.Batch]) -> float:
    """The same for leaving heads out, in double precision, as a rise of the loss is small beside it; on a few examples."""
    examples, model = single(batches)[:CHECKED], model.double()
    value = leave_one_out(model, examples, repeats=1).loss
    difference = common.agree("leave one out", value, obvious_leave_one_out(model, examples), TOLERANCE)
    model.float()
    return difference


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Examples a second, the ratios, and the largest difference."""
    count = EXAMPLES[options.size]
    batches, shape = text(count, options.device), common.SIZES[options.size]
    shape = shape | {"vocabulary": max(shape["vocabulary"], 2000)}
    model = common.marian(shape, device=options.device)
    runs = variants(model, batches)
    difference = max(check(runs), check_left_out(model, batches))
    speeds = count / common.interleaved(runs, options.repeats or REPEATS)
    pairs = [(f"per {one}", other) for one in ("example", "token") for other in (f"per {one}, obvious", "leave one out")]
    pairs += [("floor", "per example"), ("floor", "per token")]
    return common.rows(f"{common.words(options.size)}, {count} examples", speeds, "examples/s", pairs), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("importance_speed", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
