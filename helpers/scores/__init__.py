"""Scores of text and of clusters, and what intervals they have."""
