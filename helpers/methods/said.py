"""What the tables of notebook 00 say, in a sentence or two each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import study
from helpers.measures import measured
from helpers.measures.removal import RANDOM, least
from helpers.measures.table import TRUTH
from helpers.methods.contest.runs import DECODER
from helpers.methods.contest.tables import EVERY
from helpers.methods.removal import ALIKE
from helpers.reading import count, ends, interval, listed, number
from helpers.scores import intervals
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"


def needed(single: pd.DataFrame) -> str:
    """How many heads surely raise the loss, each off alone, by type; on (kind, layer, head), see `leave_one_out`."""
    kinds = single.groupby(level="kind", sort=False).size()
    sure = (measured.corrected(single) & (single.loss > 0)).groupby(level="kind").sum()
    return f"{listed(f'{sure[kind]} of {heads} {kind}' for kind, heads in kinds.items())} heads"


def together(curve: pd.DataFrame, off: int, other: str) -> str:
    """Of `removal.one_by_one`: how many times the sum of each alone heads cost together, by each choice."""
    known = curve[(curve[["alone_low", "other alone_low"]] > 0).all(axis=1) & (curve.filter(like="times_low") > 1).all(axis=1)]
    if off not in known.index:  # where a sum may be zero, or the two the same
        return f"Together, {off} heads do not surely cost more by either choice than the sum of their single costs."
    own, its = (_at(curve.loc[off, [f"{of}times{end}" for end in ("", "_low", "_high")]]) for of in ("", "other "))
    told = f"No: together, the {off} cheapest alone cost {own} times the sum of their single costs, by *{other}* {its} times."
    among = listed(ends(known[f"{of}times"], ".1f") for of in ("", "other "))
    return f"{told} Where both surely cost more ({ends(known.index)} off): {among}."


def _at(parts: Any, form: str = ".1f", times: float = 1) -> str:
    value, low, high = (times * float(part) for part in parts)
    return interval(value, low, high, form)


def nearest(won: pd.DataFrame) -> pd.DataFrame:
    """Of `removal.against_random`, the most heads off: beside the draws that are hardest to beat, of the same types, if any."""
    return won[(won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)) & (won["heads"] == won["heads"].max())]


def beside(won: pd.DataFrame) -> str:
    """Of the same what each choice costs, and how many random draws cost more."""
    rows = nearest(won)
    like = f" random draws{' of its types' * (rows.method.iloc[0] == ALIKE)}"
    parts = [
        f"*{row.choice}* {_at((row.own, row.own_low, row.own_high), ',.0f', 1000)}, below {row.beaten} of {row.draws}"
        f"{like * (not place)} (mean {number(1000 * row.rise, ',.0f')}){', undecided' * (row.beaten < row.draws)}"
        for place, row in enumerate(rows.itertuples())
    ]
    return f"With {won['heads'].max()} off, in {UNIT}: {'; '.join(parts)}."


def headline(choices: Mapping[str, pd.Series], won: pd.DataFrame, results: pd.DataFrame | None = None) -> str:
    """What many heads cost at once, and how many times that random heads cost: of `nearest` and, if any, `removal.quality`."""
    rows, off = nearest(won), won["heads"].max()
    lead = price(results) if results is not None else f"**{beside(won)}**"
    if rows.method.iloc[0] != ALIKE or rows.own_low.min() <= 0:
        return lead
    kinds = [[kind for kind, *_ in least(column, off)] for column in choices.values()]
    most, drawn = pd.Series(kinds[0]).mode()[0], won[(won.method == RANDOM) & (won["heads"] == off)].rise.iloc[0]
    alike, any_ = (listed(number(times, ".1f") for times in cost / rows.own) for cost in (rows.rise, drawn))
    told = f"Of {off} off, {listed(part.count(most) for part in kinds)} are {most} heads; random heads of the same types raise"
    return f"{lead} {told} the loss {alike} times as much, of any type {any_} times (means of {rows.draws.iloc[0]} draws)."


def price(results: pd.DataFrame) -> str:
    """Of `removal.quality`: what each choice costs where one surely beats every random draw, and where none does."""
    (total, *left), (first, second, *_), vain = results["heads"].unique(), results.method.unique(), beaten(results)
    rows, told = results[results.method != ALIKE].set_index(["method", "heads"]), [heads for heads in left if heads not in vain]
    shares = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}
    names = {heads: shares.get(1 - heads / total, str(total - heads)) for heads in left}
    free = [heads for heads in told if rows["change high"][first, heads] >= 0]
    groups = {
        "yes": free,
        "at a price": [heads for heads in told if heads not in free],
        "not told from random heads of the same types": vain,
    }
    lead = "; ".join(f"{listed(map(names.get, group))}, {text}" for text, group in groups.items() if group)
    own, more = (
        [_at(-rows.loc[(name, heads), [of, f"{of} high", f"{of} low"]]) for heads in told]
        for name, of in ((first, "change"), (second, "behind"))
    )
    parts = f" Cut by *{first}*, {listed(map(names.get, told))} of the heads cost {listed(own)} BLEU; by *{second}*"
    return f"**{lead[0].upper()}{lead[1:]}.**" + f"{parts} {listed(more)} more." * bool(told)


def beaten(results: pd.DataFrame) -> list[int]:
    """Of the same, the numbers of heads left with which no choice surely costs less than the best random draw."""
    best, surely = (part.groupby("heads").max() for _, part in results.groupby(results.method != ALIKE))
    return [heads for heads in results["heads"].unique()[1:] if surely["change low"][heads] <= best.change[heads]]


def stand_in(pair: pd.DataFrame, tried: int, row: pd.Series) -> str:
    """Of `removal.stand_in`, the best of so many pairs: what two heads cost alone, and both beyond that, if surely more."""
    one, other, _, beyond = (_at(row, times=1000) for row in pair[["rise", "low", "high"]].to_numpy())
    names = listed(f"{kind} layer {layer + 1} head {head + 1}" for kind, layer, head in pair.index[:2])
    told = f"The best of {tried} pairs (by dev text), {names}, cost {one} and {other} {UNIT} alone and {beyond}"
    told += f" beyond that together; all {row.name} cost {1000 * (row.together - row.alone):,.0f} beyond their sum."
    return told * bool(pair.low.iloc[3] > 0)


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists() and _table(folder, "removed_at_once").exists() and _table(folder, "contest").exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def elsewhere(folder: Path) -> str:
    """Of notebook 6: what gradient importance costs if its layer's norm divides it."""
    cut = pd.concat([_changes(at, "removed_at_once") for at in (folder, folder.parent / "natural")]).reset_index()
    cut = cut[(cut.model != DECODER) & (cut[GRADIENT] > 0)]
    dearer, every = cut[f"{GRADIENT}, by layer"] > cut[GRADIENT], cut.model.str.endswith(EVERY)
    told = f"Divided by its layer's norm, as in Michel et al., gradient importance costs more in {dearer[every].sum()} of"
    less = (cut[f"{GRADIENT}, by layer"] < cut[GRADIENT])[~every].sum()
    told += f" {every.sum()} cuts of heads of all types; of encoder heads alone in {dearer[~every].sum()}, less in {less},"
    told += f" of {(~every).sum()}"
    return f"{told} (notebook 6, {count(len(cut.groupby([cut.model.str.removesuffix(EVERY), 'seed'])), 'training')})."


