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
    assert said.needed(single).startswith(
        "**All 4 cross heads, and surely 1 of 4 encoder heads.** Off alone, each raises the loss"
    )
    assert said.needed(single.loc[["encoder"]]).startswith("**1 of 4 heads.** Off alone")
    assert said.needed(single.loc[["cross"]]).startswith("**All 4 heads.** Off alone")
    none = single.loc[["encoder"]].assign(low=-1.0, high=1.0)
    assert said.needed(none).startswith("**None of 4 heads.**")


def test_heads_that_change_it_only_uncorrected_are_told_apart(single):
    single.loc[("encoder", 0, 0), :] = (-0.010, -0.0199, -0.0001)
    single.loc[("encoder", 1, 0), :] = (0.010, 0.0001, 0.0199)
    assert said.needed(single).endswith(" 2 more encoder heads change it only uncorrected; 1 lowers it.")


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    columns = ["together", "together_low", "together_high", "alone", "alone_low", "alone_high"]
    curve = pd.DataFrame([[0.05, 0.04, 0.06, 0.01, 0.005, 0.02], [0.2, 0.1, 0.3, 0.02, 0.01, 0.03]], [4, 8], columns)
    first = (
        "Off at once, the 4 cheapest heads cost 50 [40, 60] millinats per token, and their single costs add up to 10 [5, 20]"
    )
    assert said.together(curve.loc[4], curve.loc[8]) == f"{first}; with 8 it is 200 against 20."
    assert said.together(curve.loc[4], curve.loc[4]) == f"{first}."


def won(costs, alike, random, off=3):
    rows = [("", removal.RANDOM, draw, off, random) for draw in range(3)]
    for name, own in costs.items():
        rows += [(name, removal.CHOICE, 0, off, own), *((name, removal.ALIKE, draw, off, alike) for draw in range(3))]
    rows = pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise"])
    return removal.against_random(rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01))


def test_choices_stand_beside_random_heads_of_the_same_types():
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    assert said.beside(table) == (
        "With 3 heads off the loss rises, in millinats per token: by gradient 100 (200) and the loss without 300 (200);"
        " in brackets the cheapest random draw of the same types."
    )
    assert said.passed(table) == "with 3 off, gradient beats every random draw of the same types; the loss without does not"
    assert said.passed(won({"a": 0.3}, 0.2, 1.0)) == "with 3 off, none beats every random draw of the same types"
    assert said.passed(won({"a": 0.1, "b": 0.1}, 0.2, 1.0)) == "with 3 off, a and b beat every random draw of the same types"
    alone = won({"a": 0.3}, 0.2, 1.0)
    assert said.passed(alone[alone.method == removal.RANDOM]) == "with 3 off, a beats every random draw"


def test_heads_of_one_choice_only_are_named_from_one():
    worth = pd.Series([0, 1, 2, 3, 4, 5, 6, 7.0], HEADS)
    other = pd.Series([0, 1, 2, 8, 3, 5, 6, 7.0], HEADS)
    assert said.shared({"a": worth, "loss": other}, 4) == (
        "The two choices of 4 share 3 heads. Of the rest (layer.head), only a takes encoder 2.2, and only the loss takes"
        " cross 1.1."
        " A takes 4 of the 4 encoder heads, so a draw of the same types shares at least 4 with it: a weak check."
    )
    assert said.shared({"a": worth, "b": worth}, 2) == "The two choices of 2 share 2 heads."


def test_alignment_is_read_of_the_published_model(tmp_path):
    path = layout.Chapter(tmp_path / "02_head_functions").table("alignment_x")
    path.parent.mkdir(parents=True)
    path.write_text("kind,layer,head,predicted\ncross,0,1,0.74\n")
    told = "Over the whole text it points at the aligned word in 74 % (notebook 2)."
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
    assert said.yardsticks(None, "M") == {} == said.yardsticks(tmp_path, "M")


def test_yardsticks_are_differences_of_the_same_training(tmp_path):
    path = layout.Chapter(tmp_path / "01_relevance_and_confidence").table("bleu")
    path.parent.mkdir(parents=True)
    names = ["M", "M, no encoder heads", "M, trained on", "M, encoder heads removed, trained on"]
    pd.DataFrame({"model": names, "sentences": 50, "bleu": [88.0, 87.0, 89.0, 70.0]}).to_csv(path, index=False)
    assert said.yardsticks(tmp_path, "M") == {"cost": 19, "never": 1}
    assert said.yardsticks(tmp_path, "other") == {}
    cut = pd.DataFrame({"method": [removal.ENCODER], "change": [-33.3]})
    assert said.limits("controlled", {"never": 1.0, "cost": 12.4}, cut).endswith(
        "(trained without it: -1.0 BLEU), but this model does: all encoder heads cut costs 33.3 BLEU, or 12.4 where the rest"
        " trains on."
    )
    assert said.limits("natural", {}, None).endswith("It reads natural text.")
    assert said.limits("", {}, None).endswith("(notebook 6).")


def test_cuts_that_the_gradient_wins_are_counted(tmp_path):
    path = layout.Chapter(tmp_path / "06_do_measures_agree").table("removed_at_once")
    path.parent.mkdir(parents=True)
    rows = [("M, all kinds", 4, 1, 2), ("M, all kinds", 8, 3, 3), ("M", 4, 2, 1), ("other", 4, 1, 2)]
    rows = [(m, 1, n, name, c) for m, n, *costs in rows for name, c in zip((said.GRADIENT, said.TRUTH), costs, strict=True)]
    pd.DataFrame(rows, columns=["model", "seed", "heads", "criterion", "change"]).to_csv(path, index=False)
    assert said.elsewhere(tmp_path, "M") == (
        "In notebook 6 gradient importance costs less in 1 of 1 cuts of this kind of model and in 1 of 2 others."
    )
    assert said.elsewhere(None, "M") == said.elsewhere(tmp_path / "no", "M") == "Other models may differ."


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
        "Cutting half of the heads costs 8.0 BLEU if the loss chooses and 4.0 BLEU if other chooses; the best of 2 random draws"
        " of the same types costs 6.0."
    )
    assert said.in_detail(table).startswith(
        "With 4 heads left BLEU falls by 8.0 [7.0, 9.0] by the loss, 4.0 [3.0, 5.0] by other, 6 to 12 by"
    )
