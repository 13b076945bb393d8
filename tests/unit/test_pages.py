"""Pages: numbers come from tables, none is typed, no page is stale, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from helpers import numbers, study
from helpers.publish import pages
from helpers.study import StudyError

ROOT = study.ROOT
TEMPLATES = pages.templates()
HEADLINES = """model,run,heads,bleu,low,high,note
EN-RU news,start,24,64.67,62.55,66.80,
EN-RU news,floor,0,53.91,51.66,56.10,a|b
EN-RU subtitles,start,24,75.2,72.5,78.1,
"""
KINDS = ("controlled", "03_l0_pruning/kinds")
ASKED = ("controlled", "03_l0_pruning/headlines")


@pytest.fixture
def project(tmp_path):
    """A project with some tables."""
    for name, text in {
        "figures/controlled/03_l0_pruning/tables/headlines.csv": HEADLINES,
        "figures/controlled/03_l0_pruning/tables/two.csv": ",,RU,RU\n,,best,base\nrelation,direction,,\nnsubj,v,1,2\n",
        "figures/controlled/03_l0_pruning/tables/kinds.csv": ",heads,share\nencoder,24,0.125\ncross,2,-0.0004\n",
    }.items():
        study.write_text(tmp_path / name, text)
    return tmp_path


def test_a_cell_is_that_of_the_one_row_that_fits(project):
    where = {"model": "EN-RU news", "run": "floor"}
    assert pages.interval(*ASKED, where, "bleu", root=project) == "53.9 [51.7, 56.1]"
    assert pages.interval(*ASKED, where, "heads", "heads", "heads", root=project) == "0.0"  # an interval of no width
    assert pages.cell(*KINDS, {"": "encoder"}, "share", ".1%", project) == "12.5 %"
    assert pages.cell(*KINDS, {"": "encoder"}, "heads", ".1fmin", project) == "0.4"
    assert [pages.cell(*KINDS, {"": "cross"}, "share", form, project) for form in (".1%", ".2f")] == ["0.0 %", "0.00"]


def test_a_summary_is_cited_with_its_ends(project):
    study.write_text(project / "figures/summaries/big.csv", "what,value,n,low,high\nBLEU,30.56,9,29.39,31.7\nsteps,2300,,,\n")
    assert pages.summary("big", "BLEU", "interval", ".1f", project) == "30.6 [29.4, 31.7]"
    assert pages.summary("big", "steps", format=",.0f", root=project) == "2,300"
    for row, column in (("steps", "interval"), ("nothing", "value"), ("BLEU", "nothing")):
        with pytest.raises(StudyError, match="big"):
            pages.summary("big", row, column, root=project)
    with pytest.raises(StudyError, match="no summary of profile 'small'"):
        pages.summary("small", "BLEU", root=project)


@pytest.mark.parametrize("where", ({"model": "EN-RU news"}, {"model": "EN-RU news", "run": "L0"}))
def test_another_number_of_rows_is_told_with_those_there_are(project, where):
    with pytest.raises(StudyError, match="EN-RU subtitles"):
        pages.cell(*ASKED, where, "bleu", root=project)


@pytest.mark.parametrize(
    ("name", "where", "column"),
    (
        ("03_l0_pruning/nothing", {"run": "floor"}, "bleu"),
        ("03_l0_pruning/headlines", {"run": "start", "model": "EN-RU news"}, "note"),  # empty
        ("03_l0_pruning/two", {"": "nsubj"}, "RU"),  # two rows of header
    ),
)
def test_what_is_not_there_is_an_error(project, name, where, column):
    with pytest.raises(StudyError):
        pages.cell("controlled", name, where, column, root=project)


@pytest.mark.parametrize("text", ("{{ nobody }}", "{{ cell( }}"))
def test_a_broken_template_is_named_with_its_line(project, text):
    study.write_text(project / "docs/templates/one.md", f"# One\n\n{text}\n")
    with pytest.raises(StudyError, match=r"docs/templates/one\.md, line 3"):
        pages.pages(project)


def test_no_template_has_a_typed_number():
    """Where an expression should stand."""
    prose = {path: numbers.blank(path.read_text(encoding="utf-8"), numbers.CODE) for path in TEMPLATES.values()}
    assert [f"{path.relative_to(ROOT)}: {one}" for path, text in prose.items() for _, one in numbers.unbound(text)] == []


@pytest.mark.parametrize("page", TEMPLATES)
def test_committed_pages_are_those_that_templates_make(page):
    assert (ROOT / page).read_text(encoding="utf-8") == pages.render(page, TEMPLATES[page]), "stale or edited: run make docs"


def test_what_a_laptop_needs_is_part_of_all_that_is_published():
    assert 0 < int(pages.store("laptop hours")) <= int(pages.store("core hours"))


def test_every_page_has_a_template_and_a_place_in_the_index():
    there = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert there == set(TEMPLATES) - {"README.md"}
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page for page in there - {"docs/index.md"} if f"({Path(page).name})" not in index] == []


def linked(text: str) -> list[str]:
    """Targets of relative links and pictures in a Markdown text, without code."""
    text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", text)
    found = re.findall(r"\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    return [unquote(target.partition("#")[0]) for target in found if not re.match(r"[a-z]+:|#", target)]


@pytest.mark.parametrize("page", ("figures/README.md", *TEMPLATES))
def test_every_relative_link_leads_to_a_file(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [target for target in linked(text) if not ((ROOT / page).parent / target).exists()] == []


def test_the_five_lines_run_and_print_as_the_readme_says(capsys):
    """On a tiny model: that of the README takes minutes, since its text is generated first."""
    code = (ROOT / "docs" / "five_lines.py").read_text(encoding="utf-8")
    tiny = code.replace('"laptop"', '"tiny"')
    assert tiny.count("tiny") == 1
    exec(tiny, {})
    said = (ROOT / "docs" / "five_lines.txt").read_text(encoding="utf-8")
    shape = [re.sub(r"-?\d+(\.\d+)?", "0", text).splitlines() for text in (capsys.readouterr().out, said)]
    assert shape[0][0].split() == shape[1][0].split()  # the same columns
    assert len(shape[0]) == len(shape[1])
