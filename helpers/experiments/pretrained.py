"""Pretrained models: which heads matter, what they do, which can go; each function gives one tidy table for settings.

Everything is measured in recipes, once: SmolLM2 on WikiText, both models on the gold trees of EWT and GUM. What heads are
chosen by is measured on the valid part of WikiText, what is left without them scored on its test part.
"""

from __future__ import annotations

from itertools import chain

from helpers import study
from helpers.experiments.pretrained_dialogues import dialogue_recipes, link_gains, linked, nobody_gains, resting_recipes
from helpers.experiments.pretrained_functions import (
    by_head,
    counted,
    function_recipes,
    last_verbs,
    positional,
    rare,
    syntactic,
    verb_recipes,
)
from helpers.experiments.pretrained_measured import Settings, correlations, head_table, left_out_recipes, measure_recipes
from helpers.experiments.pretrained_removed import (
    compared,
    drawn_at_once,
    gates,
    groups,
    idle,
    removal_recipes,
    removed_at_once,
    trained_on,
    trained_recipes,
)

TABLES = {
    table.__name__: table
    for table in (
        head_table, correlations, positional, syntactic, last_verbs, rare, by_head, counted,
        removed_at_once, drawn_at_once, compared, gates, groups, idle, trained_on, linked, link_gains, nobody_gains,
    )
}  # fmt: skip


def recipes(settings: Settings) -> list[study.Recipe]:
    """All recipes, in the order of the parts."""
    removals = chain.from_iterable(removal_recipes(settings).values())
    return [
        *left_out_recipes(settings),
        *measure_recipes(settings),
        *function_recipes(settings),
        *verb_recipes(settings),
        *removals,
        *trained_recipes(settings),
        *dialogue_recipes(settings),
        *resting_recipes(settings),
    ]
