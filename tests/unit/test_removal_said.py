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


def test_idle_heads_are_counted_by_type(single):
    assert said.idle(differ(single)) == (
        "Which heads change the loss, off alone? All 4 cross heads do, but only 1 of 4 encoder heads."
    )
    assert said.idle(differ(single.loc[["encoder"]])) == "Which heads change the loss, off alone? 1 of 4 heads."
    assert said.idle(differ(single.loc[["cross"]])) == "Off alone, every one of 4 heads changes the loss."


def test_layers_without_an_effect_are_named(single):
    frame = differ(single)
    assert said.by_layer(single.loc["encoder"], frame.loc["encoder"]) == (
        "1 of 4 heads change the loss (1 by Holm), 1 in layer 1, none in layer 2, whose order is noise"
    )
    assert said.by_layer(single.loc["cross"], frame.loc["cross"]) == "All 4 heads change the loss (4 by Holm)"


def won(own, alike, random, off=3):
    draws = [(removal.ALIKE, draw, off, alike) for draw in range(3)] + [
        (removal.RANDOM, draw, off, random) for draw in range(3)
    ]
    rows = pd.DataFrame([(removal.LEAST, 0, off, own), *draws], columns=["method", "draw", "heads", "rise"])
    rows = rows.assign(low=rows.rise - 0.01, high=rows.rise + 0.01)
    return removal.against_random(rows)


def test_the_type_of_heads_is_the_reason_only_where_it_is():
    mostly = said.because(LOSS, won(0.1, 0.2, 1.0))
    assert mostly.startswith("Of the 3 with the smallest *loss without the head* 3 are encoder heads, which is most of why")
    assert "(100 against 1,000 millinats per token)" in mostly and "100 against 200: less than 3 of 3 draws" in mostly
    assert "part of why" in said.because(LOSS, won(0.1, 0.9, 1.0)) and "why" not in said.because(LOSS, won(0.1, 1.0, 1.0))
    worse = said.because(LOSS, won(2.0, 1.0, 1.0))
    assert "no less than 3 random ones" in worse and "why" not in worse and "0 of 3 draws (one-sided p 1.000)" in worse
    table = won(0.1, 0.2, 1.0)
    assert "same types" not in said.because(LOSS, table[table.method == removal.RANDOM])


def test_random_draws_of_the_same_types_share_most_heads():
    assert said.who_stays(LOSS, 3) == ("A draw shares 2 of 3 encoder heads on average: the contest is about which 1 of 4 stay.")
    assert said.who_stays(LOSS, 4).endswith("the contest is about the others.")
    assert said.beside_types(won(0.1, 0.2, 1.0)) == (
        "The choice (line) costs 100 [90, 110] with 3 off; one-sided p beside *random, same types*: 0.250."
    )


def test_what_a_head_looks_at_is_said_of_this_sentence_alone():
    example = {"rows": ["r0", "r1", "r2", "r3", "r4", "r5"], "columns": ["a", "the", "b", "c", "d", "e"],
               "looks": "predicted token", "looked at": "source token attended to"}  # fmt: skip
    weights = np.zeros((6, 6))
    weights[range(6), [0, 2, 3, 2, 4, 5]] = 1
    assert said.looked(example | {"weights": weights}).endswith(
        "it follows the translation, not the position: skips *the*, goes back from *c* to *b* at `r3`."
    )
    assert said.looked(example | {"weights": weights[::-1]}) == "Here 100 % of a row's weight is on one token."
    assert said.looked(example | {"weights": np.eye(6)}).endswith("it goes in order.")


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
    assert said.yardsticks(tmp_path, "M") == {"removed": 70, "cost": 19, "never": 1, "sentences": 50}
    assert said.yardsticks(tmp_path, "other") == {}


def test_choices_with_further_training_are_told_from_random_by_their_intervals(tmp_path):
    path = layout.Chapter(tmp_path / "06_do_measures_agree").table("contest_paired")
    path.parent.mkdir(parents=True)
    columns = pd.MultiIndex.from_product([["random"], ["difference", "low", "high"]])
    index = pd.Index([said.TRUTH, said.GRADIENT], name="criterion")
    for low, expected in (
        ((-1, 1), "cannot be told from random heads; gradient importance can"),
        ((1, 1), "beats random heads ("),
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
    assert said.at_half(table, removal.LEAST, ["other"]) == (
        "With 4 heads left BLEU falls by 8.0 [7.0, 9.0] (loss without the head), 4.0 [3.0, 5.0] (other), 6.0 [5.0, 7.0] (the"
        " best of 2 draws of the same types) and 24 (random heads)."
    )
    said_of = said.better(table, removal.LEAST, ["other"])
    assert said_of == "*Other* chooses better there: 4 heads cut by it cost 4.0 BLEU, not 8.0."
    wide = table.assign(**{"change high": table["change high"] + 3})
    assert said.better(wide, removal.LEAST, ["other"]) == ""
