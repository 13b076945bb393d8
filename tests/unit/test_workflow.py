"""The workflow plans what the study needs, and refuses what it does not know."""

import subprocess
import sys

from helpers import study


def plan(*config):
    command = [sys.executable, "-m", "snakemake", "--snakefile", "workflow/Snakefile", "--cores", "1", "--nolock", "-n"]
    return subprocess.run([*command, "--config", *config], cwd=study.ROOT, capture_output=True, text=True, timeout=120)


def test_plan_of_the_whole_study():
    done = plan("profile=tiny")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows = [line.split() for line in said.splitlines()]
    jobs = {row[0]: int(row[1]) for row in rows if row[1:] and row[1].isdigit()}
    # four corpora, and one for each of the three tasks of grouped heads; four models and the control without encoder attention;
    # encoder heads of a model of each register and all kinds of one; grouped heads: rows of translation in as many jobs as the
    # profile says, of the two other tasks and of a converged model, which is one of the four; dialogues, whose plain models of
    # each seed come before as many jobs of injection as the profile says, and a translation model; five notebooks
    settings = study.settings("tiny")
    assert {name: jobs[name] for name in ("corpus", "model", "sweep", "grouped", "injection", "notebook", "all")} == {
        "corpus": 4 + 3 + 1, "model": 5, "sweep": 3, "notebook": 5, "all": 1, "grouped": settings["grouping"]["jobs"] + 3,
        "injection": settings["coreference"]["seeds"] + settings["coreference"]["jobs"] + 1,
    }  # fmt: skip


def test_unknown_profile_and_setting_and_a_price_below_zero():
    for config, said in (
        ("profile=huge", "no profile 'huge'"),
        ("overrides=training.stps=3", "no setting 'training.stps'"),
        ("overrides=pruning.penalties=[-1]", "The price of an open gate (lambda) must be a number from 0, not -1."),
    ):
        done = plan(config)
        assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
