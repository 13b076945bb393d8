"""As much as some minutes allow: the most valuable first, stopped and gone on with, handed over whole, predicted before."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pandas as pd
import pytest

from helpers import plan, study, world
from helpers import training as loop
from helpers.experiments import grouping as grouped
from helpers.experiments import pruning
from helpers.measures import measured
from helpers.methods import grouping, l0
from helpers.publish import archives, hour, summary
from helpers.runs import outputs, training
from helpers.study import StudyError, published
from helpers.study.configuration import dotted

SMALL = study.settings("tiny")
KEPT = ("dev", "test", "vocabulary", "model", "training", "pruning", "beam")
TINY = dotted({name: SMALL[name] for name in KEPT}) | {"pruning.penalties": [0.2], "pruning.compared": [], "model.layers": 1}
TINY |= dotted({"grouping.translation": {**SMALL["grouping"]["translation"], "text": "fr-europarl"}})
TINY |= {"relevance": 2, "bootstrap": 20, "grouping.probe": 4, "grouping.shots": 2}
STAGES = ["models", "measures", "encoder heads pruned", "functions of heads that stay", "heads of all kinds pruned"]
STAGES += ["heads grouped", "relevance by other rules"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Settings -> the stages of profile gpu on a small folder of pairs."""
    splits = world.splits("news", "fr", train=80, dev=20, test=8, surnames=0, seed=1)
    for part in ("train", "dev", "test"):
        rows = [f"day\t{pair.source}\t{pair.target}\n" for pair in splits[part]]
        study.write_text(tmp_path / f"texts/europarl_en-fr/{part}.en-fr.tsv", "".join(rows))
    monkeypatch.setenv("HEADS_DATA_ROOT", str(tmp_path / "texts"))
    return lambda **changed: hour.by_value(study.settings("gpu", changed), ["fr-europarl"], 1)


