"""What the study costs, as tables: the results that benchmarks kept, and how long a whole run takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import COLUMNS, NAMES, named
from benchmarks.common import SIZES as SHAPES
from helpers import plan, study
from helpers.measures.table import named as called
from helpers.methods import contest, l0
from helpers.reading import NOTHING, ends, interval, listed, number, readable
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
PRICED = {  # measure -> what `growth` and `HEART` call it, and who calls it what in a table
    UNIT: ("importance per example", GRADIENT), "confidence": ("confidence and positional", "confidence, positions, syntax"),
    "cp": ("relevance, cp", "relevance of every target token, conservative"),
    "attnlrp": ("relevance, attnlrp", "relevance of every target token, AttnLRP"),
    "alpha_beta": ("relevance, alpha_beta", "relevance of every target token, LRP αβ"),
    "leave-one-out": ("", "loss without the head"), TRAINED: ("", "L0, a whole training"),
}  # fmt: skip
TOGETHER = ("confidence", "positional", "syntactic")  # read other text than the contest's; of one pass the first two
ONCE = {  # (call, form) of models of the papers' size, ten of forty-eight encoder heads left -> its name in docs/measured.toml
    ("encoder pass", "removed"): "base_encoder_pass", ("encoder pass", "ceiling"): "base_encoder_ceiling",
    ("generation", "removed"): "base_generation", ("generation", "ceiling"): "base_generation_ceiling",
    ("generation", "masked"): "base_masked",  # which is not split by call
}  # fmt: skip

RULES_TOLD = (
    "*Signed relevance* (AttnLRP and the conservative rule) lets parts for and against a prediction cancel, *LRP αβ* keeps them"
    " apart; the *conservative* rule holds attention weights constant. *Obvious way*: below."
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
    ends, steps = ["cost", "cost_low", "cost_high"], heart[heart.plain == STEP]
    noise = numbers(found, OVERHEADS, "ratio")
    noise = noise[noise["what"].str.endswith("once more (noise)")].drop_duplicates("benchmark", keep="last")
    noise = noise.set_index("benchmark").loc[[name for what, name, *_ in HEART if what in steps.index]].set_index(steps.index)
    again = {"again": noise.value - 1, "again_low": noise.low - 1, "again_high": noise.high - 1}
    return steps.assign(**(steps[ends] - 1), **again)


def told_apart(steps: pd.DataFrame) -> str:
    """Of `additions`: what costs more than the same step timed once more varies, by quartiles, and what does not."""
    dear = steps.cost_low > steps.again_high
    parts = {"not told from noise": [*steps.index[~dear]], "longer than noise": [*steps.index[dear]]}
    return "; ".join(f"{said}: {listed(names)}" for said, names in parts.items() if names)


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
    for job in contest.runs.jobs(settings, names, seed) if names else ():
        table = next(contest.runs.recipes(job))
        if "sweep" not in job or not contest.runs.contest(job) or not table.made():
            continue
        took = pd.Series(study.read_json(table.results / "seconds.json"))
        price = settings["pruning"]["compared"][0]
        took[TRAINED] = _made(l0.runs.run(job["sweep"]["runs"][f"L0 {price:g}"]))
        rows[job["name"], job["seed"]] = took.drop([*TOGETHER], errors="ignore").reindex([*PRICED])
        machines[_made(table, "hardware")] = None
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*PRICED], dtype=float)
    frame = frame.loc[[row for row in frame.index if row[0] == frame.index[0][0]]] if len(frame) else frame
    frame.attrs["hardware"] = [*machines]
    return frame


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


def pruning(priced: pd.DataFrame, ranked: pd.DataFrame) -> pd.DataFrame:
    """What a measure costs beside what pruning by it does.

    Parameters
    ----------
    ranked : pandas.DataFrame
        As `contested`.

    Returns
    -------
    pandas.DataFrame
        measure, cost, cost_low, cost_high (as `priced`; none of random heads and syntax), value, low, high (BLEU against the
        unpruned model), above (as `contested`).
    """
    ends = ["cost", "cost_low", "cost_high"]
    costs = priced[ends].reindex([*priced.index, *TOGETHER[1:], "random"])
    if "confidence" in priced.index:
        costs.loc[[*TOGETHER[:2]]] = priced.loc["confidence", ends].to_numpy()
    table = ranked[ranked.criterion.isin(costs.index)].drop_duplicates("criterion").rename(columns={"criterion": "measure"})
    return table.join(costs, on="measure")[["measure", *ends, "value", "low", "high", "above"]].reset_index(drop=True)


def contested(folder: Path, track: str, size: str) -> pd.DataFrame:
    """The contest of notebook 06: a run's, else (of models of a laptop's size) the published one; empty without either.

    Returns
    -------
    pandas.DataFrame
        model, criterion, heads, value, low, high, seeds (`helpers.methods.contest.tables.over_seeds`, its first model), above:
        whether its difference to random heads, paired by training, lies above zero.
    """
    chapter = "06_do_measures_agree"
    places = [folder / chapter] + [study.ROOT / "figures" / track / chapter] * (size == "laptop")
    tables = next((place / "tables" for place in places if (place / "tables" / "contest.csv").exists()), None)
    if tables is None:
        return pd.DataFrame(columns=["model", "criterion", "heads", "value", "low", "high", "seeds", "above"])
    found = pd.read_csv(tables / "contest.csv")
    found, path = found[found.model == found.model.iloc[0]], tables / "contest_paired.csv"
    paired = pd.read_csv(path, header=[0, 1], index_col=0) if path.exists() else pd.DataFrame()
    lows = paired["random", "low"] if ("random", "low") in paired else pd.Series(dtype=float)
    return found.assign(above=found.criterion.map(lows).astype(float) > 0)


def cheapest(table: pd.DataFrame, ranked: pd.DataFrame, heads: int) -> str:
    """Which measure to prune by: the cheapest that is above random heads, beside L0; what costs less and is not.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `pruning`.
    ranked : pandas.DataFrame
        As `contested`.
    heads : int
        Encoder heads of the whole model.
    """
    rows, own = table.set_index("measure"), ranked.iloc[0]
    bleu = {row.measure: interval(row.value, row.low, row.high, "+.1f") for row in table.itertuples()}
    where = f"{own.model}, {own.seeds:.0f} trainings, about {ranked['heads'].mean():.0f} of {heads} encoder heads left"
    where = f"In one contest ({where}, trained on alike)"
    good = rows[rows.above & rows.cost.notna() & (rows.index != TRAINED)].sort_values("cost")
    if good.empty:
        return f"**{where} no measure is shown to beat random heads.**"
    best, less = good.index[0], rows[rows.cost < good.cost.iloc[0]]
    said = f"**{where}, {called(best)} is the cheapest measure shown to beat random heads** (BLEU {bleu[best]};"
    said += f" L0 {bleu.get(TRAINED, NOTHING)}, random {bleu['random']})."
    if len(less):
        cost = ends((*less.cost_low, *less.cost_high), ".2f")
        said += f" {listed(called(name) for name in less.index).capitalize()} ({cost} of its cost, by length) are not shown to"
        said += f" ({', '.join(number(value, '+.1f') for value in less.value)})"
        last = rows.index == TOGETHER[-1]
        said += f"; syntactic ({number(rows.value[last].iloc[0], '+.1f')}) was not timed beside it." if last.any() else "."
    return said


def times_as_long(priced: pd.DataFrame, sentences: int, brief: bool = False) -> str:
    """What the measures cost beside gradient importance on so many sentences of the contest, in a sentence; from `priced`."""
    if brief:
        dear, trained = (priced.loc[priced.index.intersection(names)] for names in (("cp", "attnlrp", "alpha_beta"), [TRAINED]))
        more = f", L0's training {ends((*trained.cost_low, *trained.cost_high), '.0f')}" if len(trained) else ""
        return f"Relevance costs {ends((*dear.cost_low, *dear.cost_high), '.0f')} times as much as gradient importance{more}."
    seconds = priced.seconds[UNIT]
    unit = f" ({number(seconds, '.1f')} seconds for {sentences} sentences)" if seconds == seconds else ""
    told = []
    for names, words in ((("cp", "attnlrp"), "signed relevance"), (("alpha_beta",), "LRP αβ"),
                         (("leave-one-out",), "the loss without the head"), ((TRAINED,), "L0's training")):  # fmt: skip
        part = priced.loc[priced.index.intersection(names)]
        if len(part):
            told.append(f"{words} {ends((*part.cost_low, *part.cost_high), '.0f')}")
    return f"Times gradient importance{unit}: {listed(told)}."


def better(table: pd.DataFrame) -> str:
    """Of `pruning`: which of what costs more than gradient importance prunes better by its value; "" if nothing costs more."""
    rows = table.dropna(subset="cost").set_index("measure")
    dear = rows[rows.cost > rows.cost.get(UNIT, np.inf)]
    best = dear.index[dear.value > rows.value.get(UNIT, np.nan)]
    return f" Better by BLEU than gradient importance: {listed(map(called, best))}." if len(dear) else ""


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


def between(said: str) -> tuple[float, float]:
    """The ends of "1.03 to 1.17"."""
    low, _, high = said.partition(" to ")
    return float(low), float(high or low)


def removing(papers: Mapping[tuple[str, str], tuple[float, float]]) -> tuple[str, str]:
    """What removed encoder heads save, in short and with the speed-ups: ends by (call, form), as of `ONCE`."""
    (least, most), masked = papers["generation", "removed"], papers["generation", "masked"]
    varies = "; masking" if least > masked[1] else ", no more than masking varies"
    said = f"Removing the encoder heads that can go saves up to {number(1 - 1 / most, '%')} of generation time (least case"
    said += f" {number(1 - 1 / least, '%')}{varies}: {ends((1 - 1 / value for value in masked), '+%')})."
    told = {f"{call}, {form}": ends(speeds, ".2f") for (call, form), speeds in papers.items()}
    fast = f"encoder pass {told['encoder pass, removed']}, generation {told['generation, removed']}"
    return f"**{said}**", f"{said} Bars, times as fast: {fast}, masked {told['generation, masked']}"


def decoder(frame: pd.DataFrame) -> str:
    """Of the benchmark `decoder_speed`: the study's way beside the obvious one, in passes forward and back."""
    of, told = frame[frame.quantity == "seconds"].set_index("what").value, []
    for name, said in (("importance", "gradient importance"), ("relevance", "relevance by AttnLRP"),
                       ("leave one out", "the loss without the head")):  # fmt: skip
        ours, other = (number(of[name + way] / of[PASSES[name]], ".2g") for way in ("", ", obvious"))
        told.append(f"{said} {ours} ({other})")
    return f"In units of one forward and backward pass, in brackets the obvious way: {listed(told)}."


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
    widths = listed(str(SHAPES[size]["width"]) for size in facts.index.unique("size"))
    own = spent.attrs.get("hardware")
    said = f"Benchmarks (width {widths} except where another is written): {listed(facts.hardware.unique())}; bars of *What do"
    return f"{said} removed heads save?*: {large}{f'; times of the contest: {listed(own)}' if own else ''}."


