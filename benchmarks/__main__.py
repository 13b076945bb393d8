"""Run all benchmarks of a size, one after the other: `python -m benchmarks --size laptop`.

When one fails the others still run; the exit code is then 1.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from benchmarks import common
from helpers import study


def main(given: Sequence[str] | None = None) -> None:
    """Run the benchmarks that are asked for.

    Raises
    ------
    SystemExit
        If one of them failed.
    """
    parser = common.arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=list(common.NAMES), choices=common.NAMES, metavar="NAME")
    options, failed = parser.parse_args(given), []
    asked = {name: getattr(options, name) for name in ("size", "repeats", "device")}
    asked = [text for name, value in asked.items() if value is not None for text in (f"--{name}", str(value))]
    for name in options.only:
        command = ["-m", f"benchmarks.{name}", *asked]
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, *command], cwd=study.ROOT).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
