"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.measures.removal import RANDOM
from helpers.measures.table import TRUTH
from helpers.methods.removal import ALIKE, LEAST
from helpers.reading import ends, interval, listed, number
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"


def needed(differ: pd.DataFrame) -> str:
    """Of `measured.effects_that_differ` on kind: which heads change the loss, each off alone, in bold and in a sentence."""
    some, full = differ[differ.differ < differ["heads"]], differ[differ.differ == differ["heads"]]
    if some.empty:
        return f"**All {differ['heads'].sum()} heads.** Each of them changes the loss when it alone is off."
    kinds = {kind: f"{kind} " if len(differ) > 1 else "" for kind in differ.index}
    parts = [f"{row.differ or 'none'} of {row['heads']} {kinds[kind]}heads" for kind, row in some.iterrows()]
    every = f"all {listed(full.index)} heads, and " if len(full) else ""
    said = f"{every}{listed(parts)}"
    return (
        f"**{said[:1].upper()}{said[1:]}.** Each of these changes the loss when it alone is off; of the others we cannot tell."
    )


def where(single: pd.DataFrame, differ: pd.DataFrame) -> str:
    """In which layer most heads change the loss, of the type of attention that has the smallest share of such heads.

    Parameters
    ----------
    single : pandas.DataFrame on (kind, layer, head)
        Of `leave_one_out`.
    differ : pandas.DataFrame
        Its `measured.effects_that_differ` on kind.
    """
    row = differ.loc[differ.share.idxmin()]
    if row.share == 1:
        return "Every head changes the loss when it alone is off."
    own = single.loc[row.name]
    sure = ((own.low > 0) | (own.high < 0)).groupby(level="layer").sum()
    if not row.differ:
        return f"Of no {row.name} head can we tell that it changes the loss."
    return f"Layer {sure.idxmax() + 1} has {sure.max()} of the {row.differ} {row.name} heads that change the loss."


def together(half: pd.Series) -> str:
    """Of a row of `removal.one_by_one`: what heads cost at once, beside the sum of what each costs alone."""
    cheap = f"the {half.name} heads that cost least"
    if half.together_low <= half.alone_high:
        return f"Off at once, {cheap} cost no more than the sum of their single costs, as far as we can tell."
    much = f"about {number(half.together / half.alone, ',.0f')} times" if half.alone > 0 else "far more than"
    return (
        f"But heads that look idle alone are not idle together: off at once, {cheap} cost {much} the sum of their single costs."
    )


def beside(won: pd.DataFrame) -> str:
    """Of `removal.against_random`, the most heads off: what the choice costs, beside random heads."""
    last = won[won["heads"] == won["heads"].max()].set_index("method")
    own, rises = (
        number(1000 * last.own.iloc[0], ",.0f"),
        {name: number(1000 * row.rise, ",.0f") for name, row in last.iterrows()},
    )
    named = {ALIKE: "random heads of the same types", RANDOM: "random heads of any type"}
    others = listed(f"{named[name]} cost {rises[name]} on average" for name in named if name in rises)
    return f"With {last['heads'].iloc[0]} heads off, the choice costs {own} {UNIT}; {others}."


def surely(won: pd.DataFrame) -> str:
    """Of the same: whether the choice beats the nearest random heads by more than luck, at each number of heads."""
    rows = won[won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)]
    like = " of the same types" * (rows.method.iloc[0] == ALIKE)
    told = [
        f"with {row.heads} off it costs less than {row.beaten} of {row.draws} draws"
        f" ({'hardly' if row.p < 0.05 else 'perhaps'} luck)"
        for row in rows.itertuples()
    ]
    return f"The choice beside random heads{like}: {listed(told)}"


