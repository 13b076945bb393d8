"""A kernel that dies; what the store does about full disks, cut files, kills and two runs at once is held in `test_recipe`."""

import argparse
import re
import subprocess
import sys

import nbformat

from helpers import study


def notebook_line(notebook, log, result):
    """The shell line of the workflow's rule that runs a notebook."""
    rule = (study.ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8").partition("rule notebook:")[2]
    line = "".join(re.findall(r'^ +"(.*)"$', rule.partition("shell:")[2], re.MULTILINE))
    given = {"PROFILE": "tiny", "CHOICE": "natural", "input": [notebook]}
    given |= {"OUTPUT": result.parent, "output": result}
    return line.format(sys=sys, params=argparse.Namespace(log=log, overrides="", told=""), **given)


def test_a_kernel_that_dies_leaves_no_executed_notebook(tmp_path):
    cells = ['profile = corpus = overrides = output = ""', "import os\nos.path.exists('go') or os.kill(os.getpid(), 9)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "a.ipynb")
    result = tmp_path / "run" / "a.ipynb"
    line = notebook_line("a.ipynb", tmp_path / "run" / "logs" / "a.ipynb", result)
    command = ["bash", "-euo", "pipefail", "-c", line]  # as the workflow calls it
    died = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert died.returncode != 0 and "DeadKernelError" in died.stderr, died.stderr
    assert not result.exists()
    (tmp_path / "go").touch()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    ran = nbformat.read(result, 4).cells
    assert ran[-1].outputs[0].data["text/plain"] == "True" and 'corpus = "natural"' in ran[1].source
