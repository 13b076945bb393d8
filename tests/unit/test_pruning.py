"""Pruning runs: what they depend on, what they train and keep, and bad input."""

import pytest
import torch
from transformers import MarianMTModel

from helpers import heads, study
from helpers.experiments import pruning
from helpers.heads import KINDS
from helpers.runs import subjects
from tests.unit import tiny_injection, tiny_sweep

STORE = "sweep"
FEW = {"pruning.draws": 1}  # of random heads


@pytest.fixture(scope="module")
def swept():
    """The sweeps over encoder heads, and over all kinds."""
    return tiny_sweep.sweeps(FEW)


def start_of(sweep):
    return subjects.of_spec(sweep["start"], sweep["name"])


def counts(kept, kind):
    return sum(len(left) for (k, _), left in kept.items() if k == kind)


def test_runs_of_a_sweep_differ_in_their_method_alone(swept):
    for sweep in swept.values():
        plans = [{part: run[part] for part in run if part != "method"} for run in sweep["runs"].values()]
        assert all(plan == plans[0] for plan in plans)
        assert plans[0]["start"] == subjects.spec(tiny_sweep.settings(), "ru-subtitles", 1)
        assert plans[0]["training"]["patience"] == 0 and plans[0]["training"]["average"] == 1  # gates have settled in the end


def test_what_is_trained(swept):
    """With encoder heads in question the encoder's layers alone, otherwise everything; positions are sines."""
    for which, names in {"encoder": ("control", "floor", "L0 1"), "all": ("L0 0.03", "scratch 0.03")}.items():
        before = start_of(swept[which]).model.state_dict()
        for name in names:
            model = pruning.opened(swept[which]["runs"][name])
            after = model.state_dict()
            trained = {n for n in before if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])}
            learned = {n for n, _ in model.named_parameters() if "embed_positions" not in n}
            unseen = {n for n in before if n.endswith("k_proj.bias")}  # by softmax
            if which == "encoder":
                layers = {n for n in before if n.startswith(("model.encoder.layers.", "model.encoder.layer_norm."))}
                # without heads from the start nobody reads the norm before them
                unseen |= {n for n in layers if name == "floor" and "self_attn_layer_norm" in n}
                assert layers - unseen <= trained <= layers, name
            else:
                assert learned - unseen <= trained and "model.shared.weight" in learned, name
                assert not any("embed_positions" in n for n in trained)
            # what is stored is ready to use: gates are gone and leave nothing behind
            assert not model.training and all(p.requires_grad for n, p in model.named_parameters() if n in learned)
            assert after.keys() == before.keys()


def test_heads_that_are_left(swept):
    whole = start_of(swept["encoder"]).model
    for sweep in swept.values():
        runs, every = sweep["runs"], len(heads.index(whole, tuple(sweep["kinds"])))
        kept = {name: pruning.retained(run) for name, run in runs.items()}
        assert kept["control"] == heads.kept(whole)
        number = {name: sum(counts(left, kind) for kind in sweep["kinds"]) for name, left in kept.items()}
        assert 0 < number["L0 0.03"] < every, "choose a price that closes some heads: the tests need it"
        for name, left in kept.items():
            assert all(counts(left, kind) == 8 for kind in set(KINDS) - set(sweep["kinds"])), name
            assert "like" not in runs[name]["method"] or number[name] == number["L0 0.03"], name
        for twin in {"scratch 0.03", "L0's heads 0.03"} & kept.keys():
            assert kept[twin] == kept["L0 0.03"]
        assert all(number[name] == 0 for name in {"floor", "L0 1"} & kept.keys())


def test_a_pretrained_model_can_be_swept(swept, tmp_path):
    """A folder as one downloads it; how it was trained is not known, so nothing is trained from scratch."""
    sizes = {f"{side}_{name}": n for side in ("encoder", "decoder")
             for name, n in (("layers", 1), ("ffn_dim", 16), ("attention_heads", 2))}  # fmt: skip
    corpus = swept["encoder"]["start"]["corpus"]
    checkpoint = tiny_injection.checkpoint(
        tmp_path / "tiny-marian", tiny_injection.texts(corpus), "marian", 200, d_model=16, max_position_embeddings=128, **sizes
    )
    few = {"pruning.penalties": [1.0], "pruning.penalties_all": [1.0], "pruning.compared": [1.0],
           "pruning.criteria": ["confidence"], "pruning.variants": False}  # fmt: skip
    encoder, every = pruning.of_training(tiny_sweep.settings(few), [tiny_sweep.NAME], 1, str(checkpoint))
    assert encoder["start"]["files"] == [study.digest(checkpoint / "model.safetensors")]  # known by its files
    assert encoder["start"]["corpus"] == corpus and list(every["runs"]) == ["control", "L0 1"]
    subject = start_of(encoder)
    assert type(subject.model) is MarianMTModel and subject.run is None and subject.name == checkpoint.name
    assert counts(pruning.retained(encoder["runs"]["L0 1"]), "encoder") == 0
    assert sum(map(len, pruning.retained(every["runs"]["L0 1"]).values())) == 0
    before, after = subject.model.state_dict(), pruning.opened(encoder["runs"]["control"]).state_dict()
    changed = {n for n in before if not torch.equal(before[n].half().float(), after[n])}
    assert changed and all("encoder.layers" in name for name in changed)


def test_heads_of_a_list_are_removed_and_the_rest_trains(swept):
    run = swept["encoder"]["runs"]["control"] | {"method": {"name": "these", "heads": [("encoder", 0, 1)]}}
    whole, before = pruning.retained(swept["encoder"]["runs"]["control"]), start_of(swept["encoder"]).model
    subject = start_of(swept["encoder"])
    split = next(iter(subject.tests))
    assert len(pruning.statistics(subject, run, split, 1)) == len(subject.pairs(split))  # trained now, then translated
    assert pruning.retained(run) == whole | {("encoder", 0): [head for head in whole["encoder", 0] if head != 1]}
    after = pruning.opened(run).state_dict()
    assert not torch.equal(after["model.encoder.layers.0.fc1.weight"], before.state_dict()["model.encoder.layers.0.fc1.weight"])
