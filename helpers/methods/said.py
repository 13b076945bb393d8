"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from helpers import study
from helpers.measures import measured
from helpers.measures.removal import RANDOM, Address, least
from helpers.measures.table import TRUTH
from helpers.methods.contest.runs import DECODER
from helpers.methods.contest.tables import EVERY
from helpers.methods.removal import ALIKE
from helpers.reading import count, ends, interval, listed, number
from helpers.scores import intervals
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"
OF = {ALIKE: " of the same types", RANDOM: ""}


def needed(single: pd.DataFrame) -> str:
    """Which heads surely raise the loss, each off alone, in bold; on (kind, layer, head), see `leave_one_out`."""
    kinds = single.groupby(level="kind", sort=False).size()
    sure = (measured.corrected(single) & (single.loss > 0)).groupby(level="kind").sum()
    full = [kind for kind in kinds.index if sure[kind] == kinds[kind]]
    kind_of = {kind: f"{kind} " if len(kinds) > 1 else "" for kind in kinds.index}
    parts = [f"{sure[kind] or 'none'} of {kinds[kind]} {kind_of[kind]}heads" for kind in kinds.index if kind not in full]
    every = f"all {kinds[full].sum()} {listed(full) if len(kinds) > 1 else ''}".strip() + " heads"
    missed = " and ".join([every] * bool(full) + [listed(parts)] * bool(parts))
    return f"**Off alone, {missed} are surely missed.**"


def uncorrected(single: pd.DataFrame) -> str:
    """How many heads of the same change the loss only if it is not corrected that many are tested."""
    some = single[~measured.corrected(single) & ((single.low > 0) | (single.high < 0))]
    of, fall = listed(some.index.unique("kind")) if single.index.unique("kind").size > 1 else "", some.index[some.high < 0]
    lower = f"; without {f'{len(fall)} of them' if len(fall) > 1 else _heads(set(fall))} (×) the loss falls" * bool(len(fall))
    more = count(len(some), f"more {of} head".replace("  ", " "))
    return f"{more} pass{'es' * (len(some) == 1)} only before correction{lower}." * bool(len(some))


def together(row: pd.Series) -> str:
    """Of a row of `removal.one_by_one`: what heads cost at once, beside the sum of what each costs alone."""
    costs = [_thousandths(row, name, f"{name}_low", f"{name}_high") for name in ("together", "alone")]
    at_once = f"ff at once, the {row.name} cheapest heads cost {costs[0]} {UNIT}"
    if times := _times(row):
        return f"No: o{at_once}, {times} ({costs[1]})."
    return f"O{at_once}, and their single costs add up to {costs[1]}."


def _times(row: pd.Series) -> str:
    """How many times the sum heads cost at once; nothing where the sum may be zero or the two the same."""
    told = f"{row.together / row.alone:,.0f} times the sum of their single costs"
    return told * bool(row.alone_low > 0 and row.together_low > row.alone_high)


def _thousandths(row: pd.Series, *names: str) -> str:
    value, low, high = 1000 * row[[*names]].astype(float)
    return interval(value, low, high, ",.0f")


def nearest(won: pd.DataFrame) -> pd.DataFrame:
    """Of `removal.against_random`, the most heads off: beside the draws that are hardest to beat, of the same types, if any."""
    return won[(won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)) & (won["heads"] == won["heads"].max())]


def beside(won: pd.DataFrame) -> str:
    """Of the same what each choice costs, beside the cheapest random draw."""
    rows, draw = nearest(won), "cheapest draw"
    parts = [f"{row.choice} {1000 * row.own:,.0f}, {draw} {1000 * row.low:,.0f}" for row in rows.itertuples()]
    return f"{rows['heads'].iloc[0]} heads off, beside random heads{OF[rows.method.iloc[0]]}: {'; '.join(parts)} ({UNIT})."


def cost(row: pd.Series, won: pd.DataFrame) -> str:
    """Of a row of `removal.one_by_one` and `nearest`: what heads that cost least alone cost at once, beside another choice."""
    other, truth = nearest(won).own
    less = f"{_choosing(won.choice.iloc[0])} chooses as many that cost {number(other / truth, '%')} as much."
    times = _times(row) or "no more than the sum of their single costs that we can tell"
    return f"Yet off at once, the {row.name} heads that cost least alone cost {times}. {less[:1].upper()}{less[1:]}"


def idle(choices: Mapping[str, pd.Series], off: int, single: pd.DataFrame) -> list[Address]:
    """Heads that by the second of two choices of `off` go, though the first keeps them, and alone cost nothing we can tell."""
    own, its = (set(least(column, off)) for column in choices.values())
    return sorted(head for head in its - own if single.low[head] <= 0 <= single.high[head])


def why(off: int, some: Sequence[Address]) -> str:
    """Which of the heads that cost least the next figure is about."""
    told = f"Why? Of these {off} take {_heads(set(some))} (layer.head), whose intervals hold zero. Gradient importance would"
    return f"{told} keep them. What do they cost in other company?"


