"""The store of all recipes: keys, whole or not at all, two runs at once, kills, full disks, damage, published runs."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import corpora, plan, study, world
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError, published
from helpers.study import recipe as recipes


@pytest.fixture(autouse=True)
def own_kinds():
    """Kinds that a test makes are forgotten, with their keys."""
    before = dict(study.KINDS)
    yield
    study.KINDS.clear()
    study.KINDS.update(before)
    recipes._key.cache_clear()


class Thing:
    """A kind that leaves a result in a folder, and weights, if it shall; `built` counts how often it was made."""

    def __init__(self, name="thing", version=1, needs=(), weights=1000, results=100, **more):
        self.built, self.sizes = 0, (results, weights)
        recipes._key.cache_clear()  # of another kind of this name
        self.kind = study.Kind(name, version, self.build, lambda spec: needs, **more)

    def build(self, spec, place):
        self.built += 1
        study.write_text(place.results / "inner" / "a.txt", json.dumps(spec) + "a" * self.sizes[0])
        study.write_text(place.results / "b.txt", "b")
        if self.sizes[1]:
            (place.weights / "w.bin").write_bytes(bytes(self.sizes[1]))

    def of(self, **spec):
        return self.kind.of(spec, "a thing")


def files(folder):
    """What lies in a folder: digest by path."""
    return {str(path.relative_to(folder)): study.digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def left_over():
    """Scratch names in the store."""
    return [path for side in (study.runs(), study.data()) for path in side.rglob(".*")]


def refused(attempt):
    with pytest.raises(StudyError) as caught:
        attempt()
    return str(caught.value)


def forked(work, *given):
    """A process of its own, with all that this one has imported and made."""
    process = multiprocessing.get_context("fork").Process(target=work, args=given)
    process.start()
    return process


def wait_until(true, process):
    late = time.time() + 240
    while not true() and process.is_alive() and time.time() < late:
        time.sleep(0.002)
    assert true()


def lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


# --- keys ------------------------------------------------------------------------------------------------------------


def modules():
    """Names of the modules that hold the kinds of the study."""
    return {kind.name: kind.build.__module__ for kind in study.KINDS.values() if kind.build.__module__.startswith("helpers.")}


@pytest.fixture(scope="module")
def real():
    """Every recipe of a study."""
    settings = study.settings("tiny")
    goals = plan.goals(settings, subjects.names(settings), 1)
    parses = corpora.pairs.PARSES.of({"corpus": corpora.spec(settings, "de", "news", 1), "split": "dev", "parser": "spacy"})
    found = [*plan.closure(need for needs in goals.values() for need in needs), parses]
    assert {recipe.kind.name for recipe in found} == set(modules())
    return found


def by_hand(recipe, known):
    """A key by its definition: kind, version, spec, keys of what is needed, device and precision, and nothing else."""
    name = recipe.kind.name, json.dumps(recipe.spec, sort_keys=True)
    if name not in known:
        needed = {by_hand(need.recipe, known) for need in recipe.needs}
        device = [] if recipe.kind.text else ["cpu", "float32"]
        parts = [json.dumps(part, sort_keys=True) for part in (recipe.kind.name, recipe.version, recipe.spec)]
        parts += [json.dumps(sorted(needed)), json.dumps(device)]
        known[name] = hashlib.sha256(f"[{', '.join(parts)}]".encode()).hexdigest()[:16]
    return known[name]


def test_keys_are_what_they_say_they_are(real, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cpu")
    known = {}
    assert [recipe.key for recipe in real] == [by_hand(recipe, known) for recipe in real]
    assert len({recipe.key for recipe in real}) == len(real) > 100


def test_a_german_word_changes_no_key_of_a_russian_model(monkeypatch):
    settings = study.settings("tiny")

    def keys():
        recipes._key.cache_clear()
        models = {name: training.trained(subjects.spec(settings, name, 1)) for name in ("ru-news", "de-news", "ru-subtitles")}
        return {name: (corpora.recipe(made.spec["corpus"]).key, made.key, outputs.recipe(made, 2).key)
                for name, made in models.items()}  # fmt: skip

    before = keys()
    monkeypatch.setitem(world.VERSIONS, "de", world.VERSIONS["de"] + 1)
    after = keys()
    assert {name for name in before if before[name] == after[name]} == {"ru-news", "ru-subtitles"}
    assert not set(before["de-news"]) & set(after["de-news"])


def test_what_a_key_depends_on(monkeypatch):
    def chain(first=1, second=1, third=1, spec=1, name="thing"):
        """The key of a thing that needs another one, which needs a third."""
        recipes._key.cache_clear()
        needs = [Thing("text", first, text=True).of(n=1)]
        needs = [Thing("middle", second, needs).of(n=1)]
        return Thing(name, third, needs).of(n=spec).key

    keys = [chain(), chain(first=2), chain(second=2), chain(third=2), chain(spec=2), chain(name="other")]
    assert len(set(keys)) == len(keys) and chain() == keys[0]
    one, two = (Thing(version=version).of(n=1) for version in (1, lambda spec: spec["n"] + 1))
    assert (one.version, two.version) == (1, 2) and one.what == two.what != Thing().of(n=2).what
    text = Thing("text", text=True).of(n=1).key
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("HEADS_DEVICE", "cuda")
    assert chain() not in keys and Thing("text", text=True).of(n=1).key == text


def test_what_a_key_does_not_depend_on(tmp_path, monkeypatch):
    needs = [Thing(name, text=True).of(n=1) for name in ("one", "two")]
    made = Thing(needs=needs).kind.of({"a": [1, 2], "b": {"x": 1.5, "y": "ж"}}, "a label")
    key = made.key
    recipes._key.cache_clear()
    again = Thing(needs=[study.Need(needs[1], weights=True), *needs]).kind.of({"b": {"y": "ж", "x": 1.5}, "a": (1, 2)})
    assert again == made and hash(again) == hash(made) and again.key == key
    for name in ("HEADS_RUNS", "HEADS_DATA", "HEADS_PUBLISHED", "HEADS_FRESH", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    recipes._key.cache_clear()
    assert made.kind.of(made.spec, "another").key == key


def test_kinds_and_folders_are_found_again():
    made = Thing().of(n=1)
    folder = study.make(made)
    assert study.at(folder) == study.at(made.results) == study.at(made.weights) == made
    with pytest.raises(StudyError, match="store"):
        study.at(folder.parent)
    with pytest.raises(StudyError, match="thign"):
        study.kind("thign")
    text = Thing("text", text=True).of(n=1)
    assert text.results == study.data() / "text" / text.key / "results"
    (folder / "made.json").write_text('{"kind": "thing"}')
    assert "delete the folder" in refused(lambda: study.at(folder))


# --- whole or not at all ---------------------------------------------------------------------------------------------


def test_a_thing_is_made_once():
    thing = Thing()
    made = thing.of(n=1)
    assert not made.made() and made.folder == study.runs() / "thing" / made.key
    assert made.results == made.folder / "results" and made.weights == made.folder / "weights"
    assert made.made() and made.made(weights=True) and thing.built == 1
    manifest = study.read_json(made.folder / "made.json")
    assert sorted(manifest["files"]) == ["results/b.txt", "results/inner/a.txt", "weights/w.bin"]
    assert (manifest["kind"], manifest["version"], manifest["spec"]) == ("thing", 1, {"n": 1})
    assert {"needs", "what", "time", "commit", "hardware", "libraries", "seconds"} <= set(manifest)
    assert [path.name for path in made.folder.parent.iterdir()] == [made.key]
    assert thing.of(n=1).results.exists() and thing.built == 1
    assert thing.of(n=2).results.exists() and thing.built == 2


def test_what_leaves_no_weights():
    thing = Thing(weights=0)
    made = thing.of(n=1)
    assert study.make(made, weights=True) == made.folder and not (made.folder / "weights").exists()
    assert made.made(weights=True) and study.make(made, weights=True) and thing.built == 1


def test_what_is_built_sees_its_spec_as_a_job_gives_it():
    seen = []
    given = {"b": (1, 2), "a": {"y": 1, "x": 2}}
    made = study.Kind("thing", 1, lambda spec, place: seen.append(json.dumps(spec))).of(given)
    study.make(made)
    assert seen == [json.dumps({"a": {"x": 2, "y": 1}, "b": [1, 2]})] == [json.dumps(study.at(made.folder).spec)]


def test_a_build_that_raises_leaves_nothing():
    thing = Thing()
    made = thing.of(n=1)
    broken = [RuntimeError("no"), KeyboardInterrupt(), StudyError("No: do this.")]
    for error in broken:

        def build(spec, place, error=error):
            thing.build(spec, place)
            raise error

        with pytest.raises(type(error)):
            study.make(made, build=build)
        assert list(made.folder.parent.iterdir()) == [] and not made.made()
    assert made.weights.exists() and made.made()


def test_a_killed_build_is_never_read():
    thing = Thing()
    made = thing.of(n=1)

    def build(spec, place):
        thing.build(spec, place)
        study.write_text(place.results / "half.txt", "half")
        time.sleep(60)

    process = forked(lambda: study.make(made, build=build))
    wait_until(lambda: list(study.runs().rglob("half.txt")), process)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL and left_over()
    assert not made.made()
    assert thing.built == 0 and made.weights.exists() and thing.built == 1
    assert not left_over() and not list(study.runs().rglob("half.txt"))


def test_a_folder_without_a_manifest_is_made_anew():
    thing = Thing()
    made = thing.of(n=1)
    for left in (
        made.folder,
        other := made.folder.with_name(f".{thing.of(n=2).key}.12"),
        made.folder.with_name(f".{made.key}.12"),
    ):
        study.write_text(left / "results" / "half.txt", "half")
    assert not made.made()
    assert [path.name for path in made.results.iterdir()] == ["b.txt", "inner"]
    assert left_over() == [other]  # of another thing, which may be in the making


def test_a_store_that_cannot_be_written(tmp_path, monkeypatch):
    made, file = Thing().of(n=1), tmp_path / "file"
    study.write_text(made.folder, "a file where the folder shall be")
    assert str(made.folder) in refused(lambda: study.make(made))
    assert made.folder.is_file() and not left_over()
    file.touch()
    for store in (file, file / "below"):
        monkeypatch.setenv("HEADS_RUNS", str(store))
        assert str(store) in refused(lambda: study.make(made))


# --- damage ----------------------------------------------------------------------------------------------------------


def spoil(path, damage):
    if damage == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "changed" or path.name == "made.json":  # a folder without a manifest is unfinished, not damaged
        path.write_text('{"spec": {}}')
    else:
        path.unlink()


@pytest.mark.parametrize("name", ["results/inner/a.txt", "weights/w.bin", "made.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damage_is_named(name, damage):
    thing = Thing()
    made = thing.of(n=1)
    folder = study.make(made, weights=True)
    spoil(folder / name, damage)
    for _ in range(2):
        said = refused(lambda: made.weights)
        assert str(folder / name) in said and f"delete the folder {folder}" in said
    if name == "weights/w.bin":
        assert made.results.exists()  # for which weights are no matter
    assert thing.built == 1
    shutil.rmtree(folder)
    assert made.weights.exists() and thing.built == 2


def test_results_without_weights():
    thing = Thing()
    made = thing.of(n=1)
    shutil.rmtree(made.weights)
    assert made.made() and not made.made(weights=True)
    assert made.results.exists() and thing.built == 1
    assert made.weights.exists() and thing.built == 2 and made.made(weights=True)
    assert not left_over()


# --- full disks ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def files_up_to(size):
    """No file can grow beyond so many bytes: writing fails as on a full disk, with another number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# --- two runs at once ------------------------------------------------------------------------------------------------


