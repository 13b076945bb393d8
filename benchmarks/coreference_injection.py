"""What injecting coreference adds to a training step and to generation: ratios to the plain model, from one interleaved run.

Texts, clusters and their alignment with subwords are those of the study's generated dialogues. As in training, a block around
the model stays open, and the matrices of every batch are looked up by its texts and built anew; repeats go through the batches.
Every repeat runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of the
machine hits both sides; the plain step stands there twice, which shows what is noise. Every variant trains a copy of its own.
Nothing is timed before heads and layers were found to compute means over clusters, in double precision.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor

from benchmarks import common
from helpers.corpora.tokens import Encoded, Subwords, collate, learn_vocabulary, rows_of_batches
from helpers.heads import sites
from helpers.methods.coreference.matrices import Links, injected, mixed, sparse, tokens_of
from helpers.models import build_bart, cross_entropy
from helpers.world.conversations import conversations

_SMALL = {"layers": 3, "decoder_layers": 2, "width": 64, "feed_forward": 256, "tokens": 1024, "dropout": 0.0, "texts": 1000}
_TINY = {"layers": 2, "decoder_layers": 1, "width": 32, "feed_forward": 64, "tokens": 512, "texts": 40, "repeats": 3}
MODELS = {  # tokens: of source and target together, padding included, as in training
    "tiny": _SMALL | _TINY,
    "small": _SMALL | {"repeats": 61},
    "middle": _SMALL | {"decoder_layers": 3, "width": 128, "feed_forward": 512, "tokens": 3072, "dropout": 0.1, "repeats": 15},
    "large": {"layers": 6, "width": 512, "feed_forward": 2048, "tokens": 2048, "dropout": 0.1, "texts": 1000, "repeats": 3},
}
SIZES = {"tiny": ("tiny",), "laptop": ("small", "middle"), "base": ("large",)}
HEADS, VOCABULARY, SEED, NEW_TOKENS, SMOOTHING = 8, 1000, 0, 30, 0.1
STEP, GENERATION, FULL = "training step", "generation", "full link, 1 head a layer"
TOLERANCE = 1e-6  # of matrices in single precision

Clusters = list[list[list[int]]]  # of one text: the tokens of each mention


@dataclass
class Text:
    """Texts as ids in batches, their clusters over tokens by their place in the corpus, and the size of the vocabulary."""

    batches: list[dict[str, Tensor]]
    clusters: list[Clusters]
    vocabulary: int

    def links(self, form: str) -> Links:
        """The matrices of all texts."""
        links = Links()
        for batch in self.batches:
            for place, row, mask in zip(batch["index"].tolist(), batch["input_ids"], batch["attention_mask"], strict=True):
                ids = row[: int(mask.sum())].tolist()
                links.add(ids, sparse(self.clusters[place], len(ids), form))
        return links


def read(tokens: int, count: int) -> Text:
    """Generated dialogues in batches of so many tokens; the vocabulary is learnt on them."""
    rows = list(islice(conversations(SEED), count))
    subwords = Subwords(learn_vocabulary((text for row in rows for text in (row.source, row.target)), VOCABULARY))
    source, target = (subwords.encode_all([getattr(row, side) for row in rows]) for side in ("source", "target"))
    words = [subwords.word_ids(row.source, row.words) for row in rows]
    clusters = [tokens_of(row.clusters, places) for row, places in zip(rows, words, strict=True)]
    data = Encoded(source, target, [])
    every = [collate(data, chosen, subwords.pad) for chosen in rows_of_batches(data, subwords.pad, tokens, shuffle=SEED)]
    return Text(every, clusters, subwords.size)


def model_of(size: Mapping[str, float], vocabulary: int):
    """A BART of this size with random weights."""
    return build_bart({**size, "heads": HEADS}, vocabulary, SEED)


# --- variants --------------------------------------------------------------------------------------------------------

Block = Callable[[object], AbstractContextManager]  # what stands around a model


def generate(model, batch: common.Batch) -> Tensor:
    """Greedy writing; all texts get the same length."""
    fed = {name: batch[name] for name in ("input_ids", "attention_mask")}
    length = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "max_length": None}
    return model.generate(**fed, **length, num_beams=1, do_sample=False)


def addresses(model, count: int) -> list[tuple[str, int, int]]:
    """The first heads of every encoder layer."""
    return [("encoder", site.layer, head) for site in sites(model, "encoder") for head in range(count)]


def blocks(text: Text) -> dict[str, Block]:
    """What is measured around the model, by name."""
    full, adjacent = text.links("full"), text.links("adjacent")
    return {
        FULL: lambda m: injected(m, addresses(m, 1), full),
        "adjacent link, 1 head a layer": lambda m: injected(m, addresses(m, 1), adjacent),
        "full link, 4 heads a layer": lambda m: injected(m, addresses(m, 4), full),
        "mixed after every layer": lambda m: mixed(m, sorted({site.layer for site in sites(m, "encoder")}), full),
    }


def variants(model, text: Text, opened: ExitStack) -> tuple[dict[str, Callable], dict[str, Callable]]:
    """The steps and the generations that are timed, by name, the plain one first; blocks are open as long as `opened` is."""
    step = partial(common.Step, model, loss=lambda m, batch: cross_entropy(m, batch, SMOOTHING))
    around = blocks(text)
    steps = {STEP: step(), "training step, once more (noise)": step()} | {f"{STEP}, {name}": step() for name in around}
    writers = {GENERATION: copy.deepcopy(model).eval(), f"{GENERATION}, {FULL}": copy.deepcopy(model).eval()}
    for name, block in around.items():
        opened.enter_context(block(steps[f"{STEP}, {name}"].model))
    opened.enter_context(around[FULL](writers[f"{GENERATION}, {FULL}"]))
    return dict(steps), {name: partial(generate, writer) for name, writer in writers.items()}


# --- nothing is timed before this ------------------------------------------------------------------------------------


def over_clusters(states: Tensor, clusters: Sequence[Clusters]) -> Tensor:
    """States [texts, tokens, ...] with the mean over its cluster at every token of a mention, what they were elsewhere."""
    means = states.clone()
    for row, of_text in enumerate(clusters):
        for cluster in of_text:
            tokens = [token for mention in cluster for token in mention]
            means[row, tokens] = states[row, tokens].mean(0)
    return means


@contextmanager
def obvious(model, clusters: Sequence[Clusters], heads: int = 0, share: float = 0.0):
    """Means over clusters in the first heads of every encoder layer, and mixed into what the layers put out."""
    values: dict[int, Tensor] = {}

    def keep(site, module, args, output) -> None:
        values[site.layer] = output

    def replace(site, module, args):
        width = heads * site.head_dim
        means = over_clusters(values[site.layer][..., :width], clusters)
        return (torch.cat([means, args[0][..., width:]], -1),)

    def mix(module, args, output):
        return (1 - share) * output + share * over_clusters(output, clusters)

    with ExitStack() as undo:
        for site, layer in zip(sites(model, "encoder"), model.get_encoder().layers, strict=True):
            undo.callback(site.projection("v").register_forward_hook(partial(keep, site)).remove)
            undo.callback(site.projection("out").register_forward_pre_hook(partial(replace, site)).remove)
            undo.callback(layer.register_forward_hook(mix).remove)
        yield


def check(size: Mapping[str, float], text: Text, count: int = 3) -> float:
    """The largest difference between injected heads and mixed layers and means over clusters, relative to the largest number.

    In what the encoder puts out, and in the gradients of all weights.
    """
    model, around, differences = model_of({**size, "dropout": 0.0}, text.vocabulary).double(), blocks(text), []
    batch = {name: rows[:count] for name, rows in text.batches[0].items()}
    clusters = [text.clusters[place] for place in batch.pop("index").tolist()]
    for layer in model.get_encoder().layers:  # they start at zero, which would hide the heads
        torch.nn.init.normal_(layer.self_attn.out_proj.weight, std=0.1)
    expected = {FULL: {"heads": 1}, "full link, 4 heads a layer": {"heads": 4}, "mixed after every layer": {"share": 0.3}}
    for name, options in expected.items():
        with around[name](model):
            fast = _states_and_gradients(model, batch)
        with obvious(model, clusters, **options):
            slow = _states_and_gradients(model, batch)
        differences += [common.agree(name, one, other, TOLERANCE) for one, other in zip(fast, slow, strict=True)]
    return max(differences)


def _states_and_gradients(model, batch: common.Batch) -> tuple[Tensor, Tensor]:
    model.zero_grad()
    out = model(**batch, use_cache=False)
    out.loss.backward()
    return out.encoder_last_hidden_state, torch.cat([weight.grad.flatten() for weight in model.parameters()])


# --- measure ---------------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Ratios to the plain step and plain generation and seconds, for each model of the size, and the largest difference."""
    options.device, rows, differences = "cpu", [], []  # whatever is asked
    for size in (MODELS[name] for name in SIZES[options.size]):
        text = read(size["tokens"], size["texts"])
        differences.append(check(size, text))
        torch.manual_seed(SEED)
        with ExitStack() as opened:
            steps, writers = variants(model_of(size, text.vocabulary), text, opened)
            turns = {name: cycle(text.batches) for name in steps | writers}  # all get the same batch in a repeat
            calls = {name: lambda run=run, turn=turns[name]: run(next(turn)) for name, run in (steps | writers).items()}
            times = common.interleaved(calls, options.repeats or size["repeats"], SEED)
        group = f"{size['layers']}+{size.get('decoder_layers', size['layers'])} layers, width {size['width']}"
        rows += common.ratios(group, times[list(steps)], STEP) + common.ratios(group, times[list(writers)], GENERATION)
        rows += common.rows(group, times)
    return rows, max(differences)


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("coreference_injection", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
