"""What head relevance costs: target tokens explained per second, against the obvious protocol, the floor and Captum.

The obvious protocol explains one target token at a time, in a batch of 1: for `cp` and `attnlrp` one full forward and one full
backward pass through the model as it is loaded (its parameters require gradients), with the rule's constants detached; for
`alpha_beta` one relprop. `lean` is the same with frozen parameters and gradients of the gates alone. The floor is one forward
and one lean backward pass of all logits summed, which gives another quantity. Every repeat runs every variant once, in random
order; ratios are taken within a repeat. Nothing is timed before all values were found equal.

`cp` and `attnlrp` pull targets down (reverse mode) and, in the encoder, push heads up (forward mode), where that costs less:
`both`, `reverse` and `forward` are the replay of one forward pass in both modes, as in `fast`, and in either alone.
`alpha_beta` knows the reverse mode only.

The control is Captum, where it is installed: its layer gradient times activation at what the output projections read, the
rule's constants detached as above, all sentences at once and one target position after the other. Of the libraries for LRP
none covers an encoder-decoder: zennit (0.5.1) asks for torchvision and has rules for linear maps, but none for attention and
residual sums, without which what arrives is not what started; lxt (2.1) asks for functions that transformers no longer has.
What importing them says here stands in the notes.
"""

from __future__ import annotations

import importlib
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import metadata

import numpy as np
import pandas as pd
import torch
import transformers
from torch import nn

from benchmarks import common
from helpers.heads import KINDS, compat, gate, sites
from helpers.measures.lrp import RULES, explain, signed
from helpers.measures.lrp.layout import layout, play

SETTINGS = {  # sentences, source and target tokens of each
    "tiny": {"sentences": 2, "length": 6},
    "laptop": {"sentences": 8, "length": 64},
    "base": {"sentences": 8, "length": 24},
}
TOLERANCE = 1e-4  # of the largest value
REPEATS = 5
EVERYWHERE = 1 << 30  # so many targets that pushing heads up the whole encoder is cheapest
LIBRARIES = {"zennit": "zennit.composites", "lxt": "lxt.efficient"}

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


def obvious(model, batch: Mapping, rule: str, lean: bool = False) -> np.ndarray:
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


# --- either mode alone, and libraries ------------------------------------------------------------------------------------


