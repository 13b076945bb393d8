"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.lrp import RULES
from helpers.measures.ranks import rank_agreement
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import DECODER, ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import TRAINED
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
DRAWN = (TRUTH, "gradient, example", "alpha_beta", "confidence", "L1 gates")  # criteria that share a panel


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
    (sure, left), of_truth = _sure(part), (part.one == TRUTH) | (part.other == TRUTH)
    most, least = (part.loc[end()] for end in (part.rho.idxmax, part.rho.idxmin))
    pairs = [f"{named(row.one)} and {named(row.other)} ({number(row.rho, '.2f')})" for row in (most, least)]
    over = f"{ends((part.models.min(), part.models.max()))} models" if part.models.max() > 1 else "over heads of one model"
    said = f"{KIND_TITLES[kind].capitalize()} heads: {sure.sum()} of {len(part)} pairs agree by their 95 % interval"
    said += f" ({over}), {left.sum()} after Holm; most {pairs[0]}, least {pairs[1]}. "
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
    return f"Highest within layers, not tested: {'; '.join(parts) or 'nothing'}{' heads' if parts else ''}."


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
        few = "" if found.shown.all() else " (too few heads with an effect: tells nothing)"
        told = {named(row.measure): interval(row.rho, row.low, row.high, ".2f") for row in found.itertuples()}
        row = {"attention": f"{KIND_TITLES[kind]}{few}", "n (models)": str(int(found.models.max())), **told}
        rows.append({name: f'<span style="color:#999">{said}</span>' for name, said in row.items()} if few else row)
    part = part[part.shown.astype(bool)]
    sure = part[part.low > 0].assign(kind=part.kind.map(KIND_TITLES)).groupby("measure", sort=False).kind.agg(listed)
    which = listed([f"{named(measure)} in {kinds} heads" for measure, kinds in sure.items()])
    return pd.DataFrame(rows).fillna("–"), f"Above zero by their interval: {which}."


def closing(rises: pd.DataFrame, slopes: pd.DataFrame) -> str:
    """Of `tables.closing`: what the slope promises of the head that the loss needs most; sentences' slopes and sizes."""
    closed, slope = rises[rises.gate == 0].set_index("head"), slopes.groupby("head", sort=False).slope
    first, means = closed.iloc[0], [number(values.mean(), "+.2f") for _, values in slope]
    sizes = [number(values.abs().mean(), ".2f") for _, values in slope]
    early = rises[(rises["head"] == closed.index[0]) & (rises.gate > 0.5)].rise.max()
    shape = ": at the open gate the loss is flat, then it climbs" if 0 <= early < 0.25 * first.rise else ""
    return (
        f"Closed, {closed.index[0]} costs {number(first.rise, '.3f')} nats per token; its slope promises"
        f" {number(-first.slope, '+.3f')}{shape}. Per sentence slopes are {listed(means)} on average, {listed(sizes)} in size."
    )


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike a measure is on other texts, and on another seed's heads."""
    kind = _main(table)
    part = table[table.kind == kind]
    said = [f"{name} {number(rho, '.2f')}" for name, rho in part.groupby("compared", sort=False).rho.median().items()]
    said = f"{KIND_TITLES[kind].capitalize()} heads, median correlation of a measure with itself: {listed(said)}."
    rows = part[part.compared.str.startswith("matched") & part.measure.isin(RULES)]
    told = [f"{named(row.measure).removeprefix('relevance, ')} {number(row.rho, '.2f')}" for row in rows.itertuples()]
    told[:1] = [f"{first} ({number(rows.low.iloc[0], '.2f')} to {number(rows.high.iloc[0], '.2f')})" for first in told[:1]]
    pairs = f" Matched, relevance (least to largest of {rows.models.max()} pairs): {', '.join(told)}."
    return said + pairs if told else said


