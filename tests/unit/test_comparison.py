"""Jobs of the comparison: what they are, what head tables gain, which heads each criterion removes, bad input."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import corpora, heads, measures, plan, study
from helpers.corpora import tokens
from helpers.methods import contest, coreference, grouping, l0
from helpers.methods.contest.runs import CLOSES, SUMMARIZER, SURVIVAL, l1_gates, voted
from helpers.runs import outputs, subjects, training
from helpers.study import StudyError
from helpers.study.recipe import read_since
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
    return subjects.of_spec(job["sweep"]["start"], job["name"])


def table_of(job):
    """The recipe of a job's head table."""
    return next(contest.runs.recipes(job))


def encoder_heads(kept):
    """Addresses of the encoder heads among those that were kept."""
    return {(kind, layer, head) for (kind, layer), left in kept.items() for head in left if kind == "encoder"}


# --- what there is to do ---------------------------------------------------------------------------------------------


def every(changes=None):
    """All jobs of two models with everything that profile tiny asks for, by name, kinds and seed."""
    found = contest.runs.jobs(study.settings("tiny", changes), NAMES, SEED)
    assert json.loads(json.dumps(found)) == found
    return {(job["name"], len(job.get("sweep", {"kinds": ""})["kinds"]), job["seed"]): job for job in found}


def keys(job):
    """Keys of everything that is read of a job."""
    return [recipe.key for recipe in contest.runs.recipes(job)]


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


def test_the_first_seed_is_the_same_however_many_there_are():
    one, three = every({"seeds": 1}), every({"seeds": 3})
    assert list(one) == [place for place in three if place[2] == SEED]
    for place, job in one.items():
        assert keys(job) == keys(three[place]), place


def test_the_sweeps_of_the_first_seed_are_those_of_notebook_3():
    settings = study.settings("tiny")
    wanted = {(sweep["name"], len(sweep["kinds"])): sweep["runs"] for sweep in l0.runs.sweeps(settings, NAMES, SEED)}
    assert {place[:2]: job["sweep"]["runs"] for place, job in every().items() if place[2] == SEED and "sweep" in job} == wanted


def test_further_seeds_make_less():
    found = every()
    places = (("ru-news", 1, 1), ("ru-news", 1, 2), ("ru-subtitles", 1, 2))
    first, again, second = (found[place]["sweep"]["runs"] for place in places)
    assert any("half-open" in name for name in first) and "scratch 0.2" in found["ru-news", 3, 1]["sweep"]["runs"]
    assert list(again) == [name for name in first if not name.startswith("L0,")]  # no variants, but every criterion
    assert list(second) == ["control", "floor", "L0 0.01", "L0 0.2"]
    assert list(found["ru-news", 3, 2]["sweep"]["runs"]) == ["control", "L0 0.2"]  # nothing from scratch
    assert list(contest.runs.contest(found["ru-news", 1, 2])) == ["attnlrp 0.2", "L1 gates 0.2"]
    assert contest.runs.contest(found["ru-subtitles", 1, 2]) == contest.runs.contest(found["ru-news", 3, 2]) == {}


def test_keys_of_head_tables_change_with_what_they_depend_on():
    def table(**changes):
        return table_of(tiny_comparison.job({name.replace("_", "."): value for name, value in changes.items()})).key

    plain = table()
    assert table(comparison_criteria=["cp"], comparison_matched=3, comparison_dialogues=2, pruning_steps=9) == plain
    changed = [table(comparison_votes=300), table(relevance=5), table(comparison_l1_steps=7), table(training_steps=151)]
    assert len({plain, *changed}) == 5