class Twins:
    """Processes that want the same thing, which is done when it may be; each leaves what it said and read."""

    def __init__(self, folder):
        self.folder, self.begun, self.go = folder, folder / "begun", folder / "go"
        self.made = study.Kind("thing", 1, self.build).of({"n": 1}, "a thing")

    def build(self, spec, place):
        with self.begun.open("a") as file:
            file.write("begun\n")
        while not self.go.exists():
            time.sleep(0.002)
        study.write_text(place.results / "a.txt", "made")

    def run(self, name):
        with (self.folder / f"{name}.err").open("w", buffering=1) as file, contextlib.redirect_stderr(file):
            study.write_text(self.folder / f"{name}.out", (self.made.results / "a.txt").read_text())

    def start(self, name, until):
        process = forked(self.run, name)
        wait_until(until, process)
        return process


def test_two_runs_of_which_one_makes_and_the_other_waits_and_reads(tmp_path):
    twins = Twins(tmp_path)
    one = twins.start("one", lambda: lines(twins.begun))
    two = twins.start("two", lambda: lines(tmp_path / "two.err"))
    assert Thing("other").of(n=1).results.exists()  # nobody waits for another thing
    assert one.is_alive() and two.is_alive()
    twins.go.touch()
    for process in (one, two):
        process.join(240)
    assert (one.exitcode, two.exitcode) == (0, 0)
    assert lines(twins.begun) == ["begun"] and not left_over()
    assert [(tmp_path / f"{name}.out").read_text() for name in ("one", "two")] == ["made", "made"]
    assert not lines(tmp_path / "one.err")
    (said,) = lines(tmp_path / "two.err")
    assert "a thing" in said


