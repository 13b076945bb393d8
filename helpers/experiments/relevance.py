"""Relevance and confidence of heads (Voita et al. 2019, section 4): what is measured, and the tables that come of it.

Relevance is measured by three rules (`helpers.measures.lrp`) on trained models, and on one of the same shape with random
weights. Layers and heads count from 0 in the index of a head table, from 1 in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.experiments import pruning
from helpers.experiments import pruning_runs as runs
from helpers.measures import ranks
from helpers.measures.lrp import RULES, BySentence
from helpers.measures.measured import DIFFUSE, EXPLAINED, FUNCTIONS
from helpers.measures.sentence import ONE_SENTENCE
from helpers.runs import outputs, subjects
from helpers.scores import intervals, scoring

NAMES = {"alpha_beta": "LRP αβ", "attnlrp": "AttnLRP", "cp": "conservative"}  # of rules, as figures show them
SURE = 0.8  # confidence of the paper's positional heads, and more
RANDOM = 50  # sentences that suffice for random weights

Rules = Mapping[str, BySentence]  # relevance by rule
Settings = Mapping[str, Any]


# --- what is measured ------------------------------------------------------------------------------------------------


def recipes(settings: Settings, models: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that the tables below read, of the first one with random weights too."""
    for place, model in enumerate(models):
        for rule in RULES:
            yield EXPLAINED.recipe(model, rule=rule, first=settings["relevance"])
            if not place:
                yield EXPLAINED.recipe(model, rule=rule, first=min(settings["relevance"], RANDOM), untrained=True)
        yield FUNCTIONS.recipe(model, repeats=settings["bootstrap"])
        if not place:
            yield ONE_SENTENCE.recipe(model)
            yield DIFFUSE.recipe(model)


