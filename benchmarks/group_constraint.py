"""What the group constraint adds to a training step: ratios to plain cross-entropy, from one interleaved run.

The obvious protocol is that of the public code of Ni et al. 2023: K-means from scratch in every forward pass of every
attention module, on explicit vectors over the whole batch, padding included, and cosines from these vectors. Every repeat
runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of the machine hits
both sides. Every variant trains a copy of its own. Nothing is timed before, without padding, losses and gradients of the
fast and the obvious constraint were found equal in double precision.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks import common
from helpers.heads.families import Site
from helpers.methods.grouping import Grouped, objective, starts
from helpers.models import build, cross_entropy

_LONG = {"vocabulary": 4000, "tokens": 4096, "longest": 32}
MODELS = {  # tokens: of source and target together, padding included, as in training
    "tiny": {"layers": 2, "width": 32, "feed_forward": 64, "vocabulary": 200, "tokens": 320, "longest": 10, "repeats": 3},
    "small": {"layers": 2, "width": 64, "feed_forward": 256, "vocabulary": 1000, "tokens": 512, "longest": 16, "repeats": 31},
    "middle": _LONG | {"layers": 3, "width": 128, "feed_forward": 512, "repeats": 15},
    "large": _LONG | {"layers": 6, "width": 512, "feed_forward": 2048, "repeats": 5},  # half an hour, 8 GB
}
SIZES = {"tiny": ("tiny",), "laptop": ("small", "middle"), "base": ("large",)}
GROUPS, SEED, ALPHA, BETA, SMOOTHING = 2, 0, 0.5, 0.5, 0.1
PLAIN, MEASURED, OBVIOUS = "plain cross-entropy", "4B on V", "4B on V, obvious protocol"
STOP = 1e-4  # squared sum of centres' shifts at which the obvious K-means ends
TOLERANCE = 1e-5  # relative, between fast and obvious


def model_of(size: Mapping[str, int], dropout: float = 0.1):
    """A Pegasus model of this size with random weights and 8 heads a layer."""
    shape = {name: size[name] for name in ("layers", "width", "feed_forward")} | {"heads": 8, "dropout": dropout}
    return build(shape, size["vocabulary"], size["vocabulary"], SEED)


def batch_of(size: Mapping[str, int], padded: bool = True) -> dict[str, Tensor]:
    """Sentences of 80 to 100 % of the longest, both sides; tokens as rare as words are (rank to the power of -1)."""
    chance = torch.Generator().manual_seed(SEED)
    shape = size["tokens"] // (2 * size["longest"]), size["longest"]
    batch = {}
    for name, first, pad in (("input_ids", 2, 0), ("labels", size["vocabulary"], -100)):
        last = size["vocabulary"] * (2 if name == "labels" else 1)
        tokens = torch.multinomial(1 / torch.arange(1.0, last - first + 1), shape[0] * shape[1], True, generator=chance)
        least = round(0.8 * shape[1]) if padded else shape[1]
        lengths = torch.randint(least, shape[1] + 1, (shape[0], 1), generator=chance)
        places = torch.arange(shape[1])
        batch[name] = (tokens.view(shape) + first).masked_fill(places == lengths - 1, 1).masked_fill(places >= lengths, pad)
        if name == "input_ids":
            batch["attention_mask"] = (places < lengths).long()
    return batch


# --- the obvious protocol --------------------------------------------------------------------------------------------


def k_means(vectors: Tensor, first: list[int]) -> tuple[Tensor, Tensor]:
    """Labels [heads] and live centres [groups, dim] from explicit vectors [heads, dim]; an empty group stays where it was."""
    centres = vectors[first]
    while True:
        labels = (vectors[:, None] - centres).square().sum(-1).argmin(-1)
        before, centres = centres, torch.stack([_mean(vectors[labels == g], last) for g, last in enumerate(centres)])
        if (centres - before).square().sum(-1).sqrt().sum().item() ** 2 < STOP:
            return labels, centres


def _mean(members: Tensor, last: Tensor) -> Tensor:
    return members.mean(0) if len(members) else last


def explicit_terms(vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Labels of one layer, mean cosine of heads with their centre and mean cosine of pairs of centres."""
    labels, centres = k_means(vectors, starts(len(vectors), GROUPS, SEED)[0])
    near = F.cosine_similarity(vectors, centres[labels], dim=-1).mean()
    pairs = [F.cosine_similarity(centres[i], centres[j], dim=0) for i, j in combinations(range(GROUPS), 2)]
    return labels, near, torch.stack(pairs).mean()


