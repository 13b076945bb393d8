"""Clusters of dialogues from a file of any resolver or person: JSON, CoNLL columns, or CoNLL-U with entities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from helpers.corpora.clusters import checked, distinct
from helpers.corpora.files import text_of
from helpers.corpora.turns import WORD
from helpers.records import Cluster, Dialogue, Span
from helpers.study import StudyError

MATCH = 0.8  # share of a document's words that its dialogue must have
LEAST = 0.5  # share of a dialogue's words, speakers' names left out, that its document must have
Document = tuple[Sequence[str], list[list[Span]]]  # words of a text; clusters of spans (first word, word after the last)
_BRACKET = re.compile(r"\([^()|]+\)?|[^()|]+\)")


def marked(dialogues: Sequence[Dialogue], source: str) -> list[tuple[Cluster, ...]]:
    """Clusters from a file of documents in the order of the dialogues; those of dialogues that the study left out are skipped.

    The words of a document and of its dialogue are aligned by their longest common runs, so they may be split otherwise, and
    speakers' names may be missing. A mention becomes the words that have a partner; one without is dropped. The file ends in

    - ``.jsonl``: a document a line, ``{"text": ..., "clusters": [[[start, stop], ...], ...]}`` with places of characters
      or ``{"words": [...], "clusters": ...}`` with places of words; the second number is the place after the last;
    - ``.conll``: CoNLL-2012, the word in the fourth column, brackets in the last one;
    - ``.conllu``: CoNLL-U with ``Entity=`` in the last column, documents beginning with ``# newdoc``.
    """
    readers = {".jsonl": _json, ".conll": _conll, ".conllu": _conllu}
    read = next((read for ending, read in readers.items() if source.endswith(ending)), None)
    if read is None:
        raise StudyError(f"Clusters are read from files that end in {', '.join(readers)}, not from {source}.")
    documents = enumerate(read(text_of(source).removeprefix("\ufeff").splitlines(), source), 1)
    done = []
    for place, dialogue in enumerate(dialogues, 1):
        spoken = sum(stop - speech for _, speech, stop in dialogue.turns)
        for at, (words, clusters) in documents:
            same = aligned(words, dialogue.words)
            if len(same) >= max(MATCH * len(words), LEAST * spoken):
                number, given = at, clusters
                break
        else:
            raise StudyError(
                f"No document of {source} fits dialogue {place} of {dialogue.origin or 'the dialogues'}: "
                "give the clusters of the same dialogues, in their order."
            )
        spans = [[span for one in cluster if (span := _moved(one, same))] for cluster in given]
        done.append(checked(distinct(spans), len(dialogue.words), f"document {number} of {source}"))
    return done


def aligned(words: Sequence[str], others: Sequence[str]) -> dict[int, int]:
    """The partners of words among others, by the longest common runs."""
    blocks = SequenceMatcher(None, list(words), list(others), autojunk=False).get_matching_blocks()
    return {one + step: other + step for one, other, size in blocks for step in range(size)}


def _moved(span: Span, same: dict[int, int]) -> Span | None:
    there = [same[word] for word in range(*span) if word in same]
    return (there[0], there[-1] + 1) if there else None


def _json(lines: Iterable[str], source: str) -> Iterator[Document]:
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            found = [] if "words" in row else list(WORD.finditer(row["text"]))
            clusters = [[(int(start), int(stop)) for start, stop in cluster] for cluster in row["clusters"]]
        except (ValueError, TypeError, KeyError) as error:
            raise StudyError(f"Line {number} of {source} has no text, words or clusters of spans ({error}).") from None
        if "words" in row:
            yield row["words"], clusters
            continue
        spans = [[[place for place, word in enumerate(found) if word.start() < stop and word.end() > start]
                  for start, stop in cluster] for cluster in clusters]  # fmt: skip
        yield [word[0] for word in found], [[(one[0], one[-1] + 1) for one in cluster if one] for cluster in spans]


def _conll(lines: Iterable[str], source: str) -> Iterator[Document]:
    words: list[str] = []
    marks: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#end"):
            yield words, _clusters(marks, source, number)
            words, marks = [], []
        elif line.strip() and not line.startswith("#"):
            cells = line.split()
            if len(cells) < 5:
                raise StudyError(f"Line {number} of {source} has {len(cells)} columns: CoNLL-2012 has the word in the fourth.")
            words.append(cells[3])
            marks.append(cells[-1])
    if words:
        raise StudyError(f"The last document of {source} has no line `#end document`: the file is cut off.")


def _conllu(lines: Iterable[str], source: str) -> Iterator[Document]:
    words: list[str] = []
    marks: list[str] = []
    for number, line in enumerate([*lines, "# newdoc"], 1):
        if line.startswith("# newdoc") and words:
            yield words, _clusters(marks, source, number)
            words, marks = [], []
        elif line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != 10:
                raise StudyError(f"Line {number} of {source} has {len(cells)} columns, not the 10 of CoNLL-U.")
            if cells[0].isdigit():
                entity = re.search(r"(?:^|\|)Entity=([^|]*)", cells[9])
                words.append(cells[1])
                marks.append(entity[1] if entity else "")


def _clusters(marks: Iterable[str], source: str, number: int) -> list[list[Span]]:
    """Clusters by the brackets at each word, "(1", "1)", "(1-person-..." or "(1)"; mentions in several parts are left out."""
    opened: dict[str, list[int]] = {}
    clusters: dict[str, list[Span]] = {}
    for word, brackets in enumerate(marks):
        for bracket in _BRACKET.findall(brackets):
            key = bracket.strip("()").partition("-")[0]
            if "[" in key:
                continue
            if bracket[0] == "(":
                opened.setdefault(key, []).append(word)
            if bracket[-1] == ")":
                if not opened.get(key):
                    raise StudyError(
                        f"The mention {key} ends without a beginning in the document before line {number} of {source}."
                    )
                clusters.setdefault(key, []).append((opened[key].pop(), word + 1))
    if left := [key for key, starts in opened.items() if starts]:
        raise StudyError(f"The mention {left[0]} does not end before line {number} of {source}, where its document does.")
    return list(clusters.values())
