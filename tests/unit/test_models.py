"""Models from scratch and their size, and pretrained ones in one call."""

from __future__ import annotations

import math
import re
import shutil
import time

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from torch.nn import functional as F
from transformers import (
    BartForConditionalGeneration,
    PreTrainedTokenizerFast,
)

from helpers import heads, models, study
from helpers.corpora import Pair, tokens
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_model

SHAPE = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 24, "dropout": 0.1}


def logits(model, **batch):
    with torch.no_grad():
        return model(**batch).logits


def batch(size=20):
    source = torch.randint(2, size, (2, 5))
    return {"input_ids": source, "attention_mask": torch.ones_like(source), "labels": torch.randint(2, size, (2, 4))}


# --- from scratch ----------------------------------------------------------------------------------------------------


BUILDERS = {
    "translator": lambda shape, seed=1: models.build(shape, 20, 30, seed),
    "summarizer": lambda shape, seed=1: models.build_bart(shape, 50, seed),
    "language model": lambda shape, seed=1: models.build_decoder(shape, 50, seed),
}
builders = pytest.mark.parametrize("build", BUILDERS.values(), ids=list(BUILDERS))


def test_shapes():
    model = models.build(SHAPE, 20, 30, 1)
    assert model.model.encoder.layers[0].fc1.weight.shape == (24, 16)
    found = logits(model.eval(), input_ids=torch.tensor([[19, 1]]), decoder_input_ids=torch.tensor([[0, 49, 3]]))
    assert found.shape == (1, 3, 50)
    one = models.build(SHAPE, 20, 0, 1)  # one vocabulary for both sides
    assert one.get_input_embeddings().weight.shape == (20, 16) and logits(one, **batch()).shape == (2, 4, 20)
    given = batch() | {"index": torch.arange(2), "word_ids": torch.zeros(2, 5)}
    assert set(models.inputs(given)) == {"input_ids", "attention_mask", "labels"}


@builders
def test_one_table_holds_all_vocabularies_and_the_output_and_what_is_saved_is_loaded(build, tmp_path):
    model = build(SHAPE).eval()
    table = model.get_output_embeddings().weight
    assert table.shape == (50, 16) and all(
        part.weight is table
        for part in model.modules()
        if isinstance(part, torch.nn.Embedding) and part.weight.shape == (50, 16)
    )
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    torch.testing.assert_close(loaded.state_dict(), model.state_dict(), rtol=0, atol=0)
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert loaded.generation_config.max_length == models.MAX_POSITIONS == loaded.config.max_position_embeddings
    assert models.parameters(model) == models.parameters(build(SHAPE)) < model.num_parameters()


@builders
def test_seed_decides_the_weights(build):
    first, same, other = (build(SHAPE, seed).state_dict() for seed in (1, 1, 2))
    torch.testing.assert_close(first, same, rtol=0, atol=0)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(("name", "pre"), [("translator", True), ("summarizer", False), ("language model", True)])
def test_where_models_normalise(name, pre):
    """Before each block and at the end, or after each block and the embeddings."""
    model, seen = BUILDERS[name](SHAPE).eval(), []
    for side in (getattr(model.model, part) for part in ("encoder", "decoder") if hasattr(model.model, part)):
        for layer in side.layers:
            if pre:
                for part in (layer.self_attn.q_proj, layer.fc1):
                    part.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
            else:
                layer.register_forward_hook(lambda module, args, out: seen.append(out[0] if isinstance(out, tuple) else out))
        last = (getattr(side, "layer_norm", None) or side.final_layer_norm) if pre else side.layernorm_embedding
        last.register_forward_hook(lambda module, args, out: seen.append(out))
    logits(model, **(text() if name == "language model" else batch()))
    assert len(seen) == {"translator": 10, "summarizer": 6, "language model": 5}[name]
    for hidden in seen:  # at the start a norm's scale is 1 and its shift 0
        torch.testing.assert_close(hidden.mean(-1), torch.zeros(hidden.shape[:-1]), atol=1e-5, rtol=0)
        torch.testing.assert_close(hidden.var(-1, unbiased=False), torch.ones(hidden.shape[:-1]), atol=5e-2, rtol=0)


@pytest.mark.parametrize("profile", study.profiles())
def test_every_profile_can_be_built(profile):
    settings = study.settings(profile)
    with torch.device("meta"):
        for build, shape in (
            (models.build, settings["model"]),
            (models.build_bart, settings["coreference"]["summarization"]["model"]),
        ):
            config = build(shape, *(100, 100)[: 2 if build is models.build else 1], 1).config
            assert (config.encoder_layers, config.decoder_layers) == (
                shape["layers"],
                shape.get("decoder_layers", shape["layers"]),
            )


