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
    end = " heads are surely missed."
    assert said.needed(single) == "Off alone, 1 of 4 encoder and 4 of 4 cross" + end
    assert said.needed(single.loc[["encoder"]]) == "Off alone, 1 of 4" + end


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
        "With 3 off, beside random heads of the same types, in millinats per token: *gradient* 100 [90, 110], below 3"
        " of 3 (p 0.250); *loss without* 300 [290, 310], below 0 of 3 (p 1.000)."
    )


def test_the_headline_is_the_price_where_it_is_known(single):
    table, check = (
        won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0),
        " So try both choices beside random heads before you cut.",
    )
    times = "Yet off at once, the 4 heads that cost least alone cost 5 times the sum of their single costs."
    missed = said.needed(single)
    assert said.headline(single, ROW, table) == f"**{missed}** {times} By *gradient* as many cost 33 % as much.{check}"
    unsure = pd.Series({**ROW, "alone_low": 0.0}, name=4)
    assert "cost no more than the sum of their single costs that we can tell." in said.headline(single, unsure, table)
    price = (
        "**Cutting 2 of 8 heads by *a* costs no BLEU that we can tell (0.5 [-0.5, 1.5]), cutting 4 costs 2.0 [1.0, 3.0].** By"
    )
    told = said.headline(single, ROW, table, results())
    assert told == f"{price} *b*, 4 cost 4.0 [3.0, 5.0]. {missed} {times}{check}"


def results():
    rows = [(method, 8, 0) for method in ("a", "b", removal.ALIKE)]
    for heads, scale in ((6, 0.5), (4, 2), (2, 10)):
        rows += [(method, heads, cost * scale) for method, cost in (("a", 1), ("b", 2), (removal.ALIKE, 3), (removal.ALIKE, 4))]
    table = pd.DataFrame(rows, columns=["method", "heads", "change"])
    return table.assign(**{"change": -table.change, "change low": -table.change - 1, "change high": -table.change + 1})


def test_half_stands_beside_draws_of_the_same_types():
    assert said.at_half(results(), 500) == "With 4 off, 2 random draws cost 7.0 BLEU on average, 6.0 at best (500 sentences)."


def test_heads_that_look_idle_are_kept_by_one_choice(single):
    worth = pd.Series([0, 1, 2, 9, 4, 5, 6, 7.0], HEADS)
    other = pd.Series([0, 8, 1, 2, 3, 5, 6, 7.0], HEADS)
    single.loc[("cross", 0, 0), :] = (0.0, -0.1, 0.1)
    assert said.idle({"a": worth, "loss": other}, 3, single) == [HEADS[3]]
    rho, own = worth.corr(other, "spearman"), worth[:4].corr(other[:4], "spearman")
    assert said.traded({"a": worth, "loss": other}, 3) == (
        f"The two choices of 3 differ in 1 head: Spearman's correlation of the measures is {rho:.2f} over all heads, {own:.2f}"
        " over encoder heads. By *a* 3 encoder heads go, so this check only asks which 1 to keep."
    )
    assert said.traded({"a": -worth, "b": -worth}, 5) == (
        "The two choices of 5 differ in 0 heads: Spearman's correlation of the measures is 1.00 over all heads."
    )


def test_what_heads_cost_depends_on_what_else_is_off():
    costs = pd.DataFrame({"rise": [0.004, 0.013, 0.129], "low": [0.002, 0.009, 0.113], "high": [0.008, 0.018, 0.145]})
    costs.index = ["alone", "together", "on top of the other 37"]
    told = "Cross 1.1 and encoder 1.2 cost 4 [2, 8] millinats one by one (noise helped them look idle), 13 [9, 18] together,"
    some, end = [HEADS[1], HEADS[4]], " on top of the other 37."
    assert said.on_top(costs, some) == f"{told} 129 [113, 145]{end} Costs depend on what else is off."
    costs.iloc[2, 1], costs.iloc[0, 1] = 0.017, -0.001
    plain = told.replace(" (noise helped them look idle)", "").replace("[2", "[-1")
    assert said.on_top(costs, some) == f"{plain} 129 [17, 145]{end}"


