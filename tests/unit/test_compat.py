"""Canaries: each says after an upgrade what a library no longer does that we rely on.

A test is called after what is to be mended: a function of `helpers/heads/compat.py`, or the place that its docstring names.
A name that a library no longer has fails where it is imported.
"""

import copy
import inspect

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file
from torch import nn
from transformers.cache_utils import DynamicLayer
from transformers.integrations.heterogeneity.configuration_utils import AmbiguousGlobalPerLayerAttributeError

from helpers.heads import compat, fewer_heads, sites
from tests.unit.tiny_models import EVERY, FAMILIES, MORE, TODAY, logits, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", FAMILIES)
some = pytest.mark.parametrize("family", ["marian", "t5", "opt", "gpt2"])  # one of each way of building attention


def test_pre_hooks():
    module, first, second = nn.Linear(2, 2), (lambda module, args: None), (lambda module, args: None)
    handle = module.register_forward_pre_hook(first)
    module.register_forward_pre_hook(second)
    assert compat.pre_hooks(module) == compat.pre_hooks(copy.deepcopy(module)) == [first, second]
    handle.remove()
    assert compat.pre_hooks(module) == [second]


@families
def test_implementation(family):
    model = tiny_model(family, attention="sdpa")
    parts = [model, *(site.module for site in sites(model))]
    assert {compat.implementation(part) for part in parts} == {"sdpa"}
    model.set_attn_implementation("eager")
    assert {compat.implementation(part) for part in parts} == {"eager"}


@some
@pytest.mark.parametrize("plain", ["sdpa", "eager"])
def test_register_and_eager_attention_and_additive_mask(family, plain):
    model, batch, seen = tiny_model(family, attention=plain), tiny_batch(family), []
    expected = logits(model, batch)

    def attention(module, query, key, value, mask, **options):
        out, weights = compat.plain_attention(module, plain)(module, query, key, value, mask, **options)
        seen.append((module, query, key, value, mask, options, out, weights))
        return out, weights

    compat.register(f"canary_{plain}", attention, plain)
    model.set_attn_implementation(f"canary_{plain}")
    assert torch.equal(logits(model, batch), expected), "registered functions get the masks of the plain ones"
    assert {call[0] for call in seen} == {site.module for site in sites(model)}
    for module, query, key, value, mask, options, out, weights in seen:
        rows, heads, queries, width = query.shape
        assert key.shape == value.shape == (rows, heads, key.shape[2], width) and out.shape == (rows, queries, heads, width)
        assert set(options) >= {"dropout", "scaling"}
        assert mask is None or mask.dtype == (torch.bool if plain == "sdpa" else query.dtype)
        assert (weights is None) == (plain == "sdpa"), "eager attention alone shows weights"
        added, eager = compat.additive_mask(module, query, key, mask, options), compat.eager_attention(module)
        bare = eager(module, query, key, value[..., :0], added, **{**options, "dropout": 0.0})[1]
        full = eager(module, query, key, value, added, **{**options, "dropout": 0.0})
        assert torch.equal(bare, full[1]), "eager attention takes values of width 0"
        assert torch.allclose(full[0], out, atol=1e-5)


@families
def test_additive_mask_and_scaling_and_keep_length(family):
    """`_keep_length` needs what attention knows of its cache."""
    for site in sites(tiny_model(family)):
        assert family == "gpt2" or getattr(site.module, "is_causal", None) is (site.kind == "decoder")
        assert compat.scaling(site.module) == pytest.approx(1.0 if family == "t5" else site.head_dim**-0.5)
        assert "past_key_values" in inspect.signature(site.module.forward).parameters
        assert site.kind == "encoder" or site.module.layer_idx == site.layer


@families
def test_checkpointing(family):
    model = tiny_model(family)
    assert not compat.checkpointing(model)
    model.activation_checkpointing_enable()
    assert compat.checkpointing(model)


@families
def test_logits_bias(family):
    model, batch = tiny_model(family), tiny_batch(family)
    bias = compat.logits_bias(model)
    assert (bias is not None) == (family in ("marian", "bart", "mbart", "pegasus"))
    if bias is not None:
        before = logits(model, batch)
        bias.add_(torch.arange(len(bias)))
        rise = logits(model, batch) - before
        assert torch.allclose(rise, torch.arange(len(bias)).expand_as(rise).float(), atol=1e-4)


@families
def test_rms_eps(family):
    """And `Norm` of `helpers/measures/lrp/layout.py`."""
    model, x = tiny_model(family), torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    norms = [module for name, module in model.named_modules() if "norm" in name.lower() or "ln_" in name]
    assert norms
    for norm in norms:
        eps = compat.rms_eps(norm)
        if family == "t5":
            expected = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * norm.weight
            assert torch.allclose(norm(x), expected, atol=1e-6)
        else:
            assert eps is None and isinstance(norm, nn.LayerNorm)


def test_position_table():
    model = tiny_model("bart")
    for side in (model.get_encoder(), model.get_decoder()):
        assert compat.position_table(side).shape == (66, 32), "two more learned positions than it is asked for"


