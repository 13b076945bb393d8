"""Do the measures agree? Head tables of every model and seed, and heads removed by each measure at equal numbers.

The unit is a *job*: one trained model, its head table, and its contest of criteria.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, count, islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from helpers import corpora, heads, measures, models, study, training
from helpers.corpora.describe import arcs_of
from helpers.experiments import grouping as grouped
from helpers.experiments import pruning
from helpers.heads.families import ADDRESS, KINDS
from helpers.measures import removal
from helpers.measures.reducers import evaluating
from helpers.measures.table import GROUP, TRUTH, Measure, register
from helpers.methods import coreference, grouping, l0
from helpers.methods.coreference import runs as summarizers
from helpers.runs import outputs, subjects
from helpers.study import StudyError

SUMMARIZER = "dialogues"  # the name of the summarization model among the models
DECODER = "decoder of today"  # and of the one that continues texts
SURVIVAL = "kept by L0"
GROUPS = 2  # a layer, in which heads vote
STORED = (  # measures in version 1 of the kind "head table": others would be other numbers under its keys
    "alpha_beta", "attnlrp", "cp", "gradient, example", "gradient, example, by layer", "gradient, token",
    "gradient, token, by layer", TRUTH, "confidence", "positional", "syntactic", "rare", "votes", "L1 gates",
    "probing",
)  # fmt: skip
FIRST = ("gradient, signed", "first token", "output norm", GROUP)  # measures in version 1 of the kind "first-order head table"
UNIT = "gradient, example"  # it stands in both tables
LEFT = (0.75, 0.5, 0.25)  # shares of the heads that stay where there is no sweep to say how many


# --- what there is to do ---------------------------------------------------------------------------------------------


def jobs(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """All jobs: one for each sweep, those of further trainings too, and one for every training of the summarizer and of the
    decoder of today; or the sweeps of a pretrained translator (`checkpoint`) alone.

    A job has name, seed, first_order, and "sweep" (`helpers.experiments.pruning.sweep`), "run" (a run of
    `helpers.methods.coreference.runs`) or "decoder" (one of `helpers.experiments.grouping_runs`), with the settings that its
    table depends on; of a decoder "removed", those of heads removed at once.
    """
    chosen, models = settings["comparison"], []
    for sweep in pruning.every_sweep(settings, names, seed, checkpoint):
        models.append({"name": sweep["name"], "seed": sweep["seed"], "sweep": sweep, "criteria": chosen["criteria"]})
    block = settings["coreference"]["summarization"]
    if block["steps"] and not checkpoint:
        for more in range(subjects.trainings(settings, SUMMARIZER)):
            run = summarizers.Rows(settings, seed + more, seed).plain()
            links = {name: settings["coreference"][name] for name in ("matrix", "span")} | {"links": block["links"]}
            described = {"few": chosen["dialogues"], "votes": chosen["votes"], "links": links}
            models.append({"name": SUMMARIZER, "seed": seed + more, "run": run, **described})
    if chosen["decoder"] and settings["grouping"]["today"]["steps"] and not checkpoint:
        for more in range(subjects.trainings(settings, DECODER)):
            described = {"few": settings["relevance"], "votes": chosen["votes"], "l1": chosen["l1"]}
            removed = {name: settings["pruning"][name] for name in ("dev", "draws")} | {"kinds": ["decoder"], "left": LEFT}
            run = grouped.runs.today_rows(settings, seed, more).whole()
            models.append({"name": DECODER, "seed": seed + more, "decoder": run, "removed": removed, **described})
    return [{**job, "first_order": chosen["first_order"]} for job in models]


def contest(job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Runs with further training that a job adds to its sweep's own: a spec by "CRITERION PENALTY".

    Each removes as many encoder heads as L0 did at one price, those of least worth by a column of the head table, then trains
    as the sweep's runs do.
    """
    sweep, specs = job["sweep"], {}
    prices = sweep["settings"]["pruning"]["compared"] if list(sweep["kinds"]) == ["encoder"] else []
    plan = pruning.run_spec(sweep["settings"], sweep["start"], sweep["kinds"], {"name": "none"}, sweep["seed"])
    for price in prices:
        for by in job["criteria"]:
            method = {"name": "cut", "like": sweep["runs"][f"L0 {price:g}"], "by": by, "table": of_table(job)}
            specs[f"{by} {price:g}"] = plan | {"method": method}
    return specs


