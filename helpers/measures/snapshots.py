"""What heads do while a model is trained, and in models of other depth or text: one description, taken again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import torch

from helpers import corpora, study
from helpers.measures.analysis import Analysis
from helpers.measures.functions import LABELS, MARGIN, RELATIONS, best_heads, roles
from helpers.measures.lrp import relevance
from helpers.measures.measured import FUNCTIONAL, measure
from helpers.measures.worth import kinds_off, leave_one_out
from helpers.reading import count, ends, number
from helpers.runs import outputs, subjects, training
from helpers.scores import scoring
from helpers.study import values

FILE = "snapshots.json.gz"
FEW = 50  # sentences whose translation is explained
COST = 0.01  # nats a token: heads whose removal costs more are counted
Description = Mapping[str, Any]  # frames by name, see `describe`


def describe(subject, model, first: int, repeats: int = 1000) -> dict[str, Any]:
    """Everything that is followed over training, of a model on a subject's dev set.

    Parameters
    ----------
    subject : helpers.runs.subjects.Subject
        Whose sentences, trees and frequencies are used.
    model
        Its own model, or another one that reads the same text.
    first : int
        Dev sentences, the first, on which losses are measured; relevance on `FEW` of them.

    Returns
    -------
    dict
        confidence, positional, syntactic, rare: frames as of `helpers.measures`; relevance (`alpha_beta`); without
        (`leave_one_out`); kinds (`kinds_off`).
    """
    found: dict[str, Any] = measure(subject, model, repeats, ("confidence", *FUNCTIONAL))
    batches = subject.batches(4096, first)
    found["without"] = leave_one_out(model, batches, label=f"without {subject.title}", repeats=repeats)
    found["kinds"] = kinds_off(model, batches, repeats)
    return found | {"relevance": relevance(model, subject.batches(2048, min(first, FEW)))}


def summary(described: Description) -> dict[str, float]:
    """A model in a row of numbers.

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
    named = roles(*(described[name] for name in FUNCTIONAL)).xs("encoder", level="kind")
    does = [{name for name, _ in cell} for cell in named]
    row |= {"heads": len(does), "with functions": sum(map(bool, does))}
    row |= {"positional heads": sum("positional" in one for one in does), "rare heads": sum("rare" in one for one in does)}
    row["syntactic heads"] = sum(bool(one & set(RELATIONS)) for one in does)
    return row | {"cost": int((described["without"].xs("encoder", level="kind").loss > COST).sum())}


# --- while a model is trained ----------------------------------------------------------------------------------------


def followed(start: Mapping[str, Any], steps: Sequence[int], first: int, repeats: int) -> study.Recipe:
    """The recipe of `describe` at some steps of a training, which is made again up to the last of them."""
    described = {"start": dict(start), "steps": sorted(steps), "first": first, "repeats": repeats}
    return SNAPSHOTS.of(described, "heads while a model is trained")


def _follow(spec: Mapping[str, Any], place: study.Place) -> None:
    subject = subjects.of_spec(spec["start"], place.label)

    def look(step: int, model) -> None:
        path = place.work / f"{step}.json.gz"
        if not path.exists():  # a run that was killed has looked already
            with torch.random.fork_rng(devices=[]):
                values.write(path, describe(subject, model.eval(), spec["first"], spec["repeats"]))

    training.follow(spec["start"], place, spec["steps"], look)
    values.write(place.results / FILE, {step: values.read(place.work / f"{step}.json.gz") for step in spec["steps"]})


SNAPSHOTS = study.Kind("snapshots", 1, _follow, lambda spec: [study.Need(corpora.recipe(spec["start"]["corpus"]), True)])
DESCRIBED = Analysis("what heads do", 1, lambda subject, **options: describe(subject, subject.model, **options))


def over_training(recipe: study.Recipe, last: Description, steps: int) -> pd.DataFrame:
    """`summary` at every step that was looked at, and of the trained model at the end.

    Parameters
    ----------
    recipe : helpers.study.Recipe
        Of `followed`.
    last : mapping
        `describe` of the trained model.
    steps : int
        How long it was trained.
    """
    found = values.read(recipe.results / FILE) | {steps: last}
    return pd.DataFrame({step: summary(described) for step, described in found.items()}).T.rename_axis("step")


# --- models that differ ----------------------------------------------------------------------------------------------


