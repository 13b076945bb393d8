"""What the study costs, as tables: the results that benchmarks kept, and how long a whole run takes; sentences are `said`'s."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.common import COLUMNS, NAMES
from helpers import models, plan, study
from helpers.heads import index
from helpers.measures import lrp, worth
from helpers.measures.functions import Confidence, Positional
from helpers.measures.reducers import one_pass
from helpers.methods import contest, l0
from helpers.runs import subjects
from helpers.scores import intervals
from helpers.study import StudyError, published

SIZES = {  # profile -> size of the benchmarks' models
    "tiny": "tiny", "quick": "laptop", "laptop": "laptop", "converged": "laptop", "natural": "base", "paper": "base",
}  # fmt: skip
OVERHEADS = ("heads_overhead", "group_constraint", "coreference_injection")


STEP, FORWARD = "training step", "forward"
PASS, LEAN = (f"forward + backward, {of}" for of in ("all weights", "head gradients only"))
GRADIENT = "gradient importance"
# what; its benchmark; the plain thing; the row of its cost as a multiple of that; the row that tells how many times as dear the
# obvious way is, or that way's own multiple
HEART = (
    ("relevance of every target token, LRP αβ", "relevance_speed", LEAN,
     "alpha_beta, floor over fast", "alpha_beta, fast over obvious"),
    ("relevance of every target token, AttnLRP", "relevance_speed", LEAN,
     "attnlrp, floor over fast", "attnlrp, fast over obvious"),
    ("relevance of every target token, conservative", "relevance_speed", LEAN, "cp, floor over fast", "cp, fast over obvious"),
    ("gradient importance", "importance_speed", PASS,
     "floor over per example", "per example over per example, obvious"),
    ("loss without the head", "importance_speed", LEAN, "per example over leave one out", ""),
    ("confidence, positions, syntax", "head_statistics", FORWARD, "floor over one pass", "one pass over maps on disk"),
    ("L0 gates on every head", "heads_overhead", STEP, "training step, Hard Concrete gates and penalty", ""),
    ("group constraint on V", "group_constraint", STEP, "4B on V", "4B on V, obvious protocol"),
    ("group constraint on A", "group_constraint", STEP, "4B on A", ""),
    ("coreference in one head per layer", "coreference_injection", STEP, "training step, full link, 1 head a layer", ""),
    ("coreference in four heads per layer", "coreference_injection", STEP, "training step, full link, 4 heads a layer", ""),
)  # fmt: skip

UNIT, MAP = "gradient, example", "L0's heads"  # of costs; what a whole training with gates keeps
SENTENCES = 8  # on which operations are counted: middle-sized ones, in seconds
PRICED = {  # measure -> what `growth` and `HEART` call it, and who calls it what in a table
    UNIT: ("importance per example", GRADIENT), "confidence": ("confidence and positional", "confidence, positions, syntax"),
    "cp": ("relevance, cp", "relevance of every target token, conservative"),
    "attnlrp": ("relevance, attnlrp", "relevance of every target token, AttnLRP"),
    "alpha_beta": ("relevance, alpha_beta", "relevance of every target token, LRP αβ"),
    "votes": ("", "votes"), "L1 gates": ("", "L1 gates"),
    "leave-one-out": ("", "loss without the head"), MAP: ("", "L0's heads, a whole training"),
}  # fmt: skip
ENDS, LEAD = ["cost", "cost_low", "cost_high"], ["lead", "lead_low", "lead_high"]
TOGETHER = ("confidence", "positional", "syntactic")  # of one reading
ONCE = {  # (call, form) of models of the papers' size, ten of forty-eight encoder heads left -> its name in docs/measured.toml
    ("encoder pass", "removed"): "base_encoder_pass", ("encoder pass", "ceiling"): "base_encoder_ceiling",
    ("generation", "removed"): "base_generation", ("generation", "ceiling"): "base_generation_ceiling",
    ("generation", "masked"): "base_masked",  # which is not split by call, nor by kind
    ("generation", "removed, all kinds"): "base_all_generation",
    ("generation", "ceiling, all kinds"): "base_all_generation_ceiling",
}  # fmt: skip

PASSES = {  # of a decoder of today: measure -> the pass forward and back, all weights, beside which it stands
    "importance": "floor", "importance per token": "floor", "relevance": "floor of relevance", "leave one out": "floor",
}  # fmt: skip


# --- benchmarks ------------------------------------------------------------------------------------------------------


def folder(size: str) -> Path:
    """Where benchmarks of a size keep their results."""
    return study.runs() / "benchmarks" / size


def _kept(name: str, size: str) -> Path:
    """The results of a benchmark: those of this machine where there are such, else those that travel with the project."""
    own = folder(size) / f"{name}.csv"
    return own if own.exists() else study.ROOT / "benchmarks" / "results" / size / own.name


def measure(size: str, names: Iterable[str] = NAMES, repeats: int = 2) -> None:
    """Run the benchmarks that are not kept, if their models are tiny: as many at once as there are cores.

    Other sizes take from minutes to hours and want a machine of their own: `results` asks for `make bench`.

    Raises
    ------
    StudyError
        If a benchmark fails.
    """
    missing = [name for name in names if not (folder(size) / f"{name}.csv").exists()]
    if size == "tiny" and missing:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: _measure(name, size, repeats), missing))


def _measure(name: str, size: str, repeats: int) -> None:
    told = ["--size", size, "--repeats", str(repeats), "--threads", "1"]
    command = [sys.executable, "-m", f"benchmarks.{name}", *told]
    done = subprocess.run(command, cwd=study.ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1].rstrip(".")
        raise StudyError(f"The benchmark {name} failed ({said}): run python -m benchmarks.{name} {' '.join(told)} to see why.")


def results(size: str, names: Iterable[str] = NAMES) -> dict[str, pd.DataFrame]:
    """What benchmarks of a size kept.

    Returns
    -------
    dict of name -> DataFrame
        what, group, quantity, value (median), low, high (quartiles), repeats, note, and size.

    Raises
    ------
    StudyError
        If a benchmark kept nothing, or something else.
    """
    found = {}
    for name in names:
        path = _kept(name, size)
        if not path.exists():
            raise StudyError(f"The benchmark {name} has no results of size {size}: run make bench first.")
        frame = pd.read_csv(path, keep_default_na=False, na_values={name: [""] for name in ("value", "low", "high")})
        if list(frame) != COLUMNS:
            raise StudyError(f"The results in {path} are not those of a benchmark: delete the file and run make bench.")
        found[name] = frame.assign(size=size)
    return found


def gathered(profile: str) -> dict[str, pd.DataFrame]:
    """`results` of a profile's size, a laptop's where that is not kept; beside a laptop's those of the base size that are.

    Raises
    ------
    StudyError
        If the profile is unknown, or as `results`.
    """
    if profile not in SIZES:
        raise StudyError(f"There is no profile {profile!r}: choose one of {', '.join(SIZES)}.")
    size = SIZES[profile] if all(_kept(name, SIZES[profile]).exists() for name in NAMES) else "laptop"
    found = results(size)
    if size == "laptop":
        more = results("base", [name for name in found if _kept(name, "base").exists()])
        found |= {name: pd.concat([found[name], frame], ignore_index=True) for name, frame in more.items()}
    return found


def facts(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What the sidecars of results say: a row a benchmark and size.

    Returns
    -------
    pandas.DataFrame
        On (benchmark, size): difference (largest that the correctness gate found), bound, repeats, threads, device, minutes,
        date, hardware, commit, command.

    Raises
    ------
    StudyError
        If a sidecar is missing or cannot be read.
    """
    rows = {}
    for name, frame in found.items():
        for size in frame["size"].unique():
            said = study.read_spec(_kept(name, size).with_suffix(".json"))
            try:
                row = {**said["gate"], "minutes": said["seconds"] / 60, "date": said.get("time", "")[:10]}
                row |= {fact: said[fact] for fact in ("repeats", "threads", "device", "hardware", "commit", "command")}
            except KeyError as error:
                raise StudyError(
                    f"The sidecar of {name}, size {size}, does not say its {error}: run make bench again."
                ) from None
            rows[name, size] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index=["benchmark", "size"])


