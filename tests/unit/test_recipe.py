"""The store of all recipes: keys, whole or not at all, two runs at once, kills, full disks, damage, published runs."""

import contextlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import time

import numpy as np
import pytest
import torch

from helpers import study
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


@pytest.fixture
def thing():
    return Thing()


@pytest.fixture
def made(thing):
    return thing.of(n=1)


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


def wait_until(true, process):
    late = time.time() + 240
    while not true() and process.is_alive() and time.time() < late:
        time.sleep(0.002)
    assert true()


def lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_what_a_key_depends_on(monkeypatch):
    def chain(first=1, second=1, third=1, spec=1, name="thing"):
        """The key of a thing that needs another one, which needs a third."""
        recipes._key.cache_clear()
        needs = [Thing("text", first, text=True).of(n=1)]
        needs = [Thing("middle", second, needs).of(n=1)]
        return Thing(name, third, needs).of(n=spec).key

    keys = [chain(), chain(first=2), chain(second=2), chain(third=2), chain(spec=2), chain(name="other")]
    assert len(set(keys)) == len(keys) and chain() == keys[0]
    text = Thing("text", text=True).of(n=1).key  # no matter where it is made
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


def test_kinds_and_folders_are_found_again(made):
    folder = study.make(made)
    assert study.at(folder) == study.at(made.results) == study.at(made.weights) == made
    assert "store" in refused(lambda: study.at(folder.parent))
    assert "thign" in refused(lambda: study.kind("thign"))
    (folder / "made.json").write_text('{"kind": "thing"}')
    assert "delete the folder" in refused(lambda: study.at(folder))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_build_that_raises_leaves_nothing(error, thing, made):
    def build(spec, place):
        thing.build(spec, place)
        raise error

    with pytest.raises(error):
        study.make(made, build=build)
    assert list(made.folder.parent.iterdir()) == [] and not made.made()
    assert made.weights.exists() and made.made()


def test_a_folder_without_a_manifest_is_made_anew(thing, made):
    other = made.folder.with_name(f".{thing.of(n=2).key}.12")
    for left in (made.folder, made.folder.with_name(f".{made.key}.12"), other):
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


def spoil(path, damage):
    if damage == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "changed" or path.name == "made.json":  # a folder without a manifest is unfinished, not damaged
        path.write_text('{"spec": {}}')
    else:
        path.unlink()


