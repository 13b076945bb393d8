"""Figures drawn again from what they were drawn from: the same bytes, or one sentence why not."""

from __future__ import annotations

import dataclasses
import inspect
import json
import shutil
import subprocess
import sys
import types

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import figures as cost_figures
from helpers import drawing, study
from helpers.measures import figures as measure_figures
from helpers.methods import contest, coreference, grouping, l0
from helpers.methods.l0 import HardConcrete
from helpers.publish import redraw
from helpers.study import StudyError, layout, values

CURVES = {"one": pd.DataFrame({"step": [1, 2], "dev_loss": [3.0, 2.5], "heads": [8, 4]})}
GATES = {0.1: pd.DataFrame({("encoder", 0, 0): [0.1, 0.9], ("encoder", 0, 1): [0.1, 0.2]}, [0, 5])}


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory):
    """A run of a notebook with the figures "curves" and "gates" (an animation)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda _: None)
        drawing.style()
        run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path_factory.mktemp("redraw") / "run")})
        run.figure(drawing.learning_curves(CURVES), "curves", split="dev")
        run.animation(l0.figures.gate_closing_animation(GATES, frames=2), "gates")
    return run


@pytest.fixture
def run(drawn_once, tmp_path, monkeypatch):
    """A copy of it."""
    monkeypatch.setattr("IPython.display.display", lambda _: None)
    drawing.style()
    shutil.copytree(drawn_once.folder, tmp_path / "run")
    return dataclasses.replace(drawn_once, folder=tmp_path / "run", _inputs=dict(drawn_once._inputs))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".png", ".pdf", ".gif")}


MODULES = [contest.figures, cost_figures, coreference.figures, drawing, grouping.figures, l0.figures, measure_figures]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_figure_function_is_redrawable(module):
    public = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    left = {name for name, value in public.items() if not hasattr(value, "redrawable")}
    assert module is drawing or left <= {"hard_concrete_slider"}
    assert len(public) > 5
    for name in set(public) - left:
        assert redraw.figure_function(f"{module.__name__}.{name}") is public[name]


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
    assert done.stdout.split() == [str(tmp_path / "again" / run.name / name) for name in ("curves.png", "gates.gif")]
    assert files(tmp_path / "again" / run.name) == files(run.chapter.folder)
    assert sorted(files(tmp_path / "again" / run.name)) == ["curves.pdf", "curves.png", "gates.gif"]
    again = layout.Chapter(tmp_path / "again" / run.name)
    assert read(again.sidecar("curves")) == read(run.chapter.sidecar("curves"))


def test_a_change_of_style_reaches_the_chosen_figures_in_their_places(run, monkeypatch):
    before = files(run.chapter.folder)
    monkeypatch.setitem(drawing.STYLE, "font.size", 14)
    monkeypatch.setitem(drawing.STYLE, "axes.labelsize", 14)
    assert redraw.redraw(run.folder, ["curves"]) == [run.chapter.picture("curves", "png")]
    after = files(run.chapter.folder)
    assert {name for name in before if before[name] != after[name]} == {"curves.png", "curves.pdf"}
    assert read(run.chapter.sidecar("curves"))["redrawn"].keys() == {"time", "commit", "code"}
    assert not plt.get_fignums()


def test_figures_that_stay_as_they_were_change_no_file(run):
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    assert len(redraw.redraw(run.folder, ["curves"])) == 1
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before
    facts = read(run.chapter.sidecar("curves"))
    assert facts["redraw"] == "python -m helpers.publish.redraw run 03_l0_pruning/curves"
    assert facts["inputs"]["function"] == "helpers.drawing.learning_curves"
    assert facts["inputs"]["sha256"] == study.digest(run.chapter.inputs("curves"))


FACTS = {("encoder", layer, head): 0.1 * layer + 0.3 * head for layer in (0, 1) for head in (0, 1)}
HEADS = pd.Series(FACTS, name="relevance").rename_axis(["kind", "layer", "head"])
SITES = {("encoder", 0): np.eye(2), ("cross", 1): np.full((2, 2), 0.5)}
CONSTRAINT = pd.DataFrame({"step": [1, 2, 3], "homogeneity": [0.1, 0.2, float("nan")], "diversity": [0.5, 0.4, 0.3]})
CONSTRAINT.attrs["vote"] = 2
DRAWN = {
    "series on heads, all defaults": lambda: measure_figures.head_maps({"one": HEADS, "two": HEADS * 0.5}),
    "keywords, tuples and None": lambda: measure_figures.head_maps(
        {"one": HEADS}, "encoder", {"one": -HEADS}, limits=None, label="x"
    ),
    "lists in cells": lambda: measure_figures.function_map({"one": pd.Series([[], [("rare", "rare")], [], []], HEADS.index)}),
    "arrays of torch": lambda: measure_figures.attention(
        [{"title": "a", "rows": ["x"], "columns": ("y", "z"), "weights": torch.tensor([[0.25, 0.75]]), "arcs": [(0, 1)]}]
    ),
    "distributions": lambda: l0.figures.hard_concrete([HardConcrete(torch.tensor(a), 0.33) for a in (0.0, 2.0)]),
    "numbers as keys": lambda: l0.figures.gate_paths(GATES, {0.1: 1}),
    "facts with a table": lambda: grouping.figures.constraint_over_training({"GHT": CONSTRAINT}),
    "sites as keys": lambda: grouping.figures.similarity(
        SITES, SITES, {site: [0, 1] for site in SITES}, {site: np.array([0, 0]) for site in SITES}, ("before", "after"),
        {("encoder", 0): [1], ("cross", 1): (0,)},
    ),
}  # fmt: skip


def test_every_kind_of_input_is_drawn_again_with_the_same_bytes(run, tmp_path, monkeypatch):
    monkeypatch.setitem(drawing.STYLE, "savefig.dpi", 40)
    monkeypatch.setitem(drawing.STYLE, "figure.dpi", 40)
    drawing.style()
    names = [layout.tidy(name) for name in DRAWN]
    for name, draw in DRAWN.items():
        run.figure(draw(), name)
    chapter = tmp_path / "again" / run.name
    assert redraw.redraw(run.folder, names, tmp_path / "again") == [chapter / f"{name}.png" for name in names]
    again, before = files(chapter), files(run.chapter.folder)
    assert sorted(again) == sorted(f"{name}.{ending}" for name in names for ending in ("pdf", "png"))
    assert again.items() <= before.items()


@pytest.mark.parametrize(
    "figure",
    [plt.figure, drawing.redrawable(lambda: plt.figure()), lambda: drawing.learning_curves(types.MappingProxyType(CURVES))],
    ids=["no figure function", "function of others", "inputs that cannot be stored"],
)
def test_a_figure_that_cannot_be_drawn_alone_says_so(run, figure, capsys):
    run.figure(figure(), "curves")  # again, under the name of a figure with inputs
    facts = read(run.chapter.sidecar("curves"))
    assert "inputs" not in facts and not run.chapter.inputs("curves").exists() and run.command in facts["redraw"]
    with pytest.raises(StudyError, match=f"{run.name}/curves has no stored inputs"):
        redraw.redraw(run.folder, ["curves"])
    redraw.main([str(run.folder)])
    drawn, left = capsys.readouterr().out.splitlines()
    assert drawn == str(run.chapter.picture("gates", "gif")) and f"{run.name}/curves" in left and run.command in left


@pytest.mark.parametrize("damage", ["changed", "gone", "of another figure"])
def test_damaged_inputs_are_refused_before_anything_is_drawn(run, tmp_path, damage, capsys):
    path = run.chapter.inputs("gates")
    content = {"changed": b"garbage", "of another figure": run.chapter.inputs("curves").read_bytes()}
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[damage])
    with pytest.raises(SystemExit) as caught:
        redraw.main([str(run.folder), "--output", str(tmp_path / "again")])
    said = capsys.readouterr().err
    assert caught.value.code == 2 and str(path) in said and run.command in said and said.count("\n") == 1
    assert not (tmp_path / "again").exists()


def test_code_that_changed_since_is_named(run, monkeypatch):
    monkeypatch.delattr(drawing, "learning_curves")
    with pytest.raises(StudyError, match=r"helpers\.drawing\.learning_curves") as caught:
        redraw.redraw(run.folder, ["curves"])
    assert run.command in str(caught.value)
    monkeypatch.setattr(drawing, "learning_curves", measure_figures.relevance_by_function, raising=False)  # takes three
    with pytest.raises(StudyError, match="cannot be drawn from its stored inputs"):
        redraw.redraw(run.folder, ["curves"])


ARGUMENTS = {"histories": CURVES}
CALLS = {
    "a function of another package": ("os.system", {"command": "touch called"}),
    "a module of ours that others are in": ("helpers.study.store.os.system", {"command": "touch called"}),
    "a function of others in a module of ours": ("helpers.drawing.plt", {}),
    "a function that draws no figure": ("helpers.study.write_text", {"path": "called", "text": ""}),
    "the undecorated function": ("helpers.drawing.learning_curves.__wrapped__", ARGUMENTS),
    "no function": ("helpers", {}),
    "a module that is not there": ("helpers.gone.learning_curves", ARGUMENTS),
    "a number": (3, {}),
    "a list as arguments": ("helpers.drawing.learning_curves", [CURVES]),
    "numbers as names of arguments": ("helpers.drawing.learning_curves", {1: CURVES}),
}


@pytest.mark.parametrize("call", CALLS)
def test_inputs_call_figure_functions_only(run, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    path, facts = run.chapter.inputs("curves"), read(run.chapter.sidecar("curves"))
    function, arguments = CALLS[call]
    values.write(path, arguments)
    told = {"function": function, "of": "curves", "sha256": study.digest(path)}
    study.write_json(run.chapter.sidecar("curves"), facts | {"inputs": told})
    with pytest.raises(StudyError) as caught:
        redraw.redraw(run.folder, ["curves"], tmp_path / "again")
    assert run.command in str(caught.value)
    assert not (tmp_path / "called").exists() and not (tmp_path / "again").exists()


def test_figures_that_show_the_same_share_their_inputs(run):
    run.figure(l0.figures.gate_paths(GATES), "paths")
    run.figure(l0.figures.gate_closing(GATES, {0.1: 1}), "closing")
    assert run.chapter.inputs("closing").exists()
    run.figure(l0.figures.gate_closing(GATES), "closing")  # of what "paths" shows
    assert read(run.chapter.sidecar("closing"))["inputs"]["of"] == "paths" and not run.chapter.inputs("closing").exists()
    before = files(run.chapter.folder)
    redraw.redraw(run.folder, ["closing"])
    assert files(run.chapter.folder) == before


def test_names_of_figures_are_those_there_are_and_whole_where_two_chapters_have_them(run, tmp_path):
    for folder, name, said in ((run.folder, ["curve"], "'curve'.*03_l0_pruning/curves"), (tmp_path, [], str(tmp_path))):
        with pytest.raises(StudyError, match=said):
            redraw.redraw(folder, name)
    other = study.begin("04_grouped_heads", {"profile": "tiny", "output": str(run.folder)})
    other.figure(drawing.learning_curves(CURVES), "curves")
    with pytest.raises(StudyError, match="03_l0_pruning/curves, 04_grouped_heads/curves"):
        redraw.redraw(run.folder, ["curves"])
    assert redraw.redraw(run.folder, ["04_grouped_heads/curves"]) == [other.chapter.picture("curves", "png")]
