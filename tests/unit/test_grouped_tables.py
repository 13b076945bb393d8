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
CUT = (PS, AT_START, NO_CONSTRAINT, RANDOM, MEMBER, SECOND, BOTH)  # rows of Table 3 that are held against GHT-PS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The rows of translation; all rows are in the store."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_groups.go_to(tmp_path_factory.getbasetemp(), patch)
        yield tiny_groups.make()


@pytest.fixture(autouse=True)
def store(isolated, tmp_path_factory, monkeypatch):
    """Tests look at the store that the rows were made in."""
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


def test_statistics_are_those_of_the_stored_outputs(made):
    for kind in subjects.METRICS:
        runs = tiny_groups.rows(kind)
        runs = {name: runs[name] for name in (VANILLA, PS)}
        found = tables.statistics(runs, 1)
        assert list(found) == [(VANILLA, TEST), (PS, TEST)]
        for name, spec in runs.items():
            outputs = grouping.runs.written(spec, TEST, 1)
            np.testing.assert_array_equal(found[name, TEST], subjects.text_of(spec).statistics(outputs, TEST))
        if kind == subjects.LANGUAGE:
            task = subjects.text_of(runs[PS])
            wanted = subjects.block_losses(grouping.runs.opened(runs[PS]), task.ids(TEST))
            np.testing.assert_allclose(found[PS, TEST], wanted, rtol=1e-5)
            assert not np.allclose(found[PS, TEST], found[VANILLA, TEST])


def test_what_attention_is_worth_is_the_score_of_a_model_that_has_lost_it():
    """Scores with a kind off are those of a model whose output projections read nothing of these heads."""
    changes = {"grouping.seeds": 2}
    rows = {kind: tiny_groups.rows(kind, changes) for kind in (subjects.SUMMARIZATION, subjects.LANGUAGE)}
    found = tables.worth_of_attention(rows, 1, 20)
    assert found.index.names == ["task", "row", "kind", "test set", "metric"]
    assert set(found.index.unique("row")) == {VANILLA, f"{VANILLA}, seed 2"}
    for task, kinds in ((subjects.SUMMARIZATION, ["encoder", "decoder", "cross"]), (subjects.LANGUAGE, ["decoder"])):
        spec = rows[task][VANILLA]
        of, part = subjects.text_of(spec), found.xs((task, VANILLA), level=("task", "row"))
        assert part.index.unique("kind").tolist() == kinds and (part["heads"] == 8).all()
        whole = of.interval(of.statistics(grouping.runs.written(spec, TEST, 1), TEST), None, 0)
        for kind in kinds:
            model = grouping.runs.opened(spec)
            for site in heads.sites(model):
                if site.kind == kind:  # what heads add to the stream; their projection's bias stays
                    site.projection("out").weight.data.zero_()
            off = of.interval(of.statistics(of.put_out(model, TEST, 1), TEST), None, 0)
            for metric in of.metrics:
                line = part.loc[kind, TEST, metric]
                assert line.whole == pytest.approx(whole[metric][0])
                assert line.change == pytest.approx(off[metric][0] - whole[metric][0], abs=1e-4)
                percent = 100 * line.change / line.whole if line.whole else np.nan  # of nothing there is no share
                assert line.percent == pytest.approx(percent, nan_ok=True)
                assert line.low <= line.change <= line.high
    language = found.loc[subjects.LANGUAGE]
    assert (language.change.abs() > 1e-3).all() and (language.over == intervals.BLOCKS).all()
    summaries = found.loc[subjects.SUMMARIZATION]
    assert (summaries.change != 0).any() and (summaries.over == intervals.SENTENCES).all()


def test_notebook_4_reads_what_attention_is_worth():
    every = set(tables.recipes(tiny_groups.settings(), tiny_groups.SEED))
    for kind, worth in ((subjects.TRANSLATION, False), (subjects.SUMMARIZATION, True), (subjects.LANGUAGE, True)):
        read = tables.attention_off(tiny_groups.rows(kind), 1, tiny_groups.settings()["bootstrap"])
        assert list(read) == [VANILLA] and (set(read.values()) <= every) is worth


