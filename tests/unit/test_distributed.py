"""One training run on several processes: their shares, the numbers of a single process, kill and resume, the command."""

import multiprocessing
import os
import signal
import socket

import pandas as pd
import pytest
import torch
from accelerate.state import AcceleratorState

from helpers import study
from helpers.runs import distributed, subjects, training
from helpers.study import StudyError

PLAN = {"training.steps": 24, "training.evaluate_every": 8, "training.batch_tokens": 112, "model.dropout": 0.0}
RTOL = 1e-5  # of losses; float rounding is seen at 1e-7


def spec(**more):
    sizes = {"train": 60, "dev": 8, "test": 4, "vocabulary": 120}
    return subjects.spec(study.settings("tiny", sizes | PLAN | more), "de-subtitles", 1)


def made(described):
    """The folder of a model that a single process trained."""
    return study.make(training.trained(described), weights=True)


def history(folder):
    return pd.read_csv(folder / "results" / "history.csv").drop(columns="seconds")


def names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def child(rank, more, work, *given):
    """What a launcher sets, then the work; the processes are forked, so they need not import everything again."""
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), **more})
    AcceleratorState._reset_state(reset_partial_state=True)  # of tests before, that had a process each
    work(rank, *given)


def together(processes, work, *given, **more):
    """Exit codes of processes that Accelerate takes for one run of as many."""
    fork = multiprocessing.get_context("fork")
    more = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port(), **more}
    started = [fork.Process(target=child, args=(rank, more, work, *given)) for rank in range(processes)]
    for process in started:
        process.start()
    for process in started:
        process.join(240)
        if process.exitcode is None:
            process.kill()
    return [process.exitcode for process in started]


def train(rank, described, step=0):
    """Train; save at every step and be killed behind a step, if one is given."""
    save = training._save

    def save_and_die(path, model, optimiser, state):
        save(path, model, optimiser, state)
        if state["step"] == step:
            os.kill(os.getpid(), signal.SIGKILL)

    if step:
        training.SAVE_EVERY, training._save = -1, save_and_die  # of this process, which is about to end
    folder, recipe = distributed.trained(described), training.trained(described)
    assert folder == distributed.trained(described) == recipe.folder
    assert recipe.made(weights=True)


def batch(lengths):
    labels = torch.full((len(lengths), max(lengths)), -100)
    for row, length in enumerate(lengths):
        labels[row, :length] = row + 1
    return {"input_ids": torch.arange(len(lengths))[:, None].expand(-1, 3), "labels": labels}


@pytest.mark.parametrize(("processes", "lengths"), [(3, (3, 1, 2, 5, 4)), (3, (2, 2)), (4, (4,))])
def test_every_row_is_in_one_share_with_its_tokens(processes, lengths):
    whole = batch(lengths)
    shares = [distributed.share(whole, process, processes) for process in range(processes)]
    assert sum(part for _, part in shares) == pytest.approx(1)
    taken = [row for rows, part in shares if part for row in rows["input_ids"][:, 0].tolist()]
    assert sorted(taken) == list(range(len(lengths)))
    for process, (rows, part) in enumerate(shares):
        own = lengths[process::processes]
        assert part == pytest.approx(sum(own) / sum(lengths))
        assert len(rows["labels"]) == len(rows["input_ids"]) == max(1, len(own))
        assert (rows["labels"] != -100).any()  # a mean over no tokens would not be a number


def test_a_batch_without_target_tokens():
    empty = batch((2, 1))
    empty["labels"][:] = -100
    with pytest.raises(StudyError, match="no target tokens"):
        distributed.share(empty, 0, 2)


def test_several_processes_train_what_one_does(tmp_path):
    described = spec() | {"closed": ["encoder"]}
    rows = [len(batch["labels"]) for batch in subjects.of_text(described["corpus"]).epoch(112, 1, torch.device("cpu"))(0)]
    assert min(rows) < 3 < max(rows)  # a process has nothing to do in some batches
    alone = made(described)
    assert together(3, train, described, HEADS_RUNS=str(tmp_path / "three")) == [0, 0, 0]
    folder = tmp_path / "three" / "model" / alone.name
    pd.testing.assert_frame_equal(history(folder), history(alone), check_exact=False, rtol=RTOL)
    assert names(folder) == names(alone) and not list((tmp_path / "three").rglob(".*"))


def command(rank, path):
    if os.environ["WORLD_SIZE"] == "1":  # as without a launcher
        del os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"]
    distributed.main([str(path)])


@pytest.mark.parametrize("processes", [1, 2])
def test_the_command(processes, tmp_path, monkeypatch, capfd):
    described = spec(**{"training.steps": 6})
    path = tmp_path / "spec.json"
    study.write_json(path, described)
    assert together(processes, command, path) == [0] * processes
    folder = training.trained(described).folder
    assert capfd.readouterr().out.splitlines() == [str(folder)]
    launched = history(folder)
    with monkeypatch.context() as untrainable:
        untrainable.setattr(training, "fit", None)
        assert made(described) == folder
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "one"))
    pd.testing.assert_frame_equal(launched, history(made(described)), check_exact=False, rtol=RTOL)


def test_a_spec_that_lacks_something(tmp_path, capsys):
    path = tmp_path / "spec.json"
    study.write_json(path, dict.fromkeys(("corpus", "model", "seed", "closed"), 1))
    with pytest.raises(SystemExit) as ended:
        distributed.main([str(path)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert str(path) in said and "'training'" in said and said.count("\n") == 1


def test_a_killed_run_ends_with_the_same_numbers(tmp_path):
    described = spec(**{"model.dropout": 0.2})
    assert together(2, train, described, HEADS_RUNS=str(tmp_path / "whole")) == [0, 0]
    first, second = together(2, train, described, 13)
    assert first == -signal.SIGKILL
    assert second != 0
    recipe = training.trained(described)
    checkpoint = study.runs() / "work" / recipe.key / "checkpoint.pt"
    assert torch.load(checkpoint, weights_only=True)["state"]["step"] == 13
    assert not recipe.made()
    assert together(2, train, described) == [0, 0]
    whole = tmp_path / "whole" / "model" / recipe.key
    pd.testing.assert_frame_equal(history(recipe.folder), history(whole), check_exact=True)
    assert not checkpoint.exists()
