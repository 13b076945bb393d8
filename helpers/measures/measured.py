"""Tables and examples of Voita et al. 2019, section 5, from what the measures found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.corpora.describe import arcs_of
from helpers.heads import index
from helpers.measures.analysis import Analysis
from helpers.measures.functions import (
    RELATIONS,
    Alignment,
    Confidence,
    Positional,
    Rare,
    Syntactic,
    confidence,
    roles,
)  # fmt: skip
from helpers.measures.lrp import RULES, BySentence, conservation, explain
from helpers.measures.ranks import correlation, correlations
from helpers.measures.reducers import Reducer, one_pass
from helpers.measures.sentence import ONE_SENTENCE
from helpers.measures.table import named
from helpers.measures.worth import importance, kinds_off, leave_one_out, leave_one_out_bleu
from helpers.runs import training
from helpers.scores import intervals, scoring

FUNCTIONAL = ("positional", "syntactic", "rare")


def measure(subject, model, repeats: int = 1000, names: Sequence[str] = (*FUNCTIONAL, "alignment")) -> dict[str, pd.DataFrame]:
    """Confidence, positional, syntactic, rare-token or alignment scores of a model in one pass over the subject's dev set.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
        Whose sentences, trees, frequencies and alignments are used.
    model
        The subject's own model, or another one (random weights) to compare with.
    names : sequence of str
        Of "confidence", "positional", "syntactic", "rare" and "alignment".
    """
    made: dict[str, Callable[[], Reducer]] = {
        "confidence": Confidence, "positional": Positional, "syntactic": lambda: Syntactic(arcs_of(subject.sentences)),
        "rare": lambda: Rare(subject.counts), "alignment": lambda: Alignment(subject.links),
    }  # fmt: skip
    reducers = {name: made[name]() for name in names}
    heads = one_pass(model, subject.batches(), *reducers.values(), label=f"functions {subject.title}")
    return {name: reducer.frame(heads, repeats) for name, reducer in reducers.items()}


def confidence_and_functions(subject, repeats: int = 1000, model=None) -> tuple[pd.DataFrame, pd.Series]:
    """Confidence of every head with its interval, and the functions of every head (`roles`), in one pass over the dev set.

    Of the subject's own model, or of another one that reads the same text (one with heads removed).
    """
    found = measure(subject, model or subject.model, repeats, ("confidence", *FUNCTIONAL))
    return found["confidence"], roles(*(found[name] for name in FUNCTIONAL))


def relevance_columns(explained: Mapping[str, Any]) -> pd.DataFrame:
    """Relevance of every head by every rule as columns: a positive rule normalised per step, a signed one both ways.

    Parameters
    ----------
    explained : mapping of rule -> helpers.measures.lrp.Explained
    """
    columns: dict[str, pd.Series] = {}
    for rule, found in explained.items():
        ways = ("step",) if rule == "alpha_beta" else ("step", "ratio")
        columns |= {rule if len(ways) == 1 else f"{rule} {way}": found.series(way) for way in ways}
    return pd.DataFrame(columns)


def called(measure: str) -> str:
    """What people call a column of `relevance_columns`, with the way in which it is divided; other names as `named`."""
    return named(f"{measure} step" if measure in RULES else measure).removeprefix("relevance, ")


def dominance(explained: Mapping[str, Mapping[str, Any]], untrained: Mapping[str, Any], repeats: int = 1000) -> pd.DataFrame:
    """Do a few encoder heads dominate their layer? Shares of magnitudes, which are safe for signed rules too.

    A head's share is the magnitude of its mean relevance over the sum of the layer's magnitudes: for a positive rule its share
    of relevance, and for a signed one never negative and at most 1.

    Parameters
    ----------
    explained : mapping of title -> mapping of rule -> helpers.measures.lrp.Explained
    untrained : mapping of rule -> Explained
        Of a model of the same shape with random weights: what the largest of as many shares comes to by chance.

    Returns
    -------
    pandas.DataFrame
        On (model, layer, rule), layers from 1: heads (among which `largest` is the largest); largest, low and high (of that
        head's share, sentences drawn anew); even: 1 / heads; largest, random: the largest share with random weights by the same
        rule, mean over their layers; at random: that of the same layer; gap, gap_low, gap_high: largest minus the latter; over.
    """
    random, rows = {rule: _shares(found, repeats) for rule, found in untrained.items()}, {}
    usual = {rule: float(np.mean([drawn[0].max() for drawn in layers.values()])) for rule, layers in random.items()}
    for title, by_rule in explained.items():
        for rule, found in by_rule.items():
            for layer, drawn in _shares(found, repeats).items():
                best = int(drawn[0].argmax())
                row = {"heads": drawn.shape[1]} | _named("largest", "", scoring.of_draws(drawn[:, best]))
                row |= {"even": 1 / drawn.shape[1], "largest, random": usual[rule]}
                if layer in random[rule]:
                    chance = random[rule][layer]
                    chance = chance[:, int(chance[0].argmax())]
                    row["at random"] = chance[0]
                    row |= _named("gap", "gap_", scoring.of_draws(drawn[:, best] - chance))
                rows[title, layer + 1, rule] = row | {"over": intervals.SENTENCES}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "layer", "rule"])
    return pd.DataFrame(list(rows.values()), index)


def few_heads(explained: Mapping[str, Mapping[str, Any]], untrained: Mapping[str, Any]) -> pd.DataFrame:
    """What part of an encoder layer's relevance its largest heads carry together (Voita et al. 2019, section 4).

    Of shares as in `dominance`, which takes the same: a row each (weights: trained, random; rule; heads: 1, 2, … the largest)
    with value, the mean share over the layers of all models, and even, the share of as many equal heads.
    """
    rows = []
    for weights, found in (("trained", explained), ("random", {"": untrained})):
        for rule in untrained:
            drawn = [_shares(by_rule[rule], 0).values() for by_rule in found.values()]
            whole = pd.DataFrame([np.sort(one[0])[::-1].cumsum() for layers in drawn for one in layers]).ffill(axis=1)
            for place, column in whole.items():
                rows.append((weights, rule, place + 1, column.mean(), (place + 1) / whole.shape[1]))
    return pd.DataFrame(rows, columns=["weights", "rule", "heads", "value", "even"])


def _named(value: str, ends: str, found: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip((value, f"{ends}low", f"{ends}high"), found, strict=True))


def _shares(explained, repeats: int) -> dict[int, np.ndarray]:
    """Of each encoder layer the heads' shares of magnitude, then those of resampled sentences: arrays [1 + repeats, heads]."""
    sums = explained.per_sentence(None)[0]
    weights = scoring.resamples(len(sums), repeats)
    drawn = np.concatenate([sums.sum(0, keepdims=True), weights @ sums])
    found, places = {}, pd.Series(range(sums.shape[1]), explained.heads)
    for layer, part in places.xs("encoder", level="kind").groupby(level="layer"):
        size = np.abs(drawn[:, part.to_numpy()])
        found[layer] = size / size.sum(1, keepdims=True)
    return found


def relevance_and_confidence(
    explained: Mapping[str, Mapping[str, Any]],
    confidence: Mapping[str, pd.Series],
    untrained: Mapping[str, Any],
    diffuse: pd.Series,
    repeats: int = 2000,
) -> pd.DataFrame:
    """How relevance correlates with confidence, by every rule, with trained and with random weights.

    Parameters
    ----------
    explained, confidence : mapping of title -> mapping of rule -> Explained; mapping of title -> Series
        Of trained models.
    untrained, diffuse : mapping of rule -> Explained; Series
        Of one model with random weights.

    Returns
    -------
    pandas.DataFrame
        A row each (model, or "all models" for the heads of all trained ones together; kind; rule; normalised: "step", as in the
        paper, or "ratio", see `relevance_columns`): measure, weights (trained, random), rho (Spearman, ranks within layers),
        low, high, heads; size, size_low, size_high, the same of relevance without its sign; over.
    """
    rows, tables = [], {title: relevance_columns(by_rule) for title, by_rule in explained.items()}
    sides = [(title, "trained", confidence[title], table) for title, table in tables.items()]
    if len(tables) > 1:
        names = next(iter(tables.values()))
        together = {name: pooled({title: table[name] for title, table in tables.items()}) for name in names}
        sides.append(("all models", "trained", pooled(confidence), pd.DataFrame(together)))
    sides.append((next(iter(tables)), "random", diffuse, relevance_columns(untrained)))
    for title, weights, sure, table in sides:
        for kind in sure.index.unique("kind"):
            for name, column in table.items():
                rule, _, way = name.partition(" ")
                found, size = (correlation(sure, x, kind, within_layer=True, repeats=repeats) for x in (column, column.abs()))
                found |= _named("size", "size_", (size["rho"], size["low"], size["high"]))
                rows.append({"model": title, "kind": kind, "rule": rule, "normalised": way or "step", "weights": weights,
                             "measure": "relevance with confidence", **found, "over": intervals.HEADS})  # fmt: skip
    return pd.DataFrame(rows)


def above_random(table: pd.DataFrame) -> pd.DataFrame:
    """Trained rows of `relevance_and_confidence` by (rule, normalised), with random's rho and the difference (MOVER)."""
    own, other = (table[table.weights == way].set_index(["rule", "normalised"]) for way in ("trained", "random"))
    gap, far = own.rho - other.rho, other.rho - other.low
    found = own.assign(random=other.rho, random_low=other.low, random_high=other.high)
    low = gap - np.hypot(own.rho - own.low, other.high - other.rho)
    return found.assign(gap=gap, gap_low=low, gap_high=gap + np.hypot(own.high - own.rho, far))


def pooled(columns: Mapping[str, pd.Series]) -> pd.Series:
    """Columns of several models as one, whose layers are "MODEL LAYER": for comparisons within layers over all models."""
    parts = []
    for title, column in columns.items():
        renamed = [(kind, f"{title} {layer}", head) for kind, layer, head in column.index]
        parts.append(column.set_axis(pd.MultiIndex.from_tuples(renamed, names=column.index.names)))
    return pd.concat(parts)


def truth_agreement(
    truths: Mapping[str, pd.Series], measures: Mapping[str, pd.DataFrame], kind: str = "encoder"
) -> pd.DataFrame:
    """Rank correlation of every measure with a truth, on ranks within layers pooled over models.

    Parameters
    ----------
    truths : mapping of title -> Series on (kind, layer, head), larger = matters more
    measures : mapping of title -> table on the same index with a column a measure

    Returns
    -------
    pandas.DataFrame
        A row a measure: rho, low, high, heads (`helpers.measures.ranks.correlation`).
    """
    names = next(iter(measures.values())).columns
    columns = {name: pooled({title: table[name] for title, table in measures.items() if title in truths}) for name in names}
    return correlations(pooled(truths), columns, kinds=kind, within_layer=True)


def effects_that_differ(frames: Mapping[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """How many heads change the loss by their absence at all: what no measure can predict is not there.

    Parameters
    ----------
    frames : mapping of (model, seed) -> `helpers.measures.worth.leave_one_out`

    Returns
    -------
    pandas.DataFrame
        On (model, seed, kind): heads; differ (whose interval excludes zero); differ_holm (whose p-value corrected for all heads
        of the kind is below .05); share (differ over heads); shown (whether that is half or more: correlations with fewer are
        mostly with noise); over.
    """
    rows = {}
    for (model, seed), frame in frames.items():
        for kind, part in frame.groupby(level="kind", sort=False):
            differ = int(((part.low > 0) | (part.high < 0)).sum())
            sure = int(corrected(part).sum())
            row = {"heads": len(part), "differ": differ, "differ_holm": sure, "share": differ / len(part)}
            rows[model, seed, kind] = row | {"shown": 2 * differ >= len(part), "over": intervals.SENTENCES}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "seed", "kind"]))


