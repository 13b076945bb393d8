"""Models that packages hold as data: found, checked, converted into the store; what they compute, where they are installed."""

import sys

import pytest
import torch
from transformers import BertTokenizerFast

from helpers import heads, models, pretrained, study
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_model

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sleeps"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that holds a tiny BERT, whose code must not be run; its name and the folder of the model."""
    site, folder = tmp_path / "site", tmp_path / "site" / "tiny_bert" / "model"
    tiny_model("bert").bert.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    (site / "tiny_bert" / "__init__.py").write_text("raise SystemExit('imported')")
    (site / "tiny_bert-1.0.dist-info").mkdir()
    (site / "tiny_bert-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-bert\nVersion: 1.0\n")
    files = [str(file.relative_to(site)) for file in site.rglob("*") if file.is_file()]
    (site / "tiny_bert-1.0.dist-info" / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    held = pretrained.Package("tiny-bert", "model.safetensors", study.digest(folder / "model.safetensors"))
    monkeypatch.setitem(pretrained.PACKAGES, "tiny", held)
    return folder


def test_a_model_of_a_package_is_loaded_by_its_name(package):
    model, tokenizer = models.load("tiny")
    assert len(heads.index(model)) == 8 and tokenizer("the cat sleeps")["input_ids"] == [2, 5, 6, 7, 3]
    assert models.load_tokenizer("tiny").sep_token == "[SEP]"


def test_another_file_than_the_pinned_one_is_refused(package):
    with (package / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(StudyError, match=r"model\.safetensors is not the one .* install the package tiny-bert anew"):
        models.load("tiny")


@pytest.mark.parametrize("file", ["model.safetensors", "model.gguf"])
def test_a_package_that_is_not_installed(file, monkeypatch):
    monkeypatch.setitem(pretrained.PACKAGES, "nothing", pretrained.Package("no-such-package", file, ""))
    with pytest.raises(StudyError, match=r"needs the package no-such-package.*-r requirements/pretrained\.lock"):
        models.load("nothing")
    assert not [*study.runs().rglob("*.safetensors")]


def test_every_package_is_pinned_with_a_digest():
    lines = (study.ROOT / pretrained.LOCK).read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    pins = {line.split("==")[0]: line for line in lines if not line.startswith("#")}
    assert pins.keys() == {"gguf", *(package.name for package in pretrained.PACKAGES.values())}
    assert all("--hash=sha256:" in line for line in pins.values())


@pytest.mark.pretrained
def test_the_pretrained_models_compute_what_they_did(capfd):
    model, tokenizer = models.load("smollm2")
    assert len(heads.index(model)) == 270 and not hasattr(model.config, "quantization_config")
    given = tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        best = model(**given).logits[0, -1].max(-1)
    assert tokenizer.decode(best.indices) == " Paris" and best.values == pytest.approx(17.371, abs=0.01)
    assert "converted" in capfd.readouterr().err
    (folder,) = (study.runs() / "pretrained").glob("smollm2-*/")
    files = study.store.digests(folder)
    models.load("smollm2")
    assert "converted" not in capfd.readouterr().err and study.store.digests(folder) == files
    encoder, tokenizer = models.load("minilm")
    assert len(heads.index(encoder)) == 72
    with torch.no_grad():
        states = [
            encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
            for text in ("A dog runs in the park.", "A puppy plays outside.", "Interest rates rose again.")
        ]
    near, far = (torch.cosine_similarity(states[0], other, dim=0) for other in states[1:])
    assert near == pytest.approx(0.5, abs=0.3) and far < near / 2
