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


@pytest.mark.parametrize(("change", "choice", "row"), [
    ((1, 0.5, 1.5), "random heads (draw 2) gain more", "up: *random"),
    ((-1, -1.5, -0.5), "no other heads gain more; random heads (draw 2) less", "down: *random"),
    ((1, -0.5, 1.5), "no other heads gain more; random heads (draw 2) (+1.0) about as much", "No row changes ROUGE-1"),
])  # fmt: skip
def test_a_choice_is_better_only_where_its_interval_says_so(change, choice, row):
    table = scores(**{RANDOM: change})
    own = table.assign(control=table.row, change_low=-table.change_high, change_high=-table.change_low).drop(columns="row")
    assert said.choice(own, table) == f"By interval {choice}" and row in said.any_sure(table, "ROUGE-1")


def test_what_is_drawn_of_clusters_is_told_beside_means_over_trainings():
    drawn = scores(**{MAIN: (0.8, 0, 2), GOLD: (2.6, 1, 3), SHUFFLED: (0, -1, 1), NONE: (1.7, 1, 2)})
    curve = drawn.assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 34, 92])
    told = said.clusters(curve, scores(**{MAIN: (0.5, 0, 2)}).assign(seeds=5), {MAIN: "rule", GOLD: "gold"})
    assert "F1: +0.0 at 34, +2.6 at 100; rule-resolver links +0.8 at 93, gold links corrupted +1.7 at 92. First" in told
    assert "rule-resolver links +0.8, gold links +2.6." in said.clusters(curve[:2], drawn, {MAIN: "rule", GOLD: "gold"})


def test_the_best_way_is_told_beside_the_paper_s():
    best = scores(**{MAIN: (2, 1, 3), "layer of its own, all": (5, 4, 6), RANDOM: (-1, -2, 0)})
    assert "a layer of its own, all*, +5.0 [+4.0, +6.0] ROUGE-1, 2.5 times" in said.where(best)
    none = scores(**{MAIN: (-1, -2, 0), "layer of its own, all": (5, 4, 6)})
    assert "times" not in said.where(none) and "the paper's way (-1.0 [-2.0, +0.0])" in said.where(none)
    assert said.where(scores(**{MAIN: (2, 1, 3), RANDOM: (1, 0, 2)})).startswith("Most gains *lowest heads*")
    table = scores(**{MAIN: (1, 0, 2), f"{MAIN}, adjacent links": (3, 0.5, 4)}).assign(mentions="9 to 12")
    assert "+3.0, full ones +1.0: intervals overlap" in said.sizes(table) and said.sizes(table[:1]) == ""
    assert "intervals lie apart" in said.sizes(table.assign(change_low=[0, 2.5]))


def test_heads_matter_more_where_their_interval_is_above_zero():
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    assert "than with no links in 1 of 3 layers; by 95 %" in said.matters(more)
    assert "than with no links in 2 of 3 layers." in said.matters(more.assign(low=float("nan")))
    every = pd.DataFrame({"row": MAIN, "seed": [1, 2], "rank_before": 8, "rank_after": [4, 5]})
    assert said.moved(every).startswith("Mean of 2 trainings (drawn: the first)") and "8.0 → 4.5" in said.moved(every)
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], **{"all off": -12})
    assert "three -1.0 [-2.0, +0.0]; all heads -12.0. The claim allows three -0.70 (-1 %)" in said.masking(masked, -0.01)
