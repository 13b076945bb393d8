"""The models that a notebook studies, each with the text it is studied on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from helpers import corpora, heads, models, study
from helpers.scores import scoring
from helpers.runs import tasks, training
from helpers.corpora import Pair, alignment, tokens
from helpers.study import StudyError

CONTROLLED = ("ru-news", "de-news", "fr-news", "ru-subtitles")  # the four models of the paper's section 3
NATURAL = ("ru-local", "de-local", "fr-local")
NONE = "+none"  # a name's ending: no encoder self-attention from the start


def names(settings: Mapping[str, Any], chosen: str = "") -> list[str]:
    """Names of the models to study: `chosen` (separated by spaces), or the corpus's own."""
    wanted = chosen.split() or list(CONTROLLED if settings["corpus"] == "controlled" else NATURAL)
    for name in wanted:
        language, dash, _ = name.partition("-")
        if not dash or language not in corpora.LANGUAGES:
            known = ", ".join(CONTROLLED if settings["corpus"] == "controlled" else NATURAL)
            raise StudyError(f"There is no model {name!r}: write LANGUAGE-REGISTER, such as {known}.")
    return wanted


def all_kinds(settings: Mapping[str, Any], name: str) -> str:
    """The name of the model whose heads of all kinds are pruned in this one's place: a sibling's, or `name` itself."""
    which = settings["pruning"]["all_kinds_on"]
    return f"{name}+{which}" if which else name


def siblings(settings: Mapping[str, Any], name: str) -> list[str]:
    """Names of all siblings of a model."""
    return [f"{name}+{one['name']}" for one in settings["siblings"]]


def spec(settings: Mapping[str, Any], name: str, seed: int) -> dict[str, Any]:
    """The training spec of a model's name, which may end in "+none" or in the name of a sibling.

    Raises
    ------
    StudyError
        If there is no such sibling.
    """
    own, *ends = name.split("+")
    for end in ends:
        if f"+{end}" != NONE:
            settings = study.changed(settings, study.parse_overrides(_sibling(settings, end)["changes"]))
    return training.spec(settings, own, seed, ("encoder",) if NONE[1:] in ends else ())


def _sibling(settings: Mapping[str, Any], name: str) -> Mapping[str, str]:
    found = [one for one in settings["siblings"] if one["name"] == name]
    if not found:
        known = ", ".join(one["name"] for one in settings["siblings"]) or "none"
        raise StudyError(f"There is no sibling {name!r} of a model: the setting siblings has {known}.")
    return found[0]


def title(name: str) -> str:
    """A model's name as figures show it: "EN-RU news", "EN-RU news, deep decoder"."""
    own, *ends = name.split("+")
    language, _, register = own.partition("-")
    shown = f"EN-{language.upper()} {register}" if language in corpora.LANGUAGES else own
    return ", ".join([shown, *(end.replace("-", " ") for end in ends if f"+{end}" != NONE)])


@dataclass
class Subject:
    """A model under study: the model, its vocabularies, and the sentences it is measured on.

    Attributes
    ----------
    opened : callable
        Gives the model: it is read when it is first asked for, so that who reads results alone needs no weights.
    spec : dict or None
        Of a model of our own.
    """

    name: str
    opened: Callable[[], Any]
    source: tokens.Subwords
    target: tokens.Subwords
    folder: Path
    spec: dict[str, Any] | None
    parser: str = "spacy"

    @cached_property
    def model(self) -> Any:
        """The model, in evaluation mode, on the device in use."""
        return self.opened()

    @property
    def kept(self) -> dict[tuple[str, int], list[int]]:
        """`helpers.heads.kept` of the model; of one of our own without reading its weights."""
        return training.kept(training.trained(self.spec)) if self.spec else heads.kept(self.model)

    @property
    def longest(self) -> int:
        """Tokens of a sentence at most."""
        return models.MAX_POSITIONS if self.spec else self.model.config.max_position_embeddings

    @property
    def title(self) -> str:
        """The name as figures show it: "EN-RU news"."""
        return title(self.name)

    def pairs(self, split: str, bare: bool = False) -> list[Pair]:
        """The pairs of a split; `bare` as of `helpers.corpora.read_pairs`."""
        return corpora.read_pairs(corpora.file(self.folder, split), bare)

    @cached_property
    def dev(self) -> list[Pair]:
        """The sentences that heads are measured on, with their dependencies."""
        return corpora.parsed(self.folder, "dev", self.parser)

    @property
    def tests(self) -> list[str]:
        """Names of the test sets."""
        return sorted(f.stem for f in self.folder.glob("*.jsonl") if f.stem not in ("train", "dev"))

    @cached_property
    def encoded(self) -> tokens.Encoded:
        """The dev set as ids."""
        return tokens.encode(self.dev, self.source, self.target, self.longest)

    def batches(self, budget: int = 8192, first: int | None = None) -> tokens.Batches:
        """The dev set in batches of `budget` tokens; its `first` sentences only, if given.

        Raises
        ------
        StudyError
            If `first` leaves no sentence.
        """
        if first is not None and first < 1:
            raise StudyError(f"There must be at least one dev sentence to measure on, not {first}: raise the setting.")
        encoded = tokens.Encoded(*(side[:first] for side in (self.encoded.source, self.encoded.target, self.encoded.words)))
        return tokens.Batches(encoded, self.source.pad, budget, models.device())

    @cached_property
    def counts(self) -> torch.Tensor:
        """How often each source token stands in the training text."""
        ids = self.source.encode_all([p.source for p in self.pairs("train", bare=True)])
        return tokens.counts(ids, self.source.size + self.target.size if self.spec else self.model.config.vocab_size)

    @cached_property
    def links(self) -> list[dict[int, int]]:
        """Alignments of the dev set's tokens (target position -> source position), learned with the training text."""
        pairs = self.pairs("train", bare=True)[:20000]
        train = tokens.encode(pairs, self.source, self.target)
        sources = [row[:-1] for row in self.encoded.source + train.source]
        targets = [row[:-1] for row in self.encoded.target + train.target]
        return alignment.align(sources, targets)[: len(self.dev)]

    def untrained(self):
        """A model of the same class and size with random weights: a baseline for every score."""
        torch.manual_seed(0)
        config = type(self.model.config).from_dict(self.model.config.to_dict())
        return type(self.model)(config).to(next(self.model.parameters()).device).eval()

    def translations(self, split: str, beam: int) -> list[str]:
        """Translations of a test set, stored for our own models."""
        if self.spec:
            return tasks.outputs(training.trained(self.spec, self.name), split, beam)
        return training.translate(self.model, [p.source for p in self.pairs(split)], self.source, self.target, beam)


