"""What the tables of notebook 06 say, in a sentence each, and its head table as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers.drawing import KIND_TITLES
from helpers.experiments.pruning import NAMES
from helpers.measures.lrp import RULES
from helpers.measures.ranks import correlation
from helpers.measures.removal import RANDOM
from helpers.measures.table import GROUP, TRUTH, named
from helpers.methods.contest.runs import DECODER, ESTIMATES, SURVIVAL, UNIT
from helpers.methods.contest.tables import EVERY, OTHER_TEXT, TRAINED, distinct, nested
from helpers.reading import COLUMNS, count, ends, interval, listed, number
from helpers.scores import intervals

HEART = (SURVIVAL, "gradient, example", "alpha_beta", "confidence", "attnlrp")  # columns that people sort, behind these:
FRONT = ("functions", TRUTH)
BESIDE = (  # in files alone: twins of others, what few models have, and what does not agree with itself
    "cp", *ESTIMATES, "gradient, token", "rare", "probing", "alignment", "first token"
)  # fmt: skip
TWINS = (ESTIMATES[0], "gradient, token")  # of these what stands beside the loss without the head
STABLE = ("alpha_beta", "attnlrp", UNIT, "output norm", TRUTH, SURVIVAL)  # drawn: heads are not matched by these
FEW = 3  # models, below which an interval over models says nothing
MODELS = {DECODER: "Llama-style decoder (grouped-query)"}  # as people call them
VALUES = ["value", "low", "high"]
LEVEL = 0.05  # of a test
HALF = 0.5  # of a correlation, below which a rank holds in part only
CALLED = {TRAINED: "L0, while it trains", NAMES["map"]: "L0's heads, cut at once", "gradual": "gradient, step by step"}
SAME_NUMBER = "heads of the same number"
COMPARED = {
    OTHER_TEXT: "other sentences", "matched heads, other seed": "matched heads of another training",
    "same index, other seed": SAME_NUMBER,
}  # fmt: skip
BY_LAYER = f"{UNIT}, by layer"
PRINTED = (UNIT, TRAINED, "votes", "alpha_beta", "confidence", "positional", "syntactic")  # the papers' own choices
GAINS = "BLEU above random heads; brackets: 95 % over trainings, of one its best and worst random draw; level: zero is inside"
DRAWN = (TRUTH, UNIT, BY_LAYER, "alpha_beta", "confidence", "L1 gates")  # criteria that share a panel


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
    said = f"{sure.sum()} of {len(part)} correlations are above zero by their own interval, {left.sum() or 'none'} after"
    return f"{said} Holm's correction. Most alike are {pairs[0]}, least {pairs[1]}."


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Of `tables.agreement` what is drawn: one measure of each family, and of the loss without the head what can tell."""
    return table[~table.one.isin(BESIDE) & ~table.other.isin(BESIDE) & table.shown.astype(bool)]


def median(table: pd.DataFrame) -> str:
    """Of the same: the median correlation of the first kind of attention."""
    return number(table.rho[table.kind == _main(table)].median(), ".2f")


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
    """Of `tables.predictors`: how gradient importance, confidence and the signed gradient go with the loss without a head."""
    told, part = [], telling(table).dropna(subset="rho")
    for name in (UNIT, "confidence", ESTIMATES[0]):
        rows = part[part.measure == name]
        each = [interval(*row, ".2f") for row in rows[["rho", "low", "high"]].to_numpy()]
        told += [f"*{named(name)}* {listed(each)}"] if each else []
    return f"Rank correlation in {listed(KIND_TITLES[kind] for kind in part.kind.unique())} heads: {'; '.join(told)}."


def above_zero(table: pd.DataFrame) -> str:
    """Of the same, which measures are above zero by their own interval in each kind of attention."""
    part = telling(table).dropna(subset="rho")
    sure = (part.low > 0).groupby(part.measure, sort=False).sum() == part.kind.nunique()
    return f"Above zero by their own interval in each: {_starred(sure.index[sure])}."


