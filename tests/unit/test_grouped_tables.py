"""Tables of grouped heads: scores and costs by hand, the paper's numbers, groups over training, votes, overlaps, seeds."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from helpers import heads, models, study
from helpers.corpora import tokens
from helpers.heads.families import ADDRESS
from helpers.methods import grouping
from helpers.methods.grouping import tables
from helpers.methods.grouping.runs import (
    AT_START,
    BOTH,
    DISAGREE,
    FEWER,
    GHT,
    L0,
    LITE,
    MEMBER,
    NARROWER,
    NO_CONSTRAINT,
    NO_DIVERSIFICATION,
    NO_HOMOGENISATION,
    PS,
    RANDOM,
    SECOND,
    VANILLA,
)
from helpers.runs import subjects
from helpers.scores import intervals, scoring
from helpers.study import recipe
from tests.unit import tiny_groups

CPU = torch.device("cpu")
TEST = "test"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The rows of translation."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_groups.go_to(tmp_path_factory.getbasetemp(), patch)
        yield tiny_groups.rows()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests share a store, in which a row is trained when the first test reads it."""
    tiny_groups.go_to(tmp_path_factory.getbasetemp(), monkeypatch)


def worse(pairs, every):
    """Texts of which each `every`th word is lost."""
    return [" ".join(word for n, word in enumerate(pair.target.split()) if (n + 1) % every) for pair in pairs]


def counted(runs, losses):
    """As `tables.statistics`, of outputs of our own: row -> which words are lost (or losses of 31 tokens each)."""
    task, found = subjects.text_of(next(iter(runs.values()))), {}
    for name, lost in losses.items():
        outputs = [[loss, 31] for loss in lost] if task.kind == subjects.LANGUAGE else worse(task.pairs(TEST), lost)
        found[name, TEST] = task.statistics(outputs, TEST)
    return found


LOST = {VANILLA: 5, GHT: 8, PS: 6}
LOSSES = {VANILLA: (60.0, 80.0, 100.0), GHT: (57.0, 79.0, 97.0), PS: (61.0, 82.0, 103.0)}


@pytest.fixture(scope="module")
def scored(made):
    """Scores of the main rows of each task, as if these were their outputs."""
    found = {}
    for kind in subjects.METRICS:
        runs = tiny_groups.rows(kind)
        runs = {name: runs[name] for name in LOST}
        found[kind] = tables.scores(runs, counted(runs, LOSSES if kind == subjects.LANGUAGE else LOST), repeats=100)
    return found


# --- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_statistics_are_those_of_the_stored_outputs(made, kind):
    runs = {name: tiny_groups.rows(kind)[name] for name in (VANILLA, PS)}
    task, found = subjects.text_of(runs[PS]), tables.statistics(runs, 1)
    assert list(found) == [(VANILLA, TEST), (PS, TEST)]
    for name, spec in runs.items():
        np.testing.assert_array_equal(found[name, TEST], task.statistics(grouping.runs.written(spec, TEST, 1), TEST))
    if kind == subjects.LANGUAGE:
        wanted = subjects.block_losses(grouping.runs.opened(runs[PS]), task.ids(TEST))
        np.testing.assert_allclose(found[PS, TEST], wanted, rtol=1e-5)
    else:
        shown = tables.examples(runs, 1, 2)
        assert list(shown.index) == ["source", "reference", VANILLA, PS] and shown.shape == (4, 2)
        assert shown.loc["reference"].tolist() == [pair.target for pair in task.pairs(TEST)[:2]]
        assert shown.loc[PS].tolist() == grouping.runs.written(runs[PS], TEST, 1)[:2]


def test_what_attention_is_worth_is_the_score_of_a_model_that_has_lost_it(made):
    """Scores with a kind off are those of a model whose output projections read nothing of these heads."""
    rows = {subjects.SUMMARIZATION: tiny_groups.rows(subjects.SUMMARIZATION)}
    rows[subjects.LANGUAGE] = tiny_groups.rows(subjects.LANGUAGE)
    found = tables.worth_of_attention(rows, 1, 20)
    assert found.index.names == ["task", "row", "kind", "test set", "metric"] and set(found.index.unique("row")) == {VANILLA}
    for task, kinds in ((subjects.SUMMARIZATION, ["encoder", "decoder", "cross"]), (subjects.LANGUAGE, ["decoder"])):
        spec = rows[task][VANILLA]
        of, part = subjects.text_of(spec), found.xs((task, VANILLA), level=("task", "row"))
        assert part.index.unique("kind").tolist() == kinds and (part["heads"] == 8).all()
        whole = of.interval(of.statistics(grouping.runs.written(spec, TEST, 1), TEST), None, 0)
        for kind in kinds[:1]:
            model = grouping.runs.opened(spec)
            for site in heads.sites(model, kind):  # what heads add to the stream; their projection's bias stays
                site.projection("out").weight.data.zero_()
            off = of.interval(of.statistics(of.put_out(model, TEST, 1), TEST), None, 0)
            for metric in of.metrics:
                line = part.loc[kind, TEST, metric]
                assert line.whole == pytest.approx(whole[metric][0])
                assert line.change == pytest.approx(off[metric][0] - whole[metric][0], abs=1e-4)
                percent = 100 * line.change / line.whole if line.whole else np.nan  # of nothing there is no share
                assert line.percent == pytest.approx(percent, nan_ok=True)
    assert (found.change != 0).any() and (found.loc[subjects.LANGUAGE].over == intervals.BLOCKS).all()


