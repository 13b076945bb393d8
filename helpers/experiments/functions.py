"""Functions of heads in trained translators (Voita et al. 2019, section 5): what is measured, and the tables that come of it.

Every head is scored on the dev set of its translator: positions, four syntactic relations in two directions, rare tokens. A
model of the same shape with random weights stands beside it. Layers and heads count from 1 in tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from helpers import papers, study
from helpers.corpora.describe import arcs_of, relative_positions
from helpers.measures import measured
from helpers.measures.analysis import Analysis
from helpers.measures.functions import LABELS, MARGIN, RELATIONS, Syntactic, best_heads, roles
from helpers.measures.lrp import relevance
from helpers.measures.reducers import one_pass
from helpers.measures.worth import kinds_off, leave_one_out
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals, scoring

FEW = 50  # sentences whose translation is explained
COST = 0.01  # nats a token: heads whose removal costs more are counted
REACH = 8  # words to either side, in the histogram of offsets


# --- what is measured ------------------------------------------------------------------------------------------------


def _scored(subject, repeats: int, untrained: bool = False) -> dict[str, pd.DataFrame]:
    return measured.measure(subject, subject.untrained() if untrained else subject.model, repeats)


def _held(subject, repeats: int, untrained: bool = False) -> pd.DataFrame:
    model, reducer = subject.untrained() if untrained else subject.model, Syntactic(arcs_of(subject.sentences))
    return reducer.held_out(one_pass(model, subject.batches(), reducer, label=f"held out {subject.title}"), repeats)


def _described(subject, first: int, repeats: int = 1000) -> dict[str, Any]:
    """Scores, confidence, relevance, and the loss without each head and each kind of heads, of the first dev sentences."""
    value: dict[str, Any] = measured.measure(subject, subject.model, repeats, ("confidence", *measured.FUNCTIONAL))
    batches = subject.batches(4096, first)
    value["without"] = leave_one_out(subject.model, batches, label=f"without {subject.title}", repeats=repeats)
    value["kinds"] = kinds_off(subject.model, batches, repeats)
    return value | {"relevance": relevance(subject.model, subject.batches(2048, min(first, FEW)))}


SCORED = Analysis("scores of functions", 1, _scored)  # `measured.measure`
HELD = Analysis("syntactic heads held out", 1, _held)  # `Syntactic.held_out`
DESCRIBED = Analysis("what heads do", 1, _described)


def recipes(settings: Mapping[str, Any], runs: Sequence[study.Recipe]) -> Iterator[study.Recipe]:
    """What the tables of these trained models read."""
    for run in runs:
        for analysis in (SCORED, HELD):
            yield analysis.recipe(run, repeats=settings["bootstrap"])
            yield analysis.recipe(run, repeats=settings["bootstrap"], untrained=True)


def shape_recipes(settings: Mapping[str, Any], name: str, seed: int) -> Iterator[study.Recipe]:
    """What `by_shape` reads."""
    for other in subjects.never_attending(settings, name).values():
        yield outputs.recipe(training.trained(subjects.spec(settings, other, seed), f"{other}, seed {seed}"), settings["beam"])
    for one in [name, *subjects.siblings(settings, name)]:
        made = training.trained(subjects.spec(settings, one, seed), f"{one}, seed {seed}")
        yield outputs.recipe(made, settings["beam"])
        yield DESCRIBED.recipe(made, first=settings["relevance"], repeats=settings["bootstrap"])


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 02 reads of translators."""
    yield from outputs.of_models(settings, names, seed)
    yield from recipes(settings, subjects.recipes(settings, names, seed))
    yield from shape_recipes(settings, names[0], seed)


# --- tables ----------------------------------------------------------------------------------------------------------


def offsets(studied: Sequence[subjects.Subject]) -> pd.DataFrame:
    """How far partners stand from each other (figure 3): model, relation, offset (head minus dependent, in words), share."""
    rows = []
    for subject in studied:
        for relation, shares in relative_positions(subject.sentences).items():
            shares = shares.reindex(range(-REACH, REACH + 1), fill_value=0.0)
            rows += [(subject.title, relation, offset, share) for offset, share in shares.items() if offset]
    return pd.DataFrame(rows, columns=["model", "relation", "offset", "share"])


