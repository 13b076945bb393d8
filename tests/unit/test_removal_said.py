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
    end = " are surely missed.**"
    assert said.needed(single) == "**Off alone, all 4 cross heads and 1 of 4 encoder heads" + end
    assert said.needed(single.loc[["encoder"]]) == "**Off alone, 1 of 4 heads" + end
    assert said.needed(single.loc[["cross"]]) == "**Off alone, all 4 heads" + end
    assert said.needed(single.loc[["encoder"]].assign(low=-1.0, high=1.0)) == "**Off alone, none of 4 heads" + end


def test_heads_that_change_it_only_uncorrected_are_told_apart(single):
    assert said.uncorrected(single) == ""
    single.loc[("encoder", 1, 0), :] = (0.010, 0.0001, 0.0199)
    assert said.uncorrected(single) == "1 more encoder head passes only before correction."
    single.loc[("encoder", 0, 0), :] = (-0.010, -0.0199, -0.0001)
    falls = "2 more encoder heads pass only before correction; without encoder 1.1 (×) the loss falls."
    assert said.uncorrected(single) == falls
    single.loc[("encoder", 1, 0), :] = (-0.010, -0.0199, -0.0001)
    assert said.uncorrected(single.loc[["encoder"]]).endswith("; without 2 of them (×) the loss falls.")


NAMES = ["together", "together_low", "together_high", "alone", "alone_low", "alone_high"]
ROW = pd.Series([0.05, 0.04, 0.06, 0.01, 0.005, 0.02], NAMES, name=4)


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    cost = "ff at once, the 4 cheapest heads cost 50 [40, 60] millinats per token, "
    assert said.together(ROW) == f"No: o{cost}5 times the sum of their single costs (10 [5, 20])."
    unsure = pd.Series({**ROW, "alone_low": -0.005}, name=4)
    assert said.together(unsure) == f"O{cost}and their single costs add up to 10 [-5, 20]."
    assert said.together(pd.Series({**ROW, "alone_high": 0.045}, name=4)).startswith("Off at once")


def won(costs, alike, random, off=3):
    rows = [("", removal.RANDOM, draw, off, random) for draw in range(3)]
    for name, own in costs.items():
        rows += [(name, removal.CHOICE, 0, off, own), *((name, removal.ALIKE, draw, off, alike) for draw in range(3))]
    rows = pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise"])
    return removal.against_random(rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01))


def test_choices_stand_beside_random_heads_of_the_same_types():
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    assert said.beside(table) == (
        "3 heads off, beside random heads of the same types: gradient 100, cheapest draw 200; loss without 300, cheapest draw"
        " 200 (millinats per token)."
    )
    two = " chooses as many that cost 33 % as much."
    times = "Yet off at once, the 4 heads that cost least alone cost 5 times the sum of their single costs."
    assert said.cost(ROW, table) == f"{times} Gradient{two}"
    assert said.cost(pd.Series({**ROW, "alone_low": 0.0}, name=4), table) == (
        "Yet off at once, the 4 heads that cost least alone cost no more than the sum of their single costs that we can tell."
        f" Gradient{two}"
    )


def test_heads_that_look_idle_are_kept_by_one_choice(single):
    worth = pd.Series([0, 1, 2, 9, 4, 5, 6, 7.0], HEADS)
    other = pd.Series([0, 8, 1, 2, 3, 5, 6, 7.0], HEADS)
    single.loc[("cross", 0, 0), :] = (0.0, -0.1, 0.1)
    differ = "The two choices of 3 differ in 1 head."
    end = " A cuts 3 encoder heads, so this check only asks which 1 encoder heads to keep."
    assert said.idle({"a": worth, "loss": other}, 3, single) == [HEADS[3]]
    assert said.traded({"a": worth, "loss": other}, 3) == (
        f"{differ} A gives up encoder 1.2 (layer.head) and keeps encoder 2.2.{end}"
    )
    assert said.traded({"a": worth, "b": worth}, 3) == "The two choices of 3 differ in 0 heads." + end
    assert "cuts" not in said.traded({"a": -worth, "b": -worth}, 5)
    plain, mixed = pd.Series(range(8), HEADS), pd.Series([0, 8, 1, 9, -1, -2, 6, 7.0], HEADS)
    assert "keeps cross 1.1 and 1.2" in said.traded({"a": plain, "b": mixed}, 4)


def test_what_heads_cost_depends_on_what_else_is_off():
    assert said.why(3, [HEADS[1], HEADS[4]]).startswith("Why? Of these 3 take cross 1.1 and encoder 1.2 (layer.head),")
    costs = pd.DataFrame({"rise": [0.004, 0.013, 0.129], "low": [0.002, 0.009, 0.113], "high": [0.008, 0.018, 0.145]})
    costs.index = ["alone", "together", "on top of the other 37"]
    told = "With nothing else off, these heads cost 13 [9, 18] millinats per token; on top of the other 37, 129 [113, 145]."
    assert said.on_top(costs) == told + " What a head costs depends on what else is off."
    costs.iloc[2, 1] = 0.017
    assert said.on_top(costs) == told.replace("[113", "[17")