def test_what_is_read_of_a_job():
    """Its head table, all that is read of its sweep, the runs of its contest with what they put out, heads removed at once."""
    job = tiny_comparison.job()
    found, sweep = list(contest.runs.recipes(job)), list(l0.runs.recipes(job["sweep"]))
    matched = [l0.runs.run(run) for run in contest.runs.contest(job).values()]
    assert set(found) == {
        table_of(job), contest.runs.removed_at_once(job), *sweep, *matched, *(outputs.recipe(run, 1) for run in matched)
    }  # fmt: skip
    assert len(found) == len(set(found)) == len(sweep) + 6
    once = {l0.runs.removed_at_once(job["sweep"]), l0.runs.scored(job["sweep"]["start"], 4)}
    assert set(found) - set(contest.runs.recipes(job, at_once=False)) == once
    (summarizer,) = contest.runs.recipes(every()[SUMMARIZER, 0, SEED])
    assert summarizer.kind == contest.runs.TABLE


def test_what_contests_need():
    job = tiny_comparison.job()
    start, gated = job["sweep"]["start"], [l0.runs.run(run) for run in l0.tables.l0_runs(job["sweep"])]
    model = {corpora.recipe(start["corpus"]): False, training.trained(start): True}
    assert dict(table_of(job).needs) == model
    like = l0.runs.run(job["sweep"]["runs"][f"L0 {PRICE:g}"])
    for run in contest.runs.contest(job).values():
        trained = model | {corpora.recipe(start["corpus"]): True}  # with its training text
        assert dict(l0.runs.run(run).needs) == trained | {like: False, table_of(job): False}
    assert dict(contest.runs.removed_at_once(job).needs) == model | {table_of(job): False} | dict.fromkeys(gated, False)
    summarizer = every()[SUMMARIZER, 0, SEED]
    assert dict(table_of(summarizer).needs)[coreference.runs.run(summarizer["run"])] is True


def test_contest_runs_train_as_the_runs_of_the_sweep():
    job = tiny_comparison.job()
    found, like = contest.runs.contest(job), job["sweep"]["runs"]["random 0.03"]
    assert list(found) == ["votes 0.03", "syntactic 0.03"]
    for name, run in found.items():
        assert {part: run[part] for part in ("start", "kinds", "training", "dev", "seed")} == {
            part: like[part] for part in ("start", "kinds", "training", "dev", "seed")
        }
        assert (run["method"]["like"], run["method"]["by"]) == (like["method"]["like"], name.split()[0])


# --- head tables -----------------------------------------------------------------------------------------------------


def test_head_table_of_a_swept_model(job, subject):
    table, halves, seconds = contest.runs.tables(job)
    assert table.index.equals(heads.index(subject.model)) and halves.index.names == ["half", "kind", "layer", "head"]
    few = list(subject.batches(2048, 4))
    text = {"arcs": measures.functions.arcs_of(subject.sentences), "counts": subject.counts, "links": subject.links}
    wanted = measures.head_table(subject.model, list(subject.batches(400)), few, **text)
    assert sorted(table) == sorted([*wanted, "votes", "L1 gates", SURVIVAL, CLOSES])
    pd.testing.assert_frame_equal(table[list(wanted)], wanted, check_dtype=False, rtol=1e-6)
    assert set(seconds) == {*measures.table.numeric(wanted), "votes", "L1 gates"}
    pd.testing.assert_series_equal(table.votes, voted(subject.model, subject.batches(400)), rtol=1e-6)
    for half in (0, 1):
        part = subject.encoded
        part = tokens.Encoded(*([side[row] for row in (half, half + 2)] for side in (part.source, part.target, part.words)))
        alone = measures.head_table(subject.model, tokens.Batches(part, subject.source.pad, 2048))
        pd.testing.assert_frame_equal(halves.loc[half], measures.table.numeric(alone), rtol=1e-6)


