"""Leave-one-out and activation x gradient against models whose heads are cut by hand, and against finite differences."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sacrebleu
import torch

from helpers import heads, scoring
from helpers.measures.importance import activation_gradient, leave_one_out, leave_one_out_bleu
from helpers.study import StudyError
from tests.unit.tiny_models import PAD, SEQ2SEQ, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", ["marian", "bart", "t5", "opt", "gpt2"])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


# -------------------- helpers of the tests


def batches(family):
    """Two padded batches of three sentences; of one sentence all labels are ignored."""
    found = [tiny_batch(family, seed) for seed in (1, 2)]
    found[1]["labels"][1] = -100
    for batch in found:
        batch.pop("decoder_attention_mask", None)
    return found


def examples(family):
    """The sentences of `batches`, each a batch of its own."""
    return [{name: part[i : i + 1] for name, part in batch.items()} for batch in batches(family) for i in range(3)]


def targets(family, batch):
    return int((batch["labels"][:, int(family not in SEQ2SEQ) :] != -100).sum())


def loss_sum(model, family, batch):
    """Minus the log-probabilities of the target tokens of one sentence, one by one."""
    logits, shift = model(**batch).logits[0], int(family not in SEQ2SEQ)
    pairs = [(row, token) for row, token in enumerate(batch["labels"][0, shift:]) if token != -100]
    return -sum((logits[row].log_softmax(-1)[token] for row, token in pairs), torch.zeros((), dtype=logits.dtype))


def cut(model, address):
    """Take a head's columns out of the output projection; returns how to put them back."""
    kind, layer, head = address
    site = next(s for s in heads.sites(model) if (s.kind, s.layer) == (kind, layer))
    weight = site.projection("out").weight.data
    weight = weight.T if weight.shape[1] == site.heads * site.head_dim and not hasattr(site.projection("out"), "nx") else weight
    rows = weight[head * site.head_dim : (head + 1) * site.head_dim]
    before = rows.clone()
    rows.zero_()
    return lambda: rows.copy_(before)


def changes(model, family, addresses):
    """Change of the summed loss of every sentence when a head is cut: [sentences, heads]."""
    with torch.no_grad():
        plain = [loss_sum(model, family, one) for one in examples(family)]
        columns = []
        for address in addresses:
            undo = cut(model, address)
            columns.append([float(loss_sum(model, family, one) - p) for one, p in zip(examples(family), plain, strict=True)])
            undo()
    return np.array(columns).T


def translator(batch):
    """Greedy translations as strings of ids."""

    def translate(model):
        ids = model.generate(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_length=9, do_sample=False
        )
        return [" ".join(f"w{i}" for i in row if i != PAD) for row in ids.tolist()]

    return translate


# -------------------- leave one out


@families
def test_leaving_a_head_out_is_cutting_it(family):
    model = tiny_model(family).double()
    found = leave_one_out(model, iter(batches(family)), repeats=50)
    assert found.index.equals(heads.index(model)) and found.columns.tolist() == ["loss", "low", "high"]
    change, tokens = changes(model, family, found.index), np.array([targets(family, one) for one in examples(family)])
    np.testing.assert_allclose(found.loss, change.sum(0) / tokens.sum(), rtol=0, atol=1e-10)
    assert found.loss.abs().min() > 1e-5 and found.loss.std() > 0.01
    # the bootstrap draws sentences, numerator and denominator together
    drawn = np.array([np.repeat(np.arange(6), times.astype(int)) for times in scoring.resamples(6, 50)])
    ratios = change[drawn].sum(1) / tokens[drawn].sum(1)[:, None]
    np.testing.assert_allclose(found.low, np.quantile(ratios, 0.025, axis=0), atol=1e-5)
    np.testing.assert_allclose(found.high, np.quantile(ratios, 0.975, axis=0), atol=1e-5)


