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


def costs():
    """`tables.rises` of every choice: before and after, and their ends 1 below and above."""
    rows = ((MAIN, 0.3, 5), (SHUFFLED, 0.3, 0.8), ("injected, random", 7, 6), ("injected, highest", 29, 9))
    table = pd.DataFrame(rows, columns=["row", "before", "after"]).assign(layer=0)
    ends = {f"{at}_{end}": table[at] + step for at in ("before", "after") for end, step in (("low", -1), ("high", 1))}
    return table.assign(**ends)


def both(rows, **events):
    """Rows in ROUGE-1, over 5 trainings, and some in events too."""
    return pd.concat([over_seeds(**rows), over_seeds(**events).assign(metric=tables.EVENTS)])


def test_the_answer_claims_what_intervals_say():
    rows = {MAIN: (0.5, 0.2, 0.9), SHUFFLED: (-0.2, -0.4, 0.1), GOLD: (1.9, 1.3, 2.4), "injected, highest": (-0.6, -0.9, -0.2)}
    over = both(rows | {"injected, random": (0.4, 0.004, 0.8)}, **dict.fromkeys(rows, (5, 4, 6)))
    own = controls(**{SHUFFLED: (1, 0.5, 2), GOLD: (-1.3, -1.8, -0.9)})
    own.loc[SHUFFLED, ["change", "change_low", "change_high"]] = 0.7, 0.4, 1.0
    told = said.answer(own, over, "rule", costs(), VERDICTS, True)
    assert told == (
        "**On generated dialogues yes, for a small gain; natural ones cannot tell.** In the least important heads a resolver's"
        " links gain +0.5 [+0.2, +0.9] ROUGE-1 over plain (inconclusive after correction for several tests), +0.7 [+0.4, +1.0]"
        " over shuffled ones (seen); gold +1.9 [+1.3, +2.4]. Such a head then costs 5.0 [4.0, 6.0] thousandths of a nat a"
        " token (shuffled: 0.8; plain: 0.3). Random heads (one draw) gain +0.4 [+0.004, +0.8] and cost 6.0 (plain: 7.0), the"
        " most important -0.6 [-0.9, -0.2] and 9.0 (29.0), having more to lose (5 trainings)."
    )
    assert "lose" not in said.answer(own, over, "rule", costs().assign(before_low=-1), VERDICTS)
    assert said.answer(own[:1], over, "rule", costs(), VERDICTS).startswith("**On generated dialogues yes.** ")
    none = over.assign(change_low=over.change_low.where(over.row == GOLD, -1))
    told = said.answer(own, none, "rule", costs(), dict.fromkeys(VERDICTS, "seen"))
    assert "with gold links yes, with a resolver's links not that we could see.** " in told
    assert "inconclusive" not in told and told.count("(seen)") == 2
    told = said.answer(own[:0], over_seeds(**{MAIN: (0, -1, 1)}).drop(columns="seeds"), "rule", costs()[:0], {})
    assert told == (
        "**On these dialogues not that we could see.** In the least important heads a resolver's links gain 0.0 [-1.0, +1.0]"
        " ROUGE-1 over plain."
    )


def test_which_heads_must_not_be_taken():
    rows = {MAIN: (0.5, 0.2, 0.9), "injected, random": (0.4, 0, 0.8), "injected, highest": (-0.6, -0.9, -0.2)}
    own, over = controls(**{"injected, random": (0.1, -0.2, 0.5)}), over_seeds(**rows)
    off = {"masked, highest": (-2, -3, -1), "masked, lowest": (-0.1, -1, 1)}
    assert said.which(over, own, costs(), scores(**rows | off), [0.08, 0.16], 0.1) == (
        "They must not be the most important. *Probing*, the authors' rule of 2021, takes heads that attend most like the"
        " matrix (cosine 0.08 to 0.16, hardly like it; attention spread evenly: 0.10). That they must be the least important we"
        " do not see: random heads (A, one draw) are not told apart from them in ROUGE-1. With links every choice that we"
        " measured costs something; the least important had least to lose. Against the same heads off (one training, no"
        " shuffled links) links bring +1.4 ROUGE-1 in the most important heads, +0.6 in the least."
    )
    rows |= {"injected, highest": (0.1, -0.2, 0.3)}
    told = said.which(over_seeds(**rows), own.assign(change_low=0.05), costs()[:2], scores(**rows))
    assert told == (
        "Links may do no harm in the most important. That they must be the least important we see: random heads gain less."
    )


