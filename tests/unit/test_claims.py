"""Verdicts follow from the tables, by the rules of the ledger, and from nothing else."""

import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, ttest_1samp

from helpers import study
from helpers.experiments.comparison import over_models
from helpers.publish import claims
from helpers.study import StudyError, layout

BASE = {
    "id": "a", "paper": "one", "section": "section 1", "chapter": "03_l0_pruning", "claim": "Heads can go.",
    "printed": "10 of 48", "rule": "The change is above 0.", "natural": {"missing": "a model"},
}  # fmt: skip
EVIDENCE = {"table": "03_l0_pruning/t", "value": "change", "low": "low", "high": "high", "label": ["model"]}


def claim(**evidence):
    own = {name: evidence.pop(name) for name in ("id", "paper") if name in evidence}
    return claims.Claim.model_validate(BASE | own | {"controlled": EVIDENCE | evidence})


def frame(*rows):
    return pd.DataFrame(rows, columns=["model", "change", "low", "high"])


def judged(table, *given, **others):
    tables = {"03_l0_pruning/t": table} | others
    return claims.judge("controlled", tables.get, given)


@pytest.mark.parametrize(("rows", "verdict"), [
    ([("x", 2.0, 1.0, 3.0), ("y", 3.0, 2.0, 4.0)], "seen"), ([("x", 2.0, 1.0, 3.0), ("y", -2.0, -3.0, -1.0)], "partly"),
    ([("x", 2.0, 1.0, 3.0), ("y", 0.1, -1.0, 1.2)], "partly"), ([("x", -2.0, -3.0, -1.0), ("y", 0.1, -1.0, 1.2)], "no"),
    ([("x", 0.2, -1.0, 1.4), ("y", 0.1, -1.0, 1.2)], "inconclusive"),
])  # fmt: skip
def test_a_verdict_follows_from_where_the_intervals_lie(rows, verdict):
    assert judged(frame(*rows), claim())[0].verdict == verdict


def test_rows_without_interval_count_by_their_value():
    table = frame(("x", 0.3, None, None), ("y", 0.1, None, None))
    assert judged(table, claim(threshold=0.2))[0].verdict == "partly"
    assert judged(table, claim(threshold=0.2, share=0.5))[0].verdict == "seen"
    assert judged(table, claim(threshold=0.2, side="below", noun="models"))[0].number == "1 of 2 models"
    assert judged(table, claim(threshold=0.5, tells=False))[0].verdict == "inconclusive"


def test_holm_is_over_all_rows_of_a_paper():
    alone, more = claim(), [claim(id=name) for name in "bcd"]
    near = frame(("x", 1.0, 0.1, 1.9))  # p about .03
    assert (told := judged(near, alone)[0]).verdict == "seen" and not told.brief and not told.asked
    assert (told := judged(near, alone, *more)[0]).verdict == "inconclusive" and told.brief == "alone for"
    other = [claim(id=name, side="below", threshold=-0.5) for name in "abcd"]
    assert (told := judged(near, *other)[0]).verdict == "no" and told.asked == "≤\xa0-0.5"
    assert judged(near.assign(change=0.45, low=-0.45, high=1.35), *other)[0].brief == "alone against"  # p about .04
    assert not judged(near.assign(change=0.2, low=-1.0, high=1.4), *more)[0].brief
    assert judged(near, alone, *(claim(id=name, paper="two") for name in "bcd"))[0].verdict == "seen"


def test_a_reader_is_told_which_rows_are_open_because_of_the_correction_alone():
    near, wide = ("x", 1.0, 0.1, 1.9), ("y", 0.1, -1.0, 1.2)
    assert judged(frame(near), claim())[0].why == "above 0.0, after Holm's correction too"
    assert judged(frame(wide), claim())[0].why == "above 0.0 by its value, but not by its interval"
    alone = judged(frame(near), claim(), *(claim(id=name) for name in "bc"))[0]
    assert alone.why.startswith("above 0.0 by its own interval, not after Holm")
    both = judged(frame(near, near, wide), claim())[0]
    assert [row.side for row in both.rows] == ["open"] * 3 and "(2 for it by their own intervals, not" in both.why
    assert (both.alone, alone.alone) == (2, 1)
    assert "Holm" not in judged(frame(near, near), claim(side="below", tells=False))[0].why  # against, whatever the correction


