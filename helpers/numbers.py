"""Numbers in the text are kept right: each names the cell of a table from which it comes, in a comment that no reader sees.

    With half of its `48` heads it loses **0.24**<!-- 03/half_left model="EN-RU news" -change:.2f --> BLEU, and this is
    no accident.<!-- holds: 03/half_left model="EN-RU news" change_high < 0 -->

To bind a number, write any number and right behind it, or behind its `**`, a comment of three parts:

- the table: `03/half_left` is `figures/controlled/03_*/tables/half_left.csv`, `natural/03/half_left` that of natural text, and
  `pretrained/head_table` lies somewhere below `figures/pretrained`;
- the row: `model="EN-RU news" heads=20` is the one row with these values; a name with a space needs quotes, `"test set"=test`;
- the column of the number: a minus before it turns the sign, and behind a colon stands a form of Python (`.2f`, `+.1f`, `.0%`).

A condition, `holds:`, stands behind a sentence in the same way: a column of the row, one of `< <= > >= == !=`, and a number or
another column; `and` adds one more. It may choose several rows, and is true if it is of each:

    holds: 06/rises model="toy EN-RU" criterion="gradient, example" gone=* high < criterion=random|confidence low

`a|b` chooses a row of either value, `*` one of any. Values before the column behind `<` choose other rows, which have the rest
in common with the first. A comment may run over lines, but begins none: Markdown would end the paragraph there. `make numbers`
writes bound numbers again from the committed tables and says which sentences to read again; with `--check` nothing is written.

The rule has three sentences. In notebooks every number is bound, or it is a constant (a setting, a number that a paper
printed) and stands in backticks. On any other page this holds for each paragraph with a bound number. Code,
formulas, links and headings are left out, and so are names such as figure 7, section 6, notebook 3, 2019, ROUGE-1 and L0.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import operator
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from helpers import study
from helpers.study import StudyError

PAGES = ("README.md", "docs/*.md", "notebooks/py/*.py", "notebooks/*.ipynb")
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}

CODE = (r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", r"(?s)(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)\1(?!`)")
NO_MARKDOWN = (r"(?ms)\A.*?(?=^# %%)", r"(?ms)^# %%(?! \[markdown\]).*?(?=^# %%|\Z)", r"(?m)^#(?: %%.*$)?")
BOUND = r"(?<![\w.])([+\-−]?(?:\d[\d,]*)?\.?\d+(?:e[+-]?\d+)?)([ \u00a0]?%)?[*_]*<!--(?!\s*holds:)((?:.|\n)*?)-->"
HOLDS = r"<!--\s*holds:((?:.|\n)*?)-->"
ASTRAY = r"(?m)^[ \t]*<!--\s*holds:|<!--\s*\w+(?:/[\w.-]+)+\s"  # such a comment at the wrong place
LABEL, ONE = r"(?i)\b(?:section|figure|fig|table|equation|eq|notebook|chapter|footnote|appendix|version)", r"\d[\d.]*[a-z]?\b"
LEFT_OUT = (  # comments, formulas, tags, links, headings, numbers of a list; names
    r"(?s)<!--.*?-->", r"(?s)\$\$.*?\$\$", r"\$(?!\s)[^$\n]+(?<!\s)\$(?!\d)", r"<[a-zA-Z/][^<>]*>",
    r"!?\[[^\]]*\]\([^()]*\)", r"https?://\S+", r"(?m)^ *#.*$", r"(?m)^[ \t>]*\d+[.)](?= )",
    r"\b(?:19|20)\d\d\b(?![.,]\d| ?%| (?:steps|sentences|tokens|pairs|heads|runs)\b)",
    rf"{LABEL}s\s+{ONE}(?:(?:, (?:and )?| and | to | or |-|–){ONE})*", rf"{LABEL}\.?\s+{ONE}",
    r"\b[A-Z]\w*(?:-[A-Za-z]+)*-\d+(?:\.\d+)*(?:/\w+)*\b", r"\b95 %(?=[\w\s-]{0,30}\b(?:intervals?|bootstraps?)\b)",
)  # fmt: skip
NUMBER = r"(?<![A-Za-z\d_])[+\-−]?\.?\d+(?:[.,:/]\d+)*(?:e[+-]?\d+)?[A-Za-z]*"


def find(name: str, figures: Path) -> Path:
    """The file of a table by its short name, as the head of this module says."""
    *folders, table = name.split("/")
    folders = ["controlled", *folders] if folders[:1] and folders[0].isdigit() else folders
    place = [f"{folder}_*" if folder.isdigit() else folder for folder in folders]
    files = sorted(figures.glob("/".join([*place, "**", f"{table}.csv"])))
    if len(files) != 1:
        raise StudyError(f"there are {len(files)} tables {name!r}, not one: name its folder, chapter and table")
    return files[0]


def select(comment: str, figures: Path) -> tuple[str, list[dict[str, str]], list[str]]:
    """The table that a comment names, its rows, and the words that follow."""
    try:
        name, *rest = shlex.split(comment) if "--" not in comment else ()  # which ends it in some readers of HTML
    except ValueError:
        raise StudyError("the comment cannot be read: write TABLE NAME=VALUE COLUMN:FORM, and close its quotes") from None
    with find(name, figures).open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    if len(set(header)) < len(header):
        raise StudyError(f"the table {name!r} has columns of one name: choose another table")
    return name, [dict(zip(header, line, strict=True)) for line in lines], rest


def values(words: list[str]) -> dict[str, str]:
    """What NAME=VALUE at the front of words says; the words lose it."""
    named = {}
    while words and re.match(r"[^=<>!]+=(?!=)", words[0]):
        column, _, wanted = words.pop(0).partition("=")
        named[column] = wanted
    return named


def chosen(name: str, rows: list[dict[str, str]], named: dict[str, str]) -> list[dict[str, str]]:
    """The rows of these values: one of each that | parts, and one of each that `*` stands for."""
    found = []
    for column in named:
        if rows and column not in rows[0]:
            raise StudyError(f"the table {name!r} has no column {column!r}: choose from {', '.join(rows[0])}")
    for wanted in itertools.product(*(texts.split("|") for texts in named.values())):
        pairs = list(zip(named, wanted, strict=True))
        fit = [row for row in rows if all(one == "*" or same(row[column], one) for column, one in pairs)]
        if not fit or len({tuple(row[column] for column in named) for row in fit}) < len(fit):
            raise StudyError(f"{len(fit)} rows of {name!r} are chosen, not one: choose by other columns, or by more")
        found += fit
    return found


def same(cell: str, wanted: str) -> bool:
    """Whether a cell has a value, as text or as a number."""
    return cell == wanted or number(cell) == number(wanted) is not None


def number(text: str) -> float | None:
    """The number that a text is, None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def value(row: dict[str, str], column: str) -> str:
    """A cell of a row; with a minus before the column its number of the other sign."""
    name = column if column in row else column.removeprefix("-")
    if row.get(name, "") in ("", "nan"):
        raise StudyError(f"the cell {name!r} is empty or not there: choose from {', '.join(row)}")
    return row[name] if name == column else row[name][1:] if row[name].startswith("-") else f"-{row[name]}"