def needs(settings: Settings, names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 01 reads: models with and without encoder attention, their analyses, both trained further."""
    yield from outputs.of_models(settings, [*names, *subjects.without_encoder(settings, names[0])], seed)
    yield from recipes(settings, subjects.recipes(settings, names, seed))
    yield from pruning.floor_recipes(settings, names, seed)


def explained(subject: subjects.Subject, settings: Settings) -> dict[str, BySentence]:
    """Relevance of all heads of a trained model by every rule, on the first dev sentences (setting "relevance")."""
    return {rule: EXPLAINED.value(subject, rule=rule, first=settings["relevance"]) for rule in RULES}


def explained_at_random(subject: subjects.Subject, settings: Settings) -> dict[str, BySentence]:
    """`explained` of a model of the subject's shape with random weights."""
    first = min(settings["relevance"], RANDOM)
    return {rule: EXPLAINED.value(subject, rule=rule, first=first, untrained=True) for rule in RULES}


def confidence_at_random(subject: subjects.Subject) -> pd.Series:
    """Confidence of all heads of a model of the subject's shape with random weights."""
    return DIFFUSE.value(subject)


def functions(subject: subjects.Subject, settings: Settings) -> pd.Series:
    """Functions of every head by the tests of section 5, as `helpers.measures.functions.roles` returns them."""
    return FUNCTIONS.value(subject, repeats=settings["bootstrap"])["functions"]


# --- head by head (figures 1 and 2) ----------------------------------------------------------------------------------


def head_table(subject: subjects.Subject, rules: Rules, settings: Settings) -> pd.DataFrame:
    """Confidence and relevance of every head on (kind, layer, head).

    Parameters
    ----------
    rules : mapping of rule -> BySentence
        `explained` of the subject.

    Returns
    -------
    pandas.DataFrame
        confidence and relevance (by LRP αβ, the share of a layer), each with low and high (95 %, over sentences); and the
        columns of `relevance_columns`.
    """
    repeats = settings["bootstrap"]
    confidence = FUNCTIONS.value(subject, repeats=repeats)["confidence"].add_prefix("confidence_")
    shares = rules["alpha_beta"].frame("step", repeats)
    shares = shares.rename(columns={"low": "relevance_low", "high": "relevance_high"})
    confidence = confidence.rename(columns={"confidence_confidence": "confidence"})
    return confidence.join([shares, relevance_columns(rules)])


def relevance_columns(rules: Rules) -> pd.DataFrame:
    """Relevance of every head by every rule as columns.

    A head's share of its layer is taken token by token and averaged ("step", the paper's way). Signed rules are also summed
    over tokens first ("ratio"), for a layer's sum that is near zero in one token spoils the mean of shares.
    """
    columns: dict[str, pd.Series] = {}
    for rule, values in rules.items():
        if rule == "alpha_beta":
            columns[rule] = values.series("step")
        else:
            columns |= {f"{rule} {way}": values.series(way) for way in ("step", "ratio")}
    return pd.DataFrame(columns)


def by_relevance(tables: Mapping[str, pd.DataFrame], functions: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Encoder heads sorted by relevance within their layers: what the paper's figures 1 and 2 draw.

    Parameters
    ----------
    tables : mapping of model -> `head_table`
    functions : mapping of model -> `functions`

    Returns
    -------
    pandas.DataFrame
        A row a head: model, layer, head, place (1: the most relevant head of its layer), confidence place (1: the most
        confident one), relevance, confidence, functions (names joined by a comma).
    """
    parts = []
    for model, table in tables.items():
        rows = table.loc[["encoder"], ["relevance", "confidence"]].copy()
        names = functions[model].reindex(rows.index)
        rows["functions"] = [", ".join(dict.fromkeys(name for name, _ in cell)) for cell in names]
        layers = rows.groupby(level="layer")
        rows["place"] = layers.relevance.rank(ascending=False, method="first").astype(int)
        rows["confidence place"] = layers.confidence.rank(ascending=False, method="first").astype(int)
        parts.append(rows.reset_index().assign(model=model))
    whole = pd.concat(parts, ignore_index=True)
    whole = whole.assign(layer=whole.layer + 1, head=whole["head"] + 1)
    columns = ["model", "layer", "head", "place", "confidence place", "relevance", "confidence", "functions"]
    return whole[columns].sort_values(["model", "layer", "place"], kind="stable", key=_by_first_place, ignore_index=True)


def _by_first_place(column: pd.Series) -> pd.Series:
    return pd.Series(pd.factorize(column)[0], column.index) if column.name == "model" else column


def most_relevant(heads: pd.DataFrame) -> pd.DataFrame:
    """What one reads off figure 1, in numbers, a row a model.

    Parameters
    ----------
    heads : pandas.DataFrame
        As of `by_relevance`.

    Returns
    -------
    pandas.DataFrame
        On model: layers; most confident too (layers whose most relevant head is also the most confident one), by chance;
        largest share (of a layer that its most relevant head has, mean over layers), even share; with a function (most
        relevant heads that have one); first confidence and first place (of the most relevant head of layer 1, and its place
        by confidence there); sure (heads with a confidence above `SURE`), heads.
    """
    rows = {}
    for model, every in heads.groupby("model", sort=False):
        top, first = every[every.place == 1], every[(every.place == 1) & (every.layer == 1)].iloc[0]
        rows[model] = {
            "layers": len(top), "most confident too": (top["confidence place"] == 1).sum(),
            "by chance": (1 / every.groupby("layer").size()).sum(), "largest share": top.relevance.mean(),
            "even share": (1 / every.groupby("layer").size()).mean(), "with a function": (top.functions != "").sum(),
            "first confidence": first.confidence, "first place": first["confidence place"],
            "sure": (every.confidence > SURE).sum(), "heads": len(every),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


# --- do they agree? --------------------------------------------------------------------------------------------------


def relevance_and_confidence(
    explained: Mapping[str, Rules],
    confidence: Mapping[str, pd.Series],
    random: Rules,
    random_confidence: pd.Series,
    repeats: int = 2000,
) -> pd.DataFrame:
    """How relevance correlates with confidence, by every rule, with trained and with random weights.

    Parameters
    ----------
    explained, confidence : mappings of model -> `explained`, and -> Series on (kind, layer, head)
        Of trained models.
    random, random_confidence
        The same of one model with random weights.

    Returns
    -------
    pandas.DataFrame
        A row each (model, or "all models" for the heads of all trained ones together; kind; rule; normalised: "step" or
        "ratio", see `relevance_columns`): measure, weights (trained, random), rho (Spearman, ranks within layers), low, high,
        heads; size, size_low, size_high, the same of relevance without its sign; over.
    """
    rows, tables = [], {model: relevance_columns(rules) for model, rules in explained.items()}
    sides = [(model, "trained", confidence[model], table) for model, table in tables.items()]
    if len(tables) > 1:
        names = next(iter(tables.values()))
        together = {name: _pooled({model: table[name] for model, table in tables.items()}) for name in names}
        sides.append(("all models", "trained", _pooled(confidence), pd.DataFrame(together)))
    sides.append((next(iter(tables)), "random", random_confidence, relevance_columns(random)))
    for model, weights, sure, table in sides:
        for kind in sure.index.unique("kind"):
            for name, column in table.items():
                rule, _, way = str(name).partition(" ")
                signed, size = (
                    ranks.correlation(sure, x, kind, within_layer=True, repeats=repeats) for x in (column, column.abs())
                )
                ends = {"size": size["rho"], "size_low": size["low"], "size_high": size["high"]}
                rows.append({"model": model, "kind": kind, "rule": rule, "normalised": way or "step", "weights": weights,
                             "measure": "relevance with confidence", **signed, **ends, "over": intervals.HEADS})  # fmt: skip
    return pd.DataFrame(rows)


def _pooled(columns: Mapping[str, pd.Series]) -> pd.Series:
    """Columns of several models as one, whose layers are "MODEL LAYER": for comparisons within layers over all models."""
    parts = []
    for model, column in columns.items():
        renamed = [(kind, f"{model} {layer}", head) for kind, layer, head in column.index]
        parts.append(column.set_axis(pd.MultiIndex.from_tuples(renamed, names=column.index.names)))
    return pd.concat(parts)


def encoder_correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Of `relevance_and_confidence` what a figure shows: encoder heads, relevance without its sign, rules by `NAMES`.

    Signed rules are summed over tokens, and their sign is left out: divided by a negative sum of a layer, its heads would be
    ranked backwards.
    """
    rows = table[(table.kind == "encoder") & ((table.rule == "alpha_beta") | (table.normalised == "ratio"))]
    models = rows.model.where(rows.weights == "trained", "random weights")
    columns = {"rho": rows["size"], "low": rows["size_low"], "high": rows["size_high"]}
    rows = rows.assign(rule=rows.rule.map(NAMES), model=models, **columns)
    return rows[["rule", "model", "weights", "rho", "low", "high", "heads"]]


def within_layers(heads: pd.DataFrame, one: Sequence[str], other: Sequence[str]) -> pd.DataFrame:
    """Spearman's correlation, on ranks within layers, of every column of `one` with every column of `other`.

    Parameters
    ----------
    heads : pandas.DataFrame
        A row a head: layer, head, and the columns.

    Returns
    -------
    pandas.DataFrame
        A row each (one, other): rho, low, high (95 %, heads drawn anew within layers), heads.
    """
    table = heads.assign(kind="decoder").set_index(["kind", "layer", "head"])
    pairs = [(a, b) for a in one for b in other]
    rows = [ranks.correlation(table[a], table[b], within_layer=True) for a, b in pairs]
    return pd.DataFrame(rows, pd.MultiIndex.from_tuples(pairs, names=["one", "other"])).reset_index()


# --- do a few heads dominate? ----------------------------------------------------------------------------------------


def dominance(explained: Mapping[str, Rules], random: Rules, repeats: int = 1000) -> pd.DataFrame:
    """Do a few encoder heads dominate their layer? Shares of magnitudes, which are safe for signed rules too.

    A head's share is the magnitude of its mean relevance over the sum of the layer's magnitudes: for a positive rule its share
    of relevance, and for a signed one never negative and at most 1.

    Parameters
    ----------
    explained : mapping of model -> mapping of rule -> BySentence
    random : mapping of rule -> BySentence
        Of a model of the same shape with random weights: what the largest of as many shares comes to by chance.

    Returns
    -------
    pandas.DataFrame
        On (model, layer, rule), layers from 1: heads (among which `largest` is the largest); largest, low and high (of that
        head's share, sentences drawn anew); even: 1 / heads; largest, random: the largest share with random weights by the same
        rule, mean over their layers; at random: that of the same layer; gap, gap_low, gap_high: largest minus the latter; over.
    """
    luck, rows = {rule: _shares(values, repeats) for rule, values in random.items()}, {}
    usual = {rule: float(np.mean([drawn[0].max() for drawn in layers.values()])) for rule, layers in luck.items()}
    for model, rules in explained.items():
        for rule, values in rules.items():
            for layer, drawn in _shares(values, repeats).items():
                best = int(drawn[0].argmax())
                row = {"heads": drawn.shape[1]} | _interval(("largest", "low", "high"), drawn[:, best])
                row |= {"even": 1 / drawn.shape[1], "largest, random": usual[rule]}
                if layer in luck[rule]:
                    chance = luck[rule][layer]
                    chance = chance[:, int(chance[0].argmax())]
                    row["at random"] = chance[0]
                    row |= _interval(("gap", "gap_low", "gap_high"), drawn[:, best] - chance)
                rows[model, layer + 1, rule] = row | {"over": intervals.SENTENCES}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "layer", "rule"])
    return pd.DataFrame(list(rows.values()), index)


