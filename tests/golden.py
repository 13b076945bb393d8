"""Hold the tables of a rerun against the committed ones: `python -m tests.golden runs/laptop-controlled figures/controlled`.

Every CSV file below the first folder is compared with the one of the same path below the second: columns, types and text must
be equal, numbers to a relative 1e-9. Tables of one folder alone are listed.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

TOLERANCE = 1e-9


def difference(rerun: Path, committed: Path) -> str:
    """Where two tables differ, in the words of pandas; "" where they do not."""
    try:
        pd.testing.assert_frame_equal(*map(pd.read_csv, (rerun, committed)), rtol=TOLERANCE, atol=0)
    except AssertionError as error:
        return str(error)
    return ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare and print; ends with an error where tables differ, or where none is in both folders."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.splitlines()[0])
    parser.add_argument("rerun", type=Path)
    parser.add_argument("committed", type=Path)
    folders = vars(parser.parse_args(arguments)).values()
    one, other = ({str(path.relative_to(folder)) for path in folder.rglob("*.csv")} for folder in folders)
    different = {name: how for name in one & other if (how := difference(*(folder / name for folder in folders)))}
    for name in sorted(one ^ other):
        print(f"in one folder alone: {name}")
    for name in sorted(different):
        print(f"{name}: {different[name]}")
    print(f"{len(one & other)} tables in both folders, {len(different)} differ")
    raise SystemExit(bool(different) or not one & other)


if __name__ == "__main__":
    main()