def test_scores_of_translation_by_hand(made, scored):
    table, pairs = scored[subjects.TRANSLATION], subjects.text_of(made[VANILLA]).pairs(TEST)
    assert table.index.tolist() == [(name, TEST, "BLEU") for name in LOST] and table.index.names == [
        "row",
        "test set",
        "metric",
    ]
    bleu = {name: scoring.bleu(worse(pairs, lost), [pair.target for pair in pairs], 1)["bleu"] for name, lost in LOST.items()}
    for name in LOST:
        line = table.loc[name, TEST, "BLEU"]
        assert line.value == pytest.approx(bleu[name]) and line.low <= line.value <= line.high
        assert line.change == pytest.approx(bleu[name] - bleu[VANILLA])
        assert line.gain == pytest.approx(100 * (bleu[name] / bleu[VANILLA] - 1))
        np.testing.assert_allclose(
            [line.gain_low, line.gain_high], 100 * line[["change_low", "change_high"]].astype(float) / bleu[VANILLA]
        )
        assert line.dev_loss == study.read_json(grouping.runs.run(made[name]).results / "losses.json")["dev_loss"]
    changes = table.loc[VANILLA].filter(regex="change|gain")
    assert (changes == 0).all(axis=None)  # the reference against itself
    assert bleu[GHT] > bleu[PS] > bleu[VANILLA] and table.loc[GHT, TEST, "BLEU"].gain_low > 0


def test_scores_of_summarization_have_three_metrics(scored):
    table = scored[subjects.SUMMARIZATION]
    assert table.index.tolist() == [(name, TEST, metric) for name in LOST for metric in ("ROUGE-1", "ROUGE-2", "ROUGE-L")]
    task = subjects.text_of(tiny_groups.rows(subjects.SUMMARIZATION)[GHT])
    own, base = (task.statistics(worse(task.pairs(TEST), LOST[name]), TEST).mean(0) for name in (GHT, VANILLA))
    np.testing.assert_allclose(table.loc[GHT].value, own)
    np.testing.assert_allclose(table.loc[GHT].gain, 100 * (own / base - 1))


def test_a_lower_perplexity_is_a_gain(scored):
    table = scored[subjects.LANGUAGE]
    values = {name: np.exp(sum(lost) / 93) for name, lost in LOSSES.items()}
    for name, value in values.items():
        line = table.loc[name, TEST, "perplexity"]
        assert line.value == pytest.approx(value) and line.change == pytest.approx(value - values[VANILLA])
        assert line.gain == pytest.approx(100 * (1 - value / values[VANILLA]))
        assert line.gain_low <= line.gain <= line.gain_high
    gain = table.gain.droplevel(["test set", "metric"])
    assert gain[GHT] > 0 == gain[VANILLA] > gain[PS] and table.loc[GHT, TEST, "perplexity"].gain_low > 0


def test_more_seeds_are_compared_with_their_own_reference(made):
    runs = {name: tiny_groups.rows(subjects.LANGUAGE)[name] for name in (VANILLA, GHT)}
    runs |= {f"{name}, seed 2": spec for name, spec in runs.items()}
    losses = {VANILLA: (60.0,), GHT: (50.0,), f"{VANILLA}, seed 2": (40.0,), f"{GHT}, seed 2": (45.0,)}
    change = tables.scores(runs, counted(runs, losses), repeats=0).change.droplevel(["test set", "metric"])
    base = np.exp(np.array([60, 40]) / 31)
    np.testing.assert_allclose(change[[GHT, f"{GHT}, seed 2"]], np.exp(np.array([50, 45]) / 31) - base)
    assert change[VANILLA] == change[f"{VANILLA}, seed 2"] == 0


def test_another_reference(made):
    runs = {name: made[name] for name in LOST}
    table = tables.scores(runs, counted(runs, LOST), PS, 0)
    assert table.loc[PS, TEST, "BLEU"].change == 0 > table.loc[VANILLA, TEST, "BLEU"].change