def test_an_interval_over_few_trainings_is_a_t_interval():
    table = frame(("x", 1.27, 0.27, 2.27)).assign(seeds=3)  # p .013 if normal, .032 by t with two degrees of freedom
    both = (claim(), claim(id="b"))
    assert judged(table, *both)[0].verdict == "seen"
    both = (claim(trainings="seeds"), claim(id="b", trainings="seeds"))
    assert judged(table, *both)[0].verdict == "inconclusive"  # .064 after Holm
    assert judged(table, both[0])[0].verdict == "seen"
    assert {row.side for row in judged(pd.concat([table, table.assign(seeds=99)]), both[0])[0].rows} == {"for"}  # .032, .026


def test_thresholds_are_numbers_columns_or_the_best_of_other_rows():
    table = frame(("x", 2.0, 1.8, 2.2), ("y", 1.0, 0.8, 1.2)).assign(offset=[1.0, 1.5], rule=["p", "q"], group="main")
    assert [row.side for row in judged(table, claim(threshold="offset"))[0].rows] == ["for", "against"]
    assert [row.threshold for row in judged(table, claim(threshold=(1.2, "offset")))[0].rows] == [1.2, 1.5]
    shown = judged(table, claim(threshold="offset", scale=100))[0].rows
    assert [(row.value, row.threshold, row.side) for row in shown] == [(200, 100, "for"), (100, 150, "against")]
    random = pd.DataFrame({"rule": ["p", "p", "q"], "change": [0.1, 2.5, 0.2]})
    baseline = {"table": "03_l0_pruning/random", "value": "change"}
    by_rule = judged(table, claim(baseline=baseline, by=["rule"]), **{"03_l0_pruning/random": random})[0]
    assert [row.threshold for row in by_rule.rows] == [2.5, 0.2]
    assert [row.side for row in by_rule.rows] == ["against", "for"]


def test_a_baseline_s_own_interval_counts_where_the_ledger_names_it():
    """Two normal estimates, 1.0 +- 0.4 and 0.5 +- 0.3: their difference is 0.5 +- 0.5, so p is 0.05 (0.014 were one exact)."""
    table, other = frame(("x", 1.0, 0.6, 1.4)), pd.DataFrame({"change": [0.5, 0.1], "low": [0.2, 0.0], "high": [0.8, 0.2]})
    tables = {"03_l0_pruning/t": table, "03_l0_pruning/random": other}.get
    baseline = {"table": "03_l0_pruning/random", "value": "change"}
    exact, wide = (
        claims.evidence_rows(claim(baseline=baseline | more).controlled, tables)[0]
        for more in ({}, {"low": "low", "high": "high"})
    )
    assert exact.p == pytest.approx(2 * norm.sf(0.5 / (0.4 / norm.ppf(0.975))))
    assert wide.p == pytest.approx(0.05)
    assert (wide.low, wide.high, wide.threshold) == (0.6, 1.4, 0.5)  # a reader sees the row's own interval
    rho, other.loc[0] = frame(("x", 0.8, 0.6, 0.9)), [0.5, 0.2, 0.7]
    found = claims.evidence_rows(
        claim(correlation=True, baseline=baseline | {"low": "low", "high": "high"}).controlled,
        {"03_l0_pruning/t": rho, "03_l0_pruning/random": other}.get,
    )[0]
    one, two = np.arctanh([0.6, 0.8, 0.9]), np.arctanh([0.2, 0.5, 0.7])
    width = np.hypot(one[1] - one[0], two[2] - two[1]) + np.hypot(one[2] - one[1], two[1] - two[0])
    assert found.p == pytest.approx(2 * norm.sf((one[1] - two[1]) / (width / 2 / norm.ppf(0.975))))


