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
    (SHUFFLED, "least important heads, shuffled resolver links"), ("lowest, 3 a layer", "lowest, 3 a layer"),
    (f"{MAIN}, upper layers", "least important heads, upper layers"), (said.OWN, "mixing after every layer"),
    (f"{MAIN}, written with none", "least important heads, no links at inference"),
    ("baseline: nearest name", "guessed: nearest name"),
    ("injected at inference", "least important heads, at inference alone"),
    ("layer of its own, upper", "mixing after upper layers"),
    (f"{MAIN}, heads off at inference", "least important heads, off at inference"),
])  # fmt: skip
def test_rows_have_human_names(row, name):
    assert said.named(row) == name


def test_rows_of_other_links_stand_together_and_the_answer_among_them():
    found = said.arranged(scores(**{MAIN: (2, 1, 3), "masked, lowest": (0, -1, 1), RANDOM: (1, 0, 2)}), "rule")
    assert list(zip(found.row, found.answer, strict=True)) == [("nothing (heads off)", False), ("resolver links", True)]
    assert set(found.group) == {"least important heads attend by"}
    assert said.chosen({RANDOM: "A: ranks 1, 6"})[RANDOM] == "random A: ranks 1, 6"


def over_seeds(**changes):
    return scores(**changes).assign(seeds=5, percent=lambda rows: rows.change)


def controls(**changes):
    return scores(**changes).set_index("row")


VERDICTS = {"injection-helps": "inconclusive", "resolver-links": "seen"}


def test_the_answer_claims_what_intervals_say():
    over = over_seeds(**{MAIN: (0.5, 0.2, 0.9), SHUFFLED: (-0.2, -0.4, 0), "injected, random": (0.4, 0, 0.8)})
    alone = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2, 3)})
    open_, sure = (controls(**{SHUFFLED: (1, low, 2), "injected, random": (1, low, 2)}) for low in (-0.5, 0.5))
    told = said.answer(sure, over, "rule", VERDICTS, alone)
    assert told == (
        "**Yes, a small one, if the links are right.** With a resolver's links in the least important head of every encoder"
        " layer, ROUGE-1 rises by 0.5 points [0.2, 0.9] over 5 trainings; with shuffled links it does not. Of these, the"
        " advantage over shuffled links (+1.0) survives correction for all tests of this paper; the gain over plain does not."
        " Mixing every layer's output over the links, with no head given up, gains 2.5, heads 0.8 (one training, no shuffled"
        " control)."
    )
    gold = {GOLD: (1.9, 1.3, 2.4)}
    told = said.answer(
        pd.concat([sure, controls(**{GOLD: (-1.3, -1.8, -0.9)})]),
        pd.concat([over, over_seeds(**gold)]),
        "rule",
        VERDICTS,
        alone,
    )
    assert "; a larger one with true links.**" in told and "over 5 trainings, with true links by 1.9; with" in told
    told = said.answer(open_, over, "rule", VERDICTS, alone[:1])
    assert told.startswith("**Yes, a small one.** ") and "Mixing" not in told
    told = said.answer(sure[:0], over.assign(change_low=-1).drop(columns="seeds"), "rule", {}, alone[:1])
    assert told.startswith("**Not that we could see.** ") and "no gain survives" in told and "trainings" not in told
    rises = over.assign(change_low=0.1)
    assert "with shuffled links it rises too." in said.answer(sure, rises, "rule", VERDICTS, alone)


def test_which_heads_must_not_be_taken():
    rows = {MAIN: (0.5, 0.2, 0.9), "injected, random": (0.4, 0, 0.8), "injected, highest": (-0.6, -0.9, -0.2)}
    rows |= {"injected, probing": (-0.4, -0.8, -0.009)}
    own = controls(**{"injected, random": (0.1, -0.2, 0.5)})
    assert said.which(over_seeds(**rows), own) == (
        "They must not be the most important: there the same links cost 0.6 [0.2, 0.9] points over 5 trainings. Heads chosen"
        " by probing, as in 2021, lose 0.4 [0.009, 0.8] too. That they must be the least important we do not see: random heads"
        " gain 0.4, not told apart from 0.5."
    )
    rows["injected, probing"] = (-0.4, -0.8, 0)
    told = said.which(over_seeds(**rows | {"injected, highest": (0.1, -0.2, 0.3)}), own.assign(change_low=0.05))
    assert told == (
        "We do not see that they must not be the most important: there the same links change ROUGE-1 by +0.1 [-0.2, +0.3]."
        " Other heads gain less: random heads gain 0.4, less than 0.5."
    )