def test_a_reference_that_scores_nothing_gives_no_gain(made):
    """As models that were hardly trained do: their gain is not a number, and the table is made."""
    for kind in (subjects.TRANSLATION, subjects.SUMMARIZATION):
        runs = {name: tiny_groups.rows(kind)[name] for name in (VANILLA, GHT)}
        task = subjects.text_of(runs[GHT])
        nothing = task.statistics([""] * len(task.pairs(TEST)), TEST)
        table = tables.scores(runs, {(name, TEST): nothing for name in runs}, repeats=10)
        assert (table.value == 0).all() and not np.isfinite(table.gain).any()


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
    if LITE in table.index:
        assert (table.loc[LITE, ["parameters", "FLOPs"]] < table.loc[PS, ["parameters", "FLOPs"]]).all()
        wanted, bare = (
            grouping.runs.weights(made[PS]["start"]["shape"], 2),
            lambda name: grouping.runs.weights(made[name]["start"]["shape"]),
        )
        np.testing.assert_allclose([bare(FEWER), bare(NARROWER)], wanted, rtol=0.06)


@pytest.mark.parametrize("kind", subjects.METRICS)
def test_speed_is_measured_side_by_side(made, kind):
    runs = {name: tiny_groups.rows(kind)[name] for name in (VANILLA, PS)}
    table = tables.speed(runs, rows=3, repeats=3)
    assert list(table.index) == [VANILLA, PS] and (table.rate > 0).all()
    assert table.loc[VANILLA, ["ratio", "low", "high"]].tolist() == [1, 1, 1]
    assert table.low[PS] <= table.ratio[PS] <= table.high[PS]


# --- the paper's tables ----------------------------------------------------------------------------------------------


def test_printed_gains_are_those_that_the_paper_claims():
    sums = {name: sum(row[0]) for name, row in tables.PRINTED.items()}
    assert all(len(row[0]) == 7 for row in tables.PRINTED.values())

    def over(one, other):
        return round(100 * (sums[one] / sums[other] - 1), 1)

    assert (over(GHT, VANILLA), over(PS, FEWER), over(PS, NARROWER), over(GHT, DISAGREE)) == (3.8, 4.9, 4.4, 2.9)
    parameters = {name: row[1] for name, row in tables.PRINTED.items()}
    assert {name for name in parameters if parameters[name] == 30} == {PS, FEWER, NARROWER, L0}
    lite, _, flops = tables.PRINTED_LITE  # Table 5: against a base model of 44M, and Lite Conv of 166M and 6184M
    assert (round(100 * (1 - lite / 44), 1), round(100 * (1 - lite / 166), 2), round(100 * (1 - flops / 6184), 2)) == (
        63.6,
        90.36,
        80.9,
    )
    assert round(100 * (tables.PRINTED_LITE[1] / 722.1 - 1), 1) == 62.1


def test_printed_ablation_is_that_of_the_first_five_sets():
    for name in (GHT, PS):
        assert tables.PRINTED_ABLATION[name] == tables.PRINTED[name][0][:5]
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
    table = tables.gains(scored)
    names = ["translation, BLEU", *(f"summarization, ROUGE-{n}" for n in "12L"), "language modelling, perplexity"]
    assert table.task.unique().tolist() == names and table.groupby("task").method.agg(list).map(set).eq({GHT, PS}).all()
    line = table[(table.task == names[0]) & (table.method == GHT)].iloc[0]
    ours = scored[subjects.TRANSLATION].loc[GHT, TEST, "BLEU"]
    assert (line.gain, line.low, line.high) == (ours.gain, ours.gain_low, ours.gain_high)
    printed = table.set_index(["task", "method"]).printed
    np.testing.assert_allclose(printed[names[0]][[GHT, PS]], [100 * 8.7 / 231, 100 * 7.5 / 231])
    assert printed[names[-1], GHT] == pytest.approx(100 * (1 - 18.6 / 19.14))
    assert printed[names[2], PS] == pytest.approx(100 * (21.31 / 17.97 - 1))


def test_gains_of_several_test_sets_are_told_apart(scored):
    table = scored[subjects.LANGUAGE]
    both = pd.concat([table, table.rename(index={TEST: "wikitext"}, level="test set")])
    assert set(tables.gains({"LM": both}).task) == {"LM, perplexity, test", "LM, perplexity, wikitext"}


