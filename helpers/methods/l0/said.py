"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import LOSS, NAMES, PRINTED_ENCODER
from helpers.reading import count, interval, listed, number

KEPT = 0.95  # of what encoder attention is worth: then heads "can go"
SURVIVAL = "kept by L0"
SURE = 0.05
NEVER = "worth from the start"
PAPER = next(f"{-x:g} at {kept} of {max(one)}" for one in PRINTED_ENCODER.values() for kept, x in one.items() if x)  # BLEU
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
    """Of `tables.half_left` with `tables.worth`: BLEU lost at how many heads, and what is kept of the cost of removing all.

    With `ends` the intervals of all models, what is kept of the cost of never having had any, and how often it is enough.
    """
    table = table[table.share.notna()].droplevel("test set")
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    top = table.iloc[0]
    lost = [f"{number(-row.change, '.1f')} at {row['heads']:.0f} of {row.total:.0f}" for _, row in table.iterrows()]
    lost[1:] = [f"{name} {loss}" for name, loss in zip(table.index[1:], lost[1:], strict=True)]
    if len(table) > 3 and not ends:
        lost[1:] = [f"others {number(-table.change[1:].max(), '.1f')} to {number(-table.change[1:].min(), '.1f')}"]
    further = "" if pd.isna(top.fewer) else f", {number(-top.fewer_change, '.1f')} at {top.fewer:.0f}"
    lost[0] = f"{table.index[0]} loses {lost[0].replace(' at', ' BLEU at')} heads{further} (paper: {PAPER})"
    if not ends:
        return f"{'; '.join(lost)}: {listed(f'{100 * x:.0f}' for x in table.share)} % of what removing all costs stay."
    kept = [f"{name} {_share(row)} ({row.worth:.1f} BLEU)" for name, row in table.iterrows()]
    if top.trainings > 1:
        kept[0] = f"{kept[0][:-1]}, mean of {top.trainings:.0f} trainings, the first alone {top.worth_first:.1f})"
    fine = f"At least {number(KEPT, '%')} by its interval: {(table.share_low >= KEPT).sum()} of {count(len(table), 'model')}"
    said = f"{'; '.join(lost)}. Kept of what removing all afterwards costs: {', '.join(kept)}. {never(table)}"
    return f"{said}{fine} (the verdict corrects for all rows)."


def never(table: pd.DataFrame) -> str:
    """Of the same: what is kept of what training without encoder heads costs, by models for which that is known."""
    rows = table.dropna(subset=NEVER) if NEVER in table else table[:0]
    told = [f"{name} {_share(row, 'share from the start')} ({row[NEVER]:.1f} BLEU)" for name, row in rows.iterrows()]
    return f"Kept of what training without encoder heads costs: {', '.join(told)}. " if told else ""


def _share(row: pd.Series, name: str = "share") -> str:
    return interval(row[name], row[f"{name}_low"], row[f"{name}_high"], "%")


def elsewhere(both: pd.DataFrame) -> str:
    """Of `tables.beside_other_texts`: what is kept on the other track's text ("... text)"); nothing where there is none."""
    rows = both[both.panel.str.startswith("%") & both.series.str.contains(" text)", regex=False) & both.kept.between(1, 50)]
    rows = rows.loc[rows.groupby("series", sort=False).kept.idxmax()]
    told = [
        f"{row.series} keeps {row.value:.0f} % of {'only ' * (row.worth < 5)}{row.worth:.1f} BLEU" for row in rows.itertuples()
    ]
    return f"This project's stored runs of other text, with as few heads: {listed(told)}." if told else ""


def all_kinds(within: pd.DataFrame, scratch: pd.DataFrame) -> str:
    """Of `tables.largest_pruning` and `tables.against_scratch`, by model: heads that are needed, and what training brings."""
    models = within.index.get_level_values("model")
    need = [f"{row.kept} of {row.total} ({model})" for model, row in zip(models, within.itertuples(), strict=True)]
    return f"All but {LOSS:g} BLEU stays with {listed(need)} heads; {from_scratch(scratch)}."


def from_scratch(scratch: pd.DataFrame) -> str:
    """Of `tables.against_scratch`: how often a head map is better from scratch than pruned, by how much, in how many steps."""
    if scratch.empty:
        return "no head map was trained from scratch"
    cases = f"{(scratch.change < 0).sum()} of {len(scratch)} ({(scratch.high < 0).sum()} by interval"
    said = f"from scratch the same map is better in {cases}; {-scratch.change.max():+.2f} to {-scratch.change.min():+.2f} BLEU)"
    return f"{said}, with {scratch.steps.max():,} steps to adapt, pruned at most {scratch.steps_pruned.max():,}"


