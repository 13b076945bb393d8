"""Findings of injection in words follow the numbers, whichever way they fall."""

import pandas as pd
import pytest

from helpers.methods.coreference import said
from helpers.methods.coreference.runs import MAIN, PLAIN

RANDOM, NONE, GOLD, SHUFFLED = "injected, random 2", f"{MAIN}, no links", f"{MAIN}, gold", f"{MAIN}, rule+shuffled"


def scores(**changes):
    """Scores of rows by their names: change, low, high."""
    rows = [(name, "ROUGE-1", 70 + c[0], *c) for name, c in changes.items()]
    return pd.DataFrame(rows, columns=["row", "metric", "value", "change", "change_low", "change_high"])


@pytest.mark.parametrize(("row", "name"), [
    (PLAIN, "plain"), (MAIN, "lowest heads"), (RANDOM, "random heads (draw 2)"), ("injected, lowest 2", "lowest 2 heads"),
    ("masked, highest", "highest heads masked"), ("injected, probing", "heads by probing"),
    (f"{MAIN}, gold+corrupt:0.3", "lowest heads, gold links, 30 % corrupted"), (NONE, "lowest heads, no links"),
    (SHUFFLED, "lowest heads, shuffled rule-resolver links"), (f"{MAIN}, upper layers", "lowest heads, upper layers"),
    (f"{MAIN}, written with none", "lowest heads, written with no links"), ("layer of its own, all", "a layer of its own, all"),
    ("injected at inference", "lowest heads, at inference alone"), ("baseline: nearest name", "guessed: nearest name"),
    (f"{MAIN}, heads off at inference", "lowest heads, off in writing"), ("lowest, 3 a layer", "lowest, 3 a layer"),
])  # fmt: skip
def test_rows_have_human_names(row, name):
    assert said.named(row) == name


@pytest.mark.parametrize(("change", "verb", "row", "here"), [
    ((1, 0.5, 1.5), "loses to", "up: *random", "Here +1.0 [+0.5, +1.5] is left"),
    ((-1, -1.5, -0.5), "beats", "down: *random", "Here that is all of the gain: without links -1.0 [-1.5, -0.5] is left"),
    ((1, -0.5, 1.5), "is not told from", "No row changes ROUGE-1", "Here that is all of the gain: without links +1.0"),
])  # fmt: skip
def test_a_choice_is_better_only_where_its_interval_says_so(change, verb, row, here):
    table, main, less = scores(**{"injected, random": change}), (2, 1, 3), (-change[0], -change[2], -change[1])
    own = scores(**{"injected, random": less}).rename(columns={"row": "control"})
    assert said.choice(own) == f"Lowest heads minus random heads {said.change(own.assign(row='a'), 'a')}"
    told = said.answer(own, scores(**{MAIN: main, GOLD: (5, 4, 6)}), "rule", "one training")
    assert f"(one training). A choice by importance {verb} chance: " in told and row in said.any_sure(table, "ROUGE-1")
    assert told.endswith("about 2.5 times as much: +5.0 [+4.0, +6.0].")
    assert here in said.left(scores(**{MAIN: main, f"{MAIN}, written with none": change}))


def test_what_is_drawn_of_clusters_is_told_beside_means_over_trainings():
    drawn = scores(**{MAIN: (0.8, 0, 2), GOLD: (2.6, 1, 3), SHUFFLED: (0, -1, 1), NONE: (1.7, 1, 2)})
    curve = drawn.assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 34, 92])
    told = said.clusters(curve, scores(**{MAIN: (0.5, 0, 2)}).assign(seeds=5), {MAIN: "rule", GOLD: "gold"})
    assert "F1: +0.0 at 34, +2.6 at 100; rule-resolver links +0.8 at 93, gold links corrupted +1.7 at 92. First" in told
    assert "rule-resolver links +0.8, gold links +2.6." in said.clusters(curve[:2], drawn, {MAIN: "rule", GOLD: "gold"})
    assert said.nearest(curve)[0].row == NONE and said.nearest(curve[:2]) == []
    told = [said.errors(curve, scores(**{MAIN: (-1, -2, high)})) for high in (-0.5, 0.5)]
    assert told[0].startswith("Equal F1 is not equal use: the resolver's errors cost more") and "about as much as" in told[1]


def test_the_best_way_is_told_beside_the_paper_s():
    best = scores(**{MAIN: (2, 1, 3), "layer of its own, all": (5, 4, 6), RANDOM: (-1, -2, 0)})
    told = said.where(best, scores(**{MAIN: (1, 0, 2), "layer of its own, upper": (0.5, 0, 1)}).assign(seeds=5))
    assert "3 rows, one training each, *a layer of its own, all* gains most: +5.0 [+4.0, +6.0] ROUGE-1 against +2.0 " in told
    assert "; *a layer of its own, upper*, over 5 trainings, +0.5 against +1.0; least *random heads (draw 2)*, -1.0." in told
    told = said.where(scores(**{MAIN: (2, 1, 3), RANDOM: (1, 0, 2)}), best)
    assert told.endswith("ROUGE-1; least *random heads (draw 2)*, +1.0.")


def test_heads_matter_more_where_their_interval_is_above_zero():
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    told = said.matters(more, ["for", "open"])
    assert told.endswith("1 of 3 layers, each by its own interval; corrected for all rows, 1 of these 2 remains.")
    assert "than with no links in 2 of 3 layers." in said.matters(more.assign(low=float("nan")), ["open"])
    assert not said.matters(more[:0].drop(columns="low"))  # a run without these controls
    every = pd.DataFrame({"row": MAIN, "seed": [1, 2], "rank_before": 8, "rank_after": [4, 5]})
    assert said.moved(every).startswith("Mean of 2 trainings (drawn: the first)") and "8.0 → 4.5" in said.moved(every)
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], **{"all off": -12})
    assert "three -1.0 [-2.0, +0.0]; all heads -12.0. The claim allows three -0.70 (-1 %)" in said.masking(masked, -0.01)
    off = masked.assign(setting="a", order="lowest", number=3, change=[-0.3, -1], percent=[-0.5, -1.4], change_high=[0, -0.9])
    told = "0.3 to 1.0 points of ROUGE-1, 0.5 to 1.4 %: 1 of 2 trainings lose more than the claim allows (1 %), 1 by interval."
    assert said.masked(off, -0.01).endswith(told) and said.masked(off.assign(number=1), -0.01) == ""
    same = pd.DataFrame({"row": [PLAIN, "steps x 2", "seed 2"], "same head": [1, 1 / 3, 0], "in the lower half": [1, 1, 0]})
    assert said.ranking(pd.DataFrame(0.5, same.row, same.row), same, 3).endswith("half in 3 of 3 cases, lowest in 1.")
