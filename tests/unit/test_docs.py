"""Pages are Markdown that people write: their links lead somewhere, their verdicts are those of the tables."""

import re

import pytest

from helpers import claims, study
from helpers.measures import table

PAGES = sorted([study.ROOT / "README.md", *(study.ROOT / "docs").glob("*.md"), study.ROOT / "data" / "README.md"])
ANCHOR = re.compile(r"[^\w\- ]")


def anchors(text):
    """What links into a page may name."""
    return {ANCHOR.sub("", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines() if line.startswith("#")}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^()\s]+)\)", text) + re.findall(r"src=\"([^\"]+)\"", text)
    for link in (link for link in links if not re.match(r"https?:", link)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def cells(page):
    """Of each claim of a page's tables its cells, by its words."""
    text, *_ = page.read_text(encoding="utf-8").partition("\n## Notes")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").replace("`", "").split(" | ") for line in lines]
    return {row[0]: row[1:] for row in rows if row[0] not in ("claim", "---")}


JUDGED = {column: claims.committed(column) for column in claims.COLUMNS}


def test_verdicts_and_numbers_of_the_page_are_those_of_the_committed_tables():
    page = cells(study.ROOT / "docs" / "results.md")
    assert list(page) == [claim.claim for claim in claims.ledger()]
    for claim, row in page.items():
        for cell, column in zip(row[-3:], JUDGED, strict=True):
            (one,) = (one for one in JUDGED[column] if one.claim.claim == claim)
            assert f"**{one.verdict}**" in cell and one.reason in cell and one.number in cell, (claim, column)
            file = one.claim.columns[column].table.rpartition("/")[2]
            assert not one.number or f"/{file}.csv)" in cell, (claim, column)


def test_verdicts_of_the_front_page_are_those_of_the_committed_tables():
    page = cells(study.ROOT / "README.md")
    assert 6 <= len(page) <= 12
    for name, row in page.items():
        for cell, column in zip(row[-3:], JUDGED, strict=True):
            words = [one.reason or one.verdict for one in JUDGED[column] if one.claim.claim == f"{name}."]
            assert [cell.partition(" (")[0]] == words, (name, column)  # in brackets what qualifies it


def test_every_page_is_linked_from_the_front_page():
    front = (study.ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"docs/{page.name}" not in front] == []


def test_every_column_of_the_head_table_is_explained():
    page = (study.ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    given = {"model", "batches", "explained", "arcs", "reads", "slopes", "counts"}  # to a head table by anybody
    names = [name for name, measure in table.MEASURES.items() if given.issuperset(measure.needs)]
    assert len(names) > 10 and [name for name in [*names, table.FUNCTIONS] if f"`{name}`" not in page] == []
