"""Notebook 07 by the checks of all notebooks, in a file of its own, which another process takes."""

from tests.notebooks import test_notebooks
from tests.notebooks.test_notebooks import *  # noqa: F403

HERE = test_notebooks.NOTEBOOKS[-1:]
del test_a_wrong_parameter_ends_in_one_sentence  # noqa: F821 (of no one notebook)