def test_what_is_hollow_or_was_trained_too_seldom_is_not_testable_whatever_its_rows_say():
    table = frame(("x", 2.0, 1.0, 3.0), ("floor", -1.5, -2.0, -1.0))
    floor = {"where": {"model": "floor"}, "scale": -1, "least": 5}
    worth = {"table": "03_l0_pruning/t", "value": "change", "unit": "BLEU"} | floor
    one = judged(table, claim(where={"model": "x"}, worth=worth))[0]
    assert (one.verdict, one.hollow) == ("not testable", True) and "1.5 BLEU" in one.why and "2.0 [1.0, 3.0]" in one.number
    assert judged(table, claim(where={"model": "x"}, worth=worth | {"least": 1}))[0].verdict == "seen"
    apart = worth | {"where": {"model": "x"}, "less": {"model": "floor"}, "scale": 1, "least": 3.4}
    assert judged(table, claim(where={"model": "x"}, worth=apart))[0].worth == "3.5 BLEU"
    assert judged(table, claim(where={"model": "x"}, worth=apart | {"least": 3.6}))[0].hollow
    nothing = judged(table, claim(where={"model": "x"}, worth=apart | {"less": {"model": "none"}}))[0]
    assert nothing.verdict == "not testable" and not nothing.hollow
    every = worth | {"where": {"model": ["floor", "y"]}, "least": 1}  # of two models the one to which it is worth less
    less = frame(("x", 2.0, 1.0, 3.0), ("floor", -1.5, -2.0, -1.0), ("y", -9.0, -10.0, -8.0))
    assert judged(less, claim(where={"model": "x"}, worth=every))[0].worth == "1.5 BLEU"
    few = judged(table, claim(where={"model": "x"}, needs=3))[0]
    assert few.verdict == "not testable" and "one training" in few.why and not few.hollow


def test_the_row_whose_number_is_shown_is_named():
    table = frame(("alpha_beta", 2.0, 1.0, 3.0), ("cp", 4.0, 3.0, 5.0))
    one = judged(table, claim(headline={"model": "alpha_beta"}, over="models"))[0]
    assert (one.number, one.over) == ("2.0 [1.0, 3.0]", "relevance, LRP αβ; models")
    assert judged(table[:1], claim(headline={"model": "alpha_beta"}, over="models"))[0].over == "models"  # there is no other


def test_what_is_missing_is_not_testable_yet_and_shows_the_number_there_is():
    table = frame(("x", 2.0, 1.0, 3.0))
    missing = claims.Claim.model_validate(BASE | {"controlled": {"missing": "a control", "shows": EVIDENCE | {"unit": "BLEU"}}})
    one = judged(table, missing)[0]
    assert one.verdict == "not testable" and "a control" in one.why and one.number == "2.0 [1.0, 3.0] BLEU" and not one.hollow
    little = claims.Claim.model_validate(BASE | {"controlled": {"missing": "attention that is worth it", "brief": "hollow"}})
    assert judged(table, little)[0].hollow
    near = frame(("x", -0.04, -1.0, 1.0))
    assert judged(near, claim())[0].number == "0.0 [-1.0, 1.0]" and judged(near, claim(format="+.1f"))[0].number[:4] == "0.0 "
    for none in (claims.judge("controlled", {}.get, [claim()])[0], judged(table, claim(where={"model": "z"}))[0]):
        assert none.verdict == "not testable" and "not measured" in none.why


def test_a_ledger_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "claims.toml"
    with pytest.raises(StudyError, match=r"claims\.toml"):
        claims.ledger(path)
    for text in ("[[claim]\n", '[[claim]]\nid = "a"\n'):
        path.write_text(text)
        with pytest.raises(StudyError):
            claims.ledger(path)
    with pytest.raises(StudyError, match="'weight'"):
        judged(frame(("x", 1.0, 0.5, 1.5)), claim(where={"weight": 1}))


CHAPTERS = sorted({(track, one.chapter) for one in claims.ledger() for track in layout.TRACKS})


