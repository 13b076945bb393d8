"""Verdicts follow from the tables, by the rules of the ledger, and from nothing else."""

import math

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import norm

from helpers import claims, study
from helpers.study import StudyError

HEAD = (
    '[[paper]]\nname = "one"\n[[paper.claim]]\nid = "a"\nclaim = "Heads can go."\nsection = "1"\nprinted = "10"\nrule = "Up."\n'
)
FIELDS = {"table": "03_l0_pruning/t", "value": "change"}
COLUMNS = ["model", "change", "low", "high"]


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def rows(table, **fields):
    return claims.rows_of(claims.Evidence(**FIELDS | fields), {"03_l0_pruning/t": table}.get)


def sides(table, **fields):
    return [row.side for row in rows(table, **fields)]


def judged(table, column="generated", worth=None, **fields):
    columns = dict.fromkeys(claims.COLUMNS, claims.Evidence(**FIELDS | fields))
    worth = {column: claims.Worth(table="03_l0_pruning/t", value="change", **worth)} if worth else {}
    texts = dict.fromkeys(("id", "paper", "section", "claim", "printed", "rule"), "x")
    return claims.judge(claims.Claim(columns=columns, worth=worth, **texts), column, {"03_l0_pruning/t": table}.get)


FOR, AGAINST, OPEN = ("x", 2.0, 1.5, 2.5), ("x", -2.0, -2.5, -1.5), ("x", 0.1, -1.0, 1.2)


@pytest.mark.parametrize(("table", "verdict"), [
    ([FOR, FOR], "holds"), ([FOR, OPEN], "cannot tell"), ([OPEN, OPEN], "cannot tell"), ([FOR, AGAINST], "mixed"),
    ([FOR] + [AGAINST] * 3, "mixed"), ([FOR] + [AGAINST] * 4, "does not hold"), ([AGAINST, OPEN], "does not hold"),
    ([FOR] * 9 + [AGAINST], "mixed"), ([FOR] + [AGAINST] * 6 + [OPEN], "does not hold"),
])  # fmt: skip
def test_a_verdict_follows_from_where_the_intervals_lie(table, verdict):
    assert judged(frame(*table)).verdict == verdict


def test_rows_without_interval_count_by_their_value():
    table = frame(("x", 0.3, None, None), ("y", 0.1, None, None))
    assert sides(table, threshold=0.2) == sides(table, threshold=0.2, interval=[]) == ["for", "against"]
    assert sides(table, threshold=0.2, side="below") == ["against", "for"]
    assert judged(table, threshold=0.2, noun="models").number == "1 for, 1 against of 2 models"


def test_holm_is_over_the_rows_of_a_claim():
    near = ("x", 1.0, 0.1, 1.9)  # p about .03
    assert sides(frame(near)) == ["for"] and sides(frame(near, near)) == ["open"] * 2
    assert sides(frame(near, FOR)) == ["for", "for"]  # step down
    table = frame(near, near).assign(p=[0.02, 0.03])
    assert sides(table, p="p") == ["for", "for"] and sides(table.assign(p=[0.04, 0.9]), p="p") == ["open", "open"]


def test_an_interval_over_few_trainings_is_a_t_interval():
    table = frame(("x", 1.27, 0.27, 2.27)).assign(seeds=3)  # p .013 if normal, .032 by t with two degrees of freedom
    assert [row.p for row in rows(table)] == pytest.approx([0.0128], abs=1e-3)
    assert [row.p for row in rows(table, trainings="seeds")] == pytest.approx([0.032], abs=1e-3)


def test_thresholds_are_numbers_columns_or_other_rows():
    table = frame(("x", 2.0, 1.8, 2.2), ("y", 1.0, 0.8, 1.2)).assign(offset=[1.0, 1.5])
    assert sides(table, threshold="offset") == ["for", "against"]
    assert [row.threshold for row in rows(table, threshold=[1.2, "offset"])] == [1.2, 1.5]
    assert [row.threshold for row in rows(table, threshold="offset", times=0.1, scale=100)] == pytest.approx([10, 15])
    assert [(row.value, row.low) for row in rows(table, scale=100)] == [(200, 180), (100, 80)]
    both = pd.concat([table.assign(weights="trained"), table.assign(weights="random", change=[2.5, 0.2], low=0.0, high=5.0)])
    by_model = rows(both, where={"weights": "trained"}, baseline={"weights": "random"}, by="model")
    assert [row.threshold for row in by_model] == [2.5, 0.2]


def test_a_baseline_s_own_interval_counts():
    """Two normal estimates, 1.0 +- 0.4 and 0.5 +- 0.3: their difference is 0.5 +- 0.5, so p is 0.05 (0.014 were one exact)."""
    fields = {"where": {"kind": "own"}, "baseline": {"kind": "other"}, "by": "model"}
    (row,) = rows(frame(("x", 1.0, 0.6, 1.4), ("x", 0.5, 0.2, 0.8)).assign(kind=["own", "other"]), **fields)
    assert row.p == pytest.approx(0.05) and (row.low, row.high, row.threshold) == (0.6, 1.4, 0.5)
    (row,) = rows(frame(("x", 0.8, 0.6, 0.9), ("x", 0.5, 0.2, 0.7)).assign(kind=["own", "other"]), correlation=True, **fields)
    one, two = np.arctanh([0.6, 0.8, 0.9]), np.arctanh([0.2, 0.5, 0.7])
    width = np.hypot(one[1] - one[0], two[2] - two[1]) + np.hypot(one[2] - one[1], two[1] - two[0])
    assert row.p == pytest.approx(2 * norm.sf((one[1] - two[1]) / (width / 2 / norm.ppf(0.975))))


