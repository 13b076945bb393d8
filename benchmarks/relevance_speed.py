"""What head relevance costs: target tokens explained per second, against the obvious protocol, the floor and Captum.

The obvious protocol explains one target token at a time, in a batch of 1: for `cp` and `attnlrp` one full forward and one full
backward pass through the model as it is loaded (its parameters require gradients), with the rule's constants detached; for
`alpha_beta` one relprop. The floor is one forward pass and one backward pass to the gates of all logits summed, which gives
another quantity. Every repeat runs every variant once, in random order; ratios are taken within a repeat. Nothing is timed
before all values were found equal.

The control is Captum, where it is installed: its layer gradient times activation at what the output projections read, the
rule's constants detached as above, all sentences at once and one target position after the other. Of the libraries for LRP
none covers an encoder-decoder.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from benchmarks import common
from helpers.heads import compat, gate, sites
from helpers.measures.lrp import RULES, explain

try:
    from captum.attr import LayerGradientXActivation
except ImportError:
    LayerGradientXActivation = None

SETTINGS = {  # sentences, source and target tokens of each
    "tiny": {"sentences": 2, "length": 6},
    "laptop": {"sentences": 8, "length": 64},
    "base": {"sentences": 8, "length": 24},
}
TOLERANCE = 1e-4  # of the largest value
REPEATS = 5

Run = tuple[int, Callable[[], np.ndarray]]  # number of targets, and what explains them: [targets, heads]


# --- the obvious protocol ----------------------------------------------------------------------------------------------


def _attention(rule: str, module, query, key, value, mask, scaling, **_):
    if rule == "attnlrp":  # halves: to queries and keys of the score, to weights and values of the sum
        query, key, value = (_scaled(t) for t in (query, key, value))
    weights = query @ key.transpose(-1, -2) * scaling
    weights = torch.softmax(weights if mask is None else weights + mask, -1)
    weights = weights.detach() if rule == "cp" else _scaled(weights)
    return (weights @ value).transpose(1, 2).contiguous(), None


def _scaled(x: torch.Tensor) -> torch.Tensor:
    """The same numbers with half the gradient."""
    return 0.5 * x + 0.5 * x.detach()


for _rule in ("cp", "attnlrp"):
    compat.register(f"obvious_{_rule}", partial(_attention, _rule), "eager")


def _norm(module: nn.LayerNorm, args: tuple, out: torch.Tensor) -> torch.Tensor:
    centred = args[0] - args[0].mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + module.eps).sqrt().detach()
    return centred / std * module.weight + module.bias


@contextmanager
def detached(model, rule: str) -> Iterator[None]:
    """The model with the rule's constants detached, so that a gradient times its activation is a relevance."""
    plain = compat.implementation(model)
    with ExitStack() as undo:
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                undo.callback(module.register_forward_hook(_norm).remove)
            elif hasattr(module, "activation_fn"):
                hook = module.activation_fn.register_forward_hook(lambda _, args, out: args[0] * (out / args[0]).detach())
                undo.callback(hook.remove)
        model.set_attn_implementation(f"obvious_{rule}")
        undo.callback(model.set_attn_implementation, plain)
        yield


def to_gates(model, batch: Mapping, logits: slice | int) -> np.ndarray:
    """One forward pass, and one backward pass from top logits to gates of 1 on all heads."""
    gates = {(site.kind, site.layer): torch.ones(site.heads, device=model.device, requires_grad=True) for site in sites(model)}
    with gate(model, gates):
        model(**batch, use_cache=False).logits[:, logits].max(-1).values.sum().backward()
    model.zero_grad()
    return torch.cat([values.grad for values in gates.values()]).cpu().numpy()


def obvious(model, batch: Mapping, rule: str) -> np.ndarray:
    """Every target token separately: [targets, heads]."""
    model.requires_grad_(True)
    rows = []
    for row in range(len(batch["labels"])):
        one = {name: value[row : row + 1] for name, value in batch.items()}
        for t in range(one["labels"].shape[1]):
            if rule == "alpha_beta":
                ignored = torch.full_like(one["labels"], -100)
                ignored[:, t] = one["labels"][:, t]
                decoder = model.prepare_decoder_input_ids_from_labels(one["labels"])
                rows.append(explain(model, [one | {"labels": ignored, "decoder_input_ids": decoder}], rule).values[0])
            else:
                with detached(model, rule):
                    rows.append(to_gates(model, one, t))
    return np.stack(rows)


def captum(model, batch: Mapping, rule: str) -> np.ndarray:
    """Captum's layer gradient times activation, one target position after the other: [targets, heads]."""
    places, values = sites(model.requires_grad_(True)), []
    with detached(model, rule), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Input Tensor", UserWarning)  # ids are whole numbers
        for t in range(batch["labels"].shape[1]):
            method = LayerGradientXActivation(
                lambda ids, t=t: model(**{**batch, "input_ids": ids}, use_cache=False).logits[:, t].max(-1).values,
                [site.projection("out") for site in places],
            )
            parts = method.attribute(batch["input_ids"], attribute_to_layer_input=True)
            heads = [part.unflatten(-1, (site.heads, -1)).sum((1, 3)) for site, part in zip(places, parts, strict=True)]
            values.append(torch.cat(heads, -1).detach())
    return torch.stack(values, 1).flatten(0, 1).cpu().numpy()


# --- timing ------------------------------------------------------------------------------------------------------------


def variants(model, batch: Mapping, few: Mapping, rule: str) -> dict[str, Run]:
    """What is timed for a rule, by name; the floor explains nothing."""
    total, some = batch["labels"].numel(), few["labels"].numel()
    runs = {
        "fast": (total, lambda: explain(model, [batch], rule).values),
        "obvious": (some, lambda: obvious(model, few, rule)),
        "floor": (total, lambda: to_gates(model.requires_grad_(False), batch, slice(None))),
    }
    if rule != "alpha_beta" and LayerGradientXActivation:
        runs["captum"] = total, lambda: captum(model, batch, rule)
    return runs


def check(rule: str, runs: Mapping[str, Run]) -> float:
    """Largest difference of any variant from the obvious protocol, relative to the largest value; stop if it is too large."""
    slow = runs["obvious"][1]()
    others = [name for name in runs if name not in ("obvious", "floor")]
    return max(common.agree(f"{rule}, {name}", runs[name][1]()[: len(slow)], slow, TOLERANCE) for name in others)


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Target tokens a second of every rule, the ratios, and the largest difference."""
    shape, setting, rows, differences = common.SIZES[options.size], SETTINGS[options.size], [], []
    model, batch = common.marian(shape, device=options.device), common.batch(shape, **setting, device=options.device)
    few, repeats = {name: value[:1] for name, value in batch.items()}, options.repeats or REPEATS
    group = f"{common.words(options.size)}, {setting['length']} tokens"
    for rule in RULES:
        runs = variants(model, batch, few, rule)
        differences.append(check(rule, runs))
        count = min(repeats, 2) if rule == "alpha_beta" else repeats  # which takes minutes
        seconds = common.interleaved({name: call for name, (_, call) in runs.items()}, count)
        speeds = pd.Series({name: targets for name, (targets, _) in runs.items()}) / seconds
        pairs = [("fast", "obvious"), ("fast", "captum"), ("floor", "fast")]
        lines = common.rows(group, speeds, "target tokens/s", pairs)
        rows += [line | {"what": f"{rule}, {line['what']}"} for line in lines]
    return rows, max(differences)


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("relevance_speed", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
