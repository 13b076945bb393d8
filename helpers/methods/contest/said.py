"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.lrp import RULES
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import EVERY, TRAINED
from helpers.methods.l0.tables import NAMES
from helpers.reading import COLUMNS, interval, listed, number
from helpers.scores import intervals

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)
BESIDE = ("cp", "RelP, cp", "gradient, token", "rare", "probing", "alignment", "first token")  # in the file of agreement alone
FEW = 3  # models, below which an interval over models says nothing
NAMED = 5  # measures in one sentence, at most
NEAR = 0.25  # BLEU, within which a choice of heads is as good as another
DRAWN = (TRUTH, "gradient, example", "alpha_beta", "confidence", RANDOM)  # criteria that share a panel


def heart(table: pd.DataFrame, entered: Sequence[str] = ()) -> tuple[pd.DataFrame, dict[str, str]]:
    """A head table's main columns behind each head's address in words, and what people call them.

    Parameters
    ----------
    entered : sequence of str
        Measures of others, which stand before the study's own where there is no room for all.
    """
    addresses = [f"{KIND_TITLES[kind]}, layer {layer + 1}, head {head + 1}" for kind, layer, head in table.index]
    known = [name for name in (*FRONT, *entered, GROUP, *HEART) if name in table and table[name].notna().any()]
    kept = table[known[: COLUMNS - 1]].assign(address=addresses)
    kept = kept.sort_values(TRUTH, ascending=False, kind="stable") if TRUTH in kept else kept
    kept = kept.reset_index(drop=True)
    if "functions" in kept:
        kept["functions"] = kept.functions.fillna("").replace("", "–")
    called = {name: "passes the test of" if name == "functions" else named(name) for name in kept if name != "address"}
    return kept, {"address": "head", **called}


def _main(table: pd.DataFrame) -> str:
    """The kind of attention that is spoken of: the first, of an encoder where there is one."""
    return next((kind for kind in KIND_TITLES if kind in set(table.kind)), "encoder")


