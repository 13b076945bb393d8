"""Never silently wrong: every measure on every family, attention, precision, padding, whole or with heads removed.

Each cell is *right*, close to its oracle while those of other heads are not, or *refused* by an error that says why; anything
else is wrong. `python -m tests.matrix` walks all of them and writes the counts to figures/matrix.csv.

The oracle of a measure is its slow twin in tests/reference, which shares no line with it: whole forward passes with one head
off or a little larger, attention that the library returns, relevance unit by unit or from differences of logits. It sees each
sentence alone, without padding, in double precision; heads that are removed have columns of zeros. That of the instrument is
the same model with such columns, that of a cache is one pass without.
"""

import itertools
import logging
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import heads, measures, study
from helpers.measures import functions, lrp, worth
from helpers.study import StudyError
from tests.reference import frozen, importance
from tests.reference import measures as attention
from tests.reference import relevance as propagated
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
SAME = {"float64": 1e-6, "float32": 1e-5, "bfloat16": 0.05}  # of the largest logit, or of a weight of 1
SENTENCES, TARGETS = 2, 3  # of the tiny batch
MEASURES = {
    "leave-one-out": lambda model, batches: worth.leave_one_out(model, batches, repeats=1).loss,
    "gradient, example": partial(worth.importance, norm=None),
    "gradient, token": partial(worth.importance, per="token", norm=None), "gradient, signed": worth.patching,
    "attnlrp": partial(lrp.relevance, rule="attnlrp", normalise=None), "cp": partial(lrp.relevance, rule="cp", normalise=None),
    "alpha_beta": lrp.relevance, "confidence": measures.confidence,
    "positional": lambda model, batches: functions.positional(model, batches, 1).score,
    "first token": lambda model, batches: measures.head_table(model, batches, names=["first token"])["first token"],
    "output norm": functions.output_norm,
}  # fmt: skip
INSTRUMENT = ("gate", "inject", "generate, cache", "generate, no cache", "inject, cache", "record, cache")
LETTERS = {"right": "r", "refused": "x", "wrong": "w"}  # of a cell in the table


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
        if not (measure.endswith("cache") and family in ("bert", "roberta")):
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
    if cell.measure in ("inject, cache", "record, cache"):
        return _cached(cell, model)
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
    closed = [columns(model, address) for address in chosen]
    kept = [part.clone() for part in closed]
    for part in closed:
        part.zero_()
    wanted = run()
    for part, before in zip(closed, kept, strict=True):
        part.copy_(before)
    same = all(torch.equal(a, b) for a, b in zip(gated, wanted, strict=True))
    differs = any(a.shape != b.shape or (a - b).abs().max() > 0.02 for a, b in zip(gated, plain, strict=True))
    return "right" if same and differs else f"wrong: same {same}, with an effect {differs}"


def _injected(cell: Cell, model, address: tuple, given: list, plain: list[torch.Tensor]) -> str:
    """The recorded weights of a head put in its place leave the model as it is; those of another sentence position do not."""
    apart: dict[bool, list[float]] = {True: [], False: []}  # by whether the weights are the head's own
    for one, before in zip(given, plain, strict=True):
        seen: dict = {}
        with heads.record(model, lambda site, weights, seen=seen: seen.update({(site.kind, site.layer): weights})):
            logits(model, one)
        own = seen[address[:2]][:, address[2]].nan_to_num()
        for matrix, back in ((own, True), (own.flip(-2), False)):
            earlier = matrix.tril() if address[0] == "decoder" else matrix  # rows of padding on the left look everywhere
            with heads.inject(model, {address: earlier}):
                moved = _real(cell.family, logits(model, one), one) - before
            apart[back].append(float(moved.abs().max() / before.abs().max()))
    worst, other = np.max(apart[True]), np.max(apart[False])
    limit = SAME[cell.precision]
    seen_it = other > (limit if cell.precision != "bfloat16" else 0.002)
    return "right" if worst <= limit and seen_it else f"wrong: off by {worst:.2g}, another matrix by {other:.2g}"


