"""Where results lie, and the figures that are committed."""

import pytest

from helpers import drawing, study
from helpers.publish import figures
from helpers.study import layout

FIGURES = study.ROOT / "figures"
TRACKS = [FIGURES / track for track in layout.TRACKS]
tracks = pytest.mark.parametrize("track", TRACKS, ids=lambda path: path.name)


def committed(track):
    return [(chapter, name) for chapter in layout.chapters(track) for name in chapter.figures()]


@tracks
def test_every_committed_file_is_where_the_layout_says(track):
    wanted = set()
    for chapter, name in committed(track):
        facts = study.read_json(chapter.sidecar(name))
        assert facts["figure"] == name and facts["notebook"] == chapter.name
        wanted |= {chapter.sidecar(name), *(chapter.folder / f"{name}.{ending}" for ending in ("png", "pdf"))}
    for table in layout.tables(track):
        facts = study.read_json(layout.table_sidecar(table))
        assert facts["table"] == table.stem and facts["notebook"] == table.parents[1].name
        wanted |= {table, layout.table_sidecar(table)}
    shared = {chapter.shared for chapter in layout.chapters(track) if chapter.shared.exists()}
    assert {path for path in track.rglob("*") if path.is_file()} == wanted | shared
    sidecars = [study.read_json(path) for path in wanted if path.suffix == ".json"]
    assert {track / facts["run"] for facts in sidecars if "run" in facts} <= shared


@pytest.mark.parametrize("folder", ["pretrained", "regimes", "summaries"])
def test_tables_of_no_notebook_share_a_sidecar(folder):
    made = study.read_json(FIGURES / folder / "sidecar.json")["tables"]
    assert sorted(made) == sorted(path.stem for path in (FIGURES / folder).glob("*.csv"))


@pytest.mark.parametrize("name", ["01/fig1_relevance_and_confidence", "02/table1_syntactic_heads"])
def test_figures_are_drawn_again_byte_for_byte(tmp_path, name):
    (picture,) = FIGURES.glob(f"controlled/{name.replace('/', '_*/')}.png")
    told = study.read_json(layout.Chapter(picture.parent).sidecar(picture.stem))["libraries"]
    if any(told[library] != study.provenance()["libraries"][library] for library in ("matplotlib", "numpy", "pandas")):
        pytest.skip("drawn by other libraries")
    drawing.style()
    same = figures.draw(name, tmp_path).read_bytes() == picture.read_bytes()
    assert same  # a difference of two pictures takes pytest minutes to show


def test_figures_that_are_drawn_again_are_figures_of_notebooks():
    known = {f"{chapter.name[:2]}/{name}" for chapter, name in committed(TRACKS[0])}
    assert set(figures.DRAWN) <= known
