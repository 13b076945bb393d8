"""What goes wrong outside the study: a dying kernel, an unreachable Hub; and the tool that kills the whole study.

What the store does about full disks, cut files, kills and two runs at once is held in `test_recipe`.
"""

import argparse
import os
import re
import subprocess
import sys
import textwrap

import nbformat
import pytest

from helpers import study
from workflow import faults


def without_bars(said):
    """What is left of stderr without progress bars, which show where the machine is slow."""
    lines = re.split(r"[\r\n]+|\x1b\[A|(?=error: )", said)  # the sentence may stand right behind a bar
    return "\n".join(line for line in lines if line.strip() and "%|" not in line)


def notebook_line(notebook, log, result):
    """The shell line of the workflow's rule that runs a notebook."""
    rule = (study.ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8").partition("rule notebook:")[2]
    line = "".join(re.findall(r'^ +"(.*)"$', rule.partition("shell:")[2], re.MULTILINE))
    given = {"PROFILE": "tiny", "CHOICE": "", "MODELS": "de-news", "SEED": 1, "input": [notebook]}
    given |= {"OUTPUT": result.parent, "output": result}
    return line.format(sys=sys, params=argparse.Namespace(log=log, overrides="", told=""), **given)


def test_a_kernel_that_dies_leaves_no_executed_notebook(tmp_path):
    cells = [
        'profile = corpus = models = overrides = output = ""\nseed = 0',
        "import os\nos.path.exists('go') or os.kill(os.getpid(), 9)",
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
    assert ran[-1].outputs[0].data["text/plain"] == "True" and 'models = "de-news"' in ran[1].source


def test_what_is_not_in_the_cache_and_the_hub_cannot_be_reached(tmp_path):
    code = """
        from helpers import corpora, models, study
        from helpers.corpora import texts

        settings = study.settings("paper")
        sizes = {name: settings["coreference"]["summarization"][name] for name in texts.sources.SIZES}
        for attempt in (
            lambda: corpora.prepare(corpora.spec(settings, "de", "wmt", 1)),
            lambda: corpora.prepare(texts.spec(sizes, "cnn_dailymail", 1)),
            lambda: models.load("Helsinki-NLP/opus-mt-en-de"),
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
    for line, name in zip(lines, ("wmt/wmt14", "cnn_dailymail", "Helsinki-NLP/opus-mt-en-de"), strict=True):
        assert re.fullmatch(r"error: .*: .*\.", line) and name in line
    assert not list(study.data().rglob(".*"))


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
    alive = faults.psutil.process_iter(["status"])  # asked for here, as others end meanwhile
    alive = {process.pid for process in alive if process.info["status"] != faults.psutil.STATUS_ZOMBIE}
    assert not alive & set(ended["killed"])


def test_differences_name_the_cell_and_leave_out_speeds(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    study.write_text(one / "x" / "tables" / "a.csv", "row,rate,ratio,low,high,heads\nx,1.0,1.0,1,1,4\ny,2.0,2.0,1,3,2\n")
    study.write_text(two / "x" / "tables" / "a.csv", "row,rate,ratio,low,high,heads\nx,1.5,1.0,1,1,4\ny,2.5,1.7,1,4,2\n")
    study.write_text(one / "x" / "tables" / "b.csv", "row,value\nx,1.0\n")
    study.write_text(two / "x" / "tables" / "b.csv", "row,value\nx,1.0000000000000002\n")
    assert faults.differences(one, two) == [], "the last digit of a sum does not count"
    study.write_text(two / "x" / "tables" / "b.csv", "row,value\nx,1.000001\n")
    study.write_text(two / "y" / "tables" / "c.csv", "row\n")
    assert faults.differences(one, two) == [
        "x/tables/b.csv, row 1, 'value': 1.0 became 1.000001",
        f"y/tables/c.csv: only in {two}",
    ]


TOY = """
study:
	@mkdir -p $(HEADS_RUNS) && echo start >> $(HEADS_RUNS)/starts
	@{python} -c 'import os, pathlib, time; \\
	runs = pathlib.Path(os.environ["HEADS_RUNS"]); \\
	work = runs / "work"; work.mkdir(parents=True, exist_ok=True); \\
	[(time.sleep(0.1), (work / str(n)).touch()) for n in range(20) if not (work / str(n)).exists()]; \\
	tables = runs / "tiny-controlled" / "01_x" / "tables"; tables.mkdir(parents=True, exist_ok=True); \\
	(tables / "a.csv").write_text("n,value\\n0,1\\n")'
"""


def test_a_study_is_killed_and_started_until_it_is_done(tmp_path, monkeypatch):
    (tmp_path / "Makefile").write_text(TOY.format(python=sys.executable))
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
    assert report["differences"] == [] and report["passed"]
    with pytest.raises(study.StudyError, match="is not empty: name another one"):
        faults.disturb(chosen)
