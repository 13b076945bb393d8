"""Values in files: trees of plain values, arrays, tensors and tables as compressed JSON, exact and without code in them.

None, bool, int, str, list and finite float are what JSON calls so. Everything else is a JSON object with one name, its kind:
`{"tuple": [1, 2]}`. Numbers in arrays are kept as their bytes, tables with order, types and names.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import importlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from helpers.errors import StudyError
from helpers.study.store import write_bytes

_FORMAT = "values 1"
MOVED = {"helpers.measures.relevance": "helpers.measures.lrp"}  # modules by the names that stored values know
_PLAIN = (type(None), bool, int, str)
_BYTES = "biufcSU"  # kinds of numpy's types whose bytes are the value


def write(path: Path, value: Any) -> None:
    """Write a tree of values, whole or not at all; the same tree gives the same bytes.

    In any depth it may hold None, bool, int, float, str, list, tuple, dict, scalars and arrays of numpy, tensors (as copies on
    the CPU), DataFrame, Series and Index of pandas, and dataclasses of this project. Anything else is a StudyError.
    """
    try:
        text = json.dumps({"format": _FORMAT, "value": _pack(value, "value")}, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise StudyError("A value that lies too deep in itself cannot be stored: give one without circles.") from None
    write_bytes(path, gzip.compress(text.encode("ascii"), 6, mtime=0))


def read(path: Path) -> Any:
    """What `write` was given; a StudyError if the file is damaged, or needs a class that is no dataclass of this project."""
    try:
        tree = json.loads(gzip.decompress(path.read_bytes()))
        if tree["format"] != _FORMAT:
            raise ValueError(f"its format is not {_FORMAT!r}")
        return _unpack(tree["value"])
    except Exception as error:  # whatever a damaged file makes of it
        reason = str(error) if isinstance(error, StudyError) else f"{type(error).__name__} {error}"
        raise StudyError(f"Cannot read the values {path} ({' '.join(reason.split()).rstrip('.')}): make them anew.") from None


# --- to JSON ---------------------------------------------------------------------------------------------------------


def _pack(value: Any, where: str) -> Any:
    """The JSON value of a value that stands at `where` in its tree."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return _all(value, where)
    if kind is tuple:
        return {"tuple": _all(value, where)}
    if kind is dict:
        return {"dict": [[_pack(key, f"a key of {where}"), _pack(part, f"{where}[{key!r}]")] for key, part in value.items()]}
    name, parts = _parts(value, where)
    return {name: {part: _pack(inside, f"{where}.{part}") for part, inside in parts.items()}}


def _all(values: Iterable[Any], where: str) -> list[Any]:
    return [part if type(part) in _PLAIN else _pack(part, f"{where}[{i}]") for i, part in enumerate(values)]


def _parts(value: Any, where: str) -> tuple[str, dict[str, Any]]:
    """What kind of thing a value is and the simpler values that it is made of: what `_MADE` takes."""
    kind = type(value)
    if kind is np.ndarray and value.dtype == object:
        return "objects", {"shape": list(value.shape), "cells": list(value.flat)}
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in _BYTES:
        order = "F" if value.flags.fnc else "C"
        parts = {"shape": list(value.shape), "dtype": value.dtype.str, "order": order}
        return "array" if kind is np.ndarray else "scalar", parts | {"content": _text(value.tobytes(order))}
    if kind is pd.DataFrame:
        return "frame", {"cells": _columns(value), "index": value.index, "columns": value.columns}
    if kind is pd.Series:
        return "series", {"cells": _cells(value), "index": value.index, "name": value.name}
    if kind is pd.RangeIndex:
        return "range", {"start": value.start, "stop": value.stop, "step": value.step, "name": value.name}
    if kind is pd.MultiIndex:
        return "multi", {"levels": list(value.levels), "codes": list(value.codes), "names": list(value.names)}
    if kind is pd.Index:
        return "index", {"cells": _cells(value), "name": value.name}
    if isinstance(value, pd.api.extensions.ExtensionArray) and value.dtype == "str":
        return "strings", {"cells": value.to_numpy(object, na_value=None).tolist(), "storage": value.dtype.storage}
    if kind is torch.Tensor and value.layout is torch.strided:
        flat = value.detach().cpu().resolve_conj().resolve_neg().reshape(-1).contiguous()
        dtype, content = str(value.dtype).removeprefix("torch."), flat.view(torch.uint8).numpy().tobytes()
        return "tensor", {"shape": list(value.shape), "dtype": dtype, "content": _text(content)}
    if dataclasses.is_dataclass(kind) and _class(kind.__module__, kind.__qualname__) is kind:
        fields = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
        return "dataclass", {"module": kind.__module__, "name": kind.__qualname__, "fields": fields}
    what = f"{kind.__module__}.{kind.__qualname__}" + (f" of {value.dtype}" if hasattr(value, "dtype") else "")
    raise StudyError(f"{what} cannot be stored (at {where}): give plain values, arrays, tensors or tables instead.")


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _cells(values: pd.Series | pd.Index) -> Any:
    return values.to_numpy() if isinstance(values.dtype, np.dtype) else values.array


