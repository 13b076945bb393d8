"""The store's ground: folders, files that are there whole or not at all, digests."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from helpers.errors import StudyError
from helpers.study.origin import ROOT


def runs() -> Path:
    """Folder of everything trained and executed; `HEADS_RUNS` moves it."""
    return Path(os.environ.get("HEADS_RUNS") or ROOT / "runs")


def data() -> Path:
    """Folder of everything generated or downloaded; `HEADS_DATA` moves it."""
    return Path(os.environ.get("HEADS_DATA") or ROOT / "data")


def data_root() -> str:
    """The local folder of natural corpora (`HEADS_DATA_ROOT`), "" where none is set."""
    return os.environ.get("HEADS_DATA_ROOT", "")


def say(text: str) -> None:
    """A sentence to whoever watches: on stderr, so that no result changes by it."""
    print(text, file=sys.stderr, flush=True)


def key(value: Any) -> str:
    """Key of a JSON-able description, the same in every process."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _no_room(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, is that of a full disk."""
    while error and not isinstance(error, StudyError):
        code = re.search(r"\(os error (\d+)\)", str(error))  # libraries that are not written in Python
        if getattr(error, "errno", None) in _FULL or (code and int(code[1]) in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def room_for(path: Path):
    """Say in one sentence that the disk is full."""
    try:
        yield
    except Exception as error:
        if _no_room(error):
            raise StudyError(f"There is no room for {path}: free space on its disk, then start again.") from None
        raise


@contextlib.contextmanager
def whole(path: Path):
    """Give a scratch path to write to, which becomes `path` when the block ends: it is there whole or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with room_for(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield scratch
            os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """`write_text` of bytes."""
    with whole(path) as scratch:
        scratch.write_bytes(content)


def write_json(path: Path, value: Any) -> None:
    """`write_text` of indented JSON."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; a StudyError if it is missing, or no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"Cannot read {path} ({error}).") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; what is wrong in it is said with its place."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"Cannot read {path} ({error}): correct the file.") from None


def wrong(error: ValidationError, where: str) -> StudyError:
    """The first thing that pydantic finds wrong, in a sentence that says what was given and in which place."""
    first = error.errors()[0]
    if first["type"] == "value_error":
        return StudyError(str(first["ctx"]["error"]))
    place, reason = ".".join(map(str, first["loc"])), first["msg"][0].lower() + first["msg"][1:]
    return StudyError(f"In {where} {place!r} cannot be {first['input']!r}: {reason}.")


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by its path in it."""
    return {str(file.relative_to(folder)): digest(file) for file in sorted(folder.rglob("*")) if file.is_file()}


def damaged(folder: Path, files: Mapping[str, str]) -> str:
    """The first of `files` (path in the folder -> digest) that is missing or changed, "" if none is."""
    for name, wanted in files.items():
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
            if digest(folder / name) == wanted:
                continue
        return name
    return ""
