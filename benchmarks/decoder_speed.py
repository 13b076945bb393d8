"""What measures cost on a decoder of today: grouped queries, RMS norms, gated feed-forwards, rotary positions.

Importance, relevance and leaving heads out, each beside the obvious protocol: a backward pass an example; a forward and a
backward pass a target token; a forward pass of the whole model a head. Leaving out is counted in operations too, beside what
must be done: what stands behind each head, once, and one whole pass. Captum gives importance per token, where it is installed.
Passages are random tokens. Nothing is timed before both ways gave the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks import common
from helpers import models
from helpers.heads import gate, index, sites
from helpers.measures.lrp import explain
from helpers.measures.worth import importance, leave_one_out, mean_loss, prepared

LAPTOP = {"layers": 12, "width": 512, "heads": 8, "groups": 2, "feed_forward": 1376, "vocabulary": 2000}
SHAPES = {
    "tiny": {"layers": 2, "width": 32, "heads": 4, "groups": 2, "feed_forward": 48, "vocabulary": 100},
    "laptop": LAPTOP,
    "base": LAPTOP,
}
PASSAGES, LENGTH = 2, 16  # tokens each; those explained are fewer
EXPLAINED = 6
REPEATS, TOLERANCE = 3, 1e-4  # of the largest value

Batch = dict[str, torch.Tensor]


def decoder(shape: Mapping[str, int], device: str = "cpu"):
    """A Llama with random weights, wide enough that attention is far from even, in evaluation mode."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape["vocabulary"], hidden_size=shape["width"], intermediate_size=shape["feed_forward"],
        num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"], num_key_value_heads=shape["groups"],
        max_position_embeddings=128, initializer_range=shape["width"] ** -0.5, bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval().to(device)


