"""Run a command so that Ctrl-C, or SIGTERM, ends it with all that it started in seconds: interruptible.py COMMAND ARGUMENT ...

What trains saves where it is and goes on from there; nothing else leaves anything half-written behind.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

PATIENCE = 5.0  # seconds between asking and killing


def end(process: psutil.Process) -> None:
    """Ask a process and all that it started to end, then kill what is left."""
    family = [*process.children(recursive=True), process]
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.terminate()
    _, left = psutil.wait_procs(family, PATIENCE)
    for one in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # whose parents had gone before, or that were started meanwhile


def main(command: list[str]) -> int:
    """Run the command; its exit code, or 130 if it was stopped."""
    asked: list[int] = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda number, frame: asked.append(number))
    process = subprocess.Popen(command, start_new_session=True)  # a Ctrl-C reaches this process alone
    while process.poll() is None and not asked:
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    if asked and process.poll() is None:
        print("stopped: the same command goes on where it was", file=sys.stderr)
        end(psutil.Process(process.pid))
        return 130
    code, logs = process.wait(), sorted(Path(".snakemake/log").glob("*.log"))
    if code and logs:
        print(f"stopped; the workflow's own log: {logs[-1]}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
