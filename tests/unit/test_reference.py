"""Publishing a run: outputs go into the paired notebooks, and nothing of the machine with them."""

import matplotlib.pyplot as plt
import nbformat.v4 as nb
import pandas as pd
import pytest

from helpers import study
from helpers.publish import reference
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


@pytest.mark.parametrize(("ran", "said"), [
    (executed("print(2)"), "other cells"), (executed(count=None), "did not run"),
    (executed(output=nb.new_output("error", ename="E", evalue="", traceback=[])), "failed"),
])  # fmt: skip
def test_what_is_not_published(ran, said):
    with pytest.raises(StudyError, match=said):
        reference.fill(paired(), ran)


def test_chapters_are_copied_whole_and_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "ROOT", tmp_path)
    monkeypatch.setattr("IPython.display.display", lambda _: None)
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path / "runs" / "tiny-controlled")})
    run.figure(plt.figure(), "gate", caption="A gate.")
    run.table(pd.DataFrame({"a": [1]}), "numbers")
    old = tmp_path / "figures" / "controlled"
    study.write_text(old / "03_l0_pruning" / "stale.png", "")
    study.write_text(old / "07_what_it_costs" / "tables" / "kept.csv", "")
    assert reference.place(run.folder, notebooks=False) == old

    def files(folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}

    assert files(old / "03_l0_pruning") == files(run.chapter.folder)
    assert (old / "07_what_it_costs" / "tables" / "kept.csv").exists()
    others = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path / "runs" / "tiny-natural")})
    for name in ("hits_and_misses", "gate"):
        others.figure(plt.figure(), name, caption="Of others' sentences.")
    kept = files(reference.place(others.folder, notebooks=False))
    assert any("gate" in name for name in kept) and not any("hits_and_misses" in name for name in kept)
