"""Relevance and confidence of heads (Voita et al. 2019, section 4): what is measured, and the tables that come of it.

Relevance is measured by three rules (`helpers.measures.lrp`) on trained models, and on ten of the same shape with random
weights. Layers and heads count from 0 in the index of a head table, from 1 in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from helpers import study
from helpers.experiments import pruning
from helpers.experiments.functions import SCORED
from helpers.measures import ranks
from helpers.measures.lrp import RULES, BySentence
from helpers.measures.measured import EXPLAINED, FUNCTIONS, UNTRAINED
from helpers.measures.sentence import ONE_SENTENCE
from helpers.runs import outputs, subjects
from helpers.scores import scoring

NAMES = {"alpha_beta": "LRP αβ", "attnlrp": "AttnLRP", "cp": "conservative"}  # of rules, as tables and figures show them
CANDIDATE = ["model", "function", "layer", "head", "score"]
TOY = "toy language"
NATURAL = study.ROOT / "figures" / "natural"  # tables of Europarl, as published
SUMMARIES = study.ROOT / "figures" / "summaries"  # and of the translator of the paper's size
RANDOM = 50  # sentences that suffice for random weights
DRAWS = 10  # models with random weights
ALIKE = "relevance and confidence:\nrank correlation"  # panels of `side_by_side`
FUNCTION = "with a function: more\nrelevant, in average heads"
REMOVAL = "relevance and removal:\nrank correlation"

Rules = Mapping[str, BySentence]  # relevance by rule
Settings = Mapping[str, Any]


# --- what is measured ------------------------------------------------------------------------------------------------


def recipes(settings: Settings, models: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """The analyses of models that the tables below read, of the first one with random weights too."""
    for place, model in enumerate(models):
        for rule in RULES:
            yield EXPLAINED.recipe(model, rule=rule, first=settings["relevance"])
        yield from (analysis.recipe(model, repeats=settings["bootstrap"]) for analysis in (FUNCTIONS, SCORED))
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
    """Confidence, relevance and functions of every head on (kind, layer, head), with `explained` of the subject.

    confidence and relevance (by LRP αβ, the share of a layer), each with low and high (95 %, over sentences); functions by the
    tests of section 5 (names joined by a comma).
    """
    found = FUNCTIONS.value(subject, repeats=settings["bootstrap"])
    names = {"low": "confidence_low", "high": "confidence_high"}
    shares = rules["alpha_beta"].frame("step", settings["bootstrap"])
    shares = shares.rename(columns={"low": "relevance_low", "high": "relevance_high"})
    table = found["confidence"].rename(columns=names).join(shares)
    return table.assign(functions=[", ".join(dict.fromkeys(name for name, _ in cell)) for cell in found["functions"]])


def candidates(studied: Sequence[subjects.Subject], settings: Settings) -> pd.DataFrame:
    """The encoder head of each model that is nearest to a position, and to rare words, by the tests of notebook 02.

    Columns model, function ("positional", "rare"), layer, head (from 1), score (a share), whether or not it passes the test.
    """
    rows = []
    for subject in studied:
        scores = SCORED.value(subject, repeats=settings["bootstrap"])
        for function, column in {"positional": "score", "rare": "two_rarest"}.items():
            frame = scores[function].loc[["encoder"]]
            best = frame[column].fillna(0).idxmax()
            rows.append((subject.title, function, best[1] + 1, best[2] + 1, frame[column][best]))
    return pd.DataFrame(rows, columns=CANDIDATE)


def by_relevance(tables: Mapping[str, pd.DataFrame], best: pd.DataFrame) -> pd.DataFrame:
    """Encoder heads sorted by relevance within their layers, of `head_table` by model: what the paper's figures 1 and 2 draw.

    A row a head: model, layer, head, place (1: the most relevant head of its layer), confidence place (1: the most confident
    one), relevance, confidence, functions, candidate (for what it is in `candidates`).
    """
    parts = []
    for model, table in tables.items():
        rows = table.xs("encoder", level="kind")[["relevance", "confidence", "functions"]]
        layers = rows.groupby(level="layer")
        for name, measure in {"place": "relevance", "confidence place": "confidence"}.items():
            rows = rows.assign(**{name: layers[measure].rank(ascending=False, method="first").astype(int)})
        parts.append(rows.reset_index().sort_values(["layer", "place"]).assign(model=model))
    whole = pd.concat(parts, ignore_index=True)
    whole = whole.assign(layer=whole.layer + 1, head=whole["head"] + 1)
    does = best.groupby(["model", "layer", "head"]).function.agg(", ".join).rename("candidate")
    whole = whole.join(does, on=does.index.names).fillna({"candidate": ""})
    return whole[["model", "layer", "head", "place", "confidence place", "relevance", "confidence", "functions", "candidate"]]


def published() -> pd.DataFrame:
    """`by_relevance` of the translators of Europarl, small and of the paper's size (of which no confidence is kept)."""
    rows = pd.read_csv(NATURAL / "01_relevance_and_confidence/tables/heads_fr-europarl.csv").fillna({"functions": ""})
    positional = pd.read_csv(NATURAL / "02_head_functions/tables/positional_heads.csv")
    rare = pd.read_csv(NATURAL / "02_head_functions/tables/rare_tokens.csv")
    rare = rare.rename(columns={rare.columns[0]: "model", "two rarest": "score"}).assign(function="rare")
    best = pd.concat([positional[positional.kind == "encoder"].assign(function="positional"), rare])[CANDIDATE]
    small = by_relevance({best.model.iloc[0]: rows.set_index(["kind", "layer", "head"])}, best)
    large = pd.read_csv(SUMMARIES / "gpu-quarter-heads.csv").fillna({"functions": ""})
    rare = large[["layer", "head"]].eq(pd.read_csv(SUMMARIES / "gpu-quarter-rare.csv").loc[0, ["layer", "head"]]).all(axis=1)
    large["candidate"] = np.select([large["at offset"] == large["at offset"].max(), rare], ["positional", "rare"], "")
    return pd.concat([small, large[[*small.columns.intersection(large.columns)]]])


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
    confidence: Mapping[str, pd.Series],
    random: Mapping[str, Sequence[BySentence]],
    random_confidence: Sequence[pd.Series],
    repeats: int = 2000,
) -> pd.DataFrame:
    """How relevance correlates with confidence over encoder heads, by every rule, with trained and with random weights.

    Of `explained` and confidence by model, and of `at_random` a row each (rule; model, "all models" for the heads of all
    trained ones together, "random weights" for all random ones): rho (Spearman, ranks within layers), low, high, heads.
    """
    rows = []
    for rule, drawn in random.items():
        columns = {model: ranked_by(rules[rule]) for model, rules in explained.items()}
        sides = [(model, confidence[model], column) for model, column in columns.items()]
        if len(columns) > 1:
            sides.append(("all models", pooled(confidence), pooled(columns)))
        luck, sure = ({str(n): one for n, one in enumerate(many)} for many in (map(ranked_by, drawn), random_confidence))
        sides.append(("random weights", pooled(sure), pooled(luck)))
        for model, certain, column in sides:
            found = ranks.correlation(certain, column, "encoder", within_layer=True, repeats=repeats)
            rows.append({"rule": NAMES[rule], "model": model} | found)
    return pd.DataFrame(rows)


