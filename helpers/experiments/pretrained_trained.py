"""Pretrained models trained on without heads: what a short further training makes of a choice (parts c and d)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pandas as pd
import torch

from helpers import gpu, models, study, training
from helpers.experiments.pretrained_measured import Settings, Spec, part, read, recipe
from helpers.experiments.pretrained_removed import BY, PAIRS, SAME, UNITS, by, losses_of, table_of
from helpers.experiments.pretrained_text import batches, passages, pretrained
from helpers.heads import index, remove
from helpers.measures.removal import RANDOM, Address

ROWS, HELD_OUT = 2, 24  # passages of a step, and those, the last, on which the best weights are chosen
PLAN = {
    "learning_rate": 1e-4, "warmup": 10, "cooldown": 1.0, "betas": [0.9, 0.98], "clip": 1.0, "evaluate_every": 30,
    "label_smoothing": 0.0, "patience": 0, "average": 0,
}  # fmt: skip


def choices(settings: Settings) -> list[dict[str, Any]]:
    """What is trained on: all heads; without those that gates close at two prices, or as many others; one head a group."""
    prices, groups = settings["pretrained"]["trained"], (PAIRS, UNITS)
    gated = [("gates", ""), ("gates", SAME), (BY, "")]
    return [
        {"choice": "none", "random": ""},
        *({"price": price, "choice": choice, "random": random} for price in prices for choice, random in gated),
        *({"groups": name, "by": by, "random": ""} for name in groups for by in ("votes", BY, RANDOM)),
    ]


def trained_recipes(settings: Settings) -> list[study.Recipe]:
    """A recipe a choice of heads."""
    return [
        recipe("trained", by(settings, BY), row=row, steps=settings["pretrained"]["steps"], seed=0) for row in choices(settings)
    ]


def source(spec: Spec) -> list[study.Recipe]:
    """The recipe, if any, whose rows say which heads are off."""
    text = {name: value for name, value in spec.items() if name not in ("part", "row", "steps", "seed")}
    if "price" in spec["row"]:
        return [recipe("gated", text, steps=spec["steps"], seed=0, price=spec["row"]["price"])]
    return [recipe("kept", text)] if "groups" in spec["row"] else []


def without_training(spec: Spec) -> Mapping[str, Any]:
    """The row of a choice before it is trained on: which heads are off (places in the head table), and its losses."""
    for made in source(spec):
        value = read(made)
        rows = value["rows"] if isinstance(value, dict) else value
        return next(row for row in rows if all(row.get(name, wanted) == wanted for name, wanted in spec["row"].items()))
    return {"closed": []}


@part(version=1, needs=source)
def trained(spec: Spec) -> dict[str, Any]:
    """Losses of each passage of test text after all weights were trained on without some heads, which are cut out.

    Text is that on which gates learn. The weights of least loss on held-out passages of it are kept.
    """
    whole, row = pretrained(spec["model"])[0], without_training(spec)
    closed: list[Address] = list(index(whole)[row["closed"]])
    model = remove(copy.deepcopy(whole), closed).requires_grad_(True)
    ids = passages(spec["model"], "valid", spec["steps"] * ROWS + HELD_OUT, spec["window"])
    order = torch.randperm(len(ids) - HELD_OUT, generator=torch.Generator().manual_seed(spec["seed"]))

    def loss(model: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        with gpu.in_bfloat16(model.device):
            return models.cross_entropy(model, batch, 0.0)

    plan = PLAN | {"steps": spec["steps"], "evaluate_every": min(PLAN["evaluate_every"], spec["steps"])}
    label = "trained on: " + ", ".join(f"{value}" for value in spec["row"].values() if value != "")
    history = training.fit(
        model, lambda epoch: batches(ids[order], ROWS), batches(ids[-HELD_OUT:]), plan, None, spec["seed"], loss, label
    )
    return {"closed": row["closed"], "losses": losses_of(model, spec), "dev_loss": history.dev_loss.tolist()}


def trained_on(settings: Settings) -> pd.DataFrame:
    """Heads cut out and the rest trained on for a short while, held against the whole model trained alike, which is first.

    Columns choice, price, groups, by, random; untrained (perplexity without training); and those of `table_of`.
    """
    made = trained_recipes(settings)
    rows = [one.spec["row"] | {"draw": 0} | {name: read(one)[name] for name in ("closed", "losses")} for one in made]
    table = table_of(settings, rows, read(made[0])["losses"]).iloc[1:]
    before = table_of(settings, [without_training(one.spec) for one in made[1:]])
    return table.drop(columns="draw").assign(untrained=before.perplexity.to_numpy()).reset_index(drop=True)