def test_a_wrong_name_is_seen_weakly():
    guessed = "baseline: nearest name"
    rouge = scores(**{PLAIN: (0, 0, 0), guessed: (0.0, -0.5, 0.5)}).assign(value=[90.9, 91.2])
    events = scores(**{PLAIN: (0, 0, 0), guessed: (-23, -25, -20)}).assign(value=[46.8, 23.3], metric=tables.EVENTS)
    assert said.blind(pd.concat([rouge, events])) == (
        "ROUGE-1 sees wrong names weakly: references with the nearest name put in still score 91 of 100, with 23 % of events"
        " right; the plain model scores 91 with 47 %."
    )


def test_links_gain_less_in_heads_that_the_model_misses():
    table = pd.DataFrame({"seed": [1, 1, 1, 2, 2], "loss": [1.0, 20, 80, 2, 70], "first": [1.0, 10, 40, 0, 0],
                          "change": [0.7, 0.4, -0.5, 0.2, -1]})  # fmt: skip
    lead, caution = said.costs(table)
    assert lead == "In one training links gain less in heads that the model misses more (rank correlation -1.0)."
    assert caution.startswith("This is a look after the fact; 29 % of these losses")
    both = pd.concat([table[:3], table[:3].assign(seed=2, change=[0.1, 0.4, -0.5])])
    assert said.costs(both)[0].startswith("In each of 2 trainings links gain less") and "-1.0 to -0.5" in said.costs(both)[0]
    assert "do not always gain less" in said.costs(table.assign(change=table.loss))[0]
    assert said.costs(table[3:]) == ("There are too few choices of heads to compare.", "")


def test_changes_are_verbs():
    assert [said.moves(change) for change in (0.5, -1.24, 0.04, float("nan"))] == [
        "rises by 0.5 points", "falls by 1.2 points", *["stays as it was"] * 2,
    ]  # fmt: skip


def test_which_links_help_and_which_heads_fall_behind():
    rows = {GOLD: (1.9, 1, 2), MAIN: (0.5, 0.2, 0.9), SHUFFLED: (-0.2, -0.4, 0), NONE: (0, -1, 1)}
    assert said.headline(over_seeds(**rows), "rule") == (
        "In ROUGE-1 the least important heads gain 1.9 points with gold links and 0.5 points with resolver links;"
        " they gain nothing with shuffled links or no links."
    )
    assert said.headline(over_seeds(**{MAIN: (0, -1, 1)}), "rule") == (
        "In ROUGE-1 the least important heads gain nothing with resolver links."
    )


def test_what_links_give_back():
    lead, more = said.given_back(scores(a=(0.8, 0.4, 1.1)), scores(b=(1.5, 1.1, 1.8)))
    assert lead == (
        "Against the same heads off in training, links gain 1.5 points in the most important heads, 0.8 in the least: what is"
        " lost there seems to be the heads' old job. Shuffled links we did not try there."
    )
    assert "+0.8 [+0.4, +1.1] in the least and +1.5 [+1.1, +1.8] in the most important heads" in more
    assert said.given_back(scores(a=(0.8, 0, 1)), scores(b=(0, 0, 0)))[0].endswith(
        "change ROUGE-1 by 0.0 points in the most important heads, 0.8 in the least."
    )


def test_the_setting_and_what_a_wrong_name_does():
    assert said.setup(3, 8, 5) == (
        "The model is a BART of 3 encoder layers with 8 heads each, trained from 5 different weights. From each start every"
        " row of the figure on top is trained for the same further steps; the plain row ranks the heads. Intervals there are"
        " over these 5."
    )
    assert said.setup(1, 2, 1).endswith("Intervals there are over dialogues.")
    written = ["she left .", "bea left ."]
    told = said.followed(("she", "bea"), written, [(67, 33), (0, 100)])
    assert told == (
        "The resolver takes *she* for bea, and the model follows it: here the links hurt. In the next dialogue they mend all"
        " events."
    )
    assert "next" not in said.followed(None, written, [(50, 50), (0, 0)])
    assert said.followed(None, written, [(50, 50)]) == "The resolver takes nobody for another: here the links change no event."


