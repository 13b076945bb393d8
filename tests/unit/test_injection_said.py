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


@pytest.mark.parametrize(("change", "verb", "here"), [
    ((1, 0.5, 1.5), "Chance beats importance: one draw gains more",
     "keeps some of its gain without true links: with them +2.0, written with no links +1.0."),
    ((-1, -1.5, -0.5), "Importance beats chance: one draw gains less", "needs the true links"),
    ((1, -0.5, 1.5), "a random choice: one draw does as well", "needs the true links"),
])  # fmt: skip
def test_a_choice_is_better_only_where_its_interval_says_so(change, verb, here):
    main, less = (2, 1, 3), (-change[0], -change[2], -change[1])
    against = scores(**{"injected, random": less, GOLD: (-3, -4, -2)}).rename(columns={"row": "control"})
    assert said.choice(against[:1]) == f"Lowest heads minus random heads {said.change(against[:1].assign(row='a'), 'a')}"
    over = scores(**{MAIN: main, GOLD: (5, 4, 6)}).assign(percent=0.6, percent_low=0.2, percent_high=1)
    alone, own = scores(**{MAIN: main, said.OWN: (4, 3, 5)}), against.set_index("control")
    told = said.answer(own, over, "rule", "one training", "on text", "inconclusive", 0.08)
    assert told.startswith("**Coreference in underused heads helps a little on text: +2.0 [+1.0, +3.0] ROUGE-1 (one training;"
                           " by interval, not after Holm).** These are rule-resolver links in the least")  # fmt: skip
    assert told.endswith("in percent +0.6 [+0.2, +1.0], printed +1.6 (inconclusive, p = 0.080 over all claims of the paper).")
    found = said.findings(own, over, alone, "rule", "one training", "seen")
    assert f"{verb} (one training, difference " in found["Choice"] and "Links" not in found
    assert found["Gold links"] == "they bring +5.0 [+4.0, +6.0], minus the lowest heads +3.0 [+2.0, +4.0]"
    lowest = "in which the lowest heads gain +2.0 with rule-resolver links)"
    assert f"every layer gain +4.0 [+3.0, +5.0] (one training, {lowest}; whether it is the links" in found["Another place"]
    sizes = [scores(**{"a": gain}).assign(mentions=size) for size, gain in (("4 to 7", (0.1, -1, 1)), ("8 to 9", (2, 1, 3)))]
    told = "in the largest clusters they differ by ROUGE-1 (+2.0 [+1.0, +3.0]); in the smallest clusters they differ by none"
    assert f"by interval: {told} (paired" in said.adjacent(pd.concat(sizes))
    assert said.elsewhere(scores(**{MAIN: main, said.OWN: (3, 1, 5)}), own, over, "rule") == ""  # it may do no more than heads
    upper = "layer of its own, upper"
    told = said.elsewhere(over, scores(**{upper: (0.2, -1, 1)}).set_index("row"), scores(**{upper: (0.3, -0.1, 0.7)}), "rule")
    assert told == "*a layer of its own, upper*, over trainings, does no better than heads (+0.3 [-0.1, +0.7])"
    told = said.answer(own, over.assign(change_low=-1.0), "rule", "", "here", "no")
    assert told.startswith("**Coreference in underused heads is not seen to help here: ")
    rivals = scores(**{SHUFFLED: (1, 0.5, 2), "masked, lowest": (1, 0.5, 2), "injected, probing": (1, 0.5, 2)})
    own = pd.concat([own, rivals.rename(columns={"row": "control"}).set_index("control")])
    told = said.answer(own, over.assign(percent=2.0), "rule", "5 trainings", "here", "seen", 0.01)
    assert "helps here: +2.0 [+1.0, +3.0] ROUGE-1 (5 trainings), and it is the links, not the freed head.** " in told
    found = said.findings(own, over, alone, "rule", "", "seen")
    assert found["Links"].endswith("no links not measured ROUGE-1; lowest heads minus shuffled +1.0 [+0.5, +2.0] (seen)")
    assert (
        found["Choice"].endswith("minus heads by probing +1.0 [+0.5, +2.0]")
        and said.bullets({"A": "b", "C": ""}) == "- *A:* b."
    )
    left = {MAIN: main, "injected at inference": (-4, -5, -3), f"{MAIN}, written with none": change}
    told = said.at_inference(scores(**left), "-0.2")
    assert told.startswith(
        "Put in without training the matrix harms: -4.0 [-5.0, -3.0] ROUGE-1, where the same heads off change"
    )
    assert here in told and "no gain to lose" in said.at_inference(scores(**left | {MAIN: (1, -1, 2)}), "")


