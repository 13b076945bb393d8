"""Heads of any model removed at once, the least important first, beside heads removed at random."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
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

CHOICE, ALIKE = "the choice", "random, same types"
SCORES = ("loss", "bleu", "low", "high", *(f"{of}{end}" for of in ("change", "behind") for end in ("", " low", " high")))


def batches(subject, split: str, first: int | None = None, budget: int = 2048) -> tokens.Batches:
    """A split of a subject's text in batches of `budget` tokens; its `first` sentences only, if given."""
    pairs = subject.pairs(split)[:first]
    encoded = tokens.encode(pairs, subject.source, subject.target, subject.model.config.max_position_embeddings)
    return tokens.Batches(encoded, subject.source.pad, budget, next(subject.model.parameters()).device)


def beside_random(
    model, batches: Iterable[Mapping[str, Any]], worth: pd.Series | Mapping[str, pd.Series],
    shares: Sequence[float] = (0.25, 0.5), draws: int = 20,
) -> pd.DataFrame:  # fmt: skip
    """How much the loss rises without the least important heads, and without as many drawn at random; gates of 0, no training.

    Parameters
    ----------
    batches
        With labels; not the text that `worth` was measured on.
    worth : pandas.Series on (kind, layer, head), or a mapping of name -> Series
        Larger stays longer: any column of the head table; or several, each a choice.
    shares : sequence of float
        Of all heads, to be closed.
    draws : int
        Of random heads: from all heads, and, in models with several kinds of attention, as many of each kind as a choice has.

    Returns
    -------
    pandas.DataFrame
        A row each (choice, method, draw, closed heads): rise, nats a target token; of a choice with low and high (95 % interval
        over sentences). Heads drawn from all are of no choice ("").

    Raises
    ------
    StudyError
        As `quality`; if there is nothing to predict.
    """
    columns, index = _choices(model, worth, shares)
    batches, rows, known = list(batches), [], {}
    whole, tokens = losses_of_examples(model, batches)

    def add(choice: str, method: str, draw: int, closed: list) -> None:
        if (out := frozenset(closed)) not in known:
            with heads.gate(model, dict.fromkeys(closed, 0.0)):
                known[out] = losses_of_examples(model, batches)[0] - whole
        ends = map(float, scoring.ratio_interval(known[out], tokens)[1:]) if method == CHOICE else (np.nan, np.nan)
        rows.append((choice, method, draw, len(closed), known[out].sum() / tokens.sum(), *ends))

    for count in dict.fromkeys(round(len(index) * share) for share in shares):
        for name, column in columns.items():
            gone = pd.MultiIndex.from_tuples(least(column, count), names=index.names)
            add(name, CHOICE, 0, list(gone))
            for draw in range(draws if index.get_level_values("kind").nunique() > 1 else 0):
                add(name, ALIKE, draw, drawn(index.to_series(), count, draw, gone))
        for draw in range(draws):
            add("", RANDOM, draw, drawn(index.to_series(), count, draw))
    return pd.DataFrame(rows, columns=["choice", "method", "draw", "heads", "rise", "low", "high"])


def against_random(table: pd.DataFrame) -> pd.DataFrame:
    """For each number of heads, choice and way to draw: is the choice better than chance? Of `beside_random`.

    Returns
    -------
    pandas.DataFrame
        heads (closed), choice, method (the way to draw), own (rise of the loss by the choice) with own_low and own_high,
        rise with low and high (mean, least and most of the draws), beaten (draws that are worse), draws.
    """
    rows = []
    for row in table[table.method == CHOICE].sort_values("heads", kind="stable").itertuples():
        part = table[(table["heads"] == row.heads) & (table.method != CHOICE) & table.choice.isin(["", row.choice])]
        for method, others in part.groupby("method", sort=False).rise:
            beaten, draws = int((row.rise < others).sum()), len(others)
            ends = (row.low, row.high, others.mean(), others.min(), others.max())
            rows.append((row.heads, row.choice, method, row.rise, *ends, beaten, draws))
    return pd.DataFrame(rows, columns="heads choice method own own_low own_high rise low high beaten draws".split())


