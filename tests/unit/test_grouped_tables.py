"""Tables of grouped heads: scores and costs by hand, the paper's numbers, groups over training, votes, overlaps, seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import heads, models, study
from helpers.heads.families import ADDRESS
from helpers.methods import grouping
from helpers.methods.grouping import runs, said, tables
from helpers.methods.grouping.runs import BOTH, GHT, NO_CONSTRAINT, NO_DIVERSIFICATION, PS, SECOND, VANILLA
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


def test_statistics_are_those_of_the_stored_outputs():
    rows = {PS: quick()[PS]}
    task, found = subjects.text_of(rows[PS]), tables.statistics(rows, 1)
    written = runs.written(rows[PS], TEST, 1)
    np.testing.assert_array_equal(found[PS, TEST], task.statistics(written, TEST))


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
    rows = {name: rows[name] for name in LOST}
    other = tables.scores(rows, counted(rows, LOST), PS, 0)
    np.testing.assert_allclose(other.change, [bleu[name] - bleu[PS] for name in LOST])
    nothing = task.statistics([""] * len(references), TEST)  # as models that were hardly trained do
    empty = tables.scores(rows, {(name, TEST): nothing for name in rows}, repeats=10)
    assert (empty.value == 0).all() and not np.isfinite(empty.gain).any()


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


def test_gains_of_all_tasks(scored):
    table = tables.gains(scored, {kind: 8 + place for place, kind in enumerate(scored)}).set_index(["task", "method"])
    bleu, perplexity = "translation, BLEU", "language modelling, perplexity"
    ours = scored[subjects.TRANSLATION].loc[GHT, TEST, "BLEU"]
    assert table.loc[(bleu, GHT), ["gain", "low", "high"]].tolist() == [ours.gain, ours.gain_low, ours.gain_high]
    few = table.loc[bleu, PS]
    assert f"loses on {'1' if few.high < 0 else 'none'} of 1" in said.gains(table.loc[[bleu]].reset_index())
    assert [table["head"][bleu, GHT], table["head"][perplexity, PS]] == [8, 7 + len(scored)]
    assert table.printed[bleu, GHT] == pytest.approx(100 * 8.7 / 231)
    assert table.printed[perplexity, PS] == pytest.approx(100 * (1 - 18.59 / 19.14))


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
    assert table.attrs == {"references": {GHT: GHT, PS: PS}}


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
    ends = dict(zip(["against_start", "against_start_low", "against_start_high"], (-2.0, -3.0, -1.0), strict=True))
    rows = pd.MultiIndex.from_tuples([(2, PS), (4, PS), (2, "few"), (4, "few")], names=["head", "row"])
    wide = pd.DataFrame({"change": [-9.0, -6.0, -5.0, -4.0], "change_high": -1.0, "seeds": [5, 1, 5, 1], **ends}, rows)
    told = "*Few* cost 5.0 and 4.0 BLEU at head dimension 2 and 4 (model width: times 8); "
    told = f"{told.removesuffix('; ')}, 56 to 67 % of the loss of GHT-PS, which loses 2.0 and 2.0 more"
    assert said.ladder(wide, "few", 8) == f"{told}."
    own = wide.xs(PS, level="row", drop_level=False)
    assert said.ladder(own, "few", 8) == "GHT-PS loses 9.0 and 6.0 BLEU at head dimension 2 and 4 (model width: times 8)."
    wide.loc[(4, PS), "against_start_high"] = 0.2
    assert said.ladder(wide, "few", 8) == f"{told}; at 4 the interval holds zero."
    assert said.ladder(wide.assign(seeds=1), "few", 8).endswith("so that no trend can be told between widths.")
    few = wide.rename(index={"few": said.FEW, 4: 64}).assign(change_low=-7.0)
    told = "At the paper's head dimension, 64, one head per group costs 6.0 [1.0, 7.0] BLEU (1 training)."
    assert said.late_choice(few, 16) == told and said.late_choice(None, 16) == ""
    both = pd.concat([few, few.loc[[(64, PS)]].rename(index={PS: GHT}).assign(change=0.4, change_high=1.4)])
    assert "64, the constraint changes BLEU by +0.4 [-7.0, +1.4] and one head" in said.late_choice(both, 16)
    told = "All 4,000 steps train the final shape of *narrower*, the last 1,600 that of GHT-PS and the rest (*L0*, after its"
    assert said.late(4000, 0.6, [runs.NARROWER, PS, runs.L0]) == f"{told} gates: 800)."
    assert said.late(4000, 0.6, [PS]) == "Of 4,000 steps the last 1,600 train the final shape of GHT-PS."
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
    early = {name.replace(runs.NARROWER, runs.AT_START): spec for name, spec in specs.items()}
    known = {(name.replace(runs.NARROWER, runs.AT_START), split): one for (name, split), one in count.items()}
    table = tables.equal_size(early, known)
    gaps = [each[f"{runs.NARROWER}{end}"] - each[f"{runs.FEWER}{end}"] for end in ("", ", seed 2")]
    assert table.early[runs.FEWER] == pytest.approx(np.mean(gaps)) and np.isnan(table.early[runs.AT_START])
    assert np.isnan(table.p_holm[runs.AT_START]) and table.family[runs.FEWER] == 1  # Table 3 tests that row


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
    assert said.chosen(found) == "Choosing on held-out text brings no more than luck does (one training each)."
    assert "brings more than luck does" in said.chosen(found.assign(value=63.0))


def test_a_decoder_of_today_is_held_against_its_plain_row_and_rivals_of_as_many_heads(monkeypatch):
    tight = f"GHT, weight x 10: {runs.DRAWN}, draw 1"
    losses = {  # of each row, then those of its plain row, of chance and of importance at as many heads
        VANILLA: (60, None, None, None), PS: (70, 60, None, None), runs.FEW_PAIRS: (64, 60, None, None),
        runs.ALIKE: (61, 60, 64, None), f"{runs.DRAWN}, draw 1": (66, 60, None, None),
        f"{runs.DRAWN}, draw 2": (62, 60, None, None), tight: (63, 60, None, None),
        f"GHT, weight x 10: {runs.WINNER}": (59, 60, 63, None), "L0 0": (65, 64, (64 + 84) / 2, (64 + 75) / 2),
        "L0 0.2": (90, 64, None, None), "L0's heads 0.2": (70, 64, 84, 75), runs.GHT_FEW: (63, 64, None, None),
        runs.PS_FEW: (71, 64, None, None), "gradient importance, 3 a layer": (75, 64, 84, None),
        "random heads off, 3 a layer, draw 1": (80, 64, None, 75), "random heads off, 3 a layer, draw 2": (88, 64, None, 75),
    }  # fmt: skip
    rows = {name: tiny_groups.today()[name] for name in losses}
    left = {runs.run(spec).key: 6 for name, spec in rows.items() if "3 a layer" in name}
    many = {PS: 4, runs.PS_FEW: 4, "L0's heads 0.2": 6, "L0 0": 7, "L0 0.2": 2}
    left |= {runs.run(rows[name]).key: stay for name, stay in many.items()}
    monkeypatch.setattr(tables.training, "kept", lambda recipe: {("decoder", 0): range(left.get(recipe.key, 8))})
    frame = tables.today(rows, counted(rows, {name: (own, own + 9, own - 3) for name, (own, *_) in losses.items()}), 20)
    asked, found = frame.reset_index("asked").asked, frame.droplevel("asked")

    def level(loss):
        return np.exp((3 * loss + 6) / 93)

    for name, (own, *others) in losses.items():
        line = found.loc[name]
        assert line.value == pytest.approx(level(own)) and line.low <= line.value <= line.high
        for what, other in zip(("change", "chance", "importance"), others, strict=True):
            assert line[what] == pytest.approx(np.nan if other is None else level(own) - level(other), nan_ok=True), name
            assert np.isnan(line[f"{what}_p_holm"]) == (other is None)
        assert line.dev_loss == study.read_json(runs.run(rows[name]).results / "losses.json")["dev_loss"]
        assert line.heads == left.get(runs.run(rows[name]).key, 8) and np.isfinite(line.before) == (asked[name] == "shared")
    assert (asked[VANILLA], asked[runs.FEW_PAIRS], asked[PS], asked[tight]) == ("whole", "whole", "removed", "shared")
    assert (found.pairs[VANILLA], found.pairs[tight], found.pairs["L0 0"], found.over[PS]) == (4, 2, 2, intervals.BLOCKS)
    assert len(tables.worth_of_attention(tables.decoders(rows), 1, 20)) == 2
    told = f"groups do better than random ones ({frame.chance['shared', runs.ALIKE]:+.3f} ["
    assert told in said.shared(frame) and said.shared(frame.drop(index=("shared", runs.ALIKE))) == ""
    wide = frame.assign(chance_low=-9.0, chance_high=9.0)
    turned = wide.rename(index={f"{runs.DRAWN}, draw 1": runs.TURNED, f"{runs.DRAWN}, draw 2": runs.TURNED_NEIGHBOURS})
    turned.loc[("shared", runs.TURNED_NEIGHBOURS), "chance"] = -0.5
    assert "cannot be told from" in said.shared(wide) and "neighbours -0.500 [-9.000, +9.000] (no" in said.shared(turned)
    judged = said.today_constraint(frame, [-0.08, 0.02])
    assert judged.startswith("In 2 trainings of the language models above perplexity changes by -0.08 to +0.02 with the")
    assert judged.endswith(f"here 1 of 1 lie beyond ({frame.change['whole', runs.GHT_FEW]:+.2f}).")
    assert said.today_constraint(frame, [-0.3, 9.0]).endswith("here none of 1 lie beyond.")
    assert "1 of 1 lie beyond" in said.today_constraint(frame, [-9.0, -8.0])  # whichever side
    assert said.today_constraint(frame, [-0.08]) == ""


def test_what_is_said_follows_the_numbers():
    rows = [("a, BLEU", GHT, 1, 0.5, 2, 3), ("a, other", GHT, -9, -9, -9, 1), ("b, BLEU", GHT, -1, -2, 5, 4),
            ("c, BLEU", GHT, -1, -2, 1, 4), ("a, BLEU", PS, -8, -9, -7, 3), ("b, BLEU", PS, 1, -1, 2, 3)]  # fmt: skip
    gained = pd.DataFrame(rows, columns=["task", "method", "gain", "low", "high", "printed"]).assign(p_holm=0.01, seeds=5)
    told = said.lead(gained, "generated", 0.18)
    assert told.startswith("**The constraint helps a, and one head per group is not enough.** On generated text the cons")
    assert told.endswith("+3.0; 18 % of full grouping), one head per group -8.0 [-9.0, -7.0] %.") and "+1.00 [+0.50, " in told
    open_ = gained.assign(low=-2, high=[1, 1, 9, 9, -7, 1], task=gained.task.replace("c, BLEU", f"{subjects.LANGUAGE}, BLEU"))
    begin = "**Not here: no gain shows over repeated trainings, the printed one is excluded for"
    assert said.lead(open_, "natural").startswith(f"{begin} a, and one head per group is not enough.** On natural")
    assert f"{begin[13:]} none, and" in said.lead(open_.assign(high=9), "natural")
    sure = said.lead(gained[gained.task.str.startswith("a")].assign(low=4, high=5), "natural")
    assert sure.startswith("**The constraint helps a, and one head per group costs nothing.**")
    told = "The constraint alone shows a gain on 1 of the 3 tasks; one head per group loses on 1 of 2, by"
    assert said.gains(gained).startswith(told) and "loses on all 2, by" in said.gains(gained.assign(high=-1))
    columns = ["row", *said.ENDS, "p_holm", "printed"]
    rows = [(runs.RANDOM, -0.5, -1, 0.2, 0.5, 1), (runs.MEMBER, -1, -2, -0.1, 0.2, -1), (runs.AT_START, 2, 1, 3, 0.1, 1)]
    without = pd.DataFrame(rows, columns=columns)
    ends = {"change_low": -5.0, "change_high": -4.0, "against_start_low": -3.0, "against_start_high": -1.0}
    ends |= {"change": [-7.0, -4.9], "against_start": -2.1, "seeds": 5}
    steps = pd.DataFrame(ends, pd.MultiIndex.from_product([[16], [PS, said.FEW]], names=["head", "row"]))
    told = said.vote(without)
    assert told.startswith("We cannot tell the vote from lot: BLEU changes by -0.5 [-1.0, +0.2] with random heads removed")
    assert told.endswith(" with a random member of each group kept (not after Holm's correction).")
    told = "Mostly yes: a model that has only as many heads from the first step on already loses 4.9 [4.0, 5.0] of the 7.0"
    assert said.price(steps, 16) == f"{told} BLEU." and said.price(None, 16) == said.price(steps, 8) == ""
    late = "The rest, 2.1 [1.0, 3.0], comes from choosing late, from the method, or both"
    assert said.late_choice(steps, 16) == said.late_choice(steps, 16, without.assign(p_holm=0.01)) == f"{late}."
    assert "2.1 [1.0, 3.0] (not after Holm's correction over table 3, p = 0.100), comes" in said.late_choice(steps, 16, without)
    wider = pd.concat([steps.rename(index={16: 8}), steps.rename(index={16: 32}).assign(seeds=1), steps])
    more = "2.1 [1.0, 3.0] and 2.1 [1.0, 3.0] (one training)"
    assert said.late_choice(wider, 16) == f"{late}; at head dimension 8 and 32 it is {more}."
    assert said.vote(without.assign(p_holm=[0.5, 0.01, 0.1])).startswith("The vote beats 1 of 2 random choices: ")
    assert said.vote(None) == said.vote(without[2:]) == said.vote(without.assign(change=np.nan)) == ""
    told, larger = "None of the 3 parts is shown to be needed after Holm's correction", "are larger than the interval here all"
    without = pd.concat([without.assign(model=PS), pd.DataFrame({"row": [PS], "model": PS, "value": 50.0})])
    assert said.ablation(without) == f"{told}; 0 of 1 printed losses in BLEU, 0 in %, {larger}ows."
    losses = without.assign(printed=[-3, -0.8, -9, np.nan], change_low=-1)  # of 33.96: 8.8, 2.4 and 26.5 %; 1 of 50: 2 %
    assert said.ablation(losses).endswith(f"2 of 3 printed losses in BLEU, 3 in %, {larger}ows.")
    told = "2 of the 3 parts are shown to be needed after Holm's correction: *random heads removed* (-0.5 BLEU)"
    assert said.ablation(without.assign(p_holm=[0.01] * 3 + [np.nan])).startswith(told)
    more = tried = pd.DataFrame({"panel": "a", "method": GHT, "groups": [2, 8], "change": 1.3, "change_low": 0.4,
                                 "change_high": 2.2, "p": [0.1, 0.012]})  # fmt: skip
    told = "gains with 1 of 3 numbers of heads and groups: 16 heads in 8 groups, +1.3 [+0.4, +2.2] BLEU (Holm's p 0.036, one"
    assert told in said.detected({8: more[:1], 16: more})
    assert said.detected({16: more}).endswith("training); all 2 rows of 16 heads lie above one vanilla, whose luck they share.")
    assert "With none of 1 number of heads" in said.detected({8: more[:1]})
    assert "The constraint loses with 1 of 2 numbers of heads and groups: 8 heads in 8" in said.detected(
        {8: more.assign(change=-1)}
    )
    beside = pd.DataFrame([(-4, -5, -3)], [runs.FEWER], said.ENDS)  # GHT-PS minus it; told the other way round
    told = "GHT-PS has 5.0 BLEU, 4.0 less than vanilla; a model of fewer layers of about its size has 4.0 [3.0, 5.0] more."
    whole = pd.DataFrame({"value": [9.0, 5.0]}, [VANILLA, PS])
    assert said.sized(whole, beside.assign(p_holm=0.01)) == told
    both = pd.concat([beside, pd.DataFrame([(2, 1, 3)], [runs.L0], said.ENDS)]).assign(p_holm=0.01)
    early = pd.DataFrame([(-2, -3, -1)], [runs.FEWER], ["early", "early_low", "early_high"])
    more = ", and 2.0 [1.0, 3.0] more than *heads chosen before training*, trained for as long."
    assert said.sized(whole, both) == told and said.sized(whole, both.join(early)) == told.removesuffix(".") + more
    known = said.rivalled([runs.AT_START, runs.NARROWER], 112, 128)
    assert said.rivalled([VANILLA, PS], 1, 2) == "" and known.startswith("*Narrower* has a width of 112, not 128; *Heads")
    sets = [("a, BLEU, x", PS, -18, -25, -12), ("a, BLEU, y", PS, -20, -23, -17), ("b, ROUGE-1", PS, -1, -9, 6),
            ("b, ROUGE-2", PS, -6, -7, -5), ("a, BLEU, x", GHT, 1, -1, 2), ("b, ROUGE-1", GHT, 2, 1, 3)]  # fmt: skip
    sets = pd.DataFrame(sets, columns=["task", "method", "gain", "low", "high"]).assign(printed=4.0, seeds=3)
    told = "a can tell (3 trainings): constraint +1.0 [-1.0, +2.0] % (printed: +4.0), one head per group -18.0 [-25.0, -12.0] %"
    assert said.elsewhere(sets, ["b"]) == f"On natural text only {told}." and "; b can tell" in said.elsewhere(sets)
    what = [f"{method}, gain in %: {subjects.LANGUAGE}, perplexity, test" for method in (GHT, PS)]
    novels = pd.DataFrame({"what": what, "value": [0.5, -6.0], "low": -9, "high": 9})
    told = said.elsewhere(sets.replace("b, ROUGE-1", f"{subjects.LANGUAGE}, perplexity"), ["a", "b"], novels)
    assert "(Europarl, novels; 3 trainings each): constraint +2.0 [+1.0, +3.0] and +0.5 [-9.0, +9.0] % (printed" in told
    assert said.elsewhere(sets, ["a", "b"]) == ""
    firsts = pd.DataFrame({"value": [9.0, 5, 6], "low": 0.0, "high": 9.0, "heads": [8, 2, 8], "parameters": [3.0, 1, 1],
                           "speed": [1.0, 1.3, 1.1]},
                          [VANILLA, PS, runs.NARROWER])  # fmt: skip
    many = pd.DataFrame({"value": [7.0, 4.0], "low": 6, "high": 8, "seeds": 5}, [PS, runs.RANDOM])
    alike = tables.of_one_size(firsts, many).set_index("row")
    assert alike.index.tolist() == [VANILLA, runs.NARROWER, PS, runs.RANDOM] and alike.value.tolist() == [9, 6, 7, 4]
    assert alike.speed.fillna(0).tolist() == [1, 1.1, 1.3, 0]  # heads drawn by lot are not timed
    assert alike.seeds.tolist() == [1, 1, 5, 5] and alike.loc[runs.RANDOM, ["heads", "parameters"]].tolist() == [2, 1]
    assert tables.of_one_size(firsts).seeds.tolist() == [1, 1, 1]
    cost = firsts.assign(speed=1.0)
    assert said.sized(cost, None) == said.cost(cost) == said.sized(cost, beside.assign(p_holm=0.2))  # none is surely better
    ends = {GHT: (0.1, -0.1, 0.2), NO_CONSTRAINT: (-9.0, -10, -8.0), PS: (-9.0, -10, -8.0)}
    late = pd.DataFrame.from_dict(ends, orient="index", columns=["change", "change_low", "change_high"]).rename_axis("row")
    late = late.assign(value=70.1)
    whole = pd.DataFrame({"change": [0.0, -0.1], "change_low": -1, "change_high": 1, "change_p_holm": 0.01, "value": 4.0},
                         pd.MultiIndex.from_tuples([("whole", VANILLA), ("whole", GHT)], names=["asked", "row"]))  # fmt: skip
    both = said.further(late, pd.concat([whole, whole.rename(index={"whole": "removed", GHT: PS})]))
    assert both.row.tolist() == [GHT, "vote without constraint", PS, GHT, PS]
    grown = said.further(late, None, {(said.TRAINED, GHT): 0.12})
    told = said.works(grown.assign(change_low=-1, change_high=-0.1))
    assert grown.formed.fillna(0).tolist() == [0.12, 0, 0] and "of full grouping. The constraint shows no gain; one" in told
    assert said.works(both) == said.works(both.assign(change_low=1), [-2, 0]) == ""  # no loss; a gain in BLEU
    assert said.further(None, None).empty and said.works(said.further(late - 1, None)).startswith("The constraint shows no")
    worse = both.assign(change=-0.1, change_low=[*[-0.2] * 4, 0.05], change_high=[*[-0.1] * 4, 0.2])  # the last of perplexity
    assert said.works(worse, [-0.2, 0.0]).endswith("one head per group loses.") and said.works(worse) == ""  # a gain, by luck
    titles = ["random weights", GHT, f"{GHT}, weight x 10"]
    index = pd.MultiIndex.from_product([titles, ["cross"], [0, 1]], names=["title", "kind", "layer"])
    apart = pd.DataFrame({"contrast": [0.1, 0.1, 0.5, 0.1, 0.9, 1.1]}, index)
    cost = pd.DataFrame({"parameters": [4.0, 3, 3], "speed": 1.0, "value": [9.0, 5, 6]}, [VANILLA, PS, runs.FEWER])
    assert said.cost(cost).endswith("its size fewer layers (6.0) has more.") and "control" not in said.cost(cost[:2])
    more = pd.concat([cost.value, pd.Series({runs.AT_START: 7.0, runs.RANDOM: 1.0})])
    assert said.cost(cost, more).endswith("of 3 controls of about its size fewer layers (6.0) and heads chosen before training"
                                          " (7.0) have more.")  # fmt: skip
    assert said.cost(cost, cost.value + 1, " (means)").endswith("vanilla 10.0; of 1 controls of about its size"
                                                                " fewer layers (7.0) has more (means).")  # fmt: skip
    told = "The constraint reaches 15 % of full grouping's contrast, at 10 times the weight 50 %"
    assert said.apart(apart, 2) == f"{told} (mean of 2 attentions, one training). The drawn one groups most."
    assert "one training; natural text: 15 %). The" in said.apart(apart, 2, apart.reset_index())
    beside = pd.concat({VANILLA: apart.loc["random weights"]}, names=["title"])
    assert "weight 50 %; without it there is none (mean" in said.apart(pd.concat([apart, beside.assign(contrast=-0.01)]), 2)
    size = pd.DataFrame([(-4, -5, -3, 0.01), (-6, -7, -5, 0.01)], [runs.FEWER, runs.NARROWER], [*said.ENDS, "p_holm"])
    fast = pd.DataFrame({"ratio": [1.3, 1.25, 1.1], "low": 1.1, "high": 1.4}, [PS, runs.FEWER, runs.NARROWER])
    told = said.short(gained.assign(low=-1), {8: tried[:1], 16: tried}, size.assign(seeds=5), fast)
    begin = "Train without the constraint: a gain shows on none of 3 tasks over repeated trainings; the printed one is excluded"
    assert told.startswith(f"{begin} for a and c.") and "Of 3 numbers of heads and groups 1 shows a gain" in told
    assert "size of GHT-PS (1.3 [1.1, 1.4] times as fast as vanilla) these have more BLEU over 5 trainings: *narr" in told
    assert told.endswith(", 6.0 [5.0, 7.0] (1.1 [1.1, 1.4] times) and *fewer layers*, 4.0 [3.0, 5.0] (1.2 [1.1, 1.4] times).")
    assert said.short(gained, {}, size.assign(p_holm=0.5), fast) == said.short(gained, {}, None, fast) == ""


def test_tightness_votes_and_scores_are_told():
    rows = [("vanilla", 0, 0.03, 0, 0, 0), ("GHT", 1, 0.2, 0.1, -1, 1), ("GHT, weight x 10", 10, 0.8, -2.7, -3.8, -1.6)]
    compact = pd.DataFrame(rows, columns=["label", "strength", "silhouette", *said.ENDS])
    lost = "settings; the tightest costs 2.7 [1.6, 3.8] BLEU"
    assert said.tighter(compact) == f"Tighter groups show a gain in none of 2 {lost} (one training each)."
    assert said.tighter(compact.assign(change_low=[0, 0.1, -3.8])).startswith("Tighter groups show a gain in 1 of")
    few = [(NO_CONSTRAINT, 0, 0.03, -7, -8, -6), (PS, 1, 0.2, -6, -7, -5), (f"{PS}, weight x 10", 10, 0.8, -4, -5.5, -2)]
    told = said.tighter(pd.concat([compact, pd.DataFrame(few, columns=compact.columns)]))
    assert f"in none of 2 {lost}. With" in told and "it loses 7.0, 6.0 and 4.0: 1 shows better pillars" in told
    votes = pd.DataFrame({"kind": "cross", "layer": [0, 0, 0, 0, 1, 1], "group": [0, 0, 1, 1, 0, 0],
                          "share": [0.95, 0.05, 0.5, 0.5, 1.0, 0.0]})  # fmt: skip
    told = "groups of more than one head, one head wins over 90 % of"
    assert said.settled(votes, 500) == f"In 2 of 3 {told} 500 batches (one training)."
    assert said.settled(votes, 500, votes[:4]).endswith("(one training; natural text: 1 of 2).")
    assert said.settled(votes[2:4], 0) == f"In 0 of 1 {told} all batches (one training)."
    assert said.settled(votes[2:5], 0) == said.settled(votes[2:4], 0)  # a head alone in its group cannot lose
    assert tables.of_sites(votes, ("cross", 0)).layer.unique().tolist() == [0]  # it is the least decided one, too
    assert tables.of_sites(votes, ("cross", 1)).layer.unique().tolist() == [0, 1]


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
    before, after, groups_before, groups_after = tables.similarity(first, 2)
    for site, gram in zip(heads.sites(model), grams, strict=True):
        place = site.kind, site.layer
        np.testing.assert_allclose(before[place], grouping.cosines(gram), rtol=1e-3, atol=1e-5)
        np.testing.assert_array_equal(groups_before[place], grouping.clusters(gram, 2))
    inside = [table[np.equal.outer(groups_after[s], groups_after[s])].mean() for s, table in after.items()]
    across = [table[np.not_equal.outer(groups_after[s], groups_after[s])].mean() for s, table in after.items()]
    assert np.mean(inside) > np.mean(across) + 0.5
    site, matrices, labels, apart = tables.pictured({GHT: made[GHT]}, 2, GHT)
    assert matrices["random weights"] is not matrices[GHT] and site == apart.contrast[GHT].idxmax()
    assert (matrices[GHT] == after[site]).all() and (labels[GHT] == groups_after[site]).all()
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b and groups_after[site][a] == groups_after[site][b]]
    assert apart.same[(GHT, *site)] == pytest.approx(np.mean([after[site][pair] for pair in pairs]))


def test_padding():
    spec = tiny_groups.rows()[GHT]
    alone, found = (tables.padding(spec, 2, batches=100, rows=rows) for rows in (1, 5))
    assert (alone.abs() < 1e-6).all(axis=None) and (found.cosine > 1e-4).all()  # of one sentence nothing is padded
    data = subjects.text_of(spec).dev
    lengths = np.array([(len(source), len(target)) for source, target in zip(data.source, data.target, strict=True)])
    order = np.random.default_rng(0).permutation(len(lengths))
    for name, chosen in (("like length", sorted(order, key=lambda row: tuple(lengths[row]))), ("any length", order)):
        parts = [lengths[chosen[at : at + 5]] for at in range(0, len(chosen), 5)]
        wanted = np.mean([1 - part.sum() / (len(part) * part.max(0).sum()) for part in parts])
        assert found.padded[name] == pytest.approx(wanted)
    assert found.padded["like length"] < found.padded["any length"]


def test_what_kept_heads_are():
    spec = tiny_groups.rows()[PS]
    table, stored = tables.votes(spec), heads.kept(runs.opened(spec))
    np.testing.assert_allclose(table.groupby(["kind", "layer"]).share.sum(), 2)  # one head a group wins each batch
    assert tables.kept(spec).tolist() == table.kept.tolist() and tables.remaining(spec) == stored
    found = tables.pillars({PS: spec}, spec["start"], repeats=5, first=4).set_index(list(ADDRESS))
    assert len(found) == 24 and found.kept.equals(tables.kept(spec)[found.index])
    np.testing.assert_allclose(found.groupby(level=["kind", "layer"]).relevance.sum(), 1, rtol=1e-4)


def test_overlap_by_hand():
    marks = {"a": "110010", "b": "011000", "c": "000000"}
    rows = [{"kind": "encoder", "layer": head // 3, "head": head % 3, "method": method, "kept": kept[head] == "1",
             "relevance": head / 10, "functions": "rare" if head in (1, 4, 5) else ""}
            for method, kept in marks.items() for head in range(6)]  # fmt: skip
    table = tables.overlap(pd.DataFrame(rows))
    assert table["kept"].tolist() == [3, 2, 0] and table.functional.tolist() == [2, 1, 0] and (table.functional_all == 3).all()
    np.testing.assert_allclose(table.relevance, [0.5 / 3, 0.15, np.nan])
    assert table.loc["a", ["with b", "with c"]].tolist() == [1, 0] and table.loc["b", "with a"] == 1
    told = said.kept(pd.concat({"plain": table}, names=["model"]))
    assert told.startswith("Kept heads have a mean relevance of 0.150 to 0.167 (even share 0.250); ways overlap in 0 to 1 of 3")
    assert told.endswith("by chance 1 and 0. Of 3 heads with a function a keeps 2, chance 1.5.")
    few = said.kept(pd.concat({"plain": table.assign(functional_all=2)}, names=["model"]))
    assert few.endswith("Functions cannot tell who stays: 2 of 6 heads have one.")
    assert table.loc["a", "with b, chance"] == 3 * 2 / 6 and np.isnan(table.loc["a", "with a"])


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


def test_compactness_stands_beside_scores_with_all_heads_and_with_one_a_group(monkeypatch):
    grams = np.stack([np.eye(4), np.kron(np.eye(2), np.ones((2, 2)))])
    monkeypatch.setattr(tables, "trace", lambda spec: {"grams_0": grams})
    rows = {VANILLA: 0, NO_CONSTRAINT: 0, GHT: 2, PS: 2}
    index = pd.MultiIndex.from_tuples([(row, "test", "BLEU") for row in rows], names=["row", "test set", "metric"])
    columns = ["value", "low", "high", "change", "change_low", "change_high"]
    scored = pd.DataFrame({name: np.arange(4.0) for name in columns}, index)
    found = tables.compactness({VANILLA: {}, GHT: {}}, scored, {VANILLA: 0, GHT: 2}, 2).set_index("label")
    assert found.strength.to_dict() == rows and found.value.to_dict() == dict(zip(rows, range(4), strict=True))
    assert found.silhouette.tolist() == pytest.approx([1] * 4)
