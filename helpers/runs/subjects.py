"""What is studied: a text, what models do with it, and one model, by its name in the study or by its run.

A subject knows its text, builds fresh models, yields batches to train on and to measure on, and scores what a model puts out:
translation, abstractive summarization, language modelling, behind one face.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers import corpora, gpu, heads, models, study
from helpers import pretrained as pretrained_models
from helpers.corpora import Pair, texts, tokens
from helpers.runs import training
from helpers.scores import scoring
from helpers.study import StudyError

CONTROLLED = ("ru-news", "de-news", "fr-news", "ru-subtitles")  # the four models of the paper's section 3
NATURAL = ("fr-europarl",)
NONE = "+none"  # a name's ending: no encoder self-attention from the start
TRANSLATION, SUMMARIZATION, LANGUAGE = "translation", "summarization", "language modelling"
METRICS = {TRANSLATION: ("BLEU",), SUMMARIZATION: ("ROUGE-1", "ROUGE-2", "ROUGE-L"), LANGUAGE: ("perplexity",)}
Fed = dict[str, torch.Tensor]


# --- names in the study ----------------------------------------------------------------------------------------------


def names(settings: Mapping[str, Any], chosen: str = "") -> list[str]:
    """Names of the models to study: `chosen` (separated by spaces), the profile's, or the corpus's own."""
    usual = CONTROLLED if settings["corpus"] == "controlled" else NATURAL
    wanted = chosen.split() or settings.get("models", "").split() or list(usual)
    for name in wanted:
        language, dash, _ = name.partition("-")
        if not dash or language not in corpora.LANGUAGES:
            raise StudyError(f"There is no model {name!r}: write LANGUAGE-REGISTER, such as {', '.join(usual)}.")
    return wanted


def all_kinds(settings: Mapping[str, Any], name: str) -> str:
    """The name of the model whose heads of all kinds are pruned in this one's place: a sibling's, or `name` itself."""
    which = settings["pruning"]["all_kinds_on"]
    return f"{name}+{which}" if which else name


def leads(settings: Mapping[str, Any], name: str) -> bool:
    """Whether a model is the study's first, which alone has siblings and controls."""
    return name == names(settings)[0]


def without_encoder(settings: Mapping[str, Any], name: str) -> list[str]:
    """The name of the first model's twin that never has encoder attention, if there is one; no other model has any."""
    return [name + NONE] if settings["without_encoder"] and leads(settings, name) else []


def trainings(settings: Mapping[str, Any], name: str) -> int:
    """How many seeds of a model are trained: one, or with the setting "seeds" more of those that "comparison.again" names."""
    return settings["seeds"] if name in (settings["comparison"]["again"] or [name]) else 1


def spec(settings: Mapping[str, Any], name: str, seed: int) -> dict[str, Any]:
    """The training spec of a model's name, which may end in "+none" or in the name of a sibling."""
    base, *ends = name.split("+")
    for end in ends:
        if f"+{end}" != NONE:
            settings = study.changed(settings, study.parse_overrides(_sibling(settings, end)["changes"]))
    return training.spec(settings, base, seed, ("encoder",) if NONE[1:] in ends else ())


def recipes(settings: Mapping[str, Any], chosen: Iterable[str], seed: int) -> list[study.Recipe]:
    """The recipes of models by name."""
    return [training.trained(spec(settings, name, seed), f"{name}, seed {seed}") for name in chosen]


def _sibling(settings: Mapping[str, Any], name: str) -> Mapping[str, str]:
    matching = [one for one in settings["siblings"] if one["name"] == name]
    if not matching:
        known = ", ".join(one["name"] for one in settings["siblings"]) or "none"
        raise StudyError(f"There is no sibling {name!r} of a model: the setting siblings has {known}.")
    return matching[0]


def title(name: str) -> str:
    """A model's name as figures show it: "EN-RU news", "EN-RU news, deep decoder"."""
    base, *ends = name.split("+")
    language, _, register = base.partition("-")
    text = f"EN-{language.upper()} {register}" if language in corpora.LANGUAGES else base
    return ", ".join([text, *(end.replace("-", " ") for end in ends if f"+{end}" != NONE)])