def numbers(found: Mapping[str, pd.DataFrame], names: str | Sequence[str], quantity: str) -> pd.DataFrame:
    """The rows of one quantity that some benchmarks kept, with the benchmark's name; notes without a number are left out."""
    names = [names] if isinstance(names, str) else names
    frame = pd.concat([found[name].assign(benchmark=name) for name in names], ignore_index=True)
    frame = frame[(frame.quantity == quantity) & frame.value.notna()].reset_index(drop=True)
    if frame.empty:
        raise StudyError(f"The benchmarks {', '.join(names)} kept no {quantity!r}: run make bench again.")
    return frame


def heart(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What everything costs, in units of a plain thing, beside the obvious way to do it (`HEART`); of the last model of each.

    Returns
    -------
    pandas.DataFrame
        On what: plain (in words), cost, cost_low, cost_high (times the plain thing), times, times_low, times_high (how many
        times as much the obvious way takes; nan where there is no such way), captum (as times), repeats, model.
        Ends are quartiles, of two repeats both values.
    """
    rows = {}
    for what, name, plain, own, other in HEART:
        every = found[name][found[name].quantity == "ratio"]
        ratios = every.drop_duplicates("what", keep="last").set_index("what")
        ends = ["value", "low", "high"]
        cost = ratios.loc[own, ends].to_numpy(float)
        times = ratios.loc[other, ends].to_numpy(float) if other else np.full(3, np.nan)
        if other.endswith("obvious protocol"):  # told as a multiple of the plain thing
            times = times / cost[0]
        repeats = int(ratios.repeats[own])
        if repeats == 2:  # whose quartiles lie halfway between the median and either
            cost, times = (part[0] + np.array([0, -1, 1]) * (part[2] - part[1]) for part in (cost, times))
        told = zip(("cost", "cost_low", "cost_high", "times", "times_low", "times_high"), (*cost, *times), strict=True)
        captum = ratios.value.get(f"{own.partition(',')[0]}, fast over captum", np.nan)
        rows[what] = {"plain": plain, **dict(told), "captum": captum, "repeats": repeats, "model": ratios.group[own]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("what")


def additions(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How much longer a training step takes with what the study adds (`HEART`), on every model timed.

    Returns
    -------
    pandas.DataFrame
        what, model, cost, cost_low, cost_high (share of the plain step), again, again_low, again_high (the plain step of the
        same benchmark and model timed once more); ends are quartiles.
    """
    own = {row: what for what, _, plain, row, _ in HEART if plain == STEP}
    every = numbers(found, OVERHEADS, "ratio").set_index(["benchmark", "group"])
    shares = every[["value", "low", "high"]] - 1
    again = shares.set_axis(["again", "again_low", "again_high"], axis=1)[every["what"].str.endswith("once more (noise)")]
    table = shares.set_axis(ENDS, axis=1).assign(what=every["what"].map(own)).dropna(subset="what").join(again)
    table = table.reset_index().rename(columns={"group": "model"}).drop(columns="benchmark")
    return table.sort_values("what", key=lambda names: names.map([*own.values()].index), kind="stable", ignore_index=True)


def spent(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> pd.DataFrame:
    """What measures took on the text and models of the contest of notebook 06, each timed once a training, one after the other.

    In the same process; confidence, positions, syntax and votes read all dev sentences there, others the first few; of L0's
    heads what its run took. Nothing is made for it. Parameters as of `wall_times`.

    Returns
    -------
    pandas.DataFrame
        Seconds, [training, measure]; empty where no such table is stored or published. Its `attrs` name the hardware.
    """
    rows: dict[Any, Any] = {}
    machines: dict[str, None] = {}
    for job, table, gated in _contests(settings, names, seed):
        took = pd.Series(study.read_json(table.results / "seconds.json"))
        took[MAP] = _made(l0.runs.run(gated))
        rows[job["name"], job["seed"]] = took.reindex([*PRICED])
        machines[_made(table, "hardware")] = None
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*PRICED], dtype=float)
    frame = frame.loc[[row for row in frame.index if row[0] == frame.index[0][0]]] if len(frame) else frame
    frame.attrs["hardware"] = [*machines]
    return frame


