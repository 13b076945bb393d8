"""What the study costs, as tables: the results that benchmarks kept, and how long a whole run takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import COLUMNS, NAMES, named
from helpers import plan, study
from helpers.reading import ends, interval, listed, number
from helpers.runs import subjects
from helpers.study import StudyError, published

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
    (f"relevance, {TODAY}: 6 targets in each of 2 passages of 7 tokens", "decoder_speed", PASS,
     "relevance over floor of relevance", "relevance, obvious over relevance"),
    ("gradient importance", "importance_speed", PASS,
     "floor over per example", "per example over per example, obvious"),
    ("loss without each head", "importance_speed", LEAN, "per example over leave one out", ""),
    (f"gradient importance, {TODAY}", "decoder_speed", PASS,
     "importance over floor", "importance, obvious over importance"),
    (f"loss without each head, {TODAY}", "decoder_speed", PASS,
     "leave one out over floor", "leave one out, obvious over leave one out"),
    ("confidence, positions, syntax", "head_statistics", FORWARD, "floor over one pass", "one pass over maps on disk"),
    ("L0 gates on every head", "heads_overhead", STEP, "training step, Hard Concrete gates and penalty", ""),
    ("group constraint on V", "group_constraint", STEP, "4B on V", "4B on V, obvious protocol"),
    ("group constraint on A", "group_constraint", STEP, "4B on A", ""),
    ("coreference in one head per layer", "coreference_injection", STEP, "training step, full link, 1 head a layer", ""),
    ("coreference in four heads per layer", "coreference_injection", STEP, "training step, full link, 4 heads a layer", ""),
)  # fmt: skip

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
        times as much the obvious way takes), obvious (its cost; nan where there is no such way), captum (as times), repeats,
        model (of all these numbers), small and small_model (the cost on the first model, where there are several).
        Ends are quartiles, of two repeats both values.
    """
    rows = {}
    for what, name, plain, own, other in HEART:
        every = found[name][found[name].quantity == "ratio"]
        ratios = every.drop_duplicates("what", keep="last").set_index("what")
        small = every[(every["what"] == own) & (every.group != ratios.group[own])].head(1)
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
        row = {"plain": plain, **dict(told), "obvious": cost[0] * times[0], "captum": captum, "repeats": repeats}
        first = {"small": small.value.max(), "small_model": small.group.max() if len(small) else ""}
        rows[what] = row | {"model": ratios.group[own]} | first
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("what")


def noise(found: Mapping[str, pd.DataFrame]) -> tuple[float, float]:
    """The least and the largest quartile of a plain training step timed once more, as a multiple of itself: of last models."""
    ratios = numbers(found, OVERHEADS, "ratio")
    ratios = ratios[ratios["what"].str.endswith("once more (noise)")].drop_duplicates("benchmark", keep="last")
    return float(ratios.low.min()), float(ratios.high.max())


