"""Heads of any model removed at once, the least important first, beside heads removed at random."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers import heads
from helpers.corpora import tokens
from helpers.measures.removal import RANDOM, at_once, drawn, least
from helpers.measures.worth import losses_of_examples, rises_of_examples
from helpers.runs import training
from helpers.scores import scoring
from helpers.study import StudyError

LEAST, ALIKE = "loss without the head", "random, same types"  # the choice by `worth`, in notebook 00 this measure
ENCODER = "all encoder heads, nothing trained"
SCORES = ("loss", "bleu", "low", "high", "change", "change low", "change high")


def batches(subject, split: str, first: int | None = None, budget: int = 2048) -> tokens.Batches:
    """A split of a subject's text in batches of `budget` tokens; its `first` sentences only, if given."""
    pairs = subject.pairs(split)[:first]
    encoded = tokens.encode(pairs, subject.source, subject.target, subject.model.config.max_position_embeddings)
    return tokens.Batches(encoded, subject.source.pad, budget, next(subject.model.parameters()).device)


def beside_random(
    model, batches: Iterable[Mapping[str, Any]], worth: pd.Series, shares: Sequence[float] = (0.25, 0.5), draws: int = 20
) -> pd.DataFrame:
    """How much the loss rises without the least important heads, and without as many drawn at random; gates of 0, no training.

    Parameters
    ----------
    batches
        With labels; not the text that `worth` was measured on.
    worth : pandas.Series
        As of `quality`.
    shares : sequence of float
        Of all heads, to be closed.
    draws : int
        Of random heads: from all heads, and, in models with several kinds of attention, as many of each kind.

    Returns
    -------
    pandas.DataFrame
        A row each (method, draw, closed heads): rise, nats a target token; of the choice with low and high (95 % interval over
        sentences).

    Raises
    ------
    StudyError
        As `quality`; if there is nothing to predict.
    """
    _check(model, worth, shares)
    batches, rows = list(batches), []
    whole, tokens = losses_of_examples(model, batches)

    def add(method: str, draw: int, closed: list) -> None:
        with heads.gate(model, dict.fromkeys(closed, 0.0)):
            rise = losses_of_examples(model, batches)[0] - whole
        ends = map(float, scoring.ratio_interval(rise, tokens)[1:]) if method == LEAST else (np.nan, np.nan)
        rows.append((method, draw, len(closed), rise.sum() / tokens.sum(), *ends))

    for count in dict.fromkeys(round(len(worth) * share) for share in shares):
        gone = least(worth, count)
        add(LEAST, 0, gone)
        like = pd.MultiIndex.from_tuples(gone, names=worth.index.names)
        for draw in range(draws):
            add(RANDOM, draw, drawn(worth, count, draw))
            if worth.index.get_level_values("kind").nunique() > 1:
                add(ALIKE, draw, drawn(worth, count, draw, like))
    return pd.DataFrame(rows, columns=["method", "draw", "heads", "rise", "low", "high"])


def against_random(table: pd.DataFrame) -> pd.DataFrame:
    """For each number of heads and way to draw: did the table choose better than chance? Of `beside_random`.

    Returns
    -------
    pandas.DataFrame
        heads (closed), method (the way to draw), own (rise of the loss with those of least worth) with own_low and own_high,
        rise with low and high (mean, least and most of the draws), beaten (draws that are worse), draws, p (one-sided, of as
        good a draw by chance: with few draws it cannot be small).
    """
    rows = []
    for count, part in table.groupby("heads", sort=True):
        own, *ends = part.loc[part.method == LEAST, ["rise", "low", "high"]].iloc[0]
        for method, others in part[part.method != LEAST].groupby("method", sort=False).rise:
            beaten, draws = int((own < others).sum()), len(others)
            p = (1 + draws - beaten) / (1 + draws)
            rows.append((count, method, own, *ends, others.mean(), others.min(), others.max(), beaten, draws, p))
    names = ["heads", "method", "own", "own_low", "own_high", "rise", "low", "high", "beaten", "draws", "p"]
    return pd.DataFrame(rows, columns=names)


