"""Analyses: what is measured once on stored models, and read from the store ever after.

An analysis is a function of a model with its text. Of models of our own its value is a recipe's result, so that who reads it
needs no weights; on a model of somebody else it is measured when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from helpers import corpora, gpu, study
from helpers.runs import subjects
from helpers.study import values

FILE = "value.json.gz"
ANALYSES: dict[str, Analysis] = {}


@dataclass(frozen=True)
class Analysis:
    """A named measurement: (subject, **options) -> a value that `helpers.study.values` can store.

    Of several runs it is given a list of subjects. Options are JSON-able.
    """

    name: str
    version: int  # raise it with whatever changes its numbers
    measure: Callable[..., Any]
    sentences: bool = False  # whether its value holds sentences of the text: of others' text it is not published then

    def __post_init__(self) -> None:
        ANALYSES[self.name] = self

    def recipe(self, *runs: study.Recipe, parser: str = "spacy", **options: Any) -> study.Recipe:
        """The recipe of the analysis of a run, or of several at once."""
        described = {"what": self.name, "runs": [[run.kind.name, run.spec] for run in runs], "options": options}
        return ANALYSIS.of(described | {"parser": parser}, f"{runs[0].label}: {self.name}")

    def read(self, *runs: study.Recipe, parser: str = "spacy", **options: Any) -> Any:
        """Its value, from the store."""
        return values.read(self.recipe(*runs, parser=parser, **options).results / FILE)

    def value(self, subject: subjects.Subject, **options: Any) -> Any:
        """Its value for a subject: from the store for a model of our own, measured now for another."""
        if subject.run is None:
            return self.measure(subject, **options)
        return self.read(subject.run, parser=subject.parser, **options)


def _analyse(spec: Mapping[str, Any], place: study.Place) -> None:
    given = [subjects.of_run(study.kind(kind).of(run, place.label), spec["parser"]) for kind, run in spec["runs"]]
    with gpu.kernels():
        value = ANALYSES[spec["what"]].measure(given if len(given) > 1 else given[0], **spec["options"])
    values.write(place.results / FILE, value)


def _needs(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    for kind, run in spec["runs"]:
        yield study.Need(study.kind(kind).of(run), weights=True)
        yield from corpora.parses(subjects.corpus_of(run), parser=spec["parser"])


ANALYSIS = study.Kind("analysis", lambda spec: ANALYSES[spec["what"]].version, _analyse, _needs, job="shared")
