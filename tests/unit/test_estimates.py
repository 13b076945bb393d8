"""What the head table has of today's models: first token, output norm, groups, first-order estimates; relevance by its twin."""

import numpy as np
import pandas as pd
import pytest

from helpers import measures
from helpers.heads import index
from helpers.measures.lrp import explain, relp
from helpers.measures.table import GROUP, groups, head_table
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


@pytest.mark.parametrize("family", [*TODAY, "gpt2"])
def test_a_query_head_knows_its_key_value_head(family):
    model = tiny_model(family, attention="eager")
    shared = getattr(model.config, "num_key_value_heads", None) == 2
    expected = {address: float(address[2] // 2) if shared else np.nan for address in index(model)}
    assert groups(model).equals(pd.Series(expected).rename_axis(["kind", "layer", "head"]))
    table = head_table(model, [tiny_batch(family)])
    assert table[GROUP].equals(groups(model)) and table.drop(columns=[GROUP, measures.table.FUNCTIONS]).notna().all(axis=None)
    assert {"RelP, cp", "RelP, attnlrp", "gradient, signed", "output norm", "first token"} <= set(table)