def test_a_model_is_hollow_that_loses_less_than_a_share_of_its_score():
    """Not less than some points: of these two the one with the lower score loses fewer, and needs its heads more."""
    table = frame(("low", 12.0, 11.0, 13.0), ("low, without", 9.0, 8.0, 10.0), ("high", 80.0, 79.0, 81.0))
    table = pd.concat([table, frame(("high, without", 76.0, 75.0, 77.0))])
    low, high = ({"where": {"model": name}, "less": {"model": f"{name}, without"}, "share": 0.1} for name in ("low", "high"))
    assert judged(table, where={"model": "low"}, worth=low).verdict == "holds"  # loses 3 of 12
    one = judged(table, where={"model": "high"}, worth=high)  # 4 of 80
    assert (one.words, one.number) == ("not tested (hollow)", "80.0 [79.0, 81.0]")
    assert judged(table, where={"model": "high"}, worth=high | {"share": 0.04}).verdict == "holds"
    assert judged(table, worth=high | {"less": {"model": "z"}}).reason == "no control"


def test_a_share_is_of_a_cost_with_its_sign_and_the_least_of_several_rows():
    table = frame(("x", -1.0, -2.0, -0.5), ("x", -3.0, -4.0, -2.0)).assign(whole=[20.0, 20.0])
    lost = {"score": "whole", "scale": -1, "share": 0.1}
    assert judged(table, worth=lost).reason == "hollow" and judged(table, worth=lost | {"share": 0.04}).reason == ""
    assert judged(table, worth=lost | {"scale": 1, "share": 0.01}).reason == "hollow"  # better without heads
    assert judged(table.assign(change=0.0, whole=0.0), worth=lost).reason == "hollow"


def test_what_was_trained_too_seldom_is_not_tested_whatever_its_rows_say():
    table = frame(("x", 2.0, 1.0, 3.0))
    assert judged(table, needs=3).words == "not tested (one training)"
    assert judged(table, needs=3, trainings=2).reason == "2 trainings"


def test_what_is_not_there_is_not_tested():
    table = frame(("x", -0.04, -1.0, 1.0))
    assert judged(table, missing="not run").words == judged(table, where={"model": "z"}).words == "not tested (not run)"
    assert judged(None).words == "not tested (not run)"
    assert judged(table).number == "0.0 [-1.0, 1.0]" and judged(table, unit="BLEU").number.endswith("] BLEU")
    with pytest.raises(StudyError, match="'weight'"):
        judged(table, where={"weight": 1})


def test_a_verdict_that_another_training_does_not_give_becomes_cannot_tell():
    one = judged(frame(("x", 0.5, 0.4, 0.6)))
    each = pd.DataFrame({"claim": [one.claim.id, one.claim.id, "other"], "verdict": ["holds", "mixed", "mixed"]})
    assert claims.agreed(one, each).verdict == "cannot tell" and claims.agreed(one, each.iloc[[0, 2]]) == one


def test_a_column_has_what_the_claim_and_its_chapter_say_but_for_what_it_changes(tmp_path):
    path = tmp_path / "claims.toml"
    shared = '[chapter.03_l0_pruning]\nover = "trainings"\nworth = "w"\n'
    shared += '[worth.w]\ntable = "a/b"\neuroparl = {share = 0.2}\n'
    path.write_text("share = 0.1\n" + HEAD + 'table = "03_l0_pruning/t"\neuroparl = {over = "sentences"}\n' + shared)
    (claim,) = claims.ledger(path)
    assert [evidence.over for evidence in claim.columns.values()] == ["trainings", "sentences", "trainings"]
    assert {column: worth.share for column, worth in claim.worth.items()} == {"generated": 0.1, "europarl": 0.2}
    assert claim.columns["pretrained"].missing == "not run" and claim.chapter == "03_l0_pruning"
    (tmp_path / "other.toml").write_text(HEAD + 'table = "a/b"\nvalues = "x"\n')
    with pytest.raises(ValidationError, match="values"):
        claims.ledger(tmp_path / "other.toml")


def test_the_ledger_is_small_and_of_the_papers():
    ledger = claims.ledger()
    assert len(ledger) <= 22 and len({one.id for one in ledger}) == len(ledger)
    assert [one.id for one in ledger if one.paper == "this study"] == ["gradient-predicts"]
    assert len(claims.LEDGER.read_text(encoding="utf-8").splitlines()) <= 450


@pytest.mark.parametrize("column", claims.COLUMNS)
def test_committed_tables_have_every_row_that_the_ledger_names(column):
    """A list of rows of which a table has only some would be judged by these in silence."""
    tables = claims.tables_in(study.ROOT / "figures" / claims.COLUMNS[column])
    for one in claims.committed(column):
        evidence = one.claim.columns[column]
        assert one.reason != "no control"
        for rows in (evidence, one.claim.worth.get(column)) if one.rows else ():
            for where in (rows.where, rows.but, getattr(rows, "less", {}), getattr(rows, "baseline", {})) if rows else ():
                for name, value in where.items():
                    wanted = set(value) if isinstance(value, list) else {value}
                    assert wanted <= set(tables(rows.table)[name]), (one.claim.id, name)
        for row in one.rows:  # the interval that is shown holds the threshold where the test alone cannot tell
            alone = len(one.rows) == 1 and not math.isnan(row.p) and not evidence.baseline
            assert not alone or (row.p >= 0.05) == (row.low <= row.threshold <= row.high), one.claim.id
