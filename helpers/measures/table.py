"""The head table: what all measures say of the heads of one model, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers.heads import index
from helpers.measures.confidence import Confidence
from helpers.measures.functions import Alignment, Positional, Rare, Syntactic, roles
from helpers.measures.importance import importance, leave_one_out
from helpers.measures.one_pass import one_pass
from helpers.measures.relevance import RULES, explain
from helpers.study import StudyError

TRUTH = "leave-one-out"
FUNCTIONS = "functions"  # the one column of text


def head_table(
    model,
    batches: Iterable[Mapping[str, Any]],
    explained: Iterable[Mapping[str, Any]] | None = None,
    arcs: Sequence[Sequence[tuple[int, int, str]]] | None = None,
    counts: torch.Tensor | None = None,
    links: Sequence[Mapping[int, int]] | None = None,
    rules: Sequence[str] = RULES,
) -> pd.DataFrame:
    """Every measure of every head of a model, as far as the text allows.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        One that the relevance rules know (`helpers.measures.relevance`).
    batches : iterable of dict
        What a Hugging Face collator yields, with `labels`; iterated several times. Text on which functions and confidence are
        measured.
    explained : iterable of dict, optional
        Fewer batches, for relevance, gradients and the loss without each head, which cost more; by default the same.
    arcs, counts, links
        For the syntactic, rare-token and alignment columns (`helpers.measures.functions`); without them these are missing.
    rules : sequence of str
        Of relevance.

    Returns
    -------
    pandas.DataFrame
        On (kind, layer, head): ``alpha_beta`` (share of its layer, divided at each target), ``attnlrp``, ``cp`` (signed, so
        divided after summing); ``confidence``; ``gradient, example`` and ``gradient, token`` (nats), the same ``by layer``;
        ``leave-one-out`` (rise of the loss, nats a token); ``positional`` (share of tokens at the head's best offset),
        ``syntactic`` (best relation's accuracy above its offset baseline), ``rare`` (share on the two rarest tokens),
        ``alignment``, each nan for kinds that it is not defined on; ``functions``, in words, "" where a head has none.
        `attrs["seconds"]`: what each column cost, passes that serve several columns under each of them.

    Raises
    ------
    StudyError
        As the measures do; if there are no batches.
    """
    batches = list(batches)
    few = batches if explained is None else list(explained)
    if not batches or not few:
        raise StudyError("There are no batches to measure heads on: give at least one.")
    columns: dict[str, pd.Series] = {}
    seconds: dict[str, float] = {}

    def timed(names: Sequence[str], make: Callable[[], Mapping[str, pd.Series]]) -> None:
        started = time.perf_counter()
        columns.update(make())
        seconds.update(dict.fromkeys(names, round(time.perf_counter() - started, 2)))

    for rule in rules:
        way = "step" if rule == "alpha_beta" else "ratio"
        timed([rule], lambda rule=rule, way=way: {rule: explain(model, few, rule).series(way)})
    for per in ("example", "token"):
        name = f"gradient, {per}"
        timed([name], lambda per=per, name=name: {name: importance(model, few, per=per, norm=None)})
        size = columns[name].pow(2).groupby(level=["kind", "layer"]).transform("sum").pow(0.5)
        columns[f"{name}, by layer"] = columns[name] / size.where(size > 0, 1.0)
        seconds[f"{name}, by layer"] = seconds[name]
    timed([TRUTH], lambda: {TRUTH: leave_one_out(model, few, repeats=1).loss})
    seen = ["confidence", "positional", *(["syntactic"] if arcs else []), *(["rare"] if counts is not None else [])]
    timed([*seen, *(["alignment"] if links else [])], lambda: _functions(model, batches, arcs, counts, links))
    table = pd.DataFrame(columns).reindex(index(model))
    table.attrs["seconds"] = seconds
    return table


def _functions(model, batches, arcs, counts, links) -> dict[str, pd.Series]:
    """Confidence and what heads do, in one pass."""
    reducers: dict[str, Any] = {"confidence": Confidence(), "positional": Positional()}
    reducers |= {"syntactic": Syntactic(arcs)} if arcs else {}
    reducers |= {"rare": Rare(counts)} if counts is not None else {}
    reducers |= {"alignment": Alignment(links)} if links else {}
    heads = one_pass(model, batches, *reducers.values(), label="functions")
    frames = {name: reducer.frame(heads, 1) for name, reducer in reducers.items()}
    columns = {"confidence": frames["confidence"].confidence, "positional": frames["positional"].score}
    if arcs:
        above = frames["syntactic"].score - frames["syntactic"].baseline
        columns["syntactic"] = above.groupby(level=["kind", "layer", "head"]).max()
    if counts is not None:
        columns["rare"] = frames["rare"].two_rarest
    if links:
        columns["alignment"] = frames["alignment"].predicted
    named = roles(frames["positional"], frames.get("syntactic"), frames.get("rare"))
    columns[FUNCTIONS] = named.map(lambda found: "; ".join(dict.fromkeys(label for _, label in found)))
    return columns


def numeric(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of a head table that rank heads."""
    return table.select_dtypes(np.number)