def test_the_reference_serves_runs_like_it_only(tmp_path, monkeypatch):
    monkeypatch.setattr(said.study, "ROOT", tmp_path)
    place = layout.Chapter(tmp_path / "figures" / "controlled" / "00")
    place.shared.parent.mkdir(parents=True)
    place.shared.write_text('{"parameters": {"profile": "laptop"}}')
    for name in ("removed_at_once", "contest_paired"):
        table = layout.Chapter(tmp_path / "figures" / "controlled" / "06_do_measures_agree").table(name)
        table.parent.mkdir(parents=True, exist_ok=True), table.touch()
    run = lambda **given: SimpleNamespace(name="00", corpus="controlled", parameters={"profile": "laptop"} | given)  # noqa: E731
    assert said.reference(run(text="")) == tmp_path / "figures" / "controlled"
    for other in ({"profile": "tiny"}, {"overrides": "a=1"}, {"pretrained": "x"}, {"text": "x"}):
        assert said.reference(run(**other)) is None


def test_in_short_is_what_notebook_6_bears_out(tmp_path):
    table, here = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0), tmp_path / "controlled"
    first = (
        "1. Rank heads by gradient importance: a forward and a backward pass. With 3 heads off its choice costs 33 % of the "
    )
    first += "other's here"
    second = ".\n2. Check both choices on other text, beside random heads of the same types. Cut by the one that wins."
    plain = f"{first}{second}\n\n*Limits.* One model, one training: another gives other heads."
    assert said.in_short(table, None, "M", "") == plain and said.elsewhere(None) == ""
    assert said.in_short(table, None, "M", "natural") == f"{plain} It reads natural text."
    names = [said.GRADIENT, said.TRUTH, f"{said.GRADIENT}, by layer", "gradient, token", "L1 gates", removal.RANDOM]

    def write(corpus, name, *rows):
        rows = [(*row[:3], which, cost) for row in rows for which, cost in zip(names, row[3:], strict=False)]
        path = layout.Chapter(tmp_path / corpus / "06_do_measures_agree").table(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows, columns=["model", "seed", "heads", "criterion", "change"]).to_csv(path, index=False)

    cuts = [("M, all kinds", 1, 4, 2, 4, 6, 1, 3, 9), ("N, all kinds", 1, 8, 3, 2, 30, 1, 2, 9)]
    write("controlled", "removed_at_once", *cuts, ("decoder of today", 1, 4, 2, 1), ("M", 1, 4, 9, 1))
    write("natural", "removed_at_once", ("E", 1, 4, 3, 2))
    write("controlled", "removed_and_trained_on", ("M", 1, 4, 20, 21), ("M", 2, 4, 21, 20))
    none = [float("nan")] * 2
    for corpus in ("controlled", "natural"):
        rows = pd.DataFrame(
            [[2.0, 1.0, 3.0, 1.0], [1.0, -1.0, 3.0, 0.5]] if corpus == "controlled" else [[0.5, *none, 1.0], [0.7, *none, 1.0]],
            names[:2],
        )
        rows.columns = pd.MultiIndex.from_product([[removal.RANDOM], ["difference", "low", "high", "probability"]])
        rows.rename_axis("criterion").to_csv(layout.Chapter(tmp_path / corpus / "06_do_measures_agree").table("contest_paired"))
    assert said.in_short(table, here, "M", "") == (
        f"{first}, 50 to 150 % in 2 cuts of heads of all types in notebook 6 (this training 50 %), 150 % in 1 cuts of encoder"
        f" heads on Europarl{second}\n3. If the model trains on, encoder heads chosen by the gradient beat random heads by 2.0"
        " [1.0, 3.0] BLEU, by the loss 1.0 [-1.0, 3.0] (2 trainings; Europarl, one: 0.5 and 0.7).\n\n*Limits.* One model, one"
        " training: another gives other heads. The gradient costs less in 0 of 1 cuts of a decoder-only model."
    )
    assert said.elsewhere(here) == (
        "In 2 other cuts of heads of all types (notebook 6), gradient importance divided by its layer's norm, as in Michel et"
        " al., costs 3 to 10 times as much as ours, in 1 no less than random heads. Cheaper, not tested: the gradient per token"
        " in 2, L1 gates (trained under a price on their size) in 1."
    )
