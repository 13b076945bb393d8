"""Numbers in the text are those of the tables: each is bound to a cell, or a constant in backticks."""

import json

import jupytext
import nbformat
import pytest

from helpers import numbers, study

HALF = """model,test set,heads,change,change_high,share,note
EN-RU news,test,20,-0.2420045,-0.0984538,0.87345,
"EN-RU news, small",test,10.0,-2.1421025,-1.2345404,0.94109,"a, b"
"EN-RU news, small",other,10.0,0.5,0.75,0.9,
"""
TEXT = """# 3 · Pruning of 48 heads

With `20` of `48` heads it loses **0.24**<!-- 03/half_left model="EN-RU news" -change:.2f --> BLEU
and keeps 87 %<!-- 03/half_left heads=20
share:.0% --> of it.<!-- holds: 03/half_left model="EN-RU news" change_high < 0 -->

A second paragraph, of section 6 ([Voita et al. 2019](https://arxiv.org/abs/1905.09418)), has no finding.
"""
NOTEBOOK = f"""# ---
# jupyter:
#   kernelspec: {{display_name: Python 3, language: python, name: python3}}
# ---

# %% [markdown]
{"".join(f"# {line}".rstrip() + chr(10) for line in TEXT.splitlines())}
# %% tags=["parameters"]
price = 0.24  # 1 of 3
print("0.24<!-- 03/half_left heads=20 change -->")
"""
PY, IPYNB = "notebooks/py/03_x.py", "notebooks/03_x.ipynb"


@pytest.fixture
def project(tmp_path):
    """A page, a notebook that was executed, and tables."""
    for name, text in {
        "figures/controlled/03_l0_pruning/tables/half_left.csv": HALF,
        "figures/controlled/03_l0_pruning/tables/two.csv": ",RU,RU\n,best,base\nnsubj,1,2\n",
        "figures/natural/03_l0_pruning/tables/half_left.csv": HALF.replace("-0.2420045", "-0.9"),
        "figures/pretrained/02_more/tables/head_table.csv": "head,score\n1,0.5\n2,-0.00001\n",
        "docs/page.md": TEXT,
        PY: NOTEBOOK,
    }.items():
        study.write_text(tmp_path / name, text)
    book = jupytext.read(tmp_path / PY)
    book.cells[-1].update(execution_count=1, outputs=[nbformat.v4.new_output("stream", text="0.24 é\n")])
    nbformat.write(book, tmp_path / IPYNB)
    return tmp_path


def change(path, before, after):
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def content(project):
    return {path: path.read_bytes() for path in sorted(project.rglob("*")) if path.is_file()}


def faults(project, capsys):
    """What the check prints; it must end with an error where it prints anything, and change nothing."""
    before = content(project)
    try:
        numbers.main(["--check"], project)
        code = 0
    except SystemExit as ended:
        code = ended.code
    lines = capsys.readouterr().out.splitlines()
    assert bool(lines) == bool(code) and content(project) == before
    return lines


def of(text, project, everywhere=True):
    """What is wrong in a text."""
    return [what for _, what in numbers.checked(text, project / "figures", everywhere=everywhere)[2]]


def test_the_numbers_of_this_project_are_right():
    numbers.main(["--check"])


def test_a_number_that_is_typed_by_hand_is_an_error(project, capsys):
    for name in ("docs/page.md", PY):
        change(project / name, "of it.", "of it, of 14.")
    change(project / "docs/page.md", "no finding", "no 2 findings")  # in a paragraph without bound numbers: only of notebooks
    unbound = "is not bound: bind it, or write a constant in backticks"
    assert faults(project, capsys) == [f"docs/page.md:5: 14 {unbound}", f"{PY}:11: 14 {unbound}"]
    change(project / PY, "no finding", "no 2 findings")
    assert faults(project, capsys)[2:] == [f"{PY}:13: 2 {unbound}"]


