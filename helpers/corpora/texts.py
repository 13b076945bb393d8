"""Text for two tasks beside translation, summarization and language modelling, each on a controlled and a natural track.

What differs from the papers must be said beside every number from these corpora:

- White space is one space everywhere and all is lower-cased; a summarized document keeps its first `longest` words, where the
  papers cut to 512 tokens. Turns of a dialogue are told apart by the speakers' names alone.
- A natural test set is kept whole, but for empty rows; what stands in it is taken out of dev and train. Of the three summaries
  that DialogSum's test has of a dialogue, the first is the reference. Of CRD3 dialogues of more than 200 words are left out
  everywhere: summaries are of whole dialogues, and most of these would be cut.
- Documents of language modelling are passages of about `PASSAGE` words: consecutive paragraphs of one book or article. Novels
  are split by book. WikiText's "<unk>" and its spaces around punctuation are left, its "@-@", "@,@" and "@.@" undone.
"""

from __future__ import annotations

import lzma
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import study
from helpers.corpora import sources, tokens
from helpers.corpora.files import new_file, numbered_lines, write
from helpers.corpora.sources import Source
from helpers.records import Pair, Text
from helpers.study import StudyError
from helpers.world import tales

SUMMARIZATION, MODELLING = "summarization", "language modelling"
SIZES = ("train", "dev", "test", "vocabulary", "longest")
PASSAGE = 400  # words of a passage, at least, but for a book's last
HELD = 0.05  # share of the books in dev, and as many in test
REPORT = ("rows", "empty", "overlap", "duplicate", "over_limit", "kept", "cut")
INSTEAD = "choose a controlled text or one of a local folder instead"


def _dialogues(folder: str, dev: str) -> dict[str, str]:
    return {split: f"{folder}/{name}.jsonl.xz" for split, name in (("train", "train"), ("dev", dev), ("test", "test"))}


SOURCES = {
    "reports": Source(SUMMARIZATION, "controlled", "generated reports of the small world with their summaries"),
    "dialogsum": Source(
        SUMMARIZATION, "natural", "DialogSum: spoken dialogues with summaries (Chen et al. 2021), a local folder",
        _dialogues("dialogsum", "dev"), ("dialogue", "summary", "summary1"),
    ),
    "samsum": Source(
        SUMMARIZATION, "natural", "SAMSum: chats with summaries (Gliwa et al. 2019), a local folder",
        _dialogues("samsum", "val"), ("dialogue", "summary"),
    ),
    "crd3": Source(
        SUMMARIZATION, "natural", "CRD3: a live role-playing show with summaries (Rameshkumar & Bailey 2020), a local folder",
        _dialogues("crd3", "val"), ("dialogue", "summary"), apart="_2_0#",  # two sentences a piece, from the first
        most=200,  # more are more than 512 subwords in some dialogues
    ),
    "cnn_dailymail": Source(
        SUMMARIZATION, "natural", "CNN/Daily Mail: news with highlights (See et al. 2017), from the Hub",
        columns=("article", "highlights"), hub="abisee/cnn_dailymail", config="3.0.0",
        revision="96df5e686bee6baa90b8bee7c28b81fa3fa6223d",
    ),
    "stories": Source(MODELLING, "controlled", "generated stories of the small world"),
    "novels": Source(
        MODELLING, "natural", "novels of LitBank (Bamman et al. 2019) and, as a further test, WikiText-103, a local folder",
        {"novels": "litbank/litbank_original_novels.tar.xz", "valid": "wikitext/wiki.valid.txt.xz",
         "test": "wikitext/wiki.test.txt.xz"},
    ),
    "europarl": Source(
        MODELLING, "natural", "English debates of the European Parliament in order (Koehn 2005), a local folder",
        {split: f"europarl_en-fr/{split}.en-fr.tsv.xz" for split in ("train", "dev", "test")},
    ),
    "wikitext": Source(
        MODELLING, "natural", "WikiText-103: articles of Wikipedia (Merity et al. 2017), from the Hub",
        columns=("text",), hub="Salesforce/wikitext", config="wikitext-103-raw-v1",
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    ),
}  # fmt: skip


# --- specs and prepared corpora --------------------------------------------------------------------------------------


def spec(settings: Mapping[str, int], name: str, seed: int) -> dict[str, Any]:
    """Everything that a prepared corpus of summarization or language modelling depends on.

    Parameters
    ----------
    settings : mapping
        "train", "dev" and "test" (examples; 0 for all there are, of a natural corpus), "vocabulary" (subwords at most) and
        "longest" (most words kept of a document that is summarized, 0 for all).
    name : str
        One of `SOURCES`.
    seed : int

    Raises
    ------
    StudyError
        If there is no such source, a size is missing or makes no sense, or a local file is missing.
    """
    if name not in SOURCES:
        raise StudyError(f"There is no text {name!r}: choose one of {', '.join(SOURCES)}.")
    source = SOURCES[name]
    if set(settings) != set(SIZES):
        raise StudyError(f"The sizes of a text are {', '.join(SIZES)}, not {', '.join(settings) or 'none'}: give just these.")
    for size, value in settings.items():
        least = 1 if size == "vocabulary" or (source.corpus == "controlled" and size in ("train", "dev", "test")) else 0
        if type(value) is not int or value < least:
            raise StudyError(f"The size {size!r} of {name} is {value!r}: give a whole number of {least} or more.")
    chosen = {"task": source.task, "name": name, "corpus": source.corpus} | {size: settings[size] for size in SIZES}
    chosen["seed"] = seed
    if source.files:
        chosen["files"] = sources.digest(source)
    return chosen


