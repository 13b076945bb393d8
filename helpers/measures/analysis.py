"""Analyses: what is measured once on stored models, and read from the store ever after.

An analysis is a function of a model with its text. Of models of our own its value is a recipe's result, so that who reads it
needs no weights; on a model of somebody else it is measured when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from helpers import corpora, study
from helpers.runs import subjects, tasks, training
from helpers.study import values

FILE = "value.json.gz"
ANALYSES: dict[str, Analysis] = {}


@dataclass
class Studied:
    """A stored model under analysis: model, task and text are read when they are first asked for."""

    run: study.Recipe
    parser: str = "spacy"

    @cached_property
    def model(self) -> Any:
        """In evaluation mode, on the device in use."""
        return training.stored(self.run)

    @cached_property
    def task(self) -> tasks.Task:
        """What the model was trained for."""
        return tasks.task_of(self.run.spec)

    @cached_property
    def subject(self) -> subjects.Subject:
        """Model and text as measures take them (translation)."""
        if self.run.kind is training.MODEL:
            return subjects.of(self.run.spec, self.run.label, self.parser)
        return subjects.of_task(self.task, lambda: self.model, self.run.label, self.parser)


@dataclass(frozen=True)
class Analysis:
    """A named measurement.

    Attributes
    ----------
    version : int
        Raise it with whatever changes its numbers.
    measure : callable
        (studied, **options) -> a value that `helpers.study.values` can store; `studied` is a `Studied`, or of several runs a
        list of them. Options are JSON-able.
    """

    name: str
    version: int
    measure: Callable[..., Any]

    def __post_init__(self) -> None:
        ANALYSES[self.name] = self

    def recipe(self, *runs: study.Recipe, parser: str = "spacy", **options: Any) -> study.Recipe:
        """The recipe of the analysis of a run, or of several at once."""
        described = {"what": self.name, "runs": [[run.kind.name, run.spec] for run in runs], "options": options}
        return ANALYSIS.of(described | {"parser": parser}, f"{runs[0].label}: {self.name}")

    def read(self, *runs: study.Recipe, parser: str = "spacy", **options: Any) -> Any:
        """Its value, from the store."""
        return values.read(self.recipe(*runs, parser=parser, **options).results / FILE)

    def of(self, subject: subjects.Subject, **options: Any) -> Any:
        """Its value for a subject: from the store for a model of our own, measured now for another."""
        if subject.spec is None:
            return self.measure(_Given(subject), **options)
        return self.read(training.trained(subject.spec, subject.name), parser=subject.parser, **options)


class _Given:
    """A subject in the place of a `Studied`."""

    def __init__(self, subject: subjects.Subject) -> None:
        self.subject = subject

    @property
    def model(self) -> Any:
        return self.subject.model


def _analyse(spec: Mapping[str, Any], place: study.Place) -> None:
    studied = [Studied(study.kind(kind).of(run, place.label), spec["parser"]) for kind, run in spec["runs"]]
    value = ANALYSES[spec["what"]].measure(studied if len(studied) > 1 else studied[0], **spec["options"])
    values.write(place.results / FILE, value)


def _needs(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    for kind, run in spec["runs"]:
        yield study.Need(study.kind(kind).of(run), weights=True)
        yield from corpora.parses(tasks.corpus_of(run), parser=spec["parser"])


def _version(spec: Mapping[str, Any]) -> int:
    return ANALYSES[spec["what"]].version


ANALYSIS = study.Kind("analysis", _version, _analyse, _needs, job="shared")
