"""Values in files: what was written is read again, and nothing but values is."""

import dataclasses
import gzip
import importlib
import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.corpora import Pair
from helpers.methods.l0 import HardConcrete
from helpers.study import StudyError, values

NAN = float("nan")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "of" / "values.json.gz"


def again(path, value):
    values.write(path, value)
    return values.read(path)


def handmade(path, tree):
    """A file as `write` leaves it, of a tree that it would not write."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps({"format": "values 1", "value": tree}).encode()))
    return path


PLAIN = [
    None, True, 2**70, 0.1, -0.0, 1.0, 5e-324, "", "naïve 'α'\n\x00 \ud800", [], [1, [2, [None]]], (), ((1, 2), [3]),
    {"b": 1, "a": 2}, {None: 1, True: 2, 2.5: 3, ("a", 0): {}},
    {"tuple": [1, 2]}, [{"float": "nan"}], {"format": {"dict": []}}, NAN, {NAN: (-math.inf,)},
]  # fmt: skip


def same(one, two):
    """Whether two plain values are alike in every part, with types and order."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return repr(one) == repr(two) if isinstance(one, float) else one == two


def test_plain_values(path):
    assert same(again(path, PLAIN), PLAIN)
    for value in PLAIN:
        assert same(again(path, value), value)


