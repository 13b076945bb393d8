"""Never silently wrong: a sample of the cells of tests/matrix.py here, all of them with `-m matrix`."""

import numpy as np
import pytest

from tests import matrix
from tests.unit.tiny_models import FAMILIES, TODAY

EVERY = list(matrix.cells())
SAMPLE = EVERY[:: len(EVERY) // 40]


@pytest.mark.parametrize("cell", SAMPLE, ids="-".join)
def test_a_cell_is_right_or_refused(cell):
    assert matrix.verdict(cell) in ("right", "refused")


def test_the_sample_has_every_side():
    for place, count in enumerate((8, 12, 2, 3, 3, 2)):
        assert len({cell[place] for cell in SAMPLE}) >= count, matrix.Cell._fields[place]


def test_other_numbers_are_seen():
    cell = matrix.Cell("output norm", "llama", "sdpa", "float32", "left", "whole")
    assert matrix.verdict(cell) == "right"
    wanted = matrix.oracle(cell.measure, cell.family, cell.state)
    for precision, limit in matrix.CLOSE.items():
        assert matrix.off(cell._replace(precision=precision), np.sort(wanted), wanted) > limit


@pytest.mark.matrix
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("family", [*FAMILIES, *TODAY])
def test_no_cell_of_a_family_is_wrong(family):
    counted = matrix.walked([family])
    assert counted.wrong.sum() == 0 and counted.right.sum() > 200
