"""Slow re-implementations, each written from its definition."""
