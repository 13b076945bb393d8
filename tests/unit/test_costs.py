"""What benchmarks kept as tables, wall times as far as they are recorded, and the figures of both."""

import argparse
import time

import numpy as np
import pandas as pd
import pytest

from benchmarks import common, costs, figures
from helpers import plan, study
from helpers.runs import subjects
from helpers.study import StudyError
from tests.unit.drawn import whole


def keep(name, size, rows):
    options = argparse.Namespace(size=size, command=f"python -m benchmarks.{name}", device="cpu", started=time.perf_counter())
    common.keep(name, pd.DataFrame(rows, columns=common.COLUMNS), common.facts(options, 3, 1e-7, 1e-5))


RATIOS = [common.row("step", "2 layers", "ratio", [1, 1, 1]), common.row("step, gates", "2 layers", "ratio", [1.2, 1.1, 1.3])]


def test_results_are_what_was_kept_with_its_sidecar_here_or_in_the_project(tmp_path, monkeypatch):
    keep("heads_overhead", "tiny", [*RATIOS, common.row("captum", "2 layers", "ratio", float("nan"), "not installed")])
    found = costs.results("tiny", ["heads_overhead"])
    assert costs.numbers(found, "heads_overhead", "ratio").value.tolist() == [1.0, 1.2]
    assert costs.remarks(found).values.tolist() == [["heads_overhead", "captum", "2 layers", "not installed"]]
    said = costs.facts(found).loc["heads_overhead", "tiny"]
    assert (said.difference, said.bound, said.repeats, said.device) == (1e-7, 1e-5, 3, "cpu")
    (results := tmp_path / "benchmarks" / "results").mkdir(parents=True)
    costs.folder("tiny").rename(results / "tiny")
    monkeypatch.setattr(study, "ROOT", tmp_path)
    assert costs.facts(costs.results("tiny", ["heads_overhead"])).loc["heads_overhead", "tiny"].equals(said)


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
    assert table.cost.eq(2).all() and rivals.times.eq(6).all() and rivals.obvious.eq(12).all() and len(rivals) == len(table) - 6
    assert table.captum.isna().all() and table.repeats.eq(2).all() and table.cost_low.eq(2).all()
    assert table.times["group constraint on V"] == 3 and table.small.isna().all() and table.model.eq("a model").all()
    shown = table[~table.index.str.contains(costs.TODAY)]
    figure = whole(figures.heart(shown.assign(captum=3.0), (0.9, 1.1), costs.STEP))
    assert len(figure.axes) == table.plain.nunique() and figure.axes[-1].get_xlabel() == f"in units of: {costs.STEP}"
    assert costs.rivals(table, {"decoder_speed": pd.DataFrame({"what": [], "value": []})}) == (
        "Against our own plain implementation 3.0 to 6 times as fast"
    )
    token = pd.DataFrame({"what": ["importance per token, captum over importance per token"], "value": [1.02]})
    said = costs.rivals(table.assign(captum=[np.nan, 14.0, *[np.nan] * (len(table) - 2)]), {"decoder_speed": token})
    assert said.startswith(
        "Against Captum 14 times as fast for signed rules, no faster for gradient importance, each token; against our own"
    )


def test_a_step_timed_once_more_is_told_by_its_widest_quartiles():
    rows = {"a step, once more (noise)": (0.95, 1.02), "plain, once more (noise)": (0.9, 1.01), "other": (0.1, 9.0)}
    rows = [{"what": what, "low": low, "high": high, "value": 1.0, "quantity": "ratio"} for what, (low, high) in rows.items()]
    assert costs.noise({name: pd.DataFrame(rows[i : i + 1]) for i, name in enumerate(costs.OVERHEADS)}) == (0.9, 1.02)
    remarks = pd.DataFrame(
        {"what": ["relevance, zennit", "lxt", "fast"], "note": ["x does not import: y", "not installed", "slow"]}
    )
    assert costs.absent(remarks).startswith("Not compared: zennit and lxt,") and costs.absent(remarks[2:]) == ""


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
    assert (first.executing, first.training, first.runs) == (61.5, 10.0 * own, own)
    assert second.executing == 33.25 and second.missing == len(reads["02"] - reads["01"])
    shared = len(reads["04"] & reads["01"])
    assert shared and fourth.training == 5.0 * (len(reads["04"]) - shared) and fourth.missing == 0
    assert table.missing["03_l0_pruning"] > 0 and np.isnan(table.executing["03_l0_pruning"])


