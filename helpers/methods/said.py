"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.measures.removal import RANDOM, least
from helpers.measures.table import TRUTH
from helpers.methods.removal import ALIKE
from helpers.reading import ends, interval, listed, number
from helpers.study import layout

GRADIENT = "gradient, example"


def idle(differ: pd.DataFrame) -> str:
    """Of `measured.effects_that_differ` on kind: how many heads of each type change the loss off alone, and where all do."""
    kinds = {kind: f"{kind} " if len(differ) > 1 else "" for kind in differ.index}
    some, full = differ[differ.differ < differ["heads"]], differ[differ.differ == differ["heads"]]
    if some.empty:
        return f"Off alone, every one of {differ['heads'].sum()} heads changes the loss."
    parts = [f"{row.differ} of {row['heads']} {kinds[kind]}heads" for kind, row in some.iterrows()]
    every = f"All {full['heads'].sum()} {listed(kinds[kind].strip() for kind in full.index)} heads do, but only "
    return f"Which heads change the loss, off alone? {every * bool(len(full))}{listed(parts)}."


def by_layer(single: pd.DataFrame, differ: pd.Series) -> str:
    """In which layers heads of one type change the loss, off alone.

    Parameters
    ----------
    single : pandas.DataFrame on (layer, head)
        Of `leave_one_out`, one type of attention.
    differ : pandas.Series
        Its row of `measured.effects_that_differ`.
    """
    if differ.differ == differ["heads"]:
        return f"All {differ['heads']} heads change the loss ({differ.differ_holm} by Holm)"
    sure = ((single.low > 0) | (single.high < 0)).groupby(level="layer").sum()
    none = [layer + 1 for layer in sure.index[sure == 0]]
    said = f"{differ.differ} of {differ['heads']} heads change the loss ({differ.differ_holm} by Holm)"
    said += f", {sure.max()} in layer {sure.idxmax() + 1}" if differ.differ else ""
    return said + (f", none in layer{'s' * (len(none) > 1)} {listed(none)}, whose order is noise" if none else "")


def because(worth: pd.Series, won: pd.DataFrame) -> str:
    """Why the half of the heads that are off cost less than random ones: their type, or which they are.

    Parameters
    ----------
    worth : pandas.Series on (kind, layer, head)
    won : pandas.DataFrame
        `removal.against_random` of a choice by it.
    """
    last = won[won["heads"] == won["heads"].max()].set_index("method")
    off, any_type = int(last["heads"].iloc[0]), last.loc[RANDOM]
    own, others = (number(1000 * value, ",.0f") for value in (any_type.own, any_type.rise))
    how = "less than" if any_type.own < any_type.rise else "no less than"
    among = f"all off at once cost {how} {off} random ones ({own} against {others} millinats per token)"
    if ALIKE not in last.index:
        return f"The {off} with the smallest *loss without the head* {among}: less than {_draws(any_type)}."
    alike = last.loc[ALIKE]
    kinds = worth.loc[least(worth, off)].groupby(level="kind").size()
    share = (any_type.rise - alike.rise) / (any_type.rise - any_type.own) if any_type.rise > any_type.own else np.nan
    why = f", which is {'most' if share > 0.5 else 'part'} of why" if share > 0 else ":"
    same = f"Beside heads of the same types it is {own} against {number(1000 * alike.rise, ',.0f')}: less than {_draws(alike)}."
    return (
        f"Of the {off} with the smallest *loss without the head* {kinds.max()} are {kinds.idxmax()} heads{why} {among}. {same}"
    )


def _draws(row: pd.Series) -> str:
    return f"{row.beaten:.0f} of {row.draws:.0f} draws (one-sided p {number(row.p, '.3f')})"


def who_stays(worth: pd.Series, off: int) -> str:
    """What a random draw of the same types can differ in: the type of which most go, and how many of these it shares."""
    gone = worth.loc[least(worth, off)].groupby(level="kind").size()
    kind, most = gone.idxmax(), gone.max()
    of = len(worth.loc[[kind]])
    about = f"which {of - most} of {of} stay" if of > most else "the others"
    return f"A draw shares {number(most * most / of, '.0f')} of {most} {kind} heads on average: the contest is about {about}."


def beside_types(won: pd.DataFrame) -> str:
    """Of `removal.against_random`: what the choice costs at each number of heads, and its p beside the nearest random heads."""
    rows = won[won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)]
    cost = [
        f"{interval(*(1000 * row[['own', 'own_low', 'own_high']]), ',.0f')} with {row['heads']} off"
        for _, row in rows.iterrows()
    ]
    p = listed(number(value, ".3f") for value in rows.p)
    return f"The choice (line) costs {listed(cost)}; one-sided p beside *{rows.method.iloc[0]}*: {p}."


