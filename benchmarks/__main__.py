"""Run all benchmarks of a size, one after the other: `python -m benchmarks --size laptop`.

What is kept already, by the same command and code, is not run again. When one fails the others still run; the exit code is
then 1.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks import common
from helpers import study


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmarks that are not kept.

    Raises
    ------
    SystemExit
        If one of them failed.
    """
    given = sys.argv[1:] if arguments is None else arguments
    parser = common.arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=list(common.NAMES), choices=common.NAMES, metavar="NAME")
    parser.add_argument("--again", action="store_true", help="also those that are kept already")
    options = parser.parse_args(given)
    told = [
        text
        for name in ("size", "threads", "repeats")
        if (value := getattr(options, name)) is not None
        for text in (f"--{name}", str(value))
    ]
    if options.device != parser.get_default("device"):
        told += ["--device", options.device]
    failed = []
    for name in options.only:
        command = ["-m", f"benchmarks.{name}", *told]
        with study.one_sentence():
            there = not options.again and common.kept(name, options.size, " ".join(["python", *command]))
        if there:
            print(f"{name}: kept already", flush=True)
            continue
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, *command], cwd=study.ROOT).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
