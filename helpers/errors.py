"""Bad input and progress, in one sentence each."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

from tqdm import tqdm


class StudyError(ValueError):
    """Bad input, in one sentence: what is wrong and what to do about it."""


@contextlib.contextmanager
def one_sentence():
    """End a command with exit code 2 and one sentence, instead of a traceback, on a `StudyError`."""
    try:
        yield
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


class _Lines:
    """A stream on which a progress bar writes lines, for logs and for several runs at once."""

    def write(self, text: str) -> None:
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        sys.stderr.flush()


def progress(iterable: Iterable | None, label: str, total: int | None = None, **options):
    """A progress bar that appears only when the work takes more than two seconds.

    Where `HEADS_PROGRESS` is "lines" it is a line a minute instead.
    """
    if os.environ.get("HEADS_PROGRESS") == "lines":
        options |= {"file": _Lines(), "mininterval": 60, "delay": 60, "ncols": 90, "ascii": True}
    else:
        options |= {"mininterval": 1, "delay": 2, "dynamic_ncols": True}
    return tqdm(iterable, desc=label, total=total, leave=False, **options)
