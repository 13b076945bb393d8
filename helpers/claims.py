"""What the papers claim, and what the tables answer: `claims.toml` holds claims and rules, this file computes the verdicts.

A claim has one verdict in each column: generated text and Europarl, both with models trained here, and pretrained models. Rows
of tables decide. How a row comes to lie on a side, and how rows make a verdict, is written at the head of `claims.toml`.

`python -m helpers.claims` prints the verdicts of the committed tables; in a notebook `claims.show(run)` shows those of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from IPython.display import display
from pydantic import BaseModel, ConfigDict

from helpers import study
from helpers.scores.intervals import fisher, holm, p_value
from helpers.study import StudyError, layout

LEDGER = study.ROOT / "claims.toml"
FIGURES = study.ROOT / "figures"
COLUMNS = {"generated": "controlled", "europarl": "natural", "pretrained": "controlled"}  # folders of their tables
SHARED = ("pretrained", "regimes")  # folders of tables that are of no run
EACH = "regimes/europarl_verdicts"  # verdicts on heads of each training on Europarl, by `workflow/overnight.py`
LEVEL = 0.05  # of the tests, after Holm's correction
QUARTER = 0.25  # of the deciding rows has to be for a claim that is mixed

Verdict = Literal["holds", "mixed", "does not hold", "cannot tell", "not tested"]
Side = Literal["for", "against", "open"]
Tables = Callable[[str], "pd.DataFrame | None"]


class Rows(BaseModel):
    """Rows of a table CHAPTER/NAME, or FOLDER/NAME of a folder of `SHARED`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str
    where: dict[str, Any] = {}  # values, or lists of values, that columns must have
    but: dict[str, Any] = {}  # in the same way rows that are left out
    value: str = "value"


class Worth(Rows):
    """What taking heads away costs a model: its score minus that of rows without them (`less`), or `value` out of `score`."""

    less: dict[str, Any] = {}
    score: str = ""  # where `value` is the cost, the column of the score
    scale: float = 1.0  # -1 where a cost is negative
    share: float  # of the score that must be lost, or the model is hollow


class Evidence(Rows):
    """What answers a claim in one column."""

    missing: str = ""  # why it is not tested here; empty where it is
    interval: list[str] = ["low", "high"]  # columns of the interval's ends; empty if rows count by their value
    p: str = ""  # a column of one-sided p-values instead: a row can be for the claim, not against it
    threshold: float | str | list[float | str] = 0.0  # in shown units, or a column of the row; of several the largest
    times: float = 1.0  # what such a column is multiplied by
    baseline: dict[str, Any] = {}  # `where` of other rows of the table, whose value, with its interval, is the threshold
    by: str = ""  # of those rows that which is alike in this column
    side: Literal["above", "below"] = "above"  # of the threshold, for the claim
    correlation: bool = False  # values are correlations, tested on Fisher's scale
    over: str = ""  # what intervals are over
    trainings: int | str = 1  # how many are behind a row, or the column that says it
    needs: int = 1  # how many the claim asks for
    worth: str = ""  # what must be worth enough, as the ledger names it
    scale: float = 1.0  # of the table's units into shown ones
    format: str = ".1f"
    unit: str = ""
    noun: str = "rows"  # what is counted where there are several


class Claim(BaseModel):
    """A claim, what the paper prints, the rule that decides it, and the evidence of each column."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str
    section: str
    claim: str
    printed: str
    rule: str
    limits: str = ""  # what the verdict does not say
    columns: dict[str, Evidence]
    worth: dict[str, Worth]  # by column

    @property
    def chapter(self) -> str:
        """The notebook that answers it."""
        return self.columns["generated"].table.partition("/")[0]


@dataclass(frozen=True)
class Row:
    """One row of evidence in shown units; low and high are nan without an interval, p without a test."""

    value: float
    low: float
    high: float
    threshold: float
    p: float  # after Holm's correction
    side: Side


@dataclass(frozen=True)
class Judged:
    """A claim's verdict in a column."""

    claim: Claim
    verdict: Verdict
    reason: str = ""  # in a word or two, of what is not tested
    number: str = ""  # the value with its interval, or how many rows lie on which side
    rows: tuple[Row, ...] = ()

    @property
    def words(self) -> str:
        """The verdict as readers see it."""
        return f"{self.verdict} ({self.reason})" if self.reason else self.verdict


# --- the ledger ------------------------------------------------------------------------------------------------------


@cache
def ledger(path: Path = LEDGER) -> tuple[Claim, ...]:
    """The claims, in their order; a field that is unknown or missing is an error."""
    content = study.read_toml(path)
    return tuple(_claim(paper["name"], fields, content) for paper in content["paper"] for fields in paper["claim"])


