"""Notebook 07 by the checks of all notebooks, in a file of its own, which another process takes."""

from tests.notebooks import test_notebooks
from tests.notebooks.test_notebooks import *  # noqa: F403

HERE = test_notebooks.NOTEBOOKS[-1:]
del test_a_wrong_parameter_ends_in_one_sentence, test_a_decoder_of_somebody_s_with_a_text_file  # noqa: F821 (of no one notebook)
del test_an_entry_is_in_all_tables_of_notebook_06  # noqa: F821
