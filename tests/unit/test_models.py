"""Models from scratch, and pretrained ones in one call."""

from __future__ import annotations

import shutil
import time

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as kinds
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModelForSeq2SeqLM,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
)

from helpers import heads, models, study
from helpers.corpora import Pair, tokens
from helpers.study import StudyError

SHAPE = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 24, "dropout": 0.1}


def logits(model, **batch):
    with torch.no_grad():
        return model(**batch).logits


def batch(size=20):
    source = torch.randint(2, size, (2, 5))
    return {"input_ids": source, "attention_mask": torch.ones_like(source), "labels": torch.randint(2, size, (2, 4))}


# --- from scratch ----------------------------------------------------------------------------------------------------


def test_shapes():
    model = models.build(SHAPE, 20, 30, 1)
    encoder, decoder = model.model.encoder, model.model.decoder
    assert (len(encoder.layers), len(decoder.layers)) == (2, 2)
    assert encoder.layers[0].fc1.weight.shape == (24, 16)
    assert encoder.layers[0].self_attn.num_heads == decoder.layers[1].encoder_attn.num_heads == 4
    found = logits(model.eval(), input_ids=torch.tensor([[19, 1]]), decoder_input_ids=torch.tensor([[0, 49, 3]]))
    assert found.shape == (1, 3, 50)


def test_one_table_holds_both_vocabularies_and_the_output():
    model = models.build(SHAPE, 20, 30, 1)
    table = model.model.encoder.embed_tokens.weight
    assert table.shape == (50, 16)
    assert model.model.decoder.embed_tokens.weight is model.get_output_embeddings().weight is table


def test_normalises_before_each_block():
    model = models.build(SHAPE, 20, 30, 1).eval()
    for side in (model.model.encoder, model.model.decoder):
        inputs = []
        side.layers[0].self_attn.register_forward_pre_hook(
            lambda module, args, kwargs, inputs=inputs: inputs.append(kwargs.get("hidden_states", *args[:1])), with_kwargs=True
        )
        out = []
        side.layer_norm.register_forward_hook(lambda module, args, result, out=out: out.append(result))
        logits(model, **batch())
        for hidden in inputs + out:  # at the start a norm's scale is 1 and its shift 0
            torch.testing.assert_close(hidden.mean(-1), torch.zeros(hidden.shape[:-1]), atol=1e-5, rtol=0)
            torch.testing.assert_close(hidden.var(-1, unbiased=False), torch.ones(hidden.shape[:-1]), atol=1e-2, rtol=0)
        assert (len(inputs), len(out)) == (1, 1)


