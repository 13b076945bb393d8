"""What benchmarks kept as tables, wall times as far as they are recorded, and the figures of both."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from itertools import product

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest

from benchmarks import common, costs
from benchmarks import figures as drawn
from helpers import plan, study
from helpers.runs import subjects
from helpers.study import StudyError, published


def keep(name, size, rows):
    options = argparse.Namespace(size=size, command=f"python -m benchmarks.{name}", device="cpu", started=time.perf_counter())
    common.keep(name, pd.DataFrame(rows, columns=common.COLUMNS), common.facts(options, 3, 1e-7, 1e-5))


RATIOS = [common.row("step", "2 layers", "ratio", [1, 1, 1]), common.row("step, gates", "2 layers", "ratio", [1.2, 1.1, 1.3])]


def test_results_are_what_was_kept_with_its_sidecar():
    keep("heads_overhead", "tiny", [*RATIOS, common.row("captum", "2 layers", "ratio", float("nan"), "not installed")])
    found = costs.results("tiny", ["heads_overhead"])
    rows = costs.numbers(found, "heads_overhead", "ratio")
    assert rows[["what", "value", "repeats", "note", "size"]].values.tolist() == [
        ["step", 1.0, 3, "", "tiny"], ["step, gates", 1.2, 3, "", "tiny"],
    ]  # fmt: skip
    assert costs.remarks(found).values.tolist() == [["heads_overhead", "captum", "2 layers", "not installed"]]
    said = costs.facts(found).loc["heads_overhead", "tiny"]
    assert (said.difference, said.bound, said.repeats, said.device) == (1e-7, 1e-5, 3, "cpu")


def test_what_is_missing_is_one_sentence():
    with pytest.raises(StudyError, match=r"growth.*base"):
        costs.results("base", ["growth"])
    with pytest.raises(StudyError, match="huge"):
        costs.gathered("huge")
    keep("heads_overhead", "tiny", RATIOS)
    found = costs.results("tiny", ["heads_overhead"])
    with pytest.raises(StudyError, match="bytes"):
        costs.numbers(found, "heads_overhead", "bytes")
    (costs.folder("tiny") / "heads_overhead.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StudyError, match=r"heads_overhead\.csv"):
        costs.results("tiny", ["heads_overhead"])
    sidecar = costs.folder("tiny") / "heads_overhead.json"
    sidecar.write_text(json.dumps({"seconds": 1, "gate": {"difference": 0, "bound": 1}}))
    with pytest.raises(StudyError, match="repeats"):
        costs.facts(found)


def test_a_laptop_shows_base_sizes_where_they_are_kept():
    keep("growth", "laptop", RATIOS)
    keep("growth", "base", RATIOS)
    for name, ending in product(common.NAMES, ("csv", "json")):
        if name != "growth":
            shutil.copy(costs.folder("laptop") / f"growth.{ending}", costs.folder("laptop") / f"{name}.{ending}")
    found = costs.gathered("laptop")
    assert found["growth"]["size"].tolist() == ["laptop", "laptop", "base", "base"]
    assert set(found["removed_heads"]["size"]) == {"laptop"}
    assert len(costs.facts(found)) == len(common.NAMES) + 1


def test_only_tiny_benchmarks_are_run_and_a_failure_is_one_sentence():
    costs.measure("laptop", ["generator_speed"])
    assert not costs.folder("laptop").exists()
    with pytest.raises(StudyError, match=r"benchmarks\.nothing"):
        costs.measure("tiny", ["nothing"])
    keep("generator_speed", "tiny", RATIOS)
    costs.measure("tiny", ["generator_speed"])  # kept already: not run
    assert len(costs.results("tiny", ["generator_speed"])["generator_speed"]) == 2


def growth_rows():
    return [
        row for name, power in (("relevance", 2.0), ("one pass", 1.0))
        for row in (common.row(name, "length", "exponent", [power, power + 0.1]),
                    *(common.row(name, f"length = {size}", "seconds", [size**power, 1.1 * size**power]) for size in (4, 8, 16)))
    ]  # fmt: skip


def test_growth_splits_exponents_and_points():
    slopes, points = costs.growth(pd.DataFrame(growth_rows()))
    assert slopes.set_index("what").value.to_dict() == pytest.approx({"relevance": 2.05, "one pass": 1.05})
    assert points[points["what"] == "relevance"]["at"].tolist() == [4, 8, 16]
    assert set(points.axis) == set(slopes.axis) == {"length"}


SAVED = [
    common.row(f"{which}, {form}", f"2+2 layers, width 32; {call}, length {length}, batch 1", "speed-up", value)
    for which in ("encoder", "all kinds") for call in ("encoder pass", "generation") for length in (8, 16)
    for form, value in (("removed", 1.4), ("masked", 0.98), ("ceiling", 1.5))
]  # fmt: skip


def test_savings_are_taken_apart():
    saved = costs.savings(pd.DataFrame(SAVED))
    first = saved.iloc[0]
    assert (first["map"], first.form, first.model, first.call, first.length, first.batch, first.value) == (
        "encoder", "removed", "2+2 layers, width 32", "encoder pass", 8, 1, 1.4,
    )  # fmt: skip
    assert len(saved) == len(SAVED) and set(saved.form) == {"removed", "masked", "ceiling"}


@pytest.fixture
def recorded(tmp_path):
    """Some runs of notebooks 01 and 04 with made-up seconds; executed notebooks 01 and 02 in their two forms."""
    settings = study.settings("tiny")
    names = subjects.names(settings)
    notebooks = plan.goals(settings, names, 1)
    for notebook, seconds in (("01_relevance_and_confidence", 10.0), ("04_grouped_heads", 5.0)):
        for recipe in plan.missing(notebooks[notebook]):
            study.write_json(recipe.folder / "made.json", {"seconds": seconds, "files": {}})
    executed = tmp_path / "executed"
    study.write_json(executed / "01_relevance_and_confidence.ipynb", {"metadata": {"papermill": {"duration": 61.5}}})
    study.write_text(executed / "times" / "02_head_functions.tsv", "s\th:m:s\n33.25\t0:00:33\n")
    study.write_json(executed / "second_run.json", {"01_relevance_and_confidence": 4.5})
    return settings, names, executed


def test_wall_times_count_every_run_once_for_the_first_notebook_that_needs_it(recorded):
    settings, names, executed = recorded
    table = costs.wall_times(settings, names, 1, executed)
    reads = {notebook[:2]: set(plan.closure(needs)) for notebook, needs in plan.goals(settings, names, 1).items()}
    own = len(reads["01"] - reads["00"])
    first, second, fourth = (table.loc[name] for name in table.index[[1, 2, 4]])
    assert (first.executing, first.second, first.training, first.runs) == (61.5, 4.5, 10.0 * own, own)
    assert second.executing == 33.25 and second.missing == len(reads["02"] - reads["01"])
    shared = len(reads["04"] & reads["01"])
    assert shared and fourth.training == 5.0 * (len(reads["04"]) - shared) and fourth.missing == 0
    assert table.missing["03_l0_pruning"] > 0 and np.isnan(table.executing["03_l0_pruning"])


def test_what_is_published_counts_as_recorded(tmp_path):
    settings = study.settings("tiny")
    table = costs.wall_times(settings, ["ru-news"], 1, tmp_path).loc["00_your_own_model"]
    (model,) = (one for one in plan.closure(plan.goals(settings, ["ru-news"], 1)["00_your_own_model"]) if one.kind.opened)
    entry = {"kind": "model", "version": 1, "seconds": 7.0, "trains": True, "parts": {"results": {}, "weights": {}}}
    study.write_json(published.folder() / "index.json", {"runs": {model.key: dict.fromkeys(published.TOLD) | entry}})
    again = costs.wall_times(settings, ["ru-news"], 1, tmp_path).loc["00_your_own_model"]
    assert (again.training, again.runs, again.missing) == (7.0, 1, table.missing - 1)


def test_wall_times_are_drawn_where_nothing_is_recorded(tmp_path):
    settings = study.settings("tiny")
    table = costs.wall_times(settings, subjects.names(settings), 1, tmp_path)
    assert (
        table[["executing", "second"]].isna().all(axis=None) and table.training.isna().tolist() == (table.missing > 0).tolist()
    )
    texts = [text.get_text() for axis in drawn.wall_times(table).axes for text in axis.texts]
    assert sum(text.startswith("not recorded") for text in texts) == 2 * len(table) + (table.missing > 0).sum()


def notebook(path, cell, parameters=()):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    made.metadata["papermill"] = {"parameters": dict(parameters)}
    study.write_text(path, nbformat.writes(made))


def test_a_second_run_has_the_parameters_of_the_first_and_leaves_its_results_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "ROOT", tmp_path)
    (executed := tmp_path / "run").mkdir()
    with pytest.raises(StudyError, match="notebook"):
        costs.again(executed)
    cell = "import pathlib, time; time.sleep(1); assert seed == 7; (pathlib.Path(output) / 'table.csv').write_text('')"
    notebook(tmp_path / "notebooks" / "01_some.ipynb", cell)
    notebook(executed / "01_some.ipynb", cell, {"seed": 7})
    notebook(executed / f"{costs.COSTS}.ipynb", "1 / 0")  # does not count itself
    costs.main([str(executed)])
    seconds = json.loads((executed / "second_run.json").read_text())
    assert list(seconds) == ["01_some"] and seconds["01_some"] >= 1
    assert capsys.readouterr().out.startswith("01_some: ")
    assert sorted(path.name for path in executed.iterdir()) == ["01_some.ipynb", f"{costs.COSTS}.ipynb", "second_run.json"]
    notebook(executed / "01_some.ipynb", cell, {"seed": 8})
    with pytest.raises(StudyError, match=r"01_some.*AssertionError"):
        costs.again(executed)
    assert json.loads((executed / "second_run.json").read_text()) == seconds


def test_a_run_of_profile_tiny_is_shown_where_it_lies_beside(recorded):
    _, _, executed = recorded
    settings = study.settings("laptop")
    assert set(costs.recorded("laptop", settings, "", 1, executed).index.levels[0]) == {"laptop"}
    executed.rename(executed.with_name("tiny-controlled"))
    both = costs.recorded("laptop", settings, "", 1, executed)
    assert set(both.index.levels[0]) == {"laptop", "tiny"}
    assert both.second["tiny", "01_relevance_and_confidence"] == 4.5


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_speeds_are_on_one_logarithmic_axis_with_a_panel_a_group():
    rows = [
        common.row(what, group, "tokens/s", [v, 2 * v])
        for group in ("small", "large")
        for what, v in (("cp, fast", 900), ("floor", 9))
    ]
    figure = drawn.speeds(pd.DataFrame(rows))
    assert [axis.get_title() for axis in figure.axes] == ["small", "large"]
    axis = figure.axes[0]
    assert axis.get_xscale() == "log" and figure.axes[1].get_xlabel() == "tokens/s"
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["cp, fast", "floor"]
    assert [text.get_text() for text in axis.texts] == ["1,350", "13.5"]
    with pytest.raises(StudyError, match="zero"):
        drawn.speeds(pd.DataFrame([common.row("a", "b", "tokens/s", 0.0)]))


def test_overheads_stand_beside_a_line_at_1():
    figure = drawn.overheads(pd.DataFrame(RATIOS))
    assert any(list(line.get_xdata()) == [1.0, 1.0] for line in figure.axes[0].lines)
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.00", "1.20"]
    with pytest.raises(StudyError, match="more than one row"):
        drawn.overheads(pd.DataFrame([RATIOS[0], RATIOS[0]]))


def test_removed_heads_stand_beside_their_ceiling():
    figure = drawn.removed(costs.savings(pd.DataFrame(SAVED)))
    assert [axis.get_title() for axis in figure.axes] == ["2+2 layers, width 32: encoder", "2+2 layers, width 32: all kinds"]
    marked = {line.get_marker(): sorted(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() in ("o", "s")}
    assert marked == {"o": [1.4] * 4, "s": [0.98] * 4}
    assert len(figure.axes[0].get_yticklabels()) == 4


def test_growth_draws_a_line_a_measure_with_its_exponent():
    figure = drawn.growth(*costs.growth(pd.DataFrame(growth_rows())))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "relevance: 2.05 [2.02, 2.08]", "one pass: 1.05 [1.02, 1.08]",
    ]  # fmt: skip
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"


def test_memory_is_in_mebibytes_and_bytes_kept_too():
    rows = pd.DataFrame([common.row("plain", "small", "bytes", 3 * 2**20), common.row("gates", "small", "bytes", 5 * 2**20)])
    figure = drawn.memory(rows.assign(benchmark="heads_overhead"))
    assert [bar.get_width() for bar in figure.axes[0].patches] == [3, 5]
    assert figure.axes[0].get_title(loc="left") == "heads overhead: small"
    assert [bar.get_width() for bar in drawn.bytes_kept(rows).axes[0].patches] == [3, 5]


@pytest.mark.parametrize(
    "draw", [drawn.speeds, drawn.overheads, drawn.removed, drawn.memory, drawn.wall_times, drawn.bytes_kept]
)
def test_a_table_without_a_column_is_refused_in_one_sentence(draw):
    with pytest.raises(StudyError, match="column"):
        draw(pd.DataFrame({"value": [1.0]}))
