"""Findings of injection in words follow the numbers, whichever way they fall."""

from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.methods.coreference import said, tables
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
    ((1, 0.5, 1.5), "Chance beats importance: one draw gains more", "higher with *random",
     "With no links +1.0 [+0.5, +1.5] ROUGE-1 is left"),
    ((-1, -1.5, -0.5), "Importance beats chance: one draw gains less", "lower with *random",
     "the gain is gone (-1.0 [-1.5, -0.5] ROUGE-1)"),
    ((1, -0.5, 1.5), "a random choice: one draw does as well", "No row changes ROUGE-1", "the gain is gone (+1.0"),
])  # fmt: skip
def test_a_choice_is_better_only_where_its_interval_says_so(change, verb, row, here):
    table, main, less = scores(**{"injected, random": change}), (2, 1, 3), (-change[0], -change[2], -change[1])
    own = scores(**{"injected, random": less, GOLD: (-3, -4, -2)}).rename(columns={"row": "control"})
    assert said.choice(own[:1]) == f"Lowest heads minus random heads {said.change(own[:1].assign(row='a'), 'a')}"
    over = scores(**{MAIN: main, GOLD: (5, 4, 6)}).assign(percent=0.6, percent_low=0.2, percent_high=1)
    alone, ruled = scores(**{MAIN: main, said.OWN: (4, 3, 5)}), {"injection-helps": "inconclusive", "resolver-links": "seen"}
    told = said.answer(own, over, alone, "rule", "one training", "on text", ruled, 0.08)
    assert told.startswith(
        "**By interval a little on text.** Rule-resolver links in the least important head of each encoder layer"
    )
    assert (
        "by +0.6 [+0.2, +1.0] %, printed +1.6 % (one training; inconclusive, p = 0.080 over all claims of the paper)." in told
    )
    assert f"{verb} (one training, difference " in told and row in said.any_sure(table, "ROUGE-1")
    assert (
        "Gold links bring +5.0 [+4.0, +6.0]: better links would help (difference -3.0 [-4.0, -2.0]). So would another" in told
    )
    assert told.endswith("in a layer of its own after every layer bring +4.0 [+3.0, +5.0] (one training, not replicated).")
    assert said.elsewhere(scores(**{MAIN: main, said.OWN: (3, 1, 5)}), "rule") == ""  # it may do no more than the lowest heads
    assert said.answer(own, over.assign(change_low=-1.0), alone, "rule", "", "here", ruled).startswith("**Not seen here.** ")
    assert said.answer(own, over.assign(percent=2.0), alone, "rule", "", "here", ruled, 0.01).startswith("**Yes here.** ")
    shuffled = pd.concat([own, scores(**{SHUFFLED: (1, 0.5, 2)}).rename(columns={"row": "control"})])
    told = said.answer(shuffled, over, alone, "rule", "", "here", ruled)
    assert "Shuffled links gain less (difference +1.0 [+0.5, +2.0]; seen), so it is the coreference." in told
    assert here in said.left(scores(**{MAIN: main, f"{MAIN}, written with none": change}))
    assert "no gain to lose" in said.left(scores(**{MAIN: (1, -1, 2), f"{MAIN}, written with none": change}))


def test_why_nothing_can_be_concluded_and_which_heads_were_drawn():
    found = pd.DataFrame({"against": ["rule", "GUM, 3 documents"], "CoNLL": [90.0, 37.9]})
    told = said.hollow("natural", "0.3 ROUGE-1", 2, found)
    assert "is worth 0.3 ROUGE-1 (at least 2 are needed) and our resolver reaches F1 38 (GUM)." in told
    assert said.hollow("natural", "0.3", 2, found[:1]) == said.hollow("natural", "0.3", 2) and "GUM" not in said.hollow(
        "a", "", 2
    )
    ranks = {"row": "injected, random", "layer": [0, 1, 0, 1], "seed": [1, 1, 2, 2], "rank_before": [3, 5, 3, 5]}
    every = pd.DataFrame(ranks)
    assert "one draw, of ranks 3 and 5 in layers 1 and 2 (1 is the most important), the same in all 2" in said.drawn(every)
    assert "anew" in said.drawn(every.assign(rank_before=[3, 5, 4, 5])) and said.drawn(every[:0]) == ""
    own = scores(**{SHUFFLED: (1, 0.5, 2), "injected, random": (1, -1, 2)}).rename(columns={"row": "control"})
    ranks = {"row": [MAIN, NONE], "rank_before": [8, 8], "rank_after": [4, 6], "heads": 8}
    alone = scores(**{"injected, random": (1, 0, 2), RANDOM: (0, -1, 1)})
    links, heads, matter = said.rivals(own, alone, "rule", pd.DataFrame(ranks), "5 trainings", ["for", "open", "open"])
    assert links.startswith("It is the links: they beat shuffled ones by +1.0")
    assert heads.startswith(
        "Whether importance beats chance is open: one draw does as well (5 trainings, difference +1.0 [-1.0,"
    )
    assert (
        heads.endswith("a second gains nothing (one training, +0.0 [-1.0, +1.0]).")
        and said.chance(own[:0], alone[:0], "") == ""
    )
    half = "Half of the rise (mean rank 8.0 to 6.0 of 8) comes with any fixed attention; coreference takes it on to 4.0."
    assert matter == f"{half} 1 of 3 comparisons remains after Holm."
    told = said.example(pd.Series({"reference": 100, PLAIN: 67, MAIN: 33}), "+3.1")
    assert "lowest heads 33 %. It gets worse by injection; over all dialogues the change is +3.1 points" in told


