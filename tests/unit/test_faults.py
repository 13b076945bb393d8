"""What goes wrong outside the study: full disks, cut files, kills, two runs at once, dying kernels, an unreachable Hub."""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

from helpers import study, subjects, training
from workflow import faults

CHECKPOINT, MODEL = 850_000, 280_000  # bytes, roughly


@pytest.fixture(autouse=True)
def no_bars_left():
    """Bars of trainings that ended early are open until they are collected, and would move those of later tests."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def spec():
    settings = study.settings(
        "tiny", {"train": 60, "dev": 8, "test": 4, "vocabulary": 120, "training.batch_tokens": 256, "training.steps": 20,
                 "training.evaluate_every": 10},
    )  # fmt: skip
    return subjects.spec(settings, "de-subtitles", 1)


@pytest.fixture(scope="module")
def weights(spec):
    """Digest of the weights that an undisturbed run gives."""
    return study.digest(training.trained(spec) / "model.safetensors")


def train(spec, folder):
    """Train by the command, in this process."""
    path = folder / "spec.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    training.main([str(path)])


def refused(capsys, spec, folder):
    """The one sentence in which the command ends."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        train(spec, folder)
    said = without_bars(capsys.readouterr().err)
    assert caught.value.code == 2
    assert re.fullmatch(r"error: [^\n]*\.", said), said
    return said


def without_bars(said):
    """What is left of stderr without progress bars, which show where the machine is slow."""
    lines = re.split(r"[\r\n]+|\x1b\[A|(?=error: )", said)  # the sentence may stand right behind a bar
    return "\n".join(line for line in lines if line.strip() and "%|" not in line)


def scratch(folder):
    """What lies under a scratch name."""
    return list(folder.rglob(".*"))


def check(spec, weights):
    """The store holds the model, whole and equal to the undisturbed one, and no checkpoint of it."""
    place = training.place(spec)
    assert study.made(place)
    assert study.digest(place / "model.safetensors") == weights
    assert not (study.runs() / "work" / place.name / "checkpoint.pt").exists()


# --- full disks ------------------------------------------------------------------------------------------------------