def test_unsaved():
    model = tiny_model("marian")
    names = {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
    found = compat.unsaved(model, names | {"model.shared.weight"})
    fresh = hf.MarianMTModel(model.config).state_dict()
    assert found.keys() == names and all(torch.equal(table, fresh[name]) for name, table in found.items())


SIZES = {  # attributes of an attention module of 4 heads, grouped in 2 where they can be
    **{family: {"num_heads": 4} for family in ("marian", "bart", "mbart", "pegasus", "opt")},
    "t5": {"n_heads": 4, "inner_dim": 32},
    "gpt2": {"num_heads": 4, "split_size": 32},
    "gpt_neox": {},
    **{family: {"num_attention_heads": 4, "all_head_size": 32} for family in ("bert", "roberta")},
    **{family: {"num_key_value_groups": 2} for family in ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3")},
    "phi3": {"num_key_value_groups": 2, "num_key_value_heads": 2},
}


@pytest.mark.parametrize("family", SIZES)
def test_resize(family):
    known = ("num_heads", "n_heads", "num_attention_heads", "inner_dim", "all_head_size", "split_size")
    for site in sites(tiny_model(family, attention="eager")):
        names = [*known, "num_key_value_groups", "num_key_value_heads"]
        assert {name: getattr(site.module, name) for name in names if hasattr(site.module, name)} == SIZES[family]
        assert hasattr(site.module, "relative_attention_num_buckets") == (family == "t5")


@pytest.mark.parametrize("family", [family for family in SIZES if "num_key_value_groups" in SIZES[family]])
def test_spread_pairs(family):
    """The cache is given by name, also where there is none, and nothing but `update` is asked of it."""
    model, seen = tiny_model(family, attention="eager"), []

    class Bare:
        def update(self, keys, values, *where, **options):
            seen.append(keys.shape)
            return keys, values

    for site in sites(model):
        site.module.register_forward_pre_hook(
            lambda module, args, options: (args, {**options, "past_key_values": Bare()}) if not args else None, with_kwargs=True
        )
    batch = tiny_batch(family)
    assert torch.equal(logits(model, batch), logits(tiny_model(family, attention="eager"), batch))
    assert seen == [(3, 2, 7, 8)] * 2, "keys go to the cache before they are repeated"


def test_auto_classes():
    found = compat.auto_classes(tiny_model("bart"))
    assert found["AutoModel"] == "BartModel" and found["AutoModelForSeq2SeqLM"] == "BartForConditionalGeneration"
    assert compat.auto_classes(tiny_model("llama"))["AutoModelForCausalLM"] == "LlamaForCausalLM"


@pytest.mark.parametrize("family", EVERY)
def test_no_family_reads_numbers_of_heads_by_layer(family):
    """`_uniform` of `helpers/heads/surgery.py`: folders of a family that does can be plain whatever is cut."""
    known = (FAMILIES | TODAY | MORE)[family][2]
    name = next(name for name in ("encoder_attention_heads", "num_attention_heads", "num_heads", "n_head") if name in known)
    with pytest.raises(AmbiguousGlobalPerLayerAttributeError, match=name):
        tiny_model(family, per_layer_config={0: {name: 2}})


def test_own_names(tmp_path):
    tiny_model("gpt_neox").save_pretrained(tmp_path)
    names = load_file(tmp_path / "model.safetensors")
    assert "embed_out.weight" in names and "lm_head.weight" in compat.own_names(names)


def test_take_own_bias_and_hand_on_whole_bias():
    model, seen = tiny_model("t5"), []
    first, second = (site.module for site in sites(model, "encoder"))
    own = first.compute_bias(5, 5, torch.device("cpu"), 0)
    second.register_forward_pre_hook(lambda module, args, options: seen.append(options), with_kwargs=True)
    first.register_forward_hook(lambda module, args, output: seen.append(output))
    model.get_encoder()(input_ids=torch.tensor([[5, 6, 7, 8, 1]]))
    output, given = seen
    assert own.shape == (1, 4, 5, 5) and torch.equal(output[1], own), "position biases are returned second"
    assert given.get("position_bias") is output[1] and "past_key_values" in given


def test_headless_cache_and_keep_length():
    ids = torch.tensor([[5, 6, 7, 1]])
    alone = tiny_model("opt")(ids, use_cache=True).past_key_values
    both = tiny_model("marian")(ids, decoder_input_ids=ids, use_cache=True).past_key_values
    assert isinstance(both, hf.EncoderDecoderCache)
    for cache in (alone, both.self_attention_cache, both.cross_attention_cache):
        assert [type(one) for one in cache.layers] == [DynamicLayer] * 2 and all(one.is_initialized for one in cache.layers)
        assert cache.layers[1].keys.shape[-2] == 4
        assert cache.get_seq_length(0) == 4 and cache.get_mask_sizes(1, 0) == (5, 0)
    one = DynamicLayer()
    one.update(torch.ones(2, 0, 3, 8), torch.ones(2, 0, 3, 8))
    assert one.get_seq_length() == 0, "a layer without heads passes for empty no longer: delete what mends it"


@pytest.mark.parametrize(
    ("family", "changed"), [("opt", fewer_heads.HeadlessOPTAttention), ("phi3", fewer_heads.RaggedPhi3Attention)]
)
def test_another_forward(family, changed):
    """Marian's computes what OPT's does, Mistral's what Phi-3's does."""
    model, batch = tiny_model(family), tiny_batch(family)
    expected = logits(model, batch)
    for site in sites(model):
        site.module.__class__ = changed
    assert torch.allclose(logits(model, batch), expected, atol=1e-4)
