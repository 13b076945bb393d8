"""Reads the word tables in `words/`, which a speaker of the language can correct: one word a row, columns parted by tabs.

A line that starts with "#" is a comment; the first other line names the columns. Empty cells at the end of a row may be
left out. Where a table says so, the order of its rows decides how often a word is drawn. A correction changes the text:
raise the language's number in `helpers.world.VERSIONS` with it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("words")


def read(name: str) -> list[dict[str, str]]:
    """Rows of one table: cells by column, "" where a row has none."""
    lines = (FOLDER / f"{name}.tsv").read_text("utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    return list(csv.DictReader(kept, delimiter="\t", restval="", quoting=csv.QUOTE_NONE))


def grouped(rows: Iterable[dict[str, str]], value: Callable[[dict[str, str]], Any]) -> dict[str, tuple]:
    """What a value of each row is, by key: the usual translation first."""
    table: dict[str, tuple] = {}
    for row in rows:
        table[row["key"]] = (*table.get(row["key"], ()), value(row))
    return table


def forms(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Forms of verbs by infinitive and column."""
    return {row["infinitive"]: {column: tuple(text.split()) for column, text in row.items()} for row in read(name)}


def grammar(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Words by table and key."""
    tables: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in read(name):
        tables.setdefault(row["table"], {})[row["key"]] = tuple(row["words"].split("|"))
    return tables


def single(table: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The first word by key."""
    return {key: words[0] for key, words in table.items()}


def groups(table: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Words that are treated alike, by what they have in common."""
    return {key: frozenset(words) for key, words in table.items()}
