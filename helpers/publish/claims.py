"""The claims ledger: what the papers and this study say, and what the tables answer. No verdict is typed anywhere.

`claims.toml` holds, for every claim, its sentence, the printed number, the rule that decides it and the table rows that answer
it on each track; `judge` reads the rows and computes the verdict. The order of what decides is fixed:

1. *not testable* where a control is missing that the rule needs (`missing`), the table is not there, what the claim is about
   is worth too little in this model on this text (`worth`: hollow), or there are fewer trainings than the rule needs;
2. each row is held against its threshold: with an interval, by a two-sided test at 5 % with Holm's correction over all such
   rows of a paper on a track; without one, by its value;
3. *seen* if at least `share` of the rows (default: all) are on the claim's side, *no* if none is and at least one is on the
   other side, *partly* in between, and *inconclusive* where no row can tell.

`python -m helpers.publish.claims [RUN]` prints the verdicts of the committed tables, or of a run.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from IPython.display import Image, Markdown, display
from pydantic import BaseModel, ConfigDict, Field

from helpers import study
from helpers.measures.table import named as called
from helpers.reading import folded
from helpers.reading import number as digits
from helpers.scores.intervals import fisher, holm, p_value
from helpers.study import StudyError, layout

LEDGER = study.ROOT / "claims.toml"
VERDICTS = ("seen", "partly", "no", "inconclusive", "not testable")
LEVEL = 0.05  # of the tests, after Holm's correction
Verdict = Literal["seen", "partly", "no", "inconclusive", "not testable"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rows(_Strict):
    """Rows of a table: `table` is CHAPTER/NAME; `where` gives columns their values, or lists of them; `but` leaves rows out."""

    table: str
    where: dict[str, Any] = {}
    but: dict[str, Any] = {}
    value: str = "value"


class Worth(Rows):
    """The hollowness check: what the heads that could go are worth here, and how much they must at least be.

    The least value of the rows; minus that of other rows of the same table (`less`) where the worth is a difference.
    """

    less: dict[str, Any] = {}
    scale: float = 1.0
    least: float
    unit: str


class Baseline(Rows):
    """Other rows that a row is held against: exactly, or with the columns of their own interval as uncertain as they are."""

    low: str | None = None
    high: str | None = None


class Evidence(Rows):
    """What answers a claim on one track.

    `threshold` is a number in shown units, a column of the same row `times` something, the larger of both, or the largest value
    among other rows (`baseline`) which are alike in the columns `by`. It counts as exact, but for a baseline with an interval
    of its own. `scale` turns the table's units into shown ones.
    """

    low: str | None = None
    high: str | None = None
    over: str = ""  # what the interval is over, or the column that says it
    correlation: bool = False  # whether values are correlations, which are tested on Fisher's scale
    label: list[str] = []  # columns that name a row
    side: Literal["above", "below"] = "above"
    threshold: float | str | tuple[float, str] = 0.0
    baseline: Baseline | None = None
    by: list[str] = []
    times: float = 1.0
    tells: bool = True  # whether a row on the other side speaks against the claim; a large p does not
    share: float = 1.0  # of rows that have to be on the claim's side for "seen"
    trainings: int | str = 1  # behind the rows: a number, or the column that says it; "rows": each row is a training
    needs: int = 1  # trainings without which there is no verdict
    headline: dict[str, Any] = {}  # the row whose number is shown; without it "k of n" where there are several rows
    scale: float = 1.0
    format: str = ".1f"
    unit: str = ""
    noun: str = "rows"  # what is counted where "k of n" is shown
    worth: Worth | None = None

    @property
    def bars(self) -> tuple[float | str, ...]:
        """The numbers and columns of which the largest is the threshold."""
        return self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)


class Missing(_Strict):
    """A track on which the rule cannot be held against anything yet, and what is missing."""

    missing: str
    brief: str = "no control"
    shows: Evidence | None = None  # the number that there is


class Claim(_Strict):
    """A claim, what was printed, the rule that decides it, and the evidence on each track."""

    id: str
    paper: str
    section: str
    chapter: str
    claim: str
    printed: str
    rule: str
    limits: str = ""  # where it does not hold, or what the verdict does not say
    controlled: Evidence | Missing | list[Evidence | Missing]  # of several the first whose table is there
    natural: Evidence | Missing | list[Evidence | Missing]


class _Ledger(_Strict):
    claim: list[Claim] = Field(min_length=1)


@dataclass(frozen=True)
class Row:
    """One row of evidence: value, low and high in shown units, low and high nan where there is no interval."""

    label: str
    value: float
    low: float
    high: float
    threshold: float
    p: float  # nan without interval
    holm: float
    side: Literal["for", "against", "open"]


@dataclass(frozen=True)
class Judged:
    """A claim's verdict on a track, and why: in a sentence, and in a word or two where it is not testable or inconclusive."""

    claim: Claim
    track: str
    verdict: Verdict
    why: str
    brief: str
    number: str  # one number, with its interval if it has one
    over: str = ""  # of which row the number is, where there are several, and over what its interval
    beside: str = ""  # the number of other rows that it is held against, where it is such a one
    asked: str = ""  # what it is held against, where that is no other row and not zero
    worth: str = ""  # of all attention that the claim is about, where the ledger asks for it
    alone: int = 0  # undecided rows that would be on the claim's side without Holm's correction
    undone: int = 0  # undecided rows that would be on either side without it
    noun: str = ""  # of what there are several rows
    rows: list[Row] = field(default_factory=list)

    @property
    def hollow(self) -> bool:
        """Whether what the claim is about is worth too little here."""
        return self.brief == "hollow"


