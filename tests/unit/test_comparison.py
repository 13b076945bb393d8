"""Jobs of the comparison: what they are, what head tables gain, which heads each criterion removes, bad input."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, measures, models, study, training
from helpers.experiments import pruning
from helpers.methods import contest, grouping
from helpers.methods.contest.runs import l1_gates, voted
from helpers.runs import subjects
from helpers.study import StudyError
from tests.unit import tiny_sweep
from tests.unit.tiny_models import tiny_batch, tiny_model

STORE = tiny_sweep.go_to
NAMES, ENCODER = ["ru-news", "ru-subtitles"], ("encoder",)
SEED, PRICE = 1, 0.03
CHANGED = {  # one job of few runs
    "seeds": 1, "pruning.variants": False, "pruning.criteria": ["random"], "pruning.penalties_all": [],
    "pruning.scratch": [], "pruning.all_kinds": 0, "coreference.summarization.steps": 0,
    "comparison.criteria": ["votes", "syntactic"], "comparison.l1.steps": 3, "comparison.votes": 400,
    "comparison.decoder": False,
}  # fmt: skip


def job_of(changes=None):
    """The one job that these settings and more changes ask for."""
    (found,) = contest.runs.jobs(tiny_sweep.settings(CHANGED | (changes or {})), [tiny_sweep.NAME], SEED)
    return found


@pytest.fixture(scope="module")
def job():
    return job_of()


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


def every(changes=None):
    """All jobs of two models with everything that profile tiny asks for, by name, kinds and seed."""
    found = contest.runs.jobs(study.settings("tiny", changes), NAMES, SEED)
    return {(job["name"], len(job.get("sweep", {"kinds": ""})["kinds"]), job["seed"]): job for job in found}


def test_the_first_seed_is_the_same_however_many_there_are():
    one, three = every({"seeds": 1}), every({"seeds": 3})
    assert list(one) == [place for place in three if place[2] == SEED]
    for place, job in one.items():
        assert list(contest.runs.recipes(job)) == list(contest.runs.recipes(three[place])), place
    some = every({"seeds": 3, "comparison.again": [NAMES[0]]})
    assert [place for place in some if place[2] > SEED] == [p for p in three if p[2] > SEED and p[0] == NAMES[0]] != []
    assert [place for place in some if place[2] == SEED] == list(one)


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


def one_batch(number):
    return [tiny_batch("marian", 1)]


def test_first_step_against_the_slope_of_loss_and_price():
    model, batch, slopes = tiny_model("marian"), tiny_batch("marian", 1), {}
    found = l1_gates(model, one_batch, 1, 0.05, 0.02)
    assert found.index.equals(heads.index(model))
    double = copy.deepcopy(model).double()
    for address in found.index[::3]:
        losses = []
        for value in (0.999, 1.001):
            with heads.gate(double, {address: value}), torch.no_grad():
                losses.append(float(models.cross_entropy(double, batch, 0.0)))
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
    flags = [parameter.requires_grad for parameter in model.parameters()]
    assert model.config.dropout > 0 and l1_gates(model, one_batch, 2, 0.1, 0.01).equals(plain)  # without dropout
    assert [parameter.requires_grad for parameter in model.parameters()] == flags and model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_removed_at_once(job, subject):
    found = contest.runs.at_once(job)
    assert {"votes", "L1 gates", "syntactic", "random"} <= set(found.criterion)
    assert not {"alignment", "rare"} & set(found.criterion)  # of no encoder head
    assert not set(bare := contest.runs.at_once({**job, "first_order": False}).criterion) & set(contest.runs.FIRST)
    assert set(found.criterion) - set(bare) == set(contest.runs.FIRST) - {measures.table.GROUP}
    table, dev = contest.runs.tables(job)[0].loc[["encoder"]], list(subject.batches(first=16))
    whole = training.dev_loss(subject.model, dev)
    for by in ("votes", "RelP, cp"):
        rows, worth = found[found.criterion == by], table[by].sort_values(kind="stable")
        assert set(rows["heads"]) == {len(encoder_heads(pruning.runs.retained(run))) for run in pruning.l0_runs(job["sweep"])}
        row = rows.iloc[-1]
        with heads.gate(subject.model, dict.fromkeys(worth.index[: 8 - row.heads], 0.0)):
            assert row.change == pytest.approx(training.dev_loss(subject.model, dev) - whole, abs=1e-5)
    with pytest.raises(StudyError, match="luck"):
        pruning.runs.column(table_of(job), ENCODER, "luck")
