"""Folders of models with fewer heads, read by transformers alone: a process that cannot import the project."""

import json
import os
import subprocess
import sys

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file

from helpers.heads import index, kept, load, remove, save, sites
from helpers.heads.surgery import CODE
from helpers.study import ROOT
from tests.unit.tiny_models import EAGER_ALONE, EVERY, SEQ2SEQ, generate, logits, prompts, tiny_batch, tiny_model

RAGGED = {0: {1}, 1: {0, 1, 2, 3}}  # heads to remove from the first and the last layer, of every kind
CASES = {
    **{(family, "ragged"): RAGGED for family in EVERY},
    **{(family, "one group"): {0: {0, 1}, 1: {2, 3}} for family in ("llama", "phi3")},
    ("t5", "the same"): {0: {0, 2}, 1: {0, 2}},  # of tables of position biases
    ("qwen3", "uneven"): {0: {1}, 1: {1}},  # as many in each layer, groups of one and two
    ("opt", "whole"): {0: set(), 1: set()},
}
STRANGER = """
import json, pathlib, sys
for name in ("helpers", "tests"):
    sys.modules[name] = None  # importing it fails
import torch, transformers
root = pathlib.Path(sys.argv[1])
for folder, (automatic, trusted, attention) in json.loads((root / "cases.json").read_text()).items():
    given = torch.load(root / folder / "given.pt")
    read, how = getattr(transformers, automatic).from_pretrained, {"attn_implementation": attention}
    how["trust_remote_code"] = trusted or None
    options, found = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}, {}
    for place in ("model", "again"):
        model = read(root / folder / place, **how).eval()
        with torch.no_grad():
            found[place] = {"logits": model(**given["batch"]).logits, "class": type(model).__module__}
        for beams in (1, 3) if model.can_generate() else ():
            found[place][beams] = model.generate(**given["prompts"], num_beams=beams, **options)
        if place == "model":
            model.save_pretrained(root / folder / "again")
    torch.save(found, root / folder / "found.pt")
"""


def cut_model(family, heads):
    model = tiny_model(family, attention="eager" if family in EAGER_ALONE else "sdpa")
    return remove(model, [(kind, layer, head) for kind, layer, head in index(model) if head in heads[layer]])


def automatic(family):
    masked = family in ("bert", "roberta")
    return "AutoModelForSeq2SeqLM" if family in SEQ2SEQ else "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What a process without the project makes of each folder, and of what it saves of it itself."""
    root, cases = tmp_path_factory.mktemp("folders"), {}
    for (family, case), heads in CASES.items():
        folder = root / f"{family} {case}"
        model = cut_model(family, heads)
        save(model, folder / "model")
        batch = tiny_batch(family, labels=False)
        target = {"decoder_input_ids": batch["input_ids"]} if family in SEQ2SEQ else {}
        torch.save({"batch": batch | target, "prompts": prompts(family)}, folder / "given.pt")
        attention = "eager" if family in EAGER_ALONE else "sdpa"
        cases[folder.name] = [automatic(family), case != "whole", attention]
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
    assert code == (case != "whole"), "code where heads are gone"
    rounding, whole = 1e-5 if family == "phi3" else 0.0, logits(model, given["batch"])  # from one projection or its three parts
    for once in (found["model"], found["again"]):
        assert code == ("fewer_heads" in once["class"])
        torch.testing.assert_close(once["logits"], whole, atol=rounding, rtol=rounding)
    for beams in (1, 3) if model.can_generate() else ():
        text = generate(model, given["prompts"], num_beams=beams)
        assert torch.equal(found["model"][beams], text) and torch.equal(found["again"][beams], text)


@pytest.mark.parametrize(("family", "case"), [("llama", "one group"), ("t5", "ragged"), ("phi3", "ragged")])
@pytest.mark.parametrize("ours", [True, False])
def test_a_folder_can_be_cut_further(family, case, ours, tmp_path):
    """Loaded by the project or by the library, it counts heads as before the first cut, and is saved once more."""
    model, batch = cut_model(family, CASES[family, case]), tiny_batch(family)
    save(model, tmp_path / "model")
    loader = getattr(hf, automatic(family))
    loaded = load(tmp_path / "model") if ours else loader.from_pretrained(tmp_path / "model", trust_remote_code=True).eval()
    assert kept(loaded) == kept(model) and [site.groups for site in sites(loaded)] == [site.groups for site in sites(model)]
    save(loaded, tmp_path / "once more")
    assert torch.equal(logits(load(tmp_path / "once more"), batch), logits(model, batch))
    first = (sites(model)[0].kind, 0, 1)
    for one in (model, loaded):
        remove(one, [first])
    assert torch.equal(logits(loaded, batch), logits(model, batch)) and kept(loaded) == kept(model)
    save(loaded, tmp_path / "model")
    last = load(tmp_path / "model")
    assert torch.equal(logits(last, batch), logits(model, batch)) and kept(last) == kept(model)


@pytest.mark.parametrize("commit", ["756ed23f", "e4e76502"])
def test_older_folders_still_load(commit):
    """As the project wrote them at these commits: a Marian when it first did, a Llama before code went along."""
    folder, ids = ROOT / "tests" / "folders" / commit, torch.tensor([[5, 9, 2, 17, 1]])
    model = load(folder)
    target = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    assert not all(len(heads) == 4 for heads in kept(model).values()) and not (folder / CODE.name).exists()
    expected = load_file(folder / "logits.safetensors")["logits"]
    torch.testing.assert_close(logits(model, {"input_ids": ids, **target}), expected, atol=1e-6, rtol=1e-6)
