"""Corpora of sentence pairs: generated ones, with gold trees, and natural ones; their parses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from helpers import study, world
from helpers.corpora import natural, parsing, tokens
from helpers.corpora.files import file, new_file, read_pairs, write
from helpers.records import Pair
from helpers.study import StudyError

LANGUAGES = natural.LANGUAGES
REGISTERS = world.LENGTHS
NATURAL_VERSION = 1


def spec(settings: Mapping[str, Any], language: str, register: str, seed: int) -> dict[str, Any]:
    """Everything that a prepared corpus depends on: of a profile's settings its sizes, the target language and the register.

    On the natural track the register is a folder below `HEADS_DATA_ROOT` (`helpers.corpora.natural`).
    """
    if language not in LANGUAGES:
        raise StudyError(f"There is no language {language!r}: choose one of {', '.join(LANGUAGES)}.")
    chosen = {name: settings[name] for name in ("corpus", "train", "dev", "test", "vocabulary")}
    chosen |= {"language": language, "register": register, "seed": seed}
    if chosen["corpus"] == "controlled":
        if register not in REGISTERS:
            raise StudyError(f"There is no register {register!r}: choose one of {', '.join(REGISTERS)}.")
    elif chosen["corpus"] == "natural":
        files = [(path, path.stat()) for path in natural.files(register, language)]
        chosen["files"] = _digest(tuple((path, known.st_size, known.st_mtime_ns) for path, known in files))
    else:
        raise StudyError(f"There is no corpus {chosen['corpus']!r}: choose controlled or natural.")
    return chosen


@cache
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Digest of local files, each with its size and time of change."""
    digest = hashlib.sha256()
    for path, *_ in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _prepare(spec: Mapping[str, Any], place: study.Place) -> None:
    folder = place.results
    if spec["corpus"] == "controlled":
        splits = world.splits(*(spec[name] for name in ("register", "language", "train", "dev", "test", "seed")))
    else:
        splits = natural.read(spec["register"], spec["language"], spec["dev"], spec["seed"], spec["train"] or None)
        limit = spec["test"] or None
        splits = {name: pairs if name in ("train", "dev") else pairs[:limit] for name, pairs in splits.items()}
    for name, pairs in splits.items():
        write(new_file(place, name), [_lower(pair) for pair in pairs])
    for side in ("source", "target"):
        texts = (getattr(pair, side) for pair in splits["train"])
        tokens.learn_vocabulary(texts, spec["vocabulary"]).save(str(folder / f"{side}.json"))


def _version(spec: Mapping[str, Any]) -> int:
    """Of a language's text: other languages' keys do not hang on its words."""
    return world.VERSIONS[spec["language"]] if spec["corpus"] == "controlled" else NATURAL_VERSION


PAIRS = study.Kind("pairs", _version, _prepare, text=True)


def _lower(pair: Pair) -> Pair:
    words = tuple(w.lower() for w in pair.words)
    return Pair(pair.source.lower(), pair.target.lower(), words, pair.heads, pair.relations, pair.origin)


def parsed(folder: Path, parser: str = "spacy") -> list[Pair]:
    """The dev pairs of a prepared corpus with words and dependencies: its own or, where it has none, a parser's.

    The parser is "spacy", or the path of a CoNLL-U file; what it finds is stored.
    """
    pairs = read_pairs(file(folder, "dev"))
    if pairs[0].words:
        return pairs
    (made,) = parses(study.at(folder).spec, parser)
    return read_pairs(made.results / "dev.jsonl")


def parses(corpus: Mapping[str, Any], parser: str = "spacy") -> list[study.Recipe]:
    """What `parsed` reads of a corpus beside its pairs: nothing where these carry their trees."""
    if corpus["corpus"] == "controlled" or "task" in corpus:
        return []
    # a file is what stands in it, not its path alone
    stands = {"file": study.digest(Path(parser))} if parser != "spacy" and Path(parser).is_file() else {}
    return [PARSES.of({"corpus": dict(corpus), "split": "dev", "parser": parser} | stands, "parses of dev")]


def _parse(spec: Mapping[str, Any], place: study.Place) -> None:
    pairs = read_pairs(file(PAIRS.of(spec["corpus"]).results, spec["split"]))
    write(place.results / f"{spec['split']}.jsonl", parsing.annotate(pairs, parsing.parser(spec["parser"])))


PARSES = study.Kind("parses", 1, _parse, lambda spec: [PAIRS.of(spec["corpus"])], text=True)