def in_short(folder: Path | None, model: str) -> str:
    """What to do with any model, by notebook 6, where it is known."""
    (more, limits), train = (_cuts(folder, model), _trained_on(folder, model)) if folder else (("", ""), "")
    told = f"1. Rank by gradient importance: one backward pass.{more}\n2. Check both on other text;"
    told += " cut by the cheaper, if it beats twenty random draws of its types."
    return f"{told}{train}\n\n*Limits.* One training.{limits}"


def _cuts(folder: Path, model: str) -> tuple[str, str]:
    """Of notebook 6: what the choice by gradient importance costs beside the other, and how many heads are missed alone."""
    cut, europarl = (_changes(at, "removed_at_once") for at in (folder, folder.parent / "natural"))
    share = (cut[GRADIENT] / cut[TRUTH])[cut[TRUTH] > 0]
    every = share.filter(like=EVERY).drop((f"{model}{EVERY}", 1), errors="ignore")
    others = {DECODER: "of a decoder-only model", f"{model}, small": "of a smaller encoder"}
    rest = {called: share[at] for at, called in others.items() if at in share}
    rest["of Europarl's"] = europarl[GRADIENT] / europarl[TRUTH]
    told = f" In loss its choice costs {ends(every, '%')} of the other's in {count(len(every), 'cut')}"
    also = listed(f"{ends(part, '%')} in {len(part)} {called}" for called, part in rest.items())
    told += f" ({count(len(every.groupby(level=[0, 1])), 'other training')}, notebook 6), {also}."
    effects = pd.concat([pd.read_csv(_table(at, "effects_of_heads")) for at in (folder, folder.parent / "natural")])
    rows = effects[(effects.kind == "encoder") & ((effects.model != model) | (effects.seed != 1))].groupby("heads").differ_holm
    limits = f"{listed(f'{ends(part)} of {heads}' for heads, part in rows)} encoder heads surely change the loss alone"
    return told, f" Elsewhere {limits} ({count(len(rows.obj), 'training')})."