def test_seed_decides_the_weights():
    first, same, other = (models.build(SHAPE, 20, 30, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_every_profile_can_be_built():
    for profile in study.PROFILES:
        shape = study.settings(profile)["model"]
        with torch.device("meta"):
            model = models.build(shape, 100, 100, 1)
        assert model.config.encoder_layers == shape["layers"]


@pytest.mark.parametrize(("width", "heads"), [(16, 3), (16, 0), (16, 32)])
def test_width_that_cannot_be_split(width, heads):
    with pytest.raises(StudyError, match=f"A width of {width} cannot be split over {heads} heads: choose a multiple."):
        models.build(SHAPE | {"width": width, "heads": heads}, 20, 20, 1)


def test_saved_and_loaded_is_equal(tmp_path):
    model = models.build(SHAPE, 20, 30, 1).eval()
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    states = model.state_dict(), loaded.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    same = batch()
    assert torch.equal(logits(model, **same), logits(loaded.eval(), **same))
    assert loaded.get_output_embeddings().weight is loaded.model.encoder.embed_tokens.weight
    assert loaded.generation_config.max_length == models.MAX_POSITIONS


def test_padding_changes_nothing():
    model = models.build(SHAPE, 20, 30, 1).eval()
    row, labels = torch.tensor([[5, 6, 7, 1]]), torch.tensor([[3, 4, 1]])
    alone = logits(model, input_ids=row, attention_mask=torch.ones_like(row), labels=labels)
    padded = torch.cat([row, torch.zeros(1, 3, dtype=torch.long)], 1)
    found = logits(model, input_ids=padded, attention_mask=(padded > 0).long(), labels=labels)
    torch.testing.assert_close(found, alone)


def test_inputs_takes_what_a_model_takes():
    given = batch() | {"index": torch.arange(2), "word_ids": torch.zeros(2, 5)}
    assert set(models.inputs(given)) == {"input_ids", "attention_mask", "labels"}


# --- pretrained ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A folder as one downloads it: a tiny Marian model, with a fast tokenizer."""
    folder = tmp_path_factory.mktemp("checkpoint")
    inner = Tokenizer(kinds.BPE(unk_token="<unk>"))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=40, special_tokens=["<pad>", "</s>", "<unk>"], show_progress=False)
    inner.train_from_iterator(["the cat sees the dog", "кошка видит"], trainer)
    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    tokenizer.save_pretrained(folder)
    sizes = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 1), ("ffn_dim", 16))}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "d_model": 16, "max_position_embeddings": 32}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    MarianMTModel(MarianConfig(vocab_size=len(tokenizer), **sizes, **heads, **ids)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", [str, lambda folder: folder])
def test_load_takes_a_folder_in_one_call(checkpoint, kind):
    model, tokenizer = models.load(kind(checkpoint))
    assert not model.training
    assert model.config.d_model == 16
    source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    data = tokens.encode([Pair("the cat", "кошка", ("the", "cat")), Pair("the dog sees", "видит")], source, target)
    made = tokens.collate(data, [0, 1], source.pad)
    assert logits(model, **models.inputs(made)).shape == (2, made["labels"].shape[1], len(tokenizer))


def one_sentence(name):
    started = time.time()
    with pytest.raises(StudyError) as caught:
        models.load(name)
    assert time.time() - started < 10
    text = str(caught.value)
    assert text.startswith(f"Cannot load the model {str(name)!r} (")
    assert text.endswith("give a folder that holds one, or a Hub name that this machine can reach or has in its cache.")
    assert "\n" not in text
    return text


def test_missing_folders_and_unreachable_names(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in (tmp_path / "nowhere", tmp_path / "empty", "./nowhere", "", "not a name!"):
        one_sentence(name)
    assert "connect" in one_sentence("nobody/no-such-model")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_incomplete_folders(checkpoint, tmp_path, name, damage):
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint, folder)
    path = folder / name
    if damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.unlink()
    one_sentence(folder)


def test_a_model_of_another_kind(tmp_path):
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 8, "bos_token_id": 1, "eos_token_id": 1}
    GPT2LMHeadModel(GPT2Config(vocab_size=20, **sizes)).save_pretrained(tmp_path)
    assert "GPT2Config" in one_sentence(tmp_path)


def test_encoder_starts_with_word_by_word_representations():
    """A new encoder's self-attention adds nothing, and learns all the same."""
    model = models.build({"layers": 2, "width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.0}, 20, 20, 1).eval()
    ids = torch.tensor([[3, 4, 5, 1], [3, 6, 7, 1]])
    with torch.no_grad():
        hidden = model.get_encoder()(input_ids=ids).last_hidden_state
    assert torch.equal(hidden[0, 0], hidden[1, 0]) and not torch.equal(hidden[0, 1], hidden[1, 1])
    model(input_ids=ids, labels=ids).loss.backward()
    assert all(layer.self_attn.out_proj.weight.grad.abs().sum() > 0 for layer in model.model.encoder.layers)


def test_a_decoder_of_its_own_size():
    shape = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 32, "dropout": 0.0, "decoder_layers": 1, "decoder_heads": 2}
    found = {(site.kind, site.layer): site.heads for site in heads.sites(models.build(shape, 20, 20, 1))}
    assert found == {("encoder", 0): 4, ("encoder", 1): 4, ("decoder", 0): 2, ("cross", 0): 2}
    with pytest.raises(StudyError, match="cannot be split over 3 heads"):
        models.build(shape | {"decoder_heads": 3}, 20, 20, 1)
