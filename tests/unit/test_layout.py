"""Where results lie, the figures that are committed, and their index."""

from __future__ import annotations

import ast
import inspect
import json
import re

import pandas as pd
import pytest

from helpers import study
from helpers.publish import gallery, redraw
from helpers.study import StudyError, layout

FIGURES = study.ROOT / "figures"
TRACKS = [FIGURES / track for track in layout.TRACKS]
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
tracks = pytest.mark.parametrize("track", TRACKS, ids=lambda path: path.name)


def committed(track):
    return [(chapter, name) for chapter in layout.chapters(track) for name in chapter.figures()]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


# --- the layout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [("head_table_ru-news+deep seed 2", "head_table_ru-news-deep-seed-2"), ("trained_on_0.015", "trained_on_0.015"),
     ("Fig7 BLEU", "fig7-bleu"), ("heads_Helsinki-NLP/opus-mt", "heads_helsinki-nlp-opus-mt"), ("../x", "x"), ("é a", "a")],
)  # fmt: skip
def test_names_are_tidied(given, kept):
    assert layout.tidy(given) == kept
    assert NAME.fullmatch(kept)


@pytest.mark.parametrize("name", ["", "..", "Run"])
def test_what_is_no_name(name):
    with pytest.raises(StudyError, match="name"):
        layout.tidy(name)


def test_a_chapter_holds_all_of_a_notebook(tmp_path):
    chapter = layout.Chapter(tmp_path / "03_x")
    for path in (chapter.picture("fig1_a", "png"), chapter.sidecar("fig1_a"), chapter.inputs("fig1_a"), chapter.shared,
                 chapter.table("t_0.5"), chapter.table_sidecar("t_0.5")):  # fmt: skip
        study.write_text(path, "{}")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == [
        "03_x/fig1_a.png",
        "03_x/sidecars/fig1_a.inputs.json.gz",
        "03_x/sidecars/fig1_a.json",
        "03_x/sidecars/run.json",
        "03_x/sidecars/tables/t_0.5.json",
        "03_x/tables/t_0.5.csv",
    ]
    (found,) = layout.chapters(tmp_path)
    assert found == chapter and found.figures() == ["fig1_a"]
    (table,) = layout.tables(tmp_path)
    assert layout.table_sidecar(table) == chapter.table_sidecar("t_0.5") and not layout.tables(tmp_path, "heads_*")


def test_tracks_of_runs(tmp_path):
    assert layout.track(tmp_path / "laptop-controlled") == "controlled"
    assert layout.track(tmp_path / "natural-natural") == "natural"
    with pytest.raises(StudyError, match="track"):
        layout.track(tmp_path / "mine")


# --- the committed figures -------------------------------------------------------------------------------------------


@tracks
def test_every_committed_file_is_where_the_layout_says(track):
    wanted = set()
    for chapter, name in committed(track):
        facts = read(chapter.sidecar(name))
        assert facts["figure"] == name and facts["notebook"] == chapter.name
        files = [path for ending in ("png", "pdf", "gif") if (path := chapter.picture(name, ending)).exists()]
        assert [path.suffix for path in files] in ([".png", ".pdf"], [".gif"])
        wanted |= {chapter.sidecar(name), *files} | ({chapter.inputs(facts["inputs"]["of"])} if "inputs" in facts else set())
    for table in layout.tables(track):
        facts = read(layout.table_sidecar(table))
        assert facts["table"] == table.stem and facts["notebook"] == table.parents[1].name
        wanted |= {table, layout.table_sidecar(table)}
    shared = {chapter.shared for chapter in layout.chapters(track) if chapter.shared.exists()}
    assert {path for path in track.rglob("*") if path.is_file()} == wanted | shared
    for path in (track / read(path)["run"] for path in wanted if path.suffix == ".json" and "run" in read(path)):
        assert path in shared


@tracks
def test_names_follow_chapters_and_papers(track):
    names = [(chapter.name, name) for chapter, name in committed(track)]
    names += [(table.parents[1].name, table.stem) for table in layout.tables(track)]
    assert [name for _, name in names if not NAME.fullmatch(name)] == []
    prefix = {"00": "own_", "03": "pruning_", "04": "grouped_", "05": "coreference_", "06": "measures_", "07": "costs_"}
    assert [name for chapter, name in names if name.startswith(prefix.get(chapter[:2], " "))] == []
    for chapter, name in committed(track):
        numbered = re.match(r"fig(\d+)_", name)
        answers = gallery.caption(FIGURES, chapter, name).get("answers", "")
        assert bool(numbered) == ("figure" in answers), name
        assert not numbered or re.search(rf", figures? (\d+ and )?{numbered[1]}\b", answers), name


