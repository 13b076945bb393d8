"""What injecting coreference adds to a training step and to generation: ratios to the plain model, from one interleaved run.

Texts, clusters and their alignment with subwords are those of the study's generated dialogues. As in training, a block around
the model stays open, and the matrices of every batch are looked up by its texts and built anew; repeats go through the batches.
Every repeat runs every variant once, in random order, and each ratio is taken within a repeat, so that a slow spell of the
machine hits both sides; the plain step stands there twice, which shows what is noise. Every variant trains a copy of its own.
Nothing is timed before heads and layers were found to compute means over clusters, in double precision.
"""

from __future__ import annotations

import copy
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Any

import pandas as pd
import torch
import transformers
from torch import Tensor

from benchmarks import common
from benchmarks.group_constraint import Step
from helpers.corpora.tokens import Encoded, Subwords, batches, collate, learn_vocabulary
from helpers.heads import sites
from helpers.methods.coreference.matrices import Links, injected, mixed, sparse, tokens_of
from helpers.models import build_bart
from helpers.world.conversations import conversations

_SMALL = {"layers": 3, "decoder_layers": 2, "width": 64, "feed_forward": 256, "tokens": 1024, "dropout": 0.0, "texts": 1000}
MODELS = {  # tokens: of source and target together, padding included, as in training
    "tiny": _SMALL
    | {"layers": 2, "decoder_layers": 1, "width": 32, "feed_forward": 64, "tokens": 512, "texts": 40, "repeats": 3},
    "small": _SMALL | {"repeats": 61},
    "middle": _SMALL | {"decoder_layers": 3, "width": 128, "feed_forward": 512, "tokens": 3072, "dropout": 0.1, "repeats": 15},
    "large": {"layers": 6, "width": 512, "feed_forward": 2048, "tokens": 2048, "dropout": 0.1, "texts": 1000, "repeats": 3},
}
SIZES = {"tiny": ("tiny",), "laptop": ("small", "middle"), "base": ("large",)}
HEADS, VOCABULARY, SEED, NEW_TOKENS = 8, 1000, 0, 30
STEP, GENERATION = "training step", "generation"
NOISE, MEASURED = "training step, once more (noise)", "training step, full link, 1 head a layer"
MEMORY = {"tiny": (), "laptop": (STEP, MEASURED), "base": (STEP, MEASURED)}  # of what, in processes of their own
TOLERANCE = 1e-6  # of matrices in single precision
AIM = 1.10

Batch = Mapping[str, Tensor]
Clusters = list[list[list[int]]]  # of one text: the tokens of each mention


@dataclass
class Text:
    """Texts as ids in batches, their clusters over tokens by their place in the corpus, and the size of the vocabulary."""

    batches: list[dict[str, Tensor]]
    clusters: list[Clusters]
    vocabulary: int

    def links(self, form: str) -> Links:
        """The matrices of all texts."""
        found = Links()
        for batch in self.batches:
            for place, row, mask in zip(batch["index"].tolist(), batch["input_ids"], batch["attention_mask"], strict=True):
                ids = row[: int(mask.sum())].tolist()
                found.add(ids, sparse(self.clusters[place], len(ids), form))
        return found


def read(tokens: int, count: int) -> Text:
    """Generated dialogues in batches of so many tokens; the vocabulary is learnt on them."""
    rows = list(islice(conversations(SEED), count))
    subwords = Subwords(learn_vocabulary((text for row in rows for text in (row.source, row.target)), VOCABULARY))
    source, target = (subwords.encode_all([getattr(row, side) for row in rows]) for side in ("source", "target"))
    words = [subwords.word_ids(row.source, row.words) for row in rows]
    clusters = [tokens_of(row.clusters, own)[0] for row, own in zip(rows, words, strict=True)]
    data = Encoded(source, target, [])
    found = [collate(data, chosen, subwords.pad) for chosen in batches(data, subwords.pad, tokens, shuffle=SEED)]
    return Text(found, clusters, subwords.size)


def model_of(size: Mapping[str, float], vocabulary: int):
    """A BART of this size with random weights."""
    return build_bart({**size, "heads": HEADS}, vocabulary, SEED)


# --- variants --------------------------------------------------------------------------------------------------------

Block = Callable[[object], AbstractContextManager]  # what stands around a model


class Generation:
    """Greedy writing by a copy of the model; all write the same length."""

    def __init__(self, model) -> None:
        self.model = copy.deepcopy(model).eval()

    def __call__(self, batch: Batch) -> Tensor:
        fed = {name: batch[name] for name in ("input_ids", "attention_mask")}
        length = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "max_length": None}
        return self.model.generate(**fed, **length, num_beams=1, do_sample=False)