def _trained_on(folder: Path, model: str) -> str:
    """Of the same: what encoder heads cost by each choice if the model trains on; nothing of other models."""
    after = _changes(folder, "removed_and_trained_on")
    if model not in after.index:
        return ""
    here, there = (pd.read_csv(_table(at, "contest")).set_index("criterion") for at in (folder, folder.parent / "natural"))
    own, here = after.loc[model], -here[here.model == model][["value", "high", "low"]]
    behind = _at(intervals.paired(own[[GRADIENT]], own[[TRUTH]])[:3])
    gradient, random = (_at(here.loc[name]) for name in (GRADIENT, RANDOM))
    chosen, drawn = (ends(-there.value[there.index.isin(names)], ".1f") for names in ([GRADIENT, TRUTH], [RANDOM]))
    told = f"\n3. If the model trains on, {ends(own.index.get_level_values('heads'))} encoder heads left cost {gradient} BLEU"
    told += f" by the gradient, {behind} more by the loss, {random} at random ({count(len(own), 'training')}); on Europarl (one"
    return f"{told} training, {there['heads'].iloc[0]:.0f} left) {chosen} by either, {drawn} at random."


def _changes(folder: Path, table: str) -> pd.DataFrame:
    """A table of notebook 6 on (model, seed, heads left), a column a choice, its change."""
    return pd.read_csv(_table(folder, table)).pivot_table("change", ["model", "seed", "heads"], "criterion")


def _table(folder: Path, name: str) -> Path:
    return layout.Chapter(folder / "06_do_measures_agree").table(name)


def draws(results: pd.DataFrame, sentences: int) -> str:
    """Of `removal.quality` on so many sentences: what random draws cost, and where no choice is surely better than all."""
    total, *left = results["heads"].unique()
    random, vain = results[results.method == ALIKE], [str(total - heads) for heads in beaten(results)]
    told = f"Random heads cost {listed(ends(-random.change[random['heads'] == heads], '.1f') for heads in left)} BLEU"
    told += f" ({count(int((random['heads'] == left[0]).sum()), 'draw')}; {sentences:,} sentences)."
    return told + f" With {listed(vain)} off, no choice is surely better than the best draw." * bool(vain)
