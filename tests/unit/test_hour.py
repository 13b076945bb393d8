"""As much as some minutes allow: the most valuable first, stopped and gone on with, handed over whole."""

from __future__ import annotations

import signal
import tarfile
from types import SimpleNamespace

import pytest

from helpers import plan, study, world
from helpers import training as loop
from helpers.publish import archives, hour
from helpers.runs import training
from helpers.study import StudyError, published
from helpers.study.configuration import dotted

SMALL = study.settings("tiny")
KEPT = ("dev", "test", "vocabulary", "model", "training", "pruning", "beam")
TINY = dotted({name: SMALL[name] for name in KEPT}) | {"pruning.penalties": [0.2], "pruning.compared": [], "model.layers": 1}
TINY |= dotted({"grouping.translation": {**SMALL["grouping"]["translation"], "text": "fr-europarl"}})
TINY |= {"relevance": 2, "bootstrap": 20, "grouping.probe": 4, "grouping.shots": 2}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Settings -> the runs of profile gpu on a small folder of pairs, the most valuable first."""
    splits = world.splits("news", "fr", train=80, dev=20, test=8, seed=1)
    for part in ("train", "dev", "test"):
        rows = [f"day\t{pair.source}\t{pair.target}\n" for pair in splits[part]]
        study.write_text(tmp_path / f"texts/europarl_en-fr/{part}.en-fr.tsv", "".join(rows))
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "texts"))
    return lambda **changed: hour.by_value(study.settings("gpu", changed))


def test_the_most_valuable_comes_first_and_everything_is_in_it(asked, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cuda")  # nothing is made: none need be there
    order = asked()
    place = {recipe: number for number, recipe in enumerate(order)}
    assert all(place[need.recipe] < place[recipe] for recipe in order for need in recipe.needs)
    goals = plan.goals(study.settings("gpu"), ["fr-europarl"], 1)
    assert set(plan.closure([need for needs in goals.values() for need in needs])) <= set(order)
    kinds = [recipe.kind.name for recipe in order]
    assert kinds.index("model") < kinds.index("analysis") < kinds.index("pruned") < kinds.index("grouped")
    assert [recipe.kind.name for recipe, weights in order.items() if weights][:2] == ["pairs", "model"]


def test_minutes_are_kept_and_gone_on_after_and_what_is_handed_over_is_read_elsewhere(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cpu")
    wanted, out, clock, steps, rate = asked(**TINY), tmp_path / "out", [0.0], [], loop.learning_rate
    model = next(one for one in wanted if one.kind is training.MODEL)
    quick = (one for one in wanted if one.kind.name in ("outputs", "analysis") and "random weights" not in one.label)
    read = [one for one in quick if {need.recipe for need in one.needs} >= {model}]
    wanted = plan.closure([study.Need(model, True), *map(study.Need, read)])

    def over_at_5(step, given):
        steps.append(step)
        if len(steps) == 5:
            clock[0] += 1e6
            signal.raise_signal(signal.SIGALRM)
        return rate(step, given)

    monkeypatch.setattr(loop, "learning_rate", over_at_5)
    monkeypatch.setattr(hour, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    (text,) = hour.make(wanted, 600, out)
    assert text.kind.text and steps == [1, 2, 3, 4, 5] and (study.runs() / f"work/{model.key}/checkpoint.pt").exists()
    assert hour.make(wanted, 1, out) == [] and steps[5:] == [], "too little is left to begin"
    made = hour.make(wanted, 600, out)
    assert set(made) == set(wanted) - {text} and steps[5:11] == [*range(6, 12)]

    given = [one for one in made if archives.publishable(one)]  # some show sentences of others' text
    assert 1 < len(given) < len(made)
    results = {one: {file.name: file.read_bytes() for file in one.results.iterdir()} for one in given}
    weights = study.digest(model.weights / "model.safetensors")
    for name in ("RUNS", "PUBLISHED"):
        monkeypatch.setenv(f"HEADS_{name}", str(tmp_path / "elsewhere" / name))
    whole = (out / hour.FILE).read_bytes()
    (out / hour.FILE).write_bytes(whole.replace(b"\xfd7zXZ", b"\xfd7zXY", 1))
    with pytest.raises(StudyError, match="damaged"):
        hour.take(out)
    with pytest.raises(StudyError, match="Nothing was handed over"):
        hour.take(tmp_path)
    assert not published.index()
    (out / hour.FILE).write_bytes(whole)
    hour.take(out)
    assert set(published.index()) == {one.key for one in results} and model.made(weights=True)
    archives.publish({})
    assert set(published.index()) == {one.key for one in results}, "what notebooks of other profiles read does not drop it"
    assert {one: {file.name: file.read_bytes() for file in one.results.iterdir()} for one in results} == results
    assert study.digest(model.weights / "model.safetensors") == weights


def test_a_run_that_would_lie_elsewhere_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_PUBLISHED", str(tmp_path / "published"))
    part = {"results": {"file": "../x", "sha256": "", "bytes": 1}}
    study.write_json(tmp_path / "index.json", {"runs": {"a": {"parts": part}}})
    with tarfile.open(tmp_path / hour.FILE, "w") as packed:
        packed.add(tmp_path / "index.json", "index.json")
    with pytest.raises(StudyError, match="damaged"):
        hour.take(tmp_path)
