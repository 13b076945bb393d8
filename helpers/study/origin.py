"""When, on what and with which code something was made: for sidecars and benchmarks, never for a key of the store."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from helpers import gpu

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = (
    "torch", "transformers", "tokenizers", "safetensors", "accelerate", "datasets", "numpy", "scipy", "pandas", "scikit-learn",
    "matplotlib", "seaborn", "pillow", "spacy", "sacrebleu", "rouge-score",
)  # fmt: skip


def provenance() -> dict[str, Any]:
    """When, on what and with which code and libraries something is made."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **_loaded(),
        "hardware": hardware(),
        "threads": torch.get_num_threads(),
    }


@cache
def _loaded() -> Mapping[str, Any]:
    """The commit, whether files differ from it, and the libraries, asked once: a process goes on with what it has loaded."""
    libraries = {}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            libraries[name] = metadata.version(name)
    changes = "+changes" if _git("status", "--porcelain", "*.py") else ""
    return {"commit": _git("rev-parse", "--short=12", "HEAD") + changes, "libraries": libraries}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def hardware() -> str:
    """The processor in words, and the GPU if torch sees one."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return ", ".join([name, f"{cores} cores", *filter(None, [gpu.title()])])


def portable(value: Any) -> Any:
    """A JSON-able value in which a path of this machine is its last part alone."""
    if isinstance(value, Mapping):
        return {name: portable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [portable(part) for part in value]
    return re.sub(r"""(?<![^\s"'=:,\[])[~/][^\s"':,\]]*/(?=[^\s/])""", "", value) if isinstance(value, str) else value
