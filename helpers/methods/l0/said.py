"""What the tables of notebook 03 say, in a sentence each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd
from scipy.stats import hypergeom

from helpers.drawing import KIND_TITLES
from helpers.measures import snapshots
from helpers.measures.removal import RANDOM
from helpers.measures.table import MEASURES
from helpers.methods.l0 import runs
from helpers.methods.l0.tables import LOSS, NAMES, PRINTED_ENCODER
from helpers.reading import count, interval, listed, number
from helpers.runs import subjects
from helpers.scores.intervals import over_runs

KEPT = 0.95  # of what encoder attention is worth: then heads "can go"
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
    """What people call the way in which a run chose its heads: its name without the penalty, draws in words."""
    name, _, draw = run.partition(" #")
    bare = named(name.rpartition(" ")[0] or name)
    return f"{bare}, draw {draw or 1}" if draw or bare == named(RANDOM) else bare


def asked(kinds: Iterable[str]) -> str:
    """Which heads a sweep asks about."""
    found = [KIND_TITLES[kind].removesuffix(" self") for kind in kinds]
    return "heads of all kinds" if len(found) == len(KIND_TITLES) else f"{listed(found)} heads"


def prices(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.prices` of several models: a line a model, all penalties in one cell."""
    flat = table.reset_index()
    told = {name: lambda each: ", ".join(f"{value:g}" for value in each) for name in ("lambda", "concrete_coef")}
    return flat.groupby("model", sort=False).agg(told | {"gated layers": "first"})


def half(table: pd.DataFrame, shares: bool = True) -> str:
    """Of `tables.half_left` with `tables.worth`: BLEU lost at how many heads, also at the paper's number; with `shares` what
    is kept of the cost of removing all."""
    table = table[table.share.notna()].droplevel("test set")
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    top = table.iloc[0]
    lost = [f"{number(-row.change, '.1f')} at {row['heads']:.0f} of {row.total:.0f}" for _, row in table.iterrows()]
    lost[1:] = [f"{name} {loss}" for name, loss in zip(table.index[1:], lost[1:], strict=True)]
    if len(table) > 3:
        lost[1:] = [f"others {number(-table.change[1:].max(), '.1f')} to {number(-table.change[1:].min(), '.1f')}"]
    loss, few, whole = PAPER
    printed = f" (paper: {loss:g} at {few} of {whole})"
    if pd.notna(at := top["at printed"]):
        few = f"{few}" if top.total == whole else f"share of {few} of {whole}"
        printed = f", {number(-at, '.1f')} at the paper's {few} (interpolated; paper: {loss:g})"
    lost[0] = f"{table.index[0]} loses {lost[0].replace(' at', ' BLEU at')} heads{printed}"
    kept = f": {listed(f'{100 * x:.1f}' for x in table.share)} % of what removing all costs stay"
    return f"{'; '.join(lost)}{kept * shares}."


def lead(table: pd.DataFrame) -> str:
    """Of `tables.half_left`: whether heads can go from the first model, and at the paper's number."""
    table = table[table.share.notna()]
    if table.empty:
        return half(table)
    top, (loss, few, whole) = table.iloc[0], PAPER
    gone = f"{top.total - top['heads']:.0f} of {top.total:.0f} encoder heads go for {number(-top.change, '.1f')} BLEU"
    at, more = top["at printed"], f"the printed {whole - few} of {whole} cost"
    told = f"; {more} {number(-at, '.1f')}, not {loss:g} (interpolated)" if pd.notna(at) else ""
    return f"In {table.index[0][0]} {gone}{told}."


def never_better(table: pd.DataFrame, model: str) -> str:
    """Of one training's `tables.quality` with `tables.worth`: what encoder attention adds to training without it, with how many
    heads pruning keeps nothing of that, else what half of them or fewer keep; empty where no model was trained without."""
    if NEVER not in table or table[NEVER].isna().all():
        return ""
    own = table.xs(table.index.get_level_values("test set")[0], level="test set")
    rows, share = own[own.method == NAMES["l0"]].sort_values("heads", ascending=False), "share from the start"
    lost, few = rows[rows[f"{share}_low"] <= 0], rows[rows["heads"] <= rows.total / 2]
    shown = lost.iloc[:1] if len(lost) else few.iloc[[0, -1]].drop_duplicates() if len(few) else rows.iloc[-1:]
    kept = [f"{row['heads']:.0f} of {row.total:.0f} keep {_share(row, share)} of that" for _, row in shown.iterrows()]
    nothing = ", which may be nothing" * bool(len(lost))
    worth = number(own[NEVER]["control"], ".1f")
    return f"In {model} encoder heads are worth {worth} BLEU against *never there*: {listed(kept)}{nothing}."


