"""What people read: tables in words, a sentence below each figure, the answer on top."""

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot

from helpers import reading, study
from helpers.publish import claims
from helpers.study import StudyError

NAN = float("nan")
HEADS = pd.MultiIndex.from_tuples([("encoder", 0, 4), ("cross", 2, 0)], names=["kind", "layer", "head"])


@pytest.mark.parametrize(("value", "form", "said"), [
    (9_150_791, "", "9.2 million"), (12345, "", "12,345"), (7, "", "7"), (1000.0, "", "1,000"), (0.644, "", "0.64"),
    (-12.34, "", "-12.3"), (9.999, "", "10.0"), (2.3e-7, "", "2e-07"), (0.0, "", "0.00"), (NAN, "", "–"), (None, "", "–"),
    (True, "", "yes"), ("x", ".2f", "x"), (0.456, "%", "46 %"), (-0.001, "%", "0 %"), (0.2071, ".1%", "20.7 %"),
    (-0.0001, ".1%", "0.0 %"), (0.05, "+%", "+5 %"), (-0.01, ".1f", "0.0"), (-0.01, "+.1f", "0.0"),
    (0.01, "+.1f", "0.0"), (1.26, "+.1f", "+1.3"), (1234.5, ",.1f", "1,234.5"),
])  # fmt: skip
def test_numbers_are_written_for_people(value, form, said):
    assert reading.number(value, form) == said


def test_an_interval_follows_its_value_and_a_unit_stands_once():
    assert reading.interval(0.64, 0.43, 0.75) == "0.64 [0.43, 0.75]"
    assert reading.interval(0.64, 0.43, 0.75, "%") == "64 [43, 75] %"
    assert reading.interval(0.64, NAN, 0.75) == "0.64" and reading.interval(0.5) == "0.50"
    assert reading.interval(-0.17, -0.31, -0.04, "+.1f") == "-0.2 [-0.3, -0.04]"  # zero is outside: the sign is kept
    assert reading.interval(-0.17, -0.31, 0.04, "+.1f") == "-0.2 [-0.3, 0.0]"
    assert reading.interval(0.05, 0.004, 0.1, "+%") == "+5 [+0.4, +10] %"
    assert (
        reading.interval(0.3, 0.002, 0.5) == "0.30 [0.002, 0.50]" and reading.interval(0.5, 0.0, 1.0, ".1f") == "0.5 [0.0, 1.0]"
    )
    assert reading.listed("abc") == "a, b and c" and reading.listed("a") == "a" and reading.listed("") == "none"


def lines(shown):
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in shown.data.split("\n") if line.startswith("|")]


def test_a_table_has_words_intervals_and_winners():
    table = pd.DataFrame(
        {"model": ["a|b", "c"], "bleu": [50.0, 51.26], "low": [49, 50], "high": [51, 52.5], "n_low": 1, "tokens": 9.15e6}
    )
    head, sides, *rows = lines(
        reading.readable(table, {"model": "model", "bleu": "BLEU", "tokens": "tokens"}, best={"bleu": "most"})
    )
    assert head == ["model", "BLEU", "tokens"] and sides == [":---", "---:", "---:"]
    assert rows == [["a\\|b", "50.0 [49.0, 51.0]", "9.2 million"], ["c", "**51.3 [50.0, 52.5]**", "9.2 million"]]
    parts = pd.DataFrame(
        {"x_a": [NAN, 2.0], "x_a_low": [NAN, 1.0], "x_a_high": [NAN, 3.0], "y, low": 0.0, "y, high": 1.0, "y": 0.5}
    )
    head, _, *rows = lines(reading.readable(parts, best={"x_a": "least"}, caption="Caption"))
    assert head == ["x a", "y"] and rows == [["–", "0.50 [0.00, 1.00]"], ["**2.00 [1.00, 3.00]**", "0.50 [0.00, 1.00]"]]
    assert reading.readable(parts, caption="Caption").data.startswith("**Caption**\n\n|")


def test_heads_count_from_one_and_no_raw_index_is_shown():
    head, _, *rows = lines(reading.readable(pd.DataFrame({"value": [1, 2]}, HEADS)))
    assert head == ["kind", "layer", "head", "value"]
    assert rows == [["encoder self", "1", "5", "1"], ["cross", "3", "1", "2"]]
    head, _, *rows = lines(reading.readable(pd.DataFrame({"layer": [1], "head": [1]}, [5])))
    assert head == ["layer", "head"] and rows == [["1", "1"]]


def test_what_people_cannot_read_is_refused():
    wide = pd.DataFrame([range(8)], columns=list("abcdefgh"))
    with pytest.raises(StudyError, match="8 columns"):
        reading.readable(wide)
    with pytest.raises(StudyError, match="no column 'z'"):
        reading.readable(wide, ["a", "z"])
    reading.readable(wide, list("abcdefg"))


@pytest.fixture
def shown(tmp_path):
    """A run, and what it displays: a function that calls another and gives kinds and contents of what was shown."""
    InteractiveShell.instance()
    run = study.begin("03_l0_pruning", {"profile": "tiny", "output": str(tmp_path)})

    def calling(function, *args, **more):
        with capture_output() as caught:
            made = function(*args, **more)
        return made, [
            output.data.get("text/markdown") or ("png" if "image/png" in output.data else None) for output in caught.outputs
        ]

    return run, calling


def drawn():
    figure, axis = pyplot.subplots(figsize=(1, 1))
    axis.plot([0, 1])
    return figure


def test_a_takeaway_stands_below_its_figure_and_in_its_sidecar(shown):
    run, calling = shown
    _, said = calling(run.figure, drawn(), "one", "A line.", takeaway="It rises by 1.")
    assert said == ["png", "> It rises by 1."]
    assert study.read_json(run.chapter.sidecar("one"))["takeaway"] == "It rises by 1."
    assert calling(run.figure, drawn(), "two", "A line.", takeaway="It rises.", show=False)[1] == []
    assert calling(run.figure, drawn(), "three", "A line.")[1] == ["png"]


def test_the_box_is_filled_with_the_answer_then_the_key_figure_then_what_it_says_then_verdicts(shown):
    run, calling = shown
    box, empty = calling(claims.Box, run)
    assert len(empty) == 4 and "png" not in empty
    calling(run.figure, drawn(), "key", "A line.", takeaway="It rises.", show=False)
    _, said = calling(box.fill, "key", "Last words.", first="It does.", more="Details.", note="Mind this.")
    first, details, *rest = said  # each updates its own place
    assert (first, rest) == ("It does.", ["png", "> It rises.", "Last words."])
    assert details.index("| claim |") < details.index("<details>") and details.endswith("\n\nDetails.\n\n</details>")
    assert "</details>\n\nMind this.\n\n<details>" in details
    with pytest.raises(StudyError, match="no figure 'other'"):
        box.fill("other")


@pytest.mark.parametrize(("values", "form", "said"), [
    ([0.53, NAN, 0.68], "%", "53 to 68 %"), ([0.677, 0.683], "%", "68 %"), ([1.0], ".1f", "1.0"), ([NAN], "%", "–"),
    ([], "", "–"), (pd.Series([3, 1]), "", "1 to 3"),
])  # fmt: skip
def test_ends_are_one_number_where_they_are_alike(values, form, said):
    assert reading.ends(values, form) == said


def test_one_thing_is_no_things():
    assert [reading.count(many, "model") for many in (0, 1, 1200)] == ["0 models", "1 model", "1,200 models"]