def looked(example: Mapping[str, Any]) -> str:
    """How one head reads one sentence, of `sentence.attention`: nothing where it is no cross head that goes about in order."""
    at, columns, rows = np.asarray(example["weights"]).argmax(1), example["columns"], example["rows"]
    steps, back = np.diff(at), np.flatnonzero(np.diff(at) < 0)
    if example.get("looks") != "predicted token" or "source" not in example.get("looked at", "") or (steps >= 0).mean() < 0.8:
        return ""
    more = [f"skips *{columns[i]}*" for i in range(at.max()) if i not in set(at)][:1]
    more += [f"goes back from *{columns[at[i]]}* to *{columns[at[i + 1]]}* at `{rows[i + 1]}`" for i in back[:1]]
    return f"It follows the translation, not the position: here it {listed(more)}." if more else "Here it goes in order."


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
        cost: what it costs to remove all encoder heads and train the rest on; never: what a model costs that was trained
        without them.
    """
    path = folder and layout.Chapter(folder / "01_relevance_and_confidence").table("bleu")
    if not path or not path.exists():
        return {}
    rows = pd.read_csv(path, index_col="model").bleu
    names = (f"{model}, trained on", f"{model}, encoder heads removed, trained on", model, f"{model}, no encoder heads")
    if not all(name in rows for name in names):
        return {}
    whole, removed, plain, never = (float(rows[name]) for name in names)
    return {"cost": whole - removed, "never": plain - never}


def with_training(folder: Path | None) -> str:
    """Whether either choice of encoder heads beats random ones where the rest trains on (notebook 6)."""
    path = folder and layout.Chapter(folder / "06_do_measures_agree").table("contest_paired")
    if not path or not path.exists():
        return "Nothing is trained after cutting here; in notebook 6 the rest trains on."
    found = pd.read_csv(path, header=[0, 1], index_col=0)[RANDOM].reindex([TRUTH, GRADIENT])
    beat = dict(zip(("the loss without the head", "gradient importance"), found.low.astype(float) > 0, strict=True))
    sure, open_ = ([name for name in beat if beat[name] == beats] for beats in (True, False))
    parts = [f"{listed(sure)} beat{'s' * (len(sure) == 1)} random encoder heads"] * bool(sure)
    parts += [f"{listed(open_)} cannot be told from random"] * bool(open_)
    return f"Where the rest trains on after cutting, {', but '.join(parts)} (notebook 6)."


def limits(corpus: str, yard: Mapping[str, float]) -> str:
    """What the example cannot show: of a run on the study's text, and of `yardsticks`."""
    said = "This is one model and one training; another training gives other heads (notebook 6)."
    made = {"controlled": " Its text is generated", "natural": " Its text is natural"}.get(corpus, "")
    if yard:
        made += f", and hardly needs encoder attention: a model trained without it loses {number(yard['never'], '.1f')} BLEU"
    return f"{said}{made}{'.' * bool(made)}"


def _at_half(results: pd.DataFrame) -> pd.DataFrame:
    """Rows of `removal.quality` on method, where as many heads are left as in the middle of its numbers."""
    left = sorted(results["heads"][results.method == LEAST].unique(), reverse=True)
    return results[results["heads"] == left[len(left) // 2]].set_index("method")


def at_half(results: pd.DataFrame, also: Sequence[str]) -> str:
    """Of `removal.quality`, about half of the heads cut: what each choice costs beside the best random draw, in BLEU."""
    rows = _at_half(results)
    lost = [f"{number(-rows.change[name], '.1f')} BLEU if {_choosing(name)} chooses" for name in (*also, LEAST)]
    best = number(-rows.loc[[ALIKE]].change.max(), ".1f")
    return f"Cutting half of the heads costs {listed(lost)}; the best random draw of the same types costs {best}."


def _choosing(name: str) -> str:
    return f"{'the ' * (name == LEAST)}{name}"


def in_detail(results: pd.DataFrame, also: Sequence[str]) -> str:
    """The same with intervals, and with random heads of any type."""
    rows = _at_half(results)
    lost = [
        f"{interval(*-rows.loc[name, ['change', 'change high', 'change low']], '.1f')} by {_choosing(name)}"
        for name in (LEAST, *also)
    ]
    drawn = {name: ends(-rows.loc[[name]].change, ".0f") for name in (ALIKE, RANDOM)}
    lost += [f"{drawn[ALIKE]} by random heads of the same types", f"{drawn[RANDOM]} by random heads of any type"]
    return f"With {rows['heads'].iloc[0]} heads left BLEU falls by {listed(lost)} (95 % intervals, over sentences)."


def better(results: pd.DataFrame, also: Sequence[str]) -> str:
    """The choice that is better than the loss without the head there, by intervals that lie apart; nothing where none is."""
    rows = _at_half(results)
    best = rows.loc[list(also)].bleu.idxmax()
    return str(best) if rows["change low"][best] > rows["change high"][LEAST] else ""
