"""Models from scratch and their size, and pretrained ones in one call."""

import math
import re
import shutil
import time

import pytest
import torch

from helpers import heads, models
from helpers.corpora import Pair, tokens
from helpers.study import StudyError
from tests.unit import tiny_injection
from tests.unit.tiny_models import logits, tiny_model

SHAPE = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 24, "dropout": 0.1}


def batch(size=20):
    source = torch.randint(2, size, (2, 5))
    return {"input_ids": source, "attention_mask": torch.ones_like(source), "labels": torch.randint(2, size, (2, 4))}


BUILDERS = {
    "translator": lambda shape, seed=1: models.build(shape, 20, 30, seed),
    "summarizer": lambda shape, seed=1: models.build_bart(shape, 50, seed),
    "language model": lambda shape, seed=1: models.build_decoder(shape, 50, seed),
}
builders = pytest.mark.parametrize("build", BUILDERS.values(), ids=list(BUILDERS))


@builders
def test_one_table_holds_all_vocabularies_and_the_output_and_what_is_saved_is_loaded(build, tmp_path):
    model = build(SHAPE).eval()
    table = model.get_output_embeddings().weight
    words = [part for part in model.modules() if isinstance(part, torch.nn.Embedding) and part.weight.shape == (50, 16)]
    assert words and all(part.weight is table for part in words)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    torch.testing.assert_close(loaded.state_dict(), model.state_dict(), rtol=0, atol=0)
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert loaded.generation_config.max_length == models.MAX_POSITIONS


@pytest.mark.parametrize("name", ["translator", "summarizer"])
@pytest.mark.parametrize(("start", "zero"), [(None, {"encoder"}), ("usual", set())])
def test_start_says_which_attention_begins_with_an_output_of_zero(name, start, zero):
    model, plain = BUILDERS[name](SHAPE | ({"start": start} if start else {})), BUILDERS[name](SHAPE)
    for site in heads.sites(model):
        assert (site.projection("out").weight == 0).all() == (site.kind in zero)
    others = [name for name, _ in model.named_parameters() if "attn.out_proj.weight" not in name]
    for name in others:  # nothing else depends on it
        torch.testing.assert_close(model.get_parameter(name), plain.get_parameter(name), atol=0, rtol=0)


LAYER = 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16 + 2 * 2 * 16  # attention, feed-forward and two norms, with biases


def test_size_of_an_encoder_with_a_decoder():
    model, given = models.build(SHAPE, 20, 30, 1).eval(), batch()
    cross = 4 * (16 * 16 + 16) + 2 * 16
    learned = 2 * (2 * LAYER + cross) + 2 * 2 * 16
    source, target = 2 * 5, 2 * 4
    linear = 2 * (source * (4 * 16 * 16 + 2 * 16 * 24) + target * (6 * 16 * 16 + 2 * 16 * 24) + source * 2 * 16 * 16)
    pairs = 2 * (2 * 5 * 5 + 2 * 4 * 4 + 2 * 4 * 5)
    assert models.size(model, given) == (learned, 2 * (linear + 2 * pairs * 16 + target * 16 * 50))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A folder as one downloads it: a tiny Marian model, with a fast tokenizer."""
    texts = ["the cat sees the dog", "кошка видит"] * 3
    return tiny_injection.checkpoint(tmp_path_factory.mktemp("checkpoint"), texts, "marian", 60, d_model=16)


def test_load_takes_a_folder_in_one_call(checkpoint):
    model, tokenizer = models.load(checkpoint)
    assert not model.training and model.config.d_model == 16
    source, target = tokens.Subwords(tokenizer), tokens.Subwords(tokenizer, target=True)
    data = tokens.encode([Pair("the cat", "кошка", ("the", "cat")), Pair("the dog sees", "видит")], source, target)
    made = tokens.collate(data, [0, 1], source.pad)
    assert logits(model, models.inputs(made)).shape == (2, made["labels"].shape[1], len(tokenizer))


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


@pytest.mark.parametrize("family", ["llama", "bert", "bare bert"])
def test_decoders_and_encoders_with_and_without_an_output_layer(family, checkpoint, tmp_path):
    models.load_tokenizer(checkpoint).save_pretrained(tmp_path)
    saved = tiny_model(family.removeprefix("bare "))
    saved = saved.bert if family == "bare bert" else saved
    saved.save_pretrained(tmp_path)
    model, tokenizer = models.load(tmp_path)
    assert type(model) is type(saved) and not model.training and tokenizer.pad_token == "<pad>"
    weights = model.state_dict()  # a bare model has a pooler, which was not saved
    torch.testing.assert_close({name: weights[name] for name in saved.state_dict()}, {**saved.state_dict()}, rtol=0, atol=0)
    assert {site.kind for site in heads.sites(model)} == {"decoder" if family == "llama" else "encoder"}


@pytest.mark.parametrize("width", [16, 9])
def test_positions_of_a_bart_start_as_sinusoids(width):
    model = models.build_bart(SHAPE | {"width": width, "heads": 1}, 20, 1)
    for side in (model.model.encoder, model.model.decoder):
        table = side.embed_positions.weight
        assert table.shape == (models.MAX_POSITIONS + 2, width) and table.requires_grad
        for place in (0, 7, 513):
            angles = [place / 10_000 ** (pair / width) for pair in range(0, width, 2)]
            waves = [wave(angle) for angle in angles for wave in (math.sin, math.cos)][:width]
            torch.testing.assert_close(table[place].detach() * width**0.5, torch.tensor(waves), atol=2e-4, rtol=0)
    assert model.model.encoder.embed_positions.weight is not model.model.decoder.embed_positions.weight
