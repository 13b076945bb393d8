"""Put a run's notebooks, figures and tables where the reference results are committed.

`python -m helpers.publish.reference runs/laptop-controlled` fills the outputs of `notebooks/*.ipynb` from the executed ones and
copies the chapters of the run, as they are, to `figures/controlled/` (the track). Chapters that the run lacks stay. `--figures`
leaves the notebooks alone.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import jupytext
import nbformat

from helpers import study
from helpers.study import StudyError, layout

SHOW_TEXT = ("hits_and_misses*", "matrices*", "attention*")  # figures; of others' text they stay here


def for_readers(outputs):
    """Of a cell's outputs those that are for readers: no progress bars, and not what went to stderr."""
    bars = "application/vnd.jupyter.widget-view+json"
    return [output for output in outputs if output.get("name") != "stderr" and bars not in output.get("data", {})]


def fill(paired, executed):
    """A notebook with the cells of its pair and the outputs of an executed copy.

    Injected parameters, the runner's metadata, progress bars and what went to stderr (warnings with local paths) stay out.
    """
    done = [c for c in executed.cells if c.cell_type == "code" and "injected-parameters" not in c.metadata.get("tags", [])]
    cells = [c for c in paired.cells if c.cell_type == "code"]
    if [c.source for c in done] != [c.source for c in cells]:
        raise StudyError("The executed notebook has other cells than its pair: run it again.")
    for cell, ran in zip(cells, done, strict=True):
        if ran.execution_count is None or any(o.output_type == "error" for o in ran.outputs):
            raise StudyError("The executed notebook has a cell that failed or did not run: run it again.")
        cell.outputs = for_readers(ran.outputs)
        for output in cell.outputs:
            output.pop("transient", None)
        cell.execution_count = ran.execution_count
    return paired


def place(run: Path, notebooks: bool = True) -> Path:
    """Put the run in the folder `run` where it is committed; returns the folder of its figures."""
    if not layout.chapters(run):
        raise StudyError(f"There is no finished run in {run}: name a folder such as runs/laptop-controlled.")
    folder = study.ROOT / "figures" / layout.track(run)
    for chapter in layout.chapters(run):
        shutil.rmtree(folder / chapter.name, ignore_errors=True)
        hidden = SHOW_TEXT if layout.track(run) == "natural" else ()
        shutil.copytree(chapter.folder, folder / chapter.name, ignore=shutil.ignore_patterns(".*", *hidden))
    for path in sorted(run.glob("*.ipynb")) if notebooks else ():
        paired = study.ROOT / "notebooks" / path.name
        made = jupytext.read(study.ROOT / "notebooks" / "py" / f"{path.stem}.py")
        old = nbformat.read(paired, 4) if paired.exists() else made
        for cell, before in zip(made.cells, old.cells, strict=False):
            cell["id"] = before.get("id", cell.get("id"))  # keeps differences between runs small
        study.write_text(paired, nbformat.writes(fill(made, nbformat.read(path, 4))) + "\n")
    return folder


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.reference", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--figures", action="store_true", help="figures and tables only")
    chosen = parser.parse_args(arguments)
    with study.one_sentence():
        print(place(chosen.run, not chosen.figures))


if __name__ == "__main__":
    main()
