"""Methods that act on chosen heads: the formulas and modules of each paper."""

import importlib
from collections.abc import Callable
from types import ModuleType

MOVED = {  # for callers of the old places
    "helpers.methods.l0.runs": "helpers.experiments.pruning_runs",
    "helpers.methods.grouping.runs": "helpers.experiments.grouping_runs",
}


def parts(package: str) -> Callable[[str], ModuleType]:
    """What gives a method's `runs`, `tables` and `figures` when they are first named: its formulas need none of them."""

    def part(name: str) -> ModuleType:
        if name in ("runs", "tables", "figures"):
            return importlib.import_module(MOVED.get(f"{package}.{name}", f"{package}.{name}"))
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return part
