"""Findings of injection in words follow the numbers, whichever way they fall."""

import pandas as pd
import pytest

from helpers.methods.coreference import said
from helpers.methods.coreference.runs import MAIN, PLAIN

RANDOM, NONE, RULE, SHUFFLED = "injected, random 2", f"{MAIN}, no links", f"{MAIN}, rule", f"{MAIN}, rule+shuffled"


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
    ((1, 0.5, 1.5), "Surely better than the lowest heads: random heads (draw 2)", "surely up: random"),
    ((-1, -1.5, -0.5), "No other choice is surely better; surely worse: random heads (draw 2)", "surely down: random"),
    ((1, -0.5, 1.5), "No other choice is surely better", "No row changes ROUGE-1 surely."),
])  # fmt: skip
def test_a_choice_is_better_only_where_its_interval_says_so(change, choice, row):
    table = scores(**{RANDOM: change})
    own = table.assign(control=table.row, change_low=-table.change_high, change_high=-table.change_low).drop(columns="row")
    assert said.choice(own) == choice and row in said.any_sure(table, "ROUGE-1")


@pytest.mark.parametrize(("apart", "words"), [
    ((1, 0.5, 1.5), "surely more than"), ((-1, -2, -0.5), "surely less than"), ((1, -1, 3), "not surely more than"),
])  # fmt: skip
def test_a_resolver_s_links_are_told_beside_true_shuffled_and_no_ones(apart, words):
    table = scores(**{MAIN: (1, 0, 2), f"{MAIN}, gold": (2, 1, 3), NONE: (0, -1, 1)})
    given = {MAIN: "rule", f"{MAIN}, gold": "gold", SHUFFLED: "rule+shuffled", NONE: "none"}
    told = said.clusters(table, given, scores(**{MAIN: apart}))
    assert told.startswith("ROUGE-1 with rule-resolver links +1.0 [+0.0, +2.0], gold links +2.0 [+1.0, +3.0], no links")
    assert f"rule-resolver links gain {words} shuffled ones" in told


def test_the_best_way_is_told_beside_the_paper_s():
    best = scores(**{MAIN: (2, 1, 3), "layer of its own, all": (5, 4, 6), RANDOM: (-1, -2, 0)})
    assert "a layer of its own, all*, +5.0 [+4.0, +6.0] ROUGE-1, 2.5 times" in said.where(best)
    none = scores(**{MAIN: (-1, -2, 0), "layer of its own, all": (5, 4, 6)})
    assert "times" not in said.where(none) and "the paper's way -1.0 [-2.0, +0.0]" in said.where(none)
    assert said.where(scores(**{MAIN: (2, 1, 3), RANDOM: (1, 0, 2)})).startswith("Most gains *lowest heads*")


def test_heads_matter_more_where_their_interval_is_above_zero():
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    assert "surely higher than with no links in 1 of 3 layers" in said.matters(more)
    assert "higher than with no links in 2 of 3 layers" in said.matters(more.assign(low=float("nan")))
