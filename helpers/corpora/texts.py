"""Text for two tasks beside translation, summarization and language modelling, each on a controlled and a natural track.

What differs from the papers must be said beside every number from these corpora:

- White space is one space everywhere and all is lower-cased; a summarized document keeps its first `longest` words, where the
  papers cut to 512 tokens. Turns of a dialogue are told apart by the speakers' names alone.
- A natural test set is kept whole, but for empty rows; what stands in it is taken out of dev and train.
- Documents of language modelling are passages of about `PASSAGE` words: consecutive paragraphs of one debate or article.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from helpers import study
from helpers.corpora import sources, tokens
from helpers.corpora.files import new_file, numbered_lines, write
from helpers.corpora.sources import MODELLING, SUMMARIZATION, Source
from helpers.records import Pair, Text
from helpers.study import StudyError
from helpers.world import tales

PASSAGE = 400  # words of a passage, at least, but for the last
SOURCES = {  # a folder below the data root is a text by its name too
    "reports": Source(SUMMARIZATION),
    "stories": Source(MODELLING),
    "europarl": Source(MODELLING, {split: f"europarl_en-fr/{split}.en-fr.tsv.xz" for split in ("train", "dev", "test")}),
}


# --- specs and prepared corpora --------------------------------------------------------------------------------------


def spec(settings: Mapping[str, int], name: str, seed: int) -> dict[str, Any]:
    """Everything that a prepared corpus depends on, see `helpers.corpora.sources.spec`; `longest` counts words."""
    return sources.spec(SOURCES, settings, name, seed)


def _prepare(spec: Mapping[str, Any], place: study.Place) -> None:
    """Leave pairs of document and summary, or texts, all lower-cased; one vocabulary of all sides of train."""
    source = sources.find(SOURCES, spec["name"])
    sources.unchanged(source, spec)
    if source.corpus == "controlled":
        endless = {"reports": tales.reports, "stories": tales.stories}[spec["name"]](spec["seed"])
        streams: Mapping[str, Iterable] = dict.fromkeys(sources.SPLITS, endless)
    else:
        read = sources.examples if source.task == SUMMARIZATION else _sessions
        streams = {split: read(source, split) for split in sources.SPLITS}
    summarized = spec["task"] == SUMMARIZATION
    streams = {split: (_cut(row, spec["longest"]) for row in stream) for split, stream in streams.items()}
    sides = ("source", "target") if summarized else ("text",)
    splits = sources.divide(
        spec, streams, lambda row: getattr(row, sides[0]), lambda row: not all(getattr(row, side) for side in sides), True
    )
    for name, rows in splits.items():
        write(new_file(place, name), rows)
    texts = (getattr(row, side) for row in splits["train"] for side in sides)
    tokens.learn_vocabulary(texts, spec["vocabulary"]).save(str(place.results / "vocabulary.json"))


TEXTS = study.Kind("texts", 1, _prepare, text=True)


def subwords(folder: Path) -> tokens.Subwords:
    """The one vocabulary of a prepared corpus, for documents and summaries alike."""
    return tokens.Subwords.load(folder / "vocabulary.json")


def blocks(ids: Sequence[Sequence[int]], eos: int, length: int) -> list[list[int]]:
    """Join documents, one end-of-sentence id between each two, and cut them in blocks of exactly `length` tokens.

    Documents may end with that id. What is left at the end is dropped; a block may start within a document.
    """
    if length < 1:
        raise StudyError(f"Blocks of {length} tokens cannot be cut: give a length of 1 or more.")
    stream: list[int] = []
    for row in ids:
        row = row[:-1] if row and row[-1] == eos else row
        if row:
            stream += [eos, *row] if stream else row
    if len(stream) < length:
        raise StudyError(f"The texts hold {len(stream)} tokens, too few for a block of {length}: take more text.")
    return [stream[at : at + length] for at in range(0, len(stream) - length + 1, length)]


# --- rows of a source ---------------------------------------------------------------------------------------------------


def _cut(row: Pair | Text, longest: int) -> Pair | Text:
    """A row lower-cased with one space between words; a document that is summarized is cut."""
    if isinstance(row, Text):
        return Text(" ".join(row.text.lower().split()), row.origin)
    kept = row.source.lower().split()[: longest or None]
    return Pair(" ".join(kept), " ".join(row.target.lower().split()), origin=row.origin)


def _sessions(source: Source, split: str) -> Iterator[Text]:
    """Passages of at least `PASSAGE` words of running text, of each session, or document, the last shorter.

    A row is a session and a sentence; what else it has is not read.
    """
    path = sources.local(source)[split]
    rows = ((number, line.split("\t")) for number, line in numbered_lines(path))
    for session, lines in groupby(rows, key=lambda row: row[1][0]):
        words: list[str] = []
        for number, cells in lines:
            if len(cells) < 2:
                raise StudyError(f"Line {number} of {path} has one column: the text stands in the second.")
            words += cells[1].split()
            if len(words) >= PASSAGE:
                yield Text(" ".join(words), session)
                words = []
        if words:
            yield Text(" ".join(words), session)


def articles(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Title and paragraphs of each article of WikiText; a line "= Title =" starts one, "@-@", "@,@" and "@.@" are undone."""
    title, paragraphs = "", []
    for line in lines:
        line = re.sub(r" @([-,.])@ ", r"\1", line.strip())
        heading = re.fullmatch(r"= ([^=].*[^=]|[^=]) =", line)
        if heading:
            if paragraphs:
                yield title, paragraphs
            title, paragraphs = heading[1], []
        if line:
            paragraphs.append(line)
    if paragraphs:
        yield title, paragraphs