def replay(model, batch: Mapping, rule: str, cut_for: int) -> signed.Replay:
    """A signed rule, the encoder cut where it costs least for so many targets (0: reverse mode alone)."""
    plan = layout(model)
    stacks = (plan.encoder, plan.decoder)
    folded = {block: signed.Folded(block, stack.pre_norm) for stack in stacks for block in stack.blocks}
    fed = {name: batch[name] for name in ("input_ids", "attention_mask")}
    fed["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    return signed.Replay(plan, folded, play(model, plan, fed), rule, KINDS, cut_for)


@torch.no_grad()
def in_modes(model, batch: Mapping, rule: str, cut_for: int) -> np.ndarray:
    """What `replay` explains, a chunk of targets after the other: [targets, heads]."""
    found = replay(model, batch, rule, cut_for)
    sentences, length = batch["labels"].shape
    step = max(1, signed.CELLS // (sentences * length * model.config.encoder_ffn_dim))
    chunks = [found.chunk(first, min(first + step, length)) for first in range(0, length, step)]
    places = [(site.kind, site.layer) for site in sites(model)]
    return torch.cat([torch.cat([chunk[place] for chunk in chunks], 1) for place in places], -1).flatten(0, 1).cpu().numpy()


def captum(model, batch: Mapping, rule: str) -> np.ndarray:
    """Captum's layer gradient times activation, one target position after the other: [targets, heads]."""
    from captum.attr import LayerGradientXActivation

    places, found = sites(model.requires_grad_(True)), []
    with detached(model, rule), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Input Tensor", UserWarning)  # ids are whole numbers
        for t in range(batch["labels"].shape[1]):
            method = LayerGradientXActivation(
                lambda ids, t=t: model(**{**batch, "input_ids": ids}, use_cache=False).logits[:, t].max(-1).values,
                [site.projection("out") for site in places],
            )
            parts = method.attribute(batch["input_ids"], attribute_to_layer_input=True)
            heads = [part.unflatten(-1, (site.heads, -1)).sum((1, 3)) for site, part in zip(places, parts, strict=True)]
            found.append(torch.cat(heads, -1).detach())
    return torch.stack(found, 1).flatten(0, 1).cpu().numpy()


def imported(name: str, module: str) -> str:
    """What importing a library says, in words."""
    try:
        version = metadata.version(name)
        importlib.import_module(module)
    except metadata.PackageNotFoundError:
        return "not installed"
    except Exception as error:  # of whatever kind
        return f"{name} {version} does not import: {str(error).partition(' (/')[0]}"
    return f"{name} {version} imports; it has no rule for an encoder-decoder"


# --- timing ------------------------------------------------------------------------------------------------------------


def variants(model, batch: Mapping, few: Mapping, rule: str) -> dict[str, Run]:
    """What is timed for a rule, by name; the floor explains nothing."""
    total, some = batch["labels"].numel(), few["labels"].numel()
    runs = {
        "fast": (total, lambda: explain(model, [batch], rule).values),
        "obvious": (some, lambda: obvious(model, few, rule)),
        "floor": (total, lambda: to_gates(model.requires_grad_(False), batch, slice(None))),
    }
    if rule != "alpha_beta":
        runs["lean"] = some, lambda: obvious(model, few, rule, lean=True)
        for mode, targets in (("both", batch["labels"].shape[1]), ("reverse", 0), ("forward", EVERYWHERE)):
            runs[mode] = total, lambda targets=targets: in_modes(model, batch, rule, targets)
        with suppress(metadata.PackageNotFoundError):
            metadata.version("captum")
            runs["captum"] = total, lambda: captum(model, batch, rule)
    return runs


def check(rule: str, runs: Mapping[str, Run]) -> float:
    """Largest difference of any variant from the obvious protocol, relative to the largest value; stop if it is too large."""
    slow = runs["obvious"][1]()
    others = [name for name in runs if name not in ("obvious", "floor")]
    return max(common.agree(f"{rule}, {name}", runs[name][1]()[: len(slow)], slow, TOLERANCE) for name in others)


def measure(size: str, rules: tuple[str, ...], repeats: int, device: str) -> dict[str, tuple[pd.DataFrame, float]]:
    """For each rule the target tokens a second, [repeat, variant], and what the gate found."""
    shape, setting, found = common.SIZES[size], SETTINGS[size], {}
    model, batch = common.marian(shape, device=device), common.batch(shape, **setting, device=device)
    few = {name: value[:1] for name, value in batch.items()}
    for rule in rules:
        runs = variants(model, batch, few, rule)
        gap = check(rule, runs)
        count = min(repeats, 2) if rule == "alpha_beta" else repeats  # which takes minutes
        seconds = common.interleaved({name: call for name, (_, call) in runs.items()}, count)
        found[rule] = pd.Series({name: targets for name, (targets, _) in runs.items()}) / seconds, gap
    return found


def compared(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Which variants are divided by which."""
    pairs = [("fast", "obvious"), ("fast", "lean"), ("fast", "captum"), ("both", "reverse"), ("both", "forward")]
    return [pair for pair in pairs if set(pair) <= set(frame)] + [("floor", "fast")]


def table(group: str, speeds: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows that are kept."""
    rows = []
    for rule, frame in speeds.items():
        rows += [common.row(f"{rule}, {name}", group, "target tokens/s", frame[name]) for name in frame]
        for one, other in compared(frame):
            rows.append(common.row(f"{rule}, {one} over {other}", group, "ratio", frame[one] / frame[other]))
        if rule == "alpha_beta":
            rows.append(common.note(f"{rule}, forward", group, "target tokens/s", "the rule knows the reverse mode only"))
        elif "captum" not in frame:
            rows.append(common.note(f"{rule}, captum", group, "target tokens/s", "not installed"))
    for name, module in LIBRARIES.items():
        rows.append(common.note(name, group, "target tokens/s", imported(name, module)))
    return pd.DataFrame(rows)


def line(rule: str, frame: pd.DataFrame, gap: float) -> str:
    """One rule's speeds and ratios in words."""
    middle, said = frame.median(), []
    for one, other in compared(frame):
        low, times, high = (frame[one] / frame[other]).quantile([0.25, 0.5, 0.75])
        if one == "floor":
            said.append(f"floor ({middle[one]:.0f}/s) {times:.1f} x [{low:.1f}, {high:.1f}]")
        else:
            named = "" if one == "fast" else f"{one} "
            said.append(f"{named}{times:.1f} x {other} ({middle[other]:.1f}/s) [{low:.1f}, {high:.1f}]")
    return f"{rule:<11}{middle['fast']:8.1f}/s: {'; '.join(said)}; gap {gap:.0e}"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = common.arguments(__doc__)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    options = common.begin(parser, "relevance_speed", arguments)
    repeats, setting = options.repeats or REPEATS, SETTINGS[options.size]
    said = {
        "model": f"Marian, {common.words(options.size)}, random weights; all three kinds of attention",
        "batch": f"{setting['sentences']} sentences of {setting['length']} source and target tokens;"
        " the obvious protocol on the first of them",
        "repeats": repeats,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()}, {options.device}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    found = measure(options.size, tuple(options.rules), repeats, options.device)
    print("values are equal (gap: of the largest); target tokens a second, medians; ratios with their quartiles\n")
    print("\n".join(f"{name:<13}{value}" for name, value in said.items()), end="\n\n")
    for rule, (frame, gap) in found.items():
        print(line(rule, frame, gap))
    group = f"{common.words(options.size)}, {setting['length']} tokens"
    kept = table(group, {rule: frame for rule, (frame, _) in found.items()})
    for row in kept[kept.repeats == 0].itertuples():
        print(f"{row.what}: {row.note}")
    gap = max(gap for _, gap in found.values())
    common.keep("relevance_speed", kept, common.facts(options, repeats, gap, TOLERANCE, setting=said))


if __name__ == "__main__":
    main()
