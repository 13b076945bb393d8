"""Pruning runs: what they depend on, what they train and keep, and bad input."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import MarianMTModel

from helpers import corpora, heads, measures, study
from helpers.heads import KINDS
from helpers.measures import removal
from helpers.methods import l0
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError
from tests.unit import tiny_injection, tiny_sweep

ENCODER = ["control", "floor", "L0 0.003", "L0 0.03", "L0 1", "L0's heads 0.03",
           "gradual 0.03", "random 0.03", "random 0.03 #2",
           "confidence 0.03", "L0, half-open start, 0.03", "L0, temperature 0.5, 0.03"]  # fmt: skip
EVERY = ["control", "L0 0.001", "L0 0.03", "scratch 0.03"]


@pytest.fixture(scope="module")
def swept():
    """The sweeps."""
    return tiny_sweep.sweeps()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests share a store, in which a run is made when the first test reads it."""
    tiny_sweep.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


def start_of(sweep):
    return subjects.of_spec(sweep["start"], sweep["name"])


def counts(kept, kind):
    return sum(len(left) for (k, _), left in kept.items() if k == kind)


def removed_of(run, whole):
    """Addresses of the heads that a run removed."""
    kept = l0.runs.retained(run)
    return {address for address in heads.index(whole) if address[2] not in kept[address[:2]]}


def of_l0(sweep):
    return {name: run for name, run in sweep["runs"].items() if run["method"]["name"] == "l0"}


# --- what there is to do ---------------------------------------------------------------------------------------------


def test_runs_of_a_sweep():
    sweeps = tiny_sweep.sweeps()
    plan = sweeps["all"]["start"]["training"] | {
        "steps": 8, "learning_rate": 5e-4, "warmup": 2, "cooldown": 0.3, "evaluate_every": 1, "clip": 0.0, "patience": 0,
        "average": 1,
    }  # fmt: skip
    assert [list(sweep["runs"]) for sweep in sweeps.values()] == [ENCODER, EVERY]
    for sweep, kinds in zip(sweeps.values(), (("encoder",), KINDS), strict=True):
        assert json.loads(json.dumps(sweep)) == sweep
        assert sweep["kinds"] == list(kinds) and sweep["start"] == subjects.spec(tiny_sweep.settings(), "ru-subtitles", 1)
        for name, run in sweep["runs"].items():
            wanted = {"start": sweep["start"], "kinds": sweep["kinds"], "dev": 16, "seed": 1, "training": plan}
            assert run == wanted | {"method": run["method"]}, name
    runs, like = sweeps["encoder"]["runs"], sweeps["encoder"]["runs"]["L0 0.03"]
    usual = {"name": "l0", "penalty": 0.03, "start": 0.5, "rate": 0.5, "temperature": 0.33}
    cut = {"name": "cut", "like": like, "few": 4}
    for name, method in {
        "L0 0.003": usual | {"penalty": 0.003}, "L0, half-open start, 0.03": usual | {"start": [-0.612, 0.612]},
        "L0, temperature 0.5, 0.03": usual | {"temperature": 0.5}, "random 0.03": cut | {"by": "random", "draw": 0},
        "random 0.03 #2": cut | {"by": "random", "draw": 1}, "confidence 0.03": cut | {"by": "confidence", "draw": 0},
        "gradual 0.03": {"name": "gradual", "like": like}, "L0's heads 0.03": {"name": "map", "like": like},
    }.items():  # fmt: skip
        assert runs[name]["method"] == method, name
    every = sweeps["all"]["runs"]
    assert every["scratch 0.03"]["method"] == {"name": "scratch", "like": every["L0 0.03"]}


def test_seeds_variants_and_peers_are_settings():
    runs = tiny_sweep.sweeps({"pruning.seeds": 3, "pruning.variants": False})["encoder"]["runs"]
    assert not any("half-open" in name or "temperature" in name for name in runs)
    assert [runs[f"L0 0.03{end}"]["seed"] for end in ("", " #2", " #3")] == [1, 1001, 2001]
    assert runs["gradual 0.03"]["method"]["like"] == runs["L0 0.03"]  # the first seed
    alone = tiny_sweep.sweeps({"pruning.compared": [], "pruning.scratch": []})
    assert [list(sweep["runs"]) for sweep in alone.values()] == [ENCODER[:5], EVERY[:3]]
    # prices that peers imitate are swept too, as when only the list of prices is overridden
    sweeps = tiny_sweep.sweeps({"pruning.penalties": [0.01], "pruning.penalties_all": [0.01]})
    for sweep, peer in zip(sweeps.values(), ("gradual 0.03", "scratch 0.03"), strict=True):
        names = list(sweep["runs"])
        assert names.index("L0 0.01") < names.index("L0 0.03") < names.index(peer)
        assert sweep["runs"][peer]["method"]["like"] == sweep["runs"]["L0 0.03"]


