"""The list of formulas that are broken on purpose: each stands where the list says, and breaking it leaves Python."""

import ast

import pytest

from helpers import study
from tests.mutants import Mutant, mutants


def test_every_formula_can_be_broken_and_names_tests_that_are_there():
    missing = []
    for mutant in mutants():
        ast.parse(mutant.broken(study.ROOT))
        assert mutant.caught, mutant.formula
        for test in mutant.caught:
            file, _, name = test.partition("[")[0].partition("::")
            if not (study.ROOT / file).is_file() or (name and f"def {name}(" not in (study.ROOT / file).read_text()):
                missing.append((mutant.formula, test))
    assert missing == []


def test_a_formula_that_moved_is_said(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    with pytest.raises(study.StudyError, match="2 times"):
        Mutant("x", "a.py", "x = 1", "x = 2", ("t.py",)).broken(tmp_path)
