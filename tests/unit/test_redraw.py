"""Figures drawn again from what they were drawn from: the same bytes, or one sentence why not."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from helpers import figures, grouped_figures, injection_figures, redraw, study
from helpers.study import StudyError

CURVES = {"one": pd.DataFrame({"step": [1, 2], "dev_loss": [3.0, 2.5], "heads": [8, 4]})}
GATES = {0.1: pd.DataFrame({("encoder", 0, 0): [0.1, 0.9], ("encoder", 0, 1): [0.1, 0.2]}, [0, 5])}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a notebook with the figures "curves" and "gates" (an animation)."""
    monkeypatch.setattr("IPython.display.display", lambda _: None)
    figures.style()
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path / "run")})
    run.figure(figures.learning_curves(CURVES), "curves", split="dev")
    run.animation(figures.gate_closing_animation(GATES, frames=2), "gates")
    return run


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".png", ".pdf", ".gif")}


@pytest.mark.parametrize("module", [figures, grouped_figures, injection_figures])
def test_every_figure_function_is_redrawable(module):
    public = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    left = {name for name, value in public.items() if not hasattr(value, "__wrapped__")}
    assert left <= {"style", "hard_concrete_slider"} and len(public) > 8


def test_another_process_draws_the_same_bytes_and_imports_nothing_that_trains(run, tmp_path):
    code = f"""
        import sys
        from pathlib import Path
        from helpers import redraw

        redraw.main([{str(run.folder)!r}, "--output", {str(tmp_path / "again")!r}])
        assert not [name for name in sys.modules if name in ("helpers.training", "helpers.subjects", "helpers.models")]
    """
    done = subprocess.run([sys.executable, "-c", inspect.cleandoc(code)], capture_output=True, text=True, cwd=study.ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "again" / name) for name in ("curves.png", "gates.gif")]
    assert files(tmp_path / "again") == files(run.folder / "figures")
    assert sorted(files(tmp_path / "again")) == ["curves.pdf", "curves.png", "gates.gif"]
    before, after = (read(folder / "curves.json") for folder in (run.folder / "figures", tmp_path / "again"))
    assert after.pop("redrawn").keys() == {"time", "commit", "code"}
    assert after == before


def test_a_change_of_style_reaches_the_chosen_figures_in_their_places(run, monkeypatch):
    before = files(run.folder / "figures")
    monkeypatch.setitem(figures.STYLE, "font.size", 14)
    monkeypatch.setitem(figures.STYLE, "axes.labelsize", 14)
    assert redraw.redraw(run.folder, ["curves"]) == [run.folder / "figures" / "curves.png"]
    after = files(run.folder / "figures")
    assert {name for name in before if before[name] != after[name]} == {"curves.png", "curves.pdf"}
    assert not plt.get_fignums()


def test_the_sidecar_names_the_function_and_the_command(run):
    facts = read(run.folder / "figures" / "curves.json")
    assert facts["redraw"] == "python -m helpers.redraw run curves"
    assert facts["inputs"]["function"] == "helpers.figures.learning_curves"
    assert facts["inputs"]["sha256"] == study.digest(run.folder / "inputs" / "curves.pickle")


def test_the_outer_of_two_figure_functions_is_stored():
    table = pd.DataFrame([[1.0, 0.5], [0.5, 1.0]], ["a", "b"], ["a", "b"])
    figure = injection_figures.agreement(table)
    assert figure.drawn_by.func is injection_figures.agreement
    plt.close(figure)


@pytest.mark.parametrize(
    "figure", [lambda: plt.figure(), lambda: redraw.redrawable(lambda _: plt.figure())(lambda: None)],
    ids=["drawn by no figure function", "inputs that cannot be stored"],
)  # fmt: skip
def test_a_figure_that_cannot_be_drawn_alone_says_so(run, figure, capsys):
    run.figure(figure(), "curves")  # again, under the name of a figure with inputs
    facts = read(run.folder / "figures" / "curves.json")
    assert "inputs" not in facts and not (run.folder / "inputs" / "curves.pickle").exists()
    assert facts["redraw"] == f"not by itself, its inputs cannot be stored: {run.command}"
    with pytest.raises(StudyError, match=re.escape(f"curves has no stored inputs: run its notebook again ({run.command}).")):
        redraw.redraw(run.folder, ["curves"])
    redraw.main([str(run.folder)])
    said = [str(run.folder / "figures" / "gates.gif"), f"not redrawn: curves, which its notebook draws: {run.command}"]
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "of another figure"])
def test_damaged_inputs_are_refused_before_anything_is_drawn(run, tmp_path, damage, capsys):
    path = run.folder / "inputs" / "gates.pickle"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-10])
    elif damage == "changed":
        path.write_bytes(b"garbage")
    elif damage == "gone":
        path.unlink()
    else:
        path.write_bytes((run.folder / "inputs" / "curves.pickle").read_bytes())
    with pytest.raises(SystemExit) as caught:
        redraw.main([str(run.folder), "--output", str(tmp_path / "again")])
    said = "are missing" if damage == "gone" else "are damaged or belong to another figure"
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"error: The inputs {path} {said}: run its notebook again ({run.command}).\n"
    assert not (tmp_path / "again").exists()


def test_code_that_changed_since_is_named(run, monkeypatch):
    monkeypatch.delattr(figures, "learning_curves")
    with pytest.raises(StudyError, match="need code that is gone") as caught:
        redraw.redraw(run.folder, ["curves"])
    assert run.command in str(caught.value)
    monkeypatch.setattr(figures, "learning_curves", lambda: None, raising=False)
    with pytest.raises(StudyError, match="cannot be drawn from its stored inputs"):
        redraw.redraw(run.folder, ["curves"])


def test_unknown_runs_and_figures(run, tmp_path):
    with pytest.raises(StudyError, match=re.escape("There is no figure 'curve' in") + ".*: choose from curves, gates\\."):
        redraw.redraw(run.folder, ["curve"])
    with pytest.raises(StudyError, match=re.escape(f"There is no figure in {tmp_path}: name the folder of a run")):
        redraw.redraw(tmp_path)
