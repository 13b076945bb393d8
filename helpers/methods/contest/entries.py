"""Measures of others in the contest: a Python file that registers them."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.heads import index
from helpers.measures.table import MEASURES, Measure
from helpers.study import StudyError

_ENTERED: dict[Path, list[str]] = {}


def enter(path: str | Path) -> list[str]:
    """Run a file that registers measures (`helpers.measures.table.register`), and say their names in its order.

    Read again it replaces those of the last time; "" is no file. A column that is not a number a head is refused later.
    """
    if not path:
        return []
    path = Path(path).expanduser().resolve()
    if not path.is_file():
        raise StudyError(f"There is no file {path} of entries: give a Python file that registers measures.")
    for name in _ENTERED.pop(path, ()):
        MEASURES.pop(name, None)
    before = set(MEASURES)
    try:
        runpy.run_path(str(path))
    except StudyError:
        raise
    except Exception as error:
        raise StudyError(f"{path.name} cannot be run ({error}): mend it.") from error
    names = _ENTERED[path] = [name for name in MEASURES if name not in before]
    if not names:
        raise StudyError(f"{path.name} registers no measure: call helpers.measures.table.register in it.")
    MEASURES.update({name: _checked(MEASURES[name]) for name in names})
    return names


def _checked(measure: Measure) -> Measure:
    """A stranger's measure of a model, whose column is looked at before it goes into a table."""
    if "model" not in measure.needs:
        return measure

    def find(*given) -> pd.Series:
        heads, column = index(given[measure.needs.index("model")]), measure.find(*given)
        try:
            column = column.reindex(heads) if isinstance(column, pd.Series) else pd.Series(np.asarray(column, float), heads)
            values = column.to_numpy(float)
        except (TypeError, ValueError) as error:
            raise StudyError(
                f"{measure.name} gives no column ({error}): return a number for each of the {len(heads)} heads, in the order of"
                " helpers.heads.index, or a Series on it."
            ) from None
        if np.isinf(values).any() or np.isnan(values).all():
            raise StudyError(f"{measure.name} gives no finite number for a head: nan where a head has no value, else a number.")
        return pd.Series(values, heads, name=measure.name)

    return replace(measure, find=find)