@pytest.mark.parametrize(("track", "chapter"), CHAPTERS)
def test_a_chapter_s_verdicts_do_not_depend_on_which_others_a_run_has(track, chapter, tmp_path):
    def verdicts(judged):
        return [(one.claim.id, one.verdict, one.why, one.number) for one in judged if one.claim.chapter == chapter]

    committed = study.ROOT / "figures" / track
    if not (committed / chapter).exists():
        pytest.skip("not run on this track")
    shutil.copytree(committed / chapter, tmp_path / "run" / chapter)
    assert verdicts(claims.of_run(tmp_path / "run", track)) == verdicts(claims.judge(track))
    study.write_json(tmp_path / "run" / chapter / "sidecars" / "run.json", {"parameters": {"profile": "another"}})
    alone = verdicts(claims.of_run(tmp_path / "run", track))
    for table in layout.tables(committed):
        if table.parent.parent.name != chapter:  # in which nothing was measured
            header = table.read_text(encoding="utf-8").splitlines()[0]
            study.write_text(tmp_path / "run" / table.relative_to(committed), header + "\n")
    assert verdicts(claims.of_run(tmp_path / "run", track)) == alone


def test_a_run_ends_with_the_verdicts_of_the_notebooks_it_executed(tmp_path):
    study.write_text(tmp_path / "quick-controlled" / "06_do_measures_agree.ipynb", "")
    assert "Verdicts of 5 claims: 5 not testable.\nRead on: " in claims.ending(tmp_path / "quick-controlled")


def test_the_ledger_holds_every_paper_and_committed_tables_answer_all_that_they_are_asked():
    ledger = claims.ledger()
    assert len({one.paper for one in ledger}) == 4 and len(ledger) >= 15
    for track in layout.TRACKS:
        judged = claims.judge(track)
        assert all(one.verdict in claims.VERDICTS and one.why for one in judged)
        lost = [one.claim.id for one in judged if "not measured" in one.why or "nothing says" in one.why]
        assert not lost, f"{track}: the tables named in claims.toml are not there for {lost}"


@pytest.mark.parametrize("track", ["controlled", "natural"])
def test_committed_tables_have_every_row_that_the_ledger_names(track):
    """A list of rows of which a table has only some would be judged by these in silence."""
    tables = claims.tables_in(study.ROOT / "figures" / track)
    for claim in claims.ledger():
        told = claims._first(getattr(claim, track), tables)
        told = told.shows if isinstance(told, claims.Missing) else told
        asked = [
            rows for rows in (told, told and told.baseline, told and told.worth) if rows and tables(rows.table) is not None
        ]
        for rows in asked:
            for where in (rows.where, rows.but, getattr(rows, "less", {})):
                for column, value in where.items():
                    wanted = set(value) if isinstance(value, list) else {value}
                    assert wanted <= set(tables(rows.table)[column]), (claim.id, column)


def test_correlations_are_tested_where_their_intervals_are_made():
    """Along Fisher's z the t interval is symmetric: it holds 0 exactly where p is above 0.05."""
    found = [
        over_models({(name, 1): rho for name, rho in zip("abc", values, strict=True)})
        for values in ((0.9, 0.2, 0.6), (0.9, 0.8, 0.7), (0.99, 0.8, 0.9))
    ]
    table = frame(*((name, one["rho"], one["low"], one["high"]) for name, one in zip("xyz", found, strict=True)))
    rows = claims.evidence_rows(claim(correlation=True, trainings=3).controlled, {"03_l0_pruning/t": table}.get)
    assert [row.p > 0.05 for row in rows] == [row.low < 0 for row in rows] == [True, False, True]
    assert rows[0].p == pytest.approx(ttest_1samp(np.arctanh([0.9, 0.2, 0.6]), 0).pvalue)


def test_intervals_of_the_ledger_hold_their_threshold_where_its_test_cannot_tell():
    for track in ("controlled", "natural"):
        tables = claims.tables_in(study.ROOT / "figures" / track)
        for one in claims.judge(track, tables):
            told = claims._first(getattr(one.claim, track), tables)
            if one.rows and told.baseline and told.baseline.low:
                continue  # two intervals decide
            for row in (row for row in one.rows if not np.isnan(row.p)):
                assert (row.p >= 0.05) == (row.low <= row.threshold <= row.high), (track, one.claim.id, row)
