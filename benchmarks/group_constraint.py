"""What the group constraint adds to a training step: ratios to plain cross-entropy, from one interleaved run.

The obvious protocol is that of the public code of Ni et al. 2023: K-means from scratch in every forward pass of every
attention module, on explicit vectors over the whole batch, padding included, and cosines from these vectors. Every repeat
runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of the machine hits
both sides. Every variant trains a copy of its own. Nothing is timed before, without padding, labels were found equal and
losses and gradients close. FLOPs are those of matrix products, two a multiply-add, forward and backward, as torch counts
them; the obvious protocol works element by element, which is not counted.
"""

from __future__ import annotations

import copy
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd
import torch
import transformers
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional as F

from benchmarks import common
from helpers.heads.families import Site
from helpers.methods.grouping.units import MAPS, Grouped, closeness, clusters, group_loss, objective, starts, watch
from helpers.models import build, cross_entropy, flops, inputs

_LONG = {"vocabulary": 4000, "tokens": 4096, "longest": 32}
MODELS = {  # tokens: of source and target together, padding included, as in training
    "tiny": {"layers": 2, "width": 32, "feed_forward": 64, "vocabulary": 200, "tokens": 320, "longest": 10, "repeats": 3},
    "small": {"layers": 2, "width": 64, "feed_forward": 256, "vocabulary": 1000, "tokens": 512, "longest": 16, "repeats": 31},
    "middle": _LONG | {"layers": 3, "width": 128, "feed_forward": 512, "repeats": 15},
    "large": _LONG | {"layers": 6, "width": 512, "feed_forward": 2048, "repeats": 5},  # half an hour, 8 GB
}
SIZES = {"tiny": ("tiny",), "laptop": ("small", "middle"), "base": ("large",)}
GROUPS, SEED, ALPHA, BETA, SMOOTHING = 2, 0, 0.5, 0.5, 0.1
PLAIN, BARE, MEASURED, OBVIOUS = "plain cross-entropy", "the same module, no constraint", "4B on V", "4B on V, obvious protocol"
STOP = 1e-4  # squared sum of centres' shifts at which the obvious K-means ends
MEMORY = {"tiny": (), "laptop": (PLAIN, MEASURED, OBVIOUS), "base": (PLAIN, MEASURED)}  # of what, in processes of their own
TOLERANCE = 1e-5  # relative, between fast and obvious
AIM = 1.25


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
        self.terms_seen: list[Tensor] = []

    def forward(self, **fed: Any):
        self.terms_seen = []
        with ExitStack() as undo:
            for site in self.places if self.training else ():
                undo.callback(site.projection("v").register_forward_hook(partial(self._see, site)).remove)
            out = super().forward(**fed)
        self.term = torch.stack(self.terms_seen).mean() if self.training else None
        return out

    def _see(self, site: Site, module, args: tuple, out: Tensor) -> None:
        vectors = out.unflatten(-1, (site.heads, site.head_dim)).permute(2, 0, 1, 3).flatten(1)
        _, near, apart = explicit_terms(vectors)
        self.terms_seen.append(BETA * apart - ALPHA * near)


# --- variants --------------------------------------------------------------------------------------------------------


