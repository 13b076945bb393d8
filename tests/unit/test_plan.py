"""What a study has to make: the same things whatever else there is to make, what is missing of them, what it costs."""

from __future__ import annotations

import json

import pytest

from helpers import corpora, plan, study, subjects
from helpers.methods import grouped
from helpers.study import StudyError


def jobs_of(text="", seed=1, profile="tiny"):
    settings = study.settings(profile, study.parse_overrides(text))
    return plan.jobs(settings, subjects.names(settings), seed)


def run(steps=100, store="models", width=32, **more):
    """A thing to be trained."""
    shape = {"layers": 2, "width": width, "heads": 4, "feed_forward": 64}
    corpus = {"corpus": "controlled", "vocabulary": 300}
    spec = {"corpus": corpus, "model": shape, "training": {"steps": steps, "batch_tokens": 50}, "seed": 1}
    return plan.Thing("a run", store, spec | more)


def put(thing, seconds, hardware=None):
    """Let a thing lie in the store, made in so many seconds."""
    made = {"spec": thing.spec, "seconds": seconds, "hardware": hardware or study.hardware(), "files": {}}
    study.write_json(thing.folder / "made.json", made)


# --- jobs ------------------------------------------------------------------------------------------------------------


def test_more_seeds_need_all_that_one_seed_needs_and_more():
    one, three = (jobs_of(plan.with_seeds("", seeds))[0] for seeds in (1, 3))
    split = {id for id, job in one.items() if job.kind in ("corpus", "model", "pruning", "comparison")}
    assert split <= set(three)
    folders = [{thing.folder for job in jobs.values() for thing in job.makes} for jobs in (one, three)]
    assert folders[0] < folders[1]


def test_each_further_seed_needs_as_much_as_the_one_before():
    counted = []
    for seeds in (2, 3, 4):
        jobs, _ = jobs_of(plan.with_seeds("", seeds))
        counted.append([sum(job.kind == kind for job in jobs.values()) for kind in plan.COMMANDS])
    assert all(b - a == c - b for a, b, c in zip(*counted, strict=True))
    assert all(b > a for kind, a, b in zip(plan.COMMANDS, *counted[:2], strict=True) if kind != "grouped")


def test_explicit_overrides_win_over_seeds():
    asked = study.parse_overrides(plan.with_seeds("grouping.seeds=2 beam=3", 5))
    assert asked == {"seeds": 5, "grouping.seeds": 2, "coreference.seeds": 5, "beam": 3}
    with pytest.raises(StudyError, match="There must be one seed or more, not 0"):
        plan.with_seeds("", 0)


def test_jobs_come_after_what_they_need_and_every_notebook_finds_its_own():
    jobs, notebooks = jobs_of()
    seen = set()
    for id, job in jobs.items():
        assert set(job.needs) <= seen and job.kind in plan.COMMANDS
        seen.add(id)
    assert list(notebooks) == sorted(notebooks) and all(set(ids) <= seen for ids in notebooks.values())
    assert seen == set(plan.with_needs(jobs, [id for ids in notebooks.values() for id in ids])), "none is in vain"


def test_some_notebooks_by_name_or_number():
    _, notebooks = jobs_of()
    assert list(plan.chosen(notebooks, "")) == list(notebooks)
    assert list(plan.chosen(notebooks, None)) == list(notebooks)
    assert list(plan.chosen(notebooks, "03 02_head_functions")) == ["02_head_functions", "03_l0_pruning"]
    assert list(plan.chosen(notebooks, 3)) == ["03_l0_pruning"]
    with pytest.raises(StudyError, match="no notebook '09' in the workflow: choose from 00_your_own_model, 01_"):
        plan.chosen(notebooks, "09")


def test_runs_that_start_from_a_model_wait_for_it():
    jobs, _ = jobs_of()
    models = {id: job.described for id, job in jobs.items() if job.kind == "model"}
    waiting = 0
    for job in jobs.values():
        starts = [grouped.origin(spec) for spec in job.described.get("runs", {}).values()] if job.kind == "grouped" else []
        starts += [job.described["run"]["start"]] if job.kind == "pruning" and "run" in job.described else []
        starts += [job.described["sweep"]["start"]] if "sweep" in job.described else []
        for start in filter(None, starts):
            waiting += 1
            assert start in [models[id] for id in job.needs if id in models]
    assert waiting > 20


def test_natural_text_has_no_control_without_encoder_attention(tmp_path, monkeypatch):
    with pytest.raises(StudyError, match="HEADS_DATA_ROOT"):
        jobs_of(profile="natural")
    assert any("+none" in job.name for job in jobs_of()[0].values())


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_work_grows_with_steps_tokens_and_weights():
    units = plan.work("models", run().spec)
    shape = run().spec["model"]
    assert units == 100 * 50 * (grouped.weights(shape) + 32 * 300)
    assert plan.work("models", run(200).spec) == 2 * units
    assert plan.work("models", run(width=64).spec) > 2 * units
    started = {"training": run().spec["training"], "start": {"start": run().spec}}
    assert plan.work("injection", started) == units, "the shape is that of what the run starts from"
    assert plan.work("injection", {"training": {}, "corpus": {"corpus": "natural"}, "start": {"pretrained": "x"}}) is None


def test_estimates_are_in_proportion_to_runs_alike():
    put(run(50), 10.0)
    put(run(50, seed=2), 14.0)
    put(run(50, seed=3), 90.0)
    seconds, basis = plan.Rates().estimate(run(500))
    assert seconds == pytest.approx(140.0) and basis == "3 recorded"