def agreement(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how many pairs agree, which most and least, and what goes with the loss without a head."""
    kind = _main(table)
    part = table[table.kind == kind]
    if part.empty:
        return "No layer has heads enough to be ranked."
    sure, of_truth = part.low > 0, (part.one == TRUTH) | (part.other == TRUTH)
    most, least = (part.loc[end()] for end in (part.rho.idxmax, part.rho.idxmin))
    ends = [f"{named(row.one)} and {named(row.other)} ({number(row.rho, '.2f')})" for row in (most, least)]
    z = intervals.fisher(part[["rho", "low", "high"]])
    left = sure & (intervals.holm(intervals.p_value(z.rho, z.low, z.high, trainings=part.models)) < 0.05)
    over = " to ".join(map(str, sorted({part.models.min(), part.models.max()})))
    said = f"{KIND_TITLES[kind].capitalize()} heads: {sure.sum()} of {len(part)} pairs agree by their 95 % interval"
    said += f" ({over} models), {left.sum()} after Holm; most {ends[0]}, least {ends[1]}. "
    if not (of_truth.any() and part[of_truth].shown.all()):
        return f"{said}Left out: {named(TRUTH)}."
    with_truth = part[sure & of_truth].sort_values("rho", ascending=False)
    best = listed([_pair(row) for _, row in with_truth.iloc[:2].iterrows()])
    return f"{said}The {named(TRUTH)} goes with {best or 'no measure'}{', best of all' if len(with_truth) > 2 else ''}."


def _pair(row: pd.Series) -> str:
    """The other measure of a pair with the truth, and how well they go together."""
    other = row.other if row.one == TRUTH else row.one
    return f"{named(other)} ({interval(row.rho, row.low, row.high, '.2f')})"


def telling(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.predictors` within layers what can tell something: of `FEW` models or more, with an effect to predict.

    All rows where there are none such.
    """
    within = table[table["heads"] == "within layers"]
    many = within.groupby(["kind", "truth"]).models.transform("max") >= FEW
    found = within[many & within.shown.astype(bool)]
    return found if len(found) else within


def predictors(table: pd.DataFrame) -> str:
    """Of `tables.predictors`: the best measure for each truth and kind of attention that can tell, a sure one before others."""
    found: dict[str, list[str]] = {}
    for (truth, kind), part in telling(table).groupby(["truth", "kind"], sort=False):
        cheap = part[~part.measure.isin([TRUTH, SURVIVAL])].assign(sure=part.low > 0).sort_values(["sure", "rho"])
        if len(cheap):
            row = cheap.iloc[-1]
            rho = interval(row.rho, row.low, row.high, ".2f")
            found.setdefault(truth, []).append(
                f"{named(row.measure)} ({rho}){'' if row.sure else ', not surely,'} in {KIND_TITLES[kind]}"
            )
    parts = [f"{named(truth)} by {listed(each)}" for truth, each in found.items()]
    return f"Highest within layers, differences not tested: {'; '.join(parts) or 'nothing'}{' heads' if parts else ''}."


def first_order(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Of `tables.predictors`: how near estimates of the loss without a head come to it, beside gradient importance.

    Returns
    -------
    pandas.DataFrame
        A row a kind of attention, in words: which, how many models, and the rank correlation of each measure with its interval.
    str
        What predicts by its interval.
    """
    part = table[(table.truth == TRUTH) & (table["heads"] == "within layers") & table.measure.isin([*ESTIMATES, UNIT])]
    if not part.measure.isin(ESTIMATES).any():
        return pd.DataFrame(), "Estimates to the first order are not in this run: comparison.first_order leaves them out."
    rows = []
    for kind, found in part.groupby("kind", sort=False):
        few = "" if found.shown.all() else ", too few with an effect"
        told = {named(row.measure): interval(row.rho, row.low, row.high, ".2f") for row in found.itertuples()}
        rows.append({"attention": f"{KIND_TITLES[kind]}{few}", "n (models)": str(int(found.models.max())), **told})
    sure = part[part.low > 0].assign(kind=part.kind.map(KIND_TITLES)).groupby("measure", sort=False).kind.agg(listed)
    which = listed([f"{named(measure)} in {kinds} heads" for measure, kinds in sure.items()])
    return pd.DataFrame(rows).fillna("–"), f"Above zero by their interval: {which}."


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike a measure is on other texts, and on another seed's heads."""
    kind = _main(table)
    part = table[table.kind == kind]
    said = [f"{name} {number(rho, '.2f')}" for name, rho in part.groupby("compared", sort=False).rho.median().items()]
    said = f"{KIND_TITLES[kind].capitalize()} heads, median rank correlation of a measure with itself: {listed(said)}."
    rows = part[part.compared.str.startswith("matched") & part.measure.isin(RULES)]
    told = [f"{named(row.measure).removeprefix('relevance, ')} {number(row.rho, '.2f')}" for row in rows.itertuples()]
    told[:1] = [f"{first} [{number(rows.low.iloc[0], '.2f')}, {number(rows.high.iloc[0], '.2f')}]" for first in told[:1]]
    pairs = f" Matched, by relevance (least and largest of {rows.models.max()} pairs): {', '.join(told)}."
    return said + pairs if told else said


def at_once(table: pd.DataFrame, drawn: Sequence[str] = DRAWN) -> str:
    """Of `tables.along`, means over all numbers of heads: which drawn choice costs least in most models, which beat chance."""
    means = table.groupby(["model", "criterion"], sort=False).change.mean()
    here = means[means.index.isin(drawn, level="criterion")].drop(RANDOM, level="criterion", errors="ignore")
    best = here.groupby(level="model", sort=False).idxmin().str[1].value_counts()
    models = {model.removesuffix(EVERY) for model in means.index.unique("model")}
    said = f"Means over numbers of heads: of those drawn {named(str(best.index[0]))} costs least in {best.iloc[0]} of"
    said += f" {best.sum()} settings of {len(models)} models"
    if RANDOM not in means.index.get_level_values("criterion"):
        return f"{said}."
    every = means.drop(RANDOM, level="criterion")
    above = every.index.get_level_values("model").map(means.xs(RANDOM, level="criterion")).to_numpy()
    worse = every[every.to_numpy() >= above].index.intersection(here.index).get_level_values("criterion").value_counts()
    poor = listed([f"{named(str(name))} in {count}" for name, count in worse.head(2).items()])
    said += f"; no less than random heads: {poor}" if len(worse) else ""
    return f"{said}. Of {len(every)} pairs of setting and measure {int((every < above).sum())} cost less."


def trained_on(ranked: pd.DataFrame, paired: pd.DataFrame) -> str:
    """Of `tables.over_seeds` of a contest and `tables.against`: L0 and random heads, and which rivals are near either.

    BLEU minus the control's, of the first model and test set; near random by the interval of the difference paired by seed.
    """
    own = ranked[ranked.criterion == TRAINED].head(1)
    here = ranked.merge(own[["model", "test set"]]).set_index("criterion")
    rivals = here.drop([TRAINED, NAMES["map"], RANDOM], errors="ignore").sort_values("value", ascending=False)
    if rivals.empty:
        return "L0 has no rival in this run."
    seeds = int(here.seeds[TRAINED])
    said = f"{rivals.model.iloc[0]} ({seeds} training{'s' * (seeds > 1)}), {number(here.heads[TRAINED], '.0f')} heads left:"
    said += f" L0 {_bleu(here.loc[TRAINED])} BLEU"
    said += f", random heads {number(here.value[RANDOM], '.1f')}" if RANDOM in here.index else ""
    near = _few(rivals.index[(rivals.value - here.value[TRAINED]).abs() < NEAR])
    known = (RANDOM, "low") in paired and paired[RANDOM, "low"].notna().any()
    poor = _few([name for name in rivals.index if known and not paired.loc[name, (RANDOM, "low")] > 0])
    said += f". Within {NEAR:g} BLEU of L0: {near or 'no rival'}"
    return f"{said}{'. Not better than random by interval: ' + poor if poor else ''}."


def rivals(corrected: pd.DataFrame) -> str:
    """Of `tables.against_l0`: how many rivals are surely worse or better than L0, whose own heads and random ones are none."""
    told = corrected[corrected.p_holm.notna() & ~corrected.criterion.isin([RANDOM, NAMES["map"]])]
    worse, better = (((told.p_holm < 0.05) & (told["value"] * sign > 0)).sum() for sign in (-1, 1))
    return f"Of {len(told)} rivals {worse} surely worse than L0, {better} surely better (Holm)."


def _few(criteria: Sequence[str]) -> str:
    """The names of a few criteria, how many there are of more, and nothing of none."""
    called = [f"*{named(name)}*" for name in criteria]
    return listed(called) if 0 < len(called) <= NAMED else f"{len(called)} rivals" if called else ""


def choice(table: pd.DataFrame, differ: pd.DataFrame) -> str:
    """Of `tables.predictors`: which cheap measure to use, for every kind of attention; `tables.effects` says why for none."""
    part = table[(table.truth == TRUTH) & (table["heads"] == "within layers") & ~table.measure.isin([TRUTH, SURVIVAL])]
    said = []
    for kind, rows in part.groupby("kind", sort=False):
        sure, best = rows[rows.low > 0].sort_values("rho", ascending=False), "none surely"
        if not rows.shown.all():
            found = differ.xs(kind, level="kind").groupby("model", sort=False)[["heads", "differ"]].sum()
            large = found.index[found.differ >= found["heads"] / 2]
            enough = listed(large) if 0 < len(large) < len(found) else ""
            best = f"it cannot be told (fewer than half have an effect in all models{f' but {enough}' if enough else ''})"
        elif len(sure):
            told = [number(rho, ".2f") for rho in (*sure.rho.head(1), *rows.rho.drop(sure.index[:1]).nlargest(1))]
            best = f"*{named(sure.measure.iloc[0])}* ({', next '.join(told)})"
        said.append(f"of {KIND_TITLES[kind]} heads {best}")
    told = "; ".join(said) or "none was measured"
    return f"**Which cheap measure** predicts the {named(TRUTH)} best by value? {told[:1].upper()}{told[1:]}."


def kinds(worth: pd.DataFrame, differ: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.worth_of_kinds` and `effects`: a row a model in words, what each kind is worth and how many heads show."""
    rows, seeds = {}, worth.index.droplevel("kind").unique().get_level_values("model").value_counts()
    for (model, seed, kind), row in worth.join(differ[["differ", "shown"]]).iterrows():
        which = f"{model}, seed {seed}" if seeds[model] > 1 else model
        told = rows.setdefault((model, seed), {"model": which, "loss, all heads": number(row.whole, ".2f")})
        few = "" if row.shown else " (too few)"
        told[KIND_TITLES[kind]] = f"{interval(row.loss, row.low, row.high, '+.2f')}; {row.differ:.0f} of {row.heads:.0f}{few}"
    return pd.DataFrame(list(rows.values())).fillna("–")


def _bleu(row: Mapping) -> str:
    return interval(row["value"], row["low"], row["high"], ".1f")