def _contests(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> Iterator[tuple[Any, study.Recipe, Any]]:
    """Each training's contest that is there: its job, head table, and L0's run."""
    for job in contest.runs.jobs(settings, names, seed) if names else ():
        table = next(contest.runs.recipes(job))
        if "sweep" in job and contest.runs.contest(job) and table.made():
            yield job, table, job["sweep"]["runs"][f"L0 {settings['pruning']['compared'][0]:g}"]


def priced(heart: pd.DataFrame, points: pd.DataFrame, spent: pd.DataFrame, share: float = 1.0) -> pd.DataFrame:
    """What each measure costs on the same text, in units of gradient importance there.

    Parameters
    ----------
    points : pandas.DataFrame
        Of `growth`.
    spent : pandas.DataFrame
        As `spent`: a measure that is not in it is told by `points`, the loss without the head by `heart`.
    share : float
        What the few sentences are of all: measures by forward passes alone read all, and are counted at this share, but as run.

    Returns
    -------
    pandas.DataFrame
        On measure (`PRICED`): what, cost, cost_low, cost_high (median, least and most, of trainings or of lengths), seconds
        (median of trainings), run (cost on the sentences it read in the contest), times, captum and model (as `heart`), over
        (what cost_low and cost_high are over).
    """
    times = points[points.axis == "length"].pivot(index="what", columns="at", values="value")
    grown = times / times.loc[PRICED[UNIT][0]]
    known, rows = spent.dropna(axis=1) if len(spent) else pd.DataFrame(), {}
    for measure, (of, what) in PRICED.items():
        part = share if measure in ("confidence", "votes") else 1.0
        each = part * known[measure] / known[UNIT] if measure in known else grown.loc[of] if of else pd.Series(dtype=float)
        over = "trainings" if measure in known else "lengths of sentences"
        if not of and measure not in known and what in heart.index:
            each, over = heart.loc[what, ["cost", "cost_low", "cost_high"]], "quartiles"
        row = {"what": what.removesuffix(", syntax"), "cost": each.median(), "cost_low": each.min(), "cost_high": each.max()}
        row |= {"seconds": part * known[measure].median() if measure in known else np.nan, "run": each.median() / part}
        more = {name: heart[name].get(what, np.nan) for name in ("times", "captum", "model")}
        rows[measure] = row | more | {"over": over}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="measure").dropna(subset="cost")