def prepare(spec: Mapping[str, Any]) -> Path:
    """Make the corpus folder of a spec, or find it made.

    Returns
    -------
    pathlib.Path
        A folder with dev.jsonl and test.jsonl (and wikitext.jsonl beside novels; train.jsonl lies apart, as
        `helpers.corpora.file` says), all lower-cased: pairs of document and summary, or texts; vocabulary.json, learnt on
        documents and summaries of train together; and report.csv,
        one row a split: `rows` read, which are the sum of those `empty`, those whose document stands in a test set, or of
        train's in dev (`overlap`), those with the document of a row before (`duplicate`), those `over_limit`, and those
        `kept`; `cut` of these are documents cut to `longest` words. Documents count as the same by what is left of them, case,
        spacing and punctuation aside.

    Raises
    ------
    StudyError
        If a local file is missing, damaged or not the one of the spec, a line of it is broken, the Hub cannot be reached or
        does not have the set or its columns, or nothing is left of a split.
    """
    return TEXTS.of(spec, f"text {spec['name']}").results


def _prepare(spec: Mapping[str, Any], place: study.Place) -> None:
    splits, report = _load(spec)
    for name, rows in splits.items():
        if not rows:
            raise StudyError(f"Nothing is left of {spec['name']} in {name}: lower the other splits or take more text.")
        write(new_file(place, name), rows)
    sides = ("source", "target") if spec["task"] == SUMMARIZATION else ("text",)
    texts = (getattr(row, side) for row in splits["train"] for side in sides)
    tokens.learn_vocabulary(texts, spec["vocabulary"]).save(str(place.results / "vocabulary.json"))
    pd.DataFrame(report).to_csv(place.results / "report.csv", index=False)


TEXTS = study.Kind("texts", 1, _prepare, text=True)


def subwords(folder: Path) -> tokens.Subwords:
    """The one vocabulary of a prepared corpus, for documents and summaries alike."""
    return tokens.Subwords.load(folder / "vocabulary.json")


