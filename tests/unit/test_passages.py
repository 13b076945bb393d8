"""A model that continues texts with a text file: passages, batches, a head's attention; docs/use.md's lines."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from helpers.heads import index, load
from helpers.runs import passages
from helpers.study import ROOT, StudyError
from tests.unit.tiny_models import VOCABULARY, tiny_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A tiny Llama with a tokenizer of words w2 to w59, in half precision, and a text of a thousand words."""
    place = tmp_path_factory.mktemp("llama")
    tiny_model("llama", max_position_embeddings=128).half().save_pretrained(place / "model")
    words = {"<pad>": 0, "<s>": 1, **{f"w{number}": number for number in range(2, VOCABULARY)}}
    split = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    split.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=split, bos_token="<s>", pad_token="<pad>").save_pretrained(place / "model")
    (place / "text.txt").write_text(" ".join(f"w{2 + number * number % 58}" for number in range(1000)))
    (place / "short.txt").write_text("w3 w4")
    return place


def test_a_text_in_passages(folder):
    found = passages.of_file(folder / "model", folder / "text.txt", many=5, few=2)
    assert [sum(len(batch["input_ids"]) for batch in part) for part in (found.dev, found.few, found.test)] == [5, 2, 5]
    whole = [2 + number * number % 58 for number in range(1000)]
    size = passages.LENGTH - 1
    for start, part in ((0, found.dev), (size, found.test)):
        ids = part[0]["input_ids"]
        assert ids[0].tolist() == [1, *whole[start : start + size]]
        assert (ids[:, 0] == 1).all() and ids.shape[1] == passages.LENGTH
    assert torch.equal(found.few[0]["labels"], found.dev[0]["input_ids"][:2]) and found.model.dtype == torch.float32
    shown = found.attention(("decoder", 1, 2))
    assert shown["title"] == "decoder layer 2 head 3" and shown["rows"][0] == f"w{whole[size]}"
    assert shown["weights"].shape == (passages.SHOWN, passages.SHOWN) and shown["weights"].sum(1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("text", "said"), [("none.txt", "Cannot read"), ("short.txt", "2 tokens")])
def test_what_is_no_text_is_refused(folder, text, said):
    with pytest.raises(StudyError, match=said):
        passages.of_file(folder / "model", folder / text, 5, 2)


def test_an_encoder_decoder_continues_nothing(folder, tmp_path):
    tiny_model("marian").save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / "model" / name).read_bytes())
    with pytest.raises(StudyError, match="encoder-decoder"):
        passages.of_file(tmp_path, folder / "text.txt", 5, 2)


def test_the_ten_lines_run_as_the_page_shows_them(folder, tmp_path, monkeypatch):
    """Its second part in a process that cannot import the project."""
    monkeypatch.chdir(tmp_path)
    first, second = (
        (ROOT / "docs" / f"{name}.py").read_text(encoding="utf-8") for name in ("ten_lines", "ten_lines_elsewhere")
    )
    scope = {}
    exec(first.replace('"Qwen/Qwen3-0.6B"', repr(str(folder / "model"))), scope)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HOME": str(tmp_path / "cache")}
    code = f"import sys; sys.modules['helpers'] = None\n{second}"
    done = subprocess.run([sys.executable, "-c", code], env=alone, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    prompt = scope["tokenizer"]("Once upon a time", return_tensors="pt")
    made = scope["model"].generate(**prompt, num_beams=4, max_new_tokens=20)[0]
    assert scope["tokenizer"].decode(made) == done.stdout.strip() and len(made) > 4
    assert not torch.equal(made, load(folder / "model").generate(**prompt, num_beams=4, max_new_tokens=20)[0])


@pytest.mark.parametrize("family", ["marian", "gpt2"])
def test_the_recipe_of_notebook_00_runs_as_printed(family, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    tiny_model(family).save_pretrained("model")
    page = (ROOT / "notebooks" / "py" / "00_your_own_model.py").read_text(encoding="utf-8")
    pairs, text, both = (re.sub("^# ?", "", code, flags=re.M) for code in re.findall("```python\n(.*?)# ```", page, re.S))
    both = both.replace("assert best.beaten == best.draws", "assert best.beaten >= 0")  # no random model's choice beats chance
    own = re.sub('"[^" ]*/[^" ]*"', '"model"', (pairs if family == "marian" else text) + both)
    scope = {}
    exec(own if family == "marian" else own.replace("AutoModelForSeq2SeqLM", "AutoModelForCausalLM"), scope)
    total = len(scope["table"])
    assert set(scope["table"]) == {"gradient, example", "leave-one-out"} and scope["table"].notna().all(axis=None)
    assert len(index(load("pruned"))) == total - total // 4 and type(scope["model"]).__module__ != "transformers"
    prompt = scope["tokenizer"]("w2 w3", return_tensors="pt")
    assert scope["model"].generate(**prompt, max_new_tokens=4).shape[1] > 1
