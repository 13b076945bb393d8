"""Pruning runs: what they depend on, what they train and keep, and bad input."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from helpers import corpora, heads, measures, study
from helpers.corpora import tokens
from helpers.heads import KINDS
from helpers.measures import removal
from helpers.methods import l0
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError
from tests.unit import tiny_sweep

ENCODER = ["control", "floor", "L0 0.003", "L0 0.03", "L0 1", "L0's heads 0.03",
           "gradual 0.03", "random 0.03", "random 0.03 #2",
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
    return subjects.of_spec(sweep["start"], sweep["name"])


def counts(kept, kind):
    return sum(len(left) for (k, _), left in kept.items() if k == kind)


def removed_of(run, whole):
    """Addresses of the heads that a run removed."""
    kept = l0.runs.retained(run)
    return {address for address in heads.index(whole) if address[2] not in kept[address[:2]]}


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
    for name, method in (("gradual 0.03", "gradual"), ("L0's heads 0.03", "map")):
        assert runs[name]["method"] == {"name": method, "like": runs["L0 0.03"]}
    scratch = sweeps["all"]["runs"]["scratch 0.03"]
    assert scratch["method"] == {"name": "scratch", "like": sweeps["all"]["runs"]["L0 0.03"]}


def test_plans_of_further_training():
    sweeps = tiny_sweep.sweeps()
    start = sweeps["all"]["start"]["training"]
    for run in [*sweeps["encoder"]["runs"].values(), *sweeps["all"]["runs"].values()]:
        assert run["training"] == start | {
            "steps": 8, "learning_rate": 5e-4, "warmup": 2, "cooldown": 0.3, "evaluate_every": 1, "clip": 0.0, "patience": 0,
            "average": 1,
        }  # fmt: skip


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


DEEP = "ru-news+deep-decoder"


def test_which_models_are_swept():
    names = list(subjects.CONTROLLED)

    def swept(profile, **changes):
        sweeps = l0.runs.sweeps(study.settings(profile, {f"pruning.{k}": v for k, v in changes.items()}), names, 1)
        return [(sweep["name"], len(sweep["kinds"])) for sweep in sweeps]

    assert swept("tiny") == [("ru-news", 1), ("ru-subtitles", 1), ("ru-news", 3)]
    assert swept("laptop") == [("ru-news", 1), ("ru-subtitles", 1), (DEEP, 3)]
    few = l0.runs.sweeps(study.settings("laptop", {"pruning.rivals": 1}), names, 1)
    assert [any(run["method"]["name"] == "map" for run in sweep["runs"].values()) for sweep in few] == [True, False, False]
    assert [any(run["method"]["name"] == "scratch" for run in sweep["runs"].values()) for sweep in few] == [False, False, True]
    found = swept("laptop", languages=2, all_kinds=2)
    assert found == [("ru-news", 1), ("de-news", 1), ("ru-subtitles", 1), (DEEP, 3), ("de-news+deep-decoder", 3)]


def test_siblings():
    laptop, tiny = study.settings("laptop"), study.settings("tiny")
    assert (subjects.all_kinds(laptop, "ru-news"), subjects.all_kinds(tiny, "ru-news")) == (DEEP, "ru-news")
    assert subjects.siblings(laptop, "de-news") == ["de-news+deep-decoder"]
    assert subjects.title(DEEP) == "EN-RU news, deep decoder" and subjects.title("ru-news") == "EN-RU news"
    deep, plain = (subjects.spec(laptop, name, 1) for name in (DEEP, "ru-news"))
    assert plain["model"]["decoder_layers"] == 1 and not {"decoder_layers", "decoder_heads"} & set(deep["model"])
    assert (deep["training"]["steps"], plain["training"]["steps"]) == (2000, 3000)
    same = {"corpus": plain["corpus"], "seed": 1, "closed": []}
    assert {name: deep[name] for name in same} == same
    same = {name: value for name, value in plain["training"].items() if name != "steps"}
    assert {name: deep["training"][name] for name in same} == same
    assert subjects.spec(laptop, f"{DEEP}+none", 1) == deep | {"closed": ["encoder"]}
    words = {"siblings": [{"name": "few-words", "changes": "vocabulary=200 train=300"}]}
    assert subjects.spec(study.settings("tiny", words), "ru-news+few-words", 1)["corpus"]["vocabulary"] == 200
    with pytest.raises(StudyError, match="deep-decoder"):
        subjects.spec(laptop, "ru-news+shallow", 1)
    with pytest.raises(StudyError, match="shallow"):
        study.settings("laptop", {"pruning.siblings": ["shallow"]})
    swept = l0.runs.sweeps(study.settings("laptop", {"pruning.siblings": ["deep-decoder"]}), ["ru-news"], 1)
    assert [(sweep["name"], len(sweep["kinds"])) for sweep in swept] == [("ru-news", 1), (DEEP, 1), (DEEP, 3)]


def keys(changes=None):
    """Keys of what is read of both sweeps by name, but for what models put out."""
    found = {}
    for which, sweep in tiny_sweep.sweeps(changes).items():
        found |= {f"{which}: {name}": l0.runs.run(run).key for name, run in sweep["runs"].items()}
        found |= {f"{which}: {one.kind.name}": one.key for one in l0.runs.recipes(sweep) if one.kind in OF_HEADS}
    return found


OF_HEADS, SHOT = (l0.runs.SCORES, l0.runs.ONE_SHOT), "removed at once"
LIKE = ["gradual", "L0's heads", "random", "confidence", "scratch", SHOT]
EACH = ["control", "floor", "L0", *LIKE]


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"bootstrap": 7, "truth": 1, "seeds": 5, "grouping.seeds": 5, "coreference.seeds": 5}, []),
        ({"pruning.languages": 2, "pruning.all_kinds": 1}, []),
        ({"pruning.penalties": [0.03], "pruning.criteria": ["random"], "pruning.draws": 1, "pruning.variants": False}, [SHOT]),
        ({"relevance": 5}, ["random", "confidence", "scores", SHOT]),
        ({"pruning.steps": 9}, EACH),
        ({"pruning.learning_rate": 0.1}, EACH),
        ({"pruning.dev": 17}, EACH),
        ({"pruning.gate_rate": 0.1}, ["L0", *LIKE]),
        ({"pruning.start": 1.0}, ["L0", *LIKE]),
        ({"pruning.temperature": 0.4}, ["L0", *LIKE]),
        ({"training.steps": 151}, [*EACH, "scores"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_keys_change_with_what_a_run_depends_on(changes, changed):
    before, after = keys(), keys(changes)
    assert len(set(before.values())) == len(before) == len(ENCODER) + len(EVERY) + len(OF_HEADS)
    variants = ["encoder: L0, half-open start, 0.03", "encoder: L0, temperature 0.5, 0.03"]
    own = {"pruning.start": variants[:1], "pruning.temperature": variants[1:]}
    for name in after:
        depends = any(name.split(": ")[1].startswith(method) for method in changed)
        depends &= name not in own.get(next(iter(changes)), ())  # these have a value of their own
        assert (before[name] != after[name]) == depends, name


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
    wanted = {
        **dict.fromkeys(("control", "floor", "L0 0.003", "L0, half-open start, 0.03"), whole),
        **dict.fromkeys(("gradual 0.03", "random 0.03", "random 0.03 #2"), whole | like),
        "confidence 0.03": whole | like | scores,
    }
    for name, needs in wanted.items():
        assert dict(l0.runs.run(runs[name]).needs) == needs, name
        assert dict(outputs.recipe(l0.runs.run(runs[name]), 1).needs) == {l0.runs.run(runs[name]): True}
    gated = {l0.runs.run(run): False for run in runs.values() if run["method"]["name"] == "l0"}
    assert dict(l0.runs.removed_at_once(sweeps["encoder"]).needs) == read | scores | gated and len(gated) == 5
    assert dict(l0.runs.scored(start, 4).needs) == read
    scratch = sweeps["all"]["runs"]["scratch 0.03"]
    assert dict(l0.runs.run(scratch).needs) == {**whole, training.trained(start): False} | {
        l0.runs.run(scratch["method"]["like"]): False
    }


# --- what a run trains -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENCODER)
def test_encoder_runs_leave_everything_but_the_encoders_layers_as_it_was(swept, name):
    before, after = start_of(swept["encoder"]).model.state_dict(), l0.runs.opened(swept["encoder"]["runs"][name]).state_dict()
    assert before.keys() == after.keys()
    trained = {n for n in before if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])}
    layers = {n for n in before if n.startswith(("model.encoder.layers.", "model.encoder.layer_norm."))}
    # softmax does not see a key's bias; without heads from the start nobody reads the norm before them
    free = {n for n in layers if "k_proj.bias" in n or (name == "floor" and "self_attn_layer_norm" in n)}
    assert layers - free <= trained <= layers
    assert len({n for n in layers if not after[n].numel()}) == (14 if name in ("floor", "L0 1") else 0)  # q, k, v and out


@pytest.mark.parametrize("name", EVERY)
def test_runs_over_all_kinds_train_everything(swept, name):
    before, model = start_of(swept["all"]).model.state_dict(), l0.runs.opened(swept["all"]["runs"][name])
    trained = {n for n, p in model.named_parameters() if before[n].shape != p.shape or not torch.equal(before[n], p)}
    learned = {n for n, _ in model.named_parameters() if "embed_positions" not in n and not n.endswith("k_proj.bias")}
    assert learned <= trained and "model.shared.weight" in learned  # positions are sines, which nobody learns
    assert not any("embed_positions" in n for n in trained)


def test_stored_models_are_ready_to_use(swept):
    for sweep in swept.values():
        for name, run in sweep["runs"].items():
            model = l0.runs.opened(run)
            assert not model.training and all(p.requires_grad or "embed_positions" in n for n, p in model.named_parameters())
            # gates are gone and leave nothing behind
            assert not any("scaled" in n or "kept" in n or "open" in n for n in model.state_dict()), name
            assert l0.runs.retained(run) == heads.kept(model), name


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
        assert removed_of(runs[name], whole) == set(removal.least(worth, count)) == set(worth.nsmallest(count).index)
    assert l0.runs.retained(runs["random 0.03"]) != l0.runs.retained(runs["random 0.03 #2"])


def test_random_draws(swept):
    start = swept["encoder"]["start"]
    draws = [l0.runs.worth(start, 4, "random", draw, KINDS) for draw in (0, 0, 1)]
    assert draws[0].equals(draws[1]) and draws[0].nunique() == 24 and not np.isclose(draws[0], draws[2]).any()
    few = l0.runs.worth(start, 4, "random", 0, ("encoder", "cross"))
    assert list(few.index) == [address for address in draws[0].index if address[0] != "decoder"]


def test_scores_are_those_of_the_measures(swept):
    subject, found = start_of(swept["encoder"]), l0.runs.scores(swept["encoder"]["start"], 4)
    assert list(found) == [l0.runs.called(name) for name in l0.runs.CRITERIA] and list(found.index) == list(
        heads.index(subject.model)
    )
    assert np.isfinite(found).all(axis=None)
    few = subject.batches(4096, 4)
    wanted = {
        "confidence": measures.confidence(subject.model, subject.batches()),
        "alpha_beta": measures.relevance(subject.model, few),
        "gradient, token": measures.importance(subject.model, few, per="token", norm=None),
        "gradient, example, by layer": measures.importance(subject.model, few, per="example", norm="layer"),
    }
    for name, column in wanted.items():
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
            scratch, gates = run["method"]["name"] == "scratch", run["method"]["name"] == "l0"
            assert history.step.tolist() == ([75, 150] * scratch + list(range(1, 9)))
            assert losses["dev_loss"] == pytest.approx(training.dev_loss(l0.runs.opened(run), dev), abs=1e-7), name
            loss = history.dev_loss.iloc[-1]
            assert losses["dev_loss"] == pytest.approx(loss, abs=1e-3), name
            rounded.add(abs(losses["dev_loss"] - loss) > 1e-6)
            assert set(losses) == {"dev_loss", *["soft_dev_loss"] * gates}
            assert not gates or abs(losses["soft_dev_loss"] - loss) > 1e-6  # undecided gates
        assert True in rounded


def test_removing_at_once(swept):
    sweep = swept["encoder"]
    subject, shot = start_of(sweep), l0.runs.one_shot(sweep)
    ways = shot.groupby(["by", "draw"], sort=False).size()
    assert list(ways.index) == [(l0.runs.called(by), 0) for by in l0.runs.CRITERIA] + [("random", 0), ("random", 1)]
    # counted of the kinds in question, as `helpers.methods.l0.tables.quality` counts them: both stand on one axis
    kept = {counts(l0.runs.retained(run), "encoder") for run in sweep["runs"].values() if run["method"]["name"] == "l0"}
    assert set(ways) == {len(kept)} and set(shot.heads) == kept
    dev = list(subject.batches(first=16))
    for (by, draw), rows in shot.groupby(["by", "draw"]):
        worth = l0.runs.worth(sweep["start"], 4, by, draw, ("encoder",))
        for row, left in zip(rows.itertuples(), sorted(kept), strict=True):
            assert list(row.translations) == ["test"] and len(row.translations["test"]) == 32
            with heads.gate(subject.model, dict.fromkeys(removal.least(worth, 8 - left), 0.0)):
                assert row.dev_loss == pytest.approx(training.dev_loss(subject.model, dev), abs=1e-5)
    assert shot.dev_loss.nunique() > 5


def test_l0s_own_heads_are_cut(swept):
    run = swept["encoder"]["runs"]["L0's heads 0.03"]
    like = run["method"]["like"]
    assert l0.runs.retained(run) == l0.runs.retained(like) and 0 < counts(l0.runs.retained(run), "encoder") < 8


def test_what_models_put_out(swept):
    run, subject = l0.runs.run(swept["encoder"]["runs"]["L0 1"]), start_of(swept["encoder"])
    sources = [pair.source for pair in subject.pairs("test")]
    wanted = training.translate(training.stored(run), sources, subject.source, subject.target, 1)
    assert outputs.read(run, "test", 1) == wanted != outputs.written_by(subject, "test", 1)


def test_other_seeds_are_other_runs(swept):
    run = swept["encoder"]["runs"]["L0 0.03"]
    first, other = ((l0.runs.run(one).results / "trace.csv").read_bytes() for one in (run, run | {"seed": 1001}))
    assert first != other


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [-1, -0.001, math.inf, math.nan])
def test_prices_below_zero(penalty):
    for name in ("penalties", "compared", "penalties_all", "scratch"):
        with pytest.raises(StudyError, match="price of an open gate"):
            tiny_sweep.sweeps({f"pruning.{name}": [penalty]})


@pytest.mark.parametrize("penalty", ["a", None, [0.1]])
def test_prices_that_are_no_numbers(penalty):
    with pytest.raises(StudyError, match="price of an open gate"):
        l0.runs.run_spec(tiny_sweep.settings(), {"training": {}}, ("encoder",), {"name": "l0", "penalty": penalty}, 1)


def test_a_method_that_there_is_not():
    with pytest.raises(StudyError, match="magic"):
        l0.runs.run_spec(tiny_sweep.settings(), {"training": {}}, ("encoder",), {"name": "magic"}, 1)


def test_kinds_that_there_are_not():
    for kinds, said in ((("encoders",), "'encoders'"), (("encoder", "self"), "'self'"), ((), "''")):
        with pytest.raises(StudyError, match=f"attention kind {said}"):
            l0.runs.run_spec(tiny_sweep.settings(), {"training": {}}, kinds, {"name": "none"}, 1)


def test_a_criterion_that_there_is_not(swept):
    with pytest.raises(StudyError, match="luck"):
        l0.runs.worth(swept["encoder"]["start"], 4, "luck", 0, ("encoder",))
    with pytest.raises(StudyError, match="luck"):  # before anything is trained
        tiny_sweep.sweeps({"pruning.criteria": ["luck"]})


# --- pretrained models -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(swept, tmp_path_factory):
    """A folder as one downloads it: a tiny Marian model whose vocabulary is that of the corpus."""
    folder = tmp_path_factory.mktemp("tiny-marian")
    with pytest.MonkeyPatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        pairs = corpora.read_pairs(corpora.file(corpora.prepare(swept["encoder"]["start"]["corpus"]), "train"))
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
    return l0.runs.sweeps(tiny_sweep.settings(few), [tiny_sweep.NAME], 1, str(checkpoint))


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
    assert list(encoder["runs"]) == ["control", "floor", "L0 1", "L0's heads 1", "gradual 1", "confidence 1"]
    assert list(every["runs"]) == ["control", "L0 1"]  # how it was trained is not known: nothing from scratch
    assert json.loads(json.dumps(encoder)) == encoder
    for recipe in (*l0.runs.recipes(encoder), *l0.runs.recipes(every)):
        assert recipe.kind is outputs.OUTPUTS or corpora.recipe(encoder["start"]["corpus"]) in dict(recipe.needs)
        study.make(recipe)
    subject = subjects.of_spec(encoder["start"], encoder["name"])
    assert type(subject.model) is MarianMTModel and subject.run is None and subject.name == checkpoint.name
    assert subject.source.size == subject.model.config.vocab_size and subject.target.target
    assert len(subject.pairs("test")) == 32
    assert counts(l0.runs.retained(encoder["runs"]["L0 1"]), "encoder") == 0
    assert sum(map(len, l0.runs.retained(every["runs"]["L0 1"]).values())) == 0
    before, after = subject.model.state_dict(), l0.runs.opened(encoder["runs"]["control"]).state_dict()
    changed = {n for n in before if not torch.equal(before[n].half().float(), after[n])}
    assert changed and all("encoder.layers" in name for name in changed)
    assert set(l0.runs.one_shot(encoder).by) == {*map(l0.runs.called, l0.runs.CRITERIA), "random"}
