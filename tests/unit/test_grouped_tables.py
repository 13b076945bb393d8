"""Tables of grouped heads: scores by hand, means over trainings, and groups over training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import heads, models, study
from helpers.experiments import grouping as tables
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import GHT, PS, VANILLA
from helpers.methods import grouping
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring
from tests.reference import grouping as slow
from tests.unit import tiny_groups

STORE = "groups"
CPU = torch.device("cpu")
TEST = "test"
QUICK = {"grouping.translation.steps": 2, "grouping.language.steps": 2, "grouping.translation.votes": 2}


def quick(kind=subjects.TRANSLATION):
    """The rows of a task, trained for two steps: their scores are of outputs of our own."""
    return tiny_groups.rows(kind, QUICK)


def worse(pairs, every):
    """Texts of which each `every`th word is lost."""
    return [" ".join(word for n, word in enumerate(pair.target.split()) if (n + 1) % every) for pair in pairs]


def counted(rows, losses):
    """As `tables.statistics`, of outputs of our own: row -> which words are lost (or losses of 31 tokens each)."""
    task, found = subjects.text_of(next(iter(rows.values()))), {}
    for name, lost in losses.items():
        outputs = [[loss, 31] for loss in lost] if task.kind == subjects.LANGUAGE else worse(task.pairs(TEST), lost)
        found[name, TEST] = task.statistics(outputs, TEST)
    return found


LOST = {VANILLA: 5, GHT: 8, PS: 6}
LOSSES = {VANILLA: (60.0, 80.0, 100.0), GHT: (57.0, 79.0, 97.0), PS: (61.0, 82.0, 103.0)}


@pytest.fixture(scope="module")
def scored():
    """Scores of the main rows of two tasks, as if these were their outputs."""
    found = {}
    for kind, losses in ((subjects.TRANSLATION, LOST), (subjects.LANGUAGE, LOSSES)):
        rows = {name: quick(kind)[name] for name in losses}
        found[kind] = tables.scores(rows, counted(rows, losses), repeats=100)
    return found


def test_what_attention_is_worth_is_the_score_of_a_model_that_has_lost_it():
    """Scores with a kind off are those of a model whose output projections read nothing of these heads."""
    rows = tiny_groups.rows(subjects.LANGUAGE)
    found = tables.worth_of_attention({"LM": rows}, 1, 20)
    of, model = subjects.text_of(rows[VANILLA]), runs.opened(rows[VANILLA])
    line = found.loc["LM", VANILLA, "decoder", TEST, "perplexity"]
    whole = of.interval(of.statistics(outputs.read(runs.run(rows[VANILLA]), TEST, 1), TEST), None, 0)["perplexity"][0]
    for site in heads.sites(model):  # what heads add to the stream; their projection's bias stays
        site.projection("out").weight.data.zero_()
    off = of.interval(of.statistics(of.put_out(model, TEST, 1), TEST), None, 0)["perplexity"][0]
    assert line.whole == pytest.approx(whole) and line.change == pytest.approx(off - whole, abs=1e-4) and off != whole
    assert line.percent == pytest.approx(100 * line.change / line.whole) and line.over == intervals.BLOCKS


def test_scores_of_translation_by_hand(scored):
    table, rows = scored[subjects.TRANSLATION], quick()
    task = subjects.text_of(rows[VANILLA])
    references = [pair.target for pair in task.pairs(TEST)]
    bleu = {name: scoring.bleu(worse(task.pairs(TEST), lost), references, 1)["bleu"] for name, lost in LOST.items()}
    for name in LOST:
        line = table.loc[name, TEST, "BLEU"]
        assert line.value == pytest.approx(bleu[name]) and line.low <= line.value <= line.high
        assert line.change == pytest.approx(bleu[name] - bleu[VANILLA])
        gains = 100 * line[["change", "change_low", "change_high"]].astype(float) / bleu[VANILLA]
        np.testing.assert_allclose(line[["gain", "gain_low", "gain_high"]].tolist(), gains)
        assert line.dev_loss == study.read_json(runs.run(rows[name]).results / "losses.json")["dev_loss"]
    assert (table.loc[VANILLA].filter(regex="change|gain") == 0).all(axis=None)  # the reference against itself


def test_a_lower_perplexity_is_a_gain_over_the_reference_of_its_seed(scored):
    table = scored[subjects.LANGUAGE]
    values = {name: np.exp(sum(lost) / 93) for name, lost in LOSSES.items()}
    for name, value in values.items():
        line = table.loc[name, TEST, "perplexity"]
        assert line.value == pytest.approx(value) and line.change == pytest.approx(value - values[VANILLA])
        assert line.gain == pytest.approx(100 * (1 - value / values[VANILLA]))
        assert line.gain_low <= line.gain <= line.gain_high
    rows = {name: quick(subjects.LANGUAGE)[name] for name in (VANILLA, GHT)}
    rows |= {f"{name}, seed 2": spec for name, spec in rows.items()}
    losses = {VANILLA: (60.0,), GHT: (50.0,), f"{VANILLA}, seed 2": (40.0,), f"{GHT}, seed 2": (45.0,)}
    change = tables.scores(rows, counted(rows, losses), repeats=0).change
    wanted = np.exp(np.array([60, 50, 40, 45]) / 31) - np.exp(np.array([60, 60, 40, 40]) / 31)
    np.testing.assert_allclose(change, wanted, atol=1e-12)


def test_trainings_are_means_with_t_intervals_and_a_lone_one_keeps_its_own():
    rows = {VANILLA: quick()[VANILLA], GHT: quick()[GHT], PS: quick()[PS]}
    rows |= {f"{name}, seed {seed}": rows[name] for seed in (2, 3) for name in (VANILLA, GHT)}
    table = tables.scores(rows, counted(rows, {name: 3 + place for place, name in enumerate(rows)}), repeats=20)
    means = tables.first(tables.trainings(table))
    assert means.over.to_dict() == {VANILLA: intervals.TRAININGS, GHT: intervals.TRAININGS, PS: intervals.SENTENCES}
    for names in tables.SCORES.values():
        each = tables.first(table)
        assert means.loc[PS, [*names]].tolist() == each.loc[PS, [*names]].tolist()
        values = each[names[0]][[name for name in rows if name.startswith("GHT") and not name.startswith(PS)]]
        wanted = [values.mean(), *stats.t.interval(0.95, 2, values.mean(), stats.sem(values))]
        np.testing.assert_allclose(means.loc[GHT, [*names]].tolist(), wanted)


def test_bars_of_all_rows_together_leave_out_zero_where_the_p_value_times_their_number_is_small():
    rows = pd.DataFrame({"row": ["no pull", "no push"], "model": GHT, "change": 2.0, "seeds": 5, "printed": 1.0})
    rows = intervals.corrected(rows.assign(change_low=[0.5, 0.1], change_high=[3.5, 3.9]), trainings=rows.seeds)
    assert (tables.together(rows).together_low > 0).tolist() == (2 * rows.p < 0.05).tolist() == [True, False]


def test_groups_and_weight_are_those_of_a_rows_name():
    specs = tiny_groups.rows()
    names = [VANILLA, GHT, PS, f"{GHT}, 4 groups", f"{PS}, weight x 10", f"{GHT}, seed 2", "narrower"]
    columns = [*tables.SCORES["value"], *tables.SCORES["change"]]
    scored = pd.DataFrame(1.0, pd.MultiIndex.from_product([names, [TEST], ["BLEU"]]), columns).assign(over="")
    by = {setting: tables.by(scored, specs, setting, usual) for setting, usual in (("groups", 2), ("weight", 1.0))}
    assert [*by["groups"].loc[TEST].index] == [(VANILLA, 2), (GHT, 2), (PS, 2), (GHT, 4)]
    assert [*by["weight"].loc[TEST].index] == [(VANILLA, 1), (GHT, 1), (PS, 1), (PS, 10)]
    assert by["weight"].silhouette[TEST, PS, 10] == tables.tightness(specs[f"{PS}, weight x 10"], 2).silhouette.mean()


def grams_of(model, task, first=8, which="V"):
    """Inner products of heads on the probe, a layer each."""
    batch = task.held_out(10**9, first, CPU)[0]
    with torch.no_grad(), grouping.watch(model.eval(), which) as watched:
        watched.feed(batch)
        model(**models.inputs(batch), use_cache=False)
    return [gram.double() for gram in watched.grams]


def test_looks_begin_at_the_untrained_model_and_end_with_groups():
    made = tiny_groups.rows()
    task = subjects.text_of(made[GHT])
    model = task.build(made[GHT]["start"]["shape"], 1)
    grams = grams_of(model, task)
    looks = tables.grams(made[GHT])
    assert list(looks) == [(site.kind, site.layer) for site in heads.sites(model)]
    for seen, gram in zip(looks.values(), grams, strict=True):
        np.testing.assert_allclose(seen[0], gram, rtol=1e-3, atol=1e-5)
    tight = tables.tightness(made[GHT], 2)
    place = tight.formed.idxmax()
    assert tight.formed[place] > tables.tightness(made[VANILLA], 2).formed.max() + 0.2
    labels, pairs = grouping.clusters(torch.tensor(looks[place][-1]), 2), grouping.cosines(torch.tensor(looks[place][-1]))
    inside = [(a, b) for a in range(4) for b in range(4) if a != b and labels[a] == labels[b]]
    across = [(a, b) for a in range(4) for b in range(4) if labels[a] != labels[b]]
    same, other = (np.mean([float(pairs[pair]) for pair in chosen]) for chosen in (inside, across))
    assert tight.loc[place, ["same", "other", "formed"]].tolist() == pytest.approx([same, other, (same - other) / 2])
    drawn = tables.alike({GHT: made[GHT]}, 2, place).pivot(index="head", columns="other head", values="cosine").to_numpy()
    assert sorted(drawn.ravel()) == pytest.approx(sorted(pairs.ravel().tolist()))
    edge = int((labels == 0).sum())  # where the second group begins
    assert drawn[:edge, edge:].mean() == pytest.approx(other)
    found, parts, every = [], tables.terms({GHT: made[GHT]}, 2), made[GHT]["start"]["watch"]["every"]
    for gram in (torch.tensor(seen[-1]) for seen in looks.values()):
        sizes, axes = torch.linalg.eigh(gram)
        vectors, labels = (axes * sizes.clamp(0).sqrt()).tolist(), grouping.clusters(gram, 2).tolist()
        found.append([slow.homogeneity(vectors, labels), slow.diversity(vectors, labels)])
    wanted = [every * (len(parts) - 1), *np.mean(found, 0)]
    assert parts.iloc[-1][["step", "pull", "push"]].tolist() == pytest.approx(wanted, abs=1e-6)


def test_parts_at_ten_times_the_weight_have_the_sign_and_the_bars_of_those_at_ours():
    rows = pd.DataFrame({"row": [runs.AT_START], "model": PS, "change": 1.0, "printed": -2.0, "together_low": 0.0})
    line = tables.parts(rows.assign(together_high=2.0)).set_index(["weight", "row"]).loc["ten times our weight"].iloc[0]
    fresh = pd.read_csv(tables.REGIMES / "parts_claims.csv").set_index("against").loc[runs.AT_START]
    wider = stats.t.isf(0.005, 4) / stats.t.isf(0.025, 4)  # of five rows together
    assert [line.change, line.printed] == [-fresh.change, -2]
    assert line.low == pytest.approx(-fresh.change - wider * (fresh.high - fresh.change), abs=1e-3)
