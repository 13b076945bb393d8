"""Tables of grouped heads: scores and costs by hand, the paper's numbers, groups over training, votes, overlaps, seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import heads, models, study
from helpers.experiments import grouping as tables
from helpers.experiments import grouping_runs as runs
from helpers.experiments.grouping_runs import BOTH, GHT, NO_CONSTRAINT, NO_DIVERSIFICATION, PS, SECOND, VANILLA
from helpers.methods import grouping
from helpers.runs import subjects
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
    whole = of.interval(of.statistics(runs.written(rows[VANILLA], TEST, 1), TEST), None, 0)["perplexity"][0]
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


def test_costs_are_those_of_the_models():
    rows = {name: quick()[name] for name in (VANILLA, PS)}
    table, ids = tables.costs(rows), torch.full((1, 30), 5)
    for name, spec in rows.items():
        model = runs.opened(spec)
        parameters, flops = models.size(model, {"input_ids": ids, "labels": ids})
        assert table.loc[name].tolist() == [sum(s.heads for s in heads.sites(model)), parameters / 1e6, flops / 1e6], name
    fast = tables.speed(rows, rows=3, repeats=3)  # side by side
    assert (fast.rate > 0).all() and fast.ratio[VANILLA] == 1 and fast.low[PS] <= fast.ratio[PS] <= fast.high[PS]


def test_ablations_are_against_the_model_they_are_of():
    names = [GHT, NO_DIVERSIFICATION, PS, runs.AT_START, NO_CONSTRAINT, SECOND, BOTH]
    rows = {name: quick()[name] for name in names}
    table = tables.ablation(rows, graded(rows), 20).set_index("row")
    assert table.model.to_dict() == dict(zip(names, [GHT] * 2 + [PS] * 5, strict=True))
    changed = table.drop([GHT, PS])
    np.testing.assert_allclose(changed.change, changed.value - table.value[changed.model].to_numpy())
    assert table.loc[[GHT, PS], ["change", "change_low", "change_high", "p"]].isna().all(axis=None)
    assert table.family.eq(5).all() and changed.p_holm.tolist() == pytest.approx(intervals.holm(changed.p))
    assert (table.shares[PS], table.shares[BOTH]) == (BOTH, PS)  # the same heads, whatever is done with them afterwards
    assert (table.shares[NO_CONSTRAINT], table.shares[SECOND]) == (SECOND, NO_CONSTRAINT)
    assert (table.shares.drop([PS, BOTH, NO_CONSTRAINT, SECOND]) == "").all()
    assert table.printed[NO_DIVERSIFICATION] == pytest.approx(np.mean([-0.7, -1.0, -0.6, -0.9, -0.8]))
    assert table.printed[SECOND] == pytest.approx(np.mean([-2.0, -0.9, -0.8, -0.8, -1.1]))


def test_a_ladder_holds_every_training_against_its_own_vanilla():
    rungs = {}
    for head, rows in runs.ladder(tiny_groups.settings(QUICK), tiny_groups.SEED).items():
        rows = {name: spec for name, spec in rows.items() if name.partition(",")[0] in (VANILLA, PS)}
        rungs[head] = tables.scores(rows, graded(rows), repeats=50)
    table = tables.ladder(rungs, tiny_groups.SEED)
    assert len(table) == 6 and table.value.nunique() > 3 and (table.xs(VANILLA, level="row").change == 0).all()
    for head, row, seed in table.index:
        line = table.loc[(head, row, seed)]
        assert line.change == pytest.approx(line.value - table.loc[(head, VANILLA, seed), "value"])
        assert line.value == tables.first_scores(rungs[head]).value[row + (f", seed {seed}" if seed > 1 else "")]
    over = tables.ladder_over_seeds(table, table)  # of several trainings a t interval, of one that of its sentences
    assert over.over.tolist() == [intervals.SENTENCES] * 2 + [intervals.TRAININGS] * 2
    assert over.against_start.dropna().tolist() == over.change.xs(PS, level="row").tolist()
    same = ["value", "low", "high", "change", "change_low", "gain"]
    assert over.loc[(2, PS), same].tolist() == table.loc[(2, PS, 1), same].tolist()
    for name, start in (("value", ""), ("change", "change_"), ("gain", "gain_")):
        values = table.loc[4].loc[PS, name]
        wanted = [values.mean(), *stats.t.interval(0.95, 1, values.mean(), stats.sem(values))]
        np.testing.assert_allclose(over.loc[(4, PS), [name, f"{start}low", f"{start}high"]].tolist(), wanted)


def test_controls_of_one_size_are_held_against_the_grouped_model_of_their_own_seed():
    specs = {}
    for seed in (1, 2):
        rows = runs.Rows(tiny_groups.settings(QUICK), subjects.TRANSLATION, seed, 1)
        named = {PS: rows.main()[PS], runs.FEWER: rows.peers()[runs.FEWER], runs.NARROWER: rows.peers()[runs.NARROWER]}
        specs |= {name + (f", seed {seed}" if seed > 1 else ""): spec for name, spec in named.items()}
    count = graded(specs)
    table, each = tables.equal_size(specs, count), tables.first_scores(tables.scores(specs, count, PS, 0)).value
    assert table.index.tolist() == [runs.FEWER, runs.NARROWER] and (table.seeds == 2).all()
    for name in table.index:
        gaps = np.array([each[PS] - each[name], each[f"{PS}, seed 2"] - each[f"{name}, seed 2"]])
        wanted = [gaps.mean(), *stats.t.interval(0.95, 1, gaps.mean(), stats.sem(gaps))]
        np.testing.assert_allclose(table.loc[name, ["change", "change_low", "change_high"]].tolist(), wanted)
        assert gaps[0] != gaps[1] and table.loc[name, "p"] == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue)


def test_choosing_on_dev_never_looks_at_the_test_set():
    rows = {
        VANILLA: (1.0, 50.0), GHT: (0.9, 60.0), PS: (1.1, 40.0), "GHT, alpha 2": (0.8, 55.0), "GHT, map A": (0.85, 99.0),
        "GHT-PS, beta 0": (1.0, 30.0), "GHT, 4 groups": (0.1, 70.0), "GHT-PS, weight x 10": (1.2, 45.0),
    }  # fmt: skip
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["dev_loss", "value"])
    frame.index = pd.MultiIndex.from_tuples([(name, TEST, "BLEU") for name in rows], names=["row", "test set", "metric"])
    seeds = pd.DataFrame({"dev_loss": [1.0, 0.7, 0.9], "value": [50.0, 52.0, 58.0]})
    seeds.index = pd.MultiIndex.from_tuples([(VANILLA, seed) for seed in (1, 2, 3)], names=["row", "seed"])
    found = tables.chosen_on_dev(frame, seeds)
    assert found.loc[GHT].tolist() == ["GHT, alpha 2", 3, 0.8, 55.0, 60.0]
    assert found.loc[PS].tolist() == ["GHT-PS, beta 0", 3, 1.0, 30.0, 40.0]
    assert found.loc[VANILLA].tolist() == ["seed 2", 3, 0.7, 52.0, 50.0]  # the best of as many trainings without a constraint


def test_gains_over_trainings_are_means():
    names = [f"{name}{end}" for end in ("", ", seed 2", ", seed 3") for name in (VANILLA, GHT)]
    index = pd.MultiIndex.from_product([names, [TEST], ["BLEU"]], names=["row", "test set", "metric"])
    gain = pd.Series([0, 1.0, 0, 2.0, 0, 6.0], index)
    table = pd.DataFrame({"gain": gain, "gain_low": gain - 1, "gain_high": gain + 1, "over": intervals.SENTENCES})
    (row,) = tables.gains({"translation": table}, {"translation": 16}).itertuples()
    assert (row.gain, row.head, row.seeds, row.over) == (3.0, 16, 3, intervals.TRAININGS)
    assert (row.low, row.high) == pytest.approx(stats.t.interval(0.95, 2, 3, stats.sem([1, 2, 6])))


def grams_of(model, task, first=8, which="V"):
    """Inner products of heads on the probe, a layer each."""
    batch = task.held_out(10**9, first, CPU)[0]
    with torch.no_grad(), grouping.watch(model.eval(), which) as watched:
        watched.feed(batch)
        model(**models.inputs(batch), use_cache=False)
    return [gram.double() for gram in watched.grams]


def test_the_first_look_is_at_the_untrained_model():
    made = tiny_groups.rows()
    first = made[GHT]["start"]
    task, terms = subjects.text_of(first), tables.constraint_terms(first, 2)
    model = task.build(first["shape"], 1)
    grams = grams_of(model, task)
    found = [grouping.group_loss(gram, grouping.clusters(gram, 2), 2, 1.0, 1.0)[1:] for gram in grams]
    assert terms.homogeneity[0] == pytest.approx(np.mean([float(near) for near, _ in found]), rel=1e-4)
    assert terms.diversity[0] == pytest.approx(np.mean([float(apart) for _, apart in found]), rel=1e-3, abs=1e-5)
    assert (tables.constraint_terms(first, 1).diversity == 0).all()
    pairs = tables.cosines({GHT: made[GHT]}, 2).set_index(["title", "kind", "layer", "head", "other"]).sort_index()
    for site, gram in zip(heads.sites(model), grams, strict=True):
        place = pairs.loc["random weights", site.kind, site.layer]
        labels = grouping.clusters(gram, 2)
        np.testing.assert_allclose(place.cosine.unstack(), grouping.cosines(gram), rtol=1e-3, atol=1e-5)
        assert place.group.unstack()[0].tolist() == labels.tolist() == place["other group"].unstack().loc[0].tolist()
    found = tables.contrasts(pairs.reset_index())
    assert len(found) == 2 * len(grams) and found.contrast[GHT].mean() > found.contrast["random weights"].mean() + 0.5
    kind, layer = found.contrast[GHT].idxmax()
    part = pairs.loc[GHT, kind, layer]
    groups = part.group.unstack()[0]
    inside = [(a, b) for a in range(4) for b in range(4) if a != b and groups[a] == groups[b]]
    across = [(a, b) for a in range(4) for b in range(4) if groups[a] != groups[b]]
    wanted = [part.cosine.loc[chosen].mean() for chosen in (inside, across)]
    assert found.loc[(GHT, kind, layer), ["same", "other"]].tolist() == pytest.approx(wanted)


def test_redundancy_stands_beside_the_halves_of_the_constraint_and_its_score():
    rows = tiny_groups.rows()
    specs = {name: rows[name] for name in (VANILLA, NO_DIVERSIFICATION, runs.NO_HOMOGENISATION, GHT)}
    scored = tables.scores(specs, graded(specs), repeats=20)
    table, apart = tables.redundancy(specs, scored, 2), tables.contrasts(tables.cosines(specs, 2))
    assert table[["pull", "push"]].to_numpy().tolist() == [[0, 0], [0.5, 0], [0, 0.3], [0.5, 0.3]]  # alpha and beta, weight 1
    assert table.reached[GHT] == pytest.approx(100 * apart.contrast[GHT].mean() / 2)  # two groups: from -1 to 1
    assert table.silhouette[GHT] > table.silhouette[VANILLA] and table.same[GHT] == pytest.approx(apart.same[GHT].mean())
    assert table.change[GHT] == scored.change[GHT, TEST, "BLEU"] and table.low[GHT] == scored.change_low[GHT, TEST, "BLEU"]


def test_means_over_seeds_by_scipy():
    base, other = [30.0, 31.0, 29.5, 30.2], [31.0, 31.5, 31.0, 30.1]
    rows = [("p", VANILLA, seed, value, "BLEU") for seed, value in enumerate(base)]
    rows += [("p", GHT, seed, value, "BLEU") for seed, value in enumerate(other)]
    rows += [("q", name, 0, 5.0, "BLEU") for name in (VANILLA, GHT)]
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]  # paired by seed, not by place
    table = tables.means_over_seeds(pd.DataFrame(rows, columns=["panel", "method", "seed", "value", "unit"]))
    line, interval = table.loc["p", GHT], stats.ttest_rel(other, base).confidence_interval(0.95)
    wanted = [4, np.mean(other), *stats.t.interval(0.95, 3, np.mean(other), stats.sem(other))]
    np.testing.assert_allclose(line[["seeds", "mean", "low", "high"]].tolist(), wanted)
    changes = [np.mean(other) - np.mean(base), interval.low, interval.high]
    np.testing.assert_allclose(line[["change_mean", "change_low", "change_high"]].tolist(), changes)
    assert table.loc["q", GHT].seeds == 1 and np.isnan(table.loc["q", GHT].low) and table.loc["q", GHT]["mean"] == 5