def test_what_heads_gain_stands_beside_what_they_cost():
    over = both({MAIN: (0.5, 0.2, 0.9)}, **{MAIN: (3, 2, 4)})
    once = scores(**{RANDOM: (-0.1, -0.4, 0.3)})
    each = pd.DataFrame([(MAIN, 1, 2.0), (RANDOM, 1, 8), (MAIN, 2, 4)], columns=["row", "seed", "loss"])
    rises = costs().assign(layer=[0, 0, 2, 2])  # of two layers
    told = said.beside(over, once, each, rises, {MAIN: "least important", RANDOM: "random B"}, "rule").data.splitlines()
    assert told[0] == "**What resolver links change, and what one head costs (thousandths of a nat a token), 5 trainings**"
    assert told[4].startswith("| least important | +0.5 [+0.2, +0.9] | +3.0 [+2.0, +4.0] | 1.5 [-4.9, 7.9] | 5.0 [4.0, 6.0] |")
    assert told[5] == "| random B (one training) | -0.1 [-0.4, +0.3] | not measured | 4.0 | – |"


def test_a_wrong_name_is_seen_weakly():
    guessed = "baseline: nearest name"
    rouge = scores(**{PLAIN: (0, 0, 0), guessed: (0.0, -0.5, 0.5)}).assign(value=[90.9, 91.2])
    events = scores(**{PLAIN: (0, 0, 0), guessed: (-23, -25, -20)}).assign(value=[46.8, 23.3], metric=tables.EVENTS)
    assert said.blind(pd.concat([rouge, events])) == (
        "ROUGE-1 sees wrong names weakly: references with the nearest name put in still score 91 of 100, with 23 % of events"
        " right; the plain model scores 91 with 47 % (one training)."
    )


def test_links_gain_less_in_heads_that_the_model_misses():
    table = pd.DataFrame({"row": [MAIN, "injected, probing", "injected, highest"] * 2, "seed": [1] * 3 + [2] * 3,
                          "loss": [1.0, 20, 80, 2, 70, 90], "first": [1.0, 10, 40, 0, 60, 60],
                          "change": [0.7, 0.4, -0.5, 0.2, -1, -2]})  # fmt: skip
    assert said.costs(table) == (
        "Links gain less in heads that the model misses more: rank correlations over 3 choices -1.0 in 2 trainings (by chance"
        " at most 17 % come to -1.0), without layer 1's cost -1.0."
    )
    lead = said.costs(table[:3].assign(change=[0.1, 0.4, -0.5]))
    assert "-0.5 in 1 training (by chance at most 50 % come to -0.5)" in lead  # 3 of 6 orders
    assert "do not always gain less" in said.costs(table.assign(change=table.loss))
    assert said.costs(table[4:]) == "There are too few choices of heads to compare."


def test_which_links_help_and_which_heads_fall_behind():
    rows = {GOLD: (1.9, 1, 2), MAIN: (0.5, 0.2, 0.9), SHUFFLED: (-0.2, -0.4, 0), NONE: (0, -1, 1)}
    assert said.headline(both(rows, **{MAIN: (3, 2, 4), SHUFFLED: (-0.8, -1, -0.5)}), "rule") == (
        "ROUGE-1 rises with gold links and resolver links; the share of events rises with resolver links and falls with"
        " shuffled links. The rest is not told from zero."
    )
    assert said.headline(over_seeds(**{MAIN: (0, -1, 1)}), "rule").startswith("ROUGE-1 is not seen to move.")


def test_the_setting_and_what_a_wrong_name_does():
    assert said.setup((3, 8, 128), 60_000, 500, 5) == (
        "The model is a BART of 3 encoder layers with 8 heads each, 128 wide, trained on 60,000 dialogues from 5 different"
        " weights. Then every row of the figure on top is trained for 500 steps more; the plain row ranks the heads. Intervals"
        " there are over these 5."
    )
    assert said.setup((1, 2, 8), 9, 5, 1).endswith("Intervals there are over dialogues.")
    written = ["she left .", "bea left ."]
    told = said.followed(("she", "bea"), written, [(67, 33), (0, 100)])
    assert told == (
        "The resolver takes *she* for bea, and the model follows it: here the links hurt. In the next dialogue they mend all"
        " events."
    )
    assert "next" not in said.followed(None, written, [(50, 50), (0, 0)])
    assert said.followed(None, written, [(50, 50)]) == "The resolver takes nobody for another: here the links change no event."


