"""`python -m helpers.corpora SPEC.json` prepares the corpus of a spec file in the store."""

import argparse
import json
from pathlib import Path

from helpers import corpora, study
from helpers.study import StudyError


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.corpora", description=__doc__)
    parser.add_argument("spec", type=Path, help="JSON file: a spec as made by helpers.corpora.spec")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        try:
            described = json.loads(chosen.spec.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StudyError(f"Cannot read the spec {chosen.spec} ({error}).") from None
        print(corpora.prepare(described))


if __name__ == "__main__":
    main()
