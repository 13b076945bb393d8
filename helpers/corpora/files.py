"""Files of text: records as JSON lines, and where a prepared corpus keeps which split."""

from __future__ import annotations

import contextlib
import json
import lzma
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from helpers import study
from helpers.records import Dialogue, Event, Pair, Text
from helpers.study import StudyError

Record = TypeVar("Record", Pair, Text, Dialogue)


def write(path: Path, records: Iterable[Pair | Text | Dialogue]) -> None:
    """Write pairs, texts or dialogues as JSON lines; an empty field is left out, but for the text itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            row = {name: value for name, value in asdict(record).items() if value or name in ("source", "target", "text")}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_pairs(path: Path, bare: bool = False) -> list[Pair]:
    """Read pairs that `write` wrote; it is a StudyError if there are none, or a line is broken.

    `bare` is source and target alone, which is all that training takes: without words text is encoded in a quarter of the time.
    """
    return _read(path, "sentence pair", (lambda row: Pair(row["source"], row["target"])) if bare else _pair)


def read_texts(path: Path) -> list[Text]:
    """Read texts, as `read_pairs` does pairs."""
    return _read(path, "text", lambda row: Text(**row))


def read_dialogues(path: Path) -> list[Dialogue]:
    """Read dialogues, as `read_pairs` does pairs."""
    return _read(path, "dialogue", _dialogue)


def _read(path: Path, what: str, record: Callable[[dict[str, Any]], Record]) -> list[Record]:
    if not path.exists():
        raise StudyError(f"There is no file {path}: prepare the corpus first.")
    records = []
    with path.open("rb") as file:  # bytes: a cut may go through a letter
        for number, line in enumerate(file, 1):
            try:
                records.append(record(json.loads(line)))
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                raise StudyError(f"Line {number} of {path} is not a {what} ({error}): prepare the corpus anew.") from None
    if not records:
        raise StudyError(f"The file {path} holds no {what}s: prepare the corpus anew.")
    return records


def _pair(row: dict[str, Any]) -> Pair:
    row.pop("marks", None)  # of published corpora, which once carried what to look for in a translation
    return Pair(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()})


def _dialogue(row: dict[str, Any]) -> Dialogue:
    row["clusters"] = tuple(tuple(tuple(span) for span in cluster) for cluster in row.get("clusters", ()))
    row["turns"], row["words"] = tuple(tuple(turn) for turn in row["turns"]), tuple(row["words"])
    row["events"] = tuple(Event(**event) for event in row.get("events", ()))
    return Dialogue(**row)


def file(folder: Path, split: str, within: str = "") -> Path:
    """The file of a split of a prepared corpus, or of what its part `within` says of it.

    Training text lies apart, with what is large: who reads a test set of a published corpus does not wait for it. It is made
    here if only the rest is there.
    """
    whole = folder / within / f"{split}.jsonl"
    if split != "train" or whole.exists():  # a store may be older than this
        return whole
    return study.at(folder).weights / within / whole.name


def new_file(place: study.Place, split: str, within: str = "") -> Path:
    """The file that `file` finds, for who makes it."""
    folder = (place.weights if split == "train" else place.results) / within
    folder.mkdir(exist_ok=True)
    return folder / f"{split}.jsonl"


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one sentence that a file is not there, damaged, or no UTF-8 text."""
    try:
        yield
    except UnicodeDecodeError:
        raise StudyError(f"The file {path} is not UTF-8 text: fetch it again.") from None
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise StudyError(f"The file {path} is damaged or cut off: fetch it again.") from None
    except OSError as error:
        raise StudyError(f"The file {path} cannot be read: {error.strerror}; see data/README.md.") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file, packed by xz or not, with their numbers, read as a stream; a StudyError if there are none."""
    number = 0
    with readable(path), lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            yield number, raw.decode("utf-8")
    if not number:
        raise StudyError(f"The file {path} is empty: fetch it again.")


def text_of(source: str) -> str:
    """The text of a plain file or of "PATH.tar.xz:MEMBER"; what is not there is looked for below HEADS_DATA_ROOT."""
    path, colon, member = source.partition(".tar.xz:")
    path = Path(path + ".tar.xz" if colon else path)
    if not path.exists() and study.data_root():
        path = Path(study.data_root()) / path
    with readable(path):
        if not colon:
            return path.read_text("utf-8")
        try:
            with tarfile.open(path) as archive:
                return archive.extractfile(member).read().decode("utf-8")
        except (KeyError, AttributeError):
            raise StudyError(f"There is no file {member} in {path}: look with `tar tf`.") from None
