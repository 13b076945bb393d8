"""Today's families: grouped queries, sliding windows, caps on scores, fused projections, encoders alone."""

from functools import partial

import pandas as pd
import pytest
import torch
import transformers as hf

from helpers import measures
from helpers.heads import inject
from helpers.measures.lrp import explain
from helpers.measures.worth import importance, leave_one_out, patching
from helpers.study import StudyError
from tests.matrix import MEASURES
from tests.unit.tiny_models import generate, left, tiny_batch, tiny_model


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize(("family", "settings"), [
    ("llama", {}), ("mistral", {}), ("gemma2", {}), ("gemma3", {}), ("phi3", {"sliding_window": 3}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}),
])  # fmt: skip
def test_an_injection_is_the_same_with_a_cache_that_keeps_a_window(family, settings, cache):
    """Row i of a matrix is position i, whatever the cache still holds; what it does not hold cannot be read."""
    model, batch = tiny_model(family, attention="eager", **settings), {"input_ids": tiny_batch(family)["input_ids"][:1]}
    whole = torch.rand(16, 16, generator=torch.Generator().manual_seed(4)).tril()
    options = {"min_new_tokens": 6, "return_dict_in_generate": True, "output_logits": True}
    said = []
    for matrix in (whole.triu(-2), torch.zeros(16, 16), whole):
        for how in ({"cache_implementation": cache, "disable_compile": True}, {"use_cache": False}):
            with inject(model, {("decoder", layer, 1): lambda s, q, k, b, m=matrix: m[:k, :k] for layer in (0, 1)}):
                if matrix is whole and "use_cache" not in how and family != "llama":
                    with pytest.raises(StudyError, match=r"use_cache=False, or let it be 0 there\.$"):
                        generate(model, batch, **options, **how)
                    return
                said.append(torch.stack(generate(model, batch, **options, **how).logits))
        torch.testing.assert_close(said[-2], said[-1], atol=1e-4, rtol=0)
    assert (said[0] - said[2]).abs().max() > 0.5


def test_what_is_no_number_is_refused():
    model, batch = tiny_model("llama", attention="eager").double(), left(tiny_batch("llama"))
    for measure in (leave_one_out, importance, measures.confidence):
        with pytest.raises(StudyError, match="no number"):
            measure(model, [batch])


def test_rules_that_do_not_cover_a_family_say_so():
    model, batch = tiny_model("llama"), tiny_batch("llama")
    with pytest.raises(StudyError, match="LlamaForCausalLM"):
        explain(model, [batch], "alpha_beta")
    with pytest.raises(StudyError, match="float32"):
        explain(model.bfloat16(), [batch], "cp")
    model, names = tiny_model("llama"), ("gate_proj", "down_proj", "up_proj")
    parts = {f"w{number}": getattr(model.model.layers[1].mlp, name) for number, name in enumerate(names, 1)}
    model.model.layers[1].mlp = torch.nn.ModuleDict(parts)
    with pytest.raises(StudyError, match=r"1\.mlp .* w1, w2, w3"):
        explain(model, [batch], "cp")


@pytest.mark.parametrize("made", [
    lambda: hf.LlamaForSequenceClassification(tiny_model("llama").config),
    lambda: hf.BertForSequenceClassification(tiny_model("bert").config), lambda: tiny_model("llama").model,
])  # fmt: skip
def test_a_model_without_an_output_layer_has_attention_alone(made):
    model, batch = made(), tiny_batch("llama")
    assert measures.confidence(model, [batch]).notna().all()
    for measure in (leave_one_out, importance, patching, partial(explain, rule="cp")):
        with pytest.raises(StudyError, match=r"no output layer over a vocabulary.*\.$"):
            measure(model, [batch])


def test_a_model_that_sees_reads_text_as_its_text_model_does():
    alone, batch = tiny_model("gemma3"), tiny_batch("gemma3")
    eye = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28}
    config = hf.Gemma3Config(text_config=alone.config.to_dict(), vision_config=eye | {"patch_size": 14}, mm_tokens_per_image=4)
    model = hf.Gemma3ForConditionalGeneration(config).eval()
    model.model.language_model.load_state_dict(alone.model.state_dict())
    for name in ("leave-one-out", "gradient, example", "gradient, token", "confidence", "attnlrp"):
        pd.testing.assert_series_equal(*(MEASURES[name](one, [batch]) for one in (model, alone)), atol=1e-6)
    with pytest.raises(StudyError, match="text alone"):
        leave_one_out(model, [batch | {"pixel_values": torch.zeros(1, 3, 28, 28)}])


def test_what_a_batch_holds_beyond_what_measures_read_is_refused_where_it_counts():
    bert, marian = tiny_model("bert"), tiny_model("marian")
    for model, batch in ((bert, tiny_batch("bert")), (marian, tiny_batch("marian"))):
        ids = batch["input_ids"]
        places = torch.arange(ids.shape[1]).expand_as(ids)
        usual = {"token_type_ids": torch.zeros_like(ids), "position_ids": places}
        pd.testing.assert_frame_equal(leave_one_out(model, [batch | usual]), leave_one_out(model, [batch]))
        others = {"token_type_ids": torch.ones_like(ids), "position_ids": places + 1}
        if "labels" in batch:
            others["decoder_attention_mask"] = torch.zeros_like(batch["labels"])
        for name, value in others.items():
            for measure in ("confidence", "attnlrp", "leave-one-out"):
                with pytest.raises(StudyError, match=name):
                    MEASURES[measure](model, [batch | {name: value}])
