"""As much of a study as some minutes of a GPU allow, the most valuable first, handed over in a few files.

`python -m helpers.publish.hour make --minutes 55 --out FOLDER` goes on where it was; FOLDER is whole after everything that it
finishes. `... take --out FOLDER`, on any machine, puts what lies there into the folder of published runs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import plan, study
from helpers.experiments import functions, pruning, relevance
from helpers.measures import measured
from helpers.measures.lrp import RULES
from helpers.methods import grouping, l0
from helpers.publish import archives
from helpers.runs import outputs, subjects, training
from helpers.study import Need, Recipe, StudyError, published, store

PIECE = 15 * 2**20  # bytes of a file that is handed over, at most
LEAST = 90.0  # seconds that must be left for a training to begin: text is encoded before its first step
REST = "the rest"


# --- what is worth most ----------------------------------------------------------------------------------------------


def by_value(settings: Mapping[str, Any], names: Sequence[str], seed: int) -> dict[str, list[Need]]:
    """What the notebooks of a study read, in stages, the most valuable first; the last one has all of it.

    Parameters
    ----------
    settings, names, seed
        As of `helpers.plan.goals`.
    """
    models = [training.trained(subjects.spec(settings, name, seed), f"{name}, seed {seed}") for name in names]
    measures = [*relevance.recipes(settings, models), *functions.recipes(settings, models)]
    measures += [measured.WITHOUT.recipe(made, first=settings["relevance"]) for made in models]
    later = [one for one in measures if one.spec["options"].get("rule", RULES[0]) != RULES[0]]
    sweeps = l0.runs.sweeps(settings, names, seed)
    encoder = [sweep for sweep in sweeps if list(sweep["kinds"]) == ["encoder"]]
    every = [sweep for sweep in sweeps if sweep not in encoder]
    notebooks = plan.goals(settings, names, seed)
    found: dict[str, Iterable[Recipe]] = {
        "models": [one for made in models for one in (made, outputs.recipe(made, settings["beam"]))],
        "measures": [one for one in measures if one not in later],
        "encoder heads pruned": [one for sweep in encoder for one in _swept(sweep)],
        "functions of heads that stay": [one for sweep in encoder for one in pruning.function_recipes(sweep)],
        "heads of all kinds pruned": [one for sweep in every for one in _swept(sweep)],
        "heads grouped": _grouped(settings, seed),
        "relevance by other rules": later,
    }
    stages = {title: [Need(one, one in models) for one in recipes] for title, recipes in found.items()}
    return stages | {REST: [need for needs in notebooks.values() for need in needs]}


def _swept(sweep: Mapping[str, Any]) -> Iterator[Recipe]:
    """The control, the floor and the prices of a sweep, with what their models put out."""
    first = {name: run for name, run in sweep["runs"].items() if run["method"]["name"] in ("none", "floor", "l0")}
    return pruning.recipes({**sweep, "runs": first})


def _grouped(settings: Mapping[str, Any], seed: int) -> Iterator[Recipe]:
    """The main rows of grouped translation with what their models put out."""
    whole = settings["grouping"]["translation"]["steps"]
    for name, row in grouping.runs.Rows(settings, subjects.TRANSLATION, seed).main().items() if whole else ():
        runs = grouping.runs.stages(row)
        made = [grouping.runs.run(run, f"translation: {name}, {number} of {len(runs)}") for number, run in enumerate(runs, 1)]
        yield from (*made, outputs.recipe(made[-1], settings["grouping"]["beam"]))


def ordered(stages: Mapping[str, Sequence[Need]]) -> dict[Recipe, tuple[str, bool]]:
    """Every recipe behind some stages once, after all that it needs: the stage that is the first to want it, and whether its
    weights are wanted."""
    found: dict[Recipe, tuple[str, bool]] = {}
    for title, needs in stages.items():
        for recipe, weights in plan.closure(needs).items():
            before = found.get(recipe, (title, False))
            found[recipe] = before[0], before[1] or weights
    return found


# --- making ----------------------------------------------------------------------------------------------------------


def make(
    stages: Mapping[str, Sequence[Need]], minutes: float, out: Path, least: float = LEAST, weights: bool = True
) -> list[Recipe]:
    """Make what is missing, one after another, until the minutes are over; `out` is whole after each.

    A training that is not done by then is saved and goes on at the next call. What cannot be saved in between is begun only if
    it should be done in time, and what waits for it is left out likewise. What fails is said, and costs nothing else.

    Parameters
    ----------
    least : float
        Seconds that must be left for a training to begin.
    weights : bool
        Whether the weights of models are handed over too: to pack those of the papers' size takes a minute.

    Returns
    -------
    list of Recipe
        What was made now.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted before the minutes were over.
    """
    deadline, rates, wanted, made = time.monotonic() + 60 * minutes, plan.Rates(), ordered(stages), []
    needs = [need for needs in stages.values() for need in needs if need.weights and weights]
    models = {need.recipe for need in needs if need.recipe.kind is training.MODEL}
    for recipe, (_, whole) in wanted.items():
        left = deadline - time.monotonic()
        own = least if recipe.kind.name in plan.COSTLY else rates.estimate(recipe)[0] or least
        if recipe.made(whole) or left < own or not all(need.recipe.made(need.weights) for need in recipe.needs):
            continue
        try:
            with _asked_after(left):
                study.make(recipe, whole)
        except KeyboardInterrupt:
            if time.monotonic() < deadline - 0.1:
                raise
            break
        except Exception as error:  # whatever it is, the minutes are worth more than to end here
            study.say(f"failed: {recipe.label} ({type(error).__name__}: {str(error).strip().splitlines()[:1]})")
            continue
        made.append(recipe)
        study.say(f"{(deadline - time.monotonic()) / 60:.1f} minutes left; made: {recipe.label}")
        hand_over(wanted, models, out)
    hand_over(wanted, models, out)
    return made


@contextmanager
def _asked_after(seconds: float) -> Iterator[None]:
    """What runs in the block is interrupted after so many seconds, as by Ctrl-C."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- in words --------------------------------------------------------------------------------------------------------