def at_once(table: pd.DataFrame, drawn: Sequence[str] = DRAWN) -> str:
    """Of `tables.along`, means over all numbers of heads: which drawn choice costs least in most settings, how many beat the
    gradient in each, and which drawn one most often costs no less than random heads."""
    means = table.groupby(["model", "criterion"], sort=False).change.mean()
    every, settings = means.drop(RANDOM, level="criterion", errors="ignore"), list(means.index.unique("model"))
    here = every[every.index.isin(drawn, level="criterion")]
    best = here.groupby(level="model", sort=False).idxmin().str[1].value_counts()
    must = " (trained)" if best.index[0] == "L1 gates" else ""
    said = f"On average *{named(str(best.index[0]))}*{must} cost least in {best.iloc[0]} of {best.sum()} settings."
    better = {name: int((every[name] < every[name, UNIT]).sum()) for name in settings if UNIT in every[name]}
    own = {name: better[name] for name in better if name != DECODER}
    if own and better:
        told = [f"{ends(own.values())} measure{'s' * (max(own.values()) > 1)} on translation models"] if own else []
        told += [f"{better[DECODER]} on the {MODELS[DECODER].partition(' (')[0]}"] if DECODER in better else []
        said += f" *{named(UNIT)}* is beaten by {listed(told)}."
    if RANDOM in means.index.get_level_values("criterion"):
        above = every.index.get_level_values("model").map(means.xs(RANDOM, level="criterion")).to_numpy()
        worse = every[every.to_numpy() >= above].index
        told = [
            f"{of}*{named(str(name))}* ({times} of {len(settings)})"
            for part, of in ((worse[worse.isin(here.index)], ""), (worse, "of all "))
            for name, times in part.get_level_values("criterion").value_counts().head(1).items()
        ]
        said += f" No better than random: {', '.join(told)}." if told else ""
    return said


