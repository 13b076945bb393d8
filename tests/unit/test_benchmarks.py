"""What benchmarks share, what they keep, and that they time nothing wrong."""

import importlib
import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks import (
    common,
    heads_overhead,
    pruned_models,
    removed_heads,
    training_speed,
)
from benchmarks import coreference_injection as injection
from helpers import study

TINY = ["--size", "tiny", "--repeats", "1"]
COMMAND = "python -m benchmarks.nothing --size tiny --repeats 1"


def nothing(options):
    return [common.row("one", "tiny", "seconds", [3, 1, 2])], 1e-7


def test_ratios_are_taken_within_repeats():
    seconds = pd.DataFrame({"plain": [1.0, 10.0, 100.0], "slow": [2.0, 30.0, 400.0]})
    ratio = common.ratios("tiny", seconds, "plain")[1]
    assert (ratio["what"], ratio["value"], ratio["low"], ratio["high"]) == ("slow", 3, 2.5, 3.5)
    assert common.rows("tiny", 1 / seconds, pairs=[("plain", "slow"), ("plain", "gone")])[-1]["value"] == 3


def test_values_agree_relative_to_the_largest_and_in_shape():
    assert common.agree("values", [1.0, 99.999], [1.0, 100.0], 1e-4) == pytest.approx(1e-5)
    for wrong in ([1.0, 99.9], [100.0], [[1.0, 100.0]], [math.nan, 100.0]):
        with pytest.raises(SystemExit, match="values differ"):
            common.agree("values", wrong, [1.0, 100.0], 1e-4)


def test_what_is_kept_says_where_it_comes_from_and_counts_for_the_same_command_and_commit(monkeypatch):
    assert not common.kept("nothing", "tiny", COMMAND)
    path = common.bench("nothing", "Nothing.", nothing, 1e-4, TINY)
    table, sidecar = pd.read_csv(path), path.with_suffix(".json")
    facts = json.loads(sidecar.read_text())
    assert list(table) == common.COLUMNS and table.value[0] == 2 and facts["command"] == COMMAND
    assert facts["gate"] == {"difference": 1e-7, "bound": 1e-4}
    assert {"commit", "hardware", "libraries", "threads", "device", "seconds", "repeats"} <= set(facts)
    monkeypatch.setattr(study, "provenance", lambda: {"commit": "0123456789ab"})
    for commit, there in (("0123456789ab", True), ("0123456789ab+changes", False)):
        sidecar.write_text(json.dumps(facts | {"commit": commit}))
        assert common.kept("nothing", "tiny", COMMAND) == there
        assert not common.kept("nothing", "tiny", COMMAND + " --device cpu")


@pytest.mark.parametrize("name", common.NAMES)
def test_benchmarks_keep_what_they_measure(name, monkeypatch):
    monkeypatch.setattr(training_speed, "CHECKED", 2)
    monkeypatch.setattr(injection, "NEW_TOKENS", 4)
    importlib.import_module(f"benchmarks.{name}").main(TINY)
    path = study.runs() / "benchmarks" / "tiny" / f"{name}.csv"
    table, facts = pd.read_csv(path), json.loads(path.with_suffix(".json").read_text())
    assert not table.duplicated(["what", "group", "quantity"]).any()
    assert (table.low <= table.value).all() and (table.value <= table.high).all()
    assert (table.value[table.quantity != "exponent"] > 0).all()
    assert 0 <= facts["gate"]["difference"] <= facts["gate"]["bound"]


@pytest.mark.parametrize("benchmark", [removed_heads, pruned_models])
def test_heads_that_are_not_removed_are_not_timed(monkeypatch, benchmark):
    monkeypatch.setattr(benchmark, "remove", lambda model, heads: model)
    with pytest.raises(SystemExit, match="values differ"):
        benchmark.main(TINY)


def test_wrong_gates_and_losses_are_not_timed(monkeypatch):
    gate, loops = heads_overhead.gate, training_speed.LOOPS
    monkeypatch.setattr(heads_overhead, "gate", lambda model, values: gate(model, {name: 0 * v for name, v in values.items()}))
    with pytest.raises(SystemExit, match="gates"):
        heads_overhead.main(TINY)
    faster = lambda model, text, plan: training_speed.trainer(model, text, plan | {"learning_rate": 3.1e-3})  # noqa: E731
    monkeypatch.setattr(training_speed, "LOOPS", loops | {training_speed.TRAINER: faster})
    with pytest.raises(SystemExit, match="losses"):
        training_speed.main(TINY)


def test_exponents_are_slopes_of_logarithms():
    growth = importlib.import_module("benchmarks.growth")
    seconds = pd.DataFrame([[1.0, 2.0, 4.0], [1.0, 4.0, 16.0]], columns=[2, 4, 8])
    np.testing.assert_allclose(growth.exponents(seconds), [1, 2])