def test_two_runs_of_which_the_one_that_makes_is_killed(tmp_path):
    twins = Twins(tmp_path)
    one = twins.start("one", lambda: lines(twins.begun))
    two = twins.start("two", lambda: lines(tmp_path / "two.err"))
    one.kill()
    one.join()
    wait_until(lambda: len(lines(twins.begun)) == 2, two)
    twins.go.touch()
    two.join(240)
    assert (one.exitcode, two.exitcode) == (-signal.SIGKILL, 0)
    assert (tmp_path / "two.out").read_text() == "made" and not left_over()


# --- draws -----------------------------------------------------------------------------------------------------------


def drawn():
    return random.random(), np.random.random(), torch.rand(()).item(), torch.randperm(9).tolist()


def seeded(number):
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def test_draws_outside_are_untouched_by_a_build():
    def build(spec, place):
        seeded(7)
        study.write_json(place.results / "a.json", drawn())
        if spec["n"] == 2:
            raise RuntimeError

    seeded(3)
    expected = [drawn() for _ in range(3)]
    kind = study.Kind("thing", 1, build)
    seeded(3)
    found = [drawn()]
    kind.of({"n": 1}).results  # noqa: B018
    found.append(drawn())
    with pytest.raises(RuntimeError):
        study.make(kind.of({"n": 2}))
    assert [*found, drawn()] == expected