def test_what_is_drawn_of_clusters_is_told_beside_means_over_trainings():
    drawn = scores(**{MAIN: (0.8, 0, 2), GOLD: (2.6, 1, 3), SHUFFLED: (0, -1, 1), NONE: (1.7, 1, 2)})
    curve = drawn.assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 34, 92])
    told = said.clusters(curve, "rule")
    assert (
        "grows with the quality of clusters, from none at F1 34 to +2.6 at F1 100 (first training). Rule-resolver links, "
        in told
    )
    assert "F1 93, gain less (+0.8) than gold links, 10 % corrupted, F1 92 (+1.7)." in told
    told = said.means(scores(**{MAIN: (0.5, 0, 2)}).assign(seeds=5), {MAIN: "rule", GOLD: "gold"})
    assert told == "Change of ROUGE-1, means of 5 trainings: rule-resolver links +0.5."
    assert said.means(drawn, {MAIN: "rule", GOLD: "gold"}).endswith("one training: rule-resolver links +0.8, gold links +2.6.")
    assert "Rule-resolver" not in said.clusters(curve[:2], "rule")
    assert said.nearest(curve)[0].row == NONE and said.nearest(curve[:2]) == []
    told = [said.errors(curve, scores(**{MAIN: (-1, -2, high)})) for high in (-0.5, 0.5)]
    assert told[0].startswith("Equal F1 is not equal use: the resolver's errors cost more") and "about as much as" in told[1]


def test_the_best_way_is_told_beside_the_paper_s():
    best = scores(**{MAIN: (2, 1, 3), "layer of its own, all": (5, 4, 6), RANDOM: (-1, -2, 0)})
    told = said.where(best, scores(**{MAIN: (1, 0, 2), "layer of its own, upper": (0.5, 0, 1)}).assign(seeds=5))
    assert told.startswith(
        "*A layer of its own, all* gains most (+5.0 [+4.0, +6.0] ROUGE-1, lowest heads +2.0 [+1.0, +3.0]): one"
    )
    assert "the best of 3, not replicated; *a layer of its own, upper*, over 5 trainings, +0.5 [+0.0, +1.0], lowest" in told
    assert ", lowest" not in said.where(scores(**{MAIN: (2, 1, 3), RANDOM: (1, 0, 2)}), best)
    rows = {f"{MAIN}, {part} layers": (place, 0, 3) for place, part in enumerate(("lower", "upper"))}
    assert said.layers(scores(**rows)).startswith("As in the paper, upper layers gain more (ROUGE-1 +0.0 [+0.0, +3.0], +1.0")
    both = scores(**rows, **{MAIN: (1, 0, 3)}).assign(heads=1)
    assert said.layers(both).endswith("One head in the last layer alone (+1.0) does as well as one in every layer (+1.0).")
    assert said.layers(best) == "" and "do not" in said.layers(scores(**rows).assign(change=[1, 0]))