def test_mixing_is_held_against_the_heads():
    alone = scores(**{MAIN: (0.8, 0.4, 1.1), said.OWN: (2.5, 2.1, 2.8)})
    over, own = over_seeds(**{said.UPPER: (0.3, -0.1, 0.7)}), controls(**{said.UPPER: (0.2, -0.3, 0.8)})
    told = said.mixed(alone, over, own, "rule", 3)
    assert told == (
        "Yes, after every layer (one training, no shuffled control): resolver links then give +2.5 [+2.1, +2.8] ROUGE-1, in"
        " heads +0.8 [+0.4, +1.1]. Mixing after"
        " the last layer alone gives +0.3 [-0.1, +0.7] over 5 trainings, not told apart from heads."
    )
    assert said.mixed(alone.assign(change_low=0), over, own[:0], "rule", 3).startswith("Not visibly, after every layer")
    assert said.mixed(alone[:1], over, own, "rule", 3) == "Not every layer was mixed."
    assert said.upper(6) == "mixing after the last 2 layers only (of 6; 2021: upper layers)"


def test_a_hollow_track_has_its_number_and_draws_their_ranks():
    natural = over_seeds(**{MAIN: (0, -0.6, 0.6)}).assign(seeds=3)
    off = scores(a=(0.1, 0, 0.2), b=(-0.3, -0.9, 0.4)).assign(number=[1, 8])
    told = said.hollow(natural, "natural dialogues", off, 2)
    assert told == (
        "On natural dialogues injection changes ROUGE-1 by 0.0 [-0.6, +0.6] points (3 trainings). This says nothing of the"
        " method: all encoder attention off changes it by -0.3 [-0.9, +0.4] (one training), and we give a verdict only where"
        " that costs 2 points."
    )
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
    left = {MAIN: (2, 1, 3), "injected at inference": (-4, -5, -3), f"{MAIN}, written with none": (1, -0.5, 1.5)}
    told = said.at_inference(scores(**left), "-0.2")
    assert told.startswith(
        "Put in without training the matrix harms: -4.0 [-5.0, -3.0] ROUGE-1, where the same heads off change"
    )
    assert told.endswith(
        "the gain of +2.0 needs the training's links at inference (with shuffled or no links, or heads off: +1.0)."
    )
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
    known = curve.assign(people=[33, 100, 30, 85])
    assert said.clusters(known, "rule") == (
        "Gold links with errors help at an F1 of 92, not visibly at 56. Neither score alone predicts what resolver links gain:"
        " F1 (93) promises more, *he*/*she* (33 %) less."
    )
    assert said.clusters(known.assign(people=[33, 34, 3, 32]), "rule").endswith("score 93, with 33 % of *he* and *she* right.")
    heights = said.heights(curve, over_seeds(**{GOLD: (1.9, 1.3, 2.4)}))
    assert heights.startswith("Read the order, not the heights: this training gains more than the mean of 5 (gold")
    assert said.heights(curve, over_seeds(**{GOLD: (2.6, 1, 3)})) == said.heights(curve, curve) == ""
    told = said.errors(known, gap)
    assert told.startswith(
        "The resolver's errors cost more than gold links corrupted at random (-1.0 [-2.0, -0.5] ROUGE-1 at F1 93"
    )
    assert "about as much as" in said.errors(known, gap.assign(change_high=0.5))


def test_layers_and_matrices_are_held_against_each_other(monkeypatch):
    rows = [f"{MAIN}, {part} layers" for part in ("middle", "upper")]
    board = SimpleNamespace(rows={row: {"run": {"control": {"heads": place}}} for place, row in enumerate([*rows, MAIN], 1)})
    monkeypatch.setattr(tables.runs, "addresses", lambda layer: [("encoder", layer, 0)])
    monkeypatch.setattr(
        tables, "scores", lambda _, names, other: scores(**{names[0]: (0.6 if other == rows[0] else 0.2, 0.1, 1)})
    )
    assert said.layers(board) == (
        "Paired, in ROUGE-1: layer 3 minus layer 2 +0.6 [+0.1, +1.0], layer 3 minus each layer +0.2 [+0.1, +1.0]. Second-hand"
        " accounts of the paper say that upper layers gain more."
    )


