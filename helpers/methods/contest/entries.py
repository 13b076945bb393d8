"""Measures of others in the contest: one function each, and a row of a TOML file that says where it is.

[[entry]]
name = "spread"                  # of the column
function = "mine.py:spread"      # a file beside the TOML, or an installed module
needs = ["batches"]              # what the function is given after the model, in this order
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field

from helpers import study
from helpers.heads import KINDS, index
from helpers.measures.table import MEASURES, Measure, register
from helpers.study import StudyError

GIVEN = ("batches", "explained", "arcs", "counts", "links", "groups", "epoch", "plan", "mentions")


class Entry(BaseModel, extra="forbid"):
    """A row of the file: a measure, as `helpers.measures.table.Measure` has it."""

    name: str = Field(min_length=1)
    function: str
    needs: list[str] = ["batches"]
    about: str = "a measure that was entered"
    larger: str = "the head is worth more"
    kinds: list[str] = list(KINDS)


class _File(BaseModel, extra="forbid"):
    entry: list[Entry]


def enter(path: str | Path) -> list[str]:
    """Register the measures that a file names; once, however often it is read.

    Parameters
    ----------
    path : str or Path
        Of the TOML file; "" is no file.

    Returns
    -------
    list of str
        Their names, in the order of the file.

    Raises
    ------
    StudyError
        If the file or a function is not there, a row has unknown words, or a name is taken by another measure.
    """
    if not path:
        return []
    path = Path(path).expanduser().resolve()
    if not path.is_file():
        raise StudyError(f"There is no file {path} of entries: give a TOML file with a row [[entry]] for each measure.")
    rows = study.read_toml(path, _File).entry
    for row in rows:
        for words, known, what in ((row.needs, GIVEN, "thing to need"), (row.kinds, KINDS, "kind of attention")):
            if unknown := [word for word in words if word not in known]:
                raise StudyError(
                    f"{row.name} of {path.name}: there is no {what} {unknown[0]!r}: choose from {', '.join(known)}."
                )
        old, find = MEASURES.get(row.name), _Checked(row.name, row.function, path.parent)
        if old and isinstance(old.find, _Checked) and old.find.place == find.place:
            del MEASURES[row.name]  # read anew: its code may be other code now
        kinds = tuple(kind for kind in KINDS if kind in row.kinds)
        register(Measure(row.name, row.name, row.about, row.larger, find, ("model", *row.needs), kinds=kinds))
    return [row.name for row in rows]


class _Checked:
    """A function of a stranger, whose column is looked at before it goes into a table."""

    def __init__(self, name: str, place: str, folder: Path) -> None:
        module, _, function = place.rpartition(":")
        self.name, self.place = name, (str(folder / module) if module.endswith(".py") else module, function)
        self.function = _function(*self.place)

    def __call__(self, model, *given: Any) -> pd.Series:
        column = self.function(model, *given)
        heads = index(model)
        try:
            column = column.reindex(heads) if isinstance(column, pd.Series) else pd.Series(np.asarray(column, float), heads)
            values = column.to_numpy(float)
        except (TypeError, ValueError) as error:
            raise StudyError(
                f"{self.name} gives no column ({error}): return a number for each of the {len(heads)} heads, in the order of"
                " helpers.heads.index, or a Series on it."
            ) from None
        if np.isinf(values).any() or np.isnan(values).all():
            raise StudyError(f"{self.name} gives no finite number for a head: nan where a head has no value, else a number.")
        return pd.Series(values, heads, name=self.name)


def _function(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of a module or of a file."""
    try:
        if module.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(module).stem, module)
            if spec is None or spec.loader is None:
                raise ImportError(f"no module in {module}")
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        else:
            loaded = importlib.import_module(module)
        return getattr(loaded, name)
    except (ImportError, OSError, AttributeError, ValueError) as error:
        raise StudyError(
            f'There is no function {name!r} in {module!r} ({error}): write function = "file.py:name" or "module:name".'
        ) from None
