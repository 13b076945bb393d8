"""Coreference scores against their definitions, and against figures that can be worked out by hand."""

import random

import numpy as np
import pytest

from helpers.scores.coreference import conll_f1, f1_scores
from helpers.study import StudyError
from tests.reference import coreference_scores as slow

SLOW = {"MUC": slow.muc, "B-cubed": slow.b_cubed, "CEAF-e": slow.ceaf_e}


def clusters(text):
    """ "a b, c d e" -> clusters of one-word mentions, the letters being places."""
    return tuple(tuple((ord(letter) - 97, ord(letter) - 96) for letter in part.split()) for part in text.split(",") if part)


def random_document(draw, mentions):
    labels = [draw.randrange(5) for _ in range(mentions)]
    kept = [
        [(place, place + 1) for place in range(mentions) if labels[place] == one and draw.random() < 0.8] for one in range(5)
    ]
    return tuple(tuple(cluster) for cluster in kept if cluster)


def test_scores_are_those_of_the_definitions():
    draw = random.Random(1)
    for _ in range(25):
        sizes = [draw.randrange(4, 16) for _ in range(4)]
        system, gold = ([random_document(draw, size) for size in sizes] for _ in range(2))
        gold.append((((90, 91), (92, 93)),))
        system.append(())
        wanted = {metric: slow.f1(twin, system, gold) for metric, twin in SLOW.items()}
        assert f1_scores(system, gold) == pytest.approx(wanted)
        assert conll_f1(system, gold) == pytest.approx(np.mean([*wanted.values()]))


def test_no_gold_clusters_are_refused():
    with pytest.raises(StudyError, match="no gold"):
        f1_scores([clusters("a b, c d")], [()])
