"""`python -m helpers.corpora SPEC.json` prepares the corpus of a spec file in the store."""

import argparse
from pathlib import Path

from helpers import corpora, study
from helpers.study import StudyError


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.corpora", description=__doc__)
    parser.add_argument("spec", type=Path, help="JSON file: a spec as made by helpers.corpora.spec")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        described = study.read_spec(chosen.spec)
        if "corpus" not in described:
            raise StudyError(f"The spec {chosen.spec} lacks 'corpus': write it with helpers.corpora.spec.")
        print(corpora.prepare(described))


if __name__ == "__main__":
    main()
