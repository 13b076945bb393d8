"""Canaries: each says after an upgrade which library no longer does what we rely on, and where to mend it.

A name that a library no longer has fails where it is imported.
"""

from __future__ import annotations

import copy
import inspect
from importlib import metadata

import pytest
import torch
import transformers as hf
from matplotlib import animation, pyplot
from sacrebleu.metrics import BLEU
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.cache_utils import DynamicLayer
from transformers.convert_slow_tokenizer import bytes_to_unicode

from helpers.heads import compat, sites
from tests.unit.tiny_models import FAMILIES, tiny_batch, tiny_model

HERE = "helpers/heads/compat.py"
families = pytest.mark.parametrize("family", FAMILIES)


def holds(truth: bool, library: str, what: str, where: str) -> None:
    """Fail with what broke, at which version, and where to mend it."""
    assert truth, f"{library} {metadata.version(library)}: {what} no longer; mend {where}"


# --- hooks -----------------------------------------------------------------------------------------------------------


def test_the_list_of_hooks():
    module, first, second = nn.Linear(2, 2), (lambda module, args: None), (lambda module, args: None)
    handle = module.register_forward_pre_hook(first)
    module.register_forward_pre_hook(second)
    where = f"{HERE}, pre_hooks"
    holds(compat.pre_hooks(module) == [first, second], "torch", "modules list forward pre-hooks in order", where)
    holds(compat.pre_hooks(copy.deepcopy(module)) == [first, second], "torch", "copies of modules have their hooks", where)
    handle.remove()
    holds(compat.pre_hooks(module) == [second], "torch", "a removed hook leaves the list", where)


# --- attention functions ---------------------------------------------------------------------------------------------


@families
def test_the_name_of_the_attention_function(family):
    where = f"{HERE}, implementation"
    for name in ("sdpa", "eager"):
        model = tiny_model(family, attention=name)
        parts = [model, *(site.module for site in sites(model))]
        holds({compat.implementation(part) for part in parts} == {name}, "transformers", "configs name the attention", where)
        model.set_attn_implementation("eager")
        found = {compat.implementation(part) for part in parts}
        holds(found == {"eager"}, "transformers", "set_attn_implementation reaches every attention module", where)


@families
@pytest.mark.parametrize("plain", ["sdpa", "eager"])
def test_a_registered_attention_function(family, plain):
    model, batch, seen, where = tiny_model(family, attention=plain), tiny_batch(family), [], f"{HERE}, register"
    with torch.no_grad():
        expected = model(**batch).logits

    def attention(module, query, key, value, mask, **options):
        out, weights = compat.plain_attention(module, plain)(module, query, key, value, mask, **options)
        seen.append((module, query, key, value, mask, options, out, weights))
        return out, weights

    compat.register(f"canary_{plain}", attention, plain)
    model.set_attn_implementation(f"canary_{plain}")
    with torch.no_grad():
        found = model(**batch).logits
    modules = {site.module for site in sites(model)}
    holds({call[0] for call in seen} == modules, "transformers", "every attention module calls a registered function", where)
    holds(torch.equal(found, expected), "transformers", "registered functions get the masks of the plain ones", where)
    for module, query, key, value, mask, options, out, weights in seen:
        rows, heads, queries, width = query.shape
        shapes = key.shape == value.shape == (rows, heads, key.shape[2], width) and out.shape == (rows, queries, heads, width)
        holds(shapes, "transformers", "queries, keys and values are [batch, heads, length, head_dim]", where)
        bound = set(options) >= {"dropout", "scaling"}
        holds(bound, "transformers", "attention functions are told dropout and scaling", f"{where}; attention.py")
        kind = torch.bool if plain == "sdpa" else query.dtype
        holds(mask is None or mask.dtype == kind, "transformers", "masks are boolean (sdpa) or added (eager)", where)
        holds((weights is None) == (plain == "sdpa"), "transformers", "eager attention alone shows weights", where)
        added = compat.additive_mask(module, query, key, mask, options)
        bare = compat.eager_attention(module)(module, query, key, value[..., :0], added, **{**options, "dropout": 0.0})[1]
        full = compat.eager_attention(module)(module, query, key, value, added, **{**options, "dropout": 0.0})
        told = "eager attention gives the weights for values of width 0, too"
        holds(torch.equal(bare, full[1]), "transformers", told, f"{HERE}, eager_attention")
        told = "SDPA computes what eager attention does under the same mask"
        holds(torch.allclose(full[0], out, atol=1e-5), "transformers", told, f"{HERE}, additive_mask")


