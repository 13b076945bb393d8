"""What the study costs, as tables: the results that benchmarks kept, and how long a whole run takes."""

from __future__ import annotations

import json
import os
import re
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

from benchmarks import growth as lengthening
from benchmarks.common import COLUMNS, NAMES
from benchmarks.common import SIZES as SHAPES
from helpers import models, plan, study
from helpers.heads import index
from helpers.measures import lrp, worth
from helpers.measures.table import named as called
from helpers.methods import contest, l0
from helpers.reading import count, ends, interval, listed, number, readable
from helpers.runs import subjects
from helpers.study import StudyError, layout, published

SIZES = {  # profile -> size of the benchmarks' models
    "tiny": "tiny", "quick": "laptop", "laptop": "laptop", "converged": "laptop", "natural": "base", "paper": "base",
}  # fmt: skip
OVERHEADS = ("heads_overhead", "group_constraint", "coreference_injection")


STEP, FORWARD = "training step", "forward"
PASS, LEAN = (f"forward + backward, {of}" for of in ("all weights", "head gradients only"))
TODAY, GRADIENT = "Llama-style decoder", "gradient importance"
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

UNIT, TRAINED = "gradient, example", "L0 (trained)"  # of costs; a whole training with gates
SLOW = "alpha_beta"
SENTENCES = 8  # on which operations are counted: middle-sized ones, in seconds
PRICED = {  # measure -> what `growth` and `HEART` call it, and who calls it what in a table
    UNIT: ("importance per example", GRADIENT), "confidence": ("confidence and positional", "confidence, positions, syntax"),
    "cp": ("relevance, cp", "relevance of every target token, conservative"),
    "attnlrp": ("relevance, attnlrp", "relevance of every target token, AttnLRP"),
    "alpha_beta": ("relevance, alpha_beta", "relevance of every target token, LRP αβ"),
    "votes": ("", "votes"), "L1 gates": ("", "L1 gates"),
    "leave-one-out": ("", "loss without the head"), TRAINED: ("", "L0, a whole training"),
}  # fmt: skip
ENDS = ["cost", "cost_low", "cost_high"]
TOGETHER = ("confidence", "positional", "syntactic")  # read other text than the contest's; of one pass the first two
ONCE = {  # (call, form) of models of the papers' size, ten of forty-eight encoder heads left -> its name in docs/measured.toml
    ("encoder pass", "removed"): "base_encoder_pass", ("encoder pass", "ceiling"): "base_encoder_ceiling",
    ("generation", "removed"): "base_generation", ("generation", "ceiling"): "base_generation_ceiling",
    ("generation", "masked"): "base_masked",  # which is not split by call
}  # fmt: skip

