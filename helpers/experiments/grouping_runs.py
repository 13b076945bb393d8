"""Runs of Grouped Head Attention: what is trained under which constraint, which heads stay, where the result lies.

A *run* is described by a spec: what it starts from (random weights or another run), which heads are cut first, the objective, a
training plan. Every row of a table is two runs: stage 1 (before voting) and stage 2 (after it, section 3.2).
All rows train for as many steps; rows that share their stage 1 share its run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import corpora, gpu, heads, measures, study, training
from helpers.heads.families import ADDRESS, KINDS
from helpers.methods import grouping as units
from helpers.methods import l0
from helpers.runs import outputs, subjects
from helpers.runs import training as translators
from helpers.training import learning_rate

VANILLA, GHT, PS, LITE = "vanilla", "GHT", "GHT-PS", "GHT-PS-LITE"
FEWER, NARROWER, L0, GRADIENT = "fewer layers", "narrower", "L0", "gradient importance"
EQUAL = (FEWER, NARROWER, L0, GRADIENT)  # controls with as many weights as GHT-PS, or as many heads
NO_HOMOGENISATION, NO_DIVERSIFICATION = "GHT w/o homogenisation", "GHT w/o diversification"
AT_START, NO_CONSTRAINT = "V2S at the start", "V2S without constraint"
RANDOM, MEMBER = "random heads off", "random member stays"
SECOND, BOTH = "constraint in stage 2 only", "constraint in both stages"

# --- what there is to do ---------------------------------------------------------------------------------------------


def plans(settings: Mapping[str, Any], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Training plans of the two stages of a task: one schedule, whose second part warms up again and then cools down."""
    block = settings["grouping"][subjects.setting(kind)]
    first = round(block["steps"] * settings["grouping"]["first"])
    names = ("batch_tokens", "learning_rate", "warmup")
    plan = settings["training"] | {name: block[name] for name in names} | {"patience": 0, "average": 1, "cooldown": 0.0}
    one = plan | {"steps": first, "evaluate_every": max(1, first // 3)}
    return one, _second(plan, first, block["steps"] - first)


def _second(plan: Mapping[str, Any], done: int, steps: int) -> dict[str, Any]:
    """The plan of stage 2 after `done` steps of stage 1: it goes on at the rate that was reached."""
    rate = learning_rate(done, {**plan, "cooldown": 0.0})
    more = {"steps": steps, "learning_rate": rate, "warmup": max(1, steps // 5), "cooldown": 0.5}
    return {**plan, **more, "evaluate_every": max(1, steps // 3)}


class Rows:
    """The rows of a task by name, each the spec of its second stage; `seed` is of weights, order of text and draws.

    The corpus has the seed `text`, the same by default.
    """

    def __init__(self, settings: Mapping[str, Any], kind: str, seed: int, text: int | None = None) -> None:
        self.chosen, self.seed = settings["grouping"], seed
        self.block = self.chosen[subjects.setting(kind)]
        self.corpus, self.shape = subjects.corpus(settings, kind, seed if text is None else text), self.block["model"]
        self.plans = plans(settings, kind)

    def spec(self, plan: Mapping[str, Any], stage: int, **given: Any) -> dict[str, Any]:
        """Everything that a run depends on, without what is given but empty.

        The plan is as `helpers.training.fit` takes it; each stage, 1 or 2, sees the training text in an order of its own. Given
        may be shape, of a model with random weights, or start, the spec of a run; and
            cut: ``{"by": "votes"}`` (Voting-to-Stay), ``{"by": "member", "draw"}`` (a random head of each group), ``{"by":
            "random", "draw"}`` (random heads of each layer), ``{"by": "gradient"}``, ``{"by": "gates"}`` (of a start that
            trained them), each with "groups" and "which". All keep as many heads, the last two anywhere in the model. The first
            two look at "batches" of training text, 0 for an epoch;
            objective: arguments of `helpers.methods.grouping.Grouped`, or ``{"form": "l0", "penalty", "rate", "start",
            "temperature"}``;
            watch: "which", "groups", "probe" (dev examples) and "every" (steps): when heads are compared without a constraint.
        """
        known = {"corpus": dict(self.corpus), "training": dict(plan), "seed": self.seed, "stage": stage}
        return known | {name: dict(value) for name, value in given.items() if value}

    def constraint(self, **other: Any) -> dict[str, Any]:
        """The objective of GHT."""
        names = ("alpha", "beta", "which", "weight")
        return {"form": "cosine", "groups": self.block["groups"], **{name: self.chosen[name] for name in names}, **other}

    def cut(self, by: str = "votes", **other: Any) -> dict[str, Any]:
        """Which heads stay."""
        usual = {"groups": self.block["groups"], "which": self.chosen["which"]}
        more = {"rule": "group", "count": "votes", "measure": "cosine"} if by == "votes" else {}  # part of published keys
        more |= {"batches": self.block["votes"]} if by in ("votes", "member") else {}
        return {"by": by, **usual, **more, **other}

    def first(self, objective: Mapping[str, Any] | None = None, shape: Mapping[str, Any] | None = None, **more: Any) -> dict:
        """A stage 1 from random weights."""
        given = {"shape": shape or self.shape, "objective": objective, "watch": self._watch(self.plans[0], objective)}
        return self.spec(self.plans[0], 1, **given, **more)

    def second(self, start: Mapping[str, Any], objective: Mapping[str, Any] | None = None, cut=None) -> dict[str, Any]:
        """A stage 2 after it."""
        given = {"objective": objective, "cut": cut, "watch": self._watch(self.plans[1], objective)}
        return self.spec(self.plans[1], 2, start=start, **given)

    def _watch(self, plan: Mapping[str, Any], objective: Mapping[str, Any] | None) -> dict[str, Any]:
        names = {"which": self.chosen["which"], "groups": self.block["groups"]}
        names |= {name: value for name, value in (objective or {}).items() if name in names}
        return names | {"probe": self.chosen["probe"], "every": max(1, plan["steps"] // self.chosen["shots"])}

    def whole(self, objective: Mapping[str, Any] | None = None, shape: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Both stages alike, all heads kept."""
        return self.second(self.first(objective, shape), objective)

    def pruned(self, objective: Mapping[str, Any], shape: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The constraint in stage 1, Voting-to-Stay by its map and groups, stage 2 without constraint."""
        cut = self.cut(groups=objective["groups"], which=objective["which"])
        return self.second(self.first(objective, shape), None, cut)

    def main(self) -> dict[str, dict]:
        """Vanilla, GHT and GHT-PS."""
        return {VANILLA: self.whole(), GHT: self.whole(self.constraint()), PS: self.pruned(self.constraint())}

    def peers(self) -> dict[str, dict]:
        """The paper's controls (Tables 1, 2 and 5): as large as GHT-PS, but smaller otherwise or with other heads."""
        lite = self.shape | {"feed_forward": self.shape["feed_forward"] // 2}
        plain = self.first()
        return {
            LITE: self.pruned(self.constraint(), lite),
            FEWER: self.whole(shape=fewer_layers(self.shape, self.block["groups"])),
            NARROWER: self.whole(shape=narrower(self.shape, self.block["groups"])),
            L0: self.gated(plain, self.cut("gates")),
            GRADIENT: self.second(plain, None, self.cut("gradient")),
        }

    def gated(self, plain: Mapping[str, Any], cut: Mapping[str, Any]) -> dict[str, Any]:
        """After a stage 1, half of stage 2 with gates, then heads are cut by them."""
        whole, train = self.plans
        half = train["steps"] // 2
        form = {"form": "l0", "start": l0.ALMOST_OPEN, "temperature": 0.33} | self.chosen["gates"]
        open_plan = {**train, "steps": half, "evaluate_every": half}
        opened = self.spec(open_plan, 2, start=plain, objective=form)
        rest = _second({**whole, "cooldown": 0.0}, whole["steps"] + half, train["steps"] - half)
        return self.spec(rest, 2, start=opened, cut=cut)

    def few_from_start(self) -> dict[str, Any]:
        """As many heads as GHT-PS from the start, chosen by votes of random weights."""
        return self.second(self.first(cut=self.cut()))

    def ablations(self) -> dict[str, dict]:
        """The eight rows of the paper's ablation."""
        grouped, plain, constraint = self.first(self.constraint()), self.first(), self.constraint()
        return {
            NO_HOMOGENISATION: self.whole(self.constraint(alpha=0.0)),
            NO_DIVERSIFICATION: self.whole(self.constraint(beta=0.0)),
            AT_START: self.few_from_start(),
            NO_CONSTRAINT: self.second(plain, None, self.cut()),
            RANDOM: self.second(grouped, None, self.cut("random", draw=0)),
            MEMBER: self.second(grouped, None, self.cut("member", draw=0)),
            SECOND: self.second(plain, constraint, self.cut()),
            BOTH: self.second(grouped, constraint, self.cut()),
        }

    def numbers(self) -> dict[str, dict]:
        """GHT and GHT-PS with other numbers of groups (Fig. 3)."""
        rows = {}
        for groups in (number for number in self.chosen["numbers"] if number != self.block["groups"]):
            alone = {"beta": 0.0} if groups == 1 else {}
            both = self._both(f"{groups} groups", self.constraint(groups=groups, **alone))
            rows |= {name: row for name, row in both.items() if groups < self.shape["heads"] or not name.startswith(PS)}
        return rows

    def strengths(self) -> dict[str, dict]:
        """GHT and GHT-PS with weaker and stronger constraints (Fig. 2), by the factor on the usual weight."""
        rows = {}
        for factor in self.chosen["strengths"]:
            rows |= self._both(f"weight x {factor:g}", self.constraint(weight=factor * self.chosen["weight"]))
        return rows

    def _both(self, variant: str, form: Mapping[str, Any]) -> dict[str, dict]:
        return {f"{GHT}, {variant}": self.whole(form), f"{PS}, {variant}": self.pruned(form)}


def today_rows(settings: Mapping[str, Any], seed: int, more: int = 0) -> Rows:
    """Rows of language modelling by a decoder of today's make (Llama), of its seed number `more`: a key-value head a head."""
    block = settings["grouping"]["today"]
    whole = {**block, "model": block["model"] | {"key_value_heads": block["model"]["heads"]}}
    changed = {**settings, "grouping": {**settings["grouping"], subjects.setting(subjects.LANGUAGE): whole}}
    return Rows(changed, subjects.LANGUAGE, seed + more, seed)


def weights(shape: Mapping[str, Any], groups: int | None = None) -> int:
    """Numbers in the weight matrices of an encoder-decoder, biases, norms and embeddings aside; with `groups` heads a layer."""
    width, decoder = shape["width"], shape.get("decoder_layers", shape["layers"])
    attention = 4 * width * width * (groups / shape["heads"] if groups else 1)
    return round(attention * (shape["layers"] + 2 * decoder) + 2 * width * shape["feed_forward"] * (shape["layers"] + decoder))


def fewer_layers(shape: Mapping[str, Any], groups: int) -> dict[str, Any]:
    """The paper's Lite1: as many weights as GHT-PS in fewer layers; of those within 5 % the one of most even depth."""
    wanted, shapes = weights(shape, groups), []
    for layers, decoder in product(range(1, shape["layers"] + 1), repeat=2):
        made = {**shape, "layers": layers, "decoder_layers": decoder}
        off = abs(weights(made) / wanted - 1)
        shapes.append((off > 0.05, abs(layers - decoder) if off <= 0.05 else 0, off, layers, made))
    return min(shapes, key=lambda one: one[:4])[-1]


def narrower(shape: Mapping[str, Any], groups: int) -> dict[str, Any]:
    """The paper's Lite2: as many weights as GHT-PS in layers less wide, feed-forward layers taking up what is left."""
    wanted, step = weights(shape, groups), shape["heads"] * 2 if shape["width"] // shape["heads"] % 2 == 0 else shape["heads"]
    width = max(step, round(shape["width"] * math.sqrt(wanted / weights(shape)) / step) * step)
    bare = {**shape, "width": width, "feed_forward": 0}
    layers = shape["layers"] + shape.get("decoder_layers", shape["layers"])
    return {**bare, "feed_forward": max(1, round((wanted - weights(bare)) / (2 * width * layers)))}


def _of_seeds(
    settings: Mapping[str, Any], seed: int, seeds: int, part: Callable[[Rows], dict], kind: str = subjects.TRANSLATION
) -> dict[str, dict]:
    """A part of the rows of each seed on one text; those of further seeds as "NAME, seed N"."""
    rows = part(Rows(settings, kind, seed))
    for more in range(seed + 1, seed + seeds):
        rows |= {f"{name}, seed {more}": spec for name, spec in part(Rows(settings, kind, more, seed)).items()}
    return rows


def rows_of(settings: Mapping[str, Any], kind: str, seed: int) -> dict[str, dict]:
    """The rows of a task by name: of translation all, of the other tasks the main ones; more seeds as "NAME, seed N"."""
    chosen = settings["grouping"]
    if not chosen[subjects.setting(kind)]["steps"]:
        return {}
    rows = Rows(settings, kind, seed)
    every = rows.main()
    for part in chosen["parts"] if kind == subjects.TRANSLATION else ():
        every |= getattr(rows, part)()
    return every | _of_seeds(settings, seed, chosen["seeds"], Rows.main, kind)


def ladder(settings: Mapping[str, Any], seed: int) -> dict[int, dict[str, dict]]:
    """Translation's main rows by numbers of a head; more seeds as in `rows_of`."""
    rungs: dict[int, dict[str, dict]] = {}
    shape = settings["grouping"]["translation"]["model"]
    for rung in settings["grouping"]["ladder"]:
        width = rung["head"] * shape["heads"]
        changes = {"model.width": width, "model.feed_forward": shape["feed_forward"] * width // shape["width"]}
        changes |= {name: rung[name] for name in ("learning_rate",) if name in rung}
        changed = study.changed(settings, {f"grouping.translation.{name}": value for name, value in changes.items()})
        rungs.setdefault(rung["head"], {}).update(_of_seeds(changed, seed, rung["seeds"], Rows.main))
    return rungs


def table_3(settings: Mapping[str, Any], seed: int) -> dict[str, dict]:
    """GHT, GHT-PS and the paper's ablation, of every seed; none where a profile leaves them out."""

    def part(rows: Rows) -> dict[str, dict]:
        main = rows.main()
        return {GHT: main[GHT], PS: main[PS], **rows.ablations()}

    chosen = settings["grouping"]
    return _of_seeds(settings, seed, chosen["ablation_seeds"], part) if "ablations" in chosen["parts"] else {}


def equal_size(settings: Mapping[str, Any], seed: int) -> dict[str, dict]:
    """The main rows and controls of the size of GHT-PS, of every seed of table 3, and LITE of the first; or none."""
    chosen = settings["grouping"]
    if "peers" not in chosen["parts"]:
        return {}
    lite = Rows(settings, subjects.TRANSLATION, seed).peers()[LITE]
    equal = _of_seeds(settings, seed, chosen["ablation_seeds"], lambda rows: rows.main() | {n: rows.peers()[n] for n in EQUAL})
    return equal | {LITE: lite}


def every_row(settings: Mapping[str, Any], seed: int) -> dict[str, dict[str, dict[str, Any]]]:
    """All rows of a study, by what they are about and name."""
    every = {kind: rows_of(settings, kind, seed) for kind in subjects.METRICS}
    if settings["grouping"]["translation"]["steps"]:
        every |= {f"heads of {head} numbers": rows for head, rows in ladder(settings, seed).items()}
        every |= {"table 3": table_3(settings, seed), "equal size": equal_size(settings, seed)}
    return every


def recipes(settings: Mapping[str, Any], seed: int) -> Iterator[study.Recipe]:
    """What is read of grouped heads: every stage of every row, and what the rows' models put out."""
    for kind, rows in every_row(settings, seed).items():
        for name, spec in rows.items():
            parts = stages(spec)
            for number, stage in enumerate(parts, 1):
                made = run(stage, f"{kind}: {name}, {number} of {len(parts)}")
                yield made
            yield outputs.recipe(made, settings["grouping"]["beam"])


def stages(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs that lead to a row, the first of them first and the row's last."""
    parts = [spec]
    while "start" in parts[0]:
        parts.insert(0, parts[0]["start"])
    return parts


# --- making a run ----------------------------------------------------------------------------------------------------


def run(spec: Mapping[str, Any], label: str = "grouping") -> study.Recipe:
    """The recipe of a run.

    Among its results are history.csv, heads.json (`helpers.runs.training.kept`), losses.json (dev loss of the stored model); of
    some trace.npz (heads compared while training), ballot.csv (votes, groups, which heads stay), gates.csv.
    """
    return GROUPED.of(spec, label)


def opened(spec: Mapping[str, Any]):
    """The model that a run left, in evaluation mode, on the device in use."""
    return translators.stored(run(spec))


def _train(spec: Mapping[str, Any], place: study.Place) -> None:
    text, plan = subjects.text_of(spec), dict(spec["training"])
    torch.manual_seed(spec["seed"])
    start = spec.get("start")
    model = opened(start) if start else text.build(spec["shape"], spec["seed"]).to(gpu.device())
    if "cut" in spec:
        kept = _cut(spec, text, model, place.results)
        heads.remove(model, [address for address in heads.index(model) if address not in kept])
    dev = text.held_out(training.held_out(plan), None, model.device)
    trainee, objective = _trainee(spec, text, model, plan)
    epochs = text.epoch(plan["batch_tokens"], 2 * spec["seed"] + spec["stage"], model.device)
    history = training.fit(trainee, epochs, dev, plan, place.work, spec["seed"], objective, place.label)
    if isinstance(trainee, l0.Gated):
        gates = pd.Series(trainee.gates.log_alpha.detach().cpu().numpy(), trainee.heads, name="log_alpha")
        gates.to_csv(place.results / "gates.csv")
    else:
        np.savez_compressed(place.results / "trace.npz", **trainee.trace())
    history.to_csv(place.results / "history.csv", index=False)
    translators.keep(model, place)
    study.write_json(place.results / "losses.json", {"dev_loss": training.dev_loss(trainee, dev)})


def _needs(spec: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    yield study.Need(corpora.recipe(spec["corpus"]), weights=True)
    if "start" in spec:
        yield study.Need(run(spec["start"]), weights=True)


GROUPED = study.Kind("grouped", 1, _train, _needs, opened=lambda spec, splits, control: nullcontext(opened(spec)))


def _cut(spec: Mapping[str, Any], text: subjects.Subject, model, folder: Path) -> set[tuple[str, int, int]]:
    """The heads that stay; writes ballot.csv."""
    cut, index, kept = spec["cut"], heads.index(model), []
    by, groups, table = cut["by"], cut["groups"], pd.DataFrame(index=index)
    sites = [site for site in heads.sites(model) if site.heads]
    if by in ("votes", "member"):
        epoch = text.epoch(spec["training"]["batch_tokens"], 2 * spec["seed"], model.device)(0)
        ballot = units.ballot(model, islice(epoch, cut["batches"] or None), cut["which"], groups)
        for name in ("votes", "scores", "labels"):
            rows = zip(ballot.places, getattr(ballot, name), strict=True)
            table[name] = pd.Series({(s.kind, s.layer, h): v for s, row in rows for h, v in enumerate(row.tolist())})
        table["batches"] = ballot.voters
    if by == "votes":
        kept = units.stay(ballot)
    elif by in ("member", "random"):
        rng = np.random.default_rng([spec["seed"], cut["draw"]])
        for number, site in enumerate(sites):
            if by == "random":
                chosen = rng.choice(site.heads, min(groups, site.heads), replace=False)
            else:
                labels = ballot.labels[number].cpu().numpy()
                chosen = [rng.choice(np.flatnonzero(labels == group)) for group in range(groups)]
            kept += [(site.kind, site.layer, int(head)) for head in chosen]
    else:
        if by == "gradient":
            table["worth"] = measures.importance(model, text.held_out(4096, 256, model.device))
        else:
            table["worth"] = pd.read_csv(run(spec["start"]).results / "gates.csv", index_col=list(ADDRESS)).log_alpha
        many = sum(min(groups, site.heads) for site in sites)
        kept = list(table.worth.sort_values(ascending=False, kind="stable").index[:many])
    table["kept"] = [address in kept for address in index]
    table.to_csv(folder / "ballot.csv")
    return set(kept)


def _trainee(spec: Mapping[str, Any], text: subjects.Subject, model, plan: Mapping[str, Any]):
    """What is trained, and its objective."""
    given, watch = dict(spec.get("objective", {})), spec.get("watch", {})
    if given.get("form") == "l0":
        kinds = tuple(kind for kind in KINDS if any(site.kind == kind for site in heads.sites(model)))
        rate = given["rate"] / plan["learning_rate"]
        trainee = l0.Gated(model, kinds, given["start"], rate, given["temperature"], steps=plan["steps"])
        return trainee, lambda gated, batch: l0.objective(gated, batch, plan["label_smoothing"], given["penalty"])
    if not given:
        given = {"form": None, "which": watch.get("which", "V"), "groups": watch.get("groups", 1)}
    probe = text.held_out(10**9, watch["probe"], model.device)[0] if watch else None
    shots = {"probe": probe, "every": watch.get("every", 0), "steps": plan["steps"] if watch else 0}
    trainee = units.Grouped(model, **given, **shots)
    return trainee, lambda grouped, batch: units.objective(grouped, batch, plan["label_smoothing"])