def _claim(paper: str, fields: Mapping[str, Any], content: Mapping[str, Any]) -> Claim:
    """A claim from its fields, those of its chapter where it has none, and what each column changes."""
    texts = {name: fields[name] for name in ("id", "section", "claim", "printed", "rule", "limits") if name in fields}
    shared = content.get("chapter", {}).get(fields["table"].partition("/")[0], {})
    shared = shared | {name: value for name, value in fields.items() if name not in texts and name not in COLUMNS}
    changes = {"pretrained": {"missing": "not run"}} | {name: fields[name] for name in COLUMNS if name in fields}
    changes["pretrained"] = {"baseline": {}, "worth": ""} | changes["pretrained"]  # of models that are worth something
    columns = {name: Evidence.model_validate(shared | changes.get(name, {})) for name in COLUMNS}
    worth = {}
    for name in (name for name, evidence in columns.items() if evidence.worth):
        rows = content["worth"][columns[name].worth]
        bare = {key: value for key, value in rows.items() if key not in COLUMNS}
        worth[name] = Worth.model_validate({"share": content["share"]} | bare | rows.get(name, {}))
    return Claim(paper=paper, columns=columns, worth=worth, **texts)


# --- tables and their rows -------------------------------------------------------------------------------------------


def tables_in(folder: Path) -> Tables:
    """What reads a table by its name, from a run's folder or a folder of `figures`; None where there is no such table."""

    @cache
    def read(name: str) -> pd.DataFrame | None:
        chapter, _, table = name.partition("/")
        path = layout.Chapter(folder / chapter).table(layout.tidy(table))
        if chapter in SHARED:
            path = FIGURES / chapter / f"{table}.csv"
        return pd.read_csv(path) if path.exists() else None

    return read


def select(rows: Rows, tables: Tables) -> pd.DataFrame:
    """The rows that are asked for and have a value; none if there is no such table.

    Raises
    ------
    StudyError
        If the table lacks a column that is asked for.
    """
    frame = tables(rows.table)
    if frame is None:
        return pd.DataFrame()
    if lacking := sorted({rows.value, *rows.where, *rows.but} - set(frame)):
        raise StudyError(
            f"The table {rows.table!r} has no column {lacking[0]!r}: it has {', '.join(map(repr, frame.columns))}."
        )
    keep = frame[rows.value].notna() & _matching(frame, rows.where)
    return frame[keep & ~_matching(frame, rows.but)] if rows.but else frame[keep]


