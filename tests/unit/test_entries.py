"""The open contest: a stranger's measure, as docs/add.md enters it, in the tables of notebook 06."""

import re
from types import SimpleNamespace

import pytest

from helpers import heads, measures, study
from helpers.measures import table as table_module
from helpers.measures.table import head_table
from helpers.methods import contest
from helpers.study import StudyError
from tests.unit.tiny_models import tiny_batch, tiny_model

SECTION = (study.ROOT / "docs" / "add.md").read_text("utf-8").partition("without a change")[2]
CODE = re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)[1]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The file of the page, and a register that is put back."""
    monkeypatch.setattr(table_module, "MEASURES", dict(table_module.MEASURES))
    monkeypatch.setattr("helpers.methods.contest.entries.MEASURES", table_module.MEASURES)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path / "mine.py"


def test_a_file_of_a_stranger_is_a_column_of_any_model(file):
    for _ in range(2):  # a notebook's cell may run twice
        assert contest.enter(file) == ["second token"]
    for family in ("marian", "t5", "gpt2", "llama", "bert"):
        model, batch = tiny_model(family), tiny_batch(family)
        column = head_table(model, [batch], names=["second token"])["second token"]
        with pytest.raises(StudyError, match="no measure 'lost word'"):
            head_table(model, [batch], names=["lost word"])
        assert column.index.equals(heads.index(model)) and column.gt(0).all() and column.nunique() > 7
        assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize(("code", "said"), [
    ("", "no measure"), ("import no_such_module", "no_such_module"),
    (CODE.replace('"second token", "s', '"confidence", "s'), "'confidence'"),
])  # fmt: skip
def test_a_file_that_is_wrong_is_refused(file, code, said):
    file.write_text(code)
    with pytest.raises(StudyError, match=said):
        contest.enter(file)
    with pytest.raises(StudyError, match="no file"):
        contest.enter(file.with_name("none.py"))
    assert contest.enter("") == []


@pytest.mark.parametrize("column", ["[1.0, 2.0]", "[float('inf')] * 24", "[float('nan')] * 24", "'many'"])
def test_a_column_that_is_none_is_refused(file, column):
    file.write_text(CODE.replace("    return [", f"    return {column}\n    return ["))
    contest.enter(file)
    with pytest.raises(StudyError, match="second token"):
        measures.head_table(tiny_model("marian"), [tiny_batch("marian")], names=["second token"])


def test_an_entry_is_measured_on_models_whose_weights_are_there(file, monkeypatch):
    contest.enter(file)
    model, batch = tiny_model("marian"), tiny_batch("marian")
    stored = head_table(model, [batch], names=["confidence"])
    monkeypatch.setattr(contest.runs, "measured", lambda described: stored)
    monkeypatch.setattr(contest.runs, "_opened", lambda described: (model, [batch], [batch], {}))
    for there in (False, True):
        weights = SimpleNamespace(weights=True, recipe=SimpleNamespace(made=lambda weights, there=there: there))
        recipe = SimpleNamespace(needs=[weights])
        monkeypatch.setattr(contest.runs, "TABLE", SimpleNamespace(of=lambda described, recipe=recipe: recipe))
        table = contest.runs.tables({"run": {}}, ["second token"])
        assert ("second token" in table) == there and table.confidence.equals(stored.confidence)
