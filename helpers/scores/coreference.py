"""Coreference scores: MUC, B-cubed, CEAF-e and their mean, the CoNLL score (Pradhan et al. 2012).

Written out here because no kept library on PyPI has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from helpers.records import Cluster, Span
from helpers.study import StudyError

METRICS = ("MUC", "B-cubed", "CEAF-e")


def f1_scores(system: Sequence[Sequence[Cluster]], gold: Sequence[Sequence[Cluster]]) -> dict[str, float]:
    """Score the clusters of documents against gold ones, mentions being the same if their first and last words are.

    F1 in percent by "MUC" (Vilain et al. 1995: links), "B-cubed" (Bagga & Baldwin 1998: mentions) and "CEAF-e" (Luo 2005,
    similarity phi 4: entities). Clusters of one mention count on neither side. Numerators and denominators are summed over
    documents before they are divided; what has nothing below its bar is 0.
    """
    sums = np.zeros((len(METRICS), 4))  # precision's numerator and denominator, then recall's
    for document in zip(system, gold, strict=True):
        clusters, reference = ([cluster for cluster in side if len(cluster) > 1] for side in document)
        sums += _counts(clusters, reference)
    if not sums[0, 3]:
        raise StudyError("There is no gold cluster to score against: give dialogues that carry their clusters.")
    precision, recall = (_ratio(sums[:, place], sums[:, place + 1]) for place in (0, 2))
    return dict(zip(METRICS, (100 * _ratio(2 * precision * recall, precision + recall)).tolist(), strict=True))


def conll_f1(system: Sequence[Sequence[Cluster]], gold: Sequence[Sequence[Cluster]]) -> float:
    """The CoNLL score, in percent: the mean of `f1_scores`."""
    return float(np.mean([*f1_scores(system, gold).values()]))


def _counts(system: list[Cluster], reference: list[Cluster]) -> np.ndarray:
    """Of each metric the numerator and denominator of precision, and of recall: array [3, 4]."""
    place: dict[Span, int] = {mention: column for column, cluster in enumerate(reference) for mention in cluster}
    common = np.zeros((len(system), len(reference)))  # mentions that two clusters share
    for row, cluster in enumerate(system):
        for mention in cluster:
            if mention in place:
                common[row, place[mention]] += 1
    sizes, gold = (np.array([len(cluster) for cluster in side], dtype=float) for side in (system, reference))
    phi = 2 * common / (sizes[:, None] + gold)
    aligned = phi[linear_sum_assignment(phi, maximize=True)].sum()
    return np.array([
        [_links(common, sizes), (sizes - 1).sum(), _links(common.T, gold), (gold - 1).sum()],
        [(common**2 / sizes[:, None]).sum(), sizes.sum(), (common**2 / gold).sum(), gold.sum()],
        [aligned, len(sizes), aligned, len(gold)],
    ])  # fmt: skip


def _links(common: np.ndarray, sizes: np.ndarray) -> float:
    """Mentions of each cluster (rows) less the parts that the other side breaks it into, summed."""
    parts = (common > 0).sum(1) + sizes - common.sum(1)  # a mention that the other side lacks is a part by itself
    return (sizes - parts).sum()


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