def test_alignment_is_read_of_the_published_model(tmp_path):
    path = layout.Chapter(tmp_path / "02_head_functions").table("alignment_x")
    path.parent.mkdir(parents=True)
    path.write_text("kind,layer,head,predicted\ncross,0,1,0.74\n")
    told = "Over the whole text it points at the aligned word for 74 % of target words (notebook 2)."
    assert said.aligned(tmp_path, "x", ("cross", 0, 1)) == told
    assert said.aligned(tmp_path, "x", ("encoder", 0, 1)) == said.aligned(None, "x", ("cross", 0, 1)) == ""


def test_the_reference_serves_runs_like_it_only(tmp_path, monkeypatch):
    monkeypatch.setattr(said.study, "ROOT", tmp_path)
    place = layout.Chapter(tmp_path / "figures" / "controlled" / "00")
    place.shared.parent.mkdir(parents=True)
    place.shared.write_text('{"parameters": {"profile": "laptop"}}')
    run = lambda **given: SimpleNamespace(name="00", corpus="controlled", parameters={"profile": "laptop"} | given)  # noqa: E731
    assert said.reference(run(text="")) == tmp_path / "figures" / "controlled"
    for other in ({"profile": "tiny"}, {"overrides": "a=1"}, {"pretrained": "x"}, {"text": "x"}):
        assert said.reference(run(**other)) is None


def test_in_short_is_what_notebook_6_bears_out(tmp_path):
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    first = (
        "1. Rank heads by gradient importance: one backward pass. With 3 heads off its choice costs 33 % of the other's here"
    )
    second = "\n2. Check both choices on other text, beside random heads of the same types. Cut by the one that wins."
    limit = "\n\n*Limits.* One model, one training: another gives other heads (notebook 6)."
    assert said.in_short(table, None, "M", "") == said.in_short(table, tmp_path, "M", "") == f"{first}.{second}{limit}"
    assert said.in_short(table, None, "M", "natural") == f"{first}.{second}{limit} It reads natural text."

    def write(name, value, *rows):
        path = layout.Chapter(tmp_path / "06_do_measures_agree").table(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            (*row[:3], which, cost) for row in rows for which, cost in zip((said.GRADIENT, said.TRUTH), row[3:], strict=True)
        ]
        pd.DataFrame(rows, columns=["model", "seed", "heads", "criterion", value]).to_csv(path, index=False)

    cuts = [("M, all kinds", 1, 4, 1, 2), ("M, all kinds", 2, 8, 3, 4), ("M, all kinds", 2, 9, 0, 0)]
    write("removed_at_once", "change", *cuts, ("decoder of today", 1, 4, 2, 1), ("M", 1, 4, 9, 1))
    write("removed_and_trained_on", "bleu", ("M", 1, 4, 20, 21), ("M", 2, 4, 21, 20))
    third = (
        "\n3. If you train on after the cut, do not agonise: then the two choices of encoder heads cannot be told apart"
        " (notebook 6, 2 trainings)."
    )
    share = ", and 50 to 75 % in 2 cuts over all types of notebook 6 (2 trainings)."
    limit += " In a decoder-only model the gradient wins 0 of 1 cuts."
    assert said.in_short(table, tmp_path, "M", "") == first + share + second + third + limit
    write("removed_and_trained_on", "bleu", ("M", 1, 4, 20, 10), ("M", 2, 4, 21, 11.001))
    assert "\n3." not in said.in_short(table, tmp_path, "M", "")


def test_bleu_of_choices_stands_beside_draws():
    columns = ["method", "heads", "bleu", "change", "change low", "change high"]
    rows = [(method, 8, 90, 0, 0, 0) for method in ("loss", "other", removal.RANDOM, removal.ALIKE)]
    for heads, scale in ((6, 1), (4, 4), (2, 10)):
        costs = [("loss", 2), ("other", 1), (removal.RANDOM, 6), (removal.ALIKE, 1.5), (removal.ALIKE, 3)]
        rows += [
            (method, heads, 90 - cost * scale, -cost * scale, -cost * scale - 1, -cost * scale + 1) for method, cost in costs
        ]
    table = pd.DataFrame(rows, columns=columns)
    assert said.at_half(table) == (
        "Cutting half of the heads costs, in BLEU, 8.0 by the loss, 4.0 by other and 6.0 by the best random draw. With 6 off"
        " only other clearly beats the best draw."
    )
    with_draws = table.assign(change=table.change.mask(table.method == removal.ALIKE, -1.0))
    assert said.at_half(with_draws).endswith("With 6 off neither choice clearly beats the best draw.")
