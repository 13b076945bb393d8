"""Figures drawn again from what they were drawn from: the same bytes, or one sentence why not."""

import dataclasses
import inspect
import shutil
import subprocess
import sys
import types

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from helpers import drawing, plots, study
from helpers.measures import figures as measure_figures
from helpers.methods import coreference
from helpers.plots import basic, gates, groups, rows
from helpers.publish import redraw
from helpers.study import StudyError, values

CURVES = {"one": pd.DataFrame({"step": [1, 2], "dev_loss": [3.0, 2.5], "heads": [8, 4]})}
GATES = pd.DataFrame({"model": ["m", "m"], "heads": [2, 1], "change": [0.0, -1.0]})


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory):
    """A run of a notebook with the figures "curves" and "gates"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda _: None)
        drawing.style()
        run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path_factory.mktemp("redraw") / "run")})
        run.figure(drawing.training_curves(CURVES), "curves", split="dev")
        run.figure(plots.curve(GATES, "heads", "change"), "gates")
    return run


@pytest.fixture
def run(drawn_once, tmp_path, monkeypatch):
    """A copy of it."""
    monkeypatch.setattr("IPython.display.display", lambda _: None)
    shutil.copytree(drawn_once.folder, tmp_path / "run")
    return dataclasses.replace(drawn_once, folder=tmp_path / "run", _inputs=dict(drawn_once._inputs))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".png", ".pdf")}


def test_every_figure_function_is_redrawable():
    for module in (coreference.figures, basic, gates, groups, rows, measure_figures):
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if own:
                assert redraw.figure_function(f"{module.__name__}.{name}") is value


def test_another_process_draws_the_same_bytes_and_imports_nothing_that_trains(run, tmp_path):
    code = f"""
        import sys
        from pathlib import Path
        from helpers.publish import redraw

        redraw.main([{str(run.folder)!r}, "--output", {str(tmp_path / "again")!r}])
        assert not {{"helpers.runs.training", "helpers.runs.subjects"}} & set(sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", inspect.cleandoc(code)], capture_output=True, text=True, cwd=study.ROOT)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "again" / run.name) == files(run.chapter.folder)
    assert sorted(files(tmp_path / "again" / run.name)) == ["curves.pdf", "curves.png", "gates.pdf", "gates.png"]


def test_a_change_of_style_reaches_the_chosen_figures_in_their_places(run, monkeypatch):
    before = files(run.chapter.folder)
    monkeypatch.setitem(drawing.STYLE, "axes.labelsize", 14)
    assert redraw.redraw(run.folder, ["curves"]) == [run.chapter.picture("curves", "png")]
    assert {name for name, was in before.items() if was != files(run.chapter.folder)[name]} == {"curves.png", "curves.pdf"}
    assert "redrawn" in study.read_json(run.chapter.sidecar("curves")) and not plt.get_fignums()


@pytest.mark.parametrize(
    "figure",
    [plt.figure, lambda: drawing.training_curves(types.MappingProxyType(CURVES))],
    ids=["no figure function", "inputs that cannot be stored"],
)
def test_a_figure_that_cannot_be_drawn_alone_says_so(run, figure, capsys):
    run.figure(figure(), "curves")  # again, under the name of a figure with inputs
    facts = study.read_json(run.chapter.sidecar("curves"))
    assert "inputs" not in facts and not run.chapter.inputs("curves").exists() and run.command in facts["redraw"]
    with pytest.raises(StudyError, match=f"{run.name}/curves has no stored inputs"):
        redraw.redraw(run.folder, ["curves"])
    redraw.main([str(run.folder)])
    drawn, left = capsys.readouterr().out.splitlines()
    assert drawn.endswith("gates.png") and f"{run.name}/curves" in left and run.command in left


@pytest.mark.parametrize("damage", ["gone", "of another figure"])
def test_damaged_inputs_are_refused_before_anything_is_drawn(run, tmp_path, damage, capsys):
    path = run.chapter.inputs("gates")
    path.unlink()
    if damage != "gone":
        shutil.copy(run.chapter.inputs("curves"), path)
    with pytest.raises(SystemExit) as caught:
        redraw.main([str(run.folder), "--output", str(tmp_path / "again")])
    said = capsys.readouterr().err
    assert caught.value.code == 2 and str(path) in said and run.command in said and said.count("\n") == 1
    assert not (tmp_path / "again").exists()


CALLS = {
    "a module of ours that others are in": ("helpers.study.store.os.system", {"command": "touch called"}),
    "a function that draws no figure": ("helpers.study.write_text", {"path": "called", "text": ""}),
    "the undecorated function": ("helpers.drawing.training_curves.__wrapped__", {"histories": CURVES}),
    "a module that is not there": ("helpers.gone.training_curves", {"histories": CURVES}),
    "a list as arguments": ("helpers.drawing.training_curves", [CURVES]),
}


@pytest.mark.parametrize("call", CALLS)
def test_inputs_call_figure_functions_only(run, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    path, facts = run.chapter.inputs("curves"), study.read_json(run.chapter.sidecar("curves"))
    function, arguments = CALLS[call]
    values.write(path, arguments)
    told = {"function": function, "of": "curves", "sha256": study.digest(path)}
    study.write_json(run.chapter.sidecar("curves"), facts | {"inputs": told})
    with pytest.raises(StudyError) as caught:
        redraw.redraw(run.folder, ["curves"], tmp_path / "again")
    assert run.command in str(caught.value)
    assert not (tmp_path / "called").exists() and not (tmp_path / "again").exists()


def test_names_of_figures_are_those_there_are_and_whole_where_two_chapters_have_them(run):
    with pytest.raises(StudyError, match=r"'curve'.*03_l0_pruning/curves"):
        redraw.redraw(run.folder, ["curve"])
    other = study.begin("04_grouped_heads", {"profile": "tiny", "output": str(run.folder)})
    other.figure(drawing.training_curves(CURVES), "curves")
    with pytest.raises(StudyError, match="03_l0_pruning/curves, 04_grouped_heads/curves"):
        redraw.redraw(run.folder, ["curves"])
    assert redraw.redraw(run.folder, ["04_grouped_heads/curves"]) == [other.chapter.picture("curves", "png")]
