"""The head table: each column is the measure computed alone, on every family that relevance knows, and bad input."""

import random

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import heads, measures
from helpers.measures import removal
from helpers.measures import table as table_module
from helpers.measures.functions import roles
from helpers.measures.lrp import SIGNED, relevance
from helpers.measures.reducers import Reducer
from helpers.measures.table import FUNCTIONS, GROUP, MEASURES, TRUTH, Measure, compared, groups, head_table, register
from helpers.study import StudyError
from tests.unit.tiny_models import EOS, LENGTHS, TARGETS, TODAY, tiny_batch, tiny_model

COLUMNS = [
    "alpha_beta", "attnlrp, size", "cp, size", "gradient, example", "gradient, example, by layer", "gradient, token",
    "gradient, token, by layer", "gradient, signed", "output norm", GROUP, TRUTH, "confidence", "confidence, later tokens",
    "first token", "positional",
]  # fmt: skip
TEXT = ["syntactic", "rare"]
SIZE = 600  # ids of the model, most of which no sentence has


def batches():
    """Two batches of three sentences each, closed by the end-of-sentence id, every token but that a word of its own."""
    found = []
    for number in range(2):
        batch = tiny_batch("marian", 1 + number)
        for row, (length, said) in enumerate(zip(LENGTHS, TARGETS, strict=True)):
            batch["input_ids"][row, length - 1] = EOS
            batch["labels"][row, said - 1] = EOS
        places = torch.arange(max(LENGTHS)).expand(3, -1)
        batch["word_ids"] = places.masked_fill(places >= torch.tensor(LENGTHS)[:, None] - 1, -1)
        batch["index"] = torch.arange(3) + 3 * number
        del batch["decoder_attention_mask"]
        found.append(batch)
    return found


def known():
    """Arcs of those sentences, at random, and counts of their tokens."""
    rng = random.Random(2)
    lengths = [n - 1 for n in LENGTHS * 2]
    arcs = [[(*rng.sample(range(n), 2), relation) for relation in ("nsubj", "amod") for _ in range(3)] for n in lengths]
    counts = torch.arange(SIZE) + 1  # words of these sentences are rare: hundreds of others are more frequent
    return {"arcs": arcs, "counts": counts}


@pytest.fixture(scope="module")
def whole():
    """A model with its head table."""
    model = tiny_model("marian", vocab_size=SIZE)
    return model, head_table(model, batches(), **known())


def same(found, wanted):
    """One column, to rounding, on the head table's index."""
    np.testing.assert_allclose(found, wanted.reindex(found.index), rtol=1e-6, err_msg=found.name)


def test_rows_and_columns(whole):
    model, table = whole
    assert list(table) == [*COLUMNS, *TEXT, FUNCTIONS] and list(table.select_dtypes("number")) == [*COLUMNS, *TEXT]
    assert table.index.equals(heads.index(model))


def test_relevance_is_divided_as_each_rule_needs(whole):
    """By a layer's sum where no relevance is negative; stored tables have signed rules divided by it all the same."""
    model, table = whole
    stored = head_table(model, batches(), names=["attnlrp", "cp"])
    table = table.join(stored)
    ways = {"alpha_beta": ("step", "ratio"), "attnlrp": ("ratio", "size"), "cp": ("ratio", "size")}
    ways |= {f"{rule}, size": ("size", "ratio") for rule in SIGNED}
    assert list(stored) == ["attnlrp", "cp"]
    for name, (way, other) in ways.items():
        rule = name.partition(",")[0]
        same(table[name], relevance(model, batches(), rule, way))
        assert not np.allclose(table[name], relevance(model, batches(), rule, other), rtol=1e-4)


def test_what_heads_do(whole):
    model, table = whole
    text = known()
    positional, syntactic = measures.positional(model, batches(), 1), measures.syntactic(model, batches(), text["arcs"], 1)
    rare = measures.rare(model, batches(), text["counts"], 1)
    same(table.confidence, measures.confidence(model, batches()))
    same(table.positional, positional.score)
    same(table.syntactic, (syntactic.score - syntactic.baseline).groupby(level=["kind", "layer", "head"]).max())
    same(table.rare, rare.two_rarest)
    for address, found in roles(positional, syntactic, rare).items():
        assert table.functions[address].split("; ") == (list(dict.fromkeys(label for _, label in found)) or [""])
    assert any("; " in said for said in table.functions)
    there = table.index.isin(["encoder"], level="kind")
    for name in TEXT:
        assert table[name][there].notna().all() and table[name][~there].isna().all(), name


def test_dear_columns_on_fewer_texts(whole):
    model, table = whole
    few = batches()[:1]
    found = head_table(model, iter(batches()), iter(few), **known())
    dear = [name for name in COLUMNS[: COLUMNS.index(TRUTH) + 1] if name not in ("output norm", GROUP)]
    assert found.drop(columns=dear).equals(table.drop(columns=dear))
    same(found["cp, size"], relevance(model, few, "cp", "size"))
    assert not np.isclose(found[dear], table[dear], rtol=1e-3).all(0).any()