ARRAYS = {
    "floats": np.random.default_rng(1).normal(size=(3, 4, 2)), "not numbers": np.array([NAN, math.inf, -0.0], np.float16),
    "big end first": np.arange(4, dtype=">u4"), "a step": np.arange(10)[::3],
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "bool": np.array([[True], [False]]),
    "text": np.array([["a", "long"]]), "none": np.zeros((0, 3), np.float32),
    "objects": np.array([[None, "a"], [(1, 2), 0.5]], dtype=object),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(path, name):
    array = ARRAYS[name]
    found = again(path, [array])[0]
    assert type(found) is np.ndarray and found.dtype == array.dtype and found.shape == array.shape
    assert found.flags.fnc == array.flags.fnc and found.flags.writeable
    assert found.tolist() == array.tolist() if array.dtype == object else found.tobytes() == array.tobytes()


def test_tensors(path):
    given = [torch.tensor(2.0), torch.zeros(0, 3), torch.arange(6).view(2, 3).T, torch.tensor([1 / 3]).bfloat16()]
    given.append(torch.tensor([1.0, 2.0], requires_grad=True))
    for found, tensor in zip(again(path, given), given, strict=True):
        assert type(found) is torch.Tensor and found.dtype == tensor.dtype and torch.equal(found, tensor)
        assert not found.requires_grad


HEADS = pd.MultiIndex.from_tuples(
    [("encoder", 0, 0), ("encoder", 0, 0), ("cross", 1, 3), ("cross", 1, None)], names=["kind", None, ("a", 1)]
)
MIXED = pd.DataFrame(
    {
        "whole": pd.array([1, 2, 3, 4], "int32"), "part": [0.1, NAN, -0.0, math.inf], "is": [True, False, True, True],
        "text": ["a", None, "", "ü"], "cells": [[("a", 1)], (), None, {"x": 0.5}],
        3: [1, 2.5, "x", None], ("t", 1): np.float32([1, 2, 3, 4]),
        "objects": pd.Series(["a", "b", "c", "d"], dtype=object), "missing": pd.array(["a", None, "c", "d"], "string"),
    }
)  # fmt: skip
FRAMES = {
    "mixed": MIXED, "columns of heads": pd.DataFrame(np.ones((2, 4), np.float32), [0, 500], HEADS),
    "a column twice": pd.DataFrame([[1, "a", 2.5]], columns=pd.Index(["x", "y", "x"], name="which")),
    "levels that are not used": MIXED.set_index(HEADS).iloc[2:], "no rows": MIXED[:0], "nothing": pd.DataFrame(),
}  # fmt: skip
EXACT = {"check_exact": True, "check_index_type": "exact", "check_freq": True}


@pytest.mark.parametrize("name", FRAMES)
def test_frames(path, name):
    frame = FRAMES[name].copy()
    frame.attrs = {"references": {"a": ("b", 1)}}
    found = again(path, {"of": frame})["of"]
    pd.testing.assert_frame_equal(found, frame, check_column_type="exact", **EXACT)
    assert found.attrs == frame.attrs
    assert all(same(a, b) for a, b in zip(found.get("cells", []), frame.get("cells", []), strict=True))


INDEXES = [
    HEADS, HEADS[:0], pd.RangeIndex(2, 9, 3, name="step"), pd.Index([], dtype="int8"),
    pd.Index([("a", 1), ("b", 2)], tupleize_cols=False), pd.Index([1, "a", None], name=("x", 0)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDEXES, ids=repr)
def test_series_and_indexes(path, index):
    series = pd.Series([["a"], None, (2,), 1.5][: len(index)], index, name=("a", 1), dtype=object)
    series.attrs = {"seconds": 1.5}
    found = again(path, series)
    pd.testing.assert_series_equal(found, series, **EXACT)
    assert found.attrs == series.attrs and same(found.tolist(), series.tolist())
    assert type(found.index) is type(index) and found.index.dtype == index.dtype


def test_dataclasses_of_the_project(path):
    pair = Pair("a b", "c", ("a", "b"), (1, -1), ("x", "root"))
    gate = HardConcrete(torch.tensor([0.5, -2.0]), 0.5)
    found, other = again(path, {"both": (pair, gate)})["both"]
    assert found == pair and type(found) is Pair
    assert torch.equal(other.log_alpha, gate.log_alpha) and (other.temperature, other.low) == (0.5, -0.1)


@dataclasses.dataclass
class Own:
    """Of the tests, not of the project."""


@pytest.mark.parametrize(("module", "name"), [
    ("os", "system"), ("helpers.study.store", "Path"), ("helpers.study.store", "os.PathLike"), ("helpers.study", "StudyError"),
    ("helpers.gone", "Pair"), ("helpers.corpora", "Gone"), (Own.__module__, "Own"),
])  # fmt: skip
def test_other_classes_are_not_made(path, module, name):
    tree = {"dataclass": {"module": module, "name": name, "fields": {"dict": []}}}
    with pytest.raises(StudyError, match=r"no dataclass|No module"):
        values.read(handmade(path, tree))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (lambda: None, "function"), (Own(), "Own"), (Own, "type"), (b"bytes", "bytes"), (Counter("a"), "Counter"), ({1}, "set"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"), (np.ma.array([1]), "Masked"), (pd.NA, "NA"),
        (pd.Series(pd.array([1, None], "Int64")), "Integer"), (torch.nn.Parameter(torch.ones(1)), "Parameter"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_other_types_are_named_with_their_place(path, value, name):
    with pytest.raises(StudyError, match=name) as caught:
        values.write(path, {"one": [1, (2, value)]})
    assert "value['one'][1][1]" in str(caught.value) and str(caught.value).count("\n") == 0
    assert not path.exists()


def test_cells_names_and_keys_are_looked_into_and_what_was_there_stays(path):
    values.write(path, {"a": 1})
    (circle := []).append(circle)
    for value in (pd.Series([1, Own()]), pd.DataFrame({Own: [1]}), {Own: 1}, np.array([Own()]), circle):
        with pytest.raises(StudyError, match="cannot be stored"):
            values.write(path, value)
    assert values.read(path) == {"a": 1} and [file.name for file in path.parent.iterdir()] == [path.name]


def test_damaged_and_foreign_files(path):
    values.write(path, {"a": [np.arange(3), pd.Series([1.0])]})
    content = path.read_bytes()
    middle = len(content) // 2
    for wrong in (
        content[:-9], content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :], gzip.compress(b"\xff"),
        b'{"format": "values 1", "value": 1}', gzip.compress(b"[1, 2]"), gzip.compress(b'{"format": "values 0", "value": 1}'),
        gzip.compress(b'{"format": "values 1", "value": ' + b"[" * 100000 + b"]" * 100000 + b"}"),
    ):  # fmt: skip
        path.write_bytes(wrong)
        with pytest.raises(StudyError, match=str(path)):
            values.read(path)
    path.unlink()
    with pytest.raises(StudyError, match=str(path)):
        values.read(path)


def test_a_class_is_found_under_the_name_of_the_module_it_was_in(path):
    for before, now in values.MOVED.items():
        found = importlib.import_module(now)
        name = next(name for name, kind in vars(found).items() if dataclasses.is_dataclass(kind) and kind.__module__ == now)
        names = [part.name for part in dataclasses.fields(getattr(found, name))]
        tree = {"dataclass": {"module": before, "name": name, "fields": {"dict": [[part, 1] for part in names]}}}
        assert type(values.read(handmade(path, tree))) is getattr(found, name)