def one_by_one(
    model, batches: Iterable[Mapping[str, Any]], worth: pd.Series, points: int = 20, repeats: int = 1000
) -> pd.DataFrame:
    """What heads cost off all at once, the least important first, beside the sum of what each costs off alone; on one text.

    Parameters
    ----------
    batches, worth
        As of `beside_random`.
    points : int
        How many numbers of heads, evenly spread up to all.
    repeats : int
        Resamples of the bootstrap over sentences.

    Returns
    -------
    pandas.DataFrame
        On heads (off): alone and together, nats a target token, each with low and high (95 % interval, "alone_low" ...).

    Raises
    ------
    StudyError
        As `beside_random`.
    """
    _check(model, worth, ())
    held, order, rows = list(batches), least(worth, len(worth)), {}
    (whole, tokens), (alone, _) = losses_of_examples(model, held), rises_of_examples(model, held)
    for count in sorted({round(len(worth) * part / points) for part in range(1, points + 1)} - {0}):
        with heads.gate(model, dict.fromkeys(order[:count], 0.0)):
            rises = {"alone": alone[order[:count]].sum(axis=1), "together": losses_of_examples(model, held)[0] - whole}
        rows[count] = {
            f"{name}{end}": float(value)
            for name, rise in rises.items()
            for end, value in zip(("", "_low", "_high"), scoring.ratio_interval(np.asarray(rise), tokens, repeats), strict=True)
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("heads")


_STRANGER = """
import json, sys
sys.modules["helpers"] = None  # from here on the project cannot be imported
import torch, transformers
asked = json.loads(sys.stdin.read())
model = getattr(transformers, asked["automatic"]).from_pretrained(asked["folder"], trust_remote_code=True).eval()
ids = model.generate(**{name: torch.tensor(rows) for name, rows in asked["given"].items()}, **asked["options"])
print(json.dumps(ids.tolist()))
"""


def in_plain_transformers(folder: Path, given: Mapping[str, Any], **options: Any) -> list[list[int]]:
    """What a saved model generates in a fresh process that cannot import this project.

    Parameters
    ----------
    given : mapping of name -> int64 tensor
        As `generate` takes it: `input_ids`, `attention_mask`.
    options
        Of `generate`.

    Raises
    ------
    StudyError
        If that process fails.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    automatic = "AutoModelForSeq2SeqLM" if config.get("is_encoder_decoder") else "AutoModelForCausalLM"
    asked = {"folder": str(folder), "automatic": automatic, "options": options}
    asked["given"] = {name: rows.tolist() for name, rows in given.items()}
    done = subprocess.run(
        [sys.executable, "-c", _STRANGER], input=json.dumps(asked), cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise StudyError(f"transformers alone cannot use {folder} ({said}): load it with heads.load.")
    return json.loads(done.stdout.splitlines()[-1])


def _check(model, worth: pd.Series, shares: Sequence[float]) -> None:
    if any(not 0 < share < 1 for share in shares):
        raise StudyError(f"A share of heads to remove lies between 0 and 1: {', '.join(map(str, shares))} do not all.")
    if set(worth.index) != set(heads.index(model)):
        raise StudyError("The worth of heads is not of this model's heads: take a column of its own head table.")


def quality(
    subject, worth: pd.Series, split: str, beam: int = 1, repeats: int = 1000, shares=(0.25, 0.5, 0.75), draws: int = 3,
    first: int | None = None, also: Mapping[str, pd.Series] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """What is left of a model when a share of its heads is removed, without further training.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
    worth : pandas.Series
        On (kind, layer, head), larger stays longer: any column of the head table.
    split : str
        On which it is scored; not the one that `worth` was measured on.
    shares : sequence of float
        Of all heads, to be removed.
    draws : int
        Of random heads: from all heads, and as many of each kind of attention as the choice by `worth` takes.
    first : int, optional
        Sentences of the split, the first, on which it is scored; all by default.
    also : mapping of name -> Series, optional
        Other columns to choose by; with them also all encoder heads at once (`ENCODER`), if there are any others.

    Returns
    -------
    pandas.DataFrame
        A row each (method, draw, heads left): loss (nats a token), bleu with low and high, change (against the whole model)
        with "change low" and "change high" (paired bootstrap over sentences).

    Raises
    ------
    StudyError
        If a share is not between 0 and 1, or `worth` is not of this model's heads.
    """
    _check(subject.model, worth, shares)
    texts, references = ([getattr(pair, side) for pair in subject.pairs(split)[:first]] for side in ("source", "target"))
    unseen, total = list(batches(subject, split, first)), len(worth)

    def counted(model) -> tuple[float, np.ndarray]:
        translations = training.translate(model, texts, subject.source, subject.target, beam)
        return training.dev_loss(model, unseen), scoring.bleu_statistics(translations, references)

    _, whole = known = counted(subject.model)

    def scored(model) -> dict[str, float]:
        loss, own = known if model is subject.model else counted(model)
        ends = (*scoring.bleu_interval(own, None, repeats), *scoring.bleu_interval(own, whole, repeats))
        return dict(zip(SCORES, (loss, *ends), strict=True))

    def choices() -> Iterator[tuple[dict[str, Any], list]]:
        for method in (LEAST, *(also or {}), RANDOM, ALIKE):
            yield {"method": method, "draw": 0, "heads": total}, []
        encoder = [head for head in worth.index if head[0] == "encoder"]
        if also and 0 < len(encoder) < total:
            yield {"method": ENCODER, "draw": 0, "heads": total - len(encoder)}, encoder
        for count in dict.fromkeys(round(total * share) for share in shares):
            gone = least(worth, count)
            for method, column in {LEAST: worth, **(also or {})}.items():
                yield {"method": method, "draw": 0, "heads": total - count}, least(column, count)
            for draw in range(draws):
                yield {"method": RANDOM, "draw": draw, "heads": total - count}, drawn(worth, count, draw)
                like = pd.MultiIndex.from_tuples(gone, names=worth.index.names)
                yield {"method": ALIKE, "draw": draw, "heads": total - count}, drawn(worth, count, draw, like)

    return pd.DataFrame(at_once(subject.model, choices(), scored))
