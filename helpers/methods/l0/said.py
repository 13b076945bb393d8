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
    return f"{bare}, draw {draw}" if draw else bare


def asked(kinds: Iterable[str]) -> str:
    """Which heads a sweep asks about."""
    found = [KIND_TITLES[kind].removesuffix(" self") for kind in kinds]
    return "heads of all kinds" if len(found) == len(KIND_TITLES) else f"{listed(found)} heads"


def prices(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.prices` of several models: a line a model, all prices in one cell."""
    flat = table.reset_index()
    told = {name: lambda each: ", ".join(f"{value:g}" for value in each) for name in ("lambda", "concrete_coef")}
    return flat.groupby("model", sort=False).agg(told | {"gated layers": "first"})


def half(table: pd.DataFrame) -> str:
    """Of `tables.half_left` with `tables.worth`: in how many models half of the encoder heads can go."""
    table = table[table.share.notna()]
    if table.empty:
        return "No run is left with half of its encoder heads or fewer."
    fine = int((table.share >= KEPT).sum())
    kept = [f"{row.Index[0]} keeps {interval(row.share, row.share_low, row.share_high, '%')}" for row in table.itertuples()]
    return f"Half of the encoder heads can go in {fine} of {_models(len(table))}: of what they are worth {listed(kept)}."


def _models(many: int) -> str:
    return f"{many} model" + ("s" if many != 1 else "")


def all_kinds(within: pd.DataFrame, scratch: pd.DataFrame) -> str:
    """Of `tables.largest_pruning` and `tables.against_scratch`, by model: heads that are needed, and what training brings."""
    models = within.index.get_level_values("model")
    need = [f"{row.kept} of {row.total} heads in {model}" for model, row in zip(models, within.itertuples(), strict=True)]
    said = f"All but {LOSS:g} BLEU is left with {listed(need)}"
    if scratch.empty:
        return f"{said}; no head map was trained from scratch."
    better, worse, every = int((scratch.low > 0).sum()), int((scratch.high < 0).sum()), len(scratch)
    known = {(every, 0): "better than", (0, every): "worse than", (0, 0): "not surely other than"}
    how = known.get((better, worse), f"better in {better}, worse in {worse} of {every} cases than")
    one, least, most = scratch.iloc[0], scratch.change.min(), scratch.change.max()
    apart = interval(one.change, one.low, one.high, "+.2f") if every == 1 else f"{least:+.2f} to {most:+.2f}"
    return f"{said}; pruned is {how} the same head map from scratch ({apart} BLEU)."


def by_kind(table: pd.DataFrame) -> str:
    """Of `tables.kept_by_kind`: what is left of each kind in the smallest model, and whether kinds go in the paper's order."""
    row = table.loc[table.total_kept.idxmin()]
    titles = {kind: title.removesuffix(" self") for kind, title in KIND_TITLES.items()}
    shares = [f"{number(row[kind] / row[f'{kind}_total'], '%')} of {title} heads" for kind, title in titles.items()
              if row.get(f"{kind}_total", 0)]  # fmt: skip
    order = int((table.gap > 0).sum())
    said = f"With {row.total_kept} of {row.total} heads left {listed(shares)} stay; the paper's order holds in {order} of"
    unlike = "" if table["starts alike"].all() else ", where only encoder attention starts from zero: no order follows"
    whole = int(((table.gap <= 0) & (table.decoder == table.decoder_total) & (table.cross == table.cross_total)).sum())
    still = f" (in {whole} other{'s' * (whole > 1)} all decoder heads stay)" if whole else ""
    return f"{said} {len(table)} runs{still}{unlike}."


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
    """Of `tables.equal_heads`, its BLEU at once: the best choice and the worst beside random heads, mean over all counts."""
    means = points.groupby(["method", "panel", "heads"]).value.mean().groupby("method").mean().sort_values()
    chance, others = means.get(named(RANDOM)), means.drop(named(RANDOM), errors="ignore")
    if others.empty:
        return "Random heads alone were removed at once."
    (least, low), (best, high) = (next(iter(others.iloc[[place]].items())) for place in (0, -1))
    beside = "" if chance is None else f", with random heads {number(chance)}"
    worst = "" if len(others) < 2 else f"; the worst measure is {least} ({number(low)})"
    return f"Removed at once, heads chosen by {best} cost least: {number(high)} BLEU is left on average{beside}{worst}."


def truths(told: pd.DataFrame, names: Collection[str]) -> str:
    """Of rank correlations by (truth and model, criterion): the best criterion for each truth, other truths left out."""
    said = []
    for truth in names:
        part = told[told.index.get_level_values("truth").str.startswith(truth)].rho
        mean = part.drop(list(names), level="criterion", errors="ignore").groupby("criterion").mean()
        if mean.notna().any():
            said.append(f"{truth} is predicted best by {mean.idxmax()} ({number(mean.max(), '.2f')})")
    return f"Of all criteria, by rank correlation, mean over models: {'; '.join(said) or 'none could be told'}."
