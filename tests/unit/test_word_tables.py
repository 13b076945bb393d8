"""Word tables: a wrong row is told by file and line."""

from pathlib import Path

import pytest

from helpers.study import StudyError
from helpers.world import word_tables


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


@pytest.mark.parametrize(("row", "said"), [
    ("dog\tHund\tx", "gender"), ("dog\t\tm", "noun"), ("cow\tKuh\tf", "cow"), ("dog\tHund\tm\tHunde\tgroß", "5 cells"),
    ("cat\tKatze\tf", "line 2"), ("cat\tKater\tm", "gender"),
])  # fmt: skip
def test_a_wrong_row_is_told_by_file_and_line(folder, row, said):
    write(folder, "key\tnoun\tgender\tplural", "cat\tKatze\tf", row)
    with pytest.raises(StudyError, match=rf"nouns\.tsv, line 3: .*{said}"):
        nouns()


def test_a_table_without_its_columns(folder):
    write(folder, "dog\tHund\tm")
    with pytest.raises(StudyError, match=r"nouns\.tsv.*columns"):
        nouns()