_STARTED_WITH = ("profile", "models", "pretrained", "seed", "overrides")

Tables = Callable[[str], pd.DataFrame | None]


@cache
def ledger(path: Path = LEDGER) -> tuple[Claim, ...]:
    """The claims, in their order.

    Raises
    ------
    StudyError
        If the file is missing, is no TOML, or a claim in it has an unknown or missing field or the name of another one.
    """
    found = study.read_toml(path, _Ledger).claim
    names = [claim.id for claim in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise StudyError(f"Two claims in {path.name} are called {twice[0]!r}: give each its own id.")
    return tuple(found)


def least_worth(name: str, track: str) -> float:
    """What attention must at least be worth for a claim to be judged on a track ("controlled", "natural")."""
    told = next(getattr(claim, track) for claim in ledger() if claim.id == name)
    rows = told if isinstance(told, list) else [told]
    return next(one.worth.least for one in rows if isinstance(one, Evidence) and one.worth)


def tables_in(folder: Path) -> Tables:
    """What reads the table CHAPTER/NAME of a run, or of `figures/TRACK`; None where there is no such table."""

    @cache
    def read(name: str) -> pd.DataFrame | None:
        chapter, _, own = name.partition("/")
        path = layout.Chapter(folder / chapter).table(layout.tidy(own))
        return pd.read_csv(path) if path.exists() else None

    return read


def require(frame: pd.DataFrame, columns: Iterable[str], name: str) -> None:
    """Refuse a table that lacks a column that is asked for.

    Raises
    ------
    StudyError
        If it lacks one: with the columns that it has.
    """
    for column in columns:
        if column not in frame:
            raise StudyError(f"The table {name!r} has no column {column!r}: it has {', '.join(map(repr, frame.columns))}.")


def matching(frame: pd.DataFrame, where: Mapping[str, Any], name: str) -> pd.DataFrame:
    """Rows in which every column of `where` has its value, or one of a list of values.

    Raises
    ------
    StudyError
        As `require`.
    """
    require(frame, where, name)
    for column, value in where.items():
        frame = frame[frame[column].isin(value if isinstance(value, list) else [value])]
    return frame


def _rows(rows: Rows, tables: Tables) -> pd.DataFrame | None:
    """The rows that are asked for and have a value; None if there is no such table or row."""
    frame = tables(rows.table)
    if frame is None:
        return None
    found = matching(frame, rows.where, rows.table)
    if rows.but:
        found = found.drop(matching(found, rows.but, rows.table).index)
    require(found, [rows.value], rows.table)
    found = found[found[rows.value].notna()]
    return found if len(found) else None


def _thresholds(evidence: Evidence, found: pd.DataFrame, tables: Tables) -> pd.DataFrame | None:
    """The threshold of every row in the table's own units (bar), with its interval: low and high, the bar itself if exact."""
    baseline = evidence.baseline
    if baseline is None:
        bars = [found[bar] * evidence.times if isinstance(bar, str) else bar / evidence.scale for bar in evidence.bars]
        bar = pd.concat([pd.Series(bar, index=found.index, dtype=float) for bar in bars], axis=1).max(axis=1)
        return pd.DataFrame({"bar": bar, "low": bar, "high": bar})
    other = _rows(baseline, tables)
    if other is None:
        return None
    ends = [baseline.value, baseline.low or baseline.value, baseline.high or baseline.value]
    require(other, ends, baseline.table)
    best = other.sort_values(baseline.value).groupby(evidence.by or (lambda _: 0)).tail(1)
    keys = [tuple(key) for key in best[evidence.by].to_numpy()]
    by_key = dict(zip(keys, best[ends].to_numpy(float).tolist(), strict=True))
    wanted = [by_key.get(tuple(key), [float("nan")] * 3) for key in found[evidence.by].to_numpy()]
    return pd.DataFrame(wanted, found.index, ["bar", "low", "high"])


def _trainings(evidence: Evidence, found: pd.DataFrame) -> int:
    told = evidence.trainings
    if isinstance(told, int):
        return told
    return len(found) if told == "rows" else int(found[told].min())


def evidence_rows(evidence: Evidence, tables: Tables) -> list[Row] | None:
    """The rows that answer a claim, not yet corrected; None if the table, its rows or those of its baseline are not there."""
    found = _rows(evidence, tables)
    if found is not None:
        named = (evidence.low, evidence.high, evidence.trainings, *evidence.bars)
        columns = [name for name in named if isinstance(name, str) and name != "rows"]
        require(found, [*columns, *evidence.label, *evidence.by], evidence.table)
    limits = None if found is None else _thresholds(evidence, found, tables)
    if found is None or limits is None or limits.bar.isna().any():
        return None
    made, named = [], evidence.trainings
    for (_, row), limit in zip(found.iterrows(), (limits * evidence.scale).to_numpy(), strict=True):
        trainings = 1 if named == "rows" else row[named] if isinstance(named, str) else named
        value = row[evidence.value] * evidence.scale
        low, high = (row[c] * evidence.scale if c and pd.notna(row[c]) else float("nan") for c in (evidence.low, evidence.high))
        scaled = [fisher(x) if evidence.correlation else x for x in (value, low, high, *limit)]
        p = float(p_value(*_apart(*scaled), scaled[3], trainings if trainings > 1 else None))
        label = ", ".join(str(row[column]) for column in evidence.label)
        made.append(Row(label, value, low, high, limit[0], p, float("nan"), "open"))
    return made


def _apart(value: float, low: float, high: float, bar: float, bar_low: float, bar_high: float) -> tuple[float, float, float]:
    """A value with its interval, made wider by that of what it is held against (MOVER: Zou and Donner 2008, Stat. Med. 27)."""
    return value, value - math.hypot(value - low, bar_high - bar), value + math.hypot(high - value, bar - bar_low)


def _decided(row: Row, corrected: float, evidence: Evidence) -> Row:
    """A row with its corrected p and the side on which it is."""
    return replace(row, holm=corrected, side=_side(row, corrected, evidence))


def _side(row: Row, p: float, evidence: Evidence) -> Literal["for", "against", "open"]:
    favours = row.value >= row.threshold if evidence.side == "above" else row.value <= row.threshold
    sure = (math.isnan(p) or p < LEVEL) and (favours or evidence.tells)
    return ("for" if favours else "against") if sure else "open"


def number(evidence: Evidence, rows: Sequence[Row], labels: Sequence[str] = ()) -> str:
    """What a cell of the scoreboard shows: one value with its interval, or how many rows are on the claim's side."""
    if len(rows) > 1 and not labels:
        return f"{sum(row.side == 'for' for row in rows)} of {len(rows)} {evidence.noun}"
    row = next((row for row in rows if row.label in labels), rows[0])
    shown = digits(row.value, evidence.format)
    if not math.isnan(row.low):
        shown += f" [{digits(row.low, evidence.format)}, {digits(row.high, evidence.format)}]"
    return f"{shown} {evidence.unit}".strip()


def _headline(evidence: Evidence, tables: Tables) -> list[str]:
    """The label of the row whose number is shown, if the ledger names one."""
    if not evidence.headline:
        return []
    found = _rows(evidence, tables)
    picked = matching(found, evidence.headline, evidence.table)
    return [", ".join(str(row[column]) for column in evidence.label) for _, row in picked.iterrows()]


def _one(evidence: Evidence, row: Row) -> str:
    """Where a single row lies: by its value, by its own interval, or by the corrected test too."""
    where = f"{'above' if row.value >= row.threshold else 'below'} {digits(row.threshold, evidence.format)}"
    if math.isnan(row.p):
        return f"{where} by its value, which has no interval"
    if row.holm < LEVEL:
        return f"{where}, after Holm's correction too"
    if row.p < LEVEL:
        return f"{where} by its own interval, not after Holm's correction over the rows of its paper"
    return f"{where} by its value, but not by its interval"


def _several(evidence: Evidence, rows: Sequence[Row], count: Mapping[str, int]) -> str:
    """How many rows are decided which way, and how many of the others would be by their own intervals."""
    said = f"{count['for']} of {len(rows)} on the claim's side, {count['against']} against it, {count['open']} undecided"
    alone = Counter(side for row in rows if row.side == "open" != (side := _side(row, row.p, evidence)))
    told = [f"{alone[side]} {word} it" for side, word in (("for", "for"), ("against", "against")) if alone[side]]
    return f"{said} ({' and '.join(told)} by their own intervals, not after Holm's correction)" if told else said


def _verdict(evidence: Evidence, rows: Sequence[Row]) -> tuple[Verdict, str]:
    """The verdict of decided rows, and what it rests on."""
    count = {side: sum(row.side == side for row in rows) for side in ("for", "against", "open")}
    said = _one(evidence, rows[0]) if len(rows) == 1 else _several(evidence, rows, count)
    if count["for"] >= evidence.share * len(rows):
        return "seen", said
    if count["for"]:
        return "partly", said
    return ("no" if count["against"] else "inconclusive"), said


def _worth(evidence: Evidence, tables: Tables) -> float | None:
    """What all of the attention is worth, the least of the rows; None if nothing says it, or the ledger does not ask."""
    worth = evidence.worth
    found = _rows(worth, tables) if worth else None
    other = _rows(Rows(table=worth.table, where=worth.less, value=worth.value), tables) if worth and worth.less else None
    if found is None or (worth.less and other is None):
        return None
    least = [(rows[worth.value] * worth.scale).min() for rows in (found, other) if rows is not None]
    return float(least[0] - sum(least[1:]))


def judge(
    track: str,
    tables: Tables | None = None,
    claims: Iterable[Claim] | None = None,
    elsewhere: Mapping[str, Sequence[float]] = {},
) -> list[Judged]:
    """The verdict of every claim on a track.

    Parameters
    ----------
    track : str
        "controlled" or "natural".
    tables : callable, optional
        Name of a table (CHAPTER/NAME) -> its frame, or None; the committed ones by default.
    claims : iterable of Claim, optional
        The whole ledger by default. Holm's correction is over what is given, paper by paper.
    elsewhere : mapping of str to sequence of float
        p of a paper's other rows, which count in the correction too.

    Raises
    ------
    StudyError
        For an unknown track, or a table without a column that the ledger asks for.
    """
    if track not in layout.TRACKS:
        raise StudyError(f"There is no track {track!r}: choose from {', '.join(layout.TRACKS)}.")
    tables, claims = tables or tables_in(study.ROOT / "figures" / track), list(ledger() if claims is None else claims)
    told = [_first(getattr(claim, track), tables) for claim in claims]
    found = [evidence_rows(one, tables) if isinstance(one, Evidence) else None for one in told]
    corrected: dict[tuple[int, int], float] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        own = [i for i, claim in enumerate(claims) if claim.paper == paper]
        places = [(i, j) for i in own for j, row in enumerate(found[i] or ()) if not math.isnan(row.p)]
        tested = [*(found[i][j].p for i, j in places), *elsewhere.get(paper, ())]
        corrected |= dict(zip(places, holm(tested).tolist(), strict=False))
    judged = []
    for i, (claim, one) in enumerate(zip(claims, told, strict=True)):
        rows = [_decided(row, corrected.get((i, j), float("nan")), one) for j, row in enumerate(found[i] or ())]
        judged.append(_judged(claim, track, one, rows, tables))
    return judged


def of_run(folder: Path, track: str) -> list[Judged]:
    """The verdict of every claim in a run, which is the same whichever other chapters the run has executed.

    A claim's rows are those of the run. Rows of the paper's other chapters, which count in the correction, are always the
    committed ones. Where the run was started with the parameters of the committed one, tables that it lacks are those.

    Parameters
    ----------
    folder : pathlib.Path
        A run's folder, or `figures/TRACK`.
    track : str
        "controlled" or "natural".

    Raises
    ------
    StudyError
        As `judge`.
    """
    own, committed, claims = tables_in(folder), tables_in(study.ROOT / "figures" / track), ledger()
    known = committed if _started_alike(folder, track) else {}.get
    found = {}
    for chapter in dict.fromkeys(claim.chapter for claim in claims):
        here = [claim for claim in claims if claim.chapter == chapter]
        elsewhere = {claim.paper: [] for claim in here}
        for other in claims:
            if other.chapter != chapter and other.paper in elsewhere:
                elsewhere[other.paper] += _tested(other, track, committed)
        judged = judge(track, lambda name: known(name) if (table := own(name)) is None else table, here, elsewhere)
        found |= {one.claim.id: one for one in judged}
    return [found[claim.id] for claim in claims]


def _started_alike(folder: Path, track: str) -> bool:
    """Whether a chapter of a run was started with the parameters with which the committed one was."""
    for chapter in layout.chapters(folder):
        both = [chapter.shared, layout.Chapter(study.ROOT / "figures" / track / chapter.name).shared]
        if all(path.exists() for path in both):
            given = [study.read_json(path)["parameters"] for path in both]
            return len({tuple(one.get(name, "") for name in _STARTED_WITH) for one in given}) == 1
    return False


def _tested(claim: Claim, track: str, tables: Tables) -> list[float]:
    """p of the rows of a claim that have an interval; none where its table is older than the ledger."""
    told = _first(getattr(claim, track), tables)
    try:
        rows = evidence_rows(told, tables) if isinstance(told, Evidence) else None
    except StudyError:
        return []
    return [row.p for row in rows or () if not math.isnan(row.p)]


def _first(told: Evidence | Missing | list[Evidence | Missing], tables: Tables) -> Evidence | Missing:
    """Of several the evidence whose rows are there; the last if there are none."""
    if not isinstance(told, list):
        return told
    return next((one for one in told if isinstance(one, Missing) or _rows(one, tables) is not None), told[-1])


def _judged(claim: Claim, track: str, told: Evidence | Missing, rows: list[Row], tables: Tables) -> Judged:
    """One claim's verdict from its decided rows."""
    if isinstance(told, Missing):
        shown = evidence_rows(told.shows, tables) if told.shows else None
        said = number(told.shows, shown, _headline(told.shows, tables) or [shown[0].label]) if shown else ""
        return Judged(claim, track, "not testable", f"not yet: {told.missing}", told.brief, said)
    if not rows:
        return Judged(claim, track, "not testable", "not yet: not measured in this run", "not measured", "")
    worth, unit = _worth(told, tables), told.worth.unit if told.worth else ""
    said = "" if worth is None else f"{worth:.1f} {unit}"
    trainings = _trainings(told, _rows(told, tables))
    verdict, brief = "not testable", ""
    if told.worth and worth is None:
        why, brief = "not yet: nothing says what the heads that could go are worth", "no control"
    elif told.worth and worth < told.worth.least:
        what = "all heads but one of each layer are" if "groups" in told.worth.less else "all of that attention is"
        why = f"hollow: {what} worth {said} here, at least {told.worth.least:g} are needed"
        brief = "hollow"
    elif trainings < told.needs:
        brief = "one training" if trainings == 1 else f"{trainings} trainings"
        why = f"not yet: {brief}, the rule needs {told.needs}"
    else:
        verdict, why = _verdict(told, rows)
    labels = _headline(told, tables)
    row = next((row for row in rows if row.label in labels), rows[0])
    bar = digits(row.threshold, told.format) if labels or len(rows) == 1 else ""
    asked = f"{'≥' if told.side == 'above' else '≤'}\xa0{bar}" if bar and row.threshold and not told.baseline else ""
    beside = bar if told.baseline else ""
    if verdict == "inconclusive" and bar and (alone := _side(row, row.p, told)) != row.side:
        brief = f"alone {alone}"
    shown = number(told, rows, labels)
    sides = [_side(row, row.p, told) for row in rows if row.side == "open"]
    more = sides.count("for"), len(sides) - sides.count("open"), told.noun, rows
    row = next((row for row in rows if row.label in labels), None) if len(rows) > 1 else None
    over = "; ".join(filter(None, [called(row.label) if row else "", told.over]))
    return Judged(claim, track, verdict, why, brief, shown, over, beside, asked, said, *more)


# --- for readers -----------------------------------------------------------------------------------------------------


def box(judged: Sequence[Judged]) -> str:
    """Verdicts of one notebook's claims as Markdown: claim, printed, number and verdict; why, and their rules, folded below."""
    head = "| claim | printed | here | verdict |\n|---|---|---|---|\n"
    lines, rules = [], []
    for one in judged:
        over = (f" beside {one.beside}" if one.beside else "") + (f" ({one.over})" if one.over and one.number else "")
        lines.append(
            f"| {one.claim.claim} ({one.claim.section}) | {one.claim.printed} | {one.number or '–'}{over} | **{one.verdict}** |"
        )
        limits = f" {one.claim.limits}" if one.claim.limits else ""
        rules.append(f"- {one.claim.claim} **{one.verdict}**: {one.why}.\n  *Rule: {one.claim.rule}{limits}*")
    return head + "\n".join(lines) + "\n\n" + folded("Why, and the rules that decide", "\n".join(rules)).data


class Box:
    """The answer on top of a notebook, shown empty where it is made and filled at the end.

    First what it comes to, then the key figure with what it says, then the verdicts and folded details.
    """

    def __init__(self, run: study.Run) -> None:
        self._run = run
        empty = (Markdown("*The answer stands here when the notebook has run to its end.*"), *[Markdown("")] * 3)
        self._first, self._figure, self._takeaway, self._details = [display(part, display_id=True) for part in empty]

    def fill(self, key: str = "", closing: str = "", first: str = "", more: str = "", note: str = "") -> None:
        """Compute the verdicts of this run's tables and show the answer on top.

        Parameters
        ----------
        key : str
            A figure that the run has saved with a takeaway (`helpers.study.Run.figure`): both follow the first words.
        closing : str
            Markdown to show where this is called, the notebook's last words, above the versions of libraries.
        first : str
            The answer in plain words, above the figure.
        more : str
            Details, folded below the verdicts, if the notebook has any.
        note : str
            Words between these two, not folded.

        Raises
        ------
        StudyError
            If the run has not saved the figure.
        """
        self._first.update(Markdown(first))
        more = folded("The answer in detail", more).data if more else ""
        self._details.update(Markdown("\n\n".join(filter(None, (self._judged(), note, more)))))
        if key:
            name = layout.tidy(key)
            picture = self._run.chapter.picture(name, "png")
            if not picture.exists():
                raise StudyError(f"The run has saved no figure {key!r}: save the key figure before the box is filled.")
            facts = study.read_json(self._run.chapter.sidecar(name))
            self._figure.update(Image(filename=picture, alt=facts.get("caption", name)))
            self._takeaway.update(Markdown(f"> {facts.get('takeaway', '')}"))
        if closing:
            display(Markdown(closing))
        print(self._run.libraries())

    def _judged(self) -> str:
        """The verdicts of the run's own tables, nothing where the notebook answers no claim."""
        told = [one for one in of_run(self._run.folder, self._run.corpus) if one.claim.chapter == self._run.name]
        profile = self._run.parameters["profile"]
        said = (
            f"**Verdicts of this run** (profile {profile}, {self._run.corpus} text; computed from its tables by `claims.toml`)"
        )
        return f"{said}\n\n{box(told)}" if told else ""


def show(run: study.Run) -> None:
    """The verdicts of a notebook's own tables as a table, and the versions of libraries that made them."""
    judged = [one for one in of_run(run.folder, run.corpus) if one.claim.chapter == run.name]
    rows = [(one.claim.claim, one.claim.section, one.claim.printed, one.number or "–", one.verdict) for one in judged]
    display(pd.DataFrame(rows, columns=["claim", "section", "printed", "here", "verdict"]).style.hide(axis="index"))
    print(run.libraries())


def counted(judged: Iterable[Judged]) -> str:
    """How many claims have each verdict, in words."""
    counts = Counter(one.verdict for one in judged)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]) or "none"


def ending(run: Path) -> str:
    """The last words of `make study`: verdicts of the chapters that a run has executed, one a line, and where to look."""
    track, done = run.name.rpartition("-")[2], {path.stem for path in run.glob("*.ipynb")}
    judged = [one for one in of_run(run, track) if one.claim.chapter in done]
    lines = [f"{one.verdict:<12}  {one.claim.claim}  {one.number}".rstrip() for one in judged]
    where = f"Read on: {run}/*.ipynb, or all as pages with the head explorer: make report RUN={run.name}"
    return "\n".join([*lines, f"Verdicts of {len(judged)} claims: {counted(judged)}.", where])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.claims", description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, help="folder of a run (default: the committed tables of both tracks)")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        tracks = layout.TRACKS if chosen.run is None else [chosen.run.name.rpartition("-")[2]]
        for track in tracks:
            for one in of_run(chosen.run, track) if chosen.run else judge(track):
                print(f"{track:<11} {one.verdict:<12} {one.claim.id:<28} {one.number:<26} {one.why}")


if __name__ == "__main__":
    main()
