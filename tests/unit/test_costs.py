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
from helpers.study import StudyError


def keep(name, size, rows):
    options = argparse.Namespace(size=size, command=f"python -m benchmarks.{name}", device="cpu", started=time.perf_counter())
    common.keep(name, pd.DataFrame(rows, columns=common.COLUMNS), common.facts(options, 3, 1e-7, 1e-5))


RATIOS = [common.row("step", "2 layers", "ratio", [1, 1, 1]), common.row("step, gates", "2 layers", "ratio", [1.2, 1.1, 1.3])]


def test_results_are_what_was_kept_with_its_sidecar():
    keep("heads_overhead", "tiny", [*RATIOS, common.row("captum", "2 layers", "ratio", float("nan"), "not installed")])
    found = costs.results("tiny", ["heads_overhead"])
    assert costs.numbers(found, "heads_overhead", "ratio").value.tolist() == [1.0, 1.2]
    assert costs.remarks(found).values.tolist() == [["heads_overhead", "captum", "2 layers", "not installed"]]
    said = costs.facts(found).loc["heads_overhead", "tiny"]
    assert (said.difference, said.bound, said.repeats, said.device) == (1e-7, 1e-5, 3, "cpu")


def test_what_is_missing_is_one_sentence():
    with pytest.raises(StudyError, match=r"growth.*base"):
        costs.results("base", ["growth"])
    keep("heads_overhead", "tiny", RATIOS)
    (costs.folder("tiny") / "heads_overhead.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StudyError, match=r"heads_overhead\.csv"):
        costs.results("tiny", ["heads_overhead"])


def test_a_laptop_shows_base_sizes_where_they_are_kept():
    keep("growth", "laptop", RATIOS)
    keep("growth", "base", RATIOS)
    for name, ending in product(common.NAMES, ("csv", "json")):
        if name != "growth":
            shutil.copy(costs.folder("laptop") / f"growth.{ending}", costs.folder("laptop") / f"{name}.{ending}")
    found = costs.gathered("laptop")
    assert found["growth"]["size"].tolist() == ["laptop", "laptop", "base", "base"]
    assert set(found["removed_heads"]["size"]) == {"laptop"}


def test_only_tiny_benchmarks_are_run_and_a_failure_is_one_sentence():
    costs.measure("laptop", ["generator_speed"])
    assert not costs.folder("laptop").exists()
    with pytest.raises(StudyError, match=r"benchmarks\.nothing"):
        costs.measure("tiny", ["nothing"])


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


SAVED = [
    common.row(f"{which}, {form}", f"2+2 layers, width 32; {call}, length {length}, batch 1", "speed-up", value)
    for which in ("encoder", "all kinds") for call in ("encoder pass", "generation") for length in (8, 16)
    for form, value in (("removed", 1.4), ("masked", 0.98), ("ceiling", 1.5))
]  # fmt: skip


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


def test_wall_times_are_drawn_where_nothing_is_recorded(tmp_path):
    settings = study.settings("tiny")
    table = costs.wall_times(settings, subjects.names(settings), 1, tmp_path)
    texts = [text.get_text() for axis in drawn.wall_times(table).axes for text in axis.texts]
    assert sum(text.startswith("not recorded") for text in texts) == 2 * len(table) + (table.missing > 0).sum()


def notebook(path, cell, parameters=()):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    made.metadata["papermill"] = {"parameters": dict(parameters)}
    study.write_text(path, nbformat.writes(made))


def test_a_second_run_has_the_parameters_of_the_first_and_leaves_its_results_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "ROOT", tmp_path)
    (executed := tmp_path / "run").mkdir()
    with pytest.raises(StudyError, match="notebook"):
        costs.again(executed)
    cell = "import pathlib; assert seed == 7; (pathlib.Path(output) / 'table.csv').write_text('')"
    notebook(tmp_path / "notebooks" / "01_some.ipynb", cell)
    notebook(executed / "01_some.ipynb", cell, {"seed": 7})
    notebook(executed / f"{costs.COSTS}.ipynb", "1 / 0")  # does not count itself
    costs.main([str(executed)])
    seconds = json.loads((executed / "second_run.json").read_text())
    assert list(seconds) == ["01_some"] and seconds["01_some"] > 0
    assert sorted(path.name for path in executed.iterdir()) == ["01_some.ipynb", f"{costs.COSTS}.ipynb", "second_run.json"]
    notebook(executed / "01_some.ipynb", cell, {"seed": 8})
    with pytest.raises(StudyError, match=r"01_some.*AssertionError"):
        costs.again(executed)
    assert json.loads((executed / "second_run.json").read_text()) == seconds


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_speeds_are_on_a_logarithmic_axis():
    rows = [common.row(what, "small", "tokens/s", [v, 2 * v]) for what, v in (("cp, fast", 900), ("floor", 9))]
    (axis,) = drawn.speeds(pd.DataFrame(rows)).axes
    assert axis.get_xscale() == "log" and [text.get_text() for text in axis.texts] == ["1,350", "13.5"]
    with pytest.raises(StudyError, match="zero"):
        drawn.speeds(pd.DataFrame([common.row("a", "b", "tokens/s", 0.0)]))


def test_overheads_are_of_one_row_each():
    assert [text.get_text() for text in drawn.overheads(pd.DataFrame(RATIOS)).axes[0].texts] == ["1.00", "1.20"]
    with pytest.raises(StudyError, match="more than one row"):
        drawn.overheads(pd.DataFrame([RATIOS[0], RATIOS[0]]))


def test_removed_heads_are_dots_and_masked_ones_squares():
    figure = drawn.removed(costs.savings(pd.DataFrame(SAVED)))
    assert [axis.get_title() for axis in figure.axes] == ["2+2 layers, width 32: encoder", "2+2 layers, width 32: all kinds"]
    marked = {line.get_marker(): sorted(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() in ("o", "s")}
    assert marked == {"o": [1.4] * 4, "s": [0.98] * 4}


def test_growth_draws_a_line_a_measure_with_its_exponent():
    (axis,) = drawn.growth(*costs.growth(pd.DataFrame(growth_rows()))).axes
    assert axis.get_legend().get_texts()[0].get_text() == "relevance: 2.05 [2.02, 2.08]"
    assert axis.get_xscale() == axis.get_yscale() == "log"


def test_memory_is_in_mebibytes():
    rows = pd.DataFrame([common.row("plain", "small", "bytes", 3 * 2**20), common.row("gates", "small", "bytes", 5 * 2**20)])
    for figure in (drawn.memory(rows.assign(benchmark="heads_overhead")), drawn.bytes_kept(rows)):
        assert [bar.get_width() for bar in figure.axes[0].patches] == [3, 5]


@pytest.mark.parametrize("draw", [drawn.speeds, drawn.wall_times])
def test_a_table_without_a_column_is_refused_in_one_sentence(draw):
    with pytest.raises(StudyError, match="column"):
        draw(pd.DataFrame({"value": [1.0]}))
