"""What every test stands on: fixed seeds, one thread, no network, and a store of its own."""

import os
import random
import sys

import numpy as np
import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start
UNSET = ("HEADS_DATA_ROOT", "HEADS_PROGRESS", "HEADS_DEVICE", "HEADS_FRESH")
for name in UNSET:
    os.environ.pop(name, None)


class WholeFiles(LoadScopeScheduling):
    """A worker takes a file whole, so that what its tests share is made once, but of notebooks one at a time."""

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        return test.partition("[")[2] or file if file.startswith("tests/notebooks") else file


def pytest_xdist_make_scheduler(config, log):
    return WholeFiles(config, log)


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


@pytest.fixture(autouse=True, scope="module")
def module_store(request, tmp_path_factory, session):
    """Modules with a `STORE` of one name share it for the session: a run is made when the first test reads it."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(request.module, "STORE"):
            for name in ("runs", "data"):
                patch.setenv(f"HEADS_{name.upper()}", str(tmp_path_factory.getbasetemp() / request.module.STORE / name))
        yield


@pytest.fixture(autouse=True)
def isolated(request, tmp_path, monkeypatch, module_store):
    """What a test makes lies in a folder of this test; figures have the project's style and do not outlive it."""
    for name in ("published",) if hasattr(request.module, "STORE") else ("runs", "data", "published"):
        monkeypatch.setenv(f"HEADS_{name.upper()}", str(tmp_path / name))
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
