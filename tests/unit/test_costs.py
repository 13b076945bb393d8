"""What benchmarks kept as tables, wall times as far as they are recorded, and the figures of both."""

import argparse
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import common, costs, figures, said
from helpers import heads, plan, study
from helpers.runs import subjects
from helpers.study import StudyError
from tests.unit.drawn import whole
from tests.unit.tiny_models import tiny_model


def keep(name, size, rows):
    options = argparse.Namespace(size=size, command=f"python -m benchmarks.{name}", device="cpu", started=time.perf_counter())
    common.keep(name, pd.DataFrame(rows, columns=common.COLUMNS), common.facts(options, 3, 1e-7, 1e-5))


HARD, FOUR = "training step, Hard Concrete gates and penalty", "training step, full link, 4 heads a layer"
RATIOS = [common.row("step", "2 layers", "ratio", [1, 1, 1]), common.row("step, gates", "2 layers", "ratio", [1.2, 1.1, 1.3])]


def test_results_are_what_was_kept_with_its_sidecar_here_or_in_the_project(tmp_path, monkeypatch):
    keep("heads_overhead", "tiny", [*RATIOS, common.row("captum", "2 layers", "ratio", float("nan"), "not installed")])
    found = costs.results("tiny", ["heads_overhead"])
    assert costs.numbers(found, "heads_overhead", "ratio").value.tolist() == [1.0, 1.2]
    fact = costs.facts(found).loc["heads_overhead", "tiny"]
    assert (fact.difference, fact.bound, fact.repeats, fact.device) == (1e-7, 1e-5, 3, "cpu")
    (results := tmp_path / "benchmarks" / "results").mkdir(parents=True)
    costs.folder("tiny").rename(results / "tiny")
    monkeypatch.setattr(study, "ROOT", tmp_path)
    assert costs.facts(costs.results("tiny", ["heads_overhead"])).loc["heads_overhead", "tiny"].equals(fact)