# --- trainings -------------------------------------------------------------------------------------------------------

STEPS = 12


@pytest.fixture
def no_bars_left():
    """Bars of trainings that ended early are open until they are collected, and would move those of later tests."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def model():
    """A tiny model's recipe."""
    sizes = {"train": 60, "dev": 8, "test": 4, "vocabulary": 120, "training.batch_tokens": 256}
    settings = study.settings("tiny", sizes | {"training.steps": STEPS, "training.evaluate_every": 4})
    return training.trained(subjects.spec(settings, "de-subtitles", 1), "a model")


def trained(made):
    """Everything that a training left, by its bytes, but for seconds."""
    found = files(study.make(made, weights=True))
    assert "weights/model.safetensors" in found and found.pop("made.json") and found.pop("results/history.csv")
    assert not (study.runs() / "work" / made.key).exists() and not left_over()
    return found, pd.read_csv(made.results / "history.csv").drop(columns="seconds").to_csv()


@pytest.fixture(scope="module")
def undisturbed(model):
    """What an undisturbed training leaves."""
    return trained(model)


def train(made, steps, every=None, halt=0):
    """Train in a process of its own, with a line for each step, and wait in one of them until there is a file "go".

    Parameters
    ----------
    every : float, optional
        Seconds between checkpoints, if not the usual ones.
    """
    entropy, done = training.cross_entropy, []

    def told(model, batch, smoothing):
        if model.training:
            done.append(1)
            with steps.open("a") as file:
                file.write("step\n")
            while len(done) == halt and not steps.with_name("go").exists():
                time.sleep(0.002)
        return entropy(model, batch, smoothing)

    training.cross_entropy = told
    if every is not None:
        training.SAVE_EVERY = every
    with Path(os.devnull).open("w") as file, contextlib.redirect_stderr(file):
        study.make(made, weights=True)


