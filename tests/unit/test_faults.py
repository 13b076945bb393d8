"""What goes wrong outside the study: a dying kernel, an unreachable Hub; and the tool that kills the whole study.

What the store does about full disks, cut files, kills and two runs at once is held in `test_recipe`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest

from helpers import study
from helpers.study import published
from workflow import faults


def without_bars(said):
    """What is left of stderr without progress bars, which show where the machine is slow."""
    lines = re.split(r"[\r\n]+|\x1b\[A|(?=error: )", said)  # the sentence may stand right behind a bar
    return "\n".join(line for line in lines if line.strip() and "%|" not in line)


def scratch(folder):
    """What lies under a scratch name."""
    return list(folder.rglob(".*"))


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


def test_fill_links_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(study.recipe, "KINDS", {})

    def write(spec, place):
        study.write_text(place.results / "a.txt", str(spec))
        study.write_text(place.weights / "b.txt", str(spec))

    model, pruned = (study.Kind(name, 1, write) for name in ("model", "pruned"))
    models = [model.of({"n": n}) for n in range(3)]
    for made in (*models, pruned.of({"n": 0})):
        study.make(made)
    store, other = study.runs(), tmp_path / "other"
    published.write_index({models[0].key: published.pack(models[0].folder, True)})
    shutil.rmtree(models[0].folder)
    assert models[0].weights  # unpacked
    study.write_text(store / "model" / ".half.12" / "made.json", "{}")
    study.write_text(store / "stamps" / "model-1", "")
    assert faults.fill(store, other, ["pruned", models[1].key]) == {"model": 2}
    assert sorted(path.name for path in other.rglob("*.*") if path.is_file()) == sorted(2 * ["a.txt", "b.txt", "made.json"])
    assert (other / "model" / models[0].key / "results" / "a.txt").samefile(models[0].results / "a.txt")
    assert faults.fill(store, tmp_path / "all", [""]) == {"model": 3, "pruned": 1}
    assert study.read_spec(models[0].folder / "made.json")["published"]
    monkeypatch.setenv("HEADS_RUNS", str(other))
    monkeypatch.setenv("HEADS_FRESH", "1")
    assert [made.made(weights=True) for made in models] == [True, False, True]
    assert models[0].weights.is_relative_to(other)


def test_what_killed_processes_were_making(tmp_path):
    for path in ("runs/pruned/.aa.12/results/a", "runs/removed at once/.bb.13/a", "data/pairs/.cc.12/results/a",
                 "runs/pruned/.dd.14/a", "runs/model/ee/results/a", "runs/work/aa/checkpoint.pt"):  # fmt: skip
        study.write_text(tmp_path / path, "a")
    assert faults.building(tmp_path, [12, 13]) == (["pairs/cc", "pruned/aa", "removed at once/bb"], ["pruned/aa"])
    assert len(faults.rubbish(tmp_path)) == 4


def test_differences_name_the_cell_and_leave_out_speeds(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    study.write_text(one / "x" / "tables" / "a.csv", "row,rate,ratio,low,high,heads\nx,1.0,1.0,1,1,4\ny,2.0,2.0,1,3,2\n")
    study.write_text(two / "x" / "tables" / "a.csv", "row,rate,ratio,low,high,heads\nx,1.5,1.0,1,1,4\ny,2.5,1.7,1,4,2\n")
    study.write_text(one / "x" / "tables" / "b.csv", "row,value,low\nx,1.0,1\n")
    study.write_text(two / "x" / "tables" / "b.csv", "row,value,low\nx,1.0000000000000002,1\n")
    assert faults.differences(one, two) == [], "the last digit of a sum does not count"
    assert faults.rows(one / "x" / "tables" / "a.csv") == (
        [["row", "heads"], ["x", "4"], ["y", "2"]],
        ["high", "low", "rate", "ratio"],
    )
    study.write_text(two / "x" / "tables" / "a.csv", "row,rate,ratio,low,high,heads\nx,1.5,1.0,1,1,4\ny,2.5,1.7,1,4,3\n")
    study.write_text(two / "x" / "tables" / "b.csv", "row,value,low\nx,1.000001,2\n")
    study.write_text(two / "y" / "tables" / "c.csv", "row\n")
    assert faults.differences(one, two) == [
        "x/tables/a.csv, row 2, 'heads': 2 became 3",
        "x/tables/b.csv, row 1, 'value': 1.0 became 1.000001",
        "x/tables/b.csv, row 1, 'low': 1 became 2",
        f"y/tables/c.csv: only in {two}",
    ]
    study.write_text(two / "x" / "tables" / "b.csv", "row,value,low\n")
    assert "x/tables/b.csv: 2 rows of 3 columns became 1 of 3" in faults.differences(one, two)


TOY = """
study:
	@mkdir -p $(HEADS_RUNS) && echo start >> $(HEADS_RUNS)/starts
	@{python} -c 'import os, pathlib, time; \\
	runs = pathlib.Path(os.environ["HEADS_RUNS"]); \\
	work = runs / "work"; work.mkdir(parents=True, exist_ok=True); \\
	[(time.sleep(0.1), (work / str(n)).touch()) for n in range(20) if not (work / str(n)).exists()]; \\
	tables = runs / "tiny-controlled" / "01_x" / "tables"; tables.mkdir(parents=True, exist_ok=True); \\
	(tables / "a.csv").write_text("n,value\\n0,{value}\\n")'
"""


@pytest.mark.parametrize(("value", "passed"), [(1, True), (2, False)])
def test_a_study_is_killed_and_started_until_it_is_done(value, passed, tmp_path, monkeypatch):
    (tmp_path / "Makefile").write_text(TOY.format(python=sys.executable, value=value))
    monkeypatch.setattr(study, "ROOT", tmp_path)
    reference = tmp_path / "whole" / "tiny-controlled"
    study.write_text(reference / "01_x" / "tables" / "a.csv", "n,value\n0,1\n")
    chosen = argparse.Namespace(
        profile="tiny", set="", only="", cores="1", kills=4, mean=0.4, draw="uniform", seed=1, reference=reference,
        scratch=tmp_path / "scratch", without="all",
    )  # fmt: skip
    report = faults.disturb(chosen)
    assert len(report["kills"]) == 4 and len(report["starts"]) == 5 and report["done"] == 1
    assert (tmp_path / "scratch" / "runs" / "starts").read_text().count("start") > 1  # each goes on where the last one was
    assert report["starts"][-1]["code"] == 0 and report["tables"] == ["01_x/tables/a.csv"]
    assert report["differences"] == [] if passed else report["differences"] == ["01_x/tables/a.csv, row 1, 'value': 1 became 2"]
    assert report["passed"] == passed and "FRESH=1" in report["command"]
    with pytest.raises(study.StudyError, match="is not empty: name another one"):
        faults.disturb(chosen)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"without": "modles"}, "no kind or key 'modles'"),
        ({"reference": Path("/nowhere")}, "There are no tables in /nowhere"),
        ({"reference": Path("/nowhere"), "without": "all"}, "There are no tables in /nowhere"),
    ],
)
def test_what_cannot_be_compared_is_refused(changed, said, tmp_path):
    study.write_text(tmp_path / "run" / "01_x" / "tables" / "a.csv", "n\n")
    given = {"profile": "tiny", "set": "", "reference": tmp_path / "run", "scratch": tmp_path / "scratch", "without": ""}
    with pytest.raises(study.StudyError, match=said):
        faults.disturb(argparse.Namespace(**given | changed))
    assert not (tmp_path / "scratch").exists()