def shape(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a model's spec says of it, as a table for people has it."""
    model = spec["model"]
    layers, heads = model.get("decoder_layers", model["layers"]), model.get("decoder_heads", model["heads"])
    return {
        "encoder": f"{model['layers']} × {model['heads']}",
        "decoder": f"{layers} × {heads}",
        "steps": spec["training"]["steps"],
    }


def beside(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> pd.DataFrame:
    """The regime table: how functions, redundancy and the worth of attention depend on depth, text and training.

    Returns
    -------
    pandas.DataFrame
        On model: encoder, decoder (layers × heads), steps; bleu, low, high; never (BLEU of the same model trained without
        encoder attention from the first step on, nan where there is none) and gained (BLEU minus that, with low and high by a
        paired bootstrap); cases (of `LABELS`, those with a head); then `summary`.
    """
    rows, repeats, beam = {}, settings["bootstrap"], settings["beam"]
    others = subjects.never_attending(settings, names[0])
    for name in names:
        spec = subjects.spec(settings, name, seed)
        subject = subjects.of_spec(spec, name)
        described = DESCRIBED.value(subject, first=settings["relevance"], repeats=repeats)
        split = subject.tests[0]
        references = [pair.target for pair in subject.pairs(split, bare=True)]
        written = outputs.written_by(subject, split, beam)
        scored = scoring.bleu(written, references, repeats)
        row = shape(spec) | {part: scored[part] for part in ("bleu", "low", "high")}
        row |= dict.fromkeys(("never", "gained", "gained, low", "gained, high"), float("nan"))
        if other := others.get(name):
            never = outputs.written_by(subjects.of_name(settings, other, seed), split, beam)
            own, its = (scoring.bleu_statistics(texts, references) for texts in (written, never))
            gained = scoring.bleu_interval(own, its, repeats)
            row |= {"never": scoring.bleu(never, references, 0)["bleu"]}
            row |= dict(zip(("gained", "gained, low", "gained, high"), gained, strict=True))
        labels = {label for cell in roles(*(described[one] for one in FUNCTIONAL)) for _, label in cell}
        row["cases"] = ", ".join(label for label in LABELS.values() if label in labels)
        rows[subject.title] = row | summary(described)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


CALLED = {"nsubj": "subject", "dobj": "object", "amod": "adjective", "advmod": "adverb"}


def said_of_training(table: pd.DataFrame) -> str:
    """Of which relations the best head lies above the line for the last half of a training or longer (`over_training`)."""
    stays, steps = [], table.index
    for relation, name in CALLED.items():
        below = steps[~(table[relation] >= MARGIN - 1e-9)].max()
        early = [step for step in steps if not step <= below and 2 * step <= steps[-1]][:1]
        stays += [f"{name} heads, from step {step:,} on" for step in early]
    told = f"{'; '.join(stays)}; heads of no other relation" if stays else "heads of no relation"
    return f"above the line for the last half of {steps[-1]:,} steps: {told}."


def shown(each: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """`measured.by_training` as people read it: with encoder layers of `beside`; not only verbs have adverbs."""
    layers = {name: f"{name} ({row.encoder.split()[0]} layers)" for name, row in table.iterrows() if ", " in name}
    return each.rename(layers, level="model").replace({"cases": {"v→adv": "w→adv", "adv→v": "adv→w"}}, regex=True)


def said_of_study(studied: Sequence[Any], beam: int) -> str:
    """In two sentences the size of the models under study, their text and what they reach on it; nothing of others' models."""
    specs = [subject.run.spec for subject in studied if subject.run]
    if not specs:
        return ""
    text, model, own = specs[0]["corpus"], specs[0]["model"], shape(specs[0])
    generated, found = text["corpus"] == "controlled", []
    for subject in studied:
        references = [pair.target for pair in subject.pairs(subject.tests[0], bare=True)]
        found.append(scoring.bleu(outputs.written_by(subject, subject.tests[0], beam), references, 0)["bleu"])
    pairs = number(text["train"]) if text["train"] else "all"
    trees = "generated sentence pairs with gold dependencies" if generated else "natural sentence pairs, parsed"
    return (
        f"{count(len(specs), 'model')}: encoder {own['encoder']}, decoder {own['decoder']} (layers × heads per layer), width"
        f" {model['width']}; text: {pairs} {trees}.\nBLEU {ends(found, '.0f')} on {subject.tests[0]}"
        f"{': generated text is easy, WMT scores are no yardstick' * generated}."
    )


def recipes(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 02 reads of the first model and its siblings, and of the first over its training."""
    if not subjects.leads(settings, names[0]) or not (settings["siblings"] or settings["snapshots"]):
        return
    options = {"first": settings["relevance"], "repeats": settings["bootstrap"]}
    for name in subjects.never_attending(settings, names[0]).values():
        yield outputs.recipe(training.trained(subjects.spec(settings, name, seed), f"{name}, seed {seed}"), settings["beam"])
    for name in [names[0], *subjects.siblings(settings, names[0])]:
        made = training.trained(subjects.spec(settings, name, seed), f"{name}, seed {seed}")
        yield from (outputs.recipe(made, settings["beam"]), DESCRIBED.recipe(made, **options))
    if settings["snapshots"]:
        yield followed(
            subjects.spec(settings, names[0], seed), settings["snapshots"], settings["relevance"], settings["bootstrap"]
        )
