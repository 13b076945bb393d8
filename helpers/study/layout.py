"""Where the results of notebooks lie in a run's folder, and in the reference in figures/, which is laid out alike.

CHAPTER/NAME.png and .pdf          a figure; a chapter is a notebook's name
CHAPTER/tables/NAME.csv            a table
CHAPTER/sidecars/NAME.json         how the figure was made
CHAPTER/sidecars/tables/NAME.json  how the table was made
CHAPTER/sidecars/run.json          what all sidecars of the chapter share
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from helpers.errors import StudyError

TRACKS = ("controlled", "natural")
_SHARED = "run"


def tidy(name: str) -> str:
    """A name as files bear it: lower case letters, digits, dots, `_`, and `-` for everything else.

    It is refused if nothing is left of it, or it is "run", the name of what sidecars share.
    """
    tidied = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-.")
    if tidied in ("", _SHARED):
        raise StudyError(f"{name!r} cannot be the name of a figure or table: choose another one.")
    return tidied


@dataclass(frozen=True)
class Chapter:
    """The results of one notebook in a run's folder. Names are as `tidy` leaves them."""

    folder: Path

    @property
    def name(self) -> str:
        """The notebook's name."""
        return self.folder.name

    def sidecar(self, name: str) -> Path:
        """A figure's sidecar."""
        return self.folder / "sidecars" / f"{name}.json"

    def table(self, name: str) -> Path:
        """A table."""
        return self.folder / "tables" / f"{name}.csv"

    def table_sidecar(self, name: str) -> Path:
        """A table's sidecar."""
        return self.folder / "sidecars" / "tables" / f"{name}.json"

    @property
    def shared(self) -> Path:
        """What all sidecars of the chapter share."""
        return self.sidecar(_SHARED)

    def figures(self) -> list[str]:
        """Names of its figures."""
        return sorted(path.stem for path in (self.folder / "sidecars").glob("*.json") if path != self.shared)


def chapters(run: Path) -> list[Chapter]:
    """The chapters of a run, in the notebooks' order."""
    return [Chapter(path.parent) for path in sorted(run.glob("*/sidecars"))]


def tables(run: Path, pattern: str = "*") -> list[Path]:
    """Tables of all chapters of a run whose names fit a pattern, in the notebooks' order."""
    return sorted(run.glob(f"*/tables/{pattern}.csv"))


def table_sidecar(table: Path) -> Path:
    """The sidecar of a table that `tables` found."""
    return Chapter(table.parent.parent).table_sidecar(table.stem)


def track(run: Path) -> str:
    """The track of a run PROFILE-TRACK: the folder in figures/ where it is committed. Other names are refused."""
    corpus = run.name.rpartition("-")[2]
    if corpus not in TRACKS:
        raise StudyError(f"The run {run.name} belongs to no track: its folder is named PROFILE-CORPUS, as laptop-controlled.")
    return corpus