def _columns(frame: pd.DataFrame) -> Any:
    """Numbers of one type as one array, which also keeps how they lie in memory; anything else column by column."""
    kinds = set(frame.dtypes)
    if len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in _BYTES:
        return frame.to_numpy()
    return [_cells(frame.iloc[:, i]) for i in range(frame.shape[1])]


def _class(module: str, name: str) -> type | None:
    """The dataclass of this project that this module knows by this name, if there is one; it may be defined in another."""
    module = MOVED.get(module, module)
    place: Any = importlib.import_module(module) if re.fullmatch(r"helpers(\.\w+)+", module) else None
    for part in name.split("."):
        place = getattr(place, part, None)
    known = isinstance(place, type) and dataclasses.is_dataclass(place)
    own_class = known and place.__module__.startswith("helpers.") and place.__qualname__ == name
    return place if own_class else None


# --- and back --------------------------------------------------------------------------------------------------------


def _unpack(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_unpack(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "float":
        return float(content)
    if kind in ("tuple", "dict"):
        return (tuple if kind == "tuple" else dict)(map(_unpack, content))
    if kind == "dataclass":
        return _instance(**content)
    return _MADE[kind](**{name: _unpack(part) for name, part in content.items()})


def _instance(module: str, name: str, fields: Mapping[str, Any]) -> Any:
    if (made_by := _class(module, name)) is None:  # before its fields are made: its module loads torch for them
        raise StudyError(f"{module}.{name} is no dataclass of this project")
    names = {part.name for part in dataclasses.fields(made_by)}
    return made_by(**{part: value for part, value in _unpack(fields).items() if part in names})  # without what it once had


def _objects(shape: list[int], cells: list[Any]) -> np.ndarray:
    flat = np.empty(len(cells), object)
    for i, cell in enumerate(cells):  # one by one: numpy would take lists apart
        flat[i] = cell
    return flat.reshape(shape)


def _array(shape: list[int], dtype: str, order: Literal["C", "F"], content: str) -> np.ndarray:
    if np.dtype(dtype).kind not in _BYTES:
        raise ValueError(f"there is no array of {dtype!r}")
    return np.ndarray(shape, dtype, bytearray(base64.b64decode(content)), order=order)


def _tensor(shape: list[int], dtype: str, content: str) -> Any:
    kind, buffer = getattr(torch, dtype), bytearray(base64.b64decode(content))
    return torch.frombuffer(buffer, dtype=kind).reshape(shape) if buffer else torch.empty(shape, dtype=kind)


def _series(cells: Any, index: pd.Index, name: Any = None, attrs: object = None) -> pd.Series:
    return pd.Series(cells, index, cells.dtype, name, copy=False)  # older files have `attrs`, which are empty


def _frame(cells: Any, index: pd.Index, columns: pd.Index, attrs: object = None) -> pd.DataFrame:
    if not isinstance(cells, list):
        return pd.DataFrame(cells, index, columns, copy=False)
    return pd.DataFrame({i: _series(column, index) for i, column in enumerate(cells)}, index).set_axis(columns, axis=1)


_MADE: dict[str, Callable[..., Any]] = {
    "objects": _objects,
    "array": _array,
    "scalar": lambda **parts: _array(**parts)[()],
    "strings": lambda cells, storage, missing="nan": pd.array(cells, dtype=pd.StringDtype(storage, na_value=np.nan)),
    "tensor": _tensor,
    "range": pd.RangeIndex,
    "multi": pd.MultiIndex,
    "index": lambda cells, name: pd.Index(cells, cells.dtype, name=name),
    "series": _series,
    "frame": _frame,
}
