"""Break formulas one by one and say which the tests catch: `python -m tests.mutants [WORDS OF A FORMULA OR FILE ...]`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from helpers import plan, study
from tests import matrix
from tests.mutants import Mutant, mutants

COPIED = ("benchmarks", "docs", "helpers", "notebooks", "requirements", "tests", "workflow")
OWN = ("benchmarks", "helpers", "tests")
LONGEST = 1200  # seconds; a broken lock is one for which tests wait
READ = plan  # with it every library that the helpers read: a process that is forked need not read them again


def copy(root: Path) -> None:
    """What tests read of the project, in another folder."""
    for name in COPIED:
        shutil.copytree(study.ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in study.ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, root)
    (root / matrix.TABLE.relative_to(study.ROOT)).parent.mkdir()
    shutil.copy(matrix.TABLE, root / matrix.TABLE.relative_to(study.ROOT))
    (root / "data").symlink_to(study.ROOT / "data")


def _run(root: Path, tests: tuple[str, ...], log: Path) -> None:
    """Run tests of a copy in a process of its own, which forgets the project's modules and keeps the libraries'."""
    os.setsid()
    signal.alarm(LONGEST)
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)  # of the processes that tests start
    sys.path.insert(0, str(root))
    os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests]))


def caught(mutant: Mutant, root: Path) -> bool:
    """Whether tests fail in the copy while the formula is broken there, or wait for ever; a StudyError if they did not run."""
    path, log = root / mutant.file, root / "mutant.log"
    whole = path.read_text(encoding="utf-8")
    path.write_text(mutant.broken(root), encoding="utf-8")
    if not (child := os.fork()):
        _run(root, mutant.caught, log)
    try:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        path.write_text(whole, encoding="utf-8")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests started and left
    if ended not in (-signal.SIGALRM, pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise study.StudyError(f"The tests of {mutant.formula!r} did not run: {log.read_text(errors='replace')[-1000:]}")
    return ended != pytest.ExitCode.OK


def main(words: list[str]) -> None:
    """Break what is asked for, all if nothing is; ends with an error if a mutant survived."""
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
