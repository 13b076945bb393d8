"""Word tables: a speaker's correction reaches the text, and a wrong row is told by file and line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from helpers import world
from helpers.study import StudyError
from helpers.world import word_tables

ROOT = Path(__file__).parents[2]


def write(folder: Path, *lines: str) -> None:
    (folder / "nouns.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(word_tables, "FOLDER", tmp_path)
    return tmp_path


def nouns() -> list[dict[str, str]]:
    return word_tables.read("nouns", "key noun gender", "plural", ("dog", "cat"), same="gender", gender="m f")


def test_rows_keep_their_order_and_may_end_early(folder):
    write(folder, "# words", "", "key\tnoun\tgender\tplural", "dog\tHund\tm", "cat\tKatze\tf\tKatzen", "dog\tRüde\tm")
    assert [(row["key"], row["noun"], row["plural"]) for row in nouns()] == [
        ("dog", "Hund", ""), ("cat", "Katze", "Katzen"), ("dog", "Rüde", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("dog\tHund\tx", "gender"),
        ("dog\t\tm", "noun"),
        ("cow\tKuh\tf", "cow"),
        ("dog\tHund\tm\tHunde\tgroß", "5 cells"),
        ("cat\tKatze\tf", "line 2"),
        ("cat\tKater\tm", "gender"),
    ],
)
def test_a_wrong_row_is_told_by_file_and_line(folder, row, said):
    write(folder, "key\tnoun\tgender\tplural", "cat\tKatze\tf", row)
    with pytest.raises(StudyError, match=rf"nouns\.tsv, line 3: .*{said}"):
        nouns()


def test_a_table_without_its_columns(folder):
    write(folder, "dog\tHund\tm")
    with pytest.raises(StudyError, match=r"nouns\.tsv.*columns"):
        nouns()


# --- a correction in a copy of the project ------------------------------------------------------------------------------

SAY = """
from itertools import islice
from helpers import world
for language in world.LANGUAGES:
    for pair in islice(world.pairs('news', language, 1), 150): print(language, pair.source, '=', pair.target)
"""


def test_a_corrected_row_changes_the_text_and_nothing_else(tmp_path):
    before = []
    for language in world.LANGUAGES:
        before += [f"{language} {p.source} = {p.target}" for p in islice(world.pairs("news", language, 1), 150)]
    shutil.copytree(ROOT / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "helpers" / "world" / "words" / "german_nouns.tsv"
    row, text = "company\tGesellschaft\tf\tGesellschaften", path.read_text(encoding="utf-8")
    path.write_text(text.replace(row, "company\tUnternehmung\tf\tUnternehmungen"), encoding="utf-8")
    said = subprocess.run([sys.executable, "-c", SAY], cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    changed = [(one, two) for one, two in zip(before, said, strict=True) if one != two]
    assert changed and all(one.startswith("de") and one.replace("Gesellschaft", "Unternehmung") == two for one, two in changed)
