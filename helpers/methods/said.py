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
from helpers.study import layout

GRADIENT = "gradient, example"
UNIT = "millinats per token"


def needed(single: pd.DataFrame) -> str:
    """Which heads surely raise the loss, each off alone; on (kind, layer, head), see `leave_one_out`."""
    kinds = single.groupby(level="kind", sort=False).size()
    sure = (measured.corrected(single) & (single.loss > 0)).groupby(level="kind").sum()
    parts = [f"{sure[kind]} of {heads}{f' {kind}' * (len(kinds) > 1)}" for kind, heads in kinds.items()]
    return f"Off alone, {listed(parts)} heads are surely missed."


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
    """Of the same what each choice costs, and how many random draws cost more."""
    rows = nearest(won)
    parts = [
        f"*{row.choice}* {_thousandths(row, 'own', 'own_low', 'own_high')}, below {row.beaten} of {row.draws} (p {row.p:.3f})"
        for _, row in rows.iterrows()
    ]
    like = " of the same types" * (rows.method.iloc[0] == ALIKE)
    return f"With {won['heads'].max()} off, beside random heads{like}, in {UNIT}: {'; '.join(parts)}."


def headline(single: pd.DataFrame, row: pd.Series, won: pd.DataFrame, results: pd.DataFrame | None = None) -> str:
    """Which heads are missed, and what many cost at once: of `needed`, `together`, `nearest` and, if any, `removal.quality`."""
    times, (own, other) = _times(row) or "no more than the sum of their single costs that we can tell", nearest(won).own
    at_once = f"Yet off at once, the {row.name} heads that cost least alone cost {times}."
    told = f"**{needed(single)}** {at_once} By *{won.choice.iloc[0]}* as many cost {number(own / other, '%')} as much."
    told = told if results is None else f"{price(results)} {needed(single)} {at_once}"
    return f"{told} So try both choices beside random heads before you cut."


def price(results: pd.DataFrame) -> str:
    """Of `removal.quality`: what a quarter and half of the heads cost by the first choice, and half by the second."""
    (total, quarter, half, *_), (first, second, *_) = results["heads"].unique(), results.method.unique()
    rows = results[results.method != ALIKE].set_index(["heads", "method"])
    lost = [rows.loc[place] for place in ((quarter, first), (half, first), (half, second))]
    least, own, other = (interval(-row.change, -row["change high"], -row["change low"], ".1f") for row in lost)
    free = lost[0]["change low"] <= 0 <= lost[0]["change high"]
    cost = f"no BLEU that we can tell ({least})" if free else f"{least} BLEU"
    told = f"**Cutting {total - quarter} of {total} heads by *{first}* costs {cost}, cutting {total - half} costs {own}.**"
    return f"{told} By *{second}*, {total - half} cost {other}."


def idle(choices: Mapping[str, pd.Series], off: int, single: pd.DataFrame) -> list[Address]:
    """Heads that by the second of two choices of `off` go, though the first keeps them, and alone cost nothing we can tell."""
    own, its = (set(least(column, off)) for column in choices.values())
    return sorted(head for head in its - own if single.low[head] <= 0 <= single.high[head])


def on_top(costs: pd.DataFrame, some: Sequence[Address]) -> str:
    """Of `removal.on_top` of `some`: what heads cost off one by one, with nothing else off, and on top of others."""
    single, alone, top = (_thousandths(row, "rise", "low", "high") for _, row in costs.iterrows())
    noise = " (noise helped them look idle)" * bool(costs.low.iloc[0] > 0)
    told = f"{_heads(set(some))} cost {single} millinats one by one{noise}, {alone} together, {top} {costs.index[2]}."
    told += " Costs depend on what else is off." * bool(costs.low.iloc[2] > costs.high.iloc[1])
    return told[:1].upper() + told[1:]


def traded(choices: Mapping[str, pd.Series], off: int) -> str:
    """In how many heads two choices of `off` differ, and how alike their measures rank; what the first alone cuts."""
    (name, one), (_, other) = choices.items()
    own, its, kinds = {*least(one, off)}, {*least(other, off)}, one.index.get_level_values("kind")
    told = f"The two choices of {off} differ in {count(len(own - its), 'head')}: Spearman's correlation of the measures is"
    told += f" {number(one.corr(other, 'spearman'), '.2f')} over all heads"
    if len(cut := {kind for kind, *_ in own}) == 1 < kinds.nunique():
        (kind,), left = cut, kinds.isin(cut).sum() - off
        told += f", {number(one[kind].corr(other[kind], 'spearman'), '.2f')} over {kind} heads"
        told += f". By *{name}* {off} {kind} heads go, so this check only asks which {left} to keep"
    return f"{told}."


