"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd
from scipy.stats import hypergeom

from helpers.drawing import KIND_TITLES
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import LOSS, NAMES, PRINTED_ENCODER
from helpers.reading import count, interval, listed, number

KEPT = 0.95  # of what encoder attention is worth: then heads "can go"
LITTLE = 5  # BLEU: a worth below it makes the question hollow
SURVIVAL = "kept by L0"
SURE = 0.05
NEVER = "worth from the start"
PAPER = next((-x, kept, max(one)) for one in PRINTED_ENCODER.values() for kept, x in one.items() if x)  # BLEU, heads, of all
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
    """Of `tables.half_left` with `tables.worth`: BLEU lost at how many heads, also at the paper's number; what is kept of the
    cost of removing all. With `ends` intervals, what is kept of the cost of never having had any, how often it is enough."""
    table = table[table.share.notna()].droplevel("test set")
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    top = table.iloc[0]
    lost = [f"{number(-row.change, '.1f')} at {row['heads']:.0f} of {row.total:.0f}" for _, row in table.iterrows()]
    lost[1:] = [f"{name} {loss}" for name, loss in zip(table.index[1:], lost[1:], strict=True)]
    if len(table) > 3 and not ends:
        lost[1:] = [f"others {number(-table.change[1:].max(), '.1f')} to {number(-table.change[1:].min(), '.1f')}"]
    loss, few, whole = PAPER
    printed = f" (paper: {loss:g} at {few} of {whole})"
    if pd.notna(at := top["at printed"]):
        few = f"{few}" if top.total == whole else f"share of {few} of {whole}"
        printed = f", {number(-at, '.1f')} at the paper's {few} (interpolated; paper: {loss:g})"
    lost[0] = f"{table.index[0]} loses {lost[0].replace(' at', ' BLEU at')} heads{printed}"
    if not ends:
        return f"{'; '.join(lost)}: {listed(f'{100 * x:.1f}' for x in table.share)} % of what removing all costs stay."
    kept = [f"{name} {_share(row)} ({row.worth:.1f} BLEU)" for name, row in table.iterrows()]
    if top.trainings > 1:
        kept[0] = f"{kept[0][:-1]}, mean of {top.trainings:.0f} trainings, the first alone {top.worth_first:.1f})"
    fine = f"At least {number(KEPT, '%')} by its interval: {(table.share_low >= KEPT).sum()} of {count(len(table), 'model')}"
    said = f"{'; '.join(lost)}. Kept of what removing all heads afterwards costs: {', '.join(kept)}. {never(table)}"
    return f"{said}{fine} (the verdict corrects for all rows)."


def never(table: pd.DataFrame) -> str:
    """Of the same: what is kept of what training without encoder heads costs, by models for which that is known."""
    rows = table.dropna(subset=NEVER) if NEVER in table else table[:0]
    told = [
        f"{name} {_share(row, 'share from the start')} ({'only ' * bool(row[NEVER] < LITTLE)}{row[NEVER]:.1f} BLEU)"
        for name, row in rows.iterrows()
    ]
    return f"Kept of what training without encoder heads costs: {', '.join(told)}. " if told else ""


def _share(row: pd.Series, name: str = "share") -> str:
    """With a decimal where the estimate would else equal an end of its interval."""
    own = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    first, *others = (number(value, "%") for value in own)
    return interval(*own, ".1%" if first in others else "%")