def test_a_value_that_moved_in_the_last_printed_digit_is_an_error(project, capsys):
    table = project / "figures/controlled/03_l0_pruning/tables/half_left.csv"
    change(table, "-0.2420045", "-0.2440045")
    assert faults(project, capsys) == []  # not printed
    change(table, "-0.2440045", "-0.2460045")
    lines = faults(project, capsys)
    assert [line.partition(":")[0] for line in lines] == ["docs/page.md", IPYNB, PY]
    assert lines[0] == "docs/page.md:3: 0.24 is 0.25 in the tables, read the sentence again"


def test_a_condition_that_turned_false_is_an_error_and_stays_one(project, capsys):
    change(project / "figures/controlled/03_l0_pruning/tables/half_left.csv", "-0.0984538", "0.01")
    wrong = 'no longer true, write the sentence again: 03/half_left model="EN-RU news" change_high < 0'
    assert faults(project, capsys) == [f"docs/page.md:5: {wrong}", f"{PY}:11: {wrong}"]
    with pytest.raises(SystemExit):
        numbers.main([], project)


@pytest.mark.parametrize(
    ("comment", "sentence"),
    [("03/half_right heads=20 change", "0 tables"), ("half_left heads=20 change", "2 tables"), ("03/two RU", "of one name"),
     ("03/half_left heads=21 change", "0 rows"), ('03/half_left model="EN-RU news, small" change', "2 rows"),
     ("03/half_left seed=1 change", "no column 'seed'"), ("03/half_left heads=20 x", "'x'"),
     ("03/half_left heads=20 note", "'note' is empty"), ("03/half_left heads=20 change:s", "printed"),
     ("03/half_left heads=20 model", "printed"), ('03/half_left a="b', "quotes"), ("03/half_left heads=20 --change", "read")],
)  # fmt: skip
def test_a_cell_that_is_not_there_is_an_error(project, comment, sentence):
    (wrong,) = of(f"It loses 1<!-- {comment} -->.", project)
    assert sentence in wrong


@pytest.mark.parametrize(
    ("comment", "before", "after"),
    [("03/half_left heads=20 change:.2f", "7", "-0.24"), ("03/half_left heads=20 -change:+.1f", "7", "+0.2"),
     ("natural/03/half_left heads=20 change", "7", "-0.9"), ("pretrained/head_table head=1 score:.0%", "7", "50 %"),
     ("pretrained/head_table head=1 score:.0%", "7%", "50%"), ("03/half_left heads=20.0 heads", "7,000.5", "20"),
     ('03/half_left model="EN-RU news, small" "test set"=other change:.2f', "-7", "0.50"),
     ("03/half_left heads=20 share:.2f", "−.7e-3", "0.87"), ("03/half_left heads=20 share:.2f", "7 %", "0.87 %")],
)  # fmt: skip
def test_a_number_is_written_as_its_form_says(project, comment, before, after):
    text = f"20-**{{}}**<!-- {comment} -->, not `7`"
    assert numbers.checked(text.format(before), project / "figures")[0] == text.format(after)


@pytest.mark.parametrize(
    ("condition", "true"),
    [("change < 0", True), ("change > 0", False), ("-change >= 0.2420045", True), ("change <= -0.3", False),
     ("heads == 20", True), ("heads != 20", False), ("change < change_high", True), ("heads < change", False)],
)  # fmt: skip
def test_conditions(project, condition, true):
    assert (of(f"So it is.<!-- holds: 03/half_left heads=20 {condition} -->", project) == []) == true


