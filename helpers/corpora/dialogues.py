"""Dialogues with a summary, and who or what in them is the same: the text of paper 3 (Liu & Chen 2023)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import models, study
from helpers.corpora import resolvers, sources, texts, tokens, turns
from helpers.corpora.files import file, new_file, read_dialogues, text_of, write
from helpers.corpora.sources import Source
from helpers.records import Cluster, Dialogue, Pair
from helpers.study import StudyError
from helpers.world import conversations

LAYOUT = "dialogue"
KINDS = (".json", ".txt", ".model")  # files of a pretrained tokenizer
LEAST = 8  # subwords that a dialogue may be cut to
REPORT = ("rows", "empty", "overlap", "duplicate", "over_limit", "kept", "cut", "mentions_lost")
SOURCES = {
    "dialogues": Source(texts.SUMMARIZATION, "controlled", "generated dialogues of the small world with their summaries"),
    "samsum": texts.SOURCES["samsum"],
    "dialogsum": texts.SOURCES["dialogsum"],
    "crd3": texts.SOURCES["crd3"],
    "samsum-hub": Source(
        texts.SUMMARIZATION, "natural", "SAMSum: chats with summaries (Gliwa et al. 2019), from the Hub",
        columns=("dialogue", "summary"), hub="knkarthick/samsum", config="default",
    ),
    "dialogsum-hub": Source(
        texts.SUMMARIZATION, "natural", "DialogSum: spoken dialogues with summaries (Chen et al. 2021), from the Hub",
        columns=("dialogue", "summary"), hub="knkarthick/dialogsum", config="default",
    ),
}  # fmt: skip


# --- specs and prepared corpora --------------------------------------------------------------------------------------


def spec(settings: Mapping[str, int], name: str, seed: int, tokenizer: str = "") -> dict[str, Any]:
    """Everything that a prepared corpus of dialogues depends on.

    Parameters
    ----------
    settings : mapping
        "train", "dev" and "test" (dialogues; 0 for all there are, of a natural set), "vocabulary" (subwords at most) and
        "longest" (most subwords kept of a dialogue, 0 for all).
    name : str
        One of `SOURCES`.
    tokenizer : str
        A pretrained tokenizer, by Hub name or folder, whose subwords are counted; "" to learn a vocabulary.

    Raises
    ------
    StudyError
        If there is no such source, a size is missing or makes no sense, or a local file is missing.
    """
    if name not in SOURCES:
        raise StudyError(f"There are no dialogues {name!r}: choose one of {', '.join(SOURCES)}.")
    source = SOURCES[name]
    if missing := [size for size in texts.SIZES if size not in settings]:
        raise StudyError(f"The sizes of a set of dialogues are {', '.join(texts.SIZES)}: {missing[0]!r} is missing.")
    for size in texts.SIZES:
        least = 1 if size == "vocabulary" or (source.corpus == "controlled" and size in ("train", "dev", "test")) else 0
        if type(settings[size]) is not int or settings[size] < least:
            raise StudyError(f"The size {size!r} of {name} is {settings[size]!r}: give a whole number of {least} or more.")
    if 0 < settings["longest"] < LEAST:
        raise StudyError(f"Dialogues of at most {settings['longest']} subwords say nothing: raise 'longest' to {LEAST}.")
    chosen = {"task": texts.SUMMARIZATION, "layout": LAYOUT, "name": name, "corpus": source.corpus}
    chosen |= {size: settings[size] for size in texts.SIZES} | {"seed": seed, "tokenizer": tokenizer}
    if source.files:
        chosen["files"] = sources.digest(source)
    if tokenizer and Path(tokenizer).is_dir():
        chosen["tokenizer_files"] = [study.digest(file) for file in sorted(Path(tokenizer).glob("*")) if file.suffix in KINDS]
    return chosen


def prepare(spec: Mapping[str, Any]) -> Path:
    """Make the corpus folder of a spec, or find it made.

    Returns
    -------
    pathlib.Path
        A folder with dev.jsonl and test.jsonl (train.jsonl lies apart, as `helpers.corpora.file` says): pairs of dialogue, cut
        to `longest` subwords at a word's end, and summary, with the words; the whole dialogues in dialogues/; vocabulary.json
        where one is learnt, on dialogues and summaries of train together; and report.csv, one row a split: `rows` read, which
        are the sum of those `empty`, those whose dialogue stands in a test set, or of train's in dev (`overlap`), those with
        the dialogue of a row before (`duplicate`), those `over_limit` and those `kept`; `cut` of these are cut, and
        `mentions_lost` gold mentions with them.

    Raises
    ------
    StudyError
        As `helpers.corpora.texts.prepare`; or if the pretrained tokenizer cannot be loaded.
    """
    return DIALOGUES.of(spec, f"text {spec['name']}").results


def _prepare(spec: Mapping[str, Any], place: study.Place) -> None:
    folder, (splits, report) = place.results, _load(spec)
    for name, rows in splits.items():
        if not rows:
            raise StudyError(f"Nothing is left of {spec['name']} in {name}: lower the other splits or take other dialogues.")
    if not spec["tokenizer"]:
        train = (text for row in splits["train"] for text in (row.source, row.target))
        tokens.learn_vocabulary(train, spec["vocabulary"]).save(str(folder / "vocabulary.json"))
    subwords = vocabulary(spec, folder)
    for (name, rows), counts in zip(splits.items(), report, strict=True):
        write(new_file(place, name, "dialogues"), rows)
        sizes = kept_words(rows, subwords, spec["longest"])
        pairs = []
        for row, size in zip(rows, sizes, strict=True):
            whole = size == len(row.words)
            words = row.words[:size]
            pairs.append(Pair(row.source if whole else " ".join(words), row.target, words, origin=row.origin))
            counts["cut"] += not whole
            counts["mentions_lost"] += sum(stop > size for cluster in row.clusters for _, stop in cluster)
        write(new_file(place, name), pairs)
    pd.DataFrame(report)[["split", *REPORT]].to_csv(folder / "report.csv", index=False)


DIALOGUES = study.Kind("dialogues", 1, _prepare, text=True)


def vocabulary(spec: Mapping[str, Any], folder: Path) -> tokens.Subwords:
    """The subwords of a prepared corpus, the same for dialogues and summaries."""
    name = spec["tokenizer"]
    return tokens.Subwords(models.load_tokenizer(name)) if name else texts.subwords(folder)


def kept_words(rows: Sequence[Dialogue], subwords: tokens.Subwords, longest: int) -> list[int]:
    """How many words of each dialogue are within its first `longest` subwords, special ones counted; 0 for no limit."""
    sizes = []
    for row, ids in zip(rows, subwords.encode_all([row.source for row in rows]), strict=True):
        if not longest or len(ids) <= longest:
            sizes.append(len(row.words))
            continue
        owner = subwords.word_ids(row.source, row.words)
        over = next(word for word in owner[longest - 1 :] if word >= 0)  # one place is the end of sentence's
        sizes.append(over)
    return sizes


def _load(spec: Mapping[str, Any]) -> tuple[dict[str, list[Dialogue]], list[dict[str, Any]]]:
    """Splits by name, and the rows of the report."""
    source, controlled = SOURCES[spec["name"]], spec["corpus"] == "controlled"
    if source.files and spec["files"] != sources.digest(source):
        raise StudyError(f"The local files of {spec['name']} are not those that the spec was written for: write the spec anew.")
    held: set[bytes] = set()  # what stands in an earlier split
    splits, report, endless = {}, [], None
    if controlled:
        endless = conversations.conversations(spec["seed"])
    for split in ("test", "dev", "train"):
        counts, kept, own, limit = Counter(), [], set(), spec[split]
        rows = endless or _read(source, split)
        for row in study.progress(rows, f"{spec['name']}, {split}", total=limit if controlled else None):
            counts["rows"] += 1
            key = sources.key(row.source)
            if not row.turns or not row.target:
                counts["empty"] += 1
            elif key in held:
                counts["overlap"] += 1
            elif key in own and (controlled or split != "test"):
                counts["duplicate"] += 1
            else:
                own.add(key)
                kept.append(row)
            if controlled and len(kept) == limit:
                break
        chosen = kept
        if not controlled and (split == "train" or 0 < limit < len(kept)):  # by a hash, so that fewer are a part of more
            chosen = sorted(kept, key=lambda row: sources.rank(spec["seed"], row.source))[: limit or None]
        held |= own
        splits[split] = chosen
        counts |= {"over_limit": len(kept) - len(chosen), "kept": len(chosen)}
        report.append({"split": split} | {column: counts[column] for column in REPORT})
    return splits, report


def _read(source: Source, split: str) -> Iterator[Dialogue]:
    pairs = texts.from_hub(source, split) if source.hub else sources.examples(source, split)
    for pair in pairs:
        yield turns.from_text(pair.source, " ".join(pair.target.split()), pair.origin)


# --- who is who ------------------------------------------------------------------------------------------------------


def resolved(folder: Path, split: str, by: str) -> list[tuple[Cluster, ...]]:
    """Coreference clusters of a prepared corpus's whole dialogues by a resolver, from the store where they are there already.

    Parameters
    ----------
    by : str
        As `helpers.corpora.resolvers.resolver`.

    Raises
    ------
    StudyError
        As the resolver.
    """
    rows = read_dialogues(file(folder, split, "dialogues"))
    if by == "gold":
        return resolvers.resolver(by)(rows)
    made = clusters(study.at(folder).spec, split, by)
    path = made.results / "clusters.json"
    found = study.read_json(path if split != "train" or path.exists() else made.weights / path.name)
    return [tuple(tuple(tuple(span) for span in cluster) for cluster in row) for row in found]


def clusters(corpus: Mapping[str, Any], split: str, by: str) -> study.Recipe:
    """The recipe of a resolver's clusters of a split, of a corpus by its spec."""
    described = {"corpus": dict(corpus), "split": split, "by": by}
    if by.startswith("stored:"):
        described["file"] = hashlib.sha256(text_of(by.removeprefix("stored:")).encode()).hexdigest()[:16]
    return CLUSTERS.of(described, f"clusters of {split} by {by}")


def _resolve(spec: Mapping[str, Any], place: study.Place) -> None:
    rows = read_dialogues(file(prepare(spec["corpus"]), spec["split"], "dialogues"))
    folder = place.weights if spec["split"] == "train" else place.results  # as large as the text
    study.write_json(folder / "clusters.json", resolvers.resolver(spec["by"])(rows))


def _version(spec: Mapping[str, Any]) -> int:
    return 2 if spec["by"].partition(":")[0] in ("stanza", "fastcoref") else 1  # these keep mentions in mentions since 2


CLUSTERS = study.Kind(
    "clusters", _version, _resolve, lambda spec: [study.Need(DIALOGUES.of(spec["corpus"]), spec["split"] == "train")], text=True
)
