"""Kill the study at random moments, start it again, and compare its tables with those of an undisturbed run.

`python workflow/faults.py --profile quick --kills 20 --reference runs/quick-controlled --scratch FOLDER --without all`
runs `make study PROFILE=quick FRESH=1` in a store of its own below FOLDER: everything is made there, and nothing is needed of
the reference but its tables. `--without model,pruned` lets what is finished beside the reference be there from the start, as
hard links, but for what it names; what was made from that (outputs, scores) stays unless it is named too. Where the study is
done before all kills have happened, its tables are compared and it begins again from the same start.
FOLDER/report.json says what happened, FOLDER/logs holds what every start wrote.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from helpers import study
from helpers.study import StudyError, layout

MARK = "HEADS_FAULTS"  # environment variable by which the processes of a start are known, whatever session they are in
TIMED = {
    "rate": ("rate", "ratio", "low", "high"), "speed": ("speed",), "seconds": ("seconds",), "cost": ("cost",),
}  # if there: left out  # fmt: skip
COMPLAINT = re.compile(r"Traceback \(most recent call last\)|^\s*(\w+Error|Exception|error)\b.*:|^\s*Error in rule|DeadKernel")


# --- processes -------------------------------------------------------------------------------------------------------


def marked(mark: str) -> list[psutil.Process]:
    """Living processes whose environment holds the mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # ended meanwhile, or another user's
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def kill(mark: str) -> dict[int, list[str]]:
    """End all processes with the mark by SIGKILL, at one moment for all: they are stopped first, so that none sees another end.

    Returns
    -------
    dict
        Process number -> command line, of each.

    Raises
    ------
    StudyError
        If one is still there after a minute.
    """
    stopped: dict[psutil.Process, list[str]] = {}
    while new := [process for process in marked(mark) if process not in stopped]:
        for process in new:
            stopped[process] = []
            with contextlib.suppress(psutil.Error):
                process.suspend()
                stopped[process] = process.cmdline()
    for process in stopped:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    late = time.time() + 60
    while left := marked(mark):
        if time.time() > late:
            raise StudyError(f"Process {left[0].pid} cannot be killed: end it before the next start.")
        time.sleep(0.05)
    return {process.pid: command for process, command in stopped.items()}


def rules(commands: Iterable[Sequence[str]]) -> list[str]:
    """Which rules of the workflow command lines belong to: kinds that jobs make, notebooks by their names."""
    found = set()
    for command in commands:
        for part, following in pairwise(command):
            if part == "papermill":
                found.add(f"notebook {Path(following).stem}")
            elif part == "--make":  # of a file KIND-KEY.json
                found.add(Path(following).stem.rpartition("-")[0].replace("_", " "))
    return sorted(found)


def start(command: Sequence[str], environment: Mapping[str, str], log: Path, seconds: float | None) -> dict[str, Any]:
    """Run a command with all that it starts until it ends, or kill everything after so many seconds.

    Returns
    -------
    dict
        code (None where it was killed), seconds, killed (process number -> command line), complaints (lines of the log).
    """
    mark, began = uuid.uuid4().hex, time.time()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=study.ROOT, env=os.environ | environment | {MARK: mark}, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            took, killed = time.time() - began, kill(mark)
            process.wait()
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    complaints = [line.strip() for line in lines if COMPLAINT.search(line)]
    return {"code": code, "seconds": round(took, 1), "killed": killed, "complaints": complaints}


# --- the store -------------------------------------------------------------------------------------------------------


def fill(store: Path, target: Path, without: Iterable[str]) -> dict[str, int]:
    """Put hard links to everything finished in a store into another one, but for the given kinds and keys.

    What was published counts as made there, so that it is not made anew.

    Returns
    -------
    dict
        Kind -> how many things of it were linked.
    """
    linked: dict[str, int] = {}
    for manifest in sorted(store.glob("[!.]*/[!.]*/made.json")):
        kind, key = manifest.parts[-3:-1]
        if kind not in without and key not in without:
            shutil.copytree(manifest.parent, target / kind / key, copy_function=os.link)
            told = study.read_spec(manifest)
            if told.pop("published", False):
                study.write_json(target / kind / key / manifest.name, told)
            linked[kind] = linked.get(kind, 0) + 1
    return linked