def test_the_most_valuable_comes_first_and_everything_is_in_it(asked, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cuda")  # nothing is made: none need be there
    stages = asked()
    order = hour.ordered(stages)
    assert list(stages) == [*STAGES, hour.REST] == list(dict.fromkeys(title for title, _ in order.values()))
    assert set(order) == set(plan.closure(stages[hour.REST])) | {need.recipe for needs in stages.values() for need in needs}
    place = {recipe: number for number, recipe in enumerate(order)}
    assert all(place[need.recipe] < place[recipe] for recipe in order for need in recipe.needs)
    methods = [one.spec["method"]["name"] for one, (title, _) in order.items() if title == STAGES[2] and "method" in one.spec]
    assert methods == ["none", "floor", "l0", "l0", "l0", "l0"]
    assert [one.kind.name for one, (_, weights) in order.items() if weights][:2] == ["pairs", "model"]
    rates = plan.Rates()
    seconds = {one: rates.estimate(one)[0] or 0.0 for one, (title, _) in order.items() if title != hour.REST}
    (model,) = (one for one in order if one.kind is training.MODEL)
    assert 900 < seconds[model] < 1200 and sum(seconds.values()) < 3600, "as the profile says, at the stated share of peak"


def test_minutes_are_kept_and_gone_on_after_and_what_is_handed_over_is_read_elsewhere(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_DEVICE", "cpu")
    monkeypatch.setattr(hour, "PIECE", 10_000)
    stages, out, clock, steps, rate = asked(**TINY), tmp_path / "out", [0.0], [], loop.learning_rate
    del stages[hour.REST]
    order = hour.ordered(stages)
    (model,) = (one for one in order if one.kind is training.MODEL)

    def over_at_5(step, given):
        steps.append(step)
        if len(steps) == 5:
            clock[0] += 1e6
            signal.raise_signal(signal.SIGALRM)
        return rate(step, given)

    monkeypatch.setattr(loop, "learning_rate", over_at_5)
    monkeypatch.setattr(hour, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    (text,) = hour.make(stages, 600, out)
    assert text.kind.text and steps == [1, 2, 3, 4, 5] and (study.runs() / f"work/{model.key}/checkpoint.pt").exists()
    assert hour.make(stages, 1, out, least=61.0) == [] and steps[5:] == [], "too little is left to begin"
    made = hour.make(stages, 600, out)
    assert made == [one for one in order if one != text] and steps[5:] == [*range(6, 13), *steps[12:]]
    told = hour.speeds(order).set_index("training")
    ran = pd.read_csv(model.results / "history.csv").seconds.iloc[-1] or 0.1
    assert len(told) == sum(one.kind.name in plan.COSTLY for one in order) and told.loc[model.label, "steps"] == 12
    assert told.loc[model.label, "tokens a second"] == pytest.approx(12 * 1024 / ran)
    assert told.loc[model.label, "share of peak"] == pytest.approx(plan.operations("model", model.spec) / ran / plan.PEAK)

    settings = study.settings("gpu", TINY)
    found = summary.Summary(settings, "fr-europarl", 1)
    size = found.table()
    assert size.value["tokens a second"] == told.loc[model.label, "tokens a second"] and found.picture().axes
    bleu = outputs.quality(found.subject, settings["beam"], TINY["bootstrap"])[0].iloc[0]
    assert size.loc[f"BLEU, {bleu['test set']}", ["value", "low", "high"]].tolist() == [*bleu[["bleu", "low", "high"]]]
    bare = pruning.removed_and_trained(settings, found.subject).set_index("test set").bleu[bleu["test set"]]
    worth = size.loc[f"worth of encoder attention, removed, {bleu['test set']}"]
    assert worth.value == pytest.approx(bare.iloc[0] - bare.iloc[1]) and worth.low <= worth.value <= worth.high
    assert not size.index.str.contains("from the start").any(), "that is not made"
    sweep = l0.runs.sweeps(settings, [found.subject.name], 1)[0]
    quality = pruning.quality(sweep, found.subject, pruning.draws(sweep, found.subject, TINY["bootstrap"])).xs(
        bleu["test set"], level="test set"
    )
    for run in sweep["runs"]:
        assert size.value[f"encoder heads left, {run}"] == quality.encoder[run]
        if run != "control":
            row = size.loc[f"BLEU minus control, {run}, {bleu['test set']}"]
            assert [row.value, row.low, row.high] == pytest.approx([*quality.loc[run, ["change", "change_low", "change_high"]]])
    alone = measured.WITHOUT.read(model, first=TINY["relevance"]).loc["cross"]
    assert size.loc["surely missed alone, cross", ["value", "n"]].tolist() == [(alone.low > 0).sum(), len(alone)]
    assert size.value["largest rise alone, cross"] == alone.loss.max()

    every = grouping.runs.rows_of(settings, "translation", 1)
    rows = {name: every[name] for name in ("vanilla", "GHT", "GHT-PS")}
    scored, split = grouped.scores(rows, grouped.statistics(rows, 1)), bleu["test set"]
    summed = grouped.summed(settings, "translation", 1).value
    assert summed[f"GHT-PS: translation: {split}"] == scored.value["GHT-PS", split, "BLEU"]
    with pytest.raises(StudyError, match="Not made of summarization: any row"):
        grouped.summed(study.changed(settings, {"grouping.summarization.steps": 0}), "summarization", 1)

    assert hour.make(stages, 600, tmp_path / "bare", weights=False) == [] and not list((tmp_path / "bare").glob("weights-*"))
    files = {file.name: file.read_bytes() for file in out.iterdir()}
    assert len([name for name in files if name.startswith("weights")]) > 1 and max(map(len, files.values())) < 200_000
    with monkeypatch.context() as patch, pytest.raises(TypeError):  # ends when other pieces are there and their index is not
        patch.setattr(hour, "PIECE", 7000)
        patch.setattr(study, "write_json", None)
        hour.hand_over(order, [model], out)
    assert set(files) < {file.name for file in out.iterdir()}
    given = [one for one in made if not one.kind.text and archives.publishable(one)]  # some show sentences of others' text
    assert len(given) < sum(not one.kind.text for one in made)
    results = {one: {file.name: file.read_bytes() for file in one.results.iterdir()} for one in given}
    weights = study.digest(model.weights / "model.safetensors")
    for name in ("RUNS", "PUBLISHED"):
        monkeypatch.setenv(f"HEADS_{name}", str(tmp_path / "elsewhere" / name))
    first = out / next(name for name in sorted(files) if name.startswith("results"))
    first.write_bytes(files[first.name][:-1] + b"?")
    with pytest.raises(StudyError, match="damaged"):
        hour.take(out)
    study.write_json(tmp_path / "odd/index.json", {"runs": {"../x": {}}, "files": {"results": [], "weights": []}})
    with pytest.raises(StudyError, match="no key"):
        hour.take(tmp_path / "odd")
    assert not published.index()
    first.write_bytes(files[first.name])
    hour.take(out)
    assert set(published.index()) == {one.key for one in results} and model.made(weights=True)
    archives.publish({})
    assert set(published.index()) == {one.key for one in results}, "what notebooks of other profiles read does not drop it"
    assert {one: {file.name: file.read_bytes() for file in one.results.iterdir()} for one in results} == results
    assert study.digest(model.weights / "model.safetensors") == weights
    monkeypatch.setenv("HEADS_PUBLISHED", str(tmp_path / "without"))
    for left in out.glob("weights-*"):
        left.unlink()
    hour.take(out)
    assert {tuple(one["parts"]) for one in published.index().values()} == {("results",)}
