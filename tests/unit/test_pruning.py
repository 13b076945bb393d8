"""Pruning runs: what they depend on, what they train and keep, the same again, killed and resumed, and bad input."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from helpers import corpora, heads, measures, study, subjects, training
from helpers.corpora import tokens
from helpers.heads import KINDS
from helpers.methods import l0, pruning
from helpers.study import StudyError
from tests.unit import tiny_sweep

ENCODER = ["control", "floor", "L0 0.003", "L0 0.03", "L0 1", "gradual 0.03", "random 0.03", "random 0.03 #2",
           "confidence 0.03", "L0, half-open start, 0.03", "L0, temperature 0.5, 0.03"]  # fmt: skip
EVERY = ["control", "L0 0.001", "L0 0.03", "scratch 0.03"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The sweeps, all of whose runs are in the store."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        yield tiny_sweep.make()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests look at the store that the sweeps were made in."""
    tiny_sweep.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


def start_of(sweep):
    return subjects.of(sweep["start"], sweep["name"])


def counts(kept, kind):
    return sum(len(left) for (k, _), left in kept.items() if k == kind)


def removed_of(run, whole):
    """Addresses of the heads that a run removed."""
    kept = pruning.retained(run)
    return {address for address in heads.index(whole) if address[2] not in kept[address[:2]]}


def files_of(folder):
    """What a run left, wall-clock times aside."""
    names = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and f.name != "made.json")
    found = {name: (folder / name).read_bytes() for name in names if name != "history.csv"}
    return found | {"history.csv": pd.read_csv(folder / "history.csv").drop(columns="seconds").to_csv()}


# --- what there is to do ---------------------------------------------------------------------------------------------


def test_runs_of_a_sweep():
    sweeps = tiny_sweep.sweeps()
    assert [list(sweep["runs"]) for sweep in sweeps.values()] == [ENCODER, EVERY]
    for sweep, kinds in zip(sweeps.values(), (("encoder",), KINDS), strict=True):
        assert json.loads(json.dumps(sweep)) == sweep
        assert sweep["kinds"] == list(kinds) and sweep["start"] == subjects.spec(tiny_sweep.settings(), "ru-subtitles", 1)
        for name, run in sweep["runs"].items():
            assert (run["start"], run["kinds"], run["dev"], run["seed"]) == (sweep["start"], sweep["kinds"], 16, 1), name
    runs = sweeps["encoder"]["runs"]
    usual = {"start": 0.5, "rate": 0.5, "temperature": 0.33}
    assert runs["L0 0.003"]["method"] == {"name": "l0", "penalty": 0.003} | usual
    assert runs["L0, half-open start, 0.03"]["method"] == {"name": "l0", "penalty": 0.03} | usual | {"start": [-0.612, 0.612]}
    assert runs["L0, temperature 0.5, 0.03"]["method"] == {"name": "l0", "penalty": 0.03} | usual | {"temperature": 0.5}
    for name, more in {"random 0.03": {"by": "random", "draw": 0}, "random 0.03 #2": {"by": "random", "draw": 1},
                       "confidence 0.03": {"by": "confidence", "draw": 0}}.items():  # fmt: skip
        assert runs[name]["method"] == {"name": "cut", "like": runs["L0 0.03"], "few": 4} | more
    assert runs["gradual 0.03"]["method"] == {"name": "gradual", "like": runs["L0 0.03"]}
    scratch = sweeps["all"]["runs"]["scratch 0.03"]
    assert scratch["method"] == {"name": "scratch", "like": sweeps["all"]["runs"]["L0 0.03"]}


def test_plans_of_further_training():
    sweeps = tiny_sweep.sweeps()
    start = sweeps["all"]["start"]["training"]
    for run in sweeps["encoder"]["runs"].values():
        assert run["training"] == start | {
            "steps": 8, "learning_rate": 5e-4, "warmup": 2, "cooldown": 0.3, "evaluate_every": 1, "clip": 0.0, "patience": 0,
            "average": 1,
        }  # fmt: skip
    assert sweeps["all"]["runs"]["scratch 0.03"]["training"] == start | {"steps": 150 + 8}  # Table 2: both phases together