def _matching(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.Series:
    """Which rows of a table have all these values."""
    match = pd.Series(True, frame.index)
    for column, value in where.items():
        match &= frame[column].isin(value if isinstance(value, list) else [value])
    return match


def rows_of(evidence: Evidence, tables: Tables) -> list[Row]:
    """The rows that answer a claim, each on its side; none if the table or the rows are not there."""
    frame = select(evidence, tables)
    if frame.empty:
        return []
    ends = frame[[evidence.value, *evidence.interval]].to_numpy(float) * evidence.scale
    bars, trainings = _thresholds(evidence, frame, tables), _trainings(evidence, frame)
    if evidence.p:
        p = frame[evidence.p].tolist()
    elif evidence.interval:
        p = [_p_value(evidence, *one) for one in zip(ends, bars, trainings, strict=True)]
    else:
        p = [math.nan] * len(frame)
    made = []
    for (value, *interval), (bar, *_), corrected in zip(ends.tolist(), bars, holm(p).tolist(), strict=True):
        low, high = interval or (math.nan, math.nan)
        made.append(Row(value, low, high, bar, corrected, _side(evidence, value, bar, corrected)))
    return made


def _thresholds(evidence: Evidence, frame: pd.DataFrame, tables: Tables) -> list[tuple[float, ...]]:
    """The threshold of every row in shown units, with the ends of its interval: itself where it is exact."""
    if evidence.baseline:
        other = select(evidence.model_copy(update={"where": evidence.baseline}), tables).set_index(evidence.by)
        ends = other[[evidence.value, *evidence.interval]] * evidence.scale
        return [tuple(ends.loc[key]) for key in frame[evidence.by]]
    bars = pd.DataFrame(index=frame.index)
    for bar in evidence.threshold if isinstance(evidence.threshold, list) else [evidence.threshold]:
        bars[bar] = frame[bar] * evidence.times * evidence.scale if isinstance(bar, str) else bar
    return [(bar, bar, bar) for bar in bars.max(axis=1)]


def _trainings(evidence: Evidence, frame: pd.DataFrame) -> list[int]:
    """How many trainings are behind each row."""
    column = isinstance(evidence.trainings, str)
    return frame[evidence.trainings].astype(int).tolist() if column else [evidence.trainings] * len(frame)


def _p_value(evidence: Evidence, ends: Sequence[float], bars: Sequence[float], trainings: int) -> float:
    """p of a row against its threshold; two intervals make a wider one (MOVER: Zou and Donner 2008, Stat. Med. 27)."""
    scale = fisher if evidence.correlation else float
    (value, low, high), (bar, bar_low, bar_high) = map(scale, ends), map(scale, bars)
    low, high = value - math.hypot(value - low, bar_high - bar), value + math.hypot(high - value, bar - bar_low)
    return float(p_value(value, low, high, bar, trainings if trainings > 1 else None))


def _side(evidence: Evidence, value: float, bar: float, p: float) -> Side:
    """The side of a row: by its test, or by its value where there is none."""
    if evidence.p:
        return "for" if p < LEVEL else "open"
    if p >= LEVEL:
        return "open"
    return "for" if (value >= bar if evidence.side == "above" else value <= bar) else "against"


# --- verdicts --------------------------------------------------------------------------------------------------------


def verdict(rows: Sequence[Row]) -> Verdict:
    """The verdict of rows, by the rule at the head of `claims.toml`."""
    count = Counter(row.side for row in rows)
    if count["for"] == count.total():
        return "holds"
    if not count["against"]:
        return "cannot tell"
    return "mixed" if count["for"] >= QUARTER * (count["for"] + count["against"]) else "does not hold"


def number(evidence: Evidence, rows: Sequence[Row]) -> str:
    """One value with its interval, or how many of several rows are for the claim and against it."""
    if len(rows) > 1:
        count = Counter(row.side for row in rows)
        return f"{count['for']} for, {count['against']} against of {len(rows)} {evidence.noun}"
    form = evidence.format.replace(".", "z.")  # zero without a minus
    value, low, high = (format(part, form) for part in (rows[0].value, rows[0].low, rows[0].high))
    interval = "" if math.isnan(rows[0].low) else f" [{low}, {high}]"
    return f"{value}{interval} {evidence.unit}".strip()


def judge(claim: Claim, column: str, tables: Tables) -> Judged:
    """The verdict of a claim in a column of `COLUMNS`; `tables` gives a table by its name, or None where it is not there."""
    evidence = claim.columns[column]
    if evidence.missing:
        return Judged(claim, "not tested", evidence.missing)
    rows = rows_of(evidence, tables)
    reason = _untested(claim, column, tables)
    text = number(evidence, rows) if rows else ""
    return Judged(claim, "not tested" if reason else verdict(rows), reason, text, tuple(rows))


def _untested(claim: Claim, column: str, tables: Tables) -> str:
    """Why the rows of a claim make no verdict; empty where they do."""
    evidence, worth = claim.columns[column], claim.worth.get(column)
    frame = select(evidence, tables)
    if frame.empty:
        return "not run"
    if worth is not None:
        lost = share_lost(worth, tables)
        if math.isnan(lost):
            return "no control"
        if lost < worth.share:
            return "hollow"
    trainings = min(_trainings(evidence, frame))
    if trainings < evidence.needs:
        return "one training" if trainings == 1 else f"{trainings} trainings"
    return ""


def share_lost(worth: Worth, tables: Tables) -> float:
    """The share of its score that a model loses without heads, of several rows the least; nan if there are none."""
    frame = select(worth, tables)
    less = select(worth.model_copy(update={"where": worth.less}), tables) if worth.less else frame
    if frame.empty or less.empty:
        return math.nan
    if worth.score:
        shares = worth.scale * frame[worth.value] / frame[worth.score]
    else:
        shares = 1 - less[worth.value].min() / frame[worth.value].nsmallest(1)
    return float(shares.fillna(0.0).min())  # who scores nothing has nothing to lose


def committed(column: str) -> list[Judged]:
    """The verdicts of all claims in a column, from the committed tables."""
    tables = tables_in(FIGURES / COLUMNS[column])
    judged = [judge(claim, column, tables) for claim in ledger()]
    return [agreed(one, tables(EACH)) for one in judged] if column == "europarl" else judged


def agreed(one: Judged, each: pd.DataFrame) -> Judged:
    """A verdict that other trainings give, too, or *cannot tell*: of those that have one for each training (claim, verdict)."""
    verdicts = set(each.verdict[each.claim == one.claim.id])
    return replace(one, verdict="cannot tell") if len(verdicts) > 1 else one


def of_run(run: study.Run) -> list[Judged]:
    """The verdicts of a notebook's claims from its own tables.

    What another notebook measures, such as worth, is the committed table where a run as the published one lacks it.
    """
    column = "generated" if run.corpus == "controlled" else "europarl"
    local, published = tables_in(run.folder), tables_in(FIGURES / run.corpus)

    def read(name: str) -> pd.DataFrame | None:
        table, other = local(name), not name.startswith(run.name)
        return published(name) if table is None and other and not run.changed else table

    return [judge(claim, column, read) for claim in ledger() if claim.chapter == run.name]


def show(run: study.Run, **beside: str) -> None:
    """The verdicts of a notebook's claims, each beside its rule; those of other columns by the names of theirs, if any."""
    rows = []
    for one in of_run(run):
        row = {"claim": one.claim.claim, "it holds if": one.claim.rule, "the paper": one.claim.printed}
        row |= {"here": one.number or "–", "verdict": one.words}
        for column, title in beside.items():
            (there,) = (other for other in committed(column) if other.claim.id == one.claim.id)
            row[title] = f"{there.words}: {there.number}" if there.number else there.words
        rows.append(row)
    display(pd.DataFrame(rows).style.hide(axis="index").set_properties(**{"text-align": "left", "vertical-align": "top"}))


def main() -> None:
    """Print the verdicts of the committed tables."""
    for column in COLUMNS:
        for one in committed(column):
            print(f"{column:<11} {one.words:<26} {one.claim.id:<24} {one.number}")


if __name__ == "__main__":
    main()
