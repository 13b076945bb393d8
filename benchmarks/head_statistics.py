"""What measuring heads in one pass saves: tokens per second, against attention maps dumped to disk.

Both sides compute confidence, positional and (encoder heads) syntactic statistics of all heads by the same reducers. In one
pass they are fed from the model and keep sums per sentence and head; the other way keeps the maps that the eager model puts
out, as float32 .npy files in a temporary folder, and feeds the reducers from there. The floor is the model's forward pass
alone. Tokens are those of source and target, without padding. Nothing is timed before both found the same.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import common
from helpers import world
from helpers.corpora.describe import Arc, arcs_of
from helpers.corpora.tokens import Batches, Subwords, encode, learn_vocabulary
from helpers.heads import KINDS, sites
from helpers.measures.functions import Confidence, Positional, Syntactic
from helpers.measures.reducers import Reducer, one_pass, view

SENTENCES = {"tiny": 16, "laptop": 512, "base": 256}
BUDGET = 2048  # tokens of source and target a batch, padding included
TOLERANCE = 1e-5
REPEATS = 7

Statistics = list[np.ndarray]  # per reducer: [sentences, heads, ...]


class Text:
    """Generated English with trees and German beside it, in batches; `shape` is a size with the vocabulary that was learnt."""

    def __init__(self, size: str, count: int, device: str = "cpu") -> None:
        pairs = list(islice(world.pairs("news", "de", 1), count))
        source, target = (
            Subwords(learn_vocabulary((getattr(pair, side) for pair in pairs), 1000), offset=offset)
            for side, offset in (("source", 0), ("target", 1000))
        )
        self.arcs: Sequence[Sequence[Arc]] = arcs_of(pairs)
        self.batches = list(Batches(encode(pairs, source, target), source.pad, BUDGET, device))
        self.shape = common.SIZES[size] | {"vocabulary": max(common.SIZES[size]["vocabulary"], 2000)}
        self.tokens = sum(int(batch["attention_mask"].sum() + (batch["labels"] != -100).sum()) for batch in self.batches)


def reducers(text: Text) -> list[Reducer]:
    """Fresh ones; syntactic statistics where there are trees."""
    return [Confidence(), Positional(), *([Syntactic(text.arcs)] if text.arcs else [])]


def in_one_pass(model, text: Text) -> Statistics:
    """Statistics from sums that are kept while the model runs."""
    every = reducers(text)
    one_pass(model, text.batches, *every)
    return [reducer.per_sentence() for reducer in every]


def eager(model):
    """A copy of the model that puts out its maps."""
    model = copy.deepcopy(model)
    model.set_attn_implementation("eager")
    return model


def from_disk(model, text: Text, folder: Path) -> Statistics:
    """Statistics from maps that the eager model put out, one file a batch and layer."""
    dump(model, text, folder)
    every, count = reducers(text), 0
    for number, batch in enumerate(text.batches):
        part = view(model, batch, count)
        count += len(part.index)
        for reducer in every:
            reducer.start(part)
        for site in sites(model):
            weights = torch.from_numpy(np.load(folder / f"{number}_{site.kind}_{site.layer}.npy")).to(model.device)
            for reducer in every:
                reducer(site, weights)
    return [reducer.per_sentence() for reducer in every]


@torch.no_grad()
def dump(model, text: Text, folder: Path) -> None:
    """Write the maps of every batch and layer: [sentences, heads, queries, keys]."""
    for number, batch in enumerate(text.batches):
        out = model.base_model(**fed(model, batch), use_cache=False, output_attentions=True)
        for kind, maps in zip(KINDS, (out.encoder_attentions, out.decoder_attentions, out.cross_attentions), strict=True):
            for layer, weights in enumerate(maps):
                np.save(folder / f"{number}_{kind}_{layer}.npy", weights.float().cpu().numpy())


def fed(model, batch: Mapping[str, Any]) -> dict[str, Any]:
    """What the model's body reads of a batch."""
    decoder = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    return {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "decoder_input_ids": decoder}


@torch.no_grad()
def forward(model, text: Text) -> None:
    """The floor."""
    for batch in text.batches:
        model.base_model(**fed(model, batch), use_cache=False)


def check(statistics: Statistics, expected: Statistics) -> float:
    """Largest difference of a statistic per sentence and head, relative to the largest one; stop if it is too large."""
    names = ("confidence", "positional", "syntactic")[: len(statistics)]
    return max(common.agree(name, *pair, TOLERANCE) for name, *pair in zip(names, statistics, expected, strict=True))


def variants(model, text: Text, folder: Path) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    puts_out_maps = eager(model)
    return {
        "one pass": lambda: in_one_pass(model, text),
        "maps on disk": lambda: from_disk(puts_out_maps, text, folder),
        "floor": lambda: forward(model, text),
    }


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Tokens a second, the ratios, and the largest difference."""
    count = SENTENCES[options.size]
    text = Text(options.size, count, options.device)
    model = common.marian(text.shape, device=options.device)
    with tempfile.TemporaryDirectory() as folder:
        exact = variants(copy.deepcopy(model).double(), text, Path(folder))  # else rounding decides between equal weights
        difference = check(exact["one pass"](), exact["maps on disk"]())
        speeds = text.tokens / common.interleaved(variants(model, text, Path(folder)), options.repeats or REPEATS)
    pairs = [("one pass", "maps on disk"), ("floor", "one pass")]
    return common.rows(f"{common.words(options.size)}, {count} sentences", speeds, "tokens/s", pairs), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("head_statistics", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