def few_heads(explained: Mapping[str, Rules], random: Rules) -> pd.DataFrame:
    """What part of an encoder layer's relevance its largest heads carry together.

    Of shares as in `dominance`, which takes the same: a row each (weights: trained, random; rule; heads: 1, 2, … the largest)
    with value, the mean share over the layers of all models, and even, the share of as many equal heads.
    """
    rows = []
    for weights, models in (("trained", [*explained.values()]), ("random", [random])):
        for rule in random:
            drawn = [_shares(rules[rule], 0).values() for rules in models]
            whole = pd.DataFrame([np.sort(one[0])[::-1].cumsum() for layers in drawn for one in layers]).ffill(axis=1)
            for place, (_, column) in enumerate(whole.items(), 1):
                rows.append((weights, rule, place, column.mean(), place / whole.shape[1]))
    return pd.DataFrame(rows, columns=["weights", "rule", "heads", "value", "even"])


def _interval(names: tuple[str, str, str], draws: np.ndarray) -> dict[str, float]:
    return dict(zip(names, scoring.of_draws(draws), strict=True))


def _shares(values: BySentence, repeats: int) -> dict[int, np.ndarray]:
    """Of each encoder layer the heads' shares of magnitude, then those of resampled sentences: arrays [1 + repeats, heads]."""
    sums = values.per_sentence(None)[0]
    weights = scoring.resamples(len(sums), repeats)
    drawn = np.concatenate([sums.sum(0, keepdims=True), weights @ sums])
    shares, places = {}, pd.Series(range(sums.shape[1]), values.heads)
    for layer, part in places.xs("encoder", level="kind").groupby(level="layer"):
        size = np.abs(drawn[:, part.to_numpy()])
        shares[layer] = size / size.sum(1, keepdims=True)
    return shares


