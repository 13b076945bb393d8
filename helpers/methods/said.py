"""The published tables beside which notebook 06 may stand."""

from __future__ import annotations

from pathlib import Path

from helpers import study
from helpers.study import layout


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists() and _table(folder, "removed_at_once").exists() and _table(folder, "contest").exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def _table(folder: Path, name: str) -> Path:
    return layout.Chapter(folder / "06_do_measures_agree").table(name)
