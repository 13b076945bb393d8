"""Head relevance: against the slow relprop, batched against single, under gates, injection and removal, and bad input."""

import weakref
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from helpers import measures
from helpers.heads import gate, inject, sites
from helpers.measures import lrp
from helpers.measures.lrp import RULES, SIGNED, BySentence, Explained, explain, relevance, summed
from helpers.measures.lrp.alpha_beta import AlphaBeta
from helpers.measures.lrp.graph import Graph
from helpers.study import StudyError
from tests.reference import frozen
from tests.reference import relevance as slow
from tests.unit.tiny_models import EAGER_ALONE, EVERY, tiny_batch, tiny_model

VARIANTS = {  # marian: post-norm, swish
    "marian": {}, "mbart": {}, "pegasus": {"activation_function": "relu"}, "t5": {},
    "t5 gated": {"feed_forward_proj": "gated-gelu"}, "t5 scaled": {"tie_word_embeddings": True}, "opt": {},
    "opt post-norm": {"do_layer_norm_before": False, "word_embed_proj_dim": 24},
    "opt bare": {"layer_norm_elementwise_affine": False, "enable_bias": False}, "gemma2": {}, "phi3": {},
}  # fmt: skip
rules = pytest.mark.parametrize("rule", RULES)


@cache
def small(name: str, dtype=torch.float64):
    """A tiny model whose norms and biases of logits are random, too: nothing is 0 or 1 by chance."""
    model = tiny_model(name.partition(" ")[0], attention="eager" if name in EAGER_ALONE else "sdpa", **VARIANTS[name])
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight_name, weight in model.named_parameters():
            if "norm" in weight_name:
                weight += torch.randn(weight.shape, generator=generator) * 0.3
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(generator=generator)
    return model.to(dtype)


def batch_for(name: str) -> dict[str, torch.Tensor]:
    batch = tiny_batch(name.partition(" ")[0])
    batch.pop("decoder_attention_mask", None)
    return batch


def values_of(explained, heads: pd.MultiIndex) -> np.ndarray:
    return np.array([[found[address] for address in heads] for found in explained])


def gap(values: np.ndarray, truth: np.ndarray) -> float:
    """Largest difference, as a share of the largest value."""
    assert values.shape == truth.shape
    return np.abs(values - truth).max() / np.abs(truth).max()


def tolerance(name: str) -> float:
    return 1e-6 if name.startswith("opt") else 1e-10  # OPT's eager softmax, which shows the weights, is in float32


@pytest.mark.parametrize("name", ["pegasus", "opt post-norm"])
def test_relevance_is_that_of_the_slow_relprop(name):
    """Of others with gates, below, and of every family in the matrix."""
    model, batch = small(name), batch_for(name)
    found, truth = explain(model, [batch], "alpha_beta"), [e for row in range(3) for e in slow.explain(model, batch, row)]
    assert gap(found.values, values_of(truth, found.heads)) < tolerance(name) and found.values.min() >= 0


@pytest.mark.parametrize("rule", SIGNED)
@pytest.mark.parametrize("name", ["marian", "t5 gated", "t5 scaled", "opt post-norm", "opt bare", "gemma2", "phi3"])
def test_signed_relevance_is_that_of_its_slow_twin(name, rule):
    """Of what the matrix does not have: biases of logits, variants of families; and caps on scores, to the last digits."""
    model, batch = frozen.exact(deepcopy(small(name))), batch_for(name)
    _, truth = frozen.relevance(model, [batch], rule)
    if name in EAGER_ALONE:
        model.set_attn_implementation("eager")
    found = explain(model, [batch], rule)
    assert gap(found.values, values_of(truth, found.heads)) < 1e-9