@contextmanager
def files_up_to(size):
    """No file can grow beyond so many bytes: writing fails as on a full disk, with another number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def tmpfs(folder, size):
    """A disk of so many bytes."""
    folder.mkdir()
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # a file that was being written may still be open


@pytest.mark.parametrize(("what", "size"), [("checkpoint", CHECKPOINT // 2), ("model", MODEL // 2), ("corpus", 2000)])
def test_no_room_for_a_file(what, size, spec, weights, tmp_path, capsys, monkeypatch):
    if what == "checkpoint":
        monkeypatch.setattr(training, "SAVE_EVERY", 0)
    if what != "corpus":
        training.corpora.prepare(spec["corpus"])
    with files_up_to(size):
        said = refused(capsys, spec, tmp_path)
    assert str(study.data() if what == "corpus" else study.runs()) in said
    assert re.search(r"no room|full", said) and "free" in said
    assert not scratch(study.runs()) and not scratch(study.data())
    train(spec, tmp_path)
    check(spec, weights)


@pytest.mark.parametrize(("what", "size"), [("checkpoint", CHECKPOINT // 2), ("second checkpoint", CHECKPOINT * 3 // 2),
                                            ("model", MODEL // 2)])  # fmt: skip
def test_a_full_disk(what, size, spec, weights, tmp_path, capsys, monkeypatch):
    if what != "model":
        monkeypatch.setattr(training, "SAVE_EVERY", 0)
    disk = tmp_path / "disk"
    monkeypatch.setenv("HEADS_RUNS", str(disk))
    with tmpfs(disk, size):
        for _ in range(2):  # the second time as the first: nothing piles up
            said = refused(capsys, spec, tmp_path)
            assert str(disk) in said
            assert re.search(r"no room|full", said) and "free" in said
            assert not scratch(disk)
            assert not study.made(training.place(spec))
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        train(spec, tmp_path)
        check(spec, weights)


# --- damaged files ---------------------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


@pytest.mark.parametrize("size", [0, CHECKPOINT // 2])
def test_a_checkpoint_cut_short(size, spec, weights, tmp_path, capsys, monkeypatch):
    def stop(*_):
        raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(training, "SAVE_EVERY", 0)
        patch.setattr(training, "_evaluate", stop)
        train(spec, tmp_path)
    path = study.runs() / "work" / study.key(spec) / "checkpoint.pt"
    os.truncate(path, size)
    for _ in range(2):
        assert re.search(rf"The checkpoint {path} cannot be read \(.*\): delete it", refused(capsys, spec, tmp_path))
    path.unlink()
    train(spec, tmp_path)
    check(spec, weights)


@pytest.mark.parametrize(("name", "size"), [("made.json", 100), ("model.safetensors", 100), ("config.json", 0)])
def test_a_stored_file_cut_short(name, size, spec, weights, tmp_path, capsys):
    place = training.trained(spec)
    os.truncate(place / name, size)
    for _ in range(2):
        said = refused(capsys, spec, tmp_path)
        assert said == f"error: The stored file {place / name} is damaged: delete the folder {place} to make it anew."
    shutil.rmtree(place)
    train(spec, tmp_path)
    check(spec, weights)


def test_a_corpus_cut_short(spec, weights, tmp_path, capsys):
    place = training.corpora.prepare(spec["corpus"])
    os.truncate(place / "train.jsonl", 100)
    assert f"{place / 'train.jsonl'} is damaged: delete the folder {place} to" in refused(capsys, spec, tmp_path)
    shutil.rmtree(place)
    train(spec, tmp_path)
    check(spec, weights)


# --- two runs at once ------------------------------------------------------------------------------------------------


def two(spec, folder):
    """Two processes that begin to train the same model, with a checkpoint after every step."""
    path = folder / "spec.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    code = f"from helpers import training; training.SAVE_EVERY = 0; training.main([{str(path)!r}, '--threads', '1'])"
    command = [sys.executable, "-c", code]
    return [
        subprocess.Popen(command, cwd=study.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]


def test_two_runs_at_once(spec, weights, tmp_path):
    for process in (runs := two(spec, tmp_path)):
        out, err = process.communicate(timeout=300)
        assert (process.returncode, without_bars(err)) == (0, "")
        assert out.strip() == str(training.place(spec))
    assert len(runs) == 2
    check(spec, weights)
    assert not scratch(study.runs()) and not scratch(study.data())
    assert [path.name for path in (study.runs() / "models").iterdir()] == [study.key(spec)]


def test_two_runs_at_once_of_which_one_is_killed(spec, weights, tmp_path):
    longer = spec | {"training": spec["training"] | {"steps": 60}}
    killed, survivor = two(longer, tmp_path)
    place = training.place(longer)
    both = [place.with_name(f".{place.name}.{process.pid}") for process in (killed, survivor)]
    while not all(folder.exists() for folder in both) and killed.poll() is None is survivor.poll():
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    _, err = survivor.communicate(timeout=300)
    assert (killed.returncode, survivor.returncode, without_bars(err)) == (-signal.SIGKILL, 0, "")
    assert set(scratch(study.runs() / "models")) <= {both[0]}
    found = study.digest(place / "model.safetensors")
    shutil.rmtree(study.runs())
    assert found == study.digest(training.trained(longer) / "model.safetensors") != weights


def test_a_checkpoint_that_another_run_removes_while_it_is_opened(spec, weights, tmp_path, monkeypatch):
    path = study.runs() / "work" / study.key(spec) / "checkpoint.pt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    resume = training._resume

    def late(*given):
        path.unlink()  # as `trained` does in the other process
        resume(*given)

    monkeypatch.setattr(training, "_resume", late)
    train(spec, tmp_path)
    check(spec, weights)


# --- a kernel that dies ----------------------------------------------------------------------------------------------


def notebook_line(notebook, log, result):
    """The shell line of the workflow's rule that runs a notebook."""
    rule = (study.ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8").partition("rule notebook:")[2]
    line = "".join(re.findall(r'^ +"(.*)"$', rule.partition("shell:")[2], re.MULTILINE))
    given = {"PROFILE": "tiny", "CHOICE": "", "MODELS": "de-news", "SEED": 1, "input": [notebook], "output": result}
    return line.format(sys=sys, params=argparse.Namespace(log=log, overrides=""), **given)


def test_a_kernel_that_dies_leaves_no_executed_notebook(tmp_path):
    cells = [
        'profile = corpus = models = overrides = ""\nseed = 0',
        "import os",
        "os.path.exists('go') or os.kill(os.getpid(), 9)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "a.ipynb")
    result = tmp_path / "run" / "a.ipynb"
    line = notebook_line("a.ipynb", tmp_path / "run" / "logs" / "a.ipynb", result)
    command = ["bash", "-euo", "pipefail", "-c", line]  # as the workflow calls it
    died = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert died.returncode != 0 and "DeadKernelError" in died.stderr, died.stderr
    assert not result.exists()
    (tmp_path / "go").touch()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    ran = nbformat.read(result, 4).cells
    assert ran[-1].outputs[0].data["text/plain"] == "True"
    assert 'models = "de-news"' in ran[1].source


# --- a Hub that cannot be reached ------------------------------------------------------------------------------------


def test_what_is_not_in_the_cache_and_the_hub_cannot_be_reached(tmp_path):
    code = """
        from helpers import corpora, models, study
        from helpers.corpora import dialogues, texts

        settings = study.settings("paper")
        sizes = {name: settings["coreference"]["summarization"][name] for name in texts.SIZES}
        for attempt in (
            lambda: corpora.prepare(corpora.spec(settings, "de", "wmt", 1)),
            lambda: corpora.prepare(texts.spec(sizes, "cnn_dailymail", 1)),
            lambda: corpora.prepare(dialogues.spec(sizes, "samsum-hub", 1)),
            lambda: models.load("Helsinki-NLP/opus-mt-en-de"),
            lambda: models.load_tokenizer("facebook/bart-large"),
        ):
            try:
                with study.one_sentence():
                    attempt()
            except SystemExit as end:
                assert end.code == 2
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=study.ROOT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"HF_HOME": str(tmp_path / "empty"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = without_bars(done.stderr).splitlines()
    names = ("wmt/wmt14", "cnn_dailymail", "samsum", "Helsinki-NLP/opus-mt-en-de", "facebook/bart-large")
    for line, name in zip(lines, names, strict=True):
        assert re.fullmatch(r"error: .*: .*\.", line) and name in line
    assert not scratch(study.data())


# --- killing the study -----------------------------------------------------------------------------------------------


def test_all_processes_of_a_start_are_killed(tmp_path):
    command = ["bash", "-c", "(setsid sleep 60 &); sleep 60 | cat"]  # an orphan of another session among them
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        ended = faults.start(command, {"FOR": "this"}, tmp_path / "log.txt", 1.5)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert ended["code"] is None and ended["seconds"] >= 1.5 and ended["complaints"] == []
    assert sorted(command[0] for command in ended["killed"].values()) == ["bash", "cat", "sleep", "sleep"]
    alive = [process.pid for process in faults.psutil.process_iter() if process.status() != faults.psutil.STATUS_ZOMBIE]
    assert not set(alive) & set(ended["killed"])


def test_a_start_that_ends_by_itself(tmp_path):
    lines = "Traceback (most recent call last):", "  ValueError: bad: worse", "error: No room.", "0 errors, all well: go on"
    ended = faults.start(["bash", "-c", f"printf '{chr(10).join(lines)}\\n' >&2; exit 3"], {}, tmp_path / "logs" / "1.txt", 60)
    assert ended["code"] == 3 and not ended["killed"]
    assert ended["complaints"] == [line.strip() for line in lines[:3]]


def test_rules_of_command_lines():
    commands = (
        ["python", "-m", "helpers.methods.pruning_jobs", "a.json"],
        ["python", "-m", "papermill", "notebooks/02_b.ipynb", "c"],
    )
    assert faults.rules([*commands, ["bash", "-c", "python -m helpers.training"], []]) == ["notebook 02_b", "pruning"]
    assert faults.rules([["make", "study"]]) == []


def thing(store, kind, number):
    return study.make(store, kind, {"n": number}, lambda folder: (folder / "a.txt").write_text(f"{kind} {number}"))


def test_fill_links_what_is_finished(tmp_path):
    store, other = tmp_path / "store", tmp_path / "other"
    models = [thing(store, "models", n) for n in range(2)]
    pruned = thing(store, "pruned", 0)
    (store / "models" / ".half.12").mkdir()
    (store / "models" / ".half.12" / "made.json").write_text("{}")
    study.write_text(store / "stamps" / "model-1", "")
    assert faults.fill(store, other, ["pruned", models[1].name]) == {"models": 1}
    assert sorted(path.name for path in other.rglob("*") if path.is_file()) == ["a.txt", "made.json"]
    assert (other / "models" / models[0].name / "a.txt").samefile(models[0] / "a.txt")
    assert study.made(other / "models" / models[0].name)
    assert faults.fill(store, tmp_path / "all", [""]) == {"models": 2, "pruned": 1} and study.made(pruned)


def test_differences_name_the_cell_and_leave_out_speeds(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    study.write_text(one / "a.csv", "row,rate,ratio,low,high,heads\nx,1.0,1.0,1,1,4\ny,2.0,2.0,1,3,2\n")
    study.write_text(two / "a.csv", "row,rate,ratio,low,high,heads\nx,1.5,1.0,1,1,4\ny,2.5,1.7,1,4,2\n")
    study.write_text(one / "b.csv", "row,value,low\nx,1.0,1\n")
    study.write_text(two / "b.csv", "row,value,low\nx,1.0000000000000002,1\n")
    assert faults.differences(one, two) == [], "the last digit of a sum does not count"
    assert faults.rows(one / "a.csv") == ([["row", "heads"], ["x", "4"], ["y", "2"]], ["high", "low", "rate", "ratio"])
    study.write_text(two / "a.csv", "row,rate,ratio,low,high,heads\nx,1.5,1.0,1,1,4\ny,2.5,1.7,1,4,3\n")
    study.write_text(two / "b.csv", "row,value,low\nx,1.000001,2\n")
    study.write_text(two / "c.csv", "row\n")
    assert faults.differences(one, two) == [
        "a.csv, row 2, 'heads': 2 became 3", "b.csv, row 1, 'value': 1.0 became 1.000001", "b.csv, row 1, 'low': 1 became 2",
        f"c.csv: only in {two}",
    ]  # fmt: skip
    study.write_text(two / "b.csv", "row,value,low\n")
    assert "b.csv: 2 rows of 3 columns became 1 of 3" in faults.differences(one, two)


TOY = """
study:
	@mkdir -p $(HEADS_RUNS) && echo start >> $(HEADS_RUNS)/starts
	@{python} -c 'import os, pathlib, time; \\
	runs = pathlib.Path(os.environ["HEADS_RUNS"]); \\
	work = runs / "work"; work.mkdir(parents=True, exist_ok=True); \\
	[(time.sleep(0.1), (work / str(n)).touch()) for n in range(20) if not (work / str(n)).exists()]; \\
	tables = runs / "tiny-controlled" / "tables"; tables.mkdir(parents=True, exist_ok=True); \\
	(tables / "a.csv").write_text("n,value\\n0,{value}\\n")'
"""


@pytest.mark.parametrize(("value", "passed"), [(1, True), (2, False)])
def test_a_study_is_killed_and_started_until_it_is_done(value, passed, tmp_path, monkeypatch):
    (tmp_path / "Makefile").write_text(TOY.format(python=sys.executable, value=value))
    monkeypatch.setattr(study, "ROOT", tmp_path)
    reference = tmp_path / "whole" / "tiny-controlled"
    study.write_text(reference / "tables" / "a.csv", "n,value\n0,1\n")
    chosen = argparse.Namespace(
        profile="tiny", set="", only="", cores="1", kills=4, mean=0.4, draw="uniform", seed=1, reference=reference,
        scratch=tmp_path / "scratch", without="all",
    )  # fmt: skip
    report = faults.disturb(chosen)
    assert len(report["kills"]) == 4 and len(report["starts"]) == 5 and report["done"] == 1
    assert (tmp_path / "scratch" / "runs" / "starts").read_text().count("start") > 1  # each goes on where the last one was
    assert report["starts"][-1]["code"] == 0 and report["tables"] == ["a.csv"]
    assert report["differences"] == [] if passed else report["differences"] == ["a.csv, row 1, 'value': 1 became 2"]
    assert report["passed"] == passed
    with pytest.raises(study.StudyError, match="is not empty: name another one"):
        faults.disturb(chosen)


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"without": "modles"}, "no kind or key 'modles'"), ({"reference": Path("/nowhere")}, "There are no tables in /nowhere")],
)
def test_what_cannot_be_compared_is_refused(changed, said, tmp_path):
    study.write_text(tmp_path / "run" / "tables" / "a.csv", "n\n")
    given = {"profile": "tiny", "set": "", "reference": tmp_path / "run", "scratch": tmp_path / "scratch", "without": ""}
    with pytest.raises(study.StudyError, match=said):
        faults.disturb(argparse.Namespace(**given | changed))
    assert not (tmp_path / "scratch").exists()