def test_columns_that_the_text_does_not_allow_are_missing(whole):
    model, table = whole
    few = batches()[:1]
    bare = head_table(model, batches(), few)
    assert list(bare) == [*COLUMNS, FUNCTIONS]
    found = head_table(model, batches(), few, counts=known()["counts"], names=["rare", "positional"])
    assert list(found) == ["positional", "rare", FUNCTIONS] and found.rare.equals(table.rare)
    assert not {"alpha_beta"} & set(head_table(tiny_model("gpt2"), [tiny_batch("gpt2")], names=["alpha_beta", "output norm"]))


class Straight(Reducer):
    """Weight on the position of the query's own number, summed over queries."""

    def reduce(self, site, weights, view):
        return torch.diagonal(weights, dim1=-2, dim2=-1).sum(-1, keepdim=True)

    def frame(self, heads, repeats):
        return pd.DataFrame({"straight": self.per_sentence()[..., 0].sum(0)}, heads)


def test_a_registered_measure_is_a_column_and_a_criterion(monkeypatch):
    """Two measures more: a number of a head's own, for who names it, and what a reducer sees."""
    monkeypatch.setattr(table_module, "MEASURES", dict(table_module.MEASURES))
    number = lambda model, start: pd.Series(range(start, start + len(heads.index(model))), heads.index(model)) % 7  # noqa: E731
    register(Measure("number", "number", "its number", "it comes late", number, ("model", "start")))
    register(
        Measure("straight", "straight", "weight on itself", "it looks at itself", lambda frame: frame.straight, (), Straight)
    )
    model = tiny_model("marian", vocab_size=SIZE)
    table = head_table(model, batches()[:1], start=3)
    assert table.number.tolist() == [(3 + place) % 7 for place in range(24)]
    assert {"number", "straight"} <= set(compared(table))
    assert table.straight.nunique() > 6 and not np.allclose(table.straight, table.positional)
    assert set(removal.least(table.straight, 4)) == set(sorted(table.index, key=table.straight.get)[:4])


def test_a_decoder_has_functions_and_what_does_not_fit_is_refused_before_it_runs():
    model, own, text = tiny_model("llama", vocab_size=SIZE), [], known()
    for batch in batches():
        words = {name: batch[name] for name in ("input_ids", "attention_mask", "word_ids", "index")}
        own.append(words | {"labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)})
    given = {"arcs": text["arcs"], "counts": text["counts"]}
    table = head_table(model, own, names=["positional", "rare", "syntactic"], **given)
    same(table.rare, measures.rare(model, own, given["counts"], 1).two_rarest)
    syntactic = measures.syntactic(model, own, given["arcs"], 1)
    same(table.syntactic, (syntactic.score - syntactic.baseline).groupby(level=["kind", "layer", "head"]).max())
    assert table[["rare", "syntactic"]].notna().all(axis=None) and table.functions.str.contains("→").any()
    runs, hook = [], model.register_forward_pre_hook(lambda *_: runs.append(1))
    bare = {name: part for name, part in own[1].items() if name != "word_ids"}
    cases = {"words of each sentence": ([own[0], bare], given), "arcs of 4 sentences": (own, {"arcs": given["arcs"][:4]})}
    for said, (read, asked) in cases.items():
        with pytest.raises(StudyError, match=said):
            head_table(model, read, **asked)
    hook.remove()
    assert not runs


@pytest.mark.parametrize("family", [*TODAY, "gpt2"])
def test_a_query_head_knows_its_key_value_head(family):
    model = tiny_model(family, attention="eager")
    shared = getattr(model.config, "num_key_value_heads", None) == 2
    expected = {address: float(address[2] // 2) if shared else np.nan for address in heads.index(model)}
    assert groups(model).equals(pd.Series(expected).rename_axis(["kind", "layer", "head"]))
    table = head_table(model, [tiny_batch(family)])
    assert table[GROUP].equals(groups(model)) and table.drop(columns=[GROUP, FUNCTIONS]).notna().all(axis=None)
    assert {"gradient, signed", "output norm", "first token"} <= set(table)


MODEL = tiny_model("marian")
BAD = {
    "no model": lambda: head_table(None, batches()),
    "'syntactic' needs arcs": lambda: head_table(MODEL, batches(), names=["syntactic"]),
    "no batches to measure": lambda: head_table(MODEL, iter([])), "no batches": lambda: head_table(MODEL, batches(), []),
    "'arc'": lambda: head_table(MODEL, batches(), arc=[]), "'magic'": lambda: head_table(MODEL, batches(), names=["magic"]),
    "'confidence'": lambda: register(MEASURES["confidence"]),
    "'nothing'": lambda: register(Measure("mine", "mine", "a form", "more", lambda column: column, of="nothing")),
}  # fmt: skip


@pytest.mark.parametrize("said", BAD)
def test_what_makes_no_table_is_refused(said):
    with pytest.raises(StudyError, match=said):
        BAD[said]()
    assert "mine" not in MEASURES
