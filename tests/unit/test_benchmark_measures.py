"""What benchmarks share, and the benchmarks of measures: what they keep, and that they time nothing wrong."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import __main__ as everything
from benchmarks import common, growth, head_statistics, importance_speed, relevance_speed
from helpers import study
from helpers.study import StudyError

MEGABYTES = 1 << 20
TINY = ["--size", "tiny", "--repeats", "2"]
SHAPE = common.SIZES["tiny"]


def facts(**more):
    said = common.begin(common.arguments("Nothing."), "nothing", TINY)
    return common.facts(said, 2, 1e-7, 1e-4, **more)


def frame():
    return pd.DataFrame([common.row("one", "tiny", "seconds", [3, 1, 2]), common.note("two", "tiny", "seconds", "not there")])


def first_third(numbers: np.ndarray) -> np.ndarray:
    return numbers[: len(numbers) // 3].copy()


# --- what they share -------------------------------------------------------------------------------------------------


def test_every_variant_runs_once_a_repeat_after_a_warm_up():
    order = []
    found = common.interleaved({name: partial(order.append, name) for name in "abc"}, repeats=20, seed=3)
    assert order[:3] == list("abc")
    repeats = [tuple(order[3 + 3 * n : 6 + 3 * n]) for n in range(20)]
    assert all(sorted(repeat) == list("abc") for repeat in repeats) and len(set(repeats)) > 3
    assert found.shape == (20, 3) and list(found) == list("abc")
    again = []
    common.interleaved({name: partial(again.append, name) for name in "abc"}, repeats=20, seed=3)
    assert again == order


def test_ratios_are_taken_within_repeats():
    seconds = pd.DataFrame({"plain": [1.0, 10.0, 100.0], "slow": [2.0, 30.0, 400.0]})
    found = common.ratios(seconds, "plain")
    assert found.loc["slow"].tolist() == [3, 2.5, 3.5] and found.loc["plain"].tolist() == [1, 1, 1]
    assert list(found) == ["value", "low", "high"]
    assert common.ratios(1 / seconds, "slow").loc["plain", "value"] == 3


def test_peak_memory_is_what_the_call_takes():
    prepared = partial(np.ones, 96 * MEGABYTES, np.uint8)  # is there before the call, and no part of it
    assert 30 < common.peak_memory(first_third, prepared) / MEGABYTES < 36


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


def test_rows_hold_median_and_quartiles():
    assert common.row("a", "b", "ratio", [4, 1, 2, 3, 5], "c") == dict(
        zip(common.COLUMNS, ("a", "b", "ratio", 3, 2, 4, 5, "c"), strict=True)
    )
    assert common.note("a", "b", "ratio", "c")["repeats"] == 0


def test_what_is_kept_says_where_it_comes_from():
    path = common.keep("nothing", frame(), facts(batch="small"))
    assert path == study.runs() / "benchmarks" / "tiny" / "nothing.csv"
    table, said = pd.read_csv(path), json.loads(path.with_suffix(".json").read_text())
    assert list(table) == common.COLUMNS and table.value[0] == 2 and math.isnan(table.value[1])
    assert said["command"] == "python -m benchmarks.nothing --size tiny --repeats 2"
    assert said["gate"] == {"difference": 1e-7, "bound": 1e-4} and said["batch"] == "small"
    assert {"commit", "hardware", "libraries", "threads", "device", "seconds", "repeats"} <= set(said)
    assert {"measures/lrp/signed", "../benchmarks/common"} <= set(said["modules"])
    assert sorted(file.name for file in path.parent.iterdir()) == ["nothing.csv", "nothing.json"]


def test_a_frame_of_another_form_is_refused():
    with pytest.raises(StudyError, match="columns"):
        common.keep("nothing", frame().drop(columns="note"), facts())
    with pytest.raises(StudyError, match="gate"):
        common.keep("nothing", frame(), {name: value for name, value in facts().items() if name != "gate"})


def test_what_is_kept_counts_for_the_same_command_code_and_numbers():
    command = facts()["command"]
    assert not common.kept("nothing", "tiny", command)
    path = common.keep("nothing", frame(), facts())
    assert common.kept("nothing", "tiny", command)
    assert not common.kept("nothing", "tiny", command + " --threads 1")
    assert not common.kept("nothing", "laptop", command)
    sidecar = path.with_suffix(".json")
    said = sidecar.read_text()
    for wrong in ({"version": "0"}, {"modules": ["../benchmarks/gone"]}):
        sidecar.write_text(json.dumps(json.loads(said) | wrong))
        assert not common.kept("nothing", "tiny", command)
    sidecar.write_text(said)
    path.write_text(path.read_text().replace("2.0", "1.0"))
    assert not common.kept("nothing", "tiny", command)


def test_no_repeats_are_refused(capsys):
    with pytest.raises(SystemExit):
        common.begin(common.arguments("Nothing."), "nothing", ["--repeats", "0"])
    assert "at least one repeat" in capsys.readouterr().err


# --- the benchmarks --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text():
    return head_statistics.Text("tiny", 4)


@pytest.fixture(scope="module")
def model(text):
    return common.marian(text.shape)


def check_kept(name: str) -> pd.DataFrame:
    path = study.runs() / "benchmarks" / "tiny" / f"{name}.csv"
    table, said = pd.read_csv(path).fillna({"note": ""}), json.loads(path.with_suffix(".json").read_text())
    assert list(table) == common.COLUMNS and not table.duplicated(["what", "group", "quantity"]).any()
    measured = table[table.repeats > 0]
    assert (measured.low <= measured.value).all() and (measured.value <= measured.high).all()
    assert (measured[measured.quantity != "exponent"].value > 0).all()
    assert table[table.repeats == 0].note.str.len().gt(0).all()
    assert 0 <= said["gate"]["difference"] <= said["gate"]["bound"] and said["repeats"] == 2
    return table.set_index(["what", "quantity"])


def test_relevance_speed_keeps_speeds_of_every_rule(capsys):
    relevance_speed.main(TINY)
    table = check_kept("relevance_speed")
    printed = capsys.readouterr().out
    for rule in ("alpha_beta", "attnlrp", "cp"):
        for name in ("fast", "obvious", "floor"):
            assert table.loc[(f"{rule}, {name}", "target tokens/s"), "repeats"] == 2
        assert (f"{rule}, fast over obvious", "ratio") in table.index
        speed = table.loc[(f"{rule}, fast", "target tokens/s"), "value"]
        assert f"\n{rule:<11}{speed:8.1f}/s: " in printed
    assert {("cp, both over reverse", "ratio"), ("cp, captum", "target tokens/s"), ("zennit", "target tokens/s")} <= set(
        table.index
    )


def test_importance_speed_keeps_examples_per_second():
    importance_speed.main(TINY)
    table = check_kept("importance_speed")
    for name in ("per example", "per example, obvious", "per token", "per token, obvious", "leave one out", "floor"):
        assert (name, "examples/s") in table.index
    assert ("per token over leave one out", "ratio") in table.index


def test_head_statistics_keep_tokens_per_second_and_bytes():
    head_statistics.main(TINY)
    table = check_kept("head_statistics")
    assert {("one pass", "tokens/s"), ("maps on disk", "tokens/s"), ("one pass over maps on disk", "ratio")} <= set(table.index)
    kept = table.xs("bytes", level="quantity").value
    assert kept["maps on disk"] > kept["one pass"]


def test_growth_keeps_an_exponent_of_every_measure_and_axis():
    growth.main(TINY)
    table = check_kept("growth").reset_index()
    slopes = table[table.quantity == "exponent"]
    axes = [axis for axis in growth.AXES["tiny"] if axis != "standing"]
    assert slopes.groupby("group").what.nunique().to_dict() == dict.fromkeys(axes, 6)
    points = table[(table.what == "relevance, cp") & (table.quantity == "seconds")].group
    assert {"length = 4", "heads = 8", "layers = 3", "sentences = 8"} <= set(points)


# --- nothing is timed that is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fast", "reverse"])
def test_wrong_relevance_is_not_timed(name):
    batch = common.batch(SHAPE, 1, 4)
    runs = relevance_speed.variants(common.marian(SHAPE), batch, batch, "cp")
    assert 0 <= relevance_speed.check("cp", runs) < relevance_speed.TOLERANCE
    targets, right = runs[name]
    runs[name] = targets, lambda: right() * (1 + 1e-3)
    with pytest.raises(SystemExit, match=f"cp, {name}"):
        relevance_speed.check("cp", runs)


@torch.no_grad()
def test_either_mode_alone_cuts_the_encoder_at_its_end():
    model, batch = common.marian(SHAPE), common.batch(SHAPE, 1, 4)
    for rule in ("cp", "attnlrp"):
        cuts = [relevance_speed.replay(model, batch, rule, targets).cut for targets in (0, relevance_speed.EVERYWHERE)]
        assert cuts == [0, 2 * SHAPE["layers"]]  # blocks: attention and feed-forward of every layer


@pytest.mark.parametrize("name", ["per example", "per token"])
def test_wrong_importance_is_not_timed(model, text, name):
    runs = importance_speed.variants(model, text)
    importance_speed.check(runs)
    right = runs[name]
    runs[name] = lambda: right()[::-1]
    with pytest.raises(SystemExit, match=name):
        importance_speed.check(runs)


def test_leaving_out_is_held_against_zeros_in_the_weights(model, text, monkeypatch):
    before = model.get_encoder().layers[0].self_attn.out_proj.weight.clone()
    importance_speed.check_left_out(model, text)
    after = model.get_encoder().layers[0].self_attn.out_proj.weight
    assert torch.equal(before, after) and after.dtype == torch.float32
    right = importance_speed.leave_one_out
    monkeypatch.setattr(importance_speed, "leave_one_out", lambda *given, **more: right(*given, **more) * 1.001)
    with pytest.raises(SystemExit, match="leave one out"):
        importance_speed.check_left_out(model, text)


@pytest.mark.parametrize("which", [0, 2])
def test_wrong_statistics_are_not_timed(model, text, tmp_path, which):
    found = head_statistics.in_one_pass(model, text)
    expected = head_statistics.from_disk(head_statistics.eager(model), text, tmp_path)
    assert len(found) == 3 and head_statistics.check(found, expected) < head_statistics.TOLERANCE
    found[which] = found[which][:, ::-1]
    with pytest.raises(SystemExit, match="differ"):
        head_statistics.check(found, expected)


def test_wrong_growth_is_not_timed():
    found = growth.case("tiny", "length", 4)
    calls = growth.measures(found)
    growth.check(found, calls)
    for name in (growth.STATISTICS, "importance per token"):
        right = calls[name]
        with pytest.raises(SystemExit, match="differ"):
            growth.check(found, calls | {name: lambda right=right: [part * 1.01 for part in right()]})


def test_exponents_are_slopes_of_logarithms():
    seconds = pd.DataFrame({4: [16.0, 3.0], 8: [64.0, 3.0], 16: [256.0, 3.0]})
    assert growth.exponents(seconds) == pytest.approx([2, 0])


@pytest.mark.parametrize(("axis", "point"), [("length", 16), ("heads", 8), ("layers", 3), ("sentences", 8)])
def test_one_axis_is_varied_at_a_time(axis, point):
    found = growth.case("tiny", axis, point)
    length, sentences = growth.AXES["tiny"]["standing"]
    config = found.model.config
    seen = {
        "length": found.batches[0]["labels"].shape[1], "heads": config.encoder_attention_heads,
        "layers": config.decoder_layers, "sentences": sum(len(batch["labels"]) for batch in found.batches),
    }  # fmt: skip
    assert seen == {"length": length, "heads": 4, "layers": 2, "sentences": sentences} | {axis: point}


# --- all of them -----------------------------------------------------------------------------------------------------


def test_a_benchmark_that_fails_does_not_stop_the_others(monkeypatch, capfd):
    monkeypatch.setattr(common, "NAMES", ("nowhere", "head_statistics"))
    with pytest.raises(SystemExit, match=r"failed: nowhere$"):
        everything.main(TINY)
    check_kept("head_statistics")
    capfd.readouterr()
    everything.main([*TINY, "--only", "head_statistics"])
    assert capfd.readouterr().out == "head_statistics: kept already\n"