@tracks
def test_tables_that_name_chosen_heads_count_them_from_one(track):
    """Tables of all heads are on addresses, (kind, layer, head), which count from 0 as in code."""
    found = {table: pd.read_csv(table) for table in layout.tables(track)}
    named = {table: part for table, part in found.items() if {"layer", "head"} <= set(part) and "kind" not in part}
    assert {"fig4_syntactic_heads", "rare_tokens"} <= {table.stem for table in named}
    assert [table.stem for table, part in named.items() if part[["layer", "head"]].min().min() < 1] == []


SAMPLE = ["01_relevance_and_confidence/relevance_by_function", "04_grouped_heads/fig4_constraint"]


def test_figures_are_drawn_again_byte_for_byte(tmp_path):
    track, libraries = TRACKS[0], study.provenance()["libraries"]
    for name in SAMPLE:
        facts = redraw.sidecar(track, name)
        if any(facts["libraries"][library] != libraries[library] for library in ("matplotlib", "numpy", "pandas", "seaborn")):
            pytest.skip("drawn by other libraries")
    redraw.redraw(track, SAMPLE, tmp_path)
    for name in SAMPLE:
        for ending in ("png", "pdf"):
            assert (tmp_path / f"{name}.{ending}").read_bytes() == (track / f"{name}.{ending}").read_bytes(), name


@tracks
def test_every_figure_has_inputs_that_fit_the_code(track):
    assert redraw.not_redrawn(track) == []
    for name in redraw.figures(track):
        facts, call = redraw.sidecar(track, name), redraw.drawing_of(track, name)
        inspect.signature(call.func).bind(*call.args, **call.keywords)
        assert f"{call.func.__module__}.{call.func.__name__}" == facts["inputs"]["function"]


# --- the index -------------------------------------------------------------------------------------------------------


def test_the_index_shows_every_figure():
    text = (FIGURES / "README.md").read_text(encoding="utf-8")
    assert text == gallery.index(FIGURES), "run: make figures"
    links = set(re.findall(r'\]\(([^)]+)\)|src="([^"]+)"', text))
    for link in {one or other for one, other in links}:
        assert link.startswith("https://arxiv.org/abs/") or (FIGURES / link).exists(), link
    shown = re.findall(r'src="([^"]+)" width="220"', text)
    assert shown.index("controlled/03_l0_pruning/fig9_heads_by_kind.png") < shown.index(
        "controlled/03_l0_pruning/fig10_heads_by_layer.png"
    )
    files = [path for track in TRACKS for path in track.glob("*/*") if path.suffix in (".png", ".gif")]
    assert sorted(shown) == sorted(str(path.relative_to(FIGURES)) for path in files)


def test_captions_of_natural_figures_may_be_those_of_controlled_ones(tmp_path):
    controlled, natural = (layout.Chapter(tmp_path / track / "03_x") for track in layout.TRACKS)
    study.write_json(controlled.sidecar("a"), {"caption": "It shows.", "answers": "Ni et al., figure 3", "time": "1"})
    study.write_json(natural.sidecar("a"), {"time": "2"})
    assert gallery.caption(tmp_path, natural, "a") == {"caption": "It shows.", "answers": "Ni et al., figure 3", "time": "2"}
    study.write_json(natural.sidecar("b"), {})
    with pytest.raises(StudyError, match="03_x/b"):
        gallery.caption(tmp_path, natural, "b")
    assert "1905.09418" in gallery.paper("Voita et al., figure 7")
    with pytest.raises(StudyError, match="Nobody"):
        gallery.paper("Nobody, figure 1")


def calls():
    for path in sorted((study.ROOT / "notebooks" / "py").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("run.figure", "run.animation"):
                yield path.stem, ast.unparse(node.args[1]), {part.arg: ast.unparse(part.value) for part in node.keywords}


def test_notebooks_say_what_every_figure_shows():
    found = list(calls())
    assert len(found) > 60
    for chapter, name, given in found:
        said = given.get("caption", "")
        assert re.fullmatch(r"f?['\"][A-Z].*\.['\"]", said) and ". " not in said, (chapter, name)
        assert re.sub(r"\{.*?\}|\bL0\b", "", said).isascii() and not re.search(r"\d", re.sub(r"\{.*?\}|\bL0\b", "", said)), said
        if "answers" in given:
            gallery.paper(ast.literal_eval(given["answers"]))
        numbered = re.match(r"f?['\"]fig\d+_", name)
        assert bool(numbered) == ("figure" in given.get("answers", "")), (chapter, name)