def pruning(priced: pd.DataFrame, ranked: pd.DataFrame) -> pd.DataFrame:
    """What a measure costs beside what pruning by it does.

    Parameters
    ----------
    ranked : pandas.DataFrame
        As `contested`.

    Returns
    -------
    pandas.DataFrame
        measure, cost, cost_low, cost_high, seconds, run (as `priced`; none of random heads and syntax), value, low, high (BLEU
        against the unpruned model), above, lead, lead_low, lead_high (as `contested`).
    """
    costs = priced[known := [*ENDS, "seconds", "run"]].reindex([*priced.index, *TOGETHER[1:], "random"])
    if "confidence" in priced.index:
        costs.loc[[*TOGETHER[:2]]] = priced.loc["confidence", known].to_numpy()
    table = ranked[ranked.criterion.isin(costs.index)].drop_duplicates("criterion").rename(columns={"criterion": "measure"})
    columns = ["measure", *known, "value", "low", "high", "above", *LEAD]
    return table.join(costs, on="measure")[columns].reset_index(drop=True)


def contested(folder: Path | None, track: str, size: str) -> pd.DataFrame:
    """The contest of notebook 06: a run's, else (of models of a laptop's size) the published one; empty without either.

    Returns
    -------
    pandas.DataFrame
        model, criterion, test set, heads, value, low, high, seeds (`helpers.methods.contest.tables.over_seeds`, its first
        model); above: whether BLEU minus that of random heads, paired by training, lies above zero; lead, lead_low, lead_high:
        BLEU of gradient importance minus its own, paired likewise (95 %, t; nan of one training).
    """
    tables = _tables(folder, track, size)
    if tables is None:
        names = ("model", "criterion", "test set", "heads", "value", "low", "high", "seeds", "above", *LEAD)
        return pd.DataFrame(columns=[*names])
    found = pd.read_csv(tables / "contest.csv")
    found, path = found[found.model == found.model.iloc[0]], tables / "contest_paired.csv"
    paired = pd.read_csv(path, header=[0, 1], index_col=0) if path.exists() else pd.DataFrame()
    low = paired.reindex(found.criterion).get(("random", "low"), pd.Series(np.nan, found.index)).to_numpy(float)
    each = pd.read_csv(tables / "removed_and_trained_on.csv")
    each = each[each.model == found.model.iloc[0]].pivot_table("bleu", "seed", "criterion")  # means of draws and test sets
    ahead = {name: intervals.paired(each[UNIT], each[name])[:3] for name in each if UNIT in each}
    return found.assign(above=low > 0).join(pd.DataFrame.from_dict(ahead, "index", columns=LEAD), on="criterion")


