"""What the benchmark of the group constraint compares with, and what it says before and after it times."""

from __future__ import annotations

import pytest
import torch

from benchmarks import group_constraint as bench
from helpers.heads import sites
from helpers.methods import grouping
from helpers.models import inputs
from tests.reference import grouping as reference

TINY = {"layers": 2, "width": 32, "feed_forward": 32, "vocabulary": 60, "tokens": 160, "longest": 10}


@pytest.fixture(scope="module")
def batch():
    return bench.batch_of(TINY)


@pytest.mark.parametrize("seed", range(4))
def test_explicit_terms_are_those_of_the_definition(seed):
    vectors = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    labels, near, apart = bench.explicit_terms(vectors)
    expected = reference.k_means(vectors.tolist(), grouping.starts(8, bench.GROUPS, bench.SEED))
    assert reference.by_first_head(labels.tolist()) == expected
    assert float(near) == pytest.approx(reference.homogeneity(vectors.tolist(), expected))
    assert float(apart) == pytest.approx(reference.diversity(vectors.tolist(), expected))


def test_the_obvious_constraint_counts_padding(batch):
    model = bench.model_of(TINY, dropout=0.0)
    obvious = bench.Explicit(model).train()
    obvious(**inputs(batch))
    expected = {}
    for padding in (False, True):
        with grouping.watch(model, "V", padding=padding) as watched:
            watched.feed(batch)
            model(**inputs(batch), use_cache=False)
        tables = torch.stack(watched.grams)
        labels = grouping.clusters(tables, bench.GROUPS, bench.SEED)
        expected[padding] = grouping.group_loss(tables, labels, bench.GROUPS, bench.ALPHA, bench.BETA)[0].mean().item()
    assert obvious.term.item() == pytest.approx(expected[True], rel=1e-4)
    assert obvious.term.item() != pytest.approx(expected[False], rel=1e-2)
    obvious.eval()
    obvious(**inputs(batch))
    assert obvious.term is None


def test_nothing_is_timed_where_groups_differ(monkeypatch):
    bench.check(TINY)
    monkeypatch.setattr(bench, "starts", lambda heads, groups, seed: [0, 1])  # of the obvious K-means alone
    with pytest.raises(SystemExit, match="groups"):
        bench.check(TINY)


class OtherTerm(bench.Explicit):
    def forward(self, **fed):
        out = super().forward(**fed)
        self.term = self.term * 1.001
        return out


class NoGradient(bench.Explicit):
    def forward(self, **fed):
        out = super().forward(**fed)
        self.term = self.term.detach()
        return out


class OtherLogits(bench.Explicit):
    def forward(self, **fed):
        out = super().forward(**fed)
        out.logits = out.logits * 1.01
        return out


@pytest.mark.parametrize(
    ("wrong", "said"), [(OtherTerm, "losses differ"), (NoGradient, "Gradients of"), (OtherLogits, "cross-entropy of")]
)
def test_nothing_is_timed_where_a_step_differs(monkeypatch, wrong, said):
    monkeypatch.setattr(bench, "Explicit", wrong)
    with pytest.raises(SystemExit, match=said):
        bench.check(TINY)


def test_extra_operations_are_three_gram_products_a_layer(batch):
    model = bench.model_of(TINY)
    steps = bench.variants(model, 1)
    source, target = int(batch["attention_mask"].sum()), int((batch["labels"] != -100).sum())
    numbers = sum((target if site.kind == "decoder" else source) * site.head_dim for site in sites(model))
    extra = steps[bench.MEASURED].flops(batch) - steps[bench.PLAIN].flops(batch)
    gram = 3 * 2 * 8**2 * numbers  # forward, and back to both factors
    assert gram <= extra < 1.15 * gram  # small tables beside


def test_padding_changes_nothing_where_there_is_none(batch):
    model = bench.model_of(TINY)
    without = bench.padding(model, bench.batch_of(TINY, padded=False))
    assert (without[["moved", "change"]] == 0).all(axis=None)
    assert (bench.padding(model, batch)["change"] > 0).all()
    assert without["which"].tolist() == list(grouping.MAPS) and (without["heads"] == 48).all()


def test_ratios_are_taken_to_the_plain_step_and_the_aim_is_judged():
    table, times, apart = bench.measure(TINY, repeats=2)
    table = table.set_index("variant", drop=False)
    assert times.shape == (2, 8) and 0 <= apart <= bench.TOLERANCE
    assert table.ratio[bench.PLAIN] == (1, 1, 1) and table.to_bare[bench.BARE] == (1, 1, 1)
    assert table.seconds.gt(0).all() and table.extra_flops[bench.PLAIN] == 0
    for ratio, verdict in ((1.25, "reached (1.250)"), (1.26, "missed (1.260)")):
        table.at[bench.MEASURED, "ratio"] = (1.0, ratio, 2.0)
        assert bench.lines(table)[-1].endswith(verdict)
    assert bench.quartiles([2, 4, 6], [2, 2, 2]) == (1.5, 2, 2.5)
