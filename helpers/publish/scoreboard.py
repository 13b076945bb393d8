"""The scoreboard: every claim, what its paper reports, and the computed verdicts on both tracks, in one picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Patch, Rectangle

from helpers import drawing, study
from helpers.drawing import redrawable
from helpers.publish import claims
from helpers.study import layout

# Okabe-Ito; the word of the verdict stands in every cell, so that colour is never the only sign
LOOKS = {
    "seen": ("#0072B2", "white"),
    "partly": ("#9BD0F0", "black"),
    "no": ("#D55E00", "white"),
    "inconclusive": ("#CFCFCF", "black"),
    "not testable": ("#F1F1F1", "black"),
}
_NOTES = (
    "Square brackets: 95 % intervals. Partly: some rows are on the claim's side, fewer than asked. Inconclusive: after Holm's"
    " correction over all rows of a paper no test decides (by Holm: without it one would). Not testable: no control, no such"
    " head, no heads with an effect, too few trainings, not run, or hollow (that attention is worth too little here)."
)
_HEADS = {"claim": "claim", "printed": "the paper reports", "controlled": "generated text", "natural": "natural text"}
_COLUMNS = {"claim": 0.0, "printed": 2.5, "controlled": 3.74, "natural": 5.36}  # inches from the left
_WIDTH, _CELL, _LINE, _PAD = 6.94, 1.57, 0.112, 0.11
_CHARS = {"claim": 44, "printed": 23, "controlled": 29, "natural": 29}


def rows(judged: Sequence[Sequence[claims.Judged]]) -> list[dict[str, Any]]:
    """What the scoreboard draws, a row a claim, from the verdicts of both tracks."""
    made = []
    for both in zip(*judged, strict=True):
        claim = both[0].claim
        told = {}
        for one in both:
            number = _told(one) + (f" beside {one.beside}" if one.beside else f", asked\xa0{one.asked}" if one.asked else "")
            brief = "by Holm" if one.brief.startswith("alone") else one.brief
            told[one.track] = {"verdict": one.verdict, "brief": brief, "number": number, "hollow": one.hollow}
        made.append({"paper": claim.paper, "claim": claim.claim, "printed": claim.printed} | told)
    return made


def _told(one: claims.Judged) -> str:
    """A claim's number; of several rows how many decide, how many are open, and how many would decide without Holm."""
    if one.verdict == "partly":
        left = sum(row.side == "open" for row in one.rows)
        counted = f"{sum(row.side == 'for' for row in one.rows)} of {len(one.rows)} {one.noun}"
        return f"{counted}: {one.number}" if " of " not in one.number else counted + f" ({left}\xa0undecided)" * bool(left)
    if one.verdict == "inconclusive" and one.alone and one.number.startswith("0 of "):
        return f"{one.alone}{one.number[1:]} alone, by Holm\xa00"
    return one.number


def _wrapped(text: str, column: str) -> list[str]:
    return textwrap.wrap(text, _CHARS[column]) or [""]


def _cell(axis, left: float, top: float, width: float, height: float, told: dict[str, Any]) -> None:
    """A verdict: its colour, its word, the number below; hatched where the test is hollow."""
    ground, ink = LOOKS[told["verdict"]]
    hatch = "////" if told["hollow"] else None
    frame = Rectangle((left, top + 0.02), width, height - 0.04, facecolor=ground, edgecolor="#9A9A9A", hatch=hatch, linewidth=0)
    axis.add_patch(frame)
    word = f"{told['verdict']}: {told['brief']}" if told["brief"] else told["verdict"]
    lines = [word, *(_wrapped(told["number"], "natural") if told["number"] else [])]
    ground = {"facecolor": ground, "edgecolor": "none", "pad": 0.6} if told["hollow"] else None
    for number, line in enumerate(lines):
        middle = top + height / 2 + (number - (len(lines) - 1) / 2) * _LINE
        weight = "bold" if not number else "normal"
        axis.text(left + width / 2, middle, line, ha="center", va="center", color=ink, fontsize=7, weight=weight, bbox=ground)


@redrawable
def scoreboard(board: Sequence[dict[str, Any]]) -> plt.Figure:
    """Claims by paper: printed, controlled and natural verdicts with one number each.

    Parameters
    ----------
    board : sequence of dict
        As `rows` makes them: paper, claim, printed, controlled and natural (verdict, brief, number, hollow).
    """
    places, y, last = [], 0.3, None
    for row in board:
        if row["paper"] != last:
            last = row["paper"]
            places.append((y + 0.04, None, last))
            y += 0.22
        cells = [1 + len(_wrapped(row[track]["number"], track)) for track in layout.TRACKS if row[track]["number"]]
        lines = max(len(_wrapped(row["claim"], "claim")), len(_wrapped(row["printed"], "printed")), 1, *cells, 1)
        height = lines * _LINE + _PAD
        places.append((y, height, row))
        y += height
    figure = plt.figure(figsize=(_WIDTH, y + 0.88))
    figure.set_layout_engine("none")  # plt.figure takes the style's engine even where it is told layout="none"
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(-0.02, _WIDTH), ylim=(y + 0.88, 0))
    axis.set_axis_off()
    widths = {"controlled": _CELL, "natural": _CELL}
    for column, left in _COLUMNS.items():
        middle = left + widths[column] / 2 if column in widths else left
        axis.text(
            middle, 0.16, _HEADS[column], ha="center" if column in widths else "left", va="center", fontsize=8, color="#555555"
        )
    for top, height, row in places:
        if height is None:
            axis.text(0, top + 0.09, row, va="center", fontsize=8.5, weight="bold")
            axis.plot([0, _WIDTH - 0.04], [top - 0.02] * 2, color="#BBBBBB", linewidth=0.6)
            continue
        for column in ("claim", "printed"):
            told = _wrapped(row[column], column)
            for number, line in enumerate(told):
                middle = top + height / 2 + (number - (len(told) - 1) / 2) * _LINE
                axis.text(_COLUMNS[column], middle, line, va="center", fontsize=7.2)
        for track in layout.TRACKS:
            _cell(axis, _COLUMNS[track], top, widths[track], height, row[track])
    keys = [Patch(facecolor=ground, edgecolor="#9A9A9A", linewidth=0.6, label=name) for name, (ground, _) in LOOKS.items()]
    keys.append(Patch(facecolor=LOOKS["not testable"][0], edgecolor="#9A9A9A", hatch="////", label="hollow"))
    figure.legend(keys, [key.get_label() for key in keys], loc="lower left", ncols=len(keys), fontsize=7, frameon=False,
                  bbox_to_anchor=(0, 0.56 / (y + 0.88)), handlelength=1.4)  # fmt: skip
    for number, note in enumerate(textwrap.wrap(_NOTES, 128)):
        axis.text(0, y + 0.4 + 0.13 * number, note, va="center", fontsize=7)
    return figure


def write(figures: Path) -> Path:
    """Draw the scoreboard of the committed tables, beside the rows that it shows; returns the picture."""
    drawing.style()
    board = rows([claims.judge(track) for track in layout.TRACKS])
    study.write_json(figures / "scoreboard.json", {"rows": board})
    return study.save_figure(scoreboard(board), figures, "scoreboard")
