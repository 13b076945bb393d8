"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import study
from helpers.measures import measured
from helpers.measures.removal import RANDOM, least
from helpers.measures.table import TRUTH
from helpers.methods.contest.runs import DECODER
from helpers.methods.contest.tables import EVERY
from helpers.methods.removal import ALIKE, ENCODER
from helpers.reading import count, interval, listed, number
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"
OF = {ALIKE: " of the same types", RANDOM: ""}


def needed(single: pd.DataFrame) -> str:
    """Which heads raise the loss, each off alone, in bold; on (kind, layer, head), see `leave_one_out`."""
    kinds = single.groupby(level="kind", sort=False).size()
    sure = (measured.corrected(single) & (single.loss > 0)).groupby(level="kind").sum()
    full = [kind for kind in kinds.index if sure[kind] == kinds[kind]]
    kind_of = {kind: f"{kind} " if len(kinds) > 1 else "" for kind in kinds.index}
    parts = [f"{sure[kind] or 'none'} of {kinds[kind]} {kind_of[kind]}heads" for kind in kinds.index if kind not in full]
    every = f"all {kinds[full].sum()} {listed(full) if len(kinds) > 1 else ''}".strip() + " heads"
    missed = ", and ".join([every] * bool(full) + [listed(parts)] * bool(parts))
    return f"**Missed when off alone: {missed}. That does not tell what you can cut together.**"


def uncorrected(single: pd.DataFrame) -> str:
    """How many heads of the same change the loss only if it is not corrected that many are tested."""
    some = single[~measured.corrected(single) & ((single.low > 0) | (single.high < 0))]
    of, fall = listed(some.index.unique("kind")) if single.index.unique("kind").size > 1 else "", int((some.high < 0).sum())
    lower = f"; {fall if fall > 1 else 'one'} of them lower{'s' * (fall == 1)} the loss" * bool(fall)
    told = (
        f"{count(len(some), f'more {of} head'.replace('  ', ' '))} pass{'es' * (len(some) == 1)} only before correction{lower}."
    )
    return told * bool(len(some))


def together(row: pd.Series) -> str:
    """Of a row of `removal.one_by_one`: what heads cost at once, beside the sum of what each costs alone."""
    costs = [_thousandths(row, name, f"{name}_low", f"{name}_high") for name in ("together", "alone")]
    return f"Off at once, the {row.name} cheapest heads cost {costs[0]} {UNIT}, and their single costs add up to {costs[1]}."


def _thousandths(row: pd.Series, *names: str) -> str:
    value, low, high = 1000 * row[[*names]].astype(float)
    return interval(value, low, high, ",.0f")


def nearest(won: pd.DataFrame) -> pd.DataFrame:
    """Rows of `removal.against_random` beside the random heads that are hardest to beat: of the same types, if drawn."""
    return won[won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)]


def beside(won: pd.DataFrame) -> str:
    """Of `removal.against_random`, the most heads off: what each choice costs, beside the cheapest random draw."""
    rows = nearest(won).loc[lambda rows: rows["heads"] == rows["heads"].max()]
    like, *others = f"random draw{OF[rows.method.iloc[0]]}", *["draw"] * (len(rows) - 1)
    parts = [
        f"{row.choice} {1000 * row.own:,.0f}, cheapest {draw} {1000 * row.low:,.0f}"
        for row, draw in zip(rows.itertuples(), (like, *others), strict=True)
    ]
    return f"{rows['heads'].iloc[0]} heads off: {'; '.join(parts)} ({UNIT})."


def cost(won: pd.DataFrame, total: int) -> str:
    """Of the same what each choice costs, with intervals, and the least that random draws cost."""
    rows = nearest(won).loc[lambda rows: rows["heads"] == rows["heads"].max()]
    parts = [
        f"{_thousandths(row, 'own', 'own_low', 'own_high')} if {_choosing(row.choice)} chooses" for _, row in rows.iterrows()
    ]
    parts[0] = parts[0].replace(" if", f" {UNIT} if", 1)
    like = f"random heads{OF[rows.method.iloc[0]]} cost {1000 * rows.low.min():,.0f} or more"
    return f"{rows['heads'].iloc[0]} of {total} heads off together cost {listed(parts)}; {like}."


