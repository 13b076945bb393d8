"""The data of the head explorer: head table, functions and attention of one model, small enough to lie beside a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import helpers.methods.contest.runs  # noqa: F401  whose measures it registers
from helpers import corpora, study
from helpers.corpora.describe import arcs_of
from helpers.corpora.tokens import collate
from helpers.experiments import pruning
from helpers.heads import Site, record
from helpers.heads.families import ADDRESS
from helpers.measures import functions
from helpers.measures.functions import between_words
from helpers.measures.table import MEASURES
from helpers.models import inputs
from helpers.runs import subjects, training
from helpers.study import StudyError, layout

WORDS = (7, 12)  # of an example sentence: enough to see something, few enough to read
SENTENCES = 12
_LABELS = {label: relation for (relation, _), label in functions.LABELS.items()}


# --- what a run knows of its models ------------------------------------------------------------------------------------


def head_tables(run: Path) -> dict[str, pd.DataFrame]:
    """Head tables of a run on (kind, layer, head), by model and, where it is not the first, seed: "ru-news", "ru-news seed 2".

    Those are the tables head_table_MODEL; of several of one training that of the shortest name is read. `attrs["facts"]` is
    the table's sidecar with the run's settings.
    """
    tables = {}
    for path in sorted(layout.tables(run, "head_table_*"), key=lambda path: len(path.stem)):
        facts = study.read_json(layout.table_sidecar(path))
        facts = study.read_json(run / facts["run"]) | facts
        seed = facts.get("of_seed", 1)
        name = facts["model"] + (f" seed {seed}" if seed > 1 else "")
        if name not in tables:
            tables[name] = pd.read_csv(path).set_index(list(ADDRESS))
            tables[name].attrs["facts"] = facts
    return tables


def in_store(name: str, facts: Mapping[str, Any]) -> subjects.Subject | None:
    """A model of a run by its name and a table's sidecar, if the store has it; nothing is trained."""
    settings, given = facts.get("settings"), facts.get("parameters", {})
    if not settings or "pretrained" in given:
        return None
    try:
        study.use(settings)
        subjects.names(settings, name)
        spec = subjects.spec(settings, name, facts.get("of_seed", given["seed"]))
    except (StudyError, KeyError):  # a table of another kind of model, or of settings that are no more
        return None
    there = corpora.recipe(spec["corpus"]).made() and training.trained(spec).made(weights=True)
    return subjects.of_spec(spec, name, given.get("parser", "spacy")) if there else None


# --- export ------------------------------------------------------------------------------------------------------------


def export(subject: subjects.Subject | str, table: pd.DataFrame, sentences: int = SENTENCES) -> dict[str, Any]:
    """All that the explorer shows of one model, JSON-able, by its table on (kind, layer, head).

    Of a model's name in place of a subject there are no attention maps. Numeric columns of the table are measures.
    "functions", optional, has labels separated by semicolons.

    name; title; heads: addresses [kind, layer, head]; measures: name, label, about, values (a number a head, None
    where there is none); functions: for each head [function, label] pairs, or None; sentences: source, target and arcs [row,
    column, label]; attention: for each head a matrix a sentence in per cent, rows look (decoder, cross: the word that is
    predicted), columns are looked at (decoder: the start, then the words written), the last column being the sentence's end
    (not in decoder self-attention).
    """
    heads = [(kind, int(layer), int(head)) for kind, layer, head in table.index]
    exported = {
        "name": subject if isinstance(subject, str) else subject.name,
        "title": subjects.title(subject) if isinstance(subject, str) else subject.title,
        "heads": heads, "measures": _measures(table), "functions": None, "sentences": [], "attention": None, "notes": [],
    }  # fmt: skip
    if "functions" in table:
        exported["functions"] = [_roles(cell) for cell in table["functions"]]
    if isinstance(subject, str):
        exported["notes"].append("The model is not in the store of this machine, so that there are no attention maps.")
    else:
        exported["sentences"], exported["attention"] = _attention(subject, heads, sentences)
    return exported


