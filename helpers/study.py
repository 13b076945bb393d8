"""What a run is: profiles, parameters, paths, the store of made things, provenance, progress.

Nothing here knows about heads, models or corpora; every other module may import this one and it imports none of ours.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import hashlib
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class StudyError(ValueError):
    """Bad input, said in one sentence: what is wrong and what to do about it."""


@contextlib.contextmanager
def one_sentence():
    """End a command with exit code 2 and one sentence, instead of a traceback, on a `StudyError`."""
    try:
        yield
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


class _Lines:
    """A stream on which a progress bar writes lines, for logs and for several runs at once."""

    def write(self, text: str) -> None:
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        sys.stderr.flush()


def progress(iterable: Iterable | None, label: str, total: int | None = None, **more):
    """A progress bar that appears only when the work takes more than two seconds.

    Where `HEADS_PROGRESS` is "lines" it is a line every ten seconds instead.
    """
    from tqdm import tqdm

    if os.environ.get("HEADS_PROGRESS") == "lines":
        more |= {"file": _Lines(), "mininterval": 10, "delay": 10, "ncols": 90, "ascii": True}
    else:
        more |= {"mininterval": 1, "delay": 2, "dynamic_ncols": True}
    return tqdm(iterable, desc=label, total=total, leave=False, **more)


# --- profiles: a profile only sets parameters; every one can be overridden ------------------------------------------

_MODEL = {"layers": 3, "width": 128, "heads": 8, "feed_forward": 512, "dropout": 0.1}
_TRAIN = {
    "steps": 1000, "batch_tokens": 2048, "learning_rate": 2e-3, "warmup": 200, "cooldown": 0.0, "betas": [0.9, 0.98],
    "label_smoothing": 0.1, "clip": 1.0, "evaluate_every": 200, "patience": 0, "average": 0,
}  # fmt: skip
_PRUNE = {  # section 6: further training with gates or with heads gone, all runs of a model alike
    "steps": 250, "learning_rate": 5e-4, "warmup": 50, "cooldown": 0.3, "evaluate_every": 50, "dev": 200,
    "start": 2.0, "gate_rate": 0.3, "temperature": 0.33,  # log alpha, its learning rate, the gates' temperature
    "penalties": [0.001, 0.0025, 0.006, 0.015, 0.04], "penalties_all": [0.003, 0.01, 0.03],  # lambda, of the sum over heads
    "compared": [0.015], "scratch": [0.01],  # prices whose head counts, whose head maps other runs imitate
    "criteria": ["random", "confidence", "relevance", "gradient, example", "leave-one-out"], "draws": 3, "variants": True,
    "beam": 1, "seeds": 1, "languages": 1, "all_kinds": 1,  # models a register with encoder heads, models in all with all kinds
    "deep_steps": 0,  # of the model with a deep decoder; 0: as training.steps
}  # fmt: skip
_TASK = {  # "longest": words of a document to be summarized, tokens of an example of a language model
    "text": "", "train": 0, "dev": 500, "test": 500, "vocabulary": 1000, "longest": 64, "steps": 1500, "batch_tokens": 512,
    "learning_rate": 8e-3, "warmup": 200, "groups": 2, "votes": 0,  # batches that vote, 0 for an epoch
    "model": _MODEL | {"layers": 2, "width": 64, "feed_forward": 256, "dropout": 0.0},
}  # fmt: skip
_GROUP = {  # grouped heads: what is trained from scratch, in two stages of which "first" is the first's share
    "translation": _TASK | {"text": "de-subtitles", "train": 20000},
    "summarization": _TASK | {"text": "reports", "train": 12000, "longest": 100},
    "language": _TASK | {"text": "stories", "train": 8000},
    "first": 0.6, "alpha": 0.5, "beta": 0.5, "which": "V", "weight": 0.01, "settled": 0.4,
    "gates": {"rate": 0.3, "penalty": 0.01},
    "numbers": [1, 2, 4, 8], "strengths": [0.1, 10.0, 100.0],  # of groups; factors on the weight
    "probe": 16, "shots": 20,  # dev examples on which heads are looked at, and how often in a stage
    "parts": ["peers", "ablations", "numbers", "strengths"],  # rows of translation beside the main ones
    "jobs": 2, "seeds": 1, "beam": 1,
    "converged": 1, "converged_steps": 150, "converged_rate": 5e-4, "converged_votes": 200,  # a converged model, grouped late
}  # fmt: skip
_COREF_TASK = {  # all rows start from a model trained for "steps" and train "further"; "longest": subwords of a dialogue
    "text": "dialogues", "train": 12000, "dev": 300, "test": 500, "vocabulary": 1000, "longest": 256, "links": "gold",
    "checkpoint": "",  # a pretrained model to start from, by Hub name or folder
    "denoising": 1000, "piece": 40,  # steps of a warm-up that fills holes, in pieces of so many tokens
    "steps": 1500, "further": 400, "batch_tokens": 1024, "learning_rate": 3e-3, "warmup": 200, "rate": 2e-3,
    "betas": [0.9, 0.98],
    "model": _MODEL | {"layers": 3, "decoder_layers": 2, "width": 64, "feed_forward": 256, "dropout": 0.0},
}  # fmt: skip
_COREF = {  # coreference in the heads that matter least
    "summarization": _COREF_TASK,
    "translation": _COREF_TASK | {
        "text": "de-subtitles", "train": 20000, "dev": 500, "longest": 64, "denoising": 0, "steps": 900, "batch_tokens": 512,
        "learning_rate": 8e-3, "rate": 3e-3, "model": _TASK["model"],
    },
    "matrix": "full", "span": "first", "probe": 200,  # dev texts on which heads are ranked
    "draws": 2, "heads": [1, 2, 4], "mixed": ["upper", "all"], "most": 0,
    "rates": [0.1, 0.3, 0.6, 1.0], "resolvers": ["rule"], "written": ["rule"],  # in training and writing; in writing alone
    "orders": 1, "paces": [0.3, 3.0], "lengths": [0.5], "masks": 3,  # training settings; draws of heads that are off
    "parts": ["selection", "where", "matrices", "quality", "inference", "training", "masks"],
    "jobs": 2, "seeds": 1, "alone": 2, "beam": 1,  # seeds of the main rows, of the plain one
}  # fmt: skip
_COMPARE = {  # notebook 06: all measures of all models, and heads removed by each at equal numbers
    "votes": 512,  # tokens of a batch that votes
    "l1": {"steps": 100, "rate": 0.02, "penalty": 0.01, "batch_tokens": 1024},  # gates under an L1 price, weights frozen
    "criteria": ["attnlrp", "cp", "votes", "L1 gates", "syntactic", "positional"],  # beside pruning.criteria
    "dialogues": 60,  # dev dialogues on which a summarizer's heads are measured
    "matched": 80,  # dev sentences on which heads of two seeds are matched
}  # fmt: skip
_TINY = _TASK | {
    "train": 200, "dev": 24, "test": 24, "vocabulary": 200, "steps": 20, "warmup": 4,
    "model": _MODEL | {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64, "dropout": 0.0},
}  # fmt: skip
_NATURAL = _TASK | {
    "dev": 500, "test": 0, "vocabulary": 4000, "steps": 1400, "batch_tokens": 2048, "learning_rate": 3e-3, "warmup": 300,
    "votes": 300, "model": _MODEL | {"dropout": 0.0},
}  # fmt: skip
_PAPER = _TASK | {
    "dev": 2000, "test": 0, "vocabulary": 32_000, "steps": 100_000, "batch_tokens": 32_000, "learning_rate": 7e-4,
    "warmup": 4000, "model": _MODEL | {"layers": 6, "width": 512, "feed_forward": 2048, "dropout": 0.3},
}  # fmt: skip
PROFILES: dict[str, dict[str, Any]] = {
    "tiny": {
        "corpus": "controlled", "train": 400, "dev": 48, "test": 32, "vocabulary": 300, "beam": 1, "bootstrap": 100,
        "relevance": 16, "truth": 8, "seeds": 2,
        "model": _MODEL | {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64},
        "training": _TRAIN | {"steps": 12, "batch_tokens": 1024, "warmup": 4, "evaluate_every": 6},
        "pruning": _PRUNE | {"steps": 8, "warmup": 2, "evaluate_every": 4, "dev": 16, "penalties": [0.01, 0.2],
                             "penalties_all": [0.2], "compared": [0.2], "scratch": [0.2], "criteria": ["random", "relevance"],
                             "draws": 1, "gate_rate": 0.5},
        "grouping": _GROUP | {
            "translation": _TINY | {"text": "de-subtitles"}, "summarization": _TINY | {"text": "reports", "longest": 100},
            "language": _TINY | {"text": "stories"}, "numbers": [1, 2, 4], "strengths": [10.0, 100.0], "shots": 4, "probe": 8,
            "converged_steps": 6, "jobs": 1, "seeds": 2,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "train": 200, "dev": 24, "test": 12, "vocabulary": 300, "longest": 70, "denoising": 6, "steps": 10,
                "further": 4, "warmup": 2, "model": _COREF_TASK["model"] | {"width": 24, "heads": 3, "feed_forward": 48},
            },
            "translation": _COREF_TASK | {name: value for name, value in _TINY.items() if name in _COREF_TASK} | {
                "text": "de-subtitles", "denoising": 0, "further": 6,
            },
            "probe": 16, "heads": [1, 2], "rates": [0.5, 1.0], "orders": 1, "paces": [3.0], "lengths": [2.0], "masks": 1,
            "jobs": 1, "seeds": 2,
        },
        "comparison": _COMPARE | {"l1": {"steps": 4, "rate": 0.1, "penalty": 0.01, "batch_tokens": 256}, "dialogues": 6,
                                  "criteria": ["attnlrp", "L1 gates"], "matched": 12},
    },
    "laptop": {
        "corpus": "controlled", "train": 55000, "dev": 1000, "test": 500, "vocabulary": 2000, "beam": 1, "bootstrap": 1000,
        "relevance": 250, "truth": 200,  # dev sentences: explained; translated without each head
        "seeds": 1,  # of the models that notebook 06 compares
        # a shallow decoder: what context a source word needs is the encoder's to find
        "model": _MODEL | {"dropout": 0.0, "decoder_layers": 1, "decoder_heads": 2},
        "training": _TRAIN | {"steps": 3000, "batch_tokens": 1024, "learning_rate": 3e-3, "cooldown": 0.3,
                              "evaluate_every": 750},
        "pruning": _PRUNE | {"deep_steps": 2000},
        "grouping": _GROUP,
        "coreference": _COREF,
        "comparison": _COMPARE,
    },
    "natural": {
        "corpus": "natural", "train": 0, "dev": 2000, "test": 0, "vocabulary": 8000, "beam": 4, "bootstrap": 1000,
        "relevance": 250, "truth": 0, "seeds": 1,
        "model": _MODEL | {"width": 256, "feed_forward": 1024},
        "training": _TRAIN | {"steps": 6000, "batch_tokens": 4096, "warmup": 800, "learning_rate": 1e-3,
                              "evaluate_every": 500, "cooldown": 0.3},
        "pruning": _PRUNE | {"steps": 1000, "warmup": 100, "gate_rate": 0.1, "evaluate_every": 100, "dev": 1000, "languages": 3,
                             "all_kinds": 3},
        "grouping": _GROUP | {
            "translation": _NATURAL | {"text": "fr-local", "steps": 1800, "batch_tokens": 1024},
            "summarization": _NATURAL | {"text": "dialogsum", "longest": 160, "model": _NATURAL["model"] | {"layers": 2}},
            "language": _NATURAL | {"text": "novels", "longest": 128},
            "parts": ["peers", "numbers"], "numbers": [2, 4], "seeds": 3, "converged_steps": 400,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "text": "samsum", "train": 0, "dev": 500, "test": 0, "vocabulary": 4000, "longest": 300, "links": "rule",
                "denoising": 2000, "piece": 48, "steps": 1000, "further": 600, "batch_tokens": 2048, "learning_rate": 2e-3,
                "warmup": 300, "rate": 1e-3, "model": _MODEL | {"dropout": 0.0},
            },
            "translation": _COREF_TASK | {"steps": 0}, "resolvers": [],
            "written": ["stored:samsum_coref/samsum_coref_val_test.tar.xz:data/SAMsum_data/test.source"],
            "parts": ["inference", "masks"], "seeds": 3,
        },
        "comparison": _COMPARE | {"l1": {"steps": 100, "rate": 0.02, "penalty": 0.01, "batch_tokens": 2048}},
    },
    "paper": {
        "corpus": "natural", "train": 0, "dev": 2000, "test": 0, "vocabulary": 32000, "beam": 4, "bootstrap": 1000,
        "relevance": 500, "truth": 0, "seeds": 3,
        "model": _MODEL | {"layers": 6, "width": 512, "feed_forward": 2048},
        "training": _TRAIN | {"steps": 200_000, "batch_tokens": 32_000, "warmup": 16_000, "learning_rate": 1.4e-3,
                              "evaluate_every": 2048, "patience": 10, "average": 5},
        "pruning": _PRUNE | {"steps": 20_000, "learning_rate": 2e-4, "gate_rate": 0.01, "warmup": 2000, "evaluate_every": 1000,
                             "dev": 2000, "beam": 4, "seeds": 3, "languages": 3, "all_kinds": 6},
        "grouping": _GROUP | {
            "translation": _PAPER | {"text": "de-wmt", "groups": 4},
            "summarization": _PAPER | {"text": "cnn_dailymail", "longest": 450, "vocabulary": 50_000},
            "language": _PAPER | {
                "text": "wikitext", "longest": 512, "groups": 8,
                "model": _MODEL | {"layers": 16, "width": 1024, "heads": 16, "feed_forward": 4096},
            },
            "numbers": [1, 2, 4, 8], "jobs": 8, "seeds": 3, "beam": 4, "converged_steps": 10_000, "converged_rate": 2e-4,
            "converged_votes": 0,
        },
        "coreference": _COREF | {
            "summarization": _COREF_TASK | {
                "text": "samsum-hub", "train": 0, "dev": 0, "test": 0, "longest": 500, "links": "stanza",
                "checkpoint": "facebook/bart-large", "betas": [0.9, 0.95], "further": 51_500, "batch_tokens": 512, "rate": 2e-5,
            },
            "translation": _COREF_TASK | {"steps": 0},
            "most": 16, "jobs": 8, "seeds": 3, "beam": 5,
        },
        "comparison": _COMPARE | {"l1": {"steps": 1000, "rate": 0.01, "penalty": 0.01, "batch_tokens": 8000}},
    },
}  # fmt: skip


OPTIONAL = {  # as the encoder's where a profile does not say
    "model.decoder_layers": 3, "model.decoder_heads": 8, "coreference.summarization.model.decoder_layers": 3,
    "coreference.translation.model.decoder_layers": 2,
}  # fmt: skip


def settings(profile: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A profile's settings with `overrides`, whose names may be dotted ("training.steps").

    Raises
    ------
    StudyError
        For an unknown profile, an unknown name, or a value of another type than the profile's.
    """
    if profile not in PROFILES:
        raise StudyError(f"There is no profile {profile!r}: choose one of {', '.join(PROFILES)}.")
    chosen = json.loads(json.dumps(PROFILES[profile]))
    for name, value in (overrides or {}).items():
        *path, last = name.split(".")
        place: Any = chosen
        for part in path:
            place = place.get(part) if isinstance(place, dict) else None
        old = place.get(last, OPTIONAL.get(name)) if isinstance(place, dict) else None
        if old is None or isinstance(old, dict):
            known = dict.fromkeys([*_names(chosen), *OPTIONAL])
            raise StudyError(f"There is no setting {name!r}: choose one of {', '.join(known)}.")
        if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(old):
            raise StudyError(f"The setting {name!r} takes a {type(old).__name__} such as {old!r}, not {value!r}.")
        place[last] = value
    return chosen