def test_scores_of_translation_by_hand(made, scored):
    table, task = scored[subjects.TRANSLATION], subjects.text_of(made[VANILLA])
    references = [pair.target for pair in task.pairs(TEST)]
    assert table.index.tolist() == [(name, TEST, "BLEU") for name in LOST]
    assert table.index.names == ["row", "test set", "metric"]
    bleu = {name: scoring.bleu(worse(task.pairs(TEST), lost), references, 1)["bleu"] for name, lost in LOST.items()}
    for name in LOST:
        line = table.loc[name, TEST, "BLEU"]
        assert line.value == pytest.approx(bleu[name]) and line.low <= line.value <= line.high
        assert line.change == pytest.approx(bleu[name] - bleu[VANILLA])
        gains = 100 * line[["change", "change_low", "change_high"]].astype(float) / bleu[VANILLA]
        np.testing.assert_allclose(line[["gain", "gain_low", "gain_high"]].tolist(), gains)
        assert line.dev_loss == study.read_json(grouping.runs.run(made[name]).results / "losses.json")["dev_loss"]
    assert (table.loc[VANILLA].filter(regex="change|gain") == 0).all(axis=None)  # the reference against itself
    runs = {name: made[name] for name in LOST}
    other = tables.scores(runs, counted(runs, LOST), PS, 0)
    np.testing.assert_allclose(other.change, [bleu[name] - bleu[PS] for name in LOST])
    nothing = task.statistics([""] * len(references), TEST)  # as models that were hardly trained do
    empty = tables.scores(runs, {(name, TEST): nothing for name in runs}, repeats=10)
    assert (empty.value == 0).all() and not np.isfinite(empty.gain).any()


def test_summaries_have_three_metrics(scored):
    table = scored[subjects.SUMMARIZATION]
    assert table.index.tolist() == [(name, TEST, metric) for name in LOST for metric in ("ROUGE-1", "ROUGE-2", "ROUGE-L")]
    task = subjects.text_of(tiny_groups.rows(subjects.SUMMARIZATION)[GHT])
    own, base = (task.statistics(worse(task.pairs(TEST), LOST[name]), TEST).mean(0) for name in (GHT, VANILLA))
    np.testing.assert_allclose(table.loc[GHT].value, own)
    np.testing.assert_allclose(table.loc[GHT].gain, 100 * (own / base - 1))


def test_a_lower_perplexity_is_a_gain_over_the_reference_of_its_seed(made, scored):
    table = scored[subjects.LANGUAGE]
    values = {name: np.exp(sum(lost) / 93) for name, lost in LOSSES.items()}
    for name, value in values.items():
        line = table.loc[name, TEST, "perplexity"]
        assert line.value == pytest.approx(value) and line.change == pytest.approx(value - values[VANILLA])
        assert line.gain == pytest.approx(100 * (1 - value / values[VANILLA]))
        assert line.gain_low <= line.gain <= line.gain_high
    runs = {name: tiny_groups.rows(subjects.LANGUAGE)[name] for name in (VANILLA, GHT)}
    runs |= {f"{name}, seed 2": spec for name, spec in runs.items()}
    losses = {VANILLA: (60.0,), GHT: (50.0,), f"{VANILLA}, seed 2": (40.0,), f"{GHT}, seed 2": (45.0,)}
    change = tables.scores(runs, counted(runs, losses), repeats=0).change.droplevel(["test set", "metric"])
    wanted = np.exp(np.array([60, 50, 40, 45]) / 31) - np.exp(np.array([60, 60, 40, 40]) / 31)
    np.testing.assert_allclose(change, wanted, atol=1e-12)