def _measures(table: pd.DataFrame) -> list[dict[str, Any]]:
    measures = []
    for name, column in table.select_dtypes("number").items():
        if column.notna().any():
            known = MEASURES.get(pruning.called(name))
            label, about = (known.title, f"{known.about}; larger: {known.larger}") if known else (name, "")
            measures.append({"name": name, "label": label, "about": about, "values": _rounded(column)})
    return measures


def _rounded(values: Iterable[float]) -> list[float | None]:
    """Four digits that count; None for nan and infinity."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]


def _roles(cell: Any) -> list[list[str]]:
    """The functions of a head as [function, label] pairs; a file has nan where there are none."""
    labels = cell.split("; ") if isinstance(cell, str) and cell else []
    return [["positional" if re.fullmatch(r"[+-]\d+", label) else _LABELS.get(label, label), label] for label in labels]


# --- attention ---------------------------------------------------------------------------------------------------------


def _attention(subject: subjects.Subject, heads: Sequence[tuple], count: int) -> tuple[list[dict], list[list | None]]:
    """Example sentences, and for each head of the table a matrix a sentence."""
    chosen = examples(subject.sentences, count)
    texts, maps = [], []
    for number in chosen:
        pair = subject.sentences[number]
        target = pair.target.split()
        arcs = [arc for dependent, head, relation in arcs_of([pair])[0] for arc in _both(dependent, head, relation)]
        texts.append({"source": list(pair.words), "target": target, "arcs": arcs})
        maps.append(_maps(subject, number, target))
    missing = [head for head in heads if head not in maps[0]] if maps else []
    if missing:
        raise StudyError(f"The head table has a head {missing[0]} that the model lacks: it is another model's table.")
    return texts, [[one[head] for one in maps] for head in heads]


def examples(pairs: Sequence[corpora.Pair], count: int) -> list[int]:
    """Numbers of the first `count` sentences of readable length, or of any if none is."""
    return ([i for i, pair in enumerate(pairs) if WORDS[0] <= len(pair.words) <= WORDS[1]] or list(range(len(pairs))))[:count]


def _both(dependent: int, head: int, relation: str) -> list[list]:
    """An arc as [row, column, label] for heads that follow it to the dependent, and for those that follow it back."""
    there, back = (functions.LABELS.get((relation, way)) for way in functions.DIRECTIONS)
    return [[head, dependent, there], [dependent, head, back]] if there else []


def _maps(subject: subjects.Subject, number: int, target: Sequence[str]) -> dict[tuple, list[list[int]]]:
    """Word-level attention of every head on one sentence, the reference fed in, in per cent."""
    device = next(subject.model.parameters()).device
    batch = {name: value.to(device) for name, value in collate(subject.encoded, [number], subject.source.pad).items()}
    source = _owners(batch["word_ids"][0].tolist())
    written = _owners(subject.target.word_ids(subject.sentences[number].target, target))
    fed = [0, *(word + 1 for word in written[:-1])]  # a position of the decoder is fed the token before: first the start
    sides = {"encoder": (source, source), "decoder": (written, fed), "cross": (written, source)}
    maps = {}

    def keep(site: Site, weights: torch.Tensor) -> None:
        rows, columns = (torch.tensor(words, device=weights.device) for words in sides[site.kind])
        for head, map_ in enumerate(between_words(weights[0], rows, columns, 1 + int(rows.max()), 1 + int(columns.max()))):
            maps[site.kind, site.layer, head] = (100 * map_[:-1]).round().int().tolist()  # no row for the sentence's end

    with torch.no_grad(), record(subject.model, keep):
        subject.model(**inputs(batch), use_cache=False)
    return maps


def _owners(words: Sequence[int]) -> list[int]:
    """The word of each token, where tokens of no word (the sentence's end) are a word of their own after the others."""
    return [word if word >= 0 else max(words) + 1 for word in words]


def write(folder: Path, exported: Mapping[str, Any]) -> Path:
    """Write a model's data as a script that a page can load without a server, as window.HEADS[NAME]: FOLDER/NAME.js."""
    text = json.dumps(exported, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    path = folder / f"{re.sub(r'[^A-Za-z0-9._-]', '-', exported['name'])}.js"
    study.write_text(path, f"(window.HEADS ??= {{}})[{json.dumps(exported['name'])}] = {text};\n")
    return path
