"""What all benchmarks share: sizes, models, interleaved timing, and the form in which results are kept.

A benchmark is a list of calls by name and the table that comes of timing them: one long frame with the columns `COLUMNS`.
`what` was measured, in which `group` (size and setting in words), which `quantity` ("ratio", "target tokens/s", "seconds",
...), its `value` (the median over repeats), `low` and `high` (quartiles), the number of `repeats` and a `note`.
"""

from __future__ import annotations

import argparse
import copy
import random
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MarianConfig, MarianMTModel

from helpers import models, study

COLUMNS = ["what", "group", "quantity", "value", "low", "high", "repeats", "note"]
SIZES = {  # of the encoder and of the decoder
    "tiny": {"layers": 2, "width": 32, "heads": 4, "feed_forward": 64, "vocabulary": 200},
    "laptop": {"layers": 3, "width": 128, "heads": 8, "feed_forward": 512, "vocabulary": 8000},
    "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048, "vocabulary": 8000},
}
NAMES = (  # in the order in which `python -m benchmarks` runs them
    "heads_overhead", "removed_heads", "pruned_models", "relevance_speed", "importance_speed", "pretrained_speed",
    "group_constraint", "coreference_injection",
)  # fmt: skip
Batch = Mapping[str, torch.Tensor]
Measure = Callable[[argparse.Namespace], tuple[list[dict[str, Any]], float]]  # options -> rows, largest difference


# --- a benchmark from its command line to its table ------------------------------------------------------------------


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options of every benchmark; the first line of `description` is the help."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--size", choices=list(SIZES), default="laptop", help="of the models (default: laptop)")
    parser.add_argument("--repeats", type=int, help="interleaved repeats (default: the benchmark's)")
    parser.add_argument("--device", help="cpu or cuda (default: the GPU if there is one)")
    return parser


def bench(name: str, description: str | None, measure: Measure, bound: float, given: Sequence[str] | None = None) -> Path:
    """Read the command line of a benchmark, measure, print the table and keep it.

    Parameters
    ----------
    measure : callable
        Gives the rows of the table, and the largest difference from the obvious way, which it found before anything was timed.
    bound : float
        On that difference.
    """
    given = sys.argv[1:] if given is None else list(given)
    parser = arguments(description)
    parser.prog = f"python -m benchmarks.{name}"
    options, started = parser.parse_args(given), time.perf_counter()
    options.device = options.device or str(models.device())
    rows, difference = measure(options)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    print(f"values are equal (differences of {difference:.0e} at most); medians and quartiles")
    with pd.option_context("display.max_colwidth", 60):
        print(frame.drop(columns="note").to_string(index=False, float_format="{:.4g}".format))
    return keep(name, frame, {
        "size": options.size, "command": shlex.join([*parser.prog.split(), *given]), "device": options.device,
        "threads": torch.get_num_threads(), "repeats": int(frame.repeats.max()),
        "seconds": round(time.perf_counter() - started, 1), "gate": {"difference": difference, "bound": bound},
    })  # fmt: skip


# --- models ----------------------------------------------------------------------------------------------------------


def words(size: str) -> str:
    """A size in words, as `group` says it: "3+3 layers, width 128"."""
    return "{layers}+{layers} layers, width {width}".format(**SIZES[size])


def marian(shape: Mapping[str, int], positions: int = 128, device: str = "cpu", dropout: float = 0.0) -> MarianMTModel:
    """A Marian model of this shape with random weights, wide enough that attention is far from even, in evaluation mode."""
    torch.manual_seed(0)
    side = {"layers": shape["layers"], "attention_heads": shape["heads"], "ffn_dim": shape["feed_forward"]}
    config = MarianConfig(
        vocab_size=shape["vocabulary"],
        d_model=shape["width"],
        **{f"{part}_{what}": number for part in ("encoder", "decoder") for what, number in side.items()},
        max_position_embeddings=positions,
        activation_function="gelu",
        init_std=shape["width"] ** -0.5,
        dropout=dropout,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
    )
    return MarianMTModel(config).eval().to(device)


