"""Published runs are filled from the store, and made anew they come out the same."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from helpers import corpora, study
from helpers.measures import measured
from helpers.measures.sentence import ONE_SENTENCE
from helpers.methods import contest
from helpers.publish import archives
from helpers.runs import outputs, subjects, training
from helpers.study import Need, StudyError, published, values

CHANGED = {
    "train": 60, "dev": 8, "test": 4, "vocabulary": 120, "model.layers": 1, "model.width": 16, "model.heads": 2,
    "model.feed_forward": 16, "training.steps": 6, "training.evaluate_every": 3, "training.warmup": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trained model and what it puts out, and the folder of their store."""
    with pytest.MonkeyPatch.context() as patch:
        base = tmp_path_factory.mktemp("trained")
        for name, value in {"RUNS": base / "runs", "DATA": base / "data", "DEVICE": "cpu"}.items():
            patch.setenv(f"HEADS_{name}", str(value))
        model = training.trained(subjects.spec(study.settings("tiny", CHANGED), "ru-news", 1), "a model")
        put_out = outputs.recipe(model, 1)
        study.make(put_out)
    return base, (model, put_out)


@pytest.fixture
def made(trained, tmp_path, monkeypatch):
    """Both in a store of this test, and an empty folder of published runs."""
    monkeypatch.setenv("HEADS_DEVICE", "cpu")
    shutil.copytree(trained[0], tmp_path, dirs_exist_ok=True)
    return trained[1]


def test_a_cell_is_published_while_it_stands_in_its_notebook(made, tmp_path, monkeypatch):
    model, _ = made
    source = "def shape():\n    return pd.DataFrame({'x': [1]})"
    notebook = tmp_path / "notebooks" / "py" / "03_l0_pruning.py"
    study.write_text(notebook, f"# %%\n{source}\n")
    monkeypatch.setattr(study, "ROOT", tmp_path)
    spec = {"notebook": notebook.stem, "function": "shape", "code": source, "reads": [["model", model.spec]], "arguments": {}}
    cell = study.kind("cell").of(spec)
    study.make(cell, build=lambda spec, place: study.write_text(place.results / "table.csv", "x\n1\n"))
    archives.publish({"other": []})
    assert published.index().keys() == {cell.key}
    shutil.rmtree(cell.folder)
    archives.publish({"other": []})  # from a store that never ran the notebook
    assert published.index().keys() == {cell.key} and (cell.results / "table.csv").read_text() == "x\n1\n"
    study.write_text(notebook, source.replace("1", "2"))
    archives.publish({"other": []})
    assert not published.index()


def test_published_text_is_read_without_what_models_are_trained_on(made, tmp_path, monkeypatch):
    model, _ = made
    text = corpora.recipe(model.spec["corpus"])
    folder, train = text.results, corpora.file(text.results, "train").read_bytes()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    archives.publish({"one": [Need(text)]})
    assert "train.jsonl" not in before
    monkeypatch.setenv("HEADS_DATA", str(tmp_path / "elsewhere"))
    with monkeypatch.context() as patch:
        patch.setattr(corpora.pairs.world, "splits", lambda *sizes: pytest.fail("a published text was generated"))
        assert {file.name: file.read_bytes() for file in corpora.prepare(text.spec).iterdir()} == before
    assert corpora.file(corpora.prepare(text.spec), "train").read_bytes() == train  # made for who trains


def test_an_archive_gives_no_other_run_than_it_has(made, tmp_path):
    model, put_out = made
    archives.publish({"one": [Need(put_out)]})
    entries = published.index()
    published.write_index(entries | {model.key: entries[put_out.key]})
    with pytest.raises(StudyError, match="other runs"):
        published.unpacked(model.key, tmp_path / "unpacked")


def test_natural_text_is_never_published(made, monkeypatch):
    text = study.Recipe(corpora.pairs.PAIRS, {"corpus": "natural", "language": "de", "register": "mine"})
    said = study.Recipe(study.kind("clusters"), {"corpus": {"corpus": "natural"}, "split": "test", "by": "rule"})
    trained = {"what": ONE_SENTENCE.name, "runs": [["model", {"start": {"corpus": text.spec}}]], "options": {}}
    shown = study.Recipe(study.kind("analysis"), trained)
    for recipe in (text, said, shown):
        assert not archives.publishable(recipe)
    assert archives._generated(corpora.recipe(made[0].spec["corpus"]).spec)
    assert archives.publishable(measured.FUNCTIONS.recipe(made[0]))
    monkeypatch.setattr(archives, "publishable", lambda recipe: recipe != made[0])
    archives.publish({"one": [Need(one) for one in made]})
    assert set(published.index()) & {one.key for one in made} == {made[1].key}


