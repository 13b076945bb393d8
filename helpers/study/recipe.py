"""Recipes: everything that takes time, known by a key of what its numbers depend on, made whole or not at all.

A *kind* is a sort of thing that is made: a text, a training, a score. A *recipe* is a kind with a spec. Its key is a digest of
the kind, the kind's version, the spec, the keys of what it needs, and the precision and class of the device: of everything
that decides its numbers, and of no code. The version is a number that whoever changes numbers must raise; the fingerprint tests
fail where somebody did not.

What a recipe leaves has two parts: *results* (small: scores, translations, tables, maps of heads) and *weights* (large: a model
in half precision). Whoever reads results needs no weights.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np

from helpers import gpu
from helpers.errors import StudyError
from helpers.study import published, store
from helpers.study.origin import provenance

RESULTS, WEIGHTS, MANIFEST = "results", "weights", "made.json"


class Place(NamedTuple):
    """Where a recipe being made puts what."""

    results: Path  # folders of the two parts, which are there and empty
    weights: Path
    work: Path  # folder of checkpoints: it outlives a process that is killed, and goes when the recipe is made
    label: str  # for a progress bar


class Need(NamedTuple):
    """A recipe that another one reads, and whether it reads weights."""

    recipe: Recipe
    weights: bool = False


@dataclass(frozen=True, eq=False)
class Kind:
    """A sort of recipe.

    `text` lies among the data, and no device has a part in it; of text generated text alone is published, without what models
    are trained on. A `job` is "own": made in a job of its own; "with": a matter of seconds, in the job of what it reads; or
    "shared": in one job with others that wait for the same.
    """

    name: str  # in plain words; also the folder in the store
    version: int | Callable[[Mapping[str, Any]], int]  # or what gives it for a spec; raise it with what changes the numbers
    build: Callable[[Mapping[str, Any], Place], None]  # makes what a spec describes
    needs: Callable[[Mapping[str, Any]], Iterable[Recipe | Need]] = lambda spec: ()  # what `build` may read: part of the key
    text: bool = False
    job: str = "own"
    opened: Callable[..., Any] | None = None  # (spec, test sets, control) -> context of a model as it writes, if it leaves one

    def __post_init__(self) -> None:
        KINDS[self.name] = self

    def of(self, spec: Mapping[str, Any], label: str = "") -> Recipe:
        """The recipe of a spec; the label is for people alone."""
        return Recipe(self, spec, label or self.name)


KINDS: dict[str, Kind] = {}  # by name: what a job's file, or a manifest, speaks of


def kind(name: str) -> Kind:
    """The kind of a name; a StudyError if there is none."""
    if name not in KINDS:
        raise StudyError(f"There is no recipe of kind {name!r}: choose from {', '.join(KINDS)}.")
    return KINDS[name]


@dataclass(frozen=True, eq=False)
class Recipe:
    """Something to be made: two of the same key are the same."""

    kind: Kind
    spec: Mapping[str, Any]
    label: str = field(default="", repr=False)

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits."""
        return _key(self.kind.name, json.dumps(self.spec, sort_keys=True), "" if self.kind.text else gpu.made_on())

    @cached_property
    def what(self) -> str:
        """Digest of kind and spec alone: the same for another version, or on another device."""
        return store.key([self.kind.name, self.spec])

    @property
    def version(self) -> int:
        """The kind's version for this spec."""
        return self.kind.version(self.spec) if callable(self.kind.version) else self.kind.version

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """What it may read, each once."""
        every = (one if isinstance(one, Need) else Need(one) for one in self.kind.needs(self.spec))
        merged: dict[Recipe, bool] = {}
        for need in every:
            merged[need.recipe] = merged.get(need.recipe, False) or need.weights
        return tuple(Need(*one) for one in merged.items())

    @property
    def folder(self) -> Path:
        """Where it lies or will lie."""
        return (store.data() if self.kind.text else store.runs()) / self.kind.name / self.key

    @property
    def results(self) -> Path:
        """The folder of its results; made, or taken from what is published, if they are not there."""
        return make(self) / RESULTS

    @property
    def weights(self) -> Path:
        """The folder of its weights, likewise."""
        return make(self, weights=True) / WEIGHTS

    def made(self, weights: bool = False) -> bool:
        """Whether it can be read without making it: from the store, or from what is published. Files are not checked."""
        return _there(self.folder, weights) or published.offers(self, weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and (self.kind.name, self.key) == (other.kind.name, other.key)

    def __hash__(self) -> int:
        return hash(self.key)


@cache
def _key(name: str, spec: str, device: str) -> str:
    recipe = KINDS[name].of(json.loads(spec))
    needed = sorted(need.recipe.key for need in recipe.needs)
    on = [device, gpu.precision()] if device else []
    return store.key([name, recipe.version, recipe.spec, needed, on])


def at(folder: Path) -> Recipe:
    """The recipe of which `folder` is a part, or all, in the store; a StudyError if it is none."""
    for place in (folder, folder.parent):
        if manifest := _read(place):
            return kind(manifest["kind"]).of(manifest["spec"])
        if (place / MANIFEST).exists():
            raise _damaged(place, MANIFEST)
    raise StudyError(f"{folder} is no folder of the store: there is no {MANIFEST}.")


# --- making ----------------------------------------------------------------------------------------------------------

_READ: list[Path] = []  # every folder that `make` returned in this process: only here can it be seen what a run reads


def make(recipe: Recipe, weights: bool = False, build: Callable[[Mapping[str, Any], Place], None] | None = None) -> Path:
    """The recipe's folder in the store: as it is, filled from what is published, or made now.

    Two processes that want the same wait for one another. What a killed one left behind is never read, and a file that was cut
    off or changed since it was made is refused. `build` makes it in place of the kind's own, with the same numbers.
    """
    folder = recipe.folder
    if _state(folder, weights) != (True, ""):
        with _alone(recipe):  # nobody else changes now what lies there
            if not _usable(recipe, weights) and not published.fetch(recipe, weights):
                _build(recipe, build or recipe.kind.build)
        if _state(folder, weights) != (True, ""):
            raise StudyError(f"What was made could not be put into {folder}: check that it can be written and is no file.")
    _READ.append(folder)
    return folder


def make_together(recipe: Recipe, weights: bool = False) -> Path:
    """`make` on all processes that ``accelerate launch`` started: a model is trained by all, all else made by the first."""
    team = gpu.processes()
    if team.count == 1:
        return make(recipe, weights)
    if not team.first:
        while team.broadcast():
            with tempfile.TemporaryDirectory() as scratch:
                place = Place(Path(scratch, RESULTS), Path(scratch, WEIGHTS), _work(recipe), recipe.label)
                place.results.mkdir()
                recipe.kind.build(json.loads(json.dumps(recipe.spec, sort_keys=True)), place)
        return recipe.folder

    def build(spec: Mapping[str, Any], place: Place) -> None:
        if recipe.kind.opened:
            team.broadcast(True)
        recipe.kind.build(spec, place)

    folder = make(recipe, weights, build)
    team.broadcast(False)
    return folder


def read_since(count: int) -> list[Path]:
    """The folders that were read in this process after the first `count` ones."""
    return _READ[count:]


def _there(folder: Path, weights: bool) -> bool:
    """Whether a finished thing lies in the folder, with weights if they are wanted; files are not checked."""
    if not (folder / MANIFEST).exists():
        return False
    manifest = _read(folder)
    if published.ignored(folder.name) and manifest.get("published"):
        return False
    return not weights or (folder / WEIGHTS).exists() or not any(map(_of_weights, manifest.get("files", ())))


def _of_weights(name: str) -> bool:
    return name.partition("/")[0] == WEIGHTS


def _read(folder: Path) -> dict[str, Any]:
    """The manifest in a folder, empty if it is missing or damaged."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return manifest | {"kind": manifest["kind"], "spec": dict(manifest["spec"]), "files": dict(manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _state(folder: Path, weights: bool) -> tuple[bool, str]:
    """`_there`, and the first file of the wanted parts that does not fit its digest, "" if all do."""
    if not _there(folder, weights):
        return False, ""
    manifest = _read(folder)
    wanted = {name: digest for name, digest in manifest.get("files", {}).items() if weights or not _of_weights(name)}
    return True, store.damaged(folder, wanted) if manifest else MANIFEST


def _usable(recipe: Recipe, weights: bool) -> bool:
    """Whether what lies in the store is there and whole; what is damaged and published is to be taken anew."""
    there, spoilt = _state(recipe.folder, weights)
    if spoilt and not published.offers(recipe, weights):
        raise _damaged(recipe.folder, spoilt)
    if spoilt:
        store.say(f"The stored file {recipe.folder / spoilt} is damaged: it is taken anew from the published runs.")
    return there and not spoilt


def _damaged(folder: Path, name: str) -> StudyError:
    return StudyError(f"The stored file {folder / name} is damaged: delete the folder {folder} to make it anew.")


@contextlib.contextmanager
def _alone(recipe: Recipe) -> Iterator[None]:
    """Hold the recipe's lock, which the system frees however the process ends, with nothing left of those that were killed."""
    root = recipe.folder.parents[1]
    path = root / "locks" / f"{recipe.key}.lock"
    lock = filelock.FileLock(path)
    try:
        with store.room_for(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                store.say(f"{recipe.label} is being made by another run: waiting for it.")
                lock.acquire()
    except OSError as error:
        why = error.strerror or error
        raise StudyError(f"Nothing can be written to {root} ({why}): set HEADS_RUNS and HEADS_DATA to folders.") from None
    try:
        for left in recipe.folder.parent.glob(f".{recipe.key}.*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        lock.release()


def _build(recipe: Recipe, build: Callable[[Mapping[str, Any], Place], None]) -> None:
    folder, work = recipe.folder, _work(recipe)
    spec = json.loads(json.dumps(recipe.spec, sort_keys=True))  # as a job's file gives it: of the same order and types
    scratch, old = (folder.with_name(f".{folder.name}.{os.getpid()}{end}") for end in ("", ".old"))
    place, read = Place(scratch / RESULTS, scratch / WEIGHTS, work, recipe.label), len(_READ)
    try:
        started = time.time()
        with store.room_for(folder), _own_draws():
            place.results.mkdir(parents=True)
            place.weights.mkdir()
            build(spec, place)
            if not any(place.weights.iterdir()):
                place.weights.rmdir()
            manifest = {
                "kind": recipe.kind.name, "version": recipe.version, "spec": recipe.spec, "label": recipe.label,
                "what": recipe.what, "needs": [need.recipe.key for need in recipe.needs], "files": store.digests(scratch),
                "seconds": round(time.time() - started, 1), **provenance(),
            }  # fmt: skip
            store.write_json(scratch / MANIFEST, manifest)
            if folder.is_dir():  # results without their weights, or published ones that are not wanted
                os.rename(folder, old)
            with contextlib.suppress(OSError):
                os.rename(scratch, folder)
    finally:
        del _READ[read:]  # what a build reads is no reading of who asked for it
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)


def _work(recipe: Recipe) -> Path:
    """Where checkpoints lie while a recipe is made."""
    return store.runs() / "work" / recipe.key


@contextlib.contextmanager
def _own_draws() -> Iterator[None]:
    """Random draws inside the block change none outside: a recipe may be made while another one is."""
    plain, drawn = random.getstate(), np.random.get_state()
    with gpu.forked():
        try:
            yield
        finally:
            random.setstate(plain)
            np.random.set_state(drawn)