TIMED = (
    "Measures were timed once in every training of the contest, one after the other in one process, on the same batches; "
    "brackets go from the least to the most of these trainings. L0 is what its training took. Votes and L1 gates read text of "
    "their own, as much as they need. Confidence and positions read other text there: their cost, and with it their seconds, "
    "is that of the growth benchmark over all lengths. Syntax was not timed beside them.\n\n"
    "All other times are of benchmarks on models with random weights. Every way runs once in every repeat, in random order, "
    "and ratios are taken within the repeat (of growth and the Llama-style decoder medians are divided). Brackets are "
    "quartiles. Nothing is timed before the study's way and the obvious way, the one that people write down first, gave the "
    "same numbers. *Relevance*: one target token at a time, each with a forward pass of its own. *Gradient importance*: "
    "batches of one. *Loss without the head*: the whole model for every head. *Confidence, positions, syntax*: attention maps "
    "on disk. Only Captum is somebody else's code."
)
GROWN = (
    "Exponents of the last doubling, one axis at a time, in batches of two sentences: much smaller than the contest's, so that "
    "overhead of calls is much of the time of short sentences."
)
REMOVED = (
    "The encoder-decoder loses single heads; the Llama-style decoder loses query heads group by group, and a key-value head "
    "with its last query head. What is saved beyond operations is caches, threads and noise. The time of a prompt and other "
    "orders are in the files; for random weights orders are no guide to trained models."
)
ADDED = (
    "Brackets are quartiles over repeats. The *obvious way* to group heads is the protocol of the public code, K-means from "
    "scratch in every module."
)
GATED = "L0 chooses during the training that the others need afterwards: it costs a training only if you would not."
LIMITS = (
    "Most times are of small models with random weights on two cores. On a GPU or larger models they will differ; passes by "
    "definition will not."
)
RULES_TOLD = (
    "*Signed* rules let parts for and against a prediction cancel, *LRP αβ* keeps them apart; the *conservative* rule holds"
    " attention weights constant."
)
PASSES = {  # of a decoder of today: measure -> the pass forward and back, all weights, beside which it stands
    "importance": "floor", "importance per token": "floor", "relevance": "floor of relevance", "leave one out": "floor",
}  # fmt: skip
TITLES = {  # benchmark -> what people call it
    "heads_overhead": "L0 gates on every head", "removed_heads": "removed and masked heads", "pruned_models": "pruned models",
    "relevance_speed": "relevance of every target token", "importance_speed": "gradient importance",
    "decoder_speed": TODAY, "head_statistics": "confidence, positions, syntax", "growth": "growth",
    "generator_speed": "text generator", "training_speed": "training loop", "group_constraint": "group constraint",
    "coreference_injection": "coreference in heads",
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


def remarks(found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What was tried and gave no number, with what it said."""
    frame = pd.concat([frame.assign(benchmark=name) for name, frame in found.items()], ignore_index=True)
    frame = frame.loc[frame.value.isna(), ["benchmark", "what", "group", "note"]].reset_index(drop=True)
    return frame.assign(note=frame.note.str.replace("the rule knows the reverse", "LRP αβ is implemented in reverse"))


def absent(remarks: pd.DataFrame) -> str:
    """Of `remarks`: the libraries that are not compared because they, or what they need, are not here; "" if there are none."""
    gone = remarks[remarks.note.str.contains("does not import|not installed")]["what"].str.split(", ").str[-1]
    return f"Not compared: {listed(dict.fromkeys(gone))}, for this environment lacks their dependencies." if len(gone) else ""


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


def additions(heart: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The rows of `heart` that are about a training step, with how much longer it takes as cost, cost_low and cost_high.

    Beside it, as again, again_low and again_high, the plain step of the same benchmark and model timed once more.
    """
    steps = heart[heart.plain == STEP]
    noise = numbers(found, OVERHEADS, "ratio")
    noise = noise[noise["what"].str.endswith("once more (noise)")].drop_duplicates("benchmark", keep="last")
    noise = noise.set_index("benchmark").loc[[name for what, name, *_ in HEART if what in steps.index]].set_index(steps.index)
    again = {"again": noise.value - 1, "again_low": noise.low - 1, "again_high": noise.high - 1}
    return steps.assign(**(steps[ENDS] - 1), **again)


def told_apart(steps: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """Of `additions`: what lies within the spread of a step timed twice, what others add; the most on a smaller model."""
    dear, of = steps.cost_low > steps.again_high, {own: what for what, *_, own, _ in HEART if what in steps.index}
    brief = lambda names: listed(dict.fromkeys(re.sub(" (on every|in) .*heads?.*", "", name) for name in names))  # noqa: E731
    parts = [f"{brief(steps.index[~dear])} lie within the spread of timing the same step twice"] if (~dear).any() else []
    parts += [f"{brief(steps.index[dear])} add {ends(steps.cost[dear], '%')}"] if dear.any() else []
    other = numbers(found, OVERHEADS, "ratio")
    other = other[other["what"].isin(of) & ~other.group.isin(steps.model)].nlargest(1, "value")
    parts += [f"on a smaller model {of[row.what]} adds {number(row.value - 1, '%')}" for row in other.itertuples()]
    return f"On {listed(dict.fromkeys(steps.model))}: {'; '.join(parts)}."


def spent(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> pd.DataFrame:
    """What measures took on the text and models of the contest of notebook 06, each timed once a training, one after the other.

    On the same batches in the same process; confidence, positions and syntax read other text there and are left out; of L0 what
    its run took. Nothing is made for it. Parameters as of `wall_times`.

    Returns
    -------
    pandas.DataFrame
        Seconds, [training, measure]; empty where no such table is stored or published. Its `attrs` name the hardware.
    """
    rows: dict[Any, Any] = {}
    machines: dict[str, None] = {}
    for job, table, gated in _contests(settings, names, seed):
        took = pd.Series(study.read_json(table.results / "seconds.json"))
        took[TRAINED] = _made(l0.runs.run(gated))
        rows[job["name"], job["seed"]] = took.drop([*TOGETHER], errors="ignore").reindex([*PRICED])
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


def bill(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> tuple[pd.DataFrame, str]:
    """Seconds of choosing heads and of training on without them; parameters as of `wall_times`.

    Every choice is trained on for as many steps, so these should take as long: of the trainings made on one machine each, that
    one is told in which they differ least.

    Returns
    -------
    frame : pandas.DataFrame
        On measure and "random": choose, on. L0 does both in `on`. Empty where nothing is known.
    said : str
        Which training that is, and how long the same steps took in all.
    """
    bills: dict[int, Any] = {}
    for job, table, gated in _contests(settings, names, seed):
        specs = [gated, *job["sweep"]["runs"].values(), *contest.runs.contest(job).values()]
        made = [(l0.runs.called(spec["method"]["by"]), l0.runs.run(spec)) for spec in specs
                if spec["method"]["name"] == "cut" and spec["method"]["like"] == gated]  # fmt: skip
        on = pd.Series([_made(run) for _, run in made], [by for by, _ in made], dtype=float).dropna()
        where = {_made(run, "hardware") for run in (table, l0.runs.run(gated), *(run for _, run in made))} - {None}
        choose = pd.Series(study.read_json(table.results / "seconds.json")).drop([*TOGETHER], errors="ignore")
        choose["random"] = choose[TRAINED] = 0.0
        frame = pd.DataFrame({"choose": choose, "on": on.groupby(level=0).median()})
        frame.loc[TRAINED, "on"] = _made(l0.runs.run(gated))
        if len(where) == 1 and UNIT in on and job["seed"] not in bills:  # of the first model
            bills[job["seed"]] = on.max() / on.min(), frame, f"{ends(on, ',.0f')} s with seed {job['seed']} ({listed(where)})"
    if not bills:
        return pd.DataFrame(columns=["choose", "on"]), ""
    best = min(bills, key=lambda one: bills[one][0])
    said = f"The same {settings['pruning']['steps']:,} steps took {listed(told for *_, told in bills.values())}."
    return bills[best][1], f"{said} Equal work should take equal time, so seconds are shown of seed {best} alone."


def priced(heart: pd.DataFrame, points: pd.DataFrame, spent: pd.DataFrame) -> pd.DataFrame:
    """What each measure costs, in units of gradient importance on the same text.

    Parameters
    ----------
    points : pandas.DataFrame
        Of `growth`.
    spent : pandas.DataFrame
        As `spent`: a measure that is not in it is told by `points`, the loss without the head by `heart`.

    Returns
    -------
    pandas.DataFrame
        On measure (`PRICED`): what, cost, cost_low, cost_high (median, least and most, of trainings or of lengths), seconds
        (median of trainings), short and long (cost at the shortest length and at the last up to 64
        tokens), times, captum and model (as `heart`), over (what cost_low and cost_high are over).
    """
    times = points[points.axis == "length"].pivot(index="what", columns="at", values="value")
    grown = times / times.loc[PRICED[UNIT][0]]
    known, rows = spent.dropna(axis=1) if len(spent) else pd.DataFrame(), {}
    for measure, (of, what) in PRICED.items():
        each = known[measure] / known[UNIT] if measure in known else grown.loc[of] if of else pd.Series(dtype=float)
        over = "trainings" if measure in known else "lengths of sentences"
        if not of and measure not in known and what in heart.index:
            each, over = heart.loc[what, ["cost", "cost_low", "cost_high"]], "quartiles"
        row = {"what": what.removesuffix(", syntax"), "cost": each.median(), "cost_low": each.min(), "cost_high": each.max()}
        row |= {"seconds": known[measure].median() if measure in known else np.nan}
        row |= dict(zip(("short", "long"), grown.loc[of, :64].iloc[[0, -1]] if of else (np.nan, np.nan), strict=True))
        more = {name: heart[name].get(what, np.nan) for name in ("times", "captum", "model")}
        rows[measure] = row | more | {"over": over}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="measure").dropna(subset="cost")


def pruning(priced: pd.DataFrame, ranked: pd.DataFrame, bill: pd.DataFrame) -> pd.DataFrame:
    """What a measure costs beside what pruning by it does.

    Parameters
    ----------
    ranked : pandas.DataFrame
        As `contested`.
    bill : pandas.DataFrame
        Of `bill`; what it does not time has the seconds of `priced`.

    Returns
    -------
    pandas.DataFrame
        measure, cost, cost_low, cost_high (as `priced`; none of random heads and syntax), choose, on (seconds), value, low,
        high (BLEU against the unpruned model), above, apart (as `contested`).
    """
    costs = priced[ENDS].reindex([*priced.index, *TOGETHER[1:], "random"])
    if "confidence" in priced.index:
        costs.loc[[*TOGETHER[:2]]] = priced.loc["confidence", ENDS].to_numpy()
    table = ranked[ranked.criterion.isin(costs.index)].drop_duplicates("criterion").rename(columns={"criterion": "measure"})
    table = table.join(costs, on="measure").join(bill, on="measure")
    table["choose"] = table.choose.astype(float).fillna(table.cost * bill.choose.get(UNIT, np.nan))
    return table[["measure", *ENDS, "choose", "on", "value", "low", "high", "above", "apart"]].reset_index(drop=True)


def contested(folder: Path, track: str, size: str) -> pd.DataFrame:
    """The contest of notebook 06: a run's, else (of models of a laptop's size) the published one; empty without either.

    Returns
    -------
    pandas.DataFrame
        model, criterion, heads, value, low, high, seeds (`helpers.methods.contest.tables.over_seeds`, its first model), above:
        whether its difference to random heads, paired by training, lies above zero; apart: whether that to L0 leaves zero out.
    """
    tables = _tables(folder, track, size)
    if tables is None:
        return pd.DataFrame(columns=["model", "criterion", "heads", "value", "low", "high", "seeds", "above", "apart"])
    found = pd.read_csv(tables / "contest.csv")
    found, path = found[found.model == found.model.iloc[0]], tables / "contest_paired.csv"
    paired = pd.read_csv(path, header=[0, 1], index_col=0) if path.exists() else pd.DataFrame()
    end = lambda of, at: found.criterion.map(paired.get((of, at), {})).astype(float)  # noqa: E731
    return found.assign(above=end("random", "low") > 0, apart=end(TRAINED, "low") * end(TRAINED, "high") > 0)


def at_once(folder: Path, track: str, size: str) -> pd.DataFrame:
    """What removing heads at once changes in the loss (nats, against random heads), beside `contested`."""
    path = (_tables(folder, track, size) or folder) / "removed_at_once_beside_random.csv"
    found = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["model", "criterion", "heads", "change"])
    return found[found.model == found.model.iloc[0]] if len(found) else found


def _tables(folder: Path, track: str, size: str) -> Path | None:
    """Tables of notebook 06: a run's, else (of models of a laptop's size) the published ones."""
    places = [folder, *[study.ROOT / "figures" / track] * (size == "laptop")]
    every = [place / "06_do_measures_agree" / "tables" for place in places]
    return next((tables for tables in every if (tables / "contest.csv").exists()), None)


def cheapest(table: pd.DataFrame, trainings: int, text: str) -> str:
    """Which measure to prune by, in bold and in a sentence: the cheapest of `pruning` whose interval clears random heads."""
    rows = table.set_index("measure")
    good = rows[rows.above & rows.cost.notna() & (rows.index != TRAINED)].sort_values("cost")
    if good.empty:
        return f"**We cannot tell.** In our contest on {text} no measure's interval against random heads excludes zero."
    told = "One forward and one backward pass is" if good.index[0] == UNIT else f"As much as {called(good.index[0])} is"
    name, made = called(good.index[0]), count(int(trainings), "training")
    said = f"{name[0].upper()}{name[1:]} is the cheapest measure whose heads beat random ones"
    return f"**{told} enough.** {said} ({text}, {made}; 95 % interval, not corrected)."


def closing(table: pd.DataFrame, ranked: pd.DataFrame, shots: pd.DataFrame) -> str:
    """The last words: what to do if one trains on, if not, and for speed; of `pruning`, `contested` and `at_once`, if any."""
    rows, lines, rests = table.set_index("measure"), [], ""
    plain = lambda names: listed(called(name).removeprefix("relevance, ").removesuffix(" (trained)") for name in names)  # noqa: E731
    if {UNIT, TRAINED} <= {*rows.index}:
        dear = plain([*rows.index[rows.choose > rows.on / 10], TRAINED])
        said = f"Choosing is nearly free except by {dear}: choose by quality; {called(rows.value.idxmax())} had the best mean."
        lines.append(f"*You train on.* {said}")
        rests = f"How well measures choose rests on one contest of {count(int(ranked.seeds.iloc[0]), 'training')}. "
    own = shots[shots["heads"] == round(ranked["heads"].mean())].set_index("criterion").change if lines else pd.Series()
    own = own[own.index.isin(rows.index[rows.cost.notna()])]
    less = own[rows.cost[own.index] < 1]
    if UNIT in own and less.min() > own[UNIT]:
        more = [f"{called(name)}, at {rows.cost[name]:.0f} times the price," for name in own.index[own < own[UNIT]]]
        best = f"only {listed(more)} did slightly better" if more else "no dearer measure did better"
        said = f"Gradient importance too: removed at once, its heads cost less loss than those of {plain(less.index)}"
        lines.append(f"*You do not train on.* {said} (means, notebook 6), and {best}. {GATED}")
    lines.append("*You want speed.* Cut heads out, which saves cache and a little time; a gate only masks them.")
    return f"{chr(10).join(f'- {line}' for line in lines)}\n\n*Limits.* {rests}{LIMITS}"


def judged(table: pd.DataFrame, ranked: pd.DataFrame, heads: int) -> str:
    """Of `pruning` and `contested`: where the contest was, of how many encoder heads, and how every measure did."""
    own, rows = ranked.iloc[0], table.sort_values("value", ascending=False)
    told = [f"{called(row.measure)} {interval(row.value, row.low, row.high, '+.1f')}" for row in rows.itertuples()]
    where = f"{own.model}, {own.seeds:.0f} trainings, about {ranked['heads'].mean():.0f} of {heads} encoder heads left"
    return f"*The contest* ({where}, all trained on alike), BLEU against the unpruned model: {', '.join(told)}."


def times_as_long(priced: pd.DataFrame, table: pd.DataFrame, steps: int) -> str:
    """What relevance costs beside gradient importance, of `priced`; and with training on, of `pruning` (none if empty)."""
    dear = priced.cost[priced.index.intersection([*lrp.RULES])]
    said = f"To choose heads, relevance costs {ends(dear, '.0f')} times as much."
    bills = table.set_index("measure")
    if not {UNIT, "alpha_beta", TRAINED} <= set(bills.index[bills.on.notna()] if len(bills) else ()):
        return said
    whole = (bills.choose + bills.on) / (bills.choose + bills.on)[UNIT]
    one, both = (number(whole[name], ".2f") for name in ("alpha_beta", TRAINED))
    about = f"{round(bills.on[UNIT], -1 if bills.on[UNIT] > 100 else 1):g}"
    said = f"{said} Every choice is then trained on for {steps:,} steps (about {about} s). With that counted, LRP αβ costs"
    said = f"{said} {one} times as much and L0, which trains all heads while the others train a model already cut, {both} times"
    return f"{said} (one training, one machine)."


def better(table: pd.DataFrame) -> str:
    """Of `pruning`: what takes half the passes and does not clear random heads; what is dearer and has a better mean."""
    rows = table.dropna(subset="cost").set_index("measure")
    if UNIT not in rows.index:
        return ""
    less, dear = rows[(rows.cost < rows.cost[UNIT]) & ~rows.above], rows[rows.cost > rows.cost[UNIT]]
    best = list(map(called, dear.index[dear.value > rows.value[UNIT]]))
    said = f"{listed(best)} cost more and had a better mean." if best else "no dearer measure was shown to be better."
    if TRAINED in rows.index and not rows.apart[UNIT]:
        said = f"{said[:-1]}, and {called(UNIT)} and L0 cannot be told apart."
    if len(less):
        took = f"({ends((*less.cost_low, *less.cost_high), '.2g')} times the time)"
        verbs = ("takes", "is") if len(less) == 1 else ("take", "are")
        who = f"{listed(map(called, less.index))} {verbs[0]} half the passes {took}"
        said = f"{who} but {verbs[1]} not shown to beat random heads; {said}"
    return said[0].upper() + said[1:]


def details(priced: pd.DataFrame, points: pd.DataFrame, sentences: int) -> str:
    """What measures cost as a table in Markdown; of `priced` (on so many sentences), and the points of `growth`."""
    at = points["at"][points.axis == "length"]
    columns = {"what": "what", "cost": "times gradient importance", "seconds": "seconds"}
    columns |= {"short": f"at {at.min():.0f} tokens", "long": f"at {at[at <= 64].max():.0f} tokens"}
    columns |= {"times": "obvious way / ours", "captum": "Captum / ours"}
    forms = dict.fromkeys(("cost", "seconds", "times"), ".3g") | dict.fromkeys(("short", "long", "captum"), ".2g")
    told = f"What measures cost: on the contest's {sentences} sentences, L0's in all (brackets: least to most of trainings, of"
    told += " confidence of lengths); then by length of sentences, in batches of two; last two columns from other benchmarks"
    told += f" ({listed(dict.fromkeys(model.rpartition(', ')[0] for model in priced.model.dropna()))}; confidence with syntax)"
    return f"{readable(priced.reset_index(drop=True), columns, forms, caption=told).data}\n\n{RULES_TOLD}"


def sample(settings: Mapping[str, Any], chosen: str, seed: int) -> tuple[Any, dict[str, Any], float]:
    """The stored model, a few sentences of middle length of the contest's text, and how often L0's training reads that text.

    Returns
    -------
    model, batch, float
        The last: tokens of all its batches over those of the text, padding included.
    """
    subject = subjects.of_name(settings, subjects.names(settings, chosen)[0], seed)
    batches = subject.held_out(2048, settings["relevance"])  # as the contest reads it
    text = sum(batch["input_ids"].numel() + batch["labels"].numel() for batch in batches)
    plan = {**settings["training"], **settings["pruning"]}
    few = {name: rows[:SENTENCES] for name, rows in batches[len(batches) // 2].items()}
    subject.model.set_attn_implementation("eager")  # whose products torch can count
    return subject.model, few, plan["steps"] * plan["batch_tokens"] / text


def counted(model, batch: Mapping[str, Any], reads: float) -> pd.DataFrame:
    """How many passes each measure takes by its definition, and operations that torch counts in it.

    Parameters
    ----------
    reads : float
        As of `sample`.

    Returns
    -------
    pandas.DataFrame
        On measure (`PRICED`): passes (forward + backward, in words), theory (what these come to, a forward pass and a backward
        one to the heads being alike, one to the weights twice as much) and counted (products of matrices in the study's own
        way), both in units of gradient importance.
    """
    heads, targets, learnt = len(index(model)), batch["labels"].shape[1], lambda name: ".encoder.layers." in name
    removed = f"{1 + heads} + 0 (encoder alone: {1 + len(index(model, ('encoder',)))})"
    weights = [weight for name, weight in model.named_parameters() if learnt(name)]  # those that pruning trains
    step = torch.enable_grad()(lambda: torch.autograd.grad(models.cross_entropy(model, batch, 0.0), weights))
    ways: dict[str, tuple[str, float, Any]] = {
        UNIT: ("1 + 1", 1.0, lambda: worth.importance(model, [batch], norm=None)),
        "confidence": ("1 + 0", 0.5, lambda: worth.mean_loss(model, [batch])),
        "leave-one-out": (removed, (1 + heads) / 2, lambda: worth.leave_one_out(model, [batch], repeats=1)),
        TRAINED: (f"{reads:.0f} × (1 + 2)", 1.5 * reads, step),
    }
    for rule in lrp.RULES:
        ways[rule] = f"1 + {targets}", (1 + targets) / 2, partial(lrp.explain, model, [batch], rule)
    found = {name: (*told, models.flops(model, call)) for name, (*told, call) in ways.items()}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["passes", "theory", "counted"])
    table["counted"] /= table.counted[UNIT]
    table.loc[TRAINED, "counted"] *= reads
    return table.rename_axis("measure")


def beside(counted: pd.DataFrame, priced: pd.DataFrame) -> pd.DataFrame:
    """`counted` with the measured costs of `priced`, cheapest first, one signed rule of two; another benchmark's are marked."""
    table = counted.join(priced[["what", "cost", "cost_low", "cost_high", "over"]], how="inner").sort_values("cost")
    table[ENDS] = table[ENDS].map(lambda value: float(f"{value:.2g}"))  # as the answer rounds them
    alone = (table.over != "trainings") & (table.over == "trainings").any()
    table["what"] += np.where(alone, " (measured on random weights)", "")
    return table.drop("cp", errors="ignore")


def understood(table: pd.DataFrame) -> str:
    """Of `priced` beside `counted`: how near counted operations come to measured costs, and where they do not."""
    ratio = (table.cost / table.counted).drop(UNIT, errors="ignore")
    near, far = ratio[ratio.between(0.5, 2)], ratio[~ratio.between(0.5, 2)]
    said = [f"Counted operations are within a factor of two for {len(near)} of {len(ratio)} measured costs"]
    said += [f"{called(name)} took {number(value, '.1f')} times what they say" for name, value in far.items()]
    return f"{'; '.join(said)}."


def between(said: str) -> tuple[float, float]:
    """The ends of "1.03 to 1.17"."""
    low, _, high = said.partition(" to ")
    return float(low), float(high or low)


def removing(papers: Mapping[tuple[str, str], tuple[float, float]], case: str) -> str:
    """What cut and masked encoder heads save: ends by (call, form), as of `ONCE`, where as many are left as `case` says."""
    at = [("encoder pass", "removed"), ("generation", "removed"), ("generation", "masked")]
    cut, made, masked = (ends(papers[of], ".2f") for of in at)
    left = " of ".join(re.findall(r"\d+", case)[:2])
    said = f"With {left} encoder heads left an encoder pass is {cut} times as fast, generation {made}"
    return f"{said}; with the others masked, {masked}."


def decoder(frame: pd.DataFrame) -> str:
    """Of the benchmark `decoder_speed`: the study's way beside the obvious one, in passes forward and back."""
    of, told = frame[frame.quantity == "seconds"].set_index("what").value, []
    for name, said in (("importance", "gradient importance"), ("relevance", "relevance by AttnLRP"),
                       ("leave one out", "the loss without the head")):  # fmt: skip
        ours, other = (number(of[name + way] / of[PASSES[name]], ".2g") for way in ("", ", obvious"))
        told.append(f"{said} {ours} ({other})")
    where = f"On a {TODAY} ({frame.group.iloc[0]}; random tokens), in passes forward and back with gradients of all weights"
    return f"{where}, in brackets the obvious way: {listed(told)}."


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


def machines(facts: pd.DataFrame, spent: pd.DataFrame, large: str) -> str:
    """What was timed on which machine: benchmarks, models of the papers' size (`large`), and the contest (as of `spent`)."""
    own = spent.attrs.get("hardware")
    said = f"Benchmarks: {listed(facts.hardware.unique())}; removed heads at the papers' size: {large}"
    return f"{said}{f'; the contest: {listed(own)}' if own else ''}."


def operations(size: str, length: float) -> float:
    """Multiplications of relevance of every target token: as many passes as tokens, each over all tokens of both sides.

    Of layers alone, in one direction: of a token 4 w² for each attention, 2 w f for the feed-forward block, and 2 w L for each
    attention's products with L tokens (w: width, f: its own width; a decoder's layer has two attentions).
    """
    width, inner = SHAPES[size]["width"], SHAPES[size]["feed_forward"]
    each = 3 * (4 * width**2 + 2 * width * length) + 2 * 2 * width * inner
    return length * length * SHAPES[size]["layers"] * each


def counted_growth(points: pd.DataFrame, size: str) -> pd.DataFrame:
    """How many times as many operations torch counts at twice the length, near the contest's and at the last of `growth`.

    On what, without LRP αβ, whose counts take minutes; a column a length.
    """
    lengths, found = sorted(points["at"][points.axis == "length"].unique()), {}
    for at in (64.0 if {32.0, 64.0} < {*lengths} and lengths[-1] > 64 else lengths[1], lengths[-1]):
        cases = [lengthening.case(size, "length", int(length)) for length in (at / 2, at)]
        half, whole = (
            {name: models.flops(case.model, call) for name, call in lengthening.measures(case).items() if SLOW not in name}
            for case in cases
        )
        found[at] = pd.Series(whole) / pd.Series(half)
    return pd.DataFrame(found)


def steepest(points: pd.DataFrame, counts: pd.DataFrame) -> str:
    """Of `growth` and `counted_growth`: how many times as long relevance takes at twice the length, and what torch counts."""
    near, last = counts.columns[0], counts.columns[-1]
    times = points[points.axis == "length"].pivot(index="what", columns="at", values="value").filter(like="relevance", axis=0)
    late, early = times[last] / times[last / 2], (times[near] / times[near / 2]).drop(f"relevance, {SLOW}")
    passes = counts[near][early.index]
    why = ["the shortcut above"] * int(passes.max() < 4) + ["overhead"] * int(early.max() < passes.min())
    end = f": {listed(why)} hide{'s' * (len(why) == 1)} the square" if why else ""
    said = f"From {last / 2:.0f} to {last:.0f} tokens relevance takes {ends(late, '.1f')} times as long. From {near / 2:.0f} to"
    said = f"{said} {near:.0f}, signed rules take {ends(early, '.1f')} times as long, counted {ends(passes, '.1f')}"
    return f"{said} times{end}."


def expected(counts: pd.DataFrame, size: str) -> str:
    """How operations of one pass per token grow at twice the length, and those of `counted_growth`."""
    told = ""
    for at, grown in counts.filter(like="relevance", axis=0).items():
        passes = number(operations(size, at) / operations(size, at / 2), ".1f")
        each = [f"{value:.1f} ({called(rule[11:]).removeprefix('relevance, ')})" for rule, value in grown.items()]
        told += f"From {at / 2:.0f} to {at:.0f} tokens the operations of one pass per token grow {passes} times; those torch"
        told += f" counts in the study's code grow {listed(each)} times. "
    return told


def ranges(papers: Mapping[tuple[str, str], tuple[float, float]]) -> pd.DataFrame:
    """Ends by (call, form), as of `ONCE`, as a table: call, form, low, high."""
    rows = [("both calls" if form == "masked" else call, form, *ends) for (call, form), ends in papers.items()]
    return pd.DataFrame(rows, columns=["call", "form", "low", "high"])


def unpruned(frame: pd.DataFrame) -> str:
    """Of `pruned`: what timing a model against itself gives for a token, which is noise."""
    none = frame[(frame.share == 0) & (frame.quantity == "time of a token") & frame.criterion.str.contains("evenly")]
    return f"With no head removed, a token takes {ends(none.value, '%')} of the time of the same model timed again."


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


def left(frame: pd.DataFrame) -> str:
    """Of `pruned`: what is left of cache and time where most heads are gone, evenly: the least and the most of its models."""
    most = frame[frame.criterion.str.contains("evenly") & (frame.share == frame.share.max())].groupby("quantity").value
    cache, time = (ends(most.get_group(name), "%") for name in ("cache bytes", "time of a token"))
    return (
        f"Without {frame.share.max()} % of all heads the cache is down to {cache}, but a token still takes {time} of its time:"
        " feed-forward layers and the output vocabulary stay."
    )


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


def alone(times: pd.DataFrame, executed: Path) -> str:
    """How long the notebooks of `wall_times` took one after another, and on what, as their sidecars say; "" if not recorded."""
    took = times.executing.dropna()
    paths = [layout.Chapter(executed / name).shared for name in took.index]
    where = dict.fromkeys(study.read_json(path)["hardware"] for path in paths if path.exists())
    on = f" on {listed(where)}" if where else ""
    return f"Executed one after another the notebooks took {number(took.sum() / 60, '.1f')} minutes{on}. " if len(took) else ""


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