def test_heads_matter_more_where_their_interval_is_above_zero():
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    told = said.matters(more, ["for", "open"])
    assert told.endswith("1 of 3 layers, each by its own interval; corrected for all rows, 1 of these 2 remains.")
    assert "than with no links in 2 of 3 layers." in said.matters(more.assign(low=float("nan")), ["open"])
    assert not said.matters(more[:0].drop(columns="low"))  # a run without these controls
    every = pd.DataFrame({"row": MAIN, "seed": [1, 2], "rank_before": 8, "rank_after": [4, 5]})
    assert said.moved(every).startswith("Mean of 2 trainings, rank in the layer") and "8.0 → 4.5" in said.moved(every)
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], **{"all off": -12})
    told = said.masking(masked, -0.01)
    assert (
        "three -1.0 [-2.0, +0.0]; all heads -12.0. Our limit for three (our choice) is -1 %, -0.70 points; they change" in told
    )
    assert "by -1.4 %; printed: -0.5 %." in told
    off = masked.assign(setting="a", order="lowest", number=3, change=[-0.3, -1], percent=[-0.5, -1.4], change_high=[0, -0.9])
    told = "0.3 to 1.0 points of ROUGE-1, 0.5 to 1.4 %: 1 of 2 settings lose more than the claim allows (1 %), 1 by interval."
    assert said.masked(off, -0.01).endswith(told) and said.masked(off.assign(number=1), -0.01) == ""
    same = pd.DataFrame({"row": [PLAIN, "steps x 2", "seed 2"], "same head": [1, 1 / 3, 0], "in the lower half": [1, 1, 0]})
    assert said.ranking(pd.DataFrame(0.5, same.row, same.row), same, 3).endswith("half in 3 of 3 cases, lowest in 1.")


def test_which_training_is_told_and_how_small_an_effect_is_not_seen():
    first, many = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2, 3)}), scores(**{MAIN: (0.5, 0.2, 0.9)}).assign(seeds=5)
    told = said.first_alone(many, first)
    assert told.startswith("ROUGE-1 of the lowest heads is +0.5 points over 5 trainings.") and told.endswith(
        "in which it is +0.8."
    )
    assert said.first_alone(first, first) == ""
    many = many.assign(percent=0.6, percent_low=0.2, percent_high=1.0)
    assert said.headline(many, first, "5 trainings") == "ROUGE-1 +0.6 [+0.2, +1.0] % (5 trainings), printed +1.6 %."
    events = [part.assign(metric="events") for part in (many, first)]
    told = said.headline(pd.concat([many, events[0]]), pd.concat([first, events[1]]), "5 trainings")
    assert told.endswith(
        "events +0.5 [+0.2, +0.9] points, in a layer of its own after every layer +2.5 [+2.0, +3.0] (one training)."
    )
    rows = scores(**{PLAIN: (0, 0, 0), "a": (0.5, -0.5, 1.5), "b": (0.4, -0.6, 1.4)}).assign(metric="BLEU", low=60.0, high=80.0)
    told = said.too_small(rows, "BLEU")
    assert told == "One training, BLEU 70.0 [60.0, 80.0]: every interval holds zero; effects under about 1 BLEU cannot be seen."
    assert "higher with *a*" in said.too_small(rows.assign(change_low=[0, 0.1, -0.6]), "BLEU")


def test_one_figure_holds_what_was_trained_several_times_and_once():
    first = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2, 3)})
    many = scores(**{MAIN: (0.7, 0.2, 0.9)}).assign(seeds=5, value=70.7)
    events = [part.assign(metric="events") for part in (many, first)]
    found = tables.headline(pd.concat([many, events[0]]), pd.concat([first, events[1]]), [MAIN, said.OWN])
    assert found.metric.unique().tolist() == ["ROUGE-1, %", "events with the right people, points"]
    assert found.hollow.tolist() == [False, True] * 2 and found.change.tolist() == pytest.approx([1, 250 / 70, 0.7, 2.5])
    assert found.printed.tolist()[0] == 1.6 and found.printed.isna().sum() == 3
    assert not tables.headline(first, first, [MAIN, said.OWN]).hollow.any()  # all of one training


def test_layers_have_numbers_and_guesses_are_told_once(monkeypatch):
    upper, both = f"{MAIN}, upper layers", f"{MAIN}, lower layers"
    rows = {row: {"run": {"control": {"heads": layers}}} for row, layers in ((upper, [2]), (both, [0, 1]))}
    board = SimpleNamespace(rows=rows)
    monkeypatch.setattr(tables.runs, "addresses", lambda layers: [("encoder", layer, 0) for layer in layers])
    told = said.placed(pd.DataFrame({"row": [MAIN, upper, both]}), board).row.tolist()
    assert told == ["lowest heads", "lowest head, layer 3", "lowest heads, layers 1 and 2"]
    known = {PLAIN: ("46.8 %", "more"), MAIN: ("50.5 %", "more")}
    monkeypatch.setattr(said, "people", lambda board, row: known[row])
    told = "plain model 46.8 %, with rule-resolver links in the lowest heads 50.5 %; both more."
    assert said.told_right(board, "rule").endswith(told)
    known[PLAIN] = ("46.8 %", "less")
    told = "plain model 46.8 %, less; with rule-resolver links in the lowest heads 50.5 %, more."
    assert told in said.told_right(board, "rule")
