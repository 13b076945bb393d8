"""Files, what a user sees, the start of a run and what it says of itself."""

from __future__ import annotations

import itertools
import json
import linecache
import os
import re
import subprocess

import pandas as pd
import pytest

from helpers import study
from helpers.study import StudyError, recipe


def test_write_text_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "new" / "a.txt"
    study.write_text(path, "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    with pytest.raises(UnicodeEncodeError):
        study.write_text(path, "x" * 10_000 + "\ud800")
    assert path.read_text(encoding="utf-8") == "ä\n"

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        study.write_json(path, {"a": 1})
    assert path.read_text(encoding="utf-8") == "ä\n" and list(path.parent.iterdir()) == [path]


def test_other_models_or_seeds_do_not_write_over_the_study(tmp_path):
    given = [{}, {"models": "ru-news"}, {"models": "de-news"}, {"seed": 2}, {"overrides": "beam=3"}, {"pretrained": "x"}]
    folders = [study.begin("01_x", {"profile": "tiny"} | one).folder for one in given]
    assert folders[0] == tmp_path / "runs" / "tiny-controlled" and len({*folders}) == len(given)
    assert all(study.layout.track(folder) == "controlled" and folder.parent == folders[0].parent for folder in folders)
    assert study.begin("02_x", {"profile": "tiny", "seed": 2}).folder == folders[3]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"profil": "tiny"}, "'profil'"), ({"seed": "1"}, "'seed'.*whole"), ({"models": ["ru-news"]}, "'models'.*text"),
     ({"corpus": "wmt"}, "wmt"), ({"profile": "big"}, "big"), ({"overrides": "stepz=3"}, "stepz")],
)  # fmt: skip
def test_begin_refuses(given, said):
    with pytest.raises(StudyError, match=said):
        study.begin("01_x", {"profile": "tiny"} | given)


CORPUS = {"corpus": "controlled", "language": "ru", "register": "news", "seed": 1}


def write(spec, place):
    study.write_text(place.results / "inner" / "a.txt", "alpha")


@pytest.fixture
def kinds(monkeypatch):
    """A text, and something that is no text."""
    monkeypatch.setattr(study.recipe, "KINDS", {})
    text = study.Kind("text", 3, write, text=True)
    return text, study.Kind("model", 2, write, lambda spec: [text.of(CORPUS)])


def shared(run):
    return study.read_json(run.chapter.shared)


def test_a_sidecar_leads_to_everything_that_was_read(kinds, tmp_path):
    text, model = kinds
    study.make(text.of({"seed": 9}))  # by no run
    run = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    corpus, made = text.of(CORPUS), model.of({"seed": 2, "start": [{"seed": 5}]})
    assert corpus.results and made.results and corpus.results
    facts = run.facts()
    assert facts["seeds"] == [1, 2, 5]
    first, second = shared(run)["read"]
    assert (first["key"], first["seeds"], first["version"]) == (corpus.key, [1], 3)
    assert (second["key"], second["seeds"], second["version"]) == (made.key, [2, 5], 2)
    assert first["files"] == {"results/inner/a.txt": study.digest(corpus.results / "inner" / "a.txt")}
    assert text.of({"seed": 9}).results  # was there before the run
    assert run.facts()["seeds"] == [1, 2, 5, 9]
    assert study.begin("02_x", {"profile": "tiny", "output": str(tmp_path / "out")}).read() == []


def test_sidecars_hold_no_path_of_the_machine(kinds, tmp_path):
    given = {"profile": "tiny", "data_root": str(tmp_path / "texts"), "pretrained": f"{tmp_path}/models/marian",
             "parser": f"{tmp_path}/parses/dev.conllu", "overrides": f"grouping.language.text={tmp_path}/novels beam=2",
             "output": str(tmp_path / "out")}  # fmt: skip
    run = study.begin("01_x", given)
    study.make(kinds[0].of({"parser": given["parser"], "corpus": "facebook/bart-large"}))
    facts = run.facts()
    assert str(tmp_path) not in json.dumps(facts) + json.dumps(shared(run))
    assert '-p parser "dev.conllu" -p seed 1 -p overrides "grouping.language.text=novels beam=2"' in facts["command"]
    assert shared(run)["read"][0]["spec"] == {"parser": "dev.conllu", "corpus": "facebook/bart-large"}