# --- costs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_costs_are_those_of_the_models(made, kind):
    runs = {name: spec for name, spec in tiny_groups.rows(kind).items() if name in (VANILLA, PS, LITE, FEWER, NARROWER)}
    table = tables.costs(runs)
    assert list(table.index) == list(runs)
    for name, spec in runs.items():
        model, ids = grouping.runs.opened(spec), torch.full((1, 30), 5)
        batch = {"input_ids": ids} if kind == subjects.LANGUAGE else {"input_ids": ids, "labels": ids}
        parameters, flops = models.size(model, batch)
        assert table.loc[name].tolist() == [sum(s.heads for s in heads.sites(model)), parameters / 1e6, flops / 1e6], name
    assert (table.loc[PS] < table.loc[VANILLA]).all() and table.heads[PS] == table.heads[VANILLA] / 2
    fast = tables.speed({name: runs[name] for name in (VANILLA, PS)}, rows=3, repeats=3)  # side by side
    assert list(fast.index) == [VANILLA, PS] and (fast.rate > 0).all() and fast.ratio[VANILLA] == 1
    assert fast.low[PS] <= fast.ratio[PS] <= fast.high[PS]


# --- the paper's tables ----------------------------------------------------------------------------------------------


def test_printed_gains_are_those_that_the_paper_claims():
    sums = {name: sum(row[0]) for name, row in tables.PRINTED.items()}
    claimed = {(GHT, VANILLA): 3.8, (PS, FEWER): 4.9, (PS, NARROWER): 4.4, (GHT, DISAGREE): 2.9}
    assert {pair: round(100 * (sums[pair[0]] / sums[pair[1]] - 1), 1) for pair in claimed} == claimed
    assert {name for name, row in tables.PRINTED.items() if row[1] == 30} == {PS, FEWER, NARROWER, L0}
    # Table 5: against a base model of 44M, a speed of 722.1, and Lite Conv of 166M and 6184M
    lite, speed, flops = tables.PRINTED_LITE
    assert (round(lite / 44, 3), round(speed / 722.1, 3), round(lite / 166, 4), round(flops / 6184, 4)) == (
        0.364, 1.621, 0.0964, 0.191,
    )  # fmt: skip
    assert all(tables.PRINTED_ABLATION[name] == tables.PRINTED[name][0][:5] for name in (GHT, PS))
    worst = {name: np.mean(bleu) for name, bleu in tables.PRINTED_ABLATION.items()}
    assert len(worst) == 10 and max(worst, key=worst.get) == GHT and min(worst, key=worst.get) == BOTH


def test_table_1_has_the_papers_numbers_beside_ours(made, scored):
    runs = {name: made[name] for name in LOST}
    cost = tables.costs(runs)
    fast = pd.DataFrame({"rate": 9.0, "ratio": [1.0, 1.1, 1.2], "low": 0.0, "high": 2.0}, list(LOST))
    table = tables.table_1(scored[subjects.TRANSLATION], cost, fast)
    assert list(table.index) == list(LOST)
    np.testing.assert_array_equal(table.value, scored[subjects.TRANSLATION].value)
    np.testing.assert_array_equal(table.parameters, cost.parameters)
    assert table.speed.tolist() == [1.0, 1.1, 1.2]
    assert table["printed BLEU"].tolist() == [28.0, 29.1, 28.9] and table["printed parameters"].tolist() == [44, 44, 30]
    np.testing.assert_allclose(table["printed gain"], [0, 100 * 8.7 / 231, 100 * 7.5 / 231])  # sums over seven sets
    np.testing.assert_allclose(table["printed speed"], [1, 1016.4 / 1012.1, 1122.1 / 1012.1])
    shown = tables.against_cost(table, "EN-DE")
    assert shown.method.tolist() == list(LOST) and (shown.task == "EN-DE").all() and (shown.unit == "BLEU").all()
    assert shown.parameters.tolist() == cost.parameters.tolist() and shown.speed.tolist() == [1.0, 1.1, 1.2]


def test_the_other_tasks_have_the_papers_numbers_beside_ours(scored):
    others = {kind: scored[kind] for kind in (subjects.SUMMARIZATION, subjects.LANGUAGE)}
    table = tables.table_others(others)
    assert len(table) == 12 and table.index.names == ["task", "row", "test set", "metric"]
    assert table.loc[subjects.SUMMARIZATION, PS, TEST, "ROUGE-2"].printed == 21.31
    assert table.loc[subjects.LANGUAGE, GHT, TEST, "perplexity"].printed == 18.60
    gain = table["printed gain"]
    assert gain[subjects.SUMMARIZATION, GHT, TEST, "ROUGE-1"] == pytest.approx(100 * (40 / 38.45 - 1))
    assert gain[subjects.LANGUAGE, PS, TEST, "perplexity"] == pytest.approx(100 * (1 - 18.59 / 19.14)) and gain.min() == 0


