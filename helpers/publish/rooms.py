"""The map of rooms: which part of the project imports which, how large each is, and what breaks the rules of the house.

`python -m helpers.publish.rooms` prints it. A room may import those that stand before it in `ROOMS`, files import no circle, no
file takes a private name of another, and no import stands inside a function to dodge that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers.study import ROOT


class Room(NamedTuple):
    """A part of the project.

    Attributes
    ----------
    place : str
        Its folder or file.
    what : str
        In words.
    lines : int
        It may have at most so many, docstrings included.
    """

    place: str
    what: str
    lines: int


ROOMS = (
    Room("helpers/study", "settings, recipes, the store, published runs, values in files, a notebook's run", 2270),
    Room("helpers/records.py", "what text is: a sentence pair, a text, a dialogue", 200),
    Room("helpers/drawing.py", "one style, and what figures share", 480),
    Room("helpers/reading.py", "what people read of results: tables in words, numbers in sentences", 280),
    Room("helpers/heads", "the instrument: where heads are; gate, record, inject; remove, save, load", 1680),
    Room("helpers/models.py", "the families that are trained, one builder of configurations", 320),
    Room("helpers/world", "the generated corpus: sampler, one file a language, tales, conversations", 7200),
    Room("helpers/corpora", "text in: pairs, tokens, parsing, dialogues, resolvers", 3300),
    Room("helpers/scores", "BLEU, ROUGE, perplexity, coreference, intervals", 700),
    Room("helpers/runs", "trainings, and the models under study with their text", 1200),
    Room("helpers/measures", "relevance, confidence, functions, importance; the head table", 6500),
    Room("helpers/methods", "L0 gates, grouped heads, coreference in heads, the contest of measures", 11_710),
    Room("helpers/plan.py", "what there is to make, as recipes, and what it costs in seconds and operations", 570),
    Room(
        "helpers/publish",
        "claims and verdicts, pages, report, published runs, an hour of a GPU, one model summed up, this map",
        3730,
    ),
    Room("benchmarks", "what everything costs, each behind a check that it is right", 4300),
)


class Budget(NamedTuple):
    """A kind of code, across rooms.

    Attributes
    ----------
    what : str
        In words.
    files : tuple of str
        Which they are, as `pathlib.Path.glob` takes it; a file belongs to the first kind that has it.
    planned, lines : int
        How many lines were planned; it may have at most so many, docstrings included.
    why : str
        What the difference is spent on.
    """

    what: str
    files: tuple[str, ...]
    planned: int
    lines: int
    why: str


BUDGETS = (
    Budget(
        "tests", ("tests/**/*.py",), 18_000, 21_370,
        "every formula against a slow twin that shares no line with it, on all families; bad input; the notebooks themselves",
    ),
    Budget(
        "figures", ("helpers/drawing.py", "helpers/**/figures.py"), 1700, 3150,
        "one function a figure of the papers, each with the columns that it takes",
    ),
    Budget(
        "tables", ("helpers/methods/*/tables.py", "helpers/measures/measured.py"), 1300, 3720,
        "one function a table of the papers and of our controls, each with its columns and their units",
    ),
    Budget("the world", ("helpers/world/*.py",), 4700, 7150, "morphology, agreement and word order of four languages"),
    Budget("text", ("helpers/corpora/*.py", "helpers/records.py"), 2500, 3500, "parsers and resolvers, checked on gold text"),
    Budget(
        "publishing", ("helpers/publish/**/*.py", "helpers/plan.py"), 1200, 4300,
        "a ledger of claims that computes verdicts, scoreboard, gallery, an explorer that runs a model, report, pages, costs, "
        "an hour of a GPU handed over in a few files, one model summed up",
    ),
    Budget(
        "the core", ("helpers/**/*.py",), 8600, 18_200,
        "two fifths are docstrings and blank lines; relevance by three rules on five families, a store with a published half, "
        "decoders of today and from many key-value heads to few, a sentence for every wrong setting",
    ),
)  # fmt: skip


class Import(NamedTuple):
    """One file's import of another.

    Attributes
    ----------
    file, of : str
        Paths from the root.
    line : int
    inside : bool
        Whether it stands in a function.
    private : tuple of str
        Names with a leading underscore that are taken.
    """

    file: str
    of: str
    line: int
    inside: bool
    private: tuple[str, ...]


def files() -> list[Path]:
    """Every module of the rooms."""
    places = [ROOT / room.place for room in ROOMS]
    return sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))


def room(file: str) -> Room:
    """The room of a file, by its path from the root."""
    return next(room for room in ROOMS if file == room.place or file.startswith(f"{room.place}/"))


@cache
def imports() -> tuple[Import, ...]:
    """Every import of one file of the rooms by another."""
    return tuple(found for path in files() for found in _imports(path))


def _imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)}
    bound: dict[str, tuple[str, int, bool]] = {}
    file = path.relative_to(ROOT).as_posix()
    taken: dict[tuple[str, int, bool], list[str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        for part in node.names:
            of = module_file(f"{node.module}.{part.name}") or module_file(node.module)
            if of and of != file:
                key = (of, node.lineno, id(node) in inside)
                taken.setdefault(key, []).extend([part.name] * _hidden(part.name))
                if module_file(f"{node.module}.{part.name}"):
                    bound[part.asname or part.name] = key
    for node in ast.walk(tree):
        of = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(of, ast.Name) and of.id in bound and _hidden(node.attr):
            taken[bound[of.id]].append(node.attr)
    for (of, line, within), private in taken.items():
        yield Import(file, of, line, within, tuple(dict.fromkeys(private)))


def _hidden(name: str) -> bool:
    return name[0] == "_" and name[:2] != "__"


@cache
def module_file(module: str) -> str:
    """The path of a module of the rooms, "" if there is none."""
    path = module.replace(".", "/")
    found = [name for name in (f"{path}.py", f"{path}/__init__.py") if (ROOT / name).exists()]
    return found[0] if found and any(name.startswith(("helpers/", "benchmarks/")) for name in found) else ""


def arrows() -> dict[tuple[str, str], int]:
    """How many files of one room import another: (room, of) -> count."""
    pairs = {(one.file, room(one.of).place) for one in imports() if _placed(one.of) and room(one.file) != room(one.of)}
    found: dict[tuple[str, str], int] = {}
    for file, of in sorted(pairs):
        found[room(file).place, of] = found.get((room(file).place, of), 0) + 1
    return found


def _placed(file: str) -> bool:
    return any(file == room.place or file.startswith(f"{room.place}/") for room in ROOMS)


def backwards() -> list[Import]:
    """Imports of a room that stands after one's own."""
    order = [room.place for room in ROOMS]
    return [one for one in imports() if _placed(one.of) and order.index(room(one.file).place) < order.index(room(one.of).place)]


