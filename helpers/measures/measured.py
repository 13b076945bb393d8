"""Tables and examples of Voita et al. 2019, section 5, from what the measures found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pandas as pd

from helpers.corpora.describe import arcs_of
from helpers.measures.analysis import Analysis
from helpers.measures.functions import Confidence, Positional, Rare, Syntactic, confidence, roles
from helpers.measures.lrp import RULES, BySentence, explain
from helpers.measures.reducers import Reducer, one_pass
from helpers.measures.worth import leave_one_out

FUNCTIONAL = ("positional", "syntactic", "rare")


def measure(subject, model, repeats: int = 1000, names: Sequence[str] = FUNCTIONAL) -> dict[str, pd.DataFrame]:
    """Confidence, positional, syntactic or rare-token scores of a model in one pass over the subject's dev set.

    The model is the subject's own or another one (random weights); sentences, trees and frequencies are the subject's. `names`
    are of "confidence", "positional", "syntactic" and "rare".
    """
    made: dict[str, Callable[[], Reducer]] = {
        "confidence": Confidence, "positional": Positional, "syntactic": lambda: Syntactic(arcs_of(subject.sentences)),
        "rare": lambda: Rare(subject.counts),
    }  # fmt: skip
    reducers = {name: made[name]() for name in names}
    heads = one_pass(model, subject.batches(), *reducers.values(), label=f"functions {subject.title}")
    return {name: reducer.frame(heads, repeats) for name, reducer in reducers.items()}


def from_one(table: pd.DataFrame) -> pd.DataFrame:
    """A table as people read it: layers and heads counted from 1, in its index or its columns."""
    names, flat = table.index.names, table.reset_index()
    flat = flat.assign(**{name: flat[name] + 1 for name in ("layer", "head") if name in flat})
    return flat.set_index(names) if names != [None] else flat.drop(columns="index")


# --- analyses: what notebooks 01 and 02 read -------------------------------------------------------------------------


def _functions(subject, repeats: int) -> dict[str, Any]:
    scores = measure(subject, subject.model, repeats, ("confidence", *FUNCTIONAL))
    return {"confidence": scores["confidence"], "functions": roles(*(scores[name] for name in FUNCTIONAL))}


def _untrained(subject, first: int, draws: int) -> dict[str, Any]:
    found: dict[str, list[BySentence]] = {rule: [] for rule in RULES}
    batches, models = subject.batches(2048, first), [subject.untrained(seed) for seed in range(draws)]
    for (rule, drawn), model in product(found.items(), models):
        drawn.append(explain(model, batches, rule, label=f"{rule} {subject.title}, random weights").by_sentence().together())
    return {"relevance": found, "confidence": [confidence(model, batches) for model in models]}


EXPLAINED = Analysis(  # of `first` dev sentences by a rule: `BySentence`
    "relevance", 1,
    lambda subject, rule, first: explain(
        subject.model, subject.batches(2048, first), rule, label=f"{rule} {subject.title}"
    ).by_sentence(),
)  # fmt: skip
FUNCTIONS = Analysis("confidence and functions", 1, _functions)  # confidence with its interval, and `roles`
UNTRAINED = Analysis("relevance of random weights", 1, _untrained)  # and confidence: lists, of so many models
WITHOUT = Analysis("leave one out", 1, lambda subject, first: leave_one_out(subject.model, subject.batches(4096, first)))