def felt(tables: Mapping[Any, pd.DataFrame], differ: pd.DataFrame | None) -> str:
    """Of head tables and `effects`: the same of encoder heads in trainings where half of them or more change the loss."""
    rho: dict[str, list[float]] = {UNIT: [], "confidence": []}
    models = []
    for (model, seed), table in distinct(tables).items():
        at = spoken(model), seed, "encoder"
        if differ is not None and at in differ.index and differ.shown[at] and {TRUTH, *rho} <= {*table}:
            models.append(at[0])
            for name, values in rho.items():
                values.append(correlation(table[TRUTH], table[name], "encoder", within_layer=True, repeats=1)["rho"])
    if not models:
        return ""
    told = listed(f"*{named(name)}* {ends(pd.Series(values), '.2f')}" for name, values in rho.items())
    made = f"{listed(dict.fromkeys(models))}, {count(len(models), 'training')}"
    return f"Encoder heads, where half of them or more change the loss ({made}): {told}. Differences are not tested."


def stability(table: pd.DataFrame) -> str:
    """Of `tables.reliability` with `tables.stability`: how alike drawn measures are on other sentences and matched heads."""
    drawn = steady(table)
    rho = drawn.groupby("compared", sort=False).rho.median()
    chance, rho = rho.get(SAME_NUMBER, np.nan), rho.drop(SAME_NUMBER, errors="ignore")
    told = listed(f"{number(value, '.2f')} on {how}" for how, value in rho.items())
    told += f" ({number(chance, '.2f')} on {SAME_NUMBER})" * bool(chance == chance)
    own = drawn[drawn.measure == UNIT].set_index("compared").rho.reindex(rho.index).dropna()
    own = f"; *{named(UNIT)}* reaches {listed(number(value, '.2f') for value in own)}" * bool(len(own))
    part = "At least in part: the" if rho.get(COMPARED["matched heads, other seed"], 1) < HALF else "The"
    return f"{part} median of measures is {told}{own}."


def likeness(table: pd.DataFrame) -> str:
    """Of `tables.likeness`: how alike matched heads of the first kind are, and what follows of it."""
    table = table.reset_index("kind").loc[lambda rows: rows.kind == _main(rows)]
    return f"Matched heads look alike by a cosine of {ends(table.cosine, '.2f')} ({ends(table.chance, '.2f')} untrained)."


def steady(table: pd.DataFrame) -> pd.DataFrame:
    """Of the same what is drawn: `STABLE` measures of the first kind, the best on matched heads first."""
    part = table[table.kind == _main(table)]
    part = part[part.measure.isin(STABLE)] if part.measure.isin(STABLE).any() else part
    rank = part[part.compared.str.startswith("matched")].set_index("measure").rho
    part = part.assign(compared=part.compared.replace(COMPARED))
    return part.assign(place=-part.measure.map(rank).fillna(-1)).sort_values("place", kind="stable").drop(columns="place")


def at_once(each: pd.DataFrame) -> tuple[str, str]:
    """Of `tables.each_training`: whether gradient importance costs less than random heads, and which do better."""
    change = each.groupby(["model", "criterion", "seed"], sort=False).change.mean()
    mean, worst = change.groupby(level=[0, 1], sort=False).mean().unstack(0), change.groupby(level=1).max()
    less = [name for name in DRAWN if name in worst and worst[name] < 0 and name != UNIT]
    some = "in every setting and training" if worst[UNIT] < 0 else "not in every training"
    said = f"As a mean over numbers of heads, removal by *{named(UNIT)}* costs less than random heads {some}"
    said, more = said + f"; so {'do' if len(less) > 1 else 'does'} {_starred(less)}, where measured" * bool(less), ""
    rest = mean.drop([name for name in mean.index if name == UNIT or name.endswith(", by layer")])
    for model in mean.columns[(rest < mean.loc[UNIT]).sum() > rest.notna().sum() / 2]:
        before, of = (rest[model] < mean.at[UNIT, model]).sum(), count(len(change[model].index.unique("seed")), "training")
        more += f"In {_settings(each.model)[model]} ({of}) {before} of {rest[model].count()} others cost less than"
        more += f" *{named(UNIT)}*. "
    if "L1 gates" in mean.index:
        ahead = mean.loc["L1 gates"] < mean.loc[UNIT]
        more += f"*L1 gates* cost less than it in {ahead.sum()} of {len(ahead)} settings. "
    return f"{said}.", f"{more}Differences are not tested."


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


