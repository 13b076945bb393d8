"""What the head table has of today's models: first token, output norm, groups, first-order estimates (twins: tests/matrix)."""

import numpy as np
import pandas as pd
import pytest

from helpers import measures
from helpers.heads import index
from helpers.measures.table import GROUP, groups, head_table
from tests.unit.tiny_models import TODAY, tiny_batch, tiny_model


@pytest.mark.parametrize("family", [*TODAY, "gpt2"])
def test_a_query_head_knows_its_key_value_head(family):
    model = tiny_model(family, attention="eager")
    shared = getattr(model.config, "num_key_value_heads", None) == 2
    expected = {address: float(address[2] // 2) if shared else np.nan for address in index(model)}
    assert groups(model).equals(pd.Series(expected).rename_axis(["kind", "layer", "head"]))
    table = head_table(model, [tiny_batch(family)])
    assert table[GROUP].equals(groups(model)) and table.drop(columns=[GROUP, measures.table.FUNCTIONS]).notna().all(axis=None)
    assert {"RelP, cp", "RelP, attnlrp", "gradient, signed", "output norm", "first token"} <= set(table)
