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
    told = f"{interval(row.times, row.times_low, row.times_high, ',.0f')} times the sum of their single costs"
    return told * bool(row.alone_low > 0 and row.times_low > 1)


def _thousandths(row: Any, *names: str) -> str:
    value, low, high = (1000 * float(getattr(row, name)) for name in names)
    return interval(value, low, high, ",.0f")


def nearest(won: pd.DataFrame) -> pd.DataFrame:
    """Of `removal.against_random`, the most heads off: beside the draws that are hardest to beat, of the same types, if any."""
    return won[(won.method == (ALIKE if ALIKE in set(won.method) else RANDOM)) & (won["heads"] == won["heads"].max())]


def beside(won: pd.DataFrame) -> str:
    """Of the same what each choice costs, and how many random draws cost more."""
    rows = nearest(won)
    like = " of the same types" * (rows.method.iloc[0] == ALIKE)
    parts = [
        f"*{row.choice}* {_thousandths(row, 'own', 'own_low', 'own_high')}, random heads{like * (not place)}"
        f" {number(1000 * row.rise, ',.0f')} ({'mean; dearer in ' * (not place)}{row.beaten} of {row.draws})"
        for place, row in enumerate(rows.itertuples())
    ]
    return f"With {won['heads'].max()} off, in {UNIT}: {'; '.join(parts)}."


def headline(single: pd.DataFrame, row: pd.Series, won: pd.DataFrame, results: pd.DataFrame | None = None) -> str:
    """Which heads are missed, and what many cost at once: of `needed`, `together`, `nearest` and, if any, `removal.quality`."""
    times, (own, other) = _times(row) or "no more than the sum of their single costs that we can tell", nearest(won).own
    told = f" By *{won.choice.iloc[0]}* as many cost {number(own / other, '%')} as much." if results is None else ""
    cost = "" if results is None else f" {price(results)}"
    at_once = f" Together, the {row.name} that cost least alone cost {times}."
    return f"**{needed(single)}**{cost}{at_once}{told} So check before you cut."


def price(results: pd.DataFrame) -> str:
    """Of `removal.quality`: what each choice costs, the more heads the dearer."""
    (total, *left), (first, second, *_) = results["heads"].unique(), results.method.unique()
    lost = results[results.method != ALIKE].set_index(["method", "heads"])
    lost = pd.DataFrame({"cost": -lost.change, "low": -lost["change high"], "high": -lost["change low"]})
    own, other = ([_at(lost.loc[name, heads]) for heads in left] for name in (first, second))
    cost = f"no BLEU that we can tell ({own[0]})" if lost.low[first, left[0]] <= 0 else f"{own[0]} BLEU"
    more = [f"{total - heads} cost {told}" for heads, told in zip(left[1:], own[1:], strict=True)]
    return f"Cutting {total - left[0]} of {total} by *{first}* costs {cost}, {listed(more)}; by *{second}* {listed(other)}."


def _at(row: Any) -> str:
    value, low, high = row
    return interval(value, low, high, ".1f")


def traded(choices: Mapping[str, pd.Series], row: pd.Series, single: pd.Series) -> str:
    """Of a row of `removal.one_by_one` of the second of two choices: what heads cost that one alone takes, and the choices."""
    (name, one), (other, two) = choices.items()
    own, its = {*least(one, row.name)}, {*least(two, row.name)}
    if own == its:
        return f"The choices of {row.name} are the same heads."
    alone = [number(1000 * single[sorted(part)].sum(), ".0f") for part in (its - own, own - its)]
    costs = [_thousandths(row, of, f"{of}_low", f"{of}_high") for of in ("together", "other")]
    told = f"The choices of {row.name} share {count(len(own & its), 'head')}. One by one, on the text of the choice, the"
    told += f" {len(its - own)} that only *{other}* takes cost {alone[0]} {UNIT}, the {len(own - its)} that only *{name}* takes"
    told += f" {alone[1]}. With them {row.name} off at once cost {costs[0]} and {costs[1]} on test text"
    return f"{told}{': what a head costs depends on what else is off' * bool(row.together_low > row.other_high)}."


def typed(choices: Mapping[str, pd.Series], won: pd.DataFrame) -> str:
    """Of which type most heads of two choices are, and how much of their gain on random heads any heads of their types have."""
    rows, off = nearest(won), won["heads"].max()
    if rows.method.iloc[0] != ALIKE:
        return ""
    kinds = [[kind for kind, *_ in least(column, off)] for column in choices.values()]
    most = pd.Series(kinds[0]).mode()[0]
    drawn = won[(won.method == RANDOM) & (won["heads"] == off)].rise.iloc[0]
    gained = listed([number(share, "%") for share in (drawn - rows.rise) / (drawn - rows.own)])
    told = f"Of the choices of {off}, {listed([str(part.count(most)) for part in kinds])} are {most} heads. Random heads of any"
    told += (
        f" type cost {number(1000 * drawn, ',.0f')}: of what the choices gain on them, any heads of these types gain {gained}."
    )
    return told


