"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import ESTIMATES, SURVIVAL
from helpers.methods.contest.tables import TRAINED
from helpers.reading import COLUMNS, interval, listed, number

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)


def heart(table: pd.DataFrame, entered: Sequence[str] = ()) -> tuple[pd.DataFrame, dict[str, str]]:
    """A head table's main columns behind each head's address in words, and what people call them.

    Parameters
    ----------
    entered : sequence of str
        Measures of others, which stand before the study's own where there is no room for all.
    """
    addresses = [f"{KIND_TITLES[kind]}, layer {layer + 1}, head {head + 1}" for kind, layer, head in table.index]
    known = [name for name in (*FRONT, *entered, GROUP, *HEART) if name in table and table[name].notna().any()]
    kept = table[known[: COLUMNS - 1]].reset_index(drop=True)
    if "functions" in kept:
        kept["functions"] = kept.functions.fillna("").replace("", "–")
    called = {name: "passes the test of" if name == "functions" else named(name) for name in kept}
    return kept.assign(address=addresses), {"address": "head", **called}


def _main(table: pd.DataFrame) -> str:
    """The kind of attention that is spoken of: the first, of an encoder where there is one."""
    return next((kind for kind in KIND_TITLES if kind in set(table.kind)), "encoder")


def agreement(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how many pairs agree surely, and what goes best with the loss without a head."""
    kind = _main(table)
    part = table[table.kind == kind]
    if part.empty:
        return "No layer has heads enough to be ranked."
    sure = part[part.low > 0]
    with_truth = part[(part.one == TRUTH) | (part.other == TRUTH)].sort_values("rho", ascending=False)
    said = f"On {KIND_TITLES[kind]} heads {len(sure)} of {len(part)} pairs of measures rank alike surely (interval above 0)"
    if with_truth.empty:
        return f"{said}."
    best, least = (_pair(with_truth.iloc[place]) for place in (0, -1))
    return f"{said}; with the loss without the head goes best {best}, least {least}."


def _pair(row: pd.Series) -> str:
    """The other measure of a pair with the truth, and how well they go together."""
    other = row.other if row.one == TRUTH else row.one
    return f"{named(other)}, {interval(row.rho, row.low, row.high, '.2f')}"


def predictors(table: pd.DataFrame) -> str:
    """Of `tables.predictors`: the best measure for each truth within layers, with its cost."""
    kind, said = _main(table), []
    for truth, part in table[(table.kind == kind) & (table["heads"] == "within layers")].groupby("truth", sort=False):
        cheap = part[~part.measure.isin([TRUTH, SURVIVAL])].sort_values("rho", ascending=False)
        if len(cheap):
            row, others = cheap.iloc[0], cheap.iloc[1:]
            cost = "" if pd.isna(row.cost) else f", at {number(row.cost, '.1f')} times the cost of gradient importance"
            rho = interval(row.rho, row.low, row.high, ".2f")
            level = f"; {int((others.high >= row.low).sum())} of the {len(others)} others within its interval"
            beside = "" if pd.isna(row.low) else level
            said.append(f"{named(truth)} is predicted best by {named(row.measure)} ({rho}{cost}{beside})")
    return f"{KIND_TITLES[kind].capitalize()} heads within their layer: {'; '.join(said) or 'nothing to predict'}."


def first_order(table: pd.DataFrame) -> str:
    """Of `tables.predictors`: how near estimates of the loss without a head come to it, kind by kind of attention."""
    part = table[(table.truth == TRUTH) & (table["heads"] == "within layers") & table.measure.isin(ESTIMATES)]
    if part.empty:
        return "Estimates to the first order are not in this run: the setting comparison.first_order leaves them out."
    said = []
    for kind, rows in part.groupby("kind", sort=False):
        rhos = [f"{named(row.measure)} {interval(row.rho, row.low, row.high, '.2f')}" for row in rows.itertuples()]
        noise = "" if rows.shown.all() else " (too few of whose heads have an effect to predict)"
        said.append(f"{KIND_TITLES[kind]}{noise}: {listed(rhos)}")
    return f"Estimates of the loss without a head beside the exact one, rank correlation within layers. {'; '.join(said)}."


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike a measure is on other texts, and on another seed's heads."""
    kind = _main(table)
    found = table[table.kind == kind].groupby("compared", sort=False).rho
    said = [f"{name} {interval(rho.median(), rho.min(), rho.max(), '.2f')}" for name, rho in found]
    return (
        f"{KIND_TITLES[kind].capitalize()} heads, a measure with itself (median [least, most] of the measures): {listed(said)}."
    )


def at_once(table: pd.DataFrame) -> str:
    """Of `tables.along`: the choice that costs least at the fewest heads, beside random ones, model by model."""
    said = []
    for model, part in table.groupby("model", sort=False):
        last = part[part["heads"] == part["heads"].min()].set_index("criterion").change
        chosen = last.drop(RANDOM, errors="ignore")
        beside = f", random ones {number(last[RANDOM], '.2f')}" if RANDOM in last else ""
        cost = number(chosen.min(), ".2f")
        said.append(f"{model}, {part['heads'].min():.0f} heads left: {named(str(chosen.idxmin()))} costs least, {cost}{beside}")
    return f"Rise of the dev loss in nats a token. {'; '.join(said)}."


def trained_on(ranked: pd.DataFrame, corrected: pd.DataFrame) -> str:
    """Of `tables.over_seeds` of a contest and `tables.against_l0`: L0, the best rival, and how many differ from L0 surely."""
    said = []
    for model, part in ranked.groupby("model", sort=False):
        own, others = part[part.criterion == TRAINED], part[~part.criterion.isin([TRAINED, RANDOM])]
        if len(own) and len(others):
            best = others.loc[others.value.idxmax()]
            said.append(f"{model}: L0 {_bleu(own.iloc[0])}, {named(best.criterion)} {_bleu(best)}")
    sure = int((corrected.p_holm < 0.05).sum()) if "p_holm" in corrected else 0
    return (
        f"BLEU minus the control, L0 beside its best rival. {'; '.join(said)}. {sure} of {len(corrected)} differ surely (Holm)."
    )


def _bleu(row: Mapping) -> str:
    return interval(row["value"], row["low"], row["high"], ".1f")
