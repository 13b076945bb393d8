"""What benchmarks share, and the benchmarks of measures: what they keep, and that they time nothing wrong."""

import json
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from benchmarks import common, decoder_speed, growth, head_statistics, importance_speed, relevance_speed
from helpers import study

MEGABYTES = 1 << 20
TINY = ["--size", "tiny", "--repeats", "1"]
SHAPE = common.SIZES["tiny"]


def facts(**more):
    said = common.begin(common.arguments("Nothing."), "nothing", TINY)
    return common.facts(said, 2, 1e-7, 1e-4, **more)


def frame():
    return pd.DataFrame([common.row("one", "tiny", "seconds", [3, 1, 2]), common.note("two", "tiny", "seconds", "not there")])


def test_every_variant_runs_once_a_repeat_after_a_warm_up():
    order, again = [], []
    for ran in (order, again):
        found = common.interleaved({name: partial(ran.append, name) for name in "abc"}, repeats=20, seed=3)
    assert found.shape == (20, 3) and again == order and order[:3] == list("abc")
    repeats = [tuple(order[3 + 3 * n : 6 + 3 * n]) for n in range(20)]
    assert all(sorted(repeat) == list("abc") for repeat in repeats) and len(set(repeats)) > 3


def test_ratios_are_taken_within_repeats():
    seconds = pd.DataFrame({"plain": [1.0, 10.0, 100.0], "slow": [2.0, 30.0, 400.0]})
    assert common.ratios(seconds, "plain").loc["slow"].to_dict() == {"value": 3, "low": 2.5, "high": 3.5}
    assert common.ratios(1 / seconds, "slow").loc["plain", "value"] == 3


def test_peak_memory_is_what_the_call_takes():
    prepared = partial(np.ones, 96 * MEGABYTES, np.uint8)  # is there before the call, and no part of it
    assert 94 < common.peak_memory(np.copy, prepared) / MEGABYTES < 102


@pytest.mark.parametrize("difference", [1.1e-4, math.nan, math.inf])
def test_a_gate_lets_nothing_else_through(difference):
    assert common.held("values", 1e-4, 1e-4) == 1e-4
    with pytest.raises(SystemExit, match="values"):
        common.held("values", difference, 1e-4)


def test_values_agree_relative_to_the_largest_and_in_shape():
    assert common.agree("values", [1.0, 99.999], [1.0, 100.0], 1e-4) == pytest.approx(1e-5)
    for wrong in ([1.0, 99.9], [100.0], [[1.0, 100.0]], [math.nan, 100.0]):
        with pytest.raises(SystemExit, match="values differ"):
            common.agree("values", wrong, [1.0, 100.0], 1e-4)


def test_what_is_kept_says_where_it_comes_from():
    path = common.keep("nothing", frame(), facts(batch="small"))
    table, said = pd.read_csv(path), json.loads(path.with_suffix(".json").read_text())
    assert list(table) == common.COLUMNS and table.value[0] == 2 and math.isnan(table.value[1])
    assert said["command"] == "python -m benchmarks.nothing --size tiny --repeats 1"
    assert said["gate"] == {"difference": 1e-7, "bound": 1e-4} and said["batch"] == "small"
    assert {"commit", "hardware", "libraries", "threads", "device", "seconds", "repeats"} <= set(said)
    assert {"measures/lrp/signed", "../benchmarks/common"} <= set(said["modules"])


def test_what_is_kept_counts_for_the_same_command_code_and_numbers():
    command = facts()["command"]
    assert not common.kept("nothing", "tiny", command)
    path = common.keep("nothing", frame(), facts())
    assert common.kept("nothing", "tiny", command)
    assert not common.kept("nothing", "tiny", command + " --threads 1")
    sidecar = path.with_suffix(".json")
    said = sidecar.read_text()
    sidecar.write_text(json.dumps(json.loads(said) | {"modules": ["../benchmarks/gone"]}))
    assert not common.kept("nothing", "tiny", command)
    sidecar.write_text(said)
    path.write_text(path.read_text().replace("2.0", "1.0"))
    assert not common.kept("nothing", "tiny", command)


@pytest.fixture(scope="module")
def text():
    return head_statistics.Text("tiny", 4)


@pytest.fixture(scope="module")
def model(text):
    return common.marian(text.shape)


def check_kept(name: str) -> pd.DataFrame:
    path = study.runs() / "benchmarks" / "tiny" / f"{name}.csv"
    table, said = pd.read_csv(path).fillna({"note": ""}), json.loads(path.with_suffix(".json").read_text())
    assert not table.duplicated(["what", "group", "quantity"]).any()
    measured = table[table.repeats > 0]
    assert (measured[measured.quantity != "exponent"].value > 0).all()
    assert 0 <= said["gate"]["difference"] <= said["gate"]["bound"]
    return table.set_index(["what", "quantity"])


FAST = [(f"{rule}, {name}", "target tokens/s") for rule in ("alpha_beta", "attnlrp", "cp") for name in ("fast", "floor")]


@pytest.mark.parametrize(("benchmark", "wanted"), [
    (relevance_speed, [*FAST, ("cp, fast over obvious", "ratio")]),
    (importance_speed, [("per token over leave one out", "ratio")]),
    (head_statistics, [("maps on disk", "bytes"), ("one pass", "bytes")]),
])  # fmt: skip
def test_benchmarks_keep_what_they_measure(benchmark, wanted):
    benchmark.main(TINY)
    assert set(wanted) <= set(check_kept(benchmark.__name__.rpartition(".")[2]).index)


def test_decoder_speed_keeps_ratios_and_operations():
    decoder_speed.main(TINY)
    table = check_kept("decoder_speed")
    assert ("relevance, obvious over relevance", "ratio") in table.index
    saved, naive = (table.value[f"leave one out{how} over what must be done", "operations"] for how in ("", ", obvious"))
    assert 1 <= saved < naive


def test_growth_keeps_an_exponent_of_every_measure_and_axis():
    growth.main(TINY)
    slopes = check_kept("growth").reset_index().query("quantity == 'exponent'")
    axes = [axis for axis in growth.AXES["tiny"] if axis != "standing"]
    assert slopes.groupby("group").what.nunique().to_dict() == dict.fromkeys(axes, 6)


def test_wrong_relevance_is_not_timed():
    batch = common.batch(SHAPE, 1, 4)
    runs = relevance_speed.variants(common.marian(SHAPE), batch, batch, "cp")
    targets, right = runs["fast"]
    runs["fast"] = targets, lambda: right() * (1 + 1e-3)
    with pytest.raises(SystemExit, match="cp, fast"):
        relevance_speed.check("cp", runs)


def test_wrong_importance_is_not_timed(model, text):
    runs = importance_speed.variants(model, text)
    right = runs["per token"]
    runs["per token"] = lambda: right()[::-1]
    with pytest.raises(SystemExit, match="per token"):
        importance_speed.check(runs)


def test_wrong_statistics_are_not_timed(model, text, tmp_path):
    found = head_statistics.in_one_pass(model, text)
    expected = head_statistics.from_disk(head_statistics.eager(model), text, tmp_path)
    found[2] = found[2][:, ::-1]
    with pytest.raises(SystemExit, match="differ"):
        head_statistics.check(found, expected)


def test_wrong_growth_is_not_timed():
    found = growth.case("tiny", "length", 4)
    calls = growth.measures(found)
    right = calls["importance per token"]
    with pytest.raises(SystemExit, match="differ"):
        growth.check(found, calls | {"importance per token": lambda: [part * 1.01 for part in right()]})
