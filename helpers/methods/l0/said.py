"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import LOSS, NAMES
from helpers.reading import interval, listed, number

KEPT = 0.95  # of what encoder attention is worth: then heads "can go"
SURVIVAL = "kept by L0"
SURE = 0.05
NEVER = "worth from the start"
_CALLED = {
    RANDOM: "random heads", NAMES["l0"]: "L0, gates and training at once", NAMES["map"]: "L0's heads, trained as the others",
    NAMES["gradual"]: "gradual pruning", SURVIVAL: "how long L0 keeps it",
}  # fmt: skip


def named(criterion: str) -> str:
    """What people call a way to choose heads: a criterion of the settings, a measure or a method."""
    measure = runs.called(criterion)
    return _CALLED.get(measure) or (MEASURES[measure].title if measure in MEASURES else measure)


def chosen(run: str) -> str:
    """What people call the way in which a run chose its heads: its name without the price, draws in words."""
    name, _, draw = run.partition(" #")
    bare = named(name.rpartition(" ")[0] or name)
    return f"{bare}, draw {draw or 1}" if draw or bare == named(RANDOM) else bare


def asked(kinds: Iterable[str]) -> str:
    """Which heads a sweep asks about."""
    found = [KIND_TITLES[kind].removesuffix(" self") for kind in kinds]
    return "heads of all kinds" if len(found) == len(KIND_TITLES) else f"{listed(found)} heads"