def test_seeds_and_variants():
    runs = tiny_sweep.sweeps({"pruning.seeds": 3, "pruning.variants": False})["encoder"]["runs"]
    assert "L0 0.03 #3" in runs and not any("half-open" in name or "temperature" in name for name in runs)
    assert [runs[f"L0 0.03{end}"]["seed"] for end in ("", " #2", " #3")] == [1, 1001, 2001]
    assert runs["gradual 0.03"]["method"]["like"] == runs["L0 0.03"]  # the first seed


def test_prices_that_peers_imitate_are_swept_too():
    """As when only the list of prices is overridden."""
    sweeps = tiny_sweep.sweeps({"pruning.penalties": [0.01], "pruning.penalties_all": [0.01]})
    for sweep, peer in zip(sweeps.values(), ("gradual 0.03", "scratch 0.03"), strict=True):
        names = list(sweep["runs"])
        assert names.index("L0 0.01") < names.index("L0 0.03") < names.index(peer)
        assert sweep["runs"][peer]["method"]["like"] == sweep["runs"]["L0 0.03"]


def test_a_sweep_without_peers():
    runs = tiny_sweep.sweeps({"pruning.compared": [], "pruning.scratch": []})
    assert list(runs["encoder"]["runs"]) == ENCODER[:5] and list(runs["all"]["runs"]) == EVERY[:3]


def test_which_models_are_swept():
    names = list(subjects.CONTROLLED)

    def swept(profile, **changes):
        sweeps = pruning.sweeps(study.settings(profile, {f"pruning.{k}": v for k, v in changes.items()}), names, 1)
        return [(sweep["name"], len(sweep["kinds"])) for sweep in sweeps]

    assert swept("tiny") == [("ru-news", 1), ("ru-subtitles", 1), ("ru-news", 3)]
    assert swept("laptop") == [("ru-news", 1), ("ru-subtitles", 1), ("ru-news+deep", 3)]
    found = swept("laptop", languages=2, all_kinds=2)
    assert found == [("ru-news", 1), ("de-news", 1), ("ru-subtitles", 1), ("ru-news+deep", 3), ("de-news+deep", 3)]


def test_a_deep_decoder():
    laptop, tiny = study.settings("laptop"), study.settings("tiny")
    assert (subjects.deep(laptop, "ru-news"), subjects.deep(tiny, "ru-news")) == ("ru-news+deep", "ru-news")
    assert subjects.deep(study.settings("tiny", {"model.decoder_layers": 1}), "ru-news") == "ru-news+deep"
    assert subjects.title("ru-news+deep") == "EN-RU news, deep decoder" and subjects.title("ru-news") == "EN-RU news"
    deep, plain = (subjects.spec(laptop, name, 1) for name in ("ru-news+deep", "ru-news"))
    assert plain["model"]["decoder_layers"] == 1 and not {"decoder_layers", "decoder_heads"} & set(deep["model"])
    assert (deep["training"]["steps"], plain["training"]["steps"]) == (2000, 3000)
    same = {"corpus": plain["corpus"], "seed": 1, "closed": [], "code": plain["code"]}
    assert {name: deep[name] for name in same} == same
    same = {name: value for name, value in plain["training"].items() if name != "steps"}
    assert {name: deep["training"][name] for name in same} == same
    whole = subjects.spec(study.settings("laptop", {"pruning.deep_steps": 0}), "ru-news+deep", 1)
    assert whole["training"] == plain["training"]
    assert subjects.spec(tiny, "ru-news+deep", 1) == subjects.spec(tiny, "ru-news", 1)