def test_what_is_missing_is_one_sentence():
    with pytest.raises(StudyError, match=r"growth.*base"):
        costs.results("base", ["growth"])
    keep("heads_overhead", "tiny", RATIOS)
    (costs.folder("tiny") / "heads_overhead.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StudyError, match=r"heads_overhead\.csv"):
        costs.results("tiny", ["heads_overhead"])


def test_what_everything_costs_beside_the_obvious_way():
    found = {name: [] for _, name, *_ in costs.HEART}
    for _, name, _, own, other in costs.HEART:
        found[name] += [common.row(what, "a model", "ratio", [value] * 2) for what, value in ((own, 2.0), (other, 6.0)) if what]
    table = costs.heart({name: pd.DataFrame(rows, columns=common.COLUMNS) for name, rows in found.items()})
    rivals = table.dropna(subset="times").drop("group constraint on V")  # of which the obvious way's own multiple is kept
    assert table.cost.eq(2).all() and rivals.times.eq(6).all() and len(rivals) == len(table) - 6
    assert table.captum.isna().all() and table.repeats.eq(2).all() and table.cost_low.eq(2).all()
    assert table.times["group constraint on V"] == 3 and table.model.eq("a model").all()
    plain = [("plain, once more (noise)", of, 1.0, 0.9, high) for of, high in (("a model", 1.05), ("a toy", 1.5))]
    added = {"4B on V": (1.1, 1.04, 1.2), "4B on A": (1.4, 1.3, 1.5), HARD: (1.0, 0.9, 1.1), FOUR: (1.3, 1.2, 1.4)}
    rows = [*plain, *((what, "a model", *ends) for what, ends in added.items()), ("4B on A", "a toy", 1.2, 1.1, 1.3)]
    timed = pd.DataFrame(rows, columns=["what", "group", "value", "low", "high"]).assign(quantity="ratio")
    found = {name: timed[timed["what"].str.contains("plain|4B" if name == "group_constraint" else f"plain|{of}", regex=True)]
             for name, of in zip(costs.OVERHEADS, ("Hard", "4B", "4 heads"), strict=True)}  # fmt: skip
    longer = costs.additions(found)
    assert longer["what"].str[-1].tolist() == ["d", "V", "A", "A", "r"] and longer.again.eq(0).all()
    assert longer.cost.tolist() == pytest.approx([0, 0.1, 0.4, 0.2, 0.3]) and longer.again_high[3] == pytest.approx(0.5)
    assert said.told_apart(longer) == (
        "Clear of noise on every model timed: coreference in four heads per layer (30 %). The rest adds at most 40 %, on some"
        " model within noise."
    )


def test_wall_times_count_every_run_once_for_the_first_notebook_that_needs_it(tmp_path):
    settings = study.settings("tiny")
    names = subjects.names(settings)
    notebooks = plan.goals(settings, names, 1)
    for notebook, seconds in (("01_relevance_and_confidence", 10.0), ("04_grouped_heads", 5.0)):
        for recipe in plan.missing(notebooks[notebook]):
            study.write_json(recipe.folder / "made.json", {"seconds": seconds, "files": {}})
    study.write_json(tmp_path / "01_relevance_and_confidence.ipynb", {"metadata": {"papermill": {"duration": 61.5}}})
    study.write_text(tmp_path / "times" / "02_head_functions.tsv", "s\th:m:s\n33.25\t0:00:33\n")
    table = costs.wall_times(settings, names, 1, tmp_path)
    reads = {notebook[:2]: set(plan.closure(needs)) for notebook, needs in notebooks.items()}
    own = len(reads["01"] - reads["00"])
    first, second, fourth = (table.loc[name] for name in table.index[[1, 2, 4]])
    assert (first.executing, first.training, first["things made"]) == (61.5, 10.0 * own, own)
    assert second.executing == 33.25 and second.missing == len(reads["02"] - reads["01"])
    shared = len(reads["04"] & reads["01"])
    assert shared and fourth.training == 5.0 * (len(reads["04"]) - shared) and fourth.missing == 0
    assert table.missing["03_l0_pruning"] > 0 and np.isnan(table.executing["03_l0_pruning"])


POINTS = [
    ("importance per example", 16, 1.0), ("importance per example", 64, 2.0), ("confidence and positional", 16, 0.5),
    ("confidence and positional", 64, 1.6), ("relevance, cp", 16, 3.0), ("relevance, cp", 64, 10.0),
    ("relevance, attnlrp", 16, 3.0), ("relevance, attnlrp", 64, 10.0), ("relevance, alpha_beta", 16, 9.0),
    ("relevance, alpha_beta", 64, 90.0),
]  # fmt: skip
POINTS = pd.DataFrame(POINTS, columns=["what", "at", "value"]).assign(axis="length")
HEART = pd.DataFrame({"cost": 30.0, "cost_low": 29.0, "cost_high": 31.0, "times": 3.0, "captum": np.nan,
                      "model": "3+3 layers, 9 texts"}, ["loss without the head"])  # fmt: skip
SPENT = pd.DataFrame({costs.UNIT: [1.0, 2.0], "cp": [4.0, 10.0], "attnlrp": [5.0, 12.0], "alpha_beta": [30.0, 80.0],
                      "leave-one-out": [20.0, 50.0], costs.MAP: [100.0, 300.0], "confidence": np.nan})  # fmt: skip


def test_costs_are_those_of_the_contest_s_own_text_where_it_was_timed_there():
    table = costs.priced(HEART, POINTS, SPENT)
    assert table.loc["cp", ["cost", "cost_low", "cost_high", "seconds"]].tolist() == [4.5, 4, 5, 7]  # not 3 to 5, of lengths
    assert table.loc["confidence", ["cost_low", "cost_high"]].tolist() == [0.5, 0.8]
    assert table.loc[costs.MAP, ["cost_low", "cost_high"]].tolist() == [100, 150] and table.times["leave-one-out"] == 3
    assert set(table.over[table.seconds.notna()]) == {"trainings"} and table.over["confidence"] == "lengths of sentences"
    known = table.assign(times=[9.0] * len(table), captum=np.nan, model="a model, 7 tokens")
    known.loc["cp", "captum"] = 6.0
    assert said.ordinary(known) == (
        "At 7 tokens ordinary code, one token after another, takes 9 times as long as ours, the library Captum 6"
        " (conservative)."
    )
    read = costs.priced(HEART, POINTS, SPENT.assign(confidence=[4.0, 8.0], votes=[2.0, 5.0]), 0.25)  # read four times as much
    assert read.cost["confidence"] == 1 and read.seconds["confidence"] == 1.5 and read.cost["cp"] == read.run["cp"] == 4.5
    assert read.run["confidence"] == 4 and said.read(read, 250, 1000).startswith(
        "Prices as run: confidence, positional and votes read 1,000 sentences, gradient importance 250. On 250 they cost 0.6 to"
    )
    bare = costs.priced(HEART, POINTS, SPENT.iloc[:0])  # the contest's tables are not there
    assert bare.loc["cp", ["cost_low", "cost_high"]].tolist() == [3, 5] and bare.cost["leave-one-out"] == 30
    assert costs.MAP not in bare.index
    told = said.details(bare, 250)
    assert table.what["confidence"] == "confidence, positions" and "on 250 sentences" in told and "nan" not in told


def test_costs_stand_beside_what_pruning_by_them_changes():
    rows = {
        "confidence": -5.0,
        "syntactic": -4.0,
        costs.UNIT: -1.0,
        "leave-one-out": -1.5,
        "cp": -0.9,
        "random": -3.0,
        costs.MAP: -0.6,
        "alpha_beta": -2.0,
        "votes": 0,
    }
    contest = pd.DataFrame({"criterion": list(rows), "value": list(rows.values())})
    contest = contest.assign(low=contest.value - 0.5, high=contest.value + 0.5, model="EN-RU", seeds=3, heads=13.3)
    contest["above"] = contest.criterion.isin([costs.UNIT, costs.MAP, "cp"])
    contest = contest.assign(**{"lead": 0.5, "lead_low": 0.1, "lead_high": 1.0, "test set": "test"})
    contest.loc[contest.criterion.isin([costs.MAP, "votes", "alpha_beta", "leave-one-out"]), "lead_low"] = -0.2
    priced = costs.priced(HEART, POINTS, SPENT.assign(votes=[3.0, 6.0]))
    both = costs.pruning(priced, contest)
    rows = both.set_index("measure")
    assert rows.cost["votes"] == rows.run["votes"] == 3 and rows.cost.isna().sum() == 2
    price, change = whole(figures.pruning(both.assign(run=both.cost * (1 + both.measure.eq("votes"))))).axes  # on twice as much
    named = [text.get_text() for text in price.get_yticklabels()]
    assert named[0] == costs.MAP and "votes" in named and "syntactic" not in named and "BLEU" in change.get_xlabel()
    assert {"9.0 s", "200 s"} <= {text.get_text() for text in price.texts} and change.texts[0].get_text() == "random heads"
    told = said.cheapest(both, contest, priced)
    assert told.startswith("**To choose encoder heads, gradient importance (one forward, one backward pass) is enough.** On EN")
    assert "after 1.5 seconds; L0 takes 200, but trains meanwhile. Of 6 other choices, at 0.65 to 125 times its" in told
    assert "times its price, none is shown better." in told
    assert said.cheapest(both.assign(above=False), contest, priced).startswith("**We cannot tell.**")
    assert said.cheapest(both[both.measure != costs.UNIT], contest, priced).startswith(
        "**As much as relevance, conservative is"
    )
    assert "conservative (+0.5 [+0.1, +1.0])" in said.worse(both) and said.worse(both[:0]) == ""
    assert "syntactic (+0.5" in said.worse(both) and "random" not in said.worse(both)
    ahead = both.assign(lead=-0.5, lead_low=-1.0, lead_high=both.measure.map({"votes": -0.1}).fillna(0.2))
    assert "its price, votes (-0.5 [-1.0, -0.1]) is shown better." in said.cheapest(ahead, contest, priced)


def test_the_last_words_say_what_to_do_with_and_without_training_on():
    values = {costs.UNIT: -1.0, "votes": -2.0, "random": -3.0, "L1 gates": -1.2, "leave-one-out": -1.5}
    contest = pd.DataFrame({"criterion": list(values), "value": list(values.values()), "model": "EN-RU", "seeds": 3})
    rows = pd.DataFrame({"measure": list(values), "cost": [1.0, 12.0, np.nan, 9.7, 28.0], "lead_high": 0.1})
    change = {costs.UNIT: -2.0, "confidence": -1.0, "positional": -3.0, "L1 gates": -2.5, "leave-one-out": 0.0}
    shots = [("EN-RU", left, name, by * (left == 4 or name != "positional")) for left in (4, 8) for name, by in change.items()]
    shots += [("EN-RU", 24, name, 0.0) for name in change]  # nothing is removed
    shots = pd.DataFrame(shots, columns=["model", "heads", "criterion", "change"])
    small = costs.smaller()
    train, at_once, speed, _, limits = said.closing(rows, contest, {"text": shots}, small).splitlines()
    assert "nothing is shown better (EN-RU)" in train and limits.endswith(said.LIMITS)
    assert "by L1 gates (10 times the price) than by gradient importance in 2 of 2 on text" in at_once
    assert at_once.endswith("by loss without the head (28 times) in 0, by confidence or positional in 1.")
    assert "BLEU 82.1 and 1.3 [1.2, 1.4] times" in speed and speed.endswith("in grouped models 76.9 [76.1, 77.7].")
    assert "4,000 steps" in speed and "trained on for 1,600: by gradient importance 76.7 and 1.4 [1.3, 1.5];" in speed
    assert said.closing(rows[:0], contest[:0], {"text": shots[:0]}, small).startswith("- *You want speed.*")
    assert "You train on" not in said.closing(rows.assign(lead_high=-0.1), contest, {"text": shots}, small)


def test_the_contest_is_read_from_a_run_or_from_what_is_published(tmp_path):
    assert costs.contested(tmp_path, "controlled", "tiny").empty
    assert costs.at_once(tmp_path, "controlled", "tiny").empty
    assert {costs.UNIT, "confidence"} <= {*costs.at_once(tmp_path, "controlled", "laptop").criterion}
    published = costs.contested(tmp_path, "controlled", "laptop").set_index("criterion")
    assert published.above[costs.UNIT] and not published.above["confidence"] and not published.above["random"]
    lead = published.value[costs.UNIT] - published.value
    assert np.allclose(published["lead"], lead) and published.lead_low["confidence"] > 0 > published.lead_low["positional"]
    natural = costs.contested(None, "natural", "laptop")
    assert natural.lead_low.isna().all() and not natural.above.any()
    small = costs.smaller()
    assert said.elsewhere(natural, small).startswith("On EN-FR europarl (1 training, untested) it, loss without the head, conf")
    assert said.elsewhere(costs.contested(None, "natural", "tiny"), small) == said.elsewhere(natural[:2], small) == ""
    rows = {"random": (0, 1), costs.UNIT: (1, 3), "confidence": (3, 3), "votes": (0.5, 1), "leave-one-out": (2, 2)}
    rows = pd.DataFrame(rows | {"positional": (4, 6)}, ["a", "b"]).rename_axis("test set").reset_index()
    told = said.elsewhere(rows.melt("test set", var_name="criterion").assign(model="m", seeds=1), small)
    assert "positional gain +1.0 to +5.0 BLEU over random, votes 0.0 to +0.5. In" in told and told.endswith("choice 76.7.")


def test_nothing_is_made_to_tell_what_the_contest_took(tmp_path):
    settings = study.settings("tiny")
    assert costs.spent(settings, subjects.names(settings), 1).empty and costs.spent(settings, [], 1).empty


def test_removed_heads_save_a_share_of_the_time():
    papers = {case: costs.between("1.25 to 2" if case[1] == "removed" else "0.98 to 1.04") for case in costs.ONCE}
    papers["encoder pass", "removed"] = 1.5, 1.75
    cut, told = said.removing(papers, "a pass with 9 of 48 encoder heads left, 6 + 6 layers", "with 16 of 48 of each kind")
    assert cut.iloc[0].tolist() == ["encoder pass with 9 of 48 encoder heads left", "1.50 to 1.75", "0.98 to 1.04"]
    assert cut["what"].iloc[2] == "generation with 16 of 48 heads of every kind left"
    assert told.endswith("atches are of 1, 8 and 64 sentences of 16 and 64 tokens, in the encoder also 128.")
    assert costs.ranges(papers).groupby("form").size()["masked"] == 1


@pytest.fixture
def model():
    return tiny_model("marian", encoder_layers=2, decoder_layers=1)


def test_operations_stand_beside_the_passes_of_a_definition(model):
    ids = torch.randint(2, 60, (2, 9), generator=torch.Generator().manual_seed(0))
    model.set_attn_implementation("eager")
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids[:, :7].clone()}
    table = costs.counted(model, batch, {costs.MAP: 10.0, "L1 gates": 3.0})
    assert set(table.index) == {*costs.PRICED} and table.counted["confidence"] == pytest.approx(0.5, abs=0.1)
    assert (table.passes["L1 gates"], table.theory["votes"], table.counted["L1 gates"]) == ("3 × (1 + 1)", 0.5, 3)
    assert table.passes["cp"] == "1 + 7" and table.theory["cp"] == 4 and table.theory[costs.MAP] == 15
    assert table.theory["leave-one-out"] == (1 + len(heads.index(model))) / 2 > table.counted["leave-one-out"] > 1
    assert table.counted[costs.UNIT] == 1 < table.counted["cp"]
    priced = table.assign(cost=table.counted * 1.5)
    priced.loc["alpha_beta", "cost"] *= 3
    assert said.understood(priced, POINTS) == (
        "Counted operations are within a factor of two for 7 of 8 measured costs (LRP αβ 4.5 times what they say)."
        " At 64 tokens confidence takes 1.600 seconds, gradient importance 2.000."
    )
    assert table.passes["leave-one-out"].endswith(f"(encoder alone: {1 + len(heads.index(model, ('encoder',)))})")
    assert costs.beside(table, priced.assign(what="a", cost_low=1.0, cost_high=1.0)).index[2] == costs.UNIT