class Explicit(Grouped):
    """4B on map V by the obvious protocol; the mean over layers and the weight are those of `Grouped`."""

    def __init__(self, model) -> None:
        super().__init__(model, form=None)
        self.layer_terms: list[Tensor] = []

    def forward(self, **fed: Any):
        self.layer_terms = []
        with ExitStack() as undo:
            for site in self.places if self.training else ():
                undo.callback(site.projection("v").register_forward_hook(partial(self._add, site)).remove)
            out = super().forward(**fed)
        self.term = torch.stack(self.layer_terms).mean() if self.training else None
        return out

    def _add(self, site: Site, module, args: tuple, out: Tensor) -> None:
        vectors = out.unflatten(-1, (site.heads, site.head_dim)).permute(2, 0, 1, 3).flatten(1)
        _, near, far = explicit_terms(vectors)
        self.layer_terms.append(BETA * far - ALPHA * near)


# --- variants --------------------------------------------------------------------------------------------------------


def variants(model) -> dict[str, common.Step]:
    """What is timed."""

    def grouped(form: str | None, which: str = "V") -> Callable[[Any], Grouped]:
        return lambda m: Grouped(m, form, ALPHA, BETA, which, GROUPS)

    plain = partial(common.Step, model, loss=lambda m, batch: cross_entropy(m, batch, SMOOTHING))
    wraps = {
        "the same module, no constraint": grouped(None),
        MEASURED: grouped("cosine"),
        "4B on O": grouped("cosine", "O"),
        "4B on A": grouped("cosine", "A"),
        OBVIOUS: lambda m: Explicit(m),
    }
    loss = lambda m, batch: objective(m, batch, SMOOTHING)  # noqa: E731
    return {PLAIN: plain(), "plain, once more (noise)": plain()} | {
        name: common.Step(model, wrap, loss) for name, wrap in wraps.items()
    }


def check(size: Mapping[str, int], sentences: int = 8) -> float:
    """The largest relative difference of a step's losses and gradients by the fast and the obvious constraint.

    Without padding and dropout, in double precision; no constraint may change the cross-entropy.
    """
    batch = {name: rows[:sentences] for name, rows in batch_of(size, padded=False).items()}
    steps, differences = variants(model_of(size, dropout=0.0).double()), []
    losses, terms = {}, {}
    for name, step in steps.items():
        step.trained.double()
        losses[name] = step.backward(batch)
        terms[name] = getattr(step.trained, "term", None)
        rest = losses[name] if terms[name] is None else losses[name] - terms[name]
        differences.append(common.agree(f"cross-entropy of {name}", rest, losses[PLAIN], TOLERANCE))
    differences.append(common.agree("constraint", terms[MEASURED], terms[OBVIOUS], TOLERANCE))
    flat = {name: [p.grad.flatten() for p in steps[name].model.parameters() if p.requires_grad] for name in (MEASURED, OBVIOUS)}
    differences.append(common.agree("gradients", *(torch.cat(parts) for parts in flat.values()), TOLERANCE))
    return max(differences)


# --- measure ---------------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Ratios to plain cross-entropy and seconds, for each model of the size, and the largest difference."""
    options.device, rows, differences = "cpu", [], []  # whatever is asked
    for size in (MODELS[name] for name in SIZES[options.size]):
        differences.append(check(size))
        torch.manual_seed(SEED)
        repeats, batch = options.repeats or size["repeats"], batch_of(size)
        steps = variants(model_of(size))
        times = common.interleaved({name: partial(step, batch) for name, step in steps.items()}, repeats, SEED)
        group = "{layers}+{layers} layers, width {width}".format(**size)
        rows += common.ratios(group, times, PLAIN, "to plain cross-entropy") + common.rows(group, times)
    return rows, max(differences)


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("group_constraint", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
