"""Heads of a pretrained model taken away: at once, by gates, one a group, the idle ones of each layer (parts c, d and e).

The last section trains models on without the heads of a choice, for a short while.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import adjusted_rand_score
from torch.nn import functional as F

from helpers import gpu, models, study, training
from helpers.experiments import pretrained_measured as measured
from helpers.experiments.pretrained_functions import function_recipes, roles
from helpers.experiments.pretrained_measured import Settings, Spec, column, column_recipes, part, read, recipe
from helpers.experiments.pretrained_text import passages, pretrained
from helpers.heads import gate, index, remove, sites
from helpers.measures import worth
from helpers.measures.reducers import evaluating
from helpers.measures.removal import RANDOM, Address, least, matched, shuffled
from helpers.methods.grouping import ballot, clusters, watch
from helpers.methods.l0 import Gated
from helpers.runs.passages import batches
from helpers.scores import scoring

SAME, ANY = "same number a layer", "any"  # how heads are drawn at random
PASSAGES, RATE = 2, 0.1  # passages of a step of the gates, and their learning rate
MAPS = ("V", "A", "A, no first token", "O")  # feature maps
PAIRS, UNITS, STARTS = "key-value heads", "hidden units of O", 10  # groups, and starts of K-means
BY = "gradient, example"  # what gates, groups and idle heads are held against
HALF, FEW, ENDS, MANY = [0.25, 0.5], [0.05, 0.2], [0.1, 0.75], [0.05, 0.1, 0.2, 0.25, 0.5, 0.75]  # fractions of heads
DRAWN = (  # held against so many random draws
    (BY, HALF, 3), ("leave-one-out", HALF, 3), (BY, FEW, 3), (RANDOM, FEW, 1), (BY + measured.BY_LAYER, MANY, 0), (BY, ENDS, 3),
)  # fmt: skip
ROWS, HELD_OUT = 2, 24  # passages of a step of training on, and those, the last, on which the best weights are chosen
PLAN = {
    "learning_rate": 1e-4, "warmup": 10, "cooldown": 1.0, "betas": [0.9, 0.98], "clip": 1.0, "evaluate_every": 30,
    "label_smoothing": 0.0, "patience": 0, "average": 0,
}  # fmt: skip


# --- losses without heads --------------------------------------------------------------------------------------------


def losses(spec: Spec, closed: Iterable[Address] = ()) -> list[float]:
    """Loss (nats a token) of each passage of test text without some heads."""
    model = pretrained(spec["model"])[0]
    with gate(model, dict.fromkeys(closed, 0.0)):
        return losses_of(model, spec)


def losses_of(model: Any, spec: Spec) -> list[float]:
    """Loss of a model (nats a token) on each passage of test text, in bfloat16: its rounding changes some 0.001."""
    ids = passages(spec["model"], "test", spec["passages"], spec["window"])
    with gpu.in_bfloat16(model.device):
        loss, tokens = worth.losses_of_examples(model, batches(ids))
    return (loss / tokens).tolist()


def row_of(spec: Spec, heads: pd.MultiIndex, closed: Sequence[Address], **labels: Any) -> dict[str, Any]:
    """A row: labels, which heads are off (places in the head table), and the loss of each passage."""
    return labels | {"closed": heads.get_indexer(closed).tolist(), "losses": losses(spec, closed)}


def beside(spec: Spec, heads: pd.MultiIndex, closed: Sequence[Address], **labels: Any) -> list[dict[str, Any]]:
    """Rows of a choice of heads and of random draws with the same number a layer."""
    drawn = [matched(heads, closed, draw, len(closed)) for draw in range(spec["draws"])]
    rows = [row_of(spec, heads, one, **labels, random=SAME, draw=draw) for draw, one in enumerate(drawn)]
    return [row_of(spec, heads, closed, **labels, random="", draw=0), *rows]


@part(version=1)
def whole(spec: Spec) -> list[float]:
    """Losses of the whole model."""
    return losses(spec)


@part(version=1, needs=column_recipes)
def removed(spec: Spec) -> list[dict[str, Any]]:
    """Rows of the heads of least worth by a measure, or of random ones, at every fraction."""
    heads, rows = index(pretrained(spec["model"])[0]), []
    for fraction in spec["fractions"]:
        count = round(fraction * len(heads))
        if spec["by"] != RANDOM:
            rows += beside(spec, heads, least(column(spec), count), fraction=fraction)
        for draw in range(3 * spec["draws"]) if spec["by"] == RANDOM else ():
            drawn = least(shuffled(heads, draw, count), count)
            rows.append(row_of(spec, heads, drawn, fraction=fraction, random=ANY, draw=draw))
    return rows


def by(settings: Settings, name: str) -> dict[str, Any]:
    """What heads are chosen by and scored on, for specs."""
    chosen = settings["pretrained"]
    return measured.text_spec(settings, name) | {"window": chosen["window"], "draws": chosen["draws"]}


def removal_recipes(settings: Settings) -> dict[str, list[study.Recipe]]:
    """Recipes of parts c, d and e by what they make."""
    chosen = settings["pretrained"]
    plain = {"corpus": "wikitext", "model": chosen["decoder"]} | {name: chosen[name] for name in ("passages", "window")}
    return {
        "whole": [recipe("whole", plain)],
        "removed": [
            recipe("removed", by(settings, name), fractions=chosen["fractions"]) for name in (*measured.CHOICES, RANDOM)
        ],
        "drawn": [recipe("removed", by(settings, name) | {"draws": draws}, fractions=some) for name, some, draws in DRAWN],
        "grams": [recipe("grams", plain, map=which) for which in MAPS],
        "votes": [recipe("votes", plain)],
        "kept": [recipe("kept", by(settings, BY))],
        "masked": [recipe("masked", by(settings, BY))],
        "gated": [recipe("gated", by(settings, BY), steps=chosen["steps"], seed=0, price=one) for one in chosen["prices"]],
    }


def table_of(settings: Settings, rows: Iterable[Mapping[str, Any]], against: Sequence[float] = ()) -> pd.DataFrame:
    """Rows as a table: labels; heads (removed); functions_left, of the heads with a function on EWT the share that stays;
    perplexity, low, high; change of the loss (nats a token) against the whole model, or given losses, change_low, change_high.
    Intervals are over passages of test text, those of changes paired."""
    whole, found = np.array(read(removal_recipes(settings)["whole"][0])), []
    plain = np.array(against) if len(against) else whole
    has = roles(read(function_recipes(settings)[0])).any(axis=1).to_numpy()
    for row in [{"random": "", "draw": 0, "closed": [], "losses": whole}, *rows]:
        loss = np.array(row["losses"])
        gap = scoring.mean_interval(loss[:, None], plain[:, None])
        found.append(
            {label: value for label, value in row.items() if label not in ("closed", "losses")}
            | {"heads": len(row["closed"]), "functions_left": 1 - has[row["closed"]].sum() / max(1, has.sum())}
            | dict(zip(("perplexity", "low", "high"), scoring.perplexity_interval(loss, np.ones(len(loss))), strict=True))
            | {f"change{end}": float(value[0]) for end, value in zip(("", "_low", "_high"), gap, strict=True)}
        )
    return pd.DataFrame(found)


def removed_at_once(settings: Settings) -> pd.DataFrame:
    """Heads removed at once, without training: perplexity on test text; the whole model first.

    Columns by (the measure whose least heads go), fraction, random ("" for the choice itself, else how heads are drawn: "same
    number a layer" as the choice, or "any"), draw, and those of `table_of`.
    """
    return _by_choice(settings, "removed")


def drawn_at_once(settings: Settings) -> pd.DataFrame:
    """As `removed_at_once`, of some choices and fractions, with several random draws each."""
    return _by_choice(settings, "drawn")


def _by_choice(settings: Settings, name: str) -> pd.DataFrame:
    rows = [{"by": made.spec["by"], **row} for made in removal_recipes(settings)[name] for row in read(made)]
    return table_of(settings, rows)


# --- gates -----------------------------------------------------------------------------------------------------------


@part(version=1, needs=column_recipes)
def gated(spec: Spec) -> dict[str, Any]:
    """Gates trained at a price while the model is frozen: log alpha of every head, and rows of the heads that they close.

    The heads of least gradient importance (`by`), as many as gates close, stand beside them.
    """
    model, steps = pretrained(spec["model"])[0], spec["steps"]
    ids = passages(spec["model"], "valid", steps * PASSAGES, spec["window"])
    torch.manual_seed(spec["seed"])
    gates = Gated(model, ("decoder",)).train()
    optimizer = torch.optim.Adam([gates.scaled], lr=RATE)
    for batch in study.progress(list(ids.split(PASSAGES)), f"gates at {spec['price']:g}"):
        with gpu.in_bfloat16(model.device):
            logits = gates(input_ids=batch, use_cache=False).logits[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        optimizer.zero_grad()
        (loss + spec["price"] * gates.gates.expected()).backward()
        optimizer.step()
    closed, heads = gates.eval().closed(), gates.heads
    rows = beside(spec, heads, closed, choice="gates")
    rows.append(row_of(spec, heads, least(column(spec), len(closed)), choice=spec["by"], random="", draw=0))
    return {"log_alpha": pd.Series(gates.gates.log_alpha.detach().cpu().numpy(), heads), "rows": rows}


def gates(settings: Settings) -> pd.DataFrame:
    """Heads that L0 gates close while the model is frozen, at every price: perplexity on test text; the whole model first.

    Columns price (nats a token and open gate), choice ("gates", or gradient importance with as many heads), random, draw, and
    those of `table_of`.
    """
    made = removal_recipes(settings)["gated"]
    return table_of(settings, [{"price": one.spec["price"], **row} for one in made for row in read(one)["rows"]])


def gates_by_choice() -> pd.DataFrame:
    """Published `gates` of SmolLM2 and `trained_on` of their heads to draw: when, chosen by, heads left, change, low, high."""
    parts = {"right after removal": "gates", "after training on": "trained_on"}
    tables = {when: pd.read_csv(study.ROOT / "figures" / "pretrained" / f"{name}.csv") for when, name in parts.items()}
    table = pd.concat(tables, names=["when"]).reset_index("when").dropna(subset="price")
    chosen = table.choice.map({"gates": "gates", BY: "gradient importance"}).where(table.random.isna(), "random, by layer")
    look = {"heads left": 270 - table["heads"], "chosen by": chosen, "low": table.change_low, "high": table.change_high}
    return table.assign(**look)


def compared(settings: Settings) -> pd.DataFrame:
    """Loss without heads (the least by a measure, or random ones) minus that without as many others (`minus`).

    Random heads are of the layers of `by`, or any. Of several draws the mean counts. Intervals are over passages, paired.
    """
    parts, rows, found = removal_recipes(settings), [], defaultdict(dict)
    every = [(one.spec["by"], row) for name in ("removed", "drawn") for one in parts[name] for row in read(one)]
    every += [(row["choice"], row) for one in parts["gated"] for row in read(one)["rows"]]
    for name, row in every:
        found[name, row["random"], len(row["closed"])].setdefault(row["draw"], row["losses"])
    losses = {place: np.mean([*draws.values()], axis=0)[:, None] for place, draws in found.items()}
    for name, random, heads in losses:
        for minus, other in ((BY, (BY, "")), (RANDOM, (RANDOM, ANY)), ("random, same layers", (name, SAME))):
            if random != SAME and (*other, heads) in losses and other != (name, random):
                ends = scoring.mean_interval(losses[name, random, heads], losses[*other, heads])
                rows.append((name, heads, minus, *(float(end[0]) for end in ends)))
    return pd.DataFrame(rows, columns=["by", "heads", "minus", "change", "low", "high"])


# --- groups ----------------------------------------------------------------------------------------------------------


@part(version=1)
def grams(spec: Spec) -> torch.Tensor:
    """Inner products of the heads of each layer by a feature map, over text of the valid part: [layers, heads, heads]."""
    model, total = pretrained(spec["model"])[0], torch.zeros(())
    which, _, rest = spec["map"].partition(", ")
    with evaluating(model), torch.no_grad(), watch(model, which) as watched:
        for batch in batches(passages(spec["model"], "valid", spec["passages"], spec["window"])):
            real = batch["attention_mask"].clone()
            if rest:
                real[:, 0] = 0
            watched.feed({"input_ids": batch["input_ids"], "attention_mask": real})
            model.base_model(input_ids=batch["input_ids"], use_cache=False)
            total = total + torch.stack(watched.grams).double()
    return total


@part(version=1)
def votes(spec: Spec) -> torch.Tensor:
    """Votes of Voting-to-Stay on head outputs, one batch a passage: [layers, heads]."""
    model = pretrained(spec["model"])[0]
    text = batches(passages(spec["model"], "valid", spec["passages"], spec["window"]), rows=1)
    return torch.stack(ballot(model, text, "O", len(set(sites(model)[0].groups))).votes)


def groups(settings: Settings) -> pd.DataFrame:
    """Do hidden units recover the model's key-value groups? Adjusted Rand index of each map, mean over layers.

    The value vectors of query heads that share a key-value head are the same, so that V is the control: it must give 1.

    Columns map, index (K-means, the best of ten starts by inertia), low, high (over layers), layers.
    """
    truth, rows = read(measured.measure_recipes(settings)[-1]).unstack("head").to_numpy(int), []
    for made in removal_recipes(settings)["grams"]:
        units = clusters(read(made), len(set(truth[0])), tries=STARTS).numpy()
        found = np.array([adjusted_rand_score(*both) for both in zip(truth, units, strict=True)])
        ends = (float(end[0]) for end in scoring.mean_interval(found[:, None]))
        rows.append((made.spec["map"], *ends, len(found)))
    return pd.DataFrame(rows, columns=["map", "index", "low", "high", "layers"])


def unit_recipes(spec: Spec) -> list[study.Recipe]:
    """Recipes of what `kept` reads: a measure, inner products of outputs, votes."""
    plain = {name: spec[name] for name in ("corpus", "model", "passages", "window")}
    return [*column_recipes(spec), recipe("grams", plain, map="O"), recipe("votes", plain)]


@part(version=1, needs=unit_recipes)
def kept(spec: Spec) -> list[dict[str, Any]]:
    """Rows of one head left a group: groups of the model's own or hidden units, the best by importance, votes or at random."""
    *_, products, ballots = unit_recipes(spec)
    places, rows = sites(pretrained(spec["model"])[0]), []
    heads, many = index(pretrained(spec["model"])[0]), len(set(places[0].groups))
    units = clusters(read(products), many, tries=STARTS).flatten().numpy()
    labels = {PAIRS: np.concatenate([site.groups for site in places]), UNITS: units}
    for name, group in labels.items():
        columns = {(spec["by"], 0): column(spec), ("votes", 0): pd.Series(read(ballots).flatten().numpy(), heads)}
        columns |= {(RANDOM, draw): shuffled(heads, draw) for draw in range(spec["draws"])}
        for (by, draw), values in columns.items():
            best = values.groupby([heads.get_level_values("layer"), group]).rank(ascending=False, method="first") == 1
            rows.append(row_of(spec, heads, list(heads[~best]), groups=name, by=by, random="", draw=draw))
    return rows


# --- idle heads ------------------------------------------------------------------------------------------------------


@part(version=1, needs=column_recipes)
def masked(spec: Spec) -> list[dict[str, Any]]:
    """Rows of the k least important heads of every layer masked, k from 1 to all but one."""
    worth_of, rows = column(spec), []
    places = worth_of.groupby(level=["kind", "layer"]).rank(method="first")
    for count in range(1, int(places.max())):
        rows += beside(spec, worth_of.index, list(worth_of.index[places <= count]), k=count)
    return rows


def idle(settings: Settings) -> pd.DataFrame:
    """The k least important heads of every layer masked, without training: perplexity on test text; the whole model first.

    Columns k, random, draw, and those of `table_of`.
    """
    return table_of(settings, read(removal_recipes(settings)["masked"][0]))


# --- trained on without heads ----------------------------------------------------------------------------------------


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


def training_loss(model: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The cross-entropy that is trained for, computed in bfloat16 where that is faster."""
    with gpu.in_bfloat16(model.device):
        return models.cross_entropy(model, batch, 0.0)


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
    plan = PLAN | {"steps": spec["steps"], "evaluate_every": min(PLAN["evaluate_every"], spec["steps"])}
    label = "trained on: " + ", ".join(f"{value}" for value in spec["row"].values() if value != "")
    history = training.fit(
        model, lambda epoch: batches(ids[order], ROWS), batches(ids[-HELD_OUT:]), plan, None, spec["seed"], training_loss, label
    )
    return {"closed": row["closed"], "losses": losses_of(model, spec), "dev_loss": history.dev_loss.tolist()}


def trained_on(settings: Settings) -> pd.DataFrame:
    """Heads cut out and the rest trained on for a short while, held against the whole model trained alike, which is first.

    Columns choice, price, groups, by, random; and those of `table_of`.
    """
    made = trained_recipes(settings)
    rows = [one.spec["row"] | {"draw": 0} | {name: read(one)[name] for name in ("closed", "losses")} for one in made]
    table = table_of(settings, rows, read(made[0])["losses"]).iloc[1:]
    return table.drop(columns="draw").reset_index(drop=True)
