"""The program that runs cells, `cell/`: finds it, copies it next to emitted programs, identifies
it.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import fairc.cell

PACKAGE = "cell"


def files() -> dict[str, bytes]:
    """Return the modules of `cell/` by their path, in order."""
    assert fairc.cell.__file__ is not None
    folder = Path(fairc.cell.__file__).parent
    return {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}


def copy(folder: Path) -> None:
    """Write the package into a folder."""
    (folder / PACKAGE).mkdir(exist_ok=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)


@cache
def identity() -> str:
    """Hash what the package does: its syntax trees without docstrings; comments do not count.

    The same under every version of Python that can run fairc: what is empty or absent is left out,
    so that fields which newer versions have do not count either.
    """
    total = hashlib.sha256()
    for name, content in files().items():
        total.update(f"{name}\n{meaning(content)}\n".encode())
    return total.hexdigest()


def meaning(source: bytes) -> str:
    """Return a text that is the same for sources which differ in comments, docstrings and
    layout.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return _text(tree)


def _text(node: object) -> str:
    """Return a tree as pairs of a name and the fields that are there."""
    if isinstance(node, ast.AST):
        parts = ((name, getattr(node, name, None)) for name in node._fields)
        there = (f"('{name}', {_text(part)})" for name, part in parts if part not in (None, []))
        return f"('{type(node).__name__}', [{', '.join(there)}])"
    if isinstance(node, list):
        return f"[{', '.join(map(_text, node))}]"
    return repr(node)