DEEP = "ru-news+deep-decoder"


def test_which_models_are_swept():
    def swept(profile, names=tuple(subjects.CONTROLLED), **changes):
        chosen = study.settings(profile, {f"pruning.{k}": v for k, v in changes.items()})
        return [(s["name"], len(s["kinds"]), {r["method"]["name"] for r in s["runs"].values()} & {"map", "scratch"})
                for s in l0.runs.sweeps(chosen, list(names), 1)]  # fmt: skip

    def named(*given, **changes):
        return [one[:2] for one in swept(*given, **changes)]

    assert named("tiny") == [("ru-news", 1), ("ru-subtitles", 1), ("ru-news", 3)]
    assert swept("laptop", rivals=1) == [("ru-news", 1, {"map"}), ("ru-subtitles", 1, set()), (DEEP, 3, {"scratch"})]
    found = named("laptop", languages=2, all_kinds=2)
    assert found == [("ru-news", 1), ("de-news", 1), ("ru-subtitles", 1), (DEEP, 3), ("de-news+deep-decoder", 3)]
    assert named("laptop", ["ru-news"], siblings=["deep-decoder"]) == [("ru-news", 1), (DEEP, 1), (DEEP, 3)]


def test_siblings():
    laptop, tiny = study.settings("laptop"), study.settings("tiny")
    assert (subjects.all_kinds(laptop, "ru-news"), subjects.all_kinds(tiny, "ru-news")) == (DEEP, "ru-news")
    assert subjects.siblings(laptop, "de-news") == ["de-news+deep-decoder"]
    assert subjects.title(DEEP) == "EN-RU news, deep decoder"
    deep, plain = (subjects.spec(laptop, name, 1) for name in (DEEP, "ru-news"))
    assert plain["model"]["decoder_layers"] == 1 and "decoder_layers" not in deep["model"]
    assert deep == plain | {"model": deep["model"], "training": plain["training"] | {"steps": 2000}}
    assert subjects.spec(laptop, f"{DEEP}+none", 1) == deep | {"closed": ["encoder"]}


SHOT = "removed at once"
OF_HEADS = (l0.runs.SCORES, l0.runs.ONE_SHOT)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"bootstrap": 7, "seeds": 5, "grouping.seeds": 5, "pruning.languages": 2}, [*ENCODER, "scores", SHOT]),
        ({"pruning.penalties": [0.03], "pruning.draws": 1, "pruning.variants": False}, [*ENCODER, "scores"]),
        ({"relevance": 5}, [name for name in ENCODER if "random" not in name and "confidence" not in name]),
        ({"pruning.steps": 9}, ["scores"]),
        ({"pruning.gate_rate": 0.1}, ["control", "floor", "scores"]),
        ({"pruning.start": 1.0}, ["control", "floor", "scores", "L0, half-open start, 0.03"]),
        ({"training.steps": 151}, []),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_keys_change_with_what_a_run_depends_on(changes, kept):
    before, after = ({name: l0.runs.run(run) for name, run in sweep["runs"].items()}
                     | {one.kind.name: one for one in l0.runs.recipes(sweep) if one.kind in OF_HEADS}
                     for sweep in (tiny_sweep.sweeps()["encoder"], tiny_sweep.sweeps(changes)["encoder"]))  # fmt: skip
    assert {name for name in before.keys() & after.keys() if before[name] == after[name]} == {*kept} & after.keys()


def test_what_is_read_of_a_sweep():
    """Every run, what its model and the one before pruning put out, and of encoder heads what is removed at once."""
    for which, sweep in tiny_sweep.sweeps().items():
        found = list(l0.runs.recipes(sweep))
        runs = [one.spec for one in found if one.kind == l0.runs.PRUNED]
        assert runs == list(sweep["runs"].values())
        assert [one.spec["run"] for one in found if one.kind == outputs.OUTPUTS] == [sweep["start"], *runs]
        more = OF_HEADS if which == "encoder" else ()
        assert tuple(one.kind for one in found if one.kind not in (l0.runs.PRUNED, outputs.OUTPUTS)) == more
        assert list(l0.runs.recipes(sweep, at_once=False)) == found[: len(found) - len(more)]


