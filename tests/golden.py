"""Hold the tables of a rerun against the committed ones: `python -m tests.golden runs/laptop-controlled figures/controlled`.

Every CSV file below the first folder is compared with the one of the same path below the second: columns, types and text must
be equal, numbers to a relative 1e-9. Tables of one folder alone are listed.
"""

import sys
from pathlib import Path

import pandas as pd


def main(*folders: str) -> None:
    """Compare and print; ends with an error where tables differ, or where none is in both folders."""
    one, other = ({str(path.relative_to(folder)) for path in Path(folder).rglob("*.csv")} for folder in folders)
    different = 0
    for name in sorted(one & other):
        try:
            pd.testing.assert_frame_equal(*(pd.read_csv(Path(folder) / name) for folder in folders), rtol=1e-9, atol=0)
        except AssertionError as error:
            different += 1
            print(f"{name}: {error}")
    print(*(f"in one folder alone: {name}" for name in sorted(one ^ other)), sep="\n")
    print(f"{len(one & other)} tables in both folders, {different} differ")
    raise SystemExit(bool(different) or not one & other)


if __name__ == "__main__":
    main(*sys.argv[1:])