def test_the_text_on_which_operations_are_counted_is_of_middle_length(monkeypatch):
    lengths = (2, 5, 9)
    batches = [{"input_ids": torch.ones(20, n), "labels": torch.ones(20, n)} for n in lengths]
    text = SimpleNamespace(model=tiny_model("marian"), held_out=lambda budget, first: batches)
    monkeypatch.setattr(subjects, "of_name", lambda settings, name, seed: text)
    settings = {"relevance": 60, "training": {"steps": 1, "batch_tokens": 64}, "pruning": {"steps": 100}}
    settings["comparison"] = {"l1": {"steps": 5, "batch_tokens": 64}}
    monkeypatch.setattr(subjects, "names", lambda settings, chosen: ["any"])
    _, few, reads = costs.sample(settings, "", 1)
    assert few["labels"].shape == (costs.SENTENCES, 5) and reads["L1 gates"] == 5 * 64 / (2 * 20 * sum(lengths))
    assert reads[costs.MAP] == 20 * reads["L1 gates"]


def test_a_decoder_s_measures_stand_beside_the_obvious_way_and_their_floor():
    ways = {"importance": 1, "importance, obvious": 4, "relevance": 2, "importance, captum": 1, "floor": 0.5, "other": 9}
    ways |= {"relevance, obvious": 9, "leave one out": 3, "leave one out, obvious": 8}
    table = pd.DataFrame([(what, v, v, v) for what, v in ways.items()], columns=["what", "value", "low", "high"])
    axis = whole(figures.beside(table, {"importance": "floor", "relevance": "floor"})).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["gradient importance", "relevance"]


