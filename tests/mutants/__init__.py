"""Formulas broken on purpose, one at a time, and the tests that must fail then.

Each file of this folder lists the *mutants* of one part: what the formula is, where it stands, the line as it is and as it is
broken, and the test files that catch it. `python -m tests.mutants` breaks them one by one in a copy of the project and runs
these tests: a mutant that survives is a promise that nothing holds.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from helpers import study


@dataclass(frozen=True)
class Mutant:
    """A formula and a way to break it."""

    formula: str  # in the words of the paper or of the project
    file: str  # from the root of the project
    before: str  # a piece of that file, which is in it once
    after: str
    caught: tuple[str, ...]  # tests that must fail: files, or names as pytest takes them

    def broken(self, root: Path) -> str:
        """The file's text with the formula broken; a StudyError if the formula does not stand there, or twice."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (times := text.count(self.before)) != 1:
            raise study.StudyError(
                f"{self.file} has {self.before!r} {times} times, not once: mend the mutant {self.formula!r}."
            )
        return text.replace(self.before, self.after)


def mutants() -> list[Mutant]:
    """All of them, by part."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for one in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            found.append(Mutant(**one | {"caught": tuple(one["caught"])}))
    return found