def keys(changes=None):
    """Keys of all runs of both sweeps by name."""
    sweeps = tiny_sweep.sweeps(changes)
    return {f"{which}: {name}": study.key(run) for which in sweeps for name, run in sweeps[which]["runs"].items()}


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"bootstrap": 7, "truth": 1, "pruning.languages": 2, "pruning.all_kinds": 1}, []),
        ({"pruning.penalties": [0.03], "pruning.criteria": ["random"], "pruning.draws": 1, "pruning.variants": False}, []),
        ({"relevance": 5}, ["random", "confidence"]),
        ({"pruning.steps": 9}, ["control", "floor", "L0", "gradual", "random", "confidence", "scratch"]),
        ({"pruning.learning_rate": 0.1}, ["control", "floor", "L0", "gradual", "random", "confidence", "scratch"]),
        ({"pruning.dev": 17}, ["control", "floor", "L0", "gradual", "random", "confidence", "scratch"]),
        ({"pruning.gate_rate": 0.1}, ["L0", "gradual", "random", "confidence", "scratch"]),
        ({"pruning.start": 1.0}, ["L0", "gradual", "random", "confidence", "scratch"]),
        ({"pruning.temperature": 0.4}, ["L0", "gradual", "random", "confidence", "scratch"]),
        ({"training.steps": 151}, ["control", "floor", "L0", "gradual", "random", "confidence", "scratch"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_keys_change_with_what_a_run_depends_on(changes, changed):
    before, after = keys(), keys(changes)
    assert len(set(before.values())) == len(before)
    variants = ["encoder: L0, half-open start, 0.03", "encoder: L0, temperature 0.5, 0.03"]
    own = {"pruning.start": variants[:1], "pruning.temperature": variants[1:]}
    for name in after:
        depends = any(name.split(": ")[1].startswith(method) for method in changed)
        depends &= name not in own.get(next(iter(changes)), ())  # these have a value of their own
        assert (before[name] != after[name]) == depends, name


def test_keys_change_with_the_code(tmp_path, monkeypatch):
    shutil.copytree(study.ROOT / "helpers", tmp_path / "helpers")
    monkeypatch.setattr(study, "ROOT", tmp_path)

    def run(penalty=0.03, **method):
        start = {"training": {}, "seed": 1}
        method = {"name": "l0", "penalty": penalty} | method
        return study.key(pruning.run_spec(tiny_sweep.settings(), start, ("encoder",), method, 1))

    plain, cut = run(), run(by="confidence")
    assert run() == plain != run(0.04) and len({plain, cut, run(by="relevance")}) == 3

    def edit(module, old="", new="MORE = 1\n"):
        """Whether the keys of a run with gates and of one that is cut by confidence change."""
        file = tmp_path / "helpers" / module
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
        try:
            return run() != plain, run(by="confidence") != cut
        finally:
            file.write_text(text, encoding="utf-8")

    assert edit("methods/l0.py", "_EDGE = 1e-6", "_EDGE = 1e-5") == edit("heads/surgery.py") == (True, True)
    assert edit("heads/controls.py", "return hidden * gates, *args[1:]", "return gates * hidden, *args[1:]") == (True, True)
    assert edit("methods/pruning.py", "* 0.6", "* 0.7") == (True, True)
    assert edit("measures/confidence.py") == edit("measures/importance.py") == (False, True)
    assert edit("methods/l0.py", new="# a comment") == (False, False)
    for module in ("figures.py", "methods/pruning.py", "methods/curves.py", "heads/controls.py", "scoring.py"):
        assert edit(module) == (False, False), module


# --- what a run trains -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENCODER)
def test_encoder_runs_leave_everything_but_the_encoders_layers_as_it_was(swept, name):
    before, after = start_of(swept["encoder"]).model.state_dict(), pruning.load(swept["encoder"]["runs"][name]).state_dict()
    assert before.keys() == after.keys()
    trained = {n for n in before if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])}
    layers = {n for n in before if n.startswith(("model.encoder.layers.", "model.encoder.layer_norm."))}
    # softmax does not see a key's bias; without heads from the start nobody reads the norm before them
    free = {n for n in layers if "k_proj.bias" in n or (name == "floor" and "self_attn_layer_norm" in n)}
    assert layers - free <= trained <= layers
    assert len({n for n in layers if not after[n].numel()}) == (14 if name in ("floor", "L0 1") else 0)  # q, k, v and out