def test_gains_of_all_tasks(scored):
    table = tables.gains(scored).set_index(["task", "method"])
    names = ["translation, BLEU", *(f"summarization, ROUGE-{n}" for n in "12L"), "language modelling, perplexity"]
    assert set(table.index) == {(name, row) for name in names for row in (GHT, PS)}
    ours = scored[subjects.TRANSLATION].loc[GHT, TEST, "BLEU"]
    assert table.loc[(names[0], GHT), ["gain", "low", "high"]].tolist() == [ours.gain, ours.gain_low, ours.gain_high]
    wanted = {(names[0], GHT): 100 * 8.7 / 231, (names[-1], GHT): 100 * (1 - 18.6 / 19.14)}
    wanted[names[2], PS] = 100 * (21.31 / 17.97 - 1)
    assert {place: table.printed[place] for place in wanted} == pytest.approx(wanted)
    both = pd.concat([scored[subjects.LANGUAGE], scored[subjects.LANGUAGE].rename(index={TEST: "wikitext"}, level="test set")])
    assert set(tables.gains({"LM": both}).task) == {"LM, perplexity, test", "LM, perplexity, wikitext"}


def test_ablations_are_against_the_model_they_are_of(made):
    whole = [GHT, NO_DIVERSIFICATION, NO_HOMOGENISATION, "GHT, map O"]
    names = [*whole, PS, AT_START, NO_CONSTRAINT, RANDOM, MEMBER, SECOND, BOTH, "votes once settled", "GHT-PS, map O"]
    runs = {name: made[name] for name in names}
    table = tables.ablation(runs, counted(runs, {name: 3 + place for place, name in enumerate(names)}), 20)
    assert table.row.tolist() == names and (table.model == [GHT] * 4 + [PS] * 9).all()
    assert table.attrs["references"] == {GHT: GHT, PS: PS}
    table = table.set_index("row")
    changed = table.drop([GHT, PS])
    np.testing.assert_allclose(changed.change, changed.value - table.value[changed.model].to_numpy())
    assert table.loc[[GHT, PS], ["change", "change_low", "change_high", "p"]].isna().all(axis=None)
    assert table.family.eq(11).all() and changed.p_holm.tolist() == pytest.approx(intervals.holm(changed.p))
    assert (table.shares[PS], table.shares[BOTH]) == (BOTH, PS)  # the same heads, whatever is done with them afterwards
    assert (table.shares[NO_CONSTRAINT], table.shares[SECOND]) == (SECOND, NO_CONSTRAINT)
    assert (table.shares.drop([PS, BOTH, NO_CONSTRAINT, SECOND]) == "").all()
    assert table.printed[NO_DIVERSIFICATION] == pytest.approx(np.mean([-0.7, -1.0, -0.6, -0.9, -0.8]))
    assert table.printed[SECOND] == pytest.approx(np.mean([-2.0, -0.9, -0.8, -0.8, -1.1]))
    assert table.printed[table.printed.isna()].index.tolist() == [GHT, "GHT, map O", PS, "votes once settled", "GHT-PS, map O"]


def test_scores_by_number_of_groups(made):
    names = [VANILLA, GHT, PS, "GHT, 1 groups", "GHT-PS, 1 groups", "GHT, 4 groups", "GHT, map O", "GHT, weight x 10", LITE]
    runs = {name: made[name] for name in names}
    table = tables.scores(runs, counted(runs, {name: 3 + place for place, name in enumerate(names)}), repeats=30)
    found = tables.by_groups(table, 2, 4)
    rows = list(zip(found.method, found.groups, strict=True))
    assert rows == [(VANILLA, 2), (GHT, 2), (PS, 2), (GHT, 1), (PS, 1), (GHT, 4), (PS, 4)]
    values = table.value.droplevel(["test set", "metric"])
    assert found.value.tolist() == [*values[names[:6]], values["GHT, 4 groups"]]  # a group each: nothing goes
    # neither vanilla nor the run that stands in both columns is a comparison of its own
    assert found.family.eq(5).all() and found.p.isna().tolist() == [True, *[False] * 5, True]
    assert found.p_holm.iloc[1:6].tolist() == pytest.approx(intervals.holm(found.p.iloc[1:6]))


# --- several trainings, widths, a choice on dev ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def rungs(made):
    """Rows by width of a head, and their scores, each row losing other words."""
    found, scored = grouping.runs.ladder(tiny_groups.settings(), tiny_groups.SEED), {}
    for head, rows in found.items():
        rows = {name: spec for name, spec in rows.items() if name.partition(",")[0] in (VANILLA, PS)}
        scored[head] = tables.scores(rows, counted(rows, {name: 3 + place for place, name in enumerate(rows)}), repeats=50)
    return scored


