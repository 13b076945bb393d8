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


ROW = {"together": 0.05, "alone": 0.01, "other": 0.02, "times": 5.0}
ROW = pd.Series({f"{name}{end}": n * x for name, n in ROW.items() for end, x in (("", 1), ("_low", 0.8), ("_high", 2))}, name=4)


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    cost = "ff at once, the 4 cheapest heads cost 50 [40, 100] millinats per token, "
    assert said.together(ROW) == f"No: o{cost}5 [4, 10] times the sum of their single costs (10 [8, 20])."
    unsure = pd.Series({**ROW, "alone_low": -0.005}, name=4)
    assert said.together(unsure) == f"O{cost}and their single costs add up to 10 [-5, 20]."
    assert said.together(pd.Series({**ROW, "times_low": 0.9}, name=4)).startswith("Off at once")


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


def test_the_headline_is_the_price_where_it_is_known(single):
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    check = " So check before you cut."
    times, missed = (
        " Together, the 4 that cost least alone cost 5 [4, 10] times the sum of their single costs.",
        said.needed(single),
    )
    assert said.headline(single, ROW, table) == f"**{missed}**{times} By *gradient* as many cost 33 % as much.{check}"
    unsure = pd.Series({**ROW, "alone_low": 0.0}, name=4)
    assert "cost no more than the sum of their single costs that we can tell." in said.headline(single, unsure, table)
    price = (
        "Cutting 2 of 8 by *a* costs no BLEU that we can tell (0.5 [-0.5, 1.5]), 4 cost 2.0 [1.0, 3.0] and 6 cost 10.0 [9.0,"
    )
    price += " 11.0]; by *b* 1.0 [0.0, 2.0], 4.0 [3.0, 5.0] and 20.0 [19.0, 21.0]."
    assert said.headline(single, ROW, table, results()) == f"**{missed}** {price}{times}{check}"


def results():
    rows = [(method, 8, 0) for method in ("a", "b", removal.ALIKE)]
    for heads, scale in ((6, 0.5), (4, 2), (2, 10)):
        rows += [(method, heads, cost * scale) for method, cost in (("a", 1), ("b", 2), (removal.ALIKE, 3), (removal.ALIKE, 4))]
    table = pd.DataFrame(rows, columns=["method", "heads", "change"])
    return table.assign(**{"change": -table.change, "change low": -table.change - 1, "change high": -table.change + 1})


def test_the_best_draw_stands_beside_the_surest_choice():
    told = "The best of 2 random draws costs 1.5, 6.0 and 30.0 BLEU (500 sentences)."
    assert said.draws(results(), 500) == f"{told} With 2 off, no choice is surely better."


def test_what_two_choices_share_and_what_is_the_types():
    choices = {"a": pd.Series([0, 1, 2, 9, 4, 5, 6, 7.0], HEADS), "loss": pd.Series([0, 8, 1, 2, 3, 5, 6, 7.0], HEADS)}
    told = (
        "The choices of 4 share 3 heads. One by one, on the text of the choice, the 1 that only *loss* takes cost 3 millinats"
    )
    told += " per token, the 1 that only *a* takes 1. With them 4 off at once cost 50 [40, 100] and 20 [16,"
    single = pd.Series(range(8), HEADS) / 1000
    assert said.traded(dict.fromkeys("ab", LOSS), ROW, single) == "The choices of 4 are the same heads."
    for high, end in ((0.03, ": what a head costs depends on what else is off."), (0.05, ".")):
        row = pd.Series({**ROW, "other_high": high}, name=4)
        assert said.traded(choices, row, single) == f"{told} {1000 * high:.0f}] on test text{end}"
    assert said.typed(choices, won({"a": 0.1, "loss": 0.3}, 0.2, 1.0)) == (
        "Of the choices of 3, 3 and 3 are encoder heads. Random heads of any type cost 1,000: of what the choices gain on them,"
        " any heads of these types gain 89 % and 114 %."
    )


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
    first = "1. Rank heads by gradient importance: a forward and a backward pass. In loss its choice costs "
    second = ".\n2. Check both choices on other text, beside random heads of the same types. Cut by the one that wins."
    plain = f"{first}33 % of the other's in 1 cut here{second}\n\n*Limits.* One model, one training: another gives other heads."
    assert said.in_short(table, None, "M", "") == plain and said.elsewhere(None) == ""
    assert said.in_short(table, None, "M", "natural") == f"{plain} It reads natural text."
    names = [said.GRADIENT, said.TRUTH, f"{said.GRADIENT}, by layer", removal.RANDOM]

    def write(corpus, name, *rows):
        rows = [(*row[:3], which, cost) for row in rows for which, cost in zip(names, row[3:], strict=False)]
        path = layout.Chapter(tmp_path / corpus / "06_do_measures_agree").table(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows, columns=["model", "seed", "heads", "criterion", "change"]).to_csv(path, index=False)

    cuts = [("M, all kinds", 1, 4, 2, 4, 5.5, 9), ("N, all kinds", 1, 8, 3, 2, 6, 9)]
    write("controlled", "removed_at_once", *cuts, ("decoder of today", 1, 4, 2, 1, 2, 9), ("M", 1, 4, 8, 1, 8.25, 9))
    write("natural", "removed_at_once", ("E", 1, 4, 3, 2))
    write("controlled", "removed_and_trained_on", ("M", 1, 4, 20, 21), ("M", 2, 4, 21, 20))
    rows = pd.DataFrame([[2.0, 1.0, 3.0, 1.0], [1.0, -1.0, 3.0, 0.5]], names[:2])
    rows.columns = pd.MultiIndex.from_product([[removal.RANDOM], ["difference", "low", "high", "probability"]])
    place = lambda corpus: layout.Chapter(tmp_path / corpus / "06_do_measures_agree")  # noqa: E731
    rows.rename_axis("criterion").to_csv(place("controlled").table("contest_paired"))
    values = dict(zip(names, (-0.5, -0.3, 0, -1.0), strict=True))
    contest = pd.DataFrame([*values.items(), (said.TRUTH, -0.9)], columns=["criterion", "value"])  # another test set behind
    contest.to_csv(place("natural").table("contest"))
    assert said.in_short(table, here, "M", "", results().assign(loss=-results().change)) == (
        f"{first}50 % of the other's in 3 cuts here, 50 to 150 % in 2 cuts of 2 trainings (notebook 6), 150 % in 1 cut of"
        f" encoder heads on Europarl{second}\n3. If the model trains on, the gradient's encoder heads beat random ones by 2.0"
        " [1.0, 3.0] BLEU, the loss's are not told from them (1.0 [-1.0, 3.0]; 2 trainings). On Europarl (one training) both"
        " do, by 0.5 and 0.7.\n\n*Limits.* One model, one training: another gives other heads. The gradient costs more in 1 of"
        " 1 cuts of a decoder-only model."
    )
    assert said.elsewhere(here) == (
        "Divided by its layer's norm, as in Michel et al., gradient importance keeps 50 % of its gain on random heads where"
        " heads of all types go, 75 to 100 % where heads of one type go (notebook 6, 4 settings)."
    )
