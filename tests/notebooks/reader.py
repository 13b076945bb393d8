"""What a reader may expect of an executed notebook: an experiment in sight, told by people."""

from collections.abc import Iterator

CELL, SET_UP = 25, 12  # lines of a cell, and of the hidden one


def outputs(notebook, kind: str) -> Iterator[str]:
    """What the cells show of a kind, such as text/html, in order."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if kind in output.get("data", {}):
                yield str(output["data"][kind])


def lines(cell) -> int:
    """Lines of a cell that are not empty."""
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def faults(notebook) -> list[str]:
    """What a reader cannot see or change: hidden code, long cells, figures that are not shown."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code = [cell for cell in code if not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))]
    unseen = [lines(cell) for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    found = [f"hidden cells of {unseen} lines"] if len(unseen) > 1 or max(unseen, default=0) > SET_UP else []
    found += [f"a cell of {lines(cell)} lines" for cell in code if lines(cell) > CELL]
    found += ["a figure that is not shown" for cell in code if "show=False" in cell.source]
    return found
