"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.lrp import RULES
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import CLOSES, DECODER, ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import EVERY, OTHER_TEXT, TRAINED, nested
from helpers.methods.l0.tables import NAMES
from helpers.reading import COLUMNS, count, ends, interval, listed, number
from helpers.scores import intervals

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)
BESIDE = (  # in files alone: twins of others, what few models have, and what does not agree with itself
    "cp", *ESTIMATES, "gradient, token", "rare", "probing", "alignment", "first token"
)  # fmt: skip
TWINS = (ESTIMATES[0], "gradient, token")  # of these what stands beside the loss without the head
STABLE = ("alpha_beta", "attnlrp", "gradient, example", "output norm", TRUTH, "confidence", "positional", SURVIVAL)  # drawn
BEST = 5  # of a contest, which are looked for in another
FEW = 3  # models, below which an interval over models says nothing
MODELS = {DECODER: "Llama-style decoder (grouped-query)"}  # as people call them
VALUES = ["value", "low", "high"]
WITHIN, ACROSS = "within layers", "over all layers"
LEVEL = 0.05  # of a test
HALF = 0.5  # of a correlation, below which a rank holds in part only
HIGH = 0.9  # a bound on correlations above which it binds little
PARTED = 0.3  # what a correlation loses, from which on a measure is said not to tell layers apart
FLAT = 0.05  # of a share, within which layers are alike
CALLED = {TRAINED: "L0, while it trains", NAMES["map"]: "L0's heads, cut at once", "gradual": "gradient, step by step"}
SAME_NUMBER = "heads of the same number"
COMPARED = {
    OTHER_TEXT: "other sentences", "matched heads, other seed": "matched heads of another training",
    "same index, other seed": SAME_NUMBER,
}  # fmt: skip
LAYERED = (SURVIVAL, TRUTH, UNIT, "L1 gates", "alpha_beta", "votes", "output norm", "confidence")  # layer by layer
DRAWN = (TRUTH, "gradient, example", "alpha_beta", "confidence", "L1 gates")  # criteria that share a panel


