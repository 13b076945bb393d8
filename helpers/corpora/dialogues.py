"""Dialogues with a summary, and who or what in them is the same: the text of paper 3 (Liu & Chen 2023)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import models, study
from helpers.corpora import resolvers, sources, texts, tokens, turns
from helpers.corpora.files import file, new_file, read_dialogues, text_of, write
from helpers.corpora.sources import SUMMARIZATION, Source
from helpers.records import Cluster, Dialogue, Pair
from helpers.study import StudyError
from helpers.world import conversations

LAYOUT = "dialogue"
KINDS = (".json", ".txt", ".model")  # files of a pretrained tokenizer
LEAST = 8  # subwords that a dialogue may be cut to
SOURCES = {"dialogues": Source(SUMMARIZATION)}  # a folder of dialogues with summaries is a set by its name too


# --- specs and prepared corpora --------------------------------------------------------------------------------------


def spec(settings: Mapping[str, int], name: str, seed: int, tokenizer: str = "") -> dict[str, Any]:
    """Everything that a prepared corpus of dialogues depends on, see `helpers.corpora.sources.spec`.

    `longest` counts subwords kept of a dialogue: of a pretrained tokenizer, by Hub name or folder, or of a learnt vocabulary.
    """
    if 0 < settings.get("longest", 0) < LEAST:
        raise StudyError(f"Dialogues of at most {settings['longest']} subwords say nothing: raise 'longest' to {LEAST}.")
    chosen = sources.spec(SOURCES, settings, name, seed)
    if chosen["task"] != SUMMARIZATION:
        raise StudyError(f"The text {name!r} is for {chosen['task']}: choose a folder of dialogues with summaries.")
    chosen |= {"layout": LAYOUT, "tokenizer": tokenizer}
    if tokenizer and Path(tokenizer).is_dir():
        chosen["tokenizer_files"] = [study.digest(file) for file in sorted(Path(tokenizer).glob("*")) if file.suffix in KINDS]
    return chosen


def _prepare(spec: Mapping[str, Any], place: study.Place) -> None:
    """Leave pairs of a dialogue, cut to `longest` subwords at a word's end, and its summary; and the whole dialogues.

    A vocabulary, where one is learnt, is of dialogues and summaries of train together.
    """
    folder, source = place.results, sources.find(SOURCES, spec["name"])
    sources.unchanged(source, spec)
    if source.corpus == "controlled":
        streams = dict.fromkeys(sources.SPLITS, conversations.conversations(spec["seed"]))
    else:
        streams = {split: _read(source, split) for split in sources.SPLITS}
    splits = sources.divide(spec, streams, lambda row: row.source, lambda row: not (row.turns and row.target), in_order=False)
    if spec["tokenizer"]:
        subwords = tokens.Subwords(models.load_tokenizer(spec["tokenizer"]))
    else:
        train = (text for row in splits["train"] for text in (row.source, row.target))
        tokens.learn_vocabulary(train, spec["vocabulary"]).save(str(folder / "vocabulary.json"))
        subwords = texts.subwords(folder)
    for name, rows in splits.items():
        write(new_file(place, name, "dialogues"), rows)
        sizes = kept_words(rows, subwords, spec["longest"])
        pairs = []
        for row, size in zip(rows, sizes, strict=True):
            whole = size == len(row.words)
            words = row.words[:size]
            pairs.append(Pair(row.source if whole else " ".join(words), row.target, words, origin=row.origin))
        write(new_file(place, name), pairs)


DIALOGUES = study.Kind("dialogues", 1, _prepare, text=True)


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


def _read(source: Source, split: str) -> Iterator[Dialogue]:
    for pair in sources.examples(source, split):
        yield turns.from_text(pair.source, " ".join(pair.target.split()), pair.origin)


# --- who is who ------------------------------------------------------------------------------------------------------


def resolved(folder: Path, split: str, by: str) -> list[tuple[Cluster, ...]]:
    """Coreference clusters of a prepared corpus's whole dialogues by a resolver, from the store where they are there already.

    "{split}" in the name of a resolver's file stands for train, dev or test.
    """
    rows = read_dialogues(file(folder, split, "dialogues"))
    if by == "gold":
        return resolvers.resolver(by)(rows)
    made = clusters(study.at(folder).spec, split, by)
    path = made.results / "clusters.json"
    rows = study.read_json(path if split != "train" or path.exists() else made.weights / path.name)
    return [tuple(tuple(tuple(span) for span in cluster) for cluster in row) for row in rows]


def clusters(corpus: Mapping[str, Any], split: str, by: str) -> study.Recipe:
    """The recipe of a resolver's clusters of a split, of a corpus by its spec."""
    by = by.replace("{split}", split)
    described = {"corpus": dict(corpus), "split": split, "by": by}
    kind, _, path = by.partition(":")
    if kind in ("file", "stored"):
        described["file"] = hashlib.sha256(text_of(path).encode()).hexdigest()[:16]
    return CLUSTERS.of(described, f"clusters of {split} by {by}")


def _resolve(spec: Mapping[str, Any], place: study.Place) -> None:
    rows = read_dialogues(file(DIALOGUES.of(spec["corpus"]).results, spec["split"], "dialogues"))
    folder = place.weights if spec["split"] == "train" else place.results  # as large as the text
    study.write_json(folder / "clusters.json", resolvers.resolver(spec["by"])(rows))


CLUSTERS = study.Kind(
    "clusters", 1, _resolve, lambda spec: [study.Need(DIALOGUES.of(spec["corpus"]), spec["split"] == "train")], text=True
)
