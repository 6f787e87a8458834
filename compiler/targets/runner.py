"""The program that runs cells, `cell/`: finds it, copies it next to emitted programs, identifies
it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import fairc.cell
import fairc.mechanisms
from fairc.cell.model import Cell

PACKAGE = "cell"


def core() -> dict[str, bytes]:
    """Return the modules of `cell/` by their path, in order."""
    assert fairc.cell.__file__ is not None
    folder = Path(fairc.cell.__file__).parent
    return {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}


@cache
def mechanisms() -> Mapping[str, bytes]:
    """Return the `cell.py` of each mechanism, and the `agent.py` that runs beside its programs, by
    the path beside the modules of `cell/`.

    There it imports these by `from .links import ...` instead of `from fairc.cell.links ...`.
    """
    assert fairc.mechanisms.__file__ is not None
    folder = Path(fairc.mechanisms.__file__).parent
    found = {}
    for family, names in fairc.mechanisms.MECHANISMS.items():
        for name in names:
            module = module_name(f"fairc.mechanisms.{family}.{name}.cell")
            for stage, end in _COPIED.items():
                path = folder / family / name / f"{stage}.py"
                if path.exists():
                    source = _IMPORT.sub(rb"\1from .", path.read_bytes())
                    found[f"{PACKAGE}/{module}{end}.py"] = source
    return found


_COPIED = {"cell": "", "agent": "_agent"}
"""The files that are copied of a mechanism, and the ends of their names beside programs."""
_IMPORT = re.compile(rb"^( *)from fairc\.cell\.", re.MULTILINE)


def module_name(module: str) -> str:
    """Return what a module of `cell/`, or that of a mechanism, is called beside programs."""
    *_, family, name = module.removesuffix(".cell").split(".")
    return name if family == PACKAGE else f"{family}_{name}"


def agents(cell: Cell) -> dict[str, bytes]:
    """Return what runs beside programs in a guest, of the mechanisms that a cell uses, by path.

    A guest's conductor works from a document, and needs nothing else of them.
    """
    names = {f"{PACKAGE}/{module_name(module)}_agent.py" for module in _modules(cell)}
    return {name: code for name, code in mechanisms().items() if name in names}


def files() -> dict[str, bytes]:
    """Return all modules that run cells, by their path."""
    return core() | dict(mechanisms())


def copy(folder: Path) -> None:
    """Write the package into a folder."""
    (folder / PACKAGE).mkdir(exist_ok=True)
    for name, content in files().items():
        (folder / name).write_bytes(content)


@cache
def identity() -> str:
    """Hash what `cell/` does: its syntax trees without docstrings; comments do not count.

    Mechanisms are not in it: `digest` has those of a cell.

    The same under every version of Python that can run fairc: what is empty or absent is left out,
    so that fields which newer versions have do not count either.
    """
    return _digest(core().items())


def digest(text: str, cell: Cell) -> str:
    """Hash what an engine emits for a cell, and the mechanisms that occur in the cell.

    `identity` leaves mechanisms out: another one makes no result stale that is without it.
    """
    return hashlib.sha256(f"{text}\n{_used(_modules(cell))}".encode()).hexdigest()


def _modules(cell: Cell) -> frozenset[str]:
    """Return the modules of the mechanisms in a cell."""
    of = (type(part).__module__ for part in cell.mechanisms)
    return frozenset(module for module in of if module.startswith(f"{fairc.mechanisms.__name__}."))


@cache
def _used(modules: frozenset[str]) -> str:
    files = mechanisms()
    names = (f"{module_name(module)}{end}" for module in modules for end in _COPIED.values())
    paths = sorted(f"{PACKAGE}/{name}.py" for name in names)
    return _digest((path, files[path]) for path in paths if path in files)


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    total = hashlib.sha256()
    for name, content in files:
        total.update(f"{name}\n{meaning(content)}\n".encode())
    return total.hexdigest()


def meaning(source: bytes) -> str:
    """Return a text that is the same for sources which differ in comments, docstrings and
    layout.
    """
    return _text(ast.parse(source))


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _text(node: object) -> str:
    """Return a tree as pairs of a name and the fields that are there, without docstrings."""
    if isinstance(node, list):
        return f"[{', '.join([_text(part) for part in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    there = []
    for name in node._fields:
        part = getattr(node, name, None)
        if name == "body" and isinstance(node, _DOCUMENTED):
            part = node.body[1:] if ast.get_docstring(node, clean=False) else node.body
        if part is not None and part != []:
            there.append(f"('{name}', {_text(part)})")
    return f"('{type(node).__name__}', [{', '.join(there)}])"
