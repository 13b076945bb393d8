"""The scoreboard shows every claim of the ledger once, with its verdict on both tracks, on one page."""

import json
from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

from helpers import study
from helpers.publish import claims, scoreboard
from helpers.study import layout


@pytest.fixture(scope="module")
def judged():
    return [claims.judge(track) for track in layout.TRACKS]


def test_every_claim_has_a_row_with_both_verdicts(judged):
    board = scoreboard.rows(judged)
    assert [row["claim"] for row in board] == [one.claim for one in claims.ledger()]
    for row, controlled, natural in zip(board, *judged, strict=True):
        assert (row["controlled"]["verdict"], row["natural"]["verdict"]) == (controlled.verdict, natural.verdict)


def test_a_number_goes_with_its_verdict(judged):
    row = claims.Row("a", 0.5, 0.4, 0.6, 0.0, 0.01, 0.2, "open")
    one = replace(judged[0][0], verdict="inconclusive", number="0 of 2 rivals", alone=1, undone=2, rows=[row, row])
    number = scoreboard.rows([[replace(one, beside="", asked="")]])[0]["controlled"]["number"]
    assert number == "0 of 2 rivals, alone 1\xa0for and 1\xa0against"
    partly = replace(
        one, verdict="partly", number="0.56", beside="", asked="", rows=[replace(row, side="for"), row], noun="rules"
    )
    made = scoreboard.rows([[partly]])[0]["controlled"]
    assert (made["number"], made["sides"]) == ("1 of 2 rules (1\xa0undecided): 0.56", [1, 1, 0])
    several = scoreboard.rows([[replace(partly, number="1 of 2 rules")]])[0]["controlled"]["number"]
    assert several == "1 of 2 rules (1\xa0undecided)"


def test_the_picture_says_every_verdict_and_splits_what_holds_partly(judged):
    board = scoreboard.rows(judged)
    figure = scoreboard.scoreboard(board)
    (axis,) = figure.axes
    words = [text.get_text() for text in axis.texts]
    for verdict in claims.VERDICTS:
        shown = sum(word == verdict or word.startswith(f"{verdict}: ") for word in words)
        assert shown == sum(row[track]["verdict"] == verdict for row in board for track in layout.TRACKS)
    told = [row[track] for row in board for track in layout.TRACKS]
    assert len(axis.patches) == sum(len(one["sides"]) or 1 for one in told)
    assert [one for one in told if one["sides"]] == [one for one in told if one["verdict"] == "partly"]
    parts = [patch.get_width() for patch in axis.patches[: len(told[0]["sides"])]]
    assert sum(parts) == pytest.approx(scoreboard._CELL)
    assert parts == pytest.approx([sum(parts) * many / sum(told[0]["sides"]) for many in told[0]["sides"]])
    plt.close(figure)


def test_the_committed_picture_shows_today_s_verdicts(judged):
    drawn = json.loads((study.ROOT / "figures" / "scoreboard.json").read_text(encoding="utf-8"))
    assert drawn["rows"] == json.loads(json.dumps(scoreboard.rows(judged))), "stale: run make figures"