def printed(comment: str, figures: Path) -> str:
    """The number that a comment binds, in its form."""
    name, rows, rest = select(comment, figures)
    row, *others = chosen(name, rows, values(rest))
    if others:
        raise StudyError("a number is that of one row: name no * and no | before it")
    column, _, form = " ".join(rest).partition(":")
    text = value(row, column)
    try:
        return format(float(text) or 0.0, form or ".15g")
    except ValueError:
        raise StudyError(f"{text} cannot be printed as {form!r}: write the form of a number, such as .2f") from None


def holds(condition: str, figures: Path) -> bool:
    """Whether a condition is true of every row that it chooses."""
    name, rows, rest = select(condition, figures)
    named, pairs = values(rest), []
    firsts = chosen(name, rows, named)
    for part in [list(words) for is_and, words in itertools.groupby(rest, "and".__eq__) if not is_and] or [[]]:
        beside = values(words := part[2:])
        if len(words) != 1 or part[1] not in OPERATORS:
            raise StudyError(f"the condition {' '.join(rest)!r} cannot be read: write COLUMN < VALUE, with spaces")
        for row in firsts:
            others = chosen(name, rows, {one: row[one] for one in named} | beside) if beside else [row]
            pairs += [(value(row, part[0]), part[1], value({words[0]: words[0]} | other, words[0])) for other in others]
    if any(number(left) is None or number(right) is None for left, _, right in pairs):
        raise StudyError(f"the condition {' '.join(rest)!r} compares no numbers: name a column, and a number or another column")
    return all(OPERATORS[sign](float(left), float(right)) for left, sign, right in pairs)


