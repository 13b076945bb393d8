"""Figures and tables that show how things work, or set texts and papers side by side."""

WORDS = ["the", "old", "man", "sleeps", "."]


def texts(axis):
    return [text.get_text() for text in axis.texts if text.get_text()]
