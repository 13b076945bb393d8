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
ROW = pd.Series({f"{name}{end}": n * x for name, n in ROW.items() for end, x in (("", 1), ("_low", 0.8), ("_high", 2))}, name=4)


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    cost, other = (
        "ff at once, the 4 cheapest alone cost 50 [40, 100] millinats per token, ",
        " those by *a* 20 [16, 40], 2.0 [1.6,",
    )
    told = f"No: o{cost}5.0 [4.0, 10.0] times the sum of their single costs;{other} 4.0] times theirs."
    assert said.together(ROW, "a") == told
    for unsure in ({"alone_low": -0.005}, {"times_low": 0.9}):
        told = said.together(pd.Series({**ROW, **unsure}, name=4), "a")
        assert told.startswith(f"O{cost}not surely more than the sum of their single costs;{other}")


def test_a_pair_stands_in_for_each_other_where_both_surely_cost_more_than_their_sum():
    pair = pd.DataFrame({"rise": [0.001, 0.002, 0.008, 0.005]}, [("encoder", 0, 1), ("cross", 1, 0), "both", "beyond"])
    pair = pair.assign(low=pair.rise / 2, high=2 * pair.rise)
    assert said.stand_in(pair) == (
        "Such a pair, found on dev text: encoder layer 1 head 2 and cross layer 2 head 1 cost 1.0 [0.5, 2.0] and 2.0 [1.0, 4.0]"
        " millinats per token alone, 8.0 [4.0, 16.0] both: 5.0 [2.5, 10.0] beyond the sum."
    )
    assert said.stand_in(pair.assign(low=-1)) == ""


def won(costs, alike, random, off=3):
    rows = [("", removal.RANDOM, draw, off, random) for draw in range(3)]
    for name, own in costs.items():
        rows += [(name, removal.CHOICE, 0, off, own), *((name, removal.ALIKE, draw, off, alike) for draw in range(3))]
    rows = pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise"])
    return removal.against_random(rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01))


def test_choices_stand_beside_random_heads_of_the_same_types():
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    assert said.beside(table) == (
        "With 3 off, in millinats per token: *gradient* 100 [90, 110], random heads of the same types 200 (mean; dearer in 3 of"
        " 3); *loss without* 300 [290, 310], random heads 200 (0 of 3)."
    )


def test_the_headline_is_the_price_where_it_is_known():
    choices, table = {"a": LOSS, "b": LOSS}, won({"a": 0.1, "b": 0.3}, 0.2, 1.0)
    type_ = " Most of the gain on random heads is the type: 3 and 3 of 3 are encoder heads, and any of the same types have 89 %"
    type_ += " and 114 % of it, in loss."
    assert said.headline(choices, table) == f"**{said.beside(table)}**{type_}"
    price = "**Cut together by *a*, a quarter of the heads cost no BLEU that we can tell (0.5 [-0.5, 1.5]) and half 2.0 [1.0,"
    price += " 3.0]; by *b* 1.0 [0.0, 2.0] and 4.0 [3.0, 5.0].** With three quarters off, neither is told from random heads."
    known = results()
    known.loc[known.method == removal.ALIKE, "change"] = -10
    assert said.beaten(known) == [2] and said.headline(choices, table, known) == price + type_
    known["change high"] -= 0.6
    assert "a quarter of the heads cost 0.5 [0.1, 1.5] BLEU and half" in said.price(known)


def results():
    rows = [(method, 8, 0) for method in ("a", "b", removal.ALIKE)]
    for heads, scale in ((6, 0.5), (4, 2), (2, 10)):
        rows += [(method, heads, cost * scale) for method, cost in (("a", 1), ("b", 2), (removal.ALIKE, 3), (removal.ALIKE, 4))]
    table = pd.DataFrame(rows, columns=["method", "heads", "change"])
    return table.assign(**{"change": -table.change, "change low": -table.change - 1, "change high": -table.change + 1})


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
    first = "1. Rank heads by gradient importance: one backward pass."
    second = "\n2. Check both choices on other text, beside random heads of the same types; cut by the one that beats them."
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
    write("natural", "removed_at_once", ("E", 1, 4, 3, 2))
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
        f"{first} In loss its choice costs 150 % of the other's in 1 cut of 1 other training (notebook 6).{second}\n3. If the"
        " model trains on, 4 to 5 encoder heads left cost 2.0 [1.0, 3.0] BLEU by the gradient, 0.0 [-12.7, 12.7] more by the"
        " loss, 4.0 [3.0, 5.0] at random (2 trainings); on Europarl (one training, 6 left) 0.3 to 0.7 by"
        " either, 1.0 to 1.5 at random."
        f"{limits}. Elsewhere 3 of 4 and 2 to 4 of 8 encoder heads surely change the loss alone (3 trainings); the gradient"
        " costs more in 1 of 1 cuts of a decoder-only model and 1 of 1 of Europarl's."
    )
    assert said.elsewhere(here) == (
        "Divided by its layer's norm, as in Michel et al., gradient importance costs more than undivided in 2 of 2 cuts of"
        " heads of all types, and more than random heads in 1 (notebook 6, 2 trainings)."
    )