# --- do relevant heads have a function? ------------------------------------------------------------------------------


def follows_function(tables: Mapping[str, pd.DataFrame], functions: Mapping[str, pd.Series]) -> pd.DataFrame:
    """By how much heads with a function are more relevant (LRP αβ) than the others of their layer, a row a model.

    Parameters
    ----------
    tables, functions
        As of `by_relevance`.

    Returns
    -------
    pandas.DataFrame
        On model, "all models" last where there are several: the columns of `helpers.measures.ranks.follows_function`; the
        difference is in units of the average head of a layer.
    """
    columns = {model: table.relevance for model, table in tables.items()}
    rows = {model: ranks.follows_function({model: column}, functions) for model, column in columns.items()}
    if len(columns) > 1:
        rows["all models"] = ranks.follows_function(columns, functions)
    return pd.DataFrame(list(rows.values()), pd.Index(rows, name="model"))


# --- what encoder attention is worth ---------------------------------------------------------------------------------


def bleu(settings: Settings, studied: Sequence[subjects.Subject], seed: int) -> pd.DataFrame:
    """BLEU of the models; of those of our own also trained further, with all encoder heads and with none.

    Returns
    -------
    pandas.DataFrame
        On (model, test set) rows of `helpers.runs.outputs.quality`. The first model of a study has a row too for a model that
        never had encoder heads.
    """
    beam, repeats, first = settings["beam"], settings["bootstrap"], studied[0]
    parts = [outputs.quality(subject, beam, repeats) for subject in studied]
    if first.run and subjects.leads(settings, first.name):
        never = subjects.never_attending(settings, first.name).get(first.name)
        if never:
            control = subjects.of_name(settings, never, seed)
            parts.append(outputs.quality(control, beam, repeats, f"{first.title}, no encoder heads"))
        pruned = [subject for subject in studied if subject is first or _removed(settings, subject.name, seed)]
        parts += [pruning.removed_and_trained(settings, subject, repeats) for subject in pruned]
    return pd.concat(parts).set_index(["model", "test set"])


def _removed(settings: Settings, name: str, seed: int) -> bool:
    """Whether notebook 3 has removed the encoder heads of a model."""
    sweep, beam = runs.sweeps(settings, [name], seed)[0]["runs"], settings["pruning"]["beam"]
    return all(outputs.recipe(runs.run(sweep[which]), beam).made() for which in ("control", "floor"))