def _cached(cell: Cell, model) -> str:
    """The last tokens one by one with the cache, under a record or an injection, against one pass without a cache."""
    apart, moved = [], []  # from one pass; of other heads' weights, or without the injection
    for one in batches(cell.family, cell.padding):
        before, whole = _recorded(model, lambda one=one: logits(model, one))
        after, steps = _recorded(model, lambda one=one: _stepwise(model, one))
        if not (torch.isfinite(before).all() and torch.isfinite(after).all()):
            raise StudyError("The model itself gives no numbers here, for everybody to see.")
        if cell.measure == "record, cache":
            real = one["labels"] != -100 if cell.family in SEQ2SEQ else one["attention_mask"].bool()
            for place, (wanted,) in whole.items():
                if place[0] != "encoder":
                    first = itertools.accumulate((part.shape[2] for part in steps[place]), initial=0)
                    parts = (_widened(part, wanted.shape[-1], at) for part, at in zip(steps[place], first, strict=False))
                    found = torch.cat(steps[place] if place[0] == "cross" else list(parts), 2)
                    found, wanted = (part.transpose(1, 2)[real] for part in (found, wanted))
                    apart.append(float((found - wanted).abs().max()))
                    moved.append(float((found - wanted.roll(1, 1)).abs().max()))
            continue
        given = {
            (*place, head): _rows(place[0], weights[:, head - 1].nan_to_num())
            for place, (weights,) in whole.items()
            for head in range(weights.shape[1])
            if place[0] != "encoder"
        }
        with heads.inject(model, given):
            wanted, found = (_real(cell.family, part, one) for part in (logits(model, one), _stepwise(model, one)))
        size, plain = before.abs().max(), _real(cell.family, before, one)
        apart.append(float((found - wanted).abs().max() / size))
        moved.append(float((found - plain).abs().max() / size))
    worst, other = np.max(apart), np.max(moved)
    right = worst <= SAME[cell.precision] and other > max(2 * worst, 0.005)
    return "right" if right else f"wrong: off by {worst:.2g}, another matrix by {other:.2g}"


def _rows(kind: str, matrix: torch.Tensor) -> Callable:
    """Of a matrix [batch, query, key] what an injection asks for; each target token looks at the source as the first does."""
    if kind == "cross":
        return lambda site, queries, keys, batch: matrix[:, :1].expand(-1, queries, -1)
    return lambda site, queries, keys, batch: matrix[:, :keys, :keys].tril()


def _recorded(model, run: Callable) -> tuple[torch.Tensor, dict]:
    """What a run returns, and the weights of each (kind, layer) in it, step by step."""
    seen = defaultdict(list)
    with heads.record(model, lambda site, weights: seen[site.kind, site.layer].append(weights)):
        return run(), seen


def _widened(weights: torch.Tensor, keys: int, first: int) -> torch.Tensor:
    """Weights [batch, heads, query, key] of queries from `first` on for all keys: a window's cache has dropped early ones."""
    end = first + weights.shape[2]
    return nn.functional.pad(weights, (end - weights.shape[-1], keys - end))


def _stepwise(model, one: dict) -> torch.Tensor:
    """Logits of a batch, its last three tokens fed one by one with the cache of what stands before them."""
    paired = model.config.is_encoder_decoder
    ids = model.prepare_decoder_input_ids_from_labels(one["labels"]) if paired else one["input_ids"]
    places = itertools.pairwise([0, *range(max(1, ids.shape[1] - 3), ids.shape[1] + 1)])
    mask, parts, held = one["attention_mask"], [], {}
    with torch.no_grad():
        memory = {"encoder_outputs": model.get_encoder()(one["input_ids"], attention_mask=mask)} if paired else {}
        for start, end in places:
            fed = {"decoder_input_ids" if paired else "input_ids": ids[:, start:end]}
            out = model(**memory, **fed, **held, attention_mask=mask if paired else mask[:, :end], use_cache=True)
            held, parts = {"past_key_values": out.past_key_values}, [*parts, out.logits]
    return torch.cat(parts, 1)


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
    """Values of heads that stay by the slow twin, in double precision, of each sentence alone and without padding."""
    model, given = plain(family, state, exactly=False), batches(family, "none")
    found, gone = heads.index(model), _gone(model) if state == "removed" else []
    if measure in ATTENTION:
        values = ATTENTION[measure](model, given)
    elif measure in LOSSES:
        values = LOSSES[measure](plain(family, state, exactly=True), given, found)
    else:
        values = _relevance(measure, family, state, given)
    return np.array([values[address] for address in found if address not in gone])


