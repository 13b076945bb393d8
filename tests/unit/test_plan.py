"""What a study has to make: the same things whatever else there is to make, what is missing of them, what it costs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from helpers import plan, study
from helpers.runs import subjects
from helpers.study import Kind, Need, StudyError, published


def write(spec, place):
    (place.results / "n.txt").write_text(str(spec["n"]))


def train(spec, place):
    write(spec, place)
    (place.weights / "w.txt").write_text((TEXT.of({"n": 0}).results / "n.txt").read_text())


def measure(spec, place):
    write({"n": [(run.weights / "w.txt").read_text() for run in runs(spec["reads"])]}, place)


def read(spec):
    return [*(Need(run, weights=True) for run in runs(spec["reads"])), *(TEXT.of({"n": n}) for n in spec.get("texts", ()))]


def runs(numbers):
    return [RUN.of({"n": n}) for n in numbers]


TEXT = Kind("plan text", 1, write, text=True)
RUN = Kind("plan run", 1, train, lambda spec: [TEXT.of({"n": 0})])
SCORE = Kind("plan score", 1, measure, read, job="with")


def score(n, *reads, **more):
    return SCORE.of({"n": n, "reads": list(reads), **more})


def jobs_for(*recipes):
    """Jobs by what they make, in words: "plan run 1"."""
    found = plan.jobs(plan.missing(map(Need, recipes)))
    return {tuple(f"{need.recipe.kind.name[5:]} {need.recipe.spec['n']}" for need in job.made): job for job in found.values()}


def goals(text="", profile="tiny"):
    settings = study.settings(profile, study.parse_overrides(text))
    return plan.goals(settings, subjects.names(settings), 1)


def run(steps, seed=1):
    """A training."""
    shape = {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64}
    corpus = {"corpus": "controlled", "language": "ru", "vocabulary": 300}
    training = {"steps": steps, "batch_tokens": 50}
    return study.kind("model").of({"corpus": corpus, "model": shape, "training": training, "seed": seed, "closed": []})


def put(recipe, seconds):
    """Let a recipe lie in the store, made in so many seconds."""
    made = {"kind": recipe.kind.name, "spec": recipe.spec, "seconds": seconds, "hardware": study.hardware()}
    study.write_json(recipe.folder / "made.json", made | {"files": {}})


def test_more_seeds_read_all_that_one_seed_reads_and_each_further_one_as_much_as_the_one_before():
    one, two, three, four = (set(plan.closure(plan.together(goals(plan.with_seeds("", seeds))))) for seeds in (1, 2, 3, 4))
    assert one < two < three < four
    third, fourth = (Counter(recipe.kind.name for recipe in more) for more in (three - two, four - three))
    assert third == fourth and set(plan.COSTLY) <= set(third)


def test_explicit_overrides_win_over_seeds():
    asked = study.parse_overrides(plan.with_seeds("grouping.seeds=2 beam=3", 5))
    assert asked == {"seeds": 5, "grouping.seeds": 2, "coreference.seeds": 5, "beam": 3}
    with pytest.raises(StudyError, match="seed"):
        plan.with_seeds("", 0)


def test_every_missing_recipe_is_made_by_one_job_after_all_that_it_needs():
    notebooks = goals(plan.with_seeds("", 3))
    missing = plan.missing(plan.together(notebooks))
    assert set(missing) == set(plan.closure(plan.together(notebooks))), "nothing is made yet"
    jobs, owner, before = plan.jobs(missing), {}, set()
    for id, job in jobs.items():
        assert id == job.id and set(job.needs) <= before and id not in job.needs
        before.add(id)
        for place, need in enumerate(job.made):
            assert need.recipe not in owner and need.weights == missing[need.recipe]
            owner[need.recipe] = id
            for other in need.recipe.needs:
                assert owner[other.recipe] in job.needs or other.recipe in [one.recipe for one in job.made[:place]]
            assert place == 0 or need.recipe.kind.job != "own"
            kind, spec, label, weights = json.loads(json.dumps(job.described[place]))
            assert study.kind(kind).of(spec, label) == need.recipe and (label, weights) == (need.recipe.label, need.weights)
        waits = {owner[other.recipe] for need in job.made for other in need.recipe.needs}
        assert waits - {id} == set(job.needs), "for none in vain"
    assert set(owner) == set(missing)
    of_notebooks = plan.of_notebooks(jobs, notebooks)
    for name, needs in notebooks.items():
        assert set(of_notebooks[name]) == {owner[recipe] for recipe in plan.closure(needs)}


def test_what_takes_seconds_is_made_in_the_job_of_what_it_reads():
    found = jobs_for(score(1, 1), score(2, 1, 2), score(3, 2), score(4, 1, 2), score(5, 2, texts=[7]))
    assert list(found) == [
        ("text 0",), ("text 7",), ("run 1", "score 1"), ("run 2", "score 3", "score 5"), ("score 2", "score 4"),
    ]  # fmt: skip
    text, other, one, two, shared = found.values()
    assert one.needs == (text.id,) and set(two.needs) == {text.id, other.id} and shared.needs == (one.id, two.id)


def test_what_is_made_or_published_is_no_job():
    first, whole = score(1, 1), score(2, 1, 2)
    assert list(jobs_for(first, whole))[-1] == ("score 2",)
    study.make(first)
    assert jobs_for(first) == {} and list(jobs_for(whole)) == [("run 2", "score 2")]
    published.write_index({first.key: published.pack(study.make(first), False)})
    shutil.rmtree(study.runs())
    assert jobs_for(first) == {}, "its run is not wanted"
    assert list(jobs_for(first, whole)) == [("run 1",), ("run 2",), ("score 2",)], "another score wants the run"


def test_a_plan_is_written_with_what_makes_its_jobs(tmp_path, capsys):
    first, second = score(1, 1), score(2, 2)
    wanted = {"01_a": [Need(first)], "02_b": [Need(second), Need(runs([1])[0], weights=True)]}
    found = plan.jobs(plan.missing(plan.together(wanted)))
    for name in (*found, "plan_run-of_old"):
        study.write_text(tmp_path / "stamps" / name, "")
    plan.write(tmp_path / "plan.json", wanted, tmp_path / "stamps")
    said = study.read_json(tmp_path / "plan.json")
    assert [path.name for path in (tmp_path / "stamps").iterdir()] == ["plan_run-of_old"], "what is to be made has no stamp"
    assert said["jobs"].keys() == found.keys() == {id for ids in said["notebooks"].values() for id in ids}
    assert all(job["needs"] == list(found[id].needs) for id, job in said["jobs"].items())
    foretold = capsys.readouterr().err
    assert "training runs" in foretold and "then notebooks (2)" in foretold and str(tmp_path) in foretold
    program = [sys.executable, "workflow/told.py", tmp_path / "plan.json", tmp_path / "stamps"]
    broken = [sys.executable, "-c", "raise SystemExit('the reason')", "papermill"]
    for name, command, said_then in ((next(iter(found)), ["true"], f"1 of {len(found) + 2}  "), ("02_b", broken, "the reason")):
        done = subprocess.run([*program, name, *command], cwd=study.ROOT, capture_output=True, text=True)
        assert said_then in done.stderr and done.returncode == (command is broken)
    for id, job in said["jobs"].items():  # as the workflow does
        study.write_json(tmp_path / f"{id}.json", job["made"])
        plan.main(["--make", str(tmp_path / f"{id}.json")])
        assert all(need.recipe.made(need.weights) for need in found[id].made)
    assert plan.missing(plan.together(wanted)) == {}


def test_a_notebook_executed_with_other_parameters_is_older_than_what_it_reads(tmp_path):
    asked = {"profile": "tiny", "overrides": ""}
    for name, parameters in {"01_a": asked, "02_b": asked | {"overrides": "training.steps=3"}}.items():
        study.write_json(tmp_path / f"{name}.ipynb", {"metadata": {"papermill": {"parameters": parameters}}})
    study.write_json(tmp_path / "03_c.ipynb", {"metadata": {}})
    plan.outdate(tmp_path, ["01_a", "02_b", "03_c", "04_not_yet"], asked)
    assert {path.stem: path.stat().st_mtime > 1 for path in tmp_path.iterdir()} == {"01_a": True, "02_b": False, "03_c": False}


def test_bad_input_is_one_sentence(tmp_path, capsys):
    (tmp_path / "job.json").write_text('[["plan run", {"n": 1}]]')
    for arguments, said in ((["--make", str(tmp_path / "job.json")], "job.json"), (["--cores", "0"], "'0'")):
        with pytest.raises(SystemExit) as stopped:
            plan.main(arguments)
        assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_estimates_are_by_the_work_of_a_training_and_by_others_of_a_kind(monkeypatch):
    for n, seconds in enumerate((10.0, 14.0, 90.0)):
        put(score(n), seconds)
    assert plan.Rates().estimate(score(3, 1)) == 14.0 and plan.Rates().estimate(TEXT.of({"n": 1})) is None, "not known"
    assert plan.Rates().estimate(run(500)) == pytest.approx(10 * plan.Rates().estimate(run(50)))
    monkeypatch.setenv("HEADS_DEVICE", "cuda")  # of which a processor's runs say nothing
    assert plan.Rates().estimate(run(500)) is None


def test_what_reads_less_than_a_published_one_takes_as_much_less():
    text = {"run": {"start": {"corpus": {"test": 50, "train": 3000}}}}
    assert plan.share("outputs", text) == pytest.approx(0.05) and plan.share("scores", {"few": 25}) == pytest.approx(0.1)
    assert plan.share("outputs", {"run": {"corpus": {"test": 9000}}}) == plan.share("cell", {}) == 1.0


def test_chains_are_a_job_and_the_longest_of_what_waits_for_it():
    links = {"text": [], "short": ["text"], "long": ["text"], "last": ["short", "long"], "alone": []}
    found = {name: plan.Job((), tuple(needs)) for name, needs in links.items()}
    seconds = {"text": 1.0, "short": 2.0, "long": 5.0, "last": 3.0, "alone": 8.5}
    assert list(plan.chains(found, seconds).values()) == [9.0, 5.0, 8.0, 3.0, 8.5]


def test_the_command_says_the_totals_and_makes_nothing(capsys, tmp_path):
    plan.main(["--profile", "tiny", "--seeds", "1", "--cores", "2", "--only", "01 03"])
    told = capsys.readouterr().out
    assert "03_l0_pruning: " in told and "04_" not in told and "core minutes" in told and "(cores: 2)" in told
    assert not (tmp_path / "runs").exists() and not (tmp_path / "data").exists()


def test_notebooks_are_chosen_by_name_or_number_and_read_nothing_of_the_others():
    assert plan.chosen("03 02_head_functions") == ["02_head_functions", "03_l0_pruning"] and plan.chosen(3) == ["03_l0_pruning"]
    with pytest.raises(StudyError, match="no notebook '09'"):
        plan.chosen("09")
    settings = study.settings("tiny") | {"grouping": {}}  # of notebook 04, which would ask for it
    assert list(plan.goals(settings, ["ru-news"], 1, "03")) == ["03_l0_pruning"]
