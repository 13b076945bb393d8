"""Publishing a run: outputs go into the paired notebooks, and nothing of the machine with them."""

import nbformat.v4 as nb
import pytest

from helpers import reference, study
from helpers.study import StudyError


def executed(source="print(1)", output=None, count=1):
    injected = nb.new_code_cell("profile = 'x'", metadata={"tags": ["injected-parameters"]}, execution_count=1)
    outputs = [nb.new_output("stream", name="stdout", text="1"), nb.new_output("stream", name="stderr", text="a bar: 50%")]
    outputs.append(nb.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "50%"}))
    cell = nb.new_code_cell(source, execution_count=count, outputs=outputs + ([output] if output else []))
    return nb.new_notebook(cells=[nb.new_markdown_cell("# title"), injected, cell])


def paired():
    return nb.new_notebook(cells=[nb.new_markdown_cell("# title"), nb.new_code_cell("print(1)")])


def test_outputs_without_stderr_and_injected_cells():
    filled = reference.fill(paired(), executed())
    assert [c.source for c in filled.cells] == ["# title", "print(1)"]
    assert [o.text for o in filled.cells[1].outputs] == ["1"]
    assert filled.cells[1].execution_count == 1


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (executed("print(2)"), "other cells"),
        (executed(count=None), "did not run"),
        (executed(output=nb.new_output("error", ename="E", evalue="", traceback=[])), "failed"),
    ],
)
def test_what_is_not_published(ran, said):
    with pytest.raises(StudyError, match=said):
        reference.fill(paired(), ran)


def test_no_run_to_publish(tmp_path):
    with pytest.raises(StudyError, match="no finished run"):
        reference.publish(tmp_path)


def test_figures_are_replaced_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "ROOT", tmp_path)
    run = tmp_path / "runs" / "tiny-controlled"
    for part in ("figures", "tables", "provenance", "inputs"):
        (run / part).mkdir(parents=True)
        (run / part / f"{part}.json").write_text("{}")
    old = tmp_path / "figures" / "tiny-controlled"
    old.mkdir(parents=True)
    (old / "stale.png").write_text("")
    assert reference.publish(run) == old
    assert sorted(str(f.relative_to(old)) for f in old.rglob("*.*")) == [
        "figures.json", "provenance/provenance.json", "tables/tables.json",
    ]  # fmt: skip
