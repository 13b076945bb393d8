"""As much of a study as some minutes of a GPU allow, the most valuable runs first, handed over in one file.

`python -m helpers.publish.hour make --minutes 55 --out FOLDER` goes on where it was; FOLDER/runs.tar is whole after every run.
`... take --out FOLDER`, on any machine, puts what it holds into the folder of published runs.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers import plan, study
from helpers.experiments import functions, pruning, relevance
from helpers.publish import archives
from helpers.runs import outputs, subjects, training
from helpers.study import Need, Recipe, StudyError, published, store

FILE = "runs.tar"
LEAST = 90.0  # seconds that must be left for a training to begin: text is encoded before its first step


def by_value(settings: Mapping[str, Any]) -> dict[Recipe, bool]:
    """All that the notebooks of a study read, each run after what it needs, and whether its weights are wanted.

    First models, then what is measured of them, then the pruning of encoder heads, then the rest (`helpers.plan.goals`).
    """
    names, seed = subjects.names(settings), 1
    models = [training.trained(subjects.spec(settings, name, seed), f"{name}, seed {seed}") for name in names]
    first = [outputs.recipe(made, settings["beam"]) for made in models]
    first += [*relevance.recipes(settings, models), *functions.recipes(settings, models)]
    first += [recipe for sweep in pruning.sweeps(settings, names, seed) for recipe in pruning.recipes(sweep)]
    needs = [*(Need(made, True) for made in models), *map(Need, first)]
    return plan.closure([*needs, *plan.together(plan.goals(settings, names, seed))])


def make(wanted: Mapping[Recipe, bool], minutes: float, out: Path) -> list[Recipe]:
    """Make what is missing, one after another, until the minutes are over; returns what was made now.

    A training that is not done by then is saved and goes on at the next call. What cannot be saved in between is begun only if
    it should be done in time. What fails is said, and costs nothing else.
    """
    deadline, rates, made = time.monotonic() + 60 * minutes, plan.Rates(), []
    for recipe, whole in wanted.items():
        left = deadline - time.monotonic()
        least = LEAST if recipe.kind.name in plan.COSTLY else rates.estimate(recipe) or LEAST
        if recipe.made(whole) or left < least or not all(need.recipe.made(need.weights) for need in recipe.needs):
            continue
        try:
            with _stopped_after(left):
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
        hand_over(wanted, out)
    hand_over(wanted, out)
    return made


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """What runs in the block is interrupted after so many seconds, as by Ctrl-C."""
    before = signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def hand_over(wanted: Iterable[Recipe], out: Path) -> None:
    """Leave what was made here in OUT/runs.tar, with the weights of models; text, and what shows others' text, is left out."""
    folder = study.runs() / "handed"
    entries = dict(published.index(folder))
    for recipe in wanted:
        manifest = recipe.folder / "made.json"
        if recipe.kind.text or not archives.publishable(recipe) or not manifest.exists() or recipe.key in entries:
            continue
        if not study.read_json(manifest).get("published"):
            entries[recipe.key] = published.pack(recipe.folder, recipe.kind is training.MODEL, folder)
    published.write_index(entries, folder)
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out / f".{FILE}", "w") as packed:
        packed.add(folder, ".")
    (out / f".{FILE}").replace(out / FILE)


def take(out: Path) -> str:
    """Publish what was handed over in a folder, beside what is published; says how much, or raises a StudyError."""
    if not (out / FILE).exists():
        raise StudyError(f"Nothing was handed over in {out}: there is no {FILE}.")
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(scratch)
        with tarfile.open(out / FILE) as packed:
            packed.extractall(given, filter="data")
        entries, there = study.read_json(given / "index.json")["runs"], published.index()
        more = {key: one for key, one in entries.items() if len(one["parts"]) > len(there.get(key, {}).get("parts", {}))}
        files = {part["file"]: part["sha256"] for one in more.values() for part in one["parts"].values()}
        odd = next((name for name in files if not (given / name).resolve().is_relative_to(given.resolve())), "")
        if spoilt := odd or store.damaged(given, files):
            raise StudyError(f"The run {spoilt} in {out / FILE} is damaged: hand it over again.")
        for name in files:
            study.write_bytes(published.folder() / name, (given / name).read_bytes())
        published.write_index(there | {key: one | {"handed": True} for key, one in more.items()})
    return f"{len(more)} of {len(entries)} published"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make as much of a study as some minutes allow, prepare its texts alone, or take what was handed over."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.hour", description=main.__doc__)
    parser.add_argument("what", choices=("make", "texts", "take"))
    plan.options(parser)
    parser.add_argument("--minutes", type=float, default=55.0)
    parser.add_argument("--out", type=Path, help="folder of what is handed over (default: handed_over in that of runs)")
    chosen = parser.parse_args(arguments)
    out = chosen.out or study.runs() / "handed_over"
    with study.one_sentence():
        if chosen.what == "take":
            return print(take(out))
        wanted = by_value(plan.settings_of(chosen))
        if chosen.what == "texts":
            return print(f"{len([study.make(*text) for text in wanted.items() if text[0].kind.text])} texts are there")
        study.device()  # refuses where a GPU is asked for and none is there
        print(f"{len(make(wanted, chosen.minutes, out))} made now; handed over in {out / FILE}")


if __name__ == "__main__":
    main(sys.argv[1:])