def test_why_nothing_can_be_concluded_and_which_heads_were_drawn():
    found = pd.DataFrame({"against": ["rule", "GUM, 3 documents"], "CoNLL": [90.0, 37.9]})
    told = said.hollow("natural", "0.3 ROUGE-1", 2, found)
    assert "is worth 0.3 ROUGE-1 (at least 2 are needed) and our resolver reaches F1 38 (GUM)." in told
    assert said.hollow("natural", "0.3", 2, found[:1]) == said.hollow("natural", "0.3", 2) and "GUM" not in said.hollow(
        "a", "", 2
    )
    ranks = {"row": "injected, random", "layer": [0, 1, 0, 1], "seed": [1, 1, 2, 2], "rank_before": [3, 5, 3, 5]}
    every = pd.DataFrame(ranks)
    both = pd.concat([every, every[:2].assign(row=RANDOM, rank_before=[7, 2])])
    told = "Random heads: ranks 3 and 5 in layers 1 and 2, the same in all 2 trainings; random heads (draw 2): ranks 7 and 2 in"
    assert said.drawn(both) == f"{told} layers 1 and 2, one training (1 is the most important)."
    assert "anew" in said.drawn(every.assign(rank_before=[3, 5, 4, 5])) and said.drawn(every[:0]) == ""
    own = scores(**{"injected, random": (1, -1, 2)}).set_index("row")
    told = said.chance(own, scores(**{"injected, random": (1, 0, 2), RANDOM: (0, -1, 1)}), "5 trainings")
    assert told.startswith(
        "Whether importance beats chance is open: one draw does as well (5 trainings, difference +1.0 [-1.0,"
    )
    assert told.endswith("a second gains nothing (first training: +0.0 [-1.0, +1.0] ROUGE-1).")
    twice = pd.concat([scores(**{RANDOM: (0, -1, 1), MAIN: (2, 1, 3)}), scores(**{MAIN: (2, 1, 3)})])  # rows of two tables
    assert said.chance(own, twice, "5 trainings").endswith("(first training: +0.0 [-1.0, +1.0] ROUGE-1, lowest heads +2.0).")
    ranks = pd.DataFrame({"row": [MAIN, NONE], "rank_before": [8, 8], "rank_after": [4, 6], "heads": 8})
    half = "half (rank 8.0 to 6.0 of 8) comes with any fixed attention; coreference takes it on to 4.0"
    assert said.rise(ranks, ["for", "open", "open"]) == f"{half}. 1 of 3 comparisons remains after Holm"
    assert said.rise(ranks) == half and said.rise(ranks[:1]) == ""
    told = said.example(pd.Series({"reference": 100, PLAIN: 67, MAIN: 33}), "+3.1")
    assert (
        "lowest heads 33 %. It gets worse by injection; over all dialogues the change is +3.1 points. It is the first" in told
    )
    told = said.example(pd.Series({PLAIN: 67, MAIN: 33}), "+3.1", [5.0, -5.0, 5.0, 0.0])
    assert "points. 2 of 4 get better, 1 worse, 1 stay alike (first training). It is" in told