def at_once(folder: Path | None, track: str, size: str) -> pd.DataFrame:
    """What removing heads at once changes in the loss (nats, against random heads), beside `contested`."""
    path = (_tables(folder, track, size) or study.ROOT) / "removed_at_once_beside_random.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["model", "criterion", "heads", "change"])


def smaller() -> pd.DataFrame:
    """Published translators of about equal size of notebook 04: BLEU (value) and ratio (times as fast as the whole) with ends.

    And seeds; its `attrs` say steps: of the training, and those left after heads were removed.
    """
    tables, plan = study.ROOT / "figures" / "controlled" / "04_grouped_heads" / "tables", study.settings("laptop")["grouping"]
    speed = pd.read_csv(tables / "speed.csv", index_col="row").set_axis(["rate", "ratio", "ratio_low", "ratio_high"], axis=1)
    known = pd.read_csv(tables / "equal_size.csv", index_col="control")[["value", "low", "high", "seeds"]].join(speed)
    steps = plan["translation"]["steps"]
    known.attrs["steps"] = steps, steps - round(steps * plan["first"])
    return known


def _tables(folder: Path | None, track: str, size: str) -> Path | None:
    """Tables of notebook 06: a run's, else (of models of a laptop's size) the published ones."""
    places = [*([folder] if folder else []), *[study.ROOT / "figures" / track] * (size == "laptop")]
    every = [place / "06_do_measures_agree" / "tables" for place in places]
    return next((tables for tables in every if (tables / "contest.csv").exists()), None)