def test_a_ladder_holds_every_training_against_its_own_vanilla(rungs):
    table = tables.ladder(rungs, tiny_groups.SEED)
    assert list(table.index) == [
        (head, row, seed) for head, seeds in ((2, [1]), (4, [1, 2])) for seed in seeds for row in (VANILLA, PS)
    ]
    assert table.value.nunique() > 3 and (table.xs(VANILLA, level="row").change == 0).all()
    for head, row, seed in table.index:
        line = table.loc[(head, row, seed)]
        assert line.change == pytest.approx(line.value - table.loc[(head, VANILLA, seed), "value"])
        assert line.value == tables.first_scores(rungs[head]).value[row + (f", seed {seed}" if seed > 1 else "")]


def test_widths_of_several_trainings_have_t_intervals_and_those_of_one_its_sentences(rungs):
    table = tables.ladder(rungs, tiny_groups.SEED)
    over = tables.ladder_over_seeds(table)
    assert over.seeds.tolist() == [1, 1, 2, 2] and (over.family == 2).all()
    assert over.over.tolist() == [intervals.SENTENCES] * 2 + [intervals.TRAININGS] * 2
    same = ["value", "low", "high", "change", "change_low", "gain"]
    assert over.loc[(2, PS), same].tolist() == table.loc[(2, PS, 1), same].tolist()
    for name, start in (("value", ""), ("change", "change_"), ("gain", "gain_")):
        values = table.loc[4].loc[PS, name]
        wanted = [values.mean(), *stats.t.interval(0.95, 1, values.mean(), stats.sem(values))]
        np.testing.assert_allclose(over.loc[(4, PS), [name, f"{start}low", f"{start}high"]].tolist(), wanted)


def test_the_ablation_over_seeds_is_the_mean_of_each_seed_against_its_own_reference(made):
    models = {GHT: GHT, PS: PS, NO_DIVERSIFICATION: GHT, NO_CONSTRAINT: PS}
    runs = grouping.runs.table_3(tiny_groups.settings(), tiny_groups.SEED)
    runs = {name: spec for name, spec in runs.items() if name.partition(",")[0] in models}
    numbers = counted(runs, {name: 3 + place for place, name in enumerate(runs)})
    found, changes = tables.ablation_over_seeds(runs, numbers).set_index("row"), []
    for end, rows in tables.by_seed(runs).items():
        task, own = subjects.text_of(rows[PS]), {name: numbers[name + end, TEST] for name in rows}
        value = {name: task.interval(one, None, 0)["BLEU"][0] for name, one in own.items()}
        changes.append(pd.Series({name: value[name] - value[models[name]] for name in (NO_DIVERSIFICATION, NO_CONSTRAINT)}))
    apart = pd.concat(changes, axis=1)
    ends = stats.t.interval(0.95, 1, apart.mean(axis=1), apart.sem(axis=1))
    np.testing.assert_allclose(found.loc[apart.index, ["change", "change_low", "change_high"]].T, [apart.mean(axis=1), *ends])
    assert (found.seeds == 2).all() and (found.over == intervals.TRAININGS).all()
    known = found.p.dropna()
    assert {*known.index} == {*apart.index} and found.p_holm[known.index].tolist() == pytest.approx(intervals.holm(known))


def test_choosing_on_dev_never_looks_at_the_test_set():
    rows = {
        VANILLA: (1.0, 50.0), GHT: (0.9, 60.0), PS: (1.1, 40.0), "GHT, alpha 2": (0.8, 55.0), "GHT, map A": (0.85, 99.0),
        "GHT-PS, beta 0": (1.0, 30.0), "GHT, 4 groups": (0.1, 70.0), "GHT-PS, weight x 10": (1.2, 45.0), LITE: (0.2, 80.0),
    }  # fmt: skip
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["dev_loss", "value"])
    frame.index = pd.MultiIndex.from_tuples([(name, TEST, "BLEU") for name in rows], names=["row", "test set", "metric"])
    seeds = pd.DataFrame({"dev_loss": [1.0, 0.7, 0.9], "value": [50.0, 52.0, 58.0]})
    seeds.index = pd.MultiIndex.from_tuples([(VANILLA, seed) for seed in (1, 2, 3)], names=["row", "seed"])
    found = tables.chosen_on_dev(frame, seeds)
    assert found.loc[GHT].tolist() == ["GHT, alpha 2", 3, 0.8, 55.0, 60.0]
    assert found.loc[PS].tolist() == ["GHT-PS, beta 0", 3, 1.0, 30.0, 40.0]
    assert found.loc[VANILLA].tolist() == ["seed 2", 3, 0.7, 52.0, 50.0]  # the best of as many trainings without a constraint