def load(settings: Mapping[str, Any], name: str, seed: int, parser: str = "spacy") -> Subject:
    """A model of the study by name, trained first if it is not in the store."""
    return of(spec(settings, name, seed), name, parser)


def load_pretrained(settings: Mapping[str, Any], checkpoint: str, name: str, seed: int, parser: str = "spacy") -> Subject:
    """A pretrained checkpoint (Hub name or folder), studied on the text of the model `name`."""
    return of(pretrained(settings, checkpoint, name, seed), Path(checkpoint).name, parser)


def pretrained(settings: Mapping[str, Any], checkpoint: str, name: str, seed: int) -> dict[str, Any]:
    """What `of` takes for a pretrained checkpoint; a local folder is known by its contents."""
    language, _, register = name.partition("-")
    return checkpoint_spec(checkpoint, corpora.spec(settings, language, register, seed), seed)


def checkpoint_spec(checkpoint: str, corpus: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What `of` takes for a pretrained checkpoint and the text of a corpus spec."""
    files = sorted(Path(checkpoint).glob("*.safetensors")) if Path(checkpoint).is_dir() else []
    described = {"pretrained": str(checkpoint), "files": [study.digest(file) for file in files], "seed": seed}
    return described | {"corpus": dict(corpus)}


def of(start: Mapping[str, Any], name: str, parser: str = "spacy") -> Subject:
    """The model of a spec (`spec` or `pretrained`) with its text; it is trained, or loaded, when it is asked for."""
    folder = corpora.prepare(start["corpus"])
    if "pretrained" in start:
        model, tokenizer = models.load(start["pretrained"])
        sides = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
        return Subject(name, lambda: model.to(models.device()), *sides, folder, None, parser)
    trained = training.trained(start, name)
    return Subject(name, lambda: training.stored(trained), *tokens.sides(folder), folder, dict(start), parser)


def of_task(task: tasks.Task, opened: Callable[[], Any], name: str = "", parser: str = "spacy") -> Subject:
    """A translation model, which `opened` gives, with a task's text, as the measures of notebooks 01 and 02 take it."""
    return Subject(name, opened, task.source, task.target, task.folder, None, parser)


def needs(start: Mapping[str, Any]) -> list[study.Recipe | study.Need]:
    """What a recipe needs that starts from the model of a spec (`spec` or `pretrained`)."""
    found: list[study.Recipe | study.Need] = [corpora.recipe(start["corpus"])]
    return found if "pretrained" in start else [*found, study.Need(training.trained(start), weights=True)]


def study_models(run: study.Run) -> list[Subject]:
    """The models that a notebook's parameters ask for."""
    wanted = names(run.settings, run.parameters["models"])
    seed, parser = run.parameters["seed"], run.parameters["parser"]
    if run.parameters["pretrained"]:
        return [load_pretrained(run.settings, run.parameters["pretrained"], wanted[0], seed, parser)]
    return [load(run.settings, name, seed, parser) for name in wanted]


def quality(subject: Subject, beam: int, resamples: int, title: str = "") -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """How well a model translates its test sets.

    Returns
    -------
    bleu : pandas.DataFrame
        A row a test set: model, test set, sentences, bleu, low, high, signature (`helpers.scores.scoring.bleu`).
    phenomena : pandas.DataFrame or None
        `helpers.scores.scoring.phenomena` of the last test set whose pairs carry marks.
    """
    rows, marked = [], None
    for split in subject.tests:
        pairs, hypotheses = subject.pairs(split), subject.translations(split, beam)
        if any(pair.marks for pair in pairs):
            marked = scoring.phenomena(hypotheses, [pair.marks for pair in pairs])
        scored = scoring.bleu(hypotheses, [pair.target for pair in pairs], resamples)
        rows.append({"model": title or subject.title, "test set": split, "sentences": len(pairs), **scored})
    return pd.DataFrame(rows), marked
