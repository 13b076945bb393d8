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


def test_plain_values(path):
    plain = [
        None, True, 2**70, 0.1, -0.0, 5e-324, "naïve 'α'\n\x00 \ud800", [1, [2, [None]]], ((1, 2), [3]), {"b": 1, "a": 2},
        {None: 1, True: 2, 2.5: 3, ("a", 0): {}}, {"tuple": [1, 2]}, [{"float": "nan"}], NAN, {NAN: (-math.inf,)},
    ]  # fmt: skip
    assert repr(again(path, plain)) == repr(plain)  # with types, order and signs of zero


ARRAYS = [
    np.random.default_rng(1).normal(size=(3, 4, 2)), np.array([NAN, math.inf, -0.0], np.float16), np.arange(4, dtype=">u4"),
    np.arange(10)[::3], np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 3), np.float32),
    np.array([[None, "a"], [(1, 2), 0.5]], dtype=object),
]  # fmt: skip


def test_arrays_and_tensors(path):
    for found, array in zip(again(path, ARRAYS), ARRAYS, strict=True):
        assert type(found) is np.ndarray and found.dtype == array.dtype and found.shape == array.shape
        assert found.flags.fnc == array.flags.fnc and found.flags.writeable
        assert found.tolist() == array.tolist() if array.dtype == object else found.tobytes() == array.tobytes()
    given = [torch.tensor(2.0), torch.zeros(0, 3), torch.arange(6).view(2, 3).T, torch.tensor([1 / 3]).bfloat16()]
    for found, tensor in zip(again(path, given), given, strict=True):
        assert type(found) is torch.Tensor and found.dtype == tensor.dtype and torch.equal(found, tensor)


HEADS = pd.MultiIndex.from_tuples(
    [("encoder", 0, 0), ("encoder", 0, 0), ("cross", 1, 3), ("cross", 1, None)], names=["kind", None, ("a", 1)]
)
MIXED = pd.DataFrame(
    {
        "whole": pd.array([1, 2, 3, 4], "int32"), "part": [0.1, NAN, -0.0, math.inf], "is": [True, False, True, True],
        "text": ["a", None, "", "ü"], "cells": [[("a", 1)], (), None, {"x": 0.5}], 3: [1, 2.5, "x", None],
    }
)  # fmt: skip
FRAMES = [
    MIXED, pd.DataFrame(np.ones((2, 4), np.float32), [0, 500], HEADS), MIXED.set_index(HEADS).iloc[2:], MIXED[:0],
    pd.DataFrame([[1, "a", 2.5]], columns=pd.Index(["x", "y", "x"], name="which")),
]  # fmt: skip
INDEXES = [HEADS, HEADS[:0], pd.RangeIndex(2, 9, 3, name="step"), pd.Index([1, "a", None], name=("x", 0))]
EXACT = {"check_exact": True, "check_index_type": "exact", "check_freq": True}


def test_frames_series_and_indexes(path):
    for found, frame in zip(again(path, FRAMES), FRAMES, strict=True):
        pd.testing.assert_frame_equal(found, frame, check_column_type="exact", **EXACT)
    given = [pd.Series([["a"], None, (2,), 1.5][: len(index)], index, name=("a", 1), dtype=object) for index in INDEXES]
    for found, series in zip(again(path, given), given, strict=True):
        pd.testing.assert_series_equal(found, series, **EXACT)
        assert type(found.index) is type(series.index) and found.index.dtype == series.index.dtype


@dataclasses.dataclass
class Own:
    """Of the tests, not of the project."""


def test_dataclasses_of_the_project_alone_are_made(path):
    pair = Pair("a b", "c", ("a", "b"), (1, -1), ("x", "root"))
    assert again(path, {"both": (pair, 1)})["both"][0] == pair
    for module, name in (
        ("os", "system"), ("helpers.study.store", "Path"), ("helpers.study.store", "os.PathLike"), ("helpers.gone", "Pair"),
        ("helpers.study", "StudyError"), ("helpers.corpora", "Gone"), (Own.__module__, "Own"),
    ):  # fmt: skip
        with pytest.raises(StudyError, match=r"no dataclass|No module"):
            values.read(handmade(path, {"dataclass": {"module": module, "name": name, "fields": {"dict": []}}}))


@pytest.mark.parametrize(
    ("value", "name"),
    [(Own(), "Own"), (Counter("a"), "Counter"), ({1}, "set"), (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
     (pd.Series(pd.array([1, None], "Int64")), "Integer"), (pd.Series([1, Own()]), "Own"), ({Own: 1}, "type")],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_other_types_are_named_with_their_place_and_what_was_there_stays(path, value, name):
    values.write(path, {"a": 1})
    with pytest.raises(StudyError, match=name) as caught:
        values.write(path, {"one": [1, (2, value)]})
    assert "value['one'][1][1]" in str(caught.value) and str(caught.value).count("\n") == 0
    assert values.read(path) == {"a": 1} and [file.name for file in path.parent.iterdir()] == [path.name]


def test_damaged_and_foreign_files(path):
    values.write(path, {"a": [np.arange(3), pd.Series([1.0])]})
    content = path.read_bytes()
    middle = len(content) // 2
    for wrong in (
        content[:-9], content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :], gzip.compress(b"\xff"),
        b'{"format": "values 1", "value": 1}', gzip.compress(b"[1, 2]"), gzip.compress(b'{"format": "values 0", "value": 1}'),
        None,
    ):  # fmt: skip
        path.unlink()
        if wrong:
            path.write_bytes(wrong)
        with pytest.raises(StudyError, match=str(path)):
            values.read(path)


def test_a_class_is_found_under_the_name_of_the_module_it_was_in(path):
    for before, now in values.MOVED.items():
        found = importlib.import_module(now)
        name = next(name for name, kind in vars(found).items() if dataclasses.is_dataclass(kind) and kind.__module__ == now)
        names = [part.name for part in dataclasses.fields(getattr(found, name))]
        tree = {"dataclass": {"module": before, "name": name, "fields": {"dict": [[part, 1] for part in names]}}}
        assert type(values.read(handmade(path, tree))) is getattr(found, name)
