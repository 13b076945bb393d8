"""The rows of grouped heads for tiny models of the three tasks; one is trained when the first test of a session reads it."""

from __future__ import annotations

from typing import Any

from helpers import study
from helpers.experiments import grouping as grouped
from helpers.runs import subjects

NAME, SEED, STEPS = "ru-news", 1, 20
_TASK = {
    "train": 240, "dev": 24, "test": 10, "vocabulary": 150, "longest": 32, "steps": STEPS, "batch_tokens": 400,
    "learning_rate": 1e-2, "warmup": 4, "model.layers": 2, "model.width": 16, "model.heads": 4, "model.feed_forward": 32,
    "model.dropout": 0.0, "groups": 2, "votes": 0,
}  # fmt: skip
CHANGED = {  # groups that are settled before stage 1 ends, but not at the first look
    "train": 240, "vocabulary": 150, "training.steps": 12, "grouping.translation.text": "de-subtitles",
    "grouping.summarization.text": "reports", "grouping.language.text": "stories",
    **{f"grouping.{task}.{name}": v for task in ("translation", "summarization", "language") for name, v in _TASK.items()},
    "grouping.language.votes": 10, "grouping.first": 0.6, "grouping.alpha": 0.5, "grouping.beta": 0.3, "grouping.which": "V",
    "grouping.weight": 1.0, "grouping.numbers": [1, 2, 4], "grouping.strengths": [10.0],
    "grouping.probe": 8, "grouping.shots": 4, "grouping.seeds": 1,
    "grouping.parts": ["peers", "ablations", "numbers", "strengths"],
    "grouping.ladder": [{"head": 2}, {"head": 4, "seeds": 2}], "grouping.ablation_seeds": 2, "grouping.more_heads": 8,
    **{f"grouping.today.{name}": value for name, value in _TASK.items()}, "grouping.today.text": "stories",
    "grouping.beam": 1, "grouping.gates.rate": 0.3,
}  # fmt: skip


def settings(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of profile tiny with what is changed here, and more changes."""
    return study.settings("tiny", CHANGED | (changes or {}))


def rows(kind: str = subjects.TRANSLATION, changes: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The rows of a task."""
    return grouped.runs.rows_of(settings(changes), kind, SEED)
