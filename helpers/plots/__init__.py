"""Figures of tidy tables: general ones, and special ones of each paper."""

# ruff: noqa: F401
from helpers.plots.basic import bars, correlations, curve, head_map, heat_map
from helpers.plots.contest import contest
from helpers.plots.functions import gains, looking, offsets
from helpers.plots.gates import gates
from helpers.plots.groups import by_groups, cosines
from helpers.plots.heads import by_relevance
from helpers.plots.rows import dots
from helpers.plots.sentence import through_a_sentence
