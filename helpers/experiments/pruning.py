"""Pruning by L0 gates (Voita et al. 2019, section 6): what is run, and the tables that come of it.

A sweep (`helpers.experiments.pruning_runs.sweep`) is everything that starts from one trained model: gates at several prices,
further training with all heads (the unpruned model), all heads removed (the floor), and head maps trained from scratch. Layers
and heads count from 0 in tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import hypergeom

from helpers import study
from helpers.experiments import pruning_runs as runs
from helpers.heads.families import ADDRESS, KINDS
from helpers.measures import measured
from helpers.methods.l0 import HardConcrete
from helpers.runs import outputs, subjects, training
from helpers.scores import intervals, scoring

LOSS = 0.25  # BLEU that the paper accepts to lose
UNDECIDED = (0.05, 0.95)  # P(g = 0) of a gate that is neither open nor closed
CHANGE = ("change", "change_low", "change_high")
# methods of the paper's section; notebook 06 compares all of them
NAMES = {"none": "further training", "floor": "no encoder attention", "l0": "L0", "scratch": "from scratch"}


# --- what is run -----------------------------------------------------------------------------------------------------


def sweeps(settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = "") -> list[dict[str, Any]]:
    """Sweeps of encoder heads alone, of every training of every model or of a checkpoint; the first seed of all comes first."""
    every = [*runs.sweeps(settings, names, seed, checkpoint), *runs.further(settings, names, seed, checkpoint)]
    return [sweep for sweep in every if sweep["kinds"] == ["encoder"]]


def all_kinds_sweeps(
    settings: Mapping[str, Any], names: Sequence[str], seed: int, checkpoint: str = ""
) -> list[dict[str, Any]]:
    """Sweeps in which heads of all three kinds have gates, with head maps trained from scratch: of the first training."""
    return [sweep for sweep in runs.sweeps(settings, names, seed, checkpoint) if sweep["kinds"] != ["encoder"]]


def described(sweeps: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """What is pruned: model, trainings, layers and heads a layer of encoder and decoder, width, steps and sentence pairs."""
    rows: dict[str, dict[str, Any]] = {}
    for sweep in (sweep for sweep in sweeps if "model" in sweep["start"]):
        shape, start = sweep["start"]["model"], sweep["start"]
        decoder = shape.get("decoder_layers", shape["layers"]), shape.get("decoder_heads", shape["heads"])
        row = {"model": subjects.title(sweep["name"]), "trainings": 0, "encoder": f"{shape['layers']} x {shape['heads']}"}
        row |= {"decoder": "{} x {}".format(*decoder), "width": shape["width"]}
        row |= {"steps": start["training"]["steps"], "sentence pairs": start["corpus"]["train"]}
        rows.setdefault(row["model"], row)["trainings"] += 1
    return pd.DataFrame(list(rows.values()))


def subject_of(sweep: Mapping[str, Any], parser: str = "spacy") -> subjects.Subject:
    """The model that a sweep starts from, with its text."""
    return subjects.of_spec(sweep["start"], sweep["name"], parser)


def recipes(sweep: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """What the tables below read of a sweep."""
    return runs.recipes({**sweep, "runs": _of_section(sweep)})


def function_recipes(sweep: Mapping[str, Any]) -> Iterator[study.Recipe]:
    """What `functions_left` reads of a sweep of encoder heads."""
    yield measured.FUNCTIONS.recipe(training.trained(sweep["start"], sweep["name"]), repeats=1)
    for run in l0_runs(sweep):
        made = runs.run(run, f"{runs.title(sweep)}: lambda {run['method']['penalty']:g}")
        yield measured.FUNCTIONS.recipe(made, repeats=1)


def floors(settings: Mapping[str, Any], name: str, seed: int) -> dict[str, study.Recipe]:
    """A model trained further with all its heads, and without those of its encoder, whose worth lies between the two."""
    first = runs.sweeps(settings, [name], seed)[0]["runs"]
    return {"trained on": runs.run(first["control"]), "encoder heads removed, trained on": runs.run(first["floor"])}


def floor_recipes(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe]:
    """`floors` of the study's first model, with what they put out."""
    for made in floors(settings, names[0], seed).values() if subjects.leads(settings, names[0]) else ():
        yield from (made, outputs.recipe(made, settings["pruning"]["beam"]))


