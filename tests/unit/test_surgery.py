"""Heads removed for good: what is left computes what gates of 0 give, and comes back from a folder bit for bit."""

import copy
import itertools
import json
import os
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import MT5Config, MT5ForConditionalGeneration

from helpers.heads import gate, index, inject, kept, load, record, remove, save, sites
from helpers.study import StudyError
from tests.unit import tiny_models
from tests.unit.tiny_models import EAGER_ALONE, EVERY, SEQ2SEQ, TODAY, generate, logits, prompts, tiny_batch, tiny_model

families = pytest.mark.parametrize("family", EVERY)
grouped = pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"])
some = pytest.mark.parametrize("family", ["marian", "t5", "opt", "gpt2", "gemma3", "phi3", "gpt_neox"])
LAYERS = {
    **{family: {"num_hidden_layers": 3} for family in ("opt", *TODAY)},
    **{family: {"encoder_layers": 3, "decoder_layers": 3} for family in SEQ2SEQ},
    "t5": {"num_layers": 3, "num_decoder_layers": 3},
    "gpt2": {"n_layer": 3},
    "gemma3": {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
}
SINGLE = {family: 2e-6 for family in TODAY if family not in ("gpt_neox", "bert", "roberta")}  # norms in single precision


def three_layers(family, attention="sdpa", **settings):
    return tiny_model(family, attention="eager" if family in EAGER_ALONE else attention, **LAYERS[family], **settings)


def typed(model, dtype):
    """A model with numbers of a type; what is computed and not learnt stays as the library computes it."""
    for tensor in model.state_dict(keep_vars=True).values():
        tensor.data = tensor.data.to(dtype)
    return model


def some_heads(model, seed):
    """About half of all heads, and of every kind all in one layer: the first for even seeds, a later one for odd."""
    chance = random.Random(seed)
    bare = {"encoder": 1, "decoder": 2, "cross": 1} if seed % 2 else {"encoder": 0, "decoder": 0, "cross": 0}
    return [(kind, i, h) for kind, i, h in index(model) if bare[kind] == i or chance.random() < 0.5]


def closed(model, heads):
    return gate(model, dict.fromkeys(heads, 0.0))


def close(found, expected, tolerance):
    """Relative to the largest number."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert (found - expected).abs().max() <= tolerance * expected.abs().max()


@pytest.mark.parametrize("seed", [0, 1])
@families
def test_outputs_equal_those_of_closed_gates(family, seed, monkeypatch):
    tiny_models.exact_norms(monkeypatch)
    attention = "eager" if seed and family not in TODAY else "sdpa"  # theirs has its softmax in single precision
    model, batch = three_layers(family, attention), tiny_batch(family)
    model = model if family in EAGER_ALONE else model.double()
    heads = some_heads(model, seed)
    with closed(model, heads):
        expected = logits(model, batch)
    assert (expected - logits(model, batch)).abs().max() > 1e-2
    close(logits(remove(model, heads), batch), expected, SINGLE.get(family, 1e-10))


@some
def test_generated_text_is_that_of_closed_gates(family):
    """Greedy and with beams, in single precision as most models are used; prompts of unequal lengths are padded on the left."""
    model, batch = three_layers(family), prompts(family)
    batch = tiny_models.left(batch) if family == "t5" else batch
    heads = some_heads(model, int(family in SEQ2SEQ))
    cut = remove(copy.deepcopy(model), heads)
    with closed(model, heads):
        close(logits(cut, tiny_batch(family)), logits(model, tiny_batch(family)), 1e-5)
    for options in ({}, {"num_beams": 3}, {"use_cache": False}, {"cache_implementation": "static"}):
        with closed(model, heads):
            expected = generate(model, batch, **options)
        assert torch.equal(generate(cut, batch, **options), expected), options
    assert not torch.equal(expected, generate(model, batch, **options))


@grouped
def test_a_key_value_head_goes_with_the_last_query_head_that_reads_it(family):
    model = three_layers(family, hidden_size=48, num_attention_heads=6, num_key_value_heads=3, head_dim=8)
    batch = tiny_batch(family)
    gone = {0: {1}, 1: {0, 1, 5}, 2: {0, 3, 5}}  # pairs of heads read key-value heads 0, 1 and 2
    heads = [("decoder", layer, head) for layer, some in gone.items() for head in some]
    with closed(model, heads):
        expected, text = logits(model, batch), generate(model, prompts(family), num_beams=2)
    remove(model, heads[:2])
    remove(model, [("decoder", 1, 0), ("decoder", 1, 4), *heads[4:]])  # numbers 1 and 5 of the original
    assert [site.groups for site in sites(model)] == [(0, 1, 1, 2, 2), (0, 0, 1), (0, 1, 2)]
    close(logits(model, batch), expected, 1e-5)
    assert torch.equal(generate(model, prompts(family), num_beams=2), text)
    with torch.no_grad():
        cache = model(**batch, use_cache=True).past_key_values
    assert [layer.keys.shape[1] for layer in cache.layers] == [layer.values.shape[1] for layer in cache.layers] == [3, 2, 3]


@some
def test_the_cache_knows_its_length_without_heads(family):
    model, batch = three_layers(family), prompts(family)
    cut = remove(model, [head for head in index(model) if head[0] == "decoder" and head[1] == 0])
    if family in SEQ2SEQ:
        batch["decoder_input_ids"] = batch["input_ids"]
    with torch.no_grad():
        out = cut(**batch, use_cache=True)
    assert out.past_key_values.get_seq_length() == batch["input_ids"].shape[1]


@some
def test_removals_compose_and_kept_tells_the_original_numbers(family):
    model, batch = three_layers(family), tiny_batch(family)
    assert remove(model, []) is model and not hasattr(model.config, "kept_heads")
    assert kept(model) == {(site.kind, site.layer): [0, 1, 2, 3] for site in sites(model)}
    at_once = remove(copy.deepcopy(model), [("decoder", 0, 0), ("decoder", 0, 1), ("decoder", 0, 3), ("decoder", 2, 2)])
    cut = remove(model, [("decoder", 0, 1), ("decoder", 2, 2)])
    copied = copy.deepcopy(cut)
    assert kept(cut)["decoder", 0] == [0, 2, 3] and kept(cut)["decoder", 1] == [0, 1, 2, 3]
    for again in (cut, copied):
        remove(again, [["decoder", 0, 2], ["decoder", 0, 0]])  # numbers 3 and 0 of the original
        assert kept(again)["decoder", 0] == [2] and kept(again) == kept(at_once)
        assert torch.equal(logits(again, batch), logits(at_once, batch))
    assert torch.equal(logits(copied, batch), logits(cut, batch))


def test_what_cannot_be_removed_is_refused_and_nothing_is_cut():
    model = tiny_model("marian")
    before, one = {name: tensor.clone() for name, tensor in model.state_dict().items()}, ("encoder", 0, 0)
    for heads, message in [
        ([one, ("encoder", 0, 4)], r"no head \('encoder', 0, 4\)"),
        ([one, "encoder"], "no head encoder"),
        ([one, ("encoder", 1)], r"\('encoder', 1\) names a whole layer"),
        ([one, ("encoder", 1, 2), one], r"head \('encoder', 0, 0\) is to be removed twice"),
    ]:
        with pytest.raises(StudyError, match=message):
            remove(model, heads)
    for block in (gate(model, {one: 0.5}), inject(model, {one: torch.eye(7)}), record(model, print)):
        with block:
            copied = copy.deepcopy(model)
            for other, head in itertools.product((model, copied, copy.deepcopy(copied)), (one, ("cross", 1, 3))):
                with pytest.raises(StudyError, match="inside an open block"):  # wherever in the model the block is at work
                    remove(other, [head])
        assert kept(remove(copied, [one]))["encoder", 0] == [1, 2, 3]
    model.get_submodule("model.encoder.layers.0.self_attn").q_proj = nn.Sequential(nn.Linear(32, 32))
    with pytest.raises(StudyError, match="not plain linear layers"):
        remove(model, [("encoder", 1, 0), one])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items() if name in before)


def test_other_families_are_refused_by_name(tmp_path):
    name, model = "MT5ForConditionalGeneration", MT5ForConditionalGeneration(MT5Config(**tiny_models.FAMILIES["t5"][2]))
    for action in (lambda: remove(model, []), lambda: save(model, tmp_path / "model")):
        with pytest.raises(StudyError, match=f"{name}.*not supported"):
            action()
    assert not (tmp_path / "model").exists()
    model.save_pretrained(tmp_path / name)
    with pytest.raises(StudyError, match=f"holds {name}"):
        load(tmp_path / name)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@some
def test_a_loaded_model_is_like_the_saved_one(family, dtype, tmp_path):
    model, folder = typed(three_layers(family), dtype), tmp_path / "deep" / "model"
    gone = index(model) if dtype == torch.float64 else some_heads(model, 0)
    remove(model, gone).get_input_embeddings().weight.requires_grad_(True)
    model.generation_config.num_beams = 3
    save(model, folder)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]  # no scratch folder is left
    loaded, batch = load(folder), tiny_batch(family)
    assert type(loaded) is type(model) and not loaded.training and kept(loaded) == kept(model)
    assert torch.equal(logits(loaded, batch), logits(model, batch))
    assert torch.equal(generate(loaded, prompts(family)), generate(model, prompts(family)))  # with 3 beams
    # tied weights are one parameter, as before
    before, after = ([(name, p.requires_grad) for name, p in one.named_parameters()] for one in (model, loaded))
    assert before == after
    tied = [one.get_output_embeddings().weight is one.get_input_embeddings().weight for one in (model, loaded)]
    assert tied == [family not in ("phi3", "gpt_neox")] * 2
    more = [head for head in index(model) if head[2] == 0]
    assert torch.equal(logits(remove(loaded, more), batch), logits(remove(model, more), batch))


@some
def test_folders_that_the_library_wrote_are_read(family, tmp_path):
    model, batch = tiny_model(family), tiny_batch(family)
    if family == "marian":  # the library leaves positions out of the file, as they are sines
        for part in (model.get_encoder(), model.get_decoder()):
            part.embed_positions.weight.data = part.embed_positions.create_weight()
    for cut in (model, remove(copy.deepcopy(model), some_heads(model, 0))):
        for number_type in (torch.float32, torch.bfloat16):
            typed(cut, number_type).save_pretrained(tmp_path / "theirs")
            loaded = load(tmp_path / "theirs")
            assert torch.equal(logits(loaded, batch), logits(cut, batch)) and kept(loaded) == kept(cut)


def test_numbers_too_large_for_a_number_type_are_refused(tmp_path):
    model = tiny_model("opt")
    with torch.no_grad():
        model.get_parameter("model.decoder.layers.1.fc1.weight")[2, 3] = -70_000
    with pytest.raises(StudyError, match=r"layers\.1\.fc1\.weight .* wider"):
        save(model, tmp_path / "model", torch.float16)
    assert not list(tmp_path.iterdir())


def test_saving_again_replaces_the_model_and_keeps_other_files(tmp_path, monkeypatch):
    model, folder, batch = tiny_model("opt"), tmp_path / "model", tiny_batch("opt")
    folder.mkdir()
    save(model, folder)
    (folder / "tokenizer.json").write_text("{}")
    before = logits(model, batch)
    remove(model, [("decoder", 0, 1)])

    def fail(*args, **options):
        raise OSError("disk full")

    rename = Path.rename
    for place, broken in (
        ("helpers.heads.surgery.save_file", fail),
        ("pathlib.Path.rename", lambda path, target: fail() if path.suffix == ".new" else rename(path, target)),
    ):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
            patch.setattr(place, broken)
            save(model, folder)
        assert torch.equal(logits(load(folder), batch), before)  # what was there is there still
        assert (folder / "tokenizer.json").exists() and [path.name for path in tmp_path.iterdir()] == ["model"]
    save(model, folder)
    assert torch.equal(logits(load(folder), batch), logits(model, batch))
    assert (folder / "tokenizer.json").exists() and [path.name for path in tmp_path.iterdir()] == ["model"]


def test_other_folders_are_not_written_to(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(StudyError, match="holds no saved model: choose another folder"):
            save(tiny_model("opt"), place)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"] and (tmp_path / "notes.txt").read_text() == "mine"


def config(change):
    """Change the config, which is given as a dict."""

    def write(folder):
        path = folder / "config.json"
        settings = json.loads(path.read_text())
        change(settings)
        path.write_text(json.dumps(settings))

    return write


def mapped(heads):
    return config(lambda settings: settings["kept_heads"].update({"decoder.1": heads}))


def tensors(change):
    """Change the weights, which are given as a dict."""

    def write(folder):
        state = load_file(folder / "model.safetensors")
        change(state)
        save_file(state, folder / "model.safetensors")

    return write


OUT = "model.encoder.layers.0.self_attn.out_proj.weight"
BAD = {
    "no folder": (shutil.rmtree, "no folder"),
    "weights truncated": (lambda folder: os.truncate(folder / "model.safetensors", 5000), "damaged"),
    "config cut off": (lambda folder: (folder / "config.json").write_text('{"model_'), "no config"),
    "unknown class": (config(lambda c: c.update(architectures=["Novel"])), "holds Novel"),
    "no map": (config(lambda c: c.pop("kept_heads")), "map kept_heads"),
    "too many heads": (mapped([0, 2, 3]), "map kept_heads"),
    "head out of range": (mapped([0, 4]), r"\[0, 4\] for decoder.1"),
    "layer missing": (config(lambda c: c["kept_heads"].pop("cross.0")), "see cross.0"),
    "tensor missing": (tensors(lambda state: state.pop(OUT)), f"lacks .* {OUT}"),
    "other vocabulary": (config(lambda c: c.update(vocab_size=61)), "size"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    save(remove(tiny_model("marian"), [("decoder", 1, 1), ("decoder", 1, 3), ("encoder", 0, 0)]), folder)
    return folder


@pytest.mark.parametrize("case", BAD)
def test_a_folder_that_is_not_right_is_refused(case, saved, tmp_path):
    spoil, message = BAD[case]
    folder = shutil.copytree(saved, tmp_path / "model")
    spoil(folder)
    with pytest.raises(StudyError, match=message):
        load(folder)