@pytest.mark.parametrize("kinds, runs", [(None, 1 + 8), ("encoder", 1 + 8), (("decoder", "cross"), 1)])
def test_the_encoder_runs_again_for_its_own_heads_only(kinds, runs):
    model, calls = tiny_model("marian"), []
    hook = model.get_encoder().register_forward_hook(lambda *_: calls.append(1))
    found = leave_one_out(model, batches("marian"), kinds, repeats=2)
    hook.remove()
    assert len(calls) == 2 * runs
    assert found.index.equals(heads.index(model, kinds))
    np.testing.assert_array_equal(found.loss, leave_one_out(model, batches("marian"), repeats=2).loss[found.index])


def test_given_decoder_inputs_and_an_open_gate_are_respected():
    model, batch = tiny_model("marian").double(), batches("marian")[0]
    fed = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    plain = leave_one_out(model, [batch], repeats=2)
    assert leave_one_out(model, [{**batch, "decoder_input_ids": fed}], repeats=2).equals(plain)
    assert not leave_one_out(model, [{**batch, "decoder_input_ids": fed.flip(0)}], repeats=2).equals(plain)
    with heads.gate(model, {("decoder", 0, 1): 0.0}):
        gated = leave_one_out(model, [batch], repeats=2)
    assert (gated.loc["decoder", 0, 1] == 0).all() and (gated.drop(("decoder", 0, 1)).loss.abs() > 1e-9).all()


@families
def test_a_dead_head_matters_to_nobody(family):
    model = tiny_model(family)
    kind = "cross" if family in SEQ2SEQ else "decoder"
    cut(model, (kind, 1, 2))
    assert (leave_one_out(model, batches(family), repeats=5).loc[kind, 1, 2] == 0).all()
    gradient = activation_gradient(model, batches(family))
    assert gradient[kind, 1, 2] == 0 and (gradient.drop((kind, 1, 2)) > 0).all()


def test_half_precision():
    model = tiny_model("marian")
    full = leave_one_out(model, batches("marian"), repeats=2).loss, activation_gradient(model, batches("marian"))
    model.bfloat16()
    half = leave_one_out(model, batches("marian"), repeats=2).loss, activation_gradient(model, batches("marian"))
    for one, other in zip(full, half, strict=True):
        assert other.dtype == np.float64 and np.corrcoef(one, other)[0, 1] > 0.98


# -------------------- activation x gradient


@families
def test_the_gradient_of_each_example(family):
    model = tiny_model(family).double()
    found = activation_gradient(model, iter(batches(family)))
    assert found.index.equals(heads.index(model)) and found.name == "activation_gradient"
    counted = [one for one in examples(family) if targets(family, one)]
    assert len(counted) == 5
    slopes, differences = [], []
    step, tolerance = (2e-4, 5e-3) if family == "t5" else (1e-5, 1e-6)  # T5 has norms in float32, whatever its own type
    for one in counted:
        gates = {address: torch.ones((), dtype=torch.float64, requires_grad=True) for address in found.index}
        with heads.gate(model, gates):
            slopes.append([float(g) for g in torch.autograd.grad(loss_sum(model, family, one), list(gates.values()))])
    np.testing.assert_allclose(found, np.abs(slopes).mean(0), rtol=1e-9)
    for address in found.index[::5]:
        ends = []
        for value in (1 + step, 1 - step):
            with torch.no_grad(), heads.gate(model, {address: value}):
                ends.append([float(loss_sum(model, family, one)) for one in counted])
        differences.append(np.abs(np.subtract(*ends) / (2 * step)).mean())
    np.testing.assert_allclose(found[::5], differences, rtol=tolerance)
    # neither the slope of the summed loss, nor a mean over tokens
    assert not np.allclose(found, np.abs(np.sum(slopes, 0)) / 5, rtol=0.01)


def test_parameters_are_left_alone():
    model = tiny_model("marian")
    frozen = model.model.shared.weight.requires_grad_(False)
    before = [parameter.requires_grad for parameter in model.parameters()]
    with torch.no_grad():
        found = activation_gradient(model, batches("marian"), "cross")
    assert [parameter.requires_grad for parameter in model.parameters()] == before and not frozen.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())
    assert found.equals(activation_gradient(model.requires_grad_(False), batches("marian"))[found.index])


# -------------------- both


