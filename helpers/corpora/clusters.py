"""Clusters of mentions: checked, made flat, cut, shuffled.

A mention is a half-open span of words, a cluster two mentions or more (`helpers.records.Dialogue`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from helpers.records import Cluster, Span
from helpers.study import StudyError


def checked(clusters: Iterable[Iterable[Span]], length: int, where: str) -> tuple[Cluster, ...]:
    """Clusters in text order, those of one mention left out; mentions may lie in others.

    The dialogue has `length` words, and errors call it `where`, "row 12 of samsum test". Refused are a cluster without a
    mention, a mention without a word or with one outside of the text, and a mention that stands twice.
    """
    done = sorted(tuple(sorted((int(start), int(stop)) for start, stop in cluster)) for cluster in clusters)
    if () in done:
        raise StudyError(f"A cluster in {where} has no mention: leave it out.")
    mentions = sorted(mention for cluster in done for mention in cluster)
    for start, stop in mentions:
        if start < 0 or stop > length:
            raise StudyError(f"The mention {(start, stop)} in {where} is outside of its {length} words: correct the clusters.")
        if start >= stop:
            raise StudyError(f"The mention {(start, stop)} in {where} has no word: correct the clusters.")
    for one, other in pairwise(mentions):
        if one == other:
            raise StudyError(f"The mention {one} stands in {where} more than once: give it to one cluster.")
    return tuple(cluster for cluster in done if len(cluster) > 1)


def distinct(clusters: Iterable[Iterable[Span]]) -> list[list[Span]]:
    """Clusters in which every mention stands once: in the first that has it."""
    taken: set[Span] = set()
    kept = []
    for cluster in clusters:
        fresh = [mention for mention in dict.fromkeys(cluster) if mention not in taken]
        taken.update(fresh)
        kept.append(fresh)
    return [cluster for cluster in kept if cluster]


def flat(clusters: Iterable[Iterable[Span]]) -> list[list[Span]]:
    """Clusters without mentions that share a word with a shorter one, or with one as long that comes before."""
    clusters = [list(dict.fromkeys(cluster)) for cluster in clusters]
    ranked = sorted((stop - start, start, place) for place, cluster in enumerate(clusters) for start, stop in cluster)
    taken: set[int] = set()
    kept: list[list[Span]] = [[] for _ in clusters]
    for size, start, place in ranked:
        if taken.isdisjoint(range(start, start + size)):
            taken.update(range(start, start + size))
            kept[place].append((start, start + size))
    return [cluster for cluster in kept if cluster]


def shuffled(all_clusters: Sequence[Sequence[Cluster]], seed: int) -> list[tuple[Cluster, ...]]:
    """A control: every dialogue keeps its mentions and the sizes of its clusters, but mentions are dealt out at random."""
    done = []
    for place, clusters in enumerate(all_clusters):
        mentions = [mention for cluster in clusters for mention in cluster]
        random.Random(f"shuffle {seed} {place}").shuffle(mentions)
        ends = list(accumulate((len(cluster) for cluster in clusters), initial=0))
        dealt = (tuple(sorted(mentions[start:stop])) for start, stop in pairwise(ends))
        done.append(tuple(sorted(dealt)))
    return done