def reference(run: study.Run) -> Path | None:
    """The folder of published tables, where they are of the same profile and text as a run of a model of this study."""
    folder, given = study.ROOT / "figures" / run.corpus, run.parameters
    shared = layout.Chapter(folder / run.name).shared
    own = not any(given.get(name) for name in ("overrides", "pretrained", "text")) and given.get("seed", 1) == 1
    own = own and shared.exists() and _table(folder, "removed_at_once").exists() and _table(folder, "contest_paired").exists()
    return folder if own and study.read_json(shared)["parameters"]["profile"] == given["profile"] else None


def elsewhere(folder: Path | None) -> str:
    """Of notebook 6, where it is known: what gradient importance keeps of its gain if its layer's norm divides it."""
    if not folder:
        return ""
    change = _changes(folder, "removed_at_once")
    gain = change.sub(change[RANDOM], axis=0).groupby(level=[0, 1]).mean().groupby(level=0).mean()
    kept, every = gain[f"{GRADIENT}, by layer"] / gain[GRADIENT], gain.index.str.endswith(EVERY)
    told = (
        f"Divided by its layer's norm, as in Michel et al., gradient importance keeps {ends(kept[every], '%')} of its gain on"
    )
    told += f" random heads where heads of all types go, {ends(kept[~every], '%')} where heads of one type go (notebook 6,"
    return f"{told} {len(kept)} settings)."


def prices(run: study.Run) -> pd.Series | None:
    """What it takes to choose heads by each criterion, in units of gradient importance (notebook 07); None where not known."""
    path = (folder := reference(run)) and layout.Chapter(folder / "07_what_it_costs").table("measures")
    return pd.read_csv(path, index_col="measure").cost if path and path.exists() else None


def in_short(won: pd.DataFrame, folder: Path | None, model: str, corpus: str, results: pd.DataFrame | None = None) -> str:
    """What to do with any model: of `nearest`, `removal.quality`, and of what notebook 6 says, where it is known."""
    share = pd.Series(own / other for own, other in [nearest(won).own])
    if results is not None:
        losses = results[results.method != ALIKE].pivot_table("loss", "heads", "method")[[*results.method.unique()[:2]]]
        share = (losses.iloc[:-1] - losses.iloc[-1]).apply(lambda costs: costs.iloc[0] / costs.iloc[1], axis=1)
    rank = f"In loss its choice costs {ends(share, '%')} of the other's in {count(len(share), 'cut')} here"
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
    told = f", {ends(every, '%')} in {len(every)} cuts of {count(len(every.groupby(level=[0, 1])), 'training')} (notebook 6), "
    told += f"{ends(europarl[GRADIENT] / europarl[TRUTH], '%')} in {count(len(europarl), 'cut')} of encoder heads on Europarl"
    others = {DECODER: "cuts of a decoder-only model", f"{model}, small": "of encoder heads of a smaller model"}
    won = [f"{(share[at] > 1).sum()} of {len(share[at])} {called}" for at, called in others.items() if at in share]
    return told, f" The gradient costs more in {listed(won)}." * bool(won)


def _trained_on(folder: Path, model: str) -> str:
    """Of the same: what encoder heads of each choice gain over random ones if the model trains on; nothing of other models."""
    after, both = _changes(folder, "removed_and_trained_on"), [GRADIENT, TRUTH]
    if model not in after.index:
        return ""
    own, its = (pd.read_csv(_table(folder, "contest_paired"), header=[0, 1], index_col=0)[RANDOM].loc[both]).to_numpy()
    (gain, other), few = (_at(row[:3]) for row in (own, its)), count(len(after.loc[model]), "training")
    europarl = pd.read_csv(_table(folder.parent / "natural", "contest"))
    europarl = europarl.drop_duplicates("criterion").set_index("criterion").value
    told = f"\n3. If the model trains on, the gradient's encoder heads beat random ones by {gain} BLEU, the loss's"
    told += f" {'are not told from them' if its[1] <= 0 else 'do so'} ({other}; {few}). On Europarl (one training) both do, by"
    return f"{told} {listed([number(europarl[name] - europarl[RANDOM], '.1f') for name in both])}."


def _changes(folder: Path, table: str) -> pd.DataFrame:
    """A table of notebook 6 on (model, seed, heads left), a column a choice, its change."""
    return pd.read_csv(_table(folder, table)).pivot_table("change", ["model", "seed", "heads"], "criterion")


def _table(folder: Path, name: str) -> Path:
    return layout.Chapter(folder / "06_do_measures_agree").table(name)


def draws(results: pd.DataFrame, sentences: int) -> str:
    """Of `removal.quality` on so many sentences: what the best random draw costs, and where no choice is surely better."""
    total, *left = results["heads"].unique()
    rows = [results[results["heads"] == heads] for heads in left]
    best = [-part.change[part.method == ALIKE].max() for part in rows]
    surely = [-part["change low"][part.method != ALIKE].max() for part in rows]
    of = count(int((rows[0].method == ALIKE).sum()), "random draw")
    vain = [str(total - heads) for heads, own, other in zip(left, surely, best, strict=True) if own >= other]
    told = f"The best of {of} costs {listed([number(cost, '.1f') for cost in best])} BLEU ({sentences:,} sentences)."
    return told + f" With {listed(vain)} off, no choice is surely better." * bool(vain)
