"""What measures of heads agree with: each other, the loss without a head, what heads do, themselves on other sentences.

All correlations are Spearman's. Measures that are normalised within a layer are compared by ranks within layers, pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata, t

from helpers.heads import KINDS
from helpers.study import StudyError

LAYER = ["kind", "layer"]
INTERVAL = [0.025, 0.975]  # 95 %


def relative(column: pd.Series) -> pd.Series:
    """A measure in units of its layer's average head: a share of the layer times the heads in the layer."""
    return column / column.groupby(level=LAYER).transform("mean")


def correlation(truth: pd.Series, measure: pd.Series, kinds=None, within_layer=False, repeats=2000) -> dict[str, float]:
    """Spearman correlation over heads: rho, low and high (95 % percentile bootstrap over heads), heads (how many).

    Both are Series on (kind, layer, head); heads that are missing, or nan, in one of them are left out. With `within_layer`
    ranks within layers are compared and heads are drawn within layers; layers of one head are left out. rho is nan where a
    column does not vary, and resamples where it does not are skipped. Without heads in common it is a StudyError.
    """
    both = _of_kinds(pd.DataFrame({"truth": truth, "measure": measure}).dropna(), kinds)
    strata, values = _strata(both.index, LAYER if within_layer else []), both.to_numpy(dtype=float).T

    drawn = values[:, _resampled(strata, repeats, np.random.default_rng(0))]
    low, high = pd.Series(_spearman(drawn[0], drawn[1], strata)).quantile(INTERVAL)
    heads = sum(len(places) for places in strata if len(places) > 1)
    return {"rho": float(_spearman(values[0], values[1], strata)), "low": low, "high": high, "heads": heads}


def over_passages(truth: pd.DataFrame, measure: pd.DataFrame) -> dict[str, float]:
    """`correlation` within layers of two columns that are means over passages, with its interval over passages.

    The interval is the jackknife's. Of passages drawn with replacement fewer are different, and both columns are noisier:
    a bootstrap would put most correlations too low. Both have a row for each passage, a column
    for each head.
    """
    count, strata = len(truth), _strata(truth.columns)
    weights = np.concatenate([np.ones((1, count)), 1 - np.eye(count)])
    weights /= weights.sum(1, keepdims=True)
    rho, *without = _spearman(weights @ truth.to_numpy(), weights @ measure.to_numpy(), strata)
    far = t.ppf(0.975, count - 1) * np.sqrt((count - 1) * np.var(without))
    heads = sum(len(places) for places in strata if len(places) > 1)
    return {"rho": rho, "low": max(-1.0, rho - far), "high": min(1.0, rho + far), "heads": heads, "passages": count}


def follows_function(
    relevance: Mapping[str, pd.Series], functions: Mapping[str, pd.Series], draws=10000, scale=relative, kind="encoder"
) -> dict:
    """Are heads of a kind with a function more relevant than the others of their layer (Voita et al. 2019, section 5)?

    Of each model, by its title, relevance on (kind, layer, head) and `helpers.measures.functions.roles`. The result has
    difference: mean of heads with a function minus mean of heads without, pooled over the models' layers that have both;
    low, high: its 95 % interval, heads drawn anew within layers; p: one-sided, of what shuffling functions within layers
    gives, (1 + shuffles as large) / (1 + shuffles). Without layers that have both all are nan.
    """
    tables = {
        title: pd.DataFrame({"value": scale(_of_kinds(column, kind)), "has": functions[title].map(len) > 0}).dropna()
        for title, column in relevance.items()
    }
    heads, levels = pd.concat(tables, names=["model"]).astype(float), ["model", *LAYER]
    mixed = heads.groupby(level=levels).has.transform("mean").between(0, 1, inclusive="neither")
    value, has = heads.value[mixed].to_numpy(), heads.has[mixed].to_numpy() > 0
    strata, rng = _strata(heads.index[mixed], levels), np.random.default_rng(0)
    if not strata:
        return dict.fromkeys(("difference", "low", "high", "p"), np.nan)
    drawn, shuffled = _resampled(strata, draws, rng), np.tile(has, (draws, 1))
    for places in strata:
        shuffled[:, places] = rng.permuted(shuffled[:, places], axis=1)
    observed, null = float(_difference(value, has)), _difference(value, shuffled)
    p = (1 + int((null >= observed - 1e-9).sum())) / (1 + draws)  # a shuffle may round the same sum otherwise
    low, high = pd.Series(_difference(value[drawn], has[drawn])).quantile(INTERVAL)
    return {"difference": observed, "low": low, "high": high, "p": p}


def _of_kinds(table, kinds: str | Sequence[str] | None):
    kinds = [kinds] if isinstance(kinds, str) else kinds or KINDS
    chosen = table[table.index.isin(kinds, level="kind")]
    if chosen.empty:
        raise StudyError(f"There are no {' or '.join(kinds)} heads to compare: measure them first.")
    return chosen


def _strata(heads: pd.MultiIndex, levels: Sequence[str] = LAYER) -> list[np.ndarray]:
    """Places of the heads of each layer; of all heads where there are no levels."""
    places = pd.Series(np.arange(len(heads)), heads)
    return [part.to_numpy() for _, part in places.groupby(level=levels)] if levels else [places.to_numpy()]


def _resampled(strata: Sequence[np.ndarray], repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Places drawn with replacement within each stratum, which keeps its columns: int [repeats, heads]."""
    return np.concatenate([rng.choice(p, (repeats, len(p))) for p in strata], 1)[:, np.concatenate(strata).argsort()]


def _spearman(one: np.ndarray, other: np.ndarray, strata: Sequence[np.ndarray]) -> np.ndarray:
    """Correlation over the last axis of ranks within strata of two heads or more; nan where one side does not vary."""
    centred = []
    for values in (one, other):
        parts = [(rankdata(values[..., p], axis=-1) - 1) / (len(p) - 1) for p in strata if len(p) > 1]
        ranks = rankdata(np.concatenate(parts, -1), axis=-1) if parts else np.full((*values.shape[:-1], 1), np.nan)
        centred.append(ranks - ranks.mean(-1, keepdims=True))
    a, b = centred
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def _difference(value: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Mean over heads (the last axis) with a function minus mean over those without; nan where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (value * has).sum(-1) / has.sum(-1) - (value * ~has).sum(-1) / (~has).sum(-1)