def blank(text: str, patterns: Sequence[str]) -> str:
    """A text with spaces in place of what fits the patterns; all else stays where it is."""
    for pattern in patterns:
        text = re.sub(pattern, lambda part: re.sub(r"[^\n]", " ", part[0]), text)
    return text


def unbound(text: str, everywhere: bool = True) -> list[tuple[int, str]]:
    """Numbers in prose that nothing binds, with their places: in all paragraphs, or in those with a bound number."""
    numbers = []
    for part in re.finditer(r"(?s).+?(?=\n[ \t]*\n|\Z)", text):
        if everywhere or re.search(BOUND, part[0]):
            left = blank(part[0], (BOUND, *LEFT_OUT))
            numbers += [(part.start() + one.start(), one[0]) for one in re.finditer(NUMBER, left)]
    return numbers


def checked(source: str, figures: Path, code: Sequence[str] = CODE, everywhere: bool = True) -> tuple[str, list, list]:
    """A page with the numbers of the tables; by their places which numbers moved, and what is wrong."""
    text, pieces, end, moved = blank(source, code), [], 0, []
    wrong = [(at, f"{one} is not bound: bind it, or write a constant in backticks") for at, one in unbound(text, everywhere)]
    left = blank(text, [BOUND])
    wrong += [(part.start(), "a comment begins a line or follows no number: move it") for part in re.finditer(ASTRAY, left)]
    for part in re.finditer(f"{BOUND}|{HOLDS}", text):
        try:
            if part[4] is None:
                old, new = part[1], printed(part[3], figures)
                if new.endswith("%"):
                    old, new = old + (part[2] or ""), new.replace("%", part[2] or " %")
                if new != old:
                    moved.append((part.start(), f"{old} is {new} in the tables, read the sentence again"))
                    pieces, end = [*pieces, source[end : part.start()], new], part.start() + len(old)
            elif not holds(part[4], figures):
                wrong.append((part.start(), f"no longer true, write the sentence again: {' '.join(part[4].split())}"))
        except StudyError as error:
            wrong.append((part.start(), str(error)))
    return "".join([*pieces, source[end:]]), moved, wrong


def twin(source: str, figures: Path) -> tuple[str, list, list]:
    """`checked` of a notebook's Markdown cells; what is wrong in them is said of the same cells in notebooks/py."""
    book, moved = json.loads(source), False
    for cell in (cell for cell in book["cells"] if cell["cell_type"] == "markdown"):
        text = "".join(cell["source"])
        cell["source"] = checked(text, figures)[0].splitlines(keepends=True)
        moved |= "".join(cell["source"]) != text
    new = json.dumps(book, indent=1, ensure_ascii=False) + "\n"
    return new, [(0, "it has other numbers than the tables")] if moved else [], []


def main(arguments: Sequence[str] | None = None, root: Path = study.ROOT) -> None:
    """Write the bound numbers of pages and notebooks again from the committed tables, or check them."""
    parser = argparse.ArgumentParser(prog="python -m helpers.numbers", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; numbers that moved are errors")
    check, faults = parser.parse_args(arguments).check, []
    for path in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        name, source, figures = str(path.relative_to(root)), path.read_text(encoding="utf-8"), root / "figures"
        if path.suffix == ".ipynb":
            new, moved, wrong = twin(source, figures)
        elif path.suffix == ".py":
            new, moved, wrong = checked(source, figures, (*NO_MARKDOWN, *CODE))
        else:
            new, moved, wrong = checked(source, figures, everywhere=False)
        if moved and not check:
            study.write_text(path, new)
        for at, what in sorted([*moved, *wrong]):
            print(f"{name}:{source.count(chr(10), 0, at) + 1}: {what}")
        faults += [*moved, *wrong] if check else wrong
    with study.one_sentence():
        if faults:
            raise StudyError(f"{len(faults)} numbers or conditions are wrong: read the lines above.")


if __name__ == "__main__":
    main()
