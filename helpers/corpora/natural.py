"""Natural sentence pairs: a folder below `HEADS_DATA_ROOT`, filtered and split.

English is always the source. A folder NAME/, or NAME_en-LANGUAGE/, has files `{train,dev,test}.en-LANGUAGE.tsv`, or without the
language, plain or packed with xz; English stands in the column before the last, its translation in the last. The length and
ratio filters are ours: Voita et al. 2019 name none beyond 200 tokens a side (appendix B.1).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from helpers.corpora import sources
from helpers.corpora.files import numbered_lines
from helpers.corpora.sources import normalise
from helpers.records import Pair
from helpers.study import StudyError, progress

LANGUAGES = {"ru": "Russian", "de": "German", "fr": "French"}
FURTHER = {"europarl": "wmt_tests/en-{language}.tsv.xz"}  # test sets beside a folder's own: a set's name, English, translation,
KEPT = {"ru": "newstest2018", "de": "newstest2018", "fr": "newstest2014"}  # and the one of them that is taken
MAX_WORDS, MAX_RATIO = 80, 2.0  # of a side; of the longer side, to the shorter one's words + 1


def read(source: str, language: str, dev: int, seed: int, limit: int | None) -> dict[str, list[Pair]]:
    """Load, filter and split the sentence pairs of a folder.

    All pairs of one English sentence (case, spacing and punctuation aside) land in one split; a sentence that stands in a
    test set is in neither train nor dev; test sets are kept whole and unfiltered. The dev set is drawn by a hash of the
    English sentence and the seed and has one pair a sentence; of 0 sentences all of the folder's are taken, and what it lacks
    is taken out of train. Train comes shuffled by such a hash; a smaller `limit` gives a prefix of a larger one.
    """
    tests: dict[str, list[Pair]] = defaultdict(list)
    kept: dict[tuple[str, str], Pair] = {}
    given: set[str] = set()  # English of the folder's dev set
    for role, pair in _rows(source, language):
        same = pair.source, pair.target
        if role == "test":
            tests[pair.origin].append(pair)
        elif _fits(pair) and same not in kept:
            kept[same] = pair
            given |= {normalise(pair.source)} if role == "dev" else set()
    held = {normalise(pair.source) for pairs in tests.values() for pair in pairs}
    sentences: dict[str, list[Pair]] = defaultdict(list)
    for (english, _), pair in kept.items():
        if (same := normalise(english)) not in held:
            sentences[same].append(pair)
    given -= held
    if len(sentences) <= max(dev, len(given)):
        raise StudyError(f"There are {len(sentences)} English sentences to train on and dev={dev} takes them all: lower dev.")
    chosen = sorted(sentences, key=lambda same: (same not in given, _rank(seed, same)))[: dev or len(given)]
    aside = {*chosen, *given}  # a dev set's sentences are not trained on, taken or not
    train = [pair for same, pairs in sentences.items() if same not in aside for pair in pairs]
    train.sort(key=lambda pair: _rank(seed, pair.source, pair.target))
    return {"train": train[:limit], "dev": [sentences[same][0] for same in chosen], **tests}


def files(source: str, language: str) -> list[Path]:
    """Local files that `read` takes, in its order: further test sets, if they are there, then those of test, dev and train."""
    root = sources.root()
    folder = root / source if (root / source).is_dir() else root / f"{source}_en-{language}"
    packed = [root / FURTHER[source].format(language=language)] if source in FURTHER else []
    found = [path for further in packed for path in (further, further.with_suffix("")) if path.exists()][:1]
    for role in ("test", "dev", "train"):
        names = [f"{role}{part}.tsv{packed}" for part in (f".en-{language}", "") for packed in (".xz", "")]
        there = [folder / name for name in names if (folder / name).exists()]
        if not there:
            raise StudyError(f"There is no file {folder / names[0]}: a folder of pairs has one each for train, dev and test.")
        found.append(there[0])
    return found


def _rows(source: str, language: str) -> Iterator[tuple[str, Pair]]:
    """Pairs with their role; training pairs come last, when it is known what is held out."""
    *further, test, dev, train = files(source, language)
    for path in further:
        for where, cells in _cells(path, 3):
            if cells[0] == KEPT[language]:
                yield _row("test", cells[0], cells, where)
    for role, path in (("test", test), ("dev", dev), ("train", train)):
        for where, cells in _cells(path, 0):
            if len(cells) < 2:
                raise StudyError(f"{where} has one column: English and its translation are the last two.")
            yield _row(role, source if role == "train" else f"{source}_{role}", cells, where)


def _row(role: str, origin: str, cells: list[str], where: str) -> tuple[str, Pair]:
    english, target = (cell.strip() for cell in cells[-2:])
    if role == "test" and not (english and target):
        raise StudyError(f"{where} has an empty sentence in the test set {origin}.")
    return role, Pair(english, target, origin=origin)


def _cells(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    """Rows of a tab-separated file, read as a stream, and where they stand; with 0 columns as many in each as in the first."""
    for number, line in progress(numbered_lines(path), path.name):
        cells = line.rstrip("\r\n").split("\t")
        columns = columns or len(cells)
        if len(cells) != columns:
            raise StudyError(f"Line {number} of {path} has {len(cells)} columns, not {columns}.")
        yield f"Line {number} of {path}", cells


def _rank(seed: int, *texts: str) -> bytes:
    return hashlib.blake2b("\t".join((str(seed), *texts)).encode(), digest_size=8).digest()


def _fits(pair: Pair) -> bool:
    """Whether the filters keep a pair: it has words on both sides, not too many, and about as many on one as on the other."""
    few, many = sorted((len(pair.source.split()), len(pair.target.split())))
    return few > 0 and many <= min(MAX_WORDS, MAX_RATIO * (few + 1))
