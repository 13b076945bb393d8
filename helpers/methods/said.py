"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from helpers import study
from helpers.measures import measured
from helpers.measures.removal import RANDOM, least
from helpers.measures.table import TRUTH
from helpers.methods.removal import ALIKE, ENCODER
from helpers.reading import ends, interval, listed, number
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"
OF = {ALIKE: " of the same types", RANDOM: ""}


def needed(single: pd.DataFrame) -> str:
    """Which heads raise the loss, each off alone, in bold and in sentences; on (kind, layer, head), see `leave_one_out`."""
    holm = measured.corrected(single)
    kinds, sure = single.groupby(level="kind", sort=False).size(), (holm & (single.loss > 0)).groupby(level="kind").sum()
    full = [kind for kind in kinds.index if sure[kind] == kinds[kind]]
    kind_of = {kind: f"{kind} " if len(kinds) > 1 else "" for kind in kinds.index}
    parts = [f"{sure[kind] or 'none'} of {kinds[kind]} {kind_of[kind]}heads" for kind in kinds.index if kind not in full]
    every = f"all {kinds[full].sum()} {listed(full) if len(kinds) > 1 else ''}".strip() + " heads"
    said = ", and surely ".join([every] * bool(full) + [listed(parts)] * bool(parts))
    told = f"**{said[:1].upper()}{said[1:]}.** Off alone, each raises the loss, corrected for many tests."
    some = single[~holm & ((single.low > 0) | (single.high < 0))]
    if some.empty:
        return told
    of, fall = listed(some.index.unique("kind")) + " " if len(kinds) > 1 else "", int((some.high < 0).sum())
    lower = f"; {fall} lower{'s' * (fall == 1)} it" * bool(fall)
    return f"{told} {len(some)} more {of}head{'s' * (len(some) > 1)} change{'s' * (len(some) == 1)} it only uncorrected{lower}."


def together(row: pd.Series, half: pd.Series) -> str:
    """Of two rows of `removal.one_by_one`: what heads cost at once, beside the sum of what each costs alone."""
    costs = {}
    for name in ("together", "alone"):
        value, low, high = 1000 * row[[name, f"{name}_low", f"{name}_high"]]
        costs[name] = interval(value, low, high, ",.0f")
    more = f"; with {half.name} it is {number(1000 * half.together, ',.0f')} against {number(1000 * half.alone, ',.0f')}"
    return (
        f"Off at once, the {row.name} cheapest heads cost {costs['together']} {UNIT}, and their single costs add up to"
        f" {costs['alone']}{more * bool(half.name != row.name)}."
    )


def nearest(won: pd.DataFrame) -> pd.DataFrame:
    """Rows of `removal.against_random` beside the random heads that are hardest to beat: of the same types, if drawn."""
    return won[won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)]


def beside(won: pd.DataFrame) -> str:
    """Of `removal.against_random`, the most heads off: what each choice costs, beside the cheapest random draw."""
    rows = nearest(won)
    rows = rows[rows["heads"] == rows["heads"].max()]
    parts = [f"{_choosing(row.choice)} {1000 * row.own:,.0f} ({1000 * row.low:,.0f})" for row in rows.itertuples()]
    like = f"in brackets the cheapest random draw{OF[rows.method.iloc[0]]}"
    return f"With {rows['heads'].iloc[0]} heads off the loss rises, in {UNIT}: by {listed(parts)}; {like}."


def passed(won: pd.DataFrame) -> str:
    """Of the same: which choices beat every random draw with the most heads off."""
    rows = nearest(won)
    rows = rows[rows["heads"] == rows["heads"].max()]
    won_all = rows.beaten == rows.draws
    does, fails = ([_choosing(name) for name in rows.choice[part]] for part in (won_all, ~won_all))
    told = f"{listed(does)} beat{'s' * (len(does) < 2)} every random draw{OF[rows.method.iloc[0]]}"
    return f"with {rows['heads'].iloc[0]} off, {told}" + f"; {listed(fails)} does not" * bool(does and fails)


def shared(choices: Mapping[str, pd.Series], count: int) -> str:
    """Which heads only one of two choices of `count` heads takes, and how many any draw of the first one's types shares."""
    index, taken = next(iter(choices.values())).index, {name: least(column, count) for name, column in choices.items()}
    first, second = map(set, taken.values())
    told, takes = f"The two choices of {count} share {len(first & second)} heads.", []
    for name, alone in zip(taken, (first - second, second - first), strict=True):
        kinds = {kind: [f"{layer + 1}.{head + 1}" for own, layer, head in sorted(alone) if own == kind] for kind, *_ in alone}
        parts = [f"{kind} {listed(numbers)}" for kind, numbers in sorted(kinds.items())]
        takes.append(f"only {_choosing(name)} takes {listed(parts)}")
    told += f" Of the rest (layer.head), {', and '.join(takes)}." * (first != second)
    all_of, own = (pd.Series([kind for kind, *_ in part]).value_counts() for part in (index, first))
    same, most = (2 * own - all_of).clip(lower=0).sum(), own.idxmax()
    name = _choosing(next(iter(taken)))
    of = f" {name[:1].upper()}{name[1:]} takes {own[most]} of the {all_of[most]} {most} heads, so a draw of the same types"
    return told + f"{of} shares at least {same:.0f} with it: a weak check." * bool(same > 0 and len(all_of) > 1)


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
    less = (rows[TRUTH] - rows[GRADIENT])[lambda gap: gap != 0] > 0
    own = less.index.get_level_values("model") == f"{model}, all kinds"
    parts = [f"in {part.sum()} of {len(part)} {cuts}" for part, cuts in
             ((less[own], "cuts of this kind of model"), (less[~own], "others")) if len(part)]  # fmt: skip
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
        f" but this model does: all encoder heads cut costs {cost} BLEU, or {number(yard['cost'], '.1f')} where the rest trains"
        " on."
    )


def _at_half(results: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Rows of `removal.quality` on method, as many heads left as in the middle of its numbers; its choices."""
    left = sorted(results["heads"][results.method == RANDOM].unique(), reverse=True)
    rows = results[results["heads"] == left[len(left) // 2]].set_index("method")
    return rows, [name for name in dict.fromkeys(rows.index) if name not in (RANDOM, ALIKE, ENCODER)]


def at_half(results: pd.DataFrame) -> str:
    """Of `removal.quality`, about half of the heads cut: what each choice costs beside the best random draw, in BLEU."""
    rows, choices = _at_half(results)
    lost = [f"{number(-rows.change[name], '.1f')} BLEU if {_choosing(name)} chooses" for name in choices]
    draws = rows.loc[[ALIKE]].change
    best = f"the best of {len(draws)} random draws of the same types costs {number(-draws.max(), '.1f')}"
    return f"Cutting half of the heads costs {listed(lost)}; {best}."


def _choosing(name: str) -> str:
    return f"{'the ' * name.startswith(('loss', 'choice'))}{name}"


def in_detail(results: pd.DataFrame) -> str:
    """The same with intervals, and with random heads of any type."""
    rows, choices = _at_half(results)
    lost = []
    for name in choices:
        value, low, high = -rows.loc[name, ["change", "change high", "change low"]]
        lost.append(f"{interval(value, low, high, '.1f')} by {_choosing(name)}")
    drawn = {name: ends(-rows.loc[[name]].change, ".0f") for name in (ALIKE, RANDOM)}
    lost += [f"{drawn[ALIKE]} by random heads of the same types", f"{drawn[RANDOM]} by random heads of any type"]
    return f"With {rows['heads'].iloc[0]} heads left BLEU falls by {listed(lost)} (95 % intervals, over sentences)."
