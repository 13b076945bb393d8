"""The store: everything made lies under a key of what made it, whole or not at all."""

from __future__ import annotations

import ast
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from helpers.study.errors import StudyError, one_sentence
from helpers.study.provenance import ROOT, provenance


def runs() -> Path:
    """Folder of everything trained and executed; `HEADS_RUNS` moves it."""
    return Path(os.environ.get("HEADS_RUNS") or ROOT / "runs")


def data() -> Path:
    """Folder of everything generated or downloaded; `HEADS_DATA` moves it."""
    return Path(os.environ.get("HEADS_DATA") or ROOT / "data")


def data_root() -> str:
    """The local folder of natural corpora (`HEADS_DATA_ROOT`), "" where none is set."""
    return os.environ.get("HEADS_DATA_ROOT", "")


def code_version(*names: str) -> str:
    """Hash of what the named code does: comments, docstrings and layout do not count.

    Parameters
    ----------
    *names : str
        "module", a path below `helpers` without ".py" (a folder stands for all modules in it), or
        "module:name,name" for some of its functions, classes and constants alone.

    Raises
    ------
    StudyError
        If a name is not defined in its module.
    """
    digest = hashlib.sha256()
    for name in names:
        module, _, wanted = name.partition(":")
        path = ROOT / "helpers" / module
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(_meaning(file, file.stat().st_mtime_ns, wanted).encode())
    return digest.hexdigest()[:16]


@cache
def _meaning(file: Path, changed: int, wanted: str) -> str:
    """A module's code, or some of its top-level definitions, without docstrings and layout."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if wanted:
        found = {}
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            found |= {getattr(target, "name", getattr(target, "id", "")): node for target in targets}
        missing = [name for name in wanted.split(",") if name not in found]
        if missing:
            raise StudyError(f"There is no definition {missing[0]!r} in {file.name}: correct the code version's names.")
        tree.body = [found[name] for name in wanted.split(",")]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and body and _is_text(body[0]):
            body[:1] = [] if len(body) > 1 or isinstance(node, ast.Module) else [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def key(spec: Mapping[str, Any]) -> str:
    """Key of a JSON-able description, the same in every process."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _no_room(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, is that of a full disk."""
    while error and not isinstance(error, StudyError):
        told = re.search(r"\(os error (\d+)\)", str(error))  # libraries that are not written in Python
        if getattr(error, "errno", None) in _FULL or (told and int(told[1]) in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def _room_for(path: Path):
    """Say in one sentence that the disk is full."""
    try:
        yield
    except Exception as error:
        if _no_room(error):
            raise StudyError(f"There is no room for {path}: free space on its disk, then start again.") from None
        raise


@contextlib.contextmanager
def whole(path: Path):
    """Give a scratch path to write to, which becomes `path` when the block ends: it is there whole or not at all.

    Raises
    ------
    StudyError
        If the disk is full.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _room_for(path):
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


def read_spec(path: Path) -> dict[str, Any]:
    """Read a spec file, the argument of the commands that make corpora and models.

    Raises
    ------
    StudyError
        If it cannot be read as a JSON object.
    """
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StudyError(f"Cannot read the spec {path} ({error}).") from None
    return spec if isinstance(spec, dict) else {}


def run_file(
    make: Callable[[dict[str, Any]], Any], kind: str, writer: str, needed: Iterable[str], arguments: Iterable[str] | None = None
) -> None:
    """Command line of a module that makes what a JSON file describes.

    Parameters
    ----------
    make : callable
        Is given what the file holds; the first line of its docstring is the command's help.
    kind : str
        What the file is called: "job", "sweep".
    writer : str
        The function that writes such a file, with its module.
    needed : iterable of str
        What the file must hold.
    """
    import argparse

    module = writer.rpartition(".")[0]
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=make.__doc__.splitlines()[0])
    parser.add_argument(kind, type=Path, help=f"JSON file: a {kind} as made by {writer}")
    parser.add_argument("--threads", type=int, default=0, help="processor threads (default: torch's choice)")
    chosen = parser.parse_args(arguments)
    with one_sentence():
        path = getattr(chosen, kind)
        described = read_spec(path)
        missing = [name for name in needed if name not in described]
        if missing:
            raise StudyError(f"The {kind} {path} lacks {missing[0]!r}: write it with {writer}.")
        if chosen.threads:
            import torch

            torch.set_num_threads(chosen.threads)
        make(described)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def place(root: Path, kind: str, spec: Mapping[str, Any]) -> Path:
    """Where the thing made from `spec` lies or will lie."""
    return root / kind / key(spec)


def made(folder: Path) -> bool:
    """Whether `folder` holds a finished thing; checks every file against its recorded digest.

    Raises
    ------
    StudyError
        If a file was cut off or changed since it was made.
    """
    manifest = folder / "made.json"
    if not manifest.exists():
        return False
    try:
        files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    except (ValueError, KeyError, TypeError):
        files = {manifest.name: None}
    for name, wanted in files.items():
        if not (folder / name).exists() or digest(folder / name) != wanted:
            raise StudyError(f"The stored file {folder / name} is damaged: delete the folder {folder} to make it anew.")
    return True


_READ: list[Path] = []  # every folder that `make` returned in this process: only here can it be seen what a run reads


def make(root: Path, kind: str, spec: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
    """Return the folder made from `spec`, building it first if it is not there.

    `build` writes into a scratch folder that gets its name, and a manifest of digests, only when it is whole. A scratch
    folder that a killed run left behind is never read.
    """
    folder = place(root, kind, spec)
    if made(folder):
        _READ.append(folder)
        return folder
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        started = time.time()
        with _room_for(folder):
            scratch.mkdir(parents=True)
            build(scratch)
        files = {str(f.relative_to(scratch)): digest(f) for f in sorted(scratch.rglob("*")) if f.is_file()}
        manifest = {"spec": spec, "files": files, "seconds": round(time.time() - started, 1), **provenance()}
        write_json(scratch / "made.json", manifest)
        if folder.exists() and not (folder / "made.json").exists():  # not finished by anyone
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another run may have made it meanwhile: both made the same
            os.rename(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not made(folder):
        raise StudyError(f"What was made could not be put into {folder}: check that it can be written and is no file.")
    _READ.append(folder)
    return folder
