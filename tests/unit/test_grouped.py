"""Runs of grouped heads: what they depend on, what they train and keep, the same again, and bad input."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, models
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import PS, VANILLA
from helpers.heads.families import ADDRESS
from helpers.methods import grouping
from helpers.runs import subjects
from helpers.training import learning_rate
from tests.unit import tiny_groups

STORE = "groups"
TASKS = [subjects.TRANSLATION, subjects.LANGUAGE]  # of an encoder-decoder, of a decoder alone
CPU = torch.device("cpu")


def every(changes=None):
    """All rows by task and name."""
    kinds = runs.every_row(tiny_groups.settings(changes), tiny_groups.SEED)
    return {f"{kind}: {name}": kinds[kind][name] for kind in subjects.METRICS for name in kinds[kind]}


def results(spec):
    return runs.run(spec).results


def ballot_of(spec):
    return pd.read_csv(results(spec) / "ballot.csv", index_col=list(ADDRESS))


def stays(spec):
    """Addresses of the heads that a row kept."""
    table = ballot_of(spec)
    return set(table.index[table.kept])


def batch_of(task, first=6):
    return task.held_out(10**9, first, CPU)[0]


def test_all_rows_train_for_as_many_steps():
    for name, spec in every().items():
        steps = [run["training"]["steps"] for run in runs.stages(spec)]
        assert sum(steps) == tiny_groups.STEPS, name


def test_the_second_stage_goes_on_at_the_rate_of_the_first():
    one, two = (run["training"] for run in runs.stages(tiny_groups.rows()[PS]))
    assert one["cooldown"] == 0 and two["cooldown"] == 0.5
    assert two["learning_rate"] == learning_rate(12, one) == pytest.approx(1e-2 * (4 / 12) ** 0.5)
    assert all(plan["average"] == 1 and plan["patience"] == 0 for plan in (one, two))  # the last weights


def test_smaller_models_have_as_many_weights_as_two_heads_a_layer():
    shape = {"layers": 2, "width": 64, "heads": 8, "feed_forward": 256, "dropout": 0.0}
    wanted = runs.weights(shape) - 9 * 64**2 * 2  # six of eight heads of three attention layers are gone
    assert runs.weights(shape, 2) == wanted
    for made, near in ((runs.fewer_layers(shape, 2), 0.06), (runs.narrower(shape, 2), 0.005)):
        assert runs.weights(made) == pytest.approx(wanted, rel=near)
        model = models.build(made, 50, 50, 1)
        matrices = [p.numel() for name, p in model.named_parameters() if p.ndim == 2 and ".layers." in name]
        assert sum(matrices) == runs.weights(made)


def trainee(kind=subjects.TRANSLATION, **options):
    """A model as it is before training, in training mode, and a batch of dev text."""
    spec = tiny_groups.rows(kind)[VANILLA]["start"]
    task = subjects.text_of(spec)
    model = task.build(spec["shape"], 1).train()
    for site in heads.sites(model):  # encoder self-attention begins with an output of zero
        torch.nn.init.normal_(site.projection("out").weight, std=0.1)
    return model, grouping.Grouped(model, **options), batch_of(task)


@pytest.mark.parametrize("kind", TASKS)
def test_without_constraint_the_loss_is_that_of_the_model(kind):
    model, plain, batch = trainee(kind, form=None)
    loss, own = models.cross_entropy(plain, batch, 0.0), model(**models.inputs(batch), use_cache=False).loss
    torch.testing.assert_close(loss, own)  # a decoder-only model predicts the next token, and so does the loss here


@pytest.mark.parametrize(("kind", "which"), [*((subjects.TRANSLATION, which) for which in "VAO"), (subjects.LANGUAGE, "V")])
def test_the_constraint_is_added_as_a_mean_over_layers(kind, which):
    model, tight, batch = trainee(kind, form="cosine", alpha=0.7, beta=0.2, which=which, weight=3.0)
    with torch.no_grad(), grouping.watch(model, which) as watched:
        watched.feed(batch)
        model(**models.inputs(batch), use_cache=False)
    losses = torch.tensor([grouping.group_loss(gram, grouping.clusters(gram, 2), 2, 0.7, 0.2) for gram in watched.grams])
    assert len(losses) == len(heads.sites(model))
    bare = models.cross_entropy(grouping.Grouped(model, None), batch, 0.1)
    torch.testing.assert_close(grouping.objective(tight, batch, 0.1), bare + 3.0 * losses[:, 0].mean())
    tight.eval()
    torch.testing.assert_close(grouping.objective(tight, batch, 0.1), bare)  # none on held-out text


def recount(spec, model):
    """The ballot of a row, taken again."""
    task, cut = subjects.text_of(spec), spec["cut"]
    epoch = task.epoch(spec["training"]["batch_tokens"], 2 * spec["seed"], CPU)(0)
    return grouping.ballot(model, islice(epoch, cut["batches"] or None), cut["which"], cut["groups"])


@pytest.mark.parametrize("kind", TASKS)
def test_voting_to_stay_keeps_one_head_of_each_group_in_every_layer(kind):
    spec = tiny_groups.rows(kind)[PS]
    table, whole = ballot_of(spec), runs.opened(spec["start"])
    ballot = recount(spec, whole)
    assert (table.batches == ballot.voters).all() and (ballot.voters == 10 if spec["cut"]["batches"] else ballot.voters > 10)
    assert list(table.index) == list(heads.index(whole))
    for name in ("votes", "labels", "scores"):
        np.testing.assert_allclose(table[name], torch.cat(getattr(ballot, name)), rtol=1e-4, err_msg=name)
    for place, site in table.groupby(level=["kind", "layer"], sort=False):
        assert sorted(site.labels[site.kept]) == [0, 1], place
        for _, group in site.groupby("labels"):
            assert group.index[group.kept].tolist() == [group.votes.idxmax()]
    left = heads.kept(runs.opened(spec))
    assert {address for address in table.index if address[2] in left[address[:2]]} == stays(spec)
