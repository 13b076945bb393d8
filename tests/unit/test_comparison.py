"""Jobs of the comparison: what they are, what head tables gain, which heads each criterion removes, bad input."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, measures, study, subjects, training
from helpers.corpora import tokens
from helpers.methods import comparison, comparison_tables, coreference, curves, grouping, injection, pruning
from helpers.methods.comparison import CLOSES, SUMMARIZER, SURVIVAL, l1_gates, voted
from helpers.study import StudyError
from tests.unit import tiny_comparison, tiny_injection, tiny_sweep
from tests.unit.tiny_comparison import PRICE, SEED
from tests.unit.tiny_models import tiny_batch, tiny_model

NAMES = ["ru-news", "ru-subtitles"]
ENCODER = ("encoder",)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A job, all of which is in the store."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_comparison.go_to(tmp_path_factory.getbasetemp(), patch)
        yield tiny_comparison.make()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests look at the store that the job was made in."""
    tiny_comparison.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


@pytest.fixture
def subject(job):
    """The job's model with its text."""
    return subjects.of(job["sweep"]["start"], job["name"])


def column(values):
    """Values of the encoder's heads."""
    index = [("encoder", layer, head) for layer in range(2) for head in range(4)]
    return pd.Series(values, pd.MultiIndex.from_tuples(index, names=["kind", "layer", "head"]))


# --- what there is to do ---------------------------------------------------------------------------------------------


def every(changes=None):
    """All jobs of two models with everything that profile tiny asks for, by name, kinds and seed."""
    found = comparison.jobs(study.settings("tiny", changes), NAMES, SEED)
    assert json.loads(json.dumps(found)) == found
    return {(job["name"], len(job.get("sweep", {"kinds": ""})["kinds"]), job["seed"]): job for job in found}


def keys(job):
    """Keys of everything that a job makes."""
    runs = job["sweep"]["runs"] | {f"contest: {name}": run for name, run in comparison.contest(job).items()}
    return {"table": study.key(comparison._described(job))} | {name: study.key(run) for name, run in runs.items()}


def test_jobs_of_several_seeds():
    found = every({"seeds": 3})
    places = [("ru-news", 1), ("ru-subtitles", 1), ("ru-news", 3)]
    sweeps = [(name, kinds, seed) for seed in (1, 2, 3) for name, kinds in places]
    assert list(found) == [*sweeps, *((SUMMARIZER, 0, seed) for seed in (1, 2, 3))]
    for (name, _, seed), job in found.items():
        if name == SUMMARIZER:
            assert job["run"]["seed"] == seed and "sweep" not in job
        else:
            assert job["sweep"]["seed"] == seed and job["sweep"]["start"] == subjects.spec(study.settings("tiny"), name, seed)
    assert found["ru-news", 1, 2]["cost"] > found["ru-subtitles", 1, 2]["cost"] > 0


def test_the_first_seed_is_the_same_however_many_there_are():
    one, three = every({"seeds": 1}), every({"seeds": 3})
    assert list(one) == [place for place in three if place[2] == SEED]
    for place, job in one.items():
        if "sweep" in job:
            assert keys(job) == keys(three[place]), place
        else:
            assert study.key(comparison._described(job)) == study.key(comparison._described(three[place]))


def test_the_sweeps_of_the_first_seed_are_those_of_notebook_3():
    settings = study.settings("tiny")
    wanted = {(sweep["name"], len(sweep["kinds"])): sweep["runs"] for sweep in pruning.sweeps(settings, NAMES, SEED)}
    assert {place[:2]: job["sweep"]["runs"] for place, job in every().items() if place[2] == SEED and "sweep" in job} == wanted


def test_further_seeds_make_less():
    found = every()
    places = (("ru-news", 1, 1), ("ru-news", 1, 2), ("ru-subtitles", 1, 2))
    first, again, second = (found[place]["sweep"]["runs"] for place in places)
    assert any("half-open" in name for name in first) and "scratch 0.2" in found["ru-news", 3, 1]["sweep"]["runs"]
    assert list(again) == [name for name in first if not name.startswith("L0,")]  # no variants, but every criterion
    assert list(second) == ["control", "floor", "L0 0.01", "L0 0.2"]
    assert list(found["ru-news", 3, 2]["sweep"]["runs"]) == ["control", "L0 0.2"]  # nothing from scratch
    assert list(comparison.contest(found["ru-news", 1, 2])) == ["attnlrp 0.2", "L1 gates 0.2"]
    assert comparison.contest(found["ru-subtitles", 1, 2]) == comparison.contest(found["ru-news", 3, 2]) == {}