def foretold(stages: Mapping[str, Sequence[Need]], minutes: float) -> str:
    """In words what there is to make, a line a stage, and what that will take."""
    rates, lines, total = plan.Rates(), [], 0.0
    todo = {recipe: title for recipe, (title, weights) in ordered(stages).items() if not recipe.made(weights)}
    for title in stages:
        own = [recipe for recipe, stage in todo.items() if stage == title]
        trained = [recipe for recipe in own if recipe.kind.name in plan.COSTLY]
        seconds = {recipe: rates.estimate(recipe)[0] or 0.0 for recipe in own}
        total += sum(seconds.values())
        read = sum(plan.tokens(recipe.spec) for recipe in trained) / 1e6
        counted = sum(plan.operations(recipe.kind.name, recipe.spec) or 0.0 for recipe in trained)
        parts = [f"{title}: {len(own)} to make, {sum(seconds.values()) / 60:.1f} minutes (in all {total / 60:.1f})"]
        if trained:
            whole = sum(seconds[recipe] for recipe in trained)
            size = f"{read:,.0f} million tokens and {counted / 1e15:,.0f} PFLOP"
            pace = f"{whole / 60:.1f} minutes at {counted / whole / plan.PEAK:.0%} of peak"
            parts.append(f"{len(trained)} training{'s' * (len(trained) > 1)} of {size}, {pace}")
        lines.append("; ".join(parts))
    first = f"{minutes:g} minutes are given; peak is {plan.PEAK / 1e12:.0f} TFLOP/s, an H200's"
    return "\n".join([first, *lines])


