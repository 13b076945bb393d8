"""Draw figures of the notebooks again from the committed tables, without a model: after a change of style, in a minute.

`python -m helpers.publish.figures` draws each figure of `DRAWN` in its place in `figures/controlled` and says which others only
their notebooks draw. What stands here is what the notebook's own cell says, with its table read from the file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from helpers import drawing, plots, study
from helpers.study import layout

FIGURES = study.ROOT / "figures" / "controlled"


def table(name: str) -> pd.DataFrame:
    """The committed table CHAPTER/NAME of generated text; CHAPTER is its number."""
    chapter, _, title = name.partition("/")
    (path,) = FIGURES.glob(f"{chapter}_*/tables/{title}.csv")
    return pd.read_csv(path)


DRAWN: dict[str, Callable[[], object]] = {
    "01/fig1_relevance_and_confidence": lambda: plots.by_relevance(table("01/heads_by_relevance")),
    "02/table1_syntactic_heads": lambda: plots.gains(table("02/table1_syntactic_heads")),
}


def draw(name: str, output: Path = FIGURES) -> Path:
    """Draw a figure of `DRAWN` into its chapter in a folder; returns the bitmap."""
    chapter, _, title = name.partition("/")
    (folder,) = FIGURES.glob(f"{chapter}_*")
    return study.save_figure(DRAWN[name](), output / folder.name, title)


def main() -> None:
    """Draw all of them."""
    drawing.style()
    for name in DRAWN:
        print(draw(name).relative_to(study.ROOT))
    known = [f"{chapter.name[:2]}/{name}" for chapter in layout.chapters(FIGURES) for name in chapter.figures()]
    others = ", ".join(name for name in known if name not in DRAWN)
    print(f"drawn by their notebooks alone (make study): {others}")


if __name__ == "__main__":
    main()