def setting(kind: str) -> str:
    """What a task is called in the settings, where names are one word."""
    return kind.split()[0]


def corpus(settings: Mapping[str, Any], kind: str, seed: int) -> dict[str, Any]:
    """Everything that the text of a task depends on, in the sizes of the profile's block "grouping"."""
    block = settings["grouping"][setting(kind)]
    sizes = {name: block[name] for name in ("train", "dev", "test", "vocabulary", "longest")}
    if kind != TRANSLATION:
        described = texts.spec(sizes, block["text"], seed)
        if described["task"] != kind:
            raise StudyError(f"The text {block['text']!r} is for {described['task']}: choose another for {kind}.")
        return described
    language, _, register = block["text"].partition("-")
    return corpora.spec({**settings, **sizes}, language, register, seed)


# --- a text with a model ---------------------------------------------------------------------------------------------


@dataclass
class Subject:
    """A text, what is done with it, and the model under study, if there is one."""

    kind: str  # what is done: "translation", "summarization" or "language modelling"
    corpus: Mapping[str, Any]  # spec of the text
    folder: Path  # where it lies
    source: tokens.Subwords
    target: tokens.Subwords  # the same as the source's but in translation
    name: str = ""
    opened: Callable[[], Any] | None = None  # gives the model when it is first asked for: who reads results needs no weights
    run: study.Recipe | None = None  # what made the model, if it is one of our own
    parser: str = "spacy"  # what parses natural sentences (`helpers.corpora.parsed`)

    @cached_property
    def model(self) -> Any:
        """The model, in evaluation mode, on the device in use; a subject that is a text alone has none."""
        return self.opened()  # type: ignore[misc]

    @property
    def kept(self) -> dict[tuple[str, int], list[int]]:
        """`helpers.heads.kept` of the model; of one of our own without reading its weights."""
        return training.kept(self.run) if self.run else heads.kept(self.model)

    @property
    def longest(self) -> int:
        """Tokens of a text at most."""
        others = self.opened is not None and self.run is None
        return self.model.config.max_position_embeddings if others else models.MAX_POSITIONS

    @property
    def title(self) -> str:
        """The name as figures show it: "EN-RU news"."""
        return title(self.name)

    def untrained(self, seed: int = 0):
        """A model of the same class and size with random weights: a baseline for every score."""
        torch.manual_seed(seed)
        config = type(self.model.config).from_dict(self.model.config.to_dict())
        return type(self.model)(config).to(next(self.model.parameters()).device).eval()

    def build(self, shape: Mapping[str, Any], seed: int):
        """A randomly initialised model: encoder-decoder, or decoder-only for language modelling."""
        if self.kind == LANGUAGE:
            return models.build_decoder(shape, self.source.size, seed)
        return models.build(shape, self.source.size, self.target.size if self.kind == TRANSLATION else 0, seed)

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

    def pairs(self, split: str, bare: bool = False) -> list[Pair]:
        """The sentence or document pairs of a split; `bare` as of `helpers.corpora.read_pairs`."""
        return corpora.read_pairs(corpora.file(self.folder, split), bare)

    def ids(self, split: str) -> Any:
        """A split as ids: `helpers.corpora.tokens.Encoded`, or blocks of a language model."""
        if self.kind == LANGUAGE:
            rows = self.source.encode_all([text.text for text in corpora.read_texts(corpora.file(self.folder, split))])
            return texts.blocks([row[:-1] for row in rows], self.source.eos, self.block)
        return tokens.encode(self.pairs(split, bare=True), self.source, self.target, self.longest)

    @cached_property
    def train(self) -> Any:
        """The training text as ids."""
        return self.ids("train")

    @cached_property
    def dev(self) -> Any:
        """The dev text as ids."""
        return self.ids("dev")

    @cached_property
    def sentences(self) -> list[Pair]:
        """The dev sentences with their dependencies: what heads are measured on."""
        return corpora.parsed(self.folder, self.parser)

    @cached_property
    def encoded(self) -> tokens.Encoded:
        """`sentences` as ids, each token with its word."""
        return tokens.encode(self.sentences, self.source, self.target, self.longest)

    def batches(self, budget: int = 8192, first: int | None = None, device: torch.device | None = None) -> list[Fed]:
        """The dev text, or its `first` examples, in batches of `budget` tokens, in translation with the word of each token."""
        return self.batched(self.encoded if self.kind == TRANSLATION else self.dev, budget, first, device)

    def held_out(self, budget: int, first: int | None = None, device: torch.device | None = None) -> list[Fed]:
        """`batches` without words: what a training run looks at, for which nothing need be parsed."""
        return self.batched(self.dev, budget, first, device)

    def batched(self, data: Any, budget: int, first: int | None, device: torch.device | None = None) -> list[Fed]:
        """The `first` examples of a text as ids, in batches of `budget` tokens."""
        device = device or gpu.device()
        if self.kind == LANGUAGE:
            rows, size = range(len(data))[:first], max(1, budget // self.block)
            return [self._blocks(data, rows[i : i + size], device) for i in range(0, len(rows), size)]
        return list(tokens.Batches(data.part(range(len(data))[:first]), self.source.pad, budget, device))

    def epoch(self, budget: int, seed: int, device: torch.device) -> Callable[[int], Iterator[Fed]]:
        """Epoch number -> its batches of at most `budget` tokens, in an order drawn by seed and number."""
        if self.kind != LANGUAGE:
            return tokens.epochs(self.train, self.source.pad, budget, seed, device)

        def blocks(number: int) -> Iterator[Fed]:
            rows = list(range(len(self.train)))
            random.Random(f"blocks {seed * 1000 + number}").shuffle(rows)
            size = max(1, budget // self.block)
            for first in range(0, len(rows) - size + 1, size):
                yield self._blocks(self.train, rows[first : first + size], device)

        return blocks

    @cached_property
    def counts(self) -> torch.Tensor:
        """How often each source token stands in the training text."""
        size = self.source.size + self.target.size if self.source.own else self.model.config.vocab_size
        return tokens.counts(self.source.encode_all([pair.source for pair in self.pairs("train", bare=True)]), size)

    @staticmethod
    def _blocks(data: Any, rows, device: torch.device) -> Fed:
        ids = torch.tensor([data[i] for i in rows], device=device)
        labels = ids.clone()
        labels[:, 0] = -100  # nothing says what a block begins with
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}

    @cached_property
    def references(self) -> dict[str, list[str]]:
        """What outputs are scored against, by test set."""
        return {split: [pair.target for pair in self.pairs(split, bare=True)] for split in self.tests}

    def put_out(self, model, split: str, beam: int) -> list:
        """What a model puts out on a test set: texts; for language modelling `block_losses`."""
        if self.kind == LANGUAGE:
            return block_losses(model, self.ids(split))
        return training.translate(model, [pair.source for pair in self.pairs(split)], self.source, self.target, beam)

    def statistics(self, outputs: Any, split: str) -> np.ndarray:
        """What the scores of outputs are computed from: an array [examples, ...]."""
        if self.kind == LANGUAGE:
            return np.array(outputs, dtype=float)
        count = scoring.bleu_statistics if self.kind == TRANSLATION else scoring.rouge_statistics
        return count(outputs, self.references[split])

    def interval(self, first: np.ndarray, other: np.ndarray | None, repeats: int) -> dict[str, tuple[float, float, float]]:
        """Scores with their 95 % bootstrap interval, or how much they are above another model's (paired): by metric."""
        if self.kind == TRANSLATION:
            return {"BLEU": scoring.bleu_interval(first, other, repeats)}
        if self.kind == LANGUAGE:
            second = None if other is None else other[:, 0]
            return {"perplexity": scoring.perplexity_interval(first[:, 0], first[:, 1], second, repeats)}
        columns = zip(*scoring.mean_interval(first, other, repeats), strict=True)
        rows = ((float(mean), float(low), float(high)) for mean, low, high in columns)
        return dict(zip(self.metrics, rows, strict=True))


def of_name(settings: Mapping[str, Any], name: str, seed: int, parser: str = "spacy") -> Subject:
    """A model of the study by name, trained first if it is not in the store."""
    return of_spec(spec(settings, name, seed), name, parser)


def of_spec(start: Mapping[str, Any], name: str, parser: str = "spacy") -> Subject:
    """The model of a spec (`spec` or `pretrained`) with its text; it is trained, or loaded, when it is asked for."""
    if "pretrained" not in start:
        return of_run(training.trained(start, name), parser)
    text = of_text(start["corpus"], start["pretrained"])
    return replace(text, name=name, opened=lambda: models.load(start["pretrained"])[0].to(gpu.device()), parser=parser)


def of_run(run: study.Recipe, parser: str = "spacy") -> Subject:
    """The model that a run leaves, with its text, called by the run's label."""
    return replace(text_of(run.spec), name=run.label, opened=lambda: training.stored(run), run=run, parser=parser)


def of_text(corpus: Mapping[str, Any], checkpoint: str = "") -> Subject:
    """The text of a corpus spec, without a model; it is prepared first if it is not there.

    Vocabularies are those of a pretrained model (`checkpoint`, by Hub name or folder), or the corpus's own.
    """
    return _of_text(json.dumps(corpus, sort_keys=True), checkpoint)


@lru_cache(maxsize=4)
def _of_text(described: str, checkpoint: str) -> Subject:
    corpus = json.loads(described)
    folder, kind = corpora.prepare(corpus), corpus.get("task", TRANSLATION)
    if checkpoint:
        tokenizer = models.load_tokenizer(checkpoint)
        sides = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    else:
        sides = tokens.sides(folder) if kind == TRANSLATION else (texts.subwords(folder),) * 2
    return Subject(kind, corpus, folder, *sides)


def text_of(run: Mapping[str, Any]) -> Subject:
    """The text of a run by its spec; where it starts from a pretrained model, in that model's subwords."""
    return of_text(corpus_of(run), origin(run).get("pretrained", ""))


def pretrained(settings: Mapping[str, Any], checkpoint: str, name: str, seed: int) -> dict[str, Any]:
    """What `of` takes for a pretrained checkpoint; a local folder is known by its contents."""
    language, _, register = name.partition("-")
    return checkpoint_spec(checkpoint, corpora.spec(settings, language, register, seed), seed)


def checkpoint_spec(checkpoint: str, corpus: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What `of` takes for a pretrained checkpoint and the text of a corpus spec."""
    if checkpoint in pretrained_models.PACKAGES:
        files = [pretrained_models.PACKAGES[checkpoint].sha256]
    else:
        files = [study.digest(file) for file in sorted(Path(checkpoint).glob("*.safetensors"))]
    described = {"pretrained": str(checkpoint), "files": files, "seed": seed}
    return described | {"corpus": dict(corpus)}


def origin(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec that a run's starts lead back to: of what begins with random weights, or of a pretrained model."""
    while "start" in run:
        run = run["start"]
    return run


def corpus_of(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The corpus spec of a run, or of what it starts from."""
    while "corpus" not in run:
        run = run["start"]
    return run["corpus"]


def needs(start: Mapping[str, Any]) -> list[study.Recipe | study.Need]:
    """What a recipe needs that starts from the model of a spec (`spec` or `pretrained`)."""
    recipes: list[study.Recipe | study.Need] = [corpora.recipe(start["corpus"])]
    return recipes if "pretrained" in start else [*recipes, study.Need(training.trained(start), weights=True)]


def study_models(run: study.Run, most: int | None = None) -> list[Subject]:
    """The models that a notebook's parameters ask for, or so many of them, the first."""
    wanted = names(run.settings, run.parameters["models"])[:most]
    seed, parser, checkpoint = (run.parameters[name] for name in ("seed", "parser", "pretrained"))
    if checkpoint:  # studied on the text of the first model
        return [of_spec(pretrained(run.settings, checkpoint, wanted[0], seed), Path(checkpoint).name, parser)]
    return [of_name(run.settings, name, seed, parser) for name in wanted]


def block_losses(model, blocks: list[list[int]], rows: int = 64) -> list[tuple[float, int]]:
    """Summed cross-entropy (nats) and number of predicted tokens of each block of a decoder-only model."""
    losses = []
    with torch.no_grad():
        for first in range(0, len(blocks), rows):
            ids = torch.tensor(blocks[first : first + rows], device=model.device)
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            losses += [(round(float(row.sum()), 5), row.numel()) for row in loss]
    return losses