def recipes(job: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """What is read of a job: its sweep, its head table, its contest and heads removed at once."""
    yield TABLE.of(of_table(job), f"{job['name']}, seed {job['seed']}: head table")
    if job["first_order"]:
        yield FIRST_ORDER.of(of_table(job), f"{job['name']}, seed {job['seed']}: first-order head table")
    if "sweep" in job:
        sweep = job["sweep"]
        yield from pruning.recipes(sweep, sweep["runs"])
        for name, spec in contest(job).items():
            made = pruning.pruned(spec, f"{pruning.title(sweep)}: {name}")
            yield from (made, outputs.recipe(made, sweep["settings"]["pruning"]["beam"]))
    if removable(job):
        yield from (removed_at_once(job, kind) for kind in ((AT_ONCE, FIRST_AT_ONCE) if job["first_order"] else (AT_ONCE,)))


# --- head tables -----------------------------------------------------------------------------------------------------


def tables(job: Mapping[str, Any], entered: Sequence[str] = ()) -> pd.DataFrame:
    """The head table of a job's model, from the store where it is there already.

    It has the columns that are registered below, of swept models those of the sweep too. Measures of others (`entered`, see
    `helpers.methods.contest.entries`) are not stored but measured now, if the model's weights need not be trained first.
    """
    described = of_table(job)
    table = measured(described)
    if job.get("first_order"):
        table = table.join(measured(described, FIRST_ORDER).drop(columns=UNIT))
    if "sweep" in job and pruning.l0_runs(job["sweep"]):
        table = table.join(measures.table.columns({"sweep": job["sweep"]}))
    if entered and all(need.recipe.made(need.weights) for need in TABLE.of(described).needs if need.weights):
        entries = tuple(measures.table.MEASURES[name] for name in entered)
        table = table.join(_entered(json.dumps(described, sort_keys=True), entries))
    return table


@lru_cache
def _entered(described: str, entries: tuple[Measure, ...]) -> pd.DataFrame:
    """Columns of measures of others, once for each model, of which there may be several sweeps."""
    return _table(*_opened(json.loads(described)), [entry.name for entry in entries])


def of_table(job: Mapping[str, Any]) -> dict[str, Any]:
    """What the measured part of a job's table depends on."""
    if "sweep" in job:
        return pruning.table_spec(job["sweep"])
    return {name: job[name] for name in ("few", "votes", "l1", "links", "run", "decoder") if name in job}


def measured(described: Mapping[str, Any], kind: study.Kind | None = None) -> pd.DataFrame:
    """What `tables` returns, but for the columns that come from a sweep: of the kind `TABLE`, or of another one."""
    folder = (kind or TABLE).of(described).results
    return pd.read_csv(folder / "heads.csv", index_col=list(ADDRESS), keep_default_na=False, na_values=["nan"])


def _tabulate(described: Mapping[str, Any], place: study.Place, names: Sequence[str] = STORED) -> None:
    table = _table(*_opened(described), names)
    if GROUP in table and table[GROUP].isna().all():  # no head shares its keys
        table = table.drop(columns=GROUP)
    table.to_csv(place.results / "heads.csv", na_rep="nan")


def _table(model, batches, few, known: Mapping[str, Callable[[], Any]], names: Sequence[str]) -> pd.DataFrame:
    needed = {need for name in names for need in measures.table.MEASURES[name].needs}
    given = {name: make() for name, make in known.items() if name in needed}
    names = [name for name in names if not measures.table.lacking(name, given)]
    return measures.head_table(model, batches, few, names=names, **given)


def _opened(described: Mapping[str, Any]):
    """A model, batches, the few, and what makes what else its table is made from, by its name."""
    (way,) = (way for name, way in {"start": _translator, "run": _summarizer, "decoder": _decoder}.items() if name in described)
    return way(described)


def _table_needs(described: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    yield from _model_needs(described)
    if "start" in described:
        yield from corpora.parses(described["start"]["corpus"])
    elif "run" in described:
        yield from summarizers.links_needs(described["run"], described["links"], ("dev",))


def _model_needs(described: Mapping[str, Any]) -> Iterator[study.Recipe | study.Need]:
    if "start" in described:
        yield from subjects.needs(described["start"])
    elif "run" in described:
        yield study.Need(summarizers.run(described["run"]), weights=True)
    elif "decoder" in described:
        yield study.Need(grouped.runs.run(described["decoder"]), weights=True)


TABLE = study.Kind("head table", 1, _tabulate, _table_needs)
FIRST_ORDER = study.Kind("first-order head table", 1, partial(_tabulate, names=(UNIT, *FIRST)), _table_needs, job="shared")


def _translator(described: Mapping[str, Any]):
    """A translation model, batches of its dev set, the few, and what else its table is made from."""
    subject = pruning.start_of(described["start"])
    known: dict[str, Callable[[], Any]] = {"arcs": lambda: arcs_of(subject.sentences), "counts": lambda: subject.counts}
    known |= _learning(subject, described["l1"])
    few = min(described["few"], len(subject.sentences))
    return subject.model, subject.batches(described["votes"]), subject.batches(2048, few), known


def _learning(subject: subjects.Subject, plan: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """What votes and gates under a price are made from."""
    epoch = lambda: subject.epoch(plan["batch_tokens"], 0, subject.model.device)  # noqa: E731
    return {"groups": lambda: GROUPS, "epoch": epoch, "plan": lambda: plan}


def _summarizer(described: Mapping[str, Any]):
    """The same of a summarizer of dialogues, whose heads are probed for coreference too."""
    run = described["run"]
    model, text = summarizers.opened(run), subjects.text_of(run)
    mentions = lambda: summarizers.links_of(run, described["links"], ("dev",))  # noqa: E731
    few = text.held_out(1024, described["few"])
    return model, text.held_out(described["votes"]), few, {"groups": lambda: GROUPS, "mentions": mentions}


def _decoder(described: Mapping[str, Any]):
    """The same of a model of ours that continues texts."""
    subject = subjects.of_run(grouped.runs.run(described["decoder"]))
    few, plan = subject.held_out(2048, described["few"]), described["l1"]
    return subject.model, subject.held_out(described["votes"]), few, _learning(subject, plan)


def voted(model, batches: Iterable[Mapping[str, Any]], groups: int = GROUPS) -> pd.Series:
    """Share of batches in which a head was nearest to the centre of its group (Ni et al. 2023, section 3.2).

    nan for kinds with layers of no more heads than groups: they have nothing to vote on.
    """
    counts = {(site.kind, site.layer): site.heads for site in heads.sites(model)}
    kinds = [kind for kind in KINDS if any(k == kind for k, _ in counts)]
    large = tuple(kind for kind in kinds if min(n for (k, _), n in counts.items() if k == kind) > groups)
    votes = pd.Series(np.nan, heads.index(model), name="votes")
    if large:
        ballot = grouping.ballot(model, batches, "V", groups, large)
        for site, won in zip(ballot.places, ballot.votes, strict=True):
            votes.loc[[(site.kind, site.layer, head) for head in range(site.heads)]] = won.cpu().numpy() / ballot.voters
    return votes


def l1_gates(model, epoch, steps: int, rate: float, penalty: float) -> pd.Series:
    """What is left of a gate on each head that costs `penalty` times its size while the model's weights stay as they are.

    Weights that could learn would make up for small gates; frozen, a gate's size says what the head is worth. Gates start at 1,
    and learn by Adam at a `rate`; `epoch` gives the batches of an epoch by its number, of which there must be some.
    """
    if not any(True for _ in epoch(0)):
        raise StudyError("There are no batches to train gates on: check the corpus.")
    addresses, places = heads.index(model), heads.sites(model)
    gates = torch.ones(len(addresses), device=model.device, requires_grad=True)
    optimiser, batches = torch.optim.Adam([gates], lr=rate), chain.from_iterable(map(epoch, count()))
    frozen = {name: p.requires_grad for name, p in model.named_parameters()}
    model.requires_grad_(False)
    try:
        with evaluating(model):
            for batch in study.progress(islice(batches, steps), "L1 gates", steps):
                with heads.gate(model, l0.by_site(places, gates)):
                    loss = models.cross_entropy(model, batch, 0.0) + penalty * gates.abs().sum()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    finally:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(frozen[name])
    return pd.Series(gates.detach().abs().cpu().numpy(), addresses, name="L1 gates")


for _measure in (
    Measure("votes", "votes", "share of votes to stay (section 3 of Ni et al. 2023), on a model that was never grouped",
            "the head is nearer to the centre of its group", voted, ("model", "batches", "groups")),
    Measure("L1 gates", "L1 gates", "what is left of a gate under a price on its size, all weights fixed",
            "the loss would pay more for the head",
            lambda model, epoch, plan: l1_gates(model, epoch, plan["steps"], plan["rate"], plan["penalty"]),
            ("model", "epoch", "plan")),
    Measure("probing", "probing", "how far encoder attention follows coreference (Liu & Chen 2023)",
            "the head links mentions", coreference.probing, ("model", "explained", "mentions"), kinds=("encoder",)),
    Measure(SURVIVAL, "how long L0 keeps it", "number of prices at which the gate stays open, plus how likely it is open",
            "the head stays longer", pruning.survival, ("sweep",)),
):  # fmt: skip
    register(_measure)


# --- heads removed by every criterion --------------------------------------------------------------------------------


def removable(job: Mapping[str, Any]) -> bool:
    """Whether heads of a job's model are removed at once."""
    return "sweep" in job or "removed" in job


def removed_at_once(job: Mapping[str, Any], kind: study.Kind | None = None) -> study.Recipe:
    """The recipe of `at_once`: of the kind `AT_ONCE`, or of another one."""
    described, label = {"table": of_table(job)}, f"{job['name']}, seed {job['seed']}"
    if "sweep" in job:
        sweep = job["sweep"]
        described |= {name: sweep["settings"]["pruning"][name] for name in ("dev", "draws")} | {"kinds": list(sweep["kinds"])}
        described, label = described | {"like": pruning.l0_runs(sweep)}, pruning.title(sweep)
    else:
        described |= job["removed"]
    return (kind or AT_ONCE).of(described, f"{label}: heads removed at once by every measure")


def at_once(job: Mapping[str, Any], entered: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rise of the dev loss when heads are removed by each column of the head table, without further training.

    A row each (criterion, draw, heads): change, nats a token, against the whole model; at the numbers of heads of L0, or of the
    shares `LEFT` where there is no sweep. By columns of measures of others (`entered`) heads are removed now.
    """
    kinds = (AT_ONCE, FIRST_AT_ONCE) if job["first_order"] else (AT_ONCE,)
    parts = [pd.read_csv(removed_at_once(job, kind).results / "at_once.csv") for kind in kinds]
    parts += [] if entered is None else [_removed(removed_at_once(job).spec, entered, 0)]
    return pd.concat(parts, ignore_index=True)


def _shoot(described: Mapping[str, Any], place: study.Place) -> None:
    table = measured(described["table"]).select_dtypes("number")
    _removed(described, table, described["draws"]).to_csv(place.results / "at_once.csv", index=False)


def _shoot_first(described: Mapping[str, Any], place: study.Place) -> None:
    table = measured(described["table"], FIRST_ORDER)
    table = table[[name for name in FIRST if name in table and measures.table.MEASURES[name].compared]]
    _removed(described, table, 0).to_csv(place.results / "at_once.csv", index=False)


def _removed(described: Mapping[str, Any], table: pd.DataFrame, draws: int) -> pd.DataFrame:
    """What `at_once` returns, of the columns of a table and of so many random draws."""
    kinds, model, dev, seed = tuple(described["kinds"]), *opened(described["table"], described["dev"])
    whole, index = training.dev_loss(model, dev), heads.index(model, kinds)
    ways = [(by, 0, column) for by, column in table.loc[index].items() if column.nunique(dropna=False) > 1]
    ways += [(removal.RANDOM, draw, removal.shuffled(index, seed, draw)) for draw in range(draws)]
    like = described.get("like")
    left = pruning.counts(like, kinds) if like else sorted({round(share * len(index)) for share in described["left"]})
    rows = []
    for by, draw, column in study.progress(ways, "removing at once"):
        for stay in left:
            gone = removal.least(column, len(column) - stay)
            with heads.gate(model, dict.fromkeys(gone, 0.0)):  # of every family, where not all can be cut out
                rows.append((by, draw, stay, training.dev_loss(model, dev) - whole))
    return pd.DataFrame(rows, columns=["criterion", "draw", "heads", "change"])


def opened(described: Mapping[str, Any], first: int) -> tuple[Any, list[dict[str, torch.Tensor]], int]:
    """The model of a head table (`of_table`), its first dev examples in batches, and the seed of random draws."""
    if "decoder" in described:
        subject = subjects.of_run(grouped.runs.run(described["decoder"]))
        return subject.model, subject.held_out(8192, first), described["decoder"]["seed"]
    subject = pruning.start_of(described["start"])
    return subject.model, subject.batches(first=first), described["start"].get("seed", 0)


def _shot_needs(spec: Mapping[str, Any], table: study.Kind) -> Iterator[study.Recipe | study.Need]:
    yield from _model_needs(spec["table"])
    yield table.of(spec["table"])
    yield from map(pruning.pruned, spec.get("like", ()))


AT_ONCE = study.Kind("measures removed at once", 1, _shoot, lambda spec: _shot_needs(spec, TABLE))
FIRST_AT_ONCE = study.Kind(
    "first-order measures removed at once", 1, _shoot_first, lambda spec: _shot_needs(spec, FIRST_ORDER), job="shared"
)