@families
def test_what_attention_modules_tell_of_themselves(family):
    for site in sites(tiny_model(family)):
        causal = getattr(site.module, "is_causal", None) is (site.kind == "decoder")
        holds(causal or family == "gpt2", "transformers", "is_causal tells decoder self-attention", f"{HERE}, additive_mask")
        scale = 1.0 if family == "t5" else site.head_dim**-0.5
        holds(compat.scaling(site.module) == pytest.approx(scale), "transformers", "scaling is told", f"{HERE}, scaling")


@families
def test_gradient_checkpointing_is_told(family):
    model, where = tiny_model(family), f"{HERE}, checkpointing"
    holds(not compat.checkpointing(model), "transformers", "gradient checkpointing is off at first", where)
    model.activation_checkpointing_enable()
    holds(compat.checkpointing(model), "transformers", "layers tell of gradient checkpointing", where)


# --- other parts of models -------------------------------------------------------------------------------------------


@families
def test_the_bias_of_logits(family):
    model, batch, where = tiny_model(family), tiny_batch(family), f"{HERE}, logits_bias"
    bias = compat.logits_bias(model)
    has = family in ("marian", "bart", "mbart", "pegasus")
    holds((bias is not None) == has, "transformers", f"{family} keeps to having a bias of logits or none", where)
    if has:
        with torch.no_grad():
            before = model(**batch).logits
            bias.add_(torch.arange(len(bias)))
            rise = model(**batch).logits - before
        told = "final_logits_bias is added to the logits"
        holds(torch.allclose(rise, torch.arange(len(bias)).expand_as(rise).float(), atol=1e-4), "transformers", told, where)


@families
def test_norms(family):
    model, x = tiny_model(family), torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    where = f"{HERE}, rms_eps, and helpers/measures/lrp/layout.py, Norm"
    norms = [module for name, module in model.named_modules() if "norm" in name.lower() or "ln_" in name]
    assert norms
    for norm in norms:
        eps = compat.rms_eps(norm)
        if family == "t5":
            holds(eps is not None, "transformers", "T5's norm is told by its class and has its variance_epsilon", where)
            expected = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * norm.weight
            holds(torch.allclose(norm(x), expected, atol=1e-6), "transformers", "T5's norm is an RMSNorm without bias", where)
        else:
            holds(eps is None and isinstance(norm, nn.LayerNorm), "transformers", f"{family} norms by LayerNorm", where)


def test_positions():
    model, where = tiny_model("bart"), f"{HERE}, position_table"
    for side in (model.get_encoder(), model.get_decoder()):
        table = compat.position_table(side)
        holds(table.shape == (66, 32), "transformers", "BART has two more learned positions than it is asked for", where)