def one_by_one(
    model, batches: Iterable[Mapping[str, Any]], worth: pd.Series, other: pd.Series, points: int = 20, repeats: int = 1000
) -> pd.DataFrame:
    """What heads cost off all at once, the least important first, beside the sum of what each costs off alone; on one text.

    Parameters
    ----------
    batches
        As of `beside_random`.
    worth, other : pandas.Series
        A choice, and one that stands beside it.
    points : int
        How many numbers of heads, evenly spread up to all.
    repeats : int
        Resamples of the bootstrap over sentences.

    Returns
    -------
    pandas.DataFrame
        On heads (off): alone, together, "other alone" and other (of that choice), nats a target token, and times and "other
        times" (together over alone), each with low and high (95 % interval, "alone_low" ...).

    Raises
    ------
    StudyError
        As `beside_random`.
    """
    _choices(model, {"worth": worth, "other": other}, ())
    held, order, its, rows = list(batches), least(worth, len(worth)), least(other, len(other)), {}
    (whole, tokens), (alone, _) = losses_of_examples(model, held), rises_of_examples(model, held)
    for count in sorted({round(len(worth) * part / points) for part in range(1, points + 1)} - {0}):
        rises = {"alone": alone[order[:count]].sum(axis=1), "other alone": alone[its[:count]].sum(axis=1)}
        for name, closed in (("together", order), ("other", its)):
            with heads.gate(model, dict.fromkeys(closed[:count], 0.0)):
                rises[name] = losses_of_examples(model, held)[0] - whole
        over = {name: (np.asarray(rise), tokens) for name, rise in rises.items()}
        over |= {"times": (over["together"][0], over["alone"][0]), "other times": (over["other"][0], over["other alone"][0])}
        rows[count] = {
            f"{name}{end}": float(value)
            for name, parts in over.items()
            for end, value in zip(("", "_low", "_high"), scoring.ratio_interval(*parts, repeats), strict=True)
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("heads")


def stand_in(model, chosen: tokens.Batches, unseen: tokens.Batches, candidates: Sequence) -> pd.DataFrame:
    """Of some heads the two that cost most beyond the sum of each alone on `chosen` text, measured on `unseen` text.

    Returns
    -------
    pandas.DataFrame
        A row a head, both, and both minus the sum: rise, low, high (nats a target token; 95 % interval over sentences).
    """

    def losses(batches, *closed) -> np.ndarray:
        with heads.gate(model, dict.fromkeys(closed, 0.0)):
            return losses_of_examples(model, batches)[0]

    alone = {head: losses(chosen, head).sum() for head in candidates}
    pair = max(combinations(candidates, 2), key=lambda two: losses(chosen, *two).sum() - sum(alone[head] for head in two))
    whole, tokens = losses_of_examples(model, unseen)
    one, other, both = (losses(unseen, *closed) - whole for closed in (pair[:1], pair[1:], pair))
    rows = [scoring.ratio_interval(rise, tokens) for rise in (one, other, both, both - one - other)]
    return pd.DataFrame(rows, [*pair, "both", "beyond"], ["rise", "low", "high"], float)


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


def _choices(model, worth, shares: Sequence[float]) -> tuple[Mapping[str, pd.Series], pd.MultiIndex]:
    """Choices by name, and all heads."""
    if any(not 0 < share < 1 for share in shares):
        raise StudyError(f"A share of heads to remove lies between 0 and 1: {', '.join(map(str, shares))} do not all.")
    columns = {CHOICE: worth} if isinstance(worth, pd.Series) else worth
    if any(set(column.index) != set(heads.index(model)) for column in columns.values()):
        raise StudyError("The worth of heads is not of this model's heads: take a column of its own head table.")
    return columns, next(iter(columns.values())).index


def quality(
    subject, worth: pd.Series | Mapping[str, pd.Series], split: str, beam: int = 1, repeats: int = 1000,
    shares=(0.25, 0.5, 0.75), draws: int = 3, first: int | None = None,
) -> pd.DataFrame:  # fmt: skip
    """What is left of a model when a share of its heads is removed, without further training.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
    worth
        As of `beside_random`.
    split : str
        On which it is scored; not the one that `worth` was measured on.
    shares : sequence of float
        Of all heads, to be removed.
    draws : int
        Of random heads, as many of each kind of attention as the first choice takes.
    first : int, optional
        Sentences of the split, the first, on which it is scored; all by default.

    Returns
    -------
    pandas.DataFrame
        A row each (method, draw, heads left): loss (nats a token), bleu with low and high, change (against the whole model)
        with "change low" and "change high" (paired bootstrap over sentences), and so behind (against the first choice).

    Raises
    ------
    StudyError
        If a share is not between 0 and 1, or `worth` is not of this model's heads.
    """
    columns, index = _choices(subject.model, worth, shares)
    texts, references = ([getattr(pair, side) for pair in subject.pairs(split)[:first]] for side in ("source", "target"))
    unseen, total = list(batches(subject, split, first)), len(index)

    def counted(model) -> tuple[float, np.ndarray]:
        translations = training.translate(model, texts, subject.source, subject.target, beam)
        return training.dev_loss(model, unseen), scoring.bleu_statistics(translations, references)

    _, whole = known = counted(subject.model)
    firsts: dict[int, np.ndarray] = {}  # of the first choice, by how many heads are left: no other comes before it

    def scored(model) -> dict[str, float]:
        loss, own = known if model is subject.model else counted(model)
        beside = (None, whole, firsts.setdefault(len(heads.index(model)), own))
        return dict(zip(SCORES, (loss, *chain(*(scoring.bleu_interval(own, it, repeats) for it in beside))), strict=True))

    def choices() -> Iterator[tuple[dict[str, Any], list]]:
        for method in (*columns, ALIKE):
            yield {"method": method, "draw": 0, "heads": total}, []
        for count in dict.fromkeys(round(total * share) for share in shares):
            for method, column in columns.items():
                yield {"method": method, "draw": 0, "heads": total - count}, least(column, count)
            like = pd.MultiIndex.from_tuples(least(next(iter(columns.values())), count), names=index.names)
            for draw in range(draws):
                yield {"method": ALIKE, "draw": draw, "heads": total - count}, drawn(index.to_series(), count, draw, like)

    return pd.DataFrame(at_once(subject.model, choices(), scored))
