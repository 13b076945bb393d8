"""The workflow on a real SLURM: opt-in, `pytest -m slurm tests/slurm` where a cluster answers.

For one on this machine alone: workflow/slurm/one_node.sh start FOLDER (then stop FOLDER). The plugin is in
requirements/cluster.lock.
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

from helpers import plan, study
from helpers.runs import subjects

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1200)]


@pytest.fixture(autouse=True)
def cluster():
    """A reason to skip where there is no SLURM."""
    if not find_spec("snakemake_executor_plugin_slurm"):
        pytest.skip("the plugin is not installed: pip install -r requirements/cluster.lock")
    if not shutil.which("sinfo") or subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode:
        pytest.skip("no SLURM answers: sinfo fails")


def files(recipe):
    """Digests of what a recipe leaves, but for the history, which holds seconds; it is made if it is not there."""
    found = study.read_json(study.make(recipe, weights=True) / "made.json")["files"]
    return {name: digest for name, digest in found.items() if name != "results/history.csv"}


def test_slurm_trains_the_model_that_is_trained_here(tmp_path, monkeypatch):
    settings = study.settings("tiny")
    study.use(settings)
    notebooks = plan.goals(settings, subjects.names(settings), 1)
    jobs = plan.jobs(plan.missing(notebooks["01_relevance_and_confidence"]))
    job = next(job for job in jobs.values() if job.first.kind.name == "model")
    stamp = study.runs() / "stamps" / job.id
    command = [sys.executable, "-m", "snakemake", "--snakefile", "workflow/Snakefile", "--nolock", "--quiet", "host"]
    command += ["--profile", "workflow/profiles/slurm", "--slurm-status-command", "squeue"]
    command += ["--slurm-init-seconds-before-status-checks", "5"]
    command += ["--config", "profile=tiny", "gpu=0", "executor=slurm", "--", str(stamp)]
    done = subprocess.run(command, cwd=study.ROOT, capture_output=True, text=True, timeout=1100)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and stamp.exists() and said.count("has been submitted with SLURM jobid") == 2, said
    assert all(need.recipe.made(need.weights) for need in job.made)
    made = files(job.first)
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "here"))
    assert not job.first.made() and files(job.first) == made
