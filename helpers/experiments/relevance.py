"""Relevance and confidence of heads (Voita et al. 2019, section 4): what is measured, and the tables that come of it.

Relevance is measured by three rules (`helpers.measures.lrp`) on trained models, and on ten of the same shape with random
weights. Layers and heads count from 0 in the index of a head table, from 1 in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.experiments import pruning
from helpers.measures import measured, ranks
from helpers.measures.lrp import RULES, BySentence
from helpers.measures.measured import EXPLAINED, FUNCTIONS, UNTRAINED
from helpers.measures.sentence import ONE_SENTENCE
from helpers.runs import outputs, subjects
from helpers.scores import scoring

NAMES = {"alpha_beta": "LRP αβ", "attnlrp": "AttnLRP", "cp": "conservative"}  # of rules, as tables and figures show them
SHOWN = {"alpha_beta": "αβ", "attnlrp": "AttnLRP"}  # of those that figures compare
NATURAL = study.ROOT / "figures" / "natural" / "01_relevance_and_confidence" / "tables"  # of Europarl, small
SUMMARIES = study.ROOT / "figures" / "summaries"  # tables of the translator of the paper's size, as published
SIZE = "Europarl, paper's size"
TITLES = {"EN-FR europarl, paper's size": SIZE, "EN-RU subtitles": "toy subtitles"}  # of figure 1
RANDOM = 50  # sentences that suffice for random weights
DRAWS = 10  # models with random weights
HEAD = ["kind", "layer", "head"]
MEASURED = {  # head tables of notebook 06: where they lie, and of which trainings
    "toy news": ("controlled", "ru-news ru-news-seed-2 ru-news-seed-3"),
    "toy subtitles": ("controlled", "ru-subtitles"),
    "Europarl, small": ("natural", "fr-europarl"),
}
SMOLLM2 = {"confidence": "SmolLM2", "confidence, later tokens": "SmolLM2, first token left out"}  # of its table: as here

Rules = Mapping[str, BySentence]  # relevance by rule
Settings = Mapping[str, Any]


# --- what is measured ------------------------------------------------------------------------------------------------


def recipes(settings: Settings, models: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that the tables below read, of the first one with random weights too."""
    for place, model in enumerate(models):
        for rule in RULES:
            yield EXPLAINED.recipe(model, rule=rule, first=settings["relevance"])
        yield FUNCTIONS.recipe(model, repeats=settings["bootstrap"])
        if not place:
            yield ONE_SENTENCE.recipe(model)
            yield UNTRAINED.recipe(model, first=min(settings["relevance"], RANDOM), draws=DRAWS)