def rivals(heart: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> str:
    """How much faster the study's ways are than Captum's, and than the plain ones of this project."""
    ratios = found["decoder_speed"].set_index("what").value
    token = ratios.get("importance per token, captum over importance per token", np.nan)
    times = [number(value, ".0f") for value in heart.captum.dropna()]
    told = [f"{listed(times)} times as fast for signed rules"] if times else []
    near = "no faster" if abs(token - 1) < 0.1 else f"{number(token, '.1f')} times as fast"
    told += [f"{near} for gradient importance, each token"] if token == token else []
    slow = (
        f"against our own plain implementation {number(heart.times.min(), '.1f')} to {number(heart.times.max(), '.0f')} times"
    )
    return f"Against Captum {', '.join(told)}; {slow}" if told else f"{slow[0].upper()}{slow[1:]} as fast"


def longer(heart: pd.DataFrame, noise: tuple[float, float]) -> str:
    """How much longer a training step takes with each addition, and which additions have no cost that shows.

    Parameters
    ----------
    noise : (float, float)
        As `noise`: what lies within it is a step timed once more.
    """
    part = heart[heart.plain == STEP]
    part = part.set_axis([name.partition(" on every")[0] for name in part.index])
    shows = part.cost_low > max(1.0, noise[1])
    told = [f"{name} {number(cost - 1, '%')}" for name, cost in part.cost[shows].items()]
    small = part[~shows & (part.small > max(1.0, noise[1]))] if "small" in part else part[:0]
    small = [f"{name} {number(row.small - 1, '%')} in the small model, {row.small_model}" for name, row in small.iterrows()]
    free = f"{listed(part.index[~shows])}: no cost that shows{f' ({listed(small)})' if small else ''}"
    return "; ".join([free] * bool((~shows).any()) + [f"longer training steps: {listed(told)}"] * bool(told))


def passes(heart: pd.DataFrame) -> str:
    """What the main measures cost: gradient importance in passes forward and back, the others in units of that."""
    cost, rules = heart.cost, ("relevance of every target token, AttnLRP", "relevance of every target token, conservative")
    dear, off = (number(cost[name], ".0f") for name in ("relevance of every target token, LRP αβ", "loss without each head"))
    return (
        f"Gradient importance costs {number(cost[GRADIENT], '.1f')} times a forward + backward pass of all weights (it needs"
        f" gradients at the heads alone). In units of that, LRP αβ of every target token costs {dear}, the signed rules"
        f" {ends((cost[name] for name in rules), '.0f')}, the loss without each head {off}"
    )


def pruning(heart: pd.DataFrame, found: Mapping[str, pd.DataFrame], contest: pd.DataFrame) -> pd.DataFrame:
    """What a measure costs beside what pruning by it does.

    Parameters
    ----------
    contest : pandas.DataFrame
        `helpers.methods.contest.tables.over_seeds` of a contest in which heads are removed and models trained on.

    Returns
    -------
    pandas.DataFrame
        measure, cost (times that of gradient importance, one pass forward and back with gradients at the heads alone, which is
        the unit of relevance; what is measured in forward passes by the share of a training step that one takes), value, low,
        high (BLEU against the unpruned model).
    """
    seconds = (
        found["heads_overhead"].query("quantity == 'seconds'").drop_duplicates("what", keep="last").set_index("what").value
    )
    gradient, sums = heart.cost[GRADIENT], heart.cost["confidence, positions, syntax"]
    costs = dict.fromkeys(("confidence", "positional", "syntactic"), sums * seconds["forward"] / seconds[STEP] / gradient)
    costs |= {"gradient, example": 1.0, "leave-one-out": heart.cost["loss without each head"]}
    for name, rule in (("alpha_beta", "LRP αβ"), ("attnlrp", "AttnLRP"), ("cp", "conservative")):
        costs[name] = heart.cost[f"relevance of every target token, {rule}"]
    table = contest[contest.criterion.isin([*costs, "random", "L0 (trained)"])].drop_duplicates("criterion")
    table = table.assign(cost=table.criterion.map(costs), measure=table.criterion)
    return table[["measure", "cost", "value", "low", "high"]].reset_index(drop=True)


def contested(folder: Path, track: str, size: str) -> pd.DataFrame:
    """The contest of notebook 06: a run's, else (of models of a laptop's size) the published one; empty without either."""
    name = Path("06_do_measures_agree") / "tables" / "contest.csv"
    places = [folder / name] + [study.ROOT / "figures" / track / name] * (size == "laptop")
    path = next((place for place in places if place.exists()), None)
    return pd.read_csv(path) if path else pd.DataFrame(columns=["criterion", "value", "low", "high"])


def decoder(frame: pd.DataFrame) -> str:
    """Of the benchmark `decoder_speed`: seconds and operations of the study's way beside the obvious one."""
    of = {quantity: part.set_index("what").value for quantity, part in frame.groupby("quantity")}
    names = {"importance": "gradient importance", "relevance": "relevance", "leave one out": "leaving out every head"}
    told = [[number(of["seconds"][f"{name}{way}"], ".2g") for way in ("", ", obvious")] for name in names]
    told = [f"{ours} for {said} ({other})" for (ours, other), said in zip(told, names.values(), strict=True)]
    fast, slow = (number(of["operations"][f"leave one out{way} over what must be done"], ".2f") for way in ("", ", obvious"))
    return (
        f"Seconds per batch (in brackets the obvious way): {listed(told)}. Leaving out needs {fast} times the least"
        f" operations, the obvious way {slow}, too few to explain its time."
    )


def minutes(found: Mapping[str, pd.DataFrame], sentences: int = 1000) -> str:
    """How long relevance of so many sentences takes, by rule, beside the obvious way and Captum: in units people know."""
    frame = found["relevance_speed"]
    frame = frame[(frame.quantity == "target tokens/s") & frame.value.notna()]
    frame = frame[frame.group == frame.group.iloc[0]]  # of the first model
    length = int(re.search(r"(\d+) tokens", frame.group.iloc[0])[1])
    told = {}
    for way in ("fast", "obvious", "captum"):
        speeds = frame[frame["what"].str.endswith(f", {way}")].value
        ends = (sentences * length / speed / (3600 if way == "obvious" else 60) for speed in (speeds.max(), speeds.min()))
        told[way] = " to ".join(number(end, ".1f") for end in ends)
    what = f"Relevance of every target token of {number(sentences)} sentences of {length} tokens"
    other = f", Captum (signed rules) {told['captum']} minutes" if frame["what"].str.endswith(", captum").any() else ""
    return f"{what} takes {told['fast']} minutes by rule, the obvious way {told['obvious']} hours{other}"


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


def steepest(slopes: pd.DataFrame, points: pd.DataFrame) -> str:
    """Of `growth`: exponents of what grows fastest with the length of sentences, over the last doubling."""
    long = slopes[slopes.axis == "length"].sort_values("last", ascending=False)
    steep = long[long["last"] >= 1]
    told = [f"{row.last:.1f} for {named(row.what)}" for row in steep.itertuples()]
    most = number(points["at"][points.axis == "length"].max(), ".0f")
    rest = f"; at most {long['last'][long['last'] < 1].max():.1f} for others" if len(steep) < len(long) else ""
    said = f"Time grows with sentence length (last doubling, to {most} tokens)"
    return f"{said} to the power of {listed(told)}{rest}."


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


def left(frame: pd.DataFrame, brief: bool = False) -> str:
    """Of `pruned`: what is left of cache and time where most heads are gone, evenly over the layers, model by model.

    Beside the time there are its quartiles, and what a model takes of its own time: noise; if not `brief`, where it is large.
    """
    even, told, alone = frame[frame.criterion.str.contains("evenly")].set_index(["model", "share", "quantity"]), [], []
    small: list[str] = []
    for model in frame.model.unique():
        none, most = (even.loc[model, share] for share in (0, frame.share.max()))
        time, cache = most.loc["time of a token"], number(most.value["cache bytes"], "%")
        parts = (cache, interval(time.value, time.low, time.high, "%"))
        words = ("", "") if told else (" of the cache", " of the time per token")
        name = model.replace("grouped queries", TODAY).partition(",")[0]
        told.append(f"{name} " + " and ".join(f"{part}{word}" for part, word in zip(parts, words, strict=True)))
        alone.append(number(none.value["time of a token"], "%").removesuffix(" %"))
        saved, noise = 1 - time.value, abs(1 - none.value["time of a token"])
        small += [f"{name}: a saving of about {number(saved / noise, '.0f')} times the noise"] * bool(
            not brief and noise and saved < 3 * noise
        )
    wide = listed(dict.fromkeys(model.rpartition(", ")[2] for model in frame.model))
    said = f"With {frame.share.max()} % of heads removed evenly, models of {wide} keep"
    return f"{said}: {', '.join(told)} ({'; '.join([f'with none removed {listed(alone)} %', *small])})"


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
        as that is stored or published; 0 if it needs nothing), runs (how many these are), missing (how many it still waits
        for); nan where nothing is recorded.
    """
    rows, counted = {}, set()
    for notebook, needs in list(plan.goals(settings, names, seed).items())[:-1]:  # it does not time itself
        things = plan.closure(needs).keys() - counted
        counted |= things
        seconds = [took for took in map(_making, things) if took is not None]
        rows[notebook] = {
            "executing": _executing(executed, notebook),
            "training": sum(seconds) if seconds or not things else float("nan"),
            "runs": len(seconds),
            "missing": len(things & plan.missing(needs).keys()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="notebook")


def recorded(profile: str, settings: Mapping[str, Any], models: str, seed: int, executed: Path) -> pd.DataFrame:
    """`wall_times` of a run, and of a run of profile tiny that lies beside it.

    Parameters
    ----------
    profile, models, seed
        As a notebook's parameters.
    settings : mapping
        Of the profile.
    executed : pathlib.Path
        Folder of the executed notebooks.

    Returns
    -------
    pandas.DataFrame
        As `wall_times`, on (profile, notebook).
    """
    tables = {profile: wall_times(settings, subjects.names(settings, models), seed, executed)}
    tiny, beside = study.settings("tiny"), executed.with_name("tiny-controlled")
    if profile != "tiny" and beside.is_dir():
        tables = {"tiny": wall_times(tiny, subjects.names(tiny), 1, beside)} | tables
    return pd.concat(tables, names=["profile"])


def _making(recipe: study.Recipe) -> float | None:
    """Seconds that making a recipe took, by the store or, where it is published, by the index; None where it is neither."""
    if (recipe.folder / "made.json").exists():
        return study.read_spec(recipe.folder / "made.json")["seconds"]
    return published.index()[recipe.key]["seconds"] if published.offers(recipe, weights=False) else None


def _executing(executed: Path, notebook: str) -> float:
    """Seconds that a notebook took, by its own metadata or the workflow's; nan where neither is there."""
    path, times = executed / f"{notebook}.ipynb", executed / "times" / f"{notebook}.tsv"
    if path.exists():
        said = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("papermill", {})
        if said.get("duration"):
            return float(said["duration"])
    return float(pd.read_csv(times, sep="\t")["s"].iloc[-1]) if times.exists() else float("nan")
