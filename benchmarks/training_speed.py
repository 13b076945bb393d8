"""Training tokens per second of the study's loop, of other ways to run it, and of Seq2SeqTrainer, as ratios.

All train the same model from the same weights on the same token-budget batches in the same order, with the same Adam, rates,
clipping and label smoothing. The study's loop runs with torch's attention, as the study has it; with attention in plain
matrix products; compiled; and once more as it is, which shows what is noise. A repeat runs every variant once, in random
order, and ratios are taken within a repeat. Time runs from the start of one step to the start of a later one:
setting up, the first steps, dev scores and checkpoints are not in it. Tokens are those of source and target without padding.
Nothing is timed before all loops gave the same losses, step by step, without dropout.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Seq2SeqTrainer, Seq2SeqTrainingArguments

from benchmarks import common
from helpers.corpora.tokens import Encoded, Subwords, collate, encode, learn_vocabulary, rows_of_batches
from helpers.models import build, cross_entropy
from helpers.training import fit, learning_rate
from helpers.world import pairs as sentences

STUDY, NOISE = "helpers.training.fit", "helpers.training.fit, once more (noise)"
EAGER, COMPILED, TRAINER = "helpers.training.fit, eager attention", "helpers.training.fit, compiled", "Seq2SeqTrainer"
SIZES = {  # steps: of a timed run, of which the first ones warm up
    "tiny": {"vocabulary": 200, "pairs": 300, "tokens": 512, "dropout": 0.0, "steps": 8, "repeats": 3},
    "laptop": {"vocabulary": 2000, "pairs": 5000, "tokens": 1024, "dropout": 0.0, "steps": 40, "repeats": 9},
    "base": {"vocabulary": 4000, "pairs": 5000, "tokens": 2048, "dropout": 0.1, "steps": 10, "repeats": 5},
}
WARMUP, CHECKED, SEED = 4, 8, 1  # steps that warm up, steps whose losses must be equal
TOLERANCE = 1e-4  # of a step's loss in single precision, relative to the largest


@dataclass
class Text:
    """Pairs as ids, the rows of every batch, and the sizes of the two vocabularies."""

    data: Encoded
    groups: list[list[int]]
    pad: int
    sizes: tuple[int, int]

    def batch(self, rows: list[int]) -> dict[str, Tensor]:
        """What a model takes of one batch."""
        made = collate(self.data, rows, self.pad)
        return {name: made[name] for name in ("input_ids", "attention_mask", "labels")}

    def tokens(self, number: int) -> int:
        """Tokens of source and target in a step's batch, without padding."""
        rows = self.groups[number % len(self.groups)]
        return sum(len(side[row]) for row in rows for side in (self.data.source, self.data.target))


def read(size: Mapping[str, Any]) -> Text:
    """Generated German subtitles in token-budget batches; the vocabularies are learnt on them."""
    pairs = list(islice(sentences("subtitles", "de", SEED), size["pairs"]))
    source = Subwords(learn_vocabulary((pair.source for pair in pairs), size["vocabulary"]))
    target = Subwords(learn_vocabulary((pair.target for pair in pairs), size["vocabulary"]), offset=source.size)
    data = encode(pairs, source, target)
    data.words = []  # of no use in training
    groups = rows_of_batches(data, source.pad, size["tokens"], shuffle=SEED)
    return Text(data, groups, source.pad, (source.size, target.size))


def plan_of(steps: int) -> dict[str, Any]:
    """Settings of a run: those of the study's laptop profile, but rates rise faster and dev text is scored once, at the end."""
    rates = {"learning_rate": 3e-3, "warmup": 20, "cooldown": 0.0, "betas": [0.9, 0.98], "label_smoothing": 0.1, "clip": 1.0}
    return rates | {"steps": steps, "evaluate_every": steps, "patience": 0, "average": 0}


# --- the loops -------------------------------------------------------------------------------------------------------


@dataclass
class Watch:
    """When each training step began, and its loss."""

    begun: list[float] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)

    def begin(self, model, args: tuple) -> None:
        """Before a forward pass of the model."""
        if model.training:
            if next(model.parameters()).is_cuda:
                torch.cuda.synchronize()
            self.begun.append(time.perf_counter())

    def speed(self, text: Text, skip: int = WARMUP) -> float:
        """Tokens a second of all steps but the first and the last."""
        last = len(self.begun) - 1
        return sum(text.tokens(step) for step in range(skip, last)) / (self.begun[last] - self.begun[skip])


def study_loop(model, text: Text, plan: Mapping[str, Any], attention: str = "sdpa", compiled: bool = False) -> Watch:
    """A run of `helpers.training.fit`."""
    watch = Watch()
    model.set_attn_implementation(attention)
    if compiled:
        model.forward = torch.compile(model.forward, dynamic=True)

    def epoch(number: int) -> Iterator[dict[str, Tensor]]:
        for rows in text.groups:
            yield {name: tensor.to(model.device) for name, tensor in text.batch(rows).items()}

    def objective(model, batch: Mapping[str, Tensor]) -> Tensor:
        loss = cross_entropy(model, batch, plan["label_smoothing"])
        watch.losses.append(loss.detach())
        return loss

    hook = model.register_forward_pre_hook(watch.begin)
    with tempfile.TemporaryDirectory() as folder:
        fit(model, epoch, [next(epoch(0))], plan, Path(folder), SEED, objective)
    hook.remove()
    return watch