def test_mixing_is_held_against_the_heads():
    alone = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2.1, 2.8), GOLD: (2.6, 2.3, 2.9)})
    assert said.mixed(alone, "rule") == (
        "In one training yes: +2.5 points with resolver links. Gold links give heads +2.6 there."
    )
    assert "not visibly: +2.5" in said.mixed(alone.assign(change_low=0), "rule")
    assert said.mixed(alone[:2], "rule") == "Not every layer was mixed."
    assert said.upper(6) == "mixing after the last 2 layers only (of 6; 2021: upper layers)"


def test_a_hollow_track_has_its_number_and_draws_their_ranks():
    natural = over_seeds(**{MAIN: (0, -0.6, 0.6)}).assign(seeds=3)
    found = pd.DataFrame({"against": ["rule", "GUM, 3 documents"], "CoNLL": [90.0, 37.9]})
    told = said.hollow(natural, "natural", "0.3 ROUGE-1", 2, found)
    assert told.startswith(
        "On natural dialogues injection changes ROUGE-1 by 0.0 [-0.6, +0.6] points (3 trainings). This says nothing of the"
    )
    assert "reaches an F1 of 38 on English" in told and "GUM" not in said.hollow(natural, "natural", "0.3", 2, found[:1])
    ranks = {"row": "injected, random", "layer": [0, 1, 0, 1], "seed": [1, 1, 2, 2], "rank_before": [3, 5, 3, 5],
             "heads": 8}  # fmt: skip
    every = pd.DataFrame(ranks)
    both = pd.concat([every, every[:2].assign(row=RANDOM, rank_before=[7, 2])])
    assert said.draws(both) == {"injected, random": "A: ranks 3, 5", RANDOM: "B: ranks 7, 2"}
    assert said.draws(every[:0]) == {}
    assert said.draws(every.assign(rank_before=[3, 5, 4, 5])) == {"injected, random": "A: drawn anew by seed"}


def test_examples_and_what_is_left_at_inference():
    told = said.example("# ann : hi\n# bea : ho", "ann came .", {PLAIN: "bea came ."})
    assert told.splitlines() == ["ann : hi", "bea : ho", "", "reference => ann came .", "    plain => bea came ."]
    assert said.better([5.0, -5.0, 5.0, 0.0]).startswith("Of 4 dialogues 2 get better and 1 worse in seed 1, by")
    left = {MAIN: (2, 1, 3), "injected at inference": (-4, -5, -3), f"{MAIN}, written with none": (1, -0.5, 1.5)}
    told = said.at_inference(scores(**left), "-0.2")
    assert told.startswith(
        "Put in without training the matrix harms: -4.0 [-5.0, -3.0] ROUGE-1, where the same heads off change"
    )
    assert told.endswith("the gain of +2.0 needs the training's links at inference.")
    kept = scores(**left | {f"{MAIN}, written with none": (1, 0.5, 1.5)})
    assert "is kept in part without" in said.at_inference(kept, "")
    assert "no gain to lose" in said.at_inference(scores(**left | {MAIN: (1, -1, 2)}), "")


