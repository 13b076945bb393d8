"""Models as people bring them: compiled, checkpointed, quantised, adapted, offloaded. Each is right or refused."""

import accelerate
import numpy as np
import pandas as pd
import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers import models as token_models
from torch import nn
from torch.nn.utils import parametrize

from helpers import heads, measures, models
from helpers.measures import worth
from helpers.methods import grouping, l0
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_batch, tiny_model

HEAD = ("decoder", 0, 1)


class Adapted(nn.Module):
    """A projection with something learned beside it, as an adapter of low rank has."""

    def __init__(self, base):
        super().__init__()
        self.base_layer, self.beside = base, nn.Linear(base.in_features, base.out_features, bias=False)
        self.in_features = base.in_features

    def forward(self, hidden):
        return self.base_layer(hidden) + self.beside(hidden)


class Halved(nn.Module):
    def forward(self, weight):
        return weight / 2


def plain(folder):
    return tiny_model("llama")


def layer_compiled(folder):
    model = tiny_model("llama")
    model.model.layers[1].compile(backend="eager")
    return model


def forward_compiled(folder):
    model = tiny_model("llama")
    model.forward = torch.compile(model.forward, backend="eager")
    return model


def quantised(folder):
    return torch.ao.quantization.quantize_dynamic(tiny_model("llama"), {nn.Linear}, dtype=torch.qint8)


def adapted(folder):
    model = tiny_model("llama")
    for layer in model.model.layers:
        layer.self_attn.o_proj = Adapted(layer.self_attn.o_proj)
    return model.eval()


def parametrised(folder):
    model = tiny_model("llama")
    for site in heads.sites(model):
        parametrize.register_parametrization(site.projection("out"), "weight", Halved())
    return model


def offloaded(folder):
    return accelerate.disk_offload(tiny_model("llama"), folder / "away", execution_device=torch.device("cpu"))


def shared(folder):
    model = tiny_model("llama")
    model.model.layers[1] = model.model.layers[0]
    return model


WRAPPED = (plain, layer_compiled, forward_compiled, quantised, adapted, parametrised, offloaded, shared)


def gated(model, batch):
    """Logits without a head."""
    with torch.no_grad(), heads.gate(model, {HEAD: 0.0}):
        return model(**fed(batch)).logits


CALLS = {
    "gated": gated, "removed": lambda model, batch: heads.remove(model, [HEAD])(**fed(batch)).logits.detach(),
    "without": lambda model, batch: worth.leave_one_out(model, [batch], repeats=0).loss,
    "gradient": lambda model, batch: measures.importance(model, [batch], norm=None),
    "confidence": lambda model, batch: measures.confidence(model, [batch]),
    "norm": lambda model, batch: measures.head_table(model, [batch], names=["output norm"])["output norm"],
    "relevance": lambda model, batch: measures.relevance(model, [batch], rule="attnlrp", normalise="size"),
}  # fmt: skip


def fed(batch):
    return {name: batch[name] for name in ("input_ids", "attention_mask")}


def truth(wrap, folder, call, batch):
    """What a call gives for a plain model that computes the same."""
    model = wrap(folder)
    own = tiny_model("llama")
    if wrap is adapted:
        for layer, other in zip(own.model.layers, model.model.layers, strict=True):
            layer.self_attn.o_proj.weight.data = (
                other.self_attn.o_proj.base_layer.weight + other.self_attn.o_proj.beside.weight
            ).data
    if wrap is parametrised:
        for site, other in zip(heads.sites(own), heads.sites(model), strict=True):
            site.projection("out").weight.data = other.projection("out").weight.detach().clone()
    return call(own, batch)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:quantized:UserWarning")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrap", WRAPPED, ids=lambda f: f.__name__)