def corrected(single: pd.DataFrame) -> pd.Series:
    """Whether each head of `leave_one_out` changes the loss, its p-value corrected (Holm) for all heads of its kind."""
    p = pd.Series(intervals.p_value(single.loss, single.low, single.high), single.index)
    return p.groupby(level="kind").transform(lambda own: intervals.holm(own.to_numpy())) < 0.05


def shown(differ: pd.DataFrame, kind: str, models: Sequence[str] | None = None) -> bool:
    """Whether half of the heads of a kind, of some models or all, differ from zero (`effects_that_differ`)."""
    part = differ[differ.index.isin([kind], level="kind")]
    part = part[part.index.isin(models, level="model")] if models is not None else part
    return bool(2 * part.differ.sum() >= part.heads.sum())


def from_one(table: pd.DataFrame) -> pd.DataFrame:
    """A table as people read it: layers and heads counted from 1, in its index or its columns."""
    names, flat = table.index.names, table.reset_index()
    flat = flat.assign(**{name: flat[name] + 1 for name in ("layer", "head") if name in flat})
    return flat.set_index(names) if names != [None] else flat.drop(columns="index")


def count_roles(roles: Mapping[str, pd.Series]) -> pd.DataFrame:
    """How many encoder heads of each model have each function; a head with several counts in each."""
    counts = {}
    for title, column in roles.items():
        column = column.xs("encoder", level="kind")
        names = [name for cell in column for name in sorted({function for function, _ in cell})]
        counts[title] = pd.Series(names, dtype=object).value_counts()
        counts[title]["none"] = sum(not cell for cell in column)
        counts[title]["heads"] = len(column)
    order = ["positional", *RELATIONS, "rare", "none", "heads"]
    return pd.DataFrame(counts).reindex(order).fillna(0).astype(int)