def test_from_which_quality_clusters_help_and_what_the_resolver_gets_wrong():
    rows = {MAIN: (0.8, 0.4, 1), GOLD: (2.6, 1, 3), SHUFFLED: (0.1, -1, 1), NONE: (1.7, 1, 2)}
    curve = scores(**rows).assign(clusters=["rule", "gold", "gold+corrupt:1", "gold+corrupt:0.1"], conll=[93, 100, 56, 92])
    told = said.clusters(curve, "rule")
    assert told == "Gold links with errors help at an F1 of 92, not visibly at 56; resolver links score 93."
    assert said.clusters(curve.assign(change_low=-1), "rule").startswith("No links help;")
    assert said.nearest(curve)[0].row == NONE and said.nearest(curve[:2]) == []
    gap = scores(**{MAIN: (-1, -2, -0.5)})
    assert said.errors(curve, gap).endswith("seed 1).")
    known = curve.assign(people=[33, 100, 30, 85], speakers=[99.7, 100, 40, 93])
    assert said.clusters(known, "rule") == (
        "Gold links with errors help at an F1 of 92, not visibly at 56. Neither score alone predicts what resolver links gain:"
        " F1 (93) promises more, *he*/*she* (33 %) less; *I* and *you* are nearly always right (99.7 %)."
    )
    assert said.clusters(known.assign(people=[33, 34, 3, 32]), "rule").endswith("score 93, with 33 % of *he* and *she* right.")
    heights = said.heights(curve, over_seeds(**{GOLD: (1.9, 1.3, 2.4)}))
    assert heights.startswith("Read the order, not the heights: this training gains more than the mean of 5 (gold")
    assert said.heights(curve, over_seeds(**{GOLD: (2.6, 1, 3)})) == said.heights(curve, curve) == ""
    told = said.errors(known, gap)
    assert told.startswith(
        "The resolver's errors cost more than gold links corrupted at random (-1.0 [-2.0, -0.5] ROUGE-1 at F1 93"
    )
    assert "These have 85 % of *he* and *she* right; gold links as bad at them as the resolver gain +0.1" in told
    assert "about as much as" in said.errors(known, gap.assign(change_high=0.5))


def test_upper_layers_gain_more_only_where_their_difference_says_so(monkeypatch):
    rows = [f"{MAIN}, {part} layers" for part in ("middle", "upper")]
    board = SimpleNamespace(rows={row: {"run": {"control": {"heads": place}}} for place, row in enumerate(rows, 1)})
    monkeypatch.setattr(tables.runs, "addresses", lambda layer: [("encoder", layer, 0)])
    last = scores(a=(0.6, 0.3, 1.0))
    told = said.layers(last, board)
    assert told == "Layer 3 minus layer 2, paired: +0.6 [+0.3, +1.0], as second-hand accounts of the paper say."
    assert "not told apart, against what" in said.layers(last.assign(change_low=-1), board)


def test_heads_come_to_matter_by_the_loss_without_them():
    every = pd.DataFrame({"row": MAIN, "kind": "encoder", "layer": [0, 1] * 2, "head": 1, "seed": [1, 1, 2, 2], "heads": 8,
                          "rank_before": 8, "rank_after": [4, 4, 5, 5], "loss_before": 0.0,
                          "loss_after": [0.001, 0.01, 0.001, 0.012]})  # fmt: skip
    every = pd.concat([every, every.assign(row=NONE, rank_after=6, loss_after=0.001)], ignore_index=True)
    rises = tables.rises(every)
    assert rises[rises.row == MAIN].set_index("layer").after.to_dict() == pytest.approx({0: 6, 1: 1, 2: 11})
    apart = tables.matter_more(every, value="loss_after")
    assert apart.more.tolist() == pytest.approx([0, 0.01])
    told = said.moved(rises, "none")
    assert told == (
        "On average, one such head off raises the loss by 0.0 thousandths of a nat in the plain model, by 6.0 with no links."
    )
    empty = rises.assign(row=rises.row.replace(NONE, SHUFFLED))
    assert said.moved(empty, "rule").endswith(", by 6.0 with resolver links, by 1.0 with shuffled ones.")
    shuffled = every.assign(row=every.row.replace(NONE, SHUFFLED))
    told = said.come(shuffled[shuffled.layer == 1], "rule", ["for", "open", "open"])
    assert told == (
        "Yes by loss: in 2 of 2 cases such a head off costs more than with shuffled links; by importance 1 of 3 comparisons"
        " survives correction."
    )
    assert said.come(shuffled, "rule", []).startswith("Not everywhere by loss: in 2 of 4 cases such")
    assert said.come(every, "rule", []).startswith("No heads with shuffled links")
    assert said.moved(rises[rises.row != MAIN], "rule").startswith("No injected head")
    ranks = said.ranks(every, pd.DataFrame({"seed": ["a", "b"], "rank_after": [7.0, 8.0]}))
    assert "8 heads of a layer, they go from 8.0 to 4.5; with no links to 6.0. So 57 % of the rise by rank needs" in ranks
    assert " needs no coreference, of that by loss 17 %. It is " in ranks
    assert ranks.endswith(
        "that chance does not give: in 2 trainings without injection, from the same start, they end at 7.0 to 8.0."
    )
    assert "no more than chance" in said.ranks(every, pd.DataFrame({"seed": ["a"], "rank_after": [4.0]}))
    assert said.ranks(every, every[:0]).endswith("of that by loss 17 %.")
    assert said.ranks(every[every.row != MAIN], every[:0]) == ""
    more = pd.DataFrame({"control": NONE, "layer": range(3), "more": [0.2, 0.3, -0.1], "low": [0.1, -0.1, -0.2]})
    told = said.matters(more, apart.assign(low=[-0.001, 0.001]), ["for", "open", "open"])
    assert told == ("By loss (drawn) they are above no links in layer 2. By importance (the verdict) they are above no links"
                    " in layer 1, each by its own interval; corrected, 1 of these 3 remains (layer 1 against"
                    " no links).")  # fmt: skip
    none = float("nan")
    assert "above no links in layers 1 and 2." in said.matters(more.assign(low=none), apart.assign(low=none), ["open"] * 3)
    assert not said.matters(more[:0].drop(columns="low"), apart[:0])  # a run without these controls


