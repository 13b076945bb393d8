"""Draw the figures of a run again from what they were drawn from, in seconds: after a change of style, without its models.

`python -m helpers.redraw runs/laptop-controlled [NAME ...] [--output FOLDER]` calls the figure functions again on the inputs
that `helpers.study.Run.figure` stored. They are plain values: reading them runs no code but that of figure functions.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable, Iterable
from functools import partial, wraps
from pathlib import Path
from typing import Any

from helpers import study
from helpers.study import StudyError, values


def redrawable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a figure function: what it returns, a figure or an animation, knows in `drawn_by` how it was called.

    Only functions of this project are found again by their names: figures of others do not know it.
    """

    @wraps(function)
    def call(*args, **kwargs):
        drawn = function(*args, **kwargs)
        drawn.drawn_by = partial(call, *args, **kwargs) if call.__module__.startswith("helpers.") else None
        return drawn

    call.redrawable = True
    return call


def figure_function(name: str) -> Callable[..., Any]:
    """The figure function of this name.

    Parameters
    ----------
    name : str
        With its module, such as "helpers.figures.pruning_curves".

    Raises
    ------
    StudyError
        If this project has no such function, or it is not decorated with `redrawable`.
    """
    module, _, own = name.rpartition(".")
    try:
        known = re.fullmatch(r"helpers(\.\w+)+", module)
        function = getattr(importlib.import_module(module), own, None) if known else None
    except ImportError:
        function = None
    if getattr(function, "redrawable", False) is not True:
        raise StudyError(f"There is no figure function {name!r} in this project.")
    return function


def sidecar(run: Path, name: str) -> dict[str, Any]:
    """The sidecar of a figure of the run in the folder `run`.

    Raises
    ------
    StudyError
        If there is no such figure, or its sidecar cannot be read.
    """
    path = run / "figures" / f"{name}.json"
    if not path.exists():
        known = ", ".join(figures(run))
        raise StudyError(f"There is no figure {name!r} in {run}: choose from {known}.")
    return study.read_spec(path)


def figures(run: Path) -> list[str]:
    """Names of the figures of the run in the folder `run`.

    Raises
    ------
    StudyError
        If there is no figure.
    """
    names = sorted(path.stem for path in (run / "figures").glob("*.json"))
    if not names:
        raise StudyError(f"There is no figure in {run}: name the folder of a run, such as runs/laptop-controlled.")
    return names


def stored(run: Path, name: str) -> Callable[[], Any]:
    """What draws a figure again when it is called.

    Raises
    ------
    StudyError
        If the figure has no stored inputs, or they are missing, damaged, or of other code than there is.
    """
    facts, path = sidecar(run, name), run / "inputs" / f"{name}.json.gz"
    again = f"run its notebook again ({facts.get('command', 'papermill')})"
    if "inputs" not in facts:
        raise StudyError(f"The figure {name} has no stored inputs: {again}.")
    if not path.exists():
        raise StudyError(f"The inputs {path} are missing: {again}.")
    if study.digest(path) != facts["inputs"]["sha256"]:
        raise StudyError(f"The inputs {path} are damaged or belong to another figure: {again}.")
    try:
        call = values.read(path)
        return partial(figure_function(str(call["function"])), *call["args"], **call["kwargs"])
    except (StudyError, TypeError, LookupError) as error:
        raise StudyError(f"The inputs of {name} do not fit today's code ({str(error).rstrip('.')}): {again}.") from None


def redraw(run: Path, names: Iterable[str] = (), output: Path | None = None) -> list[Path]:
    """Draw figures again, each with its sidecar, in which `redrawn` says when and with which code.

    Parameters
    ----------
    run : pathlib.Path
        Folder of a run.
    names : iterable of str
        Figures; all that have stored inputs if there are none.
    output : pathlib.Path, optional
        Where they go; in their old places by default.

    Returns
    -------
    list of pathlib.Path
        The bitmaps.

    Raises
    ------
    StudyError
        As `stored`, before anything is drawn; or if a function does not take its stored inputs any longer.
    """
    from helpers.figures import style

    wanted = list(names) or [name for name in figures(run) if "inputs" in sidecar(run, name)]
    if not wanted:
        raise StudyError(f"No figure in {run} has stored inputs: run its notebooks again.")
    calls = {name: stored(run, name) for name in wanted}
    folder, drawn = output or run / "figures", []
    code, made = study.code_version("."), study.provenance()
    style()
    for name, call in study.progress(calls.items(), "figures", len(calls)):
        facts = sidecar(run, name)
        try:
            figure = call()
        except TypeError as error:
            raise StudyError(f"{name} cannot be drawn from its stored inputs ({error}): {facts['command']}.") from None
        drawn.append(study.save_figure(figure, folder, name))
        redrawn = {"time": made["time"], "commit": made["commit"], "code": code}
        study.write_json(folder / f"{name}.json", facts | {"redrawn": redrawn})
    return drawn


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.redraw", description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a figure, without ending (default: all)")
    parser.add_argument("--output", type=Path, help="folder of the new figures (default: in their old places)")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        for path in redraw(chosen.run, chosen.names, chosen.output):
            print(path)
        for name in [] if chosen.names else figures(chosen.run):
            if "inputs" not in (facts := sidecar(chosen.run, name)):
                print(f"not redrawn: {name}, which its notebook draws: {facts['command']}")


if __name__ == "__main__":
    main()
