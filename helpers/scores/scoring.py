"""BLEU, ROUGE, perplexity, bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from sacrebleu.metrics import BLEU

from helpers.study import StudyError

METRIC = BLEU(force=True)  # text is tokenized, and its warning is about nothing
ROUGE = ("rouge1", "rouge2", "rougeL")


def bleu(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 1000) -> dict[str, float | str]:
    """Corpus BLEU by sacreBLEU ("bleu", "signature") with its 95 % bootstrap interval over sentences ("low", "high").

    The interval is nan with fewer than two sentences or no resamples.
    """
    _check_sizes("BLEU needs as many references as hypotheses", len(hypotheses), len(references))
    metric = BLEU(force=True)
    score = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=resamples if len(hypotheses) > 1 else 1)
    centre, half = (score._mean, score._ci) if resamples > 1 and len(hypotheses) > 1 else (float("nan"),) * 2
    return {"bleu": score.score, "low": centre - half, "high": centre + half, "signature": str(metric.get_signature())}


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What corpus BLEU sums over sentences, so that sums over any of them can be scored by `bleu_of`: int [sentences, 10].

    Length of hypothesis and reference in tokens; matched n-grams and all n-grams of the hypothesis, n = 1 to 4.
    """
    _check_sizes("BLEU needs as many references as hypotheses", len(hypotheses), len(references))
    return np.array([_bleu_statistics(*pair) for pair in zip(hypotheses, references, strict=True)])


@lru_cache(maxsize=1 << 17)  # pruned models write many sentences alike, and tables ask for the same translations again
def _bleu_statistics(hypothesis: str, reference: str) -> tuple[int, ...]:
    score = METRIC.corpus_score([hypothesis], [[reference]])
    return score.sys_len, score.ref_len, *score.counts, *score.totals


def bleu_of(statistics: np.ndarray) -> np.ndarray:
    """BLEU of summed `bleu_statistics` [..., 10], as `bleu` scores them: array [...]."""
    rows = np.rint(statistics).astype(int).reshape(-1, 10).tolist()
    scores = [BLEU.compute_bleu(row[2:6], row[6:], row[0], row[1], smooth_method="exp").score for row in rows]
    return np.array(scores).reshape(statistics.shape[:-1])


def bleu_interval(statistics: np.ndarray, other: np.ndarray | None = None, repeats: int = 1000) -> tuple[float, float, float]:
    """BLEU of `bleu_statistics` [sentences, 10], or how much it is above that of other translations of the same sentences.

    With the 95 % percentile bootstrap over sentences (paired where there are two sides); nan without resamples or with fewer
    than two sentences.
    """
    draws = bleu_draws(statistics, repeats)
    return of_draws(draws if other is None else draws - bleu_draws(other, repeats))


def bleu_draws(statistics: np.ndarray, repeats: int = 1000) -> np.ndarray:
    """BLEU of `bleu_statistics` [sentences, 10], then that of each resample of the sentences: array [1 + repeats].

    Of as many sentences the resamples are the same: what is computed draw by draw from several systems is paired.
    """
    weights = resamples(len(statistics), repeats if len(statistics) > 1 else 0)
    return bleu_of(np.concatenate([statistics.sum(0, keepdims=True), weights @ statistics]))


def of_draws(draws: np.ndarray) -> tuple[float, float, float]:
    """The first of an array [1 + repeats] with the 95 % percentile interval of the others; nan without them."""
    drawn = draws[1:][np.isfinite(draws[1:])]
    low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (np.nan, np.nan)
    return float(draws[0]), float(low), float(high)


def rouge_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """F1 of ROUGE-1, ROUGE-2 and ROUGE-L of each summary against its reference, in percent.

    By the library rouge-score: words are runs of a-z and 0-9 in lower case, without their English endings; other letters are
    lost. ROUGE-L is that of whole texts, not line by line ("rougeLsum"). Float array [examples, 3].
    """
    _check_sizes("ROUGE needs as many references as hypotheses", len(hypotheses), len(references))
    return np.array([_rouge_statistics(*pair) for pair in zip(hypotheses, references, strict=True)])