def sample(settings: Mapping[str, Any], chosen: str, seed: int) -> tuple[Any, dict[str, Any], dict[str, float]]:
    """The stored model, a few sentences of middle length of the contest's text, and how often gates' trainings read it.

    Returns
    -------
    model, batch, dict of measure -> float
        The last: tokens of all its batches over those of the text, padding included.
    """
    subject = subjects.of_name(settings, subjects.names(settings, chosen)[0], seed)
    batches = subject.held_out(2048, settings["relevance"])  # as the contest reads it
    text = sum(batch["input_ids"].numel() + batch["labels"].numel() for batch in batches)
    plans = {MAP: {**settings["training"], **settings["pruning"]}, "L1 gates": settings["comparison"]["l1"]}
    few = {name: rows[:SENTENCES] for name, rows in batches[len(batches) // 2].items()}
    subject.model.set_attn_implementation("eager")  # whose products torch can count
    return subject.model, few, {name: plan["steps"] * plan["batch_tokens"] / text for name, plan in plans.items()}


def counted(model, batch: Mapping[str, Any], reads: Mapping[str, float]) -> pd.DataFrame:
    """How many passes each measure takes by its definition, and operations that torch counts in it.

    Parameters
    ----------
    reads : mapping of measure -> float
        As of `sample`.

    Returns
    -------
    pandas.DataFrame
        On measure (`PRICED`): passes (forward + backward, in words), theory (what these come to, a forward pass and a backward
        one to the heads being alike, one to the weights twice as much) and counted (products of matrices in the study's own
        way), both in units of gradient importance.
    """
    heads, targets = len(index(model)), batch["labels"].shape[1]
    removed = f"{1 + heads} + 0 (encoder alone: {1 + len(index(model, ('encoder',)))})"
    weights = [weight for name, weight in model.named_parameters() if ".encoder.layers." in name]  # those that pruning trains
    step = torch.enable_grad()(lambda: torch.autograd.grad(models.cross_entropy(model, batch, 0.0), weights))
    ways: dict[str, tuple[str, float, Any]] = {
        UNIT: ("1 + 1", 1.0, unit := lambda: worth.importance(model, [batch], norm=None)),
        "confidence": ("1 + 0", 0.5, lambda: one_pass(model, [batch], Confidence(), Positional())),
        "votes": ("1 + 0", 0.5, lambda: contest.runs.voted(model, [batch])),
        "L1 gates": (f"{reads['L1 gates']:.0f} × (1 + 1)", reads["L1 gates"], unit),
        "leave-one-out": (removed, (1 + heads) / 2, lambda: worth.leave_one_out(model, [batch], repeats=1)),
        MAP: (f"{reads[MAP]:.0f} × (1 + 2)", 1.5 * reads[MAP], step),
    }
    for rule in lrp.RULES:
        ways[rule] = f"1 + {targets}", (1 + targets) / 2, partial(lrp.explain, model, [batch], rule)
    found = {name: (*told, models.flops(model, call)) for name, (*told, call) in ways.items()}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["passes", "theory", "counted"])
    table["counted"] /= table.counted[UNIT]
    table["counted"] *= pd.Series(reads).reindex(table.index).fillna(1)
    return table.rename_axis("measure")


def beside(counted: pd.DataFrame, priced: pd.DataFrame) -> pd.DataFrame:
    """`counted` with the measured costs of `priced`, cheapest first."""
    return counted.join(priced[["what", *ENDS]], how="inner").sort_values("cost")


def between(said: str) -> tuple[float, float]:
    """The ends of "1.03 to 1.17"."""
    low, _, high = said.partition(" to ")
    return float(low), float(high or low)


def growth(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Exponents and points of the benchmark `growth`, of the first size in it.

    Returns
    -------
    exponents : pandas.DataFrame
        what, axis, value, low, high (of the fit to all sizes), last (between medians of the two largest sizes).
    points : pandas.DataFrame
        what, axis, at (size along the axis), value, low, high (seconds).
    """
    frame = frame[frame["size"] == frame["size"].iloc[0]]
    slopes = frame[frame.quantity == "exponent"].rename(columns={"group": "axis"})
    points = frame[frame.quantity == "seconds"].copy()
    points[["axis", "at"]] = points.group.str.split(" = ", expand=True)
    points["at"] = points["at"].astype(float)
    ends = points.sort_values("at").groupby(["what", "axis"])[["at", "value"]].tail(2).join(points[["what", "axis"]])
    logs = np.log(ends.groupby(["what", "axis"])[["at", "value"]].agg(lambda pair: pair.iloc[-1] / pair.iloc[0]))
    slopes = slopes.join((logs["value"] / logs["at"]).rename("last"), on=["what", "axis"])
    return (
        slopes[["what", "axis", "value", "low", "high", "last"]].reset_index(drop=True),
        points[["what", "axis", "at", "value", "low", "high"]].reset_index(drop=True),
    )


def ranges(papers: Mapping[tuple[str, str], tuple[float, float]]) -> pd.DataFrame:
    """Ends by (call, form), as of `ONCE`, as a table: call, form, low, high."""
    rows = [("both calls" if form == "masked" else call, form, *ends) for (call, form), ends in papers.items()]
    return pd.DataFrame(rows, columns=["call", "form", "low", "high"])


def savings(frame: pd.DataFrame) -> pd.DataFrame:
    """Speed-ups of the benchmark `removed_heads` by case.

    Returns
    -------
    pandas.DataFrame
        map (which heads go), form (removed, masked, ceiling), model, call, length, batch, value, low, high.
    """
    frame = frame[frame.quantity == "speed-up"]
    named = frame["what"].str.rsplit(", ", n=1, expand=True).set_axis(["map", "form"], axis=1)
    place = frame["group"].str.extract(r"^(?P<model>.*); (?P<call>.*), length (?P<length>\d+), batch (?P<batch>\d+)$")
    place = place.astype({"length": int, "batch": int})
    return pd.concat([named, place, frame[["value", "low", "high"]]], axis=1).reset_index(drop=True)


def pruned(frame: pd.DataFrame) -> pd.DataFrame:
    """What the benchmark `pruned_models` saves, by criterion and share of heads.

    Returns
    -------
    pandas.DataFrame
        model, quantity (parameters, cache bytes, time of a prompt, of a token), criterion, share (per cent of heads that are
        gone; what 0 leaves is noise), value, low, high (of what the full model takes), floor (by operations; of times alone).
    """
    named = frame["what"].str.extract(r"^(?P<criterion>.*), (?P<share>\d+) %$")
    table = pd.concat([frame[["group", "quantity", "value", "low", "high"]], named], axis=1).rename(columns={"group": "model"})
    table = table.dropna(subset="share").astype({"share": int})
    counted = table.quantity.str.startswith("operations")
    of = table[counted].assign(quantity=table.quantity.str.replace("operations", "time"))
    keys = ["model", "quantity", "criterion", "share"]
    return table[~counted].merge(of[[*keys, "value"]].rename(columns={"value": "floor"}), how="left", on=keys)


# --- whole runs ------------------------------------------------------------------------------------------------------


def wall_times(settings: Mapping[str, Any], names: Sequence[str], seed: int, executed: Path) -> pd.DataFrame:
    """How long each notebook of a study takes, as far as it is recorded.

    Parameters
    ----------
    settings : mapping
        As of `helpers.study.settings`.
    names : sequence of str
        Of the models to study (`helpers.runs.subjects.names`).
    seed : int
        The first seed.
    executed : pathlib.Path
        Folder of the executed notebooks: their metadata say how long they took, and times/NOTEBOOK.tsv of the workflow where
        they do not.

    Returns
    -------
    pandas.DataFrame
        On notebook: executing (seconds of the notebook itself), training (core seconds of what it is the first to need, as far
        as that is stored or published; 0 if it needs nothing), things made (how many these are: trainings, and what is computed
        from them), missing (how many it still waits for); nan where nothing is recorded.
    """
    rows: dict[str, Any] = {}
    counted: set[study.Recipe] = set()
    for notebook, needs in list(plan.goals(settings, names, seed).items())[:-1]:  # it does not time itself
        things = plan.closure(needs).keys() - counted
        counted |= things
        seconds = [took for took in map(_made, things) if took is not None]
        rows[notebook] = {
            "executing": _executing(executed, notebook),
            "training": sum(seconds) if seconds or not things else float("nan"),
            "things made": len(seconds),
            "missing": len(things & plan.missing(needs).keys()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="notebook")


def recorded(profile: str, settings: Mapping[str, Any], models: str, seed: int, executed: Path) -> pd.DataFrame:
    """`wall_times` of a run, and of a run of profile tiny that lies beside it: on (profile, notebook)."""
    tables = {profile: wall_times(settings, subjects.names(settings, models), seed, executed)}
    tiny, beside = study.settings("tiny"), executed.with_name("tiny-controlled")
    if profile != "tiny" and beside.is_dir():
        tables = {"tiny": wall_times(tiny, subjects.names(tiny), 1, beside)} | tables
    return pd.concat(tables, names=["profile"])


def _made(recipe: study.Recipe, fact: str = "seconds") -> Any:
    """What is said of making a recipe, by the store or, where it is published, by the index; None where it is neither."""
    if (recipe.folder / "made.json").exists():
        return study.read_spec(recipe.folder / "made.json").get(fact)
    return published.index()[recipe.key][fact] if published.offers(recipe, weights=False) else None


def _executing(executed: Path, notebook: str) -> float:
    """Seconds that a notebook took, by its own metadata or the workflow's; nan where neither is there."""
    path, times = executed / f"{notebook}.ipynb", executed / "times" / f"{notebook}.tsv"
    if path.exists():
        said = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("papermill", {})
        if said.get("duration"):
            return float(said["duration"])
    return float(pd.read_csv(times, sep="\t")["s"].iloc[-1]) if times.exists() else float("nan")
