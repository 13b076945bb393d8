"""Pages are Markdown that people write: their links lead somewhere, their verdicts are those of the tables."""

import re

import pytest
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from helpers import claims, heads, study
from tests.unit.tiny_models import tiny_batch, tiny_model

PAGES = sorted([study.ROOT / "README.md", *(study.ROOT / "docs").glob("*.md"), study.ROOT / "data" / "README.md"])
ANCHOR = re.compile(r"[^\w\- ]")


def anchors(text):
    """What links into a page may name."""
    return {ANCHOR.sub("", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines() if line.startswith("#")}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^()\s]+)\)", text) + re.findall(r"src=\"([^\"]+)\"", text)
    for link in (link for link in links if not re.match(r"https?:", link)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def cells(page):
    """Of each claim of a page's tables its cells, by its words."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").replace("`", "").split(" | ") for line in lines]
    return {row[0]: row[1:] for row in rows if row[0] not in ("claim", "---")}


JUDGED = {column: claims.committed(column) for column in claims.COLUMNS}


def test_verdicts_and_numbers_of_the_page_are_those_of_the_committed_tables():
    page = cells(study.ROOT / "docs" / "results.md")
    assert list(page) == [claim.claim for claim in claims.ledger()]
    for claim, row in page.items():
        for cell, column in zip(row[-3:], JUDGED, strict=True):
            (one,) = (one for one in JUDGED[column] if one.claim.claim == claim)
            assert f"**{one.verdict}**" in cell and one.reason in cell and one.number in cell, (claim, column)


def test_verdicts_of_the_front_page_are_those_of_the_committed_tables():
    page = cells(study.ROOT / "README.md")
    assert 6 <= len(page) <= 12
    for name, row in page.items():
        for cell, column in zip(row, JUDGED, strict=True):
            words = [one.reason or one.verdict for one in JUDGED[column] if one.claim.claim == f"{name}."]
            assert [cell] == words, (name, column)


def test_training_with_gates_constraint_and_links_runs_as_printed(tmp_path, monkeypatch):
    """On a tiny Llama, in few steps; what is saved trains on without this project."""
    monkeypatch.chdir(tmp_path)
    text = (study.ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    section = text.partition("## Your own training")[2].partition("\n## ")[0]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(code) == 5
    batch = tiny_batch("llama")
    rows = [{name: value[place] for name, value in batch.items()} for place in range(len(batch["input_ids"]))]
    tokens = [row["input_ids"][row["attention_mask"].bool()].tolist() for row in rows]
    texts = [(ids, list(range(len(ids))), [[(0, 1), (2, 3)]]) for ids in tokens]
    space = {"batches": [batch], "dev": [batch], "rows": rows, "texts": texts}
    exec(code[0].replace('"steps": 500', '"steps": 3').replace('"evaluate_every": 100', '"evaluate_every": 3'), space)
    for lines in code[1:]:
        space["model"] = model = tiny_model("llama")
        before = len(heads.index(model))
        exec(lines.replace("max_steps=500", "max_steps=3, use_cpu=True"), space)
        assert "injected" in lines or len(heads.index(model)) <= before
    again = AutoModelForCausalLM.from_pretrained("pruned", trust_remote_code=True)
    torch.testing.assert_close(again(**batch).logits, model.eval()(**batch).logits)
    options = TrainingArguments("more", max_steps=2, use_cpu=True, save_strategy="no", report_to="none")
    Trainer(again, options, train_dataset=rows).train()


def test_every_page_is_linked_from_the_front_page():
    front = (study.ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"docs/{page.name}" not in front] == []