def side_by_side(agreement: pd.DataFrame, functions: pd.DataFrame, smollm2: pd.DataFrame) -> pd.DataFrame:
    """Rows text, model, rule, panel (`ALIKE`, `FUNCTION`), value, low, high: ours, SmolLM2's, and Europarl's as published."""
    natural = pd.read_csv(NATURAL / "01_relevance_and_confidence/tables/agreement_by_rule.csv")
    size = pd.read_csv(SUMMARIES / "gpu-quarter.csv").set_index("what").assign(text="Europarl", model="EN-FR, paper's size")
    kept = {"relevance with confidence, encoder": ALIKE, "encoder heads with a function, more relevant by": FUNCTION}
    parts = [
        agreement.assign(panel=ALIKE, value=agreement.rho),
        natural[natural.model != "each of them"].assign(text="Europarl", panel=ALIKE, value=natural.rho),
        size.loc[[*kept]].assign(rule=NAMES["alpha_beta"], panel=[*kept.values()]),
        smollm2.rename(columns={"other": "model", "rho": "value"}).assign(text="SmolLM2", panel=ALIKE),
        functions.rename(columns={"difference": "value"}).assign(panel=FUNCTION),
    ]
    words = {"all models": "all four together", "random weights": "ten random models", "EN-FR europarl": "EN-FR"}
    words |= {"confidence": "all tokens", "confidence, later tokens": "without the first token"}
    return pd.concat(parts)[["text", "model", "rule", "panel", "value", "low", "high"]].replace({"model": words})


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
    share, sentences drawn anew); at random: the same layer's largest share with random weights, on average, random low and
    random high in the least and the most of these models.
    """
    luck, rows = {rule: [_shares(values, 0) for values in drawn] for rule, drawn in random.items()}, {}
    for model, rules in explained.items():
        for rule, values in rules.items():
            for layer, drawn in _shares(values, repeats).items():
                ends = scoring.of_draws(drawn[:, int(drawn[0].argmax())])
                row = dict(zip(("largest", "low", "high"), ends, strict=True))
                most = [shares[layer].max() for shares in luck[rule]]
                row |= {"at random": np.mean(most), "random low": min(most), "random high": max(most)}
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

    On model, "all models" last: the columns of `helpers.measures.ranks.follows_function`; the difference is in units of the
    average head of a layer.
    """
    relevance = {model: table.relevance for model, table in tables.items()}
    functions = {model: table.functions for model, table in tables.items()}
    rows = {model: ranks.follows_function({model: column}, functions) for model, column in relevance.items()}
    rows["all models"] = ranks.follows_function(relevance, functions)
    return pd.DataFrame(list(rows.values()), pd.Index(rows, name="model"))


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