# --- groups ----------------------------------------------------------------------------------------------------------


def grams_of(model, task, first=8, which="V"):
    """Inner products of heads on the probe, a layer each."""
    batch = task.held_out(10**9, first, CPU)[0]
    with torch.no_grad(), grouping.watch(model.eval(), which) as watched:
        watched.feed(batch)
        model(**models.inputs(batch), use_cache=False)
    return [gram.double() for gram in watched.grams]


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_the_first_look_is_at_the_untrained_model(made, kind):
    for name in (VANILLA, GHT):
        first = grouping.runs.stages(tiny_groups.rows(kind)[name])[0]
        task, terms = subjects.text_of(first), tables.constraint_terms(first, 2)
        grams = grams_of(task.build(first["shape"], 1), task)
        found = [grouping.group_loss(gram, grouping.clusters(gram, 2), 2, 1.0, 1.0)[1:] for gram in grams]
        assert terms.step.tolist()[:4] == [0, 3, 6, 9]
        assert terms.homogeneity[0] == pytest.approx(np.mean([float(near) for near, _ in found]), rel=1e-4)
        assert terms.diversity[0] == pytest.approx(np.mean([float(apart) for _, apart in found]), rel=1e-3, abs=1e-5)
        assert np.isnan(terms["shift"][0]) and (terms["shift"][1:] > 0).all()
        alone = tables.constraint_terms(first, 1)
        assert (alone.diversity == 0).all() and (alone.homogeneity < terms.homogeneity).all()


def test_compactness_beside_the_score(made):
    strengths = {VANILLA: 0.0, GHT: 1.0, "GHT, weight x 10": 10.0}
    runs = {name: made[name] for name in strengths}
    scored = tables.scores(runs, counted(runs, dict(zip(strengths, (4, 5, 6), strict=True))), repeats=10)
    table = tables.compactness(made, scored, strengths, 2)
    assert table.label.tolist() == [*strengths] and table.strength.tolist() == [0, 1, 10] and (table.unit == "BLEU").all()
    assert table.silhouette.is_monotonic_increasing  # groups form where they are trained
    for line in table.itertuples():
        seen = tables.trace(made[line.label])
        last = int(np.flatnonzero(~np.isnan(seen["grams_0"]).any((1, 2)))[-1])
        grams = [torch.tensor(seen[f"grams_{site}"][last]) for site in range(6)]
        wanted = pd.DataFrame([grouping.compactness(gram, grouping.clusters(gram, 2)) for gram in grams]).mean()
        assert (line.silhouette, line.dunn) == (wanted.silhouette, wanted.dunn)
        assert line.value == scored.loc[line.label, TEST, "BLEU"].value


def test_both_stages_follow_each_other(made):
    whole = tables.both_stages(made[GHT], 2)
    one, two = (tables.constraint_terms(spec, 2) for spec in (made[GHT]["start"], made[GHT]))
    pd.testing.assert_frame_equal(whole[: len(one)], one)
    assert whole.step.tolist() == [*one.step, *(two.step + 12)] and whole.step.is_monotonic_increasing and len(two) > 3
    np.testing.assert_allclose(tables.constraint_terms(made[PS], 2).homogeneity, 1)  # of every group one head is left
    looked = grams_of(grouping.runs.opened(made[GHT]["start"]), subjects.text_of(made[GHT]))
    whole_stage_2 = tables.trace(made[GHT])
    for site, gram in enumerate(looked):  # stage 2 begins with the model that stage 1 left
        np.testing.assert_allclose(whole_stage_2[f"grams_{site}"][0], gram, rtol=1e-4, atol=1e-6)


