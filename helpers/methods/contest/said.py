"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.lrp import RULES
from helpers.measures.ranks import rank_agreement
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import DECODER, ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import EVERY, TRAINED
from helpers.methods.l0.tables import NAMES
from helpers.reading import COLUMNS, count, ends, interval, listed, number
from helpers.scores import intervals

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)
BESIDE = ("cp", "RelP, cp", "gradient, token", "rare", "probing", "alignment", "first token")  # in the file of agreement alone
FEW = 3  # models, below which an interval over models says nothing
NAMED = 5  # measures in one sentence, at most
MODELS = {DECODER: "Llama-style decoder (grouped-query)"}  # as people call them
VALUES = ["value", "low", "high"]
LEVEL = 0.05  # of a test
HIGH = 0.9  # a bound on correlations above which it binds little
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
                f"{named(row.measure)} ({rho}){'' if row.sure else ', interval with zero,'} in {KIND_TITLES[kind]}"
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


def _rivals(ranked: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.over_seeds` of a contest the first model and test set, by criterion, and of these L0's rivals, best first."""
    own = ranked[ranked.criterion == TRAINED].head(1)
    here = ranked.merge(own[["model", "test set"]]).set_index("criterion")
    return here, here.drop([TRAINED, NAMES["map"], RANDOM], errors="ignore").sort_values("value", ascending=False)


def _left(here: pd.DataFrame, of: int) -> str:
    seeds, left = int(here.seeds[TRAINED]), number(here.heads[TRAINED], ".0f") + f" of {of}" * bool(of)
    return f"With {left} encoder heads left and trained alike ({here.model.iloc[0]}, {count(seeds, 'training')}),"


def _costs(here: pd.DataFrame) -> str:
    told = [f"{name} {_bleu(here.loc[key])}" for name, key in (("L0", TRAINED), ("random heads", RANDOM)) if key in here.index]
    return ", ".join(told)


def trained_on(ranked: pd.DataFrame, of: int = 0) -> str:
    """Of `tables.over_seeds` of a contest: what the best rival, L0 and random heads cost, and what costs no less than these.

    BLEU below the control's, of the first model and test set.

    Parameters
    ----------
    of : int
        How many heads there are; 0 leaves that out.
    """
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    said = f"{_left(here, of)} *{named(rivals.index[0])}* costs {_bleu(rivals.iloc[0])} BLEU, {_costs(here)}."
    poor = _few(rivals.index[rivals.value <= here.value[RANDOM]]) if RANDOM in here.index else ""
    return f"{said} No less than random heads by value: {poor}." if poor else said


def advice(ranked: pd.DataFrame, paired: pd.DataFrame, of: int = 0) -> str:
    """Of the same and `tables.against`: which measure to prune by, if its difference to random heads, paired by seed, says so.

    Parameters
    ----------
    of : int
        As `trained_on`.
    """
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    best, low = rivals.index[0], (RANDOM, "low")
    called = f"gradient importance (*{named(best)}*)" if best == UNIT else f"*{named(best)}*"
    if low in paired and paired.loc[best, low] > 0:
        said = f"**Prune by {called}.**"
    elif low in paired and pd.notna(paired.loc[best, low]):
        said = f"**No measure is shown to beat random heads**; the best by value is {called}."
    else:
        said = f"**Nothing is decided by one training**; the best by value is {called}."
    said += (
        f" {_left(here, of)} it costs {_bleu(rivals.iloc[0])} BLEU against the unpruned model trained as long, {_costs(here)}"
    )
    near = _few([name for name in rivals.index[1:] if abs(rivals.value[name] - here.value[TRAINED]) < NEAR])
    said += f". Within {NEAR:g} BLEU of L0 {'are' if ' and ' in near or 'rivals' in near else 'is'} {near}" if near else ""
    if RANDOM in here.index:
        poor = rivals.value[rivals.value <= here.value[RANDOM]].sort_values()
        told = [f"*{named(name)}* ({number(-value, '.1f')})" for name, value in poor.items()]
        said += f". No less than random heads, by value: {listed(told)}" if told else ""
    return f"{said}."


def rivals(corrected: pd.DataFrame) -> str:
    """Of `tables.against_l0`: what is worse or better than L0 after Holm's correction, what by its own interval alone.

    Beside them the heads that L0 chose, cut first and trained as the rivals are: what L0 owes to training while it chooses.
    """
    several = len(corrected[["model", "test set"]].drop_duplicates()) > 1

    def told(part: pd.DataFrame) -> str:
        names = [f"*{named(row.criterion)}*" + f" ({row.model})" * several for row in part.itertuples()]
        names = [name.replace(f"*{RANDOM}*", "random heads") for name in names]
        return listed(f"{name} {interval(*row, '+.1f')}" for name, row in zip(names, part[VALUES].to_numpy(), strict=True))

    others = corrected[corrected.criterion != NAMES["map"]].sort_values("value")
    sure = others[others.p_holm < LEVEL]
    open_ = others[~(others.p_holm < LEVEL)]
    worse, better = (sure[sign * sure["value"] > 0] for sign in (-1, 1))
    said = f"Significantly worse than L0 (Holm, 5 %; BLEU): {told(worse)}; better: {told(better)}."
    alone = open_[(open_.high < 0) | (open_.low > 0)]
    said += f" By their own interval alone also: {told(alone)}." if len(alone) else ""
    for row in corrected[corrected.criterion == NAMES["map"]].head(1).itertuples():
        shows = "" if row.low > 0 or row.high < 0 else ": how L0 trains gains or costs it nothing that shows"
        said += f" *{named(row.criterion)}*, cut first and trained like the rivals, differ from L0 by"
        said += f" {interval(row.value, row.low, row.high, '+.2f')}{shows}."
    return said


def rules(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how far gradient importance and relevance agree on encoder heads, rule by rule."""
    part = table[(table.kind == "encoder") & table.one.isin(RULES) & (table.other == UNIT)]
    told = [f"{named(r.one).removeprefix('relevance, ')} {interval(r.rho, r.low, r.high, '.2f')}" for r in part.itertuples()]
    return f"Gradient importance and relevance of encoder heads, by rule: {', '.join(told)}." if told else ""


def bounds(table: pd.DataFrame) -> str:
    """Of `tables.reliability`: what bounds the correlation of each measure with anything, least first, high ones together."""
    part = table[table.kind == _main(table)].dropna(subset="bound").sort_values("bound")
    low, rest = part[part.bound < HIGH], part[part.bound >= HIGH]
    told = [f"{named(row.measure)} {row.bound:.2f}" for row in low.itertuples()]
    told += [f"all others {ends(rest.bound, '.2f')}"] if len(rest) else []
    kind = KIND_TITLES[_main(table)]
    return f"Bounds on any correlation with a measure of {kind} heads: {'; '.join(told)}." if told else ""


def head_map(table: pd.DataFrame, measures: Sequence[str]) -> str:
    """Of a head table's heads of one kind: who is first in its layer by most measures, which measure agrees least with others.

    Parameters
    ----------
    measures : sequence of str
        Columns that are compared.
    """
    kind = table.index[0][0]
    tops = [part[name].idxmax() for _, part in table.groupby(level="layer") for name in measures if part[name].nunique() > 1]
    firsts = pd.Series(tops, dtype=object).value_counts()
    often = firsts[firsts >= 2 / 3 * len(measures)].head(NAMED)
    often = often if len(often) else firsts.head(1)
    who = listed(f"layer {layer + 1} head {head + 1} by {times}" for (_, layer, head), times in often.items())
    agree = rank_agreement(table[list(measures)], kind)
    mean = (agree.sum() - 1) / (agree.notna().sum() - 1)
    least = mean.idxmin()
    return (
        f"First in their layers, of {len(measures)} measures: {who}. *{named(least)}* agrees least with the others (mean rank"
        f" correlation {number(mean[least], '.2f')}, median of all {number(mean.median(), '.2f')})."
    )


def _few(criteria: Sequence[str]) -> str:
    """The names of a few criteria, how many there are of more, and nothing of none."""
    called = [f"*{named(name)}*" for name in criteria]
    return listed(called) if 0 < len(called) <= NAMED else f"{len(called)} rivals" if called else ""


def choice(table: pd.DataFrame, differ: pd.DataFrame) -> str:
    """Of `tables.predictors`: which cheap measure to use, for every kind of attention; `tables.effects` says why for none."""
    part = table[(table.truth == TRUTH) & (table["heads"] == "within layers") & ~table.measure.isin([TRUTH, SURVIVAL])]
    said = []
    for kind, rows in part.groupby("kind", sort=False):
        sure, best = rows[rows.low > 0].sort_values("rho", ascending=False), "none by its interval"
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
        which = f"{model}, seed {seed}" if seeds[model] > 1 else MODELS.get(model, model)
        told = rows.setdefault((model, seed), {"model": which, "loss, all heads": number(row.whole, ".2f")})
        few = "" if row.shown else " (too few)"
        told[KIND_TITLES[kind]] = f"{interval(row.loss, row.low, row.high, '+.2f')}; {row.differ:.0f} of {row.heads:.0f}{few}"
    return pd.DataFrame(list(rows.values())).fillna("–")


def _bleu(row: Mapping) -> str:
    """BLEU lost, with its interval."""
    return interval(-row["value"], -row["high"], -row["low"], ".1f")
