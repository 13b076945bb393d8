"""What the importance of heads costs: examples per second, against one backward pass an example and leaving heads out.

Importance per example and per token takes one backward pass a batch; the obvious way has batches of 1, with the gradient of
gates, or of the numbers that the output projections read, example by example. Leaving heads out takes a forward pass a head.
The floor is one forward and backward pass a batch. Examples are generated sentence pairs. Nothing is timed before both ways
gave the same, and leaving out the loss that zeros in the weights give.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from benchmarks import common
from benchmarks.head_statistics import Text
from helpers.heads import gate, sites
from helpers.measures.worth import importance, leave_one_out
from helpers.models import inputs

EXAMPLES = {"tiny": 4, "laptop": 128, "base": 32}
TOLERANCE = 1e-4  # of the largest value
REPEATS = 5
CHECKED = 4  # examples on which leaving out is held against zeros in the weights


def loss_of(model, batch) -> torch.Tensor:
    """Cross-entropy of all target tokens of a batch, summed."""
    logits = model(**inputs(batch), use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), reduction="sum")


def single(text: Text) -> list[dict[str, torch.Tensor]]:
    """Every example in a batch of its own, without padding."""
    found = []
    for batch in text.batches:
        for row in range(len(batch["labels"])):
            one = {name: value[row : row + 1] for name, value in batch.items()}
            source, target = int(one["attention_mask"].sum()), int((one["labels"] != -100).sum())
            kept = {name: one[name][:, :source] for name in ("input_ids", "attention_mask")}
            found.append(kept | {"labels": one["labels"][:, :target]})
    return found


def obvious_per_example(model, examples) -> np.ndarray:
    """Mean of ``|d loss / d gate|``, a backward pass for each example: [heads]."""
    total = 0.0
    for batch in examples:
        gates = {
            (site.kind, site.layer): torch.ones(site.heads, device=model.device, requires_grad=True) for site in sites(model)
        }
        with gate(model, gates):
            loss_of(model, batch).backward()
        total += torch.cat([values.grad for values in gates.values()]).abs().double()
    model.zero_grad()
    return (total / len(examples)).cpu().numpy()


def obvious_per_token(model, examples) -> np.ndarray:
    """Mean of ``|output . d loss / d output|`` over positions, a backward pass for each example: [heads]."""
    places = sites(model)
    totals, positions, given = [0.0] * len(places), [0] * len(places), {}

    def keep(module, args) -> None:
        given[module] = args[0]
        args[0].retain_grad()

    with ExitStack() as undo:
        for site in places:
            undo.callback(site.projection("out").register_forward_pre_hook(keep).remove)
        for batch in examples:
            loss_of(model, batch).backward()
            for place, site in enumerate(places):
                output = given[site.projection("out")]
                product = (output.detach() * output.grad).double().unflatten(-1, (site.heads, site.head_dim)).sum(-1)
                totals[place] += product.abs().sum((0, 1))
                positions[place] += product.shape[1]
    model.zero_grad()
    return torch.cat([total / count for total, count in zip(totals, positions, strict=True)]).cpu().numpy()


@torch.no_grad()
def obvious_leave_one_out(model, examples) -> np.ndarray:
    """Rise of the loss a target token without a head, its columns of the output projection set to 0: [heads]."""
    tokens = sum(batch["labels"].numel() for batch in examples)
    plain, found = sum(float(loss_of(model, batch)) for batch in examples), []
    for site in sites(model):
        weight = site.projection("out").weight
        for head in range(site.heads):
            columns = slice(head * site.head_dim, (head + 1) * site.head_dim)
            held = weight[:, columns].clone()
            weight[:, columns] = 0
            found.append((sum(float(loss_of(model, batch)) for batch in examples) - plain) / tokens)
            weight[:, columns] = held
    return np.array(found)


def floor(model, text: Text) -> None:
    """One forward and backward pass a batch."""
    for batch in text.batches:
        loss_of(model, batch).backward()
    model.zero_grad()


def variants(model, text: Text) -> dict[str, Callable[[], Any]]:
    """What is timed; all but the floor give [heads]."""
    examples = single(text)
    return {
        "per example": lambda: importance(model, text.batches, per="example", norm=None).to_numpy(),
        "per example, obvious": lambda: obvious_per_example(model, examples),
        "per token": lambda: importance(model, text.batches, per="token", norm=None).to_numpy(),
        "per token, obvious": lambda: obvious_per_token(model, examples),
        "leave one out": lambda: leave_one_out(model, text.batches, repeats=1).loss.to_numpy(),
        "floor": lambda: floor(model, text),
    }


def check(runs: dict[str, Callable[[], Any]]) -> float:
    """Largest difference between a way and the obvious one, relative to the largest value; stop if it is too large."""
    ways = [name for name in runs if f"{name}, obvious" in runs]
    return max(common.agree(name, runs[name](), runs[f"{name}, obvious"](), TOLERANCE) for name in ways)


def check_left_out(model, text: Text) -> float:
    """The same for leaving heads out, in double precision, as a rise of the loss is small beside it; on a few examples."""
    model = model.double()
    examples = single(text)[:CHECKED]
    found = leave_one_out(model, examples, repeats=1).loss
    gap = common.agree("leave one out", found, obvious_leave_one_out(model, examples), TOLERANCE)
    model.float()
    return gap


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "importance_speed", arguments)
    repeats, count = options.repeats or REPEATS, EXAMPLES[options.size]
    text = Text(options.size, count, options.device)
    model = common.marian(text.shape, device=options.device)
    runs = variants(model, text)
    gap = max(check(runs), check_left_out(model, text))
    speeds = count / common.interleaved(runs, repeats)
    group = f"{common.words(options.size)}, {count} examples"
    ratios = [
        ("per example", "per example, obvious"), ("per token", "per token, obvious"), ("per example", "leave one out"),
        ("per token", "leave one out"), ("floor", "per example"), ("floor", "per token"),
    ]  # fmt: skip
    rows = [common.row(name, group, "examples/s", speeds[name]) for name in speeds]
    rows += [common.row(f"{one} over {other}", group, "ratio", speeds[one] / speeds[other]) for one, other in ratios]
    table = pd.DataFrame(rows)
    print(f"{group}, {torch.get_num_threads()} threads, {repeats} repeats; median and quartiles")
    for row in table.itertuples():
        print(f"{row.what:<42}{row.quantity:<12}{row.value:10.4g} [{row.low:.4g}, {row.high:.4g}]")
    print(f"values are equal (gap: {gap:.0e} of the largest)")
    common.keep("importance_speed", table, common.facts(options, repeats, gap, TOLERANCE))


if __name__ == "__main__":
    main()