def prices(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.prices` of several models: a line a model, all prices in one cell."""
    flat = table.reset_index()
    told = {name: lambda each: ", ".join(f"{value:g}" for value in each) for name in ("lambda", "concrete_coef")}
    return flat.groupby("model", sort=False).agg(told | {"gated layers": "first"})


def half(table: pd.DataFrame, ends: bool = False) -> str:
    """Of `tables.half_left` with `tables.worth`: what is kept of the cost of removing all heads, or of never having had any.

    With `ends` the intervals of all models, and in how many the lower end is high enough.
    """
    table = table[table.share.notna()].droplevel("test set")
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    told = [f"{name} {_share(row) if ends or not place else number(row.share, '%')}"
            for place, (name, row) in enumerate(table.iterrows())]  # fmt: skip
    told[0] = (
        f"{table.index[0]} keeps {_share(table.iloc[0])} of what removing all afterwards costs ({table.worth.iloc[0]:.1f} BLEU)"
    )
    if len(told) > 3 and not ends:
        told[1:] = [f"others {100 * table.share[1:].min():.0f} to {number(table.share[1:].max(), '%')}"]
    said = f"With at most half its encoder heads {', '.join(told)}"
    for name, row in (table.dropna(subset=NEVER) if NEVER in table else table[:0]).iterrows():
        said += f"; of what training without them costs ({row[NEVER]:.1f} BLEU), {name} {_share(row, 'share from the start')}"
    fine = f"At least {number(KEPT, '%')} by its interval: {(table.share_low >= KEPT).sum()} of {len(table)} models"
    return f"{said}. {fine} (the verdict corrects for all rows)." if ends else f"{said}."


def _share(row: pd.Series, name: str = "share") -> str:
    return interval(row[name], row[f"{name}_low"], row[f"{name}_high"], "%")


def elsewhere(both: pd.DataFrame) -> str:
    """Of `tables.beside_other_texts`: what is kept on the other track's text ("... text)"); nothing where there is none."""
    rows = both[both.panel.str.startswith("%") & both.series.str.contains(" text)", regex=False) & both.kept.between(1, 50)]
    rows = rows.loc[rows.groupby("series", sort=False).kept.idxmax()]
    told = [
        f"{row.series} keeps {row.value:.0f} % of {'only ' * (row.worth < 5)}{row.worth:.1f} BLEU" for row in rows.itertuples()
    ]
    return f"Published, with as few heads: {listed(told)}." if told else ""


def all_kinds(within: pd.DataFrame, scratch: pd.DataFrame) -> str:
    """Of `tables.largest_pruning` and `tables.against_scratch`, by model: heads that are needed, and what training brings."""
    models = within.index.get_level_values("model")
    need = [f"{row.kept} of {row.total} ({model})" for model, row in zip(models, within.itertuples(), strict=True)]
    sure = ", by interval only with all" if (within.kept_surely >= within.total).all() else ""
    return f"All but {LOSS:g} BLEU is left with {listed(need)} heads{sure}; {from_scratch(scratch)}."


def from_scratch(scratch: pd.DataFrame) -> str:
    """Of `tables.against_scratch`: how often a head map is better from scratch than pruned, and by how much."""
    if scratch.empty:
        return "no head map was trained from scratch"
    cases = f"{(scratch.change < 0).sum()} of {len(scratch)} cases, by interval in {(scratch.high < 0).sum()}"
    return f"from scratch the same map is better in {cases} ({-scratch.change.max():+.2f} to {-scratch.change.min():+.2f} BLEU)"


def by_kind(table: pd.DataFrame, example: bool = True) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first and decoder-encoder heads last, and a run where these do not."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    stay = [f"stay longest in {(cross > decoder).sum()}", f"tie with decoder heads in {(cross == decoder).sum()}"]
    if (sooner := cross < decoder).any():
        row = table[sooner].iloc[0]
        shares = f"{number(cross[row.name], '%')} against {number(decoder[row.name], '%')}"
        told = f" ({row.model}, {row.total_kept} of {row.total} heads: {shares})" if example else ""
        stay.append(f"go before these in {sooner.sum()}{told}")
    unlike = "" if table["starts alike"].all() else "; only encoder attention starts from zero, so no order follows"
    first = ((encoder < decoder) & (encoder < cross)).sum()
    return f"Encoder heads go first in {first} of {len(table)} runs; decoder-encoder heads {listed(stay)}{unlike}."


def functions(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay."
    more, sure = int((of_any.stay > of_any.expected).sum()), int((of_any.p_holm < SURE).sum())
    few = f": {of_any.had.max()} such heads in a model, at most, are too few to tell" if not sure else ""
    return (
        f"Heads with a function stay more often than chance has it in {more} of {len(of_any)} pruned models, surely (corrected"
        f" for all comparisons) in {sure or 'none'}{few}."
    )


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.drift` by model: heads left in all pruned models together, and what became of their functions."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    return groups[["heads", "functional_before", "same", "gained", "lost", "other"]].sum().assign(pruned=groups.size())


def gone_at_once(points: pd.DataFrame) -> str:
    """Of `tables.equal_heads`, its BLEU at once: what keeps most, mean over all counts, and what is below random heads."""
    cells, chance = points.pivot_table("value", ["panel", "heads"], "method"), named(RANDOM)
    means = cells.mean().sort_values(ascending=False)
    best = means.drop(chance, errors="ignore").head(2)
    if best.empty or chance not in means:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    worse = cells.lt(cells[chance], axis=0)
    told = [f"*{name}* with {listed(worse.index[worse[name]].unique('heads'))}" for name in worse.columns[worse.any()]]
    below = f"{len(told)} measures at some count" if len(told) > 2 else listed(told)
    return (
        f"Removed at once, heads chosen by {' and '.join(f'*{name}*' for name in best.index)} keep most:"
        f" {listed(map(number, best))} BLEU, mean over {len(cells)} head counts (random heads {number(means[chance])}; below"
        f" them: {below})."
    )


def further(table: pd.DataFrame) -> str:
    """Of `tables.trained_on` of one model: whether L0 chooses better, and which choices are no better than random draws."""
    bleu = table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean()
    drawn, own = (
        bleu[bleu.index.str.startswith(named(RANDOM))],
        bleu[bleu.index.isin([named(NAMES["l0"]), named(NAMES["map"])])],
    )
    others = bleu.drop([*drawn.index, *own.index])
    if drawn.empty or own.empty or others.empty:
        return ""
    above, better = bleu[bleu > drawn.max()], [f"*{name}*" for name in others.index[others >= own.max()]]
    said = f"Trained further, L0 chooses {f'no better than {listed(better)}' if better else 'best by value'}"
    said += f": the best {len(above)} lie within {above.max() - above.min():.1f} BLEU" if len(above) > 1 else ""
    worse = [f"*{name}*" for name in others.index.difference(above.index, sort=False)]
    return f"{said}. No better than random heads ({drawn.min():.1f} to {drawn.max():.1f}): {listed(worse)}."


def truths(told: pd.DataFrame, names: Collection[str]) -> str:
    """Of rank correlations by (truth and model, criterion): the best criterion for each truth, other truths left out."""
    said = []
    for truth in names:
        part = told[told.index.get_level_values("truth").str.startswith(truth)].rho
        mean = part.drop(list(names), level="criterion", errors="ignore").groupby("criterion").mean()
        if mean.notna().any():
            said.append(f"{truth} is predicted best by {mean.idxmax()} ({number(mean.max(), '.2f')})")
    return f"Of all criteria, by rank correlation, mean over models: {'; '.join(said) or 'none could be told'}."
