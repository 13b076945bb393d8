"""The open contest: a stranger's measure, as docs/add.md enters it, in the tables of notebook 06."""

import re

import numpy as np
import pytest

from helpers import heads, measures, study
from helpers.measures import table as table_module
from helpers.measures.table import TRUTH, head_table
from helpers.methods import contest
from helpers.methods.contest import runs
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_batch, tiny_model

SECTION = (study.ROOT / "docs" / "add.md").read_text("utf-8").partition("without a change")[2]
CODE, ROW = (re.search(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)[1] for kind in ("python", "toml"))
SHOWN = ["gradient, example", "confidence", TRUTH]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The two files of the page, and a register that is put back."""
    monkeypatch.setattr(table_module, "MEASURES", dict(table_module.MEASURES))
    monkeypatch.setattr("helpers.methods.contest.entries.MEASURES", table_module.MEASURES)
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "mine.toml").write_text(ROW)
    return tmp_path


def test_a_function_of_twenty_lines_and_a_row_are_a_column_of_any_model(files):
    assert len(CODE.partition("def ")[2].splitlines()) <= 20
    for _ in range(2):  # a notebook's cell may run twice
        assert contest.enter(files / "mine.toml") == ["last word"]
    for family in ("marian", "t5", "gpt2", "llama", "bert"):
        model, batch = tiny_model(family), tiny_batch(family)
        column = head_table(model, [batch], names=["last word"])["last word"]
        with pytest.raises(StudyError, match="no measure 'lost word'"):
            head_table(model, [batch], names=["lost word"])
        assert column.index.equals(heads.index(model)) and column.gt(0).all() and column.nunique() > 7
        assert not any(module._forward_pre_hooks for module in model.modules())


def test_entries_join_what_is_stored_of_a_job(files, monkeypatch):
    """The stored table as it is, beside it a column measured now; not where the model would have to be trained first."""
    names, model = contest.enter(files / "mine.toml"), tiny_model("marian")
    batch = {name: part for name, part in tiny_batch("marian").items() if name != "decoder_attention_mask"}
    stored = head_table(model, [batch], names=["confidence"])
    monkeypatch.setattr(runs, "measured", lambda *d: (stored, {"confidence": 1}))
    monkeypatch.setattr(runs, "_summarizer", lambda d: (model, [batch], [batch], [[batch], [batch]], {}))
    for there, columns in ((True, ["confidence", "last word"]), (False, ["confidence"])):
        monkeypatch.setattr(runs, "_at_hand", lambda job, there=there: there)
        table, seconds = runs.tables({"run": {}, "few": 1, "votes": 1}, names)
        assert list(table) == columns == list(seconds) and table.confidence.equals(stored.confidence)


BAD = {
    "no file": None, "'speed'": ROW.replace("explained", "speed"), "'no_such'": ROW.replace("last_word", "no_such"),
    "'nowhere'": ROW.replace("mine.py", "nowhere"), "'confidence'": ROW.replace("last word", "confidence"),
    "entry.0.colour": ROW + 'colour = "red"\n',
}  # fmt: skip


@pytest.mark.parametrize("said", BAD)
def test_a_row_that_is_wrong_is_refused(files, said):
    path = files / ("none.toml" if BAD[said] is None else "mine.toml")
    (files / "mine.toml").write_text(BAD[said] or ROW)
    with pytest.raises(StudyError, match=said):
        contest.enter(path)
    assert contest.enter("") == []


@pytest.mark.parametrize("column", ["[1.0, 2.0]", "[float('inf')] * 24", "[float('nan')] * 24", "'many'"])
def test_a_column_that_is_none_is_refused(files, column):
    (files / "mine.py").write_text(f"def last_word(model, batches):\n    return {column}\n")
    contest.enter(files / "mine.toml")
    with pytest.raises(StudyError, match="last word"):
        measures.head_table(tiny_model("marian"), [tiny_batch("marian")], names=["last word"])


def test_a_series_finds_its_heads(files):
    (files / "mine.py").write_text(
        "from helpers import heads\nimport pandas as pd\n"
        "def last_word(model, batches):\n    i = heads.index(model)\n    return pd.Series(range(len(i)), i).sample(frac=1)\n"
    )
    contest.enter(files / "mine.toml")
    table = head_table(tiny_model("marian"), [tiny_batch("marian")], names=["last word"])
    np.testing.assert_array_equal(table["last word"], range(24))
