"""Text for a model of anybody's: passages, pairs, batches; docs/use.md's lines."""

import os
import re
import subprocess
import sys

import pytest
import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Trainer

from helpers import models
from helpers.heads import index, load
from helpers.methods import coreference
from helpers.runs import passages
from helpers.study import ROOT, StudyError
from tests.unit.tiny_models import VOCABULARY, tiny_batch, tiny_model

# of docs/use.md
MENTIONED = sorted({*"Ann sold the old car because she needed money Bob saw his sister and waved to her".split()})


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A tiny Llama with a tokenizer of words w2 to w59 and a few more, in half precision, and a text of a thousand words."""
    place = tmp_path_factory.mktemp("llama")
    known = {word: VOCABULARY + number for number, word in enumerate(MENTIONED)}
    tiny_model("llama", max_position_embeddings=128, vocab_size=VOCABULARY + len(known)).half().save_pretrained(place / "model")
    words = {"<pad>": 0, "<s>": 1, **{f"w{number}": number for number in range(2, VOCABULARY)}, **known}
    split = Tokenizer(WordLevel(words, unk_token="<pad>"))
    split.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=split, bos_token="<s>", pad_token="<pad>").save_pretrained(place / "model")
    (place / "text.txt").write_text(" ".join(f"w{2 + number * number % 58}" for number in range(1000)))
    (place / "short.txt").write_text("w3 w4")
    return place


def test_a_text_in_passages(folder):
    dev, test = passages.halves(*models.load(folder / "model"), folder / "text.txt", 6)
    whole, size = [2 + number * number % 58 for number in range(1000)], passages.LENGTH
    for start, part in ((0, dev), (1000 // size // 2 * size, test)):  # the first half of the text, and the last
        assert sum(len(batch["input_ids"]) for batch in part) == 6 and torch.equal(part[0]["labels"], part[0]["input_ids"])
        assert part[0]["input_ids"][:2].flatten().tolist() == whole[start : start + 2 * size]


def test_passages_begin_as_the_tokenizer_says(folder):
    model, tokenizer = models.load(folder / "model")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    dev, test = passages.halves(model, tokenizer, folder / "text.txt")
    rows = torch.cat([batch["input_ids"] for batch in dev + test])
    assert (rows[:, 0] == 1).all() and (rows[:, 1:] > 1).all() and rows.shape[1] == passages.LENGTH
    assert len(rows) == 1000 // (passages.LENGTH - 1)


@pytest.mark.parametrize(("text", "said"), [("none.txt", "Cannot read"), ("short.txt", "2 tokens")])
def test_what_is_no_text_is_refused(folder, text, said):
    with pytest.raises(StudyError, match=said):
        passages.halves(*models.load(folder / "model"), folder / text, 5)


def test_an_encoder_decoder_reads_pairs(folder, tmp_path):
    tokenizer = models.load_tokenizer(folder / "model")
    lines = [f"w{n} w{n + 1}\tw{n + 2} w{n + 3} w{n + 4}" for n in range(2, 12)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    for family in ("marian", "t5"):
        model = tiny_model(family)
        dev, test = passages.halves(model, tokenizer, tmp_path / "pairs.tsv")
        assert sum(len(batch["labels"]) for batch in dev) == sum(len(batch["labels"]) for batch in test) == 5
        assert dev[0]["input_ids"][0, :2].tolist() == [2, 3] and test[0]["labels"][0, :3].tolist() == [9, 10, 11]
        for text in (folder / "text.txt", ""):
            with pytest.raises(StudyError, match="a source, a tab and its target"):
                passages.halves(model, tokenizer, text)


def test_an_encoder_predicts_nothing(folder):
    with pytest.raises(StudyError, match="BertForMaskedLM is an encoder"):
        passages.halves(tiny_model("bert"), models.load_tokenizer(folder / "model"))


def test_the_ten_lines_run_as_the_page_shows_them(folder, tmp_path, monkeypatch):
    """Its second part in a process that cannot import the project."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    first, second = (
        code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if '"pruned"' in code and "Trainer" not in code
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


