"""The workflow plans what the study needs, on one seed or several, and refuses what it does not know."""

import subprocess
import sys

import pytest

from helpers import study


def plan(*config, options=("--cores", "1")):
    command = [sys.executable, "-m", "snakemake", "--snakefile", "workflow/Snakefile", "--nolock", "-n", *options]
    return subprocess.run([*command, "--config", *config], cwd=study.ROOT, capture_output=True, text=True, timeout=300)


def counts(done):
    """How many jobs of each rule a dry run would run."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows = [line.split() for line in said.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row[1:] and row[1].isdigit()}


@pytest.mark.parametrize("seeds", [1, 2])
def test_plan_of_the_whole_study(seeds):
    found = counts(plan("profile=tiny", f"seeds={seeds}"))
    # four corpora, and one for each of the three tasks of grouped heads, and dialogues; four models and the control without
    # encoder attention; of a model of each register the runs with encoder heads, their scores and the heads removed at once,
    # of one all kinds; grouped heads: rows of translation in as many jobs as the profile says, of the two other tasks and of
    # a converged model, which is one of the four; dialogues, whose plain models of each seed come before as many jobs of
    # injection as the profile says, and a translation model; the comparison of each swept model and of the summarizer
    settings = study.settings("tiny")
    wanted = {
        "corpus": 4 + 3 + 1, "model": 4 + 1, "pruning": 2 * (9 + 2) + 3, "grouped": settings["grouping"]["jobs"] + 3,
        "injection": max(seeds, settings["coreference"]["alone"]) + settings["coreference"]["jobs"] + 1,
        "comparison": (2 + 1 + 1) * seeds, "notebook": 7, "all": 1,
    }  # fmt: skip
    if seeds == 2:  # the models compared once more, on text of their own: no variants, other criteria on the first alone
        wanted |= {"corpus": wanted["corpus"] + 2, "model": wanted["model"] + 2, "pruning": wanted["pruning"] + 7 + 1 + 4 + 2}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("only", ["02", "00"])
def test_one_notebook_by_its_number(only):
    found = counts(plan("profile=tiny", f"only={only}"))  # which the command line makes an integer
    assert found["notebook"] == 1 and "pruning" not in found


def test_unknown_profile_and_setting_and_a_price_below_zero():
    for config, said in (
        ("profile=huge", "no profile 'huge'"),
        ("overrides=training.stps=3", "no setting 'training.stps'"),
        ("overrides=pruning.penalties=[-1]", "The price of an open gate (lambda) must be a number from 0, not -1."),
        ("seeds=0", "There must be one seed or more, not 0"),
    ):
        done = plan(config)
        assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


def test_a_command_waits_for_a_gpu_that_is_taken(tmp_path):
    order = tmp_path / "order"
    first = f"echo begin $CUDA_VISIBLE_DEVICES >> {order}; sleep 2; echo end $CUDA_VISIBLE_DEVICES >> {order}"
    command = [sys.executable, "workflow/on_a_gpu.py", "sh", "-c", first]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0"}
    both = [subprocess.Popen(command, cwd=study.ROOT, env=environment) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert order.read_text().splitlines() == ["begin 0", "end 0"] * 2


def test_commands_take_gpus_of_their_own(tmp_path):
    wait = f"touch {tmp_path}/$CUDA_VISIBLE_DEVICES; while [ ! -e {tmp_path}/0 ] || [ ! -e {tmp_path}/1 ]; do sleep 0.1; done"
    command = [sys.executable, "workflow/on_a_gpu.py", "sh", "-c", wait]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0,1"}
    both = [subprocess.Popen(command, cwd=study.ROOT, env=environment) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]


def test_without_a_gpu_a_command_that_needs_one_is_refused(tmp_path):
    command = [sys.executable, "workflow/on_a_gpu.py", "true"]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=study.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "There is no GPU on this machine: run make study with GPU=0." in done.stderr
