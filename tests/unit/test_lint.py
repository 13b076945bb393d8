"""The code as a reader finds it: no lint, one format, functions that can be read, types that hold."""

import subprocess
import sys

import pytest

from helpers import study


@pytest.mark.parametrize("command", ["ruff check --no-cache .", "ruff format --check --no-cache .", "mypy"])
def test_the_code_is_clean(command):
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=study.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
