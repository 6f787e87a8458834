"""The codes of all diagnostics, read from the syntax trees of the packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from trees import tree_of

PACKAGES = ("dsl", "mechanisms", "words", "compiler", "runtime", "fairc/cli", "plugins")
PREFIXES = {
    "Registry": "unknown-",
    "Words": "unknown-",
    "unknown": "unknown-",
    "refuse_unknown": "unknown-",
    "_unique": "duplicate-",
    "_several": "duplicate-",
    "_refuse_second": "duplicate-",
}
"""Functions that put something before the code that they are given."""
PARAMETERS = {"_unique": "word", "_several": "word", "_refuse_second": "word"}
"""The parameter that holds the code, where it is not called `code`."""

NODES = (ast.Call, ast.ClassDef, ast.FunctionDef)
"""What of a tree matters here."""

Functions = dict[str, set[int]]
REPORTING: Functions = {"reject": {0}, "warn": {0}, "warning": {0}}
"""What else is called with a code (compiler/passes/report.py, dsl/core/diagnostics.py), and its
position.
"""


def of_packages(root: Path) -> dict[str, list[str]]:
    """Return every code that the packages can report, with the places (`file:line`) that report it."""
    paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    nodes = {path: [n for n in ast.walk(tree_of(path)) if isinstance(n, NODES)] for path in paths}
    local = {path: dict(_functions(found)) for path, found in nodes.items()}
    public: Functions = defaultdict(set, REPORTING)
    for functions in local.values():
        for name, position in functions.items():
            if not name.startswith("_"):
                public[name].add(position)
    codes: dict[str, list[str]] = defaultdict(list)
    for path, found in nodes.items():
        for name, code, line in _defaults(found):
            codes[PREFIXES.get(name, "") + code].append(f"{path.relative_to(root)}:{line}")
        for call in (node for node in found if isinstance(node, ast.Call)):
            name = _name(call.func)
            at = {local[path][name]} if name in local[path] else public.get(name, set())
            for code in _given(call, at, PARAMETERS.get(name, "code")):
                where = f"{path.relative_to(root)}:{call.lineno}"
                codes[PREFIXES.get(name, "") + code].append(where)
    return dict(codes)


def _functions(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the functions and classes that are given a code, and its position in a call."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        elif isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args if argument.arg != "self"]
            if (wanted := PARAMETERS.get(node.name, "code")) in names:
                yield node.name, names.index(wanted)


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    fields = [
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    if "code" in fields:
        yield node.name, fields.index("code")
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            names = [argument.arg for argument in part.args.args][1:]
            if "code" in names:
                yield node.name, names.index("code")


def _defaults(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str, int]]:
    """Yield the classes whose field `code` has a default: name, code, line."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                match part:
                    case ast.AnnAssign(target=ast.Name("code"), value=ast.Constant(str(code))):
                        yield node.name, code, part.lineno


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Subscript):
        return _name(function.value)
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _given(call: ast.Call, positions: set[int], parameter: str) -> Iterator[str]:
    """Yield the constants that a call gives as its code; both, of a choice between two."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == parameter]
    given += [call.args[at] for at in positions if at < len(call.args)]
    for value in given:
        parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
