"""The workflow plans what the study needs, on one seed or several, and refuses what it does not know."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest

from helpers import plan as planned
from helpers import study
from helpers.runs import subjects


def plan(*config, options=("--cores", "1")):
    command = [sys.executable, "-m", "snakemake", "--snakefile", "workflow/Snakefile", "--nolock", "-n", *options]
    return subprocess.run([*command, "--config", *config], cwd=study.ROOT, capture_output=True, text=True, timeout=300)


def test_a_dry_run_has_every_job_of_the_plan():
    study.write_json(study.runs() / "tiny-controlled" / "04_grouped_heads.ipynb", {"metadata": {}})  # with other parameters
    done = plan("profile=tiny", "seeds=2", "only=04")  # which the command line makes an integer
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows = [line.split() for line in said.splitlines()]
    found = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0].isidentifier() and row[1].isdigit()}
    settings = study.settings("tiny", study.parse_overrides(planned.with_seeds("", 2)))
    notebooks = planned.goals(settings, subjects.names(settings), 1, "04")
    jobs = planned.jobs(planned.missing(need for needs in notebooks.values() for need in needs)).values()
    wanted = Counter(job.first.kind.name.replace(" ", "_") for job in jobs) | {"notebook": len(notebooks), "all": 1}
    assert len(notebooks) == 1 and found == wanted | {"total": sum(wanted.values())}
    (written,) = (study.read_json(path) for path in (study.runs() / "tiny-controlled").glob("plan*.json"))
    assert {*notebooks} == {*written["notebooks"]}


def test_make_hands_on_quotes_in_settings_and_what_the_environment_says(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "ready").touch()
    tool = tmp_path / "bin" / "python"  # in the place of the environment's
    tool.write_text('#!/bin/sh\nprintf "%s\\n" "$HEADS_FRESH" "$HEADS_DEVICE" "$@"\n')
    tool.chmod(0o755)
    asked = 'comparison.again=["ru-news"] seeds=2'
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}  # of the make that runs the tests
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    environment |= {"HEADS_FRESH": "1", "HEADS_DEVICE": "cpu"}
    command = ["make", "-o", f"{tmp_path}/ready", "plan", f"VENV={tmp_path}", f"SET={asked}"]
    told = subprocess.run(command, cwd=study.ROOT, capture_output=True, text=True, env=environment, check=True).stdout
    assert told.splitlines()[:2] == ["1", "cpu"] and asked in told.splitlines()


def on_a_gpu(folder, visible, *command):
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "CUDA_VISIBLE_DEVICES": visible}
    command = [sys.executable, "workflow/on_a_gpu.py", *command]
    return subprocess.Popen(command, cwd=study.ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def test_commands_take_gpus_of_their_own_or_wait(tmp_path):
    order = tmp_path / "order"
    lines = f"echo begin $CUDA_VISIBLE_DEVICES >> {order}; sleep 1; echo end $CUDA_VISIBLE_DEVICES >> {order}"
    wait = f"touch {tmp_path}/$CUDA_VISIBLE_DEVICES; while [ ! -e {tmp_path}/2 ] || [ ! -e {tmp_path}/3 ]; do sleep 0.1; done"
    both = [on_a_gpu(tmp_path, "0", "sh", "-c", lines) for _ in range(2)]
    both += [on_a_gpu(tmp_path, "2,3", "sh", "-c", wait) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0] * 4
    assert order.read_text().splitlines() == ["begin 0", "end 0"] * 2


def test_without_a_gpu_a_command_that_needs_one_is_refused(tmp_path):
    process = on_a_gpu(tmp_path, "", "true")
    assert "GPU=0" in process.communicate()[1] and process.returncode == 1


TREE = """
import os, pathlib, signal, subprocess, sys, time
how, depth, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
if how == "deaf" and not depth:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
(folder / f"{depth}.part").write_text(str(os.getpid()))
(folder / f"{depth}.part").rename(folder / f"{depth}.pid")
if depth:
    subprocess.Popen([sys.executable, sys.argv[0], how, str(depth - 1), folder])
if how != "orphan" or depth != 1:
    time.sleep(120)
"""


def interruptible(*command):
    command = [sys.executable, study.ROOT / "workflow" / "interruptible.py", *command]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("sign", "how"), [("SIGINT", "deaf"), ("SIGTERM", "orphan")])
def test_a_signal_ends_a_command_with_all_that_it_started(sign, how, tmp_path):
    (tmp_path / "tree.py").write_text(TREE)
    whole = interruptible(sys.executable, tmp_path / "tree.py", how, "2", tmp_path)
    while len(pids := list(tmp_path.glob("*.pid"))) < 3:
        assert whole.poll() is None
        time.sleep(0.1)
    family = [psutil.Process(pid) for path in pids if psutil.pid_exists(pid := int(path.read_text()))]
    started = time.monotonic()
    whole.send_signal(getattr(signal, sign))
    assert whole.wait(60) == 130 and "goes on where it was" in whole.stderr.read()
    assert not psutil.wait_procs(family, 5)[1] and time.monotonic() - started < 20


def test_make_told_to_end_ends_all_that_it_started(tmp_path):
    """As schedulers and containers tell it: SIGTERM, to make alone."""
    bin_folder = tmp_path / "venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (bin_folder / "snakemake").write_text(f"#!/bin/sh\nsleep 61 & echo $! > {tmp_path}/child; wait\n")
    for name in ("python", "snakemake"):
        (bin_folder / name).chmod(0o755)
    for stamp in ("ready", "pretrained"):
        (tmp_path / "venv" / stamp).touch()
    made = subprocess.Popen(["make", "study", f"VENV={tmp_path / 'venv'}"], cwd=study.ROOT, start_new_session=True)
    for _ in range(600):
        if (tmp_path / "child").exists() and (tmp_path / "child").read_text():
            break
        time.sleep(0.1)
    child = psutil.Process(int((tmp_path / "child").read_text()))
    started = time.monotonic()
    made.terminate()
    made.wait(60)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert time.monotonic() - started < 10
