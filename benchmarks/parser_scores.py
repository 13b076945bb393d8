"""How well the English parser finds the study's relations: spaCy against gold trees, words given.

    python -m benchmarks.parser_scores --data-root DIR [--limit N] [--json PATH]

DIR has `ud_ewt/en_ewt-ud-test.conllu.xz` and `gum/gum.tar.xz` (its `dep/*.conllu`); a set that is not there is passed over.
Each set is scored twice: with copular clauses as UD heads them (by the predicate), and in the study's convention (by the
verb), see `helpers.corpora.parsing`. UD's other differences from ClearNLP are mapped in both. The rules of the convention
were chosen on the train part of English-EWT, never on these sets.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from helpers.corpora import parsing
from helpers.study import StudyError, one_sentence, provenance

SETS = {"ewt_test": "ud_ewt/en_ewt-ud-test.conllu.xz", "gum": "gum/gum.tar.xz"}


def gold(path: Path, copula: str, limit: int | None) -> list[parsing.Parse]:
    """Sentences of a CoNLL-U file or of the `dep/*.conllu` in a tar archive, those with withheld text left out."""
    parses: list[parsing.Parse] = []
    for name, lines in _parts(path):
        parses += [parse for parse in parsing.read_conllu(lines, copula, name) if "".join(parse.words).strip("_")]
        if limit and len(parses) >= limit:
            break
    return parses[:limit]


def _parts(path: Path) -> Iterator[tuple[str, Path | list[str]]]:
    if ".tar" not in path.suffixes:
        yield str(path), path
        return
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if member.name.removeprefix("./").startswith("dep/") and member.name.endswith(".conllu"):
                    yield f"{path}:{member.name}", archive.extractfile(member).read().decode("utf-8").splitlines()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise StudyError(f"The archive {path} cannot be read ({error}): fetch it again.") from None


def scores(data_root: Path, limit: int | None = None) -> pd.DataFrame:
    """One row a set, copula convention, relation and kind of clause."""
    parser, tables = parsing.SpacyParser(), []
    for name, where in SETS.items():
        path = data_root / where
        if not path.exists():
            continue
        started, predicted = time.time(), None
        for copula in ("predicate", "verb"):
            trees = gold(path, copula, limit)
            if predicted is None:
                started = time.time()
                words, texts = [tree.words for tree in trees], [tree.text for tree in trees]
                predicted = list(parser.parse_words(words, texts))
                seconds = time.time() - started
            table = parsing.score(predicted, trees)
            facts = table.attrs | {"words_per_second": round(sum(map(len, words)) / seconds)}
            tables.append(table.assign(set=name, copula=copula, **facts))
    if not tables:
        raise StudyError(f"There is none of {', '.join(SETS.values())} in {data_root}: set --data-root.")
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="most sentences a set")
    parser.add_argument("--json", type=Path, help="also write the table and where it comes from")
    options = parser.parse_args()
    with one_sentence():
        table = scores(options.data_root, options.limit)
    for (name, copula), part in table.groupby(["set", "copula"], sort=False):
        first = part.iloc[0]
        print(
            f"\n{name}, copular clauses headed by the {copula}: {first.sentences} sentences ({first.skipped} skipped), "
            f"{first.copulas} copular clauses, {first.words_per_second} words/s"
        )
        columns = ["relation", "clauses", "predicted", "gold", "right", "precision", "recall", "f1"]
        print(part[columns].to_string(index=False, float_format="%.3f"))
    if options.json:
        rows = json.loads(table.to_json(orient="records"))
        options.json.write_text(json.dumps({**provenance(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
