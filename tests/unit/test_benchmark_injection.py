"""What the benchmark of injection reads and compares with, and what it says before and after it times."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext

import pytest
import torch

from benchmarks import coreference_injection as bench
from tests.reference import coreference as slow

TINY = {"layers": 2, "decoder_layers": 1, "width": 32, "feed_forward": 32, "tokens": 512, "dropout": 0.0}


@pytest.fixture(scope="module")
def text():
    return bench.read(TINY["tokens"], 12)


def test_the_obvious_way_is_a_product_with_the_full_link(text):
    clusters = text.clusters[:3]
    length = 1 + max(token for own in clusters for cluster in own for mention in cluster for token in mention)
    states = torch.randn(3, length, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrices = torch.tensor([slow.full(own, length) for own in clusters], dtype=torch.float64)
    torch.testing.assert_close(bench.over_clusters(states, clusters), matrices @ states)


@pytest.fixture(autouse=True)
def few_tokens(monkeypatch):
    """What is written need not be long here."""
    monkeypatch.setattr(bench, "NEW_TOKENS", 4)


@contextmanager
def of_the_next_head(model, addresses, links):
    with bench_injected(model, [(kind, layer, (head + 1) % 8) for kind, layer, head in addresses], links):
        yield


bench_injected, bench_mixed = bench.injected, bench.mixed


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("injected", of_the_next_head, "full link, 1 head a layer: .* not those of means"),
        ("mixed", lambda model, layers, links: bench_mixed(model, layers, links, 0.31), "mixed .* not those of means"),
        ("mixed", lambda model, layers, links: bench_mixed(model, layers[1:], links), "mixed .* not those of means"),
    ],
)
def test_nothing_is_timed_where_a_block_computes_something_else(monkeypatch, text, name, wrong, said):
    monkeypatch.setattr(bench, name, wrong)
    with pytest.raises(SystemExit, match=said):
        bench.check(TINY, text)


def test_nothing_is_timed_where_both_ways_do_nothing(monkeypatch, text):
    bench.check(TINY, text)
    for name in ("injected", "obvious"):
        monkeypatch.setattr(bench, name, lambda *args, **options: nullcontext())
    with pytest.raises(SystemExit, match="what it did without"):
        bench.check(TINY, text)


def test_every_variant_has_a_model_of_its_own_and_blocks_are_closed(text):
    with ExitStack() as opened:
        runs = bench.variants(bench.model_of(TINY, text.vocabulary), text, opened)
        hooked = {name for name, (_, run) in runs.items() if run.model.get_encoder()._forward_pre_hooks}
        assert hooked == runs.keys() - {bench.STEP, bench.NOISE, bench.GENERATION} and len(hooked) == 5
        assert len({id(run.model) for _, run in runs.values()}) == len(runs) == 8
        assert runs[bench.GENERATION][1](text.batches[0]).shape[1] == 1 + bench.NEW_TOKENS
        before = {name: run.model.model.shared.weight.detach().clone() for name, (_, run) in runs.items()}
        for name, (plain, run) in runs.items():
            assert plain == (bench.GENERATION if name.startswith(bench.GENERATION) else bench.STEP)
            run(text.batches[-1])
            trained = not torch.equal(run.model.model.shared.weight, before[name])
            assert trained == (plain == bench.STEP)
    assert not any(run.model.get_encoder()._forward_pre_hooks for _, run in runs.values())


def test_ratios_are_taken_to_the_plain_variant_and_the_aim_is_judged(text):
    table, ratios, apart = bench.measure(TINY, text, repeats=2)
    table = table.set_index("variant", drop=False)
    assert all(len(own) == 2 for own in ratios.values()) and 0 <= apart <= bench.TOLERANCE
    for plain in (bench.STEP, bench.GENERATION):
        assert table.ratio[plain] == (1, 1, 1)
    assert table.seconds.gt(0).all() and len(table) == 8
    for ratio, verdict in ((1.10, "reached (1.100)"), (1.11, "missed (1.110)")):
        table.at[bench.MEASURED, "ratio"] = (1.0, ratio, 2.0)
        assert bench.lines(table)[-1].endswith(verdict)
