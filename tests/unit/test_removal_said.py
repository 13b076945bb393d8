"""What notebook 00 says of its tables."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.measures.measured import effects_that_differ
from helpers.methods import removal, said
from helpers.study import layout

HEADS = pd.MultiIndex.from_product([["encoder", "cross"], [0, 1], [0, 1]], names=["kind", "layer", "head"])
LOSS = pd.Series([0.0, 0.005, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4], HEADS)


@pytest.fixture
def single():
    return pd.DataFrame({"loss": LOSS, "low": LOSS - 0.001, "high": LOSS + 0.001})


def differ(single):
    return effects_that_differ({("m", 1): single}).droplevel(["model", "seed"])


def test_heads_that_change_the_loss_are_counted_by_type(single):
    assert said.needed(differ(single)).startswith(
        "**All cross heads, and 1 of 4 encoder heads.** Each of these changes the loss"
    )
    assert said.needed(differ(single.loc[["encoder"]])).startswith("**1 of 4 heads.** Each")
    assert said.needed(differ(single.loc[["cross"]])).startswith("**All 4 heads.** Each")
    none = single.loc[["encoder"]].assign(low=-1.0, high=1.0)
    assert said.needed(differ(none)).startswith("**None of 4 heads.**")
    assert said.where(none, differ(none)) == "Of no encoder head can we tell that it changes the loss."


def test_the_layer_with_most_effects_is_named(single):
    assert said.where(single, differ(single)) == "Layer 1 has 1 of the 1 encoder heads that change the loss."
    assert said.where(single.loc[["cross"]], differ(single.loc[["cross"]])).startswith("Every head changes")


def test_heads_cost_more_together_only_where_intervals_lie_apart():
    half = pd.Series({"alone": 0.01, "alone_low": 0.005, "alone_high": 0.02, "together": 0.1, "together_low": 0.05}, name=4)
    assert "off at once, the 4 heads that cost least cost about 10 times the sum" in said.together(half)
    assert "cost far more than the sum" in said.together(half.replace(0.01, -0.01))
    assert "no more than" in said.together(half.replace(0.05, 0.01))


def won(own, alike, random, off=3):
    draws = [(removal.ALIKE, draw, off, alike) for draw in range(3)] + [
        (removal.RANDOM, draw, off, random) for draw in range(3)
    ]
    rows = pd.DataFrame([(removal.LEAST, 0, off, own), *draws], columns=["method", "draw", "heads", "rise"])
    rows = rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01)
    return removal.against_random(rows)


def test_the_choice_stands_beside_random_heads_of_any_type_and_of_the_same():
    table = won(0.1, 0.2, 1.0)
    assert said.beside(table) == (
        "With 3 heads off, the choice costs 100 millinats per token; random heads of the same types cost 200 on average and"
        " random heads of any type cost 1,000 on average."
    )
    assert said.surely(table) == (
        "The choice beside random heads of the same types: with 3 off it costs less than 3 of 3 draws (perhaps luck)"
    )
    alone = said.surely(table[table.method == removal.RANDOM].assign(p=0.04))
    assert "same types" not in alone and alone.endswith("(hardly luck)")


def test_what_a_head_looks_at_is_said_of_this_sentence_alone():
    example = {"rows": ["r0", "r1", "r2", "r3", "r4", "r5"], "columns": ["a", "the", "b", "c", "d", "e"],
               "looks": "predicted token", "looked at": "source token attended to"}  # fmt: skip
    weights = np.zeros((6, 6))
    weights[range(6), [0, 2, 3, 2, 4, 5]] = 1
    assert said.looked(example | {"weights": weights}) == (
        "It follows the translation, not the position: here it skips *the* and goes back from *c* to *b* at `r3`."
    )
    assert said.looked(example | {"weights": weights[::-1]}) == ""
    assert said.looked(example | {"weights": np.eye(6)}) == "Here it goes in order."


def test_the_reference_serves_runs_like_it_only(tmp_path, monkeypatch):
    monkeypatch.setattr(said.study, "ROOT", tmp_path)
    place = layout.Chapter(tmp_path / "figures" / "controlled" / "00")
    place.shared.parent.mkdir(parents=True)
    place.shared.write_text('{"parameters": {"profile": "laptop"}}')
    run = lambda **given: SimpleNamespace(name="00", corpus="controlled", parameters={"profile": "laptop"} | given)  # noqa: E731
    assert said.reference(run(text="")) == tmp_path / "figures" / "controlled"
    for other in ({"profile": "tiny"}, {"overrides": "a=1"}, {"pretrained": "x"}, {"text": "x"}):
        assert said.reference(run(**other)) is None
    assert said.yardsticks(None, "M") == {} == said.yardsticks(tmp_path, "M") and "notebook 6" in said.with_training(tmp_path)


def test_yardsticks_are_differences_of_the_same_training(tmp_path):
    path = layout.Chapter(tmp_path / "01_relevance_and_confidence").table("bleu")
    path.parent.mkdir(parents=True)
    names = ["M", "M, no encoder heads", "M, trained on", "M, encoder heads removed, trained on"]
    pd.DataFrame({"model": names, "sentences": 50, "bleu": [88.0, 87.0, 89.0, 70.0]}).to_csv(path, index=False)
    assert said.yardsticks(tmp_path, "M") == {"cost": 19, "never": 1}
    assert said.yardsticks(tmp_path, "other") == {}
    assert said.limits("controlled", {"never": 1.0}).endswith("encoder attention: a model trained without it loses 1.0 BLEU.")
    assert said.limits("natural", {}).endswith("Its text is natural.") and said.limits("", {}).endswith("(notebook 6).")


def test_choices_with_further_training_are_told_from_random_by_their_intervals(tmp_path):
    path = layout.Chapter(tmp_path / "06_do_measures_agree").table("contest_paired")
    path.parent.mkdir(parents=True)
    columns = pd.MultiIndex.from_product([["random"], ["difference", "low", "high"]])
    index = pd.Index([said.TRUTH, said.GRADIENT], name="criterion")
    for low, expected in (
        ((-1, 1), "gradient importance beats random encoder heads, but the loss without the head cannot be told from random ("),
        ((1, 1), "the loss without the head and gradient importance beat random encoder heads ("),
        ((-1, -1), "after cutting, the loss without the head and gradient importance cannot be told from random ("),
    ):
        pd.DataFrame([(2, low[0], 4), (2, low[1], 4)], index, columns).to_csv(path)
        assert expected in said.with_training(tmp_path)


def test_bleu_of_choices_stands_beside_draws():
    columns = ["method", "heads", "bleu", "change", "change low", "change high"]
    rows = [(method, 8, 90, 0, 0, 0) for method in (removal.LEAST, "other", removal.RANDOM, removal.ALIKE)]
    for heads, scale in ((6, 1), (4, 4), (2, 10)):
        costs = [(removal.LEAST, 2), ("other", 1), (removal.RANDOM, 6), (removal.ALIKE, 1.5), (removal.ALIKE, 3)]
        rows += [
            (method, heads, 90 - cost * scale, -cost * scale, -cost * scale - 1, -cost * scale + 1) for method, cost in costs
        ]
    table = pd.DataFrame(rows, columns=columns)
    assert said.at_half(table, ["other"]) == (
        "Cutting half of the heads costs 4.0 BLEU if other chooses and 8.0 BLEU if the loss without the head chooses; the best"
        " random draw of the same types costs 6.0."
    )
    assert said.in_detail(table, ["other"]).startswith(
        "With 4 heads left BLEU falls by 8.0 [7.0, 9.0] by the loss without the head, 4.0 [3.0, 5.0] by other, 6 to 12 by"
    )
    assert said.better(table, ["other"]) == "other"
    wide = table.assign(**{"change high": table["change high"] + 3})
    assert said.better(wide, ["other"]) == ""
