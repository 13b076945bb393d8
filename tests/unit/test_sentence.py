"""One sentence of notebook 01: relevance on its way down, and the rule that the notebook writes out."""

import ast

import numpy as np
import pytest
import torch

from helpers import heads, models, study
from helpers.measures import sentence
from helpers.measures.lrp import explain
from helpers.measures.lrp.alpha_beta import Linear
from tests.reference import frozen, importance
from tests.unit.test_relevance import batch_for, small


def one(name):
    return {key: value[:1] for key, value in batch_for(name).items()}


@pytest.mark.parametrize("name", ["marian", "pegasus"])
def test_what_stands_between_layers_is_how_far_it_moves_the_logit(name):
    """In a model that is held to a straight line what a position writes is doubled: a logit moves by its relevance."""
    model, batch = small(name), one(name)
    top, found = sentence.flow(model, batch)
    twin, (read,) = frozen.Frozen(model, "cp"), importance.read(model, [batch])
    plain, layers = twin.logits(read)[0], heads.layers(twin.model, "encoder")
    assert top == plain.argmax(-1).tolist() and found.shape == (len(top), len(layers) + 1, read.inputs["input_ids"].shape[1])
    for place in range(found.shape[2]):
        for layer in range(len(layers)):

            def double(module, args, place=place):
                return (
                    args[0].index_put((torch.tensor(0), torch.tensor(place)), args[0][0, place], accumulate=True),
                    *args[1:],
                )

            hook = layers[layer].register_forward_pre_hook(double)
            moved = (twin.logits(read)[0] - plain)[range(len(top)), top]
            hook.remove()
            np.testing.assert_allclose(found[:, layer, place], moved, rtol=0, atol=1e-9 * np.abs(found).max())


def test_what_notebook_01_writes_out_gives_the_numbers_of_the_library():
    text = (study.ROOT / "notebooks" / "py" / "01_relevance_and_confidence.py").read_text(encoding="utf-8")
    own = (node for node in ast.parse(text).body if getattr(node, "name", "") in ("head_relevance", "alpha_beta"))
    exec("\n".join(map(ast.unparse, own)), here := {"torch": torch, "heads": heads, "library": models})
    model, batch = small("pegasus"), one("pegasus")
    wanted = explain(model, [batch], "attnlrp", "encoder").values[1]
    np.testing.assert_allclose(here["head_relevance"](model, batch, 1), wanted, rtol=0, atol=1e-9)
    x, given = torch.tensor([2.0, 3.0, -1.0]), torch.tensor([0.25, 0.75])
    weights = torch.tensor([[1.0, 2.0], [1.0, -1.0], [1.0, 4.0]])
    down = Linear(weights.T, None, x[None]).down(given[None, None])[0, 0]
    np.testing.assert_allclose(here["alpha_beta"](x, weights, given), down, rtol=1e-4)  # but for its epsilon