def building(scratch: Path, processes: Iterable[int]) -> tuple[list[str], list[str]]:
    """Things ("kind/key") that the given processes were making when they ended, and those of them that left a checkpoint."""
    folders = [path for number in processes for path in scratch.glob(f"*/*/.*.{number}") if path.is_dir()]
    made = sorted({f"{path.parent.name}/{path.name.split('.')[1]}" for path in folders})
    work = scratch / "runs" / "work"
    return made, [name for name in made if (work / Path(name).name / "checkpoint.pt").exists()]


def rubbish(scratch: Path) -> list[Path]:
    """Files that killed processes left behind in scratch folders or under scratch names."""
    files = [file for side in ("runs", "data") for file in (scratch / side).rglob("*") if file.is_file()]
    return [file for file in files if any(part.startswith(".") for part in file.relative_to(scratch).parts)]


# --- tables ----------------------------------------------------------------------------------------------------------


def tables(run: Path) -> list[str]:
    """Tables of all chapters of a run, as paths in it."""
    return [str(path.relative_to(run)) for path in layout.tables(run)]


def rows(path: Path) -> tuple[list[list[str]], list[str]]:
    """The cells of a CSV file as text, without columns that hold times or speeds, and the names of these."""
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    timed = {name for column, names in TIMED.items() if column in cells[0] for name in names}
    places = [number for number, name in enumerate(cells[0]) if name not in timed]
    return [[row[number] for number in places] for row in cells], sorted(timed & set(cells[0]))


def _same(one: str, other: str) -> bool:
    """Whether two cells hold the same text, or numbers that differ in nothing but rounding (sums in vector registers)."""
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=1e-12, abs_tol=1e-15)
    except ValueError:
        return False


def differences(reference: Path, folder: Path) -> list[str]:
    """Where the tables of two runs differ, a line for each table that is missing and each cell that is not the same."""
    found = []
    names = {side: set(tables(side)) for side in (reference, folder)}
    for name in sorted(names[reference] | names[folder]):
        if name not in names[reference] & names[folder]:
            found.append(f"{name}: only in {reference if name in names[reference] else folder}")
            continue
        one, two = rows(reference / name)[0], rows(folder / name)[0]
        if [len(row) for row in one] != [len(row) for row in two]:
            found.append(f"{name}: {len(one)} rows of {len(one[0])} columns became {len(two)} of {len(two[0])}")
            continue
        for number, (expected, given) in enumerate(zip(one, two, strict=True)):
            pairs = zip(one[0], expected, given, strict=True)
            found += [f"{name}, row {number}, {column!r}: {a} became {b}" for column, a, b in pairs if not _same(a, b)]
    return found


# --- the command -----------------------------------------------------------------------------------------------------


