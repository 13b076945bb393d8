"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.measures.lrp import RULES
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import CLOSES, DECODER, ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import EVERY, OTHER_TEXT, TRAINED
from helpers.methods.l0.tables import NAMES
from helpers.reading import COLUMNS, count, ends, interval, listed, number
from helpers.scores import intervals

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)
BESIDE = (  # in files alone: twins of others, what few models have, and what does not agree with itself
    "cp", *ESTIMATES, "gradient, token", "rare", "probing", "alignment", "first token"
)  # fmt: skip
STABLE = ("alpha_beta", "attnlrp", "gradient, example", "output norm", TRUTH, "confidence", "positional", SURVIVAL)  # drawn
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
COMPARED = {
    OTHER_TEXT: "other sentences", "matched heads, other seed": "matched heads of another training",
    "same index, other seed": "heads of the same number",
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

    All rows of the truth where there are none such. Of two measures that are nearly one the first.
    """
    within = table[(table["heads"] == "within layers") & (table.truth == TRUTH) & (table.measure != SURVIVAL)]
    within = within[~within.measure.isin(BESIDE) | within.measure.isin(ESTIMATES[:1])]
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
    """Of the same what `figures.layer_means` draws: measures that differ between layers, both correlations in their titles."""
    share = means.groupby(["measure", "layer"], sort=False).share.mean().unstack()
    flat = share.index[share.max(axis=1) - share.min(axis=1) <= FLAT]
    means = means[~means.measure.isin(flat)] if len(flat) < len(share) else means
    rho = across.pivot(index="measure", columns="compared", values="rho")
    told = {name: f"{number(row[WITHIN], '.2f')} within, {number(row[ACROSS], '.2f')} over all" for name, row in rho.iterrows()}
    return means.assign(panel=means.measure.map(lambda name: f"{named(name)}\n{told.get(name, '')}"))


def losses(across: pd.DataFrame, lost: pd.DataFrame) -> pd.DataFrame:
    """Of `across` and `tables.lost`: a row a measure in words, both correlations with intervals and what is lost."""
    told = {how: part.set_index("measure") for how, part in across.groupby("compared")} | {"lost, in z": lost}
    parts = {how: part.apply(lambda r: interval(r.rho, r.low, r.high, ".2f"), axis=1) for how, part in told.items()}
    names = list(across[across.compared == ACROSS].measure)
    return pd.DataFrame(parts).loc[names, [WITHIN, ACROSS, "lost, in z"]].rename(named).rename_axis("measure").reset_index()


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike drawn measures are on other sentences and matched heads."""
    drawn = steady(table)
    rho = drawn.groupby("compared", sort=False).rho.median().drop(COMPARED["same index, other seed"], errors="ignore")
    told = listed(f"{number(value, '.2f')} on {how}" for how, value in rho.items())
    own = drawn[drawn.measure == UNIT].set_index("compared").rho.reindex(rho.index).dropna()
    own = f"; *{named(UNIT)}* reaches {listed(number(value, '.2f') for value in own)}" * bool(len(own))
    part = "Only in part: of" if rho.get(COMPARED["matched heads, other seed"], 1) < HALF else "Of"
    return f"{part} the measures drawn the median is {told}{own}."


def steady(table: pd.DataFrame) -> pd.DataFrame:
    """Of the same what is drawn: `STABLE` measures of the first kind, the best on matched heads first."""
    part = table[table.kind == _main(table)]
    part = part[part.measure.isin(STABLE)] if part.measure.isin(STABLE).any() else part
    rank = part[part.compared.str.startswith("matched")].set_index("measure").rho
    part = part.assign(compared=part.compared.replace(COMPARED))
    return part.assign(place=-part.measure.map(rank).fillna(-1)).sort_values("place", kind="stable").drop(columns="place")


def at_once(table: pd.DataFrame, drawn: Sequence[str] = DRAWN) -> str:
    """Of `tables.along`, means over all numbers of heads: which drawn choice costs least in most settings."""
    best = _means(table, drawn)[1].groupby(level="model", sort=False).idxmin().str[1].value_counts()
    said = f"Removal by *{named(str(best.index[0]))}* costs least in {best.iloc[0]} of {best.sum()} settings"
    return f"{said} (not tested)."


def by_setting(table: pd.DataFrame, drawn: Sequence[str]) -> pd.DataFrame:
    """Of `tables.along` beside random heads, a row a setting: the mean over numbers of heads of each drawn criterion."""
    means = _means(table, drawn)[1].unstack("criterion").reindex(columns=[n for n in drawn if n in set(table.criterion)])
    return means.rename(index=_settings(table.model), columns=named).rename_axis(index="setting", columns=None).reset_index()


def _means(table: pd.DataFrame, drawn: Sequence[str] = ()) -> tuple[pd.Series, pd.Series]:
    """Of `tables.along` the mean over numbers of heads, on (model, criterion): of all, and of some criteria."""
    means = table.groupby(["model", "criterion"], sort=False).change.mean()
    return means, means[means.index.isin(drawn, level="criterion")]


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


def differ(ranked: pd.DataFrame, drawn: pd.DataFrame, beside: pd.DataFrame) -> str:
    """Of a contest and `tables.along` beside random heads: whether the last of the contest beats these before training."""
    here, rivals = _rivals(ranked)
    left = _first(ranked, drawn)["heads"]
    own = beside[(beside.model == here.model.iloc[0]) & beside["heads"].between(left.min(), left.max())]
    own = own[own.criterion == rivals.index[-1]] if len(rivals) else own[:0]
    if own.empty or not (own.high < 0).all():
        return ""
    name, told = _called(rivals.index[-1]), ends(own.change, "+.2f")
    return f"Before further training *{name}* is better than random heads ({told} nats); after it, it is last."


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
    own = found.sort_values("seed").groupby("criterion").change
    above = [name for name in alike if here.value[name] > here.value[RANDOM]]
    each = [f"*{named(name)}* {', '.join(number(one, '+.1f') for one in own.get_group(name))}" for name in above]
    return said + (f" Above random in mean, by training: {'; '.join(each)} BLEU." if each else "")


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
    own = _first(ranked, drawn).merge(here[["test set"]].drop_duplicates())
    if shares.empty or rivals.empty or not {"layer 1"} <= {*own}:
        return ""
    at = int(shares.mean().idxmax())
    kept = own.fillna({f"layer {at + 1}": 0}).groupby("criterion")[f"layer {at + 1}"]
    nothing = [name for name in rivals.index if kept.max()[name] == 0]
    if not nothing or rivals.index[0] in nothing:
        return ""
    alike, most = hollow(here, paired), str(kept.mean()[rivals.index].idxmax())
    sure = {*nothing} <= {*alike}
    who = listed(f"*{_called(name)}*" for name in nothing) if len(nothing) <= FEW else f"{len(nothing)} rankings"
    said = f"{who} keep{'s' * (len(nothing) == 1)} no head of layer {at + 1}, which the loss needs most;"
    said += f" *{_called(rivals.index[0])}* keeps {ends(kept.get_group(rivals.index[0]), '.0f')}."
    if most not in alike:
        return said + " The former cannot be told from random heads." * sure
    like = ", like those," * sure
    return f"{said} Layer {at + 1} is not all: *{_called(most)}* keeps most and{like} cannot be told from random heads."


def unexplained(ranked: pd.DataFrame, drawn: pd.DataFrame, shares: pd.DataFrame) -> str:
    """How far heads kept in that layer go with BLEU over a contest's criteria, and the criterion that keeps most of them."""
    here, rivals = _rivals(ranked)
    if shares.empty or len(rivals) < FEW:
        return ""
    column = f"layer {int(shares.mean().idxmax()) + 1}"
    own = _first(ranked, drawn).merge(here[["test set"]].drop_duplicates())
    kept = own.groupby("criterion")[column].mean()[rivals.index]
    if kept.nunique() < 2 or rivals.value.nunique() < 2:
        return ""
    rho, most = kept.corr(rivals.value, method="spearman"), own[own.criterion == kept.idxmax()]
    few, at_random = "", own[own.criterion == RANDOM][column].mean()
    for name in rivals.index[kept <= at_random][:1]:  # the best of those
        few = f" *{_called(name)}* keeps {number(kept[name], '.1f')} there, random heads {number(at_random, '.1f')}; they"
        few += f" change BLEU by {number(here.value[name], '+.1f')} and {number(here.value[RANDOM], '+.1f')}."
    counts, changes = listed(number(n, ".0f") for n in most[column]), listed(number(change, "+.1f") for change in most.change)
    return (
        f"{'Much' if rho > 0.7 else 'Some' if rho > 0.3 else 'Little'} goes with {column}: over {len(rivals)} criteria heads"
        f" kept there go with BLEU by {number(rho, '.2f')} (rank correlation of means), yet *{named(kept.idxmax())}* keeps most"
        f" ({counts}) and changes BLEU by {changes}.{few}"
    )


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
    return f"{said}, at random by {number(here.value[RANDOM], '+.1f')}." if RANDOM in here.index else f"{said}."


def _apart(ranked: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Of a contest the BLEU of L0's best rival minus that of every other choice, best first: mean over trainings, interval."""
    here, rivals = _rivals(ranked)
    means = drawn.merge(here[["model", "test set"]].drop_duplicates()).groupby(["criterion", "seed"]).change.mean()
    names = here.index.drop([rivals.index[0], RANDOM], errors="ignore")
    rows = [intervals.paired(means[rivals.index[0]].to_numpy(), means[name].to_numpy())[:3] for name in names]
    return pd.DataFrame(rows, names, VALUES)


def ahead(ranked: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest how far its best rival of L0 is ahead of every other choice, with intervals."""
    here, rivals = _rivals(ranked)
    if rivals.empty or here.seeds.min() < 2:
        return ""
    told = [f"*{_called(str(row.Index))}* {interval(*row[1:], '+.2f')}" for row in _apart(ranked, drawn).itertuples()]
    return f"BLEU of *{_called(rivals.index[0])}* minus that of the others (paired by training, not corrected): {listed(told)}."


def advice(ranked: pd.DataFrame, paired: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of the same which measure to prune by, and from what the trainings tell it by their intervals alone."""
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    best, low = rivals.index[0], (RANDOM, "low")
    if low not in paired or pd.isna(paired.loc[best, low]):
        return f"One training decides no contest; the best by value is *{_called(best)}*."
    if paired.loc[best, low] <= 0:
        return f"No measure is shown to choose better than chance; the best by value is *{_called(best)}*."
    apart = _apart(ranked, drawn)
    sure = [*(f"*{_called(name)}*" for name in apart.index[apart.low > 0]), "random heads"]
    alike = [name for name in (TRAINED, *rivals.index[1:2]) if apart.low[name] <= 0 <= apart.high[name]]
    said = f"**To prune, rank by {_called(best)}**: it is best by value; {count(int(here.seeds[TRAINED]), 'training')} tell it"
    said += f" from {listed(sure)} only"
    plain = {TRAINED: "L0", "L1 gates": "L1 gates (gates trained under a price on their size)"}
    told = [plain.get(name, _called(name)) for name in alike]
    return f"{said}, so not from {' or '.join(told)}." if told else f"{said}."


def elsewhere(ranked: pd.DataFrame, other: pd.DataFrame, drawn: pd.DataFrame, rho: pd.DataFrame, text: str) -> tuple[str, str]:
    """What of a contest carries over to other text, `tables.over_seeds` of both; and what is best and last there.

    `drawn` are `tables.stacked` of the other text, `rho` is `across` of it.
    """
    (here, rivals), (there, _) = _rivals(ranked), _rivals(other)
    names = [name for name in rivals.index if name in there.index]
    if len(names) < FEW or here.value[names].nunique() < 2:
        return "", ""
    tests = other[other.model.eq(there.model.iloc[0])].pivot(index="criterion", columns="test set", values="value").loc[names]
    rhos = [one.corr(here.value[names], method="spearman") for _, one in tests.items()]
    first, last, then = names[0], there.value[names].idxmin(), names[-1]
    own = drawn.merge(there[["model", "test set"]].drop_duplicates()).set_index("criterion")
    draws = own.change[[RANDOM]]
    trained = count(int(there.seeds[TRAINED]), "training")
    alike = own.loc[[first]].eval("above_low <= 0 <= above_high").all()
    said = f"On {text} text ({trained}, {number(there['heads'].iloc[0], '.0f')} encoder heads left) *{_called(first)}*"
    said += f" {'cannot be' if alike else 'is'} told from L0. The order of rankings"
    said += f" {'hardly carries over' if max(rhos) < HALF else 'is alike'} (rank correlation {ends(rhos, '.2f')})."
    within, over = rho[rho.measure == then].pivot(index="measure", columns="compared", values="rho").reindex(
        index=[then], columns=[WITHIN, ACROSS]).iloc[0]  # fmt: skip
    told = ["beats every random draw"] * bool(there.value[then] > draws.max())
    seen = f"keeps sight of layers ({number(within, '.2f')} within, {number(over, '.2f')} over all)"
    told += [seen] * bool(within - over <= PARTED)
    said += f" There *{_called(then)}* {listed(told)}." * bool(told)
    before = [f"*{_called(name)}* {number(value, '+.2f')}" for name, value in there.value[names].sort_values()[::-1].items()
              if value > there.value[first]]  # fmt: skip
    left = " encoder heads left and not ".join(number(part["heads"].iloc[0], ".0f") for part in (there, here))
    places = f"**On {text} text** ({there.model.iloc[0]}, {trained}, {left}) *{_called(first)}* changes BLEU by"
    places += f" {number(there.value[first], '+.2f')}" + f"; ahead by value: {listed(before)}" * bool(before)
    places += f". Last is *{_called(last)}* {number(there.value[last], '+.1f')}, random heads {ends(draws, '+.1f')}"
    return said, places + ": no better than some of them." if there.value[last] <= draws.max() else f"{places}."


def recommended(ranked: pd.DataFrame, paired: pd.DataFrame, across: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest and `across`: what to prune by and what not, where both tables say so."""
    here, rivals = _rivals(ranked)
    rho = across[across.compared == ACROSS].set_index("measure").rho.reindex([UNIT, "confidence"])
    if UNIT not in rivals.index[:1] or "confidence" not in hollow(here, paired) or not rho.iloc[0] - rho.iloc[1] > PARTED:
        return ""
    apart = _apart(ranked, drawn)
    why = ""
    if "L1 gates" in apart.index and apart.low["L1 gates"] <= 0 <= apart.high["L1 gates"]:
        why = " It takes one forward and backward pass; L1 gates, not told from it, a short training."
    said = f"**To prune**, rank heads by gradient importance, then train on.{why} Do not rank by confidence: here it"
    return f"{said} cannot be told from random heads."


def answer(agreement: pd.DataFrame, predictors: pd.DataFrame, advice: str = "", text: str = "generated") -> str:
    """The question of the notebook answered: within layers, over all layers, and which measure to prune by.

    Parameters
    ----------
    agreement, predictors : pandas.DataFrame
        `tables.agreement` of what is drawn, and `tables.predictors`.
    """
    part = agreement[agreement.kind == _main(agreement)]
    rho = across(predictors).pivot(index="measure", columns="compared", values="rho").reindex(columns=[WITHIN, ACROSS])
    rho, said = rho.reindex([UNIT, "confidence"]).loc["confidence"], []
    blind = bool(rho[WITHIN] - rho[ACROSS] > PARTED)
    if len(part):
        some = ", but some cannot tell which layer matters" * blind
        said.append(f"**On {text} text measures {_how(part.rho.median())}{some}.**")
        said.append(f"Two measures of {KIND_TITLES[part.kind.iloc[0]]} heads have a median rank correlation of")
        said.append(f"{number(part.rho.median(), '.2f')} within a layer.")
    if blind:
        values = [number(value, ".2f") for value in rho]
        said.append(f"Confidence correlates at {values[0]} with how long L0 keeps a head within a layer, at {values[1]}")
        said.append("over all layers.")
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


def shown(table: pd.DataFrame, entered: Sequence[str] = ()) -> pd.DataFrame:
    """Of `tables.along` or `tables.each_training` what `figures.contest` draws, in words: the first model, one or all kinds."""
    first = table.model.iloc[0] if len(table) else ""
    part = table[table.criterion.isin([*DRAWN, *entered]) & table.model.isin([first, first + EVERY])]
    return part.assign(criterion=part.criterion.map(named), model=part.model.map(_settings(table.model)))


def kinds(worth: pd.DataFrame, differ: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.worth_of_kinds` and `effects`: a row a model in words, what each kind is worth and how many heads show."""
    rows, seeds = {}, worth.index.droplevel("kind").unique().get_level_values("model").value_counts()
    for (model, seed, kind), row in worth.join(differ[["differ", "differ_holm", "shown"]]).iterrows():
        which = f"{model}, seed {seed}" if seeds[model] > 1 else spoken(model)
        told = rows.setdefault((model, seed), {"model": which, "loss, all heads": number(row.whole, ".2f")})
        few, shows = "" if row.shown else ", too few", f"{row.differ:.0f} (Holm: {row.differ_holm:.0f})"
        told[KIND_TITLES[kind]] = f"{interval(row.loss, row.low, row.high, '+.2f')}; {shows} of {row.heads:.0f}{few}"
    return pd.DataFrame(list(rows.values())).fillna("–")
