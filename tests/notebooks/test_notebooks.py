"""Each notebook runs with the profile `tiny`, as a user runs it, and leaves its figures and tables."""

import ast
import csv
import html
import json
import math
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pandas as pd
import pytest
from transformers import AutoTokenizer

from helpers import claims, heads, measures, models, plan, study
from helpers.measures.worth import losses_of_examples
from helpers.runs import passages, subjects
from helpers.study import layout
from tests.unit.test_entries import CODE
from tests.unit.test_passages import folder as llama  # noqa: F401
from tests.unit.tiny_models import tiny_model

NOTEBOOKS = sorted((study.ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Models and corpora of all notebooks, whichever worker runs them: what one trains the next one reads."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "store"
    folder.mkdir(exist_ok=True)
    return folder


def papermill(store, *arguments):
    # what pretrained models show is published, whatever the profile
    published = {"HEADS_PUBLISHED": str(study.ROOT / "data" / "published")}
    environment = os.environ | {"HEADS_RUNS": str(store / "runs"), "HEADS_DATA": str(store / "data")} | published
    command = [sys.executable, "-m", "papermill", *map(str, arguments)]
    return subprocess.run(command, cwd=study.ROOT, env=environment, capture_output=True, text=True)


def named(notebook, method):
    """Names that the cells give to `run.figure` or `run.table` as plain text."""
    for cell in notebook.cells:
        for node in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else []:
            called = isinstance(node, ast.Call) and ast.unparse(node.func) == f"run.{method}"
            if called and isinstance(node.args[1], ast.Constant):
                yield node.args[1].value


def pytest_generate_tests(metafunc):
    if "executed" in metafunc.fixturenames:
        metafunc.parametrize("executed", NOTEBOOKS, ids=lambda path: path.stem, indirect=True, scope="session")


@pytest.fixture(scope="session")
def entries(tmp_path_factory):
    """The file of docs/add.md with a measure of a stranger; not in the store, which no sidecar may name."""
    place = tmp_path_factory.mktemp("entries") / "mine.py"
    place.write_text(CODE)
    return place


@pytest.fixture(scope="session")
def executed(request, store, entries, llama):  # noqa: F811
    """A notebook's path, its executed copy and the folder of its results."""
    folder = store / request.param.stem
    folder.mkdir()
    out = folder / "out.ipynb"
    given = ["-p", "profile", "tiny", "-p", "output", folder]
    given += ["-p", "entries", entries] if request.param.stem == "06_do_measures_agree" else []
    own = ["-p", "pretrained", llama / "model", "-p", "text", llama / "text.txt"]
    given += own if request.param.stem == "00_your_own_model" else []
    done = papermill(store, request.param, out, *given)
    assert done.returncode == 0, done.stderr[-4000:]
    return request.param, nbformat.read(out, as_version=4), folder


def test_a_reader_sees_the_code_in_short_cells(executed):
    code = [cell for cell in executed[1].cells if cell.cell_type == "code"]
    code = [cell for cell in code if not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", []))]
    lines = {cell.id: sum(bool(line.strip()) for line in cell.source.splitlines()) for cell in code}
    hidden = [lines[cell.id] for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert len(hidden) <= 1 and max(hidden, default=0) <= 12 and max(lines.values()) <= 25
    assert not any("show=False" in cell.source for cell in code)


def test_verdicts_are_shown_from_the_run_s_own_tables(executed):
    path, notebook, folder = executed
    tables = claims.tables_in(folder)
    own = [claims.judge(claim, "generated", tables) for claim in claims.ledger() if claim.chapter == path.stem]
    cells = [cell for cell in notebook.cells if "claims.show(run" in cell.source]
    assert len(cells) == bool(own)
    for cell in cells:
        text = html.unescape("".join(output.get("data", {}).get("text/html", "") for output in cell.outputs))
        assert all(one.claim.claim in text and one.words in text for one in own)


def test_intervals_say_what_they_are_over(executed):
    _, _, folder = executed
    for table in layout.tables(folder):
        columns = next(csv.reader(table.open(encoding="utf-8")))
        if any(name.replace(",", " ").replace("_", " ").split()[-1:] == ["low"] for name in columns):
            facts = study.read_json(layout.table_sidecar(table))
            assert "over" in columns or "over" in facts, f"{table.name} has an interval: say what it is over"


def test_figures_and_tables_are_there_with_sidecars(executed):
    path, notebook, folder = executed
    chapter = layout.Chapter(folder / path.stem)
    figures = sorted(chapter.folder.glob("*.png"))
    assert figures and {figure.stem for figure in figures} >= {*named(notebook, "figure")}
    for figure in figures:
        assert figure.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        facts = json.loads(chapter.sidecar(figure.stem).read_text(encoding="utf-8"))
        assert facts["figure"] == figure.stem and facts["caption"]
        assert "table" not in facts or chapter.table(facts["table"]).exists()
    tables = layout.tables(folder)
    assert {table.stem for table in tables} >= {*named(notebook, "table")}
    for table in tables:
        rows = list(csv.reader(table.open(encoding="utf-8")))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
        assert json.loads(layout.table_sidecar(table).read_text(encoding="utf-8"))["table"] == table.stem


def test_sidecars_lead_to_every_fact(executed, store):
    path, _, folder = executed
    chapter = layout.Chapter(folder / path.stem)
    run = study.read_json(chapter.shared)
    assert run["settings"] == study.settings("tiny") and (run["read"] or path.stem == "00_your_own_model")
    for thing in run["read"]:
        root = store / ("data" if study.kind(thing["kind"]).text else "runs") / thing["kind"] / thing["key"]
        files = study.read_json(root / "made.json")["files"]
        assert thing["commit"] and thing["version"] and thing.get("files", files) == files
    for sidecar in (
        chapter.shared,
        *map(chapter.sidecar, chapter.figures()),
        *map(layout.table_sidecar, layout.tables(folder)),
    ):
        text = sidecar.read_text(encoding="utf-8")
        facts = json.loads(text)
        assert str(store) not in text and str(study.ROOT) not in text and facts["notebook"] == path.stem
        assert '-p profile "tiny"' in facts["command"] and {1} <= set(facts["seeds"]) <= set(run["seeds"])


def test_an_entry_is_in_the_tables_of_notebook_06(executed):
    path, _, folder = executed
    if path.stem != "06_do_measures_agree":
        pytest.skip("it takes no entries here")
    chapter = layout.Chapter(folder / path.stem)
    for name in ("predictors", "rises"):
        assert "second token" in chapter.table(name).read_text(encoding="utf-8"), name
    for table in layout.tables(folder, "head_table*"):
        header, *rows = csv.reader(table.open(encoding="utf-8"))
        estimates = set() if "dialogues" in table.stem else {"gradient, signed"}
        elsewhere = any(name in table.stem for name in ("-seed-", "dialogues", "decoder"))  # their weights may not be there
        entered = {"second token"} & set(header) if elsewhere else {"second token"}
        assert entered | estimates <= set(header), table
        assert all(row[header.index(name)] for row in rows for name in entered)


def test_notebook_00_measures_what_the_library_does_and_leaves_a_quarter_out(executed, llama):  # noqa: F811
    path, notebook, folder = executed
    if path.stem != "00_your_own_model":
        pytest.skip("another notebook")
    chapter, (model, tokenizer) = layout.Chapter(folder / path.stem), models.load(llama / "model")
    dev, test = passages.halves(model.float(), tokenizer, llama / "text.txt")
    table, worth = pd.read_csv(chapter.table("head_table")), measures.importance(model, dev, norm=None)
    assert table.importance.to_numpy() == pytest.approx(worth.to_numpy(), rel=1e-4)
    assert table.layer.min() == table["head"].min() == 1
    removed = pd.read_csv(chapter.table("removed"), index_col="choice")
    assert removed.groupby(level=0, sort=False).size().tolist() == [5, 15, 15, 5, 5, 5]
    with heads.gate(model, dict.fromkeys(worth.nsmallest(2).index, 0.0)):
        without, tokens = losses_of_examples(model, test)
    least = removed[removed.fraction == 0.25].loc["least important"]
    assert least.perplexity == pytest.approx(math.exp(without.sum() / tokens.sum()), rel=1e-4)
    rise = (without - losses_of_examples(model, test)[0]).sum() / tokens.sum()
    assert least.rise == pytest.approx(rise, abs=1e-5) and math.isnan(least.low)
    texts = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "8 heads -> 6" in texts and "without this project: False" not in texts
    assert float(re.search(r"perplexity ([\d.]+)", texts)[1]) == pytest.approx(least.perplexity, rel=1e-3)


def test_notebook_00_takes_an_encoder_decoder_with_pairs(store, llama, tmp_path):  # noqa: F811
    folder = tmp_path / "model"
    shutil.copytree(llama / "model", folder)
    words = len(AutoTokenizer.from_pretrained(folder))
    tiny_model("t5", vocab_size=words).save_pretrained(folder)
    (tmp_path / "pairs.tsv").write_text("\n".join(f"w{n} w{n + 1}\tw{n + 2} w{n + 3}" for n in range(2, 42)))
    given = ["-p", "pretrained", folder, "-p", "text", tmp_path / "pairs.tsv", "-p", "output", tmp_path / "results"]
    done = papermill(store, NOTEBOOKS[0], tmp_path / "out.ipynb", *given)
    assert done.returncode == 0, done.stderr[-4000:]
    removed = pd.read_csv(layout.Chapter(tmp_path / "results" / NOTEBOOKS[0].stem).table("removed"))
    assert removed.fraction.max() == 0.4 and removed.low.notna().all() and (removed.low <= removed.perplexity).all()


def test_notebooks_read_what_is_planned_for_them(executed, store):
    """What a notebook reads beside its plan would be made in its kernel, one thing after the other."""
    path, _, folder = executed
    settings = study.settings("tiny")
    planned = plan.closure(plan.goals(settings, subjects.names(settings), 1).get(path.stem, []))
    read = json.loads(layout.Chapter(folder / path.stem).shared.read_text(encoding="utf-8"))["read"]
    read = {(thing["kind"], thing["key"]) for thing in read if thing["kind"] != "cell"}  # that the notebook makes itself
    assert read <= {(recipe.kind.name, recipe.key) for recipe in planned}
