"""Never silently wrong: every measure on every family, attention, precision, padding, whole or with heads removed.

Each cell is *right*, close to its oracle while those of other heads are not, or *refused* by an error that says why; anything
else is wrong. `python -m tests.matrix` walks all of them and writes the counts to figures/matrix.csv.

The oracle of a measure is itself in double precision with eager attention, each sentence alone and without padding, heads
switched off by gates; that of the instrument is the same model with columns of output projections zeroed by hand.
"""

import copy
import itertools
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from helpers import heads, measures, study
from helpers.measures import functions, lrp, worth
from helpers.study import StudyError
from tests.reference.importance import columns
from tests.unit.tiny_models import FAMILIES, SEQ2SEQ, TODAY, generate, left, logits, singles, tiny_batch, tiny_model

TABLE = study.ROOT / "figures" / "matrix.csv"
BACKENDS, PADDINGS, STATES = ("eager", "sdpa"), ("none", "left", "right"), ("whole", "removed")
PRECISIONS = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
CLOSE = {
    "float64": 1e-4,
    "float32": 2e-3,
    "bfloat16": 0.3,
}  # of the spread over heads; sines and softmaxes have single precision
SENTENCES, TARGETS = 2, 3  # of the tiny batch
MEASURES = {
    "leave-one-out": lambda model, batches: worth.leave_one_out(model, batches, repeats=1).loss,
    "gradient, example": partial(worth.importance, norm=None),
    "gradient, token": partial(worth.importance, per="token", norm=None), "gradient, signed": worth.patching,
    "RelP, attnlrp": lrp.relp, "RelP, cp": partial(lrp.relp, rule="cp"),
    "attnlrp": partial(lrp.relevance, rule="attnlrp", normalise=None), "cp": partial(lrp.relevance, rule="cp", normalise=None),
    "alpha_beta": lrp.relevance, "confidence": measures.confidence,
    "positional": lambda model, batches: functions.positional(model, batches, 1).score,
    "first token": lambda model, batches: measures.head_table(model, batches, names=["first token"])["first token"],
    "output norm": functions.output_norm,
}  # fmt: skip
INSTRUMENT = ("gate", "inject", "generate, cache", "generate, no cache")


class Cell(NamedTuple):
    """One combination."""

    measure: str
    family: str
    backend: str
    precision: str
    padding: str
    state: str


def cells() -> Iterator[Cell]:
    """All of them; those of one model one after another. What a family does not have at all, such as generation, is no cell."""
    ways = itertools.product((*FAMILIES, *TODAY), BACKENDS, PRECISIONS, STATES, PADDINGS, (*MEASURES, *INSTRUMENT))
    for family, backend, precision, state, padding, measure in ways:
        if not (measure.startswith("generate") and family in ("bert", "roberta")):
            yield Cell(measure, family, backend, precision, padding, state)


def verdict(cell: Cell) -> str:
    """ "right" or "refused"; "wrong" with what is wrong, for whoever prints it."""
    try:
        model = built(cell.family, cell.backend, cell.precision, cell.state)
        if isinstance(model, str):
            raise StudyError(model)
        found = _instrument(cell, model) if cell.measure in INSTRUMENT else _measure(cell, model)
    except StudyError as error:
        return "refused" if str(error).endswith(".") else f"wrong: a reason without a sentence: {error}"
    return found


def _measure(cell: Cell, model) -> str:
    found = MEASURES[cell.measure](model, batches(cell.family, cell.padding)).to_numpy(float)
    wanted = oracle(cell.measure, cell.family, cell.state)
    if not np.isfinite(found).all() or found.shape != wanted.shape:
        return "wrong: no numbers"
    apart, other = (off(cell, values, wanted) for values in (found, np.roll(found, 1)))
    return "right" if apart <= CLOSE[cell.precision] < other else f"wrong: off by {apart:.2g}, other heads by {other:.2g}"


def off(cell: Cell, found: np.ndarray, wanted: np.ndarray) -> float:
    """How far values are from the oracle's, 0 to about 1: the largest difference as a share of the spread over heads.

    In half precision single heads are far off, and 1 minus the correlation is what can be held.
    """
    if cell.precision != "bfloat16":
        return float(np.abs(found - wanted).max() / np.ptp(wanted))
    return float(1 - np.corrcoef(found, wanted)[0, 1])


def _instrument(cell: Cell, model) -> str:
    """A closed gate against columns that are zeroed by hand, a head's own weights against the model as it is."""
    chosen = [address for address in heads.index(model) if address[1:] == (0, 0)]
    making = cell.measure.startswith("generate")
    given = batches(cell.family, cell.padding, making)

    def run() -> list[torch.Tensor]:
        if making:
            options = {"use_cache": cell.measure == "generate, cache", "min_new_tokens": 3, "max_new_tokens": 3}
            options |= {"return_dict_in_generate": True, "output_logits": True}  # other numbers, though maybe the same tokens
            said = [generate(model, {n: part for n, part in one.items() if n != "labels"}, **options) for one in given]
            return [torch.stack(one.logits) for one in said] + [one.sequences for one in said]
        return [_real(cell.family, logits(model, one), one) for one in given]

    plain = run()
    if not all(torch.isfinite(part).all() for part in plain):
        raise StudyError("The model itself gives no numbers here, for everybody to see.")
    if cell.measure == "inject":
        return _injected(cell, model, chosen[-1], given, plain)
    with heads.gate(model, dict.fromkeys(chosen, 0.0)):
        gated = run()
    zeroed, closed = model, [columns(model, address) for address in chosen]
    kept = [part.clone() for part in closed]
    for part in closed:
        part.zero_()
    wanted = run()
    for part, before in zip(closed, kept, strict=True):
        part.copy_(before)
    same = all(torch.equal(a, b) for a, b in zip(gated, wanted, strict=True)) and zeroed is model
    differs = any(a.shape != b.shape or (a - b).abs().max() > 0.02 for a, b in zip(gated, plain, strict=True))
    return "right" if same and differs else f"wrong: same {same}, with an effect {differs}"


