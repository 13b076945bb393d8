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
    (PLAIN, "plain"), (MAIN, "least important heads"), (RANDOM, "random heads (draw 2)"),
    ("injected, lowest 2", "2 least important heads per layer"),
    ("masked, highest", "most important heads, off in training too"),
    ("injected, probing", "heads by probing"), (NONE, "least important heads, no links"),
    (f"{MAIN}, gold+corrupt:0.3", "least important heads, gold links, 30 % corrupted"),
    (SHUFFLED, "least important heads, shuffled rule-resolver links"), ("lowest, 3 a layer", "lowest, 3 a layer"),
    (f"{MAIN}, upper layers", "least important heads, upper layers"), (said.OWN, "a layer of its own after every layer"),
    (f"{MAIN}, written with none", "least important heads, written with no links"),
    ("baseline: nearest name", "guessed: nearest name"),
    ("injected at inference", "least important heads, at inference alone"),
    (said.UPPER, "a layer of its own after upper layers"),
    (f"{MAIN}, heads off at inference", "least important heads, off when writing"),
])  # fmt: skip
def test_rows_have_human_names(row, name):
    assert said.named(row) == name


def test_rows_stand_in_two_groups_and_the_answer_in_both():
    both = said.arranged(
        scores(**{MAIN: (2, 1, 3), "masked, lowest": (0, -1, 1), RANDOM: (1, 0, 2)}), "rule", {RANDOM: "ranks 1-6"}
    )
    own, other = "least important heads attend by", "which heads get rule-resolver links"
    assert list(zip(both.group, both.row, both.answer, strict=True)) == [
        (own, "nothing (off in training too)", False), (own, "rule-resolver links", True),
        (other, "least important", True), (other, "random, ranks 1-6", False),
    ]  # fmt: skip


def over_seeds(**changes):
    return scores(**changes).assign(seeds=5, percent=lambda rows: rows.change)


def controls(**changes):
    return scores(**changes).set_index("row")


@pytest.mark.parametrize(("gap", "right", "takes"), [
    ((1, 0.5, 1.5), "It takes the right links: shuffled ones give -0.2.", "It takes unimportant heads: one random"),
    ((1, -0.5, 1.5), "Whether it takes the right links is open: s", "Whether it takes unimportant heads is open: one random"),
])  # fmt: skip
def test_the_answer_claims_what_intervals_say(gap, right, takes):
    over = over_seeds(**{MAIN: (0.5, 0.2, 0.9), SHUFFLED: (-0.2, -0.4, 0), "injected, random": (0.4, 0, 0.8)})
    own = controls(**{SHUFFLED: gap, "injected, random": gap})
    alone = scores(**{MAIN: (0.8, 0.4, 1.1)})
    told = said.answer(own, over, "rule", "5 seeds", "inconclusive", 0.086, 11, alone)
    assert told.startswith(
        "**Coreference links in the least important encoder heads help a little: ROUGE-1 +0.5 [+0.2, +0.9] (5 s"
    )
    assert right in told and takes in told
    assert told.endswith("choice gives +0.4.** After correction (Holm, adjusted p = 0.086, 11 tests): inconclusive.")
    more = scores(**{MAIN: (0.8, 0.4, 1.1), "injected, random": (0.7, 0, 1), RANDOM: (-0.1, -1, 1), said.OWN: (2.5, 2, 3)})
    told = said.answer(own, over, "rule", "5 seeds", "seen", float("nan"), 0, more)
    assert told.endswith("one random choice gives +0.4, a second -0.1 (seed 1; the first +0.7 there). A layer without"
                         " parameters after every layer gains more than the heads: +2.5 against +0.8 (seed 1).**")  # fmt: skip
    told = said.short(own, over, more, "rule", "5 seeds", "inconclusive")
    assert ("if the links are right: +0.5" in told) == (gap[1] > 0) != ("Not shown" in told)
    assert told.endswith("shuffled links -0.2." + " Not shown: that they must be *underused*." * (gap[1] < 0)
                         + " A layer of its own after every layer gains more (+2.5, seed 1).")  # fmt: skip
    told = said.answer(own[:0], over.assign(change_low=-1, percent=2), "rule", "one seed", "no", float("nan"), 0, alone)
    assert (
        told == "**Coreference links in the least important encoder heads are not seen to help: ROUGE-1 +0.5"
        " [-1.0, +0.9] (one seed).**"
    )
    assert "heads help: " in said.answer(own, over.assign(percent=2), "rule", "", "seen", 0.01, 11, alone)