def heart(
    table: pd.DataFrame, entered: Sequence[str] = (), effects: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """A head table's main columns behind each head's address in words, and what people call them.

    Parameters
    ----------
    entered : sequence of str
        Measures of others, which stand before the study's own where there is no room for all.
    effects : pandas.DataFrame on (kind, layer, head), optional
        Of `worth.leave_one_out` on the same batches: the interval of the loss without the head. Heads of all kinds are then
        in one order, else one kind stands after the other.

    Returns
    -------
    pandas.DataFrame, dict
        On (kind, layer, head), most loss first, that in thousandths of a nat; column -> name.
    """
    addresses = [f"{KIND_TITLES[kind]}, layer {layer + 1}, head {head + 1}" for kind, layer, head in table.index]
    known = [name for name in (*FRONT, *entered, GROUP, *HEART) if name in table and table[name].notna().any()]
    kept = table[known[: COLUMNS - 1]].assign(address=addresses)
    if TRUTH in kept:
        kept = kept.assign(**{TRUTH: 1000 * kept[TRUTH]}).sort_values(TRUTH, ascending=False, kind="stable")
    if TRUTH in kept and effects is None:
        kept = kept.sort_index(
            level="kind", key=lambda kinds: kinds.map(list(KIND_TITLES).index), kind="stable", sort_remaining=False
        )
    elif effects is not None:
        kept = kept.join(1000 * effects[["low", "high"]].add_prefix(f"{TRUTH}_"))
    if "functions" in kept:
        kept["functions"] = kept.functions.fillna("").replace("", "–")
    own = {"functions": "passes the test of", TRUTH: f"{named(TRUTH)} (thousandths of a nat)"}
    beside = {"address", f"{TRUTH}_low", f"{TRUTH}_high"}
    called = {name: own.get(name, named(name)) for name in kept if name not in beside}
    return kept, {"address": "head", **called}


def _main(table: pd.DataFrame) -> str:
    """The kind of attention that is spoken of: the first, of an encoder where there is one."""
    return next((kind for kind in KIND_TITLES if kind in set(table.kind)), "encoder")


def agreement(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how many pairs of measures agree, which are most and which least alike."""
    part = table[table.kind == _main(table)]
    if part.empty:
        return "No layer has heads enough to be ranked."
    sure, left = _sure(part)
    pairs = [
        f"*{named(row.one)}* and *{named(row.other)}*" for row in (part.loc[part.rho.idxmax()], part.loc[part.rho.idxmin()])
    ]
    said = f"{sure.sum()} of {len(part)} correlations are above zero by their own interval, {left.sum() or 'none'} after a"
    return f"{said} correction for their number. Most alike are {pairs[0]}, least {pairs[1]}."


def over_all(table: pd.DataFrame) -> str:
    """Of `tables.agreement` over all layers: the median of its correlations."""
    part = table[table.kind == _main(table)]
    return f"Over all layers the median correlation is {number(part.rho.median(), '.2f')}." if len(part) else ""


def costliest(table: pd.DataFrame) -> str:
    """Of a head table: which encoder head the loss needs most, and what place by that loss the first of other measures has."""
    own = table[table.index.isin([table.index[0][0]], level="kind")]
    if TRUTH not in own or own[TRUTH].isna().any():
        return ""
    place, (kind, layer, head) = own[TRUTH].rank(ascending=False, method="min"), own[TRUTH].idxmax()
    always = own.index[own[CLOSES] == np.inf] if CLOSES in own else own.index[:0]
    names = [name for name in (UNIT, "confidence") if name in own and own[name].notna().all()]
    tops = {name: place[own[name].idxmax()] for name in names}
    told = "".join(f" The first by {named(name)} is number {at:.0f} by that loss." for name, at in tops.items() if at > 1)
    same = listed(named(name) for name, at in tops.items() if at == 1) if 1 in tops.values() else ""
    said = f"Of {len(own)} {KIND_TITLES[kind]} heads the loss needs layer {layer + 1}, head {head + 1} most."
    said += f" It is one of {len(always)} that L0 keeps at every price." * ((kind, layer, head) in always)
    return said + f" It is also the first by {same}." * bool(same) + told


def telling(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.predictors` within layers what can tell of a truth: of `FEW` models or more, with an effect to predict.

    All rows of the truth where there are none such.
    """
    within = table[(table["heads"] == "within layers") & (table.truth == TRUTH) & (table.measure != SURVIVAL)]
    within = within[~within.measure.isin(BESIDE) | within.measure.isin(TWINS)]
    many = within.groupby("kind").models.transform("max") >= FEW
    found = within[many & within.shown.astype(bool)]
    return found if len(found) else within


def predictors(table: pd.DataFrame) -> str:
    """Of `tables.predictors`: the measure that goes best with the loss without a head, for each kind that can tell."""
    told: dict[str, list[str]] = {}
    for kind, part in telling(table).dropna(subset="rho").groupby("kind", sort=False):
        best = part.loc[part.rho.idxmax()]
        value = interval(best.rho, best.low, best.high, ".2f") + ", which holds zero" * bool(best.low <= 0 <= best.high)
        told.setdefault(f"*{named(best.measure)}*", []).append(f"{KIND_TITLES[kind]} heads {value}")
    closest = listed(f"{name} ({'; '.join(values)})" for name, values in told.items())
    return f"Of the measures drawn, closest to the {named(TRUTH)} is {closest}. Differences are not tested."


def across(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.predictors` how encoder heads' measures go with how long L0 keeps a head, within layers and across them.

    Returns
    -------
    pandas.DataFrame
        The best across layers first; measure (key), kind, compared, rho, low, high, models.
    """
    part = table[(table.truth == SURVIVAL) & (table.kind == "encoder") & ~table.measure.isin(BESIDE)]
    called = {"all heads": ACROSS, "within layers": WITHIN}
    part = part.assign(compared=part["heads"].map(called))
    best = part[part.compared == ACROSS].sort_values("rho", ascending=False, kind="stable").measure
    part = part.assign(place=part.measure.map({name: at for at, name in enumerate(best)})).sort_values("place", kind="stable")
    return part[["measure", "kind", "compared", "rho", "low", "high", "models"]]


def depth(means: pd.DataFrame, across: pd.DataFrame) -> str:
    """Of `tables.layer_means` and `across`: what is least in the layer that the loss needs most, and goes with L0 no more."""
    share = means.groupby(["measure", "layer"], sort=False).share.mean().unstack()
    if TRUTH not in share.index or share.shape[1] < 2:
        return "One layer alone tells nothing."
    at, share = share.loc[TRUTH].idxmax(), share[share.max(axis=1) - share.min(axis=1) > FLAT]
    least, said = share.index[share.idxmin(axis=1) == at], f"The loss needs layer {at} most"
    if least.empty:
        return f"{said}, and no measure is least there."
    said += f", where {listed(f'*{named(name)}*' for name in least)} {'is' if len(least) == 1 else 'are'} least"
    rho = across.pivot(index="measure", columns="compared", values="rho").reindex(index=least, columns=[WITHIN, ACROSS])
    if not (rho[WITHIN] - rho[ACROSS] > PARTED).all():
        return f"{said}."
    rho = listed(number(value, ".2f") for value in rho[ACROSS])
    whose = "its" if len(least) == 1 else "their"
    return f"{said}: over all layers {whose} correlation with how long L0 keeps a head falls to {rho}."


def panels(means: pd.DataFrame, across: pd.DataFrame) -> pd.DataFrame:
    """Of the same what `figures.layer_means` draws: measures that differ between layers, both correlations in their titles.

    The loss without the head is there for its layers alone: too few heads may have any effect. `falls`: as `PARTED`.
    """
    share = means.groupby(["measure", "layer"], sort=False).share.mean().unstack()
    flat = share.index[share.max(axis=1) - share.min(axis=1) <= FLAT]
    means = means[~means.measure.isin(flat)] if len(flat) < len(share) else means
    rho = across.pivot(index="measure", columns="compared", values="rho").drop(TRUTH, errors="ignore")
    rho = rho.reindex(columns=[WITHIN, ACROSS])
    told = {name: f"{number(row[WITHIN], '.2f')} within, {number(row[ACROSS], '.2f')} over all" for name, row in rho.iterrows()}
    falls = means.measure.isin(rho.index[rho[WITHIN] - rho[ACROSS] > PARTED])
    return means.assign(panel=means.measure.map(lambda name: f"{named(name)}\n{told.get(name, '')}"), falls=falls)


def losses(across: pd.DataFrame, lost: pd.DataFrame) -> pd.DataFrame:
    """Of `across` and `tables.lost`: a row a measure in words, both correlations with intervals and what is lost."""
    told = {how: part.set_index("measure") for how, part in across.groupby("compared")} | {"lost, in z": lost}
    parts = {how: part.apply(lambda r: interval(r.rho, r.low, r.high, ".2f"), axis=1) for how, part in told.items()}
    names = list(across[across.compared == ACROSS].measure)
    return pd.DataFrame(parts).loc[names, [WITHIN, ACROSS, "lost, in z"]].rename(named).rename_axis("measure").reset_index()


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike drawn measures are on other sentences and matched heads."""
    drawn = steady(table)
    rho = drawn.groupby("compared", sort=False).rho.median()
    chance = rho.get(SAME_NUMBER, np.nan)
    rho = rho.drop(SAME_NUMBER, errors="ignore")
    told = listed(f"{number(value, '.2f')} on {how}" for how, value in rho.items())
    told += f" ({number(chance, '.2f')} on {SAME_NUMBER})" * bool(chance == chance)
    own = drawn[drawn.measure == UNIT].set_index("compared").rho.reindex(rho.index).dropna()
    own = f"; *{named(UNIT)}* reaches {listed(number(value, '.2f') for value in own)}" * bool(len(own))
    part = "Only in part: of" if rho.get(COMPARED["matched heads, other seed"], 1) < HALF else "Of"
    return f"{part} the measures drawn the median is {told}{own}."


def likeness(table: pd.DataFrame) -> str:
    """Of `tables.likeness`: how alike matched heads are, and what follows of it."""
    said = f"Matched heads look alike by a cosine of {ends(table.cosine, '.2f')} ({ends(table.chance, '.2f')} with random"
    return f"{said} weights). Where it is low, a low correlation of ranks says as much of the matching as of the measure."


def steady(table: pd.DataFrame) -> pd.DataFrame:
    """Of the same what is drawn: `STABLE` measures of the first kind, the best on matched heads first."""
    part = table[table.kind == _main(table)]
    part = part[part.measure.isin(STABLE)] if part.measure.isin(STABLE).any() else part
    rank = part[part.compared.str.startswith("matched")].set_index("measure").rho
    part = part.assign(compared=part.compared.replace(COMPARED))
    return part.assign(place=-part.measure.map(rank).fillna(-1)).sort_values("place", kind="stable").drop(columns="place")


def at_once(table: pd.DataFrame) -> str:
    """Of `removed`: which choice costs least in most settings, and where gradient importance is neither first nor second."""
    values = table.pivot(index="setting", columns="series", values="value").reindex(table.setting.unique())
    place, first = values.rank(axis=1), values.idxmin(axis=1).value_counts()
    said, own = f"Removal by *{first.index[0]}* costs least in {first.iloc[0]} of {count(len(values), 'setting')}", named(UNIT)
    if own not in place or own == first.index[0]:
        return f"{said}. Not tested."
    said += f", *{own}* is first or second in {(place[own] <= 2).sum()}"
    for setting in place.index[place[own] > 2][:1]:
        rest = values.loc[setting].drop(first.index[0], errors="ignore")
        pair = f"({number(rest.min(), '.2f')} against {number(rest[own], '.2f')})"
        said += f"; exception: {setting}, where *{rest.idxmin()}* is ahead of it {pair}"
    return f"{said}. Not tested."


def removed(each: pd.DataFrame, entered: Sequence[str] = ()) -> pd.DataFrame:
    """What `figures.at_once` draws of `tables.each_training`: a row a setting and drawn criterion, mean over numbers of heads.

    Returns
    -------
    pandas.DataFrame
        setting, series, panel, value (mean over trainings), low, high (the least and the largest training).
    """
    part = each[each.criterion.isin([*DRAWN, *entered])]
    found = part.groupby(["model", "criterion", "seed"], sort=False).change.mean().groupby(level=[0, 1], sort=False)
    found = found.agg(value="mean", low="min", high="max").reset_index()
    panel = np.where(found.model.str.endswith(EVERY), "heads of all kinds go", "heads of one kind go")
    found = found.assign(panel=panel, setting=found.model.map(_settings(found.model)), series=found.criterion.map(named))
    place = {named(name): at for at, name in enumerate((*DRAWN, *entered))}
    return found.sort_values("series", key=lambda names: names.map(place), kind="stable").drop(columns=["model", "criterion"])


def spoken(model: str) -> str:
    """A model as people call it, whichever heads are in question."""
    return MODELS.get(model, model).removesuffix(EVERY)


def swept(models: Iterable) -> str:
    """Head tables' models in words, the first of each, and of which heads their sweeps are."""
    names = dict.fromkeys(name if isinstance(name, str) else name[0] for name in models)
    told = [spoken(name) + " (sweep of heads of all kinds)" * name.endswith(EVERY) for name in names]
    return listed(told)


def _settings(models: pd.Series) -> dict[str, str]:
    """Models with the heads that are in question, which need no word where those are never of all kinds."""
    said = {}
    for model in dict.fromkeys(models):
        which = ": heads of all kinds" if model.endswith(EVERY) else ": encoder heads"
        said[model] = MODELS.get(model) or spoken(model) + which * bool(models.str.endswith(EVERY).any())
    return said


def _called(criterion: str) -> str:
    """A criterion of the contest as people call it."""
    return CALLED.get(criterion) or named(criterion)


def _rivals(ranked: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.over_seeds` of a contest the first model and test set, by criterion, and of these L0's rivals, best first."""
    own = ranked[ranked.criterion == TRAINED].head(1)
    here = ranked.merge(own[["model", "test set"]]).set_index("criterion").sort_values("value", ascending=False)
    return here, here.drop([TRAINED, NAMES["map"], RANDOM], errors="ignore")


def beyond_random(ranked: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest's first model, which choices are better than every random draw of their training, and which are not told
    from random heads."""
    here, rivals = _rivals(ranked)
    if RANDOM not in here.index or rivals.empty:
        return ""
    found = drawn.merge(here[["model", "test set"]].drop_duplicates())
    most = found[found.criterion == RANDOM].groupby("seed").change.max()
    above = found[found.criterion != RANDOM].groupby(["criterion", "seed"]).change.min().unstack("seed")
    sure = [f"*{_called(name)}*" for name in here.index.drop(RANDOM) if (above.loc[name] > most).all()]
    said = f"In each training better than all its random draws: {listed(sure)}."
    if alike := hollow(here, paired):
        said += f" Cannot be told from random heads (paired by training): {listed(f'*{_called(name)}*' for name in alike)}."
    return said


def hollow(here: pd.DataFrame, paired: pd.DataFrame) -> list[str]:
    """The criteria of `here`'s index whose difference to random heads has zero in its interval (`tables.against`)."""
    if (RANDOM, "low") not in paired:
        return []
    low, high = (paired[RANDOM, end].reindex(here.index) for end in ("low", "high"))
    return list(here.index[(low <= 0) & (high >= 0)])


def _first(ranked: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.stacked` of a contest its first model, all test sets."""
    return drawn[drawn.model == ranked.model.iloc[0]]


def by_layer(ranked: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Encoder heads that each criterion of a contest leaves, its first model: on criterion, a column a layer, a mean."""
    own = _first(ranked, drawn)
    own = own.filter(regex=r"^layer \d+$").dropna(axis=1, how="all").fillna(0).groupby(own.criterion, sort=False).mean()
    return own.rename(index=_called)


def beside_random(ranked: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame, of: int = 0) -> pd.DataFrame:
    """What `figures.ranking` draws of a contest's first model: every training and draw, what cannot be told from the latter.

    Parameters
    ----------
    of : int
        How many heads there are; 0 leaves that out.
    """
    own, alike = _first(ranked, drawn), hollow(ranked.set_index("criterion"), paired)
    alone = own.groupby("criterion").seed.transform("nunique") == 1
    own = own.assign(**{end: own[end].where(alone & (own.criterion != RANDOM)) for end in ("low", "high")})  # over sentences
    left = f"{ends(own['heads'], '.0f')}{f' of {of}' * bool(of)} encoder heads left, trained on"
    trained = f", {count(own.seed.nunique(), 'training')}"
    own = own.assign(
        model=left + "\n" + own.model + ", " + own["test set"] + trained, hollow=own.criterion.isin(alike), value=own.change
    )
    return own.assign(criterion=own.criterion.map(_called))[["criterion", "model", *VALUES, "hollow"]]


def unpruned(ranked: pd.DataFrame, drawn: pd.DataFrame, steps: int) -> str:
    """The x axis of a contest: what is subtracted, with its further steps and BLEU, mean over trainings, of each test set."""
    own = _first(ranked, drawn)
    plain = (own.bleu - own.change).groupby(own["test set"], sort=False).mean()
    said = listed(number(value, ".1f") for value in plain)
    return f"BLEU minus that of the unpruned model ({said}); both train {number(steps)} more steps"


def layers(ranked: pd.DataFrame, drawn: pd.DataFrame, paired: pd.DataFrame, shares: pd.DataFrame) -> str:
    """What tells the criteria of a contest's first model apart: who keeps nothing of the layer where most of the loss is.

    `shares` are `tables.shares` of its trainings, empty where there are none.
    """
    here, rivals = _rivals(ranked)
    at, kept, nothing = _nothing(ranked, drawn, shares)
    if not nothing:
        return ""
    alike, most = hollow(here, paired), str(kept.mean()[rivals.index].idxmax())
    sure = {*nothing} <= {*alike}
    who = listed(f"*{_called(name)}*" for name in nothing) if len(nothing) <= FEW else f"{len(nothing)} rankings"
    said = f"{who} keep{'s' * (len(nothing) == 1)} no head of layer {at + 1}, which the loss needs most;"
    said += f" *{_called(rivals.index[0])}* keeps {ends(kept.get_group(rivals.index[0]), '.0f')}."
    if most not in alike:
        return said + " The former cannot be told from random heads." * sure
    like = ", like those," * sure
    return f"{said} Keeping it is not enough: *{_called(most)}* keeps most and{like} is not told from random heads."


def _nothing(ranked: pd.DataFrame, drawn: pd.DataFrame, shares: pd.DataFrame) -> tuple[int, Any, list[str]]:
    """The layer where most of the loss is, heads that criteria keep there, and rivals that keep none where the best does."""
    here, rivals = _rivals(ranked)
    own = _first(ranked, drawn).merge(here[["test set"]].drop_duplicates())
    if shares.empty or rivals.empty or not {"layer 1"} <= {*own}:
        return 0, None, []
    at = int(shares.mean().idxmax())
    kept = own.fillna({f"layer {at + 1}": 0}).groupby("criterion")[f"layer {at + 1}"]
    nothing = [name for name in rivals.index if kept.max()[name] == 0]
    return at, kept, [] if rivals.index[0] in nothing else nothing


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
    said = (
        f"In {here.model.iloc[0]} ({count(int(here.seeds[TRAINED]), 'training')}) {ends(left, '.0f')}{f' of {of}' * bool(of)}"
    )
    said += f" encoder heads stay. Choosing them by *{_called(rivals.index[0])}* changes BLEU by"
    said += f" {interval(*rivals.iloc[0][VALUES], '+.1f')}, by L0 by {interval(*here.loc[TRAINED, VALUES], '+.1f')}"
    return f"{said}, at random by {interval(*here.loc[RANDOM, VALUES], '+.1f')}." if RANDOM in here.index else f"{said}."


def _apart(ranked: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Of a contest the BLEU of L0's best rival minus that of every other choice, best first.

    Mean over trainings, interval, and p-value after Holm's correction over them.
    """
    here, rivals = _rivals(ranked)
    changes = drawn.merge(here[["model", "test set"]].drop_duplicates()).set_index(["criterion", "seed"]).change
    names, best = here.index.drop(rivals.index[0]), changes[rivals.index[0]]
    rows = [nested(changes[name].rsub(changes[name].index.map(best))) for name in names]
    found = pd.DataFrame(rows, names, [*VALUES, "runs"])
    p = intervals.p_value(found["value"], found.low, found.high, trainings=found.runs)
    return found.assign(p_holm=intervals.holm(p))


def ahead(ranked: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest how far its best rival of L0 is ahead of every other choice, with intervals."""
    here, rivals = _rivals(ranked)
    if rivals.empty or here.seeds.min() < 2:
        return ""
    told = [
        f"*{_called(str(row.Index))}* {interval(*row[1:], '+.2f')}"
        for row in _apart(ranked, drawn)[VALUES].itertuples()
        if row.Index != RANDOM
    ]
    return f"BLEU of *{_called(rivals.index[0])}* minus that of the others (paired by training, not corrected): {listed(told)}."


def advice(ranked: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of the same which measure to prune by, from what its trainings tell it after Holm's correction, and from what not."""
    _, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    best, apart = rivals.index[0], _apart(ranked, drawn)
    if RANDOM not in apart.index or pd.isna(apart.low[RANDOM]):
        return f"One training decides no contest; the best by value is *{_called(best)}*."
    if apart.low[RANDOM] <= 0:
        return f"No measure is shown to choose better than chance; the best by value is *{_called(best)}*."
    sure = apart.index[(apart["value"] > 0) & (apart.p_holm < LEVEL)].drop(RANDOM, errors="ignore")
    how = "after" if apart.p_holm[RANDOM] < LEVEL else "but not after"
    said = f"**To prune, rank by {_called(best)}**: it is best by value and, {how} Holm's correction, better than"
    said += f" {listed([*(f'*{_called(name)}*' for name in sure), 'random heads'])}"
    said += f" ({number(apart['value'][RANDOM], '+.1f')} BLEU)."
    plain = {TRAINED: "L0", "L1 gates": "L1 gates (gates trained under a price on their size)"}
    alike = [name for name in (TRAINED, *rivals.index[1:2]) if not apart.p_holm[name] < LEVEL]
    return f"{said} No test tells it from {' or '.join(plain.get(name, _called(name)) for name in alike)}." if alike else said


def elsewhere(ranked: pd.DataFrame, other: pd.DataFrame, drawn: pd.DataFrame, text: str) -> str:
    """What of a contest carries over to other text, `tables.over_seeds` of both; `drawn` are `tables.stacked` of that."""
    (here, rivals), (there, _) = _rivals(ranked), _rivals(other)
    names = [name for name in rivals.index if name in there.index]
    if len(names) < FEW or here.value[names].nunique() < 2:
        return ""
    tests = other[other.model.eq(there.model.iloc[0])].pivot(index="criterion", columns="test set", values="value").loc[names]
    rhos = [one.corr(here.value[names], method="spearman") for _, one in tests.items()]
    own = drawn.merge(there[["model", "test set"]].drop_duplicates()).set_index("criterion")
    trained = count(int(there.seeds[TRAINED]), "training")
    alike, chosen = own.loc[[names[0]]].eval("above_low <= 0 <= above_high").any(), there.index.drop(RANDOM, errors="ignore")
    said = f"On {text} text ({trained}, {number(there['heads'].iloc[0], '.0f')} encoder heads left) *{_called(names[0])}*"
    said += f" is number {chosen.get_loc(names[0]) + 1} of {len(chosen)} by value and {'cannot be' if alike else 'is'} told"
    best = [name for name in here.index if name in chosen][:BEST]
    said += f" from L0. The {BEST} best here change BLEU by {ends(there.value[best], '+.1f')} there"
    said += f", random heads by {number(there.value[RANDOM], '+.1f')}" * (RANDOM in there.index)
    said += f"; the order of {len(names)} measures {'hardly carries over' if max(rhos) < HALF else 'is alike'}"
    said += f" (rank correlation {ends(rhos, '.2f')})."
    beats = RANDOM in own.index and there.value[names[-1]] > own.change[[RANDOM]].max()
    return said + f" There *{_called(names[-1])}* beats every random draw." * bool(beats)


def recommended(ranked: pd.DataFrame, drawn: pd.DataFrame, shares: pd.DataFrame) -> str:
    """Of a contest what to prune by, and which measures keep nothing of the layer where most of the loss is and come last."""
    _, rivals = _rivals(ranked)
    at, _, nothing = _nothing(ranked, drawn, shares)
    if UNIT not in rivals.index[:1] or not nothing or {*nothing} != {*rivals.index[-len(nothing) :]}:
        return ""
    said = "**To prune**, rank the heads of an encoder by gradient importance, then train on. Do not rank across"
    said += f" layers by {' or '.join(f'*{_called(name)}*' for name in nothing[::-1])}: here"
    keep, come = ("they keep", "come") if len(nothing) > 1 else ("it keeps", "comes")
    return f"{said} {keep} no head of layer {at + 1} and {come} last."


def answer(agreement: pd.DataFrame, predictors: pd.DataFrame, advice: str = "", text: str = "generated") -> str:
    """The question of the notebook answered: within layers, over all layers, and which measure to prune by.

    Parameters
    ----------
    agreement, predictors : pandas.DataFrame
        `tables.agreement` of what is drawn, and `tables.predictors`.
    """
    part = agreement[agreement.kind == _main(agreement)]
    rho = across(predictors).pivot(index="measure", columns="compared", values="rho").reindex(columns=[WITHIN, ACROSS])
    rho, said = rho[rho[WITHIN] > PARTED].drop(TRUTH, errors="ignore").dropna(), []
    fall = rho[WITHIN] - rho[ACROSS]
    blind = bool((fall > PARTED).any())
    if len(part):
        some = ", but some cannot tell which layer matters" * blind
        said.append(f"**On {text} text measures {_how(part.rho.median())}{some}.**")
        said.append(f"Two measures of {KIND_TITLES[part.kind.iloc[0]]} heads have a median rank correlation of")
        said.append(f"{number(part.rho.median(), '.2f')} within a layer.")
    if blind:
        values = [number(value, ".2f") for value in rho.loc[fall.idxmax()]]
        said.append(f"The ranking by *{named(fall.idxmax())}* correlates at {values[0]} with how long L0 keeps heads within")
        said.append(f"layers, but at {values[1]} over all layers.")
    return " ".join([*said, advice or "This run prunes no model, and so it cannot tell which measure to prune by."])


def _how(rho: float) -> str:
    """How far measures of such a correlation agree, in two words."""
    return "agree well" if rho >= 0.7 else "agree moderately" if rho >= 0.4 else "hardly agree"


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
        names = [f"*{_called(row.criterion)}*" + f" ({row.model})" * several for row in part.itertuples()]
        names = [name.replace(f"*{RANDOM}*", "random heads") for name in names]
        return listed(f"{name} {interval(*row, '+.1f')}" for name, row in zip(names, part[VALUES].to_numpy(), strict=True))

    others = corrected[corrected.criterion != TRAINED].sort_values("value")
    sure = others[others.p_holm < LEVEL]
    open_ = others[~(others.p_holm < LEVEL)]
    worse, better = (sure[sign * sure["value"] > 0] for sign in (-1, 1))
    said = f"Against *{_called(NAMES['map'])}*, and trained like the others: significantly worse (Holm, 5 %; BLEU)"
    said += f" {told(worse)}; better {told(better)}."
    alone = open_[(open_.high < 0) | (open_.low > 0)]
    said += f" By their own interval alone also: {told(alone)}." if len(alone) else ""
    for row in corrected[corrected.criterion == TRAINED].head(1).itertuples():
        shows = "" if row.low > 0 or row.high < 0 else ": how L0 trains gains or costs it nothing that shows"
        said += f" *{_called(row.criterion)}* differs by"
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
    told += [f"the others measured on halves {ends(rest.bound, '.2f')}"] if len(rest) else []
    kind = KIND_TITLES[_main(table)]
    return f"Bounds on any correlation with a measure of {kind} heads: {'; '.join(told)}." if told else ""