@pytest.mark.parametrize(("lows", "said"), [
    ((0.9, 1.1), "L0 gates: no cost that shows; longer training steps: constraint 20 %"),
    ((1.01, 1.0), "L0 gates and constraint: no cost that shows"),  # a step timed once more takes as much
    ((1.05, 1.1), "longer training steps: L0 gates 10 % and constraint 20 %"),
])  # fmt: skip
def test_what_is_added_shows_beside_a_step_timed_once_more(lows, said):
    table = pd.DataFrame({"plain": costs.STEP, "cost": [1.1, 1.2], "cost_low": lows}, index=["L0 gates on every", "constraint"])
    assert costs.longer(table, (0.9, 1.02)) == said
    small = costs.longer(table.assign(cost_low=1.0, small=[1.0, 1.17], small_model="2+2 layers"), (0.9, 1.02))
    assert small == "L0 gates and constraint: no cost that shows (constraint 17 % in the small model, 2+2 layers)"


def test_costs_stand_beside_what_pruning_by_them_changes(tmp_path):
    table = pd.DataFrame({"cost": 2.0}, [what for what, *_ in costs.HEART])
    table.loc["loss without each head", "cost"] = 30.0
    found = {"heads_overhead": [("forward", "seconds", 0.25), (costs.STEP, "seconds", 1.0)]}
    found = {name: pd.DataFrame(rows, columns=["what", "quantity", "value"]) for name, rows in found.items()}
    names = ["confidence", "gradient, example", "leave-one-out", "cp", "random", "L0 (trained)", "votes"]
    contest = pd.DataFrame({"criterion": names, "value": -1.0, "low": -2.0, "high": 0.0})
    both = costs.pruning(table, found, contest).set_index("measure")
    assert both.cost.dropna().to_dict() == {"confidence": 0.25, "gradient, example": 1, "leave-one-out": 30, "cp": 2}
    assert "votes" not in both.index
    axis = whole(figures.pruning(both.reset_index())).axes[0]
    assert axis.get_xscale() == "log" and "BLEU" in axis.get_ylabel()
    assert costs.contested(tmp_path, "controlled", "tiny").empty
    assert not costs.contested(tmp_path, "controlled", "laptop").empty
    assert costs.passes(table).endswith("costs 2, the signed rules 2, the loss without each head 30")


def test_a_decoder_s_measures_stand_beside_the_obvious_way_and_their_floor():
    ways = {"importance": 1, "importance, obvious": 4, "relevance": 2, "importance, captum": 1, "floor": 0.5, "other": 9}
    ways |= {"relevance, obvious": 9, "leave one out": 3, "leave one out, obvious": 8}
    table = pd.DataFrame([(what, v, v, v) for what, v in ways.items()], columns=["what", "value", "low", "high"])
    axis = whole(figures.beside(table, {"importance": "floor", "relevance": "floor"}, "seconds")).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["gradient importance", "relevance"]
    ways = pd.DataFrame(
        {"what": [f"leave one out{way} over what must be done" for way in ("", ", obvious")], "value": [1, 1.5]}
    )
    told = costs.decoder(pd.concat([table.assign(quantity="seconds"), ways.assign(quantity="operations")]))
    assert "1 for gradient importance (4)" in told and "3 for leaving out every head (8). Leaving out needs 1.00 times" in told
    speeds = pd.DataFrame({"what": ["cp, fast", "cp, obvious", "cp, captum"], "value": [100.0, 1.0, 50.0]})
    speeds = speeds.assign(group="3+3 layers, 36 tokens", quantity="target tokens/s")
    told = costs.minutes({"relevance_speed": speeds})
    assert "1,000 sentences of 36 tokens takes 6.0 to 6.0 minutes" in told
    assert "10.0 to 10.0 hours, Captum (signed rules) 12.0 to" in told
    rows = [(what, f"length = {at}", "seconds", value) for what, values in (("cp", (1, 2, 8)), ("other", (1, 1, 2**0.5)))
            for at, value in zip((16, 32, 64), values, strict=True)]  # fmt: skip
    rows += [(what, "length", "exponent", value) for what, value in (("cp", 1.5), ("other", 0.25))]
    frame = pd.DataFrame(rows, columns=["what", "group", "quantity", "value"]).assign(low=0.4, high=1.6, size="laptop")
    slopes, points = costs.growth(frame)
    assert slopes["last"].tolist() == pytest.approx([2, 0.5]) and len(points) == 6
    told = "(last doubling, to 64 tokens) to the power of 2.0 for relevance, conservative; at most 0.5 for others."
    assert costs.steepest(slopes, points).endswith(told)