@pytest.mark.parametrize("name", EVERY)
def test_runs_over_all_kinds_train_everything(swept, name):
    before, model = start_of(swept["all"]).model.state_dict(), pruning.load(swept["all"]["runs"][name])
    trained = {n for n, p in model.named_parameters() if before[n].shape != p.shape or not torch.equal(before[n], p)}
    learned = {n for n, _ in model.named_parameters() if "embed_positions" not in n and not n.endswith("k_proj.bias")}
    assert learned <= trained and "model.shared.weight" in learned  # positions are sines, which nobody learns
    assert not any("embed_positions" in n for n in trained)


def test_stored_models_are_ready_to_use(swept):
    for sweep in swept.values():
        for name, run in sweep["runs"].items():
            model = pruning.load(run)
            assert not model.training and all(p.requires_grad or "embed_positions" in n for n, p in model.named_parameters())
            # gates are gone and leave nothing behind
            assert not any("scaled" in n or "kept" in n or "open" in n for n in model.state_dict()), name
            assert not list((study.runs() / "work").rglob("checkpoint.pt"))


# --- which heads are left --------------------------------------------------------------------------------------------


def test_heads_that_are_left(swept):
    whole = start_of(swept["encoder"]).model
    for sweep in swept.values():
        runs, every = sweep["runs"], len(heads.index(whole, tuple(sweep["kinds"])))
        kept = {name: pruning.retained(run) for name, run in runs.items()}
        assert kept["control"] == heads.kept(whole)
        number = {name: sum(counts(left, kind) for kind in sweep["kinds"]) for name, left in kept.items()}
        assert 0 < number["L0 0.03"] < every, "choose a price that closes some heads: the tests need it"
        for name, left in kept.items():
            for kind in set(KINDS) - set(sweep["kinds"]):
                assert counts(left, kind) == 8, name
            if "like" in runs[name]["method"]:
                assert number[name] == number["L0 0.03"], name
        assert kept.get("scratch 0.03", kept["L0 0.03"]) == kept["L0 0.03"]
        if sweep["kinds"] == ["encoder"]:
            assert number["floor"] == number["L0 1"] == 0
            assert number["L0 0.003"] >= number["L0 0.03"]
        else:
            assert number["L0 0.001"] >= number["L0 0.03"]


def test_l0_removes_the_heads_whose_gates_closed(swept):
    for sweep in swept.values():
        whole = start_of(sweep).model
        for name, run in sweep["runs"].items():
            if run["method"]["name"] == "l0":
                trace = pd.read_csv(pruning.made(run) / "trace.csv", index_col=0, header=[0, 1, 2])
                assert trace.index.tolist() == list(range(9)), name
                last = {(kind, int(layer), int(head)): a for (kind, layer, head), a in trace.iloc[-1].items()}
                assert list(last) == list(heads.index(whole, tuple(run["kinds"])))
                assert {address for address, a in last.items() if a <= 0} == removed_of(run, whole), name
                first = trace.iloc[0].to_numpy()
                half = isinstance(run["method"]["start"], list)
                assert (np.abs(first) <= 0.612).all() and len(set(first)) == 8 if half else (first == 0.5).all(), name


def test_cut_runs_remove_the_heads_of_least_worth(swept):
    sweep = swept["encoder"]
    whole, runs = start_of(sweep).model, sweep["runs"]
    count = len(removed_of(runs["L0 0.03"], whole))
    for name in ("random 0.03", "random 0.03 #2", "confidence 0.03"):
        method = runs[name]["method"]
        worth = pruning.worth(sweep["start"], 4, method["by"], method["draw"], ("encoder",))
        assert list(worth.index) == list(heads.index(whole, ("encoder",)))
        assert removed_of(runs[name], whole) == set(pruning.least(worth, count)) == set(worth.nsmallest(count).index)
    assert pruning.retained(runs["random 0.03"]) != pruning.retained(runs["random 0.03 #2"])