def disturb(chosen: argparse.Namespace) -> dict[str, Any]:
    """Run the study with kills until it is done; returns the report.

    Raises
    ------
    StudyError
        If the reference has no tables, the scratch folder is not empty, or there is nothing of a kind or key to leave out.
    """
    wanted = study.settings(chosen.profile, study.parse_overrides(chosen.set))["corpus"]
    reference, scratch, without = chosen.reference.resolve(), chosen.scratch.resolve(), chosen.without.split(",")
    run, stores = scratch / "runs" / f"{chosen.profile}-{wanted}", {"runs": reference.parent, "data": study.data()}
    if "all" not in without:
        known = {part for store in stores.values() for made in store.glob("*/*/made.json") for part in made.parts[-3:-1]}
        if unknown := [part for part in without if part not in known | {""}]:
            raise StudyError(f"There is no kind or key {unknown[0]!r} beside {reference}: write kinds such as model, or all.")
    if not tables(reference):
        raise StudyError(f"There are no tables in {reference}: name the folder of a finished run.")
    if scratch.exists() and any(scratch.iterdir()):
        raise StudyError(f"The folder {scratch} is not empty: name another one.")
    environment = {f"HEADS_{side.upper()}": str(scratch / side) for side in stores}
    venv = Path(sys.prefix)
    command = ["make", "-o", f"{venv / 'ready'}", "study", f"VENV={venv}", f"PROFILE={chosen.profile}", f"SET={chosen.set}"]
    command += [f"CORES={chosen.cores}", f"ONLY={chosen.only}", "FRESH=1"]
    draw, began, anew = random.Random(chosen.seed), time.time(), True
    report: dict[str, Any] = {"command": command, "settings": {k: str(v) for k, v in vars(chosen).items()}, "kills": []}
    report |= {"starts": [], "done": 0, "differences": []}
    while True:
        if anew:
            for side, store in stores.items():
                shutil.rmtree(scratch / side, ignore_errors=True)
                linked = fill(store, scratch / side, without) if "all" not in without else {}
                report[f"linked, {side}"] = linked
        wait = draw.expovariate(1 / chosen.mean) if chosen.draw == "exponential" else draw.uniform(0, 2 * chosen.mean)
        number, seconds = len(report["starts"]) + 1, wait if len(report["kills"]) < chosen.kills else None
        ended = start(command, environment, scratch / "logs" / f"{number:03}.txt", seconds)
        killed, anew = ended.pop("killed"), ended["code"] == 0
        report["starts"].append(ended)
        if ended["code"] is None:
            made, resumed = building(scratch, killed)
            running = rules(killed.values()) or ["planning"]
            at = {"start": number, "second": ended["seconds"], "of all": round(time.time() - began, 1)}
            report["kills"].append(at | {"processes": len(killed), "rules": running, "building": made, "resumed": resumed})
            print(f"kill {len(report['kills'])} after {at['second']} s: {', '.join(running)}", flush=True)
        elif ended["code"]:
            break
        else:
            report["done"] += 1
            found = differences(reference, run)
            other = f"only in {reference}"  # tables of other notebooks
            report["differences"] += [line for line in found if not (chosen.only and line.endswith(other))]
            if len(report["kills"]) >= chosen.kills:
                break
        study.write_json(scratch / "report.json", report)  # what is known so far, should this one be killed itself
    left, written = rubbish(scratch), tables(run)
    report |= {
        "seconds": round(time.time() - began, 1),
        "resumes": sum(len(kill["resumed"]) for kill in report["kills"]),
        "complaints": [line for one in report["starts"] for line in one["complaints"]],
        "tables": written,
        "left out": {name: timed for name in written if (timed := rows(run / name)[1])},
        "left behind": {"files": len(left), "bytes": sum(file.stat().st_size for file in left)},
    }
    report["passed"] = ended["code"] == 0 and not report["differences"] and not report["complaints"]
    return report


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="laptop")
    parser.add_argument("--set", default="", help="settings, as for make study")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--only", default="", help="notebooks, as for make study; tables of others are not missed")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--mean", type=float, default=60.0, help="seconds from a start to its kill, on average")
    parser.add_argument("--draw", choices=("exponential", "uniform"), default="exponential", help="uniform: from 0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", type=Path, required=True, help="folder of an undisturbed run, in its store")
    parser.add_argument("--scratch", type=Path, required=True, help="empty folder on the disk of the reference")
    parser.add_argument("--without", default="", help="kinds and keys to be made anew, between commas; all: everything")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        report = disturb(chosen)
        study.write_json(chosen.scratch / "report.json", report)
        counts = f"{len(report['kills'])} kills, {report['resumes']} resumes, {len(report['tables'])} tables"
        print(f"{counts}, {len(report['differences'])} differences, {len(report['complaints'])} complaints")
        if not report["passed"]:
            raise StudyError(f"The disturbed study is not as the undisturbed one: read {chosen.scratch / 'report.json'}.")


if __name__ == "__main__":
    main()
