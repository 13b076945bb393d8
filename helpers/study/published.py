"""Published runs: a second store that travels with the project and is only read.

`data/published/index.json` says of every run what it is, the digest and size of its archives, and on what it was made; one
archive holds its results, another its weights where they are published. What is wanted of them is checked, unpacked into the
store, and from then on read there.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.study import store
from helpers.study.errors import StudyError
from helpers.study.provenance import ROOT

if TYPE_CHECKING:
    from helpers.study.recipe import Recipe

TOLD = ("kind", "version", "what", "label", "commit", "hardware", "seconds", "time")  # of a manifest, in the index
PARTS = ("results", "weights")


def folder() -> Path:
    """Where published runs lie; `HEADS_PUBLISHED` moves it."""
    return Path(os.environ.get("HEADS_PUBLISHED") or ROOT / "data" / "published")


def ignored() -> bool:
    """Whether everything is to be made anew (`HEADS_FRESH`)."""
    return os.environ.get("HEADS_FRESH", "") not in ("", "0")


def index() -> dict[str, dict[str, Any]]:
    """Every published run by its key.

    Raises
    ------
    StudyError
        If the index cannot be read.
    """
    path = folder() / "index.json"
    return _read_index(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=1)
def _read_index(path: Path, changed: int) -> dict[str, dict[str, Any]]:
    found = store.read_spec(path).get("runs")
    if not isinstance(found, dict):
        raise StudyError(f"The index {path} is damaged: take it from the project's history, or set FRESH=1.")
    return found


def offers(recipe: Recipe, weights: bool) -> bool:
    """Whether a run is published, with weights if they are wanted; its archives are not checked."""
    entry = {} if ignored() or recipe.kind.text else index().get(recipe.key, {})
    parts = entry.get("parts", {})
    return bool(parts) and (not weights or "weights" in parts or not entry.get("trains", False))


def fetch(recipe: Recipe, weights: bool) -> bool:
    """Unpack a published run into the store, if it is one and its archives are whole; its lock must be held.

    Returns
    -------
    bool
        Whether it is there now. Where an archive is missing or damaged, or the run is of another version, a sentence says so.
    """
    if ignored() or recipe.kind.text:
        return False
    if not offers(recipe, weights):
        others = {entry["version"] for entry in index().values() if entry["what"] == recipe.what}
        if others - {recipe.version}:
            told = ", ".join(map(str, sorted(others)))
            store.say(f"{recipe.label} is published in version {told}, today's is {recipe.version}: it is made anew.")
        return False
    entry, target = index()[recipe.key], recipe.folder
    for part, told in entry["parts"].items():
        archive = folder() / told["file"]
        if part == "weights" and not weights:
            continue
        if not archive.is_file() or store.digest(archive) != told["sha256"]:
            wrong = "damaged" if archive.is_file() else "missing"
            store.say(f"The published archive {archive} is {wrong}: {recipe.label} is made anew.")
            return False
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with store.room_for(target):
            for part in PARTS if weights else PARTS[:1]:
                if part in entry["parts"]:
                    _unpack(folder() / entry["parts"][part]["file"], scratch)
            manifest = store.read_spec(scratch / "made.json")
            store.write_json(scratch / "made.json", manifest | {"published": True})
            shutil.rmtree(target, ignore_errors=True)
            os.rename(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def pack(made: Path, weights: bool) -> dict[str, Any]:
    """Put a finished thing of the store into archives of `folder`; returns its entry for the index."""
    manifest = store.read_spec(made / "made.json")
    trains = any(name.startswith("weights") for name in manifest["files"])
    parts = {"results": [made / "made.json", *sorted((made / "results").rglob("*"))]}
    if weights and trains:
        parts["weights"] = sorted((made / "weights").rglob("*"))
    entry = {name: manifest.get(name) for name in TOLD} | {"trains": trains, "parts": {}}
    for part, files in parts.items():
        name = f"{manifest['kind']}/{made.name}.{part}.tar.xz"
        content = _archive(made, [file for file in files if file.is_file()])
        store.write_bytes(folder() / name, content)
        entry["parts"][part] = {"file": name, "sha256": store.digest(folder() / name), "bytes": len(content)}
    return entry


def write_index(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the index, and drop the archives that it does not name."""
    store.write_json(folder() / "index.json", {"runs": dict(entries)})
    named = {part["file"] for entry in entries.values() for part in entry["parts"].values()}
    for archive in folder().glob("*/*.tar.xz"):
        if str(archive.relative_to(folder())) not in named:
            archive.unlink()


def size() -> int:
    """Bytes of everything published."""
    return sum(part["bytes"] for entry in index().values() for part in entry["parts"].values())


def _archive(root: Path, files: Iterable[Path]) -> bytes:
    """A tar.xz of files with their paths below `root`; the same files give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=6) as archive:
        for file in files:
            content = file.read_bytes()
            if file.name == "made.json" and file.parent == root:
                told = {name: value for name, value in json.loads(content).items() if name != "published"}
                content = (json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
            info = tarfile.TarInfo(str(file.relative_to(root)))
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _unpack(archive: Path, target: Path) -> None:
    try:
        with tarfile.open(archive, "r:xz") as packed:
            packed.extractall(target, filter="data")
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise StudyError(f"The published archive {archive} cannot be unpacked ({error}): set FRESH=1 to do without.") from None