def checkpoint(made):
    return study.runs() / "work" / made.key / "checkpoint.pt"


def test_a_training_that_is_killed_ends_with_the_same_bytes(model, undisturbed, tmp_path):
    steps = tmp_path / "steps"
    for halt, done in ((4, 4), (3, 4 + 3)):
        process = forked(train, model, steps, 0.0, halt)
        wait_until(lambda done=done: len(lines(steps)) == done, process)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL and checkpoint(model).exists() and not model.made()
    process = forked(train, model, steps)
    process.join(240)
    assert process.exitcode == 0 and len(lines(steps)) == STEPS + 2  # the steps of the kills are done again
    assert model.made(weights=True) and trained(model) == undisturbed


def test_a_training_that_is_asked_to_end_saves_at_once_and_goes_on_at_the_same_step(model, undisturbed, tmp_path):
    steps = tmp_path / "steps"
    process = forked(train, model, steps, None, 5)  # which would save after 20 seconds
    wait_until(lambda: len(lines(steps)) == 5, process)
    os.kill(process.pid, signal.SIGTERM)
    (tmp_path / "go").touch()
    process.join(240)
    assert process.exitcode not in (0, None) and len(lines(steps)) == 5
    assert not model.made() and not left_over()
    assert torch.load(checkpoint(model), weights_only=True)["state"]["step"] == 5
    process = forked(train, model, steps)
    process.join(240)
    assert process.exitcode == 0 and len(lines(steps)) == STEPS
    assert trained(model) == undisturbed