def test_two_draws_do_not_part_rank_from_layer():
    over = over_seeds(
        **{MAIN: (0.5, 0.2, 0.9), "injected, highest": (-0.6, -0.9, -0.2), "injected, probing": (-0.4, -0.8, -0.01)}
    )
    own = controls(
        **{"injected, random": (0.1, -0.2, 0.5), "injected, probing": (0.9, 0.4, 1.5), "injected, highest": (1.1, -0.6, 1.7)}
    )
    alone = scores(**{RANDOM: (-0.1, -0.4, 0.3), "injected, random": (0.7, 0, 1)})
    drawn = {"injected, random": "ranks 3-5-2", RANDOM: "ranks 1-6-6"}
    told = said.chance(own, over, alone, drawn)
    assert told.startswith(
        "least important heads beat heads by probing by +0.9 [+0.4, +1.5] and are not apart from most important"
    )
    assert "(difference +0.1 [-0.2, +0.5]; in seed 1 they gain +0.7), of ranks 1-6-6 gain nothing (seed 1: -0.1 [" in told
    assert told.endswith("So few draws cannot part rank from layer; by interval, a bad choice are most important heads"
                         " (-0.6 [-0.9, -0.2]) and heads by probing (-0.4 [-0.8, -0.01])")  # fmt: skip
    assert "gain less" in said.chance(own.assign(change_low=0.1), over, alone, drawn)
    assert said.chance(own[:0], over, alone[:0], {}) == ""


def test_findings_hold_the_gain_against_every_control():
    events = over_seeds(**{SHUFFLED: (-0.8, -1.3, -0.3), NONE: (-0.6, -1.1, 0.1)}).assign(metric="events")
    over = pd.concat([over_seeds(**{MAIN: (0.5, 0.2, 0.9), GOLD: (1.9, 1.3, 2.4)}), events])
    own = controls(
        **{"masked, lowest": (0.6, 0.3, 0.9), SHUFFLED: (0.7, 0.4, 1.0), NONE: (0.8, 0.6, 0.9), GOLD: (-1.3, -1.8, -0.9)}
    )
    alone = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2.1, 2.8)})
    found = said.findings(own, over, alone, "rule", {}, "seen")
    assert "minus the same heads off in training too +0.6 [+0.3, +0.9], minus shuffled links +0.7 [" in found["Links"]
    assert found["Links"].endswith("(minus shuffled: seen). Some of this is harm by the control: events change with"
                                   " shuffled links -0.8 [-1.3, -0.3]")  # fmt: skip
    assert found["Gold links"] == "they bring +1.9 [+1.3, +2.4], +1.3 [+0.9, +1.8] more than rule-resolver links"
    assert found["Seed 1"].endswith("the gain is +0.8 [+0.4, +1.1], the mean over seeds +0.5")
    assert "with no links such a layer does nothing (M = identity gives H)" in found["A layer of its own"]
    assert said.elsewhere(alone.assign(change_low=0.1), own, over, "rule") == ""  # it may do no more than heads
    layer = scores(**{said.UPPER: (0.2, -0.3, 0.8)}).set_index("row")
    told = said.elsewhere(alone[:0], layer, over_seeds(**{said.UPPER: (0.3, -0.1, 0.7)}), "rule")
    assert told.endswith("gains +0.3 [-0.1, +0.7] against plain; the heads are not told apart from it (heads minus layer +0.2"
                         " [-0.3, +0.8])")  # fmt: skip
    assert said.bullets({"A": "b", "C": ""}) == "- *A:* b."