def speeds(recipes: Iterable[Recipe]) -> pd.DataFrame:
    """How fast the trainings among some recipes were, by their own clock (dev losses in it, starting and reading text not).

    Returns
    -------
    pandas.DataFrame
        A row each: training (its label), steps, minutes, tokens a second (batches counted as full), share of peak
        (`helpers.plan.operations` over the seconds and `helpers.plan.PEAK`; nan where operations are not told).
    """
    rows = []
    for recipe in (one for one in recipes if one.kind.name in plan.COSTLY and (one.folder / "results/history.csv").exists()):
        history = pd.read_csv(recipe.folder / "results" / "history.csv")
        ends = history[history.step.diff(-1).fillna(1) > 0]  # of each of several parts, such as those of "scratch"
        done, seconds = ends.step.sum(), max(float(ends.seconds.sum()), 0.1)
        planned = plan.tokens(recipe.spec)
        part = done * recipe.spec["training"]["batch_tokens"] / planned  # less than all after an early stop
        counted = plan.operations(recipe.kind.name, recipe.spec)
        share = counted * part / seconds / plan.PEAK if counted else float("nan")
        values = {"steps": done, "minutes": seconds / 60, "tokens a second": planned * part / seconds, "share of peak": share}
        rows.append({"training": recipe.label} | values)
    return pd.DataFrame(rows, columns=["training", "steps", "minutes", "tokens a second", "share of peak"])


# --- handing over ----------------------------------------------------------------------------------------------------


def hand_over(wanted: Iterable[Recipe], models: Iterable[Recipe], out: Path) -> None:
    """Leave what was made here of some recipes in a folder, with the weights of some models: in pieces of at most `PIECE`.

    `index.json` says what is in which piece. A piece's name is that of its content, and the index is written last: whatever
    ends this in between, the folder is as it was before. Text, and what holds sentences of others' text, is not handed over.
    """
    shown = [recipe for recipe in wanted if not recipe.kind.text and archives.publishable(recipe)]
    own = [recipe for recipe in shown if (recipe.folder / "made.json").exists()]
    own = [recipe for recipe in own if not study.read_spec(recipe.folder / "made.json").get("published")]
    with _published_at(study.runs() / "handed"):
        entries, weighty = dict(published.index()), {recipe.key for recipe in models}
        for recipe in own:
            parts = entries.get(recipe.key, {"parts": {}})["parts"]
            if "results" not in parts or (recipe.key in weighty and "weights" not in parts):
                entries[recipe.key] = published.pack(recipe.folder, recipe.key in weighty)
        published.write_index(entries)
        bare = {key: one | {"parts": {"results": one["parts"]["results"]}} for key, one in entries.items()}
        entries = {key: one if key in weighty else bare[key] for key, one in entries.items()}
        files = {part: _pieces(part, entries, out) for part in published.PARTS}
    study.write_json(out / "index.json", {"runs": entries, "files": files})
    named = {file["file"] for pieces in files.values() for file in pieces}
    for part in published.PARTS:
        for left in out.glob(f"{part}-*"):
            if left.name not in named:
                left.unlink()


