"""The report: pages that hang together, load nothing from elsewhere and show every figure; the explorer's data."""

import re
import shutil

import nbformat
import nbformat.v4 as nb
import numpy as np
import pandas as pd
import pytest
import torch
from bs4 import BeautifulSoup

from helpers import measures, study
from helpers.corpora import tokens
from helpers.models import inputs
from helpers.publish import explorer, report
from helpers.runs import subjects
from helpers.study import StudyError

NOTEBOOKS = ("03_l0_pruning", "04_grouped_heads")  # which link to one another
LOADS = {"img": "src", "script": "src", "link": "href", "source": "srcset", "option": "data-file"}
NAME, ABSENT = "ru-subtitles", "de-news"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of a run that left two notebooks."""
    base = tmp_path_factory.mktemp("report")
    run = base / "runs" / "laptop-controlled"
    run.mkdir(parents=True)
    for name in NOTEBOOKS:
        shutil.copy(study.ROOT / "notebooks" / f"{name}.ipynb", run)
    report.build(run, base / "report")
    return base / "report"


@pytest.fixture(scope="module")
def pages(folder):
    return {path.name: BeautifulSoup(path.read_text(encoding="utf-8"), "lxml") for path in sorted(folder.glob("*.html"))}


@pytest.fixture(scope="module")
def made(session):
    """A tiny model and its head table in a run, which holds the table twice, and one of a model that nobody trained."""
    settings = study.settings("tiny", {"train": 300, "vocabulary": 150, "model.dropout": 0.0})
    subject, folder = subjects.of_name(settings, NAME, 1), study.runs() / "tiny-controlled"
    table = measures.confidence(subject.model, subject.batches()).to_frame()
    table["functions"] = ["v→s; +1", "rare", *[""] * (len(table) - 2)]
    run = study.Run("06_all_measures", study.PARAMETERS | {"profile": "tiny"}, settings, folder, 0.0)
    run.table(table, f"head_table_{NAME}", model=NAME)
    run.table(table, f"head_table_{NAME}-all-kinds", model=NAME)  # the same model once more
    run.table(table.drop(columns="functions"), f"head_table_{ABSENT}", model=ABSENT)
    return study.data(), (folder, subject, table, explorer.export(subject, table, sentences=2))


@pytest.fixture
def tiny(made, monkeypatch):
    """A tiny run, which can be found in the store: its folder, model, table and what the explorer is given."""
    data, found = made
    monkeypatch.setenv("HEADS_RUNS", str(found[0].parent))
    monkeypatch.setenv("HEADS_DATA", str(data))
    return found


def test_every_link_leads_somewhere(folder, pages):
    wrong = []
    for name, page in pages.items():
        for url in (tag[key] for key in ("href", "src", "srcset", "data-file") for tag in page.find_all(attrs={key: True})):
            file, _, fragment = url.partition("#")
            if re.match(r"https://|data:", url):
                continue
            there = pages.get(file or name)
            if not (folder / (file or name)).is_file() or (fragment and (there is None or not there.find(id=fragment))):
                wrong.append((name, url))
    assert wrong == []
    assert pages["03_l0_pruning.html"].select('.cell a[href="04_grouped_heads.html"]')  # notebooks link to one another


def test_nothing_is_loaded_from_elsewhere(folder, pages):
    loaded = [tag[key] for page in pages.values() for name, key in LOADS.items() for tag in page.find_all(name, {key: True})]
    assert len(loaded) > 20
    assert [url for url in loaded if re.match(r"(?!data:)[a-z]+:|//", url)] == []
    code = [path.read_text(encoding="utf-8") for path in folder.glob("*.[cj]s*")]
    code += [tag.get_text() for page in pages.values() for tag in page.find_all(["style", "script"])]
    urls = [url for text in code for url in re.findall(r"https?://[^\"')\s]+|@import|url\(", text)]
    assert set(urls) <= {"http://www.w3.org/2000/svg"}


def test_every_figure_is_there_with_words_for_it(folder, pages):
    for name in NOTEBOOKS:
        outputs = [o for c in nbformat.read(study.ROOT / "notebooks" / f"{name}.ipynb", 4).cells for o in c.get("outputs", [])]
        wanted = [kind for o in outputs for kind in o.get("data", {}) if kind.startswith("image/")]
        found = pages[f"{name}.html"].select("figure img:not([src^='data:'])")  # a slider's frames aside
        assert len(found) == len(wanted) > 0
        assert all(len(img["alt"]) > 15 and (folder / img["src"]).stat().st_size > 1000 for img in found)
        assert len({img["src"] for img in found}) == len(found)


def test_a_notebook_that_failed_is_no_page(tmp_path):
    cell = nb.new_code_cell("1 < 2", execution_count=1, outputs=[nb.new_output("error", ename="KeyError", traceback=[])])
    nbformat.write(nb.new_notebook(cells=[cell]), tmp_path / "01_one.ipynb")
    with pytest.raises(StudyError, match="failed"):
        report.build(tmp_path, tmp_path / "out")


def test_attention_is_that_of_the_model(tiny):
    _, subject, _, found = tiny
    number = explorer.examples(subject.sentences, 2)[1]
    pair, batch = subject.sentences[number], tokens.collate(subject.encoded, [number], subject.source.pad)
    subject.model.set_attn_implementation("eager")
    with torch.no_grad():
        out = subject.model(**inputs(batch), use_cache=False, output_attentions=True)
    source, target = subject.encoded.words[number], subject.target.word_ids(pair.target, pair.target.split())
    n, m = len(pair.words), len(pair.target.split())
    source = [word if word >= 0 else n for word in source]  # the end is looked at, too
    target = [word if word >= 0 else m for word in target]
    asked = {
        ("encoder", 1, 2): (out.encoder_attentions, source, source, n, list(range(n + 1))),
        ("decoder", 0, 1): (out.decoder_attentions, target, ["start", *target[:-1]], m, ["start", *range(m)]),
        ("cross", 1, 3): (out.cross_attentions, target, source, m, list(range(n + 1))),
    }
    for address, (attentions, rows, columns, words, order) in asked.items():
        weights = pd.DataFrame(attentions[address[1]][0, address[2]].double().numpy(), rows, columns)
        wanted = 100 * weights.T.groupby(level=0).sum().T.groupby(level=0).mean().loc[range(words), order]
        shown = found["attention"][found["heads"].index(address)][1]
        np.testing.assert_allclose(shown, wanted, atol=0.51)


def test_what_is_no_head_table(tiny):
    _, subject, table, _ = tiny
    with pytest.raises(StudyError, match="another model"):
        explorer.export(subject, table.rename({1: 7}, level="layer"))


def test_a_model_that_was_not_trained_has_no_maps(tiny):
    before = sorted(study.runs().rglob("*"))
    absent = explorer.head_tables(tiny[0])[ABSENT]
    assert explorer.in_store(ABSENT, absent.attrs["facts"]) is None
    found = explorer.export(ABSENT, absent)
    assert found["attention"] is None and any("not in the store" in note for note in found["notes"])
    assert sorted(study.runs().rglob("*")) == before
