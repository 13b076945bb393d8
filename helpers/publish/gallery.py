"""Draw the committed figures again, and write their index.

`python -m helpers.publish.gallery` draws every figure in figures/ that has stored inputs anew, in its place, and writes
figures/README.md; it names figures that have none. `--index` writes the index alone. Captions come from the figures' sidecars.
"""

from __future__ import annotations

import argparse
import html
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from helpers import study
from helpers.publish import redraw
from helpers.study import StudyError, layout

PAPERS = {"Voita et al.": "1905.09418", "Ni et al.": "2305.14380", "Liu & Chen": "2312.09541"}
WIDTH = 220  # of a thumbnail, in pixels
TITLES = {"controlled": "Controlled text", "natural": "Natural text"}
ABOUT = (
    "Each track of the study, chapter by chapter. A figure that answers a paper's figure starts with its number."
    " `make figures` draws every figure again from the inputs stored beside its sidecar."
)


def paper(answers: str) -> str:
    """What a figure answers, with a link to the paper: "Voita et al., figure 7".

    Raises
    ------
    StudyError
        If it starts with no paper of this study.
    """
    name, _, _ = answers.partition(",")
    if name not in PAPERS:
        raise StudyError(f"A figure answers one of {', '.join(PAPERS)}, not {answers!r}.")
    return f"[{answers}](https://arxiv.org/abs/{PAPERS[name]})"


def caption(figures: Path, chapter: layout.Chapter, name: str) -> dict[str, Any]:
    """The sidecar of a figure; what it lacks for the index as the controlled figure of the same name says it.

    Raises
    ------
    StudyError
        If neither has a caption.
    """
    own = study.read_spec(chapter.sidecar(name))
    other = layout.Chapter(figures / layout.TRACKS[0] / chapter.name).sidecar(name)
    if "caption" not in own and other.exists():
        own = {key: value for key, value in study.read_spec(other).items() if key in ("caption", "answers", "table")} | own
    if "caption" not in own:
        raise StudyError(f"The figure {chapter.name}/{name} has no caption: give one to run.figure.")
    return own


def _row(figures: Path, chapter: layout.Chapter, name: str) -> str:
    facts = caption(figures, chapter, name)
    picture = next((path for ending in ("png", "gif") if (path := chapter.picture(name, ending)).exists()), None)
    if not picture:
        raise StudyError(f"The figure {chapter.name}/{name} has a sidecar and no picture: make it anew.")
    said = html.escape(facts["caption"])
    links = [f"[notebook](../notebooks/{chapter.name}.ipynb)"]
    for word, path in (("PDF", chapter.picture(name, "pdf")), ("table", chapter.table(facts.get("table", name)))):
        links += [f"[{word}]({path.relative_to(figures)})"] if path.exists() else []
    place = picture.relative_to(figures)
    image = f'<a href="{place}"><img src="{place}" width="{WIDTH}" alt="{said}"></a>'
    cells = (image, f"`{name}`<br>{said}", paper(facts["answers"]) if "answers" in facts else "", " · ".join(links))
    return f"| {' | '.join(cells)} |"


def _by_number(name: str) -> list[str | int]:
    """Sorts "fig10" behind "fig9"."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def index(figures: Path) -> str:
    """The index of the figures in a folder of tracks, as Markdown."""
    lines = ["# Figures", "", ABOUT]
    for track in filter(lambda track: (figures / track).is_dir(), layout.TRACKS):
        chapters = layout.chapters(figures / track)
        lines += ["", f"## {TITLES[track]}"]
        for chapter in chapters:
            number, _, title = chapter.name.partition("_")
            lines += ["", f"### {number} · {title.replace('_', ' ')}", ""]
            lines += ["| figure | what it shows | answers | more |", "|---|---|---|---|"]
            lines += [_row(figures, chapter, name) for name in sorted(chapter.figures(), key=_by_number)]
    return "\n".join(lines) + "\n"


def write(figures: Path) -> Path:
    """Write the index of a folder of tracks; returns its path."""
    path = figures / "README.md"
    study.write_text(path, index(figures))
    return path


def draw(wanted: list[tuple[Path, str]]) -> int:
    """Draw figures (folder of a track, name) again, each on a core of its own; returns how many."""
    with ProcessPoolExecutor() as pool:
        found = study.progress(pool.map(_drawn, wanted, chunksize=4), "figures", len(wanted))
        return sum(found)


def _drawn(place: tuple[Path, str]) -> int:
    return len(redraw.redraw(place[0], [place[1]]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.gallery", description=__doc__.splitlines()[0])
    parser.add_argument("--index", action="store_true", help="draw nothing")
    chosen = parser.parse_args(arguments)
    figures = study.ROOT / "figures"
    with study.one_sentence():
        tracks = [figures / track for track in layout.TRACKS if (figures / track).is_dir() and not chosen.index]
        if drawn := draw([(track, name) for track in tracks for name in redraw.with_inputs(track)]):
            print(f"{drawn} figures drawn")
        for line in (line for track in tracks for line in redraw.not_redrawn(track)):
            print(line)
        print(write(figures))


if __name__ == "__main__":
    main()