def needs(settings: Settings, names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 01 reads: models with and without encoder attention, their analyses, both trained further."""
    yield from outputs.of_models(settings, [*names, *subjects.without_encoder(settings, names[0])], seed)
    yield from recipes(settings, subjects.recipes(settings, names, seed))
    for made in pruning.floors(settings, names[0], seed).values() if subjects.leads(settings, names[0]) else ():
        yield from (made, outputs.recipe(made, settings["pruning"]["beam"]))


def explained(subject: subjects.Subject, settings: Settings) -> dict[str, BySentence]:
    """Relevance of all heads of a trained model by every rule, on the first dev sentences (setting "relevance")."""
    return {rule: EXPLAINED.value(subject, rule=rule, first=settings["relevance"]) for rule in RULES}


def at_random(subject: subjects.Subject, settings: Settings) -> tuple[dict[str, list[BySentence]], list[pd.Series]]:
    """Relevance by every rule, and confidence, of `DRAWS` models of the subject's shape with random weights."""
    found = UNTRAINED.value(subject, first=min(settings["relevance"], RANDOM), draws=DRAWS)
    return found["relevance"], found["confidence"]


# --- head by head (figures 1 and 2) ----------------------------------------------------------------------------------


def head_table(subject: subjects.Subject, rules: Rules, settings: Settings) -> pd.DataFrame:
    """Of every head confidence, relevance (by LRP αβ, the share of its layer) and functions (by section 5, with commas)."""
    found = FUNCTIONS.value(subject, repeats=settings["bootstrap"])
    functions = [", ".join(dict.fromkeys(name for name, _ in cell)) for cell in found["functions"]]
    return found["confidence"][["confidence"]].assign(relevance=rules["alpha_beta"].series(), functions=functions)


def by_relevance(title: str, table: pd.DataFrame) -> pd.DataFrame:
    """Encoder heads of a `head_table`, and of the translator of the paper's size, sorted by relevance within their layers.

    Columns: model, layer, head, relevance, confidence (nan at the paper's size), functions, place.
    """
    rows = measured.from_one(table.loc["encoder"].assign(model=title)).reset_index()
    heads = pd.concat([rows, pd.read_csv(SUMMARIES / "gpu-quarter-heads.csv")], ignore_index=True).replace({"model": TITLES})
    heads = heads[["model", "layer", "head", "relevance", "confidence", "functions"]].fillna({"functions": ""})
    heads["place"] = heads.groupby(["model", "layer"]).relevance.rank(ascending=False, method="first").astype(int)
    return heads.sort_values(["layer", "place"], kind="stable", ignore_index=True)


# --- models that other notebooks measured ----------------------------------------------------------------------------


def elsewhere() -> pd.DataFrame:
    """Heads as notebook 06, a GPU and the pretrained models' script have published them, on (model, kind, layer, head).

    Columns: relevance by each rule, confidence, and leave-one-out, the rise of the loss without the head, in nats. What was not
    measured is nan. Encoder heads, or those of SmolLM2. Layers of several trainings of one model are named by the training.
    """
    tables = {}
    for model, (folder, files) in MEASURED.items():
        path = study.ROOT / "figures" / folder / "06_do_measures_agree" / "tables"
        frames = {name: pd.read_csv(path / f"head_table_{name}.csv").set_index(HEAD).loc[["encoder"]] for name in files.split()}
        tables[model] = pooled(frames)
    size = pd.read_csv(SUMMARIES / "gpu-quarter-heads.csv").assign(kind="encoder").set_index(HEAD)
    tables[SIZE] = size.rename(columns={"relevance": "alpha_beta", "without it": "leave-one-out"})
    table = pd.read_csv(study.ROOT / "figures/pretrained/head_table.csv").assign(kind="decoder").set_index(HEAD)
    table = table.drop(columns=["attnlrp", "cp"]).rename(columns={"attnlrp, signed": "attnlrp", "cp, signed": "cp"})
    tables |= {model: table.assign(confidence=table[column]) for column, model in SMOLLM2.items()}
    return pd.concat(tables, names=["model"]).rename(columns=SHOWN)[[*SHOWN.values(), "cp", "confidence", "leave-one-out"]]


# --- do they agree? --------------------------------------------------------------------------------------------------


def ranked_by(values: BySentence) -> pd.Series:
    """Relevance of every head as heads are ranked by it.

    By LRP αβ a head's share of its layer, taken token by token and averaged (the paper's way). By a rule with a sign its share
    of the sum over all tokens, for a layer's sum that is near zero in one token spoils the mean of shares; and without its
    sign, for divided by a negative sum heads would be ranked backwards.
    """
    return values.series("step") if values.rule == "alpha_beta" else values.series("ratio").abs()


def agreement(
    explained: Mapping[str, Rules],
    tables: Mapping[str, pd.DataFrame],
    random: Mapping[str, Sequence[BySentence]],
    random_confidence: Sequence[pd.Series],
    repeats: int = 2000,
) -> pd.DataFrame:
    """How relevance correlates with confidence over encoder heads, by every rule, with trained and with random weights.

    Of `explained` and `head_table` by model, and of `at_random` a row each (rule; model, "all models" for the heads of all
    trained ones together, "random weights" for all random ones): rho (Spearman, ranks within layers), low, high, heads.
    """
    rows = []
    for rule, drawn in random.items():
        columns = {model: ranked_by(rules[rule]) for model, rules in explained.items()}
        sides = [(model, tables[model].confidence, column) for model, column in columns.items()]
        if len(columns) > 1:
            sides.append(("all models", pooled(tables).confidence, pooled(columns)))
        luck, sure = ({str(n): one for n, one in enumerate(many)} for many in (map(ranked_by, drawn), random_confidence))
        sides.append(("random weights", pooled(sure), pooled(luck)))
        for model, certain, column in sides:
            found = ranks.correlation(certain, column, "encoder", within_layer=True, repeats=repeats)
            rows.append({"rule": NAMES[rule], "model": model} | found)
    return pd.DataFrame(rows)


def smollm2() -> pd.DataFrame:
    """How relevance correlates with confidence over SmolLM2's heads: rows rule, other (of all tokens, or later ones), rho."""
    heads, rules = elsewhere(), {"AttnLRP": "AttnLRP", "cp": "conservative"}
    return pd.DataFrame(
        {"rule": rules[rule], "other": other} | _alike(heads.loc[model], rule)
        for rule, (other, model) in product(rules, SMOLLM2.items())
    )


def everywhere(agreement: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Rows model, rule, rho, low, high of published models, with random weights, too; of `agreement` all, on another corpus."""
    heads, own = elsewhere(), agreement[agreement.model != "all models"]
    size = pd.read_csv(SUMMARIES / "gpu-quarter.csv").query("what == 'relevance with confidence, encoder'")
    rows = [{"model": model, "rule": rule} | _alike(heads.loc[model], rule) for model in MEASURED for rule in SHOWN.values()]
    smol = [{"model": model, "rule": "AttnLRP"} | _alike(heads.loc[model], "AttnLRP") for model in SMOLLM2.values()]
    own = own[(own.model == "random weights") | (corpus != "controlled")].query("rule != 'conservative'")
    europarl = pd.read_csv(NATURAL / "agreement_by_rule.csv").query("model == 'random weights' and rule != 'conservative'")
    europarl = europarl.assign(model="Europarl, small, random weights")
    parts = [pd.DataFrame(rows), size.assign(model=SIZE, rule="αβ", rho=size.value), pd.DataFrame(smol), own, europarl]
    own_random = "toy news, random weights" if corpus == "controlled" else "here, random weights"
    found = pd.concat(parts, ignore_index=True).replace({"LRP αβ": "αβ", "random weights": own_random})
    return found[["model", "rule", "rho", "low", "high"]]


def _alike(heads: pd.DataFrame, rule: str) -> dict[str, float]:
    return ranks.correlation(heads[rule].abs(), heads.confidence, within_layer=True)


def pooled(columns: Mapping[str, pd.Series]) -> pd.Series:
    """Columns of several models as one, whose layers are "MODEL LAYER": for comparisons within layers over all models."""
    parts = []
    for model, column in columns.items():
        renamed = [(kind, f"{model} {layer}", head) for kind, layer, head in column.index]
        parts.append(column.set_axis(pd.MultiIndex.from_tuples(renamed, names=column.index.names)))
    return pd.concat(parts)


# --- do a few heads dominate? ----------------------------------------------------------------------------------------


def dominance(explained: Mapping[str, Rules], random: Mapping[str, Sequence[BySentence]], repeats: int = 1000) -> pd.DataFrame:
    """Do a few encoder heads dominate their layer? Shares of magnitudes, which are safe for signed rules too.

    A head's share is the magnitude of its mean relevance over the sum of the layer's magnitudes: for a positive rule its share
    of relevance, and for a signed one never negative and at most 1.

    On (model, layer, rule), layers from 1: heads (among which `largest` is the largest); largest, low and high (of that head's
    share, sentences drawn anew); at random: the same layer's largest share with random weights, on average.
    """
    luck, rows = {rule: [_shares(values, 0) for values in drawn] for rule, drawn in random.items()}, {}
    for model, rules in explained.items():
        for rule, values in rules.items():
            for layer, drawn in _shares(values, repeats).items():
                ends = scoring.of_draws(drawn[:, int(drawn[0].argmax())])
                row = dict(zip(("largest", "low", "high"), ends, strict=True))
                row["at random"] = np.mean([shares[layer].max() for shares in luck[rule]])
                rows[model, layer + 1, rule] = {"heads": drawn.shape[1], **row}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "layer", "rule"])
    return pd.DataFrame(list(rows.values()), index)


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


def follows_function(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """By how much heads with a function are more relevant (LRP αβ) than the others of their layer, of `head_table` by model.

    On model, "all models" last: the columns of `helpers.measures.ranks.follows_function`, in units of a layer's average head.
    """
    groups = {model: {model: table} for model, table in tables.items()} | {"all models": tables}
    rows = [
        ranks.follows_function(*({model: table[name] for model, table in group.items()} for name in ("relevance", "functions")))
        for group in groups.values()
    ]
    return pd.DataFrame(rows, pd.Index(groups, name="model"))


# --- what encoder attention is worth ---------------------------------------------------------------------------------


def bleu(settings: Settings, studied: Sequence[subjects.Subject], seed: int) -> pd.DataFrame:
    """BLEU of the models; of a study's first also without encoder heads from the start, and trained further with all and none.

    On (model, test set) rows of `helpers.runs.outputs.quality`.
    """
    beam, repeats, first = settings["beam"], settings["bootstrap"], studied[0]
    parts = [outputs.quality(subject, beam, repeats) for subject in studied]
    if first.run and subjects.leads(settings, first.name):
        for never in subjects.without_encoder(settings, first.name):
            control = subjects.of_name(settings, never, seed)
            parts.append(outputs.quality(control, beam, repeats, f"{first.title}, no encoder heads"))
        for title, made in pruning.floors(settings, first.name, seed).items():
            of_one = subjects.of_run(made)
            parts.append(outputs.quality(of_one, settings["pruning"]["beam"], repeats, f"{first.title}, {title}"))
    return pd.concat(parts).set_index(["model", "test set"])
