"""The list of formulas that are broken on purpose: each stands where the list says, and breaking it leaves Python."""

from __future__ import annotations

import ast

import pytest

from helpers import study
from tests.mutants import Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda one: one.formula)
def test_every_formula_can_be_broken(mutant):
    assert ast.dump(ast.parse(mutant.broken(study.ROOT))) != ast.dump(ast.parse((study.ROOT / mutant.file).read_text()))
    assert mutant.caught and all((study.ROOT / test.partition("::")[0]).is_file() for test in mutant.caught)


def test_a_formula_that_moved_is_said(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    with pytest.raises(study.StudyError, match="2 times"):
        Mutant("x", "a.py", "x = 1", "x = 2", ("t.py",)).broken(tmp_path)
