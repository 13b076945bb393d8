"""What models put out on their test sets: stored once, read ever after, and scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from helpers import corpora, study
from helpers.runs import subjects
from helpers.scores import scoring
from helpers.study import StudyError


def recipe(run: study.Recipe, beam: int, control: Mapping[str, Any] | None = None) -> study.Recipe:
    """The recipe of what a run's model puts out on all its test sets.

    `control` is what the model is under when it writes, if not what it was trained with (`helpers.methods.coreference.runs`).
    """
    spec = {"of": run.kind.name, "run": run.spec, "beam": beam}
    return OUTPUTS.of(spec | ({"control": dict(control)} if control is not None else {}), f"{run.label}, test sets")


def of_models(
    settings: Mapping[str, Any], names: Iterable[str], seed: int, weights: bool = False, beam: int = 0
) -> Iterator[study.Need]:
    """Models of the study by name, with `weights` or without, each with its text before it and what it puts out after it.

    Beams in writing are those of the setting "beam", if `beam` says nothing else.
    """
    for model in subjects.recipes(settings, names, seed):
        yield study.Need(corpora.recipe(model.spec["corpus"]))
        yield study.Need(model, weights)
        yield study.Need(recipe(model, beam or settings["beam"]))


def read(run: study.Recipe, split: str, beam: int, control: Mapping[str, Any] | None = None) -> list:
    """What a run's model puts out on a test set, from the store: texts, or of a language model `subjects.block_losses`."""
    written = study.read_json(recipe(run, beam, control).results / "outputs.json")
    if split not in written:
        raise StudyError(f"There is no test set {split!r}: choose from {', '.join(written)}.")
    return written[split]


def _write_out(spec: Mapping[str, Any], place: study.Place) -> None:
    text = subjects.text_of(spec["run"])
    with study.kind(spec["of"]).opened(spec["run"], tuple(text.tests), spec.get("control")) as model:  # type: ignore[misc]
        written = {split: text.put_out(model, split, spec["beam"]) for split in text.tests}
    study.write_json(place.results / "outputs.json", written)


def _read_by(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    kind = study.kind(spec["of"])
    yield study.Need(kind.of(spec["run"]), weights=True)
    if control := spec.get("control", spec["run"].get("control")):  # what the control is made from
        yield from kind.needs({**spec["run"], "control": control, "splits": ("test",)})


OUTPUTS = study.Kind("outputs", 1, _write_out, _read_by, job="with")


def written_by(subject: subjects.Subject, split: str, beam: int) -> list:
    """What a subject's model puts out on a test set: read from the store for one of our own, written now for another."""
    return read(subject.run, split, beam) if subject.run else subject.put_out(subject.model, split, beam)


def quality(subject: subjects.Subject, beam: int, resamples: int, title: str = "") -> pd.DataFrame:
    """How well a model translates its test sets.

    A row a test set: model, test set, sentences, bleu, low, high, signature (`helpers.scores.scoring.bleu`).
    """
    rows = []
    for split, references in subject.references.items():
        scored = scoring.bleu(written_by(subject, split, beam), references, resamples)
        rows.append({"model": title or subject.title, "test set": split, "sentences": len(references), **scored})
    return pd.DataFrame(rows)
