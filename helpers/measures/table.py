"""The head table: what all measures say of the heads of one model, side by side; and the register of these measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers.heads import KINDS, index, sites
from helpers.heads.families import ADDRESS
from helpers.measures.functions import (
    Confidence,
    ConfidenceBeyondFirst,
    First,
    Positional,
    Rare,
    Syntactic,
    output_norm,
    reads,
    roles,
)
from helpers.measures.lrp import relevance, rules
from helpers.measures.reducers import Reducer, one_pass
from helpers.measures.worth import by_layer, importance, leave_one_out, patching, slopes
from helpers.study import StudyError

TRUTH = "leave-one-out"
FUNCTIONS = "functions"  # the one column of text
GROUP = "key-value head"


@dataclass(frozen=True)
class Measure:
    """A line of the register: a measure of heads, and how it fills its column.

    `find` gives a Series on (kind, layer, head): of what the measure `needs`, in that order; of the frame of its `reducer`; or
    of the column that it is a form `of`, whose cost it shares. It needs such as "model", "batches", "explained", "arcs",
    "counts" (`head_table`), "sweep"; of a reducer what it is made from, besides model and batches.
    """

    name: str  # of the column
    title: str  # what people call it
    about: str  # what it is, in a line
    larger: str  # what a larger value says of a head; heads of least value are removed first
    find: Callable[..., pd.Series]
    needs: tuple[str, ...] = ()
    reducer: type[Reducer] | None = None  # all of them share one pass over the batches
    of: str = ""
    rule: str = ""  # of relevance, that it follows; models whose layers do not have it have no such column
    kinds: tuple[str, ...] = KINDS  # of the attention that it is defined on; nan elsewhere
    compared: bool = True  # False where it ranks heads within a layer much as another one does: comparisons leave it out
    asked: bool = False  # True where it is a column only if its name is asked for


MEASURES: dict[str, Measure] = {}


def register(measure: Measure) -> None:
    """Make a measure a column of every head table that is given what it needs; its name must be its own."""
    if measure.name in MEASURES or measure.name == FUNCTIONS:
        raise StudyError(f"There is a measure {measure.name!r} already: give yours a name of its own.")
    if measure.of and measure.of not in MEASURES:
        raise StudyError(f"There is no measure {measure.of!r} that {measure.name!r} could be a form of: register it first.")
    MEASURES[measure.name] = measure


def named(measure: str) -> str:
    """What people call a column of the head table; other names as they are."""
    return MEASURES[measure].title if measure in MEASURES else measure


def _relevance(rule: str, normalise: str) -> Callable[..., pd.Series]:
    return lambda model, explained: relevance(model, explained, rule, normalise)


def groups(model) -> pd.Series:
    """The key-value head that each query head reads, from 0; nan where every head has keys and values of its own."""
    by_site = {(site.kind, site.layer): site.groups for site in sites(model)}
    shared = any(len(set(part)) < len(part) for part in by_site.values())
    return pd.Series([float(by_site[a[:2]][a[2]]) if shared else np.nan for a in index(model)], index(model), name=GROUP)


_FEW = ("model", "explained")
_OLD = "share of the layer's signed relevance, divided after summing: backwards in a layer whose sum is negative"
_THROUGH, _DEPENDS = "more of the prediction comes through the head", "the loss depends more on the head"
for _measure in (
    Measure("alpha_beta", "relevance, LRP αβ", "share of its layer's relevance, divided at each target token (sums to 1)",
            _THROUGH, _relevance("alpha_beta", "step"), _FEW, rule="alpha_beta"),
    Measure("attnlrp, size", "relevance, AttnLRP (size)", "size of what a sentence's targets sum to (logits a target)",
            _THROUGH, _relevance("attnlrp", "size"), _FEW, rule="attnlrp"),
    Measure("cp, size", "relevance, conservative (size)", "the same by the rule of Ali et al. 2022 (logits a target)",
            _THROUGH, _relevance("cp", "size"), _FEW, rule="cp"),
    # of stored tables, whose keys and criteria name them
    Measure("attnlrp", "relevance, AttnLRP", _OLD,
            _THROUGH, _relevance("attnlrp", "ratio"), _FEW, rule="attnlrp", asked=True),
    Measure("cp", "relevance, conservative", _OLD,
            _THROUGH, _relevance("cp", "ratio"), _FEW, rule="cp", asked=True),
    Measure("gradient, example", "gradient importance", "mean of |loss gradient at the head's gate| over examples (nats)",
            _DEPENDS, lambda slopes: slopes().abs().mean(), ("slopes",)),
    Measure("gradient, example, by layer", "gradient importance, by layer", "the same, divided by the layer's norm",
            _DEPENDS, by_layer, of="gradient, example", compared=False),
    Measure("gradient, token", "gradient importance, each token", "mean of |gradient at the head's gate| over tokens (nats)",
            _DEPENDS, partial(importance, per="token", norm=None), _FEW),
    Measure("gradient, token, by layer", "gradient importance, each token, by layer", "the same, divided by the layer's norm",
            _DEPENDS, by_layer, of="gradient, token", compared=False),
    Measure("gradient, signed", "gradient, signed", "minus the loss gradient at the head's gate (nats a token)",
            _DEPENDS, lambda model, few, slopes: patching(model, few, slopes()), (*_FEW, "slopes")),
    Measure("output norm", "output norm", "norm of what the head adds to the residual stream, mean over tokens",
            "the head writes more", output_norm, ("model", "batches")),
    Measure(GROUP, "key-value head", "the key-value head that the query head reads, from 0; nan where none is shared",
            "nothing", groups, ("model",), compared=False),
    Measure(TRUTH, "loss without the head", "how much the loss rises when this head alone is left out (nats a token)",
            "the model needs the head more", lambda model, explained: leave_one_out(model, explained, repeats=1).loss, _FEW),
    Measure("confidence", "confidence", "mean of a head's largest attention weight",
            "the head looks at one token at a time", lambda frame: frame.confidence, reducer=Confidence),
    Measure("confidence, later tokens", "confidence beyond the first token", "the same without the first token's weight",
            "the head looks at one token at a time", lambda frame: frame.confidence, reducer=ConfidenceBeyondFirst),
    Measure("first token", "first token", "mean weight on the first token of a sentence",
            "the head rests on the first token", lambda frame: frame.share, reducer=First),
    Measure("positional", "positional", "share of tokens whose largest weight lies at the head's best offset",
            "the head keeps to one offset", lambda frame: frame.score, reducer=Positional),
    Measure("syntactic", "syntactic", "accuracy of the best relation above its offset baseline",
            "the head follows a relation", lambda frame: (frame.score - frame.baseline).groupby(list(ADDRESS)).max(),
            ("arcs", "reads"), Syntactic, kinds=KINDS[:2]),
    Measure("rare", "rare tokens", "share of tokens that look at one of the sentence's two rarest tokens",
            "the head looks at rare tokens", lambda frame: frame.two_rarest, ("counts", "reads"), Rare, kinds=KINDS[:2]),
):  # fmt: skip
    register(_measure)


def head_table(
    model,
    batches: Iterable[Mapping[str, Any]],
    explained: Iterable[Mapping[str, Any]] | None = None,
    arcs: Sequence[Sequence[tuple[int, int, str]]] | None = None,
    counts: torch.Tensor | None = None,
    names: Iterable[str] | None = None,
    **known: Any,
) -> pd.DataFrame:
    """Every measure of every head of a model, as far as the text allows.

    Relevance by the signed rules is summed over the targets of a sentence in one backward pass, and its size counts
    (`helpers.measures.lrp.relevance`, ``size``): a layer's signed sum may be negative and would rank its heads backwards.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Relevance is measured by the rules that its layers have (`helpers.measures.lrp.rules`).
    batches : iterable of dict
        What a Hugging Face collator yields, with `labels`; iterated several times. Text on which functions and confidence are
        measured.
    explained : iterable of dict, optional
        Fewer batches, for relevance, gradients and the loss without each head, which cost more; by default the same.
    arcs, counts
        For the syntactic and rare-token columns (`helpers.measures.functions`); without them these are missing. What does not
        fit the batches is refused before what costs more is measured.
    names : iterable of str, optional
        These measures alone.
    **known
        What measures need that others have registered, by the names in their `needs`.

    Returns
    -------
    pandas.DataFrame
        On (kind, layer, head): a column for each of `MEASURES` that is given what it needs, nan for kinds that it is not
        defined on; ``functions``, in words, "" where a head has none.

    Raises
    ------
    StudyError
        As the measures do; if there are no batches, no such measure, or something is given that no measure needs.
    """
    batches = list(batches)
    few = batches if explained is None else list(explained)
    if model is None:
        raise StudyError("There is no model to measure heads of: give one, for example by helpers.models.load.")
    if not batches or not few:
        raise StudyError("There are no batches to measure heads on: give at least one.")
    needed = {name for measure in MEASURES.values() for name in measure.needs}
    if unknown := [name for name in known if name not in needed]:
        raise StudyError(f"No measure needs {unknown[0]!r}: register one that does, or leave it out.")
    if unknown := sorted(set(names or ()) - set(MEASURES)):
        raise StudyError(f"There is no measure {unknown[0]!r}: choose from {', '.join(MEASURES)}.")
    given = {"model": model, "batches": batches, "explained": few, "counts": counts, "arcs": arcs or None}
    there = {name for name, value in (given | known).items() if value is not None}
    for name in names or ():
        if missing := sorted(lacking(name, there)):
            raise StudyError(f"The measure {name!r} needs {' and '.join(missing)}: give it, or leave the measure out.")
    asked = [name for name, m in MEASURES.items() if (not m.asked if names is None else name in names)]
    ours = rules(model) if any(MEASURES[name].rule for name in asked) else ()
    return columns(given | known, [name for name in asked if not MEASURES[name].rule or MEASURES[name].rule in ours])


def columns(given: Mapping[str, Any], names: Iterable[str] | None = None) -> pd.DataFrame:
    """The columns of a head table that what is given allows, and what heads do in words where `positional` is one of them.

    What is given has the names that measures need it by; None is not given. `names` stand for what they are forms of too.
    """
    given = {name: value for name, value in given.items() if value is not None}
    given |= {"reads": reads(given["model"])} if "model" in given else {}
    if given.keys() >= {*_FEW}:  # of one backward pass, for the measures that need it
        model, few = (given[name] for name in _FEW)
        given["slopes"] = cache(partial(slopes, model, few, label="gradient importance"))
    wanted = set(MEASURES if names is None else names)
    wanted |= {MEASURES[name].of for name in wanted if name in MEASURES}
    chosen = [m for m in MEASURES.values() if m.name in wanted and _all_needs(m) <= given.keys()]
    filled: dict[str, pd.Series] = {}
    if read := [m for m in chosen if m.reducer]:  # before what costs more: it refuses what does not fit the batches
        filled |= _in_one_pass(read, given)
    for m in chosen:
        if not (m.reducer or m.of):
            filled[m.name] = m.find(*(given[name] for name in m.needs))
    for m in (m for m in chosen if m.of):
        filled[m.name] = m.find(filled[m.of])
    for m in chosen:
        filled[m.name] = filled[m.name][filled[m.name].index.isin(m.kinds, level="kind")]
    table = pd.DataFrame({m.name: filled.pop(m.name) for m in chosen} | filled)
    return table.reindex(index(given["model"])) if "model" in given else table


def lacking(name: str, there: Iterable[str] = ()) -> set[str]:
    """What a measure needs beside a model, its text, and what is there."""
    return _all_needs(MEASURES[name]) - {"model", "batches", "explained", "reads", "slopes", *there}


def _all_needs(measure: Measure) -> set[str]:
    needs = {*measure.needs, *(("model", "batches") if measure.reducer else ())}
    return needs | (_all_needs(MEASURES[measure.of]) if measure.of else set())


def _in_one_pass(read: Sequence[Measure], given: Mapping[str, Any]) -> dict[str, pd.Series]:
    """The columns of measures that read attention, and what heads do in words."""
    reducers = {m.name: m.reducer(*(given[name] for name in m.needs)) for m in read if m.reducer}
    heads = one_pass(given["model"], given["batches"], *reducers.values(), label="functions")
    frames = {name: reducer.frame(heads, 1) for name, reducer in reducers.items()}
    filled = {m.name: m.find(frames[m.name]) for m in read}
    if "positional" in frames:
        functions = roles(frames["positional"], frames.get("syntactic"), frames.get("rare"))
        filled[FUNCTIONS] = functions.map(lambda does: "; ".join(dict.fromkeys(label for _, label in does)))
    return filled


def compared(names: Iterable[str]) -> list[str]:
    """Of some columns those that comparisons of measures show, in the order of the register."""
    present = set(names)
    return [name for name, measure in MEASURES.items() if measure.compared and name in present]