def looked(example: Mapping[str, Any]) -> str:
    """How one head reads one sentence: where its largest weights go, row after row (of `sentence.attention`)."""
    weights, columns, rows = np.asarray(example["weights"]), example["columns"], example["rows"]
    at = weights.argmax(1)
    steps, back = np.diff(at), np.flatnonzero(np.diff(at) < 0)
    here = f"Here {number(weights.max(1).mean(), '%')} of a row's weight is on one token"
    if example.get("looks") != "predicted token" or "source" not in example.get("looked at", "") or (steps >= 0).mean() < 0.8:
        return f"{here}."
    more = [f"skips *{columns[i]}*" for i in range(at.max()) if i not in set(at)][:1]
    more += [f"goes back from *{columns[at[i]]}* to *{columns[at[i + 1]]}* at `{rows[i + 1]}`" for i in back[:1]]
    return f"{here}; it follows the translation, not the position: {', '.join(more)}." if more else f"{here}; it goes in order."


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and shared.exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def yardsticks(folder: Path | None, model: str) -> dict[str, float]:
    """What encoder attention is worth to a model of notebook 1, in BLEU on its whole test text; nothing where it has not that.

    Returns
    -------
    dict
        removed: BLEU with all encoder heads removed and the rest trained on; cost: what that costs; never: what a model costs
        that was trained without them; sentences.
    """
    path = folder and layout.Chapter(folder / "01_relevance_and_confidence").table("bleu")
    if not path or not path.exists():
        return {}
    table = pd.read_csv(path)
    rows = table.set_index("model").bleu
    names = (f"{model}, trained on", f"{model}, encoder heads removed, trained on", model, f"{model}, no encoder heads")
    if not all(name in rows for name in names):
        return {}
    whole, removed, plain, never = (float(rows[name]) for name in names)
    return {"removed": removed, "cost": whole - removed, "never": plain - never, "sentences": int(table.sentences.max())}


def with_training(folder: Path | None) -> str:
    """Whether this choice and gradient importance beat random encoder heads where the rest trains on (notebook 6)."""
    path = folder and layout.Chapter(folder / "06_do_measures_agree").table("contest_paired")
    if not path or not path.exists():
        return "Pruning lets the rest train on: notebook 6 compares choices there."
    found = pd.read_csv(path, header=[0, 1], index_col=0)[RANDOM].reindex([TRUTH, GRADIENT])
    beat = [*(found.low.astype(float) > 0)]
    said = "this choice " + ("beats random heads" if beat[0] else "cannot be told from random heads")
    said += "; gradient importance can" if beat == [False, True] else ""
    return f"Encoder heads cut with further training are another matter: over trainings {said} (notebook 6)."


def _at_half(results: pd.DataFrame, own: str) -> pd.DataFrame:
    """Rows of `removal.quality` on method, where as many heads are left as in the middle of a choice's numbers."""
    left = sorted(results["heads"][results.method == own].unique(), reverse=True)
    return results[results["heads"] == left[len(left) // 2]].set_index("method")


def at_half(results: pd.DataFrame, own: str, also: Sequence[str]) -> str:
    """Of `removal.quality`, about half of the heads cut: what the choice `own` and others cost beside random draws, in BLEU."""
    rows = _at_half(results, own)
    lost = [f"{_lost(rows.loc[name])} ({name})" for name in (own, *also)]
    alike, drawn = rows.loc[[ALIKE]].sort_values("change"), -rows.loc[[RANDOM]].change
    lost += [
        f"{_lost(alike.iloc[-1])} (the best of {len(alike)} draws of the same types)",
        f"{ends(drawn, '.0f')} (random heads)",
    ]
    return f"With {rows['heads'].iloc[0]} heads left BLEU falls by {listed(lost)}."


def better(results: pd.DataFrame, own: str, also: Sequence[str]) -> str:
    """Of the same: whether another choice is better than `own`, by intervals that lie apart; nothing where none is."""
    rows = _at_half(results, own)
    best = rows.loc[list(also)].bleu.idxmax()
    if rows["change low"][best] <= rows["change high"][own]:
        return ""
    cut, cost = int(results["heads"].max() - rows["heads"].iloc[0]), [number(-rows.change[name], ".1f") for name in (best, own)]
    return f"*{best.capitalize()}* chooses better there: {cut} heads cut by it cost {cost[0]} BLEU, not {cost[1]}."


def _lost(row: pd.Series) -> str:
    return interval(-row.change, -row["change high"], -row["change low"], ".1f")