def test_heads_come_to_matter_by_the_loss_without_them():
    every = pd.DataFrame({"row": MAIN, "kind": "encoder", "layer": [0, 1] * 2, "head": 1, "seed": [1, 1, 2, 2], "heads": 8,
                          "rank_before": 8, "rank_after": [4, 4, 5, 5], "loss_before": 0.0,
                          "loss_after": [0.001, 0.01, 0.001, 0.012]})  # fmt: skip
    every = pd.concat([every, every.assign(row=NONE, rank_after=6, loss_after=0.001)], ignore_index=True)
    rises = tables.rises(every)
    assert rises[rises.row == MAIN].set_index("layer").after.to_dict() == pytest.approx({0: 6, 1: 1, 2: 11})
    apart = tables.matter_more(every, value="loss_after", mean=True)
    assert apart.layer.tolist() == [-1, 0, 1] and apart.more.tolist() == pytest.approx([0.005, 0, 0.01])
    told = said.moved(rises, "none")
    assert told == ("One such head off raises the loss by 0.0 thousandths of a nat in the plain model, by 6.0 with no links.")
    empty = rises.assign(row=rises.row.replace(NONE, SHUFFLED))
    assert said.moved(empty, "rule").endswith(", by 6.0 with resolver links, by 1.0 with shuffled ones.")
    assert said.moved(rises[rises.row != MAIN], "rule").startswith("No injected head")
    shuffled = apart.assign(control=SHUFFLED, low=[0.002, -0.001, 0.009], high=0.01)
    more = [every[every.row == MAIN].assign(row=row, loss_after=loss) for row, loss in
            ((SHUFFLED, 0.002), ("injected, random", 0.0))]  # fmt: skip
    every = pd.concat([every, *more]).assign(before=0.5, after=0.75)
    told = said.come(shuffled, every, "rule")
    assert told == (
        "The least important do, on the mean of layers: switched off, one costs +5.0 [+2.0, +10.0] thousandths of a nat a token"
        " more than with shuffled links (by layer, seen in layer 2). By importance, the claim's measure (norm 1 over a layer's"
        " heads), they change by +0.25 [+0.25, +0.25], with shuffled links by +0.25 [+0.25, +0.25]. Other choices had no"
        " shuffled links: whether coreference is what they do we cannot tell."
    )
    assert said.come(shuffled.assign(low=-1.0), every, "rule").startswith("Not visibly:")
    assert said.come(apart, every, "rule") == said.come(apart[:0].drop(columns="low"), every, "rule")


def test_heads_of_natural_text_have_their_costs_with_and_without_shuffled_links():
    found = [(MAIN, 0, 0.001, 0.002), (MAIN, 1, 0.001, 0.006), ("injected, random", 0, 0.002, 0.003)]
    every = pd.DataFrame([*found, (SHUFFLED, 0, 0.001, 0.0015)], columns=["row", "layer", "loss_before", "loss_after"])
    names = [
        f"{MAIN}: {what}" for what in ("loss without these heads, before", "loss without these heads, after", "ROUGE-1, change")
    ]
    crd3 = pd.DataFrame([(0.5, 0.1, 0.8, 3), (0.1, -1.1, 1.4, 3), (0.1, -0.3, 0.5, 3)], names, [*"vlhn"])
    assert said.natural(every[:3], crd3, "rule") == (
        "On SAMSum a least important head costs 1.0 thousandths of a nat a token in the plain model and 4.0 with links, a"
        " random one 2.0 and 3.0 (1 training, no shuffled links). On CRD3 (spoken role-play, 3 trainings) the least important"
        " cost 0.5 [0.1, 0.8] and 0.1 [-1.1, 1.4]; ROUGE-1 changes by +0.1 [-0.3, +0.5] ([natural text](../docs/natural.md))."
    )
    assert "(1 training, shuffled links: 1.5). On CRD3" in said.natural(every, crd3, "rule")


def test_what_masking_costs():
    masked = scores(a=(0, 0, 0), b=(-1.4, -1.7, -1.1)).assign(order="lowest", number=[0, 3], value=[100, 98.6])
    masked = masked.assign(percent=masked.change, percent_low=masked.change_low, percent_high=masked.change_high)
    more = pd.concat([masked, masked[1:].assign(number=1)])
    assert said.masking(more, -0.01) == (
        "One head a layer matters much: -1.4 [-1.7, -1.1] % of ROUGE-1. Three: -1.4 % in 1 setting (one start), past"
        " our limit by interval in 1."
    )
    known = pd.concat([more, more.assign(metric=tables.EVENTS, percent=-5.0, percent_low=-6.0, percent_high=-4.0)])
    assert "% of ROUGE-1, -5.0 [-6.0, -4.0] % of events. Three: -1.4 % and -5.0 % in 1" in said.masking(known, -0.01)
    settings = pd.concat([masked[1:].assign(setting="a"), masked[1:].assign(setting="b", percent=-1.2, change_high=-0.9)])
    assert said.masking(masked, -0.01, settings) == (
        "Three: -1.4 to -1.2 % in 2 settings (one start), past our limit by interval in 1."
    )
    assert said.masking(more, -0.02).startswith("One head a layer matters little: ")
    assert said.masking(masked[:1], -0.02) == "No heads were switched off."


def test_heads_that_nobody_ranked_have_ranks():
    heads = pd.MultiIndex.from_product([["encoder"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
    table = tables.ranks(pd.Series([0.1, 0.9, 0.8, 0.2], heads), RANDOM, [("encoder", 1, 0), ("encoder", 0, 0)])
    assert table.to_numpy().tolist() == [[RANDOM, 1, 1], [RANDOM, 0, 2]]


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
