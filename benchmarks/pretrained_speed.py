"""What measures cost on a pretrained model: SmolLM2, of 30 layers of nine heads (a small Llama at size tiny).

Importance stands beside a plain loop with one backward pass a passage, and beside Captum's layer gradient times activation;
relevance summed over targets beside relevance target by target, which takes a backward pass each; leaving heads out beside
whole forward passes, of which it needs those of the layers from the head's own upwards. The head table has all columns but the
loss without each head. Passages are random tokens. Nothing is timed before both ways gave the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks import common
from benchmarks.importance_speed import floor, obvious_leave_one_out, obvious_per_example, single
from benchmarks.relevance_speed import LayerGradientXActivation
from helpers import models
from helpers.heads import sites
from helpers.measures import head_table
from helpers.measures.lrp import SIGNED, explain, summed
from helpers.measures.table import MEASURES, TRUTH
from helpers.measures.worth import importance, leave_one_out

TINY = {"layers": 2, "width": 32, "heads": 4, "feed_forward": 48, "vocabulary": 100}
LAPTOP = {"passages": 8, "tokens": 128, "short": 64, "table": 64}  # tokens a passage, those of passages for leaving heads out
SIZES = {"tiny": {"passages": 2, "tokens": 12, "short": 6, "table": 2}, "laptop": LAPTOP, "base": LAPTOP}
TARGETS = 8  # explained one by one
REPEATS, TOLERANCE = 3, 1e-4  # of the largest value


def captum(model, batches: Sequence[common.Batch]) -> np.ndarray:
    """Mean over passages of the size of Captum's layer gradient times activation, where output projections read: [heads]."""
    places, total = sites(model.requires_grad_(True)), []
    for batch in batches:
        method = LayerGradientXActivation(lambda ids, batch=batch: _losses(model, ids), [s.projection("out") for s in places])
        parts = method.attribute(batch["input_ids"], attribute_to_layer_input=True)
        heads = [part.unflatten(-1, (site.heads, -1)).sum((1, 3)) for site, part in zip(places, parts, strict=True)]
        total.append(torch.cat(heads, -1).detach().abs())
    return torch.cat(total).mean(0).cpu().numpy()


def _losses(model, ids: torch.Tensor) -> torch.Tensor:
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.mT, ids[:, 1:], reduction="none").sum(-1)


def one_by_one(model, batches: Sequence[common.Batch], rule: str) -> np.ndarray:
    """Relevance of heads, the mean over targets that are explained one by one: [heads]."""
    return explain(model, batches, rule).series(None).to_numpy()


def variants(model, batches: list[common.Batch], short: list[common.Batch]) -> dict[str, Callable[[], Any]]:
    """What is timed; all but the floors give [heads]."""
    few = [{name: part[:1, : TARGETS + 1] for name, part in batch.items()} for batch in short[:1]]
    runs = {
        "importance": lambda: importance(model, batches, norm=None).to_numpy(),
        "importance, plain loop": lambda: obvious_per_example(model, single(batches)),
        "importance, floor": lambda: floor(model, batches),
        "leave one out": lambda: leave_one_out(model, short, repeats=1).loss.to_numpy(),
        "leave one out, whole passes": lambda: obvious_leave_one_out(model, short),
    }
    if LayerGradientXActivation:
        runs["importance, Captum"] = lambda: captum(model, batches)
    for rule in SIGNED:
        runs[f"{rule}, summed"] = lambda rule=rule: summed(model, batches, rule).series(None).to_numpy()
        runs[f"{rule}, {TARGETS} targets summed"] = lambda rule=rule: summed(model, few, rule).series(None).to_numpy()
        runs[f"{rule}, {TARGETS} targets one by one"] = lambda rule=rule: one_by_one(model, few, rule)
    return runs


def check(runs: dict[str, Callable[[], Any]]) -> float:
    """Largest difference between two ways; stop if it is too large."""
    pairs = [("importance", "importance, plain loop"), ("importance", "importance, Captum")]
    pairs += [("leave one out", "leave one out, whole passes")]
    pairs += [(f"{rule}, {TARGETS} targets summed", f"{rule}, {TARGETS} targets one by one") for rule in SIGNED]
    return max(common.agree(one, runs[one](), runs[other](), TOLERANCE) for one, other in pairs if other in runs)


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Seconds, the ratios, and the largest difference, which is found in double precision: a rise of the loss is small."""
    tiny, size = options.size == "tiny", SIZES[options.size]
    model = common.llama(TINY, 2, options.device) if tiny else models.load("smollm2")[0].float().to(options.device)
    batch = common.batch({"vocabulary": model.config.vocab_size}, size["table"], size["tokens"], options.device)
    batch["labels"] = batch["input_ids"]
    cut = lambda rows, tokens: [{name: part[:rows, :tokens] for name, part in batch.items()}]  # noqa: E731
    batches, short = cut(size["passages"], size["tokens"]), cut(1, size["short"])
    tested = variants(model.double(), cut(2, TARGETS + 2), cut(1, TARGETS + 2))
    difference = check(tested)
    repeats = options.repeats or REPEATS
    seconds = common.interleaved(variants(model.float(), batches, short), repeats)
    needed = np.mean([1 - site.layer / len(sites(model)) for site in sites(model)])  # of a whole pass
    seconds["leave one out, least"] = seconds["leave one out, whole passes"] * needed
    given = {"model", "batches", "explained", "slopes"}
    names = [one.name for one in MEASURES.values() if {*one.needs} <= given and one.rule in ("", *SIGNED) and not one.asked]
    names.remove(TRUTH)
    rest = [{name: part[at : at + 8] for name, part in batch.items()} for at in range(0, size["table"], 8)]
    seconds["head table"] = common.interleaved({"table": lambda: head_table(model, rest, names=names)}, 1).table[0]
    group = (
        f"{size['passages']} passages of {size['tokens']} tokens, {size['table']} for the head table; one of {size['short']}"
    )
    pairs = [(one, "importance") for one in ("importance, plain loop", "importance, Captum", "importance, floor", "head table")]
    pairs += [(f"{rule}, summed", "importance") for rule in SIGNED]
    pairs += [(f"{rule}, {TARGETS} targets one by one", f"{rule}, {TARGETS} targets summed") for rule in SIGNED]
    pairs += [("leave one out, whole passes", "leave one out"), ("leave one out", "leave one out, least")]
    return common.rows(group, seconds, "seconds", pairs), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("pretrained_speed", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