def test_what_is_said_of_the_code_leaves_the_index_of_git_alone(tmp_path, monkeypatch):
    """Else a process that is killed, or out of room, while it says so would leave a lock there."""
    asked = study.provenance.__globals__
    monkeypatch.setitem(asked, "ROOT", tmp_path)
    monkeypatch.setitem(asked, "_loaded", asked["_loaded"].__wrapped__)  # else it is asked once in a process
    study.write_text(tmp_path / "helpers" / "a.py", "a = 1\n")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a commit -qm a"):
        subprocess.run(["git", "-C", tmp_path, *command.split()], check=True)
    os.utime(tmp_path / "helpers" / "a.py", (0, 0))  # what git would write down
    before = (tmp_path / ".git" / "index").read_bytes()
    assert re.fullmatch(r"[0-9a-f]{12}", study.provenance()["commit"])
    assert (tmp_path / ".git" / "index").read_bytes() == before
    study.write_text(tmp_path / "helpers" / "a.py", "a = 2\n")
    assert study.provenance()["commit"].endswith("+changes")


SCORES = """
def scores(first, factor):
    return pd.DataFrame({"x": [first, factor * first]})
"""


def defined(tmp_path, text):
    """The function `scores` of a text, as a notebook's cell defines it."""
    path = tmp_path / f"cell_{len(text)}.py"
    study.write_text(path, text)
    space = {"pd": pd, "ran": itertools.count(), "offset": 0, "twice": lambda x: 2 * x, "seed": 1, "__name__": "__main__"}
    space["twice"].__module__ = "__main__"
    exec(compile(text.replace("    return", "    next(ran)\n    return"), str(path), "exec"), space)
    linecache.cache[str(path)] = (len(text), None, text.splitlines(True), str(path))
    return space["scores"], space["ran"]


def test_what_a_cell_made_is_read_again_until_its_code_or_arguments_change(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(recipe.published, "offers", lambda *_: False)
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path / "out")})
    first, ran = defined(tmp_path, SCORES)
    assert [run.stored(first, first=2, factor=3).x.tolist() for _ in range(2)] == [[2, 6]] * 2 and next(ran) == 1
    assert run.stored(first, first=2, factor=4).x.tolist() == [2, 8] and next(ran) == 3
    other, ran = defined(tmp_path, SCORES.replace("factor * first", "first + factor"))
    assert run.stored(other, first=2, factor=3).x.tolist() == [2, 5] and next(ran) == 1
    assert [thing["kind"] for thing in run.read()] == ["cell"] * 3
    made = study.at(tmp_path / "runs" / "cell" / run.read()[0]["key"])
    assert made.key == run.read()[0]["key"] and "def scores" in made.spec["code"]  # the key follows from the manifest
    with pytest.raises(StudyError, match="run 03_l0_pruning"):
        made.kind.build(made.spec, None)
    elsewhere = study.begin("03_l0_pruning", {"profile": "tiny", "pretrained": "other", "output": str(tmp_path / "out")})
    assert elsewhere.stored(other, first=2, factor=3).x.tolist() == [2, 5] and next(ran) == 3  # it may be of another model


def test_a_cell_uses_no_value_that_is_not_an_argument(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path / "out")})
    for text, name in (("[offset + first, factor]", "offset"), ("[first for _ in [twice(factor)]]", "twice")):
        loose, _ = defined(tmp_path, SCORES.replace("[first, factor * first]", text))
        with pytest.raises(StudyError, match=f"'{name}'.* argument"):
            run.stored(loose, first=2, factor=3)
    known, _ = defined(tmp_path, SCORES.replace("[first, factor * first]", "[first, seed]"))
    assert run.stored(known, first=2, factor=3).x.tolist() == [2, 1]  # a parameter as the run began with it
