"""The house: rooms import one way, no circle, no private name of another file, no import inside a function; its public face."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter

import pytest

from helpers import study

ROOMS = (  # each imports those before it; methods and experiments are one level until their runs are one room
    ("errors",), ("gpu",), ("study",), ("records",), ("numbers",), ("papers",), ("drawing",), ("heads",),
    ("pretrained",), ("models",), ("training",), ("world",), ("corpora",), ("scores",), ("claims",), ("runs",), ("plots",),
    ("measures",), ("methods", "experiments"), ("plan",), ("publish",),
)  # fmt: skip
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def imports(root):
    """Every import of one module of `root`/helpers by another: (from, of, names, whether inside a function)."""
    paths = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in sorted((root / "helpers").rglob("*.py"))}
    modules = {path: name.removesuffix(".__init__") for path, name in paths.items()}
    known = set(modules.values())
    for path, module in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
                for alias in node.names:
                    deep = f"{node.module}.{alias.name}"
                    yield module, deep if deep in known else node.module, alias.name, node not in tree.body


def circle(found):
    graph = {}
    for module, of, *_ in found:
        if module != of:
            graph.setdefault(module, set()).add(of)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]


FOUND = list(imports(study.ROOT))


def test_no_files_import_each_other_in_a_circle():
    assert circle(FOUND) is None


def test_rooms_import_one_way():
    room = [(module.split(".")[1], of.split(".")[1]) for module, of, *_ in FOUND if min(module.count("."), of.count(".")) > 0]
    assert {(one, of) for one, of in room if LEVEL[one] < LEVEL[of]} == set()


def test_no_private_names_and_no_imports_inside_functions():
    assert [one for one in FOUND if one[2].startswith("_")] == []
    assert [one for one in FOUND if one[3]] == []


def test_one_file_names_the_gpu():
    """Besides the setting, a summary of one, and the batches of a corpus on their way."""
    paths = (study.ROOT / "helpers").rglob("*.py")
    naming = {path.name for path in paths if re.search(r"torch\.cuda|\"cuda\"", path.read_text(encoding="utf-8"))}
    assert naming <= {"gpu.py", "schema.py", "summary.py", "tokens.py"}


@pytest.mark.parametrize(("first", "policy", "late"), [("", "PASSIVE", False), ("import torch; ", "None", True)])
def test_waiting_threads_sleep_where_helpers_come_before_torch(first, policy, late):
    code = f"{first}import os; os.getloadavg = lambda: (2, 2, 2); import helpers; print(os.environ.get('OMP_WAIT_POLICY'))"
    free = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", code], cwd=study.ROOT, env=free, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == policy and ("OMP_WAIT_POLICY=PASSIVE" in done.stderr) == late


FACE = {  # what a user may count on: docs/use.md lists it
    "heads": "sites index gate record inject remove kept save load",
    "measures": "head_table confidence relevance importance leave_one_out positional syntactic rare",
    "methods.l0": "HardConcrete Gated objective",
    "methods.grouping": "hidden_units group_loss Grouped objective ballot stay",
    "methods.coreference": "full_link adjacent_link previous_link tokens_of sparse Links choose injected",
    "models": "load",
    "training": "fit dev_loss",
    "runs.passages": "halves batches",
    "corpora.resolvers": "resolver",
    "corpora.turns": "from_text",
    "study": "settings",
}


@pytest.mark.parametrize("room", FACE)
def test_the_public_face(room):
    listed = (study.ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    for name in FACE[room].split():
        face = getattr(importlib.import_module(f"helpers.{room}"), name)
        assert callable(face) and face.__doc__, name
        assert f"`{room.rpartition('.')[2]}.{name}" in listed, f"docs/use.md does not list {room}.{name}"


def test_scripts_of_the_pages_call_the_public_face_alone():
    face = {f"{room.rpartition('.')[2]}.{name}" for room, names in FACE.items() for name in names.split()}
    pages = "\n".join((study.ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/use.md"))
    scripts = "\n".join(re.findall(r"(?s)```python\n(.*?)```", pages))
    rooms = {room for line in re.findall(r"from helpers\S* import (.*)", scripts) for room in line.split(", ")}
    assert len(rooms) > 7 and {*re.findall(rf"\b((?:{'|'.join(rooms)})\.\w+)", scripts)} <= face


def reached(module, seen):
    """Third-party packages that a module of helpers imports, by itself or by others."""
    place = study.ROOT / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if module in seen or not path.exists():
        return set()
    seen.add(module)
    found = reached(module.rpartition(".")[0], seen)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            found |= reached(name, seen) if name.startswith("helpers") else {name.partition(".")[0]}
    return found - set(sys.stdlib_module_names)


def test_what_the_public_face_imports_is_installed_with_it():
    project = tomllib.loads((study.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {"PIL": "pillow", "IPython": "ipython", "sklearn": "scikit-learn"}
    imported = set().union(*(reached(f"helpers.{room}", set()) for room in FACE))
    assert {names.get(name, name) for name in imported} <= set(project["dependencies"])
    assert "spacy" not in imported and "snakemake" not in imported


def test_notebooks_and_examples_import_helpers_before_torch():
    pages = [study.ROOT / "README.md", *(study.ROOT / "docs").glob("*.md")]
    examples = [text for page in pages for text in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)]
    examples += [path.read_text(encoding="utf-8") for path in (study.ROOT / "notebooks" / "py").glob("*.py")]
    first = [re.findall(r"^(?:import|from) (helpers|torch|transformers)", text, re.M) for text in examples]
    first = [names[0] for names in first if "helpers" in names]
    assert len(first) > 10 and set(first) == {"helpers"}