def on_top(costs: pd.DataFrame) -> str:
    """Of `removal.on_top`: what heads cost with nothing else off, and what on top of others."""
    _, alone, top = (row for _, row in costs.iterrows())
    told = f"With nothing else off, these heads cost {_thousandths(alone, 'rise', 'low', 'high')} {UNIT};"
    told += f" {top.name}, {_thousandths(top, 'rise', 'low', 'high')}."
    return told + " What a head costs depends on what else is off." * bool(top.low > alone.high)


def traded(choices: Mapping[str, pd.Series], off: int) -> str:
    """Which heads the first of two choices of `off` gives up, and which it keeps, in place of the second's."""
    own, its = (set(least(column, off)) for column in choices.values())
    name, kinds = _choosing(next(iter(choices))), next(iter(choices.values())).index.get_level_values("kind")
    first, told = name[:1].upper() + name[1:], f"The two choices of {off} differ in {count(len(own - its), 'head')}."
    told += f" {first} gives up {_heads(own - its)} (layer.head) and keeps {_heads(its - own)}." * (own != its)
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
    told = f"Over the whole text it points at the aligned word for {number(at, '.0%')} of target words (notebook 2)."
    return "" if at is None else told


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def prices(run: study.Run) -> pd.Series | None:
    """What it takes to choose heads by each criterion, in units of gradient importance (notebook 07); None where not known."""
    path = (folder := reference(run)) and layout.Chapter(folder / "07_what_it_costs").table("measures")
    return pd.read_csv(path, index_col="measure").cost if path and path.exists() else None


def in_short(won: pd.DataFrame, folder: Path | None, model: str, corpus: str) -> str:
    """What to do with any model: of `nearest`, and of what notebook 6 says of this model, where its tables are known."""
    own, other = nearest(won).own
    rank = f"With {won['heads'].max()} heads off its choice costs {number(own / other, '%')} of the other's here"
    made = {"controlled": " It reads generated text.", "natural": " It reads natural text."}.get(corpus, "")
    limits, train = f"One model, one training: another gives other heads (notebook 6).{made}", ""
    at = folder and layout.Chapter(folder / "06_do_measures_agree").table
    if at and at("removed_at_once").exists() and at("removed_and_trained_on").exists():
        cut, after = (
            pd.read_csv(at(name)).pivot_table(index=["model", "seed", "heads"], columns="criterion", values=value)
            for name, value in (("removed_at_once", "change"), ("removed_and_trained_on", "bleu"))
        )
        share, names = (cut[GRADIENT] / cut[TRUTH])[cut[TRUTH] > 0], cut.index.unique("model")
        if f"{model}{EVERY}" in names:
            own_share = share[f"{model}{EVERY}"]
            seeds = count(own_share.index.unique("seed").size, "training")
            rank += f", and {ends(own_share, '%')} in {len(own_share)} cuts over all types of notebook 6 ({seeds})"
        if DECODER in names:
            limits += f" In a decoder-only model the gradient wins {(share[DECODER] < 1).sum()} of {len(share[DECODER])} cuts."
        if model in after.index:
            _, low, high, runs = intervals.paired(*(after.loc[model, [name]] for name in (GRADIENT, TRUTH)))
            same = f"the two choices of encoder heads cannot be told apart (notebook 6, {count(runs, 'training')})"
            train = f"\n3. If you train on after the cut, do not agonise: then {same}." * bool(low <= 0 <= high)
    return (
        f"1. Rank heads by gradient importance: one backward pass. {rank}.\n2. Check both choices on other text, beside random"
        f" heads of the same types. Cut by the one that wins.{train}\n\n*Limits.* {limits}"
    )


def at_half(results: pd.DataFrame) -> str:
    """Of `removal.quality`, about half of the heads cut: what each choice costs beside the best random draw, in BLEU."""
    left = sorted(results["heads"][results.method == RANDOM].unique())
    half, last = (results[results["heads"] == heads].set_index("method") for heads in (left[(len(left) - 1) // 2], left[0]))
    choices = [name for name in half.index.unique() if name not in (RANDOM, ALIKE)]
    best, least_lost = (rows.loc[[RANDOM, ALIKE]].change.max() for rows in (half, last))
    lost = [f"{number(-half.change[name], '.1f')} by {_choosing(name)}" for name in choices]
    lost.append(f"{number(-best, '.1f')} by the best random draw")
    won = [name for name in choices if last["change low"][name] > least_lost]
    which = {0: "neither choice", 1: f"only {_choosing(*won[:1] or choices[:1])}"}.get(len(won), "each choice")
    told = f"With {results['heads'].max() - left[0]} off {which} clearly beats the best draw"
    return f"Cutting half of the heads costs, in BLEU, {listed(lost)}. {told}."


def _choosing(name: str) -> str:
    return f"{'the ' * name.startswith(('loss', 'choice'))}{name}"