def test_ablations_are_against_the_model_they_are_of(made):
    names = [GHT, PS, NO_DIVERSIFICATION, NO_HOMOGENISATION, AT_START, NO_CONSTRAINT, RANDOM, MEMBER, SECOND, BOTH,
             "votes once settled", "GHT, map O", "GHT-PS, map O"]  # fmt: skip
    runs = {name: made[name] for name in names}
    lost = {name: 3 + place for place, name in enumerate(names)}
    table = tables.ablation(runs, counted(runs, lost), 20)
    whole = [GHT, NO_DIVERSIFICATION, NO_HOMOGENISATION, "GHT, map O"]
    assert table.row.tolist() == whole + [name for name in names if name not in whole]
    assert (table.model == [GHT] * 4 + [PS] * 9).all() and table.attrs["references"] == {GHT: GHT, PS: PS}
    table = table.set_index("row")
    for name, line in table.iterrows():
        if name == line.model:
            assert np.isnan([line.change, line.change_low, line.change_high]).all()
        else:
            assert line.change == pytest.approx(line.value - table.value[line.model]) and line.change_low <= line.change_high
    assert table.family.eq(11).all() and table.p.isna().sum() == 2  # both references
    changed = table.drop([GHT, PS])
    assert changed.p_holm.tolist() == pytest.approx(intervals.holm(changed.p)) and (changed.p_holm >= changed.p).all()
    assert (table.shares[PS], table.shares[BOTH]) == (BOTH, PS)  # the same heads, whatever is done with them afterwards
    assert (table.shares[NO_CONSTRAINT], table.shares[SECOND]) == (SECOND, NO_CONSTRAINT)
    assert (table.shares.drop([PS, BOTH, NO_CONSTRAINT, SECOND]) == "").all()
    assert table.printed[NO_DIVERSIFICATION] == pytest.approx(np.mean([-0.7, -1.0, -0.6, -0.9, -0.8]))
    assert table.printed[SECOND] == pytest.approx(np.mean([-2.0, -0.9, -0.8, -0.8, -1.1]))
    assert table.printed[table.printed.isna()].index.tolist() == [GHT, "GHT, map O", PS, "votes once settled", "GHT-PS, map O"]


def test_scores_by_number_of_groups(made):
    names = [VANILLA, GHT, PS, "GHT, 1 groups", "GHT-PS, 1 groups", "GHT, 4 groups", "GHT, map O", "GHT, weight x 10", LITE]
    runs = {name: made[name] for name in names}
    lost = {name: 3 + place for place, name in enumerate(names)}
    table = tables.scores(runs, counted(runs, lost), repeats=0)
    found = tables.by_groups(table, 2, 4)
    rows = list(zip(found.method, found.groups, strict=True))
    assert rows == [(VANILLA, 2), (GHT, 2), (PS, 2), (GHT, 1), (PS, 1), (GHT, 4), (PS, 4)]
    values = table.value.droplevel(["test set", "metric"])
    assert found.value.tolist() == [*values[names[:6]], values["GHT, 4 groups"]]  # a group each: nothing goes
    assert (found.panel == TEST).all() and (found.unit == "BLEU").all()
    assert found.change.tolist() == [*table.change.droplevel(["test set", "metric"])[names[:6]], found.change.iloc[5]]


def test_comparisons_by_number_of_groups_are_one_family(made):
    names = [VANILLA, GHT, PS, "GHT, 1 groups", "GHT, 4 groups"]
    runs = {name: made[name] for name in names}
    table = tables.scores(runs, counted(runs, dict(zip(names, range(3, 8), strict=True))), repeats=30)
    found = tables.by_groups(table, 2, 4)
    # neither vanilla nor the run that stands in both columns is a comparison of its own
    assert found.family.eq(4).all() and found.p.isna().tolist() == [True, False, False, False, False, True]
    assert found.p_holm.iloc[1:5].tolist() == pytest.approx(intervals.holm(found.p.iloc[1:5]))


# --- several trainings, widths, a choice on dev ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def rungs(made):
    """Rows by width of a head, and their scores, each row losing other words."""
    found, scored = grouping.runs.ladder(tiny_groups.settings(), tiny_groups.SEED), {}
    for head, rows in found.items():
        scored[head] = tables.scores(rows, counted(rows, {name: 3 + place for place, name in enumerate(rows)}), repeats=50)
    return scored