def _names(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    names = []
    for name, value in table.items():
        names += _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return names


def parse_overrides(text: str) -> dict[str, Any]:
    """Read "training.steps=200 beam=4" as overrides; values are JSON, and anything else is a string."""
    overrides = {}
    for item in text.split():
        name, equals, value = item.partition("=")
        if not equals:
            raise StudyError(f"Cannot read the setting {item!r}: write NAME=VALUE.")
        try:
            overrides[name] = json.loads(value)
        except json.JSONDecodeError:
            overrides[name] = value
    return overrides


# --- the store: everything made lies under a key of what made it, whole or not at all --------------------------------


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


# --- provenance ------------------------------------------------------------------------------------------------------


LIBRARIES = (
    "torch", "transformers", "tokenizers", "safetensors", "accelerate", "datasets", "numpy", "scipy", "pandas", "scikit-learn",
    "matplotlib", "seaborn", "pillow", "spacy", "stanza", "sacrebleu", "rouge-score",
)  # fmt: skip


def provenance() -> dict[str, Any]:
    """When, on what and with which code and libraries something is made."""
    versions = {}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short=12", "HEAD") + ("+changes" if _git("status", "--porcelain", "helpers") else ""),
        "python": platform.python_version(),
        "libraries": versions,
        "hardware": hardware(),
        "threads": threads(),
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def hardware() -> str:
    """The processor in words, and the GPU if torch is loaded and sees one."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch = sys.modules.get("torch")
    gpu = f", {torch.cuda.get_device_name()}" if torch and torch.cuda.is_available() else ""
    return f"{name}, {cores} cores{gpu}"


def threads() -> int:
    """Processor threads that one operation of torch uses; those it would use where torch is not loaded."""
    if torch := sys.modules.get("torch"):
        return torch.get_num_threads()
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def _portable(value: Any) -> Any:
    """A JSON-able value in which a path of this machine is its last part alone."""
    if isinstance(value, Mapping):
        return {name: _portable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(part) for part in value]
    return re.sub(r"""(?<![^\s"'=:,\[])[~/][^\s"':,\]]*/(?=[^\s/])""", "", value) if isinstance(value, str) else value


def _seeds(spec: Any) -> set[int]:
    """Every seed in a spec and in the specs inside it."""
    if isinstance(spec, list):
        return set().union(*map(_seeds, spec))
    if not isinstance(spec, dict):
        return set()
    own = {value for name, value in spec.items() if name == "seed" and type(value) is int}
    return own.union(*map(_seeds, spec.values()))


def _described(folder: Path) -> dict[str, Any]:
    """What a provenance file says of a thing in the store; of data also how it was made and the digest of every file."""
    manifest = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    spec, files = manifest.get("spec", {}), manifest["files"]
    found = {"kind": folder.parent.name, "key": folder.name, "seeds": sorted(_seeds(spec)), "code": spec.get("code", "")}
    found["sha256"] = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()  # of all digests
    found |= {name: manifest[name] for name in ("commit", "time", "seconds") if name in manifest}
    return found | ({"spec": _portable(spec), "files": files} if folder.parents[1] == data() else {})


def save_figure(figure, folder: Path, name: str) -> Path:
    """Save a matplotlib figure as NAME.png and NAME.pdf, an animation as NAME.gif, and close it.

    The same figure gives the same bytes. An animation has its figure's own resolution.

    Returns
    -------
    pathlib.Path
        The file to show: the bitmap.
    """
    from matplotlib import pyplot

    if hasattr(figure, "savefig"):
        stamps = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
        files = {ending: partial(figure.savefig, format=ending, metadata=stamp) for ending, stamp in stamps.items()}
        drawn = figure
    else:
        drawn = figure._fig  # has no public name
        files = {"gif": partial(figure.save, writer="pillow", dpi=drawn.dpi)}
    folder.mkdir(parents=True, exist_ok=True)
    for ending, save in files.items():
        scratch = folder / f".{name}.{ending}"
        save(scratch)
        scratch.replace(folder / f"{name}.{ending}")
    pyplot.close(drawn)
    return folder / f"{name}.{next(iter(files))}"


# --- a run of a notebook ---------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One run of a notebook: its settings, and where its figures and tables go."""

    name: str
    parameters: dict[str, Any]
    settings: dict[str, Any]
    folder: Path
    started: float
    code: str = ""
    _since: int = field(default_factory=lambda: len(_READ), repr=False)
    _things: dict[Path, dict[str, Any]] = field(default_factory=dict, repr=False)
    _last: float = field(default_factory=time.time, repr=False)

    @property
    def corpus(self) -> str:
        """ "controlled" or "natural"."""
        return self.settings["corpus"]

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that are not empty, without the folder of results; paths of this machine by their last part."""
        return {name: value for name, value in _portable(self.parameters).items() if value != "" and name != "output"}

    @property
    def command(self) -> str:
        """The command that runs the notebook again."""
        flags = " ".join(f"-p {name} {json.dumps(value)}" for name, value in self.given.items())
        return f"papermill notebooks/{self.name}.ipynb out.ipynb {flags}"

    def read(self) -> list[dict[str, Any]]:
        """What was read from the store since the run began, in that order."""
        for folder in _READ[self._since :]:
            if folder not in self._things:
                self._things[folder] = _described(folder)
        return list(self._things.values())

    def facts(self, **more: Any) -> dict[str, Any]:
        """What a sidecar says; leaves what all sidecars of the notebook share in provenance/NOTEBOOK.json.

        Data are corpora with one digest over those of their files; `read` counts the things that were read from the store until
        now, by kind. The shared file lists them in the order in which they were read, with digests, seeds and code, beside all
        settings.

        Raises
        ------
        StudyError
            If a fact has the name of one that every sidecar says.
        """
        things, now, shared = self.read(), time.time(), f"provenance/{self.name}.json"
        started = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds")
        every = {
            "notebook": self.name, "command": self.command, "parameters": self.given,
            "started": started, "code": self.code,
            "seeds": sorted({self.parameters["seed"]}.union(*(thing["seeds"] for thing in things))), **provenance(),
        }  # fmt: skip
        write_json(self.folder / shared, {**every, "settings": _portable(self.settings), "read": things})
        kinds = [thing["kind"] for thing in things]
        said = {
            **every,
            "run": shared,
            "data": {_what(thing): thing["sha256"] for thing in things if thing["kind"] == "corpora"},
            "read": {kind: kinds.count(kind) for kind in kinds},
            "seconds": {"since the start": round(now - self.started, 1), "since the last figure": round(now - self._last, 1)},
        }
        if hidden := sorted(said.keys() & more.keys()):
            raise StudyError(f"Every sidecar says its {hidden[0]!r} of its own: give that fact another name.")
        return said | more

    def figure(self, figure, name: str, **facts: Any) -> None:
        """Save a matplotlib figure or animation with its sidecar and what it was drawn from, and show it."""
        from IPython.display import Image, display

        folder, inputs = self.folder / "figures", self.folder / "inputs" / f"{name}.pickle"
        shown = save_figure(figure, folder, name)
        described = {"figure": name, "redraw": f"python -m helpers.redraw {self._place()} {name}", **self.facts(**facts)}
        try:
            drawn_by = figure.drawn_by
            stored = pickle.dumps(drawn_by)
        except (AttributeError, TypeError, ValueError, RuntimeError, pickle.PicklingError):  # as classes of others see fit
            inputs.unlink(missing_ok=True)
            described["redraw"] = f"not by itself, its inputs cannot be stored: {self.command}"
        else:
            write_bytes(inputs, stored)
            function = f"{drawn_by.func.__module__}.{drawn_by.func.__name__}"
            described["inputs"] = {"function": function, "sha256": hashlib.sha256(stored).hexdigest()}
        write_json(folder / f"{name}.json", described)
        self._last = time.time()
        display(Image(filename=shown))

    def animation(self, animation, name: str, **facts: Any) -> None:
        """`figure` of a matplotlib animation."""
        self.figure(animation, name, **facts)

    def table(self, frame, name: str, **facts: Any):
        """Save a table as CSV with its sidecar; returns it."""
        folder = self.folder / "tables"
        write_text(folder / f"{name}.csv", frame.to_csv())
        write_json(folder / f"{name}.json", {"table": name, **self.facts(**facts)})
        return frame

    def _place(self) -> str:
        """The run's folder as a command in the repository's folder names it; its name alone where it lies outside."""
        return str(self.folder.relative_to(ROOT) if self.folder.is_relative_to(ROOT) else self.folder.name)

    def summary(self) -> str:
        """What this run is, in one paragraph, for the notebook's first output."""
        profile = self.parameters["profile"]
        facts = provenance()
        versions = ", ".join(f"{n} {v}" for n, v in facts["libraries"].items())
        changes = self.parameters.get("overrides") or "none"
        return (
            f"profile {profile}, {self.corpus} corpus, seed {self.parameters['seed']} (the first), overrides: {changes}\n"
            f"code {facts['commit']}, {facts['time']}\n{facts['hardware']}; python {facts['python']}, {versions}\n"
            f"figures and tables in {os.path.relpath(self.folder, ROOT)}"
        )


def _what(thing: Mapping[str, Any]) -> str:
    """A corpus in words, with its key."""
    names = ("corpus", "task", "name", "language", "register")
    return " ".join(str(part) for part in (*(thing["spec"][name] for name in names if name in thing["spec"]), thing["key"]))


PARAMETERS = {
    "profile": "laptop", "corpus": "", "models": "", "pretrained": "", "data_root": "", "parser": "spacy", "seed": 1,
    "overrides": "", "output": "",
}  # fmt: skip


def begin(name: str, namespace: Mapping[str, Any]) -> Run:
    """Start a notebook: check its parameters, find its settings, say what it is.

    Parameters
    ----------
    name : str
        The notebook's file name without ending.
    namespace : mapping
        The notebook's `globals()` right after its parameters cell: a name that is no parameter is an error.

    Raises
    ------
    StudyError
        For an unknown parameter, profile, corpus or setting.
    """
    given = {
        key: value
        for key, value in namespace.items()
        if not key.startswith("_") and key not in ("In", "Out") and isinstance(value, str | int | float | list | dict | None)
    }
    unknown = sorted(set(given) - set(PARAMETERS))
    if unknown:
        raise StudyError(f"There is no parameter {unknown[0]!r}: {name} takes {', '.join(PARAMETERS)}.")
    parameters = PARAMETERS | given
    for key, default in PARAMETERS.items():
        if type(parameters[key]) is not type(default):
            kind = "a whole number" if type(default) is int else "text"
            raise StudyError(f"The parameter {key!r} takes {kind}, not {parameters[key]!r}.")
    overrides = parse_overrides(parameters["overrides"])
    if parameters["corpus"]:
        overrides["corpus"] = parameters["corpus"]
    chosen = settings(parameters["profile"], overrides)
    if chosen["corpus"] not in ("controlled", "natural"):
        raise StudyError(f"There is no corpus {chosen['corpus']!r}: choose controlled or natural.")
    if parameters["data_root"]:
        os.environ["HEADS_DATA_ROOT"] = str(Path(parameters["data_root"]).expanduser().resolve())
    folder = Path(parameters["output"] or runs() / f"{parameters['profile']}-{chosen['corpus']}").resolve()
    return Run(name, parameters, chosen, folder, time.time(), code_version("."))
