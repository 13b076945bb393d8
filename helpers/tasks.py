"""What models are trained for: translation, abstractive summarization, language modelling, behind one face.

A task knows its text, builds a fresh model, yields batches for `helpers.training.fit`, and scores what a model puts out.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers import corpora, models, scoring, study, subjects, training
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
        return corpora.read_pairs(self.folder / f"{split}.jsonl")

    def _encoded(self, split: str) -> Any:
        path = self.folder / f"{split}.jsonl"
        if self.kind == LANGUAGE:
            ids = self.source.encode_all([text.text for text in texts.read_texts(path)])
            return texts.blocks([row[:-1] for row in ids], self.source.eos, self.block)
        bare = [Pair(pair.source, pair.target) for pair in corpora.read_pairs(path)]
        return tokens.encode(bare, self.source, self.target, models.MAX_POSITIONS)

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

    def outputs(self, described: Mapping[str, Any], load: Callable[[], Any], split: str, beam: int) -> Any:
        """What a model puts out on a test set, from the store where it is there already.

        Parameters
        ----------
        described : mapping
            What the outputs depend on besides split, beam and the code that makes them: the key of the model.
        load : callable
            Gives the model.

        Returns
        -------
        list
            Texts; for language modelling pairs of summed loss (nats) and tokens, a block each.
        """
        described = {**described, "split": split, "beam": beam, "code": training.translation_code()}
        if self.kind != LANGUAGE:
            sources = [pair.source for pair in self.pairs(split)]
            return training.stored_translations(described, load, sources, self.source, self.target, beam)
        described |= {"code": study.code_version("tasks:block_losses", "corpora/texts:blocks")}

        def build(folder: Path) -> None:
            study.write_json(folder / "losses.json", block_losses(load(), self._encoded(split)))

        folder = study.make(study.runs(), "translations", described, build)
        return json.loads((folder / "losses.json").read_text(encoding="utf-8"))

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
        return dict(zip(self.metrics, (tuple(map(float, row)) for row in columns), strict=True))

    def subject(self, model, name: str = "") -> subjects.Subject:
        """A translation model with its text, as the measures of notebooks 01 and 02 take it."""
        return subjects.Subject(name, model, self.source, self.target, self.folder, None)


def of(corpus: Mapping[str, Any], subject: subjects.Subject | None = None) -> Task:
    """The task of a corpus spec; the corpus is prepared first if it is not there.

    Parameters
    ----------
    subject : Subject, optional
        A model whose vocabularies are to be used.
    """
    folder, kind = corpora.prepare(corpus), corpus.get("task", TRANSLATION)
    if subject:
        return Task(kind, dict(corpus), folder, subject.source, subject.target)
    sides = tokens.sides(folder) if kind == TRANSLATION else (texts.subwords(folder),) * 2
    return Task(kind, dict(corpus), folder, *sides)


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
