"""What notebook 00 says of its tables."""

from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.methods import removal, said
from helpers.study import layout

HEADS = pd.MultiIndex.from_product([["encoder", "cross"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
LOSS = pd.Series([0.0, 0.005, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4], HEADS)


@pytest.fixture
def single():
    return pd.DataFrame({"loss": LOSS, "low": LOSS - 0.001, "high": LOSS + 0.001})


def test_heads_that_raise_the_loss_are_counted_by_type(single):
    assert said.needed(single) == "1 of 4 encoder and 4 of 4 cross heads"


ROW = {"together": 0.05, "alone": 0.01, "times": 5.0, "other": 0.02, "other alone": 0.01, "other times": 2.0}
ROW = {f"{name}{end}": n * x for name, n in ROW.items() for end, x in (("", 1), ("_low", 0.8), ("_high", 2))}


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    curve = pd.DataFrame([ROW, {**ROW, "times": 9.0}, {**ROW, "times": 99.0, "other times_low": 0.9}], [4, 6, 8])
    assert said.together(curve, 4, "a") == (
        "No: together, the 4 cheapest alone cost 5.0 [4.0, 10.0] times the sum of their single costs, by *a* 2.0 [1.6, 4.0]"
        " times. Where both surely cost more (4 to 6 off): 5.0 to 9.0 and 2.0."
    )
    for unsure in ({"alone_low": -0.005}, {"times_low": 0.9}):
        told = said.together(pd.DataFrame([{**ROW, **unsure}], [4]), 4, "a")
        assert told.startswith("Together, 4 heads do not surely cost more")


def test_the_best_of_some_pairs_stands_beside_what_all_heads_cost_beyond_their_sum():
    pair = pd.DataFrame({"rise": [0.001, 0.002, 0.008, 0.005]}, [("encoder", 0, 1), ("cross", 1, 0), "both", "beyond"])
    pair, row = pair.assign(low=pair.rise / 2, high=2 * pair.rise), pd.Series(ROW, name=4)
    assert said.stand_in(pair, 15, row) == (
        "The best of 15 pairs (by dev text), encoder layer 1 head 2 and cross layer 2 head 1, cost 1.0 [0.5, 2.0] and 2.0"
        " [1.0, 4.0] millinats per token alone and 5.0 [2.5, 10.0] beyond that together; all 4 cost 40 beyond their sum."
    )
    assert said.stand_in(pair.assign(low=-1), 15, row) == ""


def won(costs, alike, random, off=3):
    rows = [("", removal.RANDOM, draw, off, random) for draw in range(3)]
    for name, own in costs.items():
        rows += [(name, removal.CHOICE, 0, off, own), *((name, removal.ALIKE, draw, off, alike) for draw in range(3))]
    rows = pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise"])
    return removal.against_random(rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01))


def test_choices_stand_beside_random_heads_of_the_same_types():
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    assert said.beside(table) == (
        "With 3 off, in millinats per token: *gradient* 100 [90, 110], below 3 of 3 random draws of its types (mean 200);"
        " *loss without* 300 [290, 310], below 0 of 3 (mean 200), undecided."
    )


def test_the_headline_is_the_price_where_it_is_known():
    choices, table = {"a": LOSS, "b": LOSS}, won({"a": 0.1, "b": 0.3}, 0.2, 1.0)
    type_ = " Of 3 off, 3 and 3 are encoder heads; random heads of the same types raise the loss 2.0 and 0.7 times as much, of"
    type_ += " any type 10.0 and 3.3 times (means of 3 draws)."
    assert said.headline(choices, table) == f"**{said.beside(table)}**{type_}"
    price = "**A quarter, yes; half, at a price; three quarters, not told from random heads of the same types.** Cut"
    price += " by *a*, a quarter and half of the heads cost 0.5 [-0.5, 1.5] and 2.0 [1.0, 3.0] BLEU; by *b* 0.5 [-0.5, 1.5]"
    price += " and 2.0 [1.0, 3.0] more."
    known = results()
    known.loc[known.method == removal.ALIKE, "change"] = -10
    assert said.beaten(known) == [2] and said.headline(choices, table, known) == price + type_
    known["change high"] -= 0.6
    assert said.price(known).startswith("**A quarter and half, at a price; three quarters, not")


def results():
    rows = [(method, 8, 0) for method in ("a", "b", removal.ALIKE)]
    for heads, scale in ((6, 0.5), (4, 2), (2, 10)):
        rows += [(method, heads, cost * scale) for method, cost in (("a", 1), ("b", 2), (removal.ALIKE, 3), (removal.ALIKE, 4))]
    table = pd.DataFrame(rows, columns=["method", "heads", "change"])
    table["behind"] = table.change - table.groupby("heads").change.transform("first")
    ends = {f"{of}{end}": by - table[of] for of in ("change", "behind") for end, by in (("", 0), (" low", -1), (" high", 1))}
    return table.assign(**ends)


def test_random_draws_stand_beside_the_surest_choice():
    told = "Random heads cost 1.5 to 2.0, 6.0 to 8.0 and 30.0 to 40.0 BLEU (2 draws; 500 sentences)."
    assert said.draws(results(), 500) == f"{told} With 2 off, no choice is surely better than the best draw."


def test_the_reference_serves_runs_like_it_only(tmp_path, monkeypatch):
    monkeypatch.setattr(said.study, "ROOT", tmp_path)
    place = layout.Chapter(tmp_path / "figures" / "controlled" / "00")
    place.shared.parent.mkdir(parents=True)
    place.shared.write_text('{"parameters": {"profile": "laptop"}}')
    for name in ("removed_at_once", "contest"):
        table = layout.Chapter(tmp_path / "figures" / "controlled" / "06_do_measures_agree").table(name)
        table.parent.mkdir(parents=True, exist_ok=True), table.touch()
    run = lambda **given: SimpleNamespace(name="00", corpus="controlled", parameters={"profile": "laptop"} | given)  # noqa: E731
    assert said.reference(run(text="")) == tmp_path / "figures" / "controlled"
    for other in ({"profile": "tiny"}, {"overrides": "a=1"}, {"pretrained": "x"}, {"text": "x"}):
        assert said.reference(run(**other)) is None


def test_in_short_is_what_notebook_6_bears_out(tmp_path):
    here = tmp_path / "controlled"
    first = "1. Rank by gradient importance: one backward pass."
    second = "\n2. Check both on other text; cut by the cheaper, if it beats twenty random draws of its types."
    limits = "\n\n*Limits.* One training"
    assert said.in_short(None, "M") == f"{first}{second}{limits}."
    names = [said.GRADIENT, said.TRUTH, f"{said.GRADIENT}, by layer", removal.RANDOM]

    def write(corpus, name, *rows, columns=()):
        if not columns:
            columns = ("model", "seed", "heads", "criterion", "change")
            rows = [(*row[:3], which, cost) for row in rows for which, cost in zip(names, row[3:], strict=False)]
        path = layout.Chapter(tmp_path / corpus / "06_do_measures_agree").table(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows, columns=columns).to_csv(path, index=False)

    cuts = [("M, all kinds", 1, 4, 2, 4, 5.5, 9), ("N, all kinds", 1, 8, 3, 2, 6, 5)]  # the first is the notebook's own model
    write("controlled", "removed_at_once", *cuts, ("decoder of today", 1, 4, 2, 1, 2, 9), ("M", 1, 4, 8, 1, 8.25, 9))
    write("natural", "removed_at_once", ("E", 1, 4, 3, 2, 3))
    write("controlled", "removed_and_trained_on", ("M", 1, 4, 20, 21), ("M", 2, 5, 21, 20))
    effects = ("model", "seed", "kind", "heads", "differ_holm")
    kinds = [("M", 1, "encoder", 8, 1), ("M", 2, "encoder", 8, 2), ("N", 1, "encoder", 8, 4), ("N", 1, "cross", 8, 8)]
    write("controlled", "effects_of_heads", *kinds, columns=effects)
    write("natural", "effects_of_heads", ("E", 1, "encoder", 4, 3), columns=effects)
    contest = ("model", "value", "low", "high", "criterion", "test set", "heads")
    for corpus, rows in {
        "controlled": [("M", -2.0, -3.0, -1.0, names[0], "t", 4), ("M", -4.0, -5.0, -3.0, names[3], "t", 4)],
        "natural": [("E", -own, -9, 0, names[at], str(own), 6) for at, own in ((0, 0.5), (1, 0.3), (0, 0.7), (3, 1), (3, 1.5))],
    }.items():
        write(corpus, "contest", *rows, columns=contest)
    assert said.in_short(here, "M") == (
        f"{first} In loss its choice costs 150 % of the other's in 1 cut (1 other training, notebook 6), 200 % in 1 of a"
        f" decoder-only model and 150 % in 1 of Europarl's.{second}\n3. If the model trains on, 4 to 5 encoder heads left cost"
        " 2.0 [1.0, 3.0] BLEU by the gradient, 0.0 [-12.7, 12.7] more by the loss, 4.0 [3.0, 5.0] at random (2 trainings);"
        f" on Europarl (one training, 6 left) 0.3 to 0.7 by either, 1.0 to 1.5 at random.{limits}. Elsewhere 3 of 4 and"
        " 2 to 4 of 8 encoder heads surely change the loss alone (3 trainings)."
    )
    assert said.elsewhere(here) == (
        "Divided by its layer's norm, as in Michel et al., gradient importance costs more in 2 of 2 cuts of heads of all types;"
        " of encoder heads alone in 1, less in 0, of 2 (notebook 6, 3 trainings)."
    )