@pytest.mark.parametrize("what", ["checkpoint", "weights", "text"])
def test_no_room_for_a_training(what, model, undisturbed, monkeypatch, no_bars_left):
    weights = (model.weights / "model.safetensors").stat().st_size
    whole = 6 * weights  # of a checkpoint: weights twice as wide, and two numbers of the optimiser for each of them
    shutil.rmtree(study.runs())
    if what == "checkpoint":
        monkeypatch.setattr(training, "SAVE_EVERY", 0)
    if what == "text":
        shutil.rmtree(study.data())
    with files_up_to({"checkpoint": whole // 2, "weights": weights // 2, "text": 2000}[what]):
        for _ in range(2):  # the second time as the first: nothing piles up
            said = refused(lambda: model.weights)
            assert str(study.data() if what == "text" else study.runs()) in said and "free" in said
            assert not left_over() and not model.made()
    assert trained(model) == undisturbed


# --- published runs --------------------------------------------------------------------------------------------------


def publish(*made, weights=True):
    """Let some things be all that is published."""
    published.write_index({one.key: published.pack(study.make(one, weights), weights) for one in made})


@pytest.fixture
def away(tmp_path, monkeypatch):
    """Go to an empty store."""
    count = iter(range(100))
    return lambda: monkeypatch.setenv("HEADS_RUNS", str(tmp_path / f"store {next(count)}"))


def archive(made, part="results"):
    return published.folder() / published.index()[made.key]["parts"][part]["file"]


def test_published_things_come_back_as_they_were(away, capsys):
    thing = Thing()
    made, other = thing.of(n=1), thing.of(n=2)
    publish(made, other)
    before = study.make(made, weights=True)
    away()
    assert made.made() and made.made(weights=True) and not made.folder.exists()
    assert not (made.results.parent / "weights").exists()  # not wanted yet
    assert made.weights.exists() and not other.folder.exists()
    there, here = files(before), files(made.folder)
    assert (there.pop("made.json"), here.pop("made.json")) and here == there
    manifests = [study.read_json(folder / "made.json") for folder in (before, made.folder)]
    assert manifests[1] == manifests[0] | {"published": True}
    assert thing.built == 2 and not capsys.readouterr().err and not left_over()
    assert study.at(made.folder) == made
    assert published.megabytes(published.index()) * 1e6 == sum(p.stat().st_size for p in published.folder().glob("*/*.tar.xz"))


def test_a_published_model_is_not_trained(model, undisturbed, away):
    written_out = outputs.recipe(model, 1)
    publish(model, written_out)
    written = outputs.read(model, "test", 1)
    away()
    assert training.kept(model)["encoder", 0] and not (model.folder / "weights").exists()
    assert outputs.read(model, "test", 1) == written and not (model.folder / "weights").exists()
    assert trained(model) == undisturbed and study.read_json(model.folder / "made.json")["published"]
    assert not training.stored(model).training


def test_the_same_things_are_packed_to_the_same_bytes(away, tmp_path, monkeypatch):
    thing = Thing()
    publish(thing.of(n=1), thing.of(n=2))
    before = files(published.folder())
    packed = [thing.of(n=1), thing.of(n=2)]
    publish(packed[0], weights=False)
    assert list(published.folder().glob("*/*.tar.xz")) == [archive(packed[0])]  # the others are dropped
    publish(*packed[::-1])
    assert files(published.folder()) == before
    away()
    for made in packed:  # what was unpacked
        assert made.weights.exists()
    folders = [made.folder for made in packed]
    monkeypatch.setenv("HEADS_PUBLISHED", str(tmp_path / "again"))
    published.write_index({folder.name: published.pack(folder, True) for folder in folders})
    assert files(published.folder()) == before and thing.built == 2
    spoil(folders[0] / "weights" / "w.bin", "cut")
    assert str(folders[0]) in refused(lambda: published.pack(folders[0], True))


@pytest.mark.parametrize("part", ["results", "weights"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_an_archive_that_is_not_whole(part, damage, away, capsys):
    thing = Thing()
    made = thing.of(n=1)
    publish(made)
    spoil(archive(made, part), damage)
    away()
    if part == "weights":
        assert made.results.exists() and thing.built == 1 and not capsys.readouterr().err
    assert made.weights.exists() and thing.built == 2
    assert str(archive(made, part)) in capsys.readouterr().err
    assert "published" not in study.read_json(made.folder / "made.json")


def test_weights_that_are_not_published(away, capsys):
    thing, plain = Thing(), Thing("plain", weights=0)
    made, small = thing.of(n=1), plain.of(n=1)
    publish(made, small, weights=False)
    away()
    assert made.made() and not made.made(weights=True) and small.made(weights=True)
    assert made.results.exists() and study.make(small, weights=True) and (thing.built, plain.built) == (1, 1)
    assert not capsys.readouterr().err
    assert made.weights.exists() and thing.built == 2 and made.made(weights=True)
    assert "weights" in capsys.readouterr().err


def test_a_foreign_version(away, capsys):
    publish(Thing(version=3).of(n=1))
    away()
    recipes._key.cache_clear()
    thing = Thing(version=4)
    assert not thing.of(n=1).made()
    assert thing.of(n=1).results.exists() and thing.built == 1
    assert re.search("version 3.*4", capsys.readouterr().err)
    assert thing.of(n=2).results.exists() and not capsys.readouterr().err  # of which nothing is published
    publish(Thing(needs=[Thing("text", 1, text=True).of(n=1)]).of(n=1))
    away()
    assert Thing(needs=[Thing("text", 2, text=True).of(n=1)]).of(n=1).results.exists()
    assert "needs" in capsys.readouterr().err


def test_everything_can_be_made_anew(away, capsys, monkeypatch):
    thing = Thing()
    made, unpacked = thing.of(n=1), thing.of(n=2)
    publish(made, unpacked)
    away()
    assert unpacked.weights.exists() and thing.built == 2
    monkeypatch.setenv("HEADS_FRESH", f"0123456789abcdef,{made.key}")
    assert unpacked.made() and not made.made()
    monkeypatch.setenv("HEADS_FRESH", "1")
    for number, one in enumerate((made, unpacked), 3):
        assert not one.made() and one.weights.exists() and thing.built == number and one.made(weights=True)
        assert one.results.exists() and thing.built == number
    assert not capsys.readouterr().err and not left_over()
    monkeypatch.setenv("HEADS_FRESH", "0")
    away()
    assert made.results.exists() and thing.built == 4


@pytest.mark.parametrize("name", ["results/b.txt", "weights/w.bin", "made.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_unpacked_thing_is_taken_anew(name, damage, away, capsys):
    thing = Thing()
    made = thing.of(n=1)
    publish(made)
    away()
    whole = files(study.make(made, weights=True))
    spoil(made.folder / name, damage)
    assert files(study.make(made, weights=True)) == whole and thing.built == 1
    assert str(made.folder / name) in capsys.readouterr().err and not left_over()
    spoil(made.folder / name, damage)
    publish()  # no longer
    if (name, damage) != ("made.json", "gone"):
        assert str(made.folder) in refused(lambda: study.make(made, weights=True))


@pytest.mark.parametrize("content", ["", "{}", '{"runs": {"0": {"what": "0"}}}'])
def test_a_damaged_index(content, away, monkeypatch):
    thing = Thing()
    publish(thing.of(n=1))
    path = published.folder() / "index.json"
    path.write_text(content)
    away()
    assert str(path) in refused(lambda: thing.of(n=1).results)
    monkeypatch.setenv("HEADS_FRESH", "1")
    assert thing.of(n=1).results.exists() and published.index() == {}


def test_an_archive_that_was_never_one(away):
    made = Thing().of(n=1)
    publish(made)
    away()
    for content in (b"no archive", archive(made).read_bytes()[:100]):
        path, entry = archive(made), published.index()[made.key]
        path.write_bytes(content)
        entry["parts"]["results"]["sha256"] = study.digest(path)
        published.write_index({made.key: entry})
        assert str(path) in refused(lambda: made.results)
        assert not left_over() and not made.folder.exists()


def test_no_room_for_what_is_unpacked(away):
    thing = Thing(weights=100_000)
    made = thing.of(n=1)
    publish(made)
    away()
    with files_up_to(50_000):
        assert str(made.folder) in refused(lambda: made.weights)
    assert not left_over() and not made.folder.exists()
    assert made.weights.exists() and thing.built == 1


@pytest.mark.parametrize("sizes", [{"results": 5000}, {"weights": 5000}, {"results": 1, "weights": 1}],
                         ids=["result", "weight", "manifest"])  # fmt: skip
def test_no_room_for_a_file(sizes):
    thing = Thing(**{"results": 10, "weights": 10} | sizes)
    made = thing.of(n=1)
    with files_up_to(4000 if max(sizes.values()) > 1 else 300):
        for _ in range(2):  # the second time as the first: nothing piles up
            said = refused(lambda: made.weights)
            assert str(study.runs()) in said and "free" in said
            assert not left_over() and not made.made()
    assert made.weights.exists() and made.made(weights=True)


def test_a_text_is_made_once_for_two_stores(tmp_path, monkeypatch):
    twins = Twins(tmp_path)
    twins.made = study.Kind("text", 1, twins.build, text=True).of({"n": 1}, "a text")
    one = twins.start("one", lambda: lines(twins.begun))
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "other"))
    two = twins.start("two", lambda: lines(tmp_path / "two.err"))
    twins.go.touch()
    for process in (one, two):
        process.join(240)
    assert (one.exitcode, two.exitcode) == (0, 0) and lines(twins.begun) == ["begun"]


def test_what_is_built_does_not_hang_on_what_is_built_on_the_way():
    def inner(spec, place):
        seeded(7)

    def outer(spec, place):
        seeded(5)
        first = drawn()
        study.make(other)
        study.write_json(place.results / "a.json", [first, drawn()])

    other = study.Kind("inner", 1, inner).of({})
    made = study.Kind("outer", 1, outer).of({})
    found = []
    for there in (False, True):
        assert other.made() == there
        found.append((made.results / "a.json").read_text())
        shutil.rmtree(made.folder)
    assert found[0] == found[1]


def test_two_trainings_at_once_are_one(model, undisturbed, tmp_path):
    both = [forked(train, model, tmp_path / "steps") for _ in range(2)]
    for process in both:
        process.join(240)
    assert [process.exitcode for process in both] == [0, 0]
    assert len(lines(tmp_path / "steps")) == STEPS and trained(model) == undisturbed