def test_tensors_that_are_not_saved():
    model = tiny_model("marian")
    names = {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
    found, where = compat.unsaved(model, names | {"model.shared.weight"}), f"{HERE}, unsaved"
    holds(found.keys() == names, "transformers", "Marian's positions are left out of saved weights", where)
    fresh = hf.MarianMTModel(model.config).state_dict()
    same = all(torch.equal(table, fresh[name]) for name, table in found.items())
    holds(same, "transformers", "create_weight makes Marian's positions", where)


# --- attention modules with fewer heads ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "gpt2"])
def test_what_counts_the_heads_of_a_module(family):
    where = f"{HERE}, resize"
    for site in sites(tiny_model(family)):
        names = {"n_heads": 4, "inner_dim": 32} if family == "t5" else {"num_heads": 4}
        told = all(getattr(site.module, name, None) == size for name, size in names.items())
        holds(told, "transformers", f"attention of {family} counts its heads as {' and '.join(names)}", where)
        known = hasattr(site.module, "relative_attention_num_buckets") == (family == "t5")
        holds(known, "transformers", "T5's attention is told by its relative_attention_num_buckets", where)


def test_position_biases_of_t5():
    model, where = tiny_model("t5"), f"{HERE}, _take_own_bias and _hand_on_whole_bias"
    first, second = (site.module for site in sites(model, "encoder"))
    own = first.compute_bias(5, 5, torch.device("cpu"), 0)
    holds(own.shape == (1, 4, 5, 5), "transformers", "compute_bias makes [1, heads, query, key]", where)
    seen = []
    second.register_forward_pre_hook(lambda module, args, options: seen.append(options), with_kwargs=True)
    first.register_forward_hook(lambda module, args, output: seen.append(output))
    with torch.no_grad():
        model.get_encoder()(input_ids=torch.tensor([[5, 6, 7, 8, 1]]))
    output, given = seen
    holds(torch.equal(output[1], own), "transformers", "T5's attention returns its position biases second", where)
    handed = given.get("position_bias") is output[1]
    holds(handed, "transformers", "position biases are handed on to the next layer by that name", where)
    holds(given.keys() >= {"past_key_values"}, "transformers", "T5's attention is given its cache by name", where)


def test_caches():
    where = f"{HERE}, _HeadlessCache and _keep_length"
    batch = {"input_ids": torch.tensor([[5, 6, 7, 1]])}
    with torch.no_grad():
        alone = tiny_model("opt")(**batch, use_cache=True).past_key_values
        both = tiny_model("marian")(**batch, decoder_input_ids=batch["input_ids"], use_cache=True).past_key_values
    pair = isinstance(both, hf.EncoderDecoderCache)
    holds(pair, "transformers", "encoder-decoder models have one cache a kind of attention", where)
    layer = DynamicLayer
    for cache in (alone, both.self_attention_cache, both.cross_attention_cache):
        plain = [type(one) for one in cache.layers] == [layer, layer] and all(one.is_initialized for one in cache.layers)
        holds(plain and cache.layers[1].keys.shape[-2] == 4, "transformers", "caches are lists of DynamicLayers", where)
        sizes = cache.get_seq_length(0) == 4 and cache.get_mask_sizes(1, 0) == (5, 0)
        holds(sizes, "transformers", "caches tell lengths and sizes of masks", f"{HERE}, _take_own_bias")
    one = layer()
    one.update(torch.ones(2, 0, 3, 8), torch.ones(2, 0, 3, 8))
    holds(one.get_seq_length() == 0, "transformers", "a layer without heads passes for empty (delete what mends it)", where)


def test_attention_of_opt_is_that_of_marian():
    where, model, batch = f"{HERE}, HeadlessOPTAttention", tiny_model("opt"), tiny_batch("opt")
    with torch.no_grad():
        expected = model(**batch).logits
        for site in sites(model):
            site.module.__class__ = compat.HeadlessOPTAttention
        found = model(**batch).logits
    told = "Marian's forward computes what OPT's does"
    holds(torch.allclose(found, expected, atol=1e-4), "transformers", told, where)


@families
def test_attention_knows_its_cache(family):
    for site in sites(tiny_model(family)):
        known = "past_key_values" in inspect.signature(site.module.forward).parameters
        known = known and (site.kind == "encoder" or site.module.layer_idx == site.layer)
        holds(known, "transformers", "attention knows its layer and takes past_key_values", f"{HERE}, _keep_length")


# --- what other rooms use --------------------------------------------------------------------------------------------


def test_operations_are_counted():
    counter = FlopCounterMode(display=False)
    with counter:
        torch.ones(3, 4) @ torch.ones(4, 5)
    told = "products of matrices are counted, two operations a multiply-add"
    holds(counter.get_total_flops() == 2 * 3 * 4 * 5, "torch", told, "helpers/models.py, flops")


def test_the_interval_of_bleu():
    metric = BLEU()
    score = metric.corpus_score(["a b c d e", "a b c d f"], [["a b c d e", "a b c d e"]], n_bootstrap=20)
    told = all(isinstance(getattr(score, name, None), float) for name in ("_mean", "_ci"))
    holds(told, "sacrebleu", "a bootstrapped score has _mean and _ci", "helpers/scores/scoring.py, bleu")


def test_the_figure_of_an_animation(tmp_path):
    figure = pyplot.figure()
    made = animation.FuncAnimation(figure, lambda frame: (), frames=2)
    holds(getattr(made, "_fig", None) is figure, "matplotlib", "an animation has its _fig", "helpers/study/run.py, save_figure")
    made.save(tmp_path / "made.gif", writer="pillow")  # one that is never drawn warns
    pyplot.close(figure)


def test_bytes_as_letters():
    letters = bytes_to_unicode()
    told = sorted(letters) == list(range(256)) and letters[ord("a")] == "a" and letters[ord(" ")] == "Ġ"
    holds(told, "transformers", "bytes_to_unicode gives each byte its letter", "helpers/corpora/resolvers.py, _decoded")
