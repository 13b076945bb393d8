"""What models are trained for: translation, abstractive summarization, language modelling, behind one face.

A task knows its text, builds a fresh model, yields batches for `helpers.runs.training.fit`, and scores what a model puts out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers import corpora, models, study
from helpers.scores import scoring
from helpers.runs import training
from helpers.corpora import Pair, texts, tokens
from helpers.study import StudyError

TRANSLATION, SUMMARIZATION, LANGUAGE = "translation", "summarization", "language modelling"
METRICS = {TRANSLATION: ("BLEU",), SUMMARIZATION: ("ROUGE-1", "ROUGE-2", "ROUGE-L"), LANGUAGE: ("perplexity",)}
Fed = dict[str, torch.Tensor]


def setting(kind: str) -> str:
    """What a task is called in the settings, where names are one word.

    Raises
    ------
    StudyError
        If there is no such task.
    """
    if kind not in METRICS:
        raise StudyError(f"There is no task {kind!r}: choose from {', '.join(METRICS)}.")
    return kind.split()[0]


def corpus(settings: Mapping[str, Any], kind: str, seed: int) -> dict[str, Any]:
    """Everything that the text of a task depends on, in the sizes of the profile's block "grouping".

    Parameters
    ----------
    kind : str
        "translation", "summarization" or "language modelling".

    Raises
    ------
    StudyError
        If there is no such task, or the profile's name for its text is unknown.
    """
    block = settings["grouping"][setting(kind)]
    sizes = {name: block[name] for name in ("train", "dev", "test", "vocabulary", "longest")}
    if kind != TRANSLATION:
        described = texts.spec(sizes, block["text"], seed)
        if described["task"] != kind:
            raise StudyError(f"The text {block['text']!r} is for {described['task']}: choose another for {kind}.")
        return described
    language, _, register = block["text"].partition("-")
    return corpora.spec({**settings, **sizes}, language, register, seed)


@dataclass
class Task:
    """A task on one prepared corpus.

    Attributes
    ----------
    kind : str
        "translation", "summarization" or "language modelling".
    corpus : dict
        Spec of the corpus.
    folder : pathlib.Path
        Where it lies.
    source, target : Subwords
        Vocabularies; one and the same but in translation.
    """

    kind: str
    corpus: dict[str, Any]
    folder: Path
    source: tokens.Subwords
    target: tokens.Subwords

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of its scores."""
        return METRICS[self.kind]

    @property
    def block(self) -> int:
        """Tokens of an example of a language model."""
        return self.corpus["longest"]

    @property
    def tests(self) -> list[str]:
        """Names of the test sets."""
        return sorted(f.stem for f in self.folder.glob("*.jsonl") if f.stem not in ("train", "dev"))

    def build(self, shape: Mapping[str, Any], seed: int):
        """A randomly initialised model: encoder-decoder, or decoder-only for language modelling."""
        if self.kind == LANGUAGE:
            return models.build_decoder(shape, self.source.size, seed)
        return models.build(shape, self.source.size, self.target.size if self.kind == TRANSLATION else 0, seed)

    def pairs(self, split: str) -> list[Pair]:
        """The sentence or document pairs of a split."""
        return corpora.read_pairs(corpora.file(self.folder, split))

    def _encoded(self, split: str) -> Any:
        path = corpora.file(self.folder, split)
        if self.kind == LANGUAGE:
            ids = self.source.encode_all([text.text for text in corpora.read_texts(path)])
            return texts.blocks([row[:-1] for row in ids], self.source.eos, self.block)
        return tokens.encode(corpora.read_pairs(path, bare=True), self.source, self.target, models.MAX_POSITIONS)

    @cached_property
    def train(self) -> Any:
        """The training text as ids."""
        return self._encoded("train")

    @cached_property
    def dev(self) -> Any:
        """The dev text as ids."""
        return self._encoded("dev")

    def epoch(self, budget: int, seed: int, device: torch.device) -> Callable[[int], Iterator[Fed]]:
        """Epoch number -> its batches of at most `budget` tokens, in an order drawn by seed and number."""

        def batches(number: int) -> Iterator[Fed]:
            order = seed * 1000 + number
            if self.kind != LANGUAGE:
                for rows in tokens.batches(self.train, self.source.pad, budget, order):
                    yield self._collated(self.train, rows, device)
                return
            rows = list(range(len(self.train)))
            random.Random(f"blocks {order}").shuffle(rows)
            size = max(1, budget // self.block)
            for first in range(0, len(rows) - size + 1, size):
                yield self._collated(self.train, rows[first : first + size], device)

        return batches

    def held_out(self, budget: int, first: int | None, device: torch.device) -> list[Fed]:
        """The `first` examples of the dev set in batches of `budget` tokens.

        Raises
        ------
        StudyError
            If there are none.
        """
        rows = range(len(self.dev))[:first]
        if not rows:
            raise StudyError("There is no dev text to measure on: raise the setting that says how much.")
        if self.kind == LANGUAGE:
            size = max(1, budget // self.block)
            return [self._collated(self.dev, rows[i : i + size], device) for i in range(0, len(rows), size)]
        part = tokens.Encoded(*([side[i] for i in rows if side] for side in (self.dev.source, self.dev.target, self.dev.words)))
        return list(tokens.Batches(part, self.source.pad, budget, device))

    def _collated(self, data: Any, rows, device: torch.device) -> Fed:
        if self.kind == LANGUAGE:
            ids = torch.tensor([data[i] for i in rows], device=device)
            labels = ids.clone()
            labels[:, 0] = -100  # nothing says what a block begins with
            return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
        return {name: part.to(device) for name, part in tokens.collate(data, rows, self.source.pad).items()}

    def put_out(self, model, split: str, beam: int) -> list:
        """What a model puts out on a test set: texts; for language modelling `block_losses`."""
        if self.kind == LANGUAGE:
            return block_losses(model, self._encoded(split))
        return training.translate(model, [pair.source for pair in self.pairs(split)], self.source, self.target, beam)

    def statistics(self, outputs: Any, split: str) -> np.ndarray:
        """What the scores of outputs are computed from: an array [examples, ...]."""
        if self.kind == LANGUAGE:
            return np.array(outputs, dtype=float)
        references = [pair.target for pair in self.pairs(split)]
        count = scoring.bleu_statistics if self.kind == TRANSLATION else scoring.rouge_statistics
        return count(outputs, references)

    def interval(self, own: np.ndarray, other: np.ndarray | None, repeats: int) -> dict[str, tuple[float, float, float]]:
        """Scores with their 95 % bootstrap interval, or how much they are above another model's (paired): by metric."""
        if self.kind == TRANSLATION:
            return {"BLEU": scoring.bleu_interval(own, other, repeats)}
        if self.kind == LANGUAGE:
            second = None if other is None else other[:, 0]
            return {"perplexity": scoring.perplexity_interval(own[:, 0], own[:, 1], second, repeats)}
        columns = zip(*scoring.mean_interval(own, other, repeats), strict=True)
        rows = ((float(mean), float(low), float(high)) for mean, low, high in columns)
        return dict(zip(self.metrics, rows, strict=True))


def of(corpus: Mapping[str, Any], checkpoint: str = "") -> Task:
    """The task of a corpus spec; the corpus is prepared first if it is not there.

    Parameters
    ----------
    checkpoint : str
        A pretrained model whose vocabularies are to be used, by Hub name or folder; "" for the corpus's own.
    """
    return _of(json.dumps(corpus, sort_keys=True), checkpoint)


@lru_cache(maxsize=4)
def _of(described: str, checkpoint: str) -> Task:
    corpus = json.loads(described)
    folder, kind = corpora.prepare(corpus), corpus.get("task", TRANSLATION)
    if checkpoint:
        tokenizer = models.load_tokenizer(checkpoint)
        sides = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    else:
        sides = tokens.sides(folder) if kind == TRANSLATION else (texts.subwords(folder),) * 2
    return Task(kind, corpus, folder, *sides)


def origin(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec that a run's starts lead back to: of what begins with random weights, or of a pretrained model."""
    while "start" in run:
        run = run["start"]
    return run


def task_of(run: Mapping[str, Any]) -> Task:
    """The task of a run by its spec; where it starts from a pretrained model, in that model's subwords."""
    return of(corpus_of(run), origin(run).get("pretrained", ""))


def corpus_of(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The corpus spec of a run, or of what it starts from."""
    while "corpus" not in run:
        run = run["start"]
    return run["corpus"]


# --- what models put out ---------------------------------------------------------------------------------------------


def put_out(run: study.Recipe, beam: int, control: Mapping[str, Any] | None = None) -> study.Recipe:
    """The recipe of what a run's model puts out on all its test sets.

    Parameters
    ----------
    control : mapping, optional
        What the model is under when it writes, if not what it was trained with (`helpers.methods.coreference.runs`).
    """
    spec = {"of": run.kind.name, "run": run.spec, "beam": beam}
    return OUTPUTS.of(spec | ({"control": dict(control)} if control is not None else {}), f"{run.label}, test sets")


def outputs(run: study.Recipe, split: str, beam: int, control: Mapping[str, Any] | None = None) -> list:
    """What a run's model puts out on a test set, read from the store: texts; for language modelling `block_losses`.

    Raises
    ------
    StudyError
        If there is no such test set.
    """
    found = study.read_json(put_out(run, beam, control).results / "outputs.json")
    if split not in found:
        raise StudyError(f"There is no test set {split!r}: choose from {', '.join(found)}.")
    return found[split]


def _write_out(spec: Mapping[str, Any], place: study.Place) -> None:
    opened = study.kind(spec["of"]).opened
    if opened is None:
        raise StudyError(f"A recipe of kind {spec['of']!r} leaves no model that could write: choose one that does.")
    task = task_of(spec["run"])
    with opened(spec["run"], tuple(task.tests), spec.get("control")) as model:
        written = {split: task.put_out(model, split, spec["beam"]) for split in task.tests}
    study.write_json(place.results / "outputs.json", written)


def _read_by(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    kind = study.kind(spec["of"])
    yield study.Need(kind.of(spec["run"]), weights=True)
    if control := spec.get("control", spec["run"].get("control")):  # what the control is made from
        yield from kind.needs({**spec["run"], "control": control, "splits": ("test",)})


OUTPUTS = study.Kind("outputs", 1, _write_out, _read_by, job="with")


def block_losses(model, blocks: list[list[int]], rows: int = 64) -> list[tuple[float, int]]:
    """Summed cross-entropy (nats) and number of predicted tokens of each block of a decoder-only model."""
    found = []
    with torch.no_grad():
        for first in range(0, len(blocks), rows):
            ids = torch.tensor(blocks[first : first + rows], device=model.device)
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            found += [(round(float(row.sum()), 5), row.numel()) for row in loss]
    return found
