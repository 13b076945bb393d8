"""Published runs: a second store that travels with the project and is only read.

`data/published/index.json` says of every run what it is, the digest and size of its archives, and on what it was made; one
archive holds its results, another its weights where they are published. Results that are much alike share an archive, in which
each run has a folder. What is wanted of them is checked, unpacked into the store, and from then on read there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers.errors import StudyError
from helpers.study import store
from helpers.study.origin import ROOT

INDEXED = ("kind", "version", "what", "label", "commit", "hardware", "seconds", "time")  # of a manifest, in the index
PARTS = ("results", "weights")
ALIKE = ("outputs",)  # kinds whose results share archives: translations of the same sentences


def folder() -> Path:
    """Where published runs lie; `HEADS_PUBLISHED` moves it."""
    return Path(os.environ.get("HEADS_PUBLISHED") or ROOT / "data" / "published")


def ignored(key: str = "") -> bool:
    """Whether a run is to be made anew although it is published: `HEADS_FRESH` is 1 for all, or keys between commas."""
    fresh = os.environ.get("HEADS_FRESH", "")
    return fresh not in ("", "0") and (fresh == "1" or key in fresh.split(","))


def index(root: Path | None = None) -> dict[str, dict[str, Any]]:
    """Every run in the folder of published ones, or in another, by its key; a StudyError if the index cannot be read."""
    path = (root or folder()) / "index.json"
    if not path.exists():
        return {}
    stat = path.stat()
    entries = _read_index(path, (stat.st_mtime_ns, stat.st_ino, stat.st_size))
    if entries is None and not ignored():
        raise StudyError(f"The index {path} is damaged: take it from the project's history, or set FRESH=1.")
    return entries or {}


@lru_cache(maxsize=1)
def _read_index(path: Path, changed: tuple[int, ...]) -> dict[str, dict[str, Any]] | None:
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return runs if all({*INDEXED, "trains", "parts"} <= set(entry) for entry in runs.values()) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def offers(recipe: Any, weights: bool) -> bool:
    """Whether a `helpers.study.recipe.Recipe` is published, with weights if they are wanted; its archives are not checked."""
    entry = {} if ignored(recipe.key) else index().get(recipe.key, {})
    parts = entry.get("parts", {})
    return bool(parts) and (not weights or "weights" in parts or not entry.get("trains", False))


def fetch(recipe: Any, weights: bool) -> bool:
    """Unpack a published run into the store, if it is one and its archives are whole; its lock must be held.

    Returns whether it is there now. Where an archive is missing or damaged, or a run of another version, a sentence says so.
    """
    if ignored(recipe.key):
        return False
    if not offers(recipe, weights):
        if why := _why_not(recipe):
            store.say(f"{recipe.label} is published {why}: it is made anew.")
        return False
    parts, target = index()[recipe.key]["parts"], recipe.folder
    wanted = [parts[part] for part in (PARTS if weights else PARTS[:1]) if part in parts]
    for packed in wanted:
        archive = folder() / packed["file"]
        if not archive.is_file() or store.digest(archive) != packed["sha256"]:
            wrong = "damaged" if archive.is_file() else "missing"
            store.say(f"The published archive {archive} is {wrong}: {recipe.label} is made anew.")
            return False
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with store.room_for(target):
            for packed in wanted:
                _unpack(folder() / packed["file"], scratch, recipe.key)
            manifest = store.read_json(scratch / "made.json")
            store.write_json(scratch / "made.json", manifest | {"published": True})
            shutil.rmtree(target, ignore_errors=True)
            with contextlib.suppress(OSError):  # said by who asked for it
                os.rename(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def _why_not(recipe: Any) -> str:
    """In what way a run is published that is not the one wanted, "" if it is not published at all."""
    if recipe.key in index():
        return "without its weights or texts"
    elsewhere = any(entry["what"] == recipe.what for entry in index().values())
    return "in another version, or as made on another device" if elsewhere else ""


def pack(made: Path, weights: bool, root: Path | None = None) -> dict[str, Any]:
    """Put a finished thing of the store into archives, if it is whole; returns its entry for the index."""
    root = root or folder()
    manifest = store.read_json(made / "made.json")
    files = {part: {n: d for n, d in manifest["files"].items() if n.partition("/")[0] == part} for part in PARTS}
    trains = bool(files["weights"])
    entry: dict[str, Any] = {name: manifest.get(name) for name in INDEXED} | {"trains": trains, "parts": {}}
    for part in PARTS if weights and trains else PARTS[:1]:
        if spoilt := store.damaged(made, files[part]):
            raise StudyError(f"{made / spoilt} is missing or damaged: make it anew before it is published.")
        name = f"{manifest['kind']}/{made.name}.{part}.tar.xz"
        members = [made / file for file in sorted(files[part])]
        content = _archive(made, [made / "made.json", *members] if part == "results" else members)
        store.write_bytes(root / name, content)
        entry["parts"][part] = {"file": name, "sha256": store.digest(root / name), "bytes": len(content)}
    return entry


def unpacked(key: str, target: Path) -> dict[str, Any]:
    """Unpack the results of a published run into a folder, if they are whole; returns its manifest."""
    part = index()[key]["parts"]["results"]
    archive = folder() / part["file"]
    if not archive.is_file() or store.digest(archive) != part["sha256"]:
        raise StudyError(f"The published archive {archive} is missing or damaged: take it from the project's history.")
    _unpack(archive, target, key)
    return store.read_json(target / "made.json")


def write_index(entries: Mapping[str, Mapping[str, Any]], root: Path | None = None) -> None:
    """Write the index, and drop the archives that it does not name."""
    root = root or folder()
    store.write_json(root / "index.json", {"runs": dict(entries)})
    files = {part["file"] for entry in entries.values() for part in entry["parts"].values()}
    for archive in root.glob("*/*.tar.xz"):
        if str(archive.relative_to(root)) not in files:
            archive.unlink()


def shared(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The entries of an index, those `ALIKE` that have archives of their own in one for each kind, which is far smaller."""
    together = dict(entries)
    for kind in ALIKE:
        alone = {key: one for key, one in entries.items() if one["kind"] == kind and key in one["parts"]["results"]["file"]}
        if not alone:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for key in sorted(alone):
                _unpack(folder() / alone[key]["parts"]["results"]["file"], Path(scratch) / key, key)
            content = _archive(Path(scratch), sorted(path for path in Path(scratch).rglob("*") if path.is_file()), preset=9)
        name = f"{kind}/{hashlib.sha256(content).hexdigest()[:16]}.results.tar.xz"
        store.write_bytes(folder() / name, content)
        part = {"file": name, "sha256": store.digest(folder() / name), "bytes": len(content)}
        together |= {key: {**one, "parts": one["parts"] | {"results": part}} for key, one in alone.items()}
    return together