def _injected(cell: Cell, model, address: tuple, given: list, plain: list[torch.Tensor]) -> str:
    """The recorded weights of a head put in its place leave the model as it is; those of another sentence position do not."""
    worst = other = 0.0
    for one, before in zip(given, plain, strict=True):
        seen: dict = {}
        with heads.record(model, lambda site, weights, seen=seen: seen.update({(site.kind, site.layer): weights})):
            logits(model, one)
        own = seen[address[:2]][:, address[2]].nan_to_num()
        for matrix, back in ((own, True), (own.flip(-2), False)):
            with heads.inject(model, {address: matrix}):
                apart = float((_real(cell.family, logits(model, one), one) - before).abs().max() / before.abs().max())
            worst, other = (max(worst, apart), other) if back else (worst, max(other, apart))
    limit = {"float64": 1e-6, "float32": 1e-5, "bfloat16": 0.05}[cell.precision]
    seen_it = other > (limit if cell.precision != "bfloat16" else 0.002)
    return "right" if worst <= limit and seen_it else f"wrong: off by {worst:.2g}, another matrix by {other:.2g}"


def _real(family: str, values: torch.Tensor, batch: dict) -> torch.Tensor:
    return values[batch["labels"] != -100] if family in SEQ2SEQ else values[batch["attention_mask"].bool()]


@lru_cache(maxsize=2)
def built(family: str, backend: str, precision: str, state: str):
    """A tiny model, or the sentence in which it is refused; with heads removed, one of each layer is gone."""
    try:
        model = tiny_model(family, attention=backend).to(PRECISIONS[precision])
        return heads.remove(model, _gone(model)) if state == "removed" else model
    except StudyError as error:
        return str(error)
    except ValueError as error:
        return f"The library has no such attention: {error}."


def _gone(model) -> list[tuple]:
    found = heads.index(model)
    return [address for address in found if address[1:] in ((1, 0), (0, 3))]


@cache
def oracle(measure: str, family: str, state: str) -> np.ndarray:
    """Values in double precision of each sentence alone, without padding, of heads that stay."""
    model = copy.deepcopy(tiny_model(family, attention="eager")).double()
    gone = _gone(model) if state == "removed" else []
    with heads.gate(model, dict.fromkeys(gone, 0.0)):
        return MEASURES[measure](model, batches(family, "none")).drop(gone).to_numpy(float)


@cache
def batches(family: str, padding: str, prompts: bool = False) -> list[dict[str, torch.Tensor]]:
    """The same sentences padded on either side (of the source, where there is one), or each alone."""
    batch = {name: part[:SENTENCES] for name, part in tiny_batch(family).items()}
    batch.pop("decoder_attention_mask", None)
    if family in SEQ2SEQ:  # few targets: each is a pass of its own
        batch["labels"] = batch["labels"][:, :TARGETS].contiguous()
    elif family not in ("bert", "roberta"):
        batch["labels"][:, : -1 - TARGETS] = -100
    if prompts and family not in SEQ2SEQ:
        batch.pop("labels")
    if padding == "right":
        return [batch]
    if padding == "left":
        return [left(batch, ("input_ids", "attention_mask") if family in SEQ2SEQ else None)]
    if family not in SEQ2SEQ:
        return singles(batch)
    parts = [{name: part[row : row + 1] for name, part in batch.items()} for row in range(SENTENCES)]
    real = [(int(part["attention_mask"].sum()), int((part["labels"] != -100).sum())) for part in parts]
    return [
        {name: values[:, : target if name == "labels" else source].contiguous() for name, values in part.items()}
        for part, (source, target) in zip(parts, real, strict=True)
    ]


def walked(families: Sequence[str]) -> pd.DataFrame:
    """Cells of some families counted: columns right, refused and wrong on (family, measure); wrong ones are printed."""
    found: Counter[tuple[str, str, str]] = Counter()
    for cell in (cell for cell in cells() if cell.family in families):
        said = verdict(cell)
        found[cell.family, cell.measure, said.partition(":")[0]] += 1
        if said.startswith("wrong"):
            print(*cell, said, sep=" | ", flush=True)
    rows = pd.Series(found).unstack(fill_value=0).rename_axis(["family", "measure"])
    return rows.reindex(columns=["right", "refused", "wrong"], fill_value=0)


def main(families: Sequence[str]) -> None:
    """Walk all cells, or those of some families, and write the table.

    Raises
    ------
    SystemExit
        If any is wrong.
    """
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # the library's, on prompts that are padded on the right
    rows = pd.DataFrame()
    for family in families or (*FAMILIES, *TODAY):
        stored = pd.read_csv(TABLE, index_col=["family", "measure"]) if TABLE.exists() else pd.DataFrame()
        rows = walked([family])
        stored = stored.drop(family, level="family") if len(stored) and family in stored.index else stored
        rows = pd.concat([stored, rows])
        order = [(f, m) for f in (*FAMILIES, *TODAY) for m in (*MEASURES, *INSTRUMENT) if (f, m) in rows.index]
        rows.reindex(pd.MultiIndex.from_tuples(order, names=["family", "measure"])).to_csv(TABLE)
        print(family, dict(rows.sum()), f"{time.process_time():.0f} s of one core", flush=True)
    raise SystemExit(1 if rows.wrong.any() else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
