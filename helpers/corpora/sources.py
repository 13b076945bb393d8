"""Text of others: local files below a data root, and sets of the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from helpers import study
from helpers.corpora.files import numbered_lines
from helpers.records import Pair
from helpers.study import StudyError


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from.

    Attributes
    ----------
    task, corpus : str
        "summarization" or "language modelling"; "controlled" or "natural".
    what : str
        In words.
    files : mapping
        Of a local set: split -> file below the data root; a file whose split is no part of train, dev and test may be absent.
    columns : tuple of str
        (document, summary, another name of the summary), or (text,).
    hub, config, revision : str
        Of a set of the Hugging Face Hub: its id, configuration and commit.
    apart : str
        Of a set whose pieces overlap a regular expression: dev and test are the rows in whose id it is found.
    most : int
        Of local documents with more words nothing is read: a summary of what a model cannot see says nothing. 0 for no limit.
    """

    task: str
    corpus: str
    what: str
    files: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    hub: str = ""
    config: str = ""
    revision: str = "main"
    apart: str = ""
    most: int = 0


def digest(source: Source) -> str:
    """Digest of a source's local files, and of which of their documents are left out."""
    digest = hashlib.sha256(f"most {source.most}\n".encode() if source.most else b"")
    for split, path in local(source).items():
        digest.update(f"{split} {study.digest(path)}\n".encode())
    return digest.hexdigest()[:16]


def local(source: Source) -> dict[str, Path]:
    """The local files of a source by split; plain ones will do. Those of WikiText may be absent."""
    root = study.data_root()
    if not root:
        raise StudyError("No folder of natural text is set: set HEADS_DATA_ROOT, see data/README.md.")
    if not Path(root).is_dir():
        raise StudyError(f"There is no folder {root}: set HEADS_DATA_ROOT to one, see data/README.md.")
    found = {}
    for split, name in source.files.items():
        path = Path(root) / name
        path = path if path.exists() else path.with_suffix("")
        if path.exists():
            found[split] = path
        elif not name.startswith("wikitext"):
            raise StudyError(f"There is no file {Path(root) / name}: fetch it, see data/README.md, or choose another text.")
    return found


def examples(source: Source, split: str) -> Iterator[Pair]:
    """Pairs of a split of a local set in files of JSON lines."""
    return jsonl(local(source)[split], *source.columns, apart="" if split == "train" else source.apart, most=source.most)


def jsonl(path: Path, document: str, summary: str, *others: str, apart: str = "", most: int = 0) -> Iterator[Pair]:
    """Pairs of a file of JSON lines; `others` are names that the summary goes by instead, `apart`, `most` as in `Source`."""
    origin = path.parent.name
    for number, line in numbered_lines(path):
        try:
            row = json.loads(line)
            if apart and not re.search(apart, row["id"]):
                continue
            pair = row[document], row[next((name for name in others if name in row), summary)]
        except KeyError as error:
            raise StudyError(f"Line {number} of {path} has no field {error}: it has {', '.join(row)}.") from None
        except (ValueError, TypeError, IndexError) as error:
            raise StudyError(f"Line {number} of {path} is not a JSON object ({error}): fetch the file again.") from None
        if not all(isinstance(side, str) for side in pair):
            raise StudyError(f"Line {number} of {path} holds no text in {document!r} or {summary!r}: fetch the file again.")
        if not most or len(pair[0].split()) <= most:
            yield Pair(*pair, origin=origin)


def rank(seed: int, text: str) -> bytes:
    """Where a text stands in an order that no other text changes: so fewer are a part of more."""
    return hashlib.sha256(f"{seed}\t{text}".encode()).digest()


def normalise(sentence: str) -> str:
    """Form of an English sentence under which two count as the same: no case, spacing or punctuation."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    return re.sub(r"[\W_]+", " ", plain).strip() or plain.strip()


def key(text: str) -> bytes:
    """The same for texts that differ in case, spacing and punctuation alone."""
    return hashlib.sha256(normalise(text).encode()).digest()[:16]


def hub_split(name: str, config: str, split: str, revision: str, instead: str):
    """A split of a Hub set, which the Hub is asked for once before, so that a missing network costs seconds and not retries.

    Parameters
    ----------
    instead : str
        What may be done instead, for who reads the error.

    Raises
    ------
    StudyError
        If the Hub cannot be reached, or does not have the set.
    """
    import datasets

    if not Path(name).is_dir() and not datasets.config.HF_HUB_OFFLINE:
        _reach(name, revision, instead)
    try:
        return datasets.load_dataset(name, config, split=split, revision=revision)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise StudyError(
            f"The Hub set {name} ({config}), split {split}, cannot be loaded ({_first_line(error)}): {instead}."
        ) from None


def _reach(name: str, revision: str, instead: str) -> None:
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    try:
        huggingface_hub.HfApi().dataset_info(name, revision=revision, timeout=10)
    except HfHubHTTPError as error:
        raise StudyError(f"The Hub does not give {name} at revision {revision} ({_first_line(error)}): {instead}.") from None
    except Exception as error:  # the network libraries below it share no error class
        why = f"The Hub cannot be reached for {name} ({_first_line(error)})"
        raise StudyError(f"{why}: set HF_HUB_OFFLINE=1 if it is in the cache, or {instead}.") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
