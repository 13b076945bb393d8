"""Experiments: each is a function of settings that names its recipes and gives tidy tables."""
