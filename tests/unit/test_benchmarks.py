"""What benchmarks share, what they keep, and that they time nothing wrong."""

import importlib
import json

import pandas as pd
import pytest

from benchmarks import common, heads_overhead, pruned_models, removed_heads
from benchmarks import coreference_injection as injection
from helpers import study

TINY = ["--size", "tiny", "--repeats", "1"]


def test_ratios_are_taken_within_repeats():
    seconds = pd.DataFrame({"plain": [1.0, 10.0, 100.0], "slow": [2.0, 30.0, 400.0]})
    ratio = common.ratios("tiny", seconds, "plain")[1]
    assert (ratio["what"], ratio["value"], ratio["low"], ratio["high"]) == ("slow", 3, 2.5, 3.5)
    assert common.rows("tiny", 1 / seconds, pairs=[("plain", "slow"), ("plain", "gone")])[-1]["value"] == 3


@pytest.mark.parametrize("name", common.NAMES)
def test_benchmarks_keep_what_they_measure(name, monkeypatch):
    monkeypatch.setattr(injection, "NEW_TOKENS", 4)
    importlib.import_module(f"benchmarks.{name}").main(TINY)
    path = study.runs() / "benchmarks" / "tiny" / f"{name}.csv"
    table, facts = pd.read_csv(path), json.loads(path.with_suffix(".json").read_text())
    assert not table.duplicated(["what", "group", "quantity"]).any()
    assert (table.low <= table.value).all() and (table.value <= table.high).all()
    assert (table.value > 0).all()
    assert 0 <= facts["gate"]["difference"] <= facts["gate"]["bound"]


@pytest.mark.parametrize("benchmark", [removed_heads, pruned_models])
def test_heads_that_are_not_removed_are_not_timed(monkeypatch, benchmark):
    monkeypatch.setattr(benchmark, "remove", lambda model, heads: model)
    with pytest.raises(SystemExit, match="values differ"):
        benchmark.main(TINY)


def test_wrong_gates_are_not_timed(monkeypatch):
    gate = heads_overhead.gate
    monkeypatch.setattr(heads_overhead, "gate", lambda model, values: gate(model, {name: 0 * v for name, v in values.items()}))
    with pytest.raises(SystemExit, match="gates"):
        heads_overhead.main(TINY)
