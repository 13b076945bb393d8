"""Heads of pretrained models: which matter, by every measure (part a)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import torch

from helpers import study
from helpers.experiments.pretrained_text import passages, pretrained
from helpers.measures import ranks, worth
from helpers.measures.functions import Confidence, ConfidenceBeyondFirst, First, output_norm
from helpers.measures.lrp import SIGNED, summed
from helpers.measures.measured import from_one
from helpers.measures.reducers import one_pass
from helpers.measures.removal import RANDOM
from helpers.measures.table import groups
from helpers.runs.passages import batches
from helpers.scores.scoring import mean_interval
from helpers.study import values

FILE, LEFT_OUT, BY_LAYER = "value.json.gz", "leave-one-out", ", by layer"
TEXT = ("corpus", "model", "passages", "pieces", "piece")  # of a spec: what heads are measured on
CHOICES = ("gradient, example", "gradient, token", LEFT_OUT, "attnlrp", "confidence", "confidence, later tokens")
BLOCK = 4  # passages of a recipe of leave-one-out
Settings = Mapping[str, Any]
Spec = Mapping[str, Any]
Needs = Callable[[Spec], list[study.Recipe]]
PARTS: dict[str, tuple[int, Callable[[Spec], Any], Needs]] = {}


def part(version: int, needs: Needs = lambda spec: []) -> Callable:
    """Make a function of a spec a part, by its name, whose value a recipe keeps; raise the version if its numbers change."""

    def entered(function: Callable[[Spec], Any]) -> Callable[[Spec], Any]:
        PARTS[function.__name__] = version, function, needs
        return function

    return entered


def _build(spec: Spec, place: study.Place) -> None:
    values.write(place.results / FILE, PARTS[spec["part"]][1](spec))


PRETRAINED = study.Kind(
    "pretrained-part", lambda spec: PARTS[spec["part"]][0], _build, lambda spec: PARTS[spec["part"]][2](spec)
)


def recipe(name: str, spec: Spec, **more: Any) -> study.Recipe:
    """The recipe of a part for a spec and more of it."""
    return PRETRAINED.of({**spec, **more, "part": name}, f"pretrained models: {name}")


def read(made: study.Recipe) -> Any:
    """The value of a recipe, from the store, or made now."""
    return values.read(made.results / FILE)


def text_spec(settings: Settings, by: str = "") -> dict[str, Any]:
    """What heads are measured on, for specs, and the measure by which they are chosen."""
    chosen = settings["pretrained"]
    spec = {"corpus": "wikitext", "model": chosen["decoder"]} | {name: chosen[name] for name in TEXT[2:]}
    spec |= {"left_out": chosen["left_out"]} if by == LEFT_OUT else {}
    return spec | ({"by": by} if by else {})


def column_recipes(spec: Spec) -> list[study.Recipe]:
    """Recipes of the measure by which (`by`) a spec chooses heads."""
    text, by = {name: spec[name] for name in TEXT}, spec["by"]
    if by == LEFT_OUT:
        return [recipe("without", text, first=first) for first in range(0, spec["left_out"], BLOCK)]
    if by in SIGNED:
        return [recipe("relevance", text, rule=by)]
    return [] if by == RANDOM else [recipe("gradients" if by.startswith("gradient") else "attention", text)]


def column(spec: Spec) -> pd.Series:
    """The measure by which (`by`) a spec chooses heads, on (kind, layer, head): means over passages."""
    found, name = [read(made) for made in column_recipes(spec)], spec["by"].removesuffix(BY_LAYER)
    means = (pd.concat(found) if name == LEFT_OUT else found[0][name]).mean()
    return worth.by_layer(means) if name != spec["by"] else means


# --- leave-one-out ---------------------------------------------------------------------------------------------------


@part(version=1)
def without(spec: Spec) -> pd.DataFrame:
    """Rise of the loss without each head, nats a token: a row a passage, a column a head; of the first piece of passages."""
    ids = passages(spec["model"], "valid", spec["passages"], spec["pieces"] * spec["piece"])
    chosen = ids[spec["first"] : spec["first"] + BLOCK, : spec["piece"]]
    rises, tokens = worth.rises_of_examples(pretrained(spec["model"])[0], batches(chosen))
    return (rises / tokens[:, None]).set_axis(range(spec["first"], spec["first"] + len(rises)))


# --- the other measures ----------------------------------------------------------------------------------------------


@part(version=1)
def gradients(spec: Spec) -> dict[str, pd.DataFrame]:
    """Gradient importance per example and per token, and minus the slope with its sign (nats a token): passages by heads."""
    model, rows = pretrained(spec["model"])[0], _pieces(spec)
    slopes = [worth.slopes(model, batches(ids)) for ids in rows]
    tokens = rows.shape[1] * (rows.shape[2] - 1)
    each = [worth.importance(model, batches(ids), per="token", norm=None) for ids in rows]
    return {
        "gradient, example": pd.DataFrame([one.abs().mean() for one in slopes]),
        "gradient, token": pd.DataFrame(each).reset_index(drop=True),
        "gradient, signed": pd.DataFrame([-one.sum() / tokens for one in slopes]),
    }


@part(version=1)
def attention(spec: Spec) -> dict[str, pd.DataFrame]:
    """Confidence with and without the first token, the weight on it, and the norm of outputs: passages by heads."""
    model, rows = pretrained(spec["model"])[0], _pieces(spec)
    reducers = {"confidence": Confidence(), "confidence, later tokens": ConfidenceBeyondFirst(), "first token": First()}
    heads = one_pass(model, batches(rows.flatten(0, 1)), *reducers.values())
    found = {}
    for name, reducer in reducers.items():
        above, below = reducer.per_sentence().reshape(*rows.shape[:2], len(heads), 2).sum(1).transpose(2, 0, 1)
        found[name] = pd.DataFrame(above / below, columns=heads)
    norms = [output_norm(model, batches(ids)) for ids in rows]
    return found | {"output norm": pd.DataFrame(norms).reset_index(drop=True)}


def _pieces(spec: Spec) -> torch.Tensor:
    """Token ids [passages, pieces, tokens]."""
    return passages(spec["model"], "valid", spec["passages"], spec["pieces"] * spec["piece"]).unflatten(1, (spec["pieces"], -1))


@part(version=1)
def relevance(spec: Spec) -> dict[str, pd.DataFrame]:
    """Relevance by a signed rule, summed over the targets of a piece (logits a token), with its sign and without."""
    rows, rule = _pieces(spec), spec["rule"]
    found = summed(pretrained(spec["model"])[0], batches(rows.flatten(0, 1)), rule)
    each = (found.raw / found.targets[:, None]).reshape(*rows.shape[:2], -1)
    ways = {rule: abs(each), f"{rule}, signed": each}
    return {name: pd.DataFrame(values.mean(1), columns=found.heads) for name, values in ways.items()}


@part(version=1)
def sharing(spec: Spec) -> pd.Series:
    """The key-value head that each query head reads, from 1."""
    return groups(pretrained(spec["model"])[0]) + 1


def measure_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of all measures but leave-one-out, and of shared heads."""
    text = text_spec(settings)
    rules = [recipe("relevance", text, rule=rule) for rule in SIGNED]
    shared = recipe("sharing", {name: text[name] for name in TEXT[:2]})
    return [recipe("gradients", text), recipe("attention", text), *rules, shared]


