"""Draw the figures of a run again from what they were drawn from, in seconds: after a change of style, without its models.

`python -m helpers.publish.redraw runs/laptop-controlled [CHAPTER/NAME ...] [--output FOLDER]` calls the figure functions again
on the inputs that `helpers.study.Run.figure` stored. They are plain values: reading them runs no code but that of figure
functions. The folder of a reference, such as figures/controlled, serves as well as that of a run.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from helpers import drawing, study
from helpers.study import StudyError, layout, values


def figure_function(name: str) -> Callable[..., Any]:
    """The figure function of this name.

    Parameters
    ----------
    name : str
        With its module, such as "helpers.plots.basic.curve".

    Raises
    ------
    StudyError
        If this project has no such function, or it is not decorated with `redrawable`.
    """
    module, _, own = name.rpartition(".")
    try:
        known = re.fullmatch(r"(helpers|benchmarks)(\.\w+)+", module)
        function = getattr(importlib.import_module(module), own, None) if known else None
    except ImportError:
        function = None
    if getattr(function, "redrawable", False) is not True:
        raise StudyError(f"There is no figure function {name!r} in this project.")
    return function


def sidecar(run: Path, name: str) -> dict[str, Any]:
    """The sidecar of the figure "CHAPTER/NAME" in the folder `run`.

    Raises
    ------
    StudyError
        If it is missing or cannot be read.
    """
    chapter, own = _placed(run, name)
    return study.read_spec(chapter.sidecar(own))


def _placed(run: Path, name: str) -> tuple[layout.Chapter, str]:
    chapter, _, own = name.rpartition("/")
    return layout.Chapter(run / chapter), own


def figures(run: Path) -> list[str]:
    """Figures of the run in the folder `run`, as "CHAPTER/NAME".

    Raises
    ------
    StudyError
        If there is no figure.
    """
    names = [f"{chapter.name}/{name}" for chapter in layout.chapters(run) for name in chapter.figures()]
    if not names:
        raise StudyError(f"There is no figure in {run}: name the folder of a run, such as runs/laptop-controlled.")
    return names


def with_inputs(run: Path) -> list[str]:
    """Figures of a run that have stored inputs."""
    return [name for name in figures(run) if "inputs" in sidecar(run, name)]


def not_redrawn(run: Path) -> list[str]:
    """What to say of each figure of a run that has no stored inputs: its name, and the command that draws it."""
    told = {name: sidecar(run, name) for name in figures(run)}
    return [
        f"not redrawn: {name}, which its notebook draws: {facts['command']}"
        for name, facts in told.items()
        if "inputs" not in facts
    ]


def full_name(run: Path, name: str) -> str:
    """The figure of a run that a name means: "CHAPTER/NAME", or its last part where that is enough.

    Raises
    ------
    StudyError
        If there is no such figure, or there are several.
    """
    known = figures(run)
    meant = [name] if name in known else [full for full in known if full.endswith(f"/{name}")]
    if len(meant) > 1:
        raise StudyError(f"Several figures in {run} are called {name!r}: choose from {', '.join(meant)}.")
    if not meant:
        raise StudyError(f"There is no figure {name!r} in {run}: choose from {', '.join(known)}.")
    return meant[0]


def drawing_of(run: Path, name: str) -> Callable[[], Any]:
    """What draws the figure "CHAPTER/NAME" again when it is called.

    Raises
    ------
    StudyError
        If the figure has no stored inputs, or they are missing, damaged, or of other code than there is.
    """
    facts, (chapter, own) = sidecar(run, name), _placed(run, name)
    again = f"run its notebook again ({facts.get('command', 'papermill')})"
    if "inputs" not in facts:
        raise StudyError(f"The figure {name} has no stored inputs: {again}.")
    path = chapter.inputs(str(facts["inputs"].get("of", own)))
    if not path.exists():
        raise StudyError(f"The inputs {path} are missing: {again}.")
    if study.digest(path) != facts["inputs"]["sha256"]:
        raise StudyError(f"The inputs {path} are damaged or belong to another figure: {again}.")
    try:
        return partial(figure_function(str(facts["inputs"]["function"])), **values.read(path))
    except (StudyError, TypeError, LookupError) as error:
        raise StudyError(f"The inputs of {name} do not fit today's code ({str(error).rstrip('.')}): {again}.") from None


def redraw(run: Path, names: Iterable[str] = (), output: Path | None = None) -> list[Path]:
    """Draw figures again, each with its sidecar: `redrawn` there says when and with which code, where a figure became another.

    Parameters
    ----------
    run : pathlib.Path
        Folder of a run.
    names : iterable of str
        Figures, as `full_name` takes them; all that have stored inputs if there are none.
    output : pathlib.Path, optional
        Where their chapters go; in their old places by default.

    Returns
    -------
    list of pathlib.Path
        The bitmaps.

    Raises
    ------
    StudyError
        As `full_name` and `drawing_of`, before anything is drawn; or if a function does not take its stored inputs any longer.
    """
    wanted = [full_name(run, name) for name in names] or with_inputs(run)
    if not wanted:
        raise StudyError(f"No figure in {run} has stored inputs: run its notebooks again.")
    calls = {name: drawing_of(run, name) for name in wanted}
    code, made, drawn = study.code_version("."), study.provenance(), []
    redrawn = {"time": made["time"], "commit": made["commit"], "code": code}
    drawing.style()
    for name, call in study.progress(calls.items(), "figures", len(calls)):
        facts, (old, own), (new, _) = sidecar(run, name), _placed(run, name), _placed(output or run, name)
        before = _bytes(old, own)
        try:
            figure = call()
        except TypeError as error:
            raise StudyError(f"{name} cannot be drawn from its stored inputs ({error}): {facts['command']}.") from None
        drawn.append(study.save_figure(figure, new.folder, own))
        changed = before != _bytes(new, own)
        study.write_json(new.sidecar(own), facts | ({"redrawn": redrawn} if changed else {}))
    return drawn


def _bytes(chapter: layout.Chapter, name: str) -> list[bytes]:
    """The files of a figure."""
    files = [chapter.picture(name, ending) for ending in ("png", "pdf", "gif")]
    return [path.read_bytes() for path in files if path.exists()]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.redraw", description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a figure: CHAPTER/NAME, or NAME (default: all)")
    parser.add_argument("--output", type=Path, help="folder of the new chapters (default: in their old places)")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        for path in redraw(chosen.run, chosen.names, chosen.output):
            print(path)
        for line in [] if chosen.names else not_redrawn(chosen.run):
            print(line)


if __name__ == "__main__":
    main()
