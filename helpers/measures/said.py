"""What verdicts on a published run of other text say, in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str]) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