def test_what_a_sweep_says_of_heads(job):
    table = contest.runs.tables(job)[0]
    survival = l0.tables.survival(job["sweep"])
    assert table[SURVIVAL].dropna().equals(survival) and len(survival) == 8
    closed = {}
    for run in l0.tables.l0_runs(job["sweep"]):
        last = l0.tables.gates(run)[1].iloc[-1]
        closed[run["method"]["penalty"]] = set(last.index[last <= 0])  # log alpha of a gate that is 0 in the end
    for head in survival.index:
        prices = [price for price in sorted(closed) if all(head in closed[p] for p in closed if p >= price)]
        assert table[CLOSES][head] == (prices[0] if prices else np.inf), head
    assert table[CLOSES].nunique() > 2 and table[CLOSES].isna().sum() == 16


def test_a_gate_that_opens_again_closes_at_the_higher_price(tmp_path, monkeypatch):
    """Closed at every price above, not only at one below."""
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    values = {0.1: [-5, -5, 5, -5, 5], 0.2: [-5, 5, 5, -5, 5], 0.3: [-5, -5, -5, -5, 5]}
    sweep = tiny_comparison.job({"pruning.penalties": list(values), "pruning.compared": []})["sweep"]
    columns = pd.MultiIndex.from_tuples([("encoder", 0, head) for head in range(5)], names=["kind", "layer", "head"])
    for price, last in values.items():
        trace = pd.DataFrame([[5.0] * 5, last], columns=columns)
        build = lambda spec, place, trace=trace: trace.to_csv(place.results / "trace.csv")  # noqa: E731
        study.make(l0.runs.run(sweep["runs"][f"L0 {price}"]), build=build)
    found = contest.runs.closes_at(sweep)
    assert found.to_dict() == dict(zip(columns, [0.1, 0.3, 0.3, 0.1, np.inf], strict=True)) and found.name == CLOSES