def elsewhere(tables: Mapping[str, pd.DataFrame], text: str) -> str:
    """Of stored `tables.quality` with `worth` of other text, by title: what is lost with half of the heads, a sentence each."""
    told = []
    for title, table in tables.items():
        rows = table[(table.method == NAMES["l0"]) & (table.encoder > 0) & (table.encoder <= table.total / 2)]
        if rows.empty or "share" not in rows:
            continue
        rows = rows.xs(rows.heads.idxmax()[0]).dropna(subset="share")
        whole, sets = table.xs("control").iloc[0], [split.partition("_")[0] for split in rows.index]
        sets = [name.capitalize() if name != split else name for name, split in zip(sets, rows.index, strict=True)]
        lost = [f"{number(-x, '.1f')}{' BLEU is lost' * (not i)} on {sets[i]}" for i, x in enumerate(rows.change)]
        own = f"{title}, one training, {whole.decoder:.0f} decoder heads, BLEU {whole.bleu:.0f}"
        kept = listed(f"{100 * x:.0f}" for x in rows.share)
        of = f"{rows.heads.iloc[0]:.0f} of {whole.total:.0f}"
        told.append(f"{text.capitalize()} text ({own}): with {of} heads {listed(lost)}: {kept} % of the worth kept.")
    return " ".join(told)


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
    said = f"from scratch the same map is better in {cases}; {-scratch.change.max():+.1f} to {-scratch.change.min():+.1f} BLEU)"
    return f"{said}, with {scratch.steps.max():,} steps to adapt, pruned at most {scratch.steps_pruned.max():,}"


def by_kind(table: pd.DataFrame, example: bool = True) -> str:
    """Of `tables.kept_by_kind`: whether encoder heads go first and cross-attention heads last; with details and an example."""
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
    return f"Encoder heads go first in {first} of {len(table)} runs; cross-attention heads {listed(stay)}{none}{unlike}."


def functions(table: pd.DataFrame) -> str:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay."
    more, sure, alone = int((of_any.stay > of_any.expected).sum()), (of_any.p_holm < SURE).sum(), (of_any.p < SURE).sum()
    found = f"{sure or 'none'} significantly after Holm, {alone} before" if alone else "none significantly, even uncorrected"
    said = f"Heads with a function stay more often than chance in {more} of {len(of_any)} pruned models, in {found}"
    few = of_any[of_any.model == of_any.model[of_any.had[of_any.had > 0].idxmin()]]
    row, best = few.iloc[0], hypergeom.sf(few[["had", "heads"]].min(axis=1) - 1, few.of, few.had, few.heads)  # if all stayed
    dull = (
        f" {row.model} has only {row.had} such heads of {row.of}: in {(best >= SURE).sum()} of {len(few)} prunings no outcome"
        " could be significant."
    )
    return f"{said} (smallest p = {number(of_any.p.min(), 'p')}).{dull * bool((best >= SURE).any())}"


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
        f" all {points[points.method == chance].groupby(['panel', 'heads']).size().max()} draws: {below})."
    )


def further(tables: Sequence[pd.DataFrame], brief: bool = False) -> str:
    """Of `tables.trained_on` of one model's trainings: which choices equal L0's, mean over trainings; not `brief`, also
    how much others lose, and in how many trainings a choice is above all random draws."""
    parts = [table.bleu.groupby(lambda place: chosen(place[0]), sort=False).mean() for table in tables]
    bleu, maps = pd.concat(parts, axis=1, join="inner"), [named(NAMES["map"]), named(NAMES["l0"])]
    drawn, own = bleu[bleu.index.str.startswith(named(RANDOM))], bleu.reindex(maps).dropna()
    others = bleu.drop([*drawn.index, *own.index])
    if drawn.empty or own.empty or others.empty:
        return ""
    gaps = others.sub(own.iloc[0]).mean(axis=1).sort_values(ascending=False)
    when = f"over {count(len(tables), 'training')}" if len(tables) > 1 else "in this one training"
    said = {f"*{name}*": number(gap, "+.1f") for name, gap in gaps.items()}
    good = [f"{name} ({gap} BLEU)" for name, gap in said.items() if not gap.startswith("-")]
    less = [f"{name} {gap[1:]}" for name, gap in said.items() if gap.startswith("-")]
    first = f"Trained further, {when}, no worse than L0's choice: {listed(good)}."
    if brief:
        return first
    first += f" Worse{' on average' * (len(tables) > 1)}, BLEU: {', '.join(less)}." if less else ""
    wins = (others > drawn.max()).sum(axis=1)[gaps.index]
    least = [f"*{name}* in {won} of {len(tables)}" for name, won in wins.items() if won < len(tables)]
    return f"{first} Not above every random draw in every training: {listed(least)}."


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