@pytest.mark.parametrize("name", ["translator", "summarizer"])
@pytest.mark.parametrize(("start", "zero"), [(None, {"encoder"}), ("zero", {"encoder", "decoder", "cross"}), ("usual", set())])
def test_start_says_which_attention_begins_with_an_output_of_zero(name, start, zero):
    model, plain = BUILDERS[name](SHAPE | ({"start": start} if start else {})), BUILDERS[name](SHAPE)
    for site in heads.sites(model):
        assert (site.projection("out").weight == 0).all() == (site.kind in zero)
    others = [name for name, _ in model.named_parameters() if "attn.out_proj.weight" not in name]
    for name in others:  # nothing else depends on it
        torch.testing.assert_close(model.get_parameter(name), plain.get_parameter(name), atol=0, rtol=0)


@builders
def test_width_that_cannot_be_split(build):
    for wrong in ({"heads": 3}, {"heads": 0}, {"heads": 32}, {"decoder_heads": 3}):
        if "decoder_heads" in wrong and build is BUILDERS["language model"]:
            continue
        with pytest.raises(StudyError, match=f"16 cannot be split over {next(iter(wrong.values()))} heads"):
            build(SHAPE | wrong)


@pytest.mark.parametrize("name", ["translator", "summarizer"])
def test_an_encoder_starts_with_word_by_word_representations(name):
    """A new encoder's self-attention adds nothing, and learns all the same."""
    model = BUILDERS[name](SHAPE | {"dropout": 0.0}).eval()
    ids = torch.tensor([[3, 4, 5, 1], [3, 6, 7, 1]])
    with torch.no_grad():
        hidden = model.get_encoder()(input_ids=ids).last_hidden_state
    assert torch.equal(hidden[0, 0], hidden[1, 0]) and not torch.equal(hidden[0, 1], hidden[1, 1])
    model(input_ids=ids, labels=ids).loss.backward()
    assert all(layer.self_attn.out_proj.weight.grad.any() for layer in model.model.encoder.layers)


# --- decoder-only ----------------------------------------------------------------------------------------------------


def text(length=6, examples=3, size=20):
    ids = torch.randint(2, size, (examples, length), generator=torch.Generator().manual_seed(3))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def test_shapes_of_a_decoder():
    model = models.build_decoder(SHAPE, 20, 1).eval()
    assert {(site.kind, site.layer): site.heads for site in heads.sites(model)} == {("decoder", 0): 4, ("decoder", 1): 4}
    assert logits(model, input_ids=torch.full((1, models.MAX_POSITIONS), 5)).shape == (1, models.MAX_POSITIONS, 20)
    config = model.config
    assert (config.pad_token_id, config.bos_token_id, config.eos_token_id) == (0, 1, 1)
    assert not model.get_input_embeddings().weight[0].any()
    assert (config.dropout, config.attention_dropout, config.layerdrop) == (0.1, 0.1, 0.0)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side, attention):
    model = models.build_decoder(SHAPE, 20, 1).eval()
    model.set_attn_implementation(attention)
    row = torch.tensor([[5, 6, 7, 1]])
    padded = F.pad(row, (3, 0) if side == "left" else (0, 3))
    found = logits(model, input_ids=padded, attention_mask=(padded > 0).long())
    torch.testing.assert_close(found[:, 3:] if side == "left" else found[:, :4], logits(model, input_ids=row))
    if side == "right":
        model, labels = models.build(SHAPE | {"start": "usual"}, 20, 30, 1).eval(), torch.tensor([[3, 4, 1]])
        model.set_attn_implementation(attention)
        found = logits(model, input_ids=padded, attention_mask=(padded > 0).long(), labels=labels)
        torch.testing.assert_close(found, logits(model, input_ids=row, labels=labels))


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


# --- size ------------------------------------------------------------------------------------------------------------

LAYER = 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16 + 2 * 2 * 16  # attention, feed-forward and two norms, with biases


def test_size_of_a_decoder():
    model, given = models.build_decoder(SHAPE, 20, 1).eval(), text(length=6, examples=3)
    # two FLOPs a multiply-add: linear layers and the output for each token, both products of attention for each pair of tokens
    tokens, pairs = 3 * 6, 3 * 6 * 6
    products = 2 * (tokens * (2 * (4 * 16 * 16 + 2 * 16 * 24) + 16 * 20) + 2 * 2 * pairs * 16)
    assert models.size(model, given) == models.size(model, given | {"index": torch.arange(3)}) == (2 * LAYER + 2 * 16, products)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())  # an output of its own is counted
    assert models.parameters(model) == 2 * LAYER + 2 * 16 + 20 * 16


def test_size_of_an_encoder_with_a_decoder():
    model, given = models.build(SHAPE, 20, 30, 1).eval(), batch()
    cross = 4 * (16 * 16 + 16) + 2 * 16
    learned = 2 * (2 * LAYER + cross) + 2 * 2 * 16
    source, target = 2 * 5, 2 * 4
    linear = 2 * (source * (4 * 16 * 16 + 2 * 16 * 24) + target * (6 * 16 * 16 + 2 * 16 * 24) + source * 2 * 16 * 16)
    pairs = 2 * (2 * 5 * 5 + 2 * 4 * 4 + 2 * 4 * 5)
    assert models.size(model, given) == (learned, 2 * (linear + 2 * pairs * 16 + target * 16 * 50))


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
    inner = tokens.learn_vocabulary(["the cat sees the dog", "кошка видит"] * 3, 60)
    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    tokenizer.save_pretrained(folder)
    tiny_model("marian", vocab_size=len(tokenizer), d_model=16).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", [str, lambda folder: folder])
