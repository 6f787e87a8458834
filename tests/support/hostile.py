"""Hostile documents: every string, number and list of a JSON document replaced by what may do harm."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

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
    *(("link", "set"), ("address", "add"), ("neighbour", "add"), ("rule", "add")),
    *(("route", "add"), ("route", "replace"), ("qdisc", "add"), ("qdisc", "change")),
    *(("class", "add"), ("class", "change")),
}
SAFE_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
PARAMETER = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def refuse_program(program: str, usual: str) -> None:
    """Raise AssertionError unless a program is that of a cell: data in literals, lines of words.

    usual: the program of the cell from which the hostile one was made.
    """
    tree, (parts, code) = ast.parse(program), _known(usual)
    data = _data(tree)
    for name in ("IP", "TC"):
        for lines in data[name].values():
            for line in lines:
                _refuse_line(line)
    for node, interface, repeat_ns, changes in data["CHANGES"]:
        assert SAFE_FILE.fullmatch(node) and SAFE_FILE.fullmatch(interface)
        assert repeat_ns is None or repeat_ns > 0
        for at_ns, line in changes:
            assert at_ns >= 0
            _refuse_line(line)
    for module, name, value in data["MODULES"]:
        assert PARAMETER.fullmatch(module) and module.startswith("tcp_")
        assert PARAMETER.fullmatch(name)
        assert re.fullmatch(r"[0-9A-Z.e+-]+", value)
    for name, *_ in data["CAPTURES"] + data["SERVERS"] + data["CLIENTS"] + data.get("PROXIES", []):
        assert SAFE_FILE.fullmatch(name) and len(name) <= 247, name
    for name, _ in data.get("OBJECTS", []):
        assert PARAMETER.fullmatch(name)
    if parts == data.keys():  # the same parts of the template
        assert _code(tree) == code


@cache
def _known(usual: str) -> tuple[set[str], list[str]]:
    tree = ast.parse(usual)
    return set(_data(tree)), _code(tree)


def _refuse_line(line: str) -> None:
    assert LINE.fullmatch(line), line
    assert tuple(line.split(" ")[:2]) in VERBS, line
    assert "None" not in line.split(" "), line


def _data(tree: ast.Module) -> dict[str, Any]:
    """Return the module's constants that are written as literals."""
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                continue  # HERE, libc
    return found


def _code(tree: ast.Module) -> list[str]:
    """Return the module without its data; of `build` only what it calls."""
    code = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            try:
                ast.literal_eval(statement.value)
            except ValueError:
                code.append(ast.dump(statement))
        elif isinstance(statement, ast.FunctionDef) and statement.name == "build":
            for call in statement.body[1:-1]:
                assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
                assert ast.unparse(call.value.func) in ("net.addHost", "net.addLink")
                for part in (*call.value.args, *(k.value for k in call.value.keywords)):
                    assert isinstance(part, ast.Constant)
        else:
            code.append(ast.dump(statement))
    return code
