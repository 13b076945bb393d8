"""What a reader may expect of an executed notebook: an experiment in sight, told by people; or, of those that are still to be
rewritten, the answer first, few figures, each with what it says, short tables."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from helpers.drawing import WIDTH

FIGURES, COLUMNS, ROWS, WORDS, TAKEAWAY, CODE, FIRST = 8, 7, 12, 150, 40, 20, 90
METHOD = 25  # lines of a cell with the tag "method", in which the method is shown as code
OPENING, ALL = 130, 1800  # words above the answer, and of all prose that is not folded, tables left out


def outputs(notebook) -> Iterator[tuple[str, str]]:
    """Kind and content of what the cells show, in order: picture, markdown, html; headings of text cells as heading."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from (("heading", line) for line in cell.source.splitlines() if line.startswith("## "))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if {"image/png", "image/gif"} & set(data):
                yield "picture", ""
            elif "text/markdown" in data:
                yield "markdown", str(data["text/markdown"])
            elif "text/html" in data:
                yield "html", str(data["text/html"])


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


def prose(notebook) -> list[int]:
    """Words of each cell that are read without unfolding anything, those of tables left out."""
    told = []
    for cell in notebook.cells:
        texts = [cell.source] if cell.cell_type == "markdown" else []
        texts += [str(output.get("data", {}).get("text/markdown", "")) for output in cell.get("outputs", [])]
        open_ = re.sub(r"<details>.*?</details>|<!--.*?-->", "", "\n".join(texts), flags=re.S)
        bare = re.sub(r"\]\([^)]*\)", "]", open_)
        told.append(sum(len(line.split()) for line in bare.splitlines() if not line.startswith("|")))
    return told


def visible(notebook) -> int:
    """Lines of code that a reader passes by, besides parameters, the run's beginning, the box and the method."""
    given = {"parameters", "injected-parameters", "method"}
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and not given & set(cell.metadata.get("tags", []))]
    cells = [cell for cell in cells if not cell.metadata.get("jupyter", {}).get("source_hidden")]
    own = [cell.source for cell in cells if not re.search(r"study\.begin\(|claims\.Box\(", cell.source)]
    return sum(bool(line.strip()) for source in own for line in source.splitlines())


def faults(notebook) -> list[str]:
    """What a reader would complain of."""
    shown, found = list(outputs(notebook)), []
    kinds = [kind for kind, _ in shown]
    top = shown[: kinds.index("heading")] if "heading" in kinds else shown
    in_order = [kind for kind, _ in top] == ["markdown", "picture", "markdown", "markdown"]
    if not in_order or not re.search(r"\| (claim|what) \|", top[-1][1]):
        found.append("an answer, the key figure and the verdicts do not stand before the first section")
    elif not 10 <= len(top[0][1].split()) <= FIRST:
        found.append(f"an answer of {len(top[0][1].split())} words")
    if kinds.count("picture") > FIGURES:
        found.append(f"{kinds.count('picture')} figures")
    for (kind, _), (follows, said) in zip(shown, [*shown[1:], ("", "")], strict=True):
        if kind == "picture" and not (follows == "markdown" and re.match(r"> \S+ \S+", said)):
            found.append("a figure without a takeaway")
        elif kind == "picture" and len(said.split()) - 1 > TAKEAWAY:
            found.append(f"a takeaway of {len(said.split()) - 1} words: {said[:60]}")
    for kind, text in shown:
        if kind == "html" and "<table" in text and 'class="sortable"' not in text:
            found.append("a raw table")
        wide = [line for line in text.splitlines() if kind == "markdown" and re.match(r"\| :?-", line)]
        found += [f"a table of {line.count('|') - 1} columns" for line in wide if line.count("|") - 1 > COLUMNS]
        rows = [line for line in text.splitlines() if kind == "markdown" and line.startswith("| ")]
        found += [f"a table of {len(rows) - 2} rows: {text[:60]}"] if len(rows) - 2 > ROWS else []
    told = prose(notebook)
    opening = next((at for at, cell in enumerate(notebook.cells) if "claims.Box(" in cell.source), 0)
    if (words := sum(told[:opening])) > OPENING:
        found.append(f"{words} words above the answer")
    if sum(told) > ALL:
        found.append(f"{sum(told)} words")
    for cell in notebook.cells:
        long = sum(bool(line.strip()) for line in cell.source.splitlines())
        if "method" in cell.metadata.get("tags", []) and long > METHOD:
            found.append(f"{long} lines of method")
    if (lines := visible(notebook)) > CODE:
        found.append(f"{lines} lines of visible code")
    last = next((text for kind, text in reversed(shown) if kind == "markdown"), "")
    words = len(re.sub(r"\]\([^)]*\)", "]", last).split())
    if not 20 <= words <= WORDS or "nan" in last.split():
        found.append(f"{words} words in the end")
    return found


# --- notebooks whose experiment is in sight ---------------------------------------------------------------------------

CELL, SET_UP, BY_CODE = 25, 12, 0.15  # lines of a cell, of the hidden one; share of words that code may make


def lines(cell) -> int:
    """Lines of a cell that are not empty."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def hidden(notebook) -> list[str]:
    """What a reader cannot see or change: hidden code, long cells, figures that are not shown, words made by code."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code = [cell for cell in code if not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))]
    unseen = [lines(cell) for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    found = [f"hidden cells of {unseen} lines"] if len(unseen) > 1 or max(unseen, default=0) > SET_UP else []
    found += [f"a cell of {lines(cell)} lines" for cell in code if lines(cell) > CELL]
    found += ["a figure that is not shown" for cell in code if "show=False" in cell.source]
    people = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    made = [text for kind, text in outputs(notebook) if kind == "markdown"]
    rows = [line for text in made for line in text.splitlines() if not line.lstrip().startswith("|")]
    if sum(len(line.split()) for line in rows) > BY_CODE * people:
        found.append("most words are made by code")
    return found