def test_what_is_wrapped_is_measured_rightly_or_refused(wrap, call, tmp_path):
    torch.manual_seed(0)
    batch = tiny_batch("llama")
    state = torch.get_rng_state()
    try:
        given = CALLS[call](wrap(tmp_path), batch)
    except StudyError as error:
        assert wrap is not plain and str(error).endswith(".")
        return
    torch.set_rng_state(state)
    if wrap is not quantised:
        wanted = truth(wrap, tmp_path, CALLS[call], batch)
        np.testing.assert_allclose(given, wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning")
@pytest.mark.parametrize("wrap", [one for one in WRAPPED if one is not plain], ids=lambda f: f.__name__)
def test_what_is_saved_can_be_loaded(wrap, tmp_path):
    model, batch = wrap(tmp_path), tiny_batch("llama")
    try:
        heads.save(model, tmp_path / "saved")
    except StudyError as error:
        assert not (tmp_path / "saved").exists() and str(error).endswith(".")
        return
    expected = model(**fed(batch)).logits
    torch.testing.assert_close(heads.load(tmp_path / "saved")(**fed(batch)).logits, expected)


@pytest.mark.parametrize("make", [
    lambda model: l0.Gated(model, ("decoder",)),
    lambda model: grouping.Grouped(model, which="O", groups=2),
])  # fmt: skip
@pytest.mark.parametrize("reentrant", [True, False])
def test_gates_that_recomputed_layers_would_not_hear_of_are_refused(make, reentrant):
    model = tiny_model("llama").train()
    model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": reentrant})
    with pytest.raises(StudyError, match="gradient checkpointing"):
        make(model).train()(**fed(tiny_batch("llama")))
    model.activation_checkpointing_disable()
    make(model).train()(**fed(tiny_batch("llama")))


def test_partial_rotary_positions_are_refused_before_a_head_is_cut():
    model, batch = tiny_model("phi3", partial_rotary_factor=0.75), tiny_batch("phi3", labels=False)
    expected = model(**batch).logits
    with pytest.raises(StudyError, match="partial_rotary_factor"):
        heads.remove(model, [HEAD])
    torch.testing.assert_close(model(**batch).logits, expected)


class Mine(hf.LlamaForCausalLM):
    """A class of somebody's own."""


@pytest.mark.parametrize("cut", [[HEAD], [("decoder", layer, head) for layer in (0, 1) for head in (0, 1)]])
def test_a_class_of_ones_own_is_saved_as_the_library_s(cut, tmp_path):
    model, batch = Mine(tiny_model("llama").config).eval(), tiny_batch("llama")
    heads.save(heads.remove(model, cut), tmp_path / "mine")
    torch.testing.assert_close(heads.load(tmp_path / "mine")(**fed(batch)).logits, model(**fed(batch)).logits)


def test_a_pruned_folder_is_loaded_as_any_other(tmp_path):
    model, batch = heads.remove(tiny_model("llama"), [HEAD]), tiny_batch("llama")
    heads.save(model, tmp_path / "pruned")
    words = Tokenizer(token_models.WordLevel({f"w{place}": place for place in range(60)}, unk_token="w2"))
    hf.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0", eos_token="w1").save_pretrained(tmp_path / "pruned")
    loaded, _ = models.load(tmp_path / "pruned")
    torch.testing.assert_close(loaded(**fed(batch)).logits, model(**fed(batch)).logits)


def test_no_number_closes_no_head():
    gated_model = l0.Gated(tiny_model("llama"), ("decoder",))
    with torch.no_grad():
        gated_model.scaled[3] = torch.nan
    for call in (gated_model.closed, lambda: gated_model.eval()(**fed(tiny_batch("llama")))):
        with pytest.raises(StudyError, match="no number"):
            call()


@pytest.mark.parametrize("measure", [
    lambda model, batch: measures.importance(model, [batch]), lambda model, batch: worth.slopes(model, [batch]),
    lambda model, batch: measures.relevance(model, [batch], rule="cp", normalise="size"),
])  # fmt: skip
def test_gradients_in_inference_mode_are_refused(measure):
    model, batch = tiny_model("llama"), tiny_batch("llama")
    with torch.inference_mode(), pytest.raises(StudyError, match="inference_mode"):
        measure(model, batch)
    with torch.no_grad():
        measure(model, batch)


def test_levels_of_an_index_go_by_their_names():
    model, batch = tiny_model("llama"), tiny_batch("llama")
    column = measures.confidence(model, [batch]).swaplevel()
    assert column.index[1] == ("decoder", 1, 0)  # kind, head, layer
    assert heads.kept(heads.remove(tiny_model("llama"), column.index[[1]]))["decoder", 0] == [0, 2, 3]
    gates = pd.Series([0.0], pd.MultiIndex.from_tuples([("decoder", 1, 0)], names=["kind", "head", "layer"]))
    with torch.no_grad(), heads.gate(model, gates):
        got = model(**fed(batch)).logits
    torch.testing.assert_close(got, gated(tiny_model("llama"), batch))


BAD = {
    "labels of another length": (lambda batch: {"labels": torch.cat([batch["labels"]] * 2, 1)}, "they must fit"),
    "ids beyond the vocabulary": (lambda batch: {"input_ids": batch["input_ids"] + 1000}, "beyond the model's"),
    "ids below 0": (lambda batch: {"input_ids": batch["input_ids"] - 99}, "below 0"),
    "lists": (lambda batch: {"input_ids": batch["input_ids"].tolist()}, "must be a tensor"),
    "a mask of another length": (lambda batch: {"attention_mask": batch["attention_mask"][:, 1:]}, "they must fit"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_batches_are_refused_before_a_model_runs(fault):
    change, sentence = BAD[fault]
    batch = tiny_batch("llama")
    for call in (measures.importance, measures.confidence):
        with pytest.raises(StudyError, match=sentence):
            call(tiny_model("llama"), [batch | change(batch)])


@pytest.mark.parametrize("family", ["bart", "bert", "roberta", "opt", "gpt2"])
def test_texts_beyond_the_positions_are_refused(family):
    model = tiny_model(family)
    batch = {"input_ids": torch.full((1, 200), 5), "attention_mask": torch.ones(1, 200, dtype=torch.long)}
    batch["labels"] = torch.full((1, 5 if model.config.is_encoder_decoder else 200), 5)
    with pytest.raises(StudyError, match="positions"):
        measures.importance(model, [batch])