def test_a_ladder_holds_every_training_against_its_own_vanilla(rungs):
    table = tables.ladder(rungs, tiny_groups.SEED)
    assert list(table.index) == [
        (head, row, seed) for head, seeds in ((2, [1]), (4, [1, 2])) for seed in seeds for row in (VANILLA, GHT, PS, AT_START)
    ]
    assert table.value.nunique() > 4 and (table.xs(VANILLA, level="row").change == 0).all()
    for head, row, seed in table.index:
        line = table.loc[(head, row, seed)]
        assert line.change == pytest.approx(line.value - table.loc[(head, VANILLA, seed), "value"])
        assert line.value == tables.first_scores(rungs[head]).value[row + (f", seed {seed}" if seed > 1 else "")]


def test_widths_of_several_trainings_have_t_intervals_and_those_of_one_its_sentences(rungs):
    table = tables.ladder(rungs, tiny_groups.SEED)
    over = tables.ladder_over_seeds(table)
    assert over.seeds.tolist() == [1] * 4 + [2] * 4 and (over.family == 6).all()
    assert over.over.tolist() == [intervals.SENTENCES] * 4 + [intervals.TRAININGS] * 4
    same = ["value", "low", "high", "change", "change_low", "gain"]
    assert over.loc[(2, GHT), same].tolist() == table.loc[(2, GHT, 1), same].tolist()
    for name, ends in (
        ("value", ("low", "high")),
        ("change", ("change_low", "change_high")),
        ("gain", ("gain_low", "gain_high")),
    ):
        values = table.loc[4].loc[PS, name]
        wanted = stats.t.interval(0.95, 1, values.mean(), stats.sem(values))
        np.testing.assert_allclose(over.loc[(4, PS), [name, *ends]].tolist(), [values.mean(), *wanted])


def test_the_ablation_over_seeds_is_the_mean_of_each_seed_against_its_own_reference(made):
    runs = grouping.runs.table_3(tiny_groups.settings(), tiny_groups.SEED)
    numbers = counted(runs, {name: 3 + place % 17 for place, name in enumerate(runs)})
    found = tables.ablation_over_seeds(runs, numbers).set_index("row")
    changes = []
    for seed, rows in enumerate(tables.by_seed(runs).values(), 1):
        assert len(rows) == 11
        own = {name: numbers[name + (f", seed {seed}" if seed > 1 else ""), TEST] for name in rows}
        value = {name: subjects.text_of(rows[name]).interval(one, None, 0)["BLEU"][0] for name, one in own.items()}
        changes.append(pd.Series({name: value[name] - value[PS if name in CUT else GHT] for name in rows}))
    apart = pd.concat(changes, axis=1).drop([GHT, PS]).loc[lambda table: table.index != VANILLA]
    np.testing.assert_allclose(found.change[apart.index], apart.mean(axis=1))
    ends = stats.t.interval(0.95, 1, apart.mean(axis=1), apart.sem(axis=1))
    np.testing.assert_allclose(found.loc[apart.index, ["change_low", "change_high"]].T, ends)
    assert (found.seeds == 2).all() and (found.over == intervals.TRAININGS).all()
    known = found.p.dropna()
    assert {*apart.index} <= {*known.index} and {GHT, PS}.isdisjoint(known.index)
    assert found.p_holm[known.index].tolist() == pytest.approx(intervals.holm(known))


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


def test_groups_form_where_they_are_trained(made):
    plain, tight = (tables.constraint_terms(made[name]["start"], 2).iloc[-1] for name in (VANILLA, GHT))
    assert tight.homogeneity > plain.homogeneity + 0.05 and tight.diversity < plain.diversity - 0.1
    silhouette = tables.compactness(made, table_of(made), {VANILLA: 0.0, GHT: 1.0, "GHT, weight x 10": 10.0}, 2).silhouette
    assert silhouette.is_monotonic_increasing


def table_of(made):
    runs = {name: made[name] for name in (VANILLA, GHT, "GHT, weight x 10")}
    return tables.scores(runs, counted(runs, {VANILLA: 4, GHT: 5, "GHT, weight x 10": 6}), repeats=10)