@pytest.mark.parametrize("name", ["results/inner/a.txt", "weights/w.bin", "made.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damage_is_named(name, damage, thing, made):
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


def test_results_without_weights(thing, made):
    shutil.rmtree(made.weights)
    assert made.folder == study.runs() / "thing" / made.key and made.made() and not made.made(weights=True)
    assert made.results.exists() and thing.built == 1
    assert made.weights.exists() and thing.built == 2 and made.made(weights=True)
    assert not left_over()


@pytest.mark.parametrize(("results", "weights", "room"), [(5000, 10, 4000), (10, 5000, 4000), (1, 1, 300)])
def test_no_room_for_a_result_a_weight_or_the_manifest(results, weights, room):
    """No file can grow beyond so many bytes: writing fails as on a full disk, in one sentence, and nothing is left."""
    made, before = Thing(results=results, weights=weights).of(n=1), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        for _ in range(2):  # the second time as the first: nothing piles up
            said = refused(lambda: made.weights)
            assert str(study.runs()) in said and "free" in said
            assert not left_over() and not made.made()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert made.weights.exists() and made.made(weights=True)


class Twins:
    """Processes that want the same thing, which is done when it may be; each leaves what it said and read."""

    def __init__(self, folder):
        self.folder, self.begun, self.go = folder, folder / "begun", folder / "go"
        self.made = study.Kind("thing", 1, self.build).of({"n": 1}, "a thing")

    def build(self, spec, place):
        study.write_text(place.results / "a.txt", "half")
        with self.begun.open("a") as file:
            file.write("begun\n")
        while not self.go.exists():
            time.sleep(0.002)
        study.write_text(place.results / "a.txt", "made")

    def run(self, name):
        with (self.folder / f"{name}.err").open("w", buffering=1) as file, contextlib.redirect_stderr(file):
            study.write_text(self.folder / f"{name}.out", (self.made.results / "a.txt").read_text())

    def start(self, name, until):
        process = multiprocessing.get_context("fork").Process(target=self.run, args=[name])  # with all that was made here
        process.start()
        wait_until(until, process)
        return process

    def end(self, *processes):
        """Let them go on; what they end with."""
        self.go.touch()
        for process in processes:
            process.join(240)
        return [process.exitcode for process in processes]


def test_two_runs_of_which_one_makes_and_the_other_waits_and_reads(tmp_path):
    twins = Twins(tmp_path)
    one = twins.start("one", lambda: lines(twins.begun))
    two = twins.start("two", lambda: lines(tmp_path / "two.err"))
    assert Thing("other").of(n=1).results.exists()  # nobody waits for another thing
    assert one.is_alive() and two.is_alive()
    assert twins.end(one, two) == [0, 0]
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
    assert not twins.made.made()
    wait_until(lambda: len(lines(twins.begun)) == 2, two)
    assert twins.end(one, two) == [-signal.SIGKILL, 0]
    assert (tmp_path / "two.out").read_text() == "made" and not left_over()


def test_draws_outside_are_untouched_by_a_build():
    def seeded(number):
        random.seed(number)
        np.random.seed(number)
        torch.manual_seed(number)

    def drawn():
        return random.random(), np.random.random(), torch.rand(()).item()

    seeded(3)
    expected = drawn()
    seeded(3)
    study.make(study.Kind("thing", 1, lambda spec, place: seeded(7)).of({}))
    assert drawn() == expected


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


def test_published_things_come_back_as_they_were(thing, away, capsys):
    made, other = thing.of(n=1), thing.of(n=2)
    publish(made, other)
    before = study.make(made, weights=True)
    away()
    assert made.made() and made.made(weights=True) and not made.folder.exists()
    assert not (made.results.parent / "weights").exists()  # not wanted yet
    assert made.weights.exists() and not other.folder.exists()
    there, here = files(before), files(made.folder)
    del there["made.json"], here["made.json"]  # which says that it was published
    assert here == there
    assert thing.built == 2 and not capsys.readouterr().err and not left_over()
    archives = files(published.folder())
    publish(made, other)
    assert files(published.folder()) == archives  # what was unpacked gives the same bytes
    spoil(made.folder / "weights" / "w.bin", "cut")
    assert str(made.folder) in refused(lambda: published.pack(made.folder, True))


def test_runs_that_are_alike_share_an_archive(thing, away, monkeypatch):
    monkeypatch.setattr(published, "ALIKE", (thing.kind.name,))
    made = [thing.of(n=number) for number in (1, 2)]
    publish(*made, weights=False)
    published.write_index(published.shared(published.index()))
    assert archive(made[0]) == archive(made[1]) and len(list(published.folder().glob("*/*"))) == 1
    away()
    assert [json.loads((one.results / "inner" / "a.txt").read_text().rstrip("a"))["n"] for one in made] == [1, 2]
    assert thing.built == 2
    third = thing.of(n=3)
    study.make(third)
    published.write_index(published.shared(published.index() | {third.key: published.pack(third.folder, False)}))
    assert archive(third) != archive(made[0]) == archive(made[1])  # what is shared stays as it is


@pytest.mark.parametrize("part", ["results", "weights"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_an_archive_that_is_not_whole(part, damage, thing, made, away, capsys):
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


def test_everything_can_be_made_anew(thing, away, capsys, monkeypatch):
    made, unpacked = thing.of(n=1), thing.of(n=2)
    publish(made, unpacked)
    away()
    assert unpacked.weights.exists() and thing.built == 2
    monkeypatch.setenv("HEADS_FRESH", f"0123456789abcdef,{made.key}")
    assert unpacked.made() and not made.made()
    monkeypatch.setenv("HEADS_FRESH", "1")
    for number, one in enumerate((made, unpacked), 3):
        assert not one.made() and one.weights.exists() and thing.built == number
        assert one.made(weights=True) and one.results.exists() and thing.built == number
    assert not capsys.readouterr().err and not left_over()


@pytest.mark.parametrize("name", ["results/b.txt", "weights/w.bin", "made.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_unpacked_thing_is_taken_anew(name, damage, thing, made, away, capsys):
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
def test_a_damaged_index(thing, content, away, monkeypatch):
    publish(thing.of(n=1))
    path = published.folder() / "index.json"
    path.write_text(content)
    away()
    assert str(path) in refused(lambda: thing.of(n=1).results)
    monkeypatch.setenv("HEADS_FRESH", "1")
    assert thing.of(n=1).results.exists() and published.index() == {}
