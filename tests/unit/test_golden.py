"""Tables of a rerun are held against the committed ones, number by number."""

import pytest

from tests import golden

TABLE = "model,heads,bleu\nEN-RU news,20,88.02935888929318\nEN-FR news,,nan\n"


@pytest.fixture
def folders(tmp_path):
    """A rerun and what is committed, with the same table in a chapter."""
    for side in ("rerun", "committed"):
        (tmp_path / side / "03_x" / "tables").mkdir(parents=True)
        (tmp_path / side / "03_x" / "tables" / "quality.csv").write_text(TABLE)
    return tmp_path / "rerun", tmp_path / "committed"


def run(folders, *more):
    with pytest.raises(SystemExit) as ended:
        golden.main([*map(str, folders), *more])
    return int(ended.value.code)


def test_the_same_tables_are_the_same(folders, capsys):
    assert run(folders, "--same") == 0
    assert capsys.readouterr().out == "1 tables in both folders, 0 differ\n"


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [("88.02935888929318", "88.02935888929999", 0), ("88.02935888929318", "88.0293590", 1), ("20", "21", 1), ("20", "20.0", 1),
     ("news,20", "text,20", 1), ("nan", "", 1), ("bleu", "rouge", 1), ("EN-FR news,,nan\n", "", 1)],
)  # fmt: skip
def test_numbers_may_differ_in_their_last_digits_and_nothing_else(folders, capsys, before, after, error):
    (folders[0] / "03_x" / "tables" / "quality.csv").write_text(TABLE.replace(before, after))
    assert run(folders) == error
    assert ("03_x/tables/quality.csv: " in capsys.readouterr().out) == bool(error)


def test_a_table_of_one_folder_alone_is_listed(folders, capsys):
    (folders[0] / "03_x" / "tables" / "more.csv").write_text(TABLE)
    assert run(folders) == 0 and run(folders, "--same") == 1
    assert f"only in {folders[0]}: 03_x/tables/more.csv" in capsys.readouterr().out


def test_folders_without_a_common_table_are_an_error(folders, tmp_path):
    assert run((folders[0], tmp_path / "nowhere")) == 1
