"""Where results lie, the figures that are committed, and their index."""

import ast
import inspect
import re

import pandas as pd
import pytest

from helpers import study
from helpers.publish import gallery, redraw
from helpers.study import StudyError, layout

FIGURES = study.ROOT / "figures"
TRACKS = [FIGURES / track for track in layout.TRACKS]
tracks = pytest.mark.parametrize("track", TRACKS, ids=lambda path: path.name)


def committed(track):
    return [(chapter, name) for chapter in layout.chapters(track) for name in chapter.figures()]


def test_names_are_tidied():
    given = {"head_table_ru-news+deep seed 2": "head_table_ru-news-deep-seed-2", "trained_on_0.015": "trained_on_0.015",
             "heads_Helsinki-NLP/opus-mt": "heads_helsinki-nlp-opus-mt", "../x": "x", "é a": "a"}  # fmt: skip
    assert {name: layout.tidy(name) for name in given} == given
    for name in ("", "..", "Run"):
        with pytest.raises(StudyError, match="name"):
            layout.tidy(name)


@tracks
def test_every_committed_file_is_where_the_layout_says(track):
    wanted = set()
    for chapter, name in committed(track):
        facts = study.read_json(chapter.sidecar(name))
        assert facts["figure"] == name and facts["notebook"] == chapter.name
        files = [path for ending in ("png", "pdf", "gif") if (path := chapter.picture(name, ending)).exists()]
        assert [path.suffix for path in files] in ([".png", ".pdf"], [".gif"])
        wanted |= {chapter.sidecar(name), *files} | ({chapter.inputs(facts["inputs"]["of"])} if "inputs" in facts else set())
    for table in layout.tables(track):
        facts = study.read_json(layout.table_sidecar(table))
        assert facts["table"] == table.stem and facts["notebook"] == table.parents[1].name
        wanted |= {table, layout.table_sidecar(table)}
    shared = {chapter.shared for chapter in layout.chapters(track) if chapter.shared.exists()}
    assert {path for path in track.rglob("*") if path.is_file()} == wanted | shared
    sidecars = [study.read_json(path) for path in wanted if path.suffix == ".json"]
    assert {track / facts["run"] for facts in sidecars if "run" in facts} <= shared


@tracks
def test_tables_that_name_chosen_heads_count_them_from_one(track):
    """Tables of all heads are on addresses, (kind, layer, head), which count from 0 as in code."""
    found = {table: pd.read_csv(table) for table in layout.tables(track)}
    named = {table: part for table, part in found.items() if {"layer", "head"} <= set(part) and "kind" not in part}
    assert named and [table.stem for table, part in named.items() if part[["layer", "head"]].min().min() < 1] == []


def test_figures_are_drawn_again_byte_for_byte(tmp_path):
    track, name = TRACKS[0], "01_relevance_and_confidence/fig1_relevance_and_confidence"
    told, here = redraw.sidecar(track, name)["libraries"], study.provenance()["libraries"]
    if any(told[library] != here[library] for library in ("matplotlib", "numpy", "pandas", "seaborn")):
        pytest.skip("drawn by other libraries")
    redraw.redraw(track, [name], tmp_path)
    assert (tmp_path / f"{name}.png").read_bytes() == (track / f"{name}.png").read_bytes()


@tracks
def test_every_figure_has_inputs_that_fit_the_code(track):
    assert redraw.not_redrawn(track) == []
    for name in redraw.figures(track):
        facts, call = redraw.sidecar(track, name), redraw.drawing_of(track, name)
        inspect.signature(call.func).bind(*call.args, **call.keywords)
        assert f"{call.func.__module__}.{call.func.__name__}" == facts["inputs"]["function"]


def test_the_index_shows_every_figure():
    text = (FIGURES / "README.md").read_text(encoding="utf-8")
    assert text == gallery.index(FIGURES), "run: make figures"
    shown = re.findall(r'src="([^"]+)" width="220"', text)
    files = [path for track in TRACKS for path in track.glob("*/*") if path.suffix in (".png", ".gif")]
    assert sorted(shown) == sorted(str(path.relative_to(FIGURES)) for path in files)


def test_no_caption_has_a_typed_number():
    for path in (study.ROOT / "notebooks" / "py").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("run.figure", "run.animation"):
                (said,) = map(ast.unparse, [part.value for part in node.keywords if part.arg == "caption"] or node.args[2:3])
                assert not re.search(r"\d", re.sub(r"\{.*?\}|\b(L0|F1|figure \d+)\b", "", said)), said