class Step:
    """One training step: forward, backward, Adam, of a copy of the model."""

    def __init__(self, model, wrap: Callable[[Any], Any] | None = None) -> None:
        self.model = copy.deepcopy(model)
        self.trained = (wrap(self.model) if wrap else self.model).train()
        self.objective = objective if wrap else cross_entropy
        self.optimizer = torch.optim.Adam(self.trained.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def backward(self, batch: Mapping[str, Tensor]) -> tuple[float, float]:
        """Fill the gradients; the loss, and the constraint in it."""
        self.optimizer.zero_grad()
        loss = self.objective(self.trained, batch, SMOOTHING)
        loss.backward()
        term = getattr(self.trained, "term", None)
        return loss.item(), 0.0 if term is None else term.item()

    def __call__(self, batch: Mapping[str, Tensor]) -> None:
        self.backward(batch)
        self.optimizer.step()

    def flops(self, batch: Mapping[str, Tensor]) -> int:
        """Of the products of matrices of one step."""
        return flops(self.model, lambda: torch.enable_grad()(self.backward)(batch))


def wraps(steps: int) -> dict[str, Callable[[Any], Any] | None]:
    """What is timed: name -> module around the model, which keeps its two cosines of as many `steps`, as in training."""

    def grouped(form: str, which: str) -> Callable[[Any], Grouped]:
        return lambda m: Grouped(m, form, ALPHA, BETA, which, GROUPS, seed=SEED, steps=steps)

    return {
        PLAIN: None,
        "plain, once more (noise)": None,
        BARE: lambda m: Grouped(m, form=None),
        MEASURED: grouped("cosine", "V"),
        "4B on O": grouped("cosine", "O"),
        "4B on A": grouped("cosine", "A"),
        "4A on V": grouped("class", "V"),
        OBVIOUS: Explicit,
    }


def variants(model, steps: int) -> dict[str, Step]:
    """A step of each of `wraps`."""
    return {name: Step(model, wrap) for name, wrap in wraps(steps).items()}


# --- nothing is timed before this ------------------------------------------------------------------------------------


def vectors_of(model, batch: Mapping[str, Tensor], which: str) -> list[Tensor]:
    """The feature maps [heads, dim] of every layer, real tokens only, without dropout."""
    model.eval()
    with torch.no_grad(), watch(model, which, reduce=lambda vectors, site: vectors) as watched:
        watched.feed(batch)
        model(**inputs(batch), use_cache=False)
    return watched.grams


def check(size: Mapping[str, int], sentences: int = 8) -> float:
    """The largest relative difference of fast and obvious without padding, in double precision: no cosine is rounding alone.

    Raises
    ------
    SystemExit
        If labels, cosines, the whole step's loss or its gradients differ, or a constraint changes the cross-entropy.
    """
    apart, model = [], model_of(size, dropout=0.0).double()
    batch = {name: rows[:sentences] for name, rows in batch_of(size, padded=False).items()}
    for which in MAPS:
        for number, vectors in enumerate(vectors_of(model, batch, which)):
            gram = vectors @ vectors.mT
            fast = clusters(gram, GROUPS, SEED)
            slow, *terms = explicit_terms(vectors)
            if not torch.equal(fast[:, None] == fast, slow[:, None] == slow):
                raise SystemExit(f"Map {which}, layer {number}: groups are {fast.tolist()} and {slow.tolist()}: not timed.")
            _, *others = group_loss(gram, fast, GROUPS, ALPHA, BETA)
            apart.append(_close(others, terms, f"cosines on map {which}, layer {number}"))
    steps = variants(model, 1)
    for step in steps.values():
        step.trained.double()
    found = {name: step.backward(batch) for name, step in steps.items()}
    for name, (loss, term) in found.items():
        apart.append(_close([loss - term], [found[PLAIN][0]], f"cross-entropy of {PLAIN!r} and {name!r}"))
    apart.append(_close(found[MEASURED], found[OBVIOUS], "losses"))
    pairs = zip(*(steps[name].model.named_parameters() for name in (MEASURED, OBVIOUS)), strict=True)
    for (name, one), (_, other) in pairs:
        if one.requires_grad and not torch.allclose(one.grad, other.grad, rtol=0, atol=_slack(other.grad)):
            raise SystemExit(f"Gradients of {name} differ between the fast and the obvious constraint: not timed.")
    return max(apart)


def _slack(gradient: Tensor) -> float:
    """How far gradients may differ; some are zero but for rounding."""
    return 1e-12 + TOLERANCE * float(gradient.abs().max())


def _close(ones, others, what: str) -> float:
    """The largest relative difference, if it is within the tolerance."""
    for one, other in zip(ones, others, strict=True):
        if not abs(float(one) - float(other)) <= TOLERANCE * abs(float(other)):
            raise SystemExit(f"The {what} differ: {float(one)!r} and {float(other)!r}: not timed.")
    return max(abs(float(one) / float(other) - 1) if float(other) else 0.0 for one, other in zip(ones, others, strict=True))


# --- what padding changes --------------------------------------------------------------------------------------------


def padding(model, batch: Mapping[str, Tensor]) -> pd.DataFrame:
    """One row per feature map: heads, share in another group with padding counted, mean absolute change of cosines."""
    model.eval()
    rows = []
    for which in MAPS:
        tables = []
        for counted in (False, True):
            with torch.no_grad(), watch(model, which, padding=counted) as watched:
                watched.feed(batch)
                model(**inputs(batch), use_cache=False)
            tables.append(torch.stack(watched.grams).double())
        real, full = (clusters(table, GROUPS, SEED) for table in tables)
        near, other = (closeness(table, own, GROUPS)[0] for table, own in zip(tables, (real, full), strict=True))
        moved = sum(regrouped(a, b) for a, b in zip(real, full, strict=True)) / real.numel()
        rows.append({"which": which, "heads": real.numel(), "moved": moved, "change": float((near - other).abs().mean())})
    return pd.DataFrame(rows)


def regrouped(labels: Tensor, others: Tensor) -> int:
    """Heads of a layer in another group, whatever the groups' numbers: those that the best pairing leaves over."""
    together = F.one_hot(labels, GROUPS).T @ F.one_hot(others, GROUPS)
    rows, columns = linear_sum_assignment(together.numpy(), maximize=True)
    return len(labels) - int(together[rows, columns].sum())


# --- measure and print -----------------------------------------------------------------------------------------------


def measure(size: Mapping[str, int], repeats: int) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """A row per variant: median seconds, ratios to plain and to the bare module (quartiles, median), extra FLOPs.

    With it the seconds, [repeat, variant], and what the gate found.
    """
    apart = check(size)
    torch.manual_seed(SEED)
    batch, runs = batch_of(size), variants(model_of(size), 2 + repeats)  # FLOPs and the warm-up take a step each
    counts = {name: step.flops(batch) for name, step in runs.items()}
    times = common.interleaved({name: partial(step, batch) for name, step in runs.items()}, repeats, SEED)
    rows = []
    for name in runs:
        extra = float("nan") if name == OBVIOUS else counts[name] / counts[PLAIN] - 1
        row = {"variant": name, "seconds": times[name].median(), "extra_flops": extra}
        rows.append(
            row | {"ratio": common.quartiles(times[name], times[PLAIN]), "to_bare": common.quartiles(times[name], times[BARE])}
        )
    return pd.DataFrame(rows), times, apart


def one(variant: str, chosen: str):
    """The step of a variant and its batch; with the model, so that nothing that was freed hides what the step takes."""
    model = model_of(MODELS[chosen])
    return Step(model, wraps(2)[variant]), batch_of(MODELS[chosen]), model


def two_steps(given: tuple[Step, Mapping[str, Tensor], Any]) -> None:
    """Two steps: the second has the optimiser's state beside the gradients."""
    step, batch, _ = given
    step(batch)
    step(batch)


def lines(table: pd.DataFrame) -> list[str]:
    """The table of `measure` and whether the aim is reached."""
    said = [f"{'variant':<32}{'step':>11}{'ratio to plain':>24}{'to no constraint':>24}{'extra FLOPs':>13}"]
    for row in table.itertuples():
        spreads = [f"{middle:.3f} [{low:.3f}, {high:.3f}]" for low, middle, high in (row.ratio, row.to_bare)]
        extra = "-" if pd.isna(row.extra_flops) else f"{row.extra_flops:.2%}"
        said.append(f"{row.variant:<32}{row.seconds * 1000:8.1f} ms{spreads[0]:>24}{spreads[1]:>24}{extra:>13}")
    ratio = table.set_index("variant").ratio[MEASURED][1]
    return [*said, f"aim: {MEASURED} at most {AIM} x plain: {'reached' if ratio <= AIM else 'missed'} ({ratio:.3f})"]


def rows_of(group: str, times: pd.DataFrame, table: pd.DataFrame, changed: pd.DataFrame, memory: Mapping[str, int]):
    """The rows that are kept: ratios, seconds, extra FLOPs, heads that padding moves, peak memory."""
    found = [common.row(name, group, "ratio", times[name] / times[PLAIN], "to plain cross-entropy") for name in times]
    found += [common.row(name, group, "seconds", times[name]) for name in times]
    counted = table[table.extra_flops.notna()]
    found += [common.row(row.variant, group, "FLOPs ratio", 1 + row.extra_flops, "to plain") for row in counted.itertuples()]
    moved = "share of heads in another group with padding counted"
    found += [common.row(f"4B on {row.which}", group, "moved", row.moved, moved) for row in changed.itertuples()]
    return found + [common.row(name, group, "bytes", value, "peak of two steps") for name, value in memory.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "group_constraint", arguments)
    options.device = "cpu"  # whatever is asked
    setting = {
        "constraint": f"{GROUPS} groups, alpha {ALPHA}, beta {BETA}, all three kinds of attention",
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} CPU, load {os.getloadavg()[0]:.1f} before",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print("without padding, fast and obvious agree; ratios within repeats, median and quartiles\n")
    print("\n".join(f"{name:<13}{value}" for name, value in setting.items()), flush=True)
    rows, found = [], []
    for name in SIZES[options.size]:
        size, batch = MODELS[name], batch_of(MODELS[name])
        repeats = options.repeats or size["repeats"]
        (table, times, apart), changed = measure(size, repeats), padding(model_of(size), batch)
        memory = {what: common.peak_memory(two_steps, partial(one, what, name)) for what in MEMORY[options.size]}
        empty = [float((batch[side] == pad).float().mean()) for side, pad in (("attention_mask", 0), ("labels", -100))]
        print(
            "\n{layers}+{layers} layers, width {width}, 8 heads, feed-forward {feed_forward}, vocabulary {vocabulary} a side, "
            "{tokens} tokens a batch".format(**size)
            + f" ({sum(empty) / 2:.0%} padding), {repeats} repeats"
        )
        print("\n".join(lines(table)))
        print("with padding counted, random weights, one batch:")
        for row in changed.itertuples():
            print(f"  {row.which}: {row.moved:.0%} of {row.heads} heads in another group, cosine to centre ±{row.change:.4f}")
        print("".join(f"{what:<32}{value / 2**20:8.0f} MiB at its peak\n" for what, value in memory.items()), flush=True)
        rows += rows_of("{layers}+{layers} layers, width {width}".format(**size), times, table, changed, memory)
        found.append(apart)
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    common.keep("group_constraint", frame, common.facts(options, int(frame.repeats.max()), max(found), TOLERANCE))


if __name__ == "__main__":
    main()
