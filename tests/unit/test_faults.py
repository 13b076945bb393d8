"""What goes wrong outside the study: a dying kernel, an unreachable Hub.

What the store does about full disks, cut files, kills and two runs at once is held in `test_recipe`.
"""

import argparse
import os
import re
import subprocess
import sys
import textwrap

import nbformat

from helpers import study


def without_bars(said):
    """What is left of stderr without progress bars, which show where the machine is slow."""
    lines = re.split(r"[\r\n]+|\x1b\[A|(?=error: )", said)  # the sentence may stand right behind a bar
    return "\n".join(line for line in lines if line.strip() and "%|" not in line)


def notebook_line(notebook, log, result):
    """The shell line of the workflow's rule that runs a notebook."""
    rule = (study.ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8").partition("rule notebook:")[2]
    line = "".join(re.findall(r'^ +"(.*)"$', rule.partition("shell:")[2], re.MULTILINE))
    given = {"PROFILE": "tiny", "CHOICE": "natural", "input": [notebook]}
    given |= {"OUTPUT": result.parent, "output": result}
    return line.format(sys=sys, params=argparse.Namespace(log=log, overrides="", told=""), **given)


def test_a_kernel_that_dies_leaves_no_executed_notebook(tmp_path):
    cells = [
        'profile = corpus = overrides = output = ""',
        "import os\nos.path.exists('go') or os.kill(os.getpid(), 9)",
    ]
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


def test_a_model_that_is_not_in_the_cache_while_the_hub_cannot_be_reached(tmp_path):
    code = """
        from helpers import models, study

        try:
            with study.one_sentence():
                models.load("Helsinki-NLP/opus-mt-en-de")
        except SystemExit as end:
            assert end.code == 2
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=study.ROOT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"HF_HOME": str(tmp_path / "empty"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = without_bars(done.stderr).splitlines()
    assert re.fullmatch(r"error: .*: .*\.", line) and "Helsinki-NLP/opus-mt-en-de" in line
    assert not list(study.data().rglob(".*"))