def test_what_runs_need():
    """The model that they start from with its text, the run whose heads they count, and what heads are chosen by."""
    sweeps = tiny_sweep.sweeps()
    start, runs = sweeps["encoder"]["start"], sweeps["encoder"]["runs"]
    whole = {corpora.recipe(start["corpus"]): True, training.trained(start): True}  # with its training text
    read = {corpora.recipe(start["corpus"]): False, training.trained(start): True}
    like, scores = {l0.runs.run(runs["L0 0.03"]): False}, {l0.runs.scored(start, 4): False}
    for name, needs in {
        "floor": whole, "L0 0.003": whole, "gradual 0.03": whole | like, "random 0.03": whole | like,
        "confidence 0.03": whole | like | scores,
    }.items():  # fmt: skip
        assert dict(l0.runs.run(runs[name]).needs) == needs, name
    gated = {l0.runs.run(run): False for run in of_l0(sweeps["encoder"]).values()}
    assert dict(l0.runs.removed_at_once(sweeps["encoder"]).needs) == read | scores | gated and len(gated) == 5
    assert dict(l0.runs.scored(start, 4).needs) == read
    scratch, own = sweeps["all"]["runs"]["scratch 0.03"], {training.trained(start): False}  # its shape alone counts
    assert dict(l0.runs.run(scratch).needs) == whole | own | {l0.runs.run(scratch["method"]["like"]): False}


# --- what a run trains -----------------------------------------------------------------------------------------------


def test_what_is_trained(swept):
    """With encoder heads in question the encoder's layers alone, otherwise everything; positions are sines."""
    for which, sweep in swept.items():
        before = start_of(sweep).model.state_dict()
        for name, run in sweep["runs"].items():
            model = l0.runs.opened(run)
            after = model.state_dict()
            trained = {n for n in before if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])}
            learned = {n for n, _ in model.named_parameters() if "embed_positions" not in n}
            unseen = {n for n in before if n.endswith("k_proj.bias")}  # by softmax
            if which == "encoder":
                layers = {n for n in before if n.startswith(("model.encoder.layers.", "model.encoder.layer_norm."))}
                # without heads from the start nobody reads the norm before them
                unseen |= {n for n in layers if name == "floor" and "self_attn_layer_norm" in n}
                assert layers - unseen <= trained <= layers, name
                gone = {n for n in layers if not after[n].numel()}
                assert len(gone) == (14 if name in ("floor", "L0 1") else 0), name  # q, k, v and out of two layers
            else:
                assert learned - unseen <= trained and "model.shared.weight" in learned, name
                assert not any("embed_positions" in n for n in trained)
            # what is stored is ready to use: gates are gone and leave nothing behind
            assert not model.training and all(p.requires_grad for n, p in model.named_parameters() if n in learned)
            assert after.keys() == before.keys() and l0.runs.retained(run) == heads.kept(model), name


# --- which heads are left --------------------------------------------------------------------------------------------


def test_heads_that_are_left(swept):
    whole = start_of(swept["encoder"]).model
    for sweep in swept.values():
        runs, every = sweep["runs"], len(heads.index(whole, tuple(sweep["kinds"])))
        kept = {name: l0.runs.retained(run) for name, run in runs.items()}
        assert kept["control"] == heads.kept(whole)
        number = {name: sum(counts(left, kind) for kind in sweep["kinds"]) for name, left in kept.items()}
        assert 0 < number["L0 0.03"] < every, "choose a price that closes some heads: the tests need it"
        for name, left in kept.items():
            assert all(counts(left, kind) == 8 for kind in set(KINDS) - set(sweep["kinds"])), name
            assert "like" not in runs[name]["method"] or number[name] == number["L0 0.03"], name
        assert number[f"L0 {min(run['method']['penalty'] for run in of_l0(sweep).values()):g}"] >= number["L0 0.03"]
        for twin in {"scratch 0.03", "L0's heads 0.03"} & kept.keys():
            assert kept[twin] == kept["L0 0.03"]
        assert all(number[name] == 0 for name in {"floor", "L0 1"} & kept.keys())