@cache
def plain(family: str, state: str, exactly: bool):
    """A tiny model in double precision, eager, if `exactly` also its norms and softmaxes; heads removed by hand."""
    model = tiny_model(family, attention="eager")
    model = frozen.exact(model) if exactly else model.double()
    for address in _gone(model) if state == "removed" else []:
        columns(model, address).zero_()
    return model


def _positional(model, given: list) -> dict:
    """Share of tokens that look at the offset at which most do, of those that have a key there; the first of equals."""
    sentences, found = attention.read(model, given), {}
    for address, counts in attention.offsets(sentences).items():
        offset = min(counts, key=lambda one, counts=counts: (-counts[one], one))
        found[address] = counts[offset] / attention.having(sentences, address, offset)
    return found


def _relevance(rule: str, family: str, state: str, given: list) -> dict:
    """Relevance by alpha_beta unit by unit, by the signed rules from differences of logits."""
    exact = plain(family, state, exactly=True)
    if rule != "alpha_beta":
        return frozen.relevance(exact, given, rule)[0]
    model, off = plain(family, state, exactly=False), dict.fromkeys(_gone(exact) if state == "removed" else [], 0.0)
    frame = pd.DataFrame([row for one in given for row in propagated.explain(model, one, 0, off)])
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    return (frame / frame.T.groupby(level=[0, 1]).transform("sum").T).mean().to_dict()  # the paper's: shares of each target


ATTENTION = {
    "confidence": lambda model, given: attention.confidence(attention.read(model, given)), "positional": _positional,
    "first token": lambda model, given: attention.first(attention.read(model, given)), "output norm": attention.output_norm,
}  # fmt: skip
LOSSES = {
    "leave-one-out": importance.leave_one_out, "gradient, signed": importance.patching,
    "gradient, example": lambda model, given, found: importance.importance(model, given, "example", found),
    "gradient, token": lambda model, given, found: importance.importance(model, given, "token", found),
}  # fmt: skip


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
    """Cells of some families on (family, measure): counted in columns right, refused and wrong, each as a letter in `cells`."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in (cell for cell in cells() if cell.family in families):
        said = verdict(cell)
        found[cell.family, cell.measure].append(said.partition(":")[0])
        if said.startswith("wrong"):
            print(*cell, said, sep=" | ", flush=True)
    counts = [[said.count(one) for one in LETTERS] + ["".join(map(LETTERS.get, said))] for said in found.values()]
    return pd.DataFrame(counts, pd.MultiIndex.from_tuples(found, names=["family", "measure"]), [*LETTERS, "cells"])


def stored() -> pd.DataFrame:
    """The table as `main` wrote it."""
    return pd.read_csv(TABLE, index_col=["family", "measure"])


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
        rows, others = walked([family]), stored()
        rows = pd.concat([others[others.index.get_level_values("family") != family], rows])
        order = [(f, m) for f in (*FAMILIES, *TODAY) for m in (*MEASURES, *INSTRUMENT) if (f, m) in rows.index]
        rows.reindex(pd.MultiIndex.from_tuples(order, names=["family", "measure"])).to_csv(TABLE)
        print(family, rows[[*LETTERS]].sum().to_dict(), f"{time.process_time():.0f} s of one core", flush=True)
    raise SystemExit(1 if rows.wrong.any() else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
