"""The project's own files: lint, pins, front, notebooks and their pairs, formulas that are broken on purpose."""

import ast
import gzip
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata

import jupytext
import nbformat
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers import plan, study
from helpers.runs import subjects
from helpers.study import published
from tests.mutants import mutants

ROOT = study.ROOT
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MACHINE_PATH = re.compile(r"(?<![\w.~%)}\]-])/(?:root|home|Users|work|mnt|media|scratch|private|tmp)/|[A-Z]:\\\\?Users\b")


def committed():
    """Files that git holds or would take, without notebooks' pictures."""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_the_code_is_clean(command):
    """As `make lint` says, which checks types too."""
    command = f"ruff {command} --no-cache ."
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


def test_every_formula_can_be_broken_and_names_tests_that_are_there():
    missing = []
    for mutant in mutants():
        ast.parse(mutant.broken(ROOT))
        assert mutant.caught, mutant.formula
        for test in mutant.caught:
            file, _, name = test.partition("[")[0].partition("::")
            if not (ROOT / file).is_file() or (name and f"def {name}(" not in (ROOT / file).read_text()):
                missing.append((mutant.formula, test))
    assert missing == []


def test_every_pin_is_exact_and_whatever_is_needed_is_pinned():
    lines = (ROOT / "requirements" / "base.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    pattern = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][0-9A-Za-z.!]*")  # no URL, path, build tag or marker
    assert [line for line in pins if not pattern.fullmatch(line)] == []
    pinned = {canonicalize_name(line.partition("==")[0]) for line in pins}
    assert len(pinned) == len(pins)
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["study"], *extras["test"]]
    missing = {canonicalize_name(Requirement(line).name) for line in needed} - pinned
    for name in pinned:
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # of another platform
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                missing |= {canonicalize_name(need.name)} - pinned
    assert missing - {"pip"} == set()


def test_every_installed_package_runs_on_the_oldest_python_that_is_promised():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    asked = re.search(r"version_info >= \((.+?)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))[1]
    assert asked.replace(", ", ".") == oldest  # one sentence is told before pip tells hundreds
    needs = {found.name: found.metadata.get("Requires-Python") or "" for found in metadata.distributions()}
    assert [name for name, python in needs.items() if not SpecifierSet(python).contains(oldest)] == []


def test_every_notebook_is_in_the_workflow():
    planned = re.findall(r'^ +"(\d\d_\w+)":', (ROOT / "helpers" / "plan.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert planned == [path.stem for path in NOTEBOOKS]


notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@notebooks
def test_pairs_hold_the_same_cells(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    pair = jupytext.read(path.parent / "py" / f"{path.stem}.py")
    cells, others = ([(c.cell_type, c.source, c.metadata.get("tags", [])) for c in n.cells] for n in (notebook, pair))
    assert cells == others, "run: jupytext --sync notebooks/*.ipynb"


@notebooks
def test_one_cell_holds_the_parameters(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    nodes = {node.target.id: node for node in ast.parse(cells[0].source).body}  # with types, which papermill shows
    given = {name: ast.literal_eval(node.value) for name, node in nodes.items()}
    assert all(node.annotation.id == type(given[name]).__name__ for name, node in nodes.items())
    every, own = study.PARAMETERS | study.OWN.get(path.stem, {}), study.OWN.get(path.stem, {})
    assert given.items() <= every.items() and own.items() <= given.items()
    assert "pretrained" in own or given == every, "a notebook about a pretrained model leaves out what it does not read"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0] == cells[0] and f'study.begin("{path.stem}", globals())' in code[1].source


@notebooks
def test_notebooks_are_whole(path):
    cells = nbformat.read(path, as_version=4).cells
    assert all("injected-parameters" not in cell.metadata.get("tags", []) for cell in cells)
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert outputs and all(output.output_type != "error" and output.get("name") != "stderr" for output in outputs)
    assert all(cell.execution_count for cell in cells if cell.cell_type == "code" and cell.source)


def test_no_machine_paths():
    found = []
    for path in committed():
        if path.suffix in (".png", ".pdf", ".gif", ".parquet", ".safetensors") or path.name.endswith("weights.tar.xz"):
            continue
        for text in texts(path):
            if path.suffix == ".ipynb":  # pictures are long words that may spell anything
                text = re.sub(r'"image/(?:png|jpeg)": "[^"]*"', "", text)
            found += [f"{path.relative_to(ROOT)}: {text[at.start() :][:100]}" for at in MACHINE_PATH.finditer(text)]
    assert found == []


def texts(path):
    """What is to be read in a file or an archive."""
    if path.suffix == ".xz":
        with tarfile.open(path) as archive:
            members = [
                one for one in archive if one.name.endswith((".json", ".csv")) and not one.name.endswith("/outputs.json")
            ]
            return [archive.extractfile(one).read().decode("utf-8") for one in members]  # what models write may be paths
    return [gzip.decompress(path.read_bytes()).decode("utf-8") if path.suffix == ".gz" else path.read_text(encoding="utf-8")]


def test_what_is_published_is_whole(monkeypatch):
    monkeypatch.delenv("HEADS_PUBLISHED")
    found = {part["file"]: part for entry in published.index().values() for part in entry["parts"].values()}
    for part in found.values():
        file = published.folder() / part["file"]
        assert (study.digest(file), file.stat().st_size) == (part["sha256"], part["bytes"]), file
    held = {str(path.relative_to(published.folder())) for path in published.folder().glob("*/*")}
    assert set(found) == held


def test_the_printed_example_reads_what_is_published(monkeypatch):
    """No training, and no text that models were trained on."""
    monkeypatch.delenv("HEADS_PUBLISHED")
    said = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    notebook, models = re.search(r"papermill notebooks/(\w+)\.ipynb out\.ipynb -p models \"([^\"]+)\"", said).groups()
    settings = study.settings("laptop")
    goals = plan.goals(settings, subjects.names(settings, models), 1)[notebook]
    assert [recipe.label for recipe in plan.missing(goals)] == []