@lru_cache(maxsize=1 << 17)  # as of BLEU
def _rouge_statistics(hypothesis: str, reference: str) -> list[float]:
    from rouge_score.rouge_scorer import RougeScorer

    score = RougeScorer(list(ROUGE), use_stemmer=True).score(reference, hypothesis)
    return [100 * score[name].fmeasure for name in ROUGE]


def mean_interval(
    statistics: np.ndarray, other: np.ndarray | None = None, repeats: int = 1000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over examples, or how much it is above the mean of other values for the same examples.

    Of arrays [examples, k], `rouge_statistics` for instance, to value, low and high [k], the 95 % percentile bootstrap over
    examples (paired where there are two sides); the ends are nan without resamples or with fewer than two examples.
    """
    sides = [np.asarray(side, np.float64) for side in (statistics, other) if side is not None]
    _check_sizes("A mean needs as many values on both sides", *(side.shape for side in sides))
    values = sides[0] if other is None else sides[0] - sides[1]
    weights = resamples(len(values), repeats if len(values) > 1 else 0)
    drawn = weights @ values / len(values)
    ends = np.quantile(drawn, [0.025, 0.975], axis=0) if len(drawn) else np.full((2, *drawn.shape[1:]), np.nan)
    return values.mean(0), *ends


def perplexity_interval(
    loss: np.ndarray, tokens: np.ndarray, other_loss: np.ndarray | None = None, repeats: int = 1000
) -> tuple[float, float, float]:
    """Perplexity, or how much it is above the perplexity at other losses for the same tokens.

    Losses [documents] are cross-entropies summed over the tokens of a document (or of a block of text), in nats, `tokens` how
    many these are. The value is exp of summed loss over summed tokens, with the 95 % percentile bootstrap over documents
    (paired where there are two losses); nan without resamples or with fewer than two documents.
    """
    losses = [np.asarray(side, np.float64) for side in (loss, other_loss) if side is not None]
    tokens = np.asarray(tokens, np.float64)
    _check_sizes("Perplexity needs as many losses as token counts", *(side.shape for side in losses), tokens.shape)
    weights = resamples(len(tokens), repeats if len(tokens) > 1 else 0)
    draws = [np.exp(np.append(side.sum() / tokens.sum(), weights @ side / (weights @ tokens))) for side in losses]
    return of_draws(draws[0] if other_loss is None else draws[0] - draws[1])


def _check_sizes(needed: str, *sizes: int | tuple[int, ...]) -> None:
    if len(set(sizes)) > 1 or not np.prod(sizes[0]):
        raise StudyError(f"{needed}, at least one, not {' and '.join(map(str, sizes))}.")


@lru_cache(maxsize=4)  # to draw them takes longer than to use them
def resamples(size: int, repeats: int) -> np.ndarray:
    """Bootstrap weights: how often each of `size` sentences is drawn, float32 [repeats, size]; not to be written to."""
    weights = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), size=repeats).astype(np.float32)
    weights.setflags(write=False)
    return weights


def ratio(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Ratio of sums over sentences (the first axis), nan where the total is zero."""
    return _divide(hits.sum(0, dtype=np.float64), totals.sum(0, dtype=np.float64))


def _divide(hits: np.ndarray, totals: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals == 0, np.nan, hits / totals)


def ratio_interval(hits: np.ndarray, totals: np.ndarray, repeats: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratio of sums over sentences [...] with its 95 % percentile bootstrap interval, nan where the total is zero.

    Of arrays [sentences, ...] that broadcast against each other.
    """
    hits, totals = np.broadcast_arrays(hits, totals)
    size, shape = hits.shape[0], hits.shape[1:]
    weights = resamples(size, repeats)
    drawn = _divide(*(weights @ part.reshape(size, -1).astype(np.float32) for part in (hits, totals)))
    valid = ~np.isnan(drawn).all(0)
    low, high = np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
    if valid.any():
        low[valid], high[valid] = np.nanquantile(drawn[:, valid], [0.025, 0.975], axis=0)
    return ratio(hits, totals), low.reshape(shape), high.reshape(shape)