def llama(shape: Mapping[str, int], groups: int, device: str = "cpu") -> LlamaForCausalLM:
    """A Llama model of this shape with random weights and so many key-value heads, in evaluation mode."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape["vocabulary"],
        hidden_size=shape["width"],
        intermediate_size=shape["feed_forward"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=groups,
        initializer_range=shape["width"] ** -0.5,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config).eval().to(device)


def batch(shape: Mapping[str, int], sentences: int, length: int, device: str = "cpu") -> dict[str, torch.Tensor]:
    """Random sentences of one length, source and target, without padding."""
    ids = torch.randint(2, shape["vocabulary"], (2, sentences, length), generator=torch.Generator().manual_seed(0)).to(device)
    return {"input_ids": ids[0], "attention_mask": torch.ones_like(ids[0]), "labels": ids[1]}


class Step:
    """One training step of a copy of a model: forward, backward, Adam.

    Parameters
    ----------
    wrap : callable
        The module to be trained, made of the copy.
    loss : callable
        Of that module and a batch.
    block : callable
        Of the copy, what stands around the two passes.
    more : iterable of tensors
        Trained beside the module's parameters.
    """

    def __init__(
        self, model, wrap: Callable[[Any], Any] = lambda model: model,
        loss: Callable[[Any, Batch], torch.Tensor] = lambda model, batch: model(**batch).loss,
        block: Callable[[Any], AbstractContextManager] = nullcontext, more: Iterable[torch.Tensor] = (),
    ) -> None:  # fmt: skip
        self.model = copy.deepcopy(model)
        self.trained, self.loss, self.block = wrap(self.model).train(), loss, block
        self.optimizer = torch.optim.Adam([*self.trained.parameters(), *more], lr=1e-4, betas=(0.9, 0.98), fused=True)

    def backward(self, batch: Batch) -> torch.Tensor:
        """Fill the gradients; the loss."""
        self.optimizer.zero_grad()
        with self.block(self.model):
            loss = self.loss(self.trained, batch)
            loss.backward()
        return loss.detach()

    def __call__(self, batch: Batch) -> None:
        self.backward(batch)
        self.optimizer.step()


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


def agree(what: str, value: Any, expected: Any, bound: float) -> float:
    """Largest difference of two arrays, relative to the largest number expected.

    Raises
    ------
    SystemExit
        If it is beyond its bound, or the shapes differ: nothing is timed then.
    """
    value, expected = (part.detach().cpu() if isinstance(part, torch.Tensor) else part for part in (value, expected))
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    same = value.shape == expected.shape
    difference = float(np.abs(value - expected).max() / np.abs(expected).max()) if same else float("inf")
    if not difference <= bound:
        raise SystemExit(f"{what}: values differ by {difference:.1e}, more than {bound:.0e}; nothing was timed.")
    return difference


# --- results ---------------------------------------------------------------------------------------------------------


def row(what: str, group: str, quantity: str, values: float | Iterable[float], note: str = "") -> dict[str, Any]:
    """A row of the frame that is kept: median and quartiles of one number a repeat (or a single number)."""
    values = np.atleast_1d(np.asarray(values, float))
    low, value, high = np.quantile(values, [0.25, 0.5, 0.75])
    return dict(zip(COLUMNS, (what, group, quantity, value, low, high, len(values), note), strict=True))


def rows(
    group: str, frame: pd.DataFrame, quantity: str = "seconds", pairs: Iterable[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """The rows of [repeat, variant]: of each variant its numbers, and of each pair the ratio of the first to the second."""
    kept = [row(name, group, quantity, frame[name]) for name in frame]
    known = [pair for pair in pairs if set(pair) <= set(frame)]
    return kept + [row(f"{one} over {other}", group, "ratio", frame[one] / frame[other]) for one, other in known]


def ratios(group: str, frame: pd.DataFrame, against: str, note: str = "to the plain variant") -> list[dict[str, Any]]:
    """The rows of each variant over `against`, within repeats."""
    shares = frame.div(frame[against], axis=0)
    return [row(name, group, "ratio", shares[name], note) for name in shares]


def keep(name: str, frame: pd.DataFrame, facts: Mapping[str, Any]) -> Path:
    """Write a benchmark's results as <runs>/benchmarks/<size>/<name>.csv; a JSON file beside it says where they come from."""
    path = study.runs() / "benchmarks" / facts["size"] / f"{name}.csv"
    study.write_text(path, frame.to_csv(index=False))
    study.write_json(path.with_suffix(".json"), {"benchmark": name, **facts, **study.provenance()})
    return path
