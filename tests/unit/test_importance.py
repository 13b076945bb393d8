"""Leave-one-out and gradient importance against models whose heads are off, and against finite differences."""

from functools import partial

import numpy as np
import pytest
import torch

from helpers import heads, measures
from helpers.measures.worth import importance, leave_one_out
from helpers.scores import scoring
from helpers.study import StudyError
from tests.reference import frozen
from tests.reference import importance as slow
from tests.unit.tiny_models import SEQ2SEQ, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", ["marian", "t5", "opt", "gpt2"])
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def batches(family):
    """Two padded batches of three sentences; of one sentence all labels are ignored."""
    found = [tiny_batch(family, seed) for seed in (1, 2)]
    found[1]["labels"][1] = -100
    for batch in found:
        batch.pop("decoder_attention_mask", None)
    return found


@families
def test_leaving_a_head_out_is_cutting_it(family):
    model = frozen.exact(tiny_model(family))
    found = leave_one_out(model, iter(batches(family)), repeats=50)
    assert found.index.equals(heads.index(model))
    sentences, cuts = slow.read(model, batches(family)), [(address, None, 0.0) for address in found.index]
    losses = np.array([slow.losses(model, one, cuts) for one in sentences])
    # the fifth sentence has no labels, and counts all the same where sentences are drawn
    change = np.insert(losses[:, 1:] - losses[:, :1], 4, 0, axis=0)
    tokens = np.insert([len(one.predicts) for one in sentences], 4, 0)
    np.testing.assert_allclose(found.loss, change.sum(0) / tokens.sum(), rtol=0, atol=1e-10)
    # the bootstrap draws sentences, numerator and denominator together
    drawn = np.array([np.repeat(np.arange(6), times.astype(int)) for times in scoring.resamples(6, 50)])
    ratios = change[drawn].sum(1) / tokens[drawn].sum(1)[:, None]
    np.testing.assert_allclose(found.low, np.quantile(ratios, 0.025, axis=0), atol=1e-5)
    np.testing.assert_allclose(found.high, np.quantile(ratios, 0.975, axis=0), atol=1e-5)


def test_given_decoder_inputs_and_an_open_gate_are_respected():
    model, batch = tiny_model("marian").double(), batches("marian")[0]
    fed = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    plain = leave_one_out(model, [batch], repeats=2)
    assert leave_one_out(model, [{**batch, "decoder_input_ids": fed}], repeats=2).equals(plain)
    with heads.gate(model, {("decoder", 0, 1): 0.0}):
        gated = leave_one_out(model, [batch], repeats=2)
    assert (gated.loc["decoder", 0, 1] == 0).all() and (gated.drop(("decoder", 0, 1)).loss.abs() > 1e-9).all()


@families
@pytest.mark.parametrize("per", ["example", "token"])
def test_importance_is_its_definition(family, per):
    """Under gates of the model's own, one of them closed: without gates the matrix holds it."""
    model = frozen.exact(tiny_model(family))
    chosen = heads.index(model)[:: 7 if family in SEQ2SEQ else 3]
    standing = dict(zip(chosen, (0.0, -0.7, 1.4), strict=False))
    with heads.gate(model, standing):
        found = importance(model, iter(batches(family)), per=per, norm=None)
    assert found.index.equals(heads.index(model)) and found[chosen[0]] == 0
    expected = slow.importance(model, batches(family), per, chosen, standing)
    np.testing.assert_allclose(found[chosen], list(expected.values()), rtol=1e-6)


def test_importance_is_normalised_by_layer():
    model = tiny_model("marian").double()
    for address in (("cross", 1, 2), *(("encoder", 0, head) for head in range(4))):
        slow.columns(model, address).zero_()
    plain = importance(model, batches("marian"), norm=None)
    found = importance(model, batches("marian"), norm="layer")
    assert found.equals(measures.importance(model, batches("marian")))
    np.testing.assert_allclose(found, list(slow.layer_norm(plain.to_dict()).values()), rtol=1e-12)
    assert (found[[("encoder", 0, head) for head in range(4)]] == 0).all() and found["cross", 1, 2] == 0


@pytest.mark.parametrize("per", ["example", "token"])
def test_the_model_is_left_alone(per):
    model = tiny_model("marian")
    model.model.shared.weight.requires_grad_(False)
    before = [parameter.requires_grad for parameter in model.parameters()]
    with torch.no_grad():
        found = importance(model, batches("marian"), "cross", per=per, norm=None)
    assert [parameter.requires_grad for parameter in model.parameters()] == before
    assert all(parameter.grad is None for parameter in model.parameters())
    assert found.equals(importance(model.requires_grad_(False), batches("marian"), per=per, norm=None)[found.index])
    broken = {**batches("marian")[0]}
    broken["labels"] = broken["labels"] + 1000
    with pytest.raises(StudyError, match="beyond the model"):
        importance(model, [broken], per=per)
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("measure", [leave_one_out, importance, partial(importance, per="token")])
def test_nothing_to_measure_is_refused(measure):
    batch, first = batches("marian")[0], batches("opt")[0]
    ignored = {**batch, "labels": torch.full_like(batch["labels"], -100)}
    first["labels"][:, 1:] = -100  # the first token of a decoder-only model is predicted by nobody
    for family, nothing, said in (
        ("marian", [], "no target tokens"), ("marian", [ignored, ignored], "no target tokens"),
        ("opt", [first], "no target tokens"), ("marian", [{name: part[:0] for name, part in batch.items()}], "no sentences"),
        ("opt", [{"input_ids": batch["input_ids"]}], "needs labels"),
    ):  # fmt: skip
        with pytest.raises(StudyError, match=said):
            measure(tiny_model(family), nothing)