def test_what_is_drawn_of_clusters_is_told_beside_means_over_trainings():
    drawn = scores(**{MAIN: (0.8, 0, 2), GOLD: (2.6, 1, 3), SHUFFLED: (0, -1, 1), NONE: (1.7, 1, 2)})
    curve = drawn.assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 34, 92])
    told = said.clusters(curve, "rule")
    assert (
        "grows with the quality of clusters, from none at F1 34 to +2.6 at F1 100 (first training). Rule-resolver links, "
        in told
    )
    assert "F1 93, gain less (+0.8) than gold links, 10 % corrupted, F1 92 (+1.7)." in told
    assert "Rule-resolver" not in said.clusters(curve[:2], "rule")
    assert said.nearest(curve)[0].row == NONE and said.nearest(curve[:2]) == []
    told = [said.errors(curve, scores(**{MAIN: (-1, -2, high)})) for high in (-0.5, 0.5)]
    assert (
        told[0].endswith("; why was not looked at.")
        and told[0].startswith("Equal F1 is not equal use: the resolver's errors cost more")
        and "about as much as" in told[1]
    )


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
    every = pd.concat([every, every.assign(row=NONE, rank_after=6)])
    told = "Mean rank (2 trainings): lowest heads 8.0 → 4.5, no links 6.0."
    assert said.moved(every, every[:0]) == told
    free = said.moved(every, pd.DataFrame({"seed": ["a", "b"], "rank_after": [7.0, 8.0]}))
    assert free == f"{told} Without injection lowest heads stay at 7.0 to 8.0: the rise is no regression to the mean."
    assert said.moved(every, pd.DataFrame({"seed": ["a"], "rank_after": [4.0]})).endswith("at 4.0: so the rise may be chance.")
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], **{"all off": -12})
    told = said.masking(masked, -0.01)
    assert (
        "three -1.0 [-2.0, +0.0]; all heads -12.0. Our limit for three (our choice) is -1 %, -0.70 points; they change" in told
    )
    assert "by -1.4 %; printed: -0.5 %." in told
    assert said.underused(masked) == ""
    both = pd.concat([masked, *(masked[1:].assign(order=order, number=1) for order in ("lowest", "highest"))])
    told = "one lowest head per layer off changes ROUGE-1 by -1.0 [-2.0, +0.0], one highest by -1.0 [-2.0, +0.0],"
    assert said.underused(both) == f"{told} three lowest by -1.4 % (printed about -0.5 %)"
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
    assert said.headline(many, "5 trainings") == ("ROUGE-1 +0.5 [+0.2, +0.9] points (5 trainings; +0.6 %, printed +1.6 %).")
    told = said.headline(pd.concat([many, many.assign(metric="events")]), "5 trainings")
    assert told.endswith("printed +1.6 %); events +0.5 [+0.2, +0.9].")
    rows = scores(**{PLAIN: (0, 0, 0), "a": (0.5, -0.5, 1.5), "b": (0.4, -0.6, 1.4)}).assign(metric="BLEU", low=60.0, high=80.0)
    told = said.too_small(rows, "BLEU")
    assert told == "One training, BLEU 70.0 [60.0, 80.0]: every interval holds zero; effects under about 1 BLEU cannot be seen."
    assert ": by interval higher with *a*; effects" in said.too_small(rows.assign(change_low=[0, 0.1, -0.6]), "BLEU")


def test_one_figure_holds_what_was_trained_several_times_and_once():
    first = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2, 3)})
    many = scores(**{MAIN: (0.7, 0.2, 0.9)}).assign(seeds=5, value=70.7)
    events = [part.assign(metric="events") for part in (many, first)]
    found = tables.headline(pd.concat([many, events[0]]), pd.concat([first, events[1]]), [MAIN, said.OWN])
    assert found.metric.unique().tolist() == ["ROUGE-1, points", "events with the right people, points"]
    assert found.hollow.tolist() == [False, True] * 2 and found.change.tolist() == [0.7, 2.5] * 2
    assert found.printed.tolist()[0] == pytest.approx(1.6 * 70 / 100) and found.printed.isna().sum() == 3
    assert not tables.headline(first, first, [MAIN, said.OWN]).hollow.any()  # all of one training


def test_heads_that_nobody_injected_or_ranked_have_ranks():
    heads = pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    importance = pd.DataFrame({PLAIN: [0.1, 0.9, 0.8, 0.2], "steps x 2": [0.9, 0.1, 0.8, 0.2]}, heads)
    free = tables.ranked_otherwise(importance, ["steps x 2"], said.FREE)
    assert free[["layer", "head", "rank_before", "rank_after", "heads"]].to_numpy().tolist() == [
        [0, 0, 2, 1, 2],
        [1, 1, 2, 2, 2],
    ]
    (row,) = tables.ranked_otherwise(importance, [PLAIN], RANDOM, [("encoder", 1, 0)]).itertuples()
    assert (row.row, row.layer, row.head, row.rank_before, row.seed) == (RANDOM, 1, 0, 1, PLAIN)


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
