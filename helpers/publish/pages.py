"""Pages from templates: every number that the README and docs/ print comes from a table, a profile, the store or one kept file.

`python -m helpers.publish.pages` renders `docs/templates/NAME.md` to `docs/NAME.md`, and `docs/templates/README.md`, where
there is one, to `README.md`. What a template may call is said at `expressions`; `helpers/numbers.py` finds numbers that
somebody wrote by hand.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from pydantic import BaseModel

from helpers import plan, reading, study
from helpers.publish import rooms
from helpers.publish.claims import VERDICTS, Judged, judge, matching, require
from helpers.reading import number
from helpers.study import StudyError, layout, published

WIDEST = 7  # columns of a table on a page
LISTED = 12  # rows that an error names
NOTHING = "–"
SCALES = {"MiB": 2**20, "min": 60}  # endings of a format: bytes in MiB, seconds in minutes


# --- tables ----------------------------------------------------------------------------------------------------------


def chapter(track: str, name: str, root: Path = study.ROOT) -> Path:
    """The folder of a chapter's figures.

    Raises
    ------
    StudyError
        If there is no such track or chapter.
    """
    if track not in layout.TRACKS:
        raise StudyError(f"There is no track {track!r}: choose from {', '.join(layout.TRACKS)}.")
    found = root / "figures" / track / name
    if not found.is_dir():
        raise StudyError(f"There are no figures of chapter {name!r} on the {track} track: run make reference.")
    return found


def find(track: str, name: str, root: Path = study.ROOT) -> Path:
    """The CSV of a published table.

    Parameters
    ----------
    track : {"controlled", "natural"}
    name : str
        CHAPTER/TABLE, such as "03_l0_pruning/headlines".

    Raises
    ------
    StudyError
        If there is none.
    """
    of, _, table = name.partition("/")
    found = layout.Chapter(chapter(track, of, root)).table(table)
    if not found.is_file():
        place = found.parent.relative_to(root)
        raise StudyError(f"There is no table {name!r} of the {track} track in {place}: check its name.")
    return found


def read(track: str, name: str, root: Path = study.ROOT) -> pd.DataFrame:
    """A published table; a first column without a name is called "".

    Raises
    ------
    StudyError
        As `find`; if the header has more than one row.
    """
    path = find(track, name, root)
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
    if len(set(header)) < len(header):
        raise StudyError(f"The table {name!r} has a header of several rows: cite one with a header of one row.")
    return pd.read_csv(path).rename(columns={"Unnamed: 0": ""})


def rows(track: str, name: str, where: Mapping[str, Any] | None = None, root: Path = study.ROOT) -> pd.DataFrame:
    """The rows of a table in which each column of `where` holds the value given for it, or one of a list.

    Raises
    ------
    StudyError
        As `read`; if the table lacks a column.
    """
    return matching(read(track, name, root), where or {}, name)


def _row(track: str, name: str, where: Mapping[str, Any], columns: Sequence[str], root: Path) -> pd.Series:
    found = rows(track, name, where, root)
    require(found, columns, name)
    if len(found) != 1:
        kept = list(where) or [found.columns[0]]
        there = [" / ".join(map(str, row)) for row in read(track, name, root)[kept].drop_duplicates().itertuples(index=False)]
        more = ", ..." if len(there) > LISTED else ""
        raise StudyError(
            f"{len(found)} rows of {name!r} ({track}) have {dict(where)}, not one; by {' / '.join(kept)} there are: "
            f"{', '.join(there[:LISTED])}{more}."
        )
    if empty := [column for column in columns if pd.isna(found.iloc[0][column])]:
        raise StudyError(f"The cell {empty[0]!r} of {name!r} ({track}) with {dict(where)} is empty: cite another one.")
    return found.iloc[0]


def _said(value: Any, form: str = "") -> str:
    """A value as a page prints it: text as it is, a missing one as a dash, percent with a space before the sign."""
    if isinstance(value, str) or pd.isna(value):
        return value if isinstance(value, str) else NOTHING
    for ending, size in SCALES.items():
        if form.endswith(ending):
            value, form = value / size, form.removesuffix(ending)
    return number(value, form or "g")  # no minus before zero


def cell(track: str, name: str, where: Mapping[str, Any], column: str, format: str = "", root: Path = study.ROOT) -> str:
    """One cell, by the one row that `where` picks.

    Parameters
    ----------
    format : str
        Python's, such as ".1f" or ".0%"; one that ends with "MiB" or "min" is of bytes or seconds in these units.

    Raises
    ------
    StudyError
        As `rows`; if not exactly one row is picked (it says which there are), or the cell is empty.
    """
    return _said(_row(track, name, where, [column], root)[column], format)


def interval(
    track: str, name: str, where: Mapping[str, Any], column: str, low: str = "low", high: str = "high", format: str = ".1f",
    root: Path = study.ROOT,
) -> str:  # fmt: skip
    """A cell with its interval, such as "53.9 [51.7, 56.1]", from three columns; otherwise as `cell`.

    Where both bounds are printed as the value is, it stands alone.
    """
    return _interval(_row(track, name, where, [column, low, high], root), (column, low, high), format)


def _interval(row: Mapping[str, Any], names: Sequence[str], form: str) -> str:
    value, low, high = (_said(row[name], form) for name in names)
    alone = NOTHING in (low, high) or low == high == value
    return value if alone else reading.interval(*(row[name] for name in names), form)


def span(
    track: str, name: str, column: str, where: Mapping[str, Any] | None = None, format: str = ".2f", root: Path = study.ROOT
) -> str:
    """The least and the largest value of a column in the rows that `where` picks, such as "0.13 to 0.17".

    Raises
    ------
    StudyError
        As `rows`; if no row with a number is picked.
    """
    found = rows(track, name, where, root)
    require(found, [column], name)
    values = found[column].dropna()
    if values.empty:
        raise StudyError(f"No row of {name!r} ({track}) with {dict(where or {})} has a {column!r}: check what is asked for.")
    least, largest = _said(values.min(), format), _said(values.max(), format)
    return least if least == largest else f"{least.removesuffix(' %')} to {largest}"


def table(
    track: str, name: str, columns: Mapping[str, str], where: Mapping[str, Any] | None = None,
    formats: Mapping[str, str] | None = None, intervals: Mapping[str, Sequence[str]] | None = None, root: Path = study.ROOT,
) -> str:  # fmt: skip
    """A published table, or part of it, in Markdown.

    Parameters
    ----------
    columns : mapping
        Column of the CSV -> its name on the page; at most seven.
    where : mapping, optional
        Of rows, as `rows` has it.
    formats : mapping, optional
        Column -> Python's format of its numbers.
    intervals : mapping, optional
        Column -> the two columns that bound it: they stand in brackets behind it.

    Raises
    ------
    StudyError
        As `rows`; if there are more columns, or no row is picked.
    """
    formats, intervals = formats or {}, intervals or {}
    if len(columns) > WIDEST:
        raise StudyError(f"A table of {len(columns)} columns is too wide for a page: show {WIDEST} or fewer of {name!r}.")
    found = rows(track, name, where, root)
    require(found, [*columns, *formats, *intervals, *(bound for pair in intervals.values() for bound in pair)], name)
    if found.empty:
        raise StudyError(f"No row of {name!r} ({track}) has {dict(where or {})}: check what is asked for.")

    def said(row: Mapping[str, Any], column: str) -> str:
        if column in intervals:
            return _interval(row, (column, *intervals[column]), formats.get(column, ""))
        return _said(row[column], formats.get(column, ""))

    return _markdown(columns.values(), [[said(row, column) for column in columns] for _, row in found.iterrows()])


def _markdown(header: Any, body: Sequence[Sequence[str]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *([text.replace("|", "\\|") for text in row] for row in body)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- settings, the store, what was measured once, the ledger -----------------------------------------------------------


def setting(profile: str, name: str) -> str:
    """A setting of a profile, by its dotted name.

    Raises
    ------
    StudyError
        As `helpers.study.settings`; if the profile leaves the setting open.
    """
    found: Any = study.settings(profile)
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise StudyError(f"Profile {profile!r} has no setting {name!r}: helpers/study/schema.py says which there are.")
        found = found[part]
    return _listed(found)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_listed, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def store(what: str, root: Path = study.ROOT) -> str:
    """How much is published: "recipes", "trainings" among them, those with "weights", "megabytes", "core hours" that they took;
    "laptop hours": core hours of what profile laptop needs, as notebook 07 counts them.

    Raises
    ------
    StudyError
        For any other word.
    """
    if what == "laptop hours":
        needed = rows("controlled", "07_what_it_costs/wall_times", {"profile": "laptop"}, root)
        return _listed(round(needed.training.sum() / 3600))
    entries = json.loads((root / "data" / "published" / "index.json").read_text(encoding="utf-8"))["runs"]
    counts = {
        "recipes": len(entries),
        "trainings": sum(entry["kind"] in plan.COSTLY for entry in entries.values()),
        "weights": sum("weights" in entry["parts"] for entry in entries.values()),
        "megabytes": round(published.megabytes(entries)),
        "core hours": round(sum(entry["seconds"] for entry in entries.values()) / 3600),
    }
    if what not in counts:
        raise StudyError(f"The store has no count {what!r}: choose from {', '.join(counts)}.")
    return _listed(counts[what])


class Measurement(BaseModel, extra="forbid", frozen=True):
    """What was measured once: its value with its unit, and where it comes from."""

    value: int | float | str | list
    unit: str
    what: str
    command: str
    hardware: str
    date: datetime.date
    commit: str


def _kept(root: Path) -> dict[str, Measurement]:
    """What was measured once, by name, from docs/measured.toml."""
    return study.read_toml(root / "docs" / "measured.toml", dict[str, Measurement])


def measured(name: str, what: str = "", root: Path = study.ROOT) -> str:
    """A value of docs/measured.toml with its unit, or one of the other things that are said of it.

    Raises
    ------
    StudyError
        If there is no such measurement, or it does not say all that it must.
    """
    kept = _kept(root)
    if name not in kept:
        raise StudyError(f"There is no measurement {name!r}: docs/measured.toml has {', '.join(kept)}.")
    if what and what not in Measurement.model_fields:
        raise StudyError(f"A measurement says {', '.join(Measurement.model_fields)}, not {what!r}.")
    return _listed(getattr(kept[name], what)) if what else f"{_listed(kept[name].value)} {kept[name].unit}".strip()


def measurements(root: Path = study.ROOT) -> str:
    """All of docs/measured.toml as a Markdown table."""
    body = [
        [one.what, measured(name, root=root), f"`{one.command}`", one.hardware, str(one.date), f"`{one.commit}`"]
        for name, one in _kept(root).items()
    ]
    return _markdown(("what", "value", "command", "hardware", "date", "commit"), body)


@functools.cache
def _verdicts(track: str) -> list[Judged]:
    return judge(track)


def claims(paper: str = "", track: str = "") -> list[dict[str, Any]]:
    """The claims of the ledger, judged by the published tables.

    Parameters
    ----------
    paper : str, optional
        Only those of a paper whose name begins so, such as "Ni".
    track : str, optional
        Only this track is judged; both by default.

    Returns
    -------
    list of dict
        id, paper, section, chapter, claim, printed, rule, limits, and by track what `claims.judge` says: verdict, number,
        why.

    Raises
    ------
    StudyError
        If none of its claims is of that paper; as `judge`.
    """
    told = {name: _verdicts(name) for name in ([track] if track else layout.TRACKS)}
    found = []
    for judged in zip(*told.values(), strict=True):
        claim = judged[0].claim
        if claim.paper.startswith(paper):
            known = {
                name: getattr(claim, name)
                for name in ("id", "paper", "section", "chapter", "claim", "printed", "rule", "limits")
            }
            found.append(known | dict(zip(told, judged, strict=True)))
    if not found:
        raise StudyError(f"The ledger has no claims of a paper {paper!r}: write the beginning of its name.")
    return found


def claim(name: str) -> dict[str, Any]:
    """One claim of the ledger by its id, as `claims` gives it.

    Raises
    ------
    StudyError
        If there is no such claim.
    """
    found = {one["id"]: one for one in claims()}
    if name not in found:
        raise StudyError(f"The ledger has no claim {name!r}: it has {', '.join(found)}.")
    return found[name]


def tally(track: str) -> dict[str, int]:
    """How many claims have a verdict on a track; "all", "alone for", "alone against"."""
    found = [one[track] for one in claims(track=track)]
    told = [one.verdict for one in found]
    more = {brief: sum(one.brief == brief for one in found) for brief in ("alone for", "alone against")}
    return {verdict: told.count(verdict) for verdict in VERDICTS} | {"all": len(told)} | more


def listing(name: str, root: Path = study.ROOT) -> str:
    """The text of a file of the project, for a fenced block.

    Raises
    ------
    StudyError
        If there is no such file.
    """
    path = root / name
    if not path.is_file():
        raise StudyError(f"There is no file {name}: a template lists it.")
    return path.read_text(encoding="utf-8").rstrip("\n")


# --- rendering -------------------------------------------------------------------------------------------------------


def expressions(root: Path = study.ROOT, page: str = "docs/page.md") -> dict[str, Callable[..., Any]]:
    """What a template may call, for the project in `root` and the place of a page in it.

    Returns
    -------
    dict
        `cell`, `interval`, `span`, `table`, `setting`, `store`, `measured`, `measurements`, `listing`; `claims`, `claim`,
        `tally`; `csv` (track, table) and `folder` (track, chapter): links from the page; `rooms`, `budgets` and
        `formula` (module, function): the map of the code; `summary`: of one model.
    """
    up = "../" * page.count("/")
    of_root = (cell, interval, span, table, store, measured, measurements, listing, matrix, counted, summary)

    def linked(path: Path) -> str:
        return f"{up}{path.relative_to(root).as_posix()}".replace(" ", "%20")

    return {
        **{one.__name__: functools.partial(one, root=root) for one in of_root},
        **{one.__name__: one for one in (setting, claims, claim, tally)},
        "csv": lambda track, name: linked(find(track, name, root)),
        "folder": lambda track, name: linked(chapter(track, name, root)),
        "rooms": rooms.table,
        "budgets": rooms.budgets,
        "formula": lambda module, name: f"[`{name}`]({linked(_defined(module, name, root))})",
    }


def _defined(module: str, name: str, root: Path) -> Path:
    """The file of a module that defines a name."""
    place = root / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not path.exists() or not re.search(rf"^(class|def) {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
        raise StudyError(f"{module} defines no {name!r}: name the function where the formula is now.")
    return path


def matrix(root: Path = study.ROOT) -> str:
    """figures/matrix.csv in Markdown: a row a family and measure, how many cells are right, refused and, if any, wrong."""
    found = pd.read_csv(root / "figures" / "matrix.csv")
    said = found.right.astype(str) + " / " + found.refused.astype(str)
    said += (" / **" + found.wrong.astype(str) + " wrong**").where(found.wrong > 0, "")
    grid = found.assign(said=said).pivot(index="measure", columns="family", values="said").fillna("–")
    grid = grid.reindex(index=found.measure.unique(), columns=found.family.unique())
    rows = [
        ["", *grid.columns],
        ["---"] * (1 + len(grid.columns)),
        *([name, *row] for name, row in zip(grid.index, grid.to_numpy(), strict=True)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def counted(column: str, root: Path = study.ROOT) -> str:
    """How many cells of figures/matrix.csv are ``right``, ``refused`` or ``wrong``."""
    return f"{int(pd.read_csv(root / 'figures' / 'matrix.csv')[column].sum()):,}"


def summary(profile: str, what: str, column: str = "value", format: str = "g", root: Path = study.ROOT) -> str:
    """A cell of the summary of a profile's model (`helpers.publish.summary`); "interval" is its value with both ends.

    Raises
    ------
    StudyError
        If there is no such summary, row or column, or the cell is empty.
    """
    path = root / "figures" / "summaries" / f"{profile}.csv"
    if not path.exists():
        raise StudyError(f"There is no summary of profile {profile!r}: run python -m helpers.publish.summary.")
    found = pd.read_csv(path, index_col="what")
    columns = ["value", "low", "high"] if column == "interval" else [column]
    if what not in found.index or not set(columns) <= set(found) or found.loc[what, columns].isna().any():
        raise StudyError(f"{path.relative_to(root)} has no {column!r} of {what!r}: see its rows.")
    value, *ends = (_said(one, format) for one in found.loc[what, columns])
    return f"{value} [{', '.join(ends)}]" if ends else value


def templates(root: Path = study.ROOT) -> dict[str, Path]:
    """Template by page, as a path below `root`: docs/templates/NAME.md is docs/NAME.md, and README.md the front."""
    found = sorted((root / "docs" / "templates").glob("*.md"))
    return {path.name if path.name == "README.md" else f"docs/{path.name}": path for path in found}


def render(page: str, template: Path, root: Path = study.ROOT) -> str:
    """The text of a page.

    Raises
    ------
    StudyError
        If the template is no valid one, or asks for what is not there: with its name and line.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    source = template.relative_to(root).as_posix()
    try:
        made = environment.from_string(template.read_text(encoding="utf-8"), expressions(root, page)).render()
    except (jinja2.TemplateError, StudyError, TypeError) as error:
        raise StudyError(f"{source}, line {_line(error)}: {error}") from None
    return (
        f"<!-- Made from {source} by `make docs` (python -m helpers.publish.pages): edit that file, not this one. -->\n{made}"
    )


def _line(error: Exception) -> int:
    """The line of a template at which rendering failed."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    place, line = error.__traceback__, 0
    while place:
        line = place.tb_lineno if place.tb_frame.f_code.co_filename == "<template>" else line
        place = place.tb_next
    return line


def pages(root: Path = study.ROOT) -> dict[str, str]:
    """Text by page, of every template."""
    return {page: render(page, template, root) for page, template in templates(root).items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.pages", description=__doc__)
    parser.parse_args(arguments)
    with study.one_sentence():
        for page, text in pages().items():
            study.write_text(study.ROOT / page, text)
            print(page)


if __name__ == "__main__":
    main()
