"""Jobs of a sweep: what waits for what, and the same results as the whole sweep."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import study
from helpers.methods import pruning, pruning_jobs
from tests.unit import tiny_sweep


@pytest.fixture
def sweep():
    """The sweep over encoder heads."""
    return tiny_sweep.sweeps()["encoder"]


def test_every_run_of_a_sweep_is_one_job(sweep):
    for one in tiny_sweep.sweeps().values():
        made = [study.key(job["run"]) for job in pruning_jobs.jobs(one) if "run" in job]
        assert sorted(made) == sorted(study.key(run) for run in one["runs"].values())


def test_jobs_wait_for_the_run_that_they_imitate_and_for_scores(sweep):
    jobs = {study.key(job): job for job in pruning_jobs.jobs(sweep)}
    seen, cuts = set(), 0
    for key, job in jobs.items():
        assert set(job["needs"]) <= seen
        seen.add(key)
        before = [jobs[needed] for needed in job["needs"]]
        if job.get("run", {}).get("method", {}).get("name") == "cut":
            cuts += 1
            assert any("scores" in other for other in before)
        if "like" in job.get("run", {}).get("method", {}):
            assert job["run"]["method"]["like"] in [other.get("run") for other in before]
        if "sweep" in job:
            gated = [run for run in sweep["runs"].values() if run["method"]["name"] == "l0"]
            assert [other["run"] for other in before if "run" in other] == gated
    assert cuts == 3 and "sweep" in job


def test_jobs_of_a_sweep_do_not_depend_on_settings_of_other_methods(sweep):
    other = tiny_sweep.sweeps({"grouping.seeds": 5, "coreference.seeds": 5, "seeds": 5})["encoder"]
    assert study.key(sweep) != study.key(other)
    assert list(map(study.key, pruning_jobs.jobs(sweep))) == list(map(study.key, pruning_jobs.jobs(other)))
    further = tiny_sweep.sweeps({"pruning.steps": 9})["encoder"]
    assert not set(map(study.key, pruning_jobs.jobs(sweep)[1:])) & set(map(study.key, pruning_jobs.jobs(further)[1:]))


def contents(runs: Path) -> dict[str, str]:
    """Digests of everything that sweeps make, but for histories, which hold seconds."""
    found = {}
    for kind in ("pruned", "scores", "one_shot", "translations"):
        for made in sorted((runs / kind).glob("[0-9a-f]*/made.json")):
            files = json.loads(made.read_text())["files"]
            found |= {f"{kind}/{made.parent.name}/{name}": digest for name, digest in files.items() if name != "history.csv"}
    return found


def test_jobs_make_what_the_whole_sweep_makes_to_the_byte(sweep, tmp_path, tmp_path_factory, monkeypatch):
    with monkeypatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        pruning.make(sweep)
        whole = contents(study.runs())
        shutil.copytree(study.runs() / "models", tmp_path / "runs" / "models")
        shutil.copytree(study.data(), tmp_path / "data")
    jobs = pruning_jobs.jobs(sweep)
    for number, job in enumerate(jobs):
        pruning._subject.cache_clear()
        if number != 1:
            pruning_jobs.make(job)
            continue
        study.write_json(tmp_path / "job.json", job)
        command = [sys.executable, "-m", "helpers.methods.pruning_jobs", str(tmp_path / "job.json"), "--threads", "1"]
        subprocess.run(command, cwd=study.ROOT, check=True, capture_output=True)
    made = contents(study.runs())
    assert made and all(whole[name] == digest for name, digest in made.items())
    runs = {f"pruned/{study.key(run)}/model/model.safetensors" for run in sweep["runs"].values()}
    assert runs <= set(made) and {name.partition("/")[0] for name in made} == {"pruned", "scores", "one_shot", "translations"}


def test_a_file_that_holds_no_job(tmp_path, capsys):
    study.write_json(tmp_path / "job.json", {"name": "x"})
    with pytest.raises(SystemExit) as stopped:
        pruning_jobs.main([str(tmp_path / "job.json")])
    assert stopped.value.code == 2 and "lacks 'needs'" in capsys.readouterr().err