def answer(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.half_left` of this run and of others: a line a model and test set, for people."""
    rows = []
    for (model, split), row in table.iterrows():
        several = table.index.get_level_values("model").tolist().count(model) > 1
        trained = f", mean of {row.trainings:.0f} trainings" if row.get("trainings", 1) > 1 else ""
        alone = f" (first training, {row.get('heads_first', row['heads']):.0f} heads)" if trained else ""
        known, called = pd.notna(row.get(NEVER)), split.partition("_")[0].capitalize() if "_" in split else split
        rows.append({
            "model": f"{model}, {called}" if several else model,
            "heads": f"{round(row['heads'], 1):g} of {row.total:.0f}{trained}",
            "change": interval(row.change, row.change_low, row.change_high, "+.1f"),
            "share": f"{_share(row)} of {row.worth:.1f}",
            "never": f"{_share(row, 'share from the start')} of {row[NEVER]:.1f}{alone}" if known else "not trained",
        })  # fmt: skip
    return pd.DataFrame(rows)


def laxer(table: pd.DataFrame) -> str:
    """Of `tables.half_left`: how the verdict's rule stands to what is printed."""
    loss, few, whole = PAPER
    at = table["at printed"].dropna()
    told = [f"; here {model} loses {number(-x, '.1f')} with as many gone (interpolated)" for (model, _), x in at.items()]
    return (
        f"The verdict's rule, at most half of the heads and {number(KEPT, '%')} of what removal costs (floor), is laxer"
        f" than the printed result: {whole - few} of {whole} heads go for {-loss:g} BLEU{''.join(told[:1])}."
    )


def _share(row: pd.Series, name: str = "share") -> str:
    """With a decimal where the estimate would else equal an end of its interval."""
    own = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
    first, *others = (number(value, "%") for value in own)
    return interval(*own, ".1%" if first in others else "%")


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


def functions(table: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.retained_more_than_chance`: do heads with a function stay more often than others? And could the test tell?"""
    of_any = table[table.function == "any"]
    if of_any.empty or not of_any.had.max():
        return "No head has a function: nothing can be said of which stay.", ""
    sure, alone = (of_any.p_holm < SURE).sum(), (of_any.p < SURE).sum()
    found = f"{sure or 'None'} significantly after Holm, {alone} before" if alone else "None significantly, even uncorrected"
    told = []
    for model, rows in of_any.groupby("model", sort=False):
        gone, had = rows["heads"][rows.stay == 0], rows.had.max()
        last = f"; none among the last {gone.max()}" if had and len(gone) else ""
        which, heads = ("of", "") if told else ("prunings of", " heads")
        told.append(f"{(rows.stay > rows.expected).sum()} of {len(rows)} {which} {model} ({had}{heads}{last})")
    said = f"Heads with a function stay above chance in {listed(told)}. {found}."
    every, most = of_any[of_any.had > 0], of_any[of_any.had > 0][["had", "heads"]].min(axis=1)  # the most that could stay
    best, family = hypergeom.sf(most - 1, every.of, every.had, every.heads), len(table)
    could, whole = int((best < SURE / family).sum()), every[every.stay == every.had]
    asked = f"{len(of_any)} of any function, {family - len(of_any)} of single ones"
    power = f"With {family} tests ({asked}) only {could} of {len(of_any)} prunings could pass Holm's first bar whatever stays"
    if len(whole) and not (whole.p_holm < SURE).any():
        power = (
            f"In {len(whole)} of {len(of_any)} every head with a function stayed, the best outcome there is, and even that is"
            f" not significant (p {number(whole.p.min(), 'p')} or more). The test lacks power: {power[0].lower()}{power[1:]}"
        )
    return said, f"{power}." if could < len(of_any) else ""


def always(functions: Mapping[str, Mapping[int, pd.Series]]) -> str:
    """Of `tables.retained_functions` by model: heads with a function that no pruning takes."""
    told = []
    for model, by_count in functions.items():
        before, *pruned = by_count.values()
        heads = [at for at, does in before.items() if does and pruned and all(at in left.index for left in pruned)]
        told += [f"{model} {listed(f'layer {n + 1} head {head + 1}' for _, n, head in heads)}"] if heads else []
    return f"Of heads with a function, at every penalty stay: {'; '.join(told) or 'none'}."


def had_before(by_count: Mapping[int, pd.Series], heads: pd.MultiIndex) -> list[list[str]]:
    """Of `tables.retained_functions` what these heads did in the model before pruning."""
    before = by_count[max(by_count)]
    return [sorted({name for name, _ in before[address]}) for address in heads]


def by_chance(table: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Of `tables.retained_more_than_chance`: of how many retained heads a function is expected, by model and heads retained."""
    of_any = table[table.function == "any"]
    return {model: dict(zip(rows["heads"], rows.expected, strict=True)) for model, rows in of_any.groupby("model", sort=False)}


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.drift` by model: heads left in all pruned models together, and what became of their functions."""
    flat = table.reset_index()
    pruned = flat[flat["heads"] < flat.groupby("model")["heads"].transform("max")]
    groups = pruned.groupby("model", sort=False)
    return groups[["heads", "functional_before", "same", "gained", "lost", "other"]].sum().assign(pruned=groups.size())


def above_random(points: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.equal_heads`, its BLEU at once: minus the mean of the random draws, without criteria divided by layer."""
    means = points[points.method == named(RANDOM)].groupby(["panel", "heads"]).value.mean()
    shown = points[~points.method.str.endswith("by layer")]
    level = means.reindex(pd.MultiIndex.from_frame(shown[["panel", "heads"]])).fillna(0).to_numpy()
    shown = shown.assign(**{name: shown[name] - level for name in ("value", "low", "high")})
    return shown.assign(unit="BLEU above random heads" if len(means) else shown.unit)


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
    if len(tables) > 1:  # paired over trainings
        paired = {f"*{name}*": over_runs(row)[:3] for name, row in others.sub(own.iloc[0]).iterrows()}
        said |= {name: interval(*paired[name], "+.2f") for name, gap in said.items() if not gap.startswith("-")}
    good = [f"{name} ({gap} BLEU{', paired' * (len(tables) > 1)})" for name, gap in said.items() if not gap.startswith("-")]
    less = [f"{name} {gap[1:]}" for name, gap in said.items() if gap.startswith("-")]
    first = f"Trained further, {when}, no worse than L0's choice: {listed(good)}."
    if brief:
        return first
    first += f" Worse{' on average' * (len(tables) > 1)}, BLEU: {', '.join(less)}." if less else ""
    wins = (others > drawn.max()).sum(axis=1)[gaps.index]
    best = [f"*{name}* in {won}" for name, won in wins.items() if won] or ["none"]
    return f"{first} Above every random draw of its training, of {len(tables)}: {listed(best)}."


def pooled(part: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """`tables.trained_on` of the mean over trainings, named for people, all random draws of all trainings in one row.

    Their low and high are the least and the largest draw: draws share trainings, so that no t-interval holds for them.
    """
    part, every = (table.rename(chosen, level="run") for table in (part, pd.concat(list(tables))))
    lots, own = (table[table.index.get_level_values("run").str.startswith(named(RANDOM))] for table in (every, part))
    lines = []
    for split, draws in lots.groupby(level="test set", sort=False):
        row = own.xs(split, level="test set", drop_level=False).iloc[:1]
        row = row.rename({row.index[0][0]: f"{named(RANDOM)}, {count(len(draws), 'draw')} [their range]"})
        ends = {"bleu": ("low", "high"), "change": ("change_low", "change_high")}
        for name, (low, high) in ends.items():
            row = row.assign(**{name: draws[name].mean(), low: draws[name].min(), high: draws[name].max()})
        lines.append(row.assign(dev_loss=draws.dev_loss.mean()))
    rest = part.drop(own.index)
    return pd.concat([rest, *lines]).sort_values("bleu", ascending=False)


def sizes(studied: Sequence[subjects.Subject]) -> str:
    """Encoder and decoder of models that differ from the first in size; empty where none does."""
    shapes = {one.title: snapshots.shape(one.run.spec) for one in studied if one.run}
    first = next(iter(shapes.values()), {})
    other = [f"{title}: encoder {own['encoder']}, decoder {own['decoder']}" for title, own in shapes.items() if own != first]
    return "; ".join(other)


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