def test_time_that_grows_fastest_with_length_is_told_by_its_last_doubling():
    rows = [(what, f"length = {at}", "seconds", value) for what, values in (("cp", (1, 2, 8)), ("other", (1, 1, 2**0.5)))
            for at, value in zip((16, 32, 64), values, strict=True)]  # fmt: skip
    rows += [(what, "length", "exponent", value) for what, value in (("cp", 1.5), ("other", 0.25))]
    frame = pd.DataFrame(rows, columns=["what", "group", "quantity", "value"]).assign(low=0.4, high=1.6, size="laptop")
    slopes, points = costs.growth(frame)
    assert slopes["last"].tolist() == pytest.approx([2, 0.5]) and len(points) == 6
    both = points.replace({"cp": "relevance, cp", "other": "importance per example"})
    told = said.steepest(both, pd.DataFrame({"cost": [4.5]}, ["cp"]))
    assert told.startswith(
        "From 32 to 64 tokens relevance takes 4.0 times as long. At 64 its price is 5.66 gradient importances"
    )
    assert told.endswith(" (conservative), in the contest 4.5.")
    (axis,) = whole(figures.growth(slopes, points)).axes
    assert {"relevance, conservative: 2.0", "other: 0.5"} <= {text.get_text() for text in axis.texts}