def scripts(folder):
    """The code of the page's part on training, on a tiny model and in few steps."""
    text = (ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    section = text.partition("## Your own training")[2].partition("\n## ")[0]
    small = {'models.load("smollm2")': f"models.load({str(folder / 'model')!r}); model.float()", '"steps": 200': '"steps": 3'}
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        for printed, here in (small | {'"evaluate_every": 100': '"evaluate_every": 3'}).items():
            assert printed in code or "Trainer" in code or "bart" in code or "resolvers" in code
            code = code.replace(printed, here)
        yield code.replace("max_steps=200", "max_steps=3, use_cpu=True")


@pytest.mark.parametrize("part", ["gates", "groups", "links", "links of a resolver"])
def test_training_runs_as_the_page_shows_it(folder, tmp_path, monkeypatch, part):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text((folder / "text.txt").read_text())
    gates, groups, links, _, resolved, seeds, *_ = scripts(folder)
    texts = re.compile(r"texts = \[.*?\n\]\n", re.DOTALL)
    code = {"gates": gates + seeds, "groups": groups, "links": links}.get(part, texts.sub(lambda _: resolved, links))
    exec(code, scope := {"torch": torch})
    batch, name = scope["batches"][0], part.partition(" ")[0]
    assert name != "gates" or len(scope["changes"]) == 5
    assert "resolver" not in part or [scope["text"][slice(*one)] for one in scope["clusters"][-1]] == ["She", "she"]
    made, saved = scope["model"], load(tmp_path / name)
    torch.testing.assert_close(saved(**batch).logits, made(**batch).logits)
    before = load(folder / "model").float()
    assert name == "gates" or not torch.equal(before(**batch).logits, made(**batch).logits)  # in three steps no gate closes
    assert name != "groups" or len(index(made)) == 4


def test_links_of_an_encoder_decoder_run_as_the_page_shows_them(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, links, seq2seq, *_ = scripts(folder)
    model = tiny_model("bart", vocab_size=VOCABULARY + len(MENTIONED))
    monkeypatch.setattr(models, "load", lambda name: (model, models.load_tokenizer(folder / "model")))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    exec(f"{links.partition('links, batches')[0]}\n{seq2seq}", scope := {})
    assert {kind for kind, _, _ in scope["chosen"]} == {"encoder"} and len(scope["chosen"]) == 2
    made = load(tmp_path / "summarizer").state_dict()
    assert any(not torch.equal(weight, made[name]) for name, weight in before.items())


def test_training_under_trainer_runs_as_the_page_shows_it(folder, tmp_path, monkeypatch):
    """What is saved trains on without this project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("Ann sold the old car\n\nBob saw his sister and waved\n")
    scope, batch, (gates, *others) = {}, tiny_batch("llama"), [*scripts(folder)][-3:]
    exec(gates, scope)
    again = AutoModelForCausalLM.from_pretrained("pruned", trust_remote_code=True)
    torch.testing.assert_close(again(**batch).logits, scope["model"].eval()(**batch).logits)
    Trainer(again, scope["options"], train_dataset=scope["rows"], data_collator=scope["collate"]).train()
    links = coreference.Links()
    for row in scope["rows"]:
        links.add(row["input_ids"], coreference.sparse([[[0], [1]]], len(row["input_ids"]), "previous"))
    scope |= {"coreference": coreference, "links": links, "chosen": [("decoder", 0, 1)]}
    scope["texts"], scope["tokenizer"].padding_side = [(line, []) for line in scope["lines"]], "left"
    for code, name in zip(reversed(others), ("linked", "grouped"), strict=True):
        before = next(scope["model"].parameters()).clone()
        exec(code, scope)
        assert not torch.equal(before, next(scope["model"].parameters()))
        torch.testing.assert_close(load(tmp_path / name)(**batch).logits, scope["model"].eval()(**batch).logits)
    assert len(index(load(tmp_path / "grouped"))) == 4


def front():
    """The code of the front page, and what it prints there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()


@pytest.mark.pretrained
def test_the_front_page_prints_what_its_code_prints(capsys):
    code, shown = front()
    exec(code, {})
    assert capsys.readouterr().out.split() == shown.split()


def test_the_code_of_the_front_page_runs_on_a_model_of_anybody_s(folder, capsys):
    code = front()[0].replace('"smollm2"', repr(str(folder / "model")))  # it has eight heads
    code = code.replace("halves(model, tokenizer)", f"halves(model.float(), tokenizer, {str(folder / 'text.txt')!r})")
    assert code.count(str(folder)) == 2
    exec(code, scope := {})
    assert "with 6\n" in capsys.readouterr().out and len(index(scope["model"])) == 6