def test_estimates_rest_on_the_five_runs_nearest_in_work():
    for seed in range(5):
        put(run(400, seed=seed), 400.0)
        put(run(4, seed=seed), 40.0)  # most of it spent on starting
    assert plan.Rates().estimate(run(800))[0] == pytest.approx(800.0)
    assert plan.Rates().estimate(run(2))[0] == pytest.approx(20.0)


def test_tiny_runs_say_nothing_about_large_ones():
    put(run(2), 20.0)
    assert plan.Rates().estimate(run(190)) == (pytest.approx(1900.0), "1 recorded")
    stated = plan.work("models", run(400).spec) * plan.STATED
    assert plan.Rates().estimate(run(400)) == (stated, "stated rate")
    text = plan.Thing("", "corpora", {"corpus": "controlled", "train": 10_000})
    put(plan.Thing("", "corpora", {"corpus": "controlled", "train": 10}), 1.0)
    assert plan.Rates().estimate(text) == (None, "not known")


def test_other_methods_and_stores_are_not_alike_and_other_machines_are_the_second_choice():
    floor = {"method": {"name": "floor"}, "start": run().spec}
    put(run(store="pruned", **floor), 9.0)
    put(run(store="pruned", method={"name": "l0"}, start=run().spec), 7.0, "another machine")
    rates = plan.Rates()
    stated = plan.work("models", run().spec) * plan.STATED
    assert rates.estimate(run()) == (stated, "stated rate")
    assert rates.estimate(run(store="pruned", **floor)) == (pytest.approx(9.0), "1 recorded")
    gated = run(store="pruned", method={"name": "l0"}, start=run().spec, seed=2)
    assert rates.estimate(gated) == (pytest.approx(7.0), "1 recorded elsewhere")


def test_translations_count_as_part_of_their_run():
    put(run(), 10.0)
    for split in ("one", "two"):
        put(plan.Thing("", "translations", {"model": study.key(run().spec), "split": split}), 3.0)
    assert plan.Rates().estimate(run(200))[0] == pytest.approx(32.0)


def test_a_text_like_none_before_and_a_pretrained_model_are_of_unknown_cost():
    text = plan.Thing("", "corpora", {"corpus": "natural", "train": 0})
    assert plan.Rates().estimate(text) == (None, "not known")
    put(plan.Thing("", "corpora", {"corpus": "controlled", "train": 100, "seed": 2}), 4.0)
    assert plan.Rates().estimate(plan.Thing("", "corpora", {"corpus": "controlled", "train": 200})) == (8.0, "1 recorded")


def chain(*links):
    """Jobs by id, of (name, what it needs)."""
    jobs = {}
    for name, needs in links:
        job = plan.Job("model", name, {"name": name}, tuple(jobs[other].id for other in needs), ())
        jobs[name] = job
    return {job.id: job for job in jobs.values()}, {name: job.id for name, job in jobs.items()}


def test_chains_are_a_job_and_the_longest_of_what_waits_for_it():
    jobs, ids = chain(("text", []), ("short", ["text"]), ("long", ["text"]), ("last", ["short", "long"]), ("alone", []))
    costs = {"text": 1.0, "short": 2.0, "long": 5.0, "last": 3.0, "alone": 8.5}
    rows = [plan.Row(run(), ids[name], seconds, "") for name, seconds in costs.items()]
    found = plan.chains(jobs, rows)
    assert {name: found[id] for name, id in ids.items()} == {
        "text": 9.0, "short": 5.0, "long": 8.0, "last": 3.0, "alone": 8.5,
    }  # fmt: skip


def test_what_is_made_is_not_listed_as_missing_and_counts_nothing():
    jobs, notebooks = jobs_of()
    before = plan.missing(jobs, plan.Rates())
    assert len({row.thing.folder for row in before}) == len(before)
    text = next(job for job in jobs.values() if job.kind == "corpus")
    corpora.prepare(text.described)
    after = plan.missing(jobs, plan.Rates())
    assert [row.thing for row in before if row.thing not in [row.thing for row in after]] == list(text.makes)
    told = plan.report(jobs, notebooks, 1).splitlines()
    assert told[-1].startswith(f"made 1, missing {len(after)} runs and texts, ")
    assert sum(line.startswith("  ") for line in told) == len(after)


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_says_the_totals_and_makes_nothing(capsys, tmp_path):
    plan.main(["--profile", "tiny", "--seeds", "1", "--cores", "2"])
    told = capsys.readouterr().out
    assert "03_l0_pruning: " in told and "stated rate" in told and " on 2 cores " in told
    assert not (tmp_path / "runs").exists() and not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--profile", "huge"], "There is no profile 'huge'"),
        (["--cores", "0"], "Cores must be a number from 1, or all, not '0'."),
        (["--seeds", "0"], "There must be one seed or more, not 0"),
        (["--profile", "tiny", "--overrides", "pruning.stps=1"], "There is no setting 'pruning.stps'"),
    ],
)
def test_bad_input_is_one_sentence(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        plan.main(arguments)
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_job_files_are_what_their_commands_take():
    jobs, _ = jobs_of()
    for kind in plan.COMMANDS:
        job = next(job for job in jobs.values() if job.kind == kind)
        said = plan.command(job, "FILE", 1)
        assert said.split()[0] == "-m" and " FILE" in said
        json.dumps(job.described)
