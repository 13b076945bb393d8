"""The two sweeps of a tiny model, encoder heads and all kinds; a run is made when the first test of a session reads it."""

from typing import Any

from helpers import study
from helpers.experiments import pruning

NAME, SEED = "ru-subtitles", 1
CHANGED = {  # trained for long enough to have something to lose; some prices close all gates, others only some
    "train": 300, "vocabulary": 150, "relevance": 4, "model.dropout": 0.0,
    "training.steps": 150, "training.learning_rate": 1e-2, "training.warmup": 20, "training.evaluate_every": 75,
    "pruning.evaluate_every": 1, "pruning.start": 0.5, "pruning.penalties": [0.003, 0.03, 1.0], "pruning.compared": [0.03],
    "pruning.draws": 2, "pruning.criteria": ["random", "confidence"], "pruning.penalties_all": [0.001, 0.03],
    "pruning.scratch": [0.03],
}  # fmt: skip


def settings(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of profile tiny with what is changed here, and more changes."""
    return study.settings("tiny", CHANGED | (changes or {}))


def sweeps(changes: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The sweep over encoder heads, and that over all kinds."""
    return dict(zip(("encoder", "all"), pruning.of_training(settings(changes), [NAME], SEED), strict=True))
