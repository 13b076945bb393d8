"""The device in use, and one training on several processes: their shares, the numbers of a single process, kill and resume."""

import multiprocessing
import os
import signal
import socket

import pandas as pd
import pytest
import torch
from accelerate.state import AcceleratorState

from helpers import gpu, plan, study, training
from helpers.runs import subjects
from helpers.runs import training as translators
from helpers.study import StudyError

PLAN = {"training.steps": 16, "training.evaluate_every": 8, "training.batch_tokens": 112}
RTOL = 1e-5  # of losses; float rounding is seen at 1e-7


@pytest.mark.parametrize(("asked", "expected"), [("", "cpu"), ("auto", "cuda"), ("cpu", "cpu"), ("cuda", "cuda")])
def test_the_device_is_as_asked(asked, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: expected == "cuda" or asked == "cpu")
    monkeypatch.setenv("HEADS_DEVICE", asked)
    assert gpu.device_name() == expected == gpu.device().type
    assert gpu.precision() == {"cpu": "float32", "cuda": "bfloat16"}[expected]


@pytest.mark.parametrize("asked", ["cuda", "tpu"])
def test_a_device_that_is_not_there(asked, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("HEADS_DEVICE", asked)
    with pytest.raises(StudyError, match="HEADS_DEVICE"):
        gpu.device_name()
    if asked == "cuda":
        assert gpu.made_on() == asked, "to read none is needed"


def test_attention_on_a_gpu_does_without_cudnn(monkeypatch):
    with gpu.kernels():
        assert torch.backends.cuda.cudnn_sdp_enabled(), "on a processor nothing is changed"
    monkeypatch.setattr(gpu, "device_name", lambda: "cuda")
    with gpu.kernels():
        assert not torch.backends.cuda.cudnn_sdp_enabled() and torch.backends.cuda.mem_efficient_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled()


def test_free_memory_counts_what_torch_has_reserved(monkeypatch):
    for name, gib in {"mem_get_info": (30, 80), "memory_reserved": 20, "memory_allocated": 10}.items():
        size = tuple(part * 2**30 for part in gib) if isinstance(gib, tuple) else gib * 2**30
        monkeypatch.setattr(torch.cuda, name, lambda device, size=size: size)
    assert gpu.free_memory(torch.device("cuda")) == 40 and gpu.free_memory(torch.device("cpu")) == 0


def batch(lengths):
    labels = torch.full((len(lengths), max(lengths)), -100)
    for row, length in enumerate(lengths):
        labels[row, :length] = row + 1
    return {"input_ids": torch.arange(len(lengths))[:, None].expand(-1, 3), "labels": labels}


@pytest.mark.parametrize(("count", "lengths"), [(3, (3, 1, 2, 5, 4)), (3, (2, 2)), (4, (4,))])
def test_every_row_is_in_one_share_with_its_tokens(count, lengths):
    shares = [gpu.Processes(rank, count).share(batch(lengths)) for rank in range(count)]
    assert sum(part for _, part in shares) == pytest.approx(1)
    taken = [row for rows, part in shares if part for row in rows["input_ids"][:, 0].tolist()]
    assert sorted(taken) == list(range(len(lengths)))
    for rank, (rows, part) in enumerate(shares):
        assert part == pytest.approx(sum(lengths[rank::count]) / sum(lengths))
        assert len(rows["labels"]) == len(rows["input_ids"]) == max(1, len(lengths[rank::count]))
        assert (rows["labels"] != -100).any()  # a mean over no tokens would not be a number


def test_a_batch_without_target_tokens():
    empty = batch((2, 1))
    empty["labels"][:] = -100
    with pytest.raises(StudyError, match="no target tokens"):
        gpu.Processes(0, 2).share(empty)


def spec(**changes):
    sizes = {"train": 60, "dev": 8, "test": 4, "vocabulary": 120}
    return subjects.spec(study.settings("tiny", sizes | PLAN | changes), "de-subtitles", 1) | {"closed": ["encoder"]}


def history(folder):
    return pd.read_csv(folder / "results" / "history.csv").drop(columns="seconds")


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def train(rank, job, variables, last=0):
    """Make a job as a launcher lets it; save at every step and be killed behind the last one, if one is given."""
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), **variables})
    AcceleratorState._reset_state(reset_partial_state=True)  # of tests before, that had a process each
    save = training._save

    def save_and_die(path, model, optimiser, state):
        save(path, model, optimiser, state)
        if state["step"] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    if last:
        training.SAVE_EVERY, training._save = -1, save_and_die  # of this process, which is about to end
    plan.main(["--make", str(job)])


def together(processes, described, folder, last=0):
    """Exit codes of processes that Accelerate takes for one run of as many; forked, they need not import everything again."""
    job, fork = folder / "job.json", multiprocessing.get_context("fork")
    study.write_json(job, [["model", described, "", True]])
    variables = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port()}
    variables["HEADS_RUNS"] = str(folder)
    started = [fork.Process(target=train, args=(rank, job, variables, last)) for rank in range(processes)]
    for process in started:
        process.start()
    for process in started:
        process.join(240)
        if process.exitcode is None:
            process.kill()
    return [process.exitcode for process in started]


def test_several_processes_train_what_one_does(tmp_path):
    described = spec(**{"model.dropout": 0.0})
    rows = [len(batch["labels"]) for batch in subjects.of_text(described["corpus"]).epoch(112, 1, torch.device("cpu"))(0)]
    assert min(rows) < 2 or max(rows) % 2, "the shares are not alike"
    alone = study.make(translators.trained(described), weights=True)
    assert together(2, described, tmp_path) == [0, 0]
    folder = tmp_path / "model" / alone.name
    pd.testing.assert_frame_equal(history(folder), history(alone), check_exact=False, rtol=RTOL)
    assert files(folder) == files(alone) and not list(tmp_path.rglob(".*"))


def test_a_killed_run_ends_with_the_same_numbers(tmp_path):
    described, key = spec(**{"model.dropout": 0.2}), translators.trained(spec(**{"model.dropout": 0.2})).key
    assert together(2, described, tmp_path / "whole") == [0, 0]
    first, second = together(2, described, tmp_path, 9)
    assert first == -signal.SIGKILL and second != 0
    assert torch.load(tmp_path / "work" / key / "checkpoint.pt", weights_only=True)["state"]["step"] == 9
    assert together(2, described, tmp_path) == [0, 0]
    whole, resumed = (folder / "model" / key for folder in (tmp_path / "whole", tmp_path))
    pd.testing.assert_frame_equal(history(resumed), history(whole), check_exact=True)