def test_weights_are_published_while_something_is_to_start_from_them(made):
    """So that what is made in several goes can go on elsewhere; then they are dropped."""
    model, _ = made
    other = outputs.recipe(model, 2)
    archives.publish({"other": [Need(other)]})
    assert set(published.index()[model.key]["parts"]) == {"results", "weights"} and other.key not in published.index()
    study.make(other)
    archives.publish({"tiny 02_x": [Need(other)]})
    assert other.key in published.index() and set(published.index()[model.key]["parts"]) == {"results"}
    assert len(list(published.folder().glob(f"*/{model.key}*"))) == 1
    table = contest.runs.TABLE.of({"start": model.spec, "few": 1, "votes": 9, "l1": {}})
    study.make(table, build=lambda spec, place: (place.results / "heads.csv").write_text("head\n"))
    for name, need in ((archives.OF_MODELS, model), ("06_do_measures_agree", table)):  # that the study is about, or measures
        archives.publish({f"tiny {name}": [Need(need)]})
        assert set(published.index()[model.key]["parts"]) == {"results", "weights"}
        archives.publish({"tiny 02_x": [Need(other)]})
    told = study.read_json(
        model.folder / "made.json"
    )  # another processor's training does not fit what came of the published one
    told["files"] = {file: "0" if file.startswith("weights/") else digest for file, digest in told["files"].items()}
    study.write_json(model.folder / "made.json", told)
    archives.publish({f"tiny {archives.OF_MODELS}": [Need(model)]})
    assert set(published.index()[model.key]["parts"]) == {"results"}


def test_what_notebooks_no_longer_read_is_dropped_and_too_much_changes_nothing(made, monkeypatch):
    model, put_out = made
    archives.publish({"one": [Need(put_out)]})
    with monkeypatch.context() as patch, pytest.raises(StudyError, match="MB"):
        patch.setattr(archives, "LIMIT", 1e-4)
        archives.publish({archives.OF_MODELS: [Need(model)]})
    text = corpora.recipe(model.spec["corpus"]).key
    assert set(published.index()) == {model.key, put_out.key, text}
    archives.publish({"one": [Need(model)]})
    assert set(published.index()) == {model.key, text}


def test_a_run_made_anew_is_the_published_one_to_the_last_digit(made):
    archives.publish({"one": [Need(recipe) for recipe in made]})
    table = archives.verify(2)
    assert len(table) == 2 and table.equal.all() and table.passed.all() and (table.hardware == "the same").all()


def test_a_run_that_comes_out_otherwise_is_told(made):
    model, _ = made
    losses = model.folder / "results" / "history.csv"
    losses.write_text(losses.read_text().replace("0.", "1."), encoding="utf-8")
    manifest = json.loads((model.folder / "made.json").read_text(encoding="utf-8"))
    manifest["files"]["results/history.csv"] = study.digest(losses)
    study.write_json(model.folder / "made.json", manifest)
    archives.publish({"one": [Need(recipe) for recipe in made]})
    table = archives.verify(2)
    assert not table.passed[model.key] and "history.csv" in table.note[model.key]


@pytest.mark.parametrize(
    ("name", "write", "near", "far"),
    [("history.csv", lambda path, x: pd.DataFrame({"loss": [2.0, x], "seconds": [x, x]}).to_csv(path), 1.01, 2.0),
     ("trace.npz", lambda path, x: np.savez(path, a=np.array([np.nan, *np.arange(1.0, 10.0) ** x])), 1.01, -1.0),
     ("value.json.gz", lambda path, x: values.write(path, {"a": pd.Series(np.arange(1.0, 10.0) ** x)}), 1.01, -1.0)],
)  # fmt: skip
def test_differences_are_told_from_times_and_small_ones_pass(tmp_path, name, write, near, far):
    folders = {x: tmp_path / str(x) for x in (1.0, near, far)}
    for x, folder in folders.items():
        folder.mkdir()
        write(folder / name, x)
        study.write_json(folder / "seconds.json", {"cp": x})
    assert archives.differences(folders[1.0], folders[1.0]) == {}
    assert archives.differences(folders[near], folders[1.0])[name][1]
    assert not archives.differences(folders[far], folders[1.0])[name][1]