def positional(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The best positional head of every model and kind of attention.

    Returns
    -------
    pandas.DataFrame
        On (model, kind): layer, head, offset, score, low, high, of_all, verdict; best at random (the best of as many heads with
        random weights), heads, over.
    """
    rows = {}
    for subject in studied:
        scores, random = (SCORED.value(subject, repeats=repeats, **more)["positional"] for more in ({}, {"untrained": True}))
        for kind, frame in scores.groupby(level="kind", sort=False):
            address = frame.score.idxmax()
            row = {"layer": address[1] + 1, "head": address[2] + 1, **frame.loc[address]}
            row |= {"best at random": random.xs(kind, level="kind").score.max(), "heads": len(frame)}
            rows[subject.title, kind] = row | {"over": intervals.SENTENCES}
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "kind"]))


def syntactic(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The best head of every relation and direction, chosen on even sentences and scored on odd ones, beside table 1.

    Returns
    -------
    pandas.DataFrame
        A row each (model, relation, direction), as of `held`.
    """
    trained = {subject.title: HELD.value(subject, repeats=repeats) for subject in studied}
    return held(trained, {subject.title: HELD.value(subject, repeats=repeats, untrained=True) for subject in studied})


def held(trained: Mapping[str, pd.DataFrame], untrained: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every relation and direction of every model, none left out, held to the paper's rule.

    Parameters
    ----------
    trained, untrained : mapping of title -> `helpers.measures.functions.Syntactic.held_out`
        Of the model, and of one of its shape with random weights.

    Returns
    -------
    pandas.DataFrame
        A row each (model, relation, direction): layer and head of the best head, heads (of how many); accuracy held out, low,
        high; offset baseline; above offset, with low and high (paired); passes +10, below offset; best at random; n; printed
        accuracy and offset (WMT, OpenSubtitles; shares); over.
    """
    parts, printed = [], papers.TABLE_1.set_index(["relation", "direction"])
    for title, frame in trained.items():
        table = frame.assign(model=title, layer=frame.layer + 1, head=frame["head"] + 1)
        table["passes +10"] = frame.gain >= MARGIN - 1e-9
        table["below offset"] = frame.gain < -1e-9
        table["best at random"] = untrained[title].accuracy.reindex(frame.index)
        for text in ("WMT", "OpenSubtitles"):
            for column, what in (("accuracy", "accuracy"), ("baseline", "offset")):
                of_text = printed[printed.model == f"paper, {text}"][column]
                table[f"printed {what}, {text}"] = of_text.reindex(frame.index)
        parts.append(table.reset_index())
    names = {"accuracy": "accuracy held out", "baseline": "offset baseline", "gain": "above offset",
             "gain_low": "above offset, low", "gain_high": "above offset, high"}  # fmt: skip
    whole = pd.concat(parts, ignore_index=True).rename(columns=names).assign(over=intervals.SENTENCES)
    return whole[
        ["model", "relation", "direction", *[name for name in whole if name not in ("model", "relation", "direction")]]
    ]


def rare(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """The head of every model that looks most at one of the two rarest tokens; of its layer 1, of random weights, chance."""
    rows = {}
    for subject in studied:
        frame, random = (SCORED.value(subject, repeats=repeats, **more)["rare"] for more in ({}, {"untrained": True}))
        best = frame.two_rarest.fillna(0).idxmax()
        row = frame.loc[best]
        rows[subject.title] = {
            "layer": best[1] + 1, "head": best[2] + 1, "heads": len(frame), "rarest": row.rarest, "two rarest": row.two_rarest,
            "low": row.two_rarest_low, "high": row.two_rarest_high,
            "layer 1": frame.two_rarest.xs(0, level="layer").max(), "best at random": random.two_rarest.max(),
            "chance": row.chance, "chance, two": row.chance_two, "tokens": row.tokens, "sentences": row.sentences,
            "over": intervals.SENTENCES,
        }  # fmt: skip
    whole = dict.fromkeys(("layer", "head", "heads", "tokens", "sentences"), int)
    return pd.DataFrame(rows).T.infer_objects().astype(whole)


def counted(studied: Sequence[subjects.Subject], repeats: int = 1000) -> pd.DataFrame:
    """How many encoder heads have each function, by estimate: columns (trained, random weights) by model."""
    counts = {}
    for weights, untrained in (("trained", {}), ("random weights", {"untrained": True})):
        scores = {subject.title: SCORED.value(subject, repeats=repeats, **untrained) for subject in studied}
        functions = {title: roles(*(frames[name] for name in measured.FUNCTIONAL)) for title, frames in scores.items()}
        counts[weights] = measured.count_roles(functions)
    return pd.concat(counts, axis=1).rename_axis("function")


def by_shape(settings: Mapping[str, Any], name: str, seed: int) -> pd.DataFrame:
    """How many heads have a function in a model and its siblings of other depth or training, and what attention is worth.

    Returns
    -------
    pandas.DataFrame
        On model: encoder, decoder (layers × heads), steps; bleu, low, high; never (BLEU of the same model trained without
        encoder attention from the first step on, nan where there is none) and gained (BLEU minus that, with low and high by a
        paired bootstrap); cases (of `LABELS`, those with a head); then `summary`.
    """
    rows, repeats, beam = {}, settings["bootstrap"], settings["beam"]
    others = subjects.never_attending(settings, name)
    for one in [name, *subjects.siblings(settings, name)]:
        spec = subjects.spec(settings, one, seed)
        subject = subjects.of_spec(spec, one)
        described = DESCRIBED.value(subject, first=settings["relevance"], repeats=repeats)
        split = subject.tests[0]
        references = [pair.target for pair in subject.pairs(split, bare=True)]
        written = outputs.written_by(subject, split, beam)
        scored = scoring.bleu(written, references, repeats)
        row = shape(spec) | {part: scored[part] for part in ("bleu", "low", "high")}
        row |= dict.fromkeys(("never", "gained", "gained, low", "gained, high"), float("nan"))
        if one in others:
            never = outputs.written_by(subjects.of_name(settings, others[one], seed), split, beam)
            both = [scoring.bleu_statistics(texts, references) for texts in (written, never)]
            row |= {"never": scoring.bleu(never, references, 0)["bleu"]}
            gained = scoring.bleu_interval(*both, repeats)
            row |= dict(zip(("gained", "gained, low", "gained, high"), gained, strict=True))
        labels = {label for cell in roles(*(described[name] for name in measured.FUNCTIONAL)) for _, label in cell}
        row["cases"] = ", ".join(label for label in LABELS.values() if label in labels)
        rows[subject.title] = row | summary(described)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def shape(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a model's spec says of it: encoder and decoder (layers × heads), steps."""
    model = spec["model"]
    layers, heads = model.get("decoder_layers", model["layers"]), model.get("decoder_heads", model["heads"])
    return {
        "encoder": f"{model['layers']} × {model['heads']}",
        "decoder": f"{layers} × {heads}",
        "steps": spec["training"]["steps"],
    }


def summary(described: Mapping[str, Any]) -> dict[str, float]:
    """A model in a row of numbers, of the value of `DESCRIBED`.

    Returns
    -------
    dict
        loss (of the dev set); KIND off (rise of the loss with all heads of a kind off, nats a token, with low and high);
        confidence, KIND (of the most confident head); positional (share of the best encoder head); RELATION (points of the best
        encoder head above the most frequent offset, the head chosen on even sentences and scored on odd ones, the better
        direction); rare (share of the best encoder head on one of the two rarest); relevance (largest share in a layer, mean
        over encoder layers); with functions, positional heads, syntactic heads, rare heads, heads (numbers of encoder heads);
        cost (encoder heads whose removal costs more than `COST`).
    """
    kinds, confident = described["kinds"], described["confidence"]
    row: dict[str, float] = {"loss": float(kinds.whole.iloc[0])}
    for kind, off in kinds.iterrows():
        row |= {f"{kind} off": off.loss, f"{kind} off, low": off.low, f"{kind} off, high": off.high}
        row[f"confidence, {kind}"] = confident.xs(kind, level="kind").iloc[:, 0].max()
    row["positional"] = described["positional"].xs("encoder", level="kind").score.max()
    best = best_heads(described["syntactic"])
    above = (best.held_out - best.baseline).groupby(level="relation").max()
    row |= {relation: float(above.get(relation, float("nan"))) for relation in RELATIONS}
    row["rare"] = described["rare"].two_rarest.max()
    shares = described["relevance"].xs("encoder", level="kind").groupby(level="layer")
    row["relevance"] = float((shares.max() / shares.sum()).mean())
    functions = roles(*(described[name] for name in measured.FUNCTIONAL)).xs("encoder", level="kind")
    does = [{name for name, _ in cell} for cell in functions]
    row |= {"heads": len(does), "with functions": sum(map(bool, does))}
    row |= {"positional heads": sum("positional" in one for one in does), "rare heads": sum("rare" in one for one in does)}
    row["syntactic heads"] = sum(bool(one & set(RELATIONS)) for one in does)
    return row | {"cost": int((described["without"].xs("encoder", level="kind").loss > COST).sum())}