def test_load_takes_a_folder_in_one_call(checkpoint, kind):
    model, tokenizer = models.load(kind(checkpoint))
    assert not model.training and model.config.d_model == 16
    source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    data = tokens.encode([Pair("the cat", "кошка", ("the", "cat")), Pair("the dog sees", "видит")], source, target)
    made = tokens.collate(data, [0, 1], source.pad)
    assert logits(model, **models.inputs(made)).shape == (2, made["labels"].shape[1], len(tokenizer))


@pytest.mark.parametrize("load", [models.load, models.load_tokenizer])
def test_missing_folders_and_unreachable_names(load, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in (tmp_path / "nowhere", tmp_path / "empty", "./nowhere", "", "not a name!", "nobody/no-such-model"):
        started = time.time()
        with pytest.raises(StudyError, match=re.escape(repr(str(name)))) as caught:
            load(name)
        assert time.time() - started < 10 and "\n" not in str(caught.value)


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
    with pytest.raises(StudyError, match=str(folder)):
        models.load(folder)


def test_a_model_of_another_kind(tmp_path):
    models.build_decoder(SHAPE, 20, 1).save_pretrained(tmp_path)
    with pytest.raises(StudyError, match="OPTConfig"):
        models.load(tmp_path)


@pytest.mark.parametrize("name", ["translator", "summarizer"])
def test_a_decoder_of_its_own_size(name):
    model = BUILDERS[name](SHAPE | {"decoder_layers": 1, "decoder_heads": 2})
    found = {(site.kind, site.layer): site.heads for site in heads.sites(model)}
    assert found == {("encoder", 0): 4, ("encoder", 1): 4, ("decoder", 0): 2, ("cross", 0): 2}


# --- from scratch, for summarization -----------------------------------------------------------------------------------


def test_shapes_of_a_bart():
    model = models.build_bart(SHAPE, 20, 1)
    assert type(model) is BartForConditionalGeneration
    for layer in (*model.model.encoder.layers, *model.model.decoder.layers):
        assert layer.fc1.weight.shape == (24, 16) and layer.self_attn.num_heads == 4
        assert layer.dropout == layer.self_attn.dropout == layer.activation_dropout == 0.1
        assert "gelu" in type(layer.activation_fn).__name__.lower()
    cross = 4 * (16 * 16 + 16) + 2 * 16
    assert models.parameters(model) == 2 * (2 * LAYER + cross) + 2 * 2 * 16  # positions, which are learned, are not counted
    whole = torch.full((1, models.MAX_POSITIONS), 5)
    assert logits(model.eval(), input_ids=whole, decoder_input_ids=whole).isfinite().all()
    table = model.get_input_embeddings().weight
    assert not model.final_logits_bias.any() and not table[0].any()
    assert table[1:].std().item() == pytest.approx(16**-0.5, rel=0.1)


@pytest.mark.parametrize("width", [16, 9])
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


def test_a_decoder_learns_a_text_and_ends_it():
    model, given = models.build_decoder(SHAPE | {"dropout": 0.0}, 20, 1), torch.tensor([[1, 5, 6, 5, 7, 8, 5, 1]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model(input_ids=given, labels=given).loss.backward()
        optimizer.step()
    rows = torch.tensor([[0, 0, 1, 5], [1, 5, 6, 5]])
    found = model.eval().generate(rows, attention_mask=(rows > 0).long())
    assert [row[row > 0].tolist() for row in found] == given.tolist() * 2


def test_a_bart_learns_to_copy_and_ends_what_it_writes():
    model = models.build_bart(SHAPE | {"width": 32, "dropout": 0.0}, 20, 1)
    given = torch.randint(2, 20, (16, 5), generator=torch.Generator().manual_seed(1))
    given[:, -1] = 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model(input_ids=given, labels=given).loss.backward()
        optimizer.step()
    with torch.no_grad():
        first = model.eval()(input_ids=given, decoder_input_ids=torch.zeros(16, 1, dtype=torch.long)).logits[:, 0].argmax(-1)
    assert (first == given[:, 0]).float().mean() > 0.7  # read from the source, as nothing else is there yet
    written = model.generate(given)
    assert not written[:, 0].any() and written.shape[1] < 12 and (written == 1).any(1).all()


# --- pretrained tokenizers alone -----------------------------------------------------------------------------------------


def test_a_tokenizer_is_loaded_without_its_model(checkpoint, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(checkpoint, folder)
    (folder / "model.safetensors").unlink()
    found, whole = tokens.Subwords(models.load_tokenizer(folder)), tokens.Subwords(models.load(checkpoint)[1])
    assert found.encode("the cat sees") == whole.encode("the cat sees") and found.size == whole.size
