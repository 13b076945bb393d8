"""Tables of a rerun are held against the committed ones, number by number."""

import pytest

from tests import golden

TABLE = "model,heads,bleu\nEN-RU news,20,88.02935888929318\nEN-FR news,7,nan\n"


@pytest.fixture
def folders(tmp_path):
    """A rerun and what is committed, with the same table in a chapter."""
    for side in ("rerun", "committed"):
        (tmp_path / side / "03_x" / "tables").mkdir(parents=True)
        (tmp_path / side / "03_x" / "tables" / "quality.csv").write_text(TABLE)
    return tmp_path / "rerun", tmp_path / "committed"


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [("88.02935888929318", "88.02935888929999", 0), ("88.02935888929318", "88.0293590", 1), ("20", "21", 1), ("20", "20.0", 1),
     ("news,20", "text,20", 1), ("bleu", "rouge", 1), ("EN-FR news,7,nan\n", "", 1)],
)  # fmt: skip
def test_numbers_may_differ_in_their_last_digits_and_nothing_else(folders, capsys, before, after, error):
    (folders[0] / "03_x" / "tables" / "quality.csv").write_text(TABLE.replace(before, after))
    with pytest.raises(SystemExit) as ended:
        golden.main([*map(str, folders)])
    assert int(ended.value.code) == error
    assert ("03_x/tables/quality.csv: " in capsys.readouterr().out) == bool(error)
