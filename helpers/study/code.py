"""Which code there is: for sidecars and benchmarks, never for a key of the store."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from helpers.study.origin import ROOT


def code_version(*names: str) -> str:
    """Hash of what the named code does: comments, docstrings and layout do not count.

    Parameters
    ----------
    *names : str
        Paths below `helpers` without ".py"; a folder stands for all modules and tables of words in it.
    """
    digest = hashlib.sha256()
    for name in names:
        path = ROOT / "helpers" / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(_meaning(file, file.stat().st_mtime_ns).encode())
        for table in sorted(path.rglob("*.tsv")) if path.is_dir() else ():  # words that text is made of
            digest.update(table.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _meaning(file: Path, changed: int) -> str:
    """A module's code without docstrings and layout."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if len(node.body) > 1 or isinstance(node, ast.Module) else [ast.Pass()]
    return ast.unparse(tree)
