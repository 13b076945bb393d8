"""Tables of pruning: against the store they are read from, against numbers made by hand, and against the printed ones."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from helpers import heads, plan, study
from helpers.heads import KINDS
from helpers.methods import l0
from helpers.methods.l0 import said
from helpers.runs import outputs, subjects, training
from helpers.scores import scoring
from helpers.study import layout
from helpers.study.recipe import read_since
from tests.unit import tiny_sweep

STORE = tiny_sweep.go_to
REPEATS = 50


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The sweeps, the model that they start from, and the quality of their runs."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_sweep.go_to(tmp_path_factory.getbasetemp(), patch)
        sweeps = tiny_sweep.sweeps()
        subject = subjects.of_spec(sweeps["encoder"]["start"], tiny_sweep.NAME)
        yield {which: (sweep, subject, l0.tables.quality(sweep, subject, REPEATS)) for which, sweep in sweeps.items()}


def sides(sweep, subject):
    """Statistics of what every run put out, and of the model before them."""
    references = [pair.target for pair in subject.pairs("test")]
    texts = {"start": outputs.written_by(subject, "test", 1)}
    texts |= {name: outputs.read(l0.runs.run(run), "test", 1) for name, run in sweep["runs"].items()}
    return {name: scoring.bleu_statistics(made, references) for name, made in texts.items()}


def test_a_row_for_each_run_and_test_set(swept):
    for sweep, subject, table in swept.values():
        assert list(table.index) == [(name, split) for name in ("start", *sweep["runs"]) for split in subject.tests]
        found = sides(sweep, subject)
        for name in {"start", "control", "L0 0.03", "scratch 0.03"} & found.keys():
            row, model = table.loc[(name, "test")], subject.model if name == "start" else l0.runs.opened(sweep["runs"][name])
            number = {kind: sum(len(left) for (k, _), left in heads.kept(model).items() if k == kind) for kind in KINDS}
            assert {kind: row[kind] for kind in KINDS} == number
            assert row.heads == sum(number[kind] for kind in sweep["kinds"]) and row.total == 8 * len(sweep["kinds"])
            pairs = {"bleu low high": None, "change change_low change_high": "control",
                     "from_start from_start_low from_start_high": "start"}  # fmt: skip
            for columns, other in pairs.items():
                wanted = scoring.bleu_interval(found[name], found[other] if other else None, REPEATS)
                assert row[columns.split()].tolist() == pytest.approx(wanted, abs=1e-12)
            if name != "start":
                assert row.dev_loss == pytest.approx(training.dev_loss(model, subject.batches(4 * 1024, 16)), abs=1e-6)


def test_tables_read_what_is_listed(swept):
    for sweep, subject, _ in swept.values():
        before = len(read_since(0))
        l0.tables.quality(sweep, subject, 2)
        l0.tables.against_scratch(sweep, subject, 2)
        for price, trace in l0.tables.closings(sweep, 3)[0].items():  # few steps, from the first to the last
            whole = l0.tables.closing(sweep["runs"][f"L0 {price:g}"])
            assert len(trace) == 4 and list(trace.index[[0, -1]]) == list(whole.index[[0, -1]])
            assert trace.equals(whole.loc[trace.index])
        l0.tables.kept_by_layer(sweep)
        if sweep["kinds"] == ["encoder"]:
            l0.tables.one_shot_quality(sweep, subject, 2)
            l0.tables.retained_functions(sweep, subject)
        else:
            for run in l0.tables.l0_runs(sweep):
                pd.testing.assert_frame_equal(l0.tables.REMOVED.read(l0.runs.run(run)), l0.tables.removal(run, subject))
        wanted = map(study.Need, (*l0.runs.recipes(sweep), *l0.tables.recipes(sweep)))
        assert set(read_since(before)) <= {recipe.folder for recipe in plan.closure(wanted)}


def test_what_encoder_attention_is_worth(swept):
    sweep, subject, table = swept["encoder"]
    found = l0.tables.worth(sweep, subject, subject, REPEATS)  # as if the start were the model without from the start
    of, whole = table.bleu.xs("test", level="test set"), found.xs("test", level="test set")
    np.testing.assert_allclose(whole.worth, of.control - of.floor)
    np.testing.assert_allclose(whole.share[of.index], (of - of.floor) / (of.control - of.floor))
    np.testing.assert_allclose(whole["share from the start"][of.index], (of - of.start) / (of.control - of.start))
    # the control keeps all and the floor nothing, whatever sentences are drawn
    ends = ["share", "share_low", "share_high"]
    assert found.loc[("control", "test"), ends].eq(1).all() and found.loc[("floor", "test"), ends].eq(0).all()


def by_hand(*rows, split="test", total=24):
    """`quality` of one test set: rows of name, method, penalty, (encoder, decoder, cross), bleu, change, its low and high."""
    records = {}
    for name, method, penalty, kept, bleu, *change in rows:
        change = [*change, *[np.nan] * (3 - len(change))]
        records[name, split] = dict(zip(KINDS, kept, strict=True)) | {
            "heads": sum(kept), "total": total, "method": method, "penalty": penalty, "bleu": bleu, "low": bleu - 1,
            "high": bleu + 2, "change": change[0], "change_low": change[1], "change_high": change[2], "dev_loss": 9 - bleu / 10,
            "soft_dev_loss": np.nan, "undecided": np.nan, "steps": 10, "schedule": f"10 at {name}",
        }  # fmt: skip
    table = pd.DataFrame.from_dict(records, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["run", "test set"])
    return table


HAND = by_hand(
    ("start", "start", np.nan, (8, 8, 8), 20.0, -1.0, -1.5, -0.5),
    ("control", "further training", np.nan, (8, 8, 8), 21.0, 0.0, 0.0, 0.0),
    ("L0 0.1", "L0", 0.1, (7, 7, 7), 21.5, 0.5, 0.1, 0.9),
    ("L0 0.2", "L0", 0.2, (4, 5, 6), 20.9, -0.1, -0.2, 0.4),
    ("L0 0.3", "L0", 0.3, (3, 4, 5), 20.75, -0.25, -0.6, 0.1),
    ("L0 0.3 #2", "L0", 0.3, (2, 4, 6), 20.95, -0.05, -0.5, 0.2),
    ("L0 0.4", "L0", 0.4, (1, 1, 1), 19.0, -2.0, -3.0, -1.0),
    ("scratch 0.3", "from scratch", 0.3, (3, 4, 5), 18.5, -2.5, -3.0, -2.0),
    ("L0, half-open start, 0.3", "L0, half-open start", 0.3, (0, 0, 1), 21.0, 0.0, 0.0, 0.0),
    ("random 0.3", "random", 0.3, (3, 4, 5), 21.2, 0.2, 0.1, 0.3),
)  # fmt: skip


def test_largest_pruning():
    control = ("control", "further training", np.nan, (8, 0, 0), 1.0, 0.0)
    other = by_hand(("L0 0.1", "L0", 0.1, (4, 0, 0), 1.0, -0.3, -0.4, -0.2), control, split="other", total=8)
    found = l0.tables.largest_pruning(pd.concat([HAND, other]))
    # of the two with 12 heads the better one; with its whole interval above, 15
    assert found.loc["test"].to_dict() == {
        "total": 24, "kept": 12, "pruned": 12, "change": -0.05, "low": -0.5, "high": 0.2, "kept_surely": 15,
    }  # fmt: skip
    assert found.loc["other", ["kept", "pruned", "change", "kept_surely"]].tolist() == [8, 0, 0, 8]


def test_worth_is_told_by_the_control_and_the_floor(swept):
    sweep, subject, table = swept["encoder"]
    found = l0.tables.removed_and_trained(sweep["settings"], subject, REPEATS).set_index("model").bleu
    assert found.index.tolist() == [f"{subject.title}, {said}trained on" for said in ("", "encoder heads removed, ")]
    assert found.tolist() == pytest.approx(table.xs("test", level="test set").bleu[["control", "floor"]].tolist())


def test_trainings_become_means_with_t_intervals_and_lone_rows_stay():
    other = by_hand(
        ("control", "further training", np.nan, (8, 8, 8), 23.0, 0.0, 0.0, 0.0),
        ("L0 0.1", "L0", 0.1, (4, 7, 7), 21.7, -1.3, -1.5, -1.1),
        ("L0 0.9", "L0", 0.9, (1, 0, 0), 1.0, -22.0, -23.0, -21.0),
    )
    found = l0.tables.over_trainings([HAND, other])
    assert found.index.equals(HAND.index)
    assert found.index[found.trainings == 2].tolist() == [("control", "test"), ("L0 0.1", "test")]
    both = found.loc[("L0 0.1", "test")]
    assert both[["encoder", "heads", "total", "bleu", "change"]].tolist() == pytest.approx([5.5, 19.5, 24, 21.6, -0.4])
    assert both[["change_low", "change_high"]].tolist() == pytest.approx(stats.t.interval(0.95, 1, -0.4, 0.9))
    pd.testing.assert_frame_equal(found[found.trainings == 1][HAND.columns], HAND[found.trainings == 1], check_dtype=False)


def test_half_of_the_heads_left():
    many = by_hand(("L0 0.1", "L0", 0.1, (5, 0, 0), 1.0, -0.3, -0.4, -0.2), total=8)
    found = l0.tables.half_left({"EN-RU": HAND, "none": many, "EN-DE": HAND.drop(["L0 0.3", "L0 0.3 #2"], level="run")})
    assert found.index.tolist() == [("EN-RU", "test"), ("EN-DE", "test")]  # of a model that keeps more than half no row
    assert found[["run", "heads", "change"]].values.tolist() == [["L0 0.3", 12, -0.25], ["L0 0.4", 3, -2.0]]
    assert found.gone.tolist() == pytest.approx(
        [12 + 9 * 0.2 / 1.95, 24 - np.interp(0.25, [0.1, 2], [15, 3])]
    )  # from 15 left to 3
    assert found.gone_low.iloc[0] == pytest.approx(np.interp(0.25, [0.2, 0.6], [9, 12])) and found.gone_high.iloc[0] > 12
    own = HAND[HAND.method == "L0"]  # no loss so large was met: all that was tried
    assert l0.tables.gone_within(own, loss=9) == 21 and l0.tables.gone_within(own, loss=2) == 21
    bent = pd.DataFrame({"total": 24, "heads": [24, 20, 16, 10], "change": [-1.0, -0.2, -0.4, -0.1]})
    assert l0.tables.gone_within(bent) == pytest.approx(5)  # where the line first passes, of runs that close a head


def shares(table):
    """With the columns of `tables.trained_on`."""
    whole = table.assign(**dict.fromkeys(("low", "high", "change", "change_low", "change_high", "dev_loss"), 0.0))
    return whole.set_index(pd.MultiIndex.from_tuples(table.index, names=["run", "test set"]))


def test_what_is_said_follows_the_numbers():
    places = pd.MultiIndex.from_product([["EN-RU", "EN-DE"], ["test"]], names=["model", "test set"])
    half = pd.DataFrame({"share": [0.99, 0.9], "share_low": [0.96, 0.8], "share_high": 1.0, "worth": 20.0}, places)
    half = half.assign(change=[-0.2, -2.1], heads=[21.3, 10], total=48, schedule="9,000 at 0.1")
    half = half.assign(trainings=[3, 1], heads_first=[20, 10], gone=[9.0, 3], gone_low=5.0, gone_high=10.0)
    known = {said.NEVER: [2.0, np.nan], "share from the start": 0.5}
    known |= {"share from the start_low": 0.4, "share from the start_high": 1.0}
    never = half.assign(change_low=-3, change_high=0, share=0.998, **known)
    sizes = {"EN-RU": "2 × 8", "EN-DE": "1 × 2", "natural": "1 × 2"}
    rows = said.answer(never, "controlled", sizes, 30).sort_index()
    assert said.answer(never, "controlled", sizes, 5).decoder.tolist() == ["1 × 2", "2 × 8"] and "(hollow)" in rows.share[0]
    assert rows["never"].tolist() == ["50 [40, 100] %, of 2.0 (first training, 20 left)", "not trained"]  # one training's
    assert rows.gone.tolist() == ["9 [5, 10] of 48", "3 [5, 10] of 48"]
    assert rows.share[0] == "99.8 [96.0, 100.0] %, of 20.0 (hollow)"  # it would else equal its end
    assert rows["heads"].tolist() == ["21.3 of 48, mean of 3 trainings", "10 of 48"]
    assert rows.model.tolist() == ["generated, EN-RU (9,000)", "generated, EN-DE (9,000)"]
    there = never[1:].rename({"EN-DE": "natural", "test": "europarl_test"})
    assert said.answer(there, "controlled", sizes, 5).model.tolist() == ["natural, Europarl (9,000)"]
    first = by_hand(
        ("control", "further training", np.nan, (48, 2, 2), 23.0, 0.0, 0.0, 0.0),
        *((f"L0 {heads}", "L0", 1, (heads, 0, 0), 21, -1, -2, 0) for heads in (20, 12, 7, 4)), total=48
    )  # fmt: skip
    first = first.assign(**{said.NEVER: 2.0, "share from the start": [1, 0.8, 0.4, -0.1, -0.5]})
    first["share from the start_low"] = first["share from the start"] - 0.3
    first["share from the start_high"] = first["share from the start"] + 0.3
    unsure, worse = "with 7 left not told from", "with 4 left worse than trained without heads"
    assert said.never(first) == f"{unsure}, {worse}" and not said.never(HAND)
    assert said.never(first.drop(["L0 7", "L0 4"], level="run")) == ""
    assert said.never(first.drop("L0 7", level="run")) == worse
    told = f"Right, cut off below: EN-RU: {unsure}, {worse}."
    assert said.without({"EN-RU": first, "EN-DE": HAND}).endswith(told) and "Right" not in said.without({"EN-DE": HAND})
    ways = {"EN-RU": pd.DataFrame({"gap": 0.02, "low": [-0.1], "high": 0.1, "of": 3, "left": 13.3}, ["gradient importance"])}
    ways = {"EN-RU": ways["EN-RU"].assign(total=48)}
    gained = {"model": "m", "encoder": ["6", "6", "3"], "decoder": ["b", "a", "c"], "gained": [1.0, 9.0, 3.0]}
    gained = pd.DataFrame(gained | {"gained, low": 0.5, "gained, high": 10.0})
    told = "**By estimate, more encoder heads can go for 0.25 BLEU beside larger decoders.** 1×2 (layers×heads): 3 [5, 10] of"
    told += " 48; 2×8: 9 [5, 10] of 48; the paper's 6×8: 38 (WMT, for 0.15), 44 (OpenSubtitles). "
    assert said.lead(half, sizes) == f"{told}Intervals overlap; no pruning changed the decoder alone."
    assert "2×8: 9 [5, 10] of 48 (hollow);" in said.lead(half.assign(worth=[1.0, 9.0]), sizes, 2.0)
    assert "Only 1×2's and 2×8's" in said.lead(half.assign(gone_high=[10, 4.0]), sizes)
    assert said.decoder_alone(gained).endswith("BLEU: 9.0 [0.5, 10.0] beside a, 1.0 [0.5, 10.0] beside b.")
    assert said.decoder_alone(gained[1:]) == "" and said.lead(half[:0], {}).startswith("No m")
    assert said.lead(half.assign(gone=[1.0, 3]), sizes).startswith("**Encoder heads that can go for")
    assert said.decoder_in("europarl", "europarl-deep-decoder") == "3 × 8" != said.decoder_in("europarl", "europarl")
    kept = {("encoder", 0): [0], ("decoder", 0): [0, 1], ("decoder", 1): [0, 1]}
    assert said.decoder_of(SimpleNamespace(kept=kept)) == "2 × 2"
    begin = "Rank encoder heads by gradient importance; remove a quarter, half and three quarters of them from the same model;"
    begin += " train each on; keep the smallest whose loss you accept (tried with 35 of 48 gone)."
    assert said.short(ways) == f"{begin} Judge it by what heads add to your model: train one without."
    for worse in ({"low": -0.5, "high": -0.1}, {"low": np.nan, "high": np.nan, "gap": -0.5}):  # of one training: a large loss
        assert said.short({"EN-RU": ways["EN-RU"].assign(**worse)}).startswith("Let gates choose")
    scratch = pd.DataFrame(
        {"change": [0.2, -0.1, -0.05], "low": -0.3, "high": [0.3, -0.05, 0.1], "steps": 9, "steps_pruned": 2}, ["m"] * 3
    )
    judged = [
        SimpleNamespace(side=side, value=row.change, low=row.low, high=row.high)
        for side, row in zip(("for", "against", "open"), scratch.itertuples(), strict=True)
    ]
    told = "Of 3 head maps (m, one training)"
    assert said.from_scratch(scratch) == f"{told} 2 have more BLEU from scratch."
    told += " 1 are surely better from scratch (by 0.1 [0.1, 0.3] BLEU), 1 pruned; 1 undecided."
    lost = " Even no encoder heads cost only 2.0 from scratch: little to lose."
    assert [said.from_scratch(scratch, judged, {one: first}) for one in "nm"] == [told, told + lost]
    assert "No head map" in said.from_scratch(scratch[:0])
    runs = ["relevance 0.003", "random 0.003", "random 0.003 #2", "L0's heads 0.01", "gradual 1", "confidence 1"]
    told = "random heads, draw 1, random heads, draw 2, L0's heads, trained as the others, gradual pruning"
    assert ", ".join(map(said.chosen, runs[1:5])) == told
    table = pd.DataFrame({"bleu": [9.0, 1.0, 4.0, 8.6, 8.5, 3.0]}, [(run, "test") for run in runs])
    found = said.choices([table])
    assert list(found.index) == [
        "relevance, LRP αβ",
        "gradual pruning",
        "confidence",
        "random heads",
    ]  # best first, without L0's heads; draws as one
    assert found.gap.tolist() == pytest.approx([0.4, -0.1, -5.6, -6.1]) and found.low.isna().all()
    assert said.choices([table[3:]]).empty
    draws = said.pooled(shares(table), [shares(table), shares(table.assign(bleu=[5.0, 2.0, 6.0, 8.6, 8.5, 6.0]))])
    drawn = draws.loc[("random heads, 4 draws (their range)", "test")]
    assert len(draws) == 5 and drawn.bleu == "3.2 (1.0 to 6.0)" and np.isnan(drawn.low)  # a range in no brackets of intervals
    assert draws.index[-1][0] == "confidence" and "order" not in draws
    found = said.choices([table, table.assign(bleu=[5.0, 1.0, 4.0, 8.6, 8.5, 6.0])])  # in the mean relevance loses
    assert found.index[0] == "gradual pruning"
    low, high = stats.t.interval(0.95, 1, -1.6, 2.0)
    assert found.loc["relevance, LRP αβ", ["gap", "low", "high"]].tolist() == pytest.approx([-1.6, low, high])
    two = {"none": found[:0].assign(left=3, total=4), "m": found.assign(left=3, total=4)}  # of the first nothing was chosen
    told = said.beside_gates(two, "gradual pruning", "unknown")
    assert told.startswith("m (2 trainings, 3/4 left): *gradual pruning* -0.10 [") and ";" not in told
    chance = pd.DataFrame({"heads": [30, 4], "of": 48, "had": 3, "stay": [2, 0], "expected": [1.3, 0.2], "p": [0.4, 1.0]})
    chance = chance.assign(model="m", function="any", p_holm=[0.02, 1.0], family=2)
    told = "(their number) than chance expects: m (3) 1/1; n (3) 1/0. Surely more: 2 (Holm); had all stayed, 2 of 4."
    tied = chance.assign(expected=[1.3, 0.0])  # the second keeps as many as chance
    assert said.functions(chance, {"n": tied}).endswith(told)  # all 3 of 4 left: by chance 1 in 4324
    specs = {n: {"model": {"layers": n, "heads": 2}, "training": {"steps": 1}} for n in (3, 1)}
    models = [SimpleNamespace(title=f"m {n}", run=SimpleNamespace(spec=specs[n])) for n in (3, 3, 1)]
    assert said.sizes(models) == "m 1: encoder 1 × 2, decoder 1 × 2" and not said.sizes(models[:2])
    rows = [("a", 4, 9.0), ("a", 3, 7.0), ("a", 2, 1.0), ("b", 2, 3.5), ("b", 4, 0.5), ("all heads", 6, 9.5)]
    rows += [("random heads", heads, bleu) for heads, bleu in ((4, 5.0), (3, 5.0), (2, 2.0), (2, 4.0))]
    points = pd.DataFrame(rows, columns=["method", "heads", "value"]).assign(panel="p")
    points = points.assign(low=points.value - 1, high=points.value + 1)
    told = "One training: heads chosen by *a* keep most BLEU at 2 of 3 numbers of heads. With 3 left: 7.0"
    assert said.gone_at_once(points) == f"{told}, random heads 5.0 (1 draws)."
    assert said.gone_at_once(points, 500).startswith(f"{told} (500 test sentences), random heads")
    assert "nothing to compare" in said.gone_at_once(points[points.method == "random heads"])
    rows = [("a", 4, 0.1), ("b", 4, 0.2), ("a", 3, 0.1), ("b", 3, 0.2), ("a", 6, 0.0), ("b", 6, 0.0), ("c", 4, 0.0)]
    lost = pd.DataFrame(rows, columns=["criterion", "heads", "change"]).assign(model="m", seed=1)
    told = said.contest([lost, lost.assign(seed=2), lost.assign(model="n")], ["m"], ["a", "b"])  # 6 heads: no difference
    assert told.endswith("*a* at 4 and *b* at 0 of 4 numbers of heads; by luck each at 2.0.") and "In all 2 publ" in told


def test_what_the_few_steps_of_the_method_came_to():
    told = "2 of 3 gates are still more likely fully open than closed; without the others the loss on sentences not used for it"
    told += " is 0.30, with as many random heads 0.40 to 0.50 (2 draws), with all heads 0.20."
    assert said.learned(torch.tensor([1.0, 0.0, 1.0]), 0.2, 0.3, [0.5, 0.4]) == told


def test_runs_that_close_no_gate_do_not_count():
    table = HAND.assign(undecided=[np.nan, np.nan, 1.0, 3.0, 2.0, 2.0, 0.0, *[np.nan] * 3])
    table.loc[("L0 0.1", "test"), "heads"] = 24
    found = l0.tables.settled(table)
    assert np.isnan(found.undecided["L0 0.1"]) and found.undecided["L0 0.2"] == 3


def test_what_is_said_of_removal_and_of_layers():
    removed = pd.DataFrame({"removed minus masked": [0.0, 0.0], "reloaded minus removed": [0.0, -2e-6]})
    assert "alike but for rounding in all 2 (largest difference 2e-06)" in said.same(removed)
    assert "identical in all 1 (largest difference 0" in said.same(removed[:1])
    kept = {("encoder", 0): [0], ("encoder", 1): [0], ("decoder", 0): [0], ("cross", 0): [0]}
    assert "The encoder has 2 layers here and the decoder 1 (in the paper 6 and 6)" in said.layers([kept, kept])


def test_kinds_of_a_published_run(tmp_path):
    chapter = layout.Chapter(tmp_path)
    assert said.kinds_elsewhere(chapter, "natural") == "" == said.scratch_elsewhere(chapter, "natural")
    gaps = pd.DataFrame({"model": "EN-FR, deep", "run": "s", "test set": "t", "change": [-1.0], "low": -2, "high": -0.5})
    study.write_text(chapter.table("trained_minus_scratch"), gaps.to_csv(index=False))
    own = gaps.assign(change=[0.3]).rename(columns={"low": "change_low", "high": "change_high"})
    study.write_text(chapter.table("all_kinds_deep"), pd.concat([own.assign(run="L0"), own]).to_csv(index=False))
    told = said.scratch_elsewhere(chapter, "natural", "hollow")
    assert "(deep; hollow; one map, one training) pruned minus scratch is -1.0 [-2.0, -0.5]" in told and "+0.3 [-2" in told
    rows = pd.DataFrame({"model": "EN-FR, deep", "decoder": [8, 8], "cross": [8, 7], "decoder_total": 8, "cross_total": 8})
    study.write_text(chapter.table("fig9_heads_by_kind"), rows.to_csv())
    told = "more decoder heads than cross-attention heads stay in 1 of 2, by 0 to 1 of 8 (Fisher's p 1.00)."
    assert said.kinds_elsewhere(chapter, "natural", "hollow") == f" On natural text (deep; hollow) {told}"
    own = pd.DataFrame({"encoder": [2, 1], "decoder": [8, 8], "cross": [8, 7], "starts alike": True})
    own = own.assign(**dict.fromkeys(("encoder_total", "decoder_total", "cross_total"), 8))
    told = "in 0 of 1 in which it or the decoder loses any: too few to tell"
    assert told in said.by_kind(own) and "in one surely" in said.by_kind(own.assign(cross=[8, 1]))
    judged = [
        SimpleNamespace(claim=SimpleNamespace(id=name), verdict="no", hollow=hollow, brief="hollow", number="3 %")
        for name, hollow in (("most-go", False), ("kinds", True))
    ]
    told = "*most go* **no** (3 %) and *kinds* **no** (hollow). *Hollow*: encoder heads are worth too little to judge."
    assert said.elsewhere(judged, "natural").endswith(told) and not said.elsewhere([], "natural")


def test_a_published_summary_is_read_as_a_sweep():
    folder = study.ROOT / "figures" / "summaries"
    found = l0.tables.summarised(folder / "europarl-deep-decoder.csv", "europarl")
    most = l0.tables.largest_pruning(found).loc["europarl"]
    assert most[["total", "kept", "pruned"]].tolist() == [48, 12, 36] and most.change == pytest.approx(-0.2081)
    assert (
        found.worth.eq(4.281).all() and found.share[("floor", "europarl")] == 0 and found.method.iloc[0] == "further training"
    )
    found = l0.tables.summarised(folder / "techdocs.csv", "techdocs")
    assert l0.tables.largest_pruning(found).pruned.tolist() == [0]
    without = found[said.NEVER]  # 13.04 + 15.21 of the control minus 17.25 of never
    assert without.eq(without.iloc[0]).all() and without.iloc[0] == pytest.approx(11.008, abs=1e-3)
    shares = found.loc[("L0 0.008", "techdocs"), ["share from the start", "share from the start_low"]]
    assert shares.tolist() == pytest.approx([1 - 1.0324 / 11.008, 1 - 1.4432 / 11.008], abs=1e-3)


def test_table_2():
    found = l0.tables.table_2({"EN-RU": HAND, "EN-DE": HAND.drop(["scratch 0.3"], level="run")})
    for text, scratch, nan in (("EN-RU, test", 18.5, np.nan), ("EN-DE, test", np.nan, np.nan)):
        part = found.loc[text]
        # whole first, of one plain training as in the paper; then ever fewer heads, of the map of the first seed a twin
        assert part.index.tolist() == ["8/8/8", "7/7/7", "4/5/6", "3/4/5", "2/4/6", "1/1/1"]
        np.testing.assert_array_equal(part["pruned"], [nan, 21.5, 20.9, 20.75, 20.95, 19.0])
        np.testing.assert_array_equal(part["from scratch"], [20.0, nan, nan, scratch, nan, nan])
        np.testing.assert_allclose(part["pruned, low"], part["pruned"] - 1)


def test_how_long_heads_survive(swept):
    for sweep, subject, _ in swept.values():
        found, runs = l0.tables.survival(sweep), l0.tables.l0_runs(sweep)
        assert found.index.equals(heads.index(subject.model, tuple(sweep["kinds"])))
        kept = [l0.runs.retained(run) for run in runs]
        times = np.array([sum(head in left[kind, layer] for left in kept) for kind, layer, head in found.index])
        assert (np.floor(found) == times).all() and (found > times).all() and (found < times + 1).all()
        opened = np.mean([1 - l0.tables.closing(run).iloc[-1] for run in runs], axis=0)
        np.testing.assert_allclose(found - times, 0.99 * opened, rtol=1e-9)


def test_an_order_of_kinds_is_told_from_a_decoder_that_is_still_whole():
    rows = pd.DataFrame([(5, 8, 8), (2, 3, 4), (2, 4, 3)], columns=[*KINDS]).assign(model="m", total_kept=9, total=24)
    rows = rows.assign(**{"starts alike": True} | {f"{kind}_total": 8 for kind in KINDS})
    told = "Encoder heads go first in 3 of 3 prunings, one training a model; cross-attention last in 1 of 2 in which"
    assert said.by_kind(rows).startswith(told)
    assert said.by_kind(rows[:1]) == "Encoder heads go first in 1 of 1 pruning, one training a model."
    assert said.by_kind(rows.assign(**{"starts alike": False})).endswith("no order follows.")


def test_what_is_kept_by_kind_and_layer(swept):
    sweep, subject, table = swept["all"]
    found, layers = l0.tables.kept_by_kind(sweep, subject), l0.tables.kept_by_layer(sweep)
    assert found.penalty.tolist() == [0.001, 0.03]
    for kind in KINDS:
        assert found[kind].tolist() == [table.loc[(f"L0 {price}", "test"), kind] for price in ("0.001", "0.03")]
    assert not found["starts alike"].any()
    shares = [found[kind] / found[f"{kind}_total"] for kind in KINDS]
    assert found.gap.tolist() == pytest.approx([l0.tables.gap(*part) for part in zip(*shares, strict=True)], nan_ok=True)
    assert np.isnan(l0.tables.gap(0.2, 1.0, 1.0)) and l0.tables.gap(0.2, 0.5, 0.4) == pytest.approx(-0.1)
    start = sweep["start"] | {"model": sweep["start"]["model"] | {"start": "usual"}}
    assert l0.tables.kept_by_kind(sweep | {"start": start}, subject)["starts alike"].all()
    for run in l0.tables.l0_runs(sweep):
        kept = l0.runs.retained(run)
        assert layers[sum(map(len, kept.values()))].to_dict() == {place: len(left) for place, left in kept.items()}


def test_whether_functions_stay_against_all_draws():
    index = pd.MultiIndex.from_tuples([("encoder", 0, head) for head in range(6)], names=["kind", "layer", "head"])
    before = pd.Series([[("rare", "")], [("rare", ""), ("dobj", "")], [("dobj", "")], [], [], []], index)
    found = l0.tables.retained_more_than_chance({"a": {6: before, 3: before.iloc[[0, 2, 5]]}}).set_index("function")
    assert found["heads"].eq(3).all() and found.family.eq(3).all() and list(found.index) == ["any", "dobj", "rare"]
    drawn = [set(heads) for heads in itertools.combinations(range(6), 3)]
    for name, had, stay in (("any", {0, 1, 2}, 2), ("dobj", {1, 2}, 1), ("rare", {0, 1}, 1)):
        row = found.loc[name]
        assert (row.had, row.stay) == (len(had), stay)
        assert row.p == pytest.approx(np.mean([len(heads & had) >= stay for heads in drawn]))
        assert row.expected == pytest.approx(np.mean([len(heads & had) for heads in drawn]))
    assert found.p_holm["any"] == pytest.approx(3 * found.p["any"] if 3 * found.p["any"] < 1 else 1)


def test_removal(swept):
    sweep, subject, table = swept["all"]
    before = {name: value.clone() for name, value in subject.model.state_dict().items()}
    batch = next(iter(subject.batches(first=64)))
    (examples, source), target, width, size = batch["input_ids"].shape, batch["labels"].shape[1], 32, 8
    lengths = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}  # of queries, of keys
    row, kept = l0.tables.removal(sweep["runs"]["L0 0.03"], subject).iloc[0], table.loc[("L0 0.03", "test")]
    gone = {kind: 8 - int(kept[kind]) for kind in KINDS}
    per_head = 4 * width * size + 3 * size  # rows of q, k and v with their bias, columns of the output projection
    assert row["parameters"] - row["parameters left"] == sum(gone.values()) * per_head
    # two FLOPs a multiplication: q and out for each query, k and v for each key, and both products of attention
    flops = {kind: 4 * examples * width * size * (q + k) + 4 * examples * q * k * size for kind, (q, k) in lengths.items()}
    assert row["FLOPs"] - row["FLOPs left"] == sum(gone[kind] * flops[kind] for kind in KINDS)
    assert row["speed-up at most"] == pytest.approx(row["FLOPs"] / row["FLOPs left"])
    assert 0 <= row["removed minus masked"] < 1e-5 and row["reloaded minus removed"] == 0
    assert all(torch.equal(value, before[name]) for name, value in subject.model.state_dict().items())  # a copy was cut
