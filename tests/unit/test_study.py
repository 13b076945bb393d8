"""Code versions, files, what a user sees, the start of a run and what it says of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from helpers import study
from helpers.study import StudyError, published

# --- code versions ---------------------------------------------------------------------------------------------------

CODE = '''
"""Module."""

LIMIT = 3


class Thing:
    """Class."""

    def add(self, a, b):
        """Function."""
        # comment
        return a + b


def other():
    "Nothing else."
'''


@pytest.fixture
def version(tmp_path, monkeypatch):
    """Text of a module -> its code version."""
    monkeypatch.setattr(study.code, "ROOT", tmp_path)
    (tmp_path / "helpers" / "folder").mkdir(parents=True)

    def measure(text, *names):
        (tmp_path / "helpers" / "module.py").write_text(text, encoding="utf-8")
        (tmp_path / "helpers" / "folder" / "inner.py").write_text(text, encoding="utf-8")
        return study.code_version(*names or ["module"])

    return measure


def test_code_version_ignores_comments_docstrings_and_layout(version):
    same = (
        CODE.replace("# comment", "# other").replace("Function.", "A new text,\n        longer.").replace("a + b", "(a\n + b)")
    )
    same = same.replace('"""Module."""', "").replace('"""Class."""\n', "").replace('"Nothing else."', '"""Else."""')
    assert same != CODE
    assert version(same) == version(CODE)
    assert version(same, "folder") == version(CODE, "folder")


@pytest.mark.parametrize("change", [("a + b", "a - b"), ("LIMIT = 3", "LIMIT = 4"), ("def add", "def plus"), ("b):", "b=1):")])
def test_code_version_sees_code(version, change):
    assert version(CODE.replace(*change)) != version(CODE)
    assert version(CODE.replace(*change), "folder") != version(CODE, "folder")


def test_code_version_sees_a_corrected_word(version, tmp_path):
    table = tmp_path / "helpers" / "folder" / "nouns.tsv"
    table.write_text("key\tnoun\nman\tMann\n", encoding="utf-8")
    before = version(CODE, "folder")
    table.write_text("key\tnoun\nman\tMensch\n", encoding="utf-8")
    assert version(CODE, "folder") != before


# --- files -----------------------------------------------------------------------------------------------------------


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


def test_files_that_hold_no_json(tmp_path):
    for name, content in (("gone", None), ("cut", b'{"a": '), ("latin", '{"ä": 1}'.encode("latin1"))):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(StudyError, match=name):
            study.read_json(path)


@pytest.mark.parametrize(("asked", "gpu", "found"), [("", False, "cpu"), ("auto", False, "cpu"), ("auto", True, "cuda"),
                                                     ("cpu", True, "cpu"), ("cuda", True, "cuda")])  # fmt: skip
def test_the_device_is_as_asked_for(asked, gpu, found, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setenv("HEADS_DEVICE", asked)
    assert study.device() == found


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for name in ("cuda", "tpu"):
        monkeypatch.setenv("HEADS_DEVICE", name)
        with pytest.raises(StudyError, match="HEADS_DEVICE"):
            study.device()


def test_a_profile_says_where_numbers_are_computed_unless_a_user_does(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    study.use({"device": "cpu"})
    assert study.device() == "cpu"
    monkeypatch.setenv("HEADS_DEVICE", "cuda")
    study.use({"device": "cpu"})
    assert study.device() == "cuda"
    monkeypatch.setenv("HEADS_DEVICE", "")
    study.begin("01_x", {"profile": "tiny"})
    assert study.device() == study.settings("tiny")["device"] == "cpu"


def test_folders_follow_the_environment(tmp_path, monkeypatch):
    assert study.runs() == tmp_path / "runs"
    assert study.data() == tmp_path / "data"
    assert study.data_root() == ""
    for name in ("HEADS_RUNS", "HEADS_DATA"):
        monkeypatch.setenv(name, "")
    assert (study.runs(), study.data()) == (study.ROOT / "runs", study.ROOT / "data")


# --- what a user sees ------------------------------------------------------------------------------------------------


def test_one_sentence_ends_with_code_2(capsys):
    with pytest.raises(SystemExit) as caught, study.one_sentence():
        raise StudyError("Something is wrong: do this.")
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: Something is wrong: do this.\n"
    with pytest.raises(ZeroDivisionError), study.one_sentence():
        _ = 1 / 0


def test_commands_say_one_sentence(tmp_path):
    spec = tmp_path / "spec.json"
    spec.write_text('{"cut": ')
    command = [sys.executable, "-m", "helpers.plan", "--make", str(spec)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=study.ROOT)
    assert done.returncode == 2
    assert re.fullmatch(r"error: [^\n]*\.\n", done.stderr)
    assert str(spec) in done.stderr


def test_progress_in_lines(monkeypatch, capsys):
    monkeypatch.setenv("HEADS_PROGRESS", "lines")
    bar = study.progress(None, "training", 10)
    assert (bar.delay, bar.mininterval) == (10, 10)
    bar.update(5)
    assert capsys.readouterr().err == ""  # nothing before its time
    bar.refresh()
    bar.set_postfix_str("dev loss 1.0")
    bar.close()
    lines = capsys.readouterr().err
    assert "\r" not in lines
    assert all(re.match(r"training: +\d+%", line) for line in lines.splitlines())
    assert "dev loss 1.0" in lines
    assert lines.endswith("\n")


def test_progress_of_short_work_is_silent(capsys):
    assert list(study.progress(range(3), "short")) == [0, 1, 2]
    assert capsys.readouterr().err == ""


# --- begin -----------------------------------------------------------------------------------------------------------


def test_begin_takes_what_a_notebook_holds(tmp_path):
    namespace = {"__name__": "__main__", "_i1": "x = 1", "In": [""], "Out": {}, "study": study, "exit": exit, "profile": "tiny"}
    run = study.begin("01_x", namespace | {"overrides": "beam=3", "corpus": "natural"})
    assert (run.name, run.corpus, run.settings["beam"]) == ("01_x", "natural", 3)
    assert run.folder == tmp_path / "runs" / "tiny-natural"
    assert run.parameters == study.PARAMETERS | {"profile": "tiny", "overrides": "beam=3", "corpus": "natural"}
    assert study.begin("01_x", namespace | {"output": str(tmp_path / "here")}).folder == tmp_path / "here"
    assert time.time() - run.started < 60


@pytest.mark.parametrize("value", ["tiny", 1, 1.5, True, None, [1], {"a": 1}])
def test_unknown_parameter_is_an_error(value):
    with pytest.raises(StudyError, match="'profil'"):
        study.begin("01_x", {"profile": "tiny", "profil": value})


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [("seed", "1", "a whole number"), ("seed", 1.5, "a whole number"), ("seed", True, "a whole number"),
     ("profile", 3, "text"), ("corpus", 3, "text"), ("models", ["ru-news"], "text"), ("overrides", {"beam": 4}, "text"),
     ("overrides", None, "text"), ("output", 3, "text"), ("data_root", 1.0, "text"), ("pretrained", None, "text")],
)  # fmt: skip
def test_parameter_of_another_type(name, value, kind):
    with pytest.raises(StudyError, match=f"{name!r}.*{kind}"):
        study.begin("01_x", {"profile": "tiny", name: value})


@pytest.mark.parametrize(
    ("more", "said"),
    [({"corpus": "wmt"}, "wmt"), ({"profile": "big"}, "big"), ({"overrides": "stepz=3"}, "stepz"), ({"overrides": "x"}, "'x'")],
)
def test_begin_refuses(more, said):
    with pytest.raises(StudyError, match=said):
        study.begin("01_x", {"profile": "tiny"} | more)


def test_data_root_reaches_the_corpora(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study.begin("01_x", {"profile": "tiny", "data_root": "texts"})
    assert study.data_root() == str(tmp_path / "texts")


def test_summary_and_facts_say_what_the_run_is(tmp_path):
    run = study.begin("01_x", {"profile": "tiny", "seed": 3, "overrides": "beam=3", "output": str(tmp_path / "out")})
    text = run.summary()
    for part in ("profile tiny", "controlled corpus", "seed 3 (the first)", "overrides: beam=3", "torch "):
        assert part in text
    assert f"figures and tables in {os.path.relpath(tmp_path / 'out', study.ROOT)}" in text
    facts = run.facts(split="dev")
    assert facts["split"] == "dev"
    assert facts["run"] == "01_x/sidecars/run.json"
    assert json.loads((run.folder / facts["run"]).read_text())["settings"]["beam"] == 3
    assert facts["command"].startswith('papermill notebooks/01_x.ipynb out.ipynb -p profile "tiny"')
    assert facts["command"].endswith('-p seed 3 -p overrides "beam=3"')
    assert json.loads(json.dumps(facts)) == facts
    with pytest.raises(StudyError, match="'seeds'"):
        run.facts(seeds=3)


def test_tables_come_with_a_sidecar(tmp_path):
    import pandas as pd

    run = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    frame = pd.DataFrame({"a": [1.5]}, index=pd.Index(["x"], name="name"))
    assert run.table(frame, "numbers", split="dev") is frame
    assert (tmp_path / "out" / "01_x" / "tables" / "numbers.csv").read_text() == "name,a\nx,1.5\n"
    sidecar = json.loads((tmp_path / "out" / "01_x" / "sidecars" / "tables" / "numbers.json").read_text())
    assert {"table", "command", "run", "notebook", "split", "time", "commit", "hardware"} <= set(sidecar)


# --- provenance ------------------------------------------------------------------------------------------------------

CORPUS = {"corpus": "controlled", "language": "ru", "register": "news", "seed": 1}


def write(spec, place):
    study.write_text(place.results / "inner" / "a.txt", spec.get("text", "alpha"))


@pytest.fixture
def kinds(monkeypatch):
    """A text, and something that is no text."""
    monkeypatch.setattr(study.recipe, "KINDS", {})
    text = study.Kind("text", 3, write, text=True)
    return text, study.Kind("model", 2, write, lambda spec: [text.of(CORPUS)])


def shared(run):
    return json.loads(run.chapter.shared.read_text(encoding="utf-8"))


def test_a_sidecar_leads_to_everything_that_was_read(kinds, tmp_path):
    text, model = kinds
    study.make(text.of({"seed": 9}))  # by no run
    run = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    assert (run.facts()["data"], run.facts()["read"], run.facts()["seeds"]) == ({}, {}, [1])
    corpus = text.of(CORPUS)
    made = model.of({"seed": 2, "start": [{"seed": 5}]})
    assert corpus.results and made.results and corpus.results
    facts = run.facts()
    assert facts["read"] == {"text": 1, "model": 1}
    assert facts["seeds"] == [1, 2, 5]
    first, second = shared(run)["read"]
    assert (first["kind"], first["key"], first["seeds"], first["version"]) == ("text", corpus.key, [1], 3)
    assert (second["kind"], second["key"], second["seeds"], second["version"]) == ("model", made.key, [2, 5], 2)
    assert first["files"] == {"results/inner/a.txt": study.digest(corpus.results / "inner" / "a.txt")}
    assert first["spec"] == CORPUS and "spec" not in second
    assert facts["data"] == {f"text ru news {corpus.key}": first["sha256"]}
    assert first["sha256"] == second["sha256"]  # of the same files
    other = text.of({"seed": 3, "text": "other"})
    assert other.results and run.facts()["data"][f"text {other.key}"] != first["sha256"]
    assert text.of({"seed": 9}).results  # was there before the run
    assert run.facts()["seeds"] == [1, 2, 3, 5, 9] and len(run.facts()["data"]) == 3
    assert {"settings", "commit", "code", "libraries", "hardware", "threads"} <= set(shared(run))
    assert shared(run)["started"] == facts["started"]


def test_a_sidecar_says_what_was_published(kinds, tmp_path, monkeypatch):
    _, model = kinds
    made = model.of({"seed": 2})
    published.write_index({made.key: published.pack(study.make(made), False)})
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "other"))
    run = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    assert made.results and [thing["published"] for thing in run.read()] == [True]


def test_what_one_run_read_is_no_other_runs(kinds, tmp_path):
    one = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    study.make(kinds[0].of(CORPUS))
    other = study.begin("02_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    assert (len(one.read()), len(other.read())) == (1, 0)


def test_sidecars_hold_no_path_of_the_machine(kinds, tmp_path):
    given = {"profile": "tiny", "data_root": str(tmp_path / "texts"), "pretrained": f"{tmp_path}/models/marian",
             "parser": f"{tmp_path}/parses/dev.conllu", "overrides": f"grouping.language.text={tmp_path}/novels beam=2",
             "output": str(tmp_path / "out")}  # fmt: skip
    run = study.begin("01_x", given)
    study.make(kinds[0].of({"parser": given["parser"], "corpus": "facebook/bart-large"}))
    facts = run.facts()
    assert str(tmp_path) not in json.dumps(facts) + json.dumps(shared(run))
    assert facts["command"] == (
        'papermill notebooks/01_x.ipynb out.ipynb -p profile "tiny" -p pretrained "marian" -p data_root "texts" '
        '-p parser "dev.conllu" -p seed 1 -p overrides "grouping.language.text=novels beam=2"'
    )
    assert shared(run)["read"][0]["spec"] == {"parser": "dev.conllu", "corpus": "facebook/bart-large"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/a/b/c", "c"), ("~/b", "b"), ("a/b", "a/b"), ("x=/a/b y=c/d", "x=b y=c/d"), ('z=["/a/b","d"]', 'z=["b","d"]'),
     ("stored:/a/b.tar:c/d", "stored:b.tar:c/d"), ("1/2", "1/2"), ("/", "/")],
)  # fmt: skip
def test_paths_are_shown_by_their_last_part(text, shown):
    assert study.portable({"a": [text, 1]}) == {"a": [shown, 1]}


def test_figures_have_words_and_times_since_the_start_and_the_last_one(tmp_path, monkeypatch):
    from matplotlib import pyplot

    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    run = study.begin("01_x", {"profile": "tiny", "output": str(tmp_path / "out")})
    run.started -= 100
    run._last -= 60
    for name in ("one", "two"):
        run.figure(pyplot.figure(figsize=(1, 1)), name, caption=f"It shows {name}.")
    assert [image.alt for image in shown] == ["It shows one.", "It shows two."]
    one, two = (json.loads(run.chapter.sidecar(name).read_text())["seconds"] for name in ("one", "two"))
    assert 60 <= one["since the last figure"] < 90 and 0 <= two["since the last figure"] < 30
    assert 100 <= one["since the start"] <= two["since the start"] < 130


def test_libraries_hardware_and_threads():
    import torch

    facts = study.provenance()
    for name in ("torch", "numpy", "pandas", "scipy", "matplotlib", "datasets"):
        assert facts["libraries"][name]
    assert facts["threads"] == torch.get_num_threads() and "cores" in facts["hardware"]
