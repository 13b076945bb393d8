"""The list of formulas that are broken on purpose: each stands where the list says, and breaking it leaves Python."""

import ast

from helpers import study
from tests.mutants import mutants


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
