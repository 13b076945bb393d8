"""What all benchmarks share: sizes, arguments, interleaved timing, peak memory, and the form in which results are kept.

A benchmark's results are one long frame with the columns `COLUMNS`: `what` was measured, in which `group` (size and setting in
words), which `quantity` ("ratio", "target tokens/s", "bytes", "seconds", "exponent", ...), its `value` (the median over
repeats), `low` and `high` (quartiles), the number of `repeats` and a `note`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import models, study
from helpers.measures.lrp import RULES
from helpers.measures.table import MEASURES
from helpers.study import StudyError

COLUMNS = ["what", "group", "quantity", "value", "low", "high", "repeats", "note"]
SIZES = {  # of the encoder and of the decoder
    "tiny": {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64, "vocabulary": 200},
    "laptop": {"layers": 3, "width": 128, "heads": 8, "feed_forward": 512, "vocabulary": 8000},
    "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048, "vocabulary": 8000},
}
NAMES = (  # in the order in which `python -m benchmarks` runs them
    "heads_overhead", "removed_heads", "pruned_models", "relevance_speed", "importance_speed", "decoder_speed",
    "head_statistics", "growth", "generator_speed", "training_speed", "group_constraint", "coreference_injection",
)  # fmt: skip
AXES = {"length": "sentence length (tokens)", "heads": "heads per layer"}  # of growth, as people call them
CALLED = {  # measures as people call them
    "leave one out": "loss without the head", "importance": "gradient importance", "per example": "gradient importance",
    "importance per example": "gradient importance", "per token": "gradient importance, each token",
    "importance per token": "gradient importance, each token",
}  # fmt: skip
NEEDED = ("size", "command", "threads", "device", "repeats", "seconds", "gate")


# --- the command line ------------------------------------------------------------------------------------------------


def arguments(description: str) -> argparse.ArgumentParser:
    """What every benchmark can be told; the first line of `description` is the help."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--size", choices=list(SIZES), default="laptop", help="of the models (default: laptop)")
    parser.add_argument("--threads", type=int, help="threads of torch (default: torch's own choice)")
    parser.add_argument("--repeats", type=int, help="interleaved repeats (default: the benchmark's own)")
    parser.add_argument("--device", default=str(models.device()), help="cpu or cuda (default: the GPU if there is one)")
    return parser


