"""What the head table has of today's models: first token, output norm, groups, first-order estimates; relevance by its twin."""

import numpy as np
import pandas as pd
import pytest

from helpers import measures
from helpers.heads import gate, index
from helpers.measures import functions
from helpers.measures.lrp import explain, relp
from helpers.measures.table import GROUP, groups, head_table
from helpers.measures.worth import importance, mean_loss, patching, prepared, slopes
from tests.reference import frozen
from tests.unit.tiny_models import EAGER_ALONE, TODAY, left, singles, tiny_batch, tiny_model

DECODERS = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3")
RULES = ("cp", "attnlrp")
rules = pytest.mark.parametrize("rule", RULES)


def exact(family):
    """A model in double precision, its norms and softmaxes too."""
    return frozen.exact(tiny_model(family, attention="eager" if family in EAGER_ALONE else "sdpa"))


def same(found, wanted, tolerance=1e-10):
    assert sorted(found.index) == sorted(wanted)
    np.testing.assert_allclose(found, [wanted[address] for address in found.index], rtol=0, atol=tolerance)


@rules
@pytest.mark.parametrize("family", [*DECODERS, "gpt2", "gpt_neox", "bert"])
def test_relevance_is_its_slow_twin(family, rule):
    model, batch = exact(family), tiny_batch(family)
    mean, rows = frozen.relevance(model, [batch], rule)
    patched = frozen.patched(model, [batch], rule)
    if family in EAGER_ALONE:
        model.set_attn_implementation("eager")
    found = explain(model, [batch], rule)
    same(found.series(None), mean)
    wanted = np.array([[row[address] for address in found.heads] for row in rows])
    np.testing.assert_allclose(found.values, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())
    assert np.abs(wanted).max() > 0.3
    for batches in ([batch], singles(batch)):
        same(relp(model, batches, rule), patched)
    same(relp(model, [left(batch)], rule), patched, 1e-6)  # sines of positions are in single precision
    assert max(map(abs, patched.values())) > 0.01


def test_gates_count_in_estimates_and_a_closed_head_has_none():
    model, batch, closed = tiny_model("llama").double(), tiny_batch("llama"), ("decoder", 1, 2)
    for measure in (patching, lambda *given: relp(*given, "attnlrp"), functions.output_norm):
        plain = measure(model, [batch])
        with gate(model, {closed: 0.0, ("decoder", 0, 1): 0.5}):
            found = measure(model, [batch])
        assert found[closed] == 0 != plain[closed] and not np.allclose(found.drop(closed), plain.drop(closed), rtol=1e-3)


@pytest.mark.parametrize("family", ["llama", "marian"])
def test_slopes_are_those_of_the_loss_and_what_importance_and_patching_sum(family):
    model, batches, address = exact(family), singles(tiny_batch(family)), index(tiny_model(family))[-1]
    rise = -mean_loss(model, batches)
    with gate(model, {address: 1 - 1e-5}):
        rise += mean_loss(model, batches)
    assert rise / 1e-5 == pytest.approx(patching(model, batches)[address], rel=1e-3)
    found, tokens = slopes(model, batches), sum(int((wanted != -100).sum()) for _, wanted in prepared(model, batches))
    same(found.abs().mean(), importance(model, batches, norm=None).to_dict())
    same(-found.sum() / tokens, patching(model, batches).to_dict())


@pytest.mark.parametrize("family", [*TODAY, "gpt2"])
def test_a_query_head_knows_its_key_value_head(family):
    model = tiny_model(family, attention="eager")
    shared = getattr(model.config, "num_key_value_heads", None) == 2
    expected = {address: float(address[2] // 2) if shared else np.nan for address in index(model)}
    assert groups(model).equals(pd.Series(expected).rename_axis(["kind", "layer", "head"]))
    table = head_table(model, [tiny_batch(family)])
    assert table[GROUP].equals(groups(model)) and table.drop(columns=[GROUP, measures.table.FUNCTIONS]).notna().all(axis=None)
    assert {"RelP, cp", "RelP, attnlrp", "gradient, signed", "output norm", "first token"} <= set(table)
