"""Natural sentence pairs: from a local folder, or from the paper's kinds of corpora on the Hugging Face Hub.

English is always the source. What differs from Voita et al. 2019 (section 3, appendix B.1), and must be said beside every
number from these corpora:

- The local sets are 8 to 20 times smaller than the paper's 2.5 million (WMT) pairs.
- Of the WMT test sets only the kept one of a language (newstest2018 for Russian and German, newstest2014 for French) is a
  test set here; **all other years are training data**.
- On the Hub, wmt16 English-Russian holds 1.5 million pairs. The paper's sets leave out UN and Paracrawl; wmt14
  English-French on the Hub includes UN and the 10^9 corpus.
- OpenSubtitles, the paper's second corpus, is not read: no set on the Hub tells how well subtitles overlap in time.
- The length and ratio filters are ours; the paper names none beyond 200 tokens a side.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.corpora import sources
from helpers.corpora.files import numbered_lines
from helpers.corpora.sources import normalise
from helpers.records import Pair
from helpers.study import StudyError, progress

LANGUAGES = {"ru": "Russian", "de": "German", "fr": "French"}


@dataclass(frozen=True)
class LocalSet:
    """A tab-separated file of the local folder.

    Attributes
    ----------
    name : str
        The origin of its pairs, unless a column gives one.
    path : str
        Below the data root, "{language}" filled in; compressed with xz, or plain without the ".xz".
    columns : tuple of str
        In file order: "en", "target" or the language itself, "origin" (the row's own set); other names are not read.
    tests : mapping
        Language -> origins in this file that are test sets, kept whole. "*" stands for every language.
    aside : tuple of str
        Origins starting so are not used at all.
    """

    name: str
    path: str
    columns: tuple[str, ...]
    tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: tuple[str, ...] = ()


_KEPT = {"ru": ("newstest2018",), "de": ("newstest2018",), "fr": ("newstest2014",)}
LOCAL = (
    LocalSet("tatoeba", "tatoeba/en-{language}.tsv.xz", ("en", "target")),
    LocalSet("multi30k", "multi30k/train.en-de-fr.tsv.xz", ("en", "de", "fr")),
    LocalSet("multi30k_val", "multi30k/val.en-de-fr.tsv.xz", ("en", "de", "fr")),
    LocalSet(
        "multi30k_test2016", "multi30k/test_2016_flickr.en-de-fr.tsv.xz", ("en", "de", "fr"), {"*": ("multi30k_test2016",)}
    ),
    # A third to a half of the Tatoeba test's English sentences also stand in tatoeba/: it would be no test, and as one it
    # would cost training data. It is left out.
    LocalSet("wmt_tests", "wmt_tests/en-{language}.tsv.xz", ("origin", "en", "target"), _KEPT, ("tatoeba-test",)),
)
FURTHER = {"europarl": ("wmt_tests",)}  # sets of `LOCAL` whose test sets stand beside a folder's


@dataclass(frozen=True)
class HubSet:
    """A data set of the Hub: id, configuration, the test set's name, revision, and how many pairs the paper used."""

    id: str
    config: str
    test: str
    revision: str = "main"
    pairs: int = 2_500_000


_WMT14 = "99a5abb5d3d446e54a4cf512c77dc4fd8dc95e42"
_WMT16 = "049ba6fb74fdfa56f8e3605f633ef35afc86cb10"
HUB: dict[tuple[str, str], HubSet] = {
    ("wmt", "ru"): HubSet("wmt/wmt16", "ru-en", "newstest2016", _WMT16),
    ("wmt", "de"): HubSet("wmt/wmt14", "de-en", "newstest2014", _WMT14),
    ("wmt", "fr"): HubSet("wmt/wmt14", "fr-en", "newstest2014", _WMT14),
}


@dataclass(frozen=True)
class Natural:
    """Splits and the account of how they came about.

    Attributes
    ----------
    splits : dict
        "train", "dev", and each test set by its name -> list of `Pair`.
    report : pandas.DataFrame
        One row an origin, last a "total". The columns after `rows` sum to it: `aside` (set not used), `empty`, `long`,
        `ratio`, `duplicate` (same pair again), `in_test` (its English stands in a test set), `dev_other` (a further
        translation of a dev sentence), `over_limit`, and what was kept: `train`, `dev`, `test`.
    """

    splits: dict[str, list[Pair]]
    report: pd.DataFrame


REPORT = ("aside", "empty", "long", "ratio", "duplicate", "in_test", "dev_other", "over_limit", "train", "dev", "test")


class _Row(NamedTuple):
    origin: str
    role: str  # train, dev, test, aside
    english: str
    target: str


MAX_WORDS, MAX_RATIO = 80, 2.0  # of a side; of the longer side, to the shorter one's words + 1


def read(
    language: str, data_root: str | Path | None = None, dev: int = 2000, seed: int = 42, limit: int | None = None,
    source: str = "local",
) -> Natural:  # fmt: skip
    """Load, filter and split the sentence pairs of one language.

    All pairs of one English sentence (case, spacing and punctuation aside) land in one split; a sentence that stands in a
    test set is in neither train nor dev; test sets are kept whole and unfiltered. The dev set is drawn by a hash of the
    English sentence and the seed, so every origin is in it in proportion, whatever the order of files; it has one
    pair a sentence. Train comes shuffled by such a hash; a smaller `limit` gives a prefix of a larger one.

    Parameters
    ----------
    language : {"ru", "de", "fr"}
        Target language.
    data_root : path, optional
        Local folder; else the environment variable HEADS_DATA_ROOT.
    dev : int
        Size of the dev set in sentences. Of a folder that has one 0 takes all of it; what it lacks is taken out of train.
    limit : int, optional
        Most training pairs.
    source : str
        "local" (the files of `LOCAL`), the name of a set in `HUB` ("wmt"), or a folder below the data root
        that has files of its own, `{train,dev,test}.en-{language}.tsv` or without the language: "NAME" is NAME/ or
        NAME_en-{language}/. English stands in the column before the last, its translation in the last.

    Raises
    ------
    StudyError
        For an unknown language or source, a missing folder, no training set in it, a broken file (named with its
        line), a Hub that cannot be reached, a Hub set without the columns, sizes that leave nothing to train on.
    """
    if language not in LANGUAGES:
        raise StudyError(f"There is no language {language!r}: choose one of {', '.join(LANGUAGES)}.")
    if source == "local":
        rows = (row for entry, path in _present(language, _root(data_root)) for row in _set(entry, path, language))
    elif (source, language) in HUB:
        rows = _hub(HUB[source, language], language, seed, limit and 2 * (limit + dev))
    elif is_folder(source, language, data_root):
        rows = _folder_rows(source, language, _root(data_root))
    else:
        names = sorted({name for name, to in HUB if to == language})
        raise StudyError(f"There is no source {source!r} for {language!r}: choose local, {', '.join(names)} or a local folder.")
    return _split(rows, dev, seed, limit)


# --- reading ---------------------------------------------------------------------------------------------------------


def _root(data_root: str | Path | None) -> Path:
    given = data_root or os.environ.get("HEADS_DATA_ROOT")
    if not given:
        raise StudyError("No folder of natural text is set: give data_root or set HEADS_DATA_ROOT, see data/README.md.")
    if not Path(given).is_dir():
        raise StudyError(f"There is no folder {given}: set data_root or HEADS_DATA_ROOT to one, see data/README.md.")
    return Path(given)


def is_folder(source: str, language: str, data_root: str | Path | None = None) -> bool:
    """Whether a source is a folder below the data root."""
    given = data_root or os.environ.get("HEADS_DATA_ROOT")
    return source in FURTHER or (bool(given) and _folder(source, language, Path(given)).is_dir())


def files(source: str, language: str, data_root: str | Path | None = None) -> list[Path]:
    """Local files that `read` takes, in its order: of a folder further test sets first, training pairs last."""
    root = _root(data_root)
    if source == "local":
        return [path for _, path in _present(language, root)]
    further = [path for _, path in _existing(language, root, FURTHER.get(source, ()))]
    return further + list(_parts(source, language, root).values())


def _folder(source: str, language: str, root: Path) -> Path:
    return root / source if (root / source).is_dir() else root / f"{source}_en-{language}"


def _existing(language: str, root: Path, names: Sequence[str]) -> list[tuple[LocalSet, Path]]:
    entries = [entry for entry in LOCAL if entry.name in names and {"target", language} & set(entry.columns)]
    paths = [(entry, root / entry.path.format(language=language)) for entry in entries]
    either = ((entry, path if path.exists() else path.with_suffix("")) for entry, path in paths)
    return [(entry, path) for entry, path in either if path.exists()]


def _present(language: str, root: Path) -> list[tuple[LocalSet, Path]]:
    there = _existing(language, root, [entry.name for entry in LOCAL])
    if not any(entry.name not in _tests(entry, language) for entry, _ in there):
        raise StudyError(f"There is no training set for {language!r} in {root}, such as {LOCAL[0].path}.")
    return there


def _parts(source: str, language: str, root: Path) -> dict[str, Path]:
    """The three files of a folder by role: training pairs come last, when it is known what is held out."""
    folder, parts = _folder(source, language, root), {}
    for role in ("test", "dev", "train"):
        names = [f"{role}{part}.tsv{packed}" for part in (f".en-{language}", "") for packed in (".xz", "")]
        there = [folder / name for name in names if (folder / name).exists()]
        if not there:
            raise StudyError(f"There is no file {folder / names[0]}: a folder of pairs has one each for train, dev and test.")
        parts[role] = there[0]
    return parts


def _folder_rows(source: str, language: str, root: Path) -> Iterator[_Row]:
    for entry, path in _existing(language, root, FURTHER.get(source, ())):
        yield from (row for row in _set(entry, path, language) if row.role == "test")
    for role, path in _parts(source, language, root).items():
        origin = source if role == "train" else f"{source}_{role}"
        for number, cells in _cells(path, 0):
            if len(cells) < 2:
                raise StudyError(f"Line {number} of {path} has one column: English and its translation are the last two.")
            yield _row(origin, role, cells[-2], cells[-1], f"Line {number} of {path}")


def _row(origin: str, role: str, english: str, target: str, where: str) -> _Row:
    if role == "test" and not (english.strip() and target.strip()):
        raise StudyError(f"{where} has an empty sentence in the test set {origin}.")
    return _Row(origin, role, english, target)


def _tests(entry: LocalSet, language: str) -> tuple[str, ...]:
    return entry.tests.get(language, ()) + entry.tests.get("*", ())


def _set(entry: LocalSet, path: Path, language: str) -> Iterator[_Row]:
    index = {name: place for place, name in enumerate(entry.columns)}
    english, target = index["en"], index.get("target", index.get(language))
    tests = _tests(entry, language)
    for number, cells in _cells(path, len(entry.columns)):
        origin = cells[index["origin"]] if "origin" in index else entry.name
        role = "test" if origin in tests else "aside" if origin.startswith(entry.aside) else "train"
        yield _row(origin, role, cells[english], cells[target], f"Line {number} of {path}")


def _cells(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Rows of a tab-separated file, read as a stream; with 0 columns as many in each as in the first."""
    for number, line in progress(numbered_lines(path), path.name):
        cells = line.rstrip("\r\n").split("\t")
        columns = columns or len(cells)
        if len(cells) != columns:
            raise StudyError(f"Line {number} of {path} has {len(cells)} columns, not {columns}.")
        yield number, cells


def _hub(hub: HubSet, language: str, seed: int, most: int | None) -> Iterator[_Row]:
    """Rows of a Hub set: a seeded sample of at most `hub.pairs` training rows, and the test set whole."""
    instead = "set data_root or HEADS_DATA_ROOT to a local folder"
    for split, origin in (("train", f"{hub.id} ({hub.config})"), ("test", hub.test)):
        data = sources.hub_split(hub.id, hub.config, split, hub.revision, instead)
        wanted = min(len(data), hub.pairs, most or hub.pairs)
        if split == "train" and wanted < len(data):
            data = data.select(sorted(random.Random(f"{seed}").sample(range(len(data)), wanted)))
        for batch in progress(data.iter(batch_size=1000), origin, total=len(data) // 1000):
            for pair in batch["translation"]:
                yield _Row(origin, split, pair["en"] or "", pair[language] or "")


# --- splitting -------------------------------------------------------------------------------------------------------


def _rank(seed: int, *texts: str) -> bytes:
    return hashlib.blake2b("\t".join((str(seed), *texts)).encode(), digest_size=8).digest()


def _refusal(row: _Row) -> str | None:
    """The report's column for a training row that the filters drop, None for one they keep."""
    if row.role == "aside":
        return "aside"
    few, many = sorted((len(row.english.split()), len(row.target.split())))
    if not few:
        return "empty"
    if many > MAX_WORDS:
        return "long"
    return "ratio" if many > MAX_RATIO * (few + 1) else None


def _split(rows: Iterable[_Row], dev: int, seed: int, limit: int | None) -> Natural:
    counts: dict[str, Counter] = defaultdict(Counter)
    tests: dict[str, list[Pair]] = defaultdict(list)
    kept: dict[tuple[str, str], str] = {}
    given: set[str] = set()  # origins that are a dev set
    for row in rows:
        pair = row.english.strip(), row.target.strip()
        if row.role == "test":
            tests[row.origin].append(Pair(*pair, origin=row.origin))
            counts[row.origin]["test"] += 1
        elif refusal := _refusal(row) or ("duplicate" if pair in kept else None):
            counts[row.origin][refusal] += 1
        else:
            kept[pair] = row.origin
            given |= {row.origin} if row.role == "dev" else set()
            counts[row.origin]["train"] += 0  # rows of the report come in order of appearance
    held = {normalise(pair.source) for pairs in tests.values() for pair in pairs}
    sentences: dict[str, list[Pair]] = defaultdict(list)
    for (english, target), origin in kept.items():
        same = normalise(english)
        if same in held:
            counts[origin]["in_test"] += 1
        else:
            sentences[same].append(Pair(english, target, origin=origin))
    given_dev = {same for same, pairs in sentences.items() if pairs[0].origin in given}
    if len(sentences) <= max(dev, len(given_dev)):
        raise StudyError(f"There are {len(sentences)} English sentences to train on and dev={dev} takes them all: lower dev.")
    chosen = sorted(sentences, key=lambda same: (same not in given_dev, _rank(seed, same)))[: dev or len(given_dev)]
    splits = {"train": [], "dev": []}
    for same in chosen:
        first, *others = sentences.pop(same)
        splits["dev"].append(first)
        for pair in others:
            counts[pair.origin]["dev_other"] += 1
    for same in given_dev - set(chosen):  # a dev set's sentences are not trained on, taken or not
        for pair in sentences.pop(same):
            counts[pair.origin]["over_limit" if pair.origin in given else "dev_other"] += 1
    train = [pair for pairs in sentences.values() for pair in pairs]
    train.sort(key=lambda pair: _rank(seed, pair.source, pair.target))
    splits["train"] = train[:limit]
    for column, pairs in (("train", splits["train"]), ("over_limit", train[len(splits["train"]) :]), ("dev", splits["dev"])):
        for pair in pairs:
            counts[pair.origin][column] += 1
    table = pd.DataFrame(
        [[origin, *(count[c] for c in REPORT)] for origin, count in counts.items()], columns=["origin", *REPORT]
    )
    table.loc[len(table)] = ["total", *table[list(REPORT)].sum()]
    table.insert(1, "rows", table[list(REPORT)].sum(axis=1))
    return Natural(splits | dict(tests), table)
