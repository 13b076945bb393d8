"""What notebook 00 says of its tables."""

from types import SimpleNamespace

import pandas as pd
import pytest

from helpers.measures.removal import least
from helpers.methods import removal, said
from helpers.study import layout

HEADS = pd.MultiIndex.from_product([["encoder", "cross"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
LOSS = pd.Series([0.0, 0.005, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4], HEADS)


@pytest.fixture
def single():
    return pd.DataFrame({"loss": LOSS, "low": LOSS - 0.001, "high": LOSS + 0.001})


def test_heads_that_raise_the_loss_are_counted_by_type(single):
    end = " That does not tell what you can cut together.**"
    assert said.needed(single) == "**Missed when off alone: all 4 cross heads, and 1 of 4 encoder heads." + end
    assert said.needed(single.loc[["encoder"]]) == "**Missed when off alone: 1 of 4 heads." + end
    assert said.needed(single.loc[["cross"]]) == "**Missed when off alone: all 4 heads." + end
    none = single.loc[["encoder"]].assign(low=-1.0, high=1.0)
    assert said.needed(none) == "**Missed when off alone: none of 4 heads." + end


def test_heads_that_change_it_only_uncorrected_are_told_apart(single):
    assert said.uncorrected(single) == ""
    single.loc[("encoder", 1, 0), :] = (0.010, 0.0001, 0.0199)
    assert said.uncorrected(single) == "1 more encoder head passes only before correction."
    single.loc[("encoder", 0, 0), :] = (-0.010, -0.0199, -0.0001)
    assert said.uncorrected(single) == "2 more encoder heads pass only before correction; one of them lowers the loss."
    assert said.uncorrected(single.loc[["encoder"]]).startswith("2 more heads pass only")


def test_heads_cost_more_together_than_the_sum_of_each_alone():
    names = ["together", "together_low", "together_high", "alone", "alone_low", "alone_high"]
    row = pd.Series([0.05, 0.04, 0.06, 0.01, 0.005, 0.02], names, name=4)
    assert said.together(row) == (
        "Off at once, the 4 cheapest heads cost 50 [40, 60] millinats per token, and their single costs add up to 10 [5, 20]."
    )


def won(costs, alike, random, off=3):
    rows = [("", removal.RANDOM, draw, off, random) for draw in range(3)]
    for name, own in costs.items():
        rows += [(name, removal.CHOICE, 0, off, own), *((name, removal.ALIKE, draw, off, alike) for draw in range(3))]
    rows = pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise"])
    return removal.against_random(rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01))


def test_choices_stand_beside_random_heads_of_the_same_types():
    table = won({"gradient": 0.1, "loss without": 0.3}, 0.2, 1.0)
    assert said.beside(table) == (
        "3 heads off: gradient 100, cheapest random draw of the same types 200; loss without 300, cheapest draw 200 (millinats"
        " per token)."
    )
    assert said.cost(table, 8) == (
        "3 of 8 heads off together cost 100 [90, 110] millinats per token if gradient chooses and 300 [290, 310] if the loss"
        " without chooses; random heads of the same types cost 200 or more."
    )
    alone = won({"a": 0.3}, 0.2, 1.0)
    assert said.cost(alone[alone.method == removal.RANDOM], 8).endswith("if a chooses; random heads cost 1,000 or more.")


def test_heads_that_look_idle_are_kept_by_one_choice(single):
    worth = pd.Series([0, 1, 2, 9, 4, 5, 6, 7.0], HEADS)
    other = pd.Series([0, 8, 1, 2, 3, 5, 6, 7.0], HEADS)
    single.loc[("cross", 0, 0), :] = (0.0, -0.1, 0.1)
    asked = []

    def rise(column, off):
        asked.append(least(column, off))
        return 0.02 if len(asked) == 1 else 0.1

    differ = "The two choices of 3 differ in 1 head."
    end = " A cuts 3 encoder heads, so this check only asks which 1 encoder heads to keep."
    told = said.traded({"a": worth, "loss": other}, 3, single, rise)
    assert told == (
        f"{differ} A gives up encoder 1.2 (layer.head), whose intervals lie above zero. It keeps encoder 2.2, whose intervals"
        f" hold zero. If the loss keeps these 1 too (2 off), it costs 20 and not 100. Alone they look idle; together they are"
        f" most of the damage.{end}"
    )
    assert asked == [[HEADS[0], HEADS[2]], [HEADS[0], HEADS[2], HEADS[3]]]
    assert said.traded({"a": worth, "b": worth}, 3, single, rise) == "The two choices of 3 differ in 0 heads." + end
    assert "cuts" not in said.traded({"a": -worth, "b": -worth}, 5, single, rise)
    plain, mixed = pd.Series(range(8), HEADS), pd.Series([0, 8, 1, 9, -1, -2, 6, 7.0], HEADS)
    assert said.traded({"a": plain, "b": mixed}, 4, single, lambda *_: 0.1).startswith(
        "The two choices of 4 differ in 2 heads. A gives up encoder 1.2 (layer.head), whose intervals lie above zero. It keeps"
        " cross 1.1, whose intervals hold zero, and cross 1.2. If b keeps these 1 too (3 off), it costs 100 and not 100. A"
    )


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
        " of the encoder trains on."
    )
    assert said.limits("natural", {}, None).endswith("It reads natural text.")
    assert said.limits("", {}, None).endswith("(notebook 6).")


def test_cuts_that_the_gradient_wins_are_counted(tmp_path):
    path = layout.Chapter(tmp_path / "06_do_measures_agree").table("removed_at_once")
    path.parent.mkdir(parents=True)
    rows = [("M, all kinds", 4, 1, 2), ("M, all kinds", 8, 3, 3), ("M", 4, 2, 1), ("M", 8, 0, 0), ("N, all kinds", 4, 1, 2)]
    rows.append(("decoder of today", 4, 2, 1))
    rows = [(m, 1, n, name, c) for m, n, *costs in rows for name, c in zip((said.GRADIENT, said.TRUTH), costs, strict=True)]
    pd.DataFrame(rows, columns=["model", "seed", "heads", "criterion", "change"]).to_csv(path, index=False)
    assert said.elsewhere(tmp_path, "M") == (
        "In notebook 6 gradient importance costs less in 1 of 2 cuts over all types (1 training, this one among them), in 1"
        " of 1 on other text, in 0 of 1 among encoder heads alone and in 0 of 1 of a decoder-only model."
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
        "Cutting half of the heads costs, in BLEU, 8.0 by the loss, 4.0 by other and 6.0 by the best random draw. With 6 off"
        " only other clearly beats the best draw."
    )
    with_draws = table.assign(change=table.change.mask(table.method == removal.ALIKE, -1.0))
    assert said.at_half(with_draws).endswith("With 6 off neither choice clearly beats the best draw.")
