"""What head relevance costs: target tokens explained per second, against the obvious protocol and the floor.

The obvious protocol explains one target token at a time, in a batch of 1: for `cp` and `attnlrp` one full forward and one full
backward pass through the model as it is loaded (its parameters require gradients), with the rule's constants detached; for
`alpha_beta` one relprop. `lean` is the same with frozen parameters and gradients of the gates alone. The floor is one forward
and one lean backward pass of all logits summed, which gives another quantity. Every repeat runs every variant once, in random
order; ratios are taken within a repeat. Nothing is timed before all values were found equal.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import transformers
from torch import nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from helpers.heads import gate, sites
from helpers.measures.relevance import RULES, explain

BATCH, VOCABULARY = 8, 8000
SIZES = {"6+6 layers, width 512": (6, 512, 24), "3+3 layers, width 128": (3, 128, 64)}


def model_of(layers: int, width: int) -> transformers.MarianMTModel:
    """Marian (post-norm) with 8 heads a layer and random weights."""
    torch.manual_seed(0)
    side = {"layers": layers, "attention_heads": 8, "ffn_dim": 4 * width}
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        d_model=width,
        **{f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()},
        max_position_embeddings=128,
        activation_function="gelu",
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    return transformers.MarianMTModel(config).eval()


def batch_of(length: int, sentences: int = BATCH) -> dict[str, torch.Tensor]:
    """Sentences of one length, source and target."""
    ids = torch.randint(2, VOCABULARY, (2, sentences, length), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids[0], "attention_mask": torch.ones_like(ids[0]), "labels": ids[1]}


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
    AttentionInterface.register(f"obvious_{_rule}", lambda *a, _rule=_rule, **k: _attention(_rule, *a, **k))
    AttentionMaskInterface.register(f"obvious_{_rule}", eager_mask)


def _norm(module: nn.LayerNorm, args: tuple, out: torch.Tensor) -> torch.Tensor:
    centred = args[0] - args[0].mean(-1, keepdim=True)
    std = (centred.square().mean(-1, keepdim=True) + module.eps).sqrt().detach()
    return centred / std * module.weight + module.bias


@contextmanager
def detached(model, rule: str) -> Iterator[None]:
    """The model with the rule's constants detached, so that a gradient times its activation is a relevance."""
    plain = model.config._attn_implementation
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


def to_gates(model, batch: dict, logits: slice | int) -> np.ndarray:
    """One forward pass, and one backward pass from top logits to gates of 1 on all heads."""
    gates = {(site.kind, site.layer): torch.ones(site.heads, requires_grad=True) for site in sites(model)}
    with gate(model, gates):
        model(**batch, use_cache=False).logits[:, logits].max(-1).values.sum().backward()
    model.zero_grad()
    return torch.cat([values.grad for values in gates.values()]).numpy()


def obvious(model, batch: dict, rule: str, lean: bool = False) -> np.ndarray:
    """Every target token on its own: [targets, heads]."""
    model.requires_grad_(not lean)
    found = []
    for row in range(len(batch["labels"])):
        one = {name: value[row : row + 1] for name, value in batch.items()}
        for t in range(one["labels"].shape[1]):
            if rule == "alpha_beta":
                ignored = torch.full_like(one["labels"], -100)
                ignored[:, t] = one["labels"][:, t]
                decoder = model.prepare_decoder_input_ids_from_labels(one["labels"])
                found.append(explain(model, [one | {"labels": ignored, "decoder_input_ids": decoder}], rule).values[0])
            else:
                with detached(model, rule):
                    found.append(to_gates(model, one, t))
    return np.stack(found)


# --- timing ------------------------------------------------------------------------------------------------------------


def measure(layers: int, width: int, length: int, rules: tuple[str, ...], repeats: int, sentences: int) -> pd.DataFrame:
    """One row a rule: target tokens per second, ratio to the obvious protocol (on some sentences) and to the floor."""
    model, batch = model_of(layers, width), batch_of(length)
    few = {name: value[:sentences] for name, value in batch.items()}
    rows, shuffle = [], random.Random(0)
    for rule in rules:
        fast, slow = explain(model, [batch], rule).values, obvious(model, few, rule)
        gap = np.abs(fast[: len(slow)] - slow).max() / np.abs(slow).max()
        if gap > 1e-4:
            raise SystemExit(f"{rule}: values differ by {gap:.1e} of the largest; nothing was timed.")
        runs = {  # number of targets, call
            "fast": (len(fast), lambda rule=rule: explain(model, [batch], rule)),
            "obvious": (len(slow), lambda rule=rule: obvious(model, few, rule)),
            "floor": (len(fast), lambda: to_gates(model.requires_grad_(False), batch, slice(None))),
        }
        if rule != "alpha_beta":
            runs["lean"] = len(slow), lambda rule=rule: obvious(model, few, rule, lean=True)
        speeds = {name: [] for name in runs}
        for _ in range(min(repeats, 2) if rule == "alpha_beta" else repeats):  # which takes minutes
            for name in shuffle.sample(list(runs), len(runs)):
                targets, call = runs[name]
                start = time.perf_counter()
                call()
                speeds[name].append(targets / (time.perf_counter() - start))
        row = {"rule": rule, "gap": gap, "lean": float("nan")} | {
            name: statistics.median(values) for name, values in speeds.items()
        }
        for name, ratios in (
            ("times_obvious", [a / b for a, b in zip(speeds["fast"], speeds["obvious"], strict=True)]),
            ("times_lean", [a / b for a, b in zip(speeds["fast"], speeds.get("lean", speeds["obvious"]), strict=True)]),
            ("floor_times", [a / b for a, b in zip(speeds["floor"], speeds["fast"], strict=True)]),
        ):
            row |= {name: statistics.median(ratios), f"{name}_low": min(ratios), f"{name}_high": max(ratios)}
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, help="threads of torch (default: torch's own choice)")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats (default: 5)")
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the table and the versions here")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    setting = {
        "model": f"Marian, 8 heads a layer, vocabulary {VOCABULARY}, random weights; all three kinds of attention",
        "batch": f"{BATCH} sentences; the obvious protocol on the first of them",
        "repeats": options.repeats,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} CPU",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print("values are equal (gap: of the largest); target tokens a second, medians; ratios with their range\n")
    print("\n".join(f"{name:<13}{value}" for name, value in setting.items()))
    tables = {}
    for title in options.sizes:
        layers, width, length = SIZES[title]
        print(f"\n{title}, {length} source and target tokens", flush=True)
        table = tables[title] = measure(layers, width, length, tuple(options.rules), options.repeats, 1)
        for row in table.itertuples():
            lean = (
                ""
                if row.rule == "alpha_beta"
                else (f"; {row.times_lean:.1f} x lean ({row.lean:.1f}/s) [{row.times_lean_low:.1f}, {row.times_lean_high:.1f}]")
            )
            print(
                f"{row.rule:<11}{row.fast:8.1f}/s: {row.times_obvious:.1f} x obvious ({row.obvious:.1f}/s)"
                f" [{row.times_obvious_low:.1f}, {row.times_obvious_high:.1f}]{lean}; floor ({row.floor:.0f}/s)"
                f" {row.floor_times:.1f} x [{row.floor_times_low:.1f}, {row.floor_times_high:.1f}]; gap {row.gap:.0e}",
                flush=True,
            )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"size": title, **row} for title, table in tables.items() for row in table.to_dict("records")]
        options.json.write_text(json.dumps({**setting, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
