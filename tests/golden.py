"""Hold the tables of a rerun against the committed ones: `python -m tests.golden runs/laptop-controlled figures/controlled`.

Every CSV file below the first folder is compared with the one of the same path below the second, number by number: text and
whole numbers must be equal, other numbers to a relative 1e-9. Tables of one folder alone are listed.
"""

import argparse
import csv
import math
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

TOLERANCE = 1e-9


def alike(one: str, other: str) -> bool:
    """Whether two cells say the same: equal as text, or numbers with a fraction that differ by the tolerance at most."""
    if one == other:
        return True
    try:
        fractions = all(set(".einEIN") & set(cell) for cell in (one, other))
        return fractions and math.isclose(float(one), float(other), rel_tol=TOLERANCE)
    except ValueError:
        return False


def difference(rerun: Path, committed: Path) -> str:
    """Where two tables differ first, and in how many cells; "" where they do not."""
    one, other = (list(csv.reader(path.open(encoding="utf-8", newline=""))) for path in (rerun, committed))
    if one[:1] != other[:1] or len(one) != len(other):
        columns = sorted(set(*one[:1]) ^ set(*other[:1]))
        return f"{len(one) - 1} rows instead of {len(other) - 1}; columns of one side alone: {', '.join(columns) or 'none'}"
    wrong = [
        (row, column, cell, wanted)
        for row, (line, golden) in enumerate(zip(one, other, strict=True))
        for column, (cell, wanted) in enumerate(zip_longest(line, golden, fillvalue=""))
        if not alike(cell, wanted)
    ]
    if not wrong:
        return ""
    row, column, cell, wanted = wrong[0]
    return f"{len(wrong)} cells differ, the first in row {row}, column {one[0][column]!r}: {cell} instead of {wanted}"


def compare(rerun: Path, committed: Path) -> tuple[list[str], dict[str, str], dict[str, Path]]:
    """The tables of both folders; those that differ, each with how; those of one folder alone, each with that folder."""
    there = {folder: {str(path.relative_to(folder)) for path in folder.rglob("*.csv")} for folder in (rerun, committed)}
    both = sorted(there[rerun] & there[committed])
    different = {name: how for name in both if (how := difference(rerun / name, committed / name))}
    single = sorted(there[rerun] ^ there[committed])
    return both, different, {name: rerun if name in there[rerun] else committed for name in single}


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare and print; ends with an error where tables differ, or where none is in both folders."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.splitlines()[0])
    parser.add_argument("rerun", type=Path)
    parser.add_argument("committed", type=Path)
    chosen = parser.parse_args(arguments)
    both, different, single = compare(chosen.rerun, chosen.committed)
    for name, folder in single.items():
        print(f"only in {folder}: {name}")
    for name, how in different.items():
        print(f"{name}: {how}")
    print(f"{len(both)} tables in both folders, {len(different)} differ")
    raise SystemExit(bool(different) or not both)


if __name__ == "__main__":
    main()