def _starred(criteria: Iterable[Any]) -> str:
    """Several of these."""
    return listed(f"*{_called(str(name))}*" for name in criteria)


def _rivals(ranked: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of `tables.over_seeds` of a contest the first model and test set, by criterion, and of these L0's rivals, best first."""
    own = ranked[ranked.criterion == TRAINED].head(1)
    here = ranked.merge(own[["model", "test set"]]).set_index("criterion").sort_values("value", ascending=False)
    return here, here.drop([TRAINED, NAMES["map"], RANDOM], errors="ignore")


def _beyond(ranked: pd.DataFrame, drawn: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Of a contest's first model, how far each choice is ahead of random heads, and whether it is told from these."""
    here, _ = _rivals(ranked)
    found = _ahead(ranked, drawn, [(name, RANDOM) for name in here.index.drop(RANDOM)])
    return found, (found["value"] > 0) & (found.p_holm < LEVEL)


def beyond_random(ranked: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest's first model which choices are ahead of random heads and told from these, the best first."""
    here, rivals = _rivals(ranked)
    if RANDOM not in here.index or rivals.empty or here.seeds.min() < 2:
        return ""
    found, better = _beyond(ranked, drawn)
    sure = _starred(found.index[better])
    return (
        f"Told from random heads (Holm's correction over {len(found)} choices): {sure}; not: {_starred(found.index[~better])}."
    )


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
    left = f"{ends(own['heads'], '.0f')}{f' of {of}' * bool(of)} heads left, then trained on"
    trained = f", {count(own.seed.nunique(), 'training')}"
    own = own.assign(
        model=left + "\n" + own.model + ", " + own["test set"].replace("test", "test set") + trained,
        hollow=own.criterion.isin(alike),
        value=own.change,
    )
    return own.assign(criterion=own.criterion.map(_called))[["criterion", "model", *VALUES, "hollow"]]


def unpruned(ranked: pd.DataFrame, drawn: pd.DataFrame, steps: int) -> str:
    """The x axis of a contest: what is subtracted, with its further steps and BLEU, mean over trainings, of each test set."""
    own = _first(ranked, drawn)
    plain = (own.bleu - own.change).groupby(own["test set"], sort=False).mean()
    said = listed(number(value, ".1f") for value in plain)
    return f"BLEU minus that of the unpruned model ({said}); both train {number(steps)} more steps"


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
    said = f"In {here.model.iloc[0]} ({count(int(here.seeds[TRAINED]), 'training')}) {ends(left, '.0f')}"
    said += f" of {of}" * bool(of)
    said += f" encoder heads stay. By *{_called(rivals.index[0])}* BLEU changes by"
    said += f" {interval(*rivals.iloc[0][VALUES], '+.1f')}, by L0 by {interval(*here.loc[TRAINED, VALUES], '+.1f')}"
    return f"{said}, at random by {interval(*here.loc[RANDOM, VALUES], '+.1f')}." if RANDOM in here.index else f"{said}."


def _ahead(ranked: pd.DataFrame, drawn: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Of a contest the BLEU of one choice minus that of another, of which every draw counts, for each pair of criteria.

    Returns
    -------
    pandas.DataFrame
        A row a pair, on the criterion of it that not all pairs share: value (mean over trainings), low, high, runs (`nested`),
        p_holm (after Holm's correction over the pairs).
    """
    changes = drawn.merge(_rivals(ranked)[0][["model", "test set"]].drop_duplicates()).set_index(["criterion", "seed"]).change
    rows = [nested(changes[other].rsub(changes[other].index.map(changes[one]))) for one, other in pairs]
    found = pd.DataFrame(rows, [one if pairs[0][1] == pairs[-1][1] else other for one, other in pairs], [*VALUES, "runs"])
    p = intervals.p_value(found["value"], found.low, found.high, trainings=found.runs)
    return found.assign(p_holm=intervals.holm(p))


def ahead(ranked: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Of a contest from which other choices its best rival of L0 is told, and ahead of which it is by its own interval."""
    here, rivals = _rivals(ranked)
    if rivals.empty or here.seeds.min() < 2:
        return ""
    best = rivals.index[0]
    found = _ahead(ranked, drawn, [(best, name) for name in here.index.drop([best, RANDOM], errors="ignore")])
    sure, own = found.p_holm < LEVEL, found[found.low > 0]
    said = f"Told from *{_called(best)}* after Holm's correction: {_starred(sure.index[sure])}"
    more = [f"*{_called(name)}* {interval(*row, '+.1f')}" for name, *row in own.sort_values("value")[VALUES].itertuples()]
    return f"{said}. By its own interval it is ahead of {listed(more)}."


def advice(ranked: pd.DataFrame, drawn: pd.DataFrame, costs: pd.Series | None = None) -> str:
    """Of the same which measure to prune by: of those that are told from random heads the cheapest, else the best.

    Parameters
    ----------
    costs : pandas.Series, optional
        On criterion, what it took to choose by it here, in units of gradient importance.
    """
    here, rivals = _rivals(ranked)
    if rivals.empty:
        return "L0 has no rival in this run."
    best = rivals.index[0]
    if RANDOM not in here.index or here.seeds.min() < 2:
        return f"One training decides no contest; the best by value is *{_called(best)}*."
    beyond, better = _beyond(ranked, drawn)
    sure = beyond.index[better]
    if not len(sure):
        return f"No measure is shown to choose better than chance; the best by value is *{_called(best)}*."
    known = pd.Series(dtype=float) if costs is None else costs.drop(TRAINED, errors="ignore").reindex(sure).dropna()
    pick = str(known.idxmin()) if len(known) else str(sure[0])
    said = f"**To prune an encoder, rank by {_called(pick)}.** In {here.model.iloc[0]}"
    said += f" ({count(int(here.seeds[pick]), 'training')}) {len(sure)} of {len(beyond)} choices beat random heads after Holm's"
    said += f" correction, *{_called(pick)}* by {interval(*beyond.loc[pick, VALUES], '+.1f')} BLEU."
    if len(sure) > 1:
        apart = _ahead(ranked, drawn, [(pick, name) for name in here.index.drop([pick, RANDOM])])
        told = (apart.p_holm < LEVEL)[sure.drop(pick)] & (apart["value"] < 0)[sure.drop(pick)]
        said += f" {f'{told.sum()} of the other {len(told)}' if told.any() else 'None'} is shown better."
    return said


def elsewhere(ranked: pd.DataFrame, drawn: pd.DataFrame, other: pd.DataFrame, tested: pd.DataFrame, text: str) -> str:
    """What of a contest carries over to other text: of that `tables.over_seeds` and `tables.against_l0`."""
    (_, rivals), (there, _) = _rivals(ranked), _rivals(other)
    if rivals.empty or (first := rivals.index[0]) not in there.index:
        return ""
    said = f"On {text} text ({there.model.iloc[0]}, {count(int(there.seeds[TRAINED]), 'training')},"
    said += f" {number(there['heads'].iloc[0], '.0f')} encoder heads left)"
    tested = tested[tested.model == there.model.iloc[0]].set_index("criterion")
    beside = [f"{interval(*row, '+.1f')} BLEU on {at}" for *row, at in tested.loc[[first], [*VALUES, "test set"]].to_numpy()]
    said += f" *{_called(first)}* is {listed(beside)} beside L0."
    worse = tested[(tested.p_holm < LEVEL) & (tested["value"] < 0)]
    told = [f"on {at} {_starred(worse.index[worse['test set'] == at])}" for at in tested["test set"].unique()]
    sure = _beyond(ranked, drawn)[1] if RANDOM in set(drawn.criterion) else pd.Series(dtype=bool)
    both = sure.index[sure].intersection(worse.index)
    ahead = f", {len(both)} of them ahead of random heads in {ranked.model.iloc[0]}" * bool(len(both))
    return f"{said} Worse than L0 after Holm's correction{ahead}: {'; '.join(told)}."


def printed(equal: pd.DataFrame, tested: pd.DataFrame) -> str:
    """Of `tables.against_l0` of the first model, and of notebook 4's `equal_size`: Ni et al.'s choice beside L0."""
    there = equal.set_index("control")[["change", "change_low", "change_high"]]
    first, also = (interval(*there.loc[name], "+.1f") for name in ("L0", "gradient importance"))
    here = tested[tested.model == tested.model.iloc[0]].set_index("criterion").loc["votes", VALUES]
    said = f"As Ni et al. print, models trained in groups are ahead of L0 in notebook 4, by {first} BLEU, of gradient"
    said += f" importance by {also};"
    return f"{said} *votes* alone, of models that were never grouped, are here {interval(*here, '+.1f')} beside it."


def even(equal: pd.DataFrame) -> str:
    """Of notebook 4's `equal_size`, each layer keeping as many heads: gradient importance beside random heads."""
    bleu = equal.set_index("control").loc[["gradient importance", "random heads off"]]
    own, lot = (interval(*row, ".1f") for row in bleu[VALUES].to_numpy())
    said = f"{own} BLEU, random heads of grouped models {lot} ({count(int(bleu.seeds.iloc[0]), 'training')})."
    return f"Where every layer keeps as many heads (notebook 4), *{named(UNIT)}* has {said}"


def without(control: pd.DataFrame, model: str) -> str:
    """Of notebook 3's `fig7_bleu_by_heads`: what a model loses that never had an encoder head."""
    names = [f"worth from the start{end}" for end in ("", "_low", "_high")]
    lost = control[(control.model == model) & (control.run == "control")].reindex(columns=names).dropna().to_numpy()[:1]
    return "".join(f"Trained without encoder heads {model} loses {interval(*row, '.1f')} BLEU (notebook 3)." for row in lost)


def gains(ranked: pd.DataFrame, own: pd.DataFrame, other: pd.DataFrame | None = None) -> pd.DataFrame:
    """Of a contest what `PRINTED` choices gain over random heads, in words, the best first; empty where nothing is tested.

    Of `tables.stacked` here, and of one training on other text, where brackets are over its random draws. Returns choice and a
    column a test set: BLEU above random heads [low, high], and "level" where zero is between these.
    """
    here, _ = _rivals(ranked)
    if RANDOM not in here.index or here.seeds.min() < 2:
        return pd.DataFrame()
    found = _beyond(ranked, own)[0].filter(PRINTED, axis=0).sort_values("value", ascending=False)
    parts = {f"{here.model.iloc[0]}, {count(int(here.seeds.min()), 'training')}": found[VALUES].to_numpy()}
    for (model, name), part in () if other is None else other.groupby(["model", "test set"], sort=False):
        changes = part.groupby("criterion").change.agg(["mean", "max", "min"])
        beside = changes[["mean"]].reindex(found.index).to_numpy() - changes.loc[RANDOM].to_numpy()
        parts[f"{model}, {name}, {count(part.seed.nunique(), 'training')}"] = beside
    table = pd.DataFrame({"choice": found.index.map(_called)})
    for at, rows in parts.items():
        table[at] = [interval(*row, "+.1f") + ", level" * bool(row[1] <= 0 <= row[2]) for row in rows]
    return table


def recommended(ranked: pd.DataFrame, other: pd.DataFrame | None) -> str:
    """Of a contest what to prune by, and what is otherwise on other text, of whose contest `tables.stacked` is given."""
    here, rivals = _rivals(ranked)
    if UNIT not in rivals.index[:1] or RANDOM not in here.index:
        return ""
    below = rivals.index[rivals["value"] < here["value"][RANDOM]]
    said = "**To prune**, rank an encoder's heads over all layers by *gradient importance* (no other is shown"
    said += " better), then train on."
    if other is None or below.empty:
        return said
    bleu = other.pivot_table("change", "criterion", "test set").reindex([UNIT, RANDOM, *below]).round(1)
    more, level = bleu.loc[below] > bleu.loc[RANDOM], bleu.loc[below] >= bleu.loc[UNIT]
    said += f" Not shown above random heads in {here.model.iloc[0]}, but above them in {other.model.iloc[0]}:"
    said += f" {_starred(below[more.all(axis=1)])}; as good there as *gradient importance* (not tested):"
    return f"{said} {_starred(below[level.all(axis=1)])}."


def answer(
    agreement: pd.DataFrame, advice: str = "", text: str = "generated", everywhere: Sequence[pd.DataFrame] = (), other: str = ""
) -> str:
    """The question of the notebook answered: of `tables.agreement` what is `drawn`, and which measure to prune by.

    Parameters
    ----------
    everywhere : sequence of pandas.DataFrame
        `tables.agreement` over all layers, here and on `other` text.
    """
    part, said = agreement[agreement.kind == _main(agreement)], []
    if len(part):
        said.append(f"**On {text} text measures {_how(part.rho.median())}.** Two of {len({*part.one, *part.other})} rank")
        said.append(f"{KIND_TITLES[part.kind.iloc[0]]} heads of a layer alike by {median(agreement)}")
        said.append(f"(median; {ends(part.rho, '.2f')}).")
    rhos = [_with_l0(table) for table in everywhere]
    if rhos and min(map(len, rhos)) > 1:
        (one, two), (also, too) = [interval(*row[:3], ".2f") for row in rhos[0]], [number(row[0], ".2f") for row in rhos[-1]]
        models = count(int(rhos[0][0, 3]), "model")
        said.append(f"Over all layers how long L0 keeps a head agrees with gradient importance by {one} ({models};")
        said.append(f"{other} text: {also}), with confidence by {two} ({other} text: {too}).")
    return " ".join([*said, advice or "This run prunes no model, and so it cannot tell which measure to prune by."])


def _with_l0(table: pd.DataFrame) -> np.ndarray:
    """Of `tables.agreement` how gradient importance and confidence go with how long L0 keeps encoder heads; empty without."""
    pairs = table[(table.kind == "encoder") & (table[["one", "other"]] == SURVIVAL).any(axis=1)]
    pairs = pairs.set_index(pairs.one.where(pairs.one != SURVIVAL, pairs.other))
    return pairs.reindex([UNIT, "confidence"])[["rho", "low", "high", "models"]].dropna().to_numpy()


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


def rules(table: pd.DataFrame) -> str:
    """Of `tables.agreement`: how far gradient importance and relevance agree on encoder heads, rule by rule."""
    part = table[(table.kind == "encoder") & table.one.isin(RULES) & (table.other == UNIT)]
    told = [f"{named(r.one).removeprefix('relevance, ')} {interval(r.rho, r.low, r.high, '.2f')}" for r in part.itertuples()]
    over = "; intervals over heads of one training" * bool("over" in part and part.over.eq(intervals.HEADS).any())
    return f"Gradient importance and relevance of encoder heads, by rule: {', '.join(told)}{over}." if told else ""


def verdicts_elsewhere(judged: Mapping[str, Any], text: str, which: str, names: Mapping[str, str]) -> str:
    """Of the verdicts on a published run of other text (`which` models), by claim: number and verdict of each in a line."""
    told = []
    for key, one in ((key, judged[key]) for key in names if judged[key].number):
        near = sum(row.side == "open" and row.value >= row.threshold for row in one.rows) if key == "syntax" else 0
        told.append(f"{names[key]} {one.number}{f' significantly, {near} more by estimate' * bool(near)} (*{one.verdict}*)")
    return f"**{text.capitalize()} text** (published run of {which}): {'; '.join(told)}." if told else ""
