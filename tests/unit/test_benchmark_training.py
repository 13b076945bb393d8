"""What the benchmark of training loops compares, and that the benchmarks of the training side keep what they measure."""

import pandas as pd
import pytest
import torch

from benchmarks import (
    common,
    generator_speed,
    group_constraint,
    heads_overhead,
    pruned_models,
    removed_heads,
)
from benchmarks import coreference_injection as injection
from benchmarks import training_speed as bench
from helpers.methods import grouping
from tests.reference import coreference as slow_links
from tests.reference import grouping as slow_groups

TINY = ["--size", "tiny", "--repeats", "1"]


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
    bench.main(TINY)
    frame = kept("training_speed")
    speeds, ratios = (frame[frame.quantity == name].set_index("what") for name in ("tokens/s", "ratio"))
    assert list(speeds.index) == list(ratios.index) == list(bench.LOOPS) and (speeds.value > 0).all()
    assert (ratios.loc[bench.TRAINER, ["value", "low", "high"]] == 1).all()


def kept(name):
    frame = pd.read_csv(common._path(name, "tiny"))
    assert (frame.low <= frame.value).all() and (frame.value <= frame.high).all()
    return frame


def test_heads_overhead_keeps_ratios_and_stops_where_outputs_differ(monkeypatch):
    monkeypatch.setitem(heads_overhead.SIZES["tiny"], "memory", ())
    heads_overhead.main(TINY)
    frame = kept("heads_overhead")
    ratios = frame[frame.quantity == "ratio"].set_index("what")
    assert ratios.value[heads_overhead.STEP] == ratios.value["forward"] == 1
    true = heads_overhead.gate
    closed = lambda model, values: true(model, {name: 0 * own for name, own in values.items()})  # noqa: E731
    monkeypatch.setattr(heads_overhead, "gate", closed)
    with pytest.raises(SystemExit, match="gates"):
        heads_overhead.check(*heads_overhead.prepared("tiny", "cpu"))


@pytest.mark.parametrize("seed", range(4))
def test_the_obvious_terms_are_those_of_the_definition(seed):
    vectors = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    labels, near, apart = group_constraint.explicit_terms(vectors)
    (first,) = grouping.units.starts(8, group_constraint.GROUPS, group_constraint.SEED)
    expected = slow_groups.k_means(vectors.tolist(), first)
    assert slow_groups.by_first_head(labels.tolist()) == expected
    assert float(near) == pytest.approx(slow_groups.homogeneity(vectors.tolist(), expected))
    assert float(apart) == pytest.approx(slow_groups.diversity(vectors.tolist(), expected))


class OtherTerm(group_constraint.Explicit):
    def forward(self, **fed):
        out = super().forward(**fed)
        self.term = self.term * 1.001
        return out


def test_group_constraint_keeps_ratios_and_operations_and_stops_where_a_step_differs(monkeypatch):
    group_constraint.main(TINY)
    frame = kept("group_constraint")
    ratios, counts = (frame[frame.quantity == name].set_index("what") for name in ("ratio", "FLOPs ratio"))
    assert ratios.value[group_constraint.PLAIN] == counts.value[group_constraint.PLAIN] == 1
    monkeypatch.setattr(group_constraint, "Explicit", OtherTerm)
    with pytest.raises(SystemExit, match="losses differ"):
        group_constraint.main(TINY)


def test_the_obvious_injection_is_a_product_with_the_full_link():
    clusters = injection.read(512, 12).clusters[:3]
    length = 1 + max(token for own in clusters for cluster in own for mention in cluster for token in mention)
    states = torch.randn(3, length, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrices = torch.tensor([slow_links.full(own, length) for own in clusters], dtype=torch.float64)
    torch.testing.assert_close(injection.over_clusters(states, clusters), matrices @ states)


def test_coreference_injection_keeps_ratios_and_stops_where_a_block_computes_something_else(monkeypatch):
    monkeypatch.setattr(injection, "NEW_TOKENS", 4)
    injection.main(TINY)
    ratios = kept("coreference_injection").query("quantity == 'ratio'").set_index("what")
    assert ratios.value[injection.STEP] == ratios.value[injection.GENERATION] == 1
    true = injection.mixed
    monkeypatch.setattr(injection, "mixed", lambda model, layers, links: true(model, layers, links, 0.31))
    with pytest.raises(SystemExit, match=r"mixed .* not those of means"):
        injection.main(TINY)


def test_removed_heads_keep_speed_ups_beside_the_ceiling(monkeypatch):
    removed_heads.main(TINY)
    frame = kept("removed_heads")
    ceiling = frame[frame["what"] == "all kinds, ceiling"].set_index("group").value
    assert (ceiling > 1).all() and (ceiling < 3).all()
    monkeypatch.setattr(removed_heads, "remove", lambda model, heads: model)
    with pytest.raises(SystemExit, match="values differ"):
        removed_heads.main(TINY)


def test_pruned_models_keep_what_is_saved_by_share_of_heads(monkeypatch):
    pruned_models.main(TINY)
    frame = kept("pruned_models")
    assert {"parameters", "cache bytes", "time of a prompt", "time of a token"} <= set(frame.quantity)
    assert frame.value[frame.quantity == "cache bytes"].between(0, 1).all()
    monkeypatch.setattr(pruned_models, "remove", lambda model, heads: model)
    with pytest.raises(SystemExit, match="values differ"):
        pruned_models.main(TINY)


def test_the_generator_is_timed_only_if_it_repeats_itself(monkeypatch):
    monkeypatch.setitem(generator_speed.SIZES, "tiny", 5)
    generator_speed.main(TINY)
    assert (kept("generator_speed").value > 0).all()
    made = iter(range(10))
    monkeypatch.setattr(generator_speed.world, "generate", lambda *given, **more: next(made))
    with pytest.raises(SystemExit, match="second"):
        generator_speed.check("news", "de", 5)
