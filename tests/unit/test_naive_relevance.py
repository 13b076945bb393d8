"""Relevance the way it is taught gives the numbers of the fast way."""

import ast
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from helpers import heads, models, study
from helpers.measures import sentence
from helpers.measures.lrp import conservation, explain, naive
from helpers.models import inputs
from helpers.study import StudyError
from tests.unit.test_relevance import batch_for, small


def one(name):
    return {key: value[:1] for key, value in batch_for(name).items()}


@pytest.mark.parametrize("name", ["marian", "bart", "mbart", "pegasus"])
def test_the_naive_way_gives_the_numbers_of_the_fast_one(name):
    model, batch = small(name), one(name)
    found, flow, top = naive.explain(model, batch)
    assert np.allclose(found, explain(model, [batch], "cp").values, rtol=0, atol=1e-10 * np.abs(found).max())
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


def test_a_sentence_is_found_again_by_its_tokens():
    ids = [4, 5, 2]
    subject = SimpleNamespace(
        source=SimpleNamespace(pieces=list), encoded=SimpleNamespace(source=[[4, 5, 6, 2], [4, 6, 2], ids])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence, "single", lambda _, place: place)
        assert sentence.batch_of(subject, {"source": ids}) == 2


def test_what_notebook_01_writes_out_gives_the_numbers_of_the_library():
    text = (study.ROOT / "notebooks" / "py" / "01_relevance_and_confidence.py").read_text(encoding="utf-8")
    written = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name in ("down", "down_to_heads", "add")
    ]
    model, batch = small("mbart").double().requires_grad_(False), one("mbart")
    wanted = explain(model, [batch], "alpha_beta", "cross")
    last = wanted.heads.get_level_values("layer") == len(model.get_decoder().layers) - 1
    here = {"torch": torch, "library": models, "model": model, "decoder": model.get_decoder(), "batch": batch}
    exec("\n".join(map(ast.unparse, written)), here)
    for target in range(len(wanted.values)):
        here["target"] = target
        np.testing.assert_allclose(here["down_to_heads"](), wanted.values[target, last], rtol=0, atol=1e-9)


def test_what_goes_through_a_block_is_what_the_model_reads_and_weighs():
    model, batch, weights = small("mbart"), one("mbart"), {}
    with heads.record(model, lambda site, of_heads: weights.update({site.layer: of_heads}), kinds="encoder"):
        below = model(**inputs(batch), output_hidden_states=True).encoder_hidden_states
    for layer in range(2):
        block = naive.one_block(model, batch, 1, layer)
        np.testing.assert_allclose(block["A"], weights[layer][0].detach(), atol=1e-12)
        np.testing.assert_allclose(block["x"], below[layer][0].detach(), atol=1e-12)
        assert block["R"].shape == block["x"].shape
    assert naive.one_block(small("marian"), one("marian"), 0, 0) == {}
