"""Folders of models with fewer heads, read by transformers alone: a process that cannot import the project."""

import json
import os
import subprocess
import sys

import pytest
import torch
import transformers as hf

from helpers.heads import index, kept, load, remove, save, sites
from helpers.heads.surgery import CODE
from tests.unit.tiny_models import EAGER_ALONE, FAMILIES, SEQ2SEQ, TODAY, generate, logits, prompts, tiny_batch, tiny_model

GROUPED = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "phi3")
RAGGED = {0: {1}, 1: {0, 1, 2, 3}}  # heads to remove from the self-attention of the first and the last layer
CASES = {
    **{(family, "ragged"): RAGGED for family in (*FAMILIES, *TODAY)},
    **{(family, "one group"): {0: {0, 1}, 1: {2, 3}} for family in GROUPED},
    **{(family, "one each"): {0: {0, 3}, 1: {1, 2}} for family in ("llama", "phi3")},
    **{(family, "uneven"): {0: {1}, 1: {1}} for family in ("qwen3", "gemma3")},  # as many in each layer, groups of one and two
}
OURS = ("ragged", "uneven")  # what a configuration cannot say
STRANGER = """
import json, pathlib, sys
for name in ("helpers", "tests"):
    sys.modules[name] = None  # importing it fails
import torch, transformers
root = pathlib.Path(sys.argv[1])
for folder, (automatic, trusted, attention, again) in json.loads((root / "cases.json").read_text()).items():
    given = torch.load(root / folder / "given.pt")
    read, how = getattr(transformers, automatic).from_pretrained, {"attn_implementation": attention}
    how["trust_remote_code"] = trusted or None
    model = read(root / folder / "model", **how).eval()
    if again:
        model.save_pretrained(root / folder / "again")
        model = read(root / folder / "again", **how).eval()
    options = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}
    with torch.no_grad():
        found = {"logits": model(**given["batch"]).logits}
    for beams in (1, 3) if model.can_generate() else ():
        found[f"{beams} beams"] = model.generate(**given["prompts"], num_beams=beams, **options)
    torch.save(found | {"class": type(model).__mro__[0].__module__}, root / folder / "found.pt")
"""


def cut_model(family, heads):
    model = tiny_model(family, attention="eager" if family in EAGER_ALONE else "sdpa")
    kinds = {"encoder", "cross"} if family in SEQ2SEQ else {kind for kind, _, _ in index(model)}  # one kind of a decoder's two
    return remove(model, [(kind, layer, head) for kind, layer, head in index(model) if kind in kinds and head in heads[layer]])


def automatic(family):
    masked = family in ("bert", "roberta")
    return "AutoModelForSeq2SeqLM" if family in SEQ2SEQ else "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What a process without the project makes of each folder; every second one it saves and loads once more."""
    root, cases = tmp_path_factory.mktemp("folders"), {}
    for number, ((family, case), heads) in enumerate(CASES.items()):
        folder = root / f"{family} {case}"
        model = cut_model(family, heads)
        save(model, folder / "model")
        batch = tiny_batch(family, labels=False)
        target = {"decoder_input_ids": batch["input_ids"]} if family in SEQ2SEQ else {}
        torch.save({"batch": batch | target, "prompts": prompts(family)}, folder / "given.pt")
        attention = "eager" if family in EAGER_ALONE else "sdpa"
        cases[folder.name] = [automatic(family), case in OURS, attention, number % 2 == 0]
    (root / "cases.json").write_text(json.dumps(cases))
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    alone |= {"HF_HOME": str(root / "cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", STRANGER, root], env=alone, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return root


@pytest.mark.parametrize(("family", "case"), CASES)
def test_transformers_alone_reads_the_folder(family, case, read):
    folder, model = read / f"{family} {case}", cut_model(family, CASES[family, case])
    given, found = torch.load(folder / "given.pt"), torch.load(folder / "found.pt")
    code = (folder / "model" / CODE.name).exists()
    assert code == (case in OURS) == ("fewer_heads" in found["class"]), "code where the configuration cannot say it"
    rounding = 1e-5 if family == "phi3" else 0.0  # from one projection or from its three parts
    torch.testing.assert_close(found["logits"], logits(model, given["batch"]), atol=rounding, rtol=rounding)
    for beams in (1, 3) if model.can_generate() else ():
        assert torch.equal(found[f"{beams} beams"], generate(model, given["prompts"], num_beams=beams))


@pytest.mark.parametrize(
    ("family", "case"), [("llama", "one group"), ("phi3", "one each"), ("t5", "ragged"), ("phi3", "ragged")]
)
@pytest.mark.parametrize("ours", [True, False])
def test_a_folder_can_be_cut_further(family, case, ours, tmp_path):
    """Loaded by the project or by the library, it counts heads as before the first cut, and is saved once more."""
    model, batch = cut_model(family, CASES[family, case]), tiny_batch(family)
    save(model, tmp_path / "model")
    loader = getattr(hf, automatic(family))
    loaded = load(tmp_path / "model") if ours else loader.from_pretrained(tmp_path / "model", trust_remote_code=True).eval()
    assert kept(loaded) == kept(model) and [site.groups for site in sites(loaded)] == [site.groups for site in sites(model)]
    first = (sites(model)[0].kind, 0, 1)
    for one in (model, loaded):
        remove(one, [first])
    assert torch.equal(logits(loaded, batch), logits(model, batch)) and kept(loaded) == kept(model)
    save(loaded, tmp_path / "model")
    last = load(tmp_path / "model")
    assert torch.equal(logits(last, batch), logits(model, batch)) and kept(last) == kept(model)


def test_a_folder_without_code_is_read_as_ever(tmp_path):
    """As the project wrote them before: a map of heads and weights."""
    model, batch = cut_model("bart", RAGGED), tiny_batch("bart")
    save(model, tmp_path)
    (tmp_path / CODE.name).unlink()
    settings = json.loads((tmp_path / "config.json").read_text())
    assert settings["model_type"] == "bart" and settings["architectures"] == ["BartForConditionalGeneration"]
    del settings["auto_map"], settings["attention_at"]
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert torch.equal(logits(load(tmp_path), batch), logits(model, batch))
    with pytest.raises(RuntimeError, match="ignore_mismatched_sizes"):
        hf.AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
