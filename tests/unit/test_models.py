"""Models from scratch and their size, and pretrained ones in one call."""

from __future__ import annotations

import math
import re
import shutil
import time

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as kinds
from tokenizers.processors import TemplateProcessing
from torch.nn import functional as F
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    BartForConditionalGeneration,
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


@pytest.mark.parametrize("kind", ["translator", "summarizer"])
@pytest.mark.parametrize(("start", "zero"), [(None, {"encoder"}), ("zero", {"encoder", "decoder", "cross"}), ("usual", set())])
def test_start_says_which_attention_begins_with_an_output_of_zero(kind, start, zero):
    shape = SHAPE | ({"start": start} if start else {})
    build = {
        "translator": lambda shape: models.build(shape, 20, 30, 1),
        "summarizer": lambda shape: models.build_bart(shape, 50, 1),
    }
    model, plain = build[kind](shape), build[kind](SHAPE)
    for site in heads.sites(model):
        assert (site.projection("out").weight == 0).all() == (site.kind in zero)
    others = [name for name, _ in model.named_parameters() if "attn.out_proj.weight" not in name]
    for name in others:  # nothing else depends on it
        torch.testing.assert_close(model.get_parameter(name), plain.get_parameter(name), atol=0, rtol=0)


def test_seed_decides_the_weights():
    first, same, other = (models.build(SHAPE, 20, 30, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_every_profile_can_be_built():
    for profile in study.profiles():
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


def test_one_vocabulary_for_both_sides():
    model = models.build(SHAPE, 20, 0, 1).eval()
    assert model.get_input_embeddings().weight.shape == (20, 16)
    assert (
        model.model.decoder.embed_tokens.weight is model.get_output_embeddings().weight is model.get_input_embeddings().weight
    )
    assert logits(model, **batch()).shape == (2, 4, 20)


# --- decoder-only ----------------------------------------------------------------------------------------------------


def text(length=6, examples=3, size=20):
    ids = torch.randint(2, size, (examples, length), generator=torch.Generator().manual_seed(3))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def test_shapes_of_a_decoder():
    model = models.build_decoder(SHAPE, 20, 1).eval()
    assert len(model.model.decoder.layers) == 2 and model.model.decoder.layers[0].fc1.weight.shape == (24, 16)
    assert {(site.kind, site.layer): site.heads for site in heads.sites(model)} == {("decoder", 0): 4, ("decoder", 1): 4}
    table = model.get_input_embeddings().weight
    assert table.shape == (20, 16) and model.get_output_embeddings().weight is table
    assert logits(model, **text()).shape == (3, 6, 20)
    assert logits(model, input_ids=torch.full((1, models.MAX_POSITIONS), 5)).shape == (1, models.MAX_POSITIONS, 20)
    config = model.config
    assert (config.pad_token_id, config.bos_token_id, config.eos_token_id) == (0, 1, 1) and not table[0].any()
    assert (config.dropout, config.attention_dropout, config.layerdrop) == (0.1, 0.1, 0.0)


def test_a_decoder_normalises_before_each_block_and_at_the_end():
    model, normalised = models.build_decoder(SHAPE, 20, 1).eval(), []
    layer = model.model.decoder.layers[1]
    for part in (layer.self_attn.q_proj, layer.fc1, model.lm_head):
        part.register_forward_pre_hook(lambda module, args: normalised.append(args[0]))
    logits(model, **text())
    assert len(normalised) == 3
    for hidden in normalised:  # at the start a norm's scale is 1 and its shift 0
        torch.testing.assert_close(hidden.mean(-1), torch.zeros(hidden.shape[:-1]), atol=1e-5, rtol=0)
        torch.testing.assert_close(hidden.var(-1, unbiased=False), torch.ones(hidden.shape[:-1]), atol=5e-2, rtol=0)


def test_seed_decides_the_weights_of_a_decoder():
    first, same, other = (models.build_decoder(SHAPE, 20, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(("width", "heads"), [(16, 3), (16, 0), (16, 32)])
def test_width_of_a_decoder_that_cannot_be_split(width, heads):
    with pytest.raises(StudyError, match=f"A width of {width} cannot be split over {heads} heads: choose a multiple."):
        models.build_decoder(SHAPE | {"width": width, "heads": heads}, 20, 1)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_of_a_text_changes_nothing(side, attention):
    model = models.build_decoder(SHAPE, 20, 1).eval()
    model.set_attn_implementation(attention)
    row = torch.tensor([[5, 6, 7, 1]])
    alone = logits(model, input_ids=row)
    padded = F.pad(row, (3, 0) if side == "left" else (0, 3))
    found = logits(model, input_ids=padded, attention_mask=(padded > 0).long())
    torch.testing.assert_close(found[:, 3:] if side == "left" else found[:, :4], alone)


def test_a_decoder_sees_what_came_before_and_where_it_stands():
    model = models.build_decoder(SHAPE, 20, 1).eval()
    plain = logits(model, input_ids=torch.tensor([[5, 6, 7, 8]]))
    later = logits(model, input_ids=torch.tensor([[5, 6, 7, 9]]))
    assert torch.equal(plain[:, :3], later[:, :3]) and not torch.allclose(plain[:, 3], later[:, 3])
    swapped = logits(model, input_ids=torch.tensor([[6, 5, 7, 8]]))
    assert not torch.allclose(plain[:, 3], swapped[:, 3], atol=1e-4)  # the same tokens before it, in another order


def test_the_loss_of_a_decoder_is_of_the_next_token():
    model, given = models.build_decoder(SHAPE, 20, 1).eval(), text()
    given["labels"] = given["labels"].clone()
    given["labels"][0, 4:] = -100
    with torch.no_grad():
        out = model(**models.inputs(given))
    expected = F.cross_entropy(out.logits[:, :-1].flatten(0, 1), given["labels"][:, 1:].flatten(), ignore_index=-100)
    torch.testing.assert_close(out.loss, expected)


def test_a_decoder_learns_and_continues_texts():
    model, given = models.build_decoder(SHAPE | {"dropout": 0.0}, 20, 1), torch.tensor([[1, 5, 6, 5, 7, 8, 5, 1]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(input_ids=given, labels=given).loss
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    assert model.eval().generate(given[:, :1]).tolist() == given.tolist()  # up to the id that ends a text
    rows = torch.tensor([[0, 0, 1, 5], [1, 5, 6, 5]])
    found = model.generate(rows, attention_mask=(rows > 0).long())
    assert [row[row > 0].tolist() for row in found] == given.tolist() * 2
    assert model.generation_config.max_length == models.MAX_POSITIONS


def test_a_decoder_saved_and_loaded_is_equal(tmp_path):
    model = models.build_decoder(SHAPE, 20, 1).eval()
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(logits(model, **text()), logits(loaded.eval(), **text()))
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert loaded.generation_config.max_length == models.MAX_POSITIONS


# --- size ------------------------------------------------------------------------------------------------------------

LAYER = 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16 + 2 * 2 * 16  # attention, feed-forward and two norms, with biases


def test_size_of_a_decoder():
    model, given = models.build_decoder(SHAPE, 20, 1).eval(), text(length=6, examples=3)
    # two FLOPs a multiply-add: linear layers and the output for each token, both products of attention for each pair of tokens
    tokens, pairs = 3 * 6, 3 * 6 * 6
    products = 2 * (tokens * (2 * (4 * 16 * 16 + 2 * 16 * 24) + 16 * 20) + 2 * 2 * pairs * 16)
    assert models.size(model, given) == (2 * LAYER + 2 * 16, products)
    for same in ({"input_ids": given["input_ids"]}, given | {"index": torch.arange(3)}):  # without labels, with other things
        assert models.size(model, same) == models.size(model.train(), given) == models.size(model.eval(), given)
    assert models.parameters(models.build_decoder(SHAPE, 40, 1)) == models.parameters(model)


def test_size_of_an_encoder_with_a_decoder():
    model, given = models.build(SHAPE, 20, 30, 1).eval(), batch()
    cross = 4 * (16 * 16 + 16) + 2 * 16
    learned = 2 * (2 * LAYER + cross) + 2 * 2 * 16
    source, target = 2 * 5, 2 * 4
    linear = 2 * (source * (4 * 16 * 16 + 2 * 16 * 24) + target * (6 * 16 * 16 + 2 * 16 * 24) + source * 2 * 16 * 16)
    pairs = 2 * (2 * 5 * 5 + 2 * 4 * 4 + 2 * 4 * 5)
    assert models.size(model, given) == (learned, 2 * (linear + 2 * pairs * 16 + target * 16 * 50))


def test_an_output_of_its_own_is_counted():
    model = models.build_decoder(SHAPE, 20, 1)
    tied = models.parameters(model)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    assert models.parameters(model) == tied + 20 * 16


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_counting_leaves_the_model_as_it_was(attention):
    model = models.build_decoder(SHAPE, 20, 1)
    model.set_attn_implementation(attention)
    models.size(model, text())
    assert model.config._attn_implementation == attention and model.training
    assert all(weight.grad is None for weight in model.parameters())
    with pytest.raises(IndexError):
        models.size(model, {"input_ids": torch.tensor([[20]])})
    assert model.config._attn_implementation == attention


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


# --- from scratch, for summarization -----------------------------------------------------------------------------------


def normed(hidden):
    """Whether every token's numbers have mean 0 and variance 1, as after a norm at its start."""
    mean, variance = hidden.mean(-1), hidden.var(-1, unbiased=False)
    return bool((mean.abs() < 1e-5).all() and ((variance - 1).abs() < 1e-2).all())


def test_shapes_of_a_bart():
    model = models.build_bart(SHAPE, 20, 1)
    encoder, decoder = model.model.encoder, model.model.decoder
    assert type(model) is BartForConditionalGeneration and (len(encoder.layers), len(decoder.layers)) == (2, 2)
    for layer in (*encoder.layers, *decoder.layers):
        assert layer.fc1.weight.shape == (24, 16) and layer.self_attn.num_heads == 4
        assert layer.dropout == layer.self_attn.dropout == layer.activation_dropout == 0.1
        assert isinstance(layer.activation_fn, torch.nn.Module) and "gelu" in type(layer.activation_fn).__name__.lower()
    found = logits(model.eval(), input_ids=torch.tensor([[19, 1]]), decoder_input_ids=torch.tensor([[0, 19, 3]]))
    assert found.shape == (1, 3, 20)
    cross = 4 * (16 * 16 + 16) + 2 * 16
    assert models.parameters(model) == 2 * (2 * LAYER + cross) + 2 * 2 * 16  # positions, which are learned, are not counted
    assert model.generation_config.max_length == models.MAX_POSITIONS == model.config.max_position_embeddings
    whole = torch.full((1, models.MAX_POSITIONS), 5)
    assert logits(model, input_ids=whole, decoder_input_ids=whole).isfinite().all()


def test_a_bart_s_one_table_holds_the_output_too():
    model = models.build_bart(SHAPE, 20, 1)
    table = model.model.encoder.embed_tokens.weight
    assert table.shape == (20, 16)
    assert model.model.decoder.embed_tokens.weight is model.get_output_embeddings().weight is table
    assert not model.final_logits_bias.any() and not table[0].any()
    assert table[1:].std().item() == pytest.approx(16**-0.5, rel=0.1)


def test_a_bart_normalises_after_each_block_and_its_embeddings():
    model, outs = models.build_bart(SHAPE, 20, 1).eval(), []
    for side in (model.model.encoder, model.model.decoder):
        assert not hasattr(side, "layer_norm")  # as a final norm is called
        for part in (side.layernorm_embedding, *side.layers):
            part.register_forward_hook(lambda module, args, out: outs.append(out[0] if isinstance(out, tuple) else out))
    with torch.no_grad():
        model(**models.inputs(batch()))
    assert len(outs) == 6 and all(normed(out) for out in outs)


@pytest.mark.parametrize("width", [16, 12, 9])
def test_positions_of_a_bart_start_as_sinusoids(width):
    model = models.build_bart(SHAPE | {"width": width, "heads": 1}, 20, 1)
    for side in (model.model.encoder, model.model.decoder):
        table = side.embed_positions.weight
        assert table.shape == (models.MAX_POSITIONS + 2, width) and table.requires_grad
        for place in (0, 1, 7, 300, 513):
            for pair in range(0, width, 2):
                angle = place / 10_000 ** (pair / width)
                waves = [math.sin(angle), math.cos(angle)][: width - pair]
                found = table[place, pair : pair + 2].detach() * width**0.5
                torch.testing.assert_close(found, torch.tensor(waves), atol=2e-4, rtol=0)
    assert model.model.encoder.embed_positions.weight is not model.model.decoder.embed_positions.weight


def test_a_bart_s_encoder_starts_with_word_by_word_representations():
    model = models.build_bart(SHAPE | {"dropout": 0.0}, 20, 1).eval()
    ids = torch.tensor([[3, 4, 5, 1], [3, 6, 7, 1]])
    with torch.no_grad():
        hidden = model.get_encoder()(input_ids=ids).last_hidden_state
    assert torch.equal(hidden[0, 0], hidden[1, 0]) and not torch.equal(hidden[0, 1], hidden[1, 1])
    assert all(layer.self_attn.out_proj.weight.any() for layer in model.model.decoder.layers)
    model(input_ids=ids, labels=ids).loss.backward()
    assert all(layer.self_attn.out_proj.weight.grad.abs().sum() > 0 for layer in model.model.encoder.layers)


def test_a_bart_with_a_decoder_of_its_own_size():
    shape = SHAPE | {"decoder_layers": 1, "decoder_heads": 2}
    found = {(site.kind, site.layer): site.heads for site in heads.sites(models.build_bart(shape, 20, 1))}
    assert found == {("encoder", 0): 4, ("encoder", 1): 4, ("decoder", 0): 2, ("cross", 0): 2}


@pytest.mark.parametrize("bad", [{"heads": 3}, {"heads": 0}, {"decoder_heads": 3}, {"decoder_heads": 0}])
def test_a_bart_whose_width_cannot_be_split(bad):
    (number,) = bad.values()
    with pytest.raises(StudyError, match=rf"^A width of 16 cannot be split over {number} heads: choose a multiple\.$"):
        models.build_bart(SHAPE | bad, 20, 1)


def test_seed_decides_the_weights_of_a_bart():
    first, same, other = (models.build_bart(SHAPE, 20, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["model.shared.weight"], other["model.shared.weight"])


def test_every_profile_s_bart_can_be_built():
    for profile in study.profiles():
        shape = study.settings(profile)["coreference"]["summarization"]["model"]
        with torch.device("meta"):
            model = models.build_bart(shape, 100, 1)
        sizes = model.config.encoder_layers, model.config.decoder_layers
        assert sizes == (shape["layers"], shape.get("decoder_layers", shape["layers"]))


def test_a_bart_learns_to_copy_and_ends_what_it_writes():
    model = models.build_bart(SHAPE | {"width": 32, "dropout": 0.0}, 20, 1)
    generator = torch.Generator().manual_seed(1)
    given = torch.randint(2, 20, (16, 4), generator=generator)
    given = torch.cat([given, torch.ones(16, 1, dtype=torch.long)], 1)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(60):
        optimizer.zero_grad()
        losses.append(model(input_ids=given, labels=given).loss)
        losses[-1].backward()
        optimizer.step()
    assert losses[0] > 2 and losses[-1] < losses[0] / 5
    with torch.no_grad():
        first = model.eval()(input_ids=given, decoder_input_ids=torch.zeros(16, 1, dtype=torch.long)).logits[:, 0].argmax(-1)
    assert (first == given[:, 0]).float().mean() > 0.7  # read from the source, as nothing else is there yet
    written = model.generate(given)
    assert not written[:, 0].any() and written.shape[1] < 12 and (written == 1).any(1).all()


def test_a_bart_saved_and_loaded_is_equal(tmp_path):
    model = models.build_bart(SHAPE, 20, 1).eval()
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    given = batch()
    assert type(loaded) is type(model) and torch.equal(logits(model, **given), logits(loaded, **given))


# --- pretrained tokenizers alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, lambda folder: folder])
def test_a_tokenizer_is_loaded_without_its_model(checkpoint, tmp_path, kind):
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint, folder)
    (folder / "model.safetensors").unlink()
    found, whole = tokens.Subwords(models.load_tokenizer(kind(folder))), tokens.Subwords(models.load(checkpoint)[1])
    assert found.encode("the cat sees") == whole.encode("the cat sees") and found.size == whole.size


def test_tokenizers_that_are_not_there(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in (tmp_path / "nowhere", tmp_path / "empty", "", "nobody/no-such-tokenizer"):
        started = time.time()
        with pytest.raises(StudyError, match=rf"^Cannot load the tokenizer {re.escape(repr(str(name)))} \(.*its cache\.$"):
            models.load_tokenizer(name)
        assert time.time() - started < 10
