"""Hostile documents: every string, number and list of a JSON document replaced by what may do
harm.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fairc import cell
from fairc.cell.batch import node_lines
from fairc.cell.document import Document

Path = tuple[str | int, ...]

TEXTS = (
    "",
    "a b",
    "x\nnetns exec x /bin/touch /tmp/x",
    "x\r\ny",
    "x\0y",
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31m",
    "../../../../../../tmp/x",
    "..",
    ".",
    "/tmp/x",
    "x/y",
    "-rf",
    "--help",
    "$(touch /tmp/x)",
    "`touch /tmp/x`",
    "x; touch /tmp/x #",
    "x | y & z",
    "'''\n\"\"\"\\",
    "x' + __import__('os').system('id') + '",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "#% endfor",
    "${HOME}",
    "%n%s",
    "a\u202eb",
    "a\u2028b",
    "\u0661\u0660",
    "1e400",
    "10.0.0.01",
    "10.0.0.1/33",
    "10.0.0.1 dev lo",
    "eth0 mtu 9",
    "lo",
    "all",
    "<script>alert(1)</script>",
    "x" * 300,
    "9" * 5000,
)
NUMBERS = (-1, 0, 1, 2**31, 2**63, 10**18, -(10**18), 10**400, 0.5, -0.5, 1e300)
OTHERS: tuple[Any, ...] = (None, True, [], {}, [[]], [None], {"x": "y"}, ["x"] * 3)
DEEP = "[" * 5000 + "]" * 5000


def places(document: object, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every part of a document, keys of open mappings included."""
    if path:
        yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from places(value, (*path, number))


def replaced(document: Any, path: Path, value: object) -> Any:
    """Return a document with another value at a path."""
    made = copy.deepcopy(document)
    at = made
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return made


def mutants(document: Any, rng: random.Random, each: int) -> Iterator[tuple[str, Any]]:
    """Yield (what was done, document) for every place of a document."""
    for path in places(document):
        yield from at(document, path, rng, each)


def at(document: Any, path: Path, rng: random.Random, each: int) -> Iterator[tuple[str, Any]]:
    """Yield (what was done, document): at one place hostile values, keys, duplicates and gaps."""
    where = ".".join(map(str, path))
    values = (*rng.sample(TEXTS, each), rng.choice(NUMBERS), rng.choice(OTHERS))
    for value in values:
        yield f"{where} = {value!r:.60}", replaced(document, path, value)
    found: Any = document
    for part in path:
        found = found[part]
    if isinstance(found, list) and found:
        yield f"{where}: the first twice", replaced(document, path, [*found, found[0]])
        yield f"{where}: one less", replaced(document, path, found[1:])
    if isinstance(found, dict):
        key, value = rng.choice(TEXTS), next(iter(found.values()), 1)
        yield f"{where}: the key {key!r:.60}", replaced(document, path, {**found, key: value})
    if isinstance(found, str):
        yield f"{where}: and more", replaced(document, path, found + rng.choice(TEXTS))


# ---- What a program may hold -----------------------------------------------------------------

LINE = re.compile(r"[A-Za-z0-9_.:/%-]+(?: [A-Za-z0-9_.:/%-]+)*", re.ASCII)
VERBS = {
    ("mptcp", "endpoint"),
    ("mptcp", "limits"),
    *(("link", "set"), ("link", "add"), ("address", "add"), ("neighbour", "add"), ("rule", "add")),
    *(("route", "add"), ("route", "replace"), ("qdisc", "add"), ("qdisc", "change")),
    *(("class", "add"), ("class", "change")),
}
SAFE_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
PARAMETER = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

CONSTRUCTORS = frozenset(
    name
    for module in iter_modules(cell.__path__)
    if module.name != "topology"  # which imports Mininet
    for name, value in vars(import_module(f"fairc.cell.{module.name}")).items()
    if is_dataclass(value)
)
"""The values of which a program's data are made: the dataclasses of `cell/`."""


def refuse_program(program: str, usual: str) -> None:
    """Raise AssertionError unless a program is that of a cell: typed values of literals.

    usual: the program of the cell from which the hostile one was made.
    """
    tree = ast.parse(program)
    assert _code(tree) == _known(usual)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            _refuse_value(statement.value)


@cache
def _known(usual: str) -> list[str]:
    return _code(ast.parse(usual))


def _code(tree: ast.Module) -> list[str]:
    """Return what a module does, without its data and what it imports for them."""
    code = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            assert (statement.module or "").startswith("cell."), statement.module
        elif isinstance(statement, ast.Assign):
            code.append(ast.unparse(statement.targets[0]))
        else:
            code.append(ast.dump(statement))
    return code


def _refuse_value(value: ast.expr) -> None:
    """Raise AssertionError for anything but literals and typed values of them."""
    if isinstance(value, ast.Call):
        assert isinstance(value.func, ast.Name) and value.func.id in CONSTRUCTORS
        for given in (*value.args, *(k.value for k in value.keywords)):
            _refuse_value(given)
    elif isinstance(value, ast.List | ast.Tuple):
        for item in value.elts:
            _refuse_value(item)
    elif isinstance(value, ast.Dict):
        for part in (*value.keys, *value.values):
            assert part is not None
            _refuse_value(part)
    else:
        ast.literal_eval(value)


def refuse_document(document: Document) -> None:
    """Raise AssertionError unless what a conductor does with a document is what it does with
    any.
    """
    for node in document["network"]["nodes"]:
        for line in (*node_lines(node), *node.get("mptcp", []), *node["qdiscs"]):
            _refuse_line(line)
        for name, value in node["sysctls"].items():
            assert re.fullmatch(r"net\.[a-z0-9_.]+", name) and re.fullmatch(r"[0-9 ]+", value)
    for changes in document["changes"]:
        assert SAFE_FILE.fullmatch(changes["node"])
        assert SAFE_FILE.fullmatch(changes["interface"]) or changes["interface"] == ""  # routes
        assert changes["repeat_ns"] is None or changes["repeat_ns"] > 0
        for at_ns, lines in changes["lines"]:
            assert at_ns >= 0
            for line in lines:
                _refuse_line(line)
    for module, name, value in document["modules"]:
        assert PARAMETER.fullmatch(module) and module.startswith("tcp_")
        assert PARAMETER.fullmatch(name)
        assert re.fullmatch(r"[0-9A-Z.e+-]+", value)
    programs = (*document["captures"], *document["servers"], *document["clients"])
    for program in (*programs, *document["proxies"], *document["policers"]):
        assert SAFE_FILE.fullmatch(program["name"]) and len(program["name"]) <= 247, program["name"]
    for test in document["tests"]:
        assert SAFE_FILE.fullmatch(test["name"]) and test["command"][0] == "iperf3"
        assert all(LINE.fullmatch(word) and " " not in word for word in test["command"])
    for name in document["objects"]:
        assert PARAMETER.fullmatch(name)
    json.dumps(document, allow_nan=False)


def _refuse_line(line: str) -> None:
    assert LINE.fullmatch(line), line
    assert tuple(line.split(" ")[:2]) in VERBS, line
    assert "None" not in line.split(" "), line