def circles() -> list[list[str]]:
    """Files that import each other, imports inside functions counted: each circle once, from its first file."""
    graph: dict[str, set[str]] = {}
    for one in imports():
        graph.setdefault(one.file, set()).add(one.of)
    found, done = [], set()

    def follow(path: list[str]) -> None:
        for after in sorted(graph.get(path[-1], ())):
            if after in path:
                circle = path[path.index(after) :]
                start = circle.index(min(circle))
                if (circle := circle[start:] + circle[:start]) not in found:
                    found.append(circle)
            elif after not in done:
                follow([*path, after])
        done.add(path[-1])

    for file in sorted(graph):
        if file not in done:
            follow([file])
    return found


def lines() -> dict[str, int]:
    """Lines of every room."""
    found = {room.place: 0 for room in ROOMS}
    for path in files():
        found[room(path.relative_to(ROOT).as_posix()).place] += path.read_text(encoding="utf-8").count("\n")
    return found


def spent() -> dict[str, int]:
    """Lines of every kind of code."""
    found, seen = {}, set()
    for budget in BUDGETS:
        mine = {path for pattern in budget.files for path in ROOT.glob(pattern)} - seen
        seen |= mine
        found[budget.what] = sum(path.read_text(encoding="utf-8").count("\n") for path in mine)
    return found


def budgets() -> str:
    """The budgets as Markdown: a row a kind of code."""
    rows = [f"| {one.what} | {one.planned:,} | {one.lines:,} | {one.why} |" for one in BUDGETS]
    return "\n".join(
        ["| kind of code | planned lines | at most | what the rest is spent on |", "| --- | --- | --- | --- |", *rows]
    )


def table(counted: Mapping[str, int] | None = None) -> str:
    """The map as Markdown: a row a room, in the order in which they may import each other; lines there are, and at most."""
    drawn = arrows()
    rows = ["| room | what | lines, at most | imports |", "| --- | --- | --- | --- |"]
    for one in ROOMS:
        of = ", ".join(f"`{other.place.removeprefix('helpers/')}`" for other in ROOMS if (one.place, other.place) in drawn)
        size = f"{counted[one.place]:,} of {one.lines:,}" if counted else f"{one.lines:,}"
        rows.append(f"| `{one.place}` | {one.what} | {size} | {of or '–'} |")
    return "\n".join(rows)


def main() -> None:
    print(table(lines()))
    for what, number in spent().items():
        print(f"{what}: {number:,} lines")
    for circle in circles():
        print("circle:", " -> ".join([*circle, circle[0]]))
    for one in backwards():
        print(f"backwards: {one.file}:{one.line} imports {one.of}")
    for one in imports():
        if one.inside:
            print(f"inside a function: {one.file}:{one.line} imports {one.of}")
        if one.private:
            print(f"private: {one.file} takes {', '.join(one.private)} of {one.of}")


if __name__ == "__main__":
    main()