def test_similarity_before_and_after(made):
    first = made[GHT]["start"]
    before, after, groups_before, groups_after = tables.similarity(first, 2)
    model = subjects.text_of(first).build(first["shape"], 1)
    places = [(site.kind, site.layer) for site in heads.sites(model)]
    assert list(before) == list(after) == list(groups_before) == list(groups_after) == places
    for site, gram in zip(places, grams_of(model, subjects.text_of(first)), strict=True):
        np.testing.assert_allclose(before[site], grouping.cosines(gram), rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(groups_before[site], grouping.clusters(gram, 2))
        np.testing.assert_allclose(np.diag(after[site]), 1)
        assert set(groups_after[site]) == {0, 1} and groups_after[site][0] == 0
    inside = [table[np.equal.outer(groups_after[s], groups_after[s])].mean() for s, table in after.items()]
    across = [table[np.not_equal.outer(groups_after[s], groups_after[s])].mean() for s, table in after.items()]
    assert np.mean(inside) > np.mean(across) + 0.5


def test_map_of_heads(made):
    first, kept = made[PS]["start"], tables.remaining(made[PS])
    table, seen = tables.map_of_heads(first, 2, kept), tables.trace(first)
    steps = sorted(set(table.step))
    assert steps[:4] == [0, 3, 6, 9] and len(table) == len(steps) * 24 and table.step.is_monotonic_increasing
    for number, (kind, layer) in enumerate(tables.sites(first)):
        site = table[table.site == f"{kind} {layer + 1}"]
        assert site[site.kept].groupby("step")["head"].agg(list).tolist() == [kept[kind, layer]] * len(steps)
        positions = {}
        for look, step in enumerate(steps):
            part = site[site.step == step].sort_values("head")
            positions[step] = part[["x", "y"]].to_numpy()
            cosines = grouping.cosines(torch.tensor(seen[f"grams_{number}"][look])).numpy()
            labels = grouping.clusters(torch.tensor(seen[f"grams_{number}"][look]), 2).numpy()
            assert squareform(pdist(part[["group"]])).astype(bool).tolist() == np.not_equal.outer(labels, labels).tolist()
            # turning and mirroring a look keeps what classical scaling gives: the best plane for these distances
            centring = np.eye(4) - 1 / 4
            values, vectors = np.linalg.eigh(centring @ cosines @ centring)
            np.testing.assert_allclose(pdist(positions[step]), pdist(vectors[:, -2:] * np.sqrt(values[-2:])), atol=1e-7)
            np.testing.assert_allclose(positions[step].mean(0), 0, atol=1e-7)
        for one, two in itertools.pairwise(steps):  # no turn or mirror image would be nearer to the next look
            turn = positions[one].T @ positions[two]
            np.testing.assert_allclose(np.trace(turn), np.linalg.svd(turn, compute_uv=False).sum(), rtol=1e-6)
    group = table.pivot(index=["site", "head"], columns="step", values="group")
    for one, two in itertools.pairwise(group):  # the other way round fewer heads would keep their group's name
        assert (group[one].eq(group[two]).groupby("site").sum() >= 2).all()


def test_padding(made):
    spec = made[GHT]
    model, task = grouping.runs.opened(spec), subjects.text_of(spec)
    found, data = tables.padding(spec, 2, batches=100, rows=5), task.dev
    order = np.random.default_rng(0).permutation(len(data.source)).tolist()
    by_length = sorted(order, key=lambda row: (len(data.source[row]), len(data.target[row])))
    for name, chosen in (("like length", by_length), ("any length", order)):
        wanted = []
        for at in range(0, len(chosen), 5):
            batch, seen = tokens.collate(data, chosen[at : at + 5], task.source.pad), []
            for padding in (False, True):
                with torch.no_grad(), grouping.watch(model, "V", padding=padding) as watched:
                    watched.feed(batch)
                    model(**models.inputs(batch), use_cache=False)
                groups = [grouping.clusters(gram, 2) for gram in watched.grams]
                near = [grouping.closeness(g, labels, 2)[0] for g, labels in zip(watched.grams, groups, strict=True)]
                seen.append((torch.cat(groups), torch.cat(near)))
            real = torch.cat([batch["attention_mask"].flatten() == 1, batch["labels"].flatten() != -100])
            moved, apart = (seen[0][0] != seen[1][0]).double().mean(), (seen[0][1] - seen[1][1]).abs().mean()
            wanted.append([1 - float(real.double().mean()), float(moved), float(apart)])
        np.testing.assert_allclose(found.loc[name], np.mean(wanted, 0), rtol=1e-2, atol=1e-6)
    assert found.padded["like length"] < found.padded["any length"]


# --- votes, and which heads stay -------------------------------------------------------------------------------------


def test_votes_and_kept_heads(made):
    table, stored = tables.votes(made[PS]), heads.kept(grouping.runs.opened(made[PS]))
    assert list(table) == ["kind", "layer", "head", "group", "share", "kept"] and len(table) == 24
    np.testing.assert_allclose(table.groupby(["kind", "layer"]).share.sum(), 2)  # one head a group wins each batch
    kept = tables.kept(made[PS])
    assert kept.index.names == list(ADDRESS) and kept.tolist() == table.kept.tolist() and kept.sum() == 12
    assert tables.remaining(made[PS]) == stored and list(tables.remaining(made[L0])) == list(stored)
    assert tables.sites(made[PS]) == list(stored) == tables.sites(made[PS]["start"])


def test_what_kept_heads_are(made):
    runs = {PS: made[PS], RANDOM: made[RANDOM]}
    table = tables.pillars(runs, made[PS]["start"], repeats=5, first=4)
    assert set(table.method) == {PS, RANDOM} and list(table)[:3] == list(ADDRESS)
    one, two = (table[table.method == name].set_index(list(ADDRESS)) for name in runs)
    for part, spec in zip((one, two), runs.values(), strict=True):
        assert len(part) == 24 and part.kept.equals(tables.kept(spec)[part.index])
    assert one.relevance.equals(two.relevance) and one.functions.equals(two.functions)  # of the model they start from
    np.testing.assert_allclose(one.groupby(level=["kind", "layer"]).relevance.sum(), 1, rtol=1e-4)


def test_overlap_by_hand():
    rows = []
    marks = {"a": "110010", "b": "011000", "c": "000000"}
    for method, kept in marks.items():
        for head in range(6):
            rows.append({
                "kind": "encoder", "layer": head // 3, "head": head % 3, "method": method, "kept": kept[head] == "1",
                "relevance": head / 10, "functions": "rare" if head in (1, 4, 5) else "",
            })  # fmt: skip
    table = tables.overlap(pd.DataFrame(rows))
    assert list(table.index) == ["a", "b", "c"] and (table["heads"] == 6).all() and table["kept"].tolist() == [3, 2, 0]
    assert table.functional.tolist() == [2, 1, 0] and (table.functional_all == 3).all()
    np.testing.assert_allclose(table.relevance[:2], [0.5 / 3, 0.15])
    assert (table.relevance_all == 0.25).all() and np.isnan(table.relevance["c"])
    assert table.loc["a", ["with b", "with c"]].tolist() == [1, 0] and table.loc["b", "with a"] == 1
    assert table.loc["a", "with b, chance"] == 3 * 2 / 6 and np.isnan(table.loc["a", "with a"])


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_scores_of_every_seed(scored):
    table = scored[subjects.LANGUAGE]
    more = table.rename(index=lambda name: f"{name}, seed 4", level="row")
    found = tables.per_seed({"LM": pd.concat([table, more])}, rows=(VANILLA, GHT), seed=3)
    assert list(zip(found.method, found.seed, strict=True)) == [(VANILLA, 3), (GHT, 3), (VANILLA, 4), (GHT, 4)]
    assert (found.panel == "LM: test").all() and (found.unit == "perplexity").all()
    assert found.value.tolist() == [*table.value[:2], *table.value[:2]]
    panels = tables.per_seed({"sums": scored[subjects.SUMMARIZATION]}).panel.unique()
    assert panels.tolist() == [f"sums: test, ROUGE-{n}" for n in "12L"]


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
    assert table.loc[("p", VANILLA), ["change_mean", "change_low", "change_high"]].tolist() == [0, 0, 0]
    assert table.loc["q", GHT].seeds == 1 and np.isnan(table.loc["q", GHT].low) and table.loc["q", GHT]["mean"] == 5


# --- what is read ----------------------------------------------------------------------------------------------------


def test_tables_read_only_what_the_study_makes(made):
    settings, start, late = tiny_groups.settings(), tiny_groups.start(), tiny_groups.from_converged()
    wanted = {recipe.folder for recipe in tables.recipes(settings, tiny_groups.SEED, start)}
    first, since = made[PS]["start"], len(recipe.read_since(0))
    for runs, reference in (*((tiny_groups.rows(kind), VANILLA) for kind in subjects.METRICS), (late, grouping.runs.FURTHER)):
        few = {name: runs[name] for name in (reference, GHT, PS)}
        tables.scores(few, tables.statistics(few, 1), reference, 0)
        if reference == VANILLA:
            shown = tables.of_table_1(runs)
            assert tables.speeds(shown).folder in wanted
            tables.costs(shown)
            worth = set(tables.attention_off(runs, 1, settings["bootstrap"]).values())  # of summaries and language models
            assert {one.folder for one in worth} <= wanted or runs == made
    tables.both_stages(made[GHT], 2)
    for spec in (first, made[VANILLA]["start"]):
        tables.similarity(spec, 2)
    tables.map_of_heads(first, 2, tables.remaining(made[PS]))
    tables.padding(made[GHT], 2, settings["grouping"]["which"])
    for methods in tables.ways(made).values():
        tables.pillars(methods, grouping.runs.stages(next(iter(methods.values())))[0])
    found = {folder for folder in recipe.read_since(since) if study.runs() in folder.parents}
    assert found <= wanted, [folder.parent.name for folder in found - wanted]