def left_out_recipes(settings: Settings) -> list[study.Recipe]:
    """Recipes of leave-one-out, a few passages each."""
    return column_recipes(text_spec(settings, LEFT_OUT))


def rises(settings: Settings) -> pd.DataFrame:
    """Leave-one-out: passages by heads."""
    return pd.concat(map(read, left_out_recipes(settings)))


def by_passage(settings: Settings) -> dict[str, pd.DataFrame]:
    """All other measures by their names: passages by heads."""
    *found, _ = (read(made) for made in measure_recipes(settings))
    return {name: one for measures in found for name, one in measures.items()}


# --- tables ----------------------------------------------------------------------------------------------------------


def head_table(settings: Settings) -> pd.DataFrame:
    """All measures of every head of the decoder, means over passages: a row a head, layers and heads from 1."""
    found = {name: one.mean() for name, one in {LEFT_OUT: rises(settings), **by_passage(settings)}.items()}
    _, found[f"{LEFT_OUT} low"], found[f"{LEFT_OUT} high"] = mean_interval(rises(settings))
    table = from_one(pd.DataFrame({"key-value head": read(measure_recipes(settings)[-1])} | found))
    return table.reset_index().drop(columns="kind")


def correlations(settings: Settings) -> pd.DataFrame:
    """Spearman's correlation of every measure with leave-one-out on ranks within layers, with intervals over passages.

    Columns measure, rho, low, high, heads, passages. The first row is the truth itself, one half of the passages against the
    other: what a measure could reach on as few passages, at most.
    """
    truth = rises(settings)
    pairs = {f"{LEFT_OUT}, half against half": (truth[::2], truth[1::2])}
    pairs |= {name: (truth, one[: len(truth)]) for name, one in by_passage(settings).items()}
    return pd.DataFrame([{"measure": name} | ranks.over_passages(*both) for name, both in pairs.items()])
