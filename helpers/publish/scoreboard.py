"""The scoreboard: every claim, what its paper reports, and the computed verdicts on both tracks, in one picture."""

from __future__ import annotations

import textwrap
from collections import Counter
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
_SPLIT = {"for": "#9BD0F0", "open": "#E2E2E2", "against": "#F5B78D"}  # the rows of a claim that holds partly
_NOTES = (
    "Square brackets: 95 % intervals. Seen: as many rows as the rule asks are for the claim. Partly: some are, fewer than asked"
    " (the cell is split into those for it, blue, undecided, grey, and against it, orange). No: none is, and at least one is"
    " against it. Inconclusive: after Holm's correction over all rows of a paper no test decides (alone for, alone against:"
    " without it one would). Not testable: no control, no such head, no heads with an effect, too few trainings, not run, or"
    " hollow (that attention is worth too little here)."
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
            sides = [sum(row.side == side for row in one.rows) for side in _SPLIT] if one.verdict == "partly" else []
            told[one.track] = {"verdict": one.verdict, "brief": one.brief, "number": number, "sides": sides}
        made.append({"paper": claim.paper, "claim": claim.claim, "printed": claim.printed} | told)
    return made


def _told(one: claims.Judged) -> str:
    """A claim's number; of several rows how many are on which side, and how many would be without Holm's correction."""
    if one.verdict == "partly":
        count = {side: sum(row.side == side for row in one.rows) for side in _SPLIT}
        others = [f"{count[side]}\xa0{word}" for side, word in (("against", "against"), ("open", "undecided")) if count[side]]
        counted = f"{count['for']} of {len(one.rows)} {one.noun}" + (f" ({', '.join(others)})" if others else "")
        return f"{counted}: {one.number}" if " of " not in one.number else counted
    if one.verdict == "inconclusive" and one.undone and one.number.startswith("0 of "):
        against = one.undone - one.alone
        return f"{one.number}, alone {one.alone}\xa0for" + (f" and {against}\xa0against" if against else "")
    return one.number


def _wrapped(text: str, column: str) -> list[str]:
    return textwrap.wrap(text, _CHARS[column]) or [""]


def _cell(axis, left: float, top: float, width: float, height: float, told: dict[str, Any]) -> None:
    """A verdict: its colour, its word, the number below; split into the sides of its rows where it holds partly."""
    ground, ink = LOOKS[told["verdict"]]
    parts = list(zip(told["sides"], _SPLIT.values(), strict=True)) if told["sides"] else [(1, ground)]
    share, start = width / sum(many for many, _ in parts), left
    for many, colour in parts:
        axis.add_patch(Rectangle((start, top + 0.02), many * share, height - 0.04, facecolor=colour, linewidth=0))
        start += many * share
    word = f"{told['verdict']}: {told['brief']}" if told["brief"] else told["verdict"]
    lines = [word, *(_wrapped(told["number"], "natural") if told["number"] else [])]
    for number, line in enumerate(lines):
        middle = top + height / 2 + (number - (len(lines) - 1) / 2) * _LINE
        weight = "bold" if not number else "normal"
        axis.text(left + width / 2, middle, line, ha="center", va="center", color=ink, fontsize=7, weight=weight)


def _tally(board: Sequence[dict[str, Any]], track: str) -> str:
    """How many claims have which verdict on a text."""
    counts = Counter(row[track]["verdict"] for row in board)
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in LOOKS if counts[verdict])
    return f"{len(board)} claims on {_HEADS[track]}: {listed}."


@redrawable
def scoreboard(board: Sequence[dict[str, Any]]) -> plt.Figure:
    """Claims by paper: printed, controlled and natural verdicts with one number each.

    Parameters
    ----------
    board : sequence of dict
        As `rows` makes them: paper, claim, printed, controlled and natural (verdict, brief, number; sides: how many rows
        are for it, undecided, against it).
    """
    places, y, last = [], 0.62, None
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
    figure = plt.figure(figsize=(_WIDTH, y + 1.1))
    figure.set_layout_engine("none")  # plt.figure takes the style's engine even where it is told layout="none"
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(-0.02, _WIDTH), ylim=(y + 1.1, 0))
    axis.set_axis_off()
    for line, track in enumerate(layout.TRACKS):
        axis.text(0, 0.1 + 0.14 * line, _tally(board, track), va="center", fontsize=7.5, weight="bold")
    widths = {"controlled": _CELL, "natural": _CELL}
    for column, left in _COLUMNS.items():
        middle = left + widths[column] / 2 if column in widths else left
        axis.text(
            middle, 0.48, _HEADS[column], ha="center" if column in widths else "left", va="center", fontsize=8, color="#555555"
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
    figure.legend(keys, [key.get_label() for key in keys], loc="lower left", ncols=len(keys), fontsize=7, frameon=False,
                  bbox_to_anchor=(0, 0.78 / (y + 1.1)), handlelength=1.4)  # fmt: skip
    for number, note in enumerate(textwrap.wrap(_NOTES, 128)):
        axis.text(0, y + 0.4 + 0.13 * number, note, va="center", fontsize=7)
    return figure


def write(figures: Path) -> Path:
    """Draw the scoreboard of the committed tables, beside the rows that it shows; returns the picture."""
    drawing.style()
    board = rows([claims.judge(track) for track in layout.TRACKS])
    study.write_json(figures / "scoreboard.json", {"rows": board})
    return study.save_figure(scoreboard(board), figures, "scoreboard")