def test_l0_removes_the_heads_whose_gates_closed(swept):
    for sweep in swept.values():
        whole = start_of(sweep).model
        for name, run in of_l0(sweep).items():
            trace = pd.read_csv(l0.runs.run(run).results / "trace.csv", index_col=0, header=[0, 1, 2])
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
        worth = l0.runs.worth(sweep["start"], 4, l0.runs.called(method["by"]), method["draw"], ("encoder",))
        assert list(worth.index) == list(heads.index(whole, ("encoder",)))
        assert removed_of(runs[name], whole) == set(worth.nsmallest(count).index)
    assert l0.runs.retained(runs["random 0.03"]) != l0.runs.retained(runs["random 0.03 #2"])


def test_scores_are_those_of_the_measures(swept):
    subject, found = start_of(swept["encoder"]), l0.runs.scores(swept["encoder"]["start"], 4)
    assert list(found) == [l0.runs.called(name) for name in l0.runs.CRITERIA] and np.isfinite(found).all(axis=None)
    assert list(found.index) == list(heads.index(subject.model))
    few = subject.batches(4096, 4)
    for name, column in {
        "confidence": measures.confidence(subject.model, subject.batches()),
        "alpha_beta": measures.relevance(subject.model, few),
        "gradient, token": measures.importance(subject.model, few, per="token", norm=None),
        "gradient, example, by layer": measures.importance(subject.model, few, per="example", norm="layer"),
    }.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-5, err_msg=name)
    with heads.gate(subject.model, {found.index[5]: 0.0}):
        without = training.dev_loss(subject.model, few)
    assert found["leave-one-out"].iloc[5] == pytest.approx(without - training.dev_loss(subject.model, few), abs=1e-5)


def test_losses_are_those_of_the_stored_model(swept):
    """In half precision: what training ended with, but for rounding."""
    for sweep in swept.values():
        dev, rounded = start_of(sweep).batches(4 * 1024, 16), set()
        for name, run in sweep["runs"].items():
            folder = l0.runs.run(run).results
            history, losses = pd.read_csv(folder / "history.csv"), study.read_json(folder / "losses.json")
            gated = name in of_l0(sweep)
            assert history.step.tolist() == ([75, 150] * name.startswith("scratch") + list(range(1, 9)))
            assert losses["dev_loss"] == pytest.approx(training.dev_loss(l0.runs.opened(run), dev), abs=1e-7), name
            loss = history.dev_loss.iloc[-1]
            assert losses["dev_loss"] == pytest.approx(loss, abs=1e-3), name
            rounded.add(abs(losses["dev_loss"] - loss) > 1e-6)
            assert set(losses) == {"dev_loss", *["soft_dev_loss"] * gated}
            assert not gated or abs(losses["soft_dev_loss"] - loss) > 1e-6  # undecided gates
        assert True in rounded


def test_removing_at_once(swept):
    sweep = swept["encoder"]
    subject, shot = start_of(sweep), l0.runs.one_shot(sweep)
    ways = shot.groupby(["by", "draw"], sort=False).size()
    assert list(ways.index) == [(l0.runs.called(by), 0) for by in l0.runs.CRITERIA] + [("random", 0), ("random", 1)]
    # counted of the kinds in question, as `helpers.methods.l0.tables.quality` counts them: both stand on one axis
    kept = {counts(l0.runs.retained(run), "encoder") for run in of_l0(sweep).values()}
    assert set(ways) == {len(kept)} and set(shot.heads) == kept
    dev = list(subject.batches(first=16))
    for (by, draw), rows in shot.groupby(["by", "draw"]):
        worth = l0.runs.worth(sweep["start"], 4, by, draw, ("encoder",))
        for row, left in zip(rows.itertuples(), sorted(kept), strict=True):
            assert list(row.translations) == ["test"] and len(row.translations["test"]) == 8
            with heads.gate(subject.model, dict.fromkeys(removal.least(worth, 8 - left), 0.0)):
                assert row.dev_loss == pytest.approx(training.dev_loss(subject.model, dev), abs=1e-5)
    assert shot.dev_loss.nunique() > 5


def test_what_models_put_out(swept):
    run, subject = l0.runs.run(swept["encoder"]["runs"]["L0 1"]), start_of(swept["encoder"])
    sources = [pair.source for pair in subject.pairs("test")]
    wanted = training.translate(training.stored(run), sources, subject.source, subject.target, 1)
    assert outputs.read(run, "test", 1) == wanted != outputs.written_by(subject, "test", 1)


# --- bad input -------------------------------------------------------------------------------------------------------


