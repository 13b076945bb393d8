"""Text of others: local files below a data root; and how text is split."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers import study
from helpers.corpora.files import numbered_lines
from helpers.records import Pair
from helpers.study import StudyError

SUMMARIZATION, MODELLING = "summarization", "language modelling"
SIZES = ("train", "dev", "test", "vocabulary", "longest")
SPLITS = ("test", "dev", "train")  # in the order in which text is taken: what stands in one is in none that follows


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from."""

    task: str  # `SUMMARIZATION` or `MODELLING`
    files: Mapping[str, str] = field(default_factory=dict)  # split -> file below the data root; of none the text is generated

    @property
    def corpus(self) -> str:
        """ "controlled" or "natural"."""
        return "natural" if self.files else "controlled"


def find(table: Mapping[str, Source], name: str) -> Source:
    """A source by its name in a table, or a folder below the data root: of dialogues, or of running text in train.tsv."""
    if name in table:
        return table[name]
    folder = Path(study.data_root() or "") / name
    if not (study.data_root() and name and folder.is_dir()):
        raise StudyError(f"There is no text {name!r}: choose one of {', '.join(table)}, or a folder below HEADS_DATA_ROOT.")
    if any(folder.glob("train.tsv*")):
        return Source(MODELLING, {split: f"{name}/{split}.tsv.xz" for split in ("train", "dev", "test")})
    dev = "val" if any(folder.glob("val.jsonl*")) else "dev"
    files = {split: f"{name}/{file}.jsonl.xz" for split, file in (("train", "train"), ("dev", dev), ("test", "test"))}
    return Source(SUMMARIZATION, files)


def spec(table: Mapping[str, Source], settings: Mapping[str, int], name: str, seed: int) -> dict[str, Any]:
    """Everything that a prepared corpus of summarization, dialogues or language modelling depends on.

    Of the settings "train", "dev" and "test" (examples; 0 for all there are, of a natural corpus), "vocabulary" (subwords at
    most) and "longest" (0 for all).
    """
    source = find(table, name)
    if empty := [size for size in SPLITS if source.corpus == "controlled" and not settings[size]]:
        raise StudyError(f"The size {empty[0]!r} of {name} must be 1 or more, not 0: generated text has no end.")
    chosen = {"task": source.task, "name": name, "corpus": source.corpus} | {size: settings[size] for size in SIZES}
    return chosen | {"seed": seed} | ({"files": digest(source)} if source.files else {})


def digest(source: Source) -> str:
    """Digest of a source's local files."""
    digest = hashlib.sha256()
    for split, path in local(source).items():
        digest.update(f"{split} {study.digest(path)}\n".encode())
    return digest.hexdigest()[:16]


def unchanged(source: Source, spec: Mapping[str, Any]) -> None:
    """Stop where the local files are not those of a spec."""
    if source.files and spec["files"] != digest(source):
        raise StudyError(f"The local files of {spec['name']} are not those that the spec was written for: write the spec anew.")


def root() -> Path:
    """The folder of natural text, which must be set and there."""
    if not study.data_root():
        raise StudyError("No folder of natural text is set: set HEADS_DATA_ROOT, see data/README.md.")
    if not Path(study.data_root()).is_dir():
        raise StudyError(f"There is no folder {study.data_root()}: set HEADS_DATA_ROOT to one, see data/README.md.")
    return Path(study.data_root())


def local(source: Source) -> dict[str, Path]:
    """The local files of a source by split; plain ones will do."""
    paths = {}
    for split, name in source.files.items():
        path = root() / name
        paths[split] = path if path.exists() else path.with_suffix("")
        if not paths[split].exists():
            raise StudyError(f"There is no file {path}: fetch it, see data/README.md, or choose another text.")
    return paths


def examples(source: Source, split: str) -> Iterator[Pair]:
    """Dialogues with summaries of a split, a JSON line each with these fields."""
    path = local(source)[split]
    for number, line in numbered_lines(path):
        try:
            row = json.loads(line)
            pair = row["dialogue"], row["summary"]
        except KeyError as error:
            raise StudyError(f"Line {number} of {path} has no field {error}: it has {', '.join(row)}.") from None
        except (ValueError, TypeError) as error:
            raise StudyError(f"Line {number} of {path} is not a JSON object ({error}): fetch the file again.") from None
        if not all(isinstance(side, str) for side in pair):
            raise StudyError(f"Line {number} of {path} holds no text in dialogue or summary: fetch the file again.")
        yield Pair(*pair, origin=path.parent.name)


def divide(
    spec: Mapping[str, Any], streams: Mapping[str, Iterable], document: Callable[[Any], str], empty: Callable[[Any], bool],
    in_order: bool,
) -> dict[str, list]:  # fmt: skip
    """Splits in which no document stands twice, but within a natural test set, which is kept as it is.

    Of rows by split, in the order of `SPLITS`. By the text of their `document`, case, spacing and punctuation aside, rows are
    the same; `in_order` says whether a part of dev or test keeps the order of its file.
    """
    controlled, held = spec["corpus"] == "controlled", set()
    splits = {}
    for split, stream in streams.items():
        kept, limit = {}, spec[split]
        for place, row in enumerate(study.progress(stream, f"{spec['name']}, {split}", total=limit if controlled else None)):
            same = normalise(document(row))
            again = same in kept and (controlled or split != "test")
            if not (empty(row) or same in held or again):
                kept[same if same not in kept else (same, place)] = row
            if controlled and len(kept) == limit:
                break
        rows = list(kept.values())
        places = range(len(rows))
        if not controlled and (split == "train" or 0 < limit < len(rows)):  # by a hash, so that fewer are a part of more
            places = sorted(places, key=lambda place: rank(spec["seed"], document(rows[place])))[: limit or None]
            places = sorted(places) if in_order and split != "train" else places
        held |= kept.keys()
        splits[split] = [rows[place] for place in places]
        if not splits[split]:
            raise StudyError(f"Nothing is left of {spec['name']} in {split}: lower the other splits or take more text.")
    return splits


def rank(seed: int, text: str) -> bytes:
    """Where a text stands in an order that no other text changes: so fewer are a part of more."""
    return hashlib.sha256(f"{seed}\t{text}".encode()).digest()


def normalise(sentence: str) -> str:
    """Form of an English sentence under which two count as the same: no case, spacing or punctuation."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    return re.sub(r"[\W_]+", " ", plain).strip() or plain.strip()
