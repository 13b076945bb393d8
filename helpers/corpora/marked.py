"""Clusters of dialogues from a file of any resolver or person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from helpers.corpora.clusters import checked, distinct
from helpers.corpora.files import text_of
from helpers.corpora.turns import WORD
from helpers.records import Cluster, Dialogue, Span
from helpers.study import StudyError

MATCH = 0.8  # share of a document's words that its dialogue must have
LEAST = 0.5  # share of a dialogue's words, speakers' names left out, that its document must have


class Document(NamedTuple):
    """Words of a text, and clusters of spans (first word, word after the last) in it."""

    words: Sequence[str]
    clusters: list[list[Span]]


def marked(dialogues: Sequence[Dialogue], source: str) -> list[tuple[Cluster, ...]]:
    """Clusters from a file of documents in the order of the dialogues; those of dialogues that the study left out are skipped.

    The words of a document and of its dialogue are aligned by their longest common runs, so they may be split otherwise, and
    speakers' names may be missing. A mention becomes the words that have a partner; one without is dropped.

    Parameters
    ----------
    dialogues : sequence of Dialogue
    source : str
        A file with a document a line, ``{"text": ..., "clusters": [[[start, stop], ...], ...]}`` with places of characters or
        ``{"words": [...], "clusters": ...}`` with places of words; the second number is the place after the last.

    Raises
    ------
    StudyError
        If the file cannot be read, a line is broken, or a dialogue has no document.
    """
    documents = enumerate(_documents(source), 1)
    done = []
    for place, dialogue in enumerate(dialogues, 1):
        spoken = sum(stop - speech for _, speech, stop in dialogue.turns)
        for at, document in documents:
            same = aligned(document.words, dialogue.words)
            if len(same) >= max(MATCH * len(document.words), LEAST * spoken):
                number = at
                break
        else:
            raise StudyError(
                f"No document of {source} fits dialogue {place} of {dialogue.origin or 'the dialogues'}: "
                "give the clusters of the same dialogues, in their order."
            )
        spans = [[span for one in cluster if (span := _moved(one, same))] for cluster in document.clusters]
        done.append(checked(distinct(spans), len(dialogue.words), f"document {number} of {source}"))
    return done


def aligned(words: Sequence[str], others: Sequence[str]) -> dict[int, int]:
    """The partners of words among others, by the longest common runs."""
    blocks = SequenceMatcher(None, list(words), list(others), autojunk=False).get_matching_blocks()
    return {one + step: other + step for one, other, size in blocks for step in range(size)}


def _moved(span: Span, same: dict[int, int]) -> Span | None:
    there = [same[word] for word in range(*span) if word in same]
    return (there[0], there[-1] + 1) if there else None


def _documents(source: str) -> Iterator[Document]:
    lines = enumerate(text_of(source).removeprefix("\ufeff").rstrip().split("\n"), 1)  # other ends of lines may be text
    for number, line in lines:
        try:
            row = json.loads(line)
            found = [] if "words" in row else list(WORD.finditer(row["text"]))
            clusters = [[(int(start), int(stop)) for start, stop in cluster] for cluster in row["clusters"]]
        except (ValueError, TypeError, KeyError) as error:
            raise StudyError(f"Line {number} of {source} has no text, words or clusters of spans ({error}).") from None
        if "words" in row:
            yield Document(row["words"], clusters)
            continue
        spans = [[[place for place, word in enumerate(found) if word.start() < stop and word.end() > start]
                  for start, stop in cluster] for cluster in clusters]  # fmt: skip
        yield Document([word[0] for word in found], [[(one[0], one[-1] + 1) for one in cluster if one] for cluster in spans])