def test_the_summarizer_can_be_left_out():
    assert not any(name == SUMMARIZER for name, _, _ in every({"coreference.summarization.steps": 0}))


def test_keys_of_head_tables_change_with_what_they_depend_on():
    def table(**changes):
        return study.key(comparison._described(tiny_comparison.job({f"comparison.{name}": v for name, v in changes.items()})))

    plain = table()
    assert table(criteria=["cp"], matched=3, dialogues=2) == plain
    changed = {table(votes=300), study.key(comparison._described(tiny_comparison.job({"relevance": 5})))}
    changed.add(study.key(comparison._described(tiny_comparison.job({"comparison.l1.steps": 7}))))
    assert len(changed | {plain}) == 4


def test_contest_runs_train_as_the_runs_of_the_sweep():
    job = tiny_comparison.job()
    found, like = comparison.contest(job), job["sweep"]["runs"]["random 0.03"]
    assert list(found) == ["votes 0.03", "syntactic 0.03"]
    for name, run in found.items():
        assert {part: run[part] for part in ("start", "kinds", "training", "dev", "seed")} == {
            part: like[part] for part in ("start", "kinds", "training", "dev", "seed")
        }
        assert (run["method"]["like"], run["method"]["by"]) == (like["method"]["like"], name.split()[0])


# --- head tables -----------------------------------------------------------------------------------------------------


def test_head_table_of_a_swept_model(job, subject):
    table, halves, seconds = comparison.tables(job)
    assert table.index.equals(heads.index(subject.model)) and halves.index.names == ["half", "kind", "layer", "head"]
    few = list(subject.batches(2048, 4))
    text = {"arcs": measures.functions.arcs_of(subject.dev), "counts": subject.counts, "links": subject.links}
    wanted = measures.head_table(subject.model, list(subject.batches(400)), few, **text)
    assert list(table) == [*wanted, "votes", "L1 gates", SURVIVAL, CLOSES]
    pd.testing.assert_frame_equal(table[list(wanted)], wanted, check_dtype=False, rtol=1e-6)
    assert set(seconds) == {*measures.table.numeric(wanted), "votes", "L1 gates"}
    pd.testing.assert_series_equal(table.votes, voted(subject.model, subject.batches(400)), rtol=1e-6)
    for half in (0, 1):
        part = subject.encoded
        part = tokens.Encoded(*([side[row] for row in (half, half + 2)] for side in (part.source, part.target, part.words)))
        alone = measures.head_table(subject.model, tokens.Batches(part, subject.source.pad, 2048))
        pd.testing.assert_frame_equal(halves.loc[half], measures.table.numeric(alone), rtol=1e-6)


def test_what_a_sweep_says_of_heads(job):
    table = comparison.tables(job)[0]
    survival = curves.survival(job["sweep"])
    assert table[SURVIVAL].dropna().equals(survival) and len(survival) == 8
    closed = {}
    for run in curves.l0_runs(job["sweep"]):
        last = curves.gates(run)[1].iloc[-1]
        closed[run["method"]["penalty"]] = set(last.index[last <= 0])  # log alpha of a gate that is 0 in the end
    for head in survival.index:
        prices = [price for price in sorted(closed) if all(head in closed[p] for p in closed if p >= price)]
        assert table[CLOSES][head] == (prices[0] if prices else np.inf), head
    assert table[CLOSES].nunique() > 2 and table[CLOSES].isna().sum() == 16


def test_a_gate_that_opens_again_closes_at_the_higher_price(tmp_path, monkeypatch):
    """Closed at every price above, not only at one below."""
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    values = {0.2: [-5, 5, 5, -5, 5], 0.3: [-5, -5, -5, -5, 5], 0.1: [-5, -5, 5, -5, 5]}
    columns = pd.MultiIndex.from_tuples([("encoder", 0, head) for head in range(5)], names=["kind", "layer", "head"])
    usual, runs = {"start": 2.0, "temperature": 0.33}, {}
    for price, last in values.items():
        trace = pd.DataFrame([[5.0] * 5, last], columns=columns)
        run = {"method": {"name": "l0", "penalty": price, **usual}, "seed": 1}
        study.make(study.runs(), "pruned", run, lambda folder, trace=trace: trace.to_csv(folder / "trace.csv"))
        runs[f"L0 {price}"] = run
    found = comparison.closes_at({"runs": runs, "seed": 1, "settings": {"pruning": usual}})
    assert found.to_dict() == dict(zip(columns, [0.1, 0.3, 0.3, 0.1, np.inf], strict=True)) and found.name == CLOSES


