"""Which code there is: for sidecars and benchmarks, never for a key of the store."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from helpers.study.errors import StudyError
from helpers.study.provenance import ROOT


def code_version(*names: str) -> str:
    """Hash of what the named code does: comments, docstrings and layout do not count.

    Parameters
    ----------
    *names : str
        "module", a path below `helpers` without ".py" (a folder stands for all modules in it), or
        "module:name,name" for some of its functions, classes and constants alone.

    Raises
    ------
    StudyError
        If a name is not defined in its module.
    """
    digest = hashlib.sha256()
    for name in names:
        module, _, wanted = name.partition(":")
        path = ROOT / "helpers" / module
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(_meaning(file, file.stat().st_mtime_ns, wanted).encode())
    return digest.hexdigest()[:16]


@cache
def _meaning(file: Path, changed: int, wanted: str) -> str:
    """A module's code, or some of its top-level definitions, without docstrings and layout."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if wanted:
        found = {}
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            found |= {getattr(target, "name", getattr(target, "id", "")): node for target in targets}
        missing = [name for name in wanted.split(",") if name not in found]
        if missing:
            raise StudyError(f"There is no definition {missing[0]!r} in {file.name}: correct the code version's names.")
        tree.body = [found[name] for name in wanted.split(",")]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and body and _is_text(body[0]):
            body[:1] = [] if len(body) > 1 or isinstance(node, ast.Module) else [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
