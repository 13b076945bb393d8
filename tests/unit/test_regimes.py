"""Grouped heads in their regime, and random heads matched by layer: what is trained, what is measured, what decides."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, study, training
from helpers.corpora import tokens
from helpers.experiments import grouping as grouped
from helpers.experiments import pruning, regimes
from helpers.experiments.grouping_runs import AT_START, GHT, PS, RANDOM, VANILLA
from helpers.measures.analysis import FILE
from helpers.methods.contest import matched
from helpers.runs import subjects
from helpers.study import values
from tests.unit import tiny_groups, tiny_sweep

STORE = "groups"


def rows():
    """The main rows of one seed in a size that trains in seconds."""
    return [replace(row, heads=4, head=4) for row in regimes.main(240, 0.3, 10.0, 1)]


def test_a_row_is_trained_as_its_columns_say():
    settings = tiny_groups.settings()
    for row in [*rows(), *(replace(row, seed=2, train=120, dropout=0.0) for row in rows())]:
        one, two = grouped.runs.stages(regimes.spec(settings, row))
        for stage in (one, two):
            assert stage["corpus"]["train"] == row.train and stage["corpus"]["seed"] == 1 and stage["seed"] == row.seed
            assert stage["training"]["average"] == 0, "the weights of least dev loss are kept"
        assert one["shape"]["dropout"] == row.dropout and one["shape"]["width"] == 16 and one["shape"]["feed_forward"] == 64
        weight = one.get("objective", {}).get("weight", 0.0)
        assert weight == pytest.approx(row.strength * settings["grouping"]["weight"])
        assert ("objective" in two) == (row.method == GHT), "the constraint of pruned rows ends with stage 1"
        cut = two.get("cut") or one.get("cut")
        assert (cut and cut["by"]) == {VANILLA: None, GHT: None, PS: "votes", RANDOM: "random", AT_START: "votes"}[row.method]
    specs = {row.method: regimes.spec(settings, row) for row in rows()}
    assert specs[PS]["start"] == specs[RANDOM]["start"] == specs[GHT]["start"], "they share their stage 1"


def test_the_table_has_what_was_made_with_losses_of_the_stored_model():
    settings, made, other = tiny_groups.settings(), rows()[1], rows()[0]
    assert regimes.table(settings, [made, other]).empty
    study.make(regimes.recipe(settings, made))
    table = regimes.table(settings, [made, other])
    assert table.method.tolist() == [GHT] and table.strength.tolist() == [10.0]
    spec = regimes.spec(settings, made)
    text, model = subjects.text_of(spec), grouped.runs.opened(spec)
    first = tokens.Batches(text.train.part(range(len(text.dev))), text.source.pad, 4096, torch.device("cpu"))
    assert table.train_loss[0] == pytest.approx(training.dev_loss(model, first))
    assert table.dev_loss[0] == pytest.approx(training.dev_loss(model, text.held_out(4096)))
    assert table.formed[0] == pytest.approx(grouped.tightness(spec, 2).formed.mean())
    assert regimes.made_table({1: {GHT: spec}}).empty, "one training has no interval"
    assert regimes.made_table({1: {GHT: spec}, 2: {GHT: spec}}).seed.tolist() == [1, 2]


def bleu(**changes):
    """A table of five seeds in which methods differ from vanilla by a number, and by seed a little."""
    levels = {VANILLA: 0.0, GHT: 0.0, PS: 0.0, RANDOM: 0.0, AT_START: 0.0} | changes
    return pd.DataFrame([
        {"method": method, "seed": seed, "BLEU": 30 + 3 * seed + level + 0.1 * ((seed * place) % 3)}
        for place, (method, level) in enumerate(levels.items()) for seed in range(1, 6)
    ])  # fmt: skip


def test_claims_are_judged_by_differences_paired_by_seed():
    found = regimes.judged(bleu(**{GHT: 1.0, PS: -2.0, RANDOM: -1.9, AT_START: -3.0})).set_index(["method", "against"])
    assert found.verdict.tolist() == ["holds", "does not hold", "cannot tell", "holds"]
    assert found.change[GHT, VANILLA] == pytest.approx(1.0 + 0.1 * 6 / 5) and (found.seeds == 5).all()
    near = regimes.judged(bleu(**{PS: -0.2})).set_index(["method", "against"])
    assert near.verdict[PS, VANILLA] == "holds", "its bound is half a point below"
    some = bleu(**{GHT: 0.2, PS: -2.0, AT_START: np.nan})
    early = regimes.judged(some[(some.method != RANDOM) | (some.seed == 1)]).set_index(["method", "against"])
    assert early.p_holm[GHT, VANILLA] == pytest.approx(3 * early.p[GHT, VANILLA]), "claims without a test count in Holm's"
    assert early.verdict.tolist()[2:] == ["cannot tell"] * 2 and early.seeds.tolist() == [5, 5, 1, 0]
    chosen = pd.DataFrame({"criterion": "L0", "seed": [1, 1, 1, 2, 2, 2], "draw": [0, 1, 2] * 2, "BLEU": [9, 7, 5, 8, 6, 4]})
    (row,) = regimes.judged(matched.means(chosen), [("L0", "random like L0", 0.0)]).itertuples()
    assert row.change == pytest.approx(3.0) and row.seeds == 2 and row.verdict == "holds"


def test_matched_runs_remove_as_many_heads_of_each_layer():
    sweep = tiny_sweep.sweeps({"pruning.criteria": ["gradient, example", "leave-one-out"]})["encoder"]
    chosen = matched.rows(sweep)
    assert [(row["criterion"], row["draw"]) for row in chosen] == [(by, draw) for by in matched.CRITERIA for draw in range(4)]
    like, first, second = (chosen[place]["spec"] for place in (4, 5, 6))
    left = [pruning.retained(spec) for spec in (like, first, second)]
    assert [{place: len(kept) for place, kept in one.items()} for one in left] == [{p: len(k) for p, k in left[0].items()}] * 3
    losses = values.read(matched.at_once(sweep, 3).results / FILE).set_index(["criterion", "draw"]).dev_loss
    assert set(losses.index) == {(by, draw) for by in matched.CRITERIA for draw in range(4)}
    whole = subjects.of_spec(sweep["start"], "")
    gone = [address for address in heads.index(whole.model, ("encoder",)) if address[2] not in left[0][address[:2]]]
    rest = heads.remove(whole.model, gone)
    assert losses["L0", 0] == pytest.approx(training.dev_loss(rest, whole.held_out(4096, 16)))
    study.make(matched.recipe(sweep, chosen[5]))
    table = matched.table([sweep])
    (row,) = table[(table.criterion == "L0") & (table.draw == 1)].itertuples(index=False)
    assert row.dev_loss == study.read_json(pruning.pruned(first).results / "losses.json")["dev_loss"]
    assert table.loc[table.draw == 1, "layer 1"].iloc[0] == len(left[1]["encoder", 0])