def test_classes_of_dialogues_in_which_adjacent_links_differ():
    gains = (("4 to 7", (0.1, -1, 1)), ("8 to 9", (1, 0.1, 2)), ("10 to 18", (2, 1, 3)))
    sizes = pd.concat([scores(a=gain).assign(mentions=size, metric="ROUGE-2") for size, gain in gains])
    told = said.adjacent(pd.concat([sizes, sizes[:1].assign(metric="events")]))
    assert told.startswith(
        "ROUGE-2: +1.0 [+0.1, +2.0] at 8 to 9 and +2.0 [+1.0, +3.0] at 10 to 18; events: no class differs (4 c"
    )


def test_a_hollow_track_has_its_number_and_draws_their_ranks():
    natural = over_seeds(**{MAIN: (0, -0.6, 0.6)}).assign(seeds=3)
    found = pd.DataFrame({"against": ["rule", "GUM, 3 documents"], "CoNLL": [90.0, 37.9]})
    told = said.hollow(natural, "0.3 ROUGE-1", 2, found)
    assert told.startswith(
        "0.0 [-0.6, +0.6] ROUGE-1 (3 seeds); all encoder attention is worth only 0.3 ROUGE-1 there (at least 2"
    )
    assert "reaches F1 38 on GUM" in told and "GUM" not in said.hollow(natural, "0.3", 2, found[:1])
    ranks = {"row": "injected, random", "layer": [0, 1, 0, 1], "seed": [1, 1, 2, 2], "rank_before": [3, 5, 3, 5]}
    every = pd.DataFrame(ranks)
    both = pd.concat([every, every[:2].assign(row=RANDOM, rank_before=[7, 2])])
    assert said.draws(both) == {"injected, random": "ranks 3-5", RANDOM: "ranks 7-2"} and said.draws(every[:0]) == {}
    assert said.draws(every.assign(rank_before=[3, 5, 4, 5])) == {"injected, random": "drawn anew by seed"}


def test_examples_and_what_is_left_at_inference():
    shown = {"first": pd.Series({PLAIN: 67, MAIN: 33}), "chosen": pd.Series({PLAIN: 0, MAIN: 100})}
    told = said.example(shown, "+3.1", [5.0, -5.0, 5.0, 0.0])
    assert told.startswith(
        "Events with the right people: first gets worse (67 → 33 %); chosen gets better (0 → 100 %). Of all 4"
    )
    assert "2 get better, 1 worse, 1 stay alike" in told
    left = {MAIN: (2, 1, 3), "injected at inference": (-4, -5, -3), f"{MAIN}, written with none": (1, -0.5, 1.5)}
    told = said.at_inference(scores(**left), "-0.2")
    assert told.startswith(
        "Put in without training the matrix harms: -4.0 [-5.0, -3.0] ROUGE-1, where the same heads off change"
    )
    assert told.endswith("the gain of +2.0 needs the training's links in writing: written with no links +1.0 [-0.5, +1.5].")
    kept = scores(**left | {f"{MAIN}, written with none": (1, 0.5, 1.5)})
    assert "is kept in part without" in said.at_inference(kept, "")
    assert "no gain to lose" in said.at_inference(scores(**left | {MAIN: (1, -1, 2)}), "")


def test_from_which_quality_clusters_help_and_what_the_resolver_gets_wrong():
    rows = {MAIN: (0.8, 0.4, 1), GOLD: (2.6, 1, 3), SHUFFLED: (0.1, -1, 1), NONE: (1.7, 1, 2)}
    curve = scores(**rows).assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 56, 92])
    told = said.clusters(curve, "rule")
    assert (
        "(gold and corrupted, seed 1): nothing up to F1 56 (+0.1), +1.7 at 92, +2.6 at 100. Rule-resolver links: +0.8" in told
    )
    assert told.endswith("at F1 93.") and said.nearest(curve)[0].row == NONE and said.nearest(curve[:2]) == []
    gap = scores(**{MAIN: (-1, -2, -0.5)})
    assert said.errors(curve, gap).endswith("seed 1); why was not looked at.")
    known = curve.assign(people=[33, 100, 30, 85], speakers=[99.7, 100, 40, 93])
    assert said.clusters(known, "rule").endswith("at F1 93, but *he* and *she* right in 33 %, not 85 %.")
    told = said.errors(known, gap)
    assert told.startswith(
        "The resolver's errors cost more than gold links corrupted at random (-1.0 [-2.0, -0.5] ROUGE-1 at F1 93"
    )
    assert "right person in 33 % of cases, they in 85 %" in told and "gold links as bad at *he* and *she* gain +0.1" in told
    assert "about as much as" in said.errors(known, gap.assign(change_high=0.5))


