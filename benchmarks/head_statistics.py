"""What measuring heads in one pass saves: tokens per second and bytes kept, against attention maps dumped to disk.

Both sides compute confidence, positional and (encoder heads) syntactic statistics of all heads by the same reducers. In one
pass they are fed from the model and keep sums per sentence and head; the other way keeps the maps that the eager model puts
out, as float32 .npy files in a temporary folder, and feeds the reducers from there. The floor is the model's forward pass
alone. Tokens are those of source and target, without padding. Nothing is timed before both found the same.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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

Found = list[np.ndarray]  # per reducer: [sentences, heads, ...]


class Text:
    """Generated English with trees and German beside it, in batches; `shape` is a size with the vocabulary that was learnt."""

    def __init__(self, size: str, count: int, device: str = "cpu") -> None:
        pairs = world.generate("news", "de", count, seed=1)
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


def in_one_pass(model, text: Text) -> Found:
    """Statistics from sums that are kept while the model runs."""
    found = reducers(text)
    one_pass(model, text.batches, *found)
    return [reducer.per_sentence() for reducer in found]


def eager(model):
    """A copy of the model that puts out its maps."""
    found = copy.deepcopy(model)
    found.set_attn_implementation("eager")
    return found


def from_disk(model, text: Text, folder: Path) -> Found:
    """Statistics from maps that the eager model put out, one file a batch and layer."""
    dump(model, text, folder)
    found, count = reducers(text), 0
    for number, batch in enumerate(text.batches):
        seen = view(model, batch, count)
        count += len(seen.index)
        for reducer in found:
            reducer.start(seen)
        for site in sites(model):
            weights = torch.from_numpy(np.load(folder / f"{number}_{site.kind}_{site.layer}.npy")).to(model.device)
            for reducer in found:
                reducer(site, weights)
    return [reducer.per_sentence() for reducer in found]


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


def check(found: Found, expected: Found) -> float:
    """Largest difference of a statistic per sentence and head, relative to the largest one; stop if it is too large."""
    names = ("confidence", "positional", "syntactic")[: len(found)]
    return max(common.agree(name, *pair, TOLERANCE) for name, *pair in zip(names, found, expected, strict=True))


def variants(model, text: Text, folder: Path) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    puts_out_maps = eager(model)
    return {
        "one pass": lambda: in_one_pass(model, text),
        "maps on disk": lambda: from_disk(puts_out_maps, text, folder),
        "floor": lambda: forward(model, text),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "head_statistics", arguments)
    repeats, count = options.repeats or REPEATS, SENTENCES[options.size]
    text = Text(options.size, count, options.device)
    model = common.marian(text.shape, device=options.device)
    with tempfile.TemporaryDirectory() as folder:
        exact = variants(copy.deepcopy(model).double(), text, Path(folder))  # else rounding decides between equal weights
        gap = check(exact["one pass"](), exact["maps on disk"]())
        runs = variants(model, text, Path(folder))
        found = runs["one pass"]()
        size = {
            "one pass": sum(part.nbytes for part in found),
            "maps on disk": sum(file.stat().st_size for file in Path(folder).iterdir()),
        }
        speeds = text.tokens / common.interleaved(runs, repeats)
    group = f"{common.words(options.size)}, {count} sentences"
    ratios = [("one pass", "maps on disk"), ("floor", "one pass")]
    rows = [common.row(name, group, "tokens/s", speeds[name]) for name in speeds]
    rows += [common.row(f"{one} over {other}", group, "ratio", speeds[one] / speeds[other]) for one, other in ratios]
    rows += [common.row(name, group, "bytes", number, "kept for all sentences") for name, number in size.items()]
    table = pd.DataFrame(rows)
    print(f"{group} of {text.tokens} tokens in all, {torch.get_num_threads()} threads, {repeats} repeats; median and quartiles")
    for row in table.itertuples():
        print(f"{row.what:<28}{row.quantity:<10}{row.value:12,.6g} [{row.low:,.6g}, {row.high:,.6g}]")
    print(f"statistics are equal (gap: {gap:.0e} of the largest)")
    common.keep("head_statistics", table, common.facts(options, repeats, gap, TOLERANCE, tokens=text.tokens))


if __name__ == "__main__":
    main()