def addresses(model, count: int) -> list[tuple[str, int, int]]:
    """The first heads of every encoder layer."""
    return [("encoder", site.layer, head) for site in sites(model, "encoder") for head in range(count)]


def blocks(text: Text) -> dict[str, Block]:
    """What is measured around the model, by name."""
    full, adjacent = text.links("full"), text.links("adjacent")
    return {
        "full link, 1 head a layer": lambda m: injected(m, addresses(m, 1), full),
        "adjacent link, 1 head a layer": lambda m: injected(m, addresses(m, 1), adjacent),
        "full link, 4 heads a layer": lambda m: injected(m, addresses(m, 4), full),
        "mixed after every layer": lambda m: mixed(m, sorted({site.layer for site in sites(m, "encoder")}), full),
    }


def variants(model, text: Text, opened: ExitStack) -> dict[str, tuple[str, Step | Generation]]:
    """Name -> (name of the plain variant that it is compared to, what to run); blocks are open as long as `opened` is."""
    found = {STEP: (STEP, Step(model)), NOISE: (STEP, Step(model)), GENERATION: (GENERATION, Generation(model))}
    for name, block in blocks(text).items():
        found[f"{STEP}, {name}"] = (STEP, Step(model))
        opened.enter_context(block(found[f"{STEP}, {name}"][1].model))
        if f"{STEP}, {name}" == MEASURED:
            found[f"{GENERATION}, {name}"] = (GENERATION, Generation(model))
            opened.enter_context(block(found[f"{GENERATION}, {name}"][1].model))
    return dict(sorted(found.items(), key=lambda item: item[1][0], reverse=True))


# --- nothing is timed before this ------------------------------------------------------------------------------------


def over_clusters(states: Tensor, clusters: Sequence[Clusters]) -> Tensor:
    """States [texts, tokens, ...] with the mean over its cluster at every token of a mention, what they were elsewhere."""
    found = states.clone()
    for row, own in enumerate(clusters):
        for cluster in own:
            tokens = [token for mention in cluster for token in mention]
            found[row, tokens] = states[row, tokens].mean(0)
    return found


@contextmanager
def obvious(model, clusters: Sequence[Clusters], heads: int = 0, share: float = 0.0):
    """Means over clusters in the first heads of every encoder layer, and mixed into what the layers put out."""
    values: dict[int, Tensor] = {}

    def keep(site, module, args, output) -> None:
        values[site.layer] = output

    def replace(site, module, args):
        width = heads * site.head_dim
        own = over_clusters(values[site.layer][..., :width], clusters)
        return (torch.cat([own, args[0][..., width:]], -1),)

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

    Raises
    ------
    SystemExit
        If what the encoder puts out, the loss or its gradients are not those of the obvious way, or the first is that of plain.
    """
    model, around = model_of({**size, "dropout": 0.0}, text.vocabulary).double(), blocks(text)
    batch = {name: rows[:count] for name, rows in text.batches[0].items()}
    for layer in model.get_encoder().layers:  # they start at zero, which would hide the heads
        torch.nn.init.normal_(layer.self_attn.out_proj.weight, std=0.1)
    own, apart = [text.clusters[place] for place in batch["index"].tolist()], []
    plain = _loss_and_gradients(model, batch)
    expected = {
        "full link, 1 head a layer": {"heads": 1},
        "full link, 4 heads a layer": {"heads": 4},
        "mixed after every layer": {"share": 0.3},
    }
    for name, options in expected.items():
        with around[name](model):
            found = _loss_and_gradients(model, batch)
        with obvious(model, own, **options):
            slow = _loss_and_gradients(model, batch)
        apart.append(max(_apart(one, other) for one, other in zip(found, slow, strict=True)))
        if not apart[-1] <= TOLERANCE:
            raise SystemExit(f"{name}: the encoder, the loss or its gradients are not those of means over clusters: not timed.")
        if _apart(found[0], plain[0]) < 100 * TOLERANCE:
            raise SystemExit(f"{name}: the encoder puts out what it did without: not timed.")
    return max(apart)


def _loss_and_gradients(model, batch: Batch) -> list[Tensor]:
    """What the encoder puts out, the loss, and the gradient of every weight."""
    model.zero_grad()
    fed = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
    out = model(**fed, use_cache=False)
    out.loss.backward()
    return [out.encoder_last_hidden_state.detach(), out.loss.detach(), *(weight.grad for weight in model.parameters())]


def _apart(one: Tensor, other: Tensor) -> float:
    """Largest difference, relative to the largest number."""
    return float((one - other).abs().max() / other.abs().max().clamp(min=1e-6))


# --- measure and print -----------------------------------------------------------------------------------------------


def measure(size: Mapping[str, float], text: Text, repeats: int) -> tuple[pd.DataFrame, dict[str, Sequence[float]], float]:
    """A row per variant: median seconds, and the ratio to its plain variant (first quartile, median, third quartile).

    With it the ratios, one number a repeat, and what the gate found.
    """
    apart = check(size, text)
    torch.manual_seed(SEED)
    with ExitStack() as opened:
        runs = variants(model_of(size, text.vocabulary), text, opened)
        turns = {name: cycle(text.batches) for name in runs}  # every variant gets the same batch in a repeat
        calls = {name: partial(_turn, run, turns[name]) for name, (_, run) in runs.items()}
        times = common.interleaved(calls, repeats, SEED)
    rows = [
        {"variant": name, "seconds": times[name].median(), "ratio": common.quartiles(times[name], times[plain])}
        for name, (plain, _) in runs.items()
    ]
    return pd.DataFrame(rows), {name: times[name] / times[plain] for name, (plain, _) in runs.items()}, apart


def _turn(run: Callable[[Batch], Any], turns) -> None:
    run(next(turns))


def one(variant: str, chosen: str):
    """The step of a variant and two batches; with what it was made of, so that nothing that was freed hides what it takes."""
    size, opened = MODELS[chosen], ExitStack()
    text = read(size["tokens"], size["texts"])
    model = model_of(size, text.vocabulary)
    step = Step(model)
    if variant != STEP:
        opened.enter_context(blocks(text)[variant.removeprefix(f"{STEP}, ")](step.model))
    return step, text.batches[:2], (model, opened)


def two_steps(given: tuple[Step, Sequence[Batch], Any]) -> None:
    """Two steps: the second has the optimiser's state beside the gradients."""
    step, batches, _ = given
    for batch in batches:
        step(batch)