@pytest.mark.parametrize("name", ["marian", "t5", "opt"])
def test_gates_and_injected_matrices_count(name):
    model, batch = small(name), batch_for(name)
    first, last = sites(model)[0].kind, sites(model)[-1].kind
    gates = {(first, 0, 1): 0.0, (first, 1, 2): 0.5, (last, 1, 0): -0.7}
    size = batch["input_ids"].shape[1]
    matrix = torch.rand(size, size, generator=torch.Generator().manual_seed(1), dtype=torch.float64).tril()
    matrices = {(first, 0, 2): matrix, (first, 1, 3): matrix if first == "decoder" else 2 * matrix - 0.5}  # some are negative
    real = batch["attention_mask"][:, None].double()
    with gate(model, gates), inject(model, {address: m * real for address, m in matrices.items()}):
        found = explain(model, [batch], "alpha_beta")
    truth = [e for row in range(3) for e in slow.explain(model, batch, row, gates=gates, injected=matrices)]
    expected = values_of(truth, found.heads)
    assert gap(found.values, expected) < tolerance(name)
    assert gap(explain(model, [batch], "alpha_beta").values, expected) > 0.01  # and no more once the blocks are left


@rules
def test_gates_of_nested_blocks_multiply(rule):
    model, batch = small("marian"), batch_for("marian")
    places = [("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 3)]
    # some are open again in the inner block, some only there are closed
    outer, inner = dict(zip(places, (0.0, -0.7, 0.5), strict=True)), dict(zip(places, (0.6, 2.0, 0.0), strict=True))
    with gate(model, {place: outer[place] * inner[place] for place in places}):
        expected = explain(model, [batch], rule).values
    for first, second in ((outer, inner), (inner, outer)):
        with gate(model, first), gate(model, second):
            assert gap(explain(model, [batch], rule).values, expected) < 1e-10


class Held(TorchDispatchMode):
    """Counts the bytes of all tensors made while it is on: those held now, and the most at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.peak, self.known = 0, 0, {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        given = {self.place(tensor) for tensor in tree_leaves((args, kwargs)) if isinstance(tensor, torch.Tensor)}
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor) and self.place(tensor) not in self.known.keys() | given:
                place, storage = self.place(tensor), tensor.untyped_storage()
                self.now += storage.nbytes()
                self.known[place] = weakref.finalize(storage, self.let_go, place, storage.nbytes())
        self.peak = max(self.peak, self.now)
        return made

    @staticmethod
    def place(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage()._cdata

    def let_go(self, place: int, size: int) -> None:
        self.now -= size
        del self.known[place]


def long_batch(name, length) -> dict[str, torch.Tensor]:
    """Three texts of so many tokens, of a short source each where there is one."""
    tokens = torch.randint(2, 60, (3, length), generator=torch.Generator().manual_seed(0))
    return {"input_ids": tokens if name == "opt" else tokens[:, : length // 4], "labels": tokens}


@pytest.mark.parametrize("way", [explain, summed])
@pytest.mark.parametrize(("name", "rule"), [("marian", "attnlrp"), ("opt", "cp")])
def test_batches_are_split_so_that_no_more_is_held_than_the_memory_allows(name, rule, way, monkeypatch):
    model, batch, seen = small(name, torch.float32), long_batch(name, 40), []
    whole = way(model, [batch], rule).series(None)
    sizes = batch["labels"].shape[1], batch["input_ids"].shape[1]
    needed = sum(Graph(model, rule, ("decoder",)).numbers(*sizes)) * 4 / 2**30
    hook = model.register_forward_pre_hook(lambda _, args, fed: seen.append(len(fed["input_ids"])), with_kwargs=True)
    for times, rows in ((4.5, [3]), (1.9, [1, 1, 1])):
        seen.clear()
        monkeypatch.setattr(lrp, "MEMORY", times * needed)
        with Held() as held:
            found = way(model, [batch], rule).series(None)
        assert seen == rows and 0 < held.peak <= times * needed * 2**30
        np.testing.assert_allclose(found, whole, rtol=0, atol=1e-4)
    hook.remove()


@pytest.mark.parametrize("name", ["marian", "opt"])
def test_targets_are_explained_in_chunks_where_memory_is_short(name, monkeypatch):
    model, batch = small(name), batch_for(name)
    batch = {name: part[:1] for name, part in batch.items()}
    once, each = AlphaBeta(model, ("decoder",)).numbers(batch["labels"].shape[1], batch["input_ids"].shape[1])
    whole = explain(model, [batch], "alpha_beta").values
    monkeypatch.setattr(lrp, "MEMORY", (once + 2 * each) * 8 / 2**30)
    assert gap(explain(model, [batch], "alpha_beta").values, whole) < 1e-12


def test_a_decoder_only_model_explains_next_tokens():
    model, batch = small("opt"), batch_for("opt")
    whole = explain(model, [batch], "attnlrp")
    assert whole.sentence.tolist() == [0] * 6 + [1] * 3 + [2] * 5
    bare = explain(model, [{name: batch[name] for name in ("input_ids", "attention_mask")}], "attnlrp")
    assert gap(bare.values, whole.values) == 0
    prompt = batch | {"labels": batch["labels"].clone()}
    prompt["labels"][:, :3] = -100
    later = [2, 3, 4, 5, 8, 11, 12, 13]  # what predicts position 3 and later ones
    assert gap(explain(model, [prompt], "attnlrp").values, whole.values[later]) < 1e-10


def by_hand() -> Explained:
    heads = pd.MultiIndex.from_tuples([("encoder", 0, 0), ("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 1)])
    heads.names = ["kind", "layer", "head"]
    values = np.array([[1.0, 3.0, 2.0, -1.999], [2.0, 2.0, 1.0, -2.0], [0.0, 0.0, 3.0, 1.0]])
    return Explained(heads, values, np.array([4, 4, 9]), "cp")


STEP = [(0.25 + 0.5 + 0) / 3, (0.75 + 0.5 + 0) / 3, (2 / 0.001 - 1 + 0.75) / 3, (-1.999 / 0.001 + 2 + 0.25) / 3]


@pytest.mark.parametrize(
    ("normalise", "wanted"),
    [
        ("step", STEP), ("ratio", [3 / 8, 5 / 8, 6 / 3.001, -2.999 / 3.001]), (None, [1, 5 / 3, 2, -2.999 / 3]),
        ("size", [3 / 3, 5 / 3, (3 + 3) / 3, (3.999 + 1) / 3]),  # of the two sentences, the first with two targets
    ],
)  # fmt: skip
def test_the_normalisations(normalise, wanted):
    rows = by_hand().by_sentence()
    assert by_hand().series(normalise).equals(rows.series(normalise))
    sums = [] if normalise == "step" else [BySentence(rows.heads, rows.raw, rows.targets, "cp")]
    for found in (rows, *sums):
        assert found.series(normalise).tolist() == pytest.approx(wanted)
        numerators, denominators = found.per_sentence(normalise)
        assert numerators.shape == denominators.shape == (2, 4)
        assert (numerators.sum(0) / denominators.sum(0)).tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("rule", SIGNED)
@pytest.mark.parametrize("family", EVERY)
def test_sums_over_targets_are_one_backward_pass(family, rule):
    """Those of relevance target by target: by replay where there is one, else by a pass for each target."""
    model, batch = tiny_model(family, attention="eager" if family in EAGER_ALONE else "sdpa").double(), tiny_batch(family)
    batch.pop("decoder_attention_mask", None)
    batch["labels"][1, 1 if family == "mbart" else 0 :] = -100  # no target, which mBART cannot shift
    batches = [batch | {"index": torch.tensor([4, 7, 2])}, tiny_batch(family, 3) | {"index": torch.tensor([2, 5, 9])}]
    wanted = explain(model, batches, rule).by_sentence()
    passes = []
    hook = sites(model)[-1].projection("out").register_full_backward_pre_hook(lambda part, slopes: passes.append(part))
    found = summed(model, batches, rule)
    hook.remove()
    assert len(passes) == 2
    assert (
        gap(found.raw, wanted.raw) < (1e-6 if family == "opt" else 1e-12) and found.targets.tolist() == wanted.targets.tolist()
    )
    assert found.heads.equals(wanted.heads) and np.abs(wanted.raw).max() > 0.1
    for way in ("ratio", "size", None):
        pd.testing.assert_series_equal(relevance(model, batches, rule, way), found.series(way))


def test_sums_are_not_for_a_rule_that_rescales_nor_divided_target_by_target():
    model, batch = small("opt"), batch_for("opt")
    with pytest.raises(StudyError, match="'alpha_beta'"):
        summed(model, [batch], "alpha_beta")
    with pytest.raises(StudyError, match="'step'"):
        summed(model, [batch], "cp").series("step")


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


@pytest.mark.parametrize(("family", "path", "part", "said"), [
    ("marian", "model.encoder.layers.1.fc1", Doubled(32, 48), r"model\.encoder\.layers\.1\.fc1 \(Doubled"),
    ("bart", "model.decoder.layers.0.adapter", nn.Linear(32, 32), r"0\.adapter \(Linear"),
    ("pegasus", "model.decoder.layers.0.activation_fn", nn.Softmax(-1), "Softmax"),
    ("pegasus", "model.encoder.layers.1.fc2", "model.encoder.layers.0.fc2", r"0\.fc2 .* two places"),
])  # fmt: skip
def test_a_part_that_no_rule_covers_is_named(family, path, part, said):
    model, (parent, _, name) = tiny_model(family), path.rpartition(".")
    setattr(model.get_submodule(parent), name, model.get_submodule(part) if isinstance(part, str) else part)
    with pytest.raises(StudyError, match=said):
        measures.relevance(model, [batch_for(family)])


BATCH, marian = batch_for("marian"), partial(small, "marian")
BAD = {
    "'gamma'": (marian, [BATCH], {"rule": "gamma"}), "'layer'": (marian, [BATCH], {"normalise": "layer"}),
    "'self'": (marian, [BATCH], {"kinds": "self"}), "gated feed-forward": (lambda: small("t5 gated"), [BATCH], {}),
    "no batches": (marian, [], {}),
    "all labels are ignored": (marian, [BATCH | {"labels": torch.full_like(BATCH["labels"], -100)}], {}),
    "no sentences": (marian, [{name: part[:0] for name, part in BATCH.items()}], {}),
    "needs labels": (marian, [{"input_ids": BATCH["input_ids"]}], {}),
    "not float16": (lambda: tiny_model("bart").half(), [BATCH], {}),
    "GPT2LMHeadModel": (lambda: tiny_model("gpt2"), [BATCH], {}),
    "no output layer": (lambda: tiny_model("bart").model, [BATCH], {}),
}  # fmt: skip


@pytest.mark.parametrize("said", BAD)
def test_what_cannot_be_explained_is_refused(said):
    build, batches, options = BAD[said]
    with pytest.raises(StudyError, match=said):
        measures.relevance(build(), batches, **options)


def test_a_sentence_too_long_for_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(lrp, "MEMORY", 1e-9)
    with pytest.raises(StudyError, match=r"7 source and 6 target tokens .* GiB"):
        explain(marian(), [BATCH], "cp")


def state(model) -> tuple:
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    return hooks, [m.training for m in model.modules()], [p.requires_grad for p in model.parameters()], list(model.state_dict())


@rules
def test_the_model_is_left_as_it_was(rule):
    model, batch = tiny_model("marian", dropout=0.5), batch_for("marian")
    expected = measures.relevance(model, [batch], rule)
    model.train()
    model.model.encoder.layers[0].eval()
    before = state(model)
    with pytest.warns(UserWarning, match="training mode"):  # relevance is computed without dropout
        found = measures.relevance(model, [batch], rule)
    pd.testing.assert_series_equal(found, expected)
    assert state(model) == before
    wrong = batch | {"input_ids": batch["input_ids"] + 1000}
    with pytest.raises(StudyError), pytest.warns(UserWarning):
        measures.relevance(model, [batch, wrong], rule)
    assert state(model) == before and torch.is_grad_enabled()
