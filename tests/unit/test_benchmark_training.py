"""What the benchmark of training loops compares, and that the benchmarks of the training side keep what they measure."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from benchmarks import common, coreference_injection, generator_speed, group_constraint, heads_overhead, removed_heads
from benchmarks import training_speed as bench


@pytest.fixture(scope="module")
def text():
    return bench.read(bench.SIZES["tiny"])


def test_nothing_is_timed_where_losses_differ(monkeypatch, text):
    assert 0 <= bench.check("tiny", text) <= bench.TOLERANCE
    other = dict(bench.LOOPS)
    other[bench.TRAINER] = lambda model, text, plan: bench.trainer(model, text, plan | {"learning_rate": 3.1e-3})
    monkeypatch.setattr(bench, "LOOPS", other)
    with pytest.raises(SystemExit, match="losses"):
        bench.check("tiny", text)


def test_speed_counts_tokens_without_padding_from_the_first_timed_step_to_the_last(text):
    seen = bench.Watch(begun=[0.0, 1.0, 3.0, 7.0, 15.0])
    steps = [text.batch(text.groups[step]) for step in (2, 3)]
    tokens = sum(int(batch["attention_mask"].sum() + (batch["labels"] != -100).sum()) for batch in steps)
    assert seen.speed(text, skip=2) == pytest.approx(tokens / 12)


def test_training_speed_keeps_speeds_and_ratios(monkeypatch):
    monkeypatch.setattr(bench, "CHECKED", 2)
    bench.main(["--size", "tiny", "--repeats", "2"])
    frame = kept("training_speed")
    speeds, ratios = (frame[frame.quantity == name].set_index("what") for name in ("tokens/s", "ratio"))
    assert list(speeds.index) == list(ratios.index) == list(bench.LOOPS)
    assert (speeds.value > 0).all() and (speeds.repeats == 2).all()
    assert (ratios.loc[bench.TRAINER, ["value", "low", "high"]] == 1).all()


def kept(name):
    frame = pd.read_csv(common._path(name, "tiny"))
    assert list(frame) == common.COLUMNS
    assert (frame.low <= frame.value).all() and (frame.value <= frame.high).all()
    return frame


def test_heads_overhead_keeps_ratios_and_stops_where_outputs_differ(monkeypatch):
    monkeypatch.setitem(heads_overhead.SIZES["tiny"], "memory", ())
    heads_overhead.main(["--size", "tiny", "--repeats", "2"])
    frame = kept("heads_overhead")
    ratios = frame[frame.quantity == "ratio"].set_index("what")
    assert ratios.value[heads_overhead.STEP] == ratios.value["forward"] == 1 and len(ratios) == 10
    true = heads_overhead.gate
    monkeypatch.setattr(
        heads_overhead, "gate", lambda model, values: true(model, {name: 0 * own for name, own in values.items()})
    )
    with pytest.raises(SystemExit, match="gates"):
        heads_overhead.check(*heads_overhead.prepared("tiny", "cpu"))


def test_what_takes_memory_is_a_call_of_one_variant():
    given = heads_overhead.one(heads_overhead.PENALTY, "tiny", "cpu")
    assert isinstance(given[0], heads_overhead.GatedTraining)
    step, batch, _ = group_constraint.one(group_constraint.MEASURED, "tiny")
    before = step.model.model.shared.weight.detach().clone()
    group_constraint.two_steps((step, batch, None))
    assert step.trained.term is not None and not torch.equal(step.model.model.shared.weight, before)
    step, batches, (_, opened) = coreference_injection.one(coreference_injection.MEASURED, "tiny")
    with opened:
        assert step.model.get_encoder()._forward_pre_hooks and len(batches) == 2


def test_group_constraint_keeps_ratios_and_operations():
    group_constraint.main(["--size", "tiny", "--repeats", "2"])
    frame = kept("group_constraint")
    ratios, counts = (frame[frame.quantity == name].set_index("what") for name in ("ratio", "FLOPs ratio"))
    assert ratios.value[group_constraint.PLAIN] == counts.value[group_constraint.PLAIN] == 1
    assert set(ratios.index) - set(counts.index) == {group_constraint.OBVIOUS}
    assert set(frame.group) == {"2+2 layers, width 32"}


def test_coreference_injection_keeps_ratios(monkeypatch):
    monkeypatch.setattr(coreference_injection, "NEW_TOKENS", 4)
    coreference_injection.main(["--size", "tiny", "--repeats", "2"])
    ratios = kept("coreference_injection").query("quantity == 'ratio'").set_index("what")
    assert ratios.value[coreference_injection.STEP] == ratios.value[coreference_injection.GENERATION] == 1 and len(ratios) == 8


def test_removed_heads_keep_speed_ups_beside_the_ceiling(monkeypatch):
    removed_heads.main(["--size", "tiny", "--repeats", "2"])
    frame = kept("removed_heads")
    assert set(frame["what"]) == {
        f"{which}, {form}" for which in ("encoder", "all kinds") for form in ("removed", "masked", "ceiling")
    }
    ceiling = frame[frame["what"] == "all kinds, ceiling"].set_index("group").value
    assert (ceiling > 1).all() and (ceiling < 3).all()
    monkeypatch.setattr(removed_heads, "remove", lambda model, heads: model)
    with pytest.raises(SystemExit, match="values differ"):
        removed_heads.main(["--size", "tiny", "--repeats", "2"])


def test_the_generator_is_timed_only_if_it_repeats_itself(monkeypatch):
    monkeypatch.setitem(generator_speed.SIZES, "tiny", 5)
    generator_speed.main(["--size", "tiny", "--repeats", "2"])
    assert len(kept("generator_speed")) == 6
    made = iter(range(10))
    monkeypatch.setattr(generator_speed.world, "generate", lambda *given, **more: next(made))
    with pytest.raises(SystemExit, match="second"):
        generator_speed.check("news", "de", 5)
