"""Break formulas one by one and say which the tests catch: `python -m tests.mutants [WORDS OF A FORMULA OR FILE ...]`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers import study
from tests.mutants import Mutant, mutants

COPIED = ("benchmarks", "docs", "helpers", "notebooks", "requirements", "tests", "workflow")
FAILED = 1  # pytest's exit code where tests failed; others mean that they did not run
LONGEST = 1200  # seconds; a broken lock is one for which tests wait


def copy(root: Path) -> None:
    """What tests read of the project, in another folder."""
    for name in COPIED:
        shutil.copytree(study.ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in study.ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, root)


def caught(mutant: Mutant, root: Path) -> bool:
    """Whether tests fail in the copy while the formula is broken there, or wait for ever.

    Raises
    ------
    StudyError
        If the tests did not run.
    """
    path = root / mutant.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(mutant.broken(root), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.caught]
        here = os.environ | {"PYTHONPATH": str(root)}  # before the project itself, which is installed where it lies
        done = subprocess.run(command, cwd=root, env=here, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(whole, encoding="utf-8")
    if done.returncode not in (0, FAILED):
        raise study.StudyError(f"The tests of {mutant.formula!r} did not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.returncode != 0


def main(words: list[str]) -> None:
    """Break what is asked for, all if nothing is.

    Raises
    ------
    SystemExit
        If a mutant survived.
    """
    chosen = [one for one in mutants() if not words or any(word in f"{one.formula} {one.file}" for word in words)]
    survived = []
    with study.one_sentence(), tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        for number, mutant in enumerate(chosen, 1):
            dead = caught(mutant, Path(folder))
            survived += [] if dead else [mutant]
            print(f"{number}/{len(chosen)} {'caught' if dead else 'SURVIVED'}: {mutant.formula} ({mutant.file})", flush=True)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} caught")
    raise SystemExit(1 if survived else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