def test_what_masking_costs_and_how_alike_heads_rank():
    masked = scores(a=(0, 0, 0), b=(-1, -2, 0)).assign(order="lowest", number=[0, 3], percent=[0, -1.4])
    masked = masked.assign(percent_low=masked.percent - 0.3, percent_high=masked.percent + 0.3)
    both = pd.concat([masked, masked[1:].assign(order="highest", number=1, percent=-10.0)])
    told = "Without three it falls by 1.4 % [1.1, 1.7], {} %; without the most important it falls by 10.0 %."
    settings = both.assign(percent=both.percent * 1.2, setting="steps x 2")
    settings = pd.concat([settings, both])
    found = said.masking(both, -0.01, settings)
    assert found.startswith("Without three it falls by 1.4 to 1.7 % in 2 trainings, above our limit of 1 %;")
    assert "about our limit of 1.5 %" in said.masking(both, -0.015, settings)
    assert said.masking(both, -0.01, settings[:1]) == said.masking(both, -0.01)
    assert "changes by -1.4 to 0.2 % in 2 trainings" in said.masking(both, -0.01, settings.replace({"percent": {-1.68: 0.2}}))
    for allowed, text in (
        (-0.01, "above our limit of 1"),
        (-0.015, "about our limit of 1.5"),
        (-0.02, "below our limit of 2"),
    ):
        assert said.masking(both, allowed) == told.format(text)
    one = both.assign(number=both.number.replace(3, 1))[:2]
    assert said.masking(one, -0.02).startswith("Yes: ") and said.masking(one, -0.01).startswith("No: ")
    same = pd.DataFrame({"row": [PLAIN, "steps x 2", "seed 2"], "same head": [1, 1 / 3, 0], "in the lower half": [1, 1, 0]})
    assert said.ranking(pd.DataFrame(0.5, same.row, same.row), same, 3).endswith("half in 3 of 3 cases, the least in 1.")


def test_the_printed_gain_is_told_beside_ours():
    many = over_seeds(**{MAIN: (0.5, 0.2, 0.9)})
    told = said.printed(many)
    assert told.startswith(
        "Second-hand accounts of the paper give a gain of 1.6 % in ROUGE-1; ours is 0.5 %. Our generated summaries start from"
        " 70 of"
    )
    assert "there is less to gain here" in told


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
    found = [MAIN, upper, both, said.OWN, said.UPPER, "injected, lowest 2"]
    told = said.placed(pd.DataFrame({"row": found, "group": "heads and layers"}), board, 3)
    mixed = ["none: mixing after every layer", "none: mixing after the last layer"]
    assert told.row.tolist() == ["each layer", "layer 3 alone", "layers 1 and 2 alone", *mixed, "2 in each layer"]
    assert told.answer.tolist() == [True, *[False] * 5] and set(told.group) == {"least important heads in"}