def test_compactness_beside_the_score(made):
    scored = table_of(made)
    table = tables.compactness(made, scored, {VANILLA: 0.0, GHT: 1.0}, 2)
    assert table.label.tolist() == [VANILLA, GHT] and table.strength.tolist() == [0, 1] and (table.unit == "BLEU").all()
    for line in table.itertuples():
        seen = tables.trace(made[line.label])
        last = int(np.flatnonzero(~np.isnan(seen["grams_0"]).any((1, 2)))[-1])
        assert last > 2
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
    kept = {}
    for (kind, layer, head), stays in tables.kept(made[PS]).items():
        kept.setdefault((kind, layer), []).extend([head] * stays)
    first = made[PS]["start"]
    table, seen = tables.map_of_heads(first, 2, kept), tables.trace(first)
    sites = [(site.kind, site.layer) for site in heads.sites(grouping.runs.opened(first))]
    steps = sorted(set(table.step))
    assert steps[:4] == [0, 3, 6, 9]
    assert len(table) == len(steps) * 24 and table.step.is_monotonic_increasing
    for number, (kind, layer) in enumerate(sites):
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
            plane = vectors[:, -2:] * np.sqrt(values[-2:])
            np.testing.assert_allclose(pdist(positions[step]), pdist(plane), atol=1e-7)
            np.testing.assert_allclose(positions[step].mean(0), 0, atol=1e-7)
        for one, two in itertools.pairwise(steps):  # no turn or mirror image would be nearer to the next look
            turn = positions[one].T @ positions[two]
            np.testing.assert_allclose(np.trace(turn), np.linalg.svd(turn, compute_uv=False).sum(), rtol=1e-6)


def test_names_of_groups_stay_from_look_to_look(made):
    first = made[PS]["start"]
    kept = {(site.kind, site.layer): [] for site in heads.sites(grouping.runs.opened(first))}
    table = tables.map_of_heads(first, 2, kept)
    group = table.pivot(index=["site", "head"], columns="step", values="group")
    for one, two in itertools.pairwise(group):
        same = group[one].eq(group[two]).groupby("site").sum()
        assert (same >= 2).all(), "the other way round more heads would keep their group's name"
    assert not table.kept.any()


def test_padding(made):
    spec = made[GHT]
    model, task = grouping.runs.opened(spec), subjects.text_of(spec)
    found, data = tables.padding(spec, 2, batches=100, rows=5), task.dev
    order = np.random.default_rng(0).permutation(len(data.source)).tolist()
    by_length = sorted(order, key=lambda row: (len(data.source[row]), len(data.target[row])))
    for name, chosen in (("like length", by_length), ("any length", order)):
        wanted = []
        for at in range(0, len(chosen), 5):
            batch = tokens.collate(data, chosen[at : at + 5], task.source.pad)
            seen = []
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
    assert 0 <= found.padded["like length"] < found.padded["any length"] and found.cosine["any length"] > 1e-5


def test_without_padding_nothing_changes(made):
    found = tables.padding(made[GHT], 2, batches=6, rows=1)  # a sentence a batch: source and target have no padding
    np.testing.assert_allclose(found, 0, atol=1e-6)


# --- votes, and which heads stay -------------------------------------------------------------------------------------


def test_votes_and_kept_heads(made):
    table = tables.votes(made[PS])
    assert list(table) == ["kind", "layer", "head", "group", "share", "kept"] and len(table) == 24
    shares = table.groupby(["kind", "layer"]).share.sum()
    np.testing.assert_allclose(shares, 2)  # one head a group wins each batch
    assert table.share.between(0, 1).all() and table[table.kept].share.min() > 0
    kept = tables.kept(made[PS])
    assert kept.index.names == list(ADDRESS) and kept.tolist() == table.kept.tolist() and kept.sum() == 12
    stored = heads.kept(grouping.runs.opened(made[PS]))
    assert tables.remaining(made[PS]) == stored
    assert sum(map(len, tables.remaining(made[L0]).values())) == 12 and list(tables.remaining(made[L0])) == list(stored)
    assert tables.sites(made[PS]) == list(stored) == tables.sites(made[PS]["start"])