def test_head_table_of_a_summarizer(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_DATA", str(tmp_path / "data"))
    changes = {"seeds": 1, "comparison.dialogues": 5}
    job = comparison.jobs(tiny_injection.settings(changes), [tiny_sweep.NAME], SEED)[-1]
    assert job["name"] == SUMMARIZER and comparison_tables.called(job) == "dialogue summarizer"
    comparison.make(job)
    table, halves, seconds = comparison.tables(job)
    model, task = injection.load(job["run"]), injection.task(job["run"])
    assert job["run"] == injection.Rows(tiny_injection.settings(), injection.tasks.SUMMARIZATION, SEED).plain()
    few, links = task.held_out(1024, 5, model.device), injection.links_of(job["run"], job["links"], ("dev",))[0]
    assert table.index.equals(heads.index(model)) and set(table.index.unique("kind")) == set(heads.KINDS)
    assert not {"syntactic", "rare", "alignment", "L1 gates", SURVIVAL} & set(table) and "probing" in seconds
    probed = coreference.probing(model, few, links)
    np.testing.assert_allclose(table.probing.dropna(), probed, rtol=1e-6)
    assert table.probing.dropna().index.equals(heads.index(model, "encoder"))
    np.testing.assert_allclose(table.cp, measures.relevance(model, few, "cp", "ratio"), rtol=1e-5)
    assert set(halves.index.unique("half")) == {0, 1}


# --- votes -----------------------------------------------------------------------------------------------------------


def test_votes_are_shares_of_batches():
    model, batches = tiny_model("marian"), [tiny_batch("marian", seed) for seed in range(5)]
    found = voted(model, batches)
    assert found.index.equals(heads.index(model)) and found.name == "votes"
    wins = pd.Series(0.0, found.index)
    for batch in batches:
        alone = grouping.ballot(model, [batch], "V", 2)
        for site, won in zip(alone.places, alone.votes, strict=True):
            for head in won.nonzero().flatten().tolist():
                wins[site.kind, site.layer, head] += 1
    np.testing.assert_allclose(found, wins / 5)
    np.testing.assert_allclose(found.groupby(level=["kind", "layer"]).sum(), 2)  # one head of each group
    assert found.between(0, 1, inclusive="neither").any()


def test_no_votes_where_layers_are_as_small_as_the_groups():
    batches = [tiny_batch("marian")]
    small = tiny_model("marian", decoder_attention_heads=2)
    found = voted(small, batches)
    assert found["encoder"].notna().all() and found[["decoder", "cross"]].isna().all()
    assert found["encoder"].equals(voted(small, batches, 2)["encoder"]) and voted(small, batches, 4).isna().all()
    ragged = heads.remove(tiny_model("marian"), [("encoder", 1, 0), ("encoder", 1, 2)])
    found = voted(ragged, batches)
    assert found["encoder"].isna().all() and found[["decoder", "cross"]].notna().all()


# --- gates under a price ---------------------------------------------------------------------------------------------


def one_batch(number):
    return [tiny_batch("marian", 1)]


def silenced(address=("encoder", 1, 2)):
    """A tiny model in which one head's columns of the output projection are zero."""
    model = tiny_model("marian")
    for site in heads.sites(model):
        if (site.kind, site.layer) == address[:2]:
            with torch.no_grad():
                site.projection("out").weight[:, address[2] * site.head_dim : (address[2] + 1) * site.head_dim] = 0
    return model


def test_a_head_that_says_nothing_is_closed_at_the_rate_of_adam():
    """Its gradient is the price alone, and Adam takes steps of its rate along a gradient that stays."""
    address = ("encoder", 1, 2)
    found = l1_gates(silenced(address), one_batch, 10, 0.1, 0.01)
    assert found[address] == pytest.approx(0, abs=1e-5) and found.name == "L1 gates"
    assert l1_gates(silenced(address), one_batch, 4, 0.1, 0.01)[address] == pytest.approx(0.6, abs=1e-5)
    assert l1_gates(silenced(address), one_batch, 4, 0.1, 0.0)[address] == 1


def test_first_step_against_the_slope_of_loss_and_price():
    model, batch = tiny_model("marian"), tiny_batch("marian", 1)
    found = l1_gates(model, one_batch, 1, 0.05, 0.02)
    assert found.index.equals(heads.index(model))
    for address in found.index[::3]:
        losses = []
        for value in (0.999, 1.001):
            with heads.gate(model, {address: value}), torch.no_grad():
                losses.append(float(training.cross_entropy(model.double(), batch, 0.0)))
        slope = (losses[1] - losses[0]) / 0.002 + 0.02
        model.float()
        assert found[address] == pytest.approx(1 - 0.05 * np.sign(slope), abs=1e-4), address


def test_needed_heads_stay_open():
    """Labels are what the model itself finds likely: without a head that matters it would find other ones."""
    model, batch = silenced(), tiny_batch("marian", 1)
    with torch.no_grad():
        said = model(**batch).logits.argmax(-1)
    batch["labels"] = said.masked_fill(batch["labels"] == -100, -100)
    found = l1_gates(model, lambda number: [batch], 12, 0.08, 0.01)
    needed = measures.importance(model, [batch], per="example", norm=None).idxmax()
    assert found[needed] > 0.7 > 0.1 > found["encoder", 1, 2]


def test_gates_leave_the_model_as_it_was():
    model = tiny_model("marian").train()
    model.model.encoder.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    l1_gates(model, one_batch, 2, 0.1, 0.01)
    assert {name: parameter.requires_grad for name, parameter in model.named_parameters()} == flags
    assert all(parameter.grad is None for parameter in model.parameters()) and model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_gates_are_trained_without_dropout():
    model = tiny_model("marian")
    plain = l1_gates(model, one_batch, 3, 0.1, 0.01)
    assert model.config.dropout > 0 and l1_gates(model.train(), one_batch, 3, 0.1, 0.01).equals(plain)


def test_batches_that_run_out_are_begun_anew():
    asked = []

    def epoch(number):
        asked.append(number)
        return [tiny_batch("marian", number), tiny_batch("marian", 10 + number)]

    found = l1_gates(tiny_model("marian"), epoch, 5, 0.05, 0.01)
    assert asked == [0, 1, 2]
    order = [0, 10, 1, 11, 2]
    alone = l1_gates(tiny_model("marian"), lambda _: [tiny_batch("marian", seed) for seed in order], 5, 0.05, 0.01)
    assert found.equals(alone)


def test_gates_that_cannot_be_trained():
    model = tiny_model("marian")
    flags = [parameter.requires_grad for parameter in model.parameters()]
    for steps in (0, -1):
        with pytest.raises(StudyError, match=f"Gates need 1 training step or more, not {steps}: raise comparison.l1"):
            l1_gates(model, one_batch, steps, 0.1, 0.01)
    with pytest.raises(StudyError, match="no batches to train gates on"):
        l1_gates(model, lambda number: [], 3, 0.1, 0.01)
    assert [parameter.requires_grad for parameter in model.parameters()] == flags, "it trains after an error as before"


# --- heads removed by every criterion --------------------------------------------------------------------------------


def test_worth_is_the_column_of_the_head_table(job):
    described, table = comparison._described(job), comparison.tables(job)[0]
    encoder = table.index.isin(ENCODER, level="kind")
    for by in ("votes", "L1 gates", "leave-one-out"):
        assert comparison.worth(described, ENCODER, by).equals(table[by][encoder])
    alignment = comparison.worth(described, heads.KINDS, "alignment")
    cross = alignment.index.isin(["cross"], level="kind")
    assert np.isneginf(alignment[~cross]).all() and alignment[cross].equals(table.alignment[cross])


def test_random_draws(job):
    described = comparison._described(job)
    draws = [comparison.worth(described, ENCODER, "random", draw) for draw in (0, 1, 0)]
    assert draws[0].equals(draws[2]) and not np.isclose(draws[0], draws[1]).any() and draws[0].nunique() == 8


def test_a_column_that_there_is_not(job):
    said = "The head table has no column 'luck' to choose heads by: write one of alpha_beta, attnlrp, cp, .*votes, L1 gates"
    with pytest.raises(StudyError, match=said):
        comparison.worth(comparison._described(job), ENCODER, "luck")


def test_removed_at_once(job, subject):
    found, described = comparison.at_once(job), comparison._described(job)
    assert list(found) == ["criterion", "draw", "heads", "change"]
    numbers = sorted({len(encoder_heads(pruning.retained(run))) for run in curves.l0_runs(job["sweep"])})
    assert len(numbers) == 3
    ways = found.groupby(["criterion", "draw"], sort=False)
    columns = measures.table.numeric(comparison.measured(described)[0])
    shown = [name for name in columns if columns.loc[["encoder"], name].nunique() > 1]
    assert list(ways.groups) == [*((name, 0) for name in shown), ("random", 0), ("random", 1)]
    assert {"votes", "L1 gates", "syntactic"} <= set(shown) and not {"alignment", "rare"} & set(shown)
    dev = list(subject.batches(first=16))
    whole = training.dev_loss(subject.model, dev)
    for (by, draw), rows in ways:
        assert rows["heads"].tolist() == numbers
        worth = comparison.worth(described, ENCODER, by, draw)
        for row in rows.itertuples():
            with heads.gate(subject.model, dict.fromkeys(worth.sort_values(kind="stable").index[: 8 - row.heads], 0.0)):
                assert row.change == pytest.approx(training.dev_loss(subject.model, dev) - whole, abs=1e-5), (by, row)
    assert found.change.nunique() > 8


def test_heads_removed_at_once_are_the_least_by_a_given_column(job, subject):
    given = column([5.0, 3, 8, 1, 7, 2, 6, 4]).to_frame("given").reindex(heads.index(subject.model))
    own = {**job, "few": "by hand"}

    def put(folder):
        given.to_csv(folder / "heads.csv", na_rep="nan")
        pd.concat({0: given}, names=["half"]).to_csv(folder / "halves.csv")
        study.write_json(folder / "seconds.json", {})

    study.make(study.runs(), "tables", comparison._described(own), put)
    found = comparison.at_once(own)
    assert found.criterion.tolist() == ["given"] * 3 + ["random"] * 6
    dev, order = list(subject.batches(first=16)), given.given.dropna().sort_values().index
    whole = training.dev_loss(subject.model, dev)
    assert list(order[:2]) == [("encoder", 0, 3), ("encoder", 1, 1)]
    for row in found[found.criterion == "given"].itertuples():
        removed = heads.remove(deepcopy(subject.model), order[: 8 - row.heads])
        assert row.change == pytest.approx(training.dev_loss(removed, dev) - whole, abs=1e-6)
    assert found.change[:3].nunique() == 3


def encoder_heads(kept):
    """Addresses of the encoder heads among those that were kept."""
    return {(kind, layer, head) for (kind, layer), left in kept.items() for head in left if kind == "encoder"}


def test_contest_runs_remove_as_many_heads_as_l0_and_train(job, subject):
    every_head = set(heads.index(subject.model, "encoder"))
    like = encoder_heads(pruning.retained(job["sweep"]["runs"][f"L0 {PRICE:g}"]))
    assert 0 < len(like) < 8
    for name, run in comparison.contest(job).items():
        folder = comparison.made(run)
        model = heads.load(folder / "model")
        kept = encoder_heads(heads.kept(model))
        worth = comparison.worth(comparison._described(job), ENCODER, run["method"]["by"])
        assert len(kept) == len(like), name
        assert every_head - kept == set(worth.sort_values(kind="stable").index[: 8 - len(like)]), name
        history = pd.read_csv(folder / "history.csv")
        assert history.step.tolist() == list(range(1, 9))
        dev = list(subject.batches(4 * 1024, 16))
        assert training.dev_loss(model, dev) == pytest.approx(history.dev_loss.iloc[-1], abs=2e-5)
        cut = heads.remove(deepcopy(subject.model), every_head - kept)
        trained = {n for n, p in cut.named_parameters() if not torch.equal(p, model.get_parameter(n))}
        assert trained and all(name.startswith("model.encoder.layer") for name in trained)  # all else is frozen
        assert all(p.requires_grad or "embed_positions" in n for n, p in model.named_parameters())
        wanted = training.translate(model, [p.source for p in subject.pairs("test")], subject.source, subject.target, 1)
        assert comparison.translations(run, "test", 1) == wanted


def test_contest_runs_train_to_the_letter_as_those_of_the_sweep(job):
    """The random draw of both removes the same heads: what is trained then is the same model."""
    run = next(iter(comparison.contest(job).values()))
    run = run | {"method": run["method"] | {"by": "random"}}
    like = job["sweep"]["runs"][f"random {PRICE:g}"]
    own, other = (pd.read_csv(folder / "history.csv") for folder in (comparison.made(run), pruning.made(like)))
    assert own.drop(columns="seconds").equals(other.drop(columns="seconds"))
    model, wanted = heads.load(comparison.made(run) / "model"), pruning.load(like)
    assert heads.kept(model) == heads.kept(wanted)
    assert all(torch.equal(value, wanted.state_dict()[name]) for name, value in model.state_dict().items())


def test_a_made_job_is_only_read(job, monkeypatch):
    def files():
        return {file: file.stat().st_mtime_ns for file in study.runs().rglob("*") if file.is_file()}

    before = files()
    assert sum(file.parent.parent.name == "contest" and file.name == "made.json" for file in before) >= 2
    for name in ("fit", "translate"):
        monkeypatch.setattr(training, name, None)
    comparison.make(job)
    again = tiny_comparison.job({"comparison.matched": 3})
    comparison.make(again)
    assert files() == before


def test_the_command_takes_a_job_file(job, tmp_path, capsys):
    before = {file: file.stat().st_mtime_ns for file in study.runs().rglob("made.json")}
    study.write_json(tmp_path / "job.json", job)
    comparison.main([str(tmp_path / "job.json")])
    assert {file: file.stat().st_mtime_ns for file in study.runs().rglob("made.json")} == before
    for name in ("name", "few", "votes"):
        study.write_json(tmp_path / "part.json", {key: value for key, value in job.items() if key != name})
        with pytest.raises(SystemExit) as caught:
            comparison.main([str(tmp_path / "part.json")])
        said = capsys.readouterr().err
        assert caught.value.code == 2 and f"lacks '{name}': write it with helpers.methods.comparison.jobs" in said


# --- the contest as a table ------------------------------------------------------------------------------------------


def test_trained_on(job, subject):
    found = comparison_tables.trained_on(job, subject, 50)
    quality = curves.quality(job["sweep"], subject, 50)
    assert found.criterion.tolist() == ["L0 (trained)", "gradual", "random", "random", "votes", "syntactic"]
    assert found[found.criterion == "random"].draw.nunique() == 2 and set(found["test set"]) == {"test"}
    for criterion, run in (("L0 (trained)", "L0 0.03"), ("gradual", "gradual 0.03")):
        row, wanted = found[found.criterion == criterion].iloc[0], quality.loc[run, "test"]
        assert (row.bleu, row.change, row.low, row.high) == (wanted.bleu, wanted.change, wanted.change_low, wanted.change_high)
    control = quality.bleu["control", "test"]
    np.testing.assert_allclose(found.change, found.bleu - control, atol=1e-9)
    assert (found["heads"] == quality["heads"]["L0 0.03", "test"]).all() and (found.low <= found.change).all()
    for row, run in zip(found.iloc[4:].itertuples(), comparison.contest(job).values(), strict=True):
        hypotheses, pairs = comparison.translations(run, "test", 1), subject.pairs("test")
        assert row.bleu == pytest.approx(comparison_tables.scoring.bleu(hypotheses, [p.target for p in pairs], 1)["bleu"])
    none = tiny_comparison.job({"pruning.compared": []})
    empty = comparison_tables.trained_on(none, subject, 50)
    assert empty.empty and list(empty) == ["criterion", "draw", "test set", "heads", "bleu", "change", "low", "high"]


def test_what_one_job_gives_the_tables(job, subject):
    """The tables of notebook 6 on a real job: nothing is nan that one training can say."""
    table, halves, seconds = comparison.tables(job)
    trained = (comparison_tables.called(job), job["seed"])
    assert trained == ("EN-RU subtitles", 1) and list(comparison_tables.removed([job])) == [trained]
    agreement = comparison_tables.agreement({trained: table})
    one = agreement.set_index(["kind", "one", "other"]).rho
    wanted = measures.agreement.correlation(table.confidence, table.votes, "encoder", within_layer=True, repeats=1)["rho"]
    assert one["encoder", "confidence", "votes"] == pytest.approx(wanted)
    truths = comparison_tables.predictors({trained: table}, {trained: seconds})
    assert set(truths.truth) == {"leave-one-out", SURVIVAL} and set(truths[truths.truth == SURVIVAL].kind) == {"encoder"}
    assert set(comparison_tables.reliability({trained: halves}).kind) == set(heads.KINDS)
    headline = comparison_tables.headline(job, subject, 20)
    assert headline.run.tolist() == ["start", "control", "floor", "L0 0.003", "L0 0.03", "L0 1"]