def _pieces(part: str, entries: Mapping[str, Mapping[str, Any]], out: Path) -> list[dict[str, Any]]:
    """Write the archives of a part, one after another in the order of their keys, as pieces; what is there already stays."""
    archives = [entries[key]["parts"][part] for key in sorted(entries) if part in entries[key]["parts"]]
    told, found = study.key([PIECE, *(archive["sha256"] for archive in archives)]), []
    size = sum(archive["bytes"] for archive in archives)
    names = [f"{part}-{told}-{number}" for number in range(1, -(-size // PIECE) + 1)]
    before = {file["file"]: file for file in _read(out).get("files", {}).get(part, [])}
    if all(name in before and (out / name).exists() for name in names):
        return [before[name] for name in names]
    content = b"".join((published.folder() / archive["file"]).read_bytes() for archive in archives)
    for number, name in enumerate(names):
        piece = content[number * PIECE : (number + 1) * PIECE]
        study.write_bytes(out / name, piece)
        found.append({"file": name, "sha256": hashlib.sha256(piece).hexdigest(), "bytes": len(piece)})
    return found


def _read(out: Path) -> dict[str, Any]:
    return study.read_spec(out / "index.json") if (out / "index.json").exists() else {}


@contextmanager
def _published_at(folder: Path) -> Iterator[None]:
    before = os.environ.get("HEADS_PUBLISHED")
    os.environ["HEADS_PUBLISHED"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("HEADS_PUBLISHED") if before is None else os.environ.__setitem__("HEADS_PUBLISHED", before)


def take(given: Path) -> str:
    """Publish what was handed over in a folder, beside what is published; without weights if none of their pieces is there.

    Returns
    -------
    str
        In words how much there was.

    Raises
    ------
    StudyError
        If the folder holds no index, or a piece or an archive is missing or damaged: nothing is published then.
    """
    told = _read(given)
    if not {"runs", "files"} <= set(told):
        raise StudyError(f"Nothing was handed over in {given}: there is no index.json that says what.")
    bare = not any((given / piece["file"]).exists() for piece in told["files"]["weights"])
    entries, archives = dict(told["runs"]), {}
    if odd := [key for key in entries if not re.fullmatch("[0-9a-f]{16}", key)]:
        raise StudyError(f"The index of {given} names a run {odd[0]!r}, which is no key: hand it over again.")
    for part in published.PARTS:
        if part == "weights" and bare:
            entries = {key: one | {"parts": {"results": one["parts"]["results"]}} for key, one in entries.items()}
            continue
        if spoilt := store.damaged(given, {piece["file"]: piece["sha256"] for piece in told["files"][part]}):
            raise StudyError(f"The file {given / spoilt} is missing or damaged: fetch it again.")
        content, at = b"".join((given / piece["file"]).read_bytes() for piece in told["files"][part]), 0
        for key in sorted(key for key in entries if part in entries[key]["parts"]):
            archive = entries[key]["parts"][part]
            name = f"{study.kind(entries[key]['kind']).name}/{key}.{part}.tar.xz"
            archives[name], at = content[at : at + archive["bytes"]], at + archive["bytes"]
            if archive["file"] != name or hashlib.sha256(archives[name]).hexdigest() != archive["sha256"]:
                raise StudyError(f"The archive {archive['file']} in {given} is damaged: hand it over again.")
    there = published.index()
    more = {key: one for key, one in entries.items() if len(one["parts"]) > len(there.get(key, {}).get("parts", {}))}
    more = {key: one | {"handed": True} for key, one in more.items()}
    for part in (part for one in more.values() for part in one["parts"].values()):
        study.write_bytes(published.folder() / part["file"], archives[part["file"]])
    published.write_index(there | more)
    return f"{len(more)} of {len(entries)} published" + (", weights left out: their pieces are not there" if bare else "")


# --- the command -----------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Make as much of a study as some minutes allow, prepare its texts alone, or take what was handed over."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.hour", description=main.__doc__)
    parser.add_argument("what", choices=("make", "texts", "take"))
    plan.options(parser)
    parser.set_defaults(profile="gpu")
    parser.add_argument("--minutes", type=float, default=55.0)
    parser.add_argument("--weights", action=argparse.BooleanOptionalAction, default=True, help="hand them over too")
    parser.add_argument("--out", type=Path, help="folder of what is handed over (default: handed_over in that of runs)")
    chosen = parser.parse_args(arguments)
    out = chosen.out or study.runs() / "handed_over"
    with study.one_sentence():
        if chosen.what == "take":
            return print(take(out))
        settings = plan.settings_of(chosen)
        stages = by_value(settings, subjects.names(settings, chosen.models), chosen.seed)
        wanted = ordered(stages)
        if chosen.what == "texts":
            texts = [(recipe, weights) for recipe, (_, weights) in wanted.items() if recipe.kind.text]
            return print(f"{len([study.make(*text) for text in texts])} texts are there")
        print(foretold(stages, chosen.minutes), flush=True)
        if chosen.minutes > 0:
            study.device()  # refuses where a GPU is asked for and none is there
        try:
            made = make(stages, chosen.minutes, out, weights=chosen.weights)
        except KeyboardInterrupt:
            study.say("stopped: the same command goes on where it was")
            raise SystemExit(130) from None
        if len(told := speeds(wanted)):
            print(told.to_string(index=False, float_format="{:,.2f}".format))
        left = sum(not recipe.made(weights) for recipe, (_, weights) in wanted.items())
        print(f"{len(made)} made now, {left} left for the next time; handed over in {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