def test_random_draws(swept):
    start = swept["encoder"]["start"]
    draws = [pruning.worth(start, 4, "random", draw, KINDS) for draw in (0, 0, 1)]
    assert draws[0].equals(draws[1]) and draws[0].nunique() == 24 and not np.isclose(draws[0], draws[2]).any()
    few = pruning.worth(start, 4, "random", 0, ("encoder", "cross"))
    assert list(few.index) == [address for address in draws[0].index if address[0] != "decoder"]


def test_of_equals_the_first_heads_go():
    table = pd.Series([1.0, 0.0, 2.0, 0.0, 1.0, 0.0], pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1, 2]]))
    assert pruning.least(table, 0) == []
    assert pruning.least(table, 4) == [("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 2), ("encoder", 0, 0)]


def test_scores_are_those_of_the_measures(swept):
    subject, found = start_of(swept["encoder"]), pruning.scores(swept["encoder"]["start"], 4)
    assert list(found) == list(pruning.CRITERIA) and list(found.index) == list(heads.index(subject.model))
    assert np.isfinite(found).all(axis=None)
    few = subject.batches(4096, 4)
    wanted = {
        "confidence": measures.confidence(subject.model, subject.batches()),
        "gradient, token": measures.importance(subject.model, few, per="token", norm=None),
        "gradient, example, by layer": measures.importance(subject.model, few, per="example", norm="layer"),
    }
    for name, column in wanted.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-5, err_msg=name)
    with heads.gate(subject.model, {found.index[5]: 0.0}):
        without = training.dev_loss(subject.model, few)
    assert found["leave-one-out"].iloc[5] == pytest.approx(without - training.dev_loss(subject.model, few), abs=1e-5)


def test_histories_end_with_the_loss_of_the_stored_model(swept):
    for sweep in swept.values():
        dev = start_of(sweep).batches(4 * 1024, 16)
        for name, run in sweep["runs"].items():
            history = pd.read_csv(pruning.made(run) / "history.csv")
            scratch, gates = run["method"]["name"] == "scratch", run["method"]["name"] == "l0"
            assert history.step.tolist() == ([75, 150, 158] if scratch else list(range(1, 9)))
            assert list(history) == ["step", "loss", "dev_loss", "learning_rate", "seconds", *["soft_dev_loss"] * gates]
            loss = history.dev_loss.min() if scratch else history.dev_loss.iloc[-1]  # the best weights, as of the whole model
            assert training.dev_loss(pruning.load(run), dev) == pytest.approx(loss, abs=2e-5), name
            if gates:
                assert np.isfinite(history.soft_dev_loss.iloc[-1]) and history.soft_dev_loss.iloc[:-1].isna().all()
                assert abs(history.soft_dev_loss.iloc[-1] - loss) > 1e-6  # undecided gates


def test_removing_at_once(swept):
    sweep = swept["encoder"]
    subject, shot = start_of(sweep), pruning.one_shot(sweep)
    ways = shot.groupby(["by", "draw"], sort=False).size()
    assert list(ways.index) == [(by, 0) for by in pruning.CRITERIA] + [("random", 0), ("random", 1)]
    kept = {sum(map(len, pruning.retained(run).values())) for run in sweep["runs"].values() if run["method"]["name"] == "l0"}
    assert set(ways) == {len(kept)}
    dev = list(subject.batches(first=16))
    for (by, draw), rows in shot.groupby(["by", "draw"]):
        worth = pruning.worth(sweep["start"], 4, by, draw, ("encoder",))
        for row, left in zip(rows.itertuples(), sorted(kept), strict=True):
            assert list(row.translations) == ["test"] and len(row.translations["test"]) == 32
            with heads.gate(subject.model, dict.fromkeys(pruning.least(worth, 24 - left), 0.0)):
                assert row.dev_loss == pytest.approx(training.dev_loss(subject.model, dev), abs=1e-5)
    assert shot.dev_loss.nunique() > 5


def test_removing_at_once_counts_heads_as_l0_does(swept):
    """Of the kinds in question, as `helpers.methods.curves.quality` counts them: both stand on one axis."""
    sweep = swept["encoder"]
    wanted = {counts(pruning.retained(run), "encoder") for run in sweep["runs"].values() if run["method"]["name"] == "l0"}
    assert set(pruning.one_shot(sweep).heads) == wanted


def test_translations_are_stored(swept, monkeypatch):
    run, subject = swept["encoder"]["runs"]["L0 1"], start_of(swept["encoder"])
    sources = [pair.source for pair in subject.pairs("test")]
    wanted = training.translate(pruning.load(run), sources, subject.source, subject.target, 1)
    assert subject.translations("test", 1) != wanted
    monkeypatch.setattr(training, "translate", None)
    assert pruning.translations(run, "test", 1) == wanted


# --- the same again --------------------------------------------------------------------------------------------------


def elsewhere(tmp_path, monkeypatch):
    """A store that holds the trained model and nothing that was made of it."""
    shutil.copytree(study.runs() / "models", tmp_path / "runs" / "models")
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    pruning._subject.cache_clear()
    torch.manual_seed(99)  # whatever came before must not matter


@pytest.mark.parametrize("name", ["control", "L0, half-open start, 0.03", "gradual 0.03"])
def test_runs_are_functions_of_their_specs(swept, tmp_path, monkeypatch, name):
    run = swept["encoder"]["runs"][name]
    first = files_of(pruning.made(run))
    elsewhere(tmp_path, monkeypatch)
    folder = pruning.made(run)
    assert tmp_path in folder.parents and files_of(folder) == first
    assert json.loads((folder / "made.json").read_text(encoding="utf-8"))["spec"] == run


def test_other_seeds_are_other_runs(swept, tmp_path, monkeypatch):
    run = swept["encoder"]["runs"]["L0 0.03"]
    first = files_of(pruning.made(run))
    elsewhere(tmp_path, monkeypatch)
    assert files_of(pruning.made(run | {"seed": 1001}))["trace.csv"] != first["trace.csv"]


def test_a_made_sweep_is_only_read(swept, monkeypatch):
    def files():
        return {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()}

    before = files()
    for name in ("fit", "translate"):
        monkeypatch.setattr(training, name, None)
    for sweep in swept.values():
        pruning.make(sweep)
    assert files() == before


KILLED = """
import os, signal
from helpers import training
from helpers.methods import pruning

save = training._save

def save_and_die(path, model, optimiser, state):
    save(path, model, optimiser, state)
    if (path.parent.name, state["step"]) == ({key!r}, {step}):
        os.kill(os.getpid(), signal.SIGKILL)

training.SAVE_EVERY, training._save = -1, save_and_die
pruning.main([{sweep!r}, "--threads", "1"])
"""


def test_a_killed_sweep_goes_on_at_its_first_missing_run(swept, tmp_path, monkeypatch):
    sweep, file = swept["all"], tmp_path / "sweep.json"
    whole = {name: files_of(pruning.made(run)) for name, run in sweep["runs"].items()}
    texts = {name: pruning.translations(run, "test", 1) for name, run in sweep["runs"].items()}
    study.write_json(file, sweep)
    elsewhere(tmp_path, monkeypatch)
    key = study.key(sweep["runs"]["L0 0.03"])
    code = KILLED.format(key=key, step=5, sweep=str(file))
    died = subprocess.run([sys.executable, "-c", code], cwd=study.ROOT, env=os.environ, capture_output=True, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    pruned, checkpoint = study.runs() / "pruned", study.runs() / "work" / key / "checkpoint.pt"
    finished = {path: path.stat().st_mtime_ns for path in pruned.glob("[!.]*/*") if path.is_file()}
    before = list(study.read_spec(file)["runs"])
    before = before[: before.index("L0 0.03")]
    assert {path.parent.name for path in finished} == {study.key(sweep["runs"][name]) for name in before} and before
    assert torch.load(checkpoint, weights_only=False)["state"]["step"] == 5
    steps, objective = [], l0.objective
    monkeypatch.setattr(l0, "objective", lambda gated, *more: steps.append(int(gated.taken)) or objective(gated, *more))
    pruning.main([str(file)])
    assert steps == [5, 6, 7]  # the steps behind the checkpoint, of the run that was killed
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    for name, run in sweep["runs"].items():
        assert files_of(pruning.made(run)) == whole[name], name
        assert pruning.translations(run, "test", 1) == texts[name]
    assert not checkpoint.exists()


# --- bad input -------------------------------------------------------------------------------------------------------


def refused(capsys, *arguments):
    """What the command says on standard error, in one sentence."""
    with pytest.raises(SystemExit) as caught:
        pruning.main(list(map(str, arguments)))
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.endswith(".\n") and said.count("\n") == 1
    return said


def test_sweep_files_that_are_not_whole(tmp_path, capsys):
    path, sweep = tmp_path / "sweep.json", tiny_sweep.sweeps()["encoder"]
    assert f"Cannot read the spec {path}" in refused(capsys, path)
    study.write_json(path, sweep)
    text = path.read_text(encoding="utf-8")
    for cut in ("", text[: len(text) // 2]):
        path.write_text(cut, encoding="utf-8")
        assert f"Cannot read the spec {path}" in refused(capsys, path)
    for name in ("name", "kinds", "settings", "start", "runs"):
        study.write_json(path, {key: value for key, value in sweep.items() if key != name})
        assert f"lacks '{name}': write it with helpers.methods.pruning.sweep" in refused(capsys, path)
    path.write_text("[]", encoding="utf-8")
    assert "lacks 'name'" in refused(capsys, path)


@pytest.mark.parametrize("penalty", [-1, -0.001, math.inf, math.nan])
def test_prices_below_zero(penalty):
    for name in ("penalties", "compared", "penalties_all", "scratch"):
        with pytest.raises(StudyError, match=r"The price of an open gate \(lambda\) must be a number from 0, not"):
            tiny_sweep.sweeps({f"pruning.{name}": [penalty]})


@pytest.mark.parametrize("penalty", ["a", None, [0.1]])
def test_prices_that_are_no_numbers(penalty):
    with pytest.raises(StudyError, match=r"The price of an open gate \(lambda\) must be a number from 0, not"):
        pruning.run_spec(tiny_sweep.settings(), {"training": {}}, ("encoder",), {"name": "l0", "penalty": penalty}, 1)


def test_a_method_that_there_is_not():
    with pytest.raises(StudyError, match="There is no pruning method 'magic': choose from l0, none, floor, cut, gradual"):
        pruning.run_spec(tiny_sweep.settings(), {"training": {}}, ("encoder",), {"name": "magic"}, 1)


def test_kinds_that_there_are_not():
    for kinds, said in ((("encoders",), "'encoders'"), (("encoder", "self"), "'self'"), ((), "''")):
        with pytest.raises(StudyError, match=f"There is no attention kind {said}: choose from encoder, decoder, cross"):
            pruning.run_spec(tiny_sweep.settings(), {"training": {}}, kinds, {"name": "none"}, 1)


def test_a_criterion_that_there_is_not(swept):
    said = "There is no way 'luck' to choose heads: write one of random, confidence, relevance,"
    with pytest.raises(StudyError, match=said):
        pruning.worth(swept["encoder"]["start"], 4, "luck", 0, ("encoder",))
    with pytest.raises(StudyError, match=said):  # before anything is trained
        tiny_sweep.sweeps({"pruning.criteria": ["luck"]})


def test_a_run_that_was_damaged_in_the_store(swept, tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs"
    for name in ("models", "pruned", "translations"):
        shutil.copytree(study.runs() / name, runs / name)
    monkeypatch.setenv("HEADS_RUNS", str(runs))
    folder = pruning.made(swept["all"]["runs"]["L0 0.001"])
    path = folder / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    study.write_json(tmp_path / "sweep.json", swept["all"])
    assert f"The stored file {path} is damaged: delete the folder {folder}" in refused(capsys, tmp_path / "sweep.json")


# --- pretrained models -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(swept, tmp_path_factory):
    """A folder as one downloads it: a tiny Marian model whose vocabulary is that of the corpus."""
    folder = tmp_path_factory.mktemp("tiny-marian")
    with pytest.MonkeyPatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        pairs = corpora.read_pairs(corpora.prepare(swept["encoder"]["start"]["corpus"]) / "train.jsonl")
    inner = tokens.learn_vocabulary([text for pair in pairs for text in (pair.source, pair.target)], 200)
    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    tokenizer.save_pretrained(folder)
    sizes = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 1), ("ffn_dim", 16))}
    more = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "d_model": 16, "max_position_embeddings": 128}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None, "bos_token_id": 1}
    torch.manual_seed(3)
    MarianMTModel(MarianConfig(vocab_size=len(tokenizer), **sizes, **more, **ids)).save_pretrained(folder)
    return folder


