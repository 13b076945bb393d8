"""Relevance the way it is taught gives the numbers of the fast way."""

import numpy as np
import pytest

from helpers.measures.lrp import conservation, explain, naive
from helpers.models import inputs
from helpers.study import StudyError
from tests.unit.test_relevance import batch_for, small


def one(name):
    return {key: value[:1] for key, value in batch_for(name).items()}


@pytest.mark.parametrize("name", ["marian", "bart", "mbart", "pegasus"])
def test_the_naive_way_gives_the_numbers_of_the_fast_one(name):
    model, batch = small(name), one(name)
    heads, flow, top = naive.explain(model, batch)
    assert np.allclose(heads, explain(model, [batch], "cp").values, rtol=0, atol=1e-10 * np.abs(heads).max())
    logits = model(**inputs(batch)).logits[0, : len(top)].detach()
    assert top == logits.argmax(-1).tolist()
    shares = conservation(model, [batch], "cp")
    assert flow[:, 0].sum() == pytest.approx(shares["source"] * float(logits.max(-1).values.sum()))
    assert flow.shape == (len(top), model.config.encoder_layers + 1, int(batch["attention_mask"].sum()))


def test_what_it_is_not_written_for():
    with pytest.raises(StudyError, match="not for t5"):
        naive.explain(small("t5"), one("t5"))
    with pytest.raises(StudyError, match="one sentence"):
        naive.explain(small("marian"), batch_for("marian"))
