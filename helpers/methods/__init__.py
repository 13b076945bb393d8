"""Methods that act on chosen heads: the formulas and modules of each paper."""

import importlib
from collections.abc import Callable
from types import ModuleType


def parts(package: str) -> Callable[[str], ModuleType]:
    """What gives a method's `runs`, `tables` and `figures` when they are first named: its formulas need none of them."""

    def part(name: str) -> ModuleType:
        if name in ("runs", "tables", "figures"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return part