def begin(parser: argparse.ArgumentParser, name: str, given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line of the benchmark `name`, set torch's threads and start the clock that `facts` reads."""
    given = sys.argv[1:] if given is None else list(given)
    parser.prog = f"python -m benchmarks.{name}"
    options = parser.parse_args(given)
    if options.repeats is not None and options.repeats < 1:
        parser.error("there must be at least one repeat")
    if options.threads:
        torch.set_num_threads(options.threads)
    options.command, options.started = shlex.join([*parser.prog.split(), *given]), time.perf_counter()
    return options


def words(size: str) -> str:
    """A size in words, as `group` says it: "3+3 layers, width 128"."""
    shape = SIZES[size]
    return f"{shape['layers']}+{shape['layers']} layers, width {shape['width']}"


def marian(shape: Mapping[str, int], positions: int = 128, device: str = "cpu"):
    """A Marian model of this shape with random weights, wide enough that attention is far from even, in evaluation mode."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    side = {"layers": shape["layers"], "attention_heads": shape["heads"], "ffn_dim": shape["feed_forward"]}
    config = MarianConfig(
        vocab_size=shape["vocabulary"],
        d_model=shape["width"],
        **{f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()},
        max_position_embeddings=positions,
        activation_function="gelu",
        init_std=shape["width"] ** -0.5,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
    )
    return MarianMTModel(config).eval().to(device)


def batch(shape: Mapping[str, int], sentences: int, length: int, device: str = "cpu") -> dict[str, torch.Tensor]:
    """Random sentences of one length, source and target, without padding."""
    ids = torch.randint(2, shape["vocabulary"], (2, sentences, length), generator=torch.Generator().manual_seed(0)).to(device)
    return {"input_ids": ids[0], "attention_mask": torch.ones_like(ids[0]), "labels": ids[1]}


# --- timing ----------------------------------------------------------------------------------------------------------


def interleaved(variants: Mapping[str, Callable[[], Any]], repeats: int, seed: int = 0) -> pd.DataFrame:
    """Run every variant once a repeat, in random order, after each has run once untimed.

    Returns
    -------
    pandas.DataFrame
        Seconds, [repeat, variant]: ratios taken within a row hit both sides of a slow spell of the machine alike.
    """
    shuffle, times = random.Random(seed), []
    for call in variants.values():
        call()
    for _ in range(repeats):
        times.append({name: _seconds(variants[name]) for name in shuffle.sample(list(variants), len(variants))})
    return pd.DataFrame(times, columns=list(variants)).rename_axis(index="repeat", columns="variant")


def _seconds(call: Callable[[], Any]) -> float:
    """How long a call takes, with what it left running on the GPU."""
    _wait()
    start = time.perf_counter()
    call()
    _wait()
    return time.perf_counter() - start


def _wait() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def ratios(frame: pd.DataFrame, against: str) -> pd.DataFrame:
    """Each variant over `against`, within repeats: of seconds what it costs, of speeds (`1 / frame`) how much faster it is.

    Returns
    -------
    pandas.DataFrame
        A row each variant: value (the median), low and high (quartiles).
    """
    quartiles = frame.div(frame[against], axis=0).quantile([0.5, 0.25, 0.75]).T
    return quartiles.set_axis(["value", "low", "high"], axis=1)


def quartiles(upper: Sequence[float], lower: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median and third quartile of ratios within repeats."""
    low, middle, high = np.quantile(np.divide(upper, lower), [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def peak_memory(call: Callable[..., Any], prepare: Callable[[], Any] | None = None, device: str = "cpu") -> int:
    """Bytes that a call takes at its peak beyond what was there before it.

    On a GPU what torch allocates. On CPU the call is made in a fresh process, in which the largest resident set size may grow:
    what a first call of torch sets up is in it, and what `prepare` needed beyond what it kept hides as much of the call.

    Parameters
    ----------
    call : callable
        Given what `prepare` returned, or nothing without it. On CPU both are functions of a module, or `functools.partial` of
        such, and models are best built in `prepare`, not handed over.
    """
    if torch.device(device).type == "cuda":
        given = () if prepare is None else (prepare(),)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call(*given)
        return torch.cuda.max_memory_allocated() - before
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_growth, call, prepare, torch.get_num_threads()).result()


def _growth(call: Callable[..., Any], prepare: Callable[[], Any] | None, threads: int) -> int:
    torch.set_num_threads(threads)
    given = () if prepare is None else (prepare(),)
    before = _largest(anew=True)
    call(*given)
    return _largest() - before


def _largest(anew: bool = False) -> int:
    """Largest resident set size of this process so far, in bytes; on Linux counted anew from now if asked."""
    if not Path("/proc/self/status").exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    # not ru_maxrss: on Linux a process starts with that of the one that started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def agree(what: str, found: Any, expected: Any, bound: float) -> float:
    """Largest difference of two arrays, relative to the largest number expected, if it is within its bound; see `held`."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    if found.shape != expected.shape:
        return held(what, float("inf"), bound)
    return held(what, np.abs(found - expected).max() / np.abs(expected).max(), bound)


def held(what: str, difference: float, bound: float) -> float:
    """The largest difference that a correctness gate found, if it is within its bound.

    Raises
    ------
    SystemExit
        If it is not, or is not a number.
    """
    if not difference <= bound:
        raise SystemExit(
            f"{what}: values differ by {difference:.1e}, more than {bound:.0e} is not let through; nothing was timed."
        )
    return float(difference)


# --- results ---------------------------------------------------------------------------------------------------------


def row(what: str, group: str, quantity: str, values: float | Iterable[float], note: str = "") -> dict[str, Any]:
    """A row of the frame that is kept: median and quartiles of one number a repeat (or a single number)."""
    values = np.atleast_1d(np.asarray(values, float))
    low, value, high = np.quantile(values, [0.25, 0.5, 0.75])
    return dict(zip(COLUMNS, (what, group, quantity, value, low, high, len(values), note), strict=True))


def note(what: str, group: str, quantity: str, said: str) -> dict[str, Any]:
    """A row of nothing but a note: why there is no number."""
    return row(what, group, quantity, float("nan"), said) | {"repeats": 0}


def facts(options: argparse.Namespace, repeats: int, difference: float, bound: float, **more: Any) -> dict[str, Any]:
    """What `keep` is to say of a run: its command, what it ran on and how long, and what its gate found."""
    return {
        "size": options.size,
        "command": options.command,
        "threads": torch.get_num_threads(),
        "device": options.device,
        "repeats": repeats,
        "seconds": round(time.perf_counter() - options.started, 1),
        "gate": {"difference": difference, "bound": bound},
        **more,
    }


def keep(name: str, frame: pd.DataFrame, facts: Mapping[str, Any]) -> Path:
    """Write a benchmark's results as <runs>/benchmarks/<size>/<name>.csv, with a JSON sidecar.

    Parameters
    ----------
    facts : mapping
        From `facts`; more may be said.

    Raises
    ------
    StudyError
        If columns of the frame or facts are missing.
    """
    if list(frame) != COLUMNS:
        raise StudyError(f"The results of {name} have the columns {', '.join(frame)}: give them {', '.join(COLUMNS)}.")
    if missing := [fact for fact in NEEDED if fact not in facts]:
        raise StudyError(f"The results of {name} do not say their {missing[0]}: take what is said of them from common.facts.")
    path = _path(name, facts["size"])
    study.write_text(path, frame.to_csv(index=False))
    names = _code()
    code = {"modules": names, "version": study.code_version(*names), "digest": study.digest(path)}
    study.write_json(path.with_suffix(".json"), {"benchmark": name, **facts, **code, **study.provenance()})
    return path


def kept(name: str, size: str, command: str) -> bool:
    """Whether results of this command, made by the code as it is now, are there."""
    path = _path(name, size)
    if not path.exists() or not path.with_suffix(".json").exists():
        return False
    said = study.read_spec(path.with_suffix(".json"))
    try:
        version = study.code_version(*said["modules"])
    except OSError:  # a module is gone
        return False
    return (said["command"], said["version"], said["digest"]) == (command, version, study.digest(path))


def _path(name: str, size: str) -> Path:
    return study.runs() / "benchmarks" / size / f"{name}.csv"


def _code() -> list[str]:
    """The project's modules that are loaded, as `study.code_version` takes them."""
    folders = [study.ROOT / "helpers", study.ROOT / "benchmarks"]
    files = {Path(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
    own = [file for file in files if file.suffix == ".py" and any(folder in file.parents for folder in folders)]
    return sorted(os.path.relpath(file, folders[0]).removesuffix(".py") for file in own)


def named(what: str) -> str:
    """What people call a way that was timed: the measure's title for the name of its column."""
    measure, comma, way = what.removeprefix("relevance, ").partition(", ")
    title = CALLED.get(measure) or (MEASURES[measure].title if measure in RULES else "")
    return f"{title}{comma}{way}" if title else what