# --- analyses: what notebooks 01 and 02 read -------------------------------------------------------------------------


def _explained(subject, rule: str, first: int, untrained: bool = False) -> BySentence:
    model, more = (subject.untrained(), ", random weights") if untrained else (subject.model, "")
    return explain(model, subject.batches(2048, first), rule, label=f"{rule} {subject.title}{more}").by_sentence()


def _conserved(subject, rule: str, first: int) -> Any:
    return conservation(subject.model, subject.batches(2048, first), rule)


def _functions(subject, repeats: int) -> dict[str, Any]:
    table, functions = confidence_and_functions(subject, repeats)
    return {"confidence": table, "functions": functions}


def _kinds_off(subject, first: int) -> pd.DataFrame:
    return kinds_off(subject.model, subject.batches(4096, first))


def _diffuse(subject) -> pd.Series:
    return confidence(subject.untrained(), subject.batches())


def _without(subject, first: int) -> pd.DataFrame:
    return leave_one_out(subject.model, subject.batches(4096, first), label=f"without {subject.title}")


def _without_bleu(subject, first: int, repeats: int) -> pd.DataFrame:
    held = subject.sentences[:first]
    sources, references = [pair.source for pair in held], [pair.target for pair in held]

    def translate(model) -> list[str]:
        return training.translate(model, sources, subject.source, subject.target, 1)

    return leave_one_out_bleu(subject.model, translate, references, index(subject.model), repeats)