def needs(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[study.Recipe | study.Need]:
    """What notebook 03 reads: the models that are pruned, every run of their sweeps, and the functions of their heads."""
    every, encoder = runs.sweeps(settings, names, seed), sweeps(settings, names, seed)
    yield from outputs.of_models(settings, subjects.without_encoder(settings, names[0]), seed, beam=settings["pruning"]["beam"])
    for sweep in every:
        yield study.Need(training.trained(sweep["start"], f"{sweep['name']}, seed {seed}"), sweep is every[0])
    for sweep in (*encoder, *every):
        yield from recipes(sweep)
    for sweep in encoder:
        if sweep["seed"] == seed:
            yield from function_recipes(sweep)


def l0_runs(sweep: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The L0 runs of a sweep with the usual start and temperature."""
    usual = {name: sweep["settings"]["pruning"][name] for name in ("start", "temperature")}
    return [run for run in sweep["runs"].values() if run["method"]["name"] == "l0" and usual.items() <= run["method"].items()]


def _of_section(sweep: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: run for name, run in sweep["runs"].items() if run["method"]["name"] in NAMES}


# --- quality by heads left (figure 7) --------------------------------------------------------------------------------


def quality_of_all(sweeps: Sequence[Mapping[str, Any]], parser: str = "spacy", repeats: int = 1000) -> pd.DataFrame:
    """`quality` with `worth` of several sweeps, on (model, seed, run, test set)."""
    tables = {}
    for sweep in sweeps:
        subject = subject_of(sweep, parser)
        drawn = draws(sweep, subject, repeats)
        table = quality(sweep, subject, drawn)
        if sweep["kinds"] == ["encoder"]:
            never = without_attention(sweep) if sweep["seed"] == sweeps[0]["seed"] else None
            table = table.join(worth(sweep, subject, drawn, never))
        tables[subject.title, sweep["seed"]] = table
    return pd.concat(tables, names=["model", "seed"])


Draws = Mapping[tuple[str, str], np.ndarray]  # by run and test set


def draws(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> Draws:
    """BLEU of every run on bootstrap samples of the test sentences, the same for all."""
    beam = sweep["settings"]["pruning"]["beam"]
    return {
        (name, split): scoring.bleu_draws(statistics(subject, run, split, beam), repeats)
        for name, run in _of_section(sweep).items()
        for split in subject.tests
    }


def quality(sweep: Mapping[str, Any], subject: subjects.Subject, drawn: Draws) -> pd.DataFrame:
    """How well every run of a sweep translates, and with how many heads.

    A row each (run, test set): method; penalty; encoder, decoder, cross (heads kept); heads (kept, of the kinds in question),
    total; bleu, low, high; change against the control that trained as long with all heads, with low and high (paired
    bootstrap); dev_loss; undecided (gates); over.
    """
    total, rows = _counts(subject.kept, sweep["kinds"])["heads"], {}
    for name in dict.fromkeys(name for name, _ in drawn):
        run = sweep["runs"][name]
        row = _counts(runs.retained(run), sweep["kinds"]) | {"total": total, "method": _method(name, run)}
        row |= {"penalty": penalty(run), "dev_loss": study.read_json(runs.run(run).results / "losses.json")["dev_loss"]}
        gated = run["method"]["name"] == "l0"
        row["undecided"] = int(closing(run).iloc[-1].between(*UNDECIDED).sum()) if gated else np.nan
        for split in subject.tests:
            bleu = drawn[name, split]
            scored = zip(("bleu", "low", "high"), scoring.of_draws(bleu), strict=True)
            change = zip(CHANGE, scoring.of_draws(bleu - drawn["control", split]), strict=True)
            rows[name, split] = {**row, **dict(scored), **dict(change), "over": intervals.SENTENCES}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["run", "test set"])
    return table


NEVER = "worth from the start"
WORTH = ("worth", "share", NEVER)


def worth(
    sweep: Mapping[str, Any], subject: subjects.Subject, drawn: Draws, none: subjects.Subject | None = None
) -> pd.DataFrame:
    """What encoder attention is worth in BLEU, and which share of that every run of a sweep keeps.

    There are two floors: all encoder heads removed from the trained model, which is then trained on as every run is; and none
    from the first step of all on (the model `none`).

    On (run, test set), each with low and high (paired bootstrap over sentences): worth (control minus floor); share ((run minus
    floor) / worth); and with `none`, worth from the start (control minus it). Empty where a sweep has no floor.
    """
    rows, beam, repeats = {}, sweep["settings"]["pruning"]["beam"], len(next(iter(drawn.values()))) - 1
    never = {split: scoring.bleu_draws(statistics(none, None, split, beam), repeats) for split in subject.tests if none}
    for name, split in drawn if "floor" in sweep["runs"] else ():
        bleu, control, floor = (drawn[one, split] for one in (name, "control", "floor"))
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = [control - floor, (bleu - floor) / (control - floor)]
        parts += [control - never[split]] if split in never else []
        scored, ends = zip(WORTH, map(scoring.of_draws, parts), strict=False), ("", "_low", "_high")
        rows[name, split] = {f"{part}{end}": x for part, three in scored for end, x in zip(ends, three, strict=True)}
    index = pd.MultiIndex.from_tuples(rows, names=["run", "test set"])
    return pd.DataFrame(list(rows.values()), index)


def without_attention(sweep: Mapping[str, Any]) -> subjects.Subject | None:
    """The model of a sweep without encoder attention from the start, if the setting "without_encoder" asks for one."""
    names = {} if "pretrained" in sweep["start"] else subjects.never_attending(sweep["settings"], sweep["name"])
    return subjects.of_name(sweep["settings"], names[sweep["name"]], sweep["seed"]) if sweep["name"] in names else None


MEASURED = ("bleu", "change", *WORTH)  # by test sentences; all else of `quality` is a number of heads, or a loss


def means(table: pd.DataFrame) -> pd.DataFrame:
    """`quality_of_all` as means over trainings with t-intervals, on (model, run, test set).

    Rows of each model's first training, with trainings (how many have that row). Heads and losses are means too. What one
    training alone has keeps its interval over sentences.
    """
    rows = {}
    for model, every in table.groupby(level="model", sort=False):
        every = every.droplevel("model")
        for (run, split), row in every.xs(every.index[0][0], level="seed").iterrows():
            trained = every.xs((run, split), level=("run", "test set"))
            mean = row.to_dict() | {"trainings": len(trained)}
            if len(trained) > 1:
                mean |= trained.select_dtypes("number").mean().to_dict() | {"over": intervals.TEXTS}
                for value in (name for name in MEASURED if name in trained and trained[name].notna().all()):
                    ends = ("low", "high") if value == "bleu" else (f"{value}_low", f"{value}_high")
                    mean |= zip((value, *ends), intervals.over_runs(trained[value])[:3], strict=True)
            rows[model, run, split] = mean
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["model", "run", "test set"]))


def curve(means: pd.DataFrame) -> pd.DataFrame:
    """Points of figure 7, of `means`: a row each (model, test set, penalty), the unpruned model at penalty 0.

    Without a penalty, as "MODEL, trained without", one that never had encoder heads. kept (% of heads left); change is BLEU
    minus the unpruned model's, with low and high.
    """
    table = means[means.method.isin([NAMES["none"], NAMES["l0"]])].reset_index()
    table = table.assign(penalty=table.penalty.fillna(0), kept=100 * table.heads / table.total)
    table = table.assign(low=table.change_low.where(table.penalty > 0), high=table.change_high.where(table.penalty > 0))
    if NEVER in table:
        never = table[(table.penalty == 0) & table[NEVER].notna()]
        ends = {"change": -never[NEVER], "low": -never[f"{NEVER}_high"], "high": -never[f"{NEVER}_low"]}
        names = never.model + ", trained without"
        never = never.assign(model=names, penalty=np.nan, bleu=never.bleu - never[NEVER], heads=0, kept=0, **ends)
        never = never.assign(trainings=1, over=intervals.SENTENCES)  # of the first seed
        table = pd.concat([table, never], ignore_index=True)
    columns = ["model", "test set", "penalty", "trainings", "heads", "total", "kept", "bleu", "change", "low", "high", "over"]
    table = table[columns].sort_values("penalty", kind="stable")
    return table.sort_values("model", kind="stable", key=lambda names: pd.Series(pd.factorize(names)[0], names.index))


def half_left(means: pd.DataFrame) -> pd.DataFrame:
    """Of each model and test set the L0 run that keeps most heads among those with at most half of them: rows of `means`.

    gone, with low and high: how many heads can go for `LOSS` BLEU (`gone_within`), by the change and the ends of its interval.
    """
    pruned = means[means.method == NAMES["l0"]].copy()
    for end in ("", "_low", "_high"):
        gone = {at: gone_within(rows, f"change{end}") for at, rows in pruned.groupby(level=["model", "test set"])}
        pruned[f"gone{end}"] = [gone[model, split] for model, _, split in pruned.index]
    pruned = pruned[pruned.heads <= pruned.total / 2]
    return pruned.loc[pruned.groupby(["model", "test set"], sort=False).heads.idxmax()].reset_index("run")


def gone_within(pruned: pd.DataFrame, change: str = "change", loss: float = LOSS) -> float:
    """How many heads can go before the loss first passes `loss` BLEU, on a line from run to run; at most what was tried."""
    pruned = pruned[pruned.heads < pruned.total].sort_values("heads", ascending=False)
    gone, values = np.array([0, *pruned.total - pruned.heads]), np.array([0, *pruned[change]])
    past = int((values < -loss).argmax())  # 0: none
    return np.interp(loss, -values[past - 1 : past + 1], gone[past - 1 : past + 1]) if past else gone[-1]


def settled(table: pd.DataFrame) -> pd.DataFrame:
    """How far the gates of L0 runs settled, of a model's `quality` or of several: penalty, heads, total, undecided gates (nan
    where no gate closes: such a run cannot tell)."""
    part = table[table.undecided.notna()]
    part = part.xs(part.index.get_level_values("test set")[0], level="test set")
    part = part.assign(undecided=part.undecided.where(part.heads < part.total))
    return part[["penalty", "heads", "total", "undecided"]]


# --- pruned against trained from scratch (table 2) -------------------------------------------------------------------


def against_scratch(sweep: Mapping[str, Any], subject: subjects.Subject, repeats: int = 1000) -> pd.DataFrame:
    """Pruned minus the same head map from scratch, on (run, test set).

    penalty; encoder, decoder, cross (heads left), kept (% of all heads); pruned, scratch, unpruned (BLEU, the last of all heads
    trained on for as long); change with low and high (paired bootstrap); steps_scratch and steps_pruned (at which highest
    learning rates they had their map, or gates that close).
    """
    rows, total = {}, _counts(subject.kept, sweep["kinds"])["heads"]
    beam = sweep["settings"]["pruning"]["beam"]
    for name, run in sweep["runs"].items():
        if run["method"]["name"] != "scratch":
            continue
        left, pair = _counts(runs.retained(run), KINDS), (run["method"]["like"], run, sweep["runs"]["control"])
        plans = [f"{plan['steps']:,} at {plan['learning_rate']:g}" for plan in (sweep["start"]["training"], run["training"])]
        steps = {"steps_scratch": ", then ".join(plans), "steps_pruned": plans[-1]}
        for split in subject.tests:
            counted = [statistics(subject, one, split, beam) for one in pair]
            bleu = [scoring.bleu_interval(one, None, 1)[0] for one in counted]
            change = dict(zip(("change", "low", "high"), scoring.bleu_interval(*counted[:2], repeats), strict=True))
            kinds = {kind: left[kind] for kind in KINDS} | {"kept": 100 * left["heads"] / total}
            kinds |= {"penalty": penalty(run)} | dict(zip(("pruned", "scratch", "unpruned"), bleu, strict=True))
            rows[name, split] = kinds | change | steps
    columns = ["penalty", *KINDS, "kept", "pruned", "scratch", "unpruned", "change", "low", "high"]
    columns += ["steps_scratch", "steps_pruned"]
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=["run", "test set"]), columns)


# --- gates -----------------------------------------------------------------------------------------------------------


def gates(run: Mapping[str, Any]) -> tuple[HardConcrete, pd.DataFrame]:
    """The gates of an L0 run after every step, from step 0; log alpha as a frame, rows steps, columns (kind, layer, head)."""
    trace = pd.read_csv(runs.run(run).results / "trace.csv", index_col=0, header=[0, 1, 2])
    trace.columns = pd.MultiIndex.from_tuples([(k, int(n), int(h)) for k, n, h in trace.columns], names=list(ADDRESS))
    return HardConcrete(torch.tensor(trace.to_numpy()), run["method"]["temperature"]), trace


def closing(run: Mapping[str, Any]) -> pd.DataFrame:
    """P(g = 0) of every gate after every step of an L0 run, from step 0: rows are steps, columns (kind, layer, head)."""
    distribution, trace = gates(run)
    return pd.DataFrame(distribution.p_closed().numpy(), index=trace.index, columns=trace.columns)


def survival(sweep: Mapping[str, Any]) -> pd.Series:
    """How long L0 keeps every head: at how many prices, plus less than 1 for how likely its gate is open in the end."""
    pruned = [gates(run) for run in l0_runs(sweep)]
    kept = sum(distribution.value()[-1] for distribution, _ in pruned)
    likely = sum(distribution.p_open()[-1] for distribution, _ in pruned) / len(pruned)
    return pd.Series((kept + 0.99 * likely).numpy(), pruned[0][1].columns)


# --- which heads stay (figures 8, 9 and 10) --------------------------------------------------------------------------


def kept_by_kind(sweep: Mapping[str, Any], subject: subjects.Subject) -> pd.DataFrame:
    """Heads that each L0 run kept (figure 9), a row a run.

    penalty, total_kept, total, and for every kind how many and of how many; gap (`gap`); starts alike: whether all kinds of
    attention begin training alike.
    """
    every, rows = _counts(subject.kept, KINDS), []
    alike = "pretrained" not in sweep["start"] and sweep["start"]["model"].get("start") is not None
    for run in l0_runs(sweep):
        kept = _counts(runs.retained(run), KINDS)
        row = {"penalty": penalty(run), "total_kept": kept["heads"], "total": every["heads"]}
        row |= {kind: kept[kind] for kind in KINDS} | {f"{kind}_total": every[kind] for kind in KINDS}
        shares = [kept[kind] / every[kind] if every[kind] else np.nan for kind in KINDS]
        rows.append(row | {"gap": gap(*shares), "starts alike": alike})
    return pd.DataFrame(rows)


def gap(encoder: float, decoder: float, cross: float) -> float:
    """Of shares kept the least rise in the paper's order of kinds; nan where no head of the last two has gone."""
    return np.nan if decoder == cross == 1 else min(decoder - encoder, cross - decoder)


def shares(by_kind: pd.DataFrame) -> pd.DataFrame:
    """`kept_by_kind` of several models (column model) as points: kept (% of all heads left), share (% of the kind's left)."""
    kept, parts = 100 * by_kind.total_kept / by_kind.total, []
    for kind in KINDS:
        share = 100 * by_kind[kind] / by_kind[f"{kind}_total"]
        parts.append(by_kind[["model", "penalty"]].assign(kind=kind, kept=kept, share=share))
    return pd.concat(parts, ignore_index=True)


def kept_by_layer(sweep: Mapping[str, Any]) -> pd.DataFrame:
    """Heads that each L0 run kept in every layer (figure 10): total_kept (heads of all kinds), kind, layer, kept."""
    pruned = [runs.retained(run) for run in l0_runs(sweep)]
    rows = {(sum(map(len, kept.values())), *place): len(left) for kept in pruned for place, left in kept.items()}
    return pd.Series(rows, name="kept").rename_axis(["total_kept", "kind", "layer"]).reset_index()


def functions_left(sweep: Mapping[str, Any], subject: subjects.Subject) -> pd.DataFrame:
    """What encoder heads do at each number of heads left, measured on the pruned models (figure 8).

    A row each (left, kind, layer, head), the model before pruning first: left (heads that stay), stays, functions (names joined
    by a comma; empty for a head without one, or gone). Of two prices that leave as many heads the first.
    """
    whole = [(layer, head) for (kind, layer), heads in sorted(subject.kept.items()) if kind == "encoder" for head in heads]
    parts: dict[int, pd.DataFrame] = {}
    for made in (None, *map(runs.run, l0_runs(sweep))):
        kept = subject.kept if made is None else training.kept(made)
        if not any(heads for (kind, _), heads in kept.items() if kind == "encoder"):
            continue  # no encoder heads, no functions
        read, value = measured.FUNCTIONS.read, measured.FUNCTIONS.value
        table = value(subject, repeats=1) if made is None else read(made, parser=subject.parser, repeats=1)
        roles = table["functions"].xs("encoder")
        names = {
            (layer, kept["encoder", layer][head]): ", ".join(dict.fromkeys(name for name, _ in cell))
            for (layer, head), cell in roles.items()
        }
        rows = [(len(names), "encoder", *place, place in names, names.get(place, "")) for place in whole]
        parts.setdefault(len(names), pd.DataFrame(rows, columns=["left", *ADDRESS, "stays", "functions"]))
    return pd.concat([parts[left] for left in sorted(parts, reverse=True)], ignore_index=True)


def retained_more_than_chance(functions: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Do heads with a function stay more often than others? By the hypergeometric distribution, as if heads went at random.

    Of `functions_left` by model a row each (model, heads left, function before pruning, "any" for any): of (all heads), had
    (those with the function), stay (of them), expected (at random), p (one-sided: as many or more), p_holm and family (all
    rows). All heads have rows only where no price took any.
    """
    rows = []
    for model, table in functions.items():
        counts = list(dict.fromkeys(table.left))
        parts = {left: part.set_index(["layer", "head"]) for left, part in table.groupby("left")}
        before = parts[counts[0]].functions.map(lambda names: set(names.split(", ")) - {""})
        for left in counts if len(counts) == 1 else counts[1:]:
            for name in ("any", *sorted(set().union(*before))):
                has = before.map(lambda names, name=name: bool(names) if name == "any" else name in names)
                had, stay = int(has.sum()), int((has & parts[left].stays).sum())
                row = {"model": model, "heads": left, "function": name, "of": len(before), "had": had, "stay": stay}
                expected = had * left / len(before)
                rows.append(row | {"expected": expected, "p": hypergeom.sf(stay - 1, len(before), had, left)})
    columns = ["model", "heads", "function", "of", "had", "stay", "expected", "p"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=intervals.holm(table.p), family=len(table))


# --- parts -----------------------------------------------------------------------------------------------------------


def statistics(subject: subjects.Subject, run: Mapping[str, Any] | None, split: str, beam: int) -> np.ndarray:
    """What BLEU of a run on a test set is computed from; without a run of the subject's own model."""
    hypotheses = outputs.read(runs.run(run), split, beam) if run else outputs.written_by(subject, split, beam)
    return scoring.bleu_statistics(hypotheses, [pair.target for pair in subject.pairs(split)])


def _method(name: str, run: Mapping[str, Any]) -> str:
    return name.rpartition(" ")[0].rstrip(",") if name.startswith("L0,") else NAMES[run["method"]["name"]]


def penalty(run: Mapping[str, Any]) -> float:
    """The price of gates of a run, or of the run that it imitates."""
    method = run["method"]
    return method.get("penalty", method.get("like", {"method": {}})["method"].get("penalty", np.nan))


def _counts(kept: Mapping[tuple[str, int], Sequence[int]], kinds: Sequence[str]) -> dict[str, int]:
    counts = {kind: sum(len(left) for (k, _), left in kept.items() if k == kind) for kind in KINDS}
    return counts | {"heads": sum(counts[kind] for kind in kinds)}