def operations(size: str, length: float) -> float:
    """Multiplications of relevance of every target token: as many passes as tokens, each over all tokens of both sides.

    Of layers alone, in one direction: of a token 4 w² for each attention, 2 w f for the feed-forward block, and 2 w L for each
    attention's products with L tokens (w: width, f: its own width; a decoder's layer has two attentions).
    """
    width, inner = SHAPES[size]["width"], SHAPES[size]["feed_forward"]
    each = 3 * (4 * width**2 + 2 * width * length) + 2 * 2 * width * inner
    return length * length * SHAPES[size]["layers"] * each


def steepest(slopes: pd.DataFrame, points: pd.DataFrame, size: str) -> str:
    """Of `growth`: exponents of what grows fastest with the length of sentences, over the last doubling; as operations do."""
    long = slopes[slopes.axis == "length"].sort_values("last", ascending=False)
    steep = long[long["last"] >= 1]
    told = [f"{row.last:.1f} for {named(row.what)}" for row in steep.itertuples()]
    most = points["at"][points.axis == "length"].max()
    due = np.log2(operations(size, most) / operations(size, most / 2))
    rest = f"; at most {long['last'][long['last'] < 1].max():.1f} for others" if len(steep) < len(long) else ""
    said = f"Time grows with length (last doubling, to {most:.0f} tokens)"
    return f"{said} to the power of {listed(told)}{rest}. Relevance by counted operations: {due:.1f}."


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
    """Of `pruned`: what is left of cache and time (with quartiles) where most heads are gone, evenly, model by model."""
    even = frame[frame.criterion.str.contains("evenly")].set_index(["model", "share", "quantity"])
    told: list[str] = []
    alone: list[str] = []
    for model in frame.model.unique():
        none, most = (even.loc[model, share] for share in (0, frame.share.max()))
        time, cache = most.loc["time of a token"], number(most.value["cache bytes"], "%")
        parts = (cache, interval(time.value, time.low, time.high, "%"))
        words = ("", "") if told else (" of the cache", " of a token's time")
        name = model.replace("grouped queries", TODAY).partition(",")[0]
        told.append(f"{name} " + " and ".join(f"{part}{word}" for part, word in zip(parts, words, strict=True)))
        alone.append(number(none.value["time of a token"], "%").removesuffix(" %"))
    wide = listed(dict.fromkeys(model.rpartition(", ")[2] for model in frame.model))
    said = f"With {frame.share.max()} % of all heads removed evenly, models of {wide} keep"
    return f"{said}: {'; '.join(told)} (none removed: {listed(alone)} %)"


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