def passages(shape: Mapping[str, int], device: str = "cpu") -> list[Batch]:
    """One batch of random passages."""
    ids = torch.randint(2, shape["vocabulary"], (PASSAGES, LENGTH), generator=torch.Generator().manual_seed(0)).to(device)
    return [{"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}]


def single(batches: list[Batch]) -> list[Batch]:
    """Every passage in a batch of its own."""
    return [{n: part[row : row + 1] for n, part in b.items()} for b in batches for row in range(len(b["labels"]))]


def short(batches: list[Batch]) -> list[Batch]:
    """The beginnings of passages, of which all tokens are explained."""
    return [{name: part[:, : EXPLAINED + 1] for name, part in batch.items()} for batch in batches]


def obvious_importance(model, batches: list[Batch]) -> np.ndarray:
    """Mean of ``|d loss / d gate|``, a backward pass for each passage: [heads]."""
    total, examples = 0.0, single(batches)
    for batch in examples:
        gates = {(s.kind, s.layer): torch.ones(s.heads, device=model.device, requires_grad=True) for s in sites(model)}
        with gate(model, gates):
            (model(**batch, use_cache=False).loss * (batch["labels"].shape[1] - 1)).backward()
        total += torch.cat([values.grad for values in gates.values()]).abs().double()
    model.zero_grad()
    return (total / len(examples)).cpu().numpy()


def obvious_relevance(model, batches: list[Batch], rule: str) -> np.ndarray:
    """A pass of its own for each target of each passage: [targets, heads]."""
    found = []
    for batch in single(batches):
        for t in range(1, batch["labels"].shape[1]):
            labels = torch.full_like(batch["labels"], -100)
            labels[:, t] = batch["labels"][:, t]
            found.append(explain(model, [{**batch, "labels": labels}], rule).values)
    return np.concatenate(found)


def obvious_leave_one_out(model, batches: list[Batch]) -> np.ndarray:
    """Rise of the loss a target token without a head, its columns of the output projection set to 0: [heads]."""
    plain, found = mean_loss(model, batches), []
    for site in sites(model):
        weight = site.projection("out").weight.data
        for head in range(site.heads):
            columns = slice(head * site.head_dim, (head + 1) * site.head_dim)
            held = weight[:, columns].clone()
            weight[:, columns] = 0
            found.append(mean_loss(model, batches) - plain)
            weight[:, columns] = held
    return np.array(found)


def captum(model, batches: list[Batch]) -> np.ndarray:
    """Captum's layer gradient times activation of the loss, as importance per token: [heads]."""
    from captum.attr import LayerGradientXActivation

    places, ((fed, labels),) = sites(model), prepared(model, batches)

    def loss(ids: torch.Tensor) -> torch.Tensor:
        said = model(**{**fed, "input_ids": ids}, use_cache=False).logits.transpose(1, 2)
        return torch.nn.functional.cross_entropy(said, labels, reduction="none").sum(-1)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Input Tensor", UserWarning)  # ids are whole numbers
        method = LayerGradientXActivation(loss, [site.projection("out") for site in places])
        parts = method.attribute(fed["input_ids"], attribute_to_layer_input=True)
    real = labels != -100
    sizes = [part.unflatten(-1, (site.heads, -1)).sum(-1).abs() for site, part in zip(places, parts, strict=True)]
    return torch.cat([size[real].mean(0) for size in sizes]).detach().double().cpu().numpy()


def floor(model, batches: list[Batch]) -> None:
    """One forward and backward pass a batch."""
    for batch in batches:
        model(**batch, use_cache=False).loss.backward()
    model.zero_grad()


def must(model, batches: list[Batch]) -> float:
    """FLOPs of leaving out each head that nothing can spare: all behind its output projection, that included; one whole pass.

    Two a multiply-add, as `helpers.models.flops` counts them.
    """
    layer, out = model.model.layers[0], model.model.layers[0].self_attn.o_proj
    linear = lambda part: sum(2 * m.weight.numel() for m in part.modules() if isinstance(m, torch.nn.Linear))  # noqa: E731
    tokens = sum(batch["labels"].numel() for batch in batches)
    products = sum(4 * part["labels"].numel() * part["labels"].shape[1] * out.in_features for part in batches)
    block, head = tokens * linear(layer) + products, tokens * linear(model.lm_head)
    behind, depth = tokens * (linear(layer.mlp) + linear(out)), len(model.model.layers)
    once = [behind + (depth - 1 - number) * block + head for number in range(depth)]
    return sum(site.heads * cost for site, cost in zip(sites(model), once, strict=True)) + depth * block + head


def variants(model, batches: list[Batch]) -> dict[str, Callable[[], Any]]:
    """What is timed; all but the floor give numbers by head."""
    few = short(batches)
    found = {
        "importance": lambda: importance(model, batches, norm=None).to_numpy(),
        "importance, obvious": lambda: obvious_importance(model, batches),
        "relevance": lambda: explain(model, few, "attnlrp").values,
        "relevance, obvious": lambda: obvious_relevance(model, few, "attnlrp"),
        "leave one out": lambda: leave_one_out(model, batches, repeats=1).loss.to_numpy(),
        "leave one out, obvious": lambda: obvious_leave_one_out(model, batches),
        "importance per token": lambda: importance(model, batches, per="token", norm=None).to_numpy(),
        "floor": lambda: floor(model, batches),
        "floor of relevance": lambda: floor(model, few),
    }
    if find_spec("captum"):
        found["importance per token, captum"] = lambda: captum(model, batches)
    return found


def check(model, batches: list[Batch]) -> float:
    """Largest difference between a way and the obvious one, relative to the largest value; stop if it is too large.

    In double precision, as a rise of the loss is small beside it.
    """
    runs = variants(model.double(), batches)
    ways = [(name, other) for other in runs for name in (other.partition(",")[0],) if name != other]
    gap = max(common.agree(name, runs[name](), runs[other](), TOLERANCE) for name, other in ways)
    model.float()
    return gap


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "decoder_speed", arguments)
    repeats, shape = options.repeats or REPEATS, SHAPES[options.size]
    model, batches = decoder(shape, options.device), passages(shape, options.device)
    gap, runs = check(model, batches), variants(model, batches)
    seconds = common.interleaved(runs, repeats)
    heads, targets = len(index(model)), PASSAGES * EXPLAINED
    group = f"{shape['layers']} layers, width {shape['width']}, {shape['heads']} query and {shape['groups']} key-value heads"
    rows = [common.row(name, group, "seconds", seconds[name]) for name in runs]
    pairs = [("importance, obvious", "importance"), ("relevance, obvious", "relevance"), ("importance", "floor"),
             ("leave one out, obvious", "leave one out"), ("relevance", "floor of relevance"), ("leave one out", "floor"),
             ("importance per token, captum", "importance per token")]  # fmt: skip
    rows += [common.row(f"{one} over {two}", group, "ratio", seconds[one] / seconds[two]) for one, two in pairs if one in runs]
    if "importance per token, captum" not in runs:
        rows.append(common.note("importance per token, captum", group, "seconds", "not installed"))
    least = must(model, batches)
    for name in ("leave one out", "leave one out, obvious"):
        rows.append(common.row(f"{name} over what must be done", group, "operations", models.flops(model, runs[name]) / least))
    table = pd.DataFrame(rows)
    print(f"{group}: {heads} heads, {targets} targets explained; {torch.get_num_threads()} threads, {repeats} repeats")
    for row in table.itertuples():
        print(f"{row.what:<52}{row.quantity:<12}{row.value:10.4g} [{row.low:.4g}, {row.high:.4g}] {row.note}")
    print(f"values are equal (gap: {gap:.0e} of the largest)")
    common.keep("decoder_speed", table, common.facts(options, repeats, gap, TOLERANCE))


if __name__ == "__main__":
    main()
