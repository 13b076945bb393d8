"""What a reader may expect of an executed notebook: an experiment in sight, told by people."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from helpers.drawing import WIDTH

CELL, SET_UP, BY_CODE = 25, 12, 0.15  # lines of a cell, of the hidden one; share of words that code may make


def outputs(notebook, kind: str) -> Iterator[str]:
    """What the cells show of a kind, such as text/html, in order."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if kind in output.get("data", {}):
                yield str(output["data"][kind])


def letters(pdf: Path) -> float:
    """Points of a saved figure's smallest letters where it is printed no wider than a page's text."""
    written = pdf.read_bytes()
    assert written.startswith(b"%PDF")
    drawn = b"".join(
        zlib.decompressobj().decompress(part)
        for part in re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", written, re.S)
    )
    wide = float(re.search(rb"/MediaBox \[\s*0 0 ([\d.]+)", written)[1]) / 72
    return min(map(float, re.findall(rb"/F\S* ([\d.]+) Tf", drawn))) * min(1, WIDTH / wide)


def lines(cell) -> int:
    """Lines of a cell that are not empty."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def faults(notebook) -> list[str]:
    """What a reader cannot see or change: hidden code, long cells, figures that are not shown, words made by code."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code = [cell for cell in code if not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))]
    unseen = [lines(cell) for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    found = [f"hidden cells of {unseen} lines"] if len(unseen) > 1 or max(unseen, default=0) > SET_UP else []
    found += [f"a cell of {lines(cell)} lines" for cell in code if lines(cell) > CELL]
    found += ["a figure that is not shown" for cell in code if "show=False" in cell.source]
    people = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    rows = [row for text in outputs(notebook, "text/markdown") for row in text.splitlines() if not row.lstrip().startswith("|")]
    if sum(len(row.split()) for row in rows) > BY_CODE * people:
        found.append("most words are made by code")
    return found