def traded(choices: Mapping[str, pd.Series], off: int, single: pd.DataFrame, rise: Callable[[pd.Series, int], float]) -> str:
    """Which heads the first of two choices of `off` keeps though alone they cost nothing that `single` can tell.

    With what the second costs where it keeps them too: `rise`, of a column and how many heads go by it, in nats a token.
    """
    (column, other), (name, against) = choices.values(), map(_choosing, choices)
    own, its, kinds = set(least(column, off)), set(least(other, off)), other.index.get_level_values("kind")
    idle = {head for head in its - own if single.low[head] <= 0 <= single.high[head]}
    gone, rest = {head for head in own - its if single.low[head] > 0}, its - own - idle
    first, told = name[:1].upper() + name[1:], f"The two choices of {off} differ in {count(len(own - its), 'head')}."
    told += f" {first} gives up {_heads(gone)} (layer.head), whose intervals lie above zero." * bool(gone)
    if idle:
        spared, whole = (
            1000 * rise(*way) for way in ((other.mask(other.index.isin(idle), np.inf), off - len(idle)), (other, off))
        )
        told += f" It keeps {_heads(idle)}, whose intervals hold zero{', and ' * bool(rest)}{_heads(rest)}. If {against} keeps"
        told += f" these {len(idle)} too ({off - len(idle)} off), it costs {spared:,.0f} and not {whole:,.0f}."
        told += " Alone they look idle; together they are most of the damage." * bool(2 * max(spared, 0) < whole)
    if len(cut := {kind for kind, *_ in own}) == 1 < kinds.nunique():
        kind, left = *cut, kinds.isin(cut).sum() - off
        told += f" {first} cuts {off} {kind} heads, so this check only asks which {left} {kind} heads to keep."
    return told


def _heads(some: set[tuple[str, int, int]]) -> str:
    places = {of: [f"{layer + 1}.{head + 1}" for kind, layer, head in sorted(some) if kind == of] for of, *_ in sorted(some)}
    return " and ".join(f"{kind} {listed(own)}" for kind, own in places.items())


def aligned(folder: Path | None, name: str, head: tuple[str, int, int]) -> str:
    """How often a cross head of a published model's first training points at the aligned word (notebook 2), where known."""
    path = folder and layout.Chapter(folder / "02_head_functions").table(f"alignment_{name}")
    if not path or not path.exists():
        return ""
    at = pd.read_csv(path, index_col=["kind", "layer", "head"]).predicted.get(head)
    return "" if at is None else f"Over the whole text it points at the aligned word in {number(at, '.0%')} (notebook 2)."


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists()
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


def elsewhere(folder: Path | None, model: str) -> str:
    """How often gradient importance chooses cheaper heads than the loss without the head does (notebook 6), where known."""
    path = folder and layout.Chapter(folder / "06_do_measures_agree").table("removed_at_once")
    if not path or not path.exists():
        return "Other models may differ."
    rows = pd.read_csv(path).pivot_table(index=["model", "seed", "heads"], columns="criterion", values="change")
    rows = rows[(rows[[TRUTH, GRADIENT]] != 0).any(axis=1)]  # where something is cut
    less, models = rows[TRUTH] > rows[GRADIENT], rows.index.get_level_values("model")
    own, other, every = models == f"{model}{EVERY}", models == DECODER, models.str.endswith(EVERY)
    seeds = count(less[own].index.unique("seed").size, "training")
    named = {
        f" cuts over all types ({seeds}, this one among them)": own, " on other text": every & ~own,
        " among encoder heads alone": ~every & ~other, " of a decoder-only model": other,
    }  # fmt: skip
    parts = [f"in {less[part].sum()} of {part.sum()}{where}" for where, part in named.items() if part.any()]
    return f"In notebook 6 gradient importance costs less {listed(parts)}."


def limits(corpus: str, yard: Mapping[str, float], results: pd.DataFrame | None) -> str:
    """What the example cannot show: of a run on the study's text, of `yardsticks`, and of `removal.quality`."""
    said = "One model, one training: another gives other heads (notebook 6)."
    made = {"controlled": "generated text", "natural": "natural text"}.get(corpus)
    if not yard or results is None:
        return f"{said} It reads {made}." if made else said
    cost = number(-results.change[results.method == ENCODER].iloc[0], ".1f")
    return (
        f"{said} Its {made} hardly needs encoder attention (trained without it: {number(-yard['never'], '+.1f')} BLEU),"
        f" but this model does: all encoder heads cut costs {cost} BLEU, or {number(yard['cost'], '.1f')} where the rest of the"
        " encoder trains on."
    )


def at_half(results: pd.DataFrame) -> str:
    """Of `removal.quality`, about half of the heads cut: what each choice costs beside the best random draw, in BLEU."""
    left = sorted(results["heads"][results.method == RANDOM].unique())
    half, last = (results[results["heads"] == heads].set_index("method") for heads in (left[(len(left) - 1) // 2], left[0]))
    choices = [name for name in half.index.unique() if name not in (RANDOM, ALIKE, ENCODER)]
    best, least_lost = (rows.loc[[RANDOM, ALIKE]].change.max() for rows in (half, last))
    lost = [f"{number(-half.change[name], '.1f')} by {_choosing(name)}" for name in choices]
    lost.append(f"{number(-best, '.1f')} by the best random draw")
    won = [name for name in choices if last["change low"][name] > least_lost]
    which = {0: "neither choice", 1: f"only {_choosing(*won[:1] or choices[:1])}"}.get(len(won), "each choice")
    told = f"With {results['heads'].max() - left[0]} off {which} clearly beats the best draw"
    return f"Cutting half of the heads costs, in BLEU, {listed(lost)}. {told}."


def _choosing(name: str) -> str:
    return f"{'the ' * name.startswith(('loss', 'choice'))}{name}"