class _Watched(Seq2SeqTrainer):
    """The Trainer with token-budget batches in a given order; it keeps the losses of its steps."""

    def __init__(self, text: Text, watch: Watch, **more: Any) -> None:
        super().__init__(**more)
        self.text, self.watch = text, watch

    def get_train_dataloader(self):
        rows = DataLoader(range(len(self.text.data)), batch_sampler=self.text.groups, collate_fn=self._collate)
        return self.accelerator.prepare(rows)

    def _collate(self, rows: list[int]) -> dict[str, Tensor]:
        batch = self.text.batch(rows)
        return batch | {"decoder_input_ids": self.model.prepare_decoder_input_ids_from_labels(labels=batch["labels"])}

    def compute_loss(self, *args: Any, **more: Any):
        loss = super().compute_loss(*args, **more)
        self.watch.losses.append(loss.detach())
        return loss


def trainer(model, text: Text, plan: Mapping[str, Any]) -> Watch:
    """A run of `Seq2SeqTrainer`, with its own label smoother."""
    watch, peak = Watch(), plan["learning_rate"]
    optimiser = torch.optim.Adam(model.parameters(), lr=peak, betas=tuple(plan["betas"]), eps=1e-9, fused=True)
    rates = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda done: learning_rate(done + 1, plan) / peak)

    hook = model.register_forward_pre_hook(watch.begin)
    with tempfile.TemporaryDirectory() as folder:
        asked = Seq2SeqTrainingArguments(
            output_dir=folder, max_steps=plan["steps"], max_grad_norm=plan["clip"], seed=SEED, report_to="none",
            label_smoothing_factor=plan["label_smoothing"], save_strategy="no", logging_strategy="no",
            disable_tqdm=True, remove_unused_columns=False, use_cpu=model.device.type == "cpu",
            bf16=model.device.type == "cuda",
        )  # fmt: skip
        made = _Watched(
            text, watch, model=model, args=asked, train_dataset=range(len(text.data)), optimizers=(optimiser, rates),
        )  # fmt: skip
        made.remove_callback(PrinterCallback)
        made.train()
    hook.remove()
    return watch


LOOPS = {
    STUDY: study_loop, NOISE: study_loop, EAGER: partial(study_loop, attention="eager"),
    COMPILED: partial(study_loop, compiled=True), TRAINER: trainer,
}  # fmt: skip


# --- measure ---------------------------------------------------------------------------------------------------------


def model_of(size: str, text: Text, dropout: float, device: str = "cpu"):
    """A Pegasus model of this size with random weights, the same at every call."""
    return build({**common.SIZES[size], "dropout": dropout}, *text.sizes, SEED).train().to(device)


def loops(size: str) -> dict[str, Any]:
    """What is timed at a size: at the smallest compiling would take longest."""
    return {name: loop for name, loop in LOOPS.items() if (size, name) != ("tiny", COMPILED)}


def check(size: str, text: Text, device: str = "cpu") -> float:
    """The largest relative difference between a step's loss in the study's loop and in another one, without dropout."""
    losses = {}
    for name, loop in loops(size).items():
        watch = loop(model_of(size, text, 0.0, device), text, plan_of(CHECKED))
        losses[name] = torch.stack(watch.losses).float()
    return max(common.agree(f"losses of {name}", part, losses[STUDY], TOLERANCE) for name, part in losses.items())


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], float]:
    """Tokens a second of every loop, ratios to the Trainer's, and the largest difference of losses."""
    chosen, group = SIZES[options.size], common.words(options.size)
    text = read(chosen)
    difference = check(options.size, text, options.device)
    model, plan = model_of(options.size, text, chosen["dropout"], options.device), plan_of(chosen["steps"])
    timed = loops(options.size)
    speeds: dict[str, list[float]] = {name: [] for name in timed}

    def run(name: str) -> None:
        speeds[name].append(timed[name](copy.deepcopy(model), text, plan).speed(text))

    common.interleaved({name: partial(run, name) for name in timed}, options.repeats or chosen["repeats"], SEED)
    frame = pd.DataFrame({name: part[1:] for name, part in speeds.items()})  # each ran once untimed
    rows = common.rows(group, frame, "tokens/s")
    return rows + common.ratios(group, frame, STUDY, "speed over the study's loop"), difference


def main(given: Sequence[str] | None = None) -> None:
    """Check, measure, print and keep."""
    common.bench("training_speed", __doc__, measure, TOLERANCE, given)


if __name__ == "__main__":
    main()