def pretrained_sweeps(checkpoint):
    few = {"pruning.penalties": [1.0], "pruning.penalties_all": [1.0], "pruning.compared": [1.0],
           "pruning.criteria": ["confidence"], "pruning.variants": False}  # fmt: skip
    return pruning.sweeps(tiny_sweep.settings(few), [tiny_sweep.NAME], 1, str(checkpoint))


def test_a_pretrained_model_is_known_by_its_files(checkpoint, tmp_path):
    start = subjects.pretrained(tiny_sweep.settings(), str(checkpoint), tiny_sweep.NAME, 1)
    assert start["pretrained"] == str(checkpoint) and start["seed"] == 1
    assert start["corpus"] == tiny_sweep.sweeps()["encoder"]["start"]["corpus"]
    assert start["files"] == [study.digest(checkpoint / "model.safetensors")]
    shutil.copytree(checkpoint, tmp_path / "copy")
    torch.manual_seed(4)
    MarianMTModel(MarianConfig.from_pretrained(checkpoint)).save_pretrained(tmp_path / "copy")
    other = subjects.pretrained(tiny_sweep.settings(), str(tmp_path / "copy"), tiny_sweep.NAME, 1)
    assert other["files"] != start["files"]
    assert subjects.pretrained(tiny_sweep.settings(), "Helsinki-NLP/opus-mt-en-ru", tiny_sweep.NAME, 1)["files"] == []


