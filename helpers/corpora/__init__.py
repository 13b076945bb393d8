"""Text in: controlled (generated, gold structure) and natural (local folder) corpora of every task.

A corpus is prepared once into a folder of plain files (examples as JSON lines, subword vocabularies) that a machine
with torch alone can train from.
"""

# ruff: noqa: F401
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers import study
from helpers.corpora import dialogues, pairs, texts
from helpers.corpora.files import file, new_file, read_dialogues, read_pairs, read_texts, write
from helpers.corpora.pairs import LANGUAGES, REGISTERS, parsed, parses, spec
from helpers.records import Dialogue, Pair, Text


def recipe(corpus: Mapping[str, Any]) -> study.Recipe:
    """The recipe of a corpus: of sentence pairs, of another task's texts (`texts`), or of dialogues."""
    kind = dialogues.DIALOGUES if "layout" in corpus else texts.TEXTS if "task" in corpus else pairs.PAIRS
    parts = [str(corpus[part]) for part in ("name", "language", "register", "seed") if part in corpus]
    return kind.of(corpus, " ".join(["text", *parts]))


def prepare(corpus: Mapping[str, Any]) -> Path:
    """Make the corpus folder of a spec, or find it made: dev.jsonl, one file a test set, vocabularies; `file` finds train.

    Translations are lower-cased, as in the paper's recipe (appendix B.1), and so are the texts of `helpers.corpora.texts`.
    """
    return recipe(corpus).results