def _gradient(subject, first: int) -> pd.Series:
    return importance(subject.model, subject.batches(4096, first), norm=None)


EXPLAINED = Analysis("relevance", 1, _explained)  # of `first` dev sentences by a rule: `BySentence`
CONSERVED = Analysis("conservation", 1, _conserved)
FUNCTIONS = Analysis("confidence and functions", 1, _functions)  # `confidence_and_functions` by name
KINDS_OFF = Analysis("kinds off", 1, _kinds_off)  # `kinds_off` on `first` dev examples
DIFFUSE = Analysis("confidence of random weights", 1, _diffuse)
WITHOUT = Analysis("leave one out", 1, _without)
WITHOUT_BLEU = Analysis("leave one out, BLEU", 1, _without_bleu)
GRADIENT = Analysis("gradient importance", 1, _gradient)


def relevance_recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that notebook 01 reads, the first of them with random weights beside."""
    few, repeats, truth = settings["relevance"], settings["bootstrap"], settings["truth"]
    for place, run in enumerate(runs):
        for rule in RULES:
            yield EXPLAINED.recipe(run, rule=rule, first=few)
            yield CONSERVED.recipe(run, rule=rule, first=min(few, 20))
            if not place:
                yield EXPLAINED.recipe(run, rule=rule, first=min(few, 50), untrained=True)
        yield FUNCTIONS.recipe(run, repeats=repeats)
        yield WITHOUT.recipe(run, first=few)
        yield GRADIENT.recipe(run, first=few)
        if not place:
            yield ONE_SENTENCE.recipe(run)
            yield DIFFUSE.recipe(run)
            yield from [WITHOUT_BLEU.recipe(run, first=truth, repeats=repeats)] if truth else []