def test_upper_layers_gain_more_only_where_their_difference_says_so(monkeypatch):
    rows = {f"{MAIN}, {part} layers": (place, 0, 3) for place, part in enumerate(("lower", "upper"))}
    board = SimpleNamespace(rows={row: {"run": {"control": {"heads": 2 * change[0]}}} for row, change in rows.items()})
    monkeypatch.setattr(tables.runs, "addresses", lambda layer: [("encoder", layer, 0)])
    last = scores(a=(0.6, 0.3, 1.0))
    told = said.layers(scores(**rows), last, board)
    assert "+0.0 [+0.0, +3.0], +1.0 [+0.0, +3.0] (seed 1)" in told
    assert told.endswith("Layer 3 minus layer 1, paired: +0.6 [+0.3, +1.0], as the paper says.")
    assert said.layers(scores(**rows), last.assign(change_low=-1), board).endswith("not told apart.")
    assert said.layers(scores(**{MAIN: (1, 0, 2)}), last[:0], board).endswith("+1.0 [+0.0, +2.0] (seed 1).")


def test_heads_come_to_matter_by_the_loss_without_them():
    every = pd.DataFrame({"row": MAIN, "kind": "encoder", "layer": [0, 1] * 2, "head": 1, "seed": [1, 1, 2, 2], "heads": 8,
                          "rank_before": 8, "rank_after": [4, 4, 5, 5], "loss_before": 0.0,
                          "loss_after": [0.001, 0.01, 0.001, 0.012]})  # fmt: skip
    every = pd.concat([every, every.assign(row=NONE, rank_after=6, loss_after=0.001)], ignore_index=True)
    rises = tables.rises(every)
    assert rises[rises.row == MAIN].set_index("layer").after.to_dict() == pytest.approx({0: 6, 1: 1, 2: 11})
    apart = tables.matter_more(every, value="loss_after")
    assert apart.more.tolist() == pytest.approx([0, 0.01])
    told = said.rise(rises)
    assert told.startswith("with one such head off the loss rises by 0.0 thousandths of a nat before injection, by 6.0 [")
    assert said.rise(rises[rises.row == MAIN]) == ""
    loss, ranks = said.moved(rises, every, pd.DataFrame({"seed": ["a", "b"], "rank_after": [7.0, 8.0]}))
    assert loss == "Mean over layers, thousandths of a nat (2 seeds): least important heads 0.0 → 6.0."
    assert ranks.startswith(
        "By rank (1 is the most important of 8) least important heads go from 8.0 to 4.5, no links 6.0 (about 57 %"
        " of the rise needs no coreference): not what"
    )
    assert "no more than chance" in said.moved(rises, every, pd.DataFrame({"seed": ["a"], "rank_after": [4.0]}))[1]
    assert said.moved(rises, every, every[:0])[1].endswith("no links 6.0 (about 57 % of the rise needs no coreference).")
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    told = said.matters(more, apart.assign(low=[-0.001, 0.001]), ["for", "open", "open"])
    assert told == ("By loss (drawn) they are above no links in layer 2. By importance (the verdict) they are above no links"
                    " in layer 1, each by its own interval; corrected, 1 of these 3 remains (layer 1 against"
                    " no links).")  # fmt: skip
    none = float("nan")
    assert "above no links in layers 1 and 2." in said.matters(more.assign(low=none), apart.assign(low=none), ["open"] * 3)
    assert not said.matters(more[:0].drop(columns="low"), apart[:0])  # a run without these controls


