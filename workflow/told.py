"""Run a job of the workflow and say in one line that it is done, and what is left: told.py PLAN STAMPS NAME COMMAND ...

PLAN is what `helpers.plan.write` wrote, beside which executed notebooks come to lie; STAMPS the folder of the jobs' stamps.
What a notebook writes while it runs goes to a file; of one that fails the last lines are shown.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

SHOWN = 12  # lines of a notebook that failed


def finished(plan: Path, stamps: Path, told: dict) -> set[str]:
    """Names of jobs and notebooks that are done since the plan was written."""
    began = plan.stat().st_mtime
    places = {name: stamps / name for name in told["jobs"]}
    places |= {name: plan.parent / f"{name}.ipynb" for name in told["notebooks"]}
    return {name for name, place in places.items() if place.exists() and place.stat().st_mtime >= began}


def duration(seconds: float) -> str:
    """In words, as people say it: "40 s", "12 min", "3.5 h"."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def line(plan: Path, stamps: Path, name: str, took: float) -> str:
    """What is said of a job that is done."""
    told = json.loads(plan.read_text(encoding="utf-8"))
    costs = {id: job["seconds"] for id, job in told["jobs"].items()} | dict.fromkeys(told["notebooks"], told["a_notebook"])
    done = finished(plan, stamps, told) | {name}
    left = sum(seconds for other, seconds in costs.items() if other not in done) / told["cores"]
    label = told["jobs"][name]["label"] if name in told["jobs"] else f"notebook {name}"
    rest = f"about {duration(left)} left" if len(done) < len(costs) else "all done"
    return f"{time.strftime('%H:%M')}  {len(done)} of {len(costs)}  {label} ({duration(took)}); {rest}"


def main(plan: Path, stamps: Path, name: str, command: list[str]) -> int:
    began, log = time.time(), plan.parent / "logs" / f"{name}.txt"
    if "papermill" in command:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
        if code > 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN:]
            print(*last, f"The notebook {name} failed; all that it wrote: {log}", sep="\n", file=sys.stderr, flush=True)
    else:
        code = subprocess.run(command).returncode
    if not code:
        print(line(plan, stamps, name, time.time() - began), file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]))
