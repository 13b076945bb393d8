"""Figures of tidy tables: general ones, and special ones of each paper."""

# ruff: noqa: F401
from helpers.plots.basic import curve, dots, head_map, heat_map
from helpers.plots.heads import attention, by_measure, by_relevance, gains, gates, retained
