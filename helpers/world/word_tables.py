"""Reads the word tables in `words/`, which a speaker of the language can correct: one word a row, columns parted by tabs.

A line that starts with "#" is a comment; the first other line names the columns. Empty cells at the end of a row may be
left out. Where a table says so, the order of its rows decides how often a word is drawn. A correction changes the text:
raise the language's number in `helpers.world.VERSIONS` with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from helpers.study import StudyError

FOLDER = Path(__file__).with_name("words")


def read(
    name: str, required: str, optional: str = "", keys: Collection[str] | None = None, unique: bool = False,
    same: str = "", **allowed: str
) -> list[dict[str, str]]:  # fmt: skip
    """Read and check one table: cells by column, in the order of the rows; what is left out is "", "where" is file and line.

    Columns are those that every row fills, and those that may be empty, in the order of the header. `keys` are what the first
    column may hold, `allowed` what cells of a column may, where they are not empty; `unique` says whether every row has a first
    cell of its own, and `same` is the column in which all rows with the same first cell agree.
    """
    columns = (*required.split(), *optional.split())
    choices = {column: text.split() for column, text in allowed.items()}
    (where, header), *lines = _lines(FOLDER / f"{name}.tsv")
    if tuple(header) != columns:
        raise StudyError(f"{where}: the columns must be {', '.join(columns)}, parted by tabs.")
    rows, places, shared = [], {}, {}
    for where, cells in lines:
        key, row = cells[0], dict.fromkeys(columns, "") | dict(zip(columns, cells, strict=False))
        first = places.setdefault(key if unique else tuple(row.values()), where)
        empty = [column for column in required.split() if not row[column]]
        wrong = [column for column, words in choices.items() if row[column] and row[column] not in words]
        faults = {
            f"{len(cells)} cells for {len(columns)} columns; take out a tab.": len(cells) > len(columns),
            f"fill the column {empty}.": empty,
            f"what stands in {wrong} is none of {[choices[column] for column in wrong]}.": wrong,
            f"{key!r} is no key of the English words; correct it or take out the row.": keys is not None and key not in keys,
            f"{key!r} stands in {first} too; take one out.": first is not where,
            f"{same} is not that of the word above for {key!r}; choose one that has it.":
                same and shared.setdefault(key, row[same]) != row[same],
        }  # fmt: skip
        for fault, there in faults.items():
            if there:
                raise StudyError(f"{where}: {fault}")
        rows.append(row | {"where": where})
    return rows


def grouped(rows: Iterable[dict[str, str]], value: Callable[[dict[str, str]], Any]) -> dict[str, tuple]:
    """What a value of each row is, by key: the usual translation first."""
    table: dict[str, tuple] = {}
    for row in rows:
        table[row["key"]] = (*table.get(row["key"], ()), value(row))
    return table


def forms(name: str, columns: str, optional: str = "") -> dict[str, dict[str, tuple[str, ...]]]:
    """Forms of verbs by infinitive and column."""
    table = read(name, f"infinitive {columns}", optional, unique=True)
    return {row["infinitive"]: {column: tuple(text.split()) for column, text in row.items()} for row in table}


def grammar(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Words by table and key."""
    tables: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in read(name, "table key", "words"):
        tables.setdefault(row["table"], {})[row["key"]] = tuple(row["words"].split("|"))
    return tables


def single(table: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The first word by key."""
    return {key: words[0] for key, words in table.items()}


def groups(table: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Words that are treated alike, by what they have in common."""
    return {key: frozenset(words) for key, words in table.items()}


def _lines(path: Path) -> list[tuple[str, list[str]]]:
    """File and line, and cells, of all but comments and empty lines."""
    lines = enumerate(path.read_text("utf-8-sig").splitlines(), 1)
    kept = [(f"{path.name}, line {n}", line.split("\t")) for n, line in lines if line.strip() and not line.startswith("#")]
    return [(where, [cell.strip() for cell in cells]) for where, cells in kept] or [(path.name, [])]