def by_kind(table: pd.DataFrame, example: bool = True) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first and decoder-encoder heads last; with details and an example."""
    encoder, decoder, cross = (table[kind] / table[f"{kind}_total"] for kind in KIND_TITLES)
    whole = (cross == 1) & (decoder == 1)
    stay = [f"stay longest in {(cross > decoder).sum()}"]
    stay += [f"tie with decoder heads in {ties}"] if (ties := ((cross == decoder) & ~whole).sum()) else []
    if (sooner := cross < decoder).any():
        row = table[sooner].iloc[0]
        shares = f"{number(cross[row.name], '%')} against {number(decoder[row.name], '%')}"
        told = f" ({row.model}, {row.total_kept} of {row.total} heads: {shares})" if example else ""
        stay.append(f"go before decoder heads in {sooner.sum()}{told}")
    none = f"; in {whole.sum()}, which the verdict leaves out, neither goes" if whole.any() and example else ""
    unlike = "" if table["starts alike"].all() else "; only encoder attention starts from zero, so no order follows"
    first = ((encoder < decoder) & (encoder < cross)).sum()
    return f"Encoder heads go first in {first} of {len(table)} runs; decoder-encoder heads {listed(stay)}{none}{unlike}."


def functions(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay."
    more, sure = int((of_any.stay > of_any.expected).sum()), int((of_any.p_holm < SURE).sum())
    most = of_any[of_any.model == of_any.model[of_any.had.idxmax()]]
    row, often = most.loc[(most.stay - most.expected).idxmin()], f"in {(most.stay > most.expected).sum()} of {len(most)}"
    return (
        f"Heads with a function stay more often than chance in {more} of {len(of_any)} pruned models, corrected in"
        f" {sure or 'none'}. {row.model} has most, {row.had} of {row.of}: {often} (at {row.heads} heads {row.stay} stay, by"
        f" chance {row.expected:.1f}). Prunings of {count(of_any.model.nunique(), 'model')} are not independent."
    )


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.drift` by model: heads left in all pruned models together, and what became of their functions."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    return groups[["heads", "functional_before", "same", "gained", "lost", "other"]].sum().assign(pruned=groups.size())


def gone_at_once(points: pd.DataFrame) -> str:
    """Of `tables.equal_heads`, its BLEU at once: what keeps most, mean over all counts, and what is below all random draws."""
    cells, chance = points.pivot_table("value", ["panel", "heads"], "method"), named(RANDOM)
    means = cells.mean().sort_values(ascending=False)
    best = means.drop(chance, errors="ignore").head(2)
    if best.empty or chance not in means:
        return "There is nothing to compare: random heads alone, or none, were removed at once."
    worse = cells.lt(points[points.method == chance].groupby(["panel", "heads"]).value.min(), axis=0)
    told = [f"*{name}* with {listed(worse.index[worse[name]].unique('heads'))}" for name in worse.columns[worse.any()]]
    below = f"{len(told)} measures at some count" if len(told) > 2 else listed(told)
    return (
        f"Removed at once, heads chosen by {' and '.join(f'*{name}*' for name in best.index)} keep most:"
        f" {listed(map(number, best))} BLEU, mean over {len(cells)} head counts (random heads {number(means[chance])}; below"
        f" all their draws: {below})."
    )


def further(table: pd.DataFrame, brief: bool = False) -> str:
    """Of `tables.trained_on` of one model: whether L0 chooses better; not `brief`, also which choices are as good as random."""
    bleu = table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean()
    drawn, own = (
        bleu[bleu.index.str.startswith(named(RANDOM))],
        bleu[bleu.index.isin([named(NAMES["l0"]), named(NAMES["map"])])],
    )
    others = bleu.drop([*drawn.index, *own.index])
    if drawn.empty or own.empty or others.empty:
        return ""
    above, better = bleu[bleu > drawn.max()], [f"*{name}*" for name in others.index[others >= own.max()]]
    best = f"no better than {listed(better)}" if better else "best by value"
    said = f"Trained further, in this one training, L0 chooses {best}"
    if brief:
        return f"{said}."
    said += f": the best {len(above)} lie within {above.max() - above.min():.1f} BLEU" if len(above) > 1 else ""
    worse = [f"*{name}*" for name in others.index.difference(above.index, sort=False)]
    return f"{said}. No better than random heads ({drawn.min():.1f} to {drawn.max():.1f}): {listed(worse)}."


def truths(told: pd.DataFrame, names: Collection[str]) -> str:
    """Of rank correlations by (truth and model, criterion): the best cheap criterion for each truth, beside the other truth."""
    said, models = [], 0
    for truth in names:
        part = told[told.index.get_level_values("truth").str.startswith(truth)].rho
        mean, models = part.groupby("criterion").mean(), part.index.get_level_values("truth").nunique()
        cheap = mean.drop(list(names), errors="ignore")
        if cheap.notna().any():
            known = [name for name in names if name != truth and pd.notna(mean.get(name))]
            others = [f"; by {name} {number(mean[name], '.2f')}" for name in known]
            best = f"by {cheap.idxmax()} ({number(cheap.max(), '.2f')}{''.join(others)})"
            said.append(f"{truth} {best}" if said else f"{truth} is predicted best {best}")
    said = "; ".join(said) or "none could be told"
    return f"Of the cheap criteria, mean rank correlation over {count(models, 'model')}: {said}."