@pytest.mark.parametrize("measure", [leave_one_out, activation_gradient])
def test_dropout_is_off_and_modes_are_restored(measure):
    model = tiny_model("bart", dropout=0.5, attention_dropout=0.5)
    plain = measure(model, batches("bart"))
    model.train()
    model.get_encoder().eval()
    before = [module.training for module in model.modules()]
    assert measure(model, batches("bart")).equals(plain)
    assert [module.training for module in model.modules()] == before


@pytest.mark.parametrize("measure", [leave_one_out, activation_gradient])
def test_nothing_to_measure_is_refused(measure):
    model, batch = tiny_model("marian"), batches("marian")[0]
    ignored = {**batch, "labels": torch.full_like(batch["labels"], -100)}
    for nothing in ([], [ignored, ignored]):
        with pytest.raises(StudyError, match="no target tokens"):
            measure(model, nothing)
    with pytest.raises(StudyError, match="holds no sentences"):
        measure(model, [{name: part[:0] for name, part in batch.items()}])
    for family, name in (("marian", "MarianMTModel"), ("opt", "OPTForCausalLM")):
        with pytest.raises(StudyError, match=f"{name} needs labels"):
            measure(tiny_model(family), [{"input_ids": batch["input_ids"]}])
    with pytest.raises(StudyError, match="no encoder attention"):
        measure(tiny_model("opt"), batches("opt"), "encoder")
    # the first token of a decoder-only model is predicted by nobody
    first = {**batches("opt")[0]}
    first["labels"][:, 1:] = -100
    with pytest.raises(StudyError, match="no target tokens"):
        measure(tiny_model("opt"), [first])


# -------------------- BLEU


def test_bleu_without_each_head():
    model, batch = tiny_model("marian", seed=3), tiny_batch("marian")
    batch = {name: torch.cat([part, part.roll(1, 1)]) for name, part in batch.items()}
    translate = translator(batch)
    cut(model, ("cross", 0, 1))
    plain = translate(model)
    references = [" ".join([*text.split()[: 2 + i], "and", "more"]) for i, text in enumerate(plain)]
    addresses = [("encoder", 0, 0), ("cross", 0, 1), ("decoder", 1, 3), ("cross", 1, 0)]
    found = leave_one_out_bleu(model, translate, references, addresses, repeats=40)
    assert found.index.tolist() == addresses and found.index.names == ["kind", "layer", "head"]
    assert translate(model) == plain  # no gate is left behind
    times = scoring.resamples(6, 40).astype(int)
    for address in addresses:
        undo = cut(model, address)
        without = translate(model)
        undo()
        score = [sacrebleu.corpus_bleu(texts, [references]).score for texts in (plain, without)]
        assert found.bleu[address] == pytest.approx(score[0] - score[1], abs=1e-9)
        drawn = []
        for row in times:
            places = np.repeat(np.arange(6), row)
            one, other, wanted = ([side[i] for i in places] for side in (plain, without, references))
            drawn.append(sacrebleu.corpus_bleu(one, [wanted]).score - sacrebleu.corpus_bleu(other, [wanted]).score)
        np.testing.assert_allclose(found.loc[address, ["low", "high"]], np.quantile(drawn, [0.025, 0.975]), atol=1e-9)
    assert (found.loc["cross", 0, 1] == 0).all()  # paired: equal translations differ in no resample
    assert (found.bleu.abs() > 1).sum() >= 2


def test_bleu_of_few_sentences_or_of_too_many():
    model, batch = tiny_model("marian"), tiny_batch("marian")
    one = {name: part[:1] for name, part in batch.items()}
    found = leave_one_out_bleu(model, translator(one), ["a b c d"], [("encoder", 0, 0)])
    assert found.bleu.notna().all() and found[["low", "high"]].isna().all(axis=None)
    found = leave_one_out_bleu(model, translator(batch), ["a"] * 3, heads.index(model, "cross")[:1], repeats=0)
    assert math.isnan(found.low.iloc[0])
    for references in (["a"], []):
        with pytest.raises(StudyError, match="as many references"):
            leave_one_out_bleu(model, translator(batch), references, [("encoder", 0, 0)])
    with pytest.raises(StudyError, match="no head"):
        leave_one_out_bleu(model, translator(batch), ["a"] * 3, [("encoder", 7, 0)])