def test_examples(made):
    runs = {name: made[name] for name in (VANILLA, PS)}
    table, pairs = tables.examples(runs, 1, 2), subjects.text_of(made[PS]).pairs(TEST)
    assert list(table.index) == ["source", "reference", VANILLA, PS] and table.shape == (4, 2)
    assert table.loc["source"].tolist() == [pair.source for pair in pairs[:2]]
    assert table.loc["reference"].tolist() == [pair.target for pair in pairs[:2]]
    for name, spec in runs.items():
        assert table.loc[name].tolist() == grouping.runs.written(spec, TEST, 1)[:2]


def test_what_kept_heads_are(made):
    start = made[PS]["start"]
    runs = {PS: made[PS], RANDOM: made[RANDOM]}
    table = tables.pillars(runs, start, repeats=5, first=4)
    assert len(table) == 48 and set(table.method) == {PS, RANDOM}
    assert list(table)[:3] == list(ADDRESS) and table.groupby("method").kept.sum().eq(12).all()
    for name, spec in runs.items():
        part = table[table.method == name].set_index(list(ADDRESS))
        assert part.kept.equals(tables.kept(spec)[part.index])
    one, two = (table[table.method == name].set_index(list(ADDRESS)) for name in runs)
    assert one.relevance.equals(two.relevance) and one.functions.equals(two.functions)  # of the model they start from
    np.testing.assert_allclose(one.groupby(level=["kind", "layer"]).relevance.sum(), 1, rtol=1e-4)
    assert one.functions.map(type).eq(str).all()


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
    rows = [
        ("p", name, seed, value, "BLEU")
        for name, values in ((VANILLA, base), (GHT, other))
        for seed, value in enumerate(values)
    ]
    rows += [("q", name, 0, 5.0, "BLEU") for name in (VANILLA, GHT)]
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]  # paired by seed, not by place
    frame = pd.DataFrame(rows, columns=["panel", "method", "seed", "value", "unit"])
    table = tables.means_over_seeds(frame)
    assert table.index.names == ["panel", "method"] and set(table.index) == {(p, m) for p in "pq" for m in (VANILLA, GHT)}
    line = table.loc["p", GHT]
    assert (line.seeds, line["mean"]) == (4, pytest.approx(np.mean(other)))
    low, high = stats.t.interval(0.95, 3, np.mean(other), stats.sem(other))
    np.testing.assert_allclose([line.low, line.high], [low, high])
    paired = stats.ttest_rel(other, base)
    interval = paired.confidence_interval(0.95)
    np.testing.assert_allclose(line[["change_low", "change_high"]].tolist(), [interval.low, interval.high])
    assert line.change_mean == pytest.approx(np.mean(other) - np.mean(base))
    assert table.loc[("p", VANILLA), ["change_mean", "change_low", "change_high"]].tolist() == [0, 0, 0]
    assert table.loc["q", GHT].seeds == 1 and np.isnan(table.loc["q", GHT].low) and table.loc["q", GHT]["mean"] == 5


# --- what is read ----------------------------------------------------------------------------------------------------


def test_tables_read_only_what_the_study_makes(made):
    settings, start, late = tiny_groups.settings(), tiny_groups.start(), tiny_groups.from_converged()
    wanted = {recipe.folder for recipe in tables.recipes(settings, tiny_groups.SEED, start)}
    first, since = made[PS]["start"], len(recipe.read_since(0))
    for runs, reference in (*((tiny_groups.rows(kind), VANILLA) for kind in subjects.METRICS), (late, grouping.runs.FURTHER)):
        scored = tables.scores(runs, tables.statistics(runs, 1), reference, 0)
        if reference == VANILLA:
            shown = tables.of_table_1(runs)
            assert tables.speeds(shown).folder in wanted
            tables.costs(shown)
        if runs == made:
            tables.compactness(made, scored, {VANILLA: 0.0, "GHT, weight x 10": 10.0}, 2)
            tables.both_stages(made[GHT], 2)
    for spec in (first, made[VANILLA]["start"]):
        tables.similarity(spec, 2)
    tables.map_of_heads(first, 2, tables.remaining(made[PS]))
    tables.padding(made[GHT], 2, settings["grouping"]["which"])
    for methods in tables.ways(made).values():
        tables.pillars(methods, grouping.runs.stages(next(iter(methods.values())))[0])
    found = {folder for folder in recipe.read_since(since) if study.runs() in folder.parents}
    assert found <= wanted, [folder.parent.name for folder in found - wanted]