def test_a_pretrained_model_can_be_swept(checkpoint, swept):
    encoder, every = pretrained_sweeps(checkpoint)
    assert [encoder["name"], every["name"]] == [checkpoint.name] * 2
    assert list(encoder["runs"]) == ["control", "floor", "L0 1", "gradual 1", "confidence 1"]
    assert list(every["runs"]) == ["control", "L0 1"]  # how it was trained is not known: nothing from scratch
    assert json.loads(json.dumps(encoder)) == encoder
    for sweep in (encoder, every):
        pruning.make(sweep)
    subject = subjects.of(encoder["start"], encoder["name"])
    assert type(subject.model) is MarianMTModel and subject.spec is None and subject.name == checkpoint.name
    assert subject.source.size == subject.model.config.vocab_size and subject.target.target
    assert len(subject.pairs("test")) == 32
    assert counts(pruning.retained(encoder["runs"]["L0 1"]), "encoder") == 0
    assert sum(map(len, pruning.retained(every["runs"]["L0 1"]).values())) == 0
    before, after = subject.model.state_dict(), pruning.load(encoder["runs"]["control"]).state_dict()
    assert {n for n in before if not torch.equal(before[n], after[n])} <= {n for n in before if "encoder.layers" in n}
    assert set(pruning.one_shot(encoder).by) == {*pruning.CRITERIA, "random"}