def blocks(ids: Sequence[Sequence[int]], eos: int, length: int) -> list[list[int]]:
    """Join documents, one end-of-sentence id between each two, and cut them in blocks.

    Parameters
    ----------
    ids : sequence of sequence of int
        Token ids of each document, with or without an end-of-sentence id last.
    eos : int
        The end-of-sentence id.
    length : int
        Tokens of a block.

    Returns
    -------
    list of list of int
        Blocks of exactly `length` tokens; what is left at the end is dropped. A block may start within a document.

    Raises
    ------
    StudyError
        If `length` is less than 1 or the documents do not fill one block.
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


# --- splits ----------------------------------------------------------------------------------------------------------


def _load(spec: Mapping[str, Any]) -> tuple[dict[str, list], list[dict[str, Any]]]:
    """Splits by name, lower-cased, and the rows of the report."""
    source, controlled = SOURCES[spec["name"]], spec["corpus"] == "controlled"
    if source.files and spec["files"] != sources.digest(source):
        raise StudyError(f"The local files of {spec['name']} are not those that the spec was written for: write the spec anew.")
    if controlled:
        endless = {"reports": tales.reports, "stories": tales.stories}[spec["name"]](spec["seed"])
        streams: Mapping[str, Iterable] = dict.fromkeys(("test", "dev", "train"), endless)
    elif source.hub:
        streams = {split: from_hub(source, split) for split in ("test", "dev", "train")}
    elif source.columns:
        streams = {split: sources.examples(source, split) for split in ("test", "dev", "train")}
    elif "train" in source.files:
        streams = {split: _sessions(sources.local(source)[split]) for split in ("test", "dev", "train")}
    else:
        streams = _novels(sources.local(source), spec["seed"])
    held: set[bytes] = set()  # what stands in an earlier split
    splits, report = {}, []
    for split, stream in streams.items():
        counts, kept, own = Counter(), [], set()
        limit = spec.get(split, 0)
        for row in study.progress(stream, f"{spec['name']}, {split}", total=limit if controlled else None):
            counts["rows"] += 1
            row, cut = _cut(row, spec["longest"])
            document = row.source if isinstance(row, Pair) else row.text
            key = sources.key(document)
            if not document or (isinstance(row, Pair) and not row.target):
                counts["empty"] += 1
            elif key in held:
                counts["overlap"] += 1
            elif key in own and (controlled or split in ("dev", "train")):
                counts["duplicate"] += 1
            else:
                own.add(key)
                kept.append((row, cut))
            if controlled and len(kept) == limit:
                break
        chosen = _chosen(kept, limit, spec["seed"], split == "train" and not controlled)
        held |= own
        splits[split] = [row for row, _ in chosen]
        counts |= {"over_limit": len(kept) - len(chosen), "kept": len(chosen), "cut": sum(cut for _, cut in chosen)}
        report.append({"split": split} | {column: counts[column] for column in REPORT})
    return splits, report


def _cut(row: Pair | Text, longest: int) -> tuple[Pair | Text, bool]:
    """A row lower-cased with one space between words, a document that is summarized cut, and whether it was."""
    if isinstance(row, Text):
        return Text(" ".join(row.text.lower().split()), row.origin), False
    words = row.source.lower().split()
    kept = words[: longest or None]
    return Pair(" ".join(kept), " ".join(row.target.lower().split()), origin=row.origin), len(kept) < len(words)


def _chosen(rows: list[tuple], limit: int, seed: int, shuffled: bool) -> list[tuple]:
    """At most `limit` rows by a hash, so that fewer are a part of more; in the order of the hash where shuffled."""
    if not shuffled and not 0 < limit < len(rows):
        return rows
    texts = [row.source if isinstance(row, Pair) else row.text for row, _ in rows]
    places = sorted(range(len(rows)), key=lambda place: sources.rank(seed, texts[place]))[: limit or None]
    return [rows[place] for place in (places if shuffled else sorted(places))]


# --- novels, articles and sets of the Hub -----------------------------------------------------------------------------


def _novels(files: Mapping[str, Path], seed: int) -> dict[str, Iterator[Text]]:
    """Passages of books by split, books told apart by a hash of their names; WikiText where it is there."""
    books = _books(files["novels"])
    order = sorted(books, key=lambda name: sources.rank(seed, name))
    held = max(1, round(HELD * len(order)))
    if len(order) < 2 * held + 1:
        raise StudyError(f"The file {files['novels']} holds {len(order)} books, fewer than 3: fetch it again.")
    parts = {"test": order[:held], "wikitext": [], "dev": order[held : 2 * held], "train": order[2 * held :]}
    streams = {split: chain.from_iterable(_passages(books[n], n) for n in sorted(names)) for split, names in parts.items()}
    wiki = [files[split] for split in ("valid", "test") if split in files]
    streams["wikitext"] = chain.from_iterable(_wikitext(line for _, line in numbered_lines(path)) for path in wiki)
    return streams if wiki else {split: stream for split, stream in streams.items() if split != "wikitext"}


def _books(path: Path) -> dict[str, list[str]]:
    """Paragraphs of each text in an archive, by its name."""
    books: dict[str, list[str]] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".txt"):
                    name = Path(member.name).stem
                    books[name] = re.split(r"\n\s*\n", archive.extractfile(member).read().decode("utf-8-sig").replace("\r", ""))
    except UnicodeDecodeError:
        raise StudyError(f"The book {name} in {path} is not UTF-8 text: fetch it again.") from None
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise StudyError(f"The archive {path} is damaged or cut off after {len(books)} books: fetch it again.") from None
    return books


def _sessions(path: Path) -> Iterator[Text]:
    """Passages of running text in a file of pairs: session, English, translation."""
    rows = ((number, line.split("\t")) for number, line in numbered_lines(path))
    for session, lines in groupby(rows, key=lambda row: row[1][0]):
        sentences = []
        for number, cells in lines:
            if len(cells) != 3:
                raise StudyError(f"Line {number} of {path} has {len(cells)} columns, not 3: fetch the file again.")
            sentences.append(cells[1])
        yield from _passages(sentences, session)


def _wikitext(lines: Iterable[str]) -> Iterator[Text]:
    """Passages of the articles in lines of WikiText."""
    for title, paragraphs in articles(lines):
        yield from _passages(paragraphs, title)


def articles(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Title and paragraphs of each article; a line "= Title =" starts one."""
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


def _passages(paragraphs: Iterable[str], origin: str) -> Iterator[Text]:
    """Consecutive paragraphs in passages of at least `PASSAGE` words, the last shorter."""
    words: list[str] = []
    for paragraph in paragraphs:
        words += paragraph.split()
        if len(words) >= PASSAGE:
            yield Text(" ".join(words), origin)
            words = []
    if words:
        yield Text(" ".join(words), origin)


def from_hub(source: Source, split: str) -> Iterator[Pair | Text]:
    """Examples of a Hub set's split."""
    data = sources.hub_split(source.hub, source.config, {"dev": "validation"}.get(split, split), source.revision, INSTEAD)
    if missing := [column for column in source.columns if column not in data.column_names]:
        found = ", ".join(data.column_names)
        raise StudyError(f"The Hub set {source.hub} ({source.config}) has no column {missing[0]!r}: it has {found}.")
    rows = (row for batch in data.iter(batch_size=1000) for row in zip(*(batch[c] for c in source.columns), strict=True))
    if source.task == MODELLING:
        yield from _wikitext(text or "" for (text,) in rows)
    else:
        for document, summary in rows:
            yield Pair(document or "", summary or "", origin=source.hub)