def _heads(some: set[tuple[str, int, int]]) -> str:
    places = {of: [f"{layer + 1}.{head + 1}" for kind, layer, head in sorted(some) if kind == of] for of, *_ in sorted(some)}
    return " and ".join(f"{kind} {listed(own)}" for kind, own in places.items())


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists() and _table(folder, "removed_at_once").exists() and _table(folder, "contest_paired").exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def elsewhere(folder: Path | None) -> str:
    """Of notebook 6, where it is known: what gradient importance costs beside its kin, where heads of all types go."""
    if not folder:
        return ""
    every = _changes(folder, "removed_at_once").filter(like=EVERY, axis=0)
    layered, less = every[f"{GRADIENT}, by layer"], every.lt(every[GRADIENT], axis=0).sum()
    told = f"In {len(every)} other cuts of heads of all types (notebook 6), gradient importance divided by its layer's norm, as"
    told += f" in Michel et al., costs {ends(layered / every[GRADIENT], '.0f')} times as much as ours, in"
    told += f" {(layered >= every[RANDOM]).sum()} no less than random heads. Cheaper, not tested: the gradient per token in"
    return f"{told} {less['gradient, token']}, L1 gates (trained under a price on their size) in {less['L1 gates']}."


def prices(run: study.Run) -> pd.Series | None:
    """What it takes to choose heads by each criterion, in units of gradient importance (notebook 07); None where not known."""
    path = (folder := reference(run)) and layout.Chapter(folder / "07_what_it_costs").table("measures")
    return pd.read_csv(path, index_col="measure").cost if path and path.exists() else None


def in_short(won: pd.DataFrame, folder: Path | None, model: str, corpus: str) -> str:
    """What to do with any model: of `nearest`, and of what notebook 6 says, where it is known."""
    own, other = nearest(won).own
    rank = f"With {won['heads'].max()} heads off its choice costs {number(own / other, '%')} of the other's here"
    made = {"controlled": " It reads generated text.", "natural": " It reads natural text."}.get(corpus, "")
    (more, limits), train = (_cuts(folder, model), _trained_on(folder, model)) if folder else (("", ""), "")
    return (
        f"1. Rank heads by gradient importance: a forward and a backward pass. {rank}{more}.\n2. Check both choices on other"
        f" text, beside random heads of the same types. Cut by the one that wins.{train}\n\n*Limits.* One model, one training:"
        f" another gives other heads.{made}{limits}"
    )


def _cuts(folder: Path, model: str) -> tuple[str, str]:
    """Of notebook 6: what the choice by gradient importance costs beside the other, and where it loses."""
    cut, europarl = (_changes(at, "removed_at_once") for at in (folder, folder.parent / "natural"))
    share = (cut[GRADIENT] / cut[TRUTH])[cut[TRUTH] > 0]
    every = share.filter(like=EVERY)
    told = f", {ends(every, '%')} in {len(every)} cuts of heads of all types in notebook 6"
    if (own := (f"{model}{EVERY}", 1)) in share:
        told += f" (this training {ends(share[own], '%')})"
    told += f", {ends(europarl[GRADIENT] / europarl[TRUTH], '%')} in {len(europarl)} cuts of encoder heads on Europarl"
    others = {DECODER: "cuts of a decoder-only model", f"{model}, small": "of encoder heads of a smaller model"}
    won = [f"{(share[at] < 1).sum()} of {len(share[at])} {called}" for at, called in others.items() if at in share]
    return told, f" The gradient costs less in {listed(won)}." * bool(won)


def _trained_on(folder: Path, model: str) -> str:
    """Of the same: what encoder heads of each choice gain over random ones if the model trains on; nothing of other models."""
    after, both = _changes(folder, "removed_and_trained_on"), [GRADIENT, TRUTH]
    if model not in after.index:
        return ""
    places = folder, folder.parent / "natural"
    gains = (pd.read_csv(_table(at, "contest_paired"), header=[0, 1], index_col=0)[RANDOM].loc[both] for at in places)
    own, europarl = ([interval(gain, least, most, ".1f") for gain, least, most, _ in table.to_numpy()] for table in gains)
    told = f"\n3. If the model trains on, encoder heads chosen by the gradient beat random heads by {own[0]} BLEU, by the loss"
    return f"{told} {own[1]} ({count(len(after.loc[model]), 'training')}; Europarl, one: {listed(europarl)})."


def _changes(folder: Path, table: str) -> pd.DataFrame:
    """A table of notebook 6 on (model, seed, heads left), a column a choice, its change."""
    return pd.read_csv(_table(folder, table)).pivot_table("change", ["model", "seed", "heads"], "criterion")


def _table(folder: Path, name: str) -> Path:
    return layout.Chapter(folder / "06_do_measures_agree").table(name)


def at_half(results: pd.DataFrame, sentences: int) -> str:
    """Of `removal.quality` on so many sentences: what random heads of the same types cost where half are off."""
    total, _, left, *_ = results["heads"].unique()
    lost = -results.change[(results["heads"] == left) & (results.method == ALIKE)]
    told = f"With {total - left} off, {count(lost.size, 'random draw')} cost {number(lost.mean(), '.1f')} BLEU on average,"
    return f"{told} {number(lost.min(), '.1f')} at best ({sentences:,} sentences)."