def test_head_table_of_a_summarizer(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADS_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADS_DATA", str(tmp_path / "data"))
    changes = {"seeds": 1, "comparison.dialogues": 5}
    job = contest.runs.jobs(tiny_injection.settings(changes), [tiny_sweep.NAME], SEED)[-1]
    assert job["name"] == SUMMARIZER and contest.tables.called(job) == "dialogue summarizer"
    table, halves, seconds = contest.runs.tables(job)
    model, task = coreference.runs.opened(job["run"]), subjects.text_of(job["run"])
    assert job["run"] == coreference.runs.Rows(tiny_injection.settings(), coreference.runs.subjects.SUMMARIZATION, SEED).plain()
    few, links = task.held_out(1024, 5, model.device), coreference.runs.links_of(job["run"], job["links"], ("dev",))[0]
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
    model, batch, slopes = tiny_model("marian"), tiny_batch("marian", 1), {}
    found = l1_gates(model, one_batch, 1, 0.05, 0.02)
    assert found.index.equals(heads.index(model))
    double = copy.deepcopy(model).double()
    for address in found.index[::3]:
        losses = []
        for value in (0.999, 1.001):
            with heads.gate(double, {address: value}), torch.no_grad():
                losses.append(float(training.cross_entropy(double, batch, 0.0)))
        slopes[address] = (losses[1] - losses[0]) / 0.002
        assert found[address] == pytest.approx(1 - 0.05 * np.sign(slopes[address] + 0.02), abs=1e-4), address
    steepest = min(slopes, key=slopes.get)
    assert slopes[steepest] < 0
    for share, step in ((1.1, -0.05), (0.9, 0.05)):  # each gate has the whole price
        dear = l1_gates(model, one_batch, 1, 0.05, -share * slopes[steepest])
        assert dear[steepest] == pytest.approx(1 + step, abs=1e-4)


def test_gates_leave_the_model_as_it_was():
    model = tiny_model("marian")
    plain = l1_gates(model, one_batch, 2, 0.1, 0.01)
    model.train().model.encoder.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    assert model.config.dropout > 0 and l1_gates(model, one_batch, 2, 0.1, 0.01).equals(plain)  # without dropout
    for steps, epoch, said in ((0, one_batch, "training step"), (3, lambda number: [], "no batches")):
        with pytest.raises(StudyError, match=said):
            l1_gates(model, epoch, steps, 0.1, 0.01)
    assert {name: parameter.requires_grad for name, parameter in model.named_parameters()} == flags
    assert all(parameter.grad is None for parameter in model.parameters()) and model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


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


# --- heads removed by every criterion --------------------------------------------------------------------------------


def test_columns_of_the_head_table(job):
    made, table = table_of(job), contest.runs.tables(job)[0]
    encoder = table.index.isin(ENCODER, level="kind")
    for by in ("votes", "L1 gates", "leave-one-out"):
        assert l0.runs.column(made, ENCODER, by).equals(table[by][encoder])
    alignment = l0.runs.column(made, heads.KINDS, "alignment")
    cross = alignment.index.isin(["cross"], level="kind")
    assert alignment[~cross].isna().all() and alignment[cross].equals(table.alignment[cross])
    with pytest.raises(StudyError, match="luck"):
        l0.runs.column(made, ENCODER, "luck")


def test_removed_at_once(job, subject):
    found = contest.runs.at_once(job)
    assert list(found) == ["criterion", "draw", "heads", "change"]
    numbers = sorted({len(encoder_heads(l0.runs.retained(run))) for run in l0.tables.l0_runs(job["sweep"])})
    assert len(numbers) == 3
    ways = found.groupby(["criterion", "draw"], sort=False)
    columns = measures.table.numeric(contest.runs.measured(table_of(job).spec)[0])
    shown = [name for name in columns if columns.loc[["encoder"], name].nunique() > 1]
    assert list(ways.groups) == [*((name, 0) for name in shown), ("random", 0), ("random", 1)]
    assert {"votes", "L1 gates", "syntactic"} <= set(shown) and not {"alignment", "rare"} & set(shown)
    dev = list(subject.batches(first=16))
    whole = training.dev_loss(subject.model, dev)
    for (by, draw), rows in ways:
        assert rows["heads"].tolist() == numbers
        if by == "random":
            worth = l0.runs.drawn(job["sweep"]["start"], heads.index(subject.model, ENCODER), draw)
        else:
            worth = l0.runs.column(table_of(job), ENCODER, by)
        for row in rows.itertuples():
            with heads.gate(subject.model, dict.fromkeys(worth.sort_values(kind="stable").index[: 8 - row.heads], 0.0)):
                assert row.change == pytest.approx(training.dev_loss(subject.model, dev) - whole, abs=1e-5), (by, row)
    assert found.change.nunique() > 8


@pytest.fixture
def given(job, subject):
    """The job with a head table made by hand: of encoder heads alone, and what the sweep's random runs draw."""
    encoder = heads.index(subject.model, ENCODER)
    columns = {
        "given": pd.Series([5.0, 3, 8, 1, 7, 2, 6, 4], encoder),
        "some": pd.Series([2.0, np.nan, 3, 4, 5, 6, np.nan, 1], encoder),
        "drawn": l0.runs.drawn(job["sweep"]["start"], encoder, 0),
    }
    table = pd.DataFrame(columns).reindex(heads.index(subject.model))
    own = {**job, "few": "by hand", "criteria": list(columns)}

    def put(spec, place):
        table.to_csv(place.results / "heads.csv", na_rep="nan")
        pd.concat({0: table}, names=["half"]).to_csv(place.results / "halves.csv")
        study.write_json(place.results / "seconds.json", {})

    study.make(table_of(own), build=put)
    return own


def test_a_run_that_is_cut_by_a_column_loses_the_heads_of_least_worth(given, subject):
    """Those that were not measured first."""
    runs, every_head = contest.runs.contest(given), encoder_heads(heads.kept(subject.model))
    least = {"given": (3, 5, 1, 7, 0, 6, 4, 2), "some": (1, 6, 7, 0, 2, 3, 4, 5)}
    for by, order in least.items():
        kept = l0.runs.retained(runs[f"{by} {PRICE:g}"])
        gone = every_head - encoder_heads(kept)
        assert 0 < len(gone) < 8 and gone == {("encoder", *divmod(number, 4)) for number in order[: len(gone)]}, by
        assert all(kept[kind, layer] == [0, 1, 2, 3] for kind, layer in kept if kind != "encoder")


def test_contest_runs_train_to_the_letter_as_those_of_the_sweep(given, job):
    """Which heads are removed is all that there is between them."""
    own, other = (
        l0.runs.run(run) for run in (contest.runs.contest(given)[f"drawn {PRICE:g}"], job["sweep"]["runs"][f"random {PRICE:g}"])
    )
    for name in ("losses.json", "heads.json"):
        assert (own.results / name).read_bytes() == (other.results / name).read_bytes()
    assert (own.weights / "model.safetensors").read_bytes() == (other.weights / "model.safetensors").read_bytes()
    assert outputs.read(own, "test", 1) == outputs.read(other, "test", 1)


# --- the contest as a table ------------------------------------------------------------------------------------------


def test_trained_on(job, subject):
    found = contest.tables.trained_on(job, subject, 50)
    quality = l0.tables.quality(job["sweep"], subject, 50)
    assert found.criterion.tolist() == ["L0 (trained)", "L0's heads", "gradual", "random", "random", "votes", "syntactic"]
    assert found[found.criterion == "random"].draw.nunique() == 2 and set(found["test set"]) == {"test"}
    for criterion, run in (("L0 (trained)", "L0 0.03"), ("gradual", "gradual 0.03")):
        row, wanted = found[found.criterion == criterion].iloc[0], quality.loc[run, "test"]
        assert (row.bleu, row.change, row.low, row.high) == (wanted.bleu, wanted.change, wanted.change_low, wanted.change_high)
    control = quality.bleu["control", "test"]
    np.testing.assert_allclose(found.change, found.bleu - control, atol=1e-9)
    assert (found["heads"] == quality["heads"]["L0 0.03", "test"]).all() and (found.low <= found.change).all()
    for row, run in zip(found.iloc[5:].itertuples(), contest.runs.contest(job).values(), strict=True):
        hypotheses, pairs = outputs.read(l0.runs.run(run), "test", 1), subject.pairs("test")
        assert row.bleu == pytest.approx(contest.tables.scoring.bleu(hypotheses, [p.target for p in pairs], 1)["bleu"])
    none = tiny_comparison.job({"pruning.compared": []})
    empty = contest.tables.trained_on(none, subject, 50)
    assert empty.empty and list(empty) == list(found)


def test_what_one_job_gives_the_tables(job, subject):
    """The tables of notebook 6 on a real job: nothing is nan that one training can say, nothing is read that is not listed."""
    before = len(read_since(0))
    table, halves, seconds = contest.runs.tables(job)
    trained = (contest.tables.called(job), job["seed"])
    assert trained == ("EN-RU subtitles", 1) and list(contest.tables.removed([job])) == [trained]
    agreement = contest.tables.agreement({trained: table})
    one = agreement.set_index(["kind", "one", "other"]).rho
    wanted = measures.ranks.correlation(table.confidence, table.votes, "encoder", within_layer=True, repeats=1)["rho"]
    assert one["encoder", "confidence", "votes"] == pytest.approx(wanted)
    truths = contest.tables.predictors({trained: table}, {trained: seconds})
    assert set(truths.truth) == {"leave-one-out", SURVIVAL} and set(truths[truths.truth == SURVIVAL].kind) == {"encoder"}
    assert set(contest.tables.reliability({trained: halves}).kind) == set(heads.KINDS)
    headline = contest.tables.headline(job, subject, 20)
    assert headline.run.tolist() == ["start", "control", "floor", "L0 0.003", "L0 0.03", "L0 1"]
    listed = {recipe.folder for recipe in plan.closure(map(study.Need, contest.runs.recipes(job)))}
    assert set(read_since(before)) <= listed
