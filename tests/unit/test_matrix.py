"""Never silently wrong: a cell of each measure on each family here, all cells of tests/matrix.py with `-m matrix`."""

import pandas as pd
import pytest

from tests import matrix
from tests.unit.tiny_models import FAMILIES, TODAY

STORED = matrix.stored()
PLACES = {pair: number for number, pair in enumerate(STORED.index)}
SAYS = {letter: word for word, letter in matrix.LETTERS.items()}


def sample():
    """A cell of each pair, another one each time, with its letter in the table."""
    of_pairs = {pair: [] for pair in PLACES}
    for cell in matrix.cells():
        of_pairs[cell.family, cell.measure].append(cell)
    chosen = {pair: 7 * place % len(of_pairs[pair]) for pair, place in PLACES.items()}
    found = {of_pairs[pair][place]: STORED.cells[pair][place] for pair, place in chosen.items()}
    return [(cell, found[cell]) for cell in matrix.cells() if cell in found]  # those of one model together


SAMPLE = sample()


@pytest.mark.parametrize(("cell", "letter"), SAMPLE, ids=["-".join(cell) for cell, _ in SAMPLE])
def test_a_cell_is_right_or_refused_as_the_table_says(cell, letter):
    assert matrix.verdict(cell).partition(":")[0] == SAYS[letter]
    assert letter != "w"


def test_the_sample_has_every_pair_and_side():
    cells, every = [cell for cell, _ in SAMPLE], list(matrix.cells())
    assert {cell[:2] for cell in cells} == {cell[:2] for cell in every} and len(cells) == len(PLACES)
    assert len({cell[2:] for cell in cells}) == len({cell[2:] for cell in every}) == 36
    assert {letter for _, letter in SAMPLE} >= {"r", "x"}


@pytest.mark.matrix
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("family", [*FAMILIES, *TODAY])
def test_every_cell_of_a_family_is_as_the_table_says(family):
    counted = matrix.walked([family])
    pd.testing.assert_frame_equal(counted, STORED.loc[[family]])
    assert counted.wrong.sum() == 0 and counted.right.sum() > 200
