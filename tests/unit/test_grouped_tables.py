"""Tables of grouped heads: scores and costs by hand, the paper's numbers, groups over training, votes, overlaps, seeds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from helpers import heads, models, study
from helpers.experiments import grouping as tables
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import GHT, NO_CONSTRAINT, NO_DIVERSIFICATION, PS, SECOND, VANILLA
from helpers.methods import grouping
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring
from tests.unit import tiny_groups

STORE = tiny_groups.go_to
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


def graded(rows):
    """`counted`, each row losing other words."""
    return counted(rows, {name: 3 + place for place, name in enumerate(rows)})


LOST = {VANILLA: 5, GHT: 8, PS: 6}
LOSSES = {VANILLA: (60.0, 80.0, 100.0), GHT: (57.0, 79.0, 97.0), PS: (61.0, 82.0, 103.0)}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Scores of the main rows of two tasks, as if these were their outputs."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        tiny_groups.go_to(tmp_path_factory.getbasetemp(), patch)
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


def test_ablations_are_against_the_model_they_are_of():
    names = [GHT, NO_DIVERSIFICATION, PS, runs.AT_START, NO_CONSTRAINT, SECOND]
    rows = {name: quick()[name] for name in names}
    table = tables.ablation(rows, graded(rows), 20).set_index("row")
    assert table.model.to_dict() == dict(zip(names, [GHT] * 2 + [PS] * 4, strict=True))
    changed = table.drop([GHT, PS])
    np.testing.assert_allclose(changed.change, changed.value - table.value[changed.model].to_numpy())
    assert table.loc[[GHT, PS], ["change", "change_low", "change_high", "p", "printed"]].isna().all(axis=None)
    assert table.family.eq(4).all() and changed.p_holm.tolist() == pytest.approx(intervals.holm(changed.p))
    assert table.printed[NO_DIVERSIFICATION] == pytest.approx(np.mean([-0.7, -1.0, -0.6, -0.9, -0.8]))
    assert table.printed[SECOND] == pytest.approx(np.mean([-2.0, -0.9, -0.8, -0.8, -1.1]))


def test_trainings_are_means_with_t_intervals_and_a_lone_one_keeps_its_own():
    rows = {VANILLA: quick()[VANILLA], GHT: quick()[GHT], PS: quick()[PS]}
    rows |= {f"{name}, seed {seed}": rows[name] for seed in (2, 3) for name in (VANILLA, GHT)}
    table = tables.scores(rows, graded(rows), repeats=20)
    means = tables.first(tables.trainings(table))
    assert means.over.to_dict() == {VANILLA: intervals.TRAININGS, GHT: intervals.TRAININGS, PS: intervals.SENTENCES}
    for names in tables.SCORES.values():
        each = tables.first(table)
        assert means.loc[PS, [*names]].tolist() == each.loc[PS, [*names]].tolist()
        values = each[names[0]][[name for name in rows if name.startswith("GHT") and not name.startswith(PS)]]
        wanted = [values.mean(), *stats.t.interval(0.95, 2, values.mean(), stats.sem(values))]
        np.testing.assert_allclose(means.loc[GHT, [*names]].tolist(), wanted)
    found = tables.gains(tiny_groups.settings(QUICK), {subjects.TRANSLATION: table}).set_index("method")
    assert found.index.tolist() == [GHT, PS] and (found["head"] == 4).all() and found.seeds.tolist() == [3, 1]
    assert found.gain[GHT] == means.gain[GHT] and found.low[PS] == means.gain_low[PS] and found.level[GHT] == means.value[GHT]
    assert (found.vanilla == means.value[VANILLA]).all() and found.printed[GHT] == pytest.approx(3.8, abs=0.05)


def test_a_ladder_holds_every_training_against_its_own_vanilla(monkeypatch):
    rungs = runs.ladder(tiny_groups.settings(QUICK), tiny_groups.SEED)
    monkeypatch.setattr(tables, "statistics", lambda specs, beam: graded(specs))
    table = tables.ladder(rungs, 1, 20)
    assert table.seeds[2].eq(1).all() and table.seeds[4].eq(2).all()
    for head, rows in rungs.items():
        for reference, column in ((VANILLA, "change"), (runs.AT_START, "against_start")):
            each = tables.first(tables.scores(rows, graded(rows), reference, 0))
            assert table.loc[(head, PS), column] == pytest.approx(each[each.method == PS].change.mean())
        assert table.against_start[head].notna().sum() == 1


def test_models_of_one_size_are_held_against_the_grouped_model_of_their_own_seed():
    every = runs.equal_size(tiny_groups.settings(QUICK), tiny_groups.SEED)
    assert sum(name.startswith(runs.LITE) for name in every) == 1
    shown = (VANILLA, PS, runs.FEWER, runs.NARROWER, runs.RANDOM)
    specs = {name: spec for name, spec in every.items() if name.partition(", ")[0] in shown}
    count = graded(specs)
    table, each = tables.equal_size(specs, count, 20), tables.first(tables.scores(specs, count, PS, 0)).value
    assert set(table.index) == set(shown) and table.value.is_monotonic_decreasing and table.change[[PS]].isna().all()
    for name in (runs.FEWER, runs.NARROWER):
        gaps = np.array([each[PS] - each[name], each[f"{PS}, seed 2"] - each[f"{name}, seed 2"]])
        wanted = [gaps.mean(), *stats.t.interval(0.95, 1, gaps.mean(), stats.sem(gaps))]
        np.testing.assert_allclose(table.loc[name, ["change", "change_low", "change_high"]].tolist(), wanted)
        assert gaps[0] != gaps[1] and table.loc[name, "p"] == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue)
    assert table.p.notna().sum() == 2 == table.family.iloc[0]
    ids = torch.full((1, 30), 5)
    for name in (VANILLA, PS):
        model = runs.opened(specs[name])
        parameters, flops = models.size(model, {"input_ids": ids, "labels": ids})
        wanted = [sum(site.heads for site in heads.sites(model)), parameters / 1e6, flops / 1e6]
        assert table.loc[name, ["heads", "parameters", "FLOPs"]].tolist() == wanted, name
    assert table.parameters[runs.RANDOM] == table.parameters[PS]  # of the same shape


def grams_of(model, task, first=8, which="V"):
    """Inner products of heads on the probe, a layer each."""
    batch = task.held_out(10**9, first, CPU)[0]
    with torch.no_grad(), grouping.watch(model.eval(), which) as watched:
        watched.feed(batch)
        model(**models.inputs(batch), use_cache=False)
    return [gram.double() for gram in watched.grams]


def test_looks_begin_at_the_untrained_model_and_end_with_groups():
    made = tiny_groups.rows()
    task, terms = subjects.text_of(made[GHT]), tables.constraint_terms(made[GHT], 2)
    model = task.build(made[GHT]["start"]["shape"], 1)
    grams = grams_of(model, task)
    found = [grouping.group_loss(gram, grouping.clusters(gram, 2), 2, 1.0, 1.0)[1:] for gram in grams]
    assert terms.homogeneity[0] == pytest.approx(np.mean([float(near) for near, _ in found]), rel=1e-4)
    assert terms.diversity[0] == pytest.approx(np.mean([float(apart) for _, apart in found]), rel=1e-3, abs=1e-5)
    assert terms.step.tolist()[:2] == [0, made[GHT]["start"]["watch"]["every"]]
    assert (tables.constraint_terms(made[GHT], 1).diversity == 0).all()
    looks = tables.grams(made[GHT])
    assert list(looks) == [(site.kind, site.layer) for site in heads.sites(model)]
    for seen, gram in zip(looks.values(), grams, strict=True):
        np.testing.assert_allclose(seen[0], gram, rtol=1e-3, atol=1e-5)
    tight = tables.tightness(made[GHT], 2)
    place = tight.formed.idxmax()
    assert tight.formed[place] > tables.tightness(made[VANILLA], 2).formed.max() + 0.2
    pairs = tables.cosines({GHT: made[GHT]}, 2, place).set_index(["head", "other"])
    groups = pairs.group.unstack()[0]
    np.testing.assert_allclose(pairs.cosine.unstack(), grouping.cosines(torch.tensor(looks[place][-1])))
    inside = [(a, b) for a in range(4) for b in range(4) if a != b and groups[a] == groups[b]]
    across = [(a, b) for a in range(4) for b in range(4) if groups[a] != groups[b]]
    same, other = (pairs.cosine.loc[chosen].mean() for chosen in (inside, across))
    assert tight.loc[place, ["same", "other", "formed"]].tolist() == pytest.approx([same, other, (same - other) / 2])


def test_redundancy_stands_beside_the_score():
    rows = tiny_groups.rows()
    specs = {name: rows[name] for name in (VANILLA, GHT, PS)}
    scored = tables.scores(specs, graded(specs), repeats=20)
    table = tables.redundancy(specs, scored, 2)
    assert table.stay.tolist() == ["all heads", "all heads", "one head a group"]
    assert table.formed[GHT] == table.formed[PS] == pytest.approx(tables.tightness(rows[GHT], 2).formed.mean())
    assert table.silhouette[GHT] > table.silhouette[VANILLA]
    assert table.change[PS] == scored.change[PS, TEST, "BLEU"] and table.low[PS] == scored.change_low[PS, TEST, "BLEU"]