def specified(method, kinds=("encoder",)):
    return l0.runs.run_spec(tiny_sweep.settings(), {"training": {}}, kinds, method, 1)


def laptops(changes, name="ru-news"):
    return subjects.spec(study.settings("laptop", changes), name, 1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *((lambda name=name: tiny_sweep.sweeps({f"pruning.{name}": [-0.001]}), "price")
          for name in ("penalties", "compared", "penalties_all", "scratch")),
        *((lambda price=price: specified({"name": "l0", "penalty": price}), "price") for price in (math.inf, math.nan, "a")),
        (lambda: specified({"name": "magic"}), "magic"),
        (lambda: specified({"name": "none"}, ("encoder", "self")), "'self'"),
        (lambda: specified({"name": "none"}, ()), "kind"),
        (lambda: tiny_sweep.sweeps({"pruning.criteria": ["luck"]}), "luck"),  # before anything is trained
        (lambda: l0.runs.worth(tiny_sweep.sweeps()["encoder"]["start"], 4, "luck", 0, ("encoder",)), "luck"),
        (lambda: laptops({}, "ru-news+shallow"), "deep-decoder"),
        (lambda: laptops({"pruning.siblings": ["shallow"]}), "shallow"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, said):
    with pytest.raises(StudyError, match=said):
        call()


# --- pretrained models -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(swept, tmp_path_factory):
    """A folder as one downloads it: a tiny Marian model whose vocabulary is that of the corpus."""
    sizes = {f"{side}_{name}": n for side in ("encoder", "decoder")
             for name, n in (("layers", 1), ("ffn_dim", 16), ("attention_heads", 2))}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        corpus, folder = swept["encoder"]["start"]["corpus"], tmp_path_factory.mktemp("tiny-marian")
        return tiny_injection.checkpoint(folder, corpus, "marian", 200, d_model=16, max_position_embeddings=128, **sizes)


def test_a_pretrained_model_is_known_by_its_files(checkpoint):
    settings = tiny_sweep.settings()
    start = subjects.pretrained(settings, str(checkpoint), tiny_sweep.NAME, 1)
    assert start["pretrained"] == str(checkpoint) and start["seed"] == 1
    assert start["corpus"] == tiny_sweep.sweeps()["encoder"]["start"]["corpus"]
    assert start["files"] == [study.digest(checkpoint / "model.safetensors")]
    assert subjects.pretrained(settings, "Helsinki-NLP/opus-mt-en-ru", tiny_sweep.NAME, 1)["files"] == []


def test_a_pretrained_model_can_be_swept(checkpoint, swept):
    few = {"pruning.penalties": [1.0], "pruning.penalties_all": [1.0], "pruning.compared": [1.0],
           "pruning.criteria": ["confidence"], "pruning.variants": False, "pruning.at_once": 2}  # fmt: skip
    encoder, every = l0.runs.sweeps(tiny_sweep.settings(few), [tiny_sweep.NAME], 1, str(checkpoint))
    assert [encoder["name"], every["name"]] == [checkpoint.name] * 2
    assert list(encoder["runs"]) == ["control", "floor", "L0 1", "L0's heads 1", "gradual 1", "confidence 1"]
    assert list(every["runs"]) == ["control", "L0 1"]  # how it was trained is not known: nothing from scratch
    assert json.loads(json.dumps(encoder)) == encoder
    for recipe in (*l0.runs.recipes(encoder), *l0.runs.recipes(every)):
        assert recipe.kind is outputs.OUTPUTS or corpora.recipe(encoder["start"]["corpus"]) in dict(recipe.needs)
    subject = subjects.of_spec(encoder["start"], encoder["name"])
    assert type(subject.model) is MarianMTModel and subject.run is None and subject.name == checkpoint.name
    assert subject.source.size == subject.model.config.vocab_size and len(subject.pairs("test")) == 32
    assert counts(l0.runs.retained(encoder["runs"]["L0 1"]), "encoder") == 0
    assert sum(map(len, l0.runs.retained(every["runs"]["L0 1"]).values())) == 0
    before, after = subject.model.state_dict(), l0.runs.opened(encoder["runs"]["control"]).state_dict()
    changed = {n for n in before if not torch.equal(before[n].half().float(), after[n])}
    assert changed and all("encoder.layers" in name for name in changed)
    assert set(l0.runs.one_shot(encoder).by) == {*map(l0.runs.called, l0.runs.CRITERIA), "random"}
