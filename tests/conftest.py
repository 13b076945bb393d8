"""What every test stands on: fixed seeds, one thread, no network, and a store of its own."""

import os
import random
import sys

import numpy as np
import pytest
import torch

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start
UNSET = ("HEADS_DATA_ROOT", "HEADS_PROGRESS", "HEADS_DEVICE", "HEADS_FRESH")
for name in UNSET:
    os.environ.pop(name, None)


@pytest.fixture(autouse=True, scope="session")
def session(tmp_path_factory):
    """What fixtures of a module or session make lies in a folder of this session; nothing is published."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HEADS_RUNS", "HEADS_DATA", "HEADS_PUBLISHED"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def isolated(request, tmp_path, tmp_path_factory, monkeypatch, session):
    """What a test makes lies in a folder of this test; figures have the project's style and do not outlive it.

    Tests of a module with a `STORE` share one of the session instead, in which a run is made when the first of them reads it.
    """
    for name in ("runs", "data", "published"):
        monkeypatch.setenv(f"HEADS_{name.upper()}", str(tmp_path / name))
    if hasattr(request.module, "STORE"):
        request.module.STORE(tmp_path_factory.getbasetemp(), monkeypatch)
    for name in UNSET:
        monkeypatch.setenv(name, "")  # so that what a test sets is undone
        monkeypatch.delenv(name)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    drawing = sys.modules.get("helpers.drawing")
    if drawing:
        drawing.style()
    yield
    if drawing:
        drawing.plt.close("all")