def _rivals(ranked: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.over_seeds` of a contest the first model and test set, by criterion, and of these L0's rivals, best first."""
    own = ranked[ranked.criterion == TRAINED].head(1)
    here = ranked.merge(own[["model", "test set"]]).set_index("criterion").sort_values("value", ascending=False)
    return here, here.drop([TRAINED, NAMES["map"], RANDOM], errors="ignore")


def _changes(here: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """By how much L0 and random heads change BLEU, these with every draw."""
    draws = drawn[drawn.criterion == RANDOM].merge(here[["model", "test set"]].drop_duplicates()).change
    told = [f"L0 by {interval(*here.loc[TRAINED, VALUES], '+.1f')}"]
    if len(draws):
        told.append(f"random heads by {number(draws.mean(), '+.1f')} ({count(len(draws), 'draw')}: {ends(draws, '+.1f')})")
    return ", ".join(told)


def _beside_random(here: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Which choices are better than every random draw of every training, and which cannot be told from random heads."""
    if RANDOM not in here.index:
        return ""
    found = drawn.merge(here[["model", "test set"]].drop_duplicates())
    most = found[found.criterion == RANDOM].groupby("seed").change.max()
    above = found[found.criterion != RANDOM].groupby(["criterion", "seed"]).change.min().unstack("seed")
    sure = [f"*{named(name)}*" for name in here.index.drop(RANDOM) if (above.loc[name] > most).all()]
    said = f" Better than every draw of every training: {listed(sure)}."
    alike = [f"*{named(name)}*" for name in hollow(here, paired)]
    return said + (f" Cannot be told from random heads (paired by training): {listed(alike)}." if alike else "")


def hollow(here: pd.DataFrame, paired: pd.DataFrame) -> list[str]:
    """The criteria of `here`'s index whose difference to random heads has zero in its interval (`tables.against`)."""
    if (RANDOM, "low") not in paired:
        return []
    low, high = (paired[RANDOM, end].reindex(here.index) for end in ("low", "high"))
    return list(here.index[(low <= 0) & (high >= 0)])


def beside_random(ranked: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """What `figures.ranking` draws of a contest: each random draw, and which criteria cannot be told from these."""
    alike = hollow(ranked.set_index("criterion"), paired)
    chosen = ranked[ranked.criterion != RANDOM].assign(hollow=lambda rows: rows.criterion.isin(alike))
    draws = drawn[drawn.criterion == RANDOM].rename(columns={"change": "value"})[["model", "test set", "criterion", "value"]]
    both = pd.concat([chosen, draws], ignore_index=True).assign(model=lambda rows: rows.model + ", " + rows["test set"])
    return both.assign(criterion=both.criterion.map(named))[["criterion", "model", *VALUES, "hollow"]]


def trained_on(ranked: pd.DataFrame, drawn: pd.DataFrame, of: int = 0) -> str:
    """Of `tables.over_seeds` of a contest: how the best rival, L0 and random heads change BLEU against the control.

    Of the first model and test set.

    Parameters
    ----------
    drawn : pandas.DataFrame
        `tables.stacked` of the same contest.
    of : int
        How many heads there are; 0 leaves that out.
    """
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    left = drawn[drawn.criterion == TRAINED].merge(here[["model", "test set"]].drop_duplicates())["heads"]
    said = f"With {ends(left, '.0f')}{f' of {of}' * bool(of)} encoder heads left ({here.model.iloc[0]},"
    said += f" {count(int(here.seeds[TRAINED]), 'training')}), *{named(rivals.index[0])}* changes BLEU by"
    return f"{said} {interval(*rivals.iloc[0][VALUES], '+.1f')}, {_changes(here, drawn)}."


def near_and_far(ranked: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of the same and `tables.against`: what is near L0, what is above every random draw, what cannot be told from these."""
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return ""
    near = [f"*{named(name)}*" for name in here.index.drop(TRAINED) if abs(here.value[name] - here.value[TRAINED]) < NEAR]
    said = f"Within `{NEAR:g}` BLEU of L0: {listed(near)}." if near else ""
    return (said + _beside_random(here, paired, drawn)).strip()


def advice(ranked: pd.DataFrame, paired: pd.DataFrame, corrected: pd.DataFrame) -> str:
    """Of the same and `tables.against_l0`: which measure to prune by, as far as L0 and random heads tell.

    Parameters
    ----------
    corrected : pandas.DataFrame
        `tables.against_l0`.
    """
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    best, low = rivals.index[0], (RANDOM, "low")
    called = "gradient importance" if best == UNIT else f"*{named(best)}*"
    if low not in paired or pd.isna(paired.loc[best, low]):
        return f"nothing is decided by one training; the best by value is {called}."
    if paired.loc[best, low] <= 0:
        return f"no measure is shown to beat random heads; the best by value is {called}."
    row = corrected[corrected.criterion == best].merge(here[["model", "test set"]].drop_duplicates()).iloc[0]
    how = f"is {'better' if row.value > 0 else 'worse'} than L0" if row.p_holm < LEVEL else "cannot be told from L0"
    both = listed(number(here.value[name], "+.1f") for name in (best, TRAINED))
    where = f"{here.model.iloc[0]}, one number of heads, {count(int(here.seeds[TRAINED]), 'training')}"
    return f"{called} {how} ({both} BLEU; {where})."


def answer(agreement: pd.DataFrame, stability: pd.DataFrame, advice: str, verdicts: Sequence[str]) -> str:
    """The question of the notebook answered in three sentences, and how many claims are decided.

    Parameters
    ----------
    agreement, stability : pandas.DataFrame
        `tables.agreement` of what is drawn, and `tables.reliability` with `tables.stability`.
    verdicts : sequence of str
        Of this notebook's claims.
    """
    kind, said = _main(agreement), []
    part = agreement[agreement.kind == kind]
    if len(part):
        (sure, left), middle = _sure(part), part.rho.median()
        said.append(
            f"**Do they agree?** {_how(middle).capitalize()} (median {number(middle, '.2f')}): of {len(part)} pairs of"
            f" {KIND_TITLES[kind]} measures {sure.sum()} agree by their own interval, {left.sum() or 'none'} after Holm"
            + f" ({ends(part.models, '.0f')} models can hardly pass it)" * (not left.sum())
            + "."
        )
    rho = stability[stability.kind == kind].groupby("compared", sort=False).rho.median()
    own = {name: rho[rho.index.str.startswith(key)] for name, key in (("texts", "other"), ("seeds", "matched"), ("", "same"))}
    same = "".join(f", same number {number(value, '.2f')}" for value in own.pop(""))
    seeds = stability[(stability.kind == kind) & stability.compared.str.startswith("matched")]
    claimed = seeds[seeds.measure == RULES[0]]
    rule = "".join(f" (by {named(RULES[0])} {number(value, '.2f')})" for value in claimed.rho)
    said_of = {"texts": "median of all measures {}", "seeds": f"matched heads {{}}{rule}{same}"}
    told = [
        f"between {name} {_how(part.iloc[0])} ({said_of[name].format(number(part.iloc[0], '.2f'))})"
        for name, part in own.items()
        if len(part)
    ]
    said += [f"**Are ranks stable?** {listed(told)[0].upper()}{listed(told)[1:]}."] if told else []
    open_ = sum(verdict == "inconclusive" for verdict in verdicts)
    said += [f"**To prune:** {advice}"] + [f"{open_} of {count(len(verdicts), 'claim')} are inconclusive."] * bool(open_)
    return " ".join(said)


def _how(rho: float) -> str:
    """How far a correlation goes, in a word."""
    return "well" if rho >= 0.7 else "moderately" if rho >= 0.4 else "hardly"


def _sure(part: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Of rows of `tables.agreement`: whose interval is above zero, and which of these are left by Holm's correction."""
    z = intervals.fisher(part[["rho", "low", "high"]])
    sure = part.low > 0
    return sure, sure & (
        intervals.holm(intervals.p_value(z.rho, z.low, z.high, trainings=part.models.where(part.models > 1))) < LEVEL
    )


def rivals(corrected: pd.DataFrame) -> str:
    """Of `tables.against_l0`, against L0's heads: what is worse or better after Holm's correction, what by its interval alone.

    Beside them L0 itself, which trains while it chooses: what it owes to that.
    """
    several = len(corrected[["model", "test set"]].drop_duplicates()) > 1

    def told(part: pd.DataFrame) -> str:
        names = [f"*{named(row.criterion)}*" + f" ({row.model})" * several for row in part.itertuples()]
        names = [name.replace(f"*{RANDOM}*", "random heads") for name in names]
        return listed(f"{name} {interval(*row, '+.1f')}" for name, row in zip(names, part[VALUES].to_numpy(), strict=True))

    others = corrected[corrected.criterion != TRAINED].sort_values("value")
    sure = others[others.p_holm < LEVEL]
    open_ = others[~(others.p_holm < LEVEL)]
    worse, better = (sure[sign * sure["value"] > 0] for sign in (-1, 1))
    said = f"Against *{NAMES['map']}*, cut first and trained like the others: significantly worse (Holm, 5 %; BLEU)"
    said += f" {told(worse)}; better {told(better)}."
    alone = open_[(open_.high < 0) | (open_.low > 0)]
    said += f" By their own interval alone also: {told(alone)}." if len(alone) else ""
    for row in corrected[corrected.criterion == TRAINED].head(1).itertuples():
        shows = "" if row.low > 0 or row.high < 0 else ": how L0 trains gains or costs it nothing that shows"
        said += f" *{named(row.criterion)}*, which trains while it chooses, differs by"
        said += f" {interval(row.value, row.low, row.high, '+.2f')}{shows}."
    return said


def rules(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how far gradient importance and relevance agree on encoder heads, rule by rule."""
    part = table[(table.kind == "encoder") & table.one.isin(RULES) & (table.other == UNIT)]
    told = [f"{named(r.one).removeprefix('relevance, ')} {interval(r.rho, r.low, r.high, '.2f')}" for r in part.itertuples()]
    return f"Gradient importance and relevance of encoder heads, by rule: {', '.join(told)}." if told else ""


def families(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how alike measures of one family rank heads, of which one is drawn."""
    pairs = {"the two gradients": (UNIT, "gradient, token"), "the two signed rules": ("attnlrp", "cp")}
    part = table[table.kind == _main(table)].set_index(["one", "other"]).rho
    told = [f"{name} {number(part[pair], '.2f')}" for name, pair in pairs.items() if pair in part]
    kind = KIND_TITLES[_main(table)]
    return f"One measure of each family is drawn; within families ({kind} heads): {listed(told)}." if told else ""


def unlike(one: str, other: str, models: pd.Series) -> str:
    """Of `tables.by_model`: that a mean is one of unlike models."""
    told = ", ".join(f"{MODELS.get(name, name)} {number(rho, '.2f')}" for name, rho in models.items())
    return f"The correlation of {named(one)} with {named(other)} is a mean of unlike models: {told}."


def bounds(table: pd.DataFrame) -> str:
    """Of `tables.reliability`: what bounds the correlation of each measure with anything, least first, high ones together."""
    part = table[table.kind == _main(table)].dropna(subset="bound").sort_values("bound")
    low, rest = part[part.bound < HIGH], part[part.bound >= HIGH]
    told = [f"{named(row.measure)} {row.bound:.2f}" for row in low.itertuples()]
    told += [f"the others measured on halves {ends(rest.bound, '.2f')}"] if len(rest) else []
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
    for (model, seed, kind), row in worth.join(differ[["differ", "differ_holm", "shown"]]).iterrows():
        which = f"{model}, seed {seed}" if seeds[model] > 1 else MODELS.get(model, model)
        told = rows.setdefault((model, seed), {"model": which, "loss, all heads": number(row.whole, ".2f")})
        few, shows = "" if row.shown else ", too few", f"{row.differ:.0f} (Holm: {row.differ_holm:.0f})"
        told[KIND_TITLES[kind]] = f"{interval(row.loss, row.low, row.high, '+.2f')}; {shows} of {row.heads:.0f}{few}"
    return pd.DataFrame(list(rows.values())).fillna("–")
