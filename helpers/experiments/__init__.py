"""Experiments: functions from settings to tidy tables, by way of recipes."""