def test_what_masking_costs_and_how_alike_heads_rank():
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], **{"all off": -12})
    told = said.masking(masked, -0.01)
    assert told.endswith("three -1.0 [-2.0, +0.0]; all heads -12.0. Our limit for three is -1 % (-0.70 points); here -1.4 %,"
                         " printed about -0.5 %.")  # fmt: skip
    assert said.underused(masked) == ""
    both = pd.concat([masked, *(masked[1:].assign(order=order, number=1) for order in ("lowest", "highest"))])
    told = "the least important head of every layer off changes ROUGE-1 by -1.0 [-2.0, +0.0], the most important by -1.0"
    told += " [-2.0, +0.0],"
    assert said.underused(both) == f"{told} the three least important by -1.4 % (printed: about -0.5 %; all seed 1)"
    off = masked.assign(setting="a", order="lowest", number=3, change=[-0.3, -1], percent=[-0.5, -1.4], change_high=[0, -0.9])
    told = "0.3 to 1.0 points of ROUGE-1, 0.5 to 1.4 %: 1 of 2 settings lose more than our limit of 1 %, 1 by interval."
    assert said.masked(off, -0.01).endswith(told) and said.masked(off.assign(number=1), -0.01) == ""
    same = pd.DataFrame({"row": [PLAIN, "steps x 2", "seed 2"], "same head": [1, 1 / 3, 0], "in the lower half": [1, 1, 0]})
    assert said.ranking(pd.DataFrame(0.5, same.row, same.row), same, 3).endswith("half in 3 of 3 cases, the least in 1.")


def test_which_seed_is_told_and_how_small_an_effect_is_not_seen():
    many = over_seeds(**{MAIN: (0.5, 0.2, 0.9)})
    told = said.headline(many)
    assert told == ("ROUGE-1 +0.5 points are +0.5 %; printed +1.6 %. At 70 of 100 there is less to gain than at the 53 or so"
                    " of SAMSum: relative gains are not like for like.")  # fmt: skip
    rows = scores(**{PLAIN: (0, 0, 0), "a": (0.5, -0.5, 1.5), "b": (0.4, -0.6, 1.4)}).assign(metric="BLEU", low=60.0, high=80.0)
    told = said.too_small(rows, "BLEU")
    assert told == "One seed, BLEU 70.0 [60.0, 80.0]: every interval holds zero; effects under about 1 BLEU cannot be seen."
    assert ": by interval higher with *a*; effects" in said.too_small(rows.assign(change_low=[0, 0.1, -0.6]), "BLEU")


def test_heads_that_nobody_injected_or_ranked_have_ranks():
    heads = pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    importance = pd.DataFrame({PLAIN: [0.1, 0.9, 0.8, 0.2], "steps x 2": [0.9, 0.1, 0.8, 0.2]}, heads)
    free = tables.ranked_otherwise(importance, ["steps x 2"], MAIN)
    assert free[["layer", "head", "rank_before", "rank_after", "heads"]].to_numpy().tolist() == [
        [0, 0, 2, 1, 2],
        [1, 1, 2, 2, 2],
    ]
    (row,) = tables.ranked_otherwise(importance, [PLAIN], RANDOM, [("encoder", 1, 0)]).itertuples()
    assert (row.row, row.layer, row.head, row.rank_before, row.seed) == (RANDOM, 1, 0, 1, PLAIN)


def test_layers_have_numbers(monkeypatch):
    upper, both = f"{MAIN}, upper layers", f"{MAIN}, lower layers"
    rows = {row: {"run": {"control": {"heads": layers}}} for row, layers in ((upper, [2]), (both, [0, 1]))}
    board = SimpleNamespace(rows=rows)
    monkeypatch.setattr(tables.runs, "addresses", lambda layers: [("encoder", layer, 0) for layer in layers])
    found = [MAIN, upper, both, said.OWN, "injected, lowest 2"]
    told = said.placed(pd.DataFrame({"row": found, "group": "heads and layers"}), board)
    assert told.row.tolist() == ["each layer", "layer 3 alone", "layers 1 and 2 alone",
                                 "none: a layer of its own after every layer", "2 in each layer"]  # fmt: skip
    assert told.answer.tolist() == [True, *[False] * 4] and set(told.group) == {"least important heads in"}
