"""Build the report: python -m helpers.publish.report --run runs/laptop-controlled --output runs/report."""

from __future__ import annotations

import argparse
from pathlib import Path

from helpers import study
from helpers.publish import report


def main(arguments: list[str] | None = None) -> None:
    """Build the site that the arguments name, and print its front page."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.report", description=report.__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, default=study.runs() / "laptop-controlled", help="folder of a run")
    parser.add_argument("--output", type=Path, default=study.runs() / "report", help="folder of the site")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        print(report.build(chosen.run, chosen.output))


if __name__ == "__main__":
    main()