@pytest.mark.parametrize(
    ("condition", "true"),
    [("heads=10 test_set", None), ('heads=10 "test set"=* change_high > -2', True), ('heads=10 "test set"=* change > 0', False),
     ('model="EN-RU news|EN-RU news, small" "test set"=test change < 0 and heads >= 10', True),
     ('model="EN-RU news|EN-DE" "test set"=test change < 0', None), ("heads=10 change_high > -2", None),
     ('heads=10 "test set"=test change_high < "test set"=other change', True),
     ('heads=10 "test set"=other change < "test set"=test change', False),
     ('heads=* "test set"=test share < heads=10 share', False), ('heads=* "test set"=test share <= heads=10 share', True),
     ('heads=20 change < "test set"=other change', None), ('heads=20 share > "test set"=test 0', True)],
)  # fmt: skip
def test_conditions_of_several_rows(project, condition, true):
    (wrong,) = of(f"So it is.<!-- holds: 03/half_left {condition} -->", project) or [None]
    assert {True: wrong is None, False: "no longer true" in (wrong or ""), None: "rows of" in (wrong or "")}[true]


@pytest.mark.parametrize("condition", ["change", "change<0", "change < nothing", "change in 0", "change < 1 2"])
def test_a_condition_that_cannot_be_read_is_an_error(project, condition):
    assert len(of(f"So it is.<!-- holds: 03/half_left heads=20 {condition} -->", project)) == 1


@pytest.mark.parametrize("text", ["So it\n<!-- holds: 03/half_left heads=20 heads == 20 --> is.",
                                  "It is **twenty**<!-- 03/half_left heads=20 heads -->."])  # fmt: skip
def test_a_comment_that_begins_a_line_or_follows_no_number_is_an_error(project, text):
    assert of(text, project) == ["a comment begins a line or follows no number: move it"]


def test_numbers_are_written_and_nothing_else_is(project, capsys):
    before = content(project)
    change(project / "figures/controlled/03_l0_pruning/tables/half_left.csv", "-0.2420045,-0.0984538,0.87", "-1.26,-1.2,0.96")
    numbers.main([], project)
    assert capsys.readouterr().out.count("read the sentence again") == 4
    after = content(project)
    for name in ("docs/page.md", PY, IPYNB):
        was, now = before[project / name].decode(), after[project / name].decode()
        assert now == was.replace("**0.24**<", "**1.26**<").replace("keeps 87 %", "keeps 96 %") != was
    cells = [[(cell.cell_type, cell.source) for cell in jupytext.read(project / name).cells] for name in (PY, IPYNB)]
    assert cells[0] == cells[1]
    assert json.loads(after[project / IPYNB])["cells"][-1]["outputs"][0]["text"] == ["0.24 é\n"]
    assert faults(project, capsys) == []
    numbers.main([], project)
    assert content(project) == after and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "unbound"),
    [("**+3.2** [0.8, 5.7]", ["+3.2", "0.8", "5.7"]), ("[64.7](pages/2.md), `one` 65 `other`", ["65"]), ("1\n\n2", ["1", "2"]),
     ("rank correlation .56, 18/24/24 stay, 3e-7 off, 16MB", [".56", "18/24/24", "3e-7", "16MB"]), ("2000 steps", ["2000"]),
     ("| a | 3 |\n|---|---|\n| b | 4 % |", ["3", "4"]), ("- 8 heads", ["8"]),
     ("```\nsteps = 2000\n\n3\n```", []), ("$x_1 = 0.5$, <img src=\"a.png\" width=\"220\">, <!-- 64.7 -->", []),
     ("Voita et al. 2019 ([1905.09418](https://arxiv.org/abs/1905.09418)), since 1998, newstest2014, GPT-2, L0, CC-BY-4.0", []),
     ("In section 6.2, 9 heads; Fig. 7, tables 4 and 6, equations 4A and 4B, notebooks 00 to 06", ["9"]),
     ("# 3 · Pruning\n## 3.1 Gates", []), ("1. one\n2. two", [])],
)  # fmt: skip
def test_unbound_numbers_are_seen_and_names_and_code_are_none(text, unbound):
    assert [one for _, one in numbers.unbound(numbers.blank(text, numbers.CODE))] == unbound