def lines(table: pd.DataFrame) -> list[str]:
    """The table of `measure` and whether the aim is reached."""
    said = [f"{'variant':<48}{'median':>11}{'ratio to plain':>24}"]
    for row in table.itertuples():
        low, middle, high = row.ratio
        said.append(f"{row.variant:<48}{row.seconds * 1000:8.1f} ms{f'{middle:.3f} [{low:.3f}, {high:.3f}]':>24}")
    ratio = table.set_index("variant").ratio[MEASURED][1]
    return [*said, f"aim: {MEASURED} at most {AIM:.2f} x plain: {'reached' if ratio <= AIM else 'missed'} ({ratio:.3f})"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    options = common.begin(common.arguments(__doc__), "coreference_injection", arguments)
    options.device = "cpu"  # whatever is asked
    setting = {
        "texts": f"generated dialogues, vocabulary {VOCABULARY}",
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()} CPU, load {os.getloadavg()[0]:.1f} before",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print("heads and layers compute means over clusters; ratios within repeats, median and quartiles\n")
    print("\n".join(f"{name:<13}{value}" for name, value in setting.items()), flush=True)
    rows, gate = [], []
    for name in SIZES[options.size]:
        size = MODELS[name]
        text = read(size["tokens"], size["texts"])
        repeats = options.repeats or size["repeats"]
        table, ratios, apart = measure(size, text, repeats)
        decoder = size.get("decoder_layers", size["layers"])
        shapes = [tuple(batch["input_ids"].shape) for batch in text.batches]
        texts, tokens = (statistics.median(side) for side in zip(*shapes, strict=True))
        group = f"{size['layers']}+{decoder} layers, width {size['width']}"
        print(
            f"\n{group}, {HEADS} heads, {size['tokens']} tokens a batch"
            f" (median: {texts:.0f} texts of {tokens:.0f} tokens), {repeats} repeats"
        )
        print("\n".join(lines(table)), flush=True)
        rows += [common.row(what, group, "ratio", own, "to the plain variant") for what, own in ratios.items()]
        rows += [common.row(row.variant, group, "seconds", row.seconds, "median") for row in table.itertuples()]
        for what in MEMORY[options.size]:
            memory = common.peak_memory(two_steps, partial(one, what, name))
            print(f"{what:<48}{memory / 2**20:8.1f} MiB at its peak", flush=True)
            rows.append(common.row(what, group, "bytes", memory, "peak of two steps"))
        gate.append(apart)
    frame = pd.DataFrame(rows, columns=common.COLUMNS)
    common.keep("coreference_injection", frame, common.facts(options, int(frame.repeats.max()), max(gate), TOLERANCE))


if __name__ == "__main__":
    main()