def _archive(root: Path, files: Iterable[Path], preset: int = 6) -> bytes:
    """A tar.xz of files with their paths below `root`; the same files give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            content = file.read_bytes()
            if file.name == "made.json" and file.parent == root:
                manifest = {name: value for name, value in json.loads(content).items() if name != "published"}
                content = (json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
            info = tarfile.TarInfo(str(file.relative_to(root)))
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    return lzma.compress(buffer.getvalue(), preset=preset)


def _unpack(archive: Path, target: Path, key: str) -> None:
    """Unpack what an archive has of a run: its folder in one that is shared, otherwise all."""
    try:
        packed = _opened(archive, archive.stat().st_mtime_ns)
        members = packed.getmembers()
        inside = [one.replace(name=one.name.partition("/")[2]) for one in members if one.name.startswith(f"{key}/")]
        if not inside and key not in archive.name:
            raise ValueError("it has other runs")
        packed.extractall(target, inside or members, filter="data")
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise StudyError(f"The published archive {archive} cannot be unpacked ({error}): set FRESH=1 to do without.") from None


@lru_cache(maxsize=1)
def _opened(archive: Path, changed: int) -> tarfile.TarFile:
    """An archive in memory: of a shared one many runs are read, one after another."""
    return tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive.read_bytes())), mode="r:")
